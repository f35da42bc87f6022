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

/* The methods. A new one is a folder with its mbi_cuda_method or mbi_cpu_method, a value of
 * merbit_method and a row here. */

#define MBI_ON_BOTH (MBI_ON_CPU | MBI_ON_CUDA)
#define MBI_TAKES_ALL (MBI_TAKES_TYPES | MBI_TAKES_SEMIRINGS | MBI_TAKES_REORDERING)
#define MBI_TAKES_VECTORS (MBI_TAKES_VECTORS_CPU | MBI_TAKES_VECTORS_CUDA)

#define MBI_METHOD_ROW(name, text) MERBIT_METHOD_##name, text, "MERBIT_METHOD_" #name
#define MBI_STUDY_ROW(name, text) MERBIT_METHOD_##name, text, text

/* clang-format off */
static const mbi_method mbi_methods[] = {
  /* number, name, identifier; sides; what it takes; value forms that pay; CUDA: cost, functions,
   * or whose they are for a matrix; CPU: functions */
  {MBI_METHOD_ROW(AUTO, "auto"), MBI_ON_BOTH, MBI_TAKES_ALL | MBI_TAKES_VECTORS,
   MBI_FORMS_CHEAP, NULL, NULL, NULL, NULL},
  {MBI_METHOD_ROW(REFERENCE, "reference"), MBI_ON_CPU, MBI_TAKES_ALL,
   MBI_FORMS_CHEAP, NULL, NULL, NULL, &mbi_reference_method},
  {MBI_METHOD_ROW(MERGE, "merge"), MBI_ON_BOTH, MBI_TAKES_ALL | MBI_TAKES_VECTORS_CPU,
   0, NULL, &mbi_merge_path_method, NULL, &mbi_merge_method},
  {MBI_METHOD_ROW(MERBIT, "merbit"), MBI_ON_CUDA, MBI_TAKES_REORDERING,
   0, NULL, &mbi_merbit_method, NULL, NULL},
  {MBI_METHOD_ROW(SCAN, "scan"), MBI_ON_CUDA, MBI_TAKES_ALL,
   MBI_FORMS_ALL & ~MBI_FORMS_SLOW, mbi_scan_cost, &mbi_scan_method, NULL, NULL},
  {MBI_METHOD_ROW(ROWS, "rows"), MBI_ON_CUDA, MBI_TAKES_ALL,
   MBI_FORMS_ALL, mbi_rows_cost, &mbi_rows_method, NULL, NULL},
  {MBI_METHOD_ROW(SLICED, "sliced"), MBI_ON_CUDA, MBI_TAKES_REORDERING | MBI_ALWAYS_DEPENDENT,
   MBI_FORMS_ALL, mbi_sliced_cost, &mbi_sliced_method, NULL, NULL},
  {MBI_METHOD_ROW(BINNED, "binned"), MBI_ON_CUDA, MBI_TAKES_REORDERING,
   MBI_FORMS_ALL, mbi_binned_cost, &mbi_binned_method, NULL, NULL},
  {MBI_METHOD_ROW(BSR, "bsr"), MBI_ON_BOTH, MBI_OF_BLOCKS,
   0, mbi_extracted_cost, NULL, mbi_bsr_method_of, &mbi_blocks_method},
  {MBI_METHOD_ROW(CB, "cb"), MBI_ON_CUDA, MBI_TAKES_REORDERING,
   MBI_FORMS_CHEAP, NULL, &mbi_cb_method, NULL, NULL},
  {MBI_METHOD_ROW(HUBS, "hubs"), MBI_ON_CUDA, MBI_TAKES_REORDERING,
   MBI_FORMS_ALL, mbi_hubs_cost, &mbi_hubs_method, NULL, NULL},
  {MBI_METHOD_ROW(SORTED, "sorted"), MBI_ON_CPU, MBI_TAKES_REORDERING,
   MBI_FORMS_CHEAP, NULL, NULL, NULL, &mbi_sorted_method},
  {MBI_METHOD_ROW(MANY, "many"), MBI_ON_CUDA, MBI_TAKES_REORDERING | MBI_TAKES_VECTORS,
   MBI_FORMS_CHEAP, NULL, &mbi_many_method, NULL, NULL},
  {MBI_METHOD_ROW(SYMMETRIC, "symmetric"), MBI_ON_CPU, MBI_TAKES_REORDERING,
   MBI_FORMS_CHEAP, NULL, NULL, NULL, &mbi_symmetric_method},
#ifdef MERBIT_STUDY_METHODS
  {MBI_STUDY_ROW(BSR_ROWS, "bsr-rows"), MBI_ON_CPU, MBI_OF_BLOCKS,
   MBI_FORMS_CHEAP, NULL, NULL, NULL, &mbi_blocks_method},
  {MBI_STUDY_ROW(BSR_NAIVE, "bsr-naive"), MBI_ON_CPU, MBI_OF_BLOCKS,
   MBI_FORMS_CHEAP, NULL, NULL, NULL, &mbi_blocks_method},
  {MBI_STUDY_ROW(BSR_SPLIT, "bsr-split"), MBI_ON_CPU, MBI_OF_BLOCKS,
   MBI_FORMS_CHEAP, NULL, NULL, NULL, &mbi_blocks_method},
  {MBI_STUDY_ROW(BSR_MAXIMUM, "bsr-maximum"), MBI_ON_CPU, MBI_OF_BLOCKS,
   MBI_FORMS_CHEAP, NULL, NULL, NULL, &mbi_blocks_method},
  {MBI_STUDY_ROW(BSR_FIXED, "bsr-fixed"), MBI_ON_CPU, MBI_OF_BLOCKS,
   MBI_FORMS_CHEAP, NULL, NULL, NULL, &mbi_blocks_method},
  {MBI_STUDY_ROW(BSR_ROW_MAJOR, "bsr-rowmajor"), MBI_ON_CUDA, MBI_OF_BLOCKS,
   MBI_FORMS_CHEAP, NULL, &mbi_bsr_study_method, NULL, NULL},
  {MBI_STUDY_ROW(BSR_PRIVATE, "bsr-private"), MBI_ON_CUDA, MBI_OF_BLOCKS,
   MBI_FORMS_CHEAP, NULL, &mbi_bsr_study_method, NULL, NULL},
  {MBI_STUDY_ROW(BSR_TEAM, "bsr-team"), MBI_ON_CUDA, MBI_OF_BLOCKS,
   MBI_FORMS_CHEAP, NULL, &mbi_bsr_study_method, NULL, NULL},
  {MBI_STUDY_ROW(BSR_VECTOR, "bsr-vector"), MBI_ON_CUDA, MBI_OF_BLOCKS,
   MBI_FORMS_CHEAP, NULL, &mbi_bsr_study_method, NULL, NULL},
  {MBI_STUDY_ROW(WARP_LOOP, "warp-loop"), MBI_ON_CUDA, 0,
   MBI_FORMS_CHEAP, NULL, &mbi_warp_loop_method, NULL, NULL},
  {MBI_STUDY_ROW(WARP_TILED, "warp-tiled"), MBI_ON_CUDA, 0,
   MBI_FORMS_CHEAP, NULL, &mbi_warp_tiled_method, NULL, NULL},
  {MBI_STUDY_ROW(NONZERO_SPLIT, "nonzero-split"), MBI_ON_CUDA, 0,
   MBI_FORMS_CHEAP, NULL, &mbi_split_method, NULL, NULL},
  {MBI_STUDY_ROW(PATH_WALK, "path-walk"), MBI_ON_CUDA, 0,
   MBI_FORMS_CHEAP, NULL, &mbi_split_method, NULL, NULL},
#endif
};
/* clang-format on */

