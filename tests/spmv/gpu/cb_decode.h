/* Decodes the blocks of CB-SpMV independently of the code that makes and multiplies them, and
 * checks every byte. Include merbit.h and cmocka.h first. */
#ifndef TEST_SPMV_CB_DECODE_H
#define TEST_SPMV_CB_DECODE_H
#include "support/matrices.h"

static long decoded[MBI_CB_FORMS], widths[4], split, crowded, evened;

typedef struct entry {
  int64_t row, column;
  double value;
} entry;

typedef struct bed { /* a matrix, its format, and the decoded entries */
  const test_matrix *m;
  const mbi_cb_options *options;
  const mbi_cb_format *f;
  size_t size; /* of a value */
  entry *entries;
  int64_t count;
  uint64_t offset; /* start of the next block's data */
} bed;

TEST_UNUSED static int compare(const void *a, const void *b) {
  const entry *x = (const entry *)a, *y = (const entry *)b;
  return x->row != y->row         ? (x->row > y->row) - (x->row < y->row)
         : x->column != y->column ? (x->column > y->column) - (x->column < y->column)
                                  : memcmp(&x->value, &y->value, sizeof x->value);
}

/* Reads the columns of a block whose data begin at `*at`, and advances it. */
static void take_columns(const bed *b, uint64_t block, const unsigned char **at,
                         int64_t columns[16]) {
  const unsigned width = b->f->words[block] >> 20 & 3;
  uint16_t narrow;
  uint32_t wide;
  int i;
  assert_true(width == 0 || b->f->aggregated);
  widths[width]++;
  for (i = 0; i < 16; i++) {
    columns[i] = b->f->first[block];
    if (width == 0) {
      columns[i] += i;
    } else if (width == 1) {
      columns[i] += *(*at)++;
    } else if (width == 2) {
      memcpy(&narrow, *at, 2);
      columns[i] += narrow;
      *at += 2;
    } else {
      memcpy(&wide, *at, 4);
      columns[i] += wide;
      *at += 4;
    }
    assert_true(i == 0 || columns[i] >= columns[i - 1]);
  }
  if (!b->f->aggregated) {
    assert_true(columns[0] % 16 == 0);
  } else { /* no wider than necessary */
    const int64_t span = columns[15] - columns[0];
    assert_true(columns[15] < b->m->cols || width == 0);
    assert_true(width < 2 || (width == 2 && span > 255) || span > 65535);
  }
}

static void take(bed *b, uint64_t strip, const int64_t columns[16], unsigned byte,
                 const unsigned char *at, unsigned row_counts[16]) {
  entry *e = &b->entries[b->count++];
  float single = 0;
  assert_true(b->count <= b->m->nnz);
  row_counts[byte & 15]++;
  e->row = (int64_t)(strip * 16 + (byte & 15));
  e->column = columns[byte >> 4];
  e->value = 1;
  if (b->size == 4) {
    memcpy(&single, at, 4);
    e->value = (double)single;
  } else if (b->size == 8) {
    memcpy(&e->value, at, 8);
  }
}

/* Decodes one block and checks its entries and every byte. */
static void decode(bed *b, uint64_t strip, uint64_t block) {
  const mbi_cb_format *f = b->f;
  const uint64_t word = f->words[block], count = word & 511, form = word >> 9 & 3;
  const uint64_t steps = word >> 11 & 255;
  const unsigned char *data = f->data + (word >> 22) * 8, *at = data;
  int64_t columns[16];
  unsigned counts[16] = {0}, longest = 0, i, row_before = 0;
  const uint64_t size = b->size > 0 ? b->size : 1;
  uint64_t k;
  assert_true((word >> 22) * 8 == b->offset);
  if (count == 0) {
    assert_true((word & ~MBI_CB_END & 0x3fffff) == 0 && b->f->words[block | 1] >> 19 & 1);
    return;
  }
  decoded[form]++;
  take_columns(b, block, &data, columns);
  assert_true(count <= 256);
  if (form == MBI_CB_DENSE) {
    const unsigned char *value = data + 32;
    for (i = 0; i < 256; i++) {
      if (data[i / 8] >> i % 8 & 1) { /* column i / 16, row i % 16 */
        take(b, strip, columns, i % 16 | i / 16 << 4, value, counts);
        value += b->size;
      }
    }
    at = value;
    k = 0;
    for (i = 0; i < 16; i++) {
      k += counts[i];
    }
    assert_true(k == count && steps == 0);
  } else {
    const unsigned char *index = data + (form == MBI_CB_CSR ? 16 : 0), *value;
    const uint64_t padding = (size - count % size) % size;
    value = index + count + padding;
    for (k = 0; k < padding; k++) {
      assert_int_equal(index[count + k], 0);
    }
    for (k = 0; k < count; k++) {
      assert_true((index[k] & 15u) >= row_before);
      row_before = index[k] & 15u;
      if (form == MBI_CB_CSR) {
        assert_true(data[row_before] <= k && (row_before == 15 || data[row_before + 1] > k));
      }
      take(b, strip, columns, index[k], value + k * b->size, counts);
    }
    at = value + count * b->size;
    for (i = 0; i < 16; i++) {
      longest = counts[i] > longest ? counts[i] : longest;
    }
    if (form == MBI_CB_CSR) {
      assert_true(steps == longest);
    } else {
      longest = longest > 16 ? 16 : longest;
      assert_true(1u << steps >= longest && (steps == 0 || 1u << (steps - 1) < longest));
    }
  }
  for (; (at - f->data) % 8 != 0; at++) {
    assert_int_equal(*at, 0);
  }
  b->offset = (uint64_t)(at - f->data);
}

