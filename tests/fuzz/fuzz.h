/* Tools that the fuzz targets share: one context for the whole run, the input as a source of
 * numbers, and a check that ends the run. Include merbit.h first. */
#ifndef TEST_FUZZ_FUZZ_H
#define TEST_FUZZ_FUZZ_H
#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(condition)                                                                     \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      (void)fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);     \
      abort();                                                                                 \
    }                                                                                          \
  } while (0)

static merbit_context *fuzz_context(void) {
  static merbit_context *context;
  if (context == NULL) {
    merbit_context_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.side = MERBIT_SIDE_CPU;
    desc.threads = 1;
    REQUIRE(merbit_context_create(&desc, &context, NULL) == MERBIT_OK);
  }
  return context;
}

typedef struct fuzz_input {
  const uint8_t *at, *end;
} fuzz_input;

static inline int64_t fuzz_bytes(fuzz_input *in, int count) { /* zeros at the end */
  uint64_t value = 0;
  int i;
  for (i = 0; i < count && in->at < in->end; i++) {
    value |= (uint64_t)*in->at++ << (8 * i);
  }
  return (int64_t)value;
}

#endif /* TEST_FUZZ_FUZZ_H */
