// The set-up of AMG on the GPU against that on the CPU, on matrices of all kinds, and its
// products of matrices and prefix sums against plain loops.
#include "simt/headers.h"

extern "C" { // amg_bed.h includes C code that calls functions of the library
#include "core/core.h"
}
#include "support/internal.h"

#include "simt/amg_levels.h"
#include "simt/amg_parts.h"

// Makes the hierarchy on both sides, from the given arrays or, with few thread blocks, from
// inconvenient ones. Renews it for 4 times the values. Makes it again under another schedule,
// in quick effort only with rough arrays: the bits must be equal.
static void check_one(input in, const nodes &of, bool roughly) {
  const std::string name = in.name;
  for (float value : std::vector<float>(in.values.begin(), in.values.end())) {
    assert_true(value == value); // f32 holds the values exactly
  }
  mbi_amg_gpu gpu, again;
  input fourfold = in;
  if (roughly) {
    for (double &value : in.values) {
      value = (double)(float)value;
    }
  }
  for (size_t k = 0; k < in.values.size(); k++) {
    fourfold.values[k] = 4 * in.values[k];
  }
  const rough arrays(in), arrays_fourfold(fourfold);
  const merbit_view view = roughly ? arrays.view(in.n) : view_of(in);
  const merbit_view view_fourfold = roughly ? arrays_fourfold.view(in.n) : view_of(fourfold);
  {
    const levels cpu(in, of);
    amg_bed::what = {roughly ? "rough" : "plain", name.c_str(), simt_seeds[2]};
    amg_bed::few_blocks = roughly;
    assert_int_equal(mbi_amg_gpu_create(&gpu, host, &view, of.block, of.vectors, 0, of.modes),
                     MERBIT_OK);
    expect_same(gpu, cpu);
    expect_views(gpu);
  }
  if (test_effort(roughly, 1)) {
    amg_bed::what.seed = simt_seeds[3];
    assert_int_equal(mbi_amg_gpu_create(&again, host, &view, of.block, of.vectors, 0, of.modes),
                     MERBIT_OK);
    for (int l = 0; l < gpu.count; l++) {
      const mbi_amg_there &a = gpu.levels[l].a, &b = again.levels[l].a;
      assert_int_equal(a.nnz, b.nnz);
      assert_memory_equal(amg_at<double>(a.values), amg_at<double>(b.values),
                          (size_t)a.nnz * 8);
    }
    mbi_amg_gpu_destroy(&again);
  }
  {
    const levels cpu(fourfold, of);
    assert_int_equal(mbi_amg_gpu_update(&gpu, &view_fourfold), MERBIT_OK);
    expect_same(gpu, cpu);
  }
  mbi_amg_gpu_destroy(&gpu);
  assert_int_equal(amg_bed::memory.size(), 0);
  amg_bed::few_blocks = false;
}

static void check(const input &in, const nodes &of = {}) {
  check_one(in, of, false);
  check_one(in, of, true);
}

// In quick effort checks one matrix in several with one kind of arrays, both chosen by the
// seed.
static void check_turn(const input &in, int turn, const nodes &of = {}) {
  for (const bool roughly : {false, true}) {
    if (test_effort((turn + (int)(simt_seeds[2] % 2)) % 2 == (int)roughly, 1)) {
      check_one(in, of, roughly);
    }
  }
}

static void meshes_are_coarsened(void **) {
  check(mesh("5 points", 30, 20, 1, false, false));
  check(mesh("9 points", 25, 20, 1, true, false));
  check(mesh("anisotropic", 30, 20, 1.0 / 1024, false, false));
  check(mesh("jumping", 30, 20, 1, false, true));
  check(mesh("a path", 700, 1, 1, false, false));
  check(mesh("weak diagonals", 30, 20, 0.125, true, true));
}

