// BiCGSTAB between products. A row of vectors in f64 without a preconditioner moves: half 24
// bytes, update 56, direct 32, and where the products do not add up their sums themselves 16
// for project and 16 for stabilise.
#include "solve/step.cuh"
#include "solve/look_steps.cuh"
#include "solve/bicgstab_steps.cuh"

MBK_KERNEL MBK_BOUNDS(MBK_STEP_THREADS) mbk_solve_look(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  solve_look_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_BOUNDS(MBK_STEP_THREADS) mbk_bicgstab_start(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  bicgstab_start_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_BOUNDS(MBK_STEP_THREADS) mbk_bicgstab_project(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  bicgstab_project_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_BOUNDS(MBK_STEP_THREADS) mbk_bicgstab_half(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  bicgstab_half_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_BOUNDS(MBK_STEP_THREADS) mbk_bicgstab_stabilise(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  bicgstab_stabilise_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_BOUNDS(MBK_STEP_THREADS) mbk_bicgstab_update(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  bicgstab_update_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_BOUNDS(MBK_STEP_THREADS) mbk_bicgstab_direct(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  bicgstab_direct_step(v, n, m, partials, (double *)shared);
}
