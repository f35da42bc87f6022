/* Every kernel with the real NVRTC, which needs no GPU: one canonical specialisation of each
 * file for every architecture that NVRTC knows, all specialisations for sm_75, sm_90 and
 * sm_120. No register may be spilled, with a few exceptions in SLICED, DIAGONALS and SCAN. In
 * quick effort the seed selects a 96th of either, and of the latter at least one of each file;
 * 96 consecutive seeds select all. */
#include "support/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "jit/preambles.h"
#include "support/effort.h"
#include "support/gpus.h"

static int compiled;

/* Distributes the specialisations of each file among `parts` seeds, or among its number of
 * specialisations, if fewer, times `sparse`. The first pass of a test only counts them. */
enum { MOST_FILES = 64 };
static struct {
  int counting;
  unsigned parts, sparse, files;
  uint64_t seed;
  struct {
    const char *name;
    unsigned forms, seen;
  } file[MOST_FILES];
} dealt;

/* Runs compile_all twice, the first time to count. */
static void deal(void (*compile_all)(void), unsigned sparse) {
  memset(&dealt, 0, sizeof dealt);
  dealt.seed = test_rotating_seed();
  dealt.parts = (unsigned)test_effort(96, 1);
  dealt.sparse = sparse;
  dealt.counting = 1;
  compile_all();
  dealt.counting = 0;
  compile_all();
}

/* Returns 0 for one in `parts` consecutive specialisations of a file, at changing places,
 * because forms come in a periodic order. Consecutive files begin at different places. */
static int left_out(const char *file) {
  unsigned f = 0, at, parts, most;
  while (f < dealt.files && strcmp(dealt.file[f].name, file) != 0) {
    f++;
  }
  if (f == dealt.files) {
    assert_in_range(f, 0, MOST_FILES - 1);
    dealt.file[dealt.files++].name = file;
  }
  if (dealt.counting) {
    dealt.file[f].forms++;
    return 1;
  }
  most = dealt.file[f].forms * dealt.sparse;
  parts = most < dealt.parts ? most : dealt.parts;
  at = dealt.file[f].seen++;
  return (at + at / parts * 7 + f + dealt.seed) % parts != 0;
}

static int set_up(void **state) {
  merbit_context_desc desc;
  (void)state;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CPU;
  if (setenv("CUDA_CACHE_DISABLE", "1", 1) != 0) { /* NVRTC's own cache keeps no statistics */
    return 1;
  }
  if (merbit_context_create(&desc, &host, NULL) != MERBIT_OK) {
    return 1;
  }
  host->device.shared_bytes_per_block = gpus[0].shared_bytes;
  mbi_profile_estimate(gpus[0].multiprocessors, &gpus[0].facts, &host->device.estimate);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  print_message("%d specialisations compiled\n", compiled);
  mbi_device_close(host);
  merbit_context_destroy(host);
  return 0;
}

static void need_nvrtc(void) {
  if (host->device.nvrtc.library == NULL && mbi_nvrtc_open(host, NULL) != MERBIT_OK) {
    char sentence[MERBIT_MESSAGE_SIZE];
    (void)merbit_last_error(host, sentence, sizeof sentence);
    print_message("skipped: %s\n", sentence);
    skip();
  }
}

/* Returns whether the assembler's line at `line` is about a function that kernels call. One
 * thread runs it once per iteration, and the caller's registers that it saves count as
 * spilled. */
static int of_called_function(const char *log, const char *line) {
  static const char head[] = "Function properties for ";
  const char *at, *last = NULL;
  for (at = log; (at = strstr(at, head)) != NULL && at < line; at++) {
    last = at + sizeof head - 1;
  }
  return last != NULL && strncmp(last, "mbk_", 4) != 0;
}

/* Returns whether a kernel spills more than `most` bytes, according to the assembler's log. */
static int spilling(const char *log, long most) {
  const char *at;
  for (at = log; (at = strstr(at, " bytes spill stores")) != NULL; at++) {
    const char *number = at;
    while (number[-1] != ' ') {
      number--;
    }
    if (strtol(number, NULL, 10) > most && !of_called_function(log, at)) {
      return 1;
    }
  }
  return 0;
}

