#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/plan/plan.h"
#include "solve/precondition/precondition.h"
#include "solve/amg/amg_cuda.h"

/* The multigrid cycle on either side: a V-cycle, or a W-cycle if A is nonsymmetric. Every
 * product is that of a plan. With levels by aggregation, the smoother is a Chebyshev polynomial
 * in D^-1 A, written as sweeps x' = x + w D^-1 (b - A x) whose weights w are the inverse roots
 * of the polynomial (Saad, "Iterative Methods for Sparse Linear Systems", section 12.3; Adams,
 * Brezina, Hu, Tuminaro, J. Comput. Phys. 188, 2003). The sweeps before and after the
 * coarse-grid correction have the same weights, so that M is symmetric. With levels by
 * reduction, the sweeps are those of Jacobi's method, MBI_REDUCTION_SWEEPS over F points and
 * one over C points, all after the correction (Manteuffel, Ruge, Southworth, SIAM J. Sci.
 * Comput. 40, 2018, section 5); a sweep copies the elements of x in rows that its matrix leaves
 * empty, because D^-1 is 0 there. */

/* The epilogue of a product with A. Its vectors are x, D^-1 and b; its scalars are 1, w, 1 for
 * a sweep, 0, 0, 1 for the residual, and 0, w, 0 for the first sweep, which starts from x = 0
 * and needs no product. */
#define MBI_CYCLE_EPILOGUE "s0 * v0 + (s1 != 0 ? s1 * v1 : 1) * (v2 - s2 * ax)"
enum { MBI_CYCLE_RESIDUAL, MBI_CYCLE_FIRST, MBI_CYCLE_SWEEP };

#define MBI_CYCLE_ROWS(name, type)                                                             \
  static void name(void *user, int64_t begin, int64_t end, void *y,                            \
                   const void *const *vectors, const double *scalars, double sums[2]) {        \
    const type *x = (const type *)vectors[0], *d = (const type *)vectors[1];                   \
    const type *b = (const type *)vectors[2];                                                  \
    const type w = (type)scalars[1];                                                           \
    type *to = (type *)y;                                                                      \
    int64_t i;                                                                                 \
    (void)user;                                                                                \
    (void)sums;                                                                                \
    if (scalars[2] == 0) {                                                                     \
      for (i = begin; i < end; i++) {                                                          \
        to[i] = w * d[i] * b[i];                                                               \
      }                                                                                        \
    } else if (scalars[0] == 0) {                                                              \
      for (i = begin; i < end; i++) {                                                          \
        to[i] = b[i] - to[i];                                                                  \
      }                                                                                        \
    } else {                                                                                   \
      for (i = begin; i < end; i++) {                                                          \
        to[i] = x[i] + w * d[i] * (b[i] - to[i]);                                              \
      }                                                                                        \
    }                                                                                          \
  }
MBI_CYCLE_ROWS(mbi_cycle_rows_f64, double)
MBI_CYCLE_ROWS(mbi_cycle_rows_f32, float)
#undef MBI_CYCLE_ROWS

/* ---- Plans, vectors and weights ---------------------------------------------------------- */

/* Makes a plan for a matrix of the cycle: with the epilogue if `swept`, without checks of the
 * arrays if `unchecked`, and without a search for a shorter form of the values if `general`.
 * If `given`, a plan on the CPU may reorder the arrays of the view: mbi_plan_making. */
MBI_INTERNAL merbit_status mbi_cycle_plan(merbit_preconditioner *p, const merbit_view *view,
                                          int swept, int unchecked, int general, int given,
                                          merbit_plan **plan) {
  merbit_plan_desc desc;
  mbi_plan_making making;
  merbit_epilogue epilogue;
  memset(&desc, 0, sizeof desc);
  memset(&making, 0, sizeof making);
  memset(&epilogue, 0, sizeof epilogue);
  making.in_place = given && p->side == MERBIT_SIDE_CPU;
  desc.side = p->side;
  desc.deterministic = p->desc.deterministic;
  desc.unchecked = unchecked;
  desc.changing_values = general;
  if (swept) {
    epilogue.result = MBI_CYCLE_EPILOGUE;
    epilogue.vectors = epilogue.scalars = 3;
    epilogue.cpu = p->type == MERBIT_F32 ? mbi_cycle_rows_f32 : mbi_cycle_rows_f64;
    desc.epilogue = &epilogue;
  }
  return mbi_plan_create(p->context, view, &desc, &making, plan);
}

