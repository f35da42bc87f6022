// What every program of the shim reads first, and what takes long to read: CMake compiles it once.
#ifndef SIMT_HEADERS_H
#define SIMT_HEADERS_H
#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "simt.h"
#endif // SIMT_HEADERS_H
