// A plan's epilogue inside the product's own kernels: part of spmv/algebra.cuh. alpha is 1 and
// beta 0, and does not come; in their place kernels are given the epilogue, and functions pass
// on what a thread has added up. Where there are vectors, what a kernel has ready of the old y
// where it wants that, MBK_BESIDE, is of the first of them.
#include "spmv/epilogue.cuh"

typedef mbk_epilogue_run &mbk_epilogue_scalar;
#define MBK_SCALAR mbk_epilogue_scalar
#define MBK_ABSENT run
#define MBK_VANISHES(alpha) ((void)(alpha), false)
#define MBK_RESULT(sum, old)                                                                   \
  mbk_epilogue_row(alpha, row, (sum), MBK_EPILOGUE_VECTORS > 0 ? (old) : (MBK_VECTOR)0)
#define MBK_BESIDE(y) ((alpha).call.vectors[0])

#define MBK_SCALAR_PARAMETERS const mbk_epilogue epilogue
#define MBK_SCALAR_ARGUMENTS epilogue
#define MBK_ALPHA run
#define MBK_SCALARS_LOAD                                                                       \
  mbk_epilogue_scalar alpha = run;                                                             \
  mbk_epilogue_scalar beta = run;                                                              \
  (void)alpha;                                                                                 \
  (void)beta

// Behind mbk_release in every kernel of a product; and where it ends, by all threads of a
// block, of which `threads` are: before the last kernel, and in it.
#define MBK_BEGIN                                                                              \
  mbk_epilogue_run run = {epilogue, {0.0, 0.0}};                                               \
  if (mbk_epilogue_skips(epilogue)) {                                                          \
    return;                                                                                    \
  }
#define MBK_LEAVE(threads) mbk_epilogue_leave(run, threads)
#define MBK_FINISH(threads) mbk_epilogue_finish(run, threads)
