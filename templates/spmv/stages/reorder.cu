// Gathers and scatters vectors for a reordered plan, and moves new values into the order of its
// nonzeros.
#ifndef MBK_VECTOR
#error "define MBK_VECTOR: the type of vectors"
#endif
#ifndef MBK_VALUE
#error "define MBK_VALUE: the type of values"
#endif
#ifndef MBK_PLACE
#error "define MBK_PLACE: the type of places of nonzeros, mbk_i32 or mbk_i64"
#endif
#include "jit/device.cuh"

// Writes to[i] = from[order[i]]. Launch, for all three kernels: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256) mbk_reorder_gather(const mbk_i32 *order, const MBK_VECTOR *from,
                                              MBK_VECTOR *to, mbk_u64 count) {
  for (mbk_u64 i = (mbk_u64)mbk_block() * 256 + mbk_thread(); i < count;
       i += (mbk_u64)mbk_grid() * 256) {
    to[i] = mbk_load(from + mbk_load(order + i));
  }
}

// Writes to[order[i]] = from[i].
MBK_KERNEL MBK_BOUNDS(256) mbk_reorder_scatter(const mbk_i32 *order, const MBK_VECTOR *from,
                                               MBK_VECTOR *to, mbk_u64 count) {
  for (mbk_u64 i = (mbk_u64)mbk_block() * 256 + mbk_thread(); i < count;
       i += (mbk_u64)mbk_grid() * 256) {
    to[mbk_load(order + i)] = mbk_load(from + i);
  }
}

// Writes to[k] = from[places[k]].
MBK_KERNEL MBK_BOUNDS(256) mbk_reorder_values(const MBK_PLACE *places, const MBK_VALUE *from,
                                              MBK_VALUE *to, mbk_u64 count) {
  for (mbk_u64 k = (mbk_u64)mbk_block() * 256 + mbk_thread(); k < count;
       k += (mbk_u64)mbk_grid() * 256) {
    to[k] = mbk_load(from + mbk_load_streaming(places + k));
  }
}
