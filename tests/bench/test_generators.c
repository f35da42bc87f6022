/* The benchmark's matrices are valid, have the requested size and shape, and are the same for
 * every number of threads. Its comparison of results must be able to fail. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../bench/catalogue.h"
#include "../../bench/verify.h"
#include "matrices.h"
#include "support/effort.h"
#include <sys/wait.h>
#include <unistd.h>

static uint64_t mix(uint64_t hash, const void *data, size_t size) {
  const unsigned char *bytes = (const unsigned char *)data;
  size_t i;
  for (i = 0; i < size; i++) {
    hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
  }
  return hash;
}

static uint64_t fingerprint(const bench_matrix *m) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  hash = mix(hash, &m->cols, sizeof m->cols);
  hash = mix(hash, m->row_ptr, (size_t)(m->rows + 1) * sizeof *m->row_ptr);
  hash = mix(hash, m->col_ind, (size_t)m->nnz * sizeof *m->col_ind);
  return mix(hash, m->values, (size_t)m->nnz * sizeof *m->values);
}

static void make(bench_matrix *m, const char *name, const char *size_and_seed) {
  char spec[128];
  (void)snprintf(spec, sizeof spec, "gen:%s:%s", name, size_and_seed);
  bench_generate(spec, m);
}

static void assert_valid(const bench_matrix *m) {
  int64_t row, k;
  assert_true(m->rows > 0 && m->cols > 0);
  assert_int_equal(m->row_ptr[0], 0);
  assert_int_equal(m->row_ptr[m->rows], m->nnz);
  for (row = 0; row < m->rows; row++) {
    assert_true(m->row_ptr[row] <= m->row_ptr[row + 1]);
    for (k = m->row_ptr[row]; k < m->row_ptr[row + 1]; k++) {
      assert_true(m->col_ind[k] >= 0 && m->col_ind[k] < m->cols);
      assert_true(k == m->row_ptr[row] || m->col_ind[k - 1] < m->col_ind[k]);
      assert_true(m->values[k] >= 0.5 && m->values[k] < 1.5);
    }
  }
}

static void sizes_are_met(void **state) {
  static const struct {
    const char *text;
    double target, slack; /* tiny ones only need to be valid */
  } sizes[] = {{"1", 1, 100},     {"10", 10, 20},      {"30", 30, 20},     {"300", 300, 0.6},
               {"20k", 2e4, 0.1}, {"100k", 1e5, 0.05}, {"0.4M", 4e5, 0.03}};
  const int count = test_effort(6, 7);
  int i, s;
  (void)state;
  for (i = 0; i < BENCH_GENERATORS; i++) {
    for (s = 0; s < count; s++) {
      bench_matrix m;
      make(&m, bench_generators[i].name, sizes[s].text);
      assert_valid(&m);
      if (fabs((double)m.nnz - sizes[s].target) > sizes[s].slack * sizes[s].target) {
        fail_msg("%s has %lld nonzeros", m.name, (long long)m.nnz);
      }
      bench_matrix_free(&m);
    }
  }
}

/* Hashes recorded once, on one thread. Another value means another matrix under the same name:
 * published figures are then no longer comparable. */
