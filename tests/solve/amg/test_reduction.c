/* The steps of multigrid by reduction on the CPU: the splitting is that of PMIS and the same
 * for any number of threads; R meets its local equations; the next level's matrix is R A P;
 * matrices for which levels fill up are aggregated. */
#include "support/internal.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "solve/amg/amg_bed.h"

static merbit_context *context;

/* Makes a matrix of random entries, `degree` in a row, of both signs if `mixed`. Some rows have
 * a diagonal entry alone, some none, in some it is not dominant, and the last rows are linked
 * by long rows. */
static mbi_amg_csr random_matrix(int rows, int degree, int mixed) {
  bed_entry *entries =
      (bed_entry *)malloc((size_t)rows * (size_t)(degree + 2) * sizeof *entries);
  mbi_amg_csr csr;
  int count = 0, i, k;
  for (i = 0; i < rows; i++) {
    for (k = 0; k < degree && i % 37 != 5; k++) {
      const uint64_t number = (uint64_t)(i * degree + k);
      const double value = bed_random(number + 1000000);
      entries[count].row = i;
      entries[count].column = (int)(bed_random(number) * (i < rows - 3 ? rows : rows / 50));
      entries[count++].value = -(mixed && k % 3 == 0 ? -value : value);
    }
    if (i % 41 != 7) {
      entries[count].row = entries[count].column = i;
      entries[count++].value =
          (mixed && i % 5 == 0 ? -degree : degree) * (i % 7 == 1 ? 0.25 : 1);
    }
  }
  csr = bed_csr(context, rows, rows, entries, count);
  free(entries);
  return csr;
}

/* Makes the step `which` of the matrices to test. */
static mbi_amg_csr make_matrix(int which) {
  return which == 0   ? bed_wind(context, 20, 10)
         : which == 1 ? bed_wind(context, 17, 1e4)
         : which == 2 ? random_matrix(400, 3, 0)
         : which == 3 ? random_matrix(300, 7, 1)
                      : bed_pairs(context, 300);
}
#define MATRICES 5

/* Makes a level up to the next one's matrix. Takes over `a`. */
static void make_level(merbit_context *own, mbi_amg_csr a, mbi_amg_level *level,
                       mbi_amg_csr *coarse) {
  memset(level, 0, sizeof *level);
  memset(coarse, 0, sizeof *coarse);
  level->a = a;
  level->block = level->vectors = 1;
  assert_int_equal(mbi_amg_split(own, level), MERBIT_OK);
  assert_int_equal(mbi_amg_attach(own, level), MERBIT_OK);
  assert_int_equal(mbi_amg_restrict(own, level), MERBIT_OK);
  assert_int_equal(mbi_amg_reduce(own, level, coarse), MERBIT_OK);
  assert_int_equal(mbi_amg_part_rows(own, level), MERBIT_OK);
}

/* Returns whether row i depends on column j. */
static int depends(const mbi_amg_csr *a, int64_t i, int64_t j) {
  const double sign = bed_at(a, i, i) < 0 ? 1 : -1;
  double most = 0;
  int64_t k;
  for (k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
    most = a->col_ind[k] != i ? fmax(most, sign * a->values[k]) : most;
  }
  return i != j && sign * bed_at(a, i, j) > 0 &&
         sign * bed_at(a, i, j) >= 0.5 * most * MBI_REDUCTION_EQUAL;
}

/* Returns whether row i has a larger weight than j. */
static int heavier(const double *weight, int64_t i, int64_t j) {
  return weight[i] > weight[j] || (weight[i] == weight[j] && i > j);
}

/* The splitting is that of the rounds of PMIS, but rows on which a C point depends become F
 * points as well. */
