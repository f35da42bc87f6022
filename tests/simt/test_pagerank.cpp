// The PageRank kernels on the CPU: one iteration after another against the same sums in long
// double, under several schedules, which must not change a bit.
#include "jit/device.cuh"
#include "simt/runs.h"
#include "support/matrices.h"

#include <math.h>

#include <algorithm>
#include <limits>

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

enum { THREADS = 256, SHARED = 2 * THREADS * sizeof(double) };

struct single {
  typedef float value;
  static constexpr const char *name = "f32";
  static constexpr simt_kernel update = SIMT_KERNEL(f32::mbk_pagerank_update);
  static constexpr simt_kernel finish = SIMT_KERNEL(f32::mbk_pagerank_finish);
};
struct twice {
  typedef double value;
  static constexpr const char *name = "f64";
  static constexpr simt_kernel update = SIMT_KERNEL(f64::mbk_pagerank_update);
  static constexpr simt_kernel finish = SIMT_KERNEL(f64::mbk_pagerank_finish);
};
typedef f64::mbk_pagerank_state pagerank_state; // the same in both
static_assert(sizeof(f32::mbk_pagerank_state) == sizeof(pagerank_state), "of doubles and ints");

// What the GPU holds between two iterations.
template <class K> struct ranks {
  ranks(size_t n, unsigned blocks)
      : n(n), blocks(blocks), x(n, sizeof(typename K::value)), y(n, sizeof(typename K::value)),
        dangling(n, 1), partials(2 * blocks, sizeof(double), 0xff) {
    state.base = 0.15 / (double)n;
    state.change = -1;
    state.iterations = 7;
    state.stop = -1;
  }
  typename K::value *xs() const {
    return x.template as<typename K::value>();
  }
  typename K::value *ys() const {
    return y.template as<typename K::value>();
  }
  void copy(const ranks &from) {
    x.copy(from.x);
    y.copy(from.y);
    dangling.copy(from.dangling);
    partials.copy(from.partials);
    state = from.state;
  }
  bool same(const ranks &other) const {
    return x.same(other.x) && partials.same(other.partials) &&
           memcmp(&state, &other.state, sizeof state) == 0;
  }

  size_t n;
  unsigned blocks;
  simt_array x, y, dangling, partials;
  pagerank_state state;
};

static unsigned blocks_of(size_t n, unsigned most) {
  return (unsigned)std::min<size_t>((n + THREADS - 1) / THREADS, most);
}

template <class K> static void fill(ranks<K> &r, uint64_t seed) {
  for (size_t i = 0; i < r.n; i++) {
    r.xs()[i] = (typename K::value)((1.5 + test_uniform(&seed)) / (double)r.n);
    r.ys()[i] = (typename K::value)((1.5 + test_uniform(&seed)) / (double)r.n);
    r.dangling.template as<unsigned char>()[i] = test_random(&seed) % 3 == 0;
  }
}

template <class K>
static void iterate(ranks<K> &r, double tolerance, const char *matrix, uint64_t seed) {
  const double damping = 0.85;
  const uint64_t n = r.n;
  pagerank_state *const state = &r.state;
  simt_run(K::update, {K::name, matrix, seed}, {r.blocks, THREADS, SHARED}, r.x.get(),
           r.y.get(), r.dangling.get(), n, damping, state, r.partials.get());
  simt_run(K::finish, {K::name, matrix, seed}, {1, THREADS, SHARED}, r.partials.get(), r.blocks,
           n, damping, tolerance, state);
}

// One iteration from `before` under the schedules seed and seed + 1.
template <class K>
static void check_iteration(const ranks<K> &before, const char *matrix, uint64_t seed) {
  const size_t n = before.n;
  const long double u = std::numeric_limits<typename K::value>::epsilon() / 2.0L;
  const long double most = (long double)(n + 20) * 0x1p-53L; // of a sum of n doubles, relative
  ranks<K> after(n, before.blocks), again(n, before.blocks);
  long double change = 0, mass = 0;
  after.copy(before);
  again.copy(before);
  iterate(after, 0, matrix, seed);
  iterate(again, 0, matrix, seed + 1);
  assert_true(after.same(again));
  for (size_t i = 0; i < n; i++) {
    const long double rank =
        0.85L * (long double)before.ys()[i] + (long double)before.state.base;
    assert_true(fabsl((long double)after.xs()[i] - rank) <= (u + 4 * 0x1p-53L) * rank);
    change += fabsl((long double)after.xs()[i] - (long double)before.xs()[i]);
    mass += before.dangling.template as<unsigned char>()[i] ? (long double)after.xs()[i] : 0;
  }
  const long double base = (0.15L + 0.85L * mass) / (long double)n;
  assert_true(fabsl((long double)after.state.change - change) <= most * change);
  assert_true(fabsl((long double)after.state.base - base) <= most * base);
  assert_int_equal(after.state.iterations, 8);
  assert_int_equal(after.state.stop, -1);
}