/* Compiles like the library, but asks the assembler for statistics. `part` is the part of the
 * program, or -1 for all. Returns the log, to be freed. */
static char *log_of(const char *file, const mbi_preamble *preamble, int capability, int part) {
  const mbi_nvrtc *nvrtc = &host->device.nvrtc;
  const char *options[8];
  char text[256], *log;
  void *program = NULL;
  mbi_target target;
  mbi_texts texts;
  size_t size = 0;
  int i, result;
  assert_int_equal(mbi_target_choose(host, file, preamble, capability, &target), MERBIT_OK);
  if (part >= 0) {
    mbi_target_take_part(&target, part);
  }
  assert_int_equal(mbi_texts_create(host, preamble, &texts), MERBIT_OK);
  for (i = 0; i < target.count; i++) {
    options[i] = target.options[i];
  }
  options[i++] = "--ptxas-options=-v";
  (void)snprintf(text, sizeof text, "#include \"" MBI_PREAMBLE_NAME "\"\n#include \"%s\"\n",
                 file);
  assert_int_equal(nvrtc->create_program(&program, text, MBI_MAIN_NAME, (int)MBI_SOURCES + 1,
                                         texts.texts, texts.names),
                   0);
  result = nvrtc->compile_program(program, i, options);
  assert_int_equal(nvrtc->get_log_size(program, &size), 0);
  log = (char *)calloc(size + 1, 1);
  assert_non_null(log);
  assert_int_equal(nvrtc->get_log(program, log), 0);
  if (result != 0) {
    fail_msg("%s for %d:\n%s\n%s", file, capability, preamble->text, log);
  }
  assert_non_null(strstr(log, " bytes spill stores"));
  assert_int_equal(nvrtc->destroy_program(&program), 0);
  mbi_texts_release(host, &texts);
  compiled++;
  return log;
}

/* Fails if a kernel spills. Four files may spill a few numbers in a few forms: SLICED with a
 * warp per slice and DIAGONALS do not say how many blocks should be resident, so that the
 * assembler weighs registers against blocks; SLICED with shared slices and SCAN's two files,
 * whose code is there twice, ask for as many blocks as nearly all of their forms allow. */
static void compile(const char *file, const mbi_preamble *preamble, int capability) {
  static const struct {
    const char *file;
    long bytes;
  } allowed[] = {{"spmv/gpu/sliced/sliced.cu", 12},
                 {"spmv/gpu/diagonals/diagonals.cu", 8},
                 {"spmv/gpu/scan/whole.cu", 8},
                 {"spmv/gpu/scan/scan.cu", 20}};
  long most = 0;
  size_t i;
  char *log;
  if (left_out(file)) {
    return;
  }
  for (i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
    most = strcmp(file, allowed[i].file) == 0 ? allowed[i].bytes : most;
  }
  log = log_of(file, preamble, capability, -1);
  if (spilling(log, most)) {
    fail_msg("%s for %d spills:\n%s\n%s", file, capability, preamble->text, log);
  }
  free(log);
}

/* Returns the number of kernels in the assembler's log. If `whole` is not NULL, each of them
 * must be there, too. */
static int kernels_of(const char *log, const char *whole) {
  static const char head[] = "Compiling entry function '";
  const char *at = log;
  int count = 0;
  while ((at = strstr(at, head)) != NULL) {
    char line[200];
    (void)snprintf(line, sizeof line, "%.*s'", (int)strcspn(at + sizeof head - 1, "'"),
                   at + sizeof head - 1);
    assert_true(whole == NULL || strstr(whole, line) != NULL);
    at += sizeof head;
    count++;
  }
  return count;
}