/* Returns D^-1 of a row in the sweeps over A or a row block. */
static double mbi_cycle_inverse(const mbi_amg_level *level, int half, int64_t row) {
  const int32_t *row_ptr = level->points != NULL ? level->halves[half].row_ptr + row : NULL;
  return row_ptr != NULL && row_ptr[0] == row_ptr[1] ? 0 : level->inverse[row];
}

typedef struct mbi_cycle_inverses { /* D^-1 of a level, to be stored in host memory */
  const mbi_amg_level *level;
  void *to;
  int64_t rows;
  int half, narrow, tasks;
} mbi_cycle_inverses;

static void mbi_cycle_store_task(void *argument, int task) {
  const mbi_cycle_inverses *s = (const mbi_cycle_inverses *)argument;
  const int64_t last = mbi_share(s->rows, s->tasks, task + 1);
  int64_t i = mbi_share(s->rows, s->tasks, task);
  for (; i < last; i++) {
    const double inverse = mbi_cycle_inverse(s->level, s->half, i);
    if (s->narrow) {
      ((float *)s->to)[i] = (float)inverse;
    } else {
      ((double *)s->to)[i] = inverse;
    }
  }
}

/* Copies a level's inverse diagonal to the preconditioner's side, in its type. With levels by
 * reduction it is 0 in the rows that the row block `half` leaves empty. */
static merbit_status mbi_cycle_store(merbit_preconditioner *p, const mbi_amg_level *level,
                                     int half, int64_t rows, void *to) {
  const int device = p->side == MERBIT_SIDE_CUDA;
  const size_t size = mbi_type_size(p->type);
  void *scratch = to;
  merbit_status status = MERBIT_OK;
  mbi_cycle_inverses s;
  if (device) {
    MBI_TRY(mbi_allocate_array(p->context, rows, size, "an inverse diagonal", &scratch));
  }
  s.level = level;
  s.to = scratch;
  s.rows = rows;
  s.half = half;
  s.narrow = p->type == MERBIT_F32;
  s.tasks = mbi_share_tasks(p->context, rows);
  mbi_parallel(p->context, s.tasks, mbi_cycle_store_task, &s);
  if (device) {
    if (rows > 0) {
      status =
          mbi_device_upload(p->context, mbi_device_address(to), scratch, (size_t)rows * size);
    }
    mbi_release(p->context, scratch);
  }
  return status;
}

/* Sets the scalars of a level: those of MBI_CYCLE_RESIDUAL and MBI_CYCLE_FIRST, then those of a
 * sweep for each root of the polynomial of `degree` on [1 / ratio, 1] lambda. */
static void mbi_cycle_weights(double lambda, int degree, double ratio, double *scalars) {
  const double middle = lambda * (1 + 1 / ratio) / 2, half = lambda * (1 - 1 / ratio) / 2;
  int k;
  memset(scalars, 0, MBI_CYCLE_SCALARS * sizeof *scalars);
  scalars[3 * MBI_CYCLE_RESIDUAL + 2] = 1;
  for (k = 0; k < degree; k++) {
    double *s = scalars + 3 * (MBI_CYCLE_SWEEP + k);
    s[0] = s[2] = 1;
    /* If lambda is 0, so is D^-1; a weight of 0 would stand for the residual. */
    s[1] =
        middle > 0 ? 1 / (middle + half * cos(3.14159265358979323846 * (k + 0.5) / degree)) : 1;
  }
  scalars[3 * MBI_CYCLE_FIRST + 1] = scalars[3 * MBI_CYCLE_SWEEP + 1];
}

/* Returns whether level l has row blocks: every level by reduction but the last. */
static int mbi_cycle_parted(const mbi_amg *amg, int l) {
  return amg->reduced && l + 1 < amg->count;
}

/* Returns how often the cycle visits level l + 1 from level l: once, or twice on some levels by
 * reduction, or twice if A is nonsymmetric (a W-cycle), except for the dense inverse and where
 * levels shrink little. */
static int mbi_cycle_visits(const mbi_amg *amg, int l) {
  if (l < 0 || l + 2 >= amg->count) {
    return 1;
  }
  if (amg->reduced) {
    return l > 0 && l % MBI_REDUCTION_EVERY == 0 ? 2 : 1;
  }
  return amg->levels[0].nonsymmetric &&
                 MBI_CYCLE_SHRINK * (double)amg->entries[l + 1] <= (double)amg->entries[l]
             ? 2
             : 1;
}

