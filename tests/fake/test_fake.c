/* The fakes themselves: they must detect everything that a driver must never be asked, or the
 * other tests here prove nothing. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sys/wait.h>

#include "fake/support.h"

static const char kernels[] =
    "#ifndef TEST\n"
    "#define TEST\n"
    "#include \"jit/device.cuh\"\n"
    "struct given { int *p; mbk_i64 at; };\n"
    "struct part { mbk_i32 count; const int *from[2]; };\n"
    "struct nested { mbk_u32 n; part in; mbk_scalar alpha, beta; int *last; };\n"
    "MBK_KERNEL mbk_nested(const nested a) {}\n"
    "MBK_KERNEL mbk_apart(MBK_PARAMETERS(given, a, int *a_p, mbk_i64 a_at)) {\n"
    "  MBK_JOIN(given, a, a_p, a_at)\n"
    "  a.p[a.at] = 7;\n"
    "}\n"
    "MBK_KERNEL mbk_write(const given a) { a.p[a.at] = 7; }\n"
    "MBK_KERNEL mbk_read(const given a) { a.p[0] = a.p[a.at]; }\n"
    "MBK_KERNEL mbk_split(int *p) { if (mbk_thread() == 0) { mbk_block_sync(); } p[0] = 1; }\n"
    "#endif\n";

static merbit_context *context;
static mbi_program program;
static mbi_devptr block;

static void create(const char *before, const char *text, merbit_status wanted,
                   mbi_program *made) {
  mbi_preamble preamble;
  memset(&preamble, 0, sizeof preamble);
  (void)snprintf(preamble.text, sizeof preamble.text, "%s%s", before, text);
  preamble.length = strlen(preamble.text);
  assert_int_equal(mbi_program_create(context, MBI_PREAMBLE_NAME, &preamble, made), wanted);
}

/* Opens a current context with the kernels, and a block of ten numbers. */
static int open_fake(void **state) {
  (void)state;
  fake_reset();
  context = fake_context(NULL);
  assert_int_equal(mbi_device_enter(context), MERBIT_OK);
  create("", kernels, MERBIT_OK, &program);
  assert_int_equal(mbi_device_allocate(context, 40, "numbers", &block), MERBIT_OK);
  return 0;
}

static int close_fake(void **state) {
  (void)state;
  mbi_device_release(context, block);
  mbi_program_destroy(context, &program);
  mbi_device_leave(context);
  merbit_context_destroy(context);
  return 0;
}

static merbit_status launch(const char *name, mbi_devptr address, int64_t at, int threads) {
  void *function = NULL;
  struct {
    mbi_devptr address;
    int64_t at;
  } arguments;
  arguments.address = address;
  arguments.at = at;
  assert_int_equal(mbi_program_kernel(context, &program, name, &function), MERBIT_OK);
  return mbi_device_launch(context, function, name, 1, threads, 0, NULL, &arguments);
}

static void expect_fault(const char *piece) {
  if (cuda->faults == 0 || strstr(cuda->fault, piece) == NULL) {
    fail_msg("%ld faults, \"%s\", without \"%s\"", cuda->faults, cuda->fault, piece);
  }
}

/* Returns whether `body` crashes a child process. */
static int crashes(void (*body)(void)) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    (void)freopen("/dev/null", "w", stderr);
    (void)signal(SIGSEGV, SIG_DFL);
    body();
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  return status != 0;
}

static void nothing(void) {
}

static void host_reads_device(void) {
  volatile int *pointer = (volatile int *)mbi_device_pointer(block);
  (void)*pointer;
}

