/* The ways that wait in the load itself: three engines of tidemark/wic.h. A message's pages are
 * asked for by whichever side comes first; take answers at once, and who loads too early is stalled
 * by the fault. A message given is a value of its reader's timeline. */
#include "exchange.h"

#include "tidemark/fiber.h"
#include "tidemark/wic.h"

#include <stdlib.h>

struct place {
  _Alignas(64) atomic_flag busy;
  uint32_t asked; /* the cycle whose request this is, plus 1 */
  struct tide_request request;
};

struct faults {
  struct tide_platform platform; /* of a watched run */
  struct tide_context *context;
  struct tide_medium *medium;
  struct tide_timeline **given, **taken; /* of each direction's readers: [2 * consumers] */
  struct place *places;                  /* as the exchange's slots */
  size_t place_count;
};

/* ---- how long carriers look, in a watched run ---- */

/* A carrier that lingers asks for the time, then looks, yields and asks again and again. A longer
 * gap is no look: a thread that waits for a lock yields, too. */
#define LONGEST_LOOK 20000 /* ns */
static _Thread_local bool is_carrier, has_yielded;
static _Thread_local uint64_t looks_from;

static uint64_t now_and_note(void *self) {
  const struct tide_platform *linux_one = tide_platform_linux();
  (void)self;
  if (is_carrier && !has_yielded) looks_from = exchange_cpu_time();
  has_yielded = false;
  return linux_one->now(linux_one->self);
}

static void yield_and_note(void *self) {
  const struct tide_platform *linux_one = tide_platform_linux();
  struct exchange *x = self;
  linux_one->yield(linux_one->self);
  if (!is_carrier) return;
  uint64_t until = exchange_cpu_time();
  if (until - looks_from < LONGEST_LOOK) atomic_fetch_add(&x->looked, until - looks_from);
  looks_from = until;
  has_yielded = true;
}

static enum tide_status open_context(struct exchange *x, struct faults *f) {
  struct tide_context_params params = {.struct_size = sizeof params};
  f->platform = *tide_platform_linux();
  f->platform.now = now_and_note;
  f->platform.yield = yield_and_note;
  f->platform.self = x;
  if (x->shape.watched) params.platform = &f->platform;
  return tide_context_create(&params, &f->context);
}

/* ---- opening ---- */

static size_t line_count(const struct exchange *x) { return 2 * (size_t)x->shape.consumers; }

static void close_lines(struct tide_timeline **lines, size_t count) {
  for (size_t i = 0; lines && i < count; i++) tide_timeline_destroy(lines[i]);
  free(lines);
}

static struct tide_timeline **open_lines(const struct faults *f, size_t count) {
  struct tide_timeline **lines = calloc(count, sizeof *lines);
  for (size_t i = 0; lines && i < count; i++)
    if (tide_timeline_create(f->context, NULL, &lines[i]) != TIDE_OK) {
      close_lines(lines, count);
      return NULL;
    }
  return lines;
}

static void close_faults(struct exchange *x) {
  struct faults *f = x->state;
  if (!f) return;
  for (size_t i = 0; i < f->place_count; i++) /* of a run that was stopped */
    if (f->places[i].asked) (void)tide_request_finish(f->medium, &f->places[i].request, NULL);
  tide_medium_destroy(f->medium);
  close_lines(f->given, line_count(x));
  close_lines(f->taken, line_count(x));
  tide_context_destroy(f->context);
  free(f->places);
  free(f);
  x->state = NULL;
}

static const char *why_not(enum tide_status status) {
  if (status == TIDE_DENIED) return "it may not use userfaultfd: see vm.unprivileged_userfaultfd";
  if (status == TIDE_UNSUPPORTED) return "this kernel has no userfaultfd for shared memory";
  if (status == TIDE_INVALID) return "so many messages do not fit into a medium";
  return "there is no memory for the messages";
}

