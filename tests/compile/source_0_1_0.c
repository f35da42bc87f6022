/* A program written for merbit 0.1.0: each call, field and constant of its interface in the way
 * that programs used it. It must compile and run on the CPU with every 0.1.x. A name leaves
 * this file only if a later version renames or removes it and CHANGELOG.md says what to write
 * instead. */
#include <merbit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                       \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      (void)fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);          \
      exit(1);                                                                                 \
    }                                                                                          \
  } while (0)
#define CALL(call) CHECK((call) == MERBIT_OK)

/* clang-format off */
static const int constants[] = {
    MERBIT_OK, MERBIT_INVALID_ARGUMENT, MERBIT_INVALID_MATRIX, MERBIT_INVALID_FILE,
    MERBIT_IO_ERROR, MERBIT_OUT_OF_MEMORY, MERBIT_DEVICE_OUT_OF_MEMORY, MERBIT_TOO_LARGE,
    MERBIT_NOT_SUPPORTED, MERBIT_NO_DEVICE, MERBIT_NO_COMPILER, MERBIT_COMPILE_ERROR,
    MERBIT_DEVICE_ERROR, MERBIT_DEVICE_LOST, MERBIT_CANCELLED, MERBIT_TYPE_DEFAULT,
    MERBIT_F64, MERBIT_F32, MERBIT_F16, MERBIT_BF16, MERBIT_C64, MERBIT_C128, MERBIT_INDEX_32,
    MERBIT_INDEX_64, MERBIT_CSR, MERBIT_COO, MERBIT_BSR, MERBIT_BLOCK_ROW_MAJOR,
    MERBIT_BLOCK_COLUMN_MAJOR, MERBIT_MEMORY_DEFAULT, MERBIT_MEMORY_HOST,
    MERBIT_MEMORY_DEVICE, MERBIT_SIDE_AUTO, MERBIT_SIDE_CPU, MERBIT_SIDE_CUDA,
    MERBIT_OPERATION_N, MERBIT_OPERATION_T, MERBIT_OPERATION_H, MERBIT_METHOD_AUTO,
    MERBIT_METHOD_REFERENCE, MERBIT_METHOD_MERGE, MERBIT_METHOD_MERBIT, MERBIT_METHOD_SCAN,
    MERBIT_METHOD_ROWS, MERBIT_METHOD_SLICED, MERBIT_METHOD_BINNED, MERBIT_METHOD_BSR,
    MERBIT_METHOD_CB, MERBIT_METHOD_HUBS, MERBIT_METHOD_SORTED, MERBIT_METHOD_MANY,
    MERBIT_SYMMETRY_NONE, MERBIT_SYMMETRY_SYMMETRIC, MERBIT_SYMMETRY_SKEW,
    MERBIT_SYMMETRY_HERMITIAN, MERBIT_REORDERING_NONE, MERBIT_REORDERING_DEGREE,
    MERBIT_REORDERING_RCM, MERBIT_VECTORS_COLUMN_MAJOR, MERBIT_VECTORS_ROW_MAJOR,
    MERBIT_SEMIRING_PLUS_TIMES, MERBIT_SEMIRING_MIN_PLUS, MERBIT_SEMIRING_MAX_TIMES,
    MERBIT_SEMIRING_OR_AND, MERBIT_SEMIRING_CUSTOM, MERBIT_STOP_CONVERGED, MERBIT_STOP_CAP,
    MERBIT_STOP_CANCELLED, MERBIT_STOP_NOT_FINITE, MERBIT_STOP_STAGNATED,
    MERBIT_STOP_BREAKDOWN, MERBIT_SOLVER_CG, MERBIT_SOLVER_BICGSTAB, MERBIT_SOLVER_GMRES,
    MERBIT_PRECONDITIONER_NONE, MERBIT_PRECONDITIONER_JACOBI,
    MERBIT_PRECONDITIONER_BLOCK_JACOBI, MERBIT_PRECONDITIONER_CALLBACK, MERBIT_EIGEN_LANCZOS,
    MERBIT_EIGEN_POWER, MERBIT_EIGEN_LARGEST_MAGNITUDE, MERBIT_EIGEN_LARGEST,
    MERBIT_EIGEN_SMALLEST, MERBIT_EIGEN_BOTH_ENDS, MERBIT_EIGEN_MOST, MERBIT_VERSION_MAJOR,
    MERBIT_VERSION_MINOR, MERBIT_VERSION_PATCH};
