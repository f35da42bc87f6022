/* PageRank's refusals, and a GPU that fails when its plan is made. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"
#include "solve/pagerank/pagerank_reference.h"

/* ---- Refusals ---------------------------------------------------------------------------- */

static void refused(merbit_context *context, const merbit_view *view,
                    const merbit_pagerank_desc *desc, double *ranks, merbit_status status,
                    const char *part) {
  merbit_pagerank_result result;
  memset(&result, 1, sizeof result);
  assert_int_equal(merbit_pagerank(context, view, desc, ranks, &result), status);
  cpu_expect(context, status, part);
  assert_int_equal(result.iterations, 0);
}

static void test_refused_arguments(void **state) {
  static const int64_t from[] = {0, 1}, to[] = {1, 0};
  const edges e = edges_of(2, 2, from, to, NULL);
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view good = coo(&e), view;
  merbit_pagerank_desc desc, zero;
  double ranks[2];
  (void)state;
  memset(&zero, 0, sizeof zero);
  assert_int_equal(merbit_pagerank(NULL, &good, NULL, ranks, NULL), MERBIT_INVALID_ARGUMENT);
  refused(context, NULL, NULL, ranks, MERBIT_INVALID_ARGUMENT, "NULL");
  refused(context, &good, NULL, NULL, MERBIT_INVALID_ARGUMENT, "`ranks` is NULL");
  view = good;
  view.format = MERBIT_BSR;
  refused(context, &view, NULL, ranks, MERBIT_INVALID_ARGUMENT, "block_rows is 0");
  view = good;
  view.cols = 3;
  refused(context, &view, NULL, ranks, MERBIT_INVALID_MATRIX, "2 x 3");
  view = good;
  view.memory = MERBIT_MEMORY_DEVICE;
  refused(context, &view, NULL, ranks, MERBIT_INVALID_ARGUMENT, "MERBIT_MEMORY_DEVICE");
  desc = zero;
  desc.damping = 1;
  refused(context, &good, &desc, ranks, MERBIT_INVALID_ARGUMENT, "damping is 1;");
  desc.damping = -0.5;
  refused(context, &good, &desc, ranks, MERBIT_INVALID_ARGUMENT, "damping is -0.5");
  desc.damping = NAN;
  refused(context, &good, &desc, ranks, MERBIT_INVALID_ARGUMENT, "damping");
  desc = zero;
  desc.tolerance = -1e-3;
  refused(context, &good, &desc, ranks, MERBIT_INVALID_ARGUMENT, "tolerance is -0.001");
  desc.tolerance = INFINITY;
  refused(context, &good, &desc, ranks, MERBIT_INVALID_ARGUMENT, "tolerance is inf");
  desc.tolerance = NAN;
  refused(context, &good, &desc, ranks, MERBIT_INVALID_ARGUMENT, "tolerance");
  desc = zero;
  desc.max_iterations = -1;
  refused(context, &good, &desc, ranks, MERBIT_INVALID_ARGUMENT, "max_iterations is -1");
  desc = zero;
  desc.method = (merbit_method)99;
  refused(context, &good, &desc, ranks, MERBIT_INVALID_ARGUMENT, "pagerank_desc.method is 99");
  desc.method = MERBIT_METHOD_SCAN;
  refused(context, &good, &desc, ranks, MERBIT_NO_DEVICE, "runs on CUDA");
  desc = zero;
  desc.history_size = -1;
  refused(context, &good, &desc, ranks, MERBIT_INVALID_ARGUMENT, "history_size is -1");
  desc.history_size = 5;
  refused(context, &good, &desc, ranks, MERBIT_INVALID_ARGUMENT, "`history` is NULL");
  desc = zero;
  desc.side = (merbit_side)3;
  refused(context, &good, &desc, ranks, MERBIT_INVALID_ARGUMENT, "side is 3");
  desc.side = MERBIT_SIDE_CUDA;
  refused(context, &good, &desc, ranks, MERBIT_NO_DEVICE, "CUDA");
  merbit_context_destroy(context);
}

