/* Buffers from a pool: what a lifecycle costs as its uses grow, and one trace of eight queues
 * through our policy and through the nearest rival's.
 *
 * The rival of the traces is a stream-ordered pool as RMM has it: a free list a stream; a
 * free records one event; an alloc takes from its own stream's list, else steals from another's and
 * makes its stream wait for that one's newest event. Recording an event is modelled as one store,
 * which flatters it: a driver takes about a microsecond. Frees in the trace come after all uses, as
 * such a pool requires. */
#include "bench.h"

#include "base/atomic.h"

#include "base/lock.h"
#include "base/random.h"
#include "memory/pool.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define QUEUES 8u
#define ROOM 16u
#define CLASSES 6u
#define SMALLEST 4096u
#define LAG 16u /* lifecycles between alloc, uses and free */
#define LIFECYCLES 4096u
#define WARM 1024u
#define USES 12u
#define EPOCHS (LIFECYCLES * 16u)
#define AHEAD 192u /* lifecycles that the host runs ahead */

/* ---- ours, one queue ------------------------------------------------------------- */

struct single {
  struct tide_context context;
  uint64_t cell;
  struct tide_pool *pool;
  struct tide_position positions[4];
  TIDE_FRONTIER_STORAGE(frontiers[4], ROOM);
  struct rival_pool *rival;
};

static void *single_make(void) {
  struct single *s = calloc(1, sizeof *s);
  BENCH_CHECK(s && tide_context_init(&s->context, NULL) == TIDE_OK);
  BENCH_CHECK(tide_pool_create(&s->context, NULL, &s->pool) == TIDE_OK);
  for (unsigned i = 0; i < 4; i++) {
    tide_axis axis = tide_axis_make(0, TIDE_DOMAIN_QUEUE, i + 1);
    BENCH_CHECK(tide_tracker_register(s->context.tracker, axis) == TIDE_OK);
    tide_frontier_init(&s->frontiers[i].frontier, ROOM);
    s->positions[i] =
        (struct tide_position){.axis = axis, .epoch = 1, .frontier = &s->frontiers[i].frontier};
    /* The freeing queue has waited for the others, so it knows all uses. */
    tide_frontier_raise(&s->frontiers[0].frontier, axis, 1, NULL);
  }
  return s;
}

static void single_drop(void *state) {
  struct single *s = state;
  for (unsigned i = 0; i < 4; i++) {
    BENCH_CHECK(tide_tracker_close(s->context.tracker, s->positions[i].axis) == TIDE_OK);
  }
  BENCH_CHECK(tide_pool_destroy(s->pool) == TIDE_OK);
  tide_context_fini(&s->context);
  free(s->rival);
  free(s);
}

static inline void lifecycle(struct single *s, unsigned uses) {
  struct tide_buffer *b;
  if (tide_pool_alloc(s->pool, SMALLEST, &s->positions[0], NULL, &b) != TIDE_OK) {
    bench_wrong("alloc");
  }
  for (unsigned i = 0; i < uses; i++) {
    tide_buffer_use(b, s->positions[i % 4].axis, s->positions[i % 4].epoch);
  }
  tide_pool_free(b, &s->positions[0]);
}

static void ours_uses(void *state, uint64_t count, unsigned uses) {
  struct single *s = state;
  for (uint64_t i = 0; i < count; i++) lifecycle(s, uses);
}
static void ours_0(void *state, uint64_t count) { ours_uses(state, count, 0); }
static void ours_1(void *state, uint64_t count) { ours_uses(state, count, 1); }
static void ours_10(void *state, uint64_t count) { ours_uses(state, count, 10); }
static void ours_100(void *state, uint64_t count) { ours_uses(state, count, 100); }
static void ours_1000(void *state, uint64_t count) { ours_uses(state, count, 1000); }

/* ---- rivals ------------------------------------------------------------------------- */

