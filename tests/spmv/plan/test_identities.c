/* The identities of support/identities.h on random vectors, for both CPU methods; and what the
 * bits of results depend on. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/effort.h"
#include "support/identities.h"
#include "support/products.h"

typedef struct method { /* number of pieces for a matrix of any size; 0: the sequential loop */
  merbit_context *context;
  int tasks;
} method;

static void multiply(void *user, const test_matrix *m, int single, double alpha, const double *x,
                     double beta, double *y) {
  const method *how = (const method *)user;
  const merbit_type type = single ? MERBIT_F32 : MERBIT_F64;
  products_form form;
  products_arrays a;
  void *typed_x = products_values(x, m->cols, type), *typed_y = products_values(y, m->rows, type);
  void *alpha_at = products_values(&alpha, 1, type), *beta_at = products_values(&beta, 1, type);
  int64_t i;
  memset(&form, 0, sizeof form);
  form.type = type;
  products_arrays_make(NULL, m, &form, &a);
  if (how->tasks == 0) {
    mbi_reference_multiply(&a.view, a.view.values, alpha_at, typed_x, beta_at, typed_y);
  } else {
    void *scratch = malloc(mbi_merge_scratch_bytes(how->tasks, type));
    mbi_merge_multiply(how->context, &a.view, a.view.values, how->tasks, scratch, alpha_at,
                       typed_x, beta_at, typed_y);
    free(scratch);
  }
  for (i = 0; i < m->rows; i++) {
    y[i] = single ? (double)((float *)typed_y)[i] : ((double *)typed_y)[i];
  }
  products_arrays_free(&a);
  free(typed_x);
  free(typed_y);
  free(alpha_at);
  free(beta_at);
}

static void identities_hold(void **state) {
  static const int tasks[] = {0, 1, 3, 40};
  const int seeds = test_effort(1, 10);
  const uint64_t first = test_rotating_seed();
  method how;
  identities_bed bed;
  int i, t, seed;
  (void)state;
  memset(&bed, 0, sizeof bed);
  how.context = bed.context = cpu_open(NULL, 2);
  bed.multiply = multiply;
  bed.user = &how;
  for (i = test_matrix_first(); i < test_matrix_count(); i += test_matrix_step()) {
    for (seed = 0; seed < seeds; seed++) {
      test_matrix m;
      test_matrix_make(i, first + (uint64_t)seed, &m);
      for (t = 0; t < 4; t++) {
        how.tasks = tasks[t];
        for (bed.single = 0; bed.single < 2; bed.single++) {
          identities_check(&bed, &m, first + (uint64_t)(seed * 4 + t));
        }
      }
      test_matrix_free(&m);
    }
  }
  print_message("%ld components within what the bound allows\n", bed.checked);
  merbit_context_destroy(how.context);
}

/* ---- What bits depend on: the table in docs/repeatability.md ----------------------------- */

typedef struct repeated { /* a matrix large enough for four tasks, with vectors */
  test_matrix m;
  products_form form;
  products_arrays a;
  double *x, *y0;
} repeated;

static void repeated_make(repeated *r, int single, int index, uint64_t seed) {
  int64_t i;
  memset(r, 0, sizeof *r);
  test_matrix_make(index, seed, &r->m);
  r->form.type = single ? MERBIT_F32 : MERBIT_F64;
  products_arrays_make(NULL, &r->m, &r->form, &r->a);
  r->x = (double *)test_allocate(r->m.cols, sizeof(double));
  r->y0 = (double *)test_allocate(r->m.rows, sizeof(double));
  for (i = 0; i < r->m.cols; i++) {
    r->x[i] = test_uniform(&seed);
  }
  for (i = 0; i < r->m.rows; i++) {
    r->y0[i] = test_uniform(&seed);
  }
}

static void repeated_free(repeated *r) {
  products_arrays_free(&r->a);
  test_matrix_free(&r->m);
  free(r->x);
  free(r->y0);
}

