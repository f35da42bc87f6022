// MERBIT: y = alpha A x + beta y over tiles of the merge path.
//
// Data: the merge path goes from (0, 0) to (nnz, rows). A nonzero step consumes a nonzero, a
// row step ends a row. A tile is omega * sigma steps and starts at (tile_x[t], tile_y[t]). The
// top bit of tile_y marks a tile without a row step. A lane descriptor packs, from the top bit
// down, sigma step bits (1: row step), then the lane's row offset and its nonzero offset from
// the tile's start, of MBK_COORDINATE_BITS bits each.
//
// Work: a group of omega lanes owns a tile, a lane sigma consecutive steps. A warp holds 32 /
// omega groups.
//
// Source: Zhang, Yao, Jiang, Zhang, "MERBIT: A GPU-Based SpMV Method for Iterative Workloads",
// section 4. The commit by carry-out is new here.
#ifndef MBK_TILE
#error "define MBK_TILE: the type of tile_x and tile_y, mbk_u32 or mbk_u64"
#endif
#ifndef MBK_DESCRIPTOR
#error "define MBK_DESCRIPTOR: the type of a lane descriptor, mbk_u32 or mbk_u64"
#endif
#ifndef MBK_COORDINATE_BITS
#error "define MBK_COORDINATE_BITS: ceil(log2(omega * sigma))"
#endif
#ifndef MBK_SIGMA
#error "define MBK_SIGMA: steps per lane"
#endif
#ifndef MBK_OMEGA
#error "define MBK_OMEGA: lanes per tile, 32, 16 or 8"
#endif
#ifndef MBK_THREADS
#error "define MBK_THREADS: threads per block of the product, a multiple of 32"
#endif
#ifndef MBK_DUAL
#error "define MBK_DUAL: 1 for the dual-buffer commit, 0 for the carry-out commit"
#endif
#include "jit/device.cuh"
#include "spmv/shared/algebra.cuh"

#define MBK_TILE_STEPS (MBK_OMEGA * MBK_SIGMA)
#define MBK_BLOCK_TILES (MBK_THREADS / MBK_OMEGA)
#define MBK_MARK ((MBK_TILE)1 << (sizeof(MBK_TILE) * 8 - 1))
#define MBK_ROW(entry) ((entry) & (MBK_TILE)~MBK_MARK)
// The nonzeros whose loads one lane keeps in flight. More would take registers and lower the
// occupancy, which hides more latency.
#define MBK_UNROLL (MBK_SIGMA < 3 ? MBK_SIGMA : 3)

// Returns the mask of the lanes of this thread's group within its warp.
MBK_DEVICE mbk_u32 mbk_group_mask() {
#if MBK_OMEGA == 32
  return 0xffffffffu;
#else
  return ((1u << MBK_OMEGA) - 1u) << (mbk_lane() / MBK_OMEGA * MBK_OMEGA);
#endif
}

#include "spmv/gpu/merbit/tile.cuh"

// The columns, the values and x, from a tile's first nonzero on.
struct mbk_stream {
  const mbk_i32 *col_ind;
  const MBK_VALUE *values;
  const MBK_VECTOR *x;
};

// Multiplies up to MBK_UNROLL nonzeros of one lane, from nonzero `at` in steps of omega. All
// columns and values are in flight before the first x is loaded. Slots from `count` on are not
// touched: padding with zeros would turn an Inf of x into NaN.
MBK_DEVICE void mbk_products(const mbk_stream &a, mbk_u32 at, mbk_u32 count,
                             MBK_COMPUTE (&product)[MBK_UNROLL]) {
  mbk_i32 column[MBK_UNROLL];
#pragma unroll
  for (int u = 0; u < MBK_UNROLL; u++) {
    const mbk_u32 k = at + (mbk_u32)u * MBK_OMEGA;
    if (k < count) {
      column[u] = mbk_load(a.col_ind + k) - MBK_BASE;
#if !MBK_PATTERN
      product[u] = (MBK_COMPUTE)mbk_load(a.values + k);
#endif
    }
  }
#pragma unroll
  for (int u = 0; u < MBK_UNROLL; u++) {
    if (at + (mbk_u32)u * MBK_OMEGA < count) {
#if MBK_PATTERN
      product[u] = (MBK_COMPUTE)mbk_load(a.x + column[u]);
#else
      product[u] = MBK_MUL(product[u], mbk_load(a.x + column[u]));
#endif
    }
  }
}

