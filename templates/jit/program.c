#include "core/context.h"
#include "jit/sources.h"
#include "jit/jit.h"

/* Kernel programs: preamble, key, compilation by NVRTC, loading of cubins. Compiling takes most
 * of the time of a plan whose kernels are in no cache. Therefore a plan requests all programs
 * at once that it will surely use, a program may have several parts (jit/device.cuh), and the
 * context's threads compile all these parts side by side. */

/* ---- Preamble: the #defines of one specialisation ---------------------------------------- */

MBI_NOINLINE MBI_INTERNAL void mbi_preamble_define(mbi_preamble *preamble, const char *name,
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

MBI_NOINLINE MBI_INTERNAL void mbi_preamble_define_int(mbi_preamble *preamble, const char *name,
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
  target->options[2] = "--no-source-include"; /* find embedded files only */
  target->count = nvrtc->version >= MBI_NO_SOURCE_INCLUDE ? 3 : 2;
  target->part[0] = '\0';
  return MERBIT_OK;
}

/* Restricts a target to one part of the program. */
MBI_INTERNAL void mbi_target_take_part(mbi_target *target, int part) {
  (void)snprintf(target->part, sizeof target->part, "-DMBK_PROGRAM_PART=%d", part);
  target->options[target->count++] = target->part;
}

/* ---- Key: everything that determines the image ------------------------------------------- */

/* Returns the key of a program, or NULL if there is no memory. It is a list of fields, each
 * preceded by its length. */
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
  for (i = 0; i < target->count; i++) { /* the first option is the architecture */
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

/* Joins the pieces of each embedded file. On failure the caller runs mbi_texts_release. */
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

/* Writes the program's text, log and image to the directory in MERBIT_DUMP, under the hash that
 * names them in the cache. Logs a failure, and goes on. */
static void mbi_program_dump(merbit_context *context, const char *main_file,
                             const mbi_preamble *preamble, const mbi_target *target,
                             const char *log, const void *image, size_t size) {
  const char *directory = mbi_environment("MERBIT_DUMP");
  char hash[MBI_HASH_TEXT], name[64], include[160];
  char *key = NULL;
  size_t key_size;
  mbi_piece pieces[2];
  int error, another;
  if (directory != NULL) {
    key = mbi_key_create(context, main_file, preamble, target, &key_size);
  }
  if (key == NULL) {
    return;
  }
  mbi_hash_text(mbi_hash_add(mbi_hash_start(), key, key_size), hash);
  mbi_release(context, key);
  (void)snprintf(include, sizeof include, "%s%s\n#include \"%s\"\n",
                 target->part[0] != '\0' ? "#define MBK_PROGRAM_PART " : "",
                 target->part[0] != '\0' ? strchr(target->part, '=') + 1 : "", main_file);
  pieces[0].data = preamble->text;
  pieces[0].size = preamble->length;
  pieces[1].data = include;
  pieces[1].size = strlen(include);
  (void)snprintf(name, sizeof name, "%s.cu", hash);
  error = mbi_private_write(directory, name, pieces, 2);
  pieces[0].data = log != NULL ? log : "";
  pieces[0].size = log != NULL ? strlen(log) : 0;
  (void)snprintf(name, sizeof name, "%s.log", hash);
  another = mbi_private_write(directory, name, pieces, 1);
  error = error != 0 ? error : another;
  pieces[0].data = image;
  pieces[0].size = size;
  (void)snprintf(name, sizeof name, "%s.%s", hash, target->ptx ? "ptx" : "cubin");
  another = size > 0 ? mbi_private_write(directory, name, pieces, 1) : 0;
  error = error != 0 ? error : another;
  if (error != 0) {
    mbi_log(context, "cannot write to %.300s, the directory in MERBIT_DUMP: %s", directory,
            strerror(error));
  }
}

/* Copies the cubin or PTX of a compiled program to *image, which the caller releases. */
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

/* Copies the image like mbi_nvrtc_copy_image, but leaves *image NULL after a failure. */
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

/* Compiles a program that NVRTC has created, and logs and dumps the results. */
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

/* Compiles `main_file` for a target. NVRTC must be open; neither driver nor GPU is needed. */
MBI_INTERNAL merbit_status mbi_program_compile(merbit_context *context, const char *main_file,
                                               const mbi_preamble *preamble,
                                               const mbi_target *target, void **image,
                                               size_t *size) {
  const mbi_nvrtc *nvrtc = &context->device.nvrtc;
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
    status = mbi_nvrtc_run(context, program, main_file, preamble, target, image, size);
    (void)nvrtc->destroy_program(&program);
  }
  mbi_texts_release(context, &texts);
  return status;
}

/* ---- Units: parts of programs while they are made ---------------------------------------- */

/* Returns whether a CUDA result means that the driver cannot use an image, now or later. */
static int mbi_image_refused(mbi_curesult result) {
  switch (result) {
  case 200: /* INVALID_IMAGE */
  case 209: /* NO_BINARY_FOR_GPU */
  case 218: /* INVALID_PTX */
  case 222: /* UNSUPPORTED_PTX_VERSION */
  case 300: /* INVALID_SOURCE */
    return 1;
  default:
    return 0;
  }
}

/* Loads a cached image. If there is none, or if the driver refuses it, part->module stays NULL.
 * A refused image is removed from the cache; after any other failure it stays. */
static merbit_status mbi_unit_load_cached(mbi_unit *unit) {
  merbit_context *context = unit->context;
  void *image;
  size_t size;
  mbi_curesult result;
  if (!mbi_cache_load(context, unit->key, unit->key_size, &image, &size)) {
    return MERBIT_OK;
  }
  result = context->device.driver.module_load_data(&unit->part->module, image);
  mbi_release(context, image);
  if (result == 0) {
    return MERBIT_OK;
  }
  unit->part->module = NULL;
  if (!mbi_image_refused(result)) {
    return mbi_device_check(context, result, "cuModuleLoadData", "loading a cached program");
  }
  mbi_log(context, "the driver refuses a cached program (CUDA error %d): compiling it anew",
          result);
  mbi_cache_drop(context, unit->key, unit->key_size);
  return MERBIT_OK;
}

/* Takes a unit's module from the loaded ones or from the disk cache. If neither has it,
 * part->module stays NULL. */
static merbit_status mbi_unit_find(mbi_unit *unit) {
  merbit_context *context = unit->context;
  const mbi_program_wish *wish = unit->wish;
  MBI_TRY(mbi_target_choose(context, wish->file, wish->preamble,
                            context->device.compute_capability, &unit->target));
  if (wish->parts > 1) {
    mbi_target_take_part(&unit->target, (int)(unit->part - wish->program->parts));
  }
  unit->key =
      mbi_key_create(context, wish->file, wish->preamble, &unit->target, &unit->key_size);
  if (unit->key == NULL) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for the key of %s", wish->file);
  }
  unit->part->shared = mbi_loaded_take(context, unit->key, unit->key_size);
  if (unit->part->shared != NULL) {
    unit->part->module = unit->part->shared->module;
    return MERBIT_OK;
  }
  return mbi_unit_load_cached(unit);
}

