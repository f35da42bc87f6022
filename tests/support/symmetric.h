/* Products by plans of matrices given by one triangle, on either side, checked against the
 * componentwise bound of the naive full matrix, also with new values. Include merbit.h and
 * cmocka.h first. */
#ifndef TEST_SUPPORT_SYMMETRIC_H
#define TEST_SUPPORT_SYMMETRIC_H
#include "support/products.h"

typedef struct symmetric_case {
  test_matrix half, full; /* a triangle; op(A) of the full matrix */
  int64_t *places;        /* of the full matrix's entries in the triangle */
  int *negated;           /* whether an entry is the negative of the stored one */
} symmetric_case;

/* Moves the entries of any matrix into one triangle of a square one: a CSR that keeps their
 * order and duplicates. */
static void symmetric_fold(const test_matrix *m, merbit_symmetry symmetry, int upper,
                           test_matrix *half) {
  const int64_t n = m->rows > m->cols ? m->rows : m->cols;
  int64_t *next = (int64_t *)test_allocate(n + 1, sizeof *next), row, k;
  int pass;
  *half = *m;
  half->rows = half->cols = n;
  half->row_ptr = (int64_t *)test_allocate(n + 1, sizeof *half->row_ptr);
  half->col_ind = (int32_t *)test_allocate(m->nnz, sizeof *half->col_ind);
  half->values = (double *)test_allocate(m->nnz, sizeof *half->values);
  for (pass = 0; pass < 2; pass++) {
    for (row = 0; row < m->rows; row++) {
      for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
        const int64_t col = m->col_ind[k];
        const int64_t i = (row > col) == upper ? col : row, j = i == row ? col : row;
        if (symmetry == MERBIT_SYMMETRY_SKEW && row == col) {
          continue;
        }
        if (pass == 0) {
          half->row_ptr[i + 1]++;
        } else {
          half->col_ind[next[i]] = (int32_t)j;
          half->values[next[i]++] = m->values[k];
        }
      }
    }
    for (row = 0; row < n && pass == 0; row++) {
      half->row_ptr[row + 1] += half->row_ptr[row];
      next[row] = half->row_ptr[row];
    }
  }
  half->nnz = half->row_ptr[n];
  free(next);
}

static void symmetric_unfold(symmetric_case *h, merbit_symmetry symmetry,
                             merbit_operation operation) {
  const test_matrix *half = &h->half;
  const int skew = symmetry == MERBIT_SYMMETRY_SKEW;
  int64_t *next = (int64_t *)test_allocate(half->rows + 1, sizeof *next), row, k;
  int pass, mirror;
  test_matrix *full = &h->full;
  *full = *half;
  full->row_ptr = (int64_t *)test_allocate(half->rows + 1, sizeof *full->row_ptr);
  full->col_ind = (int32_t *)test_allocate(2 * half->nnz, sizeof *full->col_ind);
  full->values = (double *)test_allocate(2 * half->nnz, sizeof *full->values);
  h->places = (int64_t *)test_allocate(2 * half->nnz, sizeof *h->places);
  h->negated = (int *)test_allocate(2 * half->nnz, sizeof *h->negated);
  for (pass = 0; pass < 2; pass++) {
    for (row = 0; row < half->rows; row++) {
      for (k = half->row_ptr[row]; k < half->row_ptr[row + 1]; k++) {
        for (mirror = 0; mirror <= (half->col_ind[k] != row); mirror++) {
          const int64_t i = mirror ? half->col_ind[k] : row;
          if (pass == 0) {
            full->row_ptr[i + 1]++;
            continue;
          }
          full->col_ind[next[i]] = (int32_t)(mirror ? row : half->col_ind[k]);
          h->places[next[i]] = k;
          h->negated[next[i]] = skew && mirror == (operation == MERBIT_OPERATION_N);
          full->values[next[i]] = h->negated[next[i]] ? -half->values[k] : half->values[k];
          next[i]++;
        }
      }
    }
    for (row = 0; row < half->rows && pass == 0; row++) {
      full->row_ptr[row + 1] += full->row_ptr[row];
      next[row] = full->row_ptr[row];
    }
  }
  full->nnz = full->row_ptr[half->rows];
  free(next);
}

TEST_UNUSED static void symmetric_make(const test_matrix *m, merbit_symmetry symmetry,
                                       int upper, merbit_operation operation,
                                       symmetric_case *h) {
  symmetric_fold(m, symmetry, upper, &h->half);
  symmetric_unfold(h, symmetry, operation);
}