/* Expects that every kernel of a file is in one of its parts, and that no part is empty. */
static void expect_parts(const char *file, int parts, const mbi_preamble *preamble) {
  char *const whole = log_of(file, preamble, 90, -1);
  const int all = kernels_of(whole, NULL);
  int sum = 0, part;
  for (part = 0; part < parts; part++) {
    char *const log = log_of(file, preamble, 90, part);
    const int count = kernels_of(log, whole);
    if (count == 0 || count == all) {
      fail_msg("part %d of %s has %d of %d kernels", part, file, count, all);
    }
    sum += count;
    free(log);
  }
  if (sum != all) {
    fail_msg("the parts of %s have %d kernels, all of it %d", file, sum, all);
  }
  free(whole);
}

/* Compiles the files that inspect a CSR. */
static void compile_csr(int form, int capability) {
  static const char *const files[] = {
      "spmv/shared/csr_blocks.cu",  "spmv/shared/csr_check.cu",
      "spmv/shared/csr_columns.cu", "spmv/shared/csr_hash.cu",
      "spmv/shared/csr_sample.cu",  "spmv/shared/nonempty_rows.cu",
      "spmv/stages/value_check.cu", "spmv/stages/value_groups.cu",
      "spmv/stages/value_sample.cu"};
  mbi_preamble preamble;
  size_t i;
  arrays_preamble(form, &preamble);
  for (i = 0; i < sizeof files / sizeof files[0]; i++) {
    compile(files[i], &preamble, capability);
  }
}

/* Compiles every shape up to 8 x 8 on the diagonal, and odd ones, with x loaded in both ways.
 * In quick effort each shape in half of the forms, in the others for the next architecture. */
static void compile_blocks(int capability) {
  static const int shapes[][2] = {{1, 1}, {2, 2},  {3, 3},   {4, 4},   {5, 5},   {6, 6},
                                  {7, 7}, {8, 8},  {16, 16}, {3, 5},   {16, 1},  {1, 16},
                                  {9, 9}, {33, 2}, {13, 7},  {64, 64}, {11, 13}, {32, 32}};
  const int all = test_effort(0, 1);
  mbi_preamble preamble;
  size_t s;
  for (s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
    const int rows = shapes[s][0], cols = shapes[s][1], odd = s % 2 != 0;
    const int turn = (int)s / 2 + (capability == 90 ? 1 : 0);
    if (turn % 2 == 0 || all) {
      bsr_preamble(MERBIT_F64, 0, rows, cols, 0, &preamble);
      compile("spmv/gpu/bsr/bsr.cu", &preamble, capability);
      bsr_preamble(MERBIT_F32, odd ? 32 + 64 + 4 : 8 + 16 + 1, rows, cols, odd ? 0 : 1,
                   &preamble);
      compile("spmv/gpu/bsr/bsr.cu", &preamble, capability);
    }
    if (turn % 2 != 0 || all) {
      bsr_preamble(MERBIT_F32, 0, rows, cols, 0, &preamble);
      compile("spmv/gpu/bsr/bsr.cu", &preamble, capability);
      bsr_preamble(MERBIT_F64, odd ? 8 + 16 : 32 + 64, rows, cols, odd ? 1 : 0, &preamble);
      compile("spmv/gpu/bsr/bsr.cu", &preamble, capability);
    }
  }
}

#include "jit/epilogues.h"
#include "jit/solvers.h"
#include "jit/studies.h"
#include "jit/values.h"

/* Compiles several vectors, row-major and column-major; in quick effort each number in a few
 * forms, in others for the next architecture. */
