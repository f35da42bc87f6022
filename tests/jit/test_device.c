/* The device layer. First against a driver made of the functions below, whose every call can be
 * failed; then against the real one, where there is a GPU: else those tests are skipped. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static int blocks; /* of host memory in use */

static void *counted_allocate(void *user, size_t bytes) {
  (void)user;
  blocks++;
  return malloc(bytes);
}

static void counted_release(void *user, void *memory) {
  (void)user;
  blocks--;
  free(memory);
}

/* ---- A driver and an NVRTC made of paper ------------------------------------------------ */

static struct {
  int step, fail_at, code,
      sticky; /* fail call number fail_at, and with `sticky` all after it */
  int depth, live, modules, retained, launches, programs, compiled, refuse_images;
  int devices, version, capability, dead;
  size_t last_bytes;
  char image[16];
} fake;

static int deadly(int code) {
  return code == 4 || code == 214 || code == 700 || code == 702 || code == 710 || code == 719 ||
         code == 999;
}

/* A dead context must not be asked again, but to pop it. */
static int answer(void) {
  int result = 0;
  assert_false(fake.dead);
  fake.step++;
  if (fake.step == fake.fail_at ||
      (fake.sticky && fake.fail_at > 0 && fake.step > fake.fail_at)) {
    result = fake.code;
  }
  fake.dead = deadly(result);
  return result;
}

static int fake_error_name(int result, const char **text) {
  *text = result == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR_OF_PAPER";
  return 0;
}

static int fake_error_string(int result, const char **text) {
  (void)result;
  *text = "torn";
  return 0;
}

static int fake_version(int *version) {
  *version = fake.version;
  return answer();
}

static int fake_count(int *count) {
  *count = fake.devices;
  return answer();
}

static int fake_get(int *device, int ordinal) {
  *device = ordinal + 40;
  return answer();
}

static int fake_name(char *name, int size, int device) {
  (void)snprintf(name, (size_t)size, "Paper %d", device);
  return answer();
}

static int fake_attribute(int *value, int attribute, int device) {
  (void)device;
  *value = attribute == 75   ? fake.capability / 10
           : attribute == 76 ? fake.capability % 10
           : attribute == 16 ? 4
           : attribute == 97 ? 99000
                             : -1;
  return answer();
}

static int fake_retain(void **context, int device) {
  const int result = answer();
  (void)device;
  *context = &fake;
  fake.retained += result == 0;
  return result;
}

static int fake_primary_release(int device) {
  (void)device;
  fake.retained--;
  return 0;
}

static int fake_push(void *context) {
  const int result = answer();
  assert_ptr_equal(context, &fake);
  fake.depth += result == 0;
  return result;
}

static int fake_pop(void **context) {
  *context = &fake;
  fake.depth--;
  return 0;
}

static int fake_of_context(int *device) {
  assert_int_equal(fake.depth, 1);
  *device = 47;
  return answer();
}

static int fake_alloc(mbi_devptr *address, size_t bytes) {
  const int result = answer();
  assert_true(bytes > 0);
  fake.last_bytes = bytes;
  fake.live += result == 0;
  *address = result == 0 ? 0x7000 + (mbi_devptr)fake.live : 0xbad;
  return result;
}

static int fake_free(mbi_devptr address) {
  assert_true(address > 0x7000);
  fake.live--;
  return answer();
}

static int fake_upload(mbi_devptr target, const void *source, size_t bytes) {
  (void)target;
  (void)source;
  fake.last_bytes = bytes;
  return answer();
}

static int fake_download(void *target, mbi_devptr source, size_t bytes) {
  (void)source;
  memset(target, 0, bytes);
  return answer();
}

static int fake_copy(mbi_devptr target, mbi_devptr source, size_t bytes) {
  assert_true(target > 0x7000 && source > 0x7000 && bytes > 0);
  return answer();
}

static int fake_zero(mbi_devptr target, unsigned char byte, size_t bytes, void *stream) {
  (void)target;
  (void)stream;
  assert_int_equal(byte, 0);
  fake.last_bytes = bytes;
  return answer();
}

