#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "solve/amg/amg_cuda.h"

/* The levels of algebraic multigrid on the GPU, each made from the finer one. The kernels are
 * in solve/amg/setup.cu. */

/* ---- The matrix -------------------------------------------------------------------------- */

/* Returns whether the set-up can run on the GPU: for a CSR with both triangles that 32-bit
 * offsets can index. */
MBI_INTERNAL int mbi_amg_gpu_takes(const merbit_view *view) {
  return view->format == MERBIT_CSR && !mbi_view_is_triangle(view) && view->nnz <= INT32_MAX &&
         view->rows < INT32_MAX;
}

/* Uploads an array of the view unless it is in GPU memory; *there keeps its address. */
static merbit_status mbi_amg_array(mbi_amg_gpu *gpu, const merbit_view *view, size_t bytes,
                                   mbi_devptr *there, const void **array) {
  if (view->memory == MERBIT_MEMORY_DEVICE || *array == NULL) {
    return MERBIT_OK;
  }
  if (*there == 0) {
    MBI_TRY(mbi_amg_keep(gpu, (int64_t)bytes, 1, there));
  }
  MBI_TRY(mbi_device_upload(gpu->context, *there, *array, bytes));
  *array = mbi_device_pointer(*there);
  return MERBIT_OK;
}

/* Sets `to` to the view's matrix: to its own arrays where their types fit, to copies of the
 * others; with `values_only`, sets only the values. Enqueues the check of the first level's
 * modes. */
static merbit_status mbi_amg_convert(mbi_amg_gpu *gpu, const merbit_view *given,
                                     int values_only, mbi_amg_there *to) {
  const int same_type = given->values != NULL && mbi_view_type(given) == MERBIT_F64;
  merbit_view there = *given;
  const merbit_view *view = &there;
  mbk_amg_copy_arguments arguments;
  if (!values_only) {
    MBI_TRY(mbi_amg_array(gpu, given,
                          ((size_t)given->rows + 1) * mbi_index_bytes(given->offset_type),
                          &gpu->arrays[0], &there.row_ptr));
    MBI_TRY(mbi_amg_array(gpu, given, (size_t)given->nnz * mbi_index_bytes(given->index_type),
                          &gpu->arrays[1], &there.col_ind));
  }
  MBI_TRY(mbi_amg_array(gpu, given, (size_t)given->nnz * mbi_type_size(mbi_view_type(given)),
                        &gpu->arrays[2], &there.values));
  memset(&arguments, 0, sizeof arguments);
  arguments.rows = (uint64_t)view->rows;
  arguments.nnz = (uint64_t)view->nnz;
  arguments.values = mbi_device_address(view->values);
  arguments.wide_ptr = view->offset_type == MERBIT_INDEX_64;
  arguments.wide_col = view->index_type == MERBIT_INDEX_64;
  arguments.base = (uint32_t)view->base;
  arguments.value_bytes =
      view->values == NULL ? 0 : (uint32_t)mbi_type_size(mbi_view_type(view));
  if (!values_only) {
    arguments.modes = gpu->levels[0].modes;
    arguments.mode_elements = (uint64_t)(view->rows * gpu->levels[0].vectors);
    arguments.strange = MBI_AMG_FACT(gpu, strange);
    arguments.row_ptr = mbi_device_address(view->row_ptr);
    arguments.col_ind = mbi_device_address(view->col_ind);
    to->rows = view->rows;
    to->cols = view->cols;
    to->nnz = view->nnz;
    to->row_ptr = arguments.row_ptr;
    to->col_ind = arguments.col_ind;
    if (arguments.wide_ptr || view->base != 0) {
      MBI_TRY(mbi_amg_keep(gpu, view->rows + 1, sizeof(int32_t), &to->row_ptr));
      arguments.row_ptr_to = to->row_ptr;
    }
    if (arguments.wide_col || view->base != 0) {
      MBI_TRY(mbi_amg_keep(gpu, view->nnz, sizeof(int32_t), &to->col_ind));
      arguments.col_ind_to = to->col_ind;
    }
    if (!same_type) {
      MBI_TRY(mbi_amg_keep(gpu, view->nnz, sizeof(double), &to->values));
    }
  }
  if (same_type) {
    to->values = arguments.values;
  } else {
    arguments.values_to = to->values;
  }
  return arguments.row_ptr_to == 0 && arguments.col_ind_to == 0 && arguments.values_to == 0 &&
                 arguments.modes == 0
             ? MERBIT_OK
             : mbi_amg_run(gpu, MBI_AMG_COPY, view->nnz + 1, &arguments);
}

