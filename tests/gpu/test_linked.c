/* SCAN with linked blocks on the GPU: products that follow each other in one workspace or two.
 */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "gpu/fixture.h"

/* Every eighth row is long, every fifth of the others is empty. */
enum { ROWS = 90, COLS = 3000, LONG = 1200, MOST = 16000, ROUNDS = 3 };

static merbit_context *gpu;
static int32_t row_ptr[ROWS + 1], col_ind[MOST];
static double values[MOST], x[COLS], old[ROWS], y[ROWS], again[ROWS];
static float values_f32[MOST], narrow[COLS];

static void make_matrix(void) {
  uint64_t state = 5;
  int64_t i, k = 0;
  for (i = 0; i < ROWS; i++) {
    const int64_t length = i % 8 == 3 ? LONG + i : i % 5 == 0 ? 0 : 1 + i % 7;
    const int64_t end = k + length;
    assert_true(end <= MOST);
    for (; k < end; k++) {
      col_ind[k] = (int32_t)test_below(&state, COLS);
      values_f32[k] = (float)test_uniform(&state);
      values[k] = values_f32[k];
    }
    row_ptr[i + 1] = (int32_t)k;
    old[i] = (float)test_uniform(&state);
  }
  for (i = 0; i < COLS; i++) {
    narrow[i] = (float)test_uniform(&state);
    x[i] = narrow[i];
  }
}

static merbit_plan *plan_of(merbit_type type) {
  merbit_view view = merbit_csr(ROWS, COLS, row_ptr[ROWS], row_ptr, col_ind,
                                type == MERBIT_F32 ? (const void *)values_f32 : values);
  merbit_plan_desc desc = merbit_plan_defaults();
  merbit_plan *plan;
  char line[1024];
  view.value_type = type;
  desc.method = MERBIT_METHOD_SCAN;
  desc.deterministic = 1;
  assert_int_equal(merbit_plan_create(gpu, &view, &desc, &plan), MERBIT_OK);
  assert_true(merbit_plan_describe(plan, line, sizeof line) > 0);
  if (strstr(line, "in linked blocks") == NULL) {
    fail_msg("%s", line);
  }
  assert_true(!mbi_scan_asks_sectors(plan) || plan->nonempty.sectors > 0);
  return plan;
}

/* Moves numbers to the GPU in the plan's type. */
static merbit_buffer *move(const double *from, int64_t count, merbit_type type) {
  const size_t size = type == MERBIT_F32 ? 4 : 8;
  float short_ones[COLS];
  merbit_buffer *buffer;
  int64_t i;
  for (i = 0; i < count; i++) {
    short_ones[i] = (float)from[i];
  }
  assert_int_equal(merbit_buffer_create(gpu, (size_t)count * size, &buffer), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(buffer, 0,
                                        type == MERBIT_F32 ? (const void *)short_ones : from,
                                        (size_t)count * size),
                   MERBIT_OK);
  return buffer;
}

static void fetch(const merbit_buffer *buffer, merbit_type type, double *to) {
  float short_ones[ROWS];
  int64_t i;
  assert_int_equal(merbit_buffer_download(buffer, 0,
                                          type == MERBIT_F32 ? (void *)short_ones : to,
                                          ROWS * (type == MERBIT_F32 ? 4 : 8)),
                   MERBIT_OK);
  for (i = 0; type == MERBIT_F32 && i < ROWS; i++) {
    to[i] = short_ones[i];
  }
}

/* Compares a product with a sum in long double, by the componentwise bound. */
static void expect_product(merbit_type type, double alpha, double beta, const double *got) {
  const double unit = type == MERBIT_F32 ? 0x1p-24 : 0x1p-53;
  int64_t i, k;
  for (i = 0; i < ROWS; i++) {
    const int64_t length = row_ptr[i + 1] - row_ptr[i];
    long double sum = beta * old[i], size = fabs(beta * old[i]);
    for (k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
      const long double term = (long double)alpha * values[k] * x[col_ind[k]];
      sum += term;
      size += fabsl(term);
    }
    if (!(fabsl(got[i] - sum) <= (length + 3) * (long double)unit * size)) {
      fail_msg("row %d of %d nonzeros: %g, not %g", (int)i, (int)length, got[i], (double)sum);
    }
  }
}

