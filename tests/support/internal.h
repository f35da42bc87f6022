/* All that the library's sources share, for programs linked with them compiled apart. Comes before any system header. */
#ifndef TEST_INTERNAL_H
#define TEST_INTERNAL_H
#include "core/core.h"
#ifdef __cplusplus
extern "C" {
#endif
#include "solve/core/cpu_steps.h"
#include "solve/eigen/eigen.h"
#include "solve/pagerank/pagerank.h"
#ifdef __cplusplus
}
#endif
#endif