static void check_splitting(const mbi_amg_level *level) {
  enum { OPEN, F, C };
  const mbi_amg_csr *a = &level->a;
  const int64_t n = a->rows;
  unsigned char *on = (unsigned char *)calloc((size_t)(n * n), 1); /* i depends on j */
  double *weight = (double *)calloc((size_t)n, sizeof *weight);
  int *state = (int *)calloc((size_t)n, sizeof *state), left = 1;
  int *chosen = (int *)calloc((size_t)n, sizeof *chosen);
  int32_t next = 0;
  int64_t i, j, k;
  for (i = 0; i < n; i++) {
    double most = 0;
    for (k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
      most = a->col_ind[k] != i ? fmax(most, fabs(a->values[k])) : most;
      on[i * n + a->col_ind[k]] = (unsigned char)depends(a, i, a->col_ind[k]);
      weight[a->col_ind[k]] += on[i * n + a->col_ind[k]];
    }
    if (most <= MBI_REDUCTION_NOISE * fabs(bed_at(a, i, i))) {
      most = fabs(bed_at(a, i, i));
    }
    assert_true(fabs(level->most[i]) == fmax(most, DBL_MIN));
  }
  for (i = 0; i < n; i++) {
    state[i] = weight[i] == 0 ? F : OPEN;
    weight[i] += bed_random((uint64_t)i);
  }
  while (left > 0) {
    for (i = 0; i < n; i++) {
      chosen[i] = state[i] == OPEN;
      for (j = 0; chosen[i] && j < n; j++) {
        chosen[i] =
            !(on[i * n + j] || on[j * n + i]) || state[j] != OPEN || heavier(weight, i, j);
      }
    }
    for (left = 0, i = 0; i < n; i++) {
      state[i] = chosen[i] ? C : state[i];
    }
    for (i = 0; i < n; i++) {
      for (j = 0; state[i] == OPEN && j < n; j++) {
        state[i] = (on[i * n + j] || on[j * n + i]) && state[j] == C ? F : OPEN;
      }
      left += state[i] == OPEN;
    }
  }
  for (i = 0; i < n; i++) {
    assert_int_equal(level->aggregate[i], state[i] == C ? next++ : -1);
    assert_int_equal(level->most[i] < 0, state[i] == C);
  }
  assert_int_equal(next, level->aggregates);
  free(on);
  free(weight);
  free(state);
  free(chosen);
}

/* Returns the C point of the first largest entry of row i at C points, or -1; sets *most to its
 * magnitude. */
static int32_t nearest(const mbi_amg_level *level, int64_t i, double *most) {
  const mbi_amg_csr *a = &level->a;
  int32_t best = -1;
  int64_t k;
  *most = 0;
  for (k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
    if (level->aggregate[a->col_ind[k]] >= 0 &&
        fabs(a->values[k]) * MBI_REDUCTION_EQUAL > *most) {
      *most = fabs(a->values[k]);
      best = level->aggregate[a->col_ind[k]];
    }
  }
  return best;
}

/* P has a unit vector at a C point; at an F point the C point of its largest entry, or, if that
 * is small, that of the neighbour of the largest entry that has one. Returns the number of the
 * latter. */
static int check_prolongation(const mbi_amg_level *level) {
  const mbi_amg_csr *a = &level->a, *p = &level->p;
  int64_t i, k;
  int followed = 0;
  for (i = 0; i < a->rows; i++) {
    const int32_t length = p->row_ptr[i + 1] - p->row_ptr[i];
    double most;
    int32_t best = nearest(level, i, &most);
    if (level->aggregate[i] >= 0) {
      best = level->aggregate[i];
    } else if (most < 0.25 * MBI_REDUCTION_EQUAL * level->most[i]) {
      for (most = 0, k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        const int32_t j = a->col_ind[k];
        double ignored;
        const int32_t own = level->aggregate[j];
        const int32_t found = own >= 0 ? own : nearest(level, j, &ignored);
        if (j != i && found >= 0 && fabs(a->values[k]) * MBI_REDUCTION_EQUAL > most) {
          most = fabs(a->values[k]);
          best = found;
        }
      }
      followed += best >= 0;
    }
    assert_int_equal(length, best >= 0);
    assert_true(length == 0 ||
                (p->col_ind[p->row_ptr[i]] == best && p->values[p->row_ptr[i]] == 1));
  }
  return followed;
}

/* Collects the F points of C point i as the recipe names them. Returns their number. */
static int wanted_near(const mbi_amg_level *level, int64_t i, int32_t *near) {
  const mbi_amg_csr *a = &level->a;
  int count = 0, end = 0, at = -1;
  for (; at < end; at++) {
    const int64_t row = at < 0 ? i : near[at];
    const double theta = at < 0 ? 0.1 : 0.25;
    int64_t k;
    for (k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
      const int32_t j = a->col_ind[k];
      int seen = 0, e;
      for (e = 0; e < count; e++) {
        seen |= near[e] == j;
      }
      if (!seen && count < 12 && j != row && level->aggregate[j] < 0 && a->values[k] != 0 &&
          fabs(a->values[k]) >=
              theta * MBI_REDUCTION_EQUAL * fmin(fabs(level->most[row]), level->most[j])) {
        near[count++] = j;
      }
    }
    end = at < 0 ? count : end;
  }
  return count;
}

