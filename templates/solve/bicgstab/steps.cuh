// BiCGSTAB with a preconditioner on the right: van der Vorst, "Bi-CGSTAB: A Fast and Smoothly
// Converging Variant of Bi-CG" (1992); Saad, "Iterative Methods for Sparse Linear Systems", 2nd
// ed. (2003), algorithm 7.7. Products compute v = A p^ and shadow'v, then t = A s^ (in
// MBI_AT_W), t's and ||t||^2; the sums lie in product_sums. p^ is M^-1 p and s^ is M^-1 s;
// without a preconditioner they are p and s themselves. s lies in the slot of r until r is
// updated.

#define MBI_BICG_R 4
#define MBI_BICG_P 5
#define MBI_BICG_V 6
#define MBI_BICG_SHADOW 7
#define MBI_BICG_P_HAT 8
#define MBI_BICG_S_HAT 9

#define MBI_BICG_RHO 0 // scalars: rho = shadow'r
#define MBI_BICG_ALPHA 1
#define MBI_BICG_BETA 2
#define MBI_BICG_OMEGA 3
#define MBI_BICG_SS 4       // ||s||^2
#define MBI_BICG_SHADOW_2 5 // ||shadow||^2
#define MBI_BICG_SHADOW_S 6 // shadow's and shadow't, for the fused kernel
#define MBI_BICG_SHADOW_T 7

// Lines 1 and 2: r = shadow = p = b - A x, rho.
MBS_NOTHING_BEFORE(bicgstab_start)
MBS_ELEMENT(bicgstab_start) {
  const double r = MBS_LOAD(MBI_AT_W);
  (void)c;
  MBS_STORE(MBI_BICG_R, r);
  MBS_STORE(MBI_BICG_SHADOW, r);
  MBS_STORE(MBI_BICG_P, r);
  if (v->pre == MBI_PRE_DIAGONAL) {
    MBS_STORE(MBI_BICG_P_HAT, MBS_LOAD(MBI_AT_INVERSE) * r);
  }
  sums[0] += r * r;
}
MBS_AFTER(bicgstab_start) {
  (void)c;
  m->state.scalar[MBI_BICG_RHO] = sums[0];
  m->state.scalar[MBI_BICG_SHADOW_2] = sums[0];
  mbi_solve_restart(m);
}
MBS_STEP(bicgstab_start, 1, 0, MBS_ALWAYS)

// Lines 4 and 5: alpha = rho / shadow'v, s = r - alpha v.
MBS_BEFORE(bicgstab_s) {
  const double sigma = c->product_sums[0], alpha = c->scalar[MBI_BICG_RHO] / sigma;
  if (sigma == 0 || !(alpha - alpha == 0)) {
    return mbi_solve_broken(c, MBI_WHY_SHADOW, sigma);
  }
  c->scalar[MBI_BICG_ALPHA] = alpha;
  return 0;
}
MBS_ELEMENT(bicgstab_s) {
  const double exact = MBS_LOAD(MBI_BICG_R) - c->scalar[MBI_BICG_ALPHA] * MBS_LOAD(MBI_BICG_V);
  const double s = (double)(MBS_VECTOR)exact;
  MBS_STORE(MBI_BICG_R, s);
  if (v->pre == MBI_PRE_DIAGONAL) {
    MBS_STORE(MBI_BICG_S_HAT, MBS_LOAD(MBI_AT_INVERSE) * s);
  }
  sums[0] += s * s;
}
MBS_AFTER(bicgstab_s) {
  m->state.scalar[MBI_BICG_ALPHA] = c->scalar[MBI_BICG_ALPHA];
  m->state.scalar[MBI_BICG_SS] = sums[0];
}
MBS_STEP(bicgstab_s, 1, 0, MBS_RUNNING)

