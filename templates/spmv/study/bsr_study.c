#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/gpu/rows/rows.h"
#include "spmv/gpu/bsr/bsr.h"
#include "spmv/study/study.h"
#include "spmv/plan/plan.h"

/* Runs the kernels of spmv/study/bsr_study.cu on blocks in the user's order. All of them add to
 * y with atomics, so their products do not repeat bit for bit. All except thread-private
 * accumulation also use atomics in shared memory. */
#ifdef MERBIT_STUDY_METHODS

/* Returns the state of a plan with one of these methods. */
MBI_INTERNAL mbi_bsr_study *mbi_bsr_study_of(const merbit_plan *plan) {
  return (mbi_bsr_study *)plan->state;
}

#define MBI_BSR_STUDY_THREADS 256 /* threads per block of the kernels cut and scale */

/* ---- Encode: chunks of blocks ------------------------------------------------------------ */

/* Returns the threads per block: the fastest number in the report's tables 7, 9, 10 and 12. A
 * team needs a thread per entry of a block. */
static int mbi_bsr_study_threads(const merbit_plan *plan) {
  const merbit_view *view = &plan->bsr.view;
  const int entries = view->block_rows * view->block_cols;
  if (plan->desc.block_threads != 0) {
    return plan->desc.block_threads;
  }
  if (plan->method == MERBIT_METHOD_BSR_TEAM) {
    return entries > 128 ? mbi_ceiling(entries, 32) * 32 : 128;
  }
  return plan->method == MERBIT_METHOD_BSR_VECTOR ? 128 : 32;
}

/* Sets the number of chunks, one per thread block: `waves` times as many as the GPU holds at
 * once. */
MBI_INTERNAL merbit_status mbi_bsr_study_size(merbit_plan *plan) {
  merbit_context *context = plan->context;
  mbi_bsr_study *s = mbi_bsr_study_of(plan);
  const merbit_view *view = &plan->bsr.view;
  const int own = plan->method == MERBIT_METHOD_BSR_VECTOR ? 8 : 1;
  const int entries = view->block_rows * view->block_cols;
  const int wish = mbi_knob(plan, MBI_KNOB_BSR_STUDY_WAVES);
  const int waves = wish != 0 ? wish : own;
  uint64_t most;
  s->threads = mbi_bsr_study_threads(plan);
  if (plan->bsr.masks != NULL) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "method %s takes only blocks without masks; make them by "
                    "merbit_matrix_create_bsr",
                    plan->row->name);
  }
  if (s->threads < 32 || s->threads > 1024 || s->threads % 32 != 0 ||
      (plan->method == MERBIT_METHOD_BSR_TEAM && s->threads < entries)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "%d threads for blocks of %d x %d; method %s takes a multiple of 32 up to "
                    "1024%s",
                    s->threads, view->block_rows, view->block_cols, plan->row->name,
                    plan->method == MERBIT_METHOD_BSR_TEAM ? ", one for each entry" : "");
  }
  if (waves < 1 || waves > 64) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.tuning: waves is %d; method %s fills the GPU 1 to 64 times",
                    waves, plan->row->name);
  }
  if (!mbi_nonempty_fit(plan)) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "%" PRIu64 " block rows are too many for the GPU", plan->device.rows);
  }
  most = (uint64_t)context->device.multiprocessors * (uint64_t)waves *
         (uint64_t)(s->threads < 64 ? 32 : 2048 / s->threads);
  s->chunk_blocks = plan->device.nnz / most + (plan->device.nnz % most != 0);
  s->chunks = s->chunk_blocks == 0 ? 0 : (plan->device.nnz - 1) / s->chunk_blocks + 1;
  return MERBIT_OK;
}

/* ---- Specialise -------------------------------------------------------------------------- */

MBI_INTERNAL void mbi_bsr_study_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  const merbit_view *view = &plan->bsr.view;
  mbi_plan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_STUDY",
                          (int)plan->method - (int)MERBIT_METHOD_BSR_ROW_MAJOR);
  mbi_preamble_define_int(preamble, "MBK_BLOCK_ROWS", view->block_rows);
  mbi_preamble_define_int(preamble, "MBK_BLOCK_COLS", view->block_cols);
  mbi_preamble_define_int(preamble, "MBK_COLUMN_MAJOR",
                          view->block_order == MERBIT_BLOCK_COLUMN_MAJOR);
  mbi_preamble_define_int(preamble, "MBK_EDGE", view->cols % view->block_cols != 0);
  mbi_preamble_define_int(preamble, "MBK_THREADS", mbi_bsr_study_of(plan)->threads);
}

static merbit_status mbi_bsr_study_specialise(merbit_plan *plan) {
  static const char *const names[3] = {"mbk_study_cut", "mbk_study_scale", "mbk_study_product"};
  mbi_preamble preamble;
  int i;
  mbi_bsr_study_preamble(plan, &preamble);
  MBI_TRY(mbi_plan_program(plan, "spmv/study/bsr_study.cu", &preamble, 1, &plan->program));
  for (i = 0; i < 3; i++) {
    MBI_TRY(mbi_program_kernel(plan->context, &plan->program, names[i],
                               &mbi_bsr_study_of(plan)->kernels[i]));
  }
  return MERBIT_OK;
}

/* ---- Launch: cut, scale, multiply -------------------------------------------------------- */

static int64_t mbi_bsr_study_grid(uint64_t items) {
  return (int64_t)((items + MBI_BSR_STUDY_THREADS - 1) / MBI_BSR_STUDY_THREADS);
}

