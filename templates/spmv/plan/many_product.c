#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/cpu/cpu.h"
#include "spmv/gpu/many/many.h"
#include "spmv/plan/plan.h"

/* Products of several vectors: checks, and vectors with leading dimensions. */

/* ---- Leading dimensions ------------------------------------------------------------------ */

/* The layout of `count` rows or columns of several vectors in the plan's order: `times` runs of
 * `length` contiguous elements that start `leading` elements apart. */
typedef struct mbi_many_layout {
  int64_t length, times, leading;
} mbi_many_layout;

static mbi_many_layout mbi_many_layout_of(const merbit_plan *plan, int64_t count,
                                          int64_t leading) {
  const int by_rows = plan->desc.vector_order == MERBIT_VECTORS_ROW_MAJOR;
  mbi_many_layout layout;
  layout.length = by_rows ? mbi_plan_vectors(plan) : count;
  layout.times = by_rows ? count : mbi_plan_vectors(plan);
  layout.leading = leading;
  return layout;
}

/* Returns the number of elements from the first to the last, gaps included. */
static int64_t mbi_many_extent(const mbi_many_layout *layout) {
  return layout->length > 0 && layout->times > 0
             ? (layout->times - 1) * layout->leading + layout->length
             : 0;
}

static merbit_status mbi_many_check_leading(const merbit_plan *plan, const char *name,
                                            const mbi_many_layout *layout) {
  const int64_t size = (int64_t)mbi_type_size(plan->type);
  const int64_t times = layout->times > 0 ? layout->times : 1;
  const int by_rows = plan->desc.vector_order == MERBIT_VECTORS_ROW_MAJOR;
  if (layout->leading < layout->length) {
    return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                    "merbit_spmm: %s is %" PRId64 "; %s-major it is at least %" PRId64, name,
                    layout->leading, by_rows ? "row" : "column", layout->length);
  }
  if (layout->leading > INT64_MAX / size / 2 / times) {
    return mbi_fail(plan->context, MERBIT_TOO_LARGE,
                    "merbit_spmm: %s is %" PRId64 "; that many rows or vectors take more than "
                    "2^63 bytes",
                    name, layout->leading);
  }
  return MERBIT_OK;
}

/* Fails if the kernels, which take the distance of X's rows in 32 bits, cannot step over them.
 */
static merbit_status mbi_many_check_step(const merbit_plan *plan, const mbi_many_layout *x) {
  const uint64_t most = UINT32_MAX / mbi_type_size(plan->type);
  if (plan->side == MERBIT_SIDE_CUDA && mbi_plan_vectors(plan) > 1 &&
      plan->desc.vector_memory != MERBIT_MEMORY_HOST &&
      plan->desc.vector_order == MERBIT_VECTORS_ROW_MAJOR && (uint64_t)x->leading > most) {
    return mbi_fail(plan->context, MERBIT_TOO_LARGE,
                    "merbit_spmm: ldx is %" PRId64 "; row-major vectors in GPU memory have at "
                    "most %" PRIu64 " elements between rows",
                    x->leading, most);
  }
  return MERBIT_OK;
}

static merbit_status mbi_spmm_check(merbit_plan *plan, const merbit_workspace *workspace,
                                    const void *x, const mbi_many_layout *x_layout,
                                    const void *y, const mbi_many_layout *y_layout) {
  merbit_context *context = plan->context;
  const uint64_t size = mbi_type_size(plan->type);
  if (workspace->plan != plan) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "merbit_spmm: the workspace belongs to another plan; make one by "
                    "merbit_workspace_create");
  }
  MBI_TRY(mbi_many_check_leading(plan, "ldx", x_layout));
  MBI_TRY(mbi_many_check_leading(plan, "ldy", y_layout));
  MBI_TRY(mbi_many_check_step(plan, x_layout));
  if ((x == NULL && plan->csr.cols > 0) || (y == NULL && plan->csr.rows > 0)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "merbit_spmm: `%s` is NULL",
                    x == NULL && plan->csr.cols > 0 ? "x" : "y");
  }
  if (mbi_overlap(x, (uint64_t)mbi_many_extent(x_layout) * size, y,
                  (uint64_t)mbi_many_extent(y_layout) * size)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "merbit_spmm: x (%" PRId64 " elements at %p) and y (%" PRId64
                    " at %p) overlap; use two arrays",
                    mbi_many_extent(x_layout), x, mbi_many_extent(y_layout), y);
  }
  return MERBIT_OK;
}

