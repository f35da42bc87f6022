#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/cpu/cpu.h"
#include "spmv/gpu/bsr/bsr.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"

/* Extracts blocks from a CSR in GPU memory. Blocks with holes get masks. The result has the
 * same arrays as matrix/blocks.c makes on the CPU. The columns of each row must ascend;
 * duplicates are added up. */

/* Rows of blocks per partial sum, as in spmv/stages/extract_blocks.cu. */
#define MBI_EXTRACT_CHUNK 1024

enum {
  MBI_EXTRACT_COUNT,
  MBI_EXTRACT_SUMS,
  MBI_EXTRACT_OFFSETS,
  MBI_EXTRACT_PLACES,
  MBI_EXTRACT_VALUES,
  MBI_EXTRACT_KERNELS
};

/* ---- Specialise -------------------------------------------------------------------------- */

MBI_INTERNAL void mbi_extract_preamble(const merbit_plan *plan, const mbi_device_csr *csr,
                                       mbi_preamble *preamble) {
  memset(preamble, 0, sizeof *preamble);
  mbi_preamble_define(preamble, "MBK_ROW_PTR",
                      csr->offset_type == MERBIT_INDEX_64 ? "mbk_i64" : "mbk_i32");
  mbi_preamble_define(preamble, "MBK_VALUE", plan->type == MERBIT_F32 ? "float" : "double");
  mbi_preamble_define_int(preamble, "MBK_BASE", csr->base);
}

static merbit_status mbi_extract_specialise(merbit_plan *plan) {
  static const char *const names[MBI_EXTRACT_KERNELS] = {
      "mbk_extract_count", "mbk_extract_sums", "mbk_extract_offsets", "mbk_extract_places",
      "mbk_extract_values"};
  mbi_extracted *full = &plan->extracted;
  mbi_preamble preamble;
  int i;
  mbi_extract_preamble(plan, &full->csr, &preamble);
  MBI_TRY(
      mbi_plan_program(plan, "spmv/stages/extract_blocks.cu", &preamble, 1, &full->program));
  for (i = 0; i < MBI_EXTRACT_KERNELS; i++) {
    MBI_TRY(mbi_program_kernel(plan->context, &full->program, names[i], &full->kernels[i]));
  }
  return MERBIT_OK;
}

/* ---- Count ------------------------------------------------------------------------------- */

/* Returns the number of lanes per row of blocks. */
static uint32_t mbi_extract_group(int height) {
  uint32_t group = 1;
  while ((int)group < height && group < 32) {
    group *= 2;
  }
  return group;
}

/* Counts the blocks of a shape, in windows of the matrix or, if `windows` is 0, in all of it.
 * The counts go to tally number `answer`. */
static merbit_status mbi_extract_count(mbi_extract *c, const merbit_bsr_desc *shape,
                                       int windows, int answer) {
  merbit_plan *plan = c->plan;
  mbi_device_csr *csr = &plan->extracted.csr;
  const int height = shape->block_rows;
  const int64_t most = 8 * (int64_t)plan->context->device.multiprocessors;
  uint32_t group = mbi_extract_group(height);
  uint64_t block_rows = (uint64_t)mbi_block_count(c->csr.rows, height);
  uint64_t spans = (uint64_t)(mbi_shape_span(&c->csr, windows) / height);
  uint32_t rest = (uint32_t)(mbi_shape_span(&c->csr, windows) % height);
  uint32_t count = (uint32_t)mbi_shape_rows(&c->csr, windows, height);
  uint32_t parts = windows > 0 ? (uint32_t)windows : 1;
  mbi_devptr to = c->answers + (uint64_t)answer * sizeof(mbi_extract_tally);
  const int64_t blocks = (int64_t)((uint64_t)parts * count * group / 256) + 1;
  mbk_extract_count_arguments arguments;
  arguments.row_ptr = csr->row_ptr;
  arguments.col_ind = csr->col_ind;
  arguments.rows = csr->rows;
  arguments.cols = csr->cols;
  arguments.block_rows = block_rows;
  arguments.high = (uint32_t)height;
  arguments.wide = (uint32_t)shape->block_cols;
  arguments.group = group;
  arguments.windows = parts;
  arguments.spans = spans;
  arguments.rest = rest;
  arguments.count = count;
  arguments.counts = c->counts;
  arguments.sums = c->sums;
  arguments.answer = to;
  return mbi_device_launch(plan->context, plan->extracted.kernels[MBI_EXTRACT_COUNT],
                           "mbk_extract_count", blocks < most ? blocks : most, 256, 0, NULL,
                           &arguments);
}

