/* Programs through the cubin cache, with a fake compiler and driver: the image is made from
 * everything that the compiler sees, so that a wrong entry is a wrong image. Whatever happens
 * to an entry, the program is compiled and stored again, and right. */
#include "support/internal.h"

#include "cache_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "cache_bed.h"
#include "cache_paper.h"

/* ---- Key --------------------------------------------------------------------------------- */

/* A change of any field is a miss; then both programs are stored separately. */
static void each_field_changed(void **state) {
  merbit_context *context = open_paper(root);
  char path[MBI_PATH_SIZE];
  int i;
  (void)state;
  compile_all();
  for (i = 0; i < VARIANTS; i++) {
    assert_int_equal(make(context, i), 0);
    assert_int_equal(make(context, i), 1);
    assert_int_equal(make(context, 0), 1);
    assert_int_equal(files_in(root), i + 1);
    path_of(context, &variants[i], path);
    assert_true(exists(path));
  }
  print_message("%d programs that differ in one thing: %d misses\n", VARIANTS,
                (int)context->cache.misses);
  close_paper(context);
}

/* The entry of each program under the name of every other. */
static void each_pair_swapped(void **state) {
  merbit_context *context = open_paper(root);
  char one[MBI_PATH_SIZE], other[MBI_PATH_SIZE];
  int i, j, pairs = 0;
  (void)state;
  compile_all();
  for (i = 0; i < VARIANTS; i++) {
    for (j = 0; j < i; j++) {
      assert_in_range(make(context, i), 0, 1);
      assert_in_range(make(context, j), 0, 1);
      path_of(context, &variants[i], one);
      path_of(context, &variants[j], other);
      assert_int_equal(rename(one, in_root("spare")), 0);
      assert_int_equal(rename(other, one), 0);
      assert_int_equal(rename(in_root("spare"), other), 0);
      assert_int_equal(make(context, i), 0);
      assert_int_equal(make(context, j), 0);
      assert_int_equal(make(context, i), 1);
      assert_int_equal(make(context, j), 1);
      pairs++;
    }
  }
  print_message("%d pairs\n", pairs);
  close_paper(context);
}

/* Cuts a field, "length:text\n", from a key. */
static const char *next_field(const char *key, const char **text, size_t *length) {
  char *colon;
  *length = (size_t)strtoul(key, &colon, 10);
  assert_int_equal(*colon, ':');
  *text = colon + 1;
  assert_int_equal((*text)[*length], '\n');
  return *text + *length + 1;
}

/* The key has all fields, including those that only another library would change. An entry
 * sealed by another library with a different byte in a field is not ours under any name. */
static void fields_of_the_key(void **state) {
  merbit_context *context = open_paper(root);
  const char *expected[] = {NULL,
                            MERBIT_VERSION_STRING,
                            MBI_KERNEL_HASH,
                            "spmv/gpu/merbit/merbit.cu",
                            "#define MBK_SIGMA 7\n",
                            "13000",
                            "--gpu-architecture=sm_90",
                            "--std=c++14",
                            "--no-source-include"};
  const int count = (int)(sizeof expected / sizeof expected[0]);
  char format[16], path[MBI_PATH_SIZE], theirs[MBI_PATH_SIZE];
  size_t size, length;
  char *key;
  const char *at, *text;
  int i, foreign = 0;
  (void)state;
  compile_all();
  (void)snprintf(format, sizeof format, "%d", MBI_CACHE_FORMAT);
  expected[0] = format;
  assert_int_equal(strlen(MBI_KERNEL_HASH), 64);
  key = key_of(context, &variants[0], &size);
  mbi_cache_path(context, key, size, path, sizeof path);
  at = key;
  for (i = 0; i < count; i++) {
    size_t byte;
    at = next_field(at, &text, &length);
    assert_int_equal(length, strlen(expected[i]));
    assert_memory_equal(text, expected[i], length);
    for (byte = 0; byte < length; byte++) {
      char *changed = key + (text - key) + byte;
      *changed = (char)(*changed ^ 1);
      assert_int_equal(make(context, 0), foreign > 0); /* theirs is no hit for us */
      mbi_cache_store(context, key, size, right[1], IMAGE);
      mbi_cache_path(context, key, size, theirs, sizeof theirs);
      assert_string_not_equal(theirs, path);
      assert_int_equal(rename(theirs, path), 0);
      *changed = (char)(*changed ^ 1);
      assert_int_equal(make(context, 0), 0);
      foreign++;
    }
  }
  assert_int_equal(at - key, size);
  print_message("%d fields, %d keys of another library: none taken\n", count, foreign);
  mbi_release(context, key);
  close_paper(context);
}

/* ---- Damage ------------------------------------------------------------------------------ */

/* Expects that, with this data in place of the entry, the program is compiled again and the
 * entry restored. */
