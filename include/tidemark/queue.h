/* tidemark/queue.h: queues, operations, and the classes of their waits.
 *
 * The model. A *queue* belongs to a device and is first-in-first-out. An *operation* waits for
 * timeline values, names buffers, has a body, and signals timeline values when it has finished. A
 * submit copies the operation. Afterwards the library references no memory of the caller, except
 * the memory that a body's arguments point to. A signal's *record* (timeline.h) has the frontier of
 * its operation.
 *
 * A queue has a position: the epoch that it assigned last, and the frontier of its next operation,
 * which lists the past that it may rely on. When an operation enters, each of its waits falls into
 * one class:
 *
 *   failed    the awaited record has failed: the operation will fail, in queue order
 *   resolved  the value is reached: its record's frontier is imported, no wait remains
 *   elided    a submitted operation will reach the value, and the queue's frontier (with those
 *             of the other waits) already implies it: no wait remains
 *   issued    the wait remains
 *   held      no submitted operation will reach the value: the operation keeps its turn in the
 *             queue and is classified again when such an operation is submitted
 *
 * An operation has *finished* when its body ended, or was skipped because the operation failed, and
 * all of these have finished: its predecessors in the queue, and the signallers of all records
 * whose frontiers it imported. So the epochs of a queue finish in order, and an operation that
 * fails does so *in queue order*, too. A finished epoch is published to the tracker first, then its
 * signals with their records.
 *
 * Failures. If a body fails, the signals of its operation fail. Operations that wait for those fail
 * with the first cause, without running. Unrelated operations go on, also behind the failed one in
 * its queue; in a channel they do not (channel.h).
 *
 * Memory. If its params give a capacity, a queue's storage is allocated when it is created, and a
 * submit returns TIDE_FULL when the capacity is exhausted. A queue of the default capacity is
 * created with room for 15 operations: the first submit beyond that allocates the rest, once, or
 * returns TIDE_NOMEM. A channel has all of its storage from the start. Submits also allocate the
 * history of a timeline that they will signal (timeline.h). Nothing else allocates.
 *
 * Threads: any thread may call every function. Submits to one queue from several threads have an
 * unspecified order. One lock guards a context's scheduler. Bodies, timepoints and backends run
 * without it. `over` of a body class, a sink and a memory source may run under it, and must not
 * call the library.
 *
 * Source: "Causal Dependency Tracking with Vector Clock Frontiers".
 */
#ifndef TIDEMARK_QUEUE_H
#define TIDEMARK_QUEUE_H

#include "tidemark/device.h"
#include "tidemark/memory.h"
#include "tidemark/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tide_queue;
struct tide_client;           /* point.h */
struct tide_operation_points; /* channel.h */

/* ---- bodies ---------------------------------------------------------------- */

/* The kinds of device-specific body descriptions: the struct behind `ops` of a body class. */
enum tide_ops_kind {
  TIDE_OPS_FILE = 1,   /* struct tide_file_ops, file.h */
  TIDE_OPS_CUDA = 2,   /* struct tide_cuda_ops, cuda.h */
  TIDE_OPS_VULKAN = 3, /* struct tide_vulkan_ops, vulkan.h */
  TIDE_OPS_USER = 1024 /* first value for backends of the application */
};
/* The first member of each such struct. */
struct tide_body_ops {
  uint32_t kind; /* enum tide_ops_kind */
};

/* A kind of work. A device accepts the classes that it supports. Constant; outlives its
 * operations. */
