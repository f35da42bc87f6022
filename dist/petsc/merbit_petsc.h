/* Declarations that the files of the PETSc plugin share. docs/petsc.md is for users. */
#ifndef MERBIT_PETSC_H
#define MERBIT_PETSC_H
#include "merbit.h"
#include <petscdevice.h>
#include <petscksp.h>

/* PETSc's library exports this, but the headers of some versions do not declare it. */
PETSC_EXTERN PetscErrorCode PetscObjectStateGet(PetscObject, PetscObjectState *);

#if PETSC_VERSION_LT(3, 23, 0) /* later ones have a pointer by that name */
typedef PetscOptionItems *merbit_petsc_options;
#else
typedef PetscOptionItems merbit_petsc_options;
#endif

#if defined(PETSC_HAVE_CUDA) && PETSC_VERSION_LT(3, 20, 0)
PETSC_EXTERN void *PetscDefaultCudaStream; /* declared by a header that needs CUDA's */
#endif

/* The names must begin with seqaij and mpiaij, by which PETSc finds factorisations. */
#define MATAIJMERBIT "aijmerbit"
#define MATSEQAIJMERBIT "seqaijmerbit"
#define MATMPIAIJMERBIT "mpiaijmerbit"

/* Returns with merbit's error message if a call on `context` fails. */
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
  merbit_context *solvers; /* the GPU if there is one, for solvers, preconditioners and products
                            * of CUDA vectors; NULL before the first */
  PetscBool no_gpu;        /* PETSc could not start its GPU */
  PetscBool view;          /* -merbit_view */
  PetscBool deterministic; /* -merbit_deterministic */
  PetscLogEvent plan, update, multiply, solve; /* in -log_view */
} merbit_petsc_state;

PETSC_INTERN merbit_petsc_state merbit_petsc;

/* The part of a matrix that has changed since something was made from it. */
typedef enum { CHANGED_NOTHING, CHANGED_VALUES, CHANGED_STRUCTURE } merbit_petsc_change;

/* The arrays and the state of the values from which something was made. All-zero: no matrix. */
typedef struct {
  PetscObjectId matrix;
  PetscObjectState values, structure;
  const PetscInt *row_ptr, *col_ind;
} merbit_petsc_stamp;

/* merbit_petsc.c */
PETSC_INTERN PetscErrorCode merbit_petsc_error(int line, const char *function, const char *file,
                                               merbit_context *context, merbit_status status);
PETSC_INTERN PetscErrorCode merbit_petsc_open_products(void);
PETSC_INTERN PetscErrorCode merbit_petsc_side(merbit_side *side);
PETSC_INTERN PetscErrorCode merbit_petsc_open_solvers(void);
PETSC_INTERN PetscErrorCode merbit_petsc_open_csr(Mat A, merbit_petsc_stamp *stamp,
                                                  merbit_view *view,
                                                  merbit_petsc_change *change);
PETSC_INTERN PetscErrorCode merbit_petsc_close_csr(Mat A, merbit_view *view);
PETSC_INTERN PetscErrorCode merbit_petsc_check_matrix(PetscObject object, Mat A);

/* The vector that merbit reads and the one that it writes. */
typedef struct {
  Vec in, out;
  PetscBool reads_out;     /* the old contents of the second one are read, too */
  PetscBool on_gpu;        /* set only if merbit_petsc_vectors_on_gpu says so */
  const PetscScalar *from; /* their arrays, while they are open */
  PetscScalar *to;
  void *stream; /* the CUstream on which PETSc uses them on the GPU */
} merbit_petsc_vectors;

/* vectors.c */
PETSC_INTERN PetscErrorCode merbit_petsc_stream(void **stream);
PETSC_INTERN PetscErrorCode merbit_petsc_wait(void);
PETSC_INTERN PetscErrorCode merbit_petsc_take_vectors(Mat A);
PETSC_INTERN PetscErrorCode merbit_petsc_return_vectors(Mat A);
PETSC_INTERN PetscErrorCode merbit_petsc_vectors_on_gpu(Vec in, Vec out, PetscBool *on_gpu);
PETSC_INTERN PetscErrorCode merbit_petsc_vectors_open(merbit_petsc_vectors *vectors);
PETSC_INTERN PetscErrorCode merbit_petsc_vectors_close(merbit_petsc_vectors *vectors);

/* product.c: the products of a sequential matrix */
PETSC_INTERN PetscErrorCode merbit_petsc_take_products(Mat A);
PETSC_INTERN PetscErrorCode merbit_petsc_return_products(Mat A);

/* aij.c: the types of matrices */
PETSC_INTERN PetscErrorCode merbit_petsc_register_types(void);

/* The parts of a preconditioner that are not entries of the matrix. */
typedef struct {
  merbit_preconditioner_desc desc; /* near_nullspace is set only while it is made */
  PetscObjectId near_nullspace;    /* the MatNullSpace whose vectors AMG takes, or 0 */
} merbit_petsc_recipe;

/* pc.c: merbit's preconditioners, also for the solvers in ksp.c */
PETSC_INTERN PetscErrorCode merbit_petsc_recipe_for(Mat A,
                                                    const merbit_preconditioner_desc *desc,
                                                    merbit_petsc_recipe *recipe);
PETSC_INTERN PetscErrorCode merbit_petsc_recipe_open(Mat A, merbit_petsc_recipe *recipe,
                                                     double **vectors);
PETSC_INTERN PetscErrorCode merbit_petsc_lend_pc(PC pc, merbit_preconditioner_desc *desc);

/* ksp.c and pc.c: the type "merbit" of each */
PETSC_INTERN PetscErrorCode merbit_petsc_create_ksp(KSP ksp);
PETSC_INTERN PetscErrorCode merbit_petsc_create_pc(PC pc);

#endif
