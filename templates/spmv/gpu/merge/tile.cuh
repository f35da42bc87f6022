// Turns the products of a chunk into rows by a segmented scan. spmv/gpu/merge/merge.cu includes
// this file. SCAN reads row ends from bits that a plan built; here a block marks in shared
// memory, for each nonzero, the row that ends there.
#ifndef MBK_CHUNK
#error "include spmv/gpu/merge/path.cuh before"
#endif

#define MBK_NO_ROW 0xffffu // rows are counted from the chunk's first

// A block's shared memory, as mbk_merge_places lays it out.
struct mbk_merge_memory {
  mbk_u16 *marks;              // [MBK_SLOTS]: the row that ends at the slot
  MBK_COMPUTE *firsts, *tails; // [MBK_WARPS] each
  mbk_u32 *first_row;          // [MBK_WARPS]: of firsts, or MBK_NO_ROW
  mbk_u32 *crossing;           // [2], used in turn: 1 if the first row began in an earlier
                               // chunk
  MBK_VECTOR *old;             // [MBK_THREADS]: the old y of the first rows
  MBK_VECTOR *first_old;       // [MBK_WARPS]: the old y of first_row
};

template <bool adds> MBK_DEVICE mbk_merge_memory mbk_merge_places(unsigned char *shared) {
  mbk_merge_memory m;
  m.marks = (mbk_u16 *)shared;
  m.firsts = (MBK_COMPUTE *)(m.marks + MBK_SLOTS);
  m.tails = m.firsts + MBK_WARPS;
  m.old = (MBK_VECTOR *)(m.tails + MBK_WARPS);
  m.first_old = m.old + (adds ? MBK_THREADS : 0);
  m.first_row = (mbk_u32 *)(m.first_old + (adds ? MBK_WARPS : 0));
  m.crossing = m.first_row + MBK_WARPS;
  return m;
}

// Returns the old y of a row of the chunk.
MBK_DEVICE MBK_VECTOR mbk_merge_old(const mbk_merge_memory &m, const MBK_VECTOR *y,
                                    mbk_u32 row) {
  return row < MBK_THREADS ? m.old[row] : y[row];
}

// Commits row number `row` of the chunk. `y` points to the chunk's first row.
template <bool adds>
MBK_DEVICE void mbk_merge_commit(const mbk_merge_memory &m, MBK_VECTOR *y, mbk_u32 row,
                                 MBK_COMPUTE sum, MBK_SCALAR alpha, MBK_SCALAR beta) {
  const MBK_COMPUTE final = MBK_ADD(MBK_ZERO, sum);
  const MBK_VECTOR old = adds ? mbk_merge_old(m, y, row) : (MBK_VECTOR)0;
  y[row] = MBK_RESULT(final, old);
}

// Marks the end of a row that begins at offset `start` and ends before `end`. Writes the row at
// once if it is empty. `base`: the nonzero of the first slot.
template <bool adds>
MBK_DEVICE void mbk_merge_mark(const mbk_merge_memory &m, MBK_VECTOR *y, mbk_u32 row,
                               MBK_ROW_PTR start, MBK_ROW_PTR end, mbk_u64 base,
                               MBK_SCALAR alpha, MBK_SCALAR beta) {
  if (start < end) {
    m.marks[(mbk_u64)(end - MBK_BASE) - 1 - base] = (mbk_u16)row;
    if (adds && row < MBK_THREADS) {
      m.old[row] = y[row];
    } else if (adds) {
      mbk_prefetch(y + row);
    }
  } else {
    const MBK_COMPUTE nothing = MBK_ZERO;
    y[row] = MBK_RESULT(nothing, y[row]);
  }
}

