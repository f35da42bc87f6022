/* The preambles that plans of each method would write, for compiling their kernels. */
#ifndef TEST_JIT_PREAMBLES_H
#define TEST_JIT_PREAMBLES_H

static merbit_context *host; /* on the CPU; tests set its device record */

static mbi_value_form plan_values; /* replaces the form that plan_make derives */
static merbit_type plan_sums;      /* DEFAULT: as usual for the values */

static merbit_semiring plan_semiring;
static mbi_operators plan_operators = {
    {NULL, NULL, -1.0, NULL, NULL, NULL, NULL, NULL},
    "(in_a < in_b ? in_b : in_a)",
    "mbk_abs((mbk_multiply(in_a, in_x) + ((MBK_COMPUTE)mbk_number(0x3ff8000000000000ull))))"};

/* Makes a plan of this form, with the first two sizes of its method. L2 holds all of its
 * matrix, or less. */
static void plan_make(merbit_type type, int form, int first, int second, int threads,
                      merbit_plan *plan) {
  static const int passing[] = {16, 0, 5, 0};
  static merbit_device_profile large, small;
  large = small = host->device.estimate;
  large.l2_bytes = 1e15;
  small.l2_bytes = 1;
  test_plan_clear(plan);
  plan->context = host;
  plan->profile = passing[form >> 1 & 3] == 0 ? &large : &small;
  plan->type = type;
  plan->desc.vector_type = plan_sums;
  plan->device.values = form & 1 && !(form & 2) ? 0 : 16;
  plan->device.form = form & 1 && form & 2             ? MBI_VALUES_EQUAL
                      : form & 8 && type == MERBIT_F64 ? MBI_VALUES_SINGLE
                                                       : MBI_VALUES_GENERAL;
  plan->device.form = plan_values != MBI_VALUES_GENERAL ? plan_values : plan->device.form;
  plan->device.offset_type = form & 2 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  plan->device.base = form >> 2 & 1;
  plan->device.nnz = 1000;
  plan->device.rows = 1000;
  plan->streaming = form >> 3 & 1;
  plan->passing = passing[form >> 1 & 3];
  plan->desc.semiring = plan_semiring;
  plan->operators = plan_semiring == MERBIT_SEMIRING_CUSTOM ? &plan_operators : NULL;
  plan->desc.scalar_memory = form & 16 ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST;
  plan->tuning[0] = first;
  plan->tuning[1] = second;
  plan->desc.block_threads = threads;
}

/* Writes SCAN's preamble. Half of the forms with 64-bit offsets have misaligned columns. */
static void scan_preamble(merbit_type type, int form, int steps, int threads, uint32_t longest,
                          mbi_preamble *preamble) {
  merbit_plan plan;
  plan_make(type, form, steps, 0, threads, &plan);
  plan.device.col_ind = (form & 6) == 2 ? 4 : 0;
  plan.nonempty.longest = longest;
  plan.nonempty.count = form & 32 ? 999 : 1000;
  assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
  mbi_scan_preamble(&plan, preamble);
}

/* The same for a matrix of `nnz` nonzeros in rows of eight, which holds the old y of more
 * rows. `sectors` of x per nonzero were sampled. */
static void large_preamble(merbit_type type, int form, uint64_t nnz, double sectors,
                           mbi_preamble *preamble) {
  merbit_plan plan;
  plan_make(type, form, 0, 0, 0, &plan);
  plan.device.nnz = nnz;
  plan.device.rows = plan.device.cols = nnz / 8;
  plan.nonempty.sectors = sectors;
  plan.nonempty.longest = 100;
  plan.nonempty.count = plan.device.rows - (form & 32 ? 1 : 0);
  assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
  assert_false(mbi_scan_of(&plan)->whole);
  mbi_scan_preamble(&plan, preamble);
}