/* Counts the blocks of several shapes in the same windows. */
static merbit_status mbi_extract_count_all(mbi_extract *c, const merbit_bsr_desc *shapes,
                                           int count, int windows, mbi_extract_tally *tallies) {
  merbit_context *context = c->plan->context;
  const size_t bytes = (size_t)count * sizeof *tallies;
  int i;
  MBI_TRY(mbi_device_zero(context, c->answers, bytes, NULL));
  for (i = 0; i < count; i++) {
    MBI_TRY(mbi_extract_count(c, &shapes[i], windows, i));
  }
  return mbi_device_download(context, tallies, c->answers, bytes);
}

/* ---- Shape, chosen as in matrix/block_shape.c -------------------------------------------- */

/* Computes the bytes per entry of shapes, at most MBI_SHAPE_CANDIDATES, from a sample. */
static merbit_status mbi_extract_sample(mbi_extract *c, const merbit_bsr_desc *shapes,
                                        int count, double *bytes) {
  mbi_extract_tally tallies[MBI_SHAPE_CANDIDATES];
  const merbit_view *csr = &c->csr;
  const int windows = mbi_shape_windows(csr);
  int i, w;
  MBI_TRY(mbi_extract_count_all(c, shapes, count, windows, tallies));
  for (i = 0; i < count; i++) {
    const mbi_extract_tally *t = &tallies[i];
    const int height = shapes[i].block_rows;
    int64_t rows = 0, first, last;
    for (w = 0; w < windows || w == 0; w++) {
      const int64_t end = mbi_shape_window(csr, windows, w, height, &first, &last);
      rows += end - first * height;
    }
    bytes[i] = t->entries == 0
                   ? DBL_MAX
                   : (double)mbi_shape_bytes(csr, &shapes[i], rows, (int64_t)t->blocks,
                                             t->inside == t->entries, MBI_MASKS_READ) /
                         (double)t->entries;
  }
  return MERBIT_OK;
}

/* Finds the best shape for c->csr, whose rows must ascend. */
static merbit_status mbi_extract_find(mbi_extract *c, merbit_bsr_desc *shape) {
  double bytes[MBI_SHAPE_CANDIDATES];
  merbit_bsr_desc shapes[MBI_SHAPE_CANDIDATES], finalists[MBI_SHAPE_FINALISTS];
  mbi_extract_tally tallies[MBI_SHAPE_FINALISTS];
  int64_t least;
  int i;
  memset(shapes, 0, sizeof shapes);
  for (i = 0; i < MBI_SHAPE_CANDIDATES; i++) {
    mbi_shape_of(i, &shapes[i]);
  }
  MBI_TRY(mbi_extract_sample(c, shapes, MBI_SHAPE_CANDIDATES, bytes));
  shape->block_rows = shape->block_cols = 1;
  least = mbi_shape_bytes(&c->csr, shape, c->csr.rows, c->csr.nnz, 1, MBI_MASKS_READ);
  memset(finalists, 0, sizeof finalists);
  for (i = 0; i < MBI_SHAPE_FINALISTS; i++) {
    mbi_shape_of(mbi_shape_next(bytes), &finalists[i]);
  }
  MBI_TRY(mbi_extract_count_all(c, finalists, MBI_SHAPE_FINALISTS, 0, tallies));
  for (i = 0; i < MBI_SHAPE_FINALISTS; i++) {
    const int64_t moved =
        mbi_shape_bytes(&c->csr, &finalists[i], c->csr.rows, (int64_t)tallies[i].blocks,
                        tallies[i].inside == tallies[i].entries, MBI_MASKS_READ);
    if (moved < least) {
      least = moved;
      *shape = finalists[i];
    }
  }
  return MERBIT_OK;
}

