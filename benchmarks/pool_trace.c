/* One trace of buffers through our pool and through those of others (rival_*.h), on a machine
 * whose times are computed: queues with operations of 5 to 25 µs, and a host that runs ahead of
 * them and looks every 16 lifecycles what has finished.
 *
 * A lifecycle: a queue makes a buffer and writes it, one to three others read it, one of those
 * waits for all of them and frees it. The program's own waits are the same under every policy. Each
 * policy's reuse is checked: nothing may start with a block before everything of its former life
 * has ended.
 *
 * Counted a lifecycle: ns in the pool's calls, which are made again against the clock, with the
 * same answers; events recorded; events queried; waits inserted for memory. And the memory that was
 * ever needed, and when the last operation ended.
 *
 * Against the clock every side goes through the uses, too, also where its policy asks for nothing
 * there: allocs and frees that take turns, as they would without, are known to the processor by
 * heart, so that policy would seem quicker.
 *
 * All of it is the mean of several traces that differ in what was drawn: what one of them needs at
 * its peak is a whole number of chunks, which says as much about the trace as about the policy. */
#include "causal/context_state.h"
#include "bench.h"
#include "rival_pool.h"
#include "rival_rmm.h"

#include "base/random.h"
#include "causal/tracker.h"
#include "memory/pool.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define QUEUES RIVAL_QUEUES
#define ROOM 16u
#define SMALLEST 4096u
#define LAG 16u /* lifecycles between alloc, uses and free */
#define LIFECYCLES RIVAL_BLOCKS
#define WARM 1024u
#define EPOCHS (LIFECYCLES * 16u)
#define AHEAD 192u /* lifecycles that the host runs ahead */
#define PAGES 16384u
#define BATCH 128u /* calls between two looks at the clock */

/* MUTE is RMM, but calls nothing when the calls are made again: what is left is the loop. */
enum policy { OURS, NAMED, COVERED, USE, RECORD, FREE, RMM, MUTE, PLAIN, POLICIES };

/* The n-th lifecycle: what it is, is the same whoever runs it. */
struct cycle {
  unsigned kind, maker, freer, users;
  unsigned user[4];
  unsigned cost;
};

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
    uint64_t epochs[QUEUES]; /* done, or given */
  };
};
#define CALLS (8u * LIFECYCLES)

/* When everything that used a page has ended. */
struct page {
  uintptr_t number;
  double free_at;
};

#define TRACES 16u
struct question {
  enum policy policy; /* filled in by the side */
  unsigned trace;     /* by measure */
  unsigned queues, classes;
};

struct machine {
  struct question q;
  struct cycle cycles[LIFECYCLES];
  double finish[QUEUES][EPOCHS];
  double cycle_finish[LIFECYCLES];
  double free_at[LIFECYCLES]; /* its memory's former life */
  double last_use[LIFECYCLES];
  struct page pages[PAGES];
  uint64_t epoch[QUEUES], done[QUEUES];
  double now; /* the host's */
  struct wait waits[64];
  unsigned wait_count;
  uint64_t inserted; /* waits for memory */
  struct wait pending[QUEUES][QUEUES];
  unsigned pending_count[QUEUES];
  /* ours */
  struct tide_context *context;
  struct tide_pool *pool;
  struct tide_position positions[QUEUES];
  TIDE_FRONTIER_STORAGE(frontiers[QUEUES], ROOM);
  struct tide_buffer *buffers[LIFECYCLES];
  /* theirs */
  struct rival_pool *rival;
  struct rival_block *blocks[LIFECYCLES];
  struct rmm_pool *rmm;
  uintptr_t places[LIFECYCLES];                       /* rmm: of the memory */
  struct wait made[LIFECYCLES];                       /* by whom */
  TIDE_FRONTIER_STORAGE(records[LIFECYCLES], QUEUES); /* what that operation knew */
  struct logged calls[CALLS];
  unsigned call_count;
};

static bool ours(const struct machine *m) { return m->q.policy <= COVERED; }
static bool rmm(const struct machine *m) { return m->q.policy == RMM || m->q.policy == MUTE; }

