/* A plan on the GPU with its vectors, for tests in which the matrix does not matter. Include
 * merbit.h and cmocka.h first. */
#ifndef TEST_GPU_FIXTURE_H
#define TEST_GPU_FIXTURE_H
#include "support/gpu.h"
#include "support/products.h"

/* A plan of a random matrix with x and y on the GPU; released by fixture_free. */
typedef struct fixture {
  test_matrix m;
  products_arrays arrays;
  merbit_plan *plan;
  merbit_buffer *x, *y;
  double *host_x, *host_y;
} fixture;

static void fixture_make(fixture *f, merbit_context *gpu, uint64_t seed, merbit_method method,
                         int device_arrays) {
  /* A diagonal of a slice takes 64 slots, here mostly for one nonzero. */
  const int64_t most = method == MERBIT_METHOD_DIAGONALS ? 15000 : INT64_MAX;
  products_form form;
  int64_t i;
  int index = 0;
  memset(f, 0, sizeof *f);
  memset(&form, 0, sizeof form);
  form.type = MERBIT_F64;
  form.device_arrays = device_arrays;
  form.plan.method = method;
  for (i = 0; i < test_matrix_count(); i++) { /* the largest matrix: many blocks */
    test_matrix candidate;
    test_matrix_make((int)i, seed, &candidate);
    if (candidate.nnz > f->m.nnz && candidate.nnz <= most) {
      f->m.nnz = candidate.nnz;
      index = (int)i;
    }
    test_matrix_free(&candidate);
  }
  test_matrix_make(index, seed, &f->m);
  products_arrays_make(gpu, &f->m, &form, &f->arrays);
  assert_int_equal(merbit_plan_create(gpu, &f->arrays.view, &form.plan, &f->plan), MERBIT_OK);
  f->host_x = (double *)test_allocate(f->m.cols, sizeof(double));
  f->host_y = (double *)test_allocate(f->m.rows, sizeof(double));
  for (i = 0; i < f->m.cols; i++) {
    f->host_x[i] = test_uniform(&seed);
  }
  (void)products_move(gpu, f->host_x, (size_t)f->m.cols * 8, &f->x);
  (void)products_move(gpu, f->host_y, (size_t)f->m.rows * 8, &f->y);
}

static int fixture_rows_wrong(fixture *f) {
  assert_int_equal(merbit_buffer_download(f->y, 0, f->host_y, (size_t)f->m.rows * 8),
                   MERBIT_OK);
  return bound_rows_wrong_f64(&f->m, 1, f->host_x, 0, NULL, f->host_y);
}

static void fixture_free(fixture *f) {
  merbit_plan_destroy(f->plan);
  merbit_buffer_destroy(f->x);
  merbit_buffer_destroy(f->y);
  products_arrays_free(&f->arrays);
  test_matrix_free(&f->m);
  free(f->host_x);
  free(f->host_y);
}

#endif /* TEST_GPU_FIXTURE_H */
