// The three-kernel merge path as Marconi writes it (Optimization for SpMV, report, Trento 2025,
// section IV and Algorithm 3), for comparison. Threads walk the CSR in global memory, and add
// to y with atomics, so y is scaled beforehand and products do not repeat bit for bit.
// spmv/study/split_study.cu has the same path with products in shared memory and sums in a
// fixed order.
#include "jit/device.cuh"
#include "spmv/shared/algebra.cuh"
#ifndef MBK_STEPS
#error "define MBK_STEPS: steps of the merge path per thread"
#endif
#ifndef MBK_THREADS
#error "define MBK_THREADS: threads per block, a multiple of 32"
#endif

MBK_DEVICE mbk_u64 mbk_walk_offset(const MBK_ROW_PTR *row_ptr, mbk_u64 row) {
  return (mbk_u64)(mbk_load(row_ptr + row) - MBK_BASE);
}

// Returns the step at which a walk begins. The last walk ends with the path.
MBK_DEVICE mbk_u64 mbk_walk_diagonal(mbk_u64 walk, mbk_u64 rows, mbk_u64 nnz) {
  return walk * MBK_STEPS < rows + nnz ? walk * MBK_STEPS : rows + nnz;
}

#include "spmv/study/walk_study_arguments.cuh"

// Writes start_row, the row in which each walk begins, and y = beta y. Launch: a thread for
// each row, and for each walk and one more.
MBK_KERNEL MBK_BOUNDS(MBK_THREADS) mbk_walk_cut(MBK_GRID_CONSTANT mbk_walk_cut_arguments a) {
  MBK_SCALARS_OF(a);
  MBK_SCALARS_LOAD;
  const mbk_u64 at = (mbk_u64)mbk_block() * MBK_THREADS + mbk_thread();
  (void)alpha;
  if (at < a.rows) {
    a.y[at] = beta == (MBK_COMPUTE)0 ? (MBK_VECTOR)0 : (MBK_VECTOR)MBK_MUL(beta, a.y[at]);
  }
  if (at <= a.walks) {
    const mbk_u64 diagonal = mbk_walk_diagonal(at, a.rows, a.nnz);
    mbk_u64 low = diagonal > a.nnz ? diagonal - a.nnz : 0;
    mbk_u64 high = diagonal < a.rows ? diagonal : a.rows;
    while (low < high) {
      const mbk_u64 middle = low + (high - low) / 2;
      if (mbk_walk_offset(a.row_ptr, middle + 1) + middle < diagonal) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    a.start_row[at] = low;
  }
}

MBK_DEVICE MBK_COMPUTE mbk_walk_sum(const mbk_walk_product_arguments &a, mbk_u64 from,
                                    mbk_u64 to) {
  MBK_COMPUTE sum = MBK_ZERO;
  for (mbk_u64 k = from; k < to; k++) {
    const MBK_VECTOR factor = mbk_load_after_wait(a.x + (mbk_load(a.col_ind + k) - MBK_BASE));
#if MBK_PATTERN
    sum = MBK_ADD(sum, MBK_UNIT(a.values, factor));
#else
    sum = MBK_ADD(sum, MBK_MUL(mbk_load(a.values + k), factor));
#endif
  }
  return sum;
}

// Computes y += alpha A x, except for the row in which each walk begins, whose part goes to
// parts. No other walk writes the rows that lie entirely in a walk. The row in which a walk
// ends is updated with an atomic. Launch: a thread per walk.
MBK_KERNEL MBK_BOUNDS(MBK_THREADS)
    mbk_walk_product(MBK_GRID_CONSTANT mbk_walk_product_arguments a) {
  MBK_VECTOR *const y = a.y;
  MBK_SCALARS_OF(a);
  MBK_SCALARS_LOAD;
  const mbk_u64 walk = (mbk_u64)mbk_block() * MBK_THREADS + mbk_thread();
  (void)beta;
  if (walk >= a.walks || MBK_VANISHES(alpha)) {
    return;
  }
  const mbk_u64 first = mbk_load_after_wait(a.start_row + walk);
  const mbk_u64 last = mbk_load_after_wait(a.start_row + walk + 1);
  const mbk_u64 from = mbk_walk_diagonal(walk, a.rows, a.nnz) - first;
  const mbk_u64 to = mbk_walk_diagonal(walk + 1, a.rows, a.nnz) - last;
  if (first == last) {
    a.parts[walk] = mbk_walk_sum(a, from, to);
    return;
  }
  mbk_u64 at = mbk_walk_offset(a.row_ptr, first + 1);
  a.parts[walk] = mbk_walk_sum(a, from, at);
  for (mbk_u64 row = first + 1; row < last; row++) {
    const mbk_u64 end = mbk_walk_offset(a.row_ptr, row + 1);
    y[row] = (MBK_VECTOR)MBK_ADD(MBK_MUL(alpha, mbk_walk_sum(a, at, end)), y[row]);
    at = end;
  }
  if (at < to) {
    mbk_atomic_add(y + last, (MBK_VECTOR)MBK_MUL(alpha, mbk_walk_sum(a, at, to)));
  }
}

// Adds the parts of the rows in which walks begin. Launch: a thread per walk.
MBK_KERNEL MBK_BOUNDS(MBK_THREADS) mbk_walk_join(MBK_GRID_CONSTANT mbk_walk_join_arguments a) {
  MBK_SCALARS_OF(a);
  MBK_SCALARS_LOAD;
  const mbk_u64 walk = (mbk_u64)mbk_block() * MBK_THREADS + mbk_thread();
  (void)beta;
  if (walk < a.walks && !MBK_VANISHES(alpha)) {
    // The row exists: every walk has a step, and no step comes after the last row's end.
    mbk_atomic_add(a.y + mbk_load(a.start_row + walk),
                   (MBK_VECTOR)MBK_MUL(alpha, mbk_load(a.parts + walk)));
  }
}
