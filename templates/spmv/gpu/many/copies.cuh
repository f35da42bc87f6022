// Copies of X and Y by rows, for vectors in column order. Included by spmv/gpu/many/many.cu and
// spmv/gpu/many/rows.cu.
#ifndef MBK_CHUNKS
#error "include spmv/gpu/many/lane.cuh before"
#endif

#if MBK_COLUMNS
// Copies X to rows of MBK_WIDTH elements; padding is zero. Launch: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256) mbk_many_collect(const MBK_VECTOR *x, mbk_u64 ldx, mbk_u64 cols,
                                            MBK_VECTOR *copy, MBK_SCALAR_PARAMETERS) {
  mbk_release();
  mbk_await();
  if (MBK_ALPHA == (MBK_COMPUTE)0) {
    return;
  }
  for (mbk_u64 i = (mbk_u64)mbk_block() * 256 + mbk_thread(); i < cols;
       i += (mbk_u64)mbk_grid() * 256) {
#pragma unroll 4
    for (mbk_u32 c = 0; c < MBK_WIDTH; c += MBK_SPAN) {
      mbk_many_pack pack;
#pragma unroll
      for (mbk_u32 j = 0; j < MBK_SPAN; j++) {
        pack.at[j] =
            c + j < MBK_VECTORS ? mbk_load_after_wait(x + (c + j) * ldx + i) : (MBK_VECTOR)0;
      }
      mbk_store_pack(copy + i * MBK_WIDTH + c, pack);
    }
  }
}

// Commits the sums of all rows to Y, column by column. Launch: any grid of 256 threads.
MBK_KERNEL MBK_BOUNDS(256) mbk_many_spread(const MBK_VECTOR *copy, mbk_u64 rows, MBK_VECTOR *y,
                                           mbk_u64 ldy, MBK_SCALAR_PARAMETERS) {
  mbk_release();
  mbk_await();
  MBK_SCALARS_LOAD;
  for (mbk_u64 i = (mbk_u64)mbk_block() * 256 + mbk_thread(); i < rows;
       i += (mbk_u64)mbk_grid() * 256) {
#pragma unroll 4
    for (mbk_u32 c = 0; c < MBK_WIDTH; c += MBK_SPAN) {
      const mbk_many_pack pack =
          mbk_load_pack_after_wait<MBK_VECTOR, MBK_SPAN>(copy + i * MBK_WIDTH + c);
#pragma unroll
      for (mbk_u32 j = 0; j < MBK_SPAN; j++) {
        if (c + j < MBK_VECTORS) {
          MBK_COMMIT((c + j) * ldy + i, (MBK_COMPUTE)pack.at[j]);
        }
      }
    }
  }
}
#endif
