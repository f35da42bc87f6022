/* Tools that the tests of the cubin cache share: a fresh directory for each test, removed
 * however the program ends; contexts with a cache; entries as files; children. Include merbit.h
 * and cmocka.h first. */
#ifndef TEST_JIT_CACHE_BED_H
#define TEST_JIT_CACHE_BED_H
#include "support/cpu.h"
#include "support/effort.h"
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>

#define HEAD ((int)sizeof(mbi_cache_head))
#define NOBODY 65534

static char base[128]; /* of this program */
static char root[160]; /* of this test */
static int janitor[2];

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *where) {
  (void)where;
  if (kind == FTW_DNR || S_ISDIR(facts->st_mode)) {
    (void)chmod(path, 0700);
  }
  (void)remove(path);
  return 0;
}

/* Opens directories first, so that their contents can be listed and removed. */
static int open_up(const char *path, const struct stat *facts, int kind, struct FTW *where) {
  (void)kind;
  (void)where;
  return S_ISDIR(facts->st_mode) ? chmod(path, 0700) : 0;
}

static void remove_tree(const char *path) {
  (void)nftw(path, open_up, 16, FTW_PHYS);
  (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Starts a child that waits for the end of this program, even by a signal, and removes what is
 * left. It has no standard output, because ctest waits until that is closed. */
static int start_janitor(void) {
  if (pipe2(janitor, O_CLOEXEC) != 0) {
    return -1;
  }
  switch (fork()) {
  case -1:
    return -1;
  case 0: {
    char byte;
    const int nowhere = open("/dev/null", O_RDWR);
    (void)setsid();
    (void)dup2(nowhere, 0);
    (void)dup2(nowhere, 1);
    (void)dup2(nowhere, 2);
    (void)close(janitor[1]);
    while (read(janitor[0], &byte, 1) < 0 && errno == EINTR) {
    }
    remove_tree(base);
    _exit(0);
  }
  default:
    return close(janitor[0]);
  }
}

static int bed_begin(void **state) {
  static int count;
  (void)state;
  (void)snprintf(root, sizeof root, "%s/%d", base, count++);
  return mkdir(root, 0700);
}

static int bed_end(void **state) {
  (void)state;
  unsetenv("MERBIT_CACHE_DIR");
  unsetenv("XDG_CACHE_HOME");
  (void)umask(022);
  remove_tree(root);
  return access(root, F_OK) == 0 ? -1 : 0;
}

static const char *in_root(const char *name) {
  static char paths[8][512];
  static int next;
  char *path = paths[next++ % 8];
  (void)snprintf(path, sizeof paths[0], "%s/%s", root, name);
  return path;
}

/* ---- Contexts ---------------------------------------------------------------------------- */

TEST_UNUSED static merbit_context *open_capped(const char *directory, int64_t cap) {
  merbit_context_desc desc = cpu_desc(NULL, 1);
  merbit_context *context;
  desc.cache_dir = directory;
  desc.cache_max_bytes = cap;
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  mbi_cache_open(context, &desc);
  assert_int_equal(context->cache.directory[0] != '\0', context->cache.off_reason[0] == '\0');
  return context;
}

TEST_UNUSED static merbit_context *open_in(const char *directory) {
  return open_capped(directory, 0);
}

TEST_UNUSED static int is_on(const char *directory) {
  merbit_context *context = open_in(directory);
  const int on = context->cache.directory[0] != '\0';
  merbit_context_destroy(context);
  return on;
}

/* ---- Entries ----------------------------------------------------------------------------- */

/* Stores an entry. Returns whether no error was counted. */
TEST_UNUSED static int store(merbit_context *context, const char *key, const char *image) {
  const int64_t errors = context->cache.errors;
  mbi_cache_store(context, key, strlen(key), image, strlen(image));
  return context->cache.errors == errors;
}

/* Returns 1 for exactly `image`, 0 for a miss, and -1 for anything else, which no test
 * expects. */
TEST_UNUSED static int load(merbit_context *context, const char *key, const char *image) {
  const int64_t hits = context->cache.hits, misses = context->cache.misses;
  void *found;
  size_t size;
  const int hit = mbi_cache_load(context, key, strlen(key), &found, &size);
  int result = hit;
  if (context->cache.hits != hits + hit || context->cache.misses != misses + !hit) {
    result = -1;
  } else if (!hit) {
    result = found == NULL && size == 0 ? 0 : -1;
  } else if (size != strlen(image) || memcmp(found, image, size) != 0) {
    result = -1;
  }
  mbi_release(context, found);
  return result;
}

TEST_UNUSED static const char *entry_path(merbit_context *context, const char *key) {
  static char paths[4][MBI_PATH_SIZE];
  static int next;
  char *path = paths[next++ % 4];
  mbi_cache_path(context, key, strlen(key), path, MBI_PATH_SIZE);
  return path;
}

/* ---- Files ------------------------------------------------------------------------------- */

TEST_UNUSED static int exists(const char *path) {
  struct stat facts;
  return lstat(path, &facts) == 0;
}

TEST_UNUSED static int mode_of(const char *path) {
  struct stat facts;
  assert_int_equal(lstat(path, &facts), 0);
  return (int)(facts.st_mode & 07777);
}

TEST_UNUSED static size_t read_whole(const char *path, char *data, size_t room) {
  FILE *file = fopen(path, "rb");
  size_t size;
  assert_non_null(file);
  size = fread(data, 1, room, file);
  (void)fclose(file);
  return size;
}

TEST_UNUSED static void write_whole(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(chmod(path, 0600), 0);
}

typedef struct census { /* contents of a directory */
  int files, temporaries;
  int64_t bytes; /* of the files that are not temporaries */
} census;

TEST_UNUSED static census count_files(const char *directory) {
  DIR *open = opendir(directory);
  const struct dirent *entry;
  census result = {0, 0, 0};
  while (open != NULL && (entry = readdir(open)) != NULL) {
    struct stat facts;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
        fstatat(dirfd(open), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    result.files++;
    if (strncmp(entry->d_name, MBI_TEMPORARY, strlen(MBI_TEMPORARY)) == 0) {
      result.temporaries++;
    } else {
      result.bytes += facts.st_size;
    }
  }
  if (open != NULL) {
    (void)closedir(open);
  }
  return result;
}

TEST_UNUSED static int files_in(const char *directory) {
  return count_files(directory).files;
}

/* A negative age is a time in the future. */
TEST_UNUSED static void set_age(const char *path, time_t seconds) {
  struct timespec times[2];
  (void)clock_gettime(CLOCK_REALTIME, &times[0]);
  times[0].tv_sec -= seconds;
  times[1] = times[0];
  assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

/* ---- Children ---------------------------------------------------------------------------- */

#define CHILD_CANNOT 99 /* exit status of a body that cannot be tested here */

/* Returns a child's exit status; a body succeeds with 0. A child must not use cmocka's
 * assertions. */
TEST_UNUSED static int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

/* With `drop`, root becomes an ordinary user in the child. */
TEST_UNUSED static int in_child(int (*body)(void), int drop) {
  const pid_t child = fork();
  if (child == 0) {
    if (drop && geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) != 0) {
      _exit(CHILD_CANNOT);
    }
    _exit(body());
  }
  assert_true(child > 0);
  return wait_for(child);
}

/* Returns whether this is root, who alone can give files away; if not, prints what is left
 * out. */
TEST_UNUSED static int root_only(const char *what) {
  if (geteuid() != 0) {
    print_message("%s: only root can give files away\n", what);
    return 0;
  }
  return 1;
}

/* Makes later mounts visible to this process and its children only; they vanish with them. */
TEST_UNUSED static int own_mounts(void) {
  return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

TEST_UNUSED static int mount_tmpfs(const char *options) {
  return own_mounts() && mount("none", root, "tmpfs", 0, options) == 0;
}

/* Returns memory that children share. */
TEST_UNUSED static void *shared_memory(size_t size) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(memory != MAP_FAILED);
  return memory;
}

/* ---- Running ----------------------------------------------------------------------------- */

#define BED_TEST(name) cmocka_unit_test_setup_teardown(name, bed_begin, bed_end)

/* Returns whether a cache works in a new directory `base` in `place`. */
static int bed_try(const char *place) {
  if (place == NULL || place[0] != '/' ||
      (size_t)snprintf(base, sizeof base, "%s/merbit-cache-XXXXXX", place) >= sizeof base ||
      mkdtemp(base) == NULL) {
    return 0;
  }
  if (!is_on(base)) {
    (void)rmdir(base);
    return 0;
  }
  return 1;
}

/* Makes `base`, in TMPDIR if that is set, else in `wish` (or NULL). Returns 77, ctest's code
 * for a skip, if no directory here is suitable. */
static int bed_open(const char *wish) {
  if (!bed_try(getenv("TMPDIR")) && !bed_try(wish) && !bed_try("/tmp")) {
    (void)printf("skipped: neither TMPDIR nor /tmp is safe from other users\n");
    return 77;
  }
  return start_janitor() == 0 ? 0 : 1;
}

/* Returns the program's exit status, given the number of failed tests. */
static int bed_close(int failed) {
  remove_tree(base);
  return failed;
}

#endif /* TEST_JIT_CACHE_BED_H */
