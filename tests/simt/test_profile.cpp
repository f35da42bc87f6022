// The kernels that measure the GPU: a copy copies every byte, gathers read all of x and nothing
// else, and each load of a chase waits for the one before.
#include "jit/device.cuh"
#include "simt/runs.h"
#include "support/matrices.h"

namespace profile {
#include "jit/profile.cu"
} // namespace profile

enum { THREADS = 256, SIZES = 64 };

static std::string name_of(size_t size) {
  return std::to_string(size) + " elements";
}

static void check_copy(size_t packs, uint64_t seed) {
  const simt_array from(4 * packs, 4), to(4 * packs, 4, 0xff);
  const mbk_u64 count = packs;
  for (size_t i = 0; i < from.count; i++) {
    from.as<mbk_u32>()[i] = (mbk_u32)i * 2654435761u;
  }
  simt_run(SIMT_KERNEL(profile::mbk_profile_copy), {"copy", name_of(packs).c_str(), seed},
           {1 + (unsigned)seed % 2, THREADS, 0}, from.get(), to.get(), count);
  assert_true(to.same(from));
}

// With `planted` one element is not zero; enough gathers find it.
template <class T>
static void check_gather(const simt_kernel &kernel, size_t elements, uint64_t seed) {
  for (int planted = 0; planted < 2; planted++) {
    const simt_array x(elements, sizeof(T));
    mbk_u32 found = 0, *const sum = &found;
    const mbk_u32 size = (mbk_u32)elements, count = 16;
    if (planted) {
      x.as<T>()[seed * 7 % elements] = 1;
    }
    simt_run(kernel, {"gather", name_of(elements).c_str(), seed}, {2, THREADS, 0}, x.get(), size,
             count, sum);
    assert_int_equal(found, planted);
  }
}

// x holds the index of the next element.
static void check_chase(size_t elements, uint64_t seed) {
  const simt_array x(elements, 4);
  const mbk_u32 size = (mbk_u32)elements, steps = 50, first = (mbk_u32)seed;
  mbk_u32 found = 0, expected = 0, *const end = &found;
  for (size_t i = 0; i < elements; i++) {
    x.as<mbk_u32>()[i] = (mbk_u32)(i * i + seed);
  }
  for (mbk_u32 i = 0; i < steps; i++) {
    expected = x.as<mbk_u32>()[profile::mbk_profile_place(first + i + expected, size)];
  }
  simt_run(SIMT_KERNEL(profile::mbk_profile_chase), {"chase", name_of(elements).c_str(), seed},
           {1, 1, 0}, x.get(), size, steps, first, end);
  assert_int_equal(found, expected);
}

static void test_profile(void **) {
  for (uint64_t seed : simt_seeds) {
    for (size_t size = 1; size <= SIZES; size++) {
      check_copy(size * size, seed);
      check_gather<float>(SIMT_KERNEL(profile::mbk_profile_gather_f32), size * 5, seed);
      check_gather<double>(SIMT_KERNEL(profile::mbk_profile_gather_f64), size * 5, seed);
      check_chase(size * 11, seed);
    }
  }
}

// Gathers are spread evenly: no sixteenth of x gets more than 1.1 times its share.
static void test_places(void **) {
  std::vector<int> parts(16);
  for (mbk_u32 i = 0; i < 160000; i++) {
    parts[profile::mbk_profile_place(i, 1000003) * 16ull / 1000003]++;
  }
  for (int part : parts) {
    assert_in_range(part, 9000, 11000);
  }
}

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(test_profile), cmocka_unit_test(test_places)};
  return cmocka_run_group_tests_name("profile", tests, nullptr, simt_runs_report);
}
