// Test bed of spmv/gpu/bsr/bsr.cu: tiles are built and compared with a simple loop; then
// products.
#ifndef SIMT_BSR_BED_H
#define SIMT_BSR_BED_H
#include "jit/device.cuh"

#include "simt/arguments.h"
#include "simt/bsr_matrix.h"
#include "simt/scan_bed.h"

struct bsr_form : csr_form {
  unsigned rows, cols, split, together, slot_blocks;
  bool column_major, masked, edge, empty;
  unsigned threads;
  simt_kernel schedule, columns, masks, fill, product, fixup;

  bsr_shape shape() const {
    return {rows, cols, column_major, masked, edge};
  }
  // The tile, computed independently of the kernel's macros and the launcher.
  unsigned strips() const {
    return csr_divide_up(rows * split, 32);
  }
  unsigned strip_rows() const {
    return csr_divide_up(rows, strips());
  }
  unsigned lane_cols() const {
    return csr_divide_up(cols, split);
  }
  unsigned lanes() const {
    return strip_rows() * split;
  }
  unsigned slots() const {
    return 32 / lanes();
  }
  unsigned pack() const {
    return 16 / value_bytes;
  }
};

inline std::vector<const bsr_form *> bsr_forms;

enum { BSR_BUILD_THREADS = 256, BSR_FIXUP_THREADS = 256 };

template <class V> struct bsr_bed : csr_bed<V> {
  bsr_bed(const bsr_form &f, int index, bsr_matrix &from)
      : csr_bed<V>(f, index, from.m), f(f), from(from), blocks((uint64_t)from.places.nnz),
        block_rows((uint64_t)from.places.rows), entries(f.rows * f.cols),
        tile_blocks(f.slots() * f.slot_blocks), tiles((blocks + tile_blocks - 1) / tile_blocks),
        words((tiles * tile_blocks + 31) / 32),
        groups(tiles * f.strips() * (f.slot_blocks / f.together)),
        active(f.slots() * f.lanes()), group_entries(f.together * f.lane_cols()),
        ranks(scan_bed<V>::count(from.places)), empty(block_rows - ranks),
        row_start(ranks + 1, f.row_ptr_bytes), row_id(f.empty ? ranks : 0, 4),
        row_bits(f.empty ? (block_rows + 31) / 32 : 0, 4), block_cols(blocks, 4),
        block_values(f.pattern ? 0 : blocks * entries, sizeof(V)),
        mask_words(f.masked ? from.masks.size() : 0, 8), row_ends(words, 4, 0xff),
        slot_row(tiles * (f.slots() + 1) + 1, 4, 0xff), columns(tiles * tile_blocks, 4, 0xff),
        masks(f.masked ? groups * active : 0, group_entries <= 16 ? 2 : 4, 0xff),
        packs(f.pattern ? 0 : groups * active * group_entries, sizeof(V), 0xff) {
    uint64_t rank = 0;
    assert_true(f.empty || empty == 0);
    if (f.empty) {
      scan_fill_bits(from.places, row_bits);
    }
    for (uint64_t row = 0; row < block_rows; row++) {
      if (from.places.row_ptr[row] == from.places.row_ptr[row + 1]) {
        continue;
      }
      row_start.store(rank, (uint64_t)from.places.row_ptr[row] + f.base);
      if (f.empty) {
        row_id.store(rank, row);
      }
      rank++;
    }
    row_start.store(ranks, blocks + f.base);
    for (uint64_t b = 0; b < blocks; b++) {
      block_cols.store(b, (uint64_t)from.places.col_ind[b] + f.base);
    }
    for (uint64_t i = 0; i < mask_words.count; i++) {
      mask_words.store(i, from.masks[i]);
    }
  }

  // Takes the matrix's values; entries of blocks that it lacks are NaN.
  void take_values() {
    for (uint64_t i = 0; i < block_values.count; i++) {
      const int64_t at = from.position[i];
      block_values.template as<V>()[i] = at < 0 ? (V)NAN : (V)this->m.values[at];
    }
  }

  void forbid(bool and_x) {
    csr_bed<V>::forbid(and_x);
    block_cols.forbid();
    block_values.forbid();
  }
  void allow() {
    csr_bed<V>::allow();
    block_cols.allow();
    block_values.allow();
  }

  const bsr_form &f;
  bsr_matrix &from;
  uint64_t blocks, block_rows, entries, tile_blocks, tiles, words, groups, active,
      group_entries, ranks, empty;
  simt_array row_start, row_id, row_bits, block_cols, block_values, mask_words, row_ends,
      slot_row, columns, masks, packs;
};

