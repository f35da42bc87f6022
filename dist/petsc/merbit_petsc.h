/* Declarations that the files of the PETSc plugin share. docs/petsc.md is for users. */
#ifndef MERBIT_PETSC_H
#define MERBIT_PETSC_H
#include "merbit.h"
#include <petscksp.h>

/* PETSc's library exports this, but the headers of some versions do not declare it. */
PETSC_EXTERN PetscErrorCode PetscObjectStateGet(PetscObject, PetscObjectState *);

/* The names must begin with seqaij and mpiaij, by which PETSc finds factorisations. */
#define MATAIJMERBIT "aijmerbit"
#define MATSEQAIJMERBIT "seqaijmerbit"
#define MATMPIAIJMERBIT "mpiaijmerbit"

/* Stops with merbit's sentence if a call on `context` fails. */
#define MERBIT_PETSC_CALL(context, call)                                                       \
  do {                                                                                         \
    const merbit_status merbit_status_ = (call);                                               \
    if (merbit_status_ != MERBIT_OK) {                                                         \
      return merbit_petsc_error(__LINE__, PETSC_FUNCTION_NAME, __FILE__, context,              \
                                merbit_status_);                                               \
    }                                                                                          \
  } while (0)

/* The plugin's state in a process. */
typedef struct {
  merbit_context *products; /* the CPU, for products of host vectors; NULL before the first */
  merbit_context *solvers;  /* the GPU if there is one; NULL before the first solver */
  PetscBool view;           /* -merbit_view */
  PetscBool deterministic;  /* -merbit_deterministic */
  PetscLogEvent plan, update, multiply, solve; /* in -log_view */
} merbit_petsc_state;

PETSC_INTERN merbit_petsc_state merbit_petsc;

/* The part of a matrix that has changed since something was made from it. */
typedef enum { CHANGED_NOTHING, CHANGED_VALUES, CHANGED_STRUCTURE } merbit_petsc_change;

/* The arrays and the values from which something was made. All-zero stands for no matrix. */
typedef struct {
  PetscObjectId matrix;
  PetscObjectState values, structure;
  const PetscInt *row_ptr, *col_ind;
} merbit_petsc_stamp;

/* merbit_petsc.c */
PETSC_INTERN PetscErrorCode merbit_petsc_error(int line, const char *function, const char *file,
                                               merbit_context *context, merbit_status status);
PETSC_INTERN PetscErrorCode merbit_petsc_open_products(void);
PETSC_INTERN PetscErrorCode merbit_petsc_open_solvers(void);
PETSC_INTERN PetscErrorCode merbit_petsc_open_csr(Mat A, merbit_petsc_stamp *stamp,
                                                  merbit_view *view,
                                                  merbit_petsc_change *change);
PETSC_INTERN PetscErrorCode merbit_petsc_close_csr(Mat A, merbit_view *view);

/* product.c: the products of a sequential matrix */
PETSC_INTERN PetscErrorCode merbit_petsc_take_products(Mat A);
PETSC_INTERN PetscErrorCode merbit_petsc_return_products(Mat A);

/* aij.c: the types of matrices */
PETSC_INTERN PetscErrorCode merbit_petsc_register_types(void);

/* A merbit_solver for a sequential matrix, remade as far as the matrix changes. */
typedef struct {
  merbit_solver *solver;
  merbit_solver_desc desc; /* of which the solver was made */
  merbit_petsc_stamp stamp;
  merbit_solver_result result; /* of the last solve */
} merbit_petsc_solver;

/* solver.c: solves with a sequential matrix */
PETSC_INTERN PetscErrorCode merbit_petsc_solver_options(PetscOptionItems *PetscOptionsObject,
                                                        const char *method, const char *restart,
                                                        merbit_solver_desc *desc);
PETSC_INTERN PetscErrorCode merbit_petsc_solver_check(PetscObject object, Mat A);
PETSC_INTERN PetscErrorCode merbit_petsc_solver_solve(merbit_petsc_solver *s, Mat A,
                                                      const merbit_solver_desc *desc, Vec b,
                                                      Vec x, PetscBool start_from_x,
                                                      double *history, int history_size);
PETSC_INTERN PetscErrorCode merbit_petsc_solver_view(const merbit_petsc_solver *s,
                                                     PetscViewer viewer);
PETSC_INTERN PetscErrorCode merbit_petsc_solver_reset(merbit_petsc_solver *s);

/* ksp.c and pc.c: the type "merbit" of each */
PETSC_INTERN PetscErrorCode merbit_petsc_create_ksp(KSP ksp);
PETSC_INTERN PetscErrorCode merbit_petsc_create_pc(PC pc);

#endif
