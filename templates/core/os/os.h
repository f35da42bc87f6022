#ifndef MBI_OS_H
#define MBI_OS_H
/* The functions of the operating system that the library uses. core/os/posix*.c implements them
 * for Linux and macOS, core/os/windows*.c for Windows. Functions that return int return 0 or an
 * errno unless stated otherwise. On Windows, paths are in the encoding that fopen takes. */
#include "api/features.h"
#include "merbit.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef _WIN32
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
/* These need windows.h first. */
#include <aclapi.h>
#include <io.h>
#include <process.h>
#else
#include <dirent.h>
#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#endif
#ifdef __linux__
#include <link.h>
#include <sys/syscall.h>
#endif

#include "core/os/compiler.h"

#ifdef MBI_SEPARATE
/* The linkage of functions that several sources call. In merbit.h, which is a single
 * translation unit, the generator writes static instead. */
#define MBI_INTERNAL
#endif /* MBI_SEPARATE */

#define MBI_MAX_THREADS 1024
#define MBI_NUMA_CPUS 1024
#define MBI_PATH_SIZE 1024
#define MBI_LONG_PATH 4096 /* bytes of a path that the user gives */

#ifdef _WIN32
typedef SRWLOCK mbi_mutex;
typedef CONDITION_VARIABLE mbi_condition;
typedef HANDLE mbi_thread;
typedef DWORD mbi_thread_id;
typedef int mbi_process;
typedef unsigned(__stdcall *mbi_thread_run)(void *argument);
#define MBI_THREAD_RUN static unsigned __stdcall
#else
typedef pthread_mutex_t mbi_mutex;
typedef pthread_cond_t mbi_condition;
typedef pthread_t mbi_thread;
typedef pthread_t mbi_thread_id;
typedef pid_t mbi_process;
typedef void *(*mbi_thread_run)(void *argument);
#define MBI_THREAD_RUN                                                                         \
  static void * /* the beginning of a function that a thread runs; it returns 0 */
#endif

typedef struct mbi_numa { /* processors, grouped by memory node */
  int nodes, count;       /* numbers of nodes and of processors */
  int16_t cpu[MBI_NUMA_CPUS], node[MBI_NUMA_CPUS];
} mbi_numa;

typedef struct mbi_entry { /* a regular file in a directory */
  char name[64];           /* files with longer names are ignored */
  int64_t bytes;
  int64_t written; /* time of the last change in ns, comparable with mbi_now */
} mbi_entry;

typedef struct mbi_directory { /* a directory that is being listed */
  int error;                   /* the first failure of mbi_directory_next, or 0 */
#ifdef _WIN32
  HANDLE find;
  WIN32_FIND_DATAA next;
  int more; /* 1: `next` holds an entry that has not been returned yet */
  char path[MBI_PATH_SIZE];
#else
  DIR *stream;
#endif
} mbi_directory;

#ifdef MBI_SEPARATE
/* core/os/posix.c and core/os/windows.c */
MBI_INTERNAL double mbi_seconds(void);
MBI_INTERNAL int64_t mbi_now(void);
MBI_INTERNAL const char *mbi_environment(const char *name);
MBI_INTERNAL int mbi_processors(void);
MBI_INTERNAL mbi_process mbi_process_id(void);
MBI_INTERNAL void mbi_mutex_create(mbi_mutex *mutex);
MBI_INTERNAL void mbi_mutex_destroy(mbi_mutex *mutex);
MBI_INTERNAL void mbi_mutex_lock(mbi_mutex *mutex);
MBI_INTERNAL int mbi_mutex_try(mbi_mutex *mutex);
MBI_INTERNAL void mbi_mutex_unlock(mbi_mutex *mutex);
MBI_INTERNAL void mbi_condition_create(mbi_condition *condition);
MBI_INTERNAL void mbi_condition_destroy(mbi_condition *condition);
MBI_INTERNAL void mbi_condition_wait(mbi_condition *condition, mbi_mutex *mutex);
MBI_INTERNAL void mbi_condition_wake(mbi_condition *condition);
MBI_INTERNAL int mbi_thread_start(mbi_thread *thread, mbi_thread_run run, void *argument);
MBI_INTERNAL void mbi_thread_join(mbi_thread thread);
MBI_INTERNAL mbi_thread_id mbi_thread_self(void);
MBI_INTERNAL int mbi_thread_equal(mbi_thread_id left, mbi_thread_id right);
MBI_INTERNAL void *mbi_library_open(const char *path);
MBI_INTERNAL const char *mbi_library_error(void);
MBI_INTERNAL int mbi_library_function(void *library, const char *name, void *pointer,
                                      size_t size);
