// Fused kernels, which do several steps of a solver in one launch whose blocks wait for each
// other. Each is compared with its steps as separate kernels, in mid-solve and at the end of a
// solve. If each thread takes all its rows at once, sums are added in the same order and
// results have the same bits.
#include "jit/device.cuh"
#include "simt/solver_bed.h"

#define MBK_VECTOR double
namespace cg_f64 {
#include "solve/cg/cg.cu"
}
#undef MBS_FUNCTION
#undef MBS_VECTOR
#undef MBK_STEP_ROWS
namespace bicgstab_f64 {
#include "solve/bicgstab/bicgstab.cu"
}
#undef MBS_FUNCTION
#undef MBS_VECTOR
#undef MBK_STEP_ROWS
#undef MBK_VECTOR
#define MBK_VECTOR float
namespace cg_f32 {
#include "solve/cg/cg.cu"
}
#undef MBS_FUNCTION
#undef MBS_VECTOR
#undef MBK_STEP_ROWS
namespace bicgstab_f32 {
#include "solve/bicgstab/bicgstab.cu"
}

struct product {             // of two vectors, with the place of the result
  int first, second, scalar; // state.scalar, or -1: state.product_sums
};

struct fused_case {
  simt_kernel kernel;
  std::vector<simt_kernel> steps;
  void (*last)(bed &, const bed &, int); // runs after them, given the state before; or null
  std::vector<product> products;         // products that are added up first
};

// ---- The step whose rho is known early ------------------------------------------------------

static double at(const bed &b, int slot, long long i) {
  const simt_array &array = *b.arrays[(size_t)slot];
  return b.single ? array.as<float>()[i] : array.as<double>()[i];
}

static void put(bed &b, int slot, long long i, double value) {
  const simt_array &array = *b.arrays[(size_t)slot];
  if (b.single) {
    array.as<float>()[i] = (float)value;
  } else {
    array.as<double>()[i] = value;
  }
}

// Does bicgstab_update_p after bicgstab_update_x_r.
static void bicgstab_last(bed &b, const bed &before, int pre) {
  mbi_solve_state &s = b.memory.state;
  const double omega = s.scalar[MBI_BICG_OMEGA];
  if (s.closed) {
    return;
  }
  // rho = shadow'(s - omega t) is computed from two dot products, before s - omega t itself.
  const double rho = s.scalar[MBI_BICG_SHADOW_S] - omega * s.scalar[MBI_BICG_SHADOW_T];
  const double least = s.epsilon * sqrt(s.rr) * sqrt(s.scalar[MBI_BICG_SHADOW_2]);
  s.scalar[MBI_BICG_BETA] =
      rho / before.memory.state.scalar[MBI_BICG_RHO] * (s.scalar[MBI_BICG_ALPHA] / omega);
  s.scalar[MBI_BICG_RHO] = rho;
  if (s.stop == MBI_SOLVE_RUNNING || s.why == MBI_WHY_SHADOW) {
    s.stop = fabs(rho) > least ? MBI_SOLVE_RUNNING : MBI_SOLVE_BREAKDOWN;
    s.why = fabs(rho) > least ? MBI_WHY_NOTHING : MBI_WHY_SHADOW;
    s.value = fabs(rho) > least ? 0 : rho;
  }
  for (long long i = 0; i < b.n; i++) {
    const double last = at(b, MBI_BICG_P, i) - omega * at(b, MBI_BICG_V, i);
    const double p = at(b, MBI_BICG_R, i) + s.scalar[MBI_BICG_BETA] * last;
    put(b, MBI_BICG_P, i, p);
    if (pre == MBI_PRE_DIAGONAL) {
      put(b, MBI_BICG_P_HAT, i, at(b, MBI_AT_INVERSE, i) * p);
    }
  }
}

