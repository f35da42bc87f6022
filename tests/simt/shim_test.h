// Helpers that the tests of the shim itself share.
#ifndef SIMT_SHIM_TEST_H
#define SIMT_SHIM_TEST_H
#include "jit/device.cuh"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <string>

extern "C" {
#include <cmocka.h>
}

static const mbk_u32 FULL = 0xffffffffu;

// Returns the error message of the launch.
[[maybe_unused]] static std::string error_of(unsigned block, const std::function<void()> &body,
                                             uint64_t seed = 1, unsigned grid = 1,
                                             unsigned shared_bytes = 64) {
  try {
    simt_launch("wrong", grid, block, shared_bytes, seed, body);
  } catch (const simt_error &error) {
    return error.what();
  }
  return "none";
}

// Asserts that the error message contains all of `words`, whatever the schedule.
[[maybe_unused]] static void assert_error(unsigned block, const std::function<void()> &body,
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
#endif // SIMT_SHIM_TEST_H
