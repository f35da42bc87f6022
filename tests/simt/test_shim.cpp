// The shim itself: results of each warp operation, and schedules.
#include "simt/shim_test.h"

#include <set>

// ---- Indices and shuffles -------------------------------------------------------------------

static void test_indices(void **) {
  std::vector<unsigned> seen(5 * 40);
  const simt_report report = simt_launch("indices", 5, 40, 0, 3, [&] {
    seen[mbk_block() * 40 + mbk_thread()] += 1 + mbk_lane() + 100 * mbk_grid();
  });
  for (unsigned i = 0; i < seen.size(); i++) {
    assert_int_equal(seen[i], 501 + i % 40 % 32);
  }
  assert_int_equal(report.blocks, 5);
}

// Each shuffle with each width, on the whole warp and on groups with their own masks.
static void test_shuffles(void **) {
  for (int width : {1, 2, 8, 16, 32}) {
    for (bool groups : {false, true}) {
      for (int d = 0; d < width; d++) {
        double idx[64], up[64], down[64];
        simt_launch("shuffles", 1, 64, 0, (uint64_t)(width + d), [&] {
          const int t = (int)mbk_thread(), lane = (int)mbk_lane();
          const mbk_u32 mask =
              groups && width < 32 ? ((1u << width) - 1u) << (lane / width * width) : FULL;
          idx[t] = mbk_shuffle(mask, t + 0.5, d + 3 * width, width);
          up[t] = mbk_shuffle_up(mask, t + 0.5, d, width);
          down[t] = mbk_shuffle_down(mask, t + 0.5, d, width);
        });
        for (int t = 0; t < 64; t++) {
          const int first = t / width * width, inside = t % width;
          assert_true(idx[t] == first + d + 0.5);
          assert_true(up[t] == (inside >= d ? t - d : t) + 0.5);
          assert_true(down[t] == (inside + d < width ? t + d : t) + 0.5);
        }
      }
    }
  }
}

template <class T> static void shuffle_type(T one, T two) {
  T got[32];
  simt_launch("types", 1, 32, 0, 1, [&] {
    got[mbk_lane()] = mbk_shuffle(FULL, mbk_lane() == 31 ? two : one, 31 - (int)mbk_lane(), 32);
  });
  assert_true(got[0] == two && got[1] == one && got[31] == one);
}

static void test_shuffle_types(void **) {
  shuffle_type<mbk_i32>(-1, 2147483647);
  shuffle_type<mbk_u32>(1, 4294967295u);
  shuffle_type<mbk_i64>(-1, INT64_MIN);
  shuffle_type<mbk_u64>(1, UINT64_MAX);
  shuffle_type<float>(1.5f, -INFINITY);
  shuffle_type<double>(1.5, 1e-310);
}

// Each lane names its own source, and groups of three lanes work independently.
static void test_odd_masks(void **) {
  int got[32];
  mbk_u32 votes[32];
  simt_launch("masks", 1, 32, 0, 9, [&] {
    const int lane = (int)mbk_lane();
    const mbk_u32 mask = lane % 11 == 0 ? 0x00400801u : ~0x00400801u;
    got[lane] = lane % 11 == 0 ? mbk_shuffle(mask, lane, lane == 22 ? 0 : lane + 11, 32) : -1;
    votes[lane] = mbk_ballot(lane < 16 ? 0xffffu : 0xffff0000u, lane % 3 == 0);
    mbk_warp_sync(mask);
  });
  for (unsigned lane = 0; lane < 32; lane++) {
    mbk_u32 expected = 0;
    for (unsigned other = lane / 16 * 16; other < lane / 16 * 16 + 16; other++) {
      expected |= (mbk_u32)(other % 3 == 0) << other;
    }
    assert_int_equal(votes[lane], expected);
    assert_int_equal(got[lane], lane == 0 ? 11 : lane == 11 ? 22 : lane == 22 ? 0 : -1);
  }
}

