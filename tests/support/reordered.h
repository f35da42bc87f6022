/* Products by reordered plans on either side: permuted into the plan's order, multiplied,
 * permuted back and checked against the componentwise bound; then the same with new values.
 * Include merbit.h and cmocka.h first. */
#ifndef TEST_SUPPORT_REORDERED_H
#define TEST_SUPPORT_REORDERED_H
#include "support/products.h"
#include "support/squares.h"

typedef struct reordered {
  merbit_context *context;
  products_form form;
  test_matrix m; /* square; has the plan's values */
  products_arrays a;
  merbit_plan *plan;
  int64_t *order;
  int in_buffers;            /* vectors */
  merbit_buffer *vectors[4]; /* x, px, py, y */
  void *host[4];             /* the same on the host */
} reordered;

enum { REORDERED_X, REORDERED_PX, REORDERED_PY, REORDERED_Y };

static void *reordered_vector(reordered *r, int which) {
  return r->in_buffers ? merbit_buffer_pointer(r->vectors[which]) : r->host[which];
}

static void reordered_put(reordered *r, int which) {
  const size_t bytes = (size_t)r->m.rows * products_size(r->form.type);
  if (r->in_buffers) {
    products_done(r->context, merbit_buffer_upload(r->vectors[which], 0, r->host[which], bytes),
                  "a vector");
  }
}

static void reordered_get(reordered *r, int which) {
  const size_t bytes = (size_t)r->m.rows * products_size(r->form.type);
  if (r->in_buffers) {
    products_done(r->context,
                  merbit_buffer_download(r->vectors[which], 0, r->host[which], bytes),
                  "a vector");
  }
}

/* Expects that the order is a permutation and that px is x in it. */
static void reordered_expect_order(reordered *r) {
  const size_t size = products_size(r->form.type);
  char *seen = (char *)test_allocate(r->m.rows, 1);
  int64_t i;
  products_done(r->context, merbit_plan_get_order(r->plan, r->order, r->m.rows), "the order");
  reordered_get(r, REORDERED_PX);
  for (i = 0; i < r->m.rows; i++) {
    assert_true(r->order[i] >= 0 && r->order[i] < r->m.rows && !seen[r->order[i]]);
    seen[r->order[i]] = 1;
    assert_memory_equal((const char *)r->host[REORDERED_PX] + (size_t)i * size,
                        (const char *)r->host[REORDERED_X] + (size_t)r->order[i] * size, size);
  }
  free(seen);
}

/* Computes y = alpha A x + beta y0 through the plan's order. */
static void reordered_once(reordered *r, double alpha, double beta) {
  const merbit_type type = r->form.type;
  const size_t bytes = (size_t)r->m.rows * products_size(type);
  void *y0 = products_exact(r->m.rows, products_size(type));
  double alpha_bytes, beta_bytes; /* for either type */
  uint64_t random = 29;
  int64_t i;
  int wrong;
  products_set(&alpha_bytes, 0, alpha, type);
  products_set(&beta_bytes, 0, beta, type);
  for (i = 0; i < r->m.rows; i++) {
    products_set(r->host[REORDERED_X], i, test_uniform(&random), type);
    products_set(y0, i, beta == 0 ? (double)NAN : test_uniform(&random), type);
  }
  memcpy(r->host[REORDERED_Y], y0, bytes);
  memset(r->host[REORDERED_PX], 0xff, bytes);
  memset(r->host[REORDERED_PY], 0xff, bytes);
  for (i = 0; i < 4; i++) {
    reordered_put(r, (int)i);
  }
  products_done(r->context,
                merbit_plan_reorder(r->plan, reordered_vector(r, REORDERED_X),
                                    reordered_vector(r, REORDERED_PX), NULL),
                "x into the order");
  products_done(r->context,
                merbit_plan_reorder(r->plan, reordered_vector(r, REORDERED_Y),
                                    reordered_vector(r, REORDERED_PY), NULL),
                "y into the order");
  products_done(r->context,
                merbit_spmv(r->plan, NULL, &alpha_bytes, reordered_vector(r, REORDERED_PX),
                            &beta_bytes, reordered_vector(r, REORDERED_PY), NULL),
                "a product");
  products_done(r->context,
                merbit_plan_restore(r->plan, reordered_vector(r, REORDERED_PY),
                                    reordered_vector(r, REORDERED_Y), NULL),
                "y back");
  reordered_expect_order(r);
  reordered_get(r, REORDERED_Y);
  wrong = type == MERBIT_F32
              ? bound_rows_wrong_f32(&r->m, (float)alpha, (const float *)r->host[REORDERED_X],
                                     (float)beta, (const float *)y0,
                                     (const float *)r->host[REORDERED_Y])
              : bound_rows_wrong_f64(&r->m, alpha, (const double *)r->host[REORDERED_X], beta,
                                     (const double *)y0, (const double *)r->host[REORDERED_Y]);
  if (wrong != 0) {
    fail_msg("%s: %d rows outside the bound", r->m.name, wrong);
  }
  free(y0);
}

