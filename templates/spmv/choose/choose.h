#ifndef MBI_CHOOSE_H
#define MBI_CHOOSE_H
#include "spmv/plan/plan.h"

#endif
