#include "core/core.h"

/* Descriptors with all defaults. */

/* Defines merbit_NOUN_defaults, which returns a merbit_NOUN_desc of zeros. */
#define MBI_DEFAULTS(noun)                                                                     \
  MERBIT_API merbit_##noun##_desc merbit_##noun##_defaults(void) {                             \
    merbit_##noun##_desc desc;                                                                 \
    memset(&desc, 0, sizeof desc);                                                             \
    return desc;                                                                               \
  }

MBI_DEFAULTS(context)
MBI_DEFAULTS(bsr)
MBI_DEFAULTS(read)
MBI_DEFAULTS(plan)
MBI_DEFAULTS(pagerank)
MBI_DEFAULTS(solver)
MBI_DEFAULTS(preconditioner)
MBI_DEFAULTS(eigen)
