/* Unusual drivers, GPUs and compilers: too old, incomplete, missing, several. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sys/wait.h>

#include "fake/scenarios.h"

/* Expects that CUDA is refused with `status` and a message that contains `piece`; AUTO then
 * uses the CPU, gives the reason, and computes. */
static void expect_refused(merbit_status status, const char *piece) {
  merbit_context_desc desc = fake_desc(MERBIT_SIDE_CUDA);
  merbit_context *context;
  merbit_context_info info;
  merbit_error error;
  assert_int_equal(merbit_context_create(&desc, &context, &error), status);
  assert_null(context);
  assert_int_equal(error.status, status);
  if (strstr(error.message, piece) == NULL) {
    fail_msg("\"%s\" does not say \"%s\"", error.message, piece);
  }
  desc.side = MERBIT_SIDE_AUTO;
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  assert_int_equal(merbit_context_get_info(context, &info), MERBIT_OK);
  assert_int_equal(info.side, MERBIT_SIDE_CPU);
  assert_non_null(strstr(info.reason, piece));
  assert_int_equal(merbit_last_error(context, NULL, 0), MERBIT_OK);
  assert_int_equal(products(context), MERBIT_OK);
  merbit_context_destroy(context);
  fake_expect_clean();
}

static void drivers(void **state) {
  (void)state;
  fake_reset();
  cuda->devices = 0;
  expect_refused(MERBIT_NO_DEVICE, "cuInit answered CUDA_ERROR_FAKE");
  fake_reset();
  cuda->driver_version = 10020;
  expect_refused(MERBIT_NO_DEVICE, "CUDA 10.2; install one for CUDA 11");
  fake_reset();
  cuda->capability = 37;
  expect_refused(MERBIT_NO_DEVICE, "Fake 0 has compute capability 3.7");
}

/* Launches overlap if the GPU and the driver support it, and only then. */
static void early_launches(void **state) {
  static const struct {
    int capability, driver_version, early;
  } cases[] = {{90, 13000, 1}, {90, 12030, 1}, {90, 12020, 0}, {89, 13000, 0}, {120, 13000, 1}};
  merbit_context_desc desc;
  merbit_context *context;
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    fake_reset();
    cuda->capability = cases[i].capability;
    cuda->driver_version = cases[i].driver_version;
    desc = fake_desc(MERBIT_SIDE_CUDA);
    assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
    assert_int_equal(products(context), MERBIT_OK);
    assert_int_equal(cuda->early > 0, cases[i].early);
    assert_true(cuda->launches > cuda->early); /* launches of a plan's creation never overlap */
    context->device.driver.launch_kernel_ex = NULL;
    assert_int_equal(mbi_device_examine(context), MERBIT_OK);
    assert_false(context->device.dependent_launch);
    assert_int_equal(products(context), MERBIT_OK);
    merbit_context_destroy(context);
    fake_expect_clean();
  }
}

/* Expects the number of a product's launches that may overlap: `usual` for a default plan,
 * `calm` for an interleaved one, in which kernels that read x may not overlap the work before
 * (MBK_PLAIN_LAUNCH), except SLICED's. */
static void expect_overlaps(const merbit_view *view, const merbit_plan_desc *desc, int usual,
                            int calm, int all) {
  const double beta = 2;
  merbit_context *context;
  merbit_plan *plan = NULL;
  double x[WIDE] = {0}, y[ROWS] = {0};
  int i;
  fake_reset();
  context = fake_context(NULL);
  assert_int_equal(make_plan(context, view, desc, &plan), MERBIT_OK);
  for (i = 0; i < 2; i++) {
    const long early = cuda->early, launches = cuda->launches;
    mbi_preamble preamble;
    plan->making.interleaved = i;
    mbi_plan_preamble(plan, &preamble);
    assert_int_equal(strstr(preamble.text, "MBK_PLAIN_LAUNCH 1") != NULL,
                     i == 1 && plan->method != MERBIT_METHOD_SLICED);
    assert_int_equal(merbit_spmv(plan, NULL, NULL, x, &beta, y, NULL), MERBIT_OK);
    assert_int_equal(cuda->early - early, i == 0 ? usual : calm);
    assert_int_equal(cuda->launches - launches, all);
  }
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
  fake_expect_clean();
}

