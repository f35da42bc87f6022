#ifndef MBI_EIGEN_H
#define MBI_EIGEN_H
#include "solve/core/solver.h"

/* Eigenpairs: solve/eigen/eigen.c. The vectors are those of a solver, whose engine multiplies.
 */
enum {
  MBI_EIGEN_PROJECT = 0,
  MBI_EIGEN_REPROJECT,
  MBI_EIGEN_EXTEND,
  MBI_EIGEN_ROTATE,
  MBI_EIGEN_CHECK_STEP,
  MBI_POWER_MEASURE,
  MBI_POWER_NORMALISE,
  MBI_EIGEN_STEPS
};

typedef struct mbi_eigen {
  merbit_solver *solver;
  merbit_eigen_desc desc; /* defaults filled in */
  mbi_solve_state state;  /* as the last look found it, or as it will go on */
  uint64_t random;
  int stop;     /* a merbit_stop, or MBI_SOLVE_ON */
  int found;    /* pairs to be checked and returned */
  double best;  /* residual or estimate at the last gain, */
  int since;    /* and when that was: restarts, for the power method iterations */
  double scale; /* the size of the largest eigenvalue seen */
  /* Lanczos; matrices are m x m for a basis of m vectors: */
  double *memory;
  double *t;        /* v_i'A v_j */
  double *work;     /* its diagonal: eigenvalues */
  double *s;        /* rows: eigenvectors of t */
  double *columns;  /* as they come from the solver: m + 1 numbers each */
  double *couple;   /* of vectors behind a rotation with the next one */
  double *estimate; /* ||A v - lambda v|| by Lanczos, in the order of `order` */
  int *order;       /* rows of s, the wanted ones first */
  int done, size;   /* columns of t: before this cycle, and complete */
  int restarts;
  int row, column; /* where t is not symmetric */
  double value;    /* and what t(row, column) should have been zero apart from */
} mbi_eigen;

#ifdef MBI_SEPARATE
/* solve/eigen/jacobi.c */
MBI_INTERNAL void mbi_jacobi(double *a, double *vectors, int n);
/* solve/eigen/common.c */
extern const mbi_step mbi_eigen_steps[MBI_EIGEN_STEPS];
MBI_INTERNAL merbit_status mbi_eigen_random_vector(mbi_eigen *e, int slot);
MBI_INTERNAL merbit_status mbi_eigen_read_state(mbi_eigen *e);
MBI_INTERNAL merbit_status mbi_eigen_write_state(mbi_eigen *e);
MBI_INTERNAL void mbi_eigen_progress(mbi_eigen *e, double estimate);
MBI_INTERNAL int mbi_eigen_stagnates(mbi_eigen *e, double estimate, int now, int patience);
/* solve/eigen/lanczos.c */
MBI_INTERNAL void mbi_lanczos_layout(merbit_solver *solver);
MBI_INTERNAL merbit_status mbi_lanczos_iterate(merbit_solver *solver);
MBI_INTERNAL int mbi_lanczos_kept(const merbit_eigen_desc *desc, int basis);
MBI_INTERNAL merbit_status mbi_lanczos_run(mbi_eigen *e);
/* solve/eigen/power.c */
MBI_INTERNAL void mbi_power_layout(merbit_solver *solver);
MBI_INTERNAL merbit_status mbi_power_iterate(merbit_solver *solver);
MBI_INTERNAL merbit_status mbi_power_run(mbi_eigen *e);
#endif /* MBI_SEPARATE */

#endif
