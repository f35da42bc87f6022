/* bench --solve LIST --preconditioner LIST: solvers with each kind of preconditioner on systems
 * from partial differential equations and graphs, on either side. A and the vectors are in that
 * side's memory. */
#ifndef BENCH_PRECONDITIONERS_H
#define BENCH_PRECONDITIONERS_H
#include "builders.h"
#include "driver.h"
#include "inputs.h"
#include "json.h"
#include "loop_amg.h"
#include "options.h"
#include "systems.h"
#include <math.h>
#include <time.h>

/* ---- Systems: pde:NAME:SIDE -------------------------------------------------------------- */

/* Points of a box with Dirichlet boundaries, or of a graph without. Edges along each axis have
 * a weight; `jump` multiplies those of a cell by up to as much. */
typedef struct bench_pde {
  const char *name;
  int axes, full; /* full: 27 points */
  double weights[3], jump;
  int random;   /* 1: each point has its own coefficient, between 1 and `jump`; 0: cells of 8
                 * points along each axis have 1 and `jump` in turn */
  double edges; /* the share of edges that exist; below 1 without boundaries, for a graph */
  double wind;  /* the Peclet number of a cell where the wind's speed is 1; 0: no convection */
} bench_pde;
static const bench_pde bench_pdes[] = {
    {"poisson2d", 2, 0, {1, 1, 0}, 1, 0, 1, 0},     /* 5 points */
    {"poisson3d", 3, 0, {1, 1, 1}, 1, 0, 1, 0},     /* 7 points */
    {"poisson27", 3, 1, {1, 1, 1}, 1, 0, 1, 0},     /* 27 points */
    {"weak2d", 2, 0, {1, 1e-3, 0}, 1, 0, 1, 0},     /* one axis of two weaker by 1,000 */
    {"weak3d", 3, 0, {1, 1, 1e-3}, 1, 0, 1, 0},     /* one axis of three weaker by 1,000 */
    {"weak3d2", 3, 0, {1, 1e-3, 1e-3}, 1, 0, 1, 0}, /* two axes of three weaker by 1,000 */
    {"cells", 3, 0, {1, 1, 1}, 1e6, 0, 1, 0}, /* coefficients 1 and 1e6 in cells of 8^3 points
                                               */
    {"random2d", 2, 0, {1, 1, 0}, 1e6, 1, 1, 0}, /* a coefficient from 1 to 1e6 at each point */
    {"random3d", 3, 0, {1, 1, 1}, 1e6, 1, 1, 0}, /* a coefficient from 1 to 1e6 at each point */
    {"streets", 2, 0, {1, 1, 0}, 1, 0, 0.7, 0},  /* a grid graph with 7 of 10 edges */
    {"convection2d", 2, 0, {1, 1, 0}, 1, 0, 1, 10}, /* convection and diffusion */
    {"convection3d", 3, 0, {1, 1, 1}, 1, 0, 1, 10},
};
#define BENCH_PDES ((int)(sizeof bench_pdes / sizeof bench_pdes[0]))

typedef struct bench_points {
  const bench_pde *pde;
  int64_t side;
} bench_points;

/* Ends the program if a matrix with so many entries per row does not fit 32-bit offsets. */
static void bench_pde_fits(const bench_matrix *m, int64_t entries) {
  if (m->rows > INT32_MAX / entries) {
    bench_die("%s has more than 2^31 - 1 entries; take a smaller SIDE", m->name);
  }
}

static double bench_point_coefficient(const bench_points *p, const int64_t at[3]) {
  const int64_t cell = at[0] / 8 + at[1] / 8 + at[2] / 8;
  const int64_t point = (at[2] * p->side + at[1]) * p->side + at[0];
  return p->pde->random ? pow(p->pde->jump, bench_uniform(bench_key(1, 61), (uint64_t)point))
                        : (cell % 2 != 0 ? p->pde->jump : 1);
}

/* Returns what upwind differences add to the weight of an edge along an axis: Peclet's number
 * for the wind that blows from there. On [-1, 1]^2 it is the recirculating wind of Elman,
 * Silvester and Wathen (Finite Elements and Fast Iterative Solvers, example 6.1.4); in 3D it
 * rises at speed 1, too. */
