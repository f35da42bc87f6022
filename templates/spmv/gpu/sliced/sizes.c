#include "core/context.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/gpu/sliced/sliced.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* SLICED's sizes and forecasts: loads in flight, warps per slice, and the time of a product. */

/* ---- Sizes: loads in flight, warps per slice, bytes -------------------------------------- */

/* Returns the state of a plan that uses this method. */
MBI_INTERNAL mbi_sliced *mbi_sliced_of(const merbit_plan *plan) {
  return (mbi_sliced *)plan->state;
}

/* Returns the number of consecutive nonzeros that one load brings: 16 bytes of sums, or 8 if
 * that saves a sixteenth of the slots, because rows are padded to whole loads. */
static int mbi_sliced_pack(const merbit_plan *plan) {
  const uint64_t most = 16 / mbi_type_size(mbi_plan_accumulator(plan));
  const uint64_t last = (plan->nonempty.longest + most - 1) % most + 1;
  /* Twice the slots saved per row: if lengths differ, half of the shorter load on average. */
  const uint64_t saves = !mbi_nonempty_equal(plan) ? most / 2 : 2 * last <= most ? most : 0;
  return most > 1 && plan->device.form != MBI_VALUES_TABLE &&
                 saves * plan->device.rows >= plan->device.nnz / 8
             ? (int)most / 2
             : (int)most;
}

/* Returns the number of loads of values that a lane keeps in flight: two, or 32 bytes of sums
 * if each load brings one. (2M rows of 10 floats, two per load, on an H200, us: two loads in
 * flight 39, three 39, four 51.) */
static int mbi_sliced_unroll(const merbit_plan *plan) {
  const int wish = mbi_knob(plan, MBI_KNOB_SLICED_UNROLL);
  return wish != 0                   ? wish
         : mbi_sliced_pack(plan) > 1 ? 2
                                     : 32 / (int)mbi_type_size(mbi_plan_accumulator(plan));
}

/* Returns whether rows are sorted. Sorting adds a row number per row, which does not pay if
 * there is little padding. */
static int mbi_sliced_sorts(const merbit_plan *plan) {
  return mbi_knob(plan, MBI_KNOB_SLICED_UNSORTED) != 1 && mbi_nonempty_uneven(plan);
}

/* Returns the number of slots in all slices, padding included. */
static uint64_t mbi_sliced_slots(const merbit_plan *plan) {
  return mbi_sliced_sorts(plan) ? plan->nonempty.sorted_slots : plan->nonempty.slots;
}

/* Returns the number of nonzeros that one lane takes per step. */
static double mbi_sliced_lane(const merbit_plan *plan) {
  return (double)mbi_sliced_unroll(plan) * mbi_sliced_pack(plan);
}

/* Returns the number of warps that a multiprocessor holds at once if warps share slices: at
 * most 48, see MBK_BLOCKS in spmv/gpu/sliced/sliced.cu. */
static int mbi_sliced_warps(const merbit_plan *plan) {
  const int warps = plan->context->device.lanes / 32;
  return warps < 48 ? warps : 48;
}

/* The start and end of a block take as long as this many steps of its lanes. */
#define MBI_SLICED_START 5.0

/* Returns the length of a long row: that of the longest, but at most twice the mean. */
static double mbi_sliced_long(const merbit_plan *plan) {
  const double longest = plan->nonempty.longest;
  const double twice = 2.0 * (double)plan->device.nnz / ((double)plan->nonempty.count + 1);
  return longest < twice ? longest : twice;
}

/* Returns how many slices there would be if all nonzeros were in long rows. */
static double mbi_sliced_few(const merbit_plan *plan) {
  return (double)mbi_sliced_slots(plan) / 32 / (mbi_sliced_long(plan) + 1);
}

/* Returns the rounds of resident blocks for `slices` slices if `parts` warps share each. */
static double mbi_sliced_rounds(const merbit_plan *plan, double slices, int parts) {
  return ceil(slices /
              (mbi_sliced_warps(plan) / parts * plan->context->device.multiprocessors));
}

/* Returns the number of steps, one after the other, if `parts` warps share a slice: those of
 * all rounds, and one more long row for the end, when fewer and fewer blocks are left. The
 * rounds are counted as if all rows were long and as if all were average; the larger count is
 * used. (us for floats on an H100 with 4, 8, 16 and 32 warps: 18,974 rows of 158, 10.2, 8.1,
 * 11.3, 15.5; 10,000 rows of 1,000, 42, 24, 19, 24.) */
