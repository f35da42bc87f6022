/* Checks products of one matrix in one form against the componentwise bound: products_check
 * uses the public interface on either side; with products_case a test multiplies the same
 * arrays by its own function. Include merbit.h and cmocka.h first. */
#ifndef TEST_SUPPORT_PRODUCTS_H
#define TEST_SUPPORT_PRODUCTS_H
#include "support/bound.h"

typedef struct products_form { /* how the matrix and the vectors are passed */
  merbit_type type;
  merbit_format format;
  merbit_index_type offset_type, index_type;
  int base;
  int pattern;        /* pass no values (they must all be one) */
  int device_arrays;  /* the matrix is in buffers of a CUDA context */
  int device_scalars; /* alpha and beta are in buffers */
  int few_scalars;    /* two pairs of alpha and beta instead of sixteen */
  merbit_plan_desc plan;
} products_form;

/* Returns a form by bits: f32, 64-bit offsets, 64-bit columns, base 1, pattern, COO. */
TEST_UNUSED static products_form products_form_of(int bits) {
  products_form form;
  memset(&form, 0, sizeof form);
  form.type = bits & 1 ? MERBIT_F32 : MERBIT_F64;
  form.offset_type = bits & 2 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  form.index_type = bits & 4 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  form.base = bits >> 3 & 1;
  form.pattern = bits >> 4 & 1;
  form.format = bits & 32 ? MERBIT_COO : MERBIT_CSR;
  return form;
}

typedef struct products_arrays { /* the matrix as a view of separate arrays */
  merbit_view view;
  void *row_ptr, *row_ind, *col_ind, *values;
  merbit_buffer *buffers[4];
} products_arrays;

static const double products_scalars[] = {0, 1, -1, 0.5};

static size_t products_size(merbit_type type) {
  return type == MERBIT_F32 ? sizeof(float) : sizeof(double);
}

/* Allocates without slack, so that AddressSanitizer detects a read beyond the last element. */
static void *products_exact(int64_t count, size_t size) {
  void *memory = malloc(count > 0 ? (size_t)count * size : 1);
  assert_non_null(memory);
  return memory;
}

static void products_set(void *array, int64_t i, double value, merbit_type type) {
  if (type == MERBIT_F32) {
    ((float *)array)[i] = (float)value;
  } else {
    ((double *)array)[i] = value;
  }
}

static void *products_indices(const int64_t *from64, const int32_t *from32, int64_t count,
                              merbit_index_type type, int base) {
  void *to = products_exact(count, type == MERBIT_INDEX_64 ? 8 : 4);
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
  void *to = products_exact(count, products_size(type));
  int64_t i;
  for (i = 0; i < count; i++) {
    products_set(to, i, from[i], type);
  }
  return to;
}

static const void *products_move(merbit_context *context, const void *host, size_t bytes,
                                 merbit_buffer **buffer) {
  assert_int_equal(merbit_buffer_create(context, bytes, buffer), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(*buffer, 0, host, bytes), MERBIT_OK);
  return merbit_buffer_pointer(*buffer);
}

/* `context` is needed only for device arrays. */
TEST_UNUSED static void products_arrays_make(merbit_context *context, const test_matrix *m,
                                             const products_form *form, products_arrays *a) {
  const size_t index = form->index_type == MERBIT_INDEX_64 ? 8 : 4;
  const size_t offset = form->offset_type == MERBIT_INDEX_64 ? 8 : 4;
  const size_t size = products_size(form->type);
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
      a->view.row_ind =
          products_move(context, a->row_ind, (size_t)m->nnz * index, &a->buffers[0]);
    } else {
      a->view.row_ptr =
          products_move(context, a->row_ptr, (size_t)(m->rows + 1) * offset, &a->buffers[1]);
    }
    a->view.col_ind =
        products_move(context, a->col_ind, (size_t)m->nnz * index, &a->buffers[2]);
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

