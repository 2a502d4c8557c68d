/* sched/sched.h: the scheduler's private types and functions.
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
 * running   a backend has the operation
 * done      until all operations before it are done; then it is published and its storage freed
 *
 * No callback runs under the lock. A step appends to three lists: dirty queues and fired nodes,
 * which `tide_sched_settle` drains, and host waiters and backends to kick, which wait for the
 * unlock. Every entry point is: enter (lock) … leave (settle, unlock, call out). */
#ifndef TIDE_SCHED_SCHED_H
#define TIDE_SCHED_SCHED_H

#include "base/check.h"
#include "base/list.h"
#include "causal/frontier.h"
#include "causal/tracker_axis.h"
#include "memory/pool.h"
#include "point/priority.h"
#include "sched/op_failure.h"
#include "tidemark/backend.h"
#include "timeline/timeline_state.h"

/* Keeps code for rare operations out of line, so that the common path saves no registers for it. */
#define TIDE_APART __attribute__((noinline))

struct tide_op;
struct tide_checker;
struct tide_instance;
struct tide_collective;
struct tide_queue_channel;
struct tide_change;
struct tide_delegation;

/* A snapshot of a timeline's record for a value that is not reached yet. */
struct tide_pending {
  uint64_t value;
  tide_axis axis;
  uint64_t epoch;
  const struct tide_frontier *frontier; /* NULL: external. Its own entry may be of a later epoch */
  struct tide_queue *queue;             /* the record's owner; NULL: not a queue */
};

/* Waits of one operation whose lookup results the scheduler stores; few operations have more. */
#define TIDE_WAITS_FEW 8

enum tide_wait_heap { TIDE_HEAP_NONE, TIDE_HEAP_REACHED, TIDE_HEAP_PROMISED, TIDE_HEAP_POINT };

/* One wait of one operation. Millions may exist, so rarely used fields are in tide_wait_node. */
struct tide_op_wait {
  struct tide_timeline *timeline;
  uint64_t value; /* as submitted */
  tide_axis axis; /* the signaller of the imported record; 0: nothing was imported */
  uint64_t epoch;
  uint32_t next;   /* the operation's next wait, or the next free one: see tide_wait_named */
  uint16_t beyond; /* encodes the record's value: see tide_wait_record */
  enum tide_wait_class class_ : 3;
  enum tide_wait_reason reason : 3;
  enum tide_wait_heap heap : 2; /* the heap that contains the node */
  unsigned place : 4;           /* index in the operation, TIDE_WAITS_FEW at most: see elide.c */
  bool open : 1;                /* issued, and resolved since */
  bool finish : 1;              /* failed after its import: the signaller must still finish */
  bool point : 1;               /* waits for a point: see channel.h */
  bool apart : 1;               /* selects the node: see tide_wait_node */
};
_Static_assert(sizeof(struct tide_op_wait) <= 40, "millions of waits may exist");

/* Queues one wait. Most waits are resolved before the operation's start and need no node. A queue
 * has one node for each of the first TIDE_WAITS_FEW waits of its next operation. Each wait also has
 * a node of its own, used while the operation is held, or if it has more waits. */
struct tide_wait_node {
  union {
    struct tide_node node;     /* in the timeline's `reached` or `promised` heap */
    struct tide_pending found; /* lookup result, if not in sched->found; in no heap then */
  };
  struct tide_op *op;
  struct tide_op_wait *wait;
  uint64_t record_value; /* set if `beyond` cannot hold the distance */
};

struct tide_op_signal {
  struct tide_record record;
  struct tide_op_signal *next;
  struct tide_op *op;
};

struct tide_op_use {
  struct tide_op_use *next;
  struct tide_buffer *buffer;
  enum tide_access access;
  uint64_t offset, size;
  bool gap; /* the past was unknown at entry: all of it must finish before the start */
};

enum tide_op_state {
  TIDE_OP_FREE,
  TIDE_OP_HELD,
  TIDE_OP_ENTERED, /* also while ready: see tide_op_is_ready */
  TIDE_OP_RUNNING,
  TIDE_OP_DONE
};

/* Arguments up to this size are stored in the operation. */
#define TIDE_ARGUMENTS_FEW (sizeof((struct tide_work *)0)->arguments)

