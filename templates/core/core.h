#ifndef MBI_CORE_H
#define MBI_CORE_H
/* Declarations that every source includes first. */
#include "core/os/os.h"

/* Returns from the calling function with the status of `call` unless that is MERBIT_OK. */
#define MBI_TRY(call)                                                                          \
  do {                                                                                         \
    const merbit_status mbi_status = (call);                                                   \
    if (mbi_status != MERBIT_OK) {                                                             \
      return mbi_status;                                                                       \
    }                                                                                          \
  } while (0)

typedef void (*mbi_task)(void *argument, int index);

#ifndef _OPENMP
#define MBI_POOL_CLAIMS 8192 /* with more tasks, bound threads take them like unbound ones */

typedef struct mbi_pool { /* core/threads.c */
  mbi_mutex caller;       /* held by the thread whose call is running */
  mbi_mutex lock;         /* guards the other fields */
  mbi_condition wake, idle;
  mbi_thread *workers;
  int count, started, stop; /* only the caller uses `started` */
  int open, active;         /* open: 1 while workers may join the call; active: number of
                             * workers that have joined */
  unsigned generation;      /* number of calls so far */
  mbi_task task;
  void *argument;
  int tasks, next;
  const mbi_numa *bound;                 /* where threads are bound; NULL: they are not */
  int threads, named;                    /* all threads, including the caller's; workers that
                                          * have taken a number */
  uint64_t claims[MBI_POOL_CLAIMS / 64]; /* if threads are bound: a bit for each task, set when
                                          * a thread takes it */
} mbi_pool;
#endif

typedef struct mbi_hash {
  uint64_t high, low;
} mbi_hash;
#define MBI_HASH_TEXT 33 /* 32 hexadecimal digits and the terminating zero */

#define MBI_MAX_LINKS 40 /* the most links followed in one path, as in Linux */
#ifdef _WIN32
#define MBI_SEPARATORS "\\/:" /* characters before a name in a path */
#else
#define MBI_SEPARATORS "/"
#endif
#define MBI_PRIVATE_MODE 0600      /* permissions of a file for this user alone */
#define MBI_TEMPORARY ".merbit-"   /* prefix of the names of temporary files */
#define MBI_TEMPORARY_SECONDS 3600 /* an older temporary file has no living writer */
typedef struct mbi_piece {
  const void *data;
  size_t size;
} mbi_piece;

typedef struct mbi_replacement { /* a file that replaces its target when it is complete */
  int file;
  uint64_t length; /* bytes written */
  char target[MBI_LONG_PATH];
  char temporary[MBI_LONG_PATH];
} mbi_replacement;

/* Each allocation is preceded by its size. The head has 16 bytes, so that the memory behind it
 * is aligned for every type. */
#define MBI_MEMORY_HEAD 16

#ifdef MBI_SEPARATE
/* core/status.c */
MBI_INTERNAL merbit_status mbi_error_set(merbit_error *error, merbit_status status,
                                         const char *message);
MBI_PRINTF(2, 3) MBI_INTERNAL void mbi_log(merbit_context *context, const char *format, ...);
MBI_PRINTF(3, 4)
MBI_INTERNAL merbit_status mbi_fail(merbit_context *context, merbit_status status,
                                    const char *format, ...);
MBI_INTERNAL void mbi_error_clear(merbit_context *context, char *reason, size_t size);
/* core/memory.c */
MBI_INTERNAL void *mbi_default_allocate(void *user, size_t bytes);
MBI_INTERNAL void mbi_default_release(void *user, void *memory);
MBI_INTERNAL void *mbi_allocate(merbit_context *context, size_t bytes);
MBI_INTERNAL void mbi_release(merbit_context *context, void *memory);
MBI_INTERNAL size_t mbi_memory_bytes(const void *memory);
MBI_INTERNAL void mbi_copy_short(void *to, const void *from, size_t bytes, size_t room);
MBI_INTERNAL merbit_status mbi_allocate_array(merbit_context *context, int64_t count,
                                              size_t size, const char *what, void **array);
/* core/numa.c */
MBI_INTERNAL int mbi_first_task(int tasks, int threads, int thread);
MBI_INTERNAL int mbi_task_thread(int tasks, int threads, int task);
MBI_INTERNAL int mbi_numa_slot(const mbi_numa *numa, int threads, int thread);
MBI_INTERNAL int mbi_numa_node(const mbi_numa *numa, int threads, int thread);
MBI_INTERNAL void mbi_numa_bind(const mbi_numa *numa, int threads, int thread);
/* core/threads.c */
MBI_INTERNAL void mbi_context_locks_create(merbit_context *context);
MBI_INTERNAL void mbi_context_locks_destroy(merbit_context *context);
MBI_INTERNAL void mbi_pool_destroy(merbit_context *context);
MBI_INTERNAL void mbi_parallel(merbit_context *context, int tasks, mbi_task task,
                               void *argument);
MBI_INTERNAL void mbi_threads_bind(merbit_context *context);
#ifndef _OPENMP
MBI_INTERNAL void mbi_pool_drain_near(mbi_pool *pool, int number);
#endif
/* core/hash.c */
MBI_INTERNAL mbi_hash mbi_hash_start(void);
MBI_INTERNAL mbi_hash mbi_hash_add(mbi_hash hash, const void *data, size_t size);
MBI_INTERNAL void mbi_hash_text(mbi_hash hash, char text[MBI_HASH_TEXT]);
/* core/files.c */
MBI_INTERNAL int mbi_private_read(merbit_context *context, const char *path, uint64_t limit,
                                  int used, void **data, size_t *size);
MBI_INTERNAL int mbi_temporary_create(const char *directory, char *path, size_t size,
                                      int *file);
MBI_INTERNAL int mbi_private_write(const char *directory, const char *name,
                                   const mbi_piece *pieces, int count);
MBI_INTERNAL int mbi_directory_list(merbit_context *context, mbi_directory *directory,
                                    const char *suffix, mbi_entry **files, size_t *count);
MBI_INTERNAL int mbi_directory_trim(merbit_context *context, const char *path,
                                    const char *suffix, int64_t cap);
/* core/user_files.c */
MBI_INTERNAL merbit_status mbi_path_check(merbit_context *context, const char *path);
MBI_INTERNAL int mbi_replacement_write(void *user, const void *data, size_t size);
MBI_INTERNAL int mbi_replacement_begin(mbi_replacement *r, const char *path, int private_file);
MBI_INTERNAL int mbi_replacement_end(mbi_replacement *r, int error);
#endif /* MBI_SEPARATE */

#endif
