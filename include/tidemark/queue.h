/* tidemark/queue.h: queues, and which waits remain.
 *
 * The model. A *queue* belongs to a device and is first-in-first-out. An
 * *operation* waits for timeline values, names buffers, has a body, and signals
 * timeline values when it has finished. Submitting copies it; the caller's memory
 * is not referenced afterwards, except what a body's arguments point to.
 *
 * A queue stands at a position: the last epoch that it gave, and the past that the
 * next operation may take for granted. When an operation enters, each of its waits
 * falls into one class:
 *
 *   failed    the awaited record has failed: the operation will fail, at its place
 *   resolved  the value is reached: its record's frontier is imported, no wait remains
 *   elided    a submitted operation will reach it, and this queue's knowledge (with
 *             that of the other waits) already implies it: no wait remains
 *   issued    the wait is real
 *   held      no submitted operation will reach the value: the operation keeps its place
 *             and is classified again when one is submitted
 *
 * An operation has *finished* when its body ended, or was skipped because the operation failed, and
 * then only at its place: after its predecessors, and after the signallers of all records that it
 * imported. Epochs of a queue finish in order; a finished epoch is published to the tracker first,
 * then its signals with their records.
 *
 * Failing. A body that fails fails the operation's signals; operations that wait for those fail
 * with the first cause, without running. Unrelated operations go on, also behind it in its queue;
 * in a channel they do not (channel.h).
 *
 * Memory. All storage of a queue is allocated when it is created: submitting never
 * allocates; it answers TIDE_FULL when the capacity is exhausted.
 *
 * Threads: all functions may be called from any thread. Submits to one queue from several threads
 * are in an unspecified order. One lock guards a context's scheduler. No body, timepoint or backend
 * runs under it; `over` of a body class, a sink and a memory source may, and call nothing of this
 * library.
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

/* A kind of device whose bodies are told to it by a struct, `ops` of a body class. */
enum tide_ops_kind {
  TIDE_OPS_FILE = 1,   /* struct tide_file_ops, file.h */
  TIDE_OPS_CUDA = 2,   /* struct tide_cuda_ops, cuda.h */
  TIDE_OPS_USER = 1024 /* from here on: for backends of the application */
};
/* The first member of each such struct. */
struct tide_body_ops {
  uint32_t kind; /* enum tide_ops_kind */
};

/* A kind of work. A device takes the classes that it can do. Constant; outlives its operations. */
struct tide_body_class {
  const char *name;
  /* Runs on a host thread. `arguments` are the operation's own copy. NULL: not on a host.
   *
   * A body may wait for timelines, but it keeps its worker meanwhile. If the awaited values can
   * only come from operations of the same device, and all workers run such bodies, none of them
   * ends: give the operation the wait instead, or the device one worker more than bodies that wait.
   * tide_context_diagnose names such bodies. */
  enum tide_status (*host)(void *arguments);
  /* For devices that run no host functions; NULL: for none of them. */
  const struct tide_body_ops *ops;
  /* The body waits for nothing. A thread may then take up to sixteen such operations at once, which
   * saves most of the cost of handing one out; each counts as finished once all of them are. A
   * thread that finds them longer than some microseconds takes fewer, down to one, and more again
   * when they are short. It begins with one, and goes by the last body that it ran, of any class.
   * Where short ones come in a stream it lets some come together first, 3 us at most, and then
   * waits for the thread that submits next, 8 us at most, to hand it more: that submit takes
   * longer, by publishing and handing out up to sixteen operations. Neither happens while a thread
   * blocks until a value is reached. A thread takes one at a time of a channel, whose next command
   * runs only if that went well, and where a sink, also one of failures alone, wants times, which
   * would be those of all together. */
  bool non_blocking;
  /* Called once for each operation that was taken, when it is over, however it ended: nothing of it
   * is used any more. Under the scheduler's lock: it takes a note, and calls nothing of this
   * library. NULL: no call. */
  void (*over)(void *arguments);
  /* It does nothing but fail. A simulation, which runs no bodies, lets the operation fail, too. */
  bool fails;
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
  bool external; /* ordered by means that we cannot see: its record teaches nothing */
};

enum tide_access { TIDE_READ = 1, TIDE_WRITE = 2, TIDE_READ_WRITE = 3 };

struct tide_use {
  struct tide_buffer *buffer;
  enum tide_access access;
  uint64_t offset, size; /* which part, for check mode; size 0: all of it */
};

enum tide_operation_flags {
  /* While held, later operations of its queue may enter before it. */
  TIDE_MAY_BE_PASSED = 1,
  /* In a channel (channel.h): a broken point counts as over for this operation, and so does a
   * failed command before it: it runs all the same. */
  TIDE_DESPITE_BROKEN = 2,
  /* In a channel: starts once all before it is over. Then it runs, and so do those behind it,
   * whatever has failed before. */
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
  const struct tide_body_class *body; /* NULL: nothing to run */
  const void *arguments;              /* copied; 16-byte aligned for the body */
  uint32_t arguments_size;
  const struct tide_operation_points *points; /* of a channel's operation: see channel.h; or NULL */
};

