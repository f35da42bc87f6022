/* A cooling plate in implicit time steps: heat [side [steps [amg|jacobi]]]
 *
 * dT/dt = div(k(T) grad T) on a square of side x side points (default: 200, and 20 steps) with
 * the edges held at 0. The plate conducts better where it is hot: k = 1 + T^2. Each step solves
 * (I - dt div k grad) T' = T by CG with k taken from the beginning of the step. So the matrix
 * keeps its structure and changes its values: the solver, its plan and its preconditioner are
 * made once, and merbit_solver_update_values gives them the new values. Runs on the GPU if
 * there is one, else on the CPU. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double step_seconds = 1e-3;

typedef struct plate {
  int side;
  int32_t *row_ptr, *col_ind;
  double *values, *temperature, *before;
  int stopped; /* 1 if a solve ended without converging */
} plate;

/* Returns the index of the point at (x, y), or -1 on the edge, where there is no unknown. */
static int point_at(const plate *p, int x, int y) {
  return x < 0 || y < 0 || x >= p->side || y >= p->side ? -1 : y * p->side + x;
}

/* Returns the conductivity between two points; point -1 is at temperature 0. */
static double conductivity(const plate *p, int from, int to) {
  const double a = p->temperature[from], b = to < 0 ? 0 : p->temperature[to];
  return 1 + (a * a + b * b) / 2;
}

/* Writes the matrix of a time step from the current temperatures. Returns the number of
 * nonzeros. The structure is the same every time. */
static int32_t plate_assemble(const plate *p) {
  static const int steps[4][2] = {{0, -1}, {-1, 0}, {1, 0}, {0, 1}};
  const double scale = step_seconds * (p->side + 1.0) * (p->side + 1.0);
  int32_t used = 0;
  int x, y, k;
  for (y = 0; y < p->side; y++) {
    for (x = 0; x < p->side; x++) {
      const int here = point_at(p, x, y);
      const int32_t diagonal = used++;
      p->row_ptr[here] = diagonal;
      p->col_ind[diagonal] = here;
      p->values[diagonal] = 1;
      for (k = 0; k < 4; k++) {
        const int there = point_at(p, x + steps[k][0], y + steps[k][1]);
        const double flow = scale * conductivity(p, here, there);
        p->values[diagonal] += flow;
        if (there >= 0) {
          p->col_ind[used] = there;
          p->values[used++] = -flow;
        }
      }
    }
  }
  p->row_ptr[p->side * p->side] = used;
  return used;
}

/* Returns the heat in the plate: the integral of the temperature. */
static double plate_heat(const plate *p) {
  double sum = 0;
  int i;
  for (i = 0; i < p->side * p->side; i++) {
    sum += p->temperature[i];
  }
  return sum / ((p->side + 1.0) * (p->side + 1.0));
}

/* Allocates the arrays. Returns 0 if there is no memory. */
static int plate_make(plate *p) {
  const size_t points = (size_t)p->side * (size_t)p->side;
  p->row_ptr = (int32_t *)malloc((points + 1) * sizeof *p->row_ptr);
  p->col_ind = (int32_t *)malloc(5 * points * sizeof *p->col_ind);
  p->values = (double *)malloc(5 * points * sizeof *p->values);
  p->temperature = (double *)malloc(points * sizeof *p->temperature);
  p->before = (double *)malloc(points * sizeof *p->before);
  return p->row_ptr != NULL && p->col_ind != NULL && p->values != NULL &&
         p->temperature != NULL && p->before != NULL;
}

