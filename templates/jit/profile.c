#include "core/context.h"
#include "jit/jit.h"

/* Measuring the device profile: done once per GPU and driver, and kept on disk with the cubins.
 * The CUDA context must be current. */

#define MBI_PROFILE_THREADS 256
#define MBI_PROFILE_REST 256   /* bytes for results */
#define MBI_PROFILE_TOGETHER 8 /* gathers in flight per thread */
#define MBI_PROFILE_ROUNDS 2   /* the first one warms up; the better one counts */
#define MBI_PROFILE_LAUNCHES 50
#define MBI_PROFILE_STEPS 1000 /* number of loads in a chase */
/* Gathers per timing: they take an H200 a millisecond if x is in memory. */
#ifndef MBI_PROFILE_GATHERS
#define MBI_PROFILE_GATHERS 33554432u
#endif

/* ---- Measuring --------------------------------------------------------------------------- */

typedef struct mbi_profiler {
  merbit_context *context;
  mbi_program program;
  void *copy, *gather_f32, *gather_f64, *chase;
  mbi_devptr memory; /* the largest x, all zeros; behind it, space for results */
  uint64_t bytes;
  double waiting; /* seconds to launch an almost empty kernel and wait for it */
} mbi_profiler;

/* Launches a chain of dependent loads from the first `bytes` of the memory. */
static merbit_status mbi_profile_chase(const mbi_profiler *p, uint64_t bytes, int steps,
                                       int seed) {
  mbk_profile_chase_arguments arguments;
  arguments.x = p->memory;
  arguments.elements = (mbk_u32)(bytes / sizeof(uint32_t));
  arguments.steps = (mbk_u32)steps;
  arguments.seed = (mbk_u32)seed;
  arguments.end = p->memory + p->bytes;
  return mbi_device_launch(p->context, p->chase, "mbk_profile_chase", 1, 1, 0, NULL,
                           &arguments);
}

/* Measures the seconds for a pair of launches, averaged over `products` pairs. Each kernel
 * makes three dependent loads. */
static merbit_status mbi_profile_launches(const mbi_profiler *p, int products,
                                          double *seconds) {
  const double start = mbi_seconds();
  int i;
  for (i = 0; i < 2 * products; i++) {
    MBI_TRY(mbi_profile_chase(p, p->bytes, 3, i));
  }
  MBI_TRY(mbi_device_synchronize(p->context, NULL));
  *seconds = (mbi_seconds() - start) / products;
  return MERBIT_OK;
}

/* Measures the seconds for a load whose address depends on the load before. If `cached`, the
 * second round repeats the addresses of the first and finds them in L2. */
static merbit_status mbi_profile_loads(const mbi_profiler *p, int cached, int round,
                                       double *seconds) {
  const double start = mbi_seconds();
  MBI_TRY(mbi_profile_chase(p, cached ? p->bytes / 256 : p->bytes, MBI_PROFILE_STEPS,
                            cached ? 0 : round * MBI_PROFILE_STEPS));
  MBI_TRY(mbi_device_synchronize(p->context, NULL));
  *seconds = (mbi_seconds() - start - p->waiting) / MBI_PROFILE_STEPS;
  return MERBIT_OK;
}

static int64_t mbi_profile_grid(const mbi_profiler *p) {
  return 8 * (int64_t)p->context->device.multiprocessors;
}

/* Measures the bytes per second when copying one half of the memory to the other half. Counts
 * bytes read and bytes written. */
static merbit_status mbi_profile_copy(const mbi_profiler *p, double *rate) {
  const uint64_t half = p->bytes / 32 * 16;
  const double start = mbi_seconds();
  mbk_profile_copy_arguments arguments;
  arguments.from = p->memory;
  arguments.to = p->memory + half;
  arguments.packs = half / 16;
  MBI_TRY(mbi_device_launch(p->context, p->copy, "mbk_profile_copy", mbi_profile_grid(p),
                            MBI_PROFILE_THREADS, 0, NULL, &arguments));
  MBI_TRY(mbi_device_synchronize(p->context, NULL));
  *rate = 2 * (double)half / (mbi_seconds() - start - p->waiting);
  return MERBIT_OK;
}