// A subset may synchronise first while the others already wait for the whole warp.
static void test_nested_masks(void **) {
  for (uint64_t seed = 0; seed < 20; seed++) {
    mbk_u32 votes[32];
    simt_launch("nested", 1, 32, 0, seed, [&] {
      bool flag = false;
      if (mbk_lane() < 4) {
        flag = mbk_ballot(0xfu, mbk_lane() == 2) == 4u;
      }
      votes[mbk_lane()] = mbk_ballot(FULL, flag);
    });
    assert_int_equal(votes[31], 0xf);
  }
}

// In PTX a lane may read earlier groups of `width` lanes; from later ones it gets its own
// value.
static void test_shuffle_xor(void **) {
  for (int width : {1, 4, 8, 32}) {
    for (int lanes = 0; lanes < 32; lanes++) {
      int got[32];
      simt_launch("xor", 1, 32, 0, (uint64_t)lanes, [&] {
        const int lane = (int)mbk_lane();
        got[lane] = mbk_shuffle_xor(FULL, lane * 3, lanes, width);
      });
      for (int lane = 0; lane < 32; lane++) {
        const int source = (lane ^ lanes) / width > lane / width ? lane : lane ^ lanes;
        assert_int_equal(got[lane], source * 3);
      }
    }
  }
}

// ---- Votes, matches, sums -------------------------------------------------------------------

static void test_votes(void **) {
  for (mbk_u32 set : {0u, 1u, 0x00ff00ffu, 0xfffffffeu, FULL}) {
    for (mbk_u32 mask : {FULL, 0x0000ffffu}) {
      mbk_u32 ballot[32] = {};
      bool any[32] = {}, all[32] = {};
      simt_launch("votes", 1, 32, 0, set % 7, [&] {
        const mbk_u32 lane = mbk_lane();
        const bool flag = set >> lane & 1u;
        if (mask >> lane & 1u) {
          ballot[lane] = mbk_ballot(mask, flag);
          any[lane] = mbk_any(mask, flag);
          all[lane] = mbk_all(mask, flag);
        }
      });
      for (mbk_u32 lane = 0; lane < 32; lane++) {
        const bool in = mask >> lane & 1u;
        assert_int_equal(ballot[lane], in ? set & mask : 0);
        assert_int_equal(any[lane], in && (set & mask) != 0);
        assert_int_equal(all[lane], in && (set & mask) == mask);
      }
    }
  }
}

template <class T> static void match_type(T one, T two) {
  mbk_u32 got[32];
  simt_launch("match", 1, 32, 0, 4, [&] {
    const mbk_u32 mask = mbk_lane() < 16 ? 0xffffu : 0xffff0000u;
    got[mbk_lane()] = mbk_match_any(mask, mbk_lane() % 3 == 0 ? one : two);
  });
  for (unsigned lane = 0; lane < 32; lane++) {
    mbk_u32 expected = 0;
    for (unsigned other = lane / 16 * 16; other < lane / 16 * 16 + 16; other++) {
      expected |= (mbk_u32)((other % 3 == 0) == (lane % 3 == 0)) << other;
    }
    assert_int_equal(got[lane], expected);
  }
}

static void test_match(void **) {
  match_type<mbk_u32>(7, 8);
  match_type<mbk_u64>(7, UINT64_C(7) << 40);
  match_type<float>(0.0f, -0.0f); // compares bits, as on a GPU
  match_type<double>(NAN, 1.0);
}

static void test_reduce_add(void **) {
  mbk_i32 sums[32];
  mbk_u32 wraps[32];
  simt_launch("sums", 1, 32, 0, 4, [&] {
    const mbk_i32 lane = (mbk_i32)mbk_lane();
    sums[lane] = mbk_reduce_add(lane < 8 ? 0xffu : ~0xffu, lane < 8 ? -lane : lane);
    wraps[lane] = mbk_reduce_add(FULL, 0x80000001u);
  });
  assert_int_equal(sums[3], -28);
  assert_int_equal(sums[20], 31 * 16 - 28);
  assert_int_equal(wraps[31], 32);
}

