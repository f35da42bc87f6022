/* Finding an NVRTC, and refusing wrong ones. Tests that need one are skipped without it;
 * test_nvrtc_order.c tests the order of versions. */
#include "support/internal.h"
#include "core/os/cuda.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "nvrtc_bed.h"

static void named_but_missing(void **state) {
  merbit_context *context = make_context();
  (void)state;
  assert_int_equal(mbi_nvrtc_open(context, "/nonexistent/libnvrtc.so.13"), MERBIT_NO_COMPILER);
  cpu_expect(context, MERBIT_NO_COMPILER, "/nonexistent/libnvrtc.so.13");
  assert_null(context->device.nvrtc.library);
  setenv("MERBIT_NVRTC", "/elsewhere/libnvrtc.so", 1);
  assert_int_equal(mbi_nvrtc_open(context, NULL), MERBIT_NO_COMPILER);
  cpu_expect(context, MERBIT_NO_COMPILER, "/elsewhere/libnvrtc.so");
  assert_int_equal(mbi_nvrtc_open(context, "/nonexistent/x"), MERBIT_NO_COMPILER);
  cpu_expect(context, MERBIT_NO_COMPILER, "/nonexistent/x");
  unsetenv("MERBIT_NVRTC");
  merbit_context_destroy(context);
}

/* A library of another kind, without any of the functions. */
static void not_nvrtc(void **state) {
  merbit_context *context = make_context();
  (void)state;
  assert_int_equal(mbi_nvrtc_open(context, "libm.so.6"), MERBIT_NO_COMPILER);
  cpu_expect(context, MERBIT_NO_COMPILER, "lacks nvrtcVersion");
  assert_null(context->device.nvrtc.library);
  assert_int_equal(context->device.nvrtc.version, 0);
  merbit_context_destroy(context);
}

/* The reason is told behind a long path, for a library that cannot be opened and for one that
 * can. */
static void a_long_path(void **state) {
  merbit_context *context = make_context();
  char base[64] = "/tmp/merbit-nvrtc-XXXXXX", path[400], real[MBI_PATH_SIZE];
  void *library = mbi_library_open("libm.so.6");
  size_t length;
  (void)state;
  assert_non_null(library);
  mbi_library_path(library, real, sizeof real);
  mbi_library_close(library);
  assert_non_null(mkdtemp(base));
  length = (size_t)snprintf(path, sizeof path, "%s/", base);
  memset(path + length, 'l', 240);
  path[length + 240] = '\0';
  assert_int_equal(mbi_nvrtc_open(context, path), MERBIT_NO_COMPILER);
  cpu_expect(context, MERBIT_NO_COMPILER, "used: ...lll");
  cpu_expect(context, MERBIT_NO_COMPILER, "lll: cannot open shared object file");
  assert_int_equal(symlink(real, path), 0);
  assert_int_equal(mbi_nvrtc_open(context, path), MERBIT_NO_COMPILER);
  cpu_expect(context, MERBIT_NO_COMPILER, "used: ...lll");
  cpu_expect(context, MERBIT_NO_COMPILER, "lll: it lacks nvrtcVersion");
  assert_non_null(strstr(log_text, path)); /* the log has all of it */
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rmdir(base), 0);
  merbit_context_destroy(context);
}

/* A long path is cut between two characters, wherever it must be cut. */
static void a_long_path_in_utf_8(void **state) {
  merbit_context *context = make_context();
  char path[400], sentence[MERBIT_MESSAGE_SIZE];
  int shift, i;
  (void)state;
  for (shift = 0; shift < 2; shift++) {
    const char *cut;
    size_t length = (size_t)snprintf(path, sizeof path, "/nonexistent/%s", shift ? "l" : "");
    for (i = 0; i < 110; i++) {
      length += (size_t)snprintf(path + length, sizeof path - length, "\xc3\xa9");
    }
    assert_int_equal(mbi_nvrtc_open(context, path), MERBIT_NO_COMPILER);
    (void)merbit_last_error(context, sentence, sizeof sentence);
    cut = strstr(sentence, "used: ...");
    assert_non_null(cut);
    assert_int_equal(strncmp(cut + strlen("used: ..."), "\xc3\xa9", 2), 0);
  }
  merbit_context_destroy(context);
}

