#include "core/context.h"
#include "matrix/matrix.h"
#include "spmv/gpu/cb/cb.h"

/* Fills CB-SpMV's blocks and assigns the strips to warps. spmv/gpu/cb/build.c describes the
 * storage. */

/* ---- Pass 2: fill ------------------------------------------------------------------------ */

/* Copies the value of the entry with key `key` to values[slot]. */
static void mbi_cb_put(const mbi_cb_cursor *c, unsigned char *values, uint64_t slot,
                       uint64_t key) {
  const mbi_cb_build *b = c->build;
  const uint64_t place = key & (((uint64_t)1 << MBI_CB_PLACE) - 1);
  const uint64_t from = (uint64_t)(c->keys - b->keys) + place;
  if (b->value_bytes == sizeof(float)) {
    memcpy(values + slot * sizeof(float), b->values + from * sizeof(float), sizeof(float));
  } else if (b->value_bytes == sizeof(double)) {
    memcpy(values + slot * sizeof(double), b->values + from * sizeof(double), sizeof(double));
  }
}

/* Stores the columns of a group. */
static void mbi_cb_fill_columns(const mbi_cb_cursor *c, unsigned char *data) {
  unsigned i;
  for (i = 0; i < MBI_CB_SIDE; i++) {
    const uint32_t offset = c->columns[i] - c->columns[0];
    const uint16_t narrow = (uint16_t)offset;
    if (c->width == 1) {
      data[i] = (unsigned char)offset;
    } else if (c->width == 2) {
      memcpy(data + 2 * i, &narrow, sizeof narrow);
    } else if (c->width == 3) {
      memcpy(data + 4 * i, &offset, sizeof offset);
    }
  }
}

/* Returns the place of a key's column in its group. `from` is a place at or before it. */
static unsigned mbi_cb_local(const mbi_cb_cursor *c, uint64_t key, unsigned from) {
  const uint32_t column = mbi_cb_column(key);
  if (!c->aggregated) {
    return column % MBI_CB_SIDE;
  }
  while (c->columns[from] != column) {
    from++;
  }
  return from;
}

/* Stores a COO or CSR block. Returns the steps for its word. */
static unsigned mbi_cb_fill_rows(const mbi_cb_cursor *c, unsigned char *data) {
  const uint64_t count = c->to - c->from;
  unsigned char *indices = data + (c->form == MBI_CB_CSR ? MBI_CB_SIDE : 0);
  unsigned char *values = indices + mbi_cb_pad(count, c->build->value_bytes);
  unsigned next[MBI_CB_SIDE + 1] = {0}, longest = 0, steps = 0, local = 0, row;
  uint64_t k;
  for (k = c->from; k < c->to; k++) {
    next[mbi_cb_row(c->keys[k]) + 1]++;
  }
  for (row = 0; row < MBI_CB_SIDE; row++) {
    longest = next[row + 1] > longest ? next[row + 1] : longest;
    next[row + 1] += next[row];
  }
  for (row = 0; row < MBI_CB_SIDE && c->form == MBI_CB_CSR; row++) {
    data[row] = (unsigned char)next[row];
  }
  for (k = c->from; k < c->to; k++) {
    row = mbi_cb_row(c->keys[k]);
    local = mbi_cb_local(c, c->keys[k], local);
    indices[next[row]] = (unsigned char)(row | local << 4);
    mbi_cb_put(c, values, next[row]++, c->keys[k]);
  }
  if (c->form == MBI_CB_CSR) {
    return longest;
  }
  while (steps < 4 && 1u << steps < longest) {
    steps++;
  }
  return steps;
}

static void mbi_cb_fill_dense(const mbi_cb_cursor *c, unsigned char *data) {
  uint16_t rows[MBI_CB_SIDE] = {0};
  unsigned local = 0;
  uint64_t k, slot = 0;
  for (k = c->from; k < c->to; k++) { /* in the order of the bits */
    local = mbi_cb_local(c, c->keys[k], local);
    rows[local] = (uint16_t)(rows[local] | 1u << mbi_cb_row(c->keys[k]));
    mbi_cb_put(c, data + sizeof rows, slot++, c->keys[k]);
  }
  memcpy(data, rows, sizeof rows);
}

