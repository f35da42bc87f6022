#include "core/context.h"
#include "jit/jit.h"
#include "solve/amg/amg_cuda.h"

/* Levels of multigrid by reduction on the GPU. The kernels are in solve/amg/reduction.cuh. */

#define MBI_REDUCTION_LANES 16 /* MBK_REDUCTION_LANES */
/* Bytes of a mbk_reduction_system. */
#define MBI_REDUCTION_SYSTEM                                                                   \
  (MBI_REDUCTION_NEAR * (MBI_REDUCTION_NEAR + 1) * sizeof(double) +                            \
   3 * MBI_REDUCTION_LANES * sizeof(int32_t))

/* Enqueues a kernel that has a group of lanes for each of `rows` rows of R, with `shared` bytes
 * of shared memory. */
static merbit_status mbi_reduction_run(mbi_amg_gpu *gpu, int kernel, int64_t rows,
                                       size_t shared, const void *arguments) {
  return mbi_amg_launch(gpu, kernel, mbi_amg_blocks(rows * MBI_REDUCTION_LANES),
                        MBI_AMG_THREADS, MBI_AMG_THREADS / MBI_REDUCTION_LANES * shared,
                        arguments);
}

/* Runs rounds of the splitting until all rows are decided. Waits. */
static merbit_status mbi_reduction_rounds(mbi_amg_gpu *gpu,
                                          mbk_amg_splitting_arguments *arguments) {
  const int64_t threads = (int64_t)arguments->rows * arguments->lanes;
  mbi_amg_facts facts;
  int i;
  arguments->round = 0;
  arguments->open = MBI_AMG_FACT(gpu, open);
  do {
    for (i = 0; i < MBI_AMG_ROUNDS; i++) {
      arguments->round++;
      MBI_TRY(mbi_device_zero(gpu->context, arguments->open, sizeof facts.open, NULL));
      MBI_TRY(mbi_amg_run(gpu, MBI_AMG_BLOCK, threads, arguments));
      MBI_TRY(mbi_amg_run(gpu, MBI_AMG_SETTLE, threads, arguments));
    }
    MBI_TRY(mbi_amg_read(gpu, &facts));
  } while (facts.open > 0);
  return MERBIT_OK;
}

/* Splits the rows of a level, on which the first pass has run. Sets level->aggregates. Waits.
 */
static merbit_status mbi_reduction_split(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                         const mbi_amg_found *found,
                                         mbk_amg_splitting_arguments *s) {
  const mbi_amg_there *a = &level->a;
  mbi_amg_facts facts;
  memset(s, 0, sizeof *s);
  s->rows = (uint64_t)a->rows;
  s->row_ptr = a->row_ptr;
  s->col_ind = a->col_ind;
  s->values = a->values;
  s->lanes = mbi_amg_row_lanes(a->rows, a->nnz / 4);
  s->inverse = level->inverse;
  s->most = found->most;
  s->theta = MBI_REDUCTION_EQUAL * MBI_REDUCTION_THETA;
  s->theta_first = MBI_REDUCTION_EQUAL * MBI_REDUCTION_THETA_FIRST;
  s->theta_second = MBI_REDUCTION_EQUAL * MBI_REDUCTION_THETA_SECOND;
  s->theta_attach = MBI_REDUCTION_EQUAL * MBI_REDUCTION_ATTACH;
  MBI_TRY(mbi_amg_borrow(gpu, a->nnz, sizeof(int32_t), &s->links));
  MBI_TRY(mbi_amg_borrow(gpu, a->rows, sizeof(uint32_t), &s->influences));
  MBI_TRY(mbi_amg_borrow(gpu, a->rows, sizeof(double), &s->weight));
  MBI_TRY(mbi_amg_borrow(gpu, a->rows, sizeof(uint32_t), &s->blocked));
  MBI_TRY(mbi_amg_borrow(gpu, a->rows + 1, sizeof(int32_t), &s->counts));
  MBI_TRY(
      mbi_device_zero(gpu->context, s->influences, (size_t)a->rows * sizeof(uint32_t), NULL));
  MBI_TRY(mbi_amg_run(gpu, MBI_AMG_DEPEND, a->rows * s->lanes, s));
  MBI_TRY(mbi_amg_run(gpu, MBI_AMG_WEIGH, a->rows, s));
  MBI_TRY(mbi_reduction_rounds(gpu, s));
  MBI_TRY(mbi_amg_scan(gpu, s->counts, a->rows));
  MBI_TRY(mbi_amg_read(gpu, &facts));
  level->aggregates = (int32_t)facts.total;
  return mbi_amg_check_rows(gpu, level, &facts);
}

/* Returns P for products A P: a row has one entry, 1, in the column that the row is attached
 * to. */
static mbi_amg_there mbi_reduction_short(const mbi_amg_gpu_level *level) {
  mbi_amg_there p = level->p;
  p.row_ptr = p.values = 0;
  p.col_ind = level->aggregate;
  return p;
}

