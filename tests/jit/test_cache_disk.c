/* The cubin cache on a failing disk: each system call fails in turn, writes stop after any
 * byte, the process dies before any call, and file systems are full or read-only. The cache may
 * lose entries, but a hit is right, errors are counted, and leftovers are swept later. */
#include "support/internal.h"

#include "cache_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "cache_bed.h"

static int open_files(void) {
  DIR *list = opendir("/proc/self/fd");
  int count = 0;
  while (list != NULL && readdir(list) != NULL) {
    count++;
  }
  if (list != NULL) {
    (void)closedir(list);
  }
  return count;
}

/* ---- Every call -------------------------------------------------------------------------- */

#define SMALL_CAP 3000

static int noticed; /* the last run counted an error, or had no cache */

/* One run with a cache: a start, two loads of what should be there by then, and a store that
 * evicts an old entry and sweeps a temporary. Returns the number of wrong images. */
static int live(const char *directory, const char *filler) {
  merbit_context *context = open_capped(directory, SMALL_CAP);
  int wrong = 0, i;
  for (i = 0; i < 3; i++) {
    const int hit = load(context, "key", "the image");
    wrong += hit < 0 && context->cache.directory[0] != '\0';
    if (hit <= 0) {
      mbi_cache_store(context, "key", 3, "the image", 9);
    }
  }
  mbi_cache_store(context, "filler", 6, filler, strlen(filler));
  noticed = context->cache.errors > 0 || context->cache.directory[0] == '\0';
  merbit_context_destroy(context);
  return wrong;
}

/* Prepares the directory: empty; or with an old entry, a temporary file, and the key's entry,
 * which may be damaged. */
static void furnish(int scenario, const char *directory, const char *filler) {
  merbit_context *context;
  char path[300];
  remove_tree(directory);
  if (scenario == 0) {
    return;
  }
  context = open_in(directory);
  assert_true(store(context, "key", "the image"));
  assert_true(store(context, "old", filler));
  set_age(entry_path(context, "old"), 5000);
  if (scenario == 2) {
    write_whole(entry_path(context, "key"), "damaged", 7);
  }
  (void)snprintf(path, sizeof path, "%s/" MBI_TEMPORARY "0123456789abcdef", directory);
  write_whole(path, "half", 4);
  set_age(path, 4000);
  merbit_context_destroy(context);
}

/* Expects that the cache works again when the disk does. */
static void expect_recovery(const char *directory, const char *filler) {
  merbit_context *context;
  heal();
  assert_int_equal(live(directory, filler), 0);
  context = open_capped(directory, SMALL_CAP);
  assert_true(store(context, "key", "the image"));
  assert_int_equal(load(context, "key", "the image"), 1);
  assert_true(count_files(directory).bytes <= SMALL_CAP);
  assert_int_equal(context->cache.errors, 0);
  merbit_context_destroy(context);
}

/* Returns 0 if a run makes at most `at` calls. */
static int one_call_fails(int scenario, int code, int calls, int at) {
  const int files = open_files();
  char directory[256], filler[2001];
  int failed, reached, temporaries;
  (void)snprintf(directory, sizeof directory, "%s/a/b", root);
  memset(filler, 'f', 2000);
  filler[2000] = '\0';
  furnish(scenario, directory, filler);
  heal();
  disk.step = at;
  disk.calls = calls;
  disk.code = code;
  disk.armed = 1;
  assert_int_equal(live(directory, filler), 0);
  disk.armed = 0;
  reached = disk.step < 0;
  failed = disk.failed;
  assert_int_equal(open_files(), files);
  if (reached && failed == COUNTED && code != ENOENT && code != EINTR) {
    assert_true(noticed);
  }
  temporaries = count_files(directory).temporaries;
  if ((failed & KEEPS) == 0) {
    assert_true(temporaries <= (scenario > 0));
  }
  expect_recovery(directory, filler);
  return reached;
}

static void every_call_fails(void **state) {
  static const int codes[] = {EIO,    ENOSPC, EACCES, ENOENT, EROFS, EDQUOT, EPERM,
                              EMFILE, ENOMEM, ESTALE, EINVAL, ELOOP, ENXIO,  EBUSY};
  const int kinds = test_effort(4, (int)(sizeof codes / sizeof codes[0]));
  int scenario, c, sticky, runs = 0, places = 0;
  (void)state;
  for (scenario = 0; scenario < 3; scenario++) {
    for (c = 0; c < kinds; c++) {
      for (sticky = 0; sticky <= 1; sticky++) {
        int at = 0;
        while (one_call_fails(scenario, codes[c], sticky ? INT_MAX : 1, at)) {
          at++;
        }
        runs += at;
        places += c == 0 && !sticky ? at : 0;
      }
    }
  }
  assert_true(places > 100);
  print_message(
      "%d calls of the system, each failed with %d codes, once and for good: %d runs, "
      "no wrong image\n",
      places, kinds, runs);
}

/* A call interrupted by a signal without a handler: reads and writes continue. */
static void interrupted(void **state) {
  int scenario, at;
  (void)state;
  for (scenario = 0; scenario < 3; scenario++) {
    for (at = 0; one_call_fails(scenario, EINTR, 1, at); at++) {
    }
  }
}

/* ---- Full disks -------------------------------------------------------------------------- */

