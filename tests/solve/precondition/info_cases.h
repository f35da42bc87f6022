/* Descriptions and numbers of preconditioners. Part of preconditioner_cases.h. */
#ifndef TEST_SOLVE_PRECONDITION_INFO_CASES_H
#define TEST_SOLVE_PRECONDITION_INFO_CASES_H

static void test_description(void **state) {
  static const char *const names[FORMS] = {"Jacobi on",
                                           "block Jacobi of blocks of 4 rows",
                                           "block Jacobi of blocks of 7 rows",
                                           "Chebyshev of degree 4 for eigenvalues",
                                           "Chebyshev of degree 1 for eigenvalues",
                                           "Chebyshev of degree 7 for eigenvalues",
                                           "FSAI of 208 nonzeros"};
  static const double complexity[FORMS] = {64. / 352, 256. / 352, 448. / 352, 4,
                                           1,         7,          416. / 352};
  static sparse a;
  static typed t;
  int form, single;
  (void)state;
  a = sparse_mesh(4, 4, 4, 0);
  (void)typed_view(&t, &a, MERBIT_F64);
  for (form = 0; form < FORMS; form++) {
    for (single = 0; single <= 1; single++) {
      merbit_preconditioner_desc desc = form_desc(form);
      merbit_preconditioner *p;
      merbit_preconditioner_info info;
      char line[512], shorter[9];
      size_t length;
      desc.single = desc.singular = single;
      p = make(&t.view, &desc);
      length = merbit_preconditioner_describe(p, line, sizeof line);
      assert_int_equal(length, strlen(line));
      assert_int_equal(merbit_preconditioner_describe(p, shorter, sizeof shorter), length);
      assert_int_equal(strlen(shorter), 8);
      assert_int_equal(merbit_preconditioner_describe(p, NULL, 0), length);
      if (strstr(line, names[form]) != line) {
        fail_msg("%s", line);
      }
      assert_true((strstr(line, "f32 inside f64, without the mean: 64 rows") != NULL) ==
                  single);
      assert_int_equal(merbit_preconditioner_get_info(p, &info), MERBIT_OK);
      assert_int_equal(info.kind, desc.kind);
      assert_int_equal(info.side, context->side);
      assert_int_equal(info.levels, 1);
      assert_int_equal(info.rows[0], 64);
      assert_int_equal(info.nonzeros[0], 352);
      assert_int_equal(info.rows[1], 0);
      assert_true(fabs(info.operator_complexity - complexity[form]) < 1e-12);
      assert_true(info.host_bytes + info.device_bytes > 64 * 4);
      assert_true((info.device_bytes > 0) == (context->side == MERBIT_SIDE_CUDA));
      assert_true(info.setup_seconds > 0);
      merbit_preconditioner_destroy(p);
    }
  }
}

/* The numbers of a matrix that is given by one triangle are those of both. */
static void test_triangle_info(void **state) {
  static sparse a, half;
  static typed t;
  int form, triangle, i, k;
  (void)state;
  a = sparse_mesh(4, 4, 4, 0);
  memset(&half, 0, sizeof half);
  half.n = a.n;
  for (i = 0; i < a.n; i++) {
    for (k = a.row_ptr[i]; k < a.row_ptr[i + 1] && a.col_ind[k] <= i; k++) {
      half.col_ind[half.nnz] = a.col_ind[k];
      half.values[half.nnz++] = a.values[k];
    }
    half.row_ptr[i + 1] = half.nnz;
  }
  for (form = 0; form < FORMS; form++) {
    merbit_preconditioner_info info[2];
    for (triangle = 0; triangle < 2; triangle++) {
      const merbit_preconditioner_desc desc = form_desc(form);
      merbit_preconditioner *p;
      (void)typed_view(&t, triangle ? &half : &a, MERBIT_F64);
      t.view.symmetry = triangle ? MERBIT_SYMMETRY_SYMMETRIC : MERBIT_SYMMETRY_NONE;
      p = make(&t.view, &desc);
      assert_int_equal(merbit_preconditioner_get_info(p, &info[triangle]), MERBIT_OK);
      merbit_preconditioner_destroy(p);
    }
    assert_int_equal(info[1].nonzeros[0], info[0].nonzeros[0]);
    assert_true(info[1].operator_complexity == info[0].operator_complexity);
  }
}

/* The padding of blocks at the edge of a matrix is no part of it. */
static void test_padding_info(void **state) {
  static const merbit_bsr_desc shape = {3, 3, MERBIT_BLOCK_ROW_MAJOR};
  static sparse a;
  static typed t;
  merbit_matrix *blocks, *entries;
  merbit_view view;
  int form;
  (void)state;
  a = sparse_mesh(4, 4, 4, 0);
  assert_int_equal(
      merbit_matrix_create_bsr(context, typed_view(&t, &a, MERBIT_F64), &shape, &blocks),
      MERBIT_OK);
  view = merbit_matrix_view(blocks);
  assert_int_equal(merbit_matrix_create(context, &view, &entries), MERBIT_OK);
  for (form = 0; form < FORMS; form++) {
    const merbit_preconditioner_desc desc = form_desc(form);
    merbit_preconditioner *p = make(&view, &desc);
    merbit_preconditioner_info info;
    assert_int_equal(merbit_preconditioner_get_info(p, &info), MERBIT_OK);
    assert_int_equal(info.nonzeros[0], merbit_matrix_view(entries).nnz);
    merbit_preconditioner_destroy(p);
  }
  merbit_matrix_destroy(entries);
  merbit_matrix_destroy(blocks);
}

#endif
