// Decides whether the recorded loop of a solver, a conditional node of a graph, continues.
#include "jit/device.cuh"

#define MBS_FUNCTION MBK_DEVICE
#include "solve/core/state.cuh"

#include "solve/core/loop_arguments.cuh"

// Sets the condition of the loop, as the last kernel of its body. Launch: one thread.
MBK_KERNEL mbk_solve_loop(MBK_GRID_CONSTANT mbk_solve_loop_arguments a) {
  bool on = false;
  for (mbk_i32 c = 0; c < a.columns && !on; c++) { // stop early: each load waits for memory
    const mbi_solve_state *const s = &a.m[c].state;
    on = s->stop == MBI_SOLVE_RUNNING && s->iterations < s->check_at;
  }
  mbk_graph_go_on(a.handle, on);
}
