// The MERBIT kernels on the CPU: TILE against a plain walk of the merge path, products of both
// commits against the componentwise bound, on every generated matrix, for the specialisations
// listed below.
#define MERBIT_IMPLEMENTATION
#include "merbit.h" // for the launcher's sizes

#include "jit/device.cuh"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <limits>
#include <memory>
#include <set>
#include <tuple>

extern "C" {
#include <cmocka.h>
}

#include "simt/seeds.h"
#include "support/bound.h"
#include "support/matrices.h"

// ---- Specialisations
// ------------------------------------------------------------------------------

#define SIMT_NAME f32_sigma14
#define SIMT_VALUE float
#define SIMT_SIGMA 14
#define SIMT_OMEGA 32
#define SIMT_THREADS 128
#define SIMT_ROW_PTR mbk_i32
#define SIMT_BASE 0
#define SIMT_TILE mbk_u32
#define SIMT_PATTERN 0
#define SIMT_SCALARS_DEVICE 0
#define SIMT_DUAL 0
#include "simt/merbit_kernels.h"

#define SIMT_NAME f64_sigma7
#define SIMT_VALUE double
#define SIMT_SIGMA 7
#define SIMT_OMEGA 32
#define SIMT_THREADS 128
#define SIMT_ROW_PTR mbk_i64
#define SIMT_BASE 0
#define SIMT_TILE mbk_u32
#define SIMT_PATTERN 0
#define SIMT_SCALARS_DEVICE 0
#define SIMT_DUAL 0
#include "simt/merbit_kernels.h"

#define SIMT_NAME f32_pattern_base1_device_scalars
#define SIMT_VALUE float
#define SIMT_SIGMA 14
#define SIMT_OMEGA 32
#define SIMT_THREADS 128
#define SIMT_ROW_PTR mbk_i32
#define SIMT_BASE 1
#define SIMT_TILE mbk_u32
#define SIMT_PATTERN 1
#define SIMT_SCALARS_DEVICE 1
#define SIMT_DUAL 0
#include "simt/merbit_kernels.h"

#define SIMT_NAME f64_tile64_device_scalars
#define SIMT_VALUE double
#define SIMT_SIGMA 7
#define SIMT_OMEGA 32
#define SIMT_THREADS 128
#define SIMT_ROW_PTR mbk_i32
#define SIMT_BASE 0
#define SIMT_TILE mbk_u64
#define SIMT_PATTERN 0
#define SIMT_SCALARS_DEVICE 1
#define SIMT_DUAL 0
#include "simt/merbit_kernels.h"

#define SIMT_NAME f32_omega16_sigma7
#define SIMT_VALUE float
#define SIMT_SIGMA 7
#define SIMT_OMEGA 16
#define SIMT_THREADS 64
#define SIMT_ROW_PTR mbk_i32
#define SIMT_BASE 0
#define SIMT_TILE mbk_u32
#define SIMT_PATTERN 0
#define SIMT_SCALARS_DEVICE 0
#define SIMT_DUAL 0
#include "simt/merbit_kernels.h"

#define SIMT_NAME f64_omega8_sigma14_base1
#define SIMT_VALUE double
#define SIMT_SIGMA 14
#define SIMT_OMEGA 8
#define SIMT_THREADS 128
#define SIMT_ROW_PTR mbk_i64
#define SIMT_BASE 1
#define SIMT_TILE mbk_u32
#define SIMT_PATTERN 0
#define SIMT_SCALARS_DEVICE 0
#define SIMT_DUAL 0
#include "simt/merbit_kernels.h"

#define SIMT_NAME f32_sigma1_pattern
#define SIMT_VALUE float
#define SIMT_SIGMA 1
#define SIMT_OMEGA 32
#define SIMT_THREADS 32
#define SIMT_ROW_PTR mbk_i32
#define SIMT_BASE 0
#define SIMT_TILE mbk_u32
#define SIMT_PATTERN 1
#define SIMT_SCALARS_DEVICE 0
#define SIMT_DUAL 0
#include "simt/merbit_kernels.h"

#define SIMT_NAME f64_omega8_sigma1
#define SIMT_VALUE double
#define SIMT_SIGMA 1
#define SIMT_OMEGA 8
#define SIMT_THREADS 32
#define SIMT_ROW_PTR mbk_i64
#define SIMT_BASE 0
#define SIMT_TILE mbk_u64
#define SIMT_PATTERN 0
#define SIMT_SCALARS_DEVICE 0
#define SIMT_DUAL 0
#include "simt/merbit_kernels.h"

