// The scalar part of a PageRank iteration. The product's epilogue runs it with its two sums:
// the change, and the mass of dangling vertices.
#include "jit/device.cuh"

#define MBS_FUNCTION MBK_DEVICE
#define MBS_CALLED MBK_CALLED
#include "solve/core/state.cuh"

#include "solve/pagerank/steps.cuh"

// The epilogue need not read the previous z if its factor s3 is 0, which is so unless the
// iteration is accelerated.
#define MBK_EPILOGUE_IDLE(i, scalars) ((i) == 2 && (scalars)[3] == 0.0)

// Ends the iteration. `memory` is a mbi_solve_memory.
MBK_CALLED void mbk_epilogue_after(void *memory, double change, double mass) {
  mbi_pagerank_decide((mbi_solve_memory *)memory, change, mass);
}
