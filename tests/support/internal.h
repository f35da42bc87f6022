/* All internal declarations of the library, for programs linked with its separately compiled
 * sources. Include it before any system header. */
#ifndef TEST_INTERNAL_H
#define TEST_INTERNAL_H
#include "core/core.h"
#ifdef _WIN32 /* windows.h defines these names of tests as empty */
#undef far
#undef near
#endif
#ifdef __cplusplus
extern "C" {
#endif
#include "spmv/gpu/merbit/merbit.h"
#include "spmv/gpu/scan/scan.h"
#include "spmv/gpu/rows/rows.h"
#include "spmv/gpu/merge/merge.h"
#include "spmv/gpu/sliced/sliced.h"
#include "spmv/gpu/diagonals/diagonals.h"
#include "spmv/gpu/binned/binned.h"
#include "spmv/gpu/bsr/bsr.h"
#include "spmv/gpu/hubs/hubs.h"
#include "spmv/gpu/cb/cb.h"
#include "spmv/gpu/many/many.h"
#include "spmv/study/study.h"
#include "spmv/choose/choose.h"
#include "solve/core/cpu_steps.h"
#include "solve/amg/amg_cuda.h"
#include "solve/eigen/eigen.h"
#include "solve/pagerank/pagerank.h"
#ifdef __cplusplus
}
#endif

/* Returns the state of the one plan that a test fills by hand: zero, large enough for any
 * method, and after a size field like all memory of the library. */
static inline void *test_plan_state(void) {
  static uint64_t state[MBI_MEMORY_HEAD / sizeof(uint64_t) + 512];
  const mbi_method *row;
  size_t i;
  for (i = 0; (row = mbi_method_row(i)) != NULL; i++) {
    if (row->cuda != NULL && row->cuda->state_bytes > sizeof state - MBI_MEMORY_HEAD) {
      abort();
    }
  }
  memset(state, 0, sizeof state);
  return (char *)state + MBI_MEMORY_HEAD;
}

/* Clears a plan, so that nothing about it is known. */
static inline void test_plan_clear(merbit_plan *plan) {
  memset(plan, 0, sizeof *plan);
  plan->state = test_plan_state();
  mbi_method_take(plan, MERBIT_METHOD_AUTO);
}
#endif
