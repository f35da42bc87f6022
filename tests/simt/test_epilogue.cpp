// The epilogue kernel, which runs after a product: it takes every row once, computes the sums,
// leaves the ticket unchanged, touches nothing if it is skipped, and writes y only if there is
// a result. The vectors hold small whole numbers, so that any order gives the same sums, and
// lie at multiples of 16 bytes or not.
#include "jit/device.cuh"
#include "simt/runs.h"

#include <math.h>

#pragma GCC diagnostic push // macros that an epilogue does not use
#pragma GCC diagnostic ignored "-Wunused-parameter"
namespace result_f64 {
#define MBK_VECTOR double
#define MBK_COMPUTE double
#define MBK_EPILOGUE_VECTORS 2
#define MBK_EPILOGUE_SCALARS 1
#define MBK_EPILOGUE_RESULT (mbk_multiply(in_ax, in_s0) - in_v1)
#define MBK_EPILOGUE_SUM0 mbk_multiply(in_v0, in_ax)
#define MBK_EPILOGUE_SUM1 (in_y + in_row)
#include "spmv/shared/epilogue.cu"
static const simt_kernel kernel = SIMT_KERNEL(mbk_epilogue_rows);
#include "simt/undefine.h"
} // namespace result_f64

namespace result_f32 {
#define MBK_VECTOR float
#define MBK_COMPUTE float
#define MBK_EPILOGUE_VECTORS 2
#define MBK_EPILOGUE_SCALARS 1
#define MBK_EPILOGUE_RESULT (mbk_multiply(in_ax, in_s0) - in_v1)
#define MBK_EPILOGUE_SUM0 mbk_multiply(in_v0, in_ax)
#define MBK_EPILOGUE_SUM1 (in_y + in_row)
#include "spmv/shared/epilogue.cu"
static const simt_kernel kernel = SIMT_KERNEL(mbk_epilogue_rows);
#include "simt/undefine.h"
} // namespace result_f32

namespace after_f64 {
#define MBK_VECTOR double
#define MBK_COMPUTE double
#define MBK_EPILOGUE_VECTORS 2
#define MBK_EPILOGUE_SCALARS 1
#define MBK_EPILOGUE_RESULT (mbk_multiply(in_ax, in_s0) - in_v1)
#define MBK_EPILOGUE_SUM0 mbk_multiply(in_v0, in_ax)
#define MBK_EPILOGUE_SUM1 (in_y + in_row)
#define MBK_EPILOGUE_AFTER "simt/epilogue_after.h"
#include "spmv/shared/epilogue.cu"
static const simt_kernel kernel = SIMT_KERNEL(mbk_epilogue_rows);
#include "simt/undefine.h"
} // namespace after_f64

namespace second_f32 {
#define MBK_VECTOR float
#define MBK_COMPUTE float
#define MBK_EPILOGUE_VECTORS 0
#define MBK_EPILOGUE_SCALARS 0
#define MBK_EPILOGUE_SUM1 (in_y + in_row)
#include "spmv/shared/epilogue.cu"
static const simt_kernel kernel = SIMT_KERNEL(mbk_epilogue_rows);
#include "simt/undefine.h"
} // namespace second_f32

namespace no_sums_f64 {
#define MBK_VECTOR double
#define MBK_COMPUTE double
#define MBK_EPILOGUE_VECTORS 2
#define MBK_EPILOGUE_SCALARS 1
#define MBK_EPILOGUE_RESULT (mbk_multiply(in_ax, in_s0) - in_v1)
#include "spmv/shared/epilogue.cu"
static const simt_kernel kernel = SIMT_KERNEL(mbk_epilogue_rows);
#include "simt/undefine.h"
} // namespace no_sums_f64
#pragma GCC diagnostic pop

struct epilogue_form {
  const char *name;
  const simt_kernel &kernel;
  size_t bytes;
  bool writes, first, second;
};
static const epilogue_form forms[] = {
    {"result_f64", result_f64::kernel, 8, true, true, true},
    {"result_f32", result_f32::kernel, 4, true, true, true},
    {"second_f32", second_f32::kernel, 4, false, false, true},
    {"no_sums_f64", no_sums_f64::kernel, 8, true, false, false},
    {"after_f64", after_f64::kernel, 8, true, true, true}};

struct epilogue_call { // stands for mbk_epilogue
  const void *vectors[6], *scalars, *sums, *skip, *parts, *ticket, *after;
};

// Returns row i of the product; below, that of the vectors.
static int product_at(uint64_t i) {
  return (int)(i % 11) - 5;
}
static int first_at(uint64_t i) {
  return (int)(i % 7) - 3;
}
static int second_at(uint64_t i) {
  return (int)(i % 5);
}
static int result_at(const epilogue_form &f, uint64_t i) {
  return f.writes ? 2 * product_at(i) - second_at(i) : product_at(i);
}

