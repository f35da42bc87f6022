#include "core/context.h"
#include "jit/jit.h"
#include "spmv/shared/shared.h"
#include "spmv/plan/plan.h"

/* The programs that check and inspect a CSR in GPU memory while a plan is made. There is one
 * for each purpose, so that a plan compiles no more than it needs. */

static const char *const mbi_csr_files[MBI_CSR_FILES] = {
    "spmv/stages/value_sample.cu", "spmv/shared/csr_sample.cu",  "spmv/shared/nonempty_rows.cu",
    "spmv/shared/csr_blocks.cu",   "spmv/shared/csr_check.cu",   "spmv/shared/csr_columns.cu",
    "spmv/shared/csr_hash.cu",     "spmv/stages/value_check.cu", "spmv/stages/value_groups.cu"};

static void mbi_csr_preamble(const mbi_csr_types *types, mbi_preamble *preamble) {
  memset(preamble, 0, sizeof *preamble);
  mbi_preamble_define(preamble, "MBK_ROW_PTR",
                      types->offset_type == MERBIT_INDEX_64 ? "mbk_i64" : "mbk_i32");
  mbi_preamble_define_int(preamble, "MBK_BASE", types->base);
}

/* Makes the programs in `wanted`, bits of mbi_csr_file, that do not exist yet, in parallel. The
 * caller runs mbi_csr_programs_destroy afterwards, on failure too. */
MBI_INTERNAL merbit_status mbi_csr_programs_create(merbit_context *context,
                                                   const mbi_csr_types *types, uint32_t wanted,
                                                   mbi_csr_programs *programs,
                                                   mbi_program_times *times) {
  mbi_program_wish wishes[MBI_CSR_FILES];
  mbi_preamble plain, check;
  int count = 0, file;
  mbi_csr_preamble(types, &plain);
  mbi_csr_preamble(types, &check);
  mbi_preamble_define(&check, "MBK_COLUMN",
                      types->index_type == MERBIT_INDEX_64 ? "mbk_i64" : "mbk_i32");
  for (file = 0; file < MBI_CSR_FILES; file++) {
    if ((wanted >> file & 1) != 0 && programs->of[file].parts[0].module == NULL) {
      wishes[count].file = mbi_csr_files[file];
      wishes[count].preamble = file == MBI_CSR_CHECK ? &check : &plain;
      wishes[count].parts = 1;
      wishes[count++].program = &programs->of[file];
    }
  }
  return count > 0 ? mbi_programs_create(context, wishes, count, times) : MERBIT_OK;
}

MBI_INTERNAL void mbi_csr_programs_destroy(merbit_context *context,
                                           mbi_csr_programs *programs) {
  int file;
  for (file = 0; file < MBI_CSR_FILES; file++) {
    mbi_program_destroy(context, &programs->of[file]);
  }
}

/* Returns a kernel of the program `file`, which is made if it does not exist yet. */
MBI_INTERNAL merbit_status mbi_csr_kernel(merbit_context *context, const mbi_csr_types *types,
                                          mbi_csr_programs *programs, mbi_csr_file file,
                                          const char *name, mbi_program_times *times,
                                          void **kernel) {
  *kernel = NULL;
  MBI_TRY(mbi_csr_programs_create(context, types, 1u << file, programs, times));
  return mbi_program_kernel(context, &programs->of[file], name, kernel);
}

/* Returns the index types and the base of the plan's CSR in GPU memory. */
MBI_INTERNAL mbi_csr_types mbi_plan_csr_types(const merbit_plan *plan) {
  mbi_csr_types types;
  types.offset_type = plan->device.offset_type;
  types.index_type = MERBIT_INDEX_32;
  types.base = plan->device.base;
  return types;
}

/* Returns a kernel that inspects the plan's CSR. */
MBI_INTERNAL merbit_status mbi_plan_csr_kernel(merbit_plan *plan, mbi_csr_file file,
                                               const char *name, void **kernel) {
  const mbi_csr_types types = mbi_plan_csr_types(plan);
  return mbi_csr_kernel(plan->context, &types, &plan->nonempty.programs, file, name,
                        &plan->times, kernel);
}
