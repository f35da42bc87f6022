#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/gpu/scan/scan.h"
#include "spmv/gpu/binned/binned.h"
#include "spmv/plan/plan.h"

/* Sizes of BINNED: strips, parts, threads and shared memory. */

/* ---- Sizes: strips and parts ------------------------------------------------------------- */

/* Returns the state of a plan that uses this method. */
MBI_INTERNAL mbi_binned *mbi_binned_of(const merbit_plan *plan) {
  return (mbi_binned *)plan->state;
}

/* Bytes of shared memory that wide strips and parts need. */
#define MBI_BINNED_WIDE_SHARED 229376u

MBI_INTERNAL uint64_t mbi_binned_group(const merbit_plan *plan) {
  return 32 / mbi_type_size(plan->type);
}

/* Chooses strips, parts and threads where the user did not. Two blocks per multiprocessor hide
 * each other's latency. If their runs would be so short that they are mostly padding, one block
 * takes a strip and a part of twice the size. GPUs with little shared memory per block get
 * strips of half of it, and small blocks. */
static void mbi_binned_defaults(merbit_plan *plan) {
  mbi_binned *b = mbi_binned_of(plan);
  const uint64_t limit = (uint64_t)plan->context->device.shared_bytes_per_block;
  const int little = limit < MBI_BINNED_WIDE_SHARED;
  const uint64_t size = mbi_type_size(plan->type), part = 65536 / size;
  const uint64_t strip = little ? limit / 2 / size / 1024 * 1024 : 98304 / size;
  const uint64_t strips = strip > 0 ? (plan->device.cols + strip - 1) / strip : 0;
  const int wide =
      !little && strips * (plan->device.nnz / part + 1) > plan->device.nnz / (128 / size);
  const int wish_strip = mbi_knob(plan, MBI_KNOB_BINNED_STRIP);
  const int wish_tiles = mbi_knob(plan, MBI_KNOB_BINNED_TILES);
  b->strip = wish_strip != 0 ? (uint64_t)wish_strip * 1024 : wide ? 2 * strip : strip;
  b->warp_tiles = wish_tiles != 0 ? wish_tiles : (int)(16 / size);
  mbi_scan_of(plan)->pack = mbi_scan_widest(plan->type);
  mbi_scan_of(plan)->threads = plan->desc.block_threads != 0 ? plan->desc.block_threads
                               : wide                        ? 1024
                               : little                      ? 256
                                                             : 512;
}

/* Returns the bytes of shared memory of phase 1: a table of values and a strip of x. */
MBI_INTERNAL uint64_t mbi_binned_multiply_shared(const merbit_plan *plan) {
  return mbi_value_shared(plan) + mbi_binned_of(plan)->strip * mbi_type_size(plan->type);
}

/* Returns the bytes of shared memory of phase 2 for a part of `groups` groups: the sums of a
 * tile for each warp, and the part's products. */
MBI_INTERNAL uint64_t mbi_binned_sum_shared(const merbit_plan *plan, uint64_t groups) {
  return (uint64_t)(mbi_scan_of(plan)->threads * mbi_scan_of(plan)->steps) *
             mbi_type_size(plan->type) +
         groups * 32;
}

/* Returns the bytes of shared memory for filling a part: three words per strip, and the columns
 * of the largest part. */
MBI_INTERNAL uint64_t mbi_binned_fill_shared(const merbit_plan *plan) {
  return 3 * mbi_binned_of(plan)->strips * sizeof(uint32_t) +
         mbi_binned_of(plan)->part_groups * mbi_binned_group(plan) * sizeof(uint16_t);
}

/* Chooses and checks the sizes that kernels are compiled for. plan->nonempty must be set. */
MBI_INTERNAL merbit_status mbi_binned_size(merbit_plan *plan) {
  mbi_binned *b = mbi_binned_of(plan);
  mbi_scan_schedule *s = mbi_scan_of(plan);
  merbit_context *context = plan->context;
  const uint64_t limit = (uint64_t)context->device.shared_bytes_per_block;
  uint64_t full; /* shared memory of phase 2 for a part without padding */
  mbi_binned_defaults(plan);
  if (b->strip < 1024 || b->strip > 65536 || b->warp_tiles < 1 || b->warp_tiles > 8 ||
      s->threads < 32 || s->threads > 1024 || s->threads % 32 != 0) {
    return mbi_fail(
        context, MERBIT_INVALID_ARGUMENT,
        "plan_desc.tuning: strip is %d, tiles %d and plan_desc.block_threads %d; use 1 to 64, "
        "1 to 8, and a multiple of 32 up to 1024",
        mbi_knob(plan, MBI_KNOB_BINNED_STRIP), mbi_knob(plan, MBI_KNOB_BINNED_TILES),
        plan->desc.block_threads);
  }
  s->steps = MBI_BINNED_STEPS;
  s->tiles = (plan->device.nnz + 32 * MBI_BINNED_STEPS - 1) / (32 * MBI_BINNED_STEPS);
  b->part_nonzeros = (uint64_t)(b->warp_tiles * s->threads) * MBI_BINNED_STEPS;
  full = mbi_binned_sum_shared(plan, b->part_nonzeros / mbi_binned_group(plan));
  s->resident = s->threads > 512 || 2 * full > limit ? 1 : 2;
  b->strips = (plan->device.cols + b->strip - 1) / b->strip;
  b->parts = (plan->device.nnz + b->part_nonzeros - 1) / b->part_nonzeros;
  if (s->tiles > (uint64_t)INT32_MAX || b->strips * 12 > limit) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "%" PRIu64 " strips of columns and %" PRIu64
                    " parts are too many; use another plan_desc.method",
                    b->strips, b->parts);
  }
  if (mbi_binned_multiply_shared(plan) > limit) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "a strip of %" PRIu64 " columns takes %" PRIu64
                    " bytes of shared memory, of which there are %" PRIu64
                    "; lower strip in plan_desc.tuning",
                    b->strip, mbi_binned_multiply_shared(plan), limit);
  }
  mbi_scan_size_rows(plan);
  return MERBIT_OK;
}

/* ---- Specialise -------------------------------------------------------------------------- */

MBI_INTERNAL void mbi_binned_preamble(const merbit_plan *plan, mbi_preamble *preamble) {
  mbi_scan_preamble(plan, preamble);
  mbi_preamble_define_int(preamble, "MBK_STRIP", (int)mbi_binned_of(plan)->strip);
  mbi_preamble_define_int(preamble, "MBK_WARP_TILES", mbi_binned_of(plan)->warp_tiles);
}

MBI_INTERNAL merbit_status mbi_binned_specialise(merbit_plan *plan) {
  static const char *const names[6] = {"mbk_binned_count",    "mbk_binned_total",
                                       "mbk_binned_offsets",  "mbk_binned_fill",
                                       "mbk_binned_multiply", "mbk_binned_sum"};
  mbi_preamble preamble;
  int i;
  mbi_binned_preamble(plan, &preamble);
  MBI_TRY(mbi_plan_program(plan, "spmv/gpu/binned/binned.cu", &preamble, 3, &plan->program));
  MBI_TRY(mbi_scan_kernels(plan));
  for (i = 0; i < 6; i++) {
    MBI_TRY(mbi_program_part_kernel(plan->context, &plan->program, i >= 4, names[i],
                                    &mbi_binned_of(plan)->kernels[i]));
  }
  return MERBIT_OK;
}
