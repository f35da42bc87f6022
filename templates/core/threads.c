#include "core/context.h"

/* Parallel loops: mbi_parallel runs task(argument, index) for every index below `tasks` and
 * returns when all are done. A task's result must not depend on the thread that runs it. */

/* Returns whether this process is a forked child of the process that created the context. A
 * child has none of the context's threads, and may have locks that nobody will release, so it
 * works with one thread. */
static int mbi_context_forked(const merbit_context *context) {
  return context->process != mbi_process_id();
}

#ifdef _OPENMP

MBI_INTERNAL void mbi_context_locks_create(merbit_context *context) {
  mbi_mutex_create(&context->lock);
}

MBI_INTERNAL void mbi_context_locks_destroy(merbit_context *context) {
  mbi_mutex_destroy(&context->lock);
}

MBI_INTERNAL void mbi_pool_destroy(merbit_context *context) {
  (void)context;
}

/* Binds one of OpenMP's threads. Thread 0 is the caller's own and stays unbound, also if OpenMP
 * grants so few threads that it runs the tasks of others. */
static void mbi_threads_bind_one(void *argument, int index) {
  const merbit_context *context = (const merbit_context *)argument;
  if (index > 0 && omp_get_thread_num() == index) {
    mbi_numa_bind(&context->numa, context->threads, index);
  }
}

/* Runs the tasks on OpenMP's threads. A forked child runs them itself: it has no such threads,
 * and libgomp would wait for them forever. */
MBI_INTERNAL void mbi_parallel(merbit_context *context, int tasks, mbi_task task,
                               void *argument) {
  const int threads = context->threads;
  int thread, index;
  if (tasks > 1 && threads > 1 && !mbi_context_forked(context)) {
#pragma omp parallel for schedule(static, 1) num_threads(threads) private(index)
    for (thread = 0; thread < threads; thread++) {
      const int end = mbi_first_task(tasks, threads, thread + 1);
      for (index = mbi_first_task(tasks, threads, thread); index < end; index++) {
        task(argument, index);
      }
    }
    return;
  }
  for (index = 0; index < tasks; index++) {
    task(argument, index);
  }
}

MBI_INTERNAL void mbi_threads_bind(merbit_context *context) {
  mbi_numa_here(&context->numa);
  mbi_parallel(context, context->threads, mbi_threads_bind_one, context);
}

#else

MBI_INTERNAL void mbi_context_locks_create(merbit_context *context) {
  mbi_mutex_create(&context->lock);
  mbi_mutex_create(&context->pool.caller);
  mbi_mutex_create(&context->pool.lock);
  mbi_condition_create(&context->pool.wake);
  mbi_condition_create(&context->pool.idle);
}

MBI_INTERNAL void mbi_context_locks_destroy(merbit_context *context) {
  if (!mbi_context_forked(
          context)) { /* a forked child would wait for workers that it does not have */
    mbi_condition_destroy(&context->pool.idle);
    mbi_condition_destroy(&context->pool.wake);
    mbi_mutex_destroy(&context->pool.lock);
    mbi_mutex_destroy(&context->pool.caller);
  }
  mbi_mutex_destroy(&context->lock);
}

/* Polls before a worker sleeps: about 20 us, so that workers stay awake between products. */
#define MBI_SPINS 4000

static int mbi_pool_claim(mbi_pool *pool, int index) {
  const uint64_t bit = (uint64_t)1 << (index & 63);
  return (MBI_ATOMIC_OR64(&pool->claims[index >> 6], bit) & bit) == 0;
}

/* Runs a bound thread's own tasks first, whose memory is local, and then any task that is left.
 * A thread without tasks of its own runs none. Thread 0, the caller, always has some. */
MBI_INTERNAL void mbi_pool_drain_near(mbi_pool *pool, int number) {
  const int first = mbi_first_task(pool->tasks, pool->threads, number);
  const int own = mbi_first_task(pool->tasks, pool->threads, number + 1) - first;
  int i;
  for (i = 0; own > 0 && i < pool->tasks; i++) {
    const int index = (first + i) % pool->tasks;
    if (mbi_pool_claim(pool, index)) {
      pool->task(pool->argument, index);
    }
  }
}

static void mbi_pool_drain(mbi_pool *pool, int number) {
  int index;
  if (pool->bound != NULL && pool->tasks <= MBI_POOL_CLAIMS) {
    mbi_pool_drain_near(pool, number);
    return;
  }
  index = MBI_ATOMIC_ADD(&pool->next, 1);
  while (index < pool->tasks) {
    pool->task(pool->argument, index);
    index = MBI_ATOMIC_ADD(&pool->next, 1);
  }
}

