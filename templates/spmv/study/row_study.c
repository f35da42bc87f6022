#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/study/study.h"
#include "spmv/plan/plan.h"

/* Runs the kernels of spmv/study/row_study.cu. By default, as in the report, the warp loop has
 * 32 lanes per row, which take one row at a time, and the tiled kernel has tiles of 2,024
 * columns and one row per warp. */
#ifdef MERBIT_STUDY_METHODS

/* Returns the state of a plan with a study method for CSR. */
MBI_INTERNAL mbi_csr_study *mbi_csr_study_of(const merbit_plan *plan) {
  return (mbi_csr_study *)plan->state;
}

#define MBI_TILED_COLUMNS 4096 /* the most; x of a tile fits in the default shared memory */

/* ---- Encode: sizes, and tiles of columns for each block of rows -------------------------- */

static int mbi_row_study_tiled(const merbit_plan *plan) {
  return plan->method == MERBIT_METHOD_WARP_TILED;
}

static merbit_status mbi_row_study_sizes_fit(const merbit_plan *plan) {
  const mbi_csr_study *s = mbi_csr_study_of(plan);
  const int tiled = mbi_row_study_tiled(plan);
  if (s->threads < 32 || s->threads > 1024 || s->threads % 32 != 0 || s->lanes < 1 ||
      s->lanes > 32 || (s->lanes & (s->lanes - 1)) != 0 || s->rows < 1 ||
      s->rows > (tiled ? 4 : 16) || s->width < 32 || s->width > MBI_TILED_COLUMNS) {
    return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.tuning: %s is %d, %s %d and plan_desc.block_threads %d; method "
                    "%s takes %s, and multiples of 32 up to 1024",
                    tiled ? "columns" : "rows", mbi_knob(plan, 0), tiled ? "rows" : "lanes",
                    mbi_knob(plan, 1), plan->desc.block_threads, plan->row->name,
                    tiled ? "32 to 4096 columns, 1 to 4 rows a warp"
                          : "1 to 16 rows at once, a power of two up to 32 of lanes");
  }
  return MERBIT_OK;
}

MBI_INTERNAL merbit_status mbi_row_study_size(merbit_plan *plan) {
  mbi_csr_study *s = mbi_csr_study_of(plan);
  const int block_threads = plan->desc.block_threads;
  const int tiled = mbi_row_study_tiled(plan);
  uint64_t block_rows, resident;
  const int lanes = tiled ? 0 : mbi_knob(plan, MBI_KNOB_WARP_LOOP_LANES);
  const int rows =
      mbi_knob(plan, tiled ? (int)MBI_KNOB_WARP_TILED_ROWS : (int)MBI_KNOB_WARP_LOOP_ROWS);
  const int width = tiled ? mbi_knob(plan, MBI_KNOB_WARP_TILED_COLUMNS) : 0;
  s->threads = block_threads != 0 ? block_threads : 256;
  s->lanes = lanes != 0 ? lanes : 32;
  s->rows = rows != 0 ? rows : 1;
  s->width = width != 0 ? width : 2024;
  MBI_TRY(mbi_row_study_sizes_fit(plan));
  block_rows = (uint64_t)(s->threads / s->lanes * s->rows);
  s->blocks = plan->device.rows / block_rows + (plan->device.rows % block_rows != 0);
  resident = (uint64_t)plan->context->device.multiprocessors * (uint64_t)(2048 / s->threads);
  if (!tiled && s->blocks > resident && resident > 0) {
    s->blocks = resident;
  }
  if (s->blocks > (uint64_t)INT32_MAX) {
    return mbi_fail(plan->context, MERBIT_TOO_LARGE,
                    "%" PRIu64 " rows are too many for method %s", plan->device.rows,
                    plan->row->name);
  }
  return MERBIT_OK;
}

static merbit_status mbi_tiled_cut(merbit_plan *plan) {
  mbi_csr_study *s = mbi_csr_study_of(plan);
  mbk_tiled_cut_arguments arguments;
  arguments.row_ptr = plan->device.row_ptr;
  arguments.col_ind = plan->device.col_ind;
  arguments.rows = plan->device.rows;
  arguments.tile_first = s->tile_first;
  arguments.mixed = s->mixed;
  arguments.tile_col = s->tile_col;
  return mbi_device_launch(plan->context, s->kernels[0], "mbk_tiled_cut", (int64_t)s->blocks,
                           s->threads, (unsigned)(s->threads / 32 * (int)sizeof(uint32_t)),
                           NULL, &arguments);
}

