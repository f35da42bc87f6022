/* Solvers on the GPU: solve/core/solver_cases.h, and features that only the GPU has. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <pthread.h>

#include "support/cpu.h"
#include "support/gpu.h"
#include "solve/eigen/eigen_cases.h"
#include "solve/core/gmres_cases.h"

/* A host matrix copied to GPU memory, with the widest or the narrowest indices. */
typedef struct placed {
  merbit_view view;
  merbit_buffer *arrays[3];
} placed;

static void *place(const void *from, size_t bytes, merbit_buffer **buffer) {
  assert_int_equal(merbit_buffer_create(context, bytes, buffer), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(*buffer, 0, from, bytes), MERBIT_OK);
  return merbit_buffer_pointer(*buffer);
}

static placed place_matrix(const linear *l, int wide) {
  int64_t *row_ptr = (int64_t *)malloc((size_t)(l->n + 1) * sizeof *row_ptr);
  int64_t *col_ind = (int64_t *)malloc((size_t)l->nnz * sizeof *col_ind);
  placed p;
  int64_t i;
  assert_non_null(row_ptr);
  assert_non_null(col_ind);
  for (i = 0; i <= l->n; i++) {
    row_ptr[i] = l->row_ptr[i] + 1;
  }
  for (i = 0; i < l->nnz; i++) {
    col_ind[i] = l->col_ind[i] + 1;
  }
  p.view = linear_view(l);
  p.view.memory = MERBIT_MEMORY_DEVICE;
  if (wide) {
    p.view.base = 1;
    p.view.offset_type = p.view.index_type = MERBIT_INDEX_64;
  }
  p.view.row_ptr = place(wide ? (const void *)row_ptr : l->row_ptr,
                         (size_t)(l->n + 1) * (wide ? 8 : 4), &p.arrays[0]);
  p.view.col_ind = place(wide ? (const void *)col_ind : l->col_ind,
                         (size_t)l->nnz * (wide ? 8 : 4), &p.arrays[1]);
  p.view.values = place(l->values, (size_t)l->nnz * 8, &p.arrays[2]);
  free(row_ptr);
  free(col_ind);
  return p;
}

static void placed_free(placed *p) {
  int i;
  for (i = 0; i < 3; i++) {
    merbit_buffer_destroy(p->arrays[i]);
  }
}

/* Arrays in GPU memory give the same results as in host memory, with new values from either;
 * also with iterative refinement in f32. */
static void test_matrix_in_gpu_memory(void **state) {
  linear l = linear_grid(9, 0, 3, 0);
  double x[81], y[81];
  int wide, pre, i, way;
  (void)state;
  for (way = 0; way < 4; way++) {
    for (pre = MERBIT_PRECONDITIONER_NONE; pre <= MERBIT_PRECONDITIONER_BLOCK_JACOBI; pre++) {
      merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 1e-9);
      placed p = place_matrix(&l, wide = way % 2);
      merbit_solver_result result;
      merbit_solver *solver;
      merbit_buffer *fresh;
      const void *there;
      solved s;
      desc.preconditioner = (merbit_preconditioner_kind)pre;
      desc.block_size = pre == MERBIT_PRECONDITIONER_BLOCK_JACOBI ? 3 : 0;
      desc.refine = way / 2;
      desc.reorder = pre == MERBIT_PRECONDITIONER_JACOBI && wide && !desc.refine ? 1 : 0;
      s = solve_once(&l, &desc, x);
      assert_int_equal(s.status, MERBIT_OK);
      assert_int_equal(merbit_solver_create(context, &p.view, &desc, &solver), MERBIT_OK);
      assert_int_equal(merbit_solver_solve(solver, l.b, y, 0, NULL, 0, &result), MERBIT_OK);
      assert_memory_equal(x, y, sizeof x);
      assert_int_equal(result.iterations, s.result.iterations);
      assert_true(fabs(result.backward_error - s.result.backward_error) <=
                  1e-14 * s.result.backward_error);
      for (i = 0; i < l.nnz; i++) {
        l.values[i] *= 4;
      }
      assert_int_equal(merbit_solver_update_values(solver, l.values, MERBIT_MEMORY_HOST),
                       MERBIT_OK);
      assert_int_equal(merbit_solver_solve(solver, l.b, y, 0, NULL, 0, &result), MERBIT_OK);
      for (i = 0; i < l.n; i++) {
        assert_true(4 * y[i] == x[i]);
      }
      for (i = 0; i < l.nnz; i++) {
        l.values[i] /= 4;
      }
      there = place(l.values, (size_t)l.nnz * 8, &fresh);
      assert_int_equal(merbit_solver_update_values(
                           solver, there, wide ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_DEFAULT),
                       MERBIT_OK);
      assert_int_equal(merbit_solver_solve(solver, l.b, y, 0, NULL, 0, &result), MERBIT_OK);
      assert_memory_equal(x, y, sizeof x);
      merbit_solver_destroy(solver);
      merbit_buffer_destroy(fresh);
      placed_free(&p);
    }
  }
  linear_free(&l);
}

