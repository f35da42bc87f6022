/* Files that the user names, on a failing disk: each system call fails in turn. A written
 * matrix is complete in its place, or the old file is still there; a read one is right; errors
 * name the file; no file stays open and no temporary is left. */
#include "support/internal.h"

#include "jit/cache_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <limits.h>
#include "support/cpu.h"

static const int32_t row_ptr[] = {0, 2, 3, 5}, col_ind[] = {0, 2, 1, 0, 2};
static const double values[] = {1.5, 2, 3, -4, 5};
static const char whole[] =
    "%%MatrixMarket matrix coordinate real general\n3 3 5\n1 1 1.5\n1 3 2\n2 2 3\n"
    "3 1 -4\n3 3 5\n";
static const char old[] = "old\n";

static char folder[64], path[128], link_path[128];

static int set_up(void **state) {
  (void)state;
  (void)snprintf(folder, sizeof folder, "/tmp/merbit-files-XXXXXX");
  assert_non_null(mkdtemp(folder));
  (void)snprintf(path, sizeof path, "%s/a.mtx", folder);
  (void)snprintf(link_path, sizeof link_path, "%s/link.mtx", folder);
  heal();
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  heal();
  (void)unlink(path);
  (void)unlink(link_path);
  return rmdir(folder);
}

static int entries_of(const char *name) {
  DIR *directory = opendir(name);
  int count = 0;
  assert_non_null(directory);
  while (readdir(directory) != NULL) {
    count++;
  }
  (void)closedir(directory);
  return count;
}

