// Matrices whose slices have far and near columns.
#ifndef SIMT_SLICED_SPANS_H
#define SIMT_SLICED_SPANS_H
#include "simt/sliced_bed.h"

struct sliced_span {
  int64_t low, high;   // the slice's columns; none where high < low
  unsigned lanes[2];   // whose rows hold the two
  int places[2];       // in their rows: 0 first, 1 amid, 2 last
};

// On both sides of the limit, at both ends of the matrix, some of them empty. The last slice
// has but five rows.
static const sliced_span sliced_spans[] = {
    {0, 65535, {0, 31}, {0, 2}},          {0, 65536, {31, 0}, {2, 0}},
    {1, 65536, {5, 5}, {0, 1}},           {7, 65544, {16, 15}, {1, 1}},
    {0, -1, {0, 0}, {0, 0}},              {70000, 135535, {31, 31}, {2, 0}},
    {70000, 135536, {0, 0}, {0, 2}},      {70000, 135534, {1, 2}, {1, 2}},
    {0, 199999, {0, 31}, {0, 0}},         {199999, 199999, {3, 4}, {0, 0}},
    {0, -1, {0, 0}, {0, 0}},              {134464, 199999, {30, 0}, {0, 2}},
    {134463, 199999, {0, 30}, {2, 2}},    {134462, 199999, {8, 9}, {1, 0}},
    {65535, 65535, {0, 1}, {2, 2}},       {65536, 131072, {2, 1}, {0, 0}},
    {100000, 165537, {4, 0}, {1, 2}},
};

// Each slice has longer rows than those behind it, so that sorting leaves it together. Columns
// between the two ends stay away from both.
inline void sliced_make_spans(test_matrix *m) {
  const int64_t count = (int64_t)(sizeof sliced_spans / sizeof sliced_spans[0]);
  uint64_t state = 5;
  memset(m, 0, sizeof *m);
  (void)snprintf(m->name, sizeof m->name, "spans around 65536");
  m->rows = 32 * (count - 1) + 5;
  m->cols = 200000;
  m->row_ptr = (int64_t *)test_allocate(m->rows + 1, sizeof *m->row_ptr);
  for (int64_t row = 0; row < m->rows; row++) {
    const sliced_span &s = sliced_spans[row / 32];
    const int64_t length = 3 * (count - row / 32) + test_below(&state, 3);
    m->row_ptr[row + 1] = m->row_ptr[row] + (s.high < s.low ? 0 : length);
  }
  m->nnz = m->row_ptr[m->rows];
  m->col_ind = (int32_t *)test_allocate(m->nnz, sizeof *m->col_ind);
  m->values = (double *)test_allocate(m->nnz, sizeof *m->values);
  for (int64_t row = 0; row < m->rows; row++) {
    const sliced_span &s = sliced_spans[row / 32];
    const int64_t first = m->row_ptr[row], length = m->row_ptr[row + 1] - first;
    const int64_t apart = std::min<int64_t>(2, (s.high - s.low) / 2);
    for (int64_t k = 0; k < length; k++) {
      m->col_ind[first + k] =
          (int32_t)(s.low + apart + test_below(&state, s.high - s.low - 2 * apart + 1));
      m->values[first + k] = test_uniform(&state);
    }
    for (int end = 0; end < 2 && length > 0; end++) {
      if (row % 32 == s.lanes[end]) {
        m->col_ind[first + s.places[end] * (length - 1) / 2] =
            (int32_t)(end == 0 ? s.low : s.high);
      }
    }
  }
}

// The slices that a form makes of it are those that were meant.
template <class V> void sliced_check_spans(const sliced_bed<V> &b) {
  std::multiset<uint64_t> meant, made;
  for (const sliced_span &s : sliced_spans) {
    meant.insert(s.high < s.low ? 0 : s.high - s.low > 65535 ? 0xffffffffu : (uint64_t)s.low);
  }
  made.insert(b.base.begin(), b.base.end());
  assert_true(made == meant);
  assert_int_equal(made.count(0xffffffffu), 8);
}
#endif // SIMT_SLICED_SPANS_H
