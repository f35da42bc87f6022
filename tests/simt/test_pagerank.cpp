// The PageRank kernels on the CPU: the start, and one iteration with the dual-buffer commit,
// against the same sums in long double under several schedules, whose results must have the
// same bits. Iterations within products are tested with epilogues.
#include <complex> // before jit/device.cuh, whose macros would break it

#include "jit/device.cuh"
#include "simt/runs.h"
#include "support/matrices.h"

#include <math.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

namespace f32 {
#define MBK_VECTOR float
#define MBK_ROW_PTR mbk_i32
#include "solve/pagerank/pagerank.cu"
#undef MBK_VECTOR
#undef MBK_ROW_PTR
} // namespace f32
#undef MBS_FUNCTION
namespace f64 {
#define MBK_VECTOR double
#define MBK_ROW_PTR mbk_i64
#include "solve/pagerank/pagerank.cu"
#undef MBK_VECTOR
#undef MBK_ROW_PTR
} // namespace f64
#undef MBS_FUNCTION
#undef MBS_CALLED
namespace behind {
#include "solve/pagerank/after.cuh"
MBK_KERNEL mbk_decide(mbi_solve_memory *m) { // runs as the last thread of an epilogue
  mbk_epilogue_after(m, m->state.product_sums[0], m->state.product_sums[1]);
}
} // namespace behind
static const simt_kernel decide = SIMT_KERNEL(behind::mbk_decide);

enum { THREADS = 256, SHARED = 2 * THREADS * sizeof(double) };

struct single {
  typedef float value;
  typedef int32_t offset;
  static constexpr const char *name = "f32";
  static constexpr simt_kernel weigh = SIMT_KERNEL(f32::mbk_pagerank_weigh);
  static constexpr simt_kernel begin = SIMT_KERNEL(f32::mbk_pagerank_begin);
  static constexpr simt_kernel first = SIMT_KERNEL(f32::mbk_pagerank_first);
  static constexpr simt_kernel update = SIMT_KERNEL(f32::mbk_pagerank_update);
  static constexpr simt_kernel finish = SIMT_KERNEL(f32::mbk_pagerank_finish);
  static constexpr simt_kernel end = SIMT_KERNEL(f32::mbk_pagerank_end);
};
struct twice {
  typedef double value;
  typedef int64_t offset;
  static constexpr const char *name = "f64";
  static constexpr simt_kernel weigh = SIMT_KERNEL(f64::mbk_pagerank_weigh);
  static constexpr simt_kernel begin = SIMT_KERNEL(f64::mbk_pagerank_begin);
  static constexpr simt_kernel first = SIMT_KERNEL(f64::mbk_pagerank_first);
  static constexpr simt_kernel update = SIMT_KERNEL(f64::mbk_pagerank_update);
  static constexpr simt_kernel finish = SIMT_KERNEL(f64::mbk_pagerank_finish);
  static constexpr simt_kernel end = SIMT_KERNEL(f64::mbk_pagerank_end);
};
typedef f64::mbi_solve_memory solve_memory; // the same type in both
static_assert(sizeof(f32::mbi_solve_memory) == sizeof(solve_memory), "of doubles and ints");

