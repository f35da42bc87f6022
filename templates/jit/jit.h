#ifndef MBI_JIT_H
#define MBI_JIT_H
#include "core/context.h"

struct merbit_buffer {
  merbit_context *context;
  size_t bytes;
  void *pointer;
};

#endif
