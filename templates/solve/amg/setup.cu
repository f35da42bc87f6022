// The set-up of algebraic multigrid from a CSR in GPU memory: the steps of solve/amg/amg.h,
// with 32-bit offsets and columns from 0 and f64 values.
#include "jit/device.cuh"

#include "solve/amg/multiply.cuh"

#include "solve/amg/setup_arguments.cuh"

#define MBK_AMG_THREADS 256 // of every block

// Loops over i from 0 to `count` - 1, each in one thread of the grid.
#define MBK_AMG_EACH(i, count)                                                                 \
  for (mbk_u64 i = (mbk_u64)mbk_block() * MBK_AMG_THREADS + mbk_thread(); i < (count);         \
       i += (mbk_u64)mbk_grid() * MBK_AMG_THREADS)
// Loops over the rows from 0 to `count` - 1, each in a group of lanes. In the last turn some
// groups get rows from `count` on, so that all lanes of a warp can shuffle.
#define MBK_AMG_ROWS(at, lanes, count)                                                         \
  for (mbk_amg_row at(lanes); at.first < (count); at.next())
// Loops over the entries of a row, each in one lane of the row's group.
#define MBK_AMG_ENTRIES(k, row_ptr, at)                                                        \
  for (mbk_u32 k = (mbk_u32)mbk_load(row_ptr + at.row) + at.lane,                              \
               end = (mbk_u32)mbk_load(row_ptr + at.row + 1);                                  \
       k < end; k += at.lanes)

// The row of a group of lanes, in a loop over rows.
struct mbk_amg_row {
  mbk_u32 lanes, lane;
  mbk_u64 row, step, first; // first: the first row of the block

  MBK_MEMBER explicit mbk_amg_row(mbk_u32 lanes, mbk_u32 threads = MBK_AMG_THREADS)
      : lanes(lanes), lane(mbk_thread() % lanes), row(0),
        step((mbk_u64)mbk_grid() * (threads / lanes)),
        first((mbk_u64)mbk_block() * (threads / lanes)) {
    row = first + mbk_thread() / lanes;
  }
  MBK_MEMBER void next() {
    first += step;
    row += step;
  }
};

// Calls take(k, column, value) for this lane's share of the entries k of a row, in their order.
// Loads AHEAD entries at a time, because single loads would each wait for GPU memory.
template <int AHEAD, class MATRIX, class TAKE>
MBK_DEVICE void mbk_amg_take_ahead(const MATRIX &a, const mbk_amg_row &at, const TAKE &take) {
  const mbk_u32 end = (mbk_u32)mbk_load(a.row_ptr + at.row + 1);
  mbk_u32 k = (mbk_u32)mbk_load(a.row_ptr + at.row) + at.lane;
  for (; k < end; k += AHEAD * at.lanes) {
    mbk_i32 columns[AHEAD];
    double values[AHEAD];
#pragma unroll
    for (mbk_u32 i = 0; i < AHEAD; i++) { // beyond the end, the last entry again
      const mbk_u32 e = k + i * at.lanes < end ? k + i * at.lanes : end - 1;
      values[i] = mbk_load_streaming(a.values + e);
      columns[i] = mbk_load_streaming(a.col_ind + e);
    }
#pragma unroll
    for (mbk_u32 i = 0; i < AHEAD; i++) {
      if (k + i * at.lanes < end) {
        take(k + i * at.lanes, columns[i], values[i]);
      }
    }
  }
}
template <class MATRIX, class TAKE>
MBK_DEVICE void mbk_amg_take(const MATRIX &a, const mbk_amg_row &at, const TAKE &take) {
  if (at.row + at.step < a.rows) {
    mbk_prefetch(a.row_ptr + at.row + at.step);
  }
  if (at.lanes < 32) { // about two entries per lane
    mbk_amg_take_ahead<2>(a, at, take);
  } else {
    mbk_amg_take_ahead<4>(a, at, take);
  }
}

// Returns the sum over the lanes of a row, in every lane.
template <class T> MBK_DEVICE T mbk_amg_sum(T sum, mbk_u32 lanes) {
  for (int d = (int)lanes / 2; d > 0; d /= 2) {
    sum += mbk_shuffle_xor(0xffffffffu, sum, d, 32);
  }
  return sum;
}