/* Enqueues the values of R, of the row blocks and of D_w^-1, and of the next level's matrix. */
static merbit_status mbi_reduction_values(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                          const mbi_amg_gpu_level *next, int columns) {
  mbk_amg_restrict_arguments arguments;
  const mbi_amg_there p = mbi_reduction_short(level);
  mbi_amg_there ap = level->ap;
  arguments.rows = (uint64_t)level->a.rows;
  arguments.coarse = (uint64_t)(uint32_t)level->aggregates;
  arguments.row_ptr = level->a.row_ptr;
  arguments.col_ind = level->a.col_ind;
  arguments.values = level->a.values;
  arguments.lanes = mbi_amg_row_lanes(level->a.rows, level->a.nnz / 4);
  arguments.points = level->points;
  arguments.r_ptr = level->r.row_ptr;
  arguments.r_col = level->r.col_ind;
  arguments.r_val = level->r.values;
  arguments.least = MBI_REDUCTION_PIVOT;
  arguments.columns = (uint32_t)columns;
  arguments.f_ptr = level->halves[0].row_ptr;
  arguments.f_col = level->halves[0].col_ind;
  arguments.f_val = level->halves[0].values;
  arguments.c_ptr = level->halves[1].row_ptr;
  arguments.c_col = level->halves[1].col_ind;
  arguments.c_val = level->halves[1].values;
  arguments.inverse = level->inverse;
  arguments.inverse_c = level->inverse_c;
  MBI_TRY(mbi_reduction_run(gpu, MBI_AMG_RESTRICT, level->aggregates, MBI_REDUCTION_SYSTEM,
                            &arguments));
  arguments.least = gpu->no_diagonal;
  MBI_TRY(mbi_amg_run(gpu, MBI_AMG_RELAX, level->a.rows * arguments.lanes, &arguments));
  MBI_TRY(mbi_amg_borrow(gpu, ap.nnz, sizeof(double), &ap.values));
  MBI_TRY(mbi_amg_product_values(gpu, &level->a, &p, NULL, &ap));
  return mbi_amg_product_values(gpu, &level->r, &ap, NULL, &next->a);
}

/* Sets P, whose row lengths are in its offsets. Waits. */
static merbit_status mbi_reduction_prolong(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                           mbk_amg_splitting_arguments *s) {
  mbi_amg_there *const p = &level->p;
  mbi_amg_facts facts;
  MBI_TRY(mbi_amg_scan(gpu, p->row_ptr, p->rows));
  MBI_TRY(mbi_amg_read(gpu, &facts));
  p->nnz = (int64_t)facts.total;
  p->longest = 1;
  MBI_TRY(mbi_amg_keep(gpu, p->nnz, sizeof(int32_t), &p->col_ind));
  MBI_TRY(mbi_amg_keep(gpu, p->nnz, sizeof(double), &p->values));
  s->p_col = p->col_ind;
  s->p_val = p->values;
  return mbi_amg_run(gpu, MBI_AMG_POINT, p->rows, s);
}

/* Sets the structure of P, whose values are all 1, of R and of the row blocks. */
static merbit_status mbi_reduction_structure(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                             mbk_amg_splitting_arguments *s) {
  const int64_t rows = level->a.rows, coarse = level->aggregates;
  mbi_amg_there *const r = &level->r, *const halves = level->halves;
  mbi_amg_facts facts;
  int h;
  for (h = 0; h < 2; h++) {
    halves[h] = level->a;
    MBI_TRY(mbi_amg_keep(gpu, rows + 1, sizeof(int32_t), &halves[h].row_ptr));
  }
  MBI_TRY(mbi_amg_keep(gpu, rows, sizeof(int32_t), &level->aggregate));
  MBI_TRY(mbi_amg_keep(gpu, coarse, sizeof(int32_t), &level->points));
  level->p.rows = rows;
  level->p.cols = coarse;
  MBI_TRY(mbi_amg_keep(gpu, rows + 1, sizeof(int32_t), &level->p.row_ptr));
  s->coarse = (uint64_t)coarse;
  s->points = level->points;
  s->found = s->influences; /* which is no longer needed */
  s->attached = level->aggregate;
  s->counts_p = level->p.row_ptr;
  s->counts_f = halves[0].row_ptr;
  s->counts_c = halves[1].row_ptr;
  MBI_TRY(mbi_amg_run(gpu, MBI_AMG_ATTACH, rows * s->lanes, s));
  MBI_TRY(mbi_amg_run(gpu, MBI_AMG_BESIDE, rows * s->lanes, s));
  MBI_TRY(mbi_amg_scan(gpu, halves[0].row_ptr, rows));
  MBI_TRY(mbi_amg_scan(gpu, halves[1].row_ptr, rows));
  MBI_TRY(mbi_amg_read(gpu, &facts));
  halves[1].nnz = (int64_t)facts.total;
  halves[0].nnz -= halves[1].nnz;
  for (h = 0; h < 2; h++) {
    MBI_TRY(mbi_amg_keep(gpu, halves[h].nnz, sizeof(int32_t), &halves[h].col_ind));
    MBI_TRY(mbi_amg_keep(gpu, halves[h].nnz, sizeof(double), &halves[h].values));
  }
  MBI_TRY(mbi_reduction_prolong(gpu, level, s));
  r->rows = coarse;
  r->cols = rows;
  MBI_TRY(mbi_amg_keep(gpu, coarse + 1, sizeof(int32_t), &r->row_ptr));
  MBI_TRY(mbi_amg_borrow(gpu, coarse * (MBI_REDUCTION_NEAR + 1), sizeof(int32_t), &s->nearby));
  s->near_counts = r->row_ptr;
  MBI_TRY(
      mbi_reduction_run(gpu, MBI_AMG_NEARBY, coarse, MBI_REDUCTION_LANES * sizeof(int32_t), s));
  MBI_TRY(mbi_amg_scan(gpu, r->row_ptr, coarse));
  MBI_TRY(mbi_amg_read(gpu, &facts));
  MBI_TRY(mbi_amg_check_entries(gpu->context, facts.total));
  r->nnz = (int64_t)facts.total;
  r->longest = MBI_REDUCTION_NEAR + 1;
  MBI_TRY(mbi_amg_keep(gpu, r->nnz, sizeof(int32_t), &r->col_ind));
  MBI_TRY(mbi_amg_keep(gpu, r->nnz, sizeof(double), &r->values));
  s->r_col = r->col_ind;
  return mbi_reduction_run(gpu, MBI_AMG_GATHER, coarse, 0, s);
}

