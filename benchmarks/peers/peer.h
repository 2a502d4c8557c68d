/* benchmarks/peers/peer.h: what a task runtime has to do to be measured.
 *
 * Each runtime, ours included, is a shared object with the four functions below. A run of one is a
 * process of its own that loads it: nobody's threads or memory are in another's way, and one that
 * is not there is skipped. Operations are numbered in the order in which they are to be submitted;
 * an operation depends on lower ones only. Operation 0 is the gate: all others come after it.
 *
 * The same graph is there twice: as edges, for runtimes that take tasks and dependencies, and laid
 * out on FIFO queues, for those that wait for a place in another queue. There, what comes earlier
 * in an operation's own queue comes before it anyway, and of several predecessors in one queue only
 * the last is a wait. */
#ifndef BENCHMARKS_PEERS_PEER_H
#define BENCHMARKS_PEERS_PEER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peer_wait {
  uint32_t queue, place;
};

struct peer_graph {
  uint32_t count;
  /* i comes after before[first[i]] … before[first[i + 1] - 1]. */
  const uint32_t *first, *before;
  uint32_t queues;
  const uint32_t *queue;      /* of each operation */
  const uint32_t *place;      /* in it, from 1 */
  const uint32_t *wait_first; /* as first, into waits */
  const struct peer_wait *waits;
};

struct peer_run {
  const struct peer_graph *graph;
  bool gated; /* body 0 blocks until `submitted` was called */
  void (*body)(void *argument, uint32_t operation);
  /* To be called by the submitting thread when the runtime has all operations. */
  void (*submitted)(void *argument);
  void *argument;
};

#define PEER_API __attribute__((visibility("default")))

/* Each answers NULL, or why it cannot. Called once: starts `workers` threads that run operations,
 * beside the submitting one. Files that have to be written go into `folder`. */
PEER_API const char *peer_open(uint32_t workers, const char *folder);
/* What is not timed: queues and the like for this graph. What is allocated here counts as memory.
 */
PEER_API const char *peer_prepare(const struct peer_run *run);
/* Submits all in order, calls run->submitted, and returns when all have finished. */
PEER_API const char *peer_do(const struct peer_run *run);
/* Undoes peer_prepare; not timed. */
PEER_API void peer_finish(const struct peer_run *run);

#ifdef __cplusplus
}
#endif
#endif
