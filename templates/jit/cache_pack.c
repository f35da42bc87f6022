#include "core/context.h"
#include "jit/sources.h"
#include "jit/jit.h"

/* Packs: all entries of a cubin cache in one file, for machines without NVRTC. A pack is a head
 * followed by entries as they are on disk. The last entry is a note on the compiler. Its
 * version and architecture are part of every program's key, and a context without NVRTC reads
 * them from this note. */

#define MBI_PACK_MAGIC "merbpk1\n"

typedef struct mbi_pack { /* a pack that is being collected */
  merbit_context *context;
  char *data;
  size_t size, room;
  merbit_status status;
} mbi_pack;

/* Returns the head for the pack at `data`. The head that is already there need not be set. */
MBI_INTERNAL mbi_pack_head mbi_pack_seal(const char *data, size_t size) {
  mbi_pack_head head;
  memcpy(head.magic, MBI_PACK_MAGIC, sizeof head.magic);
  head.checksum = mbi_hash_add(mbi_hash_start(), data + sizeof head, size - sizeof head);
  return head;
}

/* Returns the size of the entry at the beginning of `data`, or 0 if no valid entry is there. */
static size_t mbi_pack_entry(const char *data, size_t size) {
  mbi_cache_head head;
  if (size < sizeof head) {
    return 0;
  }
  memcpy(&head, data, sizeof head);
  size -= sizeof head;
  if (head.key_size > size || head.image_size > size - head.key_size) {
    return 0;
  }
  size = sizeof head + (size_t)(head.key_size + head.image_size);
  return mbi_cache_valid(data, size, data + sizeof head, (size_t)head.key_size) ? size : 0;
}

/* Returns whether this version of merbit made a valid entry: then its key contains
 * MBI_KERNEL_HASH. */
static int mbi_pack_own(const char *entry) {
  const size_t length = sizeof(MBI_KERNEL_HASH) - 1;
  mbi_cache_head head;
  size_t i;
  memcpy(&head, entry, sizeof head);
  for (i = 0; i + length <= head.key_size; i++) {
    if (memcmp(entry + sizeof head + i, MBI_KERNEL_HASH, length) == 0) {
      return 1;
    }
  }
  return 0;
}

/* Writes the key of the note on the compiler for this GPU. */
static void mbi_pack_note(const merbit_context *context, char *key, size_t size) {
  (void)snprintf(key, size, "compiler %d %s %s %d", MBI_CACHE_FORMAT, MERBIT_VERSION_STRING,
                 MBI_KERNEL_HASH, context->device.compute_capability);
}

/* Takes the compiler's version and architecture from an imported pack. context->device.nvrtc
 * then has no functions. Returns whether the cache has a note for this GPU. */
MBI_INTERNAL int mbi_pack_take_compiler(merbit_context *context) {
  mbi_nvrtc *nvrtc = &context->device.nvrtc;
  int note[2] = {0, 0};
  char key[192];
  void *image;
  size_t size;
  mbi_pack_note(context, key, sizeof key);
  if (mbi_cache_load(context, key, strlen(key), &image, &size)) {
    memcpy(note, image, size < sizeof note ? size : sizeof note);
    mbi_release(context, image);
    mbi_log(context, "no NVRTC: kernels come from an imported cache");
  }
  nvrtc->version = note[0];
  nvrtc->architecture = note[1];
  return nvrtc->architecture > 0;
}

/* Fails if the context has no disk cache. */
static merbit_status mbi_pack_directory(merbit_context *context) {
  return context->cache.directory[0] != '\0'
             ? MERBIT_OK
             : mbi_fail(context, MERBIT_NOT_SUPPORTED, "there is no cubin cache: %s",
                        context->cache.off_reason);
}

/* ---- Export ------------------------------------------------------------------------------ */

/* Appends bytes. Returns 1, or 0 after setting pack->status. */
static int mbi_pack_append(mbi_pack *pack, const void *data, size_t size) {
  if (pack->size + size > pack->room) {
    void *grown = NULL;
    pack->room = 2 * (pack->size + size);
    pack->status =
        mbi_allocate_array(pack->context, (int64_t)pack->room, 1, "a file of cubins", &grown);
    if (pack->status != MERBIT_OK) {
      return 0;
    }
    if (pack->size > 0) {
      memcpy(grown, pack->data, pack->size);
    }
    mbi_release(pack->context, pack->data);
    pack->data = (char *)grown;
  }
  memcpy(pack->data + pack->size, data, size);
  pack->size += size;
  return 1;
}

/* Appends a file of the cache if this version of merbit can use it. Another process may have
 * removed the file. */
