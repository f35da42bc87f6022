/* The library's file functions over a system whose calls can fail in turn and whose disk can be
 * full. core/os/posix_files.c and posix_trust.c, which alone make these calls, and their
 * callers in core/ are compiled here and replace those of merbit_separate. Include
 * support/internal.h first. */
#ifndef TEST_JIT_CACHE_CALLS_H
#define TEST_JIT_CACHE_CALLS_H
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COUNTED = 0, IGNORED = 1, KEEPS = 2 }; /* KEEPS: the call would have removed something */

static struct {
  int armed, step, calls; /* calls step to step + calls - 1 fail */
  int code;
  int die;        /* the process is killed instead */
  int failed;     /* kinds of the failed calls */
  size_t portion; /* most bytes of one write; 0: all */
  int64_t room;   /* bytes that fit on the disk; negative: unlimited */
} disk;

static void heal(void) {
  memset(&disk, 0, sizeof disk);
  disk.room = -1;
}

static int refuses(int kind) {
  if (!disk.armed || --disk.step >= 0 || disk.step < -disk.calls) {
    return 0;
  }
  if (disk.die) {
    (void)kill(getpid(), SIGKILL);
  }
  disk.failed |= kind;
  errno = disk.code;
  return 1;
}

static ssize_t disk_write(int file, const void *data, size_t size) {
  if (refuses(COUNTED)) {
    return -1;
  }
  size = disk.portion > 0 && size > disk.portion ? disk.portion : size;
  if (disk.room >= 0) {
    if (disk.room == 0) {
      errno = ENOSPC;
      return -1;
    }
    size = (int64_t)size > disk.room ? (size_t)disk.room : size;
    disk.room -= (int64_t)size;
  }
  return write(file, data, size);
}

static int disk_close(int file) {
  const int refused = refuses(IGNORED), code = errno;
  const int result = close(file);
  errno = refused ? code : errno;
  return refused ? -1 : result;
}

static int disk_open(const char *path, int flags, ...) {
  mode_t mode = 0;
  if (flags & O_CREAT) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  return refuses(COUNTED) ? -1 : open(path, flags, mode);
}

/* Thousands of real fsyncs would take minutes. */
static int disk_fsync(int file) {
  (void)file;
  return refuses(COUNTED) ? -1 : 0;
}

#define DISK_CALL(kind, type, bad, name, parameters, arguments)                                \
  static type disk_##name parameters {                                                         \
    return refuses(kind) ? bad : name arguments;                                               \
  }
DISK_CALL(COUNTED, int, -1, stat, (const char *p, struct stat *s), (p, s))
DISK_CALL(COUNTED, int, -1, lstat, (const char *p, struct stat *s), (p, s))
DISK_CALL(COUNTED, int, -1, fstat, (int f, struct stat *s), (f, s))
DISK_CALL(IGNORED, int, -1, fstatat, (int d, const char *n, struct stat *s, int f),
          (d, n, s, f))
DISK_CALL(COUNTED, int, -1, mkdir, (const char *p, mode_t m), (p, m))
DISK_CALL(COUNTED, int, -1, chmod, (const char *p, mode_t m), (p, m))
DISK_CALL(COUNTED, int, -1, fchmod, (int f, mode_t m), (f, m))
DISK_CALL(COUNTED, ssize_t, -1, readlink, (const char *p, char *b, size_t n), (p, b, n))
DISK_CALL(COUNTED, int, -1, faccessat, (int d, const char *n, int m, int f), (d, n, m, f))
DISK_CALL(COUNTED, char *, NULL, realpath, (const char *p, char *b), (p, b))
DISK_CALL(COUNTED, ssize_t, -1, read, (int f, void *b, size_t n), (f, b, n))
DISK_CALL(IGNORED, int, -1, futimens, (int f, const struct timespec *t), (f, t))
DISK_CALL(COUNTED, int, -1, rename, (const char *a, const char *b), (a, b))
DISK_CALL(KEEPS, int, -1, unlink, (const char *p), (p))
DISK_CALL(KEEPS | IGNORED, int, -1, unlinkat, (int d, const char *n, int f), (d, n, f))
DISK_CALL(KEEPS, DIR *, NULL, opendir, (const char *p), (p))
DISK_CALL(KEEPS, struct dirent *, NULL, readdir, (DIR * d), (d))

#define open disk_open
#define stat(path, facts) disk_stat(path, facts) /* not the struct */
#define lstat disk_lstat
#define fstat disk_fstat
#define fstatat disk_fstatat
#define mkdir disk_mkdir
#define chmod disk_chmod
#define fchmod disk_fchmod
#define readlink disk_readlink
#define faccessat disk_faccessat
#define realpath disk_realpath
#define read disk_read
#define write disk_write
#define close disk_close
#define fsync disk_fsync
#define futimens disk_futimens
#define rename disk_rename
#define unlink disk_unlink
#define unlinkat disk_unlinkat
#define opendir disk_opendir
#define readdir disk_readdir

#include "core/os/posix_trust.c"
#include "core/os/posix_files.c"
#include "core/files.c"
#include "core/user_files.c"

#undef open
#undef stat
#undef lstat
#undef fstat
#undef fstatat
#undef mkdir
#undef chmod
#undef fchmod
#undef readlink
#undef faccessat
#undef realpath
#undef read
#undef write
#undef close
#undef fsync
#undef futimens
#undef rename
#undef unlink
#undef unlinkat
#undef opendir
#undef readdir

#endif /* TEST_JIT_CACHE_CALLS_H */
