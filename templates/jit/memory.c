#include "core/context.h"
#include "jit/jit.h"

/* GPU memory: allocations and their parts, copies. The CUDA context must be current. */

MBI_INTERNAL mbi_devptr mbi_device_address(const void *pointer) {
  return (mbi_devptr)(uintptr_t)pointer;
}

MBI_INTERNAL void *mbi_device_pointer(mbi_devptr address) {
  return (void *)(uintptr_t)address;
}

/* Returns the part of the allocation at `space` that follows `used` bytes, and adds its size to
 * *used. Arrays that are made together share an allocation, because an allocation takes the
 * driver as long as ten launches. To learn the size, divide at address 0 first. */
MBI_INTERNAL mbi_devptr mbi_device_part(mbi_devptr space, uint64_t bytes, uint64_t *used) {
  const uint64_t at = *used;
  *used += (bytes + MBI_DEVICE_PART - 1) / MBI_DEVICE_PART * MBI_DEVICE_PART;
  return space + at;
}

/* ---- Allocations ------------------------------------------------------------------------- */

/* Allocates GPU memory. `what` is a noun for the message. On success the address is never 0. */
MBI_INTERNAL merbit_status mbi_device_allocate(merbit_context *context, uint64_t bytes,
                                               const char *what, mbi_devptr *address) {
  char attempt[128];
  merbit_status status;
  *address = 0;
  MBI_TRY(mbi_device_alive(context));
  (void)snprintf(attempt, sizeof attempt, "allocating %" PRIu64 " bytes for %s", bytes, what);
  status = mbi_device_check(
      context, context->device.driver.mem_alloc(address, (size_t)(bytes > 0 ? bytes : 1)),
      "cuMemAlloc", attempt);
  if (status != MERBIT_OK) {
    *address = 0;
  }
  return status;
}

/* Releases GPU memory. Memory of a lost device does not exist any more. */
MBI_NOINLINE MBI_INTERNAL void mbi_device_release(merbit_context *context, mbi_devptr address) {
  if (address != 0 && mbi_device_lost(context) == 0) {
    (void)mbi_device_mark_lost(context, context->device.driver.mem_free(address));
  }
}

/* ---- Arenas ------------------------------------------------------------------------------ */

/* The driver takes 40 to 100 microseconds for each allocation, and more to release it.
 * Therefore the arrays of a plan that lives for one call, or as long as its solver, lie in
 * memory that was allocated at once. Only the thread that makes the plan allocates there. */

/* Gives the arena the `bytes` at `at`. */
MBI_INTERNAL void mbi_arena_open(mbi_arena *arena, mbi_devptr at, uint64_t bytes) {
  arena->at = at;
  arena->bytes = bytes;
  arena->used = 0;
  arena->open = 1;
}

/* Returns the next `bytes` of an arena; 0 if it is shut or has less. */
static mbi_devptr mbi_arena_take(mbi_arena *arena, uint64_t bytes) {
  uint64_t used = arena->used;
  const mbi_devptr at = mbi_device_part(arena->at, bytes > 0 ? bytes : 1, &used);
  if (!arena->open || used > arena->bytes) {
    return 0;
  }
  arena->used = used;
  return at;
}

/* Allocates from the arena. If it is shut or too small, allocates as mbi_device_allocate
 * does. */
MBI_NOINLINE MBI_INTERNAL merbit_status mbi_arena_allocate(merbit_context *context,
                                                           mbi_arena *arena, uint64_t bytes,
                                                           const char *what,
                                                           mbi_devptr *address) {
  *address = 0;
  MBI_TRY(mbi_device_alive(context));
  *address = mbi_arena_take(arena, bytes);
  return *address != 0 ? MERBIT_OK : mbi_device_allocate(context, bytes, what, address);
}

/* Allocates `count` arrays in one allocation. Releasing the first array releases all. Other
 * arrays of 0 bytes have address 0; after a failure all have. */