static void swaps_10(void *state, uint64_t count) {
  struct single *s = state;
  for (uint64_t i = 0; i < count * 10; i++) {
    uint64_t expected = s->cell;
    tide_compare_exchange(&s->cell, &expected, expected + 1);
  }
}

/* A block of a rival pool. */
struct rival_block {
  struct rival_block *next;
  unsigned kind, stream;
  struct rival_event *events;
};

/* An event a use: what record_stream keeps. */
struct rival_event {
  struct rival_event *next;
  uint64_t epoch;
  unsigned stream;
};

struct rival_pool {
  struct tide_lock lock;
  const struct tide_platform *platform;
  struct rival_block *lists[QUEUES][CLASSES];
  uint64_t event_epoch[QUEUES]; /* the stream's newest recorded event */
  struct rival_event *events;   /* spare */
  uint64_t done[QUEUES];
  uint64_t waits, recorded;
  size_t bytes;
  size_t used;
  struct rival_block blocks[LIFECYCLES];
  struct rival_event slab[4096];
};

static struct rival_pool *rival_make(void) {
  struct rival_pool *pool = calloc(1, sizeof *pool);
  BENCH_CHECK(pool != NULL);
  pool->platform = tide_platform_linux();
  for (unsigned i = 0; i < 4096; i++) {
    pool->slab[i].next = pool->events;
    pool->events = &pool->slab[i];
  }
  return pool;
}

static void *single_make_both(void) {
  struct single *s = single_make();
  s->rival = rival_make();
  return s;
}

static struct rival_block *rival_fresh(struct rival_pool *pool, unsigned kind) {
  BENCH_CHECK(pool->used < LIFECYCLES);
  struct rival_block *block = &pool->blocks[pool->used++];
  block->kind = kind;
  pool->bytes += (size_t)SMALLEST << kind;
  return block;
}

/* One list for all: what a pool costs that tracks nothing, for one queue. */
static struct rival_block *plain_alloc(struct rival_pool *pool, unsigned kind) {
  tide_lock_take(&pool->lock, pool->platform);
  struct rival_block *block = pool->lists[0][kind];
  if (block) pool->lists[0][kind] = block->next;
  else block = rival_fresh(pool, kind);
  tide_lock_give(&pool->lock);
  return block;
}

static void plain_free(struct rival_pool *pool, struct rival_block *block) {
  tide_lock_take(&pool->lock, pool->platform);
  block->next = pool->lists[0][block->kind];
  pool->lists[0][block->kind] = block;
  tide_lock_give(&pool->lock);
}

/* The same pool for someone who knows nothing and tells nothing: what tracking adds. */
static void untracked_0(void *state, uint64_t count) {
  struct single *s = state;
  for (uint64_t i = 0; i < count; i++) {
    struct tide_buffer *b;
    if (tide_pool_alloc(s->pool, SMALLEST, NULL, NULL, &b) != TIDE_OK) bench_wrong("alloc");
    tide_pool_free(b, NULL);
  }
}

static void malloc_0(void *state, uint64_t count) {
  (void)state;
  for (uint64_t i = 0; i < count; i++) {
    void *memory = malloc(SMALLEST);
    bench_keep((uint64_t)(uintptr_t)memory);
    free(memory);
  }
}

/* Each use leaves an event with the block, looked at when it is wanted again. */
static void record_use(struct rival_pool *pool, struct rival_block *block, unsigned stream,
                       uint64_t epoch) {
  tide_lock_take(&pool->lock, pool->platform);
  struct rival_event *event = pool->events;
  pool->events = event->next;
  *event = (struct rival_event){block->events, epoch, stream};
  block->events = event;
  tide_lock_give(&pool->lock);
}

static void poll_events(struct rival_pool *pool, struct rival_block *block) {
  tide_lock_take(&pool->lock, pool->platform);
  while (block->events && block->events->epoch <= pool->done[block->events->stream]) {
    struct rival_event *event = block->events;
    block->events = event->next;
    event->next = pool->events;
    pool->events = event;
  }
  tide_lock_give(&pool->lock);
}

