#include "device/workers.h"

#include "base/alloc.h"
#include "timeline/pending_value.h"

enum park_state { SPINNING, SLEEPING, CALLED };

#define GATHER_LEAST 100 /* ns; below that a worker does not gather */
#define GATHER_MOST 3000 /* ns */
#define TRY_GATHER 1000  /* ns */
#define TRY_FIRST 64     /* exchanges */
#define TRY_LAST 4096
#define SPIN_LEAST 500 /* ns; below that a worker does not spin */
#define BATCH 10000 /* ns: about the cost of waking another thread, which could share the works */

enum tide_status tide_workers_init(struct tide_workers *pool, struct tide_context *context,
                                   uint32_t count, size_t at_once, uint64_t spin_most,
                                   tide_worker_run run) {
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

/* ---- calls --------------------------------------------------------------------- */

static void wake_worker(struct tide_worker *worker) {
  const struct tide_platform *platform = worker->pool->context->platform;
  if (tide_exchange(&worker->state, (uint32_t)CALLED) == SLEEPING)
    platform->wake(platform->self, &worker->state, 1);
}

void tide_workers_call(struct tide_workers *pool) {
  tide_lock_take(&pool->lock, pool->context->platform);
  struct tide_worker *worker = pool->parked;
  if (worker) tide_store_relaxed(&pool->parked, worker->next_parked);
  else pool->called = true;
  tide_lock_give(&pool->lock);
  if (worker) wake_worker(worker);
}

/* ---- idle workers --------------------------------------------------------------- */

/* Spins while parked. True if the worker was called. */
static bool spin_until_called(struct tide_worker *worker, uint64_t start) {
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

/* Adapts the spin time. Spinning pays if work comes within about one spin, so a short idle time
 * sets the next spin to the maximum, and a long one halves it. */
static void adapt_spin(struct tide_worker *worker, uint64_t rested) {
  uint64_t most = worker->pool->spin_most;
  worker->spin = rested <= 2 * most ? most : worker->spin / 2;
}

static void park_worker(struct tide_worker *worker) {
  const struct tide_platform *platform = worker->pool->context->platform;
  uint64_t start = worker->pool->spin_most ? platform->now(platform->self) : 0;
  uint32_t expected = SPINNING;
  if (!spin_until_called(worker, start) &&
      tide_compare_exchange(&worker->state, &expected, (uint32_t)SLEEPING)) {
    while (tide_load_acquire(&worker->state) == SLEEPING)
      platform->wait(platform->self, &worker->state, SLEEPING, TIDE_FOREVER);
  }
  if (worker->pool->spin_most) adapt_spin(worker, platform->now(platform->self) - start);
}

/* Parks the worker until it is called. False if the pool stops. */
static bool park_until_called(struct tide_worker *worker) {
  struct tide_workers *pool = worker->pool;
  tide_lock_take(&pool->lock, pool->context->platform);
  bool stop = pool->stop, called = pool->called;
  pool->called = false;
  if (!stop && !called) {
    tide_store_release(&worker->state, (uint32_t)SPINNING);
    worker->next_parked = pool->parked;
    tide_store_relaxed(&pool->parked, worker);
  }
  tide_lock_give(&pool->lock);
  if (!stop && !called) park_worker(worker);
  return !stop;
}

/* Delays the exchange so that short operations accumulate. In a stream of them the worker would
 * else take them one by one, and each time the lock and all guarded data from the submitter's
 * cache. The delay grows with its gain, and ends while a thread blocks on a result. */
static void gather_operations(struct tide_worker *worker) {
  struct tide_context *context = worker->pool->context;
  const struct tide_platform *platform = context->platform;
  if (worker->gather < GATHER_LEAST) return;
  uint64_t start = platform->now(platform->self);
  while (!tide_load_relaxed(&context->waiting)) {
    for (int i = 0; i < 4; i++) tide_pause();
    if (platform->now(platform->self) - start >= worker->gather) return;
  }
}

static void adapt_gathering(struct tide_worker *worker, size_t done, size_t count, bool is_short) {
  size_t most = worker->at_once;
  if (count == 0) worker->gather /= done ? 4 : 1; /* the delay has only held back finished works */
  else if (count == 1 || !is_short) worker->gather /= 2;
  else if (count == most) worker->gather -= worker->gather / 4;
  else if (count > worker->gathered) worker->gather = 2 * worker->gather + GATHER_LEAST;
  else worker->gather -= worker->gather / 32;
  if (worker->gather > GATHER_MOST) worker->gather = GATHER_MOST;
  worker->gathered = count;
}

/* Probes the delay while operations come one by one, ever more rarely: several may come if given
 * time, or each may depend on the one before. */
static void probe_gathering(struct tide_worker *worker, size_t count) {
  if (count != 1) {
    worker->alone = 0;
    worker->try_after = TRY_FIRST;
  } else if (++worker->alone >= worker->try_after) {
    worker->alone = 0;
    worker->gather = TRY_GATHER;
    if (worker->try_after < TRY_LAST) worker->try_after *= 2;
  }
}

struct tide_helper *tide_workers_helper(void) {
  struct tide_body_frame *frame = tide_body_frame();
  return frame && frame->helper && !frame->helper->work ? frame->helper : NULL;
}

bool tide_workers_are_idle(const struct tide_helper *helper) {
  const struct tide_worker *worker = TIDE_CONTAINER(helper, struct tide_worker, helper);
  return tide_load_relaxed(&worker->pool->parked) != NULL;
}

/* True if the next exchange may make works ready that this worker should run. */
static bool is_to_help(const struct tide_worker *worker) {
  const struct tide_workers *pool = worker->pool;
  return pool->helps && worker->at_once == 1 && tide_load_relaxed(&pool->context->lenders);
}

/* Returns a finished work, and runs those of other devices that come of it. */
static void return_and_help(struct tide_worker *worker) {
  struct tide_helper *helper = &worker->helper;
  worker->frame.helper = helper;
  (void)tide_device_exchange(worker->pool->device, worker->client.request.works, worker->count,
                             NULL, 0, NULL);
  worker->frame.helper = NULL; /* works that come of this one's help are for others */
  worker->count = 0;
  if (helper->work) helper->help(helper->self, helper);
  helper->work = NULL;
}

/* Returns finished works and receives new ones. True if a combiner did the exchange. */
static bool exchange_works(struct tide_worker *worker) {
  struct tide_workers *pool = worker->pool;
  struct tide_delegation *request = &worker->client.request;
  request->most = (uint32_t)worker->at_once;
  bool answered = worker->asks && tide_combine_request(&worker->client);
  if (answered) {
    worker->count = request->task_count;
  } else {
    worker->count = tide_device_exchange(pool->device, request->works, worker->count,
                                         request->works, worker->at_once, &request->more);
    request->count = (uint32_t)worker->count;
  }
  if (request->more) tide_workers_call(pool);
  struct tide_fired calls = request->calls;
  if (answered && calls.first) tide_fired_run_calls(&calls, pool->context);
  return answered;
}

static bool is_non_blocking(const struct tide_worker *worker, bool answered) {
  const struct tide_delegation *request = &worker->client.request;
  const struct tide_body_class *last = NULL;
  size_t count = worker->count;
  if (count) last = answered ? request->tasks[count - 1].body : request->works[count - 1]->body;
  return last && last->non_blocking;
}

/* Adapts the delay to the last exchange. Long operations, taken one at a time, need none. */
static void adapt_to_exchange(struct tide_worker *worker, size_t done, bool non_blocking) {
  bool is_short = non_blocking && worker->at_once > 1;
  adapt_gathering(worker, done, worker->count, is_short);
  if (worker->asks && is_short) probe_gathering(worker, worker->count);
  worker->asks = worker->pool->asks && is_short;
}

/* Limits the next exchange to as many works as would run in BATCH. */
static void adapt_batch_limit(struct tide_worker *worker, size_t count, uint64_t took) {
  uint64_t each = took / count + 1, fit = BATCH / each + 1;
  size_t more = 2 * worker->at_once;
  worker->at_once = fit < more ? (size_t)fit : more;
  if (worker->at_once > worker->pool->at_once) worker->at_once = worker->pool->at_once;
}

/* Runs one body. A failure that it reported counts only if it also returns one. */
static void run_body(struct tide_worker *worker, struct tide_work *work,
                     const struct tide_body_class *body, void *arguments) {
  worker->frame.work = work;
  worker->frame.failure.status = TIDE_OK;
  enum tide_status status = worker->pool->run(body, arguments);
  worker->frame.work = NULL; /* callbacks on this thread are not the body's */
  if (status == TIDE_OK) return;
  tide_work_fail(work, tide_body_failure(&worker->frame, status));
  worker->asks = false; /* a combiner assumes that all works succeeded */
}

/* Passes the works to the pool's `take`, and keeps those that are done. */
static void pass_on_works(struct tide_worker *worker) {
  struct tide_work **works = worker->client.request.works;
  size_t kept = 0;
  for (size_t i = 0; i < worker->count; i++)
    if (worker->pool->take(worker->pool->take_self, works[i])) works[kept++] = works[i];
  worker->count = kept;
}

static void run_works(struct tide_worker *worker) {
  struct tide_delegation *request = &worker->client.request;
  if (worker->pool->take) {
    pass_on_works(worker);
    return;
  }
  for (size_t i = 0; i < worker->count; i++) {
    struct tide_work *work = request->works[i];
    if (work->body) run_body(worker, work, work->body, tide_work_arguments(work));
  }
}
/* Runs the tasks of a combiner's answer. Touches only those works that fail. */
static void run_tasks(struct tide_worker *worker) {
  struct tide_delegation *request = &worker->client.request;
  for (size_t i = 0; i < worker->count; i++) {
    struct tide_task *task = &request->tasks[i];
    void *arguments = task->arguments ? task->arguments : task->few;
    run_body(worker, request->works[i], task->body, arguments);
  }
}

/* Runs the works. Measures non-blocking ones, but not a single one of a larger limit: the queue had
 * no more. */
static void run_measured(struct tide_worker *worker, bool answered) {
  const struct tide_platform *platform = worker->pool->context->platform;
  size_t count = worker->count;
  bool measures = is_non_blocking(worker, answered) && (count > 1 || worker->at_once == 1);
  uint64_t start = measures ? platform->now(platform->self) : 0;
  if (answered) run_tasks(worker);
  else run_works(worker);
  if (measures) adapt_batch_limit(worker, count, platform->now(platform->self) - start);
}

static void worker_main(void *argument) {
  struct tide_worker *worker = argument;
  bool came, learns = worker->pool->at_once > 1;
  tide_body_frame_set(&worker->frame);
  do {
    size_t done = worker->count;
    if (done && is_to_help(worker)) return_and_help(worker);
    gather_operations(worker);
    bool answered = exchange_works(worker);
    came = worker->count != 0;
    if (learns) adapt_to_exchange(worker, done, is_non_blocking(worker, answered));
    if (learns && came) run_measured(worker, answered);
    else run_works(worker);
  } while (came || park_until_called(worker));
}

/* ---- starting and stopping ---------------------------------------------------------- */

enum tide_status tide_workers_start(struct tide_workers *pool, struct tide_device *device,
                                    const char *name) {
  const struct tide_platform *platform = pool->context->platform;
  pool->device = device;
  uint32_t cores = platform->cores(platform->self);
  pool->asks = pool->at_once > 1 && cores > 1;
  pool->helps = !pool->take && pool->capacity >= cores;
  for (uint32_t i = 0; i < pool->capacity; i++) {
    struct tide_worker *worker = &pool->workers[i];
    *worker = (struct tide_worker){
        .pool = pool, .spin = pool->spin_most, .try_after = TRY_FIRST, .at_once = 1};
    tide_combiner_client_init(&worker->client, pool->context, device, pool->at_once);
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
  struct tide_worker *parked = pool->parked;
  tide_store_relaxed(&pool->parked, NULL);
  tide_lock_give(&pool->lock);
  while (parked) {
    struct tide_worker *worker = parked;
    parked = worker->next_parked;
    wake_worker(worker);
  }
  for (uint32_t i = 0; i < pool->count; i++)
    platform->join(platform->self, pool->workers[i].thread);
  pool->count = 0;
  pool->stop = false;
  pool->called = false;
}