// ---- Tiles ----------------------------------------------------------------------------------

// Where an entry of a block is in its tile: the strip, the group of lanes, the lane, and which
// of the lane's entries.
struct bsr_spot {
  uint64_t lane; // counted over groups, without idle lanes
  uint64_t entry;
};

template <class V> bsr_spot bsr_find(const bsr_bed<V> &b, uint64_t block, uint64_t offset) {
  const bsr_form &f = b.f;
  const uint64_t r = f.column_major ? offset % f.rows : offset / f.cols;
  const uint64_t c = f.column_major ? offset / f.rows : offset % f.cols;
  const uint64_t tile = block / b.tile_blocks, slot = block % b.tile_blocks / f.slot_blocks;
  const uint64_t t = block % f.slot_blocks, strip = r / f.strip_rows();
  const uint64_t group =
      (tile * f.strips() + strip) * (f.slot_blocks / f.together) + t / f.together;
  return {group * b.active + slot * f.lanes() + r % f.strip_rows() * f.split +
              c / f.lane_cols(),
          t % f.together * f.lane_cols() + c % f.lane_cols()};
}

template <class V> void bsr_check_schedule(const bsr_bed<V> &b) {
  const uint64_t slots = b.tiles * b.f.slots();
  std::vector<uint32_t> ends(b.words), rows(slots + 1, (uint32_t)b.ranks);
  uint32_t rank = 0;
  rows.resize(b.slot_row.count, UINT32_MAX);
  for (uint64_t row = 0; row < b.block_rows; row++) {
    const int64_t end = b.from.places.row_ptr[row + 1];
    for (int64_t k = b.from.places.row_ptr[row]; k < end; k++) {
      if ((uint64_t)k % b.f.slot_blocks == 0) {
        rows[(uint64_t)k / b.f.slot_blocks] = rank;
      }
      if (k == end - 1) {
        const uint64_t tile = (uint64_t)k / b.tile_blocks;
        if (rows[tile * b.f.slots()] == rank) {
          rows[slots + 1 + tile] =
              (uint32_t)(tile - (uint64_t)b.from.places.row_ptr[row] / b.tile_blocks);
        }
        ends[(uint64_t)k / 32] |= (uint32_t)1 << k % 32;
        rank++;
      }
    }
  }
  for (uint64_t i = 0; i < ends.size(); i++) {
    if (b.row_ends.load(i) != ends[i]) {
      fail_msg("%s on %s: row_ends[%llu] is 0x%llx, not 0x%x", b.f.name, b.m.name,
               (unsigned long long)i, (unsigned long long)b.row_ends.load(i), ends[i]);
    }
  }
  for (uint64_t i = 0; i < rows.size(); i++) {
    if (b.slot_row.load(i) != rows[i]) {
      fail_msg("%s on %s: slot_row[%llu] is %llu, not %u", b.f.name, b.m.name,
               (unsigned long long)i, (unsigned long long)b.slot_row.load(i), rows[i]);
    }
  }
}

template <class V> void bsr_check_columns(const bsr_bed<V> &b) {
  simt_array columns(b.columns.count, 4), masks(b.masks.count, b.masks.width);
  for (uint64_t k = 0; k < b.blocks; k++) {
    const uint64_t slot = k % b.tile_blocks / b.f.slot_blocks, t = k % b.f.slot_blocks;
    columns.store(k / b.tile_blocks * b.tile_blocks +
                      (t / b.f.together * b.f.slots() + slot) * b.f.together + t % b.f.together,
                  (uint64_t)b.from.places.col_ind[k]);
    for (uint64_t e = 0; b.f.masked && e < b.entries; e++) {
      const bsr_spot spot = bsr_find(b, k, e);
      const uint64_t bit = (b.from.position[k * b.entries + e] >= 0 ? 1u : 0u) << spot.entry;
      if (b.masks.width == 2) {
        masks.template as<uint16_t>()[spot.lane] |= (uint16_t)bit;
      } else {
        masks.template as<uint32_t>()[spot.lane] |= (uint32_t)bit;
      }
    }
  }
  if (!columns.same(b.columns) || !masks.same(b.masks)) {
    fail_msg("%s on %s: wrong %s", b.f.name, b.m.name,
             columns.same(b.columns) ? "masks" : "columns");
  }
}

