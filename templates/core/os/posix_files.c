#include "core/context.h"

/* Linux and macOS: paths, files and directories. */
#ifndef _WIN32
#define MBI_LATEST_SECONDS 9000000000 /* in the year 2255; fits an int64_t in ns */

/* ---- Paths ------------------------------------------------------------------------------- */

MBI_INTERNAL int mbi_path_is_absolute(const char *path) {
  return path[0] == '/';
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

/* Writes the default directory for this user's cubins. Returns NULL, or why there is none. */
MBI_INTERNAL const char *mbi_user_cache(char *path, size_t size) {
  const char *base = mbi_environment("XDG_CACHE_HOME"), *below = "/merbit";
  if (base == NULL || base[0] != '/') {
    base = mbi_environment("HOME");
    below = "/.cache/merbit";
  }
  if (base == NULL || base[0] != '/') {
    return "neither MERBIT_CACHE_DIR nor an absolute XDG_CACHE_HOME or HOME is set";
  }
  return (size_t)snprintf(path, size, "%s%s", base, below) >= size
             ? "the directory's path is too long"
             : NULL;
}

/* ---- Reading ----------------------------------------------------------------------------- */

/* Opens a file for reading. *size is 0 if it is unknown, as for pipes and files in /proc. */
MBI_INTERNAL int mbi_file_open(const char *path, int *file, int64_t *size) {
  struct stat facts;
  int error = 0;
  *size = 0;
  do { /* opening a pipe waits for its writer, and a signal may interrupt that */
    *file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  } while (*file < 0 && errno == EINTR);
  if (*file < 0) {
    return errno;
  }
  if (fstat(*file, &facts) != 0) {
    error = errno;
  } else if (S_ISDIR(facts.st_mode)) {
    error = EISDIR;
  } else if (S_ISREG(facts.st_mode)) {
    *size = (int64_t)facts.st_size;
  }
  if (error != 0) {
    (void)close(*file);
  }
  return error;
}

/* Opens a regular file that belongs to this user and that others cannot write. Returns EINVAL
 * if it is another kind of file. */
MBI_INTERNAL int mbi_private_open(const char *path, int *file, int64_t *size) {
  struct stat facts;
  int error;
  *file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (*file < 0) {
    return errno;
  }
  error = fstat(*file, &facts) != 0 ? errno : 0;
  if (error == 0 &&
      (!S_ISREG(facts.st_mode) || facts.st_uid != geteuid() || (facts.st_mode & 022) != 0)) {
    error = EINVAL;
  }
  *size = error == 0 ? (int64_t)facts.st_size : 0;
  if (error != 0) {
    (void)close(*file);
  }
  return error;
}

/* Reads from a file, as a merbit_read_callback. `user` points to the descriptor. If it returns
 * -1, errno is set. */
MBI_INTERNAL int64_t mbi_file_read(void *user, void *data, size_t size) {
  const int file = *(const int *)user;
  ssize_t got;
  do {
    got = read(file, data, size);
  } while (got < 0 && errno == EINTR);
  return (int64_t)got;
}

/* Sets the file's time to now. */
MBI_INTERNAL void mbi_file_touch(int file) {
  (void)futimens(file, NULL);
}

MBI_INTERNAL void mbi_file_close(int file) {
  (void)close(file);
}

/* ---- Writing ----------------------------------------------------------------------------- */

/* Creates a file that does not exist yet. A private one is open to this user at most: the umask
 * may remove more bits, until mbi_file_permit. */
MBI_INTERNAL int mbi_file_create(const char *path, int private_file, int *file) {
  *file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, private_file ? 0600 : 0666);
  return *file < 0 ? errno : 0;
}

/* Gives a new file its permissions. */
MBI_INTERNAL int mbi_file_permit(int file, int mode) {
  return fchmod(file, (mode_t)mode) == 0 ? 0 : errno;
}

/* Appends to a new file that has *length bytes so far. Returns EFBIG if the file would exceed
 * RLIMIT_FSIZE, for which the system would otherwise kill the process with a signal. */
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

/* Closes the new file at `path` and renames it to `target`. If `error` is not 0 or something
 * fails, removes it instead. Returns `error`, or the errno of the failure. */
