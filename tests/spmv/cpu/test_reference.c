/* The sequential row loop: every matrix in every form meets the componentwise bound; alpha 0
 * reads nothing, beta 0 does not read y, NaN and Inf stay in their rows. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/products.h"

static void multiply(void *user, const merbit_view *csr, const void *alpha, const void *x,
                     const void *beta, void *y) {
  (void)user;
  mbi_reference_multiply(csr, csr->values, alpha, x, beta, y);
}

static void every_matrix_in_every_form(void **state) {
  int i, bits, a, b;
  (void)state;
  for (i = test_matrix_first(); i < test_matrix_count(); i += test_matrix_step()) {
    for (bits = 0; bits < 16; bits++) {
      products_case c;
      products_generate(i, bits, &c);
      for (a = 0; a < 4; a++) {
        for (b = 0; b < 4; b++) {
          products_once(&c, products_scalars[a], products_scalars[b], multiply, NULL);
        }
      }
      products_generated_free(&c);
    }
  }
}

static void nan_and_inf_stay_in_their_rows(void **state) {
  int i, bits;
  (void)state;
  for (i = test_matrix_first(); i < test_matrix_count(); i += test_matrix_step()) {
    for (bits = 0; bits < 8; bits += 7) {
      products_case c;
      products_generate(i, bits, &c);
      products_spoil_x(&c, 23);
      products_once(&c, 1, 0, multiply, NULL);
      products_once(&c, -1, 0.5, multiply, NULL);
      products_once(&c, 0, 0.5, multiply, NULL);
      products_generated_free(&c);
    }
  }
}

/* Only the array y exists. */
static void alpha_zero_reads_only_y(void **state) {
  const double zero = 0, half = 0.5;
  const float zero_single = 0, half_single = 0.5f;
  double y[3] = {1, -4, NAN};
  float y_single[3] = {1, -4, NAN};
  merbit_view view = merbit_csr(2, 3, 9, NULL, NULL, NULL);
  (void)state;
  mbi_reference_multiply(&view, NULL, &zero, NULL, &half, y);
  assert_true(y[0] == 0.5 && y[1] == -2 && isnan(y[2]));
  view.rows = 3;
  mbi_reference_multiply(&view, NULL, &zero, NULL, &zero, y);
  assert_true(y[0] == 0 && y[1] == 0 && y[2] == 0);
  view.value_type = MERBIT_F32;
  view.rows = 2;
  mbi_reference_multiply(&view, NULL, &zero_single, NULL, &half_single, y_single);
  assert_true(y_single[0] == 0.5f && y_single[1] == -2 && isnan(y_single[2]));
}

/* A matrix without entries needs no arrays of entries. */
static void missing_arrays_of_an_empty_matrix(void **state) {
  static const int32_t row_ptr[] = {1, 1, 1};
  const double one = 1, zero = 0;
  double y[2] = {NAN, NAN};
  merbit_view view = merbit_csr(2, 0, 0, row_ptr, NULL, NULL);
  (void)state;
  view.base = 1;
  mbi_reference_multiply(&view, NULL, &one, NULL, &zero, y);
  assert_true(y[0] == 0 && y[1] == 0);
  y[0] = 3;
  y[1] = 4;
  mbi_reference_multiply(&view, NULL, &one, NULL, &one, y);
  assert_true(y[0] == 3 && y[1] == 4);
  view = merbit_csr(0, 2, 0, NULL, NULL, NULL);
  mbi_reference_multiply(&view, NULL, &one, y, &zero, NULL);
}

/* The passed values are used, not the view's; sums of -0 are +0. */
static void values_and_signs_of_zero(void **state) {
  static const int32_t row_ptr[] = {0, 2, 2}, col_ind[] = {0, 1};
  static const double in_view[] = {5, 6}, passed[] = {-0.0, -0.0}, ones[] = {1, 1};
  const double one = 1, zero = 0;
  double y[2] = {NAN, NAN};
  merbit_view view = merbit_csr(2, 2, 2, row_ptr, col_ind, in_view);
  (void)state;
  mbi_reference_multiply(&view, passed, &one, ones, &zero, y);
  assert_true(y[0] == 0 && !signbit(y[0]) && y[1] == 0 && !signbit(y[1]));
  mbi_reference_multiply(&view, NULL, &one, ones, &zero, y);
  assert_true(y[0] == 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_matrix_in_every_form),
      cmocka_unit_test(nan_and_inf_stay_in_their_rows),
      cmocka_unit_test(alpha_zero_reads_only_y),
      cmocka_unit_test(missing_arrays_of_an_empty_matrix),
      cmocka_unit_test(values_and_signs_of_zero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
