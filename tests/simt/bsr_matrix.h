// Block matrices for the kernels of spmv/bsr*.cu: a generated matrix gives the places of the
// blocks, and the result is also written out entry by entry for the error bound.
#ifndef SIMT_BSR_MATRIX_H
#define SIMT_BSR_MATRIX_H
#include "simt/csr.h"

struct bsr_shape {
  int64_t rows, cols; // of a block
  bool column_major, masked, edge;
};

// Keeps the first rows of `m`, with at most `most` nonzeros.
inline void bsr_crop(test_matrix &m, int64_t most) {
  for (int64_t row = 0; row <= m.rows; row++) {
    if (m.row_ptr[row] > most) {
      m.row_ptr[row] = most;
      m.rows = row;
      break;
    }
  }
  m.nnz = m.row_ptr[m.rows];
}

// A block matrix with a block at each nonzero of `places`. m holds its entries as a CSR;
// `position` gives the place in m of each stored entry, in the order of the blocks. If the
// shape is masked, a third of the entries is missing. If it has an edge, the last column of
// blocks reaches beyond the matrix; the last row of blocks does if `cut` is not a multiple of
// the block height.
struct bsr_matrix {
  bsr_matrix(const bsr_shape &shape, const test_matrix &places, uint64_t seed, int64_t cut)
      : shape(shape), places(places), words((shape.rows * shape.cols + 63) / 64),
        position((size_t)(places.nnz * shape.rows * shape.cols), -1),
        masks((size_t)(places.nnz * words)) {
    uint64_t state = seed;
    memset(&m, 0, sizeof m);
    (void)snprintf(m.name, sizeof m.name, "%s", places.name);
    m.rows = places.rows * shape.rows - cut % shape.rows;
    m.cols =
        places.cols * shape.cols - (shape.edge ? 1 + test_below(&state, shape.cols - 1) : 0);
    m.row_ptr = (int64_t *)test_allocate(m.rows + 1, sizeof *m.row_ptr);
    m.col_ind = (int32_t *)test_allocate((int64_t)position.size(), sizeof *m.col_ind);
    m.values = (double *)test_allocate((int64_t)position.size(), sizeof *m.values);
    for (int64_t row = 0; row < m.rows; row++) {
      write_row(row, state);
    }
  }
  ~bsr_matrix() {
    test_matrix_free(&m);
  }
  bsr_matrix(const bsr_matrix &) = delete;

  void write_row(int64_t row, uint64_t &state) {
    const int64_t block_row = row / shape.rows, r = row % shape.rows;
    for (int64_t b = places.row_ptr[block_row]; b < places.row_ptr[block_row + 1]; b++) {
      for (int64_t c = 0; c < shape.cols; c++) {
        const int64_t col = places.col_ind[b] * shape.cols + c;
        const int64_t at = shape.column_major ? c * shape.rows + r : r * shape.cols + c;
        if (col >= m.cols || (shape.masked && test_below(&state, 3) == 0)) {
          continue;
        }
        masks[(size_t)(b * words + at / 64)] |= (uint64_t)1 << at % 64;
        position[(size_t)(b * shape.rows * shape.cols + at)] = m.nnz;
        m.col_ind[m.nnz] = (int32_t)col;
        m.values[m.nnz++] = test_uniform(&state);
      }
    }
    m.row_ptr[row + 1] = m.nnz;
  }

  const bsr_shape shape;
  const test_matrix &places;
  int64_t words;
  std::vector<int64_t> position; // of each stored entry in m, or -1
  std::vector<uint64_t> masks;
  test_matrix m;
};
#endif // SIMT_BSR_MATRIX_H
