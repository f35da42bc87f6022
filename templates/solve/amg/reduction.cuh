// Levels of multigrid by reduction: the steps of solve/amg/splitting.c, reduction.c and
// relaxation.c. `links` holds the columns on which each row depends, and the complements of the
// others. solve/amg/setup.cu includes this file and defines the loops that it uses.
#ifndef MBK_AMG_EACH
#error "include solve/amg/reduction.cuh from solve/amg/setup.cu"
#endif

#define MBK_REDUCTION_NEAR 12  // MBI_REDUCTION_NEAR
#define MBK_REDUCTION_LANES 16 // threads for a row of R, more than MBK_REDUCTION_NEAR
#define MBK_REDUCTION_F (~0u)  // blocked[row] of an F point
// See MBI_REDUCTION_EQUAL, MBI_REDUCTION_NOISE and MBI_REDUCTION_SINGULAR.
#define MBK_REDUCTION_EQUAL (1 - 1e-6)
#define MBK_REDUCTION_NOISE 1e-10
#define MBK_REDUCTION_SINGULAR 1e-12

// ---- Splitting ----------------------------------------------------------------------------

// Returns MBI_REDUCTION_NOISE times a diagonal entry with this inverse.
MBK_DEVICE double mbk_reduction_noise(double inverse) {
  return inverse == 0 ? 0 : MBK_REDUCTION_NOISE / (inverse < 0 ? -inverse : inverse);
}

// Writes links[k], the column of entry k of A if the row depends on it, else its complement.
// Adds to influences[column] the number of rows that depend on a column. `inverse` has the
// inverse diagonal.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_depend(MBK_GRID_CONSTANT mbk_amg_splitting_arguments a) {
  MBK_AMG_ROWS(at, a.lanes, a.rows) {
    double own = 0, sign = -1, noise = 0;
    if (at.row < a.rows) {
      const double inverse = mbk_load(a.inverse + at.row);
      const double own_noise = mbk_reduction_noise(inverse);
      const double most_noise = MBK_REDUCTION_NOISE * mbk_load(a.most + at.row);
      sign = inverse < 0 ? 1 : -1;
      noise = most_noise > own_noise ? most_noise : own_noise;
      MBK_AMG_ENTRIES(k, a.row_ptr, at) {
        const double value = sign * mbk_load(a.values + k);
        own = value > own && (mbk_u64)mbk_load(a.col_ind + k) != at.row ? value : own;
      }
    }
    const double least = a.theta * mbk_amg_most(own, a.lanes);
    if (at.row < a.rows) {
      MBK_AMG_ENTRIES(k, a.row_ptr, at) {
        const double value = sign * mbk_load(a.values + k);
        const mbk_i32 column = mbk_load(a.col_ind + k);
        const bool strong = value > noise && value >= least && (mbk_u64)column != at.row;
        a.links[k] = strong ? column : ~column;
        if (strong) {
          mbk_atomic_add(a.influences + column, 1u);
        }
      }
    }
  }
}

// Sets the weight of each row. Makes rows on which none depends F points. Sets most[row]
// to the diagonal entry if the others are rounding.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_weigh(MBK_GRID_CONSTANT mbk_amg_splitting_arguments a) {
  MBK_AMG_EACH(i, a.rows) {
    const mbk_u32 count = a.influences[i];
    a.weight[i] = count + (double)(mbk_amg_hash(i) >> 11) * (1.0 / 9007199254740992.0);
    a.blocked[i] = count == 0 ? MBK_REDUCTION_F : 0;
    a.counts[i] = 0;
    const double noise = mbk_reduction_noise(mbk_load(a.inverse + i));
    if (a.most[i] <= noise) {
      a.most[i] = noise / MBK_REDUCTION_NOISE;
    }
  }
}

