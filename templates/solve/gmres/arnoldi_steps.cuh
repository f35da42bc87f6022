// Arnoldi's process: Saad, Schultz, "GMRES: A Generalized Minimal Residual Algorithm for
// Solving Nonsymmetric Linear Systems" (1986); Saad, "Iterative Methods for Sparse Linear
// Systems", 2nd ed. (2003), algorithms 6.9 and 9.5. Classical Gram-Schmidt, twice, in three
// passes over the basis. The first pass computes h. The second subtracts h and computes the
// correction of h. The third subtracts the correction and makes the new vector. w = A u lies in
// MBI_AT_W. solve/gmres/arnoldi.cuh has the scalar part.

// Line 1 of algorithm 9.5: v_0 = w / ||w||, where w = b - A x.
MBS_BEFORE(arnoldi_start) {
  c->scalar[MBI_ARNOLDI_Q] = c->ww > 0 ? 1 / sqrt(c->ww) : c->ww;
  return 0;
}
MBS_ELEMENT(arnoldi_start) {
  const double first = c->scalar[MBI_ARNOLDI_Q] * MBS_LOAD(MBI_AT_W);
  MBS_BASIS(MBI_ARNOLDI_V, 0) = (MBS_VECTOR)first;
  MBS_STORE(MBI_ARNOLDI_U,
            v->pre == MBI_PRE_DIAGONAL ? MBS_LOAD(MBI_AT_INVERSE) * first : first);
  sums[0] += first * first;
}
MBS_AFTER(arnoldi_start) {
  mbi_solve_state *s = &m->state;
  (void)sums;
  if (s->iterations == 0) {
    s->scalar[MBI_GMRES_RESTARTS] = 0;
  }
  s->scalar[MBI_GMRES_STALLS] = 0;
  mbi_arnoldi_begin(s, sqrt(c->ww));
  mbi_solve_restart(m);
}
MBS_STEP(arnoldi_start, 1, 0, MBS_ALWAYS)

// Line 5: h_k = v_k'w, and ||w||^2.
MBS_WIDE_COUNT(arnoldi_project) {
  return (int)c->scalar[MBI_ARNOLDI_SIZE] + 1;
}
MBS_WIDE_ELEMENT(arnoldi_project) {
  const int size = (int)c->scalar[MBI_ARNOLDI_SIZE];
  const double w = MBS_LOAD(MBI_AT_W);
  int k;
  if (first == 0 && v->pre == MBI_PRE_SEPARATE) {
    MBS_BASIS(MBI_ARNOLDI_ZS, size - 1) = MBS_AT(MBI_ARNOLDI_Z)[i];
  }
  for (k = 0; k < MBI_WIDE_GROUP; k++) {
    if (first + k < size) {
      sums[k] += (double)MBS_BASIS(MBI_ARNOLDI_V, first + k) * w;
    } else if (first + k == size) {
      sums[k] += w * w;
    }
  }
}
MBS_WIDE_AFTER(arnoldi_project) {
  const int size = (int)m->state.scalar[MBI_ARNOLDI_SIZE];
  int k;
  for (k = 0; k < size; k++) {
    mbi_small(v, MBI_SMALL_FIRST)[k] = sums[k];
  }
  m->state.scalar[MBI_ARNOLDI_WW] = sums[size];
}
MBS_WIDE_STEP(arnoldi_project)

// Lines 6 and 5 again: w -= the sum of h_k v_k, then v_k'w and ||w||^2.
MBS_WIDE_COUNT(arnoldi_reproject) {
  return (int)c->scalar[MBI_ARNOLDI_SIZE] + 1;
}
MBS_WIDE_ELEMENT(arnoldi_reproject) {
  const int size = (int)c->scalar[MBI_ARNOLDI_SIZE];
  double w = MBS_LOAD(MBI_AT_W);
  int k;
  if (first == 0) {
    const double *h = mbi_small(v, MBI_SMALL_FIRST);
    for (k = 0; k < size; k++) {
      w -= h[k] * (double)MBS_BASIS(MBI_ARNOLDI_V, k);
    }
    w = (double)(MBS_AT(MBI_AT_W)[i] = (MBS_VECTOR)w);
  }
  for (k = 0; k < MBI_WIDE_GROUP; k++) {
    if (first + k < size) {
      sums[k] += (double)MBS_BASIS(MBI_ARNOLDI_V, first + k) * w;
    } else if (first + k == size) {
      sums[k] += w * w;
    }
  }
}
MBS_WIDE_AFTER(arnoldi_reproject) {
  if (v->lanczos) {
    mbi_lanczos_count(m, v, sums);
  } else {
    mbi_gmres_count(m, v, sums);
  }
}
MBS_WIDE_STEP(arnoldi_reproject)

// Line 8: the new vector. At the end of a cycle also line 11: x += M^-1 V y.
MBS_NOTHING_BEFORE(arnoldi_extend)
MBS_ELEMENT(arnoldi_extend) {
  const int width = (int)c->scalar[MBI_ARNOLDI_WIDTH];
  const int close = c->scalar[MBI_ARNOLDI_CLOSE] != 0;
  const double *combine = mbi_small(v, MBI_SMALL_COMBINE);
  double made = c->scalar[MBI_ARNOLDI_Q] * MBS_LOAD(MBI_AT_W);
  int k;
  (void)sums;
  if (close) {
    const double *y = mbi_small(v, MBI_SMALL_Y);
    const int from = v->pre == MBI_PRE_SEPARATE ? MBI_ARNOLDI_ZS : MBI_ARNOLDI_V;
    double change = 0;
    for (k = 0; k < width; k++) {
      change += y[k] * (double)MBS_BASIS(from, k);
    }
    change = v->pre == MBI_PRE_DIAGONAL ? MBS_LOAD(MBI_AT_INVERSE) * change : change;
    MBS_STORE(MBI_AT_X, MBS_LOAD(MBI_AT_X) + change);
  }
  for (k = 0; k < width; k++) {
    made += combine[k] * (double)MBS_BASIS(MBI_ARNOLDI_V, k);
  }
  MBS_BASIS(MBI_ARNOLDI_V, close ? 0 : width) = (MBS_VECTOR)made;
  MBS_STORE(MBI_ARNOLDI_U, v->pre == MBI_PRE_DIAGONAL ? MBS_LOAD(MBI_AT_INVERSE) * made : made);
}
MBS_NOTHING_AFTER(arnoldi_extend)
MBS_STEP(arnoldi_extend, 0, 0, MBS_UNTIL_CLOSED)