static void compile_many(int capability) {
  static const int counts[] = {8, 2, 64, 5, 16, 3, 33, 4, 32, 7, 17};
  const int all = test_effort(0, 1);
  mbi_preamble preamble;
  int c, turn = capability == 90 ? 0 : 1;
  for (c = 0; c < (int)(sizeof counts / sizeof counts[0]); c++) {
    int form;
    for (form = 0; form < 256; form += 8) {
      const int spread = (form ^ (form >> 3 & 31) ^ turn) & 255;
      if (all || (turn++ % 29 == 0 && capability == 90) || turn % 53 == 0) {
        const merbit_type type = turn % 2 ? MERBIT_F32 : MERBIT_F64;
        many_preamble(type, spread, counts[c], 0, &preamble);
        compile("spmv/gpu/many/many.cu", &preamble, capability);
        if ((all || turn % 2) &&
            counts[c] * (int)mbi_type_size(type) <= 32) { /* else in runs */
          many_preamble(type, spread | 256, counts[c], 0, &preamble);
          compile("spmv/gpu/many/rows.cu", &preamble, capability);
        }
      }
    }
  }
  for (c = 0; c < 4; c++) { /* as most matrices do */
    many_preamble(c % 2 ? MERBIT_F32 : MERBIT_F64, c / 2 * 64, 8, 0, &preamble);
    compile("spmv/gpu/many/many.cu", &preamble, capability);
    many_preamble(c % 2 ? MERBIT_F32 : MERBIT_F64, c / 2 * 64 + 256, c % 2 ? 8 : 4, 0,
                  &preamble);
    compile("spmv/gpu/many/rows.cu", &preamble, capability);
  }
}

static void compile_methods(int form, int capability) {
  const merbit_type type = (form ^ form >> 1 ^ form >> 4) & 1 ? MERBIT_F32 : MERBIT_F64;
  mbi_preamble preamble;
  scan_preamble(type, form, 0, form & 4 ? 512 : 0, form & 8 ? 32 : 5, &preamble);
  compile("spmv/gpu/scan/scan.cu", &preamble, capability);
  whole_preamble(type, form, form & 4 ? 8 : 4, form & 4 ? 1024 : 512, &preamble);
  compile("spmv/gpu/scan/whole.cu", &preamble, capability);
  linked_preamble(type, form, form & 4 ? 8 : 2, form & 4 ? 1024 : 128, &preamble);
  compile("spmv/gpu/scan/linked.cu", &preamble, capability);
  twice_preamble(type, form & ~8, &preamble);
  compile("spmv/gpu/scan/scan.cu", &preamble, capability);
  dots_preamble(type, form, &preamble);
  compile("spmv/gpu/scan/scan.cu", &preamble, capability);
  if (form % 2 == 0) {
    rows_preamble(type, form, 0, 1 << form % 6, 0, &preamble);
    compile("spmv/gpu/rows/rows.cu", &preamble, capability);
    sliced_preamble(type, form, 0, 0, &preamble);
    compile("spmv/gpu/sliced/sliced.cu", &preamble, capability);
    diagonals_preamble(type, form, 0, 0, &preamble);
    compile("spmv/gpu/diagonals/diagonals.cu", &preamble, capability);
  }
  merge_preamble(type, form, 0, form & 4 ? 4 : 1, form & 8 ? 512 : 0, &preamble);
  compile("spmv/gpu/merge/merge.cu", &preamble, capability);
  cb_preamble(type, form, form & 4 ? 512 : 0, &preamble);
  compile("spmv/gpu/cb/cb.cu", &preamble, capability);
  binned_preamble(type, form | (form & 2) << 5, 0, 0, &preamble);
  compile("spmv/gpu/binned/binned.cu", &preamble, capability);
  hubs_preamble(type, form, 0, form & 4 ? 512 : 0, &preamble);
  compile("spmv/gpu/hubs/hubs.cu", &preamble, capability);
}