static void events_uses(void *state, uint64_t count, unsigned uses) {
  struct single *s = state;
  for (uint64_t n = 0; n < count; n++) {
    struct rival_block *block = plain_alloc(s->rival, 0);
    poll_events(s->rival, block);
    for (unsigned i = 0; i < uses; i++) {
      record_use(s->rival, block, i % 4, s->positions[i % 4].epoch);
    }
    for (unsigned i = 0; i < 4; i++) s->rival->done[i] = s->positions[i].epoch;
    plain_free(s->rival, block);
  }
}
static void events_1(void *state, uint64_t count) { events_uses(state, count, 1); }
static void events_10(void *state, uint64_t count) { events_uses(state, count, 10); }
static void events_100(void *state, uint64_t count) { events_uses(state, count, 100); }
static void events_1000(void *state, uint64_t count) { events_uses(state, count, 1000); }

/* RMM. *out_from is the stream whose event must be waited for, or QUEUES. */
static struct rival_block *rmm_alloc(struct rival_pool *pool, unsigned stream, unsigned kind,
                                     unsigned *out_from, uint64_t *out_epoch) {
  tide_lock_take(&pool->lock, pool->platform);
  struct rival_block *block = pool->lists[stream][kind];
  unsigned from = stream;
  for (unsigned i = 1; !block && i < QUEUES; i++) {
    from = (stream + i) % QUEUES;
    block = pool->lists[from][kind];
  }
  *out_from = block && from != stream ? from : QUEUES;
  *out_epoch = pool->event_epoch[from];
  if (block) pool->lists[from][kind] = block->next;
  else block = rival_fresh(pool, kind);
  pool->waits += *out_from != QUEUES;
  tide_lock_give(&pool->lock);
  return block;
}

static void rmm_free(struct rival_pool *pool, struct rival_block *block, unsigned stream,
                     uint64_t epoch) {
  tide_lock_take(&pool->lock, pool->platform);
  pool->event_epoch[stream] = epoch;
  pool->recorded++;
  block->next = pool->lists[stream][block->kind];
  pool->lists[stream][block->kind] = block;
  tide_lock_give(&pool->lock);
}

/* ---- the trace ------------------------------------------------------------------------ */

/* The n-th lifecycle: a queue makes a buffer and writes it, others read it, one waits for them and
 * frees it. What it is, is the same whoever runs it. */
struct cycle {
  unsigned kind, maker, freer, users;
  unsigned user[4];
  unsigned cost;
};

enum policy { PLAIN, RMM, OURS, COVERED };

struct wait {
  unsigned queue;
  uint64_t epoch;
};

/* A call of the pool, as it was made while the trace ran; made again to be timed. */
enum call { CALL_MAKE, CALL_USE, CALL_FREE, CALL_LOOK };
struct logged {
  enum call call;
  unsigned n, queue;
  uint64_t epoch;
  union {
    TIDE_FRONTIER_STORAGE(known, QUEUES);
    uint64_t done[QUEUES];
  };
};
#define CALLS (8u * LIFECYCLES)

/* A machine on which the trace runs: times in ns, computed. */
struct machine {
  enum policy policy;
  unsigned queues;
  struct cycle cycles[LIFECYCLES];
  double finish[QUEUES][EPOCHS];
  double cycle_finish[LIFECYCLES];
  uint64_t epoch[QUEUES], done[QUEUES];
  double now; /* the host's */
  struct wait waits[64];
  unsigned wait_count;
  uint64_t inserted; /* waits for memory */
  struct wait pending[QUEUES][QUEUES];
  unsigned pending_count[QUEUES];
  /* ours */
  struct tide_context context;
  struct tide_pool *pool;
  struct tide_position positions[QUEUES];
  TIDE_FRONTIER_STORAGE(frontiers[QUEUES], ROOM);
  struct tide_buffer *buffers[LIFECYCLES];
  /* theirs */
  struct rival_pool *rival;
  struct rival_block *blocks[LIFECYCLES];
  uint64_t maker_epoch[LIFECYCLES];
  struct logged calls[CALLS];
  unsigned call_count;
};

