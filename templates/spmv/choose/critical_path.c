#include "spmv/shared/shared.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* The terms that all forecasts share, computed from the figures of plan->profile. A forecast is
 * the time for streaming and gathering at once (mbi_choose_overlap) times a factor of the
 * method, plus the launches after the first, plus the steps of the last rows. The factors are
 * fitted to the products of 100 matrices of 3 to 30 million nonzeros, in f32 and f64, on an
 * H200 and an H100; the exponent to 150 matrices.
 *
 * The critical path is the longest row, if one lane or one team of lanes walks it alone. It
 * counts even if all rows are equally long, and is part of the forecast of every method that
 * does not split rows. */

/* The share of the copy bandwidth that products reach, which read several arrays at a time. */
#define MBI_STREAM_SHARE 0.98

/* Returns whether L2 keeps the matrix, x and y from one product to the next, or whether there
 * are no nonzeros. */
MBI_INTERNAL int mbi_choose_small(const merbit_plan *plan) {
  const uint64_t vectors = (plan->device.rows + plan->device.cols) * mbi_type_size(plan->type);
  return plan->device.nnz == 0 || (double)(mbi_device_csr_stream_bytes(plan) + vectors) <=
                                      MBI_CHOOSE_SMALL * plan->profile->l2_bytes;
}

/* Returns the number of lanes that the GPU holds at once. */
MBI_INTERNAL double mbi_choose_lanes(const merbit_plan *plan) {
  return (double)plan->context->device.lanes * plan->context->device.multiprocessors;
}

/* Returns the bytes of x and y. */
static double mbi_choose_vectors(const merbit_plan *plan) {
  return (double)(plan->device.rows + plan->device.cols) *
         (double)mbi_type_size(mbi_plan_accumulator(plan)) * mbi_plan_vectors(plan);
}

/* Returns whether L2 keeps `bytes` of a matrix and the vectors from one product to the next.
 * Products then use plain loads. Loads with an eviction hint would be slower, and their time
 * depends for thousands of products on what L2 held before. (27-point stencil by ROWS, H200,
 * us, with such loads and with plain ones: f32, 24 MB, 5.6 to 7.4 and 5.3; f64, 37 MB, 7.9 to
 * 10.5 and 8.7.) `keeps` says that the product could keep just a part of the matrix instead,
 * which is as fast from a smaller size on. */
MBI_INTERNAL int mbi_choose_fits(const merbit_plan *plan, uint64_t bytes, int keeps) {
  return (double)bytes + mbi_choose_vectors(plan) <=
         (keeps ? MBI_CHOOSE_SMALL : MBI_CHOOSE_FITS) * plan->profile->l2_bytes;
}

/* Returns how many sixteenths of the `bytes` of a matrix products load with a hint to evict
 * them first. The rest, and the vectors, then stay in L2 from one product to the next. If much
 * stays, the result is rounded to a few values, so that few programs are compiled. */
MBI_INTERNAL int mbi_choose_passing_of(const merbit_plan *plan, uint64_t bytes) {
  const double room = MBI_CHOOSE_KEPT * plan->profile->l2_bytes - mbi_choose_vectors(plan);
  const double kept = 16 * room / ((double)bytes + 1);
  const int k = kept < 1 ? 0 : kept < 16 ? (int)kept : 16;
  return mbi_choose_fits(plan, bytes, 1) ? 0 : 16 - (k >= 8 ? k & ~3 : k >= 4 ? k & ~1 : k);
}

/* Returns the same for columns and values of a CSR. Nothing of a matrix of blocks stays. */
MBI_INTERNAL int mbi_choose_passing(const merbit_plan *plan) {
  return plan->view.format == MERBIT_BSR
             ? 16
             : mbi_choose_passing_of(plan, mbi_device_csr_stream_bytes(plan));
}

/* Returns whether products load the matrix past the caches. With short rows that pays only if
 * L2 then keeps a part of the matrix, or x. (f64 on an H100: x of 39 MB, 132 to 119 us; of 66
 * MB, 145 to 149.) */
static int mbi_choose_streams(const merbit_plan *plan, int passing) {
  const double x =
      (double)plan->device.cols * (double)mbi_type_size(mbi_plan_accumulator(plan));
  return passing > 0 && (plan->streaming || passing < 16 || x <= plan->profile->l2_bytes);
}

/* Defines the macros that say how a product loads the `bytes` of its matrix. `keeps` says
 * whether the product may keep a part of a matrix that L2 cannot hold. Floats that lanes load
 * one at a time (`alone`) are not kept either. (10M floats on an H200, us, with a part kept
 * and without: 27 points by DIAGONALS 15.8 and 14.2; 7 points, scrambled, by ROWS 65.7 and
 * 59.1.) */
