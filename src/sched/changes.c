/* Changes of priorities that channels submit, and priority inheritance: a waiting queue lends its
 * priority to the queues that it waits for. */
#include "base/check.h"
#include "base/text.h"
#include "sched/arbiter.h"
#include "sched/channel_state.h"

/* ---- the effective priority ------------------------------------------------------ */

static void set_inherited(struct tide_queue *queue) {
  uint8_t level = TIDE_PRIORITY_LEVELS - 1;
  while (level && !queue->lent[level]) level--;
  if (level != queue->priority.inherited) tide_priority_inherit(&queue->priority, level);
}

/* Passes a change of the queue's effective priority on to the queues that it lends to. */
static void pass_on(struct tide_queue *queue, uint8_t before) {
  for (uint32_t i = 0; i < TIDE_LENDS_MAX; i++) {
    struct tide_queue *to = queue->lends[i].to;
    if (!to) continue;
    to->lent[before]--;
    to->lent[queue->effective]++;
    set_inherited(to);
  }
}

static void apply_priority(struct tide_queue *queue) {
  uint8_t before = queue->effective;
  queue->effective = tide_priority_effective(&queue->priority);
  if (queue->effective == before) return;
  if (queue->ready) tide_arbiter_requeue(queue);
  pass_on(queue, before);
}

/* Recomputes the queue's priority. A worklist instead of recursion, since a chain of waits may have
 * any length. A cycle needs values that a host may signal; around it, levels change in one
 * direction until they are stable. */
static void changed(struct tide_priority *priority) {
  struct tide_queue *queue = TIDE_CONTAINER(priority, struct tide_queue, priority);
  struct tide_sched *sched = queue->sched;
  if (queue->on_changed) return;
  queue->on_changed = true;
  queue->next_changed = NULL;
  *sched->last_changed = queue;
  sched->last_changed = &queue->next_changed;
  if (sched->changing) return;
  sched->changing = true;
  while ((queue = sched->changed)) {
    sched->changed = queue->next_changed;
    if (!sched->changed) sched->last_changed = &sched->changed;
    queue->on_changed = false;
    apply_priority(queue);
  }
  sched->changing = false;
}

void tide_queue_open_priority(struct tide_queue *queue, uint8_t base) {
  tide_priority_init(&queue->priority, base, changed);
  queue->effective = queue->priority.base;
  tide_list_init(&queue->lenders);
}

void tide_queue_end_priority(struct tide_queue *queue) {
  struct tide_link *link;
  while ((link = tide_list_pop_front(&queue->lenders)))
    TIDE_CONTAINER(link, struct tide_lend, link)->to = NULL;
  for (uint32_t i = 0; i < TIDE_LENDS_MAX; i++)
    if (queue->lends[i].to) tide_list_remove(&queue->lends[i].link);
}

/* Marks all queues dirty: each lends its priority from now on. */
void tide_sched_prioritise(struct tide_sched *sched) {
  if (sched->prioritised) return;
  sched->prioritised = true;
  for (struct tide_link *d = sched->devices.next; d != &sched->devices; d = d->next) {
    struct tide_device *device = TIDE_CONTAINER(d, struct tide_device, in_sched);
    for (struct tide_link *q = device->queues.next; q != &device->queues; q = q->next)
      tide_sched_look(TIDE_CONTAINER(q, struct tide_queue, in_device));
  }
}

void tide_queue_set_priority(struct tide_queue *queue, uint8_t priority) {
  tide_sched_enter(queue->sched);
  tide_sched_prioritise(queue->sched);
  tide_priority_set_base(&queue->priority, priority);
  tide_sched_leave(queue->sched);
}

uint8_t tide_queue_priority(struct tide_queue *queue) {
  tide_sched_enter(queue->sched);
  uint8_t level = queue->effective;
  tide_sched_leave(queue->sched);
  return level;
}

/* ---- inheritance --------------------------------------------------------------------- */

struct givers {
  struct tide_queue *list[TIDE_LENDS_MAX];
  uint32_t count;
};

/* Adds the queue, in axis order. The queue that is raised first is served first, so the order must
 * not depend on the order of the waits. */
static void add_giver(struct givers *givers, struct tide_queue *giver,
                      const struct tide_queue *waiter) {
  if (!giver || giver == waiter || givers->count == TIDE_LENDS_MAX) return;
  uint32_t at = givers->count;
  for (uint32_t i = 0; i < givers->count; i++)
    if (givers->list[i] == giver) return;
  for (; at && givers->list[at - 1]->position.axis > giver->position.axis; at--)
    givers->list[at] = givers->list[at - 1];
  givers->list[at] = giver;
  givers->count++;
}