// Lines 6 to 9: omega = t's / ||t||^2, or 0 if t is zero; x += alpha p^ + omega s^, r = s -
// omega t, ||r||^2, rho = shadow'r, beta.
MBS_BEFORE(bicgstab_update_x_r) {
  const double ts = c->product_sums[0], tt = c->product_sums[1];
  const double omega = tt > 0 ? ts / tt : tt;
  if (!(tt - tt == 0) || !(omega - omega == 0)) { // before x changes
    return mbi_solve_broken(c, MBI_WHY_OMEGA, ts - ts == 0 ? tt : ts);
  }
  c->scalar[MBI_BICG_OMEGA] = omega;
  return 0;
}
MBS_ELEMENT(bicgstab_update_x_r) {
  const double alpha = c->scalar[MBI_BICG_ALPHA], omega = c->scalar[MBI_BICG_OMEGA];
  const double s = MBS_LOAD(MBI_BICG_R);
  const double s_hat = v->pre == MBI_PRE_NONE ? s : MBS_LOAD(MBI_BICG_S_HAT);
  const double p_hat = v->pre == MBI_PRE_NONE ? MBS_LOAD(MBI_BICG_P) : MBS_LOAD(MBI_BICG_P_HAT);
  const double exact = s - omega * MBS_LOAD(MBI_AT_W);
  const double r = (double)(MBS_VECTOR)exact;
  MBS_STORE(MBI_AT_X, MBS_LOAD(MBI_AT_X) + (alpha * p_hat + omega * s_hat));
  MBS_STORE(MBI_BICG_R, r);
  sums[0] += r * r;
  sums[1] += r * MBS_LOAD(MBI_BICG_SHADOW);
}
MBS_AFTER(bicgstab_update_x_r) {
  mbi_solve_state *s = &m->state;
  const double rho = s->scalar[MBI_BICG_RHO], alpha = s->scalar[MBI_BICG_ALPHA];
  const double omega = c->scalar[MBI_BICG_OMEGA];
  s->scalar[MBI_BICG_OMEGA] = omega;
  s->scalar[MBI_BICG_BETA] = sums[1] / rho * (alpha / omega);
  s->scalar[MBI_BICG_RHO] = sums[1];
  mbi_solve_count(m, sums[0]);
  if (s->stop == MBI_SOLVE_RUNNING) { // stop if a scalar consists of rounding errors only
    const double ts = sqrt(s->product_sums[1]) * sqrt(s->scalar[MBI_BICG_SS]);
    const double sr = sqrt(sums[0]) * sqrt(s->scalar[MBI_BICG_SHADOW_2]);
    if (!(MBS_SIZE(s->product_sums[0]) > s->epsilon * ts)) {
      s->why = MBI_WHY_OMEGA;
      s->value = omega;
      s->stop = MBI_SOLVE_BREAKDOWN;
    } else if (!(MBS_SIZE(sums[1]) > s->epsilon * sr)) {
      s->why = MBI_WHY_SHADOW;
      s->value = sums[1];
      s->stop = MBI_SOLVE_BREAKDOWN;
    }
  }
}
MBS_STEP(bicgstab_update_x_r, 2, 0, MBS_RUNNING)

// Line 10: p = r + beta (p - omega v).
MBS_NOTHING_BEFORE(bicgstab_update_p)
MBS_ELEMENT(bicgstab_update_p) {
  const double last = MBS_LOAD(MBI_BICG_P) - c->scalar[MBI_BICG_OMEGA] * MBS_LOAD(MBI_BICG_V);
  const double p = MBS_LOAD(MBI_BICG_R) + c->scalar[MBI_BICG_BETA] * last;
  (void)sums;
  MBS_STORE(MBI_BICG_P, p);
  if (v->pre == MBI_PRE_DIAGONAL) {
    MBS_STORE(MBI_BICG_P_HAT, MBS_LOAD(MBI_AT_INVERSE) * p);
  }
}
MBS_NOTHING_AFTER(bicgstab_update_p)
MBS_STEP(bicgstab_update_p, 0, 0, MBS_UNTIL_CLOSED)
