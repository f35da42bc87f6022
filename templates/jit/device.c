#include "core/context.h"
#include "jit/jit.h"

/* A context's GPU: errors, properties, opening and closing. */

#define MBI_ATTRIBUTE_CLOCK 13 /* cuda.h: CUdevice_attribute; kHz */
#define MBI_ATTRIBUTE_MULTIPROCESSORS 16
#define MBI_ATTRIBUTE_MEMORY_CLOCK 36 /* kHz */
#define MBI_ATTRIBUTE_MEMORY_WIDTH 37 /* bits */
#define MBI_ATTRIBUTE_L2_BYTES 38
#define MBI_ATTRIBUTE_LANES 39
#define MBI_ATTRIBUTE_CAPABILITY_MAJOR 75
#define MBI_ATTRIBUTE_CAPABILITY_MINOR 76
#define MBI_ATTRIBUTE_COOPERATIVE 95
#define MBI_ATTRIBUTE_SHARED_PER_BLOCK 97

/* ---- Errors ------------------------------------------------------------------------------ */

/* Returns whether a CUDA result is fatal: every later call on the context fails, or results can
 * no longer be trusted. */
MBI_INTERNAL int mbi_device_fatal(mbi_curesult result) {
  switch (result) {
  case 4:   /* DEINITIALIZED */
  case 214: /* ECC_UNCORRECTABLE */
  case 220: /* NVLINK_UNCORRECTABLE */
  case 226: /* CONTAINED */
  case 700: /* ILLEGAL_ADDRESS */
  case 702: /* LAUNCH_TIMEOUT */
  case 709: /* CONTEXT_IS_DESTROYED */
  case 710: /* ASSERT */
  case 714: /* HARDWARE_STACK_ERROR */
  case 715: /* ILLEGAL_INSTRUCTION */
  case 716: /* MISALIGNED_ADDRESS */
  case 717: /* INVALID_ADDRESS_SPACE */
  case 718: /* INVALID_PC */
  case 719: /* LAUNCH_FAILED */
  case 721: /* TENSOR_MEMORY_LEAK, by another kernel of the process */
  case 810: /* MPS_CLIENT_TERMINATED */
  case 911: /* EXTERNAL_DEVICE */
  case 999: /* UNKNOWN: the answer of a GPU that is no longer reachable */
    return 1;
  default:
    return 0;
  }
}

/* Marks the device as lost if the result is fatal. The first fatal result is kept. Returns
 * whether this one is fatal. */
MBI_INTERNAL int mbi_device_mark_lost(merbit_context *context, mbi_curesult result) {
  if (!mbi_device_fatal(result)) {
    return 0;
  }
  MBI_ATOMIC_REPLACE_ZERO(&context->device.lost, result);
  return 1;
}

MBI_INTERNAL mbi_curesult mbi_device_lost(const merbit_context *context) {
  return MBI_ATOMIC_LOAD(&context->device.lost);
}

/* Returns MERBIT_DEVICE_LOST, without a driver call, if the device has been lost. */
MBI_NOINLINE MBI_INTERNAL merbit_status mbi_device_alive(merbit_context *context) {
  const mbi_curesult lost = mbi_device_lost(context);
  if (lost == 0) {
    return MERBIT_OK;
  }
  return mbi_fail(
      context, MERBIT_DEVICE_LOST,
      "%s was lost earlier with CUDA error %d; destroy the context and all that was made "
      "from it, then make a new one",
      context->device.name, lost);
}

/* Converts the CUDA result of `call` to a status. `what` says what was attempted, such as
 * "uploading x". */
MBI_INTERNAL merbit_status mbi_device_check(merbit_context *context, mbi_curesult result,
                                            const char *call, const char *what) {
  const mbi_driver *driver = &context->device.driver;
  const char *advice = "";
  merbit_status status = MERBIT_DEVICE_ERROR;
  if (result == 0) {
    return MERBIT_OK;
  }
  if (mbi_device_mark_lost(context, result)) {
    status = MERBIT_DEVICE_LOST;
    advice = "; an earlier kernel may be the cause; destroy the context and make a new one";
  } else if (result == MBI_CUDA_OUT_OF_MEMORY) {
    status = MERBIT_DEVICE_OUT_OF_MEMORY;
    advice = "; free GPU memory or use a smaller matrix";
  }
  return mbi_fail(context, status, "%s failed in %s: %s (CUDA error %d, %s)%s", what, call,
                  mbi_driver_error_name(driver, result), result,
                  mbi_driver_error_string(driver, result), advice);
}

/* ---- Finding and examining the GPU ------------------------------------------------------- */

