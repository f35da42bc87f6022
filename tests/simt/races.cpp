// The kernels under the shim's race detector (races.h): a short list of forms that has every
// operation on shared memory; the detector's result does not depend on the schedule. Compiled
// with -fsanitize=thread, linked without it. The first tests check the detector itself.
// kernels_ran.py fails for a kernel with shared memory or barriers that does not run here, in
// races_builds.cpp, races_arnoldi.cpp or races_amg.cpp.
#include "core/core.h"
extern "C" {
#include "spmv/gpu/cb/cb.h"
}

#include "simt/races_list.h"
#include "simt/shim_test.h"

#include "simt/merbit_product.h"

#define SIMT_FORM f32_default, float, 14, 32, 128, 32, 0, 32, 0, 0, 0
#include "simt/merbit_form.h"
#define SIMT_FORM f64_default_512, double, 7, 32, 512, 64, 0, 32, 0, 0, 0
#include "simt/merbit_form.h"
#define SIMT_FORM f32_omega16_dual, float, 7, 16, 64, 32, 1, 32, 0, 0, 1
#include "simt/merbit_form.h"
#define SIMT_FORM f32_long_rows, float, 1, 8, 32, 32, 0, 32, 0, 0, 0 // of 24 blocks and more
#include "simt/merbit_form.h"
#define SIMT_FORM f64_omega8, double, 5, 8, 64, 32, 0, 64, 1, 1, 0
#include "simt/merbit_form.h"

#include "simt/scan_bed.h"
#define SIMT_FORM scan_f32, float, 32, 0, 0, 0, 4, 5, 1, 0, 128
#include "simt/scan_form.h"
#define SIMT_FORM scan_f64, double, 64, 1, 0, 1, 2, 5, 0, 0, 64
#include "simt/scan_form.h"
#define SIMT_FORM scan_table, float, 32, 0, 5, 0, 4, 5, 1, 0, 128
#include "simt/scan_form.h"
#define SIMT_WHOLE
#define SIMT_FORM whole_f32, float, 32, 0, 0, 0, 4, 5, 1, 0, 64
#include "simt/scan_form.h"
#undef SIMT_WHOLE
#define SIMT_LINKED
#define SIMT_FORM linked_f64, double, 64, 1, 0, 0, 2, 5, 1, 0, 64
#include "simt/scan_form.h"
#undef SIMT_LINKED

#include "simt/binned_bed.h"
#define SIMT_FORM binned_f32, float, 32, 0, 0, 0, 8, 1, 0, 64, 40, 3
#include "simt/binned_form.h"
#define SIMT_FORM binned_f64, double, 64, 1, 0, 1, 4, 0, 0, 96, 100, 1
#include "simt/binned_form.h"

#include "simt/cb_bed.h"
#define SIMT_FORM cb_f32, float, 32, 0, 0, 0, 1, 0, 64
#include "simt/cb_form.h"
#define SIMT_FORM cb_f64, double, 64, 1, 0, 1, 0, 1, 96
#include "simt/cb_form.h"

#include "simt/hubs_bed.h"
#define SIMT_FORM hubs_f32, float, 32, 0, 0, 0, 4, 5, 1, 0, 64, 10
#include "simt/hubs_form.h"
#define SIMT_FORM hubs_f64, double, 64, 1, 0, 1, 2, 5, 0, 0, 96, 200
#include "simt/hubs_form.h"

#include "simt/merge_bed.h"
#define SIMT_FORM merge_f32, float, 32, 0, 0, 0, 4, 3, 1, 64
#include "simt/merge_form.h"
#define SIMT_FORM merge_f64, double, 64, 1, 0, 1, 2, 2, 0, 32
#include "simt/merge_form.h"

#include "simt/row_study_bed.h"
#define SIMT_FORM loop_f32, float, 32, 0, 0, 0, 0, 32, 1, 2024, 64
#include "simt/row_study_form.h"
#define SIMT_FORM tiled_f64, double, 32, 0, 0, 0, 1, 32, 2, 50, 96
#include "simt/row_study_form.h"

