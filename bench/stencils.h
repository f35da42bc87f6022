/* Matrices of regular grids: stencils, several unknowns per node, grid transfer, spins. */
#ifndef BENCH_STENCILS_H
#define BENCH_STENCILS_H
#include "builders.h"
#include <math.h>

#define STENCIL_WINDOW 65536 /* number of labels that stencil7-scrambled permutes together */
#define MESH_MOST 16         /* the most unknowns per node */

typedef struct grid { /* a box of side x side x depth points */
  int64_t side, depth, points;
  int unknowns;  /* per node */
  uint64_t keys; /* keys of the windows' permutations; 0: labels are in order */
} grid;

/* Sets the depth. Each layer has `layer` nonzeros, and the whole box `less` fewer. */
static void grid_size(bench_matrix *m, grid *g, int64_t nnz, double layer, double less) {
  g->depth = bench_whole(((double)nnz + less) / layer, 1);
  g->points = g->side * g->side * g->depth;
  m->rows = m->cols = g->points;
}

static void grid_side(grid *g, double side) {
  memset(g, 0, sizeof *g);
  g->side = bench_whole(side, 1);
}

/* Returns the number of neighbouring pairs along a side, where each point is also its own
 * neighbour: 3 g - 2 for g points. */
static double grid_pairs(const grid *g) {
  return 3.0 * (double)g->side - 2.0;
}

/* ---- stencil27: each point and its neighbours, 27 for an inner point --------------------- */

static int stencil27_row(const void *parameters, int64_t row, int32_t *columns) {
  const int64_t side = ((const grid *)parameters)->side;
  const int64_t depth = ((const grid *)parameters)->depth;
  const int64_t x = row % side, y = row / side % side, z = row / side / side;
  int count = 0, i;
  for (i = 0; i < 27; i++) {
    const int64_t u = x + i % 3 - 1, v = y + i / 3 % 3 - 1, w = z + i / 9 - 1;
    if (u >= 0 && v >= 0 && w >= 0 && u < side && v < side && w < depth) {
      columns[count++] = (int32_t)((w * side + v) * side + u);
    }
  }
  return count;
}

static void stencil27_size(bench_matrix *m, grid *g, int64_t nnz) {
  grid_side(g, (cbrt((double)nnz) + 2.0) / 3.0);
  g->depth = g->side;
  m->rows = m->cols = g->points = g->side * g->side * g->side;
}

static void bench_generate_stencil27(bench_matrix *m, int64_t nnz, uint64_t seed) {
  grid g;
  (void)seed;
  stencil27_size(m, &g, nnz);
  bench_build_rows(m, stencil27_row, &g);
}

/* ---- stencil7, stencil7-scrambled -------------------------------------------------------- */

/* Returns a point's permuted label within its window or, if `back`, a label's point. */
static int64_t grid_label(const grid *g, int64_t point, int back) {
  const int64_t first = point - point % STENCIL_WINDOW, left = g->points - first;
  const int64_t count = left < STENCIL_WINDOW ? left : STENCIL_WINDOW;
  const uint64_t key = g->keys + 4 * (uint64_t)(first / STENCIL_WINDOW);
  const int bits = count == STENCIL_WINDOW ? 16 : bench_bits(count);
  if (g->keys == 0) {
    return point;
  }
  return first + (back ? bench_unpermute_below(key, bits, count, point - first)
                       : bench_permute_below(key, bits, count, point - first));
}

static int stencil7_row(const void *parameters, int64_t row, int32_t *columns) {
  const grid *g = (const grid *)parameters;
  const int64_t point = grid_label(g, row, 1);
  int64_t step = 1;
  int count = 1, axis;
  columns[0] = (int32_t)row;
  for (axis = 0; axis < 3; axis++) {
    const int64_t side = axis == 2 ? g->depth : g->side, at = point / step % side;
    if (at > 0) {
      columns[count++] = (int32_t)grid_label(g, point - step, 0);
    }
    if (at + 1 < side) {
      columns[count++] = (int32_t)grid_label(g, point + step, 0);
    }
    step *= g->side;
  }
  return count;
}

static void stencil7_size(bench_matrix *m, grid *g, int64_t nnz) {
  double side;
  grid_side(g, cbrt((double)nnz / 7) + 2.0 / 7);
  side = (double)g->side;
  grid_size(m, g, nnz, 7 * side * side - 4 * side, 2 * side * side);
}

static void stencil7_generate(bench_matrix *m, int64_t nnz, uint64_t keys) {
  grid g;
  stencil7_size(m, &g, nnz);
  g.keys = keys;
  bench_build_rows(m, stencil7_row, &g);
}

static void bench_generate_stencil7(bench_matrix *m, int64_t nnz, uint64_t seed) {
  (void)seed;
  stencil7_generate(m, nnz, 0);
}

