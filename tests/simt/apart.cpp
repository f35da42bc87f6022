// The shim's functions and state, compiled once for the programs of this folder that define
// SIMT_APART.
#define SIMT_HERE
#include "simt.h"
