// The scalar part of GMRES and Lanczos: columns of the Hessenberg matrix, plane rotations, the
// small triangular system. Saad, Schultz, "GMRES" (1986); Saad, "Iterative Methods for Sparse
// Linear Systems", 2nd ed. (2003), section 6.5.3. The CPU and the GPU both compile this file,
// like solve/core/state.cuh.

// Slots of vectors. Z and ZS exist only if the preconditioner is a step of its own.
#define MBI_ARNOLDI_V 4 // the basis: v->basis + 1 vectors, v->stride elements apart
#define MBI_ARNOLDI_U                                                                          \
  5 // the newest vector, which products read; with DIAGONAL times the inverse
#define MBI_ARNOLDI_Z 6     // M^-1 u
#define MBI_ARNOLDI_ZS 7    // M^-1 v for the whole basis: flexible GMRES (Saad 1993)
#define MBI_ARNOLDI_SMALL 8 // doubles: MBI_SMALL_*

#define MBI_ARNOLDI_SIZE 0  // scalars: number of vectors of the basis
#define MBI_ARNOLDI_WIDTH 1 // number of vectors that are combined into the new one
#define MBI_ARNOLDI_CLOSE                                                                      \
  2 // whether the cycle ends: update x and make the first vector of the next
#define MBI_ARNOLDI_WW 3     // ||A u||^2
#define MBI_ARNOLDI_Q 4      // coefficient q of w in the new vector
#define MBI_ARNOLDI_BETA 5   // length of the new vector before normalisation
#define MBI_GMRES_BEGAN 6    // ||r|| at the start of the cycle
#define MBI_GMRES_STALLS 7   // number of cycles in a row without progress
#define MBI_GMRES_RESTARTS 8 // number of restarts in this solve

// Parts of MBI_ARNOLDI_SMALL, of v->basis + 1 doubles each.
#define MBI_SMALL_FIRST 0   // h of the first pass of Gram-Schmidt
#define MBI_SMALL_SECOND 1  // h of the second pass
#define MBI_SMALL_COMBINE 2 // coefficients of the basis in the new vector
#define MBI_SMALL_Y 3
#define MBI_SMALL_COSINE 4
#define MBI_SMALL_SINE 5
#define MBI_SMALL_G 6 // the right-hand side g of the small system; its last entry is +-||r||
// First of the columns of the Hessenberg matrix, or of its factor R.
#define MBI_SMALL_COLUMN 7

// Eigenpairs. Slots of vectors: the rotated basis, and the matrix that rotates it.
#define MBI_EIGEN_KEEP 9
#define MBI_EIGEN_S 10       // doubles: coefficients of vector q in row q; then the eigenvalues
#define MBI_LANCZOS_FRESH 10 // scalars: 1 if w is a random vector from the host, not a product
#define MBI_EIGEN_FROM 6     // number of vectors before a rotation
#define MBI_EIGEN_TO 7       // number of vectors after it
#define MBI_EIGEN_NEXT 8     // 1: the newest vector follows the rotated ones
#define MBI_EIGEN_CHECK 9    // the next vector to be checked
#define MBI_POWER_VALUE 0    // u'A u
#define MBI_POWER_LENGTH 1   // ||A u||
#define MBI_POWER_MOST 2     // the largest magnitude in A u
#define MBI_WHY_ZERO 18 // power method: A u is zero, or its length is not finite or vanishes

// A cycle that leaves more than this fraction of ||r||^2 has made no progress.
#define MBI_GMRES_STALLED 0.9999
#define MBI_GMRES_PATIENCE 3 // number of such cycles in a row that end the solve

#define MBI_WHY_SINGULAR                                                                       \
  16                       // GMRES: A maps the whole basis into its own span, and R is singular
#define MBI_WHY_STALLED 17 // GMRES: cycles make no progress

MBS_FUNCTION double *mbi_small(const mbi_solve_vectors *v, int part) {
  return (double *)v->at[MBI_ARNOLDI_SMALL] + (long long)part * (v->basis + 1);
}

// Starts a cycle with a basis of one vector.
MBS_FUNCTION void mbi_arnoldi_begin(mbi_solve_state *s, double length) {
  s->scalar[MBI_ARNOLDI_SIZE] = 1;
  s->scalar[MBI_GMRES_BEGAN] = length;
}