static int fake_pointer(unsigned count, int *attributes, void **values, mbi_devptr address) {
  assert_int_equal(count, 1);
  assert_int_equal(attributes[0], MBI_POINTER_MEMORY_TYPE);
  *(unsigned *)values[0] = address < 0x7000 ? 0 : 2;
  return answer();
}

static int fake_synchronize(void *stream) {
  (void)stream;
  return answer();
}

static int fake_load(void **module, const void *image) {
  const int result = fake.refuse_images-- > 0 ? 200 : answer();
  memcpy(fake.image, image, 5);
  fake.modules += result == 0;
  *module = result == 0 ? (void *)&fake.modules : (void *)&fake.code;
  return result;
}

static int fake_unload(void *module) {
  assert_ptr_equal(module, &fake.modules);
  assert_false(fake.dead);
  fake.modules--;
  return 0;
}

static int fake_function(void **function, void *module, const char *name) {
  assert_ptr_equal(module, &fake.modules);
  *function = &fake.launches;
  return strcmp(name, "missing") == 0 ? 500 : answer();
}

static int fake_set_attribute(void *function, int attribute, int value) {
  assert_ptr_equal(function, &fake.launches);
  assert_int_equal(attribute, MBI_FUNCTION_DYNAMIC_SHARED);
  assert_in_range(value, MBI_SHARED_WITHOUT_ASKING + 1, 99000);
  return answer();
}

static int fake_launch(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                       unsigned by, unsigned bz, unsigned shared, void *stream,
                       void **arguments, void **extra) {
  assert_ptr_equal(function, &fake.launches);
  assert_true(gx > 0 && bx > 0 && gy == 1 && gz == 1 && by == 1 && bz == 1);
  (void)shared;
  (void)stream;
  (void)arguments;
  assert_null(extra);
  fake.launches++;
  return answer();
}

static int fake_archs_count(int *count) {
  *count = 1;
  return 0;
}

static int fake_archs(int *list) {
  *list = 90;
  return 0;
}

static const char *fake_nvrtc_text(int result) {
  (void)result;
  return "NVRTC_ERROR_OF_PAPER";
}

static int fake_program(void **program, const char *source, const char *name, int count,
                        const char *const *headers, const char *const *names) {
  (void)source;
  (void)name;
  (void)count;
  (void)headers;
  (void)names;
  fake.programs++;
  *program = &fake.programs;
  return 0;
}

static int fake_compile(void *program, int count, const char *const *options) {
  (void)program;
  (void)count;
  (void)options;
  fake.compiled++;
  return 0;
}

static int fake_program_gone(void **program) {
  fake.programs--;
  *program = NULL;
  return 0;
}

static int fake_size(void *program, size_t *size) {
  (void)program;
  *size = 6;
  return 0;
}

static int fake_text(void *program, char *text) {
  (void)program;
  memcpy(text, "cubin", 6);
  return 0;
}

static merbit_context *paper_context(const merbit_context_desc *wish, merbit_status expected) {
  merbit_context_desc desc;
  merbit_context *context;
  mbi_driver *driver;
  mbi_nvrtc *nvrtc;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CPU;
  desc.threads = 1;
  desc.allocator.allocate = counted_allocate;
  desc.allocator.release = counted_release;
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  driver = &context->device.driver;
  driver->get_error_name = fake_error_name;
  driver->get_error_string = fake_error_string;
  driver->driver_get_version = fake_version;
  driver->device_get_count = fake_count;
  driver->device_get = fake_get;
  driver->device_get_name = fake_name;
  driver->device_get_attribute = fake_attribute;
  driver->primary_retain = fake_retain;
  driver->primary_release = fake_primary_release;
  driver->ctx_push = fake_push;
  driver->ctx_pop = fake_pop;
  driver->ctx_get_device = fake_of_context;
  driver->mem_alloc = fake_alloc;
  driver->mem_free = fake_free;
  driver->memcpy_htod = fake_upload;
  driver->memcpy_dtoh = fake_download;
  driver->memcpy_dtod = fake_copy;
  driver->memset_d8_async = fake_zero;
  driver->pointer_get_attributes = fake_pointer;
  driver->stream_synchronize = fake_synchronize;
  driver->module_load_data = fake_load;
  driver->module_unload = fake_unload;
  driver->module_get_function = fake_function;
  driver->func_set_attribute = fake_set_attribute;
  driver->launch_kernel = fake_launch;
  /* mbi_nvrtc_open would look for a library: libc has none of its functions. */
  assert_int_equal(mbi_device_choose(context, wish), expected);
  nvrtc = &context->device.nvrtc;
  nvrtc->version = 13000;
  nvrtc->get_num_archs = fake_archs_count;
  nvrtc->get_archs = fake_archs;
  nvrtc->get_error_string = fake_nvrtc_text;
  nvrtc->create_program = fake_program;
  nvrtc->compile_program = fake_compile;
  nvrtc->destroy_program = fake_program_gone;
  nvrtc->get_log_size = fake_size;
  nvrtc->get_log = fake_text;
  nvrtc->get_cubin_size = fake_size;
  nvrtc->get_cubin = fake_text;
  return context;
}