struct tide_body_class {
  const char *name;
  /* Runs on a host thread. `arguments` are the operation's own copy. NULL: no host function.
   *
   * A body may wait for timelines, but occupies its worker meanwhile. Suppose that only operations
   * of the same device signal the awaited values, and that all workers run such bodies: then none
   * of them ends. Give the operation the wait instead, or give the device one worker more than
   * bodies that wait. tide_context_diagnose names such bodies. */
  enum tide_status (*host)(void *arguments);
  /* The description for devices that run no host functions; NULL: none. */
  const struct tide_body_ops *ops;
  /* The body never waits. A thread may then take up to sixteen such operations at once, which saves
   * most of the cost of handing one out. None of them counts as finished before all of them are.
   *
   * The number adapts. A thread starts with one, and judges by the last body that it ran, of any
   * class: bodies longer than some microseconds reduce the number, down to one; short ones raise it
   * again. When short operations arrive in a stream, the thread lets some accumulate first, for 3
   * us at most. It then waits for the next submit, for 8 us at most. That submit does extra work
   * for it: it publishes the finished operations, and hands it up to sixteen new ones. Neither
   * delay happens while a thread blocks until a value is reached.
   *
   * A thread takes operations one at a time from a channel, where the next command runs only if the
   * one before succeeded. It also does so when a sink, even one of failures alone, wants times: all
   * operations of a batch would have the same time. */
  bool non_blocking;
  /* Called once for each accepted operation, when it is over, with any outcome: nothing of the
   * operation is used any more. Runs under the scheduler's lock, so it calls no function of this
   * library. NULL: no call. */
  void (*over)(void *arguments);
  /* The body may wait in ways that the scheduler cannot see: for a page, in a loop. A device that
   * runs ahead gets it only when it may start. */
  bool waits_inside;
  /* The body only fails. A simulation, which runs no bodies, then fails the operation too. */
  bool fails;
  /* The body does nothing. A program (program.h) submits its operations to a cpu device without a
   * body: they end as soon as their waits are over, and wake no worker. */
  bool empty;
};

#define TIDE_ARGUMENTS_MAX 192 /* bytes of arguments that an operation copies */

/* ---- operations -------------------------------------------------------------- */

struct tide_wait {
  struct tide_timeline *timeline;
  uint64_t value;
};

struct tide_signal {
  struct tide_timeline *timeline;
  uint64_t value;
  bool external; /* ordered by means invisible to the library: the record has no frontier */
};

enum tide_access { TIDE_READ = 1, TIDE_WRITE = 2, TIDE_READ_WRITE = 3 };

struct tide_use {
  struct tide_buffer *buffer;
  enum tide_access access;
  uint64_t offset, size; /* the part that is used, for check mode; size 0: the whole buffer */
};

enum tide_operation_flags {
  /* While the operation is held, later operations of its queue may enter before it. */
  TIDE_MAY_BE_PASSED = 1,
  /* Channels only (channel.h): for this operation's waits a broken point counts as ended, and the
   * operation runs even if a command before it has failed. */
  TIDE_DESPITE_BROKEN = 2,
  /* Channels only: the operation starts once all commands before it are over. That operation and
     those behind it then run, even if one before it has failed. */
  TIDE_RECOVER = 4
};

/* 32 bits suffice for counts and sizes: a queue holds at most 2^26 of each. */
struct tide_operation {
  const char *label; /* copied, cut at 31 bytes; may be NULL */
  uint32_t flags;
  uint32_t wait_count;
  const struct tide_wait *waits;
  const struct tide_signal *signals;
  const struct tide_use *buffers;
  uint32_t signal_count;
  uint32_t buffer_count;
  const struct tide_body_class *body; /* NULL: no body */
  const void *arguments;              /* copied; 16-byte aligned for the body */
  uint32_t arguments_size;
  const struct tide_operation_points
      *points; /* commands of a channel only, see channel.h; NULL: none */
};

/* Fields of an operation, to write one in place:
 *
 *      (struct tide_operation){.body = &add, TIDE_ARGUMENTS(job), TIDE_WAITS({done, 1}),
 *                              TIDE_SIGNALS(TIDE_SIGNAL(done, 2))} */
#define TIDE_SIGNAL(to, reached)                                                                   \
  { .timeline = (to), .value = (reached) }
/* Points `arguments` at the variable; the submit copies it. These macros are C only; C++ sets the
 * fields. */
#define TIDE_ARGUMENTS(variable) .arguments = &(variable), .arguments_size = sizeof(variable)
#define TIDE_WAITS(...)                                                                            \
  .waits = (const struct tide_wait[]){__VA_ARGS__},                                                \
  .wait_count = sizeof((const struct tide_wait[]){__VA_ARGS__}) / sizeof(struct tide_wait)
