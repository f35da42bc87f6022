// Kernels that inspect a matrix, convert it or follow a product, under the race detector
// (races.cpp). Each kernel's own test checks its results; the inputs here make every barrier
// order some accesses.
#include "jit/device.cuh"

#include "simt/races_list.h"

namespace arrays {
#define MBK_ROW_PTR mbk_i32
#define MBK_BASE 0
#include "spmv/shared/csr_sample.cu"
#include "spmv/stages/value_check.cu"
#include "spmv/stages/value_groups.cu"
#include "spmv/stages/value_sample.cu"
#include "simt/undefine.h"
} // namespace arrays

namespace extract {
#define MBK_ROW_PTR mbk_i32
#define MBK_VALUE float
#define MBK_BASE 0
#include "spmv/stages/extract_blocks.cu"
#include "simt/undefine.h"
} // namespace extract

#define MBK_ROW_PTR mbk_i32
#define MBK_PLACE mbk_i32
namespace places32 {
#include "spmv/stages/transpose.cu"
}
#undef MBK_PLACE
#define MBK_PLACE mbk_i64
namespace places64 {
#include "spmv/stages/transpose.cu"
}
#include "simt/undefine.h"

#pragma GCC diagnostic push // macros that the epilogue does not use
#pragma GCC diagnostic ignored "-Wunused-parameter"
namespace epilogue {
#define MBK_VECTOR float
#define MBK_COMPUTE float
#define MBK_EPILOGUE_VECTORS 0
#define MBK_EPILOGUE_SCALARS 0
#define MBK_EPILOGUE_SUM0 in_y
#define MBK_EPILOGUE_SUM1 (in_y + in_row)
#include "spmv/shared/epilogue.cu"
#include "simt/undefine.h"
} // namespace epilogue
#pragma GCC diagnostic pop

namespace setup {
#define MBK_VALUE double
#define MBK_PATTERN 0
#define MBK_ROW_PTR mbk_i32
#define MBK_COLUMN mbk_i32
#define MBK_BASE 0
#define MBK_SETUP_LANES 8
#include "solve/precondition/setup.cu"
} // namespace setup

// Rows of 0 to 6 nonzeros in distant columns, most of them in few pages. Each 2048 nonzeros
// have 100 different values; with `more` they share none with the others.
struct small_matrix {
  enum : uint64_t { ROWS = 3000, COLS = 40000 };
  std::vector<mbk_i32> row_ptr{0}, col_ind;
  std::vector<double> values;

  explicit small_matrix(bool more = false) {
    for (uint64_t row = 0; row < ROWS; row++) {
      for (uint64_t k = 0; k < row * 5 % 7; k++) {
        col_ind.push_back((mbk_i32)((row * 7919 + k * 2048) % COLS));
        const size_t before = values.size();
        values.push_back((double)(before % 100 + (more ? before / 2048 * 100 : 0)));
      }
      row_ptr.push_back((mbk_i32)col_ind.size());
    }
  }
  mbk_u64 nnz() const {
    return col_ind.size();
  }
};

static void test_sample(void **) {
  const small_matrix m;
  const mbk_u64 rows = m.ROWS, nnz = m.nnz();
  for (uint64_t seed : simt_seeds) {
    mbk_u32 found[39] = {}, *const at_found = found;
    simt_run(SIMT_KERNEL(arrays::mbk_sample_columns), {"sample", "small", seed},
             {6, 1024, 12288 * 4}, m.row_ptr.data(), m.col_ind.data(), rows, nnz, 2u, 3u, 1u,
             at_found);
  }
}

// Finds forms for values that fit a table, and for values that fit one within every block but
// not together.
static void test_forms(void **) {
  for (const bool more : {false, true}) {
    const small_matrix m(more);
    const mbk_u64 rows = m.ROWS, nnz = m.nnz();
    for (uint64_t seed : simt_seeds) {
      const simt_case what = {"forms", more ? "many values" : "few values", seed};
      std::vector<mbk_u64> keys(512);
      std::vector<mbk_u8> number(512), shorter(nnz);
      mbk_u32 distinct = 0, against = 0, *const at_distinct = &distinct, *const told = &against;
      simt_run(SIMT_KERNEL(arrays::mbk_forms_sample), what, {3, 256, (4096 + 512) * 8 + 8},
               m.row_ptr.data(), m.col_ind.data(), m.values.data(), rows, nnz, 1u, keys.data(),
               at_distinct, told);
      simt_run(SIMT_KERNEL(arrays::mbk_forms_collect), what, {2, 256, 512 * 8}, m.values.data(),
               nnz, 1u, keys.data(), at_distinct, told);
      simt_run(SIMT_KERNEL(arrays::mbk_forms_number), what, {2, 256, 512 * 9}, m.values.data(),
               nnz, 1u, keys.data(), number.data(), shorter.data());
      const mbk_u32 TABLE = 1u << 4; // MBK_FORM_TABLE
      assert_int_equal(against & TABLE, more ? TABLE : 0);
    }
  }
}