#include "simt/split_study_bed.h"
#define SIMT_FORM split_f32, float, 32, 0, 0, 0, 0, 3, 1, 64
#include "simt/split_study_form.h"
#define SIMT_FORM path_f64, double, 64, 1, 0, 1, 1, 2, 0, 96
#include "simt/split_study_form.h"

#include "simt/diagonals_bed.h"
#define SIMT_FORM diagonals_f64, double, 32, 0, 0, 0, 4, 0, 64
#include "simt/diagonals_form.h"

#include "simt/sliced_pages.h"
#define SIMT_FORM sliced_f32, float, 32, 0, 0, 0, 1, 4, 0, 64, 4, mbk_u32, 2
#include "simt/sliced_form.h"

#include "simt/bsr_bed.h"
#define SIMT_FORM bsr_f32, float, 32, 0, 0, 0, 1, 1, 1, 8, 8, 0, 0, 0, 0, 1, 128
#include "simt/bsr_form.h"

#include "simt/bsr_study_bed.h"
#define SIMT_FORM study_row_major, double, 32, 0, 0, 0, 0, 5, 5, 0, 0, 32
#include "simt/bsr_study_form.h"
#define SIMT_FORM study_private, double, 32, 0, 0, 1, 1, 5, 5, 1, 0, 64
#include "simt/bsr_study_form.h"
#define SIMT_FORM study_team, double, 32, 0, 0, 0, 2, 5, 5, 0, 1, 64
#include "simt/bsr_study_form.h"
#define SIMT_FORM study_vector, double, 32, 0, 0, 0, 3, 5, 5, 0, 0, 128
#include "simt/bsr_study_form.h"

#include "simt/many_bed.h"
#define SIMT_FORM many_f32_rows, float, 32, 0, 0, 0, 8, 8, 4, 2, 1, 4, 0, 0, 1, 256
#include "simt/many_form.h"
#define SIMT_FORM many_f64_columns, double, 32, 1, 0, 1, 8, 8, 2, 4, 4, 8, 1, 0, 1, 64
#include "simt/many_form.h"
#define SIMT_ROOM 128
#define SIMT_FORM many_even_f32, float, 32, 0, 0, 0, 8, 8, 4, 2, 1, 4, 0, 1, 1, 256
#include "simt/many_form.h"

#include "simt/rows_bed.h"
#define SIMT_FORM rows_table, float, 32, 1, 5, 0, 2, 4, 1, 512
#include "simt/rows_form.h"

namespace nonempty_rows {
#define MBK_ROW_PTR mbk_i32
#define MBK_BASE 0
#include "spmv/shared/csr_columns.cu"
#include "spmv/shared/nonempty_rows.cu"
#include "simt/undefine.h"
} // namespace nonempty_rows

namespace pagerank {
#define MBK_VECTOR float
#define MBK_ROW_PTR mbk_i32
#include "solve/pagerank/pagerank.cu"
#undef MBK_ROW_PTR
#undef MBK_VECTOR
} // namespace pagerank

#include "simt/solver_bed.h"
#undef MBS_FUNCTION // drop the host's definition
#include "simt/undefine_steps.h"
#define MBK_VECTOR double
namespace cg {
#include "solve/cg/cg.cu"
}
#undef MBS_FUNCTION
#undef MBS_VECTOR
#undef MBK_STEP_ROWS
#undef MBK_STEP_COLUMNS
#define MBK_STEP_COLUMNS 3
namespace cg_many {
#include "solve/cg/many.cu"
}
#undef MBS_FUNCTION
#undef MBS_VECTOR
#undef MBK_STEP_ROWS
#undef MBK_STEP_COLUMNS
namespace bicgstab {
#include "solve/bicgstab/bicgstab.cu"
}
#undef MBK_VECTOR

// Passes values from lane to lane of a warp, with a call of `meet` between write and read.
template <class F> static std::string hand_over(F meet, uint64_t seed) {
  return error_of(
      64,
      [&] {
        MBK_SHARED_MEMORY(memory);
        memory[mbk_lane()] = 1;
        meet();
        const unsigned char other = memory[mbk_lane() ^ 1u];
        meet();
        memory[mbk_lane()] = other;
      },
      seed);
}