// A vertex per row: those with empty rows dangle, y is the product with random ranks.
template <class K> static void check_matrix(const test_matrix &m, uint64_t seed) {
  ranks<K> r((size_t)m.rows, blocks_of((size_t)m.rows, seed % 3 == 0 ? 2 : 256));
  std::vector<double> product(r.n);
  fill(r, seed);
  for (size_t i = 0; i < r.n; i++) {
    const int64_t degree = m.row_ptr[i + 1] - m.row_ptr[i];
    r.dangling.template as<unsigned char>()[i] = degree == 0;
    for (int64_t k = m.row_ptr[i]; k < m.row_ptr[i + 1]; k++) {
      product[(size_t)m.col_ind[k] % r.n] += (double)r.xs()[i] / (double)degree;
    }
  }
  for (size_t i = 0; i < r.n; i++) {
    r.ys()[i] = (typename K::value)product[i];
  }
  check_iteration(r, m.name, seed);
}

template <class K> static void test_matrices(void **) {
  for (size_t s = 0; s < simt_seeds.size(); s += 2) {
    for (int index = 0; index < test_matrix_count(); index++) {
      test_matrix m;
      test_matrix_make(index, simt_seeds[s], &m);
      if (m.rows > 0) {
        check_matrix<K>(m, simt_seeds[s]);
      }
      test_matrix_free(&m);
    }
  }
}

template <class K> static void test_sizes(void **) {
  const struct {
    size_t n;
    unsigned most_blocks;
  } sizes[] = {{1, 256}, {256, 256}, {257, 256}, {1000, 256}, {1000, 1}, {2001, 3}};
  for (uint64_t seed : simt_seeds) {
    for (const auto &size : sizes) {
      ranks<K> r(size.n, blocks_of(size.n, size.most_blocks));
      fill(r, seed);
      check_iteration(r, "random ranks", seed);
    }
  }
}

// More blocks than threads that add up their parts: those of finish alone.
static void test_many_blocks(void **) {
  ranks<single> r(1000 * THREADS, 1000);
  long double change = 0;
  const double damping = 0.85, tolerance = 1e-10;
  const uint64_t n = r.n;
  pagerank_state *const state = &r.state;
  for (size_t i = 0; i < 2000; i++) {
    r.partials.as<double>()[i] = 1.0 / (double)(i + 1);
    change += i % 2 == 0 ? r.partials.as<double>()[i] : 0;
  }
  simt_run(single::finish, {"f32", "1000 blocks", 3}, {1, THREADS, SHARED}, r.partials.get(),
           r.blocks, n, damping, tolerance, state);
  assert_true(fabsl((long double)r.state.change - change) <= 20 * 0x1p-53L * change);
}

template <class K> static void test_stops(void **) {
  for (uint64_t seed : simt_seeds) {
    ranks<K> r(700, 2), before(700, 2);
    fill(r, seed);
    for (size_t i = 0; i < r.n; i++) { // a fixed point
      r.xs()[i] = (typename K::value)(0.85 * (double)r.ys()[i] + r.state.base);
    }
    iterate(r, 1e-10, "fixed point", seed);
    assert_int_equal(r.state.stop, 0);
    assert_int_equal(r.state.iterations, 8);
    before.copy(r);
    r.ys()[3] = 1; // iterations that were enqueued ahead change nothing
    iterate(r, 1e-10, "fixed point", seed);
    iterate(r, 1e-10, "fixed point", seed);
    assert_true(r.same(before));
    for (double value : {(double)NAN, (double)INFINITY, -(double)INFINITY}) {
      ranks<K> bad(700, 2);
      fill(bad, seed);
      bad.ys()[699] = (typename K::value)value;
      iterate(bad, 1e-10, "not finite", seed);
      assert_int_equal(bad.state.stop, 3);
      assert_int_equal(bad.state.iterations, 8);
      for (size_t i = 0; i < 699; i++) { // in its own row only
        assert_true(isfinite(bad.xs()[i]));
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_matrices<single>), cmocka_unit_test(test_matrices<twice>),
      cmocka_unit_test(test_sizes<single>),    cmocka_unit_test(test_sizes<twice>),
      cmocka_unit_test(test_many_blocks),      cmocka_unit_test(test_stops<single>),
      cmocka_unit_test(test_stops<twice>),
  };
  return cmocka_run_group_tests(tests, nullptr, simt_runs_report);
}
