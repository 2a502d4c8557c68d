/* What a session tells: the states of its timelines, the progress of its axes, what it follows. */
#include "base/alloc.h"
#include "cluster/cluster_state.h"
#include "sched/promise_view.h"
#include "timeline/history.h"

static void send(struct tide_cluster *cluster, uint32_t to) {
  const struct tide_message_writer *writer = &cluster->writer;
  cluster->transport.send(cluster->transport.self, to, writer->bytes, writer->size);
}

/* ---- states ------------------------------------------------------------------------- */

static struct tide_mirror_record record_of(const struct tide_record_view *view) {
  return (struct tide_mirror_record){view->value, view->frontier ? view->axis : 0, view->epoch,
                                     view->frontier};
}

/* Writes the timeline's state, with as many of the lowest promises as there is room for. */
static void write_state(struct tide_cluster *cluster, struct tide_timeline *timeline,
                        uint32_t number) {
  struct tide_message_writer *writer = &cluster->writer;
  struct tide_record_view view;
  struct tide_lock *guard = tide_timeline_lock(timeline);
  struct tide_mirror_state state = {.reached = timeline->reached.value, .fail_from = UINT64_MAX};
  if (timeline->status) {
    state.fail_from = timeline->fail_from;
    state.status = (enum tide_status)timeline->status;
    const struct tide_cause *cause = tide_timeline_cause_locked(timeline);
    if (cause) state.cause = &cause->failure;
  }
  if (tide_history_newest(timeline, &view)) state.newest = record_of(&view);
  tide_message_state(writer, cluster->tag, number, &state);
  bool has_room = !state.newest.value || tide_message_add_record(writer, &state.newest);
  TIDE_ASSERT(has_room); /* a frontier takes half of a message at most */
  uint64_t value = state.reached;
  for (uint32_t i = 0; i < TIDE_MIRROR_PENDING && has_room; i++) {
    if (value == UINT64_MAX || !tide_promise_view(timeline, value + 1, &view)) break;
    struct tide_mirror_record record = record_of(&view);
    has_room = tide_message_add_record(writer, &record);
    value = view.value;
  }
  tide_lock_give(guard);
}

static void publish_home(struct tide_cluster *cluster, struct tide_home *home) {
  if (!home->timeline || !tide_exchange(&home->dirty, 0u)) return;
  for (struct tide_link *at = home->followers.next; at != &home->followers; at = at->next) {
    const struct tide_follower *follower = TIDE_CONTAINER(at, struct tide_follower, link);
    write_state(cluster, home->timeline, follower->number);
    send(cluster, follower->rank);
  }
}

/* ---- progress ----------------------------------------------------------------------- */

/* The awaited epoch has finished. Without a lock. */
static void axis_advanced(struct tide_node *node, enum tide_status status) {
  struct tide_followed_axis *axis = TIDE_CONTAINER(node, struct tide_followed_axis, wait.node);
  struct tide_cluster *cluster = axis->cluster;
  (void)status;
  tide_fetch_add(&cluster->calls, 1u);
  tide_store_release(&axis->is_waiting, 0u);
  tide_store_release(&axis->dirty, 1u);
  cluster->transport.wake(cluster->transport.self);
  tide_fetch_sub(&cluster->calls, 1u);
}

static void tell_progress(struct tide_cluster *cluster, const struct tide_followed_axis *axis) {
  tide_message_axis(&cluster->writer, cluster->tag, TIDE_MESSAGE_PROGRESS, axis->node.key,
                    axis->told);
  for (const struct tide_link *at = axis->followers.next; at != &axis->followers; at = at->next)
    send(cluster, TIDE_CONTAINER(at, const struct tide_follower, link)->rank);
}

static void publish_axis(struct tide_cluster *cluster, struct tide_followed_axis *axis) {
  struct tide_tracker *tracker = cluster->context->tracker;
  while (tide_exchange(&axis->dirty, 0u)) {
    axis->told = tide_tracker_epoch(tracker, axis->node.key);
    if (axis->told) tell_progress(cluster, axis);
    if (axis->told == UINT64_MAX || tide_load_acquire(&axis->is_waiting)) return;
    tide_store_release(&axis->is_waiting, 1u);
    axis->wait.node.fire = axis_advanced;
    axis->wait.node.state = TIDE_NODE_IDLE;
    if (tide_tracker_wait_finish(tracker, axis->node.key, axis->told + 1, &axis->wait)) return;
    tide_store_release(&axis->is_waiting, 0u);
    tide_store_release(&axis->dirty, 1u);
  }
}

void tide_cluster_end_axes(struct tide_cluster *cluster) {
  struct tide_context *context = cluster->context;
  for (struct tide_tree_node *first; (first = cluster->axes.first);) {
    struct tide_followed_axis *axis = TIDE_CONTAINER(first, struct tide_followed_axis, node);
    bool never = !tide_load_acquire(&axis->is_waiting) ||
                 tide_tracker_cancel_finish(context->tracker, &axis->wait);
    while (!never && tide_load_acquire(&axis->is_waiting))
      context->platform->yield(context->platform->self);
    while (tide_load_acquire(&cluster->calls)) context->platform->yield(context->platform->self);
    tide_tree_remove(&cluster->axes, first);
    tide_cluster_free_followers(cluster, &axis->followers);
    tide_free(context->allocator, axis, 1, sizeof *axis);
  }
  for (struct tide_tree_node *first; (first = cluster->far_axes.first);) {
    tide_tree_remove(&cluster->far_axes, first);
    tide_free(context->allocator, first, 1, sizeof *first);
  }
}

/* ---- what it follows ------------------------------------------------------------------ */

static void ask_for(struct tide_cluster *cluster, struct tide_followed *followed) {
  if (followed->asked) return;
  followed->asked = true;
  tide_message_follow(&cluster->writer, cluster->tag, followed->number, followed->name);
  send(cluster, followed->home);
}

void tide_cluster_follow_axis(struct tide_cluster *cluster, tide_axis axis) {
  uint32_t machine = tide_axis_machine(axis);
  const struct tide_tree_node *known = tide_tree_at_least(&cluster->far_axes, axis);
  if (machine == cluster->rank + 1 || (known && known->key == axis)) return;
  struct tide_tree_node *node = tide_alloc(cluster->context->allocator, 1, sizeof *node);
  if (!node) return; /* the next record that lists it asks again */
  (void)tide_tree_insert(&cluster->far_axes, node, axis);
  tide_message_axis(&cluster->writer, cluster->tag, TIDE_MESSAGE_FOLLOW_AXIS, axis, 0);
  send(cluster, machine - 1);
}

void tide_cluster_publish(struct tide_cluster *cluster) {
  tide_cluster_lock(cluster);
  for (struct tide_link *at = cluster->mirrors.next; at != &cluster->mirrors && !cluster->is_lost;
       at = at->next)
    ask_for(cluster, TIDE_CONTAINER(at, struct tide_followed, link));
  for (struct tide_link *at = cluster->homes.next; at != &cluster->homes && !cluster->is_lost;
       at = at->next)
    publish_home(cluster, TIDE_CONTAINER(at, struct tide_home, link));
  for (struct tide_tree_node *at = cluster->axes.first; at && !cluster->is_lost;
       at = tide_tree_next(at))
    publish_axis(cluster, TIDE_CONTAINER(at, struct tide_followed_axis, node));
  tide_cluster_unlock(cluster);
}
