#ifndef MBI_JIT_H
#define MBI_JIT_H
#include "core/context.h"
#include "jit/sources.h"
#include "jit/types.cuh"
#define MBK_POINTER(type) mbi_devptr /* on the host, a pointer of a kernel is an address */
#include "jit/profile_arguments.cuh"

struct merbit_buffer {
  merbit_context *context;
  size_t bytes;
  void *pointer;
};

/* Results that the library treats specially (cuda.h: CUresult; nvrtc.h: nvrtcResult). */
#define MBI_CUDA_OUT_OF_MEMORY 2
#define MBI_NVRTC_OUT_OF_MEMORY 1

/* Driver versions: 1000 * major + 10 * minor. */
#define MBI_CUDA_DRIVER_OLDEST 11000
#define MBI_CUDA_DRIVER_DEPENDENT 12030 /* has dependent launches, also in captured graphs */

typedef struct mbi_nvrtc_search {
  merbit_context *context;
  int tried;
  char places[160];  /* the first places that were searched */
  char refused[192]; /* the last library that was rejected, and why */
} mbi_nvrtc_search;

#define MBI_STREAM_NON_BLOCKING 1     /* CUstream_flags: not ordered with the default stream */
#define MBI_POINTER_MEMORY_TYPE 2     /* CUpointer_attribute */
#define MBI_FUNCTION_DYNAMIC_SHARED 8 /* CUfunction_attribute */
#define MBI_SHARED_WITHOUT_ASKING 49152
/* CUlaunchAttributeID: programmatic stream serialization */
#define MBI_LAUNCH_ATTRIBUTE_DEPENDENT 6
#define MBI_LAUNCH_BUFFER ((void *)1)       /* CU_LAUNCH_PARAM_BUFFER_POINTER */
#define MBI_LAUNCH_BUFFER_BYTES ((void *)2) /* CU_LAUNCH_PARAM_BUFFER_SIZE */

#define MBI_DEVICE_PART 256 /* bytes: alignment of arrays, as the driver aligns allocations */

/* Kinds of launches. */
enum {
  MBI_LAUNCH_PLAIN,
  MBI_LAUNCH_DEPENDENT,  /* may start while earlier work in the stream is still running; the
                          * kernel calls mbk_await before it touches data of that work */
  MBI_LAUNCH_COOPERATIVE /* all blocks are resident, so they may wait for each other */
};

#define MBI_CACHE_FORMAT 1
#define MBI_CACHE_SUFFIX ".merbit"
/* In bytes. Larger entries are neither read nor written. */
#define MBI_CACHE_LARGEST ((uint64_t)1 << 30)
typedef struct mbi_cache_head {
  char magic[8];
  uint64_t format;
  uint64_t key_size;
  uint64_t image_size;
  mbi_hash checksum; /* of the fields above, the key and the image */
} mbi_cache_head;

typedef struct mbi_pack_head { /* head of exported entries: jit/cache_pack.c */
  char magic[8];
  mbi_hash checksum; /* of all entries */
} mbi_pack_head;

#ifndef MBI_LOADED_IDLE
#define MBI_LOADED_IDLE 96 /* number of loaded modules kept while no plan uses them */
#endif
/* A loaded module in the list context->loaded, which begins with the most recently used one.
 * The context's lock guards it. */
typedef struct mbi_loaded {
  struct mbi_loaded *next;
  char *key; /* as in the cubin cache */
  size_t key_size;
  void *module; /* CUmodule */
  int64_t users;
} mbi_loaded;

/* Attributes that describe a GPU's memory. */
typedef struct mbi_memory_facts {
  int clock, memory_clock; /* kHz */
  int memory_width;        /* bits */
  int l2_bytes;
} mbi_memory_facts;
/* The measured figures of a profile, in the order in which they are stored on disk. */
enum {
  MBI_PROFILE_COPY,
  MBI_PROFILE_LAUNCH,
  MBI_PROFILE_L2_LOAD,
  MBI_PROFILE_MEMORY_LOAD,
  MBI_PROFILE_F32, /* followed by the other sizes: MERBIT_PROFILE_SIZES gather rates */
  MBI_PROFILE_F64 = MBI_PROFILE_F32 + MERBIT_PROFILE_SIZES,
  MBI_PROFILE_FIGURES = MBI_PROFILE_F64 + MERBIT_PROFILE_SIZES
};
#define MBI_PROFILE_SECONDS 0.05 /* upper limit for measuring; an H200 takes half of it */