/* clang-format on */

/* ---- Callbacks --------------------------------------------------------------------------- */
static void *allocate(void *user, size_t bytes) {
  (void)user;
  return malloc(bytes);
}

static void release(void *user, void *memory) {
  (void)user;
  free(memory);
}

static void ignore_line(void *user, const char *line) {
  (void)user, (void)line;
}

static int read_on(void *user, int64_t bytes_done, int64_t bytes_total) {
  (void)user, (void)bytes_done, (void)bytes_total;
  return 0;
}

static int solve_on(void *user, int iteration, double change, double seconds) {
  (void)user, (void)iteration, (void)change, (void)seconds;
  return 0;
}

static int64_t read_text(void *user, void *data, size_t size) {
  char **text = (char **)user;
  size = strlen(*text) < size ? strlen(*text) : size;
  memcpy(data, *text, size);
  *text += size;
  return (int64_t)size;
}

static int count_bytes(void *user, const void *data, size_t size) {
  (void)data;
  *(size_t *)user += size;
  return 0;
}

static int copy_residual(void *user, const void *r, void *z, int64_t n, void *stream) {
  (void)user, (void)stream;
  memcpy(z, r, (size_t)n * sizeof(double));
  return 0;
}

static double less_f64(void *user, double a, double b) {
  (void)user;
  return a < b ? a : b;
}

static float less_f32(void *user, float a, float b) {
  (void)user;
  return a < b ? a : b;
}

static double sum_f64(void *user, double a, double b) {
  (void)user;
  return a + b;
}

static float sum_f32(void *user, float a, float b) {
  (void)user;
  return a + b;
}

static void scale_rows(void *user, int64_t begin, int64_t end, void *y,
                       const void *const *vectors, const double *scalars, double sums[2]) {
  double *out = (double *)y;
  (void)user;
  for (; begin < end; begin++) {
    out[begin] = scalars[0] * out[begin] + ((const double *)vectors[0])[begin];
    sums[0] += out[begin];
  }
}

/* ---- The calls --------------------------------------------------------------------------- */
/* The matrix of all calls: rows (4, 1) and (1, 3). */
static const int row_ptr[] = {0, 2, 4}, row_ind[] = {0, 0, 1, 1}, col_ind[] = {0, 1, 0, 1};
static const double values[] = {4, 1, 1, 3};

static void contexts(void) {
  merbit_context_desc desc;
  merbit_context_info info;
  merbit_context *context;
  merbit_error error;
  merbit_buffer *buffer;
  char message[MERBIT_MESSAGE_SIZE];
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CPU;
  desc.device = 0;
  desc.cuda_context = NULL;
  desc.threads = 1;
  desc.cache_dir = "";
  desc.cache_max_bytes = 0;
  desc.nvrtc_path = NULL;
  desc.allocator.allocate = allocate;
  desc.allocator.release = release;
  desc.allocator.user = NULL;
  desc.log = ignore_line;
  desc.log_user = NULL;
  desc.bind_threads = 0;
  CALL(merbit_context_create(&desc, &context, &error));
  CALL(merbit_context_get_info(context, &info));
  CHECK(info.side == MERBIT_SIDE_CPU && info.threads == 1 && info.compute_capability == 0);
  CHECK(strlen(info.device) + strlen(info.reason) + strlen(info.nvrtc) > 0);
  CHECK(strlen(info.cache_dir) == 0 &&
        strlen(info.cache_off_reason) < sizeof info.cache_off_reason);
  CHECK(info.driver_version + info.nvrtc_version == 0);
  CHECK(info.cache_hits + info.cache_misses + info.cache_errors == 0);
  CALL(merbit_buffer_create(context, 8, &buffer));
  CALL(merbit_buffer_upload(buffer, 0, "merbit", 7));
  CALL(merbit_buffer_download(buffer, 0, message, 7));
  CHECK(strcmp(message, "merbit") == 0 && merbit_buffer_pointer(buffer) != NULL);
  merbit_buffer_destroy(buffer);
  CHECK(merbit_buffer_create(NULL, 8, &buffer) == MERBIT_INVALID_ARGUMENT && buffer == NULL);
  CALL(merbit_last_error(context, message, sizeof message));
  merbit_context_destroy(context);
  CHECK(strcmp(merbit_version(), MERBIT_VERSION_STRING) == 0);
  CHECK(strcmp(merbit_status_name(MERBIT_OK), "MERBIT_OK") == 0);
  CHECK(strlen(merbit_status_text(MERBIT_OK)) > 0);
}

