#include "core/context.h"

/* mbi_parallel runs task(argument, index) for every index below `tasks` and returns when all
 * are done. The result of a task must depend only on its index, never on the thread that runs
 * it. */

/* Returns whether this process is a forked child of the process that created the context. A
 * child has none of the context's threads, and perhaps locks that nobody will release. So it
 * works with one thread. */
static int mbi_context_forked(const merbit_context *context) {
  return context->process != getpid();
}

#ifdef _OPENMP

MBI_INTERNAL void mbi_context_locks_create(merbit_context *context) {
  (void)pthread_mutex_init(&context->lock, NULL);
}

MBI_INTERNAL void mbi_context_locks_destroy(merbit_context *context) {
  (void)pthread_mutex_destroy(&context->lock);
}

MBI_INTERNAL void mbi_pool_destroy(merbit_context *context) {
  (void)context;
}

/* Binds one of OpenMP's threads. Thread 0 is the caller's and is not moved. */
static void mbi_threads_bind_one(void *argument, int index) {
  const merbit_context *context = (const merbit_context *)argument;
  if (index > 0) {
    mbi_numa_bind(&context->numa, context->threads, index);
  }
}

/* Runs the tasks on OpenMP's threads. A forked child has no such threads, and libgomp would
 * wait for them forever, so it runs the tasks itself. */
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
  (void)pthread_mutex_init(&context->lock, NULL);
  (void)pthread_mutex_init(&context->pool.caller, NULL);
  (void)pthread_mutex_init(&context->pool.lock, NULL);
  (void)pthread_cond_init(&context->pool.wake, NULL);
  (void)pthread_cond_init(&context->pool.idle, NULL);
}

MBI_INTERNAL void mbi_context_locks_destroy(merbit_context *context) {
  if (!mbi_context_forked(
          context)) { /* a forked child would wait for workers to leave the conditions */
    (void)pthread_cond_destroy(&context->pool.idle);
    (void)pthread_cond_destroy(&context->pool.wake);
    (void)pthread_mutex_destroy(&context->pool.lock);
    (void)pthread_mutex_destroy(&context->pool.caller);
  }
  (void)pthread_mutex_destroy(&context->lock);
}

/* Polls before a worker sleeps: about 20 us, so that workers stay awake between products. */
#define MBI_SPINS 4000

static int mbi_pool_claim(mbi_pool *pool, int index) {
  const uint64_t bit = (uint64_t)1 << (index & 63);
  return (__atomic_fetch_or(&pool->claims[index >> 6], bit, __ATOMIC_RELAXED) & bit) == 0;
}

/* Runs a bound thread's own tasks first, whose memory is local, and then any that are left. A
 * thread without tasks of its own takes none. The caller, thread 0, always has some. */
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
  index = __atomic_fetch_add(&pool->next, 1, __ATOMIC_RELAXED);
  while (index < pool->tasks) {
    pool->task(pool->argument, index);
    index = __atomic_fetch_add(&pool->next, 1, __ATOMIC_RELAXED);
  }
}

static void *mbi_pool_worker(void *argument) {
  mbi_pool *pool = (mbi_pool *)argument;
  const int number = __atomic_add_fetch(&pool->named, 1, __ATOMIC_RELAXED);
  unsigned seen = 0;
  if (pool->bound != NULL) {
    mbi_numa_bind(pool->bound, pool->threads, number);
  }
  for (;;) {
    int spin;
    for (spin = 0; spin < MBI_SPINS; spin++) {
      if (__atomic_load_n(&pool->generation, __ATOMIC_ACQUIRE) != seen ||
          __atomic_load_n(&pool->stop, __ATOMIC_RELAXED)) {
        break;
      }
      mbi_pause();
    }
    mbi_mutex_lock(&pool->lock);
    while (!pool->stop && pool->generation == seen) {
      (void)pthread_cond_wait(&pool->wake, &pool->lock);
    }
    if (pool->stop) {
      mbi_mutex_unlock(&pool->lock);
      return NULL;
    }
    seen = pool->generation;
    if (pool->open) {
      pool->active++;
      mbi_mutex_unlock(&pool->lock);
      mbi_pool_drain(pool, number);
      mbi_mutex_lock(&pool->lock);
      if (--pool->active == 0) {
        (void)pthread_cond_signal(&pool->idle);
      }
    }
    mbi_mutex_unlock(&pool->lock);
  }
}

/* Starts the workers at the first parallel call. If a thread cannot be created, fewer threads
 * do the same work. */
static void mbi_pool_start(merbit_context *context) {
  mbi_pool *pool = &context->pool;
  pool->started = 1;
  pool->workers =
      (pthread_t *)mbi_allocate(context, (size_t)context->threads * sizeof(pthread_t));
  while (pool->workers != NULL && pool->count < context->threads - 1 &&
         pthread_create(&pool->workers[pool->count], NULL, mbi_pool_worker, pool) == 0) {
    pool->count++;
  }
}

/* Lets workers bind themselves when the pool starts. Thread 0 is the caller's and is not
 * moved. */
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
  __atomic_store_n(&pool->stop, 1, __ATOMIC_RELAXED);
  (void)pthread_cond_broadcast(&pool->wake);
  mbi_mutex_unlock(&pool->lock);
  for (i = 0; i < pool->count; i++) {
    (void)pthread_join(pool->workers[i], NULL);
  }
  mbi_release(context, pool->workers);
}

/* Runs the tasks on the pool and the caller. The caller waits only for workers that have
 * joined. If the pool is busy with another thread's call, the caller runs all tasks itself. */
MBI_INTERNAL void mbi_parallel(merbit_context *context, int tasks, mbi_task task,
                               void *argument) {
  mbi_pool *pool = &context->pool;
  int index;
  if (tasks > 1 && context->threads > 1 && !mbi_context_forked(context) &&
      pthread_mutex_trylock(&pool->caller) == 0) {
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
    __atomic_store_n(&pool->generation, pool->generation + 1, __ATOMIC_RELEASE);
    (void)pthread_cond_broadcast(&pool->wake);
    mbi_mutex_unlock(&pool->lock);
    mbi_pool_drain(pool, 0);
    mbi_mutex_lock(&pool->lock);
    pool->open = 0;
    while (pool->active > 0) {
      (void)pthread_cond_wait(&pool->idle, &pool->lock);
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
