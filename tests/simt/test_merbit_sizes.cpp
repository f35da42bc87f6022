// The launch sizes in the tests of the MERBIT kernels equal the launcher's for all omega,
// sigma, threads and types.
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

extern "C" {
#include <cmocka.h>
}

#include "simt/merbit_forms.h"
#include "simt/merbit_sizes.h"

static merbit_plan plan;

static void check(merbit_type type, unsigned omega, unsigned sigma, unsigned threads) {
  const unsigned bits = SIMT_LOG2_CEILING(omega * sigma), steps = omega * sigma;
  test_plan_clear(&plan);
  plan.type = type;
  plan.desc.omega = (int)omega;
  plan.desc.sigma = (int)sigma;
  plan.desc.block_threads = (int)threads;
  plan.device.rows = 1000;
  plan.device.nnz = 12345;
  if (2 * bits + sigma > 64) { // the kernels have no such form
    return;
  }
  assert_int_equal(mbi_merbit_size(&plan), MERBIT_OK);
  const uint64_t tiles = (13345 + steps - 1) / steps, groups = threads / omega;
  assert_int_equal(mbi_merbit_of(&plan)->coordinate_bits, bits);
  assert_int_equal(mbi_merbit_of(&plan)->descriptor_bits, 2 * bits + sigma > 32 ? 64 : 32);
  assert_int_equal(mbi_merbit_of(&plan)->tile_bytes, 4);
  assert_int_equal(mbi_merbit_of(&plan)->tiles, tiles);
  assert_int_equal(mbi_merbit_of(&plan)->blocks, (tiles + groups - 1) / groups);
  assert_int_equal(mbi_merbit_product_shared(mbi_merbit_of(&plan), type),
                   merbit_product_shared(type == MERBIT_F32 ? 4 : 8, threads, omega, sigma));
  assert_int_equal(mbi_merbit_build_shared(mbi_merbit_of(&plan)),
                   merbit_build_shared(omega, sigma));
}

static void test_sizes(void **) {
  for (unsigned omega : {8u, 16u, 32u}) {
    for (unsigned sigma = 1; sigma <= 46; sigma++) {
      for (unsigned threads = 32; threads <= 1024; threads += 32) {
        check(MERBIT_F32, omega, sigma, threads);
        check(MERBIT_F64, omega, sigma, threads);
      }
    }
  }
  assert_int_equal(MBI_MERBIT_BUILD_THREADS, MERBIT_BUILD_THREADS);
  assert_int_equal(MBI_MERBIT_FIXUP_THREADS, MERBIT_FIXUP_THREADS);
}

// The lists of forms begin with those that plans use by default.
static void test_defaults(void **) {
  merbit_context context;
  memset(&context, 0, sizeof context);
  context.device.multiprocessors = 132;
  for (const merbit_type type : {MERBIT_F32, MERBIT_F64}) {
    for (const uint64_t rows : {UINT64_C(1000), UINT64_C(100000000)}) {
      test_plan_clear(&plan);
      plan.context = &context;
      plan.type = type;
      plan.device.rows = rows;
      plan.device.nnz = 3 * rows;
      assert_int_equal(mbi_merbit_size(&plan), MERBIT_OK);
      assert_int_equal(mbi_merbit_of(&plan)->omega, 32);
      assert_int_equal(mbi_merbit_of(&plan)->sigma, type == MERBIT_F32 ? 14 : 7);
      assert_int_equal(mbi_merbit_of(&plan)->threads, rows == 1000 ? 128 : 512);
    }
  }
}

int main() {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_defaults),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
