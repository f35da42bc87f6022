/* Cubins in one file: exported entries are imported byte for byte, and nothing else is
 * accepted. No GPU: the contexts have a cache and a fake compiler. */
#include "support/internal.h"

#include "jit/cache_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "jit/cache_bed.h"

#define ROOM 8192

static const char *const keys[] = {"program of " MBI_KERNEL_HASH,
                                   MBI_KERNEL_HASH " at the front",
                                   "choice " MBI_KERNEL_HASH " in the middle"};
static const char *const images[] = {"a cubin", "another one, longer", "7"};
enum { ENTRIES = 3 };

static cpu_memory memory;

/* A path in this test's directory that stays valid, unlike that of in_root. */
typedef struct place {
  char path[256];
} place;

static place at_root(const char *name) {
  place p;
  (void)snprintf(p.path, sizeof p.path, "%s/%s", root, name);
  return p;
}

/* Opens a context like one on the GPU, from which packs read the version, the architecture and
 * the capability; `directory` may be "". */
static merbit_context *open_gpu(const char *directory, int version, int capability) {
  merbit_context_desc desc = cpu_desc(&memory, 1);
  merbit_context *context;
  desc.cache_dir = directory;
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  mbi_cache_open(context, &desc);
  context->side = MERBIT_SIDE_CUDA;
  context->device.nvrtc.version = version;
  context->device.nvrtc.architecture = capability; /* without functions it is the answer */
  context->device.compute_capability = capability;
  return context;
}

static void close_gpu(merbit_context *context) {
  context->side = MERBIT_SIDE_CPU;
  memset(&context->device, 0, sizeof context->device);
  merbit_context_destroy(context);
  assert_int_equal(memory.live, 0);
}

/* Makes a pack of the three entries at `path`. */
static void make_pack(const char *directory, const char *path) {
  merbit_context *context = open_gpu(directory, 13000, 90);
  int i;
  for (i = 0; i < ENTRIES; i++) {
    assert_true(store(context, keys[i], images[i]));
  }
  assert_int_equal(merbit_cache_export(context, path), MERBIT_OK);
  close_gpu(context);
}

static merbit_context_desc desc_of(const char *directory) {
  merbit_context_desc desc = cpu_desc(&memory, 1);
  desc.cache_dir = directory;
  return desc;
}

/* Imports, and expects that refused files leave the cache unchanged. */
static void import(const char *path, merbit_status status, const char *piece) {
  const place target = at_root("target");
  const char *const directory = target.path;
  merbit_context_desc desc = desc_of(directory);
  const int before = files_in(directory);
  merbit_error error;
  memset(&error, 0x5a, sizeof error);
  if (merbit_cache_import(&desc, path, &error) != status || error.status != status ||
      strstr(error.message, piece) == NULL) {
    fail_msg("%s: status %d, \"%s\", without \"%s\"", path, (int)error.status, error.message,
             piece);
  }
  if (status != MERBIT_OK) {
    assert_int_equal(files_in(directory), before);
    assert_true(path == NULL || strstr(error.message, path) != NULL || path[0] != '/');
  }
  assert_int_equal(merbit_cache_import(&desc, path, NULL), status);
  assert_int_equal(memory.live, 0);
}

/* Expects that the target's cache has the three entries. */
static void expect_entries(const char *directory) {
  merbit_context *context = open_gpu(directory, 0, 90);
  int i;
  for (i = 0; i < ENTRIES; i++) {
    assert_int_equal(load(context, keys[i], images[i]), 1);
  }
  close_gpu(context);
}

static void there_and_back(void **state) {
  const place path = at_root("pack");
  merbit_context *context;
  (void)state;
  make_pack(in_root("source"), path.path);
  assert_int_equal(mode_of(path.path), 0600);
  import(path.path, MERBIT_OK, "");
  expect_entries(in_root("target"));
  assert_int_equal(files_in(in_root("target")), ENTRIES + 1); /* and the note */
  context = open_gpu(in_root("target"), 0, 90);
  assert_true(mbi_pack_take_compiler(context));
  assert_int_equal(context->device.nvrtc.version, 13000);
  assert_int_equal(context->device.nvrtc.architecture, 90);
  context->device.compute_capability = 89; /* another GPU */
  assert_false(mbi_pack_take_compiler(context));
  assert_int_equal(context->device.nvrtc.architecture, 0);
  close_gpu(context);
}

/* An import that is older than the machine's own compiler must not win when both are
 * exported. */
