/* The cubin cache with many processes and threads at once on the same keys, and writers that
 * are killed at any moment. An entry is absent or complete, and nothing is left behind. */
#include "support/internal.h"

#include "cache_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "cache_bed.h"

/* ---- Cold starts ------------------------------------------------------------------------- */

#define COMPANY 64
#define KEYS 3

typedef struct tally { /* in shared memory */
  int ready, go;
  int64_t hits, misses;
} tally;

/* Children wait here until all have arrived. */
static void barrier(tally *shared) {
  (void)__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
  while (!__atomic_load_n(&shared->go, __ATOMIC_SEQ_CST)) {
    (void)usleep(500);
  }
}

static const char *image_of(int key) {
  static char image[20001];
  memset(image, 'a' + key, sizeof image - 1);
  image[sizeof image - 1] = '\0';
  return image;
}

/* Does what a program does: looks for each key, else compiles and stores it. In the end all
 * must agree. `damaged`: there were entries, but none is valid; whoever removes one may also
 * remove a new entry. */
static int cold_start(tally *shared, int first, int damaged) {
  const char *names[KEYS] = {"one", "two", "three"};
  merbit_context *context;
  int i, wrong = 0;
  barrier(shared);
  context = open_in(in_root("shared/by/all"));
  for (i = 0; i < KEYS; i++) {
    const int key = (first + i) % KEYS;
    const int hit = load(context, names[key], image_of(key));
    int again;
    if (hit == 0) {
      (void)usleep(3000); /* simulates compiling, so that others come too late, too */
      mbi_cache_store(context, names[key], strlen(names[key]), image_of(key),
                      strlen(image_of(key)));
    }
    again = load(context, names[key], image_of(key));
    wrong += hit < 0 || again < 0 || (again == 0 && !damaged);
  }
  wrong += context->cache.errors != 0 && !damaged;
  (void)__atomic_add_fetch(&shared->hits, context->cache.hits, __ATOMIC_SEQ_CST);
  (void)__atomic_add_fetch(&shared->misses, context->cache.misses, __ATOMIC_SEQ_CST);
  merbit_context_destroy(context);
  return wrong;
}

static void company(tally *shared, int damaged) {
  pid_t children[COMPANY];
  int i, failed = 0;
  shared->ready = shared->go = 0;
  for (i = 0; i < COMPANY; i++) {
    children[i] = fork();
    if (children[i] == 0) {
      _exit(cold_start(shared, i % KEYS, damaged));
    }
    assert_true(children[i] > 0);
  }
  while (__atomic_load_n(&shared->ready, __ATOMIC_SEQ_CST) < COMPANY) {
    (void)usleep(500);
  }
  __atomic_store_n(&shared->go, 1, __ATOMIC_SEQ_CST);
  for (i = 0; i < COMPANY; i++) {
    failed += wait_for(children[i]) != 0;
  }
  assert_int_equal(failed, 0);
}

/* Expects one complete file for each key, and nothing else. */
static void expect_whole(void) {
  const char *names[KEYS] = {"one", "two", "three"};
  merbit_context *context = open_in(in_root("shared/by/all"));
  int i;
  assert_int_equal(files_in(context->cache.directory), KEYS);
  for (i = 0; i < KEYS; i++) {
    assert_int_equal(load(context, names[i], image_of(i)), 1);
  }
  assert_int_equal(context->cache.errors, 0);
  merbit_context_destroy(context);
}

static void many_processes(void **state) {
  tally *shared = (tally *)shared_memory(sizeof *shared);
  const int rounds = test_effort(3, 40);
  int i;
  (void)state;
  for (i = 0; i < rounds; i++) {
    remove_tree(in_root("shared"));
    company(shared, 0);
    expect_whole();
    company(shared, 0); /* warm */
    expect_whole();
  }
  print_message("%d rounds of %d processes: %d loads found an entry, %d did not\n", 2 * rounds,
                COMPANY, (int)shared->hits, (int)shared->misses);
  assert_int_equal(munmap(shared, sizeof *shared), 0);
}