// The near-null-space is not the constant; on one node it is zero.
static void a_vector_is_interpolated(void **) {
  std::vector<double> modes(600);
  for (size_t i = 0; i < modes.size(); i++) {
    modes[i] = i == 77 ? 0 : cos((double)i);
  }
  check(mesh("a vector", 30, 20, 1, false, false), {1, 1, modes.data()});
}

// Entries of mixed signs, a nonsymmetric matrix, a matrix of few rows, and matrices without
// couplings.
static void odd_matrices_are_coarsened(void **) {
  entries e, diagonal;
  uint64_t random = 3;
  for (int64_t i = 0; i < 500; i++) {
    for (int64_t k = 0; k < 4; k++) {
      e[{i, test_below(&random, 500)}] = (double)(test_below(&random, 64) - 20) / 8;
    }
    e[{i, i}] = 16;
    diagonal[{i, i}] = (double)(i + 1);
  }
  check(input("not symmetric", 500, e));
  check(input("diagonal", 500, diagonal));
  check(mesh("few rows", 10, 10, 1, false, false));
}

// A negative matrix has the eigenvalues, and the other numbers, of the positive one.
static void negative_matrices_are_coarsened(void **) {
  const input positive = graph("positive", 400, 2, 60, 5);
  input negative = positive;
  mbi_amg_gpu gpu[2];
  negative.name = "negative";
  for (double &value : negative.values) {
    value = -value;
  }
  check_turn(negative, 0);
  for (int i = 0; i < 2; i++) {
    const merbit_view view = view_of(i == 0 ? positive : negative);
    amg_bed::what = {"sign", "negative", simt_seeds[2]};
    assert_int_equal(mbi_amg_gpu_create(&gpu[i], host, &view, 1, 1, 0, nullptr), MERBIT_OK);
  }
  assert_int_equal(gpu[0].count, gpu[1].count);
  for (int l = 0; l < gpu[0].count; l++) {
    assert_true(gpu[0].levels[l].lambda == gpu[1].levels[l].lambda);
    assert_true(l > 0 || gpu[0].levels[l].lambda > 2.01); // an estimate
  }
  mbi_amg_gpu_destroy(&gpu[0]);
  mbi_amg_gpu_destroy(&gpu[1]);
}

static void expect_failure(input &in, double no_diagonal, const char *sentence,
                           const nodes &of = {}) {
  const merbit_status expected =
      of.modes != nullptr ? MERBIT_INVALID_ARGUMENT : MERBIT_INVALID_MATRIX;
  char message[MERBIT_MESSAGE_SIZE];
  mbi_amg_gpu gpu;
  const merbit_view view = view_of(in);
  amg_bed::what = {"amg", in.name, simt_seeds[2]};
  assert_int_equal(mbi_amg_gpu_create(&gpu, host, &view, 1, of.vectors, no_diagonal, of.modes),
                   expected);
  assert_int_equal(merbit_last_error(host, message, sizeof message), expected);
  if (strstr(message, sentence) == nullptr) {
    fail_msg("%s: %s", in.name, message);
  }
  mbi_amg_gpu_destroy(&gpu);
}

// The error names the first row with no or too small a diagonal; entries must be finite.
static void unfit_matrices_are_refused(void **) {
  input in = mesh("no diagonal", 30, 20, 1, false, false);
  for (const size_t row : {177, 450}) {
    for (size_t k = (size_t)in.row_ptr[row]; k < (size_t)in.row_ptr[row + 1]; k++) {
      in.values[k] = in.col_ind[k] == (int32_t)row ? 0 : in.values[k];
    }
  }
  expect_failure(in, 0, "row 177, counted from 0, has no diagonal entry");
  for (size_t k = (size_t)in.row_ptr[98]; k < (size_t)in.row_ptr[99]; k++) {
    in.values[k] *= in.col_ind[k] == 98 ? -1e-39 / fabs(in.values[k]) : 1;
  }
  expect_failure(in, 1e-38, "row 98, counted from 0, has no diagonal entry");
  expect_failure(in, 1e-40, "row 177, counted from 0, has no diagonal entry");
  for (const double value : {(double)INFINITY, (double)NAN, -(double)NAN}) {
    in = mesh("not finite", 30, 20, 1, false, false);
    in.values[(size_t)in.row_ptr[100]] = in.values[(size_t)in.row_ptr[300]] = value;
    expect_failure(in, 0,
                   "row 100, counted from 0, of the matrix of 600 rows has entries that");
    in = mesh("a vector is not finite", 30, 20, 1, false, false);
    std::vector<double> modes(1200, 1.0);
    modes[1111] = modes[1199] = value;
    expect_failure(in, 0, "element 511 of column 1 of preconditioner_desc.near_nullspace",
                   {1, 2, modes.data()});
  }
}