static void the_own_note_wins(void **state) {
  const place first = at_root("first");
  const place second = at_root("second");
  merbit_context *context;
  (void)state;
  make_pack(in_root("old"), first.path); /* of NVRTC 13.0 */
  {
    merbit_context_desc desc = desc_of(in_root("both"));
    assert_int_equal(merbit_cache_import(&desc, first.path, NULL), MERBIT_OK);
  }
  context = open_gpu(in_root("both"), 12080, 90);
  assert_int_equal(merbit_cache_export(context, second.path), MERBIT_OK);
  close_gpu(context);
  import(second.path, MERBIT_OK, "");
  context = open_gpu(in_root("target"), 0, 90);
  assert_true(mbi_pack_take_compiler(context));
  assert_int_equal(context->device.nvrtc.version, 12080);
  close_gpu(context);
}

/* Entries of other versions, damaged ones and other files are not exported. */
static void only_own_valid_entries(void **state) {
  const place source = at_root("source");
  const place path = at_root("pack");
  merbit_context *context = open_gpu(source.path, 13000, 90);
  char data[ROOM];
  size_t size;
  (void)state;
  assert_true(store(context, "of an older version", "x"));
  assert_int_equal(merbit_cache_export(context, path.path), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "is empty");
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, source.path);
  assert_false(exists(path.path));
  assert_true(store(context, keys[0], images[0]));
  size = read_whole(entry_path(context, keys[0]), data, sizeof data);
  data[size - 1] ^= 1;
  write_whole(in_root("source/damaged.merbit"), data, size);
  data[size - 1] ^= 1;
  write_whole(in_root("source/cut.merbit"), data, size - 1);
  data[size] = 'x';
  write_whole(in_root("source/longer.merbit"), data, size + 1);
  write_whole(in_root("source/empty.merbit"), data, 0);
  write_whole(in_root("source/short.merbit"), data, sizeof(mbi_cache_head) - 1);
  assert_int_equal(mkdir(in_root("source/folder.merbit"), 0700), 0);
  assert_int_equal(merbit_cache_export(context, path.path), MERBIT_OK);
  close_gpu(context);
  import(path.path, MERBIT_OK, "");
  assert_int_equal(files_in(in_root("target")), 2);
}

static void every_byte_and_length(void **state) {
  const place path = at_root("pack");
  const place bad = at_root("bad");
  char data[ROOM];
  uint64_t seed = test_rotating_seed();
  size_t size, i;
  (void)state;
  make_pack(in_root("source"), path.path);
  size = read_whole(path.path, data, sizeof data - 1);
  assert_in_range(size, 400, ROOM - 2);
  for (i = 0; i < size; i++) {
    const char was = data[i];
    data[i] = (char)(was ^ (1 << (test_random(&seed) % 8)));
    write_whole(bad.path, data, size);
    import(bad.path, MERBIT_INVALID_FILE,
           i < 8 ? "was not written by merbit_cache_export" : "damaged");
    data[i] = was;
  }
  for (i = 0; i < size; i++) {
    write_whole(bad.path, data, i);
    import(bad.path, MERBIT_INVALID_FILE,
           i < sizeof(mbi_pack_head) ? "was not written by merbit_cache_export" : "truncated");
  }
  data[size] = 0;
  write_whole(bad.path, data, size + 1);
  import(bad.path, MERBIT_INVALID_FILE, "is truncated or damaged");
  import(path.path, MERBIT_OK, "");
}

