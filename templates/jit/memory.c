#include "core/context.h"
#include "jit/jit.h"

/* GPU memory: allocations and their parts, copies. In an entered context. */

MBI_INTERNAL mbi_devptr mbi_device_address(const void *pointer) {
  return (mbi_devptr)(uintptr_t)pointer;
}

MBI_INTERNAL void *mbi_device_pointer(mbi_devptr address) {
  return (void *)(uintptr_t)address;
}

/* A part of the allocation at `space`, behind `used` bytes, which grow. Arrays that are made at
 * once share one, for the driver takes as long for each as for ten launches: they are divided
 * at 0 to learn its size, and again where it lies. */
MBI_INTERNAL mbi_devptr mbi_device_part(mbi_devptr space, uint64_t bytes, uint64_t *used) {
  const uint64_t at = *used;
  *used += (bytes + MBI_DEVICE_PART - 1) / MBI_DEVICE_PART * MBI_DEVICE_PART;
  return space + at;
}

/* ---- Spare memory: the driver takes 40 to 100 microseconds for each array that is allocated,
 * and more to release it. What was allocated to make one thing is, where that is short-lived,
 * kept for what is made next. ----------------------------------------------------------------
 */

/* From here on what this thread allocates comes from the `bytes` at `at`, as long as they
 * last. */
MBI_INTERNAL void mbi_arena_open(merbit_context *context, mbi_arena *spare, mbi_devptr at,
                                 uint64_t bytes) {
  spare->at = at;
  spare->bytes = bytes;
  spare->used = 0;
  spare->open = 1;
  spare->maker = pthread_self();
  mbi_mutex_lock(&context->lock);
  spare->next = context->device.arenas;
  context->device.arenas = spare;
  mbi_mutex_unlock(&context->lock);
}

/* And from here on no more. */
MBI_INTERNAL void mbi_arena_shut(merbit_context *context, mbi_arena *spare) {
  mbi_mutex_lock(&context->lock);
  spare->open = 0;
  mbi_mutex_unlock(&context->lock);
}

/* Behind the last use of anything that came from it. Where it lies, for who releases it, or 0.
 */
MBI_INTERNAL mbi_devptr mbi_arena_close(merbit_context *context, mbi_arena *spare) {
  const mbi_devptr at = spare->at;
  mbi_arena **link = &context->device.arenas;
  mbi_mutex_lock(&context->lock);
  while (*link != NULL && *link != spare) {
    link = &(*link)->next;
  }
  if (*link != NULL) {
    *link = spare->next;
  }
  mbi_mutex_unlock(&context->lock);
  memset(spare, 0, sizeof *spare);
  return at;
}

/* Address 0: there is not so much. */
static mbi_devptr mbi_arena_take(merbit_context *context, uint64_t bytes) {
  mbi_devptr address = 0;
  mbi_arena *spare;
  mbi_mutex_lock(&context->lock);
  for (spare = context->device.arenas; spare != NULL && address == 0; spare = spare->next) {
    uint64_t used = spare->used;
    const mbi_devptr at = mbi_device_part(spare->at, bytes > 0 ? bytes : 1, &used);
    if (spare->open && pthread_equal(spare->maker, pthread_self()) && used <= spare->bytes) {
      address = at;
      spare->used = used;
    }
  }
  mbi_mutex_unlock(&context->lock);
  return address;
}

/* Whether an array came from spare memory: then it is not released by itself. */
static int mbi_arena_holds(merbit_context *context, mbi_devptr address) {
  const mbi_arena *spare;
  int holds = 0;
  mbi_mutex_lock(&context->lock);
  for (spare = context->device.arenas; spare != NULL && !holds; spare = spare->next) {
    holds = address - spare->at < spare->bytes;
  }
  mbi_mutex_unlock(&context->lock);
  return holds;
}

/* ---- Allocations ---------------------------------------------------------------------------
 */

/* `what` is a noun for the sentence. Never gives address 0. */
MBI_INTERNAL merbit_status mbi_device_allocate(merbit_context *context, uint64_t bytes,
                                               const char *what, mbi_devptr *address) {
  char attempt[128];
  merbit_status status = mbi_device_alive(context);
  *address = status == MERBIT_OK ? mbi_arena_take(context, bytes) : 0;
  if (status == MERBIT_OK && *address == 0) {
    (void)snprintf(attempt, sizeof attempt, "allocating %" PRIu64 " bytes for %s", bytes, what);
    status = mbi_device_check(
        context, context->device.driver.mem_alloc(address, (size_t)(bytes > 0 ? bytes : 1)),
        "cuMemAlloc", attempt);
  }
  if (status != MERBIT_OK) {
    *address = 0;
  }
  return status;
}