/* Teleports and first ranks: the error names the entry. */
static void test_refused_distributions(void **state) {
  static const int64_t from[] = {0, 1}, to[] = {1, 0};
  const edges e = edges_of(3, 2, from, to, NULL);
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = coo(&e);
  merbit_pagerank_desc desc;
  double bad[] = {1, 0, -0.5}, ranks[3];
  const float single[] = {1, NAN, 0};
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.personalisation = bad;
  refused(context, &view, &desc, ranks, MERBIT_INVALID_ARGUMENT,
          "pagerank_desc.personalisation[2] is -0.5");
  bad[2] = INFINITY;
  refused(context, &view, &desc, ranks, MERBIT_INVALID_ARGUMENT, "personalisation[2] is inf");
  bad[0] = bad[2] = -0.0;
  refused(
      context, &view, &desc, ranks, MERBIT_INVALID_ARGUMENT,
      "pagerank_desc.personalisation has 3 weights, all zero; at least one must be above 0");
  desc.personalisation = NULL;
  desc.start = bad;
  refused(context, &view, &desc, ranks, MERBIT_INVALID_ARGUMENT,
          "pagerank_desc.start has 3 weights, all zero");
  view.value_type = MERBIT_F32;
  desc.start = single;
  refused(context, &view, &desc, ranks, MERBIT_INVALID_ARGUMENT,
          "pagerank_desc.start[1] is nan");
  merbit_context_destroy(context);
}

static void test_refused_graphs(void **state) {
  int64_t from[] = {0, 2, 1, 0}, to[] = {1, 1, 0, 2};
  double weight[] = {1, 1, 1, 1};
  static const int32_t row_ptr[] = {0, 2, 3, 4}, col_ind[] = {1, 2, 0, 1};
  const edges e = edges_of(3, 4, from, to, weight);
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = coo(&e), csr = merbit_csr(3, 3, 4, row_ptr, col_ind, weight);
  float single[] = {1, 1, 1, -1};
  double ranks[3];
  (void)state;
  weight[1] = -2.5;
  weight[3] = NAN; /* not the first */
  refused(context, &view, NULL, ranks, MERBIT_INVALID_MATRIX,
          "edge (2, 1), counted from 0, has the weight -2.5");
  refused(context, &csr, NULL, ranks, MERBIT_INVALID_MATRIX, "edge (0, 2)");
  weight[1] = 1;
  refused(context, &view, NULL, ranks, MERBIT_INVALID_MATRIX, "nan");
  weight[3] = INFINITY;
  refused(context, &csr, NULL, ranks, MERBIT_INVALID_MATRIX, "has the weight inf");
  weight[0] = weight[3] = 1e308; /* each is valid, their sum is not */
  refused(context, &view, NULL, ranks, MERBIT_INVALID_MATRIX, "vertex 0");
  csr.value_type = MERBIT_F32;
  csr.values = single;
  refused(context, &csr, NULL, ranks, MERBIT_INVALID_MATRIX, "edge (2, 1)");
  to[3] = 3;
  refused(context, &view, NULL, ranks, MERBIT_INVALID_MATRIX, "col_ind[3]");
  merbit_context_destroy(context);
}

/* Blocks: a negative weight that a duplicate hides. Padding may hold anything. */
static void test_refused_blocks(void **state) {
  static const int32_t row_ptr[] = {0, 2, 4}, col_ind[] = {0, 1, 1, 1};
  double values[16] = {1, 1, 1, 1, 1, NAN, 1, NAN, 1, 1, -1, 1, 1, 3, 3, 1};
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = merbit_bsr(3, 3, 4, 2, 2, row_ptr, col_ind, values);
  double ranks[3];
  (void)state;
  assert_int_equal(merbit_pagerank(context, &view, NULL, ranks, NULL), MERBIT_OK);
  values[12] = -0.25; /* sum 0.75 */
  refused(context, &view, NULL, ranks, MERBIT_INVALID_MATRIX,
          "edge (2, 2), counted from 0, has the weight -0.25");
  values[12] = 1;
  values[2] = -1;
  refused(context, &view, NULL, ranks, MERBIT_INVALID_MATRIX, "edge (1, 0)");
  view.block_order = MERBIT_BLOCK_COLUMN_MAJOR;
  view.rows = view.cols = 4;
  refused(context, &view, NULL, ranks, MERBIT_INVALID_MATRIX, "edge (0, 1)");
  merbit_context_destroy(context);
}

