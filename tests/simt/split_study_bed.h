// Test bed of spmv/study/split_study.cu: products of a generated matrix, and the beginnings of
// its chunks compared with a simple loop.
#ifndef SIMT_SPLIT_STUDY_BED_H
#define SIMT_SPLIT_STUDY_BED_H
#include "jit/device.cuh"

#include "simt/merge_bed.h"

struct split_study_form : csr_form {
  unsigned study, steps, threads;
  simt_kernel cut, product, fixup;

  uint64_t chunk() const {
    return steps * threads;
  }
};

inline std::vector<const split_study_form *> split_study_forms;

// Computed independently of the launcher's mbi_split_shared.
inline unsigned split_study_shared(const split_study_form &f) {
  const unsigned warps = f.threads / 32;
  return f.value_bytes * (f.steps * f.threads + 1 + warps) + 4 * warps;
}

template <class V> struct split_study_bed : csr_bed<V> {
  split_study_bed(const split_study_form &f, int index, test_matrix &m)
      : csr_bed<V>(f, index, m), f(f),
        chunks(std::max<uint64_t>(
            1, (this->nnz + (f.study == 1 ? this->rows : 0) + f.chunk() - 1) / f.chunk())) {
  }

  // Checks the row of each chunk's first nonzero; for chunks of the merge path, as
  // merge_check_chunks does.
  void check_chunks(const simt_array &chunk_row) const {
    const test_matrix &m = this->m;
    uint64_t row = 0, k = 0;
    for (uint64_t chunk = 0; chunk <= chunks; chunk++) {
      uint64_t begin = 0;
      if (f.study == 0) {
        k = chunk * f.chunk();
        while (chunk > 0 && row < this->rows && (uint64_t)m.row_ptr[row + 1] <= k) {
          row++;
        }
        begin = 2 * row;
      } else {
        while (row + k < std::min(chunk * f.chunk(), this->rows + this->nnz)) {
          ends(row, k) ? row++ : k++;
        }
        begin = 2 * row + (ends(row, k) && m.row_ptr[row] < m.row_ptr[row + 1] ? 3 : 0);
      }
      begin = chunk == chunks ? 2 * this->rows : begin;
      if (chunk_row.load(chunk) != begin) {
        fail_msg("%s on %s: chunk_row[%llu] is %llu, not %llu", f.name, m.name,
                 (unsigned long long)chunk, (unsigned long long)chunk_row.load(chunk),
                 (unsigned long long)begin);
      }
    }
  }

  const split_study_form &f;
  uint64_t chunks;

private:
  bool ends(uint64_t row, uint64_t k) const {
    return row < this->rows && k == (uint64_t)this->m.row_ptr[row + 1];
  }
};

template <class V>
void split_study_multiply(split_study_bed<V> &b, double alpha, double beta, simt_array &y,
                          uint64_t seed) {
  const simt_array chunk_row(b.chunks + 1, 8, 0xff), firsts(b.chunks, sizeof(V), 0xff),
      tails(b.chunks, sizeof(V), 0xff);
  if (alpha == 0) { // neither A nor x may be read
    b.forbid(true);
  }
  {
    simt_late_guard late({&chunk_row});
    simt_run(b.f.cut, b.run(seed),
             {(unsigned)(b.chunks / MERGE_CUT_THREADS + 1), MERGE_CUT_THREADS, 0},
             b.row_ptr.get(), chunk_row.get(), b.rows, b.nnz, b.chunks);
  }
  csr_with_scalars<V>(b.f, alpha, beta, seed, [&](const auto &at_alpha, const auto &at_beta) {
    {
      simt_late_guard late({&b.x, &y, &chunk_row, &firsts, &tails});
      late.scalar(at_alpha);
      late.scalar(at_beta);
      simt_run(b.f.product, b.run(seed),
               {(unsigned)b.chunks, b.f.threads, split_study_shared(b.f)}, b.row_ptr.get(),
               b.col_ind.get(), b.values.get(), b.x.get(), y.get(), chunk_row.get(),
               firsts.get(), tails.get(), b.rows, b.nnz, at_alpha, at_beta);
    }
    b.forbid(true);
    if (b.chunks > 1) {
      simt_late_guard late({&y, &chunk_row, &firsts, &tails});
      late.scalar(at_alpha);
      late.scalar(at_beta);
      simt_run(b.f.fixup, b.run(seed),
               {csr_divide_up(b.chunks, MERGE_FIXUP_THREADS), MERGE_FIXUP_THREADS,
                merge_fixup_shared(sizeof(V))},
               b.row_ptr.get(), chunk_row.get(), firsts.get(), tails.get(), y.get(), b.chunks,
               at_alpha, at_beta);
    }
  });
  b.allow();
  b.check_chunks(chunk_row);
}

template <class V>
void split_study_check_matrix(const split_study_form &f, int index, test_matrix &m,
                              uint64_t seed, bool all) {
  split_study_bed<V> b(f, index, m);
  csr_check_pairs(b, all, seed, split_study_multiply<V>);
}

// Checks without Inf or NaN, which would hide missing parts of a long row.
template <class V>
void split_study_check_long(const split_study_form &f, test_matrix &m, uint64_t seed) {
  split_study_bed<V> b(f, 0, m);
  for (int pair : {0, 4, 13}) {
    csr_check_pair(b, pair, seed, split_study_multiply<V>);
  }
}
#endif // SIMT_SPLIT_STUDY_BED_H