static const char *open_faults(struct exchange *x, enum tide_medium_engine engine) {
  size_t messages = 2 * (size_t)x->shape.consumers * (x->shape.down + x->shape.up);
  /* All messages of both halves at once, and as much again of companion pages. */
  size_t pages = 2 * messages * (x->place / 4096);
  struct faults *f = calloc(1, sizeof *f);
  if (!f) return why_not(TIDE_NOMEM);
  if (open_context(x, f) != TIDE_OK) {
    free(f);
    return why_not(TIDE_NOMEM);
  }
  x->state = f;
  struct tide_medium_params params = {
      .struct_size = sizeof params,
      .label = "patterns",
      .engine = engine,
      .pages = pages > TIDE_MEDIUM_PAGES ? UINT32_MAX : (uint32_t)pages,
      .requests = (uint32_t)(2 * messages),
      .pinned = x->shape.cores[0] >= 0,
      .cpu = x->shape.cores[0] >= 0 ? (uint32_t)x->shape.cores[0] : 0,
      .linger = x->shape.cores[0] >= 0 ? EXCHANGE_LINGER : 0,
  };
  enum tide_status status = tide_medium_create(f->context, &params, &f->medium);
  if (status != TIDE_OK) return why_not(status);
  f->places = aligned_alloc(64, messages * sizeof *f->places);
  f->given = open_lines(f, line_count(x));
  f->taken = open_lines(f, line_count(x));
  if (!f->places || !f->given || !f->taken) return why_not(TIDE_NOMEM);
  f->place_count = messages;
  for (size_t i = 0; i < messages; i++) {
    f->places[i].asked = 0;
    atomic_flag_clear(&f->places[i].busy);
  }
  return NULL;
}

static const char *open_direct(struct exchange *x) { return open_faults(x, TIDE_MEDIUM_DIRECT); }
static const char *open_monitor(struct exchange *x) { return open_faults(x, TIDE_MEDIUM_MONITOR); }
static const char *open_fibers(struct exchange *x) { return open_faults(x, TIDE_MEDIUM_FIBERS); }

/* ---- messages ---- */

static size_t line_of(const struct exchange *x, struct message m) {
  return (m.direction == UP) * (size_t)x->shape.consumers + m.consumer;
}

/* Messages to one reader are values of one timeline, in order. */
static uint64_t value_of(const struct exchange *x, struct message m) {
  uint32_t most = m.direction == DOWN ? x->shape.down : x->shape.up;
  return (uint64_t)m.cycle * most + m.number + 1;
}

/* Of this cycle; NULL: the run is over. Whoever comes first asks. */
static struct place *find(struct exchange *x, struct message m) {
  struct faults *f = x->state;
  struct place *place = &f->places[exchange_index(x, m)];
  bool there = true;
  while (atomic_flag_test_and_set_explicit(&place->busy, memory_order_acquire)) tide_fiber_yield();
  if (place->asked != m.cycle + 1) {
    place->request = (struct tide_request){
        .bytes = x->shape.bytes,
        .tags = {{f->given[line_of(x, m)], value_of(x, m)}},
        .tag_count = 1,
    };
    enum tide_status status;
    /* What was finished is free when the last who has to do with it has let go. */
    while ((status = tide_medium_request(f->medium, &place->request, 1)) == TIDE_FULL)
      tide_fiber_yield();
    there = status == TIDE_OK;
    place->asked = there ? m.cycle + 1 : 0;
  }
  atomic_flag_clear_explicit(&place->busy, memory_order_release);
  return there ? place : NULL;
}

static bool wait_for_reader(struct exchange *x, struct message m) {
  struct faults *f = x->state;
  struct message before = m;
  if (m.cycle < 2) return true;
  before.cycle -= 2;
  struct slot *slot = exchange_slot(x, m); /* what was not given is not taken */
  if (atomic_load_explicit(&slot->given, memory_order_relaxed) != before.cycle + 1) return true;
  return tide_timeline_wait(f->taken[line_of(x, m)], value_of(x, before), TIDE_FOREVER) == TIDE_OK;
}

