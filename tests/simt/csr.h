// What the tests of all product kernels share: a generated matrix as a kernel takes it, alpha
// and beta, the promises of y = alpha A x + beta y, and the loop over forms and matrices.
#ifndef SIMT_CSR_H
#define SIMT_CSR_H
#include <math.h>

#include <algorithm>

#include "simt/runs.h"
#include "support/bound.h"
#include "support/matrices.h"

struct csr_form { // of a kernel, but for what only its own method has
  const char *name;
  unsigned value_bytes, row_ptr_bytes, base;
  bool pattern, device; // no values stored; alpha and beta behind device pointers
  bool equal = false, single = false; // one value stored for all; doubles stored as floats
};

// What stands in the columns of x and of the values.
enum csr_data { CSR_PLAIN, CSR_WILD_X, CSR_WILD_VALUES, CSR_WILD_BOTH };

template <class V> struct csr_bed {
  typedef V value;

  // Columns and values begin `shift` elements behind a multiple of 16 bytes.
  csr_bed(const csr_form &form, int index, test_matrix &m, size_t shift = 0)
      : m(m), index(index), rows((uint64_t)m.rows), nnz((uint64_t)m.nnz),
        plain(m.values, m.values + nnz), row_ptr(rows + 1, form.row_ptr_bytes),
        col_ind(nnz, 4, 0, shift), values(form.equal ? 1 : form.pattern ? 0 : nnz, form.single ? sizeof(float) : sizeof(V), 0,
               shift),
        x((size_t)m.cols, sizeof(V)), form(form) {
    for (uint64_t i = 0; i <= rows; i++) {
      row_ptr.store(i, (uint64_t)m.row_ptr[i] + form.base);
    }
    for (uint64_t i = 0; i < nnz; i++) {
      col_ind.store(i, (uint64_t)m.col_ind[i] + form.base);
    }
  }

  size_t value_bytes() const { // of a nonzero's value, where each has its own
    return form.single ? sizeof(float) : sizeof(V);
  }

  simt_case run(uint64_t seed) const {
    return {form.name, m.name, seed};
  }

  // Random x; the matrix's own values or, for a pattern, ones. Wild: an Inf, a -Inf and a NaN,
  // each in one column.
  void fill(uint64_t state, csr_data data) {
    static const double bad[] = {INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < x.count; i++) {
      x.as<V>()[i] = (V)test_uniform(&state);
    }
    for (int i = 0; (data == CSR_WILD_X || data == CSR_WILD_BOTH) && i < 3 && nnz > 0; i++) {
      x.as<V>()[m.col_ind[test_below(&state, m.nnz)]] = (V)bad[i];
    }
    for (uint64_t i = 0; i < nnz; i++) {
      m.values[i] = form.equal     ? (double)(V)plain[0]
                    : form.pattern ? 1.0
                    : form.single  ? (double)(float)plain[i]
                                   : plain[i];
    }
    if (form.equal && data == CSR_WILD_VALUES && nnz > 0) {
      std::fill(m.values, m.values + nnz, bad[test_below(&state, 3)]);
    }
    if (!form.pattern && (data == CSR_WILD_VALUES || data == CSR_WILD_BOTH)) {
      test_matrix_wild(&m, &state);
    }
    for (uint64_t i = 0; i < values.count; i++) {
      if (form.single) {
        values.as<float>()[i] = (float)m.values[i];
      } else {
        values.as<V>()[i] = (V)(nnz > 0 ? m.values[i] : 1);
      }
    }
  }

  void forbid(bool and_x) {
    col_ind.forbid();
    if (and_x || !form.equal) { // one that all have is read by every product
      values.forbid();
    }
    if (and_x) {
      x.forbid();
    }
  }
  void allow() {
    col_ind.allow();
    values.allow();
    x.allow();
  }

  test_matrix &m;
  int index;
  uint64_t rows, nnz;
  std::vector<double> plain;
  simt_array row_ptr, col_ind, values, x;

private:
  const csr_form &form;
};

inline int csr_rows_wrong(const test_matrix *m, double alpha, const double *x, double beta,
                          const double *y0, const double *y) {
  return bound_rows_wrong_f64(m, alpha, x, beta, y0, y);
}
inline int csr_rows_wrong(const test_matrix *m, double alpha, const float *x, double beta,
                          const float *y0, const float *y) {
  return bound_rows_wrong_f32(m, (float)alpha, x, (float)beta, y0, y);
}

inline unsigned csr_divide_up(uint64_t a, uint64_t b) {
  return (unsigned)((a + b - 1) / b);
}

// ---- alpha and beta
// ----------------------------------------------------------------------------

