/* Functions of core/files.c and core/os/posix_*.c on paths, links and limits that the cache
 * itself seldom meets. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sys/wait.h>
#include "support/cpu.h"

static char folder[64];

static int set_up(void **state) {
  (void)state;
  (void)snprintf(folder, sizeof folder, "/tmp/merbit-files-XXXXXX");
  return mkdtemp(folder) != NULL ? 0 : -1;
}

static int tear_down(void **state) {
  char command[96];
  (void)state;
  (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

static const char *in_folder(const char *name) {
  static char path[MBI_PATH_SIZE];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void links_in_a_path(void **state) {
  char path[MBI_PATH_SIZE], target[1500];
  size_t end;
  (void)state;
  end = (size_t)snprintf(path, sizeof path, "%s", in_folder("absent"));
  assert_int_equal(mbi_link_replace(path, sizeof path, end), ENOENT);
  assert_int_equal(symlink("there", in_folder("relative")), 0);
  end = (size_t)snprintf(path, sizeof path, "%s", in_folder("relative"));
  (void)strcat(path, "/rest");
  assert_int_equal(mbi_link_replace(path, sizeof path, end), 0);
  assert_string_equal(path, in_folder("there/rest"));
  assert_int_equal(symlink("/else", in_folder("absolute")), 0);
  end = (size_t)snprintf(path, sizeof path, "%s", in_folder("absolute"));
  (void)strcat(path, "/rest");
  assert_int_equal(mbi_link_replace(path, sizeof path, end), 0);
  assert_string_equal(path, "/else/rest");
  memset(target, 'x', sizeof target);
  target[sizeof target - 1] = '\0';
  assert_int_equal(symlink(target, in_folder("long")), 0);
  end = (size_t)snprintf(path, sizeof path, "%s", in_folder("long"));
  assert_int_equal(mbi_link_replace(path, sizeof path, end), ENAMETOOLONG);
  target[MBI_PATH_SIZE - 20] = '\0'; /* fits alone, but not with the link */
  assert_int_equal(symlink(target, in_folder("longer")), 0);
  end = (size_t)snprintf(path, sizeof path, "%s", in_folder("longer"));
  assert_int_equal(mbi_link_replace(path, sizeof path, end), ENAMETOOLONG);
}

static void paths_without_room(void **state) {
  char path[MBI_PATH_SIZE], longest[MBI_PATH_SIZE];
  mbi_piece piece;
  int error = 0, file = -1;
  (void)state;
  (void)snprintf(path, sizeof path, "not/absolute");
  assert_string_equal(mbi_directory_distrust(path, 0, &error), "cannot be created or examined");
  assert_int_equal(error, EINVAL);
  assert_int_equal(mbi_path_absolute("/a/path", path, 7), ENAMETOOLONG);
  assert_int_equal(mbi_path_absolute("/a/path", path, 8), 0);
  assert_string_equal(path, "/a/path");
  assert_int_equal(mbi_path_absolute("a", path, 2), ENAMETOOLONG);
  assert_int_equal(mbi_temporary_create(folder, path, strlen(folder) + 5, &file), ENAMETOOLONG);
  assert_int_equal(file, -1);
  memset(longest, 'n', sizeof longest);
  longest[sizeof longest - 1] = '\0';
  piece.data = "text";
  piece.size = 4;
  assert_int_equal(mbi_private_write(folder, longest, &piece, 1), ENAMETOOLONG);
}

/* Beyond the limit the system would send a signal: nothing is written, or even begun. */
static void limits_on_files(void **state) {
  struct rlimit before, limit;
  mbi_piece piece;
  (void)state;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  limit = before;
  limit.rlim_cur = (rlim_t)1 << 30;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  piece.data = "text";
  piece.size = ((size_t)1 << 30) + 1; /* never read */
  assert_int_equal(mbi_private_write(folder, "name", &piece, 1), EFBIG);
  assert_int_equal(access(in_folder("name"), F_OK), -1);
  piece.size = 4;
  assert_int_equal(mbi_private_write(folder, "name", &piece, 1), 0);
  assert_int_equal(access(in_folder("name"), F_OK), 0);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

static int take(void *user, const char *path) {
  int *left = (int *)user;
  assert_non_null(strstr(path, ".take"));
  return --*left == 0 ? 7 : 0;
}

static void files_by_pattern(void **state) {
  mbi_piece none;
  int left = 2;
  (void)state;
  none.data = "";
  none.size = 0;
  assert_int_equal(mbi_private_write(folder, "a.take", &none, 1), 0);
  assert_int_equal(mbi_private_write(folder, "b.take", &none, 1), 0);
  assert_int_equal(mbi_private_write(folder, "c.take", &none, 1), 0);
  assert_int_equal(mbi_files_matching(in_folder("*.take"), take, &left), 7);
  assert_int_equal(left, 0); /* not asked about the third */
  left = 9;
  assert_int_equal(mbi_files_matching(in_folder("*.take"), take, &left), 0);
  assert_int_equal(left, 6);
  assert_int_equal(mbi_files_matching(in_folder("*.none"), take, &left), 0);
}

/* A forked child has the context but none of its workers: it computes alone, and destroys the
 * context. */
static void a_child_without_workers(void **state) {
  enum { ROWS = 40000 };
  int32_t *row_ptr = (int32_t *)test_allocate(ROWS + 1, 4),
          *col_ind = (int32_t *)test_allocate(ROWS, 4);
  double *y = (double *)test_allocate(ROWS, 8), x = 3;
  merbit_context *context = cpu_open(NULL, 4);
  const merbit_view view = merbit_csr(ROWS, 1, ROWS, row_ptr, col_ind, NULL);
  merbit_plan *plan;
  int i, status;
  pid_t child;
  (void)state;
  for (i = 0; i <= ROWS; i++) {
    row_ptr[i] = i;
  }
  assert_int_equal(merbit_plan_create(context, &view, NULL, &plan), MERBIT_OK);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, &x, NULL, y, NULL), MERBIT_OK);
  assert_true(context->pool.count > 0);
  child = fork();
  if (child == 0) {
    int wrong = 0;
    (void)alarm(60); /* ends a hang */
    memset(y, 0, (size_t)ROWS * 8);
    wrong += merbit_spmv(plan, NULL, NULL, &x, NULL, y, NULL) != MERBIT_OK;
    for (i = 0; i < ROWS; i++) {
      wrong += y[i] != 3;
    }
    merbit_plan_destroy(plan);
    merbit_context_destroy(context);
    _exit(wrong != 0);
  }
  assert_true(child > 0 && waitpid(child, &status, 0) == child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  assert_int_equal(merbit_spmv(plan, NULL, NULL, &x, NULL, y, NULL), MERBIT_OK);
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
  free(row_ptr);
  free(col_ind);
  free(y);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(links_in_a_path, set_up, tear_down),
      cmocka_unit_test_setup_teardown(paths_without_room, set_up, tear_down),
      cmocka_unit_test_setup_teardown(limits_on_files, set_up, tear_down),
      cmocka_unit_test_setup_teardown(files_by_pattern, set_up, tear_down),
      cmocka_unit_test(a_child_without_workers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
