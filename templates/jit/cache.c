#include "core/context.h"
#include "jit/jit.h"

/* The cache of cubins on disk. Each compiled program has a file: head, full key, image. Any
 * number of processes may write at the same time without locks, because a file is written under
 * a temporary name and then renamed. An entry with any flaw counts as a miss and is removed.
 * Disk errors are counted and otherwise ignored. */
#define MBI_CACHE_MAGIC "merbit\r\n"
#define MBI_CACHE_MAX_BYTES ((int64_t)256 << 20)

static void mbi_cache_count(merbit_context *context, int64_t *counter) {
  mbi_mutex_lock(&context->lock);
  ++*counter;
  mbi_mutex_unlock(&context->lock);
}

MBI_NOINLINE static void mbi_cache_error(merbit_context *context, const char *verb,
                                         const char *path, int error) {
  mbi_cache_count(context, &context->cache.errors);
  mbi_log(context, "cubin cache: cannot %s %s: %s", verb, path, strerror(error));
}

static void mbi_cache_off(merbit_context *context, const char *reason) {
  context->cache.directory[0] = '\0';
  (void)snprintf(context->cache.off_reason, sizeof context->cache.off_reason, "%s", reason);
  mbi_log(context, "no cubin cache: %s", reason);
}

/* Finds the directory that the descriptor, the environment or the user's defaults ask for.
 * Writes it to `buffer` and returns it, or turns the cache off and returns NULL. */
static const char *mbi_cache_wish(merbit_context *context, const merbit_context_desc *desc,
                                  char *buffer, size_t size) {
  const char *explicit_path = desc->cache_dir;
  const char *fault;
  if (explicit_path == NULL) {
    explicit_path = mbi_environment("MERBIT_CACHE_DIR");
  }
  if (explicit_path != NULL && explicit_path[0] == '\0') {
    mbi_cache_off(context, "context_desc.cache_dir is empty");
    return NULL;
  }
  if (explicit_path != NULL) {
    fault = (size_t)snprintf(buffer, size, "%s", explicit_path) < size
                ? NULL
                : "the directory's path is too long";
  } else {
    fault = mbi_user_cache(buffer, size);
  }
  if (fault != NULL) {
    mbi_cache_off(context, fault);
    return NULL;
  }
  return buffer;
}

/* Chooses, creates and checks the cache's directory. Never fails: without a usable directory
 * there is no disk cache. */
MBI_INTERNAL void mbi_cache_open(merbit_context *context, const merbit_context_desc *desc) {
  mbi_cache *cache = &context->cache;
  char wish[MBI_PATH_SIZE], path[MBI_PATH_SIZE], reason[sizeof cache->off_reason];
  const char *fault;
  int error;
  cache->max_bytes = desc->cache_max_bytes > 0 ? desc->cache_max_bytes : MBI_CACHE_MAX_BYTES;
  cache->off_reason[0] = '\0';
  if (mbi_cache_wish(context, desc, wish, sizeof wish) == NULL) {
    return;
  }
  error = mbi_path_absolute(wish, path, sizeof path);
  fault = error == 0 ? mbi_directory_distrust(path, 1, &error) : "has no usable absolute path";
  if (fault == NULL) {
    error = mbi_directory_resolve(path, cache->directory, sizeof cache->directory);
    fault = error == 0 ? NULL : "cannot be resolved";
  }
  if (fault != NULL) {
    (void)snprintf(reason, sizeof reason, "%.160s %s%s%.60s", path, fault,
                   error != 0 ? ": " : "", error != 0 ? strerror(error) : "");
    mbi_cache_off(context, reason);
    return;
  }
  mbi_log(context, "cubin cache: %s", cache->directory);
}

/* Returns whether the directory is still safe. Since it was opened, others may have gained
 * access to it or replaced it. */
static int mbi_cache_safe(merbit_context *context) {
  char path[MBI_PATH_SIZE];
  const char *fault;
  int error;
  (void)snprintf(path, sizeof path, "%s", context->cache.directory);
  fault = mbi_directory_distrust(path, 0, &error);
  if (fault != NULL) {
    mbi_cache_count(context, &context->cache.errors);
    mbi_log(context, "cubin cache: %s %s%s%s", path, fault, error != 0 ? ": " : "",
            error != 0 ? strerror(error) : "");
  }
  return fault == NULL;
}

/* Writes an entry's file name, which is a hash of the key. */
static void mbi_cache_name(const char *key, size_t key_size, char *name, size_t size) {
  char text[MBI_HASH_TEXT];
  mbi_hash_text(mbi_hash_add(mbi_hash_start(), key, key_size), text);
  (void)snprintf(name, size, "%s" MBI_CACHE_SUFFIX, text);
}

MBI_INTERNAL void mbi_cache_path(const merbit_context *context, const char *key,
                                 size_t key_size, char *path, size_t size) {
  char name[64];
  mbi_cache_name(key, key_size, name, sizeof name);
  (void)snprintf(path, size, "%s/%s", context->cache.directory, name);
}