template <class V> void fill(const simt_array &array, int (*at)(uint64_t)) {
  for (size_t i = 0; i < array.count; i++) {
    array.as<V>()[i] = (V)at(i);
  }
}

// Runs without a skip flag, with a flag of 0, and skipped, when no vector may be read. The
// product is in y or in another vector.
template <class V>
void check(const epilogue_form &f, uint64_t rows, unsigned grid, size_t shift, bool in_place,
           uint64_t seed) {
  simt_array product(rows, sizeof(V), 0, shift), y(rows, sizeof(V), 0xff, shift);
  simt_array v0(rows, sizeof(V), 0, shift), v1(rows, sizeof(V), 0, shift), scalars(1, 8);
  simt_array sums(2, 8, 0xff), told(1, 4), parts(2 * grid, 8, 0xff), ticket(1, 4);
  const std::string size = std::to_string(rows) + (shift ? " off" : "");
  double want[2] = {0, 0};
  fill<V>(v0, first_at);
  fill<V>(v1, second_at);
  for (uint64_t i = 0; i < rows; i++) {
    want[0] += f.first ? first_at(i) * product_at(i) : 0;
    want[1] += f.second ? result_at(f, i) + (double)i : 0;
  }
  for (int turn = 0; turn < 3; turn++) {
    simt_array &from = in_place ? y : product;
    after_f64::epilogue_after after = {scalars.as<double>(), {0, 0}, told.as<int>(), 0};
    epilogue_call call = {
        {v0.get(), v1.get()}, scalars.get(), sums.get(), turn == 0 ? nullptr : told.get(),
        parts.get(),          ticket.get(),  &after};
    scalars.as<double>()[0] = 2;
    told.as<int>()[0] = turn == 2 ? -1 : 0;
    memset(y.get(), 0xff, rows * sizeof(V));
    memset(sums.get(), 0xff, 16);
    fill<V>(from, product_at);
    if (turn == 2) {
      v0.forbid();
      v1.forbid();
      from.forbid();
    }
    {
      const simt_late_guard late({&from, &y, &v0, &v1, &scalars, &told, &sums, &parts, &ticket});
      simt_run(f.kernel, {f.name, size.c_str(), seed + (uint64_t)turn}, {grid, 256, 128},
               from.get(), y.get(), rows, (int)(shift == 0), call);
    }
    v0.allow();
    v1.allow();
    from.allow();
    for (uint64_t i = 0; i < rows; i++) {
      if (turn == 2 ? in_place : f.writes || in_place) {
        assert_true(y.as<V>()[i] == (V)(turn == 2 ? product_at(i) : result_at(f, i)));
      } else {
        assert_true(isnan(y.as<V>()[i]));
      }
    }
    for (int k = 0; k < 2; k++) {
      const double sum = sums.as<double>()[k];
      assert_true(turn == 2 ? isnan(sum) : sum == want[k]);
      assert_true(after.calls == 0 || after.sums[k] == want[k]);
    }
    assert_int_equal(after.calls, &f.kernel == &after_f64::kernel && turn < 2);
    assert_int_equal(ticket.load(0), 0);
  }
}

// From no rows to more than a round of the grid; with the host's number of blocks and with
// fewer.
static void test_rows(void **) {
  static const uint64_t counts[] = {0,   1,   2,   3,    4,    5,    255,
                                    511, 512, 513, 1024, 1027, 2000, 3000};
  static const unsigned grids[] = {1, 2, 3};
  uint64_t seed = simt_seeds.back();
  for (const epilogue_form &f : forms) {
    for (uint64_t count : counts) {
      for (int at = 0; at < 4; at++, seed++) {
        const uint64_t rows =
            count + (count > 1024 ? (uint64_t)(&f - &forms[0]) * 7 + (uint64_t)at : 0);
        const unsigned grid = grids[seed % 3];
        f.bytes == 4 ? check<float>(f, rows, grid, (size_t)(at & 1), at & 2, seed)
                     : check<double>(f, rows, grid, (size_t)(at & 1), at & 2, seed);
      }
    }
  }
}

// The last block adds up the sums of more blocks than it has threads.
static void test_blocks(void **) {
  check<double>(forms[0], 3000, 259, 0, true, 1);
  check<float>(forms[2], 257 * 4 * 256 + 3, 258, 0, true, 2);
}

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_blocks)};
  return cmocka_run_group_tests(tests, nullptr, simt_runs_report);
}
