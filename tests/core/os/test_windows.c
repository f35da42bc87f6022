/* Files and directories on Windows: who has access to a directory, links, what replaces
 * what. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <direct.h>
#include "support/cpu.h"

static char folder[MAX_PATH];

static const char *in_folder(const char *name) {
  static char path[MBI_PATH_SIZE];
  (void)snprintf(path, sizeof path, "%s\\%s", folder, name);
  return path;
}

static int set_up(void **state) {
  static int count;
  (void)state;
  (void)snprintf(folder, sizeof folder, "%s\\merbit-%lx-%d", getenv("LOCALAPPDATA"),
                 (unsigned long)GetCurrentProcessId(), count++);
  return _mkdir(folder);
}

static int tear_down(void **state) {
  (void)state;
  return _rmdir(folder);
}

static void put(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static void expect_file(const char *path, const char *text) {
  char found[64] = "";
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  (void)fread(found, 1, sizeof found - 1, file);
  assert_int_equal(fclose(file), 0);
  assert_string_equal(found, text);
}

/* Grants everyone `rights`, besides all rights to this user. */
static void open_to_everyone(const char *path, DWORD rights) {
  SID_IDENTIFIER_AUTHORITY world = SECURITY_WORLD_SID_AUTHORITY;
  EXPLICIT_ACCESSA access[2];
  union {
    TOKEN_USER user;
    char bytes[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
  } own;
  HANDLE token;
  DWORD length;
  PSID everyone;
  PACL list;
  assert_true(OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token));
  assert_true(GetTokenInformation(token, TokenUser, &own, sizeof own, &length));
  assert_true(AllocateAndInitializeSid(&world, 1, 0, 0, 0, 0, 0, 0, 0, 0, &everyone));
  memset(access, 0, sizeof access);
  access[0].grfAccessPermissions = rights;
  access[1].grfAccessPermissions = GENERIC_ALL;
  access[0].grfAccessMode = access[1].grfAccessMode = SET_ACCESS;
  BuildTrusteeWithSidA(&access[0].Trustee, everyone);
  BuildTrusteeWithSidA(&access[1].Trustee, own.user.User.Sid);
  assert_int_equal(SetEntriesInAclA(2, access, NULL, &list), ERROR_SUCCESS);
  assert_int_equal(SetNamedSecurityInfoA((char *)path, SE_FILE_OBJECT,
                                         DACL_SECURITY_INFORMATION, NULL, NULL, list, NULL),
                   ERROR_SUCCESS);
  (void)LocalFree(list);
  (void)FreeSid(everyone);
  (void)CloseHandle(token);
}

static void directories_open_to_others(void **state) {
  char path[MBI_PATH_SIZE], other[MBI_PATH_SIZE];
  int error;
  (void)state;
  (void)snprintf(path, sizeof path, "%s", in_folder("a/b"));
  assert_string_equal(mbi_directory_distrust(path, 0, &error), "cannot be created or examined");
  assert_int_equal(error, ENOENT);
  assert_null(mbi_directory_distrust(path, 1, &error));
  assert_string_equal(path, in_folder("a\\b"));
  assert_null(mbi_directory_distrust(path, 0, &error));
  open_to_everyone(path, GENERIC_READ);
  assert_null(mbi_directory_distrust(path, 0, &error));
  open_to_everyone(path, GENERIC_READ | GENERIC_WRITE);
  assert_string_equal(mbi_directory_distrust(path, 0, &error), "is writable by others");
  assert_int_equal(error, 0);
  open_to_everyone(path, GENERIC_READ);
  /* Others may neither remove nor rename anything below a directory on the way. */
  (void)snprintf(other, sizeof other, "%s", in_folder("a"));
  open_to_everyone(other, GENERIC_ALL);
  assert_string_equal(mbi_directory_distrust(path, 0, &error), "is writable by others");
  assert_string_equal(path, other);
  open_to_everyone(other, GENERIC_READ);
  (void)snprintf(path, sizeof path, "%s", in_folder("a\\file"));
  put(path, "text");
  assert_string_equal(mbi_directory_distrust(path, 0, &error), "is not a directory");
  (void)snprintf(path, sizeof path, "relative");
  assert_string_equal(mbi_directory_distrust(path, 1, &error), "cannot be created or examined");
  assert_int_equal(error, EINVAL);
  assert_int_equal(_unlink(in_folder("a\\file")), 0);
  assert_int_equal(_rmdir(in_folder("a\\b")), 0);
  assert_int_equal(_rmdir(in_folder("a")), 0);
}

/* For the library, grants everyone only `rights` on `path`; all other paths have the system's
 * access control lists. Wine keeps no more of a list than Unix permissions. */
