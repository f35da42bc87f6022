#include "core/context.h"
#include "jit/sources.h"
#include "jit/jit.h"

/* Kernel programs: preamble, key, compilation by NVRTC, loading of cubins. */

/* ---- Preamble: the #defines of one specialisation ---------------------------------------- */

MBI_INTERNAL void mbi_preamble_define(mbi_preamble *preamble, const char *name,
                                      const char *value) {
  const size_t room = sizeof preamble->text - preamble->length;
  const int written =
      snprintf(preamble->text + preamble->length, room, "#define %s %s\n", name, value);
  if (written < 0 || (size_t)written >= room) {
    preamble->text[preamble->length] = '\0';
    preamble->overflow = 1;
  } else {
    preamble->length += (size_t)written;
  }
}

MBI_INTERNAL void mbi_preamble_define_int(mbi_preamble *preamble, const char *name,
                                          int64_t value) {
  char text[32];
  (void)snprintf(text, sizeof text, "%" PRId64, value);
  mbi_preamble_define(preamble, name, text);
}

/* ---- Target: architecture and options for NVRTC ------------------------------------------ */

MBI_INTERNAL merbit_status mbi_target_choose(merbit_context *context, const char *main_file,
                                             const mbi_preamble *preamble, int capability,
                                             mbi_target *target) {
  const mbi_nvrtc *nvrtc = &context->device.nvrtc;
  const int known = mbi_nvrtc_architecture(nvrtc, capability);
  if (preamble->overflow) {
    return mbi_fail(context, MERBIT_TOO_LARGE, "the preamble of %s exceeds %zu bytes",
                    main_file, sizeof preamble->text);
  }
  if (known == 0) {
    return mbi_fail(context, MERBIT_NO_COMPILER,
                    "NVRTC %d.%d (%s) does not compile for compute capability %d.%d; install a "
                    "newer one, or name one in MERBIT_NVRTC",
                    nvrtc->version / 1000, nvrtc->version % 1000 / 10, nvrtc->path,
                    capability / 10, capability % 10);
  }
  target->ptx = known != capability;
  (void)snprintf(target->architecture, sizeof target->architecture, "--gpu-architecture=%s_%d",
                 target->ptx ? "compute" : "sm", known);
  target->options[0] = target->architecture;
  target->options[1] = "--std=c++14";
  target->options[2] = "--no-source-include"; /* only embedded files */
  target->count = nvrtc->version >= MBI_NO_SOURCE_INCLUDE ? 3 : 2;
  return MERBIT_OK;
}

/* ---- Key: everything that determines the image; each field follows its length ------------ */

/* Returns the key of a program, or NULL if there is no memory. */
MBI_INTERNAL char *mbi_key_create(merbit_context *context, const char *main_file,
                                  const mbi_preamble *preamble, const mbi_target *target,
                                  size_t *size) {
  const char *fields[10];
  char format[16], version[16];
  size_t room = 1;
  char *key;
  int count = 0, i;
  (void)snprintf(format, sizeof format, "%d", MBI_CACHE_FORMAT);
  (void)snprintf(version, sizeof version, "%d", context->device.nvrtc.version);
  fields[count++] = format;
  fields[count++] = MERBIT_VERSION_STRING;
  fields[count++] = MBI_KERNEL_HASH;
  fields[count++] = main_file;
  fields[count++] = preamble->text;
  fields[count++] = version;
  for (i = 0; i < target->count; i++) { /* the first option names the architecture */
    fields[count++] = target->options[i];
  }
  for (i = 0; i < count; i++) {
    room += strlen(fields[i]) + 24;
  }
  *size = 0;
  key = (char *)mbi_allocate(context, room);
  for (i = 0; i < count && key != NULL; i++) {
    *size +=
        (size_t)snprintf(key + *size, room - *size, "%zu:%s\n", strlen(fields[i]), fields[i]);
  }
  return key;
}

/* ---- Compilation ------------------------------------------------------------------------- */

MBI_INTERNAL void mbi_texts_release(merbit_context *context, mbi_texts *texts) {
  size_t i;
  for (i = 0; i < MBI_SOURCES; i++) {
    mbi_release(context, texts->owned[i]);
  }
}

