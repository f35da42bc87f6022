#include "core/context.h"
#include "jit/jit.h"

/* The device profile estimated from the driver's attributes, and a check of measured profiles.
 *
 * The constants in this file relate the speed of NVIDIA's GPUs to their clocks and bus widths.
 * They are fitted to an H200 (132 multiprocessors at 1.98 GHz, memory at 3.2 GHz x 6,144 bits,
 * 60 MB of L2): a copy reaches 4.28 TB/s; random gathers reach 160 billion per second from L2,
 * and 140, 76, 53, 45 and 40 billion with x of 32, 67, 134 and 268 MB and 1 GB; a dependent
 * load takes 0.2 us from L2 and 0.5 us from memory. */

/* The fraction of clock x 2 x width that a copy reaches. */
#define MBI_PROFILE_COPY_SHARE 0.8705
/* Gathers from L2 per clock and multiprocessor. */
#define MBI_PROFILE_GATHERS_PER_CLOCK 0.6122
/* The bytes that a copy moves in the time of one gather from memory. That is more than the 32
 * bytes of a sector, because each gather opens a row of DRAM. */
#define MBI_PROFILE_GATHER_BYTES 107.0
/* Clocks of a load from L2. Memory takes longer by a time that depends little on the GPU. */
#define MBI_PROFILE_L2_CLOCKS 396.0
#define MBI_PROFILE_MEMORY_SECONDS 0.3e-6
/* Two launches with their first loads. Host and driver determine this; no attribute tells. */
#define MBI_PROFILE_LAUNCH_SECONDS 6e-6

/* Returns the value, or `least` if it is below that: a virtual GPU may report 0. */
static double mbi_profile_at_least(double value, double least) {
  return value > least ? value : least;
}

/* Computes a profile from attributes. */
MBI_INTERNAL void mbi_profile_estimate(int multiprocessors, const mbi_memory_facts *facts,
                                       merbit_device_profile *profile) {
  /* Sizes of x relative to L2, and the fraction of random gathers that L2 then serves. Both are
   * taken to be the same for every size of L2. */
  static const double size[MERBIT_PROFILE_SIZES] = {0.2543, 0.5086, 1.065, 2.13, 4.26, 17.07};
  static const double held[MERBIT_PROFILE_SIZES] = {1, 0.952, 0.632, 0.327, 0.148, 0};
  const double clock = 1e3 * mbi_profile_at_least(facts->clock, 1e5);
  const double memory_clock = 1e3 * mbi_profile_at_least(facts->memory_clock, 1e5);
  const double width = mbi_profile_at_least(facts->memory_width, 64) / 8;
  const double cached = multiprocessors * clock * MBI_PROFILE_GATHERS_PER_CLOCK;
  double uncached;
  int i;
  memset(profile, 0, sizeof *profile);
  profile->l2_bytes = mbi_profile_at_least(facts->l2_bytes, 65536);
  profile->copy_rate = 2 * memory_clock * width * MBI_PROFILE_COPY_SHARE;
  profile->launch_seconds = MBI_PROFILE_LAUNCH_SECONDS;
  profile->l2_load_seconds = MBI_PROFILE_L2_CLOCKS / clock;
  profile->memory_load_seconds = profile->l2_load_seconds + MBI_PROFILE_MEMORY_SECONDS;
  uncached = profile->copy_rate / MBI_PROFILE_GATHER_BYTES;
  uncached = uncached < cached ? uncached : cached;
  for (i = 0; i < MERBIT_PROFILE_SIZES; i++) {
    profile->gather_bytes[i] = size[i] * profile->l2_bytes;
    profile->gather_rate_f32[i] = 1 / (held[i] / cached + (1 - held[i]) / uncached);
    profile->gather_rate_f64[i] = profile->gather_rate_f32[i]; /* one sector per gather */
  }
}

/* Copies a profile's measurable figures to `figures` or, if `set`, from there. */
MBI_INTERNAL void mbi_profile_figures(merbit_device_profile *profile, double *figures,
                                      int set) {
  double *const single[MBI_PROFILE_F32] = {&profile->copy_rate, &profile->launch_seconds,
                                           &profile->l2_load_seconds,
                                           &profile->memory_load_seconds};
  int i;
  for (i = 0; i < MBI_PROFILE_FIGURES; i++) {
    double *const field = i < MBI_PROFILE_F32 ? single[i]
                          : i < MBI_PROFILE_F64
                              ? &profile->gather_rate_f32[i - MBI_PROFILE_F32]
                              : &profile->gather_rate_f64[i - MBI_PROFILE_F64];
    if (set) {
      *field = figures[i];
    } else {
      figures[i] = *field;
    }
  }
}

/* Returns whether measured figures are plausible: all within a factor of 10 of their estimates.
 * They are not if another program kept the GPU busy, or if the clock was turned back. */
MBI_INTERNAL int mbi_profile_plausible(const double *figures,
                                       const merbit_device_profile *estimate) {
  merbit_device_profile copy = *estimate;
  double expected[MBI_PROFILE_FIGURES];
  int i;
  mbi_profile_figures(&copy, expected, 0);
  for (i = 0; i < MBI_PROFILE_FIGURES; i++) {
    if (!(figures[i] >= expected[i] / 10 && figures[i] <= expected[i] * 10)) {
      return 0;
    }
  }
  return 1;
}
