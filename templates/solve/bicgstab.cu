// BiCGSTAB between products. A row of vectors in f64 without a preconditioner moves: half 24
// bytes, update 56 and direct 32, beside two products: 16 each, and 8 for the vector whose
// product with theirs they add up.
#include "solve/step.cuh"
#include "solve/look_steps.cuh"
#include "solve/bicgstab_steps.cuh"

MBK_KERNEL MBK_BOUNDS(MBK_STEP_THREADS) mbk_solve_look(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  solve_look_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_BOUNDS(MBK_STEP_THREADS) mbk_solve_blocks(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  solve_blocks_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_BOUNDS(MBK_STEP_THREADS) mbk_bicgstab_start(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  bicgstab_start_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_BOUNDS(MBK_STEP_THREADS) mbk_bicgstab_half(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  bicgstab_half_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_BOUNDS(MBK_STEP_THREADS) mbk_bicgstab_update(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  bicgstab_update_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_BOUNDS(MBK_STEP_THREADS) mbk_bicgstab_direct(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  bicgstab_direct_step(v, n, m, partials, (double *)shared);
}
