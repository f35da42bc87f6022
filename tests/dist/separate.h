/* merbit_dist.h with its implementation, for programs linked with the library's separately
 * compiled sources. dist/test_modes.sh compiles both headers as users do. Include it before any
 * system header. */
#ifndef TEST_DIST_SEPARATE_H
#define TEST_DIST_SEPARATE_H
#include "support/internal.h"
#define MERBIT_IMPLEMENTATION_DONE /* in the separate sources */
#define MERBIT_DIST_IMPLEMENTATION
#include "merbit_dist.h"
#endif
