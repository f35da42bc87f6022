/* A kernel that writes to an invalid address kills the CUDA context, and with it all CUDA work
 * of the process. So this is a separate program, and its tests build on each other. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "gpu/kernels.h"

static const int32_t row_ptr[] = {0, 1, 2}, col_ind[] = {1, 0};
static const double numbers[] = {2, 3};

static merbit_context *gpu;
static merbit_plan *plan;
static merbit_buffer *x, *y;
static int launches; /* launches that reach the driver */

static int (*real_launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void *, void **, void **);

static int counted_launch(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, void *stream,
                          void **arguments, void **extra) {
  launches++;
  return real_launch(function, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra);
}

static merbit_status multiply(void) {
  return merbit_spmv(plan, NULL, NULL, merbit_buffer_pointer(x), NULL, merbit_buffer_pointer(y),
                     NULL);
}

static void all_is_well(void **state) {
  const merbit_view view = merbit_csr(2, 2, 2, row_ptr, col_ind, numbers);
  double result[2];
  (void)state;
  real_launch = gpu->device.driver.launch_kernel;
  gpu->device.driver.launch_kernel = counted_launch;
  assert_int_equal(merbit_plan_create(gpu, &view, NULL, &plan), MERBIT_OK);
  assert_int_equal(merbit_buffer_create(gpu, sizeof numbers, &x), MERBIT_OK);
  assert_int_equal(merbit_buffer_create(gpu, sizeof numbers, &y), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(x, 0, numbers, sizeof numbers), MERBIT_OK);
  assert_int_equal(multiply(), MERBIT_OK);
  assert_int_equal(merbit_buffer_download(y, 0, result, sizeof result), MERBIT_OK);
  assert_true(result[0] == 6 && result[1] == 6);
}

/* The first call that meets the error reports it, with its name and what to do. */
static void the_loss_is_reported_at_once(void **state) {
  char sentence[MERBIT_MESSAGE_SIZE];
  mbi_program program;
  int values[1];
  (void)state;
  assert_int_equal(mbi_device_enter(gpu), MERBIT_OK);
  assert_int_equal(gpu_run(gpu, "mbk_wild", &program, values, 1), MERBIT_DEVICE_LOST);
  mbi_device_leave(gpu);
  assert_int_equal(merbit_last_error(gpu, sentence, sizeof sentence), MERBIT_DEVICE_LOST);
  print_message("%s\n", sentence);
  assert_non_null(strstr(sentence, "CUDA error 7"));
  assert_non_null(strstr(sentence, "make a new one"));
}

static void expect_lost(merbit_status status) {
  char sentence[MERBIT_MESSAGE_SIZE];
  assert_int_equal(status, MERBIT_DEVICE_LOST);
  assert_int_equal(merbit_last_error(gpu, sentence, sizeof sentence), MERBIT_DEVICE_LOST);
  assert_non_null(strstr(sentence, "lost earlier with CUDA error 7"));
}

/* Every later call fails at once, and no kernel is launched again. */
static void nothing_is_retried(void **state) {
  merbit_view view = merbit_csr(2, 2, 2, row_ptr, col_ind, numbers);
  const int before = launches;
  merbit_workspace *workspace;
  merbit_plan *other;
  merbit_buffer *buffer;
  double ranks[2], result[2];
  merbit_pagerank_desc desc;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CUDA;
  expect_lost(multiply());
  expect_lost(merbit_plan_create(gpu, &view, NULL, &other));
  assert_null(other);
  expect_lost(merbit_workspace_create(plan, &workspace));
  assert_null(workspace);
  expect_lost(merbit_plan_update_values(plan, numbers, MERBIT_MEMORY_HOST));
  expect_lost(merbit_buffer_create(gpu, 8, &buffer));
  assert_null(buffer);
  expect_lost(merbit_buffer_upload(x, 0, numbers, 8));
  expect_lost(merbit_buffer_download(y, 0, result, 8));
  expect_lost(merbit_pagerank(gpu, &view, &desc, ranks, NULL));
  assert_int_equal(launches, before);
}

/* Destroying objects on the dead device gives no error. The driver decides whether this process
 * gets another context; if not, AUTO computes on the CPU and gives the reason. */
static void life_goes_on(void **state) {
  merbit_context_desc desc;
  merbit_context_info info;
  merbit_context *next;
  (void)state;
  merbit_buffer_destroy(x);
  merbit_buffer_destroy(y);
  merbit_plan_destroy(plan);
  merbit_context_destroy(gpu);
  memset(&desc, 0, sizeof desc);
  desc.cache_dir = gpu_cache();
  assert_int_equal(merbit_context_create(&desc, &next, NULL), MERBIT_OK);
  assert_int_equal(merbit_context_get_info(next, &info), MERBIT_OK);
  assert_true(info.side == MERBIT_SIDE_CUDA || strlen(info.reason) > 20);
  print_message("afterwards: %s%s\n", info.device, info.reason);
  merbit_context_destroy(next);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_is_well),
      cmocka_unit_test(the_loss_is_reported_at_once),
      cmocka_unit_test(nothing_is_retried),
      cmocka_unit_test(life_goes_on),
  };
  int failed;
  gpu = gpu_context();
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  gpu_clean();
  return failed;
}