static struct tide_queue *queue_of(struct tide_channel *channel) {
  return channel ? TIDE_CONTAINER(channel, struct tide_queue_channel, channel)->queue : NULL;
}

static struct tide_queue *keeper_of(const struct tide_dependency_node *dependency_node) {
  return queue_of(
      TIDE_CONTAINER(dependency_node, const struct tide_promise, unmet.node)->future->channel);
}

#define LOOKS_MOST 1024 /* edges and nodes visited each time that a part of a compound ends */

/* Adds the queue that keeps the promise, or the keepers of a compound's unsettled promises. */
static void add_keepers(struct givers *givers, struct tide_dependency_node *dependency_node,
                        const struct tide_queue *waiter) {
  struct tide_dependency_node *todo = dependency_node;
  uint64_t mark = ++waiter->channel->channel.points->searches;
  uint32_t steps = 0;
  dependency_node->above = NULL;
  while ((dependency_node = todo) && givers->count < TIDE_LENDS_MAX && steps++ < LOOKS_MOST) {
    todo = dependency_node->above;
    if (dependency_node->kind == TIDE_DEPENDENCY_PROMISE)
      add_giver(givers, keeper_of(dependency_node), waiter);
    if (dependency_node->kind != TIDE_DEPENDENCY_ALL &&
        dependency_node->kind != TIDE_DEPENDENCY_ANY)
      continue;
    for (struct tide_dependency_edge *need = dependency_node->edges; need && steps++ < LOOKS_MOST;
         need = need->next) {
      if (!need->target || need->target->settled || need->target->mark == mark) continue;
      need->target->mark = mark;
      need->target->above = todo;
      todo = need->target;
    }
  }
}

static void add_giver_of(struct givers *givers, const struct tide_op *op,
                         const struct tide_op_wait *wait) {
  const struct tide_timeline *timeline = wait->timeline;
  const struct tide_queue *waiter = op->queue;
  if (wait->point) {
    struct tide_dependency_node *dependency_node = tide_wait_for_point(op, wait)->edge.target;
    if (dependency_node) add_keepers(givers, dependency_node, waiter);
  } else if (timeline->ops == &tide_queue_backing) {
    if (timeline->reached.value < wait->value) add_giver(givers, timeline->backing, waiter);
  } else if (!timeline->ops && timeline->reached.value < wait->value) {
    const struct tide_record *record = tide_timeline_pending(timeline, wait->value);
    if (record)
      add_giver(givers, TIDE_CONTAINER(record, const struct tide_op_signal, record)->op->queue,
                waiter);
  }
}

/* Returns the operation that the queue waits at; NULL: none. On an in-order device no operation
 * counts as waiting while another one runs. An entered operation counts only once its waits are
 * queued: only the end of a queued wait notifies the queue. On a device that runs ahead, the waits
 * are queued one by one. */
static struct tide_op *find_waiting_op(const struct tide_queue *queue) {
  if (queue->closing) return NULL; /* the operations will not run: no other queue is hurried */
  if (queue->next_start <= queue->position.epoch) {
    struct tide_op *op = tide_queue_op(queue, queue->next_start);
    bool waits = op && op->state == TIDE_OP_ENTERED && (op->armed || queue->ahead) && op->unmet;
    return waits ? op : NULL;
  }
  bool runs = queue->device->backend->in_order && queue->published < queue->position.epoch;
  return runs || tide_list_empty(&queue->held) ? NULL : tide_op_of_link(queue->held.next);
}

void tide_queue_lend(struct tide_queue *queue) {
  struct givers now = {.count = 0};
  const struct tide_op *op = find_waiting_op(queue);
  for (struct tide_op_wait *wait = op ? tide_op_waits(op) : NULL; wait;
       wait = tide_wait_next(op, wait))
    if (wait->heap != TIDE_HEAP_NONE || (queue->ahead && tide_ahead_awaits_submit(op, wait)))
      add_giver_of(&now, op, wait);
  struct tide_queue *before[TIDE_LENDS_MAX];
  for (uint32_t i = 0; i < TIDE_LENDS_MAX; i++) {
    struct tide_lend *lend = &queue->lends[i];
    before[i] = lend->to;
    if (lend->to) {
      tide_list_remove(&lend->link);
      lend->to->lent[queue->effective]--;
    }
    lend->to = i < now.count ? now.list[i] : NULL;
    if (!lend->to) continue;
    tide_list_push_back(&lend->to->lenders, &lend->link);
    lend->to->lent[queue->effective]++;
  }
  for (uint32_t i = 0; i < now.count; i++) set_inherited(now.list[i]);
  for (uint32_t i = 0; i < TIDE_LENDS_MAX; i++)
    if (before[i]) set_inherited(before[i]);
}

