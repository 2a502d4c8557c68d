/* Submits operations. All checks come before the first change that others can see. */
#include "base/alloc.h"
#include "base/text.h"
#include "causal/tracker.h"
#include "sched/channel_state.h"
#include "sched/dependency_walk.h"

/* ---- scope: how far a timeline may be used ------------------------------------- */

/* True if the queue may use the timeline. A narrow scope is bound to its first user. */
static inline bool in_scope(const struct tide_timeline *timeline, const struct tide_queue *queue) {
  if (timeline->scope > TIDE_SCOPE_DEVICE) return true;
  if (timeline->scope == TIDE_SCOPE_QUEUE) return !timeline->home || timeline->home == queue;
  if (timeline->scope == TIDE_SCOPE_DEVICE)
    return !timeline->home || timeline->home == queue->device;
  return true;
}

static inline void bind_home(struct tide_timeline *timeline, const struct tide_queue *queue) {
  if (timeline->scope == TIDE_SCOPE_QUEUE) timeline->home = queue;
  if (timeline->scope == TIDE_SCOPE_DEVICE) timeline->home = queue->device;
}

static void bind_homes(const struct tide_op *op) {
  for (const struct tide_op_wait *wait = tide_op_waits(op); wait; wait = tide_wait_next(op, wait))
    bind_home(wait->timeline, op->queue);
  for (const struct tide_op_signal *signal = tide_op_signals(op); signal; signal = signal->next)
    bind_home(signal->record.timeline, op->queue);
}

/* Rejects a timeline that operations do not name: its values have names of their own. */
static enum tide_status refuse_name(const struct tide_timeline *timeline, struct tide_diag *diag) {
  return tide_diag_set(diag, TIDE_UNSUPPORTED, "timeline '%s' %s", timeline->label,
                       timeline->ops->instead);
}

static inline bool is_named(const struct tide_timeline *timeline) {
  return !timeline->is_backed || !timeline->ops->instead;
}

static enum tide_status refuse_wait(const struct tide_queue *queue,
                                    const struct tide_timeline *timeline, size_t i,
                                    struct tide_diag *diag) {
  if (!timeline) return tide_diag_set(diag, TIDE_INVALID, "wait %zu has no timeline", i);
  if (!is_named(timeline)) return refuse_name(timeline, diag);
  return tide_diag_set(diag, TIDE_SCOPE,
                       "timeline '%s' has scope %s; it cannot be waited on from queue '%s'",
                       timeline->label, tide_scope_name(timeline->scope), queue->label);
}

static inline enum tide_status check_waits(const struct tide_queue *queue,
                                           const struct tide_operation *operation,
                                           struct tide_diag *diag) {
  for (size_t i = 0; i < operation->wait_count; i++) {
    const struct tide_timeline *timeline = operation->waits[i].timeline;
    if (__builtin_expect(!timeline || !in_scope(timeline, queue) || !is_named(timeline), 0))
      return refuse_wait(queue, timeline, i, diag);
  }
  return TIDE_OK;
}

static enum tide_status check_signal_scope(const struct tide_queue *queue,
                                           const struct tide_operation *operation,
                                           struct tide_diag *diag) {
  for (size_t i = 0; i < operation->signal_count; i++) {
    const struct tide_timeline *timeline = operation->signals[i].timeline;
    if (!timeline) return tide_diag_set(diag, TIDE_INVALID, "signal %zu has no timeline", i);
    if (!in_scope(timeline, queue))
      return tide_diag_set(diag, TIDE_SCOPE,
                           "timeline '%s' has scope %s; it cannot be signalled from queue '%s'",
                           timeline->label, tide_scope_name(timeline->scope), queue->label);
    if (!timeline->is_backed) continue;
    if (!is_named(timeline)) return refuse_name(timeline, diag);
    return tide_diag_set(diag, timeline->ops->denied, "timeline '%s' is signalled by %s alone",
                         timeline->label, timeline->ops->signaller);
  }
  return TIDE_OK;
}

/* ---- arguments ---------------------------------------------------------------------- */