/* The kernel after a product in the same call starts early, too. */
static void early_epilogues(void **state) {
  static const merbit_epilogue sum = {NULL, {"ax", NULL}, 0, 0, NULL, NULL};
  merbit_view view = merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, NULL);
  merbit_context *context;
  merbit_plan *plan = NULL;
  merbit_plan_desc desc;
  merbit_buffer *room;
  char *at;
  long early, launches;
  (void)state;
  fake_reset();
  context = fake_context(NULL);
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_METHOD_ROWS;
  desc.epilogue = &sum;
  view.value_type = MERBIT_F64;
  assert_int_equal(make_plan(context, &view, &desc, &plan), MERBIT_OK);
  assert_int_equal(merbit_buffer_create(context, 3 * 8 * (ROWS + COLS), &room), MERBIT_OK);
  at = (char *)merbit_buffer_pointer(room);
  early = cuda->early;
  launches = cuda->launches;
  assert_int_equal(merbit_spmv_epilogue(plan, NULL, at, at + 8 * COLS, NULL, NULL,
                                        (double *)(void *)(at + 8 * (ROWS + COLS)), NULL, NULL),
                   MERBIT_OK);
  assert_int_equal(cuda->launches - launches, 2);
  assert_int_equal(cuda->early - early, 2);
  merbit_buffer_destroy(room);
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
  fake_expect_clean();
}

/* In interleaved plans only a fix-up may overlap, and not as the first launch of its call;
 * SLICED's launches stay as usual. */
static void calm_plans(void **state) {
  static const int32_t wide[] = {0, WIDE}, none[ROWS + 1] = {0};
  static const struct {
    merbit_method method;
    merbit_type type;
    int second, usual, calm, all;
  } cases[] = {{MERBIT_METHOD_SCAN, MERBIT_F64, 1, 2, 1, 2},
               {MERBIT_METHOD_SCAN, MERBIT_F64, 2, 1, 0, 1},
               {MERBIT_METHOD_HUBS, MERBIT_F32, 0, 2, 1, 2},
               {MERBIT_METHOD_BINNED, MERBIT_F32, 0, 3, 1, 3},
               {MERBIT_METHOD_BINNED, MERBIT_F64, 0, 0, 0, 3},
               {MERBIT_METHOD_BSR, MERBIT_F64, 0, 2, 1, 2},
               {MERBIT_METHOD_MERGE, MERBIT_F64, 0, 3, 1, 3},
               {MERBIT_METHOD_ROWS, MERBIT_F64, 0, 1, 0, 1},
               {MERBIT_METHOD_SLICED, MERBIT_F64, 0, 1, 1, 1}};
  int32_t columns[WIDE];
  merbit_plan_desc desc;
  merbit_view view;
  size_t i;
  (void)state;
  for (i = 0; i < WIDE; i++) {
    columns[i] = (int32_t)i;
  }
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    memset(&desc, 0, sizeof desc);
    desc.vector_memory = MERBIT_MEMORY_HOST;
    desc.method = cases[i].method;
    tuning_take(&desc, desc.method == MERBIT_METHOD_MERGE ? 2 : 0, cases[i].second);
    if (desc.method == MERBIT_METHOD_MERGE) {
      desc.block_threads = 32;
    } else if (desc.method == MERBIT_METHOD_BSR) {
      desc.block_rows = desc.block_cols = 2;
    }
    view = merbit_csr(ROWS, COLS, data_nnz(), data.row_ptr, data.col_ind, NULL);
    view.value_type = cases[i].type;
    expect_overlaps(&view, &desc, cases[i].usual, cases[i].calm, cases[i].all);
  }
  for (i = 0; i < 3; i++) { /* only empty rows: the fix-up is the only launch */
    memset(&desc, 0, sizeof desc);
    desc.vector_memory = MERBIT_MEMORY_HOST;
    desc.method = i == 0   ? MERBIT_METHOD_SCAN
                  : i == 1 ? MERBIT_METHOD_HUBS
                           : MERBIT_METHOD_BINNED;
    view = merbit_csr(ROWS, COLS, 0, none, NULL, NULL);
    view.value_type = MERBIT_F32;
    expect_overlaps(&view, &desc, 1, 0, 1);
  }
  memset(&desc, 0, sizeof desc); /* a strip in parts */
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.method = MERBIT_METHOD_CB;
  desc.tuning = "steps=20";
  view = merbit_csr(1, WIDE, WIDE, wide, columns, NULL);
  expect_overlaps(&view, &desc, 2, 1, 2);
}

static void several_devices(void **state) {
  merbit_context_desc desc;
  merbit_context *context[2];
  merbit_context_info info;
  merbit_error error;
  int i;
  (void)state;
  fake_reset();
  cuda->devices = 2;
  desc = fake_desc(MERBIT_SIDE_CUDA);
  for (i = 0; i < 2; i++) {
    char name[32];
    desc.device = i;
    assert_int_equal(merbit_context_create(&desc, &context[i], NULL), MERBIT_OK);
    assert_int_equal(merbit_context_get_info(context[i], &info), MERBIT_OK);
    (void)snprintf(name, sizeof name, "Fake %d", i);
    assert_string_equal(info.device, name);
  }
  assert_ptr_not_equal(context[0]->device.cuda_context, context[1]->device.cuda_context);
  for (i = 0; i < 2; i++) { /* in turn, on the same thread */
    assert_int_equal(products(context[i]), MERBIT_OK);
  }
  for (i = 0; i < 2; i++) {
    merbit_context_destroy(context[i]);
  }
  for (i = -1; i <= 2; i += 3) {
    desc.device = i;
    assert_int_equal(merbit_context_create(&desc, &context[0], &error), MERBIT_NO_DEVICE);
    assert_non_null(strstr(error.message, "but the driver shows 2 GPUs; use 0 to 1"));
  }
  fake_expect_clean();
}

