/* Contexts on the CPU: refused descriptors, facts, lifetimes. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"

static void refused(const merbit_context_desc *desc, const char *piece) {
  merbit_context *context = (merbit_context *)&piece;
  merbit_error error;
  assert_int_equal(merbit_context_create(desc, &context, &error), MERBIT_INVALID_ARGUMENT);
  assert_null(context);
  assert_int_equal(error.status, MERBIT_INVALID_ARGUMENT);
  if (strstr(error.message, piece) == NULL) {
    fail_msg("the sentence is \"%s\", without \"%s\"", error.message, piece);
  }
  context = (merbit_context *)&piece;
  assert_int_equal(merbit_context_create(desc, &context, NULL), MERBIT_INVALID_ARGUMENT);
  assert_null(context);
}

static void bad_descriptors_are_named(void **state) {
  cpu_memory memory;
  merbit_context_desc desc = cpu_desc(NULL, -1);
  merbit_error error;
  (void)state;
  refused(&desc, "context_desc.threads is -1");
  desc.threads = 1025;
  refused(&desc, "context_desc.threads is 1025; use 0 for all, or at most 1024");
  desc = cpu_desc(NULL, 1);
  desc.side = (merbit_side)3;
  refused(&desc, "context_desc.side is 3");
  desc = cpu_desc(NULL, 1);
  desc.cache_max_bytes = -9;
  refused(&desc, "context_desc.cache_max_bytes is -9");
  desc = cpu_desc(&memory, 1);
  desc.allocator.release = NULL;
  refused(&desc, "one function of two");
  desc = cpu_desc(&memory, 1);
  desc.allocator.allocate = NULL;
  refused(&desc, "one function of two");
  desc = cpu_desc(&memory, 2000);
  refused(&desc, "threads is 2000");
  assert_int_equal(memory.live, 0);
  desc = cpu_desc(NULL, 1);
  assert_int_equal(merbit_context_create(&desc, NULL, &error), MERBIT_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "`context` is NULL"));
  assert_int_equal(merbit_context_create(&desc, NULL, NULL), MERBIT_INVALID_ARGUMENT);
}

static void information(void **state) {
  merbit_context *context = cpu_open(NULL, 3);
  merbit_context_info info;
  (void)state;
  memset(&info, 0xff, sizeof info);
  assert_int_equal(merbit_context_get_info(context, &info), MERBIT_OK);
  assert_int_equal(info.side, MERBIT_SIDE_CPU);
  assert_int_equal(info.threads, 3);
  assert_string_equal(info.device, "CPU");
  assert_string_equal(info.reason, ""); /* the CPU was requested */
  assert_string_equal(info.nvrtc, "");
  assert_string_equal(info.cache_dir, "");
  assert_int_equal(info.compute_capability, 0);
  assert_int_equal(info.driver_version, 0);
  assert_int_equal(info.nvrtc_version, 0);
  assert_int_equal(info.cache_hits, 0);
  assert_int_equal(merbit_context_get_info(NULL, &info), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_context_get_info(context, NULL), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "merbit_context_get_info: `info` is NULL");
  merbit_context_destroy(context);
  merbit_context_destroy(NULL);
}

/* The system's call, or that of a system with `possible` processors, of which this process may
 * use every second. */
static int possible;

int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set) {
  long filled;
  int i;
  memset(set, 0, size);
  if (possible == 0) {
    filled = syscall(SYS_sched_getaffinity, process, size, set);
    return filled < 0 ? -1 : 0;
  }
  if (8 * size < (size_t)possible) {
    errno = EINVAL;
    return -1;
  }
  for (i = 0; i < possible; i += 2) {
    CPU_SET_S((size_t)i, size, set);
  }
  return 0;
}

static void threads_of_large_machines(void **state) {
  static const struct {
    int possible, threads;
  } table[] = {{1024, 512}, {1030, 515}, {2000, 1000}, {8192, 1024}, {65536, 1024}, {65600, 1}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof table / sizeof table[0]; i++) {
    merbit_context *context;
    merbit_context_info info;
    possible = table[i].possible;
    context = cpu_open(NULL, 0);
    assert_int_equal(merbit_context_get_info(context, &info), MERBIT_OK);
    assert_int_equal(info.threads, table[i].threads);
    merbit_context_destroy(context);
  }
  possible = 0;
}

