/* Counts the driver calls, other than launches, of a PageRank and a solver whose matrix is in
 * GPU memory: an allocation takes as long as ten launches, and a small upload as long as a
 * wait. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fake/support.h"

enum { N = 40 };
static int32_t row_ptr[N + 1], col_ind[2 * N];

/* Makes a matrix in GPU memory with two entries in each row, on the diagonal and right of
 * it. */
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
  /* PageRank allocates the check's answer, in which rows are counted later; A^T with the sort's
   * scratch, which the method reuses; the carries or sums of a product; and the vectors of
   * ranks, for which reused memory is too small here. A solver allocates its vectors, with all
   * small arrays behind them, and the method's copy of the matrix. */
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

/* A user's plan is returned when the GPU has finished; one of the library's own may be returned
 * before. */
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

/* New values are in place when the call returns, for products on any stream: the host waits for
 * their copy, unless they are in the borrowed array, and for the kernel that fills slices from
 * it. */
static void updates_that_are_done(void **state) {
  static double values[2 * N];
  merbit_buffer *buffer, *numbers, *others;
  merbit_context *context;
  merbit_plan_desc desc;
  merbit_plan *plan;
  merbit_view view;
  int update;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_SLICED;
  desc.changing_values = 1; /* else it would inspect them and wait for the answer */
  fake_reset();
  context = fake_context(NULL);
  view = put(context, &buffer);
  assert_int_equal(merbit_buffer_create(context, sizeof values, &numbers), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(numbers, 0, values, sizeof values), MERBIT_OK);
  assert_int_equal(merbit_buffer_create(context, sizeof values, &others), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(others, 0, values, sizeof values), MERBIT_OK);
  view.values = merbit_buffer_pointer(numbers);
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  for (update = 0; update < 3; update++) {
    cuda->calls.made = 0;
    cuda->calls.only = "cuStreamSynchronize";
    assert_int_equal(merbit_plan_update_values(
                         plan, update == 0 ? view.values : merbit_buffer_pointer(others),
                         MERBIT_MEMORY_DEVICE),
                     MERBIT_OK);
    assert_int_equal(cuda->calls.made, update == 0 ? 1 : 2);
  }
  merbit_plan_destroy(plan);
  merbit_buffer_destroy(others);
  merbit_buffer_destroy(numbers);
  merbit_buffer_destroy(buffer);
  merbit_context_destroy(context);
  fake_expect_clean();
}

/* Expects the row sums of `values`. */
static void expect_sums(merbit_context *context, merbit_plan *plan, const double *values) {
  double x[N], y[N];
  merbit_buffer *xs, *ys;
  int i;
  for (i = 0; i < N; i++) {
    x[i] = 1;
  }
  assert_int_equal(merbit_buffer_create(context, sizeof x, &xs), MERBIT_OK);
  assert_int_equal(merbit_buffer_create(context, sizeof y, &ys), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(xs, 0, x, sizeof x), MERBIT_OK);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, merbit_buffer_pointer(xs), NULL,
                               merbit_buffer_pointer(ys), NULL),
                   MERBIT_OK);
  assert_int_equal(merbit_buffer_download(ys, 0, y, sizeof y), MERBIT_OK);
  for (i = 0; i < N; i++) {
    assert_true(y[i] == values[2 * i] + values[2 * i + 1]);
  }
  merbit_buffer_destroy(xs);
  merbit_buffer_destroy(ys);
}

/* Updates with the values in `numbers`, and expects a number of allocations. */
static void expect_update(merbit_context *context, merbit_plan *plan, merbit_buffer *numbers,
                          const double *values, long allocations, long more) {
  const long before = cuda->bytes;
  assert_int_equal(merbit_buffer_upload(numbers, 0, values, 2 * N * sizeof *values), MERBIT_OK);
  cuda->calls.made = 0;
  cuda->calls.only = "cuMemAlloc_v2";
  assert_int_equal(
      merbit_plan_update_values(plan, merbit_buffer_pointer(numbers), MERBIT_MEMORY_DEVICE),
      MERBIT_OK);
  assert_int_equal(cuda->calls.made, allocations);
  assert_int_equal(cuda->bytes - before, more);
  expect_sums(context, plan, values);
}

