// A specialisation of spmv/gpu/merbit/merbit.cu for the tests, and the list of a program's
// specialisations.
#ifndef SIMT_MERBIT_FORMS_H
#define SIMT_MERBIT_FORMS_H
#include "jit/device.cuh"

#include <vector>

#include "simt/csr.h"
#include "simt/arguments.h"

struct merbit_form : csr_form {
  unsigned sigma, omega, threads, tile_bytes;
  bool dual;
  unsigned bits, descriptor_bytes;
  simt_kernel build, product, fixup;
};

inline std::vector<const merbit_form *> merbit_forms;

inline bool merbit_list(const merbit_form *form) {
  merbit_forms.push_back(form);
  return true;
}

#define SIMT_LOG2_CEILING(n)                                                                   \
  ((n) <= 8      ? 3                                                                           \
   : (n) <= 16   ? 4                                                                           \
   : (n) <= 32   ? 5                                                                           \
   : (n) <= 64   ? 6                                                                           \
   : (n) <= 128  ? 7                                                                           \
   : (n) <= 256  ? 8                                                                           \
   : (n) <= 512  ? 9                                                                           \
   : (n) <= 1024 ? 10                                                                          \
                 : 11)
#endif // SIMT_MERBIT_FORMS_H
