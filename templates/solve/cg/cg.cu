// Kernels of the conjugate gradient method. Bytes per row of f64 vectors without a
// preconditioner: cg_update_r 24, cg_update_x_p 40. The fused kernel takes 34 instead of those
// 40: 24 in three of four iterations, 64 in the fourth. A diagonal adds 8 to either. p'q adds
// 16, unless the product leaves its partial sums (SCAN of short rows: spmv/gpu/scan/scan.cu).
// Launch and shared memory: solve/core/step.cuh.
#define MBK_STEP_ROWS 4
#include "solve/core/step.cuh"
#include "solve/core/check.cuh"
#include "solve/cg/slots.cuh"
#include "solve/cg/steps.cuh"

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_cg_start(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  cg_start_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_cg_start_p(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  cg_start_p_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_cg_update_r(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  cg_update_r_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_cg_rz(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  cg_rz_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_cg_update_x_p(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  cg_update_x_p_step(a.v, a.n, a.m, a.partials, (double *)shared);
}

// Returns x plus the alpha p of the last `from` iterations, which x still lacks. They are added
// in order, with a rounding after each, so that the bits are those of one addition per
// iteration.
MBK_DEVICE double mbk_cg_pending_x(MBS_INDEX i, const mbi_solve_vectors *v,
                                   const mbi_solve_state *c) {
  double x = MBS_LOAD(MBI_AT_X), p[MBI_CG_RING - 1];
#pragma unroll
  for (int k = 0; k < MBI_CG_RING - 1; k++) {
    p[k] = k < v->from ? MBS_LOAD(MBI_CG_OLD_P + k) : 0;
  }
#pragma unroll
  for (int k = MBI_CG_RING - 1; k > 0; k--) {
    x = k <= v->from ? (double)(MBK_VECTOR)(x + c->scalar[MBI_CG_ALPHA + k] * p[k - 1]) : x;
  }
  return x;
}

// Returns z + beta p.
MBK_DEVICE double mbk_cg_next_p(MBS_INDEX i, const mbi_solve_vectors *v,
                                const mbi_solve_state *c, double p) {
  const double beta = c->scalar[MBI_CG_RZ] / c->scalar[MBI_CG_RZ_OLD];
  const double r = MBS_LOAD(MBI_CG_R);
  return (v->pre == MBI_PRE_DIAGONAL ? MBS_LOAD(MBI_AT_INVERSE) * r : r) + beta * p;
}

// Line 8: p = z + beta p; x is updated later.
MBS_NOTHING_BEFORE(cg_update_p)
MBS_ELEMENT(cg_update_p) {
  (void)sums;
  MBS_STORE(MBI_CG_OLDEST_P, mbk_cg_next_p(i, v, c, MBS_LOAD(MBI_CG_P)));
}
MBS_NOTHING_AFTER(cg_update_p)
MBS_STEP(cg_update_p, 0, 0, MBS_UNTIL_CLOSED)

// Lines 4 and 8: adds all alpha p that x lacks, and computes p = z + beta p.
MBS_NOTHING_BEFORE(cg_complete_x)
MBS_ELEMENT(cg_complete_x) {
  const double p = MBS_LOAD(MBI_CG_P);
  (void)sums;
  MBS_STORE(MBI_AT_X, mbk_cg_pending_x(i, v, c) + c->scalar[MBI_CG_ALPHA] * p);
  MBS_STORE(MBI_CG_ROUND_P, mbk_cg_next_p(i, v, c, p));
}
MBS_NOTHING_AFTER(cg_complete_x)
MBS_STEP(cg_complete_x, 0, 0, MBS_UNTIL_CLOSED)

// Line 4 after a breakdown: adds all alpha p that x lacks. The broken iteration has no alpha,
// so the alphas of earlier iterations are found one place lower.
MBS_NOTHING_BEFORE(cg_complete_x_at_breakdown)
MBS_ELEMENT(cg_complete_x_at_breakdown) {
  mbi_solve_state before = *c;
  (void)sums;
#pragma unroll
  for (int k = MBI_CG_RING - 1; k > 0; k--) {
    before.scalar[MBI_CG_ALPHA + k] = c->scalar[MBI_CG_ALPHA + k - 1];
  }
  MBS_STORE(MBI_AT_X, mbk_cg_pending_x(i, v, &before));
}
MBS_NOTHING_AFTER(cg_complete_x_at_breakdown)
MBS_STEP(cg_complete_x_at_breakdown, 0, 0, MBS_ALWAYS)

// Runs lines 3 to 8 except the product, for the preconditioners NONE and DIAGONAL. v.from is
// the number of earlier iterations whose alpha p x lacks. v.to is 1 if this iteration's alpha p
// may be postponed too, unless the solver stops here. Launch: cooperative.
MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_cg_fused(MBK_GRID_CONSTANT mbk_solve_step_arguments a) {
  MBK_SHARED_MEMORY(shared);
  const mbk_fused_call s = mbk_fused_begin(a.v, a.n, a.m, (double *)shared);
  const mbk_u32 next = 1u << MBI_CG_P | (a.v.to != 0 ? 0u : 1u << MBI_AT_X);
  if (!(a.v.dots != (const double *)0
            ? mbk_fused_dots<cg_pq_after>(s, true, 1u << MBI_CG_R | 1u << MBI_AT_W)
            : cg_pq_stage<MBK_FUSED_SUMS_FOLLOW>(s, true, 1u << MBI_CG_R))) {
    return; // the solver had already stopped
  }
  if (!cg_update_r_stage<MBK_FUSED_ROWS_FOLLOW>(s, false, next)) {
    if (a.v.from > 0) {
      (void)cg_complete_x_at_breakdown_stage<MBK_FUSED_END>(s, true, 0);
    }
  } else if (a.v.to != 0 && mbk_fused_state((double *)shared)->stop == MBI_SOLVE_RUNNING) {
    (void)cg_update_p_stage<MBK_FUSED_END>(s, true, 0);
  } else {
    (void)cg_complete_x_stage<MBK_FUSED_END>(s, true, 0);
  }
}
