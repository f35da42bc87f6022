#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/cpu/cpu.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"

/* Plans of matrices given by one triangle (symmetric storage). On the CPU, method HALF
 * multiplies the lower triangle: the user's arrays if they are that triangle in order, else a
 * copy. For other methods plan->given becomes op(A) with both triangles, in host memory, and
 * everything after is a plan of that. The transpose needs no work: it differs in signs
 * alone. */

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
                    "MERBIT_METHOD_SYMMETRIC does not follow; use MERBIT_METHOD_MERGE");
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

/* Returns 1 if method HALF can read the host view in place. */
static int mbi_symmetric_fits(merbit_context *context, const mbi_symmetric *half) {
  mbi_symmetric_inspect inspection;
  int task, unsorted = 0;
  if (half->view.format != MERBIT_CSR || half->view.index_type != MERBIT_INDEX_32 ||
      half->upper || half->signs.direct != MBI_AS_IT_IS) {
    return 0;
  }
  inspection.csr = &half->view;
  inspection.tasks = mbi_share_tasks(context, half->view.nnz);
  mbi_parallel(context, inspection.tasks, mbi_symmetric_inspect_task, &inspection);
  for (task = 0; task < inspection.tasks; task++) {
    unsorted |= inspection.unsorted[task];
  }
  return !unsorted;
}

/* Expanding to both triangles costs about 50 products. It pays if tasks would keep much of y
 * apart, or if a row scatters beyond the cache of its thread: docs/cpu.md has the figures. */
#define MBI_SYMMETRIC_FEW_CALLS 50
#define MBI_SYMMETRIC_APART 8 /* rows per sum that tasks keep apart, at least */
/* Bytes of x between a row and its first column, on average. */
#define MBI_SYMMETRIC_WINDOW 524288
#define MBI_SYMMETRIC_SAMPLE 1024 /* rows that are sampled */
/* Entries of the triangle's rows, on average: SORTED does not wait for the ends of shorter
 * ones. */
#define MBI_SYMMETRIC_LONG 12

/* Returns 1 if all values are equal, or there are none: SORTED stores one. */
static int mbi_symmetric_equal(const merbit_view *lower) {
  const size_t size = mbi_type_size(mbi_view_type(lower));
  const char *values = (const char *)lower->values;
  return values == NULL || lower->nnz < 2 ||
         memcmp(values, values + size, (size_t)(lower->nnz - 1) * size) == 0;
}

/* Returns the elements between a row of the triangle and its first column, on average. */
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

/* Returns 1 if HALF may multiply the lower triangle. */
static int mbi_symmetric_may_do(const merbit_plan *plan) {
  return plan->side == MERBIT_SIDE_CPU && mbi_plan_plain(plan) &&
         !mbi_plan_has_semiring(plan) && plan->desc.vectors <= 1 && !mbi_plan_reorders(plan) &&
         (plan->desc.method == MERBIT_METHOD_SYMMETRIC ||
          plan->desc.method == MERBIT_METHOD_AUTO);
}

/* ---- What is multiplied ------------------------------------------------------------------ */

static void mbi_symmetric_release(merbit_plan *plan) {
  mbi_symmetric *half = &plan->symmetric;
  mbi_host_view_release(plan->context, &half->full);
  mbi_release(plan->context, half->places);
  memset(&half->full, 0, sizeof half->full);
  half->places = NULL;
}

/* Takes the lower triangle, if that pays. */
static merbit_status mbi_symmetric_take_lower(merbit_plan *plan, const merbit_view *host) {
  mbi_symmetric *half = &plan->symmetric;
  const int fits = mbi_symmetric_fits(plan->context, half);
  merbit_status status = MERBIT_OK;
  if (!fits) {
    status = mbi_symmetric_expand(plan->context, host, plan->desc.operation, 1, &half->full,
                                  &half->places);
    half->full.symmetry = host->symmetry;
  }
  if (status == MERBIT_OK) {
    half->direct = mbi_symmetric_pays(plan, fits ? host : &half->full);
  }
  if (status == MERBIT_OK && !half->direct && !fits) {
    mbi_symmetric_release(plan);
  }
  return status;
}

/* Sets plan->half, and plan->given to the matrix it holds. That matrix needs no check
 * afterwards. */
MBI_INTERNAL merbit_status mbi_symmetric_take(merbit_plan *plan) {
  merbit_context *context = plan->context;
  mbi_symmetric *half = &plan->symmetric;
  const double start = mbi_seconds();
  const int device = plan->given.memory == MERBIT_MEMORY_DEVICE;
  merbit_view host = plan->given;
  int64_t first[4];
  merbit_status status = MERBIT_OK;
  half->view = plan->given;
  half->signs = mbi_symmetry_signs_of(half->view.symmetry, plan->desc.operation);
  half->place_type = half->view.nnz <= INT32_MAX ? MERBIT_INDEX_32 : MERBIT_INDEX_64;
  if (device) {
    status = mbi_view_download(context, &plan->given, &host);
  }
  if (status == MERBIT_OK && !plan->desc.unchecked) {
    status = mbi_view_check_arrays(context, &host);
  }
  if (status == MERBIT_OK) {
    (void)mbi_triangle_find(context, &host, first);
    half->upper = first[MBI_ABOVE] < host.nnz;
  }
  if (status == MERBIT_OK && mbi_symmetric_may_do(plan)) {
    status = mbi_symmetric_take_lower(plan, &host);
  }
  if (status == MERBIT_OK && !half->direct) {
    status = mbi_symmetric_expand(context, &host, plan->desc.operation, 0, &half->full,
                                  &half->places);
  }
  if (device) {
    mbi_host_view_release(context, &host);
  }
  if (status != MERBIT_OK) {
    return status;
  }
  if (half->full.row_ptr != NULL) {
    plan->given = plan->view = half->full;
  }
  plan->desc.operation = MERBIT_OPERATION_N;
  plan->desc.unchecked = 1;
  half->seconds = mbi_seconds() - start;
  return MERBIT_OK;
}

MBI_INTERNAL void mbi_symmetric_destroy(merbit_plan *plan) {
  mbi_symmetric_release(plan);
  mbi_release(plan->context, plan->symmetric.parts);
}

/* Moves new values in the order of the triangle into plan->symmetric.full. */
MBI_INTERNAL merbit_status mbi_symmetric_values(merbit_plan *plan, const void *values,
                                                merbit_memory memory) {
  merbit_context *context = plan->context;
  const mbi_symmetric *half = &plan->symmetric;
  const void *host = values;
  merbit_status status = MERBIT_OK;
  if (memory == MERBIT_MEMORY_DEVICE) {
    status = mbi_device_enter(context);
    if (status != MERBIT_OK) {
      return status;
    }
    status =
        mbi_array_download(context, values, half->view.nnz, mbi_type_size(plan->type), &host);
    mbi_device_leave(context);
  }
  if (status == MERBIT_OK) {
    mbi_expansion_values(context, half->signs, host, half->places, half->place_type,
                         &half->full);
  }
  if (memory == MERBIT_MEMORY_DEVICE) {
    mbi_release(context, (void *)(uintptr_t)host);
  }
  return status;
}