// Writes the last column of H to `column` and returns the entry below it, the length of the new
// vector. The length follows by Pythagoras from the second pass, whose corrections are small:
// Smoktunowicz, Barlow, Langou, "A note on the error analysis of classical Gram-Schmidt"
// (2006). A length within the rounding errors of A u counts as 0.
MBS_FUNCTION double mbi_arnoldi_column(const mbi_solve_state *s, const mbi_solve_vectors *v,
                                       const double *sums, double *column) {
  const int size = (int)s->scalar[MBI_ARNOLDI_SIZE];
  const double *first = mbi_small(v, MBI_SMALL_FIRST);
  double *second = mbi_small(v, MBI_SMALL_SECOND), left = sums[size];
  const double least = 4 * s->epsilon, whole = s->scalar[MBI_ARNOLDI_WW];
  int k;
  if (!(whole - whole == 0)) {
    return whole - whole;
  }
  for (k = 0; k < size; k++) {
    second[k] = sums[k];
    column[k] = first[k] + sums[k];
    left -= sums[k] * sums[k];
  }
  return left <= least * least * whole ? 0 : sqrt(left); // NaN is passed on
}

// Sets the coefficients of the new vector: q w + the sum of combine[k] v_k.
MBS_FUNCTION void mbi_arnoldi_extend(mbi_solve_state *s, const mbi_solve_vectors *v,
                                     double below) {
  const int size = (int)s->scalar[MBI_ARNOLDI_SIZE];
  const double *second = mbi_small(v, MBI_SMALL_SECOND);
  const double q = below > 0 ? 1 / below : below;
  double *combine = mbi_small(v, MBI_SMALL_COMBINE);
  int k;
  for (k = 0; k < size; k++) {
    combine[k] = -q * second[k];
  }
  s->scalar[MBI_ARNOLDI_Q] = q;
  s->scalar[MBI_ARNOLDI_BETA] = below;
  s->scalar[MBI_ARNOLDI_WIDTH] = size;
  s->scalar[MBI_ARNOLDI_CLOSE] = 0;
  s->scalar[MBI_ARNOLDI_SIZE] = size + 1;
}

// Applies the earlier rotations to a new column, then a new one that makes its last entry zero.
// Returns the diagonal entry of R, or 0 if it is only rounding errors, in which case the column
// does not count.
MBS_FUNCTION double mbi_gmres_rotate(const mbi_solve_state *s, const mbi_solve_vectors *v,
                                     double *column, double below) {
  const int last = (int)s->scalar[MBI_ARNOLDI_SIZE] - 1;
  double *c = mbi_small(v, MBI_SMALL_COSINE), *d = mbi_small(v, MBI_SMALL_SINE);
  double *g = mbi_small(v, MBI_SMALL_G), length;
  int k;
  for (k = 0; k < last; k++) {
    const double upper = column[k], lower = column[k + 1];
    column[k] = c[k] * upper + d[k] * lower;
    column[k + 1] = c[k] * lower - d[k] * upper;
  }
  length = sqrt(column[last] * column[last] + below * below);
  if (length <= 4 * s->epsilon * sqrt(s->scalar[MBI_ARNOLDI_WW])) {
    return 0;
  }
  c[last] = column[last] / length;
  d[last] = below / length;
  column[last] = length;
  g[last + 1] = -d[last] * g[last];
  g[last] = c[last] * g[last];
  return length;
}

// Solves R y = g for the first `used` columns.
MBS_FUNCTION void mbi_gmres_solve(const mbi_solve_vectors *v, int used) {
  const double *g = mbi_small(v, MBI_SMALL_G);
  double *y = mbi_small(v, MBI_SMALL_Y);
  int k, row;
  for (k = 0; k < used; k++) {
    y[k] = g[k];
  }
  for (k = used - 1; k >= 0; k--) {
    const double *column = mbi_small(v, MBI_SMALL_COLUMN + k);
    y[k] /= column[k];
    for (row = 0; row < k; row++) {
      y[row] -= column[row] * y[k];
    }
  }
}

