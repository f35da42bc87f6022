/* Products by plans of transposes on either side, checked against the componentwise bound, also
 * with new values. The plan is made from the naive transpose of a matrix, so that it multiplies
 * by the matrix itself. Include merbit.h and cmocka.h first. */
#ifndef TEST_SUPPORT_TRANSPOSED_H
#define TEST_SUPPORT_TRANSPOSED_H
#include "support/products.h"

typedef struct transposed {
  products_case c; /* its arrays hold `given` */
  test_matrix given;
  int64_t *places;        /* place of each entry of `given` in the matrix */
  merbit_bsr_desc blocks; /* blocks in which it is passed; block_rows 0: as entries */
  merbit_matrix *matrix;  /* of blocks */
  merbit_buffer *block_arrays[3];
  products_plan p;
  merbit_buffer *px, *py; /* in the order of a reordered plan */
} transposed;

/* Transposes; the entries of a row come in the order of the matrix's rows. */
static void transposed_make(const test_matrix *m, test_matrix *given, int64_t *places) {
  int64_t *next = (int64_t *)test_allocate(m->cols + 1, sizeof *next), row, k;
  *given = *m;
  given->rows = m->cols;
  given->cols = m->rows;
  given->row_ptr = (int64_t *)test_allocate(m->cols + 1, sizeof *given->row_ptr);
  given->col_ind = (int32_t *)test_allocate(m->nnz, sizeof *given->col_ind);
  given->values = (double *)test_allocate(m->nnz, sizeof *given->values);
  memset(next, 0, (size_t)(m->cols + 1) * sizeof *next);
  for (k = 0; k < m->nnz; k++) {
    next[m->col_ind[k] + 1]++;
  }
  for (k = 0; k < m->cols; k++) {
    next[k + 1] += next[k];
  }
  memcpy(given->row_ptr, next, (size_t)(m->cols + 1) * sizeof *next);
  for (row = 0; row < m->rows; row++) {
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      const int64_t at = next[m->col_ind[k]]++;
      given->col_ind[at] = (int32_t)row;
      given->values[at] = m->values[k];
      places[at] = k;
    }
  }
  free(next);
}

/* Makes the view in blocks of the present `given`. */
static void transposed_blocks(transposed *t, merbit_context *context, merbit_view *view) {
  products_form form = t->c.form;
  products_arrays a;
  form.device_arrays = 0;
  merbit_matrix_destroy(t->matrix);
  products_arrays_make(NULL, &t->given, &form, &a);
  products_done(context, merbit_matrix_create_bsr(context, &a.view, &t->blocks, &t->matrix),
                "blocks");
  *view = merbit_matrix_view(t->matrix);
  products_arrays_free(&a);
}

static void transposed_view(transposed *t, merbit_context *context) {
  merbit_view *view = &t->c.a.view;
  products_arrays_free(&t->c.a);
  products_arrays_make(context, &t->given, &t->c.form, &t->c.a);
  if (t->blocks.block_rows > 0) {
    transposed_blocks(t, context, view);
  }
  if (t->blocks.block_rows > 0 && t->c.form.device_arrays) {
    const size_t rows = (size_t)((view->rows + view->block_rows - 1) / view->block_rows);
    view->row_ptr = products_move(context, view->row_ptr, (rows + 1) * 4, &t->block_arrays[0]);
    view->col_ind =
        products_move(context, view->col_ind, (size_t)view->nnz * 4, &t->block_arrays[1]);
    view->values = products_move(context, view->values,
                                 (size_t)mbi_view_values(view) * products_size(t->c.form.type),
                                 &t->block_arrays[2]);
    view->memory = MERBIT_MEMORY_DEVICE;
  }
}

/* A products_multiply, through the plan's order if it is reordered. */
static void transposed_spmv(void *user, const merbit_view *view, const void *alpha,
                            const void *x, const void *beta, void *y) {
  transposed *t = (transposed *)user;
  products_plan *p = &t->p;
  merbit_context *context = p->context;
  const int staged =
      p->form->plan.vector_memory == MERBIT_MEMORY_HOST || context->side == MERBIT_SIDE_CPU;
  void *px, *py, *in = merbit_buffer_pointer(p->x), *out = merbit_buffer_pointer(p->y);
  if (p->form->plan.reordering == MERBIT_REORDERING_NONE) {
    products_spmv(p, view, alpha, x, beta, y);
    return;
  }
  px = staged ? products_exact((int64_t)p->x_bytes, 1) : merbit_buffer_pointer(t->px);
  py = staged ? products_exact((int64_t)p->y_bytes, 1) : merbit_buffer_pointer(t->py);
  if (staged) {
    in = (void *)(uintptr_t)x;
    out = y;
  } else {
    products_done(context, merbit_buffer_upload(p->x, 0, x, p->x_bytes), "x");
    products_done(context, merbit_buffer_upload(p->y, 0, y, p->y_bytes), "y");
  }
  products_done(context, merbit_plan_reorder(p->plan, in, px, NULL), "x into the order");
  products_done(context, merbit_plan_reorder(p->plan, out, py, NULL), "y into the order");
  products_done(context, merbit_spmv(p->plan, NULL, alpha, px, beta, py, NULL), "a product");
  products_done(context, merbit_plan_restore(p->plan, py, out, NULL), "y back");
  if (staged) {
    free(px);
    free(py);
  } else {
    products_done(context, merbit_buffer_download(p->y, 0, y, p->y_bytes), "y");
  }
}