/* Each product leaves its workspace ready for the next one. */
static void products_follow_each_other(void **state) {
  static const merbit_type types[] = {MERBIT_F64, MERBIT_F32};
  static const double pairs[][2] = {{1, 0}, {-0.5, 2}};
  int t, p, round;
  (void)state;
  for (t = 0; t < 2; t++) {
    merbit_plan *plan = plan_of(types[t]);
    merbit_buffer *on_x = move(x, COLS, types[t]);
    for (p = 0; p < 2; p++) {
      const float narrow_pair[] = {(float)pairs[p][0], (float)pairs[p][1]};
      for (round = 0; round < ROUNDS; round++) {
        merbit_buffer *on_y = move(old, ROWS, types[t]);
        assert_int_equal(merbit_spmv(plan, NULL,
                                     t == 0 ? (const void *)&pairs[p][0] : &narrow_pair[0],
                                     merbit_buffer_pointer(on_x),
                                     t == 0 ? (const void *)&pairs[p][1] : &narrow_pair[1],
                                     merbit_buffer_pointer(on_y), NULL),
                         MERBIT_OK);
        fetch(on_y, types[t], round == 0 ? y : again);
        assert_true(round == 0 || memcmp(y, again, sizeof y) == 0);
        merbit_buffer_destroy(on_y);
      }
      expect_product(types[t], pairs[p][0], pairs[p][1], y);
    }
    merbit_buffer_destroy(on_x);
    merbit_plan_destroy(plan);
  }
}

/* Checks that the slots of a workspace are empty: memory may hold anything at first. */
static void expect_empty(const merbit_plan *plan, const merbit_workspace *workspace) {
  static unsigned char slots[4096], nothing[4096];
  const uint64_t bytes = mbi_scan_slot_bytes(plan);
  assert_in_range(bytes, 1, sizeof slots);
  assert_int_equal(mbi_device_enter(gpu), MERBIT_OK);
  assert_int_equal(mbi_device_download(gpu, slots, workspace->device_carries, bytes),
                   MERBIT_OK);
  mbi_device_leave(gpu);
  assert_memory_equal(slots, nothing, bytes);
}

/* A workspace of the caller's is as ready as the plan's own. */
static void own_workspaces_are_ready(void **state) {
  merbit_plan *plan = plan_of(MERBIT_F64);
  merbit_buffer *on_x = move(x, COLS, MERBIT_F64), *on_y[2];
  merbit_workspace *own;
  int i, round;
  (void)state;
  assert_int_equal(merbit_workspace_create(plan, &own), MERBIT_OK);
  expect_empty(plan, plan->workspace);
  expect_empty(plan, own);
  on_y[0] = move(old, ROWS, MERBIT_F64);
  on_y[1] = move(old, ROWS, MERBIT_F64);
  for (round = 0; round < 20; round++) {
    for (i = 0; i < 2; i++) {
      assert_int_equal(merbit_spmv(plan, i == 0 ? NULL : own, NULL, merbit_buffer_pointer(on_x),
                                   NULL, merbit_buffer_pointer(on_y[i]), NULL),
                       MERBIT_OK);
    }
  }
  for (i = 0; i < 2; i++) {
    fetch(on_y[i], MERBIT_F64, y);
    expect_product(MERBIT_F64, 1, 0, y);
    merbit_buffer_destroy(on_y[i]);
  }
  merbit_workspace_destroy(own);
  merbit_buffer_destroy(on_x);
  merbit_plan_destroy(plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_follow_each_other),
      cmocka_unit_test(own_workspaces_are_ready),
  };
  int failed;
  make_matrix();
  gpu = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  merbit_context_destroy(gpu);
  gpu_clean();
  return failed;
}
