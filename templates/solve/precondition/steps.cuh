// Steps of preconditioners. In the steps of wrappers (solve/precondition/wrapped.c), v->from is
// 1 if means are subtracted, and v->to is 1 if the wrapped preconditioner's vectors r' and z'
// are float.

// Computes the mean of r and its largest magnitude. The sum is 2^-32 times that of the
// elements, so that it cannot overflow.
MBS_NOTHING_BEFORE(pre_measure)
MBS_ELEMENT(pre_measure) {
  const double r = MBS_LOAD(MBI_PRE_R);
  (void)c;
  sums[0] += r / 4294967296.0;
  sums[1] += 1;
  MBS_GREATER(sums[2], MBS_SIZE(r));
}
MBS_AFTER(pre_measure) {
  (void)c;
  m->state.scalar[MBI_PRE_MEAN] = sums[0] / sums[1] * 4294967296.0;
  m->state.scalar[MBI_PRE_SIZE] = sums[2];
}
MBS_STEP(pre_measure, 2, 1, MBS_ALWAYS)

// Computes r' = r - mean. If r' is float, divides it by the largest magnitude of r.
MBS_NOTHING_BEFORE(pre_in)
MBS_ELEMENT(pre_in) {
  const double r = MBS_LOAD(MBI_PRE_R) - (v->from ? c->scalar[MBI_PRE_MEAN] : 0);
  (void)sums;
  if (v->to) {
    const double size = c->scalar[MBI_PRE_SIZE];
    ((float *)v->at[MBI_PRE_OWN])[i] = (float)(size > 0 ? r / size : r);
  } else {
    MBS_STORE(MBI_PRE_OWN, r);
  }
}
MBS_NOTHING_AFTER(pre_in)
MBS_STEP(pre_in, 0, 0, MBS_ALWAYS)

// Computes the mean of z'.
MBS_NOTHING_BEFORE(pre_mean)
MBS_ELEMENT(pre_mean) {
  (void)c;
  sums[0] += v->to ? (double)((const float *)v->at[MBI_PRE_OWN + 1])[i]
                   : (double)MBS_AT(MBI_PRE_OWN + 1)[i];
  sums[1] += 1;
}
MBS_AFTER(pre_mean) {
  (void)c;
  m->state.scalar[MBI_PRE_MEAN] = sums[0] / sums[1];
}
MBS_STEP(pre_mean, 2, 0, MBS_ALWAYS)

// Computes z = z' - mean, multiplied by the largest magnitude if z' is float.
MBS_NOTHING_BEFORE(pre_out)
MBS_ELEMENT(pre_out) {
  const double mean = v->from ? c->scalar[MBI_PRE_MEAN] : 0;
  const double size = c->scalar[MBI_PRE_SIZE];
  (void)sums;
  MBS_STORE(MBI_PRE_Z, v->to ? ((double)((const float *)v->at[MBI_PRE_OWN + 1])[i] - mean) *
                                   (size > 0 ? size : 1)
                             : (double)MBS_AT(MBI_PRE_OWN + 1)[i] - mean);
}
MBS_NOTHING_AFTER(pre_out)
MBS_STEP(pre_out, 0, 0, MBS_ALWAYS)

// Lanczos for D^-1 A in the inner product of D, on unnormalised vectors: Saad, "Iterative
// Methods for Sparse Linear Systems", 2nd ed. (2003), section 6.6. MBI_PRE_OWN holds v,
// MBI_PRE_OWN + 1 the product A v, and MBI_PRE_OWN + 2 the previous vector u, then the next.

// Starts with a random vector: hashes of the row numbers (Steele, Lea, Flood, "Fast splittable
// pseudorandom number generators", 2014). Finds the largest -1 / a_ii.
MBS_NOTHING_BEFORE(pre_start)
MBS_ELEMENT(pre_start) {
  const double inverse = MBS_LOAD(MBI_AT_INVERSE);
  unsigned long long h = ((unsigned long long)i + 1) * 0x9e3779b97f4a7c15ull;
  double start;
  (void)c;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
  start = (double)(MBS_VECTOR)((double)((h ^ (h >> 31)) >> 12) / 2251799813685248.0 - 1);
  MBS_STORE(MBI_PRE_OWN, start);
  MBS_STORE(MBI_PRE_OWN + 2, 0);
  sums[0] += start * start / inverse;
  MBS_GREATER(sums[1], -inverse);
}
MBS_AFTER(pre_start) {
  (void)c;
  m->state.iterations = 0;
  m->state.scalar[MBI_PRE_BETA] = sqrt(sums[0]);
  m->state.scalar[MBI_PRE_BETA_OLD] = 1;
  m->state.scalar[MBI_PRE_NEGATIVE] = sums[1];
}
MBS_STEP(pre_start, 1, 1, MBS_ALWAYS)

