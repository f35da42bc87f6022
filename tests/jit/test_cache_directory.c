/* The directory of the cubin cache: one that others could put files into is not used, whether
 * through its mode, its owner, its parents or a link, when it is opened or later.
 * test_cache_environment.c tests which directory is chosen. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "cache_bed.h"

static void modes(void **state) {
  static const struct {
    int mode, itself, below; /* whether it is suitable, and whether a directory in it is */
  } table[] = {{0700, 1, 1}, {0500, 1, 1},  {0755, 1, 1},  {02755, 1, 1}, {01755, 1, 1},
               {0770, 0, 0}, {0720, 0, 0},  {0702, 0, 0},  {0777, 0, 0},  {02775, 0, 0},
               {0757, 0, 0}, {01777, 0, 1}, {01770, 0, 1}, {03775, 0, 1}};
  char made[256], below[256];
  size_t i;
  (void)state;
  (void)snprintf(made, sizeof made, "%s", in_root("made"));
  (void)snprintf(below, sizeof below, "%s", in_root("made/below/it"));
  assert_true(is_on(below));
  for (i = 0; i < sizeof table / sizeof table[0]; i++) {
    assert_int_equal(chmod(made, (mode_t)table[i].mode), 0);
    assert_int_equal(is_on(made), table[i].itself);
    assert_int_equal(is_on(below), table[i].below);
  }
  print_message("%zu modes\n", i);
}

/* Nothing is made, read or removed behind a part that others control. */
static void nothing_behind_strangers(void **state) {
  (void)state;
  assert_int_equal(mkdir(in_root("open"), 0700), 0);
  assert_int_equal(chmod(in_root("open"), 0777), 0);
  assert_false(is_on(in_root("open/below")));
  assert_false(exists(in_root("open/below")));
  assert_false(is_on(in_root("open/../fine")));
  assert_false(exists(in_root("fine")));
  assert_true(is_on(in_root("fine/../also")));
}

static void links(void **state) {
  char chain[32], next[32];
  int i;
  (void)state;
  assert_true(is_on(in_root("made")));
  assert_int_equal(symlink("made", in_root("link")), 0);
  assert_true(is_on(in_root("link")));
  assert_true(is_on(in_root("link/below/further")));
  assert_true(exists(in_root("made/below/further")));
  assert_int_equal(symlink(in_root("made"), in_root("absolute")), 0);
  assert_true(is_on(in_root("absolute/below/../other/")));
  assert_int_equal(symlink("link/./below//../below", in_root("long")), 0);
  assert_true(is_on(in_root("long")));
  assert_int_equal(chmod(in_root("made"), 0777), 0);
  assert_false(is_on(in_root("link")));
  assert_false(is_on(in_root("link/below")));
  assert_false(is_on(in_root("long")));
  assert_int_equal(symlink("gone/by/now", in_root("dangling")), 0);
  assert_true(is_on(in_root("dangling/below"))); /* as after a purge of a scratch disk */
  assert_true(exists(in_root("gone/by/now/below")));
  assert_int_equal(symlink("circle", in_root("circle")), 0);
  assert_false(is_on(in_root("circle")));
  assert_int_equal(symlink("ping", in_root("pong")), 0);
  assert_int_equal(symlink("pong", in_root("ping")), 0);
  assert_false(is_on(in_root("ping/below")));
  assert_int_equal(symlink("gone", in_root("0")), 0);
  for (i = 0; i < 60; i++) { /* more links than Linux follows */
    (void)snprintf(chain, sizeof chain, "%d", i);
    (void)snprintf(next, sizeof next, "%d", i + 1);
    assert_int_equal(symlink(chain, in_root(next)), 0);
  }
  assert_true(is_on(in_root("30")));
  assert_false(is_on(in_root("50")));
}

static void not_directories(void **state) {
  (void)state;
  write_whole(in_root("file"), "x", 1);
  assert_false(is_on(in_root("file")));
  assert_false(is_on(in_root("file/below")));
  assert_false(is_on(in_root("file/..")));
  assert_int_equal(mkfifo(in_root("fifo"), 0600), 0);
  assert_false(is_on(in_root("fifo")));
  assert_int_equal(symlink("file", in_root("link")), 0);
  assert_false(is_on(in_root("link")));
  assert_false(is_on("/dev/null"));
  assert_false(is_on("/proc/merbit"));
  assert_false(is_on(""));
}

static void owned_by_another(void **state) {
  (void)state;
  if (!root_only("foreign directories")) {
    skip();
  }
  assert_true(is_on(in_root("theirs/mine")));
  assert_int_equal(chown(in_root("theirs"), NOBODY, NOBODY), 0);
  assert_false(is_on(in_root("theirs")));
  assert_false(is_on(in_root("theirs/mine")));
  assert_int_equal(chmod(in_root("theirs"), 01777), 0);
  assert_false(is_on(in_root("theirs/mine")));
}

/* In a directory that all may write, such as /tmp, another user makes a link to a directory of
 * ours, which contains a file that we were made to unpack. All files there are our own: only
 * the link reveals the attack. */
