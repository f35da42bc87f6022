// The conjugate gradient method between two products. A row of vectors in f64 without a
// preconditioner moves: descend 24 bytes and advance 40, in a sweep 34 (24, and 64 once in four
// iterations), 8 more in either for a diagonal. p'A p takes 16 beside, but where the product
// adds it up (SCAN of short rows: spmv/gpu/scan/scan.cu).
#define MBK_STEP_ROWS 4
#include "solve/core/step.cuh"
#include "solve/core/check_steps.cuh"
#include "solve/cg/slots.cuh"
#include "solve/cg/steps.cuh"

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_solve_residual(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  solve_residual_step(v, n, m, partials, (double *)shared);
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

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT) mbk_cg_start_p(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  cg_start_p_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_cg_update_r(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  cg_update_r_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_cg_rz(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  cg_rz_step(v, n, m, partials, (double *)shared);
}

MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT)
    mbk_cg_update_x_p(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  cg_update_x_p_step(v, n, m, partials, (double *)shared);
}

// p'A p, where no epilogue of the product adds it up
MBS_NOTHING_BEFORE(cg_pq)
MBS_ELEMENT(cg_pq) {
  (void)c;
  sums[0] += MBS_LOAD(MBI_CG_P) * MBS_LOAD(MBI_AT_W);
}
MBS_AFTER(cg_pq) {
  (void)c;
  m->state.product_sums[0] = sums[0];
}
MBS_STEP(cg_pq, 1, 0, MBS_RUNNING)

// x is read and written once in MBI_CG_RING iterations: x of the `from` iterations before,
// whose alpha p it lacks, in their order, so that bits are those of one addition after the
// other.
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

MBK_DEVICE double mbk_cg_next_p(MBS_INDEX i, const mbi_solve_vectors *v, const mbi_solve_state *c,
                              double p) {
  const double beta = c->scalar[MBI_CG_RZ] / c->scalar[MBI_CG_RZ_OLD];
  const double r = MBS_LOAD(MBI_CG_R);
  return (v->pre == MBI_PRE_DIAGONAL ? MBS_LOAD(MBI_AT_INVERSE) * r : r) + beta * p;
}

// p = z + beta p; x waits
MBS_NOTHING_BEFORE(cg_update_p)
MBS_ELEMENT(cg_update_p) {
  (void)sums;
  MBS_STORE(MBI_CG_OLDEST_P, mbk_cg_next_p(i, v, c, MBS_LOAD(MBI_CG_P)));
}
MBS_NOTHING_AFTER(cg_update_p)
MBS_STEP(cg_update_p, 0, 0, MBS_UNTIL_CLOSED)

// The same, and all that x lacks
MBS_NOTHING_BEFORE(cg_complete_x)
MBS_ELEMENT(cg_complete_x) {
  const double p = MBS_LOAD(MBI_CG_P);
  (void)sums;
  MBS_STORE(MBI_AT_X, mbk_cg_pending_x(i, v, c) + c->scalar[MBI_CG_ALPHA] * p);
  MBS_STORE(MBI_CG_ROUND_P, mbk_cg_next_p(i, v, c, p));
}
MBS_NOTHING_AFTER(cg_complete_x)
MBS_STEP(cg_complete_x, 0, 0, MBS_UNTIL_CLOSED)

// What x lacks where an iteration broke down before it moved anything: its alpha is none, so
// those before are one place nearer.
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

// All that is between two products, for z that needs no step of its own. v.from: iterations
// that x waits for; v.to: whether it waits for this one too, unless the solver stops here.
// Launch: cooperative.
MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT) mbk_cg_fused(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  const mbk_fused s = mbk_fused_begin(v, n, m, (double *)shared);
  const mbk_u32 next = 1u << MBI_CG_P | (v.to != 0 ? 0u : 1u << MBI_AT_X);
  if (!(v.dots != (const double *)0
            ? mbk_fused_dots<cg_pq_after>(s, true, 1u << MBI_CG_R | 1u << MBI_AT_W)
            : cg_pq_stage<MBK_FUSED_SUMS_FOLLOW>(s, true, 1u << MBI_CG_R))) {
    return; // the solver had stopped
  }
  if (!cg_update_r_stage<MBK_FUSED_ROWS_FOLLOW>(s, false, next)) {
    if (v.from > 0) {
      (void)cg_complete_x_at_breakdown_stage<MBK_FUSED_END>(s, true, 0);
    }
  } else if (v.to != 0 && mbk_fused_state((double *)shared)->stop == MBI_SOLVE_RUNNING) {
    (void)cg_update_p_stage<MBK_FUSED_END>(s, true, 0);
  } else {
    (void)cg_complete_x_stage<MBK_FUSED_END>(s, true, 0);
  }
}
