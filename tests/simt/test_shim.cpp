// The shim itself: what each operation computes, and that each mistake of a kernel is found and
// named.
#include "jit/device.cuh"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

extern "C" {
#include <cmocka.h>
}

static const mbk_u32 FULL = 0xffffffffu;

// The sentence of the error that the launch ends with.
static std::string error_of(unsigned block, const std::function<void()> &body,
                            uint64_t seed = 1, unsigned grid = 1, unsigned shared_bytes = 64) {
  try {
    simt_launch("wrong", grid, block, shared_bytes, seed, body);
  } catch (const simt_error &error) {
    return error.what();
  }
  return "none";
}

// All of `words` occur in the sentence, whatever the schedule.
static void assert_error(unsigned block, const std::function<void()> &body,
                         const std::vector<const char *> &words) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    const std::string sentence = error_of(block, body, seed);
    for (const char *word : words) {
      if (sentence.find(word) == std::string::npos) {
        fail_msg("seed %d: \"%s\" is not in: %s", (int)seed, word, sentence.c_str());
      }
    }
  }
}

// ---- What operations compute
// ----------------------------------------------------------------------

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

// Each shuffle for each width, on the whole warp and on groups with a mask of their own.
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

// Each lane names its own source, and groups of three lanes work apart from the rest.
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

// A subset may meet first while the others already wait for the whole warp.
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

static void test_popcount(void **) {
  assert_int_equal(mbk_popcount((mbk_u32)0), 0);
  assert_int_equal(mbk_popcount(FULL), 32);
  assert_int_equal(mbk_popcount((mbk_u64)0x8000000000000001u), 2);
}

static void test_atomics(void **) {
  int sum = 0;
  double real = 0;
  mbk_u32 bits = 0;
  mbk_u64 least = UINT64_MAX;
  simt_launch("atomics", 3, 64, 0, 5, [&] {
    mbk_atomic_add(&sum, (int)mbk_thread());
    mbk_atomic_add(&real, 0.5);
    mbk_atomic_or(&bits, 1u << mbk_lane() / 2);
    mbk_atomic_min(&least, (mbk_u64)mbk_block() * 64 + mbk_thread() + 7);
  });
  assert_int_equal(sum, 3 * 64 * 63 / 2);
  assert_true(real == 96);
  assert_int_equal(bits, 0xffff);
  assert_int_equal(least, 7);
}

// ---- Shared memory and barriers
// -------------------------------------------------------------------

static void test_barrier(void **) {
  for (uint64_t seed = 0; seed < 20; seed++) {
    std::vector<float> reversed(4 * 200);
    simt_launch("barrier", 4, 200, 200 * sizeof(float), seed, [&] {
      MBK_SHARED_MEMORY(memory);
      float *shared = (float *)memory;
      shared[mbk_thread()] = (float)mbk_thread();
      mbk_block_sync();
      const float other = shared[199 - mbk_thread()];
      mbk_block_sync();
      shared[mbk_thread()] = other;
      reversed[mbk_block() * 200 + mbk_thread()] = shared[mbk_thread()];
    });
    for (unsigned i = 0; i < reversed.size(); i++) {
      assert_true(reversed[i] == (float)(199 - i % 200));
    }
  }
}

static void test_poison(void **) {
  bool nan = true, aligned = true;
  simt_launch("poison", 3, 32, 256, 1, [&] {
    MBK_SHARED_MEMORY(memory);
    aligned &= (uintptr_t)memory % 16 == 0;
    nan &= isnan(((float *)memory)[mbk_lane()]) && isnan(((double *)memory)[mbk_lane()]);
    mbk_warp_sync(FULL);
    memset(memory + mbk_lane() * 8, 0, 8); // the next block finds the poison again
  });
  assert_true(nan && aligned);
}