static void plan(struct machine *m) {
  struct tide_random random = {42 + m->q.trace};
  for (unsigned n = 0; n < LIFECYCLES; n++) {
    struct cycle *c = &m->cycles[n];
    c->kind = (unsigned)tide_random_below(&random, m->q.classes);
    c->maker = (unsigned)tide_random_below(&random, m->q.queues);
    c->users = 1 + (unsigned)tide_random_below(&random, m->q.queues > 1 ? 3 : 1);
    for (unsigned i = 0; i < c->users; i++) {
      c->user[i] = (unsigned)tide_random_below(&random, m->q.queues);
    }
    c->freer = c->user[tide_random_below(&random, c->users)];
    c->cost = 5000 + (unsigned)tide_random_below(&random, 20000);
  }
}

static void machine_init(struct machine *m, const struct question *q) {
  struct question asked = *q; /* it may be the machine's own */
  memset(m, 0, offsetof(struct machine, calls));
  m->q = asked;
  plan(m);
  size_t chunk = (size_t)SMALLEST << (asked.classes > 1 ? 6 : 0);
  m->rival = rival_make(SMALLEST);
  m->rmm = rmm_make(m->rival, asked.queues, chunk);
  BENCH_CHECK(tide_context_create(NULL, &m->context) == TIDE_OK);
  struct tide_pool_params params = {.struct_size = sizeof params,
                                    .chunk = chunk,
                                    .policy = TIDE_POOL_WAIT_FIRST, /* as the rivals do */
                                    .frees_cover_uses = asked.policy == COVERED,
                                    .uses_are_named = asked.policy == NAMED};
  BENCH_CHECK(tide_pool_create(m->context, &params, &m->pool) == TIDE_OK);
  for (unsigned i = 0; i < asked.queues; i++) {
    tide_axis axis = tide_axis_make(0, TIDE_DOMAIN_QUEUE, i + 1);
    BENCH_CHECK(tide_tracker_register(m->context->tracker, axis) == TIDE_OK);
    tide_tracker_set_names(tide_tracker_find(m->context->tracker, axis));
    tide_frontier_init(&m->frontiers[i].frontier, ROOM);
    m->positions[i] = (struct tide_position){.axis = axis, .frontier = &m->frontiers[i].frontier};
  }
}

static void machine_fini(struct machine *m) {
  for (unsigned i = 0; i < m->q.queues; i++) {
    BENCH_CHECK(tide_tracker_close(m->context->tracker, m->positions[i].axis) == TIDE_OK);
  }
  BENCH_CHECK(tide_pool_destroy(m->pool) == TIDE_OK);
  tide_context_destroy(m->context);
  free(m->rmm);
  free(m->rival);
}

static struct logged *record(struct machine *m, enum call call, unsigned n, unsigned queue) {
  BENCH_CHECK(m->call_count < CALLS);
  struct logged *logged = &m->calls[m->call_count++];
  *logged = (struct logged){.call = call, .n = n, .queue = queue, .epoch = m->epoch[queue]};
  if (ours(m)) {
    tide_frontier_init(&logged->known.frontier, QUEUES);
    tide_frontier_copy(&logged->known.frontier, m->positions[queue].frontier, NULL);
    logged->known.frontier.raised = m->positions[queue].frontier->raised; /* as it is there */
  } else {
    memcpy(logged->epochs, m->epoch, sizeof m->epoch);
  }
  return logged;
}

/* ---- is it safe? ----------------------------------------------------------------- */

static struct page *page_of(struct machine *m, uintptr_t number) {
  uintptr_t at = number * 0x9e3779b97f4a7c15u >> 32;
  while (m->pages[at % PAGES].number && m->pages[at % PAGES].number != number) at++;
  m->pages[at % PAGES].number = number;
  return &m->pages[at % PAGES];
}

