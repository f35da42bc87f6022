// What every program of the fake NVRTC begins with and what takes longest to read: CMake
// compiles it once.
#ifndef FAKE_AHEAD_H
#define FAKE_AHEAD_H
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../simt/simt.h"
#endif // FAKE_AHEAD_H
