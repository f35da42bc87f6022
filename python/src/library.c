/* merbit's implementation. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"