static void bench_generate_stencil7_scrambled(bench_matrix *m, int64_t nnz, uint64_t seed) {
  stencil7_generate(m, nnz, bench_key(seed, 56));
}

/* ---- tridiagonal: a chain of points ------------------------------------------------------ */

static int tridiagonal_row(const void *parameters, int64_t row, int32_t *columns) {
  const int64_t points = ((const grid *)parameters)->points;
  int count = 0;
  int64_t at;
  for (at = row > 0 ? row - 1 : 0; at <= row + 1 && at < points; at++) {
    columns[count++] = (int32_t)at;
  }
  return count;
}

static void bench_generate_tridiagonal(bench_matrix *m, int64_t nnz, uint64_t seed) {
  grid g;
  (void)seed;
  memset(&g, 0, sizeof g);
  m->rows = m->cols = g.points = bench_whole(((double)nnz + 2) / 3, 1);
  bench_build_rows(m, tridiagonal_row, &g);
}

/* ---- prolongation: from a coarse box of points to one of twice the sides ---------------- */

/* A coarse side of c points becomes a fine side of 2 c - 1. A fine point between coarse ones
 * takes the mean of 2, 4 or 8 of them: 3.4 nonzeros per row. */
static int prolongation_row(const void *parameters, int64_t row, int32_t *columns) {
  const int64_t coarse = ((const grid *)parameters)->side, fine = 2 * coarse - 1;
  const int64_t at[3] = {row % fine, row / fine % fine, row / fine / fine};
  int count = 0, i;
  for (i = 0; i < 8; i++) {
    const int64_t x = at[0] / 2 + (i & 1), y = at[1] / 2 + (i >> 1 & 1),
                  z = at[2] / 2 + (i >> 2);
    if ((i & 1) <= at[0] % 2 && (i >> 1 & 1) <= at[1] % 2 && i >> 2 <= at[2] % 2) {
      columns[count++] = (int32_t)((z * coarse + y) * coarse + x);
    }
  }
  return count;
}

static void bench_generate_prolongation(bench_matrix *m, int64_t nnz, uint64_t seed) {
  double layer;
  grid g;
  (void)seed;
  grid_side(&g, (cbrt((double)nnz) + 2.0) / 3.0);
  layer = grid_pairs(&g) * grid_pairs(&g);
  grid_size(m, &g, nnz, 3 * layer, 2 * layer);
  m->rows = (2 * g.side - 1) * (2 * g.side - 1) * (2 * g.depth - 1);
  bench_build_rows(m, prolongation_row, &g);
}

/* ---- spins: states of a chain of spins, joined if one spin differs ----------------------- */

static int spins_row(const void *parameters, int64_t row, int32_t *columns) {
  const int64_t states = ((const grid *)parameters)->points;
  int64_t bit;
  int count = 0;
  columns[count++] = (int32_t)row;
  for (bit = 1; bit < states; bit *= 2) {
    if ((row ^ bit) < states) {
      columns[count++] = (int32_t)(row ^ bit);
    }
  }
  return count;
}

static void bench_generate_spins(bench_matrix *m, int64_t nnz, uint64_t seed) {
  double mean = 10;
  int round;
  grid g;
  (void)seed;
  memset(&g, 0, sizeof g);
  for (round = 0; round < 6; round++) {
    m->rows = m->cols = g.points = bench_whole((double)nnz / mean, 1);
    mean = bench_mean_length(m, spins_row, &g);
  }
  bench_build_rows(m, spins_row, &g);
}

/* ---- meshBxB: stencil27 with B unknowns per node, as in elasticity or flow --------------- */

static int mesh_row(const void *parameters, int64_t row, int32_t *columns) {
  const int unknowns = ((const grid *)parameters)->unknowns;
  int32_t nodes[27];
  const int count = stencil27_row(parameters, row / unknowns, nodes);
  int i;
  for (i = 0; i < count * unknowns; i++) {
    columns[i] = nodes[i / unknowns] * unknowns + i % unknowns;
  }
  return count * unknowns;
}

/* Generates a mesh. Returns 0 if `name` is something else. */
static int bench_generate_mesh(const char *name, bench_matrix *m, int64_t nnz, uint64_t seed) {
  int high, wide, length = 0;
  double layer;
  grid g;
  (void)seed;
  if (sscanf(name, "mesh%dx%d%n", &high, &wide, &length) != 2 || name[length] != '\0' ||
      high != wide || high < 1 || high > MESH_MOST) {
    return 0;
  }
  grid_side(&g, (cbrt((double)nnz / high / high) + 2.0) / 3.0);
  layer = grid_pairs(&g) * grid_pairs(&g) * high * high;
  grid_size(m, &g, nnz, 3 * layer, 2 * layer);
  g.unknowns = m->block_rows = m->block_cols = high;
  m->rows = m->cols = g.points * high;
  bench_build_rows(m, mesh_row, &g);
  return 1;
}

#endif