static void mbi_cb_fill_strip(mbi_cb_build *b, uint64_t strip) {
  mbi_cb_format *f = b->format;
  mbi_cb_strip at = b->strip[f->aggregated][strip];
  const uint64_t first = at.blocks;
  mbi_cb_cursor c;
  mbi_cb_begin(b, strip, f->aggregated, &c);
  while (mbi_cb_next(&c)) {
    const uint64_t bytes = mbi_cb_bytes(c.form, c.width, c.to - c.from, b->value_bytes);
    unsigned char *data = f->data + at.bytes;
    unsigned steps = 0;
    memset(data, 0, (size_t)bytes);
    mbi_cb_fill_columns(&c, data);
    data += mbi_cb_column_bytes(c.width);
    if (c.form == MBI_CB_DENSE) {
      mbi_cb_fill_dense(&c, data);
    } else {
      steps = mbi_cb_fill_rows(&c, data);
    }
    f->first[at.blocks] =
        c.aggregated ? c.columns[0] : c.columns[0] / MBI_CB_SIDE * MBI_CB_SIDE;
    f->words[at.blocks++] = MBI_CB_WORD(c.to - c.from, c.form, steps, c.width, at.bytes);
    at.bytes += bytes;
  }
  while (at.blocks == first || at.blocks % 2 != 0) {
    f->first[at.blocks] = 0;
    f->words[at.blocks++] = MBI_CB_WORD(0, MBI_CB_COO, 0, 0, at.bytes);
  }
  f->words[at.blocks - 1] |= MBI_CB_END;
}

static void mbi_cb_fill_task(void *argument, int task) {
  mbi_cb_build *b = (mbi_cb_build *)argument;
  const uint64_t end = mbi_cb_share(b, task + 1);
  uint64_t strip;
  for (strip = mbi_cb_share(b, task); strip < end; strip++) {
    mbi_cb_fill_strip(b, strip);
  }
}

/* ---- Balance ----------------------------------------------------------------------------- */

/* The most parts of a strip: the fix-up adds them up one after the other. */
#define MBI_CB_MOST_PARTS 8192
#define MBI_CB_USUAL_LIMIT 128
#define MBI_CB_LEAST_CUT 32 /* a shorter part costs more in the fix-up than it gains */

/* Returns the number of steps for the two blocks at `words`. */
static uint64_t mbi_cb_steps(const uint64_t *words) {
  return 2 + (MBI_CB_COUNT(words[0]) + MBI_CB_COUNT(words[1]) + 31) / 32;
}

/* Returns the number of steps for the strip at *block, and moves *block to the next strip. */
static uint64_t mbi_cb_measure(const mbi_cb_format *f, uint64_t *block) {
  uint64_t steps = 1;
  do {
    steps += mbi_cb_steps(f->words + *block);
    *block += 2;
  } while (!(f->words[*block - 1] & MBI_CB_END));
  return steps;
}

/* Counts the blocks of each form, and chooses the limits from the steps of all blocks. */
static void mbi_cb_survey(mbi_cb_format *f, const mbi_cb_options *options) {
  const uint64_t warps = 192 * (uint64_t)(options->processors > 0 ? options->processors : 1);
  uint64_t steps = 0, block;
  for (block = 0; block < f->blocks; block++) {
    steps += block % 2 == 0 ? mbi_cb_steps(f->words + block) : 0;
    f->forms[MBI_CB_FORM(f->words[block])] += MBI_CB_COUNT(f->words[block]) > 0;
  }
  f->limit = steps / warps;
  f->limit = f->limit < MBI_CB_LEAST_LIMIT ? MBI_CB_LEAST_LIMIT : f->limit;
  f->limit = f->limit > MBI_CB_USUAL_LIMIT ? MBI_CB_USUAL_LIMIT : f->limit;
  f->limit = options->steps > 0 ? options->steps : f->limit;
  f->cut = options->steps > 0 || f->limit > MBI_CB_LEAST_CUT ? f->limit : MBI_CB_LEAST_CUT;
}

static void mbi_cb_task(mbi_cb_format *f, int write, uint64_t block, uint64_t target) {
  if (write) {
    f->task_block[f->tasks] = block;
    f->task_target[f->tasks] = (uint32_t)target;
  }
  f->tasks++;
}