static void matrices(merbit_context *context) {
  const char *text = "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 5\n",
             *rest = text;
  const char *path = "source_0_1_0.mtx"; /* in the current folder */
  const int block_ptr[] = {0, 1}, block_ind[] = {0};
  merbit_view view = merbit_csr(2, 2, 4, row_ptr, col_ind, values);
  merbit_bsr_desc blocks;
  merbit_block_info info;
  merbit_read_desc desc;
  merbit_matrix *matrix;
  size_t bytes = 0;
  CALL(merbit_view_check(context, &view));
  CALL(merbit_matrix_create(context, &view, &matrix));
  merbit_matrix_destroy(matrix);
  CALL(merbit_matrix_transpose(context, &view, &matrix));
  merbit_matrix_destroy(matrix);
  memset(&blocks, 0, sizeof blocks);
  blocks.block_rows = 2;
  blocks.block_cols = 2;
  blocks.block_order = MERBIT_BLOCK_ROW_MAJOR;
  CALL(merbit_view_find_blocks(context, &view, &blocks, &info));
  CHECK(info.block_rows == 2 && info.block_cols == 2 && info.blocks == 1 && info.fill == 1);
  CHECK(info.bytes > 0 && info.csr_bytes > 0);
  CALL(merbit_matrix_create_bsr(context, &view, &blocks, &matrix));
  view = merbit_matrix_view(matrix);
  CHECK(view.format == MERBIT_BSR && view.owner == matrix);
  CHECK(view.block_rows * view.block_cols == 4 && view.block_order == MERBIT_BLOCK_ROW_MAJOR);
  merbit_matrix_destroy(matrix);
  view = merbit_bsr(2, 2, 1, 2, 2, block_ptr, block_ind, values);
  CALL(merbit_view_check(context, &view));
  view = merbit_csr(2, 2, 4, NULL, col_ind, values);
  view.format = MERBIT_COO;
  view.value_type = MERBIT_F64;
  view.offset_type = MERBIT_INDEX_32;
  view.index_type = MERBIT_INDEX_32;
  view.memory = MERBIT_MEMORY_HOST;
  view.base = 0;
  view.row_ind = row_ind;
  view.symmetry = MERBIT_SYMMETRY_NONE;
  CHECK(view.rows * view.cols == view.nnz && view.col_ind == col_ind && view.values == values);
  CALL(merbit_matrix_write_stream(context, &view, count_bytes, &bytes));
  CHECK(bytes > 0);
  memset(&desc, 0, sizeof desc);
  desc.value_type = MERBIT_F64;
  desc.max_rows = 2;
  desc.progress = read_on;
  desc.progress_user = NULL;
  desc.keep_half = 0;
  CALL(merbit_matrix_write_file(context, &view, path));
  CALL(merbit_matrix_read_file(context, path, &desc, &matrix));
  CHECK(remove(path) == 0);
  merbit_matrix_destroy(matrix);
  CALL(merbit_matrix_read_memory(context, text, strlen(text), &desc, &matrix));
  merbit_matrix_destroy(matrix);
  CALL(merbit_matrix_read_stream(context, read_text, &rest, &desc, &matrix));
  merbit_matrix_destroy(matrix);
}

