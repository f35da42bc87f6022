/* Any file under the name of a cache entry: a hit exactly if it is a complete entry of the key,
 * else a miss that removes it. The first byte selects the raw input, or an entry that the
 * library has stored, under its key or another one, edited by the rest of the input.
 * MERBIT_CACHE_DIR is the directory. */
#ifndef TEST_FUZZ_TARGET_CACHE_H
#define TEST_FUZZ_TARGET_CACHE_H
#include "fuzz/fuzz.h"

enum { KEYS = 4, ROOM = 8192 };

static const char *const keys[KEYS] = {"k", "key", "key2",
                                       "a longer key\nwith lines\n and more of them\n"};
static const size_t image_sizes[KEYS] = {1, 63, 64, 1000};

typedef struct entry {
  uint8_t data[ROOM];
  size_t size;
} entry;

static merbit_context *cache_context(void) {
  merbit_context *context = fuzz_context();
  if (context->cache.directory[0] == '\0') {
    merbit_context_desc desc;
    memset(&desc, 0, sizeof desc);
    mbi_cache_open(context, &desc); /* only contexts on a GPU do this */
    REQUIRE(context->cache.directory[0] != '\0');
  }
  return context;
}

static void path_of(int key, char *path, size_t size) {
  mbi_cache_path(cache_context(), keys[key], strlen(keys[key]), path, size);
}

static void put_file(int key, const entry *e) {
  char path[MBI_PATH_SIZE];
  int file;
  path_of(key, path, sizeof path);
  file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  REQUIRE(file >= 0);
  REQUIRE(write(file, e->data, e->size) == (ssize_t)e->size);
  REQUIRE(close(file) == 0);
}

/* 128-bit FNV-1a by its definition. */
static unsigned __int128 fnv(unsigned __int128 hash, const void *data, size_t size) {
  const unsigned __int128 prime = ((unsigned __int128)1 << 88) + 0x13b;
  const uint8_t *bytes = (const uint8_t *)data;
  size_t i;
  for (i = 0; i < size; i++) {
    hash = (hash ^ bytes[i]) * prime;
  }
  return hash;
}

/* Returns whether a file is an entry of this key, by the format described in jit/cache.c. */
static int is_entry(int key, const entry *e) {
  const size_t key_size = strlen(keys[key]);
  unsigned __int128 hash =
      (unsigned __int128)UINT64_C(0x6c62272e07bb0142) << 64 | UINT64_C(0x62b821756295c58d);
  uint64_t fields[3], sums[2];
  if (e->size <= 48 + key_size || memcmp(e->data, "merbit\r\n", 8) != 0 ||
      memcmp(e->data + 48, keys[key], key_size) != 0) {
    return 0;
  }
  memcpy(fields, e->data + 8, sizeof fields);
  memcpy(sums, e->data + 32, sizeof sums);
  hash = fnv(hash, e->data, 32);
  hash = fnv(hash, e->data + 48, e->size - 48);
  return fields[0] == 1 && fields[1] == key_size && fields[2] == e->size - 48 - key_size &&
         sums[0] == (uint64_t)(hash >> 64) && sums[1] == (uint64_t)hash;
}

/* Returns the entry that the library stores for each key, as written to disk. */
static const entry *stored(int key) {
  static entry entries[KEYS];
  entry *e = &entries[key];
  if (e->size == 0) {
    char path[MBI_PATH_SIZE];
    uint8_t image[1000];
    ssize_t got;
    size_t i;
    int file;
    for (i = 0; i < sizeof image; i++) {
      image[i] = (uint8_t)(i * 7 + (size_t)key);
    }
    mbi_cache_store(cache_context(), keys[key], strlen(keys[key]), image, image_sizes[key]);
    path_of(key, path, sizeof path);
    file = open(path, O_RDONLY);
    REQUIRE(file >= 0);
    got = read(file, e->data, sizeof e->data);
    REQUIRE(got > (ssize_t)image_sizes[key]);
    e->size = (size_t)got;
    REQUIRE(memcmp(e->data + e->size - image_sizes[key], image, image_sizes[key]) == 0);
    REQUIRE(is_entry(key, e));
    (void)close(file);
  }
  return e;
}

static void edit(fuzz_input *in, entry *e) {
  while (in->at < in->end && e->size > 0) {
    const int64_t kind = fuzz_bytes(in, 1);
    const size_t at = (size_t)fuzz_bytes(in, 2) % e->size;
    if (kind % 4 == 0) {
      e->data[at] ^= (uint8_t)fuzz_bytes(in, 1);
    } else if (kind % 4 == 1) {
      const int64_t number = fuzz_bytes(in, 8); /* a field of the header */
      memcpy(e->data + at / 8 * 8 % 48, &number, sizeof number);
    } else if (kind % 4 == 2) {
      e->size = at;
    } else if (e->size < ROOM - 256) {
      const size_t more = (size_t)fuzz_bytes(in, 1);
      memmove(e->data + at + more, e->data + at, e->size - at);
      e->size += more;
    }
  }
}

static void require_answer(int key, const entry *e) {
  merbit_context *context = cache_context();
  const size_t key_size = strlen(keys[key]);
  char path[MBI_PATH_SIZE];
  void *image;
  size_t size;
  const int hit = mbi_cache_load(context, keys[key], key_size, &image, &size);
  REQUIRE(hit == is_entry(key, e));
  REQUIRE((image != NULL) == hit);
  if (hit) {
    REQUIRE(size == e->size - 48 - key_size);
    REQUIRE(memcmp(image, e->data + 48 + key_size, size) == 0);
    mbi_release(context, image);
  } else {
    path_of(key, path, sizeof path);
    REQUIRE(access(path, F_OK) != 0);
  }
}

static void fuzz_cache(const uint8_t *data, size_t size) {
  static entry e;
  fuzz_input in;
  int mode, key, other;
  in.at = data;
  in.end = data + size;
  mode = (int)fuzz_bytes(&in, 1);
  key = mode >> 1 & 3;
  other = mode >> 3 & 3; /* another key's entry may be there */
  if (mode & 1) {
    e = *stored(other);
    edit(&in, &e);
  } else {
    e.size = (size_t)(in.end - in.at) < ROOM ? (size_t)(in.end - in.at) : ROOM;
    memcpy(e.data, in.at, e.size);
  }
  put_file(key, &e);
  require_answer(key, &e);
}

#endif /* TEST_FUZZ_TARGET_CACHE_H */