/* Returns whether A_NN is singular to rounding, by elimination with partial pivoting. */
static int singular(const mbi_amg_csr *a, const int32_t *near, int count) {
  double m[12][12], swap;
  int c, r, q;
  for (r = 0; r < count; r++) {
    for (c = 0; c < count; c++) {
      m[r][c] = bed_at(a, near[r], near[c]);
    }
  }
  for (c = 0; c < count; c++) {
    int pivot = c;
    for (r = c + 1; r < count; r++) {
      pivot = fabs(m[r][c]) > fabs(m[pivot][c]) ? r : pivot;
    }
    if (fabs(m[pivot][c]) < 1e-9) {
      return 1;
    }
    for (q = 0; q < count; q++) {
      swap = m[c][q];
      m[c][q] = m[pivot][q];
      m[pivot][q] = swap;
    }
    for (r = c + 1; r < count; r++) {
      for (q = count - 1; q >= c; q--) {
        m[r][q] -= m[r][c] / m[c][c] * m[c][q];
      }
    }
  }
  return 0;
}

/* Each row of R has its C point and its F points N, and R A is 0 in the columns N unless A_NN
 * is singular. */
static void check_restriction(const mbi_amg_level *level) {
  const mbi_amg_csr *a = &level->a, *r = &level->r;
  int64_t row, e, k;
  int solved = 0;
  bed_check_form(r);
  for (row = 0; row < r->rows; row++) {
    const int64_t point = level->points[row];
    int32_t near[12];
    const int count = wanted_near(level, point, near);
    int i, alone = 1;
    assert_int_equal(level->aggregate[point], row);
    assert_int_equal(r->row_ptr[row + 1] - r->row_ptr[row], count + 1);
    assert_true(bed_at(r, row, point) == 1);
    for (i = 0; i < count; i++) {
      int found = 0;
      for (e = r->row_ptr[row]; e < r->row_ptr[row + 1]; e++) {
        found |= r->col_ind[e] == near[i];
        alone &= r->col_ind[e] == point || r->values[e] == 0;
      }
      assert_true(found);
    }
    assert_true(!alone || count == 0 || singular(a, near, count));
    for (i = 0; !alone && i < count; i++) {
      long double sum = 0, sizes = 0;
      for (e = r->row_ptr[row]; e < r->row_ptr[row + 1]; e++) {
        for (k = a->row_ptr[r->col_ind[e]]; k < a->row_ptr[r->col_ind[e] + 1]; k++) {
          if (a->col_ind[k] == near[i]) {
            sum += (long double)r->values[e] * a->values[k];
            sizes += fabsl((long double)r->values[e] * a->values[k]);
          }
        }
      }
      assert_true(fabsl(sum) <= 1e-12L * (sizes + 1));
    }
    solved += count > 0 && !alone;
  }
  assert_true(solved > r->rows / 2);
}

/* The next level's matrix is R A P to rounding. */
static void check_product(const mbi_amg_level *level, const mbi_amg_csr *coarse) {
  const int64_t n = level->a.rows, m = coarse->rows;
  long double *dense[2];
  int sizes;
  int64_t i;
  bed_check_form(coarse);
  for (sizes = 0; sizes < 2; sizes++) {
    long double *r = bed_dense(&level->r, sizes), *a = bed_dense(&level->a, sizes);
    long double *p = bed_dense(&level->p, sizes), *ra = bed_times(r, a, m, n, n);
    dense[sizes] = bed_times(ra, p, m, n, m);
    free(r);
    free(a);
    free(p);
    free(ra);
  }
  for (i = 0; i < m * m; i++) {
    assert_true(fabsl(dense[0][i] - bed_at(coarse, i / m, i % m)) <= 1e-14L * dense[1][i]);
  }
  free(dense[0]);
  free(dense[1]);
}

