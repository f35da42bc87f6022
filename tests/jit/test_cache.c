/* The cubin cache on hostile disks: what is stored comes back, everything else is a miss. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#define HEAD ((int)sizeof(mbi_cache_head))
#define NOBODY 65534

static char root[64]; /* one fresh directory for each test */

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *where) {
  (void)facts;
  (void)kind;
  (void)where;
  return remove(path);
}

static int begin(void **state) {
  (void)state;
  strcpy(root, "/tmp/merbit-cache-XXXXXX");
  return mkdtemp(root) != NULL ? 0 : -1;
}

static int end(void **state) {
  (void)state;
  unsetenv("MERBIT_CACHE_DIR");
  unsetenv("XDG_CACHE_HOME");
  return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *in_root(const char *name) {
  static char paths[8][256];
  static int next;
  char *path = paths[next++ % 8];
  (void)snprintf(path, 256, "%s/%s", root, name);
  return path;
}

static merbit_context *open_capped(const char *directory, int64_t cap) {
  merbit_context_desc desc;
  merbit_context *context;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CPU;
  desc.threads = 1;
  desc.cache_dir = directory;
  desc.cache_max_bytes = cap;
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  mbi_cache_open(context, &desc);
  return context;
}

static merbit_context *open_in(const char *directory) {
  return open_capped(directory, 0);
}

static int is_on(const char *directory) {
  merbit_context *context = open_in(directory);
  const int on = context->cache.directory[0] != '\0';
  assert_int_equal(on, context->cache.off_reason[0] == '\0');
  merbit_context_destroy(context);
  return on;
}

static int store(merbit_context *context, const char *key, const char *image) {
  const int64_t errors = context->cache.errors;
  mbi_cache_store(context, key, strlen(key), image, strlen(image));
  return context->cache.errors == errors;
}

/* 1: exactly `image`, 0: a miss. Anything else fails. */
static int load(merbit_context *context, const char *key, const char *image) {
  void *found;
  size_t size;
  const int64_t hits = context->cache.hits, misses = context->cache.misses;
  const int hit = mbi_cache_load(context, key, strlen(key), &found, &size);
  assert_int_equal(context->cache.hits, hits + hit);
  assert_int_equal(context->cache.misses, misses + !hit);
  if (!hit) {
    assert_null(found);
    assert_int_equal(size, 0);
    return 0;
  }
  assert_int_equal(size, strlen(image));
  assert_memory_equal(found, image, size);
  mbi_release(context, found);
  return 1;
}

static const char *entry_path(merbit_context *context, const char *key) {
  static char paths[4][MBI_PATH_SIZE];
  static int next;
  char *path = paths[next++ % 4];
  mbi_cache_path(context, key, strlen(key), path, MBI_PATH_SIZE);
  return path;
}

static int exists(const char *path) {
  struct stat facts;
  return lstat(path, &facts) == 0;
}

static int mode_of(const char *path) {
  struct stat facts;
  assert_int_equal(lstat(path, &facts), 0);
  return (int)(facts.st_mode & 07777);
}

static size_t read_whole(const char *path, char *data, size_t room) {
  FILE *file = fopen(path, "rb");
  size_t size;
  assert_non_null(file);
  size = fread(data, 1, room, file);
  (void)fclose(file);
  return size;
}

static void write_whole(const char *path, const char *data, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(chmod(path, 0600), 0);
}

static int files_in(const char *directory) {
  DIR *open = opendir(directory);
  const struct dirent *entry;
  int count = 0;
  assert_non_null(open);
  while ((entry = readdir(open)) != NULL) {
    count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  }
  (void)closedir(open);
  return count;
}

static void set_age(const char *path, time_t seconds) {
  struct timespec times[2];
  (void)clock_gettime(CLOCK_REALTIME, &times[0]);
  times[0].tv_sec -= seconds;
  times[1] = times[0];
  assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

/* ---- Entries ---------------------------------------------------------------------------- */

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

/* Each damaged form of a small entry is a miss and goes; then the entry can be stored again. */
static void expect_rejected(merbit_context *context, const char *data, size_t size) {
  const char *path = entry_path(context, "the key");
  const int64_t errors = context->cache.errors;
  write_whole(path, data, size);
  assert_int_equal(load(context, "the key", "the image"), 0);
  assert_false(exists(path));
  assert_int_equal(context->cache.errors, errors + 1);
}

static void every_byte_flipped(void **state) {
  merbit_context *context = open_in(root);
  char data[256];
  size_t size, i;
  int bit;
  (void)state;
  assert_true(store(context, "the key", "the image"));
  size = read_whole(entry_path(context, "the key"), data, sizeof data);
  assert_int_equal(size, HEAD + 7 + 9);
  for (i = 0; i < size; i++) {
    for (bit = 0; bit < 8; bit++) {
      data[i] = (char)(data[i] ^ (1 << bit));
      expect_rejected(context, data, size);
      data[i] = (char)(data[i] ^ (1 << bit));
    }
  }
  write_whole(entry_path(context, "the key"), data, size);
  assert_int_equal(load(context, "the key", "the image"), 1);
  merbit_context_destroy(context);
}

static void every_length(void **state) {
  merbit_context *context = open_in(root);
  char data[256];
  size_t size, i;
  (void)state;
  memset(data, 0, sizeof data);
  assert_true(store(context, "the key", "the image"));
  size = read_whole(entry_path(context, "the key"), data, sizeof data);
  for (i = 0; i < size + 16; i++) {
    if (i != size) {
      expect_rejected(context, data, i);
    }
  }
  assert_true(store(context, "the key", "the image"));
  assert_int_equal(load(context, "the key", "the image"), 1);
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

/* A sealed entry whose fields are those of another format, so that only the comparison can
 * refuse it. */
static void other_formats(void **state) {
  merbit_context *context = open_in(root);
  mbi_cache_head head = mbi_cache_seal("the key", 7, "the image", 9);
  char data[256];
  (void)state;
  head.format++;
  head.checksum = mbi_hash_add(mbi_hash_start(), &head, offsetof(mbi_cache_head, checksum));
  head.checksum = mbi_hash_add(head.checksum, "the keythe image", 16);
  memcpy(data, &head, sizeof head);
  memcpy(data + sizeof head, "the keythe image", 16);
  expect_rejected(context, data, sizeof head + 16);
  merbit_context_destroy(context);
}

/* Put a valid entry elsewhere, and something else than a file where it belongs. */
static void not_a_file(void **state) {
  merbit_context *context = open_in(root);
  const char *path = entry_path(context, "key");
  struct sockaddr_un address;
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  (void)state;
  assert_true(store(context, "key", "image"));
  assert_int_equal(rename(path, in_root("valid")), 0);
  assert_int_equal(symlink(in_root("valid"), path), 0);
  assert_int_equal(load(context, "key", "image"), 0);
  assert_false(exists(path));
  assert_true(exists(in_root("valid")));
  assert_int_equal(mkfifo(path, 0600), 0); /* must not block */
  assert_int_equal(load(context, "key", "image"), 0);
  assert_false(exists(path));
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  assert_true(strlen(path) < sizeof address.sun_path);
  strcpy(address.sun_path, path);
  assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
  assert_int_equal(load(context, "key", "image"), 0);
  assert_false(exists(path));
  (void)close(listener);
  assert_int_equal(mkdir(path, 0700), 0); /* stays, but does no harm */
  assert_int_equal(load(context, "key", "image"), 0);
  assert_false(store(context, "key", "image"));
  assert_int_equal(load(context, "key", "image"), 0);
  assert_int_equal(files_in(root), 2);
  assert_int_equal(rmdir(path), 0);
  assert_int_equal(symlink(in_root("valid"), path), 0); /* replaced, not followed */
  assert_true(store(context, "key", "newer"));
  assert_int_equal(load(context, "key", "newer"), 1);
  merbit_context_destroy(context);
}

static void others_may_write_it(void **state) {
  merbit_context *context = open_in(root);
  (void)state;
  assert_true(store(context, "key", "image"));
  assert_int_equal(chmod(entry_path(context, "key"), 0622), 0);
  assert_int_equal(load(context, "key", "image"), 0);
  assert_false(exists(entry_path(context, "key")));
  if (geteuid() == 0) {
    assert_true(store(context, "key", "image"));
    assert_int_equal(chown(entry_path(context, "key"), NOBODY, NOBODY), 0);
    assert_int_equal(load(context, "key", "image"), 0);
    assert_false(exists(entry_path(context, "key")));
  }
  merbit_context_destroy(context);
}

/* A file whose size is a claim of 1 TB (a hole) must not be read. */
static void enormous_entry(void **state) {
  merbit_context *context = open_in(root);
  const char *path = entry_path(context, "key");
  (void)state;
  write_whole(path, "x", 1);
  if (truncate(path, (off_t)1 << 40) != 0) {
    print_message("the file system has no file of 1 TB: %s\n", strerror(errno));
    merbit_context_destroy(context);
    skip();
  }
  assert_int_equal(load(context, "key", "image"), 0);
  assert_false(exists(path));
  merbit_context_destroy(context);
}

/* ---- Directories ------------------------------------------------------------------------ */

static void directories(void **state) {
  (void)state;
  assert_true(is_on(in_root("made")));
  assert_int_equal(chmod(in_root("made"), 0755), 0);
  assert_true(is_on(in_root("made")));
  assert_int_equal(chmod(in_root("made"), 0777), 0);
  assert_false(is_on(in_root("made")));
  assert_int_equal(chmod(in_root("made"), 01777), 0);
  assert_false(is_on(in_root("made")));
  assert_int_equal(chmod(in_root("made"), 0770), 0);
  assert_false(is_on(in_root("made")));
  assert_false(is_on(in_root("made/below")));
  assert_int_equal(chmod(in_root("made"), 01777), 0);
  assert_true(is_on(in_root("made/below")));
  assert_int_equal(chmod(in_root("made"), 0700), 0);
  assert_int_equal(symlink("made", in_root("link")), 0);
  assert_true(is_on(in_root("link")));
  assert_true(is_on(in_root("link/below/further")));
  assert_int_equal(chmod(in_root("made"), 0777), 0);
  assert_false(is_on(in_root("link")));
  assert_int_equal(symlink("missing", in_root("dangling")), 0);
  assert_false(is_on(in_root("dangling")));
  assert_false(is_on(in_root("dangling/below")));
  assert_int_equal(symlink("circle", in_root("circle")), 0);
  assert_false(is_on(in_root("circle")));
  write_whole(in_root("file"), "x", 1);
  assert_false(is_on(in_root("file")));
  assert_false(is_on(in_root("file/below")));
  assert_int_equal(mkfifo(in_root("fifo"), 0600), 0);
  assert_false(is_on(in_root("fifo")));
  assert_false(is_on("/proc/merbit"));
  assert_false(is_on(""));
}

static void owned_by_another(void **state) {
  (void)state;
  if (geteuid() != 0) {
    print_message("only root can give directories away\n");
    skip();
  }
  assert_true(is_on(in_root("theirs/mine")));
  assert_int_equal(chown(in_root("theirs"), NOBODY, NOBODY), 0);
  assert_false(is_on(in_root("theirs")));
  assert_false(is_on(in_root("theirs/mine")));
  assert_int_equal(chmod(in_root("theirs"), 01777), 0);
  assert_false(is_on(in_root("theirs/mine")));
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

static void expect_directory(const char *expected) {
  merbit_context *context = open_in(NULL);
  assert_string_equal(context->cache.directory, expected);
  assert_int_equal(expected[0] == '\0', context->cache.off_reason[0] != '\0');
  merbit_context_destroy(context);
}

static void environment(void **state) {
  const char *home = getenv("HOME"), *relative = strrchr(root, '/') + 1;
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
  setenv("HOME", relative, 1);
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
  assert_false(is_on(deep)); /* a component is too long for the file system */
  if (kept[0] != '\0') {
    setenv("HOME", kept, 1);
  }
}

static void long_but_legal(void **state) {
  char path[700];
  size_t length;
  (void)state;
  (void)snprintf(path, sizeof path, "%s", root);
  for (length = strlen(path); length < 600; length = strlen(path)) {
    (void)snprintf(path + length, sizeof path - length, "/%0100d", 7);
  }
  assert_false(is_on(path)); /* beyond the 511 bytes that merbit_context_info can tell */
  path[400] = '\0';
  assert_true(is_on(path));
}

static void with_umask(void **state) {
  const mode_t before = umask(0);
  merbit_context *context = open_in(in_root("p/q"));
  (void)state;
  assert_true(store(context, "key", "image"));
  assert_int_equal(mode_of(in_root("p")), 0700);
  assert_int_equal(mode_of(in_root("p/q")), 0700);
  assert_int_equal(mode_of(entry_path(context, "key")), 0600);
  (void)umask(0377);
  assert_true(store(context, "strict", "image"));
  assert_int_equal(load(context, "strict", "image"), 1);
  (void)umask(before);
  merbit_context_destroy(context);
}

static int in_child(int (*body)(void), int drop) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    if (drop && geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) != 0) {
      _exit(99);
    }
    _exit(body());
  }
  assert_true(child > 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static int read_only_body(void) {
  merbit_context *context = open_in(root);
  int result = context->cache.directory[0] == '\0';
  result += 2 * !load(context, "key", "image");
  result += 4 * store(context, "other", "image");
  result += 8 * load(context, "other", "image");
  merbit_context_destroy(context);
  return result;
}

/* Nothing can be written, but entries are read. */
static void read_only_directory(void **state) {
  merbit_context *context = open_in(root);
  (void)state;
  assert_true(store(context, "key", "image"));
  assert_int_equal(chmod(root, 0500), 0);
  if (geteuid() == 0) {
    assert_int_equal(chown(entry_path(context, "key"), NOBODY, NOBODY), 0);
    assert_int_equal(chown(root, NOBODY, NOBODY), 0);
  }
  merbit_context_destroy(context);
  assert_int_equal(in_child(read_only_body, 1), 0);
  assert_int_equal(chmod(root, 0700), 0);
}

/* Beyond RLIMIT_FSIZE the kernel would send SIGXFSZ. */
static int small_files_body(void) {
  struct rlimit limit;
  merbit_context *context = open_in(root);
  int result;
  limit.rlim_cur = limit.rlim_max = 64;
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
    return 99;
  }
  result = store(context, "key", "an image that does not fit");
  result += 2 * load(context, "key", "");
  result += 4 * (files_in(root) != 0);
  merbit_context_destroy(context);
  return result;
}

static void file_size_limit(void **state) {
  (void)state;
  assert_int_equal(in_child(small_files_body, 0), 0);
}

/* A file system that is full after 64 KiB, where root may mount one. */
static int full_disk_body(void) {
  char image[100001];
  merbit_context *context = open_in(root);
  int result;
  memset(image, 'i', sizeof image - 1);
  image[sizeof image - 1] = '\0';
  result = store(context, "key", image);
  result += 2 * load(context, "key", image);
  result += 4 * (files_in(root) != 0);
  result += 8 * !store(context, "small", "image");
  result += 16 * !load(context, "small", "image");
  merbit_context_destroy(context);
  return result;
}

static void full_disk(void **state) {
  int result;
  (void)state;
  if (mount("none", root, "tmpfs", 0, "size=64k,mode=0700") != 0) {
    print_message("no small file system can be mounted here: %s\n", strerror(errno));
    skip();
  }
  result = in_child(full_disk_body, 0);
  assert_int_equal(umount(root), 0);
  assert_int_equal(result, 0);
}

/* ---- Size ------------------------------------------------------------------------------- */

static void oldest_go_first(void **state) {
  merbit_context *context = open_in(root);
  char key[16], image[1001];
  int i;
  (void)state;
  memset(image, 'i', sizeof image - 1);
  image[sizeof image - 1] = '\0';
  for (i = 0; i < 10; i++) {
    (void)snprintf(key, sizeof key, "key %d", i);
    assert_true(store(context, key, image));
    set_age(entry_path(context, key), 1000 - i);
  }
  write_whole(in_root("not ours.txt"), image, 1000);
  assert_int_equal(load(context, "key 0", image), 1); /* now it was used last */
  context->cache.max_bytes = 5 * (1000 + HEAD + 5);
  assert_true(store(context, "key z", image));
  assert_int_equal(files_in(root), 5 + 1);
  assert_true(exists(entry_path(context, "key 0")));
  assert_true(exists(entry_path(context, "key z")));
  assert_true(exists(entry_path(context, "key 7")));
  assert_false(exists(entry_path(context, "key 1")));
  assert_false(exists(entry_path(context, "key 6")));
  assert_int_equal(load(context, "key z", image), 1);
  context->cache.max_bytes = 1000;
  assert_true(store(context, "key y", image)); /* larger than the cap: not stored */
  assert_false(exists(entry_path(context, "key y")));
  merbit_context_destroy(context);
}

/* More entries than the list of files has room for at first. */
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

static void temporaries(void **state) {
  merbit_context *context = open_in(root);
  (void)state;
  write_whole(in_root(".merbit-0123456789abcdef"), "half", 4);
  write_whole(in_root(".merbit-fedcba9876543210"), "half", 4);
  write_whole(in_root(".other"), "half", 4);
  set_age(in_root(".merbit-0123456789abcdef"), 3700);
  set_age(in_root(".merbit-fedcba9876543210"), 3500);
  set_age(in_root(".other"), 100000);
  assert_true(store(context, "key", "image"));
  assert_false(exists(in_root(".merbit-0123456789abcdef")));
  assert_true(exists(in_root(".merbit-fedcba9876543210")));
  assert_true(exists(in_root(".other")));
  merbit_context_destroy(context);
}

/* ---- Company ---------------------------------------------------------------------------- */

/* Whoever comes first stores; all agree on the contents. */
static int cold_start_body(void) {
  merbit_context *context = open_in(in_root("shared/by/all"));
  int i, result = 0;
  for (i = 0; i < 20; i++) {
    char key[16], image[64];
    (void)snprintf(key, sizeof key, "key %d", i % 3);
    (void)snprintf(image, sizeof image, "image of %s", key);
    if (!load(context, key, image)) {
      result += !store(context, key, image);
      result += !load(context, key, image);
    }
  }
  result += context->cache.errors != 0;
  merbit_context_destroy(context);
  return result;
}

static void many_processes(void **state) {
  pid_t children[16];
  int i;
  (void)state;
  for (i = 0; i < 16; i++) {
    children[i] = fork();
    if (children[i] == 0) {
      _exit(cold_start_body());
    }
    assert_true(children[i] > 0);
  }
  for (i = 0; i < 16; i++) {
    int status = 0;
    assert_int_equal(waitpid(children[i], &status, 0), children[i]);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  assert_int_equal(files_in(in_root("shared/by/all")), 3);
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

static int allocations_left;

static void *scarce_allocate(void *user, size_t bytes) {
  (void)user;
  return allocations_left-- > 0 ? malloc(bytes) : NULL;
}

static void scarce_release(void *user, void *memory) {
  (void)user;
  free(memory);
}

static void no_memory(void **state) {
  merbit_context *context = open_in(root);
  (void)state;
  assert_true(store(context, "key", "image"));
  context->allocator.allocate = scarce_allocate;
  context->allocator.release = scarce_release;
  allocations_left = 0;
  assert_int_equal(load(context, "key", "image"), 0);
  assert_true(exists(entry_path(context, "key"))); /* nothing is wrong with it */
  assert_false(store(context, "other", "image"));  /* stored, but not tidied */
  allocations_left = 1;
  assert_int_equal(load(context, "key", "image"), 1);
  merbit_context_destroy(context);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(store_and_load),
      TEST(every_byte_flipped),
      TEST(every_length),
      TEST(entries_swapped),
      TEST(other_formats),
      TEST(not_a_file),
      TEST(others_may_write_it),
      TEST(enormous_entry),
      TEST(directories),
      TEST(owned_by_another),
      TEST(resolved_path_is_told),
      TEST(environment),
      TEST(long_but_legal),
      TEST(with_umask),
      TEST(read_only_directory),
      TEST(file_size_limit),
      TEST(full_disk),
      TEST(oldest_go_first),
      TEST(many_entries),
      TEST(temporaries),
      TEST(many_processes),
      TEST(many_threads),
      TEST(off_is_silent),
      TEST(no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