static merbit_status mbi_pack_collect(mbi_pack *pack, const char *path) {
  merbit_context *context = pack->context;
  void *entry = NULL;
  size_t size = 0;
  const int error = mbi_private_read(context, path, MBI_CACHE_LARGEST, 0, &entry, &size);
  if (error != 0 && error != ENOENT && !mbi_cache_flawed(error)) {
    return mbi_fail(context, error == ENOMEM ? MERBIT_OUT_OF_MEMORY : MERBIT_IO_ERROR,
                    "cannot read %.300s: %s", path, strerror(error));
  }
  if (size > 0 && mbi_pack_entry((const char *)entry, size) == size &&
      mbi_pack_own((const char *)entry)) {
    (void)mbi_pack_append(pack, entry, size);
  }
  mbi_release(context, entry);
  return pack->status;
}

static int mbi_pack_compare(const void *left, const void *right) {
  return strcmp(((const mbi_entry *)left)->name, ((const mbi_entry *)right)->name);
}

/* Lists the files of the cache in the order of their names. The caller releases *files, also
 * after a failure. Returns 0 or an errno. */
static int mbi_pack_list(merbit_context *context, mbi_entry **files, size_t *count) {
  mbi_directory directory;
  int error = mbi_directory_open(&directory, context->cache.directory);
  if (error != 0) {
    return error;
  }
  error = mbi_directory_list(context, &directory, MBI_CACHE_SUFFIX, files, count);
  error = error == 0 ? directory.error : error;
  mbi_directory_close(&directory);
  if (*count > 0) {
    qsort(*files, *count, sizeof **files, mbi_pack_compare);
  }
  return error;
}

/* Collects all entries of the cache. */
static merbit_status mbi_pack_collect_all(mbi_pack *pack) {
  merbit_context *context = pack->context;
  char path[MBI_PATH_SIZE + sizeof(((mbi_entry *)0)->name)];
  mbi_entry *files = NULL;
  size_t count = 0, i;
  const int error = mbi_pack_list(context, &files, &count);
  if (error != 0) {
    pack->status = mbi_fail(context, error == ENOMEM ? MERBIT_OUT_OF_MEMORY : MERBIT_IO_ERROR,
                            "cannot list the cubin cache %.300s: %s", context->cache.directory,
                            strerror(error));
  }
  for (i = 0; i < count && pack->status == MERBIT_OK; i++) {
    (void)snprintf(path, sizeof path, "%s/%s", context->cache.directory, files[i].name);
    pack->status = mbi_pack_collect(pack, path);
  }
  mbi_release(context, files);
  return pack->status;
}

/* Collects a head, all entries of the cache and the note on the compiler. The note comes last,
 * so that it replaces one that an earlier import left in the cache. */
static merbit_status mbi_pack_fill(mbi_pack *pack) {
  merbit_context *context = pack->context;
  const mbi_nvrtc *nvrtc = &context->device.nvrtc;
  char key[192];
  mbi_pack_head head;
  mbi_cache_head sealed;
  int note[2];
  note[0] = nvrtc->version;
  note[1] = mbi_nvrtc_architecture(nvrtc, context->device.compute_capability);
  mbi_pack_note(context, key, sizeof key);
  sealed = mbi_cache_seal(key, strlen(key), note, sizeof note);
  memset(&head, 0, sizeof head);
  if (!mbi_pack_append(pack, &head, sizeof head)) {
    return pack->status;
  }
  MBI_TRY(mbi_pack_collect_all(pack));
  if (pack->size == sizeof head) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "the cubin cache %.300s is empty; make the plans that the other machine "
                    "will make, then export",
                    context->cache.directory);
  }
  if (!mbi_pack_append(pack, &sealed, sizeof sealed) ||
      !mbi_pack_append(pack, key, strlen(key)) || !mbi_pack_append(pack, note, sizeof note)) {
    return pack->status;
  }
  head = mbi_pack_seal(pack->data, pack->size);
  memcpy(pack->data, &head, sizeof head);
  return MERBIT_OK;
}

/* Writes a collected pack to `path`, readable by this user alone. */
static merbit_status mbi_pack_write(const mbi_pack *pack, const char *path) {
  mbi_replacement replacement;
  int error = mbi_replacement_begin(&replacement, path, 1);
  if (error == ENOTSUP) {
    return mbi_fail(pack->context, MERBIT_IO_ERROR,
                    "%.300s is not a regular file; name one, or a file that does not exist yet",
                    path);
  }
  if (error == 0) {
    error = mbi_file_append(replacement.file, &replacement.length, pack->data, pack->size);
    error = mbi_replacement_end(&replacement, error);
  }
  return error == 0
             ? MERBIT_OK
             : mbi_fail(pack->context, MERBIT_IO_ERROR,
                        "cannot write %.300s, or a file beside it: %s", path, strerror(error));
}

