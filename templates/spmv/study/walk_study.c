#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/study/study.h"
#include "spmv/plan/plan.h"

/* Runs the kernels of spmv/study/walk_study.cu. */
#ifdef MERBIT_STUDY_METHODS

/* Sets the number of walks, one per thread. */
MBI_INTERNAL merbit_status mbi_walk_size(merbit_plan *plan) {
  mbi_csr_study *s = mbi_csr_study_of(plan);
  const int steps = mbi_knob(plan, MBI_KNOB_SPLIT_STEPS);
  const uint64_t path = plan->device.rows + plan->device.nnz;
  s->steps = steps != 0 ? steps : 7;
  s->threads = plan->desc.block_threads != 0 ? plan->desc.block_threads : 256;
  if (s->steps < 1 || s->steps > 1024 || s->threads < 32 || s->threads > 1024 ||
      s->threads % 32 != 0) {
    return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.tuning: steps is %d and plan_desc.block_threads %d; method %s "
                    "takes 1 to 1024, and a multiple of 32 up to 1024",
                    s->steps, s->threads, plan->row->name);
  }
  s->tiles = path / (uint64_t)s->steps + (path % (uint64_t)s->steps != 0);
  s->blocks = s->tiles / (uint64_t)s->threads + (s->tiles % (uint64_t)s->threads != 0);
  return MERBIT_OK;
}

MBI_INTERNAL void mbi_walk_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  const mbi_csr_study *s = mbi_csr_study_of(plan);
  mbi_plan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_STEPS", s->steps);
  mbi_preamble_define_int(preamble, "MBK_THREADS", s->threads);
}

static merbit_status mbi_walk_create(merbit_plan *plan) {
  static const char *const names[3] = {"mbk_walk_cut", "mbk_walk_product", "mbk_walk_join"};
  mbi_csr_study *s = mbi_csr_study_of(plan);
  mbi_preamble preamble;
  int i;
  MBI_TRY(mbi_walk_size(plan));
  plan->stream_bytes =
      mbi_device_csr_stream_bytes(plan) +
      (plan->device.rows + 1) * (uint64_t)mbi_index_bytes(plan->device.offset_type) +
      s->tiles * (2 * sizeof(uint64_t) + 2 * mbi_type_size(plan->type)) +
      2 * plan->device.rows * mbi_type_size(plan->type);
  mbi_walk_preamble(plan, &preamble);
  MBI_TRY(mbi_plan_program(plan, "spmv/study/walk_study.cu", &preamble, 1, &plan->program));
  for (i = 0; i < 3; i++) {
    MBI_TRY(mbi_program_kernel(plan->context, &plan->program, names[i], &s->kernels[i]));
  }
  return MERBIT_OK;
}

/* Returns the bytes of a product's scratch: the rows at which walks begin, and the walks'
 * parts. */
static uint64_t mbi_walk_carry_bytes(const merbit_plan *plan) {
  const uint64_t walks = mbi_csr_study_of(plan)->tiles;
  return walks > 0 ? (walks + 1) * sizeof(uint64_t) + walks * mbi_type_size(plan->type) : 0;
}

static int64_t mbi_walk_grid(const mbi_csr_study *s, uint64_t items) {
  return (int64_t)((items + (uint64_t)s->threads - 1) / (uint64_t)s->threads);
}

static merbit_status mbi_walk_multiply(merbit_plan *plan, mbi_devptr carries, const void *alpha,
                                       mbi_devptr x, const void *beta, mbi_devptr y,
                                       void *stream) {
  mbi_csr_study *s = mbi_csr_study_of(plan);
  const mbi_devptr parts = carries + (s->tiles + 1) * sizeof(uint64_t);
  const uint64_t rows = plan->device.rows;
  mbk_walk_cut_arguments cut;
  mbk_walk_product_arguments product;
  mbk_walk_join_arguments join;
  if (rows == 0) {
    return MERBIT_OK;
  }
  cut.row_ptr = product.row_ptr = plan->device.row_ptr;
  cut.start_row = product.start_row = join.start_row = carries;
  cut.y = product.y = join.y = y;
  cut.rows = product.rows = rows;
  cut.nnz = product.nnz = plan->device.nnz;
  cut.walks = product.walks = join.walks = s->tiles;
  cut.alpha = product.alpha = join.alpha = mbi_plan_scalar(plan, alpha);
  cut.beta = product.beta = join.beta = mbi_plan_scalar(plan, beta);
  product.col_ind = plan->device.col_ind;
  product.values = plan->device.values;
  product.x = x;
  product.parts = join.parts = parts;
  MBI_TRY(mbi_device_launch(plan->context, s->kernels[0], "mbk_walk_cut",
                            mbi_walk_grid(s, rows > s->tiles + 1 ? rows : s->tiles + 1),
                            s->threads, 0, stream, &cut));
  MBI_TRY(mbi_device_launch(plan->context, s->kernels[1], "mbk_walk_product",
                            mbi_walk_grid(s, s->tiles), s->threads, 0, stream, &product));
  return mbi_device_launch(plan->context, s->kernels[2], "mbk_walk_join",
                           mbi_walk_grid(s, s->tiles), s->threads, 0, stream, &join);
}

static void mbi_walk_info(const merbit_plan *plan, merbit_plan_info *info) {
  info->block_threads = mbi_csr_study_of(plan)->threads;
  info->tiles = (int64_t)mbi_csr_study_of(plan)->tiles;
}

static int mbi_walk_describe(const merbit_plan *plan, char *text, size_t size) {
  const mbi_csr_study *s = mbi_csr_study_of(plan);
  return snprintf(text, size, "%" PRIu64 " threads of %d steps of the path; sums by atomics",
                  s->tiles, s->steps);
}

MBI_INTERNAL const mbi_cuda_method mbi_walk_method = {
    sizeof(mbi_csr_study), /* state_bytes */
    mbi_walk_create,       /* create */
    mbi_csr_study_destroy, /* destroy */
    mbi_walk_carry_bytes,  /* carry_bytes */
    mbi_walk_multiply,     /* multiply */
    mbi_walk_info,         /* info */
    mbi_walk_describe,     /* describe */
    NULL,                  /* refresh */
    0,                     /* forms */
    NULL,                  /* cost */
    NULL,                  /* bound */
    0,                     /* making */
    NULL,                  /* trusted */
    "steps",               /* knobs */
};

#endif /* MERBIT_STUDY_METHODS */
