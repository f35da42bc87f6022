// Headers of the standard library that all programs of the shim include; CMake precompiles them
// once.
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
