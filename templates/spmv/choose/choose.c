#include "core/context.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/gpu/rows/rows.h"
#include "spmv/gpu/sliced/sliced.h"
#include "spmv/gpu/diagonals/diagonals.h"
#include "spmv/gpu/hubs/hubs.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* Chooses the method of a plan on CUDA. */

/* Returns whether the faster products of a method pay for building its form of the matrix. One
 * product takes `now` seconds with SCAN and `then` seconds with the method, and expected_calls
 * products will follow. Building is cheaper if the plan has an arena, because nothing has to be
 * allocated. */
static int mbi_choose_pays(const merbit_plan *plan, const mbi_cuda_method *method, double now,
                           double then) {
  const double making = plan->arena.at != 0 && method->making > MBI_MAKING_COLUMNS
                            ? MBI_MAKING_COLUMNS
                            : method->making;
  return plan->desc.expected_calls * (now - then) > making * then;
}

/* Returns the forecast of a method in seconds, or HUGE_VAL if AUTO must not choose the method
 * without measuring it. */
static double mbi_choose_cost(const merbit_plan *plan, const mbi_method *row) {
  const mbi_cuda_method *cuda = row->cuda;
  return cuda == NULL || cuda->trusted == NULL || cuda->trusted(plan)
             ? mbi_method_cost(plan, row)
             : HUGE_VAL;
}

/* Writes to plan->why the forecasts of all methods that suit the matrix. */
static void mbi_choose_say(merbit_plan *plan) {
  const mbi_method *row;
  int length = snprintf(plan->why, sizeof plan->why, "%sforecast",
                        mbi_sliced_trusted(plan) ? "rows of similar length, " : "");
  const char *comma = "";
  size_t i;
  for (i = 0; (row = mbi_method_row(i)) != NULL; i++) {
    const double cost = mbi_choose_cost(plan, row);
    if (cost < HUGE_VAL && length < (int)sizeof plan->why) {
      length += snprintf(plan->why + length, sizeof plan->why - (size_t)length, "%s %s %.0f us",
                         comma, row->name, 1e6 * cost);
      comma = ",";
    }
  }
}

#define MBI_CHOOSE_UNSEEN_CALLS 1

/* Returns the least number of products for which it pays to search a small matrix for full
 * blocks, or to build slices. It is the time of the launches and allocations that build them,
 * divided by the time that a product saves. (Blocks on an H200: 0.4 ms to build; a product
 * saves 3 us in f32 and a third of that in f64. Both are launch times, so the ratio should hold
 * on other GPUs.) */
static int mbi_choose_form_calls(const merbit_plan *plan) {
  return plan->type == MERBIT_F32 ? 100 : 300;
}

/* Returns whether inspecting the matrix would take longer than a better choice could save. */
MBI_INTERNAL int mbi_choose_unseen(const merbit_plan *plan) {
  return plan->desc.expected_calls <= MBI_CHOOSE_UNSEEN_CALLS &&
         mbi_choose_fills(plan, MBI_CHOOSE_UNSEEN);
}

/* Returns whether slices may pay: they need little padding, and the longest row, which a lane
 * walks alone, does not take longer than SCAN takes for the whole matrix. */
static int mbi_choose_slices(const merbit_plan *plan) {
  return mbi_sliced_trusted(plan) && mbi_sliced_walk(plan) <= mbi_scan_cost(plan);
}

/* The number of steps of ROWS (load columns, then x) that take as long as the exchange of
 * carries among SCAN's warps through shared memory. */
#define MBI_CHOOSE_STEPS 3.0
/* The share of SCAN's time that ROWS saves if rows take only a step or two. */
#define MBI_CHOOSE_SAVED 0.25

/* Returns whether a small matrix has so few rows that their lanes cannot hide the latency of
 * loads that miss L2. Each half of L2 holds its own copy of the vectors, so their bytes count
 * twice. (f32 on an H200, us: 548 rows of 5,474, x of 1.2 MB, ROWS 22.8, SCAN 25.4; 980 rows of
 * 3,061, x of 6.1 MB, 66.6 and 26.1.) */