static void compile_for_every_architecture(void) {
  int archs[64], count = 0, i;
  mbi_preamble preamble;
  assert_int_equal(host->device.nvrtc.get_num_archs(&count), 0);
  assert_in_range(count, 1, 64);
  assert_int_equal(host->device.nvrtc.get_archs(archs), 0);
  for (i = 0; i < count; i++) {
    host->device.compute_capability = archs[i];
    merbit_preamble(MERBIT_F64, 0, 0, 0, 0, &preamble);
    compile("spmv/gpu/merbit/merbit.cu", &preamble, archs[i]);
    scan_preamble(MERBIT_F32, 0, 0, 0, 32, &preamble);
    compile("spmv/gpu/scan/scan.cu", &preamble, archs[i]);
    whole_preamble(MERBIT_F32, 0, 8, 512, &preamble);
    compile("spmv/gpu/scan/whole.cu", &preamble, archs[i]);
    linked_preamble(MERBIT_C64, 0, 8, 1024, &preamble);
    compile("spmv/gpu/scan/linked.cu", &preamble, archs[i]);
    rows_preamble(MERBIT_F64, 0, 8, 4, 0, &preamble);
    compile("spmv/gpu/rows/rows.cu", &preamble, archs[i]);
    merge_preamble(MERBIT_F64, 0, 0, 0, 0, &preamble);
    compile("spmv/gpu/merge/merge.cu", &preamble, archs[i]);
    scan_preamble(MERBIT_C128, 0, 0, 0, 32, &preamble);
    compile("spmv/gpu/scan/scan.cu", &preamble, archs[i]);
    merge_preamble(MERBIT_C64, 0, 0, 0, 0, &preamble);
    compile("spmv/gpu/merge/merge.cu", &preamble, archs[i]);
    sliced_preamble(MERBIT_F64, 0, 0, 0, &preamble);
    compile("spmv/gpu/sliced/sliced.cu", &preamble, archs[i]);
    diagonals_preamble(MERBIT_F64, 0, 0, 0, &preamble);
    compile("spmv/gpu/diagonals/diagonals.cu", &preamble, archs[i]);
    cb_preamble(MERBIT_F64, 32, 0, &preamble);
    compile("spmv/gpu/cb/cb.cu", &preamble, archs[i]);
    binned_preamble(MERBIT_F64, 0, 0, 0, &preamble);
    compile("spmv/gpu/binned/binned.cu", &preamble, archs[i]);
    bsr_preamble(MERBIT_F64, 0, 5, 5, 0, &preamble);
    compile("spmv/gpu/bsr/bsr.cu", &preamble, archs[i]);
    hubs_preamble(MERBIT_F32, 0, 0, 0, &preamble);
    compile("spmv/gpu/hubs/hubs.cu", &preamble, archs[i]);
    many_preamble(MERBIT_F64, 64, 8, 0, &preamble);
    compile("spmv/gpu/many/many.cu", &preamble, archs[i]);
    many_preamble(MERBIT_F32, 64 + 256, 8, 0, &preamble);
    compile("spmv/gpu/many/rows.cu", &preamble, archs[i]);
    compile_csr(0, archs[i]);
    profile_preamble(&preamble);
    compile("jit/profile.cu", &preamble, archs[i]);
    extract_preamble(0, &preamble);
    compile("spmv/stages/extract_blocks.cu", &preamble, archs[i]);
    full_preamble(0, &preamble);
    compile("spmv/stages/full_blocks.cu", &preamble, archs[i]);
    reorder_preamble(0, &preamble);
    compile("spmv/stages/reorder.cu", &preamble, archs[i]);
    transpose_preamble(0, &preamble);
    compile("spmv/stages/transpose.cu", &preamble, archs[i]);
    compile_epilogue(3, MERBIT_F64, archs[i]);
    compile_solvers(MERBIT_F64, archs[i]);
  }
}

static void every_architecture_takes_every_file(void **state) {
  (void)state;
  need_nvrtc();
  deal(compile_for_every_architecture, 3);
}

/* Eight blocks of 256 threads leave 32 registers per thread, too few for eight vectors. */
static void spills_are_seen(void **state) {
  mbi_preamble preamble;
  char *blocks, *log;
  (void)state;
  need_nvrtc();
  many_preamble(MERBIT_F32, 0, 8, 256, &preamble);
  blocks = strstr(preamble.text, "#define MBK_BLOCKS ");
  assert_non_null(blocks);
  blocks[strlen("#define MBK_BLOCKS ")] = '8';
  log = log_of("spmv/gpu/many/many.cu", &preamble, 90, -1);
  assert_true(spilling(log, 8));
  free(log);
}

