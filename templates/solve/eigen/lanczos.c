#include "matrix/matrix.h"
#include "solve/core/solver.h"
#include "solve/eigen/eigen.h"

/* Lanczos with full reorthogonalisation and thick restarts: Wu, Simon (2000); Saad, "Numerical
 * Methods for Large Eigenvalue Problems", 2nd ed. (2011), section 6.3. The host checks
 * convergence once per cycle, when the basis is full, by computing the eigenvalues of the small
 * matrix t. */

/* The number of restarts within which the largest estimate must fall by a tenth. */
#define MBI_LANCZOS_PATIENCE 50
/* How far t may deviate from a symmetric matrix, in units of epsilon ||A||. */
#define MBI_LANCZOS_SYMMETRY 1e4

/* Requests memory for the basis, the vectors kept at a restart and the rotation matrix. */
MBI_INTERNAL void mbi_lanczos_layout(merbit_solver *solver) {
  const int columns = solver->desc.restart;
  mbi_arnoldi_layout(solver, columns);
  solver->v.lanczos = 1;
  solver->bytes_at[MBI_AT_X] = solver->bytes_at[MBI_AT_B] = (int64_t)sizeof(double);
  solver->bytes_at[MBI_EIGEN_KEEP] =
      solver->v.stride * (int64_t)mbi_type_size(solver->type) * solver->kept;
  solver->bytes_at[MBI_EIGEN_S] = (int64_t)sizeof(double) * columns * columns;
  solver->alias[MBI_EIGEN_KEEP] = MBI_SOLVE_OWN;
  solver->alias[MBI_EIGEN_S] = MBI_SOLVE_OWN;
}

/* Orthogonalises w against the basis and adds it to the basis. */
static merbit_status mbi_lanczos_join(merbit_solver *solver) {
  MBI_TRY(mbi_solve_step(solver, MBI_EIGEN_PROJECT));
  MBI_TRY(mbi_solve_step(solver, MBI_EIGEN_REPROJECT));
  return mbi_solve_step(solver, MBI_EIGEN_EXTEND);
}

/* Runs one iteration: w = A u for the newest vector u of the basis; w joins the basis. */
MBI_INTERNAL merbit_status mbi_lanczos_iterate(merbit_solver *solver, int index, int count) {
  (void)index;
  (void)count;
  MBI_TRY(mbi_solve_product(solver, MBI_ARNOLDI_U, MBI_AT_W));
  return mbi_lanczos_join(solver);
}

/* Adds a random vector to a basis of `size` vectors, at the start or if the basis spans an
 * invariant subspace. */
static merbit_status mbi_lanczos_add_random(mbi_eigen *e, int size) {
  MBI_TRY(mbi_eigen_random_vector(e, MBI_AT_W));
  e->state.scalar[MBI_ARNOLDI_SIZE] = size;
  e->state.scalar[MBI_LANCZOS_FRESH] = 1;
  MBI_TRY(mbi_eigen_write_state(e));
  return mbi_lanczos_join(e->solver);
}

/* Iterates until the basis is full or spans an invariant subspace. */
static merbit_status mbi_lanczos_fill(mbi_eigen *e) {
  merbit_solver *solver = e->solver;
  do {
    const int span = solver->v.basis + 1 - (int)e->state.scalar[MBI_ARNOLDI_SIZE];
    MBI_TRY(mbi_solve_prepare_round(solver, MBI_OPEN_GO_ON, span > 0 ? span : 1));
    MBI_TRY(mbi_recorded_run(solver, span > 0 ? span : 1));
    MBI_TRY(mbi_eigen_read_state(e));
  } while (e->state.stop == MBI_SOLVE_RUNNING);
  e->size = (int)e->state.scalar[MBI_ARNOLDI_SIZE] - 1;
  return MERBIT_OK;
}

/* Copies the new columns into t and remembers the first entry that violates symmetry. */
static merbit_status mbi_lanczos_read_columns(mbi_eigen *e) {
  const int m = e->solver->v.basis;
  const double limit = MBI_LANCZOS_SYMMETRY * e->state.epsilon * e->solver->norm;
  int i, j;
  MBI_TRY(mbi_solve_download(e->solver, e->columns, mbi_small(&e->solver->v, MBI_SMALL_COLUMN),
                             sizeof(double) * (size_t)m * (size_t)(m + 1)));
  for (j = e->done; j < e->size; j++) {
    for (i = 0; i <= j; i++) {
      const double found = e->columns[j * (m + 1) + i];
      const double wanted = i == j         ? found
                            : j == e->done ? e->couple[i]
                            : i == j - 1   ? e->columns[i * (m + 1) + j]
                                           : 0;
      if (!(fabs(found - wanted) <= limit) && e->row < 0) {
        e->row = i;
        e->column = j;
        e->value = found - wanted;
      }
      e->t[i * m + j] = e->t[j * m + i] = found;
    }
  }
  return MERBIT_OK;
}

/* Returns whether eigenvalue a comes before b at `place` of the order. */
static int mbi_lanczos_before(const mbi_eigen *e, double a, double b, int place) {
  switch (e->desc.which) {
  case MERBIT_EIGEN_LARGEST:
    return a > b;
  case MERBIT_EIGEN_SMALLEST:
    return a < b;
  case MERBIT_EIGEN_BOTH_ENDS:
    return place % 2 == 0 ? a > b : a < b;
  default:
    return fabs(a) > fabs(b);
  }
}

