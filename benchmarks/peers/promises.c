/* The bare prototype (prototype.c) with what a queue has to promise to be of use to others, one
 * promise after the other, so that each has a price. PROMISES is how many are kept:
 *
 *   1  any thread may submit, to queues of a capacity whose storage is used again: a lock
 *   2  what waits is woken: nobody asks queues whose turn has not come
 *   3  a failure goes to those that wait for it, and to nobody else
 *   4  causal knowledge: each operation keeps what has finished when it starts, and waits that this
 *      implies are dropped
 *
 * Nothing else: no labels, arguments, priorities, buffers, checks of what is given, cancelling,
 * statistics, deadlines, waits for what nobody has promised yet. */
#include "fifo.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

enum { KNOWN = 8, BATCH = 16 };

struct slot {
  void (*body)(void *argument, uint32_t operation); /* NULL: holds waits only */
  void *argument;
  uint32_t operation, next_free;
  struct peer_wait waits[WAITS]; /* place 0: none */
  uint32_t queue;
  bool last; /* of the operation */
  bool failed;
};

struct queue {
  struct slot *slots;
  uint32_t *ring;      /* the slot of each place, by its number */
  uint32_t mask, free; /* the first free slot */
  uint32_t submitted, started, slots_finished;
  uint32_t finished; /* operations: the timeline */
  uint32_t total;
  bool busy;          /* a worker has something of it */
  bool listed;        /* it is ready, or waits in somebody's list */
  struct queue *next; /* in that list */
  uint32_t waits_for; /* there: the place */
  struct queue *waiters;
  uint32_t failed_from;     /* UINT32_MAX: nothing has failed */
  uint64_t (*known)[KNOWN]; /* of each operation, by place; the queue's own at 0 */
  uint32_t given;           /* operations submitted */
};

static struct queue queues[QUEUES];
static _Atomic uint32_t lock;
static _Atomic uint32_t news; /* changes when there may be something to start */
static uint32_t queue_count, unfinished;
static struct queue *ready, **ready_end = &ready;

static void enter(void) {
  for (uint32_t tries = 0; atomic_exchange_explicit(&lock, 1, memory_order_acquire);) {
    while (atomic_load_explicit(&lock, memory_order_relaxed))
      if (++tries % 64 == 0) sched_yield();
      else __builtin_ia32_pause();
  }
}
static void leave(void) { atomic_store_explicit(&lock, 0, memory_order_release); }

/* ---- whose turn it is ---- */

static struct slot *next_of(const struct queue *queue) {
  return &queue->slots[queue->ring[queue->started & queue->mask]];
}

/* The wait that is not over; NULL: it may start. */
static const struct peer_wait *missing(const struct slot *slot) {
  for (int i = 0; i < WAITS; i++) {
    const struct peer_wait *wait = &slot->waits[i];
    if (wait->place && queues[wait->queue].finished < wait->place) return wait;
  }
  return NULL;
}

static void tell(void) {
  atomic_store_explicit(&news, atomic_load_explicit(&news, memory_order_relaxed) + 1,
                        memory_order_release);
}

static void make_ready(struct queue *queue) {
  tell();
  queue->next = NULL;
  *ready_end = queue;
  ready_end = &queue->next;
}

/* Its next operation is ready, or waits where it will be woken. */
static void look(struct queue *queue) {
  if (PROMISES < 2 || queue->listed || queue->busy || queue->started == queue->submitted) return;
  const struct peer_wait *wait = missing(next_of(queue));
  queue->listed = true;
  if (!wait) {
    make_ready(queue);
    return;
  }
  queue->waits_for = wait->place;
  queue->next = queues[wait->queue].waiters;
  queues[wait->queue].waiters = queue;
}

static void wake(struct queue *queue) {
  struct queue **from = &queue->waiters, *waiter;
  while ((waiter = *from)) {
    if (waiter->waits_for > queue->finished) {
      from = &waiter->next;
      continue;
    }
    *from = waiter->next;
    waiter->listed = false;
    look(waiter);
  }
}