/* The caller's context on the second GPU is used, and not released. */
static void callers_context(void **state) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  int (*retain)(void **, int);
  int (*release)(int);
  void *mine = NULL;
  merbit_context_desc desc;
  merbit_context *context;
  merbit_error error;
  (void)state;
  fake_reset();
  cuda->devices = 2;
  assert_true(
      mbi_library_function(library, "cuDevicePrimaryCtxRetain", &retain, sizeof retain) &&
      mbi_library_function(library, "cuDevicePrimaryCtxRelease_v2", &release, sizeof release));
  assert_int_equal(retain(&mine, 1), 0);
  desc = fake_desc(MERBIT_SIDE_CUDA);
  desc.cuda_context = mine;
  desc.device = 77; /* ignored */
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  assert_int_equal(context->device.ordinal, 1);
  assert_int_equal(products(context), MERBIT_OK);
  assert_int_equal(cuda->modules, 0); /* that context may be destroyed before ours */
  merbit_context_destroy(context);
  assert_int_equal(cuda->retained, 1);
  cuda->calls.made = 0;
  cuda->calls.code = 201;
  for (cuda->calls.fail_at = 3; cuda->calls.fail_at <= 4; cuda->calls.fail_at++) {
    cuda->calls.made = 0; /* init, version, then: push, get device */
    assert_int_equal(merbit_context_create(&desc, &context, &error), MERBIT_DEVICE_ERROR);
    assert_non_null(strstr(error.message, "using context_desc.cuda_context"));
    assert_int_equal(cuda->depth, 0);
  }
  assert_int_equal(release(1), 0);
  fake_expect_clean();
  (void)dlclose(library);
}

static void set_architectures(int first, int second) {
  nvrtc->architectures[0] = first;
  nvrtc->architectures[1] = second;
}

static void compilers(void **state) {
  merbit_context *context;
  (void)state;
  fake_reset(); /* NVRTC knows only newer GPUs, or none */
  set_architectures(100, 120);
  expect_refused(MERBIT_NO_COMPILER, "NVRTC 13.0 does not compile for compute capability 9.0");
  fake_reset();
  set_architectures(0, 0);
  expect_refused(MERBIT_NO_COMPILER, "does not compile for compute capability 9.0");
  fake_reset(); /* it knows only older GPUs: PTX, which the driver accepts */
  set_architectures(75, 80);
  context = fake_context(NULL);
  assert_int_equal(products(context), MERBIT_OK);
  assert_non_null(strstr(nvrtc->options, " --gpu-architecture=compute_80 --std=c++14"));
  merbit_context_destroy(context);
  fake_expect_clean();
  fake_reset(); /* --no-source-include is new in 11.7 */
  nvrtc->major = 11;
  nvrtc->minor = 6;
  context = fake_context(NULL);
  assert_int_equal(products(context), MERBIT_OK);
  assert_non_null(strstr(nvrtc->options, " --gpu-architecture=sm_90 --std=c++14"));
  assert_null(strstr(nvrtc->options, "--no-source-include"));
  merbit_context_destroy(context);
  fake_expect_clean();
}

/* Tests a library that lacks a function, in a child process, because opened libraries stay
 * open. */
static void run_in_child(void (*body)(void)) {
  int status = 0;
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    body();
    _exit(0); /* not reached after a failed assertion */
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void with_old_nvrtc(void) {
  fake_open("new");
  (void)setenv("MERBIT_NVRTC", FAKE_FOLDER "/old/libnvrtc.so.13", 1);
  expect_refused(MERBIT_NO_COMPILER, "it lacks nvrtcGetCUBINSize");
}

static void with_old_driver(void) {
  fake_open("old");
  expect_refused(MERBIT_NO_DEVICE,
                 "the NVIDIA driver is too old: it lacks cuPointerGetAttributes");
}

static void missing_functions(void **state) {
  (void)state;
  run_in_child(with_old_nvrtc);
  run_in_child(with_old_driver);
}

static void open_here(void **state) {
  (void)state;
  fake_open("new");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(missing_functions), /* first: nothing is open yet */
      cmocka_unit_test(open_here),         cmocka_unit_test(drivers),
      cmocka_unit_test(early_launches),    cmocka_unit_test(calm_plans),
      cmocka_unit_test(early_epilogues),   cmocka_unit_test(several_devices),
      cmocka_unit_test(callers_context),   cmocka_unit_test(compilers),
  };
  scenarios_prepare();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