static void assert_race(const std::string &sentence) {
  for (const char *word : {"kernel wrong, block 0: thread ", "of shared memory, which thread",
                           "with no barrier between (race)"}) {
    if (sentence.find(word) == std::string::npos) {
      fail_msg("\"%s\" is not in: %s", word, sentence.c_str());
    }
  }
}

static void test_finds_races(void **) {
  for (uint64_t seed = 0; seed < 20; seed++) {
    assert_race(hand_over([] {}, seed));
    assert_race(hand_over([] { mbk_ballot(FULL, true); }, seed)); // orders no memory
    assert_race(hand_over([] { mbk_shuffle(FULL, 1, 0, 32); }, seed));
    assert_race(hand_over([] { mbk_warp_sync(FULL); }, seed)); // two warps, the same bytes
    assert_race(hand_over([] { mbk_warp_sync(1u << mbk_lane()); }, seed));
    assert_string_equal(error_of(
                            64,
                            [] {
                              MBK_SHARED_MEMORY(memory);
                              memory[mbk_thread()] = 1;
                              mbk_warp_sync(FULL);
                              (void)*(volatile unsigned char *)(memory + (mbk_thread() ^ 1u));
                              mbk_block_sync();
                              memory[63 - mbk_thread()] = 2;
                            },
                            seed)
                            .c_str(),
                        "none");
  }
}

// Synchronises pairs of lanes, each with its own mask.
static void test_groups(void **) {
  for (const bool apart : {false, true}) {
    const std::string found = error_of(32, [=] {
      MBK_SHARED_MEMORY(memory);
      const mbk_u32 lane = mbk_lane();
      memory[lane] = 1;
      mbk_warp_sync(3u << lane / 2 * 2);
      (void)*(volatile unsigned char *)(memory + (lane ^ (apart ? 2u : 1u)));
    });
    if (apart) {
      assert_race(found);
    } else {
      assert_string_equal(found.c_str(), "none");
    }
  }
}

static void test_atomics(void **) {
  const auto count = [](bool plain_read, bool barrier) {
    return error_of(64, [=] {
      MBK_SHARED_MEMORY(memory);
      mbk_u32 *const sum = (mbk_u32 *)(void *)memory;
      if (mbk_thread() == 0) {
        *sum = 0;
      }
      mbk_block_sync();
      mbk_atomic_add(sum, 1u);
      if (barrier) {
        mbk_block_sync();
      }
      if (plain_read) {
        (void)*(volatile mbk_u32 *)sum;
      }
    });
  };
  assert_string_equal(count(false, false).c_str(), "none");
  assert_string_equal(count(true, true).c_str(), "none");
  assert_race(count(true, false));
}

// Calls check for small matrices of every kind, with less than `size` rows and nonzeros. No
// seed may leave any out, because some kernels run on few of them.
template <class F> static void each_small(const F &check, int64_t size = 4000) {
  csr_each_matrix(simt_seeds[2], [&](int index, test_matrix &m) {
    if (m.rows + m.nnz < size || m.rows == 20) {
      check(index, m);
    }
  });
}

static void test_merbit(void **state) {
  const merbit_form &f = *(const merbit_form *)*state;
  each_small([&](int index, test_matrix &m) {
    if (f.value_bytes == 4) {
      merbit_check_matrix<float>(f, index, m, simt_seeds[2]);
    } else {
      merbit_check_matrix<double>(f, index, m, simt_seeds[2]);
    }
  });
}

static void test_scan(void **) {
  each_small([](int index, test_matrix &m) {
    scan_check_matrix<float>(scan_f32::form, index, m, simt_seeds[2], false);
    scan_check_matrix<double>(scan_f64::form, index, m, simt_seeds[2], false);
    scan_check_matrix<float>(scan_table::form, index, m, simt_seeds[2], false);
    scan_check_matrix<float>(whole_f32::form, index, m, simt_seeds[2], false);
    scan_check_matrix<double>(linked_f64::form, index, m, simt_seeds[2], false);
  });
}