MBI_NOINLINE static merbit_status mbi_device_attribute(merbit_context *context, int attribute,
                                                       int *value) {
  return mbi_device_check(
      context,
      context->device.driver.device_get_attribute(value, attribute, context->device.ordinal),
      "cuDeviceGetAttribute", "asking for the GPU's properties");
}

/* Finds the device of the caller's CUcontext. */
static merbit_status mbi_device_of_context(merbit_context *context, void *cuda_context) {
  mbi_device *device = &context->device;
  void *popped = NULL;
  mbi_curesult result = device->driver.ctx_push(cuda_context);
  MBI_TRY(
      mbi_device_check(context, result, "cuCtxPushCurrent", "using context_desc.cuda_context"));
  result = device->driver.ctx_get_device(&device->ordinal);
  (void)device->driver.ctx_pop(&popped);
  return mbi_device_check(context, result, "cuCtxGetDevice", "using context_desc.cuda_context");
}

static merbit_status mbi_device_of_ordinal(merbit_context *context, int ordinal) {
  mbi_device *device = &context->device;
  int count = 0;
  MBI_TRY(mbi_device_check(context, device->driver.device_get_count(&count), "cuDeviceGetCount",
                           "counting GPUs"));
  if (count <= 0) {
    return mbi_fail(context, MERBIT_NO_DEVICE,
                    "the NVIDIA driver shows no GPU; is "
                    "CUDA_VISIBLE_DEVICES set?");
  }
  if (ordinal < 0 || ordinal >= count) {
    return mbi_fail(context, MERBIT_NO_DEVICE,
                    "context_desc.device is %d, but the driver shows %d GPU%s; use 0 to %d",
                    ordinal, count, count > 1 ? "s" : "", count - 1);
  }
  return mbi_device_check(context, device->driver.device_get(&device->ordinal, ordinal),
                          "cuDeviceGet", "choosing a GPU");
}

/* Reads the GPU's name and properties, which need no CUDA context. */
MBI_INTERNAL merbit_status mbi_device_examine(merbit_context *context) {
  mbi_device *device = &context->device;
  int major = 0, minor = 0, cooperative = 0;
  mbi_memory_facts facts;
  MBI_TRY(mbi_device_check(context,
                           device->driver.device_get_name(
                               device->name, (int)sizeof device->name - 1, device->ordinal),
                           "cuDeviceGetName", "asking for the GPU's name"));
  MBI_TRY(mbi_device_attribute(context, MBI_ATTRIBUTE_CAPABILITY_MAJOR, &major));
  MBI_TRY(mbi_device_attribute(context, MBI_ATTRIBUTE_CAPABILITY_MINOR, &minor));
  MBI_TRY(
      mbi_device_attribute(context, MBI_ATTRIBUTE_MULTIPROCESSORS, &device->multiprocessors));
  MBI_TRY(mbi_device_attribute(context, MBI_ATTRIBUTE_LANES, &device->lanes));
  MBI_TRY(mbi_device_attribute(context, MBI_ATTRIBUTE_SHARED_PER_BLOCK,
                               &device->shared_bytes_per_block));
  MBI_TRY(mbi_device_attribute(context, MBI_ATTRIBUTE_COOPERATIVE, &cooperative));
  MBI_TRY(mbi_device_attribute(context, MBI_ATTRIBUTE_CLOCK, &facts.clock));
  MBI_TRY(mbi_device_attribute(context, MBI_ATTRIBUTE_MEMORY_CLOCK, &facts.memory_clock));
  MBI_TRY(mbi_device_attribute(context, MBI_ATTRIBUTE_MEMORY_WIDTH, &facts.memory_width));
  MBI_TRY(mbi_device_attribute(context, MBI_ATTRIBUTE_L2_BYTES, &facts.l2_bytes));
  mbi_profile_estimate(device->multiprocessors, &facts, &device->estimate);
  device->compute_capability = 10 * major + minor;
  device->dependent_launch = device->compute_capability >= 90 &&
                             device->driver.launch_kernel_ex != NULL &&
                             device->driver_version >= MBI_CUDA_DRIVER_DEPENDENT;
  device->cooperative = cooperative != 0 && device->driver.launch_cooperative != NULL &&
                        device->driver.occupancy != NULL;
  if (device->compute_capability < 50) {
    return mbi_fail(context, MERBIT_NO_DEVICE,
                    "%s has compute capability %d.%d; the oldest that works is 5.0",
                    device->name, major, minor);
  }
  return MERBIT_OK;
}

/* Opens NVRTC. If there is none, takes the version and architecture of imported kernels. */
static merbit_status mbi_device_find_compiler(merbit_context *context, const char *path) {
  const merbit_status status = mbi_nvrtc_open(context, path);
  char reason[384];
  if (status != MERBIT_NO_COMPILER || !mbi_pack_take_compiler(context)) {
    return status;
  }
  mbi_error_clear(context, reason, sizeof reason);
  return MERBIT_OK;
}