MBI_INTERNAL mbi_cache_head mbi_cache_seal(const char *key, size_t key_size, const void *image,
                                           size_t size) {
  mbi_cache_head head;
  memset(&head, 0, sizeof head);
  memcpy(head.magic, MBI_CACHE_MAGIC, sizeof head.magic);
  head.format = MBI_CACHE_FORMAT;
  head.key_size = key_size;
  head.image_size = size;
  head.checksum = mbi_hash_add(mbi_hash_start(), &head, offsetof(mbi_cache_head, checksum));
  head.checksum = mbi_hash_add(head.checksum, key, key_size);
  head.checksum = mbi_hash_add(head.checksum, image, size);
  return head;
}

/* Returns whether `entry` is exactly what mbi_cache_store would write for this key. */
MBI_INTERNAL int mbi_cache_valid(const char *entry, size_t size, const char *key,
                                 size_t key_size) {
  const size_t image_at = sizeof(mbi_cache_head) + key_size;
  mbi_cache_head head;
  if (size <= image_at || memcmp(entry + sizeof head, key, key_size) != 0) {
    return 0;
  }
  head = mbi_cache_seal(key, key_size, entry + image_at, size - image_at);
  return memcmp(entry, &head, sizeof head) == 0;
}

/* Removes the entry of a key, which is damaged or whose image the driver refuses. */
MBI_INTERNAL void mbi_cache_drop(merbit_context *context, const char *key, size_t key_size) {
  char path[MBI_PATH_SIZE];
  int error;
  if (context->cache.directory[0] == '\0') {
    return;
  }
  mbi_cache_path(context, key, key_size, path, sizeof path);
  error = mbi_file_remove(path);
  if (error != 0) {
    mbi_cache_error(context, "remove", path, error);
  }
}

/* Returns whether the error of mbi_private_read means that a file can be no entry: it is too
 * large, no regular file, or open to others. */
MBI_INTERNAL int mbi_cache_flawed(int error) {
  return error == EFBIG || error == EINVAL || error == ELOOP || error == ENXIO;
}

/* Finds a key's image. Returns 1 and the image, which the caller releases, or 0. */
MBI_INTERNAL int mbi_cache_load(merbit_context *context, const char *key, size_t key_size,
                                void **image, size_t *size) {
  const size_t image_at = sizeof(mbi_cache_head) + key_size;
  char path[MBI_PATH_SIZE];
  int error;
  *image = NULL;
  *size = 0;
  if (context->cache.directory[0] == '\0') {
    return 0;
  }
  if (!mbi_cache_safe(context)) {
    mbi_cache_count(context, &context->cache.misses);
    return 0;
  }
  mbi_cache_path(context, key, key_size, path, sizeof path);
  error = mbi_private_read(context, path, MBI_CACHE_LARGEST, 1, image, size);
  if (error == 0 && mbi_cache_valid((const char *)*image, *size, key, key_size)) {
    *size -= image_at;
    memmove(*image, (const char *)*image + image_at, *size);
    mbi_cache_count(context, &context->cache.hits);
    return 1;
  }
  mbi_release(context, *image);
  *image = NULL;
  *size = 0;
  mbi_cache_count(context, &context->cache.misses);
  if (error != 0 && error != ENOENT) {
    mbi_cache_error(context, "read", path, error);
  } else if (error == 0) {
    mbi_cache_error(context, "trust the contents of", path, EINVAL);
  }
  if (error == 0 || mbi_cache_flawed(error)) {
    mbi_cache_drop(context, key, key_size); /* damaged, or no regular file */
  }
  return 0;
}

MBI_NOINLINE MBI_INTERNAL void mbi_cache_store(merbit_context *context, const char *key,
                                               size_t key_size, const void *image,
                                               size_t size) {
  const mbi_cache *cache = &context->cache;
  mbi_cache_head head;
  mbi_piece pieces[3];
  char name[64];
  int error;
  if (cache->directory[0] == '\0' || size == 0 ||
      (uint64_t)size + key_size + sizeof head > (uint64_t)cache->max_bytes ||
      (uint64_t)size + key_size + sizeof head > MBI_CACHE_LARGEST || !mbi_cache_safe(context)) {
    return;
  }
  head = mbi_cache_seal(key, key_size, image, size);
  pieces[0].data = &head;
  pieces[0].size = sizeof head;
  pieces[1].data = key;
  pieces[1].size = key_size;
  pieces[2].data = image;
  pieces[2].size = size;
  mbi_cache_name(key, key_size, name, sizeof name);
  error = mbi_private_write(cache->directory, name, pieces, 3);
  if (error != 0) {
    mbi_cache_error(context, "write", name, error);
  }
  error = mbi_directory_trim(context, cache->directory, MBI_CACHE_SUFFIX, cache->max_bytes);
  if (error != 0) {
    mbi_cache_error(context, "tidy", cache->directory, error);
  }
}