static void nodes_have_several_rows(void **) {
  const input meshes[] = {mesh("", 20, 18, 1, false, false),
                          mesh("", 18, 17, 0.125, true, true), graph("", 301, 2, 60, 4)};
  int turn = 0;
  for (const input &of : meshes) {
    for (const auto &[block, vectors] :
         {std::pair<int, int>{1, 2}, {1, 3}, {2, 1}, {2, 2}, {2, 3}, {3, 3}, {3, 6}, {5, 2}}) {
      const int i = 10 * block + vectors;
      if (++turn % 2 == (&of - meshes) / 2) {
        continue;
      }
      const input in = blocked(name_of("blocks", i), of, block, i % 3 * 3);
      const std::vector<double> modes = vectors_of(in.n, block, vectors);
      check_turn(in, turn / 2, {block, vectors, modes.data()});
      if (block == vectors) {
        check_turn(in, turn / 2 + 1, {block, vectors, nullptr});
      }
    }
  }
}

// Small graphs of nodes with 2 or 3 rows and at least as many vectors.
static void graphs_of_nodes_are_coarsened(void **) {
  for (int i = 0; i < 108; i++) {
    const int block = 2 + i % 2, vectors = block + i % 3 / 2;
    const input of = graph("", 270 / block + 1 + i % 7, i % 4, 20, (uint64_t)i + 1);
    const input in = blocked(name_of("graph of nodes", i), of, block, i % 4);
    const std::vector<double> modes = vectors_of(in.n, block, vectors);
    check_turn(in, i, {block, vectors, modes.data()});
  }
}

static void graphs_are_coarsened(void **) {
  const int apart = test_effort(2, 1);
  for (int i = (int)(simt_seeds[3] % (unsigned)apart); i < 54; i += apart) {
    const int64_t n = 270 + 7 * i;
    check_turn(graph(name_of("graph", i), n, i % 4, 20 + 40 * (i % 5), (uint64_t)i + 1),
               i / apart);
  }
  assert_true(plain_levels > 0);
}

// Meshes with a wind over a part of them: both sides must classify the same ones as
// nonsymmetric. In some, slightly less than a quarter of the rows is windy, in others slightly
// more. One stores no entries on the lee side. One has rows of which the sample takes only the
// first entries.
static void winds_are_coarsened(void **) {
  int found[2] = {0, 0};
  for (int i = 0; i < 12; i++) {
    const int64_t side = 18 + i, n = side * side, windy = i == 11 ? n : n * (20 + i) / 100;
    entries e;
    for (int64_t at = 0; at < n; at++) {
      const int64_t ahead = at % side + 1 < side ? at + 1 : -1;
      const int64_t above = at + side < n ? at + side : -1;
      if (ahead >= 0) {
        put(e, at, ahead, -1);
        e[{ahead, at}] = at < windy ? -8 : -1;
      }
      if (ahead >= 0 && i == 11) {
        e.erase({at, ahead});
      }
      if (above >= 0) {
        put(e, at, above, -0.25);
      }
    }
    close(e, n, 0.125);
    input in(name_of("wind", i), n, e);
    found[levels(in, {}).at[0].nonsymmetric]++;
    check_turn(in, i);
  }
  assert_true(found[0] > 1 && found[1] > 1);
  assert_true(reduced_levels > 4);
  const int64_t n = 3 * MBI_AMG_SAMPLE_ENTRIES;
  entries e;
  for (int64_t row = 0; row < n; row++) {
    for (int64_t column = 0; column < row; column++) {
      put(e, row, column, -1);
      e[{row, column}] = column < MBI_AMG_SAMPLE_ENTRIES ? -1 : -8;
    }
  }
  close(e, n, 0.125);
  input in(name_of("wind", 12), n, e);
  assert_int_equal(levels(in, {}).at[0].nonsymmetric, 0);
  check_turn(in, 12);
}