/* Updates the values, from device memory if `device`. */
static void transposed_update(transposed *t, double scale, int device) {
  merbit_context *context = t->p.context;
  const merbit_type type = t->c.form.type;
  merbit_view fresh;
  merbit_buffer *buffer = NULL;
  void *values;
  const void *from;
  size_t bytes;
  int64_t k;
  for (k = 0; k < t->given.nnz; k++) {
    t->given.values[k] = scale * (double)(k % 11 - 5) + (k % 3 == 0 ? 1.0 / 3 : 0);
    t->c.m.values[t->places[k]] = t->given.values[k];
  }
  if (t->blocks.block_rows > 0) {
    transposed_blocks(t, context, &fresh);
    bytes = (size_t)mbi_view_values(&fresh) * products_size(type);
    values = products_exact((int64_t)bytes, 1);
    memcpy(values, fresh.values, bytes);
  } else {
    bytes = (size_t)t->given.nnz * products_size(type);
    values = products_values(t->given.values, t->given.nnz, type);
  }
  from = device ? products_move(context, values, bytes, &buffer) : values;
  products_done(context,
                merbit_plan_update_values(t->p.plan, from,
                                          device ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST),
                "new values");
  memset(values, 0xff, bytes); /* the values were copied */
  merbit_buffer_destroy(buffer);
  free(values);
}

static void transposed_open(transposed *t, merbit_context *context) {
  const test_matrix *m = &t->c.m;
  const size_t size = products_size(t->c.form.type);
  products_plan *p = &t->p;
  p->context = context;
  p->form = &t->c.form;
  p->x_bytes = (size_t)m->cols * size;
  p->y_bytes = (size_t)m->rows * size;
  products_done(context, merbit_plan_create(context, &t->c.a.view, &t->c.form.plan, &p->plan),
                m->name);
  products_done(context, merbit_buffer_create(context, p->x_bytes, &p->x), "x");
  products_done(context, merbit_buffer_create(context, p->y_bytes, &p->y), "y");
  products_done(context, merbit_buffer_create(context, p->x_bytes, &t->px), "px");
  products_done(context, merbit_buffer_create(context, p->y_bytes, &t->py), "py");
  products_done(context, merbit_buffer_create(context, 2 * size, &p->scalars), "the scalars");
}

static void transposed_close(transposed *t) {
  int i;
  merbit_plan_destroy(t->p.plan);
  merbit_buffer_destroy(t->p.x);
  merbit_buffer_destroy(t->p.y);
  merbit_buffer_destroy(t->p.scalars);
  merbit_buffer_destroy(t->px);
  merbit_buffer_destroy(t->py);
  for (i = 0; i < 3; i++) {
    merbit_buffer_destroy(t->block_arrays[i]);
  }
  merbit_matrix_destroy(t->matrix);
  test_matrix_free(&t->given);
  free(t->places);
  products_case_free(&t->c);
  test_matrix_free(&t->c.m);
}

/* Checks the matrix, which it takes over, in a form whose plan.operation is T or H; `blocks`
 * NULL: as entries. Returns the number of products. */
TEST_UNUSED static int transposed_check(merbit_context *context, test_matrix *m,
                                        const products_form *form,
                                        const merbit_bsr_desc *blocks) {
  const int cuda = context->side == MERBIT_SIDE_CUDA;
  transposed t;
  int i, products = 3;
  memset(&t, 0, sizeof t);
  for (i = 0; form->pattern && i < m->nnz; i++) {
    m->values[i] = 1;
  }
  if (blocks != NULL) {
    t.blocks = *blocks;
  }
  t.places = (int64_t *)test_allocate(m->nnz, sizeof *t.places);
  transposed_make(m, &t.given, t.places);
  products_case_make(context, m, form, &t.c);
  transposed_view(&t, context);
  transposed_open(&t, context);
  products_once(&t.c, 1, 0, transposed_spmv, &t);
  products_once(&t.c, 0.5, -1, transposed_spmv, &t);
  products_once(&t.c, 0, 0.5, transposed_spmv, &t);
  for (i = 0; !form->pattern && i < 3; i++) {
    transposed_update(&t, i == 1 ? 1.0 / 7 : 2, cuda && (i == 1) != form->device_arrays);
    products_once(&t.c, -1, i % 2, transposed_spmv, &t);
    products++;
  }
  if (mbi_view_is_plain(&t.c.a.view) && form->plan.reordering == MERBIT_REORDERING_NONE &&
      form->plan.method != MERBIT_METHOD_BSR) { /* added duplicates may avoid Inf - Inf */
    products_spoil_x(&t.c, 5);
    products_once(&t.c, 1, 0.5, transposed_spmv, &t);
    products++;
  }
  transposed_close(&t);
  return products;
}

#endif /* TEST_SUPPORT_TRANSPOSED_H */