// Adds up a warp's part of the chunk as mbk_scan_commit does, and clears its marks. The sum of
// the first row that ends there, and the carry-out, go to shared memory.
template <bool adds>
MBK_DEVICE void mbk_merge_scan(const mbk_merge_memory &m,
                               const MBK_COMPUTE (&product)[MBK_GROUPS][MBK_PACK],
                               MBK_VECTOR *y, MBK_SCALAR alpha, MBK_SCALAR beta) {
  const mbk_u32 lane = mbk_lane(), warp = mbk_thread() / 32;
  mbk_u16 *const marks = m.marks + warp * MBK_TILE_NONZEROS + MBK_PACK * lane;
  mbk_pack<mbk_u16, MBK_PACK> none;
  MBK_COMPUTE carry = MBK_ZERO; // each lane's part of the open row
  bool spread = false;          // lanes other than 31 hold a part
  bool seen = false;            // a row has ended
#pragma unroll
  for (int j = 0; j < MBK_PACK; j++) {
    none.at[j] = MBK_NO_ROW;
  }
#pragma unroll
  for (int g = 0; g < MBK_GROUPS; g++) {
    const mbk_pack<mbk_u16, MBK_PACK> mark =
        *(const mbk_pack<mbk_u16, MBK_PACK> *)(marks + 32 * MBK_PACK * g);
    mbk_store_pack(marks + 32 * MBK_PACK * g, none);
    mbk_u32 first = MBK_NO_ROW;
#pragma unroll
    for (int j = MBK_PACK - 1; j >= 0; j--) {
      first = mark.at[j] != MBK_NO_ROW ? mark.at[j] : first;
    }
    const mbk_u32 closed = mbk_ballot(MBK_ALL, first != MBK_NO_ROW);
    if (closed == 0) {
#pragma unroll
      for (int j = 0; j < MBK_PACK; j++) {
        carry = MBK_ADD(carry, product[g][j]);
      }
      spread = true;
      continue;
    }
    const MBK_COMPUTE open =
        spread ? mbk_scan_reduce(carry) : mbk_shuffle(MBK_ALL, carry, 31, 32);
    MBK_COMPUTE sum = lane == 0 ? open : MBK_ZERO, head = MBK_ZERO;
#pragma unroll
    for (int j = 0; j < MBK_PACK; j++) {
      sum = MBK_ADD(sum, product[g][j]);
      if (mark.at[j] != MBK_NO_ROW) {
        if (mark.at[j] == first) {
          head = sum; // earlier lanes may hold a part of this row
        } else {
          mbk_merge_commit<adds>(m, y, mark.at[j], sum, alpha, beta);
        }
        sum = MBK_ZERO;
      }
    }
    // Add up, for each lane, the open row's parts since the last lane with a row end, in as
    // many steps as the longest distance between two such lanes needs.
    const mbk_u32 until = closed & (0xffffffffu >> (31 - lane));
    const int distance = (int)lane - (until != 0 ? 31 - mbk_leading_zeros(until) : 0);
    mbk_u32 distant = ~(closed | 1u); // lanes d or more after one with a row end
    for (int d = 1; distant != 0; distant &= distant << d, d <<= 1) {
      const MBK_COMPUTE other = mbk_shuffle_up(MBK_ALL, sum, d, 32);
      if (distance >= d) {
        sum = MBK_ADD(other, sum);
      }
    }
    const MBK_COMPUTE earlier = mbk_shuffle_up(MBK_ALL, sum, 1, 32);
    if (first != MBK_NO_ROW) {
      head = lane > 0 ? MBK_ADD(earlier, head) : head;
      if (!seen && (closed & ((1u << lane) - 1)) == 0) {
        m.firsts[warp] = head;
        m.first_row[warp] = first;
        if (adds) {
          m.first_old[warp] = mbk_merge_old(m, y, first);
        }
      } else {
        mbk_merge_commit<adds>(m, y, first, head, alpha, beta);
      }
    }
    seen = true;
    spread = false;
    carry = lane == 31 ? sum : MBK_ZERO;
  }
  if (spread) {
    carry = mbk_scan_reduce(carry);
  }
  if (lane == 31) {
    m.tails[warp] = carry;
    if (!seen) {
      m.first_row[warp] = MBK_NO_ROW;
    }
  }
}

// Writes the warps' first rows, completed with the tails of earlier warps, and writes the
// chunk's carry-out to *tail. A first row that began in an earlier chunk goes to *first. Call
// it after a barrier.
template <bool adds>
MBK_DEVICE void mbk_merge_join(const mbk_merge_memory &m, bool crossing, MBK_VECTOR *y,
                               MBK_COMPUTE *first, MBK_COMPUTE *tail, MBK_SCALAR alpha,
                               MBK_SCALAR beta) {
  const mbk_u32 lane = mbk_lane(), warp = mbk_thread() / 32, row = m.first_row[warp];
  const MBK_COMPUTE part = lane < MBK_WARPS ? m.tails[lane] : MBK_ZERO;
  const mbk_u32 closers =
      mbk_ballot(MBK_ALL, lane < MBK_WARPS && m.first_row[lane] != MBK_NO_ROW);
  if (row != MBK_NO_ROW) {
    const mbk_u32 before = closers & ((1u << warp) - 1);
    const mbk_u32 from = before != 0 ? 31 - (mbk_u32)mbk_leading_zeros(before) : 0;
    const MBK_COMPUTE sum = mbk_scan_reduce(lane >= from && lane < warp ? part : MBK_ZERO);
    if (lane == 0 && crossing && row == 0) {
      *first = MBK_ADD(sum, m.firsts[warp]);
    } else if (lane == 0) {
      const MBK_COMPUTE final = MBK_ADD(MBK_ZERO, MBK_ADD(sum, m.firsts[warp]));
      y[row] = MBK_RESULT(final, (adds ? m.first_old[warp] : (MBK_VECTOR)0));
    }
  }
  if (warp == 0) {
    const mbk_u32 last = closers != 0 ? 31 - (mbk_u32)mbk_leading_zeros(closers) : 0;
    const MBK_COMPUTE sum = mbk_scan_reduce(lane >= last ? part : MBK_ZERO);
    if (lane == 0) {
      *tail = sum;
    }
  }
}
