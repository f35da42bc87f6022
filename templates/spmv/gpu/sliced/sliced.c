#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/gpu/rows/rows.h"
#include "spmv/gpu/sliced/sliced.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* SLICED on the host: builds slices of 32 rows, launches the product.
 * spmv/gpu/sliced/sliced.cu describes the method. */

/* ---- Specialise -------------------------------------------------------------------------- */

MBI_INTERNAL void mbi_sliced_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  const mbi_sliced *s = mbi_sliced_of(plan);
  mbi_plan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_UNROLL", s->unroll);
  mbi_preamble_define_int(preamble, "MBK_PACK", s->pack);
  mbi_preamble_define_int(preamble, "MBK_PARTS", s->parts);
  mbi_preamble_define(preamble, "MBK_LENGTH", s->length_bytes == 1 ? "mbk_u8" : "mbk_u32");
  mbi_preamble_define_int(preamble, "MBK_SORTED", s->sorted);
  mbi_choose_loads(plan, preamble, (uint64_t)mbi_sliced_bytes(plan), 1, 0);
  mbi_preamble_define_int(preamble, "MBK_THREADS", s->threads);
}

static merbit_status mbi_sliced_specialise(merbit_plan *plan) {
  static const char *const names[4] = {"mbk_sliced_order", "mbk_sliced_width",
                                       "mbk_sliced_fill", "mbk_sliced_product"};
  mbi_sliced *s = mbi_sliced_of(plan);
  mbi_preamble preamble;
  int i;
  mbi_sliced_preamble(plan, &preamble);
  MBI_TRY(mbi_plan_program(plan, "spmv/gpu/sliced/sliced.cu", &preamble, 2, &plan->program));
  for (i = 0; i < 4; i++) {
    MBI_TRY(mbi_program_part_kernel(plan->context, &plan->program, i < 3, names[i],
                                    &s->kernels[i]));
  }
  return MERBIT_OK;
}

/* ---- Launch: build, fill, multiply ------------------------------------------------------- */

MBI_INTERNAL int64_t mbi_sliced_build_blocks(const mbi_sliced *s) {
  return ((int64_t)s->slices * 32 + MBI_SLICED_BUILD_THREADS - 1) / MBI_SLICED_BUILD_THREADS;
}

/* Assigns rows to slices, and computes the widths of slices and of their columns. */
static merbit_status mbi_sliced_order(merbit_plan *plan) {
  mbi_sliced *s = mbi_sliced_of(plan);
  mbk_sliced_order_arguments order_arguments;
  mbk_sliced_width_arguments width_arguments;
  order_arguments.row_ptr = plan->device.row_ptr;
  order_arguments.rows = plan->device.rows;
  order_arguments.length = s->length;
  order_arguments.row_id = s->row_id;
  MBI_TRY(mbi_device_launch(
      plan->context, s->kernels[0], "mbk_sliced_order",
      (int64_t)((plan->device.rows + MBI_SLICED_WINDOW - 1) / MBI_SLICED_WINDOW), 512,
      (unsigned)(MBI_SLICED_WINDOW * sizeof(uint64_t)), NULL, &order_arguments));
  width_arguments.row_ptr = plan->device.row_ptr;
  width_arguments.col_ind = plan->device.col_ind;
  width_arguments.length = s->length;
  width_arguments.row_id = s->row_id;
  width_arguments.slices = s->slices;
  width_arguments.width = s->slice_start;
  width_arguments.pages = s->pages;
  width_arguments.column_width = s->column_start;
  return mbi_device_launch(
      plan->context, s->kernels[1], "mbk_sliced_width", mbi_sliced_build_blocks(s),
      MBI_SLICED_BUILD_THREADS,
      (unsigned)(MBI_SLICED_BUILD_THREADS / 32 * MBI_PAGE_SET * sizeof(uint32_t)), NULL,
      &width_arguments);
}

