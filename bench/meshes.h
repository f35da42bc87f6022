/* Matrices from simulations and from optimisation. */
#ifndef BENCH_MESHES_H
#define BENCH_MESHES_H
#include "builders.h"
#include <math.h>

/* ---- fem --------------------------------------------------------------------------------- */

/* Symmetric: the nodes of an irregular mesh of tetrahedra in a box of cubes. Each node is
 * joined to itself and to its 6 neighbours; across each square by one of its two diagonals and
 * across each cube by one of its four, chosen at random; and to half of the nodes two steps
 * away, as where fine and coarse elements meet. A row has about 18 entries, from 7 to 30. Nodes
 * are numbered in cells of 8^3 (fewer for few nodes) along x, y, z, and shuffled in each. */
typedef struct fem {
  int bits;      /* the side of a cell is 2^bits nodes */
  int64_t side;  /* cells per row, and rows per layer */
  int64_t cells; /* the last layer may be incomplete */
  uint64_t shuffle, edges;
} fem;

/* Returns the node at a point, or -1 outside. */
static inline int64_t fem_node(const fem *f, const int64_t *at) {
  const int64_t mask = ((int64_t)1 << f->bits) - 1, width = f->side << f->bits;
  int64_t cell;
  if (at[0] < 0 || at[1] < 0 || at[2] < 0 || at[0] >= width || at[1] >= width) {
    return -1;
  }
  cell = ((at[2] >> f->bits) * f->side + (at[1] >> f->bits)) * f->side + (at[0] >> f->bits);
  if (cell >= f->cells) {
    return -1;
  }
  return cell << 3 * f->bits |
         (int64_t)bench_permute(
             f->shuffle + 4 * (uint64_t)cell, 3 * f->bits,
             (uint64_t)((((at[2] & mask) << f->bits | (at[1] & mask)) << f->bits) |
                        (at[0] & mask)));
}

static inline void fem_point(const fem *f, int64_t node, int64_t *at) {
  const int64_t mask = ((int64_t)1 << f->bits) - 1, cell = node >> 3 * f->bits;
  const int64_t place =
      (int64_t)bench_unpermute(f->shuffle + 4 * (uint64_t)cell, 3 * f->bits,
                               (uint64_t)node & (((uint64_t)1 << 3 * f->bits) - 1));
  at[0] = cell % f->side << f->bits | (place & mask);
  at[1] = cell / f->side % f->side << f->bits | (place >> f->bits & mask);
  at[2] = cell / f->side / f->side << f->bits | place >> 2 * f->bits;
}

/* Returns whether an edge leads from `at` by `step`. Both ends of an edge get the same
 * answer. */
static inline int fem_has(const fem *f, const int64_t *at, const int *step) {
  uint64_t place = 0, choice;
  int moved = 0, doubled = -1, i;
  for (i = 0; i < 3; i++) {
    const int64_t low = step[i] < 0 ? at[i] + step[i] : at[i];
    place = place << 20 | ((uint64_t)low & 0xfffff);
    moved |= (step[i] != 0) << i;
    doubled = step[i] == 2 || step[i] == -2 ? i : doubled;
  }
  if (doubled >= 0) {
    return (int)(bench_random(f->edges + 16 + (uint64_t)doubled, place) & 1);
  }
  if (moved == 1 || moved == 2 || moved == 4) {
    return 1;
  }
  choice = bench_random(f->edges + (uint64_t)moved, place);
  if (moved == 7) {
    return (int)(choice & 3) == 2 * (step[0] * step[1] > 0) + (step[0] * step[2] > 0);
  }
  return (int)(choice & 1) == (step[0] * step[1] + step[0] * step[2] + step[1] * step[2] > 0);
}

static int fem_row(const void *parameters, int64_t row, int32_t *columns) {
  const fem *f = (const fem *)parameters;
  int64_t at[3];
  int count = 0, i;
  fem_point(f, row, at);
  columns[count++] = (int32_t)row;
  for (i = 0; i < 33; i++) { /* 27 neighbours and 6 double steps */
    int step[3] = {0, 0, 0}, k;
    int64_t to[3], node;
    if (i < 27) {
      step[0] = i % 3 - 1;
      step[1] = i / 3 % 3 - 1;
      step[2] = i / 9 - 1;
    } else {
      step[(i - 27) / 2] = (i - 27) % 2 ? 2 : -2;
    }
    for (k = 0; k < 3; k++) {
      to[k] = at[k] + step[k];
    }
    node = i != 13 && fem_has(f, at, step) ? fem_node(f, to) : -1;
    if (node >= 0) {
      columns[count++] = (int32_t)node;
    }
  }
  return count;
}