static void reset(void) {
  memset(&fake, 0, sizeof fake);
  fake.devices = 2;
  fake.version = 12080;
  fake.capability = 90;
}

/* A context that got as far as NVRTC, which is then replaced, and that has its device. */
static merbit_context *make_paper(void) {
  merbit_context_desc wish;
  merbit_context *context;
  reset();
  memset(&wish, 0, sizeof wish);
  wish.nvrtc_path = "libm.so.6";
  wish.cuda_context = &fake;
  context = paper_context(&wish, MERBIT_NO_COMPILER);
  context->side = MERBIT_SIDE_CUDA;
  context->device.cuda_context = &fake;
  assert_int_equal(context->device.ordinal, 47);
  assert_int_equal(context->device.compute_capability, 90);
  assert_string_equal(context->device.name, "Paper 47");
  fake.step = 0;
  return context;
}

static void expect_last(merbit_context *context, merbit_status status, const char *part) {
  char message[MERBIT_MESSAGE_SIZE];
  assert_int_equal(merbit_last_error(context, message, sizeof message), status);
  if (strstr(message, part) == NULL) {
    fail_msg("\"%s\" does not say \"%s\"", message, part);
  }
}

/* ---- Opening ---------------------------------------------------------------------------- */

static void choosing(void **state) {
  merbit_context_desc wish;
  merbit_context *context;
  (void)state;
  memset(&wish, 0, sizeof wish);
  wish.nvrtc_path = "libm.so.6";
  reset();
  wish.device = 1;
  context = paper_context(&wish, MERBIT_NO_COMPILER);
  assert_int_equal(context->device.ordinal, 41);
  assert_int_equal(context->device.multiprocessors, 4);
  assert_int_equal(context->device.shared_bytes_per_block, 99000);
  assert_int_equal(context->device.driver_version, 12080);
  assert_int_equal(fake.retained, 0);
  merbit_context_destroy(context);
  wish.device = 2;
  context = paper_context(&wish, MERBIT_NO_DEVICE);
  expect_last(context, MERBIT_NO_DEVICE,
              "context_desc.device is 2, but the driver shows 2 GPUs");
  merbit_context_destroy(context);
  wish.device = -1;
  merbit_context_destroy(paper_context(&wish, MERBIT_NO_DEVICE));
  wish.device = 0;
  fake.devices = 0;
  merbit_context_destroy(paper_context(&wish, MERBIT_NO_DEVICE));
  reset();
  fake.version = 10020;
  context = paper_context(&wish, MERBIT_NO_DEVICE);
  expect_last(context, MERBIT_NO_DEVICE, "CUDA 10.2");
  merbit_context_destroy(context);
  reset();
  fake.capability = 37;
  context = paper_context(&wish, MERBIT_NO_DEVICE);
  expect_last(context, MERBIT_NO_DEVICE, "compute capability 3.7");
  merbit_context_destroy(context);
  assert_int_equal(blocks, 0);
}