/* The same for large patterns with longer rows, whose lanes take twice as much. */
static void twice_preamble(merbit_type type, int form, mbi_preamble *preamble) {
  merbit_plan plan;
  plan_make(type, form | 1, 0, 0, 0, &plan);
  plan.device.nnz = 40000000;
  plan.device.rows = plan.device.cols = 4000000;
  plan.stops = plan.making.interleaved = form >> 2 & 1;
  plan.streaming = 1;
  plan.nonempty.longest = 100;
  plan.nonempty.count = plan.device.rows - (form & 32 ? 1 : 0);
  assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
  assert_int_equal(mbi_scan_of(&plan)->pack * (int)mbi_type_size(mbi_plan_accumulator(&plan)),
                   32);
  mbi_scan_preamble(&plan, preamble);
}

/* The same with x'A x, for a matrix with short rows. */
static void dots_preamble(merbit_type type, int form, mbi_preamble *preamble) {
  merbit_plan plan;
  plan_make(type, form & ~16, 0, 0, 0, &plan);
  plan.making.dots = plan.making.interleaved = 1;
  plan.stops = 1;
  plan.device.nnz = 40000000;
  plan.device.rows = plan.device.cols = 10000000;
  plan.nonempty.longest = 100;
  plan.nonempty.count = plan.device.rows - (form & 32 ? 1 : 0);
  assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
  assert_true(mbi_scan_of(&plan)->dots);
  mbi_scan_preamble(&plan, preamble);
}

/* The same tiles in blocks that take whole rows, with form & 8 as many as fit. */
static void whole_preamble(merbit_type type, int form, int steps, int threads,
                           mbi_preamble *preamble) {
  merbit_plan plan;
  plan_make(type, form, steps, 2, threads, &plan);
  plan.device.col_ind = (form & 6) == 2 ? 4 : 0;
  plan.nonempty.longest = form & 8 ? 3000 : 5;
  plan.nonempty.count = form & 32 ? 999 : 1000;
  assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
  assert_true(mbi_scan_of(&plan)->whole);
  assert_int_equal(mbi_scan_of(&plan)->fitted, form & 8 ? 1 : 0);
  mbi_scan_preamble(&plan, preamble);
}

/* Writes the preamble of linked blocks. */
static void linked_preamble(merbit_type type, int form, int steps, int threads,
                            mbi_preamble *preamble) {
  merbit_plan plan;
  plan_make(type, form, steps, 1, threads, &plan);
  plan.device.col_ind = (form & 6) == 2 ? 4 : 0;
  plan.nonempty.longest = 5000;
  plan.nonempty.typical = 2000;
  plan.nonempty.count = form & 32 ? 999 : 1000;
  host->device.multiprocessors = 132;
  assert_int_equal(mbi_scan_size(&plan), MERBIT_OK);
  assert_true(mbi_scan_of(&plan)->linked);
  host->device.multiprocessors = 0;
  mbi_scan_preamble(&plan, preamble);
}

static void rows_preamble(merbit_type type, int form, int unroll, int lanes, int threads,
                          mbi_preamble *preamble) {
  merbit_plan plan;
  plan_make(type, form, unroll, lanes, threads, &plan);
  assert_int_equal(mbi_rows_size(&plan), MERBIT_OK);
  mbi_rows_preamble(&plan, preamble);
}

/* Columns are misaligned as for SCAN. */
static void merge_preamble(merbit_type type, int form, int steps, int rounds, int threads,
                           mbi_preamble *preamble) {
  merbit_plan plan;
  plan_make(type, form, steps, rounds, threads, &plan);
  plan.device.col_ind = (form & 6) == 2 ? 4 : 0;
  assert_int_equal(mbi_merge_size(&plan), MERBIT_OK);
  mbi_merge_preamble(&plan, preamble);
}

/* Without `threads`, 32 warps share a slice if form & 4, else 4 if form & 8. */
static void sliced_preamble(merbit_type type, int form, int unroll, int threads,
                            mbi_preamble *preamble) {
  merbit_plan plan;
  plan_make(type, form, unroll, form & 32 ? 1 : 0, threads, &plan);
  plan.tuning[MBI_KNOB_SLICED_PARTS] = threads != 0 ? 0 : form & 4 ? 32 : form & 8 ? 4 : 0;
  plan.nonempty.slots = 2 * plan.device.nnz;
  assert_int_equal(mbi_sliced_size(&plan), MERBIT_OK);
  assert_int_equal(mbi_sliced_of(&plan)->sorted, !(form & 32));
  mbi_sliced_preamble(&plan, preamble);
}

