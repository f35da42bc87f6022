#include "core/context.h"
#include "matrix/matrix.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"
#include "solve/pagerank/pagerank.h"

/* PageRank by the power method: Zhang, Yao, Jiang, Zhang, "MERBIT: A GPU-Based SpMV Method for
 * Iterative Workloads", section 5.5.1. W(i) is the sum of the weights w(i, j) of the edges from
 * vertex i, and P(i, j) = w(i, j) / W(i). An iteration is x' = d P^T x + (1 - d + d * (mass of
 * dangling vertices)) t. The code iterates on z = x / W: since P^T x = A^T z, the product can
 * use the graph's own values, and a pattern needs none. Iterations are relaxed if the changes
 * show that it pays (solve/pagerank/steps.cuh), except with method MERBIT, which follows the
 * paper. Sums over vertices are in double, in an order that depends only on their number. */

/* ---- The description --------------------------------------------------------------------- */

static merbit_status mbi_pagerank_check_desc(mbi_pagerank *run) {
  merbit_context *context = run->context;
  merbit_pagerank_desc *desc = &run->desc;
  if (desc->damping != 0 && !(desc->damping > 0 && desc->damping < 1)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "pagerank_desc.damping is %g; use a number between 0 and 1, or 0 for 0.85",
                    desc->damping);
  }
  if (desc->tolerance != 0 && !(desc->tolerance > 0 && desc->tolerance <= DBL_MAX)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "pagerank_desc.tolerance is %g; use a number above 0, or 0 for the default",
                    desc->tolerance);
  }
  if (desc->max_iterations < 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "pagerank_desc.max_iterations is %d; use 0 for the default",
                    desc->max_iterations);
  }
  if ((int)desc->side < MERBIT_SIDE_AUTO || (int)desc->side > MERBIT_SIDE_CUDA) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "pagerank_desc.side is %d; use MERBIT_SIDE_AUTO, MERBIT_SIDE_CPU or "
                    "MERBIT_SIDE_CUDA",
                    (int)desc->side);
  }
  if (!mbi_method_known(desc->method)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "pagerank_desc.method is %d; use MERBIT_METHOD_AUTO or another "
                    "merbit_method",
                    (int)desc->method);
  }
  if (desc->history_size < 0 || (desc->history_size > 0 && desc->history == NULL)) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "pagerank_desc.history_size is %d%s",
                    desc->history_size,
                    desc->history_size < 0
                        ? "; use 0 for none"
                        : ", but `history` is NULL; set it, or history_size to 0");
  }
  desc->damping = desc->damping != 0 ? desc->damping : 0.85;
  desc->max_iterations = desc->max_iterations != 0 ? desc->max_iterations : 1000;
  if (desc->tolerance == 0) {
    desc->tolerance = run->type == MERBIT_F32 ? 2.384185791015625e-7 : 1e-10; /* 2^-22 */
  }
  return MERBIT_OK;
}

/* Checks the graph and the description and fills in defaults. */
MBI_INTERNAL merbit_status mbi_pagerank_check(mbi_pagerank *run, const merbit_view *graph,
                                              const void *ranks) {
  merbit_context *context = run->context;
  MBI_TRY(mbi_view_check_header(context, graph));
  if (!mbi_type_plain(mbi_view_type(graph))) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "the graph's value_type is %s; merbit_pagerank takes MERBIT_F64 and "
                    "MERBIT_F32",
                    mbi_type_names[mbi_view_type(graph)]);
  }
  if (graph->rows != graph->cols) {
    return mbi_fail(context, MERBIT_INVALID_MATRIX,
                    "the graph is a matrix of %" PRId64 " x %" PRId64
                    "; a link graph has as many rows as columns",
                    graph->rows, graph->cols);
  }
  if (graph->symmetry == MERBIT_SYMMETRY_SKEW && !run->desc.unweighted) {
    return mbi_fail(context, MERBIT_INVALID_MATRIX,
                    "view.symmetry is MERBIT_SYMMETRY_SKEW: half of the weights would be "
                    "negative; weights must be finite and not negative");
  }
  if (ranks == NULL && graph->rows > 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "merbit_pagerank: `ranks` is NULL; give an array of %" PRId64 " values",
                    graph->rows);
  }
  run->type = mbi_view_type(graph);
  run->n = graph->rows;
  return mbi_pagerank_check_desc(run);
}

