#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "solve/amg/amg_cuda.h"

/* The levels of algebraic multigrid on the GPU, each made from the last. The kernels are in
 * solve/amg/setup.cu. */

#define MBI_AMG_BLOCKS 8192 /* the most thread blocks of a kernel that takes any grid */
#define MBI_AMG_PARTS 512   /* the most thread blocks whose sums are added up */

/* Returns the number of thread blocks for `count` threads. */
static int64_t mbi_amg_blocks(int64_t count) {
  const int64_t blocks = mbi_block_count(count, MBI_AMG_THREADS);
  return blocks < MBI_AMG_BLOCKS ? blocks : MBI_AMG_BLOCKS;
}

/* Returns the lanes for a row of `nnz` / `rows` entries, 1 to 32. */
static uint32_t mbi_amg_row_lanes(int64_t rows, int64_t nnz) {
  uint32_t lanes = 1;
  while (lanes < 32 && nnz >= 2 * (int64_t)lanes * rows) {
    lanes *= 2;
  }
  return lanes;
}

MBI_NOINLINE static merbit_status mbi_amg_run(mbi_amg_gpu *gpu, int kernel, int64_t threads,
                                              const void *arguments) {
  return mbi_amg_launch(gpu, kernel, mbi_amg_blocks(threads), MBI_AMG_THREADS, 0, arguments);
}

static merbit_status mbi_amg_keep(mbi_amg_gpu *gpu, int64_t count, size_t size,
                                  mbi_devptr *address) {
  return mbi_amg_pool_take(gpu->context, &gpu->keep, (uint64_t)count * size, address);
}

static merbit_status mbi_amg_borrow(mbi_amg_gpu *gpu, int64_t count, size_t size,
                                    mbi_devptr *address) {
  return mbi_amg_pool_take(gpu->context, &gpu->scratch, (uint64_t)count * size, address);
}

/* Enqueues a copy of `count` numbers to `to`, or rounded to `rounded`: those of `from`, in
 * their order or from `places`. */
static merbit_status mbi_amg_move(mbi_amg_gpu *gpu, mbi_devptr from, mbi_devptr places,
                                  int64_t count, mbi_devptr to, mbi_devptr rounded) {
  mbk_amg_move_arguments arguments;
  arguments.count = (uint64_t)count;
  arguments.places = places;
  arguments.from = from;
  arguments.to = to;
  arguments.rounded = rounded;
  return mbi_amg_run(gpu, MBI_AMG_MOVE, count, &arguments);
}

/* ---- The matrix -------------------------------------------------------------------------- */

/* Returns whether the set-up can run on the GPU: a whole CSR, not too large for 32-bit offsets.
 */
MBI_INTERNAL int mbi_amg_gpu_takes(const merbit_view *view) {
  return view->format == MERBIT_CSR && !mbi_view_is_triangle(view) && view->nnz <= INT32_MAX &&
         view->rows < INT32_MAX;
}

/* Uploads an array of the view, unless it is in GPU memory; `there` keeps its address. */
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

/* Sets `to` to the view's matrix: its own arrays where their types fit, copies of the others.
 * With `values_only`, takes values alone. */
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
  if (arguments.row_ptr_to == 0 && arguments.col_ind_to == 0 && arguments.values_to == 0) {
    return MERBIT_OK;
  }
  return mbi_amg_run(gpu, MBI_AMG_COPY, view->nnz + 1, &arguments);
}

/* Enqueues the values of A, the sorted copy of gpu->given without duplicates: its product with
 * the unit matrix. With `columns`, sets its structure first. */
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

/* ---- Strength and aggregates ------------------------------------------------------------- */

/* Returns the address of a number that the kernels report. */
#define MBI_AMG_FACT(gpu, field) ((gpu)->facts + offsetof(mbi_amg_facts, field))

static mbi_devptr mbi_amg_bound(const mbi_amg_gpu *gpu, const mbi_amg_gpu_level *level) {
  return MBI_AMG_FACT(gpu, bound) + (uint64_t)(level - gpu->levels) * sizeof(double);
}

