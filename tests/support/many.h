/* Products of several vectors on either side: every vector meets the componentwise bound, gaps
 * between rows or vectors keep their bits, and values are updated. Include merbit.h and
 * cmocka.h first. */
#ifndef TEST_SUPPORT_MANY_H
#define TEST_SUPPORT_MANY_H
#include "support/transposed.h"

typedef struct many {
  merbit_context *context;
  const test_matrix *m; /* the matrix to multiply */
  products_form form;
  merbit_plan *plan;
  int vectors, by_rows;
  int64_t ldx, ldy;
  int64_t *order;               /* of a reordered plan */
  char *x, *y;                  /* with gaps */
  void *one_x, *one_y0, *one_y; /* of one vector */
  merbit_buffer *device_x, *device_y, *scalars;
} many;

enum { MANY_GAP = 0x5a }; /* every byte of a gap */

static int64_t many_extent(const many *c, int64_t count, int64_t leading) {
  return count == 0 ? 0
                    : ((c->by_rows ? count : c->vectors) - 1) * leading +
                          (c->by_rows ? c->vectors : count);
}

static int64_t many_place(const many *c, int64_t i, int64_t v, int64_t leading) {
  return c->by_rows ? i * leading + v : v * leading + i;
}

/* Returns element i of vector v, the same at every call. Rarely Inf or NaN if `wild`. */
static double many_x(int64_t i, int64_t v, int wild) {
  uint64_t state = (uint64_t)(i * 64 + v + 7) * 0x9e3779b97f4a7c15u;
  const double plain = test_uniform(&state);
  const int64_t turn = test_below(&state, 40);
  return !wild || v % 3 == 1 || turn > 2 ? plain
         : turn == 0                     ? (double)INFINITY
         : turn == 1                     ? -(double)INFINITY
                                         : (double)NAN;
}

static double many_y(int64_t i, int64_t v) {
  return many_x(i + 1000003, v, 0);
}

/* Returns the plan's number of row i of the product. */
static int64_t many_row(const many *c, int64_t i) {
  return c->order != NULL ? c->order[i] : i;
}

static void many_fill(many *c, double beta, int wild) {
  const size_t size = products_size(c->form.type);
  int64_t i, v;
  memset(c->x, MANY_GAP, (size_t)many_extent(c, c->m->cols, c->ldx) * size);
  memset(c->y, MANY_GAP, (size_t)many_extent(c, c->m->rows, c->ldy) * size);
  for (v = 0; v < c->vectors; v++) {
    for (i = 0; i < c->m->cols; i++) {
      products_set(c->x, many_place(c, i, v, c->ldx), many_x(many_row(c, i), v, wild),
                   c->form.type);
    }
    for (i = 0; i < c->m->rows; i++) {
      products_set(c->y, many_place(c, i, v, c->ldy),
                   beta == 0 ? (double)NAN : many_y(many_row(c, i), v), c->form.type);
    }
  }
}

static void many_expect(many *c, double alpha, double beta, int wild) {
  const merbit_type type = c->form.type;
  const size_t size = products_size(type);
  const int64_t extent = many_extent(c, c->m->rows, c->ldy);
  int64_t i, v;
  for (v = 0; v < c->vectors; v++) {
    int wrong;
    for (i = 0; i < c->m->cols; i++) {
      products_set(c->one_x, i, many_x(i, v, wild), type);
    }
    for (i = 0; i < c->m->rows; i++) {
      const int64_t row = many_row(c, i);
      products_set(c->one_y0, row, many_y(row, v), type);
      memcpy((char *)c->one_y + (size_t)row * size,
             c->y + (size_t)many_place(c, i, v, c->ldy) * size, size);
    }
    wrong = type == MERBIT_F32
                ? bound_rows_wrong_f32(c->m, (float)alpha, (const float *)c->one_x, (float)beta,
                                       (const float *)c->one_y0, (const float *)c->one_y)
                : bound_rows_wrong_f64(c->m, alpha, (const double *)c->one_x, beta,
                                       (const double *)c->one_y0, (const double *)c->one_y);
    if (wrong != 0) {
      fail_msg("%s: %d rows of vector %d of %d outside the bound", c->m->name, wrong, (int)v,
               c->vectors);
    }
  }
  for (i = 0; i < extent; i++) {
    const int64_t within = i % c->ldy;
    if (within >= (c->by_rows ? c->vectors : c->m->rows)) {
      size_t byte;
      for (byte = 0; byte < size; byte++) {
        assert_int_equal(c->y[(size_t)i * size + byte], MANY_GAP);
      }
    }
  }
}