// Checks the packs: zero where the matrix has no entry. Rows beyond its last may hold anything.
template <class V> void bsr_check_packs(const bsr_bed<V> &b) {
  simt_array packs(b.packs.count, sizeof(V));
  const uint64_t pack = b.f.pack(), group_packs = b.group_entries / pack;
  for (uint64_t i = 0; i < b.block_values.count; i++) {
    const bsr_spot spot = bsr_find(b, i / b.entries, i % b.entries);
    const uint64_t r = b.f.column_major ? i % b.f.rows : i % b.entries / b.f.cols;
    const bool beyond =
        b.m.rows - (int64_t)(b.block_rows * b.f.rows) + (int64_t)b.f.rows <= (int64_t)r &&
        i / b.entries >= (uint64_t)b.from.places.row_ptr[b.block_rows - 1];
    const uint64_t at = (spot.lane / b.active * group_packs * b.active +
                         spot.entry / pack * b.active + spot.lane % b.active) *
                            pack +
                        spot.entry % pack;
    packs.template as<V>()[at] = b.from.position[i] >= 0 ? b.block_values.template as<V>()[i]
                                 : beyond                ? b.packs.template as<V>()[at]
                                                         : (V)0;
  }
  if (!packs.same(b.packs)) {
    fail_msg("%s on %s: wrong packs", b.f.name, b.m.name);
  }
}

template <class V> void bsr_build(bsr_bed<V> &b, uint64_t seed) {
  const mbk_u32 ranks = (mbk_u32)b.ranks;
  const uint64_t slots = b.tiles * b.f.slots();
  if (b.tiles == 0) { // the plan launches nothing
    return;
  }
  b.forbid(true);
  simt_run(
      b.f.schedule, b.run(seed),
      {csr_divide_up(std::max(b.words, slots + 1), BSR_BUILD_THREADS), BSR_BUILD_THREADS, 0},
      b.row_start.get(), ranks, b.blocks, b.words, slots, b.row_ends.get(), b.slot_row.get());
  b.allow();
  bsr_check_schedule(b);
  simt_run(b.f.columns, b.run(seed),
           {csr_divide_up(b.columns.count, BSR_BUILD_THREADS), BSR_BUILD_THREADS, 0},
           b.block_cols.get(), b.blocks, b.tiles, b.columns.get());
  if (b.f.masked) {
    simt_run(b.f.masks, b.run(seed),
             {csr_divide_up(b.masks.count, BSR_BUILD_THREADS), BSR_BUILD_THREADS, 0},
             b.mask_words.get(), b.blocks, b.tiles, b.masks.get());
  }
  bsr_check_columns(b);
}

// Stores the values of row-major blocks row by row, as a CSR has them.
template <class V> void bsr_in_csr(const bsr_bed<V> &b, simt_array &values) {
  uint64_t at = 0;
  for (uint64_t row = 0; row < b.block_rows * b.f.rows; row++) {
    const int64_t *const ends = b.from.places.row_ptr + row / b.f.rows;
    for (uint64_t block = (uint64_t)ends[0]; block < (uint64_t)ends[1]; block++) {
      for (uint64_t c = 0; c < b.f.cols; c++) {
        values.template as<V>()[at++] =
            b.block_values.template as<V>()[block * b.entries + row % b.f.rows * b.f.cols + c];
      }
    }
  }
}

