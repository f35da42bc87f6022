#include "core/context.h"
#include "solve/core/solver.h"
#include "solve/core/cpu_steps.h"

/* The steps that every solver has, and how the CPU runs a step. */
#define MBS_VECTOR double
#define MBS_NAME(name, part) mbi_##name##part##_f64
#include "solve/core/check_steps.cuh"
#undef MBS_VECTOR
#undef MBS_NAME
#define MBS_VECTOR float
#define MBS_NAME(name, part) mbi_##name##part##_f32
#include "solve/core/check_steps.cuh"
#undef MBS_VECTOR
#undef MBS_NAME

/* Returns the number of chunks into which n rows are divided. */
MBI_INTERNAL int64_t mbi_step_chunks(int64_t n) {
  return (n + MBI_SOLVE_CHUNK - 1) / MBI_SOLVE_CHUNK;
}

/* Adds up the sums of all chunks, in the order of the chunks. */
static void mbi_step_total(const mbi_step_code *code, const double *partials, int64_t chunks,
                           double *sums) {
  int64_t chunk;
  int k;
  for (chunk = 0; chunk < chunks; chunk++) {
    for (k = 0; k < code->adds + code->maxes; k++) {
      const double part = partials[(size_t)chunk * MBI_SOLVE_SUMS + (size_t)k];
      sums[k] = k < code->adds ? sums[k] + part : part > sums[k] ? part : sums[k];
    }
  }
}

/* Runs a step on the CPU, as mbk_step of solve/core/step.cuh does on the GPU. */
MBI_INTERNAL void mbi_step_run(merbit_context *context, const mbi_step_code *code,
                               const mbi_solve_vectors *v, int64_t n, mbi_solve_memory *memory,
                               double *partials) {
  mbi_solve_state *state = &memory->state, scalars = memory->state;
  double sums[MBI_SOLVE_SUMS] = {0};
  mbi_step_call call;
  int wrong;
  if (code->when == MBI_STEP_RUNNING && state->stop != MBI_SOLVE_RUNNING) {
    state->closed = 1;
    return;
  }
  if (code->wide != NULL) {
    mbi_wide_run(context, code->wide, v, n, memory, partials);
    return;
  }
  if (code->when == MBI_STEP_UNTIL_CLOSED && state->closed) {
    return;
  }
  wrong = code->before(&scalars);
  if (wrong != 0) {
    state->why = scalars.why;
    state->value = scalars.value;
    state->closed = 1;
    state->stop = wrong;
    return;
  }
  call.v = v;
  call.scalars = &scalars;
  call.partials = partials;
  call.n = n;
  mbi_parallel(context, (int)mbi_step_chunks(n), code->chunk, &call);
  if (code->adds + code->maxes > 0) {
    mbi_step_total(code, partials, mbi_step_chunks(n), sums);
    code->after(memory, &scalars, sums);
  }
}