/* The memory of the n-th: its pages, made up for blocks that have none. */
static uintptr_t first_page(const struct machine *m, unsigned n) {
  if (ours(m)) return (uintptr_t)tide_buffer_data(m->buffers[n]) / SMALLEST;
  if (rmm(m)) return m->places[n] / SMALLEST;
  return (uintptr_t)(m->blocks[n] - m->rival->blocks + 1) << RIVAL_CLASSES;
}

static void begin_life(struct machine *m, unsigned n) {
  uintptr_t first = first_page(m, n);
  for (uintptr_t i = 0; i < (uintptr_t)1 << m->cycles[n].kind; i++) {
    double free_at = page_of(m, first + i)->free_at;
    if (free_at > m->free_at[n]) m->free_at[n] = free_at;
  }
}

static void end_life(struct machine *m, unsigned n) {
  uintptr_t first = first_page(m, n);
  for (uintptr_t i = 0; i < (uintptr_t)1 << m->cycles[n].kind; i++)
    page_of(m, first + i)->free_at = m->last_use[n];
}

/* ---- the machine ------------------------------------------------------------------ */

static void need(struct machine *m, unsigned queue, uint64_t epoch) {
  BENCH_CHECK(m->wait_count < 64);
  m->waits[m->wait_count++] = (struct wait){queue, epoch};
}

static void insert(struct machine *m, tide_axis axis, uint64_t epoch) {
  need(m, (unsigned)tide_axis_ordinal(axis) - 1, epoch);
  m->inserted++;
}

/* What the buffer's past asks of a queue that names it, and how the scheduler does it: one wait for
 * the one entry that is missing, or for the signaller where there are more. */
static void close_gap(struct machine *m, unsigned queue, struct tide_buffer *buffer) {
  const struct tide_frontier *past = tide_buffer_past(buffer);
  struct tide_frontier *known = m->positions[queue].frontier;
  struct tide_tracker *tracker = m->context->tracker;
  struct tide_frontier_entry missing[QUEUES], entry;
  unsigned count = 0;
  tide_axis axis;
  uint64_t epoch;
  tide_buffer_past_signaller(buffer, &axis, &epoch);
  if (axis &&
      (tide_frontier_get(known, axis) >= epoch || tide_tracker_finished(tracker, axis, epoch))) {
    return;
  }
  for (struct tide_frontier_cursor at = tide_frontier_begin(past);
       tide_frontier_next(&at, &entry);) {
    if (tide_frontier_get(known, entry.axis) >= entry.epoch ||
        tide_tracker_finished(tracker, entry.axis, entry.epoch))
      continue;
    missing[count++] = entry;
  }
  if (count > 1 && axis) {
    insert(m, axis, epoch);
  } else {
    for (unsigned i = 0; i < count; i++) insert(m, missing[i].axis, missing[i].epoch);
  }
  if (count) tide_frontier_merge(known, past, NULL);
}

/* An operation enters `queue`; m->waits are its waits, which end here. Answers its start. */
static double operate(struct machine *m, unsigned queue, double cost) {
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
  return start;
}

/* What the queue's newest operation knew: it goes with what that one signals. */
static void keep(const struct machine *m, unsigned queue, struct tide_frontier *out_record) {
  tide_frontier_init(out_record, QUEUES);
  tide_frontier_copy(out_record, m->positions[queue].frontier, NULL);
}

/* The program's own wait: the same under every policy. Whoever waits knows from then on what the
 * other's operation knew. */
static void depend(struct machine *m, unsigned queue, struct wait on,
                   const struct tide_frontier *record) {
  if (queue == on.queue) return;
  need(m, on.queue, on.epoch);
  tide_frontier_merge(m->positions[queue].frontier, record, NULL);
}

static void use_ours(struct machine *m, unsigned n, const struct tide_position *position) {
  struct tide_naming use = {position->axis, position->epoch, position->frontier, position->epoch,
                            NULL};
  tide_buffer_use(m->buffers[n], &use);
}

static inline void use_theirs(struct machine *m, unsigned n, unsigned queue, uint64_t epoch) {
  if (m->q.policy == USE) use_use(m->rival, m->blocks[n], queue, epoch);
  else if (m->q.policy == RECORD) record_use(m->rival, m->blocks[n], queue);
}

