#ifndef MBI_CPU_STEPS_H
#define MBI_CPU_STEPS_H
#include "solve/core/solver.h"

/* Steps on the CPU. A *steps.cuh file, which the GPU compiles too, is compiled once per type.
 * Threads take chunks of rows, whose sums are added in order, so results depend on the number
 * of rows but not of threads. The including file defines MBS_VECTOR, the type, and
 * MBS_NAME(name, part), which adds a suffix. The scalar parts do not depend on the type: all
 * use those of double. */
#include "solve/core/step_text.cuh"
#include "solve/core/wide_steps.cuh"

#define MBI_SOLVE_CHUNK 8192

typedef struct mbi_step_call {
  const mbi_solve_vectors *v;
  const mbi_solve_state *scalars;
  double *partials;
  int64_t n;
} mbi_step_call;

#define MBS_INDEX int64_t
#define MBS_ALWAYS MBI_STEP_ALWAYS
#define MBS_RUNNING MBI_STEP_RUNNING
#define MBS_UNTIL_CLOSED MBI_STEP_UNTIL_CLOSED
#define MBS_SCALAR(name, part) mbi_##name##part##_f64
#define MBS_BEFORE(name) MBI_UNUSED static int MBS_NAME(name, _before)(mbi_solve_state * c)
#define MBS_ELEMENT(name)                                                                      \
  static void MBS_NAME(name, _element)(MBS_INDEX i, const mbi_solve_vectors *v,                \
                                       const mbi_solve_state *c, double *sums)
#define MBS_AFTER(name)                                                                        \
  MBI_UNUSED static void MBS_NAME(name, _after)(mbi_solve_memory * m,                          \
                                                const mbi_solve_state *c, const double *sums)
#define MBS_STEP(name, adds, maxes, when)                                                      \
  static void MBS_NAME(name, _chunk)(void *argument, int chunk) {                              \
    const mbi_step_call *call = (const mbi_step_call *)argument;                               \
    const mbi_solve_vectors v = *call->v; /* copies, which no store can change */              \
    const mbi_solve_state c = *call->scalars;                                                  \
    double sums[MBI_SOLVE_SUMS] = {0};                                                         \
    const int64_t begin = (int64_t)chunk * MBI_SOLVE_CHUNK;                                    \
    const int64_t end = begin + MBI_SOLVE_CHUNK < call->n ? begin + MBI_SOLVE_CHUNK : call->n; \
    int64_t i;                                                                                 \
    for (i = begin; i < end; i++) {                                                            \
      MBS_NAME(name, _element)(i, &v, &c, sums);                                               \
    }                                                                                          \
    memcpy(call->partials + (size_t)chunk * MBI_SOLVE_SUMS, sums, sizeof sums);                \
  }                                                                                            \
  MBI_INTERNAL const mbi_step_code MBS_NAME(name, _code) = {MBS_SCALAR(name, _before),         \
                                                            MBS_NAME(name, _chunk),            \
                                                            MBS_SCALAR(name, _after),          \
                                                            adds,                              \
                                                            maxes,                             \
                                                            when,                              \
                                                            NULL};

/* Steps with many sums: solve/core/wide_steps.cuh. */
typedef struct mbi_wide_code {
  int (*count)(const mbi_solve_state *scalars);
  mbi_task chunk; /* takes an mbi_step_call */
  void (*after)(mbi_solve_memory *memory, const mbi_solve_vectors *v, const double *sums);
} mbi_wide_code;

#define MBS_WIDE_COUNT(name)                                                                   \
  MBI_UNUSED static int MBS_NAME(name, _count)(const mbi_solve_state *c)
#define MBS_WIDE_ELEMENT(name)                                                                 \
  static void MBS_NAME(name, _element)(MBS_INDEX i, const mbi_solve_vectors *v,                \
                                       const mbi_solve_state *c, int first, double *sums)
#define MBS_WIDE_AFTER(name)                                                                   \
  MBI_UNUSED static void MBS_NAME(name, _after)(                                               \
      mbi_solve_memory * m, const mbi_solve_vectors *v, const double *sums)
#define MBS_WIDE_STEP(name)                                                                    \
  static void MBS_NAME(name, _chunk)(void *argument, int chunk) {                              \
    const mbi_step_call *call = (const mbi_step_call *)argument;                               \
    const mbi_solve_vectors v = *call->v;                                                      \
    const mbi_solve_state c = *call->scalars;                                                  \
    const int count = MBS_SCALAR(name, _count)(&c);                                            \
    const int64_t begin = (int64_t)chunk * MBI_SOLVE_CHUNK;                                    \
    const int64_t end = begin + MBI_SOLVE_CHUNK < call->n ? begin + MBI_SOLVE_CHUNK : call->n; \
    int first, k;                                                                              \
    for (first = 0; first < count; first += MBI_WIDE_GROUP) {                                  \
      double sums[MBI_WIDE_GROUP] = {0};                                                       \
      int64_t i;                                                                               \
      for (i = begin; i < end; i++) {                                                          \
        MBS_NAME(name, _element)(i, &v, &c, first, sums);                                      \
      }                                                                                        \
      for (k = 0; k < MBI_WIDE_GROUP && first + k < count; k++) {                              \
        call->partials[(size_t)chunk * (size_t)count + (size_t)(first + k)] = sums[k];         \
      }                                                                                        \
    }                                                                                          \
  }                                                                                            \
  static const mbi_wide_code MBS_NAME(name, _wide) = {                                         \
      MBS_SCALAR(name, _count), MBS_NAME(name, _chunk), MBS_SCALAR(name, _after)};             \
  MBI_INTERNAL const mbi_step_code MBS_NAME(name, _code) = {                                   \
      NULL, NULL, NULL, 0, 0, MBI_STEP_RUNNING, &MBS_NAME(name, _wide)};

#ifdef MBI_SEPARATE
/* solve/core/wide.c */
MBI_INTERNAL void mbi_wide_run(merbit_context *context, const mbi_wide_code *code,
                               const mbi_solve_vectors *v, int64_t n, mbi_solve_memory *memory,
                               double *partials);
#endif /* MBI_SEPARATE */

#endif
