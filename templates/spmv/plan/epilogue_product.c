#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/plan/plan.h"

/* Products of plans with an epilogue. On CUDA the product of any method is followed by one
 * kernel, on the CPU by the user's function, which is called for chunks of rows. */

/* ---- CPU --------------------------------------------------------------------------------- */

typedef struct mbi_epilogue_task {
  const mbi_epilogue *epilogue;
  void *y;
  const void *const *vectors;
  const double *scalars;
  double *sums;
  int64_t rows;
} mbi_epilogue_task;

static void mbi_epilogue_chunk(void *argument, int chunk) {
  const mbi_epilogue_task *t = (const mbi_epilogue_task *)argument;
  const int64_t begin = (int64_t)chunk * MBI_EPILOGUE_CHUNK;
  const int64_t end =
      begin + MBI_EPILOGUE_CHUNK < t->rows ? begin + MBI_EPILOGUE_CHUNK : t->rows;
  double sums[2];
  sums[0] = sums[1] = 0;
  t->epilogue->given.cpu(t->epilogue->given.cpu_user, begin, end, t->y, t->vectors, t->scalars,
                         sums);
  t->sums[2 * (size_t)chunk] = sums[0];
  t->sums[2 * (size_t)chunk + 1] = sums[1];
}

/* Returns a pointer to 1 or 0 in the type of the vectors, to be passed as alpha or beta. */
MBI_INTERNAL const void *mbi_epilogue_factor(const merbit_plan *plan, int one) {
  static const float f32[2] = {0, 1};
  static const double f64[2] = {0, 1};
  return mbi_plan_accumulator(plan) == MERBIT_F32 ? (const void *)&f32[one]
                                                  : (const void *)&f64[one];
}

static void mbi_epilogue_cpu(merbit_plan *plan, merbit_workspace *workspace, const void *x,
                             void *y, const void *const *vectors, const double *scalars,
                             double *sums, int alone) {
  const int64_t chunks = mbi_epilogue_chunks(plan);
  double total[2];
  mbi_epilogue_task task;
  int64_t i;
  if (!alone) {
    mbi_spmv_cpu(plan, workspace, mbi_epilogue_factor(plan, 1), x, mbi_epilogue_factor(plan, 0),
                 y);
  }
  task.epilogue = plan->epilogue;
  task.y = y;
  task.vectors = vectors;
  task.scalars = scalars;
  task.sums = workspace->sums;
  task.rows = plan->csr.rows;
  mbi_parallel(plan->context, (int)chunks, mbi_epilogue_chunk, &task);
  total[0] = total[1] = 0;
  for (i = 0; i < chunks; i++) {
    total[0] += workspace->sums[2 * i];
    total[1] += workspace->sums[2 * i + 1];
  }
  if (sums != NULL) {
    sums[0] = total[0];
    sums[1] = total[1];
  }
}

/* ---- CUDA -------------------------------------------------------------------------------- */

/* Enqueues the product and the epilogue's kernel. The CUDA context must be current. The product
 * writes y; the kernel reads it, and overwrites it if the epilogue has a result. With a result
 * and a `skip`, the product goes to the workspace instead, so that y can stay unchanged: the
 * product either does not read `skip` or may finish before it is set. With neither a result nor
 * sums, the kernel is not launched. If `alone` is set, x holds the product, which is not
 * computed. */
