// The test bed of all product kernels: a generated matrix in a kernel's types, alpha and beta,
// the checks of y = alpha A x + beta y, and the loop over forms and matrices. A form is one
// specialisation of a kernel.
#ifndef SIMT_CSR_H
#define SIMT_CSR_H
#include <math.h>

#include <algorithm>
#include <type_traits>

#include "simt/runs.h"
#include "support/bound.h"
#include "support/matrices.h"

// How values are stored: the numbers of MBK_STORED.
enum csr_storage {
  CSR_EACH,
  CSR_EQUAL,
  CSR_SINGLE,
  CSR_HALF,
  CSR_TABLE,
  CSR_ROW,
  CSR_COLUMN,
  CSR_BFLOAT,
  CSR_CONJUGATE
};

// Converts a number of the test data to type V. A complex number gets an imaginary part that
// depends on the bits of the real one, except that 1, the value of patterns, stays 1 and -1
// becomes i.
template <class V> struct csr_number {
  static V of(double number) {
    return (V)number;
  }
  static bool same(V a, V b) {
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
  }
};
template <class T> struct csr_number<mbk_complex<T>> {
  typedef mbk_complex<T> V;
  static V of(double number) {
    if (number == -1) {
      return V(0, 1);
    }
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return V((T)number,
             number == 1 ? 0 : (T)(number * ((double)(bits >> 17 & 1023) - 511.5) / 256));
  }
  static bool same(V a, V b) {
    return csr_number<T>::same(a.re, b.re) && csr_number<T>::same(a.im, b.im);
  }
};

template <class V, int stored>
using csr_stored =
    std::conditional_t<stored == CSR_SINGLE, float,
                       std::conditional_t<stored == CSR_HALF || stored == CSR_BFLOAT, mbk_u16,
                                          std::conditional_t<stored == CSR_TABLE, mbk_u8, V>>>;

// Returns a semiring's zero for csr_form; complex sums always start at 0.
template <class T> double csr_zero(const T &zero) {
  if constexpr (std::is_arithmetic_v<T>) {
    return (double)zero;
  }
  return 0;
}

struct csr_form { // what the forms of all kernels have in common
  const char *name;
  unsigned value_bytes, row_ptr_bytes, base;
  bool pattern, device; // pattern: no values; device: alpha and beta in GPU memory
  int stored = CSR_EACH;
  simt_kernel scale = {}; // scales x for CSR_COLUMN
  int semiring = 0; // of spmv/shared/semiring.cuh; its alpha and beta are NaN where not given
  double zero = 0;

  // Returns whether alpha makes the product vanish, so that neither A nor x may be read.
  bool vanishes(double alpha) const {
    return alpha == zero;
  }
  // Returns whether the launcher uses the kernel for any beta. csr_with_scalars passes beta = 0
  // as a null pointer or as a pointer to 0.
  bool adds(double beta, uint64_t seed) const {
    return semiring != 0 ? !isnan(beta) && (device || beta != zero)
                         : beta != 0 || (device && seed % 2 == 0);
  }
  // Returns the bytes of a stored value.
  unsigned stored_bytes() const {
    return stored == CSR_SINGLE                         ? 4
           : stored == CSR_HALF || stored == CSR_BFLOAT ? 2
           : stored == CSR_TABLE                        ? 1
                                                        : value_bytes;
  }
  // Returns whether one value serves all nonzeros, a row or a column.
  bool shared_values() const {
    return stored == CSR_EQUAL || stored == CSR_ROW || stored == CSR_COLUMN;
  }
  size_t stored_count(const test_matrix &m) const {
    return stored == CSR_EQUAL    ? 1
           : stored == CSR_ROW    ? (size_t)m.rows
           : stored == CSR_COLUMN ? (size_t)m.cols
           : pattern              ? 0
                                  : (size_t)m.nnz;
  }
  // Returns the bytes of the table of values at the start of shared memory.
  unsigned table_bytes() const {
    return stored == CSR_TABLE ? 256 * value_bytes : 0;
  }
};

// Which columns of x and which values get an Inf or a NaN.
enum csr_data { CSR_PLAIN, CSR_WILD_X, CSR_WILD_VALUES, CSR_WILD_BOTH };

