/* sched/operation.h: an operation, its waits, signals and buffer uses. */
#ifndef TIDE_SCHED_OPERATION_H
#define TIDE_SCHED_OPERATION_H

#include "base/list.h"
#include "base/tree.h"
#include "memory/pool.h"
#include "tidemark/backend.h"
#include "timeline/timeline_state.h"

struct tide_op;
struct tide_instance;

/* A snapshot of a timeline's record for a value that is not reached yet. */
struct tide_pending {
  uint64_t value;
  tide_axis axis;
  uint64_t epoch;
  const struct tide_frontier *frontier; /* NULL: external. Its own entry may be of a later epoch */
  struct tide_queue *queue;             /* the record's owner; NULL: not a queue */
};

/* The scheduler stores the lookup results of this many waits of an operation; few have more. */
#define TIDE_WAITS_FEW 8

enum tide_wait_heap { TIDE_HEAP_NONE, TIDE_HEAP_REACHED, TIDE_HEAP_PROMISED, TIDE_HEAP_POINT };

/* A wait of an operation. Millions may exist, so rarely used fields are in tide_wait_node. */
struct tide_op_wait {
  struct tide_timeline *timeline;
  uint64_t value; /* as submitted */
  tide_axis axis; /* the signaller of the imported record; 0: nothing was imported */
  uint64_t epoch;
  int32_t next;    /* distance of the operation's next wait, or the next free one, in words */
  uint16_t beyond; /* encodes the record's value: see tide_wait_record */
  enum tide_wait_class class_ : 3;
  enum tide_wait_reason reason : 3;
  enum tide_wait_heap heap : 2; /* the heap that contains the node */
  unsigned index : 4;           /* index in the operation, TIDE_WAITS_FEW at most: see elide.c */
  bool open : 1;                /* issued, and resolved since */
  bool finish : 1;              /* failed after its import: the signaller must still finish */
  bool point : 1;               /* waits for a point: see channel_state.h */
  bool apart : 1;               /* selects the node: see tide_wait_node */
};
_Static_assert(sizeof(struct tide_op_wait) <= 40, "millions of waits may exist");

/* Queues one wait. Most waits are resolved before the operation's start and need no node. A queue
 * has one node for each of the first TIDE_WAITS_FEW waits of its next operation. Each wait also has
 * a node of its own, used while the operation is held, or if it has more waits. */
struct tide_wait_node {
  union {
    struct tide_node node;     /* entry of the timeline's `reached` or `promised` heap */
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
  TIDE_OP_RUNNING, /* a backend has it; on a device that runs ahead: given */
  TIDE_OP_OUT,     /* on a device that runs ahead: submitted */
  TIDE_OP_DONE
};

/* Arguments up to this size are stored in the operation. */
#define TIDE_ARGUMENTS_FEW (sizeof((struct tide_work *)0)->arguments)

/* Everything that a successful operation touches, in one cache line. */
struct tide_op {
  struct tide_work work; /* the backend's view; work.epoch is 0 before entry */
  struct tide_queue *queue;
  /* Distances of the first wait and signal, in words; 0: none. */
  uint32_t waits, signals;
  uint32_t unmet; /* issued or queued waits not yet seen open; in free storage: the next free one */
  enum tide_status status : 8; /* the first failure; TIDE_OK: none yet */
  enum tide_op_state state : 3;
  unsigned flags : 3;  /* enum tide_operation_flags */
  bool uses : 1;       /* uses buffers: see tide_op_uses */
  bool part : 1;       /* part of a collective */
  bool points : 1;     /* command of points: see channel_state.h */
  bool asks : 1;       /* has an action at its start: points, TIDE_RECOVER */
  bool told : 1;       /* completion is notified: to points, or the body class */
  bool armed : 1;      /* unresolved waits are queued */
  bool retry : 1;      /* held, and due to be classified again: see tide_op_rare */
  bool leaving : 1;    /* held and cancelled; a node may be in flight */
  bool refused : 1;    /* failed at entry: its signals are not promised, and fail at publication */
  bool arrived : 1;    /* a collective's part that may start */
  bool finishing : 1;  /* the finish node is queued: see tide_op_rare */
  bool rare : 1;       /* the tide_op_rare is initialised */
  bool numbered : 1;   /* tide_op_rare has its full number: it was held */
  bool withdrawn : 1;  /* cancelled by its client before any other failure */
  bool stopped : 1;    /* status inherited from an earlier command of the channel */
  bool cyclic : 1;     /* refused at entry, since it would wait for itself */
  bool foreign : 1;    /* a mirror's record is elided: perhaps it is not settled here */
  unsigned unused : 1; /* completes the word: one store sets all flags */
};
_Static_assert(sizeof(void *) != 8 || sizeof(struct tide_op) == TIDE_CACHE_LINE,
               "an operation fills one cache line");
_Static_assert(__builtin_offsetof(struct tide_op, work.arguments) % 16 == 0,
               "arguments are aligned for anything");

/* Fields that few operations need. rare[i] belongs to ops[i]; undefined until op->rare is set. */
struct tide_op_rare {
  struct tide_op *op;
  struct tide_instance *instance; /* the instance of a collective's part */
  struct tide_link link;          /* entry of the queue's held list */
  struct tide_tree_node due;      /* entry of the queue's due operations; if op->retry */
  struct tide_finish_wait finish; /* queued for one (axis, epoch) at a time */
  struct tide_op *mark;           /* searches: the next on the stack */
  struct tide_op *from;           /* dependency walk: the operation that depends on this one */
  uint64_t visited;               /* searches: number of the last visit */
  unsigned from_kind;             /* dependency walk: enum tide_dependency */
  bool starts;                    /* dependency walk: it has to start, not only to arrive */
  uint64_t thread;                /* check mode: the submitting thread */
  uint64_t sequence;              /* full number of a held operation */
  struct tide_cause *cause;       /* cause of the failure; NULL: not created yet */
};

/* labels[i] belongs to ops[i]. Labelled operations seldom need a tide_op_rare, too. */
struct tide_op_label {
  char text[TIDE_LABEL_SIZE];
};

#endif
