#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/cpu/cpu.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* The new values in the order in which the plan multiplies: those of a CSR, or of plan->bsr. A
 * COO or 64-bit view is converted again, since duplicates may have been added up. */
static merbit_status mbi_update_convert(merbit_plan *plan, const void *values,
                                        merbit_matrix **matrix) {
  merbit_context *context = plan->context;
  const int device = plan->view.memory == MERBIT_MEMORY_DEVICE;
  merbit_view host = plan->view;
  merbit_status status = MERBIT_OK;
  if (device) {
    merbit_view structure = plan->view;
    structure.values = NULL;
    status = mbi_view_download(context, &structure, &host);
  }
  if (status == MERBIT_OK) {
    const void *kept = host.values;
    host.values = values;
    status = plan->matrix == NULL
                 ? mbi_bsr_refill(context, &host, &plan->bsr)
                 : mbi_matrix_from_view(context, &host, mbi_plan_build_flags(plan), matrix);
    host.values = device ? kept : host.values;
  }
  if (device) {
    mbi_host_view_release(context, &host);
  }
  return status;
}

/* The same matrix in general form: the method is made again for the values at `values`, which
 * the plan takes over. Carries keep their size, which does not depend on the values: products
 * add up x'A x only where they did before. */
static merbit_status mbi_update_remake(merbit_plan *plan, mbi_devptr values) {
  merbit_context *context = plan->context;
  const uint64_t bytes = plan->device.nnz * mbi_type_size(plan->type);
  merbit_plan fresh = *plan;
  merbit_status status;
  fresh.state = NULL; /* the old plan keeps its own until the new one stands */
  mbi_method_forget(&fresh);
  memset(&fresh.nonempty, 0, sizeof fresh.nonempty);
  fresh.desc.changing_values = 1;
  fresh.making.dots = mbi_scan_dot_parts(plan) > 0;
  fresh.device.form = MBI_VALUES_GENERAL;
  fresh.device.table = 0;
  fresh.device.values = values;
  fresh.device.owns_values = 1;
  fresh.device.bytes += bytes;
  status = mbi_choose(&fresh);
  if (status != MERBIT_OK) {
    mbi_method_destroy(&fresh);
    mbi_nonempty_destroy(context, &fresh.nonempty);
    return status;
  }
  mbi_log(context, "new values broke the form \"%s\": the plan takes general ones from now on",
          mbi_value_name(plan));
  mbi_method_destroy(plan);
  mbi_nonempty_destroy(context, &plan->nonempty);
  mbi_device_release(context, plan->device.values);
  mbi_device_release(context, plan->device.table);
  fresh.device.bytes -=
      mbi_values_bytes(plan, plan->device.form) + (uint64_t)mbi_value_shared(plan);
  mbi_mutex_lock(&context->lock);
  fresh.references = plan->references;
  *plan = fresh;
  mbi_mutex_unlock(&context->lock);
  return MERBIT_OK;
}

/* General values at *values for a plan that stores them shorter: likewise where they fit, else
 * the plan takes them over, and *values becomes 0. */
static merbit_status mbi_update_shorter(merbit_plan *plan, mbi_devptr *values) {
  merbit_context *context = plan->context;
  mbi_device_csr *csr = &plan->device;
  mbi_values_search look;
  mbi_program program;
  int have = 0;
  merbit_status status =
      mbi_arrays_program(context, csr->offset_type, MERBIT_INDEX_32, csr->base, &program);
  if (status != MERBIT_OK) {
    return status;
  }
  status = mbi_values_search_begin(plan, &program, *values, &look);
  if (status == MERBIT_OK) {
    status = mbi_values_have(plan, &look, csr->form, &have);
  }
  if (status == MERBIT_OK && have) {
    status = mbi_values_store(plan, &look, csr->form, csr->values, csr->table);
    if (status == MERBIT_OK && mbi_value_bytes(plan) > 0 && plan->cuda->refresh != NULL) {
      status = plan->cuda->refresh(plan);
    }
  } else if (status == MERBIT_OK) {
    status = mbi_update_remake(plan, *values);
    *values = status == MERBIT_OK ? 0 : *values;
  }
  mbi_values_search_end(plan, &look);
  mbi_program_destroy(context, &program);
  return status;
}