/* Cuts a strip of `steps` steps, the blocks [first, end), into parts. Each is a task. Without
 * `write`, only counts. */
static void mbi_cb_split(mbi_cb_format *f, int write, uint64_t strip, uint64_t first,
                         uint64_t end, uint64_t steps) {
  const uint64_t least = steps / MBI_CB_MOST_PARTS + 1;
  const uint64_t limit = least > f->cut ? least : f->cut;
  uint64_t block, load = limit;
  if (write) {
    f->split_strip[f->splits] = (uint32_t)strip;
    f->split_part[f->splits] = (uint32_t)f->parts;
  }
  f->splits++;
  for (block = first; block < end; block += 2) {
    const uint64_t more = mbi_cb_steps(f->words + block);
    if (load + more > limit) {
      if (write && block > first) {
        f->words[block - 1] |= MBI_CB_END;
      }
      mbi_cb_task(f, write, block, MBI_CB_PART | f->parts);
      f->parts++;
      load = 0;
    }
    load += more;
  }
}

/* Assigns all strips to tasks, in order. Without `write`, only counts tasks and parts. */
static void mbi_cb_deal(mbi_cb_format *f, uint64_t strips, int write) {
  uint64_t strip, block = 0, load = UINT64_MAX / 2;
  f->tasks = f->parts = f->splits = 0;
  for (strip = 0; strip < strips; strip++) {
    const uint64_t first = block, steps = mbi_cb_measure(f, &block);
    if (steps > f->cut) {
      mbi_cb_split(f, write, strip, first, block, steps);
      load = UINT64_MAX / 2;
    } else if (load + steps > f->limit) {
      mbi_cb_task(f, write, first, strip);
      load = steps;
    } else {
      load += steps;
    }
  }
  if (write) {
    f->task_block[f->tasks] = block;
    f->split_part[f->splits] = (uint32_t)f->parts;
  }
}

/* ---- All steps --------------------------------------------------------------------------- */

MBI_INTERNAL void mbi_cb_format_free(merbit_context *context, mbi_cb_format *f) {
  mbi_release(context, f->words);
  mbi_release(context, f->first);
  mbi_release(context, f->data);
  mbi_release(context, f->task_block);
  mbi_release(context, f->task_target);
  mbi_release(context, f->split_strip);
  mbi_release(context, f->split_part);
  memset(f, 0, sizeof *f);
}

/* Fails if the number of strips exceeds 31 bits, or a place in a strip 29 bits. */
MBI_INTERNAL merbit_status mbi_cb_check_sizes(merbit_context *context, const mbi_cb_build *b) {
  uint64_t strip, longest = 0;
  for (strip = 0; strip < b->strips; strip++) {
    const uint64_t count =
        mbi_cb_offset(b, (strip + 1) * MBI_CB_SIDE) - mbi_cb_offset(b, strip * MBI_CB_SIDE);
    longest = count > longest ? count : longest;
  }
  return b->strips >= MBI_CB_PART || longest >> MBI_CB_PLACE != 0
             ? mbi_fail(
                   context, MERBIT_TOO_LARGE,
                   "MERBIT_METHOD_CB takes fewer than 2^31 strips of 16 rows with fewer than "
                   "2^29 nonzeros each, not %" PRIu64 " and %" PRIu64,
                   b->strips, longest)
             : MERBIT_OK;
}

static merbit_status mbi_cb_count(merbit_context *context, mbi_cb_build *b) {
  const int64_t nnz = b->from->nnz;
  void *memory = NULL;
  MBI_TRY(mbi_cb_check_sizes(context, b));
  MBI_TRY(mbi_allocate_array(context, nnz, sizeof *b->keys, "keys of nonzeros", &memory));
  b->keys = (uint64_t *)memory;
  MBI_TRY(mbi_allocate_array(context, nnz, sizeof *b->spare, "keys being sorted", &memory));
  b->spare = (uint64_t *)memory;
  MBI_TRY(mbi_allocate_array(context, (int64_t)(2 * b->strips), sizeof *b->strip[0],
                             "strips of 16 rows", &memory));
  b->strip[0] = (mbi_cb_strip *)memory;
  b->strip[1] = b->strip[0] + b->strips;
  mbi_parallel(context, b->tasks, mbi_cb_count_task, b);
  mbi_cb_place(b);
  return MERBIT_OK;
}