/* Each of the first calls fails: version, count, get, name, four attributes. */
static void every_opening_call_fails(void **state) {
  merbit_context_desc wish;
  int at;
  (void)state;
  memset(&wish, 0, sizeof wish);
  wish.nvrtc_path = "libm.so.6";
  for (at = 1; at <= 8; at++) {
    merbit_context *context;
    reset();
    fake.fail_at = at;
    fake.code = 3;
    context = paper_context(&wish, MERBIT_DEVICE_ERROR);
    expect_last(context, MERBIT_DEVICE_ERROR, "CUDA error 3, torn");
    merbit_context_destroy(context);
    assert_int_equal(fake.retained, 0);
  }
  for (at = 2; at <= 3; at++) { /* push, get device */
    merbit_context *context;
    reset();
    wish.cuda_context = &fake;
    fake.fail_at = at;
    fake.code = 201;
    context = paper_context(&wish, MERBIT_DEVICE_ERROR);
    expect_last(context, MERBIT_DEVICE_ERROR, "using context_desc.cuda_context");
    merbit_context_destroy(context);
    assert_int_equal(fake.depth, 0);
  }
  assert_int_equal(blocks, 0);
}

/* ---- Calls ------------------------------------------------------------------------------ */

/* A little of everything, as a plan does it. Whatever fails, all is undone. */
static merbit_status session(merbit_context *context, int *from_cache) {
  mbi_preamble preamble;
  mbi_program program;
  mbi_devptr address = 0;
  void *function = NULL;
  void *arguments[1];
  char bytes[16];
  merbit_status status = mbi_device_enter(context);
  if (status != MERBIT_OK) {
    return status;
  }
  memset(bytes, 0, sizeof bytes);
  memset(&preamble, 0, sizeof preamble);
  memset(&program, 0, sizeof program);
  arguments[0] = &address;
  status = mbi_program_create(context, "jit/device.cuh", &preamble, &program);
  *from_cache = program.from_cache;
  if (status == MERBIT_OK) {
    status = mbi_program_kernel(context, &program, "kernel", &function);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_reserve_shared(context, function, "kernel", 60000);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, 16, "sixteen bytes", &address);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_upload(context, address, bytes, sizeof bytes);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_zero(context, address, sizeof bytes, NULL);
  }
  if (status == MERBIT_OK && !mbi_device_owns(context, mbi_device_pointer(address))) {
    status = MERBIT_INVALID_ARGUMENT;
  }
  if (status == MERBIT_OK) {
    status = mbi_device_launch(context, function, "kernel", 3, 128, 60000, NULL, arguments);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_synchronize(context, NULL);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_download(context, bytes, address, sizeof bytes);
  }
  mbi_device_release(context, address);
  mbi_program_destroy(context, &program);
  mbi_device_leave(context);
  assert_null(program.module);
  return status;
}

/* Every call of a session, failed in turn with many codes, once and for good. */
static void every_call_fails(void **state) {
  static const int codes[] = {1,   2,   4,   200, 201, 209, 214, 304, 400,
                              500, 700, 701, 702, 710, 719, 801, 999};
  size_t c;
  int sticky, at, runs = 0;
  (void)state;
  for (c = 0; c < sizeof codes / sizeof codes[0]; c++) {
    for (sticky = 0; sticky <= 1; sticky++) {
      merbit_status status = MERBIT_DEVICE_ERROR;
      for (at = 1; at < 100; at++) {
        merbit_context *context = make_paper();
        const int before = blocks;
        int cached, launches;
        fake.fail_at = at;
        fake.code = codes[c];
        fake.sticky = sticky;
        status = session(context, &cached);
        runs++;
        assert_int_equal(blocks, before);
        assert_int_equal(fake.depth, 0);
        assert_int_equal(fake.programs, 0);
        if (fake.step < at) { /* ran through: no such call */
          assert_int_equal(status, MERBIT_OK);
          merbit_context_destroy(context);
          break;
        }
        assert_true(fake.live == 0 || deadly(codes[c]));
        assert_true(fake.modules == 0 || deadly(codes[c]));
        launches = fake.launches;
        if (deadly(codes[c])) {
          const int step = fake.step;
          assert_true(status == MERBIT_DEVICE_LOST || fake.step == at); /* the last: mem_free */
          assert_int_equal(session(context, &cached), MERBIT_DEVICE_LOST);
          expect_last(context, MERBIT_DEVICE_LOST, "lost earlier");
          assert_int_equal(fake.launches, launches);
          assert_int_equal(fake.step, step); /* the driver was not asked */
          assert_int_equal(context->device.lost, codes[c]);
        } else if (status != MERBIT_OK) {
          assert_int_equal(status, codes[c] == 2 ? MERBIT_DEVICE_OUT_OF_MEMORY : MERBIT_DEVICE_ERROR);
          assert_int_equal(context->device.lost, 0);
          fake.fail_at = 0;
          assert_int_equal(session(context, &cached), MERBIT_OK);
        }
        merbit_context_destroy(context);
      }
      assert_in_range(at, 10, 30);
    }
  }
  print_message("%d runs\n", runs);
  assert_int_equal(blocks, 0);
}