static void link_of_another(void **state) {
  merbit_context *context;
  (void)state;
  if (!root_only("foreign links")) {
    skip();
  }
  assert_int_equal(mkdir(in_root("tmp"), 0700), 0);
  assert_int_equal(chmod(in_root("tmp"), 01777), 0);
  context = open_in(in_root("unpacked"));
  assert_true(store(context, "key", "image"));
  merbit_context_destroy(context);
  assert_int_equal(symlink("../unpacked", in_root("tmp/cache")), 0);
  assert_true(is_on(in_root("tmp/cache")));
  assert_int_equal(lchown(in_root("tmp/cache"), NOBODY, NOBODY), 0);
  assert_false(is_on(in_root("tmp/cache")));
  assert_int_equal(symlink("tmp/cache", in_root("through")), 0);
  assert_false(is_on(in_root("through")));
  context = open_in(in_root("tmp/cache/below"));
  assert_string_equal(context->cache.directory, "");
  assert_non_null(strstr(context->cache.off_reason, "tmp/cache belongs to another user"));
  assert_false(exists(in_root("unpacked/below")));
  merbit_context_destroy(context);
}

static void reasons(void **state) {
  merbit_context *context;
  (void)state;
  assert_int_equal(mkdir(in_root("open"), 0700), 0);
  assert_int_equal(chmod(in_root("open"), 0777), 0);
  context = open_in(in_root("open/a/b"));
  assert_non_null(strstr(context->cache.off_reason, "/open is writable by others"));
  assert_null(strstr(context->cache.off_reason, "others:"));
  merbit_context_destroy(context);
  write_whole(in_root("file"), "x", 1);
  context = open_in(in_root("file/a"));
  assert_non_null(strstr(context->cache.off_reason, "/file is not a directory"));
  merbit_context_destroy(context);
  context = open_in("/proc/merbit/a");
  assert_string_equal(context->cache.off_reason,
                      "/proc/merbit cannot be created or examined: No such file or directory");
  merbit_context_destroy(context);
}

static void resolved_path_is_told(void **state) {
  merbit_context *context;
  (void)state;
  assert_int_equal(mkdir(in_root("real"), 0700), 0);
  assert_int_equal(symlink("real", in_root("alias")), 0);
  context = open_in(in_root("alias/../alias//x/"));
  assert_string_equal(context->cache.directory, in_root("real/x"));
  merbit_context_destroy(context);
}

/* ---- Changes while in use ---------------------------------------------------------------- */

static void expect_unused(merbit_context *context, const char *key) {
  const int64_t errors = context->cache.errors;
  assert_int_equal(load(context, key, "image"), 0);
  assert_int_equal(context->cache.errors, errors + 1);
  assert_false(store(context, key, "image"));
}

static void opened_to_others(void **state) {
  merbit_context *context = open_in(in_root("a/b"));
  (void)state;
  assert_true(store(context, "key", "image"));
  assert_int_equal(chmod(in_root("a/b"), 0777), 0);
  expect_unused(context, "key");
  assert_int_equal(files_in(in_root("a/b")), 1);
  assert_int_equal(chmod(in_root("a/b"), 0700), 0);
  assert_int_equal(load(context, "key", "image"), 1);
  assert_int_equal(chmod(in_root("a"), 0770), 0); /* they could move b away */
  expect_unused(context, "key");
  assert_int_equal(chmod(in_root("a"), 0700), 0);
  assert_int_equal(load(context, "key", "image"), 1);
  if (root_only("taken over")) {
    assert_int_equal(chown(in_root("a/b"), NOBODY, NOBODY), 0);
    expect_unused(context, "key");
  }
  merbit_context_destroy(context);
}

/* Deleted, as by a cleaner of /tmp, then made again: by us, or by another user as a link. */
static void deleted_in_use(void **state) {
  merbit_context *context = open_in(in_root("tmp/cache")), *other;
  (void)state;
  assert_int_equal(chmod(in_root("tmp"), 01777), 0);
  assert_true(store(context, "key", "image"));
  remove_tree(in_root("tmp/cache"));
  expect_unused(context, "key");
  assert_false(exists(in_root("tmp/cache")));
  mbi_cache_drop(context, "key", 3);
  write_whole(in_root("tmp/cache"), "x", 1);
  expect_unused(context, "key");
  assert_int_equal(unlink(in_root("tmp/cache")), 0);
  assert_int_equal(mkdir(in_root("tmp/cache"), 0700), 0);
  assert_int_equal(load(context, "key", "image"), 0);
  assert_true(store(context, "key", "image"));
  assert_int_equal(load(context, "key", "image"), 1);
  other = open_in(in_root("unpacked"));
  assert_true(store(other, "key", "image"));
  merbit_context_destroy(other);
  remove_tree(in_root("tmp/cache"));
  assert_int_equal(symlink("../unpacked", in_root("tmp/cache")), 0);
  assert_int_equal(load(context, "key", "image"), 1); /* a link of ours */
  if (root_only("a link of another in its place")) {
    assert_int_equal(lchown(in_root("tmp/cache"), NOBODY, NOBODY), 0);
    expect_unused(context, "key");
  }
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      BED_TEST(modes),           BED_TEST(nothing_behind_strangers), BED_TEST(links),
      BED_TEST(not_directories), BED_TEST(owned_by_another),         BED_TEST(link_of_another),
      BED_TEST(reasons),         BED_TEST(resolved_path_is_told),    BED_TEST(opened_to_others),
      BED_TEST(deleted_in_use),
  };
  const int closed = bed_open(NULL);
  return closed != 0 ? closed : bed_close(cmocka_run_group_tests(tests, NULL, NULL));
}
