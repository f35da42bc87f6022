// The schedules that a test of kernels runs under: 1 and 2, or what SIMT_SEEDS names, such as
// "7" or "100-119" or "1,2,40-44".
#ifndef SIMT_SEEDS_H
#define SIMT_SEEDS_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <vector>

inline std::vector<uint64_t> simt_seeds() {
  const char *text = getenv("SIMT_SEEDS");
  std::vector<uint64_t> seeds;
  if (text == nullptr || *text == 0) {
    text = "1,2";
  }
  printf("SIMT_SEEDS=%s\n", text);
  while (*text >= '0' && *text <= '9') {
    char *end;
    const uint64_t first = strtoull(text, &end, 10);
    const uint64_t last = *end == '-' ? strtoull(end + 1, &end, 10) : first;
    for (uint64_t seed = first; seed <= last; seed++) {
      seeds.push_back(seed);
    }
    text = *end == ',' ? end + 1 : end;
  }
  if (seeds.empty() || *text != 0) {
    fprintf(stderr, "SIMT_SEEDS is not a list of numbers and ranges such as 1,2,40-44\n");
    exit(1);
  }
  return seeds;
}
#endif // SIMT_SEEDS_H
