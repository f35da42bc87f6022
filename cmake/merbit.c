/* merbit's implementation, the one source of the target merbit::impl. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"
