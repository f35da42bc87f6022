// The steps that every solver has: the residual, and a preconditioner of diagonal blocks.

// Computes w = b - A x, the true residual, and the norms for a convergence check, from w = A x.
// x - x makes ||w||^2 NaN if x is not finite, also in an empty column of A.
MBS_NOTHING_BEFORE(solve_residual)
MBS_ELEMENT(solve_residual) {
  const double b = MBS_LOAD(MBI_AT_B), x = MBS_LOAD(MBI_AT_X), w = b - MBS_LOAD(MBI_AT_W);
  (void)c;
  MBS_STORE(MBI_AT_W, w);
  sums[0] += w * w;
  sums[0] += x - x;
  sums[1] += b * b;
  MBS_GREATER(sums[2], MBS_SIZE(w));
  MBS_GREATER(sums[3], MBS_SIZE(x));
  MBS_GREATER(sums[4], MBS_SIZE(b));
}
MBS_AFTER(solve_residual) {
  mbi_solve_state *s = &m->state;
  (void)c;
  s->ww = sums[0];
  s->bb = sums[1];
  s->w_most = sums[2];
  s->x_most = sums[3];
  s->b_most = sums[4];
  s->goal = s->shrink * s->tolerance * s->shrink * s->tolerance * s->bb;
}
MBS_STEP(solve_residual, 2, 3, MBS_ALWAYS)

// Computes z = M^-1 r with the inverses of the diagonal blocks; r and z are the slots v->from
// and v->to.
MBS_NOTHING_BEFORE(solve_blocks)
MBS_ELEMENT(solve_blocks) {
  const MBS_VECTOR *r = MBS_AT(v->from), *inverse = MBS_AT(MBI_AT_INVERSE);
  const MBS_INDEX first = i - i % v->block;
  const MBS_INDEX last = first + v->block < v->n ? first + v->block : v->n;
  double z = 0;
  (void)c;
  (void)sums;
  for (MBS_INDEX j = first; j < last; j++) {
    z += (double)inverse[(j - first) * v->n + i] * (double)r[j];
  }
  MBS_AT(v->to)[i] = (MBS_VECTOR)z;
}
MBS_NOTHING_AFTER(solve_blocks)
MBS_STEP(solve_blocks, 0, 0, MBS_UNTIL_CLOSED)