#define SIMT_NAME f64_sigma28_descriptor64
#define SIMT_VALUE double
#define SIMT_SIGMA 28
#define SIMT_OMEGA 32
#define SIMT_THREADS 128
#define SIMT_ROW_PTR mbk_i64
#define SIMT_BASE 0
#define SIMT_TILE mbk_u32
#define SIMT_PATTERN 0
#define SIMT_SCALARS_DEVICE 0
#define SIMT_DUAL 0
#include "simt/merbit_kernels.h"

#define SIMT_NAME f32_sigma42_descriptor64
#define SIMT_VALUE float
#define SIMT_SIGMA 42
#define SIMT_OMEGA 32
#define SIMT_THREADS 64
#define SIMT_ROW_PTR mbk_i32
#define SIMT_BASE 1
#define SIMT_TILE mbk_u64
#define SIMT_PATTERN 0
#define SIMT_SCALARS_DEVICE 0
#define SIMT_DUAL 0
#include "simt/merbit_kernels.h"

#define SIMT_NAME f32_omega8_sigma46_pattern
#define SIMT_VALUE float
#define SIMT_SIGMA 46
#define SIMT_OMEGA 8
#define SIMT_THREADS 64
#define SIMT_ROW_PTR mbk_i64
#define SIMT_BASE 1
#define SIMT_TILE mbk_u32
#define SIMT_PATTERN 1
#define SIMT_SCALARS_DEVICE 1
#define SIMT_DUAL 0
#include "simt/merbit_kernels.h"

#define SIMT_NAME f64_omega16_sigma17
#define SIMT_VALUE double
#define SIMT_SIGMA 17
#define SIMT_OMEGA 16
#define SIMT_THREADS 96
#define SIMT_ROW_PTR mbk_i32
#define SIMT_BASE 0
#define SIMT_TILE mbk_u32
#define SIMT_PATTERN 0
#define SIMT_SCALARS_DEVICE 0
#define SIMT_DUAL 0
#include "simt/merbit_kernels.h"

#define SIMT_NAME f32_threads1024
#define SIMT_VALUE float
#define SIMT_SIGMA 14
#define SIMT_OMEGA 32
#define SIMT_THREADS 1024
#define SIMT_ROW_PTR mbk_i32
#define SIMT_BASE 0
#define SIMT_TILE mbk_u32
#define SIMT_PATTERN 0
#define SIMT_SCALARS_DEVICE 0
#define SIMT_DUAL 0
#include "simt/merbit_kernels.h"

#define SIMT_NAME dual_f32_sigma14
#define SIMT_VALUE float
#define SIMT_SIGMA 14
#define SIMT_OMEGA 32
#define SIMT_THREADS 128
#define SIMT_ROW_PTR mbk_i32
#define SIMT_BASE 0
#define SIMT_TILE mbk_u32
#define SIMT_PATTERN 0
#define SIMT_SCALARS_DEVICE 0
#define SIMT_DUAL 1
#include "simt/merbit_kernels.h"

#define SIMT_NAME dual_f64_sigma7_base1
#define SIMT_VALUE double
#define SIMT_SIGMA 7
#define SIMT_OMEGA 32
#define SIMT_THREADS 128
#define SIMT_ROW_PTR mbk_i64
#define SIMT_BASE 1
#define SIMT_TILE mbk_u32
#define SIMT_PATTERN 0
#define SIMT_SCALARS_DEVICE 0
#define SIMT_DUAL 1
#include "simt/merbit_kernels.h"

#define SIMT_NAME dual_f32_omega16_sigma28_pattern
#define SIMT_VALUE float
#define SIMT_SIGMA 28
#define SIMT_OMEGA 16
#define SIMT_THREADS 64
#define SIMT_ROW_PTR mbk_i32
#define SIMT_BASE 0
#define SIMT_TILE mbk_u32
#define SIMT_PATTERN 1
#define SIMT_SCALARS_DEVICE 0
#define SIMT_DUAL 1
#include "simt/merbit_kernels.h"

#define SIMT_NAME dual_f64_omega8_sigma5
#define SIMT_VALUE double
#define SIMT_SIGMA 5
#define SIMT_OMEGA 8
#define SIMT_THREADS 32
#define SIMT_ROW_PTR mbk_i32
#define SIMT_BASE 0
#define SIMT_TILE mbk_u64
#define SIMT_PATTERN 0
#define SIMT_SCALARS_DEVICE 0
#define SIMT_DUAL 1
#include "simt/merbit_kernels.h"