static int mbi_choose_few_rows(const merbit_plan *plan) {
  const uint64_t vectors = (plan->device.rows + plan->device.cols) * mbi_type_size(plan->type);
  return plan->device.nnz > 0 && mbi_rows_thin(plan) > 1.5 &&
         !mbi_choose_fits(plan, mbi_device_csr_stream_bytes(plan) + vectors, 1);
}

/* Returns whether the longest row of a small matrix takes ROWS few steps, if SCAN has the whole
 * matrix in flight at once, in a single launch. (Doubles in 1,226 rows of 1,187 on an H200, of
 * which the lanes take 256 at a time: ROWS 9.9 us, SCAN 7.5.) More steps pay if they take less
 * than ROWS saves, if there are enough rows for half of the GPU's lanes, which hide the latency
 * of each other's loads, and if rows much longer than most do not hold most of the nonzeros.
 * (1M floats in 250,000 rows of 4 random columns, the longest of 16: ROWS 8.8, SCAN 11.5. 6,000
 * of 60,000 rows have 150 of 25 nonzeros on average: 11.6 and 8.6.) */
static int mbi_choose_few_steps(const merbit_plan *plan) {
  const double steps = mbi_rows_steps(plan);
  const double mean = (double)plan->device.nnz / (double)plan->nonempty.count;
  return steps <= MBI_CHOOSE_STEPS ||
         (plan->nonempty.typical <= 2 * mean && mbi_rows_half(plan) &&
          mbi_walk_end(plan, steps - 1.5, 1) <= MBI_CHOOSE_SAVED * mbi_scan_cost(plan));
}

/* Returns whether long rows that lie together, as far as is known, take a method whose forecast
 * is `cost` no longer than SCAN. (4M floats, 2M of them in the first 5,000 of 290,000 rows, on
 * an H200: ROWS 50 us, SLICED 43, SCAN 21.) */
static int mbi_choose_small_phases(const merbit_plan *plan, double cost) {
  return !mbi_phases_few(plan) || cost <= mbi_scan_cost(plan);
}

/* Returns whether walking the longest row of a small matrix takes no longer than SCAN, or half
 * as long, the launch included, if rows much longer than most hold most of the nonzeros: all of
 * them then take many steps. (2.9M doubles, every 50th of 7,782 rows has 4,300, on an H200:
 * ROWS 16.7 us, SCAN 12.3.) */
static int mbi_choose_short_walk(const merbit_plan *plan) {
  const double walk = mbi_rows_walk(plan), scan = mbi_scan_cost(plan);
  const double mean = (double)plan->device.nnz / (double)plan->nonempty.count;
  return plan->nonempty.typical <= 2 * mean
             ? walk <= scan
             : 2 * (walk + plan->profile->launch_seconds) <= scan;
}

/* Returns whether ROWS gathers a scattered x more slowly than SCAN, by the forecasts, because
 * few long rows hold most of the nonzeros. (2M doubles, random columns in rows of 350 or 2,100
 * nonzeros, on an H200: forecast ROWS 24.7 us, SCAN 17.1; measured 22.0 and 17.0.) */
static int mbi_choose_slow_gathers(const merbit_plan *plan) {
  const double mean = (double)plan->device.nnz / (double)plan->nonempty.count;
  return plan->nonempty.sectors > 0.5 && plan->nonempty.typical > 1.5 * mean &&
         mbi_rows_cost(plan) < HUGE_VAL && mbi_rows_cost(plan) > 1.3 * mbi_scan_cost(plan);
}

/* Returns whether ROWS pays for a small matrix: few lanes idle, walking the longest row takes
 * no longer than SCAN, and long rows that lie together do not take longer either. */
static int mbi_choose_small_rows(const merbit_plan *plan) {
  return !mbi_rows_idle_in_l2(plan) && !mbi_choose_few_rows(plan) &&
         mbi_choose_small_phases(plan, mbi_rows_cost(plan)) && !mbi_choose_slow_gathers(plan) &&
         (mbi_scan_holds_all(plan) ? mbi_choose_few_steps(plan) : mbi_choose_short_walk(plan));
}

