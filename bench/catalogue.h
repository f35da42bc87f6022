/* The regular generators, and the list of all generators that gen:NAME:NNZ[:SEED] can name. */
#ifndef BENCH_CATALOGUE_H
#define BENCH_CATALOGUE_H
#include "block_matrices.h"
#include "generators.h"
#include "graphs.h"
#include "linear_programs.h"
#include "meshes.h"
#include "neighbours.h"
#include "random_rows.h"
#include "shapes.h"
#include "stencils.h"

typedef struct band { /* parameters of this file's row functions */
  int64_t rows;
  uint64_t key, counts;
} band;

/* ---- uniform: nnz / 16 rows, lengths binomial(32, 1/2), random columns ------------------- */

static int uniform_row(const void *parameters, int64_t row, int32_t *columns) {
  const band *b = (const band *)parameters;
  const int count = __builtin_popcount((uint32_t)bench_random(b->counts, (uint64_t)row));
  int i;
  for (i = 0; i < count; i++) {
    columns[i] = (int32_t)bench_below(b->key, (uint64_t)(32 * row + i), b->rows);
  }
  return count;
}

static void bench_generate_uniform(bench_matrix *m, int64_t nnz, uint64_t seed) {
  band b;
  b.rows = nnz / 16 > 0 ? nnz / 16 : 1;
  b.key = bench_key(seed, 8);
  b.counts = bench_key(seed, 9);
  m->rows = m->cols = b.rows;
  bench_build_rows(m, uniform_row, &b);
}

/* ---- short: nnz / 2 rows of two nonzeros, within 128 columns of the diagonal ------------- */

static int short_row(const void *parameters, int64_t row, int32_t *columns) {
  const band *b = (const band *)parameters;
  const int64_t first = bench_below(b->key, (uint64_t)(2 * row), 256);
  const int64_t second = (first + 1 + bench_below(b->key, (uint64_t)(2 * row + 1), 255)) % 256;
  columns[0] = (int32_t)((row + b->rows + first) % b->rows);
  columns[1] = (int32_t)((row + b->rows + second) % b->rows);
  return 2;
}

static void bench_generate_short(bench_matrix *m, int64_t nnz, uint64_t seed) {
  band b;
  memset(&b, 0, sizeof b);
  b.rows = nnz / 2 > 0 ? nnz / 2 : 1;
  b.key = bench_key(seed, 10);
  m->rows = m->cols = b.rows;
  bench_build_rows(m, short_row, &b);
}

/* ---- onerow: nnz columns; the middle row has nine in ten, the others 4 each -------------- */

static void bench_generate_onerow(bench_matrix *m, int64_t nnz, uint64_t seed) {
  const uint64_t key = bench_key(seed, 11);
  const int64_t cols = nnz < 40 ? 40 : nnz, hub_length = cols / 10 * 9, others = cols / 40;
  const int64_t hub = others / 2;
  int64_t row, k;
  m->rows = others + 1;
  m->cols = cols;
  m->nnz = hub_length + 4 * others;
  m->row_ptr = (int32_t *)bench_allocate(m->rows + 1, sizeof *m->row_ptr);
  m->col_ind = (int32_t *)bench_allocate(m->nnz, sizeof *m->col_ind);
  m->row_ptr[0] = 0;
  for (row = 0; row < m->rows; row++) {
    m->row_ptr[row + 1] = m->row_ptr[row] + (row == hub ? (int32_t)hub_length : 4);
  }
  BENCH_OMP(parallel for schedule(static))
  for (k = 0; k < hub_length; k++) {
    m->col_ind[m->row_ptr[hub] + k] = (int32_t)(k + k / 9);
  }
  BENCH_OMP(parallel for schedule(static))
  for (row = 0; row < m->rows; row++) {
    const int64_t window = (row < hub ? row : row - 1) * 40;
    int64_t i;
    for (i = 0; i < 4 && row != hub; i++) {
      m->col_ind[m->row_ptr[row] + i] =
          (int32_t)(window + 10 * i + bench_below(key, (uint64_t)(4 * row + i), 10));
    }
  }
}

/* ---- The list ---------------------------------------------------------------------------- */

typedef struct bench_generator {
  const char *name;
  void (*generate)(bench_matrix *m, int64_t nnz, uint64_t seed);
  const char *about;
} bench_generator;