// ---- A matrix and its vectors as a specialisation takes them
// --------------------------------------

static std::vector<uint64_t> seeds;
static std::set<std::tuple<std::string, int, uint64_t>>
    runs; // kernel of a specialisation, matrix, seed
static uint64_t launches, switches;

// Exactly `count` elements, so that AddressSanitizer sees the first one beyond; forbid() lets
// it see all.
template <class T> struct array {
  explicit array(size_t count, T value = T()) : count(count), data(new T[count]) {
    for (size_t i = 0; i < count; i++) {
      data[i] = value;
    }
  }
  ~array() {
    allow();
  }
  array(const array &) = delete;
  array &operator=(const array &) = delete;
  T &operator[](size_t i) {
    return data[i];
  }
  T *get() {
    return data.get();
  }
  void forbid() {
#ifdef SIMT_ASAN
    __asan_poison_memory_region(data.get(), count * sizeof(T));
#endif
  }
  void allow() {
#ifdef SIMT_ASAN
    __asan_unpoison_memory_region(data.get(), count * sizeof(T));
#endif
  }
  void copy(const array &from) {
    memcpy(data.get(), from.data.get(), count * sizeof(T));
  }
  size_t count;
  std::unique_ptr<T[]> data;
};

static int wrong_rows(const test_matrix *m, double alpha, const double *x, double beta,
                      const double *y0, const double *y) {
  return bound_rows_wrong_f64(m, alpha, x, beta, y0, y);
}
static int wrong_rows(const test_matrix *m, double alpha, const float *x, double beta,
                      const float *y0, const float *y) {
  return bound_rows_wrong_f32(m, (float)alpha, x, (float)beta, y0, y);
}

template <class K> struct bed {
  typedef typename K::value value;
  typedef typename K::tile tile;
  typedef typename K::descriptor descriptor;
  static constexpr tile mark = (tile)1 << (sizeof(tile) * 8 - 1);
  static constexpr uint64_t tile_steps = (uint64_t)K::omega * K::sigma;
  static constexpr unsigned groups = K::threads / K::omega;

  bed(const char *name, int index, test_matrix &m)
      : name(name), index(index), m(m), rows((uint64_t)m.rows), nnz((uint64_t)m.nnz),
        path(rows + nnz), tiles((path + tile_steps - 1) / tile_steps),
        blocks((tiles + groups - 1) / groups), row_ptr(rows + 1), col_ind(nnz),
        values(K::pattern ? 0 : nnz), x((size_t)m.cols), tile_x(tiles + 1, (tile)~0),
        tile_y(tiles + 1, (tile)~0), lane_desc(tiles * K::omega, (descriptor)~0) {
    for (uint64_t i = 0; i <= rows; i++) {
      row_ptr[i] = (typename K::row_ptr)(m.row_ptr[i] + K::base);
    }
    for (uint64_t i = 0; i < nnz; i++) {
      col_ind[i] = m.col_ind[i] + K::base;
      if (K::pattern) {
        m.values[i] = 1.0;
      } else {
        values[i] = (value)m.values[i];
      }
    }
  }

  void launch(const char *kernel, uint64_t grid, unsigned block, unsigned shared_bytes,
              uint64_t seed, const std::function<void()> &body) {
    const std::string full = std::string(kernel) + " of " + name + " on " + m.name;
    try {
      switches +=
          simt_launch(full.c_str(), (unsigned)grid, block, shared_bytes, seed, body).switches;
    } catch (const simt_error &error) {
      fail_msg("%s", error.what());
    }
    launches++;
    runs.insert(std::make_tuple(std::string(kernel) + name, index, seed));
  }

  // Random, and with `wild` an Inf, a -Inf and a NaN, each in one column.
  void fill_x(uint64_t state, bool wild) {
    const double bad[] = {INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < x.count; i++) {
      x[i] = (value)test_uniform(&state);
    }
    for (int i = 0; wild && i < 3 && x.count > 8; i++) {
      x[(size_t)test_below(&state, m.cols)] = (value)bad[i];
    }
  }

  const char *name;
  int index;
  test_matrix &m;
  uint64_t rows, nnz, path, tiles, blocks;
  array<typename K::row_ptr> row_ptr;
  array<int32_t> col_ind;
  array<value> values, x;
  array<tile> tile_x, tile_y;
  array<descriptor> lane_desc;
};