static void test_bits(void **) {
  assert_int_equal(mbk_popcount((mbk_u32)0), 0);
  assert_int_equal(mbk_popcount(FULL), 32);
  assert_int_equal(mbk_popcount((mbk_u64)0x8000000000000001u), 2);
  assert_int_equal(mbk_leading_zeros((mbk_u32)0), 32);
  assert_int_equal(mbk_leading_zeros((mbk_u32)0x00800000u), 8);
  assert_int_equal(mbk_leading_zeros((mbk_u64)0), 64);
  assert_int_equal(mbk_leading_zeros((mbk_u64)1), 63);
  assert_int_equal(mbk_first_bit((mbk_u32)0), 0);
  assert_int_equal(mbk_first_bit((mbk_u32)0x80000000u), 32);
  assert_int_equal(mbk_first_bit((mbk_u64)0), 0);
  assert_int_equal(mbk_first_bit((mbk_u64)1 << 40), 41);
}

// ---- Schedules ------------------------------------------------------------------------------

static std::vector<unsigned> append(uint64_t seed) {
  std::vector<unsigned> order;
  simt_launch("append", 3, 64, 0, seed, [&] {
    for (int i = 0; i < 3; i++) {
      order.push_back(mbk_block() * 64 + mbk_thread());
      mbk_warp_sync(FULL);
    }
  });
  return order;
}

static void test_seeds(void **) {
  assert_true(append(1) == append(1));
  assert_true(append(2) == append(2));
  assert_true(append(1) != append(2));
  assert_true(append(0) != append(1));
  bool backwards = false; // some seed runs the last block first
  for (uint64_t seed = 0; seed < 20; seed++) {
    backwards |= append(seed)[0] / 64 == 2;
  }
  assert_true(backwards);
}

// Between two operations of a warp each lane runs first, or last, under some seed; warps also
// take turns when none of them waits.
static void test_turns(void **) {
  const uint64_t seeds = 50;
  std::set<unsigned> first, last;
  unsigned turns = 0;
  for (uint64_t seed = 0; seed < seeds; seed++) {
    std::vector<unsigned> order, own[4]; // own: for each warp
    simt_launch("turns", 1, 128, 0, seed, [&] {
      for (int i = 0; i < 8; i++) {
        order.push_back(mbk_thread() / 32);
        own[mbk_thread() / 32].push_back(mbk_lane());
        mbk_warp_sync(FULL);
      }
    });
    for (size_t i = 1; i < order.size(); i++) {
      turns += order[i] != order[i - 1];
    }
    for (const std::vector<unsigned> &lanes : own) {
      for (size_t i = 0; i < lanes.size(); i += 32) {
        assert_int_equal(
            std::set<unsigned>(lanes.begin() + (long)i, lanes.begin() + (long)i + 32).size(),
            32);
        first.insert(lanes[i]);
        last.insert(lanes[i + 31]);
      }
    }
  }
  assert_int_equal(first.size(), 32);
  assert_int_equal(last.size(), 32);
  assert_true(turns > 2 * 3 * seeds); // 3 per block: each warp once
}

// One fibre per thread, up to the largest block, each with its own stack.
static void test_most_threads(void **) {
  unsigned long long sum = 0;
  const simt_report report = simt_launch("most", 2, 1024, 0, 1, [&] {
    volatile unsigned char frame[16384];
    frame[mbk_thread()] = (unsigned char)mbk_thread();
    mbk_block_sync();
    mbk_atomic_add(&sum, (mbk_u64)frame[mbk_thread()]);
  });
  assert_int_equal(sum, 2 * 4 * 255 * 128);
  assert_true(report.switches >= 2 * 1024 && report.blocks == 2);
}

// ---- Kernels with a struct of arguments -----------------------------------------------------

struct scale_arguments {
  mbk_u64 n;
  float factor;
  float *x;
};

MBK_KERNEL scale(const scale_arguments a) {
  const mbk_u64 i = (mbk_u64)mbk_block() * 32 + mbk_thread();
  if (i < a.n) {
    a.x[i] *= a.factor;
  }
  mbk_warp_sync(a.n > 40 ? FULL : 1u);
}

