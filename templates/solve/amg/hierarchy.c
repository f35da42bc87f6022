#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* The levels of multigrid, each made from the finer one. */

MBI_INTERNAL void mbi_amg_level_release(merbit_context *context, mbi_amg_level *level) {
  if (!level->borrowed) {
    mbi_amg_csr_release(context, &level->a);
  }
  mbi_amg_csr_release(context, &level->strong);
  mbi_release(context, level->kept);
  mbi_release(context, level->strongest);
  mbi_amg_csr_release(context, &level->p);
  mbi_amg_csr_release(context, &level->r);
  mbi_amg_csr_release(context, &level->ap);
  mbi_release(context, level->aggregate);
  mbi_release(context, level->modes);
  mbi_release(context, level->t);
  mbi_release(context, level->inverse);
  mbi_release(context, level->most);
  mbi_release(context, level->attached);
  mbi_release(context, level->points);
  mbi_amg_csr_release(context, &level->halves[0]);
  mbi_amg_csr_release(context, &level->halves[1]);
  memset(level, 0, sizeof *level);
}

MBI_INTERNAL int mbi_amg_nonsymmetric(const mbi_amg_csr *a, double fraction) {
  const merbit_view view = mbi_amg_view(a);
  int i, one_sided = 0;
  for (i = 0; i < MBI_AMG_SAMPLE && a->rows > 0; i++) {
    const int64_t row = (int64_t)(mbi_amg_hash((uint64_t)i) % (uint64_t)a->rows);
    const int64_t begin = a->row_ptr[row], end = a->row_ptr[row + 1];
    double apart = 0, sum = 0;
    int64_t k;
    for (k = begin; k < end && k < begin + MBI_AMG_SAMPLE_ENTRIES; k++) {
      const int64_t at = mbi_csr_find(&view, a->col_ind[k], row);
      const double value = a->values[k], other = at < 0 ? 0 : a->values[at];
      apart += fabs(value - other);
      sum += a->col_ind[k] != row ? fabs(value) + fabs(other) : 0;
    }
    one_sided += apart > fraction * sum;
  }
  return 4 * one_sided > MBI_AMG_SAMPLE;
}

/* Sets level->modes to a constant vector for each unknown of a node. */
static merbit_status mbi_amg_constants(merbit_context *context, mbi_amg_level *level) {
  int64_t i;
  int j;
  MBI_TRY(mbi_allocate_array(context, level->a.rows * level->vectors, sizeof *level->modes,
                             "the near-null-space", (void **)&level->modes));
  for (i = 0; i < level->a.rows; i++) {
    for (j = 0; j < level->vectors; j++) {
      level->modes[i * level->vectors + j] = i % level->block == j;
    }
  }
  return MERBIT_OK;
}

/* Makes the matrix and the near-null-space of the next level. */
static merbit_status mbi_amg_next(merbit_context *context, mbi_amg_level *level,
                                  mbi_amg_level *next) {
  MBI_TRY(mbi_amg_tentative(context, level, &next->modes));
  MBI_TRY(mbi_amg_smooth(context, level));
  MBI_TRY(mbi_amg_transpose(context, level));
  MBI_TRY(mbi_amg_galerkin(context, level, &next->a));
  next->block = next->vectors = level->vectors;
  return MERBIT_OK;
}

/* Makes levels[1], levels[2], ... by aggregation from levels[0], which has `a`, `block`,
 * `vectors`, `modes` and `nonsymmetric`. *count is the number of levels. */
static merbit_status mbi_amg_aggregate_all(merbit_context *context, mbi_amg_level *levels,
                                           int *count) {
  double theta = levels[0].block > 1 ? MBI_AMG_THETA_BLOCKS : MBI_AMG_THETA;
  int l;
  for (l = 0;; l++, theta /= MBI_AMG_THETA_FALL) {
    mbi_amg_level *level = &levels[l];
    const int64_t rows = level->a.rows;
    *count = l + 1;
    level->plain = levels[0].nonsymmetric;
    MBI_TRY(mbi_amg_diagonal(context, level));
    if (rows <= MBI_AMG_COARSEST || l + 1 == MBI_AMG_LEVELS) {
      return MERBIT_OK;
    }
    MBI_TRY(mbi_amg_strength(context, theta, level));
    MBI_TRY(mbi_amg_aggregate(context, level));
    mbi_amg_csr_release(context, &level->strong);
    mbi_release(context, level->strongest);
    level->strongest = NULL;
    if (level->aggregates == 0 ||
        (double)level->aggregates * level->vectors * MBI_AMG_COARSENING > (double)rows) {
      level->aggregates = 0;
      return MERBIT_OK;
    }
    MBI_TRY(mbi_amg_next(context, level, &levels[l + 1]));
  }
}

