#include "core/context.h"
#include "jit/jit.h"

/* Kernel launches. The CUDA context must be current. */

/* Allows `function` to be launched with `shared_bytes` of dynamic shared memory. Beyond 48 KB,
 * it reserves as much as a block may have, because plans that need different amounts may share
 * the function. `name` is for the error message. */
MBI_INTERNAL merbit_status mbi_device_reserve_shared(merbit_context *context, void *function,
                                                     const char *name, unsigned shared_bytes) {
  const int limit = context->device.shared_bytes_per_block;
  char attempt[160];
  MBI_TRY(mbi_device_alive(context));
  if (shared_bytes <= MBI_SHARED_WITHOUT_ASKING) {
    return MERBIT_OK;
  }
  if (limit < 0 || shared_bytes > (unsigned)limit) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "%s needs %u bytes of shared memory, %s has %d for a block", name,
                    shared_bytes, context->device.name, limit);
  }
  (void)snprintf(attempt, sizeof attempt, "reserving %u bytes of shared memory for %s",
                 shared_bytes, name);
  return mbi_device_check(
      context,
      context->device.driver.func_set_attribute(function, MBI_FUNCTION_DYNAMIC_SHARED, limit),
      "cuFuncSetAttribute", attempt);
}

/* Launches a kernel. Sets *call to the name of the driver's function. */
static mbi_curesult mbi_device_start(const mbi_device *device, void *function, unsigned grid,
                                     unsigned threads, unsigned shared_bytes, void *stream,
                                     const void *arguments, size_t bytes, int how,
                                     const char **call) {
  mbi_launch_config config;
  mbi_launch_attribute attribute;
  void *parameter = (void *)(uintptr_t)arguments; /* the kernel's only parameter, a struct */
  void *buffer[5]; /* or all its parameters, laid out like the struct */
  void **parameters = bytes == 0 ? &parameter : NULL, **extra = bytes == 0 ? NULL : buffer;
  buffer[0] = MBI_LAUNCH_BUFFER;
  buffer[1] = parameter;
  buffer[2] = MBI_LAUNCH_BUFFER_BYTES;
  buffer[3] = &bytes;
  buffer[4] = NULL;
  if (how == MBI_LAUNCH_COOPERATIVE) {
    *call = "cuLaunchCooperativeKernel";
    return device->driver.launch_cooperative(function, grid, 1, 1, threads, 1, 1, shared_bytes,
                                             stream, &parameter);
  }
  if (how != MBI_LAUNCH_DEPENDENT || !device->dependent_launch) {
    *call = "cuLaunchKernel";
    return device->driver.launch_kernel(function, grid, 1, 1, threads, 1, 1, shared_bytes,
                                        stream, parameters, extra);
  }
  *call = "cuLaunchKernelEx";
  memset(&attribute, 0, sizeof attribute);
  attribute.id = MBI_LAUNCH_ATTRIBUTE_DEPENDENT;
  attribute.value[0] = 1;
  memset(&config, 0, sizeof config);
  config.grid_x = grid;
  config.block_x = threads;
  config.grid_y = config.grid_z = config.block_y = config.block_z = 1;
  config.shared_bytes = shared_bytes;
  config.stream = stream;
  config.attributes = &attribute;
  config.attribute_count = 1;
  return device->driver.launch_kernel_ex(&config, function, parameters, extra);
}

/* Launches `grid` blocks of `threads` threads, or nothing if `grid` is 0. `arguments` points to
 * the kernel's struct. `bytes` is the struct's size if the kernel is declared with
 * MBK_BY_FIELD, otherwise 0. `how` is one of MBI_LAUNCH_PLAIN, _DEPENDENT and _COOPERATIVE. */
MBI_INTERNAL merbit_status mbi_device_launch_some(merbit_context *context, void *function,
                                                  const char *name, int64_t grid, int threads,
                                                  unsigned shared_bytes, void *stream,
                                                  const void *arguments, size_t bytes,
                                                  int how) {
  const char *call = NULL;
  mbi_curesult result;
  MBI_TRY(mbi_device_alive(context));
  if (grid <= 0) {
    return MERBIT_OK;
  }
  if (grid > INT32_MAX) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "%s would need %" PRId64
                    " blocks; a launch has at most 2^31 - 1: use another plan_desc.method",
                    name, grid);
  }
  result = mbi_device_start(&context->device, function, (unsigned)grid, (unsigned)threads,
                            shared_bytes, stream, arguments, bytes, how, &call);
  if (result != 0) {
    char attempt[160];
    (void)snprintf(attempt, sizeof attempt,
                   "launching %s (%" PRId64 " blocks of %d threads, %u bytes shared)", name,
                   grid, threads, shared_bytes);
    MBI_TRY(mbi_device_check(context, result, call, attempt));
  }
  return MERBIT_OK;
}

MBI_INTERNAL merbit_status mbi_device_launch(merbit_context *context, void *function,
                                             const char *name, int64_t grid, int threads,
                                             unsigned shared_bytes, void *stream,
                                             const void *arguments) {
  return mbi_device_launch_some(context, function, name, grid, threads, shared_bytes, stream,
                                arguments, 0, MBI_LAUNCH_PLAIN);
}