// Matrices by reduction: a wind along a mesh with a few positive entries and, in some, rows
// with a negative diagonal; and random graphs of arrows, of which some fill up and are
// aggregated.
static void arrows_are_reduced(void **) {
  int found[2] = {0, 0};
  for (int i = 0; i < 42; i++) {
    const int64_t n = 300 + 12 * i;
    uint64_t random = (uint64_t)i;
    entries e;
    for (int64_t row = 0; row < n; row++) {
      double sum = 0;
      for (int k = 0; k < (i % 6 < 4 ? 4 : 6); k++) {
        const int64_t far = (int64_t)(test_random(&random) % (uint64_t)n);
        const int64_t column = i % 6 < 4 ? row + (k % 2 ? 1 : -1) * (k / 2 ? 30 : 1) : far;
        const double size = k % 2 ? 1 : 6 + (double)(far % 4);
        if (column >= 0 && column < n && column != row) {
          e[{row, column}] = far % 11 == 0 ? size / 8 : -size;
          sum += size;
        }
      }
      e[{row, row}] = i % 2 && row % 9 == 0 ? -sum - 1 : sum + 0.25;
    }
    input in(name_of("arrows", i), n, e);
    const levels cpu(in, {});
    assert_true(cpu.at[0].nonsymmetric);
    found[cpu.at[0].reduced]++;
    check_turn(in, i);
  }
  assert_true(found[0] > 4 && found[1] > 20);
}

// Makes levels by reduction on the CPU, and in the shim those of values that differ by up to
// `sizes`. Structures must be equal.
static void check_rounded(const char *name, int64_t n, const entries &exact,
                          const entries &sizes) {
  uint64_t random = simt_seeds[3];
  input in(name, n, exact), rounded = in;
  const input size("", n, sizes);
  for (size_t k = 0; k < in.values.size(); k++) {
    rounded.values[k] += size.values[k] * ((double)(test_random(&random) % 2001) / 1000 - 1);
  }
  const levels cpu(in, {});
  const merbit_view view = view_of(rounded);
  mbi_amg_gpu gpu;
  amg_bed::what = {"rounded", in.name, simt_seeds[2]};
  assert_int_equal(mbi_amg_gpu_create(&gpu, host, &view, 1, 1, 0, nullptr), MERBIT_OK);
  assert_true(gpu.reduced);
  expect_same(gpu, cpu);
  mbi_amg_gpu_destroy(&gpu);
}

// A wind that turns over a mesh: entries are equal but for rounding, which decides nothing.
static void turning_winds_are_reduced(void **) {
  for (const double peclet : {10.0, 1.0, 1e4}) {
    const int64_t side = test_effort(40, 64);
    entries e, sizes;
    for (int64_t i = 0; i < side * side; i++) {
      const int64_t at[] = {i % side, i / side};
      const double x = 2.0 * (double)(at[0] + 1) / (double)(side + 1) - 1;
      const double y = 2.0 * (double)(at[1] + 1) / (double)(side + 1) - 1;
      const double speed[] = {2 * y * (1 - x * x), -2 * x * (1 - y * y)};
      for (int d = 0; d < 4; d++) { // from the neighbour before and after, along each axis
        const int64_t step = d % 2 != 0 ? 1 : -1, to = at[d / 2] + step;
        const double from = -(double)step * speed[d / 2];
        const double weight = 1 + (from > 0 ? peclet * from : 0);
        e[{i, i}] += weight;
        if (to >= 0 && to < side) {
          e[{i, i + step * (d / 2 ? side : 1)}] = -weight;
        }
      }
    }
    for (const auto &[at, value] : e) {
      sizes[at] = 2e-16 * value;
    }
    check_rounded("a turning wind", side * side, e, sizes);
  }
}

