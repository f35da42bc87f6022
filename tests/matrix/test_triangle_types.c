/* One triangle in types that are expanded: complex, short and mixed values; requirements on the
 * diagonal. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "support/products.h"

enum { SIDE = 6 };

/* Computes op(A) for whole complex numbers from the given triangle. */
static void dense(const double entries[SIDE][SIDE][2], int symmetry, int operation,
                  double a[SIDE][SIDE][2]) {
  int i, j;
  for (i = 0; i < SIDE; i++) {
    for (j = 0; j < SIDE; j++) {
      const int mirror = (j > i) == (operation == MERBIT_OPERATION_N) && i != j;
      const double *from = j > i ? entries[j][i] : entries[i][j];
      a[i][j][0] = from[0] * (mirror && symmetry == MERBIT_SYMMETRY_SKEW ? -1 : 1);
      a[i][j][1] = from[1] * (mirror && symmetry != MERBIT_SYMMETRY_SYMMETRIC ? -1 : 1) *
                   (operation == MERBIT_OPERATION_H ? -1 : 1);
    }
  }
}

static void store(merbit_type type, void *array, int at, const double value[2]) {
  const float single[2] = {(float)value[0], (float)value[1]};
  uint32_t bits;
  uint16_t half;
  memcpy(&bits, single, sizeof bits);
  half = (uint16_t)(bits >> 16);
  if (type == MERBIT_C128) {
    memcpy((double *)array + 2 * at, value, 16);
  } else if (type == MERBIT_C64) {
    memcpy((float *)array + 2 * at, single, 8);
  } else if (type == MERBIT_BF16) {
    memcpy((uint16_t *)array + at, &half, 2);
  } else {
    memcpy((float *)array + at, single, 4);
  }
}

/* Complex, short and mixed types, which are expanded: exact products, with new values. */
static void other_types(void **state) {
  static const merbit_type types[] = {MERBIT_C128, MERBIT_C64, MERBIT_BF16, MERBIT_F32};
  merbit_context *context = cpu_open(NULL, 1);
  int way;
  (void)state;
  for (way = 0; way < 4 * 3 * 3 * 2; way++) {
    const merbit_type type = types[way % 4];
    const int complex = type == MERBIT_C128 || type == MERBIT_C64, lower = way / 36;
    const int symmetry = 1 + way / 4 % 3, operation = way / 12 % 3;
    double entries[SIDE][SIDE][2], a[SIDE][SIDE][2], memory[2 * SIDE * SIDE], x[2 * SIDE],
        y[2 * SIDE];
    int32_t rows[SIDE * SIDE], cols[SIDE * SIDE];
    int i, j, round, nnz;
    merbit_view view;
    merbit_plan_desc desc;
    merbit_plan *plan = NULL;
    memset(&desc, 0, sizeof desc);
    desc.operation = (merbit_operation)operation;
    desc.vector_type = type == MERBIT_F32 ? MERBIT_F64 : MERBIT_TYPE_DEFAULT;
    for (round = 0; round < 2; round++) {
      nnz = 0;
      for (i = 0; i < SIDE; i++) {
        for (j = 0; j <= i; j++) {
          entries[i][j][0] =
              i == j && symmetry == MERBIT_SYMMETRY_SKEW ? 0 : 1 + i + 2 * j + round;
          entries[i][j][1] = complex && i != j ? 1 + i - 3 * j : 0;
          if (i != j || symmetry != MERBIT_SYMMETRY_SKEW) {
            rows[nnz] = lower ? i : j;
            cols[nnz] = lower ? j : i;
            store(type, memory, nnz++, entries[i][j]);
          }
        }
      }
      view = merbit_csr(SIDE, SIDE, nnz, NULL, cols, memory);
      view.format = MERBIT_COO;
      view.row_ind = rows;
      view.value_type = type;
      view.symmetry = (merbit_symmetry)symmetry;
      if (round == 0) {
        products_done(context, merbit_plan_create(context, &view, &desc, &plan), "a plan");
      } else {
        products_done(context, merbit_plan_update_values(plan, memory, MERBIT_MEMORY_HOST),
                      "new");
      }
      for (i = 0; i < SIDE; i++) {
        const double value[2] = {(double)(i - 2), (double)(complex ? 2 * i - 3 : 0)};
        if (type == MERBIT_F32) {
          x[i] = value[0]; /* vectors of f64 */
        } else {
          store(complex ? type : MERBIT_F32, x, i, value);
        }
      }
      products_done(context, merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL), "a product");
      for (i = 0; i < SIDE; i++) { /* the upper triangle's values: the mirror images */
        for (j = 0; j <= i && !lower; j++) {
          entries[i][j][0] *= symmetry == MERBIT_SYMMETRY_SKEW ? -1 : 1;
          entries[i][j][1] *= symmetry != MERBIT_SYMMETRY_SYMMETRIC ? -1 : 1;
        }
      }
      dense((const double(*)[SIDE][2])entries, symmetry, operation, a);
      for (i = 0; i < SIDE; i++) {
        double sum[2] = {0, 0}, expected[2];
        for (j = 0; j < SIDE; j++) {
          const double re = j - 2, im = complex ? 2 * j - 3 : 0;
          sum[0] += a[i][j][0] * re - a[i][j][1] * im;
          sum[1] += a[i][j][0] * im + a[i][j][1] * re;
        }
        if (type == MERBIT_F32) {
          assert_true(y[i] == sum[0]);
          continue;
        }
        store(complex ? type : MERBIT_F32, expected, 0, sum);
        assert_memory_equal((const char *)y + i * (type == MERBIT_C128  ? 16
                                                   : type == MERBIT_C64 ? 8
                                                                        : 4),
                            expected,
                            type == MERBIT_C128  ? 16
                            : type == MERBIT_C64 ? 8
                                                 : 4);
      }
    }
    merbit_plan_destroy(plan);
  }
  merbit_context_destroy(context);
}

