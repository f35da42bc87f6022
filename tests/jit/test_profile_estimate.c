/* The device profile estimated from attributes, and which measured figures are accepted. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/gpus.h"

/* The estimates are close to what is known about these GPUs. */
static void estimates_of_gpus(void **state) {
  static const double copy[] = {4.28e12, 3.0e12, 1.4e12, 1.75e12, 0.9e12, 0.27e12};
  merbit_device_profile p;
  size_t i;
  (void)state;
  for (i = 0; i < GPUS; i++) {
    double figures[MBI_PROFILE_FIGURES];
    mbi_profile_estimate(gpus[i].multiprocessors, &gpus[i].facts, &p);
    mbi_profile_figures(&p, figures, 0);
    assert_true(mbi_profile_plausible(figures, &p) && !p.measured);
    assert_true(fabs(p.copy_rate / copy[i] - 1) < 0.05);
    assert_true(p.gather_rate_f32[0] > p.gather_rate_f32[MERBIT_PROFILE_SIZES - 1]);
  }
  mbi_profile_estimate(gpus[0].multiprocessors, &gpus[0].facts, &p);
  assert_true(fabs(p.l2_load_seconds / 0.2e-6 - 1) < 0.01 && p.launch_seconds == 6e-6);
  assert_true(fabs(p.memory_load_seconds / 0.5e-6 - 1) < 0.01 && p.l2_bytes == 62914560);
}

/* A GPU about which the driver says nothing also has an estimate. */
static void a_gpu_that_says_nothing(void **state) {
  static const mbi_memory_facts nothing = {0, 0, 0, 0};
  merbit_device_profile p;
  double figures[MBI_PROFILE_FIGURES];
  int i;
  (void)state;
  mbi_profile_estimate(1, &nothing, &p);
  mbi_profile_figures(&p, figures, 0);
  for (i = 0; i < MBI_PROFILE_FIGURES; i++) {
    assert_true(figures[i] > 0 && figures[i] < HUGE_VAL);
  }
}

/* A figure that is missing, or off by more than a factor of ten, invalidates a profile. */
static void implausible_figures(void **state) {
  static const double factors[] = {9.9, 1 / 9.9, 10.1, 1 / 10.1, 0, -1, HUGE_VAL, NAN};
  merbit_device_profile p, q;
  double figures[MBI_PROFILE_FIGURES];
  size_t f;
  int i;
  (void)state;
  mbi_profile_estimate(gpus[0].multiprocessors, &gpus[0].facts, &p);
  for (i = 0; i < MBI_PROFILE_FIGURES; i++) {
    for (f = 0; f < sizeof factors / sizeof factors[0]; f++) {
      double again[MBI_PROFILE_FIGURES];
      mbi_profile_figures(&p, figures, 0);
      figures[i] *= factors[f];
      assert_int_equal(mbi_profile_plausible(figures, &p), f < 2);
      q = p;
      mbi_profile_figures(&q, figures, 1); /* each figure has its own field */
      mbi_profile_figures(&q, again, 0);
      assert_memory_equal(figures, again, sizeof figures);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(estimates_of_gpus),
      cmocka_unit_test(a_gpu_that_says_nothing),
      cmocka_unit_test(implausible_figures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
