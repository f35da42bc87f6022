#ifndef MBI_MARKET_H
#define MBI_MARKET_H
#include "matrix/matrix.h"

#endif