/* Makes the next level by reduction, unless it would be hardly smaller: then sets *last. */
static merbit_status mbi_amg_next_reduced(merbit_context *context, mbi_amg_level *level,
                                          mbi_amg_level *next, int *last) {
  MBI_TRY(mbi_amg_split(context, level));
  *last = level->aggregates == 0 ||
          level->aggregates * MBI_REDUCTION_COARSENING > (double)level->a.rows;
  if (!*last) {
    MBI_TRY(mbi_amg_attach(context, level));
    MBI_TRY(mbi_amg_restrict(context, level));
    MBI_TRY(mbi_amg_reduce(context, level, &next->a));
    MBI_TRY(mbi_amg_part_rows(context, level));
    next->block = next->vectors = 1;
  }
  mbi_release(context, level->most);
  mbi_release(context, level->aggregate);
  level->most = NULL;
  level->aggregate = NULL;
  return MERBIT_OK;
}

/* Makes levels[1], levels[2], ... by reduction. Sets *count to 0 if a level has many more
 * entries than the finer one, or if the first cannot be reduced. */
static merbit_status mbi_amg_reduce_all(merbit_context *context, mbi_amg_level *levels,
                                        int *count) {
  int l, last = 0;
  for (l = 0; !last; l++) {
    mbi_amg_level *level = &levels[l];
    *count = l + 1;
    if (l > 0 && (double)level->a.nnz > MBI_REDUCTION_GROWTH * (double)levels[l - 1].a.nnz) {
      *count = 0;
      return MERBIT_OK;
    }
    last = level->a.rows <= MBI_AMG_COARSEST || l + 1 == MBI_AMG_LEVELS;
    if (!last) {
      MBI_TRY(mbi_amg_next_reduced(context, level, level + 1, &last));
    }
    if (last && l == 0) {
      *count = 0;
      return MERBIT_OK;
    }
    if (last) {
      MBI_TRY(mbi_amg_diagonal(context, level));
    }
  }
  return MERBIT_OK;
}

/* Releases the levels by reduction, but keeps what the first one had. */
static void mbi_amg_discard(merbit_context *context, mbi_amg_level *levels) {
  mbi_amg_level first;
  int l;
  memset(&first, 0, sizeof first);
  first.a = levels[0].a;
  first.borrowed = levels[0].borrowed;
  first.block = levels[0].block;
  first.vectors = levels[0].vectors;
  first.modes = levels[0].modes;
  levels[0].borrowed = 1;
  levels[0].modes = NULL;
  for (l = 0; l < MBI_AMG_LEVELS; l++) {
    mbi_amg_level_release(context, &levels[l]);
  }
  levels[0] = first;
}

MBI_INTERNAL merbit_status mbi_amg_coarsen(merbit_context *context, mbi_amg_level *levels,
                                           int given, int *count) {
  if (levels[0].block == 1 && !given &&
      mbi_amg_nonsymmetric(&levels[0].a, MBI_REDUCTION_ONE_SIDED)) {
    MBI_TRY(mbi_amg_reduce_all(context, levels, count));
    if (*count > 0) {
      levels[0].reduced = levels[0].nonsymmetric = 1;
      return MERBIT_OK;
    }
    mbi_amg_discard(context, levels);
  }
  if (levels[0].modes == NULL) {
    MBI_TRY(mbi_amg_constants(context, levels));
  }
  levels[0].nonsymmetric = mbi_amg_nonsymmetric(&levels[0].a, MBI_AMG_ONE_SIDED);
  return mbi_amg_aggregate_all(context, levels, count);
}

/* Recomputes the values of all levels for new values of levels[0].a. On entry the levels have
 * only what an update keeps: all structure; and `kept`, `aggregate`, `plain` and `t`, or
 * `attached` and `points`. */
MBI_INTERNAL merbit_status mbi_amg_recompute(merbit_context *context, mbi_amg_level *levels,
                                             int count) {
  const int reduced = levels[0].reduced;
  int l;
  for (l = 0; l < count; l++) {
    if (reduced && l + 1 < count) {
      MBI_TRY(mbi_amg_restrict(context, &levels[l]));
      MBI_TRY(mbi_amg_reduce(context, &levels[l], &levels[l + 1].a));
      MBI_TRY(mbi_amg_part_rows(context, &levels[l]));
      continue;
    }
    MBI_TRY(mbi_amg_diagonal(context, &levels[l]));
    if (l + 1 < count) {
      MBI_TRY(mbi_amg_smooth(context, &levels[l]));
      MBI_TRY(mbi_amg_transpose(context, &levels[l]));
      MBI_TRY(mbi_amg_galerkin(context, &levels[l], &levels[l + 1].a));
    }
  }
  return MERBIT_OK;
}
