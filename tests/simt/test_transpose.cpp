// The sort by columns, pass by pass, and what is made of it, against a plain loop.
#include "jit/device.cuh"
#include "simt/runs.h"
#include "support/matrices.h"

struct transpose_form {
  const char *name;
  unsigned offset_bytes, place_bytes;
  simt_kernel count, scan, move, starts, rows, columns;
};

#define FORM(space)                                                                            \
  {                                                                                            \
#space, sizeof(MBK_ROW_PTR), sizeof(MBK_PLACE), SIMT_KERNEL(space::mbk_transpose_count),   \
        SIMT_KERNEL(space::mbk_transpose_scan), SIMT_KERNEL(space::mbk_transpose_move),        \
        SIMT_KERNEL(space::mbk_transpose_starts), SIMT_KERNEL(space::mbk_transpose_rows),      \
        SIMT_KERNEL(space::mbk_transpose_columns)                                              \
  }

#define MBK_ROW_PTR mbk_i32
#define MBK_PLACE mbk_i32
namespace offsets32_places32 {
#include "spmv/transpose.cu"
static const transpose_form form = FORM(offsets32_places32);
} // namespace offsets32_places32
#undef MBK_PLACE
#define MBK_PLACE mbk_i64
namespace offsets32_places64 {
#include "spmv/transpose.cu"
static const transpose_form form = FORM(offsets32_places64);
} // namespace offsets32_places64
#undef MBK_ROW_PTR
#define MBK_ROW_PTR mbk_i64
namespace offsets64_places64 {
#include "spmv/transpose.cu"
static const transpose_form form = FORM(offsets64_places64);
} // namespace offsets64_places64
#include "simt/undefine.h"

static const transpose_form forms[] = {offsets32_places32::form, offsets32_places64::form,
                                       offsets64_places64::form};

// A run of digits: as the host launches it, but that blocks may have fewer tiles.
struct sort {
  const transpose_form &f;
  simt_case what;
  uint64_t nnz, chunk;
  unsigned blocks;
  simt_array counts, totals;

  sort(const transpose_form &f, const simt_case &what, uint64_t nnz, uint64_t tiles)
      : f(f), what(what), nnz(nnz), chunk(tiles * 2048),
        blocks((unsigned)((nnz + chunk - 1) / chunk)),
        counts(256 * blocks, f.place_bytes, 0xff), totals(256, f.place_bytes, 0xff) {
  }

  void pass(uint32_t shift, uint32_t base, const simt_array &keys, const simt_array *places,
            const simt_array &keys_to, const simt_array &places_to) {
    const void *const places_from = places != nullptr ? places->get() : nullptr;
    simt_run(f.count, what, {blocks, 256, 256 * 4}, keys.get(), base, nnz, shift, chunk,
             counts.get());
    simt_run(f.scan, what, {32, 256, 0}, counts.get(), (uint64_t)blocks, totals.get());
    simt_run(f.move, what, {blocks, 256, (256 + 8) * f.place_bytes + 8 * 256 * 4}, keys.get(),
             base, nnz, shift, chunk, counts.get(), totals.get(), places_from, keys_to.get(),
             places_to.get());
  }
};

