/* A histogram of the nonzeros in the 16 x 16 blocks of a matrix, and how much they vary among
 * eight consecutive blocks, as in figures 3 and 4 of the CB-SpMV paper. */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H
#include "formats.h"
#include "json.h"

#define BENCH_HISTOGRAM_SIDE 16
#define BENCH_HISTOGRAM_CLASSES 8 /* 1 to 32 nonzeros, 33 to 64, ... 225 to 256 */
#define BENCH_HISTOGRAM_FINE 4    /* 1 to 8, ... 25 to 32 */
#define BENCH_HISTOGRAM_TOGETHER                                                               \
  8 /* number of blocks for each thread block in the paper, one per warp */

typedef struct bench_histogram {
  int64_t blocks, classes[BENCH_HISTOGRAM_CLASSES], fine[BENCH_HISTOGRAM_FINE];
  double deviation; /* standard deviation of the nonzeros in a thread block's blocks */
} bench_histogram;

/* Counts the blocks in order, block row by block row. */
static void bench_histogram_count(const bench_matrix *m, bench_histogram *h) {
  const int64_t places = (m->rows + BENCH_HISTOGRAM_SIDE - 1) / BENCH_HISTOGRAM_SIDE;
  double sum = 0, squares = 0;
  int64_t groups = 0, together = 0, place, i, k;
  memset(h, 0, sizeof *h);
  for (place = 0; place < places; place++) {
    const int64_t last = (place + 1) * BENCH_HISTOGRAM_SIDE < m->rows
                             ? (place + 1) * BENCH_HISTOGRAM_SIDE
                             : m->rows;
    const int64_t begin = m->row_ptr[place * BENCH_HISTOGRAM_SIDE];
    const int64_t count = m->row_ptr[last] - begin;
    int32_t *list = (int32_t *)bench_allocate(count, sizeof *list);
    for (k = 0; k < count; k++) {
      list[k] = m->col_ind[begin + k] / BENCH_HISTOGRAM_SIDE;
    }
    bench_sort(list, count, m->cols / BENCH_HISTOGRAM_SIDE + 1);
    for (i = 0; i < count; i = k) {
      for (k = i; k < count && list[k] == list[i]; k++) {
      }
      h->classes[(k - i - 1) / 32]++;
      h->fine[k - i <= 32 ? (k - i - 1) / 8 : 0] += k - i <= 32;
      together += k - i;
      if (++h->blocks % BENCH_HISTOGRAM_TOGETHER == 0) {
        sum += (double)together;
        squares += (double)together * (double)together;
        groups++;
        together = 0;
      }
    }
    free(list);
  }
  if (groups > 0) {
    const double mean = sum / (double)groups, variance = squares / (double)groups - mean * mean;
    h->deviation = variance > 0 ? sqrt(variance) : 0;
  }
}

static void bench_histogram_report(const bench_matrix *m, bench_json *json) {
  bench_histogram h;
  int i;
  bench_histogram_count(m, &h);
  (void)printf("%lld blocks of 16 x 16; share with 1 to 32 nonzeros, 33 to 64, ...:",
               (long long)h.blocks);
  bench_json_open(json, "block_histogram", '{');
  bench_json_integer(json, "blocks", h.blocks);
  bench_json_open(json, "by_32", '[');
  for (i = 0; i < BENCH_HISTOGRAM_CLASSES; i++) {
    (void)printf(" %.1f%%",
                 100.0 * (double)h.classes[i] / (double)(h.blocks > 0 ? h.blocks : 1));
    bench_json_integer(json, NULL, h.classes[i]);
  }
  bench_json_close(json, ']');
  bench_json_open(json, "first_by_8", '[');
  for (i = 0; i < BENCH_HISTOGRAM_FINE; i++) {
    bench_json_integer(json, NULL, h.fine[i]);
  }
  bench_json_close(json, ']');
  bench_json_number(json, "deviation_of_8_blocks", h.deviation);
  bench_json_close(json, '}');
  (void)printf("; of eight neighbours, standard deviation %.1f nonzeros\n", h.deviation);
}

#endif