static void plan(struct machine *m) {
  struct tide_random random = {42};
  for (unsigned n = 0; n < LIFECYCLES; n++) {
    struct cycle *c = &m->cycles[n];
    c->kind = (unsigned)tide_random_below(&random, CLASSES);
    c->maker = (unsigned)tide_random_below(&random, m->queues);
    c->users = 1 + (unsigned)tide_random_below(&random, m->queues > 1 ? 3 : 1);
    for (unsigned i = 0; i < c->users; i++) {
      c->user[i] = (unsigned)tide_random_below(&random, m->queues);
    }
    c->freer = c->user[tide_random_below(&random, c->users)];
    c->cost = 5000 + (unsigned)tide_random_below(&random, 20000);
  }
}

static void machine_init(struct machine *m, enum policy policy, unsigned queues) {
  memset(m, 0, offsetof(struct machine, calls));
  m->policy = policy;
  m->queues = queues;
  plan(m);
  m->rival = rival_make();
  BENCH_CHECK(tide_context_init(&m->context, NULL) == TIDE_OK);
  struct tide_pool_params params = {.chunk = (size_t)SMALLEST << CLASSES,
                                    .frees_cover_uses = policy == COVERED};
  BENCH_CHECK(tide_pool_create(&m->context, &params, &m->pool) == TIDE_OK);
  for (unsigned i = 0; i < queues; i++) {
    tide_axis axis = tide_axis_make(0, TIDE_DOMAIN_QUEUE, i + 1);
    BENCH_CHECK(tide_tracker_register(m->context.tracker, axis) == TIDE_OK);
    tide_frontier_init(&m->frontiers[i].frontier, ROOM);
    m->positions[i] = (struct tide_position){.axis = axis, .frontier = &m->frontiers[i].frontier};
  }
}

static void machine_fini(struct machine *m) {
  for (unsigned i = 0; i < m->queues; i++) {
    BENCH_CHECK(tide_tracker_close(m->context.tracker, m->positions[i].axis) == TIDE_OK);
  }
  BENCH_CHECK(tide_pool_destroy(m->pool) == TIDE_OK);
  tide_context_fini(&m->context);
  free(m->rival);
}

static struct logged *record(struct machine *m, enum call call, unsigned n, unsigned queue) {
  BENCH_CHECK(m->call_count < CALLS);
  struct logged *logged = &m->calls[m->call_count++];
  *logged = (struct logged){.call = call, .n = n, .queue = queue, .epoch = m->epoch[queue]};
  tide_frontier_init(&logged->known.frontier, QUEUES);
  tide_frontier_copy(&logged->known.frontier, m->positions[queue].frontier, NULL);
  return logged;
}

static bool ours(const struct machine *m) { return m->policy >= OURS; }

static void need(struct machine *m, unsigned queue, uint64_t epoch) {
  BENCH_CHECK(m->wait_count < 64);
  m->waits[m->wait_count++] = (struct wait){queue, epoch};
}

/* What the buffer's past asks of a queue that names it. */
static void close_gap(struct machine *m, unsigned queue, struct tide_buffer *buffer) {
  const struct tide_frontier *past = tide_buffer_past(buffer);
  struct tide_frontier *known = m->positions[queue].frontier;
  tide_axis axis;
  uint64_t epoch;
  tide_buffer_past_signaller(buffer, &axis, &epoch);
  if (axis && (tide_frontier_get(known, axis) >= epoch ||
               tide_tracker_finished(m->context.tracker, axis, epoch))) {
    return;
  }
  if (tide_frontier_satisfied(known, m->context.tracker, past)) return;
  for (unsigned i = 0; i < past->count; i++) {
    tide_axis at = axis ? axis : tide_frontier_axes(past)[i];
    uint64_t until = axis ? epoch : tide_frontier_epochs(past)[i];
    if (tide_frontier_get(known, at) < until) {
      need(m, (unsigned)tide_axis_ordinal(at) - 1, until);
      m->inserted++;
    }
    if (axis) break;
  }
  tide_frontier_merge(known, past, NULL);
}