/* Solves `steps` time steps, but stops if a solve does not converge. */
static merbit_status plate_cool(plate *p, merbit_context *context, int steps,
                                merbit_preconditioner_kind kind) {
  const int32_t n = p->side * p->side;
  merbit_view view = merbit_csr(n, n, plate_assemble(p), p->row_ptr, p->col_ind, p->values);
  merbit_solver_desc desc = merbit_solver_defaults();
  merbit_solver_result result;
  merbit_solver *solver = NULL;
  merbit_status status;
  double seconds = 0;
  int step, iterations = 0;
  desc.method = MERBIT_SOLVER_CG;
  desc.preconditioner = kind;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.tolerance = 1e-8;
  desc.expected_solves = steps;
  status = merbit_solver_create(context, &view, &desc, &solver);
  for (step = 1; step <= steps && status == MERBIT_OK; step++) {
    if (step > 1) { /* a new matrix in the old arrays */
      (void)plate_assemble(p);
      status = merbit_solver_update_values(solver, p->values, MERBIT_MEMORY_HOST);
    }
    memcpy(p->before, p->temperature, (size_t)n * sizeof *p->before);
    if (status == MERBIT_OK) { /* start from the previous temperatures */
      status = merbit_solver_solve(solver, p->before, p->temperature, 1, NULL, 0, &result);
    }
    if (status == MERBIT_OK && result.stop != MERBIT_STOP_CONVERGED) {
      (void)fprintf(stderr, "heat: step %d: %s\n", step, result.description);
      p->stopped = 1;
      break;
    }
    if (status == MERBIT_OK) {
      iterations += result.iterations;
      seconds += result.iterate_seconds;
      if (step == 1 || step == steps) {
        (void)printf("step %d: %d iterations, heat %.4f\n", step, result.iterations,
                     plate_heat(p));
      }
    }
  }
  if (status == MERBIT_OK) {
    (void)printf("%d iterations in all, solves %.3f s; %s\n", iterations, seconds,
                 result.plan_description);
  }
  merbit_solver_destroy(solver);
  return status;
}

/* Returns the number that `text` consists of, up to 10^9, or 0 if it is none. */
static int read_count(const char *text) {
  char *rest;
  const long number = strtol(text, &rest, 10);
  return *rest == '\0' && number > 0 && number <= 1000000000 ? (int)number : 0;
}

int main(int argc, char **argv) {
  plate p;
  merbit_context *context = NULL;
  merbit_error error;
  merbit_status status;
  const int steps = argc > 2 ? read_count(argv[2]) : 20;
  const int jacobi = argc > 3 && strcmp(argv[3], "jacobi") == 0;
  int i;
  memset(&p, 0, sizeof p);
  p.side = argc > 1 ? read_count(argv[1]) : 200;
  if (argc > 4 || p.side < 1 || p.side > 10000 || steps < 1 ||
      (argc > 3 && !jacobi && strcmp(argv[3], "amg") != 0)) {
    (void)fprintf(stderr, "usage: heat [side [steps [amg|jacobi]]], side up to 10000\n");
    return 2;
  }
  status = merbit_context_create(NULL, &context, &error);
  if (status != MERBIT_OK) {
    (void)fprintf(stderr, "heat: %s\n", error.message);
    return 1;
  }
  if (!plate_make(&p)) {
    (void)fprintf(stderr, "heat: no memory\n");
    status = MERBIT_OUT_OF_MEMORY;
  }
  for (i = 0; i < p.side * p.side && status == MERBIT_OK; i++) { /* a hot spot in the middle */
    const double x = (i % p.side + 1.0) / (p.side + 1) - 0.5;
    const double y = (i / p.side + 1.0) / (p.side + 1) - 0.5;
    p.temperature[i] = x * x + y * y < 0.04 ? 10 : 1;
  }
  if (status == MERBIT_OK) {
    (void)printf("%d x %d points, heat %.4f\n", p.side, p.side, plate_heat(&p));
    status = plate_cool(&p, context, steps,
                        jacobi ? MERBIT_PRECONDITIONER_JACOBI : MERBIT_PRECONDITIONER_AMG);
    if (status != MERBIT_OK) {
      char sentence[MERBIT_MESSAGE_SIZE];
      (void)merbit_last_error(context, sentence, sizeof sentence);
      (void)fprintf(stderr, "heat: %s\n", sentence);
    }
  }
  merbit_context_destroy(context);
  free(p.row_ptr);
  free(p.col_ind);
  free(p.values);
  free(p.temperature);
  free(p.before);
  return status != MERBIT_OK || p.stopped;
}
