#include "core/context.h"

/* Windows: clock, environment, processors, paths, threads and dynamic libraries. */
#ifdef _WIN32

MBI_INTERNAL double mbi_seconds(void) {
  LARGE_INTEGER now, frequency;
  (void)QueryPerformanceCounter(&now);
  (void)QueryPerformanceFrequency(&frequency);
  return (double)now.QuadPart / (double)frequency.QuadPart;
}

/* Converts a file's time to ns since 1970. */
MBI_INTERNAL int64_t mbi_time_of(FILETIME time) {
  const uint64_t ticks = (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
  return ((int64_t)ticks - INT64_C(116444736000000000)) * 100;
}

MBI_INTERNAL int64_t mbi_now(void) {
  FILETIME now;
  GetSystemTimeAsFileTime(&now);
  return mbi_time_of(now);
}

MBI_INTERNAL const char *mbi_environment(const char *name) {
  const char *value = getenv(name);
  return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Lists the processors of the first processor group that this process may use. */
MBI_INTERNAL void mbi_numa_here(mbi_numa *numa) {
  DWORD_PTR own = 0, all;
  int cpu;
  memset(numa, 0, sizeof *numa);
  (void)GetProcessAffinityMask(GetCurrentProcess(), &own, &all);
  for (cpu = 0; cpu < 64; cpu++) {
    UCHAR node = 0;
    if (((uint64_t)own >> cpu & 1) != 0) {
      (void)GetNumaProcessorNode((UCHAR)cpu, &node);
      numa->cpu[numa->count] = (int16_t)cpu;
      numa->node[numa->count++] = node;
      numa->nodes = node >= numa->nodes ? node + 1 : numa->nodes;
    }
  }
}

MBI_INTERNAL int mbi_processors(void) {
  mbi_numa numa;
  mbi_numa_here(&numa);
  return numa.count > 0 ? numa.count : 1;
}

MBI_INTERNAL void mbi_processor_bind(int cpu) {
  (void)SetThreadAffinityMask(GetCurrentThread(), (DWORD_PTR)1 << cpu);
}

/* Moves nothing: Windows cannot move pages to another node. */
MBI_INTERNAL int64_t mbi_numa_move(const void *array, size_t bytes, int node) {
  (void)array, (void)bytes, (void)node;
  return -1;
}

MBI_INTERNAL mbi_process mbi_process_id(void) {
  return (mbi_process)GetCurrentProcessId();
}

/* ---- Errors and paths ---------------------------------------------------------------------- */

/* Returns the errno that is closest to GetLastError. */
MBI_INTERNAL int mbi_windows_error(void) {
  switch (GetLastError()) {
  case ERROR_FILE_NOT_FOUND:
  case ERROR_PATH_NOT_FOUND:
    return ENOENT;
  case ERROR_ACCESS_DENIED:
  case ERROR_SHARING_VIOLATION:
    return EACCES;
  case ERROR_DISK_FULL:
    return ENOSPC;
  default:
    return EIO;
  }
}

/* Returns whether the path begins at the root of a drive. */
MBI_INTERNAL int mbi_path_is_absolute(const char *path) {
  return path[0] != '\0' && path[1] == ':' && (path[2] == '\\' || path[2] == '/');
}

MBI_INTERNAL int mbi_path_absolute(const char *path, char *absolute, size_t size) {
  const DWORD length = GetFullPathNameA(path, (DWORD)size, absolute, NULL);
  return length == 0 ? mbi_windows_error() : length >= size ? ENAMETOOLONG : 0;
}

/* ---- Threads ----------------------------------------------------------------------------- */

MBI_INTERNAL void mbi_mutex_create(mbi_mutex *mutex) {
  InitializeSRWLock(mutex);
}

MBI_INTERNAL void mbi_mutex_destroy(mbi_mutex *mutex) {
  (void)mutex;
}

MBI_INTERNAL void mbi_mutex_lock(mbi_mutex *mutex) {
  AcquireSRWLockExclusive(mutex);
}

MBI_INTERNAL void mbi_mutex_unlock(mbi_mutex *mutex) {
  ReleaseSRWLockExclusive(mutex);
}

MBI_INTERNAL mbi_thread_id mbi_thread_self(void) {
  return GetCurrentThreadId();
}

MBI_INTERNAL int mbi_thread_equal(mbi_thread_id left, mbi_thread_id right) {
  return left == right;
}

#ifndef _OPENMP
MBI_INTERNAL int mbi_mutex_try(mbi_mutex *mutex) {
  return TryAcquireSRWLockExclusive(mutex) != 0;
}

MBI_INTERNAL void mbi_condition_create(mbi_condition *condition) {
  InitializeConditionVariable(condition);
}

MBI_INTERNAL void mbi_condition_destroy(mbi_condition *condition) {
  (void)condition;
}

MBI_INTERNAL void mbi_condition_wait(mbi_condition *condition, mbi_mutex *mutex) {
  (void)SleepConditionVariableSRW(condition, mutex, INFINITE, 0);
}

MBI_INTERNAL void mbi_condition_wake(mbi_condition *condition) {
  WakeAllConditionVariable(condition);
}

MBI_INTERNAL int mbi_thread_start(mbi_thread *thread, mbi_thread_run run, void *argument) {
  *thread = (HANDLE)_beginthreadex(NULL, 0, run, argument, 0, NULL);
  return *thread != NULL;
}

MBI_INTERNAL void mbi_thread_join(mbi_thread thread) {
  (void)WaitForSingleObject(thread, INFINITE);
  (void)CloseHandle(thread);
}
#endif

/* ---- Dynamic libraries ------------------------------------------------------------------- */

/* Opens a library. Given only a name, it searches the directories of the program and of the
 * system. NVRTC later opens its builtins library by name alone, which Windows finds only if it
 * is loaded already; so it is loaded here, from NVRTC's directory. */
MBI_INTERNAL void *mbi_library_open(const char *path) {
  char full[MBI_PATH_SIZE], *name;
  void *library;
  WIN32_FIND_DATAA beside;
  HANDLE find;
  if (strpbrk(path, "/\\") == NULL) {
    return (void *)LoadLibraryExA(path, NULL, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
  }
  if (mbi_path_absolute(path, full, sizeof full - 64) != 0) {
    return NULL;
  }
  library = (void *)LoadLibraryExA(
      full, NULL, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR);
  name = strrchr(full, '\\') + 1;
  if (library != NULL && strncmp(name, "nvrtc", 5) == 0) {
    (void)strcpy(name, "nvrtc-builtins*.dll");
    find = FindFirstFileA(full, &beside);
    if (find != INVALID_HANDLE_VALUE && strlen(beside.cFileName) < 64) {
      (void)strcpy(name, beside.cFileName);
      (void)LoadLibraryA(full);
    }
    (void)FindClose(find);
  }
  return library;
}

MBI_INTERNAL const char *mbi_library_error(void) {
  return GetLastError() == ERROR_MOD_NOT_FOUND
             ? "Windows does not find it, or a library that it needs"
             : "Windows cannot load it";
}

MBI_NOINLINE MBI_INTERNAL int mbi_library_function(void *library, const char *name,
                                                   void *pointer, size_t size) {
  const FARPROC symbol = GetProcAddress((HMODULE)library, name);
  memcpy(pointer, &symbol, size);
  return symbol != NULL;
}

MBI_INTERNAL void mbi_library_close(void *library) {
  if (library != NULL) {
    (void)FreeLibrary((HMODULE)library);
  }
}

MBI_INTERNAL void mbi_library_path(void *library, char *path, size_t size) {
  path[0] = '\0';
  (void)GetModuleFileNameA((HMODULE)library, path, (DWORD)size);
}

MBI_INTERNAL void mbi_library_keep(void *library) {
  HMODULE kept;
  (void)GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_PIN |
                               GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                           (const char *)library, &kept);
}

#endif