/* An operation enters `queue`; m->waits are its waits, which end here. */
static uint64_t operate(struct machine *m, unsigned queue, double cost) {
  uint64_t epoch = ++m->epoch[queue];
  double start = m->now, before = epoch > 1 ? m->finish[queue][epoch - 2] : 0;
  if (before > start) start = before;
  for (unsigned i = 0; i < m->wait_count; i++) {
    double end = m->finish[m->waits[i].queue][m->waits[i].epoch - 1];
    if (end > start) start = end;
  }
  m->wait_count = 0;
  BENCH_CHECK(epoch < EPOCHS);
  m->finish[queue][epoch - 1] = start + cost;
  m->positions[queue].epoch = epoch;
  tide_frontier_raise(m->positions[queue].frontier, m->positions[queue].axis, epoch, NULL);
  m->now += 100;
  return epoch;
}

/* The program's own wait: the same under every policy. */
static void depend(struct machine *m, unsigned queue, unsigned on, uint64_t epoch) {
  if (queue == on) return;
  need(m, on, epoch);
  /* Everything that was known when the other gave that epoch is still known; a little more may be
   * by now, which an eager merge would claim too early: so only the entry itself. */
  tide_frontier_raise(m->positions[queue].frontier, m->positions[on].axis, epoch, NULL);
}

static void name(struct machine *m, unsigned n, unsigned queue) {
  if (ours(m)) close_gap(m, queue, m->buffers[n]);
  for (unsigned i = 0; i < m->pending_count[queue]; i++) {
    need(m, m->pending[queue][i].queue, m->pending[queue][i].epoch);
  }
  m->pending_count[queue] = 0;
}

static void use(struct machine *m, unsigned n, unsigned queue, uint64_t epoch) {
  if (!ours(m)) return;
  record(m, CALL_USE, n, queue);
  tide_buffer_use(m->buffers[n], m->positions[queue].axis, epoch);
}

static void make(struct machine *m, unsigned n) {
  const struct cycle *c = &m->cycles[n];
  unsigned stolen_from = QUEUES;
  uint64_t epoch = 0;
  record(m, CALL_MAKE, n, c->maker);
  if (ours(m)) {
    if (tide_pool_alloc(m->pool, (size_t)SMALLEST << c->kind, &m->positions[c->maker], NULL,
                        &m->buffers[n]) != TIDE_OK) {
      bench_wrong("alloc");
    }
  } else if (m->policy == RMM) {
    m->blocks[n] = rmm_alloc(m->rival, c->maker, c->kind, &stolen_from, &epoch);
  } else {
    m->blocks[n] = plain_alloc(m->rival, c->kind);
  }
  if (stolen_from != QUEUES) {
    m->inserted++;
    m->pending[c->maker][m->pending_count[c->maker]++] = (struct wait){stolen_from, epoch};
  }
  name(m, n, c->maker);
  m->maker_epoch[n] = operate(m, c->maker, c->cost);
  use(m, n, c->maker, m->maker_epoch[n]);
}

static void finish_cycle(struct machine *m, unsigned n) {
  const struct cycle *c = &m->cycles[n];
  struct wait last[4];
  for (unsigned i = 0; i < c->users; i++) {
    depend(m, c->user[i], c->maker, m->maker_epoch[n]);
    name(m, n, c->user[i]);
    last[i] = (struct wait){c->user[i], operate(m, c->user[i], c->cost / 2)};
    use(m, n, c->user[i], last[i].epoch);
  }
  depend(m, c->freer, c->maker, m->maker_epoch[n]);
  for (unsigned i = 0; i < c->users; i++) depend(m, c->freer, last[i].queue, last[i].epoch);
  uint64_t epoch = operate(m, c->freer, 500);
  m->cycle_finish[n] = m->finish[c->freer][epoch - 1];
  record(m, CALL_FREE, n, c->freer);
  if (ours(m)) tide_pool_free(m->buffers[n], &m->positions[c->freer]);
  else if (m->policy == RMM) rmm_free(m->rival, m->blocks[n], c->freer, epoch);
  else plain_free(m->rival, m->blocks[n]);
}