static void sentences(void **state) {
  merbit_context *context = make_paper();
  void *arguments[1] = {NULL};
  mbi_devptr address;
  (void)state;
  fake.fail_at = 1;
  fake.code = 2;
  assert_int_equal(mbi_device_allocate(context, 123456, "tile_x", &address),
                   MERBIT_DEVICE_OUT_OF_MEMORY);
  assert_int_equal(address, 0);
  expect_last(context, MERBIT_DEVICE_OUT_OF_MEMORY, "allocating 123456 bytes for tile_x");
  expect_last(context, MERBIT_DEVICE_OUT_OF_MEMORY, "cuMemAlloc");
  fake.fail_at = 2;
  fake.code = 719;
  assert_int_equal(
      mbi_device_launch(context, &fake.launches, "mbk_x", 7, 64, 0, NULL, arguments),
      MERBIT_DEVICE_LOST);
  expect_last(context, MERBIT_DEVICE_LOST, "launching mbk_x (7 blocks of 64 threads");
  expect_last(context, MERBIT_DEVICE_LOST, "CUDA_ERROR_LAUNCH_FAILED");
  context->device.driver.get_error_name = NULL; /* nothing to ask */
  context->device.lost = 0;
  fake.dead = 0;
  assert_int_equal(mbi_device_check(context, 1, "cuX", "trying"), MERBIT_DEVICE_ERROR);
  expect_last(context, MERBIT_DEVICE_ERROR,
              "trying failed in cuX: no text (CUDA error 1, torn)");
  merbit_context_destroy(context);
}

static void edges(void **state) {
  merbit_context *context = make_paper();
  void *arguments[1] = {NULL};
  mbi_devptr address;
  (void)state;
  assert_int_equal(mbi_device_allocate(context, 0, "nothing", &address), MERBIT_OK);
  assert_true(address != 0);
  assert_int_equal(fake.last_bytes, 1);
  fake.step = 0;
  assert_int_equal(mbi_device_upload(context, address, "x", 1), MERBIT_OK);
  assert_int_equal(fake.step, 2); /* copy and wait */
  assert_int_equal(mbi_device_copy(context, address, address, 1), MERBIT_OK);
  assert_int_equal(fake.step, 4);
  mbi_device_release(context, address);
  mbi_device_release(context, 0);
  fake.step = 0;
  assert_int_equal(mbi_device_upload(context, 0x7001, NULL, 0), MERBIT_OK);
  assert_int_equal(mbi_device_download(context, NULL, 0x7001, 0), MERBIT_OK);
  assert_int_equal(mbi_device_zero(context, 0x7001, 0, NULL), MERBIT_OK);
  assert_int_equal(mbi_device_launch(context, &fake.launches, "k", 0, 32, 0, NULL, arguments),
                   MERBIT_OK);
  assert_int_equal(mbi_device_reserve_shared(context, &fake.launches, "k", 49152), MERBIT_OK);
  assert_int_equal(fake.step, 0);
  assert_int_equal(mbi_device_launch(context, &fake.launches, "k", (int64_t)INT32_MAX + 1, 32,
                                     0, NULL, arguments),
                   MERBIT_TOO_LARGE);
  assert_int_equal(
      mbi_device_launch(context, &fake.launches, "k", INT32_MAX, 32, 0, NULL, arguments),
      MERBIT_OK);
  assert_int_equal(fake.launches, 1);
  assert_int_equal(mbi_device_reserve_shared(context, &fake.launches, "k", 99001),
                   MERBIT_TOO_LARGE);
  expect_last(context, MERBIT_TOO_LARGE,
              "k needs 99001 bytes of shared memory, Paper 47 has 99000");
  assert_int_equal(mbi_device_owns(context, (void *)0x1000), 0);
  assert_int_equal(mbi_device_owns(context, (void *)0x8000), 1);
  merbit_context_destroy(context);
  assert_int_equal(blocks, 0);
}