static void threads_by_default(void **state) {
  cpu_set_t all, one;
  merbit_context *context;
  merbit_context_info info;
  int i;
  (void)state;
  context = cpu_open(NULL, 0);
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  assert_int_equal(merbit_context_get_info(context, &info), MERBIT_OK);
  assert_int_equal(info.threads, CPU_COUNT(&all));
  merbit_context_destroy(context);
  CPU_ZERO(&one); /* as many as the process may use, not as many as exist */
  for (i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
    if (CPU_ISSET(i, &all)) {
      CPU_SET(i, &one);
    }
  }
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  context = cpu_open(NULL, 0);
  assert_int_equal(merbit_context_get_info(context, &info), MERBIT_OK);
  assert_int_equal(info.threads, 1);
  merbit_context_destroy(context);
  assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

/* Objects made from a context keep it alive. */
static void references(void **state) {
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 1);
  merbit_buffer *first, *second;
  (void)state;
  assert_int_equal(merbit_buffer_create(context, 8, &first), MERBIT_OK);
  assert_int_equal(merbit_buffer_create(context, 8, &second), MERBIT_OK);
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 5);
  merbit_buffer_destroy(first);
  assert_int_equal(merbit_buffer_download(second, 9, NULL, 0), MERBIT_INVALID_ARGUMENT);
  cpu_expect(second->context, MERBIT_INVALID_ARGUMENT, "exceed");
  merbit_buffer_destroy(second);
  assert_int_equal(memory.live, 0);
}

/* MERBIT_LOG writes to stderr without a callback, and nothing with one. */
static void ignore_line(void *user, const char *line) {
  (void)line;
  (*(int *)user)++;
}

static void log_from_the_environment(void **state) {
  char path[] = "/tmp/merbit-test-XXXXXX", text[4096];
  int file = mkstemp(path), kept, lines = 0;
  merbit_context_desc desc = cpu_desc(NULL, 1);
  merbit_context *context;
  ssize_t length;
  (void)state;
  assert_true(file >= 0);
  assert_int_equal(setenv("MERBIT_LOG", "1", 1), 0);
  (void)fflush(stderr);
  kept = dup(STDERR_FILENO);
  assert_true(dup2(file, STDERR_FILENO) >= 0);
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  mbi_log(context, "a line of %d", 42);
  merbit_context_destroy(context);
  desc.log = ignore_line;
  desc.log_user = &lines;
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  mbi_log(context, "another line");
  merbit_context_destroy(context);
  assert_int_equal(setenv("MERBIT_LOG", "", 1), 0);
  context = cpu_open(NULL, 1);
  mbi_log(context, "no line");
  merbit_context_destroy(context);
  (void)fflush(stderr);
  assert_true(dup2(kept, STDERR_FILENO) >= 0);
  (void)close(kept);
  assert_int_equal(unsetenv("MERBIT_LOG"), 0);
  length = pread(file, text, sizeof text - 1, 0);
  assert_true(length >= 0);
  text[length] = '\0';
  assert_string_equal(text, "merbit: a line of 42\n");
  assert_int_equal(lines, 1);
  (void)close(file);
  (void)unlink(path);
}

/* On a machine without driver, GPU or compiler AUTO computes on the CPU and gives the reason.
 * Elsewhere this only shows that the default descriptor works. */
static void the_default_descriptor(void **state) {
  merbit_context *context;
  merbit_context_info info;
  merbit_error error;
  (void)state;
  assert_int_equal(merbit_context_create(NULL, &context, &error), MERBIT_OK);
  assert_int_equal(error.status, MERBIT_OK);
  assert_int_equal(merbit_context_get_info(context, &info), MERBIT_OK);
  assert_true(info.threads >= 1);
  if (info.side == MERBIT_SIDE_CPU) {
    assert_true(strlen(info.reason) > 10);
    assert_int_equal(merbit_last_error(context, NULL, 0), MERBIT_OK);
  } else {
    assert_int_equal(info.side, MERBIT_SIDE_CUDA);
    assert_string_equal(info.reason, "");
  }
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bad_descriptors_are_named),
      cmocka_unit_test(information),
      cmocka_unit_test(threads_of_large_machines),
      cmocka_unit_test(threads_by_default),
      cmocka_unit_test(references),
      cmocka_unit_test(log_from_the_environment),
      cmocka_unit_test(the_default_descriptor),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
