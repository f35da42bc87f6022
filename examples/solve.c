/* Solves A x = b for a Matrix Market file: solve [--method cg|bicgstab|gmres] [--preconditioner
 * amg|chebyshev|fsai|jacobi|none] [--picture FILE] matrix.mtx
 *
 * b is A times a vector of ones, so that the solution is known. The default method is CG for
 * symmetric matrices and BiCGSTAB for others; the default preconditioner is Jacobi if the
 * diagonal has no zero. FILE gets a plot of the residuals as SVG, or the numbers if its name
 * ends in .json. You can try it on examples/data/1138_bus.mtx. Runs on the GPU if there is one,
 * else on the CPU's threads. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"

#include "picture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HISTORY = 20001 };

typedef struct job {
  merbit_context *context;
  merbit_matrix *matrix;
  merbit_solver *solver;
  double *ones, *b, *x, *history;
  merbit_solver_method method;
  int preconditioner; /* merbit_preconditioner_kind; -1: Jacobi if the diagonal is full */
  const char *path, *picture;
} job;

static int fail(job *j, const char *what) {
  char message[MERBIT_MESSAGE_SIZE];
  (void)merbit_last_error(j->context, message, sizeof message);
  (void)fprintf(stderr, "solve: %s: %s\n", what, message);
  return 1;
}

static int progress(void *user, int iteration, double residual, double seconds) {
  (void)user;
  if (isatty(STDERR_FILENO)) {
    (void)fprintf(stderr, "\r\033[Kiteration %d: residual %.1e after %.2f s", iteration,
                  residual, seconds);
  }
  return 0; /* nonzero would cancel */
}

/* Returns whether each row has a nonzero diagonal entry, so that Jacobi can divide by it. */
static int full_diagonal(const merbit_view *view) {
  const int32_t *row_ptr = (const int32_t *)view->row_ptr;
  const int32_t *col_ind = (const int32_t *)view->col_ind;
  const double *values = (const double *)view->values;
  int64_t row;
  for (row = 0; row < view->rows; row++) {
    int found = 0;
    int32_t k;
    for (k = row_ptr[row]; k < row_ptr[row + 1]; k++) {
      found |= col_ind[k] == row && (values == NULL || values[k] != 0);
    }
    if (!found) {
      return 0;
    }
  }
  return 1;
}

/* Tests numerically whether A is symmetric: A'u = A u for one generic u. Returns 1 or 0, or -1
 * if a call fails. */
static int symmetric(job *j, const merbit_view *view) {
  merbit_plan_desc desc;
  merbit_plan *plan = NULL;
  double most = 0;
  int64_t i;
  int turn;
  memset(&desc, 0, sizeof desc);
  desc.vector_memory = MERBIT_MEMORY_HOST;
  for (i = 0; i < view->rows; i++) {
    j->x[i] = 1 + (double)(i * 7919 % 1009) / 1009;
  }
  for (turn = 0; turn < 2; turn++) {
    merbit_status status;
    desc.operation = turn == 0 ? MERBIT_OPERATION_N : MERBIT_OPERATION_T;
    status = merbit_plan_create(j->context, view, &desc, &plan);
    if (status == MERBIT_OK) {
      status = merbit_spmv(plan, NULL, NULL, j->x, NULL, turn == 0 ? j->ones : j->b, NULL);
    }
    merbit_plan_destroy(plan);
    if (status != MERBIT_OK) {
      return -1;
    }
  }
  for (i = 0; i < view->rows; i++) {
    most = fmax(most, fabs(j->ones[i]));
  }
  for (i = 0; i < view->rows; i++) {
    if (!(fabs(j->ones[i] - j->b[i]) <= 1e-12 * most)) {
      return 0;
    }
  }
  return 1;
}

/* Sets b to A times a vector of ones. */
static merbit_status make_load(job *j, const merbit_view *view) {
  merbit_plan_desc desc;
  merbit_plan *plan = NULL;
  merbit_status status;
  int64_t i;
  memset(&desc, 0, sizeof desc);
  desc.vector_memory = MERBIT_MEMORY_HOST;
  for (i = 0; i < view->rows; i++) {
    j->ones[i] = 1;
  }
  status = merbit_plan_create(j->context, view, &desc, &plan);
  if (status == MERBIT_OK) {
    status = merbit_spmv(plan, NULL, NULL, j->ones, NULL, j->b, NULL);
  }
  merbit_plan_destroy(plan);
  return status;
}

static void report(const job *j, const merbit_solver_result *r, int64_t n) {
  double error = 0;
  int64_t i;
  for (i = 0; i < n; i++) {
    error = fmax(error, fabs(j->x[i] - 1));
  }
  (void)printf("%d iterations in %.3f s after %.3f s of preparing: %s\n", r->iterations,
               r->iterate_seconds, r->prepare_seconds, r->description);
  (void)printf("the residual ||b - A x|| is %.1e of ||b||; x solves exactly a system that "
               "differs from this one by %.1e (backward error); x is off by at most %.1e\n",
               r->residual, r->backward_error, error);
  (void)printf("plan: %s\n", r->plan_description);
}

/* Names of merbit_preconditioner_kind in its order; kinds without a name are not offered. */
static const char *const preconditioners[] = {"none",      "jacobi", "",   "",
                                              "chebyshev", "fsai",   "amg"};
enum { PRECONDITIONERS = sizeof preconditioners / sizeof preconditioners[0] };