static void remove_cache(merbit_context *context) {
  const struct dirent *entry;
  DIR *directory = opendir(context->cache.directory);
  assert_non_null(directory);
  while ((entry = readdir(directory)) != NULL) {
    (void)unlinkat(dirfd(directory), entry->d_name, 0);
  }
  (void)closedir(directory);
  assert_int_equal(rmdir(context->cache.directory), 0);
}

static void open_cache(merbit_context *context) {
  char directory[64] = "/tmp/merbit-device-XXXXXX";
  merbit_context_desc desc;
  assert_non_null(mkdtemp(directory));
  memset(&desc, 0, sizeof desc);
  desc.cache_dir = directory;
  mbi_cache_open(context, &desc);
  assert_true(context->cache.directory[0] != '\0');
}

/* Compiled once; then from the cache; compiled anew where the driver refuses the cached image,
 * once. */
static void cached_programs(void **state) {
  merbit_context *context = make_paper();
  int cached;
  (void)state;
  open_cache(context);
  assert_int_equal(session(context, &cached), MERBIT_OK);
  assert_int_equal(cached, 0);
  assert_int_equal(session(context, &cached), MERBIT_OK);
  assert_int_equal(cached, 1);
  assert_int_equal(fake.compiled, 1);
  assert_memory_equal(fake.image, "cubin", 5);
  fake.refuse_images = 1;
  assert_int_equal(session(context, &cached), MERBIT_OK);
  assert_int_equal(cached, 0);
  assert_int_equal(fake.compiled, 2);
  assert_int_equal(session(context, &cached), MERBIT_OK);
  assert_int_equal(cached, 1);
  fake.refuse_images = 2;
  assert_int_equal(session(context, &cached), MERBIT_DEVICE_ERROR);
  assert_int_equal(fake.compiled, 3);
  assert_int_equal(session(context, &cached), MERBIT_OK);
  assert_int_equal(cached, 0);  /* what was refused had not been stored */
  fake.fail_at = fake.step + 2; /* after push: the load, out of memory */
  fake.code = 2;
  assert_int_equal(session(context, &cached), MERBIT_DEVICE_OUT_OF_MEMORY);
  assert_int_equal(fake.compiled, 4);
  assert_int_equal(session(context, &cached), MERBIT_OK);
  assert_int_equal(cached, 1);
  remove_cache(context);
  merbit_context_destroy(context);
  assert_int_equal(blocks, 0);
}

static void missing_kernel(void **state) {
  merbit_context *context = make_paper();
  mbi_program program;
  void *function = context;
  (void)state;
  memset(&program, 0, sizeof program);
  program.module = &fake.modules;
  assert_int_equal(mbi_program_kernel(context, &program, "missing", &function),
                   MERBIT_DEVICE_ERROR);
  assert_null(function);
  expect_last(context, MERBIT_DEVICE_ERROR, "finding kernel missing");
  merbit_context_destroy(context);
}

/* ---- The real driver -------------------------------------------------------------------- */