static struct {
  char path[MBI_PATH_SIZE];
  DWORD rights;
  union {
    ACL list;
    char bytes[256];
  } room;
} granted;

typedef DWORD(WINAPI *security_getter)(const char *, SE_OBJECT_TYPE, SECURITY_INFORMATION,
                                       PSID *, PSID *, PACL *, PACL *, PSECURITY_DESCRIPTOR *);

static DWORD WINAPI named_security(const char *path, SE_OBJECT_TYPE type,
                                   SECURITY_INFORMATION what, PSID *owner, PSID *group,
                                   PACL *list, PACL *audit, PSECURITY_DESCRIPTOR *descriptor) {
  char everyone[SECURITY_MAX_SID_SIZE];
  DWORD size = sizeof everyone, result;
  security_getter system;
  FARPROC address = GetProcAddress(GetModuleHandleA("advapi32.dll"), "GetNamedSecurityInfoA");
  memcpy(&system, &address, sizeof system);
  result = system(path, type, what, owner, group, list, audit, descriptor);
  if (result == ERROR_SUCCESS && strcmp(path, granted.path) == 0) {
    assert_true(CreateWellKnownSid(WinWorldSid, NULL, everyone, &size));
    assert_true(InitializeAcl(&granted.room.list, sizeof granted.room, ACL_REVISION));
    assert_true(
        AddAccessAllowedAce(&granted.room.list, ACL_REVISION, granted.rights, everyone));
    *list = &granted.room.list;
  }
  return result;
}

/* The linker uses this import instead of the system's. */
extern const security_getter __imp_GetNamedSecurityInfoA;
const security_getter __imp_GetNamedSecurityInfoA = named_security;

/* Others may add files to a directory on the way, but not to the last one. */
static void the_last_directory_is_judged_by_its_own_rights(void **state) {
  static const DWORD adding[] = {FILE_ADD_FILE, FILE_ADD_SUBDIRECTORY},
                     replacing[] = {FILE_DELETE_CHILD, DELETE, WRITE_DAC, WRITE_OWNER};
  char path[MBI_PATH_SIZE];
  size_t i;
  int error;
  (void)state;
  (void)snprintf(path, sizeof path, "%s", in_folder("a\\b"));
  assert_null(mbi_directory_distrust(path, 1, &error));
  for (i = 0; i < sizeof adding / sizeof adding[0]; i++) {
    granted.rights = adding[i];
    (void)snprintf(granted.path, sizeof granted.path, "%s", in_folder("a"));
    assert_null(mbi_directory_distrust(path, 0, &error));
    (void)snprintf(granted.path, sizeof granted.path, "%s", path);
    assert_string_equal(mbi_directory_distrust(path, 0, &error), "is writable by others");
  }
  for (i = 0; i < sizeof replacing / sizeof replacing[0]; i++) {
    granted.rights = replacing[i];
    (void)snprintf(granted.path, sizeof granted.path, "%s", in_folder("a"));
    assert_string_equal(mbi_directory_distrust(path, 0, &error), "is writable by others");
    assert_string_equal(path, granted.path);
    (void)snprintf(path, sizeof path, "%s", in_folder("a\\b"));
  }
  granted.path[0] = '\0';
  assert_int_equal(_rmdir(path), 0);
  assert_int_equal(_rmdir(in_folder("a")), 0);
}

static void private_files(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  const mbi_piece pieces[2] = {{"one ", 4}, {"two", 3}};
  char path[MBI_PATH_SIZE];
  void *data;
  size_t size;
  (void)state;
  (void)snprintf(path, sizeof path, "%s/%s", folder, "entry");
  assert_int_equal(mbi_private_read(context, path, 100, 1, &data, &size), ENOENT);
  assert_int_equal(mbi_private_write(folder, "entry", pieces, 1), 0);
  assert_int_equal(mbi_private_write(folder, "entry", pieces, 2), 0); /* replaced */
  expect_file(path, "one two");
  assert_int_equal(mbi_private_read(context, path, 6, 1, &data, &size), EFBIG);
  assert_int_equal(mbi_private_read(context, path, 7, 1, &data, &size), 0);
  assert_int_equal(size, 7);
  assert_memory_equal(data, "one two", 7);
  mbi_release(context, data);
  open_to_everyone(path, GENERIC_READ | GENERIC_WRITE);
  assert_int_equal(mbi_private_read(context, path, 7, 1, &data, &size), EINVAL);
  assert_int_equal(mbi_private_read(context, folder, 7, 1, &data, &size), EACCES);
  assert_int_equal(mbi_private_write(in_folder("absent"), "entry", pieces, 1), ENOENT);
  assert_int_equal(mbi_file_remove(path), 0);
  assert_int_equal(mbi_file_remove(path), 0);
  merbit_context_destroy(context);
}

