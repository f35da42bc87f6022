#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/gpu/scan/scan.h"
#include "spmv/gpu/merge/merge.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* MERGE on the host: sizes and launches; nothing is built. spmv/gpu/merge/merge.cu describes
 * the method. */

/* ---- Sizes, from the plan alone ---------------------------------------------------------- */

/* Returns the state of a plan that uses this method. */
MBI_INTERNAL mbi_merge_path *mbi_merge_path_of(const merbit_plan *plan) {
  return (mbi_merge_path *)plan->state;
}

/* Returns the number of resident blocks per multiprocessor that leaves a lane enough registers
 * to avoid spilling. NVRTC needs fewer registers for compute capability 9.0 than elsewhere. */
static int mbi_merge_resident(const merbit_plan *plan) {
  const mbi_merge_path *p = mbi_merge_path_of(plan);
  const int single = mbi_plan_accumulator(plan) == MERBIT_F32,
            words = p->steps * (single ? 1 : 2);
  const int wide_accumulator =
      mbi_plan_accumulator(plan) == MERBIT_C128; /* see mbi_scan_resident */
  const int packs_fit = plan->context->device.compute_capability == 90 &&
                        mbi_scan_aligned(plan) && plan->device.offset_type == MERBIT_INDEX_32 &&
                        !mbi_plan_has_semiring(plan) &&
                        plan->desc.scalar_memory != MERBIT_MEMORY_DEVICE;
  const int threads = wide_accumulator             ? (p->steps > 8 ? 384 : 512)
                      : words > 24                 ? 512
                      : words > (single ? 12 : 16) ? 768
                      : words > 8 || !packs_fit    ? 1024
                      : p->pack == 2               ? 1280
                                                   : 1536;
  const int blocks = threads / p->threads;
  return blocks > 16 ? 16 : blocks < 1 ? 1 : blocks;
}

/* Returns the number of chunks per block. The chunks of a block share its start-up, but too few
 * blocks leave multiprocessors idle. */
static int mbi_merge_rounds(const merbit_plan *plan) {
  const mbi_merge_path *p = mbi_merge_path_of(plan);
  const uint64_t places =
      (uint64_t)plan->context->device.multiprocessors * (uint64_t)p->resident;
  return p->chunks > 32 * places && mbi_plan_accumulator(plan) == MERBIT_F32 ? 4
         : p->chunks > 8 * places                                            ? 2
                                                                             : 1;
}

/* Returns the steps of the path in a chunk: spmv/gpu/merge/path.cuh. */
static uint64_t mbi_merge_chunk(const mbi_merge_path *p) {
  return (uint64_t)p->threads * (uint64_t)p->steps - (uint64_t)p->pack + 1;
}

/* Returns the bytes of shared memory of a block, laid out by mbk_merge_places. */
MBI_INTERNAL unsigned mbi_merge_shared(const merbit_plan *plan, int adds) {
  const mbi_merge_path *p = mbi_merge_path_of(plan);
  const unsigned size = (unsigned)mbi_type_size(mbi_plan_accumulator(plan)),
                 threads = (unsigned)p->threads;
  const unsigned warps = threads / 32;
  return threads * (unsigned)p->steps * 2 + 2 * warps * size +
         (adds ? (threads + warps) * size : 0) + (warps + 2) * 4;
}