/* Divides amg->space among the vectors. Returns the bytes; with space 0 it only counts them. */
static uint64_t mbi_cycle_divide(const merbit_preconditioner *p, mbi_amg *amg, uint64_t space) {
  uint64_t used = 0;
  int l;
  amg->scalars = (double *)mbi_device_pointer(
      mbi_device_part(space, (uint64_t)amg->count * MBI_CYCLE_SCALARS * sizeof(double), &used));
  for (l = 0; l < amg->count; l++) {
    mbi_amg_grid *g = &amg->grids[l];
    const uint64_t bytes = (uint64_t)g->rows * mbi_type_size(p->type);
    g->inverse = mbi_device_pointer(mbi_device_part(space, bytes, &used));
    g->x = mbi_device_pointer(mbi_device_part(space, bytes, &used));
    if (l > 0) {
      g->b = mbi_device_pointer(mbi_device_part(space, bytes, &used));
      g->y = mbi_device_pointer(mbi_device_part(space, bytes, &used));
    }
    if (mbi_cycle_parted(amg, l)) {
      g->inverse_c = mbi_device_pointer(mbi_device_part(space, bytes, &used));
      if (mbi_cycle_visits(amg, l - 1) > 1) {
        g->z = mbi_device_pointer(mbi_device_part(space, bytes, &used));
      }
    }
  }
  return used;
}

/* Stores the inverse diagonals and weights of all levels, and releases the inverse diagonals
 * made by the host. The CUDA context must be current. */
static merbit_status mbi_cycle_fill(merbit_preconditioner *p, mbi_amg *amg) {
  double scalars[MBI_AMG_LEVELS * MBI_CYCLE_SCALARS], lambda = HUGE_VAL;
  const int nonsymmetric = amg->levels[0].nonsymmetric;
  int l;
  for (l = 0; l < amg->count; l++) {
    const int last = l + 1 == amg->count, parted = mbi_cycle_parted(amg, l);
    const double ratio = nonsymmetric ? MBI_CYCLE_RATIO_NONSYMMETRIC
                         : last       ? MBI_CYCLE_RATIO_LAST
                                      : MBI_CYCLE_RATIO;
    const mbi_amg_grid *g = &amg->grids[l];
    int half;
    if (!parted) {
      /* with P = T lambda does not grow, but its bound may */
      lambda = nonsymmetric ? fmin(lambda, amg->levels[l].lambda) : amg->levels[l].lambda;
    }
    mbi_cycle_weights(parted ? 1 : lambda, last ? MBI_CYCLE_MOST : MBI_CYCLE_DEGREE, ratio,
                      scalars + l * MBI_CYCLE_SCALARS);
    if (parted) {
      scalars[l * MBI_CYCLE_SCALARS + 3 * MBI_CYCLE_SWEEP + 1] = 1;
    }
    for (half = 0; half <= parted; half++) {
      void *to = half ? g->inverse_c : g->inverse;
      MBI_TRY(amg->gpu != NULL
                  ? mbi_amg_gpu_inverse(amg->gpu, l, half, p->type, mbi_device_address(to))
                  : mbi_cycle_store(p, &amg->levels[l], half, g->rows, to));
    }
    mbi_release(p->context, amg->levels[l].inverse);
    amg->levels[l].inverse = NULL;
  }
  if (p->side != MERBIT_SIDE_CUDA) {
    memcpy(amg->scalars, scalars, (size_t)amg->count * MBI_CYCLE_SCALARS * sizeof *scalars);
    return MERBIT_OK;
  }
  return mbi_device_upload(p->context, mbi_device_address(amg->scalars), scalars,
                           (size_t)amg->count * MBI_CYCLE_SCALARS * sizeof *scalars);
}

/* Stores the inverse diagonals and weights again after an update of values. */
MBI_INTERNAL merbit_status mbi_cycle_refill(merbit_preconditioner *p, mbi_amg *amg) {
  merbit_status status;
  MBI_TRY(mbi_precondition_enter(p));
  status = mbi_cycle_fill(p, amg);
  mbi_precondition_leave(p);
  return status;
}

/* Allocates the vectors. The CUDA context must be current. */
static merbit_status mbi_cycle_allocate(merbit_preconditioner *p, mbi_amg *amg) {
  mbi_devptr device = 0;
  const uint64_t bytes = mbi_cycle_divide(p, amg, 0);
  if (p->side == MERBIT_SIDE_CUDA) {
    MBI_TRY(
        mbi_device_allocate(p->context, bytes, "the vectors of a multigrid cycle", &device));
    amg->space = mbi_device_pointer(device);
  } else {
    MBI_TRY(mbi_allocate_array(p->context, (int64_t)bytes, 1,
                               "the vectors of a multigrid cycle", &amg->space));
  }
  amg->space_bytes = bytes;
  (void)mbi_cycle_divide(p, amg, mbi_device_address(amg->space));
  return mbi_cycle_fill(p, amg);
}