/* Returns whether SLICED pays for a small matrix whose rows differ too much in length for ROWS:
 * once sorted, they need little padding. If SCAN has the whole matrix in flight at once, SLICED
 * gains nothing. (3M floats in rows of 1 to 47 on an H100: SLICED 9.5 us, ROWS 11.2, SCAN
 * 12.3.) */
static int mbi_choose_small_slices(const merbit_plan *plan) {
  return mbi_plan_plain(plan) && !mbi_scan_holds_all(plan) && mbi_sliced_parts(plan) == 1 &&
         plan->desc.expected_calls >= mbi_choose_form_calls(plan) && mbi_choose_slices(plan) &&
         mbi_choose_small_phases(plan, mbi_sliced_cost(plan));
}

/* The least nonzeros per row with which warps share the slices of a small matrix. ROWS takes
 * fewer in one step. (2M floats of a 27-point stencil on an H200: ROWS 4.0 us, SLICED 5.5.) */
#define MBI_CHOOSE_SHARED 32

/* The least sectors of x per nonzero with which warps share the slices of a small matrix. Where
 * fewer are read, ROWS waits less for x than both forecasts say. (SLICED and ROWS on an H200,
 * us, floats, by these sectors: 3M in blocks of 6 x 6, 0.04, 7.1 and 5.6; 2.6M of a hierarchy,
 * 0.07, 6.2 and 5.0; 3M of a dense assignment, 0.19, 11.6 and 14.2; 1.5M at random among 25,000
 * columns, 0.35, 6.7 and 9.4.) */
#define MBI_CHOOSE_SHARED_SECTORS 0.12

/* Returns whether slices that several warps share pay for a small matrix, by the forecasts.
 * (Floats on an H100, us: 18,974 rows of 158, SLICED 8.1, ROWS 12.5; 2,000 rows of alternately
 * 1 and 1,000, 6.0 and 8.9.) If neighbouring rows read whole lines of x together, the forecast
 * of ROWS is too low, and SCAN's is compared instead. (2,450 rows of 1,225 floats on an H200:
 * forecast 9.1 us, measured 14.0; SLICED 11.6, SCAN 14.6.) */
static int mbi_choose_small_shares(const merbit_plan *plan, int rows) {
  const double scan = mbi_scan_cost(plan);
  const double other = rows && !mbi_together_abreast(plan) ? mbi_rows_cost(plan) : scan;
  return mbi_plan_plain(plan) && mbi_sliced_trusted(plan) && mbi_sliced_shares(plan) &&
         plan->device.nnz >= MBI_CHOOSE_SHARED * plan->nonempty.count &&
         plan->nonempty.sectors >= MBI_CHOOSE_SHARED_SECTORS &&
         plan->desc.expected_calls >= mbi_choose_form_calls(plan) &&
         mbi_sliced_cost(plan) < 0.95 * (other < scan ? other : scan);
}

/* Returns whether the columns of a small matrix may be sampled. With fewer bytes or products,
 * SLICED and DIAGONALS save less than sampling and their forms cost. */
static int mbi_choose_small_sample(const merbit_plan *plan) {
  return plan->device.nnz > 0 && mbi_choose_small(plan) &&
         plan->desc.expected_calls >= MBI_CHOOSE_SAMPLE_CALLS &&
         mbi_choose_fills(plan, MBI_CHOOSE_BLOCKS);
}

/* The least columns and values, as a share of L2, with which DIAGONALS pays for a small matrix.
 */
#define MBI_CHOOSE_DIAGONALS 0.45

/* Returns whether DIAGONALS pays for a small matrix: if it is one of the larger ones, because
 * columns cost little in L2, and if a lane walks the diagonals of a slice in two steps. (On an
 * H200, us by DIAGONALS and by ROWS: floats, 4M, 7 points 5.8 and 7.1, 9 points 7.3 and 6.6;
 * 3M, 9 points 6.2 and 4.8; 2M, 27 points 6.4 and 4.0; doubles, 1.5M, 5 points 5.1 and 4.4.) */
