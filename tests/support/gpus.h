/* Attributes of several GPUs. Include merbit.h first. */
#ifndef TEST_SUPPORT_GPUS_H
#define TEST_SUPPORT_GPUS_H

static const struct gpu {
  const char *name;
  int multiprocessors, lanes, shared_bytes;
  mbi_memory_facts facts;
} gpus[] = {{"H200", 132, 2048, 227 << 10, {1980000, 3201000, 6144, 62914560}},
            {"H100", 132, 2048, 227 << 10, {1980000, 2619000, 5120, 52428800}},
            {"A100 40 GB", 108, 2048, 163 << 10, {1410000, 1215000, 5120, 41943040}},
            {"A100 80 GB", 108, 2048, 163 << 10, {1410000, 1593000, 5120, 41943040}},
            {"consumer card", 128, 1536, 99 << 10, {2520000, 10501000, 384, 75497472}},
            {"little card", 30, 1024, 64 << 10, {1500000, 6250000, 192, 4194304}}};

enum { GPUS = sizeof gpus / sizeof gpus[0] };

#endif /* TEST_SUPPORT_GPUS_H */
