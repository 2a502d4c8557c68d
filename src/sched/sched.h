/* sched/sched.h: the scheduler from inside.
 *
 * One lock guards everything here but what is marked atomic, and with it the
 * timelines that operations use. It is taken before a pool's lock and the tracker's.
 *
 * An operation's life: it is *held* until all of its waits are promised (or one
 * has failed); *entered*, with an epoch, until it may start; *ready* while its
 * queue waits to be picked; *running* while a backend has it; *done* until all
 * before it are done too; then it is published and its storage is free.
 *
 * Nothing is called out under the lock. What became ready is put into three
 * lists, and settled by `tide_sched_settle`: queues to look at again, nodes that
 * fired, and, for after the lock is gone, host waiters and backends to kick. Every
 * entry point is: enter (lock) … leave (settle, unlock, call out). */
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
#include "timeline/timeline.h"

/* What only some operations need is a function apart, so that the others save no registers for it.
 */
#define TIDE_APART __attribute__((noinline))

struct tide_op;
struct tide_checker;
struct tide_instance;
struct tide_collective;
struct tide_queue_channel;
struct tide_change;
struct tide_delegation;

/* A timeline's record for a value that is not reached, as it was found. */
struct tide_pending {
  uint64_t value;
  tide_axis axis;
  uint64_t epoch;
  const struct tide_frontier *frontier; /* NULL: external. The own entry may be of a later epoch */
  struct tide_queue *queue;             /* whose record it is; NULL: no queue's */
};

/* Of so many waits of one operation the scheduler keeps what was found; most have no more. */
#define TIDE_WAITS_FEW 8

enum tide_wait_heap { TIDE_HEAP_NONE, TIDE_HEAP_REACHED, TIDE_HEAP_PROMISED, TIDE_HEAP_POINT };

/* One wait of one operation. There may be millions: it is small, and what only some need is apart.
 */
struct tide_op_wait {
  struct tide_timeline *timeline;
  uint64_t value; /* as asked for */
  tide_axis axis; /* the signaller of the imported record; 0: nothing was imported */
  uint64_t epoch;
  uint32_t next;   /* the operation's next one, or the next free one: see tide_wait_named */
  uint16_t beyond; /* the record's value: see tide_wait_record */
  enum tide_wait_class class_ : 3;
  enum tide_wait_reason reason : 3;
  enum tide_wait_heap heap : 2; /* where the node is */
  unsigned place : 4; /* among the operation's waits, TIDE_WAITS_FEW at most: see elide.c */
  bool open : 1;      /* an issued wait that is over */
  bool finish : 1;    /* it failed after importing: the signaller must have finished */
  bool point : 1;     /* it is for a point: see channel.h */
  bool apart : 1;     /* where its node is: see tide_wait_node */
};
_Static_assert(sizeof(struct tide_op_wait) <= 40, "and it has to stay small");

/* For those that have to be queued; most are over when their turn comes. A queue has one for each
 * of the first waits of the operation whose turn it is, and one for each other wait, which is
 * seldom touched: of operations that are held, or have many waits. */
struct tide_wait_node {
  union {
    struct tide_node node;     /* in the timeline's `reached` or `promised` heap */
    struct tide_pending found; /* of one of many, while they are classified: it is in none then */
  };
  struct tide_op *op;
  struct tide_op_wait *wait;
  uint64_t record_value; /* where it is far beyond the wait's */
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
  bool gap; /* its past was not known at entry: all of it must have finished before the start */
};

enum tide_op_state {
  TIDE_OP_FREE,
  TIDE_OP_HELD,
  TIDE_OP_ENTERED, /* also while its queue is ready with it: tide_op_is_ready */
  TIDE_OP_RUNNING,
  TIDE_OP_DONE
};

/* So many bytes of arguments lie in the operation. */
#define TIDE_ARGUMENTS_FEW (sizeof((struct tide_work *)0)->arguments)