#define CG(space)                                                                              \
  {                                                                                            \
    SIMT_KERNEL(space::mbk_cg_fused),                                                          \
        {SIMT_KERNEL(space::mbk_cg_update_r), SIMT_KERNEL(space::mbk_cg_update_x_p)}, nullptr, \
    {                                                                                          \
      { MBI_CG_P, MBI_AT_W, -1 }                                                               \
    }                                                                                          \
  }
#define BICGSTAB_HALF(space)                                                                   \
  {                                                                                            \
    SIMT_KERNEL(space::mbk_bicgstab_fused_s), {SIMT_KERNEL(space::mbk_bicgstab_s)}, nullptr, { \
      { MBI_BICG_SHADOW, MBI_BICG_V, -1 }                                                      \
    }                                                                                          \
  }
#define BICGSTAB(space)                                                                        \
  {                                                                                            \
    SIMT_KERNEL(space::mbk_bicgstab_fused), {SIMT_KERNEL(space::mbk_bicgstab_update_x_r)},     \
        bicgstab_last, {                                                                       \
      {MBI_BICG_R, MBI_AT_W, -1}, {MBI_AT_W, MBI_AT_W, -1},                                    \
          {MBI_BICG_R, MBI_BICG_SHADOW, MBI_BICG_SHADOW_S}, {                                  \
        MBI_AT_W, MBI_BICG_SHADOW, MBI_BICG_SHADOW_T                                           \
      }                                                                                        \
    }                                                                                          \
  }
static const std::vector<fused_case> fused_cases[2] = {
    {CG(cg_f64), BICGSTAB_HALF(bicgstab_f64), BICGSTAB(bicgstab_f64)},
    {CG(cg_f32), BICGSTAB_HALF(bicgstab_f32), BICGSTAB(bicgstab_f32)}};
enum { ROWS_LEAST = 3 }; // of MBK_STEP_ROWS

// ---- States of a solver ---------------------------------------------------------------------

static void goes_on(bed &b) { // p'A p is positive
  for (long long i = 0; i < b.n; i++) {
    put(b, MBI_AT_W, i, 0.5 * at(b, MBI_CG_P, i) + 0.01 * at(b, MBI_AT_W, i));
  }
}
static void has_stopped(bed &b) {
  b.memory.state.stop = MBI_SOLVE_CANDIDATE;
}
static void has_closed(bed &b) {
  b.memory.state.stop = MBI_SOLVE_CANDIDATE;
  b.memory.state.closed = 1;
}
static void comes_to_its_goal(bed &b) { // reaches its goal; the next iteration closes the solve
  goes_on(b);
  b.memory.state.goal = 1e30;
}
static void comes_to_its_cap(bed &b) {
  goes_on(b);
  b.memory.state.cap = b.memory.state.iterations + 1;
}
static void breaks_down_at_once(bed &b) { // CG: p'A p is 0; BiCGSTAB: shadow'v and A s are
  for (long long i = 0; i < b.n; i++) {
    put(b, MBI_CG_P, i, 0);
    put(b, MBI_BICG_SHADOW, i, 0);
    put(b, MBI_AT_W, i, 0);
  }
}
static void has_a_bad_preconditioner(bed &b) {
  goes_on(b);
  b.memory.state.scalar[MBI_CG_RZ] = -1;
}
static void is_not_finite(bed &b) {
  put(b, MBI_AT_W, b.n / 2, NAN);
  put(b, MBI_BICG_V, b.n / 2, INFINITY);
}
static void overflows(bed &b) { // overflows after the first sums, which are finite
  goes_on(b);
  b.memory.state.scalar[MBI_CG_RZ] = 1e300; // and shadow'r
}
static void (*const places[])(bed &) = {goes_on,
                                        has_stopped,
                                        has_closed,
                                        comes_to_its_goal,
                                        comes_to_its_cap,
                                        breaks_down_at_once,
                                        has_a_bad_preconditioner,
                                        is_not_finite,
                                        overflows};

// ---- Comparisons ----------------------------------------------------------------------------

