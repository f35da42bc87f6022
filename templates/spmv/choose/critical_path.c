#include "spmv/shared/shared.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* The critical path: what a row takes that one lane, or one team of lanes, walks alone, however
 * even the other rows are. Part of the forecast of each method that does not cut rows. */

MBI_INTERNAL int mbi_choose_small(const merbit_plan *plan) {
  return mbi_device_csr_stream_bytes(plan) <= MBI_CHOOSE_SMALL;
}

/* Seconds for a load on which the next one waits, from memory and from L2, as on an H200
 * (40,000 nonzeros by SLICED in f32, 8 a step of columns and then x: 5.5 ms). */
#define MBI_WALK_FAR 0.5e-6
#define MBI_WALK_NEAR 0.2e-6

/* Seconds of any product, launches and first loads, that all forecasts leave out. */
#define MBI_WALK_LEAST 6e-6

/* Seconds that the plan's longest row takes who walks it alone, less MBI_WALK_LEAST: a step is
 * `at_once` nonzeros and `loads` loads, each of which waits for the one before. */
MBI_INTERNAL double mbi_walk(const merbit_plan *plan, double at_once, int loads) {
  const double load = mbi_choose_small(plan) ? MBI_WALK_NEAR : MBI_WALK_FAR;
  return (double)plan->nonempty.longest / at_once * loads * load - MBI_WALK_LEAST;
}