/* ---- One matrix, its arrays, and vectors of its type on the host ------------------------- */

typedef struct products_case {
  test_matrix m;
  products_form form;
  products_arrays a;
  void *x, *y0, *y;
} products_case;

/* Computes y = alpha A x + beta y on host vectors, with the arrays of `view`. */
typedef void (*products_multiply)(void *user, const merbit_view *view, const void *alpha,
                                  const void *x, const void *beta, void *y);

/* Makes a case, which borrows the matrix. */
static void products_case_make(merbit_context *context, const test_matrix *m,
                               const products_form *form, products_case *c) {
  const size_t size = products_size(form->type);
  uint64_t random = 17;
  int64_t i;
  c->m = *m;
  c->form = *form;
  products_arrays_make(context, m, form, &c->a);
  c->x = products_exact(m->cols, size);
  c->y = products_exact(m->rows, size);
  c->y0 = products_exact(m->rows, size);
  for (i = 0; i < m->cols; i++) {
    products_set(c->x, i, test_uniform(&random), form->type);
  }
  for (i = 0; i < m->rows; i++) {
    products_set(c->y0, i, test_uniform(&random), form->type);
  }
}

static void products_case_free(products_case *c) {
  products_arrays_free(&c->a);
  free(c->x);
  free(c->y0);
  free(c->y);
}

/* Makes a case of a generated matrix as a CSR on the host, by bits: 64-bit offsets, base 1,
 * f32, pattern. */
TEST_UNUSED static void products_generate(int index, int bits, products_case *c) {
  products_form form;
  test_matrix m;
  int64_t i;
  memset(&form, 0, sizeof form);
  test_matrix_make(index, 4, &m);
  form.offset_type = bits & 1 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  form.base = (bits >> 1) & 1;
  form.type = bits & 4 ? MERBIT_F32 : MERBIT_F64;
  form.pattern = (bits >> 3) & 1;
  for (i = 0; form.pattern && i < m.nnz; i++) {
    m.values[i] = 1;
  }
  products_case_make(NULL, &m, &form, c);
}

TEST_UNUSED static void products_generated_free(products_case *c) {
  products_case_free(c);
  test_matrix_free(&c->m);
}

/* Puts Inf, -Inf and NaN into a few entries of x: they must reach exactly the rows with those
 * columns. */
TEST_UNUSED static void products_spoil_x(products_case *c, uint64_t seed) {
  static const double bad[] = {INFINITY, -INFINITY, NAN};
  uint64_t random = seed;
  int i;
  for (i = 0; i < 3 && c->m.cols > 0; i++) {
    products_set(c->x, test_below(&random, c->m.cols), bad[i], c->form.type);
  }
}

/* Computes one product into a y that holds y0, or NaN if beta is 0. Fails the test if a row
 * exceeds the bound. */
static void products_once(products_case *c, double alpha, double beta,
                          products_multiply multiply, void *user) {
  const merbit_type type = c->form.type;
  double alpha_bytes, beta_bytes; /* for either type */
  int64_t i;
  int wrong;
  products_set(&alpha_bytes, 0, alpha, type);
  products_set(&beta_bytes, 0, beta, type);
  memcpy(c->y, c->y0, (size_t)c->m.rows * products_size(type));
  for (i = 0; beta == 0 && i < c->m.rows; i++) {
    products_set(c->y, i, (double)NAN, type);
  }
  multiply(user, &c->a.view, &alpha_bytes, c->x, &beta_bytes, c->y);
  wrong = type == MERBIT_F32
              ? bound_rows_wrong_f32(&c->m, (float)alpha, (const float *)c->x, (float)beta,
                                     (const float *)c->y0, (const float *)c->y)
              : bound_rows_wrong_f64(&c->m, alpha, (const double *)c->x, beta,
                                     (const double *)c->y0, (const double *)c->y);
  if (wrong != 0) {
    fail_msg("%s: %d rows outside the bound (%d-bit offsets, base %d)", c->m.name, wrong,
             c->form.offset_type == MERBIT_INDEX_64 ? 64 : 32, c->form.base);
  }
}

