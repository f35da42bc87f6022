/* Compiles kernels with epilogues. Part of test_kernels.c. */
#ifndef TEST_JIT_EPILOGUES_H
#define TEST_JIT_EPILOGUES_H

/* A dot product; two sums of a row; PageRank's; six vectors and eight scalars; no sums. */
enum { EPILOGUES = 5 };

static const merbit_epilogue epilogue_texts[EPILOGUES] = {
    {NULL, {"v0 * ax", NULL}, 1, 0, NULL, NULL},
    {NULL, {"row * ax", "ax * ax"}, 0, 0, NULL, NULL},
    {"(s0 * ax + s1 * v2) / abs(v1)",
     {"abs(y - v0) * abs(v1)", "v1 < 0 ? y : 0"},
     3,
     2,
     NULL,
     NULL},
    {"s0 * ax + s1 * v0 + s2 * v1 + s3 * v2",
     {"y * v3 - s4 * v4", "y > s5 ? v5 : s6 + s7"},
     6,
     8,
     NULL,
     NULL},
    {"max(ax, v0) + s0", {NULL, NULL}, 1, 1, NULL, NULL},
};

/* Makes an epilogue as in a plan of this type. */
static void epilogue_make(int kind, merbit_type type, mbi_epilogue *epilogue) {
  merbit_plan plan;
  memset(epilogue, 0, sizeof *epilogue);
  test_plan_clear(&plan);
  plan.context = host;
  plan.type = plan.desc.vector_type = type;
  plan.epilogue = epilogue;
  epilogue->given = epilogue_texts[kind];
  epilogue->after = kind == 2 ? "\"solve/pagerank/after.cuh\"" : NULL;
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

static void compile_epilogue(int kind, merbit_type type, int capability) {
  mbi_epilogue epilogue;
  mbi_preamble preamble;
  epilogue_make(kind, type, &epilogue);
  mbi_epilogue_preamble(&epilogue, type, &preamble);
  compile("spmv/shared/epilogue.cu", &preamble, capability);
}

/* Compiles each epilogue; in quick effort, and for architectures other than 9.0, in one of the
 * types in turn. */
static void compile_epilogues(int capability) {
  const int every = test_effort(0, 1) || capability == 90;
  int kind, single;
  for (kind = 0; kind < EPILOGUES; kind++) {
    for (single = 0; single < 2; single++) {
      if (every || (kind + single + capability / 10) % 2 == 0) {
        compile_epilogue(kind, single ? MERBIT_F32 : MERBIT_F64, capability);
      }
    }
  }
}
#endif /* TEST_JIT_EPILOGUES_H */
