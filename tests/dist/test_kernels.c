/* The kernels of merbit_dist.h compile with the real NVRTC, which needs no GPU, for every
 * architecture that it knows, in both types, without register spills. Skipped without NVRTC. */
#include "dist/separate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/effort.h"
#include "support/gpu_context.h"

static merbit_context *host;

/* Compiles a text like mbi_program_compile, with ptxas's report. */
static void compile(const mbi_preamble *preamble, int architecture) {
  const mbi_nvrtc *nvrtc = &host->device.nvrtc;
  char option[40];
  const char *options[] = {option, "--std=c++14", "--ptxas-options=-v"};
  mbi_texts texts;
  void *program = NULL;
  char *log;
  const char *at;
  size_t size = 0;
  int result, kernels = 0;
  assert_int_equal(preamble->overflow, 0);
  (void)snprintf(option, sizeof option, "--gpu-architecture=sm_%d", architecture);
  assert_int_equal(mbi_texts_create(host, preamble, &texts), MERBIT_OK);
  assert_int_equal(nvrtc->create_program(&program, "#include \"" MBI_PREAMBLE_NAME "\"\n",
                                         MBI_MAIN_NAME, (int)MBI_SOURCES + 1, texts.texts,
                                         texts.names),
                   0);
  result = nvrtc->compile_program(program, 3, options);
  assert_int_equal(nvrtc->get_log_size(program, &size), 0);
  log = (char *)test_allocate((int64_t)size, 1);
  assert_int_equal(nvrtc->get_log(program, log), 0);
  if (result != 0 || strstr(log, "warning") != NULL) {
    fail_msg("sm_%d: %s", architecture, log);
  }
  for (at = strstr(log, " bytes spill stores"); at != NULL;
       at = strstr(at + 1, " bytes spill stores")) {
    assert_memory_equal(at - 2, " 0", 2);
    kernels++;
  }
  assert_true(kernels > 0);
  free(log);
  (void)nvrtc->destroy_program(&program);
  mbi_texts_release(host, &texts);
}

/* In quick effort each architecture with one type, chosen by the seed. */
static void kernels_compile_for_every_architecture(void **state) {
  const uint64_t turn = test_rotating_seed();
  int architectures[64], count = 0, type, i;
  (void)state;
  assert_int_equal(host->device.nvrtc.get_num_archs(&count), 0);
  assert_in_range(count, 1, 64);
  assert_int_equal(host->device.nvrtc.get_archs(architectures), 0);
  for (type = 0; type < 2; type++) {
    mbi_preamble vectors, numbers;
    mbi_dist_texts(type == 0 ? MERBIT_F64 : MERBIT_F32, &vectors, &numbers);
    for (i = (int)((turn + (uint64_t)type) % (uint64_t)test_effort(2, 1)); i < count;
         i += test_effort(2, 1)) {
      compile(&vectors, architectures[i]);
      compile(&numbers, architectures[i]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_compile_for_every_architecture)};
  const merbit_context_desc cpu = {.side = MERBIT_SIDE_CPU};
  char sentence[MERBIT_MESSAGE_SIZE];
  int failed;
  if (merbit_context_create(&cpu, &host, NULL) != MERBIT_OK) {
    return 1;
  }
  if (mbi_nvrtc_open(host, NULL) != MERBIT_OK) {
    (void)merbit_last_error(host, sentence, sizeof sentence);
    (void)printf("skipped: %s\n", sentence);
    merbit_context_destroy(host);
    return TEST_SKIPPED;
  }
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  mbi_nvrtc_close(&host->device.nvrtc);
  merbit_context_destroy(host);
  return failed;
}