/* Everything that a successful operation touches, in one cache line. */
struct tide_op {
  struct tide_work work; /* the backend's view; work.epoch is 0 before entry */
  struct tide_queue *queue;
  /* Names of the first wait and signal: see tide_op_waits, tide_op_signals. */
  uint32_t waits, signals;
  uint32_t unmet; /* issued waits not yet seen open; in free storage: the next free operation */
  enum tide_status status : 8; /* the first failure; TIDE_OK: none yet */
  enum tide_op_state state : 3;
  unsigned flags : 3;  /* enum tide_operation_flags */
  bool uses : 1;       /* uses buffers: see tide_op_uses */
  bool part : 1;       /* part of a collective */
  bool points : 1;     /* command of points: see channel.h */
  bool asks : 1;       /* has an action at its start: points, TIDE_RECOVER */
  bool told : 1;       /* completion is notified: to points, or the body class */
  bool armed : 1;      /* its unresolved issued waits are queued */
  bool retry : 1;      /* held: must be classified again */
  bool leaving : 1;    /* held and cancelled; a node may be in flight */
  bool refused : 1;    /* signals refused at entry: they fail at publication */
  bool arrived : 1;    /* a collective's part that may start */
  bool finishing : 1;  /* its finish node is queued: see tide_op_rare */
  bool rare : 1;       /* its tide_op_rare is initialised */
  bool numbered : 1;   /* tide_op_rare has its full number: it was held */
  bool withdrawn : 1;  /* cancelled by its client before any other failure */
  bool stopped : 1;    /* its status is inherited from an earlier command of its channel */
  unsigned unused : 3; /* completes the word: one store sets all flags */
};
_Static_assert(sizeof(void *) != 8 || sizeof(struct tide_op) == TIDE_CACHE_LINE,
               "an operation fills one cache line");
_Static_assert(__builtin_offsetof(struct tide_op, work.arguments) % 16 == 0,
               "arguments are aligned for anything");

/* Fields that few operations need. rare[i] belongs to ops[i]; undefined until op->rare is set. */
struct tide_op_rare {
  struct tide_op *op;
  struct tide_instance *instance; /* of a collective's part */
  struct tide_link link;          /* in the queue's held list */
  struct tide_node finish;        /* queued for one (axis, epoch) at a time */
  struct tide_op *mark;           /* deadlock search: the predecessor */
  uint64_t visited;               /* deadlock search: number of the last visit */
  uint64_t thread;                /* check mode: the submitting thread */
  uint64_t sequence;              /* full number of a held operation */
  struct tide_cause *cause;       /* of a failed operation; NULL: not created yet */
};

/* labels[i] belongs to ops[i]. Labelled operations seldom need a tide_op_rare, too. */
struct tide_op_label {
  char text[32];
};

/* Locates a frontier version: its offset in words, and the index of the queue's own axis in it. */
struct tide_version {
  uint32_t at, own;
};

/* A queue's slot for one epoch. The operation stays until it is published, the version until a
 * later epoch reuses the slot. */
struct tide_place {
  struct tide_op *op;
  struct tide_version version;
};
_Static_assert(sizeof(struct tide_op) + sizeof(struct tide_place) <= 96,
               "memory of a pending operation");

/* The number of queues that a head operation can lend priority to at a time. It lends to further
 * ones when one of these no longer blocks it. */
#define TIDE_LENDS_MAX 8
struct tide_lend {
  struct tide_link link; /* in to->lenders */
  struct tide_queue *to; /* NULL: none */
};

#define TIDE_PRIORITY_DEFAULT 8

/* A channel's failure state: see channel_failure.c. */
struct tide_channel_failure {
  uint64_t epoch;           /* of the failed command: later ones do not run */
  enum tide_status cause;   /* the failed command's status; TIDE_OK: none failed */
  struct tide_cause *first; /* of the failed command; NULL: none, or no memory */
  enum tide_status refused; /* status of new operations; TIDE_OK: no operation was refused */
};