// ---- Copies -------------------------------------------------------------------------------

// Copies the arrays of a matrix and converts their types: to 32-bit columns and offsets from 0,
// and f64 values. Arrays without a target are left out; value_bytes 0 means that all values are
// 1. Sets *strange if an element of `modes` is not finite. Launch, for all kernels: any grid of
// MBK_AMG_THREADS threads. Shared: none unless stated.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_copy(MBK_GRID_CONSTANT mbk_amg_copy_arguments a) {
  const mbk_u64 first = (mbk_u64)mbk_block() * MBK_AMG_THREADS + mbk_thread();
  const mbk_u64 step = (mbk_u64)mbk_grid() * MBK_AMG_THREADS;
  for (mbk_u64 i = first; a.row_ptr_to != nullptr && i <= a.rows; i += step) {
    a.row_ptr_to[i] = (mbk_i32)((a.wide_ptr ? ((const mbk_i64 *)a.row_ptr)[i]
                                            : ((const mbk_i32 *)a.row_ptr)[i]) -
                                a.base);
  }
  for (mbk_u64 k = first; a.modes != nullptr && k < a.mode_elements; k += step) {
    const double element = mbk_load(a.modes + k);
    if (!(element - element == 0)) {
      *a.strange = 1;
    }
  }
  for (mbk_u64 k = first; k < a.nnz; k += step) {
    if (a.col_ind_to != nullptr) {
      a.col_ind_to[k] = (mbk_i32)((a.wide_col ? ((const mbk_i64 *)a.col_ind)[k]
                                              : ((const mbk_i32 *)a.col_ind)[k]) -
                                  a.base);
    }
    if (a.values_to != nullptr) {
      a.values_to[k] = a.value_bytes == 8   ? ((const double *)a.values)[k]
                       : a.value_bytes == 4 ? ((const float *)a.values)[k]
                                            : 1;
    }
  }
}

// Writes to[k] = from[k], or from[places[k]] if there are places; in f32 to `rounded` if given.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_move(MBK_GRID_CONSTANT mbk_amg_move_arguments a) {
  MBK_AMG_EACH(k, a.count) {
    const double value = mbk_load(a.from + (a.places != nullptr ? mbk_load(a.places + k) : k));
    if (a.rounded != nullptr) {
      a.rounded[k] = (float)value;
    } else {
      a.to[k] = value;
    }
  }
}

// States of a node: no root (or without strong neighbours), undecided, a root.
enum { MBK_AMG_DECIDED, MBK_AMG_OPEN, MBK_AMG_ROOT };

// ---- Strength of connection ---------------------------------------------------------------

// Returns the maximum over the lanes of a row, in every lane. The numbers are not negative.
template <class T> MBK_DEVICE T mbk_amg_most(T most, mbk_u32 lanes) {
  for (int d = (int)lanes / 2; d > 0; d /= 2) {
    const T other = mbk_shuffle_xor(0xffffffffu, most, d, 32);
    most = other > most ? other : most;
  }
  return most;
}

