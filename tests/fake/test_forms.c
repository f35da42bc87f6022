/* Which forms of values AUTO chooses for a matrix that exceeds the caches: those that pay with
 * the methods that suit its rows. */
#define MBI_CHOOSE_SMALL 0u /* tiny matrices stand for large ones */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fake/scenarios.h"

enum { FORM_ROWS = 1024, FORM_NONZEROS = 16 * FORM_ROWS };

enum { EVENLY, ONE_IN_EIGHT, ONE_IN_64, LINKING }; /* distributions of row lengths */

/* A clock in kHz at which loads from L2 take 0.1 us. */
#define FORM_CLOCK 4000000

/* Makes FORM_ROWS rows of `length` nonzeros; or one row in eight with eight times as many; or
 * one in 64 with 64 times as many, which leaves half of its slice empty; or the first 32 rows
 * with 480 times as many. Columns are not adjacent, so that there are no blocks. */
static merbit_view rows_of(int length, int uneven, int32_t *row_ptr, int32_t *col_ind) {
  int i, k;
  row_ptr[0] = 0;
  for (i = 0; i < FORM_ROWS; i++) {
    const int count = uneven == EVENLY         ? length
                      : uneven == ONE_IN_EIGHT ? (i % 8 == 0 ? 8 * length : 0)
                      : uneven == ONE_IN_64    ? (i % 64 == 0 ? 64 * length : 0)
                      : i < 32                 ? 480 * length
                                               : length;
    for (k = 0; k < count; k++) {
      col_ind[row_ptr[i] + k] = (i * 37 + k * k * 3 + 5 * k) % FORM_ROWS;
    }
    row_ptr[i + 1] = row_ptr[i] + count;
  }
  return merbit_csr(FORM_ROWS, FORM_ROWS, row_ptr[FORM_ROWS], row_ptr, col_ind, NULL);
}

static void expect_form(int length, int uneven, merbit_type type, int by_row, double step,
                        const char *form) {
  static int32_t row_ptr[FORM_ROWS + 1], col_ind[FORM_NONZEROS];
  static double doubles[FORM_NONZEROS];
  static float floats[FORM_NONZEROS];
  merbit_view view = rows_of(length, uneven, row_ptr, col_ind);
  merbit_context *context;
  merbit_plan_desc desc;
  merbit_plan *plan = NULL;
  char line[1024];
  int i, k;
  for (i = 0; i < FORM_ROWS; i++) {
    for (k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
      doubles[k] = 1 + step * (by_row ? i : k % 300);
      floats[k] = (float)doubles[k];
    }
  }
  view.values = type == MERBIT_F32 ? (const void *)floats : doubles;
  view.value_type = type;
  fake_reset();
  cuda->clock = FORM_CLOCK;
  context = fake_context(NULL);
  memset(&desc, 0, sizeof desc);
  desc.vector_memory = MERBIT_MEMORY_HOST;
  assert_int_equal(make_plan(context, &view, &desc, &plan), MERBIT_OK);
  (void)merbit_plan_describe(plan, line, sizeof line);
  if (strstr(line, form) == NULL) {
    fail_msg("not %s: %s", form, line);
  }
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
  fake_expect_clean();
}

/* 300 different values, none of them halves. */
static void general_values(void **state) {
  (void)state;
  expect_form(5, EVENLY, MERBIT_F64, 0, 1e-9, "; general values;");
  expect_form(5, EVENLY, MERBIT_F32, 0, 1e-5, "; general values;");
}

/* Values equal in each row pay in slices, which need rows of similar length, at least after
 * sorting. Tables, too, pay only there. */
static void values_of_rows(void **state) {
  (void)state;
  expect_form(5, EVENLY, MERBIT_F64, 1, 1e-9, "; values equal in each row;");
  expect_form(5, ONE_IN_EIGHT, MERBIT_F64, 1, 1e-9, "; values from a table, by bytes;");
  expect_form(5, ONE_IN_64, MERBIT_F64, 1, 1e-9, "; general values;");
}

/* 32 adjacent rows of 480 leave slices full, but one lane would walk such a row for longer than
 * SCAN takes. With several lanes it does not, and then values equal in each row do not pay. */
static void linking_rows(void **state) {
  (void)state;
  expect_form(1, LINKING, MERBIT_F64, 1, 1e-9, "rows on ");
  expect_form(1, LINKING, MERBIT_F64, 1, 1e-9, "; general values;");
}

/* Halves do not pay in f32 if rows are so short that lanes load two nonzeros at once. */
static void halves(void **state) {
  (void)state;
  expect_form(5, ONE_IN_EIGHT, MERBIT_F32, 0, 0x1p-10, "; values exact in f16;");
  expect_form(3, EVENLY, MERBIT_F32, 0, 0x1p-10, "; general values;");
  expect_form(3, EVENLY, MERBIT_F64, 0, 0x1p-10, "; values exact in f16;");
}

/* mbi_choose_inspects names the programs that the choice will need, given the method, the
 * number of products and whether there are values. */
static void inspected_at_once(void **state) {
  enum {
    ROWS_OF = 1 << MBI_CSR_NONEMPTY,
    VALUES_OF = 1 << MBI_CSR_VALUES,
    COLUMNS_OF = 1 << MBI_CSR_SAMPLE,
    BLOCKS_OF = 1 << MBI_CSR_BLOCKS
  };
  static const struct {
    merbit_method method;
    int calls, pattern;
    uint32_t programs;
  } cases[] = {{MERBIT_METHOD_AUTO, 100, 0, ROWS_OF | VALUES_OF | COLUMNS_OF | BLOCKS_OF},
               {MERBIT_METHOD_AUTO, 100, 1, ROWS_OF | COLUMNS_OF | BLOCKS_OF},
               {MERBIT_METHOD_AUTO, MBI_VALUES_CALLS, 0, ROWS_OF | VALUES_OF | COLUMNS_OF},
               {MERBIT_METHOD_AUTO, 2, 0, ROWS_OF | COLUMNS_OF},
               {MERBIT_METHOD_SCAN, 100, 0, ROWS_OF | VALUES_OF},
               {MERBIT_METHOD_SCAN, 2, 0, 0},
               {MERBIT_METHOD_MERGE, 100, 0, 0}};
  static int32_t row_ptr[FORM_ROWS + 1], col_ind[FORM_NONZEROS];
  static double values[FORM_NONZEROS];
  merbit_view view = rows_of(5, EVENLY, row_ptr, col_ind);
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    merbit_context *context;
    merbit_plan_desc desc;
    merbit_plan *plan = NULL;
    fake_reset();
    context = fake_context(NULL);
    view.values = cases[i].pattern ? NULL : values;
    memset(&desc, 0, sizeof desc);
    desc.side = MERBIT_SIDE_CUDA;
    desc.method = cases[i].method;
    desc.expected_calls = cases[i].calls;
    assert_int_equal(make_plan(context, &view, &desc, &plan), MERBIT_OK);
    plan->method = cases[i].method; /* as before the choice */
    plan->device.form = MBI_VALUES_GENERAL;
    assert_int_equal(mbi_choose_inspects(plan), cases[i].programs);
    merbit_plan_destroy(plan);
    merbit_context_destroy(context);
    fake_expect_clean();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(inspected_at_once),
      cmocka_unit_test(general_values),
      cmocka_unit_test(values_of_rows),
      cmocka_unit_test(linking_rows),
      cmocka_unit_test(halves),
  };
  fake_open("new");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