/* ---- Host vectors with a plan on CUDA ---------------------------------------------------- */

/* Copies host vectors to GPU memory without the gaps between runs (`up` 1), or back (`up` 0).
 * Elements in the gaps are not touched. */
static merbit_status mbi_many_move(const merbit_workspace *workspace, void *host,
                                   const mbi_many_layout *layout, mbi_devptr device, int up) {
  merbit_context *context = workspace->plan->context;
  const size_t size = mbi_type_size(workspace->plan->type);
  const size_t piece = (size_t)layout->length * size, gap = (size_t)layout->leading * size;
  const int64_t most = piece > 0 ? (int64_t)(MBI_MANY_BOUNCE / piece) : 0;
  const int direct = layout->leading == layout->length, whole = most == 0 && !direct;
  const int64_t at_once = direct ? layout->times : whole ? 1 : most;
  int64_t first, i;
  for (first = 0; first < layout->times && piece > 0; first += at_once) {
    const int64_t left = layout->times - first, count = left < at_once ? left : at_once;
    char *const from = (char *)host + (size_t)first * gap;
    char *const through = direct || whole ? from : (char *)workspace->bounce;
    const mbi_devptr to = device + (uint64_t)first * piece;
    for (i = 0; i < count && up && through != from; i++) {
      memcpy(through + (size_t)i * piece, from + (size_t)i * gap, piece);
    }
    MBI_TRY(up ? mbi_device_upload(context, to, through, (size_t)count * piece)
               : mbi_device_download(context, through, to, (size_t)count * piece));
    for (i = 0; i < count && !up && through != from; i++) {
      memcpy(from + (size_t)i * gap, through + (size_t)i * piece, piece);
    }
  }
  return MERBIT_OK;
}

static merbit_status mbi_spmm_staged(merbit_plan *plan, merbit_workspace *workspace,
                                     const void *alpha, const void *x,
                                     const mbi_many_layout *x_layout, const void *beta, void *y,
                                     const mbi_many_layout *y_layout, int reads_y,
                                     void *stream) {
  merbit_context *context = plan->context;
  MBI_TRY(mbi_many_move(workspace, (void *)(uintptr_t)x, x_layout, workspace->staged_x, 1));
  if (reads_y) {
    MBI_TRY(mbi_many_move(workspace, y, y_layout, workspace->staged_y, 1));
  }
  MBI_TRY(mbi_many_multiply(plan, workspace->device_carries, alpha, workspace->staged_x,
                            (uint64_t)x_layout->length, beta, workspace->staged_y,
                            (uint64_t)y_layout->length, stream));
  MBI_TRY(mbi_device_synchronize(context, stream));
  return mbi_many_move(workspace, y, y_layout, workspace->staged_y, 0);
}

/* ---- Products ---------------------------------------------------------------------------- */

/* Multiplies vectors in GPU memory. */
static merbit_status mbi_spmm_direct(merbit_plan *plan, merbit_workspace *workspace,
                                     const void *alpha, const void *x,
                                     const mbi_many_layout *x_layout, const void *beta, void *y,
                                     const mbi_many_layout *y_layout, void *stream) {
  if (plan->csr.cols > 0) {
    MBI_TRY(mbi_spmv_check_address(plan, x, &workspace->known_x, "merbit_spmm", "x"));
  }
  if (plan->csr.rows > 0) {
    MBI_TRY(mbi_spmv_check_address(plan, y, &workspace->known_y, "merbit_spmm", "y"));
  }
  return mbi_many_multiply(plan, workspace->device_carries, alpha, mbi_device_address(x),
                           (uint64_t)x_layout->leading, beta, mbi_device_address(y),
                           (uint64_t)y_layout->leading, stream);
}

