/* Scenarios with a multigrid preconditioner that is set up on the GPU. Include scenario_bed.h
 * first. */
#ifndef TEST_FAKE_AMG_SCENARIOS_H
#define TEST_FAKE_AMG_SCENARIOS_H

enum { MESH_SIDE = 17, MESH_ROWS = MESH_SIDE * MESH_SIDE }; /* exceeds MBI_AMG_COARSEST */

typedef struct mesh {
  int32_t row_ptr[MESH_ROWS + 1], col_ind[5 * MESH_ROWS];
  double values[5 * MESH_ROWS], r[MESH_ROWS];
} mesh;

/* Makes the Laplacian of the mesh; `windy`: with a wind from the first node to the last. */
static merbit_view mesh_make(mesh *m, double scale, int windy) {
  static const int steps[] = {-MESH_SIDE, -1, 0, 1, MESH_SIDE};
  int row, s, k = 0;
  m->row_ptr[0] = 0;
  for (row = 0; row < MESH_ROWS; row++) {
    for (s = 0; s < 5; s++) {
      const int beyond = (steps[s] == -1 && row % MESH_SIDE == 0) ||
                         (steps[s] == 1 && row % MESH_SIDE == MESH_SIDE - 1);
      if (row + steps[s] >= 0 && row + steps[s] < MESH_ROWS && !beyond) {
        m->col_ind[k] = row + steps[s];
        m->values[k++] = (steps[s] == 0  ? 4 + 18 * windy
                          : steps[s] < 0 ? -1 - 9 * windy
                                         : -1) *
                         scale;
      }
    }
    m->row_ptr[row + 1] = k;
    m->r[row] = row % 7 - 3;
  }
  return merbit_csr(MESH_ROWS, MESH_ROWS, k, m->row_ptr, m->col_ind, m->values);
}

enum { MESH_THERE, MESH_LINES, MESH_WINDY }; /* kinds: see multigrid_of */

/* Sets the options: a node has one row or, with MESH_LINES, is a line of the mesh with two
 * near-null vectors. */
static void mesh_options(merbit_preconditioner_desc *desc, int kind) {
  const int lines = kind == MESH_LINES;
  static double near[2 * MESH_ROWS];
  int i;
  memset(desc, 0, sizeof *desc);
  desc->kind = MERBIT_PRECONDITIONER_AMG;
  for (i = 0; lines && i < MESH_ROWS; i++) {
    near[i] = 1;
    near[MESH_ROWS + i] = i % MESH_SIDE;
  }
  desc->block_size = lines ? MESH_SIDE : 0;
  desc->near_nullspace = lines ? near : NULL;
  desc->near_nullspace_count = lines ? 2 : 0;
}

/* Returns z = M^-1 r as the CPU computes it, for m->r. */
static const double *mesh_expected(int kind) {
  static double expected[3][MESH_ROWS];
  double *z = expected[kind];
  if (z[0] == 0) {
    merbit_context *context;
    merbit_context_desc context_desc;
    merbit_preconditioner_desc desc;
    merbit_preconditioner *p;
    mesh m;
    const merbit_view view = mesh_make(&m, 1, kind == MESH_WINDY);
    memset(&context_desc, 0, sizeof context_desc);
    mesh_options(&desc, kind);
    context_desc.side = MERBIT_SIDE_CPU;
    context_desc.threads = 1;
    assert_int_equal(merbit_context_create(&context_desc, &context, NULL), MERBIT_OK);
    assert_int_equal(merbit_preconditioner_create(context, &view, &desc, &p), MERBIT_OK);
    assert_int_equal(merbit_preconditioner_apply(p, m.r, z, NULL), MERBIT_OK);
    CANNOT_TELL(merbit_preconditioner_destroy(p));
    merbit_context_destroy(context);
  }
  return z;
}

/* Applies the preconditioner and checks that z times `scale` equals the CPU's result. */
static merbit_status mesh_apply(merbit_preconditioner *p, int kind, const merbit_buffer *r,
                                merbit_buffer *z, double scale) {
  const double *expected = mesh_expected(kind);
  double found[MESH_ROWS];
  merbit_status status =
      merbit_preconditioner_apply(p, merbit_buffer_pointer(r), merbit_buffer_pointer(z), NULL);
  int i;
  if (TRY(merbit_buffer_download(z, 0, found, sizeof found)) == MERBIT_OK) {
    for (i = 0; i < MESH_ROWS; i++) {
      assert_true(fabs(scale * found[i] - expected[i]) <= 1e-12 * (fabs(expected[i]) + 1));
    }
  }
  return status;
}

/* Sets up, applies and renews a preconditioner of a matrix in GPU memory, which is symmetric or
 * that of a wind, or of one in host memory whose nodes are lines. */
static merbit_status multigrid_of(merbit_context *context, int kind) {
  const int there = kind != MESH_LINES, windy = kind == MESH_WINDY;
  merbit_preconditioner *p = NULL;
  merbit_preconditioner_desc desc;
  merbit_buffer *arrays[3] = {NULL, NULL, NULL}, *r = NULL, *z = NULL, *fresh = NULL;
  char line[1024];
  mesh m, twice;
  merbit_view view = mesh_make(&m, 1, windy);
  const size_t values = (size_t)mesh_make(&twice, 2, windy).nnz * 8;
  merbit_status status = MERBIT_OK;
  int i;
  (void)mesh_expected(kind);
  mesh_options(&desc, kind);
  if (there) {
    status = put_csr(context, &view, arrays);
  }
  TRY(put(context, m.r, sizeof m.r, &r));
  TRY(merbit_buffer_create(context, sizeof m.r, &z));
  TRY(put(context, twice.values, values, &fresh));
  TRY(merbit_preconditioner_create(context, &view, &desc, &p));
  TRY(mesh_apply(p, kind, r, z, 1));
  if (status == MERBIT_OK) {
    (void)merbit_preconditioner_describe(p, line, sizeof line);
    went_without |= strstr(line, "on the GPU)") == NULL; /* no memory to set up there */
  }
  TRY(merbit_preconditioner_update_values(p,
                                          there ? merbit_buffer_pointer(fresh) : twice.values,
                                          there ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST));
  TRY(mesh_apply(p, kind, r, z, 2));
  CANNOT_TELL(merbit_preconditioner_destroy(p));
  merbit_buffer_destroy(r);
  merbit_buffer_destroy(z);
  merbit_buffer_destroy(fresh);
  for (i = 0; i < 3; i++) {
    merbit_buffer_destroy(arrays[i]);
  }
  return status;
}

TEST_UNUSED static merbit_status multigrid_there(merbit_context *context) {
  return multigrid_of(context, MESH_THERE);
}

TEST_UNUSED static merbit_status multigrid_windy(merbit_context *context) {
  return multigrid_of(context, MESH_WINDY);
}

TEST_UNUSED static merbit_status multigrid_uploaded(merbit_context *context) {
  return multigrid_of(context, MESH_LINES);
}

#endif /* TEST_FAKE_AMG_SCENARIOS_H */
