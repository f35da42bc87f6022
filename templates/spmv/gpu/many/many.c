#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/gpu/scan/scan.h"
#include "spmv/gpu/many/many.h"
#include "spmv/plan/plan.h"

/* MANY on the host, products with several vectors: kernels, scratch and launches.
 * spmv/gpu/many/many.cu and spmv/gpu/many/rows.cu describe the two ways to compute them. */

/* ---- Specialise -------------------------------------------------------------------------- */

static merbit_status mbi_many_specialise(merbit_plan *plan) {
  mbi_many *m = mbi_many_of(plan);
  const int copies = mbi_many_copies(plan), loose = m->span > 1 && !copies;
  const int runs = m->staged == 0;
  const char *const names[] = {"mbk_scan_build",   runs ? "mbk_many_product" : "mbk_rows_many",
                               "mbk_many_fixup",   runs ? "mbk_many_loose" : "mbk_rows_loose",
                               "mbk_many_collect", "mbk_many_spread"};
  const int wanted[] = {runs, 1, runs, loose, copies, copies};
  void **const places[] = {&mbi_scan_of(plan)->build,
                           &mbi_scan_of(plan)->product,
                           &mbi_scan_of(plan)->fixup,
                           &m->loose,
                           &m->collect,
                           &m->spread};
  mbi_preamble preamble;
  size_t i;
  mbi_many_preamble(plan, &preamble);
  MBI_TRY(mbi_plan_program(plan, runs ? "spmv/gpu/many/many.cu" : "spmv/gpu/many/rows.cu",
                           &preamble, 1, &plan->program));
  for (i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (wanted[i]) {
      MBI_TRY(mbi_program_kernel(plan->context, &plan->program, names[i], places[i]));
    }
  }
  MBI_TRY(mbi_device_reserve_shared(plan->context, mbi_scan_of(plan)->product, names[1],
                                    m->shared));
  if (loose) {
    MBI_TRY(mbi_device_reserve_shared(plan->context, m->loose, names[3], m->shared));
  }
  return MERBIT_OK;
}

static merbit_status mbi_many_create(merbit_plan *plan) {
  const uint64_t row = (uint64_t)plan->desc.vectors * mbi_type_size(plan->type);
  MBI_TRY(mbi_scan_nonempty(plan));
  MBI_TRY(mbi_many_size(plan));
  MBI_TRY(mbi_many_specialise(plan));
  if (mbi_many_of(plan)->staged > 0) {
    plan->schedule_bytes = plan->nonempty.bytes;
    plan->stream_bytes =
        (plan->device.rows + 1) * (uint64_t)mbi_index_bytes(plan->device.offset_type);
  } else {
    MBI_TRY(mbi_scan_schedule_create(plan));
  }
  plan->stream_bytes += mbi_device_csr_stream_bytes(plan) +
                        4 * mbi_scan_of(plan)->tiles * (row - mbi_type_size(plan->type));
  if (mbi_many_copies(plan)) {
    plan->stream_bytes += 2 * (plan->device.rows + plan->device.cols) *
                          (uint64_t)mbi_many_of(plan)->width * mbi_type_size(plan->type);
  }
  return MERBIT_OK;
}

/* ---- Scratch: firsts, tails, and copies of X and Y in row order -------------------------- */

#define MBI_MANY_ALIGNMENT 256

static uint64_t mbi_many_round(uint64_t bytes) {
  return (bytes + MBI_MANY_ALIGNMENT - 1) / MBI_MANY_ALIGNMENT * MBI_MANY_ALIGNMENT;
}

/* Return the offsets of the copies of X and of Y in a product's scratch. */
static uint64_t mbi_many_x_place(const merbit_plan *plan) {
  return mbi_many_round(2 * mbi_scan_of(plan)->tiles * (uint64_t)mbi_many_of(plan)->width *
                        mbi_type_size(plan->type));
}
static uint64_t mbi_many_y_place(const merbit_plan *plan) {
  return mbi_many_round(mbi_many_x_place(plan) + plan->device.cols *
                                                     (uint64_t)mbi_many_of(plan)->width *
                                                     mbi_type_size(plan->type));
}

