/* A CUDA context for the tests that need a GPU. Without one the whole program is skipped and
 * the reason printed. Include merbit.h or its internal declarations first. */
#ifndef TEST_SUPPORT_GPU_CONTEXT_H
#define TEST_SUPPORT_GPU_CONTEXT_H
#include <dlfcn.h>

#include "fake/fake.h"
#include "support/matrices.h"

#define TEST_SKIPPED 77

/* Returns a fresh cubin cache for each program, so that tests are independent. */
TEST_UNUSED static const char *gpu_cache(void) {
  static char directory[64];
  if (directory[0] == '\0') {
    (void)snprintf(directory, sizeof directory, "/tmp/merbit-test-XXXXXX");
    if (mkdtemp(directory) == NULL) {
      (void)fprintf(stderr, "cannot make %s\n", directory);
      exit(1);
    }
  }
  return directory;
}

/* Returns the stride among the generated matrices: 1, or MERBIT_TEST_STRIDE under tools that
 * slow a GPU down. */
TEST_UNUSED static int gpu_stride(void) {
  const char *text = getenv("MERBIT_TEST_STRIDE");
  const int stride = text != NULL ? atoi(text) : 1;
  return stride > 0 ? stride : 1;
}

/* Returns the first of the matrices that are `apart`, which changes with MERBIT_TEST_SEED. */
TEST_UNUSED static int gpu_first_of(int apart) {
  const char *text = getenv("MERBIT_TEST_SEED");
  return text != NULL ? (int)(strtoull(text, NULL, 10) % (unsigned)apart) : 0;
}

/* Returns the first of the matrices. */
TEST_UNUSED static int gpu_first(void) {
  return gpu_first_of(gpu_stride());
}

/* Returns the state of the fake driver, or NULL on a real GPU. Keeps the library open, so that
 * the state outlives contexts. */
TEST_UNUSED static const fake_cuda *gpu_fake(void) {
  static void *library;
  void *symbol;
  fake_cuda_getter get;
  if (library == NULL) {
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  }
  symbol = library != NULL ? dlsym(library, "fake_cuda_state") : NULL;
  if (symbol == NULL) {
    return NULL;
  }
  memcpy(&get, &symbol, sizeof get);
  return get();
}

TEST_UNUSED static merbit_context *gpu_context(void) {
  merbit_context_desc desc;
  merbit_context *context;
  merbit_error error;
  (void)gpu_fake();
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CUDA;
  desc.cache_dir = gpu_cache();
  if (merbit_context_create(&desc, &context, &error) != MERBIT_OK) {
    if (error.status == MERBIT_NO_DEVICE || error.status == MERBIT_NO_COMPILER) {
      (void)printf("skipped: %s\n", error.message);
      exit(TEST_SKIPPED);
    }
    (void)fprintf(stderr, "%s\n", error.message);
    exit(1);
  }
  if (getenv("MERBIT_TEST_NO_LOOPS") != NULL) { /* in graphs: like a driver without them */
    context->device.driver.graph_conditional_create = NULL;
  }
  return context;
}

/* Removes the cache's files and its directory; a program's last action, without contexts. Ends
 * the program if the fake driver still holds something. */
TEST_UNUSED static void gpu_clean(void) {
  const fake_cuda *fake = gpu_fake();
  char command[128], left[200];
  (void)snprintf(command, sizeof command, "rm -rf '%s'", gpu_cache());
  if (system(command) != 0) {
    (void)fprintf(stderr, "could not run %s\n", command);
  }
  if (fake != NULL && fake_left(fake, left)) {
    (void)fprintf(stderr, "%s\n", left);
    exit(1);
  }
}

#endif /* TEST_SUPPORT_GPU_CONTEXT_H */
