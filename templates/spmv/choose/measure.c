#include "core/context.h"
#include "jit/sources.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/gpu/diagonals/diagonals.h"
#include "spmv/gpu/rows/rows.h"
#include "spmv/gpu/scan/scan.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* AUTO by measuring. If enough products follow, the method with the least forecast and SCAN,
 * the safe choice, are built in turn and timed on the matrix itself; so is a third method if
 * that pays too. The answer is stored on disk with the compiled kernels, under a hash of the
 * matrix's structure and the device. */

/* ---- Candidates -------------------------------------------------------------------------- */

/* Adds a candidate to a list of the MBI_MEASURE_MOST fastest ones, fastest first. Returns the
 * new length of the list. */
MBI_INTERNAL int mbi_measure_add(mbi_candidate *candidates, int count, merbit_method method,
                                 int whole, double seconds) {
  int at = count < MBI_MEASURE_MOST ? count : MBI_MEASURE_MOST;
  for (; at > 0 && candidates[at - 1].seconds > seconds; at--) {
    if (at < MBI_MEASURE_MOST) {
      candidates[at] = candidates[at - 1];
    }
  }
  if (at < MBI_MEASURE_MOST) {
    candidates[at].method = method;
    candidates[at].whole = whole;
    candidates[at].seconds = seconds;
  }
  return count < MBI_MEASURE_MOST ? count + 1 : count;
}

/* Lists the methods to measure for a small matrix, for which launches and latency decide, which
 * no forecast contains. SCAN, the safe choice, is among the first two. A small matrix with full
 * blocks is so large that SCAN is measured first with rows that may cross thread blocks. */
static int mbi_measure_small(const merbit_plan *plan, mbi_candidate *candidates) {
  const double seconds = mbi_scan_cost(plan);
  const int even = !mbi_rows_idle(plan) && mbi_rows_walk(plan) <= seconds;
  const int full = mbi_plan_has_full_blocks(plan), whole = mbi_scan_holds_rows(plan) ? 2 : 1;
  const merbit_method first = mbi_diagonals_trusted(plan) ? MERBIT_METHOD_DIAGONALS
                              : full                      ? MERBIT_METHOD_BSR
                              : even                      ? MERBIT_METHOD_ROWS
                                                          : MERBIT_METHOD_AUTO;
  int count = 0;
  if (first != MERBIT_METHOD_AUTO) {
    count = mbi_measure_add(candidates, count, first, 0, seconds);
  }
  count = mbi_measure_add(candidates, count, MERBIT_METHOD_SCAN, full ? 1 : whole, seconds);
  return full && even ? mbi_measure_add(candidates, count, MERBIT_METHOD_ROWS, 0, seconds)
                      : mbi_measure_add(candidates, count, MERBIT_METHOD_SCAN,
                                        full ? 2 : 3 - whole, seconds);
}

/* Puts SCAN, the safe choice, in second place unless it is first or second already. */
static int mbi_measure_safe(const merbit_plan *plan, mbi_candidate *candidates, int count) {
  int at = 0;
  while (at < count && candidates[at].method != MERBIT_METHOD_SCAN) {
    at++;
  }
  if (at < 2 && at < count) {
    return count;
  }
  count = at == count && count < MBI_MEASURE_MOST ? count + 1 : count;
  for (at = at < count ? at : count - 1; at > 1; at--) {
    candidates[at] = candidates[at - 1];
  }
  candidates[1].method = MERBIT_METHOD_SCAN;
  candidates[1].whole = 1;
  candidates[1].seconds = mbi_scan_cost(plan);
  return count;
}

/* Lists the methods to measure, and returns their number. For a large matrix these are SCAN and
 * the methods whose forecast is at most 1.75 times the least. */
MBI_INTERNAL int mbi_measure_candidates(const merbit_plan *plan, mbi_candidate *candidates) {
  const mbi_method *row;
  int count = 0;
  size_t i;
  if (mbi_choose_small(plan)) {
    return mbi_measure_small(plan, candidates);
  }
  for (i = 0; (row = mbi_method_row(i)) != NULL; i++) {
    count = mbi_measure_add(candidates, count, row->number, row->number == MERBIT_METHOD_SCAN,
                            mbi_method_cost(plan, row));
  }
  while (candidates[count - 1].seconds > 1.75 * candidates[0].seconds) {
    count--;
  }
  return mbi_measure_safe(plan, candidates, count);
}

/* Returns the number of products in a round of measuring. */
static int mbi_measure_batch(const merbit_plan *plan) {
  return mbi_choose_small(plan) ? 4 * MBI_MEASURE_BATCH : MBI_MEASURE_BATCH;
}

/* Returns the number of candidates that may be measured, or 0 if fewer than two. Building and
 * timing them takes at most MBI_MEASURE_SHARE of the time of the expected products. Compiling
 * is not counted, because kernels are compiled once and kept on disk. */
