/* NVRTC: compiling for every architecture, errors, dumps. Tests that need an NVRTC are skipped
 * without one; no GPU is needed. fake/test_nvrtc.c tests its failures, test_nvrtc_search.c how
 * it is found. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "nvrtc_bed.h"

/* A program may consist of the preamble, which is a file like the others. */
static const char tiny[] = "#ifndef TINY\n"
                           "#define TINY\n"
                           "#include \"jit/device.cuh\"\n"
                           "MBK_KERNEL mbk_tiny(int *p) { p[mbk_thread()] = 7; }\n"
                           "#endif\n";

static void set_text(mbi_preamble *preamble, const char *text) {
  memset(preamble, 0, sizeof *preamble);
  preamble->length = strlen(text);
  memcpy(preamble->text, text, preamble->length + 1);
}

static merbit_status compile(merbit_context *context, const char *text, int capability,
                             void **image, size_t *size) {
  mbi_preamble preamble;
  mbi_target target;
  *image = NULL;
  *size = 0;
  set_text(&preamble, text);
  MBI_TRY(mbi_target_choose(context, MBI_PREAMBLE_NAME, &preamble, capability, &target));
  return mbi_program_compile(context, MBI_PREAMBLE_NAME, &preamble, &target, image, size);
}

/* ---- Preambles --------------------------------------------------------------------------- */

static void preambles(void **state) {
  mbi_preamble preamble;
  int i;
  (void)state;
  memset(&preamble, 0, sizeof preamble);
  mbi_preamble_define(&preamble, "MBK_VALUE", "float");
  mbi_preamble_define_int(&preamble, "MBK_SIGMA", 14);
  mbi_preamble_define_int(&preamble, "MBK_LEAST", INT64_MIN);
  assert_string_equal(preamble.text, "#define MBK_VALUE float\n#define MBK_SIGMA 14\n"
                                     "#define MBK_LEAST -9223372036854775808\n");
  assert_int_equal(preamble.length, strlen(preamble.text));
  for (i = 0; i < 1000; i++) {
    mbi_preamble_define_int(&preamble, "MBK_MANY", i);
  }
  assert_true(preamble.overflow);
  assert_int_equal(preamble.length, strlen(preamble.text));
  assert_true(preamble.length < sizeof preamble.text);
  assert_int_equal(preamble.text[preamble.length - 1], '\n');
}

/* ---- A real NVRTC ------------------------------------------------------------------------ */