/* Passes over A or its blocks. They find the inverse diagonal, a bound of lambda and the
 * largest entries; the norms of blocks and the largest ones; the strong entries; those that A_F
 * keeps, with its diagonal unless there are blocks; or this diagonal alone, without blocks or
 * with. */
enum {
  MBI_AMG_LARGEST,
  MBI_AMG_LARGEST_BLOCKS,
  MBI_AMG_STRONG,
  MBI_AMG_KEPT,
  MBI_AMG_KNOWN,
  MBI_AMG_LUMPED
};
typedef struct mbi_amg_found { /* per node, in scratch memory */
  mbi_devptr most, strongest, state;
} mbi_amg_found;

/* Enqueues a pass. `theta`: for MBI_AMG_STRONG. */
static merbit_status mbi_amg_look(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level, int pass,
                                  double theta, const mbi_amg_found *found) {
  static const int kernels[] = {MBI_AMG_ROWS,  MBI_AMG_NORMS, MBI_AMG_LINKS,
                                MBI_AMG_LINKS, MBI_AMG_LINKS, MBI_AMG_LUMP};
  const int blocks = level->block > 1,
            of_links = pass == MBI_AMG_STRONG || pass == MBI_AMG_KEPT;
  const int64_t rows =
      of_links || pass == MBI_AMG_LARGEST_BLOCKS ? level->graph.rows : level->a.rows;
  const mbi_amg_there *a = of_links ? &level->graph : &level->a;
  mbk_amg_strength_arguments arguments;
  arguments.rows = (uint64_t)rows;
  arguments.block = (uint32_t)level->block;
  arguments.row_ptr = a->row_ptr;
  arguments.col_ind = a->col_ind;
  arguments.values = a->values;
  arguments.lanes = pass == MBI_AMG_LARGEST_BLOCKS ? mbi_amg_row_lanes(rows, level->graph.nnz)
                                                   : mbi_amg_row_lanes(rows, a->nnz);
  arguments.known = pass == MBI_AMG_KNOWN;
  arguments.both = pass == MBI_AMG_STRONG;
  arguments.theta = arguments.both ? theta : MBI_AMG_FILTER;
  arguments.most = blocks && pass == MBI_AMG_LARGEST ? 0 : found->most;
  arguments.strongest = found->strongest;
  arguments.links = level->links;
  arguments.node_ptr = level->graph.row_ptr;
  arguments.node_col = level->graph.col_ind;
  arguments.norms = pass == MBI_AMG_LARGEST_BLOCKS ? level->graph.values : 0;
  arguments.lumped = pass == MBI_AMG_LUMPED ? level->lumped : 0;
  arguments.state = found->state;
  arguments.inverse = blocks && of_links ? 0 : level->inverse;
  arguments.filtered = level->filtered;
  arguments.scale = level->scale;
  arguments.least = pass == MBI_AMG_LARGEST ? gpu->no_diagonal : MBI_AMG_LEAST_DIAGONAL;
  arguments.bound = mbi_amg_bound(gpu, level);
  arguments.unsorted = MBI_AMG_FACT(gpu, unsorted);
  arguments.missing = MBI_AMG_FACT(gpu, missing);
  arguments.wild = MBI_AMG_FACT(gpu, wild);
  return mbi_amg_run(gpu, kernels[pass], rows * arguments.lanes, &arguments);
}

/* Takes scratch memory for a level and enqueues the first pass over its matrix. */
static merbit_status mbi_amg_look_first(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                        mbi_amg_found *found) {
  const int64_t rows = level->a.rows, nodes = rows / level->block;
  mbi_amg_pool_reset(&gpu->scratch);
  MBI_TRY(mbi_amg_borrow(gpu, nodes, sizeof(double), &found->most));
  MBI_TRY(mbi_amg_borrow(gpu, nodes, sizeof(int32_t), &found->strongest));
  MBI_TRY(mbi_amg_borrow(gpu, nodes, 1, &found->state));
  MBI_TRY(mbi_amg_borrow(gpu, rows, sizeof(double), &level->filtered));
  MBI_TRY(mbi_amg_borrow(gpu, rows, sizeof(double), &level->scale));
  return mbi_amg_look(gpu, level, MBI_AMG_LARGEST, 0, found);
}

