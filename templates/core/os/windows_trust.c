#include "core/context.h"

/* Windows: a check that other users cannot put files into a directory, by the owners and access
 * control lists on its path. Administrators and services are trusted, like root elsewhere. */
#ifdef _WIN32
#ifdef _MSC_VER
#pragma comment(lib, "advapi32")
#endif

#define MBI_RIGHTS_REPLACE                                                                     \
  (DELETE | WRITE_DAC | WRITE_OWNER | FILE_DELETE_CHILD | FILE_WRITE_ATTRIBUTES |              \
   GENERIC_WRITE | GENERIC_ALL)
#define MBI_RIGHTS_WRITE (MBI_RIGHTS_REPLACE | FILE_WRITE_DATA | FILE_APPEND_DATA)

/* Returns whether a security identifier is this user's, the system's, a service's or the
 * administrators'. "Owner rights" are also trusted, because the owner is checked separately. */
static int mbi_sid_trusted(PSID sid, PSID user) {
  return EqualSid(sid, user) || IsWellKnownSid(sid, WinLocalSystemSid) ||
         IsWellKnownSid(sid, WinBuiltinAdministratorsSid) ||
         IsWellKnownSid(sid, WinCreatorOwnerRightsSid) ||
         (GetSidIdentifierAuthority(sid)->Value[5] == 5 &&
          *GetSidSubAuthority(sid, 0) == SECURITY_SERVICE_ID_BASE_RID);
}

/* Returns why others could write to a file or directory, or NULL if they cannot. Unless it is
 * the `last` component of a path, others may create files in it, but not replace any. */
MBI_INTERNAL const char *mbi_access_fault(const char *path, int last) {
  const DWORD rights = last ? MBI_RIGHTS_WRITE : MBI_RIGHTS_REPLACE;
  union {
    TOKEN_USER user;
    char bytes[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
  } own;
  PSECURITY_DESCRIPTOR descriptor = NULL;
  PSID owner = NULL;
  PACL list = NULL;
  HANDLE token = NULL;
  DWORD length, i;
  const char *fault = "cannot be examined";
  if (OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token) &&
      GetTokenInformation(token, TokenUser, &own, sizeof own, &length) &&
      GetNamedSecurityInfoA((char *)path, SE_FILE_OBJECT,
                            OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION, &owner,
                            NULL, &list, NULL, &descriptor) == ERROR_SUCCESS) {
    fault = owner == NULL || !mbi_sid_trusted(owner, own.user.User.Sid)
                ? "belongs to another user"
            : list == NULL ? "is writable by others"
                           : NULL;
    for (i = 0; fault == NULL && i < list->AceCount; i++) {
      ACCESS_ALLOWED_ACE *entry = NULL; /* callback entries begin alike */
      if (!GetAce(list, i, (void **)&entry) ||
          (entry->Header.AceType != ACCESS_DENIED_ACE_TYPE &&
           (entry->Header.AceFlags & INHERIT_ONLY_ACE) == 0 && (entry->Mask & rights) != 0 &&
           !mbi_sid_trusted((PSID)&entry->SidStart, own.user.User.Sid))) {
        fault = "is writable by others";
      }
    }
  }
  if (token != NULL) {
    (void)CloseHandle(token);
  }
  (void)LocalFree(descriptor);
  return fault;
}

/* Writes the path of an existing file or directory, with links followed. Returns ENOTSUP for a
 * device or a pipe. */
MBI_INTERNAL int mbi_path_final(const char *path, char *final, size_t size) {
  char buffer[MBI_PATH_SIZE];
  const HANDLE file =
      CreateFileA(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                  OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
  DWORD length;
  int error;
  if (file == INVALID_HANDLE_VALUE) {
    return mbi_windows_error();
  }
  length = GetFileType(file) == FILE_TYPE_DISK
               ? GetFinalPathNameByHandleA(file, buffer, sizeof buffer, 0)
               : 0;
  error = length == 0 ? ENOTSUP : length >= sizeof buffer ? ENAMETOOLONG : 0;
  (void)CloseHandle(file);
  if (error == 0) { /* drop the prefix \\?\ or \\?\UNC */
    const int network = strncmp(buffer, "\\\\?\\UNC", 7) == 0;
    const char *rest = buffer + (network ? 7 : strncmp(buffer, "\\\\?\\", 4) == 0 ? 4 : 0);
    error = (size_t)snprintf(final, size, "%s%s", network ? "\\" : "", rest) >= size
                ? ENAMETOOLONG
                : 0;
  }
  return error;
}

/* Replaces the absolute `path`, a buffer of MBI_PATH_SIZE bytes, by the directory's final path,
 * and checks every directory on it. If `create` is set, creates missing ones. Returns NULL if
 * the directory is safe. Otherwise cuts `path` after the component at fault and returns what is
 * wrong with it; *error is then an errno or 0. */
MBI_INTERNAL const char *mbi_directory_distrust(char *path, int create, int *error) {
  const char *fault = NULL;
  char final[MBI_PATH_SIZE];
  size_t end;
  int more;
  *error = mbi_path_is_absolute(path) ? 0 : EINVAL;
  for (end = 3, more = create && *error == 0; more; end++) {
    const char old = path[end];
    more = old != '\0';
    if (old == '\0' || old == '\\' || old == '/') {
      path[end] = '\0';
      (void)CreateDirectoryA(path, NULL);
      path[end] = old;
    }
  }
  if (*error == 0) {
    *error = mbi_path_final(path, final, sizeof final);
  }
  if (*error != 0) {
    return "cannot be created or examined";
  }
  (void)strcpy(path, final);
  if (!mbi_path_is_absolute(path)) {
    return "is not on a drive";
  }
  if ((GetFileAttributesA(path) & FILE_ATTRIBUTE_DIRECTORY) == 0) {
    return "is not a directory";
  }
  for (end = 3, more = 1; fault == NULL && more; end++) {
    const char old = path[end];
    more = old != '\0';
    if (end == 3 || old == '\0' || old == '\\') {
      path[end] = '\0';
      fault = mbi_access_fault(path, !more);
      path[end] = fault == NULL ? old : '\0';
    }
  }
  return fault;
}

/* Copies a path, which mbi_directory_distrust has already made final. */
MBI_INTERNAL int mbi_directory_resolve(const char *path, char *resolved, size_t size) {
  return (size_t)snprintf(resolved, size, "%s", path) >= size ? ENAMETOOLONG : 0;
}

#endif
