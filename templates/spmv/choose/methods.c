#include "spmv/cpu/cpu.h"
#include "spmv/gpu/merbit/merbit.h"
#include "spmv/gpu/scan/scan.h"
#include "spmv/gpu/rows/rows.h"
#include "spmv/gpu/merge/merge.h"
#include "spmv/gpu/sliced/sliced.h"
#include "spmv/gpu/binned/binned.h"
#include "spmv/gpu/bsr/bsr.h"
#include "spmv/gpu/hubs/hubs.h"
#include "spmv/gpu/cb/cb.h"
#include "spmv/gpu/many/many.h"
#include "spmv/stages/stages.h"
#include "spmv/study/study.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* The table of methods. A new method needs a folder with its mbi_cuda_method or mbi_cpu_method,
 * a value of merbit_method and a row here. */

#define MBI_TAKES_ALL (MBI_TAKES_TYPES | MBI_TAKES_SEMIRINGS | MBI_TAKES_REORDERING)
#define MBI_TAKES_VECTORS (MBI_TAKES_VECTORS_CPU | MBI_TAKES_VECTORS_CUDA)

#define MBI_METHOD_ROW(name, text) MERBIT_METHOD_##name, text, "MERBIT_METHOD_" #name
#define MBI_STUDY_ROW(name, text) MERBIT_METHOD_##name, text, text

/* clang-format off */
static const mbi_method mbi_methods[] = {
  /* method, names; what it supports; on CUDA; on the CPU */
  {MBI_METHOD_ROW(AUTO, "auto"), MBI_TAKES_ALL | MBI_TAKES_VECTORS, NULL, NULL},
  {MBI_METHOD_ROW(REFERENCE, "reference"), MBI_TAKES_ALL | MBI_SEQUENTIAL,
   NULL, &mbi_reference_method},
  {MBI_METHOD_ROW(MERGE, "merge"), MBI_TAKES_ALL | MBI_TAKES_VECTORS_CPU,
   &mbi_merge_path_method, &mbi_merge_method},
  {MBI_METHOD_ROW(MERBIT, "merbit"), MBI_TAKES_REORDERING, &mbi_merbit_method, NULL},
  {MBI_METHOD_ROW(SCAN, "scan"), MBI_TAKES_ALL, &mbi_scan_method, NULL},
  {MBI_METHOD_ROW(ROWS, "rows"), MBI_TAKES_ALL, &mbi_rows_method, NULL},
  {MBI_METHOD_ROW(SLICED, "sliced"), MBI_TAKES_REORDERING | MBI_ALWAYS_DEPENDENT,
   &mbi_sliced_method, NULL},
  {MBI_METHOD_ROW(BINNED, "binned"), MBI_TAKES_REORDERING, &mbi_binned_method, NULL},
  {MBI_METHOD_ROW(BSR, "bsr"), MBI_OF_BLOCKS, &mbi_bsr_method, &mbi_blocks_method},
  {MBI_METHOD_ROW(CB, "cb"), MBI_TAKES_REORDERING, &mbi_cb_method, NULL},
  {MBI_METHOD_ROW(HUBS, "hubs"), MBI_TAKES_REORDERING, &mbi_hubs_method, NULL},
  {MBI_METHOD_ROW(SORTED, "sorted"), MBI_TAKES_REORDERING, NULL, &mbi_sorted_method},
  {MBI_METHOD_ROW(MANY, "many"), MBI_TAKES_REORDERING | MBI_TAKES_VECTORS,
   &mbi_many_method, NULL},
  {MBI_METHOD_ROW(SYMMETRIC, "symmetric"), MBI_TAKES_REORDERING, NULL, &mbi_symmetric_method},
#ifdef MERBIT_STUDY_METHODS
  {MBI_STUDY_ROW(BSR_ROWS, "bsr-rows"), MBI_OF_BLOCKS, NULL, &mbi_blocks_method},
  {MBI_STUDY_ROW(BSR_NAIVE, "bsr-naive"), MBI_OF_BLOCKS, NULL, &mbi_blocks_method},
  {MBI_STUDY_ROW(BSR_SPLIT, "bsr-split"), MBI_OF_BLOCKS, NULL, &mbi_blocks_method},
  {MBI_STUDY_ROW(BSR_MAXIMUM, "bsr-maximum"), MBI_OF_BLOCKS, NULL, &mbi_blocks_method},
  {MBI_STUDY_ROW(BSR_FIXED, "bsr-fixed"), MBI_OF_BLOCKS, NULL, &mbi_blocks_method},
  {MBI_STUDY_ROW(BSR_ROW_MAJOR, "bsr-rowmajor"), MBI_OF_BLOCKS, &mbi_bsr_study_method, NULL},
  {MBI_STUDY_ROW(BSR_PRIVATE, "bsr-private"), MBI_OF_BLOCKS, &mbi_bsr_study_method, NULL},
  {MBI_STUDY_ROW(BSR_TEAM, "bsr-team"), MBI_OF_BLOCKS, &mbi_bsr_study_method, NULL},
  {MBI_STUDY_ROW(BSR_VECTOR, "bsr-vector"), MBI_OF_BLOCKS, &mbi_bsr_study_method, NULL},
  {MBI_STUDY_ROW(WARP_LOOP, "warp-loop"), 0, &mbi_warp_loop_method, NULL},
  {MBI_STUDY_ROW(WARP_TILED, "warp-tiled"), 0, &mbi_warp_tiled_method, NULL},
  {MBI_STUDY_ROW(NONZERO_SPLIT, "nonzero-split"), 0, &mbi_split_method, NULL},
  {MBI_STUDY_ROW(PATH_WALK, "path-walk"), 0, &mbi_split_method, NULL},
#endif
};
/* clang-format on */

