/* Entries of the cubin cache: a stored entry is found again; anything else is a miss, is
 * removed, and can be stored again. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "cache_bed.h"

static void store_and_load(void **state) {
  merbit_context *context = open_in(in_root("a/b/c")), *other = open_in(in_root("a/b/c"));
  const size_t size = 3000000;
  char *big = (char *)malloc(size + 1);
  (void)state;
  memset(big, 'x', size);
  big[size] = '\0';
  assert_int_equal(load(context, "key", "image"), 0);
  assert_true(store(context, "key", "image"));
  assert_int_equal(load(context, "key", "image"), 1);
  assert_int_equal(load(other, "key", "image"), 1);
  assert_int_equal(load(context, "kez", "image"), 0);
  assert_int_equal(load(context, "ke", "image"), 0);
  assert_int_equal(load(context, "keyy", "image"), 0);
  assert_true(store(context, "key", "newer"));
  assert_int_equal(load(other, "key", "newer"), 1);
  assert_true(store(other, "big", big));
  assert_int_equal(load(context, "big", big), 1);
  assert_int_equal(context->cache.errors, 0);
  assert_int_equal(files_in(context->cache.directory), 2);
  assert_int_equal(mode_of(context->cache.directory), 0700);
  assert_int_equal(mode_of(entry_path(context, "key")), 0600);
  merbit_context_destroy(context);
  merbit_context_destroy(other);
  free(big);
}

/* ---- Damage ------------------------------------------------------------------------------ */

static int rejected; /* number of damaged entries so far */

/* Expects that a damaged entry is a miss, is counted and removed. */
static void expect_rejected(merbit_context *context, const char *data, size_t size) {
  const char *path = entry_path(context, "the key");
  const int64_t errors = context->cache.errors;
  write_whole(path, data, size);
  assert_int_equal(load(context, "the key", "the image"), 0);
  assert_false(exists(path));
  assert_int_equal(context->cache.errors, errors + 1);
  rejected++;
}

/* Does what a run does next: compiles, stores and finds the entry. */
static void expect_mended(merbit_context *context) {
  assert_true(store(context, "the key", "the image"));
  assert_int_equal(load(context, "the key", "the image"), 1);
}

static void every_byte_flipped(void **state) {
  merbit_context *context = open_in(root);
  char data[256];
  size_t size, i;
  int bit;
  (void)state;
  rejected = 0;
  expect_mended(context);
  size = read_whole(entry_path(context, "the key"), data, sizeof data);
  assert_int_equal(size, HEAD + 7 + 9);
  for (i = 0; i < size; i++) {
    for (bit = 0; bit < 8; bit++) {
      data[i] = (char)(data[i] ^ (1 << bit));
      expect_rejected(context, data, size);
      data[i] = (char)(data[i] ^ (1 << bit));
    }
    expect_mended(context);
  }
  write_whole(entry_path(context, "the key"), data, size);
  assert_int_equal(load(context, "the key", "the image"), 1);
  print_message("%d flipped bits in %zu bytes: all rejected\n", rejected, size);
  merbit_context_destroy(context);
}

/* Shorter, longer, and without the first bytes. */
static void every_length(void **state) {
  merbit_context *context = open_in(root);
  char data[256];
  size_t size, i;
  (void)state;
  rejected = 0;
  memset(data, 0, sizeof data);
  expect_mended(context);
  size = read_whole(entry_path(context, "the key"), data, sizeof data);
  for (i = 0; i < size + 16; i++) {
    if (i != size) {
      expect_rejected(context, data, i);
      expect_mended(context);
    }
  }
  for (i = 1; i < size; i++) {
    expect_rejected(context, data + i, size - i);
  }
  expect_mended(context);
  print_message("%d wrong lengths: all rejected\n", rejected);
  merbit_context_destroy(context);
}

/* Runs of bytes that a disk lost: replaced by zeros, ones, or another part of the file. */
static void blocks_lost(void **state) {
  merbit_context *context = open_in(root);
  const int count = test_effort(500, 10000);
  uint64_t seed = test_rotating_seed();
  char whole[256], data[256];
  size_t size;
  int i;
  (void)state;
  rejected = 0;
  expect_mended(context);
  size = read_whole(entry_path(context, "the key"), whole, sizeof whole);
  for (i = 0; i < count; i++) {
    const size_t at = (size_t)(test_random(&seed) % size);
    const size_t length = 1 + (size_t)(test_random(&seed) % (size - at));
    const size_t from = (size_t)(test_random(&seed) % (size - length + 1));
    memcpy(data, whole, size);
    if (i % 3 == 2) {
      memcpy(data + at, whole + from, length);
    } else {
      memset(data + at, i % 3 == 0 ? 0 : 0xff, length);
    }
    if (memcmp(data, whole, size) != 0) {
      expect_rejected(context, data, size);
    }
  }
  expect_mended(context);
  print_message("%d lost blocks: all rejected\n", rejected);
  merbit_context_destroy(context);
}