// Sets blocked[row] to the round, from 1 on, if an undecided neighbour has a larger weight. At
// the beginning of a round it is round - 1 for an undecided row, less for a C point. Adds the
// number of undecided rows to *open.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_block(MBK_GRID_CONSTANT mbk_amg_splitting_arguments a) {
  mbk_u32 open = 0;
  MBK_AMG_ROWS(at, a.lanes, a.rows) {
    if (at.row < a.rows && a.blocked[at.row] - (a.round - 1) <= 1) {
      open += at.lane == 0;
      const double own = mbk_load(a.weight + at.row);
      MBK_AMG_ENTRIES(k, a.row_ptr, at) {
        const mbk_i32 j = mbk_load(a.links + k);
        if (j >= 0 && a.blocked[j] - (a.round - 1) <= 1) {
          const double other = mbk_load(a.weight + j);
          const bool loses = other > own || (other == own && (mbk_u64)j > at.row);
          a.blocked[loses ? (mbk_u64)at.row : (mbk_u64)j] = a.round;
        }
      }
    }
  }
  open = mbk_amg_sum(open, 32);
  if (open > 0 && mbk_lane() == 0) {
    mbk_atomic_add(a.open, open);
  }
}

// Makes undecided rows that are not blocked C points, and those that depend on a C point, or on
// which one depends, F points.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_settle(MBK_GRID_CONSTANT mbk_amg_splitting_arguments a) {
  MBK_AMG_ROWS(at, a.lanes, a.rows) {
    const mbk_u32 own = at.row < a.rows ? a.blocked[at.row] : MBK_REDUCTION_F;
    mbk_u32 depends = 0;
    if (own == a.round) {
      MBK_AMG_ENTRIES(k, a.row_ptr, at) {
        const mbk_i32 j = mbk_load(a.links + k);
        depends |= j >= 0 && a.blocked[j] < a.round;
      }
    } else if (own == a.round - 1) { // no neighbour is a C point
      MBK_AMG_ENTRIES(k, a.row_ptr, at) {
        const mbk_i32 j = mbk_load(a.links + k);
        if (j >= 0) {
          a.blocked[j] = MBK_REDUCTION_F;
        }
      }
    }
    depends = mbk_amg_most(depends, a.lanes);
    if (at.lane == 0 && own == a.round - 1) {
      a.counts[at.row] = 1;
    } else if (at.lane == 0 && depends) {
      a.blocked[at.row] = MBK_REDUCTION_F;
    }
  }
}

// Writes `found` as mbi_reduction_attach does, and the rows of C points. `counts` is the prefix
// sum. Writes to `counts_f` and `counts_c` the lengths of the rows of the row blocks.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_attach(MBK_GRID_CONSTANT mbk_amg_splitting_arguments a) {
  MBK_AMG_ROWS(at, a.lanes, a.rows) {
    const bool coarse = at.row < a.rows && a.blocked[at.row] != MBK_REDUCTION_F;
    const bool fine = at.row < a.rows && !coarse;
    double most = 0, all = 0;
    mbk_u32 first = 0; // the complement of the index of the first entry that is the largest
    if (fine) {
      MBK_AMG_ENTRIES(k, a.row_ptr, at) {
        const double value = mbk_load(a.values + k), size = value < 0 ? -value : value;
        all = size > all ? size : all;
        most =
            size > most && a.blocked[mbk_load(a.col_ind + k)] != MBK_REDUCTION_F ? size : most;
      }
    }
    most = mbk_amg_most(most, a.lanes);
    all = mbk_amg_most(all, a.lanes);
    if (fine && most > MBK_REDUCTION_NOISE * all) {
      MBK_AMG_ENTRIES(k, a.row_ptr, at) {
        const double value = mbk_load(a.values + k), size = value < 0 ? -value : value;
        if (first == 0 && size >= MBK_REDUCTION_EQUAL * most &&
            a.blocked[mbk_load(a.col_ind + k)] != MBK_REDUCTION_F) {
          first = ~k;
        }
      }
    }
    first = mbk_amg_most(first, a.lanes);
    if (at.row < a.rows && at.lane == 0) {
      const mbk_i32 length = mbk_load(a.row_ptr + at.row + 1) - mbk_load(a.row_ptr + at.row);
      const mbk_i32 own = a.counts[at.row];
      if (coarse) {
        a.points[own] = (mbk_i32)at.row;
      }
      const mbk_i32 found = coarse       ? own
                            : first != 0 ? a.counts[mbk_load(a.col_ind + ~first)]
                                         : -1;
      const bool slight =
          fine && most < mbk_multiply(a.theta_attach, mbk_load(a.most + at.row));
      a.found[at.row] = slight ? -2 - found : found;
      a.counts_f[at.row] = coarse ? 0 : length;
      a.counts_c[at.row] = coarse ? length : 0;
    }
  }
}

