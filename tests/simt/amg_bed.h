// The set-up of AMG in the shim: the library's host sources over a driver whose memory is the
// host's and whose launches run in the shim. Each launch counts as a run of its kernel. Include
// support/internal.h first.
#ifndef SIMT_AMG_BED_H
#define SIMT_AMG_BED_H
#include "jit/device.cuh"
#include "simt/runs.h"

namespace amg_kernels {
#include "solve/amg/setup.cu"
}
#define MBK_ROW_PTR mbk_i32
#define MBK_PLACE mbk_i32
namespace amg_transpose {
#include "spmv/stages/transpose.cu"
}
#undef MBK_ROW_PTR
#undef MBK_PLACE
#undef MBK_POINTER
#define MBK_POINTER(type) mbi_devptr

namespace amg_bed {
static const simt_kernel kernels[] = {
    SIMT_KERNEL(amg_kernels::mbk_scan_sums),
    SIMT_KERNEL(amg_kernels::mbk_scan_tiles),
    SIMT_KERNEL(amg_kernels::mbk_scan_counts),
    SIMT_KERNEL(amg_kernels::mbk_multiply_columns),
    SIMT_KERNEL(amg_kernels::mbk_multiply_long_columns),
    SIMT_KERNEL(amg_kernels::mbk_multiply_values),
    SIMT_KERNEL(amg_kernels::mbk_multiply_blocks),
    SIMT_KERNEL(amg_kernels::mbk_multiply_packs),
    SIMT_KERNEL(amg_kernels::mbk_multiply_long_values),
    SIMT_KERNEL(amg_kernels::mbk_amg_copy),
    SIMT_KERNEL(amg_kernels::mbk_amg_move),
    SIMT_KERNEL(amg_kernels::mbk_amg_rows),
    SIMT_KERNEL(amg_kernels::mbk_amg_symmetry),
    SIMT_KERNEL(amg_kernels::mbk_amg_links),
    SIMT_KERNEL(amg_kernels::mbk_amg_nodes),
    SIMT_KERNEL(amg_kernels::mbk_amg_norms),
    SIMT_KERNEL(amg_kernels::mbk_amg_fill),
    SIMT_KERNEL(amg_kernels::mbk_amg_lump),
    SIMT_KERNEL(amg_kernels::mbk_amg_expand),
    SIMT_KERNEL(amg_kernels::mbk_amg_lanczos_start),
    SIMT_KERNEL(amg_kernels::mbk_amg_lanczos_multiply),
    SIMT_KERNEL(amg_kernels::mbk_amg_lanczos_subtract),
    SIMT_KERNEL(amg_kernels::mbk_amg_products),
    SIMT_KERNEL(amg_kernels::mbk_amg_near_keys),
    SIMT_KERNEL(amg_kernels::mbk_amg_decide),
    SIMT_KERNEL(amg_kernels::mbk_amg_join),
    SIMT_KERNEL(amg_kernels::mbk_amg_rest),
    SIMT_KERNEL(amg_kernels::mbk_amg_follow),
    SIMT_KERNEL(amg_kernels::mbk_amg_tentative),
    SIMT_KERNEL(amg_kernels::mbk_amg_depend),
    SIMT_KERNEL(amg_kernels::mbk_amg_weigh),
    SIMT_KERNEL(amg_kernels::mbk_amg_block),
    SIMT_KERNEL(amg_kernels::mbk_amg_settle),
    SIMT_KERNEL(amg_kernels::mbk_amg_attach),
    SIMT_KERNEL(amg_kernels::mbk_amg_beside),
    SIMT_KERNEL(amg_kernels::mbk_amg_point),
    SIMT_KERNEL(amg_kernels::mbk_amg_nearby),
    SIMT_KERNEL(amg_kernels::mbk_amg_gather),
    SIMT_KERNEL(amg_kernels::mbk_amg_restrict),
    SIMT_KERNEL(amg_kernels::mbk_amg_relax),
    SIMT_KERNEL(amg_kernels::mbk_amg_invert),
    SIMT_KERNEL(amg_transpose::mbk_transpose_rows),
    SIMT_KERNEL(amg_transpose::mbk_transpose_count),
    SIMT_KERNEL(amg_transpose::mbk_transpose_scan),
    SIMT_KERNEL(amg_transpose::mbk_transpose_move),
    SIMT_KERNEL(amg_transpose::mbk_transpose_starts),
};

static simt_case what;          // the test case that runs
static bool few_blocks = false; // launches have a third of their blocks
static int64_t few_rows = 4096; // up to so many rows with many products get a block each
static std::map<mbi_amg_pool *, std::vector<std::unique_ptr<simt_array>>> memory;

// Returns a grid with fewer thread blocks than the host asks for, so that each takes several
// turns as with large matrices; kernels that need all their blocks keep them.
static int64_t fewer(const char *name, int64_t grid) {
  const bool exact =
      strncmp(name, "mbk_scan_", 9) == 0 || strncmp(name, "mbk_transpose_", 14) == 0;
  return exact ? grid : (grid + 2) / 3;
}

static merbit_status launch(merbit_context *, void *function, const char *name, int64_t grid,
                            int threads, unsigned shared, void *, const void *arguments) {
  const simt_kernel *kernel = (const simt_kernel *)function;
  char error[4096];
  assert_string_equal(kernel->name, name);
  assert_true(shared <= 48 << 10); // what a GPU gives without opt-in
  grid = few_blocks ? fewer(name, grid) : grid;
  if (grid > 0) {
    if (simt_launch_kernel(kernel, (unsigned)grid, (unsigned)threads, shared, what.seed,
                           arguments, false, error, sizeof error) != 0) {
      fail_msg("%s, seed %llu: %s", what.matrix, (unsigned long long)what.seed, error);
    }
    simt_counted.launches++;
    simt_counted.runs[kernel->name].insert({what.form, what.matrix, what.seed});
  }
  return MERBIT_OK;
}

static merbit_status program_kernel(merbit_context *, const mbi_program *, const char *name,
                                    void **function) {
  for (const simt_kernel &kernel : kernels) {
    if (strcmp(kernel.name, name) == 0) {
      *function = (void *)&kernel;
      return MERBIT_OK;
    }
  }
  fail_msg("no kernel %s", name);
  return MERBIT_INVALID_ARGUMENT;
}

static merbit_status programs_create(merbit_context *, const mbi_program_wish *, int,
                                     mbi_program_times *) {
  return MERBIT_OK;
}

static merbit_status copy(merbit_context *, mbi_devptr to, const void *from, size_t bytes) {
  memcpy((void *)(uintptr_t)to, from, bytes);
  return MERBIT_OK;
}

static merbit_status download(merbit_context *, void *to, mbi_devptr from, size_t bytes) {
  memcpy(to, (const void *)(uintptr_t)from, bytes);
  return MERBIT_OK;
}

static merbit_status synchronize(merbit_context *, void *) {
  return MERBIT_OK;
}

static merbit_status zero(merbit_context *, mbi_devptr to, size_t bytes, void *) {
  memset((void *)(uintptr_t)to, 0, bytes);
  return MERBIT_OK;
}

static void program_destroy(merbit_context *, mbi_program *) {
}

} // namespace amg_bed