// Compares the sums of the products that are added up first, within the bound of n terms,
// unless the solver had stopped.
static void expect_products(const fused_case &s, const bed &before, const bed &after) {
  for (size_t k = 0; k < s.products.size(); k++) {
    const product &p = s.products[k];
    const mbi_solve_state &was = before.memory.state, &is = after.memory.state;
    long double sum = 0, size = 0;
    const double found = p.scalar >= 0 ? is.scalar[p.scalar] : is.product_sums[k];
    for (long long i = 0; i < before.n; i++) {
      const long double term = (long double)at(before, p.first, i) * at(before, p.second, i);
      sum += term;
      size += fabsl(term);
    }
    if (was.stop != MBI_SOLVE_RUNNING) {
      assert_true(found == (p.scalar >= 0 ? was.scalar[p.scalar] : was.product_sums[k]));
    } else if (size - size == 0) {
      assert_true(fabsl(found - sum) <= (long double)(before.n + 2) * 0x1p-53L * size);
    } else {
      assert_true(found != found || found - found != 0);
    }
  }
}

static bool both_near(double a, double b, double tolerance) {
  return a == b || (a != a && b != b) || fabs(a - b) <= tolerance * (1 + fabs(b));
}

static void expect_like(const bed &found, const bed &wanted, bool bits) {
  mbi_solve_memory like = wanted.memory;
  like.state.turn = found.memory.state.turn;
  assert_int_equal(found.memory.state.ticket, 0);
  if (bits) {
    assert_true(found.same_vectors(wanted));
    assert_memory_equal(&found.memory, &like, sizeof like);
    return;
  }
  const mbi_solve_state &a = found.memory.state, &b = wanted.memory.state;
  for (int slot = 0; slot < MBI_SOLVE_VECTORS; slot++) {
    for (long long i = 0; i < found.n; i++) {
      assert_true(
          both_near(at(found, slot, i), at(wanted, slot, i), found.single ? 1e-5 : 1e-10));
    }
  }
  for (int k = 0; k < MBI_SOLVE_SCALARS; k++) {
    assert_true(both_near(a.scalar[k], b.scalar[k], 1e-10));
  }
  assert_true(both_near(a.rr, b.rr, 1e-10) && a.stop == b.stop && a.closed == b.closed);
  assert_true(a.iterations == b.iterations && a.why == b.why);
}

// Returns the vectors of a round of one iteration, so that x is complete after it.
static mbi_solve_vectors alone(const bed &b, int pre) {
  mbi_solve_vectors v = b.vectors(pre);
  v.from = v.to = 0;
  v.at[MBI_CG_ROUND_P] = v.at[MBI_CG_P];
  return v;
}

static void check(const fused_case &s, const char *matrix, long long n, int single, int pre,
                  int place, uint64_t seed) {
  const unsigned most = (unsigned)((n + THREADS - 1) / THREADS);
  const unsigned blocks = std::min(most, (unsigned)(1 + seed % 5));
  bed before(n, single, blocks), after(n, single, blocks), again(n, single, blocks);
  bed apart(n, single, blocks);
  before.fill(seed);
  places[place](before);
  for (long long i = 0; i < n && pre == MBI_PRE_DIAGONAL; i++) { // as the steps before left it
    put(before, MBI_BICG_P_HAT, i, at(before, MBI_AT_INVERSE, i) * at(before, MBI_BICG_P, i));
    put(before, MBI_BICG_S_HAT, i, at(before, MBI_AT_INVERSE, i) * at(before, MBI_BICG_R, i));
  }
  after.copy(before);
  again.copy(before);
  apart.copy(before);
  after.run_fused(s.kernel, alone(after, pre), matrix, seed);
  again.run_fused(s.kernel, alone(again, pre), matrix, seed + 1);
  assert_true(after.same_vectors(again));
  assert_memory_equal(&after.memory, &again.memory, sizeof after.memory);
  expect_products(s, before, after);
  for (size_t k = 0; k < s.products.size(); k++) {
    const int scalar = s.products[k].scalar;
    (scalar >= 0 ? apart.memory.state.scalar[scalar] : apart.memory.state.product_sums[k]) =
        scalar >= 0 ? after.memory.state.scalar[scalar] : after.memory.state.product_sums[k];
  }
  for (const simt_kernel &step : s.steps) {
    apart.run(step, pre, matrix, seed);
  }
  if (s.last != nullptr) {
    s.last(apart, before, pre);
  }
  expect_like(after, apart, n <= (long long)blocks * THREADS * ROWS_LEAST);
  if (before.memory.state.stop != MBI_SOLVE_RUNNING) {
    assert_true(after.same_vectors(before) && after.memory.state.closed == 1);
  }
}