/* An operation that uses the n-th's buffer. Answers its epoch. */
static uint64_t use(struct machine *m, unsigned n, unsigned queue, double cost) {
  if (ours(m)) close_gap(m, queue, m->buffers[n]);
  for (unsigned i = 0; i < m->pending_count[queue]; i++) {
    need(m, m->pending[queue][i].queue, m->pending[queue][i].epoch);
  }
  m->pending_count[queue] = 0;
  double start = operate(m, queue, cost);
  BENCH_CHECK(start >= m->free_at[n]);
  if (start + cost > m->last_use[n]) m->last_use[n] = start + cost;
  uint64_t epoch = m->epoch[queue];
  record(m, CALL_USE, n, queue);
  if (ours(m)) use_ours(m, n, &m->positions[queue]);
  else use_theirs(m, n, queue, epoch);
  return epoch;
}

static struct rival_block *rival_alloc(struct machine *m, const struct cycle *c, unsigned *out_from,
                                       uint64_t *out_epoch) {
  *out_from = QUEUES;
  if (m->q.policy == FREE) return free_alloc(m->rival, c->maker, c->kind, out_from, out_epoch);
  if (m->q.policy == USE) return use_alloc(m->rival, c->kind);
  if (m->q.policy == RECORD) return record_alloc(m->rival, c->maker, c->kind);
  return plain_alloc(m->rival, c->kind);
}

static void rival_free(struct machine *m, unsigned n, unsigned queue, uint64_t epoch,
                       const uint64_t *epochs) {
  struct rival_block *block = m->blocks[n];
  size_t size = (size_t)SMALLEST << m->cycles[n].kind;
  if (rmm(m)) rmm_free(m->rmm, m->places[n], size, queue, epoch);
  else if (m->q.policy == FREE) free_free(m->rival, block, queue, epoch);
  else if (m->q.policy == USE) use_free(m->rival, block);
  else if (m->q.policy == RECORD) record_free(m->rival, block, epochs);
  else plain_free(m->rival, block);
}

static void await_memory(struct machine *m, unsigned queue, unsigned other, uint64_t epoch) {
  m->inserted++;
  m->pending[queue][m->pending_count[queue]++] = (struct wait){other, epoch};
}

static void alloc_ours(struct machine *m, unsigned n, const struct tide_position *position) {
  size_t size = (size_t)SMALLEST << m->cycles[n].kind;
  if (tide_pool_alloc(m->pool, size, position, NULL, &m->buffers[n]) != TIDE_OK)
    bench_wrong("alloc");
}

static void alloc_rmm(struct machine *m, unsigned n, uint64_t epoch) {
  const struct cycle *c = &m->cycles[n];
  m->places[n] = rmm_alloc(m->rmm, (size_t)SMALLEST << c->kind, c->maker, epoch + 1);
}

static void alloc_theirs(struct machine *m, const struct cycle *c, unsigned n) {
  unsigned from = QUEUES;
  uint64_t epoch = 0;
  m->blocks[n] = rival_alloc(m, c, &from, &epoch);
  if (from != QUEUES) await_memory(m, c->maker, from, epoch);
}

static void make(struct machine *m, unsigned n) {
  const struct cycle *c = &m->cycles[n];
  record(m, CALL_MAKE, n, c->maker);
  if (ours(m)) {
    alloc_ours(m, n, &m->positions[c->maker]);
  } else if (rmm(m)) {
    alloc_rmm(m, n, m->epoch[c->maker]);
    for (unsigned i = 0; i < m->rmm->wait_count; i++)
      await_memory(m, c->maker, m->rmm->waits[i].queue, m->rmm->waits[i].epoch);
  } else {
    alloc_theirs(m, c, n);
  }
  begin_life(m, n);
  m->made[n] = (struct wait){c->maker, use(m, n, c->maker, c->cost)};
  keep(m, c->maker, &m->records[n].frontier);
}

