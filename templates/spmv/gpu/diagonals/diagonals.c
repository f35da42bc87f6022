#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/gpu/rows/rows.h"
#include "spmv/gpu/scan/scan.h"
#include "spmv/gpu/diagonals/diagonals.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* DIAGONALS on the host: finds the diagonals of slices, launches the product.
 * spmv/gpu/diagonals/diagonals.cu describes the method. */

/* ---- Sizes ------------------------------------------------------------------------------- */

/* Returns the state of a plan that uses this method. */
MBI_INTERNAL mbi_diagonals *mbi_diagonals_of(const merbit_plan *plan) {
  return (mbi_diagonals *)plan->state;
}

/* Returns the bytes of all slices if they have `count` diagonals. */
static double mbi_diagonals_bytes(const merbit_plan *plan, double count) {
  return count *
             (double)(sizeof(int32_t) + sizeof(uint64_t) + MBI_SLICE * mbi_value_bytes(plan)) +
         (double)plan->device.rows / MBI_SLICE * (double)sizeof(uint32_t);
}

/* Returns the number of diagonals estimated from the samples. Without samples, diagonals count
 * as full. */
static double mbi_diagonals_expected(const merbit_plan *plan) {
  const double slots = plan->nonempty.diagonal_slots;
  return (slots > 0 ? slots : 1) * (double)plan->device.nnz / MBI_SLICE;
}

/* Returns the most diagonals with which AUTO takes the method. About half of the slots are then
 * filled. */
static uint64_t mbi_diagonals_most(const merbit_plan *plan) {
  return plan->device.nnz / (MBI_SLICE / 2) + (plan->device.rows + MBI_SLICE - 1) / MBI_SLICE;
}

/* Returns the bytes of all slices, estimated from the samples. */
static double mbi_diagonals_likely(const merbit_plan *plan) {
  return mbi_diagonals_bytes(plan, mbi_diagonals_expected(plan));
}

/* Slices have many diagonals if rows have more nonzeros than this on average. */
#define MBI_DIAGONALS_MANY 48

/* Returns the number of diagonals that a lane loads at once: 4, or 8 with general values if
 * there are many diagonals, or if L2 holds the matrix and rows have more than 8 nonzeros. (us
 * with 4 and with 8: 3M doubles on an H100, 27 points 8.8 and 6.4, 7 points 7.6 and 8.9; on an
 * H200, 97 diagonals, 10M floats 33.6 and 22.9, doubles 28.2 and 25.5; 27 points, 30M floats
 * 36.1 and 38.9. With other forms of values, 8 would spill.) */
static int mbi_diagonals_unroll(const merbit_plan *plan) {
  const int wish = mbi_knob(plan, MBI_KNOB_DIAGONALS_UNROLL);
  const int held = mbi_choose_fits(plan, (uint64_t)mbi_diagonals_likely(plan), 1);
  const int many = plan->device.form == MBI_VALUES_GENERAL &&
                   plan->device.nnz > (held ? 8 : MBI_DIAGONALS_MANY) * plan->device.rows;
  return wish != 0 ? wish : many ? 8 : 4;
}

MBI_INTERNAL merbit_status mbi_diagonals_size(merbit_plan *plan) {
  mbi_diagonals *d = mbi_diagonals_of(plan);
  d->unroll = mbi_diagonals_unroll(plan);
  d->threads = plan->desc.block_threads != 0 ? plan->desc.block_threads : 128;
  if (d->unroll < 1 || d->unroll > 8 || (d->unroll & (d->unroll - 1)) != 0 || d->threads < 32 ||
      d->threads > 1024 || d->threads % 32 != 0) {
    return mbi_fail(
        plan->context, MERBIT_INVALID_ARGUMENT,
        "plan_desc.tuning: unroll is %d and plan_desc.block_threads %d; use 1, 2, 4 or 8, and "
        "a multiple of 32 up to 1024",
        d->unroll, d->threads);
  }
  /* A warp counts diagonals in steps of 32, beyond the last one of the matrix. */
  if (plan->device.rows > (uint64_t)INT32_MAX || plan->device.nnz > (uint64_t)UINT32_MAX - 32) {
    return mbi_fail(plan->context, MERBIT_TOO_LARGE,
                    "%" PRIu64 " rows with %" PRIu64
                    " nonzeros are too many for MERBIT_METHOD_DIAGONALS; use another "
                    "plan_desc.method",
                    plan->device.rows, plan->device.nnz);
  }
  d->slices = (plan->device.rows + MBI_SLICE - 1) / MBI_SLICE;
  d->blocks = (d->slices * 32 + (uint64_t)d->threads - 1) / (uint64_t)d->threads;
  return MERBIT_OK;
}

