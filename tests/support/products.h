/* Products of one matrix through the public interface, held to the componentwise bound: every test of a plan,
 * on either side, goes through products_check. */
#ifndef TEST_SUPPORT_PRODUCTS_H
#define TEST_SUPPORT_PRODUCTS_H
#include "support/bound.h"

typedef struct products_form { /* how the matrix and the vectors are handed over */
  merbit_type type;
  merbit_format format;
  merbit_index_type offset_type, index_type;
  int base;
  int pattern;        /* hand over no values (the matrix's must all be one) */
  int device_arrays;  /* the matrix in buffers of a CUDA context */
  int device_scalars; /* alpha and beta in buffers */
  int few_scalars;    /* two pairs of alpha and beta instead of sixteen */
  merbit_plan_desc plan;
} products_form;

typedef struct products_arrays { /* the matrix as a view of its own arrays */
  merbit_view view;
  void *row_ptr, *row_ind, *col_ind, *values;
  merbit_buffer *buffers[4];
} products_arrays;

static void *products_indices(const int64_t *from64, const int32_t *from32, int64_t count,
                              merbit_index_type type, int base) {
  void *to = test_allocate(count, sizeof(int64_t));
  int64_t i;
  for (i = 0; i < count; i++) {
    int64_t value = (from64 != NULL ? from64[i] : (int64_t)from32[i]) + base;
    if (type == MERBIT_INDEX_64) {
      ((int64_t *)to)[i] = value;
    } else {
      ((int32_t *)to)[i] = (int32_t)value;
    }
  }
  return to;
}

static void *products_values(const double *from, int64_t count, merbit_type type) {
  void *to = test_allocate(count, sizeof(double));
  int64_t i;
  for (i = 0; i < count; i++) {
    if (type == MERBIT_F32) {
      ((float *)to)[i] = (float)from[i];
    } else {
      ((double *)to)[i] = from[i];
    }
  }
  return to;
}

static const void *products_move(merbit_context *context, const void *host, size_t bytes,
                                 merbit_buffer **buffer) {
  assert_int_equal(merbit_buffer_create(context, bytes, buffer), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(*buffer, 0, host, bytes), MERBIT_OK);
  return merbit_buffer_pointer(*buffer);
}

TEST_UNUSED static void products_arrays_make(merbit_context *context, const test_matrix *m,
                                             const products_form *form, products_arrays *a) {
  const size_t index = form->index_type == MERBIT_INDEX_64 ? 8 : 4;
  const size_t offset = form->offset_type == MERBIT_INDEX_64 ? 8 : 4;
  const size_t size = form->type == MERBIT_F32 ? 4 : 8;
  memset(a, 0, sizeof *a);
  a->row_ptr = products_indices(m->row_ptr, NULL, m->rows + 1, form->offset_type, form->base);
  a->col_ind = products_indices(NULL, m->col_ind, m->nnz, form->index_type, form->base);
  a->values = products_values(m->values, m->nnz, form->type);
  a->view = merbit_csr(m->rows, m->cols, m->nnz, a->row_ptr, a->col_ind,
                       form->pattern ? NULL : a->values);
  a->view.format = form->format;
  a->view.value_type = form->type;
  a->view.offset_type = form->offset_type;
  a->view.index_type = form->index_type;
  a->view.base = form->base;
  if (form->format == MERBIT_COO) {
    int64_t *rows = (int64_t *)test_allocate(m->nnz, sizeof(int64_t)), row, k;
    for (row = 0; row < m->rows; row++) {
      for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
        rows[k] = row;
      }
    }
    a->row_ind = products_indices(rows, NULL, m->nnz, form->index_type, form->base);
    free(rows);
    a->view.row_ptr = NULL;
    a->view.row_ind = a->row_ind;
  }
  if (form->device_arrays) {
    a->view.memory = MERBIT_MEMORY_DEVICE;
    if (form->format == MERBIT_COO) {
      a->view.row_ind = products_move(context, a->row_ind, (size_t)m->nnz * index, &a->buffers[0]);
    } else {
      a->view.row_ptr =
          products_move(context, a->row_ptr, (size_t)(m->rows + 1) * offset, &a->buffers[1]);
    }
    a->view.col_ind = products_move(context, a->col_ind, (size_t)m->nnz * index, &a->buffers[2]);
    if (!form->pattern) {
      a->view.values = products_move(context, a->values, (size_t)m->nnz * size, &a->buffers[3]);
    }
  }
}

TEST_UNUSED static void products_arrays_free(products_arrays *a) {
  int i;
  for (i = 0; i < 4; i++) {
    merbit_buffer_destroy(a->buffers[i]);
  }
  free(a->row_ptr);
  free(a->row_ind);
  free(a->col_ind);
  free(a->values);
}

typedef struct products_vectors {
  double *x, *y0;
  void *host_x, *host_y; /* in the plan's type */
  merbit_buffer *x_buffer, *y_buffer, *scalars;
} products_vectors;

