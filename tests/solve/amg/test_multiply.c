/* The product R A P of random matrices, and the coarse matrices P^T A P, against naive products
 * in long double. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "solve/amg/amg_bed.h"

static mbi_amg_csr random_csr(merbit_context *context, int rows, int cols, int count,
                              uint64_t seed) {
  bed_entry *entries = (bed_entry *)malloc((size_t)count * sizeof *entries);
  mbi_amg_csr csr;
  int i;
  for (i = 0; i < count; i++) {
    const uint64_t h = mbi_amg_hash(seed * 100000 + (uint64_t)i);
    entries[i].row = (int32_t)(h % (uint64_t)rows);
    entries[i].column = (int32_t)(h / 1000003 % (uint64_t)cols);
    entries[i].value = bed_random(h) - 0.5;
  }
  csr = bed_csr(context, rows, cols, entries, count);
  free(entries);
  return csr;
}

/* Compares with the product of dense copies; an entry is a sum of at most k products. */
static void compare(const mbi_amg_csr *found, const long double *expected,
                    const long double *sizes, int64_t terms) {
  long double *dense = bed_dense(found, 0);
  int64_t i;
  for (i = 0; i < found->rows * found->cols; i++) {
    assert_true(fabsl(dense[i] - expected[i]) <=
                (long double)(terms + 2) * DBL_EPSILON * sizes[i]);
  }
  free(dense);
}

/* Checks the product, and that it has the same bits if its structure is already known. */
static void check(merbit_context *context, mbi_amg_level *level) {
  const mbi_amg_csr *const m[3] = {&level->r, &level->a, &level->p};
  long double *products[2];
  mbi_amg_csr c, again;
  int sizes;
  for (sizes = 0; sizes < 2; sizes++) {
    long double *r = bed_dense(m[0], sizes), *a = bed_dense(m[1], sizes);
    long double *p = bed_dense(m[2], sizes);
    long double *ra = bed_times(r, a, m[0]->rows, m[1]->rows, m[1]->cols);
    products[sizes] = bed_times(ra, p, m[0]->rows, m[1]->cols, m[2]->cols);
    free(r);
    free(a);
    free(p);
    free(ra);
  }
  memset(&c, 0, sizeof c);
  assert_int_equal(mbi_amg_galerkin(context, level, &c), MERBIT_OK);
  bed_check_form(&c);
  compare(&c, products[0], products[1], m[1]->rows + m[1]->cols);
  again = c;
  again.values = NULL;
  assert_int_equal(mbi_amg_galerkin(context, level, &again), MERBIT_OK);
  bed_check_equal(&c, &again);
  mbi_release(context, again.values);
  mbi_amg_csr_release(context, &c);
  free(products[0]);
  free(products[1]);
}

static void test_products(void **state) {
  /* rows of R, of A, of P, columns of P; entries of R, A, P */
  static const int sizes[][7] = {{30, 40, 35, 20, 200, 150, 150},
                                 {1, 1, 1, 1, 1, 1, 1},
                                 {5, 300, 300, 300, 40, 4000, 900},
                                 {64, 3, 80, 90, 100, 200, 400},
                                 {50, 60, 60, 70, 1, 1, 1}};
  merbit_context *context = cpu_open(NULL, 2);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    const int *s = sizes[i];
    mbi_amg_level level;
    memset(&level, 0, sizeof level);
    level.vectors = 1;
    level.r = random_csr(context, s[0], s[1], s[4], i);
    level.a = random_csr(context, s[1], s[2], s[5], i + 50);
    level.p = random_csr(context, s[2], s[3], s[6], i + 100);
    check(context, &level);
    mbi_amg_level_release(context, &level);
  }
  merbit_context_destroy(context);
}

/* Rows of up to 2,500 columns, for every gap of the sort. */
static void test_sort(void **state) {
  int32_t columns[2500];
  int length, i;
  (void)state;
  for (length = 0; length <= 2500; length += length < 40 ? 1 : 205) {
    for (i = 0; i < length; i++) {
      columns[i] = (int32_t)(mbi_amg_hash((uint64_t)(length * 10000 + i)) % 1000000);
    }
    mbi_amg_sort(columns, length);
    for (i = 1; i < length; i++) {
      assert_true(columns[i - 1] <= columns[i]);
    }
  }
}

