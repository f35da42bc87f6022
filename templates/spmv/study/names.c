#include "spmv/study/study.h"

#ifdef MERBIT_STUDY_METHODS
/* Returns 1 for methods that multiply blocks on CUDA. */
MBI_INTERNAL int mbi_cuda_study_method(merbit_method method) {
  return method >= MERBIT_METHOD_BSR_ROW_MAJOR && method <= MERBIT_METHOD_BSR_VECTOR;
}

MBI_INTERNAL int mbi_csr_study_method(merbit_method method) {
  return method >= MERBIT_METHOD_WARP_LOOP && method <= MERBIT_METHOD_PATH_WALK;
}

MBI_INTERNAL const char *mbi_study_name(merbit_method method) {
  static const char *const cpu[] = {"bsr-rows", "bsr-naive", "bsr-split", "bsr-maximum",
                                    "bsr-fixed"};
  static const char *const cuda[] = {"bsr-rowmajor", "bsr-private", "bsr-team", "bsr-vector"};
  static const char *const csr[] = {"warp-loop", "warp-tiled", "nonzero-split", "path-walk"};
  return mbi_csr_study_method(method)    ? csr[method - MERBIT_METHOD_WARP_LOOP]
         : mbi_cuda_study_method(method) ? cuda[method - MERBIT_METHOD_BSR_ROW_MAJOR]
                                         : cpu[method - MERBIT_METHOD_BSR_ROWS];
}

#endif /* MERBIT_STUDY_METHODS */
