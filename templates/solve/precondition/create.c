#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/plan/plan.h"
#include "solve/precondition/precondition.h"

/* merbit_preconditioner: checks, creation, update, destruction, application, description. */

static const char *const mbi_precondition_kinds[] = {
    "MERBIT_PRECONDITIONER_NONE",         "MERBIT_PRECONDITIONER_JACOBI",
    "MERBIT_PRECONDITIONER_BLOCK_JACOBI", "MERBIT_PRECONDITIONER_CALLBACK",
    "MERBIT_PRECONDITIONER_CHEBYSHEV",    "MERBIT_PRECONDITIONER_FSAI",
    "MERBIT_PRECONDITIONER_AMG"};

/* Returns the name of a kind, which has been checked. */
MBI_INTERNAL const char *mbi_precondition_name(merbit_preconditioner_kind kind) {
  return mbi_precondition_kinds[kind];
}

/* ---- Checks ------------------------------------------------------------------------------ */

/* Checks an option for which 0 means the default: fails if the kind does not take it, or if it
 * is not from 0 to `most`. */
static merbit_status mbi_precondition_check_number(merbit_context *context,
                                                   const merbit_preconditioner_desc *desc,
                                                   const char *name, int value, int takes,
                                                   int most) {
  if (value != 0 && !takes) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "preconditioner_desc.%s is %d, but %s does not take it; set it to 0", name,
                    value, mbi_precondition_kinds[desc->kind]);
  }
  if (value < 0 || value > most) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "preconditioner_desc.%s is %d; use 1 to %d, or 0 for the default", name,
                    value, most);
  }
  return MERBIT_OK;
}

/* Checks the options of a preconditioner of the square matrix `view`, whose header has been
 * checked. */
MBI_INTERNAL merbit_status mbi_precondition_check(merbit_context *context,
                                                  const merbit_view *view,
                                                  const merbit_preconditioner_desc *desc) {
  const int amg = desc->kind == MERBIT_PRECONDITIONER_AMG;
  const int blocks = desc->kind == MERBIT_PRECONDITIONER_BLOCK_JACOBI;
  if ((int)desc->kind <= MERBIT_PRECONDITIONER_NONE ||
      (int)desc->kind > MERBIT_PRECONDITIONER_AMG ||
      desc->kind == MERBIT_PRECONDITIONER_CALLBACK) {
    return mbi_fail(
        context, MERBIT_INVALID_ARGUMENT,
        "preconditioner_desc.kind is %d; use MERBIT_PRECONDITIONER_JACOBI, _BLOCK_JACOBI, "
        "_CHEBYSHEV, _FSAI or _AMG",
        (int)desc->kind);
  }
  if ((int)desc->side < MERBIT_SIDE_AUTO || (int)desc->side > MERBIT_SIDE_CUDA) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "preconditioner_desc.side is %d; use MERBIT_SIDE_AUTO, MERBIT_SIDE_CPU or "
                    "MERBIT_SIDE_CUDA",
                    (int)desc->side);
  }
  MBI_TRY(mbi_precondition_check_number(context, desc, "block_size", desc->block_size,
                                        amg || blocks, MBI_SOLVE_BLOCK_MOST));
  MBI_TRY(mbi_precondition_check_number(context, desc, "degree", desc->degree,
                                        desc->kind == MERBIT_PRECONDITIONER_CHEBYSHEV,
                                        MBI_PRE_DEGREE_MOST));
  MBI_TRY(mbi_precondition_check_number(context, desc, "near_nullspace_count",
                                        desc->near_nullspace_count, amg, MBI_SOLVE_BLOCK_MOST));
  if ((desc->near_nullspace != NULL) != (desc->near_nullspace_count > 0)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "preconditioner_desc.near_nullspace_count is %d, but near_nullspace is %s; "
                    "set both or neither",
                    desc->near_nullspace_count,
                    desc->near_nullspace != NULL ? "given" : "NULL");
  }
  if (amg && desc->block_size > 1 && view->rows % desc->block_size != 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "preconditioner_desc.block_size is %d, which does not divide the %" PRId64
                    " rows of the matrix; use the number of unknowns of a node",
                    desc->block_size, view->rows);
  }
  return MERBIT_OK;
}