// In quick effort each type runs a size from a third of the matrices, chosen by the seed.
static void test_fused(void **) {
  const uint64_t apart = (uint64_t)test_effort(3, 1);
  for (int index = 0; index < test_matrix_count(); index++) {
    test_matrix m;
    test_matrix_make(index, 3, &m);
    for (int single = 0; single <= 1; single++) {
      if (((uint64_t)(index + single) + simt_seeds[2]) % apart != 0) {
        continue;
      }
      const bool both = test_effort(0, 1), turn = ((uint64_t)index + simt_seeds[2]) / apart % 2;
      for (const fused_case &s : fused_cases[single]) {
        const int count = (int)(sizeof places / sizeof places[0]);
        const uint64_t seed = simt_seeds[0] + (uint64_t)index * 7;
        if (both || turn) {
          check(s, m.name, 1 + m.rows * 37 % 5000, single, (index + single) % 2, 0, seed);
        }
        if (both || !turn) {
          check(s, m.name, 1 + m.rows % 1400, single, index % 2, index % count, seed + 1);
        }
      }
    }
    test_matrix_free(&m);
  }
}

// If the product has stored parts of p'A p, CG's fused kernel adds those up and reads no more
// of p and A p than the later steps do.
static void test_dots(void **) {
  for (int single = 0; single <= 1; single++) {
    const fused_case &s = fused_cases[single][0];
    for (uint64_t seed = 1; seed <= 12; seed++) {
      const int pre = (int)seed % 2, stopped = seed % 4 == 0;
      const long long n = 700 * (long long)seed, parts = 1 + (long long)(seed * seed * 61);
      const unsigned blocks = (unsigned)((n + THREADS - 1) / THREADS);
      bed before(n, single, blocks), after(n, single, blocks), apart(n, single, blocks);
      const simt_array dots((size_t)parts, sizeof(double));
      long double sum = 0;
      uint64_t state = seed;
      for (long long k = 0; k < parts; k++) {
        dots.as<double>()[k] = 0.5 + test_uniform(&state) * test_uniform(&state);
        sum += dots.as<double>()[k];
      }
      before.fill(seed);
      (stopped ? has_stopped : goes_on)(before);
      after.copy(before);
      apart.copy(before);
      mbi_solve_vectors v = alone(after, pre);
      v.dots = dots.as<double>();
      v.dot_count = parts;
      after.run_fused(s.kernel, v, "dots", seed);
      if (stopped) {
        assert_true(after.same_vectors(before) && after.memory.state.closed == 1);
        continue;
      }
      const double found = after.memory.state.product_sums[0];
      assert_true(fabsl(found - sum) <= (long double)(parts + 2) * 0x1p-53L * sum);
      apart.memory.state.product_sums[0] = found;
      for (const simt_kernel &step : s.steps) {
        apart.run(step, pre, "dots", seed);
      }
      expect_like(after, apart, n <= (long long)blocks * THREADS * ROWS_LEAST);
    }
  }
}