typedef struct mbi_preamble { /* empty if all fields are zero */
  char text[8192];
  size_t length;
  int overflow; /* 1: a line did not fit, and mbi_program_create will fail */
} mbi_preamble;
#define MBI_MAIN_NAME "merbit_program.cu"
#define MBI_PREAMBLE_NAME "merbit_preamble.h"
#define MBI_NO_SOURCE_INCLUDE 11070 /* the oldest NVRTC with the option --no-source-include */
typedef struct mbi_target {
  char architecture[48];
  char part[32]; /* the option that selects one part of a program; may be empty */
  const char *options[4];
  int count;
  int ptx; /* 1: NVRTC does not know this GPU, so it makes PTX, which the driver compiles */
} mbi_target;
/* A request to make a program. */
typedef struct mbi_program_wish {
  const char *file; /* the kernel file */
  const mbi_preamble *preamble;
  int parts;            /* number of parts that the file declares, 1 to MBI_PARTS */
  mbi_program *program; /* the result */
} mbi_program_wish;
#define MBI_WISHES 10 /* the most requests at once */
/* A part of a program while it is being made. */
typedef struct mbi_unit {
  merbit_context *context;
  const mbi_program_wish *wish;
  mbi_part *part;
  mbi_target target;
  char *key; /* as in the cubin cache; NULL once the loaded module owns it */
  size_t key_size;
  void *image; /* compiled image that has not been loaded yet; or NULL */
  size_t image_size;
  merbit_error failure; /* if another thread failed to compile it */
} mbi_unit;
typedef struct mbi_texts { /* the files that NVRTC sees, by name */
  const char *names[MBI_SOURCES + 1];
  const char *texts[MBI_SOURCES + 1];
  char *owned[MBI_SOURCES];
} mbi_texts;

#ifdef MBI_SEPARATE
/* jit/driver.c */
MBI_INTERNAL const char *mbi_driver_text(mbi_curesult (*get)(mbi_curesult, const char **),
                                         mbi_curesult result);
MBI_INTERNAL const char *mbi_driver_error_name(const mbi_driver *driver, mbi_curesult result);
MBI_INTERNAL const char *mbi_driver_error_string(const mbi_driver *driver, mbi_curesult result);
MBI_INTERNAL void mbi_driver_close(mbi_driver *driver);
MBI_INTERNAL const char *mbi_driver_load(mbi_driver *driver);
MBI_INTERNAL merbit_status mbi_driver_open(merbit_context *context);
/* jit/nvrtc.c */
MBI_INTERNAL void mbi_nvrtc_close(mbi_nvrtc *nvrtc);
MBI_INTERNAL const char *mbi_nvrtc_load(mbi_nvrtc *nvrtc);
MBI_INTERNAL int mbi_nvrtc_architecture(const mbi_nvrtc *nvrtc, int capability);
MBI_INTERNAL int mbi_nvrtc_try_name(mbi_nvrtc_search *search, const char *name);
MBI_INTERNAL merbit_status mbi_nvrtc_open(merbit_context *context, const char *path);
MBI_INTERNAL merbit_status mbi_nvrtc_check(merbit_context *context, int result,
                                           const char *call, const char *main_file);
MBI_INTERNAL char *mbi_nvrtc_log(merbit_context *context, void *program);
MBI_INTERNAL void mbi_nvrtc_tell(merbit_context *context, const char *log, char *first,
                                 size_t size);
/* jit/device.c */
MBI_INTERNAL int mbi_device_fatal(mbi_curesult result);
MBI_INTERNAL int mbi_device_mark_lost(merbit_context *context, mbi_curesult result);
MBI_INTERNAL mbi_curesult mbi_device_lost(const merbit_context *context);
MBI_INTERNAL merbit_status mbi_device_alive(merbit_context *context);
MBI_INTERNAL merbit_status mbi_device_check(merbit_context *context, mbi_curesult result,
                                            const char *call, const char *what);