static merbit_status mbi_unit_compile(mbi_unit *unit) {
  return mbi_program_compile(unit->context, unit->wish->file, unit->wish->preamble,
                             &unit->target, &unit->image, &unit->image_size);
}

/* Compiles one of several units, as a task of mbi_parallel. Stores a failure in the unit,
 * because the thread that makes the programs must report it. */
static void mbi_unit_compile_task(void *argument, int index) {
  mbi_unit *unit = ((mbi_unit *const *)argument)[index];
  unit->failure.status = mbi_unit_compile(unit);
  if (unit->failure.status != MERBIT_OK) {
    mbi_error_clear(unit->context, unit->failure.message, sizeof unit->failure.message);
  }
}

/* Compiles all units, side by side if there are several. */
static merbit_status mbi_units_compile(mbi_unit **units, int count) {
  int i;
  if (count == 1) {
    return mbi_unit_compile(units[0]);
  }
  mbi_parallel(units[0]->context, count, mbi_unit_compile_task, units);
  for (i = 0; i < count; i++) {
    const merbit_error *failure = &units[i]->failure;
    if (failure->status != MERBIT_OK) {
      return mbi_fail(units[i]->context, failure->status, "%s", failure->message);
    }
  }
  return MERBIT_OK;
}

static merbit_status mbi_unit_load(mbi_unit *unit) {
  merbit_context *context = unit->context;
  const merbit_status status = mbi_device_check(
      context, context->device.driver.module_load_data(&unit->part->module, unit->image),
      "cuModuleLoadData", "loading a compiled program");
  if (status != MERBIT_OK) {
    unit->part->module = NULL;
    return status;
  }
  /* Store only images that the driver has accepted. */
  mbi_cache_store(context, unit->key, unit->key_size, unit->image, unit->image_size);
  return MERBIT_OK;
}