static merbit_status mbi_epilogue_cuda(merbit_plan *plan, merbit_workspace *workspace,
                                       const void *x, void *y, const void *const *vectors,
                                       const double *scalars, double *sums, const int *skip,
                                       void *stream, int alone) {
  const int kept = skip != NULL && plan->epilogue->result[0] != '\0';
  mbi_devptr to = mbi_device_address(y);
  mbi_devptr product = alone  ? mbi_device_address(x)
                       : kept ? workspace->sums_scratch + MBI_EPILOGUE_PRODUCT
                              : to;
  uint64_t rows = (uint64_t)plan->csr.rows, places;
  int i;
  mbk_epilogue_rows_arguments arguments;
  static const mbi_devptr none = 0;
  mbi_devptr stop = mbi_device_address(skip); /* passed to the kernels in place of alpha */
  if (!alone) {
    MBI_TRY(mbi_method_multiply(
        plan, workspace->device_carries, plan->stops ? &stop : mbi_epilogue_factor(plan, 1),
        mbi_device_address(x), plan->stops ? &none : mbi_epilogue_factor(plan, 0), product,
        stream));
  }
  if (rows == 0) { /* the addresses may then be invalid */
    product = to = 0;
  }
  memset(&arguments, 0, sizeof arguments);
  places = product | to;
  for (i = 0; i < plan->epilogue->given.vectors; i++) {
    arguments.call.vectors[i] = mbi_device_address(vectors[i]);
    places |= arguments.call.vectors[i];
  }
  arguments.call.scalars = mbi_device_address(scalars);
  arguments.call.sums = mbi_device_address(sums);
  arguments.call.skip = mbi_device_address(skip);
  arguments.call.ticket = workspace->sums_scratch;
  arguments.call.parts = workspace->sums_scratch + MBI_EPILOGUE_PARTS;
  arguments.call.after = plan->epilogue->after_memory;
  arguments.product = product;
  arguments.y = to;
  arguments.rows = rows;
  arguments.aligned = places % 16 == 0;
  if (plan->epilogue->result[0] == '\0' && sums == NULL) {
    return MERBIT_OK;
  }
  return mbi_device_launch_some(plan->context, plan->epilogue->kernel, "mbk_epilogue_rows",
                                (int64_t)mbi_epilogue_blocks(plan), MBI_EPILOGUE_THREADS,
                                MBI_EPILOGUE_THREADS / 16 * (unsigned)sizeof(double), stream,
                                &arguments, 0, MBI_LAUNCH_DEPENDENT);
}

/* ---- Both sides -------------------------------------------------------------------------- */

/* Computes merbit_spmv_epilogue without its checks, for the library's own iterations. The
 * arguments are those of the public function; workspace NULL means the plan's own. On CUDA the
 * call enters the context, only launches kernels, and may be captured. The array `vectors` is
 * read during the call, everything else when the product runs. */
MBI_INTERNAL merbit_status mbi_spmv_epilogue(merbit_plan *plan, merbit_workspace *workspace,
                                             const void *x, void *y, const void *const *vectors,
                                             const double *scalars, double *sums,
                                             const int *skip, void *stream) {
  merbit_status status;
  workspace = workspace != NULL ? workspace : plan->workspace;
  if (plan->side == MERBIT_SIDE_CPU) {
    if (skip == NULL || *skip == 0) {
      mbi_epilogue_cpu(plan, workspace, x, y, vectors, scalars, sums, 0);
    }
    return MERBIT_OK;
  }
  MBI_TRY(mbi_device_enter(plan->context));
  status = mbi_epilogue_cuda(plan, workspace, x, y, vectors, scalars, sums, skip, stream, 0);
  mbi_device_leave(plan->context);
  return status;
}

/* Applies the epilogue of a square plan to `ax`, as if that were the product. On CUDA ax must
 * not be y. On the CPU ax is not read: the user's function works on what y holds. */
MBI_INTERNAL merbit_status mbi_epilogue_alone(merbit_plan *plan, const void *ax, void *y,
                                              const void *const *vectors, const double *scalars,
                                              void *stream) {
  merbit_status status;
  if (plan->side == MERBIT_SIDE_CPU) {
    mbi_epilogue_cpu(plan, plan->workspace, ax, y, vectors, scalars, NULL, 1);
    return MERBIT_OK;
  }
  MBI_TRY(mbi_device_enter(plan->context));
  status =
      mbi_epilogue_cuda(plan, plan->workspace, ax, y, vectors, scalars, NULL, NULL, stream, 1);
  mbi_device_leave(plan->context);
  return status;
}

/* Checks one pointer to elements of `bytes` bytes in a call on CUDA. The driver is asked once
 * per address. The CUDA context must be current. */
static merbit_status mbi_epilogue_check_pointer(merbit_plan *plan, const void *pointer,
                                                size_t bytes, const void **known,
                                                const char *name) {
  if (pointer == *known || pointer == NULL) {
    return MERBIT_OK;
  }
  if (!mbi_device_owns(plan->context, pointer)) {
    return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                    "merbit_spmv_epilogue: %s at %p is host memory, but the plan computes on "
                    "CUDA; use a merbit_buffer",
                    name, pointer);
  }
  if ((uintptr_t)pointer % bytes != 0) {
    return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                    "merbit_spmv_epilogue: %s at %p does not begin at a multiple of %zu bytes",
                    name, pointer, bytes);
  }
  *known = pointer;
  return MERBIT_OK;
}

