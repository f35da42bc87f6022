/* The multigrid preconditioner on the GPU: solve/amg/amg_cases.h. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "solve/amg/amg_cases.h"

/* Makes a context for each case: the fake driver has no room for the kernels of all. */
static int set_up(void **state) {
  (void)state;
  context = gpu_context();
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  merbit_context_destroy(context);
  return 0;
}

/* Makes a matrix whose first row and column have `longest` entries, and the other rows about
 * 19. */
static mbi_amg_csr make_arrow(int longest) {
  enum { ROWS = 400, NEAR = 9 };
  bed_entry *entries = (bed_entry *)malloc((size_t)ROWS * (2 * NEAR + 3) * sizeof *entries);
  mbi_amg_csr csr;
  int count = 0, i, d;
  for (i = 0; i < ROWS; i++) {
    for (d = -NEAR; d <= NEAR; d++) {
      if (i > 0 && i + d > 0 && i + d < ROWS) {
        entries[count].row = i;
        entries[count].column = i + d;
        entries[count++].value = d == 0 ? 2 * NEAR + 2 : -1;
      }
    }
    if (i < longest) {
      entries[count].row = entries[count + 1].column = 0;
      entries[count].column = entries[count + 1].row = i;
      entries[count].value = entries[count + 1].value = i == 0 ? longest / 2.0 : -1;
      count += 2;
    }
  }
  csr = bed_csr(context, ROWS, ROWS, entries, count);
  free(entries);
  return csr;
}

/* Rows that just fit a group's shared memory: the set-up sorts a matrix whose columns descend,
 * and makes of it what it makes of the sorted one. */
static void test_rows_that_just_fit(void **state) {
  const int apart = gpu_stride() > 1 ? 2 : 1;
  int longest;
  (void)state;
  for (longest = 168 + gpu_first_of(apart); longest <= 171; longest += apart) {
    const merbit_preconditioner_desc desc = amg_desc();
    mbi_amg_csr a = make_arrow(longest);
    double *const r = (double *)malloc((size_t)a.rows * 3 * sizeof *r), *const z = r + a.rows;
    merbit_preconditioner *p = amg_make(&a, &desc);
    int64_t i, k, last;
    for (i = 0; i < a.rows; i++) {
      r[i] = bed_random((uint64_t)i) - 0.5;
    }
    amg_apply(p, r, z);
    merbit_preconditioner_destroy(p);
    for (i = 0; i < a.rows; i++) {
      for (k = a.row_ptr[i], last = a.row_ptr[i + 1] - 1; k < last; k++, last--) {
        const int32_t column = a.col_ind[k];
        const double value = a.values[k];
        a.col_ind[k] = a.col_ind[last];
        a.values[k] = a.values[last];
        a.col_ind[last] = column;
        a.values[last] = value;
      }
    }
    p = amg_make(&a, &desc);
    amg_apply(p, r, z + a.rows);
    for (i = 0; i < a.rows; i++) {
      assert_true(fabs(z[i] - z[a.rows + i]) <= 1e-12);
    }
    merbit_preconditioner_destroy(p);
    mbi_amg_csr_release(context, &a);
    free(r);
  }
}

/* The first update allocates memory, and counts it; the later ones use it. */
static void test_update_memory(void **state) {
  const merbit_preconditioner_desc desc = amg_desc();
  mbi_amg_csr a = bed_poisson(context, 40, 1);
  merbit_preconditioner *p = amg_make(&a, &desc);
  merbit_preconditioner_info info[3];
  int i;
  (void)state;
  for (i = 0; i < 3; i++) {
    assert_true(i == 0 || merbit_preconditioner_update_values(p, a.values,
                                                              MERBIT_MEMORY_HOST) == MERBIT_OK);
    assert_int_equal(merbit_preconditioner_get_info(p, &info[i]), MERBIT_OK);
  }
  assert_true(info[1].device_bytes > info[0].device_bytes);
  assert_int_equal(info[2].device_bytes, info[1].device_bytes);
  merbit_preconditioner_destroy(p);
  mbi_amg_csr_release(context, &a);
}

int main(void) {
  struct CMUnitTest tests[] = {AMG_CASES, cmocka_unit_test(test_rows_that_just_fit),
                               cmocka_unit_test(test_update_memory)};
  size_t i;
  int failed;
  for (i = 0; i < sizeof tests / sizeof *tests; i++) {
    tests[i].setup_func = set_up;
    tests[i].teardown_func = tear_down;
  }
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  gpu_clean();
  return failed;
}
