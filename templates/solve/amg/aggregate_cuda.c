#include "core/context.h"
#include "jit/jit.h"
#include "solve/amg/amg_cuda.h"

/* Multigrid on the GPU: strength of connection, inverse diagonal, largest eigenvalue and
 * aggregates. The kernels are in solve/amg/setup.cu and aggregate.cuh. */

#define MBI_AMG_RESIDENT 5    /* thread blocks of the Lanczos kernels per multiprocessor */
#define MBI_AMG_ROWS_BLOCKS 8 /* and of MBI_AMG_ROWS, at most */

static mbi_devptr mbi_amg_bound(const mbi_amg_gpu *gpu, const mbi_amg_gpu_level *level) {
  return MBI_AMG_FACT(gpu, bound) + (uint64_t)(level - gpu->levels) * sizeof(double);
}

/* Enqueues a pass over A or its blocks: MBI_AMG_ROWS, _SYMMETRY, _FILL, _NORMS, _LINKS or
 * _LUMP. MBI_AMG_LINKS marks the strong entries, or those that A_F keeps if `theta` is 0.
 * `theta` is the fraction for MBI_AMG_SYMMETRY. */
MBI_INTERNAL merbit_status mbi_amg_look(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level, int kernel,
                                        double theta, const mbi_amg_found *found) {
  const mbi_amg_there *a = kernel == MBI_AMG_LINKS                             ? &level->graph
                           : kernel == MBI_AMG_NORMS || kernel == MBI_AMG_LUMP ? &level->full
                                                                               : &level->a;
  const int sampled = kernel == MBI_AMG_SYMMETRY;
  const int64_t most = MBI_AMG_ROWS_BLOCKS * (int64_t)gpu->context->device.multiprocessors;
  mbk_amg_strength_arguments arguments;
  int64_t grid;
  arguments.rows = (uint64_t)a->rows;
  arguments.block = (uint32_t)level->block;
  arguments.row_ptr = a->row_ptr;
  arguments.col_ind = a->col_ind;
  arguments.values = a->values;
  /* A lane takes eight or more single entries, or two or more blocks. */
  arguments.lanes = mbi_amg_row_lanes(a->rows, level->block > 1 ? a->nnz : a->nnz / 4);
  arguments.both = theta > 0;
  arguments.theta = theta > 0 ? theta : MBI_AMG_FILTER;
  arguments.most = level->block > 1 && kernel == MBI_AMG_ROWS ? 0 : found->most;
  arguments.strongest = found->strongest;
  arguments.links = level->links;
  arguments.node_ptr = level->graph.row_ptr;
  arguments.node_col = level->graph.col_ind;
  arguments.norms = kernel == MBI_AMG_NORMS ? level->graph.values : 0;
  arguments.full = kernel == MBI_AMG_FILL ? level->full.values : 0;
  arguments.state = found->state;
  arguments.inverse = level->inverse;
  arguments.scale = level->scale;
  arguments.least = kernel == MBI_AMG_ROWS ? gpu->no_diagonal : MBI_AMG_LEAST_DIAGONAL;
  arguments.bound = mbi_amg_bound(gpu, level);
  arguments.unsorted = MBI_AMG_FACT(gpu, unsorted);
  arguments.missing = MBI_AMG_FACT(gpu, missing);
  arguments.wild = MBI_AMG_FACT(gpu, wild);
  arguments.longest = MBI_AMG_FACT(gpu, longest);
  arguments.one_sided = MBI_AMG_FACT(gpu, one_sided);
  arguments.sample = a->rows > 0 ? MBI_AMG_SAMPLE : 0;
  arguments.entries = MBI_AMG_SAMPLE_ENTRIES;
  grid = mbi_amg_blocks(sampled ? MBI_AMG_SAMPLE : a->rows * arguments.lanes);
  if (kernel == MBI_AMG_ROWS && grid > most) { /* each of its warps ends with atomics */
    grid = most;
  }
  return mbi_amg_launch(gpu, kernel, grid, MBI_AMG_THREADS, 0, &arguments);
}

/* Allocates scratch memory for a level and enqueues the first pass over its matrix. */
MBI_INTERNAL merbit_status mbi_amg_look_first(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                              mbi_amg_found *found) {
  const int64_t rows = level->a.rows, nodes = rows / level->block;
  mbi_amg_pool_reset(&gpu->scratch);
  MBI_TRY(mbi_amg_borrow(gpu, nodes, sizeof(double), &found->most));
  MBI_TRY(mbi_amg_borrow(gpu, nodes, sizeof(int32_t), &found->strongest));
  MBI_TRY(mbi_amg_borrow(gpu, nodes, 1, &found->state));
  MBI_TRY(mbi_amg_borrow(gpu, rows, sizeof(double), &level->scale));
  return mbi_amg_look(gpu, level, MBI_AMG_ROWS, 0, found);
}

/* Sets level->full to A as full blocks. If the blocks have holes, that is a copy in scratch
 * memory with zeros in them. */
MBI_INTERNAL merbit_status mbi_amg_fill(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                        const mbi_amg_found *found) {
  const int64_t entries = level->graph.nnz * level->block * level->block;
  level->full = level->graph;
  level->full.values = level->a.values;
  if (entries == level->a.nnz) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_amg_borrow(gpu, entries, sizeof(double), &level->full.values));
  MBI_TRY(mbi_device_zero(gpu->context, level->full.values, (size_t)entries * sizeof(double),
                          NULL));
  return mbi_amg_look(gpu, level, MBI_AMG_FILL, 0, found);
}

