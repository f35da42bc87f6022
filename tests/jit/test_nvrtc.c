/* NVRTC: finding it, refusing wrong ones, compiling for every architecture, errors. What needs
 * an NVRTC is skipped without one; no GPU is needed. Its failures are in fake/test_nvrtc.c. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* A program may be the preamble alone: it is a file like the others. */
static const char tiny[] = "#ifndef TINY\n"
                           "#define TINY\n"
                           "#include \"jit/device.cuh\"\n"
                           "MBK_KERNEL mbk_tiny(int *p) { p[mbk_thread()] = 7; }\n"
                           "#endif\n";

static char log_text[16384];

static void keep_line(void *user, const char *line) {
  const size_t length = strlen(log_text);
  (void)user;
  (void)snprintf(log_text + length, sizeof log_text - length, "%s\n", line);
}

static int blocks; /* of memory in use */
static int allocations_left = 1 << 30;

static void *counted_allocate(void *user, size_t bytes) {
  (void)user;
  if (allocations_left-- <= 0) {
    return NULL;
  }
  blocks++;
  return malloc(bytes);
}

static void counted_release(void *user, void *memory) {
  (void)user;
  blocks--;
  free(memory);
}

static merbit_context *make_context(void) {
  merbit_context_desc desc;
  merbit_context *context;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CPU;
  desc.threads = 1;
  desc.log = keep_line;
  desc.allocator.allocate = counted_allocate;
  desc.allocator.release = counted_release;
  log_text[0] = '\0';
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  return context;
}

static merbit_context *make_or_skip(void) {
  merbit_context *context = make_context();
  if (mbi_nvrtc_open(context, NULL) != MERBIT_OK) {
    print_message("skipped: %s\n", context->error.message);
    merbit_context_destroy(context);
    skip();
  }
  return context;
}

static void set_text(mbi_preamble *preamble, const char *text) {
  memset(preamble, 0, sizeof *preamble);
  preamble->length = strlen(text);
  memcpy(preamble->text, text, preamble->length + 1);
}

static merbit_status compile(merbit_context *context, const char *text, int capability,
                             void **image, size_t *size) {
  mbi_preamble preamble;
  set_text(&preamble, text);
  return mbi_program_compile(context, MBI_PREAMBLE_NAME, &preamble, capability, image, size);
}

static void expect_last(merbit_context *context, merbit_status status, const char *part) {
  char message[MERBIT_MESSAGE_SIZE];
  assert_int_equal(merbit_last_error(context, message, sizeof message), status);
  if (strstr(message, part) == NULL) {
    fail_msg("\"%s\" does not say \"%s\"", message, part);
  }
}

/* ---- Preambles -------------------------------------------------------------------------- */

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

/* ---- A real NVRTC ----------------------------------------------------------------------- */

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
  assert_int_equal(blocks, 0);
}

/* A GPU of the future gets PTX of the newest architecture, one of the past an answer. */
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
  expect_last(context, MERBIT_NO_COMPILER, "compute capability 2.0");
  merbit_context_destroy(context);
  assert_int_equal(blocks, 0);
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
  expect_last(context, MERBIT_COMPILE_ERROR, MBI_PREAMBLE_NAME "(3): error");
  expect_last(context, MERBIT_COMPILE_ERROR, "\"b\"");
  assert_non_null(strstr(log_text, "NVRTC: " MBI_PREAMBLE_NAME "(3): error"));
  assert_non_null(strstr(log_text, "detected in the compilation of"));
  assert_int_equal(compile(context, "#include <stdio.h>\n", newest, &image, &size),
                   MERBIT_COMPILE_ERROR);
  expect_last(context, MERBIT_COMPILE_ERROR, "stdio.h");
  assert_int_equal(compile(context, tiny, newest, &image, &size), MERBIT_OK);
  mbi_release(context, image);
  merbit_context_destroy(context);
  assert_int_equal(blocks, 0);
}

/* Kernels see embedded files only: not what lies in the working directory, nor a main file
 * unknown. */
