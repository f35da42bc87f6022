#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/cpu/cpu.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* The method of a plan on the CPU for a CSR; what comes in blocks stays in blocks. It looks at
 * products to come, rows, nonzeros, the size of x, whether all values are equal, and whether
 * the matrix consists of full square blocks: docs/cpu.md has the figures. */

/* Products by MERGE that making another form takes. */
#define MBI_CHOOSE_SORTING 12.0
/* Steps of the path below which a product is over before a plan's form could matter. */
#define MBI_CHOOSE_TINY 4096

typedef struct mbi_choose_sample_cpu {
  int equal; /* all values are, or it is a pattern */
  int block; /* rows and columns of the full blocks; 1: none */
} mbi_choose_sample_cpu;

/* Seconds of a product: of each nonzero, and of each row, whose end MERGE often guesses wrongly
 * where rows are short; where the caches do not hold x, MERGE waits there, and SORTED has asked
 * ahead. */
static double mbi_choose_cpu_seconds(const merbit_plan *plan, merbit_method method,
                                     const mbi_choose_sample_cpu *look) {
  const merbit_view *csr = &plan->csr;
  const int far_x = csr->cols * (int64_t)mbi_type_size(plan->type) > MBI_SORTED_FAR;
  const int merge = method == MERBIT_METHOD_MERGE;
  const int lengthy = csr->nnz / MBI_MERGE_LONG >= csr->rows;
  double entry = merge ? (lengthy ? 0.36 : 0.42) : look->equal ? 0.25 : 0.36;
  double row = merge && !lengthy ? 3.5 : 0.7;
  if (method == MERBIT_METHOD_BSR) {
    entry = 0.26;
  }
  entry += !far_x || lengthy ? 0 : merge ? 3.5 : 1.2;
  return 1e-9 * (entry * (double)csr->nnz + row * (double)csr->rows) / plan->tasks;
}

/* ---- What there is to see: it ends at the first thing that is otherwise
 * ----------------------- */

static int mbi_choose_equal(const merbit_plan *plan) {
  const size_t size = mbi_type_size(plan->type);
  const char *values = (const char *)plan->values;
  int64_t k;
  for (k = 1; values != NULL && k < plan->csr.nnz; k++) {
    if (memcmp(values, values + (size_t)k * size, size) != 0) {
      return 0;
    }
  }
  return 1;
}

/* Whether a row's columns are blocks of `block`, side by side. */
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

/* Whether the CSR consists of full blocks: the rows of each have the same columns. */
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

/* ---- Forms; where there is no memory for one, plan->method stays MERGE
 * -------------------------- */

static merbit_status mbi_choose_without(merbit_plan *plan, merbit_status status) {
  char reason[384];
  if (status == MERBIT_OUT_OF_MEMORY && plan->desc.method == MERBIT_METHOD_AUTO) {
    mbi_sorted_destroy(plan);
    mbi_blocks_destroy(plan);
    mbi_error_clear(plan->context, reason, sizeof reason);
    mbi_log(plan->context, "this plan takes the merge path: %s", reason);
    (void)snprintf(plan->why, sizeof plan->why, "no memory for another form of the matrix");
    plan->method = MERBIT_METHOD_MERGE;
    plan->values = plan->csr.values;
    plan->tasks = mbi_merge_tasks(plan->context, &plan->csr);
    status = MERBIT_OK;
  }
  return status;
}

static merbit_status mbi_choose_sorted(merbit_plan *plan) {
  plan->method = MERBIT_METHOD_SORTED;
  return mbi_choose_without(plan, mbi_sorted_create(plan));
}

static merbit_status mbi_choose_blocks(merbit_plan *plan, int block) {
  merbit_bsr_desc shape;
  merbit_status status;
  memset(&shape, 0, sizeof shape);
  shape.block_rows = shape.block_cols = block;
  status = mbi_bsr_from_view(plan->context, &plan->csr, &shape, MBI_MASKS_ASIDE, &plan->bsr);
  if (status == MERBIT_OK) {
    status = mbi_blocks_create(plan);
  }
  return mbi_choose_without(plan, status);
}

