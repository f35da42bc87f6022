/* Operations with the plugin's matrices give the same results as with PETSc's own: products,
 * new values, new structures, conversions, products of matrices, factorisations. merbit
 * multiplies between operations. Run on any number of processes. */
#include "digest.h"

/* Returns a matrix of the same size whose structure differs from A's. */
static PetscErrorCode other(Mat A, Mat *B) {
  PetscInt rows, cols;
  PetscFunctionBegin;
  TRY(MatGetSize(A, &rows, &cols));
  TRY(make_matrix(rows, cols, 3, 1, B));
  PetscFunctionReturn(0);
}

static PetscErrorCode assemble(Mat A) {
  PetscFunctionBegin;
  TRY(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  TRY(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* Returns how many products merbit has computed on this process; requires -log_view or the
 * like. */
static PetscErrorCode count_products(PetscLogDouble *count) {
  PetscEventPerfInfo info;
  PetscLogEvent event;
  PetscFunctionBegin;
  PetscCall(PetscLogEventGetId("MerbitMult", &event));
  PetscCheck(event >= 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "There is no event MerbitMult");
  PetscCall(PetscLogEventGetPerfInfo(0, event, &info));
  *count = (PetscLogDouble)info.count;
  PetscFunctionReturn(0);
}

/* ---- Changes of A ------------------------------------------------------------------------- */

static PetscErrorCode nothing(Mat A, digest *d) {
  (void)A;
  (void)d;
  return 0;
}

static PetscErrorCode many_products(Mat A, digest *d) {
  int k;
  PetscFunctionBegin;
  for (k = 0; k < 6; k++) { /* enough for a plan to be tuned */
    d->count = 0;
    TRY(add_products(d, A));
    TRY(add_products(d, A));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode scale(Mat A, digest *d) {
  PetscFunctionBegin;
  TRY(many_products(A, d));
  TRY(MatScale(A, (PetscScalar)-1.5));
  PetscFunctionReturn(0);
}

static PetscErrorCode equal_values(Mat A, digest *d) {
  PetscFunctionBegin;
  (void)d;
  TRY(MatZeroEntries(A));
  TRY(MatShift(A, 1)); /* its structure contains the diagonal */
  PetscFunctionReturn(0);
}

static PetscErrorCode shift(Mat A, digest *d) {
  PetscFunctionBegin;
  TRY(many_products(A, d));
  TRY(MatShift(A, 3));
  PetscFunctionReturn(0);
}

static PetscErrorCode diagonal_scale(Mat A, digest *d) {
  Vec l, r;
  PetscFunctionBegin;
  (void)d;
  TRY(MatCreateVecs(A, &r, &l));
  TRY(fill(l, 1));
  TRY(fill(r, 2));
  TRY(MatDiagonalScale(A, l, r));
  TRY(VecDestroy(&l));
  TRY(VecDestroy(&r));
  PetscFunctionReturn(0);
}

static PetscErrorCode diagonal_set(Mat A, digest *d) {
  Vec r;
  PetscFunctionBegin;
  TRY(MatCreateVecs(A, &r, NULL));
  TRY(MatGetDiagonal(A, r));
  TRY(add_vector(d, r));
  TRY(fill(r, 4));
  TRY(MatDiagonalSet(A, r, ADD_VALUES));
  TRY(VecDestroy(&r));
  PetscFunctionReturn(0);
}

static PetscErrorCode axpy_as(Mat A, MatStructure structure) {
  Mat B;
  PetscFunctionBegin;
  if (structure == SAME_NONZERO_PATTERN) {
    TRY(MatDuplicate(A, MAT_COPY_VALUES, &B));
  } else {
    TRY(other(A, &B));
  }
  TRY(MatAXPY(A, (PetscScalar)0.5, B, structure));
  TRY(MatDestroy(&B));
  PetscFunctionReturn(0);
}

static PetscErrorCode axpy_same(Mat A, digest *d) {
  (void)d;
  return axpy_as(A, SAME_NONZERO_PATTERN);
}

static PetscErrorCode axpy_different(Mat A, digest *d) {
  (void)d;
  return axpy_as(A, DIFFERENT_NONZERO_PATTERN);
}

static PetscErrorCode set_at(Mat A, PetscInt distance) {
  PetscInt begin, end, i, cols;
  PetscFunctionBegin;
  TRY(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  TRY(MatGetSize(A, NULL, &cols));
  TRY(MatGetOwnershipRange(A, &begin, &end));
  for (i = begin; i < end; i++) {
    TRY(MatSetValue(A, i, (i + distance) % cols, entry(i, distance), INSERT_VALUES));
  }
  TRY(assemble(A));
  PetscFunctionReturn(0);
}

static PetscErrorCode set_values(Mat A, digest *d) {
  (void)d;
  return set_at(A, 0);
}

static PetscErrorCode set_new_nonzeros(Mat A, digest *d) {
  (void)d;
  return set_at(A, 17);
}

static PetscErrorCode set_local_array(Mat A, digest *d) {
  Mat block = A;
  PetscBool parallel;
  PetscScalar *values;
  PetscFunctionBegin;
  (void)d;
  TRY(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &parallel));
  if (parallel) {
    TRY(MatMPIAIJGetSeqAIJ(A, &block, NULL, NULL));
  }
  TRY(MatSeqAIJGetArray(block, &values));
  values[0] = 42;
  TRY(MatSeqAIJRestoreArray(block, &values));
  PetscFunctionReturn(0);
}

static PetscErrorCode zero_rows(Mat A, digest *d) {
  const PetscInt rows[] = {0, 4, 40};
  PetscMPIInt rank;
  PetscFunctionBegin;
  (void)d;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  TRY(MatZeroRows(A, rank == 0 ? 3 : 0, rows, 2, NULL, NULL));
  PetscFunctionReturn(0);
}

static PetscErrorCode zero_rows_columns(Mat A, digest *d) {
  const PetscInt rows[] = {0, 4, 40};
  PetscMPIInt rank;
  PetscFunctionBegin;
  (void)d;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  TRY(MatZeroRowsColumns(A, rank == 0 ? 3 : 0, rows, 2, NULL, NULL));
  PetscFunctionReturn(0);
}

static PetscErrorCode conjugate(Mat A, digest *d) {
  Vec x, y;
  PetscFunctionBegin;
  TRY(MatCreateVecs(A, &y, &x));
  TRY(fill(x, 3));
  TRY(MatMultHermitianTranspose(A, x, y));
  TRY(add_vector(d, y));
  TRY(VecDestroy(&x));
  TRY(VecDestroy(&y));
  TRY(MatConjugate(A));
  PetscFunctionReturn(0);
}

static PetscErrorCode replace(Mat A, digest *d) {
  Mat B;
  PetscFunctionBegin;
  (void)d;
  TRY(other(A, &B));
  TRY(MatHeaderReplace(A, &B));
  PetscFunctionReturn(0);
}

static PetscErrorCode preallocate_again(Mat A, digest *d) {
  PetscFunctionBegin;
  (void)d;
  TRY(MatSeqAIJSetPreallocation(A, 5, NULL));
  TRY(MatMPIAIJSetPreallocation(A, 5, NULL, 5, NULL));
  TRY(set_at(A, 1));
  PetscFunctionReturn(0);
}

static PetscErrorCode from_coordinates(Mat A, digest *d) {
  PetscInt rows[] = {0, 1, 1, 5}, cols[] = {0, 1, 30, 2};
  const PetscScalar values[] = {1, 2, 3, 4}, doubled[] = {2, 4, 6, 8};
  PetscMPIInt rank;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  TRY(MatSetPreallocationCOO(A, rank == 0 ? 4 : 0, rows, cols));
  TRY(MatSetValuesCOO(A, values, INSERT_VALUES));
  TRY(add_products(d, A));
  TRY(MatSetValuesCOO(A, doubled, INSERT_VALUES));
  PetscFunctionReturn(0);
}

/* ---- Results made from A ------------------------------------------------------------------ */

static PetscErrorCode duplicate(Mat A, digest *d) {
  Mat B, C;
  PetscFunctionBegin;
  TRY(MatDuplicate(A, MAT_COPY_VALUES, &B));
  TRY(MatDuplicate(A, MAT_SHARE_NONZERO_PATTERN, &C));
  TRY(MatCopy(B, C, SAME_NONZERO_PATTERN));
  TRY(MatScale(C, 2));
  TRY(add_products(d, B));
  TRY(add_matrix(d, &B));
  TRY(add_matrix(d, &C));
  PetscFunctionReturn(0);
}

static PetscErrorCode transpose(Mat A, digest *d) {
  Mat B;
  PetscFunctionBegin;
  TRY(MatTranspose(A, MAT_INITIAL_MATRIX, &B));
  TRY(MatScale(A, 3));
  TRY(MatTranspose(A, MAT_REUSE_MATRIX, &B));
  TRY(add_matrix(d, &B));
  PetscFunctionReturn(0);
}

static PetscErrorCode products_of_matrices(Mat A, digest *d) {
  Mat B, C;
  PetscFunctionBegin;
  TRY(other(A, &B));
  TRY(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  TRY(MatScale(B, 2));
  TRY(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C));
  TRY(add_matrix(d, &C));
  TRY(MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  TRY(add_matrix(d, &C));
  TRY(MatPtAP(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  TRY(add_matrix(d, &C));
  TRY(MatMatMatMult(A, B, A, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  TRY(add_matrix(d, &C));
  TRY(MatDestroy(&B));
  PetscFunctionReturn(0);
}

static PetscErrorCode products_with_dense(Mat A, digest *d) {
  PetscInt rows, local, begin, end, i, j;
  Mat B, C;
  PetscFunctionBegin;
  TRY(MatGetSize(A, NULL, &rows));
  TRY(MatGetLocalSize(A, NULL, &local));
  TRY(MatCreateDense(PETSC_COMM_WORLD, local, PETSC_DECIDE, rows, 5, NULL, &B));
  TRY(MatGetOwnershipRange(B, &begin, &end));
  for (i = begin; i < end; i++) {
    for (j = 0; j < 5; j++) {
      TRY(MatSetValue(B, i, j, entry(i, j), INSERT_VALUES));
    }
  }
  TRY(assemble(B));
  TRY(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  TRY(add_matrix(d, &C));
  TRY(MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  TRY(add_matrix(d, &C));
  TRY(MatDestroy(&B));
  PetscFunctionReturn(0);
}

static PetscErrorCode submatrices(Mat A, digest *d) {
  Mat B, *parts;
  PetscInt begin, end;
  IS is;
  PetscFunctionBegin;
  TRY(MatGetOwnershipRange(A, &begin, &end));
  TRY(ISCreateStride(PETSC_COMM_WORLD, (end - begin) / 2, begin, 2, &is));
  TRY(MatCreateSubMatrix(A, is, is, MAT_INITIAL_MATRIX, &B));
  TRY(MatScale(A, 5));
  TRY(MatCreateSubMatrix(A, is, is, MAT_REUSE_MATRIX, &B));
  TRY(add_products(d, B));
  TRY(add_matrix(d, &B));
  TRY(ISDestroy(&is));
  TRY(ISCreateStride(PETSC_COMM_SELF, 30, 2, 1, &is));
  TRY(MatCreateSubMatrices(A, 1, &is, &is, MAT_INITIAL_MATRIX, &parts));
  TRY(MatDuplicate(parts[0], MAT_COPY_VALUES, &B));
  {
    PetscReal norm;
    TRY(MatNorm(B, NORM_1, &norm));
    TRY(add(d, norm));
  }
  TRY(MatDestroy(&B));
  TRY(MatDestroySubMatrices(1, &parts));
  TRY(ISDestroy(&is));
  PetscFunctionReturn(0);
}

static PetscErrorCode conversions(Mat A, digest *d) {
  static const char *const types[] = {"aij", "aijmerbit", "dense", "baij", "aijperm", "is"};
  PetscLogDouble before, after;
  PetscBool set;
  Mat B;
  size_t k;
  PetscFunctionBegin;
  for (k = 0; k < sizeof types / sizeof *types; k++) {
    TRY(MatConvert(A, types[k], MAT_INITIAL_MATRIX, &B));
    TRY(add_matrix(d, &B));
  }
  TRY(MatConvert(A, "aij", MAT_INITIAL_MATRIX, &B)); /* and back, in place and to a copy */
  TRY(MatConvert(B, "aijmerbit", MAT_INPLACE_MATRIX, &B));
  TRY(add_products(d, B));
  TRY(MatConvert(B, "aij", MAT_INPLACE_MATRIX, &B));
  TRY(count_products(&before));
  TRY(add_products(d, B));
  TRY(count_products(&after));
  TRY(PetscOptionsHasName(NULL, NULL, "-mat_seqaij_type", &set));
  PetscCheck(set || before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "After MatConvert to aij, merbit computed %g products", after - before);
  TRY(MatScale(A, 2));
  TRY(MatConvert(A, "aij", MAT_REUSE_MATRIX, &B));
  TRY(add_matrix(d, &B));
  PetscFunctionReturn(0);
}

static PetscErrorCode norms_and_rows(Mat A, digest *d) {
  PetscReal norm, columns[1000];
  PetscInt begin, end, count, i, j, cols;
  const PetscInt *indices;
  const PetscScalar *values;
  Vec sums;
  PetscFunctionBegin;
  TRY(MatNorm(A, NORM_1, &norm));
  TRY(add(d, norm));
  TRY(MatNorm(A, NORM_INFINITY, &norm));
  TRY(add(d, norm));
  TRY(MatGetSize(A, NULL, &cols));
  TRY(MatGetColumnNorms(A, NORM_2, columns));
  TRY(add(d, columns[0] + columns[cols - 1]));
  TRY(MatCreateVecs(A, NULL, &sums));
  TRY(MatGetRowSum(A, sums));
  TRY(add_vector(d, sums));
  TRY(MatGetOwnershipRange(A, &begin, &end));
  for (i = begin; i < end; i++) {
    PetscScalar sum = 0;
    TRY(MatGetRow(A, i, &count, &indices, &values));
    for (j = 0; j < count; j++) {
      sum += values[j] * (PetscScalar)(indices[j] + 1);
    }
    TRY(MatRestoreRow(A, i, &count, &indices, &values));
    TRY(VecSetValue(sums, i, sum, INSERT_VALUES));
  }
  TRY(VecAssemblyBegin(sums));
  TRY(VecAssemblyEnd(sums));
  TRY(add_vector(d, sums));
  TRY(VecDestroy(&sums));
  PetscFunctionReturn(0);
}

static PetscErrorCode save_and_load(Mat A, digest *d) {
  static const char name[] = "operations.dat";
  PetscViewer viewer;
  Mat B;
  PetscFunctionBegin;
  TRY(PetscViewerBinaryOpen(PETSC_COMM_WORLD, name, FILE_MODE_WRITE, &viewer));
  TRY(MatView(A, viewer));
  TRY(PetscViewerDestroy(&viewer));
  TRY(PetscViewerBinaryOpen(PETSC_COMM_WORLD, name, FILE_MODE_READ, &viewer));
  TRY(MatCreate(PETSC_COMM_WORLD, &B));
  TRY(MatSetFromOptions(B));
  TRY(MatLoad(B, viewer));
  TRY(PetscViewerDestroy(&viewer));
  TRY(add_products(d, B));
  TRY(add_matrix(d, &B));
  PetscFunctionReturn(0);
}

static PetscErrorCode smooth(Mat A, digest *d) {
  Vec x, b;
  PetscFunctionBegin;
  TRY(MatCreateVecs(A, &x, &b));
  TRY(fill(b, 8));
  TRY(MatSOR(A, b, 1, (MatSORType)(SOR_LOCAL_SYMMETRIC_SWEEP | SOR_ZERO_INITIAL_GUESS), 0, 2, 1,
             x));
  TRY(add_vector(d, x));
  TRY(VecDestroy(&x));
  TRY(VecDestroy(&b));
  PetscFunctionReturn(0);
}

/* Solves with several preconditioners; adds solutions and numbers of iterations to the
 * digest. */
static PetscErrorCode solves(Mat A, digest *d) {
  static const char *const preconditioners[] = {"none", "jacobi", "bjacobi", "asm",     "sor",
                                                "gamg", "hypre",  "lu",      "pbjacobi"};
  PetscMPIInt size;
  size_t k;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (k = 0; k < sizeof preconditioners / sizeof *preconditioners; k++) {
    const char *pc = preconditioners[k];
    PetscInt iterations;
    KSP ksp;
    PC p;
    Vec x, b;
#if !defined(PETSC_HAVE_HYPRE)
    if (pc[0] == 'h') {
      continue;
    }
#endif
    if (pc[0] == 'l' && size > 1) {
      continue;
    }
    TRY(MatCreateVecs(A, &x, &b));
    TRY(fill(b, 2));
    TRY(KSPCreate(PETSC_COMM_WORLD, &ksp));
    TRY(KSPSetOperators(ksp, A, A));
    TRY(KSPSetType(ksp, k % 2 ? KSPBCGS : KSPGMRES));
    TRY(KSPGetPC(ksp, &p));
    TRY(PCSetType(p, pc));
    TRY(KSPSetTolerances(ksp, 1e-13, PETSC_DEFAULT, PETSC_DEFAULT, 500));
    TRY(KSPSolve(ksp, b, x));
    TRY(KSPGetIterationNumber(ksp, &iterations));
    TRY(add_vector(d, x));
    TRY(KSPDestroy(&ksp));
    TRY(VecDestroy(&x));
    TRY(VecDestroy(&b));
  }
  PetscFunctionReturn(0);
}

/* An operation; those for any shape also run with rectangular matrices. */
static const struct {
  const char *name;
  PetscErrorCode (*run)(Mat, digest *);
  PetscBool any_shape;
} operations[] = {{"nothing", nothing, PETSC_TRUE},
                  {"many products", many_products, PETSC_TRUE},
                  {"MatScale", scale, PETSC_TRUE},
                  {"equal values", equal_values, PETSC_FALSE},
                  {"MatShift", shift, PETSC_FALSE},
                  {"MatDiagonalScale", diagonal_scale, PETSC_TRUE},
                  {"MatDiagonalSet", diagonal_set, PETSC_FALSE},
                  {"MatAXPY, same", axpy_same, PETSC_TRUE},
                  {"MatAXPY, different", axpy_different, PETSC_TRUE},
                  {"MatSetValues", set_values, PETSC_TRUE},
                  {"MatSetValues, new", set_new_nonzeros, PETSC_TRUE},
                  {"MatSeqAIJGetArray", set_local_array, PETSC_TRUE},
                  {"MatZeroRows", zero_rows, PETSC_FALSE},
                  {"MatZeroRowsColumns", zero_rows_columns, PETSC_FALSE},
                  {"MatConjugate", conjugate, PETSC_TRUE},
                  {"MatHeaderReplace", replace, PETSC_TRUE},
                  {"preallocate again", preallocate_again, PETSC_TRUE},
                  {"MatSetValuesCOO", from_coordinates, PETSC_TRUE},
                  {"MatDuplicate, MatCopy", duplicate, PETSC_TRUE},
                  {"MatTranspose", transpose, PETSC_TRUE},
                  {"products of matrices", products_of_matrices, PETSC_FALSE},
                  {"products with dense", products_with_dense, PETSC_FALSE},
                  {"submatrices", submatrices, PETSC_FALSE},
                  {"MatConvert", conversions, PETSC_FALSE},
                  {"norms, rows", norms_and_rows, PETSC_TRUE},
                  {"MatView, MatLoad", save_and_load, PETSC_TRUE},
                  {"MatSOR", smooth, PETSC_FALSE},
                  {"KSP and PC", solves, PETSC_FALSE}};

/* Runs one operation on a new matrix of a kind, and checks that merbit computed its
 * products. */
static PetscErrorCode run(size_t which, kind k, PetscInt rows, PetscInt cols, digest *d) {
  PetscLogDouble before, after;
  PetscBool deterministic;
  Mat A;
  PetscFunctionBegin;
  d->count = 0;
  TRY(choose_kind(k));
  TRY(make_matrix(rows, cols, 11, 0, &A));
  TRY(add_products(d, A));
  TRY(operations[which].run(A, d));
  TRY(count_products(&before));
  TRY(add_products(d, A));
  TRY(count_products(&after));
  TRY(MatDestroy(&A));
  TRY(PetscOptionsHasName(NULL, NULL, "-merbit_deterministic", &deterministic));
  /* Without the option the faster side multiplies. MatSetPreallocationCOO of mpiaij makes
   * blocks without applying -mat_seqaij_type. */
  PetscCheck((after > before) == (k != AIJ) || !deterministic ||
                 (k == BLOCKS_MERBIT && operations[which].run == from_coordinates),
             PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: merbit computed %g products of %s",
             operations[which].name, after - before, kind_names[k]);
  PetscFunctionReturn(0);
}

/* Compares the digest of a kind of matrix with that of aij. */
static PetscErrorCode compare(size_t which, kind k, const digest *expected, const digest *d) {
  const PetscReal most = 1e5 * PETSC_MACHINE_EPSILON;
  PetscReal scale = 0;
  int i;
  PetscFunctionBegin;
  PetscCheck(d->count == expected->count, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s: %d numbers for %d", operations[which].name, d->count, expected->count);
  for (i = 0; i < d->count; i++) {
    scale = PetscMax(1, PetscAbsScalar(expected->value[i]));
    PetscCheck(PetscAbsScalar(d->value[i] - expected->value[i]) <= most * scale,
               PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: number %d of %s is off by %g of %g",
               operations[which].name, i, kind_names[k],
               (double)PetscAbsScalar(d->value[i] - expected->value[i]), (double)scale);
  }
  PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
  static const PetscInt shapes[][2] = {
      {130, 130}, {130, 90}, {90, 130}, {3, 3000}, {6000, 6000}};
  size_t which, shape;
  kind k;
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscLogDefaultBegin());
  for (which = 0; which < sizeof operations / sizeof *operations; which++) {
    for (shape = 0; shape < (operations[which].any_shape ? 5 : 1); shape++) {
      digest expected, d;
      if (shape > 2 && which > 10) {
        break;
      }
      TRY(run(which, AIJ, shapes[shape][0], shapes[shape][1], &expected));
      for (k = AIJMERBIT; k < KINDS; k++) {
        TRY(run(which, k, shapes[shape][0], shapes[shape][1], &d));
        TRY(compare(which, k, &expected, &d));
      }
    }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: equal\n", operations[which].name));
  }
  return PetscFinalize();
}
