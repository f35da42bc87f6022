/* merbit_dist.h with its implementation, for programs linked with the library's sources compiled
 * apart. dist/test_modes.sh compiles both headers as users do. Comes before any system header. */
#ifndef TEST_DIST_SEPARATE_H
#define TEST_DIST_SEPARATE_H
#include "support/internal.h"
#define MERBIT_IMPLEMENTATION_DONE /* in the sources compiled apart */
#define MERBIT_DIST_IMPLEMENTATION
#include "merbit_dist.h"
#endif
