/* Two simple kernels, run through the device layer. Include merbit.h and cmocka.h first. */
#ifndef TEST_GPU_KERNELS_H
#define TEST_GPU_KERNELS_H
#include "support/gpu.h"

/* A program may consist of the preamble, which is a file like the others. */
static const char gpu_kernels[] =
    "#ifndef TEST\n"
    "#define TEST\n"
    "#include \"jit/device.cuh\"\n"
    "MBK_KERNEL mbk_seven(int *p) { p[mbk_block()] = 7 + (int)mbk_block(); }\n"
    "MBK_KERNEL mbk_wild(int *p) { *(int *)((char *)p - (mbk_u64)p + 4096) = 1; }\n"
    "#endif\n";

static void gpu_kernels_preamble(mbi_preamble *preamble) {
  memset(preamble, 0, sizeof *preamble);
  memcpy(preamble->text, gpu_kernels, sizeof gpu_kernels);
  preamble->length = strlen(gpu_kernels);
}

/* Runs `count` blocks of one thread and returns their output. The context must be current;
 * `program` tells where the program came from. */
static merbit_status gpu_run(merbit_context *context, const char *name, mbi_program *program,
                             int *values, int count) {
  mbi_preamble preamble;
  mbi_devptr address = 0;
  void *function = NULL;
  merbit_status status;
  gpu_kernels_preamble(&preamble);
  status = mbi_program_create(context, MBI_PREAMBLE_NAME, &preamble, program);
  if (status == MERBIT_OK) {
    status = mbi_program_kernel(context, program, name, &function);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_allocate(context, (uint64_t)count * sizeof(int), "values", &address);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_launch(context, function, name, count, 1, 0, NULL, &address);
  }
  if (status == MERBIT_OK) {
    status = mbi_device_download(context, values, address, (size_t)count * sizeof(int));
  }
  mbi_device_release(context, address);
  mbi_program_destroy(context, program);
  return status;
}

#endif /* TEST_GPU_KERNELS_H */