// Returns the C point, or -1, that an element of `found` names.
MBK_DEVICE mbk_i32 mbk_reduction_found(const mbk_i32 *found, mbk_i32 row) {
  const mbk_i32 own = mbk_load(found + row);
  return own < 0 ? -2 - own : own;
}

// Writes each row's column in P, or -1, as mbi_reduction_follow does, and to `counts_p` the
// lengths of the rows of P.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_beside(MBK_GRID_CONSTANT mbk_amg_splitting_arguments a) {
  MBK_AMG_ROWS(at, a.lanes, a.rows) {
    const mbk_i32 own = at.row < a.rows ? mbk_load(a.found + at.row) : 0;
    double most = 0, all = 0;
    mbk_u32 first = 0; // the complement of the index of the first entry that is the largest
    if (own < 0) {
      MBK_AMG_ENTRIES(k, a.row_ptr, at) {
        const double value = mbk_load(a.values + k), size = value < 0 ? -value : value;
        const mbk_i32 column = mbk_load(a.col_ind + k);
        all = size > all ? size : all;
        if (size > most && (mbk_u64)column != at.row &&
            mbk_reduction_found(a.found, column) >= 0) {
          most = size;
        }
      }
    }
    most = mbk_amg_most(most, a.lanes);
    all = mbk_amg_most(all, a.lanes);
    if (own < 0 && most > MBK_REDUCTION_NOISE * all) {
      MBK_AMG_ENTRIES(k, a.row_ptr, at) {
        const double value = mbk_load(a.values + k), size = value < 0 ? -value : value;
        const mbk_i32 column = mbk_load(a.col_ind + k);
        if (first == 0 && size >= MBK_REDUCTION_EQUAL * most && (mbk_u64)column != at.row &&
            mbk_reduction_found(a.found, column) >= 0) {
          first = ~k;
        }
      }
    }
    first = mbk_amg_most(first, a.lanes);
    if (at.row < a.rows && at.lane == 0) {
      const mbk_i32 column = own >= 0 ? own
                             : first != 0
                                 ? mbk_reduction_found(a.found, mbk_load(a.col_ind + ~first))
                                 : -1;
      a.attached[at.row] = column;
      a.counts_p[at.row] = column >= 0;
    }
  }
}

// Writes the entries of P; `counts_p` is the prefix sum.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_point(MBK_GRID_CONSTANT mbk_amg_splitting_arguments a) {
  MBK_AMG_EACH(i, a.rows) {
    const mbk_i32 column = a.attached[i];
    if (column >= 0) {
      a.p_col[a.counts_p[i]] = column;
      a.p_val[a.counts_p[i]] = 1;
    }
  }
}

// ---- Restriction --------------------------------------------------------------------------

