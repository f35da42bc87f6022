// The tests of the race detector's program: one list per source file.
#ifndef SIMT_RACES_LIST_H
#define SIMT_RACES_LIST_H
#include "simt/runs.h"

extern const std::vector<CMUnitTest> races_of_builds, races_of_arnoldi, races_of_amg;
#endif // SIMT_RACES_LIST_H