/* Fields of an operation, to write one in place:
 *
 *      (struct tide_operation){.body = &add, TIDE_ARGUMENTS(job), TIDE_WAITS({done, 1}),
 *                              TIDE_SIGNALS(TIDE_SIGNAL(done, 2))} */
#define TIDE_SIGNAL(to, reached)                                                                   \
  { .timeline = (to), .value = (reached) }
/* Copies the variable. These macros are C; C++ fills the fields. */
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

/* Why a wait needs no device: the low byte of an event's `detail` is the class, the next byte this.
 */
enum tide_wait_reason {
  TIDE_REASON_NONE,
  TIDE_REASON_KNOWN,    /* the queue's frontier lists the signaller */
  TIDE_REASON_FINISHED, /* the tracker saw the signaller finish */
  TIDE_REASON_SIBLING,  /* another wait of the operation brings it */
  TIDE_REASON_UNKNOWN   /* elision was not possible: the signaller is not known here, or external */
};

/* ---- queues --------------------------------------------------------------------- */

#define TIDE_PRIORITY_LEVELS 16 /* 0 lowest .. 15 highest; 8 is the default */

struct tide_queue_params {
  size_t struct_size;
  const char *label;   /* copied, cut at 31 bytes */
  uint32_t operations; /* capacity; 0: 256 */
  uint32_t waits;      /* capacity over all its operations; 0: 4 × operations */
  uint32_t signals;    /* 0: 2 × operations */
  uint32_t buffers;    /* 0: 4 × operations */
  /* Base priority 1..15; 0: the default, 8 (tide_queue_set_priority also sets 0). Of queues with
   * one priority the one that became ready first goes first; of those that one signal made ready,
   * the one whose operation was submitted first. */
  uint8_t priority;
  /* It is a channel of this client, which outlives the queue's operations or is destroyed before
   * it: see channel.h. NULL: a queue without points. */
  struct tide_client *client;
  uint32_t changes; /* of a channel: changes of priorities under way; 0: 16 */
};

/* NULL params are the defaults. Allocates all that the queue will ever need. TIDE_NOMEM;
 * TIDE_INVALID: a priority above 15, a capacity above 2^26; TIDE_EXHAUSTED: the lease has no
 * axis left; the device's status when it is lost. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_queue_create(struct tide_device *device,
                                                            const struct tide_queue_params *params,
                                                            struct tide_queue **out_queue);
/* Cancels what has not started and returns at once. What runs is cancelled too where the device can
 * (a file device: see file.h): its waiters get TIDE_CANCELLED at once. Elsewhere it runs to its
 * end. Then the axis closes, and the storage goes; a member of a collective is lost to it, see
 * there. Memory that an operation uses stays in use until its end, which tide_device_settle awaits.
 * The handle is gone for the caller. NULL is fine. */
TIDE_API void tide_queue_destroy(struct tide_queue *queue);
/* "" when none was given. Lives as long as the queue. */
TIDE_API const char *tide_queue_label(const struct tide_queue *queue);
/* Of the queue's operations: what frontiers call it by. */
TIDE_API tide_axis tide_queue_axis(const struct tide_queue *queue);
/* Value: the finished epoch. Waiting for it works like any timeline; only the queue signals it.
 * Lives as long as the queue. */
TIDE_API struct tide_timeline *tide_queue_progress(struct tide_queue *queue);
/* What an operation that entered now could take for granted (copied into the caller's frontier),
 * and the last epoch given (NULL is fine). */
TIDE_API void tide_queue_position(struct tide_queue *queue, struct tide_frontier *out_frontier,
                                  uint64_t *out_epoch);

/* Takes an operation. *out_sequence (may be NULL) is its number within the queue, for cancel.
 * - TIDE_SCOPE: a wait or signal beyond its timeline's scope (checked before anything else), or a
 *   buffer of another device's pool; names both
 * - TIDE_INVALID: a rule of arguments: too many of something, a wait >= a signal of its timeline …
 * - TIDE_UNSUPPORTED: the device cannot do this body; or a timeline of points, which are named
 *   instead (tide_operation.points; what can be wrong with those, see channel.h)
 * - TIDE_VALUE: a signal would not go up
 * - TIDE_UNORDERED: a signaller that is not ordered behind the newest pending one; names both
 * - TIDE_DEADLOCK: held operations would wait for each other for ever: each for the very value that
 *   the next is to signal, or for its place in the queue
 * - TIDE_DEADLOCK also: the queue is full of held operations, none of which can enter without
 * another submit
 * - TIDE_FULL: no room now; the progress timeline tells when there is
 * - TIDE_CANCELLED, or the device's status: the queue is being destroyed, the device is lost
 *
 * On any error nothing has changed. A refusal that is only found when a held operation enters makes
 * it fail at its place. Never blocks, never allocates (but for check mode). */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_queue_submit(struct tide_queue *queue,
                                                            const struct tide_operation *operation,
                                                            uint64_t *out_sequence,
                                                            struct tide_diag *diag);