static void products(merbit_context *context) {
  const merbit_view view = merbit_csr(2, 2, 4, row_ptr, col_ind, values);
  const double x[] = {1, 10, 1, 10}, twice[] = {8, 2, 2, 6}, alpha = 1, beta = 0,
               scalars[] = {2};
  const void *vectors[1];
  double y[4] = {0}, px[2], sums[2];
  int64_t order[2];
  merbit_plan_desc desc;
  merbit_plan_info info;
  merbit_plan *plan;
  merbit_workspace *workspace;
  merbit_operators operators;
  merbit_epilogue epilogue;
  char line[512];
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CPU;
  desc.operation = MERBIT_OPERATION_N;
  desc.method = MERBIT_METHOD_AUTO;
  desc.vector_type = MERBIT_F64;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.scalar_memory = MERBIT_MEMORY_HOST;
  desc.expected_calls = 1000;
  desc.sigma = 0;
  desc.omega = 0;
  desc.block_threads = 0;
  desc.unchecked = 0;
  desc.changing_values = 1;
  desc.deterministic = 1;
  desc.block_rows = 0;
  desc.block_cols = 0;
  desc.reordering = MERBIT_REORDERING_RCM;
  desc.semiring = MERBIT_SEMIRING_PLUS_TIMES;
  desc.numa = 0;
  CALL(merbit_plan_create(context, &view, &desc, &plan));
  CHECK(merbit_plan_describe(plan, line, sizeof line) > 0);
  CALL(merbit_plan_get_order(plan, order, 2));
  CALL(merbit_plan_reorder(plan, x, px, NULL));
  CALL(merbit_workspace_create(plan, &workspace));
  CALL(merbit_spmv(plan, workspace, &alpha, px, &beta, y, NULL));
  CALL(merbit_plan_restore(plan, y, px, NULL));
  CHECK(px[0] == 14 && px[1] == 31);
  merbit_workspace_destroy(workspace);
  CALL(merbit_plan_update_values(plan, twice, MERBIT_MEMORY_HOST));
  CALL(merbit_plan_get_info(plan, &info));
  CHECK(info.side == MERBIT_SIDE_CPU && info.method != MERBIT_METHOD_AUTO && info.vectors == 1);
  CHECK(info.sigma + info.omega + info.block_threads + info.descriptor_bits == 0);
  CHECK(info.tiles >= 0 && info.bytes_per_product > 0 && info.device_bytes == 0);
  CHECK(info.cubin_from_cache == 0 && info.plan_seconds >= 0 && info.compile_seconds == 0);
  CHECK(info.load_seconds + info.transpose_seconds + info.expand_seconds == 0);
  CHECK(info.reorder_seconds >= 0 && info.bandwidth_before == 1 && info.bandwidth == 1);
  merbit_plan_destroy(plan);

  memset(&desc, 0, sizeof desc);
  desc.vectors = 2;
  desc.vector_order = MERBIT_VECTORS_COLUMN_MAJOR;
  CALL(merbit_plan_create(context, &view, &desc, &plan));
  CALL(merbit_spmm(plan, NULL, NULL, x, 2, NULL, y, 2, NULL));
  CHECK(y[2] == 14 && y[3] == 31);
  merbit_plan_destroy(plan);

  memset(&desc, 0, sizeof desc);
  memset(&operators, 0, sizeof operators);
  operators.add = "min(a, b)";
  operators.multiply = "a + x";
  operators.zero = 1e300;
  operators.add_f64 = less_f64;
  operators.multiply_f64 = sum_f64;
  operators.add_f32 = less_f32;
  operators.multiply_f32 = sum_f32;
  operators.user = NULL;
  desc.semiring = MERBIT_SEMIRING_CUSTOM;
  desc.operators = &operators;
  CALL(merbit_plan_create(context, &view, &desc, &plan));
  CALL(merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL));
  CHECK(y[0] == 5 && y[1] == 2);
  merbit_plan_destroy(plan);

  memset(&desc, 0, sizeof desc);
  memset(&epilogue, 0, sizeof epilogue);
  epilogue.result = "s0 * ax + v0";
  epilogue.sums[0] = "y";
  epilogue.vectors = 1;
  epilogue.scalars = 1;
  epilogue.cpu = scale_rows;
  epilogue.cpu_user = NULL;
  desc.epilogue = &epilogue;
  vectors[0] = x;
  CALL(merbit_plan_create(context, &view, &desc, &plan));
  CALL(merbit_spmv_epilogue(plan, NULL, x, y, vectors, scalars, sums, NULL, NULL));
  CHECK(y[0] == 29 && y[1] == 72 && sums[0] == 101);
  merbit_plan_destroy(plan);
}

