#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "solve/core/solver.h"
#include "solve/precondition/precondition.h"

/* Scaling of systems whose numbers have squares that overflow or vanish. A matrix whose norm,
 * or a right-hand side whose largest entry, is too far from 1 is multiplied by a power of two,
 * which rounds nothing: (2^s A) (2^(t - s) x) = 2^t b. Other systems are not scaled. Numbers
 * are scaled in host memory, even for a solver on the GPU. */
#define MBI_SCALE_RANGE 200    /* f64: norms from 2^-200 to 2^200 */
#define MBI_SCALE_RANGE_F32 50 /* the same if any part computes in f32 */

/* Returns whether `size` is nonzero and outside the range from 2^-reach to 2^reach. */
MBI_NOINLINE static int mbi_scale_is_extreme(double size, int reach) {
  return size > ldexp(1, reach) || (size > 0 && size < ldexp(1, -reach));
}

/* Returns whether the last convergence check found a right-hand side that must be scaled. */
MBI_INTERNAL int mbi_scale_rhs_needed(const merbit_solver *solver,
                                      const mbi_solve_state *seen) {
  return solver->rhs_scale == 0 && seen->b_most <= DBL_MAX &&
         mbi_scale_is_extreme(seen->b_most, solver->type == MERBIT_F32 ? MBI_SCALE_RANGE_F32
                                                                       : MBI_SCALE_RANGE);
}

/* Computes to = 2^exponent from; both may be the same array. Returns the largest magnitude in
 * `from` of the numbers that overflow or lose bits, or 0 if none does. */
static double mbi_scale_numbers(merbit_type type, const void *from, int64_t count, int exponent,
                                void *to) {
  double lost = 0;
  int64_t k;
  for (k = 0; k < count; k++) {
    const double number =
        type == MERBIT_F32 ? (double)((const float *)from)[k] : ((const double *)from)[k];
    double scaled = ldexp(number, exponent);
    if (type == MERBIT_F32) {
      ((float *)to)[k] = (float)scaled;
      scaled = (double)(float)scaled;
    } else {
      ((double *)to)[k] = scaled;
    }
    if (fabs(number) > lost && ldexp(scaled, -exponent) != number) {
      lost = fabs(number);
    }
  }
  return lost;
}

/* Copies the solver's vector at `slot` to new host memory. The caller releases *copy. */
static merbit_status mbi_scale_fetch(merbit_solver *solver, int slot, void **copy) {
  merbit_status status;
  MBI_TRY(mbi_allocate_array(solver->context, solver->n, mbi_type_size(solver->type),
                             "a scaled vector", copy));
  status = mbi_solve_download(solver, *copy, solver->v.at[slot], mbi_solve_bytes(solver));
  if (status != MERBIT_OK) {
    mbi_release(solver->context, *copy);
  }
  return status;
}

/* Multiplies the solver's vector at `slot` by 2^exponent, on its side, and sets *lost as
 * mbi_scale_numbers returns it. */
static merbit_status mbi_scale_slot(merbit_solver *solver, int slot, int exponent,
                                    double *lost) {
  void *copy = NULL;
  merbit_status status;
  *lost = 0;
  if (exponent == 0) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_scale_fetch(solver, slot, &copy));
  *lost = mbi_scale_numbers(solver->type, copy, solver->n, exponent, copy);
  status = mbi_solve_upload(solver, solver->v.at[slot], copy, mbi_solve_bytes(solver));
  mbi_release(solver->context, copy);
  return status;
}

/* Multiplies the solver's vector at `slot` by 2^exponent, on its side. */
MBI_INTERNAL merbit_status mbi_scale_vector(merbit_solver *solver, int slot, int exponent) {
  double lost;
  return mbi_scale_slot(solver, slot, exponent, &lost);
}

/* Returns the exponent e for which products of the scaled A and 2^e x neither overflow nor lose
 * bits unless A x does. `most` is the largest finite magnitude in x. */
