/* A fake compiler and driver ("paper") for the tests of the cubin cache, and programs to make
 * with them. Include cache_bed.h first. */
#ifndef TEST_JIT_CACHE_PAPER_H
#define TEST_JIT_CACHE_PAPER_H

/* ---- Fake compiler and driver ------------------------------------------------------------ */

#define IMAGE 120

static struct {
  mbi_hash seen; /* hash of the program being compiled */
  int version, architecture, compiled;
  char image[IMAGE]; /* of the last program */
  char loaded[IMAGE];
} paper;

static int paper_archs_count(int *count) {
  *count = 1;
  return 0;
}

static int paper_archs(int *list) {
  *list = paper.architecture;
  return 0;
}

static int paper_create(void **program, const char *source, const char *name, int count,
                        const char *const *headers, const char *const *names) {
  int i;
  paper.seen = mbi_hash_add(mbi_hash_start(), source, strlen(source));
  paper.seen = mbi_hash_add(paper.seen, name, strlen(name));
  for (i = 0; i < count; i++) {
    const size_t length = strlen(headers[i]);
    paper.seen = mbi_hash_add(paper.seen, names[i], strlen(names[i]));
    paper.seen = mbi_hash_add(paper.seen, headers[i] + (length > 64 ? length - 64 : 0),
                              length > 64 ? 64 : length);
  }
  *program = &paper;
  return 0;
}

static int paper_compile(void *program, int count, const char *const *options) {
  char text[MBI_HASH_TEXT];
  int i;
  (void)program;
  paper.seen = mbi_hash_add(paper.seen, &paper.version, sizeof paper.version);
  for (i = 0; i < count; i++) {
    paper.seen = mbi_hash_add(paper.seen, options[i], strlen(options[i]) + 1);
  }
  mbi_hash_text(paper.seen, text);
  memset(paper.image, '.', IMAGE);
  memcpy(paper.image, text, sizeof text);
  memcpy(paper.image + IMAGE - sizeof text, text, sizeof text);
  paper.compiled++;
  return 0;
}

static int paper_destroy(void **program) {
  *program = NULL;
  return 0;
}

static int paper_log_size(void *program, size_t *size) {
  (void)program;
  *size = 1;
  return 0;
}

static int paper_log(void *program, char *text) {
  (void)program;
  *text = '\0';
  return 0;
}

static int paper_size(void *program, size_t *size) {
  (void)program;
  *size = IMAGE;
  return 0;
}

static int paper_get(void *program, char *image) {
  (void)program;
  memcpy(image, paper.image, IMAGE);
  return 0;
}

static const char *paper_text(int result) {
  (void)result;
  return "of paper";
}

static int paper_load(void **module, const void *image) {
  memcpy(paper.loaded, image, IMAGE);
  *module = &paper;
  return 0;
}

static int paper_unload(void *module) {
  (void)module;
  return 0;
}

static merbit_context *open_paper(const char *directory) {
  merbit_context *context = open_in(directory);
  mbi_nvrtc *nvrtc = &context->device.nvrtc;
  paper.compiled = 0;
  nvrtc->get_num_archs = paper_archs_count;
  nvrtc->get_archs = paper_archs;
  nvrtc->get_error_string = paper_text;
  nvrtc->create_program = paper_create;
  nvrtc->compile_program = paper_compile;
  nvrtc->destroy_program = paper_destroy;
  nvrtc->get_log_size = paper_log_size;
  nvrtc->get_log = paper_log;
  nvrtc->get_cubin_size = nvrtc->get_ptx_size = paper_size;
  nvrtc->get_cubin = nvrtc->get_ptx = paper_get;
  context->device.driver.module_load_data = paper_load;
  context->device.driver.module_unload = paper_unload;
  return context;
}

/* Clears the context's functions, so that destroying it calls none. */
static void close_paper(merbit_context *context) {
  memset(&context->device, 0, sizeof context->device);
  merbit_context_destroy(context);
}