#define TIDE_SIGNALS(...)                                                                          \
  .signals = (const struct tide_signal[]){__VA_ARGS__},                                            \
  .signal_count = sizeof((const struct tide_signal[]){__VA_ARGS__}) / sizeof(struct tide_signal)
#define TIDE_USES(...)                                                                             \
  .buffers = (const struct tide_use[]){__VA_ARGS__},                                               \
  .buffer_count = sizeof((const struct tide_use[]){__VA_ARGS__}) / sizeof(struct tide_use)

enum tide_wait_class {
  TIDE_WAIT_FAILED,
  TIDE_WAIT_RESOLVED,
  TIDE_WAIT_ELIDED,
  TIDE_WAIT_ISSUED,
  TIDE_WAIT_HELD
};

/* The reason why a wait was elided or not. An event's `detail` has the class in its low byte, and
 * this in the next byte. */
enum tide_wait_reason {
  TIDE_REASON_NONE,
  TIDE_REASON_KNOWN,    /* the queue's frontier lists the signaller */
  TIDE_REASON_FINISHED, /* the tracker saw the signaller finish */
  TIDE_REASON_SIBLING,  /* another wait of the operation implies it */
  TIDE_REASON_UNKNOWN   /* not elided: the queue does not know the signaller, or the record is
                           external */
};

/* ---- queues --------------------------------------------------------------------- */

#define TIDE_PRIORITY_LEVELS 16 /* 0 lowest .. 15 highest; 8 is the default */

struct tide_queue_params {
  size_t struct_size;
  const char *label;   /* copied, cut at 31 bytes */
  uint32_t operations; /* capacity; 0: 256, of which most are allocated when needed, see above */
  uint32_t waits;      /* capacity over all operations of the queue; 0: 4 × operations */
  uint32_t signals;    /* 0: 2 × operations */
  uint32_t buffers;    /* 0: 4 × operations */
  /* Base priority 1..15; 0: the default, 8 (tide_queue_set_priority also sets 0). Of queues with
   * the same priority, the one that became ready first is served first. Of queues that one signal
   * made ready, the one with the earliest submitted operation is. */
  uint8_t priority;
  /* Makes the queue a channel of this client, see channel.h. The client outlives the queue's
   * operations, or is destroyed before the queue. NULL: a queue without points. */
  struct tide_client *client;
  uint32_t changes; /* channels only: concurrent changes of priorities; 0: 16 */
  /* Devices that run ahead only (backend.h): 1 + the index of the hardware queue; 0: the one with
   * the fewest queues. */
  uint32_t hardware_queue;
};

/* Creates a queue. NULL params select the defaults. TIDE_NOMEM; TIDE_INVALID: struct_size is
 * missing, a priority above 15, a capacity above 2^26; TIDE_EXHAUSTED: the lease has no axis left;
 * or the device's status when it is lost. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_queue_create(struct tide_device *device,
                                                            const struct tide_queue_params *params,
                                                            struct tide_queue **out_queue);
/* Cancels the operations that have not started, and returns at once. Running ones are cancelled too
 * if the device can do that (a file device: see file.h): their waiters get TIDE_CANCELLED at once.
 * Other devices run them to their end. Then the axis closes, and the storage is freed. A collective
 * loses this member: see tide_collective_create. Memory that an operation uses stays in use until
 * its end, which tide_device_settle awaits. The handle is invalid at once. NULL is fine. */
TIDE_API void tide_queue_destroy(struct tide_queue *queue);
/* Returns the label, or the name instead (context.h). Lives as long as the queue. */
TIDE_API const char *tide_queue_label(const struct tide_queue *queue);
/* Returns the axis of the queue's operations, as frontiers list it. */
TIDE_API tide_axis tide_queue_axis(const struct tide_queue *queue);
/* Returns the timeline of the finished epoch. Waits for it work as for any timeline; only the queue
 * signals it. Lives as long as the queue. */