static const bench_generator bench_generators[] = {
    {"road", bench_generate_road, "road network, mean degree 2.4, spatial numbering"},
    {"rmat", bench_generate_rmat, "R-MAT 0.57 0.19 0.19, natural labels, nnz / 15.5 vertices"},
    {"star", bench_generate_star, "traffic tree with five hubs, nnz / 2 vertices"},
    {"stencil27", bench_generate_stencil27, "27-point stencil on a cube"},
    {"uniform", bench_generate_uniform, "about 16 random columns per row"},
    {"short", bench_generate_short, "two columns per row, near the diagonal"},
    {"onerow", bench_generate_onerow, "one row holds 90% of the nonzeros"},
    {"rmat-permuted", bench_generate_rmat_permuted, "rmat with its labels permuted at random"},
    {"kmer", bench_generate_kmer, "k-mer paths, mean degree 2.1, labels permuted at random"},
    {"web", bench_generate_web,
     "pages by host, most links within it, about 18 nonzeros per row"},
    {"fem", bench_generate_fem, "mesh of tetrahedra, irregular, about 18 nonzeros per row"},
    {"band5", bench_generate_band5, "dense 5 x 5 blocks in a band, some outside it"},
    {"circuit", bench_generate_circuit, "about 5 nonzeros per row, six dense rows and columns"},
    {"lp", bench_generate_lp, "a linear program, five columns for each row, uneven"},
    {"lp-transposed", bench_generate_lp_transposed, "lp transposed: five rows for each column"},
    {"block-angular", bench_generate_block_angular,
     "LP: rows of 8 in blocks, long linking rows"},
    {"wide-lp", bench_generate_wide_lp,
     "crew scheduling LP: 36 uneven rows, nnz / 7.3 columns"},
    {"assignment", bench_generate_assignment, "assignment LP: 2 n rows of n over n^2 columns"},
    {"incidence", bench_generate_incidence, "nodes by arcs of a network, two nodes per arc"},
    {"kkt", bench_generate_kkt, "saddle point: a grid's matrix bordered by constraints"},
    {"stencil7", bench_generate_stencil7, "7-point stencil on a box"},
    {"stencil7-scrambled", bench_generate_stencil7_scrambled,
     "stencil7, its labels permuted within windows of 65,536"},
    {"tridiagonal", bench_generate_tridiagonal, "three diagonals"},
    {"prolongation", bench_generate_prolongation,
     "from a coarse grid to a fine one, 1 to 8 nonzeros per row"},
    {"spins", bench_generate_spins, "columns that differ from the row's number in one bit"},
    {"random-band", bench_generate_random_band, "rows of 1 to 47 in a band of 2,000 columns"},
    {"near-dense", bench_generate_near_dense, "a square matrix with 97% nonzeros"},
    {"hypersparse", bench_generate_hypersparse, "19 of 20 rows empty, the others about 5 long"},
    {"alternating", bench_generate_alternating,
     "rows of 1 and 1,000 nonzeros in turn, 60,000 columns"},
    {"long-rows", bench_generate_long_rows,
     "few long rows: 4,000 of 12,500 over 6.2M columns at 50M"},
    {"features", bench_generate_features,
     "n samples of 2 n features, of which each has n / 120"},
    {"tall", bench_generate_tall, "ten nonzeros per row, few columns: sqrt(nnz / 10)"},
    {"wide", bench_generate_wide, "few rows, sqrt(nnz / 10), over nnz / 10 columns"},
    {"pruned", bench_generate_pruned, "neural layer, a tenth of its weights left, 4 n x n"},
    {"arrow", bench_generate_arrow, "the diagonal, the last row and the last column"},
    {"user-item", bench_generate_user_item, "ratings of items, popular ones by Zipf's law"},
    {"preferential", bench_generate_preferential,
     "preferential attachment, eight edges per vertex"},
    {"growing", bench_generate_growing, "rows of 0 to 100, growing, among 20,000 columns"},
    {"log-normal", bench_generate_log_normal, "log-normal rows of 25, among 5,000 columns"},
    {"small-world", bench_generate_small_world, "a ring of ten neighbours, one in 20 replaced"},
    {"runs", bench_generate_runs, "1 to 9 runs of four columns a row, among 20,000"},
    {"diagonal-blocks", bench_generate_diagonal_blocks, "dense blocks of 5 to 30 rows"},
    {"holes", bench_generate_holes, "twelve diagonals, 60% of each"},
    {"random4", bench_generate_random4, "rows after Poisson, 4 random columns on average"},
    {"random60", bench_generate_random60, "rows after Poisson, 60 random columns on average"},
    {"phases", bench_generate_phases,
     "rows of 5 neighbours, then of 20, then of 150 random columns"},
};
#define BENCH_GENERATORS ((int)(sizeof bench_generators / sizeof bench_generators[0]))

