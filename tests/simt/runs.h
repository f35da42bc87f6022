// Tools that all test programs of kernels share: seeds, guarded arrays, counted launches, and
// the report at the end.
#ifndef SIMT_RUNS_H
#define SIMT_RUNS_H
#include "simt.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>

extern "C" {
#include <cmocka.h>
}

#include "support/effort.h"

// Makes the seeds of the schedules, in pairs. The schedules of a pair multiply the same matrix,
// made from the first seed. The first pair is 1 and 2; the others change from run to run.
inline std::vector<uint64_t> simt_make_seeds() {
  const uint64_t block = 1001 + test_rotating_seed();
  std::vector<uint64_t> seeds = {1, 2};
  for (int i = test_effort(2, 18); i > 0; i--) {
    seeds.push_back(block + seeds.size() - 2);
  }
  printf("seeds 1, 2 and %llu to %llu\n", (unsigned long long)block,
         (unsigned long long)seeds.back());
  return seeds;
}
inline const std::vector<uint64_t> simt_seeds = simt_make_seeds();

// Fewer seeds, for long tests: in quick effort only the pair that changes.
inline const std::vector<uint64_t> simt_few_seeds(simt_seeds.begin() + test_effort(2, 0),
                                                  simt_seeds.end());

// ---- Arrays ---------------------------------------------------------------------------------

// An array of exactly `count` elements, so that AddressSanitizer detects the first one beyond;
// forbid() poisons all of it. It begins at a multiple of 16 bytes, or `shift` elements after
// one. load and store access integers of either width.
struct simt_array {
  simt_array(size_t count, size_t width, int fill = 0, size_t shift = 0)
      : count(count), width(width), shift(shift * width),
        data(new unsigned char[(shift + count) * width]) {
    memset(get(), fill, count * width);
  }
  ~simt_array() {
    allow();
  }
  simt_array(const simt_array &) = delete;
  simt_array &operator=(const simt_array &) = delete;

  template <class T> T *as() const {
    return (T *)get();
  }
  void *get() const {
    return data.get() + shift;
  }
  uint64_t load(uint64_t i) const {
    return width == 1 ? as<uint8_t>()[i] : width == 4 ? as<uint32_t>()[i] : as<uint64_t>()[i];
  }
  void store(uint64_t i, uint64_t value) {
    if (width == 4) {
      as<uint32_t>()[i] = (uint32_t)value;
    } else {
      as<uint64_t>()[i] = value;
    }
  }
  void copy(const simt_array &from) {
    memcpy(get(), from.get(), count * width);
  }
  bool same(const simt_array &other) const {
    return memcmp(get(), other.get(), count * width) == 0;
  }
  void forbid() {
#ifdef SIMT_ASAN
    __asan_poison_memory_region(get(), count * width);
#endif
  }
  void allow() {
#ifdef SIMT_ASAN
    __asan_unpoison_memory_region(get(), count * width);
#endif
  }

  size_t count, width, shift;
  std::unique_ptr<unsigned char[]> data;
};

// Makes arrays and two scalars late: the next launches may touch them only after mbk_await.
// Arrays that are forbidden stay forbidden.
struct simt_late_guard {
  explicit simt_late_guard(std::initializer_list<const simt_array *> arrays) {
    for (const simt_array *array : arrays) {
      add(array->get(), array->count * array->width);
    }
  }
  template <class S> void scalar(S number) { // a number or a pointer
    if constexpr (std::is_same_v<S, const void *>) {
      add(number, sizeof(float));
    }
  }
  ~simt_late_guard() {
    simt_late_count = 0;
  }
  simt_late_guard(const simt_late_guard &) = delete;
  simt_late_guard &operator=(const simt_late_guard &) = delete;

private:
  static void add(const void *address, size_t bytes) {
#ifdef SIMT_ASAN
    if (bytes > 0 && address != nullptr && !__asan_address_is_poisoned(address)) {
      simt_late_add(address, bytes);
    }
#else
    (void)address;
    (void)bytes;
#endif
  }
};

// ---- Runs -----------------------------------------------------------------------------------

struct simt_case {
  const char *form, *matrix;
  uint64_t seed;
};

struct simt_size {
  unsigned grid, block, shared_bytes;
  bool cooperative = false;
};

struct simt_counts {
  std::map<std::string, std::set<std::tuple<std::string, std::string, uint64_t>>> runs;
  uint64_t launches = 0;
};
inline simt_counts simt_counted;

// Launches `kernel` and fails the test with the shim's message on an error. The arguments are
// the fields of the kernel's struct, in order.
template <class... A>
void simt_run(const simt_kernel &kernel, const simt_case &what, const simt_size &size,
              const A &...arguments) {
  const std::vector<uint64_t> packed = simt_pack(*kernel.fields, arguments...);
  if (packed.empty()) {
    fail_msg("%s of %s: the test's arguments are not its parameters", kernel.name, what.form);
  }
  char error[4096];
  if (simt_launch_kernel(&kernel, size.grid, size.block, size.shared_bytes, what.seed,
                         packed.data(), size.cooperative, error, sizeof error) != 0) {
    fail_msg("%s, %s, seed %llu: %s", what.form, what.matrix, (unsigned long long)what.seed,
             error);
  }
  simt_counted.launches++;
  simt_counted.runs[kernel.name].insert({what.form, what.matrix, what.seed});
}

// Prints the counts at the end of a group, and writes them to PROGRAM.runs for simt_kernels.
inline int simt_runs_report(void **) {
  const std::string path = std::string(program_invocation_name) + ".runs";
  FILE *file = fopen(path.c_str(), "w");
  size_t total = 0;
  for (const auto &[kernel, runs] : simt_counted.runs) {
    std::set<std::string> forms, matrices;
    for (const auto &[form, matrix, seed] : runs) {
      forms.insert(form);
      matrices.insert(matrix);
    }
    total += runs.size();
    printf("%-20s %3zu forms, %3zu matrices, %6zu (kernel, matrix, seed) runs\n",
           kernel.c_str(), forms.size(), matrices.size(), runs.size());
    if (file != nullptr) {
      fprintf(file, "%s %zu %zu %zu\n", kernel.c_str(), forms.size(), matrices.size(),
              runs.size());
    }
  }
  printf("%zu (kernel, matrix, seed) runs, %llu launches, no error of the shim\n", total,
         (unsigned long long)simt_counted.launches);
  return file != nullptr && fclose(file) == 0 ? 0 : -1;
}
#endif // SIMT_RUNS_H
