/* Compiles kernels with epilogues: part of test_kernels.c. */
#ifndef TEST_JIT_EPILOGUES_H
#define TEST_JIT_EPILOGUES_H

/* A dot product; two sums of a row; what PageRank asks for; six vectors and eight scalars. */
enum { EPILOGUES = 4 };

static const merbit_epilogue epilogue_texts[EPILOGUES] = {
    {NULL, {"v0 * ax", NULL}, 1, 0, 0, NULL, NULL},
    {NULL, {"row * ax", "ax * ax"}, 0, 0, 0, NULL, NULL},
    {"(s0 * ax + s1 * v2) / abs(v1)",
     {"abs(y - v0) * abs(v1)", "v1 < 0 ? y : 0"},
     3,
     2,
     0,
     NULL,
     NULL},
    {"s0 * ax + s1 * v0 + s2 * v1 + s3 * v2",
     {"y * v3 - s4 * v4", "y > s5 ? v5 : s6 + s7"},
     6,
     8,
     0,
     NULL,
     NULL},
};

/* As a plan of this type would have it. */
static void epilogue_make(int kind, merbit_type type, mbi_epilogue *epilogue) {
  merbit_plan plan;
  memset(epilogue, 0, sizeof *epilogue);
  memset(&plan, 0, sizeof plan);
  plan.context = host;
  plan.type = plan.desc.vector_type = type;
  plan.epilogue = epilogue;
  epilogue->given = epilogue_texts[kind];
  epilogue->fused = 1;
  assert_int_equal(
      mbi_epilogue_take_one(&plan, 0, "result", epilogue->given.result, epilogue->result),
      MERBIT_OK);
  assert_int_equal(
      mbi_epilogue_take_one(&plan, 1, "sums[0]", epilogue->given.sums[0], epilogue->sums[0]),
      MERBIT_OK);
  assert_int_equal(
      mbi_epilogue_take_one(&plan, 1, "sums[1]", epilogue->given.sums[1], epilogue->sums[1]),
      MERBIT_OK);
}

/* Each epilogue by each method that takes it and in a kernel of its own. In quick effort in one
 * type, in the other on the next architecture, in one form that turns; elsewhere than on 9.0 by
 * two methods. */
static void compile_epilogues(int capability) {
  static const int forms[] = {0, 8, 1 + 4, 3 + 4 + 32, 2 + 8 + 32, 3 + 8, 1 + 2};
  const int all = test_effort(0, 1), every = all || capability == 90;
  const int count = (int)(sizeof forms / sizeof forms[0]);
  int kind, single, f, turn = capability;
  for (kind = 0; kind < EPILOGUES; kind++) {
    for (single = 0; single < 2; single++) {
      const merbit_type type = single ? MERBIT_F32 : MERBIT_F64;
      mbi_epilogue epilogue;
      mbi_preamble preamble;
      if (!all && (kind + single + (capability == 90)) % 2 != 0) {
        continue;
      }
      epilogue_make(kind, type, &epilogue);
      plan_epilogue = &epilogue;
      turn++;
      for (f = 0; f < count; f++) {
        if (!all && f != turn % count) {
          continue;
        }
        if (every || turn % 3 == 0) {
          scan_preamble(type, forms[f], 0, f % 2 ? 512 : 0, f % 3 ? 32 : 5, &preamble);
          compile("spmv/scan.cu", &preamble, capability);
          hubs_preamble(type, forms[f], 0, 0, &preamble);
          compile("spmv/hubs.cu", &preamble, capability);
        }
        if (every || turn % 3 == 1) {
          whole_preamble(type, forms[f], 0, f % 2 ? 512 : 0, &preamble);
          compile("spmv/scan_whole.cu", &preamble, capability);
          binned_preamble(type, forms[f] | (f % 2) << 6, 0, 0, &preamble);
          compile("spmv/binned.cu", &preamble, capability);
        }
        if (every || turn % 3 == 2) {
          rows_preamble(type, forms[f], 0, f % 2 ? 1 : 8, 0, &preamble);
          compile("spmv/rows.cu", &preamble, capability);
          sliced_preamble(type, forms[f], 0, 0, &preamble);
          compile("spmv/sliced.cu", &preamble, capability);
        }
      }
      plan_epilogue = NULL;
      mbi_epilogue_apart_preamble(&epilogue, type, &preamble);
      compile("spmv/epilogue.cu", &preamble, capability);
    }
  }
}
#endif /* TEST_JIT_EPILOGUES_H */
