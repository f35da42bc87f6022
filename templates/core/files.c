#include "core/context.h"

/* ---- Private files: the cubin cache and dumps. Results are 0 or an errno. ---------------- */

#define MBI_COUNTED_BYTES ((int64_t)1 << 40)

/* Returns why other users could put files into a directory, or NULL if only this user and root
 * can. A directory on the way to the last one may be sticky: there, others can neither rename
 * nor remove this user's files. For a symbolic link, its owner must be trusted, because the
 * owner chooses where it leads. */
static const char *mbi_directory_fault(const struct stat *facts, int last) {
  if (!S_ISDIR(facts->st_mode) && !S_ISLNK(facts->st_mode)) {
    return "is not a directory";
  }
  if (facts->st_uid != geteuid() && (last || facts->st_uid != 0)) {
    return "belongs to another user";
  }
  if (S_ISDIR(facts->st_mode) && (facts->st_mode & 022) != 0 &&
      (last || (facts->st_mode & S_ISVTX) == 0)) {
    return "is writable by others";
  }
  return NULL;
}

/* Replaces the symbolic link path[0..end) by its target. Returns 0 or an errno. */
MBI_INTERNAL int mbi_link_replace(char *path, size_t size, size_t end) {
  char target[PATH_MAX], rest[PATH_MAX];
  ssize_t length;
  (void)snprintf(rest, sizeof rest, "%s", path + end);
  path[end] = '\0';
  length = readlink(path, target, sizeof target);
  if (length < 0 || (size_t)length >= sizeof target) {
    return length < 0 ? errno : ENAMETOOLONG;
  }
  target[length] = '\0';
  while (target[0] != '/' && end > 0 && path[end - 1] != '/') {
    end--; /* a relative target begins beside the link */
  }
  end = target[0] == '/' ? 0 : end;
  length = snprintf(path + end, size - end, "%s%s", target, rest);
  return (size_t)length >= size - end ? ENAMETOOLONG : 0;
}

/* Examines path[0..end). Creates the directory if it is missing and `create` is set. */
static int mbi_directory_inspect(const char *path, size_t end, int create, struct stat *facts) {
  char part[MBI_PATH_SIZE];
  memcpy(part, path, end);
  part[end] = '\0';
  if (lstat(part, facts) == 0) {
    return 0;
  }
  if (errno != ENOENT || !create) {
    return errno;
  }
  /* The umask may have removed too many bits. */
  if (mkdir(part, 0700) == 0 && chmod(part, 0700) != 0) {
    return errno;
  }
  return lstat(part, facts) == 0 ? 0 : errno;
}

/* Checks the absolute `path`, a buffer of MBI_PATH_SIZE bytes, part by part, and replaces its
 * links. If `create` is set, makes missing directories, but none below a part that others
 * control. Returns NULL if the directory is safe. Otherwise cuts `path` after the faulty part
 * and returns what is wrong with it; *error is an errno or 0. */
MBI_INTERNAL const char *mbi_directory_distrust(char *path, int create, int *error) {
  const char *fault = NULL;
  size_t end = 1;
  int links = 0, last = 0;
  *error = path[0] == '/' ? 0 : EINVAL;
  while (*error == 0 && fault == NULL && !last) {
    struct stat facts;
    *error = mbi_directory_inspect(path, end, create, &facts);
    if (*error != 0) {
      break;
    }
    last = path[end] == '\0' && S_ISDIR(facts.st_mode);
    fault = mbi_directory_fault(&facts, last);
    if (fault == NULL && S_ISLNK(facts.st_mode)) {
      *error = ++links > MBI_MAX_LINKS ? ELOOP : mbi_link_replace(path, MBI_PATH_SIZE, end);
      end = *error == 0 ? 1 : end; /* check the whole new path */
    } else if (fault == NULL && !last) {
      end += path[end] == '/';
      end += strcspn(path + end, "/");
    }
  }
  if (*error != 0 || fault != NULL) {
    path[end] = '\0';
  }
  return *error != 0 ? "cannot be created or examined" : fault;
}

