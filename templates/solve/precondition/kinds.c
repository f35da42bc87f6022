#include "solve/precondition/precondition.h"
#include "solve/amg/amg.h"

/* The table of the kinds of preconditioners. */

/* Returns the functions of a kind, or NULL for NONE and CALLBACK, which are not objects. */
MBI_INTERNAL const mbi_precondition_method *
mbi_precondition_method_of(merbit_preconditioner_kind kind) {
  switch (kind) {
  case MERBIT_PRECONDITIONER_JACOBI:
    return &mbi_jacobi_method;
  case MERBIT_PRECONDITIONER_BLOCK_JACOBI:
    return &mbi_block_jacobi_method;
  case MERBIT_PRECONDITIONER_CHEBYSHEV:
    return &mbi_chebyshev_method;
  case MERBIT_PRECONDITIONER_FSAI:
    return &mbi_fsai_method;
  case MERBIT_PRECONDITIONER_AMG:
    return &mbi_amg_method;
  default:
    return NULL;
  }
}
