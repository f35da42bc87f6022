#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/gpu/scan/scan.h"
#include "spmv/gpu/hubs/hubs.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* HUBS on the host: finds the hubs, encodes the columns, launches the product.
 * spmv/gpu/hubs/hubs.cu describes the method. */

/* ---- Sizes: hubs in shared memory, tiles ------------------------------------------------- */

/* Returns the state of a plan that uses this method. */
MBI_INTERNAL mbi_hubs *mbi_hubs_of(const merbit_plan *plan) {
  return (mbi_hubs *)plan->state;
}

#define MBI_HUBS_THREADS 1024
/* Kilobytes of shared memory per block, for hubs and the old y. With the kilobyte that the
 * system takes per block they make 164, a size that compute capability 8.0 and 9.0 offer. With
 * more, L1 would shrink to the next smaller size. */
#define MBI_HUBS_KILOBYTES 163

MBI_INTERNAL uint64_t mbi_hubs_capacity(const merbit_plan *plan) {
  const int wish = mbi_knob(plan, MBI_KNOB_HUBS_KILOBYTES);
  const uint64_t bytes = 1024 * (uint64_t)(wish != 0 ? wish : MBI_HUBS_KILOBYTES);
  const uint64_t most = (uint64_t)plan->context->device.shared_bytes_per_block;
  const uint64_t space = bytes < most ? bytes : most;
  const uint64_t old =
      (uint64_t)MBI_HUBS_THREADS * mbi_type_size(plan->type) + mbi_value_shared(plan);
  return space > old ? (space - old) / mbi_type_size(plan->type) : 0;
}

/* Chooses and checks the sizes that kernels are compiled for. plan->nonempty must be set. */
/* Returns the number of nonzeros per lane and tile. */
static int mbi_hubs_steps(const merbit_plan *plan) {
  return plan->type == MERBIT_F32 ? 8 : 4;
}

MBI_INTERNAL merbit_status mbi_hubs_size(merbit_plan *plan) {
  mbi_hubs *h = mbi_hubs_of(plan);
  mbi_scan_schedule *s = mbi_scan_of(plan);
  merbit_context *context = plan->context;
  const int steps = mbi_knob(plan, MBI_KNOB_HUBS_STEPS);
  const int kilobytes = mbi_knob(plan, MBI_KNOB_HUBS_KILOBYTES);
  s->pack = mbi_scan_widest(plan->type);
  s->steps = steps != 0 ? steps : mbi_hubs_steps(plan);
  s->threads = plan->desc.block_threads != 0 ? plan->desc.block_threads : MBI_HUBS_THREADS;
  s->resident = 1;
  h->capacity = mbi_hubs_capacity(plan);
  if (kilobytes < 0 || kilobytes > 227 || s->steps < 1 || s->steps > 32 ||
      s->steps % s->pack != 0 || s->threads < 32 || s->threads > MBI_HUBS_THREADS ||
      s->threads % 32 != 0) {
    return mbi_fail(
        context, MERBIT_INVALID_ARGUMENT,
        "plan_desc.tuning: steps is %d, kilobytes %d and plan_desc.block_threads %d; use a "
        "multiple of %d up to 32, up to 227 kilobytes of shared memory, and a multiple of 32 "
        "up to %d",
        steps, kilobytes, plan->desc.block_threads, s->pack, MBI_HUBS_THREADS);
  }
  s->tiles = (plan->device.nnz + 32 * (uint64_t)s->steps - 1) / (32 * (uint64_t)s->steps);
  if (s->tiles > (uint64_t)INT32_MAX) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "%" PRIu64 " nonzeros make %" PRIu64
                    " tiles; raise steps in plan_desc.tuning",
                    plan->device.nnz, s->tiles);
  }
  s->blocks = (s->tiles * 32 + (uint64_t)s->threads - 1) / (uint64_t)s->threads;
  if (s->blocks > (uint64_t)context->device.multiprocessors) {
    s->blocks = (uint64_t)context->device.multiprocessors;
  }
  mbi_scan_size_rows(plan);
  return MERBIT_OK;
}

