/* M of the multigrid preconditioner against a reference of the cycle in long double, and its
 * symmetry. Part of amg_cases.h, after the functions that make and apply a preconditioner. */
#ifndef TEST_AMG_CYCLE_H
#define TEST_AMG_CYCLE_H

static void reference_multiply(const mbi_amg_csr *a, const long double *x, long double *y) {
  int64_t row, k;
  for (row = 0; row < a->rows; row++) {
    y[row] = 0;
    for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
      y[row] += (long double)a->values[k] * x[a->col_ind[k]];
    }
  }
}

/* Applies Chebyshev's polynomial by sweeps from x, on level l. */
static void reference_smooth(const mbi_amg_level *levels, int l, int degree, double ratio,
                             const long double *b, long double *x) {
  const mbi_amg_level *level = &levels[l];
  double high = level->lambda, low;
  long double *ax = (long double *)malloc((size_t)level->a.rows * sizeof *ax);
  int64_t i;
  int k;
  for (k = 0; levels[0].nonsymmetric && k < l; k++) {
    high = fmin(high, levels[k].lambda);
  }
  low = high / (levels[0].nonsymmetric ? 2 : ratio);
  for (k = 0; k < degree; k++) {
    const double root =
        (high + low) / 2 + (high - low) / 2 * cos(acos(-1.0) * (2 * k + 1) / (2 * degree));
    reference_multiply(&level->a, x, ax);
    for (i = 0; i < level->a.rows; i++) {
      x[i] += (long double)level->inverse[i] * (b[i] - ax[i]) / root;
    }
  }
  free(ax);
}

/* Adds w D^-1 (b - A x) to x at C points or at F points, on a level by reduction. */
static void reference_relax(const mbi_amg_level *level, int coarse, const long double *b,
                            long double *x) {
  const mbi_amg_csr *half = &level->halves[coarse];
  long double *ax = (long double *)malloc((size_t)level->a.rows * sizeof *ax);
  int64_t i;
  reference_multiply(&level->a, x, ax);
  for (i = 0; i < level->a.rows; i++) {
    if (half->row_ptr[i + 1] > half->row_ptr[i]) {
      x[i] += (long double)level->inverse[i] * (b[i] - ax[i]);
    }
  }
  free(ax);
}

/* Computes x += M^-1 (b - A x) on the levels from l on, all in long double. */
static void reference_cycle(const mbi_amg_level *levels, int count, int l,
                            const mbi_amg_csr *coarsest, const long double *b, long double *x) {
  const mbi_amg_level *level = &levels[l];
  const int64_t n = level->a.rows;
  long double *r, *coarse_b, *coarse_x, *add;
  int64_t i;
  int visits = 1;
  if (l + 1 == count) {
    if (coarsest->rows > 0) {
      reference_multiply(coarsest, b, x);
    } else {
      reference_smooth(levels, l, MBI_CYCLE_MOST, MBI_CYCLE_RATIO_LAST, b, x);
    }
    return;
  }
  r = (long double *)malloc((size_t)(2 * n + 2 * level->p.cols + 1) * sizeof *r);
  add = r + n;
  coarse_b = add + n;
  coarse_x = coarse_b + level->p.cols;
  if (!levels[0].reduced) {
    reference_smooth(levels, l, MBI_CYCLE_DEGREE, MBI_CYCLE_RATIO, b, x);
  }
  reference_multiply(&level->a, x, r);
  for (i = 0; i < n; i++) {
    r[i] = b[i] - r[i];
  }
  reference_multiply(&level->r, r, coarse_b);
  for (i = 0; i < level->p.cols; i++) {
    coarse_x[i] = 0;
  }
  if (levels[0].reduced) {
    visits = l > 0 && l % 2 == 0 && l + 2 < count ? 2 : 1;
  } else if (levels[0].nonsymmetric && l + 2 < count &&
             (double)level->a.nnz >= MBI_CYCLE_SHRINK * (double)level[1].a.nnz) {
    visits = 2;
  }
  for (; visits > 0; visits--) {
    reference_cycle(levels, count, l + 1, coarsest, coarse_b, coarse_x);
  }
  reference_multiply(&level->p, coarse_x, add);
  for (i = 0; i < n; i++) {
    x[i] += add[i];
  }
  if (levels[0].reduced) {
    reference_relax(level, 0, b, x);
    reference_relax(level, 0, b, x);
    reference_relax(level, 0, b, x);
    reference_relax(level, 1, b, x);
  } else {
    reference_smooth(levels, l, MBI_CYCLE_DEGREE, MBI_CYCLE_RATIO, b, x);
  }
  free(r);
}

