/* Generated matrices of any size. A size is the target number of nonzeros. The same name, size
 * and seed give the same matrix on every machine. */
#ifndef BENCH_GENERATORS_H
#define BENCH_GENERATORS_H
#include "builders.h"
#include <math.h>

/* ---- road -------------------------------------------------------------------------------- */

/* Symmetric, mean degree 2.4, degrees 1 to 8. Vertices are crossings on a grid. In a row, an
 * even vertex is always joined to the next, an odd one with probability 0.5; neighbours in a
 * column are joined with probability 0.35, along each diagonal with 0.05: 1 + 0.5 + 2 * 0.35 +
 * 4 * 0.05 = 2.4. Vertices are numbered in cells of 64 x 64 (smaller for few vertices) along a
 * Hilbert curve, and shuffled within each cell. So the numbers of neighbours differ by a few
 * thousand at most, except across borders of cells (about 2%), where some differ widely. */
#define ROAD_CELL_BITS 6
#define ROAD_ODD 0.5
#define ROAD_COLUMN 0.35
#define ROAD_DIAGONAL 0.05

typedef struct road {
  int cell_bits, curve_bits;
  int64_t cells;
  uint64_t shuffle, edges;
} road;

/* Computes point number `at` of the Hilbert curve through a square with sides of 2^bits. The
 * curve visits the quadrants in the order (0,0) (0,1) (1,1) (1,0); it is mirrored at the
 * diagonal in the first, and at the antidiagonal in the last. */
static inline void road_curve_point(int bits, int64_t at, int64_t *x, int64_t *y) {
  int64_t side;
  *x = *y = 0;
  for (side = 1; side < (int64_t)1 << bits; side *= 2, at /= 4) {
    const int64_t right = at / 2 & 1, up = (at ^ right) & 1;
    if (!up) {
      const int64_t old = *x;
      *x = right ? side - 1 - *y : *y;
      *y = right ? side - 1 - old : old;
    }
    *x += right * side;
    *y += up * side;
  }
}

static inline int64_t road_curve_index(int bits, int64_t x, int64_t y) {
  int64_t side, at = 0;
  for (side = ((int64_t)1 << bits) / 2; side > 0; side /= 2) {
    const int64_t right = (x & side) != 0, up = (y & side) != 0;
    at += side * side * (3 * right ^ up);
    x &= side - 1;
    y &= side - 1;
    if (!up) {
      const int64_t old = x;
      x = right ? side - 1 - y : y;
      y = right ? side - 1 - old : old;
    }
  }
  return at;
}

/* Returns the vertex at a point, or -1 outside the region that the cells cover. */
static inline int64_t road_vertex(const road *r, int64_t x, int64_t y) {
  const int64_t mask = ((int64_t)1 << r->cell_bits) - 1;
  const int64_t width = (int64_t)1 << (r->cell_bits + r->curve_bits);
  int64_t cell;
  if (x < 0 || y < 0 || x >= width || y >= width) {
    return -1;
  }
  cell = road_curve_index(r->curve_bits, x >> r->cell_bits, y >> r->cell_bits);
  if (cell >= r->cells) {
    return -1;
  }
  return cell << 2 * r->cell_bits |
         (int64_t)bench_permute(r->shuffle + 4 * (uint64_t)cell, 2 * r->cell_bits,
                                (uint64_t)((y & mask) << r->cell_bits | (x & mask)));
}

/* Returns whether a street leads from (x, y) to +x (0), to +y (1) or to +x+y (2), or joins
 * (x+1, y) and (x, y+1) (3). */
static inline int road_has(const road *r, int64_t x, int64_t y, int direction) {
  const uint64_t place = ((uint64_t)x & 0x7fffffff) << 33 | ((uint64_t)y & 0x7fffffff) << 2;
  const double chance = direction == 0   ? ROAD_ODD
                        : direction == 1 ? ROAD_COLUMN
                                         : ROAD_DIAGONAL;
  if (direction == 0 && (x & 1) == 0) {
    return 1;
  }
  return bench_uniform(r->edges, place | (uint64_t)direction) < chance;
}

