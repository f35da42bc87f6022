#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/plan/plan.h"
#include "solve/precondition/precondition.h"
#include "solve/amg/amg_cuda.h"

/* MERBIT_PRECONDITIONER_AMG as a kind of preconditioner: creates the hierarchy and the cycle's
 * plans, passes on new values, and describes them. */

/* A pivot that elimination has reduced to this fraction of the diagonal entry or less is a
 * rounding error: its row depends on others. */
#define MBI_AMG_PIVOT_F64 1e-12
#define MBI_AMG_PIVOT_F32 1e-5

/* Returns the matrix from which all levels are made, in the type in which the caller gave it;
 * `a` is the one that the cycle multiplies by. */
static const merbit_view *mbi_amg_given(const merbit_preconditioner *p, const merbit_view *a) {
  return p->around != NULL ? p->around : a;
}

/* Returns the largest magnitude of a diagonal entry that has no inverse in the cycle's type. */
static double mbi_amg_no_diagonal(const merbit_preconditioner *p) {
  return p->type == MERBIT_F32 ? 1.0 / FLT_MAX : 0;
}

/* Fails if the finest matrix has no D^-1 in the cycle's type. */
static merbit_status mbi_amg_check_diagonal(merbit_preconditioner *p,
                                            const mbi_amg_level *level) {
  const double none = mbi_amg_no_diagonal(p);
  int64_t row;
  for (row = 0; row < p->n; row++) {
    if (level->inverse[row] == 0 || fabs(level->inverse[row]) * none >= 1) {
      return mbi_amg_fail_diagonal(p->context, row);
    }
  }
  return MERBIT_OK;
}

/* The range of the largest magnitude of a near-null-space vector, so that norms neither
 * overflow nor vanish. */
#define MBI_AMG_LEAST_MODE 1e-100
#define MBI_AMG_GREATEST_MODE 1e100

/* Sets level->block and level->vectors. Fails if a vector of the caller is zero, or out of
 * range. Leaves numbers that are not finite to mbi_amg_check_modes. */
static merbit_status mbi_amg_check_near(merbit_preconditioner *p, mbi_amg_level *level) {
  const merbit_preconditioner_desc *desc = &p->desc;
  int64_t i;
  int j;
  level->block = desc->block_size > 0 ? desc->block_size : 1;
  level->vectors = desc->near_nullspace_count > 0 ? desc->near_nullspace_count : level->block;
  for (j = 0; j < desc->near_nullspace_count; j++) {
    double most = 0;
    for (i = 0; i < p->n; i++) {
      const double size = fabs(desc->near_nullspace[i + j * p->n]);
      most = size <= most ? most : size;
    }
    if (most == 0 && p->n > 0) {
      return mbi_fail(p->context, MERBIT_INVALID_ARGUMENT,
                      "column %d of preconditioner_desc.near_nullspace is zero; leave it out",
                      j);
    }
    if ((most > 0 && most < MBI_AMG_LEAST_MODE) ||
        (most > MBI_AMG_GREATEST_MODE && most <= DBL_MAX)) {
      return mbi_fail(p->context, MERBIT_INVALID_ARGUMENT,
                      "the largest magnitude in column %d of "
                      "preconditioner_desc.near_nullspace is %g; scale it to between %g and %g",
                      j, most, MBI_AMG_LEAST_MODE, MBI_AMG_GREATEST_MODE);
    }
  }
  return MERBIT_OK;
}

/* Sets level->modes to the caller's vectors, if there are any. */
static merbit_status mbi_amg_near(merbit_preconditioner *p, mbi_amg_level *level) {
  const double *given = p->desc.near_nullspace;
  int64_t i;
  int j;
  MBI_TRY(mbi_amg_check_near(p, level));
  MBI_TRY(mbi_amg_check_modes(p->context, given, p->n, given != NULL ? level->vectors : 0));
  if (given == NULL) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_allocate_array(p->context, p->n * level->vectors, sizeof *level->modes,
                             "the near-null-space", (void **)&level->modes));
  for (i = 0; i < p->n; i++) {
    for (j = 0; j < level->vectors; j++) {
      level->modes[i * level->vectors + j] = given[i + j * p->n];
    }
  }
  return MERBIT_OK;
}