static void without_a_gpu(void **state) {
  merbit_context_desc desc;
  merbit_context *context;
  merbit_context_info info;
  merbit_error error;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.cache_dir = "";
  desc.side = MERBIT_SIDE_CUDA;
  if (merbit_context_create(&desc, &context, &error) == MERBIT_OK) {
    merbit_context_destroy(context);
    print_message("there is a GPU\n");
    skip();
  }
  assert_null(context);
  assert_true(error.status == MERBIT_NO_DEVICE || error.status == MERBIT_NO_COMPILER);
  assert_true(strlen(error.message) > 20);
  desc.side = MERBIT_SIDE_AUTO;
  assert_int_equal(merbit_context_create(&desc, &context, &error), MERBIT_OK);
  assert_int_equal(error.status, MERBIT_OK);
  assert_int_equal(merbit_context_get_info(context, &info), MERBIT_OK);
  assert_int_equal(info.side, MERBIT_SIDE_CPU);
  assert_true(strlen(info.reason) > 20);
  assert_int_equal(merbit_last_error(context, NULL, 0), MERBIT_OK);
  print_message("%s\n", info.reason);
  merbit_context_destroy(context);
}

static merbit_context *gpu_or_skip(void) {
  merbit_context_desc desc;
  merbit_context *context;
  merbit_error error;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CUDA;
  desc.cache_dir = "";
  if (merbit_context_create(&desc, &context, &error) != MERBIT_OK) {
    print_message("skipped: %s\n", error.message);
    skip();
  }
  return context;
}

static void gpu_memory(void **state) {
  merbit_context *context = gpu_or_skip();
  char sent[1000], back[1000];
  mbi_devptr one, two;
  size_t i;
  (void)state;
  for (i = 0; i < sizeof sent; i++) {
    sent[i] = (char)(i * 7);
  }
  assert_int_equal(mbi_device_enter(context), MERBIT_OK);
  assert_int_equal(mbi_device_allocate(context, sizeof sent, "one", &one), MERBIT_OK);
  assert_int_equal(mbi_device_allocate(context, 0, "two", &two), MERBIT_OK);
  assert_true(one != 0 && two != 0 && one != two);
  assert_int_equal(mbi_device_upload(context, one, sent, sizeof sent), MERBIT_OK);
  assert_int_equal(mbi_device_zero(context, one + 10, 20, NULL), MERBIT_OK);
  memset(sent + 10, 0, 20);
  assert_int_equal(mbi_device_download(context, back, one, sizeof back), MERBIT_OK);
  assert_memory_equal(sent, back, sizeof sent);
  assert_int_equal(mbi_device_owns(context, mbi_device_pointer(one)), 1);
  assert_int_equal(mbi_device_owns(context, sent), 0);
  assert_int_equal(mbi_device_allocate(context, (uint64_t)1 << 50, "too much", &two),
                   MERBIT_DEVICE_OUT_OF_MEMORY);
  assert_int_equal(two, 0);
  mbi_device_release(context, one);
  mbi_device_leave(context);
  merbit_context_destroy(context);
}

static const char kernels[] =
    "#ifndef TEST\n"
    "#define TEST\n"
    "#include \"jit/device.cuh\"\n"
    "MBK_KERNEL mbk_seven(int *p) { p[mbk_block()] = 7 + (int)mbk_block(); }\n"
    "MBK_KERNEL mbk_wild(int *p) { *(int *)((char *)p - ((mbk_u64)p & ~(mbk_u64)255)) = 1; }\n"
    "#endif\n";

static merbit_status run(merbit_context *context, const char *name, mbi_program *program,
                         int *values, int count) {
  mbi_preamble preamble;
  mbi_devptr address = 0;
  void *function = NULL;
  void *arguments[1];
  merbit_status status;
  memset(&preamble, 0, sizeof preamble);
  memcpy(preamble.text, kernels, sizeof kernels);
  preamble.length = strlen(kernels);
  arguments[0] = &address;
  status = mbi_program_create(context, MBI_PREAMBLE_NAME, &preamble, program);
  if (status == MERBIT_OK) {
    status = mbi_program_kernel(context, program, name, &function);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, (uint64_t)count * sizeof(int), "values", &address);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_launch(context, function, name, count, 1, 0, NULL, arguments);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_download(context, values, address, (size_t)count * sizeof(int));
  }
  mbi_device_release(context, address);
  mbi_program_destroy(context, program);
  return status;
}

