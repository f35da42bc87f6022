// Test bed of the SCAN kernels: the non-empty rows and the schedule of a generated matrix are
// computed and compared with a simple loop; then products.
#ifndef SIMT_SCAN_BED_H
#define SIMT_SCAN_BED_H
#include "jit/device.cuh"

#include "simt/arguments.h"
#include "simt/csr.h"

struct scan_form : csr_form {
  unsigned steps, depth, pack;
  bool empty, aligned; // aligned: columns and values begin at multiples of 16 bytes
  unsigned threads;
  simt_kernel build, product, sum, fixup; // sum: for any beta
  simt_kernel cut = {}; // for blocks that take whole rows; `product` is then the whole product
  bool whole = false;
  bool linked = false; // blocks take parts of rows from earlier blocks
  bool fitted = false; // blocks own as many rows as their warps take in one round
  bool dots = false;   // the product stores parts of x'A x after firsts and tails
  unsigned held = 32;  // rows of a tile whose old y is in shared memory
  unsigned fill = 8;   // empty rows that each thread writes
  bool ahead = false;  // prefetch sectors of y that also hold non-empty rows
};

inline std::vector<const scan_form *> scan_forms;

// The launch sizes, computed independently of the launcher; test_scan compares the two.
enum { SCAN_BUILD_THREADS = 128, SCAN_FIXUP_THREADS = 256 };

inline unsigned scan_build_shared(unsigned steps) {
  return 4 * steps * 4;
}
inline unsigned scan_fixup_shared(unsigned value_bytes) {
  return SCAN_FIXUP_THREADS / 32 * (value_bytes + 4);
}

// Removes the empty rows of `m`, for a form that takes none.
inline void scan_drop_empty_rows(test_matrix &m) {
  int64_t kept = 0;
  for (int64_t row = 0; row < m.rows; row++) {
    if (m.row_ptr[row] < m.row_ptr[row + 1]) {
      m.row_ptr[++kept] = m.row_ptr[row + 1];
    }
  }
  m.rows = kept;
}

// Returns the depth of a segmented scan that covers every row if a lane takes `pack`
// neighbours: a row touches as many lanes as it fills without its last nonzero, and one more.
inline unsigned scan_depth(const test_matrix &m, int64_t pack) {
  int64_t longest = 0;
  unsigned depth = 0;
  for (int64_t row = 0; row < m.rows; row++) {
    longest = std::max(longest, m.row_ptr[row + 1] - m.row_ptr[row]);
  }
  while (depth < 5 && (int64_t)1 << depth < (longest - 1) / pack + 1) {
    depth++;
  }
  return depth;
}

// Sets the bits of non-empty rows, and all bits after the last row.
inline void scan_fill_bits(const test_matrix &m, simt_array &row_bits) {
  for (uint64_t w = 0; 32 * w < (uint64_t)m.rows; w++) {
    uint32_t word = 0;
    for (int64_t row = 32 * (int64_t)w; row < 32 * (int64_t)w + 32; row++) {
      const bool has = row >= m.rows || m.row_ptr[row] < m.row_ptr[row + 1];
      word |= (uint32_t)has << row % 32;
    }
    row_bits.store(w, word);
  }
}

template <class V> struct scan_bed : csr_bed<V> {
  scan_bed(const scan_form &f, int index, test_matrix &m)
      : csr_bed<V>(f, index, m, f.aligned ? 0 : 1), f(f), tile_nonzeros(32 * f.steps),
        tiles((this->nnz + tile_nonzeros - 1) / tile_nonzeros), ranks(count(m)),
        empty(this->rows - ranks), row_start(ranks + 1, f.row_ptr_bytes),
        row_id(f.empty ? ranks : 0, 4), row_bits(f.empty ? (this->rows + 31) / 32 : 0, 4),
        row_ends(tiles * f.steps, 4, 0xff), tile_row(2 * tiles + 1, 4, 0xff) {
    uint64_t rank = 0;
    assert_true(f.empty || empty == 0);
    if (f.empty) {
      scan_fill_bits(m, row_bits);
    }
    for (uint64_t row = 0; row < this->rows; row++) {
      if (m.row_ptr[row] == m.row_ptr[row + 1]) {
        continue;
      }
      row_start.store(rank, this->row_ptr.load(row));
      if (f.empty) {
        row_id.store(rank, row);
      }
      rank++;
    }
    row_start.store(ranks, this->nnz + f.base);
  }

  static uint64_t count(const test_matrix &m) {
    uint64_t found = 0;
    for (int64_t row = 0; row < m.rows; row++) {
      found += m.row_ptr[row] < m.row_ptr[row + 1];
    }
    return found;
  }

  const scan_form &f;
  uint64_t tile_nonzeros, tiles, ranks, empty;
  simt_array row_start, row_id, row_bits, row_ends, tile_row;
};