/* ---- Specialise -------------------------------------------------------------------------- */

MBI_INTERNAL void mbi_diagonals_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  const mbi_diagonals *d = mbi_diagonals_of(plan);
  mbi_plan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_UNROLL", d->unroll);
  mbi_choose_loads(plan, preamble, (uint64_t)mbi_diagonals_likely(plan), 1, 1);
  mbi_preamble_define_int(preamble, "MBK_THREADS", d->threads);
}

static merbit_status mbi_diagonals_specialise(merbit_plan *plan) {
  static const char *const names[4] = {"mbk_diagonals_count", "mbk_diagonals_fill",
                                       "mbk_diagonals_product", "mbk_diagonals_values"};
  mbi_diagonals *d = mbi_diagonals_of(plan);
  mbi_preamble preamble;
  int i;
  mbi_diagonals_preamble(plan, &preamble);
  MBI_TRY(
      mbi_plan_program(plan, "spmv/gpu/diagonals/diagonals.cu", &preamble, 2, &plan->program));
  for (i = 0; i < (mbi_value_bytes(plan) > 0 ? 4 : 3); i++) {
    MBI_TRY(mbi_program_part_kernel(plan->context, &plan->program, i != 2, names[i],
                                    &d->kernels[i]));
  }
  return MERBIT_OK;
}

/* ---- Launch: count, fill, values, multiply ----------------------------------------------- */

/* Returns the number of blocks that build the slices: at most MBI_DIAGONALS_RESIDENT per
 * multiprocessor. */
MBI_INTERNAL int64_t mbi_diagonals_build_blocks(const merbit_plan *plan) {
  const int64_t all =
      ((int64_t)mbi_diagonals_of(plan)->slices * 32 + MBI_DIAGONALS_BUILD_THREADS - 1) /
      MBI_DIAGONALS_BUILD_THREADS;
  const int64_t most = (int64_t)MBI_DIAGONALS_RESIDENT * plan->context->device.multiprocessors;
  return all < most ? all : most;
}

/* Counts the diagonals of each slice and computes where they begin. AUTO gives the method up if
 * there are far more than the samples promised. */
static merbit_status mbi_diagonals_count(merbit_plan *plan) {
  mbi_diagonals *d = mbi_diagonals_of(plan);
  mbk_diagonals_count_arguments arguments;
  arguments.row_ptr = plan->device.row_ptr;
  arguments.col_ind = plan->device.col_ind;
  arguments.rows = plan->device.rows;
  arguments.slices = d->slices;
  arguments.count = d->start;
  MBI_TRY(mbi_device_launch(plan->context, d->kernels[0], "mbk_diagonals_count",
                            mbi_diagonals_build_blocks(plan), MBI_DIAGONALS_BUILD_THREADS, 0,
                            NULL, &arguments));
  MBI_TRY(mbi_nonempty_sums(plan, d->start, d->slices, &d->count));
  if (plan->desc.method == MERBIT_METHOD_AUTO && d->count > mbi_diagonals_most(plan)) {
    return mbi_fail(plan->context, MERBIT_TOO_LARGE,
                    "the slices have %" PRIu64 " diagonals, too many to pay", d->count);
  }
  return MERBIT_OK;
}

static merbit_status mbi_diagonals_fill(merbit_plan *plan) {
  mbi_diagonals *d = mbi_diagonals_of(plan);
  mbk_diagonals_fill_arguments arguments;
  arguments.row_ptr = plan->device.row_ptr;
  arguments.col_ind = plan->device.col_ind;
  arguments.rows = plan->device.rows;
  arguments.slices = d->slices;
  arguments.start = d->start;
  arguments.offsets = d->offsets;
  arguments.present = d->present;
  return mbi_device_launch(plan->context, d->kernels[1], "mbk_diagonals_fill",
                           mbi_diagonals_build_blocks(plan), MBI_DIAGONALS_BUILD_THREADS, 0,
                           NULL, &arguments);
}

