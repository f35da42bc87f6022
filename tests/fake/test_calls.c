/* Counts the driver's calls besides launches that a PageRank and a solver of a matrix in GPU
 * memory make: each allocation takes as long as ten launches, and each upload of a few bytes a
 * wait. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fake/support.h"

enum { N = 40 };
static int32_t row_ptr[N + 1], col_ind[2 * N];

/* Rows of two entries, on the diagonal and right of it, in GPU memory. */
static merbit_view put(merbit_context *context, merbit_buffer **buffer) {
  merbit_view view = merbit_csr(N, N, 2 * N, NULL, NULL, NULL);
  char *base;
  int i;
  for (i = 0; i < N; i++) {
    row_ptr[i + 1] = 2 * i + 2;
    col_ind[2 * i] = i + 1 < N ? i : 0;
    col_ind[2 * i + 1] = i + 1 < N ? i + 1 : i;
  }
  assert_int_equal(merbit_buffer_create(context, 2048, buffer), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(*buffer, 0, row_ptr, sizeof row_ptr), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(*buffer, 1024, col_ind, sizeof col_ind), MERBIT_OK);
  base = (char *)merbit_buffer_pointer(*buffer);
  view.row_ptr = base;
  view.col_ind = base + 1024;
  view.memory = MERBIT_MEMORY_DEVICE;
  return view;
}

static void rank(merbit_context *context, const merbit_view *view, merbit_method method) {
  merbit_pagerank_desc desc;
  merbit_pagerank_result result;
  double ranks[N];
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CUDA;
  desc.method = method;
  assert_int_equal(merbit_pagerank(context, view, &desc, ranks, &result), MERBIT_OK);
  assert_int_equal(result.recorded, 2);
  assert_int_equal(result.synchronizations, 1);
}

static void make_solver(merbit_context *context, const merbit_view *view, merbit_method none) {
  merbit_solver_desc desc;
  merbit_solver *solver;
  (void)none;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CUDA;
  desc.method = MERBIT_SOLVER_BICGSTAB;
  desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
  assert_int_equal(merbit_solver_create(context, view, &desc, &solver), MERBIT_OK);
  merbit_solver_destroy(solver);
}

static void calls(void **state) {
  /* The check's answer, in which rows are then counted; A^T, and what sorts it, from where the
   * method's comes; carries or sums of a product, and ranks with what they come from, for which
   * that is too little here. Of a solver its vectors, behind which all small arrays lie, and
   * the method's copy of the matrix. */
  static const struct {
    void (*work)(merbit_context *context, const merbit_view *view, merbit_method method);
    merbit_method method;
    long allocations, uploads;
  } cases[] = {{rank, MERBIT_METHOD_SCAN, 4, 1},
               {rank, MERBIT_METHOD_SLICED, 4, 1},
               {rank, MERBIT_METHOD_ROWS, 4, 1},
               {rank, MERBIT_METHOD_MERBIT, 4, 1},
               {make_solver, MERBIT_METHOD_AUTO, 2, 1}};
  static const char *const kinds[] = {"cuMemAlloc_v2", "cuMemFree_v2", "cuMemcpyHtoD_v2"};
  size_t i, k;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
      merbit_buffer *buffer;
      merbit_context *context;
      merbit_view view;
      fake_reset();
      context = fake_context(NULL);
      view = put(context, &buffer);
      cuda->calls.made = 0;
      cuda->calls.only = kinds[k];
      cases[i].work(context, &view, cases[i].method);
      assert_int_equal(cuda->calls.made, k < 2 ? cases[i].allocations : cases[i].uploads);
      merbit_buffer_destroy(buffer);
      merbit_context_destroy(context);
      fake_expect_clean();
    }
  }
}

/* A user's plan is given when the GPU has done all for it; one of the library's own may be
 * given before. */
static void plans_that_are_done(void **state) {
  long waits[2];
  int unsynchronised;
  (void)state;
  for (unsynchronised = 0; unsynchronised < 2; unsynchronised++) {
    mbi_plan_making making;
    merbit_plan_desc desc;
    merbit_plan *plan;
    merbit_buffer *buffer;
    merbit_context *context;
    merbit_view view;
    fake_reset();
    context = fake_context(NULL);
    view = put(context, &buffer);
    memset(&making, 0, sizeof making);
    memset(&desc, 0, sizeof desc);
    making.unsynchronised = unsynchronised;
    cuda->calls.made = 0;
    cuda->calls.only = "cuStreamSynchronize";
    assert_int_equal(mbi_plan_create(context, &view, &desc, &making, &plan), MERBIT_OK);
    waits[unsynchronised] = cuda->calls.made;
    merbit_plan_destroy(plan);
    merbit_buffer_destroy(buffer);
    merbit_context_destroy(context);
    fake_expect_clean();
  }
  assert_int_equal(waits[0], waits[1] + 1);
}

/* New values have arrived on return, for products on any stream: the host waits for their copy,
 * and for the kernel that fills the slices from it. */
static void updates_that_are_done(void **state) {
  static double values[2 * N];
  merbit_buffer *buffer, *numbers;
  merbit_context *context;
  merbit_plan_desc desc;
  merbit_plan *plan;
  merbit_view view;
  int update;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_SLICED;
  desc.changing_values = 1; /* or it would look at them, and wait for that */
  fake_reset();
  context = fake_context(NULL);
  view = put(context, &buffer);
  assert_int_equal(merbit_buffer_create(context, sizeof values, &numbers), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(numbers, 0, values, sizeof values), MERBIT_OK);
  view.values = merbit_buffer_pointer(numbers);
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  for (update = 0; update < 2; update++) {
    cuda->calls.made = 0;
    cuda->calls.only = "cuStreamSynchronize";
    assert_int_equal(merbit_plan_update_values(plan, view.values, MERBIT_MEMORY_DEVICE),
                     MERBIT_OK);
    assert_int_equal(cuda->calls.made, 2);
  }
  merbit_plan_destroy(plan);
  merbit_buffer_destroy(numbers);
  merbit_buffer_destroy(buffer);
  merbit_context_destroy(context);
  fake_expect_clean();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(calls),
                                     cmocka_unit_test(plans_that_are_done),
                                     cmocka_unit_test(updates_that_are_done)};
  fake_open("new");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