/* Enqueues the values of A, the copy of gpu->given with sorted columns and no duplicates: its
 * product with the unit matrix. With `columns`, sets the structure first. */
static merbit_status mbi_amg_sort_rows(mbi_amg_gpu *gpu, int columns, mbi_amg_there *a) {
  mbi_amg_there unit;
  memset(&unit, 0, sizeof unit);
  unit.rows = unit.cols = gpu->given.cols;
  if (columns) {
    MBI_TRY(mbi_amg_product_columns(gpu, &gpu->given, &unit, 0, a));
    MBI_TRY(mbi_amg_keep(gpu, a->nnz, sizeof(double), &a->values));
  }
  return mbi_amg_product_values(gpu, &gpu->given, &unit, NULL, a);
}

/* ---- Levels ------------------------------------------------------------------------------ */

/* Returns the structure of T: one block per node. */
static mbi_amg_there mbi_amg_tentative_of(const mbi_amg_gpu_level *level) {
  mbi_amg_there t;
  memset(&t, 0, sizeof t);
  t.rows = t.nnz = level->graph.rows;
  t.cols = level->aggregates;
  t.col_ind = level->aggregate;
  return t;
}

/* Returns A with the columns of A_F, without its diagonal; without any entries if P = T. */
static mbi_amg_there mbi_amg_filtered(const mbi_amg_gpu_level *level) {
  mbi_amg_there filtered = level->full;
  filtered.col_ind = level->links;
  filtered.row_ptr = level->empty != 0 ? level->empty : filtered.row_ptr;
  return filtered;
}

/* Enqueues the expansion of `nodes`, a structure of blocks of `height` x `width`, to the
 * structure `to` of entries. If `places` is not NULL, `to` is the transpose of the matrix of
 * the blocks `p`; *places, the indices of its blocks in `p`, is replaced by those of its
 * entries. */
static merbit_status mbi_amg_expand(mbi_amg_gpu *gpu, const mbi_amg_there *nodes, int height,
                                    int width, const mbi_amg_there *p, mbi_devptr *places,
                                    mbi_amg_there *to) {
  mbk_amg_expand_arguments arguments;
  *to = *nodes;
  if (height * width == 1) {
    return MERBIT_OK;
  }
  to->rows *= height;
  to->cols *= width;
  to->nnz *= height * width;
  to->longest *= (uint32_t)width;
  MBI_TRY(mbi_amg_check_entries(gpu->context, (uint64_t)to->nnz));
  MBI_TRY(mbi_amg_keep(gpu, to->rows + 1, sizeof(int32_t), &to->row_ptr));
  MBI_TRY(mbi_amg_keep(gpu, to->nnz, sizeof(int32_t), &to->col_ind));
  memset(&arguments, 0, sizeof arguments);
  arguments.rows = (uint64_t)nodes->rows;
  arguments.row_ptr = nodes->row_ptr;
  arguments.col_ind = nodes->col_ind;
  arguments.height = (uint32_t)height;
  arguments.width = (uint32_t)width;
  arguments.lanes = mbi_amg_row_lanes(nodes->rows, nodes->nnz * width);
  arguments.row_ptr_to = to->row_ptr;
  arguments.col_ind_to = to->col_ind;
  if (places != NULL) {
    arguments.places = *places;
    arguments.p_ptr = p->row_ptr;
    MBI_TRY(mbi_amg_keep(gpu, to->nnz, sizeof(int32_t), places));
    arguments.places_to = *places;
  }
  return mbi_amg_run(gpu, MBI_AMG_EXPAND, nodes->rows * arguments.lanes, &arguments);
}

#define MBI_AMG_HOLDERS 128 /* threads of a block: half as many as in other kernels */
#define MBI_AMG_HELD 48     /* the most elements in shared memory per thread: 48 KB a block */
#define MBI_AMG_SPARE 4     /* an aggregate may have this many times the mean number of rows */

/* Enqueues the tentative prolongation and the near-null-space of the next level. `r` is the
 * structure of R's blocks. */