static void many_processes_after_damage(void **state) {
  tally *shared = (tally *)shared_memory(sizeof *shared);
  const int rounds = test_effort(2, 40);
  int i;
  (void)state;
  for (i = 0; i < rounds; i++) {
    merbit_context *context = open_in(in_root("shared/by/all"));
    write_whole(entry_path(context, "one"), "", 0);
    write_whole(entry_path(context, "two"), "no entry", 8);
    merbit_context_destroy(context);
    company(shared, 1);
    expect_whole();
  }
  assert_int_equal(munmap(shared, sizeof *shared), 0);
}

static void *thread_body(void *argument) {
  merbit_context *context = (merbit_context *)argument;
  intptr_t wrong = 0;
  int i;
  for (i = 0; i < 30; i++) {
    void *found;
    size_t size;
    mbi_cache_store(context, "key", 3, "image", 5);
    if (mbi_cache_load(context, "key", 3, &found, &size)) {
      wrong += size != 5 || memcmp(found, "image", 5) != 0;
      mbi_release(context, found);
    } else {
      wrong++;
    }
  }
  return (void *)wrong;
}

static void many_threads(void **state) {
  merbit_context *context = open_in(root);
  pthread_t threads[8];
  int i;
  (void)state;
  for (i = 0; i < 8; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, thread_body, context), 0);
  }
  for (i = 0; i < 8; i++) {
    void *wrong = NULL;
    assert_int_equal(pthread_join(threads[i], &wrong), 0);
    assert_null(wrong);
  }
  assert_int_equal(context->cache.hits, 8 * 30);
  assert_int_equal(context->cache.errors, 0);
  assert_int_equal(files_in(root), 1);
  merbit_context_destroy(context);
}

/* ---- Killed writers ---------------------------------------------------------------------- */

/* Checks what a killed writer left: for each key nothing or a complete entry, and temporaries,
 * which a later store removes when they are old. */
static int expect_survivable(int keys, int most_temporaries) {
  const char *names[] = {"one", "two"};
  merbit_context *context = open_in(root);
  const census left = count_files(root);
  int i;
  assert_true(left.temporaries <= most_temporaries);
  for (i = 0; i < keys; i++) {
    assert_in_range(load(context, names[i], image_of(i)), 0, 1);
  }
  assert_int_equal(context->cache.errors, 0);
  merbit_context_destroy(context);
  return left.temporaries;
}

static void expect_swept(void) {
  merbit_context *context = open_in(root);
  const struct dirent *entry;
  DIR *directory = opendir(root);
  assert_non_null(directory);
  while ((entry = readdir(directory)) != NULL) {
    if (strncmp(entry->d_name, MBI_TEMPORARY, strlen(MBI_TEMPORARY)) == 0) {
      set_age(in_root(entry->d_name), MBI_TEMPORARY_SECONDS + 10);
    }
  }
  (void)closedir(directory);
  assert_true(store(context, "another", "image"));
  assert_int_equal(count_files(root).temporaries, 0);
  assert_int_equal(load(context, "another", "image"), 1);
  mbi_cache_drop(context, "another", 7);
  merbit_context_destroy(context);
}

static int at_call; /* the child is killed before this call */

static int killed_body(void) {
  merbit_context *context;
  heal();
  disk.armed = disk.die = 1;
  disk.step = at_call;
  disk.calls = 1;
  disk.portion = 1000;
  context = open_in(root);
  if (load(context, "one", image_of(0)) != 1) {
    mbi_cache_store(context, "one", 3, image_of(0), strlen(image_of(0)));
  }
  merbit_context_destroy(context);
  return 0;
}