static void gpu_programs(void **state) {
  merbit_context *context = gpu_or_skip();
  mbi_program program, again;
  int values[100], i;
  void *image;
  (void)state;
  open_cache(context);
  assert_int_equal(mbi_device_enter(context), MERBIT_OK);
  for (i = 0; i < 3; i++) {
    int k;
    memset(values, 0, sizeof values);
    assert_int_equal(run(context, "mbk_seven", &program, values, 100), MERBIT_OK);
    for (k = 0; k < 100; k++) {
      assert_int_equal(values[k], 7 + k);
    }
  }
  assert_int_equal(context->cache.hits, 2);
  assert_int_equal(context->cache.misses, 1);
  assert_int_equal(context->cache.errors, 0);
  { /* a sealed entry whose image no driver takes */
    mbi_preamble preamble;
    mbi_target target;
    size_t size;
    char *key;
    memset(&preamble, 0, sizeof preamble);
    memcpy(preamble.text, kernels, sizeof kernels);
    assert_int_equal(mbi_target_choose(context, MBI_PREAMBLE_NAME, &preamble,
                                       context->device.compute_capability, &target),
                     MERBIT_OK);
    key = mbi_key_create(context, MBI_PREAMBLE_NAME, &preamble, &target, &size);
    image = calloc(1000, 1);
    mbi_cache_store(context, key, size, image, 1000);
    free(image);
    mbi_release(context, key);
  }
  assert_int_equal(run(context, "mbk_seven", &again, values, 100), MERBIT_OK);
  assert_int_equal(values[99], 106);
  mbi_device_leave(context);
  remove_cache(context);
  merbit_context_destroy(context);
}

/* The caller's current context comes back; a context of the caller's is used. */
static void gpu_contexts(void **state) {
  merbit_context *context = gpu_or_skip(), *other;
  merbit_context_desc desc;
  void *popped = NULL;
  mbi_driver *driver = &context->device.driver;
  (void)state;
  assert_int_equal(driver->ctx_push(context->device.cuda_context), 0);
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CUDA;
  desc.cache_dir = "";
  desc.cuda_context = context->device.cuda_context;
  assert_int_equal(merbit_context_create(&desc, &other, NULL), MERBIT_OK);
  assert_int_equal(other->device.primary, 0);
  assert_int_equal(other->device.ordinal, context->device.ordinal);
  assert_int_equal(mbi_device_enter(other), MERBIT_OK);
  mbi_device_leave(other);
  merbit_context_destroy(other);
  assert_int_equal(driver->ctx_pop(&popped), 0);
  assert_ptr_equal(popped, context->device.cuda_context);
  merbit_context_destroy(context);
}

/* A kernel writes out of bounds: the context is dead and says so at once; a new one works. */
static void gpu_lost(void **state) {
  merbit_context *context = gpu_or_skip();
  mbi_program program;
  int values[1];
  (void)state;
  assert_int_equal(mbi_device_enter(context), MERBIT_OK);
  assert_int_equal(run(context, "mbk_wild", &program, values, 1), MERBIT_DEVICE_LOST);
  mbi_device_leave(context);
  assert_int_equal(mbi_device_enter(context), MERBIT_DEVICE_LOST);
  expect_last(context, MERBIT_DEVICE_LOST, "lost earlier with CUDA error 7");
  merbit_context_destroy(context);
  context = gpu_or_skip();
  assert_int_equal(mbi_device_enter(context), MERBIT_OK);
  assert_int_equal(run(context, "mbk_seven", &program, values, 1), MERBIT_OK);
  assert_int_equal(values[0], 7);
  mbi_device_leave(context);
  merbit_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(choosing),         cmocka_unit_test(every_opening_call_fails),
      cmocka_unit_test(sentences),        cmocka_unit_test(edges),
      cmocka_unit_test(every_call_fails), cmocka_unit_test(cached_programs),
      cmocka_unit_test(missing_kernel),   cmocka_unit_test(without_a_gpu),
      cmocka_unit_test(gpu_memory),       cmocka_unit_test(gpu_programs),
      cmocka_unit_test(gpu_contexts),     cmocka_unit_test(gpu_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