// Computes alpha = v'A v, and u'A v, which is beta if A is symmetric.
MBS_NOTHING_BEFORE(pre_alpha)
MBS_ELEMENT(pre_alpha) {
  const double product = MBS_LOAD(MBI_PRE_OWN + 1);
  (void)c;
  sums[0] += MBS_LOAD(MBI_PRE_OWN) * product;
  sums[1] += MBS_LOAD(MBI_PRE_OWN + 2) * product;
}
MBS_AFTER(pre_alpha) {
  mbi_solve_state *s = &m->state;
  const double beta = c->scalar[MBI_PRE_BETA];
  s->scalar[MBI_PRE_ALPHA] = sums[0] / (beta * beta);
  m->ring[3 * s->iterations] = sums[0] / (beta * beta);
  m->ring[3 * s->iterations + 1] = beta;
  m->ring[3 * s->iterations + 2] = sums[1] / (beta * c->scalar[MBI_PRE_BETA_OLD]);
}
MBS_STEP(pre_alpha, 2, 0, MBS_ALWAYS)

// Computes the next vector, in place of u: D^-1 A v - alpha v - beta u.
MBS_NOTHING_BEFORE(pre_next)
MBS_ELEMENT(pre_next) {
  const double inverse = MBS_LOAD(MBI_AT_INVERSE), beta = c->scalar[MBI_PRE_BETA];
  const double next = (inverse * MBS_LOAD(MBI_PRE_OWN + 1) -
                       c->scalar[MBI_PRE_ALPHA] * MBS_LOAD(MBI_PRE_OWN)) /
                          beta -
                      MBS_LOAD(MBI_PRE_OWN + 2) * beta / c->scalar[MBI_PRE_BETA_OLD];
  MBS_STORE(MBI_PRE_OWN + 2, next);
  sums[0] += next * next / inverse;
}
MBS_AFTER(pre_next) {
  m->state.iterations++;
  m->state.scalar[MBI_PRE_BETA_OLD] = c->scalar[MBI_PRE_BETA];
  m->state.scalar[MBI_PRE_BETA] = sqrt(sums[0]);
}
MBS_STEP(pre_next, 1, 0, MBS_ALWAYS)

// Computes the polynomial's first iterate, x = factor D^-1 r.
MBS_NOTHING_BEFORE(pre_first)
MBS_ELEMENT(pre_first) {
  (void)c;
  (void)sums;
  MBS_STORE(MBI_PRE_OWN + 2, ((const double *)v->at[MBI_PRE_TABLE])[0] *
                                 MBS_LOAD(MBI_AT_INVERSE) * MBS_LOAD(MBI_PRE_R));
}
MBS_NOTHING_AFTER(pre_first)
MBS_STEP(pre_first, 0, 0, MBS_ALWAYS)

// Computes iterate number v->from, in place of the last but one. With x in MBI_PRE_OWN and A x
// in MBI_PRE_OWN + 1: x' = x + a (x - last but one) + b D^-1 (r - A x).
MBS_NOTHING_BEFORE(pre_iterate)
MBS_ELEMENT(pre_iterate) {
  const double *factors = (const double *)v->at[MBI_PRE_TABLE] + 2 * v->from;
  const double x = MBS_LOAD(MBI_PRE_OWN);
  const double before = v->from > 1 ? MBS_LOAD(MBI_PRE_OWN + 2) : 0;
  (void)c;
  (void)sums;
  MBS_STORE(MBI_PRE_OWN + 2, x + factors[0] * (x - before) +
                                 factors[1] * MBS_LOAD(MBI_AT_INVERSE) *
                                     (MBS_LOAD(MBI_PRE_R) - MBS_LOAD(MBI_PRE_OWN + 1)));
}
MBS_NOTHING_AFTER(pre_iterate)
MBS_STEP(pre_iterate, 0, 0, MBS_ALWAYS)