// Adds F points to `nearby`, which has `count`, as mbi_reduction_near does, with a group of
// lanes. Returns the new count.
MBK_DEVICE mbk_u32 mbk_reduction_near(const mbk_amg_splitting_arguments &a,
                                      const mbk_multiply_lane &me, mbk_i32 row, double theta,
                                      mbk_i32 *nearby, mbk_u32 count) {
  const double most = mbk_load(a.most + row);
  const mbk_u32 end = (mbk_u32)mbk_load(a.row_ptr + row + 1);
  for (mbk_u32 k = (mbk_u32)mbk_load(a.row_ptr + row); k < end && count < MBK_REDUCTION_NEAR;
       k += me.lanes) {
    mbk_i32 column = 0;
    bool takes = false;
    if (k + me.lane < end) {
      const double value = mbk_load(a.values + k + me.lane), size = value < 0 ? -value : value;
      column = mbk_load(a.col_ind + k + me.lane);
      const double other = mbk_load(a.most + column);
      takes = a.blocked[column] == MBK_REDUCTION_F && column != row &&
              size > MBK_REDUCTION_NOISE * most &&
              size >= mbk_multiply(theta, other < most ? other : most);
      for (mbk_u32 i = 0; i < count; i++) {
        takes = takes && nearby[i] != column;
      }
    }
    const mbk_u32 all = mbk_ballot(me.mask, takes) >> (mbk_lane() - me.lane);
    const mbk_u32 place = count + (mbk_u32)mbk_popcount(all & ((1u << me.lane) - 1));
    if (takes && place < MBK_REDUCTION_NEAR) {
      nearby[place] = column;
    }
    count += (mbk_u32)mbk_popcount(all);
    count = count < MBK_REDUCTION_NEAR ? count : MBK_REDUCTION_NEAR;
    mbk_warp_sync(me.mask);
  }
  return count;
}

// Writes the columns of each row of R, ascending, to a part of MBK_REDUCTION_NEAR + 1 elements
// of `nearby`, and their number to `near_counts`. Launch: MBK_REDUCTION_LANES threads for each
// row. Shared: mbk_i32[MBK_REDUCTION_LANES] for each row of a block.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_nearby(MBK_GRID_CONSTANT mbk_amg_splitting_arguments a) {
  MBK_SHARED_MEMORY(shared);
  const mbk_multiply_lane me(MBK_REDUCTION_LANES, 1);
  mbk_i32 *const nearby = (mbk_i32 *)shared + me.group * MBK_REDUCTION_LANES;
  const mbk_u32 groups = MBK_AMG_THREADS / MBK_REDUCTION_LANES;
  for (mbk_u64 r = (mbk_u64)mbk_block() * groups + me.group; r < a.coarse;
       r += (mbk_u64)mbk_grid() * groups) {
    const mbk_i32 point = mbk_load(a.points + r);
    const mbk_u32 first = mbk_reduction_near(a, me, point, a.theta_first, nearby, 0);
    mbk_u32 count = first;
    for (mbk_u32 i = 0; i < first && count < MBK_REDUCTION_NEAR; i++) {
      count = mbk_reduction_near(a, me, nearby[i], a.theta_second, nearby, count);
    }
    if (me.lane <= count) {
      const mbk_i32 column = me.lane < count ? nearby[me.lane] : point;
      mbk_u32 place = point < column; // number of smaller columns
      for (mbk_u32 i = 0; i < count; i++) {
        place += nearby[i] < column;
      }
      a.nearby[r * (MBK_REDUCTION_NEAR + 1) + place] = column;
    }
    if (me.lane == 0) {
      a.near_counts[r] = (mbk_i32)count + 1;
    }
    mbk_warp_sync(me.mask);
  }
}

// Copies the columns of R from `nearby` to their places; `near_counts` is the prefix sum.
// Launch: MBK_REDUCTION_LANES threads for each row.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_gather(MBK_GRID_CONSTANT mbk_amg_splitting_arguments a) {
  MBK_AMG_EACH(i, a.coarse * MBK_REDUCTION_LANES) {
    const mbk_u64 r = i / MBK_REDUCTION_LANES, e = i % MBK_REDUCTION_LANES;
    const mbk_u32 begin = (mbk_u32)mbk_load(a.near_counts + r);
    if (e < (mbk_u32)mbk_load(a.near_counts + r + 1) - begin) {
      a.r_col[begin + e] = a.nearby[r * (MBK_REDUCTION_NEAR + 1) + e];
    }
  }
}

