#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/plan/plan.h"

/* Counts the non-empty rows on the GPU and measures how equal their lengths are. Lists them if
 * some rows are empty and the method asks for it. Also samples the columns for AUTO. */

#define MBI_NONEMPTY_SAMPLES 128 /* the most windows of nonzeros in a sample */
#define MBI_NONEMPTY_THREADS 1024
#define MBI_NONEMPTY_BLOCK_SAMPLES 4096        /* rows */
#define MBI_NONEMPTY_COLUMN_SAMPLES (8u << 20) /* nonzeros */
/* Arrays that are needed only while a plan is made are kept if they have at most this many
 * bytes, because allocating and releasing an array takes as long as a product. */
#define MBI_NONEMPTY_SMALL (16u << 20)

/* Releases the large arrays that products do not need. Call it after the choice, once the
 * method has been created. */
MBI_INTERNAL void mbi_nonempty_finish(merbit_plan *plan, mbi_nonempty_rows *nonempty) {
  if (nonempty->column_bytes > MBI_NONEMPTY_SMALL) {
    mbi_plan_release(plan, nonempty->column_counts);
    nonempty->column_counts = 0;
    nonempty->column_bytes = 0;
  }
  if (nonempty->start_apart) {
    mbi_plan_release(plan, nonempty->row_start);
  }
  nonempty->start_apart = 0;
  nonempty->row_start = 0;
  mbi_csr_programs_destroy(plan->context, &nonempty->programs);
}

MBI_INTERNAL void mbi_nonempty_destroy(merbit_plan *plan, mbi_nonempty_rows *nonempty) {
  mbi_nonempty_finish(plan, nonempty);
  mbi_plan_release(plan, nonempty->column_counts);
  mbi_plan_release(plan, nonempty->counts);
  if (nonempty->row_id != 0) {
    mbi_plan_release(plan, nonempty->row_id); /* with the other parts of its allocation */
  }
  memset(nonempty, 0, sizeof *nonempty);
}

/* Enqueues the replacement of `count` 32-bit numbers by their exclusive prefix sums. Their sum
 * is stored at `total`. */
static merbit_status mbi_nonempty_offsets(merbit_plan *plan, mbi_devptr array, uint64_t count,
                                          mbi_devptr total) {
  void *kernel = NULL;
  mbk_nonempty_offsets_arguments arguments;
  MBI_TRY(mbi_plan_csr_kernel(plan, MBI_CSR_NONEMPTY, "mbk_nonempty_offsets", &kernel));
  arguments.counts = array;
  arguments.blocks = count;
  arguments.total = total;
  return mbi_device_launch(plan->context, kernel, "mbk_nonempty_offsets", 1, 1024,
                           (unsigned)(33 * sizeof(uint32_t)), NULL, &arguments);
}

/* Computes the number of non-empty rows, the widths of slices and the length of the longest
 * row, and keeps the number of each block's first non-empty row. The CUDA context must be
 * current. On failure the caller runs mbi_nonempty_destroy. */
