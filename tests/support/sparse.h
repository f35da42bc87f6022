/* Arrays of many gigabytes in a few megabytes of memory: one small file is mapped again and
 * again, so that element i is pattern[i % period]. A written page becomes a private copy. A
 * page that may not be accessed follows the last element. Include cmocka.h first. */
#ifndef TEST_SUPPORT_SPARSE_H
#define TEST_SUPPORT_SPARSE_H
#include <sys/mman.h>
#include <unistd.h>
#include "support/matrices.h"

#define SPARSE_CHUNK ((size_t)1 << 22)

typedef struct sparse_array {
  void *data; /* first element; NULL if the system cannot map such an array */
  char *memory;
  size_t mapped;
} sparse_array;

/* Makes the file: the bytes of the pattern, rotated by `phase` bytes. */
static int sparse_file(const void *pattern, size_t pattern_bytes, size_t phase) {
  char *bytes = (char *)test_allocate((int64_t)SPARSE_CHUNK, 1);
  int file = memfd_create("merbit-test", MFD_CLOEXEC);
  size_t i;
  assert_true(file >= 0);
  assert_int_equal(SPARSE_CHUNK % pattern_bytes, 0);
  for (i = 0; i < SPARSE_CHUNK; i++) {
    bytes[(i + phase) % SPARSE_CHUNK] = ((const char *)pattern)[i % pattern_bytes];
  }
  assert_int_equal(write(file, bytes, SPARSE_CHUNK), SPARSE_CHUNK);
  free(bytes);
  return file;
}

/* `period` elements of `size` bytes must be a power of two of at most SPARSE_CHUNK bytes. With
 * `alias`, a write appears in all copies at once, which suits a result of which only the ends
 * are read: they have their own memory. */
static sparse_array sparse_make(int64_t count, size_t size, const void *pattern, int64_t period,
                                int alias) {
  const size_t bytes = (size_t)count * size, page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t pages = (bytes + page - 1) / page * page;
  const int kind = alias ? MAP_SHARED | MAP_POPULATE : MAP_PRIVATE;
  const int file = sparse_file(pattern, (size_t)period * size, pages - bytes);
  sparse_array a;
  size_t at;
  a.data = NULL;
  a.mapped = pages + page;
  a.memory = (char *)mmap(NULL, a.mapped, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  for (at = 0; a.memory != (char *)MAP_FAILED && at < pages; at += SPARSE_CHUNK) {
    const size_t rest = pages - at;
    const int end = at == 0 || rest <= SPARSE_CHUNK;
    if (mmap(a.memory + at, rest < SPARSE_CHUNK ? rest : SPARSE_CHUNK, PROT_READ | PROT_WRITE,
             MAP_FIXED | MAP_NORESERVE | (end ? MAP_PRIVATE : kind), file, 0) == MAP_FAILED) {
      (void)munmap(a.memory, a.mapped);
      a.memory = (char *)MAP_FAILED;
    }
  }
  (void)close(file);
  if (a.memory != (char *)MAP_FAILED) {
    a.data = a.memory + (pages - bytes);
  }
  return a;
}

TEST_UNUSED static void sparse_free(sparse_array *a) {
  if (a->data != NULL) {
    (void)munmap(a->memory, a->mapped);
  }
}

/* Makes an array with equal elements. */
TEST_UNUSED static sparse_array sparse_constant_i64(int64_t count, int64_t value) {
  return sparse_make(count, sizeof value, &value, 1, 0);
}

TEST_UNUSED static sparse_array sparse_constant_i32(int64_t count, int32_t value) {
  return sparse_make(count, sizeof value, &value, 1, 0);
}

#endif /* TEST_SUPPORT_SPARSE_H */