/* The fastest that pays for itself. plan->why: its forecast and that of the next. */
static merbit_status mbi_choose_by_forecast(merbit_plan *plan) {
  mbi_choose_sample_cpu look;
  merbit_method best = MERBIT_METHOD_MERGE, next = MERBIT_METHOD_SORTED;
  double merge, sorted, blocks, calls = plan->desc.expected_calls;
  look.equal = !plan->desc.changing_values && mbi_choose_equal(plan);
  look.block = plan->matrix == NULL && plan->desc.operation == MERBIT_OPERATION_N &&
                       !mbi_plan_reorders(plan)
                   ? mbi_choose_block(plan)
                   : 1;
  merge = mbi_choose_cpu_seconds(plan, MERBIT_METHOD_MERGE, &look);
  sorted = mbi_choose_cpu_seconds(plan, MERBIT_METHOD_SORTED, &look);
  blocks = look.block > 1 && !look.equal
               ? mbi_choose_cpu_seconds(plan, MERBIT_METHOD_BSR, &look)
               : DBL_MAX;
  if (calls * (merge - sorted) > MBI_CHOOSE_SORTING * merge) {
    best = MERBIT_METHOD_SORTED;
    next = MERBIT_METHOD_MERGE;
  }
  if (blocks < sorted && calls * (merge - blocks) > MBI_CHOOSE_SORTING * merge) {
    next = best;
    best = MERBIT_METHOD_BSR;
  }
  (void)snprintf(plan->why, sizeof plan->why,
                 "%sforecast %.0f us for %d product%s, runner-up %s %.0f us",
                 best == MERBIT_METHOD_BSR ? "full blocks, " : "",
                 1e6 * mbi_choose_cpu_seconds(plan, best, &look), plan->desc.expected_calls,
                 plan->desc.expected_calls != 1 ? "s" : "", mbi_method_name(next),
                 1e6 * mbi_choose_cpu_seconds(plan, next, &look));
  return best == MERBIT_METHOD_BSR      ? mbi_choose_blocks(plan, look.block)
         : best == MERBIT_METHOD_SORTED ? mbi_choose_sorted(plan)
                                        : MERBIT_OK;
}

/* Set plan->method and make what it needs. */
MBI_INTERNAL merbit_status mbi_choose_cpu(merbit_plan *plan) {
  plan->method = plan->desc.method;
  if (plan->method == MERBIT_METHOD_SORTED) {
    return mbi_choose_sorted(plan);
  }
  if (plan->method != MERBIT_METHOD_AUTO) {
    return MERBIT_OK;
  }
  plan->method = MERBIT_METHOD_MERGE;
  if (mbi_plan_vectors(plan) > 1) {
    (void)snprintf(plan->why, sizeof plan->why, "for several vectors; runner-up none");
    return MERBIT_OK;
  }
  if (!mbi_plan_plain(plan) || mbi_plan_has_semiring(plan)) {
    (void)snprintf(plan->why, sizeof plan->why, "AUTO's method there; runner-up reference");
    return MERBIT_OK;
  }
  if (plan->csr.rows + plan->csr.nnz < MBI_CHOOSE_TINY) {
    (void)snprintf(plan->why, sizeof plan->why, "small; runner-up sorted");
    return MERBIT_OK;
  }
  if (plan->desc.expected_calls <= MBI_CHOOSE_SORTING) {
    (void)snprintf(plan->why, sizeof plan->why,
                   "for %d product%s without a look at the matrix; runner-up sorted",
                   plan->desc.expected_calls, plan->desc.expected_calls != 1 ? "s" : "");
    return MERBIT_OK;
  }
  return mbi_choose_by_forecast(plan);
}