MBI_INTERNAL merbit_status mbi_merge_size(merbit_plan *plan) {
  mbi_merge_path *p = mbi_merge_path_of(plan);
  const int block_threads = plan->desc.block_threads;
  const int steps = mbi_knob(plan, MBI_KNOB_MERGE_STEPS);
  const int rounds = mbi_knob(plan, MBI_KNOB_MERGE_ROUNDS);
  const uint64_t path = plan->device.rows + plan->device.nnz;
  p->pack = mbi_plan_accumulator(plan) == MERBIT_F32 && !plan->streaming
                ? 2
                : mbi_scan_widest(mbi_plan_accumulator(plan));
  p->steps = steps != 0 ? steps : mbi_plan_accumulator(plan) == MERBIT_C128 ? 4 : 8;
  p->threads = block_threads != 0 ? block_threads : 256;
  if (p->steps < 1 || p->steps > MBI_MERGE_STEPS || p->steps % p->pack != 0 ||
      p->threads < 32 || p->threads > 1024 || p->threads % 32 != 0) {
    return mbi_fail(
        plan->context, MERBIT_INVALID_ARGUMENT,
        "plan_desc.tuning: steps is %d and plan_desc.block_threads %d; the merge path takes "
        "multiples of %d up to %d, and multiples of 32 up to 1024",
        p->steps, p->threads, p->pack, MBI_MERGE_STEPS);
  }
  if (mbi_merge_shared(plan, 1) > MBI_SHARED_WITHOUT_ASKING) {
    return mbi_fail(
        plan->context, MERBIT_INVALID_ARGUMENT,
        "plan_desc.tuning: steps is %d and plan_desc.block_threads %d, for which a block needs "
        "%u bytes of shared memory, more than %d; lower either",
        p->steps, p->threads, mbi_merge_shared(plan, 1), MBI_SHARED_WITHOUT_ASKING);
  }
  if (rounds < 0 || rounds > MBI_MERGE_ROUNDS) {
    return mbi_fail(
        plan->context, MERBIT_INVALID_ARGUMENT,
        "plan_desc.tuning: rounds is %d; a block takes 1 to %d chunks of the merge path",
        rounds, MBI_MERGE_ROUNDS);
  }
  p->resident = mbi_merge_resident(plan);
  /* Without rows there is nothing to write. */
  p->chunks = plan->device.rows > 0 ? (path - 1) / mbi_merge_chunk(p) + 1 : 0;
  if (p->chunks > (uint64_t)INT32_MAX) {
    return mbi_fail(plan->context, MERBIT_TOO_LARGE,
                    "%" PRIu64 " rows and nonzeros make %" PRIu64
                    " chunks; raise steps in plan_desc.tuning, or plan_desc.block_threads",
                    path, p->chunks);
  }
  p->rounds = rounds != 0 ? rounds : mbi_merge_rounds(plan);
  p->blocks = (p->chunks + (uint64_t)p->rounds - 1) / (uint64_t)p->rounds;
  return MERBIT_OK;
}

/* ---- Specialise -------------------------------------------------------------------------- */

MBI_INTERNAL void mbi_merge_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  const mbi_merge_path *p = mbi_merge_path_of(plan);
  mbi_plan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_STEPS", p->steps);
  mbi_preamble_define_int(preamble, "MBK_PACK", p->pack);
  mbi_preamble_define_int(preamble, "MBK_ROUNDS", p->rounds);
  mbi_preamble_define_int(preamble, "MBK_ALIGNED", mbi_scan_aligned(plan));
  mbi_preamble_define_int(preamble, "MBK_STREAMING", plan->streaming);
  mbi_preamble_define_int(preamble, "MBK_THREADS", p->threads);
  mbi_preamble_define_int(preamble, "MBK_BLOCKS", p->resident);
}

static merbit_status mbi_merge_path_create(merbit_plan *plan) {
  mbi_merge_path *p = mbi_merge_path_of(plan);
  mbi_preamble preamble;
  MBI_TRY(mbi_merge_size(plan));
  plan->stream_bytes =
      mbi_device_csr_stream_bytes(plan) +
      (plan->device.rows + 1) * (uint64_t)mbi_index_bytes(plan->device.offset_type) +
      4 * p->chunks * (sizeof(uint64_t) + mbi_type_size(mbi_plan_accumulator(plan)));
  mbi_merge_preamble(plan, &preamble);
  MBI_TRY(mbi_plan_program(plan, "spmv/gpu/merge/merge.cu", &preamble, 3, &plan->program));
  MBI_TRY(mbi_program_kernel(plan->context, &plan->program, "mbk_merge_cut", &p->cut));
  MBI_TRY(mbi_program_kernel(plan->context, &plan->program, "mbk_merge_product", &p->product));
  MBI_TRY(mbi_program_part_kernel(plan->context, &plan->program, 1, "mbk_merge_sum", &p->sum));
  return mbi_program_part_kernel(plan->context, &plan->program, 2, "mbk_merge_fixup",
                                 &p->fixup);
}

static void mbi_merge_path_destroy(merbit_plan *plan) {
  mbi_program_destroy(plan->context, &plan->program);
}

/* Returns the bytes of chunk_row, rounded up to a multiple of 16. */
static uint64_t mbi_merge_begin_bytes(const merbit_plan *plan) {
  return (mbi_merge_path_of(plan)->chunks + 2) / 2 * 2 * sizeof(uint64_t);
}

/* Returns the bytes of scratch for one product: chunk_row, then firsts and tails. */
MBI_INTERNAL uint64_t mbi_merge_carry_bytes(const merbit_plan *plan) {
  const uint64_t chunks = mbi_merge_path_of(plan)->chunks;
  return chunks > 0 ? mbi_merge_begin_bytes(plan) +
                          2 * chunks * mbi_type_size(mbi_plan_accumulator(plan))
                    : 0;
}

/* ---- Launch ------------------------------------------------------------------------------ */