static void solvers(merbit_context *context) {
  const merbit_view view = merbit_csr(2, 2, 4, row_ptr, col_ind, values);
  const double b[] = {14, 31};
  double x[2], history[10], found[1], vector[2];
  merbit_pagerank_desc ranks;
  merbit_pagerank_result ranked;
  merbit_solver_desc desc;
  merbit_solver_result result;
  merbit_solver *solver;
  merbit_eigen_desc pairs;
  merbit_eigen_result pair;
  memset(&desc, 0, sizeof desc);
  desc.method = MERBIT_SOLVER_CG;
  desc.side = MERBIT_SIDE_CPU;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.tolerance = 1e-10;
  desc.max_iterations = 10;
  desc.restart = 0;
  desc.preconditioner = MERBIT_PRECONDITIONER_CALLBACK;
  desc.block_size = 0;
  desc.apply = copy_residual;
  desc.apply_user = NULL;
  desc.refine = 0;
  desc.deterministic = 1;
  desc.reorder = 0;
  desc.expected_solves = 1;
  desc.progress = solve_on;
  desc.progress_user = NULL;
  CALL(merbit_solver_create(context, &view, &desc, &solver));
  CALL(merbit_solver_update_values(solver, values, MERBIT_MEMORY_HOST));
  CALL(merbit_solver_solve(solver, b, x, 0, history, 10, &result));
  CHECK(result.stop == MERBIT_STOP_CONVERGED && result.iterations > 0 && result.restarts == 0);
  CHECK(result.residual <= 1e-10 && result.estimated_residual >= 0 &&
        result.backward_error >= 0);
  CHECK(result.prepare_seconds >= 0 && result.iterate_seconds >= 0 && result.recorded == 0);
  CHECK(result.synchronizations >= 0 && result.device_bytes == 0);
  CHECK(result.plan.side == MERBIT_SIDE_CPU && strlen(result.plan_description) > 0);
  CHECK(strlen(result.description) > 0);
  merbit_solver_destroy(solver);

  memset(&ranks, 0, sizeof ranks);
  ranks.damping = 0.85;
  ranks.tolerance = 1e-9;
  ranks.max_iterations = 100;
  ranks.unweighted = 1;
  ranks.side = MERBIT_SIDE_CPU;
  ranks.progress = solve_on;
  ranks.progress_user = NULL;
  ranks.personalisation = NULL;
  ranks.start = NULL;
  ranks.method = MERBIT_METHOD_AUTO;
  ranks.history = history;
  ranks.history_size = 10;
  CALL(merbit_pagerank(context, &view, &ranks, x, &ranked));
  CHECK(ranked.stop == MERBIT_STOP_CONVERGED && ranked.iterations > 0 && ranked.change <= 1e-9);
  CHECK(ranked.dangling == 0 && ranked.prepare_seconds >= 0 && ranked.iterate_seconds >= 0);
  CHECK(ranked.plan.side == MERBIT_SIDE_CPU && strlen(ranked.description) > 0);
  CHECK(ranked.synchronizations >= 0 && ranked.recorded == 0 && ranked.device_bytes == 0);

  memset(&pairs, 0, sizeof pairs);
  pairs.method = MERBIT_EIGEN_LANCZOS;
  pairs.which = MERBIT_EIGEN_LARGEST;
  pairs.count = 1;
  pairs.basis = 0;
  pairs.side = MERBIT_SIDE_CPU;
  pairs.tolerance = 1e-9;
  pairs.max_iterations = 100;
  pairs.seed = 1;
  pairs.deterministic = 1;
  pairs.progress = solve_on;
  pairs.progress_user = NULL;
  CALL(merbit_eigen(context, &view, &pairs, found, vector, &pair));
  CHECK(pair.stop == MERBIT_STOP_CONVERGED && pair.converged == 1 && pair.residuals[0] <= 1e-9);
  CHECK(found[0] > 4.618 && found[0] < 4.619 && pair.iterations > 0 && pair.restarts >= 0);
  CHECK(pair.prepare_seconds >= 0 && pair.iterate_seconds >= 0 && pair.device_bytes == 0);
  CHECK(pair.synchronizations >= 0 && pair.plan.side == MERBIT_SIDE_CPU);
  CHECK(strlen(pair.plan_description) > 0 && strlen(pair.description) > 0);
}

int main(void) {
  merbit_context_desc desc;
  merbit_context *context;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CPU;
  CALL(merbit_context_create(&desc, &context, NULL));
  contexts();
  matrices(context);
  products(context);
  solvers(context);
  merbit_context_destroy(context);
  return constants[0];
}