static void entries_swapped(void **state) {
  merbit_context *context = open_in(root);
  (void)state;
  assert_true(store(context, "one", "image one"));
  assert_true(store(context, "two", "image two"));
  assert_int_equal(rename(entry_path(context, "one"), in_root("spare")), 0);
  assert_int_equal(rename(entry_path(context, "two"), entry_path(context, "one")), 0);
  assert_int_equal(rename(in_root("spare"), entry_path(context, "two")), 0);
  assert_int_equal(load(context, "one", "image one"), 0);
  assert_int_equal(load(context, "two", "image two"), 0);
  assert_int_equal(files_in(root), 0);
  assert_true(store(context, "one", "image one"));
  assert_int_equal(load(context, "one", "image one"), 1);
  merbit_context_destroy(context);
}

/* Sealed entries with one header field of another library, so that only the comparison of that
 * field can refuse them. */
static void other_heads(void **state) {
  merbit_context *context = open_in(root);
  int field;
  (void)state;
  for (field = 0; field < 5; field++) {
    mbi_cache_head head = mbi_cache_seal("the key", 7, "the image", 9);
    char data[256];
    head.magic[7] = (char)(head.magic[7] + (field == 1));
    head.format += field == 2;
    head.key_size += field == 3 ? 1 : 0;
    head.image_size -= field == 4 ? 1 : 0;
    head.checksum = mbi_hash_add(mbi_hash_start(), &head, offsetof(mbi_cache_head, checksum));
    head.checksum = mbi_hash_add(head.checksum, "the keythe image", 16);
    memcpy(data, &head, sizeof head);
    memcpy(data + sizeof head, "the keythe image", 16);
    if (field > 0) {
      expect_rejected(context, data, sizeof head + 16);
    } else { /* is this also what the library would write? */
      write_whole(entry_path(context, "the key"), data, sizeof head + 16);
      assert_int_equal(load(context, "the key", "the image"), 1);
    }
  }
  merbit_context_destroy(context);
}

/* ---- Something other than a file of ours ------------------------------------------------- */

static void expect_removed(merbit_context *context, const char *path) {
  assert_true(exists(path));
  assert_int_equal(load(context, "key", "image"), 0);
  assert_false(exists(path));
}

static void not_a_file(void **state) {
  merbit_context *context = open_in(root);
  const char *path = entry_path(context, "key");
  struct sockaddr_un address;
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  (void)state;
  assert_true(store(context, "key", "image"));
  assert_int_equal(rename(path, in_root("valid")), 0);
  assert_int_equal(symlink(in_root("valid"), path), 0);
  expect_removed(context, path);
  assert_true(exists(in_root("valid")));
  assert_int_equal(mkfifo(path, 0600), 0); /* must not block */
  expect_removed(context, path);
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  assert_true(strlen(path) < sizeof address.sun_path);
  strcpy(address.sun_path, path);
  assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
  expect_removed(context, path);
  (void)close(listener);
  assert_int_equal(symlink(in_root("valid"), path), 0); /* replaced, not followed */
  assert_true(store(context, "key", "newer"));
  assert_int_equal(load(context, "key", "newer"), 1);
  assert_int_equal(mode_of(in_root("valid")), 0600);
  merbit_context_destroy(context);
}

/* A full FIFO with a writer, and a link to one. */
static void fifo_with_a_writer(void **state) {
  merbit_context *context = open_in(root);
  const char *path = entry_path(context, "key");
  char bytes[4096];
  int fifo;
  (void)state;
  memset(bytes, 'f', sizeof bytes);
  assert_int_equal(mkfifo(in_root("fifo"), 0600), 0);
  fifo = open(in_root("fifo"), O_RDWR | O_NONBLOCK);
  assert_true(fifo >= 0);
  assert_int_equal(write(fifo, bytes, sizeof bytes), sizeof bytes);
  assert_int_equal(link(in_root("fifo"), path), 0);
  expect_removed(context, path);
  assert_int_equal(symlink(in_root("fifo"), path), 0);
  expect_removed(context, path);
  assert_int_equal(read(fifo, bytes, sizeof bytes), sizeof bytes); /* none was taken */
  (void)close(fifo);
  merbit_context_destroy(context);
}

static void a_directory(void **state) {
  merbit_context *context = open_in(root);
  const char *path = entry_path(context, "key");
  (void)state;
  assert_int_equal(mkdir(path, 0700), 0); /* stays, but does no harm */
  assert_int_equal(load(context, "key", "image"), 0);
  assert_false(store(context, "key", "image"));
  assert_int_equal(load(context, "key", "image"), 0);
  assert_int_equal(files_in(root), 1);
  assert_true(store(context, "other", "image"));
  assert_int_equal(rmdir(path), 0);
  assert_true(store(context, "key", "image"));
  assert_int_equal(load(context, "key", "image"), 1);
  merbit_context_destroy(context);
}

static void a_device(void **state) {
  merbit_context *context = open_in(root);
  const char *path = entry_path(context, "key");
  (void)state;
  assert_int_equal(symlink("/dev/zero", path), 0);
  expect_removed(context, path);
  if (mknod(path, S_IFCHR | 0600, makedev(1, 5)) != 0) { /* /dev/zero: no end */
    print_message("no device can be made here: %s\n", strerror(errno));
  } else {
    expect_removed(context, path);
  }
  merbit_context_destroy(context);
}