/* ---- starting and finishing ---- */

static bool has_failed(const struct slot *slot) {
  for (int i = 0; i < WAITS; i++)
    if (slot->waits[i].place >= queues[slot->waits[i].queue].failed_from) return true;
  return false;
}

/* What of the queue may start, one behind the other: whoever takes them runs them in this order. */
static uint32_t take(struct queue *queue, struct slot **out, uint32_t most) {
  uint32_t count = 0;
  while (count < most && queue->started < queue->submitted) {
    struct slot *slot = next_of(queue);
    if (missing(slot)) break;
    if (PROMISES >= 3) slot->failed = has_failed(slot);
    queue->started++;
    out[count++] = slot;
  }
  queue->busy = count > 0;
  return count;
}

static uint32_t take_ready(struct slot **out) {
  uint32_t count = 0;
  for (struct queue *queue; PROMISES >= 2 && count < BATCH && (queue = ready);) {
    ready = queue->next;
    if (!ready) ready_end = &ready;
    queue->listed = false;
    count += take(queue, out + count, ready ? 1 : BATCH - count);
  }
  for (uint32_t i = 0; PROMISES < 2 && i < queue_count && count < BATCH; i++)
    if (!queues[i].busy) count += take(&queues[i], out + count, BATCH - count);
  return count;
}

static void give_back(struct queue *queue, struct slot *slot) {
  slot->next_free = queue->free;
  queue->free = (uint32_t)(slot - queue->slots);
}

static void finish(struct slot *slot) {
  struct queue *queue = &queues[slot->queue];
  queue->slots_finished++;
  if (slot->last) {
    queue->finished++;
    if (PROMISES >= 3 && slot->failed && queue->failed_from == UINT32_MAX)
      queue->failed_from = queue->finished;
  }
  give_back(queue, slot);
  if (queue->slots_finished == queue->started) queue->busy = false;
  if (queue->waiters) wake(queue);
  look(queue);
  if (queue->finished == queue->total && slot->last && --unfinished == 0) sem_post(&all_finished);
}

static uint32_t exchange(struct slot **slots, uint32_t done) {
  enter();
  for (uint32_t i = 0; i < done; i++) finish(slots[i]);
  uint32_t count = take_ready(slots);
  bool more = PROMISES < 2 ? done > 0 : ready != NULL;
  leave();
  if (more) ring();
  return count;
}

static void run_batch(struct slot *const *slots, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (slots[i]->body && !slots[i]->failed)
      slots[i]->body(slots[i]->argument, slots[i]->operation);
}

static void *work(void *argument) {
  struct slot *slots[BATCH];
  uint32_t count = 0;
  for (uint32_t idle = 0;; idle++) {
    /* Who has nothing looks before he takes the lock: it is in the submitter's way. */
    uint32_t seen = atomic_load_explicit(&news, memory_order_acquire);
    count = exchange(slots, count);
    run_batch(slots, count);
    if (count) idle = 0;
    for (; !count && idle < SPIN && atomic_load_explicit(&news, memory_order_acquire) == seen;
         idle++)
      __builtin_ia32_pause();
    if (idle < SPIN) continue;
    idle = 0;
    uint32_t heard = atomic_load(&bell);
    atomic_store(&asleep, 1);
    count = exchange(slots, 0);
    run_batch(slots, count);
    if (!count) syscall(SYS_futex, &bell, FUTEX_WAIT_PRIVATE, heard, NULL, NULL, 0);
  }
  return argument;
}

const char *peer_open(uint32_t workers, const char *folder) {
  (void)folder;
  sem_init(&all_finished, 0, 0);
  for (uint32_t i = 0; i < workers; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0) return "no thread";
  }
  return NULL;
}

/* ---- submitting ---- */

