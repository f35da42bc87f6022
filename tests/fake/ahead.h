// The beginning of every program of the fake NVRTC. It takes most of the parsing time, so CMake
// precompiles it.
#ifndef FAKE_AHEAD_H
#define FAKE_AHEAD_H
#include <algorithm>
#include <cmath>
#include <type_traits>

#define SIMT_APART // in run.cpp
#define SIMT_KERNELS
#include "../simt/simt.h"
#endif // FAKE_AHEAD_H