/* The host sees what has finished by now. */
static void look(struct machine *m) {
  for (unsigned q = 0; q < m->queues; q++) {
    while (m->done[q] < m->epoch[q] && m->finish[q][m->done[q]] <= m->now) m->done[q]++;
    (void)tide_tracker_advance(m->context.tracker, m->positions[q].axis, m->done[q]);
  }
  memcpy(record(m, CALL_LOOK, 0, 0)->done, m->done, sizeof m->done);
}

static struct machine *storage(void) {
  static struct machine *machine;
  if (!machine) machine = malloc(sizeof *machine);
  BENCH_CHECK(machine != NULL);
  return machine;
}

static struct machine *run(enum policy policy, unsigned queues) {
  struct machine *m = storage();
  machine_init(m, policy, queues);
  m->call_count = 0;
  for (unsigned n = 0; n < LIFECYCLES; n++) {
    if (n >= AHEAD && m->cycle_finish[n - AHEAD] > m->now) m->now = m->cycle_finish[n - AHEAD];
    if (n % 16 == 0) look(m);
    make(m, n);
    if (n >= LAG) finish_cycle(m, n - LAG);
  }
  for (unsigned n = LIFECYCLES - LAG; n < LIFECYCLES; n++) finish_cycle(m, n);
  return m;
}

/* ---- the same calls again, against the clock -------------------------------------- */

static void again_ours(struct machine *m, struct logged *c) {
  struct tide_position position = {
      .axis = m->positions[c->queue].axis, .epoch = c->epoch, .frontier = &c->known.frontier};
  switch (c->call) {
    case CALL_MAKE:
      if (tide_pool_alloc(m->pool, (size_t)SMALLEST << m->cycles[c->n].kind, &position, NULL,
                          &m->buffers[c->n]) != TIDE_OK) {
        bench_wrong("alloc");
      }
      break;
    case CALL_USE: tide_buffer_use(m->buffers[c->n], position.axis, position.epoch); break;
    case CALL_FREE: tide_pool_free(m->buffers[c->n], &position); break;
    case CALL_LOOK:
      for (unsigned q = 0; q < m->queues; q++) {
        (void)tide_tracker_advance(m->context.tracker, m->positions[q].axis, c->done[q]);
      }
  }
}

static void again_theirs(struct machine *m, const struct logged *c) {
  unsigned from;
  uint64_t epoch;
  const struct cycle *cycle = &m->cycles[c->n];
  if (c->call == CALL_MAKE) {
    m->blocks[c->n] = m->policy == RMM ? rmm_alloc(m->rival, c->queue, cycle->kind, &from, &epoch)
                                       : plain_alloc(m->rival, cycle->kind);
  } else if (c->call == CALL_FREE) {
    if (m->policy == RMM) rmm_free(m->rival, m->blocks[c->n], c->queue, c->epoch);
    else plain_free(m->rival, m->blocks[c->n]);
  }
}

/* A pool like the first one, with the same answers. */
static void machine_renew(struct machine *m) {
  enum policy policy = m->policy;
  unsigned queues = m->queues;
  machine_fini(m);
  machine_init(m, policy, queues);
}

/* ---- figures ------------------------------------------------------------------------ */

