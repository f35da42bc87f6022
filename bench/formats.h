/* Sliced ELLPACK and block CSR made from a problem's CSR on the host. */
#ifndef BENCH_FORMATS_H
#define BENCH_FORMATS_H
#include "builders.h"
#include "verify.h"

#define BENCH_SLICE 32
#define BENCH_BLOCK_SAMPLE 4096 /* block rows that are sampled to choose a block size */

typedef struct bench_layout { /* one problem in another format */
  int64_t rows, cols;         /* of the matrix, or numbers of block rows and block columns */
  int64_t entries;            /* number of stored columns, or of blocks */
  int64_t stored;             /* number of values, including padding */
  int block, width;           /* rows and columns of a block; 0: slices */
  int32_t *offsets, *columns;
  void *values;
} bench_layout;

static void bench_layout_free(bench_layout *l) {
  free(l->offsets);
  free(l->columns);
  free(l->values);
  memset(l, 0, sizeof *l);
}

/* Returns the size of the arrays in bytes. */
static double bench_layout_memory(const bench_layout *l, size_t size) {
  return 4.0 * (double)l->entries + (double)size * (double)l->stored +
         4.0 * (double)(l->block > 0 ? l->rows : l->rows / BENCH_SLICE + 1);
}

/* ---- Slices of 32 rows, padded to their longest row, stored by columns ------------------- */

/* Padding has column -1 and value 0, as cuSPARSE requires. */

/* Returns the number of values that slices would store. */
static int64_t bench_sliced_size(const bench_matrix *m) {
  const int64_t slices = (m->rows + BENCH_SLICE - 1) / BENCH_SLICE;
  int64_t sum = 0, slice;
  BENCH_OMP(parallel for schedule(static) reduction(+ : sum))
  for (slice = 0; slice < slices; slice++) {
    const int64_t first = slice * BENCH_SLICE;
    int64_t widest = 0, row;
    for (row = first; row < first + BENCH_SLICE && row < m->rows; row++) {
      const int64_t length = m->row_ptr[row + 1] - m->row_ptr[row];
      widest = length > widest ? length : widest;
    }
    sum += widest * BENCH_SLICE;
  }
  return sum;
}

static void bench_sliced_fill(const bench_problem *p, bench_layout *l, int64_t slice) {
  const bench_matrix *m = p->m;
  const int64_t start = l->offsets[slice];
  const int64_t width = (l->offsets[slice + 1] - start) / BENCH_SLICE;
  int64_t lane, step;
  for (lane = 0; lane < BENCH_SLICE; lane++) {
    const int64_t row = slice * BENCH_SLICE + lane;
    const int64_t begin = row < m->rows ? m->row_ptr[row] : 0;
    const int64_t length = row < m->rows ? m->row_ptr[row + 1] - begin : 0;
    for (step = 0; step < width; step++) {
      const int64_t to = start + step * BENCH_SLICE + lane;
      l->columns[to] = step < length ? m->col_ind[begin + step] : -1;
      bench_element_set(l->values, to, p->single,
                        step < length ? bench_element(p->values, begin + step, p->single) : 0);
    }
  }
}

/* Makes slices. bench_sliced_size must be below 2^31. */
static void bench_sliced_create(const bench_problem *p, bench_layout *l) {
  const bench_matrix *m = p->m;
  const int64_t slices = (m->rows + BENCH_SLICE - 1) / BENCH_SLICE;
  int64_t slice, row;
  memset(l, 0, sizeof *l);
  l->rows = m->rows;
  l->cols = m->cols;
  l->offsets = (int32_t *)bench_allocate(slices + 1, sizeof *l->offsets);
  l->offsets[0] = 0;
  for (slice = 0; slice < slices; slice++) {
    int32_t widest = 0;
    for (row = slice * BENCH_SLICE; row < (slice + 1) * BENCH_SLICE && row < m->rows; row++) {
      const int32_t length = m->row_ptr[row + 1] - m->row_ptr[row];
      widest = length > widest ? length : widest;
    }
    l->offsets[slice + 1] = l->offsets[slice] + widest * BENCH_SLICE;
  }
  l->entries = l->stored = l->offsets[slices];
  l->columns = (int32_t *)bench_allocate(l->stored, sizeof *l->columns);
  l->values = bench_allocate(l->stored, p->size);
  BENCH_OMP(parallel for schedule(dynamic, 256))
  for (slice = 0; slice < slices; slice++) {
    bench_sliced_fill(p, l, slice);
  }
}

/* ---- Blocks, row-major inside ------------------------------------------------------------ */

/* Writes the block columns of a block row, ascending, to `list`, which has space for one per
 * nonzero. Returns their number. */