static void fem_size(bench_matrix *m, fem *f, double nodes) {
  const double cell = (double)((int64_t)1 << 3 * f->bits);
  f->cells = (int64_t)(nodes / cell + 0.5);
  f->cells = f->cells > 0 ? f->cells : 1;
  f->side = (int64_t)ceil(cbrt((double)f->cells));
  m->rows = m->cols = f->cells << 3 * f->bits;
}

static void bench_generate_fem(bench_matrix *m, int64_t nnz, uint64_t seed) {
  double nodes = (double)nnz / 18.0;
  int round;
  fem f;
  f.bits = 3;
  while (f.bits > 1 && nodes < 64.0 * (double)((int64_t)1 << 3 * f.bits)) {
    f.bits--;
  }
  f.shuffle = bench_key(seed, 24);
  f.edges = bench_key(seed, 25);
  for (round = 0; round < 5; round++) { /* nodes on the surface have fewer neighbours */
    fem_size(m, &f, nodes);
    nodes = (double)nnz / bench_mean_length(m, fem_row, &f);
  }
  fem_size(m, &f, nodes);
  bench_build_rows(m, fem_row, &f);
}

/* ---- band5 ------------------------------------------------------------------------------- */

/* Dense blocks of 5 x 5, about 15 per block row: one on the diagonal, 12 within 16 block
 * columns of it, and 3 at random. A block that is drawn twice counts once. */
#define BAND5_NEAR 12
#define BAND5_FAR 3
#define BAND5_REACH 16

typedef struct band5 {
  int64_t blocks;
  uint64_t near_key, far_key;
} band5;

static int band5_row(const void *parameters, int64_t row, int32_t *columns) {
  const band5 *b = (const band5 *)parameters;
  const int64_t place = row / 5;
  int count = 0, i, k;
  for (i = 0; i < 1 + BAND5_NEAR + BAND5_FAR; i++) {
    const uint64_t at = (uint64_t)(place * 16 + i);
    int64_t block = place;
    if (i > BAND5_NEAR) {
      block = bench_below(b->far_key, at, b->blocks);
    } else if (i > 0) {
      block += bench_below(b->near_key, at, 2 * BAND5_REACH + 1) - BAND5_REACH;
    }
    for (k = 0; k < 5 && block >= 0 && block < b->blocks; k++) {
      columns[count++] = (int32_t)(5 * block + k);
    }
  }
  return count;
}

static void bench_generate_band5(bench_matrix *m, int64_t nnz, uint64_t seed) {
  double mean = 69.0;
  int round;
  band5 b;
  b.near_key = bench_key(seed, 26);
  b.far_key = bench_key(seed, 27);
  for (round = 0; round < 9; round++) { /* damped, because tiny matrices would oscillate */
    b.blocks = (int64_t)((double)nnz / mean / 5.0 + 0.5);
    b.blocks = b.blocks > 0 ? b.blocks : 1;
    m->rows = m->cols = 5 * b.blocks;
    mean = sqrt(mean * bench_mean_length(m, band5_row, &b));
  }
  m->block_rows = m->block_cols = 5;
  bench_build_rows(m, band5_row, &b);
}

/* ---- circuit ----------------------------------------------------------------------------- */

/* Structurally symmetric, nnz / 5 nodes, full diagonal. Each node has two devices. One leads to
 * a node at most 16 further. The other leads to one of six nets (supplies and clocks, to which
 * 5, 4, 3, 2, 1 and 1% of all nodes are connected), to a random node in 20% of the cases, or
 * else to a node at most 256 further. Six rows and columns are dense, the others short. */
#define CIRCUIT_NETS 6

typedef struct circuit {
  int64_t nodes;
  int64_t nets[CIRCUIT_NETS];
  uint64_t kinds, places;
} circuit;