/* Enqueues the pass that finds the diagonal of A_F, and A_F itself if there are blocks. */
static merbit_status mbi_amg_look_last(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                       const mbi_amg_found *found) {
  if (level->block == 1) {
    return mbi_amg_look(gpu, level, MBI_AMG_KNOWN, 0, found);
  }
  MBI_TRY(mbi_amg_borrow(gpu, level->a.nnz, sizeof(int32_t), &level->lumped));
  return mbi_amg_look(gpu, level, MBI_AMG_LUMPED, 0, found);
}

/* Sets level->graph and enqueues the pass over blocks. Waits if the level is the first. */
static merbit_status mbi_amg_look_at_blocks(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                            const mbi_amg_found *found) {
  if (level->block == 1) {
    level->graph = level->a;
    return MERBIT_OK;
  }
  if (level == gpu->levels) { /* the product of the nodes' rows and the nodes of columns */
    mbi_amg_there rows = level->a, nodes;
    mbk_amg_strength_arguments arguments;
    memset(&nodes, 0, sizeof nodes);
    memset(&arguments, 0, sizeof arguments);
    rows.rows = nodes.cols = level->a.rows / level->block;
    MBI_TRY(mbi_amg_borrow(gpu, rows.rows + 1, sizeof(int32_t), &rows.row_ptr));
    MBI_TRY(mbi_amg_borrow(gpu, level->a.rows, sizeof(int32_t), &nodes.col_ind));
    arguments.rows = (uint64_t)level->a.rows;
    arguments.block = (uint32_t)level->block;
    arguments.row_ptr = level->a.row_ptr;
    arguments.node_ptr = rows.row_ptr;
    arguments.node_col = nodes.col_ind;
    MBI_TRY(mbi_amg_run(gpu, MBI_AMG_NODES, level->a.rows + 1, &arguments));
    MBI_TRY(mbi_amg_product_columns(gpu, &rows, &nodes, 0, &level->graph));
  }
  MBI_TRY(mbi_amg_borrow(gpu, level->graph.nnz, sizeof(double), &level->graph.values));
  return mbi_amg_look(gpu, level, MBI_AMG_LARGEST_BLOCKS, 0, found);
}

/* Enqueues steps of Lanczos's method for D^-1/2 A D^-1/2. */
static merbit_status mbi_amg_lanczos(mbi_amg_gpu *gpu, const mbi_amg_gpu_level *level) {
  const mbi_amg_there *a = &level->a;
  const size_t shared = MBI_AMG_THREADS / 32 * sizeof(double);
  mbk_amg_lanczos_arguments arguments;
  mbi_devptr *const vectors[] = {&arguments.v, &arguments.u, &arguments.w, &arguments.dots,
                                 &arguments.squares};
  mbi_devptr swap;
  int64_t grid;
  int i;
  arguments.rows = (uint64_t)a->rows;
  arguments.row_ptr = a->row_ptr;
  arguments.col_ind = a->col_ind;
  arguments.values = a->values;
  arguments.inverse = level->inverse;
  arguments.lanes = mbi_amg_row_lanes(a->rows, a->nnz);
  arguments.alpha = MBI_AMG_FACT(gpu, alpha);
  arguments.beta = MBI_AMG_FACT(gpu, beta);
  grid = mbi_amg_blocks(a->rows * arguments.lanes);
  grid = grid < MBI_AMG_PARTS ? grid : MBI_AMG_PARTS;
  for (i = 0; i < 5; i++) {
    MBI_TRY(mbi_amg_borrow(gpu, i < 3 ? a->rows : grid, sizeof(double), vectors[i]));
  }
  MBI_TRY(
      mbi_amg_launch(gpu, MBI_AMG_LANCZOS_START, grid, MBI_AMG_THREADS, shared, &arguments));
  for (i = 0; i < MBI_LAMBDA_STEPS; i++) {
    arguments.step = (uint32_t)i;
    MBI_TRY(mbi_amg_launch(gpu, MBI_AMG_LANCZOS_MULTIPLY, grid, MBI_AMG_THREADS, shared,
                           &arguments));
    MBI_TRY(mbi_amg_launch(gpu, MBI_AMG_LANCZOS_SUBTRACT, grid, MBI_AMG_THREADS, shared,
                           &arguments));
    swap = arguments.v;
    arguments.v = arguments.w;
    arguments.w = swap;
  }
  return MERBIT_OK;
}