/* ---- Fill -------------------------------------------------------------------------------- */

/* Writes the columns of the blocks, and their masks unless `masks` is 0. */
static merbit_status mbi_extract_places(merbit_plan *plan, mbi_devptr masks) {
  const mbi_device_csr *csr = &plan->extracted.csr;
  const uint32_t group = mbi_extract_group(plan->bsr.view.block_rows);
  mbk_extract_places_arguments arguments;
  arguments.row_ptr = csr->row_ptr;
  arguments.col_ind = csr->col_ind;
  arguments.rows = csr->rows;
  arguments.cols = csr->cols;
  arguments.block_rows = plan->device.rows;
  arguments.high = (uint32_t)plan->bsr.view.block_rows;
  arguments.wide = (uint32_t)plan->bsr.view.block_cols;
  arguments.group = group;
  arguments.block_ptr = plan->device.row_ptr;
  arguments.large = plan->device.offset_type == MERBIT_INDEX_64;
  arguments.block_col = plan->device.col_ind;
  arguments.masks = masks;
  return mbi_device_launch(plan->context, plan->extracted.kernels[MBI_EXTRACT_PLACES],
                           "mbk_extract_places", (int64_t)(plan->device.rows * group / 256) + 1,
                           256, 0, NULL, &arguments);
}

/* Allocates plan->device.values. Sets it to zero unless the blocks are full or have masks,
 * which skip the values of holes. */
static merbit_status mbi_extract_allocate_values(merbit_plan *plan) {
  mbi_device_csr *csr = &plan->device;
  const merbit_view *view = &plan->bsr.view;
  const uint64_t stored = (uint64_t)mbi_view_values(view);
  const uint64_t bytes = stored * mbi_type_size(plan->type);
  csr->owns_values = 0;
  MBI_TRY(mbi_plan_allocate(plan, bytes, "values of blocks", &csr->values));
  csr->owns_values = 1;
  csr->bytes += bytes;
  return plan->bsr.mask_words > 0 || stored == (uint64_t)plan->bsr.entries
             ? MERBIT_OK
             : mbi_device_zero(plan->context, csr->values, (size_t)bytes, NULL);
}

/* Stores the values at `from` block by block in plan->device.values; ones if `from` is 0. */
static merbit_status mbi_extract_values(merbit_plan *plan, mbi_devptr from) {
  const mbi_device_csr *csr = &plan->extracted.csr;
  mbk_extract_values_arguments arguments;
  MBI_TRY(mbi_extract_allocate_values(plan));
  arguments.row_ptr = csr->row_ptr;
  arguments.col_ind = csr->col_ind;
  arguments.values = from;
  arguments.rows = csr->rows;
  arguments.high = (uint32_t)plan->bsr.view.block_rows;
  arguments.wide = (uint32_t)plan->bsr.view.block_cols;
  arguments.block_ptr = plan->device.row_ptr;
  arguments.large = plan->device.offset_type == MERBIT_INDEX_64;
  arguments.block_col = plan->device.col_ind;
  arguments.blocks = plan->device.values;
  return mbi_device_launch(plan->context, plan->extracted.kernels[MBI_EXTRACT_VALUES],
                           "mbk_extract_values", (int64_t)((csr->rows + 7) / 8), 256, 0, NULL,
                           &arguments);
}