/* Returns the fraction of its original diagonal entry up to which a pivot of the coarsest
 * matrix counts as zero. */
static double mbi_amg_pivot(const merbit_preconditioner *p) {
  return mbi_view_type(mbi_amg_given(p, &p->view)) == MERBIT_F32 ? MBI_AMG_PIVOT_F32
                                                                 : MBI_AMG_PIVOT_F64;
}

/* Inverts the coarsest matrix if it is small enough. */
static merbit_status mbi_amg_invert_last(merbit_preconditioner *p, const mbi_amg_level *last,
                                         mbi_amg_csr *inverse) {
  return last->a.rows > MBI_AMG_COARSEST
             ? MERBIT_OK
             : mbi_amg_invert(p->context, &last->a, mbi_amg_pivot(p), inverse);
}

/* Sets *view to a CSR in host memory, for a plan. If the cycle is in f32, rounds the values to
 * *single and releases those in f64. */
static merbit_status mbi_amg_show(merbit_preconditioner *p, mbi_amg_csr *csr, float **single,
                                  merbit_view *view) {
  *view = mbi_amg_view(csr);
  if (p->type == MERBIT_F32) {
    MBI_TRY(mbi_amg_narrow(p->context, csr, single));
    mbi_release(p->context, csr->values);
    csr->values = NULL;
    view->value_type = MERBIT_F32;
    view->values = *single;
  }
  return MERBIT_OK;
}

/* Returns the number of matrices of a level in the cycle. */
static int mbi_amg_matrices(const mbi_amg *amg, int l) {
  return l + 1 == amg->count ? 1 : amg->reduced ? MBI_GRID_MATRICES : MBI_GRID_R + 1;
}

/* Returns a matrix of a level: MBI_GRID_... */
static mbi_amg_csr *mbi_amg_matrix(mbi_amg_level *level, int matrix) {
  return matrix == MBI_GRID_P               ? &level->p
         : matrix == MBI_GRID_R             ? &level->r
         : matrix == MBI_GRID_C             ? &level->halves[1]
         : level->halves[0].row_ptr != NULL ? &level->halves[0]
                                            : &level->a;
}

/* Sets the cycle's views of all matrices of the host's set-up. */
static merbit_status mbi_amg_show_all(merbit_preconditioner *p, mbi_amg *amg) {
  int l, k;
  for (l = 0; l < amg->count; l++) {
    mbi_amg_level *level = &amg->levels[l];
    mbi_amg_grid *g = &amg->grids[l];
    for (k = 0; k < mbi_amg_matrices(amg, l); k++) {
      mbi_amg_csr *csr = mbi_amg_matrix(level, k);
      if (l == 0 && csr == &level->a) {
        g->views[k] = p->view;
      } else if (l + 1 < amg->count || amg->coarsest.rows == 0) {
        MBI_TRY(mbi_amg_show(p, csr, &g->single[k], &g->views[k]));
      }
    }
  }
  return amg->coarsest.rows > 0
             ? mbi_amg_show(p, &amg->coarsest, &amg->coarsest_single, &amg->dense)
             : MERBIT_OK;
}