/* Sets level->lambda as mbi_amg_diagonal does, from the bound that the GPU computes. Waits. */
static merbit_status mbi_amg_find_lambda(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level) {
  mbi_amg_facts facts;
  int steps = 0;
  MBI_TRY(mbi_amg_read(gpu, &facts));
  level->lambda = facts.bound[level - gpu->levels];
  if (level == gpu->levels && facts.missing != 0) {
    return mbi_amg_fail_diagonal(gpu->context, (int64_t)(uint32_t)~facts.missing);
  }
  if (facts.wild != 0) {
    return mbi_amg_fail_bound(gpu->context, (int64_t)(uint32_t)~facts.wild, level->a.rows);
  }
  if (level->lambda > MBI_LAMBDA_DOMINANT) {
    MBI_TRY(mbi_amg_lanczos(gpu, level));
    MBI_TRY(mbi_amg_read(gpu, &facts));
    while (steps < MBI_LAMBDA_STEPS && (steps == 0 || facts.beta[steps] > MBI_LAMBDA_LEAST)) {
      steps++;
    }
    level->lambda =
        fmin(level->lambda, MBI_LAMBDA_SAFETY *
                                mbi_amg_largest(facts.alpha, facts.beta, steps, level->lambda));
  }
  return MERBIT_OK;
}

/* Runs rounds until all nodes are decided. Waits. */
static merbit_status mbi_amg_rounds(mbi_amg_gpu *gpu, mbk_amg_aggregate_arguments *arguments) {
  const int64_t threads = (int64_t)arguments->rows * arguments->lanes;
  mbi_amg_facts facts;
  int i;
  arguments->first = 1;
  arguments->round = 0;
  arguments->open = MBI_AMG_FACT(gpu, open);
  do {
    for (i = 0; i < MBI_AMG_ROUNDS; i++, arguments->first = 0) {
      arguments->round++;
      MBI_TRY(mbi_amg_run(gpu, MBI_AMG_NEAR_KEYS, threads, arguments));
      MBI_TRY(mbi_device_zero(gpu->context, arguments->open, sizeof facts.open, NULL));
      MBI_TRY(mbi_amg_run(gpu, MBI_AMG_DECIDE, threads, arguments));
    }
    MBI_TRY(mbi_amg_read(gpu, &facts));
  } while (facts.open > 0);
  return MERBIT_OK;
}

/* Sets level->aggregate and level->aggregates. Waits. */
static merbit_status mbi_amg_find_aggregates(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                             const mbi_amg_found *found) {
  const mbi_amg_there *a = &level->graph;
  mbk_amg_aggregate_arguments arguments;
  mbi_amg_facts facts;
  arguments.rows = (uint64_t)a->rows;
  arguments.row_ptr = a->row_ptr;
  arguments.links = level->links;
  arguments.lanes = mbi_amg_row_lanes(a->rows, a->nnz);
  arguments.state = found->state;
  arguments.strongest = found->strongest;
  MBI_TRY(mbi_amg_borrow(gpu, a->rows, sizeof(uint64_t), &arguments.around));
  MBI_TRY(mbi_amg_borrow(gpu, a->rows + 1, sizeof(int32_t), &arguments.counts));
  MBI_TRY(mbi_amg_borrow(gpu, a->rows, sizeof(int32_t), &arguments.joined));
  MBI_TRY(mbi_amg_keep(gpu, a->rows, sizeof(int32_t), &level->aggregate));
  arguments.aggregate = level->aggregate;
  MBI_TRY(
      mbi_device_zero(gpu->context, arguments.counts, (size_t)a->rows * sizeof(int32_t), NULL));
  MBI_TRY(mbi_amg_rounds(gpu, &arguments));
  MBI_TRY(mbi_amg_scan(gpu, arguments.counts, a->rows));
  MBI_TRY(mbi_amg_run(gpu, MBI_AMG_JOIN, a->rows, &arguments));
  MBI_TRY(mbi_amg_run(gpu, MBI_AMG_REST, a->rows, &arguments));
  MBI_TRY(mbi_amg_run(gpu, MBI_AMG_FOLLOW, a->rows, &arguments));
  MBI_TRY(mbi_amg_read(gpu, &facts));
  level->aggregates = (int32_t)facts.total;
  return MERBIT_OK;
}