MBI_INTERNAL int mbi_file_end(int file, const char *path, const char *target, int error) {
  if (error == 0 && fsync(file) != 0) {
    error = errno;
  }
  if (close(file) != 0 && error == 0) {
    error = errno;
  }
  if (error == 0 && rename(path, target) != 0) {
    error = errno;
  }
  if (error != 0) {
    (void)unlink(path);
  }
  return error;
}

/* Removes a file. Succeeds if there is none. */
MBI_INTERNAL int mbi_file_remove(const char *path) {
  return unlink(path) == 0 || errno == ENOENT ? 0 : errno;
}

/* Replaces `target`, a buffer of `size` bytes, by the file to which its symbolic links lead.
 * Returns ENOENT if the last link leads nowhere. */
static int mbi_links_follow(char *target, size_t size) {
  int links, error = 0;
  for (links = 0; error == 0; links++) {
    struct stat facts;
    if (lstat(target, &facts) != 0) {
      return errno;
    }
    if (!S_ISLNK(facts.st_mode)) {
      return 0;
    }
    error = links < MBI_MAX_LINKS ? mbi_link_replace(target, size, strlen(target)) : ELOOP;
  }
  return error;
}

/* Finds the file that a write to `path` would change. Writes its path, with links followed, to
 * `target`, and its permissions to *mode; -1 if there is no file yet. It must be a regular file
 * that the user may write. Returns ENOTSUP for a device or a pipe. */
MBI_INTERNAL int mbi_file_target(const char *path, char *target, size_t size, int *mode) {
  struct stat facts;
  const int exists = stat(path, &facts) == 0;
  int error = exists ? 0 : errno;
  if (!exists && error != ENOENT) {
    return error; /* perhaps the system forbids to follow a link */
  }
  *mode = exists ? (int)(facts.st_mode & 0777) : -1;
  if (exists && !S_ISREG(facts.st_mode)) {
    return S_ISDIR(facts.st_mode) ? EISDIR : ENOTSUP;
  }
  if ((size_t)snprintf(target, size, "%s", path) >= size) {
    return ENAMETOOLONG;
  }
  error = mbi_links_follow(target, size);
  if (error == ENOENT && !exists && path[0] != '\0') {
    return 0;
  }
  if (error == 0 && exists && faccessat(AT_FDCWD, target, W_OK, AT_EACCESS) != 0) {
    error = errno;
  }
  return error;
}

/* ---- Directories ------------------------------------------------------------------------- */

MBI_INTERNAL int mbi_directory_open(mbi_directory *directory, const char *path) {
  directory->error = 0;
  directory->stream = opendir(path);
  return directory->stream == NULL ? errno : 0;
}

/* Keeps the first failure. A file that another process has removed is none. */
static void mbi_directory_note(mbi_directory *directory, int error) {
  if (directory->error == 0 && error != ENOENT) {
    directory->error = error;
  }
}

/* Finds the next regular file. Returns 1, or 0 at the end. Skips what cannot be examined, and
 * notes that in directory->error. */
MBI_INTERNAL int mbi_directory_next(mbi_directory *directory, mbi_entry *entry) {
  for (;;) {
    const struct dirent *next;
    size_t length;
    struct stat facts;
    struct timespec written;
    errno = 0;
    next = readdir(directory->stream);
    if (next == NULL) {
      mbi_directory_note(directory, errno);
      return 0;
    }
    length = strlen(next->d_name);
    if (length >= sizeof entry->name) {
      continue;
    }
    if (fstatat(dirfd(directory->stream), next->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) {
      mbi_directory_note(directory, errno);
      continue;
    }
    if (!S_ISREG(facts.st_mode)) {
      continue;
    }
#ifdef __APPLE__
    written = facts.st_mtimespec;
#else
    written = facts.st_mtim;
#endif
    memcpy(entry->name, next->d_name, length + 1);
    entry->bytes = (int64_t)facts.st_size;
    entry->written = written.tv_sec < 0 ? 0
                     : written.tv_sec > MBI_LATEST_SECONDS
                         ? INT64_MAX
                         : written.tv_sec * INT64_C(1000000000) + written.tv_nsec;
    return 1;
  }
}

/* Removes a file of the directory. Succeeds if there is none. */
MBI_INTERNAL int mbi_directory_remove(mbi_directory *directory, const char *name) {
  return unlinkat(dirfd(directory->stream), name, 0) == 0 || errno == ENOENT ? 0 : errno;
}

MBI_INTERNAL void mbi_directory_close(mbi_directory *directory) {
  (void)closedir(directory->stream);
}

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

#endif