TIDE_API struct tide_timeline *tide_queue_progress(struct tide_queue *queue);
/* Copies the past that an operation entering now could rely on into the caller's frontier.
 * *out_epoch (may be NULL) is the epoch that was assigned last. */
TIDE_API void tide_queue_position(struct tide_queue *queue, struct tide_frontier *out_frontier,
                                  uint64_t *out_epoch);

/* Submits an operation. *out_sequence (may be NULL) is its number within the queue, for
 * tide_queue_cancel.
 * - TIDE_SCOPE: a wait or signal beyond its timeline's scope (checked first), or a buffer of
 *   another device's pool; the diag names both
 * - TIDE_INVALID: an argument breaks a rule: too many waits, signals or buffers, a wait >= a signal
 *   of its timeline …
 * - TIDE_UNSUPPORTED: the device does not support this body; or the timeline is one of points,
 *   which an operation names as points (tide_operation.points; channel.h has their errors)
 * - TIDE_VALUE: a signal would not increase its timeline
 * - TIDE_UNORDERED: the operation is not ordered after the newest pending signaller of a timeline;
 *   the diag names both
 * - TIDE_DEADLOCK: operations would wait for each other in a cycle: each for a value that the next
 *   is to signal, for a lower value that the next must signal first, for its predecessor in the
 *   queue, for the other parts of its collective, or for memory
 * - TIDE_DEADLOCK also: the queue is full of held operations, none of which can enter without
 *   another submit
 * - TIDE_FULL: the capacity is exhausted; the progress timeline advances when entries become free
 * - TIDE_NOMEM: a queue of the default capacity cannot allocate its storage
 * - TIDE_CANCELLED, or the device's status: the queue is being destroyed, the device is lost
 *
 * On any error nothing has changed. An error that is only found when a held operation enters fails
 * that operation, in queue order. Progress, failures and cancellations refuse no submit that is in
 * order and would be accepted while nothing runs. Exceptions: TIDE_FULL, memory, a lost device,
 * waits for the epoch of a cancelled held operation, which goes to a later one, and failures that a
 * full frontier or a destroyed queue has forgotten. So behind an operation that has failed before
 * it knew the past of the values that it awaits, a signal that is out of order fails its operation
 * (TIDE_VALUE, TIDE_UNORDERED) instead of refusing the submit.
 *
 * Never blocks, never allocates (except in check mode, and for capacity and history: see Memory
 * above). */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_queue_submit(struct tide_queue *queue,
                                                            const struct tide_operation *operation,
                                                            uint64_t *out_sequence,
                                                            struct tide_diag *diag);
/* Submits like tide_queue_submit, but blocks while the queue is full, until the deadline:
 * TIDE_TIMEOUT. A paused context, or a collective that lacks parts, may keep a queue full for
 * ever. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_queue_submit_wait(struct tide_queue *queue, const struct tide_operation *operation,
                       uint64_t deadline, uint64_t *out_sequence, struct tide_diag *diag);
/* Submits several operations in order. Argument, scope, value and capacity errors refuse all of
 * them, but for value errors that fail their operation alone, as above; TIDE_UNORDERED,
 * TIDE_DEADLOCK and a value error behind a forgotten failure stop at the first such operation.
 * *out_count (may be NULL) is the number of accepted operations. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_queue_submit_all(struct tide_queue *queue, const struct tide_operation *operations,
                      size_t count, size_t *out_count, struct tide_diag *diag);
/* Cancels an operation. If it has not started it will not run, and fails with TIDE_CANCELLED in
 * queue order (a held one at once). If it runs and the device can cancel it, its waiters get
 * TIDE_CANCELLED at once; its memory stays in use until its end. TIDE_BUSY: it runs, and the device
 * cannot cancel it; TIDE_NOT_FOUND: it has finished, or never existed.
 *
 * The epoch that a held operation would have had goes to the next one. A wait for the queue's
 * progress can then come to depend on itself: its operation fails with TIDE_DEADLOCK, at its place.
 */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_queue_cancel(struct tide_queue *queue,
                                                            uint64_t sequence);
