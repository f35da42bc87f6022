// The functions and the state of the shim for the programs of this folder, which are compiled
// with SIMT_APART.
#define SIMT_HERE
#include "simt.h"
