#include "core/context.h"
#include "solve/core/solver.h"
#include "solve/core/cpu_steps.h"

/* Runs a step with many sums on the CPU, as mbk_wide_step of solve/core/wide.cuh does on the
 * GPU. The solver must not have stopped. */
MBI_INTERNAL void mbi_wide_run(merbit_context *context, const mbi_wide_code *code,
                               const mbi_solve_vectors *v, int64_t n, mbi_solve_memory *memory,
                               double *partials) {
  const mbi_solve_state scalars = memory->state;
  const int count = code->count(&scalars);
  const int64_t chunks = (n + MBI_SOLVE_CHUNK - 1) / MBI_SOLVE_CHUNK;
  double *sums = partials + chunks * count;
  mbi_step_call call;
  int64_t chunk;
  int k;
  call.v = v;
  call.scalars = &scalars;
  call.partials = partials;
  call.n = n;
  mbi_parallel(context, (int)chunks, code->chunk, &call);
  for (k = 0; k < count; k++) {
    sums[k] = 0;
    for (chunk = 0; chunk < chunks; chunk++) {
      sums[k] += partials[chunk * count + k];
    }
  }
  code->after(memory, v, sums);
}
