#include "solve/core/solver.h"

/* The table of the methods of solvers. */

/* Returns the record of a method, or NULL. */
MBI_INTERNAL const mbi_solve_method *mbi_solve_method_of(merbit_solver_method method) {
  switch (method) {
  case MERBIT_SOLVER_CG:
    return &mbi_cg_method;
  case MERBIT_SOLVER_BICGSTAB:
    return &mbi_bicgstab_method;
  case MERBIT_SOLVER_GMRES:
    return &mbi_gmres_method;
  default:
    return NULL;
  }
}
