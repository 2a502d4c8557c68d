/* Operations that wait for points and retire some: the notifications to and from point/. */
#include "base/alloc.h"
#include "base/text.h"
#include "sched/channel_state.h"

/* ---- checking ------------------------------------------------------------------- */

static enum tide_status refuse_point(const struct tide_queue *queue,
                                     const struct tide_operation *operation, const char *what,
                                     size_t i, struct tide_point point, enum tide_status status,
                                     struct tide_diag *diag) {
  return tide_diag_set(diag, status, "operation '%s': %s %zu (%u:%u.%u@%lu): %s",
                       TIDE_OP_NAME_EARLY(queue, operation), what, i, point.domain, point.timeline,
                       point.generation, (unsigned long)point.value, tide_status_text(status));
}

static enum tide_status find_retired(struct tide_queue *queue,
                                     const struct tide_operation *operation,
                                     struct tide_points_plan *plan, struct tide_diag *diag) {
  const struct tide_operation_points *points = operation->points;
  for (size_t i = 0; i < points->retire_count; i++) {
    struct tide_promise **found = &plan->promises[i];
    enum tide_status status =
        tide_promise_find(&queue->channel->channel, points->retires[i], found, NULL);
    if (status != TIDE_OK)
      return refuse_point(queue, operation, "promise", i, points->retires[i], status, diag);
    for (size_t j = 0; j < i; j++) {
      if (plan->promises[j]->future != (*found)->future) continue;
      return tide_diag_set(diag, TIDE_INVALID,
                           "operation '%s' retires two points of one timeline: the later one "
                           "covers the earlier",
                           TIDE_OP_NAME_EARLY(queue, operation));
    }
  }
  plan->promise_count = points->retire_count;
  return TIDE_OK;
}

static enum tide_status find_named(const struct tide_queue *queue, const struct tide_point *named,
                                   const struct tide_operation *operation, const char *what,
                                   struct tide_resolved *out, struct tide_diag *diag) {
  if (!named) return TIDE_OK;
  enum tide_status status = tide_point_resolve(queue->channel->channel.points, *named, out);
  return status == TIDE_OK ? TIDE_OK
                           : refuse_point(queue, operation, what, 0, *named, status, diag);
}

static enum tide_status find_awaited(struct tide_queue *queue,
                                     const struct tide_operation *operation,
                                     struct tide_points_plan *plan, struct tide_diag *diag) {
  const struct tide_operation_points *points = operation->points;
  for (size_t i = 0; i < points->wait_count; i++) {
    enum tide_status status =
        find_named(queue, &points->waits[i], operation, "point", &plan->waits[i], diag);
    if (status != TIDE_OK) return status;
  }
  plan->wait_count = points->wait_count;
  return TIDE_OK;
}

static enum tide_status check_numbers(const struct tide_queue *queue,
                                      const struct tide_operation *operation,
                                      struct tide_diag *diag) {
  const struct tide_operation_points *points = operation->points;
  const struct tide_backend *backend = queue->device->backend;
  const struct tide_body_class *body = points->otherwise;
  size_t size = points->otherwise_arguments_size;
  if (points->wait_count > TIDE_POINTS_MAX || points->retire_count > TIDE_POINTS_MAX)
    return tide_diag_set(diag, TIDE_INVALID, "%zu points in one operation, at most %d",
                         points->wait_count > points->retire_count ? points->wait_count
                                                                   : points->retire_count,
                         TIDE_POINTS_MAX);
  if (size > TIDE_ARGUMENTS_MAX || operation->arguments_size > TIDE_ARGUMENTS_MAX - size)
    return tide_diag_set(diag, TIDE_INVALID, "%zu bytes of arguments, at most %d are copied",
                         size + operation->arguments_size, TIDE_ARGUMENTS_MAX);
  bool takes = !body || (backend->takes ? backend->takes(backend->self, body) : body->host != NULL);
  if (!takes)
    return tide_diag_set(diag, TIDE_UNSUPPORTED, "device '%s' cannot do '%s'", queue->device->label,
                         body->name);
  return TIDE_OK;
}