static void memory_is_apart(void **state) {
  int numbers[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, back[10];
  (void)state;
  assert_false(crashes(nothing));
  assert_true(crashes(host_reads_device));
  assert_int_equal(mbi_device_upload(context, block, numbers, sizeof numbers), MERBIT_OK);
  assert_int_equal(launch("mbk_write", block, 9, 1), MERBIT_OK);
  assert_true(crashes(host_reads_device));
  assert_int_equal(mbi_device_download(context, back, block, sizeof back), MERBIT_OK);
  assert_true(back[8] == 9 && back[9] == 7);
  assert_int_equal(cuda->faults, 0);
}

static void host_pointers_in_copies(void **state) {
  int numbers[10] = {0};
  (void)state;
  assert_int_equal(mbi_device_upload(context, mbi_device_address(numbers), numbers, 4),
                   MERBIT_DEVICE_ERROR);
  expect_fault("cuMemcpyHtoD_v2: 4 bytes at");
  cuda->faults = 0;
  assert_int_equal(mbi_device_upload(context, block, mbi_device_pointer(block), 4),
                   MERBIT_DEVICE_ERROR);
  expect_fault("are device memory, where host memory belongs");
  cuda->faults = 0;
  assert_int_equal(mbi_device_download(context, mbi_device_pointer(block), block, 4),
                   MERBIT_DEVICE_ERROR);
  expect_fault("cuMemcpyDtoH_v2");
  cuda->faults = 0;
  assert_int_equal(mbi_device_copy(context, block, mbi_device_address(numbers), 4),
                   MERBIT_DEVICE_ERROR);
  expect_fault("cuMemcpyDtoD_v2");
  cuda->faults = 0;
  assert_int_equal(mbi_device_zero(context, block, 41, NULL), MERBIT_DEVICE_ERROR);
  expect_fault("cuMemsetD8Async: 41 bytes at");
}

static void host_pointers_in_kernels(void **state) {
  int numbers[10];
  (void)state;
  assert_int_equal(launch("mbk_write", mbi_device_address(numbers), 0, 1), MERBIT_DEVICE_ERROR);
  expect_fault("cuLaunchKernel of mbk_write: argument 0 is 0x");
}

/* The arguments of mbk_nested, as the kernel declares them. */
struct nested {
  unsigned n;
  struct {
    int count;
    mbi_devptr from[2];
  } in;
  mbk_scalar alpha, beta;
  mbi_devptr last;
};

static merbit_status launch_nested(const mbi_program *of, const struct nested *arguments) {
  void *function = NULL;
  cuda->faults = 0;
  assert_int_equal(mbi_program_kernel(context, of, "mbk_nested", &function), MERBIT_OK);
  return mbi_device_launch(context, function, "mbk_nested", 1, 1, 0, NULL, arguments);
}

/* Checks every pointer of a struct, including inner structs and arrays; null is allowed. */
static void host_pointers_in_fields(void **state) {
  struct nested arguments;
  int number;
  (void)state;
  memset(&arguments, 0xff, sizeof arguments);
  arguments.in.from[0] = arguments.in.from[1] = 0;
  arguments.last = block + 39;
  assert_int_equal(launch_nested(&program, &arguments), MERBIT_OK);
  arguments.in.from[0] = block + 40;
  assert_int_equal(launch_nested(&program, &arguments), MERBIT_DEVICE_ERROR);
  expect_fault("cuLaunchKernel of mbk_nested: argument 1 is 0x");
  arguments.in.from[0] = block;
  arguments.in.from[1] = mbi_device_address(&number);
  assert_int_equal(launch_nested(&program, &arguments), MERBIT_DEVICE_ERROR);
  expect_fault("argument 1 is 0x");
  arguments.in.from[1] = block;
  arguments.last = mbi_device_address(&number);
  assert_int_equal(launch_nested(&program, &arguments), MERBIT_DEVICE_ERROR);
  expect_fault("argument 4 is 0x");
}

/* alpha and beta are addresses in programs that say so; a stop flag in place of alpha is one,
 * too. */
static void host_pointers_in_scalars(void **state) {
  static const char *const before[] = {"#define MBK_SCALARS_DEVICE 1\n",
                                       "#define MBK_STOPS 1\n"};
  struct nested arguments;
  mbi_program other;
  int number;
  size_t i;
  (void)state;
  for (i = 0; i < 2; i++) {
    create(before[i], kernels, MERBIT_OK, &other);
    memset(&arguments, 0, sizeof arguments);
    assert_int_equal(launch_nested(&other, &arguments), MERBIT_OK);
    arguments.alpha.words[0] = block;
    arguments.alpha.words[1] = 1; /* the address takes half of the field */
    assert_int_equal(launch_nested(&other, &arguments), MERBIT_OK);
    arguments.beta.words[0] = mbi_device_address(&number);
    assert_int_equal(launch_nested(&other, &arguments), MERBIT_DEVICE_ERROR);
    expect_fault("argument 3 is 0x");
    arguments.alpha.words[0] = mbi_device_address(&number);
    assert_int_equal(launch_nested(&other, &arguments), MERBIT_DEVICE_ERROR);
    expect_fault("argument 2 is 0x");
    mbi_program_destroy(context, &other);
  }
}

/* A launch passes the address of one struct: a second argument would be undefined. */
static void kernels_of_two_arguments(void **state) {
  mbi_program other;
  (void)state;
  memset(&other, 0, sizeof other);
  create("",
         "#include \"jit/device.cuh\"\n"
         "MBK_KERNEL mbk_two(int *p, mbk_i64 at) { p[at] = 7; }\n",
         MERBIT_COMPILE_ERROR, &other);
}

static merbit_status launch_sized(const char *name, mbi_devptr address, size_t bytes) {
  void *function = NULL;
  struct {
    mbi_devptr address;
    int64_t at;
  } arguments;
  arguments.address = address;
  arguments.at = 3;
  cuda->faults = 0;
  assert_int_equal(mbi_program_kernel(context, &program, name, &function), MERBIT_OK);
  return mbi_device_launch_some(context, function, name, 1, 1, 0, NULL, &arguments, bytes,
                                MBI_LAUNCH_PLAIN);
}

/* A kernel whose struct became separate parameters takes a buffer of the struct's size. */
static void parameters_in_a_buffer(void **state) {
  int back[10], number;
  (void)state;
  assert_int_equal(launch_sized("mbk_apart", block, 16), MERBIT_OK);
  assert_int_equal(mbi_device_download(context, back, block, sizeof back), MERBIT_OK);
  assert_int_equal(back[3], 7);
  assert_int_equal(launch_sized("mbk_apart", mbi_device_address(&number), 16),
                   MERBIT_DEVICE_ERROR);
  expect_fault("argument 0 is 0x");
  assert_int_equal(launch_sized("mbk_apart", block, 8), MERBIT_DEVICE_ERROR);
  expect_fault("a buffer of parameters that the kernel does not take");
  assert_int_equal(launch_sized("mbk_apart", block, 0), MERBIT_DEVICE_ERROR);
  expect_fault("a struct for a kernel of separate parameters");
  assert_int_equal(launch_sized("mbk_write", block, 16), MERBIT_DEVICE_ERROR);
  expect_fault("separate parameters for a kernel of a struct");
}

/* A kernel that accesses a page outside any block. */
static void wild_kernels(void **state) {
  (void)state;
  assert_int_equal(launch("mbk_read", block, 1 << 20, 1), MERBIT_DEVICE_LOST);
  expect_fault("kernel mbk_read, block 0: thread 0 touches 0x");
  assert_int_equal(cuda->dead, 700);
}

static void write_beyond(void) {
  (void)launch("mbk_write", block, 10, 1);
  _exit(cuda->dead == 719 && strstr(cuda->fault, "beyond a block") != NULL);
}

static void read_released(void) {
  struct {
    mbi_devptr address;
    int64_t at;
  } arguments;
  void *function;
  arguments.address = block;
  arguments.at = 0;
  (void)mbi_program_kernel(context, &program, "mbk_read", &function);
  mbi_device_release(context, block);
  (void)mbi_device_launch(context, function, "mbk_read", 1, 1, 0, NULL, &arguments);
  _exit(cuda->faults > 0);
}

/* Reads a released block through the address of a live one; only AddressSanitizer detects
 * this. */
static void read_released_beside(void) {
  mbi_devptr beside;
  (void)mbi_device_allocate(context, 40, "beside", &beside);
  mbi_device_release(context, beside);
  (void)launch("mbk_read", block, (int64_t)(beside - block) / 4, 1);
  _exit(0);
}

/* One beyond the block: AddressSanitizer detects it, or the pattern there has changed. */
static void fences(void **state) {
  (void)state;
  assert_true(crashes(write_beyond));
  assert_true(crashes(read_released));
  assert_true(crashes(read_released_beside));
}

/* Blocks of many sizes, some of which stay while others come and go: each is hidden, keeps its
 * contents, and is found. Together they exceed one stretch. */
static void blocks_come_and_go(void **state) {
  enum { COUNT = 40 };
  mbi_devptr blocks[COUNT];
  int numbers[3000], back[3000], i, round;
  (void)state;
  for (round = 0; round < 30; round++) {
    for (i = 0; i < COUNT; i++) {
      const size_t bytes = 4 * (size_t)(1 + i * (i + round) % 3000);
      if (round == 0 || i % 7 != 0) {
        assert_int_equal(mbi_device_allocate(context, bytes, "numbers", &blocks[i]), MERBIT_OK);
        memset(numbers, i + 1, bytes);
        assert_int_equal(mbi_device_upload(context, blocks[i], numbers, bytes), MERBIT_OK);
      }
    }
    assert_int_equal(launch("mbk_write", blocks[COUNT - 1], 0, 1), MERBIT_OK);
    for (i = 0; i < COUNT; i++) {
      const size_t bytes = 4 * (size_t)(1 + i * (i + (i % 7 != 0 ? round : 0)) % 3000);
      memset(numbers, i + 1, bytes);
      numbers[0] = i == COUNT - 1 ? 7 : numbers[0];
      assert_int_equal(mbi_device_download(context, back, blocks[i], bytes), MERBIT_OK);
      assert_memory_equal(back, numbers, bytes);
      if (i % 7 != 0) {
        mbi_device_release(context, blocks[i]);
      }
    }
  }
  for (i = 0; i < COUNT; i += 7) {
    mbi_device_release(context, blocks[i]);
  }
  assert_int_equal(mbi_device_upload(context, block, numbers, 40), MERBIT_OK);
  assert_true(crashes(host_reads_device));
  assert_int_equal(cuda->faults, 0);
  assert_int_equal(cuda->blocks, 2); /* and the byte that keeps a GPU page mapped */
}

static void kernels_that_misuse_the_gpu(void **state) {
  (void)state;
  assert_int_equal(launch("mbk_split", block, 0, 32), MERBIT_DEVICE_LOST);
  expect_fault("missing barrier");
  assert_int_equal(cuda->dead, 719);
}

/* Calls the driver's functions as the library never would. */
static void misuse(void **state) {
  mbi_driver *driver = &context->device.driver;
  void *arguments[2], *popped, *function, *other;
  mbi_devptr address;
  (void)state;
  arguments[0] = arguments[1] = &address;
  assert_int_equal(driver->mem_free(block + 1), 1);
  expect_fault("no block begins there");
  assert_int_equal(driver->module_get_function(&function, program.parts[0].module, "mbk_read"),
                   0);
  assert_int_equal(driver->module_get_function(&other, program.parts[0].module, "mbk_none"),
                   500);
  assert_int_equal(driver->func_set_attribute(function, 8, 60000), 0);
  cuda->faults = 0;
  assert_int_equal(
      driver->launch_kernel(function, 1, 1, 1, 1, 1, 1, 60001, NULL, arguments, NULL), 1);
  expect_fault("more shared memory than was asked for");
  cuda->faults = 0;
  assert_int_equal(driver->stream_synchronize(&address), 400);
  expect_fault("the stream does not exist");
  assert_int_equal(driver->module_load_data(&other, "no image"), 200);
  assert_int_equal(driver->module_load_data(&other, "fake cubin 80 -1 /nowhere"), 209);
  cuda->faults = 0;
  assert_int_equal(driver->ctx_pop(&popped), 0);
  assert_int_equal(driver->mem_alloc(&address, 8), 201);
  assert_int_equal(address, 0xbad);
  expect_fault("cuMemAlloc_v2: no context is current");
  assert_int_equal(driver->ctx_push(popped), 0);
}

/* A dead device answers no call, and a launch on it is a fault. */
static void death(void **state) {
  mbi_driver *driver = &context->device.driver;
  mbi_devptr address;
  void *other;
  (void)state;
  cuda->calls.made = 0;
  cuda->calls.only = "cuMemAlloc_v2";
  cuda->calls.fail_at = 2;
  cuda->calls.code = 214;
  assert_int_equal(driver->mem_alloc(&address, 8), 0);
  assert_int_equal(driver->mem_free(address), 0);
  assert_int_equal(driver->mem_alloc(&address, 8), 214);
  assert_string_equal(cuda->calls.first, "cuMemAlloc_v2");
  assert_int_equal(driver->mem_alloc(&address, 8), 214);
  assert_int_equal(driver->stream_synchronize(NULL), 214);
  assert_int_equal(driver->ctx_push(context->device.cuda_context), 214);
  assert_int_equal(driver->primary_retain(&other, 0), 214);
  assert_int_equal(cuda->after_death, 3);
  assert_int_equal(cuda->faults, 0);
  assert_int_equal(driver->launch_kernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), 214);
  expect_fault("cuLaunchKernel on a device that died of error 214");
}

