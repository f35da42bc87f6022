#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/gpu/scan/scan.h"
#include "spmv/study/study.h"
#include "spmv/plan/plan.h"

/* Runs the kernels of spmv/study/split_study.cu. The default number of items per thread is 7,
 * an odd number, so that the threads of a warp access different banks. */
#ifdef MERBIT_STUDY_METHODS

#define MBI_SPLIT_CUT_THREADS 128

/* ---- Encode: sizes ----------------------------------------------------------------------- */

/* Sets the chunks, which have equal numbers of nonzeros, or of steps of the merge path. */
MBI_INTERNAL merbit_status mbi_split_size(merbit_plan *plan) {
  mbi_csr_study *s = mbi_csr_study_of(plan);
  const int block_threads = plan->desc.block_threads;
  const int steps = mbi_knob(plan, MBI_KNOB_SPLIT_STEPS);
  const int path = plan->method == MERBIT_METHOD_PATH_WALK;
  const uint64_t items = plan->device.nnz + (path ? plan->device.rows : 0);
  uint64_t chunk;
  s->steps = steps != 0 ? steps : 7;
  s->threads = block_threads != 0 ? block_threads : 256;
  if (s->steps < 1 || s->steps > 16 || s->threads < 32 || s->threads > 1024 ||
      s->threads % 32 != 0 || s->steps * s->threads > 4096) {
    return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.tuning: steps is %d and plan_desc.block_threads %d; method %s "
                    "takes 1 to 16, and multiples of 32 up to 1024, together up to 4096",
                    s->steps, s->threads, plan->row->name);
  }
  chunk = (uint64_t)(s->steps * s->threads);
  /* Without rows nothing is written. With rows but without nonzeros, one block writes y. */
  s->blocks = plan->device.rows == 0 ? 0 : items == 0 ? 1 : (items - 1) / chunk + 1;
  if (s->blocks > (uint64_t)INT32_MAX) {
    return mbi_fail(plan->context, MERBIT_TOO_LARGE,
                    "%" PRIu64 " rows and %" PRIu64 " nonzeros make %" PRIu64
                    " chunks; raise steps in plan_desc.tuning, or plan_desc.block_threads",
                    plan->device.rows, plan->device.nnz, s->blocks);
  }
  return MERBIT_OK;
}

/* Returns the bytes of shared memory per block of mbk_split_product. */
MBI_INTERNAL unsigned mbi_split_shared(const merbit_plan *plan) {
  const mbi_csr_study *s = mbi_csr_study_of(plan);
  const unsigned warps = (unsigned)s->threads / 32;
  return ((unsigned)(s->steps * s->threads) + 1 + warps) * (unsigned)mbi_type_size(plan->type) +
         warps * (unsigned)sizeof(uint32_t);
}

/* ---- Specialise -------------------------------------------------------------------------- */

MBI_INTERNAL void mbi_split_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  const mbi_csr_study *s = mbi_csr_study_of(plan);
  mbi_plan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_STUDY", plan->method == MERBIT_METHOD_PATH_WALK);
  mbi_preamble_define_int(preamble, "MBK_STEPS", s->steps);
  mbi_preamble_define_int(preamble, "MBK_STREAMING", plan->streaming);
  mbi_preamble_define_int(preamble, "MBK_THREADS", s->threads);
}

static merbit_status mbi_split_create(merbit_plan *plan) {
  static const char *const names[3] = {"mbk_split_cut", "mbk_split_product", "mbk_split_fixup"};
  mbi_preamble preamble;
  int i;
  MBI_TRY(mbi_split_size(plan));
  plan->stream_bytes =
      mbi_device_csr_stream_bytes(plan) +
      (plan->device.rows + 1) * (uint64_t)mbi_index_bytes(plan->device.offset_type) +
      4 * mbi_csr_study_of(plan)->blocks * (sizeof(uint64_t) + mbi_type_size(plan->type));
  mbi_split_preamble(plan, &preamble);
  MBI_TRY(mbi_plan_program(plan, "spmv/study/split_study.cu", &preamble, 1, &plan->program));
  for (i = 0; i < 3; i++) {
    MBI_TRY(mbi_program_kernel(plan->context, &plan->program, names[i],
                               &mbi_csr_study_of(plan)->kernels[i]));
  }
  return MERBIT_OK;
}

/* Returns the bytes of a product's scratch: the rows at which chunks begin, then each chunk's
 * part of its first row and of the row that is open at its end. */
static uint64_t mbi_split_carry_bytes(const merbit_plan *plan) {
  const uint64_t chunks = mbi_csr_study_of(plan)->blocks;
  return chunks > 0 ? (chunks + 1) * sizeof(uint64_t) + 2 * chunks * mbi_type_size(plan->type)
                    : 0;
}

/* ---- Launch: cut, multiply, fix up ------------------------------------------------------- */

