/* sched/queue_state.h: a queue, the storage of its operations and of its frontiers. */
#ifndef TIDE_SCHED_QUEUE_STATE_H
#define TIDE_SCHED_QUEUE_STATE_H

#include "causal/frontier.h"
#include "causal/tracker_axis.h"
#include "point/priority.h"
#include "sched/operation.h"

struct tide_queue_channel;

/* Locates a frontier version: its offset in words, and the index of the queue's own axis in it. */
struct tide_version {
  uint32_t at, own;
};

/* A queue's slot for one epoch. The operation stays until it is published, the version until a
 * later epoch reuses the slot. */
struct tide_epoch_slot {
  struct tide_op *op;
  struct tide_version version;
};
_Static_assert(sizeof(struct tide_op) + sizeof(struct tide_epoch_slot) <= 96,
               "memory of a pending operation");

/* Storage of operations, their waits, signals and uses. An operation and all that it has lie in one
 * store. ops, waits and signals lie in one allocation, so that distances name them. */
struct tide_capacity {
  uint32_t ops, waits, signals, uses;
};
struct tide_store {
  struct tide_capacity capacity;
  uint32_t free_ops; /* head of the free list: see tide_op_named */
  struct tide_op_wait *free_waits;
  struct tide_op_signal *free_signals;
  struct tide_op_use *free_uses;
  struct tide_op *ops;
  struct tide_op_rare *rare;
  struct tide_op_label *labels;
  /* Arguments longer than TIDE_ARGUMENTS_FEW: those of ops[i] at i * TIDE_ARGUMENTS_MAX. */
  unsigned char *arguments;
  struct tide_op_wait *waits;
  struct tide_wait_node *nodes; /* nodes[i] belongs to waits[i] */
  struct tide_op_signal *signals;
  struct tide_op_use *uses;
  struct tide_op_use **first_uses; /* first_uses[i] belongs to ops[i], if op->uses */
};

/* The number of queues that a head operation can lend priority to at a time. It lends to further
 * ones when one of these no longer blocks it. */
#define TIDE_LENDS_MAX 8
struct tide_lend {
  struct tide_link link; /* entry of to->lenders */
  struct tide_queue *to; /* NULL: none */
};

#define TIDE_PRIORITY_DEFAULT 8

/* A channel's failure state: see channel_failure.c. */
struct tide_channel_failure {
  uint64_t epoch;           /* the failed command's epoch: later commands do not run */
  enum tide_status cause;   /* the failed command's status; TIDE_OK: none failed */
  struct tide_cause *first; /* the failed command's cause; NULL: none, or no memory */
  enum tide_status refused; /* status of new operations; TIDE_OK: no operation was refused */
};

