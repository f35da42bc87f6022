#include "matrix/matrix.h"
#include "spmv/cpu/cpu.h"
#include "spmv/plan/plan.h"

/* Puts each task's part of the matrix on the memory node of the thread that runs the task
 * (section III.D of D. Merrill, M. Garland, Merge-based Parallel Sparse Matrix-Vector
 * Multiplication, SC16). Pages are moved, even those of the user's arrays. If the system does
 * not move them, each task copies its part, so that the pages of the copy lie on its node. */

#define MBI_NUMA_FEW (64 * 4096) /* one page in this many bytes may stay elsewhere */

typedef struct mbi_numa_copy {
  const merbit_plan *plan;
  const char *from;
  char *to;
  size_t size; /* of an element, in bytes */
} mbi_numa_copy;

/* Returns the first entry of a task. */
static int64_t mbi_numa_entry(const merbit_plan *plan, int task) {
  const int64_t path = plan->csr.rows + plan->csr.nnz;
  return mbi_merge_search(&plan->csr, mbi_share(path, plan->tasks, task)).entry;
}

/* Moves the tasks' parts of an array, which has an element per entry, to their nodes. Returns 1
 * if all are there, apart from pages that two tasks share and a few busy ones. */
MBI_INTERNAL int mbi_numa_settle(const merbit_plan *plan, const mbi_numa *numa,
                                 const void *array, size_t size, mbi_page_mover move) {
  const int threads = plan->context->threads;
  int task, settled = 1;
  for (task = 0; task < plan->tasks && settled; task++) {
    const int64_t begin = mbi_numa_entry(plan, task), end = mbi_numa_entry(plan, task + 1);
    const int64_t bytes = (end - begin) * (int64_t)size;
    const int node = mbi_numa_node(numa, threads, mbi_task_thread(plan->tasks, threads, task));
    const int64_t elsewhere =
        move((const char *)array + (size_t)begin * size, (size_t)bytes, node);
    settled = elsewhere >= 0 && elsewhere <= bytes / MBI_NUMA_FEW;
  }
  return settled;
}

static void mbi_numa_copy_part(void *argument, int task) {
  const mbi_numa_copy *copy = (const mbi_numa_copy *)argument;
  const size_t begin = (size_t)mbi_numa_entry(copy->plan, task) * copy->size;
  const size_t end = (size_t)mbi_numa_entry(copy->plan, task + 1) * copy->size;
  memcpy(copy->to + begin, copy->from + begin, end - begin);
}

static merbit_status mbi_numa_copy_array(merbit_plan *plan, const void *from, size_t size,
                                         void **to) {
  mbi_numa_copy copy;
  MBI_TRY(mbi_allocate_array(plan->context, plan->csr.nnz, size,
                             "a copy of the matrix on its nodes", to));
  copy.plan = plan;
  copy.from = (const char *)from;
  copy.to = (char *)*to;
  copy.size = size;
  mbi_parallel(plan->context, plan->tasks, mbi_numa_copy_part, &copy);
  return MERBIT_OK;
}

/* Places the CSR that MERGE reads. */
static merbit_status mbi_numa_place_csr(merbit_plan *plan, const mbi_numa *numa,
                                        mbi_page_mover move) {
  const size_t size = mbi_type_size(plan->type);
  void *memory;
  if (!mbi_numa_settle(plan, numa, plan->csr.col_ind, sizeof(int32_t), move) &&
      plan->placed_columns == NULL) {
    plan->placed = MBI_PLACED_COPIED;
    MBI_TRY(mbi_numa_copy_array(plan, plan->csr.col_ind, sizeof(int32_t), &memory));
    plan->placed_columns = memory;
    plan->csr.col_ind = memory;
  }
  if (plan->values != NULL && !mbi_numa_settle(plan, numa, plan->values, size, move) &&
      plan->own_values == NULL) {
    plan->placed = MBI_PLACED_COPIED;
    MBI_TRY(mbi_numa_copy_array(plan, plan->values, size, &memory));
    plan->own_values = memory;
    plan->values = memory;
  }
  return MERBIT_OK;
}

/* Places the arrays that the plan's method reads. It is called again for new values, which
 * may lie in other pages. Sorted rows need no copy: they were written by the tasks that read
 * them. */
MBI_INTERNAL merbit_status mbi_numa_place(merbit_plan *plan, const mbi_numa *numa,
                                          mbi_page_mover move) {
  const mbi_sorted *sorted = &plan->sorted;
  if (numa->nodes < 2) {
    plan->placed = MBI_PLACED_ONE_NODE;
    return MERBIT_OK;
  }
  if (plan->csr.nnz == 0 || (plan->row->takes & MBI_SEQUENTIAL) != 0 ||
      plan->blocks.chunk_index != NULL) {
    plan->placed = MBI_PLACED_NOTHING;
    return MERBIT_OK;
  }
  plan->placed = plan->placed_columns != NULL ? MBI_PLACED_COPIED : MBI_PLACED_MOVED;
  plan->placed_nodes = numa->nodes;
  if (sorted->col_ind == NULL) {
    return mbi_numa_place_csr(plan, numa, move);
  }
  if (!mbi_numa_settle(plan, numa, sorted->col_ind, sizeof(int32_t), move) ||
      (sorted->values != NULL &&
       !mbi_numa_settle(plan, numa, sorted->values, mbi_type_size(plan->type), move))) {
    plan->placed = MBI_PLACED_TOUCHED;
  }
  return MERBIT_OK;
}

/* Places the matrix if plan_desc.numa asks for it. */
MBI_INTERNAL merbit_status mbi_numa_plan(merbit_plan *plan) {
  mbi_numa numa;
  if (!plan->desc.numa) {
    return MERBIT_OK;
  }
  if (plan->context->numa.count > 0) {
    return mbi_numa_place(plan, &plan->context->numa, mbi_numa_move);
  }
  mbi_numa_here(&numa);
  return mbi_numa_place(plan, &numa, mbi_numa_move);
}

/* Appends to the plan's description where the matrix was placed. */
MBI_INTERNAL int mbi_numa_describe(const merbit_plan *plan, char *text, size_t size) {
  const char *bound = plan->context->numa.count > 0 ? "" : ", but threads are not bound";
  switch (plan->placed) {
  case MBI_PLACED_ONE_NODE:
    return snprintf(text, size, "; NUMA: one node, no effect");
  case MBI_PLACED_MOVED:
    return snprintf(text, size, "; NUMA: parts moved to %d nodes%s", plan->placed_nodes, bound);
  case MBI_PLACED_COPIED:
    return snprintf(text, size, "; NUMA: parts copied to %d nodes%s", plan->placed_nodes,
                    bound);
  case MBI_PLACED_TOUCHED:
    return snprintf(text, size, "; NUMA: parts placed on %d nodes by first touch%s",
                    plan->placed_nodes, bound);
  default:
    return snprintf(text, size, "; NUMA: no effect on this method");
  }
}
