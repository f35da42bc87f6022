#include "core/context.h"

/* Linux and macOS: a check that other users cannot put files into a directory. */
#ifndef _WIN32

/* Returns why other users could put files into a directory, or NULL if only this user and root
 * can. A directory above the last one may be writable by others if it is sticky, because then
 * they can neither rename nor remove this user's files. A symbolic link must belong to this
 * user or root, because its owner chooses where it leads. */
static const char *mbi_directory_fault(const struct stat *facts, int last) {
  if (!S_ISDIR(facts->st_mode) && !S_ISLNK(facts->st_mode)) {
    return "is not a directory";
  }
  if (facts->st_uid != geteuid() && (last || facts->st_uid != 0)) {
    return "belongs to another user";
  }
  if (S_ISDIR(facts->st_mode) && (facts->st_mode & 022) != 0 &&
      (last || (facts->st_mode & S_ISVTX) == 0)) {
    return "is writable by others";
  }
  return NULL;
}

/* Replaces the symbolic link path[0..end) by its target. Returns 0 or an errno. */
MBI_INTERNAL int mbi_link_replace(char *path, size_t size, size_t end) {
  char target[MBI_LONG_PATH], rest[MBI_LONG_PATH];
  ssize_t length;
  (void)snprintf(rest, sizeof rest, "%s", path + end);
  path[end] = '\0';
  length = readlink(path, target, sizeof target);
  if (length < 0 || (size_t)length >= sizeof target) {
    return length < 0 ? errno : ENAMETOOLONG;
  }
  target[length] = '\0';
  while (target[0] != '/' && end > 0 && path[end - 1] != '/') {
    end--; /* a relative target replaces the link's name only */
  }
  end = target[0] == '/' ? 0 : end;
  length = snprintf(path + end, size - end, "%s%s", target, rest);
  return (size_t)length >= size - end ? ENAMETOOLONG : 0;
}

/* Examines path[0..end). Creates the directory if it is missing and `create` is set. */
static int mbi_directory_inspect(const char *path, size_t end, int create, struct stat *facts) {
  char part[MBI_PATH_SIZE];
  int error = 0;
  memcpy(part, path, end);
  part[end] = '\0';
  if (lstat(part, facts) == 0) {
    return 0;
  }
  if (errno != ENOENT || !create) {
    return errno;
  }
  if (mkdir(part, 0700) != 0) {
    error = errno;                     /* EEXIST if another process has just created it */
  } else if (chmod(part, 0700) != 0) { /* the umask may have removed too many bits */
    return errno;
  }
  if (lstat(part, facts) == 0) {
    return 0;
  }
  return error != 0 ? error : errno;
}

/* Checks the absolute `path`, a buffer of MBI_PATH_SIZE bytes, component by component, and
 * replaces symbolic links by their targets. If `create` is set, creates missing directories,
 * but none below a component that others control. Returns NULL if the directory is safe.
 * Otherwise cuts `path` after the component at fault and returns what is wrong with it; *error
 * is then an errno or 0. */
MBI_INTERNAL const char *mbi_directory_distrust(char *path, int create, int *error) {
  const char *fault = NULL;
  size_t end = 1;
  int links = 0, last = 0;
  *error = path[0] == '/' ? 0 : EINVAL;
  while (*error == 0 && fault == NULL && !last) {
    struct stat facts;
    *error = mbi_directory_inspect(path, end, create, &facts);
    if (*error != 0) {
      break;
    }
    last = path[end] == '\0' && S_ISDIR(facts.st_mode);
    fault = mbi_directory_fault(&facts, last);
    if (fault == NULL && S_ISLNK(facts.st_mode)) {
      *error = ++links > MBI_MAX_LINKS ? ELOOP : mbi_link_replace(path, MBI_PATH_SIZE, end);
      end = *error == 0 ? 1 : end; /* check the whole new path */
    } else if (fault == NULL && !last) {
      end += path[end] == '/';
      end += strcspn(path + end, "/");
    }
  }
  if (*error != 0 || fault != NULL) {
    path[end] = '\0';
  }
  return *error != 0 ? "cannot be created or examined" : fault;
}

/* Writes the absolute path without symbolic links. */
MBI_INTERNAL int mbi_directory_resolve(const char *path, char *resolved, size_t size) {
  char buffer[MBI_LONG_PATH];
  if (realpath(path, buffer) == NULL) {
    return errno;
  }
  if (strlen(buffer) >= size) {
    return ENAMETOOLONG;
  }
  memcpy(resolved, buffer, strlen(buffer) + 1);
  return 0;
}

#endif
