/* timeline/value_ops.h: the table that a backing of a timeline implements.
 *
 * The model. A timeline has one set of calls, wherever its value lives. It is *opened on a
 * backing*, which brings the values. Waits, wait-sets, timepoints, descriptors and operations know
 * the timeline alone. The host ring is the default, and in line: it has no ops. Each call of the
 * core asks the table through one early branch (`is_backed`), and an entry that is NULL leaves the
 * answer to the host ring.
 *
 * |                 | host ring  | progress    | future       | semaphore   | mirror    |
 * |-----------------|------------|-------------|--------------|-------------|-----------|
 * | reached records | ring's     | its queue's | ring's       | external    | ring's    |
 * | promised by     | operations | its queue   | promiser     | nothing     | its home  |
 * | not promised    | blocks     | blocks      | NOT_FOUND    | blocks      | blocks    |
 * | signals, fails  | all        | its queue   | promiser     | VkSemaphore | its home  |
 * | others get      |            | SCOPE       | SCOPE        | DENIED      | DENIED    |
 * | a failure takes | all above  | all above   | that value   | all above   | all above |
 * | last release    | fails it   | nothing     | nothing      | fails it    | fails it  |
 * | scope           | as created | process     | process      | process     | system    |
 * | operations only | as created | yes         | no           | no          | no        |
 * | operations wait | yes        | yes         | by the point | yes         | yes       |
 * | followed        | in system  | a queue's   | no           | no          | no        |
 *
 * Progress is a queue's or a collective's (sched/). Futures and compounds (point/) promise values
 * that end one by one (timeline/pending_value.h). A semaphore is one of Vulkan's that was imported
 * (device/vulkan_semaphore.c). A mirror's value lives in another process (timeline/mirror.h). A
 * descriptor is no backing: it signals a host ring once, as a host does, beside others.
 *
 * Foreign values are *mirrored*: a state from elsewhere is checked without a lock, then taken in
 * under the guard. So the scheduler reads this process' memory alone.
 *
 * Locks and wakes. `free` is called after the last reference has gone, all other entries under the
 * guard. A backing raises or fails its timeline under the guard, appends the due nodes to a struct
 * tide_fired, and runs them later, on a thread that holds no lock. A backing that ends before its
 * timeline takes itself off (tide_timeline_leave_backing); `find` must expect NULL. */
#ifndef TIDE_TIMELINE_VALUE_OPS_H
#define TIDE_TIMELINE_VALUE_OPS_H

#include "base/text.h"
#include "tidemark/causal.h"

struct tide_command;
struct tide_node;
struct tide_timeline;

/* A record as a reader sees it. */
struct tide_record_view {
  uint64_t value;
  tide_axis axis; /* 0: external */
  uint64_t epoch;
  const struct tide_frontier *frontier; /* NULL: external; valid under the guard */
  bool reached, coarse;
};

enum tide_await { TIDE_AWAIT_QUEUED, TIDE_AWAIT_REACHED, TIDE_AWAIT_FAILED };

struct tide_value_ops {
  const char *kind; /* names a progress timeline without a label */

  /* ---- records ---- */

  /* Finds the record that stands for `value`, reached or pending: the lowest that is known at or
   * above it. False: none. NULL: the ring has the reached ones, operations the pending ones. */
  bool (*find)(void *backing, uint64_t value, struct tide_record_view *out_view);

  /* ---- values that have a state each: all three, or none ---- */

  /* Returns the state of a value. Failed: *out_status is the reason. */
  enum tide_await (*look)(const struct tide_timeline *timeline, uint64_t value,
                          enum tide_status *out_status);
  /* Queues the node, to be fired when the value has ended, unless it has: returns the state. */
  enum tide_await (*await)(struct tide_timeline *timeline, uint64_t value, struct tide_node *node);
  /* Takes the node off. True: it will not fire. */
  bool (*forget)(struct tide_timeline *timeline, struct tide_node *node);

  /* ---- waiters ---- */

  /* Notes that a waiter was queued; not called without a backing. NULL: the values arrive unasked.
   */
  void (*awaited)(void *backing);
  /* Describes the origin of a value that is not reached, as "; …". `name` names a command. */
  void (*describe)(struct tide_text *text, const struct tide_timeline *timeline, uint64_t value,
                   void (*name)(struct tide_text *text, const struct tide_command *command));

  /* ---- rights ---- */

  enum tide_status denied; /* the status of a signal by a host, or by an operation */
  const char *signaller;   /* the only signaller, for messages: "its home" */
  /* An operation that names the timeline is refused with TIDE_UNSUPPORTED and these words. NULL: it
   * may wait for a value. */
  const char *instead;
  bool is_followable;    /* a session may publish it: its changes and promises are noted */
  bool fails_on_release; /* its unreached values, by the last owner's release */
  /* The values come from outside of this context. Their signallers may have finished before the
   * values arrive here, and no search among this context's operations tells whether they come. */
  bool is_foreign;

  /* Frees the backing, with the timeline; NULL: the owner of the backing does. */
  void (*free)(void *backing);
};

#endif