// ---- The schedule ---------------------------------------------------------------------------

template <class V> void scan_check_schedule(const scan_bed<V> &b) {
  std::vector<uint32_t> ends(b.tiles * b.f.steps), rows(2 * b.tiles + 1, UINT32_MAX);
  uint64_t k = 0, rank = 0;
  for (int64_t row = 0; row < b.m.rows; row++) {
    for (int64_t left = b.m.row_ptr[row + 1] - b.m.row_ptr[row]; left > 0; left--, k++) {
      if (k % b.tile_nonzeros == 0) {
        rows[k / b.tile_nonzeros] = (uint32_t)rank;
      }
      if (left == 1) {
        const uint64_t tile = k / b.tile_nonzeros;
        if (rows[tile] == rank) {
          rows[b.tiles + 1 + tile] =
              (uint32_t)(tile - (uint64_t)b.m.row_ptr[row] / b.tile_nonzeros);
        }
        ends[k / 32] |= (uint32_t)1 << k % 32;
        rank++;
      }
    }
  }
  rows[b.tiles] = (uint32_t)rank;
  for (uint64_t i = 0; i < ends.size(); i++) {
    if (b.row_ends.load(i) != ends[i]) {
      fail_msg("%s on %s: row_ends[%llu] is 0x%llx, not 0x%x", b.f.name, b.m.name,
               (unsigned long long)i, (unsigned long long)b.row_ends.load(i), ends[i]);
    }
  }
  for (uint64_t t = 0; t < rows.size(); t++) {
    if (b.tile_row.load(t) != rows[t]) {
      fail_msg("%s on %s: tile_row[%llu] is %llu, not %u", b.f.name, b.m.name,
               (unsigned long long)t, (unsigned long long)b.tile_row.load(t), rows[t]);
    }
  }
}

template <class V> void scan_build(scan_bed<V> &b, uint64_t seed) {
  const mbk_u32 ranks = (mbk_u32)b.ranks;
  if (b.tiles == 0) { // the plan launches nothing
    return;
  }
  b.forbid(true);
  simt_run(b.f.build, b.run(seed),
           {csr_divide_up(b.tiles * 32, SCAN_BUILD_THREADS), SCAN_BUILD_THREADS,
            scan_build_shared(b.f.steps)},
           b.row_start.get(), ranks, b.nnz, b.tiles, b.row_ends.get(), b.tile_row.get());
  b.allow();
  scan_check_schedule(b);
}

// ---- Products -------------------------------------------------------------------------------

// The blocks of a product: some multiply, the others write empty rows.
struct scan_grid {
  unsigned multiply = 0, fill = 0;
  mbk_u32 rate = 0; // blocks that write empty rows, of 2^32
};

// Returns the grid of a product whose nonzeros take `blocks` blocks.
template <class V> scan_grid scan_blocks(const scan_bed<V> &b, unsigned blocks) {
  scan_grid grid;
  grid.multiply = b.empty > 0 ? std::max(blocks, 1u) : blocks;
  if (b.empty > 0) {
    grid.fill = csr_divide_up((uint64_t)b.m.rows, b.f.fill * b.f.threads);
    const uint64_t all = grid.multiply + grid.fill;
    grid.rate = (mbk_u32)((((uint64_t)grid.fill << 32) + all - 1) / all);
  }
  return grid;
}

// Records the prefetches of a product while this object lives. Then compares them with the
// sectors of y that hold both empty and other rows, if the form prefetches those and the
// product does not add.
template <class V> struct scan_prefetches {
  scan_prefetches(const scan_bed<V> &b, const simt_array &y, bool adds)
      : b(b), y(y), wanted(b.f.empty && b.f.ahead && !adds) {
    simt.prefetched = wanted ? &found : nullptr;
  }
  ~scan_prefetches() {
    simt.prefetched = nullptr;
  }
  void check() {
    const int64_t sector = 32 / (int64_t)sizeof(V);
    std::vector<const void *> want;
    for (int64_t row = 0; wanted && row < b.m.rows; row += sector) {
      int64_t others = 0; // rows after the last one count as others
      for (int64_t i = row; i < row + sector; i++) {
        others += i >= b.m.rows || b.m.row_ptr[i] < b.m.row_ptr[i + 1];
      }
      if (others > 0 && others < sector) {
        want.push_back(y.as<V>() + row);
      }
    }
    std::sort(found.begin(), found.end());
    if (found != want) {
      fail_msg("%s on %s: %d sectors of y are prefetched, not the %d that hold empty rows and "
               "others",
               b.f.name, b.m.name, (int)found.size(), (int)want.size());
    }
  }

private:
  const scan_bed<V> &b;
  const simt_array &y;
  const bool wanted;
  std::vector<const void *> found;
};

