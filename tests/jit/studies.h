/* Compiles the kernels that exist for comparison. Part of test_kernels.c. */
#ifndef TEST_JIT_STUDIES_H
#define TEST_JIT_STUDIES_H

/* Compiles those of blocks. */
static void compile_studies(int capability) {
  mbi_preamble preamble;
  int study;
  for (study = 0; study < 8; study++) {
    const int high = study >= 4;
    merbit_plan plan;
    plan_make(high ? MERBIT_F32 : MERBIT_F64, high ? 2 + 16 : 0, 0, 0, 0, &plan);
    plan.method = (merbit_method)(MERBIT_METHOD_BSR_ROW_MAJOR + study % 4);
    plan.bsr.view = merbit_bsr(1000, 1001, 1000, high ? 13 : 5, 5, NULL, NULL, NULL);
    plan.bsr.view.block_order = high ? MERBIT_BLOCK_COLUMN_MAJOR : MERBIT_BLOCK_ROW_MAJOR;
    host->device.multiprocessors = 132;
    assert_int_equal(mbi_bsr_study_size(&plan), MERBIT_OK);
    host->device.multiprocessors = 0; /* the other sizes are those of any GPU */
    mbi_bsr_study_preamble(&plan, &preamble);
    compile("spmv/study/bsr_study.cu", &preamble, capability);
  }
}

/* Compiles the study methods of CSR, each in its default size and in another one. */
static void compile_csr_studies(int capability) {
  static const int shapes[4][3] = {{8, 4, 512}, {4096, 4, 1024}, {16, 0, 256}, {4, 0, 1024}};
  mbi_preamble preamble;
  int study;
  for (study = 0; study < 8; study++) {
    const int *shape = shapes[study % 4], other = study >= 4;
    merbit_plan plan;
    plan_make(study % 2 == other ? MERBIT_F32 : MERBIT_F64, other ? 2 + 4 + 16 : 8,
              other ? shape[0] : 0, other ? shape[1] : 0, other ? shape[2] : 0, &plan);
    plan.method = (merbit_method)(MERBIT_METHOD_WARP_LOOP + study % 4);
    if (study % 4 < 2) {
      assert_int_equal(mbi_row_study_size(&plan), MERBIT_OK);
      mbi_row_study_preamble(&plan, &preamble);
      compile("spmv/study/row_study.cu", &preamble, capability);
    } else {
      assert_int_equal(mbi_split_size(&plan), MERBIT_OK);
      mbi_split_preamble(&plan, &preamble);
      compile("spmv/study/split_study.cu", &preamble, capability);
    }
    plan.method = MERBIT_METHOD_PATH_GLOBAL;
    if (study % 4 == 2) {
      assert_int_equal(mbi_walk_size(&plan), MERBIT_OK);
      mbi_walk_preamble(&plan, &preamble);
      compile("spmv/study/walk_study.cu", &preamble, capability);
    }
  }
}

#endif /* TEST_JIT_STUDIES_H */
