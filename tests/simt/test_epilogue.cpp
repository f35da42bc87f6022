// Epilogues inside the kernels of SCAN, ROWS and SLICED, and behind a product: every row once,
// sums, tickets that are as before, nothing touched where a product is skipped. Matrices and
// vectors of small whole numbers, so that any order of sums gives the same.
#include "simt/rows_bed.h"
#include "simt/scan_bed.h"
#include "simt/sliced_bed.h"

#define MBK_HEAVY 0
#define MBK_EPILOGUE_VECTORS 2
#define MBK_EPILOGUE_SCALARS 1
#define MBK_EPILOGUE_RESULT (mbk_multiply(in_ax, in_s0) - in_v1)
#define MBK_EPILOGUE_SUM0 mbk_multiply(in_v0, in_ax)
#define MBK_EPILOGUE_SUM1 (in_y + in_row)

#define SIMT_FORM rows_f64, double, 32, 0, 0, 0, 8, 2, 1, 32
#include "simt/rows_form.h"
#define SIMT_FORM rows_f32, float, 64, 1, 0, 0, 1, 3, 0, 96
#include "simt/rows_form.h"
#define SIMT_FORM sliced_f64, double, 32, 0, 0, 0, 1, 1, 1, 32
#include "simt/sliced_form.h"
#define SIMT_FORM sliced_f32, float, 64, 1, 0, 0, 0, 2, 0, 64
#include "simt/sliced_form.h"
#define SIMT_FORM scan_f64, double, 32, 1, 0, 0, 4, 5, 1, 0, 32
#include "simt/scan_form.h"
#define SIMT_FORM scan_f32, float, 64, 0, 0, 0, 8, 5, 1, 1, 128
#include "simt/scan_form.h"
#define SIMT_WHOLE
#define SIMT_FORM whole_f64, double, 32, 0, 0, 0, 2, 5, 1, 1, 64
#include "simt/scan_form.h"
#define SIMT_FORM whole_f32, float, 64, 1, 0, 0, 4, 5, 1, 1, 96
#include "simt/scan_form.h"
#undef SIMT_WHOLE

#pragma GCC diagnostic push // what the epilogue does not name
#pragma GCC diagnostic ignored "-Wunused-parameter"
namespace apart {
#define MBK_VECTOR double
#define MBK_COMPUTE double
#include "spmv/epilogue.cu"
static const simt_kernel kernel = SIMT_KERNEL(mbk_epilogue_apart);
} // namespace apart
#pragma GCC diagnostic pop

struct call_of { // mbk_epilogue
  const void *vectors[6], *scalars, *sums, *skip, *left, *parts, *tickets;
  uint64_t left_count;
};

enum { GROUP = 128, MOST = 40000 };

template <class V> struct extras {
  extras(uint64_t rows, uint64_t left_count, unsigned grid)
      : v0(rows, sizeof(V)), v1(rows, sizeof(V)), scalars(1, 8), sums(2, 8, 0xff), told(1, 4),
        left(2 * left_count, 8, 0xff), parts(2 * (grid + csr_divide_up(grid, GROUP)), 8, 0xff),
        tickets(csr_divide_up(grid, GROUP) + 1, 4), y(rows, sizeof(V), 0xff) {
    for (uint64_t i = 0; i < rows; i++) {
      v0.template as<V>()[i] = (V)(i % 7) - 3;
      v1.template as<V>()[i] = (V)(i % 5);
    }
    scalars.as<double>()[0] = 2;
    call = {{v0.get(), v1.get()}, scalars.get(), sums.get(),    told.get(),
            left.get(),           parts.get(),   tickets.get(), left_count};
  }
  simt_array v0, v1, scalars, sums, told, left, parts, tickets, y;
  call_of call;
};

static unsigned shared_of(unsigned threads, unsigned bytes) {
  return std::max(bytes, threads / 16 * 8);
}

// Small whole numbers for the values and for x.
template <class Bed> void make_whole(Bed &b) {
  typedef typename Bed::value V;
  b.fill(1, CSR_PLAIN);
  for (size_t i = 0; i < b.x.count; i++) {
    b.x.template as<V>()[i] = (V)(i % 4) - 1;
  }
  for (uint64_t i = 0; i < b.nnz; i++) {
    b.m.values[i] = (double)(i % 3) - 1;
    b.values.template as<V>()[i] = (V)b.m.values[i];
  }
}