struct tide_queue {
  struct tide_sched *sched;
  struct tide_device *device;
  bool in_order;              /* the device's */
  bool heard;                 /* a sink or check mode is attached */
  struct tide_link in_device; /* device->queues */
  struct tide_queue *next;    /* in sched->work, or in sched->gone */
  struct tide_link in_ready;  /* device->ready[level] */
  struct tide_link in_age;    /* device->ready_by_age */
  struct tide_position position;
  uint64_t taint_epoch; /* epoch of the frontier's last taint; 0: none */
  struct tide_tracker_axis *tracked;
  struct tide_timeline *progress;
  uint64_t published; /* all epochs up to this one have finished */
  uint64_t next_start;
  struct tide_op *ready_op; /* the arbiter's candidate; valid while `ready` */
  uint64_t sequence;
  uint32_t ring_mask;
  struct tide_place *places; /* epoch e is at e & ring_mask */
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
  struct tide_link held;
  uint32_t held_firm; /* held operations that may not be passed */
  uint32_t free_ops_count, free_waits_count, free_signals_count, free_uses_count;
  uint32_t free_ops, free_waits; /* heads of the free lists: see tide_op_named, tide_wait_named */
  struct tide_op_signal *free_signals;
  struct tide_op_use *free_uses;
  struct tide_op *ops; /* storage of op_capacity operations */
  struct tide_op_rare *rare;
  struct tide_op_label *labels;
  unsigned char *arguments; /* of ops[i] at i * TIDE_ARGUMENTS_MAX, beyond TIDE_ARGUMENTS_FEW */
  struct tide_op_wait *waits;
  struct tide_wait_node *nodes; /* nodes[i] belongs to waits[i] */
  struct tide_op_signal *signals;
  struct tide_op_use *uses;
  struct tide_op_use **first_uses; /* first_uses[i] belongs to ops[i], if op->uses */
  uint32_t op_capacity, wait_capacity, signal_capacity, use_capacity;
  uint32_t in_flight;       /* leaving operations with a node in flight */
  uint32_t members;         /* collectives that the queue belongs to */
  uint64_t ready_since;     /* the device's pick count when it became ready */
  uint64_t check_index;     /* check mode: the queue's number */
  uint8_t effective, level; /* priority: current; as queued in the arbiter */
  struct tide_priority priority;
  /* Priorities lent by waiting queues, and the queues that this one lends to, each once. */
  uint32_t lent[TIDE_PRIORITY_LEVELS];
  struct tide_link lenders;
  struct tide_lend lends[TIDE_LENDS_MAX];
  struct tide_queue *next_changed; /* in sched->changed */
  bool on_changed;
  struct tide_queue_channel *channel; /* NULL: not a channel */
  struct tide_channel_failure failure;
  bool ready, look, retry_held, closing;
  uint32_t changes; /* atomic, waited on: counts up while `waiters` > 0 */
  uint32_t waiters; /* threads that drain the queue, or wait for capacity; they keep its storage */
  struct tide_wait_node turn[TIDE_WAITS_FEW];
  char label[TIDE_LABEL_SIZE];
};

#define TIDE_CALLS_AWAITED 0x80000000u /* a thread is parked until `calls` is 0 */

struct tide_device {
  struct tide_sched *sched;
  const struct tide_backend *backend; /* `own` */
  struct tide_backend own;
  struct tide_link in_sched;
  struct tide_link queues;
  struct tide_queue *only; /* the ready queue, if it is the only one: in no list then */
  struct tide_link ready[TIDE_PRIORITY_LEVELS];
  struct tide_link ready_by_age;
  uint32_t ready_levels; /* bit i: ready[i] is not empty */
  uint64_t picks;
  uint32_t ready_count;
  uint32_t dry;        /* exchanges that returned less than requested, without a kick since */
  bool exchanging;     /* an exchange is running and takes new ready work: no kick */
  bool kick_due;       /* in sched->kicks */
  uint32_t cancel_due; /* atomic: the backend's `cancel` is due */
  struct tide_device *next_kick;
  uint32_t calls; /* atomic, waited on: kicks in progress without the lock, | TIDE_CALLS_AWAITED */
  enum tide_status lost;
  struct tide_cause *cause; /* of the loss; NULL: none, or no memory */
  bool certified;
  uint32_t queue_count; /* atomic, waited on: queues not yet freed */
  char label[TIDE_LABEL_SIZE];
};

