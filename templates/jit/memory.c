#include "core/context.h"
#include "jit/jit.h"

/* GPU memory: allocations and their parts, copies. The CUDA context must be current. */

MBI_INTERNAL mbi_devptr mbi_device_address(const void *pointer) {
  return (mbi_devptr)(uintptr_t)pointer;
}

MBI_INTERNAL void *mbi_device_pointer(mbi_devptr address) {
  return (void *)(uintptr_t)address;
}

/* Cuts an array of `bytes` bytes from the allocation at `space`, behind the `used` bytes that
 * are already taken, and returns its address. Adds its padded size to *used. Arrays that are
 * made together share an allocation, because one allocation takes the driver as long as ten
 * launches. A first run with address 0 gives the size to allocate. */
MBI_INTERNAL mbi_devptr mbi_device_part(mbi_devptr space, uint64_t bytes, uint64_t *used) {
  const uint64_t at = *used;
  *used += (bytes + MBI_DEVICE_PART - 1) / MBI_DEVICE_PART * MBI_DEVICE_PART;
  return space + at;
}

/* ---- Allocations ------------------------------------------------------------------------- */

/* Allocates GPU memory. `what` names it in error messages. On success the address is not 0. */
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

/* Releases GPU memory, unless the device is lost, whose memory no longer exists. */
MBI_NOINLINE MBI_INTERNAL void mbi_device_release(merbit_context *context, mbi_devptr address) {
  if (address != 0 && mbi_device_lost(context) == 0) {
    (void)mbi_device_mark_lost(context, context->device.driver.mem_free(address));
  }
}

/* ---- Arenas ------------------------------------------------------------------------------ */

/* Each allocation takes the driver 40 to 100 microseconds, and its release even longer.
 * Therefore plans that live for one call, or as long as a solver, take their arrays from an
 * arena that was allocated in one piece. Only the thread that makes the plan uses it. */

/* Opens an arena of `bytes` bytes at `at`. */
MBI_INTERNAL void mbi_arena_open(mbi_arena *arena, mbi_devptr at, uint64_t bytes) {
  arena->at = at;
  arena->bytes = bytes;
  arena->used = 0;
  arena->open = 1;
}

/* Takes the next `bytes` bytes of an arena. Returns 0 if it is closed or has less space. */
static mbi_devptr mbi_arena_take(mbi_arena *arena, uint64_t bytes) {
  uint64_t used = arena->used;
  const mbi_devptr at = mbi_device_part(arena->at, bytes > 0 ? bytes : 1, &used);
  if (!arena->open || used > arena->bytes) {
    return 0;
  }
  arena->used = used;
  return at;
}

/* Allocates from the arena, or with mbi_device_allocate if the arena is closed or full. */
MBI_NOINLINE MBI_INTERNAL merbit_status mbi_arena_allocate(merbit_context *context,
                                                           mbi_arena *arena, uint64_t bytes,
                                                           const char *what,
                                                           mbi_devptr *address) {
  *address = 0;
  MBI_TRY(mbi_device_alive(context));
  *address = mbi_arena_take(arena, bytes);
  return *address != 0 ? MERBIT_OK : mbi_device_allocate(context, bytes, what, address);
}

/* Allocates `count` arrays in one allocation. Releasing the first array releases all. Any other
 * array of 0 bytes gets address 0. After a failure all addresses are 0. */
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

/* Releases memory from mbi_arena_allocate. An array inside the arena stays there until the
 * arena itself is released. */
MBI_INTERNAL void mbi_arena_release(merbit_context *context, const mbi_arena *arena,
                                    mbi_devptr address) {
  if (address - arena->at >= arena->bytes) {
    mbi_device_release(context, address);
  }
}

/* ---- Copies ------------------------------------------------------------------------------ */

/* Uploads after earlier work on the default stream, and waits until all data has arrived.
 * cuMemcpyHtoD may return before that, and other streams would not wait for it. */
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

/* Returns 1 if the GPU can read the pointer (device, managed or pinned memory), 0 for an
 * ordinary host pointer. If the driver does not answer, returns 1, so that the next call
 * reports the reason. Uses cuPointerGetAttributes, because cuPointerGetAttribute treats an
 * ordinary host pointer as an error. */
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

/* Fails unless the GPU can read the pointer. `claim` begins the error message: it says which
 * argument names GPU memory. The CUDA context must be current. */
MBI_INTERNAL merbit_status mbi_device_check_owned(merbit_context *context, const char *claim,
                                                  const void *pointer) {
  return mbi_device_owns(context, pointer)
             ? MERBIT_OK
             : mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                        "%s, but %p is not an address of the GPU; give a device pointer, or "
                        "MERBIT_MEMORY_HOST",
                        claim, pointer);
}