/* ---- A GPU that fails when the plan is made ---------------------------------------------- */

static mbi_curesult fake_push_answer;

static mbi_curesult fake_push(void *context) {
  (void)context;
  return fake_push_answer;
}

static mbi_curesult fake_pop(void **context) {
  *context = NULL;
  return 0;
}

static mbi_curesult fake_alloc(mbi_devptr *address, size_t bytes) {
  (void)bytes;
  *address = 0;
  return 2; /* CUDA_ERROR_OUT_OF_MEMORY */
}

static mbi_curesult fake_text(mbi_curesult result, const char **text) {
  (void)result;
  *text = "a fake";
  return 0;
}

static void count_lines(void *user, const char *line) {
  *(int *)user += strstr(line, "this PageRank computes on the CPU") != NULL;
}

static void test_auto_falls_back(void **state) {
  static const int64_t from[] = {0, 1, 2}, to[] = {1, 2, 0};
  const edges e = edges_of(4, 3, from, to, NULL);
  merbit_view view = coo(&e);
  merbit_pagerank_desc desc;
  merbit_pagerank_result result;
  merbit_context_desc context_desc;
  merbit_context *context;
  double ranks[4];
  int told = 0;
  (void)state;
  memset(&desc, 0, sizeof desc);
  memset(&context_desc, 0, sizeof context_desc);
  context_desc.side = MERBIT_SIDE_CPU;
  context_desc.log = count_lines;
  context_desc.log_user = &told;
  assert_int_equal(merbit_context_create(&context_desc, &context, NULL), MERBIT_OK);
  context->side = MERBIT_SIDE_CUDA;
  context->device.driver.ctx_push = fake_push;
  context->device.driver.ctx_pop = fake_pop;
  context->device.driver.mem_alloc = fake_alloc;
  context->device.driver.get_error_name = fake_text;
  context->device.driver.get_error_string = fake_text;
  assert_int_equal(merbit_pagerank(context, &view, NULL, ranks, &result), MERBIT_OK);
  check_ranks(&e, 0.85, 1e-10, MERBIT_F64, ranks, &result);
  assert_int_equal(result.plan.side, MERBIT_SIDE_CPU);
  assert_non_null(strstr(result.description, "not on CUDA: "));
  assert_non_null(strstr(result.description, "cuMemAlloc"));
  assert_int_equal(told, 1);
  desc.side = MERBIT_SIDE_CUDA;
  refused(context, &view, &desc, ranks, MERBIT_DEVICE_OUT_OF_MEMORY, "cuMemAlloc");
  view.col_ind = NULL;
  refused(context, &view, NULL, ranks, MERBIT_INVALID_ARGUMENT, "col_ind is NULL");
  view.col_ind = to;
  fake_push_answer = 700; /* CUDA_ERROR_ILLEGAL_ADDRESS: the context is dead */
  refused(context, &view, &desc, ranks, MERBIT_DEVICE_LOST, "CUDA error 700");
  refused(context, &view, &desc, ranks, MERBIT_DEVICE_LOST, "lost earlier");
  assert_int_equal(told, 1);
  assert_int_equal(merbit_pagerank(context, &view, NULL, ranks, &result), MERBIT_OK);
  check_ranks(&e, 0.85, 1e-10, MERBIT_F64, ranks, &result);
  assert_non_null(strstr(result.description, "lost earlier"));
  assert_int_equal(told, 2);
  memset(&context->device, 0, sizeof context->device);
  context->side = MERBIT_SIDE_CPU;
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused_arguments), cmocka_unit_test(test_refused_distributions),
      cmocka_unit_test(test_refused_graphs),    cmocka_unit_test(test_refused_blocks),
      cmocka_unit_test(test_auto_falls_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