// A hand-over without its barrier reads poison under some schedule; with it, never.
static void test_missing_sync(void **) {
  int seen[2] = {0, 0};
  for (int with = 0; with < 2; with++) {
    for (uint64_t seed = 0; seed < 20; seed++) {
      bool stale = false;
      simt_launch("hand-over", 1, 32, 128, seed, [&] {
        MBK_SHARED_MEMORY(memory);
        float *shared = (float *)memory;
        shared[mbk_lane()] = 1;
        if (with) {
          mbk_warp_sync(FULL);
        }
        stale |= isnan(shared[mbk_lane() ^ 1u]);
      });
      seen[with] += stale;
    }
  }
  assert_int_equal(seen[0], 20);
  assert_int_equal(seen[1], 0);
}

#ifndef SIMT_ASAN // which ends the process by itself
static void test_overrun(void **) {
  assert_error(32,
               [] {
                 MBK_SHARED_MEMORY(memory);
                 memory[64 + mbk_lane()] = 0;
               },
               {"kernel wrong", "block 0", "byte 64 of 64"});
}
#endif

// ---- Mistakes
// -------------------------------------------------------------------------------------

static void test_divergent_shuffle(void **) {
  // Half the warp goes to another operation, another line, another mask, another width.
  assert_error(64,
               [] {
                 if (mbk_lane() < 16) {
                   mbk_shuffle(FULL, 1, 0, 32);
                 } else {
                   mbk_ballot(FULL, true);
                 }
               },
               {"kernel wrong", "block 0", "thread ", "lane ", "mbk_shuffle (mask 0xffffffff",
                "mbk_ballot", "test_shim.cpp:", "divergent collective"});
  assert_error(32,
               [] {
                 if (mbk_lane() < 16) {
                   mbk_shuffle_up(FULL, 1, 1, 32);
                 } else {
                   mbk_shuffle_up(FULL, 1, 1, 32);
                 }
               },
               {"mbk_shuffle_up", "divergent collective"});
  assert_error(32, [] { mbk_shuffle_down(mbk_lane() < 16 ? FULL : 0xffff0000u, 1, 1, 16); },
               {"mbk_shuffle_down", "mask 0xffffffff"});
  assert_error(32, [] { mbk_shuffle(FULL, 1, 0, mbk_lane() < 16 ? 16 : 32); },
               {"width 16", "width 32", "divergent collective"});
  assert_error(32,
               [] {
                 if (mbk_lane() % 2) {
                   mbk_shuffle(FULL, 1.0, 0, 32);
                 } else {
                   mbk_shuffle(FULL, 1.0f, 0, 32);
                 }
               },
               {"8 bytes", "4 bytes"});
}

static void test_lane_exits(void **) {
  assert_error(
      32,
      [] {
        if (mbk_lane() != 7) {
          mbk_warp_sync(FULL);
        }
      },
      {"thread 7 (warp 0, lane 7)", "exit", "mbk_warp_sync (mask 0xffffffff)", "divergent"});
}

static void test_loop_of_unequal_length(void **) {
  assert_error(32,
               [] {
                 for (mbk_u32 i = 0; i <= mbk_lane() / 31; i++) {
                   mbk_ballot(FULL, true);
                 }
               },
               {"thread 31", "mbk_ballot", "exit"});
}

static void test_missing_barrier(void **) {
  assert_error(96,
               [] {
                 if (mbk_thread() == 40) {
                   return;
                 }
                 mbk_block_sync();
               },
               {"thread 40 (warp 1, lane 8)", "exit", "mbk_block_sync", "missing barrier"});
  assert_error(64,
               [] {
                 if (mbk_thread() < 32) {
                   mbk_block_sync();
                 } else {
                   mbk_block_sync();
                 }
               },
               {"mbk_block_sync", "missing barrier"});
  assert_error(32,
               [] {
                 if (mbk_thread() == 5) {
                   mbk_block_sync();
                 } else {
                   mbk_warp_sync(FULL);
                 }
               },
               {"thread 5 ", "mbk_block_sync", "mbk_warp_sync", "divergent"});
}

