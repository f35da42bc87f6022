/* -pc_type merbit: iterations compared with PETSc's preconditioners and with -ksp_type merbit,
 * new values and structures, block sizes, the output of PCView, and the message of each
 * refusal. On several processes, local blocks. */
#include "grids.h"

#if !defined(PETSC_USE_COMPLEX)
/* ---- Comparisons -------------------------------------------------------------------------- */

/* Checks how often merbit has made and updated preconditioners since the last call. */
static PetscErrorCode made_and_updated(int made, int updated) {
  static const char *const events[] = {"MerbitPlan", "MerbitUpdate"};
  static int before[2];
  const int expected[] = {made, updated};
  PetscEventPerfInfo info;
  PetscLogEvent event;
  int k;
  PetscFunctionBegin;
  for (k = 0; k < 2; k++) {
    TRY(PetscLogEventGetId(events[k], &event));
    TRY(PetscLogEventGetPerfInfo(0, event, &info));
    PetscCheck(info.count - before[k] == expected[k], PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s: %d times, not %d", events[k], info.count - before[k], expected[k]);
    before[k] = info.count;
  }
  PetscFunctionReturn(0);
}

/* Checks that two PCs of A compute the same. */
static PetscErrorCode agree(Mat A, PC one, PC other) {
  PetscReal norm, error;
  Vec r, y, z;
  PetscFunctionBegin;
  TRY(MatCreateVecs(A, &y, &r));
  TRY(VecDuplicate(y, &z));
  TRY(fill(r, 3));
  TRY(PCSetUp(one));
  TRY(PCSetUp(other));
  TRY(PCApply(one, r, y));
  TRY(PCApply(other, r, z));
  TRY(VecNorm(z, NORM_2, &norm));
  TRY(VecAXPY(y, -1, z));
  TRY(VecNorm(y, NORM_2, &error));
  PetscCheck(norm > 0 && error <= 1e-12 * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "Two preconditioners differ by %g of %g", (double)error, (double)norm);
  TRY(VecDestroy(&r));
  TRY(VecDestroy(&y));
  TRY(VecDestroy(&z));
  PetscFunctionReturn(0);
}

/* Solves by PETSc's or merbit's CG with a preconditioner. Returns the iterations. */
static PetscErrorCode count(Mat A, const char *ksp_type, const char *pc_type, const char *kind,
                            PetscInt *iterations) {
  KSP ksp;
  PetscFunctionBegin;
  TRY(PetscOptionsSetValue(NULL, "-k_ksp_type", ksp_type));
  TRY(PetscOptionsSetValue(NULL, "-k_ksp_merbit_method", "cg"));
  TRY(PetscOptionsSetValue(NULL, "-k_ksp_norm_type", "unpreconditioned"));
  TRY(PetscOptionsSetValue(NULL, "-k_ksp_rtol", "1e-9"));
  TRY(PetscOptionsSetValue(NULL, "-k_pc_type", pc_type));
  TRY(PetscOptionsSetValue(NULL, "-k_pc_merbit_type", kind));
  TRY(make_ksp(A, "k_", &ksp));
  TRY(solve(ksp, 2e-9, iterations));
  TRY(KSPDestroy(&ksp));
  PetscFunctionReturn(0);
}

/* Compares each kind in PETSc's CG with merbit's CG, and kinds that PETSc has with PETSc's. */
static PetscErrorCode counts(void) {
  static const char *const theirs[] = {"none", "none", "none", "jacobi", "pbjacobi"};
  PetscInt plain, ours, by_petsc, by_merbit;
  Mat A;
  int k;
  PetscFunctionBegin;
  TRY(make_grid(20, 2, 1e-2, &A));
  TRY(rescale(A, 30));
  for (k = 0; k < KINDS_OF_PC; k++) {
    TRY(count(A, "cg", theirs[k], "amg", &plain));
    TRY(count(A, "cg", "merbit", names[k], &by_petsc));
    TRY(made_and_updated(1, 0));
    TRY(count(A, "merbit", "merbit", names[k], &by_merbit));
    TRY(made_and_updated(0, 0)); /* the solver has its own */
    ours = PetscAbsInt(by_petsc - by_merbit);
    PetscCheck(ours <= 1 && (k < 3 ? 2 * by_petsc < plain : PetscAbsInt(by_petsc - plain) <= 1),
               PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s: %" PetscInt_FMT " iterations by PETSc's CG, %" PetscInt_FMT
               " by merbit's, %" PetscInt_FMT " with %s",
               names[k], by_petsc, by_merbit, plain, theirs[k]);
  }
  TRY(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* ---- Changes of the matrix ---------------------------------------------------------------- */

/* Changes values and structure: a PC that must be reused computes the same bits. */
static PetscErrorCode stays(Mat A, PC pc) {
  PetscBool same;
  Vec r, y, z;
  int k;
  PetscFunctionBegin;
  TRY(MatCreateVecs(A, &y, &r));
  TRY(VecDuplicate(y, &z));
  TRY(fill(r, 3));
  TRY(PCSetReusePreconditioner(pc, PETSC_TRUE));
  TRY(PCApply(pc, r, y));
  for (k = 0; k < 2; k++) {
    TRY(MatScale(A, 10));
    if (k > 0) {
      TRY(MatSetValue(A, 5, 90, -0.25, INSERT_VALUES));
      TRY(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      TRY(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    }
    TRY(PCSetUp(pc));
    TRY(made_and_updated(0, 0));
    TRY(PCApply(pc, r, z));
    TRY(VecEqual(y, z, &same));
    PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A PC that is to stay has changed");
  }
  TRY(VecDestroy(&r));
  TRY(VecDestroy(&y));
  TRY(VecDestroy(&z));
  PetscFunctionReturn(0);
}

/* Changes values and structure: the PC then equals a new one. */
static PetscErrorCode changes(const char *kind) {
  PC pc, fresh;
  Mat A;
  PetscFunctionBegin;
  TRY(make_grid(20, 1, 1e-2, &A));
  TRY(make_pc(A, kind, &pc));
  TRY(shows(pc, kind, PETSC_TRUE));
  TRY(PCSetUp(pc));
  TRY(made_and_updated(1, 0));
  TRY(PCSetUp(pc));
  TRY(made_and_updated(0, 0));
  TRY(rescale(A, 1.5)); /* small enough for AMG to choose the same aggregates */
  TRY(make_pc(A, kind, &fresh));
  TRY(agree(A, pc, fresh));
  TRY(made_and_updated(1, 1));
  TRY(PCDestroy(&fresh));
  TRY(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  TRY(MatSetValue(A, 3, 77, -0.25, INSERT_VALUES));
  TRY(MatSetValue(A, 77, 3, -0.25, INSERT_VALUES));
  TRY(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  TRY(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  TRY(make_pc(A, kind, &fresh));
  TRY(agree(A, pc, fresh));
  TRY(made_and_updated(2, 0));
  TRY(stays(A, pc));
  TRY(PCDestroy(&fresh));
  TRY(PCDestroy(&pc));
  TRY(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* A KSP of merbit's type becomes PETSc's CG: the PC then makes M, and follows new values. */
static PetscErrorCode other_ksp(void) {
  PetscInt iterations, expected;
  Mat A;
  KSP ksp;
  PetscFunctionBegin;
  TRY(make_grid(20, 1, 1e-2, &A));
  TRY(PetscOptionsSetValue(NULL, "-k_ksp_type", "merbit"));
  TRY(PetscOptionsSetValue(NULL, "-k_pc_type", "merbit"));
  TRY(PetscOptionsSetValue(NULL, "-k_pc_merbit_type", "jacobi"));
  TRY(make_ksp(A, "k_", &ksp));
  TRY(solve(ksp, 2e-9, &iterations));
  TRY(made_and_updated(0, 0));
  TRY(KSPSetType(ksp, KSPCG));
  TRY(solve(ksp, 2e-9, &iterations));
  TRY(made_and_updated(1, 0));
  TRY(rescale(A, 30));
  TRY(solve(ksp, 2e-9, &iterations));
  TRY(made_and_updated(0, 1));
  TRY(count(A, "cg", "jacobi", "amg", &expected));
  PetscCheck(PetscAbsInt(iterations - expected) <= 1, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%" PetscInt_FMT " iterations for new values, not %" PetscInt_FMT, iterations,
             expected);
  TRY(KSPDestroy(&ksp));
  TRY(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* ---- What the matrix tells ---------------------------------------------------------------- */

/* Attaches a near null space of `count` vectors, plus the constant one on request. */
static PetscErrorCode attach_near(Mat A, PetscBool constant, PetscInt count) {
  MatNullSpace near;
  Vec vectors[2];
  PetscReal norm;
  PetscInt k;
  PetscFunctionBegin;
  for (k = 0; k < count; k++) {
    TRY(MatCreateVecs(A, &vectors[k], NULL));
    TRY(fill(vectors[k], 40 + k));
    TRY(VecNormalize(vectors[k], &norm));
  }
  TRY(MatNullSpaceCreate(PETSC_COMM_SELF, constant, count, vectors, &near));
  TRY(MatSetNearNullSpace(A, near));
  TRY(MatNullSpaceDestroy(&near));
  for (k = 0; k < count; k++) {
    TRY(VecDestroy(&vectors[k]));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode blocks(void) {
  PetscInt without, with;
  Mat A, small;
  PC pc, theirs;
  Vec x, b;
  KSP ksp;
  PetscFunctionBegin;
  TRY(make_grid(20, 3, 1e-2, &A));
  TRY(rescale(A, 5));
  TRY(make_pc(A, "amg", &pc));
  TRY(PCSetUp(pc));
  TRY(shows(pc, "3 near-null-space vectors", PETSC_TRUE));
  TRY(attach_near(A, PETSC_TRUE, 1));
  TRY(PCSetUp(pc));
  TRY(shows(pc, "3 near-null-space vectors",
            PETSC_TRUE)); /* PETSc calls this matrix the same */
  TRY(rescale(A, 1));
  TRY(PCSetUp(pc));
  TRY(shows(pc, "2 near-null-space vectors", PETSC_TRUE));
  TRY(PCDestroy(&pc));
  TRY(make_pc(A, "bjacobi", &pc));
  TRY(PCCreate(PETSC_COMM_SELF, &theirs));
  TRY(PCSetType(theirs, PCPBJACOBI));
  TRY(PCSetOperators(theirs, A, A));
  TRY(agree(A, pc, theirs));
  TRY(PCDestroy(&theirs));
  TRY(PCDestroy(&pc));
  TRY(MatDestroy(&A));
  /* For a scaled matrix the near null space is the scaled vector. */
  TRY(make_grid(30, 1, 1e-4, &A));
  TRY(rescale(A, 3));
  TRY(count(A, "cg", "merbit", "amg", &without));
  {
    MatNullSpace near;
    PetscReal norm;
    PetscInt i;
    Vec v;
    TRY(MatCreateVecs(A, &v, NULL));
    for (i = 0; i < 900; i++) {
      TRY(VecSetValue(v, i, i % 3 ? 1 : (PetscScalar)1 / 3, INSERT_VALUES));
    }
    TRY(VecAssemblyBegin(v));
    TRY(VecAssemblyEnd(v));
    TRY(VecNormalize(v, &norm));
    TRY(MatNullSpaceCreate(PETSC_COMM_SELF, PETSC_FALSE, 1, &v, &near));
    TRY(MatSetNearNullSpace(A, near));
    TRY(MatNullSpaceDestroy(&near));
    TRY(VecDestroy(&v));
  }
  TRY(count(A, "cg", "merbit", "amg", &with));
  PetscCheck(3 * with < 2 * without, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%" PetscInt_FMT " iterations with the near null space, %" PetscInt_FMT " without",
             with, without);
  TRY(count(A, "merbit", "merbit", "amg", &without));
  PetscCheck(PetscAbsInt(with - without) <= 1, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%" PetscInt_FMT " iterations by merbit's CG, %" PetscInt_FMT " by PETSc's",
             without, with);
  /* A vector of another size, also after a solve with the right one. */
  TRY(make_ksp(A, "k_", &ksp));
  TRY(MatCreateVecs(A, &x, &b));
  TRY(fill(b, 3));
  TRY(KSPSolve(ksp, b, x));
  TRY(make_grid(3, 1, 1, &small));
  TRY(attach_near(small, PETSC_FALSE, 1));
  {
    MatNullSpace near;
    TRY(MatGetNearNullSpace(small, &near));
    TRY(MatSetNearNullSpace(A, near));
  }
  TRY(make_pc(A, "amg", &pc));
  FAILS_WITH(PCSetUp(pc), "has 9 elements, but the matrix 900 rows");
  FAILS_WITH(KSPSolve(ksp, b, x), "has 9 elements, but the matrix 900 rows");
  TRY(KSPDestroy(&ksp));
  TRY(VecDestroy(&x));
  TRY(VecDestroy(&b));
  TRY(PCDestroy(&pc));
  TRY(MatDestroy(&small));
  TRY(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* ---- Options and failures ----------------------------------------------------------------- */

static PetscErrorCode options(void) {
  Mat A;
  PC pc;
  PetscFunctionBegin;
  TRY(make_grid(20, 1, 1, &A));
  TRY(PetscOptionsSetValue(NULL, "-p_pc_merbit_degree", "7"));
  TRY(PetscOptionsSetValue(NULL, "-p_pc_merbit_single", NULL));
  TRY(make_pc(A, "chebyshev", &pc));
  TRY(PCSetUp(pc));
  TRY(shows(pc, "degree 7", PETSC_TRUE));
  TRY(shows(pc, "f32 inside f64", PETSC_TRUE));
  TRY(PCDestroy(&pc));
  TRY(make_pc(A, "fsai", &pc));
  FAILS_WITH(PCSetUp(pc), "MERBIT_PRECONDITIONER_FSAI does not take it");
  TRY(PCDestroy(&pc));
  TRY(PetscOptionsClearValue(NULL, "-p_pc_merbit_degree"));
  TRY(PetscOptionsClearValue(NULL, "-p_pc_merbit_single"));
  FAILS_WITH(make_pc(A, "ilu", &pc), "ilu");
  TRY(PetscOptionsClearValue(NULL, "-p_pc_merbit_type"));
  TRY(PCDestroy(&pc));
  TRY(PCCreate(PETSC_COMM_SELF, &pc));
  TRY(PCSetType(pc, "merbit"));
  TRY(PCSetOperators(pc, A, A));
  TRY(PCSetUp(pc));
  TRY(shows(pc, "AMG", PETSC_TRUE)); /* the default */
  TRY(PCDestroy(&pc));
  TRY(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* New values from which M cannot be made, and then valid ones: a new M. */
static PetscErrorCode failures(void) {
  PetscScalar diagonal;
  PetscInt row = 5;
  Mat A, dense;
  Vec r, z;
  PC pc, fresh;
  PetscFunctionBegin;
  TRY(make_grid(20, 1, 1, &A));
  TRY(MatGetValue(A, row, row, &diagonal));
  TRY(make_pc(A, "jacobi", &pc));
  TRY(PCSetUp(pc));
  TRY(MatSetValue(A, row, row, 0, INSERT_VALUES));
  TRY(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  TRY(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  FAILS_WITH(PCSetUp(pc), "A(5, 5)");
  TRY(MatCreateVecs(A, &r, &z));
  TRY(fill(r, 3));
  FAILS_WITH(PCApply(pc, r, z), "A(5, 5)"); /* M does not keep some of the new values */
  TRY(VecDestroy(&r));
  TRY(VecDestroy(&z));
  TRY(MatSetValue(A, row, row, diagonal, INSERT_VALUES));
  TRY(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  TRY(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  TRY(make_pc(A, "jacobi", &fresh));
  TRY(agree(A, pc, fresh));
  TRY(PCDestroy(&fresh));
  TRY(PCDestroy(&pc));
  TRY(MatSetValue(A, row, row + 1, 9, INSERT_VALUES));
  TRY(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  TRY(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  TRY(make_pc(A, "chebyshev", &pc));
  FAILS_WITH(PCSetUp(pc), "merbit: ");
  TRY(PCDestroy(&pc));
  TRY(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &dense));
  TRY(make_pc(dense, "amg", &pc));
  FAILS_WITH(PCSetUp(pc), "this one is seqdense");
  TRY(PCDestroy(&pc));
  TRY(MatDestroy(&dense));
  TRY(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* ---- Several processes -------------------------------------------------------------------- */

/* PETSc's CG with merbit's M of each local block; some processes may have no rows. */
static PetscErrorCode local_blocks(PetscInt points) {
  PetscInt iterations;
  KSP ksp;
  Mat A;
  int k;
  PetscFunctionBegin;
  TRY(make_grid(points, 1, 1e-2, &A));
  TRY(PetscOptionsSetValue(NULL, "-l_ksp_type", "cg"));
  TRY(PetscOptionsSetValue(NULL, "-l_ksp_norm_type", "unpreconditioned"));
  TRY(PetscOptionsSetValue(NULL, "-l_ksp_rtol", "1e-9"));
  TRY(PetscOptionsSetValue(NULL, "-l_pc_type", "bjacobi"));
  TRY(PetscOptionsSetValue(NULL, "-l_sub_pc_type", "merbit"));
  for (k = 0; k < KINDS_OF_PC; k++) {
    TRY(PetscOptionsSetValue(NULL, "-l_sub_pc_merbit_type", names[k]));
    TRY(make_ksp(A, "l_", &ksp));
    TRY(solve(ksp, 2e-9, &iterations));
    TRY(KSPDestroy(&ksp));
  }
  TRY(MatDestroy(&A));
  PetscFunctionReturn(0);
}
#endif

static PetscErrorCode refused(const char *text) {
  Mat A;
  PC pc;
  PetscFunctionBegin;
  TRY(make_grid(20, 1, 1, &A));
  TRY(PCCreate(PETSC_COMM_WORLD, &pc));
  TRY(PCSetType(pc, "merbit"));
  TRY(PCSetOperators(pc, A, A));
  FAILS_WITH(PCSetUp(pc), text);
  TRY(PCDestroy(&pc));
  TRY(MatDestroy(&A));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
  PetscMPIInt size;
  int k;
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  TRY(PetscLogDefaultBegin());
  for (k = AIJ; k <= AIJMERBIT; k++) {
    TRY(choose_kind((kind)k));
    if (size > 1) {
      TRY(refused("-pc_type bjacobi -sub_pc_type merbit"));
    }
#if defined(PETSC_USE_COMPLEX)
    if (size == 1) {
      TRY(refused("F64"));
    }
  }
#else
    if (size > 1) {
      TRY(local_blocks(20));
    }
  }
  TRY(choose_kind(AIJ));
  if (size > 1) {
    TRY(local_blocks(1));
  } else {
    TRY(counts());
    for (k = 0; k < KINDS_OF_PC; k++) {
      TRY(changes(names[k]));
    }
    TRY(other_ksp());
    TRY(blocks());
    TRY(options());
    TRY(failures());
  }
#endif
  TRY(PetscPrintf(PETSC_COMM_WORLD, "preconditioners: passed\n"));
  return PetscFinalize();
}
