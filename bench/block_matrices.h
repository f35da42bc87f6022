/* Generated matrices of dense blocks: gen:blocksRxC, gen:looseRxC, gen:bsr004, gen:bsrband. */
#ifndef BENCH_BLOCK_MATRICES_H
#define BENCH_BLOCK_MATRICES_H
#include "builders.h"
#include <math.h>

#define BLOCKS_NEAR 12 /* blocksRxC: blocks of a block row close to the diagonal */
#define BLOCKS_FAR 3
#define BLOCKS_REACH 16
#define BLOCKS_SIDE 64 /* the most rows or columns of a block */
#define BLOCKS_DENSITY 0.05

typedef struct blocks {
  int rows, cols;         /* of a block */
  int64_t places, across; /* numbers of block rows and block columns */
  int64_t near, far;      /* per block row: blocks close to the diagonal, and others */
  int64_t band;           /* blocks on each side of the diagonal, all present; 0: drawn */
  uint64_t near_key, far_key;
} blocks;

static int64_t blocks_drawn(const blocks *b) {
  return 1 + (b->band > 0 ? 2 * b->band : b->near + b->far);
}

/* Writes the block columns of a block row, ascending, to `list`, which has space for
 * blocks_drawn. Returns their number. */
static int64_t blocks_row(const blocks *b, int64_t place, int32_t *list) {
  const int64_t centre = place * b->across / b->places;
  int64_t count = 0, i;
  for (i = b->band > 0 ? centre - b->band : 0; b->band > 0 && i <= centre + b->band; i++) {
    if (i >= 0 && i < b->across) {
      list[count++] = (int32_t)i;
    }
  }
  for (i = 0; b->band == 0 && i < blocks_drawn(b); i++) {
    const uint64_t at = (uint64_t)(place * blocks_drawn(b) + i);
    int64_t column = centre;
    if (i > b->near) {
      column = bench_below(b->far_key, at, b->across);
    } else if (i > 0) {
      column += bench_below(b->near_key, at, 2 * BLOCKS_REACH + 1) - BLOCKS_REACH;
    }
    if (column >= 0 && column < b->across) {
      list[count++] = (int32_t)column;
    }
  }
  bench_sort(list, count, b->across);
  return bench_drop_duplicates(list, count);
}

/* Returns the mean number of blocks per block row, from up to 4,096 evenly spaced ones. */
static double blocks_mean(const blocks *b) {
  const int64_t sample = b->places < 4096 ? b->places : 4096;
  int32_t *list = (int32_t *)bench_allocate(blocks_drawn(b), sizeof *list);
  int64_t sum = 0, i;
  for (i = 0; i < sample; i++) {
    sum += blocks_row(b, i * b->places / sample, list);
  }
  free(list);
  return (double)sum / (double)sample;
}

/* Sets the number of block rows, and a number of block columns that makes the matrix square. */
static void blocks_size(blocks *b, double places) {
  b->places = places > 1 ? (int64_t)(places + 0.5) : 1;
  b->across = (b->places * b->rows + b->cols - 1) / b->cols;
}

static void blocks_build(bench_matrix *m, const blocks *b) {
  int64_t place;
  m->rows = b->places * b->rows;
  m->cols = b->across * b->cols;
  m->block_rows = b->rows;
  m->block_cols = b->cols;
  m->row_ptr = (int32_t *)bench_allocate(m->rows + 1, sizeof *m->row_ptr);
  BENCH_OMP(parallel for schedule(dynamic, 256))
  for (place = 0; place < b->places; place++) {
    int32_t *list = (int32_t *)bench_allocate(blocks_drawn(b), sizeof *list);
    const int64_t count = blocks_row(b, place, list);
    int r;
    for (r = 0; r < b->rows; r++) {
      m->row_ptr[place * b->rows + r] = (int32_t)(count * b->cols);
    }
    free(list);
  }
  m->nnz = bench_scan(m->row_ptr, m->rows);
  m->row_ptr[m->rows] = (int32_t)m->nnz;
  m->col_ind = (int32_t *)bench_allocate(m->nnz, sizeof *m->col_ind);
  BENCH_OMP(parallel for schedule(dynamic, 256))
  for (place = 0; place < b->places; place++) {
    int32_t *list = (int32_t *)bench_allocate(blocks_drawn(b), sizeof *list);
    const int64_t count = blocks_row(b, place, list);
    int64_t r, i;
    for (r = 0; r < b->rows; r++) {
      int32_t *row = m->col_ind + m->row_ptr[place * b->rows + r];
      for (i = 0; i < count * b->cols; i++) {
        row[i] = list[i / b->cols] * b->cols + (int32_t)(i % b->cols);
      }
    }
    free(list);
  }
}

/* Generates a matrix of blocks if `name` is one of these; returns 0 otherwise. blocksRxC: about
 * 14 blocks per block row: one on the diagonal, 12 within 16 block columns of it, and 3 at
 * random. looseRxC: one on the diagonal, 15 at random. bsr004: a square of 5 x 5 blocks at one
 * in twenty positions. bsrband: as many blocks, but in a band, as in Chirila's measurements
 * (32,000 rows have 51.2 million nonzeros). */
static int bench_generate_blocks(const char *name, bench_matrix *m, int64_t nnz,
                                 uint64_t seed) {
  const double entries = (double)nnz;
  int round, length = 0;
  blocks b;
  memset(&b, 0, sizeof b);
  b.near_key = bench_key(seed, 40);
  b.far_key = bench_key(seed, 41);
  if (strcmp(name, "bsr004") == 0) {
    b.rows = b.cols = 5;
    blocks_size(&b, sqrt(entries / BLOCKS_DENSITY) / 5.0);
    b.far = (int64_t)(-log(1.0 - BLOCKS_DENSITY) * (double)b.across + 0.5);
    b.far = b.far > 0 ? b.far - 1 : 0; /* the block on the diagonal is drawn in any case */
    blocks_build(m, &b);
    return 1;
  }
  if (strcmp(name, "bsrband") == 0) {
    b.rows = b.cols = 5;
    blocks_size(&b, sqrt(entries / BLOCKS_DENSITY) / 5.0);
    /* A band of w blocks on each side of the diagonal loses w (w + 1) of its n (2 w + 1)
     * positions at the corners. */
    b.band = (int64_t)(0.5 * BLOCKS_DENSITY * (double)b.across / (1 - 0.25 * BLOCKS_DENSITY));
    b.band = b.band > 0 ? b.band : 1;
    blocks_build(m, &b);
    return 1;
  }
  if (sscanf(name, "blocks%dx%d%n", &b.rows, &b.cols, &length) == 2) {
    b.near = BLOCKS_NEAR;
    b.far = BLOCKS_FAR;
  } else if (sscanf(name, "loose%dx%d%n", &b.rows, &b.cols, &length) == 2) {
    b.far = BLOCKS_NEAR + BLOCKS_FAR;
  } else {
    return 0;
  }
  if (b.rows < 1 || b.cols < 1 || b.rows > BLOCKS_SIDE || b.cols > BLOCKS_SIDE ||
      name[length] != '\0') {
    return 0;
  }
  blocks_size(&b, entries / (15.0 * b.rows * b.cols));
  for (round = 0; round < 5; round++) {
    blocks_size(&b, entries / (blocks_mean(&b) * b.rows * b.cols));
  }
  blocks_build(m, &b);
  return 1;
}

#endif