/* Joins the pieces of every embedded file. On failure the caller runs mbi_texts_release. */
MBI_INTERNAL merbit_status mbi_texts_create(merbit_context *context,
                                            const mbi_preamble *preamble, mbi_texts *texts) {
  size_t i, piece;
  memset(texts, 0, sizeof *texts);
  for (i = 0; i < MBI_SOURCES; i++) {
    const char *const *pieces = mbi_sources[i].pieces;
    size_t length = 0;
    void *joined = NULL;
    for (piece = 0; pieces[piece] != NULL; piece++) {
      length += strlen(pieces[piece]);
    }
    MBI_TRY(mbi_allocate_array(context, (int64_t)length + 1, 1, mbi_sources[i].name, &joined));
    texts->names[i] = mbi_sources[i].name;
    texts->texts[i] = texts->owned[i] = (char *)joined;
    length = 0;
    for (piece = 0; pieces[piece] != NULL; piece++) {
      memcpy(texts->owned[i] + length, pieces[piece], strlen(pieces[piece]));
      length += strlen(pieces[piece]);
    }
    texts->owned[i][length] = '\0';
  }
  texts->names[MBI_SOURCES] = MBI_PREAMBLE_NAME;
  texts->texts[MBI_SOURCES] = preamble->text;
  return MERBIT_OK;
}

/* Writes program text, log and image to the directory MERBIT_DUMP, under the cache's name.
 * Ignores failures. */
static void mbi_program_dump(merbit_context *context, const char *main_file,
                             const mbi_preamble *preamble, const mbi_target *target,
                             const char *log, const void *image, size_t size) {
  const char *directory = mbi_environment("MERBIT_DUMP");
  char hash[MBI_HASH_TEXT], name[64], include[128];
  char *key = NULL;
  size_t key_size;
  mbi_piece pieces[2];
  if (directory != NULL) {
    key = mbi_key_create(context, main_file, preamble, target, &key_size);
  }
  if (key == NULL) {
    return;
  }
  mbi_hash_text(mbi_hash_add(mbi_hash_start(), key, key_size), hash);
  mbi_release(context, key);
  (void)snprintf(include, sizeof include, "#include \"%s\"\n", main_file);
  pieces[0].data = preamble->text;
  pieces[0].size = preamble->length;
  pieces[1].data = include;
  pieces[1].size = strlen(include);
  (void)snprintf(name, sizeof name, "%s.cu", hash);
  (void)mbi_private_write(directory, name, pieces, 2);
  pieces[0].data = log != NULL ? log : "";
  pieces[0].size = log != NULL ? strlen(log) : 0;
  (void)snprintf(name, sizeof name, "%s.log", hash);
  (void)mbi_private_write(directory, name, pieces, 1);
  pieces[0].data = image;
  pieces[0].size = size;
  (void)snprintf(name, sizeof name, "%s.%s", hash, target->ptx ? "ptx" : "cubin");
  if (size > 0) {
    (void)mbi_private_write(directory, name, pieces, 1);
  }
}

/* Copies the cubin, or the PTX, of a compiled program. */
static merbit_status mbi_nvrtc_copy_image(merbit_context *context, void *program,
                                          const char *main_file, int ptx, void **image,
                                          size_t *size) {
  const mbi_nvrtc *nvrtc = &context->device.nvrtc;
  MBI_TRY(mbi_nvrtc_check(
      context, ptx ? nvrtc->get_ptx_size(program, size) : nvrtc->get_cubin_size(program, size),
      ptx ? "nvrtcGetPTXSize" : "nvrtcGetCUBINSize", main_file));
  if (*size == 0 || *size > MBI_CACHE_LARGEST) {
    return mbi_fail(context, MERBIT_COMPILE_ERROR, "NVRTC made an image of %zu bytes of %s",
                    *size, main_file);
  }
  MBI_TRY(mbi_allocate_array(context, (int64_t)*size, 1, "a compiled program", image));
  return mbi_nvrtc_check(context,
                         ptx ? nvrtc->get_ptx(program, (char *)*image)
                             : nvrtc->get_cubin(program, (char *)*image),
                         ptx ? "nvrtcGetPTX" : "nvrtcGetCUBIN", main_file);
}