// Examines the rows of A. Writes the inverse diagonal, 0 where the diagonal's magnitude is at
// most `least`. If there is `most`, writes to most[row] the largest off-diagonal magnitude, and
// to strongest[row] the first column that has it, or -1. Raises *bound, the bits of a double,
// to the largest sum of magnitudes of a row of D^-1 A. Sets *unsorted if the columns of a row
// do not ascend. Raises *missing to the complement of the first row without an inverse
// diagonal, *wild to that of the first row whose sum is not finite, and *longest to the number
// of entries of the longest row.
MBK_KERNEL MBK_RESIDENT(MBK_AMG_THREADS, 4)
    mbk_amg_rows(MBK_GRID_CONSTANT mbk_amg_strength_arguments a) {
  double bound = 0;
  mbk_u32 longest = 0;
  bool unsorted = false;
  MBK_AMG_ROWS(at, a.lanes, a.rows) {
    double own_most = 0, sum = 0, diagonal = 0;
    mbk_u32 strongest = 0; // the complement of the column
    if (at.row < a.rows) {
      const mbk_u32 begin = (mbk_u32)mbk_load(a.row_ptr + at.row);
      const mbk_u32 length = (mbk_u32)mbk_load(a.row_ptr + at.row + 1) - begin;
      longest = length > longest ? length : longest;
      mbk_amg_take(a, at, [&](mbk_u32 k, mbk_i32 column, double value) {
        const bool own = (mbk_u64)column == at.row;
        const double size = value < 0 ? -value : value;
        sum += size;
        diagonal += own ? value : 0;
        if (size > own_most && !own) {
          own_most = size;
          strongest = ~(mbk_u32)column;
        }
        unsorted |= k > begin && mbk_load(a.col_ind + k - 1) >= column;
      });
    }
    const double most = mbk_amg_most(own_most, a.lanes);
    strongest = mbk_amg_most(own_most == most ? strongest : 0, a.lanes);
    sum = mbk_amg_sum(sum, a.lanes);
    diagonal = mbk_amg_sum(diagonal, a.lanes);
    const bool none = (diagonal < 0 ? -diagonal : diagonal) <= a.least;
    const double inverse = none ? 0 : 1 / diagonal;
    sum *= inverse < 0 ? -inverse : inverse;
    bound = sum > bound ? sum : bound;
    if (at.row < a.rows && at.lane == 0) {
      if (a.most != nullptr) {
        a.most[at.row] = most;
        a.strongest[at.row] = (mbk_i32)~strongest;
      }
      a.inverse[at.row] = inverse;
      if (none) {
        mbk_atomic_max(a.missing, ~(mbk_u32)at.row);
      }
      if (!(sum - sum == 0)) {
        mbk_atomic_max(a.wild, ~(mbk_u32)at.row);
      }
    }
  }
  if (unsorted) {
    *a.unsorted = 1;
  }
  bound = mbk_amg_most(bound, 32);
  longest = mbk_amg_most(longest, 32);
  if (mbk_lane() == 0) {
    mbk_u64 bits;
    memcpy(&bits, &bound, sizeof bits);
    mbk_atomic_max(a.bound, bits);
    mbk_atomic_max(a.longest, longest);
  }
}

// Returns mbi_amg_hash of solve/amg/aggregate.c.
MBK_DEVICE mbk_u64 mbk_amg_hash(mbk_u64 number) {
  mbk_u64 h = number + 0x9e3779b97f4a7c15ull;
  h = (h ^ h >> 33) * 0xff51afd7ed558ccdull;
  h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53ull;
  return h ^ h >> 33;
}

// Adds to *one_sided the number of one-sided rows among `sample` hashed rows, as
// mbi_amg_nonsymmetric does: those whose sum of |a_ij - a_ji| exceeds `theta` times that of
// |a_ij| + |a_ji|, over the first `entries` entries of each. One thread adds up a row, so that
// the sums equal the host's.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_symmetry(MBK_GRID_CONSTANT mbk_amg_strength_arguments a) {
  MBK_AMG_EACH(i, a.sample) {
    const mbk_u64 row = mbk_amg_hash(i) % a.rows;
    const mbk_u32 begin = (mbk_u32)mbk_load(a.row_ptr + row);
    const mbk_u32 end = (mbk_u32)mbk_load(a.row_ptr + row + 1);
    double apart = 0, sum = 0;
    for (mbk_u32 k = begin; k < end && k - begin < a.entries; k++) {
      const mbk_u64 column = (mbk_u32)mbk_load(a.col_ind + k);
      const mbk_u32 first = (mbk_u32)mbk_load(a.row_ptr + column);
      const mbk_u32 count = (mbk_u32)mbk_load(a.row_ptr + column + 1) - first;
      const mbk_u32 at =
          first + (count > 0 ? mbk_multiply_find(a.col_ind + first, count, (mbk_i32)row) : 0);
      const bool there = count > 0 && (mbk_u64)mbk_load(a.col_ind + at) == row;
      const double value = mbk_load(a.values + k);
      const double other = there ? mbk_load(a.values + at) : 0, difference = value - other;
      apart += difference < 0 ? -difference : difference;
      sum += column != row ? (value < 0 ? -value : value) + (other < 0 ? -other : other) : 0;
    }
    if (apart > mbk_multiply(a.theta, sum)) {
      mbk_atomic_add(a.one_sided, 1u);
    }
  }
}