/* ---- Specialisations --------------------------------------------------------------------- */

typedef struct variant { /* what determines a program */
  const char *what, *main_file, *name, *value;
  int version, capability, architecture;
} variant;

static const variant variants[] = {
    {"the first", "spmv/gpu/merbit/merbit.cu", "MBK_SIGMA", "7", 13000, 90, 90},
    {"main file", "spmv/shared/csr_hash.cu", "MBK_SIGMA", "7", 13000, 90, 90},
    {"name in the preamble", "spmv/gpu/merbit/merbit.cu", "MBK_OMEGA", "7", 13000, 90, 90},
    {"value in the preamble", "spmv/gpu/merbit/merbit.cu", "MBK_SIGMA", "8", 13000, 90, 90},
    {"version of NVRTC", "spmv/gpu/merbit/merbit.cu", "MBK_SIGMA", "7", 12080, 90, 90},
    {"architecture", "spmv/gpu/merbit/merbit.cu", "MBK_SIGMA", "7", 13000, 80, 80},
    {"PTX in place of a cubin", "spmv/gpu/merbit/merbit.cu", "MBK_SIGMA", "7", 13000, 120, 90},
    {"options", "spmv/gpu/merbit/merbit.cu", "MBK_SIGMA", "7", 11060, 90, 90},
};
#define VARIANTS ((int)(sizeof variants / sizeof variants[0]))

/* Sets the machine and the preamble of a program. */
static void set_up(merbit_context *context, const variant *v, mbi_preamble *preamble) {
  context->device.nvrtc.version = paper.version = v->version;
  context->device.compute_capability = v->capability;
  paper.architecture = v->architecture;
  memset(preamble, 0, sizeof *preamble);
  mbi_preamble_define(preamble, v->name, v->value);
}

static char *key_of(merbit_context *context, const variant *v, size_t *size) {
  mbi_preamble preamble;
  mbi_target target;
  char *key;
  set_up(context, v, &preamble);
  assert_int_equal(mbi_target_choose(context, v->main_file, &preamble, v->capability, &target),
                   MERBIT_OK);
  key = mbi_key_create(context, v->main_file, &preamble, &target, size);
  assert_non_null(key);
  return key;
}

static void path_of(merbit_context *context, const variant *v, char path[MBI_PATH_SIZE]) {
  size_t size;
  char *key = key_of(context, v, &size);
  mbi_cache_path(context, key, size, path, MBI_PATH_SIZE);
  mbi_release(context, key);
}

static char right[VARIANTS][IMAGE]; /* compiled without a cache */

/* Makes the program. Returns 1 if it came from the cache, -1 if it is wrong, else 0. */
static int make(merbit_context *context, int i) {
  const variant *v = &variants[i];
  const int compiled = paper.compiled;
  mbi_preamble preamble;
  mbi_program program;
  int cached;
  set_up(context, v, &preamble);
  memset(paper.loaded, 0, sizeof paper.loaded);
  if (mbi_program_create(context, v->main_file, &preamble, &program) != MERBIT_OK) {
    return -1;
  }
  cached = program.from_cache;
  mbi_program_destroy(context, &program);
  if (paper.compiled != compiled + !cached ||
      (right[i][0] != '\0' && memcmp(paper.loaded, right[i], IMAGE) != 0)) {
    return -1;
  }
  return cached;
}

static void compile_all(void) {
  merbit_context *context = open_paper("");
  int i, j;
  for (i = 0; i < VARIANTS; i++) {
    assert_int_equal(make(context, i), 0);
    memcpy(right[i], paper.loaded, IMAGE);
    for (j = 0; j < i; j++) {
      assert_memory_not_equal(right[i], right[j], IMAGE);
    }
  }
  close_paper(context);
}

#endif /* TEST_JIT_CACHE_PAPER_H */