/* ---- Levels ------------------------------------------------------------------------------ */

/* Returns the blocks of T, one for each node. */
static mbi_amg_there mbi_amg_tentative_of(const mbi_amg_gpu_level *level) {
  mbi_amg_there t;
  memset(&t, 0, sizeof t);
  t.rows = t.nnz = level->graph.rows;
  t.cols = level->aggregates;
  t.col_ind = level->aggregate;
  return t;
}

/* Returns A or its blocks with the columns of A_F without its diagonal; without any entries if
 * P = T. */
static mbi_amg_there mbi_amg_filtered(const mbi_amg_gpu_level *level, const mbi_amg_there *a,
                                      mbi_devptr columns) {
  mbi_amg_there filtered = *a;
  filtered.col_ind = columns;
  filtered.row_ptr = level->empty != 0 ? level->empty : a->row_ptr;
  return filtered;
}

/* Enqueues the structure of a matrix whose entries are blocks of `height` x `width` at the
 * entries of `nodes`; taken from `pool`. `places` NULL, or those of the blocks in `p`, to which
 * `to` is the transpose: replaces them by those of the entries. */
static merbit_status mbi_amg_expand(mbi_amg_gpu *gpu, mbi_amg_pool *pool,
                                    const mbi_amg_there *nodes, int height, int width,
                                    const mbi_amg_there *p, mbi_devptr *places,
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
  MBI_TRY(mbi_amg_pool_take(gpu->context, pool, ((uint64_t)to->rows + 1) * sizeof(int32_t),
                            &to->row_ptr));
  MBI_TRY(
      mbi_amg_pool_take(gpu->context, pool, (uint64_t)to->nnz * sizeof(int32_t), &to->col_ind));
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
    MBI_TRY(mbi_amg_pool_take(gpu->context, pool, (uint64_t)to->nnz * sizeof(int32_t), places));
    arguments.places_to = *places;
  }
  return mbi_amg_run(gpu, MBI_AMG_EXPAND, nodes->rows * arguments.lanes, &arguments);
}

/* Enqueues the tentative prolongation and the near-null-space of the next level. `r` has the
 * blocks of R. */
static merbit_status mbi_amg_tentative_there(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                             const mbi_amg_there *r, mbi_devptr coarse) {
  mbk_amg_tentative_arguments arguments;
  arguments.aggregates = (uint64_t)(uint32_t)level->aggregates;
  arguments.r_ptr = r->row_ptr;
  arguments.r_col = r->col_ind;
  arguments.aggregate = level->aggregate;
  arguments.modes = level->modes;
  arguments.next_row = (uint32_t)level->vectors;
  arguments.next_vector = 1;
  if (level == gpu->levels) { /* the caller's vectors */
    arguments.next_row = 1;
    arguments.next_vector = (uint64_t)level->a.rows;
  }
  arguments.block = (uint32_t)level->block;
  arguments.vectors = (uint32_t)level->vectors;
  arguments.lanes = mbi_amg_row_lanes(r->rows, r->nnz);
  arguments.coarse = coarse;
  arguments.t = level->t;
  return mbi_amg_run(gpu, MBI_AMG_TENTATIVE, r->rows * arguments.lanes, &arguments);
}

