#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/plan/plan.h"

/* Epilogues: a function applied to each row of op(A) x before it is stored in y, and two sums
 * over all rows. On CUDA a kernel computes them after the product (spmv/shared/epilogue.cu).
 * spmv/plan/epilogue_product.c calls it. */

#define MBI_EPILOGUE_SCALARS 8
/* Blocks per multiprocessor. More blocks would leave more sums for the last one to add up. */
#define MBI_EPILOGUE_RESIDENT 4

MBI_INTERNAL int mbi_plan_has_epilogue(const merbit_plan *plan) {
  return plan->epilogue != NULL;
}

/* Returns the bytes that an epilogue moves in addition to the product: the vectors, y, and y
 * again if there is a result. */
MBI_INTERNAL int64_t mbi_epilogue_stream_bytes(const merbit_plan *plan) {
  const int64_t bytes = plan->csr.rows * (int64_t)mbi_type_size(mbi_plan_accumulator(plan));
  return plan->epilogue == NULL ? 0
                                : bytes * (plan->epilogue->given.vectors + 1 +
                                           (plan->epilogue->result[0] != '\0'));
}

/* ---- Checks ------------------------------------------------------------------------------ */

/* Checks an epilogue. Types, semiring and number of vectors must have been checked before. */
MBI_INTERNAL merbit_status mbi_epilogue_check(merbit_context *context,
                                              const merbit_plan_desc *desc) {
  const merbit_epilogue *e = desc->epilogue;
  if (e == NULL) {
    return MERBIT_OK;
  }
  if (e->vectors < 0 || e->vectors > MBI_EPILOGUE_VECTORS || e->scalars < 0 ||
      e->scalars > MBI_EPILOGUE_SCALARS) {
    return mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                    "epilogue.vectors is %d and scalars %d; use up to %d and up to %d",
                    e->vectors, e->scalars, MBI_EPILOGUE_VECTORS, MBI_EPILOGUE_SCALARS);
  }
  if (!mbi_type_plain(desc->vector_type) || desc->semiring != MERBIT_SEMIRING_PLUS_TIMES ||
      desc->vectors > 1) {
    return mbi_fail(context, MERBIT_NOT_SUPPORTED,
                    "plan_desc.epilogue is for one vector of MERBIT_F64 or MERBIT_F32 and for "
                    "MERBIT_SEMIRING_PLUS_TIMES; make a plan without it");
  }
  return MERBIT_OK;
}

/* Checks and translates one expression. The result has the plan's type; sums are double. */
MBI_INTERNAL merbit_status mbi_epilogue_take_one(const merbit_plan *plan, int sum,
                                                 const char *what, const char *source,
                                                 char *text) {
  static const char *const vectors[] = {"v0", "v1", "v2", "v3", "v4", "v5"};
  static const char *const scalars[] = {"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"};
  const merbit_epilogue *given = &plan->epilogue->given;
  const char *names[3 + MBI_EPILOGUE_VECTORS + MBI_EPILOGUE_SCALARS + 1];
  int count = 0, i;
  if (source == NULL) {
    return MERBIT_OK;
  }
  names[count++] = "ax";
  names[count++] = "row";
  for (i = 0; i < given->vectors; i++) {
    names[count++] = vectors[i];
  }
  for (i = 0; i < given->scalars; i++) {
    names[count++] = scalars[i];
  }
  if (sum) {
    names[count++] = "y";
  }
  names[count] = NULL;
  return mbi_expression_write(plan->context, what, source, names,
                              sum ? MERBIT_F64 : mbi_plan_accumulator(plan),
                              sum ? "double" : "MBK_COMPUTE", text);
}

/* Copies the user's epilogue to plan->epilogue and checks it. mbi_plan_free releases the
 * copy. */
MBI_INTERNAL merbit_status mbi_epilogue_take(merbit_plan *plan, const char *after) {
  const merbit_epilogue *given = plan->desc.epilogue;
  merbit_context *context = plan->context;
  mbi_epilogue *e;
  plan->desc.epilogue = NULL; /* the user's memory is not used from here on */
  if (given == NULL) {
    return MERBIT_OK;
  }
  plan->desc.scalar_memory = MERBIT_MEMORY_DEFAULT; /* alpha and beta are not given */
  e = (mbi_epilogue *)mbi_allocate(context, sizeof *e);
  if (e == NULL) {
    return mbi_fail(context, MERBIT_OUT_OF_MEMORY, "no memory for a plan's epilogue");
  }
  memset(e, 0, sizeof *e);
  plan->epilogue = e;
  e->given = *given;
  e->after = after;
  plan->stops = plan->making.stops;
  if (given->cpu == NULL) {
    e->given.cpu = mbi_epilogue_builtin(given, mbi_plan_accumulator(plan));
  }
  e->given.result = e->given.sums[0] = e->given.sums[1] = NULL;
  MBI_TRY(mbi_epilogue_take_one(plan, 0, "epilogue.result", given->result, e->result));
  MBI_TRY(mbi_epilogue_take_one(plan, 1, "epilogue.sums[0]", given->sums[0], e->sums[0]));
  MBI_TRY(mbi_epilogue_take_one(plan, 1, "epilogue.sums[1]", given->sums[1], e->sums[1]));
  if (plan->side == MERBIT_SIDE_CPU && e->given.cpu == NULL) {
    return mbi_fail(
        context, MERBIT_NOT_SUPPORTED,
        "the plan is for the CPU, which needs the function epilogue.cpu for these expressions; "
        "give it, or use the expressions that EPILOGUES in the manual lists");
  }
  if (plan->side == MERBIT_SIDE_CUDA && plan->desc.vector_memory == MERBIT_MEMORY_HOST) {
    return mbi_fail(
        context, MERBIT_NOT_SUPPORTED,
        "plan_desc.vector_memory is MERBIT_MEMORY_HOST, but a plan on CUDA with an epilogue "
        "takes vectors in GPU memory; use MERBIT_MEMORY_DEFAULT and a merbit_buffer");
  }
  return MERBIT_OK;
}

