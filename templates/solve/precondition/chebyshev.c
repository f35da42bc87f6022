#include "core/context.h"
#include "jit/jit.h"
#include "spmv/plan/plan.h"
#include "solve/precondition/precondition.h"

/* CHEBYSHEV: M^-1 = p(D^-1 A) D^-1, where p is the polynomial of degree desc.degree that
 * minimises the maximum of |1 - t p(t)| on an interval: Golub, Varga, "Chebyshev Semi-Iterative
 * Methods", Numerische Mathematik 3 (1961); Saad, "Iterative Methods for Sparse Linear
 * Systems", 2nd ed. (2003), section 12.3. The interval is that of the Ritz values of a few
 * Lanczos steps, made slightly longer. With an even degree M is positive definite no matter how
 * far eigenvalues lie beyond the interval. */
#define MBI_LANCZOS_STEPS 16
#define MBI_CHEBYSHEV_MARGIN 1.05 /* upper end of the interval over the largest Ritz value */
#define MBI_CHEBYSHEV_RATIO 1e-4  /* least lower end of the interval over its upper end */

typedef struct mbi_chebyshev {
  double low, high; /* the interval */
} mbi_chebyshev;

/* Returns the number of eigenvalues below `at` of a symmetric tridiagonal matrix: Golub, Van
 * Loan, "Matrix Computations", 4th ed., section 8.4.1. Row k has t[3 k] on the diagonal and
 * t[3 k + 1] to its left. */
static int mbi_lanczos_below(const double *t, int size, double at) {
  double pivot = 1;
  int k, below = 0;
  for (k = 0; k < size; k++) {
    const double off = k > 0 ? t[3 * k + 1] : 0;
    pivot = t[3 * k] - at - (off * off) / pivot;
    pivot = pivot == 0 ? DBL_MIN : pivot;
    below += pivot < 0;
  }
  return below;
}

/* Returns the smallest (index 0) or the largest eigenvalue (index size - 1) by bisection. */
MBI_INTERNAL double mbi_lanczos_value(const double *t, int size, int index) {
  double most = 0, low, high;
  int k;
  for (k = 0; k < size; k++) {
    const double row =
        fabs(t[3 * k]) + (k > 0 ? t[3 * k + 1] : 0) + (k + 1 < size ? t[3 * k + 4] : 0);
    most = row > most ? row : most;
  }
  low = -most;
  high = most;
  for (k = 0; k < 60; k++) {
    const double middle = 0.5 * (low + high);
    if (mbi_lanczos_below(t, size, middle) > index) {
      high = middle;
    } else {
      low = middle;
    }
  }
  return 0.5 * (low + high);
}

/* Computes A x for the vector x in MBI_PRE_OWN, into MBI_PRE_OWN + 1. */
static merbit_status mbi_chebyshev_product(merbit_solver *engine, void *stream) {
  void *const *at = engine->v.at;
  return merbit_spmv(engine->plan, NULL, NULL, at[MBI_PRE_OWN], NULL, at[MBI_PRE_OWN + 1],
                     stream);
}

/* Moves the newest vector to MBI_PRE_OWN, and the one before it to MBI_PRE_OWN + 2. */
static void mbi_chebyshev_swap(merbit_solver *engine) {
  void *newest = engine->v.at[MBI_PRE_OWN + 2];
  engine->v.at[MBI_PRE_OWN + 2] = engine->v.at[MBI_PRE_OWN];
  engine->v.at[MBI_PRE_OWN] = newest;
}

/* Runs Lanczos and reads its coefficients into engine->seen. */
static merbit_status mbi_chebyshev_lanczos(merbit_preconditioner *p, int steps) {
  merbit_solver *engine = p->engine;
  int k;
  MBI_TRY(mbi_precondition_step(p, MBI_PRE_START, NULL, NULL, NULL));
  for (k = 0; k < steps; k++) {
    MBI_TRY(mbi_chebyshev_product(engine, NULL));
    MBI_TRY(mbi_precondition_step(p, MBI_PRE_ALPHA_STEP, NULL, NULL, NULL));
    MBI_TRY(mbi_precondition_step(p, MBI_PRE_NEXT, NULL, NULL, NULL));
    mbi_chebyshev_swap(engine);
  }
  return mbi_solve_download(engine, &engine->seen, engine->memory, sizeof engine->seen);
}

/* Sets the interval from Lanczos's coefficients. Fails if `a` cannot be positive definite. */
static merbit_status mbi_chebyshev_interval(merbit_preconditioner *p, const merbit_view *a,
                                            int steps, mbi_chebyshev *own) {
  const double *t = p->engine->seen.ring;
  const double epsilon = p->type == MERBIT_F32 ? FLT_EPSILON : DBL_EPSILON;
  double low, high;
  int size = 0, skew = 0;
  while (size < steps && (size == 0 || t[3 * size + 1] > 1e3 * epsilon * fabs(t[0]))) {
    size++; /* a vector of length 0 ends Lanczos, as does one that is not finite */
  }
  low = mbi_lanczos_value(t, size, 0);
  high = mbi_lanczos_value(t, size, size - 1);
  while (--size > 0) { /* the shorter a vector, the larger its relative error */
    const double beta = t[3 * size + 1], error = 100 * epsilon * high * (high / beta);
    skew |= fabs(t[3 * size + 2] - beta) > sqrt(epsilon) * high + error;
  }
  if (p->engine->seen.state.scalar[MBI_PRE_NEGATIVE] > 0 || !(high > 0) || !(high <= DBL_MAX) ||
      low < -1e3 * epsilon * high || skew) {
    MBI_TRY(mbi_precondition_examine(p, a));
    return mbi_fail(
        p->context, MERBIT_INVALID_MATRIX,
        "Lanczos finds %g to %g for the eigenvalues of D^-1 A, with the diagonal D of "
        "A: %s " MBI_PRE_NEEDS_SPD,
        low, high, mbi_precondition_name(p->desc.kind));
  }
  own->high = MBI_CHEBYSHEV_MARGIN * high;
  own->low = low > MBI_CHEBYSHEV_RATIO * own->high ? low : MBI_CHEBYSHEV_RATIO * own->high;
  return MERBIT_OK;
}

