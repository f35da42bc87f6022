// Kernels of BiCGSTAB. Bytes per row of f64 vectors without a preconditioner: bicgstab_s 24,
// bicgstab_update_x_r 56 and bicgstab_update_p 32, or both fused 64. The two products take 16
// each, and 8 more for each vector of their sums. Launch and shared memory:
// solve/core/step.cuh.
#define MBK_STEP_ROWS 3
#include "solve/core/step.cuh"
#include "solve/core/check.cuh"
#include "solve/bicgstab/steps.cuh"

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_bicgstab_start(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  bicgstab_start_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_bicgstab_s(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  bicgstab_s_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_bicgstab_update_x_r(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  bicgstab_update_x_r_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_bicgstab_update_p(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  bicgstab_update_p_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

// Computes shadow'v if the product has not.
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

// Computes t's, ||t||^2, shadow's and shadow't.
MBS_NOTHING_BEFORE(bicgstab_omega)
MBS_ELEMENT(bicgstab_omega) {
  const double t = MBS_LOAD(MBI_AT_W), s = MBS_LOAD(MBI_BICG_R);
  const double shadow = MBS_LOAD(MBI_BICG_SHADOW);
  (void)c;
  sums[0] += s * t;
  sums[1] += t * t;
  sums[2] += shadow * s;
  sums[3] += shadow * t;
}
MBS_AFTER(bicgstab_omega) {
  (void)c;
  m->state.product_sums[0] = sums[0];
  m->state.product_sums[1] = sums[1];
  m->state.scalar[MBI_BICG_SHADOW_S] = sums[2];
  m->state.scalar[MBI_BICG_SHADOW_T] = sums[3];
}
MBS_STEP(bicgstab_omega, 4, 0, MBS_RUNNING)

// Does bicgstab_update_x_r and bicgstab_update_p in one pass. rho = shadow'r of r = s - omega t
// follows from shadow's and shadow't, before r is computed. In exact arithmetic shadow's is
// zero, but its rounding errors matter when r is small. Source: Yang, Brent, "The Improved
// BiCGStab Method for Large and Sparse Unsymmetric Linear Systems on Parallel Distributed
// Memory Architectures" (2002). The scalar part computes rho again, because keeping it would
// take registers.
MBK_DEVICE double bicgstab_next_rho(const mbi_solve_state *s, double omega) {
  return s->scalar[MBI_BICG_SHADOW_S] - omega * s->scalar[MBI_BICG_SHADOW_T];
}
MBS_BEFORE(bicgstab_update_x_r_p) {
  const double rho = c->scalar[MBI_BICG_RHO], alpha = c->scalar[MBI_BICG_ALPHA];
  const int wrong = bicgstab_update_x_r_before(c);
  const double omega = c->scalar[MBI_BICG_OMEGA];
  c->scalar[MBI_BICG_BETA] = bicgstab_next_rho(c, omega) / rho * (alpha / omega);
  return wrong;
}
MBS_ELEMENT(bicgstab_update_x_r_p) {
  const double alpha = c->scalar[MBI_BICG_ALPHA], omega = c->scalar[MBI_BICG_OMEGA];
  const double inverse = v->pre == MBI_PRE_DIAGONAL ? MBS_LOAD(MBI_AT_INVERSE) : 1;
  const double s = MBS_LOAD(MBI_BICG_R), last = MBS_LOAD(MBI_BICG_P);
  const double exact = s - omega * MBS_LOAD(MBI_AT_W);
  const double r = (double)(MBS_VECTOR)exact;
  const double p = r + c->scalar[MBI_BICG_BETA] * (last - omega * MBS_LOAD(MBI_BICG_V));
  const double s_hat = (double)(MBS_VECTOR)(inverse * s);
  const double p_hat = (double)(MBS_VECTOR)(inverse * last);
  MBS_STORE(MBI_AT_X, MBS_LOAD(MBI_AT_X) + (alpha * p_hat + omega * s_hat));
  MBS_STORE(MBI_BICG_R, r);
  MBS_STORE(MBI_BICG_P, p);
  if (v->pre == MBI_PRE_DIAGONAL) {
    MBS_STORE(MBI_BICG_P_HAT, inverse * p);
  }
  sums[0] += r * r;
}
MBS_AFTER(bicgstab_update_x_r_p) {
  const double both[2] = {sums[0], bicgstab_next_rho(&m->state, c->scalar[MBI_BICG_OMEGA])};
  bicgstab_update_x_r_after(m, c, both);
}
MBS_STEP(bicgstab_update_x_r_p, 1, 0, MBS_RUNNING)

// Runs lines 4 and 5, between the two products of an iteration, for the preconditioners NONE
// and DIAGONAL. Launch: cooperative.
MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_bicgstab_fused_s(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  const mbk_fused_call s = mbk_fused_begin(a.v, a.n, a.m, (double *)shared);
  if (bicgstab_sigma_stage<MBK_FUSED_SUMS_FOLLOW>(s, true, 1u << MBI_BICG_R)) {
    (void)bicgstab_s_stage<MBK_FUSED_END>(s, false, 0);
  }
}

// Runs lines 6 to 10, after the second product, for the preconditioners NONE and DIAGONAL.
// Launch: cooperative.
MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_bicgstab_fused(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  const mbk_fused_call s = mbk_fused_begin(a.v, a.n, a.m, (double *)shared);
  const mbk_u32 next = 1u << MBI_AT_X | 1u << MBI_BICG_P | 1u << MBI_BICG_V;
  if (bicgstab_omega_stage<MBK_FUSED_SUMS_FOLLOW>(s, true, next)) {
    (void)bicgstab_update_x_r_p_stage<MBK_FUSED_END>(s, false, 0);
  }
}
