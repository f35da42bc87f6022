#include "core/context.h"

/* Private files: the cubin cache and dumps. Functions return 0 or an errno. */

#define MBI_COUNTED_BYTES ((int64_t)1 << 40)

/* Reads a whole regular file that belongs to this user and that others cannot write. If `used`,
 * also sets its time, by which mbi_directory_trim sees that it was used. Returns EFBIG if it
 * exceeds `limit` bytes, and EINVAL if it is another kind of file or shrank while it was
 * read. */
MBI_INTERNAL int mbi_private_read(merbit_context *context, const char *path, uint64_t limit,
                                  int used, void **data, size_t *size) {
  int64_t bytes = 0;
  size_t done = 0;
  int file = -1, error;
  *data = NULL;
  *size = 0;
  error = mbi_private_open(path, &file, &bytes);
  if (error != 0) {
    return error;
  }
  if (bytes < 0 || (uint64_t)bytes > limit) {
    error = bytes < 0 ? EINVAL : EFBIG;
  } else if ((*data = mbi_allocate(context, (size_t)bytes)) == NULL) {
    error = ENOMEM;
  }
  while (error == 0 && done < (size_t)bytes) {
    const int64_t got = mbi_file_read(&file, (char *)*data + done, (size_t)bytes - done);
    if (got > 0) {
      done += (size_t)got;
    } else {
      error = got == 0 ? EINVAL : errno;
    }
  }
  if (error == 0) {
    *size = done;
    if (used) {
      mbi_file_touch(file);
    }
  } else {
    mbi_release(context, *data);
    *data = NULL;
  }
  mbi_file_close(file);
  return error;
}

/* Creates a new private file in `directory` under an unpredictable name and writes its path to
 * `path`. */
MBI_INTERNAL int mbi_temporary_create(const char *directory, char *path, size_t size,
                                      int *file) {
  int attempt, error = EEXIST;
  for (attempt = 0; attempt < 16 && error == EEXIST; attempt++) {
    const int64_t now = mbi_now();
    const mbi_process process = mbi_process_id();
    mbi_hash hash = mbi_hash_start();
    hash = mbi_hash_add(hash, &now, sizeof now);
    hash = mbi_hash_add(hash, &process, sizeof process);
    hash = mbi_hash_add(hash, &path, sizeof path); /* an address of this thread's stack */
    hash = mbi_hash_add(hash, &attempt, sizeof attempt);
    if ((size_t)snprintf(path, size, "%s/" MBI_TEMPORARY "%016" PRIx64, directory,
                         hash.high ^ hash.low) >= size) {
      return ENAMETOOLONG;
    }
    error = mbi_file_create(path, 1, file);
  }
  if (error == 0) {
    error = mbi_file_permit(*file, MBI_PRIVATE_MODE);
    return error == 0 ? 0 : mbi_file_end(*file, path, path, error);
  }
  return error;
}

/* Writes the pieces to `directory`/`name`. The file appears complete or not at all, even if
 * other processes write the same one. */
MBI_INTERNAL int mbi_private_write(const char *directory, const char *name,
                                   const mbi_piece *pieces, int count) {
  char temporary[MBI_PATH_SIZE], path[MBI_PATH_SIZE];
  uint64_t length = 0;
  int file = -1, error, i;
  if ((size_t)snprintf(path, sizeof path, "%s/%s", directory, name) >= sizeof path) {
    return ENAMETOOLONG;
  }
  error = mbi_temporary_create(directory, temporary, sizeof temporary, &file);
  if (error != 0) {
    return error;
  }
  for (i = 0; i < count && error == 0; i++) {
    error = mbi_file_append(file, &length, pieces[i].data, pieces[i].size);
  }
  return mbi_file_end(file, temporary, path, error);
}

/* ---- Limiting a directory's size --------------------------------------------------------- */

static int mbi_entry_compare(const void *left, const void *right) {
  const mbi_entry *a = (const mbi_entry *)left, *b = (const mbi_entry *)right;
  if (a->written != b->written) {
    return a->written < b->written ? -1 : 1;
  }
  return strcmp(a->name, b->name);
}

/* Grows the list if it has no space for one more file. */
static int mbi_entries_grow(merbit_context *context, mbi_entry **files, size_t count,
                            size_t *capacity) {
  const size_t more = *capacity > 0 ? 2 * *capacity : 256;
  mbi_entry *grown;
  if (count < *capacity) {
    return 0;
  }
  grown = (mbi_entry *)mbi_allocate(context, more * sizeof *grown);
  if (grown == NULL) {
    return ENOMEM;
  }
  if (count > 0) {
    memcpy(grown, *files, count * sizeof *grown);
  }
  mbi_release(context, *files);
  *files = grown;
  *capacity = more;
  return 0;
}

/* Lists the regular files whose names end with `suffix`, and removes left-over temporary files.
 * A time in the future counts as the oldest: else a wrong clock would keep the file forever. */
MBI_INTERNAL int mbi_directory_list(merbit_context *context, mbi_directory *directory,
                                    const char *suffix, mbi_entry **files, size_t *count) {
  const int64_t now = mbi_now(), span = MBI_TEMPORARY_SECONDS * INT64_C(1000000000);
  const size_t tail = strlen(suffix);
  size_t capacity = 0;
  mbi_entry entry;
  int error = 0;
  while (error == 0 && mbi_directory_next(directory, &entry)) {
    const size_t length = strlen(entry.name);
    const int future = entry.written > now + span;
    if (strncmp(entry.name, MBI_TEMPORARY, sizeof(MBI_TEMPORARY) - 1) == 0) {
      if (future || entry.written < now - span) {
        (void)mbi_directory_remove(directory, entry.name);
      }
    } else if (length > tail && strcmp(entry.name + length - tail, suffix) == 0) {
      error = mbi_entries_grow(context, files, *count, &capacity);
      if (error == 0) {
        entry.written = future ? 0 : entry.written;
        entry.bytes = entry.bytes < MBI_COUNTED_BYTES ? entry.bytes : MBI_COUNTED_BYTES;
        (*files)[(*count)++] = entry;
      }
    }
  }
  return error;
}

/* Removes the least recently used files whose names end with `suffix` until the others have at
 * most `cap` bytes together. Also removes temporary files of dead writers. Other processes may
 * do the same at the same time. */
MBI_INTERNAL int mbi_directory_trim(merbit_context *context, const char *path,
                                    const char *suffix, int64_t cap) {
  mbi_directory directory;
  mbi_entry *files = NULL;
  size_t count = 0, i;
  int64_t total = 0;
  int error = mbi_directory_open(&directory, path);
  if (error != 0) {
    return error;
  }
  error = mbi_directory_list(context, &directory, suffix, &files, &count);
  for (i = 0; i < count; i++) {
    total += files[i].bytes;
  }
  if (total > cap) {
    qsort(files, count, sizeof *files, mbi_entry_compare);
  }
  for (i = 0; i < count && total > cap; i++) {
    const int failed = mbi_directory_remove(&directory, files[i].name);
    error = failed != 0 ? failed : error;
    total -= files[i].bytes;
  }
  mbi_directory_close(&directory);
  mbi_release(context, files);
  return error;
}
