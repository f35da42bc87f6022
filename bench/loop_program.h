/* The kernels of the loops over cuSPARSE, compiled by NVRTC for one precision. */
#ifndef BENCH_LOOP_PROGRAM_H
#define BENCH_LOOP_PROGRAM_H
#include "driver.h"
#include "loop_bicgstab.h"

typedef enum bench_loop_kernel {
  BENCH_LOOP_RANK,
  BENCH_LOOP_CG_START,
  BENCH_LOOP_CG_DOT,
  BENCH_LOOP_CG_RESIDUAL,
  BENCH_LOOP_CG_DIRECTION,
  BENCH_LOOP_BI_START,
  BENCH_LOOP_BI_ALPHA,
  BENCH_LOOP_BI_HALF,
  BENCH_LOOP_BI_OMEGA,
  BENCH_LOOP_BI_UPDATE,
  BENCH_LOOP_PCG_BETA,
  BENCH_LOOP_PCG_DIRECTION,
  BENCH_LOOP_PCG_UPDATE,
  BENCH_LOOP_SWEEP_FIRST,
  BENCH_LOOP_SWEEP,
  BENCH_LOOP_KERNELS
} bench_loop_kernel;
static const char *const bench_loop_names[] = {
    "mbk_loop_rank",        "mbk_loop_cg_start",     "mbk_loop_cg_dot",
    "mbk_loop_cg_residual", "mbk_loop_cg_direction", "mbk_loop_bi_start",
    "mbk_loop_bi_alpha",    "mbk_loop_bi_half",      "mbk_loop_bi_omega",
    "mbk_loop_bi_update",   "mbk_loop_pcg_beta",     "mbk_loop_pcg_direction",
    "mbk_loop_pcg_update",  "mbk_loop_sweep_first",  "mbk_loop_sweep"};

typedef struct bench_loop_program { /* for one precision */
  void *module, *functions[BENCH_LOOP_KERNELS];
} bench_loop_program;

/* Compiles and loads the kernels. If `loaded` is NULL, only tests whether they compile. */
static merbit_status bench_loop_load(merbit_context *context, int single,
                                     bench_loop_program *loaded) {
  static const char name[] = "bench_loops.cu";
  const mbi_nvrtc *nvrtc = &context->device.nvrtc;
  const char *names[MBI_SOURCES + 2], *texts[MBI_SOURCES + 2];
  mbi_preamble preamble;
  mbi_target target;
  mbi_texts files;
  char main_text[128], *text;
  const char *const parts[] = {bench_loop_head, bench_loop_common,   bench_loop_pagerank,
                               bench_loop_cg,   bench_loop_bicgstab, bench_loop_multigrid};
  void *program = NULL, *image = NULL;
  size_t size = 0, length = 1, i;
  merbit_status status;
  memset(&preamble, 0, sizeof preamble);
  for (i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    length += strlen(parts[i]) + 1;
  }
  text = (char *)bench_allocate((int64_t)length, 1);
  text[0] = '\0';
  for (i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    (void)strcat(strcat(text, parts[i]), "\n");
  }
  (void)snprintf(main_text, sizeof main_text, "#define VECTOR %s\n#include \"%s\"\n",
                 single ? "float" : "double", name);
  status =
      mbi_target_choose(context, name, &preamble, context->device.compute_capability, &target);
  if (status == MERBIT_OK) {
    status = mbi_texts_create(context, &preamble, &files);
  }
  if (status == MERBIT_OK) {
    memcpy(names, files.names, sizeof files.names);
    memcpy(texts, files.texts, sizeof files.texts);
    names[MBI_SOURCES + 1] = name;
    texts[MBI_SOURCES + 1] = text;
    status = mbi_nvrtc_check(context,
                             nvrtc->create_program(&program, main_text, "bench_main.cu",
                                                   (int)MBI_SOURCES + 2, texts, names),
                             "nvrtcCreateProgram", name);
    if (status == MERBIT_OK) {
      status = mbi_nvrtc_run(context, program, name, &preamble, &target, &image, &size);
      (void)nvrtc->destroy_program(&program);
    }
    mbi_texts_release(context, &files);
  }
  if (status == MERBIT_OK && loaded != NULL) {
    status = mbi_device_check(context,
                              context->device.driver.module_load_data(&loaded->module, image),
                              "cuModuleLoadData", name);
  }
  for (i = 0; i < BENCH_LOOP_KERNELS && status == MERBIT_OK && loaded != NULL; i++) {
    status = mbi_device_check(context,
                              context->device.driver.module_get_function(
                                  &loaded->functions[i], loaded->module, bench_loop_names[i]),
                              "cuModuleGetFunction", bench_loop_names[i]);
  }
  mbi_release(context, image);
  free(text);
  return status;
}

#endif
