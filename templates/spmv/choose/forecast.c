#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/gpu/merbit/merbit.h"
#include "spmv/gpu/scan/scan.h"
#include "spmv/gpu/rows/rows.h"
#include "spmv/gpu/merge/merge.h"
#include "spmv/gpu/sliced/sliced.h"
#include "spmv/gpu/binned/binned.h"
#include "spmv/gpu/bsr/bsr.h"
#include "spmv/gpu/hubs/hubs.h"
#include "spmv/gpu/cb/cb.h"
#include "spmv/gpu/many/many.h"
#include "spmv/stages/stages.h"
#include "spmv/study/study.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* What a product by each method should take, from what the GPU counts of a matrix's rows and
 * samples of its columns. */

MBI_INTERNAL const mbi_cuda_method *mbi_cuda_method_of(const merbit_plan *plan,
                                                       merbit_method method) {
  switch (method) {
  case MERBIT_METHOD_MERGE:
    return &mbi_merge_path_method;
  case MERBIT_METHOD_SCAN:
    return &mbi_scan_method;
  case MERBIT_METHOD_ROWS:
    return &mbi_rows_method;
  case MERBIT_METHOD_SLICED:
    return &mbi_sliced_method;
  case MERBIT_METHOD_BINNED:
    return &mbi_binned_method;
  case MERBIT_METHOD_BSR:
    return mbi_plan_has_blocks(plan)                ? &mbi_bsr_method
           : plan->desc.method == MERBIT_METHOD_BSR ? &mbi_extract_method
                                                    : &mbi_extracted_method;
  case MERBIT_METHOD_CB:
    return &mbi_cb_method;
  case MERBIT_METHOD_HUBS:
    return &mbi_hubs_method;
  case MERBIT_METHOD_MANY:
    return &mbi_many_method;
#ifdef MERBIT_STUDY_METHODS
  case MERBIT_METHOD_BSR_ROW_MAJOR:
  case MERBIT_METHOD_BSR_PRIVATE:
  case MERBIT_METHOD_BSR_TEAM:
  case MERBIT_METHOD_BSR_VECTOR:
    return &mbi_bsr_study_method;
  case MERBIT_METHOD_WARP_LOOP:
    return &mbi_warp_loop_method;
  case MERBIT_METHOD_WARP_TILED:
    return &mbi_warp_tiled_method;
  case MERBIT_METHOD_NONZERO_SPLIT:
  case MERBIT_METHOD_PATH_WALK:
    return &mbi_split_method;
#endif
  default:
    return &mbi_merbit_method;
  }
}

/* Seconds for one sector of x that no cache near the threads holds, by the bytes of x: the L2's
 * rate, which falls where x does not fit. */
MBI_INTERNAL double mbi_choose_gather(double bytes) {
  static const double size[6] = {16e6, 32e6, 67e6, 134e6, 268e6, 1074e6};
  static const double rate[6] = {160e9, 140e9, 76e9, 53e9, 45e9, 40e9};
  int i = 0;
  if (bytes <= size[0] || bytes >= size[5]) {
    return 1.0 / rate[bytes <= size[0] ? 0 : 5];
  }
  while (bytes > size[i + 1]) {
    i++;
  }
  return 1.0 /
         (rate[i] + (rate[i + 1] - rate[i]) * (bytes - size[i]) / (size[i + 1] - size[i]));
}

/* Whether the matrix was found to consist of full blocks, and stores a value for each nonzero.
 */
MBI_INTERNAL int mbi_choose_full(const merbit_plan *plan) {
  return mbi_has_full_blocks(&plan->nonempty) && plan->device.form == MBI_VALUES_GENERAL &&
         plan->device.values != 0;
}

/* Whether all that a product does is to gather doubles, each from a sector of its own, for
 * lanes of which half are busy. */
static int mbi_choose_gathered(const merbit_plan *plan) {
  return plan->type == MERBIT_F64 && mbi_value_bytes(plan) == 0 && plan->nonempty.sectors > 0.9 &&
         plan->nonempty.slots / 2 <= plan->device.nnz;
}

