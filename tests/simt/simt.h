// Runs GPU kernels on the CPU: one fibre per CUDA thread, warps of 32 lanes, blocks one after
// another in a random order, all repeatable from a seed. include/jit/device.cuh defines the
// functions that kernels call. This is the only header to include; its parts:
//
//   machine.h      the state of threads, warps and barrier
//   sentences.h    error messages
//   fibres.h       contexts and the schedule
//   collectives.h  warp operations and the barrier
//   races.h        unordered accesses to shared memory
//   memory.h       shared memory, copies to it, atomics
//   late.h         memory that kernels may not touch before mbk_await
//   fields.h       the fields of a kernel's struct of arguments
//   launch.h       stacks and launches
//
// apart.cpp compiles the state and all functions but those of the last, once for all programs.
//
//   simt_launch("scale", grid, block, shared_bytes, seed, [&] { scale(n, x); });
//
// throws a simt_error whose message names kernel, block, thread, operation and mask if
//   - lanes that wait for each other are at different operations, sites, masks or widths;
//   - a thread has exited, or never comes, while others wait for it in a warp or at a barrier;
//   - a shuffle reads a lane outside its mask, or a lane calls with a mask that lacks it;
//   - a GPU would refuse the launch;
//   - the address of an atomic, a pack or a copy to shared memory is misaligned;
//   - shared memory is written beyond its size (unless AddressSanitizer reports it first);
//   - two threads access shared memory without a barrier (races.h; in the test simt_races).
// An endless loop ends the process with a message; a sanitizer's report also tells which thread
// ran. Shared memory has exactly the size asked for and is filled with 0xff bytes, NaN in any
// float type, before each block. Between two operations of a warp its lanes run in random order,
// and a random warp takes over after 64 threads on average. A thread may be held up before any
// atomic, and half of the asynchronous copies arrive only when their thread waits for them. Code
// that lacks a barrier or a wait therefore reads stale or poisoned data.
//
// How to add a kernel: write a small file test_STEM.cpp in this folder (test_reorder.cpp is a
// short example). The test simt_kernels fails for a kernel of templates/ that no program ran
// on 50 matrices.
//   1. #include "jit/device.cuh", "simt/runs.h" and "support/matrices.h".
//   2. For each specialisation: #define the macros at the top of the kernel's file, include
//      the file inside its own namespace, #undef the macros (undefine.h does for spmv/).
//   3. SIMT_KERNEL(NAMESPACE::mbk_name) is the kernel, whose type does not depend on its struct.
//   4. Fill arrays of exactly as many elements as the kernel may touch (simt_array), and for
//      every generated matrix and seed of simt_seeds call
//        simt_run(kernel, {"form", m.name, seed}, {grid, block, shared_bytes}, arguments...);
//      which launches, fails the test with the shim's message on an error, and counts the run.
//      Seeds come in pairs: two schedules of one matrix, for results that must have equal bits.
//   5. Compare with a simple reference within the error bound (support/bound.h). Make
//      simt_runs_report, which prints the counts, the teardown of the program's group.
//   6. If the kernel uses shared memory or barriers, also run it in races.cpp or
//      races_builds.cpp; otherwise the test simt_kernels fails.
//   7. Name the program in CMakeLists.txt.
// A new function of templates/jit/device.cuh also needs a version in include/jit/device.cuh.
#ifndef SIMT_H
#define SIMT_H
#ifdef SIMT_KERNELS // without launches, whose templates compile slowly
#include "collectives.h"
#include "fields.h"
#include "late.h"
#include "memory.h"
#else
#include "launch.h"
#endif
#endif // SIMT_H