static void compile_every_form(void) {
  static const int capabilities[] = {75, 90, 120};
  static const int shapes[][3] = {{7, 32, 128},  {14, 32, 128}, {14, 16, 256}, {5, 8, 64},
                                  {28, 32, 128}, {42, 32, 128}, {1, 32, 128},  {46, 8, 128}};
  static const int steps[] = {4, 8, 12, 16, 24, 32}, whole_steps[] = {6, 10, 12};
  mbi_preamble preamble;
  size_t c, s;
  int form;
  for (c = 0; c < sizeof capabilities / sizeof capabilities[0]; c++) {
    if (mbi_nvrtc_architecture(&host->device.nvrtc, capabilities[c]) != capabilities[c]) {
      continue;
    }
    host->device.compute_capability = capabilities[c];
    for (form = 0; form < 32; form++) {
      merbit_preamble(form & 1 ? MERBIT_F32 : MERBIT_F64, form, 0, 0, 0, &preamble);
      compile("spmv/gpu/merbit/merbit.cu", &preamble, capabilities[c]);
    }
    for (s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
      merbit_preamble(MERBIT_F32, 0, shapes[s][0], shapes[s][1], shapes[s][2], &preamble);
      compile("spmv/gpu/merbit/merbit.cu", &preamble, capabilities[c]);
      merbit_preamble(MERBIT_F64, 8, shapes[s][0], shapes[s][1], shapes[s][2], &preamble);
      compile("spmv/gpu/merbit/merbit.cu", &preamble, capabilities[c]);
    }
    for (form = 0; form < 64; form += 4) {
      const uint64_t nnz = form & 32 ? 3000000 : 30000000;
      large_preamble(MERBIT_F32, form, nnz, 0, &preamble);
      compile("spmv/gpu/scan/scan.cu", &preamble, capabilities[c]);
      large_preamble(MERBIT_F64, form, nnz, 0, &preamble);
      compile("spmv/gpu/scan/scan.cu", &preamble, capabilities[c]);
      large_preamble(MERBIT_F32, form ^ 32, nnz, 0, &preamble);
      compile("spmv/gpu/scan/scan.cu", &preamble, capabilities[c]);
      large_preamble(MERBIT_F64, form ^ 32, nnz, 0, &preamble);
      compile("spmv/gpu/scan/scan.cu", &preamble, capabilities[c]);
      large_preamble(MERBIT_F32, form, 30000000, 1, &preamble); /* scattered */
      compile("spmv/gpu/scan/scan.cu", &preamble, capabilities[c]);
    }
    for (form = 0; form < 16; form += 4) { /* general matrices that fit in L2 */
      for (s = 0; s < sizeof whole_steps / sizeof whole_steps[0]; s++) {
        if (!(form & 8) || whole_steps[s] % 4 == 0) { /* else no whole packs of floats */
          whole_preamble(MERBIT_F32, form, whole_steps[s], form & 4 ? 768 : 1024, &preamble);
          compile("spmv/gpu/scan/whole.cu", &preamble, capabilities[c]);
        }
        if (whole_steps[s] <= 8 || capabilities[c] < 100) {
          whole_preamble(MERBIT_F64, form, whole_steps[s], form & 4 ? 768 : 1024, &preamble);
          compile("spmv/gpu/scan/whole.cu", &preamble, capabilities[c]);
        }
      }
    }
    /* Every pair of bits in all combinations; for other architectures than 9.0 a third of them
     * in quick effort. */
    for (form = 0; form < 64; form += capabilities[c] == 90 ? 3 : test_effort(9, 3)) {
      compile_methods(form, capabilities[c]);
    }
    for (s = 0; s < sizeof steps / sizeof steps[0]; s++) {
      scan_preamble(MERBIT_F32, 32, steps[s], 512, 32, &preamble);
      compile("spmv/gpu/scan/scan.cu", &preamble, capabilities[c]);
      scan_preamble(MERBIT_F64, 0, steps[s], 128, 32, &preamble);
      compile("spmv/gpu/scan/scan.cu", &preamble, capabilities[c]);
      if (steps[s] <= MBI_MERGE_STEPS) {
        merge_preamble(MERBIT_F32, 8, steps[s], 2, 512, &preamble);
        compile("spmv/gpu/merge/merge.cu", &preamble, capabilities[c]);
        merge_preamble(MERBIT_F64, 0, steps[s], 1, 128, &preamble);
        compile("spmv/gpu/merge/merge.cu", &preamble, capabilities[c]);
      }
      rows_preamble(MERBIT_F64, 0, steps[s], 32, 256, &preamble);
      compile("spmv/gpu/rows/rows.cu", &preamble, capabilities[c]);
      sliced_preamble(s % 2 ? MERBIT_F32 : MERBIT_F64, 0, steps[s] / 2, 256, &preamble);
      compile("spmv/gpu/sliced/sliced.cu", &preamble, capabilities[c]);
    }
    compile_blocks(capabilities[c]);
    compile_values(capabilities[c]);
    compile_many(capabilities[c]);
    compile_types(capabilities[c]);
    compile_semirings(capabilities[c]);
    compile_epilogues(capabilities[c]);
    if (capabilities[c] == 90) {
      compile_studies(capabilities[c]);
      compile_csr_studies(capabilities[c]);
    }
    for (form = 0; form < 8; form++) {
      compile_csr(form, capabilities[c]);
      extract_preamble(form, &preamble);
      compile("spmv/stages/extract_blocks.cu", &preamble, capabilities[c]);
      full_preamble(form, &preamble);
      compile("spmv/stages/full_blocks.cu", &preamble, capabilities[c]);
    }
    for (form = 0; form < 4; form++) {
      reorder_preamble(form, &preamble);
      compile("spmv/stages/reorder.cu", &preamble, capabilities[c]);
      transpose_preamble(form, &preamble);
      compile("spmv/stages/transpose.cu", &preamble, capabilities[c]);
    }
    compile_solvers(MERBIT_F32, capabilities[c]);
    compile_solvers(MERBIT_F64, capabilities[c]);
    profile_preamble(&preamble);
    compile("jit/profile.cu", &preamble, capabilities[c]);
  }
}

