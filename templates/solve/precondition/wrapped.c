#include "core/context.h"
#include "jit/jit.h"
#include "solve/precondition/precondition.h"

/* The wrapper for preconditioner_desc.single and singular: applies p->inner, of any kind,
 * between two steps. z = P M^-1 P r, where P subtracts the mean (Bochev, Lehoucq, "On the
 * Finite Element Solution of the Pure Neumann Problem", SIAM Review 47, 2005, section 4) and M
 * may compute in f32. */

/* Returns 1 if the wrapped preconditioner computes in f32 while r and z are f64. */
static int mbi_wrapped_single(const merbit_preconditioner *p) {
  return p->desc.single && p->type == MERBIT_F64;
}

/* Sets *inside to the matrix of the wrapped preconditioner. */
MBI_NOINLINE static merbit_status mbi_wrapped_view(merbit_preconditioner *p,
                                                   const merbit_view *a, merbit_view *inside) {
  *inside = *a;
  if (!mbi_wrapped_single(p)) {
    return MERBIT_OK;
  }
  inside->value_type = MERBIT_F32;
  return mbi_refine_round(p->engine, a->values, a->memory, &inside->values);
}

/* Returns the status of making the wrapped preconditioner. If its matrix is unsuitable, the
 * error message says that the values are those in f32. */
static merbit_status mbi_wrapped_made(merbit_preconditioner *p, merbit_status status) {
  char sentence[MERBIT_MESSAGE_SIZE];
  if (status != MERBIT_INVALID_MATRIX || !mbi_wrapped_single(p)) {
    return status;
  }
  mbi_error_clear(p->context, sentence, sizeof sentence);
  return mbi_fail(p->context, status, "in f32, for preconditioner_desc.single: %s", sentence);
}

/* Releases the rounded values if the wrapped preconditioner no longer reads them. */
static void mbi_wrapped_drop(merbit_preconditioner *p) {
  if (p->inner != NULL && p->inner->copied) {
    mbi_release(p->context, p->engine->single_values);
    p->engine->single_values = NULL;
  }
}

static merbit_status mbi_wrapped_create(merbit_preconditioner *p, const merbit_view *a) {
  merbit_preconditioner_desc desc = p->desc;
  merbit_view inside;
  merbit_status status;
  p->engine->v.from = p->desc.singular != 0;
  p->engine->v.to = mbi_wrapped_single(p);
  MBI_TRY(mbi_view_check_count(p->context, a));
  MBI_TRY(mbi_wrapped_view(p, a, &inside));
  status = mbi_precondition_create(p->context, &inside, &desc, a, &p->inner);
  mbi_wrapped_drop(p);
  return mbi_wrapped_made(p, status);
}

static merbit_status mbi_wrapped_update(merbit_preconditioner *p, const merbit_view *a) {
  merbit_view inside;
  merbit_status status;
  MBI_TRY(mbi_wrapped_view(p, a, &inside));
  p->inner->around = a;
  status = mbi_precondition_renew(p->inner, &inside);
  p->inner->around = NULL;
  mbi_wrapped_drop(p);
  return mbi_wrapped_made(p, status);
}

static merbit_status mbi_wrapped_apply(merbit_preconditioner *p, const void *r, void *z,
                                       void *stream) {
  void *const *at = p->engine->v.at;
  MBI_TRY(mbi_precondition_step(p, MBI_PRE_MEASURE, r, z, stream));
  MBI_TRY(mbi_precondition_step(p, MBI_PRE_IN, r, z, stream));
  MBI_TRY(p->inner->method->apply(p->inner, at[MBI_PRE_OWN], at[MBI_PRE_OWN + 1], stream));
  if (p->desc.singular) {
    MBI_TRY(mbi_precondition_step(p, MBI_PRE_MEAN_OF_Z, r, z, stream));
  }
  return mbi_precondition_step(p, MBI_PRE_OUT, r, z, stream);
}

/* Subtracts the mean of a vector of a solver, twice, because the rounding error of the first
 * mean may exceed what is left of the vector. */
MBI_INTERNAL merbit_status mbi_precondition_project(merbit_preconditioner *p, void *vector,
                                                    void *stream) {
  merbit_solver *engine = p->engine;
  const mbi_solve_vectors whole = engine->v;
  merbit_status status = MERBIT_OK;
  int pass;
  engine->v.at[MBI_PRE_OWN] = vector;
  engine->v.to = 0; /* the vector has the type of r */
  for (pass = 0; pass < 2 && status == MERBIT_OK; pass++) {
    status = mbi_precondition_step(p, MBI_PRE_MEASURE, vector, NULL, stream);
    if (status == MERBIT_OK) {
      status = mbi_precondition_step(p, MBI_PRE_IN, vector, NULL, stream);
    }
  }
  engine->v = whole;
  return status;
}

static void mbi_wrapped_info(const merbit_preconditioner *p, merbit_preconditioner_info *info) {
  const merbit_preconditioner_info own = *info;
  (void)merbit_preconditioner_get_info(p->inner, info);
  info->host_bytes += own.host_bytes;
  info->device_bytes += own.device_bytes;
  info->setup_seconds = own.setup_seconds;
}

static void mbi_wrapped_destroy(merbit_preconditioner *p) {
  merbit_preconditioner_destroy(p->inner);
}

MBI_INTERNAL const mbi_precondition_method mbi_wrapped_method = {
    "",                  /* name */
    0,                   /* block */
    0,                   /* product */
    2,                   /* vectors */
    mbi_wrapped_create,  /* create */
    mbi_wrapped_apply,   /* apply */
    mbi_wrapped_update,  /* update */
    NULL,                /* describe */
    mbi_wrapped_info,    /* info */
    mbi_wrapped_destroy, /* destroy */
};
