/* What the prototypes that are written here have in common: FIFO queues, whose operations have room
 * for two waits; a bell for workers that sleep; and how a graph goes in. */
#ifndef BENCHMARKS_PEERS_FIFO_H
#define BENCHMARKS_PEERS_FIFO_H

#include "peer.h"

#include <limits.h>
#include <linux/futex.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WAITS = 2, QUEUES = 64, SPIN = 2000 };

static _Atomic uint32_t bell, asleep;
static sem_t all_finished;

/* Only who takes the flag down pays for a wake; who sleeps again puts it up again. */
static void ring(void) {
  if (!atomic_exchange(&asleep, 0)) return;
  atomic_fetch_add(&bell, 1);
  syscall(SYS_futex, &bell, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* An operation with more waits is preceded by empty ones that hold them: a queue is FIFO. */
static uint32_t slots_for(const struct peer_graph *graph, uint32_t i) {
  uint32_t waits = graph->wait_first[i + 1] - graph->wait_first[i];
  return waits <= WAITS ? 1 : (waits + WAITS - 1) / WAITS;
}

static void submit(const struct peer_run *run, uint32_t i);

const char *peer_do(const struct peer_run *run) {
  for (uint32_t i = 0; i < run->graph->count; i++) submit(run, i);
  run->submitted(run->argument);
  while (sem_wait(&all_finished) != 0) continue;
  return NULL;
}

#endif
