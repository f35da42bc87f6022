// A "cubin" is a shared object whose kernels run through the shim. The fake NVRTC writes its
// source: this file, the kernels in a namespace of their own, and FAKE_PROGRAM with all names
// that may exist.
#ifndef FAKE_PROGRAM_H
#define FAKE_PROGRAM_H
#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <string>

struct fake_launch {
  unsigned grid, block, shared_bytes;
  void **arguments;
  bool cooperative;
  bool (*is_device)(const void *); // an address in a block that is alive
};

// A launch with its arguments taken, to be run now or later: returns what went wrong.
typedef std::function<std::string(uint64_t seed)> fake_work;

struct fake_kernel {
  const char *name;
  // Empty, with a sentence, where an argument is wrong. Null: this specialisation has no such
  // kernel.
  fake_work (*bind)(const fake_launch &launch, std::string &error);
};

// Of a program, ended by a null name.
typedef const fake_kernel *(*fake_program_kernels)();
#define FAKE_PROGRAM_KERNELS "fake_program_kernels_of"
#define FAKE_PROGRAM_REST "fake_program_rest" // void (): nothing of it runs for now

#ifdef FAKE_INSIDE_PROGRAM
#include "jit/device.cuh"
#include <signal.h>

#include <tuple>
#include <type_traits>
#include <utility>

struct fake_none {}; // the argument of the stand-in for a kernel that is not there

// A kernel that touches what is no device memory, be it beyond a block or after its release.
inline void fake_touched(int, siginfo_t *info, void *) {
  SIMT_FAIL("thread %u touches %p, where no device memory is", simt.current, info->si_addr);
}

struct fake_watch { // over the life of a launch
  struct sigaction segv, bus;
  fake_watch() {
    struct sigaction mine = {};
    mine.sa_sigaction = fake_touched;
    mine.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &mine, &segv);
    sigaction(SIGBUS, &mine, &bus);
  }
  ~fake_watch() {
    sigaction(SIGSEGV, &segv, nullptr);
    sigaction(SIGBUS, &bus, nullptr);
  }
};

template <class T> T fake_argument(const fake_launch &launch, size_t i, std::string &error) {
  T value;
  memcpy(&value, launch.arguments[i], sizeof value);
  if constexpr (std::is_pointer_v<T>) {
    if (value != nullptr && !launch.is_device((const void *)value)) {
      char text[100];
      snprintf(text, sizeof text, "argument %zu is %p, which is no device memory", i,
               (const void *)value);
      error = text;
    }
  }
  return value;
}

template <class... P, size_t... I>
fake_work fake_take(const char *name, void (*kernel)(P...), const fake_launch &launch,
                    std::string &error, std::index_sequence<I...>) {
  const std::tuple<P...> arguments(fake_argument<P>(launch, I, error)...);
  if (!error.empty()) {
    return {};
  }
  return [=](uint64_t seed) -> std::string {
    const fake_watch watch;
    try {
      simt_launch(
          name, launch.grid, launch.block, launch.shared_bytes, seed,
          [&] { std::apply(kernel, arguments); }, launch.cooperative);
    } catch (const simt_error &wrong) {
      return wrong.what();
    }
    return {};
  };
}

template <class... P>
fake_work fake_bind(const char *name, void (*kernel)(P...), const fake_launch &launch,
                    std::string &error) {
  return fake_take(name, kernel, launch, error, std::index_sequence_for<P...>());
}

#define FAKE_KERNEL(name)                                                                      \
  {#name, std::is_same_v<decltype(&name), void (*)(fake_none)>                                 \
              ? nullptr                                                                        \
              : +[](const fake_launch &launch, std::string &error) {                           \
                  return fake_bind(#name, &name, launch, error);                               \
                }},
#define FAKE_PROGRAM(...)                                                                      \
  extern "C" __attribute__((visibility("default"))) const fake_kernel *                        \
  fake_program_kernels_of() {                                                                  \
    static const fake_kernel kernels[] = {__VA_ARGS__{nullptr, nullptr}};                      \
    return kernels;                                                                            \
  }                                                                                            \
  extern "C" __attribute__((visibility("default"))) void fake_program_rest() {                 \
    simt_stacks_release();                                                                     \
  }
#endif
#endif // FAKE_PROGRAM_H