/* Returns y of a product with a new plan, and optionally a new workspace. */
static void *repeated_product(const repeated *r, int threads, merbit_method plan_method,
                              merbit_plan *shared, int own_workspace) {
  const double pair64[] = {0.3, -1.7};
  const float pair32[] = {0.3f, -1.7f};
  const int single = r->form.type == MERBIT_F32;
  merbit_context *context = shared == NULL ? cpu_open(NULL, threads) : NULL;
  merbit_plan *plan = shared;
  merbit_workspace *workspace = NULL;
  merbit_plan_desc desc;
  void *x = products_values(r->x, r->m.cols, r->form.type);
  void *y = products_values(r->y0, r->m.rows, r->form.type);
  memset(&desc, 0, sizeof desc);
  desc.method = plan_method;
  if (shared == NULL) {
    assert_int_equal(merbit_plan_create(context, &r->a.view, &desc, &plan), MERBIT_OK);
  }
  if (own_workspace) {
    assert_int_equal(merbit_workspace_create(plan, &workspace), MERBIT_OK);
  }
  assert_int_equal(
      merbit_spmv(plan, workspace, single ? (const void *)&pair32[0] : (const void *)&pair64[0], x,
                  single ? (const void *)&pair32[1] : (const void *)&pair64[1], y, NULL),
      MERBIT_OK);
  merbit_workspace_destroy(workspace);
  if (shared == NULL) {
    merbit_plan_destroy(plan);
    merbit_context_destroy(context);
  }
  free(x);
  return y;
}

static void expect_bits(const repeated *r, const void *first, void *y, const char *what) {
  if (memcmp(first, y, (size_t)r->m.rows * mbi_type_size(r->form.type)) != 0) {
    fail_msg("%s: other bits %s", r->m.name, what);
  }
  free(y);
}

static void bits_repeat(void **state) {
  int i, single, threads, run, differ = 0;
  (void)state;
  for (i = test_matrix_first(); i < test_matrix_count(); i += test_matrix_step()) {
    for (single = 0; single < 2; single++) {
      repeated r;
      void *sequential;
      repeated_make(&r, single, i, 5);
      sequential = repeated_product(&r, 1, MERBIT_METHOD_REFERENCE, NULL, 0);
      expect_bits(&r, sequential, repeated_product(&r, 4, MERBIT_METHOD_REFERENCE, NULL, 0),
                  "of the row loop with other threads");
      for (threads = 1; threads <= 4; threads++) {
        merbit_context *context = cpu_open(NULL, threads);
        merbit_plan *plan;
        void *first;
        assert_int_equal(merbit_plan_create(context, &r.a.view, NULL, &plan), MERBIT_OK);
        first = repeated_product(&r, 0, MERBIT_METHOD_AUTO, plan, 0);
        for (run = 0; run < 4; run++) {
          expect_bits(&r, first, repeated_product(&r, 0, MERBIT_METHOD_AUTO, plan, run & 1),
                      "of one plan");
        }
        expect_bits(&r, first, repeated_product(&r, threads, plan->method, NULL, 1),
                    "of a new context with as many threads");
        if (plan->tasks == 1 && plan->method == MERBIT_METHOD_MERGE &&
            r.m.nnz / MBI_MERGE_LONG < r.m.rows) {
          expect_bits(&r, first, repeated_product(&r, 1, MERBIT_METHOD_REFERENCE, NULL, 0),
                      "of one task and the row loop");
        }
        differ += plan->tasks > 1 &&
                  memcmp(first, sequential, (size_t)r.m.rows * mbi_type_size(r.form.type)) != 0;
        merbit_plan_destroy(plan);
        merbit_context_destroy(context);
        free(first);
      }
      free(sequential);
      repeated_free(&r);
    }
  }
  assert_true(differ > 0); /* else docs/repeatability.md is wrong: threads matter */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(identities_hold),
      cmocka_unit_test(bits_repeat),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
