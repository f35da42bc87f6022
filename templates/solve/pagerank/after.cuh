// What follows from the sums of an iteration's product, behind its epilogue: the change, and
// the mass of dangling vertices.
#include "jit/device.cuh"

#define MBS_FUNCTION MBK_DEVICE
#define MBS_CALLED MBK_CALLED
#include "solve/core/state.cuh"

#include "solve/pagerank/steps.cuh"

// The z before the last comes times s3, which is 0 unless the iteration is accelerated.
#define MBK_EPILOGUE_IDLE(i, scalars) ((i) == 2 && (scalars)[3] == 0.0)

// `memory` is a mbi_solve_memory whose iterations go on.
MBK_CALLED void mbk_epilogue_after(void *memory, double change, double mass) {
  mbi_pagerank_decide((mbi_solve_memory *)memory, change, mass);
}
