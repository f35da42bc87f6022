#ifndef MBI_PRECONDITION_H
#define MBI_PRECONDITION_H
#include "solve/core/solver.h"
#include "solve/precondition/slots.cuh"

/* Preconditioners as objects. The kinds are listed in solve/precondition/kinds.c. */

/* A kind of preconditioner. All functions compute in p->type, the type of the view's values, of
 * r and of z; a wrapper handles `single` and `singular` (solve/precondition/wrapped.c). */
typedef struct mbi_precondition_method {
  const char *name; /* as in descriptions, for example "Chebyshev" */
  /* Parts of p->engine, made before `create` and released after `destroy`. If all are 0,
   * p->engine is NULL. */
  int block;   /* 1: D^-1 in engine->v.at[MBI_AT_INVERSE]; -1: inverses of blocks of
                  desc.block_size rows */
  int product; /* 1: a plan of A, engine->plan, without an epilogue */
  int vectors; /* number of vectors from engine->v.at[MBI_PRE_OWN] on, up to MBI_PRE_VECTORS */
  /* Makes p->state from `a`, which is p->view: any format, in host or GPU memory. Its arrays
   * have been checked only if `product` is 1; otherwise merbit_matrix_create and
   * mbi_plan_create check them. On failure the caller runs `destroy`. NULL: nothing to make. */
  merbit_status (*create)(struct merbit_preconditioner *p, const merbit_view *a);
  /* Computes z = M^-1 r, which do not overlap. On CUDA enqueues the work on `stream`; the CUDA
   * context is current, nothing is allocated, and the stream may be captured. */
  merbit_status (*apply)(struct merbit_preconditioner *p, const void *r, void *z, void *stream);
  /* Recomputes p->state from `a`: p->view with new values, which stay valid during the call.
   * NULL: nothing to do. */
  merbit_status (*update)(struct merbit_preconditioner *p, const merbit_view *a);
  /* Writes what follows the name in the description; NULL: nothing. */
  void (*describe)(const struct merbit_preconditioner *p, char *text, size_t size);
  /* Corrects the fields that differ from those of a kind without memory of its own, and adds
   * the bytes of p->state; or NULL. */
  void (*info)(const struct merbit_preconditioner *p, merbit_preconditioner_info *info);
  /* Releases p->state, complete or not; or NULL. Makes the CUDA context current if needed. */
  void (*destroy)(struct merbit_preconditioner *p);
} mbi_precondition_method;

struct merbit_preconditioner {
  merbit_context *context;
  merbit_preconditioner_desc desc; /* near_nullspace is valid only while `create` runs */
  const mbi_precondition_method *method;
  merbit_view view; /* borrowed, but its owner is kept alive */
  merbit_type type; /* of the values, r and z */
  merbit_side side;
  int64_t n;
  const merbit_view *around; /* of a wrapped one while `create` or `update` runs: the wrapper's
                              * matrix, before it was rounded; else NULL */
  int copied;            /* 1: the values of `view`, if in host memory, are no longer read */
  merbit_solver *engine; /* a solver without iterations: vectors, steps, products; or NULL */
  struct merbit_preconditioner *inner; /* the preconditioner that this one wraps, or NULL */
  void *state;                         /* belongs to the kind */
  /* Subtracts the mean of a vector of a solver; NULL without desc.singular. */
  merbit_status (*project)(merbit_preconditioner *p, void *vector, void *stream);
  double setup_seconds;
};

/* The end of an error message after the name of a kind. */
#define MBI_PRE_NEEDS_SPD                                                                      \
  "needs a symmetric positive definite matrix; use MERBIT_PRECONDITIONER_JACOBI, or for "      \
  "other "                                                                                     \
  "matrices MERBIT_SOLVER_GMRES or MERBIT_SOLVER_BICGSTAB with "                               \
  "MERBIT_PRECONDITIONER_BLOCK_JACOBI"

/* Indices of the steps of an engine, after MBI_STEP_RESIDUAL and MBI_STEP_BLOCKS. */
enum {
  MBI_PRE_MEASURE = 2,
  MBI_PRE_IN,
  MBI_PRE_MEAN_OF_Z,
  MBI_PRE_OUT,
  MBI_PRE_START,
  MBI_PRE_ALPHA_STEP,
  MBI_PRE_NEXT,
  MBI_PRE_FIRST,
  MBI_PRE_ITERATE
};

/* solve/precondition/create.c. Solvers and wrapped preconditioners call these, which merbit.h
 * defines later. */
MBI_INTERNAL const char *mbi_precondition_name(merbit_preconditioner_kind kind);
MBI_INTERNAL merbit_status mbi_precondition_check(merbit_context *context,
                                                  const merbit_view *view,
                                                  const merbit_preconditioner_desc *desc);
MBI_INTERNAL merbit_status mbi_precondition_create(merbit_context *context,
                                                   const merbit_view *view,
                                                   const merbit_preconditioner_desc *desc,
                                                   const merbit_view *around,
                                                   merbit_preconditioner **made);
MBI_INTERNAL merbit_status mbi_precondition_renew(merbit_preconditioner *p,
                                                  const merbit_view *a);

#ifdef MBI_SEPARATE
/* solve/precondition/engine.c */
MBI_INTERNAL int mbi_precondition_on_gpu(const merbit_preconditioner *p);
MBI_INTERNAL merbit_status mbi_precondition_enter(const merbit_preconditioner *p);
MBI_INTERNAL void mbi_precondition_leave(const merbit_preconditioner *p);
MBI_INTERNAL void mbi_precondition_count(const merbit_solver *engine, const merbit_plan *plan,
                                         merbit_preconditioner_info *info);
MBI_INTERNAL merbit_status mbi_precondition_engine(merbit_preconditioner *p, int block,
                                                   int product, int vectors);
MBI_INTERNAL merbit_status mbi_precondition_step(merbit_preconditioner *p, int step,
                                                 const void *r, void *z, void *stream);
/* solve/precondition/blocks.c */
extern const mbi_precondition_method mbi_jacobi_method, mbi_block_jacobi_method;
/* solve/precondition/examine.c */
MBI_INTERNAL int64_t mbi_csr_find(const merbit_view *csr, int64_t row, int64_t column);
MBI_INTERNAL merbit_status mbi_precondition_examine_csr(merbit_preconditioner *p,
                                                        const merbit_view *csr);
MBI_INTERNAL merbit_status mbi_precondition_examine(merbit_preconditioner *p,
                                                    const merbit_view *a);
/* solve/precondition/chebyshev.c */
MBI_INTERNAL double mbi_lanczos_value(const double *t, int size, int index);
extern const mbi_precondition_method mbi_chebyshev_method;
/* solve/precondition/fsai.c */
extern const mbi_precondition_method mbi_fsai_method;
/* solve/precondition/kinds.c */
MBI_INTERNAL const mbi_precondition_method *
mbi_precondition_method_of(merbit_preconditioner_kind kind);
/* solve/precondition/wrapped.c */
extern const mbi_precondition_method mbi_wrapped_method;
MBI_INTERNAL merbit_status mbi_precondition_project(merbit_preconditioner *p, void *vector,
                                                    void *stream);
#endif /* MBI_SEPARATE */

#endif