/* New values to the array `target`, in the plan's order of nonzeros. */
static merbit_status mbi_update_move(merbit_plan *plan, const void *values,
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
    status = mbi_device_allocate(context, bytes, "new values, as they come", &own);
    from = own;
  }
  if (status == MERBIT_OK && !device) {
    status = mbi_device_upload(context, own, values, bytes);
  }
  if (status == MERBIT_OK) {
    status = mbi_reorder_values_cuda(plan, from, target);
  }
  mbi_device_release(context, own);
  return status;
}

/* New values for a plan on CUDA, `bytes` of them in the order of the CSR. They go to the plan's
 * own array, which replaces a borrowed one, or to one beside those that are stored shorter. */
static merbit_status mbi_update_cuda(merbit_plan *plan, const void *values,
                                     merbit_memory memory, size_t bytes) {
  merbit_context *context = plan->context;
  mbi_device_csr *csr = &plan->device;
  const int shorter = csr->form != MBI_VALUES_GENERAL;
  mbi_devptr fresh = 0;
  merbit_status status = mbi_device_enter(context);
  if (status != MERBIT_OK) {
    return status;
  }
  if (memory == MERBIT_MEMORY_DEVICE && !mbi_device_owns(context, values)) {
    status =
        mbi_fail(context, MERBIT_INVALID_ARGUMENT,
                 "`memory` says that the new values are in device memory, but %p is not an "
                 "address of the GPU; use MERBIT_MEMORY_HOST for an array in host memory",
                 values);
  } else if (memory == MERBIT_MEMORY_DEVICE) {
    status = mbi_types_check_address(context, "the new values", plan->type, values);
  }
  if (status == MERBIT_OK && (shorter || !csr->owns_values)) {
    status = mbi_device_allocate(context, bytes, "a plan's own values", &fresh);
  }
  if (status == MERBIT_OK) {
    status = mbi_update_move(plan, values, memory, bytes, fresh != 0 ? fresh : csr->values);
  }
  if (status == MERBIT_OK && shorter) {
    status = mbi_update_shorter(plan, &fresh);
  } else if (status == MERBIT_OK) {
    if (fresh != 0) {
      csr->values = fresh;
      csr->owns_values = 1;
      csr->bytes += bytes;
      fresh = 0;
    }
    status = plan->cuda->refresh != NULL ? plan->cuda->refresh(plan) : MERBIT_OK;
  }
  if (status == MERBIT_OK) {
    status = mbi_device_synchronize(context, NULL);
  }
  mbi_device_release(context, fresh);
  mbi_device_leave(context);
  return status;
}

/* New values in host memory, `bytes` of them in the order of the CSR. */
static merbit_status mbi_update_store(merbit_plan *plan, const void *values, size_t bytes) {
  merbit_status status;
  if (plan->side == MERBIT_SIDE_CUDA) {
    return mbi_update_cuda(plan, values, MERBIT_MEMORY_HOST, bytes);
  }
  if (plan->reorder.places != NULL && !mbi_reorder_on_cpu(plan)) {
    mbi_reorder_values(plan, values);
    return MERBIT_OK;
  }
  if (values == plan->values) { /* those of both triangles, which are the plan's own */
    return MERBIT_OK;
  }
  if (plan->own_values == NULL) {
    status = mbi_allocate_array(plan->context, (int64_t)bytes, 1, "a plan's own values",
                                &plan->own_values);
    if (status != MERBIT_OK) {
      return status;
    }
  }
  memcpy(plan->own_values, values, bytes);
  plan->values = plan->own_values;
  return MERBIT_OK;
}