static void finish_cycle(struct machine *m, unsigned n) {
  const struct cycle *c = &m->cycles[n];
  struct wait last[4];
  TIDE_FRONTIER_STORAGE(records[4], QUEUES);
  for (unsigned i = 0; i < c->users; i++) {
    depend(m, c->user[i], m->made[n], &m->records[n].frontier);
    last[i] = (struct wait){c->user[i], use(m, n, c->user[i], c->cost / 2)};
    keep(m, c->user[i], &records[i].frontier);
  }
  depend(m, c->freer, m->made[n], &m->records[n].frontier);
  for (unsigned i = 0; i < c->users; i++) depend(m, c->freer, last[i], &records[i].frontier);
  m->cycle_finish[n] = operate(m, c->freer, 500) + 500;
  uint64_t epoch = m->epoch[c->freer];
  record(m, CALL_FREE, n, c->freer);
  end_life(m, n);
  if (ours(m)) tide_pool_free(m->buffers[n], &m->positions[c->freer]);
  else rival_free(m, n, c->freer, epoch, m->epoch);
}

static void see(struct machine *m, const uint64_t *done) {
  for (unsigned q = 0; q < m->q.queues; q++) {
    if (ours(m)) (void)tide_tracker_advance(m->context->tracker, m->positions[q].axis, done[q]);
    else m->rival->done[q] = done[q];
  }
}

/* The host sees what has finished by now. */
static void look(struct machine *m) {
  for (unsigned q = 0; q < m->q.queues; q++) {
    while (m->done[q] < m->epoch[q] && m->finish[q][m->done[q]] <= m->now) m->done[q]++;
  }
  see(m, m->done);
  memcpy(record(m, CALL_LOOK, 0, 0)->epochs, m->done, sizeof m->done);
}

static struct machine *run(const struct question *q) {
  static struct machine *m;
  if (!m) m = malloc(sizeof *m);
  BENCH_CHECK(m != NULL);
  machine_init(m, q);
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
    case CALL_MAKE: alloc_ours(m, c->n, &position); break;
    case CALL_USE: use_ours(m, c->n, &position); break;
    case CALL_FREE: tide_pool_free(m->buffers[c->n], &position); break;
    case CALL_LOOK: break;
  }
}

static void again_nothing(struct machine *m, const struct logged *c) {
  switch (c->call) {
    case CALL_MAKE: m->places[c->n] = c->epoch; break;
    case CALL_USE: break;
    case CALL_FREE: m->places[c->n] = 0; break;
    case CALL_LOOK: break;
  }
}

static void again_theirs(struct machine *m, const struct logged *c) {
  unsigned from;
  uint64_t epoch;
  switch (c->call) {
    case CALL_MAKE:
      if (m->q.policy == RMM) alloc_rmm(m, c->n, c->epoch);
      else m->blocks[c->n] = rival_alloc(m, &m->cycles[c->n], &from, &epoch);
      break;
    case CALL_USE: use_theirs(m, c->n, c->queue, c->epoch); break;
    case CALL_FREE: rival_free(m, c->n, c->queue, c->epoch, c->epochs); break;
    case CALL_LOOK: break;
  }
}

/* A program has at hand what was recorded: reading it from far away is no part of the calls. */
static void fetch(const struct logged *calls, unsigned count) {
  const unsigned char *at = (const void *)calls;
  uint64_t sum = 0;
  for (size_t i = 0; i < count * sizeof *calls; i += 64) sum += at[i];
  bench_keep(sum);
}

/* What the host sees of the queues is no call of a pool: it comes first. */
static uint64_t time_batch(struct machine *m, unsigned from, unsigned to) {
  fetch(&m->calls[from], to - from);
  if (m->calls[from].call == CALL_LOOK) see(m, m->calls[from++].epochs);
  uint64_t start = bench_now();
  for (unsigned i = from; i < to; i++) {
    if (ours(m)) again_ours(m, &m->calls[i]);
    else if (m->q.policy == MUTE) again_nothing(m, &m->calls[i]);
    else again_theirs(m, &m->calls[i]);
  }
  return bench_now() - start;
}

