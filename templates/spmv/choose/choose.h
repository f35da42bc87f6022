#ifndef MBI_CHOOSE_H
#define MBI_CHOOSE_H
#include "spmv/plan/plan.h"

/* The most bytes of columns and values that L2 holds. */
#ifndef MBI_CHOOSE_SMALL
#define MBI_CHOOSE_SMALL 40000000u
#endif
/* Seconds per byte that is streamed. All figures of forecasts are measured on an H200; a choice
 * depends only on their ratios. */
#define MBI_CHOOSE_STREAM (1.0 / 4.2e12)

/* If a plan is for so few products that inspecting the matrix does not pay, it takes MERGE from
 * this many bytes of columns and values on. Below, launches count, and lanes per row need only
 * one. */
#ifndef MBI_CHOOSE_UNSEEN
#define MBI_CHOOSE_UNSEEN 1000000u
#endif
/* A small matrix is searched for full blocks from this many bytes on. With fewer, blocks save
 * less than a launch takes. */
#ifndef MBI_CHOOSE_BLOCKS
#define MBI_CHOOSE_BLOCKS 16000000u
#endif

#define MBI_MEASURE_CALLS 2000 /* the least number of products for which measuring pays */
#define MBI_MEASURE_MOST 3
#define MBI_MEASURE_ROUNDS 2
#define MBI_MEASURE_BATCH 5 /* products per round; of a small matrix ten times as many */
typedef struct mbi_candidate {
  merbit_method method;
  int omega;      /* for SCAN 1 or 2: whether rows cross blocks; else 0 */
  double seconds; /* first the forecast, if candidates are ranked by it, then the measured
                   * time */
} mbi_candidate;
/* The stored answer of a measurement. */
typedef struct mbi_measured {
  int32_t method, omega;
  char why[160];
} mbi_measured;

/* The parts of every forecast, in seconds: reading and writing the vectors, streaming columns
 * and values, and gathering those elements of x that no cache near the threads holds. */
typedef struct mbi_traffic {
  double size, nnz, rows, cols;
  double values; /* bytes of a nonzero's value */
  double vectors, stream, gathers;
  double light; /* the part of `stream` that a method without row ends takes */
} mbi_traffic;

#ifdef MBI_SEPARATE
/* spmv/choose/critical_path.c */
MBI_INTERNAL int mbi_choose_small(const merbit_plan *plan);
MBI_INTERNAL double mbi_walk(const merbit_plan *plan, double at_once, int loads);
MBI_INTERNAL double mbi_choose_gather(double bytes);
MBI_INTERNAL double mbi_choose_longer(double seconds, double walk);
MBI_INTERNAL mbi_traffic mbi_traffic_of(const merbit_plan *plan);
/* spmv/choose/methods.c */
MBI_INTERNAL const mbi_method *mbi_method_row(size_t i);
MBI_INTERNAL const mbi_method *mbi_method_find(merbit_method number);
MBI_INTERNAL int mbi_method_known(merbit_method method);
MBI_INTERNAL int mbi_method_runs(merbit_method method, int cuda);
MBI_INTERNAL const char *mbi_method_name(merbit_method method);
MBI_INTERNAL const char *mbi_method_identifier(merbit_method method);
MBI_INTERNAL void mbi_method_take(merbit_plan *plan, merbit_method method);
MBI_INTERNAL void mbi_method_take_cuda(merbit_plan *plan, merbit_method method);
MBI_INTERNAL void mbi_method_take_cpu(merbit_plan *plan, merbit_method method);
/* spmv/choose/measure.c */
MBI_INTERNAL int mbi_measure_add(mbi_candidate *candidates, int count, merbit_method method,
                                 int omega, double seconds);
MBI_INTERNAL int mbi_measure_candidates(const merbit_plan *plan, mbi_candidate *candidates);
MBI_INTERNAL int mbi_measured_valid(const merbit_plan *plan, const mbi_measured *found,
                                    size_t size);
MBI_INTERNAL void mbi_measure_answer(const mbi_candidate *candidates, int count,
                                     mbi_measured *answer);
MBI_INTERNAL merbit_status mbi_measure(merbit_plan *plan);
/* spmv/choose/choose.c */
MBI_INTERNAL int mbi_choose_unseen(const merbit_plan *plan);
MBI_INTERNAL merbit_method mbi_choose_method(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_choose_semiring(merbit_plan *plan);
MBI_INTERNAL int mbi_choose_by_measuring(const merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_choose_forms(merbit_plan *plan, uint32_t *forms);
MBI_INTERNAL merbit_status mbi_choose_values(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_choose_auto(merbit_plan *plan);
MBI_INTERNAL merbit_status mbi_choose(merbit_plan *plan);
/* spmv/choose/choose_cpu.c */
MBI_INTERNAL merbit_status mbi_choose_cpu(merbit_plan *plan);
#endif /* MBI_SEPARATE */

#endif