static merbit_status mbi_amg_tentative_there(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                             const mbi_amg_there *r, mbi_devptr coarse) {
  mbk_amg_tentative_arguments arguments;
  int64_t room;
  arguments.aggregates = (uint64_t)(uint32_t)level->aggregates;
  arguments.r_ptr = r->row_ptr;
  arguments.r_col = r->col_ind;
  arguments.aggregate = level->aggregate;
  arguments.modes = level->modes;
  arguments.next_row = (uint32_t)level->vectors;
  arguments.next_vector = 1;
  if (level == gpu->levels) { /* the caller's vectors, column by column */
    arguments.next_row = 1;
    arguments.next_vector = (uint64_t)level->a.rows;
  }
  arguments.block = (uint32_t)level->block;
  arguments.vectors = (uint32_t)level->vectors;
  arguments.lanes = mbi_amg_row_lanes(r->rows, r->nnz * level->block * level->vectors / 4);
  room = level->a.rows * level->vectors / r->rows * MBI_AMG_SPARE;
  room = room < MBI_AMG_HELD * arguments.lanes ? room : MBI_AMG_HELD * arguments.lanes;
  arguments.room = (uint32_t)room;
  arguments.coarse = coarse;
  arguments.t = level->t;
  return mbi_amg_launch(
      gpu, MBI_AMG_TENTATIVE, mbi_amg_blocks(2 * r->rows * arguments.lanes), MBI_AMG_HOLDERS,
      MBI_AMG_HOLDERS / arguments.lanes * (size_t)room * sizeof(double), &arguments);
}

/* Returns the matrix that has `values`, whose blocks of `high` rows and level->vectors columns
 * are the entries of `nodes`. */
static mbi_amg_there mbi_amg_blocks_of(const mbi_amg_gpu_level *level,
                                       const mbi_amg_there *nodes, int high,
                                       mbi_devptr values) {
  mbi_amg_there blocks = *nodes;
  blocks.high = (uint32_t)high;
  blocks.wide = (uint32_t)level->vectors;
  blocks.values = values;
  return blocks;
}

/* Enqueues the values of P and R, and of the next level's matrix. */
static merbit_status mbi_amg_galerkin_values(mbi_amg_gpu *gpu, const mbi_amg_gpu_level *level,
                                             const mbi_amg_gpu_level *next) {
  const int block = level->block, k = level->vectors;
  const mbi_amg_there nodes = mbi_amg_tentative_of(level);
  const mbi_amg_there t = mbi_amg_blocks_of(level, &nodes, block, level->t);
  const mbi_amg_there p = mbi_amg_blocks_of(level, &level->blocks, block, level->p.values);
  const mbi_amg_there coarse = mbi_amg_blocks_of(level, &next->graph, k, next->a.values);
  const mbi_amg_there a = mbi_amg_filtered(level);
  mbi_amg_there r = level->turned;
  mbi_amg_there ap = mbi_amg_blocks_of(level, &level->ap, block, 0);
  MBI_TRY(mbi_amg_borrow(gpu, ap.nnz * block * k, sizeof(double), &ap.values));
  MBI_TRY(mbi_amg_product_values(gpu, &a, &t, level, &p));
  MBI_TRY(mbi_amg_move(gpu, level->p.values, level->places, level->r.nnz, level->r.values, 0));
  MBI_TRY(mbi_amg_product_values(gpu, &level->full, &p, NULL, &ap));
  r.values = level->r.values;
  return mbi_amg_product_values(gpu, &r, &ap, NULL, &coarse);
}

/* Sets *dense to whether A P would fill up, as mbi_amg_smooth decides it. `p` is the structure
 * of the smoothed P's blocks. */
static merbit_status mbi_amg_fills(mbi_amg_gpu *gpu, const mbi_amg_gpu_level *level,
                                   const mbi_amg_there *p, int *dense) {
  mbk_amg_products_arguments arguments;
  mbi_amg_facts facts;
  *dense = 0;
  if (p->longest <= MBI_AMG_DENSE) {
    return MERBIT_OK;
  }
  arguments.nnz = (uint64_t)level->a.nnz;
  arguments.block = (uint32_t)level->block;
  arguments.col_ind = level->a.col_ind;
  arguments.row_ptr = p->row_ptr;
  arguments.products = MBI_AMG_FACT(gpu, products);
  MBI_TRY(mbi_amg_run(gpu, MBI_AMG_PRODUCTS, level->a.nnz, &arguments));
  MBI_TRY(mbi_amg_read(gpu, &facts));
  *dense = (double)facts.products > (double)MBI_AMG_DENSE * (double)level->a.nnz;
  return MERBIT_OK;
}

