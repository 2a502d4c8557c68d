/* The least that runs such graphs: FIFO queues, each a timeline that counts what has finished, an
 * operation with room for two waits. No frontiers, no failure, no labels, nothing checked. Each
 * queue belongs to one worker; a worker that finds nothing for a while sleeps until the bell rings.
 */
#include "fifo.h"

#include <pthread.h>

enum { WORKERS = 16 };

struct slot {
  void (*body)(void *argument, uint32_t operation); /* NULL: holds waits only */
  void *argument;
  uint32_t operation;
  struct peer_wait waits[WAITS]; /* place 0: none */
};

struct queue {
  _Alignas(64) struct slot *slots;
  _Atomic uint32_t submitted; /* slots; the submitter's */
  uint32_t total;             /* operations that will come */
  /* The worker's: operations that have finished, which is the timeline, and the next slot. */
  _Alignas(64) _Atomic uint32_t finished;
  _Atomic uint32_t next;
};

static struct queue queues[QUEUES];
static uint32_t worker_count;
static _Atomic uint32_t queue_count, unfinished;

static bool ready(const struct slot *slot) {
  for (int i = 0; i < WAITS; i++) {
    const struct peer_wait *wait = &slot->waits[i];
    if (wait->place &&
        atomic_load_explicit(&queues[wait->queue].finished, memory_order_acquire) < wait->place)
      return false;
  }
  return true;
}

/* Runs what it can of one queue. */
static bool run_queue(struct queue *queue) {
  /* In this order: who sees the next run's first slot must not see the last run's count. */
  uint32_t first = atomic_load(&queue->next), next = first;
  uint32_t submitted = atomic_load(&queue->submitted);
  uint32_t finished = atomic_load_explicit(&queue->finished, memory_order_relaxed);
  for (; next < submitted && ready(&queue->slots[next]); next++) {
    const struct slot *slot = &queue->slots[next];
    if (!slot->body) continue;
    slot->body(slot->argument, slot->operation);
    atomic_store_explicit(&queue->finished, ++finished, memory_order_release);
  }
  if (next == first) return false;
  atomic_store_explicit(&queue->next, next, memory_order_relaxed);
  if (finished == queue->total && atomic_fetch_sub(&unfinished, 1) == 1) sem_post(&all_finished);
  return true;
}

static bool pass(uint32_t worker) {
  bool any = false;
  for (uint32_t i = worker; i < atomic_load(&queue_count); i += worker_count)
    any |= run_queue(&queues[i]);
  return any;
}

/* After a pass that ran something: others may wait for it. What it published is ordered before this
 * look at the flag, theirs at the queues comes after they put it up. */
static void tell_others(void) {
  if (worker_count > 1) ring();
}

static void *work(void *argument) {
  uint32_t worker = (uint32_t)(uintptr_t)argument;
  for (uint32_t idle = 0;; idle++) {
    if (pass(worker)) {
      tell_others();
      idle = 0;
    }
    if (idle < SPIN) continue;
    idle = 0;
    uint32_t heard = atomic_load(&bell);
    atomic_store(&asleep, 1);
    if (pass(worker)) tell_others();
    else syscall(SYS_futex, &bell, FUTEX_WAIT_PRIVATE, heard, NULL, NULL, 0);
  }
  return NULL;
}

const char *peer_open(uint32_t workers, const char *folder) {
  (void)folder;
  if (workers > WORKERS) return "too many workers";
  worker_count = workers;
  sem_init(&all_finished, 0, 0);
  for (uint32_t i = 0; i < workers; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, (void *)(uintptr_t)i) != 0) return "no thread";
  }
  return NULL;
}

const char *peer_prepare(const struct peer_run *run) {
  const struct peer_graph *graph = run->graph;
  if (graph->queues > QUEUES) return "too many queues";
  for (uint32_t q = 0; q < graph->queues; q++) {
    size_t count = 0;
    queues[q].total = 0;
    for (uint32_t i = 0; i < graph->count; i++) {
      if (graph->queue[i] != q) continue;
      count += slots_for(graph, i);
      queues[q].total++;
    }
    queues[q].slots = calloc(count, sizeof *queues[q].slots);
    if (!queues[q].slots) return "no memory";
    atomic_store(&queues[q].next, 0);
    atomic_store(&queues[q].finished, 0);
  }
  atomic_store(&unfinished, graph->queues);
  atomic_store(&queue_count, graph->queues);
  return NULL;
}

static void submit(const struct peer_run *run, uint32_t i) {
  const struct peer_graph *graph = run->graph;
  struct queue *queue = &queues[graph->queue[i]];
  uint32_t at = atomic_load_explicit(&queue->submitted, memory_order_relaxed);
  uint32_t wait = graph->wait_first[i], end = graph->wait_first[i + 1];
  for (uint32_t left = slots_for(graph, i); left > 0; left--, at++) {
    struct slot *slot = &queue->slots[at];
    for (int w = 0; w < WAITS && wait < end; w++) slot->waits[w] = graph->waits[wait++];
    slot->argument = run->argument;
    slot->operation = i;
    slot->body = left == 1 ? run->body : NULL;
  }
  atomic_store(&queue->submitted, at);
  if (atomic_load(&asleep)) ring();
}

void peer_finish(const struct peer_run *run) {
  atomic_store(&queue_count, 0);
  for (uint32_t q = 0; q < run->graph->queues; q++) {
    atomic_store(&queues[q].submitted, 0); /* a worker that still looks finds nothing */
    free(queues[q].slots);
  }
}