MBI_INTERNAL void mbi_choose_loads(const merbit_plan *plan, mbi_preamble *preamble,
                                   uint64_t bytes, int keeps, int alone) {
  const int passing = mbi_choose_fits(plan, bytes, keeps)      ? 0
                      : alone && mbi_type_size(plan->type) < 8 ? 16
                      : plan->passing > 0                      ? plan->passing
                                          : mbi_choose_passing_of(plan, bytes);
  mbi_preamble_define_int(preamble, "MBK_STREAMING",
                          keeps ? mbi_choose_streams(plan, passing)
                                : passing > 0 && plan->streaming);
  if (keeps && passing > 0 && passing < 16) {
    mbi_preamble_define_int(preamble, "MBK_KEPT", 16 - passing);
  }
}

/* Returns the seconds per byte streamed past the caches. */
MBI_INTERNAL double mbi_choose_past(const merbit_plan *plan) {
  return 1.0 / (MBI_STREAM_SHARE * plan->profile->copy_rate);
}

/* Returns the seconds per byte streamed if `passing` sixteenths of the bytes go past L2. Bytes
 * that stay in L2 take half as long. */
MBI_INTERNAL double mbi_choose_stream_of(const merbit_plan *plan, int passing) {
  return (16 + passing) / 32.0 * mbi_choose_past(plan);
}

/* Returns the same for the columns and values of a CSR. */
MBI_NOINLINE MBI_INTERNAL double mbi_choose_stream(const merbit_plan *plan) {
  return mbi_choose_stream_of(plan, mbi_choose_passing(plan));
}

/* Returns the number of bytes that can be copied in the time of `launches` launches. */
MBI_INTERNAL double mbi_choose_launch_bytes(const merbit_plan *plan, double launches) {
  return launches * plan->profile->launch_seconds * plan->profile->copy_rate;
}

/* Returns whether the matrix has at least as many bytes as can be copied in the time of
 * `launches` launches. */
MBI_INTERNAL int mbi_choose_fills(const merbit_plan *plan, double launches) {
  return (double)mbi_device_csr_stream_bytes(plan) >= mbi_choose_launch_bytes(plan, launches);
}

/* Returns the latency of a load in seconds: the average over loads from L2 and from memory. */
MBI_INTERNAL double mbi_walk_load(const merbit_plan *plan) {
  const double kept = mbi_choose_small(plan) ? 1.0 : (16 - mbi_choose_passing(plan)) / 16.0;
  return plan->profile->memory_load_seconds +
         kept * (plan->profile->l2_load_seconds - plan->profile->memory_load_seconds);
}

/* Returns the seconds for walking the plan's longest row, minus those of the shortest product
 * (launch_seconds), which all forecasts leave out. A step takes `at_once` nonzeros and consists
 * of `loads` dependent loads. (40,000 nonzeros by SLICED in f32, 8 per step, columns and then
 * x, take 5.5 ms on an H200.) */
MBI_INTERNAL double mbi_walk(const merbit_plan *plan, double at_once, int loads) {
  return (double)plan->nonempty.longest / at_once * loads * mbi_walk_load(plan) -
         plan->profile->launch_seconds;
}

/* A block of the fix-up adds up this many carry-outs of a row at a time if the row has more
 * than MBI_FIXUP_LONG of them: spmv/shared/fixup.cuh. */
#define MBI_FIXUP_AT_ONCE 2048.0
#define MBI_FIXUP_LONG 128.0

/* Returns the seconds that the fix-up, which runs after the product, takes for the longest row
 * if that is split into tiles of `tile` nonzeros. */
MBI_INTERNAL double mbi_walk_fixup(const merbit_plan *plan, double tile) {
  const double tiles = (double)plan->nonempty.longest / tile;
  return tiles > MBI_FIXUP_LONG ? tiles / MBI_FIXUP_AT_ONCE * mbi_walk_load(plan) : 0;
}

/* ---- Traffic ----------------------------------------------------------------------------- */

/* Returns the seconds for one sector of x that no cache close to the threads holds. `bytes` is
 * the size of x: the rate of L2 falls if x does not fit. Rates are interpolated between the
 * sizes of the profile. */
MBI_INTERNAL double mbi_choose_gather(const merbit_plan *plan, double bytes) {
  const double *const size = plan->profile->gather_bytes;
  const double *const rate = mbi_type_size(plan->type) == 4 ? plan->profile->gather_rate_f32
                                                            : plan->profile->gather_rate_f64;
  const int last = MERBIT_PROFILE_SIZES - 1;
  int i = 0;
  if (bytes <= size[0] || bytes >= size[last]) {
    return 1.0 / rate[bytes <= size[0] ? 0 : last];
  }
  while (bytes > size[i + 1]) {
    i++;
  }
  return 1.0 /
         (rate[i] + (rate[i + 1] - rate[i]) * (bytes - size[i]) / (size[i + 1] - size[i]));
}

/* The time of a line lookup in L1, as a share of the time of a sector from L2. Fitted like the
 * factors. */
#define MBI_CHOOSE_LINE 0.28

/* Returns the seconds of a product, given the `seconds` for streaming and gathering and the
 * number of 128-byte `lines` per nonzero that L1 looks up: those that a warp's loads of x
 * touch, and those of columns and values. These lookups limit products whose columns are
 * scattered over an x that the caches hold. (10M floats on an H200, x of 4 MB, by SCAN: columns
 * at random among 4,000 neighbours 33 us, mostly adjacent columns 24.) */