static int draw(const job *j, const char *method, merbit_preconditioner_kind preconditioner,
                const merbit_solver_result *r) {
  char title[256], label[64];
  const char *name = strrchr(j->path, '/');
  picture p;
  picture_curve curve;
  memset(&p, 0, sizeof p);
  memset(&curve, 0, sizeof curve);
  (void)snprintf(title, sizeof title, "%s on %s", method, name != NULL ? name + 1 : j->path);
  p.title = title;
  p.x_label = "iteration";
  p.y_label = "residual";
  p.target = 1e-10;
  (void)snprintf(label, sizeof label, "%s%s%s", method, preconditioner != 0 ? ", " : "",
                 preconditioner != 0 ? preconditioners[preconditioner] : "");
  curve.name = label;
  curve.values = j->history + 1; /* skip the residual of x = 0 */
  curve.count = r->iterations < HISTORY - 1 ? r->iterations : HISTORY - 1;
  if (picture_write(j->picture, &p, &curve, 1) != 0) {
    perror(j->picture);
    return 1;
  }
  (void)printf("picture: %s\n", j->picture);
  return 0;
}

static int run(job *j) {
  static const char *const names[] = {"", "CG", "BiCGSTAB", "GMRES(30)"};
  merbit_error error;
  merbit_solver_desc desc;
  merbit_solver_result result;
  merbit_read_desc read;
  merbit_view view;
  int alike;
  memset(&desc, 0, sizeof desc);
  memset(&read, 0, sizeof read);
  read.value_type = MERBIT_F64;
  if (merbit_context_create(NULL, &j->context, &error) != MERBIT_OK) {
    (void)fprintf(stderr, "solve: %s\n", error.message);
    return 1;
  }
  if (merbit_matrix_read_file(j->context, j->path, &read, &j->matrix) != MERBIT_OK) {
    return fail(j, "reading the matrix");
  }
  view = merbit_matrix_view(j->matrix);
  if (view.rows != view.cols || view.offset_type != MERBIT_INDEX_32) {
    (void)fprintf(stderr,
                  "solve: %s is %lld x %lld with %lld entries; this program takes square "
                  "matrices of at most 2^31 - 1 entries\n",
                  j->path, (long long)view.rows, (long long)view.cols, (long long)view.nnz);
    return 1;
  }
  j->ones = (double *)malloc(((size_t)view.rows + 1) * sizeof *j->ones);
  j->b = (double *)malloc(((size_t)view.rows + 1) * sizeof *j->b);
  j->x = (double *)calloc((size_t)view.rows + 1, sizeof *j->x);
  j->history = (double *)calloc(HISTORY, sizeof *j->history);
  if (j->ones == NULL || j->b == NULL || j->x == NULL || j->history == NULL) {
    perror("solve");
    return 1;
  }
  alike = symmetric(j, &view);
  if (alike < 0 || make_load(j, &view) != MERBIT_OK) {
    return fail(j, "products");
  }
  desc.method = j->method != 0 ? j->method : alike ? MERBIT_SOLVER_CG : MERBIT_SOLVER_BICGSTAB;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.preconditioner =
      (merbit_preconditioner_kind)(j->preconditioner >= 0 ? j->preconditioner
                                                          : full_diagonal(&view));
  desc.progress = progress;
  (void)printf("%s: %lld unknowns, %lld nonzeros, %s; %s, preconditioner: %s\n", j->path,
               (long long)view.rows, (long long)view.nnz, alike ? "symmetric" : "not symmetric",
               names[desc.method], preconditioners[desc.preconditioner]);
  if (merbit_solver_create(j->context, &view, &desc, &j->solver) != MERBIT_OK ||
      merbit_solver_solve(j->solver, j->b, j->x, 0, j->history, HISTORY, &result) !=
          MERBIT_OK) {
    return fail(j, names[desc.method]);
  }
  if (isatty(STDERR_FILENO)) {
    (void)fputs("\r\033[K", stderr);
  }
  report(j, &result, view.rows);
  return (j->picture != NULL &&
          draw(j, names[desc.method], desc.preconditioner, &result) != 0) ||
         result.stop != MERBIT_STOP_CONVERGED;
}

static int usage(void) {
  (void)fputs(
      "usage: solve [--method cg|bicgstab|gmres] [--preconditioner amg|chebyshev|fsai|jacobi|"
      "none] [--picture FILE] matrix.mtx\n",
      stderr);
  return 2;
}

static int parse(job *j, int argc, char **argv) {
  int i;
  j->preconditioner = -1;
  for (i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--preconditioner") == 0 && i + 1 < argc) {
      j->preconditioner = PRECONDITIONERS - 1;
      i++;
      while (j->preconditioner >= 0 && strcmp(argv[i], preconditioners[j->preconditioner])) {
        j->preconditioner--;
      }
      if (j->preconditioner < 0 || argv[i][0] == '\0') {
        return 0;
      }
    } else if (strcmp(argv[i], "--picture") == 0 && i + 1 < argc) {
      j->picture = argv[++i];
    } else if (strcmp(argv[i], "--method") == 0 && i + 1 < argc) {
      i++;
      j->method = strcmp(argv[i], "cg") == 0         ? MERBIT_SOLVER_CG
                  : strcmp(argv[i], "bicgstab") == 0 ? MERBIT_SOLVER_BICGSTAB
                  : strcmp(argv[i], "gmres") == 0    ? MERBIT_SOLVER_GMRES
                                                     : (merbit_solver_method)0;
      if (j->method == 0) {
        return 0;
      }
    } else if (argv[i][0] == '-' || j->path != NULL) {
      return 0;
    } else {
      j->path = argv[i];
    }
  }
  return j->path != NULL;
}

int main(int argc, char **argv) {
  job j;
  int result;
  memset(&j, 0, sizeof j);
  if (!parse(&j, argc, argv)) {
    return usage();
  }
  result = run(&j);
  merbit_solver_destroy(j.solver);
  merbit_matrix_destroy(j.matrix);
  merbit_context_destroy(j.context);
  free(j.ones);
  free(j.b);
  free(j.x);
  free(j.history);
  return result;
}