MBI_INTERNAL int mbi_measure_affords(const merbit_plan *plan, const mbi_candidate *candidates,
                                     int count) {
  const double launch = plan->profile->launch_seconds;
  const double budget =
      MBI_MEASURE_SHARE * plan->desc.expected_calls * (candidates[0].seconds + launch);
  const double products = 1 + MBI_MEASURE_ROUNDS * mbi_measure_batch(plan);
  double spent = 0;
  int i;
  for (i = 0; i < count; i++) {
    const double making = mbi_method_find(candidates[i].method)->cuda->making;
    spent += (MBI_MAKING_SCHEDULE + making + products) * (candidates[i].seconds + launch);
    if (spent > budget) {
      break;
    }
  }
  return i < 2 ? 0 : i;
}

/* ---- Timing ------------------------------------------------------------------------------ */

/* Measures the seconds of one product with the method that the plan currently has. */
static merbit_status mbi_measure_product(merbit_plan *plan, mbi_devptr carries, mbi_devptr x,
                                         mbi_devptr y, double *seconds) {
  /* Two elements, because mbi_scalar_zero could read both parts of a complex number; gcc -O3
   * warns otherwise. */
  static const double one[2] = {1, 0}, zero[2] = {0, 0};
  static const float one_f32[2] = {1, 0}, zero_f32[2] = {0, 0};
  static const void *const none[2] = {NULL, NULL};
  const void *alpha = one, *beta = zero;
  const int batch = mbi_measure_batch(plan);
  int round, i;
  if (plan->stops || plan->desc.scalar_memory == MERBIT_MEMORY_DEVICE) {
    alpha = beta = none; /* no scalars, or no skip flag */
  } else if (plan->type == MERBIT_F32) {
    alpha = one_f32;
    beta = zero_f32;
  }
  *seconds = HUGE_VAL;
  for (round = 0; round <= MBI_MEASURE_ROUNDS; round++) {
    const int products = round == 0 ? 1 : batch; /* the first one warms up */
    const double start = mbi_seconds();
    double taken;
    for (i = 0; i < products; i++) {
      MBI_TRY(mbi_method_multiply(plan, carries, alpha, x, beta, y, NULL));
    }
    MBI_TRY(mbi_device_synchronize(plan->context, NULL));
    taken = (mbi_seconds() - start) / products;
    *seconds = round > 0 && taken < *seconds ? taken : *seconds;
  }
  return MERBIT_OK;
}

/* Sets SCAN's knob `whole`. plan_desc.tuning cannot have set it: AUTO accepts no tuning. */
static void mbi_measure_take_whole(merbit_plan *plan, int whole) {
  plan->tuning[MBI_KNOB_SCAN_WHOLE] = whole;
}

/* Builds the form of the matrix for a candidate, times a product, and destroys the form again.
 * If the matrix, the memory or a missing compiler rules the candidate out, its time becomes
 * infinite; sets *shortage to 1 unless it is the matrix, which would do so again. */
static merbit_status mbi_measure_try(merbit_plan *plan, mbi_candidate *candidate, mbi_devptr x,
                                     mbi_devptr y, int *shortage) {
  merbit_context *context = plan->context;
  mbi_devptr carries = 0;
  merbit_status status;
  mbi_method_take_cuda(plan, candidate->method);
  mbi_measure_take_whole(plan, candidate->whole);
  status = mbi_method_create(plan);
  if (status == MERBIT_OK) {
    status = mbi_plan_allocate(plan, mbi_scratch_bytes(plan), "carries", &carries);
  }
  if (status == MERBIT_OK) {
    status = mbi_scratch_clear(plan, carries);
  }
  if (status == MERBIT_OK) {
    status = mbi_measure_product(plan, carries, x, y, &candidate->seconds);
  }
  mbi_plan_release(plan, carries);
  mbi_method_destroy(plan);
  if (status == MERBIT_DEVICE_OUT_OF_MEMORY || status == MERBIT_TOO_LARGE ||
      status == MERBIT_NO_COMPILER) {
    char reason[384];
    mbi_error_clear(context, reason, sizeof reason);
    mbi_log(context, "not measured: %s", reason);
    candidate->seconds = HUGE_VAL;
    *shortage = *shortage || status != MERBIT_TOO_LARGE;
    return MERBIT_OK;
  }
  return status;
}

/* Times all candidates on vectors of zeros. Sets *shortage to whether memory or the compiler
 * ruled any of them out. */
static merbit_status mbi_measure_all(merbit_plan *plan, mbi_candidate *candidates, int count,
                                     int *shortage) {
  merbit_context *context = plan->context;
  const size_t size = mbi_type_size(plan->type);
  const uint64_t x_bytes = (plan->device.cols * size + 255) / 256 * 256;
  const uint64_t bytes = x_bytes + plan->device.rows * size;
  mbi_devptr vectors = 0;
  int i;
  merbit_status status;
  *shortage = 0;
  MBI_TRY(mbi_plan_allocate(plan, bytes, "vectors to measure", &vectors));
  status = mbi_device_zero(context, vectors, (size_t)bytes, NULL);
  for (i = 0; i < count && status == MERBIT_OK; i++) {
    status = mbi_measure_try(plan, &candidates[i], vectors, vectors + x_bytes, shortage);
  }
  mbi_plan_release(plan, vectors);
  return status;
}

