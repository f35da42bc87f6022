// A matrix with rows of so many tiles that a thread, a warp and a thread block of the fix-up
// each add up some.
#ifndef SIMT_SCAN_LONG_H
#define SIMT_SCAN_LONG_H
#include "simt/scan_bed.h"

enum {
  SCAN_LONG = 128,     // most tiles that a warp adds up; beyond, a thread block does
  SCAN_LONGEST = 2200, // more than a block's threads load at once
};

// Checks that the matrix reaches the limits of all three ways.
inline void scan_check_spans(const test_matrix &m, int64_t tile, int64_t far, int64_t longest) {
  std::set<int64_t> spans, even; // even: rows that begin with a tile
  for (int64_t row = 0; row < m.rows; row++) {
    const int64_t from = m.row_ptr[row], to = m.row_ptr[row + 1];
    if (to > from) {
      spans.insert((to - 1) / tile - from / tile);
      if (from % tile == 0) {
        even.insert((to - 1) / tile - from / tile);
      }
    }
  }
  for (int64_t span : {(int64_t)0, (int64_t)1, (int64_t)8, (int64_t)9, (int64_t)33, far - 1,
                       far, far + 1, longest}) {
    if (spans.count(span) == 0) {
      fail_msg("no row enters %d tiles before its last", (int)span);
    }
  }
  for (int64_t span : {(int64_t)0, (int64_t)1, (int64_t)8, (int64_t)9, far, far + 1}) {
    if (even.count(span) == 0) {
      fail_msg("no row that begins with a tile enters %d before its last", (int)span);
    }
  }
}

// Makes the matrix for tiles of `tile` nonzeros. The number of tiles that a row enters before
// its last one decides who adds it up: a thread up to 8, a warp up to `far`, else a block. Rows
// have both sides of both limits; some begin in the middle of a tile, others begin and end with
// one.
inline void scan_make_long(int64_t tile, bool empty, test_matrix *m, int64_t far = SCAN_LONG,
                           int64_t longest = SCAN_LONGEST) {
  const int64_t lengths[] = {tile / 2,
                             8 * tile,
                             9 * tile,
                             1,
                             10 * tile,
                             2 * tile,
                             tile - 1,
                             1,
                             33 * tile,
                             0,
                             far * tile,
                             0,
                             3,
                             20 * tile,
                             (far + 1) * tile,
                             7,
                             (far - 1) * tile,
                             longest * tile + 5,
                             2 * tile - tile / 2 - 16, // up to the end of a tile
                             0,
                             tile,
                             2 * tile,
                             tile,
                             9 * tile,
                             10 * tile,
                             0,
                             (far + 1) * tile,
                             0,
                             (far + 2) * tile,
                             tile + 1};
  uint64_t state = (uint64_t)tile;
  memset(m, 0, sizeof *m);
  (void)snprintf(m->name, sizeof m->name, "rows of many tiles of %d", (int)tile);
  m->cols = 300;
  m->row_ptr = (int64_t *)test_allocate(40, sizeof *m->row_ptr);
  for (int64_t length : lengths) {
    if (length > 0 || empty) {
      m->row_ptr[m->rows + 1] = m->row_ptr[m->rows] + length;
      m->rows++;
    }
  }
  m->nnz = m->row_ptr[m->rows];
  m->col_ind = (int32_t *)test_allocate(m->nnz, sizeof *m->col_ind);
  m->values = (double *)test_allocate(m->nnz, sizeof *m->values);
  for (int64_t i = 0; i < m->nnz; i++) {
    m->col_ind[i] = (int32_t)test_below(&state, m->cols);
    m->values[i] = test_uniform(&state);
  }
  scan_check_spans(*m, tile, far, longest);
}

// Runs every form that takes rows of any length. Forms for whole rows have no fix-up; for them
// a few rounds of the largest block are enough.
inline void scan_check_long_rows() {
  for (const scan_form *f : scan_forms) {
    test_matrix m;
    if (f->depth < 5 || f->steps > (unsigned)test_effort(4, 32)) {
      continue;
    }
    scan_make_long(32 * (int64_t)f->steps, f->empty, &m, f->whole ? 64 : SCAN_LONG,
                   f->whole ? 140 : SCAN_LONGEST);
    if (f->value_bytes == 4) {
      scan_check_long<float>(*f, m, simt_seeds[2]);
    } else {
      scan_check_long<double>(*f, m, simt_seeds[2]);
    }
    test_matrix_free(&m);
  }
}
#endif // SIMT_SCAN_LONG_H
