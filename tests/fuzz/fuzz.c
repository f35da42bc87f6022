/* All fuzz targets in one program, because merbit.h compiles slowly with all its sanitizers;
 * FUZZ_TARGET selects one. */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"

#include "fuzz/target_arrays.h"
#include "fuzz/target_cache.h"
#include "fuzz/target_expression.h"
#include "fuzz/target_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *target;
  if (target == NULL) {
    target = getenv("FUZZ_TARGET");
    REQUIRE(target != NULL);
  }
  if (strcmp(target, "reader") == 0) {
    fuzz_reader(data, size);
  } else if (strcmp(target, "arrays") == 0) {
    fuzz_arrays(data, size);
  } else if (strcmp(target, "expression") == 0) {
    fuzz_expression(data, size);
  } else {
    REQUIRE(strcmp(target, "cache") == 0);
    fuzz_cache(data, size);
  }
  return 0;
}