/* Sets up all levels in host memory. `host` is A with both triangles. */
static merbit_status mbi_amg_set_up(merbit_preconditioner *p, mbi_amg *amg,
                                    const merbit_view *host) {
  int l;
  MBI_TRY(mbi_amg_finest(p->context, host, &amg->levels[0]));
  MBI_TRY(mbi_amg_near(p, &amg->levels[0]));
  MBI_TRY(
      mbi_amg_coarsen(p->context, amg->levels, p->desc.near_nullspace != NULL, &amg->count));
  amg->reduced = amg->levels[0].reduced;
  MBI_TRY(mbi_amg_check_diagonal(p, &amg->levels[0]));
  for (l = 0; l < amg->count; l++) {
    mbi_amg_level *level = &amg->levels[l];
    amg->grids[l].rows = level->a.rows;
    amg->entries[l] = level->a.nnz;
    mbi_release(p->context, level->modes);
    level->modes = NULL;
  }
  return mbi_amg_invert_last(p, &amg->levels[amg->count - 1], &amg->coarsest);
}

/* ---- The set-up on the GPU --------------------------------------------------------------- */

/* Sets the cycle's views of all matrices of the GPU's set-up, and of the inverse of the
 * coarsest one if that is small enough. The CUDA context must be current. */
static merbit_status mbi_amg_show_there(merbit_preconditioner *p, mbi_amg *amg) {
  int l, k;
  amg->levels[0].nonsymmetric = amg->gpu->nonsymmetric;
  amg->reduced = amg->gpu->reduced;
  for (l = 0; l < amg->count; l++) {
    amg->levels[l].lambda = amg->gpu->levels[l].lambda;
    for (k = l > 0 || amg->reduced ? 0 : 1; k < mbi_amg_matrices(amg, l); k++) {
      MBI_TRY(mbi_amg_gpu_show(amg->gpu, l, k, p->type, &amg->grids[l].views[k]));
    }
  }
  return amg->grids[amg->count - 1].rows > MBI_AMG_COARSEST
             ? MERBIT_OK
             : mbi_amg_gpu_invert(amg->gpu, mbi_amg_pivot(p), p->type, &amg->dense);
}

/* Sets up all levels in GPU memory. The CUDA context must be current. */
static merbit_status mbi_amg_set_up_there(merbit_preconditioner *p, mbi_amg *amg,
                                          const merbit_view *a) {
  int l;
  MBI_TRY(mbi_amg_gpu_create(amg->gpu, p->context, mbi_amg_given(p, a), amg->levels[0].block,
                             amg->levels[0].vectors, mbi_amg_no_diagonal(p),
                             p->desc.near_nullspace));
  amg->count = amg->gpu->count;
  for (l = 0; l < amg->count; l++) {
    amg->grids[l].rows = amg->gpu->levels[l].a.rows;
    amg->entries[l] = amg->gpu->levels[l].a.nnz;
  }
  return mbi_amg_show_there(p, amg);
}

static void mbi_amg_leave_gpu(merbit_preconditioner *p, mbi_amg *amg) {
  if (amg->gpu != NULL && mbi_device_enter_alive(p->context)) {
    mbi_amg_gpu_destroy(amg->gpu);
    mbi_device_leave(p->context);
  }
  mbi_release(p->context, amg->gpu);
  amg->gpu = NULL;
}

/* Sets up all levels on the GPU; the plan of the first level checks the matrix. If it does not
 * fit the GPU, leaves amg->gpu NULL. */
static merbit_status mbi_amg_try_gpu(merbit_preconditioner *p, mbi_amg *amg,
                                     const merbit_view *a) {
  char reason[384];
  merbit_status status;
  amg->grids[0].views[0] = p->view;
  MBI_TRY(mbi_cycle_plan(p, a, 1, 0, 0, 0, &amg->grids[0].plans[0]));
  MBI_TRY(mbi_amg_check_near(p, &amg->levels[0]));
  amg->gpu = (mbi_amg_gpu *)mbi_allocate(p->context, sizeof *amg->gpu);
  if (amg->gpu == NULL) {
    return mbi_fail(p->context, MERBIT_OUT_OF_MEMORY, "no memory for a multigrid's record");
  }
  memset(amg->gpu, 0, sizeof *amg->gpu);
  amg->gpu->context = p->context;
  MBI_TRY(mbi_precondition_enter(p));
  status = mbi_amg_set_up_there(p, amg, a);
  mbi_precondition_leave(p);
  if (status == MERBIT_DEVICE_OUT_OF_MEMORY || status == MERBIT_TOO_LARGE) {
    mbi_error_clear(p->context, reason, sizeof reason);
    mbi_log(p->context, "multigrid is set up on the CPU: %s", reason);
    mbi_amg_leave_gpu(p, amg);
    amg->count = 0;
    status = MERBIT_OK;
  }
  return status;
}