/* Copies the image as mbi_nvrtc_copy_image does. After a failure *image is NULL. */
static merbit_status mbi_nvrtc_image(merbit_context *context, void *program,
                                     const char *main_file, int ptx, void **image,
                                     size_t *size) {
  const merbit_status status =
      mbi_nvrtc_copy_image(context, program, main_file, ptx, image, size);
  if (status != MERBIT_OK) {
    mbi_release(context, *image);
    *image = NULL;
    *size = 0;
  }
  return status;
}

/* Compiles a program that NVRTC has created. */
MBI_INTERNAL merbit_status mbi_nvrtc_run(merbit_context *context, void *program,
                                         const char *main_file, const mbi_preamble *preamble,
                                         const mbi_target *target, void **image, size_t *size) {
  const int result =
      context->device.nvrtc.compile_program(program, target->count, target->options);
  char *log = mbi_nvrtc_log(context, program);
  char first[360];
  merbit_status status;
  mbi_nvrtc_tell(context, log, first, sizeof first);
  if (result != 0 && result != MBI_NVRTC_OUT_OF_MEMORY && first[0] != '\0') {
    status = mbi_fail(context, MERBIT_COMPILE_ERROR, "NVRTC refused %s for %s: %s", main_file,
                      target->architecture + strlen("--gpu-architecture="), first);
  } else {
    status = mbi_nvrtc_check(context, result, "nvrtcCompileProgram", main_file);
  }
  if (status == MERBIT_OK) {
    status = mbi_nvrtc_image(context, program, main_file, target->ptx, image, size);
  }
  mbi_program_dump(context, main_file, preamble, target, log, *image, *size);
  mbi_release(context, log);
  return status;
}

/* Compiles `main_file` for a compute capability (90 is 9.0). NVRTC must be open; neither driver
 * nor GPU is needed. */
MBI_INTERNAL merbit_status mbi_program_compile(merbit_context *context, const char *main_file,
                                               const mbi_preamble *preamble, int capability,
                                               void **image, size_t *size) {
  const mbi_nvrtc *nvrtc = &context->device.nvrtc;
  mbi_target target;
  mbi_texts texts;
  char text[256];
  void *program = NULL;
  merbit_status status;
  *image = NULL;
  *size = 0;
  if (nvrtc->create_program == NULL) {
    return mbi_fail(
        context, MERBIT_NO_COMPILER,
        "there is no NVRTC, and the imported cache has no kernel of %s for this; make "
        "the same plan where NVRTC is, then merbit_cache_export and import again",
        main_file);
  }
  MBI_TRY(mbi_target_choose(context, main_file, preamble, capability, &target));
  status = mbi_texts_create(context, preamble, &texts);
  if (status == MERBIT_OK) {
    (void)snprintf(text, sizeof text, "#include \"" MBI_PREAMBLE_NAME "\"\n#include \"%s\"\n",
                   main_file);
    status =
        mbi_nvrtc_check(context,
                        nvrtc->create_program(&program, text, MBI_MAIN_NAME,
                                              (int)MBI_SOURCES + 1, texts.texts, texts.names),
                        "nvrtcCreateProgram", main_file);
  }
  if (status == MERBIT_OK) {
    status = mbi_nvrtc_run(context, program, main_file, preamble, &target, image, size);
    (void)nvrtc->destroy_program(&program);
  }
  mbi_texts_release(context, &texts);
  return status;
}

/* ---- Programs: from the cache or compiled, loaded into the current context --------------- */

/* Loads a cached image. If the driver refuses it, `module` stays NULL and the cache entry is
 * removed. */
