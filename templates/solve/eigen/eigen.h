#ifndef MBI_EIGEN_H
#define MBI_EIGEN_H
#include "solve/core/solver.h"

/* Eigenpairs. Lanczos and the power method are methods of a solver, which holds the vectors and
 * computes products. */
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
  mbi_solve_state
      state; /* as of the last convergence check, with the host's changes for the next round */
  uint64_t random;
  int stop;     /* a merbit_stop, or MBI_SOLVE_ON */
  int found;    /* pairs found, still to be checked and returned */
  double best;  /* the residual or estimate when it last fell by a tenth */
  int since;    /* the restart (power method: the iteration) when that was */
  double scale; /* the largest magnitude of an eigenvalue so far */
  /* Lanczos. Matrices are m x m for a basis of m vectors. */
  double *memory;
  double *t;        /* v_i'A v_j */
  double *work;     /* a copy of t, whose diagonal becomes the eigenvalues */
  double *s;        /* rows: eigenvectors of t */
  double *columns;  /* columns of t as the solver computes them: m + 1 numbers each */
  double *couple;   /* after a rotation: t between the kept vectors and the next one */
  double *estimate; /* ||A v - lambda v|| as Lanczos estimates it, in the order of `order` */
  int *order;       /* rows of s, the wanted eigenvectors first */
  int done, size;   /* number of columns of t before this cycle, and of complete ones */
  int restarts;
  int row, column; /* the first entry of t that violates symmetry; row -1: none */
  double value;    /* by how much t(row, column) differs from what symmetry requires */
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
MBI_INTERNAL merbit_status mbi_lanczos_iterate(merbit_solver *solver, int index, int count);
MBI_INTERNAL int mbi_lanczos_kept(const merbit_eigen_desc *desc, int basis);
MBI_INTERNAL merbit_status mbi_lanczos_run(mbi_eigen *e);
/* solve/eigen/power.c */
MBI_INTERNAL void mbi_power_layout(merbit_solver *solver);
MBI_INTERNAL merbit_status mbi_power_iterate(merbit_solver *solver, int index, int count);
MBI_INTERNAL merbit_status mbi_power_run(mbi_eigen *e);
#endif /* MBI_SEPARATE */

#endif