/* All that an operation without failures touches, in one cache line. */
struct tide_op {
  struct tide_work work; /* what a backend sees; work.epoch is 0 until it enters */
  struct tide_queue *queue;
  /* The first ones: see tide_op_waits, tide_op_signals. */
  uint32_t waits, signals;
  uint32_t unmet; /* issued waits that are not open, as far as was looked. Free: the next one */
  enum tide_status status : 8; /* the first cause, TIDE_OK so far */
  enum tide_op_state state : 3;
  unsigned flags : 3;  /* enum tide_operation_flags */
  bool uses : 1;       /* it uses buffers: see tide_op_uses */
  bool part : 1;       /* it is a collective's part */
  bool points : 1;     /* it is a command of points: see channel.h */
  bool asks : 1;       /* … that has something to do or to find out when its turn comes */
  bool told : 1;       /* somebody is told that it is over: points, or its body class */
  bool armed : 1;      /* its issued waits that were not over are queued */
  bool retry : 1;      /* held: classify again when its turn comes */
  bool leaving : 1;    /* a held operation that was cancelled, with a node still in flight */
  bool refused : 1;    /* its signals were refused when it entered: they fail at its place */
  bool arrived : 1;    /* a collective's part that has reached its place */
  bool finishing : 1;  /* it waits for something to finish: see tide_op_rare */
  bool rare : 1;       /* it has its tide_op_rare */
  bool numbered : 1;   /* … and its whole number there: it was held */
  bool withdrawn : 1;  /* its client has cancelled it, before anything else failed it */
  bool stopped : 1;    /* its status is that of a command before it in its channel */
  unsigned unused : 3; /* so that all are set at once */
};
_Static_assert(sizeof(void *) != 8 || sizeof(struct tide_op) == TIDE_CACHE_LINE,
               "what every operation touches lies in one cache line");
_Static_assert(__builtin_offsetof(struct tide_op, work.arguments) % 16 == 0,
               "arguments are aligned for anything");

/* What only some operations need, of ops[i] at i: nothing is in it before it does. */
struct tide_op_rare {
  struct tide_op *op;
  struct tide_instance *instance; /* of a collective's part */
  struct tide_link link;          /* in the queue's held list */
  struct tide_node finish;        /* waits for one (axis, epoch) after another */
  struct tide_op *mark;           /* deadlock search: who led here */
  uint64_t visited;               /* … and in which search */
  uint64_t thread;                /* check mode: who submitted it */
  uint64_t sequence;              /* of one that was held */
  struct tide_cause *cause;       /* of one that has failed; NULL: none was made yet */
};

/* Of ops[i] at i, if it has one. Many have, who need nothing else of the above. */
struct tide_op_label {
  char text[32];
};

/* Of what is known: where that frontier lies, in words, and where it lists the queue's own axis. */
struct tide_version {
  uint32_t at, own;
};

/* What a queue keeps by epoch. The operation is there until it is published; the version for as
 * long as the place is not taken by a later epoch. */
struct tide_place {
  struct tide_op *op;
  struct tide_version version;
};
_Static_assert(sizeof(struct tide_op) + sizeof(struct tide_place) <= 96, "of a pending operation");

/* Whom the operation at the head of a queue waits for, as far as priorities look. What is beyond
 * gets its turn when one of these is over. */
#define TIDE_LENDS_MAX 8
struct tide_lend {
  struct tide_link link; /* in to->lenders */
  struct tide_queue *to; /* NULL: none */
};

#define TIDE_PRIORITY_DEFAULT 8

/* Of a channel: see channel_failure.c. */
struct tide_channel_failure {
  uint64_t epoch;           /* of the failed command: those behind it do not run */
  enum tide_status cause;   /* its status; TIDE_OK: none has failed */
  struct tide_cause *first; /* of the failed command; NULL: none, or no memory */
  enum tide_status refused; /* what is submitted fails with this; TIDE_OK: nothing was refused */
};

