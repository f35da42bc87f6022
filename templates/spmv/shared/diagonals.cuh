// Enumerates the diagonals of 64 consecutive rows. A diagonal consists of all nonzeros with the
// same difference of column and row, at most one per row. A warp finds them in turn; lane i
// takes the rows i and i + 32. Rows need not be sorted: the nonzeros of each row are taken in
// their order.
#define MBK_SLICE 64
#define MBK_NO_DIAGONAL 0x7fffffff

// A lane's position in a row.
typedef struct mbk_row_walk {
  mbk_u64 at, end; // the next nonzero, and the end of the row
  mbk_u64 row;
  mbk_i32 offset; // column - row of the next nonzero; MBK_NO_DIAGONAL at the end
} mbk_row_walk;

// Sets the offset of the next nonzero.
MBK_DEVICE void mbk_row_look(mbk_row_walk &walk, const mbk_i32 *col_ind) {
  walk.offset =
      walk.at < walk.end
          ? (mbk_i32)((mbk_i64)(mbk_load(col_ind + walk.at) - MBK_BASE) - (mbk_i64)walk.row)
          : MBK_NO_DIAGONAL;
}

MBK_DEVICE mbk_row_walk mbk_row_begin(const MBK_ROW_PTR *row_ptr, const mbk_i32 *col_ind,
                                      mbk_u64 row, mbk_u64 rows) {
  mbk_row_walk walk = {0, 0, row, 0};
  if (row < rows) {
    walk.at = (mbk_u64)(mbk_load(row_ptr + row) - MBK_BASE);
    walk.end = (mbk_u64)(mbk_load(row_ptr + row + 1) - MBK_BASE);
  }
  mbk_row_look(walk, col_ind);
  return walk;
}

// Returns the least offset among the next nonzeros of all lanes, or MBK_NO_DIAGONAL if none are
// left.
MBK_DEVICE mbk_i32 mbk_next_diagonal(const mbk_row_walk &low, const mbk_row_walk &high) {
  mbk_i32 least = low.offset < high.offset ? low.offset : high.offset;
  for (int d = 16; d > 0; d >>= 1) {
    const mbk_i32 other = mbk_shuffle_xor(0xffffffffu, least, d, 32);
    least = other < least ? other : least;
  }
  return least;
}

// Advances to the next nonzero of a row if the current one lies on the diagonal.
MBK_DEVICE void mbk_row_pass(mbk_row_walk &walk, const mbk_i32 *col_ind, mbk_i32 diagonal) {
  if (walk.offset == diagonal) {
    walk.at++;
    mbk_row_look(walk, col_ind);
  }
}
