#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/cpu/cpu.h"
#include "spmv/gpu/scan/scan.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* The last stage: stores new values where products read them. */

/* Builds the method again for general values, at `values`, which the plan then owns. The size
 * of the carries, for which workspaces have room, does not change: products compute x'A x only
 * if they did before, and the tiles of SCAN have the same size. */
static merbit_status mbi_stored_remake(merbit_plan *plan, mbi_devptr values) {
  merbit_context *context = plan->context;
  const uint64_t bytes = plan->device.nnz * mbi_type_size(plan->type);
  merbit_plan fresh = *plan;
  merbit_status status;
  fresh.state = NULL; /* the old plan keeps its state until the new one is complete */
  mbi_method_forget(&fresh);
  memset(&fresh.nonempty, 0, sizeof fresh.nonempty);
  fresh.desc.changing_values = 1;
  fresh.making.dots = mbi_scan_dot_parts(plan) > 0;
  if (plan->method == MERBIT_METHOD_SCAN && !mbi_scan_of(plan)->whole) {
    fresh.tuning[MBI_KNOB_SCAN_STEPS] = mbi_scan_of(plan)->steps;
  }
  fresh.device.form = MBI_VALUES_GENERAL;
  fresh.device.table = 0;
  fresh.device.values = values;
  fresh.device.owns_values = 1;
  fresh.device.bytes += bytes;
  status = mbi_choose(&fresh);
  if (status != MERBIT_OK) {
    mbi_method_destroy(&fresh);
    mbi_nonempty_destroy(&fresh, &fresh.nonempty);
    return status;
  }
  mbi_log(context, "new values do not fit \"%s\": the plan stores general values from now on",
          mbi_value_name(plan));
  mbi_method_destroy(plan);
  mbi_nonempty_destroy(plan, &plan->nonempty);
  mbi_plan_release(plan, plan->device.values);
  mbi_plan_release(plan, plan->device.table);
  fresh.device.bytes -=
      mbi_values_bytes(plan, plan->device.form) + (uint64_t)mbi_value_shared(plan);
  mbi_mutex_lock(&context->lock);
  fresh.references = plan->references;
  *plan = fresh;
  mbi_mutex_unlock(&context->lock);
  return MERBIT_OK;
}

/* Stores the values at `from` in the plan's shorter form. If they do not have that form,
 * rebuilds the plan with general values. *own is 0, or `from` if the plan may take over this
 * array; if it does, *own becomes 0. */
static merbit_status mbi_stored_shorten(merbit_plan *plan, mbi_devptr from, mbi_devptr *own,
                                        mbi_values_search *search) {
  mbi_device_csr *csr = &plan->device;
  const uint64_t bytes = csr->nnz * mbi_type_size(plan->type);
  int have = 0;
  MBI_TRY(mbi_values_search_begin(plan, from, search));
  MBI_TRY(mbi_values_have(plan, search, csr->form, &have));
  if (have) {
    MBI_TRY(mbi_values_store(plan, search, csr->form, csr->values, csr->table));
    return mbi_value_bytes(plan) > 0 && plan->cuda->refresh != NULL ? plan->cuda->refresh(plan)
                                                                    : MERBIT_OK;
  }
  if (*own == 0) {
    MBI_TRY(mbi_plan_allocate(plan, bytes, "a plan's own values", own));
    MBI_TRY(mbi_device_copy(plan->context, *own, from, (size_t)bytes));
  }
  MBI_TRY(mbi_stored_remake(plan, *own));
  *own = 0;
  return MERBIT_OK;
}

/* Stores new values in the plan's shorter form, like mbi_stored_shorten. */
static merbit_status mbi_stored_shorter(merbit_plan *plan, mbi_devptr from, mbi_devptr *own) {
  mbi_values_search search;
  const merbit_status status = mbi_stored_shorten(plan, from, own, &search);
  mbi_values_search_end(plan, &search);
  mbi_csr_programs_destroy(plan->context, &plan->nonempty.programs);
  return status;
}

/* Copies new values to the array `target`, in the order of the plan's nonzeros. */
static merbit_status mbi_stored_move(merbit_plan *plan, const void *values,
                                     merbit_memory memory, size_t bytes, mbi_devptr target) {
  merbit_context *context = plan->context;
  const int moved = plan->reorder.device_places != 0, device = memory == MERBIT_MEMORY_DEVICE;
  mbi_devptr from = device ? mbi_device_address(values) : 0, own = 0;
  merbit_status status = MERBIT_OK;
  if (!moved) {
    return device ? mbi_device_copy(context, target, from, bytes)
                  : mbi_device_upload(context, target, values, bytes);
  }
  if (!device) {
    MBI_TRY(mbi_plan_allocate(plan, bytes, "new values before conversion", &own));
    from = own;
    status = mbi_device_upload(context, own, values, bytes);
  }
  if (status == MERBIT_OK) {
    status = mbi_reorder_values_cuda(plan, from, target);
  }
  mbi_plan_release(plan, own);
  return status;
}

