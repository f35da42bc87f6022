#include "core/context.h"
#include "jit/jit.h"
#include "solve/amg/amg_cuda.h"

/* A pool that takes GPU memory in few allocations, each of which costs the driver as much time
 * as ten launches. */

/* Takes `bytes` from the first chunk that has room for them, or from a new chunk. */
MBI_INTERNAL merbit_status mbi_amg_pool_take(merbit_context *context, mbi_amg_pool *pool,
                                             uint64_t bytes, mbi_devptr *address) {
  const uint64_t part = (bytes / MBI_DEVICE_PART + 1) * MBI_DEVICE_PART;
  const uint64_t size = pool->grow << pool->count / 8;
  int i = 0;
  *address = 0;
  while (i < pool->count && part > pool->bytes[i] - pool->used[i]) {
    i++;
  }
  if (i == MBI_AMG_CHUNKS) {
    return mbi_fail(context, MERBIT_TOO_LARGE, "AMG's set-up needs too many allocations");
  }
  if (i == pool->count) {
    pool->bytes[i] = part > size ? part : size;
    pool->used[i] = 0;
    MBI_TRY(mbi_device_allocate(context, pool->bytes[i], "AMG", &pool->chunk[i]));
    pool->count++;
  }
  *address = pool->chunk[i] + pool->used[i];
  pool->used[i] += part;
  return MERBIT_OK;
}

/* Marks the memory that was taken since `earlier`, a copy of the pool, as free. */
MBI_INTERNAL void mbi_amg_pool_rewind(mbi_amg_pool *pool, const mbi_amg_pool *earlier) {
  int i;
  for (i = 0; i < pool->count; i++) {
    pool->used[i] = i < earlier->count ? earlier->used[i] : 0;
  }
}

/* Marks all memory of the pool as free. */
MBI_INTERNAL void mbi_amg_pool_reset(mbi_amg_pool *pool) {
  memset(pool->used, 0, sizeof pool->used);
}

/* Returns the bytes that the pool holds, free ones included. */
MBI_INTERNAL uint64_t mbi_amg_pool_bytes(const mbi_amg_pool *pool) {
  uint64_t bytes = 0;
  int i;
  for (i = 0; i < pool->count; i++) {
    bytes += pool->bytes[i];
  }
  return bytes;
}

MBI_INTERNAL void mbi_amg_pool_release(merbit_context *context, mbi_amg_pool *pool) {
  for (; pool->count > 0; pool->count--) {
    mbi_device_release(context, pool->chunk[pool->count - 1]);
  }
}
