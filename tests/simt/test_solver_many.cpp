// The steps of CG for several right-hand sides: each column is compared with the same text run
// row by row. Bits are equal under every schedule. A stopped column stays unchanged.
#include "jit/device.cuh"
#include "simt/plain_steps.h"
#include "simt/solver_bed.h"
#include "support/matrices.h"

#include <algorithm>

#define MBK_STEP_COLUMNS 3
#define MBK_VECTOR double
namespace f64 {
#include "solve/cg/many.cu"
}
#undef MBS_FUNCTION
#undef MBK_STEP_ROWS
#undef MBS_VECTOR
#undef MBK_VECTOR
#define MBK_VECTOR float
namespace f32 {
#include "solve/cg/many.cu"
}
#undef MBS_FUNCTION
#undef MBK_STEP_ROWS
#undef MBS_VECTOR
namespace loop {
#include "solve/core/loop.cu"
}

enum { COLUMNS = MBK_STEP_COLUMNS };

#define CG(space)                                                                              \
  SIMT_KERNEL(space::mbk_cg_many_pq), SIMT_KERNEL(space::mbk_cg_many_update_r),                \
      SIMT_KERNEL(space::mbk_cg_many_rz), SIMT_KERNEL(space::mbk_cg_many_update_x_p)
static const std::vector<simt_kernel> kernels[2] = {{CG(f64)}, {CG(f32)}};

// The columns of every vector, `stride` apart; all share one diagonal.
struct many_bed {
  many_bed(long long n, int single, unsigned blocks)
      : n(n), stride(n + 5), single(single), blocks(blocks),
        partials((size_t)blocks * COLUMNS * MBI_SOLVE_SUMS, sizeof(double), 0xff),
        memory(COLUMNS) {
    for (int slot = 0; slot <= MBI_CG_Z; slot++) {
      const size_t columns = slot == MBI_AT_INVERSE ? 1 : COLUMNS;
      arrays.emplace_back(new simt_array(columns * (size_t)stride, single ? 4 : 8));
    }
  }
  void *at(int slot, int column) const {
    return (char *)arrays[(size_t)slot]->get() +
           (slot == MBI_AT_INVERSE ? 0 : column * stride * (single ? 4 : 8));
  }
  void take(int column, const bed &from) {
    for (int slot = 0; slot <= MBI_CG_Z; slot++) {
      memcpy(at(slot, column), from.arrays[(size_t)slot]->get(), (size_t)n * (single ? 4 : 8));
    }
    memory[(size_t)column] = from.memory;
  }
  bool same(int column, const bed &other) const {
    for (int slot = 0; slot <= MBI_CG_Z; slot++) {
      if (memcmp(at(slot, column), other.arrays[(size_t)slot]->get(),
                 (size_t)n * (single ? 4 : 8)) != 0) {
        return false;
      }
    }
    return true;
  }
  // `with_z` is 0 if there is no vector z, which only a separate preconditioner step needs.
  void run(const simt_kernel &kernel, const bed &like, int pre, int with_z, const char *matrix,
           uint64_t seed) {
    mbi_solve_vectors v = like.vectors(pre);
    mbi_solve_memory *const m = memory.data();
    double *const parts = (double *)partials.get();
    for (int slot = 0; slot < MBI_SOLVE_VECTORS; slot++) {
      v.at[slot] = slot < MBI_CG_Z + with_z ? at(slot, 0) : nullptr;
    }
    v.stride = stride;
    simt_run(kernel, {single ? "f32" : "f64", matrix, seed},
             {blocks * COLUMNS, like.threads(), MBI_STEP_SHARED}, v, n, m, parts);
  }

  long long n, stride;
  int single;
  unsigned blocks;
  std::vector<std::unique_ptr<simt_array>> arrays;
  simt_array partials;
  std::vector<mbi_solve_memory> memory;
};

static void check_step(const simt_kernel &kernel, const char *matrix, long long n, int single,
                       int pre, uint64_t seed) {
  std::string name = strstr(kernel.name, "mbk_");
  name.erase(name.find("many_"), 5);
  const plain_step &step = plain_steps[single].at(name);
  const unsigned most = (unsigned)((n + THREADS - 1) / THREADS);
  const unsigned blocks = std::min(most, (unsigned)(1 + seed % 3));
  const int stopped = (int)(seed % (COLUMNS + 1)); // COLUMNS: none
  many_bed found(n, single, blocks), again(n, single, blocks);
  std::vector<std::unique_ptr<bed>> wanted;
  for (int c = 0; c < COLUMNS; c++) {
    wanted.emplace_back(new bed(n, single, 1));
    wanted[(size_t)c]->fill(seed + (uint64_t)c);
    wanted[(size_t)c]->arrays[MBI_AT_INVERSE]->copy(*wanted[0]->arrays[MBI_AT_INVERSE]);
    if (c == stopped) {
      wanted[(size_t)c]->memory.state.stop = MBI_SOLVE_CANDIDATE;
      wanted[(size_t)c]->memory.state.closed = 1;
    }
    found.take(c, *wanted[(size_t)c]);
    again.take(c, *wanted[(size_t)c]);
  }
  const int with_z = pre == MBI_PRE_SEPARATE || name == "mbk_cg_rz";
  found.run(kernel, *wanted[0], pre, with_z, matrix, seed);
  again.run(kernel, *wanted[0], pre, with_z, matrix, seed + 1);
  for (int c = 0; c < COLUMNS; c++) {
    bed &own = *wanted[(size_t)c];
    if (c != stopped) {
      step.run(own.vectors(pre), &own.memory);
    }
    assert_true(found.same(c, own));
    expect_state(found.memory[(size_t)c].state, own.memory.state, (double)n);
    assert_memory_equal(&found.memory[(size_t)c], &again.memory[(size_t)c],
                        sizeof(mbi_solve_memory));
  }
}

static void test_steps(void **) {
  for (int index = 0; index < test_matrix_count(); index++) {
    test_matrix m;
    test_matrix_make(index, 3, &m);
    for (int single = 0; single <= 1; single++) {
      for (size_t k = 0; k < kernels[single].size(); k++) {
        check_step(kernels[single][k], m.name, 1 + m.rows % 1700, single, (index + single) % 3,
                   simt_seeds[0] + (uint64_t)index * 7 + k);
      }
    }
    test_matrix_free(&m);
  }
}

// The loop continues as long as one column runs.
static void test_loop(void **) {
  const simt_kernel go_on = SIMT_KERNEL(loop::mbk_solve_loop);
  for (int runs = 0; runs < 1 << (2 * COLUMNS); runs++) {
    std::vector<mbi_solve_memory> memory(COLUMNS);
    mbi_solve_memory *const at = memory.data();
    unsigned condition = 7, wanted = 0;
    const mbk_u64 handle = (mbk_u64)&condition;
    const int columns = COLUMNS;
    for (int c = 0; c < COLUMNS; c++) {
      const int stopped = runs >> (2 * c) & 1, due = runs >> (2 * c + 1) & 1;
      memory[(size_t)c].state.stop = stopped ? MBI_SOLVE_BREAKDOWN : MBI_SOLVE_RUNNING;
      memory[(size_t)c].state.iterations = due ? 4 : 3;
      memory[(size_t)c].state.check_at = 4;
      wanted |= !stopped && !due;
    }
    simt_run(go_on, {"columns", std::to_string(runs).c_str(), 1}, {1, 1, 0}, handle, at,
             columns);
    assert_int_equal(condition, wanted);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_steps),
      cmocka_unit_test(test_loop),
  };
  return cmocka_run_group_tests(tests, nullptr, simt_runs_report);
}
