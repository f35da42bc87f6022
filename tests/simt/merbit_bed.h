// A generated matrix as a form of the MERBIT kernels takes it; TILE is built and compared with
// a plain walk of the merge path.
#ifndef SIMT_MERBIT_BED_H
#define SIMT_MERBIT_BED_H
#include <math.h>

#include "simt/merbit_forms.h"
#include "simt/merbit_sizes.h"
#include "simt/runs.h"
#include "support/bound.h"
#include "support/matrices.h"

// What stands in the columns of x and of the values.
enum merbit_data { MERBIT_PLAIN, MERBIT_WILD_X, MERBIT_WILD_VALUES, MERBIT_WILD_BOTH };

template <class V> struct merbit_bed {
  merbit_bed(const merbit_form &f, int index, test_matrix &m)
      : f(f), m(m), index(index), rows((uint64_t)m.rows), nnz((uint64_t)m.nnz),
        path(rows + nnz), tile_steps((uint64_t)f.omega * f.sigma), groups(f.threads / f.omega),
        tiles((path + tile_steps - 1) / tile_steps), blocks((tiles + groups - 1) / groups),
        plain(m.values, m.values + nnz), row_ptr(rows + 1, f.row_ptr_bytes), col_ind(nnz, 4),
        values(f.pattern ? 0 : nnz, sizeof(V)), x((size_t)m.cols, sizeof(V)),
        tile_x(tiles + 1, f.tile_bytes, 0xff), tile_y(tiles + 1, f.tile_bytes, 0xff),
        lane_desc(tiles * f.omega, f.descriptor_bytes, 0xff) {
    for (uint64_t i = 0; i <= rows; i++) {
      row_ptr.store(i, (uint64_t)m.row_ptr[i] + f.base);
    }
    for (uint64_t i = 0; i < nnz; i++) {
      col_ind.store(i, (uint64_t)m.col_ind[i] + f.base);
    }
  }

  simt_case run(uint64_t seed) const {
    return {f.name, m.name, seed};
  }

  // Random x; the matrix's own values or, for a pattern, ones. Wild: an Inf, a -Inf and a NaN,
  // each in one column.
  void fill(uint64_t state, merbit_data data) {
    static const double bad[] = {INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < x.count; i++) {
      x.as<V>()[i] = (V)test_uniform(&state);
    }
    for (int i = 0; (data == MERBIT_WILD_X || data == MERBIT_WILD_BOTH) && i < 3 && nnz > 0;
         i++) {
      x.as<V>()[m.col_ind[test_below(&state, m.nnz)]] = (V)bad[i];
    }
    for (uint64_t i = 0; i < nnz; i++) {
      m.values[i] = f.pattern ? 1.0 : plain[i];
    }
    if (!f.pattern && (data == MERBIT_WILD_VALUES || data == MERBIT_WILD_BOTH)) {
      test_matrix_wild(&m, &state);
    }
    for (uint64_t i = 0; i < values.count; i++) {
      values.as<V>()[i] = (V)m.values[i];
    }
  }

  void forbid(bool and_x) {
    col_ind.forbid();
    values.forbid();
    if (and_x) {
      x.forbid();
    }
  }
  void allow() {
    col_ind.allow();
    values.allow();
    x.allow();
  }

  const merbit_form &f;
  test_matrix &m;
  int index;
  uint64_t rows, nnz, path, tile_steps, groups, tiles, blocks;
  std::vector<double> plain;
  simt_array row_ptr, col_ind, values, x, tile_x, tile_y, lane_desc;
};

// Algorithm 2, one step at a time along the whole path.
template <class V> void merbit_check_tile(const merbit_bed<V> &b) {
  const uint64_t field = ((uint64_t)1 << b.f.bits) - 1;
  const uint64_t mark = (uint64_t)1 << (b.f.tile_bytes * 8 - 1);
  uint64_t x = 0, y = 0;
  for (uint64_t t = 0; t < b.tiles; t++) {
    const uint64_t tile_x = x, tile_y = y;
    for (uint64_t lane = 0; lane < b.f.omega; lane++) {
      const uint64_t x_offset = x - tile_x, y_offset = y - tile_y;
      uint64_t flags = 0;
      for (unsigned k = 0; k < b.f.sigma && x + y < b.path; k++) {
        if (x < (uint64_t)b.m.row_ptr[y + 1]) {
          x++;
        } else {
          flags |= (uint64_t)1 << k;
          y++;
        }
      }
      const uint64_t found = b.lane_desc.load(t * b.f.omega + lane);
      if (found >> (2 * b.f.bits) != flags || (found >> b.f.bits & field) != y_offset ||
          (found & field) != x_offset) {
        fail_msg("%s on %s: tile %llu, lane %llu: descriptor 0x%llx, not flags 0x%llx, "
                 "y_offset %llu, x_offset %llu",
                 b.f.name, b.m.name, (unsigned long long)t, (unsigned long long)lane,
                 (unsigned long long)found, (unsigned long long)flags,
                 (unsigned long long)y_offset, (unsigned long long)x_offset);
      }
    }
    const uint64_t marked = tile_y | (y == tile_y ? mark : 0);
    if (b.tile_x.load(t) != tile_x || b.tile_y.load(t) != marked) {
      fail_msg("%s on %s: tile %llu starts at (%llu, 0x%llx), not (%llu, 0x%llx)", b.f.name,
               b.m.name, (unsigned long long)t, (unsigned long long)b.tile_x.load(t),
               (unsigned long long)b.tile_y.load(t), (unsigned long long)tile_x,
               (unsigned long long)marked);
    }
  }
  assert_true(x == b.nnz && y == b.rows);
  assert_true(b.tile_x.load(b.tiles) == b.nnz && b.tile_y.load(b.tiles) == b.rows);
}

template <class V> void merbit_build(merbit_bed<V> &b, uint64_t seed) {
  const unsigned groups = MERBIT_BUILD_THREADS / b.f.omega;
  b.forbid(true);
  simt_run(b.f.build, b.run(seed),
           {(unsigned)((b.tiles + groups - 1) / groups), MERBIT_BUILD_THREADS,
            merbit_build_shared(b.f.omega, b.f.sigma)},
           b.row_ptr.get(), b.rows, b.nnz, b.tiles, b.tile_x.get(), b.tile_y.get(),
           b.lane_desc.get());
  b.allow();
  merbit_check_tile(b);
}
#endif // SIMT_MERBIT_BED_H
