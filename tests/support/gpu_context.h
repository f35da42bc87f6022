/* A CUDA context for the tests that need a GPU; the whole program is skipped, with the reason,
 * where there is none. Include merbit.h, or what declares its internals, first. */
#ifndef TEST_SUPPORT_GPU_CONTEXT_H
#define TEST_SUPPORT_GPU_CONTEXT_H
#include "support/matrices.h"

#define TEST_SKIPPED 77

/* A fresh cubin cache for each program, so that tests neither see nor leave anything. */
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

/* Every how many-th generated matrix is tried: 1, or MERBIT_TEST_STRIDE under tools that slow a
 * GPU down. */
TEST_UNUSED static int gpu_stride(void) {
  const char *text = getenv("MERBIT_TEST_STRIDE");
  const int stride = text != NULL ? atoi(text) : 1;
  return stride > 0 ? stride : 1;
}

/* The first of those that are `apart`: with each MERBIT_TEST_SEED another. */
TEST_UNUSED static int gpu_first_of(int apart) {
  const char *text = getenv("MERBIT_TEST_SEED");
  return text != NULL ? (int)(strtoull(text, NULL, 10) % (unsigned)apart) : 0;
}

/* The first of the matrices. */
TEST_UNUSED static int gpu_first(void) {
  return gpu_first_of(gpu_stride());
}

TEST_UNUSED static merbit_context *gpu_context(void) {
  merbit_context_desc desc;
  merbit_context *context;
  merbit_error error;
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
  if (getenv("MERBIT_TEST_NO_LOOPS") != NULL) { /* in graphs: as with a driver that has none */
    context->device.driver.graph_conditional_create = NULL;
  }
  return context;
}

/* Remove the cache's files and the directory; the last thing that a program does. */
TEST_UNUSED static void gpu_clean(void) {
  char command[128];
  (void)snprintf(command, sizeof command, "rm -rf '%s'", gpu_cache());
  if (system(command) != 0) {
    (void)fprintf(stderr, "could not run %s\n", command);
  }
}

#endif /* TEST_SUPPORT_GPU_CONTEXT_H */