/* Stores new values, which plan->device.values holds in the order of the CSR, in the blocks. */
MBI_INTERNAL merbit_status mbi_extract_refresh(merbit_plan *plan) {
  mbi_device_csr *csr = &plan->device;
  const mbi_devptr from = csr->values, own = csr->owns_values ? from : 0;
  merbit_status status;
  csr->bytes -= own != 0 ? plan->extracted.csr.nnz * mbi_type_size(plan->type) : 0;
  status = mbi_extract_values(plan, from);
  if (status == MERBIT_OK) {
    status = mbi_bsr_fill(plan);
  }
  /* After a failure too, so that the next values get an array of their own size. */
  if (csr->owns_values) {
    mbi_plan_release(plan, csr->values);
    csr->values = 0;
    csr->owns_values = 0;
    csr->bytes -= (uint64_t)mbi_view_values(&plan->bsr.view) * mbi_type_size(plan->type);
  }
  mbi_plan_release(plan, own);
  return status;
}

/* ---- Make -------------------------------------------------------------------------------- */

/* Computes plan->device.row_ptr from the counts. */
static merbit_status mbi_extract_offsets(mbi_extract *c) {
  merbit_plan *plan = c->plan;
  mbi_device_csr *csr = &plan->device;
  uint64_t chunks = csr->rows / MBI_EXTRACT_CHUNK + 1;
  mbk_extract_sums_arguments sums_arguments;
  mbk_extract_offsets_arguments offsets_arguments;
  sums_arguments.sums = c->sums;
  sums_arguments.chunks = chunks;
  MBI_TRY(mbi_device_launch(plan->context, plan->extracted.kernels[MBI_EXTRACT_SUMS],
                            "mbk_extract_sums", 1, 1024, 32 * sizeof(uint64_t), NULL,
                            &sums_arguments));
  offsets_arguments.counts = c->counts;
  offsets_arguments.sums = c->sums;
  offsets_arguments.block_rows = csr->rows;
  offsets_arguments.large = csr->offset_type == MERBIT_INDEX_64;
  offsets_arguments.block_ptr = csr->row_ptr;
  return mbi_device_launch(plan->context, plan->extracted.kernels[MBI_EXTRACT_OFFSETS],
                           "mbk_extract_offsets", (int64_t)chunks, 256, 8 * sizeof(uint64_t),
                           NULL, &offsets_arguments);
}

/* Builds plan->device and plan->bsr from the counted blocks. */
static merbit_status mbi_extract_take(mbi_extract *c, const merbit_bsr_desc *shape,
                                      const mbi_extract_tally *tally) {
  merbit_plan *plan = c->plan;
  merbit_context *context = plan->context;
  mbi_devptr *masks = &mbi_bsr_tiles_of(plan)->mask_words;
  const mbi_devptr from = plan->extracted.csr.values;
  const int full = tally->inside == tally->entries;
  const int words = full ? 0 : (shape->block_rows * shape->block_cols + 63) / 64;
  const uint64_t bytes = tally->blocks * (uint64_t)words * sizeof(uint64_t);
  MBI_TRY(mbi_extracted_allocate(plan, shape->block_rows, shape->block_cols, tally->blocks,
                                 tally->blocks > (uint64_t)INT32_MAX ? MERBIT_INDEX_64
                                                                     : MERBIT_INDEX_32));
  plan->bsr.entries = (int64_t)tally->entries;
  plan->bsr.mask_words = words;
  MBI_TRY(mbi_extract_offsets(c));
  if (words > 0) {
    MBI_TRY(mbi_plan_allocate(plan, bytes, "masks of blocks", masks));
  }
  MBI_TRY(mbi_extract_places(plan, *masks));
  /* A pattern needs stored values if blocks have holes or entries are duplicates. */
  if (from != 0 || !full || tally->entries < plan->extracted.csr.nnz) {
    MBI_TRY(mbi_extract_values(plan, from));
  }
  return mbi_device_synchronize(context, NULL);
}

/* Returns whether blocks take more memory than the CSR. */
static int mbi_extract_exceeds(const mbi_extract *c, const merbit_bsr_desc *shape,
                               const mbi_extract_tally *tally) {
  merbit_bsr_desc single = *shape;
  single.block_rows = single.block_cols = 1;
  return mbi_shape_bytes(&c->csr, shape, c->csr.rows, (int64_t)tally->blocks,
                         tally->inside == tally->entries, MBI_MASKS_READ) >
         mbi_shape_bytes(&c->csr, &single, c->csr.rows, c->csr.nnz, 1, MBI_MASKS_READ);
}