/* A pack with a valid checksum, but invalid entries. */
static void forged(void **state) {
  const place path = at_root("forged");
  char data[ROOM];
  mbi_pack_head head;
  mbi_cache_head entry;
  uint64_t *const sizes[] = {&entry.key_size, &entry.image_size};
  const uint64_t wrong[] = {0, 1, 1000, UINT64_MAX, UINT64_MAX - sizeof entry};
  size_t i, j, size = sizeof head + sizeof entry;
  (void)state;
  memset(data, 0, sizeof data);
  memcpy(data + size, keys[0], strlen(keys[0]));
  memcpy(data + size + strlen(keys[0]), images[0], strlen(images[0]));
  size += strlen(keys[0]) + strlen(images[0]);
  for (i = 0; i < 2; i++) {
    for (j = 0; j < sizeof wrong / sizeof wrong[0]; j++) {
      entry = mbi_cache_seal(keys[0], strlen(keys[0]), images[0], strlen(images[0]));
      *sizes[i] = wrong[j];
      memcpy(data + sizeof head, &entry, sizeof entry);
      head = mbi_pack_seal(data, size);
      memcpy(data, &head, sizeof head);
      write_whole(path.path, data, size);
      import(path.path, MERBIT_INVALID_FILE, "is truncated or damaged");
    }
  }
  entry = mbi_cache_seal(keys[0], strlen(keys[0]), images[0], strlen(images[0]));
  memcpy(data + sizeof head, &entry, sizeof entry);
  head = mbi_pack_seal(data, size);
  memcpy(data, &head, sizeof head);
  write_whole(path.path, data, size);
  import(path.path, MERBIT_OK, ""); /* it is well-formed */
  entry = mbi_cache_seal("key of another version", 22, "x", 1);
  memcpy(data + sizeof head, &entry, sizeof entry);
  memcpy(data + sizeof head + sizeof entry, "key of another versionx", 23);
  size = sizeof head + sizeof entry + 23;
  head = mbi_pack_seal(data, size);
  memcpy(data, &head, sizeof head);
  write_whole(path.path, data, size);
  import(path.path, MERBIT_NOT_SUPPORTED, "another version of merbit");
}

/* The file must be a regular file of the user. */
static void files_of_others(void **state) {
  const place path = at_root("pack");
  const place other = at_root("other");
  const struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
  struct stat facts;
  (void)state;
  make_pack(in_root("source"), path.path);
  assert_int_equal(chmod(path.path, 0620), 0);
  import(path.path, MERBIT_IO_ERROR, "nobody else may write");
  assert_int_equal(chmod(path.path, 0602), 0);
  import(path.path, MERBIT_IO_ERROR, "nobody else may write");
  assert_int_equal(chmod(path.path, 0644), 0);
  assert_int_equal(utimensat(AT_FDCWD, path.path, old, 0), 0);
  import(path.path, MERBIT_OK, "");
  assert_int_equal(stat(path.path, &facts), 0);
  assert_int_equal(facts.st_mtim.tv_sec, old[1].tv_sec); /* reading changes nothing */
  assert_int_equal(symlink(path.path, other.path), 0);
  import(other.path, MERBIT_IO_ERROR, "regular file");
  assert_int_equal(unlink(other.path), 0);
  import(other.path, MERBIT_IO_ERROR, "No such file");
  assert_int_equal(mkfifo(other.path, 0600), 0);
  import(other.path, MERBIT_IO_ERROR, "regular file");
  import(root, MERBIT_IO_ERROR, "cannot import");
  import(NULL, MERBIT_INVALID_ARGUMENT, "`path` is NULL");
  import("", MERBIT_INVALID_ARGUMENT, "`path` is empty");
  if (root_only("a file of another user")) {
    assert_int_equal(chown(path.path, NOBODY, NOBODY), 0);
    import(path.path, MERBIT_IO_ERROR, "belongs to you");
  }
}

static void caches_that_refuse(void **state) {
  const place path = at_root("pack");
  merbit_context_desc desc;
  merbit_error error;
  (void)state;
  make_pack(in_root("source"), path.path);
  desc = desc_of("");
  assert_int_equal(merbit_cache_import(&desc, path.path, &error), MERBIT_NOT_SUPPORTED);
  assert_non_null(strstr(error.message, "cache_dir is empty"));
  desc = desc_of(in_root("small"));
  desc.cache_max_bytes = 300;
  assert_int_equal(merbit_cache_import(&desc, path.path, &error), MERBIT_TOO_LARGE);
  assert_non_null(strstr(error.message, "context_desc.cache_max_bytes, 300"));
  assert_int_equal(files_in(in_root("small")), 0);
  desc.threads = -1; /* as merbit_context_create refuses it */
  assert_int_equal(merbit_cache_import(&desc, path.path, &error), MERBIT_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "context_desc.threads"));
  assert_int_equal(memory.live, 0);
}

/* For root, whom no mode stops, tests a full disk instead. */
static int import_on_a_full_disk(void) {
  merbit_context_desc desc = cpu_desc(NULL, 1);
  merbit_error error;
  struct rlimit small = {100, 100};
  desc.cache_dir = in_root("target");
  if (setrlimit(RLIMIT_FSIZE, &small) != 0) {
    return CHILD_CANNOT;
  }
  return merbit_cache_import(&desc, in_root("pack"), &error) != MERBIT_IO_ERROR ? 1
         : strstr(error.message, "cannot write to the cubin cache") == NULL     ? 2
         : error.status != MERBIT_IO_ERROR                                      ? 3
                                                                                : 0;
}