// ---- TILE
// -----------------------------------------------------------------------------------------

// Algorithm 2, one step at a time along the whole path.
template <class K> static void check_tile(bed<K> &b) {
  typedef bed<K> bed;
  const typename K::descriptor field = ((typename K::descriptor)1 << K::bits) - 1;
  const test_matrix &m = b.m;
  uint64_t x = 0, y = 0;
  for (uint64_t t = 0; t < b.tiles; t++) {
    const uint64_t tile_x = x, tile_y = y;
    for (uint64_t lane = 0; lane < (uint64_t)K::omega; lane++) {
      const uint64_t x_offset = x - tile_x, y_offset = y - tile_y;
      uint64_t flags = 0;
      for (int k = 0; k < K::sigma && x + y < b.path; k++) {
        if (x < (uint64_t)m.row_ptr[y + 1]) {
          x++;
        } else {
          flags |= (uint64_t)1 << k;
          y++;
        }
      }
      const typename K::descriptor found = b.lane_desc[t * K::omega + lane];
      if (found >> (2 * K::bits) != flags || (found >> K::bits & field) != y_offset ||
          (found & field) != x_offset) {
        fail_msg("%s on %s: tile %llu, lane %llu: descriptor 0x%llx, not flags 0x%llx, "
                 "y_offset %llu, "
                 "x_offset %llu",
                 b.name, m.name, (unsigned long long)t, (unsigned long long)lane,
                 (unsigned long long)found, (unsigned long long)flags,
                 (unsigned long long)y_offset, (unsigned long long)x_offset);
      }
    }
    const typename K::tile marked = (typename K::tile)tile_y | (y == tile_y ? bed::mark : 0);
    if (b.tile_x[t] != tile_x || b.tile_y[t] != marked) {
      fail_msg("%s on %s: tile %llu starts at (%llu, 0x%llx), not (%llu, 0x%llx)", b.name,
               m.name, (unsigned long long)t, (unsigned long long)b.tile_x[t],
               (unsigned long long)b.tile_y[t], (unsigned long long)tile_x,
               (unsigned long long)marked);
    }
  }
  assert_true(x == b.nnz && y == b.rows);
  assert_true(b.tile_x[b.tiles] == b.nnz && b.tile_y[b.tiles] == b.rows);
}

template <class K> static unsigned build_shared() {
  const unsigned words = (unsigned)(bed<K>::tile_steps + 31) / 32 + 2;
  return 128 / K::omega * words * (unsigned)sizeof(uint32_t);
}

template <class K> static void build(bed<K> &b, uint64_t seed) {
  const unsigned threads = 128, groups = threads / K::omega;
  b.col_ind.forbid();
  b.values.forbid();
  b.launch("build", (b.tiles + groups - 1) / groups, threads, build_shared<K>(), seed, [&] {
    K::build(b.row_ptr.get(), b.rows, b.nnz, b.tiles, b.tile_x.get(), b.tile_y.get(),
             b.lane_desc.get());
  });
  b.col_ind.allow();
  b.values.allow();
  check_tile(b);
}

template <class K> static unsigned product_shared() {
  return (unsigned)(sizeof(typename K::value) * (K::threads * K::sigma + bed<K>::groups) +
                    sizeof(uint32_t) * bed<K>::groups);
}

// The sizes above are those that the launcher computes.
template <class K> static void check_sizes(const bed<K> &b) {
  static merbit_plan plan;
  memset(&plan, 0, sizeof plan);
  plan.type = sizeof(typename K::value) == 4 ? MERBIT_F32 : MERBIT_F64;
  plan.desc.omega = K::omega;
  plan.desc.sigma = K::sigma;
  plan.desc.block_threads = K::threads;
  plan.device.rows = b.rows;
  plan.device.nnz = b.nnz;
  assert_int_equal(mbi_merbit_size(&plan), MERBIT_OK);
  assert_int_equal(plan.merbit.coordinate_bits, K::bits);
  assert_int_equal(plan.merbit.descriptor_bits, 8 * sizeof(typename K::descriptor));
  assert_int_equal(plan.merbit.tile_bytes, 4);
  assert_int_equal(plan.merbit.tiles, b.tiles);
  assert_int_equal(plan.merbit.blocks, b.blocks);
  assert_int_equal(mbi_merbit_product_shared(&plan.merbit, plan.type), product_shared<K>());
  assert_int_equal(mbi_merbit_build_shared(&plan.merbit), build_shared<K>());
}

