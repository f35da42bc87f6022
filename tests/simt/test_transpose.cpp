// The sort by columns, pass by pass, and the arrays made from it, against a simple loop.
#include "jit/device.cuh"
#include <algorithm>
#include "simt/runs.h"
#include "support/matrices.h"

struct transpose_form {
  const char *name;
  unsigned offset_bytes, place_bytes;
  simt_kernel rows, count, scan, move, starts;
};

#define FORM(space)                                                                            \
  {                                                                                            \
#space, sizeof(MBK_ROW_PTR), sizeof(MBK_PLACE), SIMT_KERNEL(space::mbk_transpose_rows),    \
        SIMT_KERNEL(space::mbk_transpose_count), SIMT_KERNEL(space::mbk_transpose_scan),       \
        SIMT_KERNEL(space::mbk_transpose_move), SIMT_KERNEL(space::mbk_transpose_starts)       \
  }

#define MBK_ROW_PTR mbk_i32
#define MBK_PLACE mbk_i32
namespace offsets32_places32 {
#include "spmv/stages/transpose.cu"
static const transpose_form form = FORM(offsets32_places32);
} // namespace offsets32_places32
#undef MBK_PLACE
#define MBK_PLACE mbk_i64
namespace offsets32_places64 {
#include "spmv/stages/transpose.cu"
static const transpose_form form = FORM(offsets32_places64);
} // namespace offsets32_places64
#undef MBK_ROW_PTR
#define MBK_ROW_PTR mbk_i64
namespace offsets64_places64 {
#include "spmv/stages/transpose.cu"
static const transpose_form form = FORM(offsets64_places64);
} // namespace offsets64_places64
#include "simt/undefine.h"

static const transpose_form forms[] = {offsets32_places32::form, offsets32_places64::form,
                                       offsets64_places64::form};

enum { THREADS = MBK_TRANSPOSE_THREADS, TILE = MBK_TRANSPOSE_TILE, DIGITS = MBK_DIGITS };

// Entries to sort, in row order, with columns below 2^bits.
struct sort_input {
  const char *name;
  std::vector<uint64_t> row_ptr, columns;
  uint32_t base, bits;
};

// Sorts as the host does, but blocks may take fewer tiles.
struct sort {
  const transpose_form &f;
  const sort_input &in;
  simt_case what;
  uint64_t rows, nnz, chunk;
  uint32_t bits; // of a digit
  unsigned blocks;
  simt_array row_ptr, col_ind, counts, totals, keys0, keys1, rows0, rows1, places0, places1;
  int passes, last;

  sort(const transpose_form &f, const sort_input &in, uint64_t tiles, uint64_t seed)
      : f(f), in(in), what{f.name, in.name, seed}, rows(in.row_ptr.size() - 1),
        nnz(in.columns.size()), chunk(tiles * TILE), bits(1),
        blocks((unsigned)((nnz + chunk - 1) / chunk)), row_ptr(rows + 1, f.offset_bytes),
        col_ind(nnz, 4), counts(DIGITS * blocks, f.place_bytes, 0xff),
        totals(DIGITS, f.place_bytes, 0xff), keys0(nnz, 4, 0xff), keys1(nnz, 4, 0xff),
        rows0(nnz, 4, 0xff), rows1(nnz, 4, 0xff), places0(nnz, f.place_bytes, 0xff),
        places1(nnz, f.place_bytes, 0xff), passes((int)(in.bits + 7) / 8),
        last((passes - 1) & 1) {
    bits = (in.bits + (uint32_t)passes - 1) / (uint32_t)passes;
    for (uint64_t i = 0; i <= rows; i++) {
      row_ptr.store(i, in.row_ptr[i] + in.base);
    }
    for (uint64_t k = 0; k < nnz; k++) {
      col_ind.store(k, in.columns[k] + in.base);
    }
  }

  const simt_array &keys(int which) const {
    return which ? keys1 : keys0;
  }
  const simt_array &rows_of(int which) const {
    return which ? rows1 : rows0;
  }
  const simt_array &places(int which) const {
    return which ? places1 : places0;
  }

  void pass(int p, bool with_places) {
    const int to = p & 1, from = 1 - to;
    const uint32_t shift = bits * (uint32_t)p, mask = (1u << bits) - 1, base = p ? 0 : in.base;
    const void *const keys_from = p ? keys(from).get() : col_ind.get();
    const void *const places_from = p && with_places ? places(from).get() : nullptr;
    void *const places_to = with_places ? places(to).get() : nullptr;
    simt_run(f.count, what, {blocks, THREADS, DIGITS * 4}, keys_from, base, nnz, shift, mask,
             chunk, counts.get());
    simt_run(f.scan, what, {mask + 1, THREADS, THREADS / 32 * f.place_bytes}, counts.get(),
             (uint64_t)blocks, totals.get());
    simt_run(f.move, what,
             {blocks, THREADS, (DIGITS + THREADS / 32) * f.place_bytes + TILE * 5}, keys_from,
             base, nnz, shift, mask, chunk, counts.get(), totals.get(), rows_of(from).get(),
             places_from, keys(to).get(), rows_of(to).get(), places_to);
  }