MERBIT_API merbit_status merbit_cache_export(merbit_context *context, const char *path) {
  mbi_pack pack;
  if (context == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  MBI_TRY(mbi_path_check(context, path));
  if (context->side != MERBIT_SIDE_CUDA) {
    return mbi_fail(context, MERBIT_NO_DEVICE,
                    "the context computes on the CPU and has no cubins to export");
  }
  MBI_TRY(mbi_pack_directory(context));
  memset(&pack, 0, sizeof pack);
  pack.context = context;
  pack.status = mbi_pack_fill(&pack);
  if (pack.status == MERBIT_OK) {
    pack.status = mbi_pack_write(&pack, path);
  }
  mbi_release(context, pack.data);
  return pack.status;
}

/* ---- Import ------------------------------------------------------------------------------ */

/* Checks every byte of a pack. */
static merbit_status mbi_pack_check(merbit_context *context, const char *path, const char *data,
                                    size_t size) {
  mbi_pack_head head;
  size_t at = sizeof head, bytes;
  if (size < sizeof head || memcmp(data, MBI_PACK_MAGIC, sizeof head.magic) != 0) {
    return mbi_fail(context, MERBIT_INVALID_FILE,
                    "%.300s was not written by merbit_cache_export", path);
  }
  head = mbi_pack_seal(data, size);
  bytes = memcmp(data, &head, sizeof head) == 0;
  for (; at < size && bytes > 0; at += bytes) {
    bytes = mbi_pack_entry(data + at, size - at);
    if (bytes > 0 && !mbi_pack_own(data + at)) {
      return mbi_fail(
          context, MERBIT_NOT_SUPPORTED,
          "%.300s comes from another version of merbit; export it with the merbit.h "
          "of this program, version %s",
          path, MERBIT_VERSION_STRING);
    }
  }
  return bytes > 0
             ? MERBIT_OK
             : mbi_fail(context, MERBIT_INVALID_FILE,
                        "%.300s, %zu bytes, is truncated or damaged; copy or export it again",
                        path, size);
}

/* Stores every entry of a checked pack. */
static merbit_status mbi_pack_store(merbit_context *context, const char *data, size_t size) {
  mbi_cache_head head;
  size_t at;
  for (at = sizeof(mbi_pack_head); at < size; at += mbi_pack_entry(data + at, size - at)) {
    const char *key = data + at + sizeof head;
    memcpy(&head, data + at, sizeof head);
    mbi_cache_store(context, key, (size_t)head.key_size, key + head.key_size,
                    (size_t)head.image_size);
  }
  return context->cache.errors == 0
             ? MERBIT_OK
             : mbi_fail(context, MERBIT_IO_ERROR,
                        "cannot write to the cubin cache %.300s; the log says why",
                        context->cache.directory);
}

static merbit_status mbi_pack_import(merbit_context *context, const char *path) {
  void *data;
  size_t size;
  int error;
  merbit_status status;
  MBI_TRY(mbi_path_check(context, path));
  MBI_TRY(mbi_pack_directory(context));
  error = mbi_private_read(context, path, (uint64_t)context->cache.max_bytes, 0, &data, &size);
  if (error == EFBIG) {
    return mbi_fail(context, MERBIT_TOO_LARGE,
                    "%.300s has more than context_desc.cache_max_bytes, %" PRId64 " bytes",
                    path, context->cache.max_bytes);
  }
  if (error != 0) {
    return mbi_fail(context, error == ENOMEM ? MERBIT_OUT_OF_MEMORY : MERBIT_IO_ERROR,
                    "cannot import %.300s: %s%s", path, strerror(error),
                    error == EINVAL || error == ELOOP ? "; it must be a regular file that "
                                                        "belongs to you and that nobody else "
                                                        "may write to"
                                                      : "");
  }
  status = mbi_pack_check(context, path, (const char *)data, size);
  if (status == MERBIT_OK) {
    status = mbi_pack_store(context, (const char *)data, size);
  }
  mbi_release(context, data);
  return status;
}

MERBIT_API merbit_status merbit_cache_import(const merbit_context_desc *desc, const char *path,
                                             merbit_error *error) {
  merbit_context_desc own = desc != NULL ? *desc : merbit_context_defaults();
  merbit_context *context;
  merbit_status status;
  own.side = MERBIT_SIDE_CPU; /* needs neither a GPU nor NVRTC */
  own.bind_threads = 0;
  MBI_TRY(merbit_context_create(&own, &context, error));
  mbi_cache_open(context, &own);
  status = mbi_pack_import(context, path);
  if (status != MERBIT_OK && error != NULL) {
    (void)merbit_last_error(context, error->message, sizeof error->message);
    error->status = status;
  }
  merbit_context_destroy(context);
  return status;
}
