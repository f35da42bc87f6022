// Column indices in two bytes. The nonzeros that a warp takes together lie in at most MBK_PAGES
// pages of MBK_PAGE columns. A code consists of the index of the page in the warp's sorted list
// of pages, and of the column's position in the page. Each lane holds one page of the list.
// Shorter indices for blocks of a matrix are from Willcock, Lumsdaine (ICS 2006) and, on GPUs,
// Tang and others (SC13). The list of pages looked up by a shuffle is new here.
#define MBK_PAGE 2048u
#define MBK_PAGES 32
#define MBK_NO_PAGE 0xffffu // first entry of a list of more than MBK_PAGES pages
#define MBK_PAGE_SLOTS 64
// Words of shared memory per warp for building a list.
#define MBK_PAGE_SET (MBK_PAGE_SLOTS + 1)
#define MBK_PAGE_EMPTY 0xffffffffu

// Empties the set. All lanes of the warp must call it, before the other functions.
MBK_DEVICE void mbk_page_begin(mbk_u32 *set) {
  set[mbk_lane()] = set[32 + mbk_lane()] = MBK_PAGE_EMPTY;
  if (mbk_lane() == 0) {
    set[MBK_PAGE_SLOTS] = 0;
  }
  mbk_warp_sync(0xffffffffu);
}

// Adds the page of `column` to the set, unless the set already holds too many. The set always
// has space for one more page per lane.
MBK_DEVICE void mbk_page_add(mbk_u32 *set, mbk_u32 column) {
  const mbk_u32 page = column / MBK_PAGE;
  mbk_u32 at = page * 2654435761u >> 26;
  if (page >= MBK_NO_PAGE) { // the page number does not fit in two bytes
    mbk_atomic_max(set + MBK_PAGE_SLOTS, MBK_PAGES + 1u);
    return;
  }
  while (mbk_peek(set + MBK_PAGE_SLOTS) <= MBK_PAGES) {
    mbk_u32 there = mbk_peek(set + at);
    if (there == MBK_PAGE_EMPTY) {
      there = mbk_atomic_swap_if(set + at, MBK_PAGE_EMPTY, page);
      if (there == MBK_PAGE_EMPTY) {
        mbk_atomic_add(set + MBK_PAGE_SLOTS, 1u);
      }
    }
    if (there == MBK_PAGE_EMPTY || there == page) {
      break;
    }
    at = (at + 1) % MBK_PAGE_SLOTS;
  }
}

// Returns the lane's page of the sorted list: MBK_PAGE_EMPTY past the last page, or MBK_NO_PAGE
// in all lanes if there are too many pages. Leaves the list in set[0..31]. All lanes of the
// warp must call it.
MBK_DEVICE mbk_u32 mbk_page_list(mbk_u32 *set) {
  const mbk_u32 lane = mbk_lane(), before = (1u << lane) - 1;
  mbk_warp_sync(0xffffffffu);
  const mbk_u32 low = set[lane], high = set[32 + lane];
  const bool fits = set[MBK_PAGE_SLOTS] <= MBK_PAGES;
  const mbk_u32 lows = mbk_ballot(0xffffffffu, low != MBK_PAGE_EMPTY);
  const mbk_u32 highs = mbk_ballot(0xffffffffu, high != MBK_PAGE_EMPTY);
  const mbk_u32 count = (mbk_u32)(mbk_popcount(lows) + mbk_popcount(highs));
  if (!fits) {
    return MBK_NO_PAGE;
  }
  mbk_warp_sync(0xffffffffu); // all lanes have read their slots
  if (low != MBK_PAGE_EMPTY) {
    set[mbk_popcount(lows & before)] = low;
  }
  if (high != MBK_PAGE_EMPTY) {
    set[mbk_popcount(lows) + mbk_popcount(highs & before)] = high;
  }
  mbk_warp_sync(0xffffffffu);
  const mbk_u32 own = lane < count ? set[lane] : MBK_PAGE_EMPTY;
  mbk_u32 rank = 0;
  for (int i = 0; i < MBK_PAGES; i++) {
    rank += mbk_shuffle(0xffffffffu, own, i, 32) < own;
  }
  mbk_warp_sync(0xffffffffu);
  set[lane < count ? rank : lane] = own;
  mbk_warp_sync(0xffffffffu);
  return set[lane];
}

// Returns the code of a column that lies in one of the pages in `list`.
MBK_DEVICE mbk_u16 mbk_page_code(const mbk_u32 *list, mbk_u32 column) {
  mbk_u32 place = 0;
#pragma unroll
  for (int step = MBK_PAGES / 2; step > 0; step /= 2) {
    place += list[place + step] <= column / MBK_PAGE ? step : 0;
  }
  return (mbk_u16)(place * MBK_PAGE + column % MBK_PAGE);
}

// Returns the `base` argument of mbk_page_column for the lane's page of the list.
MBK_DEVICE mbk_u32 mbk_page_base(mbk_u32 page) {
  return (page - mbk_lane()) * MBK_PAGE;
}

// Returns the column of a code. All lanes of the warp must call it.
MBK_DEVICE mbk_u32 mbk_page_column(mbk_u32 base, mbk_u16 code) {
  return mbk_shuffle(0xffffffffu, base, (int)(code / MBK_PAGE), 32) + code;
}
