#include "core/context.h"

/* Files that the user names. Results are 0 or an errno unless stated otherwise. */

/* Opens a file for reading. *size is 0 if it is unknown, as for pipes and for files that the
 * kernel generates. */
MBI_INTERNAL int mbi_file_open(const char *path, int *file, int64_t *size) {
  struct stat facts;
  int error = 0;
  *size = 0;
  *file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
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

/* Reads from the descriptor that `user` points to, as a merbit_read_callback. If it returns -1,
 * errno is set. */
MBI_INTERNAL int64_t mbi_file_read(void *user, void *data, size_t size) {
  const int file = *(const int *)user;
  ssize_t got;
  do {
    got = read(file, data, size);
  } while (got < 0 && errno == EINTR);
  return (int64_t)got;
}

MBI_INTERNAL void mbi_file_close(int file) {
  (void)close(file);
}

/* Writes to the mbi_replacement `user`, as a merbit_write_callback. If it returns nonzero,
 * errno is set. */
MBI_INTERNAL int mbi_replacement_write(void *user, const void *data, size_t size) {
  mbi_replacement *r = (mbi_replacement *)user;
  errno = mbi_file_append(r->file, &r->length, data, size);
  return errno != 0 ? -1 : 0;
}

/* Follows links from the path to the target. Returns ENOENT if there is none yet. */
static int mbi_replacement_find(mbi_replacement *r, const char *path) {
  int links, error = 0;
  if (strlen(path) >= sizeof r->target) {
    return ENAMETOOLONG;
  }
  memcpy(r->target, path, strlen(path) + 1);
  for (links = 0; error == 0; links++) {
    struct stat facts;
    if (lstat(r->target, &facts) != 0) {
      return errno;
    }
    if (!S_ISLNK(facts.st_mode)) {
      return 0;
    }
    error = links < MBI_MAX_LINKS
                ? mbi_link_replace(r->target, sizeof r->target, strlen(r->target))
                : ELOOP;
  }
  return error;
}

/* Creates the temporary file beside the target, with the target's permissions if that exists.
 * The target must be a regular file that the user may write. Returns ENOTSUP for a device or a
 * pipe. */
MBI_INTERNAL int mbi_replacement_begin(mbi_replacement *r, const char *path) {
  struct stat facts;
  const int exists = stat(path, &facts) == 0;
  int attempt, error;
  if (exists && !S_ISREG(facts.st_mode)) {
    return S_ISDIR(facts.st_mode) ? EISDIR : ENOTSUP;
  }
  error = mbi_replacement_find(r, path);
  if (error != 0 && (error != ENOENT || exists || path[0] == '\0')) {
    return error;
  }
  if (exists && faccessat(AT_FDCWD, r->target, W_OK, AT_EACCESS) != 0) {
    return errno;
  }
  r->length = 0;
  error = EEXIST;
  for (attempt = 0; attempt < 16 && error == EEXIST; attempt++) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if ((size_t)snprintf(r->temporary, sizeof r->temporary, "%s.%lx-%lx-%p.tmp", r->target,
                         (unsigned long)getpid(), (unsigned long)now.tv_nsec,
                         (void *)r) >= sizeof r->temporary) {
      return ENAMETOOLONG;
    }
    r->file = open(r->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    error = r->file < 0 ? errno : 0;
  }
  if (error == 0 && exists) {
    (void)fchmod(r->file, facts.st_mode & 0777); /* some file systems refuse this, which does no
                                                  * harm */
  }
  return error;
}

/* Ends a replacement. If `error` is 0, the temporary file replaces the target; otherwise it is
 * removed. Returns `error`, or the errno of a failure. */
MBI_INTERNAL int mbi_replacement_end(mbi_replacement *r, int error) {
  if (error == 0 && fsync(r->file) != 0) {
    error = errno;
  }
  if (close(r->file) != 0 && error == 0) {
    error = errno;
  }
  if (error == 0 && rename(r->temporary, r->target) != 0) {
    error = errno;
  }
  if (error != 0) {
    (void)unlink(r->temporary);
  }
  return error;
}