/* ---- Distributions of the caller --------------------------------------------------------- */

static double mbi_pagerank_at(merbit_type type, const void *vector, int64_t i) {
  return type == MERBIT_F32 ? (double)((const float *)vector)[i] : ((const double *)vector)[i];
}

/* Computes target[i] = given[i] / (sum of given); both may be the same array. Divides by the
 * largest element first, because a sum of extreme numbers would overflow or vanish. */
static merbit_status mbi_pagerank_distribution(const mbi_pagerank *run, const char *name,
                                               const void *given, void *target) {
  double most = 0, sum = 0;
  int64_t i;
  for (i = 0; i < run->n; i++) {
    const double weight = mbi_pagerank_at(run->type, given, i);
    if (!(weight >= 0 && weight <= DBL_MAX)) {
      return mbi_fail(run->context, MERBIT_INVALID_ARGUMENT,
                      "pagerank_desc.%s[%" PRId64
                      "] is %g; weights must be finite and not negative",
                      name, i, weight);
    }
    most = weight > most ? weight : most;
  }
  if (most == 0) {
    return mbi_fail(run->context, MERBIT_INVALID_ARGUMENT,
                    "pagerank_desc.%s has %" PRId64
                    " weights, all zero; at least one must be above 0",
                    name, run->n);
  }
  for (i = 0; i < run->n; i++) {
    sum += mbi_pagerank_at(run->type, given, i) / most;
  }
  for (i = 0; i < run->n; i++) {
    const double share = mbi_pagerank_at(run->type, given, i) / most / sum;
    if (run->type == MERBIT_F32) {
      ((float *)target)[i] = (float)share;
    } else {
      ((double *)target)[i] = share;
    }
  }
  return MERBIT_OK;
}

/* Normalises the caller's teleport distribution and first ranks, if given. The first ranks go
 * to the caller's array of ranks. */
static merbit_status mbi_pagerank_distribute(mbi_pagerank *run) {
  const merbit_pagerank_desc *desc = &run->desc;
  if (desc->personalisation != NULL) {
    MBI_TRY(mbi_allocate_array(run->context, run->n, mbi_type_size(run->type),
                               "the teleport distribution", &run->teleport));
    MBI_TRY(mbi_pagerank_distribution(run, "personalisation", desc->personalisation,
                                      run->teleport));
  }
  return desc->start != NULL ? mbi_pagerank_distribution(run, "start", desc->start, run->ranks)
                             : MERBIT_OK;
}

/* ---- The graph, its weights and the plan of A^T ------------------------------------------ */

/* Sets run->links to `host` with both triangles and single entries, and computes the weights.
 * The header of `host` has been checked. */
static merbit_status mbi_pagerank_expand(mbi_pagerank *run, const merbit_view *host) {
  merbit_context *context = run->context;
  MBI_TRY(mbi_view_check_arrays(context, host));
  run->links = *host;
  run->operation = MERBIT_OPERATION_T;
  if (host->format == MERBIT_BSR || mbi_view_is_triangle(host)) {
    MBI_TRY(mbi_weights_check(context, host)); /* on the caller's arrays, so that an error names
                                                * their entry, before duplicates add up */
  }
  if (host->format == MERBIT_BSR) {
    MBI_TRY(mbi_matrix_from_view(context, host, 0, &run->entries));
    run->links = run->entries->view;
  } else if (mbi_view_is_triangle(host)) {
    MBI_TRY(mbi_symmetric_expand(context, host, MERBIT_OPERATION_N, 0, &run->expanded, NULL));
    run->links = run->expanded;
    run->operation = MERBIT_OPERATION_N; /* a symmetric graph is its own transpose */
  }
  MBI_TRY(mbi_weights_create(context, &run->links, &run->weights));
  if (run->weights.scaled != NULL) { /* by a factor for each row: no longer symmetric */
    run->links.values = run->weights.scaled;
    run->operation = MERBIT_OPERATION_T;
  }
  return MERBIT_OK;
}

