/* A CPU context whose allocator counts, and fails on demand; checks of the last error. Include
 * merbit.h and cmocka.h first. */
#ifndef TEST_SUPPORT_CPU_H
#define TEST_SUPPORT_CPU_H
#include "support/matrices.h"

typedef struct cpu_memory {
  long live;    /* blocks not yet released */
  long bytes;   /* bytes in these blocks */
  long made;    /* calls so far */
  long fail_at; /* number of the call that returns NULL, from 1; 0: none */
  int for_good; /* all later calls fail, too */
  size_t limit; /* calls for more bytes fail; 0: no limit */
} cpu_memory;

#define CPU_HEAD 16 /* bytes before a block, which hold its size */

static void *cpu_keep(void *block, size_t bytes) {
  if (block == NULL) {
    return NULL;
  }
  memcpy(block, &bytes, sizeof bytes);
  return (char *)block + CPU_HEAD;
}

TEST_UNUSED static void *cpu_allocate(void *user, size_t bytes) {
  cpu_memory *memory = (cpu_memory *)user;
  long call = __atomic_add_fetch(&memory->made, 1, __ATOMIC_SEQ_CST);
  if (bytes == 0 || call == memory->fail_at || (memory->limit > 0 && bytes > memory->limit) ||
      (memory->for_good && memory->fail_at > 0 && call > memory->fail_at)) {
    return NULL; /* an allocator may return NULL for no bytes */
  }
  (void)__atomic_add_fetch(&memory->live, 1, __ATOMIC_SEQ_CST);
  (void)__atomic_add_fetch(&memory->bytes, (long)bytes, __ATOMIC_SEQ_CST);
  return cpu_keep(malloc(bytes + CPU_HEAD), bytes);
}

TEST_UNUSED static void cpu_release(void *user, void *block) {
  cpu_memory *memory = (cpu_memory *)user;
  size_t bytes;
  block = (char *)block - CPU_HEAD;
  memcpy(&bytes, block, sizeof bytes);
  (void)__atomic_sub_fetch(&memory->live, 1, __ATOMIC_SEQ_CST);
  (void)__atomic_sub_fetch(&memory->bytes, (long)bytes, __ATOMIC_SEQ_CST);
  free(block);
}

TEST_UNUSED static merbit_context_desc cpu_desc(cpu_memory *memory, int threads) {
  merbit_context_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CPU;
  desc.threads = threads;
  if (memory != NULL) {
    memset(memory, 0, sizeof *memory);
    desc.allocator.allocate = cpu_allocate;
    desc.allocator.release = cpu_release;
    desc.allocator.user = memory;
  }
  return desc;
}

TEST_UNUSED static merbit_context *cpu_open(cpu_memory *memory, int threads) {
  merbit_context_desc desc = cpu_desc(memory, threads);
  merbit_context *context;
  assert_int_equal(merbit_context_create(&desc, &context, NULL), MERBIT_OK);
  return context;
}

/* Expects that the last error is `status` and that its message contains `piece`. */
TEST_UNUSED static void cpu_expect(merbit_context *context, merbit_status status,
                                   const char *piece) {
  char sentence[MERBIT_MESSAGE_SIZE];
  assert_int_equal(merbit_last_error(context, sentence, sizeof sentence), status);
  if (strstr(sentence, piece) == NULL) {
    fail_msg("the sentence is \"%s\", without \"%s\"", sentence, piece);
  }
}

/* Expects that a plan is refused and that the message contains `piece`. */
TEST_UNUSED static void cpu_refuses_plan(merbit_context *context, const merbit_view *view,
                                         const merbit_plan_desc *desc, merbit_status status,
                                         const char *piece) {
  merbit_plan *plan = (merbit_plan *)1;
  assert_int_equal(merbit_plan_create(context, view, desc, &plan), status);
  assert_null(plan);
  cpu_expect(context, status, piece);
}
#endif /* TEST_SUPPORT_CPU_H */