/* Reads "60M", "57.5M", "100k", "100K", "1G" or plain digits. Returns -1 for other texts. */
static int64_t bench_parse_count(const char *text) {
  char *end = NULL;
  double count = text[0] >= '0' && text[0] <= '9' ? strtod(text, &end) : -1;
  if (count < 0) {
    return -1;
  }
  if (*end == 'k' || *end == 'K' || *end == 'M' || *end == 'G') {
    count *= *end == 'M' ? 1e6 : *end == 'G' ? 1e9 : 1e3;
    end++;
  }
  return *end == '\0' && count < 2147483648.0 ? (int64_t)(count + 0.5) : -1;
}

static uint64_t bench_parse_seed(const char *spec, const char *text) {
  char *end = NULL;
  unsigned long long seed = strtoull(text, &end, 10);
  if (text[0] < '0' || text[0] > '9' || *end != '\0') {
    bench_die("%s: the seed %s is not a whole number; write gen:NAME:NNZ or gen:NAME:NNZ:SEED",
              spec, text);
  }
  return (uint64_t)seed;
}

static void bench_name_generated(bench_matrix *m, const char *spec, uint64_t seed) {
  bench_fill_values(m, seed);
  (void)snprintf(m->name, sizeof m->name, "%.200s seed %llu", spec, (unsigned long long)seed);
}

/* ---- denseRxC: all elements of R rows and C columns -------------------------------------- */

/* Generates a dense matrix. Returns 0 if `spec` has another name. */
static int bench_generate_dense(const char *spec, bench_matrix *m) {
  long long rows = 0, cols = 0;
  int length = 0;
  int64_t k;
  if (sscanf(spec, "gen:dense%lldx%lld%n", &rows, &cols, &length) != 2) {
    return 0;
  }
  if (spec[length] != '\0' || rows < 1 || cols < 1 || rows > INT32_MAX / cols) {
    bench_die("%s: write gen:denseROWSxCOLS, with up to 2^31 - 1 places", spec);
  }
  m->rows = rows;
  m->cols = cols;
  m->nnz = rows * cols;
  m->row_ptr = (int32_t *)bench_allocate(rows + 1, sizeof *m->row_ptr);
  m->col_ind = (int32_t *)bench_allocate(m->nnz, sizeof *m->col_ind);
  for (k = 0; k <= rows; k++) {
    m->row_ptr[k] = (int32_t)(k * cols);
  }
  BENCH_OMP(parallel for schedule(static))
  for (k = 0; k < m->nnz; k++) {
    m->col_ind[k] = (int32_t)(k % cols);
  }
  return 1;
}

/* Generates the matrix of `spec`: gen:NAME:NNZ[:SEED], or gen:denseRxC. */
static void bench_generate(const char *spec, bench_matrix *m) {
  char name[64], count[64] = "", seed_text[64] = "1";
  uint64_t seed;
  int64_t nnz;
  int i;
  memset(m, 0, sizeof *m);
  if (bench_generate_dense(spec, m)) {
    bench_name_generated(m, spec, 1);
    return;
  }
  if (sscanf(spec, "gen:%63[^:]:%63[^:]:%63s", name, count, seed_text) < 2) {
    bench_die("%s is no generated matrix; write gen:NAME:NNZ or gen:NAME:NNZ:SEED, such as "
              "gen:road:60M",
              spec);
  }
  nnz = bench_parse_count(count);
  if (nnz < 1) {
    bench_die("%s: %s is no number of nonzeros from 1 to 2^31 - 1; write 60M, 100k or digits",
              spec, count);
  }
  seed = bench_parse_seed(spec, seed_text);
  if (bench_generate_blocks(name, m, nnz, seed) || bench_generate_mesh(name, m, nnz, seed)) {
    bench_name_generated(m, spec, seed);
    return;
  }
  for (i = 0; i < BENCH_GENERATORS; i++) {
    if (strcmp(name, bench_generators[i].name) == 0) {
      bench_generators[i].generate(m, nnz, seed);
      bench_name_generated(m, spec, seed);
      return;
    }
  }
  bench_die("%s: there is no generator %s; bench --help lists them", spec, name);
}

#endif
