// The dense inverse of the coarsest matrix of multigrid, as in solve/amg/coarsest.c: Gauss-Jordan
// elimination with pivots on the diagonal, by one thread block. solve/amg/setup.cu includes this
// file.
#ifndef MBK_AMG_EACH
#error "include solve/amg/coarsest.cuh from solve/amg/setup.cu"
#endif

#define MBK_COARSEST_THREADS 512
#define MBK_COARSEST_PIVOTS 8 // pivots whose changes are collected
#define MBK_COARSEST_ROWS 4   // rows of the matrix that a warp changes at a time

// Represents the matrix m - u v. If it is symmetric, entries left of the diagonal are not read.
struct mbk_coarsest {
  double *m;           // n x n, row by row, in GPU memory
  double *u, *v;       // in shared memory: the columns of u, the rows of v, each of n elements
  double *now, *ratio; // n: the diagonal of m - u v; its magnitude relative to the original
                       // one's, or -1 if the row has been a pivot
  mbk_u32 n;
  bool symmetric;
};

// Writes the coarsest matrix to e.m, its diagonal to e.now, and the dense structure to row_ptr
// and col_ind of the inverse.
MBK_DEVICE void mbk_coarsest_fill(const mbk_amg_invert_arguments &a, const mbk_coarsest &e) {
  for (mbk_u32 k = mbk_thread(); k < e.n * e.n; k += MBK_COARSEST_THREADS) {
    e.m[k] = 0;
    a.inverse_col[k] = (mbk_i32)(k % e.n);
  }
  for (mbk_u32 i = mbk_thread(); i <= e.n; i += MBK_COARSEST_THREADS) {
    a.inverse_ptr[i] = (mbk_i32)(i * e.n);
  }
  mbk_block_sync();
  for (mbk_u32 i = mbk_thread() / 32; i < e.n; i += MBK_COARSEST_THREADS / 32) {
    const mbk_u32 end = (mbk_u32)mbk_load(a.row_ptr + i + 1);
    for (mbk_u32 k = (mbk_u32)mbk_load(a.row_ptr + i) + mbk_lane(); k < end; k += 32) {
      e.m[i * e.n + (mbk_u32)mbk_load(a.col_ind + k)] = mbk_load(a.values + k);
    }
  }
  mbk_block_sync();
  for (mbk_u32 i = mbk_thread(); i < e.n; i += MBK_COARSEST_THREADS) {
    e.now[i] = e.m[i * e.n + i];
  }
  mbk_block_sync();
}

// Returns, in every thread, whether the matrix is symmetric up to the relative tolerance
// `least`. Overwrites e.ratio and *apart.
MBK_DEVICE bool mbk_coarsest_symmetric(const mbk_coarsest &e, double least, mbk_u32 *apart) {
  if (mbk_thread() == 0) {
    *apart = 0;
  }
  for (mbk_u32 i = mbk_thread(); i < e.n; i += MBK_COARSEST_THREADS) {
    e.ratio[i] = mbk_amg_root(e.now[i]);
  }
  mbk_block_sync();
  for (mbk_u32 i = mbk_thread() / 32; i < e.n; i += MBK_COARSEST_THREADS / 32) {
    for (mbk_u32 j = mbk_lane(); j < i; j += 32) {
      const double difference = e.m[i * e.n + j] - e.m[j * e.n + i];
      if (!((difference < 0 ? -difference : difference) <= least * e.ratio[i] * e.ratio[j])) {
        mbk_atomic_or(apart, 1u);
      }
    }
  }
  mbk_block_sync();
  return *apart == 0;
}

// Returns the row of the largest ratio, or n if none exceeds `least`, in every thread.
MBK_DEVICE mbk_u32 mbk_coarsest_pivot(const mbk_coarsest &e, double least) {
  mbk_u32 pivot = e.n;
  for (mbk_u32 i = mbk_lane(); i < e.n; i += 32) {
    if (e.ratio[i] > least) {
      least = e.ratio[i];
      pivot = i;
    }
  }
  for (int d = 16; d > 0; d /= 2) {
    const double other = mbk_shuffle_xor(0xffffffffu, least, d, 32);
    const mbk_u32 row = mbk_shuffle_xor(0xffffffffu, pivot, d, 32);
    if (other > least || (other == least && row < pivot)) {
      least = other;
      pivot = row;
    }
  }
  return pivot;
}