static merbit_status mbi_program_load_cached(merbit_context *context, const char *key,
                                             size_t key_size, mbi_program *program) {
  void *image;
  size_t size;
  mbi_curesult result;
  if (!mbi_cache_load(context, key, key_size, &image, &size)) {
    return MERBIT_OK;
  }
  result = context->device.driver.module_load_data(&program->module, image);
  mbi_release(context, image);
  if (result == 0) {
    program->from_cache = 1;
    return MERBIT_OK;
  }
  program->module = NULL;
  if (result == MBI_CUDA_OUT_OF_MEMORY || mbi_device_fatal(result)) {
    return mbi_device_check(context, result, "cuModuleLoadData", "loading a cached program");
  }
  mbi_log(context, "the driver refuses a cached program (CUDA error %d): compiling it anew",
          result);
  mbi_cache_drop(context, key, key_size);
  return MERBIT_OK;
}

static merbit_status mbi_program_load_compiled(merbit_context *context, const char *main_file,
                                               const mbi_preamble *preamble, const char *key,
                                               size_t key_size, mbi_program *program) {
  const double start = mbi_seconds();
  void *image;
  size_t size;
  merbit_status status = mbi_program_compile(context, main_file, preamble,
                                             context->device.compute_capability, &image, &size);
  program->compile_seconds = mbi_seconds() - start;
  if (status == MERBIT_OK) {
    status = mbi_device_check(context,
                              context->device.driver.module_load_data(&program->module, image),
                              "cuModuleLoadData", "loading a compiled program");
    program->load_seconds = mbi_seconds() - start - program->compile_seconds;
  }
  if (status == MERBIT_OK) { /* store only what the driver has accepted */
    mbi_cache_store(context, key, key_size, image, size);
  } else {
    program->module = NULL;
  }
  mbi_release(context, image);
  return status;
}

/* Makes a specialisation of `main_file`, whose kernels mbi_program_kernel returns. The CUDA
 * context must be current. */
MBI_INTERNAL merbit_status mbi_program_create(merbit_context *context, const char *main_file,
                                              const mbi_preamble *preamble,
                                              mbi_program *program) {
  const double start = mbi_seconds();
  mbi_target target;
  char *key;
  size_t key_size;
  merbit_status status = MERBIT_OK;
  memset(program, 0, sizeof *program);
  MBI_TRY(mbi_device_alive(context));
  MBI_TRY(mbi_target_choose(context, main_file, preamble, context->device.compute_capability,
                            &target));
  key = mbi_key_create(context, main_file, preamble, &target, &key_size);
  if (key == NULL) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for the key of %s", main_file);
  }
  program->shared = mbi_loaded_take(context, key, key_size);
  if (program->shared != NULL) {
    program->module = program->shared->module;
    program->from_cache = 1;
  } else {
    status = mbi_program_load_cached(context, key, key_size, program);
  }
  program->load_seconds = mbi_seconds() - start;
  if (status == MERBIT_OK && !program->from_cache) {
    status = mbi_program_load_compiled(context, main_file, preamble, key, key_size, program);
  }
  if (status != MERBIT_OK) {
    memset(program, 0, sizeof *program);
  } else if (program->shared == NULL) {
    program->shared = mbi_loaded_share(context, key, key_size, program->module);
    key = program->shared != NULL ? NULL : key;
  }
  mbi_release(context, key);
  return status;
}

MBI_INTERNAL merbit_status mbi_program_kernel(merbit_context *context,
                                              const mbi_program *program, const char *name,
                                              void **function) {
  char attempt[128];
  merbit_status status;
  *function = NULL;
  MBI_TRY(mbi_device_alive(context));
  (void)snprintf(attempt, sizeof attempt, "finding kernel %s", name);
  status = mbi_device_check(
      context, context->device.driver.module_get_function(function, program->module, name),
      "cuModuleGetFunction", attempt);
  if (status != MERBIT_OK) {
    *function = NULL;
  }
  return status;
}

/* Destroys a program, which may be all zero. Modules of a lost device do not exist any more. */
MBI_INTERNAL void mbi_program_destroy(merbit_context *context, mbi_program *program) {
  if (program->shared != NULL) {
    mbi_loaded_leave(context, program->shared);
  } else if (program->module != NULL) {
    mbi_loaded_unload(context, program->module);
  }
  memset(program, 0, sizeof *program);
}
