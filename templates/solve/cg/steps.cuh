// The conjugate gradient method with a preconditioner: Hestenes, Stiefel, "Methods of Conjugate
// Gradients for Solving Linear Systems" (1952); Saad, "Iterative Methods for Sparse Linear
// Systems", 2nd ed. (2003), algorithm 9.1. q = A p lies in MBI_AT_W, and p'q, which the product
// computes, in product_sums[0].

// Line 1: r = b - A x. Unless the preconditioner is a step of its own, also z = M^-1 r, p = z
// and r'z.
MBS_NOTHING_BEFORE(cg_start)
MBS_ELEMENT(cg_start) {
  const double r = MBS_LOAD(MBI_AT_W);
  (void)c;
  MBS_STORE(MBI_CG_R, r);
  if (v->pre != MBI_PRE_SEPARATE) {
    const double z = v->pre == MBI_PRE_DIAGONAL ? MBS_LOAD(MBI_AT_INVERSE) * r : r;
    MBS_STORE(MBI_CG_P, z);
    sums[0] += r * z;
  }
}
MBS_AFTER(cg_start) {
  (void)c;
  m->state.scalar[MBI_CG_RZ] = sums[0];
  mbi_solve_restart(m);
}
MBS_STEP(cg_start, 1, 0, MBS_ALWAYS)

// Line 1 after z = M^-1 r: p = z and r'z.
MBS_NOTHING_BEFORE(cg_start_p)
MBS_ELEMENT(cg_start_p) {
  const double z = MBS_LOAD(MBI_CG_Z);
  (void)c;
  MBS_STORE(MBI_CG_P, z);
  sums[0] += MBS_LOAD(MBI_CG_R) * z;
}
MBS_AFTER(cg_start_p) {
  (void)c;
  m->state.scalar[MBI_CG_RZ] = sums[0];
}
MBS_STEP(cg_start_p, 1, 0, MBS_RUNNING)

// Computes p'q if the product has not.
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

// Lines 3 and 5: alpha = r'z / p'q, r -= alpha q, ||r||^2. Unless the preconditioner is a step
// of its own, also r'z.
MBS_BEFORE(cg_update_r) {
  const double rz = c->scalar[MBI_CG_RZ], pq = c->product_sums[0];
  if (!(rz > 0)) {
    return mbi_solve_broken(c, MBI_WHY_PRECONDITIONER, rz);
  }
  if (!(pq > 0) || !(pq - pq == 0)) {
    return mbi_solve_broken(c, MBI_WHY_CURVATURE, pq);
  }
  c->scalar[MBI_CG_ALPHA] = rz / pq;
  return 0;
}
MBS_ELEMENT(cg_update_r) {
  const double updated = MBS_LOAD(MBI_CG_R) - c->scalar[MBI_CG_ALPHA] * MBS_LOAD(MBI_AT_W);
  const double r = (double)(MBS_VECTOR)updated;
  MBS_STORE(MBI_CG_R, r);
  sums[0] += r * r;
  sums[1] += v->pre == MBI_PRE_DIAGONAL ? r * r * MBS_LOAD(MBI_AT_INVERSE) : r * r;
}
MBS_AFTER(cg_update_r) {
  double *scalar = m->state.scalar;
  int k;
  for (k = MBI_CG_RING - 1; k > 0; k--) {
    scalar[MBI_CG_ALPHA + k] = scalar[MBI_CG_ALPHA + k - 1];
  }
  scalar[MBI_CG_ALPHA] = c->scalar[MBI_CG_ALPHA];
  scalar[MBI_CG_RZ_OLD] = c->scalar[MBI_CG_RZ];
  scalar[MBI_CG_RZ] = sums[1];
  mbi_solve_count(m, sums[0]);
}
MBS_STEP(cg_update_r, 2, 0, MBS_RUNNING)

// Line 7 after z = M^-1 r: r'z.
MBS_NOTHING_BEFORE(cg_rz)
MBS_ELEMENT(cg_rz) {
  (void)c;
  sums[0] += MBS_LOAD(MBI_CG_R) * MBS_LOAD(MBI_CG_Z);
}
MBS_AFTER(cg_rz) {
  (void)c;
  m->state.scalar[MBI_CG_RZ] = sums[0];
}
MBS_STEP(cg_rz, 1, 0, MBS_UNTIL_CLOSED)

// Lines 4, 7 and 8: x += alpha p, beta = r'z / old r'z, p = z + beta p.
MBS_NOTHING_BEFORE(cg_update_x_p)
MBS_ELEMENT(cg_update_x_p) {
  const double beta = c->scalar[MBI_CG_RZ] / c->scalar[MBI_CG_RZ_OLD];
  const double p = MBS_LOAD(MBI_CG_P);
  const double z = v->pre == MBI_PRE_SEPARATE   ? MBS_LOAD(MBI_CG_Z)
                   : v->pre == MBI_PRE_DIAGONAL ? MBS_LOAD(MBI_AT_INVERSE) * MBS_LOAD(MBI_CG_R)
                                                : MBS_LOAD(MBI_CG_R);
  (void)sums;
  MBS_STORE(MBI_AT_X, MBS_LOAD(MBI_AT_X) + c->scalar[MBI_CG_ALPHA] * p);
  MBS_STORE(MBI_CG_P, z + beta * p);
}
MBS_NOTHING_AFTER(cg_update_x_p)
MBS_STEP(cg_update_x_p, 0, 0, MBS_UNTIL_CLOSED)