/* ---- Specialise -------------------------------------------------------------------------- */

MBI_INTERNAL void mbi_hubs_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  mbi_scan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_HUBS", (int)mbi_hubs_of(plan)->capacity);
}

static merbit_status mbi_hubs_specialise(merbit_plan *plan) {
  static const char *const names[4] = {"mbk_hubs_assign", "mbk_hubs_encode", "mbk_hubs_product",
                                       "mbk_hubs_sum"};
  mbi_preamble preamble;
  int i;
  mbi_hubs_preamble(plan, &preamble);
  MBI_TRY(mbi_plan_program(plan, "spmv/gpu/hubs/hubs.cu", &preamble, 3, &plan->program));
  MBI_TRY(mbi_scan_kernels(plan));
  for (i = 0; i < 4; i++) {
    MBI_TRY(mbi_program_part_kernel(plan->context, &plan->program, i == 3, names[i],
                                    &mbi_hubs_of(plan)->kernels[i]));
  }
  return MERBIT_OK;
}

/* Returns the bytes of shared memory per block of the product. */
MBI_INTERNAL unsigned mbi_hubs_shared(const merbit_plan *plan, int adds) {
  const uint64_t count =
      mbi_hubs_of(plan)->capacity + (adds ? (uint64_t)mbi_scan_of(plan)->threads : 0);
  return mbi_value_shared(plan) + (unsigned)(count * mbi_type_size(plan->type));
}

/* ---- Launch: codes, products ------------------------------------------------------------- */

static merbit_status mbi_hubs_encode(merbit_plan *plan) {
  mbi_hubs *h = mbi_hubs_of(plan);
  merbit_context *context = plan->context;
  uint32_t counts[2];
  uint64_t hubs;
  /* The codes overwrite the counts, and the numbers of hubs the first bins after them. A new
   * allocation would take as long as a product. */
  mbi_devptr code = plan->nonempty.column_counts;
  mbi_devptr taken = code + plan->device.cols * sizeof(int32_t);
  mbk_hubs_assign_arguments assign_arguments;
  mbk_hubs_encode_arguments encode_arguments;
  plan->nonempty.columns_coded = 1;
  MBI_TRY(mbi_device_zero(context, taken, sizeof counts, NULL));
  assign_arguments.counts = plan->nonempty.column_counts;
  assign_arguments.cols = plan->device.cols;
  assign_arguments.least = plan->nonempty.hub_least;
  assign_arguments.above = plan->nonempty.hub_above;
  assign_arguments.room = (uint32_t)h->capacity;
  assign_arguments.code = code;
  assign_arguments.hub_col = h->hub_col;
  assign_arguments.taken = taken;
  MBI_TRY(mbi_device_launch(context, h->kernels[0], "mbk_hubs_assign",
                            (int64_t)((plan->device.cols + 255) / 256), 256, 0, NULL,
                            &assign_arguments));
  encode_arguments.col_ind = plan->device.col_ind;
  encode_arguments.nnz = plan->device.nnz;
  encode_arguments.code = code;
  encode_arguments.codes = h->codes;
  MBI_TRY(mbi_device_launch(context, h->kernels[1], "mbk_hubs_encode",
                            mbi_arrays_blocks((int64_t)plan->device.nnz), 256, 0, NULL,
                            &encode_arguments));
  MBI_TRY(mbi_device_download(context, counts, taken, sizeof counts));
  hubs = (uint64_t)counts[0] + counts[1];
  h->count = (uint32_t)(hubs < h->capacity ? hubs : h->capacity);
  return MERBIT_OK;
}