/* Measures the gathers per second from an x of `bytes` bytes. */
static merbit_status mbi_profile_gathers(const mbi_profiler *p, int f64, double bytes,
                                         double *rate) {
  const uint64_t threads = (uint64_t)mbi_profile_grid(p) * MBI_PROFILE_THREADS;
  const double start = mbi_seconds();
  mbk_profile_gather_arguments arguments;
  arguments.x = p->memory;
  arguments.elements = (mbk_u32)(bytes / (f64 ? sizeof(double) : sizeof(float)));
  arguments.count = (mbk_u32)(MBI_PROFILE_GATHERS / threads / MBI_PROFILE_TOGETHER + 1) *
                    MBI_PROFILE_TOGETHER;
  arguments.sum = p->memory + p->bytes;
  MBI_TRY(mbi_device_launch(p->context, f64 ? p->gather_f64 : p->gather_f32,
                            f64 ? "mbk_profile_gather_f64" : "mbk_profile_gather_f32",
                            mbi_profile_grid(p), MBI_PROFILE_THREADS, 0, NULL, &arguments));
  MBI_TRY(mbi_device_synchronize(p->context, NULL));
  *rate = (double)threads * arguments.count / (mbi_seconds() - start - p->waiting);
  return MERBIT_OK;
}

/* Measures figure number i. */
static merbit_status mbi_profile_figure(const mbi_profiler *p, int i, int round,
                                        double *figure) {
  const double *const bytes = p->context->device.estimate.gather_bytes;
  switch (i) {
  case MBI_PROFILE_COPY:
    return mbi_profile_copy(p, figure);
  case MBI_PROFILE_LAUNCH:
    return mbi_profile_launches(p, MBI_PROFILE_LAUNCHES, figure);
  case MBI_PROFILE_L2_LOAD:
  case MBI_PROFILE_MEMORY_LOAD:
    return mbi_profile_loads(p, i == MBI_PROFILE_L2_LOAD, round, figure);
  default:
    return i < MBI_PROFILE_F64 ? mbi_profile_gathers(p, 0, bytes[i - MBI_PROFILE_F32], figure)
                               : mbi_profile_gathers(p, 1, bytes[i - MBI_PROFILE_F64], figure);
  }
}

/* Measures all figures. Of several rounds, keeps the shortest time or the highest rate. */
static merbit_status mbi_profile_all(mbi_profiler *p, double *figures) {
  int i, round;
  for (round = 0; round < 2; round++) {
    MBI_TRY(mbi_profile_launches(p, 1, &p->waiting));
  }
  for (i = 0; i < MBI_PROFILE_FIGURES; i++) {
    const int is_time = i >= MBI_PROFILE_LAUNCH && i <= MBI_PROFILE_MEMORY_LOAD;
    for (round = 0; round < MBI_PROFILE_ROUNDS; round++) {
      double found = 0;
      MBI_TRY(mbi_profile_figure(p, i, round, &found));
      figures[i] = round == 0 || (found < figures[i]) == is_time ? found : figures[i];
    }
  }
  return MERBIT_OK;
}

/* Returns the bytes of GPU memory that measuring takes. */
static uint64_t mbi_profile_bytes(const merbit_context *context) {
  const double largest = context->device.estimate.gather_bytes[MERBIT_PROFILE_SIZES - 1];
  return (uint64_t)largest / 256 * 256 + MBI_PROFILE_REST;
}

static merbit_status mbi_profile_prepare(mbi_profiler *p) {
  merbit_context *context = p->context;
  mbi_preamble preamble;
  memset(&preamble, 0, sizeof preamble);
  MBI_TRY(mbi_program_create(context, "jit/profile.cu", &preamble, &p->program));
  MBI_TRY(mbi_program_kernel(context, &p->program, "mbk_profile_copy", &p->copy));
  MBI_TRY(mbi_program_kernel(context, &p->program, "mbk_profile_gather_f32", &p->gather_f32));
  MBI_TRY(mbi_program_kernel(context, &p->program, "mbk_profile_gather_f64", &p->gather_f64));
  MBI_TRY(mbi_program_kernel(context, &p->program, "mbk_profile_chase", &p->chase));
  p->bytes = mbi_profile_bytes(context) - MBI_PROFILE_REST;
  MBI_TRY(mbi_device_allocate(context, mbi_profile_bytes(context), "measuring the GPU",
                              &p->memory));
  return mbi_device_zero(context, p->memory, (size_t)mbi_profile_bytes(context), NULL);
}

