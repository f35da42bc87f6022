/* Square test matrices: the generated ones with empty rows or columns appended, and meshes with
 * shuffled vertices. Include support/matrices.h first. */
#ifndef TEST_SUPPORT_SQUARES_H
#define TEST_SUPPORT_SQUARES_H
#include "support/matrices.h"

TEST_UNUSED static void square_make(int index, uint64_t seed, test_matrix *m) {
  int64_t row, n, *row_ptr;
  test_matrix_make(index, seed, m);
  n = m->rows > m->cols ? m->rows : m->cols;
  row_ptr = (int64_t *)test_allocate(n + 1, sizeof *row_ptr);
  for (row = 0; row <= n; row++) {
    row_ptr[row] = m->row_ptr[row < m->rows ? row : m->rows];
  }
  free(m->row_ptr);
  m->row_ptr = row_ptr;
  m->rows = m->cols = n;
}

/* Returns a random permutation of n. */
TEST_UNUSED static int32_t *square_shuffle(int64_t n, uint64_t *state) {
  int32_t *to = (int32_t *)test_allocate(n, sizeof *to);
  int64_t i;
  for (i = 0; i < n; i++) {
    const int64_t j = test_below(state, i + 1);
    to[i] = to[j];
    to[j] = (int32_t)i;
  }
  return to;
}

/* Makes the edges first[k] - second[k] in both directions, and the diagonal if `diagonal`. Not
 * sorted. */
TEST_UNUSED static void square_of_edges(int64_t n, int64_t count, const int32_t *first,
                                        const int32_t *second, int diagonal, test_matrix *m) {
  int64_t k, *next = (int64_t *)test_allocate(n, sizeof *next);
  memset(m, 0, sizeof *m);
  (void)snprintf(m->name, sizeof m->name, "a graph of %d edges", (int)count);
  m->rows = m->cols = n;
  m->nnz = 2 * count + (diagonal ? n : 0);
  m->row_ptr = (int64_t *)test_allocate(n + 1, sizeof *m->row_ptr);
  m->col_ind = (int32_t *)test_allocate(m->nnz, sizeof *m->col_ind);
  m->values = (double *)test_allocate(m->nnz, sizeof *m->values);
  for (k = 0; k < count; k++) {
    m->row_ptr[first[k] + 1]++;
    m->row_ptr[second[k] + 1]++;
  }
  for (k = 0; k < n; k++) {
    m->row_ptr[k + 1] += m->row_ptr[k] + (diagonal ? 1 : 0);
    next[k] = m->row_ptr[k];
  }
  for (k = 0; k < count; k++) {
    m->col_ind[next[first[k]]++] = second[k];
    m->col_ind[next[second[k]]++] = first[k];
  }
  for (k = 0; diagonal && k < n; k++) {
    m->col_ind[next[k]++] = (int32_t)k;
  }
  for (k = 0; k < m->nnz; k++) {
    m->values[k] = (double)(1 + k % 7);
  }
  free(next);
}

/* Makes a grid of width x height with shuffled vertices, which have `joined` (4 or 8)
 * neighbours. */
TEST_UNUSED static void square_grid(int64_t width, int64_t height, int joined, uint64_t seed,
                                    test_matrix *m) {
  static const int across[] = {1, 0, 1, -1}, down[] = {0, 1, 1, 1};
  const int64_t n = width * height;
  int32_t *to = square_shuffle(n, &seed);
  int32_t *first = (int32_t *)test_allocate(4 * n, sizeof *first);
  int32_t *second = (int32_t *)test_allocate(4 * n, sizeof *second);
  int64_t x, y, count = 0;
  int d;
  for (y = 0; y < height; y++) {
    for (x = 0; x < width; x++) {
      for (d = 0; d < joined / 2; d++) {
        const int64_t u = x + across[d], v = y + down[d];
        if (u >= 0 && u < width && v < height) {
          first[count] = to[y * width + x];
          second[count++] = to[v * width + u];
        }
      }
    }
  }
  square_of_edges(n, count, first, second, 1, m);
  free(to);
  free(first);
  free(second);
}

#endif /* TEST_SUPPORT_SQUARES_H */