/* Releases the values of a matrix if its plan has copied them. If the plan has reordered the
 * matrix in place, it becomes the owner of the columns and values. */
static void mbi_amg_drop_values(merbit_context *context, mbi_amg_csr *csr, float **single,
                                merbit_plan *plan) {
  if (plan != NULL && mbi_plan_copies_values(plan)) {
    if (plan->making.in_place) {
      plan->making.in_place = 0;
      csr->col_ind = NULL;
    } else {
      mbi_release(context, csr->values);
      mbi_release(context, *single);
    }
    csr->values = NULL;
    *single = NULL;
  }
}

/* Releases the values that neither the cycle nor an update reads. */
static void mbi_amg_drop(merbit_preconditioner *p, mbi_amg *amg) {
  int l, k;
  for (l = 0; l < amg->count; l++) {
    mbi_amg_level *level = &amg->levels[l];
    mbi_amg_grid *g = &amg->grids[l];
    for (k = 0; k < mbi_amg_matrices(amg, l); k++) {
      mbi_amg_drop_values(p->context, mbi_amg_matrix(level, k), &g->single[k], g->plans[k]);
    }
    if (amg->reduced && l + 1 < amg->count) { /* the row blocks have them */
      mbi_release(p->context, level->a.values);
      level->a.values = NULL;
    }
  }
  mbi_amg_drop_values(p->context, &amg->coarsest, &amg->coarsest_single,
                      amg->grids[amg->count - 1].plans[MBI_GRID_A]);
  p->copied = amg->reduced || mbi_plan_copies_values(amg->grids[0].plans[MBI_GRID_A]);
}

static merbit_status mbi_amg_create(merbit_preconditioner *p, const merbit_view *a) {
  mbi_amg *amg = (mbi_amg *)mbi_allocate(p->context, sizeof *amg);
  merbit_view host;
  merbit_status status;
  if (amg == NULL) {
    return mbi_fail(p->context, MERBIT_OUT_OF_MEMORY, "no memory for a multigrid's record");
  }
  memset(amg, 0, sizeof *amg);
  p->state = amg;
  if (mbi_precondition_on_gpu(p) && mbi_amg_gpu_takes(a)) {
    MBI_TRY(mbi_amg_try_gpu(p, amg, a));
    if (amg->gpu != NULL) {
      return mbi_cycle_create(p, amg);
    }
  }
  MBI_TRY(mbi_view_to_full(p->context, mbi_amg_given(p, a), &host));
  status = mbi_amg_set_up(p, amg, &host);
  mbi_amg_forget_finest(p->context, &amg->levels[0]);
  mbi_view_from_full(p->context, mbi_amg_given(p, a), &host);
  MBI_TRY(status);
  MBI_TRY(mbi_amg_show_all(p, amg));
  MBI_TRY(mbi_cycle_create(p, amg));
  mbi_amg_drop(p, amg);
  return MERBIT_OK;
}

static merbit_status mbi_amg_apply(merbit_preconditioner *p, const void *r, void *z,
                                   void *stream) {
  return mbi_cycle_run((const mbi_amg *)p->state, 0, 0, r, z, stream);
}

/* ---- New values -------------------------------------------------------------------------- */