/* A writer dies before each of its system calls. */
static void killed_at_every_call(void **state) {
  int result = 100 + SIGKILL, temporaries = 0;
  (void)state;
  for (at_call = 0; result == 100 + SIGKILL; at_call++) {
    merbit_context *context = open_in(root);
    result = in_child(killed_body, 0);
    temporaries += expect_survivable(1, 1);
    expect_swept();
    mbi_cache_drop(context, "one", 3);
    merbit_context_destroy(context);
  }
  assert_int_equal(result, 0);
  assert_true(at_call > 30 && temporaries > 20);
  print_message("killed before each of %d calls: %d left a temporary, all swept\n", at_call - 1,
                temporaries);
}

#define LARGE ((size_t)1 << 20)

/* Stores two keys in turn until killed. */
static void write_until_killed(tally *shared, const char *images[2]) {
  merbit_context *context = open_in(root);
  shared->ready = 1;
  disk.portion = 64; /* so that most of the time is spent writing */
  for (;;) {
    mbi_cache_store(context, "one", 3, images[0], LARGE);
    mbi_cache_store(context, "two", 3, images[1], LARGE);
  }
}

static double time_of_store(const char *image) {
  merbit_context *context = open_in(root);
  const double start = mbi_seconds();
  double took;
  disk.portion = 64;
  mbi_cache_store(context, "one", 3, image, LARGE);
  took = mbi_seconds() - start;
  heal();
  merbit_context_destroy(context);
  return took;
}

static int load_large(merbit_context *context, const char *key, const char *image) {
  void *found;
  size_t size;
  const int hit = mbi_cache_load(context, key, 3, &found, &size);
  const int right = !hit || (size == LARGE && memcmp(found, image, LARGE) == 0);
  mbi_release(context, found);
  assert_true(right);
  return hit;
}

/* kill -9 at random times during writes of large entries, new and existing ones. */
static void killed_at_random(void **state) {
  const int count = test_effort(50, 1000);
  uint64_t seed = test_rotating_seed();
  tally *shared = (tally *)shared_memory(sizeof *shared);
  const char *images[2];
  double longest;
  char *bytes = (char *)malloc(LARGE + 1);
  int i, temporaries = 0, absent = 0;
  (void)state;
  for (i = 0; i <= (int)LARGE; i++) {
    bytes[i] = (char)test_random(&seed);
  }
  images[0] = bytes;
  images[1] = bytes + 1;
  longest = 2e6 * time_of_store(bytes);
  longest = longest < 100000 ? longest : 100000;
  for (i = 0; i < count; i++) {
    merbit_context *context = open_in(root);
    pid_t child;
    if (i % 3 == 0) {
      mbi_cache_drop(context, "one", 3);
      mbi_cache_drop(context, "two", 3);
    }
    shared->ready = 0;
    child = fork();
    if (child == 0) {
      write_until_killed(shared, images);
    }
    assert_true(child > 0);
    while (!__atomic_load_n(&shared->ready, __ATOMIC_SEQ_CST)) {
      (void)usleep(100);
    }
    (void)usleep((useconds_t)(longest * (double)(test_random(&seed) % 1000) / 1000));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(wait_for(child), 100 + SIGKILL);
    absent += 2 - load_large(context, "one", images[0]) - load_large(context, "two", images[1]);
    assert_int_equal(context->cache.errors, 0);
    temporaries += count_files(root).temporaries;
    assert_in_range(count_files(root).temporaries, 0, 1);
    expect_swept();
    merbit_context_destroy(context);
  }
  print_message("%d writers killed: %d left a temporary, %d entries absent, no other damage\n",
                count, temporaries, absent);
  assert_int_equal(munmap(shared, sizeof *shared), 0);
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      BED_TEST(many_processes),   BED_TEST(many_processes_after_damage),
      BED_TEST(many_threads),     BED_TEST(killed_at_every_call),
      BED_TEST(killed_at_random),
  };
  int closed;
  heal();
  closed = bed_open(NULL);
  return closed != 0 ? closed : bed_close(cmocka_run_group_tests(tests, NULL, NULL));
}