static void every_form_compiles_without_spills(void **state) {
  (void)state;
  need_nvrtc();
  deal(compile_every_form, 1);
}

/* The files that plans compile in parts; one of them in quick effort. */
static void parts_share_the_kernels(void **state) {
  const uint64_t seed = test_rotating_seed();
  const int most = test_effort(1, 7);
  int i;
  (void)state;
  need_nvrtc();
  for (i = 0; i < most; i++) {
    mbi_preamble preamble;
    switch ((seed + (uint64_t)i) % 7) {
    case 0:
      scan_preamble(MERBIT_F32, 0, 0, 0, 100, &preamble);
      expect_parts("spmv/gpu/scan/scan.cu", 3, &preamble);
      break;
    case 1:
      whole_preamble(MERBIT_F32, 0, 0, 0, &preamble);
      expect_parts("spmv/gpu/scan/whole.cu", 3, &preamble);
      break;
    case 2:
      hubs_preamble(MERBIT_F32, 0, 0, 0, &preamble);
      expect_parts("spmv/gpu/hubs/hubs.cu", 3, &preamble);
      break;
    case 3:
      binned_preamble(MERBIT_F32, 0, 0, 0, &preamble);
      expect_parts("spmv/gpu/binned/binned.cu", 3, &preamble);
      break;
    case 4:
      merge_preamble(MERBIT_F32, 0, 0, 0, 0, &preamble);
      expect_parts("spmv/gpu/merge/merge.cu", 3, &preamble);
      break;
    case 5:
      sliced_preamble(MERBIT_F32, 0, 0, 0, &preamble);
      expect_parts("spmv/gpu/sliced/sliced.cu", 2, &preamble);
      break;
    default:
      bsr_preamble(MERBIT_F32, 0, 3, 3, 0, &preamble);
      expect_parts("spmv/gpu/bsr/bsr.cu", 2, &preamble);
      break;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_share_the_kernels),
      cmocka_unit_test(every_architecture_takes_every_file),
      cmocka_unit_test(spills_are_seen),
      cmocka_unit_test(every_form_compiles_without_spills),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
