// The conjugate gradient method between two products. A row of vectors in f64 without a
// preconditioner moves: descend 24 bytes and advance 40, 8 more in either for a diagonal,
// beside the product: 16, for p'A p costs it nothing where p is what it multiplies.
#include "solve/step.cuh"
#include "solve/look_steps.cuh"
#include "solve/cg_steps.cuh"

MBK_KERNEL MBK_BOUNDS(MBK_STEP_THREADS) mbk_solve_look(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  solve_look_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_BOUNDS(MBK_STEP_THREADS) mbk_solve_blocks(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  solve_blocks_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_BOUNDS(MBK_STEP_THREADS) mbk_cg_start(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  cg_start_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_BOUNDS(MBK_STEP_THREADS) mbk_cg_direct(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  cg_direct_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_BOUNDS(MBK_STEP_THREADS) mbk_cg_descend(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  cg_descend_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_BOUNDS(MBK_STEP_THREADS) mbk_cg_correct(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  cg_correct_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_BOUNDS(MBK_STEP_THREADS) mbk_cg_advance(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  cg_advance_step(v, n, m, partials, (double *)shared);
}
