/* Leaves the scheduler: drains its worklists, unlocks, calls out. Emits its events. */
#include "base/body_frame.h"
#include "sched/sched.h"
#include "timeline/pending_value.h"

static void fire_node(struct tide_sched *sched, struct tide_node *node) {
  if (node->fire == tide_wait_fire) {
    tide_wait_fired(node);
  } else if (node->fire == tide_finish_fire) {
    tide_finish_fired(TIDE_CONTAINER(node, struct tide_op_rare, finish.node)->op);
  } else if (node->fire == tide_cancel_fire) {
    tide_cancel_fired(node);
  } else {
    tide_fired_move(&sched->host, node);
    sched->calls = true;
  }
}

/* Removes the first dirty queue from the list, and advances it. */
static void settle_one(struct tide_sched *sched) {
  struct tide_queue *queue = sched->work;
  sched->work = queue->next;
  if (!sched->work) sched->work_end = &sched->work;
  queue->look = false;
  if (queue->retry_held) tide_queue_retry_held(queue);
  tide_queue_advance(queue);
  if (__builtin_expect(sched->prioritised, 0)) tide_queue_lend(queue);
  if (queue->closing) tide_queue_close_if_over(queue);
}

/* ---- order of the queues that one step releases --------------------------------------------- */

/* Returns the operation that the queue may start next; NULL if none can start now. */
static const struct tide_op *next_startable(const struct tide_queue *queue) {
  if (queue->ready || queue->next_start > queue->position.epoch) return NULL;
  if (queue->serial && queue->published + 1 != queue->next_start) return NULL;
  const struct tide_op *op = tide_queue_op(queue, queue->next_start);
  return op && op->state == TIDE_OP_ENTERED ? op : NULL;
}

/* Notes when the queue's next operation entered, for comes_after. */
static void note_entry(struct tide_queue *queue) {
  const struct tide_op *next = next_startable(queue);
  queue->startable = next != NULL;
  if (next) queue->entered = tide_op_turn(next);
}

/* True if the next operation of `a` entered after that of `b`. Queues without one go first. */
static bool comes_after(const struct tide_queue *a, const struct tide_queue *b) {
  if (!a->startable || !b->startable) return a->startable;
  return (int32_t)(a->entered - b->entered) > 0;
}

static struct tide_queue *merge_queues(struct tide_queue *a, struct tide_queue *b) {
  struct tide_queue *first = NULL, **end = &first;
  while (a && b) {
    struct tide_queue **least = comes_after(a, b) ? &b : &a;
    *end = *least;
    end = &(*least)->next;
    *least = *end;
  }
  *end = a ? a : b;
  return first;
}

/* Sorts the dirty queues behind `from` by the entry of their next operations. Nodes fire in the
 * order in which they were queued, but operations submitted first must start first. A merge sort:
 * runs[i] holds 2^i queues. */
TIDE_APART static void sort_work(struct tide_sched *sched, struct tide_queue **from) {
  struct tide_queue *runs[64] = {NULL}, *sorted = NULL;
  unsigned most = 0;
  for (struct tide_queue *queue = *from, *rest; queue; queue = rest) {
    unsigned i = 0;
    rest = queue->next;
    queue->next = NULL;
    note_entry(queue);
    for (; runs[i]; runs[i++] = NULL) queue = merge_queues(runs[i], queue);
    runs[i] = queue;
    if (i > most) most = i;
  }
  for (unsigned i = 0; i <= most; i++)
    if (runs[i]) sorted = merge_queues(runs[i], sorted);
  *from = sorted;
  while (*from) from = &(*from)->next;
  sched->work_end = from;
}

void tide_sched_look_at_all(struct tide_sched *sched) {
  for (struct tide_link *d = sched->devices.next; d != &sched->devices; d = d->next) {
    struct tide_link *queues = &TIDE_CONTAINER(d, struct tide_device, in_sched)->queues;
    for (struct tide_link *q = queues->next; q != queues; q = q->next)
      tide_sched_look(TIDE_CONTAINER(q, struct tide_queue, in_device));
  }
  if (sched->work) sort_work(sched, &sched->work);
}

/* Fires pending nodes and appends the affected queues in entry order. `from`: the list's end before
 * that. */
static void fire_all(struct tide_sched *sched, struct tide_queue **from) {
  bool several = sched->fired.first && sched->fired.first->next;
  while (sched->fired.first) fire_node(sched, tide_fired_pop(&sched->fired));
  if (several && *from && (*from)->next) sort_work(sched, from);
}

void tide_sched_settle_more(struct tide_sched *sched) {
  struct tide_queue **from = &sched->work;
  for (;;) {
    if (sched->fired.first) fire_all(sched, from);
    if (!sched->work) return;
    from = sched->work->next ? sched->work_end : &sched->work; /* once the first is removed */
    settle_one(sched);
  }
}

static void free_queue(struct tide_queue *queue) {
  const struct tide_platform *platform = tide_sched_platform(queue->sched);
  uint32_t *count = &queue->device->users;
  tide_queue_free_storage(queue);
  tide_fetch_sub(count, 1u); /* the last touch: from here on the device may be destroyed */
  platform->wake(platform->self, count, UINT32_MAX);
}

#define KICKS_AT_ONCE 16

