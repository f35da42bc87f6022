// Aggregation for multigrid, in the rounds of solve/amg/aggregate.c. `links` holds the column
// indices of each node's strong neighbours, and the complements of the others.
// solve/amg/setup.cu includes this file and defines the loops that it uses.
#ifndef MBK_AMG_EACH
#error "include solve/amg/aggregate.cuh from solve/amg/setup.cu"
#endif

#define MBK_AMG_NEIGHBOURS 64 // MBI_AMG_NEIGHBOURS
#define MBK_AMG_HOPS 64       // MBI_AMG_HOPS
#define MBK_AMG_ROOT_KEY (~(mbk_u64)0)

// Returns the key of a node in a round: the largest number for a root, mbi_aggregate_key of
// solve/amg/aggregate.c for an undecided node, 0 for any other.
MBK_DEVICE mbk_u64 mbk_amg_key(mbk_u32 round, mbk_i32 node, mbk_u8 state) {
  return state == MBK_AMG_ROOT ? MBK_AMG_ROOT_KEY
         : state == MBK_AMG_OPEN
             ? (mbk_u64)1 << 62 |
                   (mbk_amg_hash((mbk_u64)round << 32 | (mbk_u64)node) >> 34) << 31 |
                   (mbk_u64)node
             : 0;
}

// Writes to around[node] the largest key within distance 1. After the `first` round, nodes that
// had a root there, or nothing undecided, keep their number.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_near_keys(MBK_GRID_CONSTANT mbk_amg_aggregate_arguments a) {
  MBK_AMG_ROWS(at, a.lanes, a.rows) {
    bool asks = at.row < a.rows;
    mbk_u64 most = 0;
    if (asks && !a.first) {
      const mbk_u64 around = a.around[at.row];
      asks = around != 0 && around != MBK_AMG_ROOT_KEY;
    }
    if (asks) {
      most = mbk_amg_key(a.round, (mbk_i32)at.row, a.state[at.row]);
      MBK_AMG_ENTRIES(k, a.row_ptr, at) {
        const mbk_i32 j = mbk_load(a.links + k);
        const mbk_u64 key = j >= 0 ? mbk_amg_key(a.round, j, a.state[j]) : 0;
        most = key > most ? key : most;
      }
    }
    most = mbk_amg_most(most, a.lanes);
    if (asks && at.lane == 0) {
      a.around[at.row] = most;
    }
  }
}

// Makes an undecided node a root if its key is the largest within distance 2, and rules it out
// if there already is a root within that distance. Adds the number of others to *open.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_decide(MBK_GRID_CONSTANT mbk_amg_aggregate_arguments a) {
  mbk_u32 open = 0;
  MBK_AMG_ROWS(at, a.lanes, a.rows) {
    const bool asks = at.row < a.rows && a.state[at.row] == MBK_AMG_OPEN;
    mbk_u64 most = 0;
    if (asks) {
      most = a.around[at.row];
      MBK_AMG_ENTRIES(k, a.row_ptr, at) {
        const mbk_i32 j = mbk_load(a.links + k);
        const mbk_u64 key = j >= 0 ? a.around[j] : 0;
        most = key > most ? key : most;
      }
    }
    most = mbk_amg_most(most, a.lanes);
    if (asks && at.lane == 0) {
      const mbk_u64 own = mbk_amg_key(a.round, (mbk_i32)at.row, MBK_AMG_OPEN);
      if (most == MBK_AMG_ROOT_KEY || most == own) {
        a.state[at.row] = most == own ? MBK_AMG_ROOT : MBK_AMG_DECIDED;
        a.counts[at.row] = most == own;
      } else {
        open++;
      }
    }
  }
  for (int d = 16; d > 0; d /= 2) {
    open += mbk_shuffle_xor(0xffffffffu, open, d, 32);
  }
  if (open > 0 && mbk_lane() == 0) {
    mbk_atomic_add(a.open, open);
  }
}

// Gives each root its number, the prefix sum of `counts`, and each other node the aggregate of
// the first root among its strong neighbours, or -1.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_join(MBK_GRID_CONSTANT mbk_amg_aggregate_arguments a) {
  MBK_AMG_EACH(i, a.rows) {
    mbk_i32 found = a.state[i] == MBK_AMG_ROOT ? a.counts[i] : -1;
    const mbk_u32 end = (mbk_u32)mbk_load(a.row_ptr + i + 1);
    for (mbk_u32 k = (mbk_u32)mbk_load(a.row_ptr + i); k < end && found < 0; k++) {
      const mbk_i32 j = mbk_load(a.links + k);
      found = j >= 0 && a.state[j] == MBK_AMG_ROOT ? a.counts[j] : -1;
    }
    a.aggregate[i] = found;
  }
}

// Puts each node that is left over into the aggregate that most of its strong neighbours belong
// to; ties go to the lowest. Writes `joined`, the aggregates of all nodes.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_rest(MBK_GRID_CONSTANT mbk_amg_aggregate_arguments a) {
  MBK_AMG_ROWS(at, a.lanes, a.rows) {
    const mbk_i32 own = at.row < a.rows ? a.aggregate[at.row] : 0;
    mbk_u64 most = 0; // number of neighbours in an aggregate, then the aggregate's complement
    if (own < 0) {
      const mbk_u32 begin = (mbk_u32)mbk_load(a.row_ptr + at.row);
      MBK_AMG_ENTRIES(k, a.row_ptr, at) {
        const mbk_i32 j = mbk_load(a.links + k);
        const mbk_i32 candidate = j >= 0 ? a.aggregate[j] : -1;
        mbk_u32 count = 0, looked = 0;
        for (mbk_u32 l = begin; candidate >= 0 && l < end && looked < MBK_AMG_NEIGHBOURS; l++) {
          const mbk_i32 other = mbk_load(a.links + l);
          looked += other >= 0;
          count += other >= 0 && a.aggregate[other] == candidate;
        }
        const mbk_u64 found = (mbk_u64)count << 32 | ~(mbk_u32)candidate; // 0 if there is none
        most = found > most ? found : most;
      }
    }
    most = mbk_amg_most(most, a.lanes);
    if (at.row < a.rows && at.lane == 0) {
      a.joined[at.row] = most >> 32 > 0 ? (mbk_i32) ~(mbk_u32)most : own;
    }
  }
}

// Puts each node that is still left over into the aggregate of the first node that has one when
// following strongest neighbours. Reads `joined` and writes `aggregate`.
MBK_KERNEL MBK_BOUNDS(MBK_AMG_THREADS)
    mbk_amg_follow(MBK_GRID_CONSTANT mbk_amg_aggregate_arguments a) {
  MBK_AMG_EACH(i, a.rows) {
    mbk_i32 at = (mbk_i32)i;
    for (mbk_u32 hops = 0; hops < MBK_AMG_HOPS && at >= 0 && mbk_load(a.joined + at) < 0;
         hops++) {
      at = mbk_load(a.strongest + at);
    }
    a.aggregate[i] = at >= 0 ? mbk_load(a.joined + at) : -1;
  }
}