/* Writes the factors of the iteration's steps: Saad, algorithm 12.1. */
static void mbi_chebyshev_factors(const mbi_chebyshev *own, int degree, double *factors) {
  const double theta = 0.5 * (own->high + own->low), delta = 0.5 * (own->high - own->low);
  double rho = delta / theta;
  int k;
  factors[0] = 1 / theta;
  for (k = 1; k <= degree; k++) {
    const double last = rho;
    rho = 1 / (2 * theta / delta - last);
    factors[2 * k] = rho * last;
    factors[2 * k + 1] = 2 * rho / delta;
  }
}

/* Computes the interval and the factors of the iteration's steps. */
static merbit_status mbi_chebyshev_update(merbit_preconditioner *p, const merbit_view *a) {
  mbi_chebyshev *own = (mbi_chebyshev *)p->state;
  const int steps = p->n < MBI_LANCZOS_STEPS ? (int)p->n : MBI_LANCZOS_STEPS;
  double factors[2 * (MBI_PRE_DEGREE_MOST + 1)] = {0};
  merbit_status status;
  if (p->n == 0) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_precondition_enter(p));
  status = mbi_chebyshev_lanczos(p, steps);
  if (status == MERBIT_OK) {
    status = mbi_chebyshev_interval(p, a, steps, own);
  }
  if (status == MERBIT_OK) {
    mbi_chebyshev_factors(own, p->desc.degree, factors);
    status =
        mbi_solve_upload(p->engine, p->engine->v.at[MBI_PRE_TABLE], factors, sizeof factors);
  }
  mbi_precondition_leave(p);
  return status;
}

static merbit_status mbi_chebyshev_create(merbit_preconditioner *p, const merbit_view *a) {
  p->state = mbi_allocate(p->context, sizeof(mbi_chebyshev));
  if (p->state == NULL) {
    return mbi_fail(p->context, MERBIT_OUT_OF_MEMORY, "no memory for a polynomial's record");
  }
  memset(p->state, 0, sizeof(mbi_chebyshev));
  return mbi_chebyshev_update(p, a);
}

static merbit_status mbi_chebyshev_apply(merbit_preconditioner *p, const void *r, void *z,
                                         void *stream) {
  merbit_solver *engine = p->engine;
  void *const own = engine->v.at[MBI_PRE_OWN], *const other = engine->v.at[MBI_PRE_OWN + 2];
  const int odd = p->desc.degree % 2;
  merbit_status status;
  int k;
  engine->v.at[MBI_PRE_OWN + 2] = odd ? own : z; /* so that the last iterate is z */
  engine->v.at[MBI_PRE_OWN] = odd ? z : own;
  status = mbi_precondition_step(p, MBI_PRE_FIRST, r, z, stream);
  for (k = 1; k <= p->desc.degree && status == MERBIT_OK; k++) {
    mbi_chebyshev_swap(engine);
    engine->v.from = k;
    status = mbi_chebyshev_product(engine, stream);
    if (status == MERBIT_OK) {
      status = mbi_precondition_step(p, MBI_PRE_ITERATE, r, z, stream);
    }
  }
  engine->v.at[MBI_PRE_OWN] = own;
  engine->v.at[MBI_PRE_OWN + 2] = other;
  return status;
}

static void mbi_chebyshev_describe(const merbit_preconditioner *p, char *text, size_t size) {
  const mbi_chebyshev *own = (const mbi_chebyshev *)p->state;
  (void)snprintf(text, size, " of degree %d for eigenvalues from %.6g to %.6g", p->desc.degree,
                 own->low, own->high);
}

static void mbi_chebyshev_info(const merbit_preconditioner *p,
                               merbit_preconditioner_info *info) {
  info->operator_complexity = p->desc.degree;
}

static void mbi_chebyshev_destroy(merbit_preconditioner *p) {
  mbi_release(p->context, p->state);
}

MBI_INTERNAL const mbi_precondition_method mbi_chebyshev_method = {
    "Chebyshev",            /* name */
    1,                      /* block */
    1,                      /* product */
    3,                      /* vectors */
    mbi_chebyshev_create,   /* create */
    mbi_chebyshev_apply,    /* apply */
    mbi_chebyshev_update,   /* update */
    mbi_chebyshev_describe, /* describe */
    mbi_chebyshev_info,     /* info */
    mbi_chebyshev_destroy,  /* destroy */
};
