#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/cpu/cpu.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* Chooses the method of a plan on the CPU for a CSR; a BSR view stays in blocks. The choice
 * depends on the expected products, the sizes of the matrix and of x, whether all values are
 * equal, and whether the matrix consists of full square blocks. docs/cpu.md has the figures. */

/* The number of products by MERGE that take as long as building another form of the matrix. */
#define MBI_CHOOSE_SORTING 12.0
/* Below this number of rows and nonzeros, products are too short for the form to matter. */
#define MBI_CHOOSE_TINY 4096

/* ---- Inspection of the matrix, which stops at the first entry that decides --------------- */

/* Returns whether a row consists of whole runs of `block` consecutive columns, each of which
 * starts at a multiple of `block`. */
static int mbi_choose_row_blocked(const int32_t *columns, int64_t count, int base, int block) {
  int64_t k;
  for (k = 0; k < count; k++) {
    const int64_t within = k % block;
    if (within == 0 ? (columns[k] - base) % block != 0 : columns[k] != columns[k - 1] + 1) {
      return 0;
    }
  }
  return count % block == 0;
}

/* Returns whether the CSR consists of full blocks: the rows of a block have the same columns,
 * in aligned runs. */
static int mbi_choose_blocked(const merbit_view *csr, int block) {
  const int32_t *col_ind = (const int32_t *)csr->col_ind;
  int64_t row;
  if (csr->rows % block != 0 || csr->cols % block != 0) {
    return 0;
  }
  for (row = 0; row < csr->rows; row++) {
    const int64_t start = mbi_row_start(csr, row), end = mbi_row_start(csr, row + 1);
    const int64_t first = row - row % block;
    const int64_t like = mbi_row_start(csr, first);
    if (row == first ? !mbi_choose_row_blocked(col_ind + start, end - start, csr->base, block)
                     : end - start != mbi_row_start(csr, first + 1) - like ||
                           memcmp(col_ind + like, col_ind + start,
                                  (size_t)(end - start) * sizeof *col_ind) != 0) {
      return 0;
    }
  }
  return 1;
}

static int mbi_choose_block(const merbit_plan *plan) {
  int block = 8;
  while (block > 1 && !mbi_choose_blocked(&plan->csr, block)) {
    block--;
  }
  return block;
}

/* ---- Forms; a plan without memory for one takes MERGE ------------------------------------ */

static merbit_status mbi_choose_without(merbit_plan *plan, merbit_status status) {
  char reason[384];
  if (status == MERBIT_OUT_OF_MEMORY && plan->desc.method == MERBIT_METHOD_AUTO) {
    plan->cpu->destroy(plan);
    mbi_bsr_release(plan->context, &plan->bsr);
    mbi_error_clear(plan->context, reason, sizeof reason);
    mbi_log(plan->context, "this plan falls back to merge: %s", reason);
    (void)snprintf(plan->why, sizeof plan->why, "no memory for another form of the matrix");
    mbi_method_take_cpu(plan, MERBIT_METHOD_MERGE);
    plan->values = plan->csr.values;
    plan->tasks = mbi_merge_tasks(plan->context, &plan->csr);
    status = MERBIT_OK;
  }
  return status;
}

/* Converts the CSR to full blocks and takes `method`. */
static merbit_status mbi_choose_blocks(merbit_plan *plan, merbit_method method, int block) {
  merbit_bsr_desc shape;
  merbit_status status;
  memset(&shape, 0, sizeof shape);
  shape.block_rows = shape.block_cols = block;
  mbi_method_take_cpu(plan, method);
  status = mbi_bsr_from_view(plan->context, &plan->csr, &shape, MBI_MASKS_ASIDE, &plan->bsr);
  if (status == MERBIT_OK) {
    status = plan->cpu->create(plan);
  }
  return mbi_choose_without(plan, status);
}

/* Takes the method with the least forecast among those whose form pays for itself, and writes
 * plan->why. */