struct tide_sched {
  struct tide_lock *lock; /* the context's, which also guards timelines that operations use */
  uint32_t reporting;     /* atomic, waited on: threads that report findings of check mode */
  bool paused;
  bool prioritised; /* priorities differ, or have differed */
  bool changing;
  struct tide_queue *changed, **last_changed; /* queues whose priority must be recomputed */
  struct tide_context *context;
  struct tide_link devices;
  struct tide_queue *work, **work_end; /* dirty queues */
  struct tide_fired fired;             /* nodes that fired under the lock */
  struct tide_fired host;              /* fired nodes of other owners: run after unlocking */
  struct tide_device *kicks;
  struct tide_queue *gone;      /* queues to free after unlocking */
  struct tide_link collectives; /* collectives with members */
  struct tide_collective *gone_collectives;
  bool calls;                            /* work is due after unlocking */
  struct tide_context_stats stats;       /* the waits are counted below */
  uint64_t waits_of[TIDE_WAIT_HELD + 1]; /* by enum tide_wait_class */
  uint64_t search;                       /* number of the newest deadlock search */
  uint64_t batch;                        /* number of the newest submit_all */
  struct tide_checker *checker;          /* check mode; else NULL */
  void (*finding)(void *user, const struct tide_diag *diag); /* of the context's params */
  void *finding_user;
  /* The frontier that the current operation would start with: the queue's own until something is
   * imported, then the queue's next version, or `scratch` if that might overflow. */
  const struct tide_frontier *known;
  struct tide_frontier *scratch; /* capacity 255 */
  /* Lookup results of the current operation's first waits, valid during its classification. */
  struct tide_pending found[TIDE_WAITS_FEW];
  char apart[TIDE_CACHE_LINE];
  struct tide_delegation *delegated; /* atomic: a posted exchange request; NULL: none */
  char apart_too[TIDE_CACHE_LINE];
};

/* True if the operation may start and its queue waits to be picked. */
static inline bool tide_op_is_ready(const struct tide_op *op) {
  return op->queue->ready && op->queue->ready_op == op;
}

static inline struct tide_op_rare *tide_op_rare(struct tide_op *op) {
  struct tide_op_rare *rare = &op->queue->rare[op - op->queue->ops];
  if (!op->rare) *rare = (struct tide_op_rare){.op = op};
  op->rare = true;
  return rare;
}

/* Returns the label, "" if none. A backend calls this without the lock. So the flag is in the work,
 * which no thread writes meanwhile, and not among the operation's bits. */
extern const char tide_no_label[sizeof(struct tide_op_label)];
static inline const char *tide_op_label(const struct tide_op *op) {
  return op->work.labelled ? op->queue->labels[op - op->queue->ops].text : tide_no_label;
}
#define TIDE_NUMBER_MASK ((UINT64_C(1) << 30) - 1)
/* Returns the full sequence number. The queue's newest is less than 2^30 ahead, since the capacity
 * is smaller. Any number of operations may pass a held one, which therefore stores its own. */
static inline uint64_t tide_op_sequence(const struct tide_op *op) {
  if (op->numbered) return op->queue->rare[op - op->queue->ops].sequence;
  uint64_t newest = op->queue->sequence + 1; /* an operation being submitted has this one already */
  return newest - ((newest - op->work.number) & TIDE_NUMBER_MASK);
}

/* Operations and waits are named by the offset of their end in the queue's storage, in words; 0:
 * none. Such a name becomes an address in one instruction. */
#define TIDE_NAMED_WORD sizeof(uint64_t)
#define TIDE_NAME_OF(array, i) ((uint32_t)(((i) + 1) * (sizeof(array)[0] / TIDE_NAMED_WORD)))
_Static_assert(sizeof(struct tide_op) % TIDE_NAMED_WORD == 0 &&
                   sizeof(struct tide_op_wait) % TIDE_NAMED_WORD == 0,
               "see TIDE_NAME_OF");
static inline struct tide_op *tide_op_named(const struct tide_queue *queue, uint32_t name) {
  return (struct tide_op *)(void *)((uint64_t *)(void *)queue->ops + name) - 1;
}
static inline struct tide_op_wait *tide_wait_named(const struct tide_queue *queue, uint32_t name) {
  return (struct tide_op_wait *)(void *)((uint64_t *)(void *)queue->waits + name) - 1;
}
/* Prefetches the next waits: a wait is shorter than a cache line. */
static inline void tide_waits_fetch(const struct tide_queue *queue, uint32_t name) {
  tide_fetch_lines(tide_wait_named(queue, name), 3);
}
/* Returns the next free operation; NULL if none. */
static inline struct tide_op *tide_queue_free_op(const struct tide_queue *queue) {
  return queue->free_ops ? tide_op_named(queue, queue->free_ops) : NULL;
}
static inline struct tide_op_wait *tide_op_waits(const struct tide_op *op) {
  return op->waits ? tide_wait_named(op->queue, op->waits) : NULL;
}
static inline struct tide_op_wait *tide_wait_next(const struct tide_op *op,
                                                  const struct tide_op_wait *wait) {
  return wait->next ? tide_wait_named(op->queue, wait->next) : NULL;
}
static inline struct tide_op_signal *tide_op_signals(const struct tide_op *op) {
  return op->signals ? &op->queue->signals[op->signals - 1] : NULL;
}
static inline void tide_op_set_signals(struct tide_op *op, const struct tide_op_signal *first) {
  op->signals = first ? (uint32_t)(first - op->queue->signals) + 1 : 0;
}
static inline struct tide_op_use *tide_op_uses(const struct tide_op *op) {
  return op->uses ? op->queue->first_uses[op - op->queue->ops] : NULL;
}