MBI_INTERNAL int mbi_path_absolute(const char *path, char *absolute, size_t size) {
  char here[MBI_PATH_SIZE];
  here[0] = '\0';
  if (path[0] != '/' && getcwd(here, sizeof here - 1) == NULL) {
    (void)snprintf(absolute, size, "%s", path);
    return errno;
  }
  (void)strcat(here, here[0] != '\0' ? "/" : "");
  return (size_t)snprintf(absolute, size, "%s%s", here, path) >= size ? ENAMETOOLONG : 0;
}

/* Writes the absolute path without symbolic links. */
MBI_INTERNAL int mbi_directory_resolve(const char *path, char *resolved, size_t size) {
  char buffer[PATH_MAX];
  if (realpath(path, buffer) == NULL) {
    return errno;
  }
  if (strlen(buffer) >= size) {
    return ENAMETOOLONG;
  }
  memcpy(resolved, buffer, strlen(buffer) + 1);
  return 0;
}

/* Reads a whole regular file that this user owns and others cannot write, and updates its time
 * for mbi_directory_trim. Returns EINVAL if it is another kind of file, if it exceeds `limit`
 * bytes, or if it shrank while it was read. */
MBI_INTERNAL int mbi_private_read(merbit_context *context, const char *path, uint64_t limit,
                                  void **data, size_t *size) {
  const int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  struct stat facts;
  size_t done = 0;
  int error = 0;
  *data = NULL;
  *size = 0;
  if (file < 0) {
    return errno;
  }
  if (fstat(file, &facts) != 0) {
    error = errno;
  } else if (!S_ISREG(facts.st_mode) || facts.st_uid != geteuid() ||
             (facts.st_mode & 022) != 0 || facts.st_size < 0 ||
             (uint64_t)facts.st_size > limit) {
    error = EINVAL;
  } else if ((*data = mbi_allocate(context, (size_t)facts.st_size)) == NULL) {
    error = ENOMEM;
  }
  while (error == 0 && done < (size_t)facts.st_size) {
    const ssize_t got = read(file, (char *)*data + done, (size_t)facts.st_size - done);
    if (got > 0) {
      done += (size_t)got;
    } else if (got == 0 || errno != EINTR) {
      error = got == 0 ? EINVAL : errno;
    }
  }
  if (error == 0) {
    (void)futimens(file, NULL);
    *size = done;
  } else {
    mbi_release(context, *data);
    *data = NULL;
  }
  (void)close(file);
  return error;
}

/* Appends to a new file that has *length bytes so far. Returns EFBIG if the file would exceed
 * RLIMIT_FSIZE, because the system would end the process with a signal. */
MBI_INTERNAL int mbi_file_append(int file, uint64_t *length, const void *data, size_t size) {
  struct rlimit limit;
  size_t done = 0;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      *length + size > (uint64_t)limit.rlim_cur) {
    return EFBIG;
  }
  while (done < size) {
    const ssize_t put = write(file, (const char *)data + done, size - done);
    if (put > 0) {
      done += (size_t)put;
    } else if (put == 0 || errno != EINTR) {
      return put == 0 ? EIO : errno;
    }
  }
  *length += size;
  return 0;
}

/* Creates a new file in `directory` under an unpredictable name and writes its path to
 * `path`. */
MBI_INTERNAL int mbi_temporary_create(const char *directory, char *path, size_t size,
                                      int *file) {
  int attempt, error = EEXIST;
  for (attempt = 0; attempt < 16 && error == EEXIST; attempt++) {
    struct timespec now;
    mbi_hash hash = mbi_hash_start();
    const pid_t process = getpid();
    (void)clock_gettime(CLOCK_REALTIME, &now);
    hash = mbi_hash_add(hash, &now, sizeof now);
    hash = mbi_hash_add(hash, &process, sizeof process);
    hash = mbi_hash_add(hash, &path, sizeof path); /* an address of this thread's stack */
    hash = mbi_hash_add(hash, &attempt, sizeof attempt);
    if ((size_t)snprintf(path, size, "%s/" MBI_TEMPORARY "%016" PRIx64, directory,
                         hash.high ^ hash.low) >= size) {
      return ENAMETOOLONG;
    }
    *file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    error = *file < 0 ? errno : 0;
  }
  return error;
}