/* Sets the structure of P's blocks: T's if A P would fill up or A is nonsymmetric. */
static merbit_status mbi_amg_prolong(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                     mbi_amg_there *p) {
  const mbi_amg_there t = mbi_amg_tentative_of(level);
  const size_t bytes = ((size_t)level->a.rows + 1) * sizeof(int32_t);
  mbi_amg_there a = mbi_amg_filtered(level);
  int plain = gpu->nonsymmetric;
  if (!plain) {
    MBI_TRY(mbi_amg_product_columns(gpu, &a, &t, 1, p));
    MBI_TRY(mbi_amg_fills(gpu, level, p, &plain));
  }
  if (!plain) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_amg_keep(gpu, (int64_t)bytes, 1, &level->empty));
  MBI_TRY(mbi_device_zero(gpu->context, level->empty, bytes, NULL));
  a.row_ptr = level->empty;
  return mbi_amg_product_columns(gpu, &a, &t, 1, p);
}

/* Makes `next` from `level`, whose aggregates are known. */
static merbit_status mbi_amg_gpu_next(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                      mbi_amg_gpu_level *next) {
  const int block = level->block, k = level->vectors;
  mbi_amg_there *const p = &level->blocks, *const r = &level->turned;
  MBI_TRY(mbi_amg_prolong(gpu, level, p));
  MBI_TRY(mbi_amg_turn(gpu, p, r, &level->places));
  MBI_TRY(mbi_amg_expand(gpu, p, block, k, NULL, NULL, &level->p));
  MBI_TRY(mbi_amg_expand(gpu, r, k, block, p, &level->places, &level->r));
  MBI_TRY(mbi_amg_keep(gpu, level->a.rows * k, sizeof(double), &level->t));
  MBI_TRY(mbi_amg_keep(gpu, level->p.nnz, sizeof(double), &level->p.values));
  MBI_TRY(mbi_amg_keep(gpu, level->p.nnz, sizeof(double), &level->r.values));
  MBI_TRY(mbi_amg_keep(gpu, (int64_t)level->aggregates * k * k, sizeof(double), &next->modes));
  MBI_TRY(mbi_amg_tentative_there(gpu, level, r, next->modes));
  MBI_TRY(mbi_amg_product_columns(gpu, &level->graph, p, 0, &level->ap));
  MBI_TRY(mbi_amg_product_columns(gpu, r, &level->ap, 0, &next->graph));
  MBI_TRY(mbi_amg_expand(gpu, &next->graph, k, k, NULL, NULL, &next->a));
  MBI_TRY(mbi_amg_keep(gpu, next->a.nnz, sizeof(double), &next->a.values));
  next->block = next->vectors = k;
  return mbi_amg_galerkin_values(gpu, level, next);
}

/* Waits for the first pass over the user's matrix. Sorts its rows if they are not sorted, and
 * sets gpu->nonsymmetric by the `fraction`. `modes` is a copy of the level's modes in host
 * memory. */
static merbit_status mbi_amg_look_at_finest(mbi_amg_gpu *gpu, const double *modes,
                                            double fraction, const mbi_amg_found *found) {
  mbi_amg_gpu_level *level = gpu->levels;
  mbi_amg_facts facts;
  MBI_TRY(mbi_amg_look(gpu, level, MBI_AMG_SYMMETRY, fraction, found));
  MBI_TRY(mbi_amg_read(gpu, &facts));
  if (facts.strange) {
    MBI_TRY(mbi_amg_check_modes(gpu->context, modes, level->a.rows, level->vectors));
  }
  if (facts.unsorted) {
    gpu->given = level->a;
    MBI_TRY(mbi_amg_sort_rows(gpu, 1, &level->a));
    MBI_TRY(mbi_device_zero(gpu->context, gpu->facts, sizeof facts, NULL));
    MBI_TRY(mbi_amg_look(gpu, level, MBI_AMG_ROWS, 0, found));
    MBI_TRY(mbi_amg_look(gpu, level, MBI_AMG_SYMMETRY, fraction, found));
    MBI_TRY(mbi_amg_read(gpu, &facts));
  }
  level->a.longest = facts.longest;
  gpu->nonsymmetric = 4 * facts.one_sided > MBI_AMG_SAMPLE;
  return MERBIT_OK;
}