static void others_may_write_it(void **state) {
  static const int modes[] = {0602, 0620, 0622, 0666, 0777, 02660};
  merbit_context *context = open_in(root);
  const char *path = entry_path(context, "key");
  size_t i;
  (void)state;
  for (i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    assert_true(store(context, "key", "image"));
    assert_int_equal(chmod(path, (mode_t)modes[i]), 0);
    expect_removed(context, path);
  }
  assert_true(store(context, "key", "image"));
  assert_int_equal(chmod(path, 0444), 0); /* others may read it */
  assert_int_equal(load(context, "key", "image"), 1);
  assert_true(store(context, "key", "newer"));
  assert_int_equal(mode_of(path), 0600);
  if (root_only("foreign entries")) {
    assert_int_equal(chown(path, NOBODY, NOBODY), 0);
    expect_removed(context, path);
  }
  merbit_context_destroy(context);
}

/* An entry has a second name, as some backups make: the bytes are ours, and the other name
 * keeps them. */
static void hard_linked(void **state) {
  merbit_context *context = open_in(root);
  char data[256];
  (void)state;
  assert_true(store(context, "key", "image"));
  assert_int_equal(link(entry_path(context, "key"), in_root("backup")), 0);
  assert_int_equal(load(context, "key", "image"), 1);
  assert_true(store(context, "key", "newer"));
  assert_int_equal(load(context, "key", "newer"), 1);
  assert_int_equal(read_whole(in_root("backup"), data, sizeof data), HEAD + 3 + 5);
  assert_memory_equal(data + HEAD + 3, "image", 5);
  assert_int_equal(link(in_root("backup"), entry_path(context, "other")), 0); /* wrong name */
  assert_int_equal(load(context, "other", "image"), 0);
  assert_true(exists(in_root("backup")));
  assert_false(exists(entry_path(context, "other")));
  merbit_context_destroy(context);
}

/* Files with holes: a claim of 1 TB is not even allocated; a smaller one is read and
 * refused. */
static void enormous_entry(void **state) {
  merbit_context *context = open_in(root);
  const char *path = entry_path(context, "key");
  cpu_memory memory;
  merbit_context_desc desc = cpu_desc(&memory, 1);
  (void)state;
  merbit_context_destroy(context);
  desc.cache_dir = root;
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  mbi_cache_open(context, &desc);
  write_whole(path, "x", 1);
  if (truncate(path, (off_t)1 << 40) != 0) {
    print_message("the file system has no file of 1 TB: %s\n", strerror(errno));
  } else {
    memory.made = 0;
    expect_removed(context, path);
    assert_int_equal(memory.made, 0);
  }
  write_whole(path, "x", 1);
  assert_int_equal(truncate(path, (off_t)MBI_CACHE_LARGEST + 1), 0);
  memory.made = 0;
  expect_removed(context, path);
  assert_int_equal(memory.made, 0);
  assert_true(store(context, "key", "image")); /* a valid beginning, then a hole */
  assert_int_equal(truncate(path, (off_t)1 << 24), 0);
  expect_removed(context, path);
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

static void off_is_silent(void **state) {
  merbit_context *context = open_in("");
  void *found;
  size_t size;
  (void)state;
  mbi_cache_store(context, "key", 3, "image", 5);
  assert_int_equal(mbi_cache_load(context, "key", 3, &found, &size), 0);
  assert_null(found);
  mbi_cache_drop(context, "key", 3);
  assert_int_equal(context->cache.errors, 0);
  assert_int_equal(context->cache.misses, 0);
  merbit_context_destroy(context);
}

static void no_memory(void **state) {
  cpu_memory memory;
  merbit_context_desc desc = cpu_desc(&memory, 1);
  merbit_context *context;
  (void)state;
  desc.cache_dir = root;
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  mbi_cache_open(context, &desc);
  assert_true(store(context, "key", "image"));
  memory.fail_at = memory.made + 1;
  assert_int_equal(load(context, "key", "image"), 0);
  assert_true(exists(entry_path(context, "key"))); /* nothing is wrong with it */
  memory.fail_at = memory.made + 1;
  assert_false(store(context, "other", "image")); /* stored, but not tidied */
  memory.fail_at = 0;
  assert_int_equal(load(context, "key", "image"), 1);
  assert_int_equal(load(context, "other", "image"), 1);
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      BED_TEST(store_and_load), BED_TEST(every_byte_flipped),  BED_TEST(every_length),
      BED_TEST(blocks_lost),    BED_TEST(entries_swapped),     BED_TEST(other_heads),
      BED_TEST(not_a_file),     BED_TEST(fifo_with_a_writer),  BED_TEST(a_directory),
      BED_TEST(a_device),       BED_TEST(others_may_write_it), BED_TEST(hard_linked),
      BED_TEST(enormous_entry), BED_TEST(off_is_silent),       BED_TEST(no_memory),
  };
  const int closed = bed_open(NULL);
  return closed != 0 ? closed : bed_close(cmocka_run_group_tests(tests, NULL, NULL));
}