static double mbi_sliced_steps(const merbit_plan *plan, int parts) {
  const double all = ((double)plan->device.rows + 31) / 32;
  const double few = mbi_sliced_few(plan);
  const double steps = mbi_sliced_long(plan) / mbi_sliced_lane(plan) / parts;
  const double longs = mbi_sliced_rounds(plan, few, parts) * (steps + MBI_SLICED_START);
  const double means =
      mbi_sliced_rounds(plan, all, parts) * (steps * few / all + MBI_SLICED_START);
  return (longs > means ? longs : means) + steps;
}

/* Returns whether neighbouring rows read scattered columns of a part of x that fits in L1,
 * while the parts that all rows of a multiprocessor read do not. Larger blocks then find more
 * of x there, if there are enough of them for all multiprocessors. (Rows of up to 100 nonzeros
 * among 20,000 neighbouring columns on an H200, us in f32 / f64: blocks of 64 threads 49 / 87,
 * 256 threads 41 / 72, 512 threads 38 / 60.) */
static int mbi_sliced_in_windows(const merbit_plan *plan) {
  const mbi_nonempty_rows *n = &plan->nonempty;
  return mbi_phases_share(plan, 0.12, 0.9) > 0.5 && n->lines > 0.4 &&
         (double)plan->device.rows >= mbi_choose_lanes(plan);
}

/* Returns the number of warps that share a slice. It doubles as long as that saves an eighth of
 * the steps, or a twentieth while all slices together have fewer than half of the warps that
 * the GPU holds. (140 slices of rows of 2,236 floats on an H200: 16 warps 49 us, 32 warps 31.)
 * Slices of short rows are not shared (16 doubles per row, 3M nonzeros, on an H100: two warps
 * 22.0 us, ROWS 16.6), nor those of fewer than 64 nonzeros per row if large blocks pay. */
MBI_INTERNAL int mbi_sliced_parts(const merbit_plan *plan) {
  const int wish = mbi_knob(plan, MBI_KNOB_SLICED_PARTS);
  const double slices = (double)plan->device.rows / 32;
  const double half = mbi_sliced_warps(plan) / 2 * plan->context->device.multiprocessors;
  int parts = wish != 0 ? wish : 1;
  if (wish == 0 && plan->desc.block_threads == 0 &&
      plan->device.nnz >= (mbi_sliced_in_windows(plan) ? 64 : 20) * plan->nonempty.count) {
    while (parts < 32 &&
           mbi_sliced_steps(plan, 2 * parts) <
               (slices * parts < half ? 0.95 : 0.88) * mbi_sliced_steps(plan, parts)) {
      parts *= 2;
    }
  }
  return parts;
}

/* Returns the bytes of all slices. Rows are padded to whole loads, and each has a length, a
 * page and, if sorted, its number. */
MBI_INTERNAL double mbi_sliced_bytes(const merbit_plan *plan) {
  const uint64_t pack = (uint64_t)mbi_sliced_pack(plan), longest = plan->nonempty.longest;
  const double rows = (double)plan->device.rows;
  const double pad = mbi_nonempty_equal(plan)
                         ? (double)((longest + pack - 1) / pack * pack - longest)
                         : (double)(pack - 1) / 2;
  return ((double)mbi_sliced_slots(plan) + pad * rows) *
             (4.0 - 2.0 * plan->nonempty.narrow + (double)mbi_value_bytes(plan)) +
         rows * (longest < 256 ? 3.25 : 6.25) + rows * (mbi_sliced_sorts(plan) ? 4.0 : 0.0);
}

/* Returns the number of nonzeros of a row that all its lanes take per step. */
static double mbi_sliced_at_once(const merbit_plan *plan) {
  return (double)mbi_sliced_parts(plan) * mbi_sliced_lane(plan);
}

/* A step of a block whose warps share a slice takes as long as this many dependent loads. (140
 * slices of rows of 2,236 floats on an H200, 16 warps per slice: 17.5 such steps, loading from
 * memory, give 44 us; measured 49.) */
#define MBI_SLICED_STEP 5.0

/* Returns the seconds of the critical path: the steps of the longest row, in each of which its
 * lanes load columns and values, then x. */
MBI_INTERNAL double mbi_sliced_walk(const merbit_plan *plan) {
  return mbi_sliced_parts(plan) == 1 ? mbi_walk(plan, mbi_sliced_at_once(plan), 2)
                                     : plan->nonempty.longest / mbi_sliced_at_once(plan) *
                                           MBI_SLICED_STEP * mbi_walk_load(plan);
}