enum tide_status tide_points_check(struct tide_queue *queue, const struct tide_operation *operation,
                                   struct tide_points_plan *plan, struct tide_diag *diag) {
  const struct tide_operation_points *points = operation->points;
  plan->wait_count = plan->promise_count = 0; /* the arrays are long, and mostly unused */
  plan->cancel = plan->choose = (struct tide_resolved){NULL, TIDE_OK};
  plan->points = points;
  plan->change = NULL;
  plan->outside = operation->wait_count > 0;
  if (!points) return TIDE_OK;
  if (!queue->channel) return tide_queue_is_no_channel(queue, diag);
  enum tide_status status = check_numbers(queue, operation, diag);
  /* Overdue promises break first, and may be freed: the lookups below do not check the clock, so
   * that their results stay valid. */
  if (status == TIDE_OK)
    tide_points_expire_unwatched(queue->channel->channel.points, &queue->sched->fired);
  if (status == TIDE_OK) status = find_awaited(queue, operation, plan, diag);
  if (status == TIDE_OK) status = find_retired(queue, operation, plan, diag);
  if (status == TIDE_OK)
    status = find_named(queue, points->cancel, operation, "cancelling point", &plan->cancel, diag);
  if (status == TIDE_OK)
    status = find_named(queue, points->choose, operation, "chosen point", &plan->choose, diag);
  return status;
}

/* ---- the operation's own ------------------------------------------------------------- */

static void hear_point(struct tide_listener *listener,
                       const struct tide_dependency_node *dependency_node,
                       struct tide_fired *fired);

/* Appends a wait for a point. `index`: among all waits of the operation. */
static void copy_wait(struct tide_op *op, struct tide_point point,
                      const struct tide_resolved *resolved, size_t index) {
  struct tide_queue *queue = op->queue;
  struct tide_op_wait *wait = queue->store.free_waits;
  queue->store.free_waits = tide_wait_behind(wait);
  queue->free_waits_count--;
  wait->timeline = tide_point_find_timeline(queue->channel->channel.points, point);
  wait->value = point.value;
  wait->heap = TIDE_HEAP_NONE;
  wait->index = index < TIDE_WAITS_FEW ? index & 15 : TIDE_WAITS_FEW;
  wait->point = true;
  tide_sched_hold(wait->timeline);
  tide_wait_set_next(wait, tide_op_waits(op));
  tide_op_set_waits(op, wait);
  struct tide_point_wait *own = tide_wait_for_point(op, wait);
  own->listener.notify = hear_point;
  own->op = op;
  own->edge.target = resolved->node; /* insertion sets the other fields */
  own->edge.status = (uint32_t)resolved->status;
  tide_list_init(&own->listener.link);
  tide_list_init(&own->edge.link);
}

static void copy_retired(struct tide_op *op, const struct tide_promise *promise) {
  struct tide_queue *queue = op->queue;
  struct tide_op_signal *signal = queue->store.free_signals;
  queue->store.free_signals = signal->next;
  queue->free_signals_count--;
  signal->op = op;
  signal->record.timeline = promise->future->timeline;
  signal->record.external = false;
  signal->record.node.key = promise->unmet.pending.node.key;
  signal->record.state = TIDE_RECORD_IDLE;
  tide_sched_own(signal->record.timeline);
  signal->next = tide_op_signals(op);
  tide_op_set_signals(op, signal);
}