static enum tide_status check_signals(const struct tide_queue *queue,
                                      const struct tide_operation *operation,
                                      struct tide_diag *diag) {
  for (size_t i = 0; i < operation->signal_count; i++) {
    const struct tide_signal *signal = &operation->signals[i];
    for (size_t j = 0; j < i; j++)
      if (operation->signals[j].timeline == signal->timeline)
        return tide_diag_set(diag, TIDE_INVALID, "operation '%s' signals timeline '%s' twice",
                             TIDE_OP_NAME_EARLY(queue, operation), signal->timeline->label);
    for (size_t j = 0; j < operation->wait_count; j++)
      if (operation->waits[j].timeline == signal->timeline &&
          operation->waits[j].value >= signal->value)
        return tide_diag_set(diag, TIDE_INVALID,
                             "operation '%s' waits for timeline '%s' >= %lu and signals only %lu",
                             TIDE_OP_NAME_EARLY(queue, operation), signal->timeline->label,
                             (unsigned long)operation->waits[j].value,
                             (unsigned long)signal->value);
  }
  return TIDE_OK;
}

static bool device_takes(const struct tide_queue *queue, const struct tide_body_class *body) {
  const struct tide_backend *backend = queue->device->backend;
  if (!body) return true;
  return backend->takes ? backend->takes(backend->self, body) : body->host != NULL;
}

/* Rejects a buffer of another device's pool. */
static enum tide_status check_home(const struct tide_queue *queue, const struct tide_buffer *buffer,
                                   struct tide_diag *diag) {
  const struct tide_pool *pool = tide_buffer_pool(buffer);
  const struct tide_device *home = tide_pool_home(pool);
  if (!home || home == queue->device) return TIDE_OK;
  return tide_diag_set(
      diag, TIDE_SCOPE,
      "buffer '%s' is of pool '%s' of device '%s'; queue '%s' of device '%s' cannot use it",
      tide_buffer_label(buffer), tide_pool_label(pool), home->label, queue->label,
      queue->device->label);
}

static enum tide_status check_use(const struct tide_queue *queue,
                                  const struct tide_operation *operation, size_t i,
                                  struct tide_diag *diag) {
  const struct tide_use *use = &operation->buffers[i];
  if (!use->buffer || (unsigned)use->access < 1 || (unsigned)use->access > 3)
    return tide_diag_set(diag, TIDE_INVALID, "buffer %zu is not named for reading or writing", i);
  uint64_t whole = tide_buffer_size(use->buffer);
  if (use->offset > whole || use->size > whole - use->offset)
    return tide_diag_set(diag, TIDE_INVALID,
                         "operation '%s' names bytes beyond the end of buffer '%s'",
                         TIDE_OP_NAME_EARLY(queue, operation), tide_buffer_label(use->buffer));
  if (tide_buffer_freed(use->buffer))
    return tide_diag_set(diag, TIDE_INVALID, "operation '%s' names buffer '%s' after it was freed",
                         TIDE_OP_NAME_EARLY(queue, operation), tide_buffer_label(use->buffer));
  return check_home(queue, use->buffer, diag);
}

/* Checks the signals and the buffers. */
static enum tide_status check_effects(const struct tide_queue *queue,
                                      const struct tide_operation *operation,
                                      struct tide_diag *diag) {
  enum tide_status status = check_signal_scope(queue, operation, diag);
  for (size_t i = 0; status == TIDE_OK && i < operation->buffer_count; i++)
    status = check_use(queue, operation, i, diag);
  return status == TIDE_OK ? check_signals(queue, operation, diag) : status;
}

/* True if completion is notified: to points, or by the body class. */
static inline bool notifies_completion(const struct tide_operation *operation) {
  return operation->points || (operation->body && operation->body->over);
}

