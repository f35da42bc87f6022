/* Any arrays of the length that the view claims: they are refused exactly if something is wrong
 * with them, else multiplied on the CPU, owned and transposed without an access out of bounds.
 * A byte of the input is added to the entry before it; 255 introduces eight raw bytes. */
#ifndef TEST_FUZZ_TARGET_ARRAYS_H
#define TEST_FUZZ_TARGET_ARRAYS_H
#include "fuzz/fuzz.h"

enum { MOST = 200 }; /* rows and entries; columns are not limited */

typedef struct arrays {
  merbit_view view;
  int64_t ptr[MOST + 1], row[MOST], col[MOST];
  double value[MOST];
} arrays;

static int64_t take(fuzz_input *in, int64_t before) {
  const int64_t byte = fuzz_bytes(in, 1);
  return byte == 255 ? fuzz_bytes(in, 8) : (int64_t)((uint64_t)before + (uint64_t)byte);
}

static void take_indices(fuzz_input *in, int64_t *indices, int64_t count) {
  int64_t i;
  for (i = 0; i < count; i++) {
    indices[i] = take(in, 0);
  }
}

static void take_all(fuzz_input *in, arrays *a) {
  merbit_view *view = &a->view;
  const int64_t flags = fuzz_bytes(in, 2);
  int64_t i;
  memset(a, 0, sizeof *a);
  view->format = flags & 1 ? MERBIT_COO : MERBIT_CSR;
  view->value_type = flags & 2 ? MERBIT_F32 : MERBIT_F64;
  view->offset_type = flags & 4 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  view->index_type = flags & 8 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  view->base = (int)(flags >> 4 & 1);
  view->rows = fuzz_bytes(in, 1) % MOST;
  view->nnz = fuzz_bytes(in, 1) % MOST;
  view->cols = take(in, 0);
  for (i = 0; i <= view->rows && view->format == MERBIT_CSR; i++) {
    a->ptr[i] = take(in, i > 0 ? a->ptr[i - 1] : 0);
  }
  if (view->format == MERBIT_COO) {
    take_indices(in, a->row, view->nnz);
  }
  take_indices(in, a->col, view->nnz);
  for (i = 0; i < view->nnz; i++) {
    a->value[i] = (double)(fuzz_bytes(in, 1) - 100);
  }
}

/* Rounds the arrays to the view's width. */
static void narrow(int64_t *array, int64_t count, merbit_index_type type) {
  int64_t i;
  for (i = 0; i < count && type == MERBIT_INDEX_32; i++) {
    array[i] = (int64_t)(int32_t)(uint32_t)(uint64_t)array[i];
  }
}

static int inside(const int64_t *array, int64_t count, int base, int64_t width) {
  int64_t i;
  for (i = 0; i < count; i++) {
    if (array[i] < base || array[i] - base >= width) {
      return 0;
    }
  }
  return 1;
}

static int is_valid(const arrays *a) {
  const merbit_view *view = &a->view;
  int64_t i;
  if (view->cols < 0 || view->cols > INT32_MAX ||
      (view->nnz > 0 && (view->rows == 0 || view->cols == 0))) {
    return 0;
  }
  if (view->format == MERBIT_COO && !inside(a->row, view->nnz, view->base, view->rows)) {
    return 0;
  }
  if (view->format == MERBIT_CSR) {
    for (i = 0; i < view->rows; i++) {
      if (a->ptr[i] > a->ptr[i + 1]) {
        return 0;
      }
    }
    if (a->ptr[0] != view->base || a->ptr[view->rows] != view->base + view->nnz) {
      return 0;
    }
  }
  return inside(a->col, view->nnz, view->base, view->cols);
}

/* Returns an array of exactly its length, for AddressSanitizer. */
static void *exact(const int64_t *from, int64_t count, merbit_index_type type) {
  void *array = malloc((size_t)count * (type == MERBIT_INDEX_64 ? 8 : 4));
  int64_t i;
  for (i = 0; i < count; i++) {
    if (type == MERBIT_INDEX_64) {
      ((int64_t *)array)[i] = from[i];
    } else {
      ((int32_t *)array)[i] = (int32_t)from[i];
    }
  }
  return array;
}

static void *exact_values(const double *from, int64_t count, merbit_type type) {
  void *array = malloc((size_t)count * (type == MERBIT_F64 ? 8 : 4));
  int64_t i;
  for (i = 0; i < count; i++) {
    if (type == MERBIT_F64) {
      ((double *)array)[i] = from[i];
    } else {
      ((float *)array)[i] = (float)from[i];
    }
  }
  return array;
}