static void put(const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static void expect_file(const char *text) {
  char bytes[512];
  FILE *file = fopen(path, "r");
  size_t size;
  assert_non_null(file);
  size = fread(bytes, 1, sizeof bytes - 1, file);
  bytes[size] = '\0';
  assert_int_equal(fclose(file), 0);
  assert_string_equal(bytes, text);
}

static void arm(int step, int code, int calls) {
  heal();
  disk.armed = 1;
  disk.step = step;
  disk.code = code;
  disk.calls = calls;
}

/* Removes files of the folder that a failed unlink leaves. */
static void sweep(void) {
  char command[160];
  (void)snprintf(command, sizeof command, "rm -f '%s'/.merbit-*", folder);
  assert_int_equal(system(command), 0);
}

static int write_with_failure(merbit_context *context, const char *to, int exists, int step,
                              int code, int calls) {
  const merbit_view view = merbit_csr(3, 3, 5, row_ptr, col_ind, values);
  const int files = entries_of("/proc/self/fd");
  int failed;
  merbit_status status;
  (void)unlink(path);
  if (exists) {
    put(old);
  }
  arm(step, code, calls);
  status = merbit_matrix_write_file(context, &view, to);
  failed = disk.step < 0;
  disk.armed = 0;
  assert_int_equal(entries_of("/proc/self/fd"), files);
  if (status == MERBIT_OK) {
    expect_file(whole);
  } else {
    cpu_expect(context, MERBIT_IO_ERROR, to);
    if (exists) {
      expect_file(old);
    } else {
      assert_int_equal(access(path, F_OK), -1);
    }
  }
  if (!(disk.failed & KEEPS)) {
    assert_int_equal(entries_of(folder), 2 + (access(path, F_OK) == 0) + (to == link_path));
  }
  sweep();
  heal();
  return failed;
}

static void every_call_of_a_writer_fails(void **state) {
  static const int codes[] = {EIO, ENOSPC, EACCES, EINTR, EEXIST};
  merbit_context *context = cpu_open(NULL, 1);
  int scenario, code, calls, step, runs = 0;
  (void)state;
  for (scenario = 0; scenario < 3; scenario++) {
    if (scenario == 2) {
      assert_int_equal(symlink(path, link_path), 0);
    }
    for (code = 0; code < 5; code++) {
      for (calls = 1; calls <= 32; calls += 31) {
        if (codes[code] == EINTR && calls > 1) {
          continue; /* ask again as long as that is the answer */
        }
        for (step = 0; write_with_failure(context, scenario == 2 ? link_path : path,
                                          scenario > 0, step, codes[code], calls);
             step++, runs++) {
          assert_true(step < 100);
        }
      }
    }
  }
  print_message("%d writes with a failure\n", runs);
  merbit_context_destroy(context);
}

static void a_disk_fills_up(void **state) {
  const merbit_view view = merbit_csr(3, 3, 5, row_ptr, col_ind, values);
  merbit_context *context = cpu_open(NULL, 1);
  int room;
  (void)state;
  put(old);
  for (room = 0; room < (int)sizeof whole - 1; room++) {
    disk.room = room;
    disk.portion = (size_t)room % 5;
    assert_int_equal(merbit_matrix_write_file(context, &view, path), MERBIT_IO_ERROR);
    cpu_expect(context, MERBIT_IO_ERROR, "No space left");
    expect_file(old);
    assert_int_equal(entries_of(folder), 3);
  }
  disk.room = room;
  disk.portion = 1;
  assert_int_equal(merbit_matrix_write_file(context, &view, path), MERBIT_OK);
  expect_file(whole);
  merbit_context_destroy(context);
}

static void every_call_of_a_reader_fails(void **state) {
  static const int codes[] = {EIO, EACCES, EINTR};
  merbit_context *context = cpu_open(NULL, 1);
  int code, step, runs = 0, failed;
  (void)state;
  put(whole);
  for (code = 0; code < 3; code++) {
    for (step = 0, failed = 1; failed; step++, runs++) {
      const int files = entries_of("/proc/self/fd");
      merbit_matrix *matrix;
      merbit_status status;
      arm(step, codes[code], 1);
      status = merbit_matrix_read_file(context, path, NULL, &matrix);
      failed = disk.step < 0;
      heal();
      assert_int_equal(entries_of("/proc/self/fd"), files);
      assert_true((status == MERBIT_OK) == (matrix != NULL));
      if (status == MERBIT_OK) {
        const merbit_view view = merbit_matrix_view(matrix);
        assert_int_equal(view.nnz, 5);
        assert_memory_equal(view.values, values, sizeof values);
        merbit_matrix_destroy(matrix);
      } else {
        cpu_expect(context, MERBIT_IO_ERROR, path);
      }
    }
  }
  print_message("%d reads with a failure\n", runs);
  merbit_context_destroy(context);
}

/* Creates a directory while a call of the system fails. Returns whether one did. */
static int create_with_failure(const char *directory, int step) {
  char wish[MBI_PATH_SIZE];
  const char *fault;
  int error, failed;
  (void)snprintf(wish, sizeof wish, "%s", directory);
  arm(step, EROFS, 1);
  fault = mbi_directory_distrust(wish, 1, &error);
  failed = disk.step < 0;
  heal();
  assert_true(fault == NULL || error == EROFS);
  assert_true(rmdir(directory) == 0 || (failed && errno == ENOENT));
  return failed;
}

/* The error is that of the call that failed. */
static void a_directory_that_cannot_be_made(void **state) {
  char directory[128];
  int step;
  (void)state;
  (void)snprintf(directory, sizeof directory, "%s/new", folder);
  for (step = 0; create_with_failure(directory, step); step++) {
    assert_true(step < 100);
  }
  assert_true(step > 4);
}

/* The new file is open to no more users than the old one, even while its permissions are not
 * set yet, or where they cannot be set. */
static void a_private_file_stays_private(void **state) {
  const merbit_view view = merbit_csr(3, 3, 5, row_ptr, col_ind, values);
  merbit_context *context = cpu_open(NULL, 1);
  const mode_t mask = umask(0);
  int step, failed, written = 0;
  (void)state;
  for (step = 0, failed = 1; failed; step++) {
    struct stat facts;
    put(old);
    assert_int_equal(chmod(path, 0600), 0);
    arm(step, EPERM, 1);
    written += merbit_matrix_write_file(context, &view, path) == MERBIT_OK;
    failed = disk.step < 0;
    heal();
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
  }
  assert_int_equal(written, 2); /* once without permissions, and once without a failure */
  (void)umask(mask);
  merbit_context_destroy(context);
}

/* Some folders take no files: the system then answers that there is no such file, and the
 * sentence must not say that there is no such folder. */
static void a_folder_that_takes_no_file(void **state) {
  const merbit_view view = merbit_csr(3, 3, 5, row_ptr, col_ind, values);
  merbit_context *context = cpu_open(NULL, 1);
  char sentence[MERBIT_MESSAGE_SIZE];
  int step, told = 0;
  (void)state;
  put(old);
  for (step = 0; step < 6; step++) {
    arm(step, ENOENT, 1);
    if (merbit_matrix_write_file(context, &view, path) != MERBIT_OK) {
      (void)merbit_last_error(context, sentence, sizeof sentence);
      assert_null(strstr(sentence, "does not exist"));
      told += strstr(sentence, "No such file or directory") != NULL;
    }
    heal();
  }
  assert_in_range(told, 3, 6);
  merbit_context_destroy(context);
}

/* A signal may interrupt open, which waits for the writer of a pipe. */
static void an_interrupted_open(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  merbit_matrix *matrix;
  (void)state;
  put(whole);
  arm(0, EINTR, 3);
  assert_int_equal(merbit_matrix_read_file(context, path, NULL, &matrix), MERBIT_OK);
  assert_int_equal(merbit_matrix_view(matrix).nnz, 5);
  merbit_matrix_destroy(matrix);
  merbit_context_destroy(context);
}

/* The system may refuse to follow a link in a folder that others can write: then the file to
 * which it leads stays as it is. */
static void a_link_that_is_not_followed(void **state) {
  const merbit_view view = merbit_csr(3, 3, 5, row_ptr, col_ind, values);
  merbit_context *context = cpu_open(NULL, 1);
  (void)state;
  put(old);
  assert_int_equal(symlink(path, link_path), 0);
  arm(0, EACCES, 1);
  assert_int_equal(merbit_matrix_write_file(context, &view, link_path), MERBIT_IO_ERROR);
  cpu_expect(context, MERBIT_IO_ERROR, "Permission denied");
  cpu_expect(context, MERBIT_IO_ERROR, link_path);
  expect_file(old);
  merbit_context_destroy(context);
}

/* A file's name may be as long as names can be. */
static void a_long_name(void **state) {
  const merbit_view view = merbit_csr(3, 3, 5, row_ptr, col_ind, values);
  merbit_context *context = cpu_open(NULL, 1);
  char name[NAME_MAX + 1], longest[sizeof folder + NAME_MAX + 2];
  FILE *file;
  (void)state;
  memset(name, 'n', NAME_MAX);
  name[NAME_MAX] = '\0';
  (void)snprintf(longest, sizeof longest, "%s/%s", folder, name);
  assert_int_equal(merbit_matrix_write_file(context, &view, longest), MERBIT_OK);
  file = fopen(longest, "r");
  assert_non_null(file);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(unlink(longest), 0);
  assert_int_equal(entries_of(folder), 2); /* "." and ".." */
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_call_of_a_writer_fails, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_disk_fills_up, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_directory_that_cannot_be_made, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_private_file_stays_private, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_folder_that_takes_no_file, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_interrupted_open, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_link_that_is_not_followed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_long_name, set_up, tear_down),
      cmocka_unit_test_setup_teardown(every_call_of_a_reader_fails, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
