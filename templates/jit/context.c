#include "core/context.h"
#include "jit/jit.h"

/* Contexts: creation, reference counts, choosing the CPU or CUDA, information. */

MBI_INTERNAL void mbi_context_retain(merbit_context *context) {
  mbi_mutex_lock(&context->lock);
  context->references++;
  mbi_mutex_unlock(&context->lock);
}

MBI_INTERNAL void mbi_context_unref(merbit_context *context) {
  merbit_allocator allocator = context->allocator;
  int64_t left;
  mbi_mutex_lock(&context->lock);
  left = --context->references;
  mbi_mutex_unlock(&context->lock);
  if (left > 0) {
    return;
  }
  mbi_loaded_close(context);
  mbi_device_close(context);
  mbi_pool_destroy(context);
  mbi_context_locks_destroy(context);
  allocator.release(allocator.user, context);
}

/* Chooses the CPU or CUDA. CUDA needs a driver, a device and NVRTC. If AUTO takes the CPU,
 * context->reason says why. */
static merbit_status mbi_context_choose_side(merbit_context *context,
                                             const merbit_context_desc *desc) {
  merbit_status status;
  context->side = MERBIT_SIDE_CPU;
  if (desc->side == MERBIT_SIDE_CPU) {
    return MERBIT_OK;
  }
  status = mbi_device_open(context, desc);
  if (status == MERBIT_OK) {
    context->side = MERBIT_SIDE_CUDA;
    return MERBIT_OK;
  }
  mbi_device_close(context);
  if (desc->side == MERBIT_SIDE_CUDA || status == MERBIT_OUT_OF_MEMORY) {
    return status;
  }
  mbi_error_clear(context, context->reason, sizeof context->reason);
  mbi_log(context, "computing on the CPU: %s", context->reason);
  return MERBIT_OK;
}

/* Prints a log line. Used if MERBIT_LOG is set and the descriptor has no callback. */
static void mbi_log_to_stderr(void *user, const char *line) {
  (void)user;
  (void)fprintf(stderr, "merbit: %s\n", line);
}

static merbit_status mbi_context_set_up(merbit_context *context,
                                        const merbit_context_desc *desc) {
  context->threads = desc->threads > 0 ? desc->threads : mbi_processors();
  context->log = desc->log;
  context->log_user = desc->log_user;
  if (context->log == NULL && mbi_environment("MERBIT_LOG") != NULL) {
    context->log = mbi_log_to_stderr;
  }
  if (desc->threads < 0 || desc->threads > MBI_MAX_THREADS) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "context_desc.threads is %d; use 0 for all, or at most %d", desc->threads,
                    MBI_MAX_THREADS);
  }
  if (desc->side < MERBIT_SIDE_AUTO || desc->side > MERBIT_SIDE_CUDA) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "context_desc.side is %d; use MERBIT_SIDE_AUTO, MERBIT_SIDE_CPU or "
                    "MERBIT_SIDE_CUDA",
                    (int)desc->side);
  }
  if (desc->cache_max_bytes < 0) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "context_desc.cache_max_bytes is %" PRId64 "; use 0 for the default",
                    desc->cache_max_bytes);
  }
  if (desc->bind_threads) {
    mbi_threads_bind(context);
  }
  return mbi_context_choose_side(context, desc);
}

MERBIT_API merbit_status merbit_context_create(const merbit_context_desc *desc,
                                               merbit_context **context, merbit_error *error) {
  merbit_context_desc defaults;
  merbit_allocator allocator;
  merbit_context *made;
  merbit_status status;
  memset(&defaults, 0, sizeof defaults);
  if (desc == NULL) {
    desc = &defaults;
  }
  if (context != NULL) {
    *context = NULL;
  }
  if (context == NULL ||
      (desc->allocator.allocate == NULL) != (desc->allocator.release == NULL)) {
    return mbi_error_set(error, MERBIT_INVALID_ARGUMENT,
                         context == NULL ? "the out pointer `context` is NULL"
                                         : "context_desc.allocator has one function of two");
  }
  allocator = desc->allocator;
  if (allocator.allocate == NULL) {
    allocator.allocate = mbi_default_allocate;
    allocator.release = mbi_default_release;
  }
  made = (merbit_context *)allocator.allocate(allocator.user, sizeof *made);
  if (made == NULL) {
    return mbi_error_set(error, MERBIT_OUT_OF_MEMORY, "no memory for a context");
  }
  memset(made, 0, sizeof *made);
  made->allocator = allocator;
  made->references = 1;
  made->process = mbi_process_id();
  mbi_context_locks_create(made);
  status = mbi_context_set_up(made, desc);
  if (status != MERBIT_OK) {
    if (error != NULL) {
      error->status = merbit_last_error(made, error->message, sizeof error->message);
    }
    mbi_context_unref(made);
    return status;
  }
  *context = made;
  return mbi_error_set(error, MERBIT_OK, "");
}

MERBIT_API void merbit_context_destroy(merbit_context *context) {
  if (context != NULL) {
    mbi_context_unref(context);
  }
}

MERBIT_API merbit_status merbit_context_get_info(merbit_context *context,
                                                 merbit_context_info *info) {
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (info == NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "merbit_context_get_info: `info` is NULL");
  }
  memset(info, 0, sizeof *info);
  info->side = context->side;
  info->threads = context->threads;
  (void)snprintf(info->reason, sizeof info->reason, "%s", context->reason);
  (void)snprintf(info->device, sizeof info->device, "CPU");
  if (context->side == MERBIT_SIDE_CUDA) {
    (void)snprintf(info->device, sizeof info->device, "%s", context->device.name);
    (void)snprintf(info->nvrtc, sizeof info->nvrtc, "%s", context->device.nvrtc.path);
    (void)snprintf(info->cache_dir, sizeof info->cache_dir, "%s", context->cache.directory);
    (void)snprintf(info->cache_off_reason, sizeof info->cache_off_reason, "%s",
                   context->cache.off_reason);
    info->compute_capability = context->device.compute_capability;
    info->driver_version = context->device.driver_version;
    info->nvrtc_version = context->device.nvrtc.version;
    mbi_mutex_lock(&context->lock);
    info->cache_hits = context->cache.hits;
    info->cache_misses = context->cache.misses;
    info->cache_errors = context->cache.errors;
    info->profile =
        context->device.profile_ready ? context->device.profile : context->device.estimate;
    mbi_mutex_unlock(&context->lock);
  }
  return MERBIT_OK;
}