/* Passes new values to a plan, in the array that the plan reads if there is one. */
static merbit_status mbi_amg_renew_plan(merbit_preconditioner *p, const mbi_amg_csr *fresh,
                                        mbi_amg_csr *csr, float **single, merbit_plan *plan) {
  const void *values = fresh->values;
  merbit_status status;
  if (p->type == MERBIT_F32) {
    MBI_TRY(mbi_amg_narrow(p->context, fresh, single));
    values = *single;
  } else if (csr->values != NULL) {
    memcpy(csr->values, fresh->values, (size_t)csr->nnz * sizeof *csr->values);
    values = csr->values;
  }
  status = merbit_plan_update_values(plan, values, MERBIT_MEMORY_HOST);
  mbi_amg_drop_values(p->context, csr, single, plan);
  return status;
}

/* Passes the coarsest level's new inverse to its plan. */
static merbit_status mbi_amg_renew_last(merbit_preconditioner *p, mbi_amg *amg,
                                        const mbi_amg_csr *fresh) {
  return mbi_amg_renew_plan(p, fresh, &amg->coarsest, &amg->coarsest_single,
                            amg->grids[amg->count - 1].plans[0]);
}

/* Passes the values of `fresh`, and of the coarsest inverse, to all plans. */
static merbit_status mbi_amg_renew(merbit_preconditioner *p, mbi_amg *amg, mbi_amg_level *fresh,
                                   const mbi_amg_csr *coarsest, const merbit_view *a) {
  int l, k;
  for (l = 0; l < amg->count; l++) {
    merbit_plan *const *plans = amg->grids[l].plans;
    mbi_amg_level *level = &amg->levels[l];
    for (k = 0; k < mbi_amg_matrices(amg, l); k++) {
      mbi_amg_csr *csr = mbi_amg_matrix(level, k);
      if (amg->reduced && k == MBI_GRID_P) { /* its values are all 1 */
        continue;
      }
      MBI_TRY(l + 1 == amg->count && coarsest->rows > 0 ? mbi_amg_renew_last(p, amg, coarsest)
              : l == 0 && csr == &level->a
                  ? merbit_plan_update_values(plans[k], a->values, a->memory)
                  : mbi_amg_renew_plan(p, mbi_amg_matrix(&fresh[l], k), csr,
                                       &amg->grids[l].single[k], plans[k]));
    }
    mbi_release(p->context, level->inverse); /* left by an update that failed */
    level->inverse = fresh[l].inverse;
    fresh[l].inverse = NULL;
    level->lambda = fresh[l].lambda;
  }
  return mbi_cycle_refill(p, amg);
}

static merbit_status mbi_amg_recompute_all(merbit_preconditioner *p, mbi_amg *amg,
                                           mbi_amg_level *fresh, mbi_amg_csr *coarsest,
                                           const merbit_view *host) {
  MBI_TRY(mbi_amg_finest(p->context, host, &fresh[0]));
  MBI_TRY(mbi_amg_recompute(p->context, fresh, amg->count));
  MBI_TRY(mbi_amg_check_diagonal(p, &fresh[0]));
  return mbi_amg_invert_last(p, &fresh[amg->count - 1], coarsest);
}

/* Passes the values of the GPU's set-up to all plans. */
static merbit_status mbi_amg_renew_there(merbit_preconditioner *p, mbi_amg *amg,
                                         const merbit_view *a) {
  int l, k;
  for (l = 0; l < amg->count; l++) {
    const mbi_amg_grid *g = &amg->grids[l];
    for (k = 0; k < mbi_amg_matrices(amg, l); k++) {
      const merbit_view *view = l + 1 == amg->count && amg->dense.rows > 0 ? &amg->dense
                                : l == 0 && k == 0 && !amg->reduced        ? a
                                                                           : &g->views[k];
      MBI_TRY(merbit_plan_update_values(g->plans[k], view->values, view->memory));
    }
  }
  return mbi_cycle_refill(p, amg);
}

