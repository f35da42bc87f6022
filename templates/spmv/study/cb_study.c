#include "matrix/matrix.h"
#include "spmv/gpu/cb/cb.h"

/* How CB-SpMV balances thread blocks (section 3.4, Algorithm 2), for comparison. Tasks are
 * sorted by nonzeros, the longest first. Each goes to the thread block with the fewest
 * nonzeros so far among those with a free warp. A task is the work of a warp: in the paper one
 * block of 16 x 16, here several strips or a part of one. Blocks are reordered, but their data
 * is not. */
#ifdef MERBIT_STUDY_METHODS

typedef struct mbi_cb_load {
  uint64_t nonzeros;
  uint32_t number; /* of a task, or, in the heap, of a thread block */
  int warps;       /* of a thread block: warps with a task */
} mbi_cb_load;

static int mbi_cb_by_load(const void *a, const void *b) {
  const mbi_cb_load *left = (const mbi_cb_load *)a, *right = (const mbi_cb_load *)b;
  if (left->nonzeros != right->nonzeros) {
    return left->nonzeros < right->nonzeros ? 1 : -1;
  }
  return (left->number > right->number) - (left->number < right->number);
}

static int mbi_cb_lighter(const mbi_cb_load *a, const mbi_cb_load *b) {
  return a->nonzeros < b->nonzeros || (a->nonzeros == b->nonzeros && a->number < b->number);
}

/* Restores a heap, with the lightest element first, after its first element has changed. */
static void mbi_cb_sink(mbi_cb_load *heap, uint64_t count) {
  const mbi_cb_load first = heap[0];
  uint64_t at = 0, child;
  while ((child = 2 * at + 1) < count) {
    child += child + 1 < count && mbi_cb_lighter(&heap[child + 1], &heap[child]);
    if (!mbi_cb_lighter(&heap[child], &first)) {
      break;
    }
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = first;
}

/* Writes the tasks of each thread block to `order`, `warps` entries each. UINT32_MAX means
 * none. */
static void mbi_cb_assign(mbi_cb_load *tasks, uint64_t count, mbi_cb_load *heap, int warps,
                          uint32_t *order) {
  uint64_t blocks = (count + (uint64_t)warps - 1) / (uint64_t)warps, i;
  memset(order, 0xff, (size_t)(blocks * (uint64_t)warps) * sizeof *order);
  for (i = 0; i < blocks; i++) {
    heap[i].nonzeros = 0;
    heap[i].number = (uint32_t)i;
    heap[i].warps = 0;
  }
  qsort(tasks, (size_t)count, sizeof *tasks, mbi_cb_by_load);
  for (i = 0; i < count; i++) {
    order[heap[0].number * (uint32_t)warps + (uint32_t)heap[0].warps] = tasks[i].number;
    heap[0].nonzeros += tasks[i].nonzeros;
    if (++heap[0].warps == warps) {
      heap[0] = heap[--blocks];
    }
    if (blocks > 0) {
      mbi_cb_sink(heap, blocks);
    }
  }
}

/* Puts the tasks and their blocks in the new order. A warp without a task gets one without
 * blocks. */
static void mbi_cb_reorder(mbi_cb_format *f, const uint32_t *order, uint64_t places,
                           uint64_t *words, uint32_t *first, uint64_t *task_block,
                           uint32_t *task_target) {
  uint64_t place, block = 0;
  for (place = 0; place < places; place++) {
    const int none = order[place] == UINT32_MAX;
    const uint64_t from = none ? 0 : f->task_block[order[place]];
    const uint64_t count = none ? 0 : f->task_block[order[place] + 1] - from;
    memcpy(words + block, f->words + from, (size_t)count * sizeof *words);
    memcpy(first + block, f->first + from, (size_t)count * sizeof *first);
    task_block[place] = block;
    task_target[place] = none ? 0 : f->task_target[order[place]];
    block += count;
  }
  task_block[places] = block;
  memcpy(f->words, words, (size_t)f->blocks * sizeof *words);
  memcpy(f->first, first, (size_t)f->blocks * sizeof *first);
}

/* Assigns tasks to thread blocks. `scratch` has room for 2 * places loads, the words and
 * columns of the blocks, and `places` numbers. */
static void mbi_cb_deal_out(mbi_cb_format *f, int warps, uint64_t places, void *scratch,
                            uint64_t *task_block, uint32_t *task_target) {
  mbi_cb_load *tasks = (mbi_cb_load *)scratch, *heap = tasks + places;
  uint64_t *words = (uint64_t *)(void *)(heap + places), task, block;
  uint32_t *first = (uint32_t *)(void *)(words + f->blocks), *order = first + f->blocks;
  for (task = 0; task < f->tasks; task++) {
    tasks[task].number = (uint32_t)task;
    tasks[task].nonzeros = 0;
    for (block = f->task_block[task]; block < f->task_block[task + 1]; block++) {
      tasks[task].nonzeros += MBI_CB_COUNT(f->words[block]);
    }
  }
  mbi_cb_assign(tasks, f->tasks, heap, warps, order);
  mbi_cb_reorder(f, order, places, words, first, task_block, task_target);
}

/* Assigns the tasks of a format to thread blocks of `warps` warps. */
MBI_INTERNAL merbit_status mbi_cb_queue(merbit_context *context, mbi_cb_format *f, int warps) {
  const uint64_t places = (f->tasks + (uint64_t)warps - 1) / (uint64_t)warps * (uint64_t)warps;
  const uint64_t bytes = f->blocks * (sizeof *f->words + sizeof *f->first) +
                         places * (2 * sizeof(mbi_cb_load) + sizeof(uint32_t));
  void *scratch = NULL, *task_block = NULL, *task_target = NULL;
  merbit_status status =
      mbi_allocate_array(context, (int64_t)bytes, 1, "tasks in a queue", &scratch);
  if (status == MERBIT_OK) {
    status = mbi_allocate_array(context, (int64_t)places + 1, 8, "tasks", &task_block);
  }
  if (status == MERBIT_OK) {
    status = mbi_allocate_array(context, (int64_t)places, 4, "targets of tasks", &task_target);
  }
  if (status == MERBIT_OK) {
    mbi_cb_deal_out(f, warps, places, scratch, (uint64_t *)task_block, (uint32_t *)task_target);
    mbi_release(context, f->task_block);
    mbi_release(context, f->task_target);
    f->task_block = (uint64_t *)task_block;
    f->task_target = (uint32_t *)task_target;
    f->tasks = places;
  } else {
    mbi_release(context, task_block);
    mbi_release(context, task_target);
  }
  mbi_release(context, scratch);
  return status;
}

#endif /* MERBIT_STUDY_METHODS */
