/* Values that a plan stores shorter: which ones, by every method and in both types; products do
 * not change; and new values. All sums are exact. */
#define MBI_VALUES_LAUNCH 0 /* small matrices may store values of columns */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/effort.h"
#include "support/products.h"
#include "support/gpu.h"

enum { ROWS = 130, COLS = 100, MOST = 40 * ROWS };

/* FINE: all equal, but not floats. FEW, OF_ROWS and OF_COLUMNS are not floats in f64 either. */
enum { GENERAL, EQUAL, FLOATS, FINE, HALVES, FEW, OF_ROWS, OF_COLUMNS, FORMS };

static merbit_context *gpu;
static int32_t row_ptr[ROWS + 1], col_ind[MOST], row_of[MOST];
static int64_t nnz;

static void structure(void) {
  uint64_t state = 7;
  int row, k;
  for (row = 0; row < ROWS; row++) {
    const int length = row % 9 == 4 ? 0 : 1 + (int)test_below(&state, 39);
    for (k = 0; k < length; k++) {
      row_of[nnz] = row;
      col_ind[nnz++] = (int32_t)test_below(&state, COLS);
    }
    row_ptr[row + 1] = (int32_t)nnz;
  }
}

/* Returns nonzero k of `form`. In f64 general ones are not floats, in f32 not halves. */
static double value_of(int form, int64_t k, double scale, merbit_type type) {
  const double fine = type == MERBIT_F32 ? 1.0 / 4096 : 1.0 / 1073741824.0; /* 2^-12, 2^-30 */
  switch (form) {
  case EQUAL:
    return 0.75 * scale;
  case FINE:
    return (1 + fine) * scale;
  case FLOATS:
    return (4097 + 2 * (double)(k % 999)) * scale;
  case HALVES:
    return ((double)(k % 701) - 350) / 8 * scale;
  case FEW:
    return ((double)(k * 37 % 200) + 1 + fine) * scale;
  case OF_ROWS:
    return ((double)(row_of[k] + 1) + fine) * scale;
  case OF_COLUMNS:
    return ((double)(col_ind[k] + 1) + fine) * scale;
  default:
    return ((double)(k * 31 % 4001) + 0.5 + (type == MERBIT_F32 ? 0 : (double)(k % 5) * fine)) *
           scale;
  }
}

static void *numbers(int form, double scale, merbit_type type) {
  void *made = products_exact(nnz, products_size(type));
  int64_t k;
  for (k = 0; k < nnz; k++) {
    products_set(made, k, value_of(form, k, scale, type), type);
  }
  return made;
}

static double number(const void *array, int64_t i, merbit_type type) {
  return type == MERBIT_F32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

static void expect_product(merbit_plan *plan, merbit_workspace *workspace, const void *values,
                           merbit_type type) {
  char x[COLS * 8], y[ROWS * 8];
  int64_t row, k;
  for (k = 0; k < COLS; k++) {
    products_set(x, k, (double)(k % 7 - 3), type);
  }
  memset(y, 0xff, sizeof y);
  assert_int_equal(merbit_spmv(plan, workspace, NULL, x, NULL, y, NULL), MERBIT_OK);
  for (row = 0; row < ROWS; row++) {
    double sum = 0;
    for (k = row_ptr[row]; k < row_ptr[row + 1]; k++) {
      sum += number(values, k, type) * (double)(col_ind[k] % 7 - 3);
    }
    if (number(y, row, type) != sum) {
      fail_msg("y[%d] is %a, not %a", (int)row, number(y, row, type), sum);
    }
  }
}

/* Checks the last nonzero alone: x is 1 in its column, else 0. The last row has no other
 * nonzero in that column, and none that is Inf or NaN. */
static void expect_last(merbit_plan *plan, double last, merbit_type type) {
  char x[COLS * 8], y[ROWS * 8];
  int64_t k;
  double got;
  for (k = 0; k < COLS; k++) {
    products_set(x, k, k == col_ind[nnz - 1] ? 1 : 0, type);
  }
  assert_int_equal(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), MERBIT_OK);
  got = number(y, row_of[nnz - 1], type);
  for (k = row_ptr[row_of[nnz - 1]]; k < nnz - 1; k++) {
    assert_int_not_equal(col_ind[k], col_ind[nnz - 1]);
  }
  if (!(got == last || (isnan(got) && isnan(last)))) {
    fail_msg("the last value is %a, not %a", got, last);
  }
}