/* Enqueues the values of P and R, and of the next level's matrix. */
static merbit_status mbi_amg_galerkin_values(mbi_amg_gpu *gpu, const mbi_amg_gpu_level *level,
                                             const mbi_amg_there *coarse) {
  const mbi_amg_there nodes = mbi_amg_tentative_of(level);
  const mbi_amg_there a =
      mbi_amg_filtered(level, &level->a, level->block > 1 ? level->lumped : level->links);
  mbi_amg_there t, ap;
  MBI_TRY(
      mbi_amg_expand(gpu, &gpu->scratch, &nodes, level->block, level->vectors, NULL, NULL, &t));
  t.values = level->t;
  MBI_TRY(mbi_amg_product_values(gpu, &a, &t, level, &level->p));
  MBI_TRY(mbi_amg_move(gpu, level->p.values, level->places, level->r.nnz, level->r.values, 0));
  MBI_TRY(mbi_amg_expand(gpu, &gpu->scratch, &level->ap, level->block, level->vectors, NULL,
                         NULL, &ap));
  MBI_TRY(mbi_amg_borrow(gpu, ap.nnz, sizeof(double), &ap.values));
  MBI_TRY(mbi_amg_product_values(gpu, &level->a, &level->p, NULL, &ap));
  return mbi_amg_product_values(gpu, &level->r, &ap, NULL, coarse);
}