/* New values that overwrite the borrowed ones are not copied, nor are any if the plan has its
 * own form: then an update allocates only what converts them. If a plan reads a borrowed array,
 * its first update from another one allocates a copy. */
static void updates_in_place(void **state) {
  static const merbit_method methods[] = {MERBIT_METHOD_ROWS, MERBIT_METHOD_SLICED,
                                          MERBIT_METHOD_BSR, MERBIT_METHOD_SLICED};
  merbit_buffer *buffer, *numbers[2];
  merbit_context *context;
  double values[2][2 * N];
  size_t m;
  int i;
  (void)state;
  for (m = 0; m < sizeof methods / sizeof *methods; m++) {
    const int blocks = methods[m] == MERBIT_METHOD_BSR, shorter = m == 3;
    merbit_plan_desc desc;
    merbit_plan *plan;
    merbit_view view;
    fake_reset();
    context = fake_context(NULL);
    view = put(context, &buffer);
    memset(&desc, 0, sizeof desc);
    desc.method = methods[m];
    desc.changing_values = !shorter;
    for (i = 0; i < 2 * N; i++) { /* values fit in floats, the shorter form */
      values[0][i] = i * i * 0.0078125 + (shorter ? 1 : 0x1p-40);
      values[1][i] = i * 3 + (shorter ? 1 : 0x1p-40);
    }
    for (i = 0; i < 2; i++) {
      assert_int_equal(merbit_buffer_create(context, sizeof values[0], &numbers[i]), MERBIT_OK);
    }
    assert_int_equal(merbit_buffer_upload(numbers[0], 0, values[0], sizeof values[0]),
                     MERBIT_OK);
    view.values = merbit_buffer_pointer(numbers[0]);
    assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
    assert_int_equal(plan->device.form != MBI_VALUES_GENERAL, shorter);
    expect_update(context, plan, numbers[0], values[1], blocks || shorter, 0);
    expect_update(context, plan, numbers[1], values[0], 1,
                  blocks || shorter ? 0 : (long)sizeof values[0]);
    expect_update(context, plan, numbers[1], values[1], blocks || shorter, 0);
    expect_update(context, plan, numbers[0], values[0], blocks || shorter, 0);
    merbit_plan_destroy(plan);
    merbit_buffer_destroy(numbers[0]);
    merbit_buffer_destroy(numbers[1]);
    merbit_buffer_destroy(buffer);
    merbit_context_destroy(context);
    fake_expect_clean();
  }
}

/* A plan of the user's blocks from host memory keeps only its own form: it reads new values in
 * GPU memory in place, wherever the last ones were. */
static void blocks_in_place(void **state) {
  int32_t block_ptr[N / 2 + 1], block_col[N / 2];
  double values[2][2 * N];
  const merbit_view view = merbit_bsr(N, N, N / 2, 2, 2, block_ptr, block_col, values[0]);
  merbit_buffer *numbers[2];
  merbit_context *context;
  merbit_plan_desc desc;
  merbit_plan *plan;
  int i;
  (void)state;
  fake_reset();
  context = fake_context(NULL);
  for (i = 0; i <= N / 2; i++) {
    block_ptr[i] = i;
  }
  for (i = 0; i < N / 2; i++) {
    block_col[i] = i;
  }
  for (i = 0; i < 2 * N; i++) {
    values[0][i] = i * 0.1;
    values[1][i] = i * 0.3;
  }
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_BSR;
  desc.changing_values = 1;
  assert_int_equal(merbit_plan_create(context, &view, &desc, &plan), MERBIT_OK);
  for (i = 0; i < 2; i++) {
    assert_int_equal(merbit_buffer_create(context, sizeof values[0], &numbers[i]), MERBIT_OK);
  }
  for (i = 0; i < 4; i++) {
    expect_update(context, plan, numbers[i / 2], values[i % 2], 0, 0);
  }
  merbit_plan_destroy(plan);
  merbit_buffer_destroy(numbers[0]);
  merbit_buffer_destroy(numbers[1]);
  merbit_context_destroy(context);
  fake_expect_clean();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls), cmocka_unit_test(plans_that_are_done),
      cmocka_unit_test(updates_that_are_done), cmocka_unit_test(updates_in_place),
      cmocka_unit_test(blocks_in_place)};
  fake_open("new");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