static merbit_status mbi_choose_by_forecast(merbit_plan *plan) {
  const double calls = plan->desc.expected_calls;
  const mbi_method *row, *best = mbi_method_find(MERBIT_METHOD_MERGE), *next = NULL;
  mbi_cpu_sample sample;
  double merge, least, second = HUGE_VAL;
  size_t i;
  sample.equal = !plan->desc.changing_values && mbi_cpu_values_equal(plan);
  sample.block = plan->matrix == NULL && plan->desc.operation == MERBIT_OPERATION_N &&
                         !mbi_plan_reorders(plan)
                     ? mbi_choose_block(plan)
                     : 1;
  least = merge = best->cpu->cost(plan, &sample);
  for (i = 0; (row = mbi_method_row(i)) != NULL; i++) {
    const double cost =
        row->cpu != NULL && row->cpu->cost != NULL ? row->cpu->cost(plan, &sample) : HUGE_VAL;
    if (cost < least && calls * (merge - cost) > MBI_CHOOSE_SORTING * merge) {
      next = best;
      second = least;
      best = row;
      least = cost;
    } else if (row != best && cost < second) {
      next = row;
      second = cost;
    }
  }
  (void)snprintf(plan->why, sizeof plan->why,
                 "%sforecast %.0f us for %d product%s, runner-up %s %.0f us",
                 (best->takes & MBI_OF_BLOCKS) != 0 ? "full blocks, " : "", 1e6 * least,
                 plan->desc.expected_calls, plan->desc.expected_calls != 1 ? "s" : "",
                 next->name, 1e6 * second);
  if ((best->takes & MBI_OF_BLOCKS) != 0) {
    return mbi_choose_blocks(plan, best->number, sample.block);
  }
  mbi_method_take_cpu(plan, best->number);
  return plan->cpu->create != NULL ? mbi_choose_without(plan, plan->cpu->create(plan))
                                   : MERBIT_OK;
}

/* Returns the method that the user or the matrix dictates, or AUTO. */
static merbit_method mbi_choose_given(const merbit_plan *plan) {
  if (plan->desc.method != MERBIT_METHOD_AUTO) {
    return plan->desc.method;
  }
  return mbi_plan_takes_blocks(plan) ? MERBIT_METHOD_BSR
         : plan->symmetric.direct    ? MERBIT_METHOD_SYMMETRIC
                                     : MERBIT_METHOD_AUTO;
}

/* Takes the plan's method and builds its form of the matrix. On failure the caller runs
 * mbi_plan_free. */
MBI_INTERNAL merbit_status mbi_choose_cpu(merbit_plan *plan) {
  const merbit_method given = mbi_choose_given(plan);
  if (!mbi_plan_takes_blocks(plan)) {
    plan->values = plan->csr.values;
    plan->tasks = mbi_merge_tasks(plan->context, &plan->csr);
  }
  if (given != MERBIT_METHOD_AUTO) {
    mbi_method_take_cpu(plan, given);
    return plan->cpu->create != NULL ? plan->cpu->create(plan) : MERBIT_OK;
  }
  mbi_method_take_cpu(plan, MERBIT_METHOD_MERGE);
  if (mbi_plan_vectors(plan) > 1) {
    (void)snprintf(plan->why, sizeof plan->why, "for several vectors; runner-up none");
    return MERBIT_OK;
  }
  if (!mbi_plan_plain(plan) || mbi_plan_has_semiring(plan)) {
    (void)snprintf(plan->why, sizeof plan->why,
                   "default for this type or semiring; runner-up reference");
    return MERBIT_OK;
  }
  if (plan->csr.rows + plan->csr.nnz < MBI_CHOOSE_TINY) {
    (void)snprintf(plan->why, sizeof plan->why, "small; runner-up sorted");
    return MERBIT_OK;
  }
  if (plan->desc.expected_calls <= MBI_CHOOSE_SORTING) {
    (void)snprintf(plan->why, sizeof plan->why,
                   "for %d product%s without inspecting the matrix; runner-up sorted",
                   plan->desc.expected_calls, plan->desc.expected_calls != 1 ? "s" : "");
    return MERBIT_OK;
  }
  return mbi_choose_by_forecast(plan);
}