static bool make_queue(struct queue *queue, const struct peer_graph *graph, uint32_t q) {
  uint32_t count = 0, room = 1;
  *queue = (struct queue){.failed_from = UINT32_MAX};
  for (uint32_t i = 0; i < graph->count; i++) {
    if (graph->queue[i] != q) continue;
    count += slots_for(graph, i);
    queue->total++;
  }
  while (room < count) room *= 2;
  queue->mask = room - 1;
  /* Touched once, as ours touches it when a queue is made. */
  size_t known = PROMISES >= 4 ? (queue->total + 1) * sizeof *queue->known : 1;
  queue->slots = calloc(count, sizeof *queue->slots);
  queue->ring = malloc(room * sizeof *queue->ring);
  /* A line each: of one that lies in two, only the first would be fetched ahead. */
  queue->known = aligned_alloc(64, (known + 63) & ~(size_t)63);
  if (!queue->slots || !queue->ring || !queue->known) return false;
  memset(queue->ring, 0, room * sizeof *queue->ring);
  memset(queue->known, 0, known);
  for (uint32_t i = 0; i < count; i++) {
    queue->slots[i].queue = q;
    queue->slots[i].next_free = i + 1;
  }
  return true;
}

const char *peer_prepare(const struct peer_run *run) {
  const struct peer_graph *graph = run->graph;
  if (graph->queues > QUEUES || (PROMISES >= 4 && graph->queues > KNOWN)) return "too many queues";
  enter();
  bool made = true;
  for (uint32_t q = 0; q < graph->queues; q++) made &= make_queue(&queues[q], graph, q);
  unfinished = graph->queues;
  queue_count = graph->queues;
  leave();
  return made ? NULL : "no memory";
}

/* What the operation learns from what it waits for; a wait that teaches nothing is none. */
static uint32_t learn(struct queue *queue, const struct peer_wait *asked, uint32_t count,
                      struct peer_wait *out) {
  uint64_t *known = queue->known[queue->given + 1];
  uint32_t left = 0;
  memcpy(known, queue->known[queue->given], sizeof *queue->known);
  for (uint32_t i = 0; i < count; i++) {
    const struct queue *other = &queues[asked[i].queue];
    if (known[asked[i].queue] >= asked[i].place) continue;
    if (other->finished < asked[i].place) out[left++] = asked[i];
    const uint64_t *record = other->known[asked[i].place];
    for (int k = 0; k < KNOWN; k++) known[k] = known[k] < record[k] ? record[k] : known[k];
  }
  known[queue - queues] = queue->given + 1;
  __builtin_prefetch(queue->known[queue->given + 4 <= queue->total ? queue->given + 4 : 0], 1);
  return left;
}

static void submit(const struct peer_run *run, uint32_t i) {
  const struct peer_graph *graph = run->graph;
  struct queue *queue = &queues[graph->queue[i]];
  const struct peer_wait *waits = &graph->waits[graph->wait_first[i]];
  uint32_t count = graph->wait_first[i + 1] - graph->wait_first[i];
  struct peer_wait learned[QUEUES];
  enter();
  if (PROMISES >= 4) {
    count = learn(queue, waits, count, learned);
    waits = learned;
  }
  queue->given++;
  for (uint32_t at = 0; at == 0 || at < count; at += WAITS) {
    uint32_t free = queue->free;
    struct slot *slot = &queue->slots[free];
    queue->free = slot->next_free;
    slot->last = at + WAITS >= count;
    slot->body = slot->last ? run->body : NULL;
    slot->argument = run->argument;
    slot->operation = i;
    slot->failed = false;
    for (uint32_t w = 0; w < WAITS; w++)
      slot->waits[w] = at + w < count ? waits[at + w] : (struct peer_wait){0, 0};
    queue->ring[queue->submitted++ & queue->mask] = free;
  }
  if (PROMISES < 2) tell();
  look(queue);
  leave();
  if (atomic_load_explicit(&asleep, memory_order_relaxed)) ring();
}

void peer_finish(const struct peer_run *run) {
  enter();
  queue_count = 0;
  for (uint32_t q = 0; q < run->graph->queues; q++) {
    free(queues[q].slots);
    free(queues[q].ring);
    free(queues[q].known);
  }
  leave();
}
