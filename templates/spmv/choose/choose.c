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

/* Returns whether the method's faster products make up for building its form. A product takes
 * `now` seconds with SCAN and `then` with the method; `expected_calls` products will follow.
 * Building is cheaper if the plan has an arena, because no memory is allocated. */
static int mbi_choose_pays(const merbit_plan *plan, const mbi_cuda_method *method, double now,
                           double then) {
  const double making = plan->arena.at != 0 && method->making > MBI_MAKING_COLUMNS
                            ? MBI_MAKING_COLUMNS
                            : method->making;
  return plan->desc.expected_calls * (now - then) > making * then;
}

/* Returns the cost of a method if AUTO may take it without measuring, or HUGE_VAL. */
static double mbi_choose_cost(const merbit_plan *plan, const mbi_method *row) {
  const mbi_cuda_method *cuda = row->cuda;
  return cuda == NULL || cuda->trusted == NULL || cuda->trusted(plan)
             ? mbi_method_cost(plan, row)
             : HUGE_VAL;
}

/* Writes plan->why: the costs of all methods that suit the matrix. */
static void mbi_choose_say(merbit_plan *plan) {
  const mbi_method *row;
  int length = snprintf(plan->why, sizeof plan->why, "%sforecast",
                        mbi_sliced_trusted(plan) ? "even rows, " : "");
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

/* Returns the number of products from which it pays to search a small matrix for full blocks,
 * or to build slices: the launches and allocations that build them take as long as so many
 * products save by them. (Blocks on an H200: 0.4 ms, and 3 us per product in f32, a third of
 * that in f64: both are times of launches, so their ratio holds elsewhere.) */
static int mbi_choose_form_calls(const merbit_plan *plan) {
  return plan->type == MERBIT_F32 ? 100 : 300;
}

/* Returns whether inspecting the matrix would take longer than a better choice saves. */
MBI_INTERNAL int mbi_choose_unseen(const merbit_plan *plan) {
  return plan->desc.expected_calls <= MBI_CHOOSE_UNSEEN_CALLS &&
         mbi_choose_fills(plan, MBI_CHOOSE_UNSEEN);
}

/* Returns whether slices may pay: they need little padding, and no lane walks its row for
 * longer than SCAN takes. */
static int mbi_choose_slices(const merbit_plan *plan) {
  return mbi_sliced_trusted(plan) && mbi_sliced_walk(plan) <= mbi_scan_cost(plan);
}

/* SCAN's warps exchange carries through shared memory: that takes as long as so many steps of a
 * row's lanes, which wait for columns and then for x. */
#define MBI_CHOOSE_STEPS 3.0

/* Returns whether the lanes of a small matrix's rows are too few to hide what L2 does not hold.
 * Each half of L2 holds the vectors that its multiprocessors read, so vectors count twice. (f32
 * on an H200, us: 548 rows of 5,474, x of 1.2 MB, ROWS 22.8, SCAN 25.4; 980 rows of 3,061, x of
 * 6.1 MB, 66.6 and 26.1.) */
static int mbi_choose_few_rows(const merbit_plan *plan) {
  const uint64_t vectors = (plan->device.rows + plan->device.cols) * mbi_type_size(plan->type);
  return plan->device.nnz > 0 && mbi_rows_thin(plan) > 1.5 &&
         !mbi_choose_fits(plan, mbi_device_csr_stream_bytes(plan) + vectors, 1);
}

/* Returns whether lanes per row pay for a small matrix: they are not too often idle, and none
 * walk a row for longer than SCAN takes. If SCAN has the whole matrix in flight at once, in one
 * launch, it does not wait for the steps after the first. (Doubles in 1,226 rows of 1,187 on an
 * H200, of which lanes take 256 at once: ROWS 9.9 us, SCAN 7.5.) */
static int mbi_choose_small_rows(const merbit_plan *plan) {
  return !mbi_rows_idle(plan) && !mbi_choose_few_rows(plan) &&
         (mbi_scan_holds_all(plan) ? mbi_rows_steps(plan) <= MBI_CHOOSE_STEPS
                                   : mbi_rows_walk(plan) <= mbi_scan_cost(plan));
}

/* Returns whether slices pay for a small matrix whose rows differ too much for lanes that share
 * a warp: sorted, they need little padding. If SCAN has the whole matrix in flight at once,
 * they gain nothing. (3M floats in rows of 1 to 47 on an H100: SLICED 9.5 us, ROWS 11.2, SCAN
 * 12.3.) */
static int mbi_choose_small_slices(const merbit_plan *plan) {
  return mbi_plan_plain(plan) && !mbi_scan_holds_all(plan) && mbi_sliced_parts(plan) == 1 &&
         plan->desc.expected_calls >= mbi_choose_form_calls(plan) && mbi_choose_slices(plan);
}

/* Returns whether slices that warps share pay for a small matrix, by the forecasts. (Floats on
 * an H100, us: 18,974 rows of 158, SLICED 8.1, ROWS 12.5; 2,000 rows of 1 and 1,000 by turns,
 * 6.0 and 8.9.) The forecast of ROWS is too short, and left out, where several rows together
 * read whole lines of x. (2,450 rows of 1,225 floats on an H200: forecast 9.1 us, measured
 * 14.0; SLICED 11.6, SCAN 14.6.) */
static int mbi_choose_small_shares(const merbit_plan *plan, int rows) {
  const double scan = mbi_scan_cost(plan);
  const double other = rows && !mbi_together_abreast(plan) ? mbi_rows_cost(plan) : scan;
  return mbi_plan_plain(plan) && mbi_sliced_trusted(plan) && mbi_sliced_shares(plan) &&
         plan->desc.expected_calls >= mbi_choose_form_calls(plan) &&
         mbi_sliced_cost(plan) < 0.95 * (other < scan ? other : scan);
}

/* Returns whether a small matrix may be sampled for diagonals: with fewer bytes or products
 * they save less than finding and storing them takes. */
static int mbi_choose_small_sample(const merbit_plan *plan) {
  return plan->device.nnz > 0 && mbi_choose_small(plan) &&
         plan->desc.expected_calls >= MBI_CHOOSE_DIAGONALS_CALLS &&
         mbi_choose_fills(plan, MBI_CHOOSE_BLOCKS);
}

/* Returns the method with the least forecast, of those whose form pays for itself. */
static merbit_method mbi_choose_by_cost(merbit_plan *plan) {
  const double scan = mbi_scan_cost(plan);
  merbit_method method = MERBIT_METHOD_SCAN;
  double best = scan;
  const mbi_method *row;
  size_t i;
  for (i = 0; (row = mbi_method_row(i)) != NULL; i++) {
    const double cost = mbi_choose_cost(plan, row);
    if (cost < best && mbi_choose_pays(plan, row->cuda, scan, cost)) {
      method = row->number;
      best = cost;
    }
  }
  mbi_choose_say(plan);
  return method;
}

/* Returns the method that should be fastest, and writes plan->why. A small matrix stays in L2,
 * where launches count, so lanes share a row. */
MBI_INTERNAL merbit_method mbi_choose_method(merbit_plan *plan) {
  const int even = mbi_sliced_trusted(plan);
  if (mbi_choose_small(plan)) {
    const int diagonals = mbi_diagonals_trusted(plan);
    const int even_rows = mbi_choose_small_rows(plan);
    const int shares = !diagonals && mbi_choose_small_shares(plan, even_rows);
    const int rows = !diagonals && !shares && even_rows;
    const int blocks = !diagonals && !shares && mbi_choose_full(plan);
    const int slices =
        shares || (!diagonals && !rows && !blocks && mbi_choose_small_slices(plan));
    (void)snprintf(plan->why, sizeof plan->why, "small, %s; runner-up %s",
                   diagonals ? "of diagonals"
                   : shares  ? "with long rows"
                   : rows    ? "with even rows"
                   : blocks  ? "of full blocks"
                   : slices  ? "with uneven, short rows"
                             : "with uneven rows",
                   diagonals || rows || blocks || slices ? "scan" : "rows");
    return diagonals ? MERBIT_METHOD_DIAGONALS
           : rows    ? MERBIT_METHOD_ROWS
           : blocks  ? MERBIT_METHOD_BSR
           : slices  ? MERBIT_METHOD_SLICED
                     : MERBIT_METHOD_SCAN;
  }
  if (!mbi_plan_plain(plan)) {
    const int rows = even && plan->nonempty.longest <= 64 && mbi_nonempty_equal(plan);
    (void)snprintf(plan->why, sizeof plan->why, "%s rows of %s; runner-up %s",
                   rows ? "equal, short" : "any", mbi_plan_type_text(plan),
                   rows ? "scan" : "merge");
    return rows ? MERBIT_METHOD_ROWS : MERBIT_METHOD_SCAN;
  }
  return mbi_choose_by_cost(plan);
}

/* Sets plan->method to one of those that support semirings. In doubles, a scan of semiring sums
 * costs more than lanes that idle if rows have nearly equal lengths (on an H200, 27-point
 * stencil and mesh: 375 and 295 us, by rows 285 and 253); in floats it does not (197 and 166,
 * by rows 262 and 238). */
MBI_INTERNAL merbit_status mbi_choose_semiring(merbit_plan *plan) {
  plan->method = MERBIT_METHOD_MERGE;
  if (mbi_choose_unseen(plan)) {
    (void)snprintf(plan->why, sizeof plan->why, "for %d product without a look at the matrix",
                   plan->desc.expected_calls);
  } else if (!mbi_nonempty_fit(plan)) {
    (void)snprintf(plan->why, sizeof plan->why, "more rows than the others take");
  } else {
    const int is_small = mbi_choose_small(plan);
    int rows;
    MBI_TRY(mbi_nonempty_need(plan));
    rows = is_small ? mbi_choose_small_rows(plan)
                    : plan->type == MERBIT_F64 && mbi_sliced_trusted(plan) &&
                          plan->nonempty.longest <= 64;
    plan->method = rows ? MERBIT_METHOD_ROWS : MERBIT_METHOD_SCAN;
    (void)snprintf(plan->why, sizeof plan->why, "%s; runner-up %s",
                   rows && is_small ? "small, with even rows"
                   : rows           ? "even, short rows of doubles"
                                    : "of those for semirings",
                   rows ? "scan" : "merge");
  }
  return MERBIT_OK;
}

/* Returns whether a small matrix may be searched for full blocks. */
static int mbi_choose_small_blocks(const merbit_plan *plan) {
  return plan->device.nnz > 0 && mbi_choose_small(plan) &&
         plan->desc.expected_calls >= mbi_choose_form_calls(plan) &&
         mbi_choose_fills(plan, MBI_CHOOSE_BLOCKS);
}

/* Computes what forecasts need to know of the columns. Large matrices are sampled; small ones
 * only for diagonals, and they are searched for full blocks, unless lanes per row pay, which
 * are faster. (3 x 3 blocks, 25 MB in f32, on an H200: ROWS 5.5 us, BSR 7.0.) Hubs are counted
 * only if many products spend at least a third of their time on gathers, of which the caches
 * miss most but not nearly all: with hubs, windows of nonzeros read some sectors again. */
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
  if (plan->device.nnz == 0 || mbi_choose_small(plan)) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_nonempty_sample(plan));
  if (plan->desc.expected_calls <= MBI_MAKING_FORM) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_nonempty_blocks(plan));
  gathers = (double)plan->device.nnz * plan->nonempty.sectors * mbi_choose_gather(plan, cols);
  if (plan->nonempty.sectors > 0.5 && plan->nonempty.sectors < MBI_CHOOSE_NO_HUBS &&
      3 * gathers > mbi_scan_cost(plan)) {
    status = mbi_nonempty_columns(plan, mbi_hubs_capacity(plan));
  }
  if (status == MERBIT_DEVICE_OUT_OF_MEMORY) { /* then there are no hubs */
    char reason[384];
    mbi_error_clear(plan->context, reason, sizeof reason);
    mbi_log(plan->context, "columns are not counted: %s", reason);
    return MERBIT_OK;
  }
  return status;
}

