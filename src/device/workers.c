#include "device/workers.h"

#include "base/memory.h"

enum rest_state { SPINNING, SLEEPING, CALLED };

#define GATHER_LEAST 100 /* ns; less is nothing */
#define GATHER_MOST 3000 /* ns */
#define SPIN_LEAST 500   /* ns; a shorter spin is none */

enum tide_status tide_workers_init(struct tide_workers *pool, const struct tide_context *context,
                                   uint32_t count, size_t at_once, uint64_t spin_most,
                                   enum tide_status (*run)(struct tide_work *work)) {
  size_t size = count * sizeof *pool->workers;
  *pool = (struct tide_workers){.context = context,
                                .run = run,
                                .spin_most = spin_most,
                                .at_once = at_once,
                                .capacity = count};
  const struct tide_allocator *allocator = context->allocator;
  pool->workers = allocator->alloc(allocator->self, size, _Alignof(struct tide_worker));
  if (!pool->workers) return TIDE_NOMEM;
  memset(pool->workers, 0, size);
  tide_lock_init(&pool->lock);
  return TIDE_OK;
}

void tide_workers_fini(struct tide_workers *pool) {
  const struct tide_allocator *allocator = pool->context->allocator;
  if (pool->workers)
    allocator->free(allocator->self, pool->workers, pool->capacity * sizeof *pool->workers);
  pool->workers = NULL;
}

/* ---- calling ------------------------------------------------------------------- */

static void call(struct tide_worker *worker) {
  const struct tide_platform *platform = worker->pool->context->platform;
  if (tide_exchange(&worker->state, (uint32_t)CALLED) == SLEEPING)
    platform->wake(platform->self, &worker->state, 1);
}

void tide_workers_call(struct tide_workers *pool) {
  tide_lock_take(&pool->lock, pool->context->platform);
  struct tide_worker *worker = pool->resting;
  if (worker) pool->resting = worker->next_resting;
  else pool->called = true;
  tide_lock_give(&pool->lock);
  if (worker) call(worker);
}

/* ---- resting -------------------------------------------------------------------- */

/* True: called in time. */
static bool spin(struct tide_worker *worker, uint64_t start) {
  const struct tide_platform *platform = worker->pool->context->platform;
  while (worker->spin >= SPIN_LEAST) {
    for (int i = 0; i < 32; i++) {
      if (tide_load_acquire(&worker->state) == CALLED) return true;
      tide_pause();
    }
    if (platform->now(platform->self) - start >= worker->spin) return false;
  }
  return false;
}

/* Spinning pays when work comes within about the time that a spin may take. So a rest that was
 * short makes the next spin as long as allowed, and a long one halves it. */
static void learn(struct tide_worker *worker, uint64_t rested) {
  uint64_t most = worker->pool->spin_most;
  worker->spin = rested <= 2 * most ? most : worker->spin / 2;
}

static void rest(struct tide_worker *worker) {
  const struct tide_platform *platform = worker->pool->context->platform;
  uint64_t start = worker->pool->spin_most ? platform->now(platform->self) : 0;
  uint32_t expected = SPINNING;
  if (!spin(worker, start) &&
      tide_compare_exchange(&worker->state, &expected, (uint32_t)SLEEPING)) {
    while (tide_load_acquire(&worker->state) == SLEEPING)
      platform->wait(platform->self, &worker->state, SLEEPING, TIDE_FOREVER);
  }
  if (worker->pool->spin_most) learn(worker, platform->now(platform->self) - start);
}

/* Rests until called. False: it is over. */
static bool take_a_rest(struct tide_worker *worker) {
  struct tide_workers *pool = worker->pool;
  tide_lock_take(&pool->lock, pool->context->platform);
  bool stop = pool->stop, called = pool->called;
  pool->called = false;
  if (!stop && !called) {
    tide_store_release(&worker->state, (uint32_t)SPINNING);
    worker->next_resting = pool->resting;
    pool->resting = worker;
  }
  tide_lock_give(&pool->lock);
  if (!stop && !called) rest(worker);
  return !stop;
}

/* Where brief operations come in a stream, a worker that keeps up would take them one by one, and
 * with each the lock, and all that it guards, away from whoever submits. So it lets some come
 * together first: the longer the more that brings, and not while anybody waits for what is done. */
static void let_come(struct tide_worker *worker) {
  const struct tide_context *context = worker->pool->context;
  const struct tide_platform *platform = context->platform;
  if (worker->gather < GATHER_LEAST) return;
  uint64_t start = platform->now(platform->self);
  while (!tide_load_relaxed(&context->waiting)) {
    for (int i = 0; i < 4; i++) tide_pause();
    if (platform->now(platform->self) - start >= worker->gather) return;
  }
}

static void learn_to_gather(struct tide_worker *worker, size_t done, const struct tide_work *last,
                            size_t count) {
  size_t most = worker->pool->at_once;
  bool brief = last && last->body && last->body->brief;
  if (count == 0) worker->gather /= done ? 4 : 1; /* what was done need not have waited */
  else if (count == 1 || !brief) worker->gather /= 2;
  else if (count == most) worker->gather -= worker->gather / 4;
  else if (count > worker->gathered) worker->gather = 2 * worker->gather + GATHER_LEAST;
  else worker->gather -= worker->gather / 32;
  if (worker->gather > GATHER_MOST) worker->gather = GATHER_MOST;
  worker->gathered = count;
}

static void worker_main(void *argument) {
  struct tide_worker *worker = argument;
  struct tide_workers *pool = worker->pool;
  struct tide_work *done[TIDE_AT_ONCE_MAX], *work[TIDE_AT_ONCE_MAX];
  size_t count = 0;
  do {
    bool more = false;
    size_t done_count = count;
    for (size_t i = 0; i < count; i++) done[i] = work[i];
    let_come(worker);
    count = tide_device_exchange(pool->device, done, done_count, work, pool->at_once, &more);
    if (more) tide_workers_call(pool);
    if (pool->at_once > 1)
      learn_to_gather(worker, done_count, count ? work[count - 1] : NULL, count);
    for (size_t i = 0; i < count; i++) work[i]->status = pool->run(work[i]);
  } while (count || take_a_rest(worker));
}

/* ---- starting and stopping ---------------------------------------------------------- */

enum tide_status tide_workers_start(struct tide_workers *pool, struct tide_device *device,
                                    const char *name) {
  const struct tide_platform *platform = pool->context->platform;
  pool->device = device;
  for (uint32_t i = 0; i < pool->capacity; i++) {
    struct tide_worker *worker = &pool->workers[i];
    *worker = (struct tide_worker){.pool = pool, .spin = pool->spin_most};
    enum tide_status status =
        platform->spawn(platform->self, name, worker_main, worker, &worker->thread);
    if (status != TIDE_OK) {
      tide_workers_stop(pool);
      return status;
    }
    pool->count = i + 1;
  }
  return TIDE_OK;
}

void tide_workers_stop(struct tide_workers *pool) {
  const struct tide_platform *platform = pool->context->platform;
  tide_lock_take(&pool->lock, platform);
  pool->stop = true;
  struct tide_worker *resting = pool->resting;
  pool->resting = NULL;
  tide_lock_give(&pool->lock);
  while (resting) {
    struct tide_worker *worker = resting;
    resting = worker->next_resting;
    call(worker);
  }
  for (uint32_t i = 0; i < pool->count; i++)
    platform->join(platform->self, pool->workers[i].thread);
  pool->count = 0;
  pool->stop = false;
  pool->called = false;
}