/* Updates the values, from device memory if `device`. */
static void reordered_update(reordered *r, double scale, int device) {
  merbit_buffer *buffer = NULL;
  const size_t size = products_size(r->form.type);
  void *values;
  const void *from;
  int64_t k;
  for (k = 0; k < r->m.nnz; k++) {
    r->m.values[k] = scale * (double)(k % 11 - 5) + (k % 3 == 0 ? 1.0 / 3 : 0);
  }
  from = values = products_values(r->m.values, r->m.nnz, r->form.type);
  if (device) {
    from = products_move(r->context, values, (size_t)r->m.nnz * size, &buffer);
  }
  products_done(r->context,
                merbit_plan_update_values(r->plan, from,
                                          device ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST),
                "new values");
  memset(values, 0xff, (size_t)r->m.nnz * size); /* the values were copied */
  merbit_buffer_destroy(buffer);
  free(values);
}

/* Checks a square matrix, which it takes over. Returns the number of products. */
TEST_UNUSED static int reordered_check(merbit_context *context, test_matrix *m,
                                       const products_form *form) {
  const merbit_side side = context->side;
  reordered r;
  int i, products = 2;
  memset(&r, 0, sizeof r);
  r.context = context;
  r.form = *form;
  r.m = *m;
  r.in_buffers = side == MERBIT_SIDE_CUDA && form->plan.vector_memory != MERBIT_MEMORY_HOST;
  r.order = (int64_t *)products_exact(m->rows, sizeof *r.order);
  for (i = 0; form->pattern && i < m->nnz; i++) {
    m->values[i] = 1;
  }
  products_arrays_make(context, m, form, &r.a);
  for (i = 0; i < 4; i++) {
    const size_t size = products_size(form->type);
    r.host[i] = products_exact(m->rows, size);
    products_done(context, merbit_buffer_create(context, (size_t)m->rows * size, &r.vectors[i]),
                  "a vector");
  }
  products_done(context, merbit_plan_create(context, &r.a.view, &form->plan, &r.plan), m->name);
  reordered_once(&r, 1, 0);
  reordered_once(&r, 0.5, -1);
  for (i = 0; !form->pattern && i < 3; i++) {
    reordered_update(&r, i == 1 ? 1.0 / 7 : 2,
                     side == MERBIT_SIDE_CUDA && (i == 1) != form->device_arrays);
    reordered_once(&r, -1, i % 2);
    products++;
  }
  merbit_plan_destroy(r.plan);
  for (i = 0; i < 4; i++) {
    free(r.host[i]);
    merbit_buffer_destroy(r.vectors[i]);
  }
  products_arrays_free(&r.a);
  test_matrix_free(m);
  free(r.order);
  return products;
}

#endif /* TEST_SUPPORT_REORDERED_H */