// The GPU's data between two iterations.
template <class K> struct ranks {
  typedef typename K::value value;
  ranks(size_t n, unsigned blocks)
      : n(n), blocks(blocks), z(n, sizeof(value)), y(n, sizeof(value)),
        weights(n, sizeof(value)), teleport(n, sizeof(value)),
        partials(2 * blocks, sizeof(double), 0xff), memory(new solve_memory()) {
    double *scalar = memory->state.scalar;
    scalar[MBI_PAGERANK_DAMPING] = 0.85;
    scalar[MBI_PAGERANK_BASE] = 0.15 / (double)n;
    scalar[MBI_PAGERANK_SUM] = (double)n;
    scalar[MBI_PAGERANK_LEAST] = 1e300;
    scalar[MBI_PAGERANK_RELAX] = scalar[MBI_PAGERANK_MOST] = 1;
    memory->state.iterations = 7;
    memory->state.cap = 1000;
    memory->state.stop = MBI_SOLVE_RUNNING;
  }
  value *at(const simt_array &array) const {
    return array.template as<value>();
  }
  void copy(const ranks &from) {
    z.copy(from.z);
    y.copy(from.y);
    weights.copy(from.weights);
    teleport.copy(from.teleport);
    partials.copy(from.partials);
    *memory = *from.memory;
    personal = from.personal;
  }
  bool same(const ranks &other) const {
    return z.same(other.z) && partials.same(other.partials) &&
           memcmp(memory.get(), other.memory.get(), sizeof *memory) == 0;
  }
  double weight(size_t i) const {
    return fabs((double)at(weights)[i]);
  }
  bool dangles(size_t i) const {
    return at(weights)[i] < 0;
  }

  size_t n;
  unsigned blocks;
  simt_array z, y, weights, teleport, partials;
  std::unique_ptr<solve_memory> memory;
  bool personal = false;
};

static unsigned blocks_of(size_t n, unsigned most) {
  return (unsigned)std::min<size_t>((n + THREADS - 1) / THREADS, most);
}

template <class K> static void fill(ranks<K> &r, uint64_t seed) {
  r.personal = seed % 2 == 0;
  r.memory->state.scalar[MBI_PAGERANK_SUM] = r.personal ? 1 : (double)r.n;
  for (size_t i = 0; i < r.n; i++) {
    r.at(r.z)[i] = (typename K::value)((1.5 + test_uniform(&seed)) / (double)r.n);
    r.at(r.y)[i] = (typename K::value)((1.5 + test_uniform(&seed)) / (double)r.n);
    r.at(r.weights)[i] = test_random(&seed) % 3 == 0
                             ? (typename K::value) - 1
                             : (typename K::value)(1.5 + test_uniform(&seed));
    r.at(r.teleport)[i] = (typename K::value)(i % 4 == 0 ? 0 : 1.5 + test_uniform(&seed));
  }
}

template <class K> static void iterate(ranks<K> &r, const char *matrix, uint64_t seed) {
  const uint64_t n = r.n;
  solve_memory *const memory = r.memory.get();
  simt_run(K::update, {K::name, matrix, seed}, {r.blocks, THREADS, SHARED}, r.z.get(),
           r.y.get(), r.weights.get(), r.personal ? r.teleport.get() : nullptr, n, memory,
           r.partials.get());
  simt_run(K::finish, {K::name, matrix, seed}, {1, THREADS, SHARED}, r.partials.get(), r.blocks,
           memory);
}

// Runs one iteration from `before` under the schedules seed and seed + 1.
template <class K>
static void check_iteration(const ranks<K> &before, const char *matrix, uint64_t seed) {
  const size_t n = before.n;
  const long double u = std::numeric_limits<typename K::value>::epsilon() / 2.0L;
  const long double most = (long double)(n + 20) * 0x1p-53L; // of a sum of n doubles, relative
  const long double was = (long double)before.memory->state.scalar[MBI_PAGERANK_BASE];
  ranks<K> after(n, before.blocks), again(n, before.blocks);
  long double change = 0, mass = 0;
  after.copy(before);
  again.copy(before);
  iterate(after, matrix, seed);
  iterate(again, matrix, seed + 1);
  assert_true(after.same(again));
  for (size_t i = 0; i < n; i++) {
    const long double share = before.personal ? (long double)before.at(before.teleport)[i] : 1;
    const long double next =
        (0.85L * (long double)before.at(before.y)[i] + was * share) / before.weight(i);
    const long double found = (long double)after.at(after.z)[i];
    assert_true(fabsl(found - next) <= (u + 5 * 0x1p-53L) * next);
    change += fabsl(found - (long double)before.at(before.z)[i]) * before.weight(i);
    mass += before.dangles(i) ? found : 0;
  }
  const solve_memory &memory = *after.memory;
  const long double base =
      (0.15L + 0.85L * mass) / (long double)memory.state.scalar[MBI_PAGERANK_SUM];
  assert_true(fabsl((long double)memory.state.rr - change) <= most * change);
  assert_true(fabsl((long double)memory.state.scalar[MBI_PAGERANK_BASE] - base) <= most * base);
  assert_int_equal(memory.state.iterations, 8);
  assert_true(memory.ring[8] == memory.state.rr);
  assert_int_equal(memory.state.stop, MBI_SOLVE_RUNNING);
  assert_int_equal(memory.state.closed, 0);
}