MBI_INTERNAL merbit_status mbi_hubs_create(merbit_plan *plan) {
  mbi_hubs *h = mbi_hubs_of(plan);
  merbit_context *context = plan->context;
  const uint64_t codes = plan->device.nnz * sizeof(int32_t);
  MBI_TRY(mbi_scan_nonempty(plan));
  MBI_TRY(mbi_hubs_size(plan));
  MBI_TRY(mbi_nonempty_columns(plan, h->capacity));
  MBI_TRY(mbi_hubs_specialise(plan));
  MBI_TRY(mbi_device_reserve_shared(context, h->kernels[2], "mbk_hubs_product",
                                    mbi_hubs_shared(plan, 0)));
  MBI_TRY(mbi_device_reserve_shared(context, h->kernels[3], "mbk_hubs_sum",
                                    mbi_hubs_shared(plan, 1)));
  MBI_TRY(mbi_scan_schedule_create(plan));
  {
    mbi_devptr *const parts[] = {&h->codes, &h->hub_col};
    const uint64_t bytes[] = {codes, h->capacity * sizeof(uint32_t)};
    MBI_TRY(mbi_plan_allocate_parts(plan, "columns by codes", 2, parts, bytes));
  }
  if (plan->device.nnz > 0) {
    MBI_TRY(mbi_hubs_encode(plan));
  }
  plan->schedule_bytes += codes + h->capacity * sizeof(uint32_t);
  plan->stream_bytes += mbi_device_csr_stream_bytes(plan);
  return MERBIT_OK;
}

static void mbi_hubs_destroy(merbit_plan *plan) {
  mbi_plan_release(plan, mbi_hubs_of(plan)->codes);
  mbi_scan_destroy(plan);
}

static merbit_status mbi_hubs_multiply(merbit_plan *plan, mbi_devptr carries, const void *alpha,
                                       mbi_devptr x, const void *beta, mbi_devptr y,
                                       void *stream) {
  mbi_hubs *h = mbi_hubs_of(plan);
  mbi_scan_schedule *s = mbi_scan_of(plan);
  const int adds = mbi_plan_adds(plan, beta);
  mbi_devptr tails = carries + s->tiles * mbi_type_size(plan->type);
  mbk_hubs_product_arguments arguments;
  if (s->blocks > 0) {
    arguments.row_ends = s->row_ends;
    arguments.tile_row = s->tile_row;
    arguments.row_id = plan->nonempty.row_id;
    arguments.codes = h->codes;
    arguments.values = plan->device.values;
    arguments.table = plan->device.table;
    arguments.hub_col = h->hub_col;
    arguments.hub_count = h->count;
    arguments.x = x;
    arguments.y = y;
    arguments.firsts = carries;
    arguments.tails = tails;
    arguments.nnz = plan->device.nnz;
    arguments.tiles = s->tiles;
    arguments.alpha = mbi_plan_scalar(plan, alpha);
    arguments.beta = mbi_plan_scalar(plan, beta);
    MBI_TRY(mbi_plan_launch(plan, h->kernels[adds ? 3 : 2],
                            adds ? "mbk_hubs_sum" : "mbk_hubs_product", (int64_t)s->blocks,
                            s->threads, mbi_hubs_shared(plan, adds), stream, &arguments,
                            sizeof arguments));
  }
  return mbi_scan_launch_fixup(plan, carries, alpha, beta, y, stream,
                               mbi_plan_start(plan, s->blocks > 0));
}

/* ---- Describe ---------------------------------------------------------------------------- */

static int mbi_hubs_describe(const merbit_plan *plan, char *text, size_t size) {
  return snprintf(text, size,
                  "%" PRIu64 " tiles of 32 x %d, %" PRIu32
                  " hubs with %.0f%% of the nonzeros in shared memory, %" PRIu64
                  " empty rows, %d threads",
                  mbi_scan_of(plan)->tiles, mbi_scan_of(plan)->steps, mbi_hubs_of(plan)->count,
                  100.0 * plan->nonempty.hub_share, mbi_scan_of(plan)->empty_rows,
                  mbi_scan_of(plan)->threads);
}

/* Returns the seconds in which each block loads the hubs before its first tile: their columns,
 * then x, four at once per thread. The first step is left out, since every product has it. All
 * blocks read the same elements, so L2 has them. */
