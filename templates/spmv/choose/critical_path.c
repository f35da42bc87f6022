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

/* ---- Traffic ----------------------------------------------------------------------------- */

/* Returns the seconds for one sector of x that no cache near the threads holds, by the bytes of
 * x: the L2's rate, which falls where x does not fit. */
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

/* Returns the longer time: a row that is walked alone goes on while the others are multiplied.
 */
MBI_INTERNAL double mbi_choose_longer(double seconds, double walk) {
  return walk > seconds ? walk : seconds;
}

/* Returns what a product moves, in seconds. */
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
  /* No row ends have to be found, which shows in f64; in f32 the scan keeps up with the stream.
   */
  t.light = plan->type == MERBIT_F64 && t.gathers < t.stream / 2 ? 0.8 : 1.0;
  return t;
}
