// Copies of X and Y in row order, for vectors in column order. spmv/gpu/many/many.cu and
// spmv/gpu/many/rows.cu include this file.
#ifndef MBK_CHUNKS
#error "include spmv/gpu/many/lane.cuh before"
#endif

#include "spmv/gpu/many/copies_arguments.cuh"

#if MBK_COLUMNS
// Copies X to rows of MBK_WIDTH elements; padding is zero. Launch: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256) mbk_many_collect(MBK_BY_FIELD(mbk_many_collect_arguments, a)) {
  MBK_SCALARS_OF(a);
  mbk_release();
  mbk_await();
  if (MBK_ALPHA == (MBK_COMPUTE)0) {
    return;
  }
  for (mbk_u64 i = (mbk_u64)mbk_block() * 256 + mbk_thread(); i < a.cols;
       i += (mbk_u64)mbk_grid() * 256) {
#pragma unroll 4
    for (mbk_u32 c = 0; c < MBK_WIDTH; c += MBK_SPAN) {
      mbk_many_pack pack;
#pragma unroll
      for (mbk_u32 j = 0; j < MBK_SPAN; j++) {
        pack.at[j] = c + j < MBK_VECTORS ? mbk_load_after_wait(a.x + (c + j) * a.ldx + i)
                                         : (MBK_VECTOR)0;
      }
      mbk_store_pack(a.copy + i * MBK_WIDTH + c, pack);
    }
  }
}

// Writes Y, in column order, from its copy in row order. Launch: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256) mbk_many_spread(MBK_BY_FIELD(mbk_many_spread_arguments, a)) {
  MBK_VECTOR *const y = a.y;
  MBK_SCALARS_OF(a);
  mbk_release();
  mbk_await();
  MBK_SCALARS_LOAD;
  for (mbk_u64 i = (mbk_u64)mbk_block() * 256 + mbk_thread(); i < a.rows;
       i += (mbk_u64)mbk_grid() * 256) {
#pragma unroll 4
    for (mbk_u32 c = 0; c < MBK_WIDTH; c += MBK_SPAN) {
      const mbk_many_pack pack =
          mbk_load_pack_after_wait<MBK_VECTOR, MBK_SPAN>(a.copy + i * MBK_WIDTH + c);
#pragma unroll
      for (mbk_u32 j = 0; j < MBK_SPAN; j++) {
        if (c + j < MBK_VECTORS) {
          MBK_COMMIT((c + j) * a.ldy + i, (MBK_COMPUTE)pack.at[j]);
        }
      }
    }
  }
}
#endif
