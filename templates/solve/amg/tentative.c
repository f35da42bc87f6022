#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* The tentative prolongation T of multigrid. The near-null-space vectors, restricted to each
 * aggregate, are orthonormalised: modes = T coarse (Vanek, Mandel, Brezina 1996, section 3). */

/* A vector of which orthogonalisation leaves at most this fraction depends on the others. */
#define MBI_AMG_DEPENDENT 1e-8

typedef struct mbi_tentative {
  const mbi_amg_level *level;
  double *t, *coarse;
  int32_t *starts, *nodes; /* the nodes of each aggregate, in order */
  int tasks;
} mbi_tentative;

/* Returns the dot product of columns a and b of t over the rows of an aggregate. */
static double mbi_tentative_dot(const mbi_tentative *e, int32_t aggregate, int a, int b) {
  const int k = e->level->vectors, block = e->level->block;
  double sum = 0;
  int32_t i;
  int row;
  for (i = e->starts[aggregate]; i < e->starts[aggregate + 1]; i++) {
    const double *t = e->t + (int64_t)e->nodes[i] * block * k;
    for (row = 0; row < block; row++) {
      sum += t[row * k + a] * t[row * k + b];
    }
  }
  return sum;
}

/* Adds `factor` times column b of t to column a in the rows of an aggregate, or multiplies
 * column a by it if a equals b. */
static void mbi_tentative_add(const mbi_tentative *e, int32_t aggregate, int a, int b,
                              double factor) {
  const int k = e->level->vectors, block = e->level->block;
  int32_t i;
  int row;
  for (i = e->starts[aggregate]; i < e->starts[aggregate + 1]; i++) {
    double *t = e->t + (int64_t)e->nodes[i] * block * k;
    for (row = 0; row < block; row++) {
      t[row * k + a] =
          a == b ? t[row * k + a] * factor : t[row * k + a] + factor * t[row * k + b];
    }
  }
}

/* Orthonormalises the vectors on each aggregate by the modified Gram-Schmidt method, done
 * twice. A vector that depends on earlier ones there becomes a column of zeros. */
static void mbi_tentative_rows(void *argument, int task) {
  mbi_tentative *e = (mbi_tentative *)argument;
  const int k = e->level->vectors;
  const int64_t last = mbi_share(e->level->aggregates, e->tasks, task + 1);
  int64_t at = mbi_share(e->level->aggregates, e->tasks, task);
  for (; at < last; at++) {
    const int32_t aggregate = (int32_t)at;
    double *coarse = e->coarse + at * k * k; /* row by row */
    int a, b, twice;
    for (a = 0; a < k; a++) {
      const double before = sqrt(mbi_tentative_dot(e, aggregate, a, a));
      double norm;
      for (twice = 0; twice < 2; twice++) {
        for (b = 0; b < a; b++) {
          const double dot = mbi_tentative_dot(e, aggregate, a, b);
          coarse[b * k + a] += dot;
          mbi_tentative_add(e, aggregate, a, b, -dot);
        }
      }
      norm = a > 0 ? sqrt(mbi_tentative_dot(e, aggregate, a, a)) : before;
      norm = norm > MBI_AMG_DEPENDENT * before ? norm : 0;
      coarse[a * k + a] = norm;
      mbi_tentative_add(e, aggregate, a, a, norm > 0 ? 1 / norm : 0);
    }
  }
}

/* Lists the nodes of each aggregate. `starts` has two elements more than aggregates. */
static void mbi_tentative_list(mbi_tentative *e, int64_t nodes) {
  const int32_t *aggregate = e->level->aggregate;
  const int32_t count = e->level->aggregates;
  int64_t i;
  memset(e->starts, 0, ((size_t)count + 2) * sizeof *e->starts);
  for (i = 0; i < nodes; i++) {
    e->starts[aggregate[i] + 2] += aggregate[i] >= 0;
  }
  for (i = 0; i <= count; i++) {
    e->starts[i + 1] += e->starts[i];
  }
  for (i = 0; i < nodes; i++) {
    if (aggregate[i] >= 0) {
      e->nodes[e->starts[aggregate[i] + 1]++] = (int32_t)i;
    }
  }
}

MBI_INTERNAL merbit_status mbi_amg_check_modes(merbit_context *context, const double *modes,
                                               int64_t rows, int vectors) {
  int64_t i;
  for (i = 0; i < rows * vectors; i++) {
    if (modes[i] - modes[i] != 0) {
      return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                      "element %" PRId64 " of column %" PRId64
                      " of preconditioner_desc.near_nullspace, counted from 0, is %g; give "
                      "finite numbers",
                      i % rows, i / rows, modes[i]);
    }
  }
  return MERBIT_OK;
}

MBI_INTERNAL merbit_status mbi_amg_tentative(merbit_context *context, mbi_amg_level *level,
                                             double **coarse) {
  const int64_t rows = level->a.rows, nodes = rows / level->block;
  const int k = level->vectors;
  const size_t coarse_count = (size_t)level->aggregates * (size_t)k * (size_t)k;
  mbi_tentative e;
  merbit_status status;
  int64_t i;
  int j;
  *coarse = NULL;
  memset(&e, 0, sizeof e);
  e.level = level;
  MBI_TRY(mbi_allocate_array(context, rows * k, sizeof *e.t, "the tentative prolongation",
                             (void **)&level->t));
  MBI_TRY(mbi_allocate_array(context, nodes + level->aggregates + 2, sizeof *e.starts,
                             "the nodes of aggregates", (void **)&e.starts));
  status = mbi_allocate_array(context, (int64_t)coarse_count, sizeof **coarse,
                              "the next level's near-null-space", (void **)coarse);
  if (status != MERBIT_OK) {
    mbi_release(context, e.starts);
    return status;
  }
  e.nodes = e.starts + level->aggregates + 2;
  e.t = level->t;
  e.coarse = *coarse;
  memset(e.coarse, 0, coarse_count * sizeof *e.coarse);
  mbi_tentative_list(&e, nodes);
  for (i = 0; i < rows; i++) {
    const int isolated = level->aggregate[i / level->block] < 0;
    for (j = 0; j < k; j++) {
      e.t[i * k + j] = isolated ? 0 : level->modes[i * k + j];
    }
  }
  e.tasks = mbi_share_tasks(context, rows * k * k);
  mbi_parallel(context, e.tasks, mbi_tentative_rows, &e);
  mbi_release(context, e.starts);
  return MERBIT_OK;
}