/* Returns the largest difference from the reference, relative to its largest element. `vectors`
 * 0: without a near-null-space. */
static double cycle_error(const mbi_amg_csr *a, int block, int vectors, int single) {
  merbit_preconditioner_desc desc = amg_desc();
  merbit_preconditioner *p;
  mbi_amg_level levels[MBI_AMG_LEVELS];
  mbi_amg_csr coarsest;
  long double *b = (long double *)malloc((size_t)a->rows * 2 * sizeof *b), *x = b + a->rows;
  double *r = (double *)malloc((size_t)a->rows * 2 * sizeof *r), *z = r + a->rows;
  const int k = vectors > 0 ? vectors : block;
  double *modes = (double *)malloc((size_t)(a->rows * k) * sizeof *modes);
  double error = 0, size = 0;
  int64_t i;
  int count, l, v;
  memset(levels, 0, sizeof levels);
  memset(&coarsest, 0, sizeof coarsest);
  levels[0].a = *a;
  levels[0].borrowed = 1;
  levels[0].block = block;
  levels[0].vectors = k;
  levels[0].modes = (double *)mbi_allocate(context, (size_t)(a->rows * k) * sizeof(double));
  for (i = 0; i < a->rows; i++) {
    for (v = 0; v < k; v++) {
      levels[0].modes[i * k + v] = modes[i + v * a->rows] =
          v < block ? i % block == v : bed_random((uint64_t)(i + v * a->rows)) - 0.5;
    }
  }
  assert_int_equal(mbi_amg_coarsen(context, levels, vectors > 0, &count), MERBIT_OK);
  if (levels[count - 1].a.rows <= MBI_AMG_COARSEST) {
    assert_int_equal(mbi_amg_invert(context, &levels[count - 1].a, 1e-12, &coarsest),
                     MERBIT_OK);
  }
  desc.block_size = block;
  desc.single = single;
  desc.near_nullspace = vectors > 0 ? modes : NULL;
  desc.near_nullspace_count = vectors;
  p = amg_make(a, &desc);
  free(modes);
  for (i = 0; i < a->rows; i++) {
    b[i] = r[i] = bed_random((uint64_t)i + 999) - 0.5;
    x[i] = 0;
  }
  reference_cycle(levels, count, 0, &coarsest, b, x);
  amg_apply(p, r, z);
  for (i = 0; i < a->rows; i++) {
    error = fmax(error, fabs(z[i] - (double)x[i]));
    size = fmax(size, fabs((double)x[i]));
  }
  merbit_preconditioner_destroy(p);
  for (l = 0; l < count; l++) {
    mbi_amg_level_release(context, &levels[l]);
  }
  mbi_amg_csr_release(context, &coarsest);
  free(b);
  free(r);
  return error / size;
}