static double mbi_hubs_walk(const merbit_plan *plan) {
  const double capacity = (double)mbi_hubs_capacity(plan), cols = (double)plan->device.cols;
  const double steps = (capacity < cols ? capacity : cols) / (4 * MBI_HUBS_THREADS);
  return steps > 1 ? (steps - 1) * 2 * plan->profile->l2_load_seconds : 0;
}

/* Returns the seconds for writing the rows. The one block of each multiprocessor writes as many
 * at a time as it has threads, and waits for memory once each time. */
static double mbi_hubs_rows(const merbit_plan *plan) {
  const double at_once = (double)plan->context->device.multiprocessors * MBI_HUBS_THREADS;
  return (double)plan->nonempty.count / at_once * plan->profile->memory_load_seconds;
}

/* Returns the factor by which gathers take longer than SCAN's, because one block per
 * multiprocessor has fewer nonzeros in flight. */
static double mbi_hubs_thin(const merbit_plan *plan) {
  const double flight = MBI_HUBS_THREADS * (double)mbi_hubs_steps(plan);
  return (1 + MBI_CHOOSE_HALF / flight) / (1 + MBI_CHOOSE_HALF / (2 * flight));
}

/* Returns the forecast seconds of a product: SCAN's without the gathers of hubs, and one more
 * launch. The other gathers are of columns that no cache keeps by itself; L2's rate for them
 * falls if x and y together do not fit. A graph's columns are assumed to be as often empty as
 * its rows, and neither to need room in L2. The more of the matrix L2 keeps, the less hubs
 * save. (3M doubles of a user x item matrix on an H100: 30 us, SCAN 25.)
 *
 * Returns HUGE_VAL if hubs save too little, or if rows are short: one block per multiprocessor
 * then loses more than hubs save. (A star, ones in f64 on an H200: 224 us, SCAN 206.) */
MBI_INTERNAL double mbi_hubs_cost(const merbit_plan *plan) {
  const mbi_traffic t = mbi_traffic_of(plan);
  const double used = (t.rows + t.cols) * (double)plan->nonempty.count / t.rows;
  return t.nnz >= 4.0 * t.rows && plan->nonempty.hub_share > 1.0 - plan->nonempty.sectors
             ? (32 - mbi_choose_passing(plan)) / 16.0 *
                       mbi_phases_overlap(plan, t.vectors + t.lists + t.shared + t.stream,
                                          t.nnz * (1.0 - plan->nonempty.hub_share) *
                                              mbi_hubs_thin(plan) *
                                              mbi_choose_gather(plan, used * t.size),
                                          NULL) +
                   plan->profile->launch_seconds + mbi_hubs_walk(plan) + mbi_hubs_rows(plan) +
                   mbi_walk_fixup(plan, MBI_SCAN_TILE)
             : HUGE_VAL;
}

static merbit_status mbi_hubs_bound(merbit_plan *plan, mbi_bound *bound) {
  MBI_TRY(mbi_hubs_size(plan));
  mbi_scan_bound_tiles(plan, (uint64_t)mbi_scan_of(plan)->steps, mbi_type_size(plan->type),
                       bound);
  mbi_nonempty_columns_bound(plan, bound);
  bound->kept +=
      plan->device.nnz * sizeof(int32_t) + mbi_hubs_of(plan)->capacity * sizeof(uint32_t);
  return MERBIT_OK;
}

MBI_INTERNAL const mbi_cuda_method mbi_hubs_method = {
    sizeof(mbi_hubs),     /* state_bytes */
    mbi_hubs_create,      /* create */
    mbi_hubs_destroy,     /* destroy */
    mbi_scan_carry_bytes, /* carry_bytes */
    mbi_hubs_multiply,    /* multiply */
    mbi_scan_info,        /* info */
    mbi_hubs_describe,    /* describe */
    NULL,                 /* refresh */
    MBI_FORMS_ALL,        /* forms */
    mbi_hubs_cost,        /* cost */
    mbi_hubs_bound,       /* bound */
    MBI_MAKING_COLUMNS,   /* making */
    NULL,                 /* trusted */
    "steps kilobytes",    /* knobs */
};