/* Returns row i of the table, or NULL after the last one. */
MBI_INTERNAL const mbi_method *mbi_method_row(size_t i) {
  return i < sizeof mbi_methods / sizeof *mbi_methods ? &mbi_methods[i] : NULL;
}

/* Returns the row of a method, or NULL if there is no such method. */
MBI_INTERNAL const mbi_method *mbi_method_find(merbit_method number) {
  size_t i = 0;
  while (mbi_method_row(i) != NULL && mbi_method_row(i)->number != number) {
    i++;
  }
  return mbi_method_row(i);
}

/* Returns whether there is a method with that number. */
MBI_INTERNAL int mbi_method_known(merbit_method method) {
  return mbi_method_find(method) != NULL;
}

/* Returns whether a method runs on CUDA, or on the CPU. AUTO runs on both. */
MBI_INTERNAL int mbi_method_runs(merbit_method method, int cuda) {
  const mbi_method *row = mbi_method_find(method);
  return method == MERBIT_METHOD_AUTO ||
         (row != NULL && (cuda ? row->cuda != NULL : row->cpu != NULL));
}

/* Returns the name that merbit_plan_describe writes. */
MBI_INTERNAL const char *mbi_method_name(merbit_method method) {
  return mbi_method_find(method)->name;
}

/* Returns the name that users write, or the short name of a study method. */
MBI_INTERNAL const char *mbi_method_identifier(merbit_method method) {
  return mbi_method_find(method)->identifier;
}

/* Sets plan->method and plan->row. */
MBI_INTERNAL void mbi_method_take(merbit_plan *plan, merbit_method method) {
  plan->method = method;
  plan->row = mbi_method_find(method);
}

/* Takes a method on CUDA: sets plan->method, plan->row and plan->cuda. */
MBI_INTERNAL void mbi_method_take_cuda(merbit_plan *plan, merbit_method method) {
  mbi_method_take(plan, method);
  plan->cuda = plan->row->cuda;
}

/* Takes a method on the CPU: sets plan->method, plan->row and plan->cpu. Several vectors,
 * semirings and mixed types have one product each, which all methods share. */
MBI_INTERNAL void mbi_method_take_cpu(merbit_plan *plan, merbit_method method) {
  mbi_method_take(plan, method);
  plan->cpu = mbi_plan_vectors(plan) > 1    ? &mbi_many_cpu_method
              : mbi_plan_has_semiring(plan) ? &mbi_semiring_method
              : mbi_plan_plain(plan)        ? plan->row->cpu
                                            : &mbi_mixed_method;
}