/* One product into a y that holds y0 (NaN where beta is 0), and the rows of it that break the bound. */
static int products_once(merbit_context *context, merbit_plan *plan, const test_matrix *m,
                         const products_form *form, products_vectors *v, double alpha,
                         double beta) {
  const int single = form->type == MERBIT_F32;
  const int staged = form->plan.vector_memory == MERBIT_MEMORY_HOST;
  const size_t size = single ? 4 : 8;
  float scalars32[2];
  double scalars64[2];
  const void *alpha_at = single ? (void *)&scalars32[0] : (void *)&scalars64[0];
  const void *beta_at = single ? (void *)&scalars32[1] : (void *)&scalars64[1];
  const void *x = v->host_x;
  void *y = v->host_y, *y0 = products_values(v->y0, m->rows, form->type);
  int wrong;
  int64_t i;
  for (i = 0; beta == 0 && i < m->rows; i++) {
    if (single) {
      ((float *)y0)[i] = (float)NAN;
    } else {
      ((double *)y0)[i] = (double)NAN;
    }
  }
  scalars32[0] = (float)alpha;
  scalars32[1] = (float)beta;
  scalars64[0] = alpha;
  scalars64[1] = beta;
  memcpy(v->host_y, y0, (size_t)m->rows * size);
  if (!staged) {
    x = merbit_buffer_pointer(v->x_buffer);
    y = merbit_buffer_pointer(v->y_buffer);
    assert_int_equal(merbit_buffer_upload(v->y_buffer, 0, y0, (size_t)m->rows * size), MERBIT_OK);
  }
  if (form->device_scalars) {
    assert_int_equal(merbit_buffer_upload(v->scalars, 0, alpha_at, 2 * size), MERBIT_OK);
    alpha_at = merbit_buffer_pointer(v->scalars);
    beta_at = (const char *)alpha_at + size;
  }
  if (merbit_spmv(plan, NULL, alpha_at, x, beta_at, y, NULL) != MERBIT_OK) {
    char sentence[MERBIT_MESSAGE_SIZE];
    (void)merbit_last_error(context, sentence, sizeof sentence);
    fail_msg("%s: %s", m->name, sentence);
  }
  if (!staged) {
    assert_int_equal(merbit_buffer_download(v->y_buffer, 0, v->host_y, (size_t)m->rows * size),
                     MERBIT_OK);
  }
  wrong = single ? bound_rows_wrong_f32(m, (float)alpha, (const float *)v->host_x, (float)beta,
                                        (const float *)y0, (const float *)v->host_y)
                 : bound_rows_wrong_f64(m, alpha, (const double *)v->host_x, beta,
                                        (const double *)y0, (const double *)v->host_y);
  free(y0);
  return wrong;
}

/* Products with alpha and beta in {0, 1, -1, 0.5} in the given form; fails the test on any row outside the bound. */
TEST_UNUSED static void products_check(merbit_context *context, const test_matrix *m,
                                       const products_form *form) {
  static const double scalars[] = {1, 0, -1, 0.5};
  const size_t size = form->type == MERBIT_F32 ? 4 : 8;
  uint64_t state = 7;
  int wrong = 0, i, j;
  int64_t k;
  products_arrays a;
  products_vectors v;
  merbit_plan *plan = NULL;
  memset(&v, 0, sizeof v);
  products_arrays_make(context, m, form, &a);
  if (merbit_plan_create(context, &a.view, &form->plan, &plan) != MERBIT_OK) {
    char sentence[MERBIT_MESSAGE_SIZE];
    (void)merbit_last_error(context, sentence, sizeof sentence);
    fail_msg("%s: %s", m->name, sentence);
  }
  v.x = (double *)test_allocate(m->cols, sizeof(double));
  v.y0 = (double *)test_allocate(m->rows, sizeof(double));
  for (k = 0; k < m->cols; k++) {
    v.x[k] = test_uniform(&state);
  }
  for (k = 0; k < m->rows; k++) {
    v.y0[k] = test_uniform(&state);
  }
  v.host_x = products_values(v.x, m->cols, form->type);
  v.host_y = test_allocate(m->rows, size);
  assert_int_equal(merbit_buffer_create(context, (size_t)m->cols * size, &v.x_buffer), MERBIT_OK);
  assert_int_equal(merbit_buffer_create(context, (size_t)m->rows * size, &v.y_buffer), MERBIT_OK);
  assert_int_equal(merbit_buffer_create(context, 2 * size, &v.scalars), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(v.x_buffer, 0, v.host_x, (size_t)m->cols * size), MERBIT_OK);
  for (i = 0; i < 4; i++) {
    for (j = 0; j < 4; j++) {
      if (!form->few_scalars || (i == 0 && j == 1) || (i == 3 && j == 2)) {
        wrong += products_once(context, plan, m, form, &v, scalars[i], scalars[j]);
      }
    }
  }
  merbit_buffer_destroy(v.x_buffer);
  merbit_buffer_destroy(v.y_buffer);
  merbit_buffer_destroy(v.scalars);
  free(v.x);
  free(v.y0);
  free(v.host_x);
  free(v.host_y);
  merbit_plan_destroy(plan);
  products_arrays_free(&a);
  if (wrong != 0) {
    fail_msg("%s: %d rows outside the bound", m->name, wrong);
  }
}

#endif /* TEST_SUPPORT_PRODUCTS_H */