// The system of a row of R in shared memory: m(p, q) is in row p and column q, m(p, n) the
// right-hand side. Element e of the other arrays belongs to column e of the row of R: the row
// of A, and where its entries begin and end.
struct mbk_reduction_system {
  double values[MBK_REDUCTION_NEAR * (MBK_REDUCTION_NEAR + 1)];
  mbk_i32 columns[MBK_REDUCTION_LANES];
  mbk_u32 begin[MBK_REDUCTION_LANES], end[MBK_REDUCTION_LANES];

  MBK_MEMBER double &m(mbk_u32 p, mbk_u32 q) {
    return values[p * (MBK_REDUCTION_NEAR + 1) + q];
  }
};

// Solves a system of n rows with a group of lanes, by elimination with partial pivoting.
// Returns whether it is regular.
MBK_DEVICE bool mbk_reduction_solve(mbk_reduction_system &s, mbk_u32 n, double least,
                                    const mbk_multiply_lane &me) {
  const mbk_u32 own = me.lane;
  for (mbk_u32 c = 0; c < n; c++) {
    mbk_u32 pivot = c;
    double most = 0, above = 0;
    for (mbk_u32 r = 0; r < n; r++) {
      const double value = s.m(r, c), size = value < 0 ? -value : value;
      if (r < c) {
        above = size > above ? size : above;
      } else if (size > most) {
        most = size;
        pivot = r;
      }
    }
    if (!(most >= least) || most <= MBK_REDUCTION_SINGULAR * above) {
      return false;
    }
    mbk_warp_sync(me.mask);
    if (pivot != c && own >= c && own <= n) {
      const double swap = s.m(c, own);
      s.m(c, own) = s.m(pivot, own);
      s.m(pivot, own) = swap;
    }
    mbk_warp_sync(me.mask);
    const double inverse = 1 / s.m(c, c);
    const double right = own > c && own <= n ? s.m(c, own) : 0;
    for (mbk_u32 r = c + 1; r < n && own > c && own <= n; r++) {
      const double left = s.m(r, c);
      if (left != 0) {
        s.m(r, own) -= left * inverse * right;
      }
    }
    mbk_warp_sync(me.mask);
  }
  for (mbk_u32 c = n; c-- > 0;) {
    const double z = s.m(c, n) / s.m(c, c);
    mbk_warp_sync(me.mask);
    if (own < c) {
      s.m(own, n) -= s.m(own, c) * z;
    } else if (own == c) {
      s.m(c, n) = z;
    }
    mbk_warp_sync(me.mask);
  }
  return true;
}