MBI_INTERNAL merbit_status mbi_device_examine(merbit_context *context);
MBI_INTERNAL merbit_status mbi_device_enter(merbit_context *context);
MBI_INTERNAL int mbi_device_enter_alive(merbit_context *context);
MBI_INTERNAL void mbi_device_leave(merbit_context *context);
MBI_INTERNAL merbit_status mbi_device_synchronize(merbit_context *context, void *stream);
MBI_INTERNAL merbit_status mbi_device_open(merbit_context *context,
                                           const merbit_context_desc *desc);
MBI_INTERNAL void mbi_device_close(merbit_context *context);
/* jit/memory.c */
MBI_INTERNAL mbi_devptr mbi_device_address(const void *pointer);
MBI_INTERNAL void *mbi_device_pointer(mbi_devptr address);
MBI_INTERNAL mbi_devptr mbi_device_part(mbi_devptr space, uint64_t bytes, uint64_t *used);
MBI_INTERNAL merbit_status mbi_device_allocate(merbit_context *context, uint64_t bytes,
                                               const char *what, mbi_devptr *address);
MBI_INTERNAL void mbi_device_release(merbit_context *context, mbi_devptr address);
MBI_INTERNAL void mbi_arena_open(mbi_arena *arena, mbi_devptr at, uint64_t bytes);
MBI_INTERNAL merbit_status mbi_arena_allocate(merbit_context *context, mbi_arena *arena,
                                              uint64_t bytes, const char *what,
                                              mbi_devptr *address);
MBI_INTERNAL merbit_status mbi_arena_allocate_parts(merbit_context *context, mbi_arena *arena,
                                                    const char *what, int count,
                                                    mbi_devptr *const *parts,
                                                    const uint64_t *bytes);
MBI_INTERNAL void mbi_arena_release(merbit_context *context, const mbi_arena *arena,
                                    mbi_devptr address);
MBI_INTERNAL merbit_status mbi_device_upload(merbit_context *context, mbi_devptr target,
                                             const void *source, size_t bytes);
MBI_INTERNAL merbit_status mbi_device_download(merbit_context *context, void *target,
                                               mbi_devptr source, size_t bytes);
MBI_INTERNAL merbit_status mbi_device_copy(merbit_context *context, mbi_devptr target,
                                           mbi_devptr source, size_t bytes);
MBI_INTERNAL merbit_status mbi_device_copy_async(merbit_context *context, mbi_devptr target,
                                                 mbi_devptr source, size_t bytes, void *stream);
MBI_INTERNAL merbit_status mbi_device_zero(merbit_context *context, mbi_devptr target,
                                           size_t bytes, void *stream);
MBI_INTERNAL int mbi_device_owns(merbit_context *context, const void *pointer);
MBI_INTERNAL merbit_status mbi_device_check_owned(merbit_context *context, const char *claim,
                                                  const void *pointer);
/* jit/launch.c */
MBI_INTERNAL merbit_status mbi_device_reserve_shared(merbit_context *context, void *function,
                                                     const char *name, unsigned shared_bytes);
MBI_INTERNAL merbit_status mbi_device_launch_some(merbit_context *context, void *function,
                                                  const char *name, int64_t grid, int threads,
                                                  unsigned shared_bytes, void *stream,
                                                  const void *arguments, size_t bytes, int how);
MBI_INTERNAL merbit_status mbi_device_launch(merbit_context *context, void *function,
                                             const char *name, int64_t grid, int threads,
                                             unsigned shared_bytes, void *stream,
                                             const void *arguments);
/* jit/cache.c */
MBI_INTERNAL void mbi_cache_open(merbit_context *context, const merbit_context_desc *desc);
MBI_INTERNAL void mbi_cache_path(const merbit_context *context, const char *key,
                                 size_t key_size, char *path, size_t size);
MBI_INTERNAL mbi_cache_head mbi_cache_seal(const char *key, size_t key_size, const void *image,
                                           size_t size);
MBI_INTERNAL int mbi_cache_flawed(int error);
MBI_INTERNAL int mbi_cache_valid(const char *entry, size_t size, const char *key,
                                 size_t key_size);
MBI_INTERNAL void mbi_cache_drop(merbit_context *context, const char *key, size_t key_size);
MBI_INTERNAL int mbi_cache_load(merbit_context *context, const char *key, size_t key_size,
                                void **image, size_t *size);
