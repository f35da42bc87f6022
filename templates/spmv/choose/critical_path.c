#include "spmv/shared/shared.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* The parts of forecasts. The critical path is the longest row if one lane, or one team of
 * lanes, walks it alone. It counts even if all other rows have equal lengths, and is part of
 * the forecast of each method that does not cut rows. */

MBI_INTERNAL int mbi_choose_small(const merbit_plan *plan) {
  return mbi_device_csr_stream_bytes(plan) <= MBI_CHOOSE_SMALL;
}

/* Seconds of a load on which the next load waits, from memory and from L2, on an H200. (40,000
 * nonzeros by SLICED in f32, 8 per step, columns and then x, take 5.5 ms.) */
#define MBI_WALK_FAR 0.5e-6
#define MBI_WALK_NEAR 0.2e-6

/* Seconds of any product for launches and first loads, which all forecasts leave out. */
#define MBI_WALK_LEAST 6e-6

/* Returns the seconds for walking the plan's longest row, minus MBI_WALK_LEAST. A step takes
 * `at_once` nonzeros and consists of `loads` loads, each of which waits for the one before. */
MBI_INTERNAL double mbi_walk(const merbit_plan *plan, double at_once, int loads) {
  const double load = mbi_choose_small(plan) ? MBI_WALK_NEAR : MBI_WALK_FAR;
  return (double)plan->nonempty.longest / at_once * loads * load - MBI_WALK_LEAST;
}

/* ---- Traffic ----------------------------------------------------------------------------- */

/* Returns the seconds for one sector of x that no cache near the threads holds. `bytes` is the
 * size of x: L2's rate falls if x does not fit. */
MBI_INTERNAL double mbi_choose_gather(double bytes) {
  static const double size[6] = {16e6, 32e6, 67e6, 134e6, 268e6, 1074e6};
  static const double rate[6] = {160e9, 140e9, 76e9, 53e9, 45e9, 40e9};
  int i = 0;
  if (bytes <= size[0] || bytes >= size[5]) {
    return 1.0 / rate[bytes <= size[0] ? 0 : 5];
  }
  while (bytes > size[i + 1]) {
    i++;
  }
  return 1.0 /
         (rate[i] + (rate[i + 1] - rate[i]) * (bytes - size[i]) / (size[i + 1] - size[i]));
}

/* Returns the longer time: a row that is walked alone continues while the others are
 * multiplied. */
MBI_INTERNAL double mbi_choose_longer(double seconds, double walk) {
  return walk > seconds ? walk : seconds;
}

/* Returns the parts of a forecast for the plan's matrix. */
MBI_INTERNAL mbi_traffic mbi_traffic_of(const merbit_plan *plan) {
  mbi_traffic t;
  t.size = (double)mbi_type_size(plan->type);
  t.nnz = (double)plan->device.nnz;
  t.rows = (double)plan->device.rows;
  t.cols = (double)plan->device.cols;
  t.vectors =
      ((t.rows + t.cols) * t.size + (double)mbi_value_bytes_once(plan)) * MBI_CHOOSE_STREAM;
  t.values = (double)mbi_value_bytes(plan);
  t.stream = t.nnz * (4.0 + t.values) * MBI_CHOOSE_STREAM;
  t.gathers = t.nnz * plan->nonempty.sectors * mbi_choose_gather(t.cols * t.size);
  /* A method without row ends is faster in f64; in f32 SCAN keeps up with the stream. */
  t.light = plan->type == MERBIT_F64 && t.gathers < t.stream / 2 ? 0.8 : 1.0;
  return t;
}
