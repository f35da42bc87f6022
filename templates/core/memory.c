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