/* Computes an edge. Each node has three: its diagonal entry and its two devices. */
static void circuit_edge(const void *parameters, int64_t edge, int32_t *row, int32_t *column) {
  static const double shares[CIRCUIT_NETS] = {0.05, 0.09, 0.12, 0.14, 0.15, 0.16};
  const circuit *c = (const circuit *)parameters;
  const int64_t node = edge / 3;
  int64_t other = node;
  if (edge % 3 == 1) {
    other += 1 + bench_below(c->places, (uint64_t)edge, 16);
  } else if (edge % 3 == 2) {
    const double kind = bench_uniform(c->kinds, (uint64_t)edge);
    int net = 0;
    while (net < CIRCUIT_NETS && kind >= shares[net]) {
      net++;
    }
    other = net < CIRCUIT_NETS ? c->nets[net]
            : kind < 0.36      ? bench_below(c->places, (uint64_t)edge, c->nodes)
                               : node + 1 + bench_below(c->places, (uint64_t)edge, 256);
  }
  *row = (int32_t)node;
  *column = (int32_t)(other % c->nodes);
}

static void bench_generate_circuit(bench_matrix *m, int64_t nnz, uint64_t seed) {
  const double nodes = 1.005 * (double)nnz / 5.0; /* some devices coincide */
  circuit c;
  int i;
  c.nodes = nodes > 1 ? (int64_t)(nodes + 0.5) : 1;
  c.kinds = bench_key(seed, 28);
  c.places = bench_key(seed, 29);
  for (i = 0; i < CIRCUIT_NETS; i++) {
    c.nets[i] = bench_below(bench_key(seed, 30), (uint64_t)i, c.nodes);
  }
  m->rows = m->cols = c.nodes;
  bench_build_edges(m, circuit_edge, &c, 3 * c.nodes, 1);
}

/* ---- lp ---------------------------------------------------------------------------------- */

/* The constraints of a linear program: nnz / 5 variables (columns), a fifth as many constraints
 * (rows). A variable has 5 entries, but a third of them move to a variable up to 500 further,
 * so that the numbers vary. 60% of the entries lie within 64 rows of the staircase through the
 * matrix; 30% in any row, with preference for the first (place u^2); 10% in a thousandth of the
 * rows, the coupling constraints, also unevenly (u^2), so that some rows have one percent of
 * all columns. lp-transposed is its dual, with many short rows and few columns. */
typedef struct lp {
  int64_t rows, cols, coupling;
  uint64_t kinds, places, moves;
} lp;

static void lp_edge(const void *parameters, int64_t edge, int32_t *row, int32_t *column) {
  const lp *l = (const lp *)parameters;
  const double kind = bench_uniform(l->kinds, (uint64_t)edge);
  const double u = bench_uniform(l->places, (uint64_t)edge);
  const uint64_t move = bench_random(l->moves, (uint64_t)edge);
  const int64_t at = (edge / 5 + (move % 3 == 0 ? (int64_t)(move / 3 % 500) : 0)) % l->cols;
  int64_t to;
  if (kind < 0.6) {
    to = (int64_t)((double)at / (double)l->cols * (double)l->rows) - 64 + (int64_t)(129.0 * u);
    to = to < 0 ? -to : to;
  } else if (kind < 0.9) {
    to = (int64_t)(u * u * (double)l->rows);
  } else {
    to = (int64_t)(u * u * (double)l->coupling) * (l->rows / l->coupling);
  }
  *row = (int32_t)(to % l->rows);
  *column = (int32_t)at;
}

static void lp_transposed_edge(const void *parameters, int64_t edge, int32_t *row,
                               int32_t *column) {
  lp_edge(parameters, edge, column, row);
}

static void lp_generate(bench_matrix *m, int64_t nnz, uint64_t seed, int transposed) {
  const double cols = 1.015 * (double)nnz / 5.0; /* more, to make up for duplicates */
  lp l;
  l.cols = cols > 1 ? (int64_t)(cols + 0.5) : 1;
  l.rows = (l.cols + 4) / 5;
  l.coupling = (l.rows + 999) / 1000;
  l.kinds = bench_key(seed, 31);
  l.places = bench_key(seed, 32);
  l.moves = bench_key(seed, 33);
  m->rows = transposed ? l.cols : l.rows;
  m->cols = transposed ? l.rows : l.cols;
  bench_build_edges(m, transposed ? lp_transposed_edge : lp_edge, &l, 5 * l.cols, 0);
}

static void bench_generate_lp(bench_matrix *m, int64_t nnz, uint64_t seed) {
  lp_generate(m, nnz, seed, 0);
}

static void bench_generate_lp_transposed(bench_matrix *m, int64_t nnz, uint64_t seed) {
  lp_generate(m, nnz, seed, 1);
}

#endif