static int road_row(const void *parameters, int64_t row, int32_t *columns) {
  static const struct {
    int to_x, to_y, from_x, from_y, direction; /* the neighbour; arguments of road_has */
  } ways[8] = {{1, 0, 0, 0, 0}, {-1, 0, -1, 0, 0},   {0, 1, 0, 0, 1},   {0, -1, 0, -1, 1},
               {1, 1, 0, 0, 2}, {-1, -1, -1, -1, 2}, {-1, 1, -1, 0, 3}, {1, -1, 0, -1, 3}};
  const road *r = (const road *)parameters;
  const int64_t mask = ((int64_t)1 << r->cell_bits) - 1, cell = row >> 2 * r->cell_bits;
  const int64_t place =
      (int64_t)bench_unpermute(r->shuffle + 4 * (uint64_t)cell, 2 * r->cell_bits,
                               (uint64_t)row & (((uint64_t)1 << 2 * r->cell_bits) - 1));
  int64_t x, y;
  int i, count = 0;
  road_curve_point(r->curve_bits, cell, &x, &y);
  x = x << r->cell_bits | (place & mask);
  y = y << r->cell_bits | place >> r->cell_bits;
  for (i = 0; i < 8; i++) {
    if (road_has(r, x + ways[i].from_x, y + ways[i].from_y, ways[i].direction)) {
      const int64_t other = road_vertex(r, x + ways[i].to_x, y + ways[i].to_y);
      if (other >= 0) {
        columns[count++] = (int32_t)other;
      }
    }
  }
  return count;
}

static void road_size(bench_matrix *m, road *r, int64_t nnz, uint64_t seed) {
  const double vertices = (double)nnz / 2.4;
  r->cell_bits = ROAD_CELL_BITS;
  while (r->cell_bits > 1 && vertices < 64.0 * (double)((int64_t)1 << 2 * r->cell_bits)) {
    r->cell_bits--;
  }
  r->cells = (int64_t)(vertices / (double)((int64_t)1 << 2 * r->cell_bits) + 0.5);
  r->cells = r->cells > 0 ? r->cells : 1;
  r->curve_bits = 0;
  while ((int64_t)1 << 2 * r->curve_bits < r->cells) {
    r->curve_bits++;
  }
  r->shuffle = bench_key(seed, 2);
  r->edges = bench_key(seed, 3);
  m->rows = m->cols = r->cells << 2 * r->cell_bits;
}

static void bench_generate_road(bench_matrix *m, int64_t nnz, uint64_t seed) {
  road r;
  road_size(m, &r, nnz, seed);
  bench_build_rows(m, road_row, &r);
}

/* ---- rmat -------------------------------------------------------------------------------- */

/* Directed, 2^scale vertices with their natural labels, where scale is nearest to nnz / 15.5
 * vertices. Quadrants have Graph500's probabilities a 0.57, b 0.19, c 0.19 (D. Chakrabarti and
 * others, R-MAT, SDM 2004), without noise. Duplicates are dropped, and more edges are drawn to
 * make up for them. 65.2M nonzeros have scale 22. */
typedef struct rmat {
  int scale;
  uint64_t key, labels;
} rmat;

static void rmat_edge(const void *parameters, int64_t edge, int32_t *row, int32_t *column) {
  const rmat *r = (const rmat *)parameters;
  uint64_t bits = 0;
  uint32_t i = 0, j = 0;
  int level;
  for (level = 0; level < r->scale; level++) {
    uint32_t draw, quadrant;
    if (level % 4 == 0) {
      bits = bench_random(r->key, (uint64_t)edge * 8 + (uint64_t)level / 4);
    }
    draw = (uint32_t)(bits & 65535);
    bits >>= 16;
    /* a, a + b and a + b + c, times 2^16 */
    quadrant = (uint32_t)(draw >= 37356) + (draw >= 49807) + (draw >= 62259);
    i = 2 * i + quadrant / 2;
    j = 2 * j + quadrant % 2;
  }
  *row = (int32_t)i;
  *column = (int32_t)j;
}