static int mbi_scale_of_factor(const merbit_solver *solver, double most) {
  const int top = solver->type == MERBIT_F32 ? FLT_MAX_EXP : DBL_MAX_EXP;
  int reach; /* the largest e without overflow */
  if (most == 0 || solver->norm == 0) {
    return 0;
  }
  reach = top - 3 - ilogb(solver->norm) - ilogb(most);
  if (solver->scale > 0) {
    return reach < 0 ? reach : 0;
  }
  return reach < 0 ? 0 : reach < -solver->scale ? reach : -solver->scale;
}

/* Multiplies the vector at `slot`, which will be multiplied by A, by 2^exponent if A is scaled.
 * The product is then 2^(scale + exponent) times that of the caller's A. */
MBI_INTERNAL merbit_status mbi_scale_factor(merbit_solver *solver, int slot, int *exponent) {
  void *copy = NULL;
  double most = 0;
  int64_t k;
  *exponent = 0;
  if (solver->scale == 0) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_scale_fetch(solver, slot, &copy));
  for (k = 0; k < solver->n; k++) {
    const double size = fabs(solver->type == MERBIT_F32 ? (double)((const float *)copy)[k]
                                                        : ((const double *)copy)[k]);
    most = size > most && size <= DBL_MAX ? size : most;
  }
  mbi_release(solver->context, copy);
  *exponent = mbi_scale_of_factor(solver, most);
  return mbi_scale_vector(solver, slot, *exponent);
}

/* Returns the exponent e for which 2^e times the solver's x is the caller's x. */
MBI_INTERNAL int mbi_scale_of_x(const merbit_solver *solver) {
  return solver->scale - solver->rhs_scale;
}

/* Makes the solver's x the caller's x. Sets *lost to the largest magnitude, in the solver's x,
 * of the entries that overflow or lose bits, or to 0 if none does. */
MBI_INTERNAL merbit_status mbi_scale_x_back(merbit_solver *solver, double *lost) {
  return mbi_scale_slot(solver, MBI_AT_X, mbi_scale_of_x(solver), lost);
}

/* ---- The matrix -------------------------------------------------------------------------- */

/* Returns whether vectors, corrections or the preconditioner are in f32. The caller's options
 * of the preconditioner are there while the solver is made, even if the preconditioner is not.
 */
static int mbi_scale_narrow(const merbit_solver *solver) {
  const merbit_preconditioner_desc *own =
      solver->precondition != NULL ? &solver->precondition->desc : solver->desc.precondition;
  return solver->type == MERBIT_F32 || solver->desc.refine || (own != NULL && own->single);
}

/* Returns whether the matrix may have to be scaled. `made` is the status of making the solver
 * with unscaled values. An inner solver never scales, because the outer one scales for both. A
 * solver with a callback does not scale either, because the callback's M belongs to A. */
MBI_INTERNAL int mbi_scale_matrix_needed(const merbit_solver *solver, merbit_status made) {
  const int reach = mbi_scale_narrow(solver) ? MBI_SCALE_RANGE_F32 : MBI_SCALE_RANGE;
  if (solver->view.values == NULL || solver->corrects ||
      solver->desc.preconditioner == MERBIT_PRECONDITIONER_CALLBACK) {
    return 0;
  }
  return made == MERBIT_OK ? mbi_scale_is_extreme(solver->norm, reach)
                           : made == MERBIT_INVALID_MATRIX || made == MERBIT_NOT_SUPPORTED;
}

/* Returns the exponent that brings the largest of `count` values close to 1, except those that
 * are padding of the blocks of `structure`. Returns 0 if it is already close to 1, if a value
 * is not finite, or if the smallest value would be lost. */
