// Permutation of vectors and back, and of values, against simple loops.
#include "jit/device.cuh"
#include "simt/runs.h"
#include "support/matrices.h"

struct reorder_form {
  const char *name;
  unsigned vector_bytes, place_bytes;
  simt_kernel gather, scatter, values;
};

#define FORM(space)                                                                            \
  {                                                                                            \
#space, sizeof(MBK_VECTOR), sizeof(MBK_PLACE), SIMT_KERNEL(space::mbk_reorder_gather),     \
        SIMT_KERNEL(space::mbk_reorder_scatter), SIMT_KERNEL(space::mbk_reorder_values)        \
  }

#define MBK_VECTOR float
#define MBK_VALUE float
#define MBK_PLACE mbk_i64
namespace f32_places64 {
#include "spmv/stages/reorder.cu"
static const reorder_form form = FORM(f32_places64);
} // namespace f32_places64
#undef MBK_VECTOR
#undef MBK_VALUE
#undef MBK_PLACE
#define MBK_VECTOR double
#define MBK_VALUE double
#define MBK_PLACE mbk_i32
namespace f64_places32 {
#include "spmv/stages/reorder.cu"
static const reorder_form form = FORM(f64_places32);
} // namespace f64_places32
#include "simt/undefine.h"

static const reorder_form forms[] = {f32_places64::form, f64_places32::form};

// Permutes `count` numbers at random, on a grid that may be smaller.
template <class V>
static void check(const reorder_form &f, const char *name, uint64_t count, unsigned blocks,
                  uint64_t seed) {
  simt_array order(count, 4), places(count, f.place_bytes);
  const simt_array from(count, sizeof(V)), to(count, sizeof(V), 0xff),
      back(count, sizeof(V), 0xff), moved(count, sizeof(V), 0xff);
  uint64_t random = seed;
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t j = (uint64_t)test_below(&random, (int64_t)i + 1);
    order.store(i, order.load(j));
    order.store(j, i);
    from.as<V>()[i] = (V)(i + 1);
  }
  for (uint64_t i = 0; i < count; i++) {
    places.store(i, order.load(i));
  }
  simt_run(f.gather, {f.name, name, seed}, {blocks, 256, 0}, order.get(), from.get(), to.get(),
           count);
  simt_run(f.scatter, {f.name, name, seed}, {blocks, 256, 0}, order.get(), to.get(), back.get(),
           count);
  simt_run(f.values, {f.name, name, seed}, {blocks, 256, 0}, places.get(), from.get(),
           moved.get(), count);
  for (uint64_t i = 0; i < count; i++) {
    assert_true(to.as<V>()[i] == (V)(order.load(i) + 1));
    assert_true(back.as<V>()[i] == (V)(i + 1));
    assert_true(moved.as<V>()[i] == to.as<V>()[i]);
  }
}

static void test_form(void **state) {
  const reorder_form &f = *(const reorder_form *)*state;
  for (uint64_t seed : {simt_seeds[0], simt_seeds[1]}) {
    for (int index = 0; index < test_matrix_count(); index++) {
      test_matrix m;
      test_matrix_make(index, seed, &m);
      const uint64_t count = (uint64_t)m.rows;
      const unsigned blocks = (unsigned)(index % 3 == 0 ? count / 700 + 1 : count / 256 + 1);
      if (f.vector_bytes == 4) {
        check<float>(f, m.name, count, blocks, seed);
      } else {
        check<double>(f, m.name, count, blocks, seed);
      }
      test_matrix_free(&m);
    }
  }
}

int main() {
  std::vector<CMUnitTest> tests;
  for (const reorder_form &f : forms) {
    tests.push_back({f.name, test_form, nullptr, nullptr, (void *)&f});
  }
  return _cmocka_run_group_tests("reorder", tests.data(), tests.size(), nullptr,
                                 simt_runs_report);
}
