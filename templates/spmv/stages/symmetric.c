#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/cpu/cpu.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"

/* Plans of matrices in symmetric storage (one triangle). On the CPU, method SYMMETRIC
 * multiplies the lower triangle. It reads the user's arrays if they hold that triangle with
 * sorted rows, otherwise a copy. For other methods plan->given becomes op(A) with both
 * triangles, in host memory, and later stages see an ordinary matrix. A transpose costs
 * nothing: it differs only in signs. */

MBI_INTERNAL int mbi_plan_is_symmetric(const merbit_plan *plan) {
  return mbi_view_is_triangle(&plan->symmetric.view);
}

MBI_INTERNAL merbit_status mbi_symmetric_check(merbit_context *context, const merbit_view *view,
                                               const merbit_plan_desc *desc) {
  if (desc->method != MERBIT_METHOD_SYMMETRIC) {
    return MERBIT_OK;
  }
  if (!mbi_view_is_triangle(view)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "plan_desc.method is MERBIT_METHOD_SYMMETRIC, but view.symmetry is "
                    "MERBIT_SYMMETRY_NONE; "
                    "give one triangle and its symmetry, or use another method");
  }
  if (desc->reordering != MERBIT_REORDERING_NONE) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "plan_desc.reordering moves entries across the diagonal, which "
                    "MERBIT_METHOD_SYMMETRIC does not support; use MERBIT_METHOD_MERGE");
  }
  return MERBIT_OK;
}

/* ---- Choice ------------------------------------------------------------------------------ */

typedef struct mbi_symmetric_inspect {
  const merbit_view *csr;
  int tasks;
  int unsorted[MBI_MAX_THREADS];
} mbi_symmetric_inspect;

static void mbi_symmetric_inspect_task(void *argument, int task) {
  mbi_symmetric_inspect *inspection = (mbi_symmetric_inspect *)argument;
  const merbit_view *csr = inspection->csr;
  const int32_t *col_ind = (const int32_t *)csr->col_ind;
  int64_t row = mbi_share_rows(csr, inspection->tasks, task);
  const int64_t last = mbi_share_rows(csr, inspection->tasks, task + 1);
  int unsorted = 0;
  for (; row < last && !unsorted; row++) {
    const int64_t k = mbi_row_start(csr, row);
    const int64_t end = mbi_row_start(csr, row + 1);
    unsorted = mbi_row_order(col_ind + k, end - k) < 0;
  }
  inspection->unsorted[task] = unsorted;
}

/* Returns 1 if method SYMMETRIC can read the host view in place. */
static int mbi_symmetric_fits(merbit_context *context, const mbi_symmetric *s) {
  mbi_symmetric_inspect inspection;
  int task, unsorted = 0;
  if (s->view.format != MERBIT_CSR || s->view.index_type != MERBIT_INDEX_32 || s->upper ||
      s->signs.direct != MBI_AS_IT_IS) {
    return 0;
  }
  inspection.csr = &s->view;
  inspection.tasks = mbi_share_tasks(context, s->view.nnz);
  mbi_parallel(context, inspection.tasks, mbi_symmetric_inspect_task, &inspection);
  for (task = 0; task < inspection.tasks; task++) {
    unsorted |= inspection.unsorted[task];
  }
  return !unsorted;
}

/* When to use SYMMETRIC. Expanding to both triangles costs about as much as 50 products. It
 * pays if the tasks' buffers (spmv/cpu/symmetric.c) would be long compared to y, or if the
 * columns of a row spread over more than the cache of a thread. docs/cpu.md has the figures. */
#define MBI_SYMMETRIC_FEW_CALLS 50
#define MBI_SYMMETRIC_APART 8 /* the least ratio of rows to elements of the tasks' buffers */
/* The most bytes of x, on average, from the first column of a row to the diagonal. */
#define MBI_SYMMETRIC_WINDOW 524288
#define MBI_SYMMETRIC_SAMPLE 1024 /* number of sampled rows */
/* The least mean number of entries per row. With shorter rows SORTED is faster, because it
 * avoids mispredicted row ends. */
#define MBI_SYMMETRIC_LONG 12

/* Returns 1 if all values are equal or there are none. SORTED then stores a single value. */
static int mbi_symmetric_equal(const merbit_view *lower) {
  const size_t size = mbi_type_size(mbi_view_type(lower));
  const char *values = (const char *)lower->values;
  return values == NULL || lower->nnz < 2 ||
         memcmp(values, values + size, (size_t)(lower->nnz - 1) * size) == 0;
}

/* Returns the mean distance, in elements, from the first column of a row of the triangle to the
 * diagonal. */
static int64_t mbi_symmetric_window(const merbit_view *lower) {
  const int64_t count = lower->rows < MBI_SYMMETRIC_SAMPLE ? lower->rows : MBI_SYMMETRIC_SAMPLE;
  int64_t sum = 0, i;
  for (i = 0; i < count; i++) {
    const int64_t row = mbi_share(lower->rows, (int)count, (int)i);
    sum += row - mbi_symmetric_reach(lower, row, row + 1);
  }
  return count > 0 ? sum / count : 0;
}

