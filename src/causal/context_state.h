/* causal/context_state.h: the private struct of a context.
 *
 * Every layer reads the first part. `sched` and the owned objects belong to later layers, which set
 * them: sched/context.c makes and destroys contexts. */
#ifndef TIDE_CAUSAL_CONTEXT_STATE_H
#define TIDE_CAUSAL_CONTEXT_STATE_H

#include "base/atomic.h"
#include "base/list.h"
#include "base/lock.h"
#include "tidemark/context.h"

struct tide_deferred;
struct tide_blocked_bodies;
struct tide_descriptors;
struct tide_sched;

/* The order in which a context destroys objects that its user left: a kind refers to later ones. */
enum tide_owned_kind {
  TIDE_OWNED_CLUSTER,
  TIDE_OWNED_CREW,
  TIDE_OWNED_DESCRIPTORS,
  TIDE_OWNED_MEDIUM,
  TIDE_OWNED_POINTS,
  TIDE_OWNED_WAIT_SET,
  TIDE_OWNED_POOL,
  TIDE_OWNED_MEMORY_SOURCE,
  TIDE_OWNED_NOTIFIER,
  TIDE_OWNED_TIMELINE,
  TIDE_OWNED_KINDS
};

/* The part of an object by which its context finds it. */
struct tide_owned {
  struct tide_link link;
  uint8_t kind; /* enum tide_owned_kind */
  bool is_owned;
};

struct tide_owned_ops {
  /* Ends waits for the object with TIDE_CANCELLED and destroys nothing, so that threads and bodies
   * that wait go on while all objects still exist. NULL: no thread waits for such an object. */
  void (*end)(struct tide_owned *owned);
  /* Keeps the object's memory over `end` (`keep`, then `let_go`), since a body may release it
   * meanwhile. NULL: no body does. */
  void (*keep)(struct tide_owned *owned);
  void (*let_go)(struct tide_owned *owned);
  void (*destroy)(struct tide_owned *owned);
};

struct tide_context {
  const struct tide_platform *platform;
  const struct tide_allocator *allocator;
  const struct tide_sink *sink;     /* the sink of all events; NULL: none */
  const struct tide_sink *failures; /* the sink, if it wants failures only; else NULL */
  struct tide_tracker *tracker;
  struct tide_lease *lease;
  uint8_t frontier_capacity;      /* the capacity of the frontiers of queues, records and buffers */
  struct tide_deferred *deferred; /* callbacks in order */
  struct tide_lock *sched_lock;   /* the scheduler's, and of every timeline that it uses */
  struct tide_sched *sched;       /* set by sched/context.c */
  const struct tide_sink *check;  /* check mode listens to host signals and waits */
  uint64_t numbers;               /* atomic: the number of the newest object */
  /* Called once a waiter has queued for a value, without a lock. Atomic; NULL: no listener. Set by
   * sched, which has devices report no more ends than waiters need. */
  void (*hear_waiter)(struct tide_context *context);
  uint32_t waiting; /* atomic, waited on: threads that block until a value is reached */
  bool has_failed;  /* atomic: an operation has failed, or a timeline that something refers to */
  uint32_t lenders; /* atomic: devices that lend works to workers */
  struct tide_blocked_bodies *blocked;  /* bodies that block until a value is reached */
  struct tide_descriptors *descriptors; /* atomic; NULL: none was used. Of device/descriptor.c */
  struct tide_lock owned_lock;
  /* struct tide_owned, in the order of creation. `ended`: those whose `end` has begun. */
  struct tide_link owned[TIDE_OWNED_KINDS], ended[TIDE_OWNED_KINDS];
  const struct tide_owned_ops *owned_ops[TIDE_OWNED_KINDS];
  struct tide_lease own_lease;
};

/* Events for check mode alone. `object`: the timeline or the buffer; `value`: the buffer's serial
 * number. MADE: a timeline, perhaps at the address of a former one. BUFFER_READY, BUFFER_IDLE: the
 * host has been told so. BUFFER_FREED: by the host; `detail`: held operations name it. */
#define TIDE_EVENT_MADE ((enum tide_event_kind)100)
#define TIDE_EVENT_BUFFER_READY ((enum tide_event_kind)101)
#define TIDE_EVENT_BUFFER_IDLE ((enum tide_event_kind)102)
#define TIDE_EVENT_BUFFER_FREED ((enum tide_event_kind)103)

/* Returns the number of a new object: from 1, in the order of creation, over all kinds. */
static inline uint64_t tide_context_number(struct tide_context *context) {
  return tide_fetch_add(&context->numbers, 1u) + 1;
}

/* Tells the scheduler that a waiter has queued. Without a lock; the waiter may be gone. */
static inline void tide_context_announce_waiter(struct tide_context *context) {
  void (*hear)(struct tide_context *) = tide_load_relaxed(&context->hear_waiter);
  if (__builtin_expect(hear != NULL, 0)) hear(context);
}

/* Allocates a context and fills the parts that need no scheduler. TIDE_NOMEM; TIDE_INVALID: no
 * default platform or allocator exists here. */
enum tide_status tide_context_allocate(const struct tide_context_params *params,
                                       struct tide_context **out_context);
/* Frees a context that has no objects left. */
void tide_context_free(struct tide_context *context);

/* Makes the context the owner of an object, which it destroys if the user leaves it. */
void tide_context_own(struct tide_context *context, enum tide_owned_kind kind,
                      struct tide_owned *owned, const struct tide_owned_ops *ops);
/* Ends the ownership of an object that is being destroyed. Does nothing for an object that is not
 * owned. */
void tide_context_disown(struct tide_context *context, struct tide_owned *owned);
/* Calls `end` of each object of a kind that has not ended, also of objects created meanwhile. True
 * if there was one. */
bool tide_context_end_owned(struct tide_context *context, enum tide_owned_kind kind);
/* Destroys the objects of a kind, the oldest first: most allocators then join what they get back,
 * and return memory to the system once instead of with each object. */
void tide_context_destroy_owned(struct tide_context *context, enum tide_owned_kind kind);

#endif
