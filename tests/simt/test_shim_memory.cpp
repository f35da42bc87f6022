// The shim's memory: shared memory with its poison and bounds, barriers, atomics.
#include "simt/shim_test.h"

#include <sys/wait.h>

#ifdef SIMT_ASAN
#define SIMT_BANNED(address) (__asan_address_is_poisoned(address) != 0)
#else
#define SIMT_BANNED(address) false
#endif

// ---- Shared memory and barriers -------------------------------------------------------------

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
    memset(memory + mbk_lane() * 8, 0, 8); // the next block finds poison again
  });
  assert_true(nan && aligned);
}

// An exchange without a barrier reads poison under some schedule; with it, never.
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

// All asynchronous copies have arrived after the wait, and only some before it.
static void test_copies(void **) {
  alignas(16) mbk_u32 from[4 * 32];
  int early = 0;
  for (mbk_u32 i = 0; i < 4 * 32; i++) {
    from[i] = i;
  }
  for (uint64_t seed = 0; seed < 20; seed++) {
    bool right = true;
    simt_launch("copies", 2, 32, 512, seed, [&] {
      MBK_SHARED_MEMORY(memory);
      mbk_u32 *const own = (mbk_u32 *)(void *)memory + 4 * mbk_lane();
      mbk_copy_ahead<16>(own, from + 4 * mbk_lane());
      early += own[3] == 4 * mbk_lane() + 3;
      mbk_copy_wait();
      right &= own[0] == 4 * mbk_lane() && own[3] == 4 * mbk_lane() + 3;
    });
    assert_true(right);
  }
  assert_in_range(early, 400, 20 * 64 - 400);
  // A copy that no one waits for does not arrive in the next block.
  bool poisoned = true;
  simt_launch("forgotten", 8, 32, 512, 1, [&] {
    MBK_SHARED_MEMORY(memory);
    mbk_copy_wait();
    poisoned &= ((mbk_u32 *)(void *)memory)[4 * mbk_lane()] == FULL;
    mbk_warp_sync(FULL);
    mbk_copy_ahead<16>(memory + 16 * mbk_lane(), from);
  });
  assert_true(poisoned);
  for (unsigned off : {0u, 4u}) {
    assert_error(32,
                 [&] {
                   MBK_SHARED_MEMORY(memory);
                   mbk_copy_ahead<16>(memory + off, (const char *)from + 4 - off);
                 },
                 {"kernel wrong, block 0", "copies 16 bytes", "not both aligned"});
  }
}

// A pack is aligned to its own size, which need not be 16 bytes.
static void test_packs(void **) {
  alignas(16) double from[6] = {1, 2, 3, 4, 5, 6};
  const float *const floats = (const float *)(void *)from;
  bool right = true;
  simt_launch("packs", 1, 32, 0, 1, [&] {
    right &= mbk_load_pack<double, 2>(from + 2).at[1] == 4 &&
             mbk_load_pack_streaming<double, 2>(from + 4).at[0] == 5 &&
             mbk_load_pack<mbk_u16, 2>((const mbk_u16 *)(const void *)floats + 2).at[0] == 0;
  });
  assert_true(right);
  assert_error(32, [&] { (void)mbk_load_pack<double, 2>(from + 1); },
               {"kernel wrong, block 0", "moves 16 bytes at once", "misaligned"});
  assert_error(32, [&] { (void)mbk_load_pack_streaming<float, 2>(floats + 1); },
               {"moves 8 bytes"});
  assert_error(32, [&] { mbk_store_pack<double, 2>(from + 3, {{0, 0}}); }, {"misaligned"});
}

// ---- Bounds ---------------------------------------------------------------------------------

