/* One rank's rows of matrices of any size. Every rank computes its rows from their numbers
 * alone, so that no rank ever holds the whole matrix, and a row is the same for any number of
 * ranks. */
#ifndef DIST_BENCH_MATRICES_H
#define DIST_BENCH_MATRICES_H
#include "generators.h"
#include "graphs.h"
#include "stencils.h"

#define DIST_SHIFT 1e-3    /* excess of the diagonal over the row's other entries */
#define DIST_MOST_ROW 1024 /* most columns in a row, except R-MAT's */

/* R-MAT row by row. All vertices are renamed at random, so that equal parts of the rows have
 * similar numbers of entries. */
typedef struct dist_rmat {
  int scale;
  double edges; /* drawn for the whole matrix */
  uint64_t counts, draws, labels;
} dist_rmat;

/* A matrix of 2^31 columns or more, most of whose rows are empty. */
typedef struct dist_vast {
  int64_t rows;
  uint64_t far;
} dist_vast;

typedef struct dist_matrix {
  char name[32];
  int64_t global_rows;
  double sign;               /* of the entries off the diagonal */
  int symmetric;             /* positive definite, too: suitable for CG */
  int graph;                 /* positive entries: suitable for PageRank */
  bench_row_function narrow; /* columns in 32 bits; NULL: R-MAT or vast */
  const void *parameters;
  grid box;
  road roads;
  web pages;
  dist_rmat rmat;
  dist_vast vast;
  uint64_t values;
  /* The rank's rows: */
  int64_t first, rows, nnz;
  int64_t *row_ptr, *col_ind; /* columns are global */
  double *value;
} dist_matrix;

/* ---- R-MAT ----------------------------------------------------------------------------------- */

/* Quadrant probabilities as in bench/generators.h. An edge's row has a 1 in a bit with
 * probability 0.24; its column then has a 1 there with 0.05 / 0.24, else with 0.19 / 0.76. */
#define DIST_RMAT_LOWER 0.24
static const double dist_rmat_right[2] = {0.19 / 0.76, 0.05 / 0.24};

/* Returns a Poisson-distributed number, by inversion, or by the normal distribution for large
 * means. */
static int64_t dist_poisson(double mean, double u, double v) {
  double term, sum;
  int64_t k = 0;
  if (mean > 50) {
    const double normal = sqrt(-2.0 * log(1.0 - u)) * cos(6.283185307179586 * v);
    const double value = mean + sqrt(mean) * normal + 0.5;
    return value > 0 ? (int64_t)value : 0;
  }
  term = sum = exp(-mean);
  while (u > sum && k < 1000) {
    term *= mean / (double)++k;
    sum += term;
  }
  return k;
}

/* Returns the number of edges drawn for a row. */
static int64_t dist_rmat_length(const dist_rmat *r, int64_t row) {
  const uint64_t natural = bench_unpermute(r->labels, r->scale, (uint64_t)row);
  const int ones = __builtin_popcountll(natural);
  const double mean =
      r->edges * pow(DIST_RMAT_LOWER, ones) * pow(1.0 - DIST_RMAT_LOWER, r->scale - ones);
  return dist_poisson(mean, bench_uniform(r->counts, (uint64_t)row * 2),
                      bench_uniform(r->counts, (uint64_t)row * 2 + 1));
}

static void dist_rmat_row(const dist_rmat *r, int64_t row, int64_t length, int64_t *columns) {
  const uint64_t natural = bench_unpermute(r->labels, r->scale, (uint64_t)row);
  const uint64_t own = bench_random(r->draws, (uint64_t)row);
  int64_t i;
  int level;
  for (i = 0; i < length; i++) {
    uint64_t column = 0, bits = 0;
    for (level = 0; level < r->scale; level++) {
      const int lower = (int)(natural >> (r->scale - 1 - level) & 1);
      if (level % 4 == 0) {
        bits = bench_random(own, (uint64_t)i * 8 + (uint64_t)level / 4);
      }
      column = 2 * column + ((double)(bits & 65535) < 65536.0 * dist_rmat_right[lower]);
      bits >>= 16;
    }
    columns[i] = (int64_t)bench_permute(r->labels, r->scale, column);
  }
}