static inline struct tide_wait_node *tide_wait_apart(const struct tide_queue *queue,
                                                     const struct tide_op_wait *wait) {
  return &queue->nodes[wait - queue->waits];
}
/* Returns the node that queued the wait last. */
static inline struct tide_wait_node *tide_wait_node(struct tide_queue *queue,
                                                    const struct tide_op_wait *wait) {
  return wait->apart ? tide_wait_apart(queue, wait) : &queue->turn[wait->place];
}

/* Returns the value of the record that the wait was classified by; 0 if none. Stored as a distance
 * from the wait's value, which is seldom large. */
#define TIDE_BEYOND_NONE UINT16_MAX
#define TIDE_BEYOND_FAR (UINT16_MAX - 1)
static inline uint64_t tide_wait_record(const struct tide_queue *queue,
                                        const struct tide_op_wait *wait) {
  if (wait->beyond < TIDE_BEYOND_FAR) return wait->value + wait->beyond;
  return wait->beyond == TIDE_BEYOND_NONE ? 0 : tide_wait_apart(queue, wait)->record_value;
}
static inline void tide_wait_set_record(const struct tide_queue *queue, struct tide_op_wait *wait,
                                        uint64_t value) {
  uint64_t beyond = value - wait->value; /* a lower value wraps, and counts as far */
  bool far = beyond >= TIDE_BEYOND_FAR;
  wait->beyond = far ? TIDE_BEYOND_FAR : (uint16_t)beyond;
  if (far) tide_wait_apart(queue, wait)->record_value = value;
}
static inline struct tide_op *tide_op_of_link(struct tide_link *link) {
  return TIDE_CONTAINER(link, struct tide_op_rare, link)->op;
}

static inline const struct tide_platform *tide_sched_platform(const struct tide_sched *sched) {
  return sched->context->platform;
}

/* A waiting operation holds its timelines, a signalling one owns them. The scheduler's lock guards
 * these counts; only the first and the last operation touch the timeline's atomic ones. */
static inline void tide_sched_count_in(struct tide_timeline *timeline, uint64_t *operations,
                                       uint32_t *references) {
  if ((*operations)++ > 0) return;
  tide_fetch_add(references, 1u);
  tide_timeline_adopt(timeline);
}
static inline void tide_sched_hold(struct tide_timeline *timeline) {
  tide_sched_count_in(timeline, &timeline->awaiting, &timeline->references);
}
static inline void tide_sched_let_go(struct tide_timeline *timeline) {
  if (--timeline->awaiting == 0 && tide_timeline_let_go_locked(timeline, false))
    tide_timeline_free(timeline);
}
static inline void tide_sched_own(struct tide_timeline *timeline) {
  tide_sched_count_in(timeline, &timeline->signalling, &timeline->owners);
}
/* Drops the last owning reference, which may fail the timeline's waiters (TIDE_CANCELLED). */
void tide_sched_disown_last(struct tide_sched *sched, struct tide_timeline *timeline);
static inline void tide_sched_disown(struct tide_sched *sched, struct tide_timeline *timeline) {
  if (--timeline->signalling == 0 && tide_fetch_sub(&timeline->owners, 1u) == 1)
    tide_sched_disown_last(sched, timeline);
}

/* ---- settle.c ---- */
static inline void tide_sched_enter(struct tide_sched *sched) {
  tide_lock_take(sched->lock, tide_sched_platform(sched));
}
void tide_sched_leave_and_call(struct tide_sched *sched);
/* Drains the fired nodes and the dirty queues. The lock is held.
 *
 * A worklist instead of recursion: a chain of a million operations, each releasing the next, is a
 * loop. Each step sorts only the queues that it has appended: a queue is sorted once per append. */