/* The disk is full after any number of bytes, however they are written. */
static void full_after_any_byte(void **state) {
  static const size_t portions[] = {0, 1, 7};
  merbit_context *context = open_in(root);
  const int64_t whole = HEAD + 3 + 9;
  int64_t room;
  size_t p;
  (void)state;
  for (p = 0; p < sizeof portions / sizeof portions[0]; p++) {
    for (room = 0; room <= whole; room++) {
      const int64_t errors = context->cache.errors;
      heal();
      disk.portion = portions[p];
      disk.room = room;
      assert_int_equal(store(context, "key", "the image"), room == whole);
      heal();
      assert_int_equal(context->cache.errors, errors + (room < whole));
      assert_int_equal(files_in(root), room == whole);
      assert_int_equal(load(context, "key", "the image"), room == whole);
    }
    mbi_cache_drop(context, "key", 3);
  }
  print_message("%zu lengths x %zu portions\n", (size_t)whole + 1, p);
  merbit_context_destroy(context);
}

/* An existing entry is kept while a newer one does not fit. */
static void full_keeps_the_old(void **state) {
  merbit_context *context = open_in(root);
  (void)state;
  assert_true(store(context, "key", "the image"));
  heal();
  disk.room = 20;
  assert_false(store(context, "key", "newer one"));
  heal();
  assert_int_equal(load(context, "key", "the image"), 1);
  assert_int_equal(files_in(root), 1);
  merbit_context_destroy(context);
}

static int full_disk_body(void) {
  char image[100001];
  merbit_context *context;
  int result;
  if (!mount_tmpfs("size=64k,mode=0700")) {
    return CHILD_CANNOT;
  }
  context = open_in(root);
  memset(image, 'i', sizeof image - 1);
  image[sizeof image - 1] = '\0';
  result = store(context, "key", image);
  result += 2 * (load(context, "key", image) != 0);
  result += 4 * (files_in(root) != 0);
  result += 8 * !store(context, "small", "image");
  result += 16 * (load(context, "small", "image") != 1);
  merbit_context_destroy(context);
  return result;
}

static int no_inodes_body(void) {
  merbit_context *context;
  int result;
  if (!mount_tmpfs("nr_inodes=2,mode=0700")) {
    return CHILD_CANNOT;
  }
  context = open_in(root);
  result = !store(context, "key", "image");
  result += 2 * store(context, "other", "image");
  result += 4 * (load(context, "key", "image") != 1);
  result += 8 * is_on(in_root("below"));
  merbit_context_destroy(context);
  return result;
}

static int read_only_body(void) {
  merbit_context *context;
  int result;
  if (!own_mounts() || mount(root, root, NULL, MS_BIND, NULL) != 0 ||
      mount(NULL, root, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) != 0) {
    return CHILD_CANNOT;
  }
  context = open_in(root);
  result = context->cache.directory[0] == '\0';
  result += 2 * (load(context, "key", "image") != 1);
  result += 4 * store(context, "other", "image");
  result += 8 * (load(context, "other", "image") != 0);
  result += 16 * (load(context, "damaged", "image") != 0);
  result += 32 * is_on(in_root("below"));
  merbit_context_destroy(context);
  return result;
}

static void expect_or_skip(int result, const char *what) {
  if (result == CHILD_CANNOT) {
    print_message("%s: nothing can be mounted here\n", what);
    skip();
  }
  assert_int_equal(result, 0);
}

static void full_disk(void **state) {
  (void)state;
  expect_or_skip(in_child(full_disk_body, 0), "a disk of 64 KiB");
}

static void no_inodes(void **state) {
  (void)state;
  expect_or_skip(in_child(no_inodes_body, 0), "a disk of two files");
}

static void read_only_disk(void **state) {
  merbit_context *context = open_in(root);
  (void)state;
  assert_true(store(context, "key", "image"));
  write_whole(entry_path(context, "damaged"), "x", 1);
  merbit_context_destroy(context);
  expect_or_skip(in_child(read_only_body, 0), "a read-only disk");
}

static int read_only_directory_body(void) {
  merbit_context *context = open_in(root);
  int result = context->cache.directory[0] == '\0';
  result += 2 * (load(context, "key", "image") != 1);
  result += 4 * store(context, "other", "image");
  result += 8 * (load(context, "other", "image") != 0);
  merbit_context_destroy(context);
  return result;
}

/* The owner, an ordinary user, cannot write, but entries are read. */
static void read_only_directory(void **state) {
  merbit_context *context = open_in(root);
  (void)state;
  assert_true(store(context, "key", "image"));
  assert_int_equal(chmod(root, 0500), 0);
  if (geteuid() == 0) {
    assert_int_equal(chown(entry_path(context, "key"), NOBODY, NOBODY), 0);
    assert_int_equal(chown(root, NOBODY, NOBODY), 0);
    assert_int_equal(chmod(base, 0755), 0);
  }
  merbit_context_destroy(context);
  assert_int_equal(in_child(read_only_directory_body, 1), 0);
}

/* Beyond RLIMIT_FSIZE the kernel would send SIGXFSZ. */
static int small_files_body(void) {
  struct rlimit limit;
  merbit_context *context = open_in(root);
  int result;
  limit.rlim_cur = limit.rlim_max = 64;
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
    return CHILD_CANNOT;
  }
  result = store(context, "key", "an image that does not fit");
  result += 2 * (load(context, "key", "") != 0);
  result += 4 * (files_in(root) != 0);
  merbit_context_destroy(context);
  return result;
}

static void file_size_limit(void **state) {
  (void)state;
  assert_int_equal(in_child(small_files_body, 0), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      BED_TEST(every_call_fails),    BED_TEST(interrupted),
      BED_TEST(full_after_any_byte), BED_TEST(full_keeps_the_old),
      BED_TEST(full_disk),           BED_TEST(no_inodes),
      BED_TEST(read_only_disk),      BED_TEST(read_only_directory),
      BED_TEST(file_size_limit),
  };
  int closed;
  heal();
  closed = bed_open("/dev/shm"); /* in memory, for thousands of files */
  return closed != 0 ? closed : bed_close(cmocka_run_group_tests(tests, NULL, NULL));
}
