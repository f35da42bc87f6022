/* Solves with a sequential matrix by merbit's solvers, for -ksp_type merbit and -pc_type
 * merbit. With a GPU the whole solve runs there: b goes in, x comes out. */
#include "merbit_petsc.h"

#define SOLVES_EXPECTED 10 /* of one KSP or PC with the same structure */

/* Reads the options of these names, which KSP and PC share. */
PetscErrorCode merbit_petsc_solver_options(PetscOptionItems *PetscOptionsObject,
                                           const char *method, const char *restart,
                                           merbit_solver_desc *desc) {
  static const char *const methods[] = {"cg", "bicgstab",
                                        "gmres"}; /* from MERBIT_SOLVER_CG on */
  PetscInt number = (PetscInt)desc->method - MERBIT_SOLVER_CG, cycle = desc->restart;
  PetscFunctionBegin;
  PetscCall(PetscOptionsEList(method, "Method of the solve", "docs/petsc.md", methods, 3,
                              methods[number], &number, NULL));
  PetscCall(PetscOptionsRangeInt(restart, "Iterations of a cycle of GMRES", "docs/petsc.md",
                                 cycle, &cycle, NULL, 1, 512));
  desc->method = (merbit_solver_method)(MERBIT_SOLVER_CG + number);
  desc->restart = (int)cycle;
  PetscFunctionReturn(0);
}

/* Refuses a matrix that the KSP or PC `object` cannot solve with. */
PetscErrorCode merbit_petsc_solver_check(PetscObject object, Mat A) {
  const char *type;
  PetscMPIInt size;
  PetscInt rows, cols;
  PetscBool fits;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCheck(
      size == 1, PetscObjectComm(object), PETSC_ERR_SUP,
      "merbit solves within one process, but the matrix is spread over %d; use PETSc's KSP "
      "with -mat_type " MATAIJMERBIT ", or merbit for the local blocks: -pc_type bjacobi "
      "-sub_ksp_type merbit -sub_pc_type jacobi",
      size);
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &fits));
  PetscCheck(fits, PetscObjectComm(object), PETSC_ERR_SUP,
             "merbit solves with matrices of type " MATSEQAIJ " and those derived from it, but "
             "this one is %s; use -mat_type aij",
             type);
  PetscCall(MatGetSize(A, &rows, &cols));
  PetscCheck(rows == cols, PetscObjectComm(object), PETSC_ERR_ARG_SIZ,
             "merbit solves with square matrices, but this one has %" PetscInt_FMT " rows and "
             "%" PetscInt_FMT " columns",
             rows, cols);
  PetscFunctionReturn(0);
}

/* Makes the solver fit the description, and the values and structure that A has now. */
static PetscErrorCode refresh(merbit_petsc_solver *s, Mat A, const merbit_solver_desc *desc) {
  merbit_petsc_change change;
  merbit_view view;
  PetscBool same;
  PetscFunctionBegin;
  PetscCall(merbit_petsc_open_solvers());
  PetscCall(merbit_petsc_open_csr(A, &s->stamp, &view, &change));
  PetscCall(PetscMemcmp(&s->desc, desc, sizeof *desc, &same));
  if (!s->solver || !same || change == CHANGED_STRUCTURE) {
    merbit_solver_destroy(s->solver);
    s->desc = *desc;
    MERBIT_PETSC_CALL(merbit_petsc.solvers,
                      merbit_solver_create(merbit_petsc.solvers, &view, desc, &s->solver));
  } else if (change == CHANGED_VALUES) {
    MERBIT_PETSC_CALL(merbit_petsc.solvers,
                      merbit_solver_update_values(s->solver, view.values, MERBIT_MEMORY_HOST));
  }
  PetscCall(merbit_petsc_close_csr(A, &view));
  PetscFunctionReturn(0);
}

/* Solves A x = b. `desc` need only have what a caller chooses; history and s->result are those
 * of merbit_solver_solve. */
PetscErrorCode merbit_petsc_solver_solve(merbit_petsc_solver *s, Mat A,
                                         const merbit_solver_desc *desc, Vec b, Vec x,
                                         PetscBool start_from_x, double *history,
                                         int history_size) {
  merbit_solver_desc whole = *desc;
  const PetscScalar *b_array;
  PetscScalar *x_array;
  merbit_status status;
  MatInfo info;
  PetscFunctionBegin;
  whole.vector_memory = MERBIT_MEMORY_HOST;
  whole.expected_solves = SOLVES_EXPECTED;
  PetscCall(PetscLogEventBegin(merbit_petsc.solve, A, b, x, 0));
  PetscCall(refresh(s, A, &whole));
  PetscCall(VecGetArrayRead(b, &b_array));
  PetscCall(VecGetArray(x, &x_array));
  status = merbit_solver_solve(s->solver, b_array, x_array, start_from_x ? 1 : 0, history,
                               history_size, &s->result);
  PetscCall(VecRestoreArray(x, &x_array));
  PetscCall(VecRestoreArrayRead(b, &b_array));
  MERBIT_PETSC_CALL(merbit_petsc.solvers, status);
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info)); /* of the flops, those of the products */
  PetscCall(PetscLogFlops((whole.method == MERBIT_SOLVER_BICGSTAB ? 4 : 2) * info.nz_used *
                          s->result.iterations));
  PetscCall(PetscLogEventEnd(merbit_petsc.solve, A, b, x, 0));
  PetscCall(
      PetscInfo(A, "merbit: %s; %s\n", s->result.description, s->result.plan_description));
  PetscFunctionReturn(0);
}

/* Prints how the last solve went, and the plan's line. */
PetscErrorCode merbit_petsc_solver_view(const merbit_petsc_solver *s, PetscViewer viewer) {
  static const char *const names[] = {"not chosen", "CG", "BiCGSTAB", "GMRES"};
  PetscBool ascii;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii && s->solver) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  merbit's %s: %s\n", names[s->desc.method],
                                     s->result.description));
    PetscCall(PetscViewerASCIIPrintf(viewer, "  products: %s\n", s->result.plan_description));
  }
  PetscFunctionReturn(0);
}

/* Gives up what the solver holds. */
PetscErrorCode merbit_petsc_solver_reset(merbit_petsc_solver *s) {
  PetscFunctionBegin;
  merbit_solver_destroy(s->solver);
  PetscCall(PetscMemzero(s, sizeof *s));
  PetscFunctionReturn(0);
}