struct tide_queue {
  struct tide_sched *sched;
  struct tide_device *device;
  struct tide_ahead *ahead; /* NULL: the host keeps all waits */
  struct tide_ready *ready_in;
  bool in_order;              /* the device's */
  bool serial;                /* an operation starts only once the one before it is published */
  bool traced;                /* a sink or check mode is attached */
  bool order_was_lost;        /* lost_order.c: an operation has failed without its past */
  struct tide_link in_device; /* device->queues */
  struct tide_queue *next;    /* next in sched->work or sched->gone */
  struct tide_link in_ready;  /* ready_in->levels[level] */
  struct tide_link in_age;    /* ready_in->by_age */
  struct tide_position position;
  uint64_t taint_epoch; /* epoch of the frontier's last taint; 0: none */
  struct tide_tracker_axis *tracked;
  struct tide_timeline *progress;
  uint64_t published; /* all epochs up to this one have finished */
  uint64_t next_start;
  struct tide_op *ready_op; /* the arbiter's candidate; valid while `ready` */
  uint64_t sequence;
  uint32_t ring_mask;
  struct tide_epoch_slot *slots; /* epoch e is at e & ring_mask */
  uint64_t oldest;               /* the oldest epoch that had a slot when the ring grew; or 0 */
  /* Storage of the frontier versions. Epochs between two imports share a version: their records
   * differ only in the queue's own entry, which tide_queue_record sets. Versions are packed, each
   * as long as its entries need. The newest one is followed by space for a full one. On an in-order
   * device the newest one is also the position's frontier. */
  uint64_t *frontiers;
  size_t frontier_limit, next_frontier; /* offsets: last with space for a full one, next version */
  struct tide_frontier *newest;         /* the current version */
  uint64_t learned;                     /* first epoch of `newest` */
  struct tide_version version;
  struct tide_frontier *apart; /* the position's frontier if not the newest version */
  uint64_t counted;            /* frontiers up to this epoch are in the statistics */
  bool renew;                  /* the next operation needs a new version */
  uint32_t shed;               /* how often the frontier had to make room */
  struct tide_link held;
  uint64_t held_count;
  struct tide_op *held_firm; /* the first held operation that may not be passed; NULL: none */
  struct tide_tree due;      /* struct tide_op_rare, by sequence: held, to be classified again */
  /* The capacity left for further submits. */
  uint32_t free_ops_count, free_waits_count, free_signals_count, free_uses_count;
  struct tide_capacity capacity;
  struct tide_store store; /* a submit takes from here */
  struct tide_store early; /* the store that the queue has outgrown, or nothing */
  bool grows;              /* `store` is smaller than `capacity` */
  /* The first store's, for readers without the lock: the rest moves when the queue grows. */
  const struct tide_op *first_ops;
  const struct tide_op_label *first_labels;
  uint32_t first_count;
  uint32_t in_flight;           /* leaving operations with a node in flight */
  uint32_t members;             /* collectives that the queue belongs to */
  struct tide_link memberships; /* struct tide_membership, one a collective */
  uint64_t ready_since;         /* ready_in->picks when it became ready */
  uint64_t check_index;         /* check mode: the queue's number */
  uint8_t effective, level;     /* priority: current; as queued in the arbiter */
  struct tide_priority priority;
  /* Priorities lent by waiting queues, and the queues that this one lends to, each once. */
  uint32_t lent[TIDE_PRIORITY_LEVELS];
  struct tide_link lenders;
  struct tide_lend lends[TIDE_LENDS_MAX];
  struct tide_queue *next_changed; /* next in sched->changed */
  bool on_changed;
  struct tide_queue_channel *channel; /* NULL: not a channel */
  struct tide_channel_failure failure;
  bool ready, look, retry_held, closing;
  bool startable;   /* during a sort of the work list: it has a next operation, */
  uint32_t entered; /* which entered then */
  bool parked;      /* a thread parks until `changes` counts up; false again at the wake */
  uint32_t changes; /* atomic, waited on: counts up if `parked` */
  uint32_t waiters; /* threads that drain the queue, or wait for capacity; they keep its storage */
  struct tide_wait_node turn[TIDE_WAITS_FEW];
  char label[TIDE_LABEL_SIZE];
};

/* ---- a queue's frontiers ---- */
/* Sets the own entry of the position's frontier to the newest epoch. Reading an older record of the
 * newest version has overwritten it. */
static inline void tide_queue_own_entry(struct tide_queue *queue) {
  if (queue->in_order)
    *tide_frontier_at(queue->position.frontier, queue->version.own) = queue->position.epoch;
}
/* Returns the location of the next version. */
static inline struct tide_frontier *tide_queue_next_frontier(const struct tide_queue *queue) {
  return (struct tide_frontier *)(void *)(queue->frontiers + queue->next_frontier);
}
/* Moves the next version behind `newest`, or to the beginning of the storage. */
static inline void tide_queue_next_version(struct tide_queue *queue,
                                           const struct tide_frontier *newest) {
  queue->next_frontier += tide_frontier_kept_words(newest);
  if (queue->next_frontier > queue->frontier_limit) queue->next_frontier = 0;
  /* The first line is the last one of `newest`, which is cached. */
  tide_fetch_lines((char *)(queue->frontiers + queue->next_frontier) + TIDE_CACHE_LINE, 2);
}
/* Returns the record of one of the newest ring_mask + 1 epochs; its own entry may be another's. */
static inline struct tide_frontier *tide_queue_record_of_others(const struct tide_queue *queue,
                                                                uint64_t epoch) {
  const struct tide_epoch_slot *slot = &queue->slots[epoch & queue->ring_mask];
  return (struct tide_frontier *)(void *)(queue->frontiers + slot->version.at);
}
/* Returns the record with its own entry. Valid until the next call. */
static inline struct tide_frontier *tide_queue_record(const struct tide_queue *queue,
                                                      uint64_t epoch) {
  struct tide_frontier *record = tide_queue_record_of_others(queue, epoch);
  *tide_frontier_at(record, queue->slots[epoch & queue->ring_mask].version.own) = epoch;
  return record;
}

#endif
