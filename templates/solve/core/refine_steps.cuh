// Iterative refinement: Wilkinson, "Rounding Errors in Algebraic Processes" (1963). Residuals
// are computed in f64; an inner solver in f32 finds the corrections. The slots below are its b
// and x.

#define MBI_REFINE_B 4
#define MBI_REFINE_X 5

// Computes b' = (b - A x) / ||b - A x||, which f32 can represent.
MBS_BEFORE(refine_down) {
  c->scalar[0] = sqrt(c->ww);
  return 0;
}
MBS_ELEMENT(refine_down) {
  (void)sums;
  ((float *)v->at[MBI_REFINE_B])[i] = (float)(MBS_LOAD(MBI_AT_W) / c->scalar[0]);
}
MBS_NOTHING_AFTER(refine_down)
MBS_STEP(refine_down, 0, 0, MBS_ALWAYS)

// Computes x += ||b - A x|| x'.
MBS_BEFORE(refine_up) {
  c->scalar[0] = sqrt(c->ww);
  return 0;
}
MBS_ELEMENT(refine_up) {
  (void)sums;
  MBS_STORE(MBI_AT_X, MBS_LOAD(MBI_AT_X) +
                          c->scalar[0] * (double)((const float *)v->at[MBI_REFINE_X])[i]);
}
MBS_NOTHING_AFTER(refine_up)
MBS_STEP(refine_up, 0, 0, MBS_ALWAYS)
