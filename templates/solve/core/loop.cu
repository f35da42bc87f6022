// Whether the loop of a solver goes on, which runs on the GPU: a conditional node of a graph.
#include "jit/device.cuh"

#define MBS_FUNCTION MBK_DEVICE
#include "solve/core/state.cuh"

// The last of the loop's body. Launch: one thread.
MBK_KERNEL mbk_solve_loop(mbk_u64 handle, const mbi_solve_memory *m) {
  mbk_graph_go_on(handle,
                  m->state.stop == MBI_SOLVE_RUNNING && m->state.iterations < m->state.check_at);
}