/* New values in GPU memory for a structure in host memory. */
static void test_values_in_gpu_memory(void **state) {
  linear l = linear_grid(7, 0, 2, 0);
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 1e-9);
  const merbit_view view = linear_view(&l);
  merbit_solver *solver;
  merbit_buffer *fresh;
  const void *there = place(l.values, (size_t)l.nnz * 8, &fresh);
  double x[49], y[49];
  (void)state;
  desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
  assert_int_equal(merbit_solver_solve(solver, l.b, x, 0, NULL, 0, NULL), MERBIT_OK);
  assert_int_equal(merbit_solver_update_values(solver, there, MERBIT_MEMORY_DEVICE), MERBIT_OK);
  assert_int_equal(merbit_solver_solve(solver, l.b, y, 0, NULL, 0, NULL), MERBIT_OK);
  assert_memory_equal(x, y, sizeof x);
  merbit_solver_destroy(solver);
  merbit_buffer_destroy(fresh);
  linear_free(&l);
}

/* Scales the values of l by 2^exponent. */
static void linear_scale(linear *l, int exponent) {
  int32_t k;
  for (k = 0; k < l->nnz; k++) {
    l->values[k] = ldexp(l->values[k], exponent);
  }
}

/* Matrices of extreme scale in GPU memory, and new values for them from either memory. */
static void test_far_in_gpu_memory(void **state) {
  linear l = linear_grid(7, 0, 2, 0);
  double x[49], y[49];
  int refine, i, way;
  (void)state;
  for (refine = 0; refine <= 1; refine++) {
    merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 1e-9);
    merbit_solver *solver;
    merbit_solver_result result;
    placed p;
    desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
    desc.refine = refine;
    assert_int_equal(solve_once(&l, &desc, x).status, MERBIT_OK);
    linear_scale(&l, -550);
    p = place_matrix(&l, refine);
    assert_int_equal(merbit_solver_create(context, &p.view, &desc, &solver), MERBIT_OK);
    for (way = 0; way < 3; way++) {
      const int exponent = way == 0 ? -550 : way == 1 ? 500 : -400;
      merbit_buffer *fresh = NULL;
      if (way > 0) {
        linear_scale(&l, exponent);
        assert_int_equal(merbit_solver_update_values(
                             solver,
                             way == 1 ? place(l.values, (size_t)l.nnz * 8, &fresh) : l.values,
                             way == 1 ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST),
                         MERBIT_OK);
      }
      assert_int_equal(merbit_solver_solve(solver, l.b, y, 0, NULL, 0, &result), MERBIT_OK);
      assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
      assert_true(result.device_bytes >= 2 * l.nnz * 8);
      for (i = 0; i < l.n; i++) {
        assert_true(ldexp(y[i], exponent) == x[i]);
      }
      linear_scale(&l, -exponent);
      merbit_buffer_destroy(fresh);
    }
    merbit_solver_destroy(solver);
    placed_free(&p);
  }
  linear_free(&l);
}