// Returns the sum of a tile that lies inside one row, added up in a fixed order; complete in
// lane 0.
MBK_DEVICE MBK_COMPUTE mbk_tile_long(const mbk_stream &a, mbk_u32 count, mbk_u32 lane,
                                     mbk_u32 mask) {
  MBK_COMPUTE sum = MBK_ZERO;
  for (mbk_u32 at = lane; at < count; at += MBK_UNROLL * MBK_OMEGA) {
    MBK_COMPUTE product[MBK_UNROLL];
    mbk_products(a, at, count, product);
#pragma unroll
    for (int u = 0; u < MBK_UNROLL; u++) {
      if (at + (mbk_u32)u * MBK_OMEGA < count) {
        sum = MBK_ADD(sum, product[u]);
      }
    }
  }
  mbk_warp_sync(mask); // lanes converge here once, not at each shuffle; orders no memory
#pragma unroll
  for (int d = MBK_OMEGA / 2; d > 0; d >>= 1) {
    sum = MBK_ADD(sum, mbk_shuffle_down(mask, sum, d, MBK_OMEGA));
  }
  return sum;
}

// Adds up a tile with row ends (Algorithm 4): each lane walks its steps over the staged
// products. Row sums go to `sums`; the first may lack what earlier tiles hold of it. Returns
// the carry-out.
MBK_DEVICE MBK_COMPUTE mbk_tile_rows(const MBK_COMPUTE *products, MBK_DESCRIPTOR descriptor,
                                     int steps, mbk_u32 lane, mbk_u32 mask, MBK_COMPUTE *sums) {
  const MBK_DESCRIPTOR field = ((MBK_DESCRIPTOR)1 << MBK_COORDINATE_BITS) - 1;
  const MBK_DESCRIPTOR flags = descriptor >> (2 * MBK_COORDINATE_BITS);
  const mbk_u32 first_row = (mbk_u32)(descriptor >> MBK_COORDINATE_BITS & field);
  mbk_u32 nonzero = (mbk_u32)(descriptor & field), row = first_row;
  MBK_COMPUTE sum = MBK_ZERO, first = MBK_ZERO;
#pragma unroll
  for (int k = 0; k < MBK_SIGMA; k++) {
    if (k < steps) {
      if (flags >> k & 1) {
        if (row == first_row) {
          first = sum;
        } else {
          sums[row] = sum;
        }
        sum = MBK_ZERO;
        row++;
      } else {
        sum = MBK_ADD(sum, products[nonzero]);
        nonzero++;
      }
    }
  }
  // Segmented sum of the lanes' carry-outs (Algorithm 5): a lane without a row end adds those
  // of the lanes before it, back to and including the nearest with a row end.
  const bool ends = row != first_row;
  int closed = ends || lane == 0;
  for (int d = 1; mbk_ballot(mask, !closed); d <<= 1) {
    const MBK_COMPUTE before = mbk_shuffle_up(mask, sum, d, MBK_OMEGA);
    const int before_closed = mbk_shuffle_up(mask, closed, d, MBK_OMEGA);
    if (!closed && (int)lane >= d) {
      sum = MBK_ADD(before, sum);
      closed = before_closed;
    }
  }
  const MBK_COMPUTE carried = mbk_shuffle_up(mask, sum, 1, MBK_OMEGA);
  if (ends) {
    sums[first_row] = lane == 0 ? first : MBK_ADD(carried, first);
  }
  return mbk_shuffle(mask, sum, MBK_OMEGA - 1, MBK_OMEGA);
}

// Returns the part of the open row in the block's tiles before tile `t`: the sum of the tails
// in their order, from the last tile with a row end on. Sets `found` to whether there is such a
// tile.
MBK_DEVICE MBK_COMPUTE mbk_carry(const MBK_COMPUTE *tails, const mbk_u32 *ends, mbk_u32 t,
                                 bool &found) {
  mbk_u32 from = t;
  found = false;
  while (from > 0 && !found) {
    from--;
    found = ends[from] != 0;
  }
  MBK_COMPUTE sum = MBK_ZERO;
  for (; from < t; from++) {
    sum = MBK_ADD(sum, tails[from]);
  }
  return sum;
}

#include "spmv/gpu/merbit/merbit_arguments.cuh"

#if MBK_DUAL
typedef mbk_merbit_product_dual_arguments mbk_merbit_given_arguments;
#else
typedef mbk_merbit_product_arguments mbk_merbit_given_arguments;
#endif