static uint64_t mbi_many_scratch_bytes(const merbit_plan *plan) {
  const uint64_t row = (uint64_t)mbi_many_of(plan)->width * mbi_type_size(plan->type);
  return mbi_many_copies(plan) ? mbi_many_y_place(plan) + plan->device.rows * row
                               : 2 * mbi_scan_of(plan)->tiles * row;
}

MBI_INTERNAL merbit_status mbi_many_workspace(merbit_workspace *workspace) {
  const merbit_plan *plan = workspace->plan;
  return plan->desc.vectors > 1 && plan->desc.vector_memory == MERBIT_MEMORY_HOST
             ? mbi_allocate_array(plan->context, MBI_MANY_BOUNCE, 1,
                                  "pieces of a workspace's host vectors", &workspace->bounce)
             : MERBIT_OK;
}

/* ---- Launch ------------------------------------------------------------------------------ */

/* Returns the number of thread blocks for `count` rows of a copy. */
static int64_t mbi_many_grid(const merbit_plan *plan, uint64_t count) {
  const uint64_t wanted = (count + 255) / 256;
  const uint64_t most = 64 * (uint64_t)plan->context->device.multiprocessors;
  return (int64_t)(wanted < most || most == 0 ? wanted : most);
}

static merbit_status mbi_many_launch_collect(merbit_plan *plan, const void *alpha, mbi_devptr x,
                                             uint64_t ldx, const void *beta, mbi_devptr copy,
                                             void *stream) {
  mbk_many_collect_arguments arguments;
  arguments.x = x;
  arguments.ldx = ldx;
  arguments.cols = plan->device.cols;
  arguments.copy = copy;
  arguments.alpha = mbi_plan_scalar(plan, alpha);
  arguments.beta = mbi_plan_scalar(plan, beta);
  return mbi_plan_launch(plan, mbi_many_of(plan)->collect, "mbk_many_collect",
                         mbi_many_grid(plan, plan->device.cols), 256, 0, stream, &arguments,
                         sizeof arguments);
}

static merbit_status mbi_many_launch_spread(merbit_plan *plan, const void *alpha,
                                            mbi_devptr copy, const void *beta, mbi_devptr y,
                                            uint64_t ldy, void *stream) {
  mbk_many_spread_arguments arguments;
  arguments.copy = copy;
  arguments.rows = plan->device.rows;
  arguments.y = y;
  arguments.ldy = ldy;
  arguments.alpha = mbi_plan_scalar(plan, alpha);
  arguments.beta = mbi_plan_scalar(plan, beta);
  return mbi_plan_launch(plan, mbi_many_of(plan)->spread, "mbk_many_spread",
                         mbi_many_grid(plan, plan->device.rows), 256, 0, stream, &arguments,
                         sizeof arguments);
}

/* Launches the product in which each team owns a row. X and Y are in row order. */
static merbit_status mbi_many_launch_teams(merbit_plan *plan, int packed, const void *alpha,
                                           mbi_devptr x, uint32_t x_step, const void *beta,
                                           mbi_devptr y, uint64_t ldy, void *stream) {
  const mbi_many *m = mbi_many_of(plan);
  mbk_rows_many_arguments arguments;
  arguments.row_ptr = plan->device.row_ptr;
  arguments.col_ind = plan->device.col_ind;
  arguments.values = plan->device.values;
  arguments.x = x;
  arguments.x_step = x_step;
  arguments.y = y;
  arguments.ldy = ldy;
  arguments.rows = plan->device.rows;
  arguments.nnz = plan->device.nnz;
  arguments.alpha = mbi_plan_scalar(plan, alpha);
  arguments.beta = mbi_plan_scalar(plan, beta);
  return mbi_plan_launch(plan, packed ? mbi_scan_of(plan)->product : m->loose,
                         packed ? "mbk_rows_many" : "mbk_rows_loose",
                         (int64_t)mbi_scan_of(plan)->blocks, m->threads, m->shared, stream,
                         &arguments, sizeof arguments);
}