/* Writes the pieces to `directory`/`name`, completely or not at all, even if other processes
 * write there. */
MBI_INTERNAL int mbi_private_write(const char *directory, const char *name,
                                   const mbi_piece *pieces, int count) {
  char temporary[MBI_PATH_SIZE], path[MBI_PATH_SIZE];
  uint64_t length = 0;
  int file = -1, error, i;
  if ((size_t)snprintf(path, sizeof path, "%s/%s", directory, name) >= sizeof path) {
    return ENAMETOOLONG;
  }
  error = mbi_temporary_create(directory, temporary, sizeof temporary, &file);
  if (error != 0) {
    return error;
  }
  if (fchmod(file, 0600) != 0) { /* the umask may have removed too many bits */
    error = errno;
  }
  for (i = 0; i < count && error == 0; i++) {
    error = mbi_file_append(file, &length, pieces[i].data, pieces[i].size);
  }
  if (error == 0 && fsync(file) != 0) {
    error = errno;
  }
  if (close(file) != 0 && error == 0) {
    error = errno;
  }
  if (error == 0 && rename(temporary, path) != 0) {
    error = errno;
  }
  if (error != 0) {
    (void)unlink(temporary);
  }
  return error;
}

/* Removes a file. A missing file is no error. */
MBI_INTERNAL int mbi_file_remove(const char *path) {
  return unlink(path) == 0 || errno == ENOENT ? 0 : errno;
}

/* ---- Limiting a directory's size --------------------------------------------------------- */

typedef struct mbi_aged { /* one file of a directory */
  struct timespec used;
  int64_t bytes;
  char name[64];
} mbi_aged;

static int mbi_aged_compare(const void *left, const void *right) {
  const mbi_aged *a = (const mbi_aged *)left, *b = (const mbi_aged *)right;
  if (a->used.tv_sec != b->used.tv_sec) {
    return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
  }
  if (a->used.tv_nsec != b->used.tv_nsec) {
    return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
  }
  return strcmp(a->name, b->name);
}

/* Makes space in the list for one more file. Doubles a full list. */
static int mbi_aged_grow(merbit_context *context, mbi_aged **files, size_t count,
                         size_t *capacity) {
  const size_t more = *capacity > 0 ? 2 * *capacity : 256;
  mbi_aged *grown;
  if (count < *capacity) {
    return 0;
  }
  grown = (mbi_aged *)mbi_allocate(context, more * sizeof *grown);
  if (grown == NULL) {
    return ENOMEM;
  }
  if (count > 0) {
    memcpy(grown, *files, count * sizeof *grown);
  }
  mbi_release(context, *files);
  *files = grown;
  *capacity = more;
  return 0;
}

/* Lists the regular files named *suffix, and removes left-over temporary files. A time in the
 * future counts as the oldest, because a wrong clock would otherwise keep the file forever. */