/* Checks the arguments of a call other than x and y. */
static merbit_status mbi_epilogue_check_vectors(const merbit_plan *plan, const void *y,
                                                const void *const *vectors,
                                                const double *scalars) {
  merbit_context *context = plan->context;
  const merbit_epilogue *e = &plan->epilogue->given;
  const uint64_t bytes = (uint64_t)plan->csr.rows * mbi_type_size(mbi_plan_accumulator(plan));
  int i;
  if ((e->vectors > 0 && vectors == NULL) || (e->scalars > 0 && scalars == NULL)) {
    return mbi_fail(
        context, MERBIT_INVALID_ARGUMENT,
        "merbit_spmv_epilogue: `%s` is NULL; the plan's epilogue has %d vectors and "
        "%d scalars",
        e->vectors > 0 && vectors == NULL ? "vectors" : "scalars", e->vectors, e->scalars);
  }
  for (i = 0; i < e->vectors && plan->csr.rows > 0; i++) {
    if (vectors[i] == NULL) {
      return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                      "merbit_spmv_epilogue: vectors[%d] is NULL", i);
    }
    if (mbi_overlap(vectors[i], bytes, y, bytes)) {
      return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                      "merbit_spmv_epilogue: vectors[%d] at %p and y at %p, of %" PRId64
                      " elements each, overlap; use two vectors",
                      i, vectors[i], y, plan->csr.rows);
    }
  }
  return MERBIT_OK;
}

static merbit_status mbi_epilogue_check_pointers(merbit_plan *plan, merbit_workspace *workspace,
                                                 const void *x, const void *y,
                                                 const void *const *vectors,
                                                 const double *scalars, const double *sums,
                                                 const int *skip) {
  const size_t size = mbi_type_size(mbi_plan_accumulator(plan));
  const void **known = workspace->known_epilogue;
  int i;
  if (plan->csr.cols > 0) {
    MBI_TRY(mbi_epilogue_check_pointer(plan, x, size, &workspace->known_x, "x"));
  }
  if (plan->csr.rows > 0) {
    MBI_TRY(mbi_epilogue_check_pointer(plan, y, size, &workspace->known_y, "y"));
  }
  for (i = 0; i < plan->epilogue->given.vectors && plan->csr.rows > 0; i++) {
    MBI_TRY(mbi_epilogue_check_pointer(plan, vectors[i], size, &known[i], "a vector"));
  }
  if (plan->epilogue->given.scalars > 0) {
    MBI_TRY(mbi_epilogue_check_pointer(plan, scalars, sizeof(double), &known[6], "scalars"));
  }
  MBI_TRY(mbi_epilogue_check_pointer(plan, sums, sizeof(double), &known[7], "sums"));
  return mbi_epilogue_check_pointer(plan, skip, sizeof(int), &known[8], "skip");
}

MERBIT_API merbit_status merbit_spmv_epilogue(merbit_plan *plan, merbit_workspace *workspace,
                                              const void *x, void *y,
                                              const void *const *vectors, const double *scalars,
                                              double *sums, const int *skip, void *stream) {
  merbit_status status;
  if (plan == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (plan->epilogue == NULL) {
    return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                    "merbit_spmv_epilogue: the plan has no epilogue; set plan_desc.epilogue");
  }
  workspace = workspace != NULL ? workspace : plan->workspace;
  MBI_TRY(mbi_spmv_check(plan, workspace, x, y, "merbit_spmv_epilogue"));
  MBI_TRY(mbi_epilogue_check_vectors(plan, y, vectors, scalars));
  if (plan->side == MERBIT_SIDE_CUDA) {
    MBI_TRY(mbi_device_enter(plan->context));
    status = mbi_epilogue_check_pointers(plan, workspace, x, y, vectors, scalars, sums, skip);
    mbi_device_leave(plan->context);
    MBI_TRY(status);
  }
  return mbi_spmv_epilogue(plan, workspace, x, y, vectors, scalars, sums, skip, stream);
}