MBI_INTERNAL void mbi_library_close(void *library);
MBI_INTERNAL void mbi_library_path(void *library, char *path, size_t size);
MBI_INTERNAL void mbi_library_keep(void *library);
/* core/os/posix_numa.c and core/os/windows.c */
#ifdef __linux__
MBI_INTERNAL void mbi_numa_read(const char *root, const cpu_set_t *allowed, mbi_numa *numa);
MBI_INTERNAL void mbi_numa_pages(uintptr_t array, size_t bytes, uintptr_t page,
                                 uintptr_t *first, uintptr_t *end);
#endif
MBI_INTERNAL void mbi_numa_here(mbi_numa *numa);
MBI_INTERNAL void mbi_processor_bind(int cpu);
MBI_INTERNAL int64_t mbi_numa_move(const void *array, size_t bytes, int node);
/* core/os/posix_files.c and core/os/windows_files.c */
MBI_INTERNAL int mbi_path_is_absolute(const char *path);
MBI_INTERNAL int mbi_path_absolute(const char *path, char *absolute, size_t size);
MBI_INTERNAL const char *mbi_user_cache(char *path, size_t size);
MBI_INTERNAL int mbi_file_open(const char *path, int *file, int64_t *size);
MBI_INTERNAL int mbi_private_open(const char *path, int *file, int64_t *size);
MBI_INTERNAL int64_t mbi_file_read(void *user, void *data, size_t size);
MBI_INTERNAL void mbi_file_close(int file);
MBI_INTERNAL int mbi_file_create(const char *path, int private_file, int *file);
MBI_INTERNAL int mbi_file_append(int file, uint64_t *length, const void *data, size_t size);
MBI_INTERNAL int mbi_file_end(int file, const char *path, const char *target, int error);
MBI_INTERNAL int mbi_file_remove(const char *path);
MBI_INTERNAL void mbi_file_touch(int file);
MBI_INTERNAL int mbi_file_target(const char *path, char *target, size_t size, int *mode);
MBI_INTERNAL int mbi_file_permit(int file, int mode);
MBI_INTERNAL int mbi_directory_open(mbi_directory *directory, const char *path);
MBI_INTERNAL int mbi_directory_next(mbi_directory *directory, mbi_entry *entry);
MBI_INTERNAL int mbi_directory_remove(mbi_directory *directory, const char *name);
MBI_INTERNAL void mbi_directory_close(mbi_directory *directory);
MBI_INTERNAL size_t mbi_pattern_of(const char *text, char *pattern, size_t size);
MBI_INTERNAL int mbi_files_matching(const char *pattern,
                                    int (*take)(void *user, const char *path), void *user);
/* core/os/posix_trust.c and core/os/windows_trust.c */
MBI_INTERNAL const char *mbi_directory_distrust(char *path, int create, int *error);
MBI_INTERNAL int mbi_directory_resolve(const char *path, char *resolved, size_t size);
#ifdef _WIN32
MBI_INTERNAL const char *mbi_access_fault(const char *path, int last);
MBI_INTERNAL int mbi_path_final(const char *path, char *final, size_t size);
MBI_INTERNAL int64_t mbi_time_of(FILETIME time);
MBI_INTERNAL int mbi_windows_error(void);
#else
MBI_INTERNAL int mbi_link_replace(char *path, size_t size, size_t end);
#endif
#endif /* MBI_SEPARATE */

#endif