/* Examines the first level, and makes all levels by reduction if mbi_amg_coarsen does. */
static merbit_status mbi_amg_start(mbi_amg_gpu *gpu, const double *modes,
                                   mbi_amg_found *found) {
  const mbi_amg_gpu_level *level = gpu->levels;
  const int reducible = level->block == 1 && modes == NULL;
  mbi_amg_facts facts;
  MBI_TRY(mbi_amg_look_at_finest(
      gpu, modes, reducible ? MBI_REDUCTION_ONE_SIDED : MBI_AMG_ONE_SIDED, found));
  if (!reducible || !gpu->nonsymmetric) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_amg_gpu_reduce(gpu, found));
  if (gpu->reduced) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_device_zero(gpu->context, MBI_AMG_FACT(gpu, one_sided), sizeof facts.one_sided,
                          NULL));
  MBI_TRY(mbi_amg_look(gpu, gpu->levels, MBI_AMG_SYMMETRY, MBI_AMG_ONE_SIDED, found));
  MBI_TRY(mbi_amg_read(gpu, &facts));
  gpu->nonsymmetric = 4 * facts.one_sided > MBI_AMG_SAMPLE;
  return MERBIT_OK;
}

/* Makes levels[1], levels[2], ... from levels[0], which has `a` and `modes`. The parameter
 * `modes` is a copy in host memory. */
static merbit_status mbi_amg_gpu_coarsen(mbi_amg_gpu *gpu, const double *modes) {
  double theta = gpu->levels[0].block > 1 ? MBI_AMG_THETA_BLOCKS : MBI_AMG_THETA;
  for (;; theta /= MBI_AMG_THETA_FALL) {
    mbi_amg_gpu_level *level = &gpu->levels[gpu->count++];
    const int64_t rows = level->a.rows;
    const int last = rows <= MBI_AMG_COARSEST || gpu->count == MBI_AMG_LEVELS;
    mbi_amg_found found;
    MBI_TRY(mbi_amg_keep(gpu, rows, sizeof(double), &level->inverse));
    MBI_TRY(mbi_amg_look_first(gpu, level, &found));
    if (gpu->count == 1) {
      MBI_TRY(mbi_amg_start(gpu, modes, &found));
      if (gpu->reduced) {
        return MERBIT_OK;
      }
    }
    if (!last) {
      MBI_TRY(mbi_amg_look_at_blocks(gpu, level, &found));
    }
    MBI_TRY(mbi_amg_find_lambda(gpu, level));
    if (last) {
      return MERBIT_OK;
    }
    MBI_TRY(mbi_amg_keep(gpu, level->graph.nnz, sizeof(int32_t), &level->links));
    MBI_TRY(mbi_amg_look(gpu, level, MBI_AMG_LINKS, theta, &found));
    MBI_TRY(mbi_amg_find_aggregates(gpu, level, &found));
    if (level->aggregates == 0 ||
        (double)level->aggregates * level->vectors * MBI_AMG_COARSENING > (double)rows) {
      level->aggregates = 0;
      return MERBIT_OK;
    }
    MBI_TRY(mbi_amg_look(gpu, level, MBI_AMG_LINKS, 0, &found));
    MBI_TRY(mbi_amg_look(gpu, level, MBI_AMG_LUMP, 0, &found));
    MBI_TRY(mbi_amg_gpu_next(gpu, level, level + 1));
  }
}

#define MBI_AMG_PIECES 8 /* an update's scratch memory grows by this part of the set-up's */

/* Waits for the set-up and releases its scratch memory. The first update allocates memory
 * again, which the later ones use: in smaller pieces, so that less of it stays unused. */
static merbit_status mbi_amg_finish(mbi_amg_gpu *gpu) {
  MBI_TRY(mbi_device_synchronize(gpu->context, NULL));
  mbi_amg_pool_release(gpu->context, &gpu->scratch);
  gpu->scratch.grow /= MBI_AMG_PIECES;
  return MERBIT_OK;
}

/* Makes the hierarchy of a matrix that mbi_amg_gpu_takes accepts, with `block` rows per node.
 * Diagonal entries of magnitude up to `no_diagonal` count as 0. `modes` is the near-null-space
 * in host memory, `vectors` columns one after the other; if NULL, it is a constant vector for
 * each of the `vectors` = `block` unknowns of a node. The hierarchy may use the view's arrays.
 * The caller runs mbi_amg_gpu_destroy, on failure too. The CUDA context must be current. */