static void every_architecture(void **state) {
  merbit_context *context = make_or_skip();
  int list[256], count = 0, i;
  (void)state;
  assert_int_equal(context->device.nvrtc.get_num_archs(&count), 0);
  assert_int_equal(context->device.nvrtc.get_archs(list), 0);
  assert_in_range(count, 1, 256);
  for (i = 0; i < count; i++) {
    void *image;
    size_t size;
    assert_int_equal(compile(context, tiny, list[i], &image, &size), MERBIT_OK);
    assert_true(size > 64);
    assert_memory_equal(image, "\177ELF", 4);
    mbi_release(context, image);
  }
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

/* A future GPU gets PTX for the newest architecture, a very old one an error. */
static void unknown_architectures(void **state) {
  merbit_context *context = make_or_skip();
  const int newest = mbi_nvrtc_architecture(&context->device.nvrtc, 99999);
  char target[32];
  void *image;
  size_t size;
  (void)state;
  assert_int_equal(compile(context, tiny, newest + 7, &image, &size), MERBIT_OK);
  (void)snprintf(target, sizeof target, ".target sm_%d", newest);
  assert_non_null(strstr((const char *)image, target));
  assert_int_equal(((const char *)image)[size - 1], '\0');
  mbi_release(context, image);
  assert_int_equal(compile(context, tiny, 20, &image, &size), MERBIT_NO_COMPILER);
  assert_null(image);
  cpu_expect(context, MERBIT_NO_COMPILER, "compute capability 2.0");
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

static void errors_name_file_and_line(void **state) {
  merbit_context *context = make_or_skip();
  const int newest = mbi_nvrtc_architecture(&context->device.nvrtc, 99999);
  void *image;
  size_t size;
  (void)state;
  assert_int_equal(compile(context, "#define A 1\n\n__device__ int f() { return b; }\n", newest,
                           &image, &size),
                   MERBIT_COMPILE_ERROR);
  assert_null(image);
  assert_int_equal(size, 0);
  cpu_expect(context, MERBIT_COMPILE_ERROR, MBI_PREAMBLE_NAME "(3): error");
  cpu_expect(context, MERBIT_COMPILE_ERROR, "\"b\"");
  assert_non_null(strstr(log_text, "NVRTC: " MBI_PREAMBLE_NAME "(3): error"));
  assert_non_null(strstr(log_text, "detected in the compilation of"));
  assert_int_equal(compile(context, "#include <stdio.h>\n", newest, &image, &size),
                   MERBIT_COMPILE_ERROR);
  cpu_expect(context, MERBIT_COMPILE_ERROR, "stdio.h");
  assert_int_equal(compile(context, tiny, newest, &image, &size), MERBIT_OK);
  mbi_release(context, image);
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

/* Kernels see only embedded files: not those in the working directory, and no unknown main
 * file. */
static void embedded_files_only(void **state) {
  merbit_context *context = make_or_skip();
  const int newest = mbi_nvrtc_architecture(&context->device.nvrtc, 99999);
  const char *name = "merbit_test_nvrtc_outside.h";
  mbi_preamble preamble;
  mbi_target target;
  FILE *file = fopen(name, "w");
  void *image;
  size_t size;
  merbit_status status;
  (void)state;
  assert_non_null(file);
  (void)fputs("\n", file);
  (void)fclose(file);
  status =
      compile(context, "#include \"merbit_test_nvrtc_outside.h\"\n", newest, &image, &size);
  (void)remove(name);
  if (context->device.nvrtc.version >= MBI_NO_SOURCE_INCLUDE) {
    assert_int_equal(status, MERBIT_COMPILE_ERROR);
    cpu_expect(context, MERBIT_COMPILE_ERROR, name);
  } else {
    mbi_release(context, image);
  }
  memset(&preamble, 0, sizeof preamble);
  assert_int_equal(mbi_target_choose(context, "no/such.cu", &preamble, newest, &target),
                   MERBIT_OK);
  assert_int_equal(
      mbi_program_compile(context, "no/such.cu", &preamble, &target, &image, &size),
      MERBIT_COMPILE_ERROR);
  cpu_expect(context, MERBIT_COMPILE_ERROR, "no/such.cu");
  preamble.overflow = 1;
  assert_int_equal(mbi_target_choose(context, "no/such.cu", &preamble, newest, &target),
                   MERBIT_TOO_LARGE);
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

static void dump(void **state) {
  merbit_context *context = make_or_skip();
  char directory[64] = "/tmp/merbit-dump-XXXXXX", path[400];
  const int newest = mbi_nvrtc_architecture(&context->device.nvrtc, 99999);
  DIR *open;
  const struct dirent *entry;
  int sources = 0, logs = 0, cubins = 0;
  void *image;
  size_t size;
  (void)state;
  assert_non_null(mkdtemp(directory));
  setenv("MERBIT_DUMP", directory, 1);
  assert_int_equal(compile(context, tiny, newest, &image, &size), MERBIT_OK);
  mbi_release(context, image);
  assert_int_equal(compile(context, "wrong\n", newest, &image, &size), MERBIT_COMPILE_ERROR);
  assert_null(strstr(log_text, "MERBIT_DUMP"));
  setenv("MERBIT_DUMP", "/nonexistent/directory", 1);
  assert_int_equal(compile(context, tiny, newest, &image, &size), MERBIT_OK);
  assert_non_null(strstr(log_text, "cannot write to /nonexistent/directory, the directory in "
                                   "MERBIT_DUMP: No such file or directory"));
  mbi_release(context, image);
  unsetenv("MERBIT_DUMP");
  open = opendir(directory);
  assert_non_null(open);
  while ((entry = readdir(open)) != NULL) {
    sources += strstr(entry->d_name, ".cu") != NULL && strstr(entry->d_name, ".cubin") == NULL;
    logs += strstr(entry->d_name, ".log") != NULL;
    cubins += strstr(entry->d_name, ".cubin") != NULL;
    (void)snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
    (void)unlink(path);
  }
  (void)closedir(open);
  assert_int_equal(rmdir(directory), 0);
  assert_int_equal(sources, 2);
  assert_int_equal(logs, 2);
  assert_int_equal(cubins, 1);
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

static void *compile_in_thread(void *argument) {
  merbit_context *context = (merbit_context *)argument;
  void *image;
  size_t size;
  if (compile(context, tiny, mbi_nvrtc_architecture(&context->device.nvrtc, 99999), &image,
              &size) != MERBIT_OK) {
    return argument;
  }
  mbi_release(context, image);
  return NULL;
}

static void threads(void **state) {
  merbit_context *context = make_or_skip();
  pthread_t workers[3];
  int i;
  (void)state;
  for (i = 0; i < 3; i++) {
    assert_int_equal(pthread_create(&workers[i], NULL, compile_in_thread, context), 0);
  }
  for (i = 0; i < 3; i++) {
    void *wrong;
    assert_int_equal(pthread_join(workers[i], &wrong), 0);
    assert_null(wrong);
  }
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

static void allocations_fail(void **state) {
  merbit_context *context = make_or_skip();
  const int newest = mbi_nvrtc_architecture(&context->device.nvrtc, 99999);
  const long before = memory.live;
  merbit_status status = MERBIT_OUT_OF_MEMORY;
  void *image;
  size_t size;
  int i;
  (void)state;
  for (i = 0; status == MERBIT_OUT_OF_MEMORY; i++) {
    memory.fail_at = memory.made + i + 1;
    memory.for_good = 1;
    status = compile(context, tiny, newest, &image, &size);
    assert_int_equal(memory.live, before + (status == MERBIT_OK));
  }
  memory.fail_at = 0;
  assert_int_equal(status, MERBIT_OK);
  assert_true(i > (int)MBI_SOURCES);
  mbi_release(context, image);
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(preambles),
      cmocka_unit_test(every_architecture),
      cmocka_unit_test(unknown_architectures),
      cmocka_unit_test(errors_name_file_and_line),
      cmocka_unit_test(embedded_files_only),
      cmocka_unit_test(dump),
      cmocka_unit_test(threads),
      cmocka_unit_test(allocations_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
