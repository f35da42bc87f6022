/* A coarsest matrix without nonzero entries. Part of amg_cases.h, after the functions that make
 * and apply a preconditioner. */
#ifndef TEST_AMG_ZERO_COARSEST_H
#define TEST_AMG_ZERO_COARSEST_H

/* A coarsest matrix of zeros, too large for an inverse, adds nothing: M of pairs [1 -1; -1 1]
 * is the same on both sides. */
static void test_zero_coarsest(void **state) {
  enum { ROWS = 2 * (MBI_AMG_COARSEST + 44) };
  static const double values[] = {1, -1, -1, 1};
  static int32_t rows[2 * ROWS], columns[2 * ROWS];
  static double entries[2 * ROWS], r[ROWS], z[2][ROWS];
  merbit_context *const own = context;
  const merbit_preconditioner_desc desc = amg_desc();
  merbit_view view = merbit_coo(ROWS, ROWS, 2 * ROWS, rows, columns, entries);
  int i, side;
  (void)state;
  for (i = 0; i < 2 * ROWS; i++) {
    rows[i] = i / 2;
    columns[i] = i / 4 * 2 + i % 2;
    entries[i] = values[i % 4];
  }
  for (i = 0; i < ROWS; i++) {
    r[i] = 1 + i % 3;
  }
  for (side = 0; side < 2; side++) {
    merbit_preconditioner_desc options = desc;
    merbit_preconditioner *p;
    context = side == 0 ? own : cpu_open(NULL, 1);
    options.side = context->side;
    assert_int_equal(merbit_preconditioner_create(context, &view, &options, &p), MERBIT_OK);
    amg_apply(p, r, z[side]);
    merbit_preconditioner_destroy(p);
  }
  merbit_context_destroy(context);
  context = own;
  for (i = 0; i < ROWS; i++) {
    assert_true(fabs(z[0][i] - z[1][i]) <= 1e-12);
  }
}

#endif