/* The diagonal of a Hermitian matrix is real. */
static void real_diagonal(void **state) {
  static const int32_t ptr[] = {0, 1, 3}, col[] = {0, 0, 1};
  static const double pairs[] = {1, 10, 0.5, 5}; /* vectors (1, 0.5) and (10, 5) */
  double numbers[] = {1, 0, 2, 3, 4, 5}, products[4];
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = merbit_csr(2, 2, 3, ptr, col, numbers);
  merbit_plan_desc desc;
  merbit_plan_info info;
  merbit_plan *plan;
  (void)state;
  view.value_type = MERBIT_C128;
  view.symmetry = MERBIT_SYMMETRY_HERMITIAN;
  assert_int_equal(merbit_view_check(context, &view), MERBIT_INVALID_MATRIX);
  cpu_expect(context, MERBIT_INVALID_MATRIX,
             "entry 2, (1, 1), lies on the diagonal, which is real");
  view.symmetry = MERBIT_SYMMETRY_SYMMETRIC;
  assert_int_equal(merbit_view_check(context, &view), MERBIT_OK);
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_SYMMETRIC;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_NOT_SUPPORTED);
  cpu_expect(context, MERBIT_NOT_SUPPORTED, "MERBIT_METHOD_SYMMETRIC, which does not take c128");
  view.value_type = MERBIT_F64; /* both triangles with MERGE: several vectors, a semiring */
  view.symmetry = MERBIT_SYMMETRY_SYMMETRIC;
  desc.method = MERBIT_METHOD_AUTO;
  desc.vectors = 2, desc.vector_order = MERBIT_VECTORS_ROW_MAJOR;
  products_done(context, merbit_plan_create(context, &view, &desc, &plan), "vectors");
  products_done(context, merbit_spmm(plan, NULL, NULL, pairs, 2, NULL, products, 2, NULL),
                "two");
  assert_true(products[0] == 1 && products[1] == 10 && products[2] == 1 && products[3] == 10);
  merbit_plan_destroy(plan);
  desc.vectors = 0;
  desc.semiring = MERBIT_SEMIRING_MIN_PLUS;
  products_done(context, merbit_plan_create(context, &view, &desc, &plan), "a semiring");
  assert_int_equal(merbit_plan_get_info(plan, &info), MERBIT_OK);
  assert_int_equal(info.method, MERBIT_METHOD_MERGE);
  products_done(context, merbit_spmv(plan, NULL, NULL, numbers + 3, NULL, numbers, NULL),
                "min");
  assert_true(numbers[0] == 4 && numbers[1] == 3); /* min(1+3, 0+4), min(0+3, 2+4) */
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(other_types),
      cmocka_unit_test(real_diagonal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
