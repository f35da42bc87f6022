// The PageRank kernels on the CPU: one iteration after another against the same sums in long
// double, under several schedules, which must not change a bit.
#include "jit/device.cuh"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <algorithm>
#include <limits>

extern "C" {
#include <cmocka.h>
}

#include "simt/seeds.h"
#include "support/matrices.h"

namespace f32 {
#define MBK_VECTOR float
#include "solve/pagerank.cu"
#undef MBK_VECTOR
} // namespace f32
namespace f64 {
#define MBK_VECTOR double
#include "solve/pagerank.cu"
#undef MBK_VECTOR
} // namespace f64

struct single {
  typedef float value;
  typedef f32::mbk_pagerank_state state;
  template <class... T> static void update(T... arguments) {
    f32::mbk_pagerank_update(arguments...);
  }
  template <class... T> static void finish(T... arguments) {
    f32::mbk_pagerank_finish(arguments...);
  }
};
struct twice {
  typedef double value;
  typedef f64::mbk_pagerank_state state;
  template <class... T> static void update(T... arguments) {
    f64::mbk_pagerank_update(arguments...);
  }
  template <class... T> static void finish(T... arguments) {
    f64::mbk_pagerank_finish(arguments...);
  }
};

enum { THREADS = 256, SHARED = 2 * THREADS * sizeof(double) };

// What the GPU holds between two iterations.
template <class K> struct ranks {
  std::vector<typename K::value> x, y;
  std::vector<unsigned char> dangling;
  std::vector<double> partials;
  typename K::state state;
  unsigned blocks;
};

template <class K> static ranks<K> make(size_t n, unsigned most_blocks, uint64_t seed) {
  ranks<K> r;
  uint64_t random = seed;
  r.blocks = (unsigned)std::min<size_t>((n + THREADS - 1) / THREADS, most_blocks);
  for (size_t i = 0; i < n; i++) {
    r.x.push_back((typename K::value)((1.5 + test_uniform(&random)) / (double)n));
    r.y.push_back((typename K::value)((1.5 + test_uniform(&random)) / (double)n));
    r.dangling.push_back(test_random(&random) % 3 == 0);
  }
  r.partials.assign(2 * r.blocks, NAN);
  r.state.base = 0.15 / (double)n;
  r.state.change = -1;
  r.state.iterations = 7;
  r.state.stop = -1;
  return r;
}

template <class K> static void iterate(ranks<K> &r, double tolerance, uint64_t seed) {
  simt_launch("mbk_pagerank_update", r.blocks, THREADS, SHARED, seed, [&] {
    K::update(r.x.data(), r.y.data(), r.dangling.data(), (mbk_u64)r.x.size(), 0.85, &r.state,
              r.partials.data());
  });
  simt_launch("mbk_pagerank_finish", 1, THREADS, SHARED, seed, [&] {
    K::finish(r.partials.data(), r.blocks, (mbk_u64)r.x.size(), 0.85, tolerance, &r.state);
  });
}

template <class K> static bool same(const ranks<K> &a, const ranks<K> &b) {
  const size_t bytes = a.x.size() * sizeof a.x[0];
  return memcmp(a.x.data(), b.x.data(), bytes) == 0 &&
         memcmp(&a.state, &b.state, sizeof a.state) == 0 &&
         memcmp(a.partials.data(), b.partials.data(), a.partials.size() * sizeof(double)) == 0;
}

template <class K> static void check_iteration(size_t n, unsigned most_blocks, uint64_t seed) {
  const ranks<K> before = make<K>(n, most_blocks, seed);
  const long double u = std::numeric_limits<typename K::value>::epsilon() / 2.0L;
  const long double most = (long double)(n + 20) * 0x1p-53L; // of a sum of n doubles, relative
  ranks<K> after = before, again = before;
  long double change = 0, mass = 0;
  iterate(after, 1e-10, seed);
  iterate(again, 1e-10, seed + 1000); // another schedule
  assert_true(same(after, again));
  for (size_t i = 0; i < n; i++) {
    const long double rank = 0.85L * (long double)before.y[i] + (long double)before.state.base;
    assert_true(fabsl((long double)after.x[i] - rank) <= (u + 4 * 0x1p-53L) * rank);
    change += fabsl((long double)after.x[i] - (long double)before.x[i]);
    mass += before.dangling[i] ? (long double)after.x[i] : 0;
  }
  const long double base = (0.15L + 0.85L * mass) / (long double)n;
  assert_true(fabsl((long double)after.state.change - change) <= most * change);
  assert_true(fabsl((long double)after.state.base - base) <= most * base);
  assert_int_equal(after.state.iterations, 8);
  assert_int_equal(after.state.stop, -1);
}

template <class K> static void check_stops(uint64_t seed) {
  ranks<K> r = make<K>(700, 2, seed), before;
  for (size_t i = 0; i < r.x.size(); i++) { // a fixed point
    r.x[i] = (typename K::value)(0.85 * (double)r.y[i] + r.state.base);
  }
  iterate(r, 1e-10, seed);
  assert_int_equal(r.state.stop, 0);
  assert_int_equal(r.state.iterations, 8);
  before = r;
  r.y[3] = 1; // iterations that were enqueued ahead change nothing
  iterate(r, 1e-10, seed);
  iterate(r, 1e-10, seed);
  assert_true(same(r, before));
  const double bad[] = {NAN, INFINITY, -INFINITY};
  for (double value : bad) {
    r = make<K>(700, 2, seed);
    r.y[699] = (typename K::value)value;
    iterate(r, 1e-10, seed);
    assert_int_equal(r.state.stop, 3);
    assert_int_equal(r.state.iterations, 8);
  }
}

static void test_iterations(void **) {
  for (uint64_t seed : simt_seeds()) {
    for (size_t n : {1, 256, 257, 1000}) {
      check_iteration<single>(n, 1024, seed);
      check_iteration<twice>(n, 1024, seed);
    }
    check_iteration<single>(1000, 1, seed); // threads that take several vertices
    check_iteration<twice>(2001, 3, seed);
  }
}

// More blocks than threads that add up their parts: those of finish alone.
static void test_many_blocks(void **) {
  ranks<single> r = make<single>(1000 * THREADS, 1000, 3);
  long double change = 0;
  for (size_t i = 0; i < r.partials.size(); i++) {
    r.partials[i] = 1.0 / (double)(i + 1);
    change += i % 2 == 0 ? r.partials[i] : 0;
  }
  simt_launch("mbk_pagerank_finish", 1, THREADS, SHARED, 3, [&] {
    single::finish(r.partials.data(), r.blocks, (mbk_u64)r.x.size(), 0.85, 1e-10, &r.state);
  });
  assert_true(fabsl((long double)r.state.change - change) <= 20 * 0x1p-53L * change);
}

static void test_stops(void **) {
  for (uint64_t seed : simt_seeds()) {
    check_stops<single>(seed);
    check_stops<twice>(seed);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_iterations),
      cmocka_unit_test(test_many_blocks),
      cmocka_unit_test(test_stops),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