/* Returns the side to try first. */
MBI_INTERNAL merbit_side mbi_pagerank_side(const mbi_pagerank *run) {
  return run->desc.side != MERBIT_SIDE_AUTO     ? run->desc.side
         : mbi_method_runs(run->desc.method, 1) ? run->context->side
                                                : MERBIT_SIDE_CPU;
}

/* Returns whether the GPU computes the weights, which for a pattern follow from row_ptr. */
static int mbi_pagerank_counts_on_gpu(const mbi_pagerank *run, const merbit_view *view) {
  return mbi_pagerank_side(run) == MERBIT_SIDE_CUDA && run->context->side == MERBIT_SIDE_CUDA &&
         view->format == MERBIT_CSR && view->values == NULL && !mbi_view_is_triangle(view);
}

/* Brings the graph to the side where the plan is made, computes weights and normalises the
 * caller's distributions. */
MBI_INTERNAL merbit_status mbi_pagerank_encode(mbi_pagerank *run, const merbit_view *graph) {
  const int device = graph->memory == MERBIT_MEMORY_DEVICE;
  merbit_view view = *graph;
  if (run->desc.unweighted) {
    view.values = NULL;
  }
  if (mbi_pagerank_counts_on_gpu(run, &view)) {
    if (!device) {
      MBI_TRY(mbi_view_check_arrays(run->context, &view));
    }
    run->links = view;
    run->operation = MERBIT_OPERATION_T;
  } else {
    if (device) {
      MBI_TRY(mbi_view_download(run->context, &view, &run->copy));
      view = run->copy;
    }
    MBI_TRY(mbi_pagerank_expand(run, &view));
  }
  return mbi_pagerank_distribute(run);
}

/* Returns the number of products that the plan should expect. The change, at most 2, falls
 * below the tolerance by damping alone within `worst` products. Real graphs need a tenth to
 * four tenths of them; the GPU's plan is chosen for a sixth. */
MBI_INTERNAL int mbi_pagerank_calls(const merbit_pagerank_desc *desc, merbit_side side) {
  const double most = desc->max_iterations < 1000 ? desc->max_iterations : 1000;
  const double worst = ceil(log(desc->tolerance / 2) / log(desc->damping));
  const double calls = side == MERBIT_SIDE_CUDA ? ceil(worst / 6) : worst;
  return calls < 1 ? 1 : (int)(calls < most ? calls : most);
}

/* The expressions of the epilogue. v0 is z, v1 is W (negative for dangling vertices), v2 the
 * previous z, v3 the teleport distribution. */
static const char *const mbi_pagerank_result[2] = {
    "s2 * (s0 * ax + s1) / abs(v1) + s3 * v2", "s2 * (s0 * ax + s1 * v3) / abs(v1) + s3 * v2"};
static const char *const mbi_pagerank_change[2] = {"abs(s0 * ax + s1 - v0 * abs(v1))",
                                                   "abs(s0 * ax + s1 * v3 - v0 * abs(v1))"};
static const char mbi_pagerank_mass[] = "v1 < 0 ? y : 0";

static void mbi_pagerank_epilogue(const mbi_pagerank *run, merbit_epilogue *epilogue) {
  memset(epilogue, 0, sizeof *epilogue);
  epilogue->result = mbi_pagerank_result[run->teleport != NULL];
  epilogue->sums[0] = mbi_pagerank_change[run->teleport != NULL];
  epilogue->sums[1] = mbi_pagerank_mass;
  epilogue->vectors = run->teleport != NULL ? 4 : 3;
  epilogue->scalars = 4;
}