/* Sets level->graph and level->full, and enqueues the pass over the blocks. Waits if that is
 * the first level and its nodes have several rows. */
MBI_INTERNAL merbit_status mbi_amg_look_at_blocks(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                                  const mbi_amg_found *found) {
  if (level->block == 1) {
    level->graph = level->a;
    return mbi_amg_fill(gpu, level, found);
  }
  if (level == gpu->levels) { /* multiplies A, the rows of each node joined, by the matrix that
                               * maps columns to nodes */
    mbi_amg_there rows = level->a, nodes;
    mbk_amg_strength_arguments arguments;
    memset(&nodes, 0, sizeof nodes);
    memset(&arguments, 0, sizeof arguments);
    rows.rows = nodes.cols = level->a.rows / level->block;
    rows.longest = 0; /* unknown */
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
  MBI_TRY(mbi_amg_fill(gpu, level, found));
  MBI_TRY(mbi_amg_borrow(gpu, level->graph.nnz, sizeof(double), &level->graph.values));
  return mbi_amg_look(gpu, level, MBI_AMG_NORMS, 0, found);
}

/* Enqueues the Lanczos steps for D^-1/2 A D^-1/2. */
static merbit_status mbi_amg_lanczos(mbi_amg_gpu *gpu, const mbi_amg_gpu_level *level) {
  const int whole = level->block > 1 && level->full.values == level->a.values;
  const mbi_amg_there *a = whole ? &level->full : &level->a;
  const size_t shared = MBI_AMG_THREADS / 32 * sizeof(double);
  mbk_amg_lanczos_arguments arguments;
  const int64_t most = MBI_AMG_RESIDENT * (int64_t)gpu->context->device.multiprocessors;
  mbi_devptr *const vectors[] = {&arguments.v, &arguments.u,    &arguments.w,
                                 &arguments.x, &arguments.dots, &arguments.squares};
  mbi_devptr swap;
  int64_t grid;
  int i;
  arguments.rows = (uint64_t)level->a.rows;
  arguments.nodes = (uint64_t)a->rows;
  arguments.block = whole ? (uint32_t)level->block : 1;
  arguments.row_ptr = a->row_ptr;
  arguments.col_ind = a->col_ind;
  arguments.values = a->values;
  arguments.inverse = level->inverse;
  arguments.lanes = mbi_amg_row_lanes(a->rows, whole ? a->nnz * level->block : a->nnz / 4);
  if (whole && arguments.lanes < 4) {
    arguments.lanes = 4;
  }
  arguments.alpha = MBI_AMG_FACT(gpu, alpha);
  arguments.beta = MBI_AMG_FACT(gpu, beta);
  grid = mbi_amg_blocks(a->rows * arguments.lanes);
  grid = grid < most ? grid : most;
  for (i = 0; i < 6; i++) {
    MBI_TRY(mbi_amg_borrow(gpu, i < 4 ? level->a.rows : grid, sizeof(double), vectors[i]));
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

/* Fails if the first pass found a row of the finest matrix without an inverse diagonal, or a
 * row whose sum is not finite. */
MBI_INTERNAL merbit_status mbi_amg_check_rows(mbi_amg_gpu *gpu, const mbi_amg_gpu_level *level,
                                              const mbi_amg_facts *facts) {
  if (level == gpu->levels && facts->missing != 0) {
    return mbi_amg_fail_diagonal(gpu->context, (int64_t)(uint32_t)~facts->missing);
  }
  if (facts->wild != 0) {
    return mbi_amg_fail_bound(gpu->context, (int64_t)(uint32_t)~facts->wild, level->a.rows);
  }
  return MERBIT_OK;
}

/* Sets level->lambda as mbi_amg_diagonal does, from the bound that the GPU computes. Waits. */
MBI_INTERNAL merbit_status mbi_amg_find_lambda(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level) {
  mbi_amg_facts facts;
  int steps = 0;
  MBI_TRY(mbi_amg_read(gpu, &facts));
  level->lambda = facts.bound[level - gpu->levels];
  MBI_TRY(mbi_amg_check_rows(gpu, level, &facts));
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

/* Runs rounds of aggregation until all nodes are decided. Waits. */
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
MBI_INTERNAL merbit_status mbi_amg_find_aggregates(mbi_amg_gpu *gpu, mbi_amg_gpu_level *level,
                                                   const mbi_amg_found *found) {
  const mbi_amg_there *a = &level->graph;
  mbk_amg_aggregate_arguments arguments;
  mbi_amg_facts facts;
  arguments.rows = (uint64_t)a->rows;
  arguments.row_ptr = a->row_ptr;
  arguments.links = level->links;
  arguments.lanes = mbi_amg_row_lanes(a->rows, a->nnz / 4); /* most rows are decided early */
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
  MBI_TRY(mbi_amg_run(gpu, MBI_AMG_REST, a->rows * arguments.lanes, &arguments));
  MBI_TRY(mbi_amg_run(gpu, MBI_AMG_FOLLOW, a->rows, &arguments));
  MBI_TRY(mbi_amg_read(gpu, &facts));
  level->aggregates = (int32_t)facts.total;
  return MERBIT_OK;
}