// An iteration with the matrix's values as weights, and one whose sums come with the product.
template <class K> static void check_middle(const test_matrix &m, uint64_t seed) {
  ranks<K> r((size_t)m.rows, blocks_of((size_t)m.rows, seed % 3 == 0 ? 2 : 256));
  solve_memory *const memory = r.memory.get();
  fill(r, seed);
  for (size_t i = 0; i < r.n; i++) {
    const int64_t degree = m.row_ptr[i + 1] - m.row_ptr[i];
    r.at(r.weights)[i] = (typename K::value)(degree > 0 ? degree : -1);
  }
  check_iteration(r, m.name, seed);
  memory->state.product_sums[0] = 0.5;
  memory->state.product_sums[1] = 0.25;
  simt_run(decide, {K::name, m.name, seed}, {1, 1, 0}, memory);
  assert_int_equal(memory->state.iterations, 8);
  assert_true(memory->ring[8] == 0.5);
}

// Weights of a pattern, the first ranks from them, and the final ranks.
template <class K> static void check_ends(const test_matrix &m, uint64_t seed) {
  typedef typename K::value value;
  const uint64_t n = (uint64_t)m.rows;
  const long double u = std::numeric_limits<value>::epsilon() / 2.0L;
  ranks<K> r(n, blocks_of(n, 3));
  const int32_t given = seed % 2 == 0;
  const unsigned blocks = r.blocks;
  std::vector<typename K::offset> row_ptr(m.row_ptr, m.row_ptr + m.rows + 1);
  std::vector<long double> start(n);
  solve_memory *const memory = r.memory.get();
  long double mass = 0, count = 0;
  fill(r, seed);
  simt_run(K::weigh, {K::name, m.name, seed}, {blocks, THREADS, 0}, r.weights.get(),
           row_ptr.data(), n);
  for (size_t i = 0; i < n; i++) {
    const int64_t degree = m.row_ptr[i + 1] - m.row_ptr[i];
    assert_true(r.at(r.weights)[i] == (value)(degree > 0 ? degree : -1));
    start[i] = given ? (long double)r.at(r.z)[i] : (long double)(value)(1.0 / (double)n);
    if (!given) {
      r.at(r.z)[i] = (value)NAN; // not read
    }
    mass += degree == 0 ? start[i] : 0;
    count += degree == 0;
  }
  memory->state.scalar[MBI_PAGERANK_SUM] = 1;
  simt_run(K::begin, {K::name, m.name, seed}, {blocks, THREADS, SHARED}, r.z.get(),
           r.weights.get(), given, n, r.partials.get());
  simt_run(K::first, {K::name, m.name, seed}, {1, THREADS, SHARED}, r.partials.get(), blocks,
           memory);
  for (size_t i = 0; i < n; i++) {
    const long double z = start[i] / r.weight(i);
    assert_true(fabsl((long double)r.at(r.z)[i] - z) <= (u + 2 * 0x1p-53L) * z);
  }
  assert_true((long double)memory->state.scalar[MBI_PAGERANK_DANGLING] == count);
  assert_true(fabsl((long double)memory->state.scalar[MBI_PAGERANK_BASE] -
                    (0.15L + 0.85L * mass)) <= (long double)(n + 20) * 0x1p-53L);
  simt_run(K::end, {K::name, m.name, seed}, {blocks, THREADS, 0}, r.z.get(), r.weights.get(),
           n);
  for (size_t i = 0; i < n; i++) {
    assert_true(fabsl((long double)r.at(r.z)[i] - start[i]) <=
                (2 * u + 4 * 0x1p-53L) * start[i]);
  }
}