static void dist_rmat_size(dist_matrix *m, int64_t nnz, uint64_t seed) {
  dist_rmat *r = &m->rmat;
  r->scale = (int)floor(log2((double)nnz / 15.5) + 0.5);
  r->scale = r->scale < 3 ? 3 : r->scale;
  r->edges = 1.04 * (double)nnz; /* duplicates are dropped */
  r->counts = bench_key(seed, 60);
  r->draws = bench_key(seed, 61);
  r->labels = bench_key(seed, 12);
  m->global_rows = (int64_t)1 << r->scale;
}

/* ---- Vast: more than 2^31 columns ------------------------------------------------------------ */

#define DIST_VAST_STEP 64 /* one row in so many has entries */

/* Writes the columns of row i: itself, its nearest neighbours that have entries, and the row on
 * the other side of the ring. The pattern is symmetric. */
static int64_t dist_vast_row(const dist_vast *v, int64_t row, int64_t *columns) {
  if (row % DIST_VAST_STEP != 0) {
    return 0;
  }
  columns[0] = row;
  columns[1] = (row + DIST_VAST_STEP) % v->rows;
  columns[2] = (row - DIST_VAST_STEP + v->rows) % v->rows;
  columns[3] = (row + v->rows / 2) % v->rows;
  return 4;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Returns how many columns dist_row may write. */
static int64_t dist_row_most(const dist_matrix *m, int64_t row) {
  return m->narrow == NULL && m->rmat.scale > 0 ? dist_rmat_length(&m->rmat, row) + 1
                                                : DIST_MOST_ROW + 1;
}

static int dist_by_column(const void *a, const void *b) {
  const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
  return (left > right) - (left < right);
}

static void dist_sort(int64_t *columns, int64_t count) {
  int64_t i, j;
  if (count > 64) {
    qsort(columns, (size_t)count, sizeof *columns, dist_by_column);
    return;
  }
  for (i = 1; i < count; i++) {
    const int64_t column = columns[i];
    for (j = i; j > 0 && columns[j - 1] > column; j--) {
      columns[j] = columns[j - 1];
    }
    columns[j] = column;
  }
}

/* Writes a row's columns, ascending and without duplicates. Returns how many. A symmetric
 * matrix has a full diagonal. */
static int64_t dist_row(const dist_matrix *m, int64_t row, int64_t *columns) {
  int64_t count = 0, kept, i;
  if (m->narrow != NULL) {
    int32_t narrow[BENCH_ROW_MOST];
    count = m->narrow(m->parameters, row, narrow);
    for (i = 0; i < count; i++) {
      columns[i] = narrow[i];
    }
    if (m->symmetric) {
      columns[count++] = row;
    }
  } else if (m->rmat.scale > 0) {
    count = dist_rmat_length(&m->rmat, row);
    dist_rmat_row(&m->rmat, row, count, columns);
  } else {
    count = dist_vast_row(&m->vast, row, columns);
  }
  dist_sort(columns, count);
  kept = count > 0;
  for (i = 1; i < count; i++) {
    if (columns[i] != columns[kept - 1]) {
      columns[kept++] = columns[i];
    }
  }
  return kept;
}

/* Writes the values of a row: random between 0.5 and 1.5, the same on both sides of the
 * diagonal. The diagonal of a symmetric matrix dominates its row. */
static void dist_row_values(const dist_matrix *m, int64_t row, const int64_t *columns,
                            int64_t count, double *values) {
  double sum = 0;
  int64_t diagonal = -1, i;
  for (i = 0; i < count; i++) {
    const uint64_t low = (uint64_t)(row < columns[i] ? row : columns[i]);
    const uint64_t high = (uint64_t)(row < columns[i] ? columns[i] : row);
    values[i] = 0.5 + bench_uniform(m->values + low * UINT64_C(0xd1342543de82ef95), high);
    if (m->symmetric && columns[i] == row) {
      diagonal = i;
    } else {
      sum += values[i];
      values[i] *= m->sign;
    }
  }
  if (diagonal >= 0) {
    values[diagonal] = sum + DIST_SHIFT;
  }
}

/* ---- Matrices -------------------------------------------------------------------------------- */

static const char *const dist_names[] = {"stencil27", "stencil7", "road",
                                         "rmat",      "web",      "vast"};
#define DIST_NAMES (int)(sizeof dist_names / sizeof *dist_names)

/* Describes the whole matrix of about `nnz` entries; vast has 2^31 + nnz rows. Makes no rows.
 */
static void dist_matrix_size(dist_matrix *m, const char *name, int64_t nnz) {
  const uint64_t seed = 1;
  bench_matrix whole;
  memset(m, 0, sizeof *m);
  memset(&whole, 0, sizeof whole);
  (void)snprintf(m->name, sizeof m->name, "%s", name);
  m->values = bench_key(seed, 62);
  m->sign = 1;
  if (strcmp(name, "stencil27") == 0) {
    stencil27_size(&whole, &m->box, nnz);
    m->narrow = stencil27_row;
    m->parameters = &m->box;
    m->symmetric = 1;
    m->sign = -1;
  } else if (strcmp(name, "stencil7") == 0) {
    stencil7_size(&whole, &m->box, nnz);
    m->narrow = stencil7_row;
    m->parameters = &m->box;
    m->symmetric = 1;
    m->sign = -1;
  } else if (strcmp(name, "road") == 0) {
    road_size(&whole, &m->roads, (int64_t)((double)nnz * 2.4 / 3.4), seed); /* and a diagonal */
    m->narrow = road_row;
    m->parameters = &m->roads;
    m->symmetric = m->graph = 1;
  } else if (strcmp(name, "rmat") == 0) {
    dist_rmat_size(m, nnz, seed);
    whole.rows = m->global_rows;
    m->graph = 1;
  } else if (strcmp(name, "web") == 0) {
    web_size(&whole, &m->pages, nnz, seed);
    m->narrow = web_row;
    m->parameters = &m->pages;
    m->graph = 1;
  } else {
    whole.rows = m->vast.rows =
        (((int64_t)1 << 31) + nnz) / (2 * DIST_VAST_STEP) * 2 * DIST_VAST_STEP;
    m->symmetric = 1;
  }
  m->global_rows = whole.rows;
}

/* Makes the rows of one rank: an equal part of all, in order. */
static void dist_matrix_make(dist_matrix *m, int rank, int ranks) {
  int64_t row;
  m->first = m->global_rows * rank / ranks;
  m->rows = m->global_rows * (rank + 1) / ranks - m->first;
  m->row_ptr = (int64_t *)bench_allocate(m->rows + 1, sizeof *m->row_ptr);
  m->row_ptr[0] = 0;
  BENCH_OMP(parallel) {
    int64_t *columns = NULL, most = 0;
    BENCH_OMP(for schedule(dynamic, 1024))
    for (row = 0; row < m->rows; row++) {
      const int64_t need = dist_row_most(m, m->first + row);
      if (need > most) {
        free(columns);
        most = need;
        columns = (int64_t *)bench_allocate(most, sizeof *columns);
      }
      m->row_ptr[row + 1] = dist_row(m, m->first + row, columns);
    }
    free(columns);
  }
  for (row = 0; row < m->rows; row++) {
    m->row_ptr[row + 1] += m->row_ptr[row];
  }
  m->nnz = m->row_ptr[m->rows];
  m->col_ind = (int64_t *)bench_allocate(m->nnz, sizeof *m->col_ind);
  m->value = (double *)bench_allocate(m->nnz, sizeof *m->value);
  BENCH_OMP(parallel) {
    int64_t *columns = NULL, most = 0;
    BENCH_OMP(for schedule(dynamic, 1024))
    for (row = 0; row < m->rows; row++) {
      const int64_t at = m->row_ptr[row], need = dist_row_most(m, m->first + row);
      const int64_t count = m->row_ptr[row + 1] - at;
      if (need > most) {
        free(columns);
        most = need;
        columns = (int64_t *)bench_allocate(most, sizeof *columns);
      }
      (void)dist_row(m, m->first + row, columns);
      memcpy(m->col_ind + at, columns, (size_t)count * sizeof *columns);
      dist_row_values(m, m->first + row, columns, count, m->value + at);
    }
    free(columns);
  }
}

/* Frees the rows, not the description. */
static void dist_matrix_drop(dist_matrix *m) {
  free(m->row_ptr);
  free(m->col_ind);
  free(m->value);
  m->row_ptr = m->col_ind = NULL;
  m->value = NULL;
}

static void dist_matrix_free(dist_matrix *m) {
  dist_matrix_drop(m);
  free(m->pages.start);
  free(m->pages.host_of);
}

/* Element `column` of the x that products are verified with: in [-1, 1). */
static double dist_x(int64_t column) {
  return 2.0 * bench_uniform(UINT64_C(0x76657269667900), (uint64_t)column) - 1.0;
}

#endif