/* The longer one: a row that is walked alone goes on while the others are multiplied. */
static double mbi_choose_longer(double seconds, double walk) {
  return walk > seconds ? walk : seconds;
}

/* Only ROWS and SLICED walk rows. All others cut a long row into tiles, whose sums a warp or a
 * thread block adds up. */
MBI_INTERNAL mbi_forecast mbi_choose_forecast(const merbit_plan *plan) {
  const double size = (double)mbi_type_size(plan->type), nnz = (double)plan->device.nnz;
  const double rows = (double)plan->device.rows, cols = (double)plan->device.cols;
  const double vectors =
      ((rows + cols) * size + (double)mbi_value_bytes_once(plan)) * MBI_CHOOSE_STREAM;
  const double values = (double)mbi_value_bytes(plan);
  const double stream = nnz * (4.0 + values) * MBI_CHOOSE_STREAM;
  const double gathers = nnz * plan->nonempty.sectors * mbi_choose_gather(cols * size);
  /* No row ends have to be found, which shows in f64; in f32 the scan keeps up with the stream.
   */
  const double light = plan->type == MERBIT_F64 && gathers < stream / 2 ? 0.8 : 1.0;
  mbi_forecast f;
  f.scan = vectors + stream + gathers;
  /* Lanes of a row load what does not lie side by side, which counts little beside gathers
   * that all miss; then no launch has to follow, and nothing is made (ones on an H200: 143 us
   * for 145 where columns lie anywhere; but 121 for 91 of roads, which share sectors). */
  f.rows =
      mbi_choose_longer((mbi_choose_gathered(plan) ? 0.97 : 1.2) * f.scan, mbi_rows_walk(plan));
  if (plan->device.form == MBI_VALUES_TABLE || plan->device.form == MBI_VALUES_ROW) {
    /* To look values up is slower there than to stream them. */
    f.scan += nnz * (plan->type == MERBIT_F32 ? 0.8e-12 : 1.3e-12);
  }
  /* Where rows are short, one block to a multiprocessor loses by them what hubs save (a star,
   * ones in f64 on an H200: 224 us where the scan takes 206). */
  f.hubs =
      nnz >= 4.0 * rows && plan->nonempty.hub_share > 1.0 - plan->nonempty.sectors
          ? vectors + stream + gathers * (1.0 - plan->nonempty.hub_share) / plan->nonempty.sectors
          : f.scan;
  f.sliced = mbi_choose_longer(vectors + gathers +
                                   nnz * (4.0 - 2.0 * plan->nonempty.narrow + values) *
                                       MBI_CHOOSE_STREAM * light,
                               mbi_sliced_walk(plan));
  /* Products are written and read; reads and writes mixed reach three quarters of the rate. */
  f.binned = vectors + nnz * 1.1 * (4.5 + values + 2.0 * size) * MBI_CHOOSE_STREAM * 1.35;
  f.blocks = f.scan;
  if (mbi_choose_full(plan)) {
    const double column = 4.0 / (plan->nonempty.block_rows * plan->nonempty.block_cols);
    f.blocks = vectors + gathers + nnz * (column + values) * MBI_CHOOSE_STREAM * 1.08 * light;
  }
  return f;
}

#define MBI_CHOOSE_UNSEEN_CALLS 1

/* And where about so many products follow that making them, 0.4 ms, pays: of floats they save 3
 * us a product on an H200, of doubles a third of that. */
MBI_INTERNAL int mbi_choose_blocks_calls(const merbit_plan *plan) {
  return plan->type == MERBIT_F32 ? 100 : 300;
}

MBI_INTERNAL int mbi_choose_unseen(const merbit_plan *plan) {
  return plan->desc.expected_calls <= MBI_CHOOSE_UNSEEN_CALLS &&
         mbi_device_csr_stream_bytes(plan) >= MBI_CHOOSE_UNSEEN;
}