static inline enum tide_status check_arguments(const struct tide_queue *queue,
                                               const struct tide_operation *operation,
                                               struct tide_diag *diag) {
  if (operation->flags & TIDE_RECOVER && !queue->channel)
    return tide_queue_is_no_channel(queue, diag);
  enum tide_status status = check_waits(queue, operation, diag);
  if (status == TIDE_OK && (operation->signal_count | operation->buffer_count))
    status = check_effects(queue, operation, diag);
  if (status != TIDE_OK) return status;
  if (operation->arguments_size > TIDE_ARGUMENTS_MAX)
    return tide_diag_set(diag, TIDE_INVALID, "%u bytes of arguments, at most %d are copied",
                         operation->arguments_size, TIDE_ARGUMENTS_MAX);
  if (!device_takes(queue, operation->body))
    return tide_diag_set(diag, TIDE_UNSUPPORTED, "device '%s' cannot do '%s'", queue->device->label,
                         operation->body->name);
  return TIDE_OK;
}

/* ---- copying ----------------------------------------------------------------------------- */

static void copy_waits(struct tide_queue *queue, struct tide_op *op,
                       const struct tide_operation *operation) {
  struct tide_op_wait *wait = queue->store.free_waits, *last = wait;
  tide_op_set_waits(op, wait);
  for (size_t i = 0; i < operation->wait_count; i++) {
    wait->timeline = operation->waits[i].timeline; /* classification sets the other fields */
    wait->value = operation->waits[i].value;
    wait->heap = TIDE_HEAP_NONE;
    wait->point = false;
    wait->index = i < TIDE_WAITS_FEW ? i & 15 : TIDE_WAITS_FEW;
    tide_sched_hold(wait->timeline);
    last = wait;
    wait = tide_wait_behind(wait); /* the free waits are chained alike */
  }
  last->next = 0;
  queue->store.free_waits = wait;
  tide_fetch_lines(wait, 3); /* a wait is shorter than a line */
  queue->free_waits_count -= (uint32_t)operation->wait_count;
}

static void copy_signals(struct tide_queue *queue, struct tide_op *op,
                         const struct tide_operation *operation) {
  struct tide_op_signal *first = queue->store.free_signals, **end = &first;
  for (size_t i = 0; i < operation->signal_count; i++) {
    struct tide_op_signal *signal = queue->store.free_signals;
    queue->store.free_signals = signal->next;
    signal->op = op;
    signal->record.timeline = operation->signals[i].timeline;
    signal->record.external = operation->signals[i].external;
    signal->record.node.key = operation->signals[i].value;
    signal->record.state = TIDE_RECORD_IDLE;
    tide_sched_own(signal->record.timeline);
    *end = signal;
    end = &signal->next;
  }
  tide_fetch_lines(queue->store.free_signals, 1);
  *end = NULL;
  tide_op_set_signals(op, first);
  queue->free_signals_count -= (uint32_t)operation->signal_count;
}

static void copy_uses(struct tide_queue *queue, struct tide_op *op,
                      const struct tide_operation *operation) {
  struct tide_op_use **end = &queue->store.first_uses[op - queue->store.ops];
  op->uses = true;
  for (size_t i = 0; i < operation->buffer_count; i++) {
    struct tide_op_use *use = queue->store.free_uses;
    queue->store.free_uses = use->next;
    *use = (struct tide_op_use){.buffer = operation->buffers[i].buffer,
                                .access = operation->buffers[i].access,
                                .offset = operation->buffers[i].offset,
                                .size = operation->buffers[i].size};
    tide_buffer_retain(use->buffer);
    *end = use;
    end = &use->next;
  }
  *end = NULL;
  queue->free_uses_count -= (uint32_t)operation->buffer_count;
}

static void copy_label(struct tide_op *op, const char *label) {
  struct tide_op_label *own = &op->queue->store.labels[op - op->queue->store.ops];
  tide_label_copy(own->text, label);
  op->work.labelled = true;
}

/* Copies the arguments. Few of them are stored beside the fields that the worker reads anyway. */
static inline void copy_arguments(struct tide_op *op, const void *arguments, size_t size) {
  if (size == TIDE_ARGUMENTS_FEW) {
    memcpy(op->work.arguments.few, arguments, TIDE_ARGUMENTS_FEW);
    return;
  }
  if (size > TIDE_ARGUMENTS_FEW) {
    size_t i = (size_t)(op - op->queue->store.ops);
    op->work.arguments.many = op->queue->store.arguments + i * TIDE_ARGUMENTS_MAX;
    op->work.has_many = true;
  }
  memcpy(tide_work_arguments(&op->work), arguments, size);
}