// Writes links[k], the column of entry k of A if the entry counts, else its complement. It
// counts if it is off the diagonal and its magnitude exceeds `theta` times the largest one of
// its row or, with `both`, the larger of those of its row and its column. Sets `state` to
// MBK_AMG_OPEN if the row has entries that count, else to MBK_AMG_DECIDED.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_links(MBK_GRID_CONSTANT mbk_amg_strength_arguments a) {
  MBK_AMG_ROWS(at, a.lanes, a.rows) {
    mbk_u32 strong_ones = 0;
    if (at.row < a.rows) {
      const double most = mbk_load(a.most + at.row);
      MBK_AMG_ENTRIES(k, a.row_ptr, at) {
        const double value = mbk_load(a.values + k), size = value < 0 ? -value : value;
        const mbk_i32 column = mbk_load(a.col_ind + k);
        const double other = a.both ? mbk_load(a.most + column) : 0;
        const bool strong =
            (mbk_u64)column != at.row && size > a.theta * (other > most ? other : most);
        a.links[k] = strong ? column : ~column;
        strong_ones |= strong;
      }
    }
    strong_ones = mbk_amg_most(strong_ones, a.lanes);
    if (at.row < a.rows && at.lane == 0) {
      a.state[at.row] = strong_ones ? MBK_AMG_OPEN : MBK_AMG_DECIDED;
    }
  }
}

// ---- Nodes of several rows ----------------------------------------------------------------

// Writes node_col[i], the node of row i, and node_ptr, the row offsets of the nodes' first
// rows.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_nodes(MBK_GRID_CONSTANT mbk_amg_strength_arguments a) {
  MBK_AMG_EACH(i, a.rows + 1) {
    if (i < a.rows) {
      a.node_col[i] = (mbk_i32)(i / a.block);
    }
    if (i % a.block == 0) {
      a.node_ptr[i / a.block] = mbk_load(a.row_ptr + i);
    }
  }
}

// Returns the index of the first value of block e in row r of its row of blocks, which is the
// `count` blocks from `begin` on.
MBK_DEVICE mbk_u64 mbk_amg_place(mbk_u32 block, mbk_u32 begin, mbk_u32 count, mbk_u32 e,
                                 mbk_u32 r) {
  return ((mbk_u64)begin * block + (mbk_u64)r * count + (e - begin)) * block;
}

// Copies A's entries to `full`, the values of A as full blocks.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_fill(MBK_GRID_CONSTANT mbk_amg_strength_arguments a) {
  MBK_AMG_ROWS(at, a.lanes, a.rows) {
    if (at.row < a.rows) {
      const mbk_u32 node = (mbk_u32)at.row / a.block, r = (mbk_u32)at.row - node * a.block;
      const mbk_u32 begin = (mbk_u32)mbk_load(a.node_ptr + node);
      const mbk_u32 count = (mbk_u32)mbk_load(a.node_ptr + node + 1) - begin;
      MBK_AMG_ENTRIES(k, a.row_ptr, at) {
        const mbk_u32 column = (mbk_u32)mbk_load(a.col_ind + k), other = column / a.block;
        const mbk_u32 e = begin + mbk_multiply_find(a.node_col + begin, count, (mbk_i32)other);
        a.full[mbk_amg_place(a.block, begin, count, e, r) + column - other * a.block] =
            mbk_load(a.values + k);
      }
    }
  }
}