static int64_t bench_block_columns(const bench_matrix *m, int block, int width, int64_t place,
                                   int32_t *list) {
  const int64_t last = (place + 1) * block < m->rows ? (place + 1) * block : m->rows;
  const int64_t begin = m->row_ptr[place * block], end = m->row_ptr[last];
  int64_t k;
  for (k = begin; k < end; k++) {
    list[k - begin] = m->col_ind[k] / width;
  }
  bench_sort(list, end - begin, m->cols / width + 1);
  return bench_drop_duplicates(list, end - begin);
}

static int64_t bench_block_room(const bench_matrix *m, int block, int64_t place) {
  const int64_t last = (place + 1) * block < m->rows ? (place + 1) * block : m->rows;
  return m->row_ptr[last] - m->row_ptr[place * block];
}

/* Returns the fraction of nonzeros in square blocks of a size, from a sample of block rows. */
static double bench_block_share(const bench_matrix *m, int block) {
  const int64_t places = (m->rows + block - 1) / block;
  const int64_t sample = places < BENCH_BLOCK_SAMPLE ? places : BENCH_BLOCK_SAMPLE;
  int64_t blocks = 0, nonzeros = 0, i;
  BENCH_OMP(parallel for schedule(dynamic, 16) reduction(+ : blocks, nonzeros))
  for (i = 0; i < sample; i++) {
    const int64_t place = i * places / sample, room = bench_block_room(m, block, place);
    int32_t *list = (int32_t *)bench_allocate(room, sizeof *list);
    blocks += bench_block_columns(m, block, block, place, list);
    nonzeros += room;
    free(list);
  }
  return blocks > 0 ? (double)nonzeros / ((double)blocks * block * block) : 0;
}

/* Returns the size of at least half full blocks that moves the fewest bytes, or 0. */
static int bench_block_choose(const bench_matrix *m, size_t size, double *share) {
  static const int sides[] = {2, 3, 4, 5, 6, 7, 8, 16};
  double least = 0;
  int best = 0;
  size_t i;
  *share = 0;
  for (i = 0; i < sizeof sides / sizeof sides[0]; i++) {
    const double found = bench_block_share(m, sides[i]);
    const double area = (double)(sides[i] * sides[i]);
    const double bytes = found > 0 ? (4.0 + area * (double)size) / (area * found) : 0;
    if (found >= 0.5 && (best == 0 || bytes < least)) {
      least = bytes;
      best = sides[i];
    }
    *share = best == sides[i] || (best == 0 && found > *share) ? found : *share;
  }
  return best;
}

static void bench_block_fill(const bench_problem *p, bench_layout *l, int64_t place) {
  const bench_matrix *m = p->m;
  const int b = l->block, w = l->width;
  const int64_t from = l->offsets[place], count = l->offsets[place + 1] - from;
  const int32_t *columns = l->columns + from;
  int64_t row, k;
  memset((char *)l->values + (size_t)(from * b * w) * p->size, 0,
         (size_t)(count * b * w) * p->size);
  for (row = place * b; row < (place + 1) * b && row < m->rows; row++) {
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      const int32_t column = m->col_ind[k] / w;
      int64_t low = 0, high = count - 1, to;
      while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (columns[middle] < column) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      to = ((from + low) * b + row % b) * w + m->col_ind[k] % w;
      bench_element_set(l->values, to, p->single,
                        bench_element(l->values, to, p->single) +
                            bench_element(p->values, k, p->single));
    }
  }
}

static void bench_blocks_create(const bench_problem *p, int block, int width, bench_layout *l) {
  const bench_matrix *m = p->m;
  const int64_t places = (m->rows + block - 1) / block;
  int32_t *all = (int32_t *)bench_allocate(m->nnz, sizeof *all);
  int64_t place;
  memset(l, 0, sizeof *l);
  l->block = block;
  l->width = width;
  l->rows = places;
  l->cols = (m->cols + width - 1) / width;
  l->offsets = (int32_t *)bench_allocate(places + 1, sizeof *l->offsets);
  BENCH_OMP(parallel for schedule(dynamic, 256))
  for (place = 0; place < places; place++) {
    l->offsets[place] =
        (int32_t)bench_block_columns(m, block, width, place, all + m->row_ptr[place * block]);
  }
  l->entries = bench_scan(l->offsets, places);
  l->offsets[places] = (int32_t)l->entries;
  l->stored = l->entries * block * width;
  l->columns = (int32_t *)bench_allocate(l->entries, sizeof *l->columns);
  l->values = bench_allocate(l->stored, p->size);
  BENCH_OMP(parallel for schedule(dynamic, 256))
  for (place = 0; place < places; place++) {
    const int64_t from = l->offsets[place];
    memcpy(l->columns + from, all + m->row_ptr[place * block],
           (size_t)(l->offsets[place + 1] - from) * sizeof *all);
    bench_block_fill(p, l, place);
  }
  free(all);
}

#endif
