/* The first number of each enumeration that the library does not know: for methods and solvers
 * from its tables, for others the one after the last. */
#ifndef TEST_SUPPORT_UNKNOWN_H
#define TEST_SUPPORT_UNKNOWN_H
#include "support/internal.h"
#include "support/matrices.h"

TEST_UNUSED static merbit_method unknown_method(void) {
  int number = 0;
  while (mbi_method_known((merbit_method)number)) {
    number++;
  }
  return (merbit_method)number;
}

TEST_UNUSED static merbit_type unknown_type(void) {
  return (merbit_type)(MERBIT_C128 + 1); /* the last one */
}

TEST_UNUSED static merbit_semiring unknown_semiring(void) {
  return (merbit_semiring)(MERBIT_SEMIRING_CUSTOM + 1); /* the last one */
}

TEST_UNUSED static merbit_solver_method unknown_solver(void) {
  int number = MERBIT_SOLVER_CG;
  while (mbi_solve_method_of((merbit_solver_method)number) != NULL) {
    number++;
  }
  return (merbit_solver_method)number;
}

/* Returns "FIELD is NUMBER", which an error message must contain. */
TEST_UNUSED static const char *unknown_words(const char *field, int number) {
  static char words[64];
  (void)snprintf(words, sizeof words, "%s is %d", field, number);
  return words;
}

#endif /* TEST_SUPPORT_UNKNOWN_H */