static void diagonals_preamble(merbit_type type, int form, int unroll, int threads,
                               mbi_preamble *preamble) {
  merbit_plan plan;
  plan_make(type, form, unroll, 0, threads, &plan);
  plan.device.rows = form & 4 ? 10 : 1000; /* eight diagonals at once, or four */
  assert_int_equal(mbi_diagonals_size(&plan), MERBIT_OK);
  mbi_diagonals_preamble(&plan, preamble);
}

static void cb_preamble(merbit_type type, int form, int threads, mbi_preamble *preamble) {
  merbit_plan plan;
  mbi_cb_options options;
  plan_make(type, form, 0, 0, threads, &plan);
  assert_int_equal(mbi_cb_options_take(&plan, &options), MERBIT_OK);
  mbi_cb_of(&plan)->aggregated = form >> 5 & 1;
  mbi_cb_preamble(&plan, preamble);
}

/* Wide if form & 64: one block of 1024 threads per multiprocessor. */
static void binned_preamble(merbit_type type, int form, int warp_tiles, int threads,
                            mbi_preamble *preamble) {
  merbit_plan plan;
  plan_make(type, form, 0, warp_tiles, threads, &plan);
  plan.device.cols = form & 64 ? 100000000 : 100000;
  plan.device.nnz = 100000000;
  plan.nonempty.longest = 5;
  plan.nonempty.count = form & 32 ? 999 : 1000;
  assert_int_equal(mbi_binned_size(&plan), MERBIT_OK);
  assert_int_equal(mbi_scan_of(&plan)->threads, threads != 0 ? threads
                                                : form & 64  ? 1024
                                                             : 512);
  mbi_binned_preamble(&plan, preamble);
}

/* Writes BSR's preamble: with masks if form & 8, column-major if form & 32, cut at the edge if
 * form & 64. */
static void bsr_preamble(merbit_type type, int form, int rows, int cols, int shuffle,
                         mbi_preamble *preamble) {
  merbit_plan plan;
  plan_make(type, form & ~10, 0, shuffle, 0, &plan);
  plan.device.nnz = 10000000;
  plan.nonempty.count = form & 32 ? 999 : 1000;
  plan.bsr.view = merbit_bsr(1000 * rows, 1000 * cols - (form & 64 && cols > 1), 10000000, rows,
                             cols, NULL, NULL, NULL);
  plan.bsr.view.block_order = form & 32 ? MERBIT_BLOCK_COLUMN_MAJOR : MERBIT_BLOCK_ROW_MAJOR;
  plan.bsr.mask_words = form & 8 ? 1 : 0;
  assert_int_equal(mbi_bsr_size(&plan), MERBIT_OK);
  mbi_bsr_preamble(&plan, preamble);
}

/* With little space for hubs if form & 64. */
static void hubs_preamble(merbit_type type, int form, int steps, int threads,
                          mbi_preamble *preamble) {
  merbit_plan plan;
  plan_make(type, form, steps, form & 64 ? 1 : 0, threads, &plan);
  plan.device.col_ind = (form & 6) == 2 ? 4 : 0;
  plan.nonempty.longest = form & 8 ? 32 : 5;
  plan.nonempty.count = form & 32 ? 999 : 1000;
  assert_int_equal(mbi_hubs_size(&plan), MERBIT_OK);
  mbi_hubs_preamble(&plan, preamble);
}

/* Several vectors: row-major if form & 64, eight gathers in flight if form & 128, even rows if
 * form & 256. */
