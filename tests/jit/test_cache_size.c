/* The size limit of the cubin cache, which removes the oldest entries first, also with many
 * writers and wrong clocks; and the sweeping of what dead writers left. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "cache_bed.h"

#define IMAGE 1000
#define ENTRY (IMAGE + HEAD + 5) /* with a key of five bytes */

static const char *image_of_size(size_t size) {
  static char image[8192];
  assert_true(size < sizeof image);
  memset(image, 'i', size);
  image[size] = '\0';
  return image;
}

static const char *key_of(int i) {
  static char keys[8][16];
  static int next;
  char *key = keys[next++ % 8];
  (void)snprintf(key, sizeof keys[0], "k%04d", i);
  return key;
}

static void store_aged(merbit_context *context, int i, time_t age) {
  assert_true(store(context, key_of(i), image_of_size(IMAGE)));
  set_age(entry_path(context, key_of(i)), age);
}

static int has(merbit_context *context, int i) {
  return exists(entry_path(context, key_of(i)));
}

static void oldest_go_first(void **state) {
  merbit_context *context = open_in(root);
  int i;
  (void)state;
  for (i = 0; i < 10; i++) {
    store_aged(context, i, 1000 - i);
  }
  write_whole(in_root("not ours.txt"), image_of_size(IMAGE), IMAGE);
  assert_int_equal(load(context, key_of(0), image_of_size(IMAGE)), 1); /* used last */
  context->cache.max_bytes = 5 * ENTRY;
  assert_true(store(context, key_of(10), image_of_size(IMAGE)));
  assert_int_equal(files_in(root), 5 + 1);
  for (i = 0; i <= 10; i++) {
    assert_int_equal(has(context, i), i == 0 || i >= 7);
  }
  assert_true(exists(in_root("not ours.txt")));
  assert_int_equal(load(context, key_of(10), image_of_size(IMAGE)), 1);
  merbit_context_destroy(context);
}

/* Entries of exactly the limit, one byte more, and none: at the edge of every comparison. */
static void edges_of_the_cap(void **state) {
  merbit_context *context = open_capped(root, 3 * ENTRY);
  int i;
  (void)state;
  for (i = 0; i < 3; i++) {
    store_aged(context, i, 100 - i);
  }
  assert_int_equal(files_in(root), 3); /* fits exactly */
  context->cache.max_bytes = 3 * ENTRY - 1;
  assert_true(store(context, key_of(2), image_of_size(IMAGE)));
  assert_int_equal(files_in(root), 2);
  assert_false(has(context, 0));
  context->cache.max_bytes = ENTRY;
  assert_true(store(context, key_of(7), image_of_size(IMAGE)));
  assert_int_equal(files_in(root), 1);
  assert_true(has(context, 7));
  context->cache.max_bytes = ENTRY - 1;
  assert_true(store(context, key_of(8), image_of_size(IMAGE))); /* too large: not stored */
  assert_false(has(context, 8));
  assert_true(has(context, 7));
  merbit_context_destroy(context);
}

/* More entries than the first list of files holds. */
static void many_entries(void **state) {
  merbit_context *context = open_in(root);
  char path[256];
  int i;
  (void)state;
  for (i = 0; i < 600; i++) {
    (void)snprintf(path, sizeof path, "%s/%032d.merbit", root, i);
    write_whole(path, "0123456789", 10);
    set_age(path, 5000 - i);
  }
  context->cache.max_bytes = 1000;
  assert_true(store(context, "key", "image"));
  assert_int_equal(files_in(root), (1000 - (HEAD + 8)) / 10 + 1);
  (void)snprintf(path, sizeof path, "%s/%032d.merbit", root, 599);
  assert_true(exists(path));
  assert_int_equal(context->cache.errors, 0);
  merbit_context_destroy(context);
}