// Runs the kernel that ends every product over tiles; it reads neither A nor x. It also writes
// the empty rows among the first `filled` rows.
template <class V, class S>
void scan_fixup(scan_bed<V> &b, uint64_t filled, const simt_array &firsts,
                const simt_array &tails, simt_array &y, const S &at_alpha, const S &at_beta,
                uint64_t seed) {
  const unsigned tiles = csr_divide_up(b.tiles, SCAN_FIXUP_THREADS);
  const unsigned blocks = filled > 0 ? std::max(tiles, 1 + (unsigned)seed % 3) : tiles;
  if (blocks == 0) {
    return;
  }
  b.forbid(true);
  simt_late_guard late({&firsts, &tails, &y});
  late.scalar(at_alpha);
  late.scalar(at_beta);
  simt_run(b.f.fixup, b.run(seed), {blocks, SCAN_FIXUP_THREADS, scan_fixup_shared(sizeof(V))},
           b.tile_row.get(), b.row_id.get(), b.row_bits.get(), firsts.get(), tails.get(),
           y.get(), b.tiles, filled, at_alpha, at_beta);
}

// Returns where blocks of whole rows begin, by a simple loop: at the first row start at or
// after each even cut or, if they are fitted, where a row no longer fits.
template <class V> std::vector<int64_t> scan_cuts(const scan_bed<V> &b) {
  const int64_t tile = (int64_t)b.tile_nonzeros, warps = b.f.threads / 32;
  std::vector<int64_t> cuts = {0};
  for (int64_t row = 0; row < b.m.rows; row++) {
    const int64_t begin = b.m.row_ptr[row], end = b.m.row_ptr[row + 1];
    if (b.f.fitted) {
      const int64_t first = cuts.back() / tile, round = (first + warps) * tile;
      if (end <= round) {
        continue;
      }
      // A row that ends beyond the round gets the next block, or ends this one if it is so long
      // that hardly any other row is in it.
      if (begin / tile > first) {
        cuts.push_back(begin);
        row--; // which may be longer than a round
      } else if (end < (int64_t)b.nnz) {
        cuts.push_back(end);
      }
    } else {
      while ((int64_t)cuts.size() * (warps - 1) * tile <= begin && begin < (int64_t)b.nnz) {
        cuts.push_back(begin);
      }
    }
  }
  return cuts;
}

// Computes block_start in the shim, compares it, and returns the number of blocks.
template <class V>
uint64_t scan_cut(scan_bed<V> &b, uint64_t blocks, simt_array &block_start, uint64_t seed) {
  std::vector<int64_t> cuts = scan_cuts(b);
  const unsigned grid = b.f.fitted ? 1 : csr_divide_up(blocks + 1, SCAN_BUILD_THREADS);
  b.forbid(true);
  simt_run(
      b.f.cut, b.run(seed), {grid, SCAN_BUILD_THREADS, b.f.fitted ? (unsigned)b.tiles * 4 : 0},
      b.row_start.get(), b.tile_row.get(), b.nnz, b.tiles, (mbk_u64)blocks, block_start.get());
  b.allow();
  const uint64_t count = b.f.fitted ? block_start.load(blocks + 1) : blocks;
  cuts.resize(count + 1, (int64_t)b.nnz);
  for (uint64_t at = 0; at <= count; at++) {
    if (block_start.load(at) != (uint64_t)cuts[at]) {
      fail_msg("%s on %s: block_start[%llu] is %llu, not %lld", b.f.name, b.m.name,
               (unsigned long long)at, (unsigned long long)block_start.load(at),
               (long long)cuts[at]);
    }
  }
  return count;
}