static int mbi_choose_small_diagonals(const merbit_plan *plan) {
  return (double)mbi_device_csr_stream_bytes(plan) >=
             MBI_CHOOSE_DIAGONALS * plan->profile->l2_bytes &&
         mbi_diagonals_trusted(plan) && mbi_diagonals_steps(plan) <= 2;
}

/* Returns the factor by which a method's forecast is raised where two are compared. No forecast
 * contains the old y, for which most methods wait longer if most of the matrix does not stay in
 * L2. (Large products on an H200, with alpha and beta: SCAN and HUBS 1 to 9% longer than
 * without, ROWS 1 to 13%, BINNED 4 to 8%, SLICED 0 to 3%.) */
static double mbi_choose_tie(const merbit_plan *plan, merbit_method method) {
  const int waits = method == MERBIT_METHOD_SCAN || method == MERBIT_METHOD_ROWS ||
                    method == MERBIT_METHOD_HUBS || method == MERBIT_METHOD_BINNED;
  return waits && mbi_choose_passing(plan) >= 12 ? 1.02 : 1;
}

/* Returns the method with the least forecast among those whose form pays for itself. */
static merbit_method mbi_choose_by_cost(merbit_plan *plan) {
  const double scan = mbi_scan_cost(plan);
  merbit_method method = MERBIT_METHOD_SCAN;
  double best = scan * mbi_choose_tie(plan, method);
  const mbi_method *row;
  size_t i;
  for (i = 0; (row = mbi_method_row(i)) != NULL; i++) {
    const double cost = mbi_choose_cost(plan, row);
    const double compared = cost * mbi_choose_tie(plan, row->number);
    if (compared < best && mbi_choose_pays(plan, row->cuda, scan, cost)) {
      method = row->number;
      best = compared;
    }
  }
  mbi_choose_say(plan);
  return method;
}

/* Returns the method that should be fastest, and writes plan->why. For a small matrix, which
 * stays in L2, launches and latency decide rather than traffic. */
MBI_INTERNAL merbit_method mbi_choose_method(merbit_plan *plan) {
  const int even = mbi_sliced_trusted(plan);
  if (mbi_choose_small(plan)) {
    const int diagonals = mbi_choose_small_diagonals(plan);
    const int even_rows = mbi_choose_small_rows(plan);
    const int shares = !diagonals && mbi_choose_small_shares(plan, even_rows);
    const int rows = !diagonals && !shares && even_rows;
    const int blocks = !diagonals && !shares && mbi_plan_has_full_blocks(plan);
    const int slices =
        shares || (!diagonals && !rows && !blocks && mbi_choose_small_slices(plan));
    (void)snprintf(plan->why, sizeof plan->why, "small, %s; runner-up %s",
                   diagonals ? "with few diagonals"
                   : shares  ? "with long rows"
                   : rows    ? "with rows of similar length"
                   : blocks  ? "of full blocks"
                   : slices  ? "with short rows of different lengths"
                             : "with rows of different lengths",
                   diagonals || rows || blocks || slices ? "scan" : "rows");
    return diagonals ? MERBIT_METHOD_DIAGONALS
           : rows    ? MERBIT_METHOD_ROWS
           : blocks  ? MERBIT_METHOD_BSR
           : slices  ? MERBIT_METHOD_SLICED
                     : MERBIT_METHOD_SCAN;
  }
  if (!mbi_plan_plain(plan)) {
    const int rows = even && plan->nonempty.longest <= 64 && mbi_nonempty_equal(plan);
    (void)snprintf(plan->why, sizeof plan->why, "%s%s; runner-up %s",
                   rows ? "short rows of equal length, " : "default for ",
                   mbi_plan_type_text(plan), rows ? "scan" : "merge");
    return rows ? MERBIT_METHOD_ROWS : MERBIT_METHOD_SCAN;
  }
  return mbi_choose_by_cost(plan);
}

