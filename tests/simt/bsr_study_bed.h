// Test bed of spmv/study/bsr_study.cu, which reads the blocks in their given order. Products
// are not repeatable: only the error bound is checked.
#ifndef SIMT_BSR_STUDY_BED_H
#define SIMT_BSR_STUDY_BED_H
#include "jit/device.cuh"

#include "simt/arguments.h"
#include "simt/bsr_matrix.h"

struct study_form : csr_form {
  bsr_shape shape;
  unsigned threads;
  simt_kernel cut, scale, product;
};

inline std::vector<const study_form *> study_forms;

enum { STUDY_THREADS = 256 };

template <class V> struct study_bed : csr_bed<V> {
  study_bed(const study_form &f, int index, bsr_matrix &from, uint64_t chunk)
      : csr_bed<V>(f, index, from.m), f(f), from(from), blocks((uint64_t)from.places.nnz),
        block_rows((uint64_t)from.places.rows), chunk(chunk),
        chunks((blocks + chunk - 1) / chunk), block_ptr(block_rows + 1, f.row_ptr_bytes),
        block_cols(blocks, 4), block_values(f.pattern ? 0 : from.position.size(), sizeof(V)),
        chunk_row(chunks + 1, 4, 0xff) {
    for (uint64_t row = 0; row <= block_rows; row++) {
      block_ptr.store(row, (uint64_t)from.places.row_ptr[row] + f.base);
    }
    for (uint64_t b = 0; b < blocks; b++) {
      block_cols.store(b, (uint64_t)from.places.col_ind[b] + f.base);
    }
  }

  const study_form &f;
  bsr_matrix &from;
  uint64_t blocks, block_rows, chunk, chunks;
  simt_array block_ptr, block_cols, block_values, chunk_row;
};

template <class V> void study_cut(study_bed<V> &b, uint64_t seed) {
  simt_run(b.f.cut, b.run(seed), {csr_divide_up(b.chunks + 1, STUDY_THREADS), STUDY_THREADS, 0},
           b.block_ptr.get(), (mbk_u32)b.block_rows, b.blocks, b.chunk, b.chunks,
           b.chunk_row.get());
  for (uint64_t i = 0; i <= b.chunks; i++) {
    const int64_t block = (int64_t)std::min(i * b.chunk, b.blocks - 1);
    const int64_t row = (int64_t)b.chunk_row.load(i);
    assert_true(b.from.places.row_ptr[row] <= block && block < b.from.places.row_ptr[row + 1]);
  }
}

// Multiplies with NaN as padding.
template <class V>
void study_multiply(study_bed<V> &b, double alpha, double beta, simt_array &y, uint64_t seed) {
  for (uint64_t i = 0; i < b.block_values.count; i++) {
    const int64_t at = b.from.position[i];
    b.block_values.template as<V>()[i] = at < 0 ? (V)NAN : (V)b.m.values[at];
  }
  if (alpha == 0) {
    b.x.forbid();
    b.block_cols.forbid();
    b.block_values.forbid();
  }
  csr_with_scalars<V>(b.f, alpha, beta, seed, [&](const auto &at_alpha, const auto &at_beta) {
    simt_run(b.f.scale, b.run(seed), {csr_divide_up(b.rows, STUDY_THREADS), STUDY_THREADS, 0},
             y.get(), b.rows, at_alpha, at_beta);
    if (b.chunks > 0) {
      simt_run(b.f.product, b.run(seed),
               {(unsigned)b.chunks, b.f.threads,
                ((unsigned)b.f.shape.rows + b.f.threads / 32) * (unsigned)sizeof(V)},
               b.block_ptr.get(), b.block_cols.get(), b.block_values.get(), b.chunk_row.get(),
               b.x.get(), y.get(), b.rows, (mbk_u64)b.m.cols, b.blocks, b.chunk, at_alpha,
               at_beta);
    }
  });
  b.x.allow();
  b.block_cols.allow();
  b.block_values.allow();
}

// Checks a pair like csr_check_pair, but not bit for bit.
template <class V> void study_check_pair(study_bed<V> &b, int pair, uint64_t seed) {
  const double alpha = csr_scalars[pair % 4], beta = csr_scalars[(pair / 4 + 1) % 4];
  simt_array y0(b.rows, sizeof(V)), y(b.rows, sizeof(V));
  uint64_t state = seed * 1000 + (uint64_t)b.index;
  for (uint64_t i = 0; i < b.rows; i++) {
    y0.as<V>()[i] = beta == 0 ? (V)NAN : (V)test_uniform(&state);
  }
  b.fill(state, (csr_data)((uint64_t)(pair + b.index) % 4));
  y.copy(y0);
  study_multiply(b, alpha, beta, y, seed);
  if (csr_rows_wrong(&b.m, alpha, b.x.template as<V>(), beta, y0.as<V>(), y.as<V>()) > 0) {
    fail_msg("%s on %s, seed %llu: rows beyond the bound", b.f.name, b.m.name,
             (unsigned long long)seed);
  }
}

template <class V>
void study_check_matrix(const study_form &f, int index, test_matrix &places, uint64_t seed) {
  bsr_crop(places,
           std::max<int64_t>(30, test_effort(3000, 60000) / (f.shape.rows * f.shape.cols)));
  if (places.rows > 0 && places.cols > 0) {
    bsr_matrix matrix(f.shape, places, seed, index);
    study_bed<V> b(f, index, matrix, 1 + ((uint64_t)index + seed) % 9);
    if (b.chunks > 0) { // else the plan launches the scaling alone
      study_cut(b, seed);
    }
    study_check_pair(b, 13, seed); // alpha 0
    for (int i = 0; i < test_effort(1, 16); i++) {
      study_check_pair(b, (index + (int)seed + i) % 16, seed);
    }
  }
}
#endif // SIMT_BSR_STUDY_BED_H