/* ---- The kernel -------------------------------------------------------------------------- */

MBI_INTERNAL void mbi_epilogue_preamble(const mbi_epilogue *e, merbit_type type,
                                        mbi_preamble *preamble) {
  memset(preamble, 0, sizeof *preamble);
  mbi_preamble_define(preamble, "MBK_VECTOR", mbi_type_device(type));
  mbi_preamble_define(preamble, "MBK_COMPUTE", mbi_type_device(type));
  mbi_preamble_define_int(preamble, "MBK_EPILOGUE_VECTORS", e->given.vectors);
  mbi_preamble_define_int(preamble, "MBK_EPILOGUE_SCALARS", e->given.scalars);
  if (e->result[0] != '\0') {
    mbi_preamble_define(preamble, "MBK_EPILOGUE_RESULT", e->result);
  }
  if (e->sums[0][0] != '\0') {
    mbi_preamble_define(preamble, "MBK_EPILOGUE_SUM0", e->sums[0]);
  }
  if (e->sums[1][0] != '\0') {
    mbi_preamble_define(preamble, "MBK_EPILOGUE_SUM1", e->sums[1]);
  }
  if (e->after != NULL) {
    mbi_preamble_define(preamble, "MBK_EPILOGUE_AFTER", e->after);
  }
}

/* Compiles the epilogue's kernel. The CUDA context must be current. */
MBI_INTERNAL merbit_status mbi_epilogue_specialise(merbit_plan *plan) {
  mbi_epilogue *e = plan->epilogue;
  mbi_preamble preamble;
  mbi_epilogue_preamble(e, mbi_plan_accumulator(plan), &preamble);
  MBI_TRY(mbi_plan_program(plan, "spmv/shared/epilogue.cu", &preamble, 1, &e->program));
  return mbi_program_kernel(plan->context, &e->program, "mbk_epilogue_rows", &e->kernel);
}

/* Releases the epilogue's program. The CUDA context must be current. */
MBI_INTERNAL void mbi_epilogue_release_cuda(merbit_plan *plan) {
  if (plan->epilogue != NULL) {
    mbi_program_destroy(plan->context, &plan->epilogue->program);
  }
}

/* ---- Scratch ----------------------------------------------------------------------------- */

/* Returns the number of blocks of the epilogue's kernel, which is the same for every product of
 * a plan. A thread loads 16 bytes of each vector at a time. */
MBI_INTERNAL uint64_t mbi_epilogue_blocks(const merbit_plan *plan) {
  const uint64_t packs =
      (uint64_t)plan->csr.rows * mbi_type_size(mbi_plan_accumulator(plan)) / 16 + 1;
  const uint64_t blocks = (packs + MBI_EPILOGUE_THREADS - 1) / MBI_EPILOGUE_THREADS;
  const uint64_t resident =
      MBI_EPILOGUE_RESIDENT * (uint64_t)plan->context->device.multiprocessors;
  const uint64_t most = resident < MBI_EPILOGUE_BLOCKS ? resident : MBI_EPILOGUE_BLOCKS;
  return blocks < most ? blocks : most;
}

MBI_INTERNAL int64_t mbi_epilogue_chunks(const merbit_plan *plan) {
  return (plan->csr.rows + MBI_EPILOGUE_CHUNK - 1) / MBI_EPILOGUE_CHUNK;
}

MBI_INTERNAL uint64_t mbi_epilogue_scratch_bytes(const merbit_plan *plan) {
  return plan->epilogue == NULL ? 0
         : plan->epilogue->result[0] == '\0'
             ? MBI_EPILOGUE_PRODUCT
             : MBI_EPILOGUE_PRODUCT +
                   (uint64_t)plan->csr.rows * mbi_type_size(mbi_plan_accumulator(plan));
}

/* Allocates the sums of an epilogue on the CPU. mbi_workspace_free releases them. */
MBI_INTERNAL merbit_status mbi_epilogue_allocate_sums(merbit_workspace *workspace) {
  const merbit_plan *plan = workspace->plan;
  void *sums = NULL;
  if (plan->epilogue == NULL) {
    return MERBIT_OK;
  }
  MBI_TRY(mbi_allocate_array(plan->context, mbi_epilogue_chunks(plan) + 1, 2 * sizeof(double),
                             "an epilogue's sums", &sums));
  workspace->sums = (double *)sums;
  return MERBIT_OK;
}