static void copy_otherwise(struct tide_op *op, const struct tide_operation *operation) {
  const struct tide_operation_points *points = operation->points;
  struct tide_op_points *own = tide_op_points(op);
  size_t i = tide_op_index(op), size = points->otherwise_arguments_size;
  /* At the end, if the body's own arguments are at the start: few ones are in the operation. */
  unsigned char *at = op->queue->store.arguments + i * TIDE_ARGUMENTS_MAX;
  if (operation->arguments_size > TIDE_ARGUMENTS_FEW) at += TIDE_ARGUMENTS_MAX - size;
  own->otherwise = points->otherwise;
  own->otherwise_arguments = at;
  if (size) memcpy(at, points->otherwise_arguments, size);
}

static void note_cancel(struct tide_listener *listener,
                        const struct tide_dependency_node *dependency_node,
                        struct tide_fired *fired);
static void note_choice(struct tide_listener *listener,
                        const struct tide_dependency_node *dependency_node,
                        struct tide_fired *fired);

void tide_points_copy(struct tide_op *op, const struct tide_operation *operation,
                      struct tide_points_plan *plan) {
  struct tide_op_points *own = tide_op_points(op);
  own->op = op;
  own->change = plan->change;
  own->queued = own->retired = false;
  own->has_outside = plan->outside;
  own->cancels = plan->points && plan->points->cancel;
  own->chooses = plan->points && plan->points->choose;
  op->points = true;
  op->asks = own->has_outside || own->cancels || own->chooses || own->change;
  for (size_t i = 0; i < plan->wait_count; i++) {
    copy_wait(op, plan->points->waits[i], &plan->waits[i], operation->wait_count + i);
    plan->edges[i] = &tide_wait_for_point(op, tide_op_waits(op))->edge;
  }
  for (size_t i = 0; i < plan->promise_count; i++) copy_retired(op, plan->promises[i]);
  if (plan->outside) {
    tide_dependency_init(&own->outside, TIDE_DEPENDENCY_OUTSIDE, NULL);
    plan->waits[plan->wait_count] = (struct tide_resolved){.node = &own->outside};
    plan->edges[plan->wait_count++] = &own->outside_edge;
  }
  if (own->cancels) {
    own->cancel.notify = note_cancel;
    tide_list_init(&own->cancel.link);
    tide_list_init(&own->cancelled);
  }
  if (own->chooses) {
    own->choose.notify = note_choice;
    tide_list_init(&own->choose.link);
    copy_otherwise(op, operation);
  }
}

static void request_cancel(struct tide_op_points *own, struct tide_fired *fired);

enum tide_status tide_points_insert(struct tide_op *op, const struct tide_points_plan *plan,
                                    struct tide_diag *diag) {
  struct tide_op_points *own = tide_op_points(op);
  struct tide_channel *channel = &op->queue->channel->channel;
  struct tide_fired *fired = &op->queue->sched->fired;
  struct tide_command_plan command = {.waits = plan->waits,
                                      .edges = plan->edges,
                                      .wait_count = plan->wait_count,
                                      .promises = plan->promises,
                                      .promise_count = plan->promise_count,
                                      .passable = (op->flags & TIDE_MAY_BE_PASSED) != 0};
  enum tide_status status = tide_channel_insert(channel, &own->command, &command, fired);
  if (status != TIDE_OK)
    return tide_diag_set(diag, status,
                         "operation '%s' of queue '%s' would wait for itself, by way of points",
                         TIDE_OP_NAME(op), op->queue->label);
  own->queued = true;
  if (own->cancels) {
    if (plan->cancel.node && !plan->cancel.node->ended)
      tide_dependency_listen(plan->cancel.node, &own->cancel);
    else if (plan->cancel.status == TIDE_OK) request_cancel(own, fired);
  }
  if (own->chooses) {
    if (plan->choose.node && !plan->choose.node->ended)
      tide_dependency_listen(plan->choose.node, &own->choose);
    else own->retired = !plan->choose.node && plan->choose.status == TIDE_OK;
  }
  tide_points_look_again(channel->points, fired);
  return TIDE_OK;
}

/* ---- notifications from points ------------------------------------------------------- */

static bool ignores_broken(const struct tide_op *op) {
  return (op->flags & TIDE_DESPITE_BROKEN) != 0;
}