/* x is all ones and the values are small integers, so sums are exact. */
static void require_sums(const arrays *a, const void *y) {
  const merbit_view *view = &a->view;
  double sums[MOST] = {0};
  int64_t i, row = 0;
  for (i = 0; i < view->nnz; i++) {
    while (view->format == MERBIT_CSR && a->ptr[row + 1] - view->base <= i) {
      row++;
    }
    sums[view->format == MERBIT_CSR ? row : a->row[i] - view->base] +=
        view->values != NULL ? a->value[i] : 1;
  }
  for (i = 0; i < view->rows; i++) {
    REQUIRE((view->value_type == MERBIT_F64 ? ((const double *)y)[i]
                                            : (double)((const float *)y)[i]) == sums[i]);
  }
}

static void multiply(const arrays *a, merbit_method method) {
  merbit_context *context = fuzz_context();
  const size_t size = a->view.value_type == MERBIT_F64 ? 8 : 4;
  merbit_plan_desc desc;
  merbit_plan *plan;
  merbit_status status;
  void *x, *y;
  int64_t i;
  memset(&desc, 0, sizeof desc);
  desc.method = method;
  status = merbit_plan_create(context, &a->view, &desc, &plan);
  REQUIRE((status == MERBIT_OK) == (plan != NULL));
  REQUIRE((status == MERBIT_OK) == is_valid(a));
  if (plan == NULL || a->view.cols > 5000) {
    merbit_plan_destroy(plan);
    return;
  }
  x = malloc((size_t)a->view.cols * size);
  y = malloc((size_t)a->view.rows * size);
  for (i = 0; i < a->view.cols; i++) {
    if (size == 8) {
      ((double *)x)[i] = 1;
    } else {
      ((float *)x)[i] = 1;
    }
  }
  memset(y, 0xFF, (size_t)a->view.rows * size); /* NaN, which beta = 0 must not read */
  REQUIRE(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL) == MERBIT_OK);
  require_sums(a, y);
  free(x);
  free(y);
  merbit_plan_destroy(plan);
}

static void own(const arrays *a) {
  merbit_context *context = fuzz_context();
  merbit_matrix *matrix, *back;
  merbit_view view;
  merbit_status status = merbit_matrix_create(context, &a->view, &matrix);
  REQUIRE((status == MERBIT_OK) == is_valid(a));
  REQUIRE((status == MERBIT_OK) == (matrix != NULL));
  if (matrix != NULL && a->view.cols <= 5000) {
    view = merbit_matrix_view(matrix);
    REQUIRE(merbit_view_check(context, &view) == MERBIT_OK);
    merbit_matrix_destroy(matrix);
    REQUIRE(merbit_matrix_transpose(context, &a->view, &matrix) == MERBIT_OK);
    view = merbit_matrix_view(matrix);
    REQUIRE(merbit_matrix_transpose(context, &view, &back) == MERBIT_OK);
    view = merbit_matrix_view(back);
    REQUIRE(view.rows == a->view.rows && view.cols == a->view.cols);
    merbit_matrix_destroy(back);
  }
  merbit_matrix_destroy(matrix);
}

static void fuzz_arrays(const uint8_t *data, size_t size) {
  fuzz_input in;
  arrays a;
  in.at = data;
  in.end = data + size;
  take_all(&in, &a);
  narrow(a.ptr, a.view.rows + 1, a.view.offset_type);
  narrow(a.row, a.view.nnz, a.view.index_type);
  narrow(a.col, a.view.nnz, a.view.index_type);
  a.view.row_ptr = exact(a.ptr, a.view.rows + 1, a.view.offset_type);
  a.view.row_ind = exact(a.row, a.view.nnz, a.view.index_type);
  a.view.col_ind = exact(a.col, a.view.nnz, a.view.index_type);
  a.view.values = size % 4 > 0 ? exact_values(a.value, a.view.nnz, a.view.value_type) : NULL;
  REQUIRE((merbit_view_check(fuzz_context(), &a.view) == MERBIT_OK) == is_valid(&a));
  multiply(&a, MERBIT_METHOD_REFERENCE);
  multiply(&a, MERBIT_METHOD_MERGE);
  multiply(&a, MERBIT_METHOD_SORTED);
  own(&a);
  free((void *)(uintptr_t)a.view.row_ptr);
  free((void *)(uintptr_t)a.view.row_ind);
  free((void *)(uintptr_t)a.view.col_ind);
  free((void *)(uintptr_t)a.view.values);
}

#endif /* TEST_FUZZ_TARGET_ARRAYS_H */