// launch(alpha, beta), as the kernels of the form take the two.
template <class V, class F>
void csr_with_scalars(const csr_form &form, double alpha, double beta, uint64_t seed,
                      const F &launch) {
  const V a = (V)alpha, b = (V)beta;
  // A null device pointer stands for the default.
  const void *const at_alpha = alpha == 1 && seed % 2 ? nullptr : &a;
  const void *const at_beta = beta == 0 && seed % 2 ? nullptr : &b;
  if (form.device) {
    launch(at_alpha, at_beta);
  } else {
    launch(a, b);
  }
}

static const double csr_scalars[] = {1, 0, -1, 0.5};

// The same bits, but for those of NaNs: a GPU has one NaN, a CPU takes that of an operand, which
// one is up to its compiler.
template <class V> bool csr_same(const simt_array &a, const simt_array &b) {
  for (size_t i = 0; i < a.count; i++) {
    const V one = a.as<V>()[i], other = b.as<V>()[i];
    if (memcmp(&one, &other, sizeof one) != 0 && !(isnan(one) && isnan(other))) {
      return false;
    }
  }
  return true;
}

// One pair of alpha and beta under the schedules first and first + 1, whose bits must agree.
// multiply(bed, alpha, beta, y, seed) is a product. Where beta is 0, y is NaN before.
template <class Bed, class F>
void csr_check_pair(Bed &b, int pair, uint64_t first, const F &multiply) {
  typedef typename Bed::value V;
  const double alpha = csr_scalars[pair % 4], beta = csr_scalars[(pair / 4 + 1) % 4];
  simt_array y0(b.rows, sizeof(V)), y(b.rows, sizeof(V)), before(b.rows, sizeof(V));
  uint64_t state = first * 1000 + (uint64_t)b.index;
  for (uint64_t i = 0; i < b.rows; i++) {
    y0.as<V>()[i] = beta == 0 ? (V)NAN : (V)test_uniform(&state);
  }
  b.fill(state, (csr_data)((uint64_t)(pair + b.index) % 4));
  before.copy(y0);
  multiply(b, alpha, beta, before, first);
  if (csr_rows_wrong(&b.m, alpha, b.x.template as<V>(), beta, y0.template as<V>(),
                     before.template as<V>()) > 0) {
    fail_msg("%s on %s, seed %llu: rows beyond the bound", b.run(first).form, b.m.name,
             (unsigned long long)first);
  }
  y.copy(y0);
  multiply(b, alpha, beta, y, first + 1);
  if (!csr_same<V>(y, before)) {
    fail_msg("%s on %s: seeds %llu and %llu differ", b.run(first).form, b.m.name,
             (unsigned long long)first, (unsigned long long)first + 1);
  }
}

// Where `all`, the 16 pairs; else alpha 0 and another one that turns.
template <class Bed, class F>
void csr_check_pairs(Bed &b, bool all, uint64_t seed, const F &multiply) {
  for (int pair = 0; pair < 16; pair++) {
    if (all || pair == 13 || pair == (int)(((uint64_t)b.index + seed / 2 * 5) % 16)) {
      csr_check_pair(b, pair, seed, multiply);
    }
  }
}

// ---- Forms on matrices
// -------------------------------------------------------------------------

// check(index, m) for each generated matrix with rows: without, the plan launches nothing.
template <class F> void csr_each_matrix(uint64_t seed, const F &check) {
  for (int index = 0; index < test_matrix_count(); index++) {
    test_matrix m;
    test_matrix_make(index, seed, &m);
    if (m.rows > 0) {
      check(index, m);
    }
    test_matrix_free(&m);
  }
}

// One test for each form, whose state it is; simt_runs_report at the end.
template <class Form>
int csr_main(const char *group, const std::vector<const Form *> &forms,
             std::vector<CMUnitTest> tests, void (*check)(void **)) {
  for (const Form *form : forms) {
    tests.push_back({form->name, check, nullptr, nullptr, (void *)form});
  }
  return _cmocka_run_group_tests(group, tests.data(), tests.size(), nullptr, simt_runs_report);
}

// The first seeds of the pairs that a form sees: all, or one in turn.
template <class Form>
std::vector<uint64_t> csr_seeds(const std::vector<const Form *> &forms, const Form *form,
                                bool one) {
  const size_t pairs = simt_seeds.size() / 2;
  const size_t position = (size_t)(std::find(forms.begin(), forms.end(), form) - forms.begin());
  std::vector<uint64_t> seeds;
  for (size_t pair = 0; pair < pairs; pair++) {
    if (!one || pair == position % pairs) {
      seeds.push_back(simt_seeds[2 * pair]);
    }
  }
  return seeds;
}

#endif // SIMT_CSR_H