/* Sets plan->method to a method that supports semirings. In doubles, SCAN's segmented scan of
 * semiring sums costs more than idle lanes do if rows have nearly equal lengths (H200, 27-point
 * stencil and mesh: SCAN 375 and 295 us, ROWS 285 and 253). In floats it does not (197 and 166,
 * ROWS 262 and 238). */
MBI_INTERNAL merbit_status mbi_choose_semiring(merbit_plan *plan) {
  plan->method = MERBIT_METHOD_MERGE;
  if (mbi_choose_unseen(plan)) {
    (void)snprintf(plan->why, sizeof plan->why, "for %d product without inspecting the matrix",
                   plan->desc.expected_calls);
  } else if (!mbi_nonempty_fit(plan)) {
    (void)snprintf(plan->why, sizeof plan->why, "too many rows for other methods");
  } else {
    const int is_small = mbi_choose_small(plan);
    int rows;
    MBI_TRY(mbi_nonempty_need(plan));
    rows = is_small ? mbi_choose_small_rows(plan)
                    : plan->type == MERBIT_F64 && mbi_sliced_trusted(plan) &&
                          plan->nonempty.longest <= 64;
    plan->method = rows ? MERBIT_METHOD_ROWS : MERBIT_METHOD_SCAN;
    (void)snprintf(plan->why, sizeof plan->why, "%s; runner-up %s",
                   rows && is_small ? "small, with rows of similar length"
                   : rows           ? "short f64 rows of similar length"
                                    : "default for semirings",
                   rows ? "scan" : "merge");
  }
  return MERBIT_OK;
}

/* Returns whether a small matrix may be searched for full blocks. */
static int mbi_choose_small_blocks(const merbit_plan *plan) {
  return mbi_choose_small(plan) && plan->desc.expected_calls >= mbi_choose_form_calls(plan) &&
         mbi_choose_fills(plan, MBI_CHOOSE_BLOCKS);
}

/* The most lines of x per nonzero with which a matrix may have nearly full blocks, and the most
 * time that counting them in a sample may take, as a share of the products that follow: a third
 * of what blocks save. */
#define MBI_CHOOSE_MASKED_LINES 0.4
#define MBI_CHOOSE_MASKED_SHARE 0.1
#define MBI_CHOOSE_PROBE_LAUNCHES 50 /* in whose time they are counted: 0.3 ms on an H200 */

/* Returns whether a matrix without full blocks may have blocks that are nearly full, which few
 * lines of x per nonzero and rows of several nonzeros suggest, and whether enough products
 * follow. Few diagonals are faster than blocks. */
static int mbi_choose_probes(const merbit_plan *plan) {
  const double seconds = (double)mbi_device_csr_stream_bytes(plan) * mbi_choose_stream(plan);
  return !mbi_has_full_blocks(&plan->nonempty) && plan->device.values != 0 &&
         plan->device.form == MBI_VALUES_GENERAL && plan->device.nnz >= 6 * plan->device.rows &&
         plan->nonempty.lines < MBI_CHOOSE_MASKED_LINES && !mbi_diagonals_trusted(plan) &&
         MBI_CHOOSE_MASKED_SHARE * plan->desc.expected_calls * seconds >=
             MBI_CHOOSE_PROBE_LAUNCHES * plan->profile->launch_seconds;
}

/* Collects what the forecasts need to know about the columns. Large matrices are sampled,
 * small ones if they are large enough and enough products follow. A small matrix is searched
 * for full blocks unless ROWS, which is faster, suits it. (3 x 3 blocks, 25 MB in f32, on an
 * H200: ROWS 5.5 us, BSR 7.0.) Hubs are counted only if many products follow, gathers take at
 * least a third of a product's time, and the caches miss most of them but not nearly all: with
 * hubs, a window of nonzeros reads some sectors more than once. */