/* The least recently used file goes first; a read counts as a use. */
static void the_oldest_go(void **state) {
  merbit_context *context = cpu_open(NULL, 1);
  const mbi_piece piece = {"0123456789", 10};
  void *data;
  size_t size;
  (void)state;
  assert_int_equal(mbi_private_write(folder, "a.x", &piece, 1), 0);
  Sleep(20);
  assert_int_equal(mbi_private_write(folder, "b.x", &piece, 1), 0);
  Sleep(20);
  assert_int_equal(mbi_private_read(context, in_folder("a.x"), 10, 1, &data, &size), 0);
  mbi_release(context, data);
  put(in_folder("c.y"), "0123456789");
  assert_int_equal(mbi_directory_trim(context, folder, ".x", 20), 0);
  assert_int_equal(_access(in_folder("b.x"), 0), 0);
  assert_int_equal(mbi_directory_trim(context, folder, ".x", 19), 0);
  assert_int_equal(_access(in_folder("b.x"), 0), -1);
  assert_int_equal(mbi_directory_trim(context, folder, ".x", 0), 0);
  assert_int_equal(_access(in_folder("a.x"), 0), -1);
  assert_int_equal(_unlink(in_folder("c.y")), 0);
  assert_int_equal(mbi_directory_trim(context, in_folder("absent"), ".x", 0), ENOENT);
  merbit_context_destroy(context);
}

/* An entry may be removed while it is read. */
static void removal_of_an_open_file(void **state) {
  const mbi_piece piece = {"text", 4};
  char path[MBI_PATH_SIZE], text[4];
  int file;
  int64_t size;
  (void)state;
  (void)snprintf(path, sizeof path, "%s/%s", folder, "open");
  assert_int_equal(mbi_private_write(folder, "open", &piece, 1), 0);
  assert_int_equal(mbi_private_open(path, &file, &size), 0);
  assert_int_equal(size, 4);
  assert_int_equal(mbi_file_remove(path), 0);
  assert_int_equal(mbi_file_read(&file, text, 4), 4);
  mbi_file_close(file);
  assert_int_equal(_access(path, 0), -1);
}

static void files_of_the_user(void **state) {
  char path[MBI_PATH_SIZE];
  mbi_replacement r;
  int file;
  int64_t size;
  (void)state;
  (void)snprintf(path, sizeof path, "%s", in_folder("user.mtx"));
  assert_int_equal(mbi_file_open(path, &file, &size), ENOENT);
  assert_int_equal(mbi_file_open(folder, &file, &size), EISDIR);
  put(path, "old\r\n");
  assert_int_equal(mbi_file_open(path, &file, &size), 0);
  assert_int_equal(size, 5); /* including its carriage return */
  mbi_file_close(file);
  assert_int_equal(mbi_replacement_begin(&r, path, 0), 0);
  assert_int_equal(mbi_replacement_write(&r, "new\n", 4), 0);
  expect_file(path, "old\r\n");
  assert_int_equal(mbi_replacement_end(&r, EIO), EIO);
  expect_file(path, "old\r\n");
  assert_int_equal(mbi_replacement_begin(&r, path, 0), 0);
  assert_int_equal(mbi_replacement_write(&r, "new\n", 4), 0);
  assert_int_equal(mbi_replacement_end(&r, 0), 0);
  expect_file(path, "new\n");
  assert_int_equal(_chmod(path, _S_IREAD), 0);
  assert_int_equal(mbi_replacement_begin(&r, path, 0), EACCES);
  assert_int_equal(_chmod(path, _S_IREAD | _S_IWRITE), 0);
  assert_int_equal(_unlink(path), 0);
  assert_int_equal(mbi_replacement_begin(&r, folder, 0), EISDIR);
  assert_int_equal(mbi_replacement_begin(&r, "NUL", 0), ENOTSUP);
  assert_int_equal(mbi_replacement_begin(&r, "", 0), ENOENT);
  assert_int_equal(mbi_replacement_begin(&r, in_folder("absent\\a.mtx"), 0), ENOENT);
}

static void the_cache_of_the_user(void **state) {
  char path[MBI_PATH_SIZE], expected[MBI_PATH_SIZE];
  int error;
  (void)state;
  assert_null(mbi_user_cache(path, sizeof path));
  (void)snprintf(expected, sizeof expected, "%s\\merbit\\cache", getenv("LOCALAPPDATA"));
  assert_string_equal(path, expected);
  assert_null(mbi_directory_distrust(path, 1, &error));
  assert_string_equal(mbi_user_cache(path, 10), "the directory's path is too long");
}

