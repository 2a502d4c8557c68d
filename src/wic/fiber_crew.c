/* Crews: creation, destruction, and the assignment of jobs. */
#include "base/check.h"
#include "base/label.h"
#include "base/params.h"
#include "base/text.h"
#include "wic/fiber_crew.h"
#include "base/alloc.h"

#include <sched.h>

#define FIBERS 1024
#define BLOCK 64 /* jobs that go to one carrier at a time */

static void crew_lock(struct tide_crew *crew) {
  tide_lock_take(&crew->lock, crew->context->platform);
}

static void crew_unlock(struct tide_crew *crew) { tide_lock_give(&crew->lock); }

/* ---- carriers ------------------------------------------------------------------------- */

static bool pin_to_cpu(uint32_t cpu) {
  cpu_set_t set;
  if (cpu >= CPU_SETSIZE) return false;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

static void carrier_main(void *argument) {
  struct tide_carrier *carrier = argument;
  struct tide_crew *crew = carrier->crew;
  const struct tide_platform *platform = crew->context->platform;
  if (crew->pinned) {
    if (!pin_to_cpu(carrier->cpu)) tide_fetch_add(&crew->displaced, 1u);
    tide_fetch_add(&crew->arrived, 1u);
    platform->wake(platform->self, &crew->arrived, 1);
  }
  tide_carrier_loop(carrier);
}

static void stop_carriers(struct tide_crew *crew) {
  const struct tide_platform *platform = crew->context->platform;
  tide_lock_take(&crew->idle_lock, platform);
  crew->stop = true;
  tide_lock_give(&crew->idle_lock);
  tide_carriers_call(tide_crew_take_idle(crew, crew->carrier_count), platform);
  for (uint32_t i = 0; i < crew->started; i++)
    platform->join(platform->self, crew->carriers[i].thread);
}

/* Waits until all carriers have tried to pin themselves: only a thread that tries learns whether a
 * CPU may be used. */
static enum tide_status await_pinning(struct tide_crew *crew) {
  const struct tide_platform *platform = crew->context->platform;
  for (uint32_t arrived; (arrived = tide_load_acquire(&crew->arrived)) < crew->carrier_count;)
    platform->wait(platform->self, &crew->arrived, arrived, TIDE_FOREVER);
  return tide_load_relaxed(&crew->displaced) ? TIDE_INVALID : TIDE_OK;
}

static enum tide_status start_carriers(struct tide_crew *crew, const uint32_t *cpus) {
  const struct tide_platform *platform = crew->context->platform;
  enum tide_status status = TIDE_OK;
  crew->pinned = cpus != NULL;
  for (uint32_t i = 0; i < crew->carrier_count && status == TIDE_OK; i++) {
    struct tide_carrier *carrier = &crew->carriers[i];
    carrier->crew = crew;
    carrier->seen = i + 1;
    if (cpus) carrier->cpu = cpus[i];
    status = platform->spawn(platform->self, crew->label, carrier_main, carrier, &carrier->thread);
    if (status == TIDE_OK) crew->started++;
  }
  if (status == TIDE_OK && cpus) status = await_pinning(crew);
  if (status != TIDE_OK) stop_carriers(crew);
  return status;
}

/* ---- making and ending ------------------------------------------------------------------- */

static void crew_free(struct tide_crew *crew) {
  const struct tide_allocator *allocator = crew->context->allocator;
  for (uint32_t i = 0; i < crew->fresh; i++)
    if (crew->fibers[i].begun) tide_fiber_watch_end(&crew->fibers[i].watch);
  tide_stacks_fini(&crew->stacks);
  tide_free(allocator, crew->fibers, crew->fiber_count, sizeof *crew->fibers);
  tide_free(allocator, crew->carriers, crew->carrier_count, sizeof *crew->carriers);
  tide_free(allocator, crew, 1, sizeof *crew);
}

static void set_label(struct tide_crew *crew, const char *label) {
  char whole[TIDE_LABEL_SIZE];
  tide_label_copy(whole, label && label[0] ? label : "carrier");
  memcpy(crew->label, whole, sizeof crew->label - 1);
  tide_text_trim(crew->label);
}

static enum tide_status make_crew(struct tide_context *context, uint32_t carriers, uint32_t fibers,
                                  size_t stack_bytes, struct tide_crew **out_crew) {
  const struct tide_allocator *allocator = context->allocator;
  struct tide_crew *crew = tide_alloc(allocator, 1, sizeof *crew);
  if (!crew) return TIDE_NOMEM;
  crew->context = context;
  crew->carrier_count = carriers;
  crew->fiber_count = fibers;
  crew->carriers = tide_alloc(allocator, carriers, sizeof *crew->carriers);
  crew->fibers = tide_alloc(allocator, fibers, sizeof *crew->fibers);
  if (!crew->carriers || !crew->fibers ||
      tide_stacks_init(&crew->stacks, fibers, stack_bytes) != TIDE_OK) {
    crew_free(crew);
    return TIDE_NOMEM;
  }
  *out_crew = crew;
  return TIDE_OK;
}

static void destroy_owned(struct tide_owned *owned) {
  struct tide_crew *crew = TIDE_CONTAINER(owned, struct tide_crew, owned);
  do (void)!tide_crew_wait(crew, TIDE_FOREVER);
  while (tide_crew_destroy(crew) == TIDE_BUSY);
}
static const struct tide_owned_ops owned_ops = {.destroy = destroy_owned};

enum tide_status tide_crew_create(struct tide_context *context,
                                  const struct tide_crew_params *params,
                                  struct tide_crew **out_crew) {
  struct tide_crew_params own;
  enum tide_status known = tide_params_copy(&own, sizeof own, params);
  if (known != TIDE_OK) return known;
  params = &own;
  const struct tide_platform *platform = context->platform;
  struct tide_crew *crew;
  uint32_t carriers = params->carriers ? params->carriers : platform->cores(platform->self);
  uint32_t fibers = params->fibers ? params->fibers : FIBERS;
  if (carriers > TIDE_CARRIERS_MAX || fibers > TIDE_FIBERS_MAX) return TIDE_INVALID;
  enum tide_status status = make_crew(context, carriers, fibers, params->stack_bytes, &crew);
  if (status != TIDE_OK) return status;
  set_label(crew, params->label);
  crew->linger = params->linger;
  status = start_carriers(crew, params->cpus);
  if (status != TIDE_OK) {
    crew_free(crew);
    return status;
  }
  tide_context_own(context, TIDE_OWNED_CREW, &crew->owned, &owned_ops);
  *out_crew = crew;
  return TIDE_OK;
}

enum tide_status tide_crew_destroy(struct tide_crew *crew) {
  if (!crew) return TIDE_OK;
  crew_lock(crew);
  bool busy = crew->left > 0;
  crew_unlock(crew);
  if (busy) return TIDE_BUSY;
  tide_context_disown(crew->context, &crew->owned);
  stop_carriers(crew);
  crew_free(crew);
  return TIDE_OK;
}

/* ---- jobs ---------------------------------------------------------------------------- */

static struct tide_fiber *take_free_locked(struct tide_crew *crew) {
  struct tide_fiber *fiber = crew->free;
  if (fiber) crew->free = fiber->next;
  else if (crew->fresh < crew->fiber_count) fiber = &crew->fibers[crew->fresh++];
  return fiber;
}

static void take_job(struct tide_fiber_jobs *jobs, struct tide_fiber *fiber) {
  fiber->entry = jobs->entry;
  fiber->argument = jobs->argument;
  fiber->index = jobs->index++;
}

/* A chain of fibers with jobs, for one carrier. Jobs without a stack join the crew's waiting jobs;
 * so while any wait, no stack is free. */
struct handed {
  struct tide_fiber *first, *last;
  struct tide_carrier *carrier; /* the carrier that gets the fibers */
  uint32_t count;
  bool wait; /* the remaining jobs belong to the crew now */
};

static void wait_for_stacks_locked(struct tide_crew *crew, struct tide_fiber_jobs *jobs) {
  if (crew->jobs) crew->last_jobs->next = jobs;
  else crew->jobs = jobs;
  crew->last_jobs = jobs;
}

static struct handed hand_out_locked(struct tide_crew *crew, struct tide_fiber_jobs *jobs,
                                     uint64_t most) {
  struct handed handed = {.carrier = &crew->carriers[crew->turn]};
  for (; handed.count < most && jobs->index < jobs->end; handed.count++) {
    struct tide_fiber *fiber = crew->jobs ? NULL : take_free_locked(crew);
    handed.wait = fiber == NULL;
    if (!fiber) break;
    take_job(jobs, fiber);
    if (handed.last) handed.last->next = fiber;
    else handed.first = fiber;
    handed.last = fiber;
  }
  if (handed.count) crew->turn = (crew->turn + 1) % crew->carrier_count;
  if (handed.wait) wait_for_stacks_locked(crew, jobs);
  return handed;
}

static uint64_t block_of(const struct tide_crew *crew, uint64_t count) {
  uint64_t share = (count + crew->carrier_count - 1) / crew->carrier_count;
  return share < BLOCK ? share : BLOCK;
}

enum tide_status tide_crew_run(struct tide_crew *crew,
                               void (*entry)(void *argument, uint64_t index), void *argument,
                               uint64_t count) {
  const struct tide_allocator *allocator = crew->context->allocator;
  if (!entry) return TIDE_INVALID;
  if (count == 0) return TIDE_OK;
  struct tide_fiber_jobs *jobs = tide_alloc(allocator, 1, sizeof *jobs);
  if (!jobs) return TIDE_NOMEM;
  *jobs = (struct tide_fiber_jobs){.entry = entry, .argument = argument, .end = count};
  uint64_t block = block_of(crew, count);
  crew_lock(crew);
  crew->left += count;
  for (bool more = true; more;) {
    struct handed handed = hand_out_locked(crew, jobs, block);
    more = !handed.wait && jobs->index < count;
    crew_unlock(crew);
    if (!more && !handed.wait) tide_free(allocator, jobs, 1, sizeof *jobs);
    if (handed.count) tide_carrier_give(handed.carrier, handed.first, handed.last, handed.count);
    if (more) crew_lock(crew);
  }
  return TIDE_OK;
}

/* Gives the fiber the next waiting job. True: it got one. *out_over: jobs to free, or NULL. */
static bool take_waiting_locked(struct tide_crew *crew, struct tide_fiber *fiber,
                                struct tide_fiber_jobs **out_over) {
  struct tide_fiber_jobs *jobs = crew->jobs;
  *out_over = NULL;
  if (!jobs) return false;
  take_job(jobs, fiber);
  if (jobs->index < jobs->end) return true;
  crew->jobs = jobs->next;
  *out_over = jobs;
  return true;
}

bool tide_crew_next_job(struct tide_fiber *fiber) {
  struct tide_crew *crew = tide_load_relaxed(&fiber->carrier)->crew;
  const struct tide_platform *platform = crew->context->platform;
  struct tide_fiber_jobs *over;
  crew_lock(crew);
  bool last = --crew->left == 0, found = take_waiting_locked(crew, fiber, &over);
  if (last) tide_store_release(&crew->ends, crew->ends + 1);
  crew_unlock(crew);
  tide_free(crew->context->allocator, over, 1, sizeof *over);
  if (last) platform->wake(platform->self, &crew->ends, UINT32_MAX);
  return found;
}

bool tide_crew_retire_locked(struct tide_fiber *fiber) {
  struct tide_crew *crew = tide_load_relaxed(&fiber->carrier)->crew;
  struct tide_fiber_jobs *over;
  crew_lock(crew);
  if (!take_waiting_locked(crew, fiber, &over)) {
    fiber->next = crew->free;
    crew->free = fiber;
    return true;
  }
  crew_unlock(crew);
  tide_free(crew->context->allocator, over, 1, sizeof *over);
  return false;
}

enum tide_status tide_crew_wait(struct tide_crew *crew, uint64_t deadline) {
  const struct tide_platform *platform = crew->context->platform;
  const struct tide_carrier *carrier = tide_carrier_self();
  if (carrier && carrier->crew == crew) return TIDE_DEADLOCK;
  crew_lock(crew);
  bool idle = crew->left == 0;
  uint32_t ends = crew->ends;
  crew_unlock(crew);
  if (idle) return TIDE_OK;
  while (tide_load_acquire(&crew->ends) == ends) {
    if (deadline != TIDE_FOREVER && platform->now(platform->self) >= deadline) return TIDE_TIMEOUT;
    platform->wait(platform->self, &crew->ends, ends, deadline);
  }
  return TIDE_OK;
}
