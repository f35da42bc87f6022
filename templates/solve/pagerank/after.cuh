// The scalar part of a PageRank iteration. The product's epilogue runs it on its two sums: the
// change, and the mass of dangling vertices.
#include "jit/device.cuh"

#define MBS_FUNCTION MBK_DEVICE
#define MBS_CALLED MBK_CALLED
#include "solve/core/state.cuh"

#include "solve/pagerank/steps.cuh"

// Tells the epilogue that it need not read the previous z while its factor s3 is 0, as it is
// unless the iteration is accelerated.
#define MBK_EPILOGUE_IDLE(i, scalars) ((i) == 2 && (scalars)[3] == 0.0)

// Ends the iteration. `memory` is an mbi_solve_memory.
MBK_CALLED void mbk_epilogue_after(void *memory, double change, double mass) {
  mbi_pagerank_decide((mbi_solve_memory *)memory, change, mass);
}