static int mbi_scale_exponent(const merbit_solver *solver, const merbit_view *structure,
                              const void *values, int64_t count) {
  const int single = solver->type == MERBIT_F32;
  const int narrow = mbi_scale_narrow(solver);
  double most = 0, least = HUGE_VAL;
  int64_t k;
  int exponent;
  for (k = 0; k < count; k++) {
    const double size =
        fabs(single ? (double)((const float *)values)[k] : ((const double *)values)[k]);
    if (mbi_value_is_padding(structure, k)) {
      continue;
    }
    if (!(size <= DBL_MAX)) {
      return 0;
    }
    most = size > most ? size : most;
    least = size > 0 && size < least ? size : least;
  }
  if (!mbi_scale_is_extreme(most, (narrow ? MBI_SCALE_RANGE_F32 : MBI_SCALE_RANGE) / 2)) {
    return 0; /* half of the range, because the norm may be larger than the values */
  }
  exponent = -ilogb(most);
  return exponent < 0 && ldexp(least, exponent) < (narrow ? FLT_MIN : DBL_MIN) ? 0 : exponent;
}

/* Sets *exponent to that of mbi_scale_exponent. Downloads the places of blocks that are in GPU
 * memory. */
static merbit_status mbi_scale_find(merbit_solver *solver, const void *values, int64_t count,
                                    int *exponent) {
  merbit_view structure = solver->view, copy;
  merbit_status status = MERBIT_OK;
  const int there = structure.format == MERBIT_BSR && structure.memory == MERBIT_MEMORY_DEVICE;
  structure.values = NULL;
  if (there) {
    status = mbi_view_download(solver->context, &structure, &copy);
  }
  if (status == MERBIT_OK) {
    *exponent = mbi_scale_exponent(solver, there ? &copy : &structure, values, count);
  }
  if (there) {
    mbi_host_view_release(solver->context, &copy);
  }
  return status;
}

/* Scales values into memory of the solver and sets *scaled to it, or to NULL if no scaling is
 * needed, and solver->scale. `memory` says where the values are; DEFAULT means where the matrix
 * is. The CUDA context must be current. */
MBI_INTERNAL merbit_status mbi_scale_values(merbit_solver *solver, const void *values,
                                            merbit_memory memory, const void **scaled) {
  merbit_context *context = solver->context;
  const int there = mbi_view_values_there(&solver->view, memory);
  const int64_t count = mbi_view_values(&solver->view);
  const size_t size = mbi_type_size(solver->type), bytes = (size_t)count * size;
  int exponent = 0;
  *scaled = NULL;
  if (solver->scaled == NULL) {
    MBI_TRY(mbi_allocate_array(context, count, size, "scaled values", &solver->scaled));
  }
  if (there) {
    MBI_TRY(mbi_device_download(context, solver->scaled, mbi_device_address(values), bytes));
    values = solver->scaled;
  }
  MBI_TRY(mbi_scale_find(solver, values, count, &exponent));
  if (exponent == 0) {
    solver->scale = 0;
    return MERBIT_OK;
  }
  (void)mbi_scale_numbers(solver->type, values, count, exponent, solver->scaled);
  if (there) {
    if (solver->scaled_there == 0) {
      MBI_TRY(mbi_device_allocate(context, bytes, "scaled values", &solver->scaled_there));
    }
    MBI_TRY(mbi_device_upload(context, solver->scaled_there, solver->scaled, bytes));
  }
  *scaled = there ? mbi_device_pointer(solver->scaled_there) : solver->scaled;
  solver->scale = exponent;
  return MERBIT_OK;
}

/* Returns the status of making the solver, or of an update, with scaled values. If it is a
 * failure that may name a value, the error message says by what A was multiplied. */
MBI_INTERNAL merbit_status mbi_scale_made(merbit_solver *solver, merbit_status status) {
  char sentence[MERBIT_MESSAGE_SIZE];
  if (status != MERBIT_INVALID_MATRIX && status != MERBIT_NOT_SUPPORTED) {
    return status;
  }
  mbi_error_clear(solver->context, sentence, sizeof sentence);
  return mbi_fail(solver->context, status, "with A times 2^%d: %s", solver->scale, sentence);
}