/* Returns whether two of the entries decoded since `from` are at the same place. */
static int shared_place(const bed *b, int64_t from) {
  int64_t i, j;
  for (i = from; i < b->count; i++) {
    for (j = from; j < i; j++) {
      if (b->entries[i].row == b->entries[j].row &&
          b->entries[i].column == b->entries[j].column) {
        return 1;
      }
    }
  }
  return 0;
}

/* Returns the length of the longest row of the entries from `from` on. */
static uint64_t longest_row(const bed *b, int64_t from) {
  uint64_t longest = 0, length;
  int64_t i, j;
  for (i = from; i < b->count; i++) {
    for (length = 0, j = from; j < b->count; j++) {
      length += b->entries[i].row == b->entries[j].row;
    }
    longest = length > longest ? length : longest;
  }
  return longest;
}

/* Checks the format that a block's entries require; other blocks of the group may share a place
 * with them. */
static void check_form(const bed *b, uint64_t block, int64_t from) {
  const uint64_t count = b->f->words[block] & 511;
  const int form = (int)(b->f->words[block] >> 9 & 3);
  const int shared = shared_place(b, from);
  if (count == 0) {
    return;
  }
  crowded += shared;
  if (count < b->options->coo_max && b->options->weighed &&
      longest_row(b, from) <= 8 * ((count + 15) / 16)) {
    evened++;
    assert_int_equal(form, MBI_CB_CSR);
  } else if (count < b->options->coo_max) {
    assert_int_equal(form, MBI_CB_COO);
  } else if (count <= b->options->csr_max || shared) {
    assert_int_equal(form, MBI_CB_CSR);
  } else if (form != MBI_CB_DENSE) { /* only if the group continues in a neighbour */
    assert_true((block > 0 && b->f->first[block - 1] == b->f->first[block]) ||
                b->f->first[block + 1] == b->f->first[block]);
  }
}

/* Checks that tasks cover all blocks in order, that strips are consecutive, and that no task
 * exceeds the limit. */
TEST_UNUSED static void decode_all(bed *b) {
  const mbi_cb_format *f = b->f;
  uint64_t task, strip = 0, part = 0, splits = 0, before = 0;
  assert_true(f->task_block[0] == 0 && f->task_block[f->tasks] == f->blocks);
  for (task = 0; task < f->tasks; task++) {
    const uint32_t target = f->task_target[task];
    const uint64_t end = f->task_block[task + 1];
    uint64_t block, steps = 0, pair = 0;
    assert_true(f->task_block[task] % 2 == 0);
    if (target & MBI_CB_PART) {
      assert_true((target & ~MBI_CB_PART) == part);
      if (f->split_part[splits] == part) {
        assert_true(f->split_strip[splits] == strip);
      }
    } else {
      assert_true(target == strip);
    }
    assert_true(f->task_block[task] < end);
    for (block = f->task_block[task]; block < end; block++) {
      const int64_t from = b->count;
      decode(b, strip, block);
      check_form(b, block, from);
      pair = block % 2 == 0 ? f->words[block] & 511 : pair + (f->words[block] & 511);
      steps += block % 2 == 0 ? 2 : (pair + 31) / 32;
      assert_true(block % 2 != 0 || !(f->words[block] & MBI_CB_END));
      if (!(target & MBI_CB_PART) && (f->words[block] & MBI_CB_END)) {
        strip++;
        steps++;
      }
      assert_true(block + 1 < end || (f->words[block] & MBI_CB_END));
      assert_true(!(target & MBI_CB_PART) || block + 1 == end ||
                  !(f->words[block] & MBI_CB_END));
    }
    assert_true(steps <= (target & MBI_CB_PART || strip == target + 1 ? f->cut : f->limit));
    assert_true(task == 0 || (target & MBI_CB_PART) || before + steps > f->limit);
    before = target & MBI_CB_PART ? f->cut : steps;
    if (target & MBI_CB_PART) {
      part++;
      if (f->split_part[splits + 1] == part) {
        splits++;
        strip++;
      }
    }
  }
  assert_true(strip == ((uint64_t)b->m->rows + 15) / 16);
  assert_true(part == f->parts && splits == f->splits && f->split_part[splits] == part);
  assert_true(b->offset == f->data_bytes);
  for (task = 0; task < 4; task++) {
    assert_true(f->words[f->blocks + task] == 0 && f->first[f->blocks + task] == 0);
  }
  split += f->splits > 0;
}

#endif /* TEST_SPMV_CB_DECODE_H */
