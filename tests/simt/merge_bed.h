// Test bed of the merge path: products of a generated matrix, and the beginnings of its chunks
// compared with a step-by-step walk of the path.
#ifndef SIMT_MERGE_BED_H
#define SIMT_MERGE_BED_H
#include "jit/device.cuh"

#include "simt/arguments.h"
#include "simt/csr.h"

struct merge_form : csr_form {
  unsigned steps, pack, rounds, threads;
  bool aligned;                         // columns and values begin at multiples of 16 bytes
  simt_kernel cut, product, sum, fixup; // sum: for any beta
};

inline std::vector<const merge_form *> merge_forms;

// The launch sizes, computed independently of the launcher; test_merge_path compares the two.
enum { MERGE_FIXUP_THREADS = 256, MERGE_CUT_THREADS = 128 };

inline uint64_t merge_chunk(const merge_form &f) {
  return f.steps * f.threads - (f.pack - 1);
}
inline unsigned merge_shared(const merge_form &f, bool adds) {
  const unsigned warps = f.threads / 32;
  return 2 * f.steps * f.threads + warps * (2 * f.value_bytes + 4) + 8 +
         (adds ? (f.threads + warps) * f.value_bytes : 0);
}
inline unsigned merge_fixup_shared(unsigned value_bytes) {
  return MERGE_FIXUP_THREADS / 32 * (value_bytes + 4);
}

template <class V> struct merge_bed : csr_bed<V> {
  merge_bed(const merge_form &f, int index, test_matrix &m)
      : csr_bed<V>(f, index, m, f.aligned ? 0 : 1), f(f),
        chunks((this->rows + this->nnz + merge_chunk(f) - 1) / merge_chunk(f)) {
  }
  const merge_form &f;
  uint64_t chunks;
};

// Checks the chunks step by step along the path: a row's end stays with its last nonzero, even
// if a chunk would begin between them.
template <class V> void merge_check_chunks(const merge_bed<V> &b, const simt_array &chunk_row) {
  uint64_t row = 0, k = 0;
  for (uint64_t step = 0; step <= b.rows + b.nnz; step++) {
    const bool ends = row < b.rows && k == (uint64_t)b.m.row_ptr[row + 1];
    if (step % merge_chunk(b.f) == 0 || step == b.rows + b.nnz) {
      const uint64_t chunk = (step + merge_chunk(b.f) - 1) / merge_chunk(b.f);
      const bool over = ends && b.m.row_ptr[row] < b.m.row_ptr[row + 1];
      const uint64_t begin = 2 * row + (over ? 3 : 0);
      if (chunk_row.load(chunk) != begin) {
        fail_msg("%s on %s: chunk_row[%llu] is %llu, not %llu", b.f.name, b.m.name,
                 (unsigned long long)chunk, (unsigned long long)chunk_row.load(chunk),
                 (unsigned long long)begin);
      }
    }
    ends ? row++ : k++;
  }
}

template <class V>
void merge_multiply(merge_bed<V> &b, double alpha, double beta, simt_array &y, uint64_t seed) {
  const simt_array chunk_row(b.chunks + 1, 8, 0xff), firsts(b.chunks, sizeof(V), 0xff),
      tails(b.chunks, sizeof(V), 0xff);
  const bool adds = b.f.adds(beta, seed); // the launcher's choice
  if (b.f.vanishes(alpha)) {              // neither A nor x may be read
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
      simt_run(adds ? b.f.sum : b.f.product, b.run(seed),
               {csr_divide_up(b.chunks, b.f.rounds), b.f.threads, merge_shared(b.f, adds)},
               b.row_ptr.get(), b.col_ind.get(), b.values.get(), b.x.get(), y.get(),
               chunk_row.get(), firsts.get(), tails.get(), b.rows, b.nnz, b.chunks, at_alpha,
               at_beta);
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
  merge_check_chunks(b, chunk_row);
}

template <class V>
void merge_check_matrix(const merge_form &f, int index, test_matrix &m, uint64_t seed,
                        bool all) {
  merge_bed<V> b(f, index, m);
  csr_check_pairs(b, all, seed, merge_multiply<V>);
}

// Checks without Inf or NaN, which would hide missing parts of a long row.
template <class V> void merge_check_long(const merge_form &f, test_matrix &m, uint64_t seed) {
  merge_bed<V> b(f, 0, m);
  for (int pair : {0, 4, 13}) {
    csr_check_pair(b, pair, seed, merge_multiply<V>);
  }
}

// ---- Matrices whose chunks begin at critical places -----------------------------------------

inline void merge_make(const char *name, const std::vector<int64_t> &lengths, test_matrix *m) {
  uint64_t state = lengths.size();
  memset(m, 0, sizeof *m);
  (void)snprintf(m->name, sizeof m->name, "%s", name);
  m->rows = (int64_t)lengths.size();
  m->cols = 300;
  m->row_ptr = (int64_t *)test_allocate(m->rows + 1, sizeof *m->row_ptr);
  for (int64_t row = 0; row < m->rows; row++) {
    m->row_ptr[row + 1] = m->row_ptr[row] + lengths[(size_t)row];
  }
  m->nnz = m->row_ptr[m->rows];
  m->col_ind = (int32_t *)test_allocate(m->nnz, sizeof *m->col_ind);
  m->values = (double *)test_allocate(m->nnz, sizeof *m->values);
  for (int64_t i = 0; i < m->nnz; i++) {
    m->col_ind[i] = (int32_t)test_below(&state, m->cols);
    m->values[i] = test_uniform(&state);
  }
}

// Returns names and row lengths of matrices for chunks of `chunk` steps.
inline std::vector<std::pair<const char *, std::vector<int64_t>>> merge_cuts(int64_t chunk) {
  const size_t many = (size_t)chunk;
  std::vector<std::pair<const char *, std::vector<int64_t>>> cuts;
  cuts.emplace_back("a row a chunk", std::vector<int64_t>(7, chunk - 1));
  cuts.emplace_back("rows whose end would begin a chunk", std::vector<int64_t>(7, chunk - 1));
  cuts.back().second[0] = chunk;
  cuts.emplace_back("ends one step further", std::vector<int64_t>(7, chunk - 1));
  cuts.back().second[0] = chunk + 1;
  cuts.emplace_back("nothing but empty rows", std::vector<int64_t>(3 * many + 5, 0));
  cuts.emplace_back("chunks of empty rows", std::vector<int64_t>(4 * many, 0));
  cuts.back().second[0] = chunk; // its end would begin a chunk; empty rows follow
  cuts.back().second[many / 2] = 3;
  cuts.back().second[3 * many + 1] = 2 * chunk;
  cuts.emplace_back("one row of many chunks between empty ones", std::vector<int64_t>(40, 0));
  cuts.back().second[20] = 9 * chunk;
  cuts.emplace_back("rows of one", std::vector<int64_t>(2 * many, 1));
  cuts.emplace_back("one nonzero", std::vector<int64_t>(1, 1));
  // The number of chunks that a row enters before its last one decides who adds it up: the
  // limits are 8 and 128.
  cuts.emplace_back("rows of very many chunks",
                    std::vector<int64_t>{chunk / 2, 8 * chunk, 9 * chunk, 1, 10 * chunk, 0,
                                         chunk - 1, 33 * chunk, 0, 128 * chunk, 3, 129 * chunk,
                                         7, 127 * chunk, 0, 2200 * chunk + 5, chunk});
  return cuts;
}
#endif // SIMT_MERGE_BED_H