#define MBI_CHOOSE_NO_HUBS 0.98
static merbit_status mbi_choose_sample(merbit_plan *plan) {
  const double cols = (double)plan->device.cols * (double)mbi_type_size(plan->type);
  merbit_status status = MERBIT_OK;
  double gathers;
  if (mbi_choose_small_sample(plan)) {
    MBI_TRY(mbi_nonempty_sample(plan));
  }
  if (mbi_choose_small_blocks(plan) && !mbi_choose_small_rows(plan)) {
    return mbi_nonempty_blocks(plan);
  }
  if (mbi_choose_small(plan)) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_nonempty_sample(plan));
  if (plan->desc.expected_calls <= MBI_MAKING_FORM) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_nonempty_blocks(plan));
  if (mbi_choose_probes(plan)) {
    status = mbi_extract_probe(plan);
  }
  gathers = (double)plan->device.nnz * plan->nonempty.sectors * mbi_choose_gather(plan, cols);
  if (status == MERBIT_OK && plan->nonempty.sectors > 0.5 &&
      plan->nonempty.sectors < MBI_CHOOSE_NO_HUBS && 3 * gathers > mbi_scan_cost(plan)) {
    status = mbi_nonempty_columns(plan, mbi_hubs_capacity(plan));
  }
  if (status == MERBIT_DEVICE_OUT_OF_MEMORY) { /* not an error: AUTO knows less then */
    char reason[384];
    mbi_error_clear(plan->context, reason, sizeof reason);
    mbi_log(plan->context, "blocks or columns are not counted: %s", reason);
    return MERBIT_OK;
  }
  return status;
}

/* Lists the candidates to measure, and returns their number, 0 for none. Measuring requires
 * that the user has left every choice open and that enough products follow. */
MBI_INTERNAL int mbi_choose_by_measuring(const merbit_plan *plan, mbi_candidate *candidates) {
  return !plan->desc.deterministic && plan->desc.block_threads == 0 && mbi_plan_plain(plan)
             ? mbi_measure_affords(plan, candidates, mbi_measure_candidates(plan, candidates))
             : 0;
}

/* Returns whether a plan's forecasts are computed from the measured profile of the device, if
 * there is one. The estimate does for a small matrix, which needs only L2's size and latencies,
 * and for a deterministic plan, which must not depend on a measurement. */
static int mbi_choose_takes_profile(const merbit_plan *plan) {
  return !plan->desc.deterministic && mbi_plan_plain(plan) && !mbi_choose_small(plan) &&
         !mbi_choose_unseen(plan);
}

/* Returns whether measuring the GPU takes at most MBI_MEASURE_SHARE of the time of the plan's
 * products (8,000 products of 0.2 ms), although all later plans profit from it. */
static int mbi_choose_affords_profile(const merbit_plan *plan) {
  const double seconds = (double)mbi_device_csr_stream_bytes(plan) * mbi_choose_stream(plan);
  return MBI_MEASURE_SHARE * plan->desc.expected_calls * seconds >= MBI_PROFILE_SECONDS;
}

/* Returns the device profile for a plan. Measures the GPU if the plan affords it. */
MBI_INTERNAL const merbit_device_profile *mbi_choose_profile(const merbit_plan *plan) {
  return mbi_choose_takes_profile(plan)
             ? mbi_profile_take(plan->context, mbi_choose_affords_profile(plan))
             : plan->profile;
}

/* Returns the most bytes of GPU memory that mbi_choose_profile takes to measure the GPU. */
MBI_INTERNAL uint64_t mbi_choose_profile_bound(const merbit_plan *plan) {
  return mbi_choose_takes_profile(plan) && mbi_choose_affords_profile(plan)
             ? mbi_profile_bound(plan->context)
             : 0;
}

/* Sets *forms to the forms of values that pay with the plan's method, or with any method that
 * AUTO may choose. A matrix that fits in L2 gains nothing from shorter values. Blocks keep
 * general values, because their columns cost so little that shorter values cannot make up for
 * it. Tables pay only in SLICED. Halves do not pay in SCAN if lanes load two at a time. */
