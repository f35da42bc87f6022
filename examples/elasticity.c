/* A finite-element model in blocks: elasticity [elements along the height]
 *
 * A cantilever in plane stress, four times as long as high, is clamped at its left end and
 * pulled down at its right end. Bilinear square elements with two displacements per node give a
 * stiffness matrix of 2 x 2 blocks. It is assembled as (row, column, value) triples, converted
 * to blocks and to CSR, and solved with each by conjugate gradients. Both need the same number
 * of iterations; the program compares the times of their products. Runs on the GPU if there is
 * one, else on the CPU's threads. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CORNERS = 4, PER_ELEMENT = 2 * CORNERS };

typedef struct model { /* n displacements; `count` triples of the stiffness matrix */
  int64_t height, length, n, count;
  int32_t *row, *col;
  double *values, *load;
} model;

typedef struct solution {
  int iterations;
  double residual, tip, product_seconds;
} solution;

/* Computes the stiffness of a square element for Young's modulus 1 and Poisson's ratio 0.3 with
 * 2 x 2 Gauss points, which are exact here. Corners are counted counterclockwise from the lower
 * left. */
static void element(double k[PER_ELEMENT][PER_ELEMENT]) {
  static const double sx[CORNERS] = {-1, 1, 1, -1}, sy[CORNERS] = {-1, -1, 1, 1};
  const double nu = 0.3, d = 1 / (1 - nu * nu), g = sqrt(1.0 / 3);
  int point, i, j;
  memset(k, 0, PER_ELEMENT * PER_ELEMENT * sizeof k[0][0]);
  for (point = 0; point < 4; point++) {
    const double x = sx[point] * g, y = sy[point] * g;
    double dx[CORNERS], dy[CORNERS];
    for (i = 0; i < CORNERS; i++) { /* gradients of the shape functions on an element of side
                                     * 1 */
      dx[i] = sx[i] * (1 + sy[i] * y) / 2;
      dy[i] = sy[i] * (1 + sx[i] * x) / 2;
    }
    for (i = 0; i < CORNERS; i++) {
      for (j = 0; j < CORNERS; j++) { /* each point has a quarter of the area */
        k[2 * i][2 * j] += d * (dx[i] * dx[j] + (1 - nu) / 2 * dy[i] * dy[j]) / 4;
        k[2 * i][2 * j + 1] += d * (nu * dx[i] * dy[j] + (1 - nu) / 2 * dy[i] * dx[j]) / 4;
        k[2 * i + 1][2 * j] += d * (nu * dy[i] * dx[j] + (1 - nu) / 2 * dx[i] * dy[j]) / 4;
        k[2 * i + 1][2 * j + 1] += d * (dy[i] * dy[j] + (1 - nu) / 2 * dx[i] * dx[j]) / 4;
      }
    }
  }
}

/* Assembles the model. Returns 1 if memory runs out, else 0. A clamped displacement has a one
 * on the diagonal and nothing else in its row. */
static int model_make(int64_t height, model *m) {
  double k[PER_ELEMENT][PER_ELEMENT];
  int64_t x, y, i, j;
  m->height = height;
  m->length = 4 * height;
  m->n = 2 * (m->height + 1) * (m->length + 1);
  m->row = (int32_t *)malloc((size_t)(m->height * m->length * 64 + m->n) * sizeof *m->row);
  m->col = (int32_t *)malloc((size_t)(m->height * m->length * 64 + m->n) * sizeof *m->col);
  m->values = (double *)malloc((size_t)(m->height * m->length * 64 + m->n) * sizeof *m->values);
  m->load = (double *)calloc((size_t)m->n, sizeof *m->load);
  if (m->row == NULL || m->col == NULL || m->values == NULL || m->load == NULL) {
    return 1;
  }
  element(k);
  for (x = 0; x < m->length; x++) {
    for (y = 0; y < m->height; y++) { /* nodes are numbered upwards, then rightwards */
      const int64_t left = x * (m->height + 1) + y, right = left + m->height + 1;
      const int64_t corner[CORNERS] = {left, right, right + 1, left + 1};
      for (i = 0; i < PER_ELEMENT; i++) {
        for (j = 0; j < PER_ELEMENT; j++) {
          const int64_t row = 2 * corner[i / 2] + i % 2, col = 2 * corner[j / 2] + j % 2;
          if (row >= 2 * (m->height + 1) && col >= 2 * (m->height + 1)) {
            m->row[m->count] = (int32_t)row;
            m->col[m->count] = (int32_t)col;
            m->values[m->count++] = k[i][j];
          }
        }
      }
    }
  }
  for (i = 0; i < 2 * (m->height + 1); i++) {
    m->row[m->count] = m->col[m->count] = (int32_t)i;
    m->values[m->count++] = 1;
  }
  for (y = 0; y <= m->height; y++) { /* a total load of 1, spread over the right end */
    m->load[m->n - 2 * y - 1] = -1.0 / (double)(m->height + 1);
  }
  return 0;
}

