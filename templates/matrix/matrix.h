#ifndef MBI_MATRIX_H
#define MBI_MATRIX_H
#include "jit/jit.h"

struct merbit_matrix {
  merbit_context *context;
  int64_t references; /* the user, and what was made from its view */
  merbit_view view; /* CSR or BSR, host, base 0, 32-bit columns; its arrays are the matrix's */
  void *memory;     /* that holds all of them; NULL: each is an allocation */
};

#endif