/* Brings new values into the method's form. `from` is their address if they can be read where
 * they are (mbi_stored_in_place). If `from` is 0, they are copied to *fresh, or to the plan's
 * own array if *fresh is 0. If the plan takes over *fresh, it becomes 0. */
static merbit_status mbi_stored_put(merbit_plan *plan, const mbi_new_values *given,
                                    size_t bytes, mbi_devptr from, mbi_devptr *fresh) {
  mbi_device_csr *csr = &plan->device;
  const mbi_devptr before = csr->values;
  merbit_status status = MERBIT_OK;
  if (from == 0) {
    MBI_TRY(mbi_stored_move(plan, given->values, given->memory, bytes,
                            *fresh != 0 ? *fresh : csr->values));
  }
  if (csr->form != MBI_VALUES_GENERAL) {
    MBI_TRY(mbi_stored_shorter(plan, from != 0 ? from : *fresh, fresh));
  } else {
    if (*fresh != 0) {
      csr->values = *fresh;
      csr->owns_values = 1;
      csr->bytes += bytes;
      *fresh = 0;
    } else if (from != 0) {
      csr->values = from;
    }
    status = plan->cuda->refresh != NULL ? plan->cuda->refresh(plan) : MERBIT_OK;
    csr->values = from != 0 ? before : csr->values;
  }
  return status == MERBIT_OK ? mbi_device_synchronize(plan->context, NULL) : status;
}

/* Returns the address of the new values if they need not be copied, otherwise 0. They are read
 * in place if the plan has a shorter form, if it has no array of its own because the method
 * copies all values, or if they are the borrowed array that products read and the user has
 * overwritten. */
static mbi_devptr mbi_stored_in_place(const merbit_plan *plan, const mbi_new_values *given) {
  const mbi_device_csr *csr = &plan->device;
  const mbi_devptr from = mbi_device_address(given->values);
  return given->memory == MERBIT_MEMORY_DEVICE && plan->reorder.device_places == 0 &&
                 (csr->form != MBI_VALUES_GENERAL || csr->values == 0 ||
                  (csr->values == from && !csr->owns_values))
             ? from
             : 0;
}

/* Stores new values for a plan on CUDA, in a shorter form or in an array that the plan owns. If
 * the plan borrows its array and the new values are elsewhere, it gets an array of its own. The
 * CUDA context must be current. */
static merbit_status mbi_stored_on_cuda_entered(merbit_plan *plan,
                                                const mbi_new_values *given) {
  merbit_context *context = plan->context;
  mbi_device_csr *csr = &plan->device;
  const int shorter = csr->form != MBI_VALUES_GENERAL;
  const size_t bytes = (size_t)given->count * mbi_type_size(plan->type);
  const mbi_devptr from = mbi_stored_in_place(plan, given);
  mbi_devptr fresh = 0;
  merbit_status status;
  if (given->memory == MERBIT_MEMORY_DEVICE) {
    MBI_TRY(mbi_types_check_there(context, 1, plan->type, given->values));
  }
  if (from == 0 && (shorter || !csr->owns_values)) {
    MBI_TRY(mbi_plan_allocate(plan, bytes, "a plan's own values", &fresh));
  }
  status = mbi_stored_put(plan, given, bytes, from, &fresh);
  mbi_plan_release(plan, fresh);
  return status;
}

static merbit_status mbi_stored_on_cuda(merbit_plan *plan, const mbi_new_values *given) {
  merbit_status status;
  MBI_TRY(mbi_device_enter(plan->context));
  status = mbi_stored_on_cuda_entered(plan, given);
  mbi_device_leave(plan->context);
  return status;
}

/* Stores new host values for a plan on the CPU. */
static merbit_status mbi_stored_on_cpu(merbit_plan *plan, const mbi_new_values *given) {
  const size_t bytes = (size_t)given->count * mbi_type_size(plan->type);
  if (mbi_plan_copies_values(plan)) {
    plan->values = given->values;             /* for `refresh`, which alone reads them */
  } else if (given->values != plan->values) { /* an earlier stage may have stored them */
    if (plan->own_values == NULL) {
      MBI_TRY(mbi_allocate_array(plan->context, (int64_t)bytes, 1, "a plan's own values",
                                 &plan->own_values));
    }
    memcpy(plan->own_values, given->values, bytes);
    plan->values = plan->own_values;
  }
  if (plan->cpu->refresh != NULL) {
    MBI_TRY(plan->cpu->refresh(plan));
  }
  return mbi_plan_has_blocks(plan) || plan->symmetric.direct ? MERBIT_OK : mbi_numa_plan(plan);
}

/* Stores new values, given in the order of plan->csr or plan->bsr. */
MBI_INTERNAL merbit_status mbi_stored_map_values(merbit_plan *plan, mbi_new_values *fresh) {
  return plan->side == MERBIT_SIDE_CUDA ? mbi_stored_on_cuda(plan, fresh)
                                        : mbi_stored_on_cpu(plan, fresh);
}