/* Recomputes the values of all levels on the GPU. */
static merbit_status mbi_amg_update_there(merbit_preconditioner *p, mbi_amg *amg,
                                          const merbit_view *a) {
  merbit_status status;
  MBI_TRY(mbi_precondition_enter(p));
  status = mbi_amg_gpu_update(amg->gpu, mbi_amg_given(p, a));
  if (status == MERBIT_OK) {
    status = mbi_amg_show_there(p, amg);
  }
  mbi_precondition_leave(p);
  return status == MERBIT_OK ? mbi_amg_renew_there(p, amg, a) : status;
}

/* Recomputes all values; keeps aggregates and structure. If the host's computation fails, the
 * old values remain. If the GPU's fails, they remain only if the first level has no D^-1. */
static merbit_status mbi_amg_update(merbit_preconditioner *p, const merbit_view *a) {
  mbi_amg *amg = (mbi_amg *)p->state;
  mbi_amg_level *fresh;
  mbi_amg_csr coarsest;
  merbit_view host;
  merbit_status status;
  int l;
  if (amg->gpu != NULL) {
    return mbi_amg_update_there(p, amg, a);
  }
  memset(&coarsest, 0, sizeof coarsest);
  MBI_TRY(mbi_allocate_array(p->context, MBI_AMG_LEVELS, sizeof *fresh, "multigrid levels",
                             (void **)&fresh));
  for (l = 0; l < amg->count; l++) {
    fresh[l] = amg->levels[l];
    fresh[l].inverse = NULL;
    fresh[l].p.values = fresh[l].r.values = fresh[l].a.values = NULL;
    fresh[l].halves[0].values = fresh[l].halves[1].values = NULL;
  }
  status = mbi_view_to_full(p->context, mbi_amg_given(p, a), &host);
  if (status == MERBIT_OK) {
    status = mbi_amg_recompute_all(p, amg, fresh, &coarsest, &host);
    status = status == MERBIT_OK ? mbi_amg_renew(p, amg, fresh, &coarsest, a) : status;
    mbi_view_from_full(p->context, mbi_amg_given(p, a), &host);
  }
  for (l = 0; l < amg->count; l++) {
    mbi_release(p->context, fresh[l].p.values);
    mbi_release(p->context, fresh[l].r.values);
    mbi_release(p->context, fresh[l].halves[0].values);
    mbi_release(p->context, fresh[l].halves[1].values);
    mbi_release(p->context, fresh[l].inverse);
    if (l > 0) {
      mbi_release(p->context, fresh[l].a.values);
    } else {
      mbi_amg_forget_finest(p->context, &fresh[l]);
    }
  }
  mbi_amg_csr_release(p->context, &coarsest);
  mbi_release(p->context, fresh);
  return status;
}

/* ---- Description ------------------------------------------------------------------------- */

static double mbi_amg_complexity(const mbi_amg *amg) {
  double sum = 0;
  int l;
  for (l = 0; l < amg->count; l++) {
    sum += (double)amg->entries[l];
  }
  return amg->entries[0] > 0 ? sum / (double)amg->entries[0] : 1;
}

static void mbi_amg_describe(const merbit_preconditioner *p, char *text, size_t size) {
  const mbi_amg *amg = (const mbi_amg *)p->state;
  size_t used = (size_t)snprintf(text, size, " by %s (%d level%s:",
                                 amg->reduced                  ? "reduction"
                                 : amg->levels[0].nonsymmetric ? "unsmoothed aggregation"
                                                               : "smoothed aggregation",
                                 amg->count, amg->count == 1 ? "" : "s");
  int l;
  for (l = 0; l < amg->count && used < size; l++) {
    used += (size_t)snprintf(text + used, size - used, " %" PRId64, amg->grids[l].rows);
  }
  if (used < size) {
    used += (size_t)snprintf(text + used, size - used, " rows; operator complexity %.2f;",
                             mbi_amg_complexity(amg));
  }
  if (used < size && !amg->reduced) {
    used += (size_t)snprintf(text + used, size - used, " %d near-null-space vector%s;",
                             amg->levels[0].vectors, amg->levels[0].vectors == 1 ? "" : "s");
  }
  if (used < size) {
    (void)snprintf(text + used, size - used, " set up %s)",
                   amg->gpu != NULL ? "on the GPU" : "by the host");
  }
}