/* Returns how many candidates to measure, and lists them; 0: none. The user must leave
 * everything open, and enough products must follow. */
MBI_INTERNAL int mbi_choose_by_measuring(const merbit_plan *plan, mbi_candidate *candidates) {
  return !plan->desc.deterministic && plan->desc.block_threads == 0 && plan->device.nnz > 0 &&
                 mbi_plan_plain(plan)
             ? mbi_measure_affords(plan, candidates, mbi_measure_candidates(plan, candidates))
             : 0;
}

/* Returns the profile of which a plan's forecasts are made. A small matrix needs no more than
 * L2's size and latencies, for which the estimate will do, and a deterministic plan must not
 * depend on a measurement. Others take the measured profile if there is one. The GPU is
 * measured if that takes at most MBI_MEASURE_SHARE of the plan's own products (8,000 of 0.2
 * ms), although later plans of every process profit from it. */
MBI_INTERNAL const merbit_device_profile *mbi_choose_profile(const merbit_plan *plan) {
  const double seconds = (double)mbi_device_csr_stream_bytes(plan) * mbi_choose_stream(plan);
  return plan->desc.deterministic || !mbi_plan_plain(plan) || mbi_choose_small(plan) ||
                 mbi_choose_unseen(plan)
             ? plan->profile
             : mbi_profile_take(plan->context,
                                MBI_MEASURE_SHARE * plan->desc.expected_calls * seconds >=
                                    MBI_PROFILE_SECONDS);
}