static void expect_recompiled(merbit_context *context, const char *path, const char *data,
                              size_t size, const char *whole, size_t whole_size) {
  const int compiled = paper.compiled;
  char again[1024];
  write_whole(path, data, size);
  assert_int_equal(make(context, 0), 0);
  assert_int_equal(paper.compiled, compiled + 1);
  assert_int_equal(read_whole(path, again, sizeof again), whole_size);
  assert_memory_equal(again, whole, whole_size);
}

static void damaged_entries(void **state) {
  merbit_context *context = open_paper(root);
  const int bits = test_effort(1, 8);
  uint64_t seed = test_rotating_seed();
  char path[MBI_PATH_SIZE], whole[1024], data[1024];
  size_t size, i;
  int bit, flips = 0, lengths = 0;
  (void)state;
  compile_all();
  assert_int_equal(make(context, 0), 0);
  path_of(context, &variants[0], path);
  size = read_whole(path, whole, sizeof whole);
  assert_in_range(size, HEAD + IMAGE + 150, sizeof whole - 17);
  memset(data, 0, sizeof data);
  memcpy(data, whole, size);
  for (i = 0; i < size; i++) {
    for (bit = 0; bit < bits; bit++) {
      const int which = bits == 8 ? bit : (int)(test_random(&seed) % 8);
      data[i] = (char)(whole[i] ^ (1 << which));
      expect_recompiled(context, path, data, size, whole, size);
      flips++;
    }
    data[i] = whole[i];
  }
  for (i = 0; i < size + 16; i++) {
    if (i != size) {
      expect_recompiled(context, path, data, i, whole, size);
      lengths++;
    }
  }
  assert_int_equal(make(context, 0), 1);
  assert_int_equal(context->cache.errors, flips + lengths);
  print_message("an entry of %zu bytes: %d flips, %d lengths, each compiled anew and right\n",
                size, flips, lengths);
  close_paper(context);
}

/* Without a place for entries, or with one occupied by something else. */
static void no_place(void **state) {
  merbit_context *context = open_paper(root);
  char path[MBI_PATH_SIZE];
  (void)state;
  compile_all();
  path_of(context, &variants[0], path);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_int_equal(make(context, 0), 0);
  assert_int_equal(make(context, 0), 1);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkdir(path, 0700), 0);
  assert_int_equal(make(context, 0), 0);
  assert_int_equal(make(context, 0), 0);
  assert_int_equal(rmdir(path), 0);
  remove_tree(root);
  assert_int_equal(make(context, 0), 0);
  assert_int_equal(make(context, 0), 0);
  assert_true(context->cache.errors > 4);
  assert_int_equal(mkdir(root, 0700), 0);
  assert_int_equal(make(context, 0), 0);
  assert_int_equal(make(context, 0), 1);
  close_paper(context);
}

/* ---- Many processes ---------------------------------------------------------------------- */

#define COMPANY 64

static int company_body(int index, int ready, int go) {
  char byte = 0;
  merbit_context *context;
  int i, wrong = 0;
  wrong += write(ready, &byte, 1) != 1;
  wrong += read(go, &byte, 1) != 0; /* its end is the signal */
  context = open_paper(in_root("common"));
  for (i = 0; i < VARIANTS; i++) {
    wrong += make(context, (index + i) % VARIANTS) < 0;
  }
  wrong += context->cache.errors != 0;
  close_paper(context);
  return wrong != 0;
}

static void many_processes(void **state) {
  pid_t children[COMPANY];
  int ready[2], go[2], i, failed = 0;
  merbit_context *context;
  (void)state;
  compile_all();
  assert_true(pipe2(ready, O_CLOEXEC) == 0 && pipe2(go, O_CLOEXEC) == 0);
  for (i = 0; i < COMPANY; i++) {
    children[i] = fork();
    if (children[i] == 0) {
      (void)close(go[1]);
      _exit(company_body(i, ready[1], go[0]));
    }
    assert_true(children[i] > 0);
  }
  for (i = 0; i < COMPANY; i++) {
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
  }
  (void)close(go[1]);
  for (i = 0; i < COMPANY; i++) {
    failed += wait_for(children[i]) != 0;
  }
  assert_int_equal(failed, 0);
  (void)close(go[0]);
  (void)close(ready[0]);
  (void)close(ready[1]);
  assert_int_equal(files_in(in_root("common")), VARIANTS);
  context = open_paper(in_root("common"));
  for (i = 0; i < VARIANTS; i++) {
    assert_int_equal(make(context, i), 1);
  }
  close_paper(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      BED_TEST(each_field_changed), BED_TEST(each_pair_swapped), BED_TEST(fields_of_the_key),
      BED_TEST(damaged_entries),    BED_TEST(no_place),          BED_TEST(many_processes),
  };
  int closed;
  heal();
  closed = bed_open(NULL);
  return closed != 0 ? closed : bed_close(cmocka_run_group_tests(tests, NULL, NULL));
}
