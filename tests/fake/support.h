/* Contexts on the fake device. Include merbit.h and cmocka.h first; main calls fake_open before
 * anything else. CMake defines FAKE_FOLDER. */
#ifndef TEST_FAKE_SUPPORT_H
#define TEST_FAKE_SUPPORT_H
#include "fake/fake.h"
#include "support/cpu.h"

static fake_cuda *cuda;
static fake_nvrtc *nvrtc;
static void (*fake_cuda_clean)(void), (*fake_nvrtc_clean)(void);
static cpu_memory host;

/* Sets *function to the library's function of this name. */
static void fake_symbol(void *library, const char *name, void *function) {
  void *symbol = library != NULL ? dlsym(library, name) : NULL;
  if (symbol == NULL) {
    (void)fprintf(stderr, "the fakes cannot be opened: %s\n", dlerror());
    exit(1);
  }
  memcpy(function, &symbol, sizeof symbol);
}

/* Resets both libraries. */
TEST_UNUSED static void fake_reset(void) {
  fake_cuda_clean();
  fake_nvrtc_clean();
  memset(&host, 0, sizeof host);
}

/* Opens a fake libcuda; merbit.h then gets the same one by its soname. `kind` is "new", "old"
 * or "plain". */
TEST_UNUSED static void fake_open_cuda(const char *kind) {
  char path[600];
  void *library;
  fake_cuda_getter get;
  (void)snprintf(path, sizeof path, "%s/%s/libcuda.so.1", FAKE_FOLDER, kind);
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  fake_symbol(library, "fake_cuda_reset", &fake_cuda_clean);
  fake_symbol(library, "fake_cuda_state", &get);
  cuda = get();
}

/* Opens both libraries and names NVRTC in the environment. */
TEST_UNUSED static void fake_open(const char *kind) {
  char path[600];
  void *library;
  fake_nvrtc_getter get;
  fake_open_cuda(kind);
  (void)snprintf(path, sizeof path, "%s/%s/libnvrtc.so.13", FAKE_FOLDER, kind);
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  fake_symbol(library, "fake_nvrtc_reset", &fake_nvrtc_clean);
  fake_symbol(library, "fake_nvrtc_state", &get);
  nvrtc = get();
  (void)setenv("MERBIT_NVRTC", path, 1);
  fake_reset();
}

/* Returns a descriptor with one thread, counted host memory and no cubin cache. */
TEST_UNUSED static merbit_context_desc fake_desc(merbit_side side) {
  merbit_context_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.side = side;
  desc.threads = 1;
  desc.cache_dir = "";
  desc.allocator.allocate = cpu_allocate;
  desc.allocator.release = cpu_release;
  desc.allocator.user = &host;
  return desc;
}

TEST_UNUSED static merbit_context *fake_context(const char *cache_dir) {
  merbit_context_desc desc = fake_desc(MERBIT_SIDE_CUDA);
  merbit_context *context;
  merbit_error error;
  if (cache_dir != NULL) {
    desc.cache_dir = cache_dir;
  }
  if (merbit_context_create(&desc, &context, &error) != MERBIT_OK) {
    fail_msg("%s", error.message);
  }
  return context;
}

/* Expects that nothing was done that a driver must never see. */
TEST_UNUSED static void fake_expect_no_fault(void) {
  if (cuda->faults != 0) {
    fail_msg("%ld faults; the first: %s", cuda->faults, cuda->fault);
  }
}

/* Expects no fault and everything released, except on a device that is dead or cannot be
 * entered. */
TEST_UNUSED static void fake_expect_clean(void) {
  char left[200];
  fake_expect_no_fault();
  assert_int_equal(host.live, 0);
  assert_int_equal(cuda->depth, 0);
  assert_int_equal(cuda->retained, 0);
  assert_int_equal(nvrtc->programs, 0);
  if (fake_left(cuda, left)) {
    fail_msg("%s", left);
  }
}

/* Makes an empty directory for a cubin cache; `name` has room for 64 bytes. */
TEST_UNUSED static const char *fake_cache_make(char *name) {
  (void)snprintf(name, 64, "/tmp/merbit-fake-XXXXXX");
  assert_non_null(mkdtemp(name));
  return name;
}

TEST_UNUSED static void fake_cache_remove(const char *name) {
  const struct dirent *entry;
  DIR *directory = opendir(name);
  assert_non_null(directory);
  while ((entry = readdir(directory)) != NULL) {
    (void)unlinkat(dirfd(directory), entry->d_name, 0);
  }
  (void)closedir(directory);
  assert_int_equal(rmdir(name), 0);
}

#endif /* TEST_FAKE_SUPPORT_H */