static void same_seed_same_matrix(void **state) {
  static const uint64_t recorded[BENCH_GENERATORS] = {
      UINT64_C(0xe931c4192ad885d3), UINT64_C(0x43045e89ba91a7bb), UINT64_C(0xc4581c8118fda8f8),
      UINT64_C(0x5ea7795894aa7229), UINT64_C(0xa4058c8233dea4f8), UINT64_C(0xc96c79da3b2e60be),
      UINT64_C(0xe779db2ee06c5e73), UINT64_C(0x290ab57970c2bbae), UINT64_C(0xcbe0759d5777d630),
      UINT64_C(0xa6ff469eea69366e), UINT64_C(0x75e9674e6ec3f5b3), UINT64_C(0x57b8091f642a0ec8),
      UINT64_C(0xb1cb79c5a0ae5809), UINT64_C(0xa3df2e998ad9d2d6), UINT64_C(0x30a052e8bb9a2b80),
      UINT64_C(0x26316f9c246dc625), UINT64_C(0xed4425de892391c9), UINT64_C(0x6c8bbcaad3f53309),
      UINT64_C(0x9ec497288edda2b7), UINT64_C(0x7c51c2055036483b), UINT64_C(0x3e0fef3daa30e577),
      UINT64_C(0x0687cb50bbfb96af), UINT64_C(0x52aaad3f0451f9a0), UINT64_C(0x85d93aab76f8aed4),
      UINT64_C(0xd261d74c21fbbedd), UINT64_C(0x6312df99852cc40a), UINT64_C(0xef1d90f26b83674c),
      UINT64_C(0xdd183cb02df08804), UINT64_C(0x13564ab37749f4c0), UINT64_C(0xe3531dd7bdaaa4b6),
      UINT64_C(0x7c0fd444c00fec40), UINT64_C(0x3231f84077cb2b64), UINT64_C(0x43e25fa9c72496fd),
      UINT64_C(0xfb714b166fe67167), UINT64_C(0x0ad0532604eca03c), UINT64_C(0xd60ac236f5af672a),
      UINT64_C(0x00356d4ad35bcaee), UINT64_C(0xf572245ff68e1f4d), UINT64_C(0x9bb7391a18d4be71),
      UINT64_C(0xc1e4e21022009989), UINT64_C(0xab2cbbcb62a2895f), UINT64_C(0x66155c92a8b5dee0),
      UINT64_C(0x06270bbb4907112a), UINT64_C(0x0baf75af05cd39aa), UINT64_C(0x6de85d263552e1f1),
      UINT64_C(0xf625500354b93b40)};
  int i;
  (void)state;
  for (i = 0; i < BENCH_GENERATORS; i++) {
    const char *name = bench_generators[i].name;
    bench_matrix first, other;
    uint64_t expected;
    make(&first, name, "60k:1");
    expected = fingerprint(&first);
    if (expected != recorded[i]) {
      print_error("%s: 0x%016llx\n", name, (unsigned long long)expected);
    }
    assert_true(expected == recorded[i]);
#ifdef _OPENMP
    for (int threads = 1; threads <= 7; threads += 3) {
      omp_set_num_threads(threads);
      make(&other, name, "60k:1");
      assert_true(fingerprint(&other) == expected);
      bench_matrix_free(&other);
    }
#endif
    make(&other, name, "60k:2");
    assert_true(fingerprint(&other) != expected);
    bench_matrix_free(&other);
    make(&other, name, "60k");
    assert_true(fingerprint(&other) == expected);
    bench_matrix_free(&other);
    bench_matrix_free(&first);
  }
}

static void road_is_like_a_road_network(void **state) {
  bench_matrix m;
  int64_t row, k, near = 0, farthest = 0;
  (void)state;
  make(&m, "road", "0.7M");
  assert_true(symmetric(&m));
  assert_true(bench_longest_row(&m) <= 8);
  assert_int_equal(rows_of_length(&m, 1, 8), m.rows);
  assert_true(fabs((double)m.nnz / (double)m.rows - 2.4) < 0.03);
  for (row = 0; row < m.rows; row++) {
    for (k = m.row_ptr[row]; k < m.row_ptr[row + 1]; k++) {
      const int64_t distance = llabs(m.col_ind[k] - row);
      near += distance < 8192;
      farthest = distance > farthest ? distance : farthest;
    }
  }
  assert_true((double)near > 0.95 * (double)m.nnz);
  assert_true((double)near < 0.9999 * (double)m.nnz);
  assert_true(farthest > m.rows / 4);
  bench_matrix_free(&m);
}