/* Measures the MBI_PROFILE_FIGURES figures of the GPU. */
MBI_INTERNAL merbit_status mbi_profile_measure(merbit_context *context, double *figures) {
  mbi_profiler p;
  merbit_status status;
  memset(&p, 0, sizeof p);
  p.context = context;
  status = mbi_profile_prepare(&p);
  if (status == MERBIT_OK) {
    status = mbi_profile_all(&p, figures);
  }
  mbi_device_release(context, p.memory);
  mbi_program_destroy(context, &p.program);
  return status;
}

/* ---- On disk, and in the context --------------------------------------------------------- */

/* Writes the cache key for the profile of this GPU with this driver. */
MBI_INTERNAL void mbi_profile_key(const merbit_context *context, char *key, size_t size) {
  const mbi_device *device = &context->device;
  (void)snprintf(key, size, "profile %d %s %s %s: driver %d, %d multiprocessors",
                 MBI_CACHE_FORMAT, MERBIT_VERSION_STRING, MBI_KERNEL_HASH, device->name,
                 device->driver_version, device->multiprocessors);
}

/* Makes plausible figures the context's profile. Returns whether they are plausible. */
MBI_INTERNAL int mbi_profile_publish(merbit_context *context, const double *figures) {
  mbi_device *device = &context->device;
  double own[MBI_PROFILE_FIGURES];
  if (!mbi_profile_plausible(figures, &device->estimate)) {
    mbi_log(context, "implausible figures of %s are not used", device->name);
    return 0;
  }
  memcpy(own, figures, sizeof own);
  mbi_mutex_lock(&context->lock);
  if (!device->profile_ready) { /* never overwrite a profile, which plans may be reading */
    device->profile = device->estimate;
    mbi_profile_figures(&device->profile, own, 1);
    device->profile.measured = 1;
    device->profile_ready = 1;
  }
  mbi_mutex_unlock(&context->lock);
  return 1;
}

static void mbi_profile_read(merbit_context *context, const char *key) {
  double figures[MBI_PROFILE_FIGURES];
  void *image;
  size_t size;
  if (mbi_cache_load(context, key, strlen(key), &image, &size)) {
    if (size == sizeof figures) {
      memcpy(figures, image, size);
      (void)mbi_profile_publish(context, figures);
    }
    mbi_release(context, image);
  }
}

/* Measures the GPU, publishes the figures and stores them on disk. After a failure the estimate
 * remains in use. */
static void mbi_profile_find(merbit_context *context, const char *key) {
  const double start = mbi_seconds();
  double figures[MBI_PROFILE_FIGURES];
  char reason[384];
  if (mbi_profile_measure(context, figures) != MERBIT_OK) {
    mbi_error_clear(context, reason, sizeof reason);
    mbi_log(context, "the GPU is not measured: %s", reason);
  } else if (mbi_profile_publish(context, figures)) {
    mbi_log(context, "%s measured in %.0f ms", context->device.name,
            1e3 * (mbi_seconds() - start));
    mbi_cache_store(context, key, strlen(key), figures, sizeof figures);
  }
}

/* Returns the measured profile if there is one, otherwise the estimate. Looks on disk first. If
 * `measure` is set and the disk has none, measures the GPU. A context tries each of the two
 * only once; a plan that is made meanwhile, or after a failure, gets the estimate. The returned
 * profile never changes. */
MBI_INTERNAL const merbit_device_profile *mbi_profile_take(merbit_context *context,
                                                           int measure) {
  mbi_device *device = &context->device;
  char key[512];
  int bit, ready, tried;
  mbi_profile_key(context, key, sizeof key);
  for (bit = 1; bit <= (measure ? 2 : 1); bit++) {
    mbi_mutex_lock(&context->lock);
    tried = device->profile_ready || (device->profile_tried & bit) != 0;
    device->profile_tried |= tried ? 0 : bit;
    mbi_mutex_unlock(&context->lock);
    if (!tried && bit == 1) {
      mbi_profile_read(context, key);
    } else if (!tried) {
      mbi_profile_find(context, key);
    }
  }
  mbi_mutex_lock(&context->lock);
  ready = device->profile_ready;
  mbi_mutex_unlock(&context->lock);
  return ready ? &device->profile : &device->estimate;
}

/* Returns the most bytes of GPU memory that mbi_profile_take would take now to measure. */
MBI_INTERNAL uint64_t mbi_profile_bound(merbit_context *context) {
  mbi_device *device = &context->device;
  int done;
  mbi_mutex_lock(&context->lock);
  done = device->profile_ready || (device->profile_tried & 2) != 0;
  mbi_mutex_unlock(&context->lock);
  return done ? 0 : mbi_profile_bytes(context);
}
