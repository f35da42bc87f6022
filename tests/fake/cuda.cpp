// A libcuda whose GPU is the CPU: device memory that host code cannot touch (memory.h), kernels
// that run through the shim (program.h), and calls that fail on demand (fake.h). It exports the
// functions that merbit.h and the GPU tests use.
#include <dlfcn.h>

#include "driver.h"

typedef uint64_t device_pointer;

extern "C" {
// ---- Functions for tests (fake.h) -----------------------------------------------------------

fake_cuda *fake_cuda_state() {
  return &state;
}

void fake_cuda_reset() {
  const std::lock_guard<std::mutex> guard(lock);
  memory.release_all();
  modules.clear();
  functions.clear();
  streams.clear();
  events.clear();
  graphs.clear();
  conditions.clear();
  pushed.clear();
  state = {};
  state.devices = 1;
  state.driver_version = 13000;
  state.capability = 90;
  state.multiprocessors = 2;
  state.shared_bytes = 227 << 10;
  state.resident_threads = 768;
  state.cooperative = 1;
  state.clock = 130680000; // two multiprocessors gather like the 132 of an H200
  state.memory_clock = 3201000;
  state.memory_width = 6144;
  state.l2_bytes = 62914560;
}

static const bool ready = (fake_cuda_reset(), true);

static void copy(void *to, const void *from, size_t bytes) {
  memory.show();
  memcpy(to, from, bytes);
}

// Enqueues work of the fake NCCL on a stream. `begin` makes a run of it, which `advance`
// continues until it returns 1 and has freed the run. `advance` is called often, and can access
// device memory only while it copies. Each [addresses[i], addresses[i] + bytes[i]) must be in
// one block.
int fake_cuda_enqueue(void *handle, const char *name, const fake_work *work) {
  call c(name, CAPTURED);
  for (int i = 0; i < work->count && c.result == 0; i++) {
    (void)c.on_device(work->addresses[i], work->bytes[i]);
  }
  if (c.result != 0) {
    return c.result;
  }
  void *(*const begin)(void *) = work->begin;
  int (*const advance)(void *, fake_copy) = work->advance;
  void *const argument = work->argument;
  job j = {name, {}, false};
  j.wait = [=] {
    void *run = begin(argument);
    return [=] { return advance(run, copy) != 0; };
  };
  return c.enqueue(handle, j);
}

// ---- Driver and devices ---------------------------------------------------------------------

int cuInit(unsigned) {
  CALL(FREE);
  return state.devices > 0 ? SUCCESS : NO_DEVICE;
}

int cuDriverGetVersion(int *version) {
  CALL(FREE);
  *version = state.driver_version;
  return SUCCESS;
}

int cuGetErrorName(int result, const char **text) {
  *text = result == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
  return SUCCESS;
}

int cuGetErrorString(int, const char **text) {
  *text = "injected";
  return SUCCESS;
}

int cuDeviceGetCount(int *count) {
  CALL(FREE);
  *count = state.devices;
  return SUCCESS;
}

int cuDeviceGet(int *device, int ordinal) {
  CALL(FREE);
  *device = ordinal;
  return ordinal >= 0 && ordinal < state.devices ? SUCCESS
                                                 : c.wrong(INVALID_DEVICE, "no such GPU");
}

int cuDeviceGetName(char *name, int size, int device) {
  CALL(FREE);
  snprintf(name, (size_t)size, "Fake %d", device);
  return SUCCESS;
}

int cuDeviceGetAttribute(int *value, int attribute, int) {
  CALL(FREE);
  const std::map<int, int> known = {
      {13, state.clock},           {16, state.multiprocessors}, {36, state.memory_clock},
      {37, state.memory_width},    {38, state.l2_bytes},        {39, 2048},
      {75, state.capability / 10}, {76, state.capability % 10}, {81, SHARED_TOGETHER},
      {95, state.cooperative},     {97, state.shared_bytes}};
  const auto found = known.find(attribute);
  if (found == known.end()) {
    return c.wrong(INVALID_VALUE, "an attribute that the fake does not know");
  }
  *value = found->second;
  return SUCCESS;
}

// ---- Contexts -------------------------------------------------------------------------------

// A process whose context has died cannot get another one, as on a real GPU.
int cuDevicePrimaryCtxRetain(void **context, int device) {
  CALL(FREE);
  if (state.dead != 0) {
    return state.dead;
  }
  state.retained++;
  *context = &contexts[device];
  return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int) {
  CALL(RELEASING);
  return --state.retained < 0 ? c.wrong(INVALID_CONTEXT, "released more often than retained")
                              : c.result;
}

int cuCtxPushCurrent_v2(void *context) {
  call c(__func__, FREE);
  if (c.result != 0 || state.dead != 0) {
    state.refused_pushes++;
    state.after_death += state.dead != 0;
    return c.result != 0 && !deadly(c.result) ? c.result : die(c.result);
  }
  if (context < contexts || context >= contexts + DEVICES) {
    return c.wrong(INVALID_CONTEXT, "no such context");
  }
  pushed.push_back(context);
  state.depth++;
  return SUCCESS;
}

int cuCtxPopCurrent_v2(void **context) {
  CALL(RELEASING);
  if (pushed.empty()) {
    return c.wrong(INVALID_CONTEXT, "nothing to pop");
  }
  *context = pushed.back();
  pushed.pop_back();
  state.depth--;
  return c.result;
}

int cuCtxGetCurrent(void **context) {
  CALL(FREE);
  *context = pushed.empty() ? nullptr : pushed.back();
  return SUCCESS;
}

int cuCtxGetDevice(int *device) {
  CALL(ENTERED);
  *device = (int)((char *)pushed.back() - contexts);
  return SUCCESS;
}

// ---- Memory: a failing call leaves garbage in its output pointer ----------------------------

int cuMemAlloc_v2(device_pointer *address, size_t bytes) {
  *address = 0xbad;
  CALL(ENTERED);
  const device_pointer found = memory.allocate(bytes);
  if (bytes == 0 || found == 0) {
    return bytes == 0 ? c.wrong(INVALID_VALUE, "no bytes") : OUT_OF_MEMORY;
  }
  *address = found;
  state.blocks = (long)memory.count();
  state.bytes = memory.bytes();
  state.peak = state.bytes > state.peak ? state.bytes : state.peak;
  return SUCCESS;
}

int cuMemFree_v2(device_pointer address) {
  CALL(RELEASING);
  if (!memory.release(address)) {
    return c.wrong(INVALID_VALUE, "no block begins there");
  }
  state.blocks = (long)memory.count();
  state.bytes = memory.bytes();
  return c.result;
}

// Does a checked copy or fill on a stream.
static int move(call &c, void *handle, const std::function<void()> &work) {
  const job j = {c.name,
                 [=](uint64_t) {
                   memory.show();
                   work();
                   return std::string();
                 },
                 false};
  return c.result != 0 ? c.result : c.enqueue(handle, j);
}

int cuMemcpyHtoD_v2(device_pointer target, const void *source, size_t bytes) {
  CALL(ENTERED);
  (void)(c.on_device(target, bytes) && c.on_host(source, bytes));
  return move(c, nullptr, [=] { memcpy((void *)target, source, bytes); });
}

int cuMemcpyDtoH_v2(void *target, device_pointer source, size_t bytes) {
  CALL(ENTERED);
  state.waits++;
  (void)(c.on_device(source, bytes) && c.on_host(target, bytes));
  const int result = move(c, nullptr, [=] { memcpy(target, (const void *)source, bytes); });
  state.unwaited = 0;
  return result;
}

int cuMemcpyDtoD_v2(device_pointer target, device_pointer source, size_t bytes) {
  CALL(ENTERED);
  (void)(c.on_device(target, bytes) && c.on_device(source, bytes));
  return move(c, nullptr, [=] { memmove((void *)target, (const void *)source, bytes); });
}

int cuMemcpyDtoDAsync_v2(device_pointer target, device_pointer source, size_t bytes,
                         void *handle) {
  CALL(CAPTURED);
  (void)(c.on_device(target, bytes) && c.on_device(source, bytes));
  return move(c, handle, [=] { memmove((void *)target, (const void *)source, bytes); });
}

int cuMemcpyHtoDAsync_v2(device_pointer target, const void *source, size_t bytes,
                         void *handle) {
  CALL(CAPTURED);
  (void)(c.on_device(target, bytes) && c.on_host(source, bytes));
  return move(c, handle, [=] { memcpy((void *)target, source, bytes); });
}

int cuMemcpyDtoHAsync_v2(void *target, device_pointer source, size_t bytes, void *handle) {
  CALL(CAPTURED);
  (void)(c.on_device(source, bytes) && c.on_host(target, bytes));
  return move(c, handle, [=] { memcpy(target, (const void *)source, bytes); });
}

int cuMemsetD8Async(device_pointer target, unsigned char byte, size_t bytes, void *handle) {
  CALL(CAPTURED);
  (void)c.on_device(target, bytes);
  return move(c, handle, [=] { memset((void *)target, byte, bytes); });
}

#ifndef FAKE_OLD // missing from the old driver
// Answers type 0, and no error, for a host pointer.
int cuPointerGetAttributes(unsigned count, int *attributes, void **values,
                           device_pointer address) {
  CALL(CAPTURED);
  if (count != 1 || attributes[0] != 2) {
    return c.wrong(INVALID_VALUE, "an attribute that the fake does not know");
  }
  *(unsigned *)values[0] = memory.holds(address, 1) ? 2 : 0;
  return SUCCESS;
}
#endif

#include "events.h"
#include "graphs.h"

// ---- Modules and launches -------------------------------------------------------------------

// An image is text: "fake cubin 90 PART PATH" or "fake ptx 80 PART PATH". Programs stay loaded,
// so that debuggers and leak checkers can resolve addresses.
int cuModuleLoadData(void **handle, const void *image) {
  int capability = 0, part = 0;
  char path[2000] = "", kind[8] = "";
  *handle = &state;
  CALL(ENTERED);
  if (sscanf((const char *)image, "fake %7s %d %d %1999s", kind, &capability, &part, path) !=
      4) {
    return INVALID_IMAGE;
  }
  if (strcmp(kind, "ptx") == 0 ? capability > state.capability
                               : capability != state.capability) {
    return NO_BINARY_FOR_GPU;
  }
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  void *kernels = library != nullptr ? dlsym(library, FAKE_PROGRAM_KERNELS) : nullptr;
  void *run = library != nullptr ? dlsym(library, FAKE_PROGRAM_RUN) : nullptr;
  void *rest = library != nullptr ? dlsym(library, FAKE_PROGRAM_REST) : nullptr;
  if (kernels == nullptr || run == nullptr || rest == nullptr) {
    return INVALID_IMAGE;
  }
  modules.push_back(
      {((fake_program_kernels)kernels)(), (fake_program_run)run, (void (*)())rest, part});
  *handle = &modules.back();
  state.modules++;
  return SUCCESS;
}

int cuModuleUnload(void *handle) {
  CALL(RELEASING);
  const module *unloaded = find(modules, handle);
  if (unloaded == nullptr) {
    return c.wrong(INVALID_HANDLE, "no such module");
  }
  idle.insert(unloaded->rest);
  if (idle.size() > IDLE_MOST) {
    for (void (*const rest)() : idle) {
      rest();
    }
    idle.clear();
  }
  for (auto f = functions.begin(); f != functions.end();) {
    f = f->second->owner == handle ? functions.erase(f) : std::next(f);
  }
  modules.remove_if([=](const module &m) { return &m == handle; });
  state.modules--;
  return c.result;
}

int cuModuleGetFunction(void **handle, void *module_handle, const char *name) {
  *handle = &state;
  CALL(ENTERED);
  const module *m = find(modules, module_handle);
  if (m == nullptr) {
    return c.wrong(INVALID_HANDLE, "no such module");
  }
  for (const fake_kernel *kernel = m->kernels; kernel->name != nullptr; kernel++) {
    if (strcmp(kernel->name, name) == 0 && kernel->call != nullptr &&
        (m->part < 0 || m->part == kernel->part)) {
      auto made = std::make_unique<function>(function{m, kernel, SHARED_WITHOUT_ASKING});
      *handle = made.get();
      functions[*handle] = std::move(made);
      return SUCCESS;
    }
  }
  return NOT_FOUND;
}

int cuFuncSetAttribute(void *handle, int attribute, int value) {
  CALL(ENTERED);
  function *f = find_function(handle);
  if (f == nullptr || attribute != 8 || value < 0 || value > state.shared_bytes) {
    return c.wrong(INVALID_VALUE, "not a function, not shared memory, or too much of it");
  }
  f->shared_bytes = (unsigned)value;
  return SUCCESS;
}

// Returns the first field of the arguments that is neither null nor a valid device address as
// it should be, or -1.
static int misplaced(const fake_kernel &kernel, const void *arguments, uint64_t *address) {
  const simt_fields &fields = *kernel.fields;
  const auto wrong = [&](size_t at) {
    memcpy(address, (const char *)arguments + at, sizeof *address);
    return *address != 0 && !memory.holds(*address, 1);
  };
  for (unsigned i = 0; i < fields.pointers; i++) {
    if (wrong(fields.pointer[i])) {
      return (int)fields.field_of[i];
    }
  }
  for (unsigned i = 0; i < fields.count && kernel.scalars_device; i++) {
    if (fields.field[i].scalar && wrong(fields.field[i].at)) {
      return (int)i;
    }
  }
  return -1;
}

// Binds a kernel to a copy of its arguments.
static job_work bind(const function &f, const fake_launch &launch, const void *arguments) {
  const fake_kernel *const kernel = f.kernel;
  const fake_program_run run = f.owner->run;
  std::vector<uint64_t> copy(kernel->fields->bytes / sizeof(uint64_t) + 1); // aligned for any
  memcpy(copy.data(), arguments, kernel->fields->bytes);
  return [=](uint64_t seed) {
    char error[sizeof state.fault] = "";
    (void)run(kernel, &launch, seed, copy.data(), error, sizeof error);
    return std::string(error);
  };
}

// Launches `grid` blocks of `threads` threads.
static int launch(call &c, void *handle, unsigned grid, unsigned threads, unsigned shared_bytes,
                  void *stream_handle, void **arguments, bool cooperative) {
  const function *f = find_function(handle);
  if (f == nullptr || arguments == nullptr) {
    return c.wrong(INVALID_VALUE, "no such function, or no arguments");
  }
  if (shared_bytes > f->shared_bytes) {
    return c.wrong(INVALID_VALUE, "more shared memory than was asked for");
  }
  state.launches++;
  const std::string what = std::string(c.name) + " of " + f->kernel->name;
  uint64_t address = 0;
  const int i = misplaced(*f->kernel, arguments[0], &address);
  if (i >= 0) {
    fault("%s: argument %d is %p, which is no device memory", what.c_str(), i, (void *)address);
    return c.result = INVALID_VALUE;
  }
  const fake_launch launch = {grid, threads, shared_bytes, cooperative};
  return c.enqueue(stream_handle, {what, bind(*f, launch, arguments[0]), true});
}

static void expect_alive(const char *name) {
  if (state.dead != 0) {
    fault("%s on a device that died of error %d", name, state.dead);
  }
}

int cuLaunchKernel(void *handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void *stream_handle, void **arguments, void **extra) {
  expect_alive(__func__);
  CALL(CAPTURED);
  if (grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1 ||
      (extra == nullptr) == (arguments == nullptr)) {
    return c.wrong(INVALID_VALUE, "a launch that the fake does not know");
  }
  const function *f = find_function(handle);
  if (f != nullptr && f->kernel->apart != (extra != nullptr)) {
    return c.wrong(INVALID_VALUE, f->kernel->apart
                                      ? "a struct for a kernel of separate parameters"
                                      : "separate parameters for a kernel of a struct");
  }
  if (extra != nullptr) { // all parameters in one buffer: its address and size
    if (extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] != nullptr || f == nullptr ||
        *(const size_t *)extra[3] != f->kernel->fields->bytes) {
      return c.wrong(INVALID_VALUE, "a buffer of parameters that the kernel does not take");
    }
    arguments = &extra[1];
  }
  return launch(c, handle, grid_x, block_x, shared_bytes, stream_handle, arguments, false);
}