static void expect_form(const merbit_plan *plan, const char *form) {
  char line[1024];
  (void)merbit_plan_describe(plan, line, sizeof line);
  if (strstr(line, form) == NULL) {
    fail_msg("not \"%s\": %s", form, line);
  }
}

static merbit_plan *plan_of(merbit_view *view, merbit_method method, int calls, int changing) {
  merbit_plan_desc desc;
  merbit_plan *plan;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CUDA;
  desc.method = method;
  desc.tuning = method == MERBIT_METHOD_SCAN ? "whole=1" : NULL; /* AUTO chooses whole rows */
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.expected_calls = calls;
  desc.changing_values = changing;
  assert_int_equal(merbit_plan_create(gpu, view, &desc, &plan), MERBIT_OK);
  return plan;
}

/* The ways to store values. */
enum { IN_GENERAL, IN_EQUAL, IN_COLUMNS, IN_ROWS, IN_TABLE, IN_HALVES, IN_FLOATS };

static const char *const names[] = {"; general values;",
                                    "; values all equal;",
                                    "; values equal in each column;",
                                    "; values equal in each row;",
                                    "; values from a table, by bytes;",
                                    "; values exact in f16;",
                                    "; values exact in f32;"};

/* Returns the way in which a plan stores values of a form. */
static int expected(int form, int single, int method, int calls, int changing) {
  /* AUTO does not change what fits in L2. */
  const int some = gpu_method(method) == MERBIT_METHOD_CB ||
                   gpu_method(method) == MERBIT_METHOD_AUTO || calls < 24;
  if (gpu_method(method) == MERBIT_METHOD_MERBIT || gpu_method(method) == MERBIT_METHOD_MERGE ||
      changing || calls < 8) {
    return IN_GENERAL;
  }
  switch (form) {
  case EQUAL:
  case FINE:
    return IN_EQUAL;
  case FLOATS:
    return single ? IN_GENERAL : IN_FLOATS;
  case HALVES:
    return !some ? IN_HALVES : single ? IN_GENERAL : IN_FLOATS;
  case FEW:
    return some || gpu_method(method) == MERBIT_METHOD_SCAN ? IN_GENERAL : IN_TABLE;
  case OF_ROWS:
    return some || gpu_method(method) == MERBIT_METHOD_SCAN ? IN_GENERAL : IN_ROWS;
  case OF_COLUMNS:
    return some ? IN_GENERAL : IN_COLUMNS;
  default:
    return IN_GENERAL;
  }
}

/* Returns whether values can be stored in that way, one by one. */
static int fits(const void *values, merbit_type type, int stored) {
  double different[257];
  int count = 0, fit = 1;
  int64_t k, i;
  for (k = 0; k < nnz; k++) {
    const double value = number(values, k, type);
    int seen = 0;
    for (i = 0; i < count; i++) {
      seen = seen || different[i] == value;
    }
    if (!seen && count < 257) {
      different[count++] = value;
    }
    for (i = 0; i < k && (stored == IN_COLUMNS || stored == IN_ROWS); i++) {
      const int together =
          stored == IN_ROWS ? row_of[i] == row_of[k] : col_ind[i] == col_ind[k];
      fit = fit && (!together || number(values, i, type) == value);
    }
    /* All are below 65,504, and none is below 2^-14. */
    fit = fit && (stored != IN_HALVES || ldexp(value, 10) == 0 ||
                  fmod(value, ldexp(1, ilogb(value) - 10)) == 0);
    fit = fit && (stored != IN_FLOATS || (double)(float)value == value);
  }
  return fit && (stored != IN_EQUAL || count == 1) && (stored != IN_TABLE || count <= 256);
}

/* Returns whether to skip a case in quick effort, where programs compile slowly: half of the
 * forms run with each method, in one type; other seeds select the others. */
static int skipped(int method, int form, int single) {
  const int seed = gpu_first_of(4);
  return test_effort(1, 0) && ((method + form) % 2 != seed % 2 ||
                               (method + form) / 2 % 2 != (single + seed / 2) % 2);
}

static void every_method_takes_every_form(void **state) {
  static const int calls[] = {7, 8, 23, 24};
  int method, form, single, way;
  (void)state;
  for (method = 0; method < gpu_method_count(); method++) {
    for (form = 0; form < FORMS; form++) {
      for (single = 0; single < 2; single++) {
        for (way = skipped(method, form, single) ? 5 : 0; way < 5; way++) {
          const merbit_type type = single ? MERBIT_F32 : MERBIT_F64;
          const int count = calls[way < 4 ? way : 3], changing = way == 4;
          void *values = numbers(form, 1, type);
          merbit_view view = merbit_csr(ROWS, COLS, nnz, row_ptr, col_ind, values);
          merbit_plan *plan;
          view.value_type = type;
          plan = plan_of(&view, gpu_method(method), count, changing);
          expect_form(plan, names[expected(form, single, method, count, changing)]);
          if (way != 1 && way != 2) {
            expect_product(plan, NULL, values, type);
          }
          merbit_plan_destroy(plan);
          free(values);
        }
      }
    }
  }
}