/* Random ages, sizes and limits against a model. */
static void against_a_model(void **state) {
  const int rounds = test_effort(20, 400);
  uint64_t seed = test_rotating_seed();
  int round;
  (void)state;
  for (round = 0; round < rounds; round++) {
    merbit_context *context = open_in(in_root("model"));
    const int count = 2 + (int)(test_random(&seed) % 30);
    int64_t total = 0, sizes[32], cap;
    int i, first = 0;
    for (i = 0; i < count; i++) { /* in order of age: the first is the oldest */
      const size_t size = 1 + (size_t)(test_random(&seed) % 3000);
      assert_true(store(context, key_of(i), image_of_size(size)));
      if (i < count - 1) {
        set_age(entry_path(context, key_of(i)), (count - i) * 10);
      }
      sizes[i] = (int64_t)size + HEAD + 5;
      total += sizes[i];
    }
    cap = sizes[count - 1] + (int64_t)(test_random(&seed) % (uint64_t)total);
    context->cache.max_bytes = cap;
    assert_true(store(context, key_of(count - 1),
                      image_of_size((size_t)(sizes[count - 1] - HEAD - 5))));
    while (total > cap) {
      total -= sizes[first++];
    }
    for (i = 0; i < count; i++) {
      assert_int_equal(has(context, i), i >= first);
    }
    merbit_context_destroy(context);
    remove_tree(in_root("model"));
  }
  print_message("%d directories\n", rounds);
}

/* ---- Clocks ------------------------------------------------------------------------------ */

/* Times in the future, from a clock that was set back: if they counted as the youngest, new
 * entries would be removed at once until the clock has caught up. */
static void future_times(void **state) {
  merbit_context *context = open_in(root);
  int i;
  (void)state;
  for (i = 0; i < 6; i++) {
    store_aged(context, i, i < 3 ? -1000000 * (i + 1) : 1000 - i);
  }
  context->cache.max_bytes = 4 * ENTRY;
  for (i = 6; i < 9; i++) {
    assert_true(store(context, key_of(i), image_of_size(IMAGE)));
    assert_int_equal(load(context, key_of(i), image_of_size(IMAGE)), 1);
  }
  for (i = 0; i < 9; i++) {
    assert_int_equal(has(context, i), i >= 5);
  }
  assert_int_equal(load(context, key_of(5), image_of_size(IMAGE)), 1);
  merbit_context_destroy(context);
}

/* Clocks of two hosts on one disk differ slightly: that is no error. */
static void a_little_ahead(void **state) {
  merbit_context *context = open_in(root);
  (void)state;
  store_aged(context, 0, 100);
  store_aged(context, 1, -60);
  store_aged(context, 2, 200);
  context->cache.max_bytes = 3 * ENTRY;
  assert_true(store(context, key_of(3), image_of_size(IMAGE)));
  assert_true(has(context, 0) && has(context, 1) && !has(context, 2) && has(context, 3));
  merbit_context_destroy(context);
}

/* A hit on an entry from the future corrects its time. */
static void used_in_the_future(void **state) {
  merbit_context *context = open_in(root);
  struct stat facts;
  struct timespec now;
  (void)state;
  store_aged(context, 0, -1000000);
  assert_int_equal(load(context, key_of(0), image_of_size(IMAGE)), 1);
  assert_int_equal(stat(entry_path(context, key_of(0)), &facts), 0);
  (void)clock_gettime(CLOCK_REALTIME, &now);
  assert_true(facts.st_mtim.tv_sec <= now.tv_sec);
  store_aged(context, 1, 1000);
  set_age(entry_path(context, key_of(1)), 1700000000); /* the epoch or before */
  context->cache.max_bytes = 2 * ENTRY;
  assert_true(store(context, key_of(2), image_of_size(IMAGE)));
  assert_true(has(context, 0) && !has(context, 1) && has(context, 2));
  merbit_context_destroy(context);
}

/* ---- Other files ------------------------------------------------------------------------- */

/* Sparse files whose sizes add up to more than 64 bits (if a tmpfs can be mounted): all are
 * removed. */
static void sparse_giants(void **state) {
  const int mounted = mount_tmpfs("mode=0700");
  merbit_context *context = open_in(root);
  off_t size = (off_t)INT64_MAX;
  int i;
  (void)state;
  for (i = 0; i < 4; i++) {
    write_whole(entry_path(context, key_of(i)), "x", 1);
    while (truncate(entry_path(context, key_of(i)), size) != 0 && size > 1 << 20) {
      size /= 2; /* to the largest file that this disk allows */
    }
    set_age(entry_path(context, key_of(i)), 100 - i);
  }
  store_aged(context, 4, 1000);
  context->cache.max_bytes = 3 * ENTRY;
  assert_true(store(context, key_of(5), image_of_size(IMAGE)));
  print_message("files of %.3g bytes\n", (double)size);
  for (i = 0; i < 4; i++) {
    assert_false(has(context, i));
  }
  assert_true(has(context, 5));
  merbit_context_destroy(context);
  assert_true(!mounted || umount2(root, MNT_DETACH) == 0);
}