/* Builds everything except columns and values, and computes how many slots these take. */
static merbit_status mbi_sliced_build(merbit_plan *plan) {
  mbi_sliced *s = mbi_sliced_of(plan);
  const uint64_t places = s->slices * 32 * sizeof(uint32_t);
  const uint64_t starts = (s->slices + 1) * sizeof(uint32_t);
  mbi_devptr *const parts[] = {&s->length, &s->row_id, &s->slice_start, &s->column_start,
                               &s->pages};
  const uint64_t bytes[] = {places / 4 * (uint64_t)s->length_bytes, s->sorted ? places : 0,
                            starts, starts, places / 2};
  MBI_TRY(mbi_plan_allocate_parts(plan, "rows and slices", 5, parts, bytes));
  MBI_TRY(mbi_sliced_order(plan));
  MBI_TRY(mbi_nonempty_sums(plan, s->slice_start, s->slices, &s->slots));
  MBI_TRY(mbi_nonempty_sums(plan, s->column_start, s->slices, &s->column_slots));
  s->slots *= 32;
  s->column_slots *= 32;
  return MERBIT_OK;
}

static merbit_status mbi_sliced_fill(merbit_plan *plan) {
  mbi_sliced *s = mbi_sliced_of(plan);
  mbk_sliced_fill_arguments arguments;
  arguments.row_ptr = plan->device.row_ptr;
  arguments.col_ind = plan->device.col_ind;
  arguments.values = plan->device.values;
  arguments.slice_start = s->slice_start;
  arguments.column_start = s->column_start;
  arguments.pages = s->pages;
  arguments.length = s->length;
  arguments.row_id = s->row_id;
  arguments.slices = s->slices;
  arguments.columns = s->columns;
  arguments.sliced_values = s->values;
  return mbi_device_launch(plan->context, s->kernels[2], "mbk_sliced_fill",
                           mbi_sliced_build_blocks(s), MBI_SLICED_BUILD_THREADS,
                           (unsigned)(MBI_SLICED_BUILD_THREADS * sizeof(uint32_t)), NULL,
                           &arguments);
}

static merbit_status mbi_sliced_create(merbit_plan *plan) {
  mbi_sliced *s = mbi_sliced_of(plan);
  const uint64_t values = mbi_value_bytes(plan);
  MBI_TRY(mbi_nonempty_need(plan));
  MBI_TRY(mbi_sliced_size(plan));
  if (s->slices == 0) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_sliced_check(plan));
  MBI_TRY(mbi_sliced_specialise(plan));
  MBI_TRY(mbi_sliced_build(plan));
  {
    const uint64_t order =
        (s->slices * (uint64_t)((s->sorted ? 50 : 18) + 8 * s->length_bytes) + 2) *
        sizeof(uint32_t);
    const uint64_t columns = s->column_slots * sizeof(uint16_t);
    mbi_devptr *const parts[] = {&s->columns, &s->values};
    const uint64_t bytes[] = {columns, s->slots * values};
    MBI_TRY(mbi_plan_allocate_parts(plan, "sliced columns and values", 2, parts, bytes));
    plan->schedule_bytes = order + columns + s->slots * values;
    /* Padding after a row's end is not read. */
    plan->stream_bytes = order + plan->device.nnz * values + mbi_value_bytes_once(plan);
    plan->stream_bytes +=
        s->slots > 0 ? (uint64_t)((double)columns * (double)plan->device.nnz / (double)s->slots)
                     : 0;
  }
  return mbi_sliced_fill(plan);
}

static void mbi_sliced_destroy(merbit_plan *plan) {
  /* This also releases the arrays that were allocated with it. */
  mbi_plan_release(plan, mbi_sliced_of(plan)->length);
  mbi_plan_release(plan, mbi_sliced_of(plan)->columns);
  mbi_program_destroy(plan->context, &plan->program);
}