MBI_INTERNAL merbit_status mbi_amg_gpu_create(mbi_amg_gpu *gpu, merbit_context *context,
                                              const merbit_view *view, int block, int vectors,
                                              double no_diagonal, const double *modes) {
  const uint64_t bytes = 12 * (uint64_t)view->nnz + 96 * (uint64_t)view->rows;
  memset(gpu, 0, sizeof *gpu);
  gpu->context = context;
  gpu->no_diagonal = no_diagonal;
  gpu->levels[0].block = block;
  gpu->levels[0].vectors = vectors;
  gpu->scratch.grow = bytes > 65536 ? bytes : 65536; /* one chunk, in most cases */
  gpu->keep.grow = gpu->scratch.grow / 4;            /* several: less stays unused */
  MBI_TRY(mbi_amg_gpu_open(gpu));
  MBI_TRY(mbi_device_zero(context, gpu->facts, sizeof(mbi_amg_facts), NULL));
  if (modes != NULL) {
    const int64_t count = view->rows * vectors;
    MBI_TRY(mbi_amg_keep(gpu, count, sizeof(double), &gpu->levels[0].modes));
    MBI_TRY(mbi_device_upload(context, gpu->levels[0].modes, modes,
                              (size_t)count * sizeof(double)));
  }
  MBI_TRY(mbi_amg_convert(gpu, view, 0, &gpu->levels[0].a));
  MBI_TRY(mbi_amg_gpu_coarsen(gpu, modes));
  return mbi_amg_finish(gpu);
}

/* Recomputes the values of the hierarchy for the new values of the matrix in `view`. Keeps its
 * scratch memory: to allocate and release it took 5 % of an update of elasticity. */
MBI_INTERNAL merbit_status mbi_amg_gpu_update(mbi_amg_gpu *gpu, const merbit_view *view) {
  mbi_amg_there *a = &gpu->levels[0].a;
  int l;
  mbi_amg_pool_reset(&gpu->scratch);
  MBI_TRY(mbi_device_zero(gpu->context, gpu->facts, sizeof(mbi_amg_facts), NULL));
  if (gpu->given.row_ptr != 0) {
    MBI_TRY(mbi_amg_convert(gpu, view, 1, &gpu->given));
    MBI_TRY(mbi_amg_sort_rows(gpu, 0, a));
  } else {
    MBI_TRY(mbi_amg_convert(gpu, view, 1, a));
  }
  for (l = 0; l < gpu->count; l++) {
    mbi_amg_gpu_level *level = &gpu->levels[l];
    mbi_amg_found found;
    MBI_TRY(mbi_amg_look_first(gpu, level, &found));
    if (level->full.row_ptr != 0) { /* not on a last level that the set-up did not examine */
      MBI_TRY(mbi_amg_fill(gpu, level, &found));
    }
    if (gpu->reduced && l + 1 < gpu->count) {
      MBI_TRY(mbi_amg_gpu_reduce_again(gpu, level, level + 1));
      continue;
    }
    MBI_TRY(mbi_amg_find_lambda(gpu, level));
    if (l + 1 < gpu->count) {
      MBI_TRY(mbi_amg_look(gpu, level, MBI_AMG_LUMP, 0, &found));
      MBI_TRY(mbi_amg_galerkin_values(gpu, level, level + 1));
    }
  }
  return mbi_device_synchronize(gpu->context, NULL);
}

/* ---- Views for the cycle ----------------------------------------------------------------- */

/* Enqueues a copy of the inverse diagonal of level `l`, in the cycle's type; with `half`, of
 * that at C points. */
MBI_INTERNAL merbit_status mbi_amg_gpu_inverse(mbi_amg_gpu *gpu, int l, int half,
                                               merbit_type type, mbi_devptr to) {
  const mbi_amg_gpu_level *level = &gpu->levels[l];
  return mbi_amg_move(gpu, half ? level->inverse_c : level->inverse, 0, level->a.rows,
                      type == MERBIT_F32 ? 0 : to, type == MERBIT_F32 ? to : 0);
}

/* Sets the view of a matrix, with values in the cycle's type: in f32 those at *single, which is
 * allocated if 0. Enqueues their conversion. */