// Writes the values, like a plan's creation or an update of its values. With every other seed,
// those of full blocks come in the order of a CSR.
template <class V> void bsr_fill(bsr_bed<V> &b, uint64_t seed) {
  if (b.f.pattern || b.tiles == 0) {
    return;
  }
  b.take_values();
  const bool in_csr = seed % 2 == 1 && !b.f.masked && !b.f.column_major && !b.f.edge;
  simt_array values(in_csr ? b.block_values.count : 0, sizeof(V));
  simt_array row_ptr(in_csr ? b.block_rows + 1 : 0, b.f.row_ptr_bytes);
  if (in_csr) {
    bsr_in_csr(b, values);
    for (uint64_t row = 0; row <= b.block_rows; row++) {
      row_ptr.store(row, (uint64_t)b.from.places.row_ptr[row]);
    }
  }
  simt_run(b.f.fill, b.run(seed),
           {csr_divide_up(b.packs.count / b.f.pack(), BSR_BUILD_THREADS), BSR_BUILD_THREADS, 0},
           b.block_cols.get(), in_csr ? values.get() : b.block_values.get(), b.mask_words.get(),
           (mbk_u64)b.m.cols, b.blocks, b.tiles, in_csr ? row_ptr.get() : nullptr,
           b.slot_row.get(), b.row_id.get(), b.packs.get());
  bsr_check_packs(b);
}

// ---- Products -------------------------------------------------------------------------------

// Multiplies. For every other matrix x is misaligned for vector loads.
template <class V>
void bsr_multiply(bsr_bed<V> &b, double alpha, double beta, simt_array &y, uint64_t seed) {
  const uint64_t carries = b.tiles * b.f.rows;
  const simt_array firsts(carries, sizeof(V), 0xff), tails(carries, sizeof(V), 0xff);
  simt_array x(b.x.count, sizeof(V), 0, (size_t)b.index % 2);
  x.copy(b.x);
  bsr_fill(b, seed);
  b.forbid(true); // products read the copy; with alpha 0 not even that
  if (alpha == 0) {
    b.columns.forbid();
    b.masks.forbid();
    b.packs.forbid();
    x.forbid();
  }
  csr_with_scalars<V>(b.f, alpha, beta, seed, [&](const auto &at_alpha, const auto &at_beta) {
    simt_late_guard late({&x, &y, &firsts, &tails});
    late.scalar(at_alpha);
    late.scalar(at_beta);
    if (b.tiles > 0) {
      simt_run(b.f.product, b.run(seed),
               {csr_divide_up(b.tiles * b.f.strips() * 32, b.f.threads), b.f.threads, 0},
               b.row_ends.get(), b.slot_row.get(), b.row_id.get(), b.columns.get(),
               b.packs.get(), b.masks.get(), x.get(), y.get(), firsts.get(), tails.get(),
               b.rows, (mbk_u64)b.m.cols, b.tiles, at_alpha, at_beta);
    }
    const unsigned blocks = std::max(csr_divide_up(carries, BSR_FIXUP_THREADS),
                                     b.empty > 0 ? 1 + (unsigned)seed % 3 : 0);
    simt_run(b.f.fixup, b.run(seed), {blocks, BSR_FIXUP_THREADS, scan_fixup_shared(sizeof(V))},
             b.slot_row.get(), b.row_id.get(), b.row_bits.get(), firsts.get(), tails.get(),
             y.get(), b.tiles, b.empty > 0 ? b.block_rows : 0, b.rows, at_alpha, at_beta);
  });
  b.allow();
  b.columns.allow();
  b.masks.allow();
  b.packs.allow();
}

template <class V>
void bsr_check_matrix(const bsr_form &f, int index, test_matrix &places, uint64_t seed,
                      bool all) {
  const int64_t least = f.rows * f.cols > 1000 ? 6 : 40;
  bsr_crop(places, std::max<int64_t>(least, test_effort(6000, 60000) / (f.rows * f.cols)));
  if (!f.empty) {
    scan_drop_empty_rows(places);
  }
  if (places.rows > 0 && places.cols > 0) {
    bsr_matrix matrix(f.shape(), places, seed, index);
    bsr_bed<V> b(f, index, matrix);
    bsr_build(b, seed);
    csr_check_pairs(b, all, seed, bsr_multiply<V>);
  }
}
#endif // SIMT_BSR_BED_H