// Writes norms[e], the Frobenius norm of each block of A, added up in the order of rows; to
// most[node] the largest norm off the diagonal, and to strongest[node] the first column that
// has it, or -1. `values` are those of full blocks; in this kernel and the next, row_ptr and
// col_ind are the blocks of the `rows` nodes.
MBK_KERNEL MBK_RESIDENT(MBK_AMG_THREADS, 4)
    mbk_amg_norms(MBK_GRID_CONSTANT mbk_amg_strength_arguments a) {
  MBK_AMG_ROWS(at, a.lanes, a.rows) {
    double own_most = 0;
    mbk_u32 strongest = 0; // the complement of the column
    if (at.row < a.rows) {
      const mbk_u32 begin = (mbk_u32)mbk_load(a.row_ptr + at.row);
      MBK_AMG_ENTRIES(e, a.row_ptr, at) {
        const mbk_u32 column = (mbk_u32)mbk_load(a.col_ind + e);
        double norm = 0;
        for (mbk_u32 r = 0; r < a.block; r++) {
          const double *const values =
              a.values + mbk_amg_place(a.block, begin, end - begin, e, r);
          for (mbk_u32 c = 0; c < a.block; c++) {
            const double value = mbk_load(values + c);
            norm += mbk_multiply(value, value);
          }
        }
        norm = sqrt(norm);
        a.norms[e] = norm;
        if (norm > own_most && column != at.row) {
          own_most = norm;
          strongest = ~column;
        }
      }
    }
    const double most = mbk_amg_most(own_most, a.lanes);
    strongest = mbk_amg_most(own_most == most ? strongest : 0, a.lanes);
    if (at.row < a.rows && at.lane == 0) {
      a.most[at.row] = most;
      a.strongest[at.row] = (mbk_i32)~strongest;
    }
  }
}

// Writes scale[row], the inverse of the larger of A_F's diagonal and `least` times A's. A_F's
// diagonal is the sum of the diagonal entry and those of the blocks that `links` drops.
MBK_KERNEL MBK_RESIDENT(MBK_AMG_THREADS, 6)
    mbk_amg_lump(MBK_GRID_CONSTANT mbk_amg_strength_arguments a) {
  MBK_AMG_ROWS(at, a.lanes, a.rows) {
    for (mbk_u32 r = 0; r < a.block; r++) {
      double diagonal = 0;
      if (at.row < a.rows) {
        const mbk_u32 begin = (mbk_u32)mbk_load(a.row_ptr + at.row);
        MBK_AMG_ENTRIES(e, a.row_ptr, at) {
          if (mbk_load(a.links + e) < 0) {
            diagonal +=
                mbk_load(a.values + mbk_amg_place(a.block, begin, end - begin, e, r) + r);
          }
        }
      }
      diagonal = mbk_amg_sum(diagonal, a.lanes);
      if (at.row < a.rows && at.lane == 0) {
        const double inverse = mbk_load(a.inverse + at.row * a.block + r);
        if (diagonal * inverse < a.least) {
          diagonal = inverse != 0 ? a.least / inverse : 0;
        }
        a.scale[at.row * a.block + r] = diagonal != 0 ? 1 / diagonal : 0;
      }
    }
  }
}

// Expands a structure of blocks of `height` rows and `width` columns, in row_ptr and col_ind,
// to entries. If there are `places`, the indices in P of the blocks of its transpose, writes
// places_to, those of the entries; p_ptr has the row offsets of P's blocks.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_expand(MBK_GRID_CONSTANT mbk_amg_expand_arguments a) {
  MBK_AMG_ROWS(at, a.lanes, a.rows) {
    const mbk_u32 begin = at.row < a.rows ? (mbk_u32)mbk_load(a.row_ptr + at.row) : 0;
    const mbk_u32 end = at.row < a.rows ? (mbk_u32)mbk_load(a.row_ptr + at.row + 1) : 0;
    const mbk_u32 length = (end - begin) * a.width;
    for (mbk_u32 r = 0; r < a.height && at.row < a.rows; r++) {
      const mbk_u32 base = begin * a.width * a.height + r * length;
      if (at.lane == 0) {
        const mbk_u64 row = at.row * a.height + r;
        a.row_ptr_to[row] = (mbk_i32)base;
        if (row + 1 == a.rows * a.height) {
          a.row_ptr_to[row + 1] = (mbk_i32)(base + length);
        }
      }
      for (mbk_u32 v = at.lane; v < length; v += at.lanes) {
        const mbk_u32 e = begin + v / a.width, c = v % a.width;
        const mbk_i32 column = mbk_load(a.col_ind + e);
        a.col_ind_to[base + v] = column * (mbk_i32)a.width + (mbk_i32)c;
        if (a.places != nullptr) {
          const mbk_i32 start = mbk_load(a.p_ptr + column);
          const mbk_i32 stop = mbk_load(a.p_ptr + column + 1);
          a.places_to[base + v] = (mbk_load(a.places + e) + start * ((mbk_i32)a.width - 1) +
                                   (mbk_i32)c * (stop - start)) *
                                      (mbk_i32)a.height +
                                  (mbk_i32)r;
        }
      }
    }
  }
}