/* Returns the row of a method, or NULL for a number that is none. */
MBI_INTERNAL const mbi_method *mbi_method_find(merbit_method number) {
  size_t i;
  for (i = 0; i < sizeof mbi_methods / sizeof *mbi_methods; i++) {
    if (mbi_methods[i].number == number) {
      return &mbi_methods[i];
    }
  }
  return NULL;
}

/* Returns whether a number is a method's. */
MBI_INTERNAL int mbi_method_known(merbit_method method) {
  return mbi_method_find(method) != NULL;
}

/* Returns whether a method runs on CUDA, or on the CPU; AUTO does on both. */
MBI_INTERNAL int mbi_method_runs(merbit_method method, int cuda) {
  const mbi_method *row = mbi_method_find(method);
  return row != NULL && (row->sides & (cuda ? MBI_ON_CUDA : MBI_ON_CPU)) != 0;
}

/* Returns the name that merbit_plan_describe writes. */
MBI_INTERNAL const char *mbi_method_name(merbit_method method) {
  return mbi_method_find(method)->name;
}

/* Returns the name that users write; of a method for comparison its short name. */
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
  plan->cuda = plan->row->cuda_of != NULL ? plan->row->cuda_of(plan) : plan->row->cuda;
}

/* Takes a method on the CPU: sets plan->method, plan->row and plan->cpu. Several vectors, other
 * semirings and mixed types have one product each, which MERGE and REFERENCE share. */
MBI_INTERNAL void mbi_method_take_cpu(merbit_plan *plan, merbit_method method) {
  mbi_method_take(plan, method);
  plan->cpu = mbi_plan_vectors(plan) > 1    ? &mbi_many_cpu_method
              : mbi_plan_has_semiring(plan) ? &mbi_semiring_method
              : mbi_plan_plain(plan)        ? plan->row->cpu
                                            : &mbi_mixed_method;
}

/* Returns the seconds that a product by a method should take, launches left out. */
MBI_INTERNAL double mbi_method_cost(const merbit_plan *plan, merbit_method method) {
  return mbi_method_find(method)->cost(plan);
}