// Sets *blocks to the number of blocks of `threads` threads that a multiprocessor holds.
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *handle, int threads,
                                                size_t shared_bytes) {
  CALL(ENTERED);
  if (find_function(handle) == nullptr || threads <= 0) {
    return c.wrong(INVALID_VALUE, "no such function, or no threads");
  }
  *blocks = std::min(state.resident_threads / threads,
                     SHARED_TOGETHER / ((int)shared_bytes + SHARED_RESERVED));
  return SUCCESS;
}

int cuLaunchCooperativeKernel(void *handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                              unsigned block_x, unsigned block_y, unsigned block_z,
                              unsigned shared_bytes, void *stream_handle, void **arguments) {
  expect_alive(__func__);
  CALL(CAPTURED);
  if (grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1 || state.cooperative == 0) {
    return c.wrong(INVALID_VALUE, "a launch that the fake does not know");
  }
  if (grid_x * block_x > (unsigned)(state.resident_threads * state.multiprocessors) ||
      grid_x * (shared_bytes + SHARED_RESERVED) >
          (unsigned)(SHARED_TOGETHER * state.multiprocessors)) {
    return c.wrong(COOPERATIVE_TOO_LARGE, "more blocks than are resident at once");
  }
  state.together++;
  return launch(c, handle, grid_x, block_x, shared_bytes, stream_handle, arguments, true);
}

int cuLaunchKernelEx(const launch_config *config, void *handle, void **arguments,
                     void **extra) {
  if (config->attribute_count != 1 || config->attributes->id != 6 ||
      config->attributes->value[0] != 1) {
    fault("cuLaunchKernelEx with an attribute that the fake does not know");
  }
  state.early++;
  return cuLaunchKernel(handle, config->grid[0], config->grid[1], config->grid[2],
                        config->block[0], config->block[1], config->block[2],
                        config->shared_bytes, config->stream, arguments, extra);
}
}