/* ---- With a plan ------------------------------------------------------------------------- */

typedef struct products_plan {
  merbit_context *context;
  const products_form *form;
  merbit_plan *plan;
  size_t x_bytes, y_bytes;
  merbit_buffer *x, *y, *scalars;
} products_plan;

static void products_done(merbit_context *context, merbit_status status, const char *what) {
  if (status != MERBIT_OK) {
    char sentence[MERBIT_MESSAGE_SIZE];
    (void)merbit_last_error(context, sentence, sizeof sentence);
    fail_msg("%s: %s", what, sentence);
  }
}

/* A products_multiply with a plan; vectors and scalars are in buffers if the form says so. */
static void products_spmv(void *user, const merbit_view *view, const void *alpha, const void *x,
                          const void *beta, void *y) {
  products_plan *p = (products_plan *)user;
  const int staged = p->form->plan.vector_memory == MERBIT_MEMORY_HOST;
  const size_t size = products_size(p->form->type);
  void *target = y;
  (void)view;
  if (!staged) {
    products_done(p->context, merbit_buffer_upload(p->x, 0, x, p->x_bytes), "x");
    products_done(p->context, merbit_buffer_upload(p->y, 0, y, p->y_bytes), "y");
    x = merbit_buffer_pointer(p->x);
    target = merbit_buffer_pointer(p->y);
  }
  if (p->form->device_scalars) {
    products_done(p->context, merbit_buffer_upload(p->scalars, 0, alpha, size), "alpha");
    products_done(p->context, merbit_buffer_upload(p->scalars, size, beta, size), "beta");
    alpha = merbit_buffer_pointer(p->scalars);
    beta = (const char *)alpha + size;
  }
  products_done(p->context, merbit_spmv(p->plan, NULL, alpha, x, beta, target, NULL),
                "a product");
  if (!staged) {
    products_done(p->context, merbit_buffer_download(p->y, 0, y, p->y_bytes), "y");
  }
}

/* Checks products of a case with alpha and beta in {0, 1, -1, 0.5}. */
TEST_UNUSED static void products_check_case(merbit_context *context, products_case *c) {
  const products_form *form = &c->form;
  const test_matrix *m = &c->m;
  const size_t size = products_size(form->type);
  products_plan p;
  int i, j;
  memset(&p, 0, sizeof p);
  p.context = context;
  p.form = form;
  p.x_bytes = (size_t)m->cols * size;
  p.y_bytes = (size_t)m->rows * size;
  products_done(context, merbit_plan_create(context, &c->a.view, &form->plan, &p.plan),
                m->name);
  products_done(context, merbit_buffer_create(context, p.x_bytes, &p.x), "x");
  products_done(context, merbit_buffer_create(context, p.y_bytes, &p.y), "y");
  products_done(context, merbit_buffer_create(context, 2 * size, &p.scalars), "the scalars");
  for (i = 0; i < 4; i++) {
    for (j = 0; j < 4; j++) {
      if (!form->few_scalars || (i == 1 && j == 0) || (i == 3 && j == 2)) {
        products_once(c, products_scalars[i], products_scalars[j], products_spmv, &p);
      }
    }
  }
  merbit_buffer_destroy(p.x);
  merbit_buffer_destroy(p.y);
  merbit_buffer_destroy(p.scalars);
  merbit_plan_destroy(p.plan);
}

/* Checks the products of a matrix in the given form. */
TEST_UNUSED static void products_check(merbit_context *context, const test_matrix *m,
                                       const products_form *form) {
  products_case c;
  products_case_make(context, m, form, &c);
  products_check_case(context, &c);
  products_case_free(&c);
}

#endif /* TEST_SUPPORT_PRODUCTS_H */