/* Removes devices from the list of kicks, still under the lock: after the unlock another thread may
 * list a device again. */
static size_t take_kicks(struct tide_sched *sched, struct tide_device **out_devices) {
  size_t count = 0;
  while (sched->kicks && count < KICKS_AT_ONCE) {
    struct tide_device *device = sched->kicks;
    sched->kicks = device->next_kick;
    device->kick_due = false;
    tide_fetch_add(&device->calls, 1u);
    out_devices[count++] = device;
  }
  return count;
}

/* Calls the backend. A device is listed once for both calls: a cancellation comes with a kick. */
static void call_backend(struct tide_device *device) {
  const struct tide_backend *backend = device->backend;
  if (tide_load_relaxed(&device->cancel_due) && tide_exchange(&device->cancel_due, 0u))
    backend->cancel(backend->self);
  if (device->ahead) tide_ahead_call_release(device);
  if (backend->kick) backend->kick(backend->self);
}

static void kick_device(const struct tide_platform *platform, struct tide_device *device) {
  uint32_t *calls = &device->calls;
  call_backend(device);
  /* The last touch: once `calls` is 0 the device may be gone. */
  if (tide_fetch_sub(calls, 1u) & TIDE_CALLS_AWAITED)
    platform->wake(platform->self, calls, UINT32_MAX);
}

/* Unlocks, then calls out. After the unlock another thread may destroy the scheduler, unless a kick
 * in progress, or a queue or collective that is not freed yet, keeps it. */
void tide_sched_leave_and_call(struct tide_sched *sched) {
  const struct tide_platform *platform = tide_sched_platform(sched);
  struct tide_device *devices[KICKS_AT_ONCE];
  struct tide_fired host = sched->host;
  struct tide_body_frame *frame = host.first ? tide_body_frame() : NULL;
  if (frame) frame->helper = NULL; /* a callback may be slow, or wait for what the kicks start */
  if (host.first) tide_fired_init(&sched->host);
  if (sched->listen) tide_ahead_listen(sched);
  if (host.first) tide_ahead_listen_elsewhere(sched);
  size_t kicks = take_kicks(sched, devices);
  bool again = sched->kicks != NULL;
  struct tide_queue *gone = sched->gone;
  struct tide_collective *collectives = sched->gone_collectives;
  bool check = sched->checker != NULL;
  struct tide_context *context = sched->context;
  sched->gone = NULL;
  sched->gone_end = &sched->gone;
  sched->gone_collectives = NULL;
  sched->calls = again;
  if (check) tide_fetch_add(&sched->reporting, 1u);
  tide_lock_give(sched->lock);
  if (check) {
    tide_check_report(sched);
    /* The last touch: then the scheduler may be gone. */
    if (tide_fetch_sub(&sched->reporting, 1u) == 1)
      platform->wake(platform->self, &sched->reporting, UINT32_MAX);
  }
  if (again) { /* more devices than one batch: the first ones keep the scheduler alive */
    tide_sched_enter(sched);
    tide_sched_leave(sched);
  }
  /* Kicks come before callbacks, which may be slow. */
  for (size_t i = 0; i < kicks; i++) kick_device(platform, devices[i]);
  tide_fired_run_calls(&host, context);
  while (collectives) {
    struct tide_collective *collective = collectives;
    collectives = tide_collective_next_gone(collective);
    tide_collective_free(collective);
  }
  while (gone) {
    struct tide_queue *queue = gone;
    gone = queue->next;
    free_queue(queue);
  }
}

static void emit_event(struct tide_sched *sched, const struct tide_sink *sink,
                       enum tide_event_kind kind, const struct tide_op *op,
                       struct tide_event *more) {
  const struct tide_platform *platform = tide_sched_platform(sched);
  struct tide_event event = more ? *more : (struct tide_event){0};
  event.kind = kind;
  event.time = sink->wants_time ? platform->now(platform->self) : 0;
  event.thread = platform->thread_id(platform->self);
  event.axis = op->queue->position.axis;
  event.epoch = op->work.epoch;
  event.sequence = tide_op_sequence(op);
  event.operation = op;
  char room[TIDE_LABEL_SIZE];
  event.label = tide_op_name(op, room);
  if (!event.object) {
    event.object = op->queue;
    event.object_label = op->queue->label;
  }
  if (kind != TIDE_EVENT_WAIT_CLASS) event.status = op->status;
  sink->event(sink->self, &event);
}

void tide_sched_emit_traced(struct tide_sched *sched, enum tide_event_kind kind,
                            const struct tide_op *op, struct tide_event *more) {
  emit_event(sched, sched->context->sink, kind, op, more);
}

void tide_sched_emit_failure(struct tide_sched *sched, struct tide_op *op) {
  struct tide_context *context = sched->context;
  const struct tide_sink *sink = context->sink ? context->sink : context->failures;
  if (!sink) return;
  /* A cancelled operation needs no cause beside its status: a queue may end with many. */
  const struct tide_cause *cause =
      op->status == TIDE_CANCELLED && !op->rare ? NULL : tide_op_cause(op);
  struct tide_event event = {.failure = cause ? &cause->failure : NULL};
  emit_event(sched, sink, TIDE_EVENT_FINISH, op, &event);
}