static void test_cycle(void **state) {
  const bed_grid weak = {9, 0, 1, 0.001, 1, 0, 1}, jump = {24, 1, 0, 1, 1e3, 0.5, 0.8};
  const bed_grid apart = {18, 1, 0, 1, 1, 1, 0}; /* a diagonal matrix of 324 rows */
  const bed_grid small = {11, 1, 1, 1, 1, 0, 1};
  mbi_amg_csr a, blocks;
  (void)state;
  a = bed_laplacian(context, &weak);
  assert_true(cycle_error(&a, 1, 0, 0) < 1e-12);
  assert_true(cycle_error(&a, 1, 0, 1) < 1e-5);
  mbi_amg_csr_release(context, &a);
  a = bed_laplacian(context, &jump);
  assert_true(cycle_error(&a, 1, 0, 0) < 1e-12);
  mbi_amg_csr_release(context, &a);
  a = bed_laplacian(context, &apart);
  assert_true(cycle_error(&a, 1, 0, 0) < 1e-12);
  mbi_amg_csr_release(context, &a);
  a = bed_pairs(context, 4000); /* its first coarse level is visited once */
  assert_true(cycle_error(&a, 1, 0, 0) < 1e-12);
  mbi_amg_csr_release(context, &a);
  a = bed_wind(context, 100, 10); /* a level is visited twice */
  assert_true(cycle_error(&a, 1, 0, 0) < 1e-12);
  assert_true(cycle_error(&a, 1, 0, 1) < 1e-5);
  assert_true(cycle_error(&a, 1, 1, 0) < 1e-12); /* by aggregation */
  mbi_amg_csr_release(context, &a);
  a = bed_laplacian(context, &small);
  blocks = bed_blocks(context, &a);
  assert_true(cycle_error(&blocks, 3, 0, 0) < 1e-12);
  assert_true(cycle_error(&blocks, 3, 6, 0) < 1e-12);
  if (context->side == MERBIT_SIDE_CPU) {
    assert_true(cycle_error(&blocks, 3, 6, 1) < 1e-5);
    assert_true(cycle_error(&blocks, 1, 2, 0) < 1e-12);
    assert_true(cycle_error(&blocks, 3, 1, 0) < 1e-12);
  }
  mbi_amg_csr_release(context, &blocks);
  mbi_amg_csr_release(context, &a);
}

/* Rounding of A's values changes M by no more than rounding, though many of them are equal. */
static void test_rounded(void **state) {
  const merbit_preconditioner_desc desc = amg_desc();
  mbi_amg_csr a = bed_wind(context, 48, 10);
  double *r = (double *)malloc((size_t)a.rows * 3 * sizeof *r), *z[2], error = 0, size = 0;
  int64_t i;
  int rounded;
  (void)state;
  z[0] = r + a.rows;
  z[1] = z[0] + a.rows;
  for (i = 0; i < a.rows; i++) {
    r[i] = bed_random((uint64_t)i + 999) - 0.5;
  }
  for (rounded = 0; rounded < 2; rounded++) {
    merbit_preconditioner *p;
    for (i = 0; rounded && i < a.nnz; i++) {
      a.values[i] *= 1 + 4e-16 * (bed_random((uint64_t)i) - 0.5);
    }
    p = amg_make(&a, &desc);
    amg_apply(p, r, z[rounded]);
    merbit_preconditioner_destroy(p);
  }
  for (i = 0; i < a.rows; i++) {
    error = fmax(error, fabs(z[0][i] - z[1][i]));
    size = fmax(size, fabs(z[0][i]));
  }
  assert_true(error > 0 && error < 1e-13 * size);
  free(r);
  mbi_amg_csr_release(context, &a);
}

/* Checks x'M^-1 y = y'M^-1 x and x'M^-1 x > 0. */
static void test_symmetric(void **state) {
  const bed_grid g = {9, 0, 0, 0.1, 100, 0.01, 0.9};
  mbi_amg_csr a = bed_laplacian(context, &g);
  merbit_preconditioner_desc desc = amg_desc();
  merbit_preconditioner *p = amg_make(&a, &desc);
  double *v = (double *)malloc((size_t)a.rows * 4 * sizeof *v);
  double sums[4] = {0, 0, 0, 0};
  int64_t i, n = a.rows;
  (void)state;
  for (i = 0; i < 2 * n; i++) {
    v[i] = bed_random((uint64_t)i) - 0.5;
  }
  amg_apply(p, v, v + 2 * n);
  amg_apply(p, v + n, v + 3 * n);
  for (i = 0; i < n; i++) {
    sums[0] += v[n + i] * v[2 * n + i];
    sums[1] += v[i] * v[3 * n + i];
    sums[2] += v[i] * v[2 * n + i];
    sums[3] += v[n + i] * v[3 * n + i];
  }
  assert_true(sums[2] > 0 && sums[3] > 0);
  assert_true(fabs(sums[0] - sums[1]) < 1e-13 * sqrt(sums[2] * sums[3]));
  free(v);
  merbit_preconditioner_destroy(p);
  mbi_amg_csr_release(context, &a);
}

#endif
