// Matrices whose slices have columns in few pages or in many.
#ifndef SIMT_SLICED_PAGES_H
#define SIMT_SLICED_PAGES_H
#include "simt/sliced_bed.h"

struct sliced_case {
  int64_t pages;       // pages of the slice's columns; 0: an empty slice
  int64_t first, step; // number of the first page, distance between pages
};

// On both sides of the limit, at both ends of the matrix, adjacent and apart. The last slice
// has five rows.
static const sliced_case sliced_cases[] = {
    {32, 0, 1},  {33, 0, 1}, {31, 1, 3}, {1, 0, 1},  {0, 0, 0},  {32, 66, 1},
    {33, 65, 1}, {32, 1, 3}, {33, 1, 3}, {1, 97, 1}, {2, 0, 97}, {64, 10, 1},
    {96, 0, 1},  {2, 96, 1}, {0, 0, 0},  {65, 3, 1}, {32, 0, 3}, {15, 80, 1},
};

// Makes the matrix. Each slice has longer rows than those behind it, so that sorting keeps its
// rows together. Columns lie at the beginning, at the end and in the middle of pages in turn.
inline void sliced_make_pages(test_matrix *m) {
  const int64_t count = (int64_t)(sizeof sliced_cases / sizeof sliced_cases[0]);
  uint64_t state = 5;
  memset(m, 0, sizeof *m);
  (void)snprintf(m->name, sizeof m->name, "slices of few pages and many");
  m->rows = 32 * (count - 1) + 5;
  m->cols = 97 * SLICED_PAGE + 100;
  m->row_ptr = (int64_t *)test_allocate(m->rows + 1, sizeof *m->row_ptr);
  for (int64_t row = 0; row < m->rows; row++) {
    const int64_t length = 3 * (count - row / 32) + test_below(&state, 3);
    m->row_ptr[row + 1] = m->row_ptr[row] + (sliced_cases[row / 32].pages == 0 ? 0 : length);
  }
  m->nnz = m->row_ptr[m->rows];
  m->col_ind = (int32_t *)test_allocate(m->nnz, sizeof *m->col_ind);
  m->values = (double *)test_allocate(m->nnz, sizeof *m->values);
  for (int64_t row = 0; row < m->rows; row++) {
    const sliced_case &s = sliced_cases[row / 32];
    const int64_t before = m->row_ptr[row / 32 * 32];
    for (int64_t k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      const int64_t page = s.first + (k - before) % s.pages * s.step;
      const int64_t size = std::min<int64_t>(SLICED_PAGE, m->cols - page * SLICED_PAGE);
      const int64_t at = k % 3 == 0 ? 0 : k % 3 == 1 ? size - 1 : test_below(&state, size);
      m->col_ind[k] = (int32_t)(page * SLICED_PAGE + at);
      m->values[k] = test_uniform(&state);
    }
  }
}

// Checks that a form makes exactly the slices intended.
template <class V> void sliced_check_pages(const sliced_bed<V> &b) {
  std::multiset<uint64_t> meant, made;
  for (const sliced_case &s : sliced_cases) {
    meant.insert(s.pages > SLICED_PAGES ? 0 : (uint64_t)s.pages);
  }
  for (const std::vector<uint64_t> &list : b.lists) {
    made.insert(list.size());
  }
  assert_true(made == meant);
  assert_int_equal(made.count(0), 8);
}
#endif // SIMT_SLICED_PAGES_H