/* Counts the blocks of each row of blocks. Then builds the blocks, unless the columns of a row
 * descend. AUTO, which has seen only a sample, gives up if they take more memory than the
 * CSR. */
static merbit_status mbi_extract_build(mbi_extract *c, const merbit_bsr_desc *shape,
                                       mbi_extract_tally *tally) {
  merbit_plan *plan = c->plan;
  const uint64_t rows = (uint64_t)mbi_block_count(c->csr.rows, shape->block_rows);
  const uint64_t sums = (rows / MBI_EXTRACT_CHUNK + 1) * sizeof(uint64_t);
  MBI_TRY(mbi_plan_allocate(plan, rows * sizeof(uint32_t), "counts of blocks", &c->counts));
  MBI_TRY(mbi_plan_allocate(plan, sums, "sums of blocks", &c->sums));
  MBI_TRY(mbi_device_zero(plan->context, c->sums, (size_t)sums, NULL));
  MBI_TRY(mbi_extract_count_all(c, shape, 1, 0, tally));
  if (plan->desc.method == MERBIT_METHOD_AUTO && mbi_extract_exceeds(c, shape, tally)) {
    return mbi_fail(plan->context, MERBIT_TOO_LARGE,
                    "blocks of %d x %d take more memory than the CSR", shape->block_rows,
                    shape->block_cols);
  }
  return tally->descends == 0 ? mbi_extract_take(c, shape, tally) : MERBIT_OK;
}

/* Sets c->csr to the matrix without its arrays. */
static void mbi_extract_frame(mbi_extract *c) {
  const mbi_device_csr *csr = &c->plan->extracted.csr;
  c->csr = merbit_csr((int64_t)csr->rows, (int64_t)csr->cols, (int64_t)csr->nnz, NULL, NULL,
                      c->plan->view.values);
  c->csr.value_type = c->plan->type;
}

/* Counts the entries of the whole matrix. */
static merbit_status mbi_extract_entries(mbi_extract *c, mbi_extract_tally *tally) {
  merbit_bsr_desc single;
  memset(&single, 0, sizeof single);
  single.block_rows = single.block_cols = 1;
  return mbi_extract_count_all(c, &single, 1, 0, tally);
}

/* Finds a shape if none is given, and builds the blocks. Stops early if the columns of a row
 * descend. AUTO has found a shape before. */
MBI_INTERNAL merbit_status mbi_extract_all(mbi_extract *c, mbi_extract_tally *tally) {
  const mbi_device_csr *csr = &c->plan->extracted.csr;
  merbit_bsr_desc shape;
  memset(&shape, 0, sizeof shape);
  shape.block_rows = c->plan->desc.block_rows;
  shape.block_cols = c->plan->desc.block_cols;
  if (c->plan->desc.method == MERBIT_METHOD_AUTO) {
    shape.block_rows = shape.block_cols = c->plan->extracted.nonempty.masked_side;
  }
  mbi_extract_frame(c);
  if (csr->rows / (uint64_t)(shape.block_rows > 0 ? shape.block_rows : 1) >= UINT32_MAX) {
    return mbi_fail(
        c->plan->context, MERBIT_TOO_LARGE,
        "%" PRIu64
        " rows are too many to extract blocks on the GPU%s; use another plan_desc.method",
        csr->rows, shape.block_rows > 0 ? "" : " if their shape is not given");
  }
  if (shape.block_rows == 0) {
    MBI_TRY(mbi_extract_entries(c, tally));
    if (tally->descends != 0) {
      return MERBIT_OK;
    }
    if (tally->entries < csr->nnz) { /* with duplicates a pattern needs values */
      c->csr.values = c->csr.values != NULL ? c->csr.values : c->plan->view.col_ind;
      c->csr.nnz = (int64_t)tally->entries;
    }
    MBI_TRY(mbi_extract_find(c, &shape));
  }
  return mbi_extract_build(c, &shape, tally);
}