static void rmat_permuted_edge(const void *parameters, int64_t edge, int32_t *row,
                               int32_t *column) {
  const rmat *r = (const rmat *)parameters;
  rmat_edge(parameters, edge, row, column);
  *row = (int32_t)bench_permute(r->labels, r->scale, (uint64_t)*row);
  *column = (int32_t)bench_permute(r->labels, r->scale, (uint64_t)*column);
}

static void rmat_generate(bench_matrix *m, int64_t nnz, uint64_t seed,
                          bench_edge_function function) {
  double edges = 1.03 * (double)nnz;
  int attempt;
  rmat r;
  r.scale = (int)floor(log2((double)nnz / 15.5) + 0.5);
  r.scale = r.scale < 3 ? 3 : r.scale;
  r.key = bench_key(seed, 4);
  r.labels = bench_key(seed, 12);
  for (attempt = 0; attempt < 4; attempt++) {
    m->rows = m->cols = (int64_t)1 << r.scale;
    bench_build_edges(m, function, &r, (int64_t)edges, 0);
    if ((double)m->nnz > 0.98 * (double)nnz || attempt == 3) {
      return;
    }
    edges *= (double)nnz / (double)m->nnz;
    free(m->row_ptr);
    free(m->col_ind);
  }
}

static void bench_generate_rmat(bench_matrix *m, int64_t nnz, uint64_t seed) {
  rmat_generate(m, nnz, seed, rmat_edge);
}

/* Generates the same graph with its labels permuted at random. */
static void bench_generate_rmat_permuted(bench_matrix *m, int64_t nnz, uint64_t seed) {
  rmat_generate(m, nnz, seed, rmat_permuted_edge);
}

/* ---- star -------------------------------------------------------------------------------- */

/* Symmetric: a tree of nnz / 2 vertices, like the packet traces "mawi" of the SuiteSparse
 * collection. Five hubs are the parents of 50, 10, 5, 3 and 2% of all vertices. The other 30%
 * have one of the first n / 8 vertices as parent, number u * u of them with u uniform, which
 * favours the first. The rest are leaves, so most rows have one nonzero. Labels are permuted at
 * random. */
#define STAR_HUBS 5

typedef struct star {
  int64_t vertices;
  int bits;
  uint64_t draw, place, labels;
} star;

/* Computes an edge: vertex number edge + 1, where hubs come first, and its parent. */
static void star_edge(const void *parameters, int64_t edge, int32_t *row, int32_t *column) {
  static const double shares[STAR_HUBS] = {0.50, 0.60, 0.65, 0.68, 0.70};
  const star *s = (const star *)parameters;
  const int64_t vertex = edge + 1, middles = s->vertices / 8;
  const int64_t bound = vertex < middles ? vertex : middles;
  const double draw = bench_uniform(s->draw, (uint64_t)vertex);
  int64_t parent = 0;
  if (vertex >= STAR_HUBS) {
    while (parent < STAR_HUBS && draw >= shares[parent]) {
      parent++;
    }
    if (parent == STAR_HUBS) {
      const double u = bench_uniform(s->place, (uint64_t)vertex);
      parent =
          bound > STAR_HUBS ? STAR_HUBS + (int64_t)(u * u * (double)(bound - STAR_HUBS)) : 0;
    }
  }
  *row = (int32_t)bench_permute_below(s->labels, s->bits, s->vertices, vertex);
  *column = (int32_t)bench_permute_below(s->labels, s->bits, s->vertices, parent);
}

static void bench_generate_star(bench_matrix *m, int64_t nnz, uint64_t seed) {
  star s;
  s.vertices = nnz / 2 + 1;
  s.bits = bench_bits(s.vertices);
  s.draw = bench_key(seed, 5);
  s.place = bench_key(seed, 6);
  s.labels = bench_key(seed, 7);
  m->rows = m->cols = s.vertices;
  bench_build_edges(m, star_edge, &s, s.vertices - 1, 1);
}

#endif