// Looks for races in the scan's fix-up with two rows over more than 128 tiles of 64 nonzeros.
// The thread block that adds them up in turn meets the ends of both from tile 256 on.
static void test_scan_long(void **) {
  test_matrix m;
  merge_make("long rows", {5, 64 * 257, 64 * 135, 10}, &m);
  scan_check_long<double>(scan_f64::form, m, simt_seeds[2]);
  test_matrix_free(&m);
}

// Looks for races of MERBIT in rows that enter more than 24 blocks of 32 steps.
static void test_merbit_long(void **) {
  test_matrix m;
  merge_make("long rows", {3, 2000, 2000, 5}, &m);
  merbit_check_matrix<float>(f32_long_rows::form, 0, m, simt_seeds[2]);
  test_matrix_free(&m);
}

static void test_binned(void **) {
  each_small([](int index, test_matrix &m) {
    binned_check_matrix<float>(binned_f32::form, index, m, simt_seeds[2], false);
    binned_check_matrix<double>(binned_f64::form, index, m, simt_seeds[2], false);
  });
}

static void test_cb(void **) {
  cb_each_matrix(simt_seeds[2], [](int index, test_matrix &m) {
    if (m.rows + m.nnz < 4000) {
      cb_check_matrix<float>(cb_f32::form, index, m, simt_seeds[2], false);
      cb_check_matrix<double>(cb_f64::form, index, m, simt_seeds[2], false);
    }
  });
  merbit_context_destroy(cb_context());
}

static void test_hubs(void **) {
  each_small([](int index, test_matrix &m) {
    hubs_check_matrix<float>(hubs_f32::form, index, m, simt_seeds[2], false);
    hubs_check_matrix<double>(hubs_f64::form, index, m, simt_seeds[2], false);
  });
}

static void test_merge(void **) {
  each_small([](int index, test_matrix &m) {
    merge_check_matrix<float>(merge_f32::form, index, m, simt_seeds[2], false);
    merge_check_matrix<double>(merge_f64::form, index, m, simt_seeds[2], false);
  });
  for (const auto &[name, lengths] : merge_cuts((int64_t)merge_chunk(merge_f64::form))) {
    test_matrix m;
    merge_make(name, lengths, &m);
    merge_check_long<double>(merge_f64::form, m, simt_seeds[2]);
    test_matrix_free(&m);
  }
}

static void test_diagonals(void **) {
  each_small(
      [](int index, test_matrix &m) {
        diagonals_check_matrix<double>(diagonals_f64::form, index, m, simt_seeds[2], false);
      },
      1000);
}

static void test_sliced(void **) {
  each_small([](int index, test_matrix &m) {
    sliced_check_matrix<float>(sliced_f32::form, index, m, simt_seeds[2], false);
  });
  test_matrix m; // small matrices have one page, which no lane moves
  sliced_make_pages(&m);
  sliced_check_matrix<float>(sliced_f32::form, 0, m, simt_seeds[2], false);
  test_matrix_free(&m);
}

static void test_studies(void **) {
  each_small(
      [](int index, test_matrix &m) {
        row_study_check_matrix<float>(loop_f32::form, index, m, simt_seeds[2], false);
        row_study_check_matrix<double>(tiled_f64::form, index, m, simt_seeds[2], false);
        split_study_check_matrix<float>(split_f32::form, index, m, simt_seeds[2], false);
        split_study_check_matrix<double>(path_f64::form, index, m, simt_seeds[2], false);
      },
      2000);
}

static void test_rows(void **) {
  each_small([](int index, test_matrix &m) {
    rows_check_matrix<float>(rows_table::form, index, m, simt_seeds[2], false);
  });
}

// Looks for races of block kernels. Each bed crops the matrix it gets.
static void test_blocks(void **) {
  each_small([](int index, test_matrix &m) {
    bsr_check_matrix<float>(bsr_f32::form, index, m, simt_seeds[2], false);
  });
  for (const study_form *f : study_forms) {
    each_small([&](int index, test_matrix &m) {
      if (index % 4 == 0) {
        study_check_matrix<double>(*f, index, m, simt_seeds[2]);
      }
    });
  }
}

