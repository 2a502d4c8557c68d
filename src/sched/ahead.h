/* sched/ahead.h: devices that run ahead: the waits that they keep, and their submissions.
 *
 * An operation of such a device is given before it may start, if the device can keep all waits that
 * remain. Backends see the submissions of a hardware queue numbered from 1. Here the numbers go on
 * from `base`, so that a slot of a group serves several devices in turn.
 *
 * `seen` of a hardware queue lists, for each hardware queue of its group, the submissions that are
 * over before the next submission starts, with their writes visible to it. A wait is needed only
 * for a later one. Waits gate all that is behind them on the hardware queue, so `seen` holds for
 * every later submission, too.
 *
 * A native wait also brings all that the awaited submission had seen. A dependency that the host
 * has seen end brings nothing: it drops the wait, never the visibility of writes. After such a one
 * a submission waits for all that is over, on each hardware queue of the group. These waits are
 * reached; they order memory.
 *
 * All of it is guarded by the scheduler's lock. */
#ifndef TIDE_SCHED_AHEAD_H
#define TIDE_SCHED_AHEAD_H

#include "sched/ready.h"
#include "tidemark/backend.h"

struct tide_op;
struct tide_op_wait;
struct tide_queue;
struct tide_sched;

struct tide_hardware_queue {
  struct tide_device *device;
  uint32_t index, slot; /* index in the device, slot in the group */
  uint32_t queue_count;
  uint32_t busy;              /* submissions that are given or out, and not over */
  uint64_t base;              /* the number before the first one */
  uint64_t given;             /* the newest number */
  uint64_t listening;         /* the last result of tide_device_awaited; 0: none */
  uint64_t over;              /* all up to this number are over */
  uint64_t reported;          /* the backend has reported these ends */
  uint64_t inside;            /* the oldest submission that may wait inside; <= over: none */
  uint64_t release, released; /* lost: all up to these are to be, were, released */
  struct tide_link out;       /* struct tide_out that are not over, by number */
  struct tide_ready ready;
  uint64_t seen[TIDE_HARDWARE_QUEUES_MAX]; /* by slot */
};

/* Devices that can wait for each other's submissions. */
struct tide_device_group {
  struct tide_link link; /* entry of sched->groups */
  const void *name;      /* the backends' `group`; NULL: of one device */
  uint32_t devices;
  uint64_t numbers[TIDE_HARDWARE_QUEUES_MAX]; /* newest number of a device that is closed */
  struct tide_hardware_queue *queues[TIDE_HARDWARE_QUEUES_MAX];
};

/* A device's part: freed with the device. */
struct tide_ahead_device {
  struct tide_device_group *group;
  uint32_t count, turn; /* turn: the hardware queue to look at first */
  struct tide_hardware_queue queues[];
};

/* A submission, from the give until its operation is published. */
struct tide_out {
  struct tide_link link; /* entry of the hardware queue's `out` */
  struct tide_op *op;
  uint64_t number;
  bool barrier, is_out;
  bool failed;                              /* when it went out; else a failure makes it vain */
  uint64_t waits[TIDE_HARDWARE_QUEUES_MAX]; /* by slot; 0: none */
  uint64_t seen[TIDE_HARDWARE_QUEUES_MAX];  /* by slot: over before this submission starts */
};

/* A queue's part. */
struct tide_ahead {
  struct tide_queue *queue;
  struct tide_hardware_queue *hardware;
  uint32_t window;       /* the backend's `ahead` */
  struct tide_out *outs; /* an epoch has outs[epoch % window] */
  uint64_t newest;       /* the queue's newest submission; 0: none */
  bool skipped; /* an operation was skipped since: the host has settled all that it imported */
  /* Entry of another queue's `waiters`: until that submits an operation. */
  struct tide_link waiting;
  struct tide_link waiters;
};

/* Makes the device's part; nothing for a backend without `ahead`. TIDE_NOMEM; TIDE_FULL: the group
 * has too many hardware queues. */
enum tide_status tide_ahead_open_device(struct tide_device *device);
/* Takes the hardware queues from their group. No submission waits for them. With the lock held. */
void tide_ahead_leave_group(struct tide_device *device);
void tide_ahead_free_device(struct tide_device *device);
/* Makes the queue's part, likewise. TIDE_NOMEM. `hardware_queue`: 1 + its index; 0: the one with
 * the fewest queues. */
enum tide_status tide_ahead_open_queue(struct tide_queue *queue, uint32_t hardware_queue);
void tide_ahead_free_queue(struct tide_queue *queue);
/* Takes a queue that is about to be freed from the lists of others. */
void tide_ahead_close_queue(struct tide_queue *queue);

/* Returns the queue to pick next, of those for which there is room; NULL: none. */
struct tide_queue *tide_ahead_next(const struct tide_device *device);
/* True if there is room for another submission. */
bool tide_hardware_has_room(const struct tide_hardware_queue *hardware);
/* Has the backend listen for the end of half of a full window: the hardware queue's if a queue is
 * ready behind it, or the queue's own if it has more operations. */
void tide_ahead_await_room(const struct tide_queue *queue);
/* True if the operation would hold back other queues on its hardware queue: it waits there for
 * another one. */
bool tide_ahead_holds_others_back(struct tide_op *op);
/* True if the next operation of a queue may go out now. Else the event that it waits for marks the
 * queue dirty. An operation that has failed goes when it may be skipped. */
bool tide_ahead_may_go(struct tide_op *op);
/* True if the wait will go out with the operation, once its signaller is out. */
bool tide_ahead_awaits_submit(const struct tide_op *op, const struct tide_op_wait *wait);
/* Assigns the operation's submission and its waits. */
void tide_ahead_give(struct tide_op *op);
/* Handles a given operation that the backend returns: out, or refused. */
void tide_ahead_commit(struct tide_op *op, enum tide_status status);
/* True if all that the operation waited for is published; it has failed if some of that has. Else
 * the event marks the queue dirty. */
bool tide_ahead_may_publish(struct tide_op *op);
/* True if the operation has a submission: else it is skipped. */
bool tide_ahead_was_given(const struct tide_op *op);
/* Ends the operation's submission, when it is published. */
void tide_ahead_published(struct tide_op *op);
/* A lost device is certified: all submissions of the queue have ended. */
void tide_ahead_end_submissions(struct tide_queue *queue);
/* Wakes the backends that must listen for an earlier end than they do. */
void tide_ahead_listen(struct tide_sched *sched);
/* This thread will run callbacks, which may be slow: if it has reported an end, another one is to
 * listen for the next. */
void tide_ahead_listen_elsewhere(struct tide_sched *sched);
/* Calls the backend's `release` as far as it is due. Without the lock. */
void tide_ahead_call_release(struct tide_device *device);

#endif
