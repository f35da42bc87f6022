/* SCAN's sizes with linked blocks, without a GPU. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/plan_sizes.h"

/* Linked blocks where most nonzeros are in rows of many tiles: as many warps as tiles, no
 * fix-up, and a slot per block. Large blocks as long as all run at once, or where L1 finds x;
 * the user's `whole` replaces them, and neither large matrices nor short rows take
 * them. */
static void linked_blocks(void **state) {
  enum { TWO_STEPS = 2048 * 132, ALL = 31 * 384 * 132, MOST = 98304 * 132 };
  static const struct {
    merbit_type type;
    double typical, sectors;
    uint64_t nnz;
    int wish, streams, steps, threads, linked;
  } cases[] = {{MERBIT_F32, 1024, 0.9, TWO_STEPS, 0, 0, 2, 1024, 1},
               {MERBIT_F32, 1023, 0.9, TWO_STEPS, 0, 0, 4, 128, 0},
               {MERBIT_F64, 5000, 0.9, TWO_STEPS + 1, 0, 0, 4, 1024, 1},
               {MERBIT_F64, 5000, 0.9, 2 * TWO_STEPS, 1, 0, 4, 1024, 1},
               {MERBIT_F64, 5000, 0.41, 2 * TWO_STEPS + 1, 0, 0, 2, 128, 1},
               {MERBIT_F64, 5000, 0.9, 2 * TWO_STEPS + 1, 2, 0, 8, 1024, 0},
               {MERBIT_F64, 5000, 0.4, 2 * TWO_STEPS + 1, 0, 0, 8, 1024, 1},
               {MERBIT_F32, 5000, 0.2, 4 * TWO_STEPS, 0, 0, 8, 1024, 1},
               {MERBIT_F32, 5000, 0.2, 4 * TWO_STEPS + 1, 0, 0, 4, 128, 0},
               {MERBIT_F32, 5000, 0.9, ALL, 0, 0, 2, 128, 1},
               {MERBIT_F32, 5000, 0.9, ALL, 0, 1, 2, 128, 1},
               {MERBIT_F64, 5000, 0.9, ALL + 1, 0, 1, 4, 128, 1},
               {MERBIT_C64, 5000, 0.9, ALL + 1, 0, 0, 4, 128, 1},
               {MERBIT_C128, 5000, 0.9, ALL + 1, 0, 0, 4, 128, 0},
               {MERBIT_F32, 5000, 0.9, MOST - 1, 0, 0, 4, 256, 1},
               {MERBIT_F32, 5000, 0.9, MOST - 1, 0, 1, 4, 256, 1},
               {MERBIT_F32, 5000, 0.9, MOST, 0, 0, 16, 256, 0}};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const int linked = cases[i].linked;
    const uint64_t warps = (uint64_t)cases[i].threads / 32;
    const mbi_scan_schedule *s;
    merbit_plan plan;
    plan_of(&plan, cases[i].type, 1000, cases[i].nnz);
    plan.device.values = 256;
    plan.streaming = cases[i].streams;
    plan.nonempty.longest = cases[i].typical < 1024 ? 20000 : 8000;
    plan.nonempty.typical = cases[i].typical;
    plan.nonempty.sectors = cases[i].sectors;
    plan.tuning[MBI_KNOB_SCAN_WHOLE] = cases[i].wish;
    plan.cuda = &mbi_scan_method;
    assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
    s = mbi_scan_of(&plan);
    if (s->linked != linked || s->whole != (cases[i].wish == 2) || s->steps != cases[i].steps ||
        s->threads != cases[i].threads) {
      fail_msg("case %d: linked %d, whole %d, %d steps, %d threads", (int)i, s->linked,
               s->whole, s->steps, s->threads);
    }
    if (linked) {
      assert_true(s->blocks == (s->tiles + warps - 1) / warps && s->fixup_blocks == 0);
      assert_true(mbi_scan_carry_bytes(&plan) == 2 * s->blocks * mbi_type_size(cases[i].type));
      assert_int_equal(
          s->pack,
          cases[i].streams && cases[i].type == MERBIT_F32 && cases[i].steps == 4 ? 4 : 2);
    }
    assert_int_equal(mbi_scan_asks_sectors(&plan),
                     cases[i].typical >= 1024 && cases[i].type != MERBIT_C128 &&
                         cases[i].wish != 2 && cases[i].nnz > 2 * TWO_STEPS &&
                         cases[i].nnz < MOST);
    assert_true(mbi_scan_slot_bytes(&plan) == (linked ? mbi_scan_carry_bytes(&plan) : 0));
  }
}

/* Where a solver wants x'A x from the product, rows cross blocks in two launches. */
static void dots_come_first(void **state) {
  merbit_plan plan;
  (void)state;
  plan_of(&plan, MERBIT_F64, MBI_SCAN_DOTS / 8, 4000000);
  plan.device.cols = MBI_SCAN_DOTS / 8;
  plan.nonempty.typical = 5000;
  plan.nonempty.sectors = 0.9;
  plan.making.dots = 1;
  assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
  assert_true(mbi_scan_of(&plan)->dots && !mbi_scan_of(&plan)->linked);
  plan.making.dots = 0;
  assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
  assert_true(!mbi_scan_of(&plan)->dots && mbi_scan_of(&plan)->linked);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(linked_blocks),
      cmocka_unit_test(dots_come_first),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