// A mesh whose entries are the largest of their rows, at a threshold, or rounding; some nodes
// have no neighbours but by rounding, others no neighbours but these, some rows are tiny.
static void rounding_decides_nothing(void **) {
  const double among[] = {4, 1, 0.4, 4, 4, 2, 0};
  const int64_t side = test_effort(20, 28);
  uint64_t random = simt_seeds[2];
  entries e, sizes;
  for (int64_t i = 0; i < side * side; i++) {
    for (int64_t d = 0; d < 9; d++) {
      const int64_t x = i % side + d % 3 - 1, y = i / side + d / 3 - 1, j = y * side + x;
      const double scale = i % 13 == 5 ? 1e-14 : 1;
      const double value = i % 11 == 3 || j % 17 == 7 ? 0
                           : j % 11 == 3              ? (j % 2                           ? 0
                                                         : test_random(&random) % 10 < 3 ? 4
                                                                                         : 0.4)
                           : i % 17 == 7              ? 0
                                                      : among[test_random(&random) % 7];
      if (x >= 0 && x < side && y >= 0 && y < side) {
        e[{i, j}] = scale * (d == 4 ? 20 : -value);
        sizes[{i, j}] = scale * 4e-14 * (value + 1);
      }
    }
  }
  check_rounded("rounded", side * side, e, sizes);
}

// Nodes in threes: the first is a C point, whose local matrix is singular up to rounding, or
// needs pivoting.
static void small_systems_are_solved(void **) {
  const double threes[2][3][3] = {{{5, -1, -3}, {-1, 3, 1}, {-1, 1, 1.0 / 3}},
                                  {{5, -1, -3}, {-1, 1e-17, 1}, {-1, 1, 2}}};
  const int64_t n = 900;
  entries e, sizes;
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < 3; j++) {
      e[{i, i / 3 * 3 + j}] = threes[i / 3 % 2][i % 3][j];
      sizes[{i, i / 3 * 3 + j}] = 1e-16 * e[{i, i / 3 * 3 + j}];
    }
  }
  check_rounded("threes", n, e, sizes);
}

// A mesh whose last node is a weak neighbour of many. A_F keeps the entries that are too weak
// for aggregates, so that this node's rows of P, A P and R A P go to thread blocks.
static void a_hub_is_interpolated(void **) {
  const int64_t side = 50, hub = side * side, degree = 130;
  int longest = 0;
  entries e;
  for (int64_t i = 0; i < hub; i++) {
    if (i % side + 1 < side) {
      put(e, i, i + 1, -1);
    }
    if (i + side < hub) {
      put(e, i, i + side, -1);
    }
    if (i % (hub / degree) == 0) {
      put(e, i, hub, -0.125);
    }
  }
  close(e, hub + 1, 0.125);
  input in("a hub", hub + 1, e);
  {
    const levels cpu(in, {});
    assert_false(cpu.at[0].plain);
    longest = cpu.at[0].p.row_ptr[hub + 1] - cpu.at[0].p.row_ptr[hub];
  }
  assert_true(longest > 64);
  check(in);
}