/* Finds the modules of all units. Compiles and loads those that are in no cache. */
static merbit_status mbi_units_make(mbi_unit *units, int count, mbi_program_times *times) {
  mbi_unit *missing[MBI_WISHES * MBI_PARTS];
  double start = mbi_seconds(), now;
  int left = 0, i;
  for (i = 0; i < count; i++) {
    MBI_TRY(mbi_unit_find(&units[i]));
    if (units[i].part->module == NULL) {
      units[i].wish->program->from_cache = 0;
      missing[left++] = &units[i];
    }
  }
  now = mbi_seconds();
  times->load += now - start;
  if (left == 0) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_units_compile(missing, left));
  start = mbi_seconds();
  times->compile += start - now;
  for (i = 0; i < left; i++) {
    MBI_TRY(mbi_unit_load(missing[i]));
  }
  times->load += mbi_seconds() - start;
  return MERBIT_OK;
}

/* Shares the module of a unit with other plans and releases what was needed to make it. */
static void mbi_unit_finish(mbi_unit *unit) {
  mbi_part *part = unit->part;
  if (part->module != NULL && part->shared == NULL) {
    part->shared = mbi_loaded_share(unit->context, unit->key, unit->key_size, part->module);
    unit->key = part->shared != NULL ? NULL : unit->key;
  }
  mbi_release(unit->context, unit->key);
  mbi_release(unit->context, unit->image);
}

/* ---- Programs ---------------------------------------------------------------------------- */

/* Destroys a program, which may be all zero. The modules of a lost device are already gone. */
MBI_INTERNAL void mbi_program_destroy(merbit_context *context, mbi_program *program) {
  int i;
  for (i = 0; i < MBI_PARTS; i++) {
    if (program->parts[i].shared != NULL) {
      mbi_loaded_leave(context, program->parts[i].shared);
    } else if (program->parts[i].module != NULL) {
      mbi_loaded_unload(context, program->parts[i].module);
    }
  }
  memset(program, 0, sizeof *program);
}

/* Makes up to MBI_WISHES programs. Those that are in no cache are compiled side by side. Adds
 * the time spent to *times. The CUDA context must be current. On failure no program is made. */
MBI_INTERNAL merbit_status mbi_programs_create(merbit_context *context,
                                               const mbi_program_wish *wishes, int count,
                                               mbi_program_times *times) {
  mbi_unit units[MBI_WISHES * MBI_PARTS];
  merbit_status status;
  int made = 0, i, part;
  memset(units, 0, sizeof units);
  for (i = 0; i < count; i++) {
    memset(wishes[i].program, 0, sizeof *wishes[i].program);
    wishes[i].program->from_cache = 1;
    for (part = 0; part < wishes[i].parts; part++) {
      units[made].context = context;
      units[made].wish = &wishes[i];
      units[made++].part = &wishes[i].program->parts[part];
    }
  }
  status = mbi_device_alive(context);
  if (status == MERBIT_OK) {
    status = mbi_units_make(units, made, times);
  }
  for (i = 0; i < made; i++) {
    mbi_unit_finish(&units[i]);
  }
  for (i = 0; i < count && status != MERBIT_OK; i++) {
    mbi_program_destroy(context, wishes[i].program);
  }
  return status;
}

/* Makes a program of one part. */
MBI_NOINLINE MBI_INTERNAL merbit_status mbi_program_create(merbit_context *context,
                                                           const char *main_file,
                                                           const mbi_preamble *preamble,
                                                           mbi_program *program) {
  const mbi_program_wish wish = {main_file, preamble, 1, program};
  mbi_program_times times = {0, 0};
  return mbi_programs_create(context, &wish, 1, &times);
}

/* Finds a kernel in one part of a program. */
MBI_INTERNAL merbit_status mbi_program_part_kernel(merbit_context *context,
                                                   const mbi_program *program, int part,
                                                   const char *name, void **function) {
  char attempt[128];
  merbit_status status;
  *function = NULL;
  MBI_TRY(mbi_device_alive(context));
  (void)snprintf(attempt, sizeof attempt, "finding kernel %s", name);
  status = mbi_device_check(
      context,
      context->device.driver.module_get_function(function, program->parts[part].module, name),
      "cuModuleGetFunction", attempt);
  if (status != MERBIT_OK) {
    *function = NULL;
  }
  return status;
}

/* Finds a kernel in the first part of a program. */
MBI_INTERNAL merbit_status mbi_program_kernel(merbit_context *context,
                                              const mbi_program *program, const char *name,
                                              void **function) {
  return mbi_program_part_kernel(context, program, 0, name, function);
}