/* Returns the number of threads per block. Small blocks spread the slices of long rows that lie
 * together over more multiprocessors. (16M nonzeros, of which 10M in the last 64,000 of 640,000
 * rows, on an H200, us in f32 / f64: blocks of 256 threads 89 / 108, of 64 76 / 97, of 32 87 /
 * 101. 8M in the last 133,000 rows of 2.8M: 77 / 93 with 256 and with 64, 114 / 123 with 32.)
 */
static int mbi_sliced_threads(const merbit_plan *plan) {
  const int parts = mbi_sliced_parts(plan);
  return plan->desc.block_threads != 0 ? plan->desc.block_threads
         : parts > 1                   ? 32 * parts
         : mbi_sliced_in_windows(plan) ? 512
         : mbi_phases_few(plan)        ? 64
                                       : 256;
}

MBI_INTERNAL merbit_status mbi_sliced_size(merbit_plan *plan) {
  mbi_sliced *s = mbi_sliced_of(plan);
  merbit_context *context = plan->context;
  s->sorted = mbi_sliced_sorts(plan);
  s->pack = mbi_sliced_pack(plan);
  s->length_bytes = plan->nonempty.longest < 256 ? 1 : 4;
  s->unroll = mbi_sliced_unroll(plan);
  s->parts = mbi_sliced_parts(plan);
  s->threads = mbi_sliced_threads(plan);
  if (s->unroll < 1 || s->unroll > 16 || s->threads < 32 || s->threads > 1024 ||
      s->threads % 32 != 0 || (s->parts != 1 && s->parts != s->threads / 32)) {
    return mbi_fail(
        context, MERBIT_INVALID_ARGUMENT,
        "plan_desc.tuning: unroll is %d, parts %d and plan_desc.block_threads %d; use 1 to 16, "
        "1 or block_threads / 32, and a multiple of 32 up to 1024",
        s->unroll, s->parts, s->threads);
  }
  s->slices = (plan->device.rows + 31) / 32;
  s->blocks =
      (s->slices * 32 * (uint64_t)s->parts + (uint64_t)s->threads - 1) / (uint64_t)s->threads;
  if (!mbi_nonempty_fit(plan) || s->blocks > (uint64_t)INT32_MAX) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "%" PRIu64
                    " rows are too many for MERBIT_METHOD_SLICED; use another plan_desc.method",
                    plan->device.rows);
  }
  return MERBIT_OK;
}

/* Fails if lengths or the starts of slices exceed 32 bits. plan->nonempty must be set. */
MBI_INTERNAL merbit_status mbi_sliced_check(const merbit_plan *plan) {
  const mbi_nonempty_rows *nonempty = &plan->nonempty;
  if (nonempty->longest > INT32_MAX ||
      nonempty->slots / 16 + 6 * mbi_sliced_of(plan)->slices > UINT32_MAX) {
    return mbi_fail(plan->context, MERBIT_TOO_LARGE,
                    "slices of 32 rows would take %" PRIu64 " slots, and %" PRIu32
                    " for one row; use another plan_desc.method",
                    nonempty->slots, nonempty->longest);
  }
  return MERBIT_OK;
}

/* ---- Forecast ---------------------------------------------------------------------------- */

/* Returns whether slices of 32 rows need so little padding that the forecast can be trusted. */
MBI_INTERNAL int mbi_sliced_trusted(const merbit_plan *plan) {
  const mbi_device_csr *csr = &plan->device;
  return csr->nnz >= 4 * csr->rows && mbi_sliced_slots(plan) / 5 <= csr->nnz / 3;
}

/* Returns how many nonzeros of an average row correspond to those of a long row that its lanes
 * take per step. Warps that share a slice are at different steps, so half of them count. */
static double mbi_sliced_passed(const merbit_plan *plan) {
  return (mbi_sliced_parts(plan) > 1 ? 0.5 : 1) * mbi_sliced_at_once(plan) *
         (double)plan->device.nnz / (double)plan->device.rows / mbi_sliced_long(plan);
}

/* Returns whether rows have about equal lengths. If warps share slices of sorted rows, it is
 * enough that the long rows do. */
static int mbi_sliced_even(const merbit_plan *plan) {
  const uint64_t nnz = plan->device.nnz;
  return plan->nonempty.slots <= nnz + nnz / 4 ||
         (mbi_sliced_parts(plan) > 1 && mbi_sliced_sorts(plan) &&
          plan->nonempty.sorted_slots <= nnz + nnz / 20);
}