template <class V> struct csr_bed {
  typedef V value;

  // Columns and values begin `shift` elements after a multiple of 16 bytes.
  csr_bed(const csr_form &form, int index, test_matrix &m, size_t shift = 0)
      : m(m), index(index), rows((uint64_t)m.rows), nnz((uint64_t)m.nnz),
        plain(m.values, m.values + nnz), row_ptr(rows + 1, form.row_ptr_bytes),
        col_ind(nnz, 4, 0, shift), values(form.stored_count(m), form.stored_bytes(), 0, shift),
        x((size_t)m.cols, sizeof(V)), table(form.stored == CSR_TABLE ? 256 : 0, sizeof(V)),
        scaled(form.stored == CSR_COLUMN ? (size_t)m.cols : 0, sizeof(V), 0xff), form(form) {
    for (uint64_t i = 0; i <= rows; i++) {
      row_ptr.store(i, (uint64_t)m.row_ptr[i] + form.base);
    }
    for (uint64_t i = 0; i < nnz; i++) {
      col_ind.store(i, (uint64_t)m.col_ind[i] + form.base);
    }
  }

  size_t value_bytes() const { // of one nonzero's value, if each has its own
    return form.stored_bytes();
  }

  simt_case run(uint64_t seed) const {
    return {form.name, m.name, seed};
  }

  // Fills x with random numbers, and the values with the matrix's own, or with ones for a
  // pattern. Wild data have an Inf, a -Inf and a NaN, each in one column.
  void fill(uint64_t state, csr_data data) {
    static const double bad[] = {INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < x.count; i++) {
      x.as<V>()[i] = csr_number<V>::of(test_uniform(&state));
    }
    for (int i = 0; (data == CSR_WILD_X || data == CSR_WILD_BOTH) && i < 3 && nnz > 0; i++) {
      x.as<V>()[m.col_ind[test_below(&state, m.nnz)]] = csr_number<V>::of(bad[i]);
    }
    for (uint64_t i = 0; i < nnz; i++) {
      m.values[i] = form.stored == CSR_EQUAL    ? equal(plain[0])
                    : form.pattern              ? 1.0
                    : form.stored == CSR_SINGLE ? (double)(float)plain[i]
                    : form.stored == CSR_HALF
                        ? (double)mbk_half_value(mbk_half_of((float)plain[i]))
                    : form.stored == CSR_BFLOAT ? (double)mbk_bf16_value(bfloat_of(plain[i]))
                                                : plain[i];
    }
    if (form.stored == CSR_EQUAL && data == CSR_WILD_VALUES && nnz > 0) {
      std::fill(m.values, m.values + nnz, bad[test_below(&state, 3)]);
    }
    if (!form.pattern && (data == CSR_WILD_VALUES || data == CSR_WILD_BOTH)) {
      test_matrix_wild(&m, &state);
    }
    if constexpr (mbk_parts<V>::count == 1) {
      if (form.stored == CSR_TABLE || form.stored == CSR_ROW || form.stored == CSR_COLUMN) {
        few(state, data == CSR_WILD_VALUES || data == CSR_WILD_BOTH);
        return;
      }
    }
    for (uint64_t i = 0; i < values.count; i++) {
      if (form.stored == CSR_SINGLE) {
        values.as<float>()[i] = (float)m.values[i];
      } else if (form.stored == CSR_HALF) {
        values.as<mbk_u16>()[i] = mbk_half_of((float)m.values[i]);
      } else if (form.stored == CSR_BFLOAT) {
        values.as<mbk_u16>()[i] = bfloat_of(m.values[i]);
      } else {
        values.as<V>()[i] = csr_number<V>::of(nnz > 0 ? m.values[i] : 1);
      }
      if constexpr (mbk_parts<V>::count > 1) {
        if (form.stored == CSR_CONJUGATE) {
          values.as<V>()[i].im = -values.as<V>()[i].im;
        }
      }
    }
  }

  // Returns the bits of `number` truncated to a bfloat16.
  static mbk_u16 bfloat_of(double number) {
    const float single = (float)number;
    mbk_u32 bits;
    memcpy(&bits, &single, sizeof bits);
    return isnan(single) ? 0x7fff : (mbk_u16)(bits >> 16);
  }

  static double equal(double number) {
    if constexpr (mbk_parts<V>::count > 1) {
      return number;
    } else {
      return (double)(V)number;
    }
  }

  // Fills values that come from a table, or that are those of rows or columns; if `wild`, some
  // are Inf or NaN. Values that no nonzero uses are NaN.
  void few(uint64_t state, bool wild) {
    const bool by_table = form.stored == CSR_TABLE;
    simt_array &kinds = by_table ? table : values;
    for (uint64_t i = 0; i < kinds.count; i++) {
      kinds.as<V>()[i] = (V)test_uniform(&state);
      if (wild && test_below(&state, 29) == 0) {
        kinds.as<V>()[i] = i % 2 != 0 ? (V)NAN : (V)INFINITY;
      }
    }
    std::vector<bool> met(kinds.count);
    for (uint64_t row = 0; row < rows; row++) {
      for (int64_t k = m.row_ptr[row]; k < m.row_ptr[row + 1]; k++) {
        const uint64_t kind = by_table                 ? (uint64_t)test_below(&state, 256)
                              : form.stored == CSR_ROW ? row
                                                       : (uint64_t)m.col_ind[k];
        m.values[k] = (double)kinds.as<V>()[kind];
        met[kind] = true;
        if (by_table) {
          values.as<mbk_u8>()[k] = (mbk_u8)kind;
        }
      }
    }
    for (uint64_t i = 0; i < kinds.count; i++) {
      if (!met[i]) {
        kinds.as<V>()[i] = (V)NAN;
      }
    }
  }

  // Returns the vector that a product reads as x: the scaled copy if the values are those of
  // columns.
  simt_array &factors() {
    return form.stored == CSR_COLUMN ? scaled : x;
  }

  void forbid(bool and_x) {
    col_ind.forbid();
    if (and_x || !form.shared_values()) { // every product reads shared values
      values.forbid();
    }
    if (and_x) {
      x.forbid();
      table.forbid();
      scaled.forbid();
    }
  }
  void allow() {
    col_ind.allow();
    values.allow();
    x.allow();
    table.allow();
    scaled.allow();
  }

  test_matrix &m;
  int index;
  uint64_t rows, nnz;
  std::vector<double> plain;
  simt_array row_ptr, col_ind, values, x, table, scaled;

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

// The same for complex numbers, each part within gamma(k + 4); test_types has the derivation.
template <class T>
int csr_rows_wrong(const test_matrix *m, double alpha, const mbk_complex<T> *x, double beta,
                   const mbk_complex<T> *y0, const mbk_complex<T> *y);

inline unsigned csr_divide_up(uint64_t a, uint64_t b) {
  return (unsigned)((a + b - 1) / b);
}

// ---- alpha and beta -------------------------------------------------------------------------

// Alpha or beta as the kernels of semirings take it.
template <class V> struct csr_scalar {
  V value;
  mbk_u32 given;
};

// Calls launch(alpha, beta) with the two scalars as the kernels of the form take them.
template <class V, class F>
void csr_with_scalars(const csr_form &form, double alpha, double beta, uint64_t seed,
                      const F &launch) {
  const V a = csr_number<V>::of(alpha), b = csr_number<V>::of(beta);
  // A null device pointer stands for 1.
  const void *const at_alpha = alpha == 1 && seed % 2 ? nullptr : &a;
  const void *const at_beta = beta == 0 && seed % 2 ? nullptr : &b;
  if (form.semiring != 0 && !form.device) {
    launch(csr_scalar<V>{a, !isnan(alpha)}, csr_scalar<V>{b, !isnan(beta)});
  } else if (form.semiring != 0) {
    launch((const void *)(isnan(alpha) ? nullptr : &a),
           (const void *)(isnan(beta) ? nullptr : &b));
  } else if (form.device) {
    launch(at_alpha, at_beta);
  } else {
    launch(a, b);
  }
}

// Does csr_with_scalars for a product. If values are those of columns, x is first multiplied by
// them; with alpha 0 that step reads nothing.
template <class Bed, class F>
void csr_product(Bed &b, const csr_form &form, double alpha, double beta, uint64_t seed,
                 const F &launch) {
  typedef typename Bed::value V;
  csr_with_scalars<V>(form, alpha, beta, seed, [&](const auto &at_alpha, const auto &at_beta) {
    if (form.stored == CSR_COLUMN && b.m.cols > 0) {
      if (alpha == 0) {
        b.forbid(true);
      } else {
        memset(b.scaled.get(), 0xff, b.scaled.count * sizeof(V));
      }
      simt_late_guard late({&b.x, &b.scaled});
      late.scalar(at_alpha);
      late.scalar(at_beta);
      simt_run(form.scale, b.run(seed), {1 + (unsigned)seed % 3, 256, 0}, b.values.get(),
               b.x.get(), (mbk_u64)b.m.cols, b.scaled.get(), at_alpha, at_beta);
    }
    launch(at_alpha, at_beta);
  });
}

static const double csr_scalars[] = {1, 0, -1, 0.5};

// Returns whether a and b have the same bits. All NaNs are equal: a GPU has one NaN, and which
// operand's NaN a CPU returns depends on the compiler.
template <class V> bool csr_same(const simt_array &a, const simt_array &b) {
  for (size_t i = 0; i < a.count; i++) {
    if (!csr_number<V>::same(a.as<V>()[i], b.as<V>()[i])) {
      return false;
    }
  }
  return true;
}

// Checks one pair of alpha and beta under the schedules first and first + 1, whose results must
// have the same bits. multiply(bed, alpha, beta, y, seed) computes a product. If beta is 0, y
// is NaN before.
template <class Bed, class F>
void csr_check_pair(Bed &b, int pair, uint64_t first, const F &multiply) {
  typedef typename Bed::value V;
  const double alpha = csr_scalars[pair % 4], beta = csr_scalars[(pair / 4 + 1) % 4];
  simt_array y0(b.rows, sizeof(V)), y(b.rows, sizeof(V)), before(b.rows, sizeof(V));
  uint64_t state = first * 1000 + (uint64_t)b.index;
  for (uint64_t i = 0; i < b.rows; i++) {
    y0.as<V>()[i] = csr_number<V>::of(beta == 0 ? (double)NAN : test_uniform(&state));
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

// Checks all 16 pairs if `all`; else alpha 0 and one pair that changes with seed and matrix.
template <class Bed, class F>
void csr_check_pairs(Bed &b, bool all, uint64_t seed, const F &multiply) {
  for (int pair = 0; pair < 16; pair++) {
    if (all || pair == 13 || pair == (int)(((uint64_t)b.index + seed / 2 * 5) % 16)) {
      csr_check_pair(b, pair, seed, multiply);
    }
  }
}

// ---- Forms on matrices ----------------------------------------------------------------------

// Calls check(index, m) for each generated matrix with rows; without rows a plan launches
// nothing.
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

// Makes one test for each form, with the form as state; simt_runs_report is the teardown.
template <class Form>
int csr_main(const char *group, const std::vector<const Form *> &forms,
             std::vector<CMUnitTest> tests, void (*check)(void **)) {
  for (const Form *form : forms) {
    tests.push_back({form->name, check, nullptr, nullptr, (void *)form});
  }
  return _cmocka_run_group_tests(group, tests.data(), tests.size(), nullptr, simt_runs_report);
}

// Returns a form's place in its program's list.
template <class Form>
size_t csr_place(const std::vector<const Form *> &forms, const Form *form) {
  return (size_t)(std::find(forms.begin(), forms.end(), form) - forms.begin());
}

// Returns the first seeds of the pairs that a form runs: all, or one in turn.
template <class Form>
std::vector<uint64_t> csr_seeds(const std::vector<const Form *> &forms, const Form *form,
                                bool one) {
  const size_t pairs = simt_seeds.size() / 2, place = csr_place(forms, form);
  std::vector<uint64_t> seeds;
  for (size_t pair = 0; pair < pairs; pair++) {
    if (!one || pair == place % pairs) {
      seeds.push_back(simt_seeds[2 * pair]);
    }
  }
  return seeds;
}

// Returns whether, in quick effort, a form skips a matrix. A form runs one small matrix in
// three, which change with the seed and from form to form. Of the others, which take most of
// the time, a form runs one in eight, and of the four largest one in 16.
inline bool csr_left_to_others(size_t place, int index, const test_matrix &m) {
  const int64_t size = m.rows + m.nnz;
  const size_t apart = size > 20000 ? 16 : size > 3000 ? 8 : 3;
  return test_effort(1, 0) && ((size_t)index + place + simt_seeds[2]) % apart != 0;
}

#endif // SIMT_CSR_H