template <class Bed, class E> void check(const Bed &b, const E &e, const char *where) {
  typedef typename Bed::value V;
  double sums[2] = {0, 0};
  for (uint64_t row = 0; row < b.rows; row++) {
    double ax = 0;
    for (int64_t k = b.m.row_ptr[row]; k < b.m.row_ptr[row + 1]; k++) {
      ax += b.m.values[k] * (double)b.x.template as<V>()[b.m.col_ind[k]];
    }
    const double y = ax * 2 - (double)e.v1.template as<V>()[row];
    if ((double)e.y.template as<V>()[row] != y) {
      fail_msg("%s on %s: y[%llu] is %g, not %g", where, b.m.name, (unsigned long long)row,
               (double)e.y.template as<V>()[row], y);
    }
    sums[0] += (double)e.v0.template as<V>()[row] * ax;
    sums[1] += y + (double)row;
  }
  for (int k = 0; k < 2; k++) {
    if (e.sums.template as<double>()[k] != sums[k]) {
      fail_msg("%s on %s: sums[%d] is %.17g, not %.17g", where, b.m.name, k,
               e.sums.template as<double>()[k], sums[k]);
    }
  }
  for (size_t i = 0; i < e.tickets.count; i++) {
    assert_int_equal(e.tickets.load(i), 0);
  }
}

// `launch(call, seed)` twice, without a skip and with one that is 0, and once skipped: then
// nothing of the matrix, of x or of the vectors may be read.
template <class Bed, class E, class F>
void run(Bed &b, E &e, const char *where, uint64_t seed, const F &launch) {
  for (int turn = 0; turn < 3; turn++) {
    e.call.skip = turn == 0 ? nullptr : e.told.get();
    e.told.store(0, 0);
    e.told.template as<int>()[0] = turn == 2 ? -1 : 0;
    memset(e.y.get(), 0xff, e.y.count * e.y.width);
    memset(e.sums.get(), 0xff, 16);
    if (turn == 2) {
      b.forbid(true);
      e.v0.forbid();
      e.v1.forbid();
    }
    {
      simt_late_guard late({&b.x, &e.v0, &e.v1, &e.scalars, &e.sums, &e.told, &e.left, &e.parts,
                            &e.tickets, &e.y});
      launch(seed + (uint64_t)turn);
    }
    b.allow();
    e.v0.allow();
    e.v1.allow();
    if (turn < 2) {
      check(b, e, where);
    } else {
      for (size_t i = 0; i < e.y.count * e.y.width; i++) {
        assert_int_equal(e.y.template as<unsigned char>()[i], 0xff);
      }
      assert_true(isnan(e.sums.template as<double>()[0]) &&
                  isnan(e.sums.template as<double>()[1]));
    }
  }
}

template <class V>
void check_rows(const rows_form &f, int index, test_matrix &m, uint64_t seed) {
  rows_bed<V> b(f, index, m);
  const unsigned grid = csr_divide_up(b.rows * f.lanes, f.threads);
  extras<V> e(b.rows, 0, grid);
  make_whole(b);
  run(b, e, f.name, seed, [&](uint64_t s) {
    simt_run(f.product, b.run(s), {grid, f.threads, shared_of(f.threads, 0)}, b.row_ptr.get(),
             b.col_ind.get(), b.values.get(), b.table.get(), b.x.get(), e.y.get(), b.rows,
             e.call);
  });
}

template <class V>
void check_sliced(const sliced_form &f, int index, test_matrix &m, uint64_t seed) {
  sliced_bed<V> b(f, index, m);
  const unsigned grid = csr_divide_up(b.slices * 32, f.threads);
  extras<V> e(b.rows, 0, grid);
  make_whole(b);
  sliced_build(b, seed);
  sliced_fill(b, seed);
  run(b, e, f.name, seed, [&](uint64_t s) {
    simt_run(f.product, b.run(s), {grid, f.threads, shared_of(f.threads, 0)},
             b.slice_start.get(), b.slice_column_start.get(), b.slice_base.get(),
             b.length.get(), b.row_id.get(), b.columns.get(), b.slots.get(), b.table.get(),
             b.x.get(), e.y.get(), b.rows, e.call);
  });
}