// Ends a cycle of `used` columns: computes y, and the residual r = V Q'(g_used e_used) as a
// combination of the basis and w, so that r becomes the first vector of the next cycle without
// a product. Call it after mbi_arnoldi_extend.
MBS_FUNCTION void mbi_gmres_close(mbi_solve_state *s, const mbi_solve_vectors *v, int used) {
  const int width = (int)s->scalar[MBI_ARNOLDI_WIDTH];
  const double *c = mbi_small(v, MBI_SMALL_COSINE), *d = mbi_small(v, MBI_SMALL_SINE);
  const double length = mbi_small(v, MBI_SMALL_G)[used];
  double *combine = mbi_small(v, MBI_SMALL_COMBINE), *r = mbi_small(v, MBI_SMALL_FIRST);
  double below = length < 0 ? -1 : length > 0 ? 1 : 0, q; // of r / ||r||
  int k;
  mbi_gmres_solve(v, used);
  for (k = used - 1; k >= 0; k--) {
    r[k + 1] = c[k] * below;
    below *= -d[k];
  }
  r[0] = below;
  q = used == width ? r[width] : 0; // coefficient of the newest vector
  for (k = 0; k < width; k++) {
    combine[k] = q * combine[k] + (k <= used ? r[k] : 0);
  }
  for (k = used; k < width; k++) {
    mbi_small(v, MBI_SMALL_Y)[k] = 0;
  }
  s->scalar[MBI_ARNOLDI_Q] *= q;
  s->scalar[MBI_ARNOLDI_CLOSE] = 1;
  s->scalar[MBI_GMRES_RESTARTS] += s->stop == MBI_SOLVE_RUNNING;
  mbi_arnoldi_begin(s, length < 0 ? -length : length);
}

// Returns whether cycles no longer make progress. Call it once at the end of a cycle.
MBS_FUNCTION int mbi_gmres_stalls(mbi_solve_state *s) {
  const double began = s->scalar[MBI_GMRES_BEGAN];
  const int gain = s->rr <= MBI_GMRES_STALLED * began * began;
  s->scalar[MBI_GMRES_STALLS] = gain ? 0 : s->scalar[MBI_GMRES_STALLS] + 1;
  return s->scalar[MBI_GMRES_STALLS] >= MBI_GMRES_PATIENCE;
}

// Computes the scalar part of a GMRES iteration from the sums of the second pass.
MBS_CALLED void mbi_gmres_count(mbi_solve_memory *m, const mbi_solve_vectors *v,
                                const double *sums) {
  mbi_solve_state *s = &m->state;
  const int size = (int)s->scalar[MBI_ARNOLDI_SIZE];
  double *column = mbi_small(v, MBI_SMALL_COLUMN + size - 1);
  const double below = mbi_arnoldi_column(s, v, sums, column);
  double *g = mbi_small(v, MBI_SMALL_G), left;
  int singular, used;
  if (size == 1) {
    g[0] = s->scalar[MBI_GMRES_BEGAN];
  }
  singular = mbi_gmres_rotate(s, v, column, below) == 0;
  used = singular ? size - 1 : size;
  left = g[used];
  mbi_arnoldi_extend(s, v, below);
  mbi_solve_count(m, left * left);
  if (s->stop == MBI_SOLVE_NOT_FINITE) {
    return; // x does not change
  }
  if (singular && s->stop != MBI_SOLVE_CANDIDATE) {
    s->why = MBI_WHY_SINGULAR;
    s->value = size;
    s->stop = MBI_SOLVE_BREAKDOWN;
  }
  if (s->stop == MBI_SOLVE_RUNNING && size == v->basis && mbi_gmres_stalls(s)) {
    s->why = MBI_WHY_STALLED;
    s->value = size;
    s->stop = MBI_SOLVE_STAGNATED;
  }
  if (s->stop != MBI_SOLVE_RUNNING || size == v->basis) {
    mbi_gmres_close(s, v, used);
  }
}

// Computes the scalar part of a Lanczos iteration from the sums of the second pass. Keeps all
// of H, although it should be tridiagonal, so that orthogonality need not be assumed.
MBS_CALLED void mbi_lanczos_count(mbi_solve_memory *m, const mbi_solve_vectors *v,
                                  const double *sums) {
  mbi_solve_state *s = &m->state;
  const int size = (int)s->scalar[MBI_ARNOLDI_SIZE];
  const int fresh = s->scalar[MBI_LANCZOS_FRESH] != 0;
  double *column = mbi_small(v, fresh ? MBI_SMALL_Y : MBI_SMALL_COLUMN + size - 1);
  const double below = mbi_arnoldi_column(s, v, sums, column);
  if (!(below - below == 0)) {
    s->stop = MBI_SOLVE_NOT_FINITE;
    return;
  }
  mbi_arnoldi_extend(s, v, below);
  s->scalar[MBI_LANCZOS_FRESH] = 0;
  if (!fresh) {
    column[size] = below;
    s->iterations++;
    if (below == 0 || size == v->basis) {
      s->stop = MBI_SOLVE_CANDIDATE;
    } else if (s->iterations >= s->cap) {
      s->stop = MBI_SOLVE_CAP;
    }
  }
}