struct tide_queue {
  struct tide_sched *sched;
  struct tide_device *device;
  bool in_order;              /* the device's */
  bool heard;                 /* a sink or check mode listens */
  struct tide_link in_device; /* device->queues */
  struct tide_queue *next;    /* to be looked at, or gone */
  struct tide_link in_ready;  /* device->ready[level] */
  struct tide_link in_age;    /* device->ready_by_age */
  struct tide_position position;
  uint64_t taint_epoch; /* where the frontier's taint last arose; 0: it has none */
  struct tide_tracker_axis *tracked;
  struct tide_timeline *progress;
  uint64_t published; /* the finished epoch */
  uint64_t next_start;
  struct tide_op *ready_op; /* what the arbiter would start; valid while `ready` */
  uint64_t sequence;
  uint32_t ring_mask;
  struct tide_place *places; /* of epoch e at e & ring_mask */
  /* Records of several epochs share a frontier as long as nothing was learned in between: they
   * differ in the queue's own entry alone, which tide_queue_record sets. They lie one behind the
   * other, each as long as what it lists needs; behind the newest there is room for a full one. On
   * an in-order device the newest is the position's frontier, too. */
  uint64_t *frontiers;
  size_t frontier_limit, next_frontier; /* behind it there is no room for a full one; the next one's
                                           place */
  struct tide_frontier *newest;         /* the current version */
  uint64_t learned;                     /* the epoch since which it is that */
  struct tide_version version;
  struct tide_frontier *apart; /* the position's frontier where it is not the newest version */
  uint64_t counted;            /* up to this epoch the frontiers are in the statistics */
  bool renew;                  /* the next operation needs a new one */
  struct tide_link held;
  uint32_t held_firm; /* of them, those that may not be passed */
  uint32_t free_ops_count, free_waits_count, free_signals_count, free_uses_count;
  uint32_t free_ops, free_waits; /* the first ones: see tide_op_named, tide_wait_named */
  struct tide_op_signal *free_signals;
  struct tide_op_use *free_uses;
  struct tide_op *ops; /* the storage itself */
  struct tide_op_rare *rare;
  struct tide_op_label *labels;
  unsigned char *arguments; /* of ops[i] at i * TIDE_ARGUMENTS_MAX, when they are many */
  struct tide_op_wait *waits;
  struct tide_wait_node *nodes; /* of waits[i] at i */
  struct tide_op_signal *signals;
  struct tide_op_use *uses;
  struct tide_op_use **first_uses; /* of ops[i] at i, where it uses buffers */
  uint32_t op_capacity, wait_capacity, signal_capacity, use_capacity;
  uint32_t in_flight;       /* leaving operations whose nodes are still to fire */
  uint32_t members;         /* collectives it belongs to */
  uint64_t ready_since;     /* the device's pick count when it became ready */
  uint64_t check_index;     /* check mode: its number */
  uint8_t effective, level; /* priority: as it is, as queued in the arbiter */
  struct tide_priority priority;
  /* What those lend it that wait for it, and to whom it lends itself: none twice. */
  uint32_t lent[TIDE_PRIORITY_LEVELS];
  struct tide_link lenders;
  struct tide_lend lends[TIDE_LENDS_MAX];
  struct tide_queue *next_changed; /* of those whose priority is to be looked at */
  bool on_changed;
  struct tide_queue_channel *channel; /* NULL: it is none */
  struct tide_channel_failure failure;
  bool ready, look, retry_held, closing;
  uint32_t drain_word; /* atomic, waited on: changes with what is held, while somebody drains */
  uint32_t drainers;
  struct tide_wait_node turn[TIDE_WAITS_FEW];
  char label[TIDE_LABEL_SIZE];
};

#define TIDE_CALLS_AWAITED 0x80000000u /* somebody sleeps until `calls` is 0 */

struct tide_device {
  struct tide_sched *sched;
  const struct tide_backend *backend;
  struct tide_link in_sched;
  struct tide_link queues;
  struct tide_queue *only; /* the one queue that is ready: then it is in no list */
  struct tide_link ready[TIDE_PRIORITY_LEVELS];
  struct tide_link ready_by_age;
  uint32_t ready_levels; /* bit i: ready[i] is not empty */
  uint64_t picks;
  uint32_t ready_count;
  uint32_t
      dry; /* exchanges that came back with less than they asked for, and were not kicked since */
  bool exchanging;     /* what becomes ready now may be taken at once */
  bool kick_due;       /* it is in the scheduler's list of kicks */
  uint32_t cancel_due; /* atomic: the backend's `cancel` is to be called */
  struct tide_device *next_kick;
  uint32_t calls; /* atomic, waited on: kicks under way outside of the lock, and the flag below */
  enum tide_status lost;
  struct tide_cause *cause; /* of the loss; NULL: none, or no memory */
  bool certified;
  uint32_t queue_count; /* atomic, waited on: queues that are not gone yet */
  char label[TIDE_LABEL_SIZE];
};

