#include "core/context.h"

/* Windows: paths, files and directories. Files are descriptors of the C library. */
#ifdef _WIN32
#define MBI_FILE_MOST ((size_t)1 << 30) /* the most bytes of one read or write */
#define MBI_NOT_REGULAR                                                                        \
  (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT | FILE_ATTRIBUTE_DEVICE)

/* ---- Paths ------------------------------------------------------------------------------- */

MBI_INTERNAL const char *mbi_user_cache(char *path, size_t size) {
  const char *base = mbi_environment("LOCALAPPDATA");
  if (base == NULL) {
    return "neither MERBIT_CACHE_DIR nor LOCALAPPDATA is set";
  }
  return (size_t)snprintf(path, size, "%s\\merbit\\cache", base) >= size
             ? "the directory's path is too long"
             : NULL;
}

/* ---- Reading ----------------------------------------------------------------------------- */

MBI_INTERNAL int mbi_file_open(const char *path, int *file, int64_t *size) {
  const DWORD attributes = GetFileAttributesA(path);
  struct _stat64 facts;
  *size = 0;
  if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) {
    return EISDIR;
  }
  *file = _open(path, _O_RDONLY | _O_BINARY | _O_NOINHERIT);
  if (*file < 0) {
    return errno;
  }
  if (_fstat64(*file, &facts) == 0 && (facts.st_mode & _S_IFMT) == _S_IFREG) {
    *size = facts.st_size;
  }
  return 0;
}

/* Opens a private file and lets others remove or replace it meanwhile. */
MBI_INTERNAL int mbi_private_open(const char *path, int *file, int64_t *size) {
  const DWORD shared = FILE_SHARE_READ | FILE_SHARE_DELETE;
  BY_HANDLE_FILE_INFORMATION facts;
  HANDLE handle = CreateFileA(path, GENERIC_READ | FILE_WRITE_ATTRIBUTES, shared, NULL,
                              OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT, NULL);
  if (handle == INVALID_HANDLE_VALUE) { /* perhaps a read-only medium */
    handle = CreateFileA(path, GENERIC_READ, shared, NULL, OPEN_EXISTING,
                         FILE_FLAG_OPEN_REPARSE_POINT, NULL);
  }
  if (handle == INVALID_HANDLE_VALUE) {
    return mbi_windows_error();
  }
  if (!GetFileInformationByHandle(handle, &facts) ||
      (facts.dwFileAttributes & MBI_NOT_REGULAR) != 0 || mbi_access_fault(path, 1) != NULL) {
    (void)CloseHandle(handle);
    return EINVAL;
  }
  *size = (int64_t)((uint64_t)facts.nFileSizeHigh << 32 | facts.nFileSizeLow);
  *file = _open_osfhandle((intptr_t)handle, _O_RDONLY | _O_BINARY);
  if (*file < 0) {
    (void)CloseHandle(handle);
    return EMFILE;
  }
  return 0;
}

MBI_INTERNAL int64_t mbi_file_read(void *user, void *data, size_t size) {
  return _read(*(const int *)user, data,
               (unsigned)(size < MBI_FILE_MOST ? size : MBI_FILE_MOST));
}

MBI_INTERNAL void mbi_file_touch(int file) {
  FILETIME now;
  GetSystemTimeAsFileTime(&now);
  (void)SetFileTime((HANDLE)_get_osfhandle(file), NULL, NULL, &now);
}

MBI_INTERNAL void mbi_file_close(int file) {
  (void)_close(file);
}

/* ---- Writing ----------------------------------------------------------------------------- */

/* Creates a file that does not exist yet. It inherits the directory's access control list. */
MBI_INTERNAL int mbi_file_create(const char *path, int private_file, int *file) {
  (void)private_file;
  *file = _open(path, _O_WRONLY | _O_CREAT | _O_EXCL | _O_BINARY | _O_NOINHERIT,
                _S_IREAD | _S_IWRITE);
  return *file < 0 ? errno : 0;
}

MBI_INTERNAL int mbi_file_append(int file, uint64_t *length, const void *data, size_t size) {
  size_t done = 0;
  while (done < size) {
    const size_t left = size - done;
    const int put = _write(file, (const char *)data + done,
                           (unsigned)(left < MBI_FILE_MOST ? left : MBI_FILE_MOST));
    if (put <= 0) {
      return put == 0 ? EIO : errno;
    }
    done += (size_t)put;
  }
  *length += size;
  return 0;
}

