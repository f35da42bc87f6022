#include "core/context.h"
#include "matrix/matrix.h"
#include "solve/amg/amg.h"

/* Multigrid: the levels, each made from the last. */

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
  memset(level, 0, sizeof *level);
}

/* Makes the next level's matrix and near-null-space. */
static merbit_status mbi_amg_next(merbit_context *context, mbi_amg_level *level,
                                  mbi_amg_level *next) {
  MBI_TRY(mbi_amg_tentative(context, level, &next->modes));
  MBI_TRY(mbi_amg_smooth(context, level));
  MBI_TRY(mbi_amg_transpose(context, level));
  MBI_TRY(mbi_amg_galerkin(context, level, &next->a));
  next->block = next->vectors = level->vectors;
  return MERBIT_OK;
}

/* Makes levels[1], levels[2], ... from levels[0], which has a, block, vectors and modes. *count
 * is their number. On failure the caller releases the levels. */
MBI_INTERNAL merbit_status mbi_amg_coarsen(merbit_context *context, mbi_amg_level *levels,
                                           int *count) {
  double theta = levels[0].block > 1 ? MBI_AMG_THETA_BLOCKS : MBI_AMG_THETA;
  int l;
  for (l = 0;; l++, theta /= MBI_AMG_THETA_FALL) {
    mbi_amg_level *level = &levels[l];
    const int64_t rows = level->a.rows;
    *count = l + 1;
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

/* Computes the numbers of all levels again for new values of levels[0].a. The levels have
 * `kept`, `aggregate`, `plain`, `t` and the structure of all matrices of an earlier set-up, and
 * nothing else. */
MBI_INTERNAL merbit_status mbi_amg_recompute(merbit_context *context, mbi_amg_level *levels,
                                             int count) {
  int l;
  for (l = 0; l < count; l++) {
    MBI_TRY(mbi_amg_diagonal(context, &levels[l]));
    if (l + 1 < count) {
      MBI_TRY(mbi_amg_smooth(context, &levels[l]));
      MBI_TRY(mbi_amg_transpose(context, &levels[l]));
      MBI_TRY(mbi_amg_galerkin(context, &levels[l], &levels[l + 1].a));
    }
  }
  return MERBIT_OK;
}