/* Fills context->device, whose driver must be open. The primary context comes last, because it
 * takes longest and an earlier step may fail. */
static merbit_status mbi_device_choose(merbit_context *context,
                                       const merbit_context_desc *desc) {
  mbi_device *device = &context->device;
  MBI_TRY(mbi_device_check(context, device->driver.driver_get_version(&device->driver_version),
                           "cuDriverGetVersion", "asking for the driver's version"));
  if (device->driver_version < MBI_CUDA_DRIVER_OLDEST) {
    return mbi_fail(context, MERBIT_NO_DEVICE,
                    "the NVIDIA driver supports CUDA %d.%d; install one for CUDA 11 or later",
                    device->driver_version / 1000, device->driver_version % 1000 / 10);
  }
  MBI_TRY(desc->cuda_context != NULL ? mbi_device_of_context(context, desc->cuda_context)
                                     : mbi_device_of_ordinal(context, desc->device));
  MBI_TRY(mbi_device_examine(context));
  mbi_cache_open(context, desc);
  MBI_TRY(mbi_device_find_compiler(context, desc->nvrtc_path));
  if (desc->cuda_context != NULL) {
    device->cuda_context = desc->cuda_context;
    return MERBIT_OK;
  }
  MBI_TRY(mbi_device_check(
      context, device->driver.primary_retain(&device->cuda_context, device->ordinal),
      "cuDevicePrimaryCtxRetain", "opening the GPU"));
  device->primary = 1;
  return MERBIT_OK;
}

/* ---- Calls that need a current CUDA context ---------------------------------------------- */

/* Makes the CUDA context current on this thread; mbi_device_leave restores the caller's. */
MBI_INTERNAL merbit_status mbi_device_enter(merbit_context *context) {
  MBI_TRY(mbi_device_alive(context));
  return mbi_device_check(context,
                          context->device.driver.ctx_push(context->device.cuda_context),
                          "cuCtxPushCurrent", "entering the GPU's context");
}

/* Makes the CUDA context current in order to release something. Returns 0 if the device is
 * lost. Reports no failure, which would hide the one that led here. */
MBI_NOINLINE MBI_INTERNAL int mbi_device_enter_alive(merbit_context *context) {
  mbi_curesult result;
  if (mbi_device_lost(context) != 0) {
    return 0;
  }
  result = context->device.driver.ctx_push(context->device.cuda_context);
  (void)mbi_device_mark_lost(context, result);
  return result == 0;
}

MBI_NOINLINE MBI_INTERNAL void mbi_device_leave(merbit_context *context) {
  void *popped = NULL;
  (void)mbi_device_mark_lost(context, context->device.driver.ctx_pop(&popped));
}

MBI_INTERNAL merbit_status mbi_device_synchronize(merbit_context *context, void *stream) {
  MBI_TRY(mbi_device_alive(context));
  return mbi_device_check(context, context->device.driver.stream_synchronize(stream),
                          "cuStreamSynchronize", "waiting for the GPU");
}

/* ---- Opening and closing ----------------------------------------------------------------- */

/* Allocates one byte for the context's lifetime. The driver takes small arrays from pages of 2
 * MB; with a page already in use, a plan's first such array is 50 to 100 microseconds faster.
 * Failure is harmless. */
static void mbi_device_hold(merbit_context *context) {
  mbi_device *device = &context->device;
  if (mbi_device_enter_alive(context)) {
    const mbi_curesult result = device->driver.mem_alloc(&device->held, 1);
    (void)mbi_device_mark_lost(context, result);
    device->held = result == 0 ? device->held : 0;
    mbi_device_leave(context);
  }
}

static void mbi_device_release_sources(merbit_context *context) {
  mbi_device *device = &context->device;
  if (device->held != 0 && mbi_device_enter_alive(context)) {
    (void)device->driver.mem_free(device->held);
    mbi_device_leave(context);
  }
}

/* Opens the driver, the device, NVRTC and the CUDA context. On failure the caller runs
 * mbi_device_close. */
MBI_INTERNAL merbit_status mbi_device_open(merbit_context *context,
                                           const merbit_context_desc *desc) {
  MBI_TRY(mbi_driver_open(context));
  MBI_TRY(mbi_device_choose(context, desc));
  mbi_device_hold(context);
  return MERBIT_OK;
}

MBI_INTERNAL void mbi_device_close(merbit_context *context) {
  mbi_device *device = &context->device;
  mbi_device_release_sources(context);
  if (device->primary) {
    (void)device->driver.primary_release(device->ordinal);
  }
  mbi_nvrtc_close(&device->nvrtc);
  mbi_driver_close(&device->driver);
  memset(device, 0, sizeof *device);
}