bool tide_point_wait_over(const struct tide_op *op, const struct tide_op_wait *wait,
                          enum tide_status *out_status) {
  const struct tide_dependency_edge *edge = &tide_wait_for_point(op, wait)->edge;
  if (edge->target) return false;
  *out_status = ignores_broken(op) ? TIDE_OK : (enum tide_status)edge->status;
  return true;
}

/* True if the operation that retires the point has entered: its record is pending. */
static bool is_pending(const struct tide_op_wait *wait) {
  const struct tide_record *record = tide_timeline_pending(wait->timeline, wait->value);
  return record && record->node.key == wait->value;
}

enum tide_wait_class tide_point_wait_class(const struct tide_op *op,
                                           const struct tide_op_wait *wait) {
  enum tide_status status;
  if (tide_point_wait_over(op, wait, &status))
    return status == TIDE_OK ? TIDE_WAIT_RESOLVED : TIDE_WAIT_FAILED;
  return is_pending(wait) ? TIDE_WAIT_ISSUED : TIDE_WAIT_HELD;
}

static void hear_point(struct tide_listener *listener,
                       const struct tide_dependency_node *dependency_node,
                       struct tide_fired *fired) {
  struct tide_point_wait *own = TIDE_CONTAINER(listener, struct tide_point_wait, listener);
  struct tide_op *op = own->op;
  struct tide_queue *queue = op->queue;
  const struct tide_op_wait *wait = &queue->store.waits[own - queue->channel->waits];
  bool held = op->state == TIDE_OP_HELD;
  bool promised = held && wait->class_ == TIDE_WAIT_HELD && is_pending(wait);
  bool over = dependency_node->settled;
  if (!over && !promised) {
    /* A part of a compound may have ended: its keeper no longer needs the priority. */
    if (queue->sched->prioritised) tide_queue_lend(queue);
    return;
  }
  tide_dependency_unlisten(listener);
  enum tide_status status = (enum tide_status)dependency_node->status;
  tide_fired_push(fired, &tide_wait_node(queue, wait)->node,
                  over && !ignores_broken(op) ? status : TIDE_OK);
}

void tide_point_wait_listen(struct tide_op *op, struct tide_op_wait *wait) {
  struct tide_point_wait *own = tide_wait_for_point(op, wait);
  tide_wait_queue(op, wait)->state = TIDE_NODE_QUEUED;
  wait->heap = TIDE_HEAP_POINT;
  tide_dependency_listen(own->edge.target, &own->listener);
}

bool tide_point_wait_forget(const struct tide_op *op, struct tide_op_wait *wait) {
  struct tide_node *node = &tide_wait_node(op->queue, wait)->node;
  if (node->state == TIDE_NODE_FIRED) return false;
  tide_dependency_unlisten(&tide_wait_for_point(op, wait)->listener);
  node->state = TIDE_NODE_IDLE;
  return true;
}

static void note_choice(struct tide_listener *listener,
                        const struct tide_dependency_node *dependency_node,
                        struct tide_fired *fired) {
  struct tide_op_points *own = TIDE_CONTAINER(listener, struct tide_op_points, choose);
  (void)fired;
  if (!dependency_node->ended) return;
  tide_dependency_unlisten(listener);
  own->retired = dependency_node->status == TIDE_OK;
}

/* ---- being cancelled from a point ------------------------------------------------------- */

static void request_cancel(struct tide_op_points *own, struct tide_fired *fired) {
  struct tide_queue_channel *channel = own->op->queue->channel;
  tide_list_push_back(&channel->cancelled, &own->cancelled);
  if (channel->cancel.state != TIDE_NODE_IDLE) return; /* pushed already */
  channel->cancel.fire = tide_cancel_fire;
  tide_fired_push(fired, &channel->cancel, TIDE_OK);
}