  void run(bool with_places) {
    std::vector<uint64_t> order(nnz), row(nnz);
    for (uint64_t r = 0; r < rows; r++) {
      std::fill(row.begin() + (int64_t)in.row_ptr[r], row.begin() + (int64_t)in.row_ptr[r + 1],
                r);
    }
    for (uint64_t k = 0; k < nnz; k++) {
      order[k] = k;
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](uint64_t a, uint64_t b) { return in.columns[a] < in.columns[b]; });
    simt_run(f.rows, what, {(unsigned)(nnz / 20000 + 1), THREADS, 0}, row_ptr.get(), rows, nnz,
             in.base, rows_of(1).get());
    for (int p = 0; p < passes; p++) {
      pass(p, with_places);
    }
    for (uint64_t k = 0; k < nnz; k++) {
      assert_int_equal(keys(last).load(k), in.columns[order[k]]);
      assert_int_equal(rows_of(last).load(k), row[order[k]]);
      if (with_places) {
        assert_int_equal(places(last).load(k), order[k]);
      }
    }
  }

  // Checks where columns 0 to `cols` begin.
  void starts(uint64_t cols) {
    const simt_array starts(cols + 1, f.place_bytes, 0xff);
    simt_run(f.starts, what,
             {(unsigned)((nnz + cols + 1 + TILE - 1) / TILE), THREADS, 2 * 8 + TILE * 4},
             keys(last).get(), nnz, cols, starts.get());
    for (uint64_t c = 0, k = 0; c <= cols; c++) {
      for (; k < nnz && keys(last).load(k) < c; k++) {
      }
      assert_int_equal(starts.load(c), k);
    }
  }
};

// In quick effort each form runs a tenth of the matrices, chosen by the seed.
static void test_form(void **state) {
  const transpose_form &f = *(const transpose_form *)*state;
  const int step = test_effort(10, 1);
  int first = (int)(&f - forms) + (int)(simt_seeds[2] % 10);
  for (uint64_t seed : {simt_seeds[0], simt_seeds[1]}) {
    for (int index = first++ % step; index < test_matrix_count(); index += step) {
      test_matrix m;
      test_matrix_make(index, seed, &m);
      if (m.nnz > 0) {
        sort_input in = {m.name, std::vector<uint64_t>(m.row_ptr, m.row_ptr + m.rows + 1),
                         std::vector<uint64_t>(m.col_ind, m.col_ind + m.nnz),
                         (uint32_t)index / 3 % 2, 1};
        while ((m.cols - 1) >> in.bits > 0) {
          in.bits++;
        }
        sort s(f, in, 1 + (uint64_t)index % 3, seed);
        s.run(index % 4 != 0);
        s.starts((uint64_t)m.cols);
      }
      test_matrix_free(&m);
    }
  }
}

// Columns of 31 bits; and rows that are hard to find, because most are empty and some fill a
// tile.
static void test_wide(void **state) {
  const transpose_form &f = *(const transpose_form *)*state;
  uint64_t random = 7;
  sort_input in = {"wide", {0}, {}, 0, 31};
  while (in.columns.size() < 3 * TILE) {
    const uint64_t row = test_below(&random, 60);
    const uint64_t count = row == 0 ? TILE / 2 : row < 20 ? row : row < 40 ? 1 : 0;
    const uint64_t empty = row == 1 ? 40 : row == 2 ? 5000 : 0;
    for (uint64_t k = 0; k < count; k++) {
      in.columns.push_back(test_below(&random, k % 2 ? 5 : INT32_MAX));
    }
    in.row_ptr.insert(in.row_ptr.end(), 1 + empty, in.columns.size());
  }
  sort(f, in, 2, 7).run(true);
}

// More blocks than a scan takes at once.
static void test_scan(void **state) {
  const transpose_form &f = *(const transpose_form *)*state;
  const uint64_t blocks = 2 * THREADS + 100, digits = 5;
  simt_array counts(digits * blocks, f.place_bytes), totals(digits, f.place_bytes);
  for (uint64_t i = 0; i < digits * blocks; i++) {
    counts.store(i, i % 7);
  }
  simt_run(f.scan, {f.name, "scan", 7},
           {(unsigned)digits, THREADS, THREADS / 32 * f.place_bytes}, counts.get(), blocks,
           totals.get());
  for (uint64_t digit = 0, i = 0; digit < digits; digit++) {
    uint64_t sum = 0;
    for (uint64_t block = 0; block < blocks; block++, i++) {
      assert_int_equal(counts.load(i), sum);
      sum += i % 7;
    }
    assert_int_equal(totals.load(digit), sum);
  }
}

// Pieces of columns only, of keys only, and boundaries between columns.
static void test_starts(void **state) {
  const transpose_form &f = *(const transpose_form *)*state;
  const uint64_t cols = 5 * TILE;
  sort_input in = {"starts", {0}, {}, 0, 16};
  in.columns.assign(3 * TILE, 2 * TILE + 5);
  in.columns.insert(in.columns.end(), 40, cols - 1);
  in.columns.push_back(0);
  in.columns.push_back(7);
  in.row_ptr.push_back(in.columns.size());
  sort s(f, in, 1, 7);
  s.run(false);
  s.starts(cols);
}

int main() {
  std::vector<CMUnitTest> tests;
  for (const transpose_form &f : forms) {
    tests.push_back({f.name, test_form, nullptr, nullptr, (void *)&f});
    tests.push_back({"wide", test_wide, nullptr, nullptr, (void *)&f});
    tests.push_back({"scan", test_scan, nullptr, nullptr, (void *)&f});
    tests.push_back({"starts", test_starts, nullptr, nullptr, (void *)&f});
  }
  return _cmocka_run_group_tests("transpose", tests.data(), tests.size(), nullptr,
                                 simt_runs_report);
}