struct tide_sched {
  struct tide_lock *lock; /* the context's: it guards the timelines that operations use, too */
  uint32_t references;    /* atomic: itself, and who reports findings */
  bool paused;
  bool prioritised; /* not all priorities are the same, or were */
  bool changing;
  struct tide_queue *changed, **last_changed; /* queues whose priority is to be looked at */
  const struct tide_context *context;
  struct tide_link devices;
  struct tide_queue *work, **work_end; /* queues to look at */
  struct tide_fired fired;             /* nodes that fired under the lock */
  struct tide_fired host;              /* those that are not ours: run after unlocking */
  struct tide_device *kicks;
  struct tide_queue *gone;      /* to free after unlocking */
  struct tide_link collectives; /* those that have members */
  struct tide_collective *gone_collectives;
  bool calls;                            /* there is something to do after unlocking */
  struct tide_sched_stats stats;         /* the waits are counted below */
  uint64_t waits_of[TIDE_WAIT_HELD + 1]; /* by enum tide_wait_class */
  uint64_t search;                       /* the deadlock search's number */
  uint64_t batch;                        /* submit_all's number */
  struct tide_checker *checker;          /* check mode; else NULL */
  struct tide_sched_params params;
  /* What the operation at hand would know: the queue's own frontier until something is learned,
   * then the queue's next version, or, where that might overflow, the scratch. */
  const struct tide_frontier *known;
  struct tide_frontier *scratch; /* capacity 255 */
  /* What was found of the waits at hand, as long as they are classified. */
  struct tide_pending found[TIDE_WAITS_FEW];
  char apart[TIDE_CACHE_LINE];
  struct tide_delegation *delegated; /* atomic: an exchange that somebody is asked to do */
  char apart_too[TIDE_CACHE_LINE];
};

/* True if nothing stands before the operation, and its queue waits to be picked. */
static inline bool tide_op_is_ready(const struct tide_op *op) {
  return op->queue->ready && op->queue->ready_op == op;
}

static inline struct tide_op_rare *tide_op_rare(struct tide_op *op) {
  struct tide_op_rare *rare = &op->queue->rare[op - op->queue->ops];
  if (!op->rare) *rare = (struct tide_op_rare){.op = op};
  op->rare = true;
  return rare;
}

/* While a backend has the operation, it asks without the lock: so whether there is a label is said
 * in the work, beside which nobody writes, and not among the operation's bits. */
extern const char tide_no_label[sizeof(struct tide_op_label)];
static inline const char *tide_op_label(const struct tide_op *op) {
  return op->work.labelled ? op->queue->labels[op - op->queue->ops].text : tide_no_label;
}
#define TIDE_NUMBER_MASK ((UINT64_C(1) << 30) - 1)
/* The whole number. The queue's newest is less than 2^30 ahead, for so is its capacity, but of one
 * that was held: others may have passed it ever since. */
static inline uint64_t tide_op_sequence(const struct tide_op *op) {
  if (op->numbered) return op->queue->rare[op - op->queue->ops].sequence;
  uint64_t newest = op->queue->sequence + 1; /* one that is being submitted has it already */
  return newest - ((newest - op->work.number) & TIDE_NUMBER_MASK);
}

/* What is free, and what an operation has, is named by where it ends in the queue's storage, in
 * words; 0 is none. So an address takes one instruction. */
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
/* Waits are not as long as a cache line: the next few lie in these. */
static inline void tide_waits_fetch(const struct tide_queue *queue, uint32_t name) {
  tide_fetch_lines(tide_wait_named(queue, name), 3);
}
/* NULL: none. */
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
/* Where it was queued last. */
static inline struct tide_wait_node *tide_wait_node(struct tide_queue *queue,
                                                    const struct tide_op_wait *wait) {
  return wait->apart ? tide_wait_apart(queue, wait) : &queue->turn[wait->place];
}

/* Of the record that a wait's class is about; 0: there is none. It is seldom far beyond the value
 * that was asked for. */
