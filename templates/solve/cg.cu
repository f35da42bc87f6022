// The conjugate gradient method between two products. A row of vectors in f64 without a
// preconditioner moves: descend 24 bytes and advance 40, or both at once 56, 8 more in each for
// a diagonal, beside the product: 16, for p'A p costs it nothing where p is what it multiplies.
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

// Sums of q = A p that no epilogue of the product adds up: p'q and q'M^-1 q
MBS_NOTHING_BEFORE(cg_curve)
MBS_ELEMENT(cg_curve) {
  const double q = MBS_LOAD(MBI_AT_W);
  (void)c;
  sums[0] += MBS_LOAD(MBI_CG_P) * q;
  sums[1] += v->pre == MBI_PRE_DIAGONAL ? q * q * MBS_LOAD(MBI_AT_INVERSE) : q * q;
}
MBS_AFTER(cg_curve) {
  (void)c;
  m->state.product_sums[0] = sums[0];
  m->state.product_sums[1] = sums[1];
}
MBS_STEP(cg_curve, 2, 0, MBS_RUNNING)

// cg_descend and cg_advance at once, with an r'z foretold: of r - alpha q it is that of r, less
// alpha 2 r'M^-1 q and more alpha^2 q'M^-1 q, and r'M^-1 q is p'q, for p is conjugate to the
// one before. Only the direction is made from it; the next step's length takes r'z as it is.
// Source: Meurant, "Multitasking the Conjugate Gradient Method on the CRAY X-MP/48", Parallel
// Computing 5 (1987); Chen, Carson, "Predict-and-Recompute Conjugate Gradient Variants", SIAM
// J. Sci. Comput. 42 (2020), which finds it as exact as the classic one.
MBK_DEVICE double cg_foretold(const mbi_solve_state *c) {
  const double rz = c->scalar[MBI_CG_RZ], pq = c->product_sums[0], alpha = rz / pq;
  return alpha * alpha * c->product_sums[1] - rz;
}

// Whether that is so much of r'z that rounding does not count. If not, and where something is
// wrong, the steps are taken one by one.
MBK_DEVICE bool cg_foresees(const mbi_solve_state *c) {
  const double rz = c->scalar[MBI_CG_RZ], pq = c->product_sums[0], next = cg_foretold(c);
  return rz > 0 && pq > 0 && next - next == 0 && next > rz / 1024;
}

MBS_BEFORE(cg_stride) {
  c->scalar[MBI_CG_ALPHA] = c->scalar[MBI_CG_RZ] / c->product_sums[0];
  c->scalar[MBI_CG_BETA] = cg_foretold(c) / c->scalar[MBI_CG_RZ];
  return 0;
}
MBS_ELEMENT(cg_stride) {
  const double alpha = c->scalar[MBI_CG_ALPHA], p = MBS_LOAD(MBI_CG_P);
  const double updated = MBS_LOAD(MBI_CG_R) - alpha * MBS_LOAD(MBI_AT_W);
  const double r = (double)(MBS_VECTOR)updated;
  const double inverse = v->pre == MBI_PRE_DIAGONAL ? MBS_LOAD(MBI_AT_INVERSE) : 1;
  MBS_STORE(MBI_CG_R, r);
  MBS_STORE(MBI_AT_X, MBS_LOAD(MBI_AT_X) + alpha * p);
  MBS_STORE(MBI_CG_P, inverse * r + c->scalar[MBI_CG_BETA] * p);
  sums[0] += r * r;
  sums[1] += r * r * inverse;
}
MBS_AFTER(cg_stride) {
  cg_descend_after(m, c, sums);
}
MBS_STEP(cg_stride, 2, 0, MBS_RUNNING)

// All that is between two products, for z that needs no step of its own. Launch: cooperative.
MBK_KERNEL MBK_RESIDENT(MBK_STEP_THREADS, MBK_STEP_RESIDENT) mbk_cg_sweep(MBK_STEP_ARGUMENTS) {
  MBK_SHARED_MEMORY(shared);
  const mbk_sweep s = mbk_sweep_begin(v, n, m, partials, (double *)shared);
  if (!cg_curve_stage<MBK_SWEEP_SUMS_FOLLOW>(s, true)) {
    return;
  }
  if (cg_foresees(mbk_sweep_state(s.shared))) {
    (void)cg_stride_stage<MBK_SWEEP_END>(s, false);
  } else if (cg_descend_stage<MBK_SWEEP_ROWS_FOLLOW>(s, false)) {
    (void)cg_advance_stage<MBK_SWEEP_END>(s, true);
  }
}
