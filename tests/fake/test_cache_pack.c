/* Plans on a machine with a GPU and without NVRTC: another process has compiled and exported
 * the kernels. This program runs itself again as that machine, with only the fake libcuda. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sys/wait.h>

#include "fake/support.h"

enum { N = 40 };

static int32_t row_ptr[N + 1], col_ind[3 * N];
static double values[3 * N];
static float singles[3 * N];
static merbit_view view;

/* Makes a matrix with -1, 2.5, -1 on three diagonals. */
static void make_matrix(void) {
  int32_t i, j, nnz = 0;
  for (i = 0; i < N; i++) {
    for (j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++) {
      col_ind[nnz] = j;
      singles[nnz] = i == j ? 2.5f : -1.0f;
      values[nnz] = (double)singles[nnz];
      nnz++;
    }
    row_ptr[i + 1] = nnz;
  }
  view = merbit_csr(N, N, nnz, row_ptr, col_ind, values);
}

static double b_of(int i) { /* row i of A times ones */
  return i == 0 || i == N - 1 ? 1.5 : 0.5;
}

/* Makes a plan and multiplies by ones. Returns a status, or -1 for a wrong result. */
static int multiply(merbit_context *context, merbit_side side, merbit_method method, int single,
                    merbit_plan_info *info) {
  merbit_view a = view;
  merbit_plan_desc desc = merbit_plan_defaults();
  merbit_plan *plan;
  double x[N], y[N];
  float xs[N], ys[N];
  int status, i;
  desc.side = side;
  desc.method = method;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  a.value_type = single ? MERBIT_F32 : MERBIT_F64;
  a.values = single ? (const void *)singles : values;
  status = merbit_plan_create(context, &a, &desc, &plan);
  if (status != MERBIT_OK) {
    return status;
  }
  for (i = 0; i < N; i++) {
    x[i] = 1;
    xs[i] = 1;
  }
  status = single ? merbit_spmv(plan, NULL, NULL, xs, NULL, ys, NULL)
                  : merbit_spmv(plan, NULL, NULL, x, NULL, y, NULL);
  for (i = 0; i < N && status == MERBIT_OK; i++) {
    status = (single ? (double)ys[i] : y[i]) == b_of(i) ? MERBIT_OK : -1;
  }
  (void)merbit_plan_get_info(plan, info);
  merbit_plan_destroy(plan);
  return status;
}

/* Solves A x = b. Returns a status, or -1 for a wrong result. */
static int solve(merbit_context *context) {
  merbit_solver_desc desc = merbit_solver_defaults();
  merbit_solver_result result;
  merbit_solver *solver;
  double b[N], x[N];
  int status, i;
  desc.method = MERBIT_SOLVER_CG;
  desc.side = MERBIT_SIDE_CUDA;
  desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  for (i = 0; i < N; i++) {
    b[i] = b_of(i);
  }
  status = merbit_solver_create(context, &view, &desc, &solver);
  if (status != MERBIT_OK) {
    return status;
  }
  status = merbit_solver_solve(solver, b, x, 0, NULL, 0, &result);
  if (status == MERBIT_OK && result.stop != MERBIT_STOP_CONVERGED) {
    status = -1;
  }
  for (i = 0; i < N && status == MERBIT_OK; i++) {
    status = fabs(x[i] - 1) < 1e-8 ? MERBIT_OK : -1;
  }
  merbit_solver_destroy(solver);
  return status;
}

/* ---- The machine without NVRTC ----------------------------------------------------------- */

#define CHECK(condition)                                                                       \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      (void)fprintf(stderr, "line %d: not true: %s\n", __LINE__, #condition);                  \
      return 1;                                                                                \
    }                                                                                          \
  } while (0)

static int says(merbit_context *context, merbit_status status, const char *piece) {
  char sentence[MERBIT_MESSAGE_SIZE];
  const int right = merbit_last_error(context, sentence, sizeof sentence) == status &&
                    strstr(sentence, piece) != NULL;
  if (!right) {
    (void)fprintf(stderr, "the sentence is \"%s\", without \"%s\"\n", sentence, piece);
  }
  return right;
}

/* Checks that there is no compiler before the import. */
static int before_import(const merbit_context_desc *desc) {
  merbit_context_desc any = *desc;
  merbit_context *context;
  merbit_context_info info;
  merbit_error error;
  any.side = MERBIT_SIDE_AUTO;
  CHECK(merbit_context_create(desc, &context, &error) == MERBIT_NO_COMPILER);
  CHECK(merbit_context_create(&any, &context, NULL) == MERBIT_OK);
  CHECK(merbit_context_get_info(context, &info) == MERBIT_OK);
  CHECK(info.side == MERBIT_SIDE_CPU && strstr(info.reason, "NVRTC") != NULL);
  merbit_context_destroy(context);
  return 0;
}