/* Checks that all coarse matrices equal P^T A P and are symmetric, up to rounding, and that
 * they have the same bits if their structure is already known. */
static void check_galerkin(merbit_context *context, mbi_amg_csr a, int block, int vectors) {
  mbi_amg_level levels[MBI_AMG_LEVELS];
  int count, l;
  memset(levels, 0, sizeof levels);
  bed_level(context, a, block, vectors, 0.1, &levels[0]);
  bed_again(context, &levels[0]);
  assert_int_equal(mbi_amg_coarsen(context, levels, 0, &count), MERBIT_OK);
  assert_true(count > 1);
  for (l = 0; l + 1 < count; l++) {
    const mbi_amg_csr *fine = &levels[l].a, *p = &levels[l].p, *coarse = &levels[l + 1].a;
    mbi_amg_csr again;
    long double *m[2], *ap[2], *pt[2], *expected[2];
    int64_t i, j;
    int sizes;
    bed_check_form(coarse);
    for (sizes = 0; sizes < 2; sizes++) {
      long double *dense = bed_dense(p, sizes);
      m[sizes] = bed_dense(fine, sizes);
      pt[sizes] = (long double *)calloc((size_t)(p->rows * p->cols), sizeof *dense);
      for (i = 0; i < p->rows; i++) {
        for (j = 0; j < p->cols; j++) {
          pt[sizes][j * p->rows + i] = dense[i * p->cols + j];
        }
      }
      ap[sizes] = bed_times(m[sizes], dense, fine->rows, fine->rows, p->cols);
      expected[sizes] = bed_times(pt[sizes], ap[sizes], p->cols, p->rows, p->cols);
      free(dense);
    }
    compare(coarse, expected[0], expected[1], 200);
    again = *coarse;
    again.values = NULL;
    assert_int_equal(mbi_amg_galerkin(context, &levels[l], &again), MERBIT_OK);
    bed_check_equal(coarse, &again);
    mbi_release(context, again.values);
    for (i = 0; i < coarse->rows; i++) {
      for (j = 0; j < i; j++) {
        assert_true(fabs(bed_at(coarse, i, j) - bed_at(coarse, j, i)) <=
                    (double)(200 * DBL_EPSILON * expected[1][i * coarse->cols + j]));
      }
    }
    for (sizes = 0; sizes < 2; sizes++) {
      free(m[sizes]);
      free(ap[sizes]);
      free(pt[sizes]);
      free(expected[sizes]);
    }
  }
  for (l = 0; l < count; l++) {
    mbi_amg_level_release(context, &levels[l]);
  }
}

/* Makes a matrix with three unknowns per node, where a third of the blocks lacks the second row
 * and column, so that the rows of a node have different columns. */
static mbi_amg_csr holes(merbit_context *context, const mbi_amg_csr *a) {
  mbi_amg_csr full = bed_blocks(context, a), csr;
  bed_entry *entries = (bed_entry *)malloc((size_t)full.nnz * sizeof *entries);
  int count = 0, row, k;
  for (row = 0; row < full.rows; row++) {
    for (k = full.row_ptr[row]; k < full.row_ptr[row + 1]; k++) {
      const int column = full.col_ind[k];
      if (row / 3 == column / 3 || (row % 3 != 1 && column % 3 != 1) ||
          (row / 3 + column / 3) % 3 != 0) {
        entries[count].row = row;
        entries[count].column = column;
        entries[count++].value = full.values[k];
      }
    }
  }
  csr = bed_csr(context, (int)full.rows, (int)full.cols, entries, count);
  assert_true(csr.nnz < full.nnz);
  mbi_amg_csr_release(context, &full);
  free(entries);
  return csr;
}