static void test_many(void **) {
  each_small([](int index, test_matrix &m) {
    if (index % 2 == 0) {
      many_check_matrix<float>(many_even_f32::form, index, m, simt_seeds[2]);
      many_check_matrix<float>(many_f32_rows::form, index, m, simt_seeds[2]);
    } else {
      many_check_matrix<double>(many_f64_columns::form, index, m, simt_seeds[2]);
    }
  });
}

static void test_nonempty_rows(void **) {
  const uint64_t rows = 5000, blocks = 5;
  std::vector<mbk_i32> row_ptr(rows + 1), row_start(rows + 1);
  std::vector<mbk_u32> counts(blocks), row_id(rows), row_bits(rows);
  for (uint64_t row = 0; row < rows; row++) {
    row_ptr[row + 1] = row_ptr[row] + (mbk_i32)(row * 7 % 3);
  }
  for (uint64_t seed : simt_seeds) {
    mbk_u32 longest = 0, total = 0, *const at_longest = &longest, *const at_total = &total;
    mbk_u64 widths = 0, *const at_widths = &widths, sorted = 0, *const at_sorted = &sorted,
            squares = 0, *const at_squares = &squares;
    simt_run(SIMT_KERNEL(nonempty_rows::mbk_nonempty_count), {"nonempty_rows", "5000", seed},
             {blocks, 256, 24 + 522 * 4}, row_ptr.data(), rows, counts.data(), at_longest,
             at_widths, at_sorted, at_squares);
    simt_run(SIMT_KERNEL(nonempty_rows::mbk_nonempty_offsets), {"nonempty_rows", "5000", seed},
             {1, 1024, 132}, counts.data(), blocks, at_total);
    simt_run(SIMT_KERNEL(nonempty_rows::mbk_nonempty_compact), {"nonempty_rows", "5000", seed},
             {blocks, 256, 32}, row_ptr.data(), rows, counts.data(), row_id.data(),
             row_bits.data(), row_start.data());
    simt_run(SIMT_KERNEL(nonempty_rows::mbk_nonempty_offsets),
             {"nonempty_rows", "many blocks", seed}, {1, 1024, 132}, row_id.data(), rows,
             at_total); // arbitrary numbers
    std::vector<mbk_u32> bins(4096);
    simt_run(SIMT_KERNEL(nonempty_rows::mbk_columns_bins), {"nonempty_rows", "bins", seed},
             {2, 256, 4096 * 4}, row_id.data(), rows, bins.data());
  }
}

static void test_pagerank(void **) {
  const uint64_t n = 700;
  const unsigned blocks = 3, shared = 2 * 256 * sizeof(double);
  const int32_t given = 0;
  std::vector<float> z(n, 1), y(n, 2), weights(n, -1);
  const float *const none = nullptr;
  std::vector<mbk_i32> row_ptr(n + 1, 0);
  std::vector<double> partials(6);
  std::vector<pagerank::mbi_solve_memory> memory(1);
  pagerank::mbi_solve_memory *const at = memory.data();
  at->state.scalar[MBI_PAGERANK_SUM] = 1;
  at->state.stop = MBI_SOLVE_RUNNING;
  at->state.cap = 1 << 20;
  for (uint64_t seed : simt_seeds) {
    simt_run(SIMT_KERNEL(pagerank::mbk_pagerank_weigh), {"f32", "700", seed}, {blocks, 256, 0},
             weights.data(), row_ptr.data(), n);
    simt_run(SIMT_KERNEL(pagerank::mbk_pagerank_begin), {"f32", "700", seed},
             {blocks, 256, shared}, z.data(), weights.data(), given, n, partials.data());
    simt_run(SIMT_KERNEL(pagerank::mbk_pagerank_first), {"f32", "700", seed}, {1, 256, shared},
             partials.data(), blocks, at);
    simt_run(SIMT_KERNEL(pagerank::mbk_pagerank_update), {"f32", "700", seed},
             {blocks, 256, shared}, z.data(), y.data(), weights.data(), none, n, at,
             partials.data());
    simt_run(SIMT_KERNEL(pagerank::mbk_pagerank_finish), {"f32", "700", seed}, {1, 256, shared},
             partials.data(), blocks, at);
    simt_run(SIMT_KERNEL(pagerank::mbk_pagerank_end), {"f32", "700", seed}, {blocks, 256, 0},
             z.data(), weights.data(), n);
  }
}