/* Checks the matrix of a call of merbit_preconditioner_create, and the options. */
static merbit_status mbi_precondition_check_all(merbit_context *context,
                                                const merbit_view *view,
                                                const merbit_preconditioner_desc *desc) {
  MBI_TRY(mbi_view_check_header(context, view));
  if (!mbi_type_plain(mbi_view_type(view))) {
    return mbi_fail(
        context, MERBIT_NOT_SUPPORTED,
        "the matrix's value_type is %s; preconditioners take MERBIT_F64 and MERBIT_F32",
        mbi_type_names[mbi_view_type(view)]);
  }
  if (view->rows != view->cols) {
    return mbi_fail(context, MERBIT_INVALID_MATRIX,
                    "the matrix is %" PRId64 " x %" PRId64
                    "; a preconditioner takes square ones",
                    view->rows, view->cols);
  }
  MBI_TRY(mbi_precondition_check(context, view, desc));
  if (desc->side == MERBIT_SIDE_CUDA && context->side != MERBIT_SIDE_CUDA) {
    return mbi_fail(
        context, MERBIT_NO_DEVICE,
        "preconditioner_desc.side is MERBIT_SIDE_CUDA, but the context computes on the CPU%s%s",
        context->reason[0] != '\0' ? ": " : "; make one with MERBIT_SIDE_CUDA",
        context->reason);
  }
  return MERBIT_OK;
}

#define MBI_PRE_DEGREE 4 /* the degree of a polynomial, unless one is given */

/* ---- Creation, update, destruction ------------------------------------------------------- */

/* Makes the engine and the kind's state. On failure the caller destroys the preconditioner. */
static merbit_status mbi_precondition_make(merbit_preconditioner *p) {
  const mbi_precondition_method *method = p->method;
  const int block = method->block < 0 ? p->desc.block_size : method->block;
  merbit_status status = MERBIT_OK;
  if (block > 0 || method->product || method->vectors > 0) {
    MBI_TRY(mbi_precondition_engine(p, block, method->product, method->vectors));
  }
  if (method->create != NULL) {
    status = method->create(p, &p->view);
  }
  p->desc.near_nullspace = NULL;
  return status;
}

/* Waits for the set-up on the default stream, because M may be applied on any stream. */
static merbit_status mbi_precondition_wait(merbit_preconditioner *p) {
  merbit_status status;
  if (p->side != MERBIT_SIDE_CUDA) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_device_enter(p->context));
  status = mbi_device_synchronize(p->context, NULL);
  mbi_device_leave(p->context);
  return status;
}

/* Makes a preconditioner from options that have been checked; desc->side is not AUTO. `around`
 * is NULL, unless the new one is wrapped by another, which handles desc->single and
 * desc->singular. Then `around` is the wrapper's matrix, of which `view` may be a rounded
 * copy. */
MBI_INTERNAL merbit_status mbi_precondition_create(merbit_context *context,
                                                   const merbit_view *view,
                                                   const merbit_preconditioner_desc *desc,
                                                   const merbit_view *around,
                                                   merbit_preconditioner **made) {
  const double start = mbi_seconds();
  const int wrapped =
      around == NULL && (desc->singular || (desc->single && mbi_view_type(view) == MERBIT_F64));
  merbit_preconditioner *p = (merbit_preconditioner *)mbi_allocate(context, sizeof *p);
  merbit_status status;
  *made = NULL;
  if (p == NULL) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for a preconditioner's record");
  }
  memset(p, 0, sizeof *p);
  mbi_context_retain(context);
  mbi_matrix_retain(view->owner);
  p->context = context;
  p->desc = *desc;
  if (desc->kind == MERBIT_PRECONDITIONER_BLOCK_JACOBI && desc->block_size == 0) {
    p->desc.block_size = 4;
  }
  if (desc->kind == MERBIT_PRECONDITIONER_CHEBYSHEV && desc->degree == 0) {
    p->desc.degree = MBI_PRE_DEGREE;
  }
  p->method = wrapped ? &mbi_wrapped_method : mbi_precondition_method_of(desc->kind);
  p->project = wrapped && desc->singular ? mbi_precondition_project : NULL;
  p->view = *view;
  p->type = mbi_view_type(view);
  p->side = desc->side;
  p->n = view->rows;
  p->around = around;
  status = mbi_precondition_make(p);
  p->around = NULL;
  status = status == MERBIT_OK ? mbi_precondition_wait(p) : status;
  if (status != MERBIT_OK) {
    merbit_preconditioner_destroy(p);
    return status;
  }
  p->setup_seconds = mbi_seconds() - start;
  *made = p;
  return MERBIT_OK;
}

