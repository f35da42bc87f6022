#include "matrix/matrix.h"
#include "spmv/gpu/cb/cb.h"

/* Encodes a host CSR as CB-SpMV's blocks (Cong, Sun, Chen, Xie, Liu, Qian, ICS 2025, sections
 * 3.1 to 3.3): strips of 16 rows in blocks of 16 columns, each stored as COO, CSR or dense. The
 * indices and values of a block lie together in one buffer at an aligned offset. With
 * aggregated columns, a strip's empty columns are left out.
 *
 * Differences from the paper: the columns that are kept (its restore_cols) are stored with the
 * block, as offsets from the first one, in no, one or two bytes where they fit. A dense block
 * is a mask of 256 bits and the values that exist, so absent entries take no space and are not
 * multiplied. All duplicates are kept. Sparse blocks whose rows have nearly equal lengths are
 * CSR too. A strip has an even number of blocks, at least two, of which the last may be an
 * empty COO block, because a warp takes two blocks at once and visits every strip.
 *
 * A block's data, each part padded to a value's size, the whole to 8 bytes:
 *   no columns or 16, where a shorter group repeats its last column; then, for
 *   COO    a byte per entry, row | column << 4, sorted by row; the values
 *   CSR    16 bytes, where each row begins; then as COO
 *   dense  16 half words, one per column, with a bit for each row that has an entry; the
 *          values in the order of the bits */

/* The number of entries of a lane's row in CSR that take as long as 16 entries in COO. */
#define MBI_CB_EVEN 8
#define MBI_CB_CROWDED 255 /* the most entries of a block with duplicates */

MBI_INTERNAL uint64_t mbi_cb_pad(uint64_t bytes, uint64_t size) {
  return size > 0 ? (bytes + size - 1) / size * size : bytes;
}

/* Returns the bytes of a block's 16 columns. */
MBI_INTERNAL uint64_t mbi_cb_column_bytes(unsigned width) {
  return width == 3 ? 4 * MBI_CB_SIDE : width * MBI_CB_SIDE;
}

MBI_INTERNAL uint64_t mbi_cb_bytes(int form, unsigned width, uint64_t count, uint64_t size) {
  const uint64_t head = form == MBI_CB_DENSE ? 32 : form == MBI_CB_CSR ? 16 : 0;
  const uint64_t indices = form == MBI_CB_DENSE ? 0 : mbi_cb_pad(count, size);
  return mbi_cb_pad(mbi_cb_column_bytes(width) + head + indices + count * size, 8);
}

/* Returns the offset of a row's first entry; after the last row, the number of entries. */
MBI_INTERNAL uint64_t mbi_cb_offset(const mbi_cb_build *b, uint64_t row) {
  const merbit_view *from = b->from;
  const int64_t last = from->rows < (int64_t)row ? from->rows : (int64_t)row;
  return (uint64_t)(mbi_row_start(from, last));
}

