// A "cubin" is a shared object whose kernels run through the shim. The fake NVRTC writes its
// source: this file, the kernels in their own namespace, and FAKE_PROGRAM with all names that
// may exist. Tests spend much of their time compiling such sources. The code that runs kernels
// is therefore compiled once (run.cpp) and linked with each, and little is compiled per kernel.
#ifndef FAKE_PROGRAM_H
#define FAKE_PROGRAM_H
#include <stddef.h>
#include <stdint.h>

#include "../simt/fields.h"

struct fake_kernel {
  const char *name;
  // runs one thread; null: the program lacks this kernel
  void (*call)(const void *arguments);
  const simt_fields *fields; // of the struct that it takes
  bool scalars_device;       // whether its alpha and beta are addresses
  bool apart;                // whether the fields are separate parameters
  int part;                  // of the program, where the kernel is
};

struct fake_launch {
  unsigned grid, block, shared_bytes;
  bool cooperative;
};

// Returns the kernels of a program, ended by a null name.
typedef const fake_kernel *(*fake_program_kernels)();
#define FAKE_PROGRAM_KERNELS "fake_program_kernels_of"
// Returns 0, or 1 with an error message.
typedef int (*fake_program_run)(const fake_kernel *kernel, const fake_launch *launch,
                                uint64_t seed, const void *arguments, char *error,
                                size_t error_bytes);
#define FAKE_PROGRAM_RUN "fake_program_run_one"
#define FAKE_PROGRAM_REST "fake_program_rest" // void (): frees the stacks

#ifdef FAKE_INSIDE_PROGRAM
#include "jit/device.cuh"

struct fake_none {}; // argument of the stand-in for a missing kernel

template <auto function>
constexpr fake_kernel fake_make_kernel(const char *name, int part, bool scalars_device) {
  if constexpr (std::is_same_v<decltype(function), void (*)(fake_none)>) {
    return {name, nullptr, nullptr, false, false, part};
  } else {
    return {name,           simt_unpack<function>::call,  simt_unpack<function>::fields,
            scalars_device, simt_unpack<function>::apart, part};
  }
}

#define FAKE_KERNEL(name, part) fake_make_kernel<&name>(#name, part, FAKE_SCALARS_DEVICE),
#define FAKE_PROGRAM(...)                                                                      \
  extern "C" __attribute__((visibility("default"))) const fake_kernel *                        \
  fake_program_kernels_of() {                                                                  \
    static constexpr fake_kernel kernels[] = {                                                 \
        __VA_ARGS__{nullptr, nullptr, nullptr, false, false, 0}};                              \
    return kernels;                                                                            \
  }
#endif
#endif // FAKE_PROGRAM_H