static void embedded_files_only(void **state) {
  merbit_context *context = make_or_skip();
  const int newest = mbi_nvrtc_architecture(&context->device.nvrtc, 99999);
  const char *name = "merbit_test_nvrtc_outside.h";
  mbi_preamble preamble;
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
    expect_last(context, MERBIT_COMPILE_ERROR, name);
  } else {
    mbi_release(context, image);
  }
  memset(&preamble, 0, sizeof preamble);
  assert_int_equal(mbi_program_compile(context, "no/such.cu", &preamble, newest, &image, &size),
                   MERBIT_COMPILE_ERROR);
  expect_last(context, MERBIT_COMPILE_ERROR, "no/such.cu");
  preamble.overflow = 1;
  assert_int_equal(mbi_program_compile(context, "no/such.cu", &preamble, newest, &image, &size),
                   MERBIT_TOO_LARGE);
  merbit_context_destroy(context);
  assert_int_equal(blocks, 0);
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
  setenv("MERBIT_DUMP", "/nonexistent/directory", 1);
  assert_int_equal(compile(context, tiny, newest, &image, &size), MERBIT_OK);
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
  assert_int_equal(blocks, 0);
}

static void *compile_in_thread(void *argument) {
  merbit_context *context = (merbit_context *)argument;
  void *image;
  size_t size;
  if (compile(context, tiny, mbi_nvrtc_architecture(&context->device.nvrtc, 99999), &image,
              &size) != MERBIT_OK) {
    return argument;
  }
  free(image); /* counted_release is not made for threads */
  return NULL;
}

static void threads(void **state) {
  merbit_context *context = make_or_skip();
  pthread_t workers[3];
  int i;
  (void)state;
  context->allocator.allocate = mbi_default_allocate;
  context->allocator.release = mbi_default_release;
  for (i = 0; i < 3; i++) {
    assert_int_equal(pthread_create(&workers[i], NULL, compile_in_thread, context), 0);
  }
  for (i = 0; i < 3; i++) {
    void *wrong;
    assert_int_equal(pthread_join(workers[i], &wrong), 0);
    assert_null(wrong);
  }
  merbit_context_destroy(context);
  blocks = 0;
}

static void allocations_fail(void **state) {
  merbit_context *context = make_or_skip();
  const int newest = mbi_nvrtc_architecture(&context->device.nvrtc, 99999);
  const int before = blocks;
  merbit_status status = MERBIT_OUT_OF_MEMORY;
  void *image;
  size_t size;
  int i;
  (void)state;
  for (i = 0; status == MERBIT_OUT_OF_MEMORY; i++) {
    allocations_left = i;
    status = compile(context, tiny, newest, &image, &size);
    assert_int_equal(blocks, before + (status == MERBIT_OK));
  }
  allocations_left = 1 << 30;
  assert_int_equal(status, MERBIT_OK);
  assert_true(i > (int)MBI_SOURCES);
  mbi_release(context, image);
  merbit_context_destroy(context);
  assert_int_equal(blocks, 0);
}

/* ---- Finding it ------------------------------------------------------------------------- */

static void named_but_missing(void **state) {
  merbit_context *context = make_context();
  (void)state;
  assert_int_equal(mbi_nvrtc_open(context, "/nonexistent/libnvrtc.so.13"), MERBIT_NO_COMPILER);
  expect_last(context, MERBIT_NO_COMPILER, "/nonexistent/libnvrtc.so.13");
  assert_null(context->device.nvrtc.library);
  setenv("MERBIT_NVRTC", "/elsewhere/libnvrtc.so", 1);
  assert_int_equal(mbi_nvrtc_open(context, NULL), MERBIT_NO_COMPILER);
  expect_last(context, MERBIT_NO_COMPILER, "/elsewhere/libnvrtc.so");
  assert_int_equal(mbi_nvrtc_open(context, "/nonexistent/x"), MERBIT_NO_COMPILER);
  expect_last(context, MERBIT_NO_COMPILER, "/nonexistent/x");
  unsetenv("MERBIT_NVRTC");
  merbit_context_destroy(context);
}

