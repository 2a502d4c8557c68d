/* sched/scheduler_state.h: the scheduler, its lock, and the states of an operation.
 *
 * One lock guards all fields here, except those marked atomic, and the timelines that operations
 * use. Lock order: this lock, then a pool's lock or the tracker's.
 *
 * Every operation goes through these states:
 *
 *     held -> entered -> ready -> running -> done -> published
 *
 * held      until all of its waits are promised, or one has failed; skipped if they are already
 * entered   has an epoch, and may not start yet
 * ready     its queue waits to be picked
 * running   a backend has the operation. A device that runs ahead: given, then *out* (see ahead.h)
 * done      until all operations before it are done; then it is published and its storage freed
 *
 * No callback runs under the lock. A step appends to three lists: dirty queues and fired nodes,
 * which `tide_sched_settle` drains, and host waiters and backends to kick, which wait for the
 * unlock. Every entry point is: enter (lock) … leave (settle, unlock, call out). */
#ifndef TIDE_SCHED_SCHEDULER_STATE_H
#define TIDE_SCHED_SCHEDULER_STATE_H

#include "sched/device_state.h"
#include "sched/queue_state.h"

struct tide_checker;
struct tide_collective;
struct tide_delegation;

struct tide_sched {
  struct tide_lock *lock; /* the context's, which also guards timelines that operations use */
  uint32_t reporting;     /* atomic, waited on: threads that report findings of check mode */
  bool paused;
  bool prioritised; /* priorities differ, or have differed */
  bool changing;
  bool listen; /* a waiter may need an earlier end than the devices listen for */
  struct tide_queue *changed, **last_changed; /* queues with priorities to recompute */
  struct tide_context *context;
  struct tide_link devices, groups;    /* struct tide_device, struct tide_device_group */
  struct tide_queue *work, **work_end; /* dirty queues */
  struct tide_fired fired;             /* nodes that fired under the lock */
  struct tide_fired host;              /* fired nodes of other owners: run after unlocking */
  struct tide_device *kicks;
  struct tide_queue *gone, **gone_end; /* queues to free after unlocking, in order */
  struct tide_link collectives;        /* collectives with members */
  uint64_t instances;                  /* of collectives: with a submitted part, and not over */
  uint64_t incomplete;                 /* instances that lack the entry of a part */
  uint32_t incomplete_since; /* if there are any: stats.entered when the first came to be */
  bool epochs_moved;   /* a held operation has left: waits for progress may mean other operations */
  bool unnoticed;      /* a walk has met an instance with a failing part */
  uint64_t unpromised; /* failed operations, unpublished, that have promised nothing */
  struct tide_collective *gone_collectives;
  bool calls;                            /* work is due after unlocking */
  struct tide_context_stats stats;       /* the waits are counted below */
  uint64_t waits_of[TIDE_WAIT_HELD + 1]; /* by enum tide_wait_class */
  uint64_t search;                       /* number of the newest deadlock search */
  uint64_t batch;                        /* number of the newest submit_all */
  struct tide_checker *checker;          /* check mode; else NULL */
  void (*finding)(void *user, const struct tide_diag *diag); /* the context params' callback */
  void *finding_user;
  /* The frontier that the current operation would start with: the queue's own until something is
   * imported, then the queue's next version, or `scratch` if a buffer's past has no room there. */
  const struct tide_frontier *known;
  struct tide_frontier *scratch; /* capacity 255 */
  /* Lookup results of the current operation's first waits, valid during its classification. */
  struct tide_pending found[TIDE_WAITS_FEW];
  char apart[TIDE_CACHE_LINE];
  struct tide_delegation *delegated; /* atomic: a posted exchange request; NULL: none */
  char apart_too[TIDE_CACHE_LINE];
};

#endif
