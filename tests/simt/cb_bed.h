// Test bed of the CB-SpMV kernels: the library's builder, which test spmv_cb compares with the
// CSR, makes the blocks of a generated matrix; then products. Include merbit.h first.
#ifndef SIMT_CB_BED_H
#define SIMT_CB_BED_H
#include "jit/device.cuh"

#include "simt/arguments.h"
#include "simt/csr.h"
#include "support/stretched.h"

struct cb_form : csr_form {
  bool aggregated;
  unsigned threads, fixup_threads;
  simt_kernel product, fixup;
};

inline std::vector<const cb_form *> cb_forms;

inline merbit_context *cb_context() {
  static merbit_context *context;
  if (context == nullptr) {
    merbit_context_desc desc = {};
    desc.side = MERBIT_SIDE_CPU;
    desc.threads = 1;
    assert_int_equal(merbit_context_create(&desc, &context, nullptr), MERBIT_OK);
  }
  return context;
}

// The limits of the formats, a warp's steps, and whether COO and CSR are compared by cost: the
// defaults, all COO, all dense except single entries, all CSR, and a mixture.
static const struct {
  uint64_t coo_max, csr_max, steps;
  int weighed;
} cb_choices[] = {
    {32, 128, 20, 1}, {257, 256, 20, 0}, {1, 1, 20, 0}, {1, 256, 0, 0}, {9, 30, 24, 0}};

template <class V> struct cb_bed : csr_bed<V> {
  cb_bed(const cb_form &f, int index, test_matrix &m, uint64_t turn)
      : csr_bed<V>(f, index, m), f(f) {
    const auto &choice = cb_choices[((uint64_t)index + turn) % 5];
    options.aggregate = f.aggregated ? -1 : 2; // always, never
    options.coo_max = choice.coo_max;
    options.csr_max = choice.csr_max;
    options.steps = choice.steps;
    options.weighed = choice.weighed;
    options.processors = 1;
  }

  // Builds the format from the present values. The caller releases it.
  mbi_cb_format make() {
    merbit_view view = merbit_csr(this->m.rows, this->m.cols, this->m.nnz, this->row_ptr.get(),
                                  this->col_ind.get(), nullptr);
    mbi_cb_format format;
    view.base = (int)f.base;
    view.offset_type = f.row_ptr_bytes == 8 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
    assert_int_equal(mbi_cb_create_format(cb_context(), &view, this->values.get(),
                                          f.pattern ? 0 : this->value_bytes(), &options,
                                          &format),
                     MERBIT_OK);
    assert_int_equal(format.aggregated, f.aggregated && this->nnz > 0);
    return format;
  }

  const cb_form &f;
  mbi_cb_options options = {};
};

// A copy of a builder's array with exactly its size.
struct cb_array : simt_array {
  cb_array(const void *from, size_t count, size_t width) : simt_array(count, width) {
    memcpy(get(), from, count * width);
  }
};

template <class V>
void cb_multiply(cb_bed<V> &b, double alpha, double beta, simt_array &y, uint64_t seed) {
  mbi_cb_format format = b.make();
  cb_array words(format.words, format.blocks + MBI_CB_SPARE, 8),
      first(format.first, format.blocks + MBI_CB_SPARE, 4);
  cb_array data(format.data, format.data_bytes, 1);
  cb_array task_block(format.task_block, format.tasks + 1, 8);
  cb_array task_target(format.task_target, format.tasks, 4);
  cb_array split_strip(format.split_strip, format.splits, 4);
  cb_array split_part(format.split_part, format.splits + 1, 4);
  simt_array carries(format.parts * 16, sizeof(V), 0xff);
  const unsigned warps = b.f.threads / 32;
  const uint64_t tasks = format.tasks, cols = (uint64_t)b.m.cols;
  b.forbid(alpha == 0); // the CSR is not read; with alpha 0 nothing is
  if (alpha == 0) {
    data.forbid();
  }
  csr_with_scalars<V>(b.f, alpha, beta, seed, [&](const auto &at_alpha, const auto &at_beta) {
    {
      simt_late_guard late({&b.x, &y, &carries});
      late.scalar(at_alpha);
      late.scalar(at_beta);
      simt_run(b.f.product, b.run(seed),
               {csr_divide_up(tasks, warps), b.f.threads, b.f.threads * (unsigned)sizeof(V)},
               task_block.get(), task_target.get(), words.get(), first.get(), data.get(),
               b.values.get(), b.x.get(), y.get(), carries.get(), b.rows, cols, tasks, at_alpha,
               at_beta);
    }
    data.forbid();
    b.x.forbid();
    if (format.splits > 0) {
      simt_late_guard late({&y, &carries});
      late.scalar(at_alpha);
      late.scalar(at_beta);
      simt_run(
          b.f.fixup, b.run(seed),
          {(unsigned)format.splits, b.f.fixup_threads, b.f.fixup_threads * (unsigned)sizeof(V)},
          split_strip.get(), split_part.get(), carries.get(), y.get(), b.rows, at_alpha,
          at_beta);
    }
  });
  b.allow();
  data.allow();
  mbi_cb_format_free(cb_context(), &format);
}

template <class V>
void cb_check_matrix(const cb_form &f, int index, test_matrix &m, uint64_t seed, bool all) {
  cb_bed<V> b(f, index, m, seed / 2);
  csr_check_pairs(b, all, seed, cb_multiply<V>);
}

// Calls check(index, m) for each generated matrix with rows, including those of stretched.h.
template <class F> void cb_each_matrix(uint64_t seed, const F &check) {
  csr_each_matrix(seed, check);
  for (int index = 0; index < stretched_count(); index++) {
    test_matrix m;
    stretched_make(index, seed, &m);
    check(test_matrix_count() + index, m);
    test_matrix_free(&m);
  }
}
#endif // SIMT_CB_BED_H