MBI_INTERNAL double mbi_choose_with_lines(const merbit_plan *plan, double seconds,
                                          double lines) {
  const double looking =
      (double)plan->device.nnz * lines * MBI_CHOOSE_LINE * mbi_choose_gather(plan, 0);
  return pow(pow(seconds, 1.5) + pow(looking, 1.5), 1 / 1.5);
}

/* Returns the lines of columns and values per nonzero if neighbouring lanes load them
 * together. */
MBI_INTERNAL double mbi_choose_matrix_lines(const merbit_plan *plan) {
  return (4.0 + (double)mbi_value_bytes(plan)) / 128;
}

/* Returns the seconds for streaming the row offsets. */
MBI_INTERNAL double mbi_choose_offsets(const merbit_plan *plan) {
  return (double)plan->device.rows * (double)mbi_index_bytes(plan->device.offset_type) *
         mbi_choose_stream(plan);
}

/* Returns the longer of two times: the walk of a long row runs in parallel with the other
 * rows. */
MBI_INTERNAL double mbi_choose_longer(double seconds, double walk) {
  return walk > seconds ? walk : seconds;
}

/* Returns the seconds for streaming and gathering at once, given the time of each alone. Each
 * hides a part of the other, so the result lies between the longer time and the sum. The more
 * of the matrix L2 keeps, the closer it is to the sum, because both then wait for L2. */
MBI_NOINLINE MBI_INTERNAL double mbi_choose_overlap(const merbit_plan *plan, double streaming,
                                                    double gathering) {
  const int passing = mbi_choose_passing(plan);
  const double power = 0.5 + (passing > 8 ? passing : 8) / 16.0;
  return pow(pow(streaming, power) + pow(gathering, power), 1 / power);
}

/* Returns the seconds in which lanes walk the last rows, which have `count` nonzeros each, in
 * steps of `at_once` nonzeros and two loads as in mbi_walk. No other rows are left whose loads
 * could hide their latency. */
MBI_INTERNAL double mbi_walk_end(const merbit_plan *plan, double count, double at_once) {
  return count / at_once * 2 * mbi_walk_load(plan);
}

/* Returns the sectors of x per nonzero that L1 does not hold. `bytes` is the size of x. The
 * sampled window of nonzeros starts with an empty cache. If x is hardly larger than L1 (shared
 * memory stands for its size), most sectors are still there from the window before: only those
 * count that a window of random columns does not touch. The part of the matrix that L2 holds
 * takes room in L1 as well: from half of the matrix on, all sectors of the window count. (5M
 * rows of 3 random ones of 30,000 floats on an H200: ROWS 46 us, SCAN 50; forecast with all
 * sectors of the window 72 to 75.) */
static double mbi_choose_sectors(const merbit_plan *plan, double bytes) {
  const double found = plan->nonempty.sectors;
  const double again = exp(-MBI_NONEMPTY_WINDOW / (bytes / 32));
  const int passing = mbi_choose_passing(plan);
  return bytes <= MBI_CHOOSE_HELD * plan->context->device.shared_bytes_per_block &&
                 again < found && passing > 8
             ? found - (passing - 8) / 8.0 * (found - again)
             : found;
}

/* Returns the parts of the forecasts for the plan's matrix. */
MBI_INTERNAL mbi_traffic mbi_traffic_of(const merbit_plan *plan) {
  const double stream = mbi_choose_stream(plan);
  const double count = (double)plan->nonempty.count;
  mbi_traffic t;
  double shared; /* sectors of y that two kernels or blocks write in part: the second one has to
                  * read the rest, unless y is so small that L2 keeps it */
  t.size = (double)mbi_type_size(plan->type);
  t.nnz = (double)plan->device.nnz;
  t.rows = (double)plan->device.rows;
  t.cols = (double)plan->device.cols;
  t.vectors = ((t.rows + t.cols) * t.size + (double)mbi_value_bytes_once(plan)) * stream;
  if (mbi_choose_vectors(plan) <= MBI_CHOOSE_KEPT * plan->profile->l2_bytes) {
    t.vectors /= 2; /* L2 keeps them */
  }
  t.values = (double)mbi_value_bytes(plan);
  t.stream = t.nnz * (4.0 + t.values) * stream;
  t.gathers = t.nnz * mbi_choose_sectors(plan, t.cols * t.size) *
              mbi_choose_gather(plan, t.cols * t.size);
  shared = count < t.rows - count ? count : t.rows - count;
  shared = t.rows * t.size <= MBI_CHOOSE_KEPT / 3 * plan->profile->l2_bytes ? 0
           : shared < t.rows * t.size / 32                                  ? shared
                                           : t.rows * t.size / 32;
  t.lists = count < t.rows ? (4.0 * count + t.rows / 8.0) * stream : 0;
  t.shared = count < t.rows ? 64.0 * shared * stream : 0;
  return t;
}