/* Sets the blocks of P: those of T if A P would fill up, as mbi_amg_smooth decides. */
static merbit_status mbi_amg_prolong(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                     mbi_amg_there *p) {
  const mbi_amg_there t = mbi_amg_tentative_of(level);
  const size_t bytes = ((size_t)level->a.rows + 1) * sizeof(int32_t);
  mbi_amg_there a = mbi_amg_filtered(level, &level->graph, level->links);
  mbk_amg_products_arguments arguments;
  mbi_amg_facts facts;
  MBI_TRY(mbi_amg_product_columns(gpu, &a, &t, 1, p));
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
  if ((double)facts.products <= (double)MBI_AMG_DENSE * (double)level->a.nnz) {
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
  mbi_amg_there p, r; /* their blocks */
  memset(&p, 0, sizeof p);
  memset(&r, 0, sizeof r);
  MBI_TRY(mbi_amg_prolong(gpu, level, &p));
  MBI_TRY(mbi_amg_turn(gpu, &p, &r, &level->places));
  MBI_TRY(mbi_amg_expand(gpu, &gpu->keep, &p, block, k, NULL, NULL, &level->p));
  MBI_TRY(mbi_amg_expand(gpu, &gpu->keep, &r, k, block, &p, &level->places, &level->r));
  MBI_TRY(mbi_amg_keep(gpu, level->a.rows * k, sizeof(double), &level->t));
  MBI_TRY(mbi_amg_keep(gpu, level->p.nnz, sizeof(double), &level->p.values));
  MBI_TRY(mbi_amg_keep(gpu, level->p.nnz, sizeof(double), &level->r.values));
  MBI_TRY(mbi_amg_keep(gpu, (int64_t)level->aggregates * k * k, sizeof(double), &next->modes));
  MBI_TRY(mbi_amg_tentative_there(gpu, level, &r, next->modes));
  MBI_TRY(mbi_amg_product_columns(gpu, &level->graph, &p, 0, &level->ap));
  MBI_TRY(mbi_amg_product_columns(gpu, &r, &level->ap, 0, &next->graph));
  MBI_TRY(mbi_amg_expand(gpu, &gpu->keep, &next->graph, k, k, NULL, NULL, &next->a));
  MBI_TRY(mbi_amg_keep(gpu, next->a.nnz, sizeof(double), &next->a.values));
  next->block = next->vectors = k;
  return mbi_amg_galerkin_values(gpu, level, &next->a);
}

/* Makes levels[1], levels[2], ... from levels[0], which has `a` and `modes`. */
static merbit_status mbi_amg_gpu_coarsen(mbi_amg_gpu *gpu) {
  double theta = gpu->levels[0].block > 1 ? MBI_AMG_THETA_BLOCKS : MBI_AMG_THETA;
  for (;; theta /= MBI_AMG_THETA_FALL) {
    mbi_amg_gpu_level *level = &gpu->levels[gpu->count++];
    const int64_t rows = level->a.rows;
    mbi_amg_found found;
    mbi_amg_facts facts;
    MBI_TRY(mbi_amg_keep(gpu, rows, sizeof(double), &level->inverse));
    MBI_TRY(mbi_amg_look_first(gpu, level, &found));
    if (gpu->count == 1) {
      MBI_TRY(mbi_amg_read(gpu, &facts));
      if (facts.unsorted) {
        gpu->given = level->a;
        MBI_TRY(mbi_amg_sort_rows(gpu, 1, &level->a));
        MBI_TRY(mbi_device_zero(gpu->context, gpu->facts, sizeof facts, NULL));
        MBI_TRY(mbi_amg_look(gpu, level, MBI_AMG_LARGEST, 0, &found));
      }
    }
    MBI_TRY(mbi_amg_find_lambda(gpu, level));
    if (rows <= MBI_AMG_COARSEST || gpu->count == MBI_AMG_LEVELS) {
      return MERBIT_OK;
    }
    MBI_TRY(mbi_amg_look_at_blocks(gpu, level, &found));
    MBI_TRY(mbi_amg_keep(gpu, level->graph.nnz, sizeof(int32_t), &level->links));
    MBI_TRY(mbi_amg_look(gpu, level, MBI_AMG_STRONG, theta, &found));
    MBI_TRY(mbi_amg_find_aggregates(gpu, level, &found));
    if (level->aggregates == 0 ||
        (double)level->aggregates * level->vectors * MBI_AMG_COARSENING > (double)rows) {
      level->aggregates = 0;
      return MERBIT_OK;
    }
    MBI_TRY(mbi_amg_look(gpu, level, MBI_AMG_KEPT, 0, &found));
    if (level->block > 1) {
      MBI_TRY(mbi_amg_look_last(gpu, level, &found));
    }
    MBI_TRY(mbi_amg_gpu_next(gpu, level, level + 1));
  }
}

/* Waits for the set-up. */
static merbit_status mbi_amg_finish(mbi_amg_gpu *gpu) {
  MBI_TRY(mbi_device_synchronize(gpu->context, NULL));
  mbi_amg_pool_release(gpu->context, &gpu->scratch);
  return MERBIT_OK;
}

/* Makes the hierarchy of a matrix that mbi_amg_gpu_takes, with `block` rows to a node. Diagonal
 * entries up to `no_diagonal` count as 0. `modes` is the near-null-space in host memory,
 * `vectors` columns one after the other; or NULL for a constant vector for each of the
 * `vectors` = `block` unknowns of a node. The hierarchy may use the view's arrays. On failure,
 * and at the end, the caller runs mbi_amg_gpu_destroy. The CUDA context must be current. */
MBI_INTERNAL merbit_status mbi_amg_gpu_create(mbi_amg_gpu *gpu, merbit_context *context,
                                              const merbit_view *view, int block, int vectors,
                                              double no_diagonal, const double *modes) {
  const uint64_t bytes = 4 * (uint64_t)view->nnz + 32 * (uint64_t)view->rows;
  memset(gpu, 0, sizeof *gpu);
  gpu->context = context;
  gpu->no_diagonal = no_diagonal;
  gpu->levels[0].block = block;
  gpu->levels[0].vectors = vectors;
  gpu->scratch.grow = bytes > 65536 ? bytes : 65536;
  gpu->keep.grow = gpu->scratch.grow / 4; /* less is left over in the end */
  MBI_TRY(mbi_amg_gpu_open(gpu));
  MBI_TRY(mbi_device_zero(context, gpu->facts, sizeof(mbi_amg_facts), NULL));
  MBI_TRY(mbi_amg_convert(gpu, view, 0, &gpu->levels[0].a));
  if (modes != NULL) {
    const int64_t count = view->rows * vectors;
    MBI_TRY(mbi_amg_keep(gpu, count, sizeof(double), &gpu->levels[0].modes));
    MBI_TRY(mbi_device_upload(context, gpu->levels[0].modes, modes,
                              (size_t)count * sizeof(double)));
  }
  MBI_TRY(mbi_amg_gpu_coarsen(gpu));
  return mbi_amg_finish(gpu);
}

/* Renews the values of the hierarchy for new values of the matrix, where `view` has them. */
MBI_INTERNAL merbit_status mbi_amg_gpu_update(mbi_amg_gpu *gpu, const merbit_view *view) {
  mbi_amg_there *a = &gpu->levels[0].a;
  int l;
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
    MBI_TRY(mbi_amg_find_lambda(gpu, level));
    if (l + 1 < gpu->count) {
      MBI_TRY(mbi_amg_look_last(gpu, level, &found));
      MBI_TRY(mbi_amg_galerkin_values(gpu, level, &gpu->levels[l + 1].a));
    }
  }
  return mbi_amg_finish(gpu);
}