/* A library of another kind is there, but has none of the functions. */
static void not_nvrtc(void **state) {
  merbit_context *context = make_context();
  (void)state;
  assert_int_equal(mbi_nvrtc_open(context, "libm.so.6"), MERBIT_NO_COMPILER);
  expect_last(context, MERBIT_NO_COMPILER, "lacks nvrtcVersion");
  assert_null(context->device.nvrtc.library);
  assert_int_equal(context->device.nvrtc.version, 0);
  merbit_context_destroy(context);
}

/* An NVRTC that cannot serve the open device is refused. */
static void too_new_for_the_device(void **state) {
  merbit_context *context = make_or_skip();
  char path[256];
  (void)state;
  (void)snprintf(path, sizeof path, "%s", context->device.nvrtc.path);
  assert_int_equal(path[0], '/');
  mbi_nvrtc_close(&context->device.nvrtc);
  context->device.compute_capability = 20;
  assert_int_equal(mbi_nvrtc_open(context, path), MERBIT_NO_COMPILER);
  expect_last(context, MERBIT_NO_COMPILER, "compute capability 2.0");
  assert_null(context->device.nvrtc.library);
  context->device.compute_capability = 99999;
  assert_int_equal(mbi_nvrtc_open(context, path), MERBIT_OK);
  merbit_context_destroy(context);
}

static int count_lines(const char *part) {
  const char *at = log_text;
  int count = 0;
  while ((at = strstr(at, part)) != NULL) {
    count++;
    at++;
  }
  return count;
}

static void make_directories(char *path) {
  char *slash = path;
  while ((slash = strchr(slash + 1, '/')) != NULL) {
    *slash = '\0';
    (void)mkdir(path, 0700);
    *slash = '/';
  }
  assert_int_equal(mkdir(path, 0700), 0);
}

/* Wheels of a virtual environment are found; broken ones are told and passed by. */
static void search(void **state) {
  merbit_context *context = make_context();
  char base[64] = "/tmp/merbit-nvrtc-XXXXXX", path[256];
  mbi_nvrtc_search found;
  FILE *file;
  (void)state;
  assert_non_null(mkdtemp(base));
  (void)snprintf(path, sizeof path, "%s/lib/python3.11/site-packages/nvidia/cu99/lib", base);
  make_directories(path);
  (void)snprintf(path + strlen(path), 64, "/libnvrtc.so.99");
  file = fopen(path, "w");
  assert_non_null(file);
  (void)fputs("not a library\n", file);
  (void)fclose(file);
  memset(&found, 0, sizeof found);
  found.context = context;
  setenv("VIRTUAL_ENV", base, 1);
  assert_int_equal(mbi_nvrtc_try_name(&found, "libnvrtc.so.99"), 0);
  assert_non_null(strstr(found.refused, path));
  assert_non_null(strstr(log_text, "NVRTC: trying libnvrtc.so.99\n"));
  assert_non_null(strstr(log_text, "NVRTC: trying /usr/local/cuda/lib64/libnvrtc.so.99\n"));
  assert_int_equal(count_lines("NVRTC: trying"), found.tried);
  assert_non_null(strstr(found.places, "libnvrtc.so.99, "));
  assert_null(context->device.nvrtc.library);
  setenv("VIRTUAL_ENV", "relative", 1);
  log_text[0] = '\0';
  (void)mbi_nvrtc_try_name(&found, "libnvrtc.so.99");
  assert_null(strstr(log_text, "relative"));
  unsetenv("VIRTUAL_ENV");
  assert_int_equal(unlink(path), 0);
  for (*strrchr(path, '/') = '\0'; strlen(path) >= strlen(base); *strrchr(path, '/') = '\0') {
    assert_int_equal(rmdir(path), 0);
  }
  merbit_context_destroy(context);
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
      cmocka_unit_test(named_but_missing),
      cmocka_unit_test(not_nvrtc),
      cmocka_unit_test(too_new_for_the_device),
      cmocka_unit_test(search),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