/* Copies the values to the slots, if there is one per nonzero. */
static merbit_status mbi_diagonals_values(merbit_plan *plan) {
  mbi_diagonals *d = mbi_diagonals_of(plan);
  mbk_diagonals_values_arguments arguments;
  if (mbi_value_bytes(plan) == 0) {
    return MERBIT_OK;
  }
  arguments.row_ptr = plan->device.row_ptr;
  arguments.values = plan->device.values;
  arguments.rows = plan->device.rows;
  arguments.slices = d->slices;
  arguments.start = d->start;
  arguments.present = d->present;
  arguments.slots = d->slots;
  return mbi_device_launch(plan->context, d->kernels[3], "mbk_diagonals_values",
                           mbi_diagonals_build_blocks(plan), MBI_DIAGONALS_BUILD_THREADS, 0,
                           NULL, &arguments);
}

static merbit_status mbi_diagonals_create(merbit_plan *plan) {
  mbi_diagonals *d = mbi_diagonals_of(plan);
  MBI_TRY(mbi_diagonals_size(plan));
  if (d->slices == 0) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_diagonals_specialise(plan));
  MBI_TRY(mbi_plan_allocate(plan, (d->slices + 1) * sizeof(uint32_t), "starts of slices",
                            &d->start));
  MBI_TRY(mbi_diagonals_count(plan));
  {
    mbi_devptr *const parts[] = {&d->present, &d->slots, &d->offsets};
    const uint64_t bytes[] = {d->count * sizeof(uint64_t),
                              d->count * MBI_SLICE * mbi_value_bytes(plan),
                              d->count * sizeof(int32_t)};
    MBI_TRY(mbi_plan_allocate_parts(plan, "diagonals", 3, parts, bytes));
  }
  plan->schedule_bytes = (uint64_t)mbi_diagonals_bytes(plan, (double)d->count);
  plan->stream_bytes = plan->schedule_bytes + mbi_value_bytes_once(plan);
  MBI_TRY(mbi_diagonals_fill(plan));
  return mbi_diagonals_values(plan);
}

static void mbi_diagonals_destroy(merbit_plan *plan) {
  mbi_plan_release(plan, mbi_diagonals_of(plan)->start);
  /* This also releases the arrays that were allocated with it. */
  mbi_plan_release(plan, mbi_diagonals_of(plan)->present);
  mbi_program_destroy(plan->context, &plan->program);
}

static merbit_status mbi_diagonals_multiply(merbit_plan *plan, mbi_devptr carries,
                                            const void *alpha, mbi_devptr x, const void *beta,
                                            mbi_devptr y, void *stream) {
  mbi_diagonals *d = mbi_diagonals_of(plan);
  mbk_diagonals_product_arguments arguments;
  (void)carries;
  if (d->blocks == 0) {
    return MERBIT_OK;
  }
  arguments.start = d->start;
  arguments.offsets = d->offsets;
  arguments.present = d->present;
  arguments.values = mbi_value_bytes(plan) > 0 ? d->slots : plan->device.values;
  arguments.table = plan->device.table;
  arguments.x = x;
  arguments.y = y;
  arguments.rows = plan->device.rows;
  arguments.alpha = mbi_plan_scalar(plan, alpha);
  arguments.beta = mbi_plan_scalar(plan, beta);
  return mbi_plan_launch(plan, d->kernels[2], "mbk_diagonals_product", (int64_t)d->blocks,
                         d->threads, mbi_value_shared(plan), stream, &arguments,
                         sizeof arguments);
}

/* ---- Describe ---------------------------------------------------------------------------- */

static void mbi_diagonals_info(const merbit_plan *plan, merbit_plan_info *info) {
  info->block_threads = mbi_diagonals_of(plan)->threads;
  info->tiles = (int64_t)mbi_diagonals_of(plan)->slices;
}

