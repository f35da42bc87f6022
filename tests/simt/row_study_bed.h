// Test bed of spmv/study/row_study.cu: products of a generated matrix, and tiles of columns
// compared with a plain search.
#ifndef SIMT_ROW_STUDY_BED_H
#define SIMT_ROW_STUDY_BED_H
#include "jit/device.cuh"

#include "simt/arguments.h"
#include "simt/csr.h"

struct row_study_form : csr_form {
  unsigned study, lanes, rows, width, threads;
  simt_kernel first, product; // first: resets or cuts

  unsigned block_rows() const {
    return threads / lanes * rows;
  }
};

inline std::vector<const row_study_form *> row_study_forms;

template <class V> struct row_study_bed : csr_bed<V> {
  row_study_bed(const row_study_form &f, int index, test_matrix &m)
      : csr_bed<V>(f, index, m), f(f), blocks(csr_divide_up(this->rows, f.block_rows())),
        tile_first(blocks + 1, 8, 0xff), mixed(blocks, 4, 0xff) {
  }

  // Counts the kernel's results as the launcher does, and fills.
  void cut(uint64_t seed) {
    uint64_t tiles = 0;
    run_cut(seed, nullptr);
    for (uint64_t block = 0; block < blocks; block++) {
      const uint64_t count = tile_first.load(block);
      tile_first.store(block, tiles);
      tiles += count;
    }
    tile_first.store(blocks, tiles);
    tile_col.reset(new simt_array(tiles, 4, 0xff));
    if (tiles > 0) {
      run_cut(seed + 1, tile_col->get());
    }
    for (uint64_t block = 0; block < blocks; block++) {
      check_block(block);
    }
  }

  const row_study_form &f;
  uint64_t blocks;
  simt_array tile_first, mixed;
  std::unique_ptr<simt_array> tile_col;

private:
  void run_cut(uint64_t seed, void *columns) {
    simt_run(f.first, this->run(seed), {(unsigned)blocks, f.threads, f.threads / 32 * 4},
             this->row_ptr.get(), this->col_ind.get(), this->rows, tile_first.get(),
             mixed.get(), columns);
  }

  // Checks a block's tiles against a set of its columns: each tile takes the least one left and
  // all that it covers.
  void check_block(uint64_t block) {
    std::set<uint32_t> columns;
    bool ascend = true;
    uint64_t tile = tile_first.load(block);
    for (uint64_t row = block * f.block_rows();
         row < std::min((block + 1) * f.block_rows(), this->rows); row++) {
      for (int64_t k = this->m.row_ptr[row]; k < this->m.row_ptr[row + 1]; k++) {
        columns.insert((uint32_t)this->m.col_ind[k]);
        ascend = ascend &&
                 (k == this->m.row_ptr[row] || this->m.col_ind[k - 1] <= this->m.col_ind[k]);
      }
    }
    assert_int_equal(mixed.load(block), !ascend);
    for (; !columns.empty(); tile++) {
      const uint32_t least = *columns.begin();
      assert_true(tile < tile_first.load(block + 1));
      assert_int_equal(tile_col->load(tile), least);
      columns.erase(columns.begin(), columns.lower_bound(least + f.width));
    }
    assert_int_equal(tile, tile_first.load(block + 1));
  }
};

template <class V>
void row_study_multiply(row_study_bed<V> &b, double alpha, double beta, simt_array &y,
                        uint64_t seed) {
  simt_array counter(1, 8, 0xff);
  if (alpha == 0) { // neither A nor x may be read
    b.forbid(true);
  }
  if (b.f.study == 0) {
    simt_late_guard late({&counter});
    simt_run(b.f.first, b.run(seed), {1, 1, 0}, counter.get());
  }
  csr_with_scalars<V>(b.f, alpha, beta, seed, [&](const auto &at_alpha, const auto &at_beta) {
    simt_late_guard late({&b.x, &y, &counter});
    late.scalar(at_alpha);
    late.scalar(at_beta);
    if (b.f.study == 0) { // few blocks, so that warps take several rows
      simt_run(b.f.product, b.run(seed),
               {(unsigned)std::min<uint64_t>(b.blocks, 1 + seed % 3), b.f.threads, 0},
               b.row_ptr.get(), b.col_ind.get(), b.values.get(), b.x.get(), y.get(),
               counter.get(), b.rows, at_alpha, at_beta);
    } else {
      simt_run(b.f.product, b.run(seed),
               {(unsigned)b.blocks, b.f.threads, b.f.width * (unsigned)sizeof(V)},
               b.row_ptr.get(), b.col_ind.get(), b.values.get(), b.x.get(), y.get(),
               b.tile_first.get(), b.mixed.get(), b.tile_col->get(), b.rows, (mbk_u64)b.m.cols,
               at_alpha, at_beta);
    }
  });
  b.allow();
}

template <class V>
void row_study_check_matrix(const row_study_form &f, int index, test_matrix &m, uint64_t seed,
                            bool all) {
  row_study_bed<V> b(f, index, m);
  if (f.study == 1) {
    b.cut(seed);
  }
  csr_check_pairs(b, all, seed, row_study_multiply<V>);
}
#endif // SIMT_ROW_STUDY_BED_H