/* Returns the number of thread blocks of a kernel over all vertices. */
MBI_INTERNAL int64_t mbi_pagerank_blocks(const mbi_pagerank *run) {
  const int64_t blocks = (run->n + MBI_PAGERANK_THREADS - 1) / MBI_PAGERANK_THREADS;
  return blocks < MBI_PAGERANK_BLOCKS ? blocks : MBI_PAGERANK_BLOCKS;
}

/* Divides the memory at `space` among vectors and scalars; z comes first. Returns the bytes
 * used. */
MBI_INTERNAL uint64_t mbi_pagerank_divide(mbi_pagerank *run, int dual, mbi_devptr space) {
  const uint64_t bytes = (uint64_t)run->n * mbi_type_size(run->type);
  mbi_pagerank_gpu *gpu = &run->gpu;
  uint64_t used = 0;
  int i;
  for (i = 0; i < (dual ? 3 : 2); i++) {
    gpu->z[i] = mbi_device_pointer(mbi_device_part(space, bytes, &used));
  }
  gpu->weights = mbi_device_pointer(mbi_device_part(space, bytes, &used));
  if (run->teleport != NULL) {
    gpu->teleport = mbi_device_pointer(mbi_device_part(space, bytes, &used));
  }
  gpu->partials = mbi_device_pointer(
      mbi_device_part(space, (uint64_t)mbi_pagerank_blocks(run) * 2 * sizeof(double), &used));
  run->engine.memory =
      (mbi_solve_memory *)mbi_device_pointer(mbi_device_part(space, sizeof run->memory, &used));
  return used;
}

/* Creates the plan of A^T on `side`. */
MBI_INTERNAL merbit_status mbi_pagerank_plan(mbi_pagerank *run, merbit_side side) {
  const int dual = side == MERBIT_SIDE_CUDA && run->desc.method == MERBIT_METHOD_MERBIT;
  merbit_plan_desc desc;
  mbi_plan_making making;
  merbit_epilogue epilogue;
  memset(&making, 0, sizeof making);
  memset(&desc, 0, sizeof desc);
  desc.side = side;
  desc.operation = run->operation;
  desc.method = run->desc.method;
  desc.expected_calls = mbi_pagerank_calls(&run->desc, side);
  desc.unchecked = run->links.memory != MERBIT_MEMORY_DEVICE;
  desc.deterministic = 1;
  mbi_pagerank_epilogue(run, &epilogue);
  if (side == MERBIT_SIDE_CUDA && !dual) {
    desc.epilogue = &epilogue;
  }
  making.dual = dual;
  making.after = "\"solve/pagerank/after.cuh\"";
  making.arena_bytes = side == MERBIT_SIDE_CUDA ? mbi_pagerank_divide(run, dual, 0) : 0;
  making.stops = 1;
  making.unsynchronised = 1;
  making.interleaved = 1;
  return mbi_plan_create(run->context, &run->links, &desc, &making, &run->plan);
}

/* Sets the initial state for either side, except MBI_PAGERANK_BASE. */
MBI_INTERNAL void mbi_pagerank_start(mbi_pagerank *run) {
  mbi_solve_state *state = &run->memory.state;
  state->scalar[MBI_PAGERANK_DAMPING] = run->desc.damping;
  state->scalar[MBI_PAGERANK_SUM] = run->teleport != NULL ? 1 : (double)run->n;
  state->scalar[MBI_PAGERANK_LEAST] = DBL_MAX;
  state->scalar[MBI_PAGERANK_MOST] =
      run->desc.unaccelerated || run->desc.method == MERBIT_METHOD_MERBIT ? 1 : 2;
  mbi_pagerank_relax(state, 1);
  state->tolerance = run->desc.tolerance;
  state->cap = run->desc.max_iterations;
  state->check_at = MBI_PAGERANK_CHECK;
  state->stop = MBI_SOLVE_RUNNING;
}
