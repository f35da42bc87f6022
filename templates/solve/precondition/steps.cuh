// Steps of preconditioners. Flags of wrapped ones: v->from is 1 if means are subtracted, v->to is 1
// if the vectors of the preconditioner inside are float.

// Finds the mean of r and its largest magnitude.
MBS_NOTHING_BEFORE(pre_measure)
MBS_ELEMENT(pre_measure) {
  const double r = MBS_LOAD(MBI_PRE_R);
  (void)c;
  sums[0] += r;
  sums[1] += 1;
  MBS_GREATER(sums[2], MBS_SIZE(r));
}
MBS_AFTER(pre_measure) {
  (void)c;
  m->state.scalar[MBI_PRE_MEAN] = sums[0] / sums[1];
  m->state.scalar[MBI_PRE_SIZE] = sums[2];
}
MBS_STEP(pre_measure, 2, 1, MBS_ALWAYS)

// Computes r' = (r - mean) / size, which f32 can represent.
MBS_NOTHING_BEFORE(pre_in)
MBS_ELEMENT(pre_in) {
  const double r = MBS_LOAD(MBI_PRE_R) - (v->from ? c->scalar[MBI_PRE_MEAN] : 0);
  (void)sums;
  if (v->to) {
    const double size = c->scalar[MBI_PRE_SIZE];
    ((float *)v->at[MBI_PRE_OWN])[i] = (float)(size > 0 ? r / size : r);
  } else {
    MBS_AT(MBI_PRE_OWN)[i] = (MBS_VECTOR)r;
  }
}
MBS_NOTHING_AFTER(pre_in)
MBS_STEP(pre_in, 0, 0, MBS_ALWAYS)

// Finds the mean of z'.
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

// Computes z = size (z' - mean).
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