// Pairs of stars with a node between them that is adjacent to neither root: it counts the
// aggregates of its neighbours and joins the most frequent one, the lowest in a tie.
static void nodes_between_are_joined(void **) {
  entries e;
  std::vector<int64_t> n(700);
  uint64_t random = 9;
  for (size_t i = 0; i < n.size(); i++) {
    n[i] = (int64_t)i;
    std::swap(n[i], n[(size_t)test_below(&random, (int64_t)i + 1)]);
  }
  for (size_t s = 0; s < n.size(); s += 7) {
    for (const auto &[i, j] : {std::pair<size_t, size_t>{0, 1},
                               {0, 2},
                               {3, 4},
                               {3, 5},
                               {6, 1},
                               {6, 4},
                               {6, s % 2 == 0 ? 5u : 4u}}) {
      put(e, n[s + i], n[s + j], -1);
    }
  }
  close(e, (int64_t)n.size(), 0.125);
  check(input("stars", (int64_t)n.size(), e));
}

// Compares the product of two matrices, of which the second may be the unit matrix, with plain
// sums.
static void check_product(const char *name, const mbi_amg_there &a, const mbi_amg_there &b) {
  const int32_t *a_ptr = amg_at<int32_t>(a.row_ptr), *b_ptr = amg_at<int32_t>(b.row_ptr);
  std::vector<std::map<int32_t, std::pair<long double, long double>>> sums((size_t)a.rows);
  for (int64_t row = 0; row < a.rows; row++) {
    for (int64_t k = a_ptr[row]; k < a_ptr[row + 1]; k++) {
      const int32_t j = amg_at<int32_t>(a.col_ind)[k];
      for (int64_t l = b_ptr != nullptr ? b_ptr[j] : j;
           l < (b_ptr != nullptr ? b_ptr[j + 1] : j + 1); l++) {
        const long double product = (long double)amg_at<double>(a.values)[k] *
                                    (b_ptr != nullptr ? amg_at<double>(b.values)[l] : 1);
        auto &[sum, size] =
            sums[(size_t)row][b_ptr != nullptr ? amg_at<int32_t>(b.col_ind)[l] : j];
        sum += product;
        size += fabsl(product);
      }
    }
  }
  for (const uint64_t seed : simt_few_seeds) {
    mbi_amg_gpu gpu = {};
    mbi_amg_there c = {};
    amg_bed::what = {"product", name, seed};
    amg_bed::few_blocks = seed % 2 != 0;
    gpu.context = host;
    assert_int_equal(mbi_amg_gpu_open(&gpu), MERBIT_OK);
    assert_int_equal(mbi_amg_product_columns(&gpu, &a, &b, 0, &c), MERBIT_OK);
    assert_int_equal(gpu.scratch.count, 0); // given back
    assert_int_equal(mbi_amg_pool_take(host, &gpu.keep, (uint64_t)c.nnz * 8, &c.values),
                     MERBIT_OK);
    assert_int_equal(mbi_amg_product_values(&gpu, &a, &b, nullptr, &c), MERBIT_OK);
    int64_t k = 0;
    for (int64_t row = 0; row < a.rows; row++) {
      assert_int_equal(amg_at<int32_t>(c.row_ptr)[row], k);
      for (const auto &[column, pair] : sums[(size_t)row]) {
        assert_int_equal(amg_at<int32_t>(c.col_ind)[k], column);
        const long double error = fabsl(amg_at<double>(c.values)[k] - pair.first);
        assert_true(error <= ((long double)a.cols + 2) * 1.2e-16L * pair.second);
        k++;
      }
    }
    assert_int_equal(c.nnz, k);
    mbi_amg_gpu_destroy(&gpu);
    amg_bed::few_blocks = false;
  }
}

static mbi_amg_there there(input &in, int64_t cols) {
  mbi_amg_there t = {};
  t.rows = in.n;
  t.cols = cols;
  t.nnz = nnz_of(in);
  t.row_ptr = (mbi_devptr)(uintptr_t)in.row_ptr.data();
  t.col_ind = (mbi_devptr)(uintptr_t)in.col_ind.data();
  t.values = (mbi_devptr)(uintptr_t)in.values.data();
  return t;
}