static void test_galerkin(void **state) {
  const bed_grid weak = {9, 0, 1, 0.001, 1, 0, 1}, jump = {26, 1, 0, 1, 1e4, 0.5, 0.8};
  const bed_grid small = {10, 1, 1, 1, 1, 0, 1};
  merbit_context *context = cpu_open(NULL, 2);
  mbi_amg_csr a;
  (void)state;
  check_galerkin(context, bed_laplacian(context, &weak), 1, 1);
  check_galerkin(context, bed_laplacian(context, &jump), 1, 1);
  check_galerkin(context, bed_laplacian(context, &jump), 1, 2);
  a = bed_laplacian(context, &small);
  check_galerkin(context, bed_blocks(context, &a), 3, 3);
  check_galerkin(context, bed_blocks(context, &a), 3, 5);
  check_galerkin(context, bed_blocks(context, &a), 3, 6);
  check_galerkin(context, holes(context, &a), 3, 3);
  check_galerkin(context, holes(context, &a), 3, 6);
  mbi_amg_csr_release(context, &a);
  merbit_context_destroy(context);
}

/* The levels have the same bits with any number of threads. */
static void test_threads(void **state) {
  merbit_context *one = cpu_open(NULL, 1), *four = cpu_open(NULL, 4);
  const bed_grid g = {30, 0, 0, 0.5, 100, 1, 0.9};
  mbi_amg_level first[MBI_AMG_LEVELS], second[MBI_AMG_LEVELS];
  int count, other, l;
  (void)state;
  memset(first, 0, sizeof first);
  memset(second, 0, sizeof second);
  bed_level(one, bed_laplacian(one, &g), 1, 1, 0.1, &first[0]);
  bed_level(four, bed_laplacian(four, &g), 1, 1, 0.1, &second[0]);
  bed_again(one, &first[0]);
  bed_again(four, &second[0]);
  assert_int_equal(mbi_amg_coarsen(one, first, 0, &count), MERBIT_OK);
  assert_int_equal(mbi_amg_coarsen(four, second, 0, &other), MERBIT_OK);
  assert_int_equal(count, other);
  assert_true(count > 2);
  for (l = 0; l < count; l++) {
    bed_check_equal(&first[l].a, &second[l].a);
    if (l + 1 < count) {
      bed_check_equal(&first[l].p, &second[l].p);
      bed_check_equal(&first[l].r, &second[l].r);
      mbi_release(four, second[l].r.values); /* again, into the known structure */
      second[l].r.values = NULL;
      assert_true(l > 0 || mbi_share_tasks(four, second[l].p.nnz) > 1);
      assert_int_equal(mbi_amg_transpose(four, &second[l]), MERBIT_OK);
      bed_check_equal(&first[l].r, &second[l].r);
    }
    mbi_amg_level_release(one, &first[l]);
    mbi_amg_level_release(four, &second[l]);
  }
  merbit_context_destroy(one);
  merbit_context_destroy(four);
}

/* A part grows by half until it has as many entries as 32-bit offsets can index. */
static void test_growth(void **state) {
  static const struct {
    int64_t used, room;
    int failed;
  } cases[] = {{INT64_C(1000000000), INT64_C(1500000000), MBI_AMG_NO_MEMORY},
               {INT64_C(1500000000), INT32_MAX, MBI_AMG_NO_MEMORY},
               {INT32_MAX - 1, INT32_MAX, MBI_AMG_NO_MEMORY},
               {INT32_MAX, 0, MBI_AMG_TOO_MANY}};
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 1);
  mbi_amg_build *build = (mbi_amg_build *)calloc(1, sizeof *build);
  mbi_amg_part *part = &build->parts[0];
  size_t i;
  (void)state;
  build->context = context;
  build->group = build->valued = 1;
  memory.limit = 1 << 20;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    part->used = part->room = cases[i].used;
    assert_int_equal(mbi_amg_reserve(build, 0, 0), 1);
    assert_int_equal(mbi_amg_reserve(build, 0, 1), 0);
    assert_int_equal(part->failed, cases[i].failed);
    assert_true(cases[i].room == 0 || part->room == cases[i].room);
  }
  free(build);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_products), cmocka_unit_test(test_sort),
      cmocka_unit_test(test_galerkin), cmocka_unit_test(test_threads),
      cmocka_unit_test(test_growth)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