MBI_INTERNAL merbit_status mbi_choose_forms(merbit_plan *plan, uint32_t *forms) {
  merbit_status status = MERBIT_OK;
  *forms = MBI_FORMS_CHEAP;
  if (plan->desc.expected_calls >= MBI_VALUES_MORE_CALLS && !mbi_plan_has_semiring(plan)) {
    if (plan->method != MERBIT_METHOD_AUTO) {
      *forms = plan->row->cuda->forms;
    } else if (!mbi_choose_small(plan)) {
      status = mbi_nonempty_blocks(plan);
      if (!mbi_has_full_blocks(&plan->nonempty)) {
        *forms = MBI_FORMS_ALL;
        *forms &= mbi_choose_slices(plan) ? MBI_FORMS_ALL : ~MBI_FORMS_SLOW;
        *forms &= plan->streaming || plan->type == MERBIT_F64 ? MBI_FORMS_ALL
                                                              : ~MBI_FORM(MBI_VALUES_HALF);
      }
    }
  }
  *forms &= plan->type == MERBIT_F32 ? ~MBI_FORM(MBI_VALUES_SINGLE) : MBI_FORMS_ALL;
  return status;
}

/* Returns whether it may pay to store the values in a shorter form. Four methods keep general
 * values: MERBIT, which is as published; MERGE, which does not inspect the matrix; BSR; and
 * MANY. */
static int mbi_choose_shortens(const merbit_plan *plan) {
  return mbi_plan_plain(plan) && plan->device.values != 0 && plan->device.nnz > 0 &&
         !plan->desc.changing_values && plan->desc.expected_calls >= MBI_VALUES_CALLS &&
         (plan->row->cuda == NULL || plan->row->cuda->forms != 0) && mbi_nonempty_fit(plan);
}

/* Stores the values in a shorter form if that pays. */
MBI_INTERNAL merbit_status mbi_choose_values(merbit_plan *plan) {
  uint32_t forms = 0;
  merbit_status status;
  if (!mbi_choose_shortens(plan)) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_nonempty_need(plan));
  MBI_TRY(mbi_choose_forms(plan, &forms));
  status = mbi_values_specialise(plan, forms);
  if (status == MERBIT_DEVICE_OUT_OF_MEMORY) { /* values stay general */
    char reason[384];
    mbi_error_clear(plan->context, reason, sizeof reason);
    mbi_log(plan->context, "values are not shortened: %s", reason);
    status = MERBIT_OK;
  }
  return status;
}

/* Takes MANY, the only method for several vectors, with general values. */
static merbit_status mbi_choose_many(merbit_plan *plan) {
  merbit_status status;
  mbi_method_take_cuda(plan, MERBIT_METHOD_MANY);
  (void)snprintf(plan->why, sizeof plan->why, "for several vectors");
  status = mbi_method_create(plan);
  mbi_nonempty_finish(plan, &plan->nonempty);
  return status;
}

/* Sets plan->method if the user leaves it open: MERGE for one product of a large matrix, MERBIT
 * (or MERGE) beyond 2^32 - 2 rows, otherwise the result of the forecasts or of measuring. */
MBI_INTERNAL merbit_status mbi_choose_auto(merbit_plan *plan) {
  mbi_candidate candidates[MBI_MEASURE_MOST];
  char reason[384];
  int count;
  if (mbi_plan_has_semiring(plan)) {
    return mbi_choose_semiring(plan);
  }
  if (mbi_choose_unseen(plan)) {
    plan->method = MERBIT_METHOD_MERGE;
    (void)snprintf(plan->why, sizeof plan->why, "for %d product without inspecting the matrix",
                   plan->desc.expected_calls);
    return MERBIT_OK;
  }
  if (!mbi_nonempty_fit(plan)) {
    plan->method = mbi_plan_plain(plan) ? MERBIT_METHOD_MERBIT : MERBIT_METHOD_MERGE;
    (void)snprintf(plan->why, sizeof plan->why, "too many rows for other methods");
    return MERBIT_OK;
  }
  MBI_TRY(mbi_nonempty_need(plan));
  if (plan->device.nnz == 0) { /* the forecasts would divide by zero */
    plan->method = MERBIT_METHOD_ROWS;
    (void)snprintf(plan->why, sizeof plan->why, "no nonzeros; runner-up scan");
    return MERBIT_OK;
  }
  if (mbi_plan_plain(plan)) {
    MBI_TRY(mbi_choose_sample(plan));
  }
  count = mbi_choose_by_measuring(plan, candidates);
  if (count > 0) {
    const merbit_status status = mbi_measure(plan, candidates, count);
    if (status != MERBIT_DEVICE_OUT_OF_MEMORY) {
      return status;
    }
    mbi_error_clear(plan->context, reason, sizeof reason);
    mbi_log(plan->context, "not measured: %s", reason);
  }
  plan->method = mbi_choose_method(plan);
  return MERBIT_OK;
}