static void a_full_disk(void **state) {
  (void)state;
  make_pack(in_root("source"), in_root("pack"));
  assert_int_equal(in_child(import_on_a_full_disk, 0), 0);
}

static void exports_that_fail(void **state) {
  merbit_context *context = open_gpu("", 13000, 90);
  (void)state;
  assert_int_equal(merbit_cache_export(NULL, in_root("pack")), MERBIT_INVALID_ARGUMENT);
  assert_int_equal(merbit_cache_export(context, NULL), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "`path` is NULL");
  assert_int_equal(merbit_cache_export(context, in_root("pack")), MERBIT_NOT_SUPPORTED);
  cpu_expect(context, MERBIT_NOT_SUPPORTED, "cache_dir is empty");
  context->side = MERBIT_SIDE_CPU;
  assert_int_equal(merbit_cache_export(context, in_root("pack")), MERBIT_NO_DEVICE);
  cpu_expect(context, MERBIT_NO_DEVICE, "computes on the CPU");
  close_gpu(context);
  context = open_gpu(in_root("source"), 13000, 90);
  assert_true(store(context, keys[0], images[0]));
  assert_int_equal(merbit_cache_export(context, in_root("missing/pack")), MERBIT_IO_ERROR);
  cpu_expect(context, MERBIT_IO_ERROR, "missing/pack, or a file beside it: No such file");
  assert_int_equal(merbit_cache_export(context, in_root("source")), MERBIT_IO_ERROR);
  assert_int_equal(merbit_cache_export(context, ""), MERBIT_INVALID_ARGUMENT);
  cpu_expect(context, MERBIT_INVALID_ARGUMENT, "`path` is empty; name a file");
  {
    char longest[2 * MBI_PATH_SIZE];
    memset(longest, 'n', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(merbit_cache_export(context, longest), MERBIT_IO_ERROR);
    cpu_expect(context, MERBIT_IO_ERROR, "too long");
  }
  assert_int_equal(chdir(root), 0); /* a name without a folder */
  assert_int_equal(merbit_cache_export(context, "here"), MERBIT_OK);
  assert_true(exists(in_root("here")));
  assert_int_equal(chdir("/"), 0);
  assert_int_equal(count_files(root).temporaries, 0);
  close_gpu(context);
}

/* A pipe stays what it is, a link leads to the pack, and a file that others could read becomes
 * private. */
static void targets_of_an_export(void **state) {
  const place path = at_root("pack");
  const place other = at_root("other");
  merbit_context *context = open_gpu(in_root("source"), 13000, 90);
  struct stat facts;
  (void)state;
  assert_true(store(context, keys[0], images[0]));
  assert_int_equal(mkfifo(other.path, 0600), 0);
  assert_int_equal(merbit_cache_export(context, other.path), MERBIT_IO_ERROR);
  cpu_expect(context, MERBIT_IO_ERROR, "is not a regular file");
  cpu_expect(context, MERBIT_IO_ERROR, other.path);
  assert_int_equal(lstat(other.path, &facts), 0);
  assert_true(S_ISFIFO(facts.st_mode));
  assert_int_equal(unlink(other.path), 0);
  write_whole(path.path, "old", 3);
  assert_int_equal(chmod(path.path, 0644), 0);
  assert_int_equal(symlink("pack", other.path), 0);
  assert_int_equal(merbit_cache_export(context, other.path), MERBIT_OK);
  assert_int_equal(lstat(other.path, &facts), 0);
  assert_true(S_ISLNK(facts.st_mode));
  assert_int_equal(mode_of(path.path), 0600);
  assert_int_equal(count_files(root).temporaries, 0);
  close_gpu(context);
  import(path.path, MERBIT_OK, "");
}

static void a_long_path(void **state) {
  merbit_context *context = open_gpu(in_root("source"), 13000, 90);
  char path[2 * MBI_PATH_SIZE];
  size_t length = (size_t)snprintf(path, sizeof path, "%s", root);
  (void)state;
  assert_true(store(context, keys[0], images[0]));
  while (length < MBI_PATH_SIZE + 10) {
    length += (size_t)snprintf(path + length, sizeof path - length, "/.");
  }
  (void)snprintf(path + length, sizeof path - length, "/pack");
  assert_int_equal(merbit_cache_export(context, path), MERBIT_OK);
  assert_true(exists(in_root("pack")));
  close_gpu(context);
}

static void a_cache_that_is_gone(void **state) {
  const place source = at_root("source");
  merbit_context *context = open_gpu(source.path, 13000, 90);
  (void)state;
  assert_true(store(context, keys[0], images[0]));
  assert_int_equal(rename(source.path, in_root("gone")), 0);
  assert_int_equal(merbit_cache_export(context, in_root("pack")), MERBIT_IO_ERROR);
  cpu_expect(context, MERBIT_IO_ERROR, "cannot list the cubin cache");
  cpu_expect(context, MERBIT_IO_ERROR, source.path);
  assert_false(exists(in_root("pack")));
  close_gpu(context);
}

/* Exports while a call of the system fails. Returns whether one did. */
static int export_with_failure(merbit_context *context, const place *path, int step, int code,
                               const char *whole, size_t size) {
  char data[ROOM];
  merbit_status status;
  int failed;
  heal();
  disk.armed = 1;
  disk.step = step;
  disk.code = code;
  disk.calls = 1;
  status = merbit_cache_export(context, path->path);
  failed = disk.step < 0;
  heal();
  if (status == MERBIT_OK) {
    assert_int_equal(read_whole(path->path, data, sizeof data), size);
    assert_memory_equal(data, whole, size);
  } else {
    cpu_expect(context, MERBIT_IO_ERROR, root);
    cpu_expect(context, MERBIT_IO_ERROR, strerror(code));
  }
  return failed;
}

/* Each call of the system fails in turn: the pack has all entries, or the export fails. */
static void every_call_of_an_export_fails(void **state) {
  static const int codes[] = {EIO, EACCES, EMFILE};
  const place source = at_root("source");
  const place path = at_root("pack");
  merbit_context *context;
  char whole[ROOM];
  size_t size;
  int code, step, runs = 0;
  (void)state;
  make_pack(source.path, path.path);
  size = read_whole(path.path, whole, sizeof whole);
  context = open_gpu(source.path, 13000, 90);
  for (code = 0; code < 3; code++) {
    for (step = 0; export_with_failure(context, &path, step, codes[code], whole, size);
         step++, runs++) {
      assert_true(step < 100);
    }
  }
  print_message("%d exports with a failure\n", runs);
  close_gpu(context);
}

/* Each allocation fails once: a clean error, and no leak. */
static void no_memory(void **state) {
  const place path = at_root("pack");
  merbit_status status = MERBIT_OUT_OF_MEMORY;
  merbit_context *context;
  long at;
  (void)state;
  make_pack(in_root("source"), path.path);
  for (at = 1; status != MERBIT_OK && at < 100; at++) {
    merbit_context_desc desc = desc_of(in_root("target"));
    merbit_error error;
    memory.fail_at = at;
    status = merbit_cache_import(&desc, path.path, &error);
    assert_true(status == MERBIT_OK || status == MERBIT_OUT_OF_MEMORY ||
                status == MERBIT_IO_ERROR); /* a cache that could not be tidied */
    assert_int_equal(error.status, status);
    assert_int_equal(memory.live, 0);
  }
  assert_in_range(at, 4, 99);
  expect_entries(in_root("target"));
  for (at = 1, status = MERBIT_OUT_OF_MEMORY; status != MERBIT_OK && at < 100; at++) {
    context = open_gpu(in_root("source"), 13000, 90);
    memory.made = 0;
    memory.fail_at = at;
    status = merbit_cache_export(context, path.path);
    assert_true(status == MERBIT_OK || status == MERBIT_OUT_OF_MEMORY);
    close_gpu(context);
  }
  assert_in_range(at, 5, 99);
  import(path.path, MERBIT_OK, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      BED_TEST(there_and_back),
      BED_TEST(the_own_note_wins),
      BED_TEST(only_own_valid_entries),
      BED_TEST(every_byte_and_length),
      BED_TEST(forged),
      BED_TEST(files_of_others),
      BED_TEST(caches_that_refuse),
      BED_TEST(a_full_disk),
      BED_TEST(exports_that_fail),
      BED_TEST(targets_of_an_export),
      BED_TEST(a_long_path),
      BED_TEST(a_cache_that_is_gone),
      BED_TEST(every_call_of_an_export_fails),
      BED_TEST(no_memory),
  };
  int opened;
  heal();
  opened = bed_open(NULL);
  return opened != 0 ? opened : bed_close(cmocka_run_group_tests(tests, NULL, NULL));
}