static double bench_point_wind(const bench_points *p, const int64_t at[3], int axis, int step) {
  const double x = 2.0 * (double)(at[0] + 1) / (double)(p->side + 1) - 1;
  const double y = 2.0 * (double)(at[1] + 1) / (double)(p->side + 1) - 1;
  const double speed = axis == 0 ? 2 * y * (1 - x * x) : axis == 1 ? -2 * x * (1 - y * y) : 1;
  return speed * step < 0 ? p->pde->wind * fabs(speed) : 0;
}

/* Returns the weight of the edge from a point in a direction, or 0 if there is none. Sets
 * *inside if it does not leave the box. */
static double bench_point_edge(const bench_points *p, const int64_t at[3], const int step[3],
                               int *inside) {
  const bench_pde *pde = p->pde;
  int64_t to[3], low = 0;
  int direction = 0;
  double weight = 1, from = bench_point_coefficient(p, at), other;
  int axis, moved = 0;
  *inside = 1;
  for (axis = 0; axis < 3; axis++) {
    to[axis] = at[axis] + step[axis];
    *inside = *inside && to[axis] >= 0 && to[axis] < (axis < pde->axes ? p->side : 1);
    moved += step[axis] != 0;
    if (step[axis] != 0 && !pde->full) {
      weight = pde->weights[axis] + bench_point_wind(p, at, axis, step[axis]);
    }
  }
  if (moved == 0 || (moved > 1 && !pde->full) || (step[2] != 0 && pde->axes < 3)) {
    *inside = 0;
    return 0;
  }
  if (!*inside) {
    return pde->edges < 1 ? 0 : weight * from;
  }
  for (axis = 2; axis >= 0; axis--) {
    low = low * p->side + (step[axis] < 0 ? to[axis] : at[axis]);
    direction = 2 * direction + (step[axis] != 0);
  }
  if (bench_uniform(bench_key(1, 62), (uint64_t)(low * 8 + direction)) >= pde->edges) {
    *inside = 0;
    return 0;
  }
  other = bench_point_coefficient(p, to);
  return weight * 2 * from * other / (from + other);
}

