// Arguments of the kernels in spmv/gpu/merbit/tile.cuh, for host and device.
typedef struct mbk_merbit_build_arguments {
  MBK_POINTER(const MBK_ROW_PTR) row_ptr;
  mbk_u64 rows, nnz, tiles;
  MBK_POINTER(MBK_TILE) tile_x, tile_y;
  MBK_POINTER(MBK_DESCRIPTOR) lane_desc;
} mbk_merbit_build_arguments;
