#include "core/context.h"

/* The clock, the environment, processors and dynamic libraries of the operating system. */

MBI_INTERNAL double mbi_seconds(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Returns an environment variable, or NULL if it is unset or empty, or the process runs
 * with raised privileges. */
MBI_INTERNAL const char *mbi_environment(const char *name) {
  const char *value = secure_getenv(name);
  return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Returns the number of processors that this process may use, 1 to MBI_MAX_THREADS. */
MBI_INTERNAL int mbi_processors(void) {
  cpu_set_t sets[64]; /* sets of 1,024 processors each; the kernel does not fill fewer than it
                       * was built for */
  const int known = sched_getaffinity(0, sizeof sets, sets) == 0;
  const int count = known ? CPU_COUNT_S(sizeof sets, sets) : 1;
  return count < 1 ? 1 : count < MBI_MAX_THREADS ? count : MBI_MAX_THREADS;
}

MBI_INTERNAL void *mbi_library_open(const char *path) {
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

MBI_INTERNAL const char *mbi_library_error(void) {
  const char *text = dlerror();
  return text != NULL ? text : "unknown reason";
}

/* Finds a function of a library. Writes its address byte by byte to a function pointer of any
 * type, because ISO C has no conversion from void * to a function pointer. Returns 1 if the
 * function exists. */
MBI_INTERNAL int mbi_library_function(void *library, const char *name, void *pointer,
                                      size_t size) {
  void *symbol = dlsym(library, name);
  memcpy(pointer, &symbol, size);
  return symbol != NULL;
}

MBI_INTERNAL void mbi_library_close(void *library) {
  if (library != NULL) {
    (void)dlclose(library);
  }
}