/* A plan of values of `form` gets those of `then`, and the old ones again. New values that fit
 * stay short; others make the plan general for good. A borrowed array is left alone. */
static void take_new_values(int method, int form, int then, int single, int device) {
  const merbit_type type = single ? MERBIT_F32 : MERBIT_F64;
  const size_t bytes = (size_t)nnz * products_size(type);
  void *values = numbers(form, 1, type), *fresh = numbers(then, 2, type);
  merbit_view view = merbit_csr(ROWS, COLS, nnz, row_ptr, col_ind, values);
  merbit_buffer *buffers[4];
  merbit_workspace *workspace;
  merbit_plan *plan;
  int now = expected(form, single, method, 100, 0), i;
  view.value_type = type;
  (void)products_move(gpu, row_ptr, sizeof row_ptr, &buffers[0]);
  (void)products_move(gpu, col_ind, (size_t)nnz * 4, &buffers[1]);
  (void)products_move(gpu, values, bytes, &buffers[2]);
  (void)products_move(gpu, fresh, bytes, &buffers[3]);
  if (device) {
    view.memory = MERBIT_MEMORY_DEVICE;
    view.row_ptr = merbit_buffer_pointer(buffers[0]);
    view.col_ind = merbit_buffer_pointer(buffers[1]);
    view.values = merbit_buffer_pointer(buffers[2]);
  }
  plan = plan_of(&view, gpu_method(method), 0, 0);
  assert_int_equal(merbit_workspace_create(plan, &workspace), MERBIT_OK);
  expect_form(plan, names[now]);
  now = fits(fresh, type, now) ? now : IN_GENERAL;
  assert_int_equal(
      merbit_plan_update_values(plan, then % 2 ? merbit_buffer_pointer(buffers[3]) : fresh,
                                then % 2 ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST),
      MERBIT_OK);
  expect_form(plan, names[now]);
  expect_product(plan, NULL, fresh, type);
  expect_product(plan, workspace, fresh, type);
  assert_int_equal(merbit_plan_update_values(plan, values, MERBIT_MEMORY_HOST), MERBIT_OK);
  expect_form(plan, names[now]);
  expect_product(plan, workspace, values, type);
  assert_int_equal(merbit_buffer_download(buffers[2], 0, fresh, bytes), MERBIT_OK);
  assert_memory_equal(fresh, values, bytes);
  merbit_workspace_destroy(workspace);
  merbit_plan_destroy(plan);
  for (i = 0; i < 4; i++) {
    merbit_buffer_destroy(buffers[i]);
  }
  free(values);
  free(fresh);
}

static void new_values_of_every_form(void **state) {
  int method, form, then, single;
  (void)state;
  for (method = 0; method < gpu_method_count(); method++) {
    for (form = 0; form < FORMS; form++) {
      for (then = 0; then < FORMS; then++) {
        for (single = 0; single < 2; single++) {
          if (!skipped(method, form, single)) {
            take_new_values(method, form, then, single, (form + then / 2) % 2);
          }
        }
      }
    }
  }
}

/* One value at the end, which no sample sees, against forms that all other values have; and 256
 * and 257 different values. Differences in bits count. */