/* Computes the eigenvalues of t, their order, and an estimate of each residual. */
static void mbi_lanczos_solve(mbi_eigen *e) {
  const int m = e->solver->v.basis, size = e->size;
  const double beta = e->state.scalar[MBI_ARNOLDI_BETA];
  int i, j;
  for (i = 0; i < size; i++) {
    for (j = 0; j < size; j++) {
      e->work[i * size + j] = e->t[i * m + j];
    }
  }
  mbi_jacobi(e->work, e->s, size);
  for (i = 0; i < size; i++) {
    e->order[i] = i;
  }
  for (i = 0; i < size; i++) {
    for (j = i + 1; j < size; j++) {
      const int first = e->order[i], other = e->order[j];
      if (mbi_lanczos_before(e, e->work[other * (size + 1)], e->work[first * (size + 1)], i)) {
        e->order[i] = other;
        e->order[j] = first;
      }
    }
  }
  for (i = 0; i < size; i++) {
    const double value = fabs(e->work[e->order[i] * (size + 1)]);
    e->scale = value > e->scale ? value : e->scale;
    e->estimate[i] = fabs(beta * e->s[e->order[i] * size + size - 1]);
  }
}

/* Rotates the basis: its first `to` vectors become Ritz vectors, combined by the first `to`
 * eigenvectors of t. If `next`, the newest vector follows them, and the basis can grow. */
static merbit_status mbi_lanczos_rotate(mbi_eigen *e, int to, int next) {
  merbit_solver *solver = e->solver;
  const int m = solver->v.basis, size = e->size;
  int q, k;
  for (q = 0; q < to; q++) {
    const double *row = e->s + e->order[q] * size;
    for (k = 0; k < m; k++) {
      e->columns[q * m + k] = k < size ? row[k] : 0;
      e->t[q * m + k] = k == q ? e->work[e->order[q] * (size + 1)] : 0;
    }
    e->couple[q] = e->state.scalar[MBI_ARNOLDI_BETA] * row[size - 1];
  }
  e->state.scalar[MBI_EIGEN_FROM] = size;
  e->state.scalar[MBI_EIGEN_TO] = to;
  e->state.scalar[MBI_EIGEN_NEXT] = next;
  e->state.scalar[MBI_EIGEN_CHECK] = 0;
  e->state.scalar[MBI_ARNOLDI_SIZE] = to + 1;
  e->done = to;
  MBI_TRY(mbi_eigen_write_state(e));
  MBI_TRY(mbi_solve_upload(solver, solver->v.at[MBI_EIGEN_S], e->columns,
                           sizeof(double) * (size_t)m * (size_t)to));
  return mbi_solve_step(solver, MBI_EIGEN_ROTATE);
}

/* Sets e->stop after a cycle. Estimates must reach half of the tolerance; the other half is
 * left for rounding errors. */
static void mbi_lanczos_decide(mbi_eigen *e) {
  const int wanted = e->desc.count;
  double worst = 0;
  int i, there = 0;
  mbi_lanczos_solve(e);
  e->found = wanted < e->size ? wanted : e->size;
  for (i = 0; i < e->found; i++) {
    there += e->estimate[i] <= 0.5 * e->desc.tolerance * e->scale;
    worst = e->estimate[i] > worst ? e->estimate[i] : worst;
  }
  if (e->row >= 0) {
    e->stop = MERBIT_STOP_BREAKDOWN;
  } else if (there == wanted || e->size == e->solver->n) {
    e->stop = MERBIT_STOP_CONVERGED;
  } else if (e->state.iterations >= e->desc.max_iterations) {
    e->stop = MERBIT_STOP_CAP;
  }
  worst = e->scale > 0 ? worst / e->scale : 0;
  if (e->stop == MBI_SOLVE_ON &&
      mbi_eigen_stagnates(e, worst, e->restarts, MBI_LANCZOS_PATIENCE)) {
    e->stop = MERBIT_STOP_STAGNATED;
  }
  mbi_eigen_progress(e, worst);
}

/* Returns how many vectors a restart keeps: the wanted ones and a third of the others. */
MBI_INTERNAL int mbi_lanczos_kept(const merbit_eigen_desc *desc, int basis) {
  const int kept = desc->count + (basis - desc->count) / 3;
  return kept < basis ? kept : basis;
}

/* Iterates until e->stop is set. The first vectors of the basis are then the eigenvectors. */
MBI_INTERNAL merbit_status mbi_lanczos_run(mbi_eigen *e) {
  const int basis = e->solver->v.basis;
  MBI_TRY(mbi_lanczos_add_random(e, 0));
  e->state.scalar[MBI_ARNOLDI_SIZE] = 1;
  for (;;) {
    MBI_TRY(mbi_lanczos_fill(e));
    if (e->state.stop == MBI_SOLVE_NOT_FINITE) {
      e->stop = MERBIT_STOP_NOT_FINITE;
      return MERBIT_OK;
    }
    MBI_TRY(mbi_lanczos_read_columns(e));
    if (e->state.scalar[MBI_ARNOLDI_BETA] == 0 && e->size < basis &&
        e->state.iterations < e->desc.max_iterations) {
      e->done = e->size; /* t has no entries between these vectors and the next */
      memset(e->couple, 0, sizeof(double) * (size_t)basis);
      MBI_TRY(mbi_lanczos_add_random(e, e->size));
      e->state.scalar[MBI_ARNOLDI_SIZE] = e->size + 1;
      continue;
    }
    mbi_lanczos_decide(e);
    if (e->stop != MBI_SOLVE_ON) {
      return mbi_lanczos_rotate(e, e->found, 0);
    }
    e->restarts++;
    MBI_TRY(mbi_lanczos_rotate(e, mbi_lanczos_kept(&e->desc, basis), 1));
  }
}