void tide_sched_settle_more(struct tide_sched *sched);
static inline void tide_sched_settle(struct tide_sched *sched) {
  if (sched->fired.first || sched->work) tide_sched_settle_more(sched);
}
static inline void tide_sched_leave(struct tide_sched *sched) {
  tide_sched_settle(sched);
  if (__builtin_expect(sched->calls, 0)) tide_sched_leave_and_call(sched);
  else tide_lock_give(sched->lock);
}
/* Marks the queue dirty: tide_sched_settle retries its held operations and starts ready ones. */
static inline void tide_sched_look(struct tide_queue *queue) {
  struct tide_sched *sched = queue->sched;
  if (queue->look) return;
  queue->look = true;
  queue->next = NULL;
  *sched->work_end = queue;
  sched->work_end = &queue->next;
}
void tide_sched_emit_traced(struct tide_sched *sched, enum tide_event_kind kind,
                            const struct tide_op *op, struct tide_event *more);
static inline void tide_sched_emit(struct tide_sched *sched, enum tide_event_kind kind,
                                   const struct tide_op *op, struct tide_event *more) {
  if (__builtin_expect(sched->context->sink != NULL, 0))
    tide_sched_emit_traced(sched, kind, op, more);
}

/* Emits the finish of a failed operation, also to a sink for failures only. */
void tide_sched_emit_failure(struct tide_sched *sched, struct tide_op *op);
/* Emits the finish of an operation, also of one that never started. */
static inline void tide_sched_emit_finish(struct tide_sched *sched, struct tide_op *op) {
  if (__builtin_expect(op->status != TIDE_OK, 0)) tide_sched_emit_failure(sched, op);
  else tide_sched_emit(sched, TIDE_EVENT_FINISH, op, NULL);
}

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
  const struct tide_place *place = &queue->places[epoch & queue->ring_mask];
  return (struct tide_frontier *)(void *)(queue->frontiers + place->version.at);
}
/* Returns the record with its own entry. Valid until the next call. */
static inline struct tide_frontier *tide_queue_record(const struct tide_queue *queue,
                                                      uint64_t epoch) {
  struct tide_frontier *record = tide_queue_record_of_others(queue, epoch);
  *tide_frontier_at(record, queue->places[epoch & queue->ring_mask].version.own) = epoch;
  return record;
}

/* ---- elide.c ---- */
enum tide_verdict { TIDE_ENTER_OK, TIDE_ENTER_HELD, TIDE_ENTER_FAILS };
/* Classifies every wait, and sets sched->known to the frontier that the operation would start with.
 * Changes only the waits' own fields, and the frontier's taint if its past has finished. */
enum tide_verdict tide_elide(struct tide_queue *queue, struct tide_op *op);
/* Merges a frontier into `known`, of an operation of this queue. */
void tide_sched_learn(struct tide_queue *queue, const struct tide_frontier *frontier);
/* Checks that the operation raises each timeline that it signals, and is ordered behind the newest
 * signaller. Uses sched->known. TIDE_VALUE, TIDE_UNORDERED. */
enum tide_status tide_signals_check(struct tide_queue *queue, struct tide_op *op,
                                    struct tide_diag *diag);
/* True if (axis, epoch) is known or has finished; *out_reason says which. */
bool tide_signaller_satisfied(struct tide_sched *sched, const struct tide_frontier *known,
                              tide_axis axis, uint64_t epoch, uint8_t *out_reason);

/* ---- delegation.c ---- */
/* Does the posted exchange, if there is one: see delegation.h. */
void tide_delegation_answer(struct tide_sched *sched);
/* tide_sched_enter and tide_sched_leave for a combiner, which does a posted exchange, too. */
static inline void tide_sched_enter_to_answer(struct tide_sched *sched) {
  tide_fetch_to_write(&sched->delegated, 1); /* read before the unlock */
  tide_sched_enter(sched);
}
static inline void tide_sched_answer_and_leave(struct tide_sched *sched) {
  if (__builtin_expect(tide_load_relaxed(&sched->delegated) != NULL, 0))
    tide_delegation_answer(sched);
  tide_sched_leave(sched);
}

/* ---- device.c ---- */
/* Destroys the device's queues that its user left. */
void tide_device_destroy_queues_locked(struct tide_device *device);