/* Values in GPU memory that exceed f32, at first and later. */
static void test_values_beyond_f32_there(void **state) {
  linear l = linear_grid(7, 0, 2, 0);
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 1e-9);
  merbit_solver *solver = NULL;
  merbit_buffer *fresh;
  const void *there;
  merbit_solver_result result;
  merbit_plan_info inner;
  double x[49];
  placed p = place_matrix(&l, 0);
  (void)state;
  desc.refine = 1;
  assert_int_equal(merbit_solver_create(context, &p.view, &desc, &solver), MERBIT_OK);
  l.values[7] = 1e200;
  there = place(l.values, (size_t)l.nnz * 8, &fresh);
  assert_int_equal(merbit_solver_update_values(solver, there, MERBIT_MEMORY_DEVICE),
                   MERBIT_NOT_SUPPORTED);
  cpu_expect(context, MERBIT_NOT_SUPPORTED, "f32 cannot represent");
  assert_int_equal(merbit_solver_update_values(solver, p.view.values, MERBIT_MEMORY_DEVICE),
                   MERBIT_OK);
  assert_int_equal(merbit_solver_solve(solver, l.b, x, 0, NULL, 0, &result), MERBIT_OK);
  assert_int_equal(merbit_plan_get_info(solver->inner->plan, &inner), MERBIT_OK);
  assert_true(result.device_bytes == (int64_t)(solver->bytes + solver->inner->bytes) +
                                         result.plan.device_bytes + inner.device_bytes +
                                         4 * l.nnz); /* the values in f32 */
  merbit_solver_destroy(solver);
  p.view.values = there;
  assert_int_equal(merbit_solver_create(context, &p.view, &desc, &solver),
                   MERBIT_NOT_SUPPORTED);
  assert_null(solver);
  cpu_expect(context, MERBIT_NOT_SUPPORTED, "f32 cannot represent");
  merbit_buffer_destroy(fresh);
  placed_free(&p);
  linear_free(&l);
}

/* Values in GPU memory are not read if there are fewer of them than the view says. */
static void test_wrong_count_there(void **state) {
  linear l = linear_grid(3, 0, 1, 0);
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 0);
  merbit_solver *solver;
  placed p = place_matrix(&l, 0);
  (void)state;
  p.view.nnz = 1 << 20;
  for (desc.refine = 0; desc.refine <= 1; desc.refine++) {
    assert_int_equal(merbit_solver_create(context, &p.view, &desc, &solver),
                     MERBIT_INVALID_MATRIX);
    cpu_expect(context, MERBIT_INVALID_MATRIX, "row_ptr[rows] is 33 but nnz is 1048576");
  }
  placed_free(&p);
  linear_free(&l);
}

/* The error names the first of two zeros on the diagonal. */
static void test_zero_diagonal_there(void **state) {
  linear l = linear_grid(9, 0, 3, 0);
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 1e-9);
  merbit_solver *solver = NULL;
  char message[MERBIT_MESSAGE_SIZE];
  placed p;
  int32_t row, k;
  (void)state;
  for (row = 33; row <= 70; row += 37) {
    for (k = l.row_ptr[row]; k < l.row_ptr[row + 1]; k++) {
      l.values[k] = l.col_ind[k] == row ? 0 : l.values[k];
    }
  }
  p = place_matrix(&l, 0);
  desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
  assert_int_equal(merbit_solver_create(context, &p.view, &desc, &solver),
                   MERBIT_INVALID_MATRIX);
  assert_null(solver);
  (void)merbit_last_error(context, message, sizeof message);
  assert_non_null(strstr(message, "A(33, 33), counted from 0, is 0"));
  placed_free(&p);
  linear_free(&l);
}

/* Blocks of a fused kernel recognise a posted number by its mark, which counts from 1. */
static void test_no_marks_before(void **state) {
  linear l = linear_grid(9, 0, 3, 0);
  const merbit_view view = linear_view(&l);
  const merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 1e-9);
  merbit_solver *solver = NULL;
  unsigned long long *posts, marks = 0;
  size_t bytes, i;
  (void)state;
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
  bytes = (size_t)mbi_solve_post_bytes(solver);
  assert_true(bytes > 0 || !context->device.cooperative);
  posts = (unsigned long long *)malloc(bytes + 8);
  assert_non_null(posts);
  assert_int_equal(mbi_device_enter(context), MERBIT_OK);
  assert_int_equal(mbi_device_synchronize(context, solver->gpu.stream), MERBIT_OK);
  assert_int_equal(
      mbi_device_download(context, posts, mbi_device_address(solver->v.posts), bytes),
      MERBIT_OK);
  mbi_device_leave(context);
  for (i = 0; i < bytes / sizeof *posts; i++) {
    marks |= posts[i];
  }
  assert_true(marks == 0);
  free(posts);
  merbit_solver_destroy(solver);
  linear_free(&l);
}

typedef struct solving {
  const linear *l;
  const double *x; /* the solution of a single thread */
  int wrong;
} solving;