/* Makes the plans and vectors of a cycle. On entry amg->grids[l] has the views of A, P and R,
 * on the side of the plans or in host memory (for A of level 0, that of p->view);
 * amg->levels[l] has lambda and inverse; amg->dense is the view of the coarsest inverse, or has
 * no rows. On failure the caller runs mbi_cycle_destroy. */
MBI_INTERNAL merbit_status mbi_cycle_create(merbit_preconditioner *p, mbi_amg *amg) {
  merbit_status status;
  int l;
  for (l = 0; l < amg->count; l++) {
    mbi_amg_grid *g = &amg->grids[l];
    const int parted = mbi_cycle_parted(amg, l);
    const int general = amg->gpu != NULL ? amg->gpu->levels[l].empty == 0
                                         : !amg->levels[l].plain; /* for P and R: P is not T */
    if (parted || (l + 1 == amg->count && amg->dense.rows > 0)) {
      merbit_plan_destroy(g->plans[MBI_GRID_A]); /* that of A, left by the set-up on the GPU */
      g->plans[MBI_GRID_A] = NULL;
    }
    if (l + 1 == amg->count && amg->dense.rows > 0) {
      MBI_TRY(mbi_cycle_plan(p, &amg->dense, 0, 1, 1, 0, &g->plans[MBI_GRID_A]));
    } else if (g->plans[MBI_GRID_A] == NULL) {
      MBI_TRY(mbi_cycle_plan(p, &g->views[MBI_GRID_A], 1, 1, l > 0 || parted, parted,
                             &g->plans[MBI_GRID_A]));
    }
    if (l + 1 < amg->count) {
      MBI_TRY(mbi_cycle_plan(p, &g->views[MBI_GRID_P], 0, 1, general && !parted, 0,
                             &g->plans[MBI_GRID_P]));
      MBI_TRY(mbi_cycle_plan(p, &g->views[MBI_GRID_R], 0, 1, general || parted, 0,
                             &g->plans[MBI_GRID_R]));
    }
    if (parted) {
      MBI_TRY(mbi_cycle_plan(p, &g->views[MBI_GRID_C], 1, 1, 1, 1, &g->plans[MBI_GRID_C]));
    }
  }
  MBI_TRY(mbi_precondition_enter(p));
  status = mbi_cycle_allocate(p, amg);
  mbi_precondition_leave(p);
  return status;
}

MBI_INTERNAL void mbi_cycle_destroy(merbit_preconditioner *p, mbi_amg *amg) {
  int l, k;
  for (l = 0; l < MBI_AMG_LEVELS; l++) {
    for (k = 0; k < MBI_GRID_MATRICES; k++) {
      merbit_plan_destroy(amg->grids[l].plans[k]);
    }
  }
  if (p->side != MERBIT_SIDE_CUDA) {
    mbi_release(p->context, amg->space);
  } else if (amg->space != NULL && mbi_device_enter_alive(p->context)) {
    mbi_device_release(p->context, mbi_device_address(amg->space));
    mbi_device_leave(p->context);
  }
}

/* ---- The cycle --------------------------------------------------------------------------- */

/* Computes to = x + w D^-1 (b - A x), the residual, or the first sweep, depending on `what`.
 * The matrix is MBI_GRID_A or MBI_GRID_C. */
static merbit_status mbi_cycle_sweep(const mbi_amg *amg, int l, int matrix, int what,
                                     const void *b, const void *x, void *to, void *stream) {
  const mbi_amg_grid *g = &amg->grids[l];
  const double *scalars = amg->scalars + l * MBI_CYCLE_SCALARS + 3 * what;
  const void *vectors[3];
  vectors[0] = x;
  vectors[1] = matrix == MBI_GRID_C ? g->inverse_c : g->inverse;
  vectors[2] = b;
  return what == MBI_CYCLE_FIRST
             ? mbi_epilogue_alone(g->plans[matrix], b, to, vectors, scalars, stream)
             : mbi_spmv_epilogue(g->plans[matrix], NULL, x, to, vectors, scalars, NULL, NULL,
                                 stream);
}

static merbit_status mbi_cycle_multiply(const mbi_amg *amg, int l, int matrix, const void *x,
                                        void *y, void *stream) {
  return merbit_spmv(amg->grids[l].plans[matrix], NULL, NULL, x, NULL, y, stream);
}