/* Blocks until all operations that were submitted before have finished. Meanwhile the queue's own
 * decreases of its priority (channel.h) are suspended. TIDE_TIMEOUT. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_queue_drain(struct tide_queue *queue,
                                                           uint64_t deadline);
/* Sets the base priority, 0..15 (clamped to 15), at once, also for operations that are ready
 * already. While a queue's next operation waits, the queue lends its priority along the chain of
 * waits (channel.h). */
TIDE_API void tide_queue_set_priority(struct tide_queue *queue, uint8_t priority);

/* Allocates like tide_pool_alloc, at the queue's position: the past that its next operation may
 * rely on. TIDE_SCOPE: the pool is another device's. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_queue_alloc(struct tide_queue *queue,
                                                           struct tide_pool *pool, size_t size,
                                                           const char *label,
                                                           struct tide_buffer **out_buffer);
/* Frees like tide_pool_free, at the queue's position. The handle is invalid at once. Check mode
 * reports a free that comes too early. */
TIDE_API void tide_queue_free(struct tide_queue *queue, struct tide_buffer *buffer);

/* ---- collectives ------------------------------------------------------------------ */

/* N queues do one thing together: one axis for all of them, one epoch per instance. The parts start
 * when all have arrived; no worker is held meanwhile. The collective's progress timeline reaches n
 * when every part of instance n has finished. Its record is a single entry, (collective axis, n),
 * which stands for the members' epochs up to their parts: an operation that knows it waits for none
 * of them, and may have memory that they used.
 *
 * Parts in crossed orders would wait for one another for ever, and so would a part for memory that
 * another part of its instance uses. The submit that closes such a cycle is refused
 * (TIDE_DEADLOCK), and a pool hands out no memory behind an instance to a queue that still owes a
 * part of it.
 *
 * One part that fails or is cancelled fails its instance at once: no other has to wait for it. */
struct tide_collective;
/* Creates a collective. The members are distinct queues of one context, of any devices, at most
 * 4096. `members` is copied.
 *
 * A member is lost when its queue is destroyed (TIDE_CANCELLED) or its device is lost (the device's
 * status). From then on no part can be submitted. An instance goes on if the lost member's part of
 * it is over, or runs in a queue that was merely destroyed. All other instances fail with that
 * status: parts that have not started are cancelled, parts that run on other members fail at their
 * end, and the progress timeline fails at once from the first such instance on.
 *
 * The axis fails after the instances that go on, and counts as finished when everything is over.
 * With a lost device that is after tide_device_certify, if parts of it had entered. The remaining
 * members can form a new collective, at once if they like.
 *
 * Destroyed queues of members stay (tide_device_settle waits for them) until two conditions hold:
 * the collective was destroyed, or has lost a member; and all its instances are over.
 *
 * TIDE_INVALID; TIDE_NOMEM; TIDE_EXHAUSTED; TIDE_CANCELLED or the device's status: a member is lost
 * already. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_collective_create(struct tide_queue *const *members, size_t count, const char *label,
                       struct tide_collective **out_collective);
/* Destroys the collective, and returns at once. Instances with all parts submitted run on. The
 * others fail with TIDE_CANCELLED, and their parts are cancelled. NULL is fine. */
TIDE_API void tide_collective_destroy(struct tide_collective *collective);
/* Returns the timeline of the finished instances, which finish in order. Only the collective
 * signals it. Lives as long as the collective. */
TIDE_API struct tide_timeline *tide_collective_progress(struct tide_collective *collective);
/* Submits member `member`'s part of its next instance. *out_instance (may be NULL) is the value
 * that the progress timeline will reach.
 * - TIDE_MISMATCH, as the status of the instance: the members submitted different `kind`s (any
 *   number that describes the operation)
 * - the status of a lost member, which the diag names
 * - TIDE_FULL: as from tide_queue_submit
 * - TIDE_DEADLOCK: the part would wait for itself, by way of operations, other collectives or
 *   memory; the diag names the cycle */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_collective_submit(struct tide_collective *collective,
                                                                 size_t member, uint64_t kind,
                                                                 const struct tide_operation *part,
                                                                 uint64_t *out_instance,
                                                                 struct tide_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
