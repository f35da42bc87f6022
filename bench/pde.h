/* INPUTs pde:NAME:SIDE: systems from partial differential equations, and a grid graph. */
#ifndef BENCH_PDE_H
#define BENCH_PDE_H
#include "builders.h"
#include <math.h>

/* ---- Finite differences ------------------------------------------------------------------ */

/* A system on the points of a box with Dirichlet boundaries, or of a graph without boundaries.
 * Edges have a weight per axis, scaled by the coefficients of the points that they join. */
typedef struct bench_pde {
  const char *name;
  int axes, full; /* full: 27 points */
  double weights[3], jump;
  int random;   /* 1: each point has a random coefficient from 1 to `jump`; 0: cells of 8 points
                 * along each axis alternate between 1 and `jump` */
  double edges; /* fraction of edges that exist; below 1: a graph without boundaries */
  double wind;  /* cell Peclet number where the wind has speed 1; 0: no convection */
} bench_pde;
static const bench_pde bench_pdes[] = {
    {"poisson2d", 2, 0, {1, 1, 0}, 1, 0, 1, 0},     /* 5 points */
    {"poisson3d", 3, 0, {1, 1, 1}, 1, 0, 1, 0},     /* 7 points */
    {"poisson27", 3, 1, {1, 1, 1}, 1, 0, 1, 0},     /* 27 points */
    {"weak2d", 2, 0, {1, 1e-3, 0}, 1, 0, 1, 0},     /* one of two axes is weaker by 1,000 */
    {"weak3d", 3, 0, {1, 1, 1e-3}, 1, 0, 1, 0},     /* one of three axes is weaker by 1,000 */
    {"weak3d2", 3, 0, {1, 1e-3, 1e-3}, 1, 0, 1, 0}, /* two of three axes are weaker by 1,000 */
    {"cells", 3, 0, {1, 1, 1}, 1e6, 0, 1, 0},       /* coefficients 1 and 1e6 by cells */
    {"random2d", 2, 0, {1, 1, 0}, 1e6, 1, 1, 0},    /* random coefficients from 1 to 1e6 */
    {"random3d", 3, 0, {1, 1, 1}, 1e6, 1, 1, 0},    /* random coefficients from 1 to 1e6 */
    {"streets", 2, 0, {1, 1, 0}, 1, 0, 0.7, 0},     /* a grid graph with 7 of 10 edges */
    {"convection2d", 2, 0, {1, 1, 0}, 1, 0, 1, 10}, /* convection and diffusion */
    {"convection3d", 3, 0, {1, 1, 1}, 1, 0, 1, 10},
};
#define BENCH_PDES ((int)(sizeof bench_pdes / sizeof bench_pdes[0]))

typedef struct bench_points {
  const bench_pde *pde;
  int64_t side;
} bench_points;

/* Ends the program if a matrix with `entries` entries per row would exceed 32-bit offsets. */
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

/* Returns what upwind differences add to the weight of an edge along an axis: the Peclet number
 * of wind that blows from there. On [-1, 1]^2 it is the recirculating wind of Elman, Silvester
 * and Wathen (Finite Elements and Fast Iterative Solvers, example 6.1.4); in 3D it also
 * rises. */
static double bench_point_wind(const bench_points *p, const int64_t at[3], int axis, int step) {
  const double x = 2.0 * (double)(at[0] + 1) / (double)(p->side + 1) - 1;
  const double y = 2.0 * (double)(at[1] + 1) / (double)(p->side + 1) - 1;
  const double speed = axis == 0 ? 2 * y * (1 - x * x) : axis == 1 ? -2 * x * (1 - y * y) : 1;
  return speed * step < 0 ? p->pde->wind * fabs(speed) : 0;
}

/* Returns the weight of the edge from a point in a direction, or 0 if there is none. Sets
 * *inside to 1 if the edge stays in the box, else to 0. */
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

/* Writes the entries of a row in the order of columns. Returns their number. */
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

/* Computes an element's stiffness matrix. The bar has 2 side x side x side trilinear elements
 * with Poisson's ratio 0.3, and is fixed at one end. */
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

/* Sets sums[o] to the 3 x 3 block of a node and its neighbour in direction o, 0 to 26. */
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

/* Makes the matrix, and sets *near to the six rigid body modes, one column after the other. */
static void bench_elastic_make(int64_t side, bench_matrix *m, double **near) {
  const int64_t elements[3] = {2 * side, side, side};
  const int64_t nodes[3] = {2 * side, side + 1, side + 1}; /* without the fixed nodes */
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
      (*near)[row + i * m->rows] = 1; /* translations, then rotations about each axis */
      for (j = 0; j < 3; j++) {
        const int next = (j + 1) % 3, last = (j + 2) % 3;
        (*near)[row + (3 + j) * m->rows] = i == next   ? -(double)at[last]
                                           : i == last ? (double)at[next]
                                                       : 0;
      }
    }
  }
}

/* Makes the system that `spec` names. Sets *near to the near-null-space for elasticity, else to
 * NULL. Returns 0 if `spec` does not begin with pde:. */
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

#endif