/* The same, but blocks while the answer is TIDE_FULL: until there is capacity, or the deadline
 * (absolute, ns) has passed: TIDE_TIMEOUT. A paused context, or a collective that lacks parts, may
 * keep a queue full for ever. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_queue_submit_wait(struct tide_queue *queue, const struct tide_operation *operation,
                       uint64_t deadline, uint64_t *out_sequence, struct tide_diag *diag);
/* Takes several operations in order. Argument, scope, value and capacity errors refuse all of them;
 * TIDE_UNORDERED and TIDE_DEADLOCK stop at the first such operation. *out_count (may be NULL) is
 * the number of operations taken. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_queue_submit_all(struct tide_queue *queue, const struct tide_operation *operations,
                      size_t count, size_t *out_count, struct tide_diag *diag);
/* An operation that has not started will not run; it fails with TIDE_CANCELLED at its place (a held
 * one leaves at once). One that runs fails likewise, at once towards its waiters, where the device
 * can cancel it: its memory stays in use until its end. TIDE_BUSY: it runs, and the device cannot.
 * TIDE_NOT_FOUND: it has finished, or never was. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_queue_cancel(struct tide_queue *queue,
                                                            uint64_t sequence);
/* Blocks until all that was submitted before has finished. As long as it does, the queue's own
 * decreases of its priority (channel.h) don't count. TIDE_TIMEOUT. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_queue_drain(struct tide_queue *queue,
                                                           uint64_t deadline);
/* Base priority 0..15 (more is taken as 15), at once: for what is ready already, too. A queue whose
 * next operation waits lends what it has to whom that waits for, along the chain (channel.h). */
TIDE_API void tide_queue_set_priority(struct tide_queue *queue, uint8_t priority);

/* As tide_pool_alloc and tide_pool_free, at a queue's position: what its next operation may take
 * for granted. TIDE_SCOPE: the pool is another device's. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_queue_alloc(struct tide_queue *queue,
                                                           struct tide_pool *pool, size_t size,
                                                           const char *label,
                                                           struct tide_buffer **out_buffer);
/* The buffer's handle is gone for the caller; check mode looks whether the free comes too early. */
TIDE_API void tide_queue_free(struct tide_queue *queue, struct tide_buffer *buffer);

/* ---- collectives ------------------------------------------------------------------ */

/* N queues do one thing together: one axis for all of them, one epoch an instance. The parts start
 * when all have arrived; no worker is held meanwhile. The collective's progress timeline reaches n
 * when every part of instance n has finished; its record is one entry, (collective axis, n), where
 * the members' own would be N. */
struct tide_collective;
/* The members are distinct queues of one context, of any devices, at most 4096; `members` is
 * copied.
 *
 * A member is lost when its queue is destroyed (TIDE_CANCELLED) or its device is lost (the device's
 * status). Then nobody can submit to the collective any more. An instance goes on if the lost
 * member's part of it is over, or runs in a queue that was merely destroyed. All others fail with
 * that status: their parts that have not started are cancelled, those that run elsewhere fail at
 * their end, and the progress fails at once from the first such instance on. The axis fails after
 * what goes on, and counts as finished when everything is over: with a lost device that is after
 * tide_device_certify, if parts of it had entered. The others make a new collective of those who
 * are left, at once if they like.
 *
 * Members' queues that are destroyed stay (tide_device_settle waits for them) until the collective
 * was destroyed, or has lost a member, and all its instances are over.
 *
 * TIDE_INVALID, TIDE_NOMEM, TIDE_EXHAUSTED; TIDE_CANCELLED or the device's status for a member that
 * is lost already. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_collective_create(struct tide_queue *const *members, size_t count, const char *label,
                       struct tide_collective **out_collective);
/* Returns at once. Instances for which every part was submitted run on; the others fail with
 * TIDE_CANCELLED, and their parts are cancelled. NULL is fine. */
TIDE_API void tide_collective_destroy(struct tide_collective *collective);
/* Value: the instances that have finished, in order. Only the collective signals it. Lives as long
 * as the collective. */
TIDE_API struct tide_timeline *tide_collective_progress(struct tide_collective *collective);
/* Submits member `member`'s part of its next instance. Every member must submit the same `kind`
 * (any number that describes the operation): disagreement fails the instance with TIDE_MISMATCH.
 * A member was lost: its status, and the diagnosis names it. TIDE_FULL as from tide_queue_submit.
 * TIDE_DEADLOCK: the part would wait for another part of its own instance. (A wait that leads there
 * only through operations that are still held is not seen: that cycle is the caller's to avoid.)
 * *out_instance (may be NULL) is the value that the progress timeline will reach. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_collective_submit(struct tide_collective *collective,
                                                                 size_t member, uint64_t kind,
                                                                 const struct tide_operation *part,
                                                                 uint64_t *out_instance,
                                                                 struct tide_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
