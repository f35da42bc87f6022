// Test bed of the MERBIT kernels: TILE is built for a generated matrix and compared with a
// step-by-step walk of the merge path.
#ifndef SIMT_MERBIT_BED_H
#define SIMT_MERBIT_BED_H
#include "simt/merbit_forms.h"
#include "simt/merbit_sizes.h"

template <class V> struct merbit_bed : csr_bed<V> {
  merbit_bed(const merbit_form &f, int index, test_matrix &m)
      : csr_bed<V>(f, index, m), f(f), path(this->rows + this->nnz),
        tile_steps((uint64_t)f.omega * f.sigma), groups(f.threads / f.omega),
        tiles((path + tile_steps - 1) / tile_steps), blocks((tiles + groups - 1) / groups),
        tile_x(tiles + 1, f.tile_bytes, 0xff), tile_y(tiles + 1, f.tile_bytes, 0xff),
        lane_desc(tiles * f.omega, f.descriptor_bytes, 0xff) {
  }

  const merbit_form &f;
  uint64_t path, tile_steps, groups, tiles, blocks;
  simt_array tile_x, tile_y, lane_desc;
};

// Checks TILE by Algorithm 2, one step at a time along the whole path.
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