static void paths(void **state) {
  char path[MBI_PATH_SIZE];
  (void)state;
  assert_true(mbi_path_is_absolute("C:\\a"));
  assert_true(mbi_path_is_absolute("C:/a"));
  assert_false(mbi_path_is_absolute("C:a"));
  assert_false(mbi_path_is_absolute("\\a"));
  assert_false(mbi_path_is_absolute(""));
  assert_int_equal(mbi_path_absolute("C:/a/../b", path, sizeof path), 0);
  assert_string_equal(path, "C:\\b");
  assert_int_equal(mbi_path_absolute("C:/a/../b", path, 4), ENAMETOOLONG);
}

/* Libraries that every Windows has stand for those of CUDA. */
static void libraries(void **state) {
  char path[MBI_PATH_SIZE];
  DWORD(WINAPI * number)(void) = NULL;
  void *library = mbi_library_open("kernel32.dll");
  (void)state;
  assert_non_null(library);
  assert_true(mbi_library_function(library, "GetCurrentProcessId", &number, sizeof number));
  assert_int_equal(number(), GetCurrentProcessId());
  assert_false(mbi_library_function(library, "no such function", &number, sizeof number));
  mbi_library_path(library, path, sizeof path);
  assert_true(mbi_path_is_absolute(path));
  mbi_library_keep(library);
  mbi_library_close(library);
  library = mbi_library_open(path);
  assert_non_null(library);
  mbi_library_close(library);
  assert_null(mbi_library_open("merbit-no-such-library.dll"));
  assert_non_null(strstr(mbi_library_error(), "does not find it"));
  assert_null(mbi_library_open("C:/merbit/no/such/library.dll"));
}

static void processors_and_clock(void **state) {
  mbi_numa numa;
  const double start = mbi_seconds();
  const int64_t now = mbi_now();
  (void)state;
  mbi_numa_here(&numa);
  assert_in_range(numa.count, 1, 64);
  assert_in_range(numa.nodes, 1, 64);
  assert_int_equal(mbi_processors(), numa.count);
  assert_true(now / 1000000000 - time(NULL) < 10 && time(NULL) - now / 1000000000 < 10);
  Sleep(5);
  assert_true(mbi_seconds() > start);
  assert_int_equal(mbi_numa_move(&numa, sizeof numa, 0), -1);
  assert_true(mbi_thread_equal(mbi_thread_self(), mbi_thread_self()));
}

typedef struct tally {
  merbit_context *context;
  mbi_mutex mutex;
  int64_t count;
} tally;

MBI_THREAD_RUN count_and_fail(void *argument) {
  tally *t = (tally *)argument;
  int i;
  for (i = 0; i < 10000; i++) {
    int64_t before;
    mbi_mutex_lock(&t->mutex);
    before = t->count;
    if (i % 100 == 0) {
      (void)SwitchToThread();
    }
    t->count = before + 1;
    mbi_mutex_unlock(&t->mutex);
  }
  (void)mbi_fail(t->context, MERBIT_IO_ERROR, "of a thread");
  return 0;
}

/* Counts are right, and a failure stays with its thread. */
static void threads_and_their_failures(void **state) {
  mbi_thread threads[4];
  tally t;
  int i;
  (void)state;
  t.context = cpu_open(NULL, 1);
  t.count = 0;
  mbi_mutex_create(&t.mutex);
  for (i = 0; i < 4; i++) {
    assert_true(mbi_thread_start(&threads[i], count_and_fail, &t));
  }
  for (i = 0; i < 4; i++) {
    mbi_thread_join(threads[i]);
  }
  assert_int_equal(t.count, 40000);
  assert_int_equal(merbit_last_error(t.context, NULL, 0), MERBIT_OK);
  assert_true(mbi_mutex_try(&t.mutex));
  assert_false(mbi_mutex_try(&t.mutex));
  mbi_mutex_unlock(&t.mutex);
  mbi_mutex_destroy(&t.mutex);
  merbit_context_destroy(t.context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(directories_open_to_others, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_last_directory_is_judged_by_its_own_rights, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(private_files, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_oldest_go, set_up, tear_down),
      cmocka_unit_test_setup_teardown(removal_of_an_open_file, set_up, tear_down),
      cmocka_unit_test_setup_teardown(files_of_the_user, set_up, tear_down),
      cmocka_unit_test(the_cache_of_the_user),
      cmocka_unit_test(paths),
      cmocka_unit_test(libraries),
      cmocka_unit_test(processors_and_clock),
      cmocka_unit_test(threads_and_their_failures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