template <class V>
void check_scan(const scan_form &f, int index, test_matrix &m, uint64_t seed) {
  if (scan_depth(m, f.pack) > f.depth || (m.nnz == 0 && f.whole)) {
    return;
  }
  scan_bed<V> b(f, index, m);
  const unsigned warps = f.threads / 32 - f.whole;
  const unsigned blocks = csr_divide_up(b.tiles, warps);
  const unsigned fixups = std::max(csr_divide_up(b.tiles, SCAN_FIXUP_THREADS),
                                   b.empty > 0 ? 1 + (unsigned)seed % 3 : 0);
  extras<V> e(b.rows, f.whole ? 0 : blocks, f.whole ? blocks : fixups);
  const simt_array firsts(b.tiles, sizeof(V), 0xff), tails(b.tiles, sizeof(V), 0xff);
  simt_array block_start(blocks + 1, 8, 0xff);
  make_whole(b);
  scan_build(b, seed);
  if (f.whole) {
    scan_cut(b, blocks, block_start, seed);
  }
  run(b, e, f.name, seed, [&](uint64_t s) {
    // Both kernels: with the first vector beside the nonzeros, and taken where a row ends.
    const bool adds = s % 2 == 0;
    const simt_kernel &product = adds ? f.sum : f.product;
    const unsigned beside = adds ? f.threads * (unsigned)sizeof(V) : 0;
    if (f.whole) {
      simt_run(
          product, b.run(s),
          {blocks, f.threads,
           shared_of(f.threads, f.threads / 32 * 2 * (2 * (unsigned)sizeof(V) + 4) + beside)},
          b.row_ends.get(), b.tile_row.get(), b.row_id.get(), b.empty_id.get(),
          block_start.get(), b.col_ind.get(), b.values.get(), b.table.get(), b.x.get(),
          e.y.get(), b.nnz, b.tiles, b.empty, e.call);
      return;
    }
    if (b.tiles > 0) {
      simt_run(product, b.run(s), {blocks, f.threads, shared_of(f.threads, beside)},
               b.row_ends.get(), b.tile_row.get(), b.row_id.get(), b.col_ind.get(),
               b.values.get(), b.table.get(), b.x.get(), e.y.get(), firsts.get(), tails.get(),
               b.nnz, b.tiles, e.call);
    }
    simt_run(f.fixup, b.run(s),
             {fixups, SCAN_FIXUP_THREADS,
              shared_of(SCAN_FIXUP_THREADS, scan_fixup_shared(sizeof(V)))},
             b.row_start.get(), b.tile_row.get(), b.row_id.get(), b.empty_id.get(),
             firsts.get(), tails.get(), e.y.get(), b.tiles, b.empty, e.call);
  });
}

// Each form on a part of the matrices that turns.
template <class Form, class F>
void check_forms(const std::vector<const Form *> &forms, const F &check) {
  const int step = test_effort(6, 1);
  int position = 0;
  for (const Form *f : forms) {
    const uint64_t seed = simt_seeds[(size_t)(2 * position) % simt_seeds.size()];
    csr_each_matrix(seed, [&](int index, test_matrix &m) {
      if (m.rows > 0 && (index + position) % step == 0 && m.rows < MOST / 8 && m.nnz < MOST) {
        check(*f, index, m, seed);
      }
    });
    position++;
  }
}

static void test_rows(void **) {
  check_forms(rows_forms, [](const rows_form &f, int index, test_matrix &m, uint64_t seed) {
    f.value_bytes == 4 ? check_rows<float>(f, index, m, seed)
                       : check_rows<double>(f, index, m, seed);
  });
}
static void test_sliced(void **) {
  check_forms(sliced_forms, [](const sliced_form &f, int index, test_matrix &m, uint64_t seed) {
    f.value_bytes == 4 ? check_sliced<float>(f, index, m, seed)
                       : check_sliced<double>(f, index, m, seed);
  });
}
static void test_scan(void **) {
  check_forms(scan_forms, [](const scan_form &f, int index, test_matrix &m, uint64_t seed) {
    f.value_bytes == 4 ? check_scan<float>(f, index, m, seed)
                       : check_scan<double>(f, index, m, seed);
  });
}

// In place, as many rows as each matrix has, by grids of one block to four groups.
static void test_apart(void **) {
  csr_each_matrix(3, [&](int index, test_matrix &m) {
    static const unsigned grids[] = {1, 2, 128, 129, 3 * 128 + 1};
    const uint64_t rows = (uint64_t)std::min(m.rows, (int64_t)3000);
    const unsigned grid = rows < 1000 || index % 9 == 0 ? grids[index % 5] : grids[index % 2];
    extras<double> e(rows, 0, grid);
    double sums[2] = {0, 0};
    for (uint64_t i = 0; i < rows; i++) {
      const double ax = (double)(i % 11) - 5, y = 2 * ax - (double)(i % 5);
      e.y.as<double>()[i] = ax;
      sums[0] += ((double)(i % 7) - 3) * ax;
      sums[1] += y + (double)i;
    }
    e.call.skip = nullptr;
    {
      simt_late_guard late({&e.v0, &e.v1, &e.scalars, &e.sums, &e.parts, &e.tickets, &e.y});
      simt_run(apart::kernel, {"apart", m.name, 3}, {grid, 256, 128}, e.y.get(), e.y.get(),
               rows, e.call);
    }
    assert_true(e.sums.as<double>()[0] == sums[0] && e.sums.as<double>()[1] == sums[1]);
    for (uint64_t i = 0; i < rows; i++) {
      assert_true(e.y.as<double>()[i] == 2 * ((double)(i % 11) - 5) - (double)(i % 5));
    }
    for (size_t i = 0; i < e.tickets.count; i++) {
      assert_int_equal(e.tickets.load(i), 0);
    }
  });
}

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_sliced),
                              cmocka_unit_test(test_scan), cmocka_unit_test(test_apart)};
  return cmocka_run_group_tests(tests, nullptr, simt_runs_report);
}
