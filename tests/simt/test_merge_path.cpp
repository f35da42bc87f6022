// The merge path on the GPU: products against the error bound, chunks against a simple loop,
// rows that end with a chunk, chunks of empty rows, rows over so many chunks that a warp or a
// thread block adds them up, and launch sizes against the launcher's.
#include "support/internal.h"

#include "simt/merge_bed.h"

#define SIMT_FORM f32_p32_b0_host_s8_r1_t32, float, 32, 0, 0, 0, 8, 1, 0, 32
#include "simt/merge_form.h"
#define SIMT_FORM f32_p64_b1_dev_s12_r4_once_t256, float, 64, 1, 0, 1, 12, 4, 1, 256
#include "simt/merge_form.h"
#define SIMT_FORM f32_p32_b1_ones_dev_s4_r3_once_t32, float, 32, 1, 1, 1, 4, 3, 1, 32
#include "simt/merge_form.h"
#define SIMT_FORM f32_p64_b0_ones_host_s4_r2_t64, float, 64, 0, 1, 0, 4, 2, 0, 64
#include "simt/merge_form.h"
#define SIMT_FORM f32_p64_b1_host_s16_r1_once_t1024, float, 64, 1, 0, 0, 16, 1, 1, 1024
#include "simt/merge_form.h"
#define SIMT_FORM f32_p32_b0_host_s8_r32_once_t128, float, 32, 0, 0, 0, 8, 32, 1, 128
#include "simt/merge_form.h"
#define SIMT_FORM f32_p32_b0_equal_host_s4_r2_once_t96, float, 32, 0, 2, 0, 4, 2, 1, 96
#include "simt/merge_form.h"
#define SIMT_FORM f64_p32_b0_host_s8_r2_t64, double, 32, 0, 0, 0, 8, 2, 0, 64
#include "simt/merge_form.h"
#define SIMT_FORM f64_p64_b1_dev_s8_r1_once_t128, double, 64, 1, 0, 1, 8, 1, 1, 128
#include "simt/merge_form.h"
#define SIMT_FORM f64_p32_b1_ones_dev_s2_r5_t32, double, 32, 1, 1, 1, 2, 5, 0, 32
#include "simt/merge_form.h"
#define SIMT_FORM f64_p64_b0_ones_host_s2_r1_once_t512, double, 64, 0, 1, 0, 2, 1, 1, 512
#include "simt/merge_form.h"
#define SIMT_FORM f64_p32_b0_single_dev_s4_r4_once_t64, double, 32, 0, 3, 1, 4, 4, 1, 64
#include "simt/merge_form.h"
#define SIMT_FORM f64_p64_b1_equal_dev_s16_r2_t256, double, 64, 1, 2, 1, 16, 2, 0, 256
#include "simt/merge_form.h"

static void check(void **state) {
  const merge_form &f = *(const merge_form *)*state;
  for (uint64_t seed : csr_seeds(merge_forms, &f, test_effort(1, 0))) {
    csr_each_matrix(seed, [&](int index, test_matrix &m) {
      if (csr_left_to_others(csr_place(merge_forms, &f), index, m)) {
        return;
      }
      const bool all = f.rounds < 3 && f.base == 0 && m.rows + m.nnz < 1500 && seed == 1;
      if (f.value_bytes == 4) {
        merge_check_matrix<float>(f, index, m, seed, all);
      } else {
        merge_check_matrix<double>(f, index, m, seed, all);
      }
    });
  }
}

static void test_cuts(void **) {
  for (const merge_form *f : merge_forms) {
    for (const auto &[name, lengths] : merge_cuts((int64_t)merge_chunk(*f))) {
      test_matrix m;
      if (merge_chunk(*f) * lengths.size() > (uint64_t)test_effort(70000, INT32_MAX) ||
          (lengths.size() == 17 && merge_chunk(*f) > (uint64_t)test_effort(150, 300))) {
        continue; // too slow
      }
      merge_make(name, lengths, &m);
      if (f->value_bytes == 4) {
        merge_check_long<float>(*f, m, simt_seeds[2]);
      } else {
        merge_check_long<double>(*f, m, simt_seeds[2]);
      }
      test_matrix_free(&m);
    }
  }
}

// ---- The launcher ---------------------------------------------------------------------------

static void test_sizes(void **) {
  merbit_context_desc desc = {};
  merbit_context *context;
  desc.side = MERBIT_SIDE_CPU;
  assert_int_equal(merbit_context_create(&desc, &context, nullptr), MERBIT_OK);
  assert_int_equal(MBI_SCAN_FIXUP_THREADS, MERGE_FIXUP_THREADS);
  assert_int_equal(MBI_MERGE_CUT_THREADS, MERGE_CUT_THREADS);
  for (const merge_form *f : merge_forms) {
    merbit_plan plan = {};
    plan.state = test_plan_state();
    plan.context = context;
    plan.type = f->value_bytes == 4 ? MERBIT_F32 : MERBIT_F64;
    plan.streaming = f->pack == 4;
    plan.tuning[MBI_KNOB_MERGE_STEPS] = (int)f->steps;
    plan.tuning[MBI_KNOB_MERGE_ROUNDS] = (int)f->rounds;
    plan.desc.block_threads = (int)f->threads;
    plan.device.rows = 10;
    plan.device.nnz = 3 * merge_chunk(*f) - 10;
    assert_int_equal(mbi_merge_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_merge_path_of(&plan)->chunks, 3);
    assert_int_equal(mbi_merge_path_of(&plan)->blocks, csr_divide_up(3, f->rounds));
    plan.device.nnz++;
    assert_int_equal(mbi_merge_size(&plan), MERBIT_OK);
    assert_int_equal(mbi_merge_path_of(&plan)->chunks, 4);
    assert_int_equal(mbi_merge_path_of(&plan)->pack, f->pack);
    for (const bool adds : {false, true}) {
      assert_int_equal(mbi_merge_shared(&plan, adds), merge_shared(*f, adds));
    }
  }
  merbit_context_destroy(context);
}

int main() {
  return csr_main("merge_path", merge_forms,
                  {cmocka_unit_test(test_sizes), cmocka_unit_test(test_cuts)}, check);
}