static void many_preamble(merbit_type type, int form, int vectors, int threads,
                          mbi_preamble *preamble) {
  merbit_plan plan;
  plan_make(type, form & ~10, 0, form & 128 ? 8 : 0, threads, &plan);
  plan.device.col_ind = (form & 6) == 2 ? 4 : 0;
  plan.device.offset_type = form & 2 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  plan.streaming = form >> 3 & 1;
  plan.device.cols = form & 8 ? 1 << 30 : 1000; /* X exceeds the caches, or fits */
  plan.nonempty.count = form & 32 ? 999 : 1000;
  plan.nonempty.slots = form & 256 ? 0 : UINT64_MAX;
  plan.desc.vectors = vectors;
  plan.desc.vector_order = form & 64 ? MERBIT_VECTORS_ROW_MAJOR : MERBIT_VECTORS_COLUMN_MAJOR;
  assert_int_equal(mbi_many_size(&plan), MERBIT_OK);
  if (type == MERBIT_F32 && vectors == 8 && (form & 257) == 0) {
    assert_int_equal(mbi_many_of(&plan)->piece, form & 8 ? 32 : 16);
    assert_in_range(mbi_many_of(&plan)->resident * mbi_many_of(&plan)->threads, 1,
                    form & 8 ? 512 : 1024);
  }
  mbi_many_preamble(&plan, preamble);
}

/* Writes MERBIT's preamble for this form. */
static void merbit_preamble(merbit_type type, int form, int sigma, int omega, int threads,
                            mbi_preamble *preamble) {
  merbit_plan plan;
  plan_make(type, form, 0, 0, threads, &plan);
  plan.desc.sigma = sigma;
  plan.desc.omega = omega;
  mbi_merbit_of(&plan)->dual = form >> 3 & 1;
  plan.device.nnz = form & 2 ? (uint64_t)5 << 30 : 1000; /* 64-bit tiles with 64-bit offsets */
  assert_int_equal(mbi_merbit_size(&plan), MERBIT_OK);
  mbi_merbit_preamble(&plan, preamble);
}

static void reorder_preamble(int form, mbi_preamble *preamble) {
  merbit_plan plan;
  test_plan_clear(&plan);
  plan.type = form & 1 ? MERBIT_F32 : MERBIT_F64;
  plan.reorder.place_type = form & 2 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  mbi_reorder_preamble(&plan, preamble);
}

static void transpose_preamble(int form, mbi_preamble *preamble) {
  mbi_device_csr from;
  mbi_transposing t;
  memset(&from, 0, sizeof from);
  memset(&t, 0, sizeof t);
  t.from = &from;
  from.offset_type = form & 1 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  t.place_type = form & 2 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  mbi_transpose_preamble(&t, preamble);
}

static void extract_preamble(int form, mbi_preamble *preamble) {
  merbit_plan plan;
  plan_make(form & 1 ? MERBIT_F32 : MERBIT_F64, form & 6, 0, 0, 0, &plan);
  mbi_extract_preamble(&plan, &plan.device, preamble);
}

static void arrays_preamble(int form, mbi_preamble *preamble) {
  memset(preamble, 0, sizeof *preamble);
  mbi_preamble_define(preamble, "MBK_ROW_PTR", form & 1 ? "mbk_i64" : "mbk_i32");
  mbi_preamble_define(preamble, "MBK_COLUMN", form & 2 ? "mbk_i64" : "mbk_i32");
  mbi_preamble_define_int(preamble, "MBK_BASE", form >> 2 & 1);
}

/* The kernels that measure the GPU have no specialisations. */
static void profile_preamble(mbi_preamble *preamble) {
  memset(preamble, 0, sizeof *preamble);
}

/* Writes the preamble of full blocks of two shapes. */
static void full_preamble(int form, mbi_preamble *preamble) {
  memset(preamble, 0, sizeof *preamble);
  mbi_preamble_define(preamble, "MBK_ROW_PTR", form & 1 ? "mbk_i64" : "mbk_i32");
  mbi_preamble_define(preamble, "MBK_VALUE", form & 2 ? "float" : "double");
  mbi_preamble_define_int(preamble, "MBK_BASE", form & 1);
  mbi_preamble_define_int(preamble, "MBK_HIGH", form & 4 ? 1 : 3);
  mbi_preamble_define_int(preamble, "MBK_WIDE", form & 4 ? 8 : 3);
}

#endif /* TEST_JIT_PREAMBLES_H */