MERBIT_API merbit_status merbit_preconditioner_create(merbit_context *context,
                                                      const merbit_view *view,
                                                      const merbit_preconditioner_desc *desc,
                                                      merbit_preconditioner **preconditioner) {
  merbit_preconditioner_desc own;
  if (preconditioner != NULL) {
    *preconditioner = NULL;
  }
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (view == NULL || desc == NULL || preconditioner == NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "merbit_preconditioner_create: `%s` is NULL",
                    view == NULL   ? "view"
                    : desc == NULL ? "desc"
                                   : "preconditioner");
  }
  MBI_TRY(mbi_precondition_check_all(context, view, desc));
  own = *desc;
  own.side = desc->side != MERBIT_SIDE_AUTO ? desc->side : context->side;
  return mbi_precondition_create(context, view, &own, NULL, preconditioner);
}

MERBIT_API void merbit_preconditioner_destroy(merbit_preconditioner *preconditioner) {
  merbit_preconditioner *p = preconditioner;
  merbit_context *context;
  if (p == NULL) {
    return;
  }
  context = p->context;
  if (mbi_precondition_on_gpu(p) && mbi_device_enter_alive(context)) {
    /* after a failure, pending work may still use what is released here */
    (void)mbi_device_mark_lost(context, context->device.driver.stream_synchronize(NULL));
    mbi_device_leave(context);
  }
  if (p->method->destroy != NULL) {
    p->method->destroy(p);
  }
  if (p->engine != NULL) {
    mbi_solver_free(p->engine);
  }
  merbit_matrix_destroy(p->view.owner);
  mbi_release(context, p);
  mbi_context_unref(context);
}

/* Makes M again from `a`, which is p->view with new values in the same memory. */
MBI_INTERNAL merbit_status mbi_precondition_renew(merbit_preconditioner *p,
                                                  const merbit_view *a) {
  const double start = mbi_seconds();
  if (p->method->product || p->method->block != 0) {
    MBI_TRY(merbit_solver_update_values(p->engine, a->values, MERBIT_MEMORY_DEFAULT));
  }
  if (p->method->update != NULL) {
    MBI_TRY(p->method->update(p, a));
  }
  MBI_TRY(mbi_precondition_wait(p));
  p->setup_seconds = mbi_seconds() - start;
  return MERBIT_OK;
}

/* Checks the arguments of an update of values. */
static merbit_status mbi_precondition_check_update(const merbit_preconditioner *p,
                                                   const void *values, merbit_memory memory) {
  if (p->view.values == NULL || (values == NULL && p->view.nnz > 0)) {
    return mbi_fail(p->context, MERBIT_INVALID_ARGUMENT,
                    p->view.values == NULL
                        ? "the preconditioner is that of a pattern of ones; make one from a "
                          "view with values"
                        : "merbit_preconditioner_update_values: `values` is NULL; give as many "
                          "as the view has");
  }
  if (memory == MERBIT_MEMORY_DEVICE && p->context->side != MERBIT_SIDE_CUDA) {
    return mbi_fail(
        p->context, MERBIT_INVALID_ARGUMENT,
        "merbit_preconditioner_update_values: `memory` is MERBIT_MEMORY_DEVICE, but "
        "the context computes on the CPU; use MERBIT_MEMORY_HOST");
  }
  return mbi_plan_check_memory(p->context, memory);
}