// ---- Carry-out commit
// -----------------------------------------------------------------------------

static const double scalars[] = {1, 0, -1, 0.5};

template <class K>
static void multiply(bed<K> &b, double alpha, double beta, array<typename K::value> &y,
                     uint64_t seed) {
  typedef typename K::value value;
  const value nan = std::numeric_limits<value>::quiet_NaN();
  array<value> first(b.blocks, nan), out(b.blocks, nan), a(1, (value)alpha), c(1, (value)beta);
  // A null device pointer stands for the default.
  const value *const at_alpha = alpha == 1 && seed % 2 ? nullptr : a.get();
  const value *const at_beta = beta == 0 && seed % 2 ? nullptr : c.get();
  if (alpha == 0) { // neither A nor x may be read
    b.col_ind.forbid();
    b.values.forbid();
    b.x.forbid();
  }
  b.launch("product", b.blocks, K::threads, product_shared<K>(), seed, [&] {
    if constexpr (K::device_scalars) {
      K::product(b.tile_x.get(), b.tile_y.get(), b.lane_desc.get(), b.col_ind.get(),
                 b.values.get(), b.x.get(), y.get(), b.path, b.tiles, first.get(), out.get(),
                 at_alpha, at_beta);
    } else {
      K::product(b.tile_x.get(), b.tile_y.get(), b.lane_desc.get(), b.col_ind.get(),
                 b.values.get(), b.x.get(), y.get(), b.path, b.tiles, first.get(), out.get(),
                 (value)alpha, (value)beta);
    }
  });
  b.launch("fixup", (b.blocks + 255) / 256, 256, 256 * sizeof(value) + 256 / 32 * 4, seed, [&] {
    if constexpr (K::device_scalars) {
      K::fixup(b.row_ptr.get(), b.tile_y.get(), first.get(), out.get(), y.get(), b.tiles,
               b.blocks, at_alpha, at_beta);
    } else {
      K::fixup(b.row_ptr.get(), b.tile_y.get(), first.get(), out.get(), y.get(), b.tiles,
               b.blocks, (value)alpha, (value)beta);
    }
  });
  b.col_ind.allow();
  b.values.allow();
  b.x.allow();
}

template <class K> static void check_carry(bed<K> &b, int pair) {
  typedef typename K::value value;
  const double alpha = scalars[pair % 4], beta = scalars[(pair / 4 + 1) % 4];
  array<value> y0(b.rows), y(b.rows), before(b.rows);
  uint64_t state = (uint64_t)b.index;
  for (uint64_t i = 0; i < b.rows; i++) {
    y0[i] = beta == 0 ? (value)NAN : (value)test_uniform(&state);
  }
  b.fill_x(state, pair % 3 == 1);
  for (size_t s = 0; s < seeds.size(); s++) {
    y.copy(y0);
    multiply(b, alpha, beta, y, seeds[s]);
    if (s == 0) {
      before.copy(y);
      if (wrong_rows(&b.m, alpha, b.x.get(), beta, y0.get(), y.get()) > 0) {
        fail_msg("%s on %s, seed %llu: rows beyond the bound", b.name, b.m.name,
                 (unsigned long long)seeds[s]);
      }
    } else if (memcmp(before.get(), y.get(), b.rows * sizeof(value)) != 0) {
      fail_msg("%s on %s: seeds %llu and %llu differ", b.name, b.m.name,
               (unsigned long long)seeds[0], (unsigned long long)seeds[s]);
    }
  }
}

// ---- Dual-buffer commit
// ---------------------------------------------------------------------------

// Four products that alternate between two buffers. Before the first, y is zero only where
// blocks share rows; everything else is NaN.
template <class K> static void check_dual(bed<K> &b, uint64_t seed) {
  typedef typename K::value value;
  const value nan = std::numeric_limits<value>::quiet_NaN();
  array<value> one(b.rows, nan), two(b.rows, nan);
  value *y = one.get(), *z = two.get();
  for (uint64_t block = 0; block < b.blocks; block++) {
    y[b.tile_y[block * bed<K>::groups] & ~bed<K>::mark] = 0;
  }
  for (int call = 0; call < 4; call++) {
    b.fill_x(seed * 4 + (uint64_t)call, call == 1);
    b.launch("dual", b.blocks, K::threads, product_shared<K>(), seed + (uint64_t)call * 1000,
             [&] {
               K::product(b.tile_x.get(), b.tile_y.get(), b.lane_desc.get(), b.col_ind.get(),
                          b.values.get(), b.x.get(), y, b.path, b.tiles, z, b.rows);
             });
    if (wrong_rows(&b.m, 1, b.x.get(), 0, (const value *)nullptr, y) > 0) {
      fail_msg("%s on %s, seed %llu, call %d: rows beyond the bound", b.name, b.m.name,
               (unsigned long long)seed, call);
    }
    std::swap(y, z);
  }
}

