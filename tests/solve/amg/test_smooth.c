/* The smoothed prolongation equals its definition, computed naively in long double; it
 * interpolates the near-null-space exactly away from boundaries; R is its transpose. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "solve/amg/amg_bed.h"

/* Computes (I - omega / lambda D_F^-1 A_F) T by its definition; *sizes gets bounds of the
 * rounding errors. */
static long double *reference(const mbi_amg_level *level, long double **sizes) {
  const int64_t n = level->a.rows, block = level->block, k = level->vectors;
  const int64_t cols = level->aggregates * k;
  long double *a = bed_dense(&level->a, 0), *p, *f;
  const double factor = level->plain ? 0 : MBI_AMG_OMEGA / level->lambda;
  int64_t i, j, c;
  f = (long double *)calloc((size_t)(n * n), sizeof *f);
  for (i = 0; i < n; i++) {
    for (j = level->a.row_ptr[i]; j < level->a.row_ptr[i + 1]; j++) {
      const int64_t column = level->a.col_ind[j];
      f[i * n + (bed_kept(level, i, j) ? column : i / block * block + column % block)] +=
          a[i * n + column];
    }
  }
  p = (long double *)calloc((size_t)(n * cols) + 1, sizeof *p);
  *sizes = (long double *)calloc((size_t)(n * cols) + 1, sizeof *p);
  for (i = 0; i < n; i++) {
    long double least = MBI_AMG_LEAST_DIAGONAL / level->inverse[i];
    long double d =
        f[i * n + i] * level->inverse[i] < MBI_AMG_LEAST_DIAGONAL ? least : f[i * n + i];
    for (j = 0; j < n; j++) {
      const int32_t aggregate = level->aggregate[j / block];
      for (c = 0; c < k && aggregate >= 0 && level->aggregate[i / block] >= 0; c++) {
        const long double t = level->t[j * k + c];
        p[i * cols + aggregate * k + c] += ((i == j) - factor / d * f[i * n + j]) * t;
        (*sizes)[i * cols + aggregate * k + c] +=
            fabsl((i == j) * t) + fabsl(factor / d * a[i * n + j]) * 2 + fabsl(t);
      }
    }
  }
  free(a);
  free(f);
  return p;
}

static void check(merbit_context *context, mbi_amg_level *level) {
  long double *sizes, *expected, *found, *transposed;
  double *coarse;
  int64_t i, j, cols;
  assert_int_equal(mbi_amg_tentative(context, level, &coarse), MERBIT_OK);
  mbi_release(context, coarse);
  assert_int_equal(mbi_amg_smooth(context, level), MERBIT_OK);
  assert_int_equal(mbi_amg_transpose(context, level), MERBIT_OK);
  bed_check_form(&level->p);
  bed_check_form(&level->r);
  cols = level->p.cols;
  assert_int_equal(cols, level->aggregates * level->vectors);
  assert_int_equal(level->r.rows, cols);
  expected = reference(level, &sizes);
  found = bed_dense(&level->p, 0);
  transposed = bed_dense(&level->r, 0);
  for (i = 0; i < level->a.rows; i++) {
    for (j = 0; j < cols; j++) {
      assert_true(fabsl(found[i * cols + j] - expected[i * cols + j]) <=
                  64 * DBL_EPSILON * sizes[i * cols + j]);
      assert_true(found[i * cols + j] == transposed[j * level->a.rows + i]);
    }
  }
  free(sizes);
  free(expected);
  free(found);
  free(transposed);
}

static void test_definition(void **state) {
  const bed_grid grids[] = {
      {6, 0, 1, 1, 1, 0, 1}, {12, 1, 1, 0.001, 1, 0, 1}, {12, 1, 0, 1, 1e4, 0.5, 0.6}};
  merbit_context *context = cpu_open(NULL, 2);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof grids / sizeof grids[0]; i++) {
    mbi_amg_csr a = bed_laplacian(context, &grids[i]);
    mbi_amg_level level;
    bed_level(context, bed_blocks(context, &a), 3, 4, 0.25, &level);
    check(context, &level);
    assert_int_equal(level.plain, 0);
    mbi_amg_level_release(context, &level);
    bed_level(context, a, 1, 1, 0.25, &level);
    check(context, &level);
    mbi_amg_level_release(context, &level);
  }
  merbit_context_destroy(context);
}

/* Weak entries are lumped into a diagonal that they would make too small. */
static void test_least_diagonal(void **state) {
  bed_entry entries[] = {{0, 0, 0.75}, {1, 1, 1},    {2, 2, 1},    {0, 1, -60},
                         {1, 0, -60},  {0, 2, -0.7}, {2, 0, -0.7}, {3, 3, 1},
                         {2, 3, -40},  {3, 2, -40},  {1, 3, -0.5}, {3, 1, -0.5}};
  merbit_context *context = cpu_open(NULL, 1);
  mbi_amg_level level;
  int64_t row, k, kept = 0;
  (void)state;
  bed_level(context, bed_csr(context, 4, 4, entries, 12), 1, 1, 0.9, &level);
  for (row = 0; row < 4; row++) {
    for (k = level.a.row_ptr[row]; k < level.a.row_ptr[row + 1]; k++) {
      kept += bed_kept(&level, row, k);
    }
  }
  assert_int_equal(kept, 4 + 4);
  check(context, &level);
  mbi_amg_level_release(context, &level);
  merbit_context_destroy(context);
}