/* Makes the blocks on the host, which sorts the rows. */
static merbit_status mbi_extract_on_cpu(merbit_plan *plan) {
  merbit_context *context = plan->context;
  merbit_view places;
  mbi_log(context, "blocks are extracted on the CPU, because the columns of a row descend");
  mbi_extracted_destroy(plan);
  mbi_device_csr_destroy(plan, &plan->device);
  memset(&plan->device, 0, sizeof plan->device);
  MBI_TRY(mbi_format_blocks_on_host(plan));
  places = mbi_block_frame(&plan->bsr.view);
  MBI_TRY(mbi_device_csr_create(plan, &places, &plan->device));
  return mbi_bsr_create(plan);
}

/* Sets plan->nonempty.masked_side and masked_bytes from a sample. Both stay 0 if the columns of
 * a row descend or repeat, or if 1 x 1 needs the fewest bytes. */
static merbit_status mbi_extract_estimate(mbi_extract *c) {
  mbi_nonempty_rows *nonempty = &c->plan->nonempty;
  mbi_extract_tally tally;
  merbit_bsr_desc shapes[MBI_EXTRACT_SQUARES];
  double bytes[MBI_EXTRACT_SQUARES];
  int best = 0, i;
  MBI_TRY(mbi_extract_entries(c, &tally));
  if (tally.descends != 0 || tally.entries < c->plan->device.nnz) {
    return MERBIT_OK;
  }
  memset(shapes, 0, sizeof shapes);
  for (i = 0; i < MBI_EXTRACT_SQUARES; i++) {
    shapes[i].block_rows = shapes[i].block_cols = i + 1;
  }
  MBI_TRY(mbi_extract_sample(c, shapes, MBI_EXTRACT_SQUARES, bytes));
  for (i = 1; i < MBI_EXTRACT_SQUARES; i++) {
    best = bytes[i] < bytes[best] ? i : best;
  }
  if (best > 0) {
    nonempty->masked_side = best + 1;
    nonempty->masked_bytes = bytes[best];
  }
  return MERBIT_OK;
}

/* Estimates the size of square blocks with masks for AUTO. */
MBI_INTERNAL merbit_status mbi_extract_probe(merbit_plan *plan) {
  mbi_extract c;
  merbit_status status;
  memset(&c, 0, sizeof c);
  c.plan = plan;
  plan->extracted.csr = plan->device; /* lent */
  mbi_extract_frame(&c);
  status = mbi_extract_specialise(plan);
  if (status == MERBIT_OK) {
    status = mbi_plan_allocate(plan, MBI_EXTRACT_SQUARES * sizeof(mbi_extract_tally),
                               "counts of shapes", &c.answers);
  }
  if (status == MERBIT_OK) {
    status = mbi_extract_estimate(&c);
  }
  mbi_plan_release(plan, c.answers);
  mbi_program_destroy(plan->context, &plan->extracted.program);
  memset(&plan->extracted, 0, sizeof plan->extracted);
  return status;
}

MBI_INTERNAL merbit_status mbi_extract_create(merbit_plan *plan) {
  mbi_extract_tally tally = {0, 0, 0, 0};
  mbi_extract c;
  merbit_status status;
  memset(&c, 0, sizeof c);
  c.plan = plan;
  mbi_extracted_enter(plan);
  plan->extracted.by_shape = 1;
  MBI_TRY(mbi_extract_specialise(plan));
  MBI_TRY(mbi_plan_allocate(plan, MBI_SHAPE_CANDIDATES * sizeof tally, "counts of shapes",
                            &c.answers));
  status = mbi_extract_all(&c, &tally);
  mbi_plan_release(plan, c.answers);
  mbi_plan_release(plan, c.counts);
  mbi_plan_release(plan, c.sums);
  MBI_TRY(status);
  return tally.descends != 0 ? mbi_extract_on_cpu(plan) : mbi_bsr_create(plan);
}