/* ---- queue.c ---- */
extern const struct tide_record_source tide_queue_source;
/* Finds the epoch of the progress timeline's record for `value`; false if there is none. */
static inline bool tide_queue_find(struct tide_queue *queue, uint64_t value, uint64_t *out_epoch) {
  uint64_t newest = queue->position.epoch;
  if (value == 0 || value > newest) return false;
  *out_epoch = newest - value > queue->ring_mask ? newest - queue->ring_mask : value;
  return true;
}
void tide_queue_free_storage(struct tide_queue *queue);
/* Frees a destroyed queue once it has no operation, draining thread or collective. */
void tide_queue_close_if_over(struct tide_queue *queue);
/* Removes all held operations; their signals fail with `status`. */
void tide_queue_leave_held(struct tide_queue *queue, enum tide_status status);
/* Cancels an operation that has entered and not started. */
void tide_op_cancel(struct tide_op *op, enum tide_status status);
/* Cancels at the client's request: the channel does not fail. */
void tide_op_withdraw(struct tide_op *op);
/* Fails the signals and points of an entered operation before its end. Waiters are notified now;
 * the epoch finishes and the storage is freed at the usual time. */
void tide_op_fail_early(struct tide_op *op, enum tide_status status);
/* Drops the waits of a failed operation, except those with an import. */
void tide_op_give_up_waits(struct tide_op *op);
/* Wakes draining threads after a change of the held list. */
void tide_queue_destroy_locked(struct tide_queue *queue);
void tide_queue_wake_waiters(struct tide_queue *queue);
/* The held list has changed, or storage of an operation came free. */
static inline void tide_queue_notify_waiters(struct tide_queue *queue) {
  if (__builtin_expect(queue->waiters != 0, 0)) tide_queue_wake_waiters(queue);
}

/* ---- enter.c ---- */
/* Gives the operation its epoch, just after its classification: `known` must be current. */
void tide_op_enter(struct tide_queue *queue, struct tide_op *op);
/* Returns the operation's position in the scheduler's order of entry, which may wrap. Valid before
 * the start: from then on work.status is the body's. */
static inline uint32_t tide_op_turn(const struct tide_op *op) { return (uint32_t)op->work.status; }
/* Adds the queue's frontiers since the last call to the statistics. */
void tide_queue_count_frontiers(struct tide_queue *queue);
/* Classifies due held operations again, up to the first that stays held and may not be passed. */
void tide_queue_retry_held(struct tide_queue *queue);
void tide_op_hold(struct tide_queue *queue, struct tide_op *op);
bool tide_wait_forget(const struct tide_op *op, struct tide_op_wait *wait);
/* Returns the status of a wait of class TIDE_WAIT_FAILED. */
enum tide_status tide_wait_failure(const struct tide_op *op, const struct tide_op_wait *wait);
/* Removes a held operation for good; its signals fail with `status`. */
void tide_op_leave(struct tide_op *op, enum tide_status status);
/* Frees the operation's signals and uses, and notifies its completion. */
void tide_op_free_effects(struct tide_op *op);
static inline void tide_op_free_waits(struct tide_queue *queue, struct tide_op *op) {
  struct tide_op_wait *wait = tide_wait_named(queue, op->waits);
  uint32_t count = 1;
  tide_sched_let_go(wait->timeline);
  for (; wait->next; count++) {
    wait = tide_wait_named(queue, wait->next);
    tide_sched_let_go(wait->timeline);
  }
  wait->next = queue->free_waits;
  queue->free_waits = op->waits;
  queue->free_waits_count += count;
  op->waits = 0;
}
/* Returns the operation's storage to its queue. */
static inline __attribute__((always_inline)) void tide_op_free(struct tide_op *op) {
  struct tide_queue *queue = op->queue;
  if (op->waits) tide_op_free_waits(queue, op);
  if (op->signals || op->uses || op->told) tide_op_free_effects(op);
  if (__builtin_expect(op->status != TIDE_OK, 0)) tide_op_drop_cause(op);
  op->state = TIDE_OP_FREE;
  op->unmet = queue->free_ops;
  queue->free_ops = (uint32_t)((uint64_t *)(void *)(op + 1) - (uint64_t *)(void *)queue->ops);
  queue->free_ops_count++;
  tide_queue_notify_waiters(queue);
}
static inline struct tide_op *tide_queue_op(const struct tide_queue *queue, uint64_t epoch) {
  return queue->places[epoch & queue->ring_mask].op;
}

/* ---- channel_failure.c ---- */
/* True if a held operation of a channel must enter as failed, regardless of its waits: it is
 * preceded only by a failure. */
bool tide_channel_fails_held(const struct tide_op *op);
/* Ends the failure: an operation with TIDE_RECOVER starts, or is skipped in its place. */
void tide_channel_recover(const struct tide_op *op);