/* ---- changes that channels submit ------------------------------------------------------- */

static void release_change(struct tide_queue *queue, struct tide_change *change) {
  if (change->cancel.value)
    tide_compound_give_up(queue->channel->channel.points, change->cancel, &queue->sched->fired);
  change->state = TIDE_CHANGE_FREE;
}

static bool is_over(const struct tide_change *change) {
  if (change->state != TIDE_CHANGE_UNDER_WAY) return false;
  if (change->kind == TIDE_CHANGE_INCREASE) return !change->as.increase.of;
  return change->kind == TIDE_CHANGE_DECREASE && !change->as.decrease.of;
}

static struct tide_change *take_change(struct tide_queue *queue) {
  struct tide_queue_channel *channel = queue->channel;
  for (uint32_t i = 0; i < channel->change_count; i++) {
    struct tide_change *change = &channel->changes[i];
    if (is_over(change)) release_change(queue, change);
    if (change->state != TIDE_CHANGE_FREE) continue;
    *change = (struct tide_change){.state = TIDE_CHANGE_QUEUED};
    return change;
  }
  return NULL;
}

static struct tide_dependency_node *gate_of(const struct tide_queue *queue,
                                            struct tide_point point) {
  struct tide_resolved found;
  if (!point.value) return NULL;
  if (tide_point_resolve(queue->channel->channel.points, point, &found) != TIDE_OK) return NULL;
  return found.node;
}

void tide_change_begin(struct tide_queue *queue, struct tide_change *change) {
  struct tide_dependency_node *dependency_node = gate_of(queue, change->point);
  change->state = TIDE_CHANGE_UNDER_WAY;
  tide_sched_prioritise(queue->sched);
  if (change->kind == TIDE_CHANGE_SCOPE) {
    tide_scope_end(&queue->priority, &change->as.scope);
    change->state = TIDE_CHANGE_FREE;
  } else if (change->kind == TIDE_CHANGE_DECREASE) {
    struct tide_dependency_node *cancel = gate_of(queue, change->cancel);
    bool cancelled = change->cancel.value && !cancel;
    tide_decrease_begin(&change->as.decrease, &queue->priority, change->amount,
                        cancelled ? NULL : dependency_node, cancel);
  } else {
    struct tide_queue *keeper = dependency_node ? keeper_of(dependency_node) : NULL;
    uint8_t base = queue->priority.base;
    tide_increase_begin(&change->as.increase, keeper ? &keeper->priority : &queue->priority,
                        (uint8_t)change->amount, base, keeper ? dependency_node : NULL);
  }
}

void tide_change_drop(struct tide_queue *queue, struct tide_change *change) {
  if (change->kind == TIDE_CHANGE_SCOPE) tide_scope_end(&queue->priority, &change->as.scope);
  release_change(queue, change);
}

/* Leaves the queued changes: each is dropped when its command ends. */
void tide_changes_end(struct tide_queue *queue) {
  struct tide_queue_channel *channel = queue->channel;
  for (uint32_t i = 0; i < channel->change_count; i++) {
    struct tide_change *change = &channel->changes[i];
    if (change->state != TIDE_CHANGE_UNDER_WAY) continue;
    if (change->kind == TIDE_CHANGE_INCREASE) tide_increase_end(&change->as.increase);
    else tide_decrease_end(&change->as.decrease);
    release_change(queue, change);
  }
}

static enum tide_status submit_change(struct tide_queue *queue, const char *label,
                                      const struct tide_change *wanted, struct tide_diag *diag) {
  struct tide_operation_points points = {0};
  struct tide_operation operation = {.label = label, .points = &points};
  struct tide_change *change = take_change(queue);
  if (!change)
    return tide_diag_set(diag, TIDE_FULL, "queue '%s': %u changes of priorities are under way",
                         queue->label, queue->channel->change_count);
  *change = *wanted;
  change->state = TIDE_CHANGE_QUEUED;
  enum tide_status status = tide_op_submit_change(queue, &operation, change, diag);
  if (status != TIDE_OK) change->state = TIDE_CHANGE_FREE;
  /* Covers all numbers: a decrease that begins before this command was submitted before it. */
  else if (change->kind == TIDE_CHANGE_SCOPE)
    tide_scope_begin_over(&queue->priority, &change->as.scope, UINT64_MAX);
  return status;
}

