/* Empty directories for cubins, which are removed when the program ends. */
#ifndef BENCH_DIRECTORY_H
#define BENCH_DIRECTORY_H
#include "matrix.h"
#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#define BENCH_DIRECTORIES 8

static struct {
  char paths[BENCH_DIRECTORIES][512];
  int count;
} bench_directories;

static void bench_directory_empty(const char *path) {
  DIR *directory = opendir(path);
  struct dirent *entry;
  while (directory != NULL && (entry = readdir(directory)) != NULL) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
      (void)unlinkat(dirfd(directory), entry->d_name, 0);
    }
  }
  if (directory != NULL) {
    (void)closedir(directory);
  }
}

static void bench_directories_remove(void) {
  while (bench_directories.count > 0) {
    const char *path = bench_directories.paths[--bench_directories.count];
    bench_directory_empty(path);
    (void)rmdir(path);
  }
}

static const char *bench_directory(void) {
  const char *parent = getenv("TMPDIR");
  char *path = bench_directories.paths[bench_directories.count];
  (void)snprintf(path, sizeof bench_directories.paths[0], "%s/merbit-bench-XXXXXX",
                 parent != NULL && parent[0] == '/' ? parent : "/tmp");
  if (mkdtemp(path) == NULL) {
    bench_die("%s cannot be created: %s", path, strerror(errno));
  }
  if (bench_directories.count++ == 0) {
    (void)atexit(bench_directories_remove);
  }
  return path;
}

#endif
