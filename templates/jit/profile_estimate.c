#include "core/context.h"
#include "jit/jit.h"

/* The device profile as the driver's attributes give it, and what a measured one may say.
 *
 * The constants of this file are ratios of what NVIDIA's GPUs do to what their clocks and
 * widths allow. They are fitted to an H200 (132 multiprocessors at 1.98 GHz, 3.2 GHz x 6,144
 * bits, 60 MB of L2): copy 4.28 TB/s; random gathers, thousand million a second, 160 from L2,
 * 140, 76, 53, 45 and 40 with x of 32 MB, 67, 134, 268 MB and 1 GB; loads that wait for each
 * other 0.2 us from L2, 0.5 us from memory. */

/* The part of clock x 2 x width that a copy reaches. */
#define MBI_PROFILE_COPY_SHARE 0.8705
/* Gathers from L2 that a multiprocessor makes per clock. */
#define MBI_PROFILE_GATHERS_PER_CLOCK 0.6122
/* Bytes that could be copied in the time of a gather from memory: memory moves more than the 32
 * bytes of a sector, and opens a row of DRAM for them. */
#define MBI_PROFILE_GATHER_BYTES 107.0
/* Clocks of a load from L2. Memory adds a time that depends little on the GPU. */
#define MBI_PROFILE_L2_CLOCKS 396.0
#define MBI_PROFILE_MEMORY_SECONDS 0.3e-6
/* Two launches and their first loads: host and driver decide, of which no attribute tells. */
#define MBI_PROFILE_LAUNCH_SECONDS 6e-6

/* Returns the value, or the least that makes sense: a virtual GPU may say 0. */
static double mbi_profile_at_least(double value, double least) {
  return value > least ? value : least;
}

/* Computes a profile from attributes. */
MBI_INTERNAL void mbi_profile_estimate(int multiprocessors, const mbi_memory_facts *facts,
                                       merbit_device_profile *profile) {
  /* Sizes of x in sizes of L2, and the part of random gathers that L2 then holds. Both depend
   * on L2's size alone. */
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
    profile->gather_rate_f64[i] = profile->gather_rate_f32[i]; /* a sector each */
  }
}

/* Copies the figures of a profile that can be measured to `figures`, or from there. */
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

/* Returns whether measured figures can be believed: none is further from its estimate than a
 * factor of 10, as it is where another program keeps the GPU busy, or where a clock has been
 * turned back. */
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