static enum tide_status enter_with_point(struct tide_queue *queue, struct tide_point point,
                                         struct tide_resolved *out, struct tide_diag *diag) {
  if (!queue->channel) return tide_queue_is_no_channel(queue, diag);
  tide_sched_enter(queue->sched);
  enum tide_status status = TIDE_OK;
  if (point.value) status = tide_point_resolve(queue->channel->channel.points, point, out);
  if (status == TIDE_OK) return TIDE_OK;
  tide_sched_leave(queue->sched);
  return tide_diag_set(diag, status, "queue '%s': no such point", queue->label);
}

enum tide_status tide_queue_increase_priority_until(struct tide_queue *queue,
                                                    struct tide_point target, uint8_t level,
                                                    struct tide_diag *diag) {
  struct tide_change wanted = {.kind = TIDE_CHANGE_INCREASE, .point = target, .amount = level};
  struct tide_resolved found = {NULL, TIDE_OK};
  if (!target.value) return TIDE_NOT_FOUND;
  enum tide_status status = enter_with_point(queue, target, &found, diag);
  if (status != TIDE_OK) return status;
  bool kept = found.node && found.node->kind == TIDE_DEPENDENCY_PROMISE && keeper_of(found.node);
  if (found.node && !kept)
    status =
        tide_diag_set(diag, TIDE_INVALID, "queue '%s': no channel keeps that point", queue->label);
  if (status == TIDE_OK) status = submit_change(queue, "increase", &wanted, diag);
  tide_sched_leave(queue->sched);
  return status;
}

static enum tide_status promise_cancel(struct tide_queue *queue, struct tide_point *out_cancel) {
  struct tide_client *client = tide_channel_client(queue);
  return client ? tide_compound_promise_open(client, out_cancel) : TIDE_CANCELLED;
}

enum tide_status tide_queue_decrease_priority_until(struct tide_queue *queue,
                                                    struct tide_point dependency, uint32_t amount,
                                                    struct tide_point *out_cancel,
                                                    struct tide_diag *diag) {
  struct tide_change wanted = {.kind = TIDE_CHANGE_DECREASE, .point = dependency, .amount = amount};
  struct tide_resolved found;
  enum tide_status status = TIDE_OK;
  if (!dependency.value) return TIDE_NOT_FOUND;
  if (out_cancel && queue->channel) status = promise_cancel(queue, &wanted.cancel);
  if (status != TIDE_OK)
    return tide_diag_set(diag, status, "queue '%s': no point to cancel by", queue->label);
  status = enter_with_point(queue, dependency, &found, diag);
  if (status == TIDE_OK) {
    status = submit_change(queue, "decrease", &wanted, diag);
    tide_sched_leave(queue->sched);
  }
  if (status == TIDE_OK && out_cancel) *out_cancel = wanted.cancel;
  if (status != TIDE_OK && wanted.cancel.value) {
    tide_sched_enter(queue->sched);
    tide_compound_give_up(queue->channel->channel.points, wanted.cancel, &queue->sched->fired);
    tide_sched_leave(queue->sched);
  }
  return status;
}

/* True if the point cancels a decrease of this channel. False: another compound of the client. */
static bool cancels_one(struct tide_queue *queue, struct tide_point cancel) {
  const struct tide_queue_channel *channel = queue->channel;
  bool found = false;
  tide_sched_enter(queue->sched);
  for (uint32_t i = 0; i < channel->change_count && !found; i++) {
    const struct tide_change *change = &channel->changes[i];
    found = change->state != TIDE_CHANGE_FREE && change->cancel.value &&
            change->cancel.timeline == cancel.timeline &&
            change->cancel.generation == cancel.generation;
  }
  tide_sched_leave(queue->sched);
  return found;
}

enum tide_status tide_queue_cancel_decrease(struct tide_queue *queue, struct tide_point cancel) {
  if (!queue->channel) return TIDE_INVALID;
  struct tide_client *client = tide_channel_client(queue);
  if (!client || !cancels_one(queue, cancel) ||
      tide_compound_all(client, cancel, NULL, 0) != TIDE_OK)
    return TIDE_NOT_FOUND;
  return TIDE_OK;
}

enum tide_status tide_queue_cancel_priority_decreases(struct tide_queue *queue,
                                                      struct tide_diag *diag) {
  struct tide_change wanted = {.kind = TIDE_CHANGE_SCOPE};
  struct tide_resolved found;
  enum tide_status status = enter_with_point(queue, wanted.point, &found, diag);
  if (status != TIDE_OK) return status;
  status = submit_change(queue, "cancel decreases", &wanted, diag);
  tide_sched_leave(queue->sched);
  return status;
}
