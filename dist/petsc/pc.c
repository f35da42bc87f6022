/* -pc_type merbit: a solve by merbit as a preconditioner, for -ksp_type preonly, richardson or
 * fgmres, or for the local blocks of bjacobi and asm. */
#include "merbit_petsc.h"
#include <petsc/private/pcimpl.h> /* a PC type fills the record of the PC */

typedef struct {
  merbit_solver_desc desc; /* what the options say */
  merbit_petsc_solver solver;
} pc_merbit;

static PetscErrorCode set_from_options(PC pc, PetscOptionItems *PetscOptionsObject) {
  static const char *const kinds[] = {"none", "jacobi",
                                      "block_jacobi"}; /* merbit_preconditioner_kind */
  pc_merbit *p = (pc_merbit *)pc->data;
  PetscInt kind = (PetscInt)p->desc.preconditioner, most = p->desc.max_iterations;
  PetscReal tolerance = (PetscReal)p->desc.tolerance;
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "merbit's solvers as a preconditioner");
  PetscCall(merbit_petsc_solver_options(PetscOptionsObject, "-pc_merbit_method",
                                        "-pc_merbit_restart", &p->desc));
  PetscCall(PetscOptionsEList("-pc_merbit_preconditioner", "Preconditioner of the solve",
                              "docs/petsc.md", kinds, 3, kinds[kind], &kind, NULL));
  PetscCall(PetscOptionsReal("-pc_merbit_rtol", "Relative residual to reach", "docs/petsc.md",
                             tolerance, &tolerance, NULL));
  PetscCall(PetscOptionsBoundedInt("-pc_merbit_max_it", "Most iterations of a solve",
                                   "docs/petsc.md", most, &most, NULL, 1));
  PetscOptionsHeadEnd();
  p->desc.preconditioner = (merbit_preconditioner_kind)kind;
  p->desc.tolerance = (double)tolerance;
  p->desc.max_iterations = (int)most;
  PetscFunctionReturn(0);
}

static PetscErrorCode set_up(PC pc) {
  pc_merbit *p = (pc_merbit *)pc->data;
  PetscInt size = 0;
  PetscFunctionBegin;
  PetscCall(merbit_petsc_solver_check((PetscObject)pc, pc->pmat));
  if (p->desc.preconditioner == MERBIT_PRECONDITIONER_BLOCK_JACOBI) {
    PetscCall(MatGetBlockSize(pc->pmat, &size));
    size = size == 1 ? 0 : size; /* no blocks are known: merbit's default */
  }
  p->desc.block_size = (int)size;
  PetscFunctionReturn(0);
}

static PetscErrorCode apply(PC pc, Vec r, Vec z) {
  pc_merbit *p = (pc_merbit *)pc->data;
  PetscFunctionBegin;
  PetscCall(
      merbit_petsc_solver_solve(&p->solver, pc->pmat, &p->desc, r, z, PETSC_FALSE, NULL, 0));
  if (p->solver.result.stop == MERBIT_STOP_NOT_FINITE ||
      p->solver.result.stop == MERBIT_STOP_BREAKDOWN) {
    PetscCall(PCSetFailedReason(pc, PC_SUBPC_ERROR));
    PetscCall(VecSetInf(z)); /* the KSP finds Inf, asks for the reason, and stops */
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode view(PC pc, PetscViewer viewer) {
  PetscFunctionBegin;
  PetscCall(merbit_petsc_solver_view(&((pc_merbit *)pc->data)->solver, viewer));
  PetscFunctionReturn(0);
}

static PetscErrorCode reset(PC pc) {
  PetscFunctionBegin;
  PetscCall(merbit_petsc_solver_reset(&((pc_merbit *)pc->data)->solver));
  PetscFunctionReturn(0);
}

static PetscErrorCode destroy(PC pc) {
  PetscFunctionBegin;
  PetscCall(reset(pc));
  PetscCall(PetscFree(pc->data));
  PetscFunctionReturn(0);
}

/* Makes a PC of the type. */
PetscErrorCode merbit_petsc_create_pc(PC pc) {
  pc_merbit *p;
  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  p->desc.method = MERBIT_SOLVER_GMRES;
  p->desc.restart = 30;
  p->desc.preconditioner = MERBIT_PRECONDITIONER_JACOBI;
  p->desc.tolerance = 1e-5; /* PETSc's default of a KSP */
  p->desc.max_iterations = 10000;
  pc->data = p;
  pc->ops->setfromoptions = set_from_options;
  pc->ops->setup = set_up;
  pc->ops->apply = apply;
  pc->ops->view = view;
  pc->ops->reset = reset;
  pc->ops->destroy = destroy;
  PetscFunctionReturn(0);
}