static merbit_status mbi_cb_fill(merbit_context *context, mbi_cb_build *b) {
  mbi_cb_format *f = b->format;
  const int64_t blocks = (int64_t)(f->blocks + MBI_CB_SPARE);
  void *memory = NULL;
  MBI_TRY(mbi_allocate_array(context, blocks, 8, "words of blocks", &memory));
  f->words = (uint64_t *)memory;
  MBI_TRY(mbi_allocate_array(context, blocks, 4, "columns of blocks", &memory));
  f->first = (uint32_t *)memory;
  MBI_TRY(mbi_allocate_array(context, (int64_t)f->data_bytes, 1, "data of blocks", &memory));
  f->data = (unsigned char *)memory;
  memset(f->words + f->blocks, 0, MBI_CB_SPARE * sizeof *f->words);
  memset(f->first + f->blocks, 0, MBI_CB_SPARE * sizeof *f->first);
  mbi_parallel(context, b->tasks, mbi_cb_fill_task, b);
  return MERBIT_OK;
}

static merbit_status mbi_cb_balance(merbit_context *context, mbi_cb_build *b) {
  mbi_cb_format *f = b->format;
  void *memory = NULL;
  mbi_cb_survey(f, b->options);
  mbi_cb_deal(f, b->strips, 0);
  if (f->parts >= MBI_CB_PART) {
    return mbi_fail(
        context, MERBIT_TOO_LARGE,
        "%" PRIu64
        " parts of strips are too many for MERBIT_METHOD_CB; use another plan_desc.method",
        f->parts);
  }
  MBI_TRY(mbi_allocate_array(context, (int64_t)f->tasks + 1, 8, "tasks", &memory));
  f->task_block = (uint64_t *)memory;
  MBI_TRY(mbi_allocate_array(context, (int64_t)f->tasks, 4, "targets of tasks", &memory));
  f->task_target = (uint32_t *)memory;
  MBI_TRY(mbi_allocate_array(context, (int64_t)f->splits, 4, "strips in parts", &memory));
  f->split_strip = (uint32_t *)memory;
  MBI_TRY(mbi_allocate_array(context, (int64_t)f->splits + 1, 4, "parts of strips", &memory));
  f->split_part = (uint32_t *)memory;
  mbi_cb_deal(f, b->strips, 1);
  return MERBIT_OK;
}

/* Fills b->format. The caller releases the arrays of `b`. */
static merbit_status mbi_cb_build_format(merbit_context *context, mbi_cb_build *b) {
  MBI_TRY(mbi_cb_count(context, b));
  MBI_TRY(mbi_cb_fill(context, b));
#ifdef MERBIT_STUDY_METHODS
  if (b->options->warps > 0) {
    MBI_TRY(mbi_cb_balance(context, b));
    return mbi_cb_queue(context, b->format, b->options->warps);
  }
#endif
  return mbi_cb_balance(context, b);
}

/* Encodes `from` into `format`. `values` has `value_bytes` per entry, as the plan stores them;
 * 0: a pattern. The result does not depend on the number of threads. The caller runs
 * mbi_cb_format_free, on failure too. */
MBI_INTERNAL merbit_status mbi_cb_create_format(merbit_context *context,
                                                const merbit_view *from, const void *values,
                                                size_t value_bytes,
                                                const mbi_cb_options *options,
                                                mbi_cb_format *format) {
  mbi_cb_build b;
  merbit_status status;
  memset(format, 0, sizeof *format);
  memset(&b, 0, sizeof b);
  b.from = from;
  b.values = (const char *)values;
  b.value_bytes = value_bytes;
  b.options = options;
  b.strips = ((uint64_t)from->rows + MBI_CB_SIDE - 1) / MBI_CB_SIDE;
  b.tasks = mbi_share_tasks(context, from->rows + 8 * from->nnz);
  b.format = format;
  status = mbi_cb_build_format(context, &b);
  mbi_release(context, b.keys);
  mbi_release(context, b.spare);
  mbi_release(context, b.strip[0]);
  return status;
}
