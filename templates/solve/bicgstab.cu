// BiCGSTAB between products. A row of vectors in f64 without a preconditioner moves: half 24
// bytes, update 56 and direct 32, beside two products: 16 each, and 8 for the vector whose
// product with theirs they add up.
#define MBK_STEP_ROWS 3
#include "solve/step.cuh"
#include "solve/look_steps.cuh"
#include "solve/bicgstab_steps.cuh"

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

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_bicgstab_start(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  bicgstab_start_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_bicgstab_half(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  bicgstab_half_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_bicgstab_update(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  bicgstab_update_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_bicgstab_direct(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  bicgstab_direct_step(v, n, m, partials, (double *)shared);
}

// shadow'v, where no epilogue of the product adds it up
MBS_NOTHING_BEFORE(bicgstab_sigma)
MBS_ELEMENT(bicgstab_sigma) {
  (void)c;
  sums[0] += MBS_LOAD(MBI_BICG_SHADOW) * MBS_LOAD(MBI_BICG_V);
}
MBS_AFTER(bicgstab_sigma) {
  (void)c;
  m->state.product_sums[0] = sums[0];
}
MBS_STEP(bicgstab_sigma, 1, 0, MBS_RUNNING)

// t's and ||t||^2
MBS_NOTHING_BEFORE(bicgstab_omega)
MBS_ELEMENT(bicgstab_omega) {
  const double t = MBS_LOAD(MBI_AT_W);
  (void)c;
  sums[0] += MBS_LOAD(MBI_BICG_R) * t;
  sums[1] += t * t;
}
MBS_AFTER(bicgstab_omega) {
  (void)c;
  m->state.product_sums[0] = sums[0];
  m->state.product_sums[1] = sums[1];
}
MBS_STEP(bicgstab_omega, 2, 0, MBS_RUNNING)

// All that is between the first product and the second, where M^-1 needs no step of its own.
// Launch: cooperative.
MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_bicgstab_sweep_half(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  const mbk_sweep s = mbk_sweep_begin(v, n, m, partials, (double *)shared);
  if (bicgstab_sigma_stage(s, true, false)) {
    (void)bicgstab_half_stage(s, false, true);
  }
}

// And between the second and the first of the next iteration. Launch: cooperative.
MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_bicgstab_sweep(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  const mbk_sweep s = mbk_sweep_begin(v, n, m, partials, (double *)shared);
  if (bicgstab_omega_stage(s, true, false) && bicgstab_update_stage(s, false, true)) {
    (void)bicgstab_direct_stage(s, true, false);
  }
}
