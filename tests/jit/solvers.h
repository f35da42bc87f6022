/* Compiles the kernels of solvers, eigenpairs and PageRank, and those that inspect their
 * matrices. Part of test_kernels.c. */
#ifndef TEST_JIT_SOLVERS_H
#define TEST_JIT_SOLVERS_H

/* Compiles the kernels that inspect a matrix: with values and the widest indices, and without
 * values and with the narrowest. */
static void compile_setup(merbit_type type, int capability) {
  static const int32_t none[1];
  merbit_view view = merbit_csr(1, 1, 0, none, none, type == MERBIT_F32 ? none : NULL);
  mbi_preamble preamble;
  view.value_type = type;
  view.base = type == MERBIT_F32;
  view.offset_type = view.index_type = type == MERBIT_F32 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
  mbi_setup_preamble(&view, &preamble);
  compile("solve/precondition/setup.cu", &preamble, capability);
}

/* Compiles the steps and the loop of solvers, and all of PageRank. */
static void compile_solvers(merbit_type type, int capability) {
  int method;
  mbi_preamble preamble;
  for (method = MERBIT_SOLVER_CG; method <= MERBIT_SOLVER_GMRES; method++) {
    const mbi_solve_method *of = mbi_solve_method_of((merbit_solver_method)method);
    if (of != NULL) {
      mbi_solve_preamble(type, &preamble);
      compile(of->file, &preamble, capability);
    }
  }
  mbi_solve_preamble(type, &preamble);
  mbi_preamble_define_int(&preamble, "MBK_STEP_COLUMNS", 8);
  compile(mbi_cg_many_method.file, &preamble, capability);
  mbi_solve_preamble(type, &preamble);
  compile("solve/eigen/eigen.cu", &preamble, capability);
  mbi_solve_preamble(type, &preamble);
  compile("solve/precondition/precondition.cu", &preamble, capability);
  if (type == MERBIT_F64) { /* the only type with refinement */
    mbi_solve_preamble(type, &preamble);
    compile(mbi_refine_method.file, &preamble, capability);
  }
  memset(&preamble, 0, sizeof preamble);
  compile("solve/core/loop.cu", &preamble, capability);
  compile_setup(type, capability);
  memset(&preamble, 0, sizeof preamble);
  compile(MBI_AMG_FILE, &preamble, capability);
  mbi_pagerank_preamble(type, type == MERBIT_F32 ? MERBIT_INDEX_64 : MERBIT_INDEX_32,
                        &preamble);
  compile("solve/pagerank/pagerank.cu", &preamble, capability);
}

#endif /* TEST_JIT_SOLVERS_H */