static void *room(struct exchange *x, struct message m) {
  if (!wait_for_reader(x, m)) return NULL;
  struct place *place = find(x, m);
  return place ? place->request.room : NULL;
}

static void give(struct exchange *x, struct message m, size_t length) {
  struct faults *f = x->state;
  (void)length;
  atomic_store_explicit(&exchange_slot(x, m)->given, m.cycle + 1, memory_order_relaxed);
  /* Only a run that is over refuses. */
  (void)!tide_timeline_signal_external(f->given[line_of(x, m)], value_of(x, m));
}

static const void *take(struct exchange *x, struct message m) {
  struct place *place = find(x, m);
  return place ? place->request.data : NULL;
}

static bool taken(struct exchange *x, struct message m) {
  struct faults *f = x->state;
  struct place *place = &f->places[exchange_index(x, m)];
  bool good = tide_request_finish(f->medium, &place->request, NULL) == TIDE_OK;
  place->asked = 0;
  (void)!tide_timeline_signal_external(f->taken[line_of(x, m)], value_of(x, m));
  return good;
}

static void *place_of(struct exchange *x, struct message m) {
  struct faults *f = x->state;
  return f->places[exchange_index(x, m)].request.room;
}

static void stop(struct exchange *x) {
  struct faults *f = x->state;
  tide_medium_close(f->medium, TIDE_CANCELLED);
  for (size_t i = 0; i < line_count(x); i++) tide_timeline_fail(f->taken[i], TIDE_CANCELLED);
}

/* ---- fibers ---- */

static uint64_t faulted(struct exchange *x) {
  struct faults *f = x->state;
  struct tide_medium_info info;
  tide_medium_info(f->medium, &info);
  return info.faults;
}

struct team {
  void (*entry)(void *argument, uint32_t index);
  void *argument;
};
static void enter(void *argument, uint64_t index) {
  const struct team *team = argument;
  is_carrier = true;
  team->entry(team->argument, (uint32_t)index);
}

/* The consumers' device is one core, or all there are. */
static bool crew(struct exchange *x, void (*entry)(void *argument, uint32_t index),
                 void *argument) {
  struct faults *f = x->state;
  struct team team = {entry, argument};
  struct tide_crew *fibers;
  uint32_t cpu = (uint32_t)x->shape.cores[0];
  uint32_t jobs = x->shape.consumers + x->shape.others;
  struct tide_crew_params params = {.struct_size = sizeof params, .fibers = jobs};
  if (x->shape.cores[0] >= 0) {
    params.carriers = 1;
    params.cpus = &cpu;
    params.linger = EXCHANGE_LINGER;
  }
  if (tide_crew_create(f->context, &params, &fibers) != TIDE_OK) {
    x->problem = "there is no memory for the fibers";
    return false;
  }
  bool ran = tide_crew_run(fibers, enter, &team, jobs) == TIDE_OK &&
             tide_crew_wait(fibers, TIDE_FOREVER) == TIDE_OK;
  if (tide_crew_destroy(fibers) != TIDE_OK) ran = false;
  if (!ran) x->problem = "the fibers did not run";
  return ran;
}

#define WAY(named, text)                                                                           \
  .name = #named, .summary = text, .faults = true, .open = open_##named, .close = close_faults,    \
  .room = room, .give = give, .take = take, .taken = taken, .place = place_of, .stop = stop,       \
  .faulted = faulted

const struct way way_monitor = {
    WAY(monitor, "a page fault, which a thread serves (the WIC paper's)")};
const struct way way_direct = {WAY(direct, "a page fault, which the producer ends")};
const struct way way_fibers = {WAY(fibers, "a page fault, by which a fiber gives way to others"),
                               .crew = crew};