static merbit_status mbi_nonempty_create(merbit_plan *plan) {
  merbit_context *context = plan->context;
  mbi_device_csr *csr = &plan->device;
  mbi_nonempty_rows *nonempty = &plan->nonempty;
  void *count = NULL;
  mbk_nonempty_count_arguments count_arguments;
  uint64_t rows = csr->rows, blocks = mbi_nonempty_blocks_of((int64_t)rows);
  mbi_devptr total, longest, widths;
  uint32_t answer[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  if (blocks == 0) {
    nonempty->row_start = csr->row_ptr;
    return MERBIT_OK;
  }
  nonempty->blocks = blocks;
  MBI_TRY(mbi_plan_csr_kernel(plan, MBI_CSR_NONEMPTY, "mbk_nonempty_count", &count));
  nonempty->counts = csr->scratch;
  nonempty->counts_bytes = csr->scratch_bytes;
  csr->scratch = 0;
  if (nonempty->counts == 0) {
    nonempty->counts_bytes = mbi_nonempty_bytes((int64_t)rows);
    MBI_TRY(
        mbi_plan_allocate(plan, nonempty->counts_bytes, "counts of rows", &nonempty->counts));
  }
  widths = nonempty->counts; /* the three 64-bit sums come first */
  total = widths + 6 * sizeof(uint32_t);
  longest = total + sizeof(uint32_t);
  nonempty->offsets = widths + MBI_NONEMPTY_SUMS * sizeof(uint32_t);
  MBI_TRY(mbi_device_zero(context, nonempty->counts, sizeof answer, NULL));
  count_arguments.row_ptr = csr->row_ptr;
  count_arguments.rows = rows;
  count_arguments.counts = nonempty->offsets;
  count_arguments.longest = longest;
  count_arguments.widths = widths;
  count_arguments.sorted = widths + 2 * sizeof(uint32_t);
  count_arguments.squares = widths + 4 * sizeof(uint32_t);
  MBI_TRY(mbi_device_launch(context, count, "mbk_nonempty_count", (int64_t)blocks, 256,
                            MBI_NONEMPTY_COUNT_SHARED, NULL, &count_arguments));
  MBI_TRY(mbi_nonempty_offsets(plan, nonempty->offsets, blocks, total));
  MBI_TRY(mbi_device_download(context, answer, nonempty->counts, sizeof answer));
  nonempty->row_start = csr->row_ptr;
  nonempty->slots = 32 * ((uint64_t)answer[1] << 32 | answer[0]);
  nonempty->sorted_slots = 32 * ((uint64_t)answer[3] << 32 | answer[2]);
  if (nonempty->sorted_slots > nonempty->slots) { /* the bins round lengths up */
    nonempty->sorted_slots = nonempty->slots;
  }
  nonempty->typical =
      csr->nnz > 0 ? (double)((uint64_t)answer[5] << 32 | answer[4]) / (double)csr->nnz : 0;
  nonempty->count = answer[6];
  nonempty->longest = answer[7];
  return MERBIT_OK;
}

/* Replaces `count` 32-bit numbers by their exclusive prefix sums. The total is stored after the
 * array and returned in *sum. */
MBI_INTERNAL merbit_status mbi_nonempty_sums(merbit_plan *plan, mbi_devptr array,
                                             uint64_t count, uint64_t *sum) {
  uint32_t found = 0;
  MBI_TRY(mbi_nonempty_offsets(plan, array, count, array + count * sizeof(uint32_t)));
  MBI_TRY(mbi_device_download(plan->context, &found, array + count * sizeof(uint32_t),
                              sizeof found));
  *sum = found;
  return MERBIT_OK;
}

/* Returns 1 if rows have nearly equal lengths: at most an eighth of padding in slices of 32
 * rows. */
MBI_INTERNAL int mbi_nonempty_equal(const merbit_plan *plan) {
  return plan->nonempty.slots <= plan->device.nnz + plan->device.nnz / 8;
}

/* Returns 1 if the padding of slices of 32 neighbouring rows costs more than a row number per
 * row, so that SLICED sorts its rows. */
MBI_INTERNAL int mbi_nonempty_uneven(const merbit_plan *plan) {
  return plan->nonempty.slots > plan->device.nnz + plan->device.nnz / 32;
}

/* The distance that sorted rows of the same slice typically had before sorting. */
#define MBI_NONEMPTY_APART 16

/* Sets the sectors of x per nonzero, and those and the rows of each part. `found` has the
 * sectors that `nonzeros` sampled nonzeros touch, by parts, then the rows in which the parts
 * begin. */
MBI_INTERNAL void mbi_nonempty_take_parts(merbit_plan *plan, const uint32_t *found,
                                          double nonzeros) {
  mbi_nonempty_rows *nonempty = &plan->nonempty;
  const double rows = (double)plan->device.rows;
  int p;
  nonempty->sectors = 0;
  for (p = 0; p < MBI_NONEMPTY_PARTS; p++) {
    const uint32_t *begin = found + MBI_NONEMPTY_PARTS + p;
    const double end = p + 1 < MBI_NONEMPTY_PARTS ? begin[1] : rows;
    nonempty->parts[p].rows = end > begin[0] ? end - begin[0] : 1;
    nonempty->parts[p].sectors = MBI_NONEMPTY_PARTS * (double)found[p] / nonzeros;
    nonempty->sectors += (double)found[p] / nonzeros;
  }
}

/* Samples the columns. The matrix must have nonzeros, and mbi_nonempty_create must have run. */
MBI_INTERNAL merbit_status mbi_nonempty_sample(merbit_plan *plan) {
  merbit_context *context = plan->context;
  const mbi_device_csr *csr = &plan->device;
  mbi_nonempty_rows *nonempty = &plan->nonempty;
  uint64_t nnz = csr->nnz;
  const uint64_t window = nnz < MBI_NONEMPTY_WINDOW ? nnz : MBI_NONEMPTY_WINDOW;
  const uint64_t windows = nnz / MBI_NONEMPTY_WINDOW + 1;
  const uint64_t samples = windows < MBI_NONEMPTY_SAMPLES ? windows : MBI_NONEMPTY_SAMPLES;
  const int is_long = nnz >= MBI_NONEMPTY_WINDOW / 32 * nonempty->count;
  uint32_t shift = plan->type == MERBIT_F32 ? 3 : 2, answer[MBI_NONEMPTY_SUMS];
  void *sample = NULL;
  mbk_sample_columns_arguments arguments;
  MBI_TRY(mbi_plan_csr_kernel(plan, MBI_CSR_SAMPLE, "mbk_sample_columns", &sample));
  /* overwrites the sums, which have been read */
  MBI_TRY(mbi_device_zero(context, nonempty->counts, sizeof answer, NULL));
  arguments.row_ptr = csr->row_ptr;
  arguments.col_ind = csr->col_ind;
  arguments.rows = csr->rows;
  arguments.nnz = nnz;
  arguments.windows = (uint32_t)samples;
  arguments.shift = shift;
  arguments.apart = mbi_nonempty_uneven(plan) ? MBI_NONEMPTY_APART : 1;
  arguments.found = nonempty->counts;
  MBI_TRY(mbi_device_launch(
      context, sample, "mbk_sample_columns", 3 * (int64_t)samples, MBI_NONEMPTY_THREADS,
      (unsigned)(MBI_NONEMPTY_TABLE * sizeof(uint32_t)), NULL, &arguments));
  MBI_TRY(mbi_device_download(context, answer, nonempty->counts, sizeof answer));
  nonempty->lines = (double)answer[6] / ((double)window * (double)samples);
  if (answer[4] > 0) {
    nonempty->abreast = is_long ? (double)answer[3] / (double)answer[4] : 0;
    nonempty->lines_abreast = (double)answer[5] / (double)answer[4];
  }
  nonempty->narrow = (double)answer[0] / (8.0 * (double)samples);
  nonempty->diagonal_slots = answer[2] > 0 ? 64.0 * (double)answer[1] / (double)answer[2] : 0;
  mbi_nonempty_take_parts(plan, answer + 7, (double)window * (double)samples);
  nonempty->sampled_parts = samples == MBI_NONEMPTY_SAMPLES;
  return MERBIT_OK;
}

/* Returns 1 if the plan multiplies the transpose of a CSR in GPU memory. The row lengths of
 * that CSR are then the column counts of the plan's matrix. */
static int mbi_nonempty_has_column_offsets(const merbit_plan *plan) {
  const merbit_view *given = &plan->given;
  return plan->transpose.on_gpu && given->format == MERBIT_CSR &&
         given->memory == MERBIT_MEMORY_DEVICE &&
         given->offset_type == plan->device.offset_type;
}

/* Fills plan->nonempty.column_counts, which must be zero. */
static merbit_status mbi_nonempty_launch_columns(merbit_plan *plan) {
  merbit_context *context = plan->context;
  const int by_offsets = mbi_nonempty_has_column_offsets(plan);
  const char *name = by_offsets ? "mbk_columns_lengths" : "mbk_columns_count";
  mbi_devptr row_ptr = mbi_device_address(plan->given.row_ptr);
  uint32_t stride = (uint32_t)(plan->device.nnz / MBI_NONEMPTY_COLUMN_SAMPLES) + 1;
  void *kernel = NULL;
  mbk_columns_count_arguments arguments;
  MBI_TRY(mbi_plan_csr_kernel(plan, MBI_CSR_COLUMNS, name, &kernel));
  arguments.col_ind = by_offsets ? row_ptr : plan->device.col_ind;
  arguments.nnz = by_offsets ? plan->device.cols : plan->device.nnz;
  arguments.stride = stride;
  arguments.counts = plan->nonempty.column_counts;
  return mbi_device_launch(
      context, kernel, name,
      mbi_arrays_blocks((int64_t)(by_offsets ? plan->device.cols : plan->device.nnz / stride)),
      MBI_ARRAYS_THREADS, 0, NULL, &arguments);
}

/* Sets bins[n] to the number of columns that occur n times in a sample of the nonzeros. `bins`
 * has MBI_NONEMPTY_BINS words; the last one also counts the columns that occur more often. */
static merbit_status mbi_nonempty_count_columns(merbit_plan *plan, uint32_t *bins) {
  merbit_context *context = plan->context;
  mbi_nonempty_rows *nonempty = &plan->nonempty;
  const uint64_t bytes = (plan->device.cols + MBI_NONEMPTY_BINS) * sizeof(uint32_t);
  void *bin = NULL;
  mbk_columns_bins_arguments arguments;
  mbi_devptr found = 0;
  MBI_TRY(mbi_plan_csr_kernel(plan, MBI_CSR_COLUMNS, "mbk_columns_bins", &bin));
  if (nonempty->column_counts == 0) {
    MBI_TRY(mbi_plan_allocate(plan, bytes, "counts of columns", &nonempty->column_counts));
  }
  nonempty->column_bytes = bytes;
  nonempty->columns_coded = 0;
  MBI_TRY(mbi_device_zero(context, nonempty->column_counts, (size_t)bytes, NULL));
  found = nonempty->column_counts + plan->device.cols * sizeof(uint32_t);
  MBI_TRY(mbi_nonempty_launch_columns(plan));
  arguments.counts = nonempty->column_counts;
  arguments.cols = plan->device.cols;
  arguments.bins = found;
  MBI_TRY(mbi_device_launch(
      context, bin, "mbk_columns_bins", 2 * (int64_t)context->device.multiprocessors,
      MBI_ARRAYS_THREADS, (unsigned)(MBI_NONEMPTY_BINS * sizeof(uint32_t)), NULL, &arguments));
  return mbi_device_download(context, bins, found, MBI_NONEMPTY_BINS * sizeof(uint32_t));
}

/* Chooses the hubs: the columns with the highest counts, at most `capacity` columns, with at
 * least `worth` nonzeros of the sample each (1 to MBI_NONEMPTY_BINS - 2). Sets hub_least,
 * hub_above, and hub_share, the hubs' share of the `sampled` nonzeros. */
MBI_INTERNAL void mbi_nonempty_take_hubs(mbi_nonempty_rows *nonempty, const uint32_t *bins,
                                         uint64_t sampled, uint32_t worth, uint64_t capacity) {
  uint64_t above = 0, hubs = bins[MBI_NONEMPTY_BINS - 1], cold;
  uint32_t n = MBI_NONEMPTY_BINS - 1;
  nonempty->hub_least = UINT32_MAX;
  nonempty->hub_above = 0;
  nonempty->hub_share = 0;
  if (hubs > capacity) {
    return; /* the last bin does not say which of its columns have the highest counts */
  }
  while (n > worth && hubs <= capacity) {
    n--;
    above = hubs;
    hubs += bins[n];
  }
  nonempty->hub_least = n;
  nonempty->hub_above = (uint32_t)above;
  cold = hubs > capacity ? (hubs - capacity) * n : 0;
  while (--n > 0) {
    cold += (uint64_t)n * bins[n];
  }
  if (hubs > 0 && capacity > 0 && cold < sampled) {
    nonempty->hub_share = 1.0 - (double)cold / (double)sampled;
  }
}

/* Returns the least count that makes a column a hub if every `stride`th nonzero is counted.
 * Each multiprocessor loads every hub, in a quarter of the time of a gather, so a hub must save
 * at least that many gathers. The result is at least 2, because a single nonzero of a sample
 * says little. */
MBI_INTERNAL uint32_t mbi_nonempty_worth(const merbit_plan *plan, uint64_t stride) {
  const uint64_t least = (uint64_t)plan->context->device.multiprocessors / 4 / stride;
  return least < 2                       ? 2
         : least > MBI_NONEMPTY_BINS - 2 ? MBI_NONEMPTY_BINS - 2
                                         : (uint32_t)least;
}

/* Computes plan->nonempty.hub_least, hub_above and hub_share, unless the counts of an earlier
 * call still exist. */
MBI_INTERNAL merbit_status mbi_nonempty_columns(merbit_plan *plan, uint64_t capacity) {
  uint32_t bins[MBI_NONEMPTY_BINS];
  const uint64_t nnz = plan->device.nnz, stride = nnz / MBI_NONEMPTY_COLUMN_SAMPLES + 1;
  merbit_status status;
  if (nnz == 0 || (plan->nonempty.column_counts != 0 && !plan->nonempty.columns_coded)) {
    return MERBIT_OK;
  }
  status = mbi_nonempty_count_columns(plan, bins);
  if (status != MERBIT_OK) {
    mbi_plan_release(plan, plan->nonempty.column_counts);
    plan->nonempty.column_counts = 0;
    plan->nonempty.column_bytes = 0;
    return status;
  }
  mbi_nonempty_take_hubs(&plan->nonempty, bins, nnz / stride, mbi_nonempty_worth(plan, stride),
                         capacity);
  return MERBIT_OK;
}

/* Tests `count` evenly spread rows for the block sizes that they rule out. Sets the bits of
 * these heights in against[0], and of these widths in against[1]. */
static merbit_status mbi_nonempty_against(merbit_plan *plan, uint64_t count,
                                          uint32_t *against) {
  merbit_context *context = plan->context;
  uint64_t step = plan->device.rows / count;
  mbi_devptr answer = plan->nonempty.counts;
  void *kernel = NULL;
  mbk_csr_blocks_arguments arguments;
  MBI_TRY(mbi_plan_csr_kernel(plan, MBI_CSR_BLOCKS, "mbk_csr_blocks", &kernel));
  MBI_TRY(mbi_device_upload(context, answer, against, 2 * sizeof *against));
  arguments.row_ptr = plan->device.row_ptr;
  arguments.col_ind = plan->device.col_ind;
  arguments.rows = plan->device.rows;
  arguments.count = count;
  arguments.step = step;
  arguments.against = answer;
  MBI_TRY(
      mbi_device_launch(context, kernel, "mbk_csr_blocks",
                        (int64_t)((count * 32 + MBI_ARRAYS_THREADS - 1) / MBI_ARRAYS_THREADS),
                        MBI_ARRAYS_THREADS, 0, NULL, &arguments));
  return mbi_device_download(context, against, answer, 2 * sizeof *against);
}

/* Sets plan->nonempty.block_rows and block_cols to the largest full blocks, up to 16 x 16, of
 * which the whole matrix consists, or to 1 x 1. A sample of rows is tested first, because it
 * rules out most matrices. */
MBI_INTERNAL merbit_status mbi_nonempty_blocks(merbit_plan *plan) {
  const uint64_t rows = plan->device.rows;
  uint64_t count = rows < MBI_NONEMPTY_BLOCK_SAMPLES ? rows : MBI_NONEMPTY_BLOCK_SAMPLES;
  uint32_t against[2] = {0, 0};
  int n;
  if (plan->nonempty.block_rows != 0) {
    return MERBIT_OK; /* computed before */
  }
  plan->nonempty.block_rows = plan->nonempty.block_cols = 1;
  for (; plan->device.nnz > 0; count = rows) {
    MBI_TRY(mbi_nonempty_against(plan, count, against));
    plan->nonempty.block_rows = plan->nonempty.block_cols = 1;
    for (n = 2; n <= 16; n++) {
      plan->nonempty.block_rows = against[0] >> n & 1 ? plan->nonempty.block_rows : n;
      plan->nonempty.block_cols = against[1] >> n & 1 ? plan->nonempty.block_cols : n;
    }
    if (count == rows || plan->nonempty.block_rows * plan->nonempty.block_cols < 4) {
      break;
    }
  }
  return MERBIT_OK;
}

/* Computes a hash of the structure. mbi_nonempty_create must have run. */
MBI_INTERNAL merbit_status mbi_nonempty_hash(merbit_plan *plan, uint64_t *hash) {
  merbit_context *context = plan->context;
  const uint64_t most =
      plan->device.nnz > plan->device.rows ? plan->device.nnz : plan->device.rows;
  void *kernel = NULL;
  mbk_csr_hash_arguments arguments;
  mbi_devptr sum = plan->nonempty.counts; /* overwrites the sums, which have been read */
  MBI_TRY(mbi_plan_csr_kernel(plan, MBI_CSR_HASH, "mbk_csr_hash", &kernel));
  MBI_TRY(mbi_device_zero(context, sum, sizeof *hash, NULL));
  arguments.row_ptr = plan->device.row_ptr;
  arguments.col_ind = plan->device.col_ind;
  arguments.rows = plan->device.rows;
  arguments.nnz = plan->device.nnz;
  arguments.hash = sum;
  MBI_TRY(mbi_device_launch(context, kernel, "mbk_csr_hash", mbi_arrays_blocks((int64_t)most),
                            MBI_ARRAYS_THREADS, 0, NULL, &arguments));
  return mbi_device_download(context, hash, sum, sizeof *hash);
}

/* Returns 1 if 32-bit numbers suffice for the plan's rows, with one number to spare for
 * "none". */
MBI_INTERNAL int mbi_nonempty_fit(const merbit_plan *plan) {
  return plan->device.rows < UINT32_MAX;
}

/* Counts the rows unless that has been done. */
MBI_INTERNAL merbit_status mbi_nonempty_need(merbit_plan *plan) {
  return plan->nonempty.row_start != 0 ? MERBIT_OK : mbi_nonempty_create(plan);
}

/* Lists the non-empty rows. Call it after mbi_nonempty_create if some rows are empty. On
 * failure nothing changes. */
MBI_INTERNAL merbit_status mbi_nonempty_compact(merbit_plan *plan) {
  merbit_context *context = plan->context;
  const mbi_device_csr *csr = &plan->device;
  mbi_nonempty_rows *nonempty = &plan->nonempty;
  const uint64_t starts = (nonempty->count + 1) * mbi_index_bytes(csr->offset_type);
  const uint64_t ids = (nonempty->count + 1) * sizeof(uint32_t); /* room for at least one */
  const uint64_t words = (csr->rows + 31) / 32 * sizeof(uint32_t);
  const int apart = starts > MBI_NONEMPTY_SMALL; /* released once the plan is made */
  mbi_devptr row_id = 0, row_start = 0, row_bits = 0;
  mbi_devptr *const parts[] = {&row_id, &row_bits, &row_start};
  const uint64_t bytes[] = {ids, words, starts};
  void *compact = NULL;
  mbk_nonempty_compact_arguments arguments;
  merbit_status status = MERBIT_OK;
  MBI_TRY(mbi_plan_csr_kernel(plan, MBI_CSR_NONEMPTY, "mbk_nonempty_compact", &compact));
  MBI_TRY(mbi_plan_allocate_parts(plan, "lists of rows", apart ? 2 : 3, parts, bytes));
  if (apart) {
    status = mbi_plan_allocate(plan, starts, "starts of rows", &row_start);
  }
  if (status == MERBIT_OK) {
    arguments.row_ptr = csr->row_ptr;
    arguments.rows = csr->rows;
    arguments.offsets = nonempty->offsets;
    arguments.row_id = row_id;
    arguments.row_bits = row_bits;
    arguments.row_start = row_start;
    status =
        mbi_device_launch(context, compact, "mbk_nonempty_compact", (int64_t)nonempty->blocks,
                          256, (unsigned)(8 * sizeof(uint32_t)), NULL, &arguments);
  }
  if (status != MERBIT_OK) {
    mbi_plan_release(plan, row_id);
    if (apart) {
      mbi_plan_release(plan, row_start);
    }
    return status;
  }
  nonempty->row_id = row_id;
  nonempty->row_start = row_start;
  nonempty->row_bits = row_bits;
  nonempty->start_apart = apart;
  nonempty->bytes = ids + words + (apart ? 0 : starts);
  return MERBIT_OK;
}

/* Adds an array that the plan keeps if it is small enough, and otherwise only while it is
 * made. */
static void mbi_nonempty_bound_one(uint64_t bytes, mbi_bound *bound) {
  const uint64_t kept = bytes < MBI_NONEMPTY_SMALL ? bytes : MBI_NONEMPTY_SMALL;
  bound->kept += kept;
  bound->making += bytes - kept;
}

/* Adds the lists of mbi_nonempty_compact to *bound. */
MBI_INTERNAL void mbi_nonempty_bound(const merbit_plan *plan, mbi_bound *bound) {
  bound->kept += (plan->device.rows + plan->device.rows / 32 + 2) * sizeof(uint32_t);
  mbi_nonempty_bound_one(
      (plan->device.rows + 1) * (uint64_t)mbi_index_bytes(plan->device.offset_type), bound);
}

/* Adds the counts of columns to *bound. */
MBI_INTERNAL void mbi_nonempty_columns_bound(const merbit_plan *plan, mbi_bound *bound) {
  mbi_nonempty_bound_one((plan->device.cols + MBI_NONEMPTY_BINS) * sizeof(uint32_t), bound);
}