/* Launches the product, and its fix-up if teams own runs, for X and Y in row order. Sums that
 * go to a copy are not scaled. */
static merbit_status mbi_many_launch_rows(merbit_plan *plan, mbi_devptr carries,
                                          const void *alpha, mbi_devptr x, uint64_t ldx,
                                          const void *beta, mbi_devptr y, uint64_t ldy,
                                          void *stream) {
  static const float one_f32 = 1.0f, zero_f32 = 0.0f;
  static const double one_f64 = 1.0, zero_f64 = 0.0;
  static const void *const none = NULL;
  const int single = plan->type == MERBIT_F32;
  const int device = plan->desc.scalar_memory == MERBIT_MEMORY_DEVICE;
  mbi_many *m = mbi_many_of(plan);
  mbi_scan_schedule *s = mbi_scan_of(plan);
  const uint64_t size = mbi_type_size(plan->type), span = (uint64_t)m->span;
  uint32_t x_step = (uint32_t)(ldx * size);
  mbi_devptr tails = carries + s->tiles * (uint64_t)m->width * size;
  const int packed =
      m->span == 1 || ((x | y) % (span * size) == 0 && ldx % span == 0 && ldy % span == 0);
  mbk_many_product_arguments product_arguments;
  mbk_many_fixup_arguments fixup_arguments;
  if (m->staged > 0) {
    return mbi_many_launch_teams(plan, packed, alpha, x, x_step, beta, y, ldy, stream);
  }
  if (s->blocks > 0) {
    product_arguments.row_ends = s->row_ends;
    product_arguments.tile_row = s->tile_row;
    product_arguments.row_id = plan->nonempty.row_id;
    product_arguments.col_ind = plan->device.col_ind;
    product_arguments.values = plan->device.values;
    product_arguments.x = x;
    product_arguments.x_step = x_step;
    product_arguments.y = y;
    product_arguments.ldy = ldy;
    product_arguments.firsts = carries;
    product_arguments.tails = tails;
    product_arguments.nnz = plan->device.nnz;
    product_arguments.tiles = s->tiles;
    product_arguments.alpha = mbi_plan_scalar(plan, alpha);
    product_arguments.beta = mbi_plan_scalar(plan, beta);
    MBI_TRY(mbi_plan_launch(plan, packed ? s->product : m->loose,
                            packed ? "mbk_many_product" : "mbk_many_loose", (int64_t)s->blocks,
                            m->threads, m->shared, stream, &product_arguments,
                            sizeof product_arguments));
  }
  if (s->fixup_blocks == 0) {
    return MERBIT_OK;
  }
  if (mbi_many_copies(plan)) {
    alpha = device ? (const void *)&none : single ? (const void *)&one_f32 : &one_f64;
    beta = device ? (const void *)&none : single ? (const void *)&zero_f32 : &zero_f64;
  }
  fixup_arguments.tile_row = s->tile_row;
  fixup_arguments.row_id = plan->nonempty.row_id;
  fixup_arguments.row_bits = plan->nonempty.row_bits;
  fixup_arguments.firsts = carries;
  fixup_arguments.tails = tails;
  fixup_arguments.y = y;
  fixup_arguments.ldy = ldy;
  fixup_arguments.tiles = s->tiles;
  fixup_arguments.filled = s->empty_rows > 0 ? plan->device.rows : 0;
  fixup_arguments.alpha = mbi_plan_scalar(plan, alpha);
  fixup_arguments.beta = mbi_plan_scalar(plan, beta);
  return mbi_device_launch_some(
      plan->context, s->fixup, "mbk_many_fixup", (int64_t)s->fixup_blocks,
      MBI_SCAN_FIXUP_THREADS,
      (unsigned)(MBI_SCAN_FIXUP_THREADS / 32 * (size + sizeof(uint32_t))), stream,
      &fixup_arguments, 0, mbi_plan_start(plan, s->blocks > 0));
}

