/* Matrices for the tests of the PETSc plugin: the same entries as PETSc's aij, as aijmerbit,
 * and as an aij with merbit's local blocks. */
#ifndef TESTS_PETSC_KINDS_H
#define TESTS_PETSC_KINDS_H
#include <petscksp.h>

typedef enum { AIJ, AIJMERBIT, BLOCKS_MERBIT, KINDS } kind;

static const char *const kind_names[KINDS] = {"aij", "aijmerbit", "aij of seqaijmerbit"};

/* Chooses the kind of matrices that PETSc makes from now on. */
PETSC_UNUSED static PetscErrorCode choose_kind(kind k) {
  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-mat_type", k == AIJMERBIT ? "aijmerbit" : "aij"));
  if (k == BLOCKS_MERBIT) {
    PetscCall(PetscOptionsSetValue(NULL, "-mat_seqaij_type", "seqaijmerbit"));
  } else {
    PetscCall(PetscOptionsClearValue(NULL, "-mat_seqaij_type"));
  }
  PetscFunctionReturn(0);
}

/* Returns a number in (-1, 1) that depends only on i and j; in complex builds both parts do. */
static PetscScalar entry(PetscInt i, PetscInt j) {
  const unsigned h = (unsigned)i * 2654435761u ^ (unsigned)j * 2246822519u;
  const PetscReal re = (PetscReal)((h >> 8) % 2001) / 1000 - 1;
#if defined(PETSC_USE_COMPLEX)
  return PetscCMPLX(re, (PetscReal)((h >> 3) % 1999) / 1000 - 1);
#else
  return re;
#endif
}

/* Makes a matrix with a heavy diagonal, neighbours at distances 1 and `step`, and a distant
 * entry in each ninth row, so that few rows have columns of other processes. `shift` varies the
 * entries. */
PETSC_UNUSED static PetscErrorCode make_matrix(PetscInt rows, PetscInt cols, PetscInt step,
                                               PetscInt shift, Mat *A) {
  PetscInt begin, end, i, k;
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, rows, cols));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 8, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 8, NULL, 8, NULL));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (i = begin; i < end; i++) {
    const PetscInt near[] = {i, i - step, i - 1, i + 1, i + step, (i + cols / 2) % cols};
    for (k = 0; k < (i % 9 == 4 ? 6 : 5); k++) {
      if (near[k] >= 0 && near[k] < cols) {
        PetscCall(MatSetValue(*A, i, near[k],
                              entry(i + shift, near[k]) + (PetscScalar)(near[k] == i ? 7 : 0),
                              INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* Fills x with numbers that depend only on their index. */
PETSC_UNUSED static PetscErrorCode fill(Vec x, PetscInt seed) {
  PetscInt begin, end, i;
  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(x, &begin, &end));
  for (i = begin; i < end; i++) {
    PetscCall(VecSetValue(x, i, entry(seed, i), INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(x));
  PetscCall(VecAssemblyEnd(x));
  PetscFunctionReturn(0);
}

#endif