/* Writes the entries of a row, in the order of columns, and returns their number. */
static int bench_point_row(const bench_points *p, int64_t row, int32_t *columns,
                           double *values) {
  const int64_t at[3] = {row % p->side, row / p->side % p->side, row / p->side / p->side};
  double sum = p->pde->edges < 1 ? 1e-6 : 0;
  int count = 0, diagonal = 0, k, inside;
  for (k = 0; k < 27; k++) {
    const int step[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
    const double weight = bench_point_edge(p, at, step, &inside);
    sum += weight;
    if (k == 13 || inside) {
      diagonal = k == 13 ? count : diagonal;
      columns[count] = (int32_t)(row + (step[2] * p->side + step[1]) * p->side + step[0]);
      values[count++] = -weight;
    }
  }
  values[diagonal] = sum;
  return count;
}

static void bench_pde_make(const bench_pde *pde, int64_t side, bench_matrix *m) {
  bench_points p;
  int32_t columns[27];
  double values[27];
  int64_t row;
  p.pde = pde;
  p.side = side;
  memset(m, 0, sizeof *m);
  (void)snprintf(m->name, sizeof m->name, "pde:%s:%lld", pde->name, (long long)side);
  m->rows = m->cols = side * side * (pde->axes == 3 ? side : 1);
  bench_pde_fits(m, pde->full ? 27 : 2 * pde->axes + 1);
  m->row_ptr = (int32_t *)bench_allocate(m->rows + 1, sizeof *m->row_ptr);
  m->col_ind = (int32_t *)bench_allocate(m->rows * (pde->full ? 27 : 2 * pde->axes + 1),
                                         sizeof *m->col_ind);
  m->values = (double *)bench_allocate(m->rows * (pde->full ? 27 : 2 * pde->axes + 1),
                                       sizeof *m->values);
  m->row_ptr[0] = 0;
  for (row = 0; row < m->rows; row++) {
    const int count = bench_point_row(&p, row, columns, values);
    memcpy(m->col_ind + m->nnz, columns, (size_t)count * sizeof *columns);
    memcpy(m->values + m->nnz, values, (size_t)count * sizeof *values);
    m->nnz += count;
    m->row_ptr[row + 1] = (int32_t)m->nnz;
  }
}

/* ---- Elasticity: pde:elastic:SIDE -------------------------------------------------------- */

/* Writes the stiffness of an element. The bar has 2 side x side x side trilinear elements with
 * Poisson's ratio 0.3, and is fixed at one end. */
static void bench_element_stiffness(double k[24][24]) {
  const double nu = 0.3, mu = 1 / (2 * (1 + nu)), lame = nu / ((1 + nu) * (1 - 2 * nu));
  int q, a, b, i, j, l;
  memset(k, 0, 576 * sizeof(double));
  for (q = 0; q < 8; q++) {
    double slope[8][3];
    for (a = 0; a < 8; a++) {
      double f[3];
      for (i = 0; i < 3; i++) {
        f[i] = 1 + ((a >> i & 1) ? 1 : -1) * ((q >> i & 1) ? 1 : -1) / sqrt(3.0);
      }
      for (i = 0; i < 3; i++) {
        slope[a][i] = ((a >> i & 1) ? 1 : -1) * f[(i + 1) % 3] * f[(i + 2) % 3] / 4;
      }
    }
    for (a = 0; a < 8; a++) {
      for (b = 0; b < 8; b++) {
        double dot = 0;
        for (l = 0; l < 3; l++) {
          dot += slope[a][l] * slope[b][l];
        }
        for (i = 0; i < 3; i++) {
          for (j = 0; j < 3; j++) {
            k[3 * a + i][3 * b + j] += (lame * slope[a][i] * slope[b][j] +
                                        mu * (slope[a][j] * slope[b][i] + (i == j) * dot)) /
                                       8;
          }
        }
      }
    }
  }
}

/* Sets sums[o] to the block of a node and its neighbour in direction o, 0 to 26. */
static void bench_elastic_node(const int64_t at[3], const int64_t elements[3], double k[24][24],
                               double sums[27][3][3]) {
  int e, b, i, j, axis;
  memset(sums, 0, 243 * sizeof(double));
  for (e = 0; e < 8; e++) {
    int inside = 1;
    for (axis = 0; axis < 3; axis++) {
      const int64_t element = at[axis] - (e >> axis & 1);
      inside = inside && element >= 0 && element < elements[axis];
    }
    for (b = 0; inside && b < 8; b++) {
      const int o = 13 + ((b & 1) - (e & 1)) + 3 * ((b >> 1 & 1) - (e >> 1 & 1)) +
                    9 * ((b >> 2) - (e >> 2));
      for (i = 0; i < 3; i++) {
        for (j = 0; j < 3; j++) {
          sums[o][i][j] += k[3 * e + i][3 * b + j];
        }
      }
    }
  }
}

/* Makes the matrix, and sets *near to the six rigid body modes, column by column. */
static void bench_elastic_make(int64_t side, bench_matrix *m, double **near) {
  const int64_t elements[3] = {2 * side, side, side};
  const int64_t nodes[3] = {2 * side, side + 1, side + 1}; /* without the fixed ones */
  const int64_t count = nodes[0] * nodes[1] * nodes[2];
  double k[24][24], sums[27][3][3];
  int64_t node;
  int i, j, o;
  memset(m, 0, sizeof *m);
  (void)snprintf(m->name, sizeof m->name, "pde:elastic:%lld", (long long)side);
  m->rows = m->cols = 3 * count;
  bench_pde_fits(m, 81);
  m->row_ptr = (int32_t *)bench_allocate(m->rows + 1, sizeof *m->row_ptr);
  m->col_ind = (int32_t *)bench_allocate(81 * m->rows, sizeof *m->col_ind);
  m->values = (double *)bench_allocate(81 * m->rows, sizeof *m->values);
  *near = (double *)bench_allocate(6 * m->rows, sizeof **near);
  memset(*near, 0, (size_t)(6 * m->rows) * sizeof **near);
  bench_element_stiffness(k);
  m->row_ptr[0] = 0;
  for (node = 0; node < count; node++) {
    const int64_t at[3] = {node % nodes[0] + 1, node / nodes[0] % nodes[1],
                           node / nodes[0] / nodes[1]};
    bench_elastic_node(at, elements, k, sums);
    for (i = 0; i < 3; i++) {
      const int64_t row = 3 * node + i;
      for (o = 0; o < 27; o++) {
        const int64_t x = at[0] + o % 3 - 1, y = at[1] + o / 3 % 3 - 1, z = at[2] + o / 9 - 1;
        for (j = 0; x >= 1 && x <= nodes[0] && y >= 0 && y < nodes[1] && z >= 0 &&
                    z < nodes[2] && j < 3;
             j++) {
          m->col_ind[m->nnz] = (int32_t)(3 * ((z * nodes[1] + y) * nodes[0] + x - 1) + j);
          m->values[m->nnz++] = sums[o][i][j];
        }
      }
      m->row_ptr[row + 1] = (int32_t)m->nnz;
      (*near)[row + i * m->rows] = 1; /* translations, then rotations about an axis */
      for (j = 0; j < 3; j++) {
        const int next = (j + 1) % 3, last = (j + 2) % 3;
        (*near)[row + (3 + j) * m->rows] = i == next   ? -(double)at[last]
                                           : i == last ? (double)at[next]
                                                       : 0;
      }
    }
  }
}

static const char *const bench_precondition_usual[] = {
    "pde:poisson2d:1000", "pde:poisson3d:128", "pde:poisson27:100", "pde:weak2d:1000",
    "pde:weak3d:128",     "pde:weak3d2:128",   "pde:cells:128",     "pde:random2d:1000",
    "pde:random3d:128",   "pde:elastic:40",    "pde:streets:1000",  "gen:rmat:5M",
    "gen:kmer:5M"};

/* ---- Runs -------------------------------------------------------------------------------- */

static const char *const bench_preconditioner_names[] = {
    "none", "jacobi", "block-jacobi", "", "chebyshev", "fsai", "amg", "amg-single"};
static const struct {
  const char *name;
  merbit_solver_method method;
} bench_preconditioned[] = {{"cg", MERBIT_SOLVER_CG},
                            {"bicgstab", MERBIT_SOLVER_BICGSTAB},
                            {"gmres", MERBIT_SOLVER_GMRES}};
#define BENCH_PRECONDITIONED                                                                   \
  ((int)(sizeof bench_preconditioned / sizeof bench_preconditioned[0]))

/* A x = b where the solver computes: in the host's arrays, or in copies in GPU memory. */
typedef struct bench_equations {
  merbit_memory memory;
  merbit_view view;
  const void *b;
  void *x;
} bench_equations;

static const void *bench_equations_array(merbit_context *context, int cuda, const void *source,
                                         int64_t count, size_t size) {
  bench_gpu gpu;
  gpu.context = context;
  return cuda ? mbi_device_pointer(bench_gpu_copy_of(&gpu, source, count, size)) : source;
}

static void bench_equations_create(bench_equations *e, merbit_context *context, int cuda,
                                   const bench_matrix *a, const double *b, double *x) {
  e->memory = cuda ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST;
  if (cuda) {
    bench_merbit_check(context, mbi_device_enter(context));
  }
  e->view = merbit_csr(
      a->rows, a->cols, a->nnz,
      bench_equations_array(context, cuda, a->row_ptr, a->rows + 1, sizeof *a->row_ptr),
      bench_equations_array(context, cuda, a->col_ind, a->nnz, sizeof *a->col_ind),
      bench_equations_array(context, cuda, a->values, a->nnz, sizeof *a->values));
  e->view.memory = e->memory;
  e->b = bench_equations_array(context, cuda, b, a->rows, sizeof *b);
  e->x = (void *)bench_equations_array(context, cuda, x, a->rows, sizeof *x);
  if (cuda) {
    mbi_device_leave(context);
  }
}

/* Copies the answer to the host's x. */
static void bench_equations_answer(const bench_equations *e, merbit_context *context,
                                   double *x) {
  if (e->memory == MERBIT_MEMORY_DEVICE) {
    bench_merbit_check(context, mbi_device_enter(context));
    bench_merbit_check(context, mbi_device_download(context, x, mbi_device_address(e->x),
                                                    (size_t)e->view.rows * sizeof *x));
    mbi_device_leave(context);
  }
}

static void bench_equations_destroy(bench_equations *e, merbit_context *context) {
  if (e->memory == MERBIT_MEMORY_DEVICE && mbi_device_enter(context) == MERBIT_OK) {
    mbi_device_release(context, mbi_device_address(e->view.row_ptr));
    mbi_device_release(context, mbi_device_address(e->view.col_ind));
    mbi_device_release(context, mbi_device_address(e->view.values));
    mbi_device_release(context, mbi_device_address(e->b));
    mbi_device_release(context, mbi_device_address(e->x));
    mbi_device_leave(context);
  }
}

typedef struct bench_precondition_seconds {
  double setup, solve;
  double update;    /* NAN: not known */
  double processor; /* of all threads in set-up and solve, which other programs change less */
} bench_precondition_seconds;

static double bench_precondition_tolerance(const bench_options *o) {
  return o->tolerance > 0 ? o->tolerance : 1e-8;
}

static int bench_precondition_cap(const bench_options *o) {
  return o->max_iterations > 0 ? o->max_iterations : 20000;
}

/* Gives AMG what is known of a system. */
static void bench_precondition_near(const double *near, merbit_preconditioner_desc *desc) {
  if (near != NULL) {
    desc->block_size = 3;
    desc->near_nullspace = near;
    desc->near_nullspace_count = 6;
  }
}

/* Solves once, then gives the solver its values again. Returns 0 if one of them failed. */
static int bench_precondition_run(merbit_context *context, const bench_options *o,
                                  const bench_equations *e, const double *near,
                                  merbit_solver_method method, int kind,
                                  bench_precondition_seconds *seconds,
                                  merbit_solver_result *result, char *about, size_t size) {
  const int amg = kind >= MERBIT_PRECONDITIONER_AMG;
  merbit_preconditioner_desc options;
  merbit_solver_desc desc;
  merbit_solver *solver = NULL;
  merbit_status status;
  const clock_t processor = clock();
  double start = mbi_seconds();
  memset(&options, 0, sizeof options);
  memset(&desc, 0, sizeof desc);
  desc.method = method;
  desc.tolerance = bench_precondition_tolerance(o);
  desc.max_iterations = bench_precondition_cap(o);
  desc.preconditioner =
      (merbit_preconditioner_kind)(amg ? MERBIT_PRECONDITIONER_AMG : (unsigned)kind);
  desc.precondition = kind > MERBIT_PRECONDITIONER_NONE ? &options : NULL;
  options.single = kind > MERBIT_PRECONDITIONER_AMG;
  if (amg) {
    bench_precondition_near(near, &options);
  }
  status = merbit_solver_create(context, &e->view, &desc, &solver);
  seconds->setup = mbi_seconds() - start;
  start = mbi_seconds();
  if (status == MERBIT_OK) {
    status = merbit_solver_solve(solver, e->b, e->x, 0, NULL, 0, result);
  }
  seconds->solve = mbi_seconds() - start;
  seconds->processor = (double)(clock() - processor) / (double)CLOCKS_PER_SEC;
  start = mbi_seconds();
  if (status == MERBIT_OK) {
    status = merbit_solver_update_values(solver, e->view.values, e->memory);
  }
  seconds->update = mbi_seconds() - start;
  if (status != MERBIT_OK) {
    (void)merbit_last_error(context, about, size);
  } else {
    (void)snprintf(about, size, "%s", result->description);
  }
  merbit_solver_destroy(solver);
  return status == MERBIT_OK;
}

/* The GPU, cuSPARSE and the kernels of AMG's cycle over it. */
typedef struct bench_precondition_rival {
  bench_lab lab;
  bench_loop_program program;
} bench_precondition_rival;
#define BENCH_PRECONDITION_RIVAL "cusparse-amg"

/* Returns 0 unless there are a GPU and cuSPARSE, and the rival is asked for. */
static int bench_precondition_rival_open(bench_precondition_rival *r, merbit_context *context,
                                         int cuda, const bench_options *o, bench_json *json) {
  memset(r, 0, sizeof *r);
  if (!cuda || !bench_chosen(o->preconditioner, BENCH_PRECONDITION_RIVAL)) {
    return 0;
  }
  bench_gpu_open(&r->lab.gpu, context);
  bench_cusparse_open(&r->lab.cusparse, &r->lab.gpu);
  bench_cusparse_describe(&r->lab.cusparse, json);
  if (r->lab.cusparse.handle == NULL) {
    bench_gpu_close(&r->lab.gpu);
    return 0;
  }
  bench_merbit_check(context, bench_loop_load(context, 0, &r->program));
  return 1;
}

static void bench_precondition_rival_close(bench_precondition_rival *r) {
  (void)r->lab.gpu.context->device.driver.module_unload(r->program.module);
  bench_cusparse_close(&r->lab.cusparse);
  bench_gpu_close(&r->lab.gpu);
}

/* Solves by an opened loop; x is the host's. */
static void bench_precondition_rival_solve(bench_amg *s, const bench_options *o,
                                           bench_precondition_seconds *seconds,
                                           merbit_solver_result *result, double *x) {
  const double start = mbi_seconds();
  bench_loop_state state;
  memset(&state, 0, sizeof state);
  state.tolerance = bench_precondition_tolerance(o);
  state.cap = bench_precondition_cap(o);
  bench_loop_run(&s->loop, &state, result->iterations);
  seconds->solve = mbi_seconds() - start;
  result->iterations = state.iterations;
  result->stop = (merbit_stop)state.stop;
  bench_merbit_check(s->loop.gpu->context,
                     mbi_device_download(s->loop.gpu->context, x, s->loop.v.x,
                                         (size_t)s->loop.v.n * sizeof *x));
}

/* Sets AMG up by merbit and solves once over cuSPARSE. result->iterations is what a run before
 * took, or 0. The set-up includes cuSPARSE's preparations, but not the choice of its
 * algorithms. Returns 0 if it failed. */
static int bench_precondition_rival_run(bench_precondition_rival *r, const bench_options *o,
                                        const bench_equations *e, const bench_matrix *a,
                                        const double *b, const double *near,
                                        bench_precondition_seconds *seconds,
                                        merbit_solver_result *result, double *x, char *about,
                                        size_t size) {
  bench_gpu *gpu = &r->lab.gpu;
  bench_amg *s = (bench_amg *)bench_allocate(1, sizeof *s);
  const mbi_devptr padded = bench_gpu_vector(gpu, b, a->rows, sizeof *b);
  const clock_t processor = clock();
  const double start = mbi_seconds();
  merbit_preconditioner_desc desc;
  merbit_preconditioner *p = NULL;
  bench_problem problem;
  bench_arrays arrays;
  int good = 0;
  memset(&desc, 0, sizeof desc);
  memset(&problem, 0, sizeof problem);
  memset(&arrays, 0, sizeof arrays);
  problem.m = a;
  problem.size = sizeof(double);
  arrays.problem = &problem;
  arrays.row_ptr = mbi_device_address(e->view.row_ptr);
  arrays.col_ind = mbi_device_address(e->view.col_ind);
  arrays.values = mbi_device_address(e->view.values);
  desc.kind = MERBIT_PRECONDITIONER_AMG;
  bench_precondition_near(near, &desc);
  if (merbit_preconditioner_create(gpu->context, &e->view, &desc, &p) != MERBIT_OK) {
    (void)merbit_last_error(gpu->context, about, size);
  } else if (((const mbi_amg *)p->state)->gpu == NULL) {
    (void)snprintf(about, size, "the hierarchy is not in GPU memory");
  } else {
    good = bench_amg_open(s, &r->lab, &r->program, &arrays, p, padded);
    seconds->setup = mbi_seconds() - start - s->trial_seconds;
    if (good) {
      bench_precondition_rival_solve(s, o, seconds, result, x);
      good = !s->loop.failed;
    }
    if (good) {
      (void)snprintf(about, size, "%d level%s, %s; %d products by CSR's second algorithm",
                     s->count, s->count == 1 ? "" : "s",
                     s->loop.graphs[0] != NULL ? "recorded" : "launched plainly", s->second);
    } else {
      (void)snprintf(about, size, "%s",
                     s->loop.failed ? "a product failed" : s->loop.rival.failure);
    }
    bench_amg_close(s);
  }
  seconds->processor = (double)(clock() - processor) / (double)CLOCKS_PER_SEC;
  seconds->update = NAN;
  merbit_preconditioner_destroy(p);
  mbi_device_release(gpu->context, padded);
  free(s);
  return good;
}

static int bench_precondition_by_seconds(const void *a, const void *b) {
  const bench_precondition_seconds *l = (const bench_precondition_seconds *)a;
  const bench_precondition_seconds *r = (const bench_precondition_seconds *)b;
  const double left = l->setup + l->solve, right = r->setup + r->solve;
  return (left > right) - (left < right);
}

/* Prints and writes a line: the medians of what solved `a`. */
static void bench_precondition_report(const bench_matrix *a, const char *solver, int cuda,
                                      const char *name,
                                      const bench_precondition_seconds *median,
                                      const merbit_solver_result *result, double residual,
                                      const char *about, bench_json *json) {
  char update[24] = "-";
  if (isfinite(median->update)) {
    (void)snprintf(update, sizeof update, "%.4f", median->update);
  }
  (void)printf("%-14s %10d %10.4f %10.4f %10.4f %10s %11.3f  %.1e%s\n", name,
               result->iterations, median->setup, median->solve, median->setup + median->solve,
               update, median->processor, residual,
               result->stop == MERBIT_STOP_CONVERGED ? "" : ", not converged");
  (void)fflush(stdout);
  bench_json_open(json, NULL, '{');
  bench_json_text(json, "task", "preconditioners");
  bench_json_text(json, "input", a->name);
  bench_json_text(json, "precision", "f64");
  bench_json_integer(json, "rows", a->rows);
  bench_json_integer(json, "nnz", a->nnz);
  bench_json_text(json, "solver", solver);
  bench_json_text(json, "preconditioner", name);
  bench_json_integer(json, "iterations", result->iterations);
  bench_json_integer(json, "stop", (int)result->stop);
  bench_json_text(json, "memory", cuda ? "device" : "host");
  bench_json_number(json, "setup_seconds", median->setup);
  bench_json_number(json, "solve_seconds", median->solve);
  bench_json_number(json, "update_seconds", median->update);
  bench_json_number(json, "processor_seconds", median->processor);
  bench_json_number(json, "residual", residual);
  bench_json_text(json, "about", about);
  bench_json_close(json, '}');
}

/* Solves one system with each kind, and by the rival if it is not NULL. Returns how many
 * answers were wrong. */
static int bench_precondition_system(merbit_context *context, int cuda, const bench_options *o,
                                     const bench_matrix *a, const double *near, int solver,
                                     bench_precondition_rival *rival, bench_json *json) {
  const int kinds = (int)(sizeof bench_preconditioner_names / sizeof(char *));
  const char *solver_name = bench_preconditioned[solver].name;
  double *answer = (double *)bench_random_vector(a->rows, 0, bench_key(1, 20));
  double *b = (double *)bench_allocate(a->rows, sizeof *b);
  double *x = (double *)bench_allocate(a->rows, sizeof *x);
  bench_equations e;
  int kind, i, wrong = 0;
  bench_host_product(a, answer, b);
  bench_equations_create(&e, context, cuda, a, b, x);
  (void)printf("\n%s by %s: %lld unknowns, %lld nonzeros\n", a->name, solver_name,
               (long long)a->rows, (long long)a->nnz);
  (void)printf("%-14s %10s %10s %10s %10s %10s %11s  %s\n", "", "iterations", "set-up s",
               "solve s", "total s", "update s", "processor s", "||b - A x|| / ||b||");
  for (kind = 0; kind < kinds + (rival != NULL); kind++) {
    const char *name =
        kind < kinds ? bench_preconditioner_names[kind] : BENCH_PRECONDITION_RIVAL;
    bench_precondition_seconds seconds[BENCH_MOST_ROUNDS];
    double residual;
    merbit_solver_result result;
    char about[MERBIT_MESSAGE_SIZE] = "";
    int good = 1;
    if (name[0] == '\0' || (kind < kinds && !bench_chosen(o->preconditioner, name))) {
      continue;
    }
    memset(&result, 0, sizeof result);
    for (i = 0; i < o->rounds && good; i++) {
      good = kind == kinds ? bench_precondition_rival_run(rival, o, &e, a, b, near, &seconds[i],
                                                          &result, x, about, sizeof about)
                           : bench_precondition_run(context, o, &e, near,
                                                    bench_preconditioned[solver].method, kind,
                                                    &seconds[i], &result, about, sizeof about);
    }
    if (!good) {
      (void)printf("%-14s %s\n", name, about);
      continue;
    }
    qsort(seconds, (size_t)o->rounds, sizeof seconds[0], bench_precondition_by_seconds);
    if (kind < kinds) {
      bench_equations_answer(&e, context, x);
    }
    residual = bench_true_residual(a, b, x);
    wrong += result.stop == MERBIT_STOP_CONVERGED && !(residual < 1e-6);
    bench_precondition_report(a, solver_name, cuda, name, &seconds[o->rounds / 2], &result,
                              residual, about, json);
  }
  bench_equations_destroy(&e, context);
  free(answer);
  free(b);
  free(x);
  return wrong;
}

/* Makes a system of the list above. Returns 0 if `spec` names none of them. */
static int bench_pde_find(const char *spec, bench_matrix *m, double **near) {
  const char *name = spec + 4, *colon = strchr(name, ':');
  const int64_t side = colon != NULL ? atoll(colon + 1) : 0;
  int i;
  *near = NULL;
  if (strncmp(spec, "pde:", 4) != 0) {
    return 0;
  }
  if (colon == NULL || side < 1 || side > 1000) {
    bench_die("%s: give pde:NAME:SIDE with 1 to 1000 points to a side", spec);
  }
  if (strncmp(name, "elastic:", 8) == 0) {
    bench_elastic_make(side, m, near);
    return 1;
  }
  for (i = 0; i < BENCH_PDES; i++) {
    if (strncmp(bench_pdes[i].name, name, (size_t)(colon - name)) == 0 &&
        bench_pdes[i].name[colon - name] == '\0') {
      bench_pde_make(&bench_pdes[i], side, m);
      return 1;
    }
  }
  bench_die("%s: there is no such system; bench --help names them", spec);
}

/* Makes an input's system: a file's matrix as it is, unless --system says otherwise; of a
 * generated graph an SPD one for CG, else one of convection and diffusion. */
static void bench_precondition_input(merbit_context *context, const bench_options *o,
                                     const char *spec, int solver, bench_matrix *m,
                                     double **near) {
  int system = strncmp(spec, "gen:", 4) != 0                             ? BENCH_SYSTEM_GIVEN
               : bench_preconditioned[solver].method == MERBIT_SOLVER_CG ? BENCH_SYSTEM_SPD
                                                                         : BENCH_SYSTEM_FLOW;
  bench_matrix a;
  if (bench_pde_find(spec, m, near)) {
    return;
  }
  if (o->system != NULL) {
    system = BENCH_SYSTEMS;
    while (system > 0 && strcmp(o->system, bench_system_names[system - 1]) != 0) {
      system--;
    }
    if (system-- == 0) {
      bench_die("--system %s: with --preconditioner give one of spd, ones, flow, given",
                o->system);
    }
  }
  bench_load(context, spec, BENCH_VALUES_GENERAL, &a);
  if (a.rows != a.cols) {
    bench_die("%s is %lld x %lld; --solve takes square matrices", spec, (long long)a.rows,
              (long long)a.cols);
  }
  bench_system_make(&a, (bench_system)system, o->values == BENCH_VALUES_EQUAL, m);
  bench_matrix_free(&a);
}

/* Runs all solvers and kinds on all systems. Returns how many answers were wrong. */
static int bench_precondition_inputs(merbit_context *context, int cuda, const bench_options *o,
                                     bench_json *json) {
  bench_precondition_rival rival;
  const int rivals = bench_precondition_rival_open(&rival, context, cuda, o, json);
  int i, solver, wrong = 0;
  bench_json_open(json, "results", '[');
  for (i = 0; i < o->input_count; i++) {
    for (solver = 0; solver < BENCH_PRECONDITIONED; solver++) {
      bench_matrix m;
      double *near;
      if (!bench_chosen(o->solve, bench_preconditioned[solver].name)) {
        continue;
      }
      bench_precondition_input(context, o, o->inputs[i], solver, &m, &near);
      wrong += bench_precondition_system(
          context, cuda, o, &m, near, solver,
          rivals && bench_preconditioned[solver].method == MERBIT_SOLVER_CG ? &rival : NULL,
          json);
      bench_matrix_free(&m);
      free(near);
    }
    bench_check_names("--solve", o->solve);
    bench_check_names("--preconditioner", o->preconditioner);
  }
  bench_json_close(json, ']');
  if (rivals) {
    bench_precondition_rival_close(&rival);
  }
  return wrong;
}

#endif