/* ---- What the cycle takes ---------------------------------------------------------------- */

/* Enqueues a copy of the inverse diagonal of level `l`, in the type of the cycle. */
MBI_INTERNAL merbit_status mbi_amg_gpu_inverse(mbi_amg_gpu *gpu, int l, merbit_type type,
                                               mbi_devptr to) {
  const mbi_amg_gpu_level *level = &gpu->levels[l];
  return mbi_amg_move(gpu, level->inverse, 0, level->a.rows, type == MERBIT_F32 ? 0 : to,
                      type == MERBIT_F32 ? to : 0);
}

/* Sets the view of a matrix of level `l`: 0: A, 1: P, 2: R, with values in the type of the
 * cycle. Enqueues their conversion. */
MBI_INTERNAL merbit_status mbi_amg_gpu_show(mbi_amg_gpu *gpu, int l, int which,
                                            merbit_type type, merbit_view *view) {
  mbi_amg_gpu_level *level = &gpu->levels[l];
  const mbi_amg_there *csr = which == 0 ? &level->a : which == 1 ? &level->p : &level->r;
  mbi_devptr *single = &level->single[which];
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

/* Sets *to to a copy in host memory of `count` elements. */
static merbit_status mbi_amg_fetch(mbi_amg_gpu *gpu, mbi_devptr from, int64_t count,
                                   size_t size, void **to) {
  MBI_TRY(mbi_allocate_array(gpu->context, count, size, "the coarsest matrix", to));
  return mbi_device_download(gpu->context, *to, from, (size_t)count * size);
}

/* Sets `csr` to a copy of the last level's matrix. */
MBI_INTERNAL merbit_status mbi_amg_gpu_coarsest(mbi_amg_gpu *gpu, mbi_amg_csr *csr) {
  const mbi_amg_there *a = &gpu->levels[gpu->count - 1].a;
  csr->rows = csr->cols = a->rows;
  csr->nnz = a->nnz;
  MBI_TRY(mbi_amg_fetch(gpu, a->row_ptr, a->rows + 1, sizeof(int32_t), (void **)&csr->row_ptr));
  MBI_TRY(mbi_amg_fetch(gpu, a->col_ind, a->nnz, sizeof(int32_t), (void **)&csr->col_ind));
  return mbi_amg_fetch(gpu, a->values, a->nnz, sizeof(double), (void **)&csr->values);
}

/* Returns the bytes of GPU memory that the hierarchy holds. */
MBI_INTERNAL uint64_t mbi_amg_gpu_bytes(const mbi_amg_gpu *gpu) {
  uint64_t bytes = 0;
  int i;
  for (i = 0; i < gpu->keep.count; i++) {
    bytes += gpu->keep.bytes[i];
  }
  return bytes;
}

MBI_INTERNAL void mbi_amg_gpu_destroy(mbi_amg_gpu *gpu) {
  mbi_amg_pool_release(gpu->context, &gpu->keep);
  mbi_amg_pool_release(gpu->context, &gpu->scratch);
  mbi_program_destroy(gpu->context, &gpu->program);
  mbi_program_destroy(gpu->context, &gpu->transpose.program);
}
