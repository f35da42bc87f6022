// Gathers and scatters vectors for a reordered plan, and permutes new values into the order of
// the plan's nonzeros.
#ifndef MBK_VECTOR
#error "define MBK_VECTOR: the type of vectors"
#endif
#ifndef MBK_VALUE
#error "define MBK_VALUE: the type of values"
#endif
#ifndef MBK_PLACE
#error "define MBK_PLACE: the type of positions of nonzeros, mbk_i32 or mbk_i64"
#endif
#include "jit/device.cuh"

#include "spmv/stages/reorder_arguments.cuh"

// Writes to[i] = from[order[i]]. Launch, for all three kernels: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256)
    mbk_reorder_gather(MBK_GRID_CONSTANT mbk_reorder_gather_arguments a) {
  for (mbk_u64 i = (mbk_u64)mbk_block() * 256 + mbk_thread(); i < a.count;
       i += (mbk_u64)mbk_grid() * 256) {
    a.to[i] = mbk_load(a.from + mbk_load(a.order + i));
  }
}

// Writes to[order[i]] = from[i].
MBK_KERNEL MBK_BOUNDS(256)
    mbk_reorder_scatter(MBK_GRID_CONSTANT mbk_reorder_gather_arguments a) {
  for (mbk_u64 i = (mbk_u64)mbk_block() * 256 + mbk_thread(); i < a.count;
       i += (mbk_u64)mbk_grid() * 256) {
    a.to[mbk_load(a.order + i)] = mbk_load(a.from + i);
  }
}

// Writes to[k] = from[places[k]].
MBK_KERNEL MBK_BOUNDS(256)
    mbk_reorder_values(MBK_GRID_CONSTANT mbk_reorder_values_arguments a) {
  for (mbk_u64 k = (mbk_u64)mbk_block() * 256 + mbk_thread(); k < a.count;
       k += (mbk_u64)mbk_grid() * 256) {
    a.to[k] = mbk_load(a.from + mbk_load_streaming(a.places + k));
  }
}