MBI_INTERNAL merbit_status mbi_arena_allocate_parts(merbit_context *context, mbi_arena *arena,
                                                    const char *what, int count,
                                                    mbi_devptr *const *parts,
                                                    const uint64_t *bytes) {
  uint64_t used = 0;
  mbi_devptr space = 0;
  int i;
  for (i = 0; i < count; i++) {
    *parts[i] = 0;
    (void)mbi_device_part(0, bytes[i], &used);
  }
  if (used > 0) {
    MBI_TRY(mbi_arena_allocate(context, arena, used, what, &space));
  }
  used = 0;
  for (i = 0; i < count && space != 0; i++) {
    const mbi_devptr at = mbi_device_part(space, bytes[i], &used);
    *parts[i] = i == 0 || bytes[i] > 0 ? at : 0;
  }
  return MERBIT_OK;
}

/* Releases what mbi_arena_allocate gave. An array that lies in the arena stays there, and goes
 * with it. */
MBI_INTERNAL void mbi_arena_release(merbit_context *context, const mbi_arena *arena,
                                    mbi_devptr address) {
  if (address - arena->at >= arena->bytes) {
    mbi_device_release(context, address);
  }
}

/* ---- Copies ------------------------------------------------------------------------------ */

/* Uploads after earlier work on the default stream, and waits: cuMemcpyHtoD may return before
 * the last part has arrived, and other streams would not wait for it. */
MBI_INTERNAL merbit_status mbi_device_upload(merbit_context *context, mbi_devptr target,
                                             const void *source, size_t bytes) {
  MBI_TRY(mbi_device_alive(context));
  if (bytes == 0) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_device_check(context, context->device.driver.memcpy_htod(target, source, bytes),
                           "cuMemcpyHtoD", "uploading to the GPU"));
  return mbi_device_synchronize(context, NULL);
}

MBI_INTERNAL merbit_status mbi_device_download(merbit_context *context, void *target,
                                               mbi_devptr source, size_t bytes) {
  MBI_TRY(mbi_device_alive(context));
  if (bytes == 0) {
    return MERBIT_OK;
  }
  return mbi_device_check(context, context->device.driver.memcpy_dtoh(target, source, bytes),
                          "cuMemcpyDtoH", "downloading from the GPU");
}

/* Copies within GPU memory. The copy is complete on return. */
MBI_INTERNAL merbit_status mbi_device_copy(merbit_context *context, mbi_devptr target,
                                           mbi_devptr source, size_t bytes) {
  MBI_TRY(mbi_device_alive(context));
  if (bytes == 0) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_device_check(context, context->device.driver.memcpy_dtod(target, source, bytes),
                           "cuMemcpyDtoD", "copying in GPU memory"));
  return mbi_device_synchronize(context, NULL);
}

/* Enqueues a copy within GPU memory. */
MBI_INTERNAL merbit_status mbi_device_copy_async(merbit_context *context, mbi_devptr target,
                                                 mbi_devptr source, size_t bytes,
                                                 void *stream) {
  MBI_TRY(mbi_device_alive(context));
  if (bytes == 0) {
    return MERBIT_OK;
  }
  return mbi_device_check(
      context, context->device.driver.memcpy_dtod_async(target, source, bytes, stream),
      "cuMemcpyDtoDAsync", "copying in GPU memory");
}

MBI_INTERNAL merbit_status mbi_device_zero(merbit_context *context, mbi_devptr target,
                                           size_t bytes, void *stream) {
  MBI_TRY(mbi_device_alive(context));
  if (bytes == 0) {
    return MERBIT_OK;
  }
  return mbi_device_check(context,
                          context->device.driver.memset_d8_async(target, 0, bytes, stream),
                          "cuMemsetD8Async", "clearing GPU memory");
}

/* Returns 1 if the GPU can read the pointer (device, managed or pinned memory), 0 for a plain
 * host pointer. If the driver does not answer, returns 1, so that the next call reports the
 * reason. Uses the plural query, because the driver treats a host pointer as an error if asked
 * for a single attribute. */
MBI_INTERNAL int mbi_device_owns(merbit_context *context, const void *pointer) {
  unsigned type = 0;
  int attribute = MBI_POINTER_MEMORY_TYPE;
  void *value = &type;
  mbi_curesult result;
  if (mbi_device_lost(context) != 0) {
    return 1;
  }
  result = context->device.driver.pointer_get_attributes(1, &attribute, &value,
                                                         mbi_device_address(pointer));
  (void)mbi_device_mark_lost(context, result);
  return result != 0 || type != 0;
}