template <class V>
void scan_multiply_whole(scan_bed<V> &b, double alpha, double beta, simt_array &y,
                         uint64_t seed) {
  const uint64_t tiled = (b.tiles + b.f.threads / 32 - 2) / (b.f.threads / 32 - 1);
  const uint64_t most = b.f.fitted ? 2 * tiled + 2 : tiled;
  if (tiled == 0) { // the plan uses the other kernels
    return;
  }
  const bool adds = b.f.adds(beta, seed);
  simt_array block_start(most + 2, 8, 0xff);
  const simt_array nobody(0, 8);
  const scan_grid grid = scan_blocks(b, (unsigned)scan_cut(b, most, block_start, seed));
  if (b.f.vanishes(alpha)) {
    b.forbid(true);
  }
  csr_product(b, b.f, alpha, beta, seed, [&](const auto &at_alpha, const auto &at_beta) {
    simt_late_guard late({&b.factors(), &y});
    late.scalar(at_alpha);
    late.scalar(at_beta);
    scan_prefetches<V> prefetches(b, y, adds);
    simt_run(adds ? b.f.sum : b.f.product, b.run(seed),
             {grid.multiply + grid.fill, b.f.threads,
              b.f.table_bytes() + b.f.threads / 32 * 2 * (2 * (unsigned)sizeof(V) + 4) +
                  (adds ? b.f.threads / 32 * b.f.held * (unsigned)sizeof(V) : 0)},
             b.row_ends.get(), b.tile_row.get(), b.row_id.get(), b.row_bits.get(),
             block_start.get(), b.col_ind.get(), b.values.get(), b.table.get(),
             b.factors().get(), y.get(), nobody.get(), nobody.get(), nobody.get(), b.rows,
             b.nnz, b.tiles, grid.rate, at_alpha, at_beta);
    prefetches.check();
  });
  b.allow();
}

// Multiplies twice with the same slots, which each product must leave empty.
template <class V>
void scan_multiply_linked(scan_bed<V> &b, double alpha, double beta, simt_array &y,
                          uint64_t seed) {
  const bool adds = b.f.adds(beta, seed);
  const uint64_t words = sizeof(V) / 4, warps = b.f.threads / 32;
  const unsigned blocks = csr_divide_up(b.tiles * 32, b.f.threads);
  const simt_array nobody(0, 8);
  simt_array slots(std::max(blocks, 1u) * words, 8, 0);
  const scan_grid grid = scan_blocks(b, blocks);
  if (grid.multiply == 0) {
    return;
  }
  if (b.f.vanishes(alpha)) {
    b.forbid(true);
  }
  csr_product(b, b.f, alpha, beta, seed, [&](const auto &at_alpha, const auto &at_beta) {
    const std::vector<V> before(y.as<V>(), y.as<V>() + b.rows);
    for (uint64_t turn = 0; turn < 2; turn++) {
      std::copy(before.begin(), before.end(), y.as<V>());
      simt_late_guard late({&b.factors(), &y, &slots});
      late.scalar(at_alpha);
      late.scalar(at_beta);
      scan_prefetches<V> prefetches(b, y, adds);
      simt_run(adds ? b.f.sum : b.f.product, b.run(seed + turn),
               {grid.multiply + grid.fill, b.f.threads,
                b.f.table_bytes() + (unsigned)warps * (2 * (unsigned)sizeof(V) + 4) +
                    (adds ? (unsigned)warps * b.f.held * (unsigned)sizeof(V) : 0)},
               b.row_ends.get(), b.tile_row.get(), b.row_id.get(), b.row_bits.get(),
               nobody.get(), b.col_ind.get(), b.values.get(), b.table.get(), b.factors().get(),
               y.get(), nobody.get(), nobody.get(), slots.get(), b.rows, b.nnz, b.tiles,
               grid.rate, at_alpha, at_beta);
      prefetches.check();
    }
    for (uint64_t word = 0; word < blocks * words; word++) {
      if (slots.load(word) != 0) {
        fail_msg("%s on %s: the slot of block %llu is not empty", b.f.name, b.m.name,
                 (unsigned long long)(word / words));
      }
    }
  });
  b.allow();
}

// Checks that the parts of x'A x add up to it, unless it has an Inf or a NaN.
template <class V> void scan_check_dots(scan_bed<V> &b, const simt_array &firsts) {
  const double *const parts = (const double *)(firsts.as<V>() + 2 * b.tiles);
  const V *const x = b.factors().template as<V>();
  const long double epsilon = std::numeric_limits<V>::epsilon();
  long double wanted = 0, size = 0, found = 0;
  int64_t longest = 0;
  for (int64_t row = 0; row < b.m.rows; row++) {
    for (int64_t k = b.m.row_ptr[row]; k < b.m.row_ptr[row + 1]; k++) {
      const long double value = b.f.pattern ? 1 : b.values.template as<V>()[k];
      const long double term = value * x[b.m.col_ind[k]] * x[row];
      wanted += term;
      size += fabsl(term);
    }
    longest = std::max(longest, b.m.row_ptr[row + 1] - b.m.row_ptr[row]);
  }
  for (uint64_t tile = 0; tile < b.tiles; tile++) {
    found += parts[tile];
  }
  if (size - size == 0 &&
      !(fabsl(found - wanted) <=
        ((long double)longest + 4) * epsilon * size + (long double)b.nnz * 0x1p-52L * size)) {
    fail_msg("%s on %s: x'A x is %Lg, not %Lg", b.f.name, b.m.name, found, wanted);
  }
}