/* The row blocks have A's rows, and the weights are min(1, 2 / (1 + sigma)) / a_ii. */
static void check_relaxation(const mbi_amg_level *level) {
  const mbi_amg_csr *a = &level->a;
  int64_t i, k;
  for (i = 0; i < a->rows; i++) {
    const int coarse = level->aggregate[i] >= 0;
    const mbi_amg_csr *own = &level->halves[coarse], *other = &level->halves[!coarse];
    const int32_t begin = a->row_ptr[i], length = a->row_ptr[i + 1] - begin;
    const double d = bed_at(a, i, i);
    double sum = 0;
    assert_int_equal(own->row_ptr[i + 1] - own->row_ptr[i], length);
    assert_int_equal(other->row_ptr[i + 1], other->row_ptr[i]);
    for (k = 0; k < length; k++) {
      assert_int_equal(own->col_ind[own->row_ptr[i] + k], a->col_ind[begin + k]);
      assert_true(own->values[own->row_ptr[i] + k] == a->values[begin + k]);
      sum += a->col_ind[begin + k] != i ? fabs(a->values[begin + k]) : 0;
    }
    if (d == 0) {
      assert_true(level->inverse[i] == 0);
    } else {
      const double w = fmin(1, 2 / (1 + sum / fabs(d)));
      assert_true(fabs(level->inverse[i] - w / d) <= 1e-15 * fabs(w / d));
    }
  }
}

static void test_level(void **state) {
  int which, followed = 0;
  (void)state;
  for (which = 0; which < MATRICES; which++) {
    mbi_amg_level level;
    mbi_amg_csr coarse;
    make_level(context, make_matrix(which), &level, &coarse);
    check_splitting(&level);
    followed += check_prolongation(&level);
    check_restriction(&level);
    check_product(&level, &coarse);
    check_relaxation(&level);
    mbi_amg_csr_release(context, &coarse);
    mbi_amg_level_release(context, &level);
  }
  assert_true(followed > 0);
}

/* A level has the same bits for any number of threads. */
static void test_threads(void **state) {
  int which;
  (void)state;
  for (which = 0; which < 2; which++) {
    mbi_amg_csr a = which == 0 ? bed_wind(context, 70, 10) : random_matrix(6000, 5, 1);
    mbi_amg_level one, many;
    mbi_amg_csr coarse[2];
    merbit_context *single = cpu_open(NULL, 1), *several = cpu_open(NULL, 5);
    make_level(single, a, &one, &coarse[0]);
    make_level(several, a, &many, &coarse[1]);
    bed_check_equal(&one.p, &many.p);
    bed_check_equal(&one.r, &many.r);
    bed_check_equal(&one.halves[0], &many.halves[0]);
    bed_check_equal(&one.halves[1], &many.halves[1]);
    bed_check_equal(&coarse[0], &coarse[1]);
    assert_memory_equal(one.inverse, many.inverse, (size_t)a.rows * sizeof(double));
    one.borrowed = many.borrowed = 1;
    mbi_amg_csr_release(single, &coarse[0]);
    mbi_amg_csr_release(several, &coarse[1]);
    mbi_amg_level_release(single, &one);
    mbi_amg_level_release(several, &many);
    merbit_context_destroy(single);
    merbit_context_destroy(several);
    mbi_amg_csr_release(context, &a);
  }
}

/* Makes a mesh whose entries are the largest of their rows, at one of the thresholds, or 0, all
 * up to rounding, which depends on `salt`. Some nodes have no neighbours but by rounding,
 * others no neighbours but these, some rows are tiny. */
static mbi_amg_csr rounded_mesh(int side, uint64_t salt) {
  static const double sizes[] = {4, 1, 0.4, 4, 4, 2, 0};
  bed_entry *entries = (bed_entry *)malloc((size_t)side * (size_t)side * 9 * sizeof *entries);
  mbi_amg_csr csr;
  int count = 0, i, d;
  for (i = 0; i < side * side; i++) {
    for (d = 0; d < 9; d++) {
      const int x = i % side + d % 3 - 1, y = i / side + d / 3 - 1;
      const uint64_t number = (uint64_t)(9 * i + d);
      const double noise = bed_random(number + salt) - 0.5;
      const double scale = i % 13 == 5 ? 1e-14 : 1;
      const int j = y * side + x;
      const double size = i % 11 == 3 || j % 17 == 7 ? 0
                          : j % 11 == 3              ? (j % 2                      ? 0
                                                        : bed_random(number) < 0.3 ? 4
                                                                                   : 0.4)
                          : i % 17 == 7              ? 0
                                                     : sizes[(int)(7 * bed_random(number))];
      if (x >= 0 && x < side && y >= 0 && y < side) {
        entries[count].row = i;
        entries[count].column = j;
        entries[count++].value = scale * (d == 4      ? 20 + 4e-14 * noise
                                          : size == 0 ? 4e-14 * noise
                                                      : -size * (1 + 1e-14 * noise));
      }
    }
  }
  csr = bed_csr(context, side * side, side * side, entries, count);
  free(entries);
  return csr;
}