static void test_launch_kernel(void **) {
  const simt_kernel kernel = SIMT_KERNEL(scale);
  float x[64];
  scale_arguments arguments = {50, 3, x};
  char error[300] = "";
  for (int i = 0; i < 64; i++) {
    x[i] = (float)i;
  }
  assert_string_equal(kernel.name, "scale");
  assert_int_equal(
      simt_launch_kernel(&kernel, 2, 32, 0, 1, &arguments, false, error, sizeof error), 0);
  for (int i = 0; i < 64; i++) {
    assert_true(x[i] == (float)(i < 50 ? 3 * i : i));
  }
  arguments.n = 20;
  assert_int_equal(
      simt_launch_kernel(&kernel, 2, 32, 0, 1, &arguments, false, error, sizeof error), 1);
  assert_non_null(strstr(error, "kernel scale, block "));
  assert_non_null(strstr(error, "is not in its own mask"));
}

struct inner_fields {
  unsigned char first;
  double *at[3];
};
struct outer_fields {
  mbk_u32 n;
  inner_fields in;
  mbk_u16 small;
  mbk_scalar alpha, beta;
  const void *last;
};

static void test_fields(void **) {
  const simt_fields &scaled = *SIMT_KERNEL(scale).fields;
  const simt_fields &outer = simt_struct<outer_fields>::fields;
  const size_t at[] = {offsetof(outer_fields, n),     offsetof(outer_fields, in),
                       offsetof(outer_fields, small), offsetof(outer_fields, alpha),
                       offsetof(outer_fields, beta),  offsetof(outer_fields, last)};
  assert_true(scaled.count == 3 && scaled.pointers == 1 && scaled.bytes == 24);
  assert_true(scaled.field[1].at == 8 && scaled.field[1].bytes == 4);
  assert_true(scaled.pointer[0] == 16 && scaled.field_of[0] == 2);
  assert_true(outer.count == 6 && outer.pointers == 4 && outer.bytes == sizeof(outer_fields));
  for (unsigned i = 0; i < 6; i++) {
    assert_int_equal(outer.field[i].at, at[i]);
    assert_true(outer.field[i].scalar == (i == 3 || i == 4));
  }
  for (unsigned i = 0; i < 3; i++) {
    assert_int_equal(outer.pointer[i], offsetof(outer_fields, in.at) + i * sizeof(double *));
    assert_int_equal(outer.field_of[i], 1);
  }
  assert_true(outer.pointer[3] == at[5] && outer.field_of[3] == 5);
  assert_int_equal(simt_struct<float *>::fields.pointers, 1);
}

// A list of arguments becomes the struct if it has a value of the right size for each field.
static void test_pack(void **) {
  const simt_fields &outer = simt_struct<outer_fields>::fields;
  const inner_fields in = {1, {nullptr, nullptr, nullptr}};
  const void *const last = &in;
  const mbk_u16 small = 4;
  const auto packed = simt_pack(outer, 7u, in, small, 2.0f, last, last);
  const outer_fields *const made = (const outer_fields *)packed.data();
  assert_true(made->n == 7 && made->small == 4 && made->last == last);
  assert_true(made->alpha.words[0] == (UINT64_C(0xffffffff) << 32 | 0x40000000u));
  assert_true(made->beta.words[0] == (mbk_u64)last && made->beta.words[1] == UINT64_MAX);
  assert_true(simt_pack(outer, 7u, in, small, 2.0f, last).empty());
  assert_true(simt_pack(outer, 7u, in, 4, 2.0f, last, last).empty());
  assert_true(simt_pack(outer, 7u, in, small, 2.0f, in, last).empty());
  assert_true(simt_pack(outer, 7u, in, small, 2.0f, last, last, last).empty());
}

int main() {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_indices),       cmocka_unit_test(test_shuffles),
      cmocka_unit_test(test_shuffle_types), cmocka_unit_test(test_shuffle_xor),
      cmocka_unit_test(test_odd_masks),     cmocka_unit_test(test_nested_masks),
      cmocka_unit_test(test_votes),         cmocka_unit_test(test_match),
      cmocka_unit_test(test_reduce_add),    cmocka_unit_test(test_bits),
      cmocka_unit_test(test_seeds),         cmocka_unit_test(test_turns),
      cmocka_unit_test(test_most_threads),  cmocka_unit_test(test_launch_kernel),
      cmocka_unit_test(test_fields),        cmocka_unit_test(test_pack),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