// Replaces the library's own function.
#define mbi_device_launch amg_bed::launch
#define mbi_device_upload amg_bed::copy
#define mbi_device_download amg_bed::download
#define mbi_device_synchronize amg_bed::synchronize
#define mbi_device_zero amg_bed::zero
#define mbi_programs_create amg_bed::programs_create
#define mbi_program_kernel amg_bed::program_kernel
#define mbi_program_destroy amg_bed::program_destroy
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

// Allocates every part of a pool separately, so that AddressSanitizer detects the first byte
// beyond.
merbit_status mbi_amg_pool_take(merbit_context *, mbi_amg_pool *pool, uint64_t bytes,
                                mbi_devptr *address) {
  amg_bed::memory[pool].emplace_back(new simt_array(bytes, 1, 0xff));
  *address = (mbi_devptr)(uintptr_t)amg_bed::memory[pool].back()->get();
  pool->count = (int)amg_bed::memory[pool].size();
  return MERBIT_OK;
}
void mbi_amg_pool_rewind(mbi_amg_pool *pool, const mbi_amg_pool *earlier) {
  amg_bed::memory[pool].resize((size_t)earlier->count);
  pool->count = earlier->count;
}
void mbi_amg_pool_reset(mbi_amg_pool *pool) {
  amg_bed::memory.erase(pool);
  pool->count = 0;
}
uint64_t mbi_amg_pool_bytes(const mbi_amg_pool *) {
  return 0; // not kept here
}
void mbi_amg_pool_release(merbit_context *, mbi_amg_pool *pool) {
  amg_bed::memory.erase(pool);
}
#include "spmv/stages/transpose_sort.c"

#define MBI_AMG_FEW amg_bed::few_rows
#include "solve/amg/multiply_cuda.c"

#include "solve/amg/aggregate_cuda.c"

#include "solve/amg/reduction_cuda.c"

#include "solve/amg/setup_cuda.c"

#pragma GCC diagnostic pop
}
#undef mbi_device_launch
#undef mbi_device_upload
#undef mbi_device_download
#undef mbi_device_synchronize
#undef mbi_device_zero
#undef mbi_programs_create
#undef mbi_program_kernel
#undef mbi_program_destroy

template <class T> static const T *amg_at(mbi_devptr address) {
  return (const T *)(uintptr_t)address;
}
#endif // SIMT_AMG_BED_H
