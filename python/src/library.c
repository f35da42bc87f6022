/* The library itself. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"