/* Makes solvers and solves with them. Counts the solutions that differ from x. */
static void *solve_in_thread(void *argument) {
  solving *s = (solving *)argument;
  const merbit_view view = linear_view(s->l);
  const merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 1e-9);
  double x[81];
  int i;
  for (i = 0; i < 4; i++) {
    merbit_solver *solver = NULL;
    merbit_solver_result result;
    s->wrong += merbit_solver_create(context, &view, &desc, &solver) != MERBIT_OK ||
                merbit_solver_solve(solver, s->l->b, x, 0, NULL, 0, &result) != MERBIT_OK ||
                memcmp(x, s->x, sizeof x) != 0;
    merbit_solver_destroy(solver);
  }
  return NULL;
}

/* One thread records iterations while others make solvers, which work on the default stream. */
static void test_solvers_of_several_threads(void **state) {
  linear l = linear_grid(9, 0, 3, 0);
  const merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 1e-9);
  double x[81];
  solving workers[4];
  pthread_t threads[4];
  int i;
  (void)state;
  assert_int_equal(solve_once(&l, &desc, x).status, MERBIT_OK);
  for (i = 0; i < 4; i++) {
    workers[i].l = &l;
    workers[i].x = x;
    workers[i].wrong = 0;
    assert_int_equal(pthread_create(&threads[i], NULL, solve_in_thread, &workers[i]), 0);
  }
  for (i = 0; i < 4; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(workers[i].wrong, 0);
  }
  linear_free(&l);
}

/* Vectors are filled in a stream that does not wait for the default stream, and the solver must
 * wait for it. A solver with its own stream gives the same bits. */
static void check_stream(const linear *l, merbit_solver_desc desc, void *stream, int host) {
  const mbi_driver *driver = &context->device.driver;
  const size_t bytes = (size_t)l->n * sizeof(double);
  const merbit_view view = linear_view(l);
  merbit_buffer *right, *b, *x, *y;
  merbit_solver *solver;
  merbit_solver_result result;
  double expected[81], found[81], product[81];
  int round, i;
  desc.deterministic = 1;
  assert_int_equal(solve_once(l, &desc, expected).status, MERBIT_OK);
  desc.stream = stream;
  desc.vector_memory = host ? MERBIT_MEMORY_HOST : MERBIT_MEMORY_DEVICE;
  (void)place(l->b, bytes, &right);
  assert_int_equal(merbit_buffer_create(context, bytes, &b), MERBIT_OK);
  assert_int_equal(merbit_buffer_create(context, bytes, &x), MERBIT_OK);
  assert_int_equal(merbit_buffer_create(context, bytes, &y), MERBIT_OK);
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
  for (round = 0; round < 2; round++) {
    memset(found, 0, sizeof found);
    assert_int_equal(merbit_buffer_upload(b, 0, found, bytes), MERBIT_OK);
    assert_int_equal(mbi_device_enter(context), MERBIT_OK);
    assert_int_equal(driver->memcpy_dtod_async(mbi_device_address(merbit_buffer_pointer(b)),
                                               mbi_device_address(merbit_buffer_pointer(right)),
                                               bytes, stream),
                     0);
    mbi_device_leave(context);
    if (host) {
      assert_int_equal(merbit_solver_solve(solver, l->b, found, 0, NULL, 0, &result),
                       MERBIT_OK);
      assert_memory_equal(found, expected, bytes);
      /* The upload of x must not overwrite b, which a queued kernel may still reorder. */
      assert_int_equal(merbit_solver_solve(solver, l->b, found, 1, NULL, 0, &result),
                       MERBIT_OK);
      assert_int_equal(merbit_solver_multiply(solver, found, product), MERBIT_OK);
    } else {
      assert_int_equal(merbit_solver_solve(solver, merbit_buffer_pointer(b),
                                           merbit_buffer_pointer(x), 0, NULL, 0, &result),
                       MERBIT_OK);
      assert_int_equal(
          merbit_solver_multiply(solver, merbit_buffer_pointer(x), merbit_buffer_pointer(y)),
          MERBIT_OK);
      assert_int_equal(merbit_buffer_download(x, 0, found, bytes), MERBIT_OK);
      assert_int_equal(merbit_buffer_download(y, 0, product, bytes), MERBIT_OK);
      assert_memory_equal(found, expected, bytes);
    }
    assert_int_equal(result.stop, MERBIT_STOP_CONVERGED);
    for (i = 0; i < l->n; i++) {
      assert_true(fabs(product[i] - l->b[i]) <= 1e-7);
    }
    assert_int_equal(merbit_solver_update_values(solver, l->values, MERBIT_MEMORY_HOST),
                     MERBIT_OK);
  }
  merbit_solver_destroy(solver);
  merbit_buffer_destroy(right);
  merbit_buffer_destroy(b);
  merbit_buffer_destroy(x);
  merbit_buffer_destroy(y);
}