/* ---- advance.c ---- */
/* Starts operations in epoch order, as far as they may start. */
void tide_queue_advance(struct tide_queue *queue);
/* Publishes done operations in epoch order. */
void tide_queue_publish(struct tide_queue *queue);
/* Moves next_start beyond the operations that have started. */
void tide_queue_skip_started(struct tide_queue *queue);
/* Does tide_device_exchange with the lock held. */
size_t tide_device_exchange_locked(struct tide_device *device, struct tide_work *const *done,
                                   size_t done_count, struct tide_work **out_work, size_t most,
                                   bool *out_more);
void tide_wait_fire(struct tide_node *node, enum tide_status status);
/* Returns the wait's node, ready to be queued. */
static inline struct tide_node *tide_wait_queue(struct tide_op *op, struct tide_op_wait *wait) {
  wait->apart = op->state == TIDE_OP_HELD || wait->place == TIDE_WAITS_FEW;
  struct tide_wait_node *at = tide_wait_node(op->queue, wait);
  at->op = op;
  at->wait = wait;
  at->node.fire = tide_wait_fire;
  at->node.state = TIDE_NODE_IDLE; /* `found` may have lain there */
  at->node.kind = TIDE_NODE_PLAIN;
  return &at->node;
}
/* Ends the operation, whose body has run or was skipped. It is published once all before it are. */
void tide_op_finish(struct tide_op *op, enum tide_status status);
void tide_finish_fire(struct tide_node *node, enum tide_status status);
/* Handle a fired node, with the lock held. */
void tide_wait_fired(struct tide_node *node);
void tide_finish_fired(struct tide_op *op);

/* ---- changes.c ---- */
void tide_queue_open_priority(struct tide_queue *queue, uint8_t base);
/* Starts priority inheritance between queues. */
void tide_sched_prioritise(struct tide_sched *sched);
/* Lends the queue's priority to exactly the queues that its head operation waits for. */
void tide_queue_lend(struct tide_queue *queue);
/* Ends all lending to and from the queue. */
void tide_queue_end_priority(struct tide_queue *queue);

/* ---- points.c ---- */
enum tide_wait_class tide_point_wait_class(const struct tide_op *op,
                                           const struct tide_op_wait *wait);
/* True if the point has ended; *out_status is the operation's result. */
bool tide_point_wait_over(const struct tide_op *op, const struct tide_op_wait *wait,
                          enum tide_status *out_status);
/* Queues the wait until the point ends, or, for a held operation, until its record exists. */
void tide_point_wait_listen(struct tide_op *op, struct tide_op_wait *wait);
/* Removes the wait from its queue; false if its node is about to fire. */
bool tide_point_wait_forget(const struct tide_op *op, struct tide_op_wait *wait);
/* Notify the operation's points: it has entered; its waits are over and it starts next; it has
 * finished or left; its device is lost; its storage is freed. */
void tide_op_points_entered(struct tide_op *op);
void tide_op_points_turn(struct tide_op *op);
void tide_op_points_done(struct tide_op *op);
void tide_op_points_fail(struct tide_op *op);
void tide_op_points_free(struct tide_op *op);
void tide_cancel_fire(struct tide_node *node, enum tide_status status);
void tide_cancel_fired(struct tide_node *node);

/* ---- submit.c ---- */
/* Checks the arguments, the queue's state and its free capacity. TIDE_OK, or the submit's error. */
enum tide_status tide_queue_has_capacity(struct tide_queue *queue,
                                         const struct tide_operation *operation,
                                         struct tide_diag *diag);
/* Submits a command that changes priorities, with the lock held. */
enum tide_status tide_op_submit_change(struct tide_queue *queue,
                                       const struct tide_operation *operation,
                                       struct tide_change *change, struct tide_diag *diag);
/* Submits one operation, with the lock held. `instance`: of a collective's part, else NULL. */
enum tide_status tide_op_submit_locked(struct tide_queue *queue,
                                       const struct tide_operation *operation,
                                       struct tide_instance *instance, uint64_t *out_sequence,
                                       struct tide_diag *diag);

/* ---- deadlock.c ---- */
/* True if holding this operation (reserved, not yet in the list) would close a cycle. */
bool tide_deadlock_closes(struct tide_queue *queue, struct tide_op *op, struct tide_diag *diag);
/* True if no operation of this full queue can finish without another submit. */
bool tide_deadlock_full(struct tide_queue *queue, struct tide_diag *diag);

#include "sched/checker.h"
#include "sched/collective.h"

#endif