// ---- The largest eigenvalue ----------------------------------------------------------------

// Returns the sum over the block, in every thread.
MBK_DEVICE double mbk_amg_block_sum(double sum, double *shared) {
  sum = mbk_amg_sum(sum, 32);
  mbk_block_sync();
  if (mbk_lane() == 0) {
    shared[mbk_thread() / 32] = sum;
  }
  mbk_block_sync();
  sum = 0;
  for (mbk_u32 w = 0; w < MBK_AMG_THREADS / 32; w++) {
    sum += shared[w];
  }
  return sum;
}

// Returns the sum of the previous kernel's partial sums, one per block, in every thread.
MBK_DEVICE double mbk_amg_sum_parts(const double *parts, double *shared) {
  double sum = 0;
  for (mbk_u32 i = mbk_thread(); i < mbk_grid(); i += MBK_AMG_THREADS) {
    sum += parts[i];
  }
  return mbk_amg_block_sum(sum, shared);
}

// Returns an element of |D|^-1/2, given that of D^-1.
MBK_DEVICE double mbk_amg_root(double inverse) {
  return sqrt(inverse < 0 ? -inverse : inverse);
}

// Fills v with numbers between -1 and 1 that depend on the row alone, and x with |D|^-1/2 v;
// clears u, and writes squares[block], this block's part of v'v. Shared, for this kernel and
// the next two: double[MBK_AMG_THREADS / 32]. All three have the same grid.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_lanczos_start(MBK_GRID_CONSTANT mbk_amg_lanczos_arguments a) {
  MBK_SHARED_MEMORY(shared);
  double sum = 0;
  MBK_AMG_EACH(i, a.rows) {
    const double v = (double)(mbk_amg_hash(i) >> 11) * (1.0 / 4503599627370496.0) - 1;
    a.v[i] = v;
    a.x[i] = mbk_amg_root(mbk_load(a.inverse + i)) * v;
    a.u[i] = 0;
    sum += v * v;
  }
  sum = mbk_amg_block_sum(sum, (double *)shared);
  if (mbk_thread() == 0) {
    a.squares[mbk_block()] = sum;
  }
}

// Adds to sums[r] this lane's share of x times row `top` + r of a row of full blocks.
MBK_DEVICE void mbk_amg_take_blocks(const mbk_amg_lanczos_arguments &a, const mbk_amg_row &at,
                                    mbk_u32 top, double *sums) {
  const mbk_u32 begin = (mbk_u32)mbk_load(a.row_ptr + at.row);
  const mbk_u32 length = ((mbk_u32)mbk_load(a.row_ptr + at.row + 1) - begin) * a.block;
  const double *const values =
      a.values + (mbk_u64)begin * a.block * a.block + (mbk_u64)top * length;
  for (mbk_u32 k = at.lane; k < length; k += at.lanes) {
    const mbk_u32 e = k / a.block, column = (mbk_u32)mbk_load(a.col_ind + begin + e);
    const double x = mbk_load(a.x + ((mbk_u64)column * a.block + (k - e * a.block)));
#pragma unroll
    for (mbk_u32 r = 0; r < MBK_MULTIPLY_STRIP; r++) {
      sums[r] += top + r < a.block ? mbk_load_streaming(values + r * length + k) * x : 0;
    }
  }
}