/* Takes free storage, and sets the fields that every operation has. */
static inline struct tide_op *take_storage(struct tide_queue *queue,
                                           const struct tide_operation *operation) {
  struct tide_store *store = &queue->store;
  struct tide_op *op = tide_op_named(store, store->free_ops);
  queue->free_ops_count--;
  store->free_ops = op->unmet;
  tide_fetch_lines(tide_op_named(store, op->unmet), 1); /* the next submit's storage */
  op->work.body = operation->body;
  op->work.epoch = 0;
  op->work.status = TIDE_OK;
  op->work.number = (queue->sequence + 1) & TIDE_NUMBER_MASK;
  op->work.labelled = false;
  op->work.has_many = false;
  op->unmet = 0;
  op->status = TIDE_OK;
  op->uses = op->part = op->points = op->asks = op->told = op->armed = false;
  op->retry = op->leaving = op->refused = op->arrived = op->finishing = false;
  op->rare = op->numbered = op->withdrawn = op->stopped = op->cyclic = op->foreign = false;
  op->unused = 0;
  op->flags = operation->flags & (TIDE_MAY_BE_PASSED | TIDE_DESPITE_BROKEN | TIDE_RECOVER);
  if (operation->label) copy_label(op, operation->label);
  if (operation->arguments_size)
    copy_arguments(op, operation->arguments, operation->arguments_size);
  return op;
}

static struct tide_op *copy_op(struct tide_queue *queue, const struct tide_operation *operation,
                               struct tide_instance *instance, struct tide_points_plan *plan) {
  struct tide_op *op = take_storage(queue, operation);
  if (instance) {
    op->part = true;
    tide_op_rare(op)->instance = instance;
    op->flags &= TIDE_DESPITE_BROKEN | TIDE_RECOVER;
  }
  if (__builtin_expect(queue->sched->checker != NULL, 0)) {
    const struct tide_platform *platform = tide_sched_platform(queue->sched);
    tide_op_rare(op)->thread = platform->thread_id(platform->self);
  }
  if (operation->wait_count) copy_waits(queue, op, operation);
  if (operation->signal_count) copy_signals(queue, op, operation);
  if (operation->buffer_count) copy_uses(queue, op, operation);
  op->told = plan || notifies_completion(operation);
  if (plan) tide_points_copy(op, operation, plan);
  if (op->flags & TIDE_RECOVER) op->asks = true;
  if (queue->failure.refused) tide_channel_join(op);
  return op;
}

/* ---- submitting ------------------------------------------------------------------------------ */

static size_t waits_of(const struct tide_operation *operation) {
  return operation->wait_count + (operation->points ? operation->points->wait_count : 0);
}
static size_t signals_of(const struct tide_operation *operation) {
  return operation->signal_count + (operation->points ? operation->points->retire_count : 0);
}

static inline bool has_capacity(const struct tide_queue *queue, size_t ops, size_t waits,
                                size_t signals, size_t uses) {
  return ops <= queue->free_ops_count && waits <= queue->free_waits_count &&
         signals <= queue->free_signals_count && uses <= queue->free_uses_count;
}

/* The same, once the queue has grown if it can. */
static inline bool make_room(struct tide_queue *queue, size_t ops, size_t waits, size_t signals,
                             size_t uses) {
  return has_capacity(queue, ops, waits, signals, uses) ||
         (queue->grows && tide_queue_grow(queue) && has_capacity(queue, ops, waits, signals, uses));
}

static enum tide_status refuse_full(struct tide_queue *queue, struct tide_diag *diag) {
  if (queue->grows)
    return tide_diag_set(diag, TIDE_NOMEM, "no memory for more than %u operations of queue '%s'",
                         queue->store.capacity.ops, queue->label);
  if (tide_deadlock_full(queue, diag)) return TIDE_DEADLOCK;
  return tide_diag_set(diag, TIDE_FULL, "queue '%s' is full: %u of %u operations", queue->label,
                       queue->capacity.ops - queue->free_ops_count, queue->capacity.ops);
}