/* Rounding of values changes neither the splitting nor the structure of P, R and the next
 * level's matrix. */
static void test_rounding(void **state) {
  mbi_amg_level exact, level;
  mbi_amg_csr coarse, other;
  uint64_t salt;
  (void)state;
  make_level(context, rounded_mesh(40, 1000), &exact, &coarse);
  for (salt = 100000; salt < 500000; salt += 100000) {
    const size_t rows = (size_t)exact.a.rows * sizeof(int32_t);
    make_level(context, rounded_mesh(40, salt), &level, &other);
    assert_memory_not_equal(exact.a.values, level.a.values, 8 * rows);
    assert_memory_equal(exact.aggregate, level.aggregate, rows);
    assert_memory_equal(exact.attached, level.attached, rows);
    assert_int_equal(exact.r.nnz, level.r.nnz);
    assert_memory_equal(exact.r.row_ptr, level.r.row_ptr, (size_t)exact.aggregates * 4);
    assert_memory_equal(exact.r.col_ind, level.r.col_ind, (size_t)exact.r.nnz * 4);
    mbi_amg_csr_release(context, &other);
    mbi_amg_level_release(context, &level);
  }
  mbi_amg_csr_release(context, &coarse);
  mbi_amg_level_release(context, &exact);
}

/* Makes the row of R of C point 0, whose F points are 1 and 2. `a` has A's nine elements, `z`
 * is set to those of R at the F points. */
static void restrict_three(const double *a, double *z) {
  bed_entry entries[9];
  mbi_amg_level level;
  double most[] = {-1, 1, 1};
  int32_t number[] = {0, -1, -1}, point = 0;
  int i;
  for (i = 0; i < 9; i++) {
    entries[i].row = i / 3;
    entries[i].column = i % 3;
    entries[i].value = a[i];
  }
  memset(&level, 0, sizeof level);
  level.a = bed_csr(context, 3, 3, entries, 9);
  level.most = most;
  level.aggregate = number;
  level.aggregates = 1;
  level.points = &point;
  assert_int_equal(mbi_amg_restrict(context, &level), MERBIT_OK);
  assert_int_equal(level.r.nnz, 3);
  z[0] = level.r.values[1];
  z[1] = level.r.values[2];
  mbi_amg_csr_release(context, &level.a);
  mbi_amg_csr_release(context, &level.r);
}

/* A row of R whose local matrix is singular up to rounding has zeros, whatever the scale of the
 * rows; others are solved, if they are of different scales or need pivoting. */
static void test_local(void **state) {
  const double third = 1.0 / 3 * (1 + 1e-15);
  const double singular[] = {4, -1, -3, -1, 3, 1, -1, 1, third};
  const double scaled[] = {4, -1, -3, -1, 3e30, 1e30, -1, 1, third};
  const double regular[] = {4, -1, -3, -1, 3e30, 1e30, -1, 1, 2};
  const double beside[] = {4, -1, -2, -1, 1e-17, 3, -1, 5, 0};
  double z[2];
  (void)state;
  restrict_three(singular, z);
  assert_true(z[0] == 0 && z[1] == 0);
  restrict_three(scaled, z);
  assert_true(z[0] == 0 && z[1] == 0);
  restrict_three(regular, z);
  assert_true(fabs(z[0] + 2e-31) < 1e-45 && fabs(z[1] - 1.6) < 1e-14);
  restrict_three(beside, z);
  assert_true(fabs(z[0] - 2.0 / 3) < 1e-15 && fabs(z[1] - 1.0 / 5) < 1e-15);
}

/* New values give the values of a new level with the same structure; the splitting stays even
 * if a new one would be another. */
static void test_values(void **state) {
  mbi_amg_csr a = bed_wind(context, 20, 10), calm = bed_wind(context, 20, 1), coarse, next;
  mbi_amg_level level, fresh;
  (void)state;
  make_level(context, a, &level, &coarse);
  fresh = level;
  fresh.a = calm;
  next = coarse;
  fresh.inverse = fresh.r.values = next.values = NULL;
  fresh.halves[0].values = fresh.halves[1].values = NULL;
  assert_int_equal(mbi_amg_restrict(context, &fresh), MERBIT_OK);
  assert_int_equal(mbi_amg_reduce(context, &fresh, &next), MERBIT_OK);
  assert_int_equal(mbi_amg_part_rows(context, &fresh), MERBIT_OK);
  assert_memory_not_equal(level.r.values, fresh.r.values, (size_t)level.r.nnz * sizeof(double));
  check_product(&fresh, &next);
  check_relaxation(&fresh);
  mbi_release(context, fresh.inverse);
  mbi_release(context, fresh.r.values);
  mbi_release(context, fresh.halves[0].values);
  mbi_release(context, fresh.halves[1].values);
  mbi_release(context, next.values);
  mbi_amg_csr_release(context, &calm);
  mbi_amg_csr_release(context, &coarse);
  mbi_amg_level_release(context, &level);
}

