// Tiles of blocks: their construction against a simple loop, products against the error bound;
// every shape, storage order, mask and edge; rows over many tiles; launch sizes against the
// launcher's.
#include "support/internal.h"

#include "simt/bsr_bed.h"

#define SIMT_FORM f32_1x1_u8, float, 32, 0, 0, 0, 1, 1, 1, 8, 8, 0, 0, 0, 0, 1, 128
#include "simt/bsr_form.h"
#define SIMT_FORM f64_1x1_ones_masked, double, 64, 1, 1, 1, 1, 1, 1, 2, 6, 1, 0, 1, 0, 0, 64
#include "simt/bsr_form.h"
#define SIMT_FORM f32_2x2, float, 32, 1, 0, 1, 2, 2, 1, 8, 16, 0, 0, 0, 0, 1, 128
#include "simt/bsr_form.h"
#define SIMT_FORM f64_2x2_edge_shuffled, double, 32, 0, 0, 0, 2, 2, 1, 4, 4, 1, 1, 0, 1, 1, 256
#include "simt/bsr_form.h"
#define SIMT_FORM f32_3x3, float, 32, 0, 0, 0, 3, 3, 1, 8, 8, 1, 0, 0, 0, 0, 128
#include "simt/bsr_form.h"
#define SIMT_FORM f64_3x3_columns_masked, double, 64, 1, 0, 1, 3, 3, 1, 4, 8, 1, 1, 1, 0, 1, 32
#include "simt/bsr_form.h"
#define SIMT_FORM f32_4x4_columns, float, 32, 0, 0, 0, 4, 4, 1, 4, 8, 0, 1, 0, 0, 1, 128
#include "simt/bsr_form.h"
#define SIMT_FORM f64_4x4_edge_masked, double, 32, 1, 0, 0, 4, 4, 2, 2, 8, 0, 0, 1, 1, 1, 96
#include "simt/bsr_form.h"
#define SIMT_FORM f32_5x5_edge, float, 32, 0, 0, 1, 5, 5, 1, 4, 8, 1, 0, 0, 1, 1, 128
#include "simt/bsr_form.h"
#define SIMT_FORM f64_5x5, double, 32, 0, 0, 0, 5, 5, 1, 2, 8, 1, 0, 0, 0, 1, 128
#include "simt/bsr_form.h"
#define SIMT_FORM f32_6x6_ones_masked, float, 64, 1, 1, 0, 6, 6, 1, 4, 4, 0, 1, 1, 0, 1, 64
#include "simt/bsr_form.h"
#define SIMT_FORM f64_6x6, double, 32, 0, 0, 0, 6, 6, 1, 2, 2, 1, 0, 0, 0, 0, 128
#include "simt/bsr_form.h"
#define SIMT_FORM f32_7x7, float, 32, 0, 0, 0, 7, 7, 1, 4, 4, 1, 1, 0, 0, 1, 128
#include "simt/bsr_form.h"
#define SIMT_FORM f64_7x7_edge, double, 64, 0, 0, 1, 7, 7, 2, 2, 6, 0, 0, 0, 1, 1, 128
#include "simt/bsr_form.h"
#define SIMT_FORM f32_8x8_split, float, 32, 0, 0, 0, 8, 8, 2, 2, 8, 0, 0, 0, 0, 1, 256
#include "simt/bsr_form.h"
#define SIMT_FORM f64_8x8, double, 32, 1, 0, 0, 8, 8, 1, 1, 5, 1, 1, 0, 0, 1, 128
#include "simt/bsr_form.h"
#define SIMT_FORM f32_16x16_masked, float, 32, 0, 0, 0, 16, 16, 1, 1, 2, 1, 0, 1, 0, 1, 128
#include "simt/bsr_form.h"
#define SIMT_FORM f64_16x16_edge, double, 32, 0, 0, 1, 16, 16, 1, 1, 3, 0, 1, 0, 1, 0, 64
#include "simt/bsr_form.h"
#define SIMT_FORM f32_3x5, float, 32, 1, 0, 0, 3, 5, 1, 4, 8, 1, 1, 0, 0, 1, 128
#include "simt/bsr_form.h"
#define SIMT_FORM f64_3x5_ones_edge, double, 64, 0, 1, 0, 3, 5, 1, 2, 4, 0, 0, 0, 1, 1, 32
#include "simt/bsr_form.h"
#define SIMT_FORM f32_16x1, float, 32, 0, 0, 0, 16, 1, 1, 16, 64, 1, 0, 0, 0, 1, 128
#include "simt/bsr_form.h"
#define SIMT_FORM f64_16x1_short, double, 32, 0, 0, 1, 16, 1, 1, 2, 2, 1, 0, 0, 0, 1, 128
#include "simt/bsr_form.h"
#define SIMT_FORM f32_1x16, float, 64, 0, 0, 0, 1, 16, 4, 4, 8, 0, 0, 0, 0, 1, 128
#include "simt/bsr_form.h"
#define SIMT_FORM f64_1x16_edge, double, 32, 1, 0, 0, 1, 16, 8, 4, 4, 0, 1, 0, 1, 1, 128
#include "simt/bsr_form.h"
#define SIMT_FORM f32_32x1, float, 32, 0, 0, 0, 32, 1, 1, 4, 4, 1, 1, 0, 0, 0, 128
#include "simt/bsr_form.h"
#define SIMT_FORM f32_33x2, float, 32, 0, 0, 0, 33, 2, 1, 2, 4, 1, 0, 0, 0, 1, 128
#include "simt/bsr_form.h"
#define SIMT_FORM f64_33x2_masked, double, 32, 0, 0, 0, 33, 2, 1, 1, 1, 0, 1, 1, 0, 1, 128
#include "simt/bsr_form.h"
#define SIMT_FORM f32_13x7_masked_edge, float, 32, 0, 0, 1, 13, 7, 1, 4, 4, 1, 1, 1, 1, 1, 96
#include "simt/bsr_form.h"
#define SIMT_FORM f64_13x7, double, 64, 1, 0, 0, 13, 7, 4, 2, 4, 0, 0, 0, 0, 1, 128
#include "simt/bsr_form.h"
#define SIMT_FORM f64_64x64, double, 32, 0, 0, 0, 64, 64, 4, 1, 2, 0, 0, 0, 0, 1, 128
#include "simt/bsr_form.h"
#define SIMT_FORM f32_2x61_edge, float, 32, 0, 0, 0, 2, 61, 4, 1, 2, 0, 0, 1, 1, 1, 128
#include "simt/bsr_form.h"