// Writes the values of R: a group of lanes solves the local system of each row. Launch:
// MBK_REDUCTION_LANES threads for each row. Shared: a mbk_reduction_system for each row of a
// block.
MBK_KERNEL MBK_RESIDENT(MBK_AMG_THREADS, 5)
    mbk_amg_restrict(MBK_GRID_CONSTANT mbk_amg_restrict_arguments a) {
  MBK_SHARED_MEMORY(shared);
  const mbk_multiply_lane me(MBK_REDUCTION_LANES, 1);
  mbk_reduction_system &s = ((mbk_reduction_system *)shared)[me.group];
  const mbk_u32 groups = MBK_AMG_THREADS / MBK_REDUCTION_LANES;
  for (mbk_u64 r = (mbk_u64)mbk_block() * groups + me.group; r < a.coarse;
       r += (mbk_u64)mbk_grid() * groups) {
    const mbk_u32 begin = (mbk_u32)mbk_load(a.r_ptr + r);
    const mbk_u32 count = (mbk_u32)mbk_load(a.r_ptr + r + 1) - begin, n = count - 1;
    const mbk_i32 point = mbk_load(a.points + r);
    if (me.lane < count) {
      const mbk_i32 row = mbk_load(a.r_col + begin + me.lane);
      s.columns[me.lane] = row;
      s.begin[me.lane] = (mbk_u32)mbk_load(a.row_ptr + row);
      s.end[me.lane] = (mbk_u32)mbk_load(a.row_ptr + row + 1);
    }
    for (mbk_u32 i = me.lane; i < n * (MBK_REDUCTION_NEAR + 1); i += me.lanes) {
      s.values[i] = 0;
    }
    mbk_warp_sync(me.mask);
    const mbk_u32 self = mbk_multiply_find(s.columns, count, point);
    for (mbk_u32 e = 0; e < count; e++) { // row e of R's columns gives column e of the system
      for (mbk_u32 k = s.begin[e] + me.lane; k < s.end[e]; k += me.lanes) {
        const mbk_i32 column = mbk_load(a.col_ind + k);
        const mbk_u32 at = mbk_multiply_find(s.columns, count, column);
        if (column != point && s.columns[at] == column) {
          const double value = mbk_load(a.values + k);
          s.m(at - (at > self), e == self ? n : e - (e > self)) = e == self ? -value : value;
        }
      }
    }
    mbk_warp_sync(me.mask);
    const bool regular = mbk_reduction_solve(s, n, a.least, me);
    if (me.lane < count) {
      a.r_val[begin + me.lane] = me.lane == self ? 1
                                 : regular       ? s.m(me.lane - (me.lane > self), n)
                                                 : 0;
    }
    mbk_warp_sync(me.mask);
  }
}

// ---- Relaxation ---------------------------------------------------------------------------

// Copies the rows of A to the row blocks, columns only if `columns`. Writes the weights divided
// by the diagonal to `inverse` at F points and to `inverse_c` at C points, and 0 to the other.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_relax(MBK_GRID_CONSTANT mbk_amg_restrict_arguments a) {
  MBK_AMG_ROWS(at, a.lanes, a.rows) {
    double sum = 0, diagonal = 0;
    bool coarse = false;
    if (at.row < a.rows) {
      const mbk_u32 f = (mbk_u32)mbk_load(a.f_ptr + at.row);
      const mbk_u32 c = (mbk_u32)mbk_load(a.c_ptr + at.row);
      const mbk_u32 begin = (mbk_u32)mbk_load(a.row_ptr + at.row);
      coarse = (mbk_u32)mbk_load(a.c_ptr + at.row + 1) != c;
      MBK_AMG_ENTRIES(k, a.row_ptr, at) {
        const double value = mbk_load(a.values + k);
        const mbk_i32 column = mbk_load(a.col_ind + k);
        const mbk_u32 to = (coarse ? c : f) + (k - begin);
        const bool own = (mbk_u64)column == at.row;
        (coarse ? a.c_val : a.f_val)[to] = value;
        if (a.columns) {
          (coarse ? a.c_col : a.f_col)[to] = column;
        }
        diagonal += own ? value : 0;
        sum += own ? 0 : value < 0 ? -value : value;
      }
    }
    sum = mbk_amg_sum(sum, a.lanes);
    diagonal = mbk_amg_sum(diagonal, a.lanes);
    if (at.row < a.rows && at.lane == 0) {
      const double size = diagonal < 0 ? -diagonal : diagonal, all = size + sum;
      const double weight = size <= a.least || size <= MBK_REDUCTION_NOISE * all ? 0
                            : sum > size ? 2 * (size / all) / diagonal
                                         : 1 / diagonal;
      a.inverse[at.row] = coarse ? 0 : weight;
      a.inverse_c[at.row] = coarse ? weight : 0;
    }
  }
}