/* Replaces the numbers of tiles at s->tile_first by the index of each block's first tile. */
static merbit_status mbi_tiled_sum(merbit_plan *plan) {
  mbi_csr_study *s = mbi_csr_study_of(plan);
  merbit_context *context = plan->context;
  const size_t bytes = (size_t)s->blocks * sizeof(uint64_t);
  void *memory = NULL;
  uint64_t block;
  merbit_status status;
  MBI_TRY(mbi_allocate_array(context, (int64_t)s->blocks + 1, sizeof(uint64_t),
                             "numbers of tiles", &memory));
  status = mbi_device_download(context, memory, s->tile_first, bytes);
  if (status == MERBIT_OK) {
    uint64_t *first = (uint64_t *)memory;
    for (block = 0; block < s->blocks; block++) {
      const uint64_t count = first[block];
      first[block] = s->tiles;
      s->tiles += count;
    }
    first[s->blocks] = s->tiles;
    status = mbi_device_upload(context, s->tile_first, memory, bytes + sizeof(uint64_t));
  }
  mbi_release(context, memory);
  return status;
}

static merbit_status mbi_tiled_encode(merbit_plan *plan) {
  mbi_csr_study *s = mbi_csr_study_of(plan);
  merbit_context *context = plan->context;
  MBI_TRY(mbi_plan_allocate(plan, (s->blocks + 1) * sizeof(uint64_t), "first tiles",
                            &s->tile_first));
  MBI_TRY(
      mbi_plan_allocate(plan, s->blocks * sizeof(uint32_t), "blocks of mixed rows", &s->mixed));
  MBI_TRY(mbi_tiled_cut(plan));
  MBI_TRY(mbi_tiled_sum(plan));
  if (s->tiles > 0) {
    MBI_TRY(
        mbi_plan_allocate(plan, s->tiles * sizeof(uint32_t), "tiles of columns", &s->tile_col));
    MBI_TRY(mbi_tiled_cut(plan));
    MBI_TRY(mbi_device_synchronize(context, NULL));
  }
  plan->schedule_bytes =
      (s->blocks + 1) * sizeof(uint64_t) + (s->blocks + s->tiles) * sizeof(uint32_t);
  plan->stream_bytes += plan->schedule_bytes;
  return MERBIT_OK;
}

/* ---- Specialise -------------------------------------------------------------------------- */

MBI_INTERNAL void mbi_row_study_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  const mbi_csr_study *s = mbi_csr_study_of(plan);
  mbi_plan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_STUDY", mbi_row_study_tiled(plan));
  mbi_preamble_define_int(preamble, "MBK_LANES", s->lanes);
  mbi_preamble_define_int(preamble, "MBK_ROWS", s->rows);
  mbi_preamble_define_int(preamble, "MBK_WIDTH", s->width);
  mbi_preamble_define_int(preamble, "MBK_THREADS", s->threads);
}

/* Creates the state. On failure the caller runs mbi_csr_study_destroy. */
static merbit_status mbi_row_study_create(merbit_plan *plan) {
  static const char *const names[4] = {"mbk_loop_reset", "mbk_loop_product", "mbk_tiled_cut",
                                       "mbk_tiled_product"};
  mbi_csr_study *s = mbi_csr_study_of(plan);
  const int tiled = mbi_row_study_tiled(plan);
  mbi_preamble preamble;
  int i;
  MBI_TRY(mbi_row_study_size(plan));
  plan->stream_bytes =
      mbi_device_csr_stream_bytes(plan) +
      (plan->device.rows + 1) * (uint64_t)mbi_index_bytes(plan->device.offset_type);
  mbi_row_study_preamble(plan, &preamble);
  MBI_TRY(mbi_plan_program(plan, "spmv/study/row_study.cu", &preamble, 1, &plan->program));
  for (i = 0; i < 2; i++) {
    MBI_TRY(mbi_program_kernel(plan->context, &plan->program, names[2 * tiled + i],
                               &s->kernels[i]));
  }
  return tiled && s->blocks > 0 ? mbi_tiled_encode(plan) : MERBIT_OK;
}

MBI_INTERNAL void mbi_csr_study_destroy(merbit_plan *plan) {
  mbi_plan_release(plan, mbi_csr_study_of(plan)->tile_first);
  mbi_plan_release(plan, mbi_csr_study_of(plan)->mixed);
  mbi_plan_release(plan, mbi_csr_study_of(plan)->tile_col);
  mbi_program_destroy(plan->context, &plan->program);
}

/* Returns the bytes of the loop's row counter, of which each product in flight needs its
 * own. */
static uint64_t mbi_row_study_carry_bytes(const merbit_plan *plan) {
  return mbi_row_study_tiled(plan) || mbi_csr_study_of(plan)->blocks == 0 ? 0
                                                                          : sizeof(uint64_t);
}

/* ---- Launch ------------------------------------------------------------------------------ */