// Runs `body` in one warp with 60 bytes of shared memory, in a child process. Returns what it
// writes to stderr, and sets `died`.
static std::string dying_words(const std::function<void()> &body, bool &died) {
  int ends[2], status = 0;
  std::string words;
  char text[4096];
  assert_int_equal(pipe(ends), 0);
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    close(ends[0]);
    const std::string error = error_of(32, body, 1, 1, 60);
    _exit(error != "none" && fprintf(stderr, "%s\n", error.c_str()) > 0 ? 3 : 0);
  }
  close(ends[1]);
  for (ssize_t got; (got = read(ends[0], text, sizeof text)) > 0;) {
    words.append(text, (size_t)got);
  }
  close(ends[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  died = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  return words;
}

static void touch(long byte, bool write) {
  MBK_SHARED_MEMORY(memory);
  volatile unsigned char *const place = memory + byte;
  if (mbk_lane() == 5) {
    if (write) {
      *place = 0;
    } else {
      (void)*place;
    }
  }
}

// Reads and writes the first byte beyond and the last before. Without AddressSanitizer only
// writes beyond are detected.
static void test_out_of_bounds(void **) {
  for (long byte : {60L, 63L, 100L, -1L}) {
    for (bool write : {true, false}) {
      bool died;
      const std::string words = dying_words([=] { touch(byte, write); }, died);
#ifdef SIMT_ASAN
      assert_true(died);
      assert_non_null(strstr(words.c_str(), "heap-buffer-overflow"));
      assert_non_null(
          strstr(words.c_str(), "kernel wrong, block 0, thread 5 (warp 0, lane 5) made the"));
#else
      if (write && byte >= 60) {
        assert_true(died);
        assert_non_null(strstr(words.c_str(), "kernel wrong, block 0: writes byte "));
      }
#endif
    }
  }
  bool died;
  dying_words([] { touch(59, true); }, died);
  assert_false(died);
}

// ---- Atomics --------------------------------------------------------------------------------

// Adds 1 from each of 3 * 64 threads, in the types that CUDA supports.
template <class T> static void add_type() {
  T sum = 0;
  std::vector<int> seen(192);
  simt_launch("add", 3, 64, 0, 5, [&] {
    const T old = mbk_atomic_add(&sum, (T)1);
    seen[(size_t)old]++;
  });
  assert_true(sum == 192);
  for (int count : seen) { // every old value once: none was lost
    assert_int_equal(count, 1);
  }
}

template <class T> static void order_type(T low, T high) {
  T least = high, most = low;
  simt_launch("order", 2, 64, 0, 5, [&] {
    const bool extreme = mbk_block() == 1 && mbk_thread() == 33;
    mbk_atomic_min(&least, extreme ? low : (T)mbk_thread());
    mbk_atomic_max(&most, extreme ? high : (T)mbk_thread());
  });
  assert_true(least == low && most == high);
}

template <class T> static void bits_type() {
  T set = 0, left = (T) ~(T)0;
  simt_launch("bits", 1, 64, 0, 5, [&] {
    const T bit = (T)((T)1 << mbk_thread() % (8 * sizeof(T)) / 2 * 2);
    mbk_atomic_or(&set, bit);
    mbk_atomic_and(&left, (T)~bit);
  });
  assert_true(set == (T)0x5555555555555555 && left == (T)0xaaaaaaaaaaaaaaaa);
}

// A chain of exchanges: each thread gets another's value, and one value remains.
template <class T> static void exchange_type() {
  T last = 1000;
  std::vector<int> seen(1001);
  simt_launch("exchange", 1, 64, 0, 5,
              [&] { seen[(size_t)mbk_atomic_exchange(&last, (T)mbk_thread())]++; });
  seen[(size_t)last]++;
  for (int i = 0; i < 64; i++) {
    assert_int_equal(seen[(size_t)i], 1);
  }
  assert_int_equal(seen[1000], 1);
}

// The usual loop around compare-and-swap adds exactly.
template <class T> static void swap_if_type() {
  T sum = 0;
  simt_launch("swap", 2, 64, 0, 5, [&] {
    T seen = sum, expected;
    do {
      expected = seen;
      seen = mbk_atomic_swap_if(&sum, expected, (T)(expected + 2));
    } while (seen != expected);
  });
  assert_true(sum == 256);
}

static void test_atomics(void **) {
  add_type<mbk_i32>();
  add_type<mbk_u32>();
  add_type<mbk_u64>();
  add_type<float>();
  add_type<double>();
  order_type<mbk_i32>(INT32_MIN, INT32_MAX);
  order_type<mbk_u32>(0, UINT32_MAX);
  order_type<mbk_i64>(INT64_MIN, INT64_MAX);
  order_type<mbk_u64>(0, UINT64_MAX);
  bits_type<mbk_i32>();
  bits_type<mbk_u32>();
  bits_type<mbk_u64>();
  exchange_type<mbk_i32>();
  exchange_type<mbk_u32>();
  exchange_type<mbk_u64>();
  exchange_type<float>();
  swap_if_type<mbk_i32>();
  swap_if_type<mbk_u32>();
  swap_if_type<mbk_u64>();
}

static void test_misaligned_atomic(void **) {
  assert_error(1,
               [] {
                 MBK_SHARED_MEMORY(memory);
                 mbk_atomic_add((double *)(void *)(memory + 4), 1.0);
               },
               {"kernel wrong, block 0: thread 0 (warp 0, lane 0)", "misaligned", "8 bytes"});
}

// A plain sum instead of an atomic one loses terms if a thread is held up between its load and
// its store.
static void test_lost_update(void **) {
  int lost = 0;
  for (uint64_t seed = 0; seed < 20; seed++) {
    int sum = 0;
    mbk_u32 other = 0;
    simt_launch("lost", 1, 64, 0, seed, [&] {
      const int before = sum;
      mbk_atomic_or(&other, 1u);
      sum = before + 1;
    });
    lost += sum != 64;
  }
  assert_int_equal(lost, 20);
}

static void test_load(void **) {
  const double numbers[2] = {1.5, -0.0};
  double got[32];
  simt_launch("load", 1, 32, 0, 1,
              [&] { got[mbk_lane()] = mbk_load(numbers + mbk_lane() % 2); });
  assert_true(got[0] == 1.5 && signbit(got[31]));
}

// Under AddressSanitizer late memory is out of bounds in every block until its first mbk_await,
// and valid then and after the launch.
static void test_late(void **) {
  const std::vector<double> late(16);
  unsigned banned = 0, allowed = 0;
  simt_late_add(late.data(), late.size() * sizeof(double));
  simt_launch("late", 3, 32, 0, 1, [&] {
    if (!simt_awaited) {
      banned += SIMT_BANNED(late.data());
      mbk_await();
    }
    allowed += !SIMT_BANNED(late.data());
  });
  simt_late_count = 0;
  assert_int_equal(allowed, 96);
#ifdef SIMT_ASAN
  assert_int_equal(banned, 3);
#endif
  assert_false(SIMT_BANNED(late.data()));
}

// Even after the wait read-only loads of late memory are errors.
static void test_late_read_only(void **) {
  const std::vector<double> late(16);
  const double other = 2;
  double got = 0;
  simt_late_add(late.data(), late.size() * sizeof(double));
  const std::string none = error_of(1, [&] {
    mbk_await();
    got = mbk_load(&other) + mbk_load_after_wait(&late[15]) +
          mbk_load_pack_after_wait<double, 2>(&late[14]).at[1];
  });
  const std::string one = error_of(1, [&] {
    mbk_await();
    got += mbk_load(&late[15]);
  });
  const std::string pack = error_of(1, [&] {
    mbk_await();
    got += mbk_load_pack<double, 2>(&late[14]).at[0];
  });
  simt_late_count = 0;
  assert_true(none == "none" && got == 2);
  assert_true(one.find("as data that nobody writes") != std::string::npos);
  assert_true(pack.find("as data that nobody writes") != std::string::npos);
}

int main() {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_barrier),
      cmocka_unit_test(test_poison),
      cmocka_unit_test(test_missing_sync),
      cmocka_unit_test(test_copies),
      cmocka_unit_test(test_out_of_bounds),
      cmocka_unit_test(test_atomics),
      cmocka_unit_test(test_misaligned_atomic),
      cmocka_unit_test(test_packs),
      cmocka_unit_test(test_lost_update),
      cmocka_unit_test(test_load),
      cmocka_unit_test(test_late),
      cmocka_unit_test(test_late_read_only),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
