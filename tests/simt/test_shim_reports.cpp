// Each error of a kernel is found under every schedule, and the message names kernel, block,
// thread, operation, mask and source location.
#include "simt/shim_test.h"

#include <sys/wait.h>

static void test_divergent_shuffle(void **) {
  // Half of the warp is at another operation, line, mask or width.
  assert_error(64,
               [] {
                 if (mbk_lane() < 16) {
                   mbk_shuffle(FULL, 1, 0, 32);
                 } else {
                   mbk_ballot(FULL, true);
                 }
               },
               {"kernel wrong", "block 0", "thread ", "lane ", "mbk_shuffle (mask 0xffffffff",
                "mbk_ballot", "test_shim_reports.cpp:", "divergent collective"});
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

// Three lanes wait for each other in a cycle, which no pair of them shows.
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
  // One warp waits at the barrier, the other for one of its own lanes that does.
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

// After an error, whatever stacks it left behind, the next launch works.
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
    unsigned long long sum = 0;
    bool all = true;
    simt_launch("sound", 1, 256, 0, seed, [&] {
      mbk_atomic_add(&sum, (mbk_u64)1);
      mbk_block_sync();
      all &= sum == 256;
    });
    assert_true(all);
  }
}

// Every warp operation is reported by its name.
static void test_names(void **) {
  const struct {
    const char *name;
    void (*call)();
  } calls[] = {
      {"mbk_warp_sync", [] { mbk_warp_sync(FULL); }},
      {"mbk_ballot", [] { mbk_ballot(FULL, true); }},
      {"mbk_any", [] { mbk_any(FULL, true); }},
      {"mbk_all", [] { mbk_all(FULL, true); }},
      {"mbk_match_any", [] { mbk_match_any(FULL, 1); }},
      {"mbk_reduce_add", [] { mbk_reduce_add(FULL, 1); }},
      {"mbk_shuffle", [] { mbk_shuffle(FULL, 1, 0, 32); }},
      {"mbk_shuffle_up", [] { mbk_shuffle_up(FULL, 1, 1, 32); }},
      {"mbk_shuffle_down", [] { mbk_shuffle_down(FULL, 1, 1, 32); }},
      {"mbk_shuffle_xor", [] { mbk_shuffle_xor(FULL, 1, 1, 32); }},
  };
  for (const auto &call : calls) {
    const std::string name = std::string(call.name) + " (mask 0xffffffff";
    assert_error(64,
                 [&] {
                   if (mbk_thread() != 45) {
                     call.call();
                   }
                 },
                 {"kernel wrong, block 0: ", "thread 45 (warp 1, lane 13)", name.c_str(),
                  "test_shim_reports.cpp:", "divergent collective"});
  }
}

// An endless loop: calls the alarm of simt_launch directly, without the wait.
static void test_endless_loop(void **) {
  int ends[2], status = 0;
  char text[300] = "";
  assert_int_equal(pipe(ends), 0);
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    error_of(32, [] {
      if (mbk_thread() == 9) {
        alarm(1);
      }
      mbk_warp_sync(FULL);
      for (volatile bool go_on = mbk_thread() == 9; go_on;) {
      }
    });
    _exit(0);
  }
  close(ends[1]);
  assert_true(read(ends[0], text, sizeof text - 1) > 0);
  close(ends[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
  assert_non_null(strstr(text, "kernel wrong, block 0, thread 9 (warp 0, lane 9) still runs"));
}

int main() {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_divergent_shuffle),
      cmocka_unit_test(test_lane_exits),
      cmocka_unit_test(test_loop_of_unequal_length),
      cmocka_unit_test(test_missing_barrier),
      cmocka_unit_test(test_ring),
      cmocka_unit_test(test_bad_calls),
      cmocka_unit_test(test_bad_launches),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_endless_loop),
      cmocka_unit_test(test_goes_on_after_errors),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