static int mbi_directory_list(merbit_context *context, DIR *directory, const char *suffix,
                              mbi_aged **files, size_t *count) {
  const struct dirent *entry;
  size_t capacity = 0;
  int error = 0;
  struct timespec now;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  while (error == 0 && (entry = readdir(directory)) != NULL) {
    const size_t length = strlen(entry->d_name), tail = strlen(suffix);
    const int temporary = strncmp(entry->d_name, MBI_TEMPORARY, sizeof(MBI_TEMPORARY) - 1) == 0;
    struct stat facts;
    int future;
    if ((!temporary &&
         (length <= tail || strcmp(entry->d_name + length - tail, suffix) != 0)) ||
        length >= sizeof(*files)->name ||
        fstatat(dirfd(directory), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(facts.st_mode)) {
      continue;
    }
    future = facts.st_mtim.tv_sec - now.tv_sec > MBI_TEMPORARY_SECONDS;
    if (temporary) {
      if (future || now.tv_sec - facts.st_mtim.tv_sec > MBI_TEMPORARY_SECONDS) {
        (void)unlinkat(dirfd(directory), entry->d_name, 0);
      }
      continue;
    }
    error = mbi_aged_grow(context, files, *count, &capacity);
    if (error == 0) {
      mbi_aged *file = &(*files)[(*count)++];
      file->used = facts.st_mtim;
      file->used.tv_sec = future ? 0 : facts.st_mtim.tv_sec;
      file->bytes = facts.st_size < MBI_COUNTED_BYTES ? facts.st_size : MBI_COUNTED_BYTES;
      memcpy(file->name, entry->d_name, length + 1);
    }
  }
  return error;
}

/* Removes the files named *suffix that have been unused for longest, until the rest has at most
 * `cap` bytes. Also removes temporary files of dead writers. Other processes may do the same at
 * the same time. */
MBI_INTERNAL int mbi_directory_trim(merbit_context *context, const char *path,
                                    const char *suffix, int64_t cap) {
  mbi_aged *files = NULL;
  size_t count = 0, i;
  int64_t total = 0;
  DIR *directory = opendir(path);
  int error;
  if (directory == NULL) {
    return errno;
  }
  error = mbi_directory_list(context, directory, suffix, &files, &count);
  for (i = 0; i < count; i++) {
    total += files[i].bytes;
  }
  if (total > cap) {
    qsort(files, count, sizeof *files, mbi_aged_compare);
  }
  for (i = 0; i < count && total > cap; i++) {
    if (unlinkat(dirfd(directory), files[i].name, 0) != 0 && errno != ENOENT) {
      error = errno;
    }
    total -= files[i].bytes;
  }
  (void)closedir(directory);
  mbi_release(context, files);
  return error;
}

/* ---- Finding libraries ------------------------------------------------------------------- */

/* Writes a shell pattern that matches only `text`. Returns its length, or `size` if it is too
 * long. */
MBI_INTERNAL size_t mbi_pattern_of(const char *text, char *pattern, size_t size) {
  size_t length = 0;
  for (; *text != '\0'; text++) {
    if (length + 2 >= size) {
      return size;
    }
    if (strchr("*?[\\", *text) != NULL) {
      pattern[length++] = '\\';
    }
    pattern[length++] = *text;
  }
  pattern[length] = '\0';
  return length;
}

/* Calls `take` for each existing file that matches a shell pattern, in order, until it
 * returns nonzero. Returns the last result. */
MBI_INTERNAL int mbi_files_matching(const char *pattern,
                                    int (*take)(void *user, const char *path), void *user) {
  glob_t found;
  int taken = 0;
  size_t i;
  if (glob(pattern, 0, NULL, &found) != 0) {
    return 0;
  }
  for (i = 0; i < found.gl_pathc && taken == 0; i++) {
    taken = take(user, found.gl_pathv[i]);
  }
  globfree(&found);
  return taken;
}

/* Writes the path where the loader found an open library, or "" if that is unknown. */
MBI_INTERNAL void mbi_library_path(void *library, char *path, size_t size) {
  struct link_map *map = NULL;
  const int known = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != NULL;
  (void)snprintf(path, size, "%s", known ? map->l_name : "");
}

/* Keeps a library in memory after its last close. Needed for libraries that own threads, exit
 * handlers or memory, or that take long to load. */
MBI_INTERNAL void mbi_library_keep(void *library) {
  char path[MBI_PATH_SIZE];
  mbi_library_path(library, path, sizeof path);
  if (path[0] != '\0') {
    mbi_library_close(dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE));
  }
}
