#include "core/context.h"

/* Files named by the user, each replaced in one step once its new contents are complete.
 * Functions return 0 or an errno unless stated otherwise. */

/* Fails unless the user's argument `path` names a file. */
MBI_INTERNAL merbit_status mbi_path_check(merbit_context *context, const char *path) {
  return path != NULL && path[0] != '\0' ? MERBIT_OK
                                         : mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                                                    "the argument `path` is %s; name a file",
                                                    path == NULL ? "NULL" : "empty");
}

/* Writes to the mbi_replacement `user`, as a merbit_write_callback. If it returns nonzero,
 * errno is set. */
MBI_INTERNAL int mbi_replacement_write(void *user, const void *data, size_t size) {
  mbi_replacement *r = (mbi_replacement *)user;
  errno = mbi_file_append(r->file, &r->length, data, size);
  return errno != 0 ? -1 : 0;
}

/* Creates the temporary file in the target's directory, under a short name, because the
 * target's may be as long as names can be. A private file is readable by this user alone;
 * another one has the target's permissions if the target exists and its file system knows
 * permissions, and at no time more. The target must be a regular file that the user may write.
 * Returns ENOTSUP for a device or a pipe. */
MBI_INTERNAL int mbi_replacement_begin(mbi_replacement *r, const char *path, int private_file) {
  size_t folder; /* length of the target's path up to its name */
  int attempt, mode = -1, error = mbi_file_target(path, r->target, sizeof r->target, &mode);
  if (error != 0) {
    return error;
  }
  r->length = 0;
  folder = strlen(r->target);
  while (folder > 0 && strchr(MBI_SEPARATORS, r->target[folder - 1]) == NULL) {
    folder--;
  }
  error = EEXIST;
  for (attempt = 0; attempt < 16 && error == EEXIST; attempt++) {
    if ((size_t)snprintf(
            r->temporary, sizeof r->temporary, "%.*s" MBI_TEMPORARY "%lx-%lx-%p.tmp",
            (int)folder, r->target, (unsigned long)mbi_process_id(),
            (unsigned long)(mbi_now() % 1000000000), (void *)r) >= sizeof r->temporary) {
      return ENAMETOOLONG;
    }
    error = mbi_file_create(r->temporary, private_file || mode >= 0, &r->file);
  }
  if (error == 0 && private_file) {
    error = mbi_file_permit(r->file, MBI_PRIVATE_MODE);
    return error == 0 ? 0 : mbi_file_end(r->file, r->temporary, r->target, error);
  }
  if (error == 0 && mode >= 0) {
    (void)mbi_file_permit(r->file, mode);
  }
  return error;
}

/* Closes the temporary file and renames it to the target. If `error` is not 0 or something
 * fails, removes it instead. Returns `error`, or the errno of the failure. */
MBI_INTERNAL int mbi_replacement_end(mbi_replacement *r, int error) {
  return mbi_file_end(r->file, r->temporary, r->target, error);
}