static void borders(void **state) {
  static const struct {
    double others, last;
    int wide, narrow; /* stored as, in f64 and f32 */
  } cases[] = {{0, 65504, IN_TABLE, IN_TABLE},
               {0.5, -0.0, IN_TABLE, IN_TABLE},
               {0.0, -0.0, IN_TABLE, IN_TABLE},
               {-1, 65504, IN_HALVES, IN_HALVES},
               {-1, 65520, IN_FLOATS, IN_GENERAL},
               {-1, INFINITY, IN_HALVES, IN_HALVES},
               {-1, NAN, IN_GENERAL, IN_GENERAL},
               {-1, 0x1p-24, IN_HALVES, IN_HALVES},
               {-1, 0x1p-25, IN_FLOATS, IN_GENERAL},
               {-1, -0.0, IN_HALVES, IN_HALVES},
               {-1, 0x1p-149, IN_FLOATS, IN_GENERAL},
               {-1, 1e-300, IN_GENERAL, IN_HALVES},
               {-1, 0x1.fffffep127, IN_FLOATS, IN_GENERAL},
               {-2, 0.1, IN_TABLE, IN_TABLE},
               {-3, 0.1, IN_GENERAL, IN_GENERAL}};
  size_t c;
  int single;
  (void)state;
  for (c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    for (single = 0; single < 2; single++) {
      const merbit_type type = single ? MERBIT_F32 : MERBIT_F64;
      void *values = numbers(EQUAL, 1, type);
      merbit_view view = merbit_csr(ROWS, COLS, nnz, row_ptr, col_ind, values);
      const double last = single ? (double)(float)cases[c].last : cases[c].last;
      merbit_plan *plan;
      int64_t k;
      for (k = 0; k < nnz; k++) { /* -1: halves; -2, -3: 255 and 256 general ones */
        products_set(values, k,
                     cases[c].others == -1   ? value_of(HALVES, k, 1, type)
                     : cases[c].others == -2 ? 1.1 * (double)(k % 255 + 1)
                     : cases[c].others == -3 ? 1.1 * (double)(k % 256 + 1)
                                             : cases[c].others,
                     type);
      }
      products_set(values, nnz - 1, last, type);
      view.value_type = type;
      plan = plan_of(&view, MERBIT_METHOD_ROWS, 0, 0);
      expect_form(plan, names[single ? cases[c].narrow : cases[c].wide]);
      expect_last(plan, last, type);
      merbit_plan_destroy(plan);
      free(values);
    }
  }
}

/* A pattern so large that SCAN takes long tiles for it keeps their size when it gets general
 * values, because workspaces have room for as many carries as it has tiles. */
static void tiles_keep_their_size(void **state) {
  enum { LENGTH = 16, WIDE = 999 };
  const int64_t rows = 49152 / LENGTH * (int64_t)gpu->device.multiprocessors,
                all = rows * LENGTH;
  int32_t *starts = (int32_t *)products_exact(rows + 1, sizeof *starts);
  int32_t *columns = (int32_t *)products_exact(all, sizeof *columns);
  float *values = (float *)products_exact(all, sizeof *values);
  float *y = (float *)products_exact(rows, sizeof *y), x[WIDE];
  merbit_view view = merbit_csr(rows, WIDE, all, starts, columns, values);
  merbit_workspace *workspace;
  merbit_plan *plan;
  int64_t i, k;
  int turn;
  (void)state;
  view.value_type = MERBIT_F32;
  for (i = 0; i <= rows; i++) {
    starts[i] = (int32_t)(i * LENGTH);
  }
  for (k = 0; k < all; k++) {
    columns[k] = (int32_t)(k * 37 % WIDE);
    values[k] = 3;
  }
  for (k = 0; k < WIDE; k++) {
    x[k] = (float)(k % 7 - 3);
  }
  plan = plan_of(&view, MERBIT_METHOD_SCAN, 100, 0);
  assert_int_equal(merbit_workspace_create(plan, &workspace), MERBIT_OK);
  expect_form(plan, "tiles of 32 x 16, ");
  expect_form(plan, names[IN_EQUAL]);
  for (k = 0; k < all; k++) {
    values[k] = (float)(k % 5);
  }
  assert_int_equal(merbit_plan_update_values(plan, values, MERBIT_MEMORY_HOST), MERBIT_OK);
  expect_form(plan, "tiles of 32 x 16, ");
  expect_form(plan, names[IN_GENERAL]);
  for (turn = 0; turn < 2; turn++) {
    assert_int_equal(merbit_spmv(plan, turn ? workspace : NULL, NULL, x, NULL, y, NULL),
                     MERBIT_OK);
    for (i = 0; i < rows; i++) {
      float sum = 0;
      for (k = i * LENGTH; k < (i + 1) * LENGTH; k++) {
        sum += values[k] * x[columns[k]];
      }
      assert_true(y[i] == sum);
    }
  }
  merbit_workspace_destroy(workspace);
  merbit_plan_destroy(plan);
  free(starts);
  free(columns);
  free(values);
  free(y);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_method_takes_every_form),
      cmocka_unit_test(new_values_of_every_form),
      cmocka_unit_test(borders),
      cmocka_unit_test(tiles_keep_their_size),
  };
  int failed;
  structure();
  gpu = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(gpu);
  gpu_clean();
  return failed;
}