static merbit_status mbi_amg_view_there(mbi_amg_gpu *gpu, const mbi_amg_there *csr,
                                        mbi_devptr *single, merbit_type type,
                                        merbit_view *view) {
  *view = merbit_csr(csr->rows, csr->cols, csr->nnz, mbi_device_pointer(csr->row_ptr),
                     mbi_device_pointer(csr->col_ind), mbi_device_pointer(csr->values));
  view->memory = MERBIT_MEMORY_DEVICE;
  view->value_type = type;
  if (type == MERBIT_F32) {
    if (*single == 0) {
      MBI_TRY(mbi_amg_keep(gpu, csr->nnz, sizeof(float), single));
    }
    view->values = mbi_device_pointer(*single);
    return mbi_amg_move(gpu, csr->values, 0, csr->nnz, 0, *single);
  }
  return MERBIT_OK;
}

/* Sets the view of a matrix of level `l`: `which` is MBI_GRID_... */
MBI_INTERNAL merbit_status mbi_amg_gpu_show(mbi_amg_gpu *gpu, int l, int which,
                                            merbit_type type, merbit_view *view) {
  mbi_amg_gpu_level *level = &gpu->levels[l];
  const mbi_amg_there *csr = which == MBI_GRID_P   ? &level->p
                             : which == MBI_GRID_R ? &level->r
                             : which == MBI_GRID_C ? &level->halves[1]
                             : level->points != 0  ? &level->halves[0]
                                                   : &level->a;
  return mbi_amg_view_there(gpu, csr, &level->single[which], type, view);
}

#define MBI_COARSEST_THREADS 512 /* MBK_COARSEST_THREADS */
#define MBI_COARSEST_PIVOTS 8    /* MBK_COARSEST_PIVOTS */

/* Sets the view of the inverse of the last level's matrix. Enqueues its computation by
 * mbi_coarsest_invert's method. */
MBI_INTERNAL merbit_status mbi_amg_gpu_invert(mbi_amg_gpu *gpu, double least, merbit_type type,
                                              merbit_view *view) {
  const mbi_amg_there *a = &gpu->levels[gpu->count - 1].a;
  mbi_amg_there *inverse = &gpu->inverse;
  const size_t numbers = (2 * MBI_COARSEST_PIVOTS + 2) * (size_t)a->rows;
  mbk_amg_invert_arguments arguments;
  if (inverse->row_ptr == 0) {
    inverse->rows = inverse->cols = a->rows;
    inverse->nnz = a->rows * a->rows;
    MBI_TRY(mbi_amg_keep(gpu, inverse->nnz, sizeof(double), &inverse->values));
    MBI_TRY(mbi_amg_keep(gpu, inverse->nnz, sizeof(int32_t), &inverse->col_ind));
    MBI_TRY(mbi_amg_keep(gpu, a->rows + 1, sizeof(int32_t), &inverse->row_ptr));
  }
  arguments.rows = (uint32_t)a->rows;
  arguments.row_ptr = a->row_ptr;
  arguments.col_ind = a->col_ind;
  arguments.values = a->values;
  arguments.least = least;
  arguments.inverse_ptr = inverse->row_ptr;
  arguments.inverse_col = inverse->col_ind;
  arguments.inverse = inverse->values;
  MBI_TRY(mbi_amg_launch(gpu, MBI_AMG_INVERT, 1, MBI_COARSEST_THREADS,
                         numbers * sizeof(double) + sizeof(uint32_t), &arguments));
  return mbi_amg_view_there(gpu, inverse, &gpu->inverse_single, type, view);
}

/* Returns the bytes of GPU memory that the hierarchy holds, an update's scratch memory
 * included.
 */
MBI_INTERNAL uint64_t mbi_amg_gpu_bytes(const mbi_amg_gpu *gpu) {
  return mbi_amg_pool_bytes(&gpu->keep) + mbi_amg_pool_bytes(&gpu->scratch);
}

MBI_INTERNAL void mbi_amg_gpu_destroy(mbi_amg_gpu *gpu) {
  mbi_amg_pool_release(gpu->context, &gpu->keep);
  mbi_amg_pool_release(gpu->context, &gpu->scratch);
  mbi_program_destroy(gpu->context, &gpu->program);
  mbi_program_destroy(gpu->context, &gpu->transpose.program);
}