static void note_cancel(struct tide_listener *listener,
                        const struct tide_dependency_node *dependency_node,
                        struct tide_fired *fired) {
  if (!dependency_node->ended) return;
  tide_dependency_unlisten(listener);
  if (dependency_node->status == TIDE_OK)
    request_cancel(TIDE_CONTAINER(listener, struct tide_op_points, cancel), fired);
}

void tide_cancel_fired(struct tide_node *node) {
  struct tide_queue_channel *channel = TIDE_CONTAINER(node, struct tide_queue_channel, cancel);
  struct tide_link *link;
  node->state = TIDE_NODE_IDLE;
  while ((link = tide_list_pop_front(&channel->cancelled))) {
    struct tide_op *op = TIDE_CONTAINER(link, struct tide_op_points, cancelled)->op;
    if (op->state == TIDE_OP_HELD) tide_op_leave(op, TIDE_CANCELLED);
    else tide_op_withdraw(op);
  }
  tide_sched_look(channel->queue);
}

void tide_cancel_fire(struct tide_node *node, enum tide_status status) {
  struct tide_sched *sched = TIDE_CONTAINER(node, struct tide_queue_channel, cancel)->queue->sched;
  (void)status;
  tide_sched_enter(sched);
  tide_cancel_fired(node);
  tide_sched_leave(sched);
}

/* ---- notifications to points ------------------------------------------------------------- */

void tide_op_points_entered(struct tide_op *op) {
  struct tide_op_points *own = tide_op_points(op);
  tide_command_entered(&own->command, &op->queue->sched->fired);
}

static void end_outside(struct tide_op_points *own) {
  struct tide_fired *fired = &own->op->queue->sched->fired;
  struct tide_propagation propagation;
  if (!own->has_outside || own->outside.ended) return;
  tide_propagation_begin(&propagation, fired);
  tide_dependency_end(&propagation, &own->outside, TIDE_OK);
  tide_propagation_finish(&propagation);
  tide_points_look_again(own->op->queue->channel->channel.points, fired);
}

/* Drops the change of a command that will not run. This also ends a scope of decreases. */
static void drop_change(struct tide_op_points *own) {
  if (own->change) tide_change_drop(own->op->queue, own->change);
  own->change = NULL;
}

void tide_op_points_turn(struct tide_op *op) {
  struct tide_op_points *own = tide_op_points(op);
  end_outside(own);
  /* The operation before it may have kept the cancelling point just now. */
  if (own->cancels && !tide_list_empty(&own->cancelled)) tide_op_withdraw(op);
  if (op->status) {
    drop_change(own);
    return;
  }
  if (own->chooses && !own->retired) {
    op->work.body = own->otherwise;
    op->work.arguments.many = own->otherwise_arguments;
    op->work.has_many = true;
  }
  if (own->change) tide_change_begin(op->queue, own->change);
  own->change = NULL;
}

void tide_op_points_done(struct tide_op *op) {
  struct tide_op_points *own = tide_op_points(op);
  struct tide_fired *fired = &op->queue->sched->fired;
  drop_change(own);
  if (!own->queued) return;
  own->queued = false;
  end_outside(own);
  tide_command_done(&own->command, op->status, fired);
  tide_points_look_again(op->queue->channel->channel.points, fired);
}

void tide_op_points_fail(struct tide_op *op) {
  struct tide_op_points *own = tide_op_points(op);
  struct tide_fired *fired = &op->queue->sched->fired;
  if (!own->queued) return;
  tide_command_fail(&own->command, op->status, fired);
  tide_points_look_again(op->queue->channel->channel.points, fired);
}

void tide_op_points_free(struct tide_op *op) {
  struct tide_op_points *own = tide_op_points(op);
  if (own->chooses) tide_dependency_unlisten(&own->choose);
  if (own->cancels) {
    tide_dependency_unlisten(&own->cancel);
    tide_list_remove(&own->cancelled);
  }
  op->points = false;
}