/* Makes `next` from `level`, whose rows have been split. */
static merbit_status mbi_reduction_next(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                        mbi_amg_gpu_level *next,
                                        mbk_amg_splitting_arguments *s) {
  mbi_amg_there p;
  MBI_TRY(mbi_reduction_structure(gpu, level, s));
  p = mbi_reduction_short(level);
  MBI_TRY(mbi_amg_keep(gpu, level->a.rows, sizeof(double), &level->inverse_c));
  MBI_TRY(mbi_amg_product_columns(gpu, &level->a, &p, 0, &level->ap));
  MBI_TRY(mbi_amg_product_columns(gpu, &level->r, &level->ap, 0, &next->a));
  MBI_TRY(mbi_amg_keep(gpu, next->a.nnz, sizeof(double), &next->a.values));
  next->block = next->vectors = 1;
  return mbi_reduction_values(gpu, level, next, 1);
}

/* Discards the levels by reduction; `keep` is a copy of the pool before them, `first` one of
 * the first level. */
static void mbi_reduction_discard(mbi_amg_gpu *gpu, const mbi_amg_pool *keep,
                                  const mbi_amg_gpu_level *first) {
  mbi_amg_pool_rewind(&gpu->keep, keep);
  memset(gpu->levels, 0, sizeof gpu->levels);
  gpu->levels[0] = *first;
  gpu->count = 1;
}

MBI_INTERNAL merbit_status mbi_amg_gpu_reduce(mbi_amg_gpu *gpu, mbi_amg_found *found) {
  const mbi_amg_pool keep = gpu->keep;
  const mbi_amg_gpu_level first = gpu->levels[0];
  mbk_amg_splitting_arguments s;
  int l, last = 0;
  for (l = 0; !last; l++) {
    mbi_amg_gpu_level *level = &gpu->levels[l];
    gpu->count = l + 1;
    if (l > 0) {
      MBI_TRY(mbi_amg_keep(gpu, level->a.rows, sizeof(double), &level->inverse));
      MBI_TRY(mbi_amg_look_first(gpu, level, found));
    }
    MBI_TRY(mbi_amg_look_at_blocks(gpu, level, found));
    last = level->a.rows <= MBI_AMG_COARSEST || l + 1 == MBI_AMG_LEVELS;
    if (!last) {
      MBI_TRY(mbi_reduction_split(gpu, level, found, &s));
      last = level->aggregates == 0 ||
             level->aggregates * MBI_REDUCTION_COARSENING > (double)level->a.rows;
    }
    if (last) {
      level->aggregates = 0;
      MBI_TRY(l > 0 ? mbi_amg_find_lambda(gpu, level) : MERBIT_OK);
      break;
    }
    MBI_TRY(mbi_reduction_next(gpu, level, level + 1, &s));
    if ((double)level[1].a.nnz > MBI_REDUCTION_GROWTH * (double)level->a.nnz) {
      l = 0;
      break;
    }
  }
  gpu->reduced = l > 0;
  if (!gpu->reduced) {
    mbi_reduction_discard(gpu, &keep, &first);
    return mbi_amg_look_first(gpu, gpu->levels, found);
  }
  return MERBIT_OK;
}

/* Recomputes the values of a level that is not the last, from which `next` is made. */
MBI_INTERNAL merbit_status mbi_amg_gpu_reduce_again(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                                    const mbi_amg_gpu_level *next) {
  mbi_amg_facts facts;
  MBI_TRY(mbi_amg_read(gpu, &facts));
  MBI_TRY(mbi_amg_check_rows(gpu, level, &facts));
  return mbi_reduction_values(gpu, level, next, 0);
}
