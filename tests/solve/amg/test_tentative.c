/* The tentative prolongation: its columns are orthonormal on each aggregate, it reproduces the
 * near-null-space from the next level's, and dependent vectors become zeros. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "solve/amg/amg_bed.h"

/* Returns the number of zero columns of T for independent vectors: aggregates may have fewer
 * rows than there are vectors. */
static int missing(const mbi_amg_level *level) {
  int *rows = (int *)calloc((size_t)level->aggregates, sizeof *rows), sum = 0;
  int64_t i;
  for (i = 0; i < level->a.rows; i++) {
    if (level->aggregate[i / level->block] >= 0) {
      rows[level->aggregate[i / level->block]]++;
    }
  }
  for (i = 0; i < level->aggregates; i++) {
    sum += rows[i] < level->vectors ? level->vectors - rows[i] : 0;
  }
  free(rows);
  return sum;
}

/* Checks T'T = I except for `zeros` zero columns, T coarse = modes on nodes with an aggregate,
 * and T = 0 elsewhere. */
static void check(merbit_context *context, mbi_amg_level *level, int zeros) {
  const int k = level->vectors;
  double *coarse, *products;
  int64_t i;
  int a, b, found = 0;
  assert_int_equal(mbi_amg_tentative(context, level, &coarse), MERBIT_OK);
  products =
      (double *)calloc((size_t)level->aggregates * (size_t)(k * k) + 1, sizeof *products);
  for (i = 0; i < level->a.rows; i++) {
    const int32_t aggregate = level->aggregate[i / level->block];
    for (a = 0; a < k; a++) {
      double sum = 0, size = 0;
      for (b = 0; b < k; b++) {
        const double t = level->t[i * k + b];
        if (aggregate < 0) {
          assert_true(t == 0);
          continue;
        }
        products[(aggregate * k + a) * k + b] += level->t[i * k + a] * t;
        sum += t * coarse[(aggregate * k + b) * k + a];
        size += fabs(t * coarse[(aggregate * k + b) * k + a]);
      }
      assert_true(aggregate < 0 || fabs(sum - level->modes[i * k + a]) <= 1e-13 * (1 + size));
    }
  }
  for (i = 0; i < level->aggregates; i++) {
    for (a = 0; a < k; a++) {
      const double own = products[(i * k + a) * k + a];
      assert_true(own == 0 || fabs(own - 1) < 1e-13);
      found += own == 0;
      for (b = 0; b < k; b++) {
        assert_true(a == b || fabs(products[(i * k + a) * k + b]) < 1e-13);
        assert_true(b >= a || coarse[(i * k + a) * k + b] == 0); /* R is upper triangular */
      }
    }
  }
  assert_int_equal(found, zeros);
  free(products);
  mbi_release(context, coarse);
}

static void test_vectors(void **state) {
  merbit_context *context = cpu_open(NULL, 2);
  const bed_grid g = {7, 0, 0, 0.9, 10, 1, 0.7};
  int vectors, block, dropped = 0;
  (void)state;
  for (block = 1; block <= 3; block += 2) {
    for (vectors = 1; vectors <= 6; vectors++) {
      mbi_amg_csr a = bed_laplacian(context, &g);
      mbi_amg_level level;
      if (block == 3) {
        mbi_amg_csr blocks = bed_blocks(context, &a);
        mbi_amg_csr_release(context, &a);
        a = blocks;
      }
      bed_level(context, a, block, vectors, 0.1, &level);
      assert_true(level.aggregates > 1);
      dropped += missing(&level);
      check(context, &level, missing(&level));
      mbi_amg_level_release(context, &level);
    }
  }
  assert_true(dropped > 0);
  merbit_context_destroy(context);
}

/* The last of three vectors is the sum of the others; the first is zero on some aggregates. */
static void test_dependent(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  mbi_amg_level level;
  int64_t i;
  (void)state;
  bed_level(context, bed_poisson(context, 12, 1), 1, 3, 0.1, &level);
  for (i = 0; i < level.a.rows; i++) {
    level.modes[3 * i] = level.aggregate[i] % 2;
    level.modes[3 * i + 2] = level.modes[3 * i] + level.modes[3 * i + 1];
  }
  /* The third vector on all, and the first on every other aggregate. */
  check(context, &level, level.aggregates + (level.aggregates + 1) / 2);
  mbi_amg_level_release(context, &level);
  merbit_context_destroy(context);
}

static void test_threads(void **state) {
  merbit_context *one = cpu_open(NULL, 1), *four = cpu_open(NULL, 4);
  mbi_amg_level first, second;
  double *coarse, *other;
  size_t bytes;
  (void)state;
  bed_level(one, bed_poisson(one, 24, 0), 1, 3, 0.1, &first);
  bed_level(four, bed_poisson(four, 24, 0), 1, 3, 0.1, &second);
  assert_int_equal(mbi_amg_tentative(one, &first, &coarse), MERBIT_OK);
  assert_int_equal(mbi_amg_tentative(four, &second, &other), MERBIT_OK);
  bytes = (size_t)first.aggregates * 9 * sizeof *coarse;
  assert_memory_equal(coarse, other, bytes);
  assert_memory_equal(first.t, second.t, (size_t)first.a.rows * 3 * sizeof *first.t);
  mbi_release(one, coarse);
  mbi_release(four, other);
  mbi_amg_level_release(one, &first);
  mbi_amg_level_release(four, &second);
  merbit_context_destroy(one);
  merbit_context_destroy(four);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_vectors),
                                     cmocka_unit_test(test_dependent),
                                     cmocka_unit_test(test_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