/* Computes Y = alpha A X + beta Y, with leading dimensions as merbit_spmm takes them. */
MBI_INTERNAL merbit_status mbi_many_multiply(merbit_plan *plan, mbi_devptr scratch,
                                             const void *alpha, mbi_devptr x, uint64_t ldx,
                                             const void *beta, mbi_devptr y, uint64_t ldy,
                                             void *stream) {
  const mbi_devptr x_copy = scratch + mbi_many_x_place(plan);
  const mbi_devptr y_copy = scratch + mbi_many_y_place(plan);
  const uint64_t width = (uint64_t)mbi_many_of(plan)->width;
  if (plan->device.rows == 0) {
    return MERBIT_OK;
  }
  if (!mbi_many_copies(plan)) {
    return mbi_many_launch_rows(plan, scratch, alpha, x, ldx, beta, y, ldy, stream);
  }
  if (plan->device.nnz > 0 && !mbi_alpha_zero(plan, alpha)) {
    MBI_TRY(mbi_many_launch_collect(plan, alpha, x, ldx, beta, x_copy, stream));
  }
  MBI_TRY(
      mbi_many_launch_rows(plan, scratch, alpha, x_copy, width, beta, y_copy, width, stream));
  return mbi_many_launch_spread(plan, alpha, y_copy, beta, y, ldy, stream);
}

/* ---- Describe ---------------------------------------------------------------------------- */

static void mbi_many_info(const merbit_plan *plan, merbit_plan_info *info) {
  info->block_threads = mbi_many_of(plan)->threads;
  info->tiles = (int64_t)mbi_scan_of(plan)->tiles;
}

static int mbi_many_describe(const merbit_plan *plan, char *text, size_t size) {
  const mbi_many *m = mbi_many_of(plan);
  const mbi_scan_schedule *s = mbi_scan_of(plan);
  if (m->staged > 0) {
    return snprintf(text, size,
                    "rows of similar length, %d lane%s of %d columns per row, %d threads%s%s",
                    m->team, m->team == 1 ? "" : "s", m->span, m->threads,
                    mbi_many_copies(plan) ? ", row-major copies" : "",
                    plan->streaming ? ", matrix by streaming loads" : "");
  }
  return snprintf(text, size,
                  "%" PRIu64 " tiles of %d runs of %d, %d lane%s of %d columns per nonzero, "
                  "%" PRIu64 " empty rows, %d threads%s%s",
                  s->tiles, 32 / m->team, 32 * m->words, m->team, m->team == 1 ? "" : "s",
                  m->span, s->empty_rows, m->threads,
                  mbi_many_copies(plan) ? ", row-major copies" : "",
                  plan->streaming ? ", matrix by streaming loads" : "");
}

static merbit_status mbi_many_bound(merbit_plan *plan, mbi_bound *bound) {
  const mbi_many *m = mbi_many_of(plan);
  uint64_t row;
  MBI_TRY(mbi_many_size(plan)); /* runs have at least one word */
  row = (uint64_t)m->width * mbi_type_size(plan->type);
  mbi_scan_bound_tiles(plan, (uint64_t)(32 / m->team), row, bound);
  bound->scratch += mbi_many_copies(plan)
                        ? (plan->device.rows + plan->device.cols) * row + 2 * MBI_MANY_ALIGNMENT
                        : 0;
  return MERBIT_OK;
}

/* `multiply` is NULL: merbit_spmm calls mbi_many_multiply, which takes leading dimensions. */
MBI_INTERNAL const mbi_cuda_method mbi_many_method = {
    sizeof(mbi_many),       /* state_bytes */
    mbi_many_create,        /* create */
    mbi_scan_destroy,       /* destroy */
    mbi_many_scratch_bytes, /* carry_bytes */
    NULL,                   /* multiply */
    mbi_many_info,          /* info */
    mbi_many_describe,      /* describe */
    NULL,                   /* refresh */
    0,                      /* forms */
    NULL,                   /* cost */
    mbi_many_bound,         /* bound */
    0,                      /* making */
    NULL,                   /* trusted */
    "run unroll",           /* knobs */
};