/* Returns the first strip of a task. Tasks have about equal numbers of entries plus rows. */
MBI_INTERNAL uint64_t mbi_cb_share(const mbi_cb_build *b, int task) {
  const uint64_t all = mbi_cb_offset(b, UINT64_MAX >> 1) + b->strips * MBI_CB_SIDE;
  const uint64_t wish = (uint64_t)mbi_share((int64_t)all, b->tasks, task);
  uint64_t low = 0, high = b->strips;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (mbi_cb_offset(b, middle * MBI_CB_SIDE) + middle * MBI_CB_SIDE < wish) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* ---- A strip's entries by columns -------------------------------------------------------- */

/* Returns the end of the ascending run that begins at `at`. */
static uint64_t mbi_cb_run(const uint64_t *keys, uint64_t at, uint64_t count) {
  for (at++; at < count && keys[at - 1] < keys[at]; at++) {
  }
  return at < count ? at : count;
}

/* Merges each pair of neighbouring runs. Returns 1, without copying, if there is only one
 * run. */
static int mbi_cb_merge(const uint64_t *from, uint64_t *to, uint64_t count) {
  uint64_t at = 0;
  while (at < count) {
    const uint64_t middle = mbi_cb_run(from, at, count);
    const uint64_t end = middle < count ? mbi_cb_run(from, middle, count) : count;
    uint64_t left = at, right = middle, k = at;
    if (at == 0 && middle == count) {
      return 1;
    }
    while (left < middle && right < end) {
      to[k++] = from[left] < from[right] ? from[left++] : from[right++];
    }
    memcpy(to + k, from + left, (size_t)(middle - left) * sizeof *to);
    memcpy(to + k + (middle - left), from + right, (size_t)(end - right) * sizeof *to);
    at = end;
  }
  return count == 0;
}

/* Sorts a strip's entries by column, with a natural merge sort: sorted rows are 16 runs. */
static void mbi_cb_sort(mbi_cb_build *b, uint64_t strip) {
  const merbit_view *from = b->from;
  const uint64_t first = mbi_cb_offset(b, strip * MBI_CB_SIDE);
  const uint64_t count = mbi_cb_offset(b, (strip + 1) * MBI_CB_SIDE) - first;
  const int32_t *col_ind = (const int32_t *)from->col_ind;
  uint64_t *keys = b->keys + first, *other = b->spare + first, k, row;
  for (k = 0, row = 0; row < MBI_CB_SIDE; row++) {
    const uint64_t end = mbi_cb_offset(b, strip * MBI_CB_SIDE + row + 1) - first;
    for (; k < end; k++) {
      keys[k] = (uint64_t)(col_ind[first + k] - from->base) << (MBI_CB_PLACE + 4) |
                row << MBI_CB_PLACE | k;
    }
  }
  while (!mbi_cb_merge(keys, other, count)) {
    uint64_t *swapped = keys;
    keys = other;
    other = swapped;
  }
  if (keys != b->keys + first) {
    memcpy(other, keys, (size_t)count * sizeof *keys);
  }
}

/* ---- The blocks of a strip, one after another -------------------------------------------- */

MBI_INTERNAL void mbi_cb_begin(const mbi_cb_build *b, uint64_t strip, int aggregated,
                               mbi_cb_cursor *c) {
  const uint64_t first = mbi_cb_offset(b, strip * MBI_CB_SIDE);
  memset(c, 0, sizeof *c);
  c->build = b;
  c->aggregated = aggregated;
  c->keys = b->keys + first;
  c->count = mbi_cb_offset(b, (strip + 1) * MBI_CB_SIDE) - first;
}

MBI_INTERNAL unsigned mbi_cb_row(uint64_t key) {
  return (unsigned)(key >> MBI_CB_PLACE) & (MBI_CB_SIDE - 1);
}

MBI_INTERNAL uint32_t mbi_cb_column(uint64_t key) {
  return (uint32_t)(key >> (MBI_CB_PLACE + 4));
}

/* Returns the width, as in MBI_CB_WORD, of the columns' offsets from the first one. */
static unsigned mbi_cb_width(const uint32_t *columns, unsigned count) {
  const uint32_t span = columns[count - 1] - columns[0];
  return span == count - 1 ? 0 : span < 256 ? 1 : span < 65536 ? 2 : 3;
}

/* Moves to the next group, of up to 16 columns. */
static void mbi_cb_group(mbi_cb_cursor *c) {
  const uint32_t first = mbi_cb_column(c->keys[c->to]);
  const uint64_t end = c->aggregated ? UINT64_MAX : (uint64_t)(first | (MBI_CB_SIDE - 1)) + 1;
  uint64_t k = c->to;
  unsigned columns = 0;
  c->crowded = 0;
  for (; k < c->count; k++) {
    const uint32_t column = mbi_cb_column(c->keys[k]);
    if (columns > 0 && column == c->columns[columns - 1]) {
      c->crowded |= c->keys[k] >> MBI_CB_PLACE == c->keys[k - 1] >> MBI_CB_PLACE;
    } else if (columns == MBI_CB_SIDE || column >= end) {
      break;
    } else {
      c->columns[columns++] = column;
    }
  }
  c->group_to = k;
  c->width = c->aggregated ? mbi_cb_width(c->columns, columns) : 0;
  for (; columns < MBI_CB_SIDE; columns++) {
    c->columns[columns] = c->columns[columns - 1];
  }
}

/* Returns 1 if the block is faster as CSR, a lane per row, than as COO, a lane per entry. */
static int mbi_cb_even(const mbi_cb_cursor *c) {
  unsigned counts[MBI_CB_SIDE] = {0}, longest = 0, row;
  uint64_t k;
  for (k = c->from; k < c->to; k++) {
    counts[mbi_cb_row(c->keys[k])]++;
  }
  for (row = 0; row < MBI_CB_SIDE; row++) {
    longest = counts[row] > longest ? counts[row] : longest;
  }
  return longest <= MBI_CB_EVEN * ((c->to - c->from + 15) / 16);
}

/* Moves to the next block. Returns 0 after the last one. */
MBI_INTERNAL int mbi_cb_next(mbi_cb_cursor *c) {
  const mbi_cb_options *options = c->build->options;
  uint64_t count;
  if (c->to == c->count) {
    return 0;
  }
  if (c->to == c->group_to) {
    mbi_cb_group(c);
  }
  count = c->group_to - c->to;
  count = c->crowded && count > MBI_CB_CROWDED ? MBI_CB_CROWDED : count;
  c->from = c->to;
  c->to += count;
  c->form = count < options->coo_max                  ? MBI_CB_COO
            : count > options->csr_max && !c->crowded ? MBI_CB_DENSE
                                                      : MBI_CB_CSR;
  if (c->form == MBI_CB_COO && options->weighed && mbi_cb_even(c)) {
    c->form = MBI_CB_CSR;
  }
  return 1;
}

/* ---- Pass 1: count ----------------------------------------------------------------------- */

MBI_INTERNAL void mbi_cb_count_task(void *argument, int task) {
  mbi_cb_build *b = (mbi_cb_build *)argument;
  const uint64_t end = mbi_cb_share(b, task + 1);
  uint64_t strip;
  int aggregated;
  for (strip = mbi_cb_share(b, task); strip < end; strip++) {
    mbi_cb_sort(b, strip);
    for (aggregated = 0; aggregated < 2; aggregated++) {
      mbi_cb_strip *counts = &b->strip[aggregated][strip];
      mbi_cb_cursor c;
      mbi_cb_begin(b, strip, aggregated, &c);
      memset(counts, 0, sizeof *counts);
      while (mbi_cb_next(&c)) {
        counts->blocks++;
        counts->sparse += c.to - c.from < MBI_CB_SPARSE;
        counts->bytes += mbi_cb_bytes(c.form, c.width, c.to - c.from, b->value_bytes);
      }
    }
  }
}

/* Decides whether to aggregate columns (section 3.3.1), and turns counts into starts. */
MBI_INTERNAL void mbi_cb_place(mbi_cb_build *b) {
  mbi_cb_format *f = b->format;
  mbi_cb_strip *strip = b->strip[0];
  uint64_t s, sparse = 0, blocks = 0;
  for (s = 0; s < b->strips; s++) {
    sparse += strip[s].sparse;
    blocks += strip[s].blocks;
  }
  f->aggregated = (double)sparse > b->options->aggregate * (double)blocks;
  strip = b->strip[f->aggregated];
  for (s = 0; s < b->strips; s++) {
    const mbi_cb_strip counts = strip[s];
    strip[s].blocks = f->blocks;
    strip[s].bytes = f->data_bytes;
    f->blocks += counts.blocks > 0 ? (counts.blocks + 1) / 2 * 2 : 2;
    f->data_bytes += counts.bytes;
  }
}