/* Only regular files with our names count, and only they are removed. */
static void strangers_stay(void **state) {
  merbit_context *context = open_in(root);
  char path[256];
  (void)state;
  (void)snprintf(path, sizeof path, "%s/%080d.merbit", root, 1);
  write_whole(path, image_of_size(IMAGE), IMAGE);
  assert_int_equal(mkdir(in_root("directory.merbit"), 0700), 0);
  assert_int_equal(mkdir(in_root(".merbit-directory"), 0700), 0);
  assert_int_equal(symlink("nowhere", in_root("link.merbit")), 0);
  assert_int_equal(mkfifo(in_root("fifo.merbit"), 0600), 0);
  write_whole(in_root(".merbit"), image_of_size(IMAGE), IMAGE);
  write_whole(in_root("a.merbit.bak"), image_of_size(IMAGE), IMAGE);
  context->cache.max_bytes = ENTRY;
  assert_true(store(context, key_of(0), image_of_size(IMAGE)));
  assert_true(store(context, key_of(1), image_of_size(IMAGE)));
  assert_true(!has(context, 0) && has(context, 1));
  assert_int_equal(files_in(root), 7 + 1);
  merbit_context_destroy(context);
}

static void temporaries(void **state) {
  static const struct {
    time_t age;
    int stays;
  } table[] = {{0, 1}, {3500, 1}, {3700, 0}, {1000000, 0}, {-3500, 1}, {-3700, 0}};
  merbit_context *context = open_in(root);
  const char *name = in_root(".merbit-0123456789abcdef");
  size_t i;
  (void)state;
  write_whole(in_root(".other"), "half", 4);
  set_age(in_root(".other"), 100000);
  for (i = 0; i < sizeof table / sizeof table[0]; i++) {
    write_whole(name, "half", 4);
    set_age(name, table[i].age);
    assert_true(store(context, "key", "image"));
    assert_int_equal(exists(name), table[i].stays);
    (void)unlink(name);
  }
  assert_true(exists(in_root(".other")));
  merbit_context_destroy(context);
}

/* ---- Many writers ------------------------------------------------------------------------ */

#define WRITERS 8
#define COMMON_CAP (20 * ENTRY)

static int writer_body(int writer, int count) {
  merbit_context *context = open_capped(root, COMMON_CAP);
  uint64_t seed = (uint64_t)writer + 1;
  int i, wrong = 0;
  for (i = 0; i < count; i++) {
    const int key = (int)(test_random(&seed) % 100);
    const size_t size = 10 + (size_t)key * 30;
    wrong += load(context, key_of(key), image_of_size(size)) < 0;
    wrong += !store(context, key_of(key), image_of_size(size));
  }
  wrong += context->cache.errors != 0;
  merbit_context_destroy(context);
  return wrong;
}

static void many_writers(void **state) {
  const int count = test_effort(60, 1000);
  pid_t children[WRITERS];
  merbit_context *context;
  census after;
  int i, failed = 0, kept = 0;
  (void)state;
  for (i = 0; i < WRITERS; i++) {
    children[i] = fork();
    if (children[i] == 0) {
      _exit(writer_body(i, count) != 0);
    }
    assert_true(children[i] > 0);
  }
  for (i = 0; i < WRITERS; i++) {
    failed += wait_for(children[i]) != 0;
  }
  assert_int_equal(failed, 0);
  after = count_files(root);
  assert_int_equal(after.temporaries, 0);
  assert_true(after.bytes <= COMMON_CAP);
  context = open_in(root);
  for (i = 0; i < 100; i++) {
    const int hit = load(context, key_of(i), image_of_size(10 + (size_t)i * 30));
    assert_in_range(hit, 0, 1);
    kept += hit;
  }
  assert_int_equal(kept, after.files);
  assert_int_equal(context->cache.errors, 0);
  assert_true(kept > 0);
  print_message("%d writers, %d stores: %d entries of %d bytes stay, of %d allowed\n", WRITERS,
                WRITERS * count, kept, (int)after.bytes, COMMON_CAP);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      BED_TEST(oldest_go_first),    BED_TEST(edges_of_the_cap), BED_TEST(many_entries),
      BED_TEST(against_a_model),    BED_TEST(future_times),     BED_TEST(a_little_ahead),
      BED_TEST(used_in_the_future), BED_TEST(sparse_giants),    BED_TEST(strangers_stay),
      BED_TEST(temporaries),        BED_TEST(many_writers),
  };
  const int closed = bed_open(NULL);
  return closed != 0 ? closed : bed_close(cmocka_run_group_tests(tests, NULL, NULL));
}