static double seconds(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double dot(const double *a, const double *b, int64_t n) {
  double sum = 0;
  int64_t i;
  for (i = 0; i < n; i++) {
    sum += a[i] * b[i];
  }
  return sum;
}

/* Solves by conjugate gradients from x = 0 until the residual is 1e-8 of the load's norm. */
static merbit_status solve(merbit_plan *plan, const model *m, solution *s) {
  const int64_t n = m->n;
  double *u = (double *)calloc((size_t)(4 * n), sizeof *u);
  double *r = u + n, *p = r + n, *q = p + n, rr, stop;
  merbit_status status = MERBIT_OK;
  int64_t i;
  if (u == NULL) {
    return MERBIT_OUT_OF_MEMORY;
  }
  memcpy(r, m->load, (size_t)n * sizeof *r);
  memcpy(p, m->load, (size_t)n * sizeof *p);
  memset(s, 0, sizeof *s);
  rr = dot(r, r, n);
  stop = 1e-16 * rr;
  while (rr > stop && s->iterations < 20000) {
    const double start = seconds();
    double step, before = rr;
    status = merbit_spmv(plan, NULL, NULL, p, NULL, q, NULL);
    s->product_seconds += seconds() - start;
    if (status != MERBIT_OK) {
      break;
    }
    step = rr / dot(p, q, n);
    for (i = 0; i < n; i++) {
      u[i] += step * p[i];
      r[i] -= step * q[i];
    }
    rr = dot(r, r, n);
    for (i = 0; i < n; i++) {
      p[i] = r[i] + rr / before * p[i];
    }
    s->iterations++;
  }
  s->residual = sqrt(rr / (stop / 1e-16));
  s->tip = u[n - 1 - m->height / 2 * 2];
  free(u);
  return status;
}

/* Plans and solves with the matrix in the view's format, with the method that AUTO chooses. */
static merbit_status solve_with(merbit_context *context, const char *name,
                                const merbit_view *view, const model *m) {
  merbit_plan_desc desc;
  merbit_plan_info info;
  merbit_plan *plan = NULL;
  solution s;
  char line[1024];
  merbit_status status;
  memset(&desc, 0, sizeof desc);
  desc.vector_memory = MERBIT_MEMORY_HOST;
  desc.method = view->format == MERBIT_BSR ? MERBIT_METHOD_BSR : MERBIT_METHOD_AUTO;
  desc.expected_calls = 1000;
  status = merbit_plan_create(context, view, &desc, &plan);
  if (status == MERBIT_OK) {
    status = solve(plan, m, &s);
  }
  if (status == MERBIT_OK) {
    (void)merbit_plan_get_info(plan, &info);
    (void)merbit_plan_describe(plan, line, sizeof line);
    (void)printf(
        "%-7s %5d iterations, residual %.1e, tip moves %.3f; a product takes %.1f us and "
        "moves %.2f MB\n        %s\n",
        name, s.iterations, s.residual, s.tip,
        1e6 * s.product_seconds / (s.iterations > 0 ? s.iterations : 1),
        1e-6 * (double)info.bytes_per_product, line);
  }
  merbit_plan_destroy(plan);
  return status;
}

int main(int argc, char **argv) {
  char *rest = NULL;
  const long height = argc > 1 ? strtol(argv[1], &rest, 10) : 40;
  merbit_context *context = NULL;
  merbit_matrix *blocks = NULL, *csr = NULL;
  merbit_bsr_desc shape;
  merbit_view view;
  merbit_error error;
  merbit_status status;
  char sentence[MERBIT_MESSAGE_SIZE];
  model m;
  memset(&m, 0, sizeof m);
  memset(&shape, 0, sizeof shape);
  if (argc > 2 || height < 1 || height > 2000 || (rest != NULL && *rest != '\0')) {
    (void)fprintf(stderr, "usage: elasticity [elements along the height, 1 to 2000]\n");
    return 2;
  }
  if (merbit_context_create(NULL, &context, &error) != MERBIT_OK) {
    (void)fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  status = model_make(height, &m) ? MERBIT_OUT_OF_MEMORY : MERBIT_OK;
  view = merbit_csr(m.n, m.n, m.count, NULL, m.col, m.values);
  view.format = MERBIT_COO; /* each element adds its own triples; duplicates are summed */
  view.row_ind = m.row;
  shape.block_rows = shape.block_cols = 2;
  if (status == MERBIT_OK &&
      (status = merbit_matrix_create_bsr(context, &view, &shape, &blocks)) == MERBIT_OK) {
    status = merbit_matrix_create(context, &view, &csr);
  }
  if (status == MERBIT_OK) {
    const merbit_view in_blocks = merbit_matrix_view(blocks), in_csr = merbit_matrix_view(csr);
    (void)printf("%ld x %ld elements, %lld unknowns, %lld nonzeros in %lld blocks of 2 x 2 "
                 "(%.1f%% filled)\n",
                 4 * height, height, (long long)m.n, (long long)in_csr.nnz,
                 (long long)in_blocks.nnz, 25.0 * (double)in_csr.nnz / (double)in_blocks.nnz);
    status = solve_with(context, "blocks", &in_blocks, &m);
    if (status == MERBIT_OK) {
      status = solve_with(context, "CSR", &in_csr, &m);
    }
  }
  if (status != MERBIT_OK) {
    const int told = merbit_last_error(context, sentence, sizeof sentence) == status;
    (void)fprintf(stderr, "%s\n", told ? sentence : "no memory for the model");
  }
  merbit_matrix_destroy(blocks);
  merbit_matrix_destroy(csr);
  merbit_context_destroy(context);
  free(m.row);
  free(m.col);
  free(m.values);
  free(m.load);
  return status != MERBIT_OK;
}