/* Adds P times the next level's y to y. */
static merbit_status mbi_cycle_correct(const mbi_amg *amg, int l, void *y, void *stream) {
  merbit_plan *plan = amg->grids[l].plans[MBI_GRID_P];
  return merbit_spmv(plan, NULL, NULL, amg->grids[l + 1].y, mbi_epilogue_factor(plan, 1), y,
                     stream);
}

MBI_INTERNAL merbit_status mbi_cycle_run(const mbi_amg *amg, int l, int visit, const void *b,
                                         void *y, void *stream);

/* Solves the next level's system, whose right-hand side is there. */
static merbit_status mbi_cycle_next(const mbi_amg *amg, int l, void *stream) {
  const mbi_amg_grid *next = &amg->grids[l + 1];
  int k;
  for (k = 0; k < mbi_cycle_visits(amg, l); k++) {
    MBI_TRY(mbi_cycle_run(amg, l + 1, k, next->b, next->y, stream));
  }
  return MERBIT_OK;
}

/* Computes y = M^-1 b on the levels from l on, which are by reduction. The residual of a
 * repeated visit is b less the product with each row block. */
static merbit_status mbi_cycle_reduced(const mbi_amg *amg, int l, int visit, const void *b,
                                       void *y, void *stream) {
  const mbi_amg_grid *g = &amg->grids[l];
  int k;
  if (visit > 0) {
    MBI_TRY(mbi_cycle_sweep(amg, l, MBI_GRID_A, MBI_CYCLE_RESIDUAL, b, y, g->x, stream));
    MBI_TRY(mbi_cycle_sweep(amg, l, MBI_GRID_C, MBI_CYCLE_RESIDUAL, g->x, y, g->z, stream));
  }
  MBI_TRY(mbi_cycle_multiply(amg, l, MBI_GRID_R, visit > 0 ? g->z : b, g[1].b, stream));
  MBI_TRY(mbi_cycle_next(amg, l, stream));
  MBI_TRY(visit > 0 ? mbi_cycle_correct(amg, l, y, stream)
                    : mbi_cycle_multiply(amg, l, MBI_GRID_P, g[1].y, y, stream));
  for (k = 0; k < MBI_REDUCTION_SWEEPS; k++) {
    MBI_TRY(mbi_cycle_sweep(amg, l, MBI_GRID_A, MBI_CYCLE_SWEEP, b, k % 2 != 0 ? g->x : y,
                            k % 2 != 0 ? y : g->x, stream));
  }
  return mbi_cycle_sweep(amg, l, MBI_GRID_C, MBI_CYCLE_SWEEP, b, g->x, y, stream);
}

/* Computes y = M^-1 b on the levels from l on; a repeated visit (`visit` > 0) improves y. On
 * CUDA enqueues the work on `stream`. */
MBI_INTERNAL merbit_status mbi_cycle_run(const mbi_amg *amg, int l, int visit, const void *b,
                                         void *y, void *stream) {
  const mbi_amg_grid *g = &amg->grids[l];
  const int last = l + 1 == amg->count;
  int k;
  if (last && amg->dense.rows > 0) {
    return mbi_cycle_multiply(amg, l, MBI_GRID_A, b, y, stream);
  }
  if (mbi_cycle_parted(amg, l)) {
    return mbi_cycle_reduced(amg, l, visit, b, y, stream);
  }
  MBI_TRY(mbi_cycle_sweep(amg, l, MBI_GRID_A, visit > 0 ? MBI_CYCLE_SWEEP : MBI_CYCLE_FIRST, b,
                          visit > 0 ? y : b, g->x, stream));
  for (k = 1; k < (last ? MBI_CYCLE_MOST : MBI_CYCLE_DEGREE); k++) {
    MBI_TRY(mbi_cycle_sweep(amg, l, MBI_GRID_A, MBI_CYCLE_SWEEP + k, b, k % 2 != 0 ? g->x : y,
                            k % 2 != 0 ? y : g->x, stream));
  }
  if (last) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_cycle_sweep(amg, l, MBI_GRID_A, MBI_CYCLE_RESIDUAL, b, y, g->x, stream));
  MBI_TRY(mbi_cycle_multiply(amg, l, MBI_GRID_R, g->x, g[1].b, stream));
  MBI_TRY(mbi_cycle_next(amg, l, stream));
  MBI_TRY(mbi_cycle_correct(amg, l, y, stream));
  for (k = MBI_CYCLE_DEGREE - 1; k >= 0; k--) {
    MBI_TRY(mbi_cycle_sweep(amg, l, MBI_GRID_A, MBI_CYCLE_SWEEP + k, b, k % 2 != 0 ? y : g->x,
                            k % 2 != 0 ? g->x : y, stream));
  }
  return MERBIT_OK;
}
