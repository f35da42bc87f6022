// The tentative prolongation of multigrid, as in solve/amg/tentative.c: a group of lanes shares
// an aggregate. solve/amg/setup.cu includes this file and defines the loops that it uses.
#ifndef MBK_AMG_EACH
#error "include solve/amg/tentative.cuh from solve/amg/setup.cu"
#endif

#define MBK_AMG_DEPENDENT 1e-8 // MBI_AMG_DEPENDENT
#define MBK_AMG_HOLDERS 128    // MBI_AMG_HOLDERS

// Calls take(node) for this lane's share of the nodes of an aggregate, which is the same in
// every call. The nodes are among the columns of the aggregate's row of R.
template <class TAKE>
MBK_DEVICE void mbk_amg_own(const mbk_amg_tentative_arguments &a, const mbk_amg_row &at,
                            const TAKE &take) {
  if (at.row < a.aggregates) {
    MBK_AMG_ENTRIES(k, a.r_ptr, at) {
      const mbk_u32 node = (mbk_u32)mbk_load(a.r_col + k);
      if ((mbk_u64)mbk_load(a.aggregate + node) == at.row) {
        take(node);
      }
    }
  }
}

// Calls take(t) for this lane's share of the rows t of T in an aggregate, which is the same in
// every call: of the `rows` rows at `held` in shared memory or, if `rows` is 0, in T itself.
template <class TAKE>
MBK_DEVICE void mbk_amg_visit(const mbk_amg_tentative_arguments &a, const mbk_amg_row &at,
                              double *held, mbk_u32 rows, const TAKE &take) {
  if (rows > 0) {
    for (mbk_u32 i = at.lane; i < rows; i += at.lanes) {
      take(held + i * a.vectors);
    }
  } else {
    mbk_amg_own(a, at, [&](mbk_u32 node) {
      for (mbk_u32 r = 0; r < a.block; r++) {
        take(a.t + ((mbk_u64)node * a.block + r) * a.vectors);
      }
    });
  }
}

// Writes T and `coarse`, the near-null-space of the next level, as mbi_tentative_rows does.
// Element v of row i of this level's is modes[i * next_row + v * next_vector]; without modes,
// it is 1 if row i is unknown v of its node, else 0. Launch: any grid of MBK_AMG_HOLDERS
// threads. Shared: double[room] for each group of lanes, for the rows of an aggregate if they
// fit.
MBK_KERNEL MBK_RESIDENT(MBK_AMG_HOLDERS, 4)
    mbk_amg_tentative(MBK_GRID_CONSTANT mbk_amg_tentative_arguments a) {
  MBK_SHARED_MEMORY(shared);
  const mbk_u32 vectors = a.vectors;
  double *const held = (double *)shared + mbk_thread() / a.lanes * a.room;
  for (mbk_amg_row at(a.lanes, MBK_AMG_HOLDERS); at.first < a.aggregates; at.next()) {
    double *const coarse = a.coarse + at.row * vectors * vectors;
    const bool writes = at.row < a.aggregates && at.lane == 0;
    mbk_u32 own = 0, place = 0; // rows of this lane; rows of the lanes up to it
    mbk_amg_own(a, at, [&](mbk_u32) { own += a.block; });
    place = own;
    for (mbk_u32 d = 1; d < a.lanes; d *= 2) {
      const mbk_u32 before = mbk_shuffle_up(0xffffffffu, place, (int)d, (int)a.lanes);
      place += at.lane >= d ? before : 0;
    }
    mbk_u32 rows = mbk_shuffle(0xffffffffu, place, (int)a.lanes - 1, (int)a.lanes);
    rows = rows <= a.room / vectors ? rows : 0;
    double *const mine = held + (place - own) * vectors, *to = mine;
    mbk_amg_own(a, at, [&](mbk_u32 node) {
      for (mbk_u64 i = (mbk_u64)node * a.block; i < (mbk_u64)(node + 1) * a.block; i++) {
        double *const t = rows > 0 ? to : a.t + i * vectors;
        for (mbk_u32 v = 0; v < vectors; v++) {
          t[v] = a.modes != nullptr ? mbk_load(a.modes + i * a.next_row + v * a.next_vector)
                                    : (double)(i % a.block == v);
        }
        to += vectors;
      }
    });
    mbk_warp_sync(0xffffffffu);
    for (mbk_u32 x = 0; x < vectors; x++) {
      double square = 0, next = 0; // next: product of column x and the column it meets next
      mbk_amg_visit(a, at, held, rows, [&](double *t) {
        square += t[x] * t[x];
        next += t[x] * t[0];
      });
      const double before = sqrt(mbk_amg_sum(square, a.lanes));
      for (mbk_u32 turn = 0; turn < 2 * x; turn++) { // the other columns, twice
        const mbk_u32 y = turn % x, z = turn + 1 < 2 * x ? (turn + 1) % x : x;
        const double dot = mbk_amg_sum(next, a.lanes);
        next = 0;
        mbk_amg_visit(a, at, held, rows, [&](double *t) {
          t[x] -= dot * t[y];
          next += t[x] * t[z];
        });
        if (writes) {
          coarse[y * vectors + x] = (turn < x ? 0 : coarse[y * vectors + x]) + dot;
          coarse[x * vectors + y] = 0;
        }
      }
      double norm = sqrt(mbk_amg_sum(next, a.lanes));
      norm = norm > MBK_AMG_DEPENDENT * before ? norm : 0;
      mbk_amg_visit(a, at, held, rows, [&](double *t) { t[x] *= norm > 0 ? 1 / norm : 0; });
      if (writes) {
        coarse[x * vectors + x] = norm;
      }
    }
    mbk_warp_sync(0xffffffffu);
    to = mine;
    if (rows > 0) {
      mbk_amg_own(a, at, [&](mbk_u32 node) {
        for (mbk_u32 e = 0; e < a.block * vectors; e++) {
          a.t[(mbk_u64)node * a.block * vectors + e] = *to++;
        }
      });
    }
    mbk_warp_sync(0xffffffffu);
  }
}