/* ns in the pool's calls a lifecycle. */
static double cost_of(enum policy policy, unsigned queues) {
  struct machine *m = run(policy, queues);
  unsigned first = 0;
  uint64_t from = 0;
  machine_renew(m);
  while (m->calls[first].n < WARM) first++;
  for (unsigned i = 0; i < m->call_count; i++) {
    if (i == first) from = bench_now();
    if (ours(m)) again_ours(m, &m->calls[i]);
    else again_theirs(m, &m->calls[i]);
  }
  double ns = (double)(bench_now() - from);
  machine_fini(m);
  return ns / (LIFECYCLES - WARM);
}

enum what { WAITS, BYTES, SPAN };

static double figure_of(enum policy policy, enum what what) {
  struct machine *m = run(policy, QUEUES);
  double figure = (double)m->inserted / LIFECYCLES;
  struct tide_pool_stats stats;
  tide_pool_stats(m->pool, &stats);
  if (what == BYTES) {
    figure = (double)(ours(m) ? stats.source_peak : m->rival->bytes) / 1024;
  } else if (what == SPAN) {
    figure = 0;
    for (unsigned q = 0; q < QUEUES; q++) {
      double end = m->finish[q][m->epoch[q] - 1];
      if (end > figure) figure = end;
    }
    figure /= 1e6;
  }
  machine_fini(m);
  return figure;
}

static double one_ours(void *state) { return (void)state, cost_of(OURS, 1); }
static double one_plain(void *state) { return (void)state, cost_of(PLAIN, 1); }
static double eight_ours(void *state) { return (void)state, cost_of(OURS, QUEUES); }
static double eight_covered(void *state) { return (void)state, cost_of(COVERED, QUEUES); }
static double eight_rmm(void *state) { return (void)state, cost_of(RMM, QUEUES); }
static double waits_ours(void *state) { return (void)state, figure_of(OURS, WAITS); }
static double waits_rmm(void *state) { return (void)state, figure_of(RMM, WAITS); }
static double bytes_ours(void *state) { return (void)state, figure_of(OURS, BYTES); }
static double bytes_rmm(void *state) { return (void)state, figure_of(RMM, BYTES); }
static double span_ours(void *state) { return (void)state, figure_of(OURS, SPAN); }
static double span_rmm(void *state) { return (void)state, figure_of(RMM, SPAN); }

#define PER_USE "an event a use"
#define PER_FREE "an event a free"

#define SINGLE(what, who, a, b)                                                                    \
  {                                                                                                \
    .name = what, .rival = who, .setup = single_make_both, .teardown = single_drop, .ours = a,     \
    .theirs = b                                                                                    \
  }
#define TRACE(what, who, in, a, b, times)                                                          \
  {                                                                                                \
    .name = what, .rival = who, .unit = in, .measure_ours = a, .measure_theirs = b,                \
    .rounds = times                                                                                \
  }

const struct bench_figure bench_pool[] = {
    SINGLE("alloc_free", "malloc and free", ours_0, malloc_0),
    SINGLE("alloc_free_floor", "10 CAS", ours_0, swaps_10),
    SINGLE("alloc_free_tracking", "the same pool, nothing known", ours_0, untracked_0),
    SINGLE("lifecycle_1_use", PER_USE, ours_1, events_1),
    SINGLE("lifecycle_10_uses", PER_USE, ours_10, events_10),
    SINGLE("lifecycle_100_uses", PER_USE, ours_100, events_100),
    SINGLE("lifecycle_1000_uses", PER_USE, ours_1000, events_1000),
    TRACE("trace_1_queue", "free list, nothing tracked", "ns", one_ours, one_plain, 7),
    TRACE("trace_8_queues", PER_FREE, "ns", eight_ours, eight_rmm, 7),
    TRACE("trace_8_queues_frees_cover_uses", PER_FREE, "ns", eight_covered, eight_rmm, 7),
    TRACE("trace_8_waits_an_alloc", PER_FREE, "waits", waits_ours, waits_rmm, 1),
    TRACE("trace_8_peak", PER_FREE, "KiB", bytes_ours, bytes_rmm, 1),
    TRACE("trace_8_makespan", PER_FREE, "ms", span_ours, span_rmm, 1),
    {0},
};