#if __CUDA_ARCH__ >= 1000 // with 5, registers spill
#define MBK_AMG_LANCZOS_BLOCKS 4
#else
#define MBK_AMG_LANCZOS_BLOCKS 5
#endif
// Computes w = S |D|^-1/2 A x / beta - beta u, where S has the signs of D, and dots[block],
// this block's part of v'w / beta. Writes beta[step], the norm of v. If A's entries are full
// blocks of `block` rows, at least four lanes take a row of them.
MBK_KERNEL MBK_RESIDENT(MBK_AMG_THREADS, MBK_AMG_LANCZOS_BLOCKS)
    mbk_amg_lanczos_multiply(MBK_GRID_CONSTANT mbk_amg_lanczos_arguments a) {
  MBK_SHARED_MEMORY(shared);
  const double beta = sqrt(mbk_amg_sum_parts(a.squares, (double *)shared));
  const double factor = beta > 0 ? 1 / beta : 0;
  double dot = 0;
  if (mbk_block() == 0 && mbk_thread() == 0) {
    a.beta[a.step] = beta;
  }
  MBK_AMG_ROWS(at, a.lanes, a.nodes) {
    for (mbk_u32 top = 0; top < a.block; top += MBK_MULTIPLY_STRIP) {
      const mbk_u64 row = at.row * a.block + top + at.lane;
      const bool owns =
          at.row < a.nodes && at.lane < MBK_MULTIPLY_STRIP && top + at.lane < a.block;
      double sums[MBK_MULTIPLY_STRIP] = {}, sum = 0, inverse = 0, u = 0, v = 0;
      if (owns) {
        inverse = mbk_load(a.inverse + row); // loaded early, as in mbk_amg_take
        u = mbk_load(a.u + row);
        v = mbk_load(a.v + row);
      }
      if (at.row < a.nodes && a.block > 1) {
        mbk_amg_take_blocks(a, at, top, sums);
      } else if (at.row < a.nodes) {
        mbk_amg_take(a, at, [&](mbk_u32, mbk_i32 column, double value) {
          sums[0] += value * mbk_load(a.x + column);
        });
      }
#pragma unroll
      for (mbk_u32 r = 0; r < MBK_MULTIPLY_STRIP; r++) {
        if (top + r < a.block) {
          const double all = mbk_amg_sum(sums[r], a.lanes);
          sum = at.lane == r ? all : sum;
        }
      }
      if (owns) {
        sum = inverse < 0 ? -sum : sum;
        sum = mbk_amg_root(inverse) * sum * factor - beta * u;
        a.w[row] = sum;
        dot += sum * v * factor;
      }
    }
  }
  dot = mbk_amg_block_sum(dot, (double *)shared);
  if (mbk_thread() == 0) {
    a.dots[mbk_block()] = dot;
  }
}

// Computes u = v / beta, w -= alpha u, x = |D|^-1/2 w, and squares[block], this block's part of
// w'w. Writes alpha[step].
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_lanczos_subtract(MBK_GRID_CONSTANT mbk_amg_lanczos_arguments a) {
  MBK_SHARED_MEMORY(shared);
  const double alpha = mbk_amg_sum_parts(a.dots, (double *)shared), beta = a.beta[a.step];
  const double factor = beta > 0 ? 1 / beta : 0;
  double sum = 0;
  if (mbk_block() == 0 && mbk_thread() == 0) {
    a.alpha[a.step] = alpha;
  }
  MBK_AMG_EACH(i, a.rows) {
    const double u = a.v[i] * factor, w = a.w[i] - alpha * u;
    a.u[i] = u;
    a.w[i] = w;
    a.x[i] = mbk_amg_root(mbk_load(a.inverse + i)) * w;
    sum += w * w;
  }
  sum = mbk_amg_block_sum(sum, (double *)shared);
  if (mbk_thread() == 0) {
    a.squares[mbk_block()] = sum;
  }
}

// Adds to *products the number of products in A P. row_ptr is that of P or of P's blocks, which
// `block` columns of A share.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_products(MBK_GRID_CONSTANT mbk_amg_products_arguments a) {
  mbk_u64 sum = 0;
  MBK_AMG_EACH(k, a.nnz) {
    const mbk_u32 j = (mbk_u32)mbk_load(a.col_ind + k) / a.block;
    sum += (mbk_u32)(mbk_load(a.row_ptr + j + 1) - mbk_load(a.row_ptr + j));
  }
  sum = mbk_amg_sum(sum, 32);
  if (mbk_lane() == 0 && sum > 0) {
    mbk_atomic_add(a.products, sum);
  }
}

#include "solve/amg/aggregate.cuh"

#include "solve/amg/tentative.cuh"

#include "solve/amg/reduction.cuh"

#include "solve/amg/coarsest.cuh"