// Computes the product (Algorithm 3). Launch: MBK_BLOCK_TILES tiles per block. Shared, in this
// order: MBK_COMPUTE staged[MBK_BLOCK_TILES][MBK_TILE_STEPS] (a tile's products, then its row
// sums), MBK_COMPUTE tails[MBK_BLOCK_TILES], mbk_u32 ends[MBK_BLOCK_TILES].
//
// A group writes the rows that end in its tile, coalesced. The first of them waits for the
// carry-outs of earlier tiles of the block. The first row that ends in a block may lack the
// parts of earlier blocks. With the carry-out commit, the block's part of it goes to
// carry_first[block], and the block's own carry-out to carry_out[block]; mbk_merbit_fixup adds
// them up. With the dual-buffer commit (plain A x) both are added to y by atomics, and the same
// element of z is zeroed for the next product.
MBK_KERNEL MBK_BOUNDS(MBK_THREADS)
    mbk_merbit_product(MBK_GRID_CONSTANT mbk_merbit_given_arguments given) {
  MBK_VECTOR *const y = given.y;
#if MBK_DUAL
  const bool multiply = true;
#else
  MBK_SCALARS_OF(given);
  const bool multiply = MBK_ALPHA != (MBK_COMPUTE)0;
#endif
  MBK_SHARED_MEMORY(shared);
  const mbk_u32 group = mbk_thread() / MBK_OMEGA, lane = mbk_thread() % MBK_OMEGA;
  const mbk_u32 mask = mbk_group_mask();
  MBK_COMPUTE *const products = (MBK_COMPUTE *)shared + group * MBK_TILE_STEPS;
  MBK_COMPUTE *const tails = (MBK_COMPUTE *)shared + MBK_BLOCK_TILES * MBK_TILE_STEPS;
  mbk_u32 *const ends = (mbk_u32 *)(tails + MBK_BLOCK_TILES);
  const mbk_u64 tile = (mbk_u64)mbk_block() * MBK_BLOCK_TILES + group;
  const bool active = tile < given.tiles;
  MBK_TILE row = 0; // the first row that ends in the tile or spans it
  mbk_u32 tile_rows = 0;
  MBK_COMPUTE *sums = products;
  MBK_COMPUTE tail = MBK_ZERO;
  if (active) {
    const MBK_TILE entry = given.tile_y[tile], start = given.tile_x[tile];
    const mbk_u32 count = (mbk_u32)(given.tile_x[tile + 1] - start);
    const mbk_stream a = {given.col_ind + start,
                          MBK_PATTERN ? given.values : given.values + start, given.x};
    row = MBK_ROW(entry);
    tile_rows = (mbk_u32)(MBK_ROW(given.tile_y[tile + 1]) - row);
    sums = products + count;
    if (!multiply) {
      for (mbk_u32 i = lane; i < tile_rows; i += MBK_OMEGA) {
        sums[i] = MBK_ZERO;
      }
    } else if (entry & MBK_MARK) {
      tail = mbk_tile_long(a, count, lane, mask);
    } else {
      const MBK_DESCRIPTOR descriptor = mbk_load(given.lane_desc + tile * MBK_OMEGA + lane);
      for (mbk_u32 at = lane; at < count; at += MBK_UNROLL * MBK_OMEGA) {
        MBK_COMPUTE product[MBK_UNROLL];
        mbk_products(a, at, count, product);
#pragma unroll
        for (int u = 0; u < MBK_UNROLL; u++) {
          const mbk_u32 k = at + (mbk_u32)u * MBK_OMEGA;
          if (k < count) {
            products[k] = product[u];
          }
        }
      }
      mbk_warp_sync(mask);
      const mbk_u64 left = given.path - tile * MBK_TILE_STEPS;
      const int steps =
          (int)(left < MBK_TILE_STEPS ? left : MBK_TILE_STEPS) - (int)lane * MBK_SIGMA;
      tail = mbk_tile_rows(products, descriptor, steps, lane, mask, sums);
    }
    if (lane == 0) {
      tails[group] = tail;
      ends[group] = tile_rows;
    }
    mbk_warp_sync(mask);
  }
#if !MBK_DUAL
  MBK_SCALARS_LOAD;
#endif
  for (mbk_u32 i = lane == 0 ? MBK_OMEGA : lane; i < tile_rows; i += MBK_OMEGA) {
#if MBK_DUAL
    y[row + i] = (MBK_VECTOR)sums[i];
#else
    MBK_COMMIT(row + i, sums[i]);
#endif
  }
  mbk_block_sync();
  if (!active || lane != 0) {
    return;
  }

  bool found;
  const MBK_COMPUTE carry = mbk_carry(tails, ends, group, found);
  if (tile_rows > 0) {
    const MBK_COMPUTE first = MBK_ADD(carry, sums[0]);
    if (found) {
#if MBK_DUAL
      y[row] = (MBK_VECTOR)first;
#else
      MBK_COMMIT(row, first);
#endif
    } else {
#if MBK_DUAL
      mbk_atomic_add(y + row, (MBK_VECTOR)first);
#else
      given.carry_first[mbk_block()] = first;
#endif
    }
  }
#if MBK_DUAL
  if (group == 0) {
    given.z[row] = (MBK_VECTOR)0;
  }
#endif
  if (group == MBK_BLOCK_TILES - 1 || tile == given.tiles - 1) {
    const MBK_COMPUTE open = tile_rows > 0 ? tail : MBK_ADD(carry, tail);
#if MBK_DUAL
    if (row + tile_rows < given.rows) {
      mbk_atomic_add(y + row + tile_rows, (MBK_VECTOR)open);
    }
#else
    given.carry_out[mbk_block()] = open;
#endif
  }
}

