// Runs GPU kernels on the CPU: one fibre per CUDA thread, warps of 32 lanes, blocks one after
// another in a random order, all of it repeatable from a seed. The kernels' names for what a
// GPU gives them are in include/jit/device.cuh. This is the one header to include; its parts:
//
//   machine.h      the state of threads, warps and barrier
//   sentences.h    what is said of a mistake
//   fibres.h       contexts and the schedule
//   collectives.h  warp operations and the barrier
//   races.h        unordered accesses to shared memory
//   memory.h       shared memory, copies to it, atomics
//   late.h         memory that is out of bounds until mbk_await
//   fields.h       what a kernel's struct of arguments consists of
//   launch.h       stacks, launches
//
// apart.cpp is the functions of all but the last, and the state, compiled once for all programs.
//
//   simt_launch("scale", grid, block, shared_bytes, seed, [&] { scale(n, x); });
//
// throws a simt_error whose sentence names kernel, block, thread, operation and mask when
//   - lanes that wait for each other stand at different operations, sites, masks or widths;
//   - a thread has exited, or never comes, while others wait for it in a warp or at a barrier;
//   - a shuffle reads a lane outside its mask, or a lane calls with a mask that lacks it;
//   - the launch itself is one that a GPU refuses;
//   - the address of an atomic, a pack or a copy to shared memory is misaligned;
//   - shared memory is written beyond its size (where AddressSanitizer does not say so first);
//   - two threads use shared memory with no barrier between (races.h; in the test simt_races).
// An endless loop ends the process with a sentence, a sanitizer's report with one on who ran.
// Shared memory is allocated at exactly the size asked for and filled with 0xff bytes, NaN in
// any float type, before each block. Between two operations of a warp its lanes run in random
// order, and another warp, any one, comes after 64 threads in the mean; a thread may be held
// up before any atomic, and half of the copies ahead come only when their thread waits for
// them: code that needs a missing barrier or wait sees stale or poisoned data.
//
// How to add a kernel, in one small file test_STEM.cpp beside this one (test_reorder.cpp is a
// short example). The test simt_kernels fails for a kernel of templates/ that no program ran
// on 60 matrices.
//   1. #include "jit/device.cuh", "simt/runs.h" and "support/matrices.h".
//   2. For each specialisation: #define the macros that the kernel's file opens with, include
//      it inside a namespace of its own, #undef them (undefine.h frees those of spmv/).
//   3. SIMT_KERNEL(NAMESPACE::mbk_name) is the kernel, of one type whatever its struct.
//   4. Fill arrays of exactly as many elements as the kernel may touch (simt_array), and for
//      every generated matrix and seed of simt_seeds call
//        simt_run(kernel, {"form", m.name, seed}, {grid, block, shared_bytes}, arguments...);
//      which launches, fails the test with the shim's sentence, and counts the run. Seeds come
//      in pairs: two schedules of one matrix, for what must not change a bit.
//   5. Compare with a plain reference within the bound (support/bound.h); end the program with
//      simt_runs_report as the group's teardown, which prints the counts.
//   6. If it uses shared memory or barriers, run it in races.cpp or races_builds.cpp, too; the
//      test simt_kernels fails where that is missing.
//   7. Name the program in CMakeLists.txt.
// A new function of templates/jit/device.cuh gets its twin in include/jit/device.cuh.
#ifndef SIMT_H
#define SIMT_H
#ifdef SIMT_KERNELS // no launches, whose templates take the compiler long
#include "collectives.h"
#include "fields.h"
#include "late.h"
#include "memory.h"
#else
#include "launch.h"
#endif
#endif // SIMT_H