static merbit_status mbi_split_product(merbit_plan *plan, mbi_devptr chunk_row,
                                       mbi_devptr firsts, mbi_devptr tails, const void *alpha,
                                       mbi_devptr x, const void *beta, mbi_devptr y,
                                       void *stream) {
  mbi_csr_study *s = mbi_csr_study_of(plan);
  mbk_split_product_arguments arguments;
  arguments.row_ptr = plan->device.row_ptr;
  arguments.col_ind = plan->device.col_ind;
  arguments.values = plan->device.values;
  arguments.x = x;
  arguments.y = y;
  arguments.chunk_row = chunk_row;
  arguments.firsts = firsts;
  arguments.tails = tails;
  arguments.rows = plan->device.rows;
  arguments.nnz = plan->device.nnz;
  arguments.alpha = mbi_plan_scalar(plan, alpha);
  arguments.beta = mbi_plan_scalar(plan, beta);
  return mbi_plan_launch(plan, s->kernels[1], "mbk_split_product", (int64_t)s->blocks,
                         s->threads, mbi_split_shared(plan), stream, &arguments,
                         sizeof arguments);
}

static merbit_status mbi_split_fixup(merbit_plan *plan, mbi_devptr chunk_row, mbi_devptr firsts,
                                     mbi_devptr tails, const void *alpha, const void *beta,
                                     mbi_devptr y, void *stream) {
  mbi_csr_study *s = mbi_csr_study_of(plan);
  const size_t size = mbi_type_size(plan->type);
  mbk_split_fixup_arguments arguments;
  arguments.row_ptr = plan->device.row_ptr;
  arguments.chunk_row = chunk_row;
  arguments.firsts = firsts;
  arguments.tails = tails;
  arguments.y = y;
  arguments.chunks = s->blocks;
  arguments.alpha = mbi_plan_scalar(plan, alpha);
  arguments.beta = mbi_plan_scalar(plan, beta);
  return mbi_device_launch_some(
      plan->context, s->kernels[2], "mbk_split_fixup",
      (int64_t)((s->blocks + MBI_SCAN_FIXUP_THREADS - 1) / MBI_SCAN_FIXUP_THREADS),
      MBI_SCAN_FIXUP_THREADS,
      (unsigned)(MBI_SCAN_FIXUP_THREADS / 32 * (size + sizeof(uint32_t))), stream, &arguments,
      0, mbi_plan_start(plan, 1));
}

static merbit_status mbi_split_multiply(merbit_plan *plan, mbi_devptr carries,
                                        const void *alpha, mbi_devptr x, const void *beta,
                                        mbi_devptr y, void *stream) {
  mbi_csr_study *s = mbi_csr_study_of(plan);
  const mbi_devptr firsts = carries + (s->blocks + 1) * sizeof(uint64_t);
  const mbi_devptr tails = firsts + s->blocks * mbi_type_size(plan->type);
  mbk_split_cut_arguments arguments;
  if (s->blocks == 0) {
    return MERBIT_OK;
  }
  arguments.row_ptr = plan->device.row_ptr;
  arguments.chunk_row = carries;
  arguments.rows = plan->device.rows;
  arguments.nnz = plan->device.nnz;
  arguments.chunks = s->blocks;
  MBI_TRY(mbi_plan_launch(plan, s->kernels[0], "mbk_split_cut",
                          (int64_t)(s->blocks / MBI_SPLIT_CUT_THREADS + 1),
                          MBI_SPLIT_CUT_THREADS, 0, stream, &arguments, sizeof arguments));
  MBI_TRY(mbi_split_product(plan, carries, firsts, tails, alpha, x, beta, y, stream));
  return s->blocks > 1 /* otherwise no row crosses chunks */
             ? mbi_split_fixup(plan, carries, firsts, tails, alpha, beta, y, stream)
             : MERBIT_OK;
}

/* ---- Describe ---------------------------------------------------------------------------- */

static void mbi_split_info(const merbit_plan *plan, merbit_plan_info *info) {
  info->block_threads = mbi_csr_study_of(plan)->threads;
  info->tiles = (int64_t)mbi_csr_study_of(plan)->blocks;
}

static int mbi_split_describe(const merbit_plan *plan, char *text, size_t size) {
  const mbi_csr_study *s = mbi_csr_study_of(plan);
  return snprintf(text, size, "%" PRIu64 " chunks of %d x %d %s", s->blocks, s->threads,
                  s->steps,
                  plan->method == MERBIT_METHOD_PATH_WALK ? "steps of the path" : "nonzeros");
}

MBI_INTERNAL const mbi_cuda_method mbi_split_method = {
    sizeof(mbi_csr_study), /* state_bytes */
    mbi_split_create,      /* create */
    mbi_csr_study_destroy, /* destroy */
    mbi_split_carry_bytes, /* carry_bytes */
    mbi_split_multiply,    /* multiply */
    mbi_split_info,        /* info */
    mbi_split_describe,    /* describe */
    NULL,                  /* refresh */
    MBI_FORMS_CHEAP,       /* forms */
    NULL,                  /* cost */
    NULL,                  /* bound */
    0,                     /* making */
    NULL,                  /* trusted */
    "steps",               /* knobs */
};

#endif /* MERBIT_STUDY_METHODS */