// Extracts blocks with more chunks of counts than a turn has threads.
static void test_extract(void **) {
  for (uint64_t seed : simt_seeds) {
    const simt_case what = {"extract_blocks", "counts", seed};
    std::vector<mbk_u64> sums(2500, 3);
    std::vector<mbk_u32> counts(2000, 2);
    std::vector<mbk_i32> block_ptr(2001);
    const mbk_u64 chunks = sums.size(), block_rows = counts.size();
    simt_run(SIMT_KERNEL(extract::mbk_extract_sums), what, {1, 1024, 32 * 8}, sums.data(),
             chunks);
    simt_run(SIMT_KERNEL(extract::mbk_extract_offsets), what, {2, 256, 8 * 8}, counts.data(),
             sums.data(), block_rows, 0u, (void *)block_ptr.data());
  }
}

struct transpose_kernels {
  simt_kernel count, scan, move, starts;
};

// Runs a pass of the sort with more tiles than blocks, and more blocks to sum up than threads.
template <class P> static void check_transpose(const transpose_kernels &k, uint64_t seed) {
  const mbk_u64 nnz = 3 * 6144 + 100, chunk = 2 * 6144, cols = 256, many = 600;
  const unsigned threads = 512, blocks = 2, places = sizeof(P), sums = threads / 32 * places;
  const simt_case what = {sizeof(P) == 4 ? "places32" : "places64", "transpose", seed};
  std::vector<mbk_i32> keys(nnz), rows(nnz), keys_to(nnz), rows_to(nnz);
  std::vector<P> counts(cols * blocks), totals(cols), places_to(nnz), starts(cols + 1),
      more(many);
  const P *const none = nullptr;
  const mbk_u64 block_count = blocks;
  for (mbk_u64 i = 0; i < nnz; i++) {
    keys[i] = (mbk_i32)(i % 5 == 0 ? 7 : i * 7919 % cols); // equal keys within a warp, too
  }
  simt_run(k.count, what, {blocks, threads, 256 * 4}, keys.data(), 0u, nnz, 0u, 255u, chunk,
           counts.data());
  simt_run(k.scan, what, {256, threads, sums}, counts.data(), block_count, totals.data());
  simt_run(k.move, what, {blocks, threads, 256 * places + sums + 6144 * 5}, keys.data(), 0u,
           nnz, 0u, 255u, chunk, counts.data(), totals.data(), rows.data(), none,
           keys_to.data(), rows_to.data(), places_to.data());
  simt_run(k.starts, what, {4, threads, 2 * 8 + 6144 * 4}, keys_to.data(), nnz, cols,
           starts.data());
  simt_run(k.scan, what, {1, threads, sums}, more.data(), many, totals.data());
}

static void test_transpose(void **) {
#define KERNELS(space)                                                                         \
  {SIMT_KERNEL(space::mbk_transpose_count), SIMT_KERNEL(space::mbk_transpose_scan),            \
   SIMT_KERNEL(space::mbk_transpose_move), SIMT_KERNEL(space::mbk_transpose_starts)}
  check_transpose<mbk_i32>(KERNELS(places32), simt_seeds[0]);
  check_transpose<mbk_i64>(KERNELS(places64), simt_seeds[1]);
}

static void test_epilogue(void **) {
  const mbk_u64 rows = 3000;
  std::vector<float> y(rows, 1);
  std::vector<double> sums(2), parts(2 * 300);
  for (uint64_t seed : simt_seeds) {
    for (const unsigned blocks : {1u, 3u, 300u}) {
      mbk_u32 ticket = 0;
      epilogue::mbk_epilogue call = {};
      call.sums = sums.data();
      call.parts = parts.data();
      call.ticket = &ticket;
      simt_run(SIMT_KERNEL(epilogue::mbk_epilogue_rows), {"epilogue", "3000", seed},
               {blocks, 256, 128}, y.data(), y.data(), rows, 0, call);
    }
  }
}

// Sets up matrices with no, some and too many rows for a block to remember.
static void test_setup(void **) {
  for (const mbk_u64 long_rows : {0, 2, 65}) {
    const mbk_u64 n = 200;
    const mbk_u32 width = 2;
    std::vector<mbk_i32> row_ptr{0};
    for (mbk_u64 row = 0; row < n; row++) {
      row_ptr.push_back(row_ptr.back() + (row < long_rows ? 1025 : (mbk_i32)row % 5));
    }
    const std::vector<mbk_i32> col_ind((size_t)row_ptr.back());
    std::vector<double> values(col_ind.size());
    for (size_t k = 0; k < values.size(); k++) {
      values[k] = (double)k;
    }
    std::vector<double> blocks(n * width), norms(1);
    for (uint64_t seed : simt_seeds) {
      simt_run(SIMT_KERNEL(setup::mbk_setup_rows), {"setup", "long rows", seed},
               {1, 256, 256 * 8 + 64 * 8 + 4}, row_ptr.data(), col_ind.data(), values.data(), n,
               width, blocks.data(), norms.data());
    }
  }
}

const std::vector<CMUnitTest> races_of_builds = {
    cmocka_unit_test(test_sample),   cmocka_unit_test(test_forms),
    cmocka_unit_test(test_extract),  cmocka_unit_test(test_transpose),
    cmocka_unit_test(test_epilogue), cmocka_unit_test(test_setup),
};