/* Sets *forms to the forms of values that pay with the plan's method, or with any that AUTO may
 * take. A matrix that fits in L2 need not be shorter. Blocks keep general values: their columns
 * cost so little that shorter values cannot make up for it. Tables pay in SLICED; halves do not
 * pay in SCAN if lanes load two at once. */
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

/* Returns whether it may pay to store the values in a shorter form. Three methods keep
 * general values: MERBIT, which is as published; MERGE, which does not inspect the matrix; and
 * BSR. */
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
  if (status == MERBIT_DEVICE_OUT_OF_MEMORY) { /* then values stay general */
    char reason[384];
    mbi_error_clear(plan->context, reason, sizeof reason);
    mbi_log(plan->context, "values are not stored shorter: %s", reason);
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
 * beyond 2^32 - 2 rows, else the result of the forecasts or of measuring. */
MBI_INTERNAL merbit_status mbi_choose_auto(merbit_plan *plan) {
  mbi_candidate candidates[MBI_MEASURE_MOST];
  int count;
  if (mbi_plan_has_semiring(plan)) {
    return mbi_choose_semiring(plan);
  }
  if (mbi_choose_unseen(plan)) {
    plan->method = MERBIT_METHOD_MERGE;
    (void)snprintf(plan->why, sizeof plan->why, "for %d product without a look at the matrix",
                   plan->desc.expected_calls);
    return MERBIT_OK;
  }
  if (!mbi_nonempty_fit(plan)) {
    plan->method = mbi_plan_plain(plan) ? MERBIT_METHOD_MERBIT : MERBIT_METHOD_MERGE;
    (void)snprintf(plan->why, sizeof plan->why, "more rows than the others take");
    return MERBIT_OK;
  }
  MBI_TRY(mbi_nonempty_need(plan));
  if (mbi_plan_plain(plan)) {
    MBI_TRY(mbi_choose_sample(plan));
  }
  count = mbi_choose_by_measuring(plan, candidates);
  if (count > 0) {
    return mbi_measure(plan, candidates, count);
  }
  plan->method = mbi_choose_method(plan);
  return MERBIT_OK;
}

/* Returns the programs, bits of mbi_csr_file, by which mbi_choose will surely inspect the
 * matrix, so that they can be compiled at once. It compiles others when it comes to them. */
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

/* Returns the method that AUTO falls back to: SCAN, or MERGE where SCAN has failed. MERGE keeps
 * general values. */
static merbit_method mbi_choose_safe(const merbit_plan *plan) {
  return plan->device.form == MBI_VALUES_GENERAL && plan->method == MERBIT_METHOD_SCAN
             ? MERBIT_METHOD_MERGE
             : MERBIT_METHOD_SCAN;
}

/* Sets plan->method and plan->cuda, and builds the method's form of the matrix. AUTO falls back
 * to the safe method if the chosen one finds no memory or cannot take the matrix's sizes. */
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
    mbi_log(context, "this plan takes %s: %s", plan->row->name, reason);
    (void)snprintf(plan->why, sizeof plan->why, "the first choice failed: %.60s", reason);
    status = mbi_method_create(plan);
  }
  if (status == MERBIT_OK && plan->extracted.csr.rows > 0) {
    mbi_extracted_let_go(plan);
  }
  mbi_nonempty_finish(plan, &plan->nonempty);
  return status;
}