/* ns of all calls from one to another, as many at once as stay in the caches. */
static uint64_t time_all(struct machine *m, unsigned from, unsigned to) {
  uint64_t ns = 0;
  for (unsigned end; from < to; from = end) {
    end = from + 1;
    while (end < to && end - from < BATCH && m->calls[end].call != CALL_LOOK) end++;
    ns += time_batch(m, from, end);
  }
  return ns;
}

/* ns in the pool's calls a lifecycle, of a pool like the first one, which gives the same answers.
 */
static double time_calls(struct machine *m) {
  unsigned at = 0;
  uint64_t waits = m->inserted;
  machine_fini(m);
  machine_init(m, &m->q);
  m->inserted = waits;
  while (m->calls[at].n < WARM) at++;
  (void)time_all(m, 0, at);
  return (double)time_all(m, at, m->call_count) / (LIFECYCLES - WARM);
}

/* ---- figures ------------------------------------------------------------------------ */

enum value { NS, EVENTS, QUERIES, WAITS, MEMORY, SPAN, VALUES };

static double span_of(const struct machine *m) {
  double last = 0;
  for (unsigned q = 0; q < m->q.queues; q++) {
    double end = m->finish[q][m->epoch[q] - 1];
    if (end > last) last = end;
  }
  return last / 1e6;
}

static void measure_trace(const struct question *q, double *out) {
  struct tide_pool_stats stats;
  struct machine *m = run(q);
  tide_pool_stats(m->pool, &stats);
  out[EVENTS] += (double)(m->rival->recorded + m->rmm->recorded) / LIFECYCLES;
  out[QUERIES] += (double)m->rival->queried / LIFECYCLES;
  out[WAITS] += (double)m->inserted / LIFECYCLES;
  size_t theirs = rmm(m) ? m->rmm->end - m->rmm->chunk : m->rival->bytes;
  out[MEMORY] += (double)(ours(m) ? stats.source_peak : theirs) / SMALLEST;
  out[SPAN] += span_of(m);
  out[NS] += time_calls(m);
  machine_fini(m);
}

static const char *measure(const void *what, unsigned side, double *out) {
  struct question q = *(const struct question *)what;
  unsigned traces = bench_smoke() ? 1 : TRACES;
  q.policy = (enum policy)side;
  for (unsigned i = 0; i < VALUES; i++) out[i] = 0;
  for (q.trace = 0; q.trace < traces; q.trace++) measure_trace(&q, out);
  for (unsigned i = 0; i < VALUES; i++) out[i] /= traces;
  return NULL;
}

/* A pool that tracks nothing is right for one queue only. */
#define CONTEST(in, sizes, untracked)                                                              \
  (&(const struct bench_contest){                                                                  \
      .sides = {"ours", "ours, uses named", "ours, frees cover uses", "event a use",               \
                "record_stream", "event a free", "RMM", "RMM without its calls", untracked},       \
      .values = {{"calls", "ns", BENCH_LESS},                                                      \
                 {"events", "a life", BENCH_LESS},                                                 \
                 {"queries", "a life", BENCH_LESS},                                                \
                 {"waits", "a life", BENCH_LESS},                                                  \
                 {"peak", "x 4 KiB", BENCH_LESS},                                                  \
                 {"makespan", "ms", BENCH_LESS}},                                                  \
      .measure = measure,                                                                          \
      .what = &(const struct question){.queues = in, .classes = sizes}})

const struct bench_figure bench_pool_trace[] = {
    {.name = "1_queue", .contest = CONTEST(1, RIVAL_CLASSES, "nothing tracked"), .rounds = 7},
    {.name = "2_queues", .contest = CONTEST(2, RIVAL_CLASSES, NULL), .rounds = 7},
    {.name = "8_queues", .contest = CONTEST(QUEUES, RIVAL_CLASSES, NULL), .rounds = 7},
    {.name = "8_queues_one_size", .contest = CONTEST(QUEUES, 1, NULL), .rounds = 7},
    {0}};
