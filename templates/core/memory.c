#include "core/context.h"

/* Heap memory through the user's allocator. */

MBI_INTERNAL void *mbi_default_allocate(void *user, size_t bytes) {
  (void)user;
  return malloc(bytes);
}

MBI_INTERNAL void mbi_default_release(void *user, void *memory) {
  (void)user;
  free(memory);
}

/* Allocates heap memory through the user's allocator. The whole library allocates with this
 * function. Returns NULL if there is no memory, or never so much; the caller reports it. */
MBI_NOINLINE MBI_INTERNAL void *mbi_allocate(merbit_context *context, size_t bytes) {
  const size_t all = bytes + MBI_MEMORY_HEAD;
  char *memory = bytes < SIZE_MAX / 2
                     ? (char *)context->allocator.allocate(context->allocator.user, all)
                     : NULL;
  if (memory == NULL) {
    return NULL;
  }
  memcpy(memory, &all, sizeof all);
  return memory + MBI_MEMORY_HEAD;
}

MBI_NOINLINE MBI_INTERNAL void mbi_release(merbit_context *context, void *memory) {
  if (memory != NULL) {
    context->allocator.release(context->allocator.user, (char *)memory - MBI_MEMORY_HEAD);
  }
}

/* Returns the bytes that `memory` took from the user's allocator, with its head; 0 for NULL. */
MBI_INTERNAL size_t mbi_memory_bytes(const void *memory) {
  size_t all = 0;
  if (memory != NULL) {
    memcpy(&all, (const char *)memory - MBI_MEMORY_HEAD, sizeof all);
  }
  return all;
}

/* Copies `bytes` bytes. If both arrays have at least 63 bytes more, within the `room` bytes
 * from `to` and `from` on, writes up to 63 of them too, which the caller overwrites: so a short
 * copy needs no call and hardly a branch. */
MBI_INTERNAL void mbi_copy_short(void *to, const void *from, size_t bytes, size_t room) {
  size_t i;
  if (bytes <= 512 && bytes + 63 <= room) {
    for (i = 0; i < bytes; i += 64) {
      memcpy((char *)to + i, (const char *)from + i, 64);
    }
  } else if (bytes > 0) {
    memcpy(to, from, bytes);
  }
}

/* Allocates `count` elements of `size` bytes. `what` names the array in the error message. */
MBI_NOINLINE MBI_INTERNAL merbit_status mbi_allocate_array(merbit_context *context,
                                                           int64_t count, size_t size,
                                                           const char *what, void **array) {
  *array = NULL;
  if (count < 0 || (uint64_t)count > (uint64_t)PTRDIFF_MAX / size) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY,
                    "%s of %" PRId64 " elements of %zu bytes exceeds the address space", what,
                    count, size);
  }
  *array = mbi_allocate(context, (size_t)count * size);
  if (*array == NULL) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for %s: %" PRIu64 " bytes", what,
                    (uint64_t)count * size);
  }
  return MERBIT_OK;
}
