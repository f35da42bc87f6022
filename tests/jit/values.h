/* Compiles the product kernels for other forms and types of values, and over semirings. Part of
 * test_kernels.c. */
#ifndef TEST_JIT_VALUES_H
#define TEST_JIT_VALUES_H

/* Compiles products by every method that supports the other forms of values. In quick effort
 * each form in one type, in the other for the next architecture. */
static void compile_values(int capability) {
  const int all = test_effort(0, 1);
  int stored, single, turn = capability == 90;
  for (stored = MBI_VALUES_HALF; stored <= MBI_VALUES_COLUMN; stored++) {
    for (single = 0; single < 2; single++) {
      const merbit_type type = single ? MERBIT_F32 : MERBIT_F64;
      /* General values, streamed or in short rows; some with options that need more
       * registers. */
      const int form = turn++ % 2 != 0 ? 8 : 32;
      mbi_preamble preamble;
      if (!all && (stored + single + (capability == 90)) % 2 != 0) {
        continue;
      }
      plan_values = (mbi_value_form)stored;
      scan_preamble(type, form, 0, 512, 5, &preamble);
      compile("spmv/gpu/scan/scan.cu", &preamble, capability);
      whole_preamble(type, form, single ? 8 : 4, 512, &preamble);
      compile("spmv/gpu/scan/whole.cu", &preamble, capability);
      linked_preamble(type, form, single ? 8 : 2, single ? 1024 : 128, &preamble);
      compile("spmv/gpu/scan/linked.cu", &preamble, capability);
      hubs_preamble(type, form, 0, 0, &preamble);
      compile("spmv/gpu/hubs/hubs.cu", &preamble, capability);
      if (turn % 4 < 2 || all) {
        scan_preamble(type, form | 20, 0, 512, 32, &preamble);
        compile("spmv/gpu/scan/scan.cu", &preamble, capability);
        whole_preamble(type, form | 20, single ? 8 : 4, 1024, &preamble);
        compile("spmv/gpu/scan/whole.cu", &preamble, capability);
        rows_preamble(type, form, 0, single ? 4 : 32, 0, &preamble);
        compile("spmv/gpu/rows/rows.cu", &preamble, capability);
      }
      if (turn % 4 >= 2 || all) {
        sliced_preamble(type, form, 0, 0, &preamble);
        compile("spmv/gpu/sliced/sliced.cu", &preamble, capability);
        diagonals_preamble(type, form, 0, 0, &preamble);
        compile("spmv/gpu/diagonals/diagonals.cu", &preamble, capability);
        binned_preamble(type, form | 64, 0, 0, &preamble);
        compile("spmv/gpu/binned/binned.cu", &preamble, capability);
      }
    }
  }
  plan_values = MBI_VALUES_GENERAL;
}

/* Compiles complex, short and mixed values by the methods that support them, in the plans'
 * sizes and with more loads in flight. */
static void compile_types(int capability) {
  static const merbit_type types[] = {MERBIT_C128, MERBIT_C64, MERBIT_F16, MERBIT_BF16};
  const int apart = test_effort(26, 9);
  size_t t;
  mbi_preamble preamble;
  for (t = 0; t < sizeof types / sizeof types[0]; t++) {
    int form = capability % 7 + (int)t;
    for (; form < 64; form += apart) {
      const merbit_type type = types[t];
      const int wide = form % 2 == 0;
      if ((form & 3) == 3) { /* one value for all: not for these types */
        continue;
      }
      plan_sums = form & 8 && type == MERBIT_BF16 ? MERBIT_F64 : MERBIT_TYPE_DEFAULT;
      scan_preamble(plan_sums != MERBIT_TYPE_DEFAULT ? MERBIT_F32 : type, form, wide ? 8 : 0,
                    wide ? 256 : 0, form & 8 ? 100 : 5, &preamble);
      compile("spmv/gpu/scan/scan.cu", &preamble, capability);
      whole_preamble(plan_sums != MERBIT_TYPE_DEFAULT ? MERBIT_F32 : type, form, 0, 0,
                     &preamble);
      compile("spmv/gpu/scan/whole.cu", &preamble, capability);
      merge_preamble(plan_sums != MERBIT_TYPE_DEFAULT ? MERBIT_F32 : type, form, 0, 0, 0,
                     &preamble);
      compile("spmv/gpu/merge/merge.cu", &preamble, capability);
      rows_preamble(plan_sums != MERBIT_TYPE_DEFAULT ? MERBIT_F32 : type, form, 0, 8, 0,
                    &preamble);
      compile("spmv/gpu/rows/rows.cu", &preamble, capability);
    }
  }
  plan_sums = MERBIT_TYPE_DEFAULT;
}

/* Compiles plans over semirings. In quick effort each semiring in one type, in the other for
 * the next architecture, with each method in one of the forms in turn; for other architectures
 * than 9.0 with one method. */
static void compile_semirings(int capability) {
  static const int forms[] = {0, 8, 1 + 16, 3 + 4 + 32, 2 + 8 + 16 + 32, 3 + 8, 1 + 2 + 16};
  const int all = test_effort(0, 1), count = (int)(sizeof forms / sizeof forms[0]);
  int semiring, single, method, f, turn = capability;
  for (semiring = MERBIT_SEMIRING_MIN_PLUS; semiring <= MERBIT_SEMIRING_CUSTOM; semiring++) {
    for (single = 0; single < 2; single++) {
      const merbit_type type = single ? MERBIT_F32 : MERBIT_F64;
      mbi_preamble preamble;
      if (!all && (semiring + single + (capability == 90)) % 2 != 0) {
        continue;
      }
      plan_semiring = (merbit_semiring)semiring;
      for (method = 0; method < 4; method++) {
        turn++;
        for (f = 0; f < count; f++) {
          if (!all && (f != turn % count || (capability != 90 && semiring % 4 != method))) {
            continue;
          }
          if (method == 0) {
            scan_preamble(type, forms[f], 0, 0, 32, &preamble);
          } else if (method == 1) {
            whole_preamble(type, forms[f], 8, f % 2 ? 512 : 1024, &preamble);
          } else if (method == 2) {
            merge_preamble(type, forms[f], 0, 0, 0, &preamble);
          } else {
            rows_preamble(type, forms[f], 0, f % 2 ? 1 : 8, 0, &preamble);
          }
          compile(method == 0   ? "spmv/gpu/scan/scan.cu"
                  : method == 1 ? "spmv/gpu/scan/whole.cu"
                  : method == 2 ? "spmv/gpu/merge/merge.cu"
                                : "spmv/gpu/rows/rows.cu",
                  &preamble, capability);
        }
      }
    }
  }
  plan_semiring = MERBIT_SEMIRING_PLUS_TIMES;
}

#endif /* TEST_JIT_VALUES_H */