/* `count` arrays in one allocation, which the first of them begins: releasing that one releases
 * all. Another of no bytes is at address 0, as all are after a failure. */
MBI_INTERNAL merbit_status mbi_device_allocate_parts(merbit_context *context, const char *what,
                                                     int count, mbi_devptr *const *parts,
                                                     const uint64_t *bytes) {
  uint64_t used = 0;
  mbi_devptr space = 0;
  merbit_status status = MERBIT_OK;
  int i;
  for (i = 0; i < count; i++) {
    *parts[i] = 0;
    (void)mbi_device_part(0, bytes[i], &used);
  }
  if (used > 0) {
    status = mbi_device_allocate(context, used, what, &space);
  }
  used = 0;
  for (i = 0; i < count && space != 0; i++) {
    const mbi_devptr at = mbi_device_part(space, bytes[i], &used);
    *parts[i] = i == 0 || bytes[i] > 0 ? at : 0;
  }
  return status;
}

/* What a dead context held is gone with it. */
MBI_INTERNAL void mbi_device_release(merbit_context *context, mbi_devptr address) {
  if (address != 0 && mbi_device_lost(context) == 0 && !mbi_arena_holds(context, address)) {
    (void)mbi_device_bury(context, context->device.driver.mem_free(address));
  }
}

/* Behind work on the default stream. cuMemcpyHtoD may return while the last piece is still on
 * its way from the driver's staging memory, which other streams would not wait for: so wait
 * here. */
MBI_INTERNAL merbit_status mbi_device_upload(merbit_context *context, mbi_devptr target,
                                             const void *source, size_t bytes) {
  merbit_status status = mbi_device_alive(context);
  if (status != MERBIT_OK || bytes == 0) {
    return status;
  }
  status = mbi_device_check(context, context->device.driver.memcpy_htod(target, source, bytes),
                            "cuMemcpyHtoD", "uploading to the GPU");
  return status == MERBIT_OK ? mbi_device_synchronize(context, NULL) : status;
}

MBI_INTERNAL merbit_status mbi_device_download(merbit_context *context, void *target,
                                               mbi_devptr source, size_t bytes) {
  const merbit_status status = mbi_device_alive(context);
  if (status != MERBIT_OK || bytes == 0) {
    return status;
  }
  return mbi_device_check(context, context->device.driver.memcpy_dtoh(target, source, bytes),
                          "cuMemcpyDtoH", "downloading from the GPU");
}

/* From GPU memory to GPU memory, complete on return. */
MBI_INTERNAL merbit_status mbi_device_copy(merbit_context *context, mbi_devptr target,
                                           mbi_devptr source, size_t bytes) {
  merbit_status status = mbi_device_alive(context);
  if (status != MERBIT_OK || bytes == 0) {
    return status;
  }
  status = mbi_device_check(context, context->device.driver.memcpy_dtod(target, source, bytes),
                            "cuMemcpyDtoD", "copying in GPU memory");
  return status == MERBIT_OK ? mbi_device_synchronize(context, NULL) : status;
}

/* The same, only enqueued. */
MBI_INTERNAL merbit_status mbi_device_copy_async(merbit_context *context, mbi_devptr target,
                                                 mbi_devptr source, size_t bytes,
                                                 void *stream) {
  const merbit_status status = mbi_device_alive(context);
  if (status != MERBIT_OK || bytes == 0) {
    return status;
  }
  return mbi_device_check(
      context, context->device.driver.memcpy_dtod_async(target, source, bytes, stream),
      "cuMemcpyDtoDAsync", "copying in GPU memory");
}

MBI_INTERNAL merbit_status mbi_device_zero(merbit_context *context, mbi_devptr target,
                                           size_t bytes, void *stream) {
  const merbit_status status = mbi_device_alive(context);
  if (status != MERBIT_OK || bytes == 0) {
    return status;
  }
  return mbi_device_check(context,
                          context->device.driver.memset_d8_async(target, 0, bytes, stream),
                          "cuMemsetD8Async", "clearing GPU memory");
}

/* 1: the GPU can read it (device, managed or pinned memory). 0: a plain host pointer. Where the
 * driver gives no answer the pointer is let through, so that the next call reports the true
 * reason. Asked in the plural: for one attribute the driver calls a host pointer an error, and
 * tools that watch the driver would blame the program. */
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
  (void)mbi_device_bury(context, result);
  return result != 0 || type != 0;
}
