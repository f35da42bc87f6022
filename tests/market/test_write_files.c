/* Files made by the Matrix Market writer, and failures, which leave nothing behind. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "market/write.h"

/* Counts the entries of a folder other than . and .. */
static int entries_of(const char *folder) {
  DIR *directory = opendir(folder);
  int count = 0;
  assert_non_null(directory);
  while (readdir(directory) != NULL) {
    count++;
  }
  (void)closedir(directory);
  return count - 2;
}

static char *slurp(const char *path) {
  FILE *file = fopen(path, "rb");
  char *data = (char *)calloc(1, 4096);
  assert_non_null(file);
  (void)fread(data, 1, 4095, file);
  (void)fclose(file);
  return data;
}

static char folder[64], target[96], link_path[96];

static int make_folder(void **state) {
  (void)state;
  (void)snprintf(folder, sizeof folder, "/tmp/merbit-test-write-XXXXXX");
  if (mkdtemp(folder) == NULL) {
    return -1;
  }
  (void)snprintf(target, sizeof target, "%s/a.mtx", folder);
  (void)snprintf(link_path, sizeof link_path, "%s/link.mtx", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  (void)unlink(target);
  (void)unlink(link_path);
  return rmdir(folder); /* fails if a temporary is left */
}

static void assert_file(const char *path, const char *expected) {
  char *data = slurp(path);
  assert_string_equal(data, expected);
  free(data);
}

static void test_file(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  const merbit_view view = merbit_csr(3, 4, 3, csr_row_ptr, csr_col_ind, csr_values);
  struct stat facts;
  merbit_matrix *m;
  mode_t mask = umask(027);
  (void)state;
  assert_int_equal(merbit_matrix_write_file(context, &view, target), MERBIT_OK);
  (void)umask(mask);
  assert_file(target, csr_text);
  assert_int_equal(stat(target, &facts), 0);
  assert_int_equal(facts.st_mode & 0777, 0640);
  assert_int_equal(chmod(target, 0604), 0);
  assert_int_equal(symlink("a.mtx", link_path), 0);
  assert_int_equal(merbit_matrix_write_file(context, &view, link_path), MERBIT_OK);
  assert_int_equal(lstat(link_path, &facts), 0);
  assert_true(S_ISLNK(facts.st_mode));
  assert_int_equal(stat(target, &facts), 0);
  assert_int_equal(facts.st_mode & 0777, 0604);
  assert_int_equal(entries_of(folder), 2);
  assert_int_equal(merbit_matrix_read_file(context, link_path, NULL, &m), MERBIT_OK);
  assert_int_equal(merbit_matrix_view(m).nnz, 3);
  merbit_matrix_destroy(m);
  merbit_context_destroy(context);
}

/* Simulates a full disk: the old file stays, and nothing else. */
static void test_failure_leaves_the_old_file(void **state) {
  enum { COUNT = 20000 };
  merbit_context *context = cpu_open(NULL, 1);
  const merbit_view small = merbit_csr(3, 4, 3, csr_row_ptr, csr_col_ind, csr_values);
  int32_t row_ptr[2] = {0, COUNT}, *col_ind = (int32_t *)malloc(COUNT * sizeof *col_ind);
  merbit_view large;
  struct rlimit limit, old; /* beyond it a write would kill the process */
  merbit_status status;
  int i;
  (void)state;
  for (i = 0; i < COUNT; i++) {
    col_ind[i] = i;
  }
  large = merbit_csr(1, COUNT, COUNT, row_ptr, col_ind, NULL);
  assert_int_equal(merbit_matrix_write_file(context, &small, target), MERBIT_OK);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  limit = old;
  limit.rlim_cur = 70000;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  status = merbit_matrix_write_file(context, &large, target);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
  assert_failed(context, status, MERBIT_IO_ERROR, "a.mtx: File too large");
  assert_file(target, csr_text);
  assert_int_equal(entries_of(folder), 1);
  free(col_ind);
  merbit_context_destroy(context);
}

/* A link is followed even if its target does not exist, whether absolute, relative or through
 * links; a cycle is refused. */
static void test_links(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  const merbit_view view = merbit_csr(3, 4, 3, csr_row_ptr, csr_col_ind, csr_values);
  const char *targets[] = {target, "a.mtx", "second.mtx", "link.mtx"};
  char second[96];
  int i, here = open(".", O_RDONLY | O_DIRECTORY);
  (void)state;
  assert_true(here >= 0);
  (void)snprintf(second, sizeof second, "%s/second.mtx", folder);
  assert_int_equal(symlink("a.mtx", second), 0);
  for (i = 0; i < 4; i++) {
    struct stat facts;
    assert_int_equal(symlink(targets[i], link_path), 0);
    assert_int_equal(chdir(i % 2 ? folder : "/"), 0); /* also a path without a folder */
    if (i == 3) {
      assert_failed(context, merbit_matrix_write_file(context, &view, "link.mtx"),
                    MERBIT_IO_ERROR, "Too many levels");
    } else {
      assert_int_equal(merbit_matrix_write_file(context, &view, i % 2 ? "link.mtx" : link_path),
                       MERBIT_OK);
      assert_file(target, csr_text);
      assert_int_equal(unlink(target), 0);
    }
    assert_int_equal(lstat(link_path, &facts), 0);
    assert_true(S_ISLNK(facts.st_mode));
    assert_int_equal(unlink(link_path), 0);
  }
  assert_int_equal(fchdir(here), 0);
  (void)close(here);
  assert_int_equal(unlink(second), 0);
  merbit_context_destroy(context);
}

/* In a child without root's rights: a file that the user may not write is unchanged. */
static void test_read_only_target(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  const merbit_view view = merbit_csr(3, 4, 3, csr_row_ptr, csr_col_ind, csr_values);
  const int file = open(target, O_WRONLY | O_CREAT, 0444);
  struct stat before, after;
  pid_t child;
  int status;
  (void)state;
  assert_true(file >= 0);
  assert_int_equal(fstat(file, &before), 0);
  (void)close(file);
  assert_int_equal(chmod(folder, 0777), 0);
  child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    char message[300];
    if (geteuid() == 0 && seteuid(65534) != 0) {
      _exit(77);
    }
    status = merbit_matrix_write_file(context, &view, target) == MERBIT_IO_ERROR;
    merbit_last_error(context, message, sizeof message);
    _exit(status && strstr(message, "Permission denied") != NULL ? 0 : 1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
  assert_int_equal(stat(target, &after), 0);
  assert_true(before.st_ino == after.st_ino && after.st_size == 0);
  assert_int_equal(entries_of(folder), 1);
  merbit_context_destroy(context);
}

static void test_targets(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  const merbit_view view = merbit_csr(3, 4, 3, csr_row_ptr, csr_col_ind, csr_values);
  char *path = (char *)malloc(5001);
  (void)state;
  assert_failed(context, merbit_matrix_write_file(context, &view, "/nonexistent/a.mtx"),
                MERBIT_IO_ERROR,
                "cannot write /nonexistent/a.mtx: the folder /nonexistent does not exist");
  assert_failed(context, merbit_matrix_write_file(context, &view, "nonexistent/b/a.mtx"),
                MERBIT_IO_ERROR, "the folder nonexistent/b does not exist; create it");
  assert_failed(context, merbit_matrix_write_file(context, &view, "/proc/merbit.mtx"),
                MERBIT_IO_ERROR,
                "cannot write /proc/merbit.mtx, or a file beside it: No such file");
  assert_failed(context, merbit_matrix_write_file(context, &view, folder), MERBIT_IO_ERROR,
                "Is a directory");
  assert_failed(context, merbit_matrix_write_file(context, &view, "/dev/null"), MERBIT_IO_ERROR,
                "/dev/null is not a regular file");
  memset(path, 'a', 5000);
  path[5000] = '\0';
  assert_failed(context, merbit_matrix_write_file(context, &view, path), MERBIT_IO_ERROR,
                "File name too long");
  free(path);
  merbit_context_destroy(context);
}

static void test_arguments(void **state) {
  static const int32_t wrong[] = {3, 0, 4};
  merbit_context *context = cpu_open(NULL, 1);
  merbit_view view = merbit_csr(3, 4, 3, csr_row_ptr, csr_col_ind, csr_values);
  text t = {NULL, 0, 0, 1};
  (void)state;
  assert_int_equal(merbit_matrix_write_file(NULL, &view, target), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_matrix_write_stream(NULL, &view, text_write, &t),
                   MERBIT_INVALID_ARGUMENT);
  assert_failed(context, merbit_matrix_write_file(context, &view, NULL),
                MERBIT_INVALID_ARGUMENT, "`path` is NULL");
  assert_failed(context, merbit_matrix_write_file(context, &view, ""), MERBIT_INVALID_ARGUMENT,
                "`path` is empty");
  assert_failed(context, merbit_matrix_write_stream(context, &view, NULL, NULL),
                MERBIT_INVALID_ARGUMENT, "`write` is NULL");
  assert_failed(context, merbit_matrix_write_stream(context, NULL, text_write, &t),
                MERBIT_INVALID_ARGUMENT, "view");
  assert_failed(context, merbit_matrix_write_stream(context, &view, text_write, &t),
                MERBIT_IO_ERROR, "the write callback returned 7");
  view.memory = MERBIT_MEMORY_DEVICE;
  assert_failed(context, merbit_matrix_write_stream(context, &view, text_write, &t),
                MERBIT_NOT_SUPPORTED, "write a copy in host memory");
  view.memory = MERBIT_MEMORY_HOST;
  view.col_ind = wrong;
  assert_failed(context, merbit_matrix_write_file(context, &view, target),
                MERBIT_INVALID_MATRIX, "");
  assert_int_equal(access(target, F_OK), -1);
  assert_int_equal(t.calls, 1);
  merbit_context_destroy(context);
}

static void test_memory_runs_out(void **state) {
  const merbit_view view = merbit_csr(3, 4, 3, csr_row_ptr, csr_col_ind, csr_values);
  cpu_memory memory;
  merbit_context *context = cpu_open(&memory, 1);
  merbit_status status = MERBIT_OUT_OF_MEMORY;
  const long live = memory.live;
  (void)state;
  for (memory.fail_at = 1; status != MERBIT_OK; memory.fail_at++) {
    memory.made = 0;
    status = merbit_matrix_write_file(context, &view, target);
    assert_int_equal(memory.live, live);
    if (status != MERBIT_OK) {
      assert_failed(context, status, MERBIT_OUT_OF_MEMORY, "no memory for");
      assert_int_equal(entries_of(folder), 0);
    }
  }
  assert_true(memory.fail_at > 2);
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_file, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_failure_leaves_the_old_file, make_folder,
                                      remove_folder),
      cmocka_unit_test_setup_teardown(test_links, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_read_only_target, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_targets, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_arguments, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_memory_runs_out, make_folder, remove_folder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