/* Returns whether rows are long, have about equal lengths, and move through x together. */
static int mbi_sliced_together(const merbit_plan *plan) {
  return plan->device.nnz >= 64 * plan->device.rows && mbi_together_apart(plan) &&
         mbi_together_near(plan, mbi_sliced_passed(plan)) && mbi_sliced_even(plan);
}

/* Returns whether L1 holds what lanes read of x: all of x, if warps share slices, or, if rows
 * move together, the part that they read. */
static int mbi_sliced_near(const merbit_plan *plan) {
  return mbi_sliced_together(plan) || (mbi_sliced_parts(plan) > 1 && mbi_together_held(plan));
}

/* Returns whether warps may share the slices of a small matrix whose columns were sampled. That
 * pays if x is neither so small that every method finds it in L1, nor so large that it does not
 * fit even for these warps; or if they read whole lines of x. */
MBI_INTERNAL int mbi_sliced_shares(const merbit_plan *plan) {
  const double x = mbi_together_share(plan);
  return mbi_sliced_parts(plan) > 1 && plan->nonempty.sectors > 0 && x > 0.15 &&
         (x < 2 || mbi_sliced_together(plan) || mbi_together_abreast(plan));
}

/* Returns whether warps share slices whose rows read whole lines of x together. */
static int mbi_sliced_abreast(const merbit_plan *plan) {
  return mbi_sliced_parts(plan) > 1 && mbi_together_abreast(plan);
}

/* Returns whether warps share slices that are all in flight at once, where columns are random
 * and x is not much smaller than L2. Up to 4 warps per slice gain nothing: all of them load the
 * matrix at the same time, and then gather at the same time. (30,000 rows of 200 doubles in 3M
 * columns on an H200: SLICED 75 us, ROWS 48.) */
static int mbi_sliced_in_flight(const merbit_plan *plan) {
  const double x = (double)plan->device.cols * (double)mbi_type_size(plan->type);
  const int parts = mbi_sliced_parts(plan);
  return parts > 4 && x > plan->profile->l2_bytes / 4 && mbi_together_apart(plan) &&
         mbi_sliced_rounds(plan, (double)plan->device.rows / 32, parts) <= 1;
}

/* Returns the forecast seconds for gathering x. Sectors that make up whole lines take half as
 * long as others. (7,746 rows of 3,873 floats, half of them in every 3,873rd column, on an
 * H200: SLICED 83 us, ROWS 102.) If all rows are in flight at once and columns are random, what
 * they read of x stays in L2. (3,098 rows of 9,684 doubles, x of 38 MB, on an H100: 250 us,
 * ROWS 365.) */
static double mbi_sliced_gathers(const merbit_plan *plan, const mbi_traffic *t) {
  const int parts = mbi_sliced_parts(plan);
  const double some = plan->profile->l2_bytes / 4;
  if (mbi_sliced_abreast(plan)) {
    return t->gathers * plan->nonempty.abreast / plan->nonempty.sectors / 2;
  }
  if (mbi_sliced_near(plan)) {
    const double held = mbi_together_gathers(plan, t, parts, mbi_sliced_passed(plan));
    return held < t->gathers || mbi_sliced_together(plan) ? held : t->gathers;
  }
  return mbi_sliced_in_flight(plan)
             ? 0.85 * t->nnz * plan->nonempty.sectors * mbi_choose_gather(plan, some)
             : t->gathers;
}

/* Returns the lines of 128 bytes per nonzero that a warp's loads touch, or 0 where they do not
 * matter. Lanes that move through x together touch the same lines, and find them in L1. For
 * rows that read whole lines together, the time of gathers includes them. If all rows are in
 * flight, the few warps of long rows wait for L2 alone. With one or two warps per slice half of
 * the lines count. */
static double mbi_sliced_lines(const merbit_plan *plan) {
  return mbi_sliced_near(plan) || mbi_sliced_abreast(plan) || mbi_sliced_in_flight(plan)
             ? 0
             : (plan->nonempty.lines_abreast + mbi_choose_matrix_lines(plan)) /
                   (mbi_sliced_parts(plan) > 2 ? 1 : 2);
}

/* Returns the factor by which warps that share slices take longer if the matrix is in L2. They
 * wait for the longest row of a slice, which loads from memory would hide, and few slices leave
 * multiprocessors idle. (1,760 rows of 1,705 doubles on an H100: SLICED 16.7 us, SCAN 11.2.) */