// Eliminates with pivot p, a thread for each row i of the matrix: clears row and column p of m;
// the change of the matrix, which also replaces that row and column, becomes column `at` of u
// times row `at` of v. `first` is the original diagonal entry's magnitude, or 1 if that is 0.
MBK_DEVICE void mbk_coarsest_eliminate(const mbk_coarsest &e, mbk_u32 p, mbk_u32 at,
                                       double first) {
  const mbk_u32 n = e.n, i = mbk_thread();
  const double inverse = 1 / e.now[p];
  double column = 0, row = 0;
  if (i < n) {
    column = e.m[i * n + p];
    row = e.m[p * n + i];
    if (e.symmetric) {
      const bool done = e.ratio[i] < 0;
      column = i > p ? (done ? -row : row) : column;
      row = i < p ? (done ? -column : column) : row;
    }
    for (mbk_u32 s = 0; s < at; s++) {
      column -= e.u[s * n + i] * e.v[s * n + p];
      row -= e.u[s * n + p] * e.v[s * n + i];
    }
  }
  mbk_block_sync();
  if (i < n) {
    const double now = e.now[i] - column * inverse * row;
    e.m[i * n + p] = e.m[p * n + i] = 0;
    e.u[at * n + i] = i == p ? -inverse : column * inverse;
    e.v[at * n + i] = i == p ? 1 : row;
    for (mbk_u32 s = 0; s < at && i == p; s++) {
      e.u[s * n + p] = e.v[s * n + p] = 0;
    }
    e.now[i] = now;
    e.ratio[i] = i == p || e.ratio[i] < 0 ? -1 : (now < 0 ? -now : now) / first;
  }
  mbk_block_sync();
}

// Subtracts u v from m.
MBK_DEVICE void mbk_coarsest_subtract(const mbk_coarsest &e) {
  const mbk_u32 n = e.n, step = MBK_COARSEST_THREADS / 32 * MBK_COARSEST_ROWS;
  for (mbk_u32 top = mbk_thread() / 32 * MBK_COARSEST_ROWS; top < n; top += step) {
    double u[MBK_COARSEST_ROWS][MBK_COARSEST_PIVOTS];
#pragma unroll
    for (mbk_u32 r = 0; r < MBK_COARSEST_ROWS; r++) {
#pragma unroll
      for (mbk_u32 s = 0; s < MBK_COARSEST_PIVOTS; s++) {
        u[r][s] = top + r < n ? e.u[s * n + top + r] : 0;
      }
    }
    for (mbk_u32 j = (e.symmetric ? top : 0) + mbk_lane(); j < n; j += 32) {
      double x[MBK_COARSEST_ROWS];
#pragma unroll
      for (mbk_u32 r = 0; r < MBK_COARSEST_ROWS; r++) {
        x[r] = top + r < n ? e.m[(top + r) * n + j] : 0;
      }
#pragma unroll
      for (mbk_u32 s = 0; s < MBK_COARSEST_PIVOTS; s++) {
        const double v = e.v[s * n + j];
#pragma unroll
        for (mbk_u32 r = 0; r < MBK_COARSEST_ROWS; r++) {
          x[r] -= u[r][s] * v;
        }
      }
#pragma unroll
      for (mbk_u32 r = 0; r < MBK_COARSEST_ROWS; r++) {
        if (top + r < n) {
          e.m[(top + r) * n + j] = x[r];
        }
      }
    }
  }
}

// Writes the inverse of the coarsest matrix as a CSR with all entries. Rows and columns that
// depend on others, one for each null vector, become zero; the result is then a generalised
// inverse. Pivots of at most `least` times the original diagonal entry count as zero. Launch:
// one block of MBK_COARSEST_THREADS threads, which are at least as many as rows. Shared:
// double[(2 * MBK_COARSEST_PIVOTS + 2) * rows], mbk_u32.
MBK_KERNEL MBK_BOUNDS(MBK_COARSEST_THREADS)
    mbk_amg_invert(MBK_GRID_CONSTANT mbk_amg_invert_arguments a) {
  MBK_SHARED_MEMORY(shared);
  const mbk_u32 n = a.rows, i = mbk_thread(), parts = MBK_COARSEST_PIVOTS * n;
  double *const u = (double *)shared;
  mbk_coarsest e = {a.inverse, u, u + parts, u + 2 * parts, u + 2 * parts + n, n, false};
  double first = 1;
  mbk_coarsest_fill(a, e);
  e.symmetric = mbk_coarsest_symmetric(e, a.least, (mbk_u32 *)(e.ratio + n));
  mbk_block_sync();
  if (i < n) {
    const double size = e.now[i] < 0 ? -e.now[i] : e.now[i];
    first = size != 0 ? size : 1;
    e.ratio[i] = size / first;
  }
  for (mbk_u32 at = MBK_COARSEST_PIVOTS; at == MBK_COARSEST_PIVOTS;) {
    for (mbk_u32 k = i; k < 2 * parts; k += MBK_COARSEST_THREADS) {
      u[k] = 0; // and v
    }
    mbk_block_sync();
    for (at = 0; at < MBK_COARSEST_PIVOTS; at++) {
      const mbk_u32 pivot = mbk_coarsest_pivot(e, a.least);
      if (pivot == n) {
        break;
      }
      mbk_coarsest_eliminate(e, pivot, at, first);
    }
    mbk_coarsest_subtract(e);
    mbk_block_sync();
  }
  for (mbk_u32 k = i; k < n * n; k += MBK_COARSEST_THREADS) {
    const mbk_u32 row = k / n, column = k - row * n;
    if (!e.symmetric || row <= column) {
      const double value = e.ratio[row] < 0 && e.ratio[column] < 0 ? e.m[k] : 0;
      e.m[k] = value;
      if (e.symmetric && row < column) {
        e.m[column * n + row] = value;
      }
    }
  }
}
