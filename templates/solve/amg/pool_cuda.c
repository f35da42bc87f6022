#include "core/context.h"
#include "jit/jit.h"
#include "solve/amg/amg_cuda.h"

/* GPU memory in few allocations, each of which takes the driver as long as ten launches. */

/* Takes `bytes` of the pool, which allocates another chunk if it must. A part of more than half
 * a chunk gets one of its own, before the last one, which stays in use. */
MBI_INTERNAL merbit_status mbi_amg_pool_take(merbit_context *context, mbi_amg_pool *pool,
                                             uint64_t bytes, mbi_devptr *address) {
  const uint64_t part = (bytes / MBI_DEVICE_PART + 1) * MBI_DEVICE_PART;
  uint64_t size = pool->grow << pool->count / 8;
  const int large = 2 * part > size && pool->count > 0 && pool->at + 1 == pool->count &&
                    part > pool->bytes[pool->at] - pool->used;
  size = large || part > size ? part : size;
  *address = 0;
  for (; !large && pool->at < pool->count; pool->at++, pool->used = 0) {
    if (part <= pool->bytes[pool->at] - pool->used) {
      *address = pool->chunk[pool->at] + pool->used;
      pool->used += part;
      return MERBIT_OK;
    }
  }
  if (pool->count == MBI_AMG_CHUNKS) {
    return mbi_fail(context, MERBIT_TOO_LARGE, "AMG's set-up needs too many allocations");
  }
  MBI_TRY(mbi_device_allocate(context, size, "AMG", &pool->chunk[pool->count]));
  pool->bytes[pool->count++] = size;
  *address = pool->chunk[pool->count - 1];
  if (large) {
    pool->chunk[pool->count - 1] = pool->chunk[pool->at];
    pool->chunk[pool->at] = *address;
    pool->bytes[pool->count - 1] = pool->bytes[pool->at];
    pool->bytes[pool->at++] = size;
  } else {
    pool->used = part;
  }
  return MERBIT_OK;
}

/* Takes back all parts of the pool. */
MBI_INTERNAL void mbi_amg_pool_reset(mbi_amg_pool *pool) {
  pool->at = 0;
  pool->used = 0;
}

MBI_INTERNAL void mbi_amg_pool_release(merbit_context *context, mbi_amg_pool *pool) {
  for (; pool->count > 0; pool->count--) {
    mbi_device_release(context, pool->chunk[pool->count - 1]);
  }
  mbi_amg_pool_reset(pool);
}