static int mbi_symmetric_pays(const merbit_plan *plan, const merbit_view *lower) {
  const int tasks = mbi_merge_tasks(plan->context, lower);
  const int64_t size = (int64_t)mbi_type_size(plan->type);
  return plan->desc.method == MERBIT_METHOD_SYMMETRIC ||
         plan->desc.expected_calls < MBI_SYMMETRIC_FEW_CALLS ||
         (lower->nnz / MBI_SYMMETRIC_LONG >= lower->rows && !mbi_symmetric_equal(lower) &&
          mbi_symmetric_window(lower) <= MBI_SYMMETRIC_WINDOW / size &&
          mbi_symmetric_apart(lower, tasks) <= lower->rows / MBI_SYMMETRIC_APART);
}

/* Returns 1 if method SYMMETRIC may multiply the lower triangle. */
static int mbi_symmetric_may_do(const merbit_plan *plan) {
  return plan->side == MERBIT_SIDE_CPU && mbi_plan_plain(plan) &&
         !mbi_plan_has_semiring(plan) && plan->desc.vectors <= 1 && !mbi_plan_reorders(plan) &&
         (plan->desc.method == MERBIT_METHOD_SYMMETRIC ||
          plan->desc.method == MERBIT_METHOD_AUTO);
}

/* ---- The matrix that is multiplied ------------------------------------------------------- */

static void mbi_symmetric_release(merbit_plan *plan) {
  mbi_symmetric *s = &plan->symmetric;
  mbi_host_view_release(plan->context, &s->full);
  mbi_release(plan->context, s->places);
  memset(&s->full, 0, sizeof s->full);
  s->places = NULL;
}

/* Decides whether SYMMETRIC multiplies the lower triangle, and makes that triangle if
 * necessary. */
static merbit_status mbi_symmetric_take_lower(merbit_plan *plan, const merbit_view *host) {
  mbi_symmetric *s = &plan->symmetric;
  const int fits = mbi_symmetric_fits(plan->context, s);
  if (!fits) {
    MBI_TRY(mbi_symmetric_expand(plan->context, host, plan->desc.operation, 1, &s->full,
                                 &s->places));
    s->full.symmetry = host->symmetry;
  }
  s->direct = mbi_symmetric_pays(plan, fits ? host : &s->full);
  if (!s->direct && !fits) {
    mbi_symmetric_release(plan);
  }
  return MERBIT_OK;
}

/* Sets plan->symmetric from the triangle `host`. */
static merbit_status mbi_symmetric_take(merbit_plan *plan, const merbit_view *host) {
  mbi_symmetric *s = &plan->symmetric;
  int64_t first[4];
  if (!plan->desc.unchecked) {
    MBI_TRY(mbi_view_check_arrays(plan->context, host));
  }
  (void)mbi_triangle_find(plan->context, host, first);
  s->upper = first[MBI_ABOVE] < host->nnz;
  if (mbi_symmetric_may_do(plan)) {
    MBI_TRY(mbi_symmetric_take_lower(plan, host));
  }
  return s->direct ? MERBIT_OK
                   : mbi_symmetric_expand(plan->context, host, plan->desc.operation, 0,
                                          &s->full, &s->places);
}

/* Sets plan->symmetric, and plan->given to the matrix that the plan multiplies. That matrix
 * needs no further check. */
MBI_INTERNAL merbit_status mbi_symmetric_make(merbit_plan *plan) {
  mbi_symmetric *s = &plan->symmetric;
  const double start = mbi_seconds();
  merbit_view host;
  merbit_status status;
  if (!mbi_view_is_triangle(&plan->given)) {
    return MERBIT_OK;
  }
  s->view = plan->given;
  s->signs = mbi_symmetry_signs_of(s->view.symmetry, plan->desc.operation);
  s->place_type = s->view.nnz <= INT32_MAX ? MERBIT_INDEX_32 : MERBIT_INDEX_64;
  if (plan->given.memory == MERBIT_MEMORY_DEVICE) {
    status = mbi_view_download(plan->context, &plan->given, &host);
    if (status == MERBIT_OK) {
      status = mbi_symmetric_take(plan, &host);
    }
    mbi_host_view_release(plan->context, &host);
  } else {
    status = mbi_symmetric_take(plan, &plan->given);
  }
  MBI_TRY(status);
  if (s->full.row_ptr != NULL) {
    plan->given = plan->view = s->full;
  }
  plan->desc.operation = MERBIT_OPERATION_N;
  plan->desc.unchecked = 1;
  s->seconds = mbi_seconds() - start;
  return MERBIT_OK;
}

MBI_INTERNAL void mbi_symmetric_destroy(merbit_plan *plan) {
  mbi_symmetric_release(plan);
  mbi_release(plan->context, plan->symmetric.parts);
}

/* Expands new values of the triangle to those of plan->symmetric.full. */
MBI_INTERNAL merbit_status mbi_symmetric_map_values(merbit_plan *plan, mbi_new_values *fresh) {
  const mbi_symmetric *s = &plan->symmetric;
  if (s->places == NULL) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_new_values_download(plan, fresh));
  mbi_expansion_values(plan->context, s->signs, fresh->values, s->places, s->place_type,
                       &s->full);
  fresh->values = s->full.values;
  fresh->count = mbi_view_values(&plan->view);
  return MERBIT_OK;
}