static void test_stream(void **state) {
  const mbi_driver *driver = &context->device.driver;
  linear l = linear_grid(9, 0, 3, 0);
  merbit_solver_desc desc;
  void *stream;
  int host;
  (void)state;
  assert_int_equal(mbi_device_enter(context), MERBIT_OK);
  assert_int_equal(driver->stream_create(&stream, MBI_STREAM_NON_BLOCKING), 0);
  mbi_device_leave(context);
  for (host = 0; host <= 1; host++) {
    desc = solver_desc(MERBIT_SOLVER_CG, 1e-9);
    desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
    check_stream(&l, desc, stream, host);
    desc.refine = 1;
    check_stream(&l, desc, stream, host);
    desc = solver_desc(MERBIT_SOLVER_BICGSTAB, 1e-9);
    desc.reorder = 1;
    check_stream(&l, desc, stream, host);
    desc = solver_desc(MERBIT_SOLVER_GMRES, 1e-9);
    desc.preconditioner = MERBIT_PRECONDITIONER_BLOCK_JACOBI;
    check_stream(&l, desc, stream, host);
  }
  assert_int_equal(mbi_device_enter(context), MERBIT_OK);
  assert_int_equal(driver->stream_destroy(stream), 0); /* no solver has destroyed it */
  mbi_device_leave(context);
  linear_free(&l);
}

/* Matrices without rows in GPU memory, with and without offsets, and host values that are said
 * to be there. */
static void test_nothing_there(void **state) {
  const int64_t none = 0;
  const double value = 2;
  const int32_t offsets[] = {0, 1}, column = 0;
  merbit_buffer *buffers[2];
  merbit_solver_desc desc = solver_desc(MERBIT_SOLVER_CG, 1e-10);
  merbit_solver *solver;
  merbit_view view = merbit_csr(0, 0, 0, NULL, NULL, NULL);
  int turn;
  (void)state;
  assert_int_equal(merbit_buffer_create(context, sizeof offsets, &buffers[0]), MERBIT_OK);
  assert_int_equal(merbit_buffer_create(context, sizeof column, &buffers[1]), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(buffers[0], 0, &none, sizeof none), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(buffers[1], 0, &column, sizeof column), MERBIT_OK);
  view.memory = MERBIT_MEMORY_DEVICE;
  for (turn = 0; turn < 2; turn++) {
    view.row_ptr = turn == 0 ? NULL : merbit_buffer_pointer(buffers[0]);
    assert_int_equal(merbit_solver_create(context, &view, &desc, &solver), MERBIT_OK);
    merbit_solver_destroy(solver);
  }
  assert_int_equal(merbit_buffer_upload(buffers[0], 0, offsets, sizeof offsets), MERBIT_OK);
  view = merbit_csr(1, 1, 1, merbit_buffer_pointer(buffers[0]),
                    merbit_buffer_pointer(buffers[1]), &value);
  view.memory = MERBIT_MEMORY_DEVICE;
  desc.refine = 1;
  assert_int_equal(merbit_solver_create(context, &view, &desc, &solver),
                   MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "view.memory is MERBIT_MEMORY_DEVICE, but ");
  merbit_buffer_destroy(buffers[0]);
  merbit_buffer_destroy(buffers[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      SOLVER_CASES,
      cmocka_unit_test(test_solvers_of_several_threads),
      cmocka_unit_test(test_matrix_in_gpu_memory),
      cmocka_unit_test(test_values_in_gpu_memory),
      cmocka_unit_test(test_far_in_gpu_memory),
      cmocka_unit_test(test_values_beyond_f32_there),
      cmocka_unit_test(test_wrong_count_there),
      cmocka_unit_test(test_zero_diagonal_there),
      cmocka_unit_test(test_no_marks_before),
      cmocka_unit_test(test_stream),
      cmocka_unit_test(test_nothing_there),
      GMRES_CASES,
      EIGEN_CASES,
  };
  int failed;
  context = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(context);
  gpu_clean();
  return failed;
}