static double mbi_sliced_in_l2(const merbit_plan *plan) {
  const double kept = mbi_sliced_together(plan) ? 0 : (16 - mbi_choose_passing(plan)) / 16.0;
  const double uneven = (double)plan->nonempty.slots / (double)plan->device.nnz - 1;
  const double all = 32.0 * plan->context->device.multiprocessors;
  const double idle = (double)plan->device.rows < all ? all / (double)plan->device.rows - 1 : 0;
  return 1 + kept * (0.1 + 0.75 * uneven + idle);
}

/* Returns the factor by which a product takes longer because some multiprocessors get one more
 * slice of long rows than others. It is 1 if all slices are in flight at once. (5,391 rows of
 * 5,391 doubles on an H200: SLICED 118 us, SCAN 85.) */
static double mbi_sliced_uneven(const merbit_plan *plan) {
  const int parts = mbi_sliced_parts(plan);
  const double few = mbi_sliced_few(plan);
  const double each = few / plan->context->device.multiprocessors;
  return mbi_sliced_rounds(plan, few, parts) <= 1 ? 1 : ceil(each) / each;
}

/* Returns the factor by which the forecast is multiplied. If rows are sorted, warps wait for
 * the longest rows of their block: the more padding sorting saves, and the longer the longest
 * row is compared with those that hold most nonzeros, the longer. Few long rows, which cause
 * little padding, do not count. (On an H200: 1M rows of 25 floats on average, of log-normal
 * lengths up to 517, 104 us; 800,000 rows of 20 or 60, 72.) They gain less than others
 * from what stays in L2, because they wait for each other rather than for loads. (150,000 rows
 * of 20 doubles on an H200: 18.6 us, ROWS 12.7.) */
static double mbi_sliced_factor(const merbit_plan *plan) {
  const double slots = (double)plan->nonempty.slots / (double)plan->device.nnz;
  const double saved = slots < 2 ? 0 : slots < 9 ? slots - 2 : 7;
  const double uneven = slots < 2 ? slots - 1 : 1;
  const double beyond = (double)plan->nonempty.longest / plan->nonempty.typical;
  const double kept = (16 - mbi_choose_passing(plan)) / 16.0;
  return mbi_sliced_parts(plan) > 1
             ? 1.08 * mbi_sliced_uneven(plan) * mbi_sliced_in_l2(plan)
             : 0.92 + (mbi_sliced_sorts(plan)
                           ? 0.1 * saved + 0.12 * uneven * log(beyond) + 0.3 * kept
                           : 0);
}

/* The same as MBI_CHOOSE_HALF, for slices of long rows that lie together. Fitted to five
 * matrices. */
#define MBI_SLICED_HALF 300.0

/* The start and end of a row take as long as streaming this many bytes. (20M floats on an H200:
 * rows of 10 nonzeros 51 us, rows of 40 nonzeros 35.) */
#define MBI_SLICED_ROW 28.0

/* Returns the forecast seconds of a product, or HUGE_VAL if fewer than half of the slots are
 * filled. If rows move together or warps share slices, no lane waits for others at the end.
 * (200,000 rows of 500 doubles in 400,000 columns on an H200: 286 us, which is the time for
 * streaming their bytes; ROWS 770, SCAN 747.) */
MBI_INTERNAL double mbi_sliced_cost(const merbit_plan *plan) {
  const mbi_traffic t = mbi_traffic_of(plan);
  const double slots = (double)mbi_sliced_slots(plan);
  const double bytes = mbi_sliced_bytes(plan) + MBI_SLICED_ROW * t.rows;
  const mbi_walkers walkers = {(double)mbi_sliced_parts(plan), mbi_sliced_at_once(plan),
                               (double)mbi_sliced_threads(plan), MBI_SLICED_HALF, 0};
  const double traffic =
      mbi_phases_overlap(plan, 0.9 * (t.vectors + bytes * mbi_choose_stream(plan)),
                         mbi_sliced_gathers(plan, &t), &walkers);
  if (mbi_sliced_slots(plan) / 2 > plan->device.nnz) {
    return HUGE_VAL;
  }
  return mbi_choose_longer(
      mbi_sliced_factor(plan) * mbi_choose_with_lines(plan, traffic, mbi_sliced_lines(plan)) +
          (mbi_sliced_parts(plan) > 1 || mbi_sliced_together(plan)
               ? 0
               : mbi_walk_end(plan, slots / t.rows, mbi_sliced_at_once(plan)) / 2),
      mbi_sliced_walk(plan));
}