/* An NVRTC that does not support the open device is refused. */
static void too_new_for_the_device(void **state) {
  merbit_context *context = make_or_skip();
  char path[256];
  (void)state;
  (void)snprintf(path, sizeof path, "%s", context->device.nvrtc.path);
  assert_int_equal(path[0], '/');
  mbi_nvrtc_close(&context->device.nvrtc);
  context->device.compute_capability = 20;
  assert_int_equal(mbi_nvrtc_open(context, path), MERBIT_NO_COMPILER);
  cpu_expect(context, MERBIT_NO_COMPILER, "compute capability 2.0");
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

/* Wheels of a virtual environment are found; broken ones are reported and skipped. */
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

/* Directories whose names contain pattern characters. */
static void literal_directories(void **state) {
  static const char *const table[][2] = {
      {"CUDA_HOME", "/lib64"},
      {"CUDA_PATH", MBI_CUDA_TARGET},
      {"VIRTUAL_ENV", "/lib/python3.11/site-packages/nvidia/cu99/lib"},
      {"HOME", "/.local/lib/python3.11/site-packages/nvidia/cu99/lib"}};
  merbit_context *context = make_context();
  size_t i;
  (void)state;
  for (i = 0; i < sizeof table / sizeof table[0]; i++) {
    char base[64] = "/tmp/merbit[x-z]*?\\{1,2}~XXXXXX", path[256], kept[256];
    const char *before = getenv(table[i][0]);
    mbi_nvrtc_search found;
    FILE *file;
    (void)snprintf(kept, sizeof kept, "%s", before != NULL ? before : "");
    assert_non_null(mkdtemp(base));
    (void)snprintf(path, sizeof path, "%s%s", base, table[i][1]);
    make_directories(path);
    (void)snprintf(path + strlen(path), 64, "/libnvrtc.so.99");
    file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("not a library\n", file);
    (void)fclose(file);
    memset(&found, 0, sizeof found);
    found.context = context;
    setenv(table[i][0], base, 1);
    assert_int_equal(mbi_nvrtc_try_name(&found, "libnvrtc.so.99"), 0);
    assert_non_null(strstr(found.refused, path));
    if (before != NULL) {
      setenv(table[i][0], kept, 1);
    } else {
      unsetenv(table[i][0]);
    }
    assert_int_equal(unlink(path), 0);
    for (*strrchr(path, '/') = '\0'; strlen(path) >= strlen(base); *strrchr(path, '/') = '\0') {
      assert_int_equal(rmdir(path), 0);
    }
  }
  merbit_context_destroy(context);
}

/* Directories around the longest that a pattern holds, where each '*' takes two places. */
static void long_directories(void **state) {
  merbit_context *context = make_context();
  static char base[MBI_PATH_SIZE + 16];
  int turn, more;
  (void)state;
  for (turn = 0; turn < 3; turn++) {
    for (more = -8; more < 8; more++) {
      const int length = (turn == 0 ? MBI_PATH_SIZE : MBI_PATH_SIZE / 2) + more;
      mbi_nvrtc_search found;
      memset(base, turn == 0 ? 'a' : '*', sizeof base);
      base[0] = '/';
      base[1] = turn == 1 ? 'a' : base[1];
      base[length] = '\0';
      memset(&found, 0, sizeof found);
      found.context = context;
      setenv("VIRTUAL_ENV", base, 1);
      assert_int_equal(mbi_nvrtc_try_name(&found, "libnvrtc.so.99"), 0);
      assert_null(strstr(log_text, base));
      log_text[0] = '\0';
    }
  }
  unsetenv("VIRTUAL_ENV");
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(named_but_missing),
      cmocka_unit_test(not_nvrtc),
      cmocka_unit_test(a_long_path),
      cmocka_unit_test(a_long_path_in_utf_8),
      cmocka_unit_test(too_new_for_the_device),
      cmocka_unit_test(search),
      cmocka_unit_test(literal_directories),
      cmocka_unit_test(long_directories),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