// A product of random matrices, where A has rows long enough for thread blocks, against plain
// sums.
static void products_are_those_of_plain_loops(void **) {
  for (int i = 0; i < 50; i++) {
    uint64_t random = (uint64_t)i + 1;
    const int64_t rows = 40 + i, middle = 30 + 20 * i, cols = 200 + 9 * i;
    entries first, second;
    for (int64_t row = 0; row < rows; row++) {
      for (int64_t k = row % 31 == 0 ? middle : row % 5; k > 0; k--) {
        first[{row, test_below(&random, middle)}] = test_uniform(&random);
      }
    }
    for (int64_t row = 0; row < middle; row++) {
      for (int64_t k = row % 19 == 0 ? 70 : row % 4; k > 0; k--) {
        second[{row, test_below(&random, cols)}] = test_uniform(&random);
      }
    }
    input a("A", rows, first), b("B", middle, second);
    check_product(name_of("product", i), there(a, middle), there(b, cols));
  }
}

// Hash tables of every size with every number of lanes, each with rows that fit and rows that
// do not. Bitmaps have more words than a thread block has threads.
static void tables_of_all_sizes_overflow(void **) {
  const int64_t means[][2] = {{2, 1},   {10, 2},  {20, 2},  {6, 3},   {10, 6},  {4, 12},
                              {10, 40}, {16, 40}, {30, 50}, {50, 60}, {1200, 0}};
  amg_bed::few_rows = 0;
  for (const auto &[of_a, of_b] : means) { // mean row lengths; of_b 0: unit matrix
    const int64_t rows = 48, cols = 9000, middle = of_b > 0 ? 400 : cols;
    uint64_t random = (uint64_t)(100 * of_a + of_b);
    entries first, second;
    for (int64_t row = 0; row < rows; row++) {
      const int64_t length = row % 8 == 0 ? 3 * of_a : row % 8 == 5 ? (of_a + 7) / 8 : of_a;
      for (int64_t k = 0; k < length; k++) {
        first[{row, test_below(&random, middle)}] = test_uniform(&random);
      }
    }
    for (int64_t row = 0; of_b > 0 && row < middle; row++) {
      for (int64_t k = row % 3 == 0 ? 2 * of_b - 1 : (of_b + 1) / 2; k > 0; k--) {
        second[{row, test_below(&random, cols)}] = test_uniform(&random);
      }
    }
    input a("A", rows, first), b("B", middle, second);
    mbi_amg_there of_a_there = there(a, middle), of_b_there = there(b, cols);
    if (of_b == 0) {
      of_b_there.row_ptr = of_b_there.col_ind = of_b_there.values = 0;
    }
    check_product(name_of("table", (int)(100 * of_a + of_b)), of_a_there, of_b_there);
  }
  amg_bed::few_rows = 4096;
}

int main() {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(long_arrays_are_summed),
      cmocka_unit_test(matrices_are_inverted),
      cmocka_unit_test(products_are_those_of_plain_loops),
      cmocka_unit_test(tables_of_all_sizes_overflow),
      cmocka_unit_test(meshes_are_coarsened),
      cmocka_unit_test(a_vector_is_interpolated),
      cmocka_unit_test(odd_matrices_are_coarsened),
      cmocka_unit_test(negative_matrices_are_coarsened),
      cmocka_unit_test(unfit_matrices_are_refused),
      cmocka_unit_test(graphs_are_coarsened),
      cmocka_unit_test(nodes_have_several_rows),
      cmocka_unit_test(graphs_of_nodes_are_coarsened),
      cmocka_unit_test(winds_are_coarsened),
      cmocka_unit_test(arrows_are_reduced),
      cmocka_unit_test(turning_winds_are_reduced),
      cmocka_unit_test(rounding_decides_nothing),
      cmocka_unit_test(small_systems_are_solved),
      cmocka_unit_test(a_hub_is_interpolated),
      cmocka_unit_test(nodes_between_are_joined),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
