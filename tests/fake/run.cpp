// Runs the kernels of a program of the fake NVRTC. It is compiled once, with the flags of
// programs, and linked with each of them; each has its own state.
#include <signal.h>

#define SIMT_HERE
#include "../simt/simt.h"
#include "program.h"

// Reports a kernel that accesses memory outside the device's, beyond a block or after its
// release.
static void touched(int, siginfo_t *info, void *) {
  SIMT_FAIL("thread %u touches %p, where no device memory is", simt.current, info->si_addr);
}

namespace {
struct watch { // during a launch
  struct sigaction segv, bus;
  watch() {
    struct sigaction mine = {};
    mine.sa_sigaction = touched;
    mine.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &mine, &segv);
    sigaction(SIGBUS, &mine, &bus);
  }
  ~watch() {
    sigaction(SIGSEGV, &segv, nullptr);
    sigaction(SIGBUS, &bus, nullptr);
  }
};
} // namespace

extern "C" __attribute__((visibility("default"))) int
fake_program_run_one(const fake_kernel *kernel, const fake_launch *launch, uint64_t seed,
                     const void *arguments, char *error, size_t error_bytes) {
  const watch watched;
  const simt_kernel run = {kernel->name, kernel->call, kernel->fields};
  const int failed =
      simt_launch_kernel(&run, launch->grid, launch->block, launch->shared_bytes, seed,
                         arguments, launch->cooperative, error, error_bytes);
  simt_release_rooms(simt_spare); // there are many programs
  return failed;
}

extern "C" __attribute__((visibility("default"))) void fake_program_rest() {
  simt_stacks_release();
}