/* Returns the bytes of a CSR in host memory. */
static int64_t mbi_amg_csr_bytes(const mbi_amg_csr *csr) {
  return (int64_t)(mbi_memory_bytes(csr->row_ptr) + mbi_memory_bytes(csr->col_ind) +
                   mbi_memory_bytes(csr->values));
}

static void mbi_amg_info(const merbit_preconditioner *p, merbit_preconditioner_info *info) {
  const mbi_amg *amg = (const mbi_amg *)p->state;
  int l, k;
  info->levels = amg->count;
  info->operator_complexity = mbi_amg_complexity(amg);
  for (l = 0; l < amg->count; l++) {
    const mbi_amg_level *level = &amg->levels[l];
    info->rows[l] = amg->grids[l].rows;
    info->nonzeros[l] = amg->entries[l];
    info->host_bytes += mbi_amg_csr_bytes(&level->a) + mbi_amg_csr_bytes(&level->ap) +
                        mbi_amg_csr_bytes(&level->p) + mbi_amg_csr_bytes(&level->r) +
                        mbi_amg_csr_bytes(&level->halves[0]) +
                        mbi_amg_csr_bytes(&level->halves[1]);
    info->host_bytes +=
        (int64_t)(mbi_memory_bytes(level->kept) + mbi_memory_bytes(level->aggregate) +
                  mbi_memory_bytes(level->t) + mbi_memory_bytes(level->inverse) +
                  mbi_memory_bytes(level->attached) + mbi_memory_bytes(level->points));
    for (k = 0; k < MBI_GRID_MATRICES; k++) {
      mbi_precondition_count(NULL, amg->grids[l].plans[k], info);
      info->host_bytes += (int64_t)mbi_memory_bytes(amg->grids[l].single[k]);
    }
  }
  info->host_bytes += mbi_amg_csr_bytes(&amg->coarsest) +
                      (int64_t)(mbi_memory_bytes(amg->coarsest_single) + sizeof *amg);
  *(mbi_precondition_on_gpu(p) ? &info->device_bytes : &info->host_bytes) +=
      (int64_t)amg->space_bytes;
  if (amg->gpu != NULL) {
    info->device_bytes += (int64_t)mbi_amg_gpu_bytes(amg->gpu);
    info->host_bytes += (int64_t)sizeof *amg->gpu;
  }
}

static void mbi_amg_destroy(merbit_preconditioner *p) {
  mbi_amg *amg = (mbi_amg *)p->state;
  int l, k;
  if (amg == NULL) {
    return;
  }
  mbi_cycle_destroy(p, amg);
  mbi_amg_leave_gpu(p, amg);
  for (l = 0; l < MBI_AMG_LEVELS; l++) {
    mbi_amg_level_release(p->context, &amg->levels[l]);
    for (k = 0; k < MBI_GRID_MATRICES; k++) {
      mbi_release(p->context, amg->grids[l].single[k]);
    }
  }
  mbi_amg_csr_release(p->context, &amg->coarsest);
  mbi_release(p->context, amg->coarsest_single);
  mbi_release(p->context, amg);
  p->state = NULL;
}

MBI_INTERNAL const mbi_precondition_method mbi_amg_method = {
    "AMG",            /* name */
    0,                /* block */
    0,                /* product */
    0,                /* vectors */
    mbi_amg_create,   /* create */
    mbi_amg_apply,    /* apply */
    mbi_amg_update,   /* update */
    mbi_amg_describe, /* describe */
    mbi_amg_info,     /* info */
    mbi_amg_destroy,  /* destroy */
};