// ---- Matrices
// -------------------------------------------------------------------------------------

// Behind the shared ones: rows of around MBK_FIXUP_LONG blocks of the smallest specialisations,
// so that the fix-up shares several rows, some of one warp, among its threads.
static int matrix_count() {
  return test_matrix_count() + 1;
}

static void make_matrix(int index, uint64_t seed, test_matrix *m) {
  if (index < test_matrix_count()) {
    test_matrix_make(index, seed, m);
    return;
  }
  uint64_t state = seed;
  memset(m, 0, sizeof *m);
  snprintf(m->name, sizeof m->name, "rows of 24 to 27 blocks");
  m->rows = 20;
  m->cols = 900;
  m->row_ptr = (int64_t *)test_allocate(m->rows + 1, sizeof *m->row_ptr);
  for (int64_t row = 0; row < m->rows; row++) {
    m->row_ptr[row + 1] = m->row_ptr[row] + 24 * 32 + row * 5 - 1;
  }
  m->nnz = m->row_ptr[m->rows];
  m->col_ind = (int32_t *)test_allocate(m->nnz, sizeof *m->col_ind);
  m->values = (double *)test_allocate(m->nnz, sizeof *m->values);
  for (int64_t k = 0; k < m->nnz; k++) {
    m->col_ind[k] = (int32_t)test_below(&state, m->cols);
    m->values[k] = test_uniform(&state);
  }
}

// ---- Tests
// ----------------------------------------------------------------------------------------

template <class K> static void check(void **state) {
  const char *name = (const char *)*state;
  for (int index = 0; index < matrix_count(); index++) {
    test_matrix m;
    make_matrix(index, seeds[0], &m);
    if (m.rows > 0) { // else the plan launches nothing
      bed<K> b(name, index, m);
      check_sizes(b);
      for (uint64_t seed : seeds) {
        build(b, seed);
      }
      if constexpr (K::dual) {
        for (uint64_t seed : seeds) {
          check_dual(b, seed);
        }
      } else {
        // The default forms see all 16 pairs, the others two of them on each matrix.
        const bool all = K::base == 0 && K::threads == 128 && sizeof(typename K::tile) == 4 &&
                         K::sigma <= 14 && b.path < 6000;
        for (int pair = 0; pair < 16; pair++) {
          if (all || pair == 13 || pair == index % 16) {
            check_carry(b, pair);
          }
        }
      }
    }
    test_matrix_free(&m);
  }
}

static int report(void **) {
  printf("%zu (kernel, matrix, seed) runs, %llu launches, %llu switches, no error\n",
         runs.size(), (unsigned long long)launches, (unsigned long long)switches);
  return 0;
}

#define CASE(name)                                                                             \
  { #name, check < name::kernels>, nullptr, nullptr, (void *)#name }

int main() {
  const struct CMUnitTest tests[] = {
      CASE(f32_sigma14),
      CASE(f64_sigma7),
      CASE(f32_pattern_base1_device_scalars),
      CASE(f64_tile64_device_scalars),
      CASE(f32_omega16_sigma7),
      CASE(f64_omega8_sigma14_base1),
      CASE(f32_sigma1_pattern),
      CASE(f64_omega8_sigma1),
      CASE(f64_sigma28_descriptor64),
      CASE(f32_sigma42_descriptor64),
      CASE(f32_omega8_sigma46_pattern),
      CASE(f64_omega16_sigma17),
      CASE(f32_threads1024),
      CASE(dual_f32_sigma14),
      CASE(dual_f64_sigma7_base1),
      CASE(dual_f32_omega16_sigma28_pattern),
      CASE(dual_f64_omega8_sigma5),
  };
  seeds = simt_seeds();
  return cmocka_run_group_tests(tests, nullptr, report);
}