// Three lanes wait for each other in a ring, which no pair of them shows.
static void test_ring(void **) {
  assert_error(32,
               [] {
                 const mbk_u32 lane = mbk_lane();
                 if (lane < 3) {
                   const mbk_u32 pairs[3] = {0x3u, 0x6u, 0x5u};
                   mbk_warp_sync(pairs[lane]);
                 }
               },
               {"mbk_warp_sync", "thread 0", "kernel wrong"});
  // One warp waits at the barrier, the other for a lane of its own that does.
  assert_error(64,
               [] {
                 if (mbk_thread() >= 32) {
                   mbk_ballot(mbk_lane() < 31 ? 0x7fffffffu : 0x80000000u, true);
                 }
                 mbk_block_sync();
                 if (mbk_thread() == 0) {
                   mbk_block_sync();
                 }
               },
               {"exit", "mbk_block_sync", "missing barrier"});
}

static void test_bad_calls(void **) {
  assert_error(32, [] { mbk_shuffle(0x3u << mbk_lane() / 2 * 2, 1, 31, 32); },
               {"reads lane 31, which the mask lacks"});
  assert_error(32, [] { mbk_shuffle_down(0xffffu << mbk_lane() / 16 * 16, 1, 1, 32); },
               {"thread 15", "reads lane 16, which the mask lacks", "mbk_shuffle_down"});
  assert_error(32, [] { mbk_ballot(0xfffffffeu, true); }, {"thread 0 ", "mask 0xfffffffe"});
  assert_error(20, [] { mbk_warp_sync(FULL); }, {"names lanes beyond the block's 20 threads"});
  assert_error(32, [] { mbk_shuffle(FULL, 1, 0, 12); }, {"width 12", "power of two"});
  assert_error(32, [] { mbk_shuffle_up(FULL, 1, -1, 32); }, {"delta -1"});
  assert_error(32, [] { mbk_shuffle_up(FULL, 1, 32, 32); }, {"delta 32"});
}

static void test_bad_launches(void **) {
  const auto nothing = [] {};
  assert_true(error_of(32, nothing, 1, 0).find("0 blocks of 32 threads") != std::string::npos);
  assert_true(error_of(0, nothing).find("blocks of 0 threads") != std::string::npos);
  assert_true(error_of(1025, nothing).find("1025") != std::string::npos);
  assert_true(error_of(32, nothing, 1, 1, 1 << 20).find("1048576") != std::string::npos);
}

// After an error, whatever stacks it left behind, the next launch is sound.
static void test_goes_on_after_errors(void **) {
  for (uint64_t seed = 0; seed < 30; seed++) {
    error_of(
        256,
        [] {
          volatile char frame[4096];
          frame[mbk_thread()] = 1;
          if (mbk_thread() != 100) {
            mbk_block_sync();
          }
          frame[0] = frame[mbk_thread()];
        },
        seed);
    test_barrier(nullptr);
  }
}

// ---- Schedules
// ------------------------------------------------------------------------------------

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

int main() {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_indices),
      cmocka_unit_test(test_shuffles),
      cmocka_unit_test(test_shuffle_types),
      cmocka_unit_test(test_odd_masks),
      cmocka_unit_test(test_nested_masks),
      cmocka_unit_test(test_popcount),
      cmocka_unit_test(test_atomics),
      cmocka_unit_test(test_barrier),
      cmocka_unit_test(test_poison),
      cmocka_unit_test(test_missing_sync),
#ifndef SIMT_ASAN
      cmocka_unit_test(test_overrun),
#endif
      cmocka_unit_test(test_divergent_shuffle),
      cmocka_unit_test(test_lane_exits),
      cmocka_unit_test(test_loop_of_unequal_length),
      cmocka_unit_test(test_missing_barrier),
      cmocka_unit_test(test_ring),
      cmocka_unit_test(test_bad_calls),
      cmocka_unit_test(test_bad_launches),
      cmocka_unit_test(test_goes_on_after_errors),
      cmocka_unit_test(test_seeds),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
