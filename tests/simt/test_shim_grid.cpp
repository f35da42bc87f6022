// Blocks that wait for each other: they are put aside and resume with their whole state, in a
// different order for each seed. Errors in the waiting are reported.
#include "simt/shim_test.h"

#include <set>

// A pair of words for each block, used in turn by the grid's barriers.
struct board {
  enum { MOST = 6 };
  mbk_u64 slots[2][2 * MOST] = {};
};

// Grid barrier number `mark` of `blocks` blocks, called by all threads of a block. Each block
// passes `mine` to the others. Thread 0 gets the sum, others 0.
static double meet(board *b, mbk_u32 mark, mbk_u32 blocks, double mine = 0) {
  mbk_u64 *const slots = b->slots[mark % 2];
  double sum = 0;
  if (mbk_thread() == 0) {
    mbk_post(&slots[2 * mbk_block()], mine, mark);
    for (mbk_u32 other = 0; other < blocks; other++) {
      double value[1];
      mbk_collect<1>(&slots[2 * other], mark, 1, value);
      sum += value[0];
    }
  }
  mbk_block_sync();
  return sum;
}

static simt_report launch(unsigned grid, unsigned block, unsigned shared_bytes, uint64_t seed,
                          const std::function<void()> &body) {
  return simt_launch("together", grid, block, shared_bytes, seed, body, true);
}

// Each block sums, barrier by barrier, what all blocks have stored; its shared memory and its
// threads' variables stay its own. Marks wrap around on the way.
static void test_barriers(void **) {
  enum { GRID = 5, BLOCK = 70, ROUNDS = 4 };
  std::set<std::vector<unsigned>> orders;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    const mbk_u32 first = 0xffffffffu - 2;
    board all;
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
        const double sum = meet(&all, first + round, GRID, 0.1 * (block + 1));
        if (thread == 0) {
          order.push_back(block);
          mine = sum == 0.1 * 1 + 0.1 * 2 + 0.1 * 3 + 0.1 * 4 + 0.1 * 5 ? mine : 0;
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
    assert_int_equal(report.blocks, GRID);
    assert_int_equal(parts[0][0], 0);
    for (size_t i = 0; i < order.size(); i += GRID) { // no block is a barrier ahead
      assert_int_equal(
          std::set<unsigned>(order.begin() + (long)i, order.begin() + (long)(i + GRID)).size(),
          GRID);
    }
    orders.insert(order);
  }
  assert_true(orders.size() > 15);
}

// Only some threads of a block wait, in warps whose other lanes continue.
static void test_threads_that_wait(void **) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    board all;
    mbk_u32 sum = 0;
    launch(3, 64, 0, seed, [&] {
      if (mbk_thread() % 32 == mbk_block()) { // two consecutive slots for each block
        const mbk_u32 slot = 2 * mbk_block() + mbk_thread() / 32;
        double found[6];
        mbk_post(&all.slots[0][2 * slot], (double)slot, 7);
        mbk_collect<6>(all.slots[0], 7, 6, found);
        for (double value : found) {
          mbk_atomic_add(&sum, (mbk_u32)value);
        }
      }
      mbk_warp_sync(FULL);
    });
    assert_int_equal(sum, 6 * (0 + 1 + 2 + 3 + 4 + 5));
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

// A block that ends or never posts while others wait; a launch that is not cooperative; an
// error while blocks are put aside.
static void test_reports(void **) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    board ends, apart, alone, wrong;
    expect_words(error_of_grid(true, seed,
                               [&] {
                                 if (mbk_block() != 1) {
                                   meet(&ends, 1, 3);
                                 }
                               }),
                 {"kernel wrong, block ", "thread 0 (warp 0, lane 0) waits in mbk_collect",
                  "test_shim_grid.cpp:", "for other blocks, of which 1 of 2 have exited",
                  "missing grid barrier"});
    expect_words(error_of_grid(true, seed, [&] { meet(&apart, 1, 4); }),
                 {"waits in mbk_collect", "of which 0 of 2 have exited"});
    expect_words(
        error_of_grid(false, seed, [&] { meet(&alone, 1, 3); }),
        {"waits in mbk_collect", "which may start later in a launch that is not cooperative"});
    expect_words(error_of_grid(true, seed,
                               [&] {
                                 meet(&wrong, 1, 3);
                                 if (mbk_block() == 2 && mbk_thread() == 5) {
                                   mbk_ballot(1u, true);
                                 }
                                 meet(&wrong, 2, 3);
                               }),
                 {"block 2: thread 5", "is not in its own mask"});
    mbk_u32 sum = 0; // and the next launch works
    launch(2, 32, 0, seed, [&] { mbk_atomic_add(&sum, 1u); });
    assert_int_equal(sum, 64);
  }
}

// A pending copy arrives in its own block.
static void test_copies(void **) {
  alignas(16) double from[3][32];
  for (int i = 0; i < 96; i++) {
    from[i / 32][i % 32] = i;
  }
  for (uint64_t seed = 1; seed <= 20; seed++) {
    board all;
    mbk_u32 wrong = 0;
    launch(3, 16, 256, seed, [&] {
      MBK_SHARED_MEMORY(memory);
      double *const shared = (double *)(void *)memory;
      const mbk_u32 at = 2 * mbk_thread(); // 16 bytes
      mbk_copy_ahead<16>(&shared[at], &from[mbk_block()][at]);
      meet(&all, 1, 3);
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
