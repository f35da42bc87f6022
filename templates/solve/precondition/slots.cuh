// Slots and scalars of preconditioners, after those of solve/core/state.cuh.
#define MBI_PRE_R 4 // the caller's r and z during an application
#define MBI_PRE_Z 5
#define MBI_PRE_OWN 6 // the first of the kind's vectors
#define MBI_PRE_VECTORS 5
#define MBI_PRE_TABLE 11 // doubles that steps read: the factors of a polynomial
#define MBI_PRE_MEAN 0   // scalars
#define MBI_PRE_SIZE 1
#define MBI_PRE_ALPHA 0
#define MBI_PRE_BETA 1
#define MBI_PRE_BETA_OLD 2
#define MBI_PRE_NEGATIVE 3
#define MBI_PRE_DEGREE_MOST 32