TEST_UNUSED static void symmetric_free(symmetric_case *h) {
  test_matrix_free(&h->half);
  test_matrix_free(&h->full);
  free(h->places);
  free(h->negated);
}

/* A products_multiply, through the plan's order if it is reordered. */
static void symmetric_spmv(void *user, const merbit_view *view, const void *alpha,
                           const void *x, const void *beta, void *y) {
  products_plan *p = (products_plan *)user;
  void *px, *py;
  if (p->form->plan.reordering == MERBIT_REORDERING_NONE) {
    products_spmv(p, view, alpha, x, beta, y);
    return;
  }
  px = products_exact((int64_t)p->x_bytes, 1);
  py = products_exact((int64_t)p->y_bytes, 1);
  products_done(p->context, merbit_plan_reorder(p->plan, x, px, NULL), "x into the order");
  products_done(p->context, merbit_plan_reorder(p->plan, y, py, NULL), "y into the order");
  products_done(p->context, merbit_spmv(p->plan, NULL, alpha, px, beta, py, NULL), "a product");
  products_done(p->context, merbit_plan_restore(p->plan, py, y, NULL), "y back");
  free(px);
  free(py);
}

static void symmetric_update(symmetric_case *h, products_case *c, products_plan *p,
                             int device) {
  void *values;
  const void *from;
  merbit_buffer *buffer = NULL;
  const size_t bytes = (size_t)h->half.nnz * products_size(c->form.type);
  int64_t k;
  for (k = 0; k < h->half.nnz; k++) {
    h->half.values[k] = (double)(k % 11 - 5) + (k % 3 == 0 ? 1.0 / 3 : 0);
  }
  for (k = 0; k < h->full.nnz; k++) {
    h->full.values[k] = h->half.values[h->places[k]] * (h->negated[k] ? -1 : 1);
  }
  values = products_values(h->half.values, h->half.nnz, c->form.type);
  from = device ? products_move(p->context, values, bytes, &buffer) : values;
  products_done(p->context,
                merbit_plan_update_values(p->plan, from,
                                          device ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST),
                "new values");
  memset(values, 0xff, bytes); /* the values were copied */
  merbit_buffer_destroy(buffer);
  free(values);
}

/* Checks a matrix whose entries are folded into a triangle, in a form; `spoil` puts Inf and NaN
 * into x. Returns the number of products. */
TEST_UNUSED static int symmetric_check(merbit_context *context, const test_matrix *m,
                                       const products_form *form, merbit_symmetry symmetry,
                                       int upper, uint64_t spoil) {
  static const double alphas[] = {1, 0.5, 1, -1, 0, 0}, betas[] = {0, 0, 1, 0.5, 0, -1};
  const int device = form->device_arrays;
  symmetric_case h;
  products_case c;
  products_plan p;
  int i, round, products = 0;
  symmetric_make(m, symmetry, upper, form->plan.operation, &h);
  products_case_make(context, &h.full, form, &c);
  products_arrays_free(&c.a);
  products_arrays_make(context, &h.half, form, &c.a);
  c.a.view.symmetry = symmetry;
  if (spoil != 0) {
    products_spoil_x(&c, spoil);
  }
  memset(&p, 0, sizeof p);
  p.context = context;
  p.form = &c.form;
  p.x_bytes = p.y_bytes = (size_t)h.full.rows * products_size(form->type);
  products_done(context, merbit_plan_create(context, &c.a.view, &form->plan, &p.plan), m->name);
  products_done(context, merbit_buffer_create(context, p.x_bytes, &p.x), "x");
  products_done(context, merbit_buffer_create(context, p.y_bytes, &p.y), "y");
  for (round = 0; round < 2; round++) {
    for (i = 0; i < (form->few_scalars ? 3 : 6); i++) {
      products_once(&c, alphas[i], betas[i], symmetric_spmv, &p);
      products++;
    }
    if (form->pattern) {
      break;
    }
    if (round == 0) {
      symmetric_update(&h, &c, &p, device);
    }
  }
  merbit_plan_destroy(p.plan);
  merbit_buffer_destroy(p.x);
  merbit_buffer_destroy(p.y);
  products_case_free(&c);
  symmetric_free(&h);
  return products;
}

#endif /* TEST_SUPPORT_SYMMETRIC_H */
