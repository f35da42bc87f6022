// The conjugate gradient method between two products. A row of vectors in f64 without a
// preconditioner moves: descend 24 bytes and advance 40, 8 more in either for a diagonal,
// beside the product: 16, for p'A p costs it nothing where p is what it multiplies.
#define MBK_STEP_ROWS 4
#include "solve/step.cuh"
#include "solve/look_steps.cuh"
#include "solve/cg_steps.cuh"

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_solve_look(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  solve_look_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_solve_blocks(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  solve_blocks_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT) mbk_cg_start(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  cg_start_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT) mbk_cg_direct(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  cg_direct_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_cg_descend(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  cg_descend_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_cg_correct(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  cg_correct_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_cg_advance(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  cg_advance_step(v, n, m, partials, (double *)shared);
}

// p'A p, where no epilogue of the product adds it up
MBS_NOTHING_BEFORE(cg_curve)
MBS_ELEMENT(cg_curve) {
  (void)c;
  sums[0] += MBS_LOAD(MBI_CG_P) * MBS_LOAD(MBI_AT_W);
}
MBS_AFTER(cg_curve) {
  (void)c;
  m->state.product_sums[0] = sums[0];
}
MBS_STEP(cg_curve, 1, 0, MBS_RUNNING)

// All that is between two products, for z that needs no step of its own. Launch: cooperative.
MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT) mbk_cg_sweep(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  const mbk_sweep s = mbk_sweep_begin(v, n, m, (double *)shared);
  if (cg_curve_stage<MBK_SWEEP_SUMS_FOLLOW>(s, true) &&
      cg_descend_stage<MBK_SWEEP_ROWS_FOLLOW>(s, false)) {
    (void)cg_advance_stage<MBK_SWEEP_END>(s, true);
  }
}
