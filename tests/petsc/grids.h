/* Helpers for the tests of preconditioners: their names, matrices of grids, and the output of
 * PCView. */
#ifndef TESTS_PETSC_GRIDS_H
#define TESTS_PETSC_GRIDS_H
#include "solves.h"

PETSC_UNUSED static const char *const names[] = {"amg", "chebyshev", "fsai", "jacobi",
                                                 "bjacobi"};
enum { KINDS_OF_PC = sizeof names / sizeof *names };

/* Makes the 5-point stencil on n x n points with `unknowns` coupled unknowns at each. Row sums
 * are `shift`. */
PETSC_UNUSED static PetscErrorCode make_grid(PetscInt n, PetscInt unknowns, PetscScalar shift,
                                             Mat *A) {
  PetscInt begin, end, row, k, u;
  PetscFunctionBegin;
  TRY(MatCreate(PETSC_COMM_WORLD, A));
  TRY(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n * n * unknowns, n * n * unknowns));
  TRY(MatSetBlockSize(*A, unknowns));
  TRY(MatSetFromOptions(*A));
  TRY(MatSetUp(*A));
  TRY(MatGetOwnershipRange(*A, &begin, &end));
  for (row = begin; row < end; row++) {
    const PetscInt point = row / unknowns, x = point % n, y = point / n;
    const PetscInt near[] = {x > 0 ? point - 1 : -1, x < n - 1 ? point + 1 : -1,
                             y > 0 ? point - n : -1, y < n - 1 ? point + n : -1};
    PetscScalar diagonal = shift;
    for (k = 0; k < 4; k++) {
      if (near[k] >= 0) {
        diagonal += 1;
        TRY(MatSetValue(*A, row, near[k] * unknowns + row % unknowns, -1, INSERT_VALUES));
      }
    }
    for (u = 0; u < unknowns; u++) {
      if (u != row % unknowns) {
        diagonal += 0.5;
        TRY(MatSetValue(*A, row, point * unknowns + u, -0.5, INSERT_VALUES));
      }
    }
    TRY(MatSetValue(*A, row, row, diagonal, INSERT_VALUES));
  }
  TRY(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  TRY(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* Makes a PC of merbit's kind for A. */
PETSC_UNUSED static PetscErrorCode make_pc(Mat A, const char *kind, PC *pc) {
  PetscFunctionBegin;
  TRY(PetscOptionsSetValue(NULL, "-p_pc_merbit_type", kind));
  TRY(PCCreate(PETSC_COMM_SELF, pc));
  TRY(PCSetOptionsPrefix(*pc, "p_"));
  TRY(PCSetType(*pc, "merbit"));
  TRY(PCSetOperators(*pc, A, A));
  TRY(PCSetFromOptions(*pc));
  PetscFunctionReturn(0);
}

/* Checks whether PCView prints `text`. */
PETSC_UNUSED static PetscErrorCode shows(PC pc, const char *text, PetscBool there) {
  char printed[4096];
  PetscViewer viewer;
  size_t length;
  FILE *file;
  PetscFunctionBegin;
  TRY(PetscViewerASCIIOpen(PETSC_COMM_SELF, "view.txt", &viewer));
  TRY(PCView(pc, viewer));
  TRY(PetscViewerDestroy(&viewer));
  file = fopen("view.txt", "r");
  PetscCheck(file, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "No view.txt");
  length = fread(printed, 1, sizeof printed - 1, file);
  (void)fclose(file);
  printed[length] = '\0';
  PetscCheck(!strstr(printed, text) == !there, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s \"%s\" in %s", there ? "There is no" : "There is", text, printed);
  PetscFunctionReturn(0);
}

#endif