static merbit_status mbi_bsr_study_cut(merbit_plan *plan) {
  mbi_bsr_study *s = mbi_bsr_study_of(plan);
  merbit_context *context = plan->context;
  const uint64_t bytes = (s->chunks + 1) * sizeof(uint32_t);
  uint32_t rows = (uint32_t)plan->device.rows;
  mbk_study_cut_arguments arguments;
  MBI_TRY(mbi_plan_allocate(plan, bytes, "rows of chunks", &s->chunk_row));
  plan->schedule_bytes = bytes;
  plan->stream_bytes =
      bytes + plan->device.nnz * sizeof(int32_t) +
      (plan->device.rows + 1) * (uint64_t)mbi_index_bytes(plan->device.offset_type) +
      (plan->device.values != 0
           ? (uint64_t)mbi_view_values(&plan->bsr.view) * mbi_type_size(plan->type)
           : 0);
  arguments.row_ptr = plan->device.row_ptr;
  arguments.block_rows = rows;
  arguments.blocks = plan->device.nnz;
  arguments.chunk_blocks = s->chunk_blocks;
  arguments.chunks = s->chunks;
  arguments.chunk_row = s->chunk_row;
  MBI_TRY(mbi_device_launch(context, s->kernels[0], "mbk_study_cut",
                            mbi_bsr_study_grid(s->chunks + 1), MBI_BSR_STUDY_THREADS, 0, NULL,
                            &arguments));
  return mbi_device_synchronize(context, NULL);
}

/* Creates the state. plan->device holds the offsets and columns of the blocks as a CSR. On
 * failure the caller runs mbi_bsr_study_destroy. */
static merbit_status mbi_bsr_study_create(merbit_plan *plan) {
  MBI_TRY(mbi_bsr_study_size(plan));
  MBI_TRY(mbi_bsr_take_values(plan));
  MBI_TRY(mbi_bsr_study_specialise(plan));
  return mbi_bsr_study_of(plan)->chunks > 0 ? mbi_bsr_study_cut(plan) : MERBIT_OK;
}

static void mbi_bsr_study_destroy(merbit_plan *plan) {
  mbi_plan_release(plan, mbi_bsr_study_of(plan)->chunk_row);
  mbi_program_destroy(plan->context, &plan->program);
}

static merbit_status mbi_bsr_study_multiply(merbit_plan *plan, mbi_devptr carries,
                                            const void *alpha, mbi_devptr x, const void *beta,
                                            mbi_devptr y, void *stream) {
  mbi_bsr_study *s = mbi_bsr_study_of(plan);
  const unsigned sums = (unsigned)(plan->bsr.view.block_rows + s->threads / 32);
  uint64_t rows = (uint64_t)plan->bsr.view.rows;
  mbk_study_scale_arguments scale;
  mbk_study_product_arguments arguments;
  (void)carries;
  scale.y = y;
  scale.rows = rows;
  scale.alpha = mbi_plan_scalar(plan, alpha);
  scale.beta = mbi_plan_scalar(plan, beta);
  MBI_TRY(mbi_device_launch(plan->context, s->kernels[1], "mbk_study_scale",
                            mbi_bsr_study_grid(rows), MBI_BSR_STUDY_THREADS, 0, stream,
                            &scale));
  arguments.row_ptr = plan->device.row_ptr;
  arguments.col_ind = plan->device.col_ind;
  arguments.values = plan->device.values;
  arguments.chunk_row = s->chunk_row;
  arguments.x = x;
  arguments.y = y;
  arguments.rows = rows;
  arguments.cols = (uint64_t)plan->bsr.view.cols;
  arguments.blocks = plan->device.nnz;
  arguments.chunk_blocks = s->chunk_blocks;
  arguments.alpha = mbi_plan_scalar(plan, alpha);
  arguments.beta = mbi_plan_scalar(plan, beta);
  return mbi_device_launch(plan->context, s->kernels[2], "mbk_study_product",
                           (int64_t)s->chunks, s->threads,
                           sums * (unsigned)mbi_type_size(plan->type), stream, &arguments);
}

/* ---- Describe ---------------------------------------------------------------------------- */

static void mbi_bsr_study_info(const merbit_plan *plan, merbit_plan_info *info) {
  info->block_threads = mbi_bsr_study_of(plan)->threads;
  info->tiles = (int64_t)mbi_bsr_study_of(plan)->chunks;
}

static int mbi_bsr_study_describe(const merbit_plan *plan, char *text, size_t size) {
  return snprintf(text, size,
                  "%" PRIu64 " blocks of %d x %d, %" PRIu64 " chunks of %" PRIu64
                  " blocks, %d threads; sums by atomics",
                  plan->device.nnz, plan->bsr.view.block_rows, plan->bsr.view.block_cols,
                  mbi_bsr_study_of(plan)->chunks, mbi_bsr_study_of(plan)->chunk_blocks,
                  mbi_bsr_study_of(plan)->threads);
}

MBI_INTERNAL const mbi_cuda_method mbi_bsr_study_method = {
    sizeof(mbi_bsr_study),  /* state_bytes */
    mbi_bsr_study_create,   /* create */
    mbi_bsr_study_destroy,  /* destroy */
    mbi_rows_carry_bytes,   /* carry_bytes */
    mbi_bsr_study_multiply, /* multiply */
    mbi_bsr_study_info,     /* info */
    mbi_bsr_study_describe, /* describe */
    NULL,                   /* refresh */
    MBI_FORMS_CHEAP,        /* forms */
    NULL,                   /* cost */
    NULL,                   /* bound */
    0,                      /* making */
    NULL,                   /* trusted */
    "waves",                /* knobs */
};

#endif /* MERBIT_STUDY_METHODS */