static int after_import(const merbit_context_desc *desc) {
  merbit_context *context;
  merbit_context_info info;
  merbit_plan_info made;
  char sentence[MERBIT_MESSAGE_SIZE];
  CHECK(merbit_context_create(desc, &context, NULL) == MERBIT_OK);
  CHECK(merbit_last_error(context, sentence, sizeof sentence) == MERBIT_OK);
  CHECK(merbit_context_get_info(context, &info) == MERBIT_OK);
  CHECK(info.side == MERBIT_SIDE_CUDA && info.nvrtc[0] == '\0');
  CHECK(info.nvrtc_version >= 13000);
  CHECK(multiply(context, MERBIT_SIDE_CUDA, MERBIT_METHOD_MERBIT, 0, &made) == MERBIT_OK);
  CHECK(made.side == MERBIT_SIDE_CUDA && made.cubin_from_cache == 1);
  CHECK(multiply(context, MERBIT_SIDE_AUTO, MERBIT_METHOD_AUTO, 0, &made) == MERBIT_OK);
  CHECK(made.side == MERBIT_SIDE_CUDA && made.cubin_from_cache == 1);
  CHECK(solve(context) == MERBIT_OK);
  /* Kernels that no one has compiled: */
  CHECK(multiply(context, MERBIT_SIDE_CUDA, MERBIT_METHOD_MERBIT, 1, &made) ==
        MERBIT_NO_COMPILER);
  CHECK(says(context, MERBIT_NO_COMPILER, "merbit_cache_export"));
  CHECK(says(context, MERBIT_NO_COMPILER, ".cu"));
  CHECK(multiply(context, MERBIT_SIDE_AUTO, MERBIT_METHOD_AUTO, 1, &made) == MERBIT_OK);
  CHECK(made.side == MERBIT_SIDE_CPU);
  merbit_context_destroy(context);
  return 0;
}

static int target(const char *directory, const char *pack) {
  merbit_context_desc desc = fake_desc(MERBIT_SIDE_CUDA);
  merbit_context *context;
  merbit_error error;
  CHECK(dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_NOLOAD) == NULL);
  desc.cache_dir = directory;
  CHECK(before_import(&desc) == 0);
  if (merbit_cache_import(&desc, pack, &error) != MERBIT_OK) {
    (void)fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  CHECK(after_import(&desc) == 0);
  cuda->capability = cuda->capability == 90 ? 80 : 90; /* another kind of GPU */
  CHECK(merbit_context_create(&desc, &context, &error) == MERBIT_NO_COMPILER);
  CHECK(host.live == 0 && cuda->modules == 0 && cuda->blocks == 0 && cuda->retained == 0);
  CHECK(cuda->faults == 0);
  return 0;
}

/* ---- The machine with NVRTC -------------------------------------------------------------- */

/* Runs this program as the other machine. Returns its exit status. */
static int run_target(const char *directory, const char *pack) {
  const pid_t child = fork();
  int status = -1;
  if (child == 0) {
    (void)setenv("MERBIT_NVRTC", "/nowhere/libnvrtc.so", 1);
    (void)execl("/proc/self/exe", "target", directory, pack, (char *)NULL);
    _exit(127);
  }
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void without_nvrtc(void **state) {
  char here[64], there[64], pack[80];
  merbit_context *context;
  merbit_plan_info info;
  (void)state;
  (void)fake_cache_make(here);
  (void)fake_cache_make(there);
  (void)snprintf(pack, sizeof pack, "%s/pack", here);
  context = fake_context(here);
  assert_int_equal(multiply(context, MERBIT_SIDE_CUDA, MERBIT_METHOD_MERBIT, 0, &info),
                   MERBIT_OK);
  assert_int_equal(info.cubin_from_cache, 0);
  assert_int_equal(multiply(context, MERBIT_SIDE_CUDA, MERBIT_METHOD_AUTO, 0, &info),
                   MERBIT_OK);
  assert_int_equal(solve(context), MERBIT_OK);
  assert_int_equal(merbit_cache_export(context, pack), MERBIT_OK);
  merbit_context_destroy(context);
  fake_expect_clean();
  assert_int_equal(run_target(there, pack), 0);
  fake_cache_remove(here);
  fake_cache_remove(there);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_nvrtc),
  };
  make_matrix();
  if (strcmp(argv[0], "target") == 0 && argc == 3) {
    fake_open_cuda("new");
    return target(argv[1], argv[2]);
  }
  fake_open("new");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