/* Makes all levels and returns their number; *reduced: whether by reduction. Takes over `a`. */
static int count_levels(mbi_amg_csr a, int given, int *reduced) {
  mbi_amg_level levels[MBI_AMG_LEVELS];
  int count, l;
  int64_t i;
  memset(levels, 0, sizeof levels);
  levels[0].a = a;
  levels[0].block = levels[0].vectors = 1;
  levels[0].modes = (double *)mbi_allocate(context, (size_t)a.rows * sizeof(double));
  for (i = 0; i < a.rows; i++) {
    levels[0].modes[i] = 1;
  }
  assert_int_equal(mbi_amg_coarsen(context, levels, given, &count), MERBIT_OK);
  *reduced = levels[0].reduced;
  for (l = 0; l < count; l++) {
    assert_true(!*reduced || l + 1 == count || levels[l].points != NULL);
    assert_true(*reduced || (levels[l].points == NULL && levels[l].halves[0].row_ptr == NULL));
    mbi_amg_level_release(context, &levels[l]);
  }
  return count;
}

/* Levels are by reduction if A is nonsymmetric, unless there are near-null-space vectors, or a
 * level fills up, or the first level has no strong entries. */
static void test_choice(void **state) {
  bed_entry *positive = (bed_entry *)malloc(2 * 400 * sizeof *positive);
  int reduced, i;
  (void)state;
  assert_in_range(count_levels(bed_wind(context, 64, 10), 0, &reduced), 4, 9);
  assert_int_equal(reduced, 1);
  assert_in_range(count_levels(bed_wind(context, 64, 10), 1, &reduced), 2, 4);
  assert_int_equal(reduced, 0);
  (void)count_levels(bed_wind(context, 64, 1), 0, &reduced);
  assert_int_equal(reduced, 1);
  (void)count_levels(bed_wind(context, 64, 0.3), 0, &reduced);
  assert_int_equal(reduced, 0);
  (void)count_levels(bed_wind(context, 64, 0), 0, &reduced);
  assert_int_equal(reduced, 0);
  (void)count_levels(random_matrix(4000, 6, 0), 0, &reduced); /* fills up */
  assert_int_equal(reduced, 0);
  for (i = 0; i < 400; i++) {
    positive[2 * i].row = positive[2 * i].column = positive[2 * i + 1].row = i;
    positive[2 * i].value = 4;
    positive[2 * i + 1].column = (i + 1) % 400;
    positive[2 * i + 1].value = 1;
  }
  (void)count_levels(bed_csr(context, 400, 400, positive, 800), 0, &reduced);
  assert_int_equal(reduced, 0);
  free(positive);
}

/* Sums of rows that are not finite have no weight. */
static void test_weight(void **state) {
  (void)state;
  assert_true(mbi_amg_weight(2, 1) == 0.5 && mbi_amg_weight(2, 2) == 0.5);
  assert_true(mbi_amg_weight(-2, 6) == -0.25);
  assert_true(mbi_amg_weight(0, 6) == 0 && mbi_amg_weight(0, 0) == 0);
  assert_true(mbi_amg_weight(-1e-15, 6) == 0 && mbi_amg_weight(1e-300, 0) > 9e299);
  assert_true(isnan(mbi_amg_weight(1, INFINITY)) && isnan(mbi_amg_weight(1, NAN)));
  assert_true(isnan(mbi_amg_weight(0, NAN)) && isnan(mbi_amg_weight(INFINITY, 1)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_level),  cmocka_unit_test(test_threads),
      cmocka_unit_test(test_values), cmocka_unit_test(test_choice),
      cmocka_unit_test(test_weight), cmocka_unit_test(test_rounding),
      cmocka_unit_test(test_local),
  };
  int failed;
  context = cpu_open(NULL, 2);
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(context);
  return failed;
}