/* Returns the programs, as bits of mbi_csr_file, that mbi_choose will certainly need to inspect
 * the matrix, so that they can be compiled together. It compiles others when it needs them. */
MBI_INTERNAL uint32_t mbi_choose_inspects(const merbit_plan *plan) {
  const int one = mbi_plan_vectors(plan) == 1;
  const int any = one && plan->method == MERBIT_METHOD_AUTO && !mbi_choose_unseen(plan) &&
                  mbi_nonempty_fit(plan);
  const int shortens = one && mbi_choose_shortens(plan);
  const int plain =
      any && mbi_plan_plain(plan) && !mbi_plan_has_semiring(plan) && plan->device.nnz > 0;
  const int large = plain && !mbi_choose_small(plan);
  const int samples = large || (plain && mbi_choose_small_sample(plan));
  const int blocks = large ? plan->desc.expected_calls > MBI_MAKING_FORM
                           : plain && mbi_choose_small_blocks(plan);
  return (any || shortens ? 1u << MBI_CSR_NONEMPTY : 0) |
         (shortens ? 1u << MBI_CSR_VALUES : 0) | (samples ? 1u << MBI_CSR_SAMPLE : 0) |
         (blocks ? 1u << MBI_CSR_BLOCKS : 0);
}

/* Returns the method that AUTO falls back to: SCAN, or MERGE if SCAN has failed and the values
 * are general, the only form that MERGE takes. */
static merbit_method mbi_choose_safe(const merbit_plan *plan) {
  return plan->device.form == MBI_VALUES_GENERAL && plan->method == MERBIT_METHOD_SCAN
             ? MERBIT_METHOD_MERGE
             : MERBIT_METHOD_SCAN;
}

/* Sets plan->method and plan->cuda, and builds the method's form of the matrix. If the chosen
 * method runs out of memory or cannot take the matrix's sizes, AUTO falls back to the safe
 * one. */
MBI_INTERNAL merbit_status mbi_choose(merbit_plan *plan) {
  merbit_context *context = plan->context;
  const int any = plan->method == MERBIT_METHOD_AUTO;
  char reason[384];
  merbit_status status;
  plan->streaming = plan->device.nnz >= 4 * plan->device.rows;
  plan->passing = mbi_choose_passing(plan);
  if (mbi_plan_vectors(plan) > 1) {
    return mbi_choose_many(plan);
  }
  if (any) {
    plan->profile = mbi_choose_profile(plan);
  }
  MBI_TRY(mbi_choose_values(plan));
  plan->passing = mbi_choose_passing(plan);
  if (any) {
    MBI_TRY(mbi_choose_auto(plan));
  }
  mbi_method_take_cuda(plan, plan->method);
  status = mbi_method_create(plan);
  while (any && (status == MERBIT_DEVICE_OUT_OF_MEMORY || status == MERBIT_TOO_LARGE) &&
         plan->method != MERBIT_METHOD_MERGE && mbi_choose_safe(plan) != plan->method) {
    mbi_method_destroy(plan);
    mbi_error_clear(context, reason, sizeof reason);
    mbi_method_take_cuda(plan, mbi_choose_safe(plan));
    mbi_log(context, "this plan falls back to %s: %s", plan->row->name, reason);
    (void)snprintf(plan->why, sizeof plan->why, "the first choice failed: %.60s", reason);
    status = mbi_method_create(plan);
  }
  if (status == MERBIT_OK && plan->extracted.csr.rows > 0) {
    mbi_extracted_let_go(plan);
  }
  mbi_nonempty_finish(plan, &plan->nonempty);
  return status;
}