// Looks for races of the solvers' steps with several blocks.
static void test_solvers(void **) {
  static const simt_kernel steps[] = {SIMT_KERNEL(cg::mbk_solve_residual),
                                      SIMT_KERNEL(cg::mbk_cg_start),
                                      SIMT_KERNEL(cg::mbk_cg_start_p),
                                      SIMT_KERNEL(cg::mbk_cg_update_r),
                                      SIMT_KERNEL(cg::mbk_cg_rz),
                                      SIMT_KERNEL(cg::mbk_cg_update_x_p),
                                      SIMT_KERNEL(bicgstab::mbk_bicgstab_start),
                                      SIMT_KERNEL(bicgstab::mbk_bicgstab_s),
                                      SIMT_KERNEL(bicgstab::mbk_bicgstab_update_x_r),
                                      SIMT_KERNEL(bicgstab::mbk_bicgstab_update_p)};
  static const simt_kernel many[] = {
      SIMT_KERNEL(cg_many::mbk_cg_many_pq), SIMT_KERNEL(cg_many::mbk_cg_many_update_r),
      SIMT_KERNEL(cg_many::mbk_cg_many_rz), SIMT_KERNEL(cg_many::mbk_cg_many_update_x_p)};
  static const simt_kernel fused_kernels[] = {SIMT_KERNEL(cg::mbk_cg_fused),
                                              SIMT_KERNEL(bicgstab::mbk_bicgstab_fused_s),
                                              SIMT_KERNEL(bicgstab::mbk_bicgstab_fused)};
  for (uint64_t seed : simt_seeds) {
    for (const simt_kernel &step : steps) {
      bed b(700, 0, 3);
      b.fill(seed);
      b.run(step, 1, "700", seed);
    }
    for (const simt_kernel &kernel : many) { // three columns in one launch, with separate sums
      bed b(900, 0, 9);
      std::vector<mbi_solve_memory> memory(3);
      mbi_solve_vectors v = b.vectors(1);
      mbi_solve_memory *const at = memory.data();
      double *const parts = (double *)b.partials.get();
      const long long n = 300;
      b.fill(seed);
      std::fill(memory.begin(), memory.end(), b.memory);
      v.stride = n;
      simt_run(kernel, {"f64", "300", seed}, {9, 768, MBI_STEP_SHARED}, v, n, at, parts);
    }
    for (const simt_kernel &kernel : fused_kernels) {
      bed b(1400, 0, 3);
      b.fill(seed);
      b.run_fused(kernel, b.vectors(1), "1400", seed);
    }
  }
}

int main() {
  std::vector<CMUnitTest> tests = {
      cmocka_unit_test(test_finds_races), cmocka_unit_test(test_groups),
      cmocka_unit_test(test_atomics),     cmocka_unit_test(test_pagerank),
      cmocka_unit_test(test_scan),        cmocka_unit_test(test_scan_long),
      cmocka_unit_test(test_binned),      cmocka_unit_test(test_hubs),
      cmocka_unit_test(test_sliced),      cmocka_unit_test(test_cb),
      cmocka_unit_test(test_diagonals),   cmocka_unit_test(test_merge),
      cmocka_unit_test(test_studies),     cmocka_unit_test(test_nonempty_rows),
      cmocka_unit_test(test_solvers),     cmocka_unit_test(test_rows),
      cmocka_unit_test(test_blocks),      cmocka_unit_test(test_many),
      cmocka_unit_test(test_merbit_long),
  };
  tests.insert(tests.end(), races_of_builds.begin(), races_of_builds.end());
  tests.insert(tests.end(), races_of_arnoldi.begin(), races_of_arnoldi.end());
  tests.insert(tests.end(), races_of_amg.begin(), races_of_amg.end());
  for (const merbit_form *form : merbit_forms) {
    tests.push_back({form->name, test_merbit, nullptr, nullptr, (void *)form});
  }
  return _cmocka_run_group_tests("races", tests.data(), tests.size(), nullptr,
                                 simt_runs_report);
}