template <class V>
void scan_multiply(scan_bed<V> &b, double alpha, double beta, simt_array &y, uint64_t seed) {
  const uint64_t behind = b.f.dots ? b.tiles + b.tiles * sizeof(double) / sizeof(V) : 0;
  const simt_array firsts(b.tiles + behind, sizeof(V), 0xff), tails(b.tiles, sizeof(V), 0xff);
  if (b.f.whole) {
    scan_multiply_whole(b, alpha, beta, y, seed);
    return;
  }
  if (b.f.linked) {
    scan_multiply_linked(b, alpha, beta, y, seed);
    return;
  }
  const bool adds = b.f.adds(beta, seed);
  const simt_array nobody(0, 8);
  if (b.f.vanishes(alpha) && !b.f.dots) { // neither A nor x may be read
    b.forbid(true);
  }
  csr_product(b, b.f, alpha, beta, seed, [&](const auto &at_alpha, const auto &at_beta) {
    const scan_grid grid = scan_blocks(b, csr_divide_up(b.tiles * 32, b.f.threads));
    if (grid.multiply > 0) {
      simt_late_guard late({&b.factors(), &y, &firsts, &tails});
      late.scalar(at_alpha);
      late.scalar(at_beta);
      scan_prefetches<V> prefetches(b, y, adds);
      simt_run(
          adds ? b.f.sum : b.f.product, b.run(seed),
          {grid.multiply + grid.fill, b.f.threads,
           b.f.table_bytes() + (adds ? b.f.threads / 32 * b.f.held * (unsigned)sizeof(V) : 0)},
          b.row_ends.get(), b.tile_row.get(), b.row_id.get(), b.row_bits.get(), nobody.get(),
          b.col_ind.get(), b.values.get(), b.table.get(), b.factors().get(), y.get(),
          firsts.get(), tails.get(), nobody.get(), b.rows, b.nnz, b.tiles, grid.rate, at_alpha,
          at_beta);
      prefetches.check();
      if constexpr (std::is_floating_point<V>::value) {
        if (b.f.dots && !adds && !b.f.vanishes(alpha)) {
          scan_check_dots(b, firsts);
        }
      }
    }
    scan_fixup(b, 0, firsts, tails, y, at_alpha, at_beta, seed);
  });
  b.allow();
}

// Checks without Inf or NaN, which would hide missing parts of a long row.
template <class V> void scan_check_long(const scan_form &f, test_matrix &m, uint64_t seed) {
  scan_bed<V> b(f, 0, m);
  scan_build(b, seed);
  for (int pair : {0, 4, 13}) {
    csr_check_pair(b, pair, seed, scan_multiply<V>);
  }
}

template <class V>
void scan_check_matrix(const scan_form &f, int index, test_matrix &m, uint64_t seed, bool all) {
  if (!f.empty) {
    scan_drop_empty_rows(m);
  }
  if (m.rows > 0 && (m.nnz > 0 || !f.whole) && scan_depth(m, f.pack) <= f.depth &&
      (!f.dots || m.rows <= m.cols)) { // row numbers are used as indices of x
    scan_bed<V> b(f, index, m);
    scan_build(b, seed);
    scan_build(b, seed + 1);
    csr_check_pairs(b, all, seed, scan_multiply<V>);
  }
}

// Runs the generated matrices through the form; with `all`, every pair of alpha and beta on the
// smaller ones.
inline void scan_check_form(const scan_form &f, bool all) {
  for (uint64_t seed : csr_seeds(scan_forms, &f, test_effort(1, 0))) {
    csr_each_matrix(seed, [&](int index, test_matrix &m) {
      if (csr_left_to_others(csr_place(scan_forms, &f), index, m)) {
        return;
      }
      const bool every_pair = all && m.nnz < 1000 && seed == 1;
      if (f.value_bytes == 4) {
        scan_check_matrix<float>(f, index, m, seed, every_pair);
      } else {
        scan_check_matrix<double>(f, index, m, seed, every_pair);
      }
    });
  }
}
#endif // SIMT_SCAN_BED_H
