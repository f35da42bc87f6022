// What a specialisation of spmv/merbit.cu is to the tests, and the list of those of a program.
#ifndef SIMT_MERBIT_FORMS_H
#define SIMT_MERBIT_FORMS_H
#include "jit/device.cuh"

#include <vector>

struct merbit_form {
  const char *name;
  unsigned value_bytes, sigma, omega, threads, row_ptr_bytes, base, tile_bytes;
  bool pattern, device, dual;
  unsigned bits, descriptor_bytes;
  simt_kernel build, product, fixup;
};

inline std::vector<const merbit_form *> merbit_forms;

inline bool merbit_list(const merbit_form *form) {
  merbit_forms.push_back(form);
  return true;
}

#define SIMT_ARG(n, ...) SIMT_ARG##n(__VA_ARGS__, )
#define SIMT_ARG0(a, ...) a
#define SIMT_ARG1(a, b, ...) b
#define SIMT_ARG2(a, b, c, ...) c
#define SIMT_ARG3(a, b, c, d, ...) d
#define SIMT_ARG4(a, b, c, d, e, ...) e
#define SIMT_ARG5(a, b, c, d, e, f, ...) f
#define SIMT_ARG6(a, b, c, d, e, f, g, ...) g
#define SIMT_ARG7(a, b, c, d, e, f, g, h, ...) h
#define SIMT_ARG8(a, b, c, d, e, f, g, h, i, ...) i
#define SIMT_ARG9(a, b, c, d, e, f, g, h, i, j, ...) j
#define SIMT_ARG10(a, b, c, d, e, f, g, h, i, j, k, ...) k
#define SIMT_GLUE(a, b) SIMT_GLUE_(a, b)
#define SIMT_GLUE_(a, b) a##b
#define SIMT_TEXT(x) SIMT_TEXT_(x)
#define SIMT_TEXT_(x) #x
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