/* Returns the bytes of shared memory per block of the product. */
static unsigned mbi_sliced_shared(const merbit_plan *plan) {
  const mbi_sliced *s = mbi_sliced_of(plan);
  return mbi_value_shared(plan) +
         (s->parts > 1
              ? (unsigned)s->threads * (unsigned)mbi_type_size(mbi_plan_accumulator(plan))
              : 0);
}

static merbit_status mbi_sliced_multiply(merbit_plan *plan, mbi_devptr carries,
                                         const void *alpha, mbi_devptr x, const void *beta,
                                         mbi_devptr y, void *stream) {
  mbi_sliced *s = mbi_sliced_of(plan);
  mbk_sliced_product_arguments arguments;
  (void)carries;
  if (s->blocks == 0) {
    return MERBIT_OK;
  }
  arguments.slice_start = s->slice_start;
  arguments.column_start = s->column_start;
  arguments.pages = s->pages;
  arguments.length = s->length;
  arguments.row_id = s->row_id;
  arguments.columns = s->columns;
  arguments.values = s->values != 0 ? s->values : plan->device.values;
  arguments.table = plan->device.table;
  arguments.x = x;
  arguments.y = y;
  arguments.rows = plan->device.rows;
  arguments.alpha = mbi_plan_scalar(plan, alpha);
  arguments.beta = mbi_plan_scalar(plan, beta);
  return mbi_plan_launch(plan, s->kernels[3], "mbk_sliced_product", (int64_t)s->blocks,
                         s->threads, mbi_sliced_shared(plan), stream, &arguments,
                         sizeof arguments);
}

/* ---- Describe ---------------------------------------------------------------------------- */

static void mbi_sliced_info(const merbit_plan *plan, merbit_plan_info *info) {
  info->block_threads = mbi_sliced_of(plan)->threads;
  info->tiles = (int64_t)mbi_sliced_of(plan)->slices;
}

static int mbi_sliced_describe(const merbit_plan *plan, char *text, size_t size) {
  const mbi_sliced *s = mbi_sliced_of(plan);
  const double slots = s->slots > 0 ? (double)s->slots : 1.0;
  return snprintf(text, size,
                  "%" PRIu64 " slices of 32 rows%s, %.1f%% of the slots filled, %.1f bytes per "
                  "column, %d threads%s",
                  s->slices, s->sorted ? " sorted in windows of 1024" : "",
                  100.0 * (double)plan->device.nnz / slots,
                  2.0 * (double)s->column_slots / slots, s->threads,
                  s->parts > 1 ? " per slice" : "");
}

/* Adds upper bounds for the slices. AUTO takes SLICED only if half of the slots are filled. At
 * worst, one row of each slice has all of its nonzeros, and one slot in 32 is filled. */
static merbit_status mbi_sliced_bound(merbit_plan *plan, mbi_bound *bound) {
  const uint64_t slots =
      (plan->desc.method == MERBIT_METHOD_AUTO ? 2 : 32) * plan->device.nnz + 32;
  MBI_TRY(mbi_sliced_size(plan));
  bound->kept += (mbi_sliced_of(plan)->slices * 82 + 2) * sizeof(uint32_t) +
                 slots * (sizeof(int32_t) + mbi_value_bytes(plan));
  return MERBIT_OK;
}

MBI_INTERNAL const mbi_cuda_method mbi_sliced_method = {
    sizeof(mbi_sliced),      /* state_bytes */
    mbi_sliced_create,       /* create */
    mbi_sliced_destroy,      /* destroy */
    mbi_rows_carry_bytes,    /* carry_bytes */
    mbi_sliced_multiply,     /* multiply */
    mbi_sliced_info,         /* info */
    mbi_sliced_describe,     /* describe */
    mbi_sliced_fill,         /* refresh */
    MBI_FORMS_ALL,           /* forms */
    mbi_sliced_cost,         /* cost */
    mbi_sliced_bound,        /* bound */
    MBI_MAKING_COLUMNS,      /* making */
    mbi_sliced_trusted,      /* trusted */
    "unroll unsorted parts", /* knobs */
};