static enum tide_status refuse_one(struct tide_queue *queue, const struct tide_operation *operation,
                                   struct tide_diag *diag) {
  if (waits_of(operation) > queue->capacity.waits ||
      signals_of(operation) > queue->capacity.signals ||
      operation->buffer_count > queue->capacity.uses)
    return tide_diag_set(diag, TIDE_INVALID,
                         "operation '%s' needs more than the whole capacity of queue '%s'",
                         TIDE_OP_NAME_EARLY(queue, operation), queue->label);
  return refuse_full(queue, diag);
}

/* Reserves the signals. TIDE_VALUE unless each is above all reached and promised values. */
static enum tide_status reserve_signals(struct tide_queue *queue, struct tide_op *op,
                                        struct tide_diag *diag) {
  for (struct tide_op_signal *signal = tide_op_signals(op); signal; signal = signal->next) {
    struct tide_timeline *timeline = signal->record.timeline;
    uint64_t value = signal->record.node.key, now = tide_timeline_newest(timeline);
    const struct tide_tree_node *blocker = tide_reservation_above(queue, timeline, value);
    if (value <= now || blocker)
      return tide_diag_set(
          diag, TIDE_VALUE,
          "operation '%s' would signal timeline '%s' = %lu, which does not go up: %lu is "
          "reached, promised or reserved",
          TIDE_OP_NAME(op), timeline->label, (unsigned long)value,
          (unsigned long)(blocker ? blocker->key : now));
    tide_timeline_reserve(&signal->record, value);
  }
  return TIDE_OK;
}

/* Holds an operation. One that has failed fails at its place: it promises nothing, so its signals
 * are neither checked nor reserved. */
static enum tide_status hold_op(struct tide_queue *queue, struct tide_op *op, bool has_failed,
                                const struct tide_points_plan *plan, struct tide_diag *diag) {
  enum tide_status status = has_failed ? TIDE_OK : reserve_signals(queue, op, NULL);
  if (status != TIDE_OK) {
    status = tide_order_judge(op, reserve_signals, false, diag);
    has_failed = status == TIDE_OK;
  }
  if (status == TIDE_OK && tide_deadlock_possible(op, false) &&
      tide_deadlock_closes(op, false, has_failed, diag))
    status = TIDE_DEADLOCK;
  if (status == TIDE_OK && plan) status = tide_points_insert(op, plan, diag);
  if (status == TIDE_OK) tide_op_hold(queue, op);
  else tide_op_unreserve(op);
  if (status == TIDE_OK && has_failed && op->part) tide_instance_fail(op);
  return status;
}

/* Refuses an operation that would enter and close a cycle. */
TIDE_APART static enum tide_status refuse_cycle(struct tide_op *op, bool has_failed,
                                                struct tide_diag *diag) {
  for (struct tide_op_signal *signal = tide_op_signals(op); signal && !has_failed;
       signal = signal->next)
    (void)tide_timeline_reserve(&signal->record, signal->record.node.key);
  bool closes = tide_deadlock_closes(op, true, has_failed, diag);
  tide_op_unreserve(op);
  return closes ? TIDE_DEADLOCK : TIDE_OK;
}

/* Checks an operation that is about to enter. The signals of one that has failed are not checked:
 * whether its upstream has failed yet must not decide whether the submit is refused. */
static inline enum tide_status check_entry(struct tide_queue *queue, struct tide_op *op,
                                           bool has_failed, struct tide_diag *diag) {
  enum tide_status status = TIDE_OK;
  if (!has_failed && op->signals) status = tide_signals_check(queue, op, NULL);
  if (__builtin_expect(status != TIDE_OK, 0)) {
    status = tide_order_judge(op, tide_signals_check, true, diag);
    has_failed = status == TIDE_OK;
  }
  if (__builtin_expect(has_failed, 0)) op->refused = true;
  if (__builtin_expect(queue->sched->instances != 0, 0) && status == TIDE_OK &&
      tide_deadlock_possible(op, true))
    status = refuse_cycle(op, has_failed, diag);
  return status;
}