MBI_INTERNAL int mbi_file_end(int file, const char *path, const char *target, int error) {
  if (error == 0 && _commit(file) != 0) {
    error = errno;
  }
  if (_close(file) != 0 && error == 0) {
    error = errno;
  }
  if (error == 0 && !MoveFileExA(path, target, MOVEFILE_REPLACE_EXISTING)) {
    error = mbi_windows_error();
  }
  if (error != 0) {
    (void)_unlink(path);
  }
  return error;
}

MBI_INTERNAL int mbi_file_remove(const char *path) {
  return _unlink(path) == 0 || errno == ENOENT ? 0 : errno;
}

/* Finds the file that a write to `path` would change. Writes its path to `target`, with links
 * followed and forward slashes. *mode is always -1. It must be a regular file that the user may
 * write. Returns ENOTSUP for a device or a pipe. */
MBI_INTERNAL int mbi_file_target(const char *path, char *target, size_t size, int *mode) {
  DWORD attributes;
  int error = mbi_path_final(path, target, size);
  *mode = -1;
  if (error == ENOENT && path[0] != '\0') {
    error = (size_t)snprintf(target, size, "%s", path) >= size ? ENAMETOOLONG : 0;
  } else if (error == 0) {
    attributes = GetFileAttributesA(target);
    error = (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0  ? EISDIR
            : (attributes & FILE_ATTRIBUTE_READONLY) != 0 ? EACCES
                                                          : 0;
  }
  while (error == 0 && (target = strchr(target, '\\')) != NULL) {
    *target = '/';
  }
  return error;
}

MBI_INTERNAL int mbi_file_permit(int file, int mode) {
  (void)file, (void)mode;
  return 0;
}

/* ---- Directories ------------------------------------------------------------------------- */

MBI_INTERNAL int mbi_directory_open(mbi_directory *directory, const char *path) {
  char pattern[MBI_PATH_SIZE + 2];
  directory->error = 0;
  (void)snprintf(directory->path, sizeof directory->path, "%s", path);
  (void)snprintf(pattern, sizeof pattern, "%s/*", directory->path);
  directory->find = FindFirstFileA(pattern, &directory->next);
  directory->more = directory->find != INVALID_HANDLE_VALUE;
  return directory->more ? 0 : mbi_windows_error();
}

MBI_INTERNAL int mbi_directory_next(mbi_directory *directory, mbi_entry *entry) {
  while (directory->more) {
    const WIN32_FIND_DATAA next = directory->next;
    directory->more = FindNextFileA(directory->find, &directory->next);
    if (!directory->more && GetLastError() != ERROR_NO_MORE_FILES) {
      directory->error = mbi_windows_error();
    }
    if ((next.dwFileAttributes & MBI_NOT_REGULAR) == 0 &&
        strlen(next.cFileName) < sizeof entry->name) {
      (void)strcpy(entry->name, next.cFileName);
      entry->bytes = (int64_t)((uint64_t)next.nFileSizeHigh << 32 | next.nFileSizeLow);
      entry->written = mbi_time_of(next.ftLastWriteTime);
      return 1;
    }
  }
  return 0;
}

MBI_INTERNAL int mbi_directory_remove(mbi_directory *directory, const char *name) {
  char path[MBI_PATH_SIZE + sizeof(((mbi_entry *)0)->name)];
  (void)snprintf(path, sizeof path, "%s/%s", directory->path, name);
  return mbi_file_remove(path);
}

MBI_INTERNAL void mbi_directory_close(mbi_directory *directory) {
  (void)FindClose(directory->find);
}

/* Copies the text, because mbi_files_matching does not know patterns here. */
MBI_INTERNAL size_t mbi_pattern_of(const char *text, char *pattern, size_t size) {
  const size_t length = strlen(text);
  if (length >= size) {
    return size;
  }
  memcpy(pattern, text, length + 1);
  return length;
}

/* Calls `take` for the file at the path `pattern`, if it exists. Returns its result, or 0. */
MBI_INTERNAL int mbi_files_matching(const char *pattern,
                                    int (*take)(void *user, const char *path), void *user) {
  return GetFileAttributesA(pattern) != INVALID_FILE_ATTRIBUTES ? take(user, pattern) : 0;
}

#endif