static void check(void **state) {
  const bsr_form &f = *(const bsr_form *)*state;
  for (uint64_t seed : csr_seeds(bsr_forms, &f, test_effort(1, 0))) {
    csr_each_matrix(seed, [&](int index, test_matrix &m) {
      if (csr_left_to_others(csr_place(bsr_forms, &f), index, m)) {
        return;
      }
      const bool all = index % 16 == (int)(seed / 2 % 16);
      if (f.value_bytes == 4) {
        bsr_check_matrix<float>(f, index, m, seed, all);
      } else {
        bsr_check_matrix<double>(f, index, m, seed, all);
      }
    });
  }
}

// ---- Rows over many tiles -------------------------------------------------------------------

// Makes block rows of so many tiles of `tile` blocks that each way of the fix-up adds some up,
// at its limits.
static void make_long(int64_t tile, bool empty, test_matrix *m) {
  std::vector<int64_t> lengths;
  int64_t end = 0;
  uint64_t state = (uint64_t)tile;
  for (int64_t span : {0, 1, 8, 9, 10, 33, 1024, 1025, 1100}) {
    for (; end % tile != tile / 2; end++) {
      lengths.push_back(1);
    }
    lengths.push_back(span * tile + 1);
    end += span * tile + 1;
    if (empty) {
      lengths.push_back(0);
    }
  }
  memset(m, 0, sizeof *m);
  (void)snprintf(m->name, sizeof m->name, "rows of many tiles of %d", (int)tile);
  m->rows = (int64_t)lengths.size();
  m->cols = 30;
  m->nnz = end;
  m->row_ptr = (int64_t *)test_allocate(m->rows + 1, sizeof *m->row_ptr);
  m->col_ind = (int32_t *)test_allocate(m->nnz, sizeof *m->col_ind);
  m->values = (double *)test_allocate(m->nnz, sizeof *m->values);
  for (int64_t row = 0; row < m->rows; row++) {
    m->row_ptr[row + 1] = m->row_ptr[row] + lengths[(size_t)row];
  }
  for (int64_t i = 0; i < m->nnz; i++) {
    m->col_ind[i] = (int32_t)test_below(&state, m->cols);
  }
}