/* Classifies the operation, which then enters or is held. Frees it if it is refused. */
static enum tide_status admit_op(struct tide_queue *queue, struct tide_op *op,
                                 const struct tide_instance *instance,
                                 const struct tide_points_plan *plan, struct tide_diag *diag) {
  struct tide_sched *sched = queue->sched;
  enum tide_verdict verdict = TIDE_ENTER_HELD;
  enum tide_status status;
  bool has_failed = instance && tide_instance_is_failing(instance, op);
  if (has_failed) tide_instance_fail_late(instance, op);
  if (!queue->held_firm) verdict = tide_elide(queue, op);
  if (verdict == TIDE_ENTER_HELD) {
    status = hold_op(queue, op, has_failed, plan, diag);
  } else {
    has_failed |= verdict == TIDE_ENTER_FAILS;
    status = check_entry(queue, op, has_failed, diag);
    if (status == TIDE_OK && plan) status = tide_points_insert(op, plan, diag);
  }
  if (status != TIDE_OK) {
    if (sched->checker && diag) tide_check_note(sched, diag);
    if (sched->unnoticed) tide_collectives_notice(sched, false);
    op->work.body = NULL; /* not submitted: `over` is not called */
    tide_op_free(op);
    return status;
  }
  queue->sequence++;
  if (op->waits || op->signals) bind_homes(op);
  if (op->flags & TIDE_RECOVER) tide_channel_recovery_queued(queue);
  sched->stats.submitted++;
  tide_sched_emit(sched, TIDE_EVENT_SUBMIT, op, NULL);
  if (verdict != TIDE_ENTER_HELD) tide_op_enter(queue, op);
  if (__builtin_expect(sched->unnoticed, 0)) tide_collectives_notice(sched, true);
  return TIDE_OK;
}

static enum tide_status refuse_gone(const struct tide_queue *queue, struct tide_diag *diag) {
  if (queue->closing)
    return tide_diag_set(diag, TIDE_CANCELLED, "queue '%s' is being destroyed", queue->label);
  if (queue->device->lost)
    return tide_diag_set(diag, queue->device->lost, "%s",
                         queue->device->cause ? queue->device->cause->failure.text
                                              : tide_status_text(queue->device->lost));
  return TIDE_OK;
}

static enum tide_status submit_op(struct tide_queue *queue, const struct tide_operation *operation,
                                  struct tide_instance *instance, struct tide_points_plan *plan,
                                  struct tide_diag *diag) {
  struct tide_op *op = copy_op(queue, operation, instance, plan);
  return admit_op(queue, op, instance, plan, diag);
}

enum tide_status tide_queue_has_capacity(struct tide_queue *queue,
                                         const struct tide_operation *operation,
                                         struct tide_diag *diag) {
  enum tide_status status = check_arguments(queue, operation, diag);
  if (status == TIDE_OK && queue->closing + queue->device->lost) status = refuse_gone(queue, diag);
  if (status != TIDE_OK) return status;
  if (!make_room(queue, 1, waits_of(operation), signals_of(operation), operation->buffer_count))
    return refuse_one(queue, operation, diag);
  return TIDE_OK;
}

/* Submits a command. In a channel each waiting operation is one: points must know its waits. */
static enum tide_status submit_command(struct tide_queue *queue,
                                       const struct tide_operation *operation,
                                       struct tide_instance *instance, struct tide_change *change,
                                       struct tide_diag *diag) {
  struct tide_points_plan plan;
  enum tide_status status = tide_points_check(queue, operation, &plan, diag);
  plan.change = change;
  plan.outside |= instance != NULL;
  if (status == TIDE_OK) status = submit_op(queue, operation, instance, &plan, diag);
  /* The check may have found expired deadlines: they take effect even if the submit fails. */
  if (status != TIDE_OK && queue->channel)
    tide_points_look_again(queue->channel->channel.points, &queue->sched->fired);
  return status;
}

enum tide_status tide_op_submit_change(struct tide_queue *queue,
                                       const struct tide_operation *operation,
                                       struct tide_change *change, struct tide_diag *diag) {
  enum tide_status status = tide_queue_has_capacity(queue, operation, diag);
  return status == TIDE_OK ? submit_command(queue, operation, NULL, change, diag) : status;
}