static void many_product(many *c, double alpha, double beta, int wild) {
  merbit_context *context = c->context;
  const size_t size = products_size(c->form.type);
  const size_t x_bytes = (size_t)many_extent(c, c->m->cols, c->ldx) * size;
  const size_t y_bytes = (size_t)many_extent(c, c->m->rows, c->ldy) * size;
  const int staged = c->form.plan.vector_memory == MERBIT_MEMORY_HOST;
  double pair[2];
  const void *at_alpha = &pair[0], *at_beta = &pair[1];
  void *x = c->x, *y = c->y;
  products_set(&pair[0], 0, alpha, c->form.type);
  products_set(&pair[1], 0, beta, c->form.type);
  many_fill(c, beta, wild);
  if (!staged) {
    products_done(context, merbit_buffer_upload(c->device_x, 0, x, x_bytes), "X");
    products_done(context, merbit_buffer_upload(c->device_y, 0, y, y_bytes), "Y");
    x = merbit_buffer_pointer(c->device_x);
    y = merbit_buffer_pointer(c->device_y);
  }
  if (c->form.device_scalars) {
    products_done(context, merbit_buffer_upload(c->scalars, 0, pair, sizeof pair), "scalars");
    at_alpha = merbit_buffer_pointer(c->scalars);
    at_beta = (const char *)at_alpha + sizeof(double);
  }
  products_done(context,
                merbit_spmm(c->plan, NULL, alpha == 1 ? NULL : at_alpha, x, c->ldx,
                            beta == 0 && wild ? NULL : at_beta, y, c->ldy, NULL),
                "a product");
  if (!staged) {
    products_done(context, merbit_buffer_download(c->device_y, 0, c->y, y_bytes), "Y");
  }
  many_expect(c, alpha, beta, wild);
}

static void many_open(many *c, const merbit_view *view, int64_t gap) {
  merbit_context *context = c->context;
  const size_t size = products_size(c->form.type);
  const int64_t rows = c->m->rows, cols = c->m->cols;
  c->vectors = c->form.plan.vectors;
  c->by_rows = c->form.plan.vector_order == MERBIT_VECTORS_ROW_MAJOR;
  c->ldx = (c->by_rows ? c->vectors : cols) + gap;
  c->ldy = (c->by_rows ? c->vectors : rows) + gap + gap / 2;
  c->x = (char *)products_exact(many_extent(c, cols, c->ldx), size);
  c->y = (char *)products_exact(many_extent(c, rows, c->ldy), size);
  c->one_x = products_exact(cols, size);
  c->one_y0 = products_exact(rows, size);
  c->one_y = products_exact(rows, size);
  products_done(context, merbit_plan_create(context, view, &c->form.plan, &c->plan),
                c->m->name);
  if (c->form.plan.reordering != MERBIT_REORDERING_NONE) {
    c->order = (int64_t *)test_allocate(rows, sizeof *c->order);
    products_done(context, merbit_plan_get_order(c->plan, c->order, rows), "the order");
  }
  products_done(
      context,
      merbit_buffer_create(context, (size_t)many_extent(c, cols, c->ldx) * size, &c->device_x),
      "X");
  products_done(
      context,
      merbit_buffer_create(context, (size_t)many_extent(c, rows, c->ldy) * size, &c->device_y),
      "Y");
  products_done(context, merbit_buffer_create(context, 2 * sizeof(double), &c->scalars), "two");
}

static void many_close(many *c) {
  merbit_plan_destroy(c->plan);
  merbit_buffer_destroy(c->device_x);
  merbit_buffer_destroy(c->device_y);
  merbit_buffer_destroy(c->scalars);
  free(c->order);
  free(c->x);
  free(c->y);
  free(c->one_x);
  free(c->one_y0);
  free(c->one_y);
}

/* Checks the matrix in a form, passed as its transpose if the form's operation is one, or in
 * `blocks`. Rows and vectors of X have gaps of `gap` elements, those of Y half as much more. */
TEST_UNUSED static void many_check(merbit_context *context, test_matrix *m,
                                   const products_form *form, int64_t gap,
                                   const merbit_bsr_desc *blocks) {
  const int transposed = form->plan.operation != MERBIT_OPERATION_N;
  int64_t k, *places = (int64_t *)test_allocate(m->nnz, sizeof *places);
  merbit_matrix *matrix = NULL;
  products_arrays a;
  merbit_view view;
  test_matrix given;
  many c;
  memset(&c, 0, sizeof c);
  for (k = 0; form->pattern && k < m->nnz; k++) {
    m->values[k] = 1;
  }
  transposed_make(m, &given, places);
  c.context = context;
  c.m = m;
  c.form = *form;
  products_arrays_make(context, transposed ? &given : m, form, &a);
  view = a.view;
  if (blocks != NULL) {
    products_done(context, merbit_matrix_create_bsr(context, &a.view, blocks, &matrix),
                  "blocks");
    view = merbit_matrix_view(matrix);
  }
  many_open(&c, &view, gap);
  many_product(&c, 1, 0, 0);
  many_product(&c, 0.5, -1, 0);
  many_product(&c, 0, 0.5, 0);
  if (blocks == NULL && mbi_view_is_plain(&view) &&
      form->plan.reordering == MERBIT_REORDERING_NONE) {
    many_product(&c, -1, 0, 1); /* added duplicates may avoid Inf - Inf */
  }
  if (!form->pattern && blocks == NULL) {
    void *values;
    for (k = 0; k < m->nnz; k++) {
      m->values[k] = (double)(k % 11 - 5) + (k % 3 == 0 ? 1.0 / 3 : 0);
    }
    for (k = 0; k < m->nnz; k++) {
      given.values[k] = m->values[places[k]];
    }
    values = products_values(transposed ? given.values : m->values, m->nnz, form->type);
    products_done(context, merbit_plan_update_values(c.plan, values, MERBIT_MEMORY_HOST),
                  "new values");
    free(values);
    many_product(&c, -1, 0.5, 0);
  }
  many_close(&c);
  merbit_matrix_destroy(matrix);
  products_arrays_free(&a);
  test_matrix_free(&given);
  free(places);
}

#endif /* TEST_SUPPORT_MANY_H */