template <class V>
static void check_long(const bsr_form &f, const test_matrix &m, uint64_t seed) {
  bsr_matrix matrix(f.shape(), m, seed, 1);
  bsr_bed<V> b(f, 0, matrix);
  bsr_build(b, seed);
  for (int pair : {0, 4, 13}) { // no Inf or NaN, which would hide missing parts
    csr_check_pair(b, pair, seed, bsr_multiply<V>);
  }
}

// Tests the forms with few blocks in a tile.
static void test_long(void **) {
  int checked = 0;
  for (const bsr_form *f : bsr_forms) {
    const unsigned tile = f->slots() * f->slot_blocks;
    if (tile * f->rows * f->cols <= 128) {
      test_matrix m;
      make_long(tile, f->empty, &m);
      if (f->value_bytes == 4) {
        check_long<float>(*f, m, simt_seeds[0]);
      } else {
        check_long<double>(*f, m, simt_seeds[0]);
      }
      test_matrix_free(&m);
      checked++;
    }
  }
  assert_true(checked >= 2);
}

// ---- The launcher ---------------------------------------------------------------------------

// Checks that a shape has a tile that the kernels accept, with the sizes that the test bed
// computes.
static void check_size(merbit_context &context, int rows, int cols, merbit_type type,
                       uint64_t blocks, int edge) {
  const unsigned size = type == MERBIT_F32 ? 4 : 8;
  merbit_plan plan = {};
  bsr_form f = {};
  plan.state = test_plan_state();
  const mbi_bsr_tiles &t = *mbi_bsr_tiles_of(&plan);
  plan.context = &context;
  plan.type = type;
  plan.bsr.view = merbit_bsr(100 * rows, 100 * cols - edge, (int64_t)blocks, rows, cols,
                             nullptr, nullptr, nullptr);
  plan.device.nnz = blocks;
  plan.device.rows = 100;
  plan.nonempty.count = 90;
  assert_int_equal(mbi_bsr_size(&plan), MERBIT_OK);
  f.rows = (unsigned)rows;
  f.cols = (unsigned)cols;
  f.split = (unsigned)t.split;
  f.slot_blocks = (unsigned)t.slot_blocks;
  const uint64_t tile = f.slots() * f.slot_blocks,
                 entries = (unsigned)t.together * f.lane_cols();
  assert_int_equal(t.edge, edge);
  assert_int_equal(t.strips, f.strips());
  assert_int_equal(t.lanes, f.lanes());
  assert_int_equal(t.slots, f.slots());
  assert_int_equal(t.lane_cols, f.lane_cols());
  assert_true(f.split > 0 && (f.split & (f.split - 1)) == 0 && f.lanes() <= 32);
  assert_true(t.together > 0 && (t.together & (t.together - 1)) == 0);
  assert_true(entries <= 32 && entries * size % 16 == 0);
  assert_true(t.slot_blocks > 0 && t.slot_blocks % t.together == 0);
  assert_true(!t.shuffled || t.split == 1);
  assert_true(t.tiles == (blocks + tile - 1) / tile);
  assert_true(t.words == (t.tiles * tile + 31) / 32 && t.places == t.tiles * tile);
  assert_true(t.groups == t.tiles * f.strips() * (f.slot_blocks / (unsigned)t.together));
  assert_true(mbi_bsr_entries(&t) == t.groups * f.slots() * f.lanes() * entries);
  assert_true(mbi_bsr_mask_bytes(&t) ==
              t.groups * f.slots() * f.lanes() * (entries <= 16 ? 2 : 4));
  assert_true(t.parts == std::max<uint64_t>(t.tiles, 10) * (uint64_t)rows);
  assert_int_equal(t.blocks, csr_divide_up(t.tiles * f.strips() * 32, (unsigned)t.threads));
}

static void test_sizes(void **) {
  merbit_context context = {};
  context.device.multiprocessors = 132;
  assert_int_equal(MBI_BSR_BUILD_THREADS, BSR_BUILD_THREADS);
  assert_int_equal(MBI_SCAN_FIXUP_THREADS, BSR_FIXUP_THREADS);
  for (int rows = 1; rows <= 64; rows++) {
    for (int cols = 1; cols <= 64; cols++) {
      for (const uint64_t blocks : {1, 100, 5000000}) {
        check_size(context, rows, cols, MERBIT_F32, blocks, cols > 1 && blocks == 100);
        check_size(context, rows, cols, MERBIT_F64, blocks, cols > 1 && blocks == 1);
      }
    }
  }
}

int main() {
  return csr_main("bsr", bsr_forms, {cmocka_unit_test(test_sizes), cmocka_unit_test(test_long)},
                  check);
}