enum tide_status tide_op_submit_locked(struct tide_queue *queue,
                                       const struct tide_operation *operation,
                                       struct tide_instance *instance, uint64_t *out_sequence,
                                       struct tide_diag *diag) {
  enum tide_status status = tide_queue_has_capacity(queue, operation, diag);
  if (status != TIDE_OK) return status;
  bool command = operation->points || (queue->channel && (operation->wait_count || instance));
  status = command ? submit_command(queue, operation, instance, NULL, diag)
                   : submit_op(queue, operation, instance, NULL, diag);
  if (status == TIDE_OK && out_sequence) *out_sequence = queue->sequence;
  return status;
}

enum tide_status tide_queue_submit(struct tide_queue *queue, const struct tide_operation *operation,
                                   uint64_t *out_sequence, struct tide_diag *diag) {
  tide_sched_enter_to_answer(queue->sched);
  enum tide_status status = tide_op_submit_locked(queue, operation, NULL, out_sequence, diag);
  tide_sched_answer_and_leave(queue->sched);
  return status;
}

/* ---- batches ---- */

/* Checks that each signal raises its timeline. The timeline stores the batch's newest value. */
static enum tide_status check_batch_values(struct tide_queue *queue,
                                           const struct tide_operation *operations, size_t count,
                                           struct tide_diag *diag) {
  uint64_t batch = ++queue->sched->batch;
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < operations[i].signal_count; j++) {
      struct tide_timeline *timeline = operations[i].signals[j].timeline;
      uint64_t value = operations[i].signals[j].value, newest = tide_timeline_newest(timeline);
      uint64_t earlier = timeline->batch == batch ? timeline->batch_value : 0;
      bool goes_up = value > newest && !tide_reservation_above(queue, timeline, value);
      if (value <= earlier ||
          (!goes_up && !tide_order_may_be_lost(queue, timeline, value, false))) {
        if (earlier > newest) newest = earlier;
        return tide_diag_set(
            diag, TIDE_VALUE,
            "operation %zu ('%s') would signal timeline '%s' = %lu, which does not go "
            "up: %lu is reached, promised or reserved",
            i, tide_op_name_early(queue, &operations[i], i, (char[TIDE_LABEL_SIZE]){0}),
            timeline->label, (unsigned long)value,
            (unsigned long)(value <= newest ? newest : value));
      }
      timeline->batch = batch;
      timeline->batch_value = value;
    }
  }
  return TIDE_OK;
}

static enum tide_status check_batch(struct tide_queue *queue,
                                    const struct tide_operation *operations, size_t count,
                                    struct tide_diag *diag) {
  size_t waits = 0, signals = 0, uses = 0;
  for (size_t i = 0; i < count; i++) {
    enum tide_status status = check_arguments(queue, &operations[i], diag);
    if (status != TIDE_OK) return status;
    waits += waits_of(&operations[i]);
    signals += signals_of(&operations[i]);
    uses += operations[i].buffer_count;
  }
  if (count > queue->capacity.ops || waits > queue->capacity.waits ||
      signals > queue->capacity.signals || uses > queue->capacity.uses)
    return tide_diag_set(diag, TIDE_INVALID,
                         "%zu operations are more than queue '%s' can ever take", count,
                         queue->label);
  enum tide_status status = check_batch_values(queue, operations, count, diag);
  if (status != TIDE_OK) return status;
  status = refuse_gone(queue, diag);
  if (status != TIDE_OK) return status;
  return make_room(queue, count, waits, signals, uses) ? TIDE_OK : refuse_full(queue, diag);
}

enum tide_status tide_queue_submit_all(struct tide_queue *queue,
                                       const struct tide_operation *operations, size_t count,
                                       size_t *out_count, struct tide_diag *diag) {
  size_t taken = 0;
  tide_sched_enter_to_answer(queue->sched);
  enum tide_status status = check_batch(queue, operations, count, diag);
  while (status == TIDE_OK && taken < count) {
    status = tide_op_submit_locked(queue, &operations[taken], NULL, NULL, diag);
    if (status == TIDE_OK) taken++;
  }
  tide_sched_answer_and_leave(queue->sched);
  if (out_count) *out_count = taken;
  return status;
}