static void road_numbering_is_a_bijection(void **state) {
  int64_t at, x, y, before_x = 0, before_y = 0;
  uint64_t i;
  int bits;
  (void)state;
  for (at = 0; at < 1024; at++) {
    road_curve_point(5, at, &x, &y);
    assert_true(x >= 0 && x < 32 && y >= 0 && y < 32);
    assert_int_equal(road_curve_index(5, x, y), at);
    assert_true(at == 0 || llabs(x - before_x) + llabs(y - before_y) == 1);
    before_x = x;
    before_y = y;
  }
  for (bits = 1; bits < 12; bits++) {
    for (i = 0; i < (uint64_t)1 << bits; i++) {
      assert_true(bench_permute(77, bits, i) < (uint64_t)1 << bits);
      assert_true(bench_unpermute(77, bits, bench_permute(77, bits, i)) == i);
    }
  }
}

static void star_is_a_tree_with_hubs(void **state) {
  bench_matrix m;
  int64_t longest;
  (void)state;
  make(&m, "star", "0.4M");
  assert_true(symmetric(&m));
  assert_int_equal(m.nnz, 2 * (m.rows - 1));
  longest = bench_longest_row(&m);
  assert_true((double)longest > 0.48 * (double)m.rows &&
              (double)longest < 0.52 * (double)m.rows);
  assert_true((double)rows_of_length(&m, 1, 1) > 0.85 * (double)m.rows);
  assert_int_equal(rows_of_length(&m, 0, 0), 0);
  assert_int_equal(rows_of_length(&m, m.rows / 80, m.rows), STAR_HUBS);
  bench_matrix_free(&m);
}

static void rmat_has_its_quadrants(void **state) {
  bench_matrix m;
  int64_t row, k, quadrants[4] = {0, 0, 0, 0};
  (void)state;
  make(&m, "rmat", "500k");
  assert_int_equal(m.rows, 32768);
  for (row = 0; row < m.rows; row++) {
    for (k = m.row_ptr[row]; k < m.row_ptr[row + 1]; k++) {
      quadrants[2 * (row >= m.rows / 2) + (m.col_ind[k] >= m.cols / 2)]++;
    }
  }
  /* Most dropped duplicates are in the first quadrant. */
  assert_true(fabs((double)quadrants[0] / (double)m.nnz - 0.56) < 0.03);
  assert_true(fabs((double)quadrants[1] / (double)m.nnz - 0.195) < 0.015);
  assert_true(fabs((double)quadrants[2] / (double)m.nnz - 0.195) < 0.015);
  assert_true(fabs((double)quadrants[3] / (double)m.nnz - 0.05) < 0.01);
  assert_true(bench_longest_row(&m) > 1000);
  bench_matrix_free(&m);
}

static void the_regular_ones(void **state) {
  bench_matrix m;
  (void)state;
  make(&m, "stencil27", "100k");
  assert_true(symmetric(&m));
  assert_int_equal(m.row_ptr[1], 8);
  assert_int_equal(bench_longest_row(&m), 27);
  assert_int_equal(rows_of_length(&m, 8, 8), 8);
  bench_matrix_free(&m);
  make(&m, "short", "100k");
  assert_int_equal(rows_of_length(&m, 2, 2), m.rows);
  bench_matrix_free(&m);
  make(&m, "onerow", "100k");
  assert_int_equal(bench_longest_row(&m), 90000);
  assert_int_equal(rows_of_length(&m, 4, 4), m.rows - 1);
  bench_matrix_free(&m);
  make(&m, "uniform", "100k");
  assert_int_equal(m.rows, 6250);
  assert_true(bench_longest_row(&m) <= 32);
  bench_matrix_free(&m);
}

static void counts_are_read(void **state) {
  (void)state;
  assert_int_equal(bench_parse_count("60M"), 60000000);
  assert_int_equal(bench_parse_count("57.5M"), 57500000);
  assert_int_equal(bench_parse_count("100k"), 100000);
  assert_int_equal(bench_parse_count("100K"), 100000);
  assert_int_equal(bench_parse_count("1G"), 1000000000);
  assert_int_equal(bench_parse_count("12345"), 12345);
  assert_int_equal(bench_parse_count("3G"), -1);
  assert_int_equal(bench_parse_count("60x"), -1);
  assert_int_equal(bench_parse_count("60Mx"), -1);
  assert_int_equal(bench_parse_count("-5"), -1);
  assert_int_equal(bench_parse_count("nan"), -1);
  assert_int_equal(bench_parse_count(""), -1);
}

