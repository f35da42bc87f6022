#include "spmv/shared/shared.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* What a product by each method should take, from what the GPU counts of a matrix's rows and
 * samples of its columns. */

/* Returns the seconds of a product by each method that AUTO may take. Only ROWS and SLICED walk
 * rows. All others cut a long row into tiles, whose sums a warp or a thread block adds up. */
MBI_INTERNAL mbi_forecast mbi_choose_forecast(const merbit_plan *plan) {
  mbi_forecast f;
  f.scan = mbi_method_cost(plan, MERBIT_METHOD_SCAN);
  f.rows = mbi_method_cost(plan, MERBIT_METHOD_ROWS);
  f.sliced = mbi_method_cost(plan, MERBIT_METHOD_SLICED);
  f.binned = mbi_method_cost(plan, MERBIT_METHOD_BINNED);
  f.hubs = mbi_method_cost(plan, MERBIT_METHOD_HUBS);
  f.blocks = mbi_method_cost(plan, MERBIT_METHOD_BSR);
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