MBI_THREAD_RUN mbi_pool_worker(void *argument) {
  mbi_pool *pool = (mbi_pool *)argument;
  const int number = MBI_ATOMIC_ADD(&pool->named, 1) + 1;
  unsigned seen = 0;
  if (pool->bound != NULL) {
    mbi_numa_bind(pool->bound, pool->threads, number);
  }
  for (;;) {
    int spin;
    for (spin = 0; spin < MBI_SPINS; spin++) {
      if ((unsigned)MBI_ATOMIC_LOAD(&pool->generation) != seen ||
          MBI_ATOMIC_LOAD(&pool->stop)) {
        break;
      }
      mbi_pause();
    }
    mbi_mutex_lock(&pool->lock);
    while (!pool->stop && pool->generation == seen) {
      mbi_condition_wait(&pool->wake, &pool->lock);
    }
    if (pool->stop) {
      mbi_mutex_unlock(&pool->lock);
      return 0;
    }
    seen = pool->generation;
    if (pool->open) {
      pool->active++;
      mbi_mutex_unlock(&pool->lock);
      mbi_pool_drain(pool, number);
      mbi_mutex_lock(&pool->lock);
      if (--pool->active == 0) {
        mbi_condition_wake(&pool->idle);
      }
    }
    mbi_mutex_unlock(&pool->lock);
  }
}

/* Starts the workers at the first parallel call. If one cannot be created, others do its
 * work. */
static void mbi_pool_start(merbit_context *context) {
  mbi_pool *pool = &context->pool;
  pool->started = 1;
  pool->workers =
      (mbi_thread *)mbi_allocate(context, (size_t)context->threads * sizeof(mbi_thread));
  while (pool->workers != NULL && pool->count < context->threads - 1 &&
         mbi_thread_start(&pool->workers[pool->count], mbi_pool_worker, pool)) {
    pool->count++;
  }
}

/* Lets workers bind themselves when the pool starts. Thread 0, the caller, stays unbound. */
MBI_INTERNAL void mbi_threads_bind(merbit_context *context) {
  mbi_numa_here(&context->numa);
  context->pool.threads = context->threads;
  context->pool.bound = &context->numa;
}

MBI_INTERNAL void mbi_pool_destroy(merbit_context *context) {
  mbi_pool *pool = &context->pool;
  int i;
  if (pool->count == 0 || mbi_context_forked(context)) {
    mbi_release(context, pool->workers);
    return;
  }
  mbi_mutex_lock(&pool->lock);
  MBI_ATOMIC_STORE(&pool->stop, 1);
  mbi_condition_wake(&pool->wake);
  mbi_mutex_unlock(&pool->lock);
  for (i = 0; i < pool->count; i++) {
    mbi_thread_join(pool->workers[i]);
  }
  mbi_release(context, pool->workers);
}

/* Runs the tasks on the pool's workers and the calling thread, and waits only for workers that
 * have joined. If the pool is busy with another call, the calling thread runs all tasks. */
MBI_INTERNAL void mbi_parallel(merbit_context *context, int tasks, mbi_task task,
                               void *argument) {
  mbi_pool *pool = &context->pool;
  int index;
  if (tasks > 1 && context->threads > 1 && !mbi_context_forked(context) &&
      mbi_mutex_try(&pool->caller)) {
    if (!pool->started) {
      mbi_pool_start(context);
    }
    mbi_mutex_lock(&pool->lock);
    pool->task = task;
    pool->argument = argument;
    pool->tasks = tasks;
    pool->next = 0;
    if (pool->bound != NULL && tasks <= MBI_POOL_CLAIMS) {
      memset(pool->claims, 0, (size_t)(tasks + 63) / 64 * sizeof *pool->claims);
    }
    pool->open = 1;
    MBI_ATOMIC_STORE(&pool->generation, pool->generation + 1);
    mbi_condition_wake(&pool->wake);
    mbi_mutex_unlock(&pool->lock);
    mbi_pool_drain(pool, 0);
    mbi_mutex_lock(&pool->lock);
    pool->open = 0;
    while (pool->active > 0) {
      mbi_condition_wait(&pool->idle, &pool->lock);
    }
    mbi_mutex_unlock(&pool->lock);
    mbi_mutex_unlock(&pool->caller);
    return;
  }
  for (index = 0; index < tasks; index++) {
    task(argument, index);
  }
}

#endif