template <class K> static void test_matrices(void **) {
  for (size_t s = 0; s < simt_seeds.size(); s += 2) {
    for (int index = 0; index < test_matrix_count(); index++) {
      test_matrix m;
      test_matrix_make(index, simt_seeds[s], &m);
      if (m.rows > 0) {
        check_ends<K>(m, simt_seeds[s] + (uint64_t)index);
        check_middle<K>(m, simt_seeds[s] + (uint64_t)index);
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
      for (uint64_t odd = 0; odd < 2; odd++) {
        ranks<K> r(size.n, blocks_of(size.n, size.most_blocks));
        fill(r, seed + odd);
        check_iteration(r, "random ranks", seed);
      }
    }
  }
}

// More blocks than the threads that add up their parts; finish alone launches so many.
static void test_many_blocks(void **) {
  ranks<single> r(1000 * THREADS, 1000);
  long double change = 0;
  solve_memory *const memory = r.memory.get();
  for (size_t i = 0; i < 2000; i++) {
    r.partials.as<double>()[i] = 1.0 / (double)(i + 1);
    change += i % 2 == 0 ? r.partials.as<double>()[i] : 0;
  }
  simt_run(single::finish, {"f32", "1000 blocks", 3}, {1, THREADS, SHARED}, r.partials.get(),
           r.blocks, memory);
  assert_true(fabsl((long double)memory->state.rr - change) <= 20 * 0x1p-53L * change);
}

template <class K> static void test_stops(void **) {
  for (uint64_t seed : simt_seeds) {
    ranks<K> r(700, 2), before(700, 2);
    fill(r, 2 * seed + 1); // all teleports are equal
    r.memory->state.tolerance = 1e-10;
    for (size_t i = 0; i < r.n; i++) { // a fixed point
      r.at(r.z)[i] = (typename K::value)(
          (0.85 * (double)r.at(r.y)[i] + r.memory->state.scalar[MBI_PAGERANK_BASE]) /
          r.weight(i));
    }
    iterate(r, "fixed point", seed);
    assert_int_equal(r.memory->state.stop, MBI_PAGERANK_CONVERGED);
    assert_int_equal(r.memory->state.closed, 1);
    assert_int_equal(r.memory->state.iterations, 8);
    before.copy(r);
    r.at(r.y)[3] = 1; // iterations enqueued ahead have no effect
    iterate(r, "fixed point", seed);
    iterate(r, "fixed point", seed);
    assert_true(r.same(before));
    for (double value : {(double)NAN, (double)INFINITY, -(double)INFINITY}) {
      ranks<K> bad(700, 2);
      fill(bad, seed);
      bad.at(bad.y)[699] = (typename K::value)value;
      iterate(bad, "not finite", seed);
      assert_int_equal(bad.memory->state.stop, MBI_SOLVE_NOT_FINITE);
      assert_int_equal(bad.memory->state.iterations, 8);
      for (size_t i = 0; i < 699; i++) { // in its own row only
        assert_true(isfinite(bad.at(bad.z)[i]));
      }
    }
  }
}

// The scalar step after a product that has computed the sums: every way to stop.
static void test_decide(void **) {
  const struct {
    double change, least, stale;
    int iterations, stop;
  } cases[] = {
      {0.5, 1, 3, 7, MBI_SOLVE_RUNNING},         {0.5, 1, 3, 998, MBI_SOLVE_RUNNING},
      {0.5, 1, 3, 999, MBI_SOLVE_CAP},           {0.5, 0.5, 14, 7, MBI_SOLVE_RUNNING},
      {0.5, 0.5, 15, 7, MBI_PAGERANK_STAGNATED}, {0.5, 0.4, 15, 999, MBI_PAGERANK_STAGNATED},
      {0.5, 0.6, 15, 7, MBI_SOLVE_RUNNING},      {0.001, 1, 0, 999, MBI_PAGERANK_CONVERGED},
      {0.01, 1, 0, 7, MBI_SOLVE_RUNNING},        {NAN, 1, 0, 7, MBI_SOLVE_NOT_FINITE},
      {INFINITY, 1, 0, 7, MBI_SOLVE_NOT_FINITE}};
  for (const auto &c : cases) {
    ranks<twice> r(10, 1);
    solve_memory *const memory = r.memory.get();
    f64::mbi_solve_state &state = memory->state;
    state.tolerance = 0.01;
    state.iterations = c.iterations;
    state.scalar[MBI_PAGERANK_LEAST] = c.least;
    state.scalar[MBI_PAGERANK_STALE] = c.stale;
    state.product_sums[0] = c.change;
    state.product_sums[1] = 0.25;
    simt_run(decide, {"f64", "sums", 1}, {1, 1, 0}, memory);
    assert_int_equal(state.stop, c.stop);
    assert_int_equal(state.closed, c.stop != MBI_SOLVE_RUNNING);
    assert_int_equal(state.iterations, c.iterations + 1);
    assert_true(state.scalar[MBI_PAGERANK_STALE] == (c.change < c.least ? 0 : c.stale + 1));
    assert_true(fabs(state.scalar[MBI_PAGERANK_BASE] - (0.15 + 0.85 * 0.25) / 10) < 1e-16);
  }
}

// A decision after an iteration, based on the rates of the last ones, at a damping of 0.85, a
// change of 1e-3 and a tolerance of 1e-10.
struct decision {
  const char *what;
  int iterations;            // finished ones, including this one
  std::vector<double> rates; // of change, the last one last; earlier ones equal the first
  double factor, then;       // relaxation factors of this and the next iteration
  double most = 2, plain = 0.85, hold = 0, lost = 0, kept = 0, kept_rate = 0;
  int switched = 0, started = 0; // number of the iteration
  double tolerance = 1e-10;
  double then_most = 2, then_hold = 0, then_kept = 0;
  double then_lost = -1; // -1: not checked
};

static void expect_decision(const decision &c) {
  ranks<twice> r(10, 1);
  f64::mbi_solve_state &state = r.memory->state;
  double *const scalar = state.scalar, change = 1e-3;
  int k = c.iterations;
  state.tolerance = c.tolerance;
  state.iterations = c.iterations - 1;
  state.product_sums[0] = change;
  for (size_t i = c.rates.size(); k > 0; k--) {
    change /= c.rates[i > 0 ? --i : 0];
    r.memory->ring[k - 1] = change;
  }
  scalar[MBI_PAGERANK_RELAX] = c.factor;
  scalar[MBI_PAGERANK_PAST] = 1 - c.factor;
  scalar[MBI_PAGERANK_MOST] = c.most;
  scalar[MBI_PAGERANK_PLAIN_RATE] = c.plain;
  scalar[MBI_PAGERANK_HOLD] = c.hold;
  scalar[MBI_PAGERANK_LOST] = c.lost;
  scalar[MBI_PAGERANK_KEPT] = c.kept;
  scalar[MBI_PAGERANK_KEPT_RATE] = c.kept_rate;
  scalar[MBI_PAGERANK_SWITCHED] = c.switched;
  scalar[MBI_PAGERANK_STARTED] = c.started;
  scalar[MBI_PAGERANK_LEAST] = 0.25e-3;
  scalar[MBI_PAGERANK_STALE] = 3;
  simt_run(decide, {"f64", "sums", 1}, {1, 1, 0}, r.memory.get());
  const bool right = state.stop == MBI_SOLVE_RUNNING && scalar[MBI_PAGERANK_RELAX] == c.then &&
                     scalar[MBI_PAGERANK_PAST] == 1 - c.then &&
                     scalar[MBI_PAGERANK_MOST] == c.then_most &&
                     scalar[MBI_PAGERANK_HOLD] == c.then_hold &&
                     scalar[MBI_PAGERANK_KEPT] == c.then_kept &&
                     (c.then_lost < 0 || fabs(scalar[MBI_PAGERANK_LOST] - c.then_lost) < 1e-9);
  if (!right) {
    fail_msg("%s: factor %g, most %g, hold %g, kept %g, lost %g", c.what,
             scalar[MBI_PAGERANK_RELAX], scalar[MBI_PAGERANK_MOST], scalar[MBI_PAGERANK_HOLD],
             scalar[MBI_PAGERANK_KEPT], scalar[MBI_PAGERANK_LOST]);
  }
  // Only iterations of the power method must reduce the change.
  assert_true(scalar[MBI_PAGERANK_STALE] == (c.factor == 1 ? 4 : 0));
  assert_true(scalar[MBI_PAGERANK_LEAST] == (c.factor == 1 ? 0.25e-3 : 1e300));
}

// The rate of the power method is 0.5. The best factor would be 1.0718, but with 23 iterations
// left a trial may lose at most 0.15 (2 + 0.1 (9 + 23.25)) = 0.784. Spread over two iterations
// that is a growth by 1.312, of (1.312 0.25 + 1) / 1.25 = 1.0624 (271.97 / 256).
static void test_trials_begin(void **) {
  const double half = 271.0 / 256;
  decision base = {"steady", 9, {0.5}, 1, half};
  expect_decision(base);
  decision c = base;
  c.what = "the first window that is known whole", c.iterations = 6, c.then = 270.0 / 256;
  expect_decision(c);
  c = base, c.what = "the first window", c.iterations = 3, c.then = 1;
  expect_decision(c);
  c = base, c.what = "within a window", c.iterations = 10, c.then = 1;
  expect_decision(c);
  c = base, c.what = "on hold", c.hold = c.then_hold = 10, c.then = 1;
  expect_decision(c);
  c = base, c.what = "no longer on hold", c.hold = c.then_hold = 9;
  expect_decision(c);
  c.what = "rates that rise after a failure", c.rates = {0.48, 0.5}, c.then = 1;
  expect_decision(c);
  c = base, c.what = "not wanted", c.most = c.then_most = c.then = 1;
  expect_decision(c);
  c = base, c.what = "little is allowed", c.most = c.then_most = c.then = 264.0 / 256;
  expect_decision(c);
  c = base, c.what = "falling rates", c.rates = {0.5, 0.49}, c.then = 1;
  expect_decision(c);
  c = base, c.what = "a rate that fell before", c.rates = {0.51, 0.5, 0.5, 0.5, 0.5}, c.then = 1;
  expect_decision(c);
  c = base, c.what = "rates that rise much", c.rates = {0.3, 0.5, 0.5, 0.5, 0.5}, c.then = 1;
  expect_decision(c);
  c = base, c.what = "rounding", c.rates = {0.87}, c.then = 1;
  expect_decision(c);
  c = base, c.what = "thirteen iterations are left", c.tolerance = 1e-3 / 8192, c.then = 1;
  expect_decision(c);
  c = base, c.what = "fifteen", c.tolerance = 1e-3 / 32768;
  c.then = 269.0 / 256; // a growth by 1.257
  expect_decision(c);
  c = base, c.what = "too much was lost before", c.lost = 0.8, c.then = 1;
  expect_decision(c);
  // The damping bounds the eigenvalues: 2 / (1 + sqrt(1 - 0.85^2)) = 1.30995 with 1e6
  // iterations left.
  c = base, c.what = "as slow as the damping", c.rates = {0.86}, c.tolerance = 1e-300;
  c.then = 335.0 / 256;
  expect_decision(c);
}

// Factor 1.25, after changes of the power method that fell by 0.85: for real eigenvalues
// relaxed ones would fall by 0.711.
static void test_trials_go_on(void **) {
  decision base = {"real eigenvalues", 12, {0.75}, 1.25, 335.0 / 256};
  base.switched = base.started = 9;
  expect_decision(base);
  decision c = base;
  c.what = "within a window", c.iterations = 11, c.then = 1.25;
  expect_decision(c);
  c = base, c.what = "hardly faster", c.rates = {0.84}, c.then = 1.25;
  expect_decision(c);
  c = base, c.what = "both roots are of one size", c.rates = {0.49}, c.then = 1.25;
  expect_decision(c);
  c = base, c.what = "at most 2.5 times as far from 1", c.factor = 260.0 / 256;
  c.rates = {0.83}, c.then = 266.0 / 256;
  expect_decision(c);
  c = base, c.what = "nine iterations are left", c.tolerance = 1e-3 * pow(0.75, 9);
  c.then = 1.25;
  expect_decision(c);
  c = base, c.what = "the last two rates count after a switch", c.rates = {0.1, 0.75, 0.75};
  expect_decision(c);
  c = base, c.what = "later all three do", c.switched = 6, c.rates = {0.49, 0.49, 0.49, 0.49};
  c.then = 1.25;
  expect_decision(c);
  c = base, c.what = "slower: a probe", c.rates = {0.86}, c.then = 1, c.then_kept = 1.25;
  c.lost = 0.5, c.then_lost = 0.5 + 3 - 3 * log(0.86) / log(0.85);
  expect_decision(c);
  c = base, c.what = "faster: what was lost is won back", c.lost = 0.5, c.then_lost = 0;
  expect_decision(c);
  c = base, c.what = "slower, on hold", c.plain = 0.8, c.rates = {0.82};
  c.hold = c.then_hold = 13, c.then = 1.25;
  expect_decision(c);
  c = base, c.what = "slower than the damping: a probe, on hold or not", c.rates = {0.86};
  c.hold = c.then_hold = 13, c.then = 1, c.then_kept = 1.25;
  expect_decision(c);
  c = base, c.what = "growing", c.iterations = 11, c.rates = {0.8, 1.01}, c.then = 1;
  c.then_most = 281.0 / 256, c.then_hold = 11 + 5 + 12;
  expect_decision(c);
  c = base, c.what = "too much is lost", c.lost = 10, c.then = 1;
  c.then_most = 281.0 / 256, c.then_hold = 12 + 6 + 12;
  expect_decision(c);
  c = base, c.what = "a factor that promises little", c.iterations = 24, c.switched = 12;
  c.plain = 0.97, c.rates = {0.96}, c.factor = 264.0 / 256, c.then = 1;
  c.then_most = 259.0 / 256, c.then_hold = 24 + 12 + 12;
  expect_decision(c);
  c.what = "that may still grow", c.switched = 15, c.then = 264.0 / 256;
  c.then_most = 2, c.then_hold = 0;
  expect_decision(c);
  c = base, c.what = "the change after a switch is of before", c.iterations = 10;
  c.rates = {0.85, 1.5}, c.then = 1.25;
  expect_decision(c);
  c.what = "the power method speeds up", c.rates = {0.85, 0.7}, c.then = 1, c.then_hold = 26;
  expect_decision(c);
  c.what = "the factor grew: no wonder", c.started = 6, c.then = 1.25, c.then_hold = 0;
  expect_decision(c);
  c = base, c.what = "the last iteration is the power method's", c.iterations = 999, c.then = 1;
  expect_decision(c);
}

// A window of the power method in the middle of a trial of factor 1.125, whose rate was 0.8.
static void test_probes(void **) {
  decision base = {"slower without", 15, {0.83}, 1, 1.25}; // of 1.2839, at most twice as far
  base.kept = 1.125, base.kept_rate = 0.8, base.then_hold = 21, base.switched = 12;
  expect_decision(base);
  decision c = base;
  c.what = "within a window", c.iterations = 14, c.then = 1, c.then_kept = 1.125;
  c.then_hold = 0;
  expect_decision(c);
  c = base, c.what = "faster without", c.rates = {0.79}, c.then = 1;
  c.then_most = 268.0 / 256, c.then_hold = 15 + 7 + 12;
  expect_decision(c);
  c.what = "growing without", c.rates = {1.05};
  expect_decision(c);
}

// Returns the iterations until the changes of a vector with these eigenvalues converge, as
// mbi_pagerank_decide controls them. Relaxation is best for real eigenvalues and never for
// pairs off the axis.
static int iterations_of(std::vector<std::complex<double>> eigenvalues, double damping,
                         double most) {
  ranks<twice> r(10, 1);
  f64::mbi_solve_state &state = r.memory->state;
  std::vector<std::complex<double>> error(eigenvalues.size(), 1), past(eigenvalues.size());
  state.iterations = 0;
  state.cap = 5000;
  state.tolerance = 1e-10;
  state.scalar[MBI_PAGERANK_DAMPING] = damping;
  state.scalar[MBI_PAGERANK_MOST] = most;
  while (state.stop == MBI_SOLVE_RUNNING) {
    const double factor = state.scalar[MBI_PAGERANK_RELAX];
    double change = 0;
    for (size_t i = 0; i < error.size(); i++) {
      const std::complex<double> next = eigenvalues[i] * error[i], old = error[i];
      change += std::abs(next - old);
      error[i] = factor * next + (1 - factor) * past[i];
      past[i] = old;
    }
    f64::mbi_pagerank_decide(r.memory.get(), change, 0);
  }
  assert_int_equal(state.stop, MBI_PAGERANK_CONVERGED);
  return state.iterations;
}

static void test_spectra(void **) {
  for (const double damping : {0.7, 0.85, 0.95, 0.99}) {
    const std::complex<double> turn = std::polar(damping, 1.0), third = std::polar(damping, 2.1);
    const int plain = iterations_of({damping, -damping}, damping, 1);
    assert_true(iterations_of({damping, -damping}, damping, 2) < 0.8 * plain);
    assert_true(iterations_of({damping, 0.4}, damping, 2) < 0.8 * plain);
    assert_true(iterations_of({turn, std::conj(turn)}, damping, 2) <= 1.1 * plain + 2);
    assert_true(iterations_of({damping, third, std::conj(third)}, damping, 2) <=
                1.1 * plain + 2);
  }
}

// A change below the tolerance does not stop the solver if the iteration was relaxed.
static void test_relaxed_end(void **) {
  ranks<twice> r(10, 1);
  f64::mbi_solve_state &state = r.memory->state;
  state.tolerance = 0.01;
  state.product_sums[0] = 0.001;
  state.scalar[MBI_PAGERANK_RELAX] = 1.25;
  state.scalar[MBI_PAGERANK_PAST] = -0.25;
  simt_run(decide, {"f64", "sums", 1}, {1, 1, 0}, r.memory.get());
  assert_int_equal(state.stop, MBI_SOLVE_RUNNING);
  assert_true(state.scalar[MBI_PAGERANK_RELAX] == 1 && state.scalar[MBI_PAGERANK_PAST] == 0);
  simt_run(decide, {"f64", "sums", 1}, {1, 1, 0}, r.memory.get());
  assert_int_equal(state.stop, MBI_PAGERANK_CONVERGED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_matrices<single>), cmocka_unit_test(test_matrices<twice>),
      cmocka_unit_test(test_sizes<single>),    cmocka_unit_test(test_sizes<twice>),
      cmocka_unit_test(test_many_blocks),      cmocka_unit_test(test_stops<single>),
      cmocka_unit_test(test_stops<twice>),     cmocka_unit_test(test_decide),
      cmocka_unit_test(test_trials_begin),     cmocka_unit_test(test_trials_go_on),
      cmocka_unit_test(test_probes),           cmocka_unit_test(test_spectra),
      cmocka_unit_test(test_relaxed_end),
  };
  return cmocka_run_group_tests(tests, nullptr, simt_runs_report);
}