/* Calls fail once, for good, or not at all; `made` counts the calls that count. */
static void injection(void **state) {
  mbi_driver *driver = &context->device.driver;
  int i;
  (void)state;
  cuda->calls.made = 0;
  cuda->calls.fail_at = 3;
  cuda->calls.code = 304;
  for (i = 1; i <= 5; i++) {
    assert_int_equal(driver->stream_synchronize(NULL), i == 3 ? 304 : 0);
  }
  assert_int_equal(cuda->calls.made, 5);
  cuda->calls.made = 0;
  cuda->calls.for_good = 1;
  for (i = 1; i <= 5; i++) {
    assert_int_equal(driver->stream_synchronize(NULL), i >= 3 ? 304 : 0);
  }
  assert_int_equal(cuda->calls.failed, 4);
  cuda->calls.fail_at = 0;
  assert_int_equal(driver->stream_synchronize(NULL), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fake, close_fake)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(memory_is_apart),
      TEST(host_pointers_in_copies),
      TEST(host_pointers_in_kernels),
      TEST(host_pointers_in_fields),
      TEST(host_pointers_in_scalars),
      TEST(kernels_of_two_arguments),
      TEST(parameters_in_a_buffer),
      TEST(wild_kernels),
      TEST(kernels_that_misuse_the_gpu),
      TEST(fences),
      TEST(blocks_come_and_go),
      TEST(misuse),
      TEST(death),
      TEST(injection),
  };
  fake_open("new");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