#define TIDE_BEYOND_NONE UINT16_MAX
#define TIDE_BEYOND_FAR (UINT16_MAX - 1)
static inline uint64_t tide_wait_record(const struct tide_queue *queue,
                                        const struct tide_op_wait *wait) {
  if (wait->beyond < TIDE_BEYOND_FAR) return wait->value + wait->beyond;
  return wait->beyond == TIDE_BEYOND_NONE ? 0 : tide_wait_apart(queue, wait)->record_value;
}
static inline void tide_wait_set_record(const struct tide_queue *queue, struct tide_op_wait *wait,
                                        uint64_t value) {
  uint64_t beyond = value - wait->value; /* less than that is far, too */
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

/* Operations that wait for a timeline hold it, and those that are to signal it own it, through
 * counts that the scheduler's lock guards: the atomic ones are only touched for the first and the
 * last of them. */
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
/* The timeline's waiters may fail. */
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
/* Works through what fired and what is to be looked at. The lock is held.
 *
 * A worklist instead of recursion: a chain of a million operations, each letting the next one go,
 * is a loop. Each step sorts what it has put on the list, and not what was there: so every queue is
 * sorted once each time that it is put there. */
void tide_sched_settle_more(struct tide_sched *sched);
static inline void tide_sched_settle(struct tide_sched *sched) {
  if (sched->fired.first || sched->work) tide_sched_settle_more(sched);
}
static inline void tide_sched_leave(struct tide_sched *sched) {
  tide_sched_settle(sched);
  if (__builtin_expect(sched->calls, 0)) tide_sched_leave_and_call(sched);
  else tide_lock_give(sched->lock);
}
static inline void tide_sched_look(struct tide_queue *queue) {
  struct tide_sched *sched = queue->sched;
  if (queue->look) return;
  queue->look = true;
  queue->next = NULL;
  *sched->work_end = queue;
  sched->work_end = &queue->next;
}
void tide_sched_emit_heard(struct tide_sched *sched, enum tide_event_kind kind,
                           const struct tide_op *op, struct tide_event *more);
static inline void tide_sched_emit(struct tide_sched *sched, enum tide_event_kind kind,
                                   const struct tide_op *op, struct tide_event *more) {
  if (__builtin_expect(sched->context->sink != NULL, 0))
    tide_sched_emit_heard(sched, kind, op, more);
}

/* Of one that failed, also to sinks that listen to failures alone. */
void tide_sched_emit_failure(struct tide_sched *sched, struct tide_op *op);
/* The operation is over, also when it never started. */
static inline void tide_sched_emit_finish(struct tide_sched *sched, struct tide_op *op) {
  if (__builtin_expect(op->status != TIDE_OK, 0)) tide_sched_emit_failure(sched, op);
  else tide_sched_emit(sched, TIDE_EVENT_FINISH, op, NULL);
}

/* ---- a queue's frontiers ---- */
/* The records of the newest version are looked at through it, so its own entry may lag behind. */
static inline void tide_queue_own_entry(struct tide_queue *queue) {
  if (queue->in_order)
    *tide_frontier_at(queue->position.frontier, queue->version.own) = queue->position.epoch;
}
/* Where the next version would lie. */
static inline struct tide_frontier *tide_queue_next_frontier(const struct tide_queue *queue) {
  return (struct tide_frontier *)(void *)(queue->frontiers + queue->next_frontier);
}
/* Behind the newest version. */
static inline void tide_queue_next_version(struct tide_queue *queue,
                                           const struct tide_frontier *newest) {
  queue->next_frontier += tide_frontier_kept_words(newest);
  if (queue->next_frontier > queue->frontier_limit) queue->next_frontier = 0;
  /* Its first line is the newest's last. */
  tide_fetch_lines((char *)(queue->frontiers + queue->next_frontier) + TIDE_CACHE_LINE, 2);
}
/* The record of one of the newest ring_mask + 1 epochs, but for its own entry. */
static inline struct tide_frontier *tide_queue_record_of_others(const struct tide_queue *queue,
                                                                uint64_t epoch) {
  const struct tide_place *place = &queue->places[epoch & queue->ring_mask];
  return (struct tide_frontier *)(void *)(queue->frontiers + place->version.at);
}
/* The whole record. Valid until the next such call. */
static inline struct tide_frontier *tide_queue_record(const struct tide_queue *queue,
                                                      uint64_t epoch) {
  struct tide_frontier *record = tide_queue_record_of_others(queue, epoch);
  *tide_frontier_at(record, queue->places[epoch & queue->ring_mask].version.own) = epoch;
  return record;
}

/* ---- elide.c ---- */
enum tide_verdict { TIDE_ENTER_OK, TIDE_ENTER_HELD, TIDE_ENTER_FAILS };
/* Classifies every wait. sched->known becomes what the operation would know at its start. Changes
 * nothing but the waits' own fields. */
enum tide_verdict tide_elide(struct tide_queue *queue, struct tide_op *op);
/* Merges into `known`, of an operation of this queue. */
void tide_sched_learn(struct tide_queue *queue, const struct tide_frontier *frontier);
/* Is the operation ordered behind the newest signaller of each timeline that it signals? Uses
 * sched->known. */
enum tide_status tide_signals_check(struct tide_queue *queue, struct tide_op *op,
                                    struct tide_diag *diag);
bool tide_signaller_satisfied(struct tide_sched *sched, const struct tide_frontier *known,
                              tide_axis axis, uint64_t epoch, uint8_t *out_reason);

/* ---- delegation.c ---- */
void tide_delegation_answer(struct tide_sched *sched);
/* The same as tide_sched_enter and leave, of somebody who does what exchange was asked for. */
static inline void tide_sched_enter_to_answer(struct tide_sched *sched) {
  tide_fetch_to_write(&sched->delegated, 1); /* it is looked at in the end */
  tide_sched_enter(sched);
}
static inline void tide_sched_answer_and_leave(struct tide_sched *sched) {
  if (__builtin_expect(tide_load_relaxed(&sched->delegated) != NULL, 0))
    tide_delegation_answer(sched);
  tide_sched_leave(sched);
}

/* ---- device.c ---- */
void tide_sched_unref(struct tide_sched *sched);

/* ---- queue.c ---- */
extern const struct tide_record_source tide_queue_source;
/* The record of the progress timeline for `value`; false when there is none. */
static inline bool tide_queue_find(struct tide_queue *queue, uint64_t value, uint64_t *out_epoch) {
  uint64_t newest = queue->position.epoch;
  if (value == 0 || value > newest) return false;
  *out_epoch = newest - value > queue->ring_mask ? newest - queue->ring_mask : value;
  return true;
}
void tide_queue_free_storage(struct tide_queue *queue);
/* Frees a destroyed queue once nothing of it is under way. */
void tide_queue_close_if_over(struct tide_queue *queue);
/* What is held leaves. */
void tide_queue_leave_held(struct tide_queue *queue, enum tide_status status);
/* An entered operation that has not started will not run. */
void tide_op_cancel(struct tide_op *op, enum tide_status status);
/* Cancels at the client's request: the channel does not fail. */
void tide_op_withdraw(struct tide_op *op);
/* Fails the signals and points of an operation that entered, ahead of its end: its waiters hear of
 * it now; it counts as finished, and its memory as free, no earlier than otherwise. */
void tide_op_fail_early(struct tide_op *op, enum tide_status status);
/* It has failed: it waits on only for what it imported. */
void tide_op_give_up_waits(struct tide_op *op);
/* What is held has changed: whoever drains looks again. */
void tide_queue_drain_changed(struct tide_queue *queue);

/* ---- enter.c ---- */
/* Gives the operation its epoch. Classified just now: `known` and the waits are fresh. */
void tide_op_enter(struct tide_queue *queue, struct tide_op *op);
/* When it entered, among all of the scheduler's, as long as it has not started: from then on the
 * status is the body's. It may wrap. */
static inline uint32_t tide_op_turn(const struct tide_op *op) { return (uint32_t)op->work.status; }
/* Brings what is known of the queue's frontiers into the statistics. */
void tide_queue_count_frontiers(struct tide_queue *queue);
void tide_queue_retry_held(struct tide_queue *queue);
void tide_op_hold(struct tide_queue *queue, struct tide_op *op);
bool tide_wait_forget(const struct tide_op *op, struct tide_op_wait *wait);
/* Why a wait of class failed has. */
enum tide_status tide_wait_failure(const struct tide_op *op, const struct tide_op_wait *wait);
/* Takes a held operation out for good; its signals fail with `status`. */
void tide_op_leave(struct tide_op *op, enum tide_status status);
/* Gives the operation's storage back. */
/* Of its signals and uses; and tells that it is over. */
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
static inline __attribute__((always_inline)) void tide_op_free(struct tide_op *op) {
  struct tide_queue *queue = op->queue;
  if (op->waits) tide_op_free_waits(queue, op);
  if (op->signals || op->uses || op->told) tide_op_free_effects(op);
  if (__builtin_expect(op->status != TIDE_OK, 0)) tide_op_drop_cause(op);
  op->state = TIDE_OP_FREE;
  op->unmet = queue->free_ops;
  queue->free_ops = (uint32_t)((uint64_t *)(void *)(op + 1) - (uint64_t *)(void *)queue->ops);
  queue->free_ops_count++;
}
static inline struct tide_op *tide_queue_op(const struct tide_queue *queue, uint64_t epoch) {
  return queue->places[epoch & queue->ring_mask].op;
}

/* ---- channel_failure.c ---- */
/* True if a held operation of a channel must enter as failed, whatever it waits for: nothing but a
 * failure is before it. */
bool tide_channel_fails_held(const struct tide_op *op);
/* Ends the failure: an operation with TIDE_RECOVER starts, or is skipped in its place. */
void tide_channel_recover(const struct tide_op *op);

/* ---- advance.c ---- */
/* Starts what may start, publishes what may be published. */
void tide_queue_advance(struct tide_queue *queue);
void tide_queue_publish(struct tide_queue *queue);
void tide_queue_skip_started(struct tide_queue *queue);
/* tide_device_exchange, with the lock held. */
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
/* Ends the operation: its body has run, or was skipped. It is published once all before it are. */
void tide_op_finish(struct tide_op *op, enum tide_status status);
void tide_finish_fire(struct tide_node *node, enum tide_status status);
/* The same, with the lock held. */
void tide_wait_fired(struct tide_node *node);
void tide_finish_fired(struct tide_op *op);

/* ---- changes.c ---- */
void tide_queue_open_priority(struct tide_queue *queue, uint8_t base);
/* From here on queues lend each other their priority. */
void tide_sched_prioritise(struct tide_sched *sched);
/* Lends to whom the queue waits for, and no more to others. */
void tide_queue_lend(struct tide_queue *queue);
/* It is over: nobody lends it anything any more. */
void tide_queue_end_priority(struct tide_queue *queue);

/* ---- points.c ---- */
enum tide_wait_class tide_point_wait_class(const struct tide_op *op,
                                           const struct tide_op_wait *wait);
/* True: the point has ended; *out_status is what that means for the operation. */
bool tide_point_wait_over(const struct tide_op *op, const struct tide_op_wait *wait,
                          enum tide_status *out_status);
/* Its node fires when the point has ended; of a held operation also when its record is there. */
void tide_point_wait_listen(struct tide_op *op, struct tide_op_wait *wait);
/* False: it is on its way to fire. */
bool tide_point_wait_forget(const struct tide_op *op, struct tide_op_wait *wait);
/* It has entered; its turn has come, with all its waits over; it has finished, or left; its device
 * is lost; its storage is free. */
void tide_op_points_entered(struct tide_op *op);
void tide_op_points_turn(struct tide_op *op);
void tide_op_points_done(struct tide_op *op);
void tide_op_points_fail(struct tide_op *op);
void tide_op_points_free(struct tide_op *op);
void tide_cancel_fire(struct tide_node *node, enum tide_status status);
void tide_cancel_fired(struct tide_node *node);

/* ---- submit.c ---- */
/* TIDE_OK: a submit would find room now, and a queue that takes operations. */
enum tide_status tide_queue_has_room(struct tide_queue *queue,
                                     const struct tide_operation *operation,
                                     struct tide_diag *diag);
/* As below, of a command that changes priorities. */
enum tide_status tide_op_submit_change(struct tide_queue *queue,
                                       const struct tide_operation *operation,
                                       struct tide_change *change, struct tide_diag *diag);
enum tide_status tide_op_submit_locked(struct tide_queue *queue,
                                       const struct tide_operation *operation,
                                       struct tide_instance *instance, uint64_t *out_sequence,
                                       struct tide_diag *diag);

/* ---- deadlock.c ---- */
/* Would holding this operation (reserved, not yet in the list) close a cycle? */
bool tide_deadlock_closes(struct tide_queue *queue, struct tide_op *op, struct tide_diag *diag);
/* Can nothing of this full queue finish without another submit? */
bool tide_deadlock_full(struct tide_queue *queue, struct tide_diag *diag);

#include "sched/checker.h"
#include "sched/collective.h"

#endif