static merbit_status mbi_merge_path_multiply(merbit_plan *plan, mbi_devptr carries,
                                             const void *alpha, mbi_devptr x, const void *beta,
                                             mbi_devptr y, void *stream) {
  mbi_merge_path *p = mbi_merge_path_of(plan);
  const size_t size = mbi_type_size(mbi_plan_accumulator(plan));
  const int adds = mbi_plan_adds(plan, beta);
  mbi_devptr firsts = carries + mbi_merge_begin_bytes(plan);
  mbi_devptr tails = firsts + p->chunks * size;
  mbk_merge_cut_arguments cut_arguments;
  mbk_merge_product_arguments sum_arguments;
  mbk_merge_fixup_arguments fixup_arguments;
  if (p->chunks == 0) {
    return MERBIT_OK;
  }
  cut_arguments.row_ptr = plan->device.row_ptr;
  cut_arguments.chunk_row = carries;
  cut_arguments.rows = plan->device.rows;
  cut_arguments.nnz = plan->device.nnz;
  cut_arguments.chunks = p->chunks;
  MBI_TRY(mbi_plan_launch(
      plan, p->cut, "mbk_merge_cut", (int64_t)(p->chunks / MBI_MERGE_CUT_THREADS + 1),
      MBI_MERGE_CUT_THREADS, 0, stream, &cut_arguments, sizeof cut_arguments));
  sum_arguments.row_ptr = plan->device.row_ptr;
  sum_arguments.col_ind = plan->device.col_ind;
  sum_arguments.values = plan->device.values;
  sum_arguments.x = x;
  sum_arguments.y = y;
  sum_arguments.chunk_row = carries;
  sum_arguments.firsts = firsts;
  sum_arguments.tails = tails;
  sum_arguments.rows = plan->device.rows;
  sum_arguments.nnz = plan->device.nnz;
  sum_arguments.chunks = p->chunks;
  sum_arguments.alpha = mbi_plan_scalar(plan, alpha);
  sum_arguments.beta = mbi_plan_scalar(plan, beta);
  MBI_TRY(mbi_plan_launch(plan, adds ? p->sum : p->product,
                          adds ? "mbk_merge_sum" : "mbk_merge_product", (int64_t)p->blocks,
                          p->threads, mbi_merge_shared(plan, adds), stream, &sum_arguments,
                          sizeof sum_arguments));
  if (p->chunks == 1) { /* no row crosses chunks */
    return MERBIT_OK;
  }
  fixup_arguments.row_ptr = plan->device.row_ptr;
  fixup_arguments.chunk_row = carries;
  fixup_arguments.firsts = firsts;
  fixup_arguments.tails = tails;
  fixup_arguments.y = y;
  fixup_arguments.chunks = p->chunks;
  fixup_arguments.alpha = mbi_plan_scalar(plan, alpha);
  fixup_arguments.beta = mbi_plan_scalar(plan, beta);
  return mbi_device_launch_some(
      plan->context, p->fixup, "mbk_merge_fixup",
      (int64_t)((p->chunks + MBI_SCAN_FIXUP_THREADS - 1) / MBI_SCAN_FIXUP_THREADS),
      MBI_SCAN_FIXUP_THREADS,
      (unsigned)(MBI_SCAN_FIXUP_THREADS / 32 * (size + sizeof(uint32_t))), stream,
      &fixup_arguments, 0, mbi_plan_start(plan, 1));
}

/* ---- Describe ---------------------------------------------------------------------------- */

MBI_INTERNAL void mbi_merge_info(const merbit_plan *plan, merbit_plan_info *info) {
  const mbi_merge_path *p = mbi_merge_path_of(plan);
  info->block_threads = p->threads;
  info->tiles = (int64_t)p->chunks;
}

static int mbi_merge_describe(const merbit_plan *plan, char *text, size_t size) {
  const mbi_merge_path *p = mbi_merge_path_of(plan);
  return snprintf(text, size, "%" PRIu64 " chunks of %d x %d steps, %d per block%s", p->chunks,
                  p->threads, p->steps, p->rounds,
                  plan->streaming ? ", matrix by streaming loads" : "");
}

static merbit_status mbi_merge_path_bound(merbit_plan *plan, mbi_bound *bound) {
  MBI_TRY(mbi_merge_size(plan));
  bound->scratch += mbi_merge_carry_bytes(plan);
  return MERBIT_OK;
}

MBI_INTERNAL const mbi_cuda_method mbi_merge_path_method = {
    sizeof(mbi_merge_path),  /* state_bytes */
    mbi_merge_path_create,   /* create */
    mbi_merge_path_destroy,  /* destroy */
    mbi_merge_carry_bytes,   /* carry_bytes */
    mbi_merge_path_multiply, /* multiply */
    mbi_merge_info,          /* info */
    mbi_merge_describe,      /* describe */
    NULL,                    /* refresh */
    0,                       /* forms */
    NULL,                    /* cost */
    mbi_merge_path_bound,    /* bound */
    0,                       /* making */
    NULL,                    /* trusted */
    "steps rounds",          /* knobs */
};