static int mbi_diagonals_describe(const merbit_plan *plan, char *text, size_t size) {
  const mbi_diagonals *d = mbi_diagonals_of(plan);
  return snprintf(
      text, size,
      "%" PRIu64 " slices of 64 rows, %.1f diagonals each, %.1f%% of the slots "
      "filled, %d threads",
      d->slices, (double)d->count / (d->slices > 0 ? (double)d->slices : 1.0),
      d->count > 0 ? 100.0 * (double)plan->device.nnz / ((double)d->count * MBI_SLICE) : 100.0,
      d->threads);
}

/* A step of a lane takes as long as this many dependent loads from L2, and one more from memory
 * if L2 does not hold the matrix. */
#define MBI_DIAGONALS_STEP 5.0

/* Returns the number of steps in which a lane walks the diagonals of a slice. */
MBI_INTERNAL double mbi_diagonals_steps(const merbit_plan *plan) {
  return mbi_diagonals_expected(plan) * MBI_SLICE / (double)plan->device.rows /
         mbi_diagonals_unroll(plan);
}

/* Returns the forecast seconds of a product by diagonals: the time for all bytes, or for the
 * steps in which a lane walks the diagonals of a slice, whichever is longer. Sectors of x that
 * follow each other take half as long as scattered ones. (3 x 3 blocks, 94 to 97 diagonals per
 * slice: 40,500 rows on an H100, 15 us in f32 and 25 in f64, ROWS 6.4 and 9.7; 132,300 rows on
 * an H200, 8 at once, 23 and 26, ROWS 20 and 30.) */
static double mbi_diagonals_seconds(const merbit_plan *plan) {
  const mbi_traffic t = mbi_traffic_of(plan);
  const double bytes = mbi_diagonals_likely(plan);
  return mbi_choose_longer(
      0.95 *
          mbi_choose_overlap(plan, t.vectors + bytes * mbi_choose_stream(plan), t.gathers / 2),
      mbi_diagonals_steps(plan) *
          (MBI_DIAGONALS_STEP * plan->profile->l2_load_seconds +
           mbi_choose_passing(plan) / 16.0 * plan->profile->memory_load_seconds));
}

/* Returns whether AUTO may take the method: the samples found diagonals that are mostly full,
 * and so few that walking them takes no longer than SCAN. */
MBI_INTERNAL int mbi_diagonals_trusted(const merbit_plan *plan) {
  const double slots = plan->nonempty.diagonal_slots, scan = mbi_scan_cost(plan);
  return slots > 0 && mbi_diagonals_expected(plan) <= (double)mbi_diagonals_most(plan) &&
         plan->device.rows <= (uint64_t)INT32_MAX &&
         mbi_walk(plan, mbi_diagonals_unroll(plan), 2) <= scan &&
         mbi_diagonals_seconds(plan) <= scan;
}

/* Returns the forecast seconds of a product, or HUGE_VAL if the matrix is unsuitable. */
MBI_INTERNAL double mbi_diagonals_cost(const merbit_plan *plan) {
  return mbi_diagonals_trusted(plan) ? mbi_diagonals_seconds(plan) : HUGE_VAL;
}

/* Adds an upper bound for the diagonals, each of which has at least one nonzero. */
static merbit_status mbi_diagonals_bound(merbit_plan *plan, mbi_bound *bound) {
  MBI_TRY(mbi_diagonals_size(plan));
  bound->kept +=
      (uint64_t)mbi_diagonals_bytes(plan, (double)(plan->desc.method == MERBIT_METHOD_AUTO
                                                       ? mbi_diagonals_most(plan)
                                                       : plan->device.nnz)) +
      2 * sizeof(uint32_t);
  return MERBIT_OK;
}

MBI_INTERNAL const mbi_cuda_method mbi_diagonals_method = {
    sizeof(mbi_diagonals),  /* state_bytes */
    mbi_diagonals_create,   /* create */
    mbi_diagonals_destroy,  /* destroy */
    mbi_rows_carry_bytes,   /* carry_bytes */
    mbi_diagonals_multiply, /* multiply */
    mbi_diagonals_info,     /* info */
    mbi_diagonals_describe, /* describe */
    mbi_diagonals_values,   /* refresh */
    MBI_FORMS_ALL,          /* forms */
    mbi_diagonals_cost,     /* cost */
    mbi_diagonals_bound,    /* bound */
    MBI_MAKING_FORM,        /* making */
    NULL,                   /* trusted */
    "unroll",               /* knobs */
};
