// Blocks that wait for each other: they are put aside and go on with all that they had, in an
// order of their own under every seed; and what is wrong with their waiting is said.
#include "simt/shim_test.h"

#include <set>

// The next of the grid's barriers, by all threads of a block.
static void meet(mbk_u32 *count, mbk_u32 wanted) {
  if (mbk_thread() == 0) {
    mbk_arrive(count);
    mbk_wait_reached(count, wanted);
  }
  mbk_block_sync();
}

static simt_report launch(unsigned grid, unsigned block, unsigned shared_bytes, uint64_t seed,
                          const std::function<void()> &body) {
  return simt_launch("together", grid, block, shared_bytes, seed, body, true);
}

// Each block adds up, barrier by barrier, what all of them have stored; its shared memory and
// its threads' variables are its own all the while. The count wraps on the way.
static void test_barriers(void **) {
  enum { GRID = 5, BLOCK = 70, ROUNDS = 4 };
  std::set<std::vector<unsigned>> orders;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    const mbk_u32 first = 0xffffffffu - 7;
    mbk_u32 count = first;
    unsigned parts[ROUNDS][GRID] = {};
    std::vector<unsigned> order;
    const simt_report report = launch(GRID, BLOCK, BLOCK * 4, seed, [&] {
      MBK_SHARED_MEMORY(memory);
      mbk_u32 *const shared = (mbk_u32 *)(void *)memory;
      const mbk_u32 block = mbk_block(), thread = mbk_thread();
      mbk_u32 mine = 1000 * block + thread;
      shared[thread] = mine;
      for (mbk_u32 round = 0; round < ROUNDS; round++) {
        if (thread == 0) {
          parts[round][block] = block + round;
        }
        meet(&count, first + (round + 1) * GRID);
        if (thread == 0) {
          order.push_back(block);
        }
        for (mbk_u32 other = 0; other < GRID; other++) {
          if (parts[round][other] != other + round) {
            mine = 0;
          }
        }
        if (mbk_block() != block || mbk_thread() != thread || shared[thread] != mine) {
          mine = 0;
        }
        mbk_warp_sync(thread / 32 == 2 ? 63u : FULL);
      }
      if (mine != 1000 * block + thread) {
        parts[0][0] = 99;
      }
    });
    assert_int_equal(count, first + ROUNDS * GRID);
    assert_int_equal(report.blocks, GRID);
    assert_int_equal(parts[0][0], 0);
    for (size_t i = 0; i < order.size(); i += GRID) { // nobody is a barrier ahead
      assert_int_equal(
          std::set<unsigned>(order.begin() + (long)i, order.begin() + (long)(i + GRID)).size(),
          GRID);
    }
    orders.insert(order);
  }
  assert_true(orders.size() > 15);
}

// Only some threads of a block wait, in warps whose other lanes go on.
static void test_threads_that_wait(void **) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    mbk_u32 count = 0, sum = 0;
    launch(3, 64, 0, seed, [&] {
      if (mbk_thread() % 32 == mbk_block()) {
        mbk_arrive(&count);
        mbk_wait_reached(&count, 6);
        mbk_atomic_add(&sum, count);
      }
      mbk_warp_sync(FULL);
    });
    assert_int_equal(sum, 36);
  }
}

static std::string error_of_grid(bool cooperative, uint64_t seed,
                                 const std::function<void()> &body) {
  try {
    simt_launch("wrong", 3, 64, 64, seed, body, cooperative);
  } catch (const simt_error &error) {
    return error.what();
  }
  return "none";
}

static void expect_words(const std::string &sentence, const std::vector<const char *> &words) {
  for (const char *word : words) {
    if (sentence.find(word) == std::string::npos) {
      fail_msg("\"%s\" is not in: %s", word, sentence.c_str());
    }
  }
}

// A block that ends, or never counts itself in, while others wait; a launch that does not hold
// its blocks together; a mistake while blocks are put aside.
static void test_reports(void **) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    mbk_u32 count = 0;
    expect_words(error_of_grid(true, seed,
                               [&] {
                                 if (mbk_block() != 1) {
                                   meet(&count, 3);
                                 }
                               }),
                 {"kernel wrong, block ", "thread 0 (warp 0, lane 0) waits in mbk_wait_reached",
                  "test_shim_grid.cpp:", "for other blocks, of which 1 of 2 have exited",
                  "missing grid barrier"});
    count = 0;
    expect_words(error_of_grid(true, seed, [&] { meet(&count, 4); }),
                 {"waits in mbk_wait_reached", "of which 0 of 2 have exited"});
    count = 0;
    expect_words(error_of_grid(false, seed, [&] { meet(&count, 3); }),
                 {"waits in mbk_wait_reached", "in a launch that is not cooperative"});
    count = 0;
    expect_words(error_of_grid(true, seed,
                               [&] {
                                 meet(&count, 3);
                                 if (mbk_block() == 2 && mbk_thread() == 5) {
                                   mbk_ballot(1u, true);
                                 }
                                 meet(&count, 6);
                               }),
                 {"block 2: thread 5", "is not in its own mask"});
    mbk_u32 sum = 0; // and all is well afterwards
    launch(2, 32, 0, seed, [&] { mbk_atomic_add(&sum, 1u); });
    assert_int_equal(sum, 64);
  }
}

// A copy that is on its way comes to the block that it belongs to.
static void test_copies(void **) {
  alignas(16) double from[3][32];
  for (int i = 0; i < 96; i++) {
    from[i / 32][i % 32] = i;
  }
  for (uint64_t seed = 1; seed <= 20; seed++) {
    mbk_u32 count = 0, wrong = 0;
    launch(3, 16, 256, seed, [&] {
      MBK_SHARED_MEMORY(memory);
      double *const shared = (double *)(void *)memory;
      const mbk_u32 at = 2 * mbk_thread(); // 16 bytes
      mbk_copy_ahead(&shared[at], &from[mbk_block()][at]);
      meet(&count, 3);
      mbk_copy_wait();
      if (shared[at] != 32 * mbk_block() + at || shared[at + 1] != shared[at] + 1) {
        mbk_atomic_add(&wrong, 1u);
      }
    });
    assert_int_equal(wrong, 0);
  }
}

int main() {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_barriers),
      cmocka_unit_test(test_threads_that_wait),
      cmocka_unit_test(test_reports),
      cmocka_unit_test(test_copies),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
