#include "core/context.h"

/* Linux and macOS: clock, environment, processors, threads and dynamic libraries. */
#ifndef _WIN32

MBI_NOINLINE MBI_INTERNAL double mbi_seconds(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Returns the time of day in ns, comparable with mbi_entry.written. */
MBI_INTERNAL int64_t mbi_now(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Returns an environment variable, or NULL if it is unset or empty, or the process runs
 * with raised privileges. */
MBI_INTERNAL const char *mbi_environment(const char *name) {
#ifdef __linux__
  const char *value = secure_getenv(name);
#else
  const char *value = issetugid() ? NULL : getenv(name);
#endif
  return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Returns the number of processors that this process may use, 1 to MBI_MAX_THREADS. */
MBI_INTERNAL int mbi_processors(void) {
#ifdef __linux__
  cpu_set_t sets[64]; /* 1,024 processors each; the kernel may refuse fewer bytes */
  const int known = sched_getaffinity(0, sizeof sets, sets) == 0;
  const int count = known ? CPU_COUNT_S(sizeof sets, sets) : 1;
#else
  const int count = (int)sysconf(_SC_NPROCESSORS_ONLN);
#endif
  return count < 1 ? 1 : count < MBI_MAX_THREADS ? count : MBI_MAX_THREADS;
}

MBI_INTERNAL mbi_process mbi_process_id(void) {
  return getpid();
}

/* ---- Threads ----------------------------------------------------------------------------- */

MBI_INTERNAL void mbi_mutex_create(mbi_mutex *mutex) {
  (void)pthread_mutex_init(mutex, NULL);
}

MBI_INTERNAL void mbi_mutex_destroy(mbi_mutex *mutex) {
  (void)pthread_mutex_destroy(mutex);
}

MBI_INTERNAL void mbi_mutex_lock(mbi_mutex *mutex) {
  (void)pthread_mutex_lock(mutex);
}

MBI_INTERNAL void mbi_mutex_unlock(mbi_mutex *mutex) {
  (void)pthread_mutex_unlock(mutex);
}

MBI_INTERNAL mbi_thread_id mbi_thread_self(void) {
  return pthread_self();
}

MBI_INTERNAL int mbi_thread_equal(mbi_thread_id left, mbi_thread_id right) {
  return pthread_equal(left, right);
}

#ifndef _OPENMP
/* Takes the mutex unless another thread holds it. Returns whether it did. */
MBI_INTERNAL int mbi_mutex_try(mbi_mutex *mutex) {
  return pthread_mutex_trylock(mutex) == 0;
}

MBI_INTERNAL void mbi_condition_create(mbi_condition *condition) {
  (void)pthread_cond_init(condition, NULL);
}

MBI_INTERNAL void mbi_condition_destroy(mbi_condition *condition) {
  (void)pthread_cond_destroy(condition);
}

MBI_INTERNAL void mbi_condition_wait(mbi_condition *condition, mbi_mutex *mutex) {
  (void)pthread_cond_wait(condition, mutex);
}

/* Wakes all waiting threads. */
MBI_INTERNAL void mbi_condition_wake(mbi_condition *condition) {
  (void)pthread_cond_broadcast(condition);
}

/* Starts a thread. Returns 1 on success. The thread takes no signals but those that its own
 * instructions raise: others belong to the program, which may have blocked them in its threads
 * and wait for them. */
MBI_INTERNAL int mbi_thread_start(mbi_thread *thread, mbi_thread_run run, void *argument) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
  sigset_t others, before;
  size_t i;
  int started;
  (void)sigfillset(&others);
  for (i = 0; i < sizeof own / sizeof own[0]; i++) {
    (void)sigdelset(&others, own[i]);
  }
  (void)pthread_sigmask(SIG_SETMASK, &others, &before);
  started = pthread_create(thread, NULL, run, argument) == 0;
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started;
}

MBI_INTERNAL void mbi_thread_join(mbi_thread thread) {
  (void)pthread_join(thread, NULL);
}
#endif

/* ---- Dynamic libraries ------------------------------------------------------------------- */

MBI_INTERNAL void *mbi_library_open(const char *path) {
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

MBI_INTERNAL const char *mbi_library_error(void) {
  const char *text = dlerror();
  return text != NULL ? text : "unknown reason";
}

/* Looks up a function of a library and stores its address in a function pointer of any type. It
 * copies bytes, because ISO C cannot convert void * to a function pointer. Returns 1 if the
 * function exists. */
MBI_NOINLINE MBI_INTERNAL int mbi_library_function(void *library, const char *name,
                                                   void *pointer, size_t size) {
  void *symbol = dlsym(library, name);
  memcpy(pointer, &symbol, size);
  return symbol != NULL;
}

MBI_INTERNAL void mbi_library_close(void *library) {
  if (library != NULL) {
    (void)dlclose(library);
  }
}

/* Writes the path from which the loader took an open library, or "" if that is unknown. */
MBI_INTERNAL void mbi_library_path(void *library, char *path, size_t size) {
#ifdef __linux__
  struct link_map *map = NULL;
  const int known = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != NULL;
  (void)snprintf(path, size, "%s", known ? map->l_name : "");
#else
  (void)library;
  (void)snprintf(path, size, "%s", "");
#endif
}

/* Keeps a library in memory after it is closed. Libraries need this if they own threads, exit
 * handlers or memory, or if loading them takes long. */
MBI_INTERNAL void mbi_library_keep(void *library) {
  char path[MBI_PATH_SIZE];
  mbi_library_path(library, path, sizeof path);
  if (path[0] != '\0') {
    mbi_library_close(dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE));
  }
}

#endif