static void check(const transpose_form &f, const test_matrix &m, uint32_t base, uint64_t tiles,
                  uint64_t seed) {
  const simt_case what = {f.name, m.name, seed};
  const uint64_t rows = (uint64_t)m.rows, cols = (uint64_t)m.cols, nnz = (uint64_t)m.nnz;
  simt_array row_ptr(rows + 1, f.offset_bytes), col_ind(nnz, 4),
      starts(cols + 1, f.place_bytes);
  const simt_array keys0(nnz, 4, 0xff), keys1(nnz, 4, 0xff);
  const simt_array places0(nnz, f.place_bytes, 0xff), places1(nnz, f.place_bytes, 0xff);
  const simt_array *const keys[] = {&keys0, &keys1}, *const places[] = {&places0, &places1};
  int passes = 1;
  for (uint64_t i = 0; i <= rows; i++) {
    row_ptr.store(i, (uint64_t)m.row_ptr[i] + base);
  }
  for (uint64_t k = 0; k < nnz; k++) {
    col_ind.store(k, (uint64_t)m.col_ind[k] + base);
  }
  while ((cols - 1) >> (8 * passes) > 0) {
    passes++;
  }
  sort s(f, what, nnz, tiles);
  for (int p = 0; p < passes; p++) {
    s.pass(8 * (uint32_t)p, p == 0 ? base : 0, p == 0 ? col_ind : *keys[(p - 1) & 1],
           p == 0 ? nullptr : places[(p - 1) & 1], *keys[p & 1], *places[p & 1]);
  }
  const int last = (passes - 1) & 1;
  simt_run(f.starts, what, {(unsigned)(cols / 700 + 1), 256, 0}, keys[last]->get(), nnz, cols,
           starts.get());
  simt_run(f.rows, what, {(unsigned)(nnz / 5000 + 1), 256, 0}, row_ptr.get(), rows, nnz, base,
           keys[1 - last]->get());
  simt_run(f.columns, what, {(unsigned)(nnz / 700 + 1), 256, 0}, places[last]->get(),
           keys[1 - last]->get(), nnz, keys[last]->get());

  std::vector<uint64_t> next(cols + 1, 0), row_of(nnz);
  for (uint64_t k = 0; k < nnz; k++) {
    next[(uint64_t)m.col_ind[k] + 1]++;
  }
  for (uint64_t c = 0; c < cols; c++) {
    next[c + 1] += next[c];
  }
  for (uint64_t c = 0; c <= cols; c++) {
    assert_int_equal(starts.load(c), next[c]);
  }
  for (uint64_t row = 0; row < rows; row++) {
    for (uint64_t k = (uint64_t)m.row_ptr[row]; k < (uint64_t)m.row_ptr[row + 1]; k++) {
      const uint64_t at = next[(uint64_t)m.col_ind[k]]++;
      assert_int_equal(places[last]->load(at), k);
      assert_int_equal(keys[last]->load(at), row);
    }
  }
}

// Each form has a third of the matrices, and with another seed another third.
static void test_form(void **state) {
  const transpose_form &f = *(const transpose_form *)*state;
  const int step = test_effort(3, 1);
  int first = (int)(&f - forms);
  for (uint64_t seed : {simt_seeds[0], simt_seeds[1]}) {
    for (int index = first++ % step; index < test_matrix_count(); index += step) {
      test_matrix m;
      test_matrix_make(index, seed, &m);
      if (m.nnz > 0) {
        check(f, m, (uint32_t)index / 3 % 2, 1 + (uint64_t)index % 3, seed);
      }
      test_matrix_free(&m);
    }
  }
}

// Four bytes of columns, and more blocks than a scan takes at once.
static void test_wide(void **state) {
  const transpose_form &f = *(const transpose_form *)*state;
  const uint64_t nnz = 5000;
  const simt_case what = {f.name, "wide", 7};
  const simt_array keys0(nnz, 4, 0xff), keys1(nnz, 4, 0xff), came(nnz, 4);
  const simt_array places0(nnz, f.place_bytes, 0xff), places1(nnz, f.place_bytes, 0xff);
  uint64_t random = 7;
  for (uint64_t k = 0; k < nnz; k++) {
    came.as<int32_t>()[k] = (int32_t)test_below(&random, k % 2 ? 5 : INT32_MAX);
  }
  sort s(f, what, nnz, 1);
  s.pass(0, 0, came, nullptr, keys0, places0);
  s.pass(8, 0, keys0, &places0, keys1, places1);
  s.pass(16, 0, keys1, &places1, keys0, places0);
  s.pass(24, 0, keys0, &places0, keys1, places1);
  for (uint64_t k = 0; k < nnz; k++) {
    assert_int_equal(keys1.load(k), came.load(places1.load(k)));
    assert_true(k == 0 || keys1.load(k - 1) < keys1.load(k) ||
                (keys1.load(k - 1) == keys1.load(k) && places1.load(k - 1) < places1.load(k)));
  }
  simt_array counts(256 * 600, f.place_bytes), totals(256, f.place_bytes);
  for (uint64_t i = 0; i < 256 * 600; i++) {
    counts.store(i, i % 7);
  }
  simt_run(f.scan, what, {32, 256, 0}, counts.get(), (uint64_t)600, totals.get());
  for (uint64_t digit = 0, i = 0; digit < 256; digit++) {
    uint64_t sum = 0;
    for (uint64_t block = 0; block < 600; block++, i++) {
      assert_int_equal(counts.load(i), sum);
      sum += i % 7;
    }
    assert_int_equal(totals.load(digit), sum);
  }
}

int main() {
  std::vector<CMUnitTest> tests;
  for (const transpose_form &f : forms) {
    tests.push_back({f.name, test_form, nullptr, nullptr, (void *)&f});
    tests.push_back({"wide", test_wide, nullptr, nullptr, (void *)&f});
  }
  return _cmocka_run_group_tests("transpose", tests.data(), tests.size(), nullptr,
                                 simt_runs_report);
}