static merbit_status mbi_warp_loop_multiply(merbit_plan *plan, mbi_devptr carries,
                                            const void *alpha, mbi_devptr x, const void *beta,
                                            mbi_devptr y, void *stream) {
  mbi_csr_study *s = mbi_csr_study_of(plan);
  mbk_loop_reset_arguments reset;
  mbk_loop_product_arguments arguments;
  if (s->blocks == 0) {
    return MERBIT_OK;
  }
  reset.counter = carries;
  MBI_TRY(mbi_plan_launch(plan, s->kernels[0], "mbk_loop_reset", 1, 1, 0, stream, &reset,
                          sizeof reset));
  arguments.row_ptr = plan->device.row_ptr;
  arguments.col_ind = plan->device.col_ind;
  arguments.values = plan->device.values;
  arguments.x = x;
  arguments.y = y;
  arguments.counter = carries;
  arguments.rows = plan->device.rows;
  arguments.alpha = mbi_plan_scalar(plan, alpha);
  arguments.beta = mbi_plan_scalar(plan, beta);
  return mbi_plan_launch(plan, s->kernels[1], "mbk_loop_product", (int64_t)s->blocks,
                         s->threads, 0, stream, &arguments, sizeof arguments);
}

static merbit_status mbi_warp_tiled_multiply(merbit_plan *plan, mbi_devptr carries,
                                             const void *alpha, mbi_devptr x, const void *beta,
                                             mbi_devptr y, void *stream) {
  mbi_csr_study *s = mbi_csr_study_of(plan);
  mbk_tiled_product_arguments arguments;
  (void)carries;
  arguments.row_ptr = plan->device.row_ptr;
  arguments.col_ind = plan->device.col_ind;
  arguments.values = plan->device.values;
  arguments.x = x;
  arguments.y = y;
  arguments.tile_first = s->tile_first;
  arguments.mixed = s->mixed;
  arguments.tile_col = s->tile_col;
  arguments.rows = plan->device.rows;
  arguments.cols = plan->device.cols;
  arguments.alpha = mbi_plan_scalar(plan, alpha);
  arguments.beta = mbi_plan_scalar(plan, beta);
  return mbi_plan_launch(plan, s->kernels[1], "mbk_tiled_product", (int64_t)s->blocks,
                         s->threads, (unsigned)(s->width * (int)mbi_type_size(plan->type)),
                         stream, &arguments, sizeof arguments);
}

/* ---- Describe ---------------------------------------------------------------------------- */

static void mbi_row_study_info(const merbit_plan *plan, merbit_plan_info *info) {
  const mbi_csr_study *s = mbi_csr_study_of(plan);
  info->block_threads = s->threads;
  info->tiles = (int64_t)s->tiles;
}

static int mbi_row_study_describe(const merbit_plan *plan, char *text, size_t size) {
  const mbi_csr_study *s = mbi_csr_study_of(plan);
  if (mbi_row_study_tiled(plan)) {
    return snprintf(text, size,
                    "%" PRIu64 " tiles of %d columns for %" PRIu64 " blocks of %d rows",
                    s->tiles, s->width, s->blocks, s->threads / 32 * s->rows);
  }
  return snprintf(text, size, "%" PRIu64 " blocks of %d threads, %d lanes per row, %d at once",
                  s->blocks, s->threads, s->lanes, s->rows);
}

MBI_INTERNAL const mbi_cuda_method mbi_warp_loop_method = {
    sizeof(mbi_csr_study),     /* state_bytes */
    mbi_row_study_create,      /* create */
    mbi_csr_study_destroy,     /* destroy */
    mbi_row_study_carry_bytes, /* carry_bytes */
    mbi_warp_loop_multiply,    /* multiply */
    mbi_row_study_info,        /* info */
    mbi_row_study_describe,    /* describe */
    NULL,                      /* refresh */
    MBI_FORMS_CHEAP,           /* forms */
    NULL,                      /* cost */
    NULL,                      /* bound */
    0,                         /* making */
    NULL,                      /* trusted */
    "rows lanes",              /* knobs */
};
MBI_INTERNAL const mbi_cuda_method mbi_warp_tiled_method = {
    sizeof(mbi_csr_study),     /* state_bytes */
    mbi_row_study_create,      /* create */
    mbi_csr_study_destroy,     /* destroy */
    mbi_row_study_carry_bytes, /* carry_bytes */
    mbi_warp_tiled_multiply,   /* multiply */
    mbi_row_study_info,        /* info */
    mbi_row_study_describe,    /* describe */
    NULL,                      /* refresh */
    MBI_FORMS_CHEAP,           /* forms */
    NULL,                      /* cost */
    NULL,                      /* bound */
    0,                         /* making */
    NULL,                      /* trusted */
    "columns rows",            /* knobs */
};

#endif /* MERBIT_STUDY_METHODS */