/* Asserts the error message of a child process. */
static void assert_refused(const char *spec, const char *expected) {
  char message[512] = "";
  int ends[2], status = 0;
  size_t length = 0;
  ssize_t got;
  pid_t child;
  assert_int_equal(pipe(ends), 0);
  child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    bench_matrix m;
    (void)dup2(ends[1], STDERR_FILENO);
    bench_generate(spec, &m);
    _exit(0);
  }
  (void)close(ends[1]);
  while ((got = read(ends[0], message + length, sizeof message - 1 - length)) > 0) {
    length += (size_t)got;
  }
  (void)close(ends[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
  if (strstr(message, expected) == NULL) {
    fail_msg("%s: %s", spec, message);
  }
}

static void bad_inputs_are_refused(void **state) {
  (void)state;
  assert_refused("gen:nothing:10k", "there is no generator nothing");
  assert_refused("gen:road", "gen:NAME:NNZ");
  assert_refused("gen:road:many", "many is no number of nonzeros");
  assert_refused("gen:road:0", "0 is no number of nonzeros");
  assert_refused("gen:road:10k:x", "the seed x");
}

/* Rounded double products pass in both precisions, and fail as soon as an element is wrong. */
static void compare_can_fail(void **state) {
  static const char *const names[] = {"rmat", "onerow", "star"};
  size_t n;
  int single;
  (void)state;
  for (n = 0; n < 2 * sizeof names / sizeof names[0]; n++) {
    bench_matrix m;
    bench_problem p;
    bench_verdict verdict;
    void *y;
    int64_t row, hub = 0;
    single = (int)(n % 2);
    make(&m, names[n / 2], "50k");
    bench_problem_create(&p, &m, single);
    y = bench_allocate(m.rows, p.size);
    for (row = 0; row < m.rows; row++) {
      bench_element_set(y, row, single,
                        (double)(0.5L * p.sum[row]) + 2.0 * bench_element(p.y0, row, single));
      hub =
          m.row_ptr[row + 1] - m.row_ptr[row] > m.row_ptr[hub + 1] - m.row_ptr[hub] ? row : hub;
    }
    verdict = bench_compare(&p, 0.5, 2.0, y);
    assert_true(bench_verdict_good(&p, verdict));
    verdict = bench_compare(&p, 1.0, 0.0, y);
    assert_false(bench_verdict_good(&p, verdict));
    row = hub == 0 ? 1 : 0;
    bench_element_set(y, row, single,
                      bench_element(y, row, single) + (single ? 1e-3 : 1e-12) * 50);
    verdict = bench_compare(&p, 0.5, 2.0, y);
    assert_int_equal(verdict.wrong, 1);
    bench_element_set(y, row, single, NAN);
    verdict = bench_compare(&p, 0.5, 2.0, y);
    assert_int_equal(verdict.wrong, 1);
    assert_false(bench_verdict_good(&p, verdict));
    free(y);
    bench_problem_free(&p);
    bench_matrix_free(&m);
  }
  /* Even beyond the range of gamma the bound is finite. */
  assert_true(bench_allowed(16000000, 1.0, 1) > 0 && bench_allowed(16000000, 1.0, 1) < 2.0);
  assert_true(bench_allowed(20000000, 1.0, 1) < 2.5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_are_met),
      cmocka_unit_test(same_seed_same_matrix),
      cmocka_unit_test(road_is_like_a_road_network),
      cmocka_unit_test(road_numbering_is_a_bijection),
      cmocka_unit_test(star_is_a_tree_with_hubs),
      cmocka_unit_test(rmat_has_its_quadrants),
      cmocka_unit_test(the_regular_ones),
      cmocka_unit_test(counts_are_read),
      cmocka_unit_test(bad_inputs_are_refused),
      cmocka_unit_test(compare_can_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
