/* Which directory the cubin cache chooses, and what it creates there, in every environment:
 * variables, the current directory, the umask, and raised privileges. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sys/auxv.h>

#include "cache_bed.h"

static void expect_directory(const char *expected) {
  merbit_context *context = open_in(NULL);
  assert_string_equal(context->cache.directory, expected);
  merbit_context_destroy(context);
}

static void environment(void **state) {
  const char *home = getenv("HOME"), *relative = strrchr(base, '/') + 1;
  char kept[512], deep[1200];
  (void)state;
  (void)snprintf(kept, sizeof kept, "%s", home != NULL ? home : "");
  setenv("MERBIT_CACHE_DIR", in_root("m"), 1);
  setenv("XDG_CACHE_HOME", in_root("x"), 1);
  setenv("HOME", in_root("h"), 1);
  expect_directory(in_root("m"));
  unsetenv("MERBIT_CACHE_DIR");
  expect_directory(in_root("x/merbit"));
  setenv("XDG_CACHE_HOME", relative, 1);
  expect_directory(in_root("h/.cache/merbit"));
  setenv("XDG_CACHE_HOME", "", 1);
  expect_directory(in_root("h/.cache/merbit"));
  unsetenv("XDG_CACHE_HOME");
  expect_directory(in_root("h/.cache/merbit"));
  setenv("HOME", relative, 1);
  expect_directory("");
  setenv("HOME", "", 1);
  expect_directory("");
  unsetenv("HOME");
  expect_directory("");
  assert_false(exists(relative));
  memset(deep, 'd', sizeof deep);
  deep[0] = '/';
  deep[sizeof deep - 1] = '\0';
  setenv("XDG_CACHE_HOME", deep, 1);
  expect_directory("");
  assert_false(is_on(deep));
  deep[300] = '\0';
  assert_false(is_on(deep)); /* a part is too long for the file system */
  if (kept[0] != '\0') {
    setenv("HOME", kept, 1);
  }
}

/* MERBIT_CACHE_DIR and the descriptor may be relative, but the current directory counts towards
 * the limit. */
static int relative_body(void) {
  merbit_context *context;
  int result;
  if (chdir(root) != 0) {
    return CHILD_CANNOT;
  }
  context = open_in("here/below");
  result = strcmp(context->cache.directory, in_root("here/below")) != 0;
  merbit_context_destroy(context);
  (void)chmod(root, 0777);
  result += 2 * is_on("here/below");
  (void)chmod(root, 0700);
  result += 4 * !is_on("here/below") + 8 * !is_on(".");
  if (mkdir("gone", 0700) != 0 || chdir("gone") != 0 || rmdir("../gone") != 0) {
    return CHILD_CANNOT;
  }
  return result + 16 * is_on("below"); /* there is no current directory */
}

static void relative_paths(void **state) {
  (void)state;
  assert_int_equal(in_child(relative_body, 0), 0);
}

static void long_but_legal(void **state) {
  char path[700];
  size_t length;
  (void)state;
  (void)snprintf(path, sizeof path, "%s", root);
  for (length = strlen(path); length < 600; length = strlen(path)) {
    (void)snprintf(path + length, sizeof path - length, "/%0100d", 7);
  }
  assert_false(is_on(path)); /* exceeds the 511 bytes of merbit_context_info */
  path[400] = '\0';
  assert_true(is_on(path));
}

static int umask_body(void) {
  static const mode_t masks[] = {0, 022, 077, 0377, 0777};
  int result = 0;
  size_t i;
  for (i = 0; i < sizeof masks / sizeof masks[0]; i++) {
    char name[32], below[32];
    merbit_context *context;
    (void)snprintf(name, sizeof name, "p%zu", i);
    (void)snprintf(below, sizeof below, "p%zu/q", i);
    (void)umask(masks[i]);
    context = open_in(in_root(below));
    result += !store(context, "key", "image") + (load(context, "key", "image") != 1);
    result += mode_of(in_root(name)) != 0700;
    result += mode_of(in_root(below)) != 0700;
    result += mode_of(entry_path(context, "key")) != 0600;
    merbit_context_destroy(context);
  }
  return result;
}

/* Tests umasks; as root also as an ordinary user, who needs the rights that a umask removes. */
static void umasks(void **state) {
  (void)state;
  assert_int_equal(in_child(umask_body, 0), 0);
  if (root_only("umask of another user")) {
    assert_int_equal(mkdir(in_root("nobody"), 0700), 0);
    assert_int_equal(chown(in_root("nobody"), NOBODY, NOBODY), 0);
    assert_int_equal(chmod(root, 0755), 0);
    assert_int_equal(chmod(base, 0755), 0);
    strcat(root, "/nobody");
    assert_int_equal(in_child(umask_body, 1), 0);
    *strrchr(root, '/') = '\0';
  }
}

/* ---- Raised privileges ------------------------------------------------------------------- */

#define ANOTHER 65533

/* In the program with raised privileges the environment is ignored, a descriptor is not. */
static int secure_main(const char *directory) {
  int result = getauxval(AT_SECURE) == 0 || geteuid() == getuid() ? CHILD_CANNOT : 0;
  (void)snprintf(base, sizeof base, "%s", directory);
  if (result == 0) {
    merbit_context *context = open_in(NULL);
    result = context->cache.directory[0] != '\0' || exists(directory);
    merbit_context_destroy(context);
    result += 2 * !is_on(directory);
  }
  return result;
}

static int secure_body(void) {
  char program[256], directory[256];
  (void)snprintf(program, sizeof program, "%s", in_root("program"));
  (void)snprintf(directory, sizeof directory, "%s", in_root("tmp/cache"));
  setenv("MERBIT_CACHE_DIR", directory, 1);
  setenv("XDG_CACHE_HOME", directory, 1);
  setenv("HOME", directory, 1);
  (void)execl(program, program, "--secure", directory, (char *)NULL);
  return CHILD_CANNOT;
}

static int copy_program(const char *target) {
  char block[65536];
  FILE *from = fopen("/proc/self/exe", "rb"), *to = fopen(target, "wb");
  size_t size;
  assert_true(from != NULL && to != NULL);
  while ((size = fread(block, 1, sizeof block, from)) > 0) {
    assert_int_equal(fwrite(block, 1, size, to), size);
  }
  (void)fclose(from);
  (void)fclose(to);
  return chown(target, ANOTHER, ANOTHER) == 0 && chmod(target, 04755) == 0;
}

/* A set-user-id program must not be led to a directory by its caller. */
static void set_user_id(void **state) {
  int result;
  (void)state;
  if (!root_only("set-user-id programs")) {
    skip();
  }
  assert_int_equal(mkdir(in_root("tmp"), 0700), 0);
  assert_int_equal(chmod(in_root("tmp"), 01777), 0);
  assert_int_equal(chmod(root, 0755), 0);
  assert_int_equal(chmod(base, 0755), 0);
  assert_true(copy_program(in_root("program")));
  result = in_child(secure_body, 1);
  if (result == CHILD_CANNOT) {
    print_message("no set-user-id program runs from here\n");
    skip();
  }
  assert_int_equal(result, 0);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      BED_TEST(environment), BED_TEST(relative_paths), BED_TEST(long_but_legal),
      BED_TEST(umasks),      BED_TEST(set_user_id),
  };
  int closed;
  if (argc == 3 && strcmp(argv[1], "--secure") == 0) {
    _exit(secure_main(argv[2])); /* a leak checker has no rights here */
  }
  closed = bed_open(NULL);
  return closed != 0 ? closed : bed_close(cmocka_run_group_tests(tests, NULL, NULL));
}
