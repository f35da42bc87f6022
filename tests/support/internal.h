/* All that the library's sources share, for programs linked with them compiled apart. Comes
 * before any system header. */
#ifndef TEST_INTERNAL_H
#define TEST_INTERNAL_H
#include "core/core.h"
#ifdef __cplusplus
extern "C" {
#endif
#include "solve/core/cpu_steps.h"
#include "solve/eigen/eigen.h"
#include "solve/pagerank/pagerank.h"
#ifdef __cplusplus
}
#endif

/* The state of the one plan that a test fills by hand: zero, and large enough for each method's. */
static inline void *test_plan_state(void) {
  static union {
    mbi_merbit merbit;
    mbi_rows rows;
    mbi_merge_path merge;
    mbi_sliced sliced;
    mbi_binned binned;
    mbi_bsr_tiles bsr;
    mbi_hubs hubs;
    mbi_cb cb;
    mbi_many many;
    mbi_bsr_study bsr_study;
    mbi_csr_study csr_study;
  } state;
  memset(&state, 0, sizeof state);
  return &state;
}

/* A plan of which nothing is known. */
static inline void test_plan_clear(merbit_plan *plan) {
  memset(plan, 0, sizeof *plan);
  plan->state = test_plan_state();
  mbi_method_take(plan, MERBIT_METHOD_AUTO);
}
#endif