MERBIT_API merbit_status merbit_preconditioner_update_values(
    merbit_preconditioner *preconditioner, const void *values, merbit_memory memory) {
  merbit_preconditioner *p = preconditioner;
  merbit_view view;
  merbit_status status;
  void *own = NULL;
  int device;
  if (p == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  MBI_TRY(mbi_precondition_check_update(p, values, memory));
  view = p->view;
  view.values = values;
  device = mbi_precondition_on_gpu(p) || memory == MERBIT_MEMORY_DEVICE ||
           view.memory == MERBIT_MEMORY_DEVICE;
  if (device) {
    MBI_TRY(mbi_device_enter(p->context));
  }
  status = values != NULL && mbi_view_values_there(&p->view, memory)
               ? mbi_types_check_there(p->context, 1, p->type, values)
               : MERBIT_OK;
  status =
      status == MERBIT_OK ? mbi_setup_move_values(p->context, memory, &view, &own) : status;
  status = status == MERBIT_OK ? mbi_precondition_renew(p, &view) : status;
  mbi_setup_release_values(p->context, &view, own);
  if (device) {
    mbi_device_leave(p->context);
  }
  return status;
}

/* ---- Application ------------------------------------------------------------------------- */

/* Checks r and z. The CUDA context must be current. */
static merbit_status mbi_precondition_check_vectors(merbit_preconditioner *p, const void *r,
                                                    const void *z) {
  const uint64_t bytes = (uint64_t)p->n * mbi_type_size(p->type);
  const void *wrong;
  if (p->n > 0 && (r == NULL || z == NULL)) {
    return mbi_fail(p->context, MERBIT_INVALID_ARGUMENT,
                    "merbit_preconditioner_apply: `%c` is NULL", r == NULL ? 'r' : 'z');
  }
  if (mbi_overlap(r, bytes, z, bytes)) {
    return mbi_fail(p->context, MERBIT_INVALID_ARGUMENT,
                    "merbit_preconditioner_apply: r and z overlap; use two vectors of %" PRId64
                    " elements",
                    p->n);
  }
  if (!mbi_precondition_on_gpu(p) || p->n == 0) {
    return MERBIT_OK;
  }
  wrong = !mbi_device_owns(p->context, r) ? r : !mbi_device_owns(p->context, z) ? z : NULL;
  if (wrong != NULL) {
    return mbi_fail(p->context, MERBIT_INVALID_ARGUMENT,
                    "merbit_preconditioner_apply: %c at %p is host memory, but the "
                    "preconditioner computes on CUDA; use a merbit_buffer",
                    wrong == r ? 'r' : 'z', wrong);
  }
  MBI_TRY(mbi_types_check_address(p->context, "merbit_preconditioner_apply: r", p->type, r));
  return mbi_types_check_address(p->context, "merbit_preconditioner_apply: z", p->type, z);
}

MERBIT_API merbit_status merbit_preconditioner_apply(merbit_preconditioner *preconditioner,
                                                     const void *r, void *z, void *stream) {
  merbit_preconditioner *p = preconditioner;
  merbit_status status;
  if (p == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  MBI_TRY(mbi_precondition_enter(p));
  status = mbi_precondition_check_vectors(p, r, z);
  if (status == MERBIT_OK && p->n > 0) {
    status = p->method->apply(p, r, z, stream);
  }
  mbi_precondition_leave(p);
  return status;
}

/* ---- Description ------------------------------------------------------------------------- */

MERBIT_API size_t merbit_preconditioner_describe(const merbit_preconditioner *preconditioner,
                                                 char *text, size_t size) {
  const merbit_preconditioner *p = preconditioner, *made;
  merbit_preconditioner_info info;
  char line[512], part[256] = "";
  int length;
  if (p == NULL) {
    length = snprintf(line, sizeof line, "no preconditioner");
  } else {
    made = p->inner != NULL ? p->inner : p;
    (void)merbit_preconditioner_get_info(p, &info);
    if (made->method->describe != NULL) {
      made->method->describe(made, part, sizeof part);
    }
    length = snprintf(
        line, sizeof line, "%s%s on %s, %s%s: %" PRId64 " rows; %.3g MB, set up in %.1f ms",
        made->method->name, part,
        mbi_precondition_on_gpu(p) ? p->context->device.name : "the CPU",
        made->type == MERBIT_F32 ? (p->type == MERBIT_F64 ? "f32 inside f64" : "f32") : "f64",
        p->desc.singular ? ", without the mean" : "", p->n,
        1e-6 * (double)(info.host_bytes + info.device_bytes), 1e3 * p->setup_seconds);
  }
  if (text != NULL && size > 0) {
    (void)snprintf(text, size, "%s", line);
  }
  return length > 0 ? (size_t)length : 0;
}

MERBIT_API merbit_status merbit_preconditioner_get_info(
    const merbit_preconditioner *preconditioner, merbit_preconditioner_info *info) {
  const merbit_preconditioner *p = preconditioner;
  if (p == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (info == NULL) {
    return mbi_fail(p->context, MERBIT_INVALID_ARGUMENT,
                    "merbit_preconditioner_get_info: `info` is NULL");
  }
  memset(info, 0, sizeof *info);
  info->kind = p->desc.kind;
  info->side = p->side;
  info->levels = 1;
  info->rows[0] = p->n;
  info->nonzeros[0] =
      p->engine != NULL && p->engine->entries > 0 ? p->engine->entries : p->view.nnz;
  info->operator_complexity = 1;
  info->setup_seconds = p->setup_seconds;
  if (p->engine != NULL) {
    mbi_precondition_count(p->engine, p->engine->plan, info);
  }
  if (p->method->info != NULL) {
    p->method->info(p, info);
  }
  return MERBIT_OK;
}
