#include "core/context.h"
#include "jit/jit.h"

/* Public buffers: vectors in the memory of the side where the context computes. */

MERBIT_API merbit_status merbit_buffer_create(merbit_context *context, size_t bytes,
                                              merbit_buffer **buffer) {
  merbit_buffer *made;
  merbit_status status = MERBIT_OK;
  if (buffer != NULL) {
    *buffer = NULL;
  }
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (buffer == NULL) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT, "the out pointer `buffer` is NULL");
  }
  made = (merbit_buffer *)mbi_allocate(context, sizeof *made);
  if (made == NULL) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for a buffer's record");
  }
  made->context = context;
  made->bytes = bytes;
  made->pointer = NULL;
  if (context->side == MERBIT_SIDE_CUDA) {
    mbi_devptr address = 0;
    status = mbi_device_enter(context);
    if (status == MERBIT_OK) {
      status = mbi_device_allocate(context, bytes, "a buffer", &address);
      mbi_device_leave(context);
    }
    made->pointer = mbi_device_pointer(address);
  } else if ((made->pointer = mbi_allocate(context, bytes)) == NULL) {
    status =
        mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for a buffer of %zu bytes", bytes);
  }
  if (status != MERBIT_OK) {
    mbi_release(context, made);
    return status;
  }
  mbi_context_retain(context);
  *buffer = made;
  return MERBIT_OK;
}

/* Checks an upload or download: [offset, offset + bytes) must lie inside the buffer. */
MBI_NOINLINE static merbit_status mbi_buffer_check(const merbit_buffer *buffer, size_t offset,
                                                   const void *host, size_t bytes,
                                                   const char *verb) {
  if (buffer == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (host == NULL && bytes > 0) {
    return mbi_fail(buffer->context, MERBIT_INVALID_ARGUMENT,
                    "merbit_buffer_%s: the host pointer is NULL", verb);
  }
  if (offset > buffer->bytes || bytes > buffer->bytes - offset) {
    return mbi_fail(buffer->context, MERBIT_INVALID_ARGUMENT,
                    "merbit_buffer_%s: %zu bytes at offset %zu exceed the buffer's %zu bytes",
                    verb, bytes, offset, buffer->bytes);
  }
  return MERBIT_OK;
}

MERBIT_API merbit_status merbit_buffer_upload(merbit_buffer *buffer, size_t offset,
                                              const void *source, size_t bytes) {
  merbit_status status;
  MBI_TRY(mbi_buffer_check(buffer, offset, source, bytes, "upload"));
  if (bytes == 0) {
    return MERBIT_OK;
  }
  if (buffer->context->side == MERBIT_SIDE_CPU) {
    memcpy((char *)buffer->pointer + offset, source, bytes);
    return MERBIT_OK;
  }
  MBI_TRY(mbi_device_enter(buffer->context));
  status = mbi_device_upload(buffer->context, mbi_device_address(buffer->pointer) + offset,
                             source, bytes);
  mbi_device_leave(buffer->context);
  return status;
}

MERBIT_API merbit_status merbit_buffer_download(const merbit_buffer *buffer, size_t offset,
                                                void *target, size_t bytes) {
  merbit_status status;
  MBI_TRY(mbi_buffer_check(buffer, offset, target, bytes, "download"));
  if (bytes == 0) {
    return MERBIT_OK;
  }
  if (buffer->context->side == MERBIT_SIDE_CPU) {
    memcpy(target, (const char *)buffer->pointer + offset, bytes);
    return MERBIT_OK;
  }
  MBI_TRY(mbi_device_enter(buffer->context));
  status = mbi_device_download(buffer->context, target,
                               mbi_device_address(buffer->pointer) + offset, bytes);
  mbi_device_leave(buffer->context);
  return status;
}

MERBIT_API void *merbit_buffer_pointer(const merbit_buffer *buffer) {
  return buffer != NULL ? buffer->pointer : NULL;
}

MERBIT_API void merbit_buffer_destroy(merbit_buffer *buffer) {
  merbit_context *context;
  if (buffer == NULL) {
    return;
  }
  context = buffer->context;
  if (context->side == MERBIT_SIDE_CUDA) {
    if (mbi_device_enter_alive(context)) {
      mbi_device_release(context, mbi_device_address(buffer->pointer));
      mbi_device_leave(context);
    }
  } else {
    mbi_release(context, buffer->pointer);
  }
  mbi_release(context, buffer);
  mbi_context_unref(context);
}