MBI_INTERNAL void mbi_cache_store(merbit_context *context, const char *key, size_t key_size,
                                  const void *image, size_t size);
/* jit/cache_pack.c */
MBI_INTERNAL mbi_pack_head mbi_pack_seal(const char *data, size_t size);
MBI_INTERNAL int mbi_pack_take_compiler(merbit_context *context);
/* jit/loaded.c */
MBI_INTERNAL void mbi_loaded_unload(merbit_context *context, void *module);
MBI_INTERNAL mbi_loaded *mbi_loaded_take(merbit_context *context, const char *key,
                                         size_t key_size);
MBI_INTERNAL mbi_loaded *mbi_loaded_share(merbit_context *context, char *key, size_t key_size,
                                          void *module);
MBI_INTERNAL void mbi_loaded_trim(merbit_context *context, int keep);
MBI_INTERNAL void mbi_loaded_leave(merbit_context *context, mbi_loaded *entry);
MBI_INTERNAL void mbi_loaded_close(merbit_context *context);
/* jit/program.c */
MBI_INTERNAL void mbi_preamble_define(mbi_preamble *preamble, const char *name,
                                      const char *value);
MBI_INTERNAL void mbi_preamble_define_int(mbi_preamble *preamble, const char *name,
                                          int64_t value);
MBI_INTERNAL merbit_status mbi_target_choose(merbit_context *context, const char *main_file,
                                             const mbi_preamble *preamble, int capability,
                                             mbi_target *target);
MBI_INTERNAL void mbi_target_take_part(mbi_target *target, int part);
MBI_INTERNAL char *mbi_key_create(merbit_context *context, const char *main_file,
                                  const mbi_preamble *preamble, const mbi_target *target,
                                  size_t *size);
MBI_INTERNAL void mbi_texts_release(merbit_context *context, mbi_texts *texts);
MBI_INTERNAL merbit_status mbi_texts_create(merbit_context *context,
                                            const mbi_preamble *preamble, mbi_texts *texts);
MBI_INTERNAL merbit_status mbi_nvrtc_run(merbit_context *context, void *program,
                                         const char *main_file, const mbi_preamble *preamble,
                                         const mbi_target *target, void **image, size_t *size);
MBI_INTERNAL merbit_status mbi_program_compile(merbit_context *context, const char *main_file,
                                               const mbi_preamble *preamble,
                                               const mbi_target *target, void **image,
                                               size_t *size);
MBI_INTERNAL merbit_status mbi_programs_create(merbit_context *context,
                                               const mbi_program_wish *wishes, int count,
                                               mbi_program_times *times);
MBI_INTERNAL merbit_status mbi_program_create(merbit_context *context, const char *main_file,
                                              const mbi_preamble *preamble,
                                              mbi_program *program);
MBI_INTERNAL merbit_status mbi_program_part_kernel(merbit_context *context,
                                                   const mbi_program *program, int part,
                                                   const char *name, void **function);
MBI_INTERNAL merbit_status mbi_program_kernel(merbit_context *context,
                                              const mbi_program *program, const char *name,
                                              void **function);
MBI_INTERNAL void mbi_program_destroy(merbit_context *context, mbi_program *program);
/* jit/profile_estimate.c */
MBI_INTERNAL void mbi_profile_estimate(int multiprocessors, const mbi_memory_facts *facts,
                                       merbit_device_profile *profile);
MBI_INTERNAL void mbi_profile_figures(merbit_device_profile *profile, double *figures, int set);
MBI_INTERNAL int mbi_profile_plausible(const double *figures,
                                       const merbit_device_profile *estimate);
/* jit/profile.c */
MBI_INTERNAL merbit_status mbi_profile_measure(merbit_context *context, double *figures);
MBI_INTERNAL void mbi_profile_key(const merbit_context *context, char *key, size_t size);
MBI_INTERNAL int mbi_profile_publish(merbit_context *context, const double *figures);
MBI_INTERNAL const merbit_device_profile *mbi_profile_take(merbit_context *context,
                                                           int measure);
MBI_INTERNAL uint64_t mbi_profile_bound(merbit_context *context);
/* jit/context.c */
MBI_INTERNAL void mbi_context_retain(merbit_context *context);
MBI_INTERNAL void mbi_context_unref(merbit_context *context);
#endif /* MBI_SEPARATE */

#endif