/* A neighbour whose row has only a diagonal has no aggregate, and no column in P. */
static void test_isolated_neighbour(void **state) {
  bed_entry entries[] = {{0, 0, 2},  {1, 1, 2},  {2, 2, 2},  {3, 3, 1},   {0, 1, -1},
                         {1, 0, -1}, {1, 2, -1}, {2, 1, -1}, {2, 3, -0.1}};
  merbit_context *context = cpu_open(NULL, 1);
  mbi_amg_level level;
  (void)state;
  bed_level(context, bed_csr(context, 4, 4, entries, 9), 1, 1, 0.5, &level);
  assert_true(level.aggregate[0] >= 0 && level.aggregate[3] < 0);
  assert_int_equal(level.a.col_ind[7], 3);
  assert_true(bed_kept(&level, 2, 7));
  check(context, &level);
  mbi_amg_level_release(context, &level);
  merbit_context_destroy(context);
}

/* A graph with a hub in each corner that is adjacent to all nodes: A P would be dense. */
static void test_plain(void **state) {
  enum { NODES = 400 };
  bed_entry entries[9 * NODES];
  merbit_context *context = cpu_open(NULL, 1);
  mbi_amg_level level;
  int i, k, count = 0;
  (void)state;
  for (i = 0; i < NODES; i++) {
    entries[count].row = entries[count].column = i;
    entries[count++].value = 100;
    for (k = 0; k < 4; k++) {
      const int j =
          k == 0 ? (i + 1) % NODES : (int)(mbi_amg_hash((uint64_t)(4 * i + k)) % NODES);
      entries[count].row = i;
      entries[count].column = j;
      entries[count++].value = -1;
      entries[count].row = j;
      entries[count].column = i;
      entries[count++].value = -1;
    }
  }
  bed_level(context, bed_csr(context, NODES, NODES, entries, count), 1, 1, 0.05, &level);
  check(context, &level);
  assert_int_equal(level.plain, 1);
  for (i = 0; i < NODES; i++) {
    assert_int_equal(level.p.row_ptr[i + 1] - level.p.row_ptr[i], 1);
  }
  mbi_amg_level_release(context, &level);
  merbit_context_destroy(context);
}

/* P times the next level's constants is the constant vector where rows of A add up to zero. */
static void test_constants(void **state) {
  const bed_grid g = {14, 1, 0, 1, 1e3, 0, 1};
  merbit_context *context = cpu_open(NULL, 2);
  mbi_amg_csr a = bed_laplacian(context, &g);
  int block, c;
  (void)state;
  for (block = 1; block <= 3; block += 2) {
    mbi_amg_level level;
    double *coarse;
    int64_t i, k;
    bed_level(context, block == 1 ? a : bed_blocks(context, &a), block, block, 0.25, &level);
    assert_int_equal(mbi_amg_tentative(context, &level, &coarse), MERBIT_OK);
    assert_int_equal(mbi_amg_smooth(context, &level), MERBIT_OK);
    for (i = 0; i < level.a.rows; i++) {
      for (c = 0; c < block; c++) {
        double sum = 0;
        for (k = level.p.row_ptr[i]; k < level.p.row_ptr[i + 1]; k++) {
          sum += level.p.values[k] * coarse[level.p.col_ind[k] * block + c];
        }
        assert_true(level.aggregate[i / block] < 0 ||
                    fabs(sum - level.modes[i * block + c]) < 1e-12);
      }
    }
    mbi_release(context, coarse);
    if (block == 1) {
      level.borrowed = 1; /* `a` is used again */
    }
    mbi_amg_level_release(context, &level);
  }
  mbi_amg_csr_release(context, &a);
  merbit_context_destroy(context);
}

/* Row lengths on both sides of the limit between the two sorts. */
static void test_sorted_rows(void **state) {
  int length, i;
  (void)state;
  for (length = 0; length <= 2 * MBI_AMG_SHORT; length++) {
    int32_t col_ind[2 * MBI_AMG_SHORT], marks[2 * MBI_AMG_SHORT];
    double values[4 * MBI_AMG_SHORT];
    for (i = 0; i < length; i++) { /* every second column downwards, then the others upwards */
      const int column = 2 * i < length ? length - 1 - 2 * i : 2 * i - length;
      col_ind[i] = column;
      values[i] = 10 * column;
      marks[column] = 100 + i;
    }
    mbi_amg_sort_row(col_ind, values, length, marks, 100);
    for (i = 0; i < length; i++) {
      assert_int_equal(col_ind[i], i);
      assert_true(values[i] == 10 * i);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_definition),         cmocka_unit_test(test_least_diagonal),
      cmocka_unit_test(test_isolated_neighbour), cmocka_unit_test(test_plain),
      cmocka_unit_test(test_constants),          cmocka_unit_test(test_sorted_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