/* ---- Stored answers ---------------------------------------------------------------------- */

/* Makes the key under which the answer for this matrix and device is stored; NULL on
 * failure. */
static merbit_status mbi_measure_key(merbit_plan *plan, char **key, size_t *size) {
  merbit_context *context = plan->context;
  uint64_t hash = 0;
  void *room = NULL;
  *key = NULL;
  MBI_TRY(mbi_nonempty_hash(plan, &hash));
  MBI_TRY(mbi_allocate_array(context, 1024, 1, "the key of a choice", &room));
  *key = (char *)room;
  *size = (size_t)snprintf(*key, 1024,
                           "choice %d %s %s %s %d: %" PRIu64 " x %" PRIu64 ", %" PRIu64
                           " nonzeros, %016" PRIx64 ", base %d, %s, %s",
                           MBI_CACHE_FORMAT, MERBIT_VERSION_STRING, MBI_KERNEL_HASH,
                           context->device.name, context->device.multiprocessors,
                           plan->device.rows, plan->device.cols, plan->device.nnz, hash,
                           plan->device.base, mbi_plan_type_text(plan), mbi_value_name(plan));
  return MERBIT_OK;
}

/* Returns whether an answer read from disk is one that this version could have written. */
MBI_INTERNAL int mbi_measured_valid(const merbit_plan *plan, const mbi_measured *found,
                                    size_t size) {
  const mbi_method *row = mbi_method_find((merbit_method)found->method);
  return size == sizeof *found && found->why[sizeof found->why - 1] == '\0' && row != NULL &&
         row->cuda != NULL && row->cuda->cost != NULL &&
         ((row->takes & MBI_OF_BLOCKS) == 0 || mbi_has_full_blocks(&plan->nonempty) ||
          plan->nonempty.masked_side > 0) &&
         found->whole >= 0 && found->whole <= (found->method == MERBIT_METHOD_SCAN ? 2 : 0);
}

static int mbi_measure_recall(merbit_plan *plan, const char *key, size_t key_size,
                              mbi_measured *found) {
  void *image;
  size_t size;
  int valid = 0;
  if (mbi_cache_load(plan->context, key, key_size, &image, &size)) {
    valid = size == sizeof *found;
    if (valid) {
      memcpy(found, image, sizeof *found);
      valid = mbi_measured_valid(plan, found, size);
    }
    mbi_release(plan->context, image);
  }
  return valid;
}

/* ---- The answer -------------------------------------------------------------------------- */

MBI_INTERNAL void mbi_measure_answer(const mbi_candidate *candidates, int count,
                                     mbi_measured *answer) {
  char taken[32];
  size_t length;
  int best = 0, i;
  memset(answer, 0, sizeof *answer);
  for (i = 1; i < count; i++) {
    best = candidates[i].seconds < candidates[best].seconds ? i : best;
  }
  answer->method = (int32_t)candidates[best].method;
  answer->whole = candidates[best].whole;
  (void)snprintf(answer->why, sizeof answer->why, "measured");
  for (i = 0; i < count; i++) {
    length = strlen(answer->why);
    (void)snprintf(taken, sizeof taken, "%.1f us", 1e6 * candidates[i].seconds);
    (void)snprintf(answer->why + length, sizeof answer->why - length, "%s %s%s %s",
                   i > 0 ? "," : "", mbi_method_name(candidates[i].method),
                   candidates[i].whole == 2 ? " of whole rows" : "",
                   candidates[i].seconds < HUGE_VAL ? taken : "failed");
  }
}

/* Sets plan->method, SCAN's knob `whole` and plan->why to the fastest candidate.
 * plan->nonempty must be set and sampled. Stores the answer, unless it might be another one if
 * there were more memory or a compiler. Fails with MERBIT_DEVICE_OUT_OF_MEMORY, and changes
 * nothing, if there is no memory to measure in. */
MBI_INTERNAL merbit_status mbi_measure(merbit_plan *plan, mbi_candidate *candidates,
                                       int count) {
  mbi_measured answer;
  char *key = NULL;
  size_t key_size = 0;
  int recalled, shortage;
  merbit_status status = MERBIT_OK;
  MBI_TRY(mbi_measure_key(plan, &key, &key_size));
  recalled = mbi_measure_recall(plan, key, key_size, &answer);
  if (!recalled) {
    status = mbi_measure_all(plan, candidates, count, &shortage);
    mbi_measure_answer(candidates, count, &answer);
    if (status == MERBIT_OK && !shortage) {
      mbi_cache_store(plan->context, key, key_size, &answer, sizeof answer);
    }
  }
  mbi_release(plan->context, key);
  MBI_TRY(status);
  plan->method = (merbit_method)answer.method;
  mbi_measure_take_whole(plan, answer.whole);
  (void)snprintf(plan->why, sizeof plan->why, "%s%.140s", recalled ? "remembered: " : "",
                 answer.why);
  return MERBIT_OK;
}
