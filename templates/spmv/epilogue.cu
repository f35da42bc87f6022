// An epilogue behind a product whose kernels know nothing of it.
#ifndef MBK_VECTOR
#error "define MBK_VECTOR: the type of y and of the vectors in memory"
#endif
#ifndef MBK_COMPUTE
#error "define MBK_COMPUTE: the type of sums"
#endif
#include "jit/device.cuh"

#include "spmv/epilogue.cuh"

#define MBK_EPILOGUE_THREADS 256

// y[row] of product[row], which may be y itself. Launch: any grid, the same for each product of
// a plan, of MBK_EPILOGUE_THREADS threads. Shared: double[MBK_EPILOGUE_THREADS / 16].
MBK_KERNEL MBK_BOUNDS(MBK_EPILOGUE_THREADS)
    mbk_epilogue_apart(const MBK_VECTOR *product, MBK_VECTOR *y, mbk_u64 rows,
                       const mbk_epilogue epilogue) {
  mbk_epilogue_run run = {epilogue, {0.0, 0.0}};
  mbk_release();
  mbk_await();
  if (mbk_epilogue_skips(epilogue)) {
    return;
  }
  for (mbk_u64 row = (mbk_u64)mbk_block() * MBK_EPILOGUE_THREADS + mbk_thread(); row < rows;
       row += (mbk_u64)mbk_grid() * MBK_EPILOGUE_THREADS) {
    y[row] =
        mbk_epilogue_row(run, row, (MBK_COMPUTE)product[row],
                         MBK_EPILOGUE_VECTORS > 0 ? epilogue.vectors[0][row] : (MBK_VECTOR)0);
  }
  mbk_epilogue_finish(run, MBK_EPILOGUE_THREADS);
}
