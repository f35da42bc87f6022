// Runs the kernels of a program of the fake NVRTC, which links this with each program: the
// object is compiled once, with the flags of programs, and its state is that of one program.
#include <signal.h>

#define SIMT_HERE
#include "../simt/simt.h"
#include "program.h"

// A kernel that touches what is no device memory, be it beyond a block or after its release.
static void touched(int, siginfo_t *info, void *) {
  SIMT_FAIL("thread %u touches %p, where no device memory is", simt.current, info->si_addr);
}

namespace {
struct watch { // over the life of a launch
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