#if !MBK_DUAL
// Completes the first row that ends in each block of the product. Adds up the carry-outs of the
// blocks since the row began, then the block's own part, in that order. A whole thread block
// adds up a row that spans many blocks. Launch: MBK_FIXUP_THREADS product blocks per block.
// Shared: MBK_COMPUTE[MBK_FIXUP_THREADS], then mbk_u32[MBK_FIXUP_THREADS / 32].
#define MBK_FIXUP_THREADS 256
#define MBK_FIXUP_LONG 24 // more carry-outs than this are added up by the thread block
MBK_KERNEL_1 MBK_BOUNDS(MBK_FIXUP_THREADS)
    mbk_merbit_fixup(MBK_GRID_CONSTANT mbk_merbit_fixup_arguments a) {
  MBK_VECTOR *const y = a.y;
  MBK_SCALARS_OF(a);
  MBK_SCALARS_LOAD;
  MBK_SHARED_MEMORY(shared);
  MBK_COMPUTE *const partial = (MBK_COMPUTE *)shared;
  mbk_u32 *const long_rows = (mbk_u32 *)(partial + MBK_FIXUP_THREADS);
  const mbk_u64 first_block = (mbk_u64)mbk_block() * MBK_FIXUP_THREADS;
  const mbk_u64 block = first_block + mbk_thread();
  bool is_long = false;
  if (block < a.blocks) {
    const mbk_u64 next = (block + 1) * MBK_BLOCK_TILES;
    const mbk_u64 row = MBK_ROW(a.tile_y[block * MBK_BLOCK_TILES]);
    if (MBK_ROW(a.tile_y[next < a.tiles ? next : a.tiles]) > row) {
      const mbk_u64 start = (mbk_u64)(a.row_ptr[row] - MBK_BASE) + row;
      mbk_u64 from = start / ((mbk_u64)MBK_TILE_STEPS * MBK_BLOCK_TILES);
      is_long = block - from > MBK_FIXUP_LONG;
      if (!is_long) {
        MBK_COMPUTE sum = MBK_ZERO;
        for (; from < block; from++) {
          sum = MBK_ADD(sum, a.carry_out[from]);
        }
        MBK_COMMIT(row, MBK_ADD(sum, a.carry_first[block]));
      }
    }
  }
  const mbk_u32 ballot = mbk_ballot(0xffffffffu, is_long);
  if (mbk_lane() == 0) {
    long_rows[mbk_thread() / 32] = ballot;
  }
  mbk_block_sync();
  for (mbk_u32 w = 0; w < MBK_FIXUP_THREADS / 32; w++) {
    for (mbk_u32 left = long_rows[w]; left != 0; left &= left - 1) {
      const mbk_u32 bit = (mbk_u32)mbk_popcount((left & (0u - left)) - 1u);
      const mbk_u64 end = first_block + w * 32 + bit;
      const mbk_u64 row = MBK_ROW(a.tile_y[end * MBK_BLOCK_TILES]);
      const mbk_u64 start = (mbk_u64)(a.row_ptr[row] - MBK_BASE) + row;
      MBK_COMPUTE sum = MBK_ZERO;
      for (mbk_u64 from = start / ((mbk_u64)MBK_TILE_STEPS * MBK_BLOCK_TILES) + mbk_thread();
           from < end; from += MBK_FIXUP_THREADS) {
        sum = MBK_ADD(sum, a.carry_out[from]);
      }
      partial[mbk_thread()] = sum;
      mbk_block_sync();
      for (mbk_u32 half = MBK_FIXUP_THREADS / 2; half > 0; half /= 2) {
        if (mbk_thread() < half) {
          partial[mbk_thread()] = MBK_ADD(partial[mbk_thread()], partial[mbk_thread() + half]);
        }
        mbk_block_sync();
      }
      if (mbk_thread() == 0) { // this thread alone writes partial[0] for the next row
        MBK_COMMIT(row, MBK_ADD(partial[0], a.carry_first[end]));
      }
    }
  }
}
#endif