/* Values that lie on the other side than the plan's arrays pass through host memory. */
static merbit_status mbi_update_through_host(merbit_plan *plan, const void *values,
                                             merbit_memory memory) {
  merbit_context *context = plan->context;
  const size_t size = mbi_type_size(plan->type);
  const void *host = values, *fresh = values;
  const merbit_view *multiplied =
      mbi_plan_has_blocks(plan) && plan->extracted.csr.rows == 0 ? &plan->bsr.view : &plan->csr;
  merbit_matrix *matrix = NULL;
  merbit_status status = MERBIT_OK;
  if (memory == MERBIT_MEMORY_DEVICE) {
    status = mbi_device_enter(context);
    if (status != MERBIT_OK) {
      return status;
    }
    status = mbi_array_download(context, values, mbi_view_values(&plan->view), size, &host);
    mbi_device_leave(context);
  }
  fresh = host;
  if (status == MERBIT_OK && mbi_update_converts(plan)) {
    status = mbi_update_convert(plan, host, &matrix);
    fresh = matrix != NULL ? matrix->view.values : plan->bsr.view.values;
  }
  if (status == MERBIT_OK) {
    status = mbi_update_store(plan, fresh, (size_t)mbi_view_values(multiplied) * size);
  }
  merbit_matrix_destroy(matrix);
  if (memory == MERBIT_MEMORY_DEVICE) {
    mbi_release(context, (void *)(uintptr_t)host);
  }
  return status;
}

MERBIT_API merbit_status merbit_plan_update_values(merbit_plan *plan, const void *values,
                                                   merbit_memory memory) {
  const size_t bytes =
      plan != NULL ? (size_t)mbi_view_values(&plan->view) * mbi_type_size(plan->type) : 0;
  merbit_status status;
  if (plan == NULL) {
    return MERBIT_INVALID_ARGUMENT;
  }
  if (plan->given.values == NULL) {
    return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                    "the plan is for a pattern of ones; make a plan from a view with values");
  }
  if (plan->view.nnz > 0 && values == NULL) {
    return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                    "the new values are NULL; give %" PRId64 " of them",
                    mbi_view_values(&plan->given));
  }
  if (memory == MERBIT_MEMORY_DEFAULT) {
    memory = plan->given.memory == MERBIT_MEMORY_DEVICE ||
                     plan->symmetric.view.memory == MERBIT_MEMORY_DEVICE
                 ? MERBIT_MEMORY_DEVICE
                 : MERBIT_MEMORY_HOST;
  }
  if (memory == MERBIT_MEMORY_DEVICE && plan->side == MERBIT_SIDE_CPU) {
    return mbi_fail(plan->context, MERBIT_INVALID_ARGUMENT,
                    "`memory` says that the new values are in device memory, but the plan is "
                    "for the CPU; give an array in host memory and MERBIT_MEMORY_HOST");
  }
  if (plan->view.nnz == 0) {
    return MERBIT_OK;
  }
  if (plan->symmetric.places != NULL) {
    status = mbi_symmetric_values(plan, values, memory);
    if (status != MERBIT_OK) {
      return status;
    }
    values = plan->symmetric.full.values;
    memory = MERBIT_MEMORY_HOST;
  }
  if (mbi_reorder_on_cpu(plan)) {
    status = mbi_transpose_values(plan, values, memory);
    if (status != MERBIT_OK) {
      return status;
    }
    values = plan->view.values;
    memory = MERBIT_MEMORY_HOST;
  }
  if (plan->side == MERBIT_SIDE_CPU && plan->cpu->update != NULL) {
    return plan->cpu->update(plan, values, bytes);
  }
  if (memory == MERBIT_MEMORY_DEVICE && !mbi_update_converts(plan)) {
    return mbi_update_cuda(plan, values, MERBIT_MEMORY_DEVICE, bytes);
  }
  status = mbi_update_through_host(plan, values, memory);
  if (status == MERBIT_OK && plan->side == MERBIT_SIDE_CPU && plan->cpu->refresh != NULL) {
    status = plan->cpu->refresh(plan);
  }
  return status == MERBIT_OK && plan->side == MERBIT_SIDE_CPU && !plan->symmetric.direct
             ? mbi_numa_plan(plan)
             : status;
}
