// Steps for eigenpairs. Lanczos takes its basis from solve/gmres/arnoldi_steps.cuh and rotates
// it: Wu, Simon, "Thick-Restart Lanczos Method for Large Symmetric Eigenvalue Problems" (2000).
// The power method: Saad, "Numerical Methods for Large Eigenvalue Problems", 2nd ed. (2011),
// section 4.1.

// Rotates the basis: vector q becomes the combination with the coefficients in row q of S. If
// MBI_EIGEN_NEXT is set, the newest vector follows.
MBS_NOTHING_BEFORE(eigen_rotate)
MBS_ELEMENT(eigen_rotate) {
  const int from = (int)c->scalar[MBI_EIGEN_FROM], to = (int)c->scalar[MBI_EIGEN_TO];
  const double *s = (const double *)v->at[MBI_EIGEN_S];
  int k, q;
  (void)sums;
  for (q = 0; q < to; q++) {
    double made = 0;
    for (k = 0; k < from; k++) {
      made += s[q * v->basis + k] * (double)MBS_BASIS(MBI_ARNOLDI_V, k);
    }
    MBS_BASIS(MBI_EIGEN_KEEP, q) = (MBS_VECTOR)made;
  }
  for (q = 0; q < to; q++) {
    MBS_BASIS(MBI_ARNOLDI_V, q) = MBS_BASIS(MBI_EIGEN_KEEP, q);
  }
  if (c->scalar[MBI_EIGEN_NEXT] != 0) {
    MBS_BASIS(MBI_ARNOLDI_V, to) = MBS_BASIS(MBI_ARNOLDI_V, from);
  }
}
MBS_NOTHING_AFTER(eigen_rotate)
MBS_STEP(eigen_rotate, 0, 0, MBS_ALWAYS)

// Writes ||w - value v||^2, ||v||^2 and v'w of the next pair to the ring, where w = A v.
MBS_NOTHING_BEFORE(eigen_check)
MBS_ELEMENT(eigen_check) {
  const int at = (int)c->scalar[MBI_EIGEN_CHECK];
  const double value = ((const double *)v->at[MBI_EIGEN_S])[at], w = MBS_LOAD(MBI_AT_W);
  const double x = (double)MBS_BASIS(MBI_ARNOLDI_V, at), r = w - value * x;
  sums[0] += r * r;
  sums[1] += x * x;
  sums[2] += x * w;
}
MBS_AFTER(eigen_check) {
  const int at = (int)c->scalar[MBI_EIGEN_CHECK];
  m->ring[3 * at] = sums[0];
  m->ring[3 * at + 1] = sums[1];
  m->ring[3 * at + 2] = sums[2];
  m->state.scalar[MBI_EIGEN_CHECK] += 1;
}
MBS_STEP(eigen_check, 3, 0, MBS_ALWAYS)

// Computes lambda = u'w, ||w|| and the largest magnitude in w, where w = A u.
MBS_NOTHING_BEFORE(power_measure)
MBS_ELEMENT(power_measure) {
  const double w = MBS_LOAD(MBI_AT_W);
  (void)c;
  sums[0] += MBS_LOAD(MBI_ARNOLDI_U) * w;
  sums[1] += w * w;
  MBS_GREATER(sums[2], MBS_SIZE(w));
}
MBS_AFTER(power_measure) {
  mbi_solve_state *s = &m->state;
  (void)c;
  s->scalar[MBI_POWER_VALUE] = sums[0];
  s->scalar[MBI_POWER_LENGTH] = sqrt(sums[1]);
  s->scalar[MBI_POWER_MOST] = sums[2];
  s->goal = s->tolerance * s->tolerance * sums[0] * sums[0];
}
MBS_STEP(power_measure, 2, 1, MBS_RUNNING)

// Computes ||w - lambda u||^2 and u = w / ||w||. Stops with the value 0 if w is zero, and with
// another if the squares in ||w|| vanish or overflow.
MBS_BEFORE(power_normalise) {
  const double length = c->scalar[MBI_POWER_LENGTH];
  return length > 0 && length - length == 0
             ? 0
             : mbi_solve_broken(c, MBI_WHY_ZERO,
                                length == 0 ? c->scalar[MBI_POWER_MOST] : length);
}
MBS_ELEMENT(power_normalise) {
  const double w = MBS_LOAD(MBI_AT_W);
  const double r = w - c->scalar[MBI_POWER_VALUE] * MBS_LOAD(MBI_ARNOLDI_U);
  sums[0] += r * r;
  MBS_STORE(MBI_ARNOLDI_U, w / c->scalar[MBI_POWER_LENGTH]);
}
MBS_AFTER(power_normalise) {
  (void)c;
  mbi_solve_count(m, sums[0]);
}
MBS_STEP(power_normalise, 1, 0, MBS_RUNNING)