static merbit_status mbi_spmm_cuda(merbit_plan *plan, merbit_workspace *workspace,
                                   const void *alpha, const void *x,
                                   const mbi_many_layout *x_layout, const void *beta, void *y,
                                   const mbi_many_layout *y_layout, int reads_y, void *stream) {
  merbit_context *context = plan->context;
  merbit_status status;
  MBI_TRY(mbi_device_enter(context));
  status =
      plan->desc.vector_memory == MERBIT_MEMORY_HOST
          ? mbi_spmm_staged(plan, workspace, alpha, x, x_layout, beta, y, y_layout, reads_y,
                            stream)
          : mbi_spmm_direct(plan, workspace, alpha, x, x_layout, beta, y, y_layout, stream);
  mbi_device_leave(context);
  return status;
}

static merbit_status mbi_spmm_run(merbit_plan *plan, merbit_workspace *workspace,
                                  const void *alpha, const void *x,
                                  const mbi_many_layout *x_layout, const void *beta, void *y,
                                  const mbi_many_layout *y_layout, void *stream) {
  static const float one_f32 = 1.0f, zero_f32 = 0.0f;
  static const double one_f64 = 1.0, zero_f64 = 0.0;
  const int single = plan->type == MERBIT_F32;
  int reads_y;
  if (plan->desc.scalar_memory == MERBIT_MEMORY_DEVICE) {
    MBI_TRY(mbi_types_check_address(plan->context, "alpha", plan->type, alpha));
    MBI_TRY(mbi_types_check_address(plan->context, "beta", plan->type, beta));
    return mbi_spmm_cuda(plan, workspace, &alpha, x, x_layout, &beta, y, y_layout, beta != NULL,
                         stream);
  }
  if (alpha == NULL) {
    alpha = single ? (const void *)&one_f32 : &one_f64;
  }
  if (beta == NULL) {
    beta = single ? (const void *)&zero_f32 : &zero_f64;
  }
  reads_y = single ? *(const float *)beta != 0.0f : *(const double *)beta != 0.0;
  if (plan->side == MERBIT_SIDE_CPU) {
    mbi_many_cpu(plan, workspace->carries, alpha, x, x_layout->leading, beta, y,
                 y_layout->leading);
    return MERBIT_OK;
  }
  return mbi_spmm_cuda(plan, workspace, alpha, x, x_layout, beta, y, y_layout, reads_y, stream);
}

MERBIT_API merbit_status merbit_spmm(merbit_plan *plan, merbit_workspace *workspace,
                                     const void *alpha, const void *x, int64_t ldx,
                                     const void *beta, void *y, int64_t ldy, void *stream) {
  mbi_many_layout x_layout, y_layout;
  if (plan == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (workspace == NULL) {
    workspace = plan->workspace;
  }
  x_layout = mbi_many_layout_of(plan, plan->csr.cols, ldx);
  y_layout = mbi_many_layout_of(plan, plan->csr.rows, ldy);
  MBI_TRY(mbi_spmm_check(plan, workspace, x, &x_layout, y, &y_layout));
  if (mbi_plan_vectors(plan) > 1) {
    return mbi_spmm_run(plan, workspace, alpha, x, &x_layout, beta, y, &y_layout, stream);
  }
  if (plan->desc.vector_order == MERBIT_VECTORS_ROW_MAJOR && (ldx != 1 || ldy != 1)) {
    return mbi_fail(plan->context, MERBIT_NOT_SUPPORTED,
                    "merbit_spmm: ldx is %" PRId64 " and ldy %" PRId64
                    "; a row-major plan for one vector takes 1, contiguous elements: copy the "
                    "vector, or make a plan with plan_desc.vectors for all columns",
                    ldx, ldy);
  }
  return mbi_spmv(plan, workspace, alpha, x, beta, y, stream, "merbit_spmm");
}