// Every state with every fused kernel, with one block and with several.
static void test_places(void **) {
  for (int place = 0; place < (int)(sizeof places / sizeof places[0]); place++) {
    for (const fused_case &s : fused_cases[0]) {
      for (uint64_t seed = 1; seed <= 10; seed++) {
        check(s, "places", 900 + 300 * (long long)seed, 0, (int)seed % 2, place, seed);
      }
    }
  }
}

// ---- CG's rounds ----------------------------------------------------------------------------

// Compares a round, which updates x once for several iterations, with iterations that complete
// x each: x, p and r have the same bits if each thread takes all its rows at once. In iteration
// `when` the solver gets the state `place`.
static void check_round(int single, int pre, int last, int when, int place, long long n,
                        uint64_t seed) {
  const unsigned blocks = (unsigned)((n + THREADS - 1) / THREADS);
  const simt_kernel kernel = fused_cases[single][0].kernel;
  bed round(n, single, blocks), each(n, single, blocks);
  round.fill(seed);
  each.copy(round);
  mbi_solve_vectors v = alone(round, pre), w = alone(each, pre);
  for (int k = 0; k < MBI_CG_RING - 1; k++) { // of the previous round: not added to x
    for (long long i = 0; i < n; i++) {
      put(round, MBI_CG_OLD_P + k, i, NAN);
    }
  }
  for (int i = 0; i <= last; i++) {
    v.from = i;
    v.to = i < last;
    for (long long row = 0; row < n; row++) { // A p, the same for both
      const double p = at(each, MBI_CG_P, row);
      put(each, MBI_AT_W, row, (0.5 + 0.01 * (double)(row % 7)) * p);
    }
    if (i == when) {
      places[place](each);
    }
    round.arrays[MBI_AT_W]->copy(*each.arrays[MBI_AT_W]);
    if (i == when && place != 0) { // may have changed state that differs between the two
      round.memory.state = each.memory.state;
      if (places[place] == breaks_down_at_once) {
        memset(v.at[MBI_CG_P], 0, (size_t)n * (single ? 4 : 8));
      }
    }
    round.run_fused(kernel, v, "round", seed + (uint64_t)i);
    each.run_fused(kernel, w, "round", seed + 1 + (uint64_t)i);
    void *const oldest = v.at[MBI_CG_OLDEST_P];
    for (int k = MBI_CG_OLDEST_P; k > MBI_CG_OLD_P; k--) {
      v.at[k] = v.at[k - 1];
    }
    v.at[MBI_CG_OLD_P] = v.at[MBI_CG_P];
    v.at[MBI_CG_P] = oldest;
  }
  assert_memory_equal(&round.memory, &each.memory, sizeof each.memory);
  assert_true(round.arrays[MBI_AT_X]->same(*each.arrays[MBI_AT_X]));
  assert_true(round.arrays[MBI_CG_R]->same(*each.arrays[MBI_CG_R]));
  if (each.memory.state.why == MBI_WHY_NOTHING) { // else a restart recomputes p
    assert_true(round.arrays[MBI_CG_P]->same(*each.arrays[MBI_CG_P]));
  }
}

// In quick effort a seventh of the cases, chosen by the seed.
static void test_rounds(void **) {
  const uint64_t apart = (uint64_t)test_effort(7, 1);
  for (int last = 0; last < MBI_CG_RING; last++) {
    for (int when = 0; when <= last; when++) {
      for (int place = 0; place < (int)(sizeof places / sizeof places[0]); place++) {
        if (places[place] != has_stopped && places[place] != has_closed &&
            ((uint64_t)(last + when + place) + simt_seeds[2]) % apart == 0) {
          const uint64_t seed = simt_seeds[0] + (uint64_t)(last * 100 + when * 10 + place);
          check_round((place + when) % 2, (int)(seed % 2), last, when, place,
                      1 + (long long)(seed * 37 % 1600), seed);
        }
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fused),
      cmocka_unit_test(test_dots),
      cmocka_unit_test(test_places),
      cmocka_unit_test(test_rounds),
  };
  return cmocka_run_group_tests(tests, nullptr, simt_runs_report);
}
