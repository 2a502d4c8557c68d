/* Messages of a session: states of its timelines, progress of its axes, requests to follow. */
#include "base/alloc.h"
#include "cluster/cluster_state.h"
#include "sched/promise_view.h"
#include "timeline/timeline_state.h"

/* A thread that signals tells the followers itself, which spares a wake-up, if none has done so in
 * the last ns. Otherwise the transport's thread does, for several signals in one go. */
#define TOLD_BY_SIGNALLER 5000u

#define FAR_AXES 256u /* of other members, before it is asked which are closed */

void tide_cluster_send(struct tide_cluster *cluster, uint32_t to) {
  const struct tide_message_writer *writer = &cluster->writer;
  const struct tide_platform *platform = cluster->context->platform;
  if (cluster->silence) cluster->members[to].sent_at = platform->now(platform->self);
  cluster->transport.send(cluster->transport.self, to, writer->bytes, writer->size);
}

/* ---- states ------------------------------------------------------------------------- */

static struct tide_mirror_record record_of(const struct tide_record_view *view) {
  return (struct tide_mirror_record){view->value, view->frontier ? view->axis : 0, view->epoch,
                                     view->frontier};
}

/* Returns the value up to which no operation is to signal the timeline any more. Under the guard.
 */
static uint64_t ended_of(const struct tide_cluster *cluster, struct tide_home *home) {
  const struct tide_timeline *timeline = home->timeline;
  uint64_t ended = tide_timeline_ended_locked(timeline);
  /* A member that is leaving submits nothing new. */
  if (cluster->phase != TIDE_CLUSTER_OPEN && !timeline->pending.first && !timeline->reserved.first)
    ended = UINT64_MAX;
  if (ended > home->told_ended) home->told_ended = ended;
  return ended;
}

/* Writes the timeline's state, with the promises that the follower does not know yet: of the lowest
 * ones, since it keeps no more, and as many as there is room for. False: there are more, for which
 * the next message has room. */
static bool write_state(struct tide_cluster *cluster, struct tide_home *home,
                        struct tide_follower *follower) {
  struct tide_message_writer *writer = &cluster->writer;
  struct tide_timeline *timeline = home->timeline;
  struct tide_record_view view;
  struct tide_lock *guard = tide_timeline_lock(timeline);
  struct tide_mirror_state state = {
      .reached = timeline->reached.value, .fail_from = UINT64_MAX, .after = follower->told};
  if (timeline->status) {
    state.fail_from = timeline->fail_from;
    state.status = (enum tide_status)timeline->status;
    const struct tide_cause *cause = tide_timeline_cause_locked(timeline);
    if (cause) state.cause = &cause->failure;
  }
  home->told = state.reached;
  home->told_failed = state.fail_from;
  if (tide_timeline_newest_locked(timeline, &view)) state.newest = record_of(&view);
  tide_message_state(writer, cluster->tag, follower->number, ended_of(cluster, home), &state);
  bool has_room = !state.newest.value || tide_message_add_record(writer, &state.newest);
  TIDE_ASSERT(has_room); /* a frontier takes half of a message at most */
  uint64_t value = state.reached, before = follower->told;
  for (uint32_t i = 0; i < TIDE_MIRROR_PENDING && has_room; i++) {
    if (value == UINT64_MAX || !tide_promise_view(timeline, value + 1, &view)) break;
    value = view.value;
    if (value <= follower->told) continue;
    struct tide_mirror_record record = record_of(&view);
    has_room = tide_message_add_record(writer, &record);
    if (has_room) follower->told = value;
  }
  tide_lock_give(guard);
  return has_room || follower->told == before; /* one that is too large for any message stays out */
}

/* ---- progress ----------------------------------------------------------------------- */

/* The awaited epoch has finished. Without a lock. */
static void axis_advanced(struct tide_node *node, enum tide_status status) {
  struct tide_followed_axis *axis = TIDE_CONTAINER(node, struct tide_followed_axis, wait.node);
  struct tide_cluster *cluster = axis->subject.cluster;
  (void)status;
  tide_fetch_add(&cluster->calls, 1u);
  tide_store_release(&axis->is_waiting, 0u);
  tide_subject_change(&axis->subject);
  tide_fetch_sub(&cluster->calls, 1u);
}

/* Reads the progress of an axis, and awaits the next one. */
static void look_at_axis(struct tide_cluster *cluster, struct tide_followed_axis *axis) {
  struct tide_tracker *tracker = cluster->context->tracker;
  while (!tide_load_acquire(&axis->is_waiting)) {
    axis->told = tide_tracker_epoch(tracker, axis->node.key);
    if (axis->told == UINT64_MAX) return;
    tide_store_release(&axis->is_waiting, 1u);
    axis->wait.node.fire = axis_advanced;
    axis->wait.node.state = TIDE_NODE_IDLE;
    if (tide_tracker_wait_finish(tracker, axis->node.key, axis->told + 1, &axis->wait)) return;
    tide_store_release(&axis->is_waiting, 0u);
  }
}

void tide_cluster_free_axis(struct tide_cluster *cluster, struct tide_followed_axis *axis) {
  tide_tree_remove(&cluster->axes, &axis->node);
  tide_list_remove(&axis->subject.link);
  tide_cluster_free_followers(cluster, &axis->subject);
  tide_free(cluster->context->allocator, axis, 1, sizeof *axis);
}

/* ---- to followers --------------------------------------------------------------------- */

void tide_cluster_put_in_line(struct tide_cluster *cluster, struct tide_follower *follower) {
  struct tide_member *member = &cluster->members[follower->rank];
  if (follower->is_untold || member->is_gone) return;
  follower->is_untold = true;
  follower->next_untold = NULL;
  *member->last_untold = follower;
  member->last_untold = &follower->next_untold;
}

/* Writes that a name will not be published: this member has left. */
static void write_unmade(struct tide_cluster *cluster, const struct tide_follower *follower) {
  struct tide_failure why = tide_cluster_leave_of(cluster, cluster->rank);
  struct tide_mirror_state state = {.fail_from = 1, .status = why.status, .cause = &why};
  tide_message_state(&cluster->writer, cluster->tag, follower->number, UINT64_MAX, &state);
}

/* Writes and sends the newest state. */
static void tell_follower(struct tide_cluster *cluster, struct tide_follower *follower) {
  struct tide_subject *subject = follower->subject;
  bool is_all = true;
  const struct tide_followed_axis *axis = tide_followed_axis_of(subject);
  if (subject->is_axis && axis->told) {
    tide_message_axis(&cluster->writer, cluster->tag, TIDE_MESSAGE_PROGRESS, axis->node.key,
                      axis->told);
  } else if (!subject->is_axis && tide_home_of(subject)->timeline) {
    tide_cluster_tell_exports(cluster, tide_home_of(subject), follower);
    tide_cluster_tell_parts(cluster, tide_home_of(subject), follower);
    is_all = write_state(cluster, tide_home_of(subject), follower);
  } else if (!subject->is_axis && cluster->phase == TIDE_CLUSTER_SAID_BYE) {
    write_unmade(cluster, follower);
  } else {
    return; /* there is nothing to tell yet */
  }
  cluster->members[follower->rank].in_flight++;
  tide_cluster_send(cluster, follower->rank);
  if (tide_cluster_traced(cluster) && !subject->is_axis) tide_cluster_trace_sent(cluster, follower);
  if (!is_all) tide_cluster_put_in_line(cluster, follower);
}

/* Frees a closed axis once all followers know that it is. */
static void forget_told_axis(struct tide_cluster *cluster, struct tide_subject *subject) {
  const struct tide_platform *platform = cluster->context->platform;
  if (!subject->is_axis || tide_followed_axis_of(subject)->told != UINT64_MAX) return;
  for (const struct tide_follower *at = subject->followers; at; at = at->next)
    if (at->is_untold) return;
  /* A node that fired before the axis was closed may be on its way into the changed subjects. */
  while (tide_load_acquire(&cluster->calls)) platform->yield(platform->self);
  if (tide_load_acquire(&subject->has_changed)) return; /* it is told once more */
  tide_cluster_free_axis(cluster, tide_followed_axis_of(subject));
}

/* Tells a member as much as its window allows. */
static void tell_member(struct tide_cluster *cluster, struct tide_member *member) {
  struct tide_follower *follower;
  while ((follower = member->first_untold) && member->in_flight < cluster->window) {
    member->first_untold = follower->next_untold;
    if (!member->first_untold) member->last_untold = &member->first_untold;
    follower->is_untold = false;
    tell_follower(cluster, follower);
    forget_told_axis(cluster, follower->subject);
  }
}

/* Puts the followers of a changed subject in line. */
static void take_change(struct tide_cluster *cluster, struct tide_subject *subject) {
  if (!subject->followers && cluster->phase == TIDE_CLUSTER_OPEN) {
    subject->is_ignored = true; /* the next change does not wake the transport */
    return;
  }
  /* Before the state is read. An exchange: axis_advanced looks at both words in the other order. */
  (void)tide_exchange(&subject->has_changed, 0u);
  if (subject->is_axis) look_at_axis(cluster, tide_followed_axis_of(subject));
  for (struct tide_follower *at = subject->followers; at; at = at->next)
    tide_cluster_put_in_line(cluster, at);
}

/* Takes the changed subjects, in the order of their first changes: mostly, a follower hears of a
 * promise before it hears of a value that was signalled later. */
static struct tide_subject *take_changed(struct tide_cluster *cluster) {
  struct tide_subject *newest = tide_exchange(&cluster->changed, NULL), *first = NULL;
  while (newest) {
    struct tide_subject *next = newest->changed;
    newest->changed = first;
    first = newest;
    newest = next;
  }
  return first;
}

/* ---- requests ------------------------------------------------------------------ */

static void ask_for_mirrors(struct tide_cluster *cluster) {
  while (cluster->asked < cluster->mirror_count) {
    struct tide_tree_node *node = tide_tree_at_least(&cluster->mirrors, ++cluster->asked);
    const struct tide_followed *followed = TIDE_CONTAINER(node, struct tide_followed, node);
    tide_message_follow(&cluster->writer, cluster->tag, cluster->asked, followed->name);
    cluster->members[followed->home].asks++;
    tide_cluster_send(cluster, followed->home);
  }
}

/* A waiter for an axis has come. With the tracker's lock held. */
static void want_axis(struct tide_teller *teller) {
  struct tide_far_axis *axis = TIDE_CONTAINER(teller, struct tide_far_axis, teller);
  struct tide_cluster *cluster = axis->cluster;
  axis->next_wanted = tide_load_relaxed(&cluster->wanted);
  while (!tide_compare_exchange(&cluster->wanted, &axis->next_wanted, axis)) continue;
  cluster->transport.wake(cluster->transport.self);
}

static uint32_t most_far_axes(const struct tide_cluster *cluster) {
  return cluster->far_count < FAR_AXES / 2 ? FAR_AXES : 2 * cluster->far_count;
}

/* A home tells of closed axes only if it is asked. It is asked of many axes, so that those of
 * queues that have gone are forgotten; the next time when twice as many as stay have come. */
static void ask_what_is_closed(struct tide_cluster *cluster) {
  for (struct tide_tree_node *at = cluster->far_axes.first; at; at = tide_tree_next(at)) {
    tide_message_axis(&cluster->writer, cluster->tag, TIDE_MESSAGE_FOLLOW_AXIS, at->key,
                      TIDE_AXIS_IF_CLOSED);
    tide_cluster_send(cluster, tide_axis_machine(at->key) - 1u);
  }
  cluster->far_most = most_far_axes(cluster);
}

void tide_cluster_note_axis(struct tide_cluster *cluster, tide_axis number,
                            struct tide_fired *fired) {
  struct tide_tracker *tracker = cluster->context->tracker;
  uint32_t machine = tide_axis_machine(number);
  const struct tide_tree_node *known = tide_tree_at_least(&cluster->far_axes, number);
  if (machine == cluster->rank + 1 || (known && known->key == number)) return;
  if (tide_tracker_epoch(tracker, number) == UINT64_MAX) return; /* it is closed */
  if (cluster->members[machine - 1].is_gone) {
    (void)tide_cluster_close_axis(cluster, number, fired);
    return;
  }
  struct tide_far_axis *axis = tide_alloc(cluster->context->allocator, 1, sizeof *axis);
  if (!axis) return; /* the next record that lists it notes it */
  axis->cluster = cluster;
  axis->teller.ask = want_axis;
  axis->node.key = number;
  if (!tide_tracker_set_teller(tracker, number, &axis->teller)) { /* no memory to register it */
    tide_free(cluster->context->allocator, axis, 1, sizeof *axis);
    return;
  }
  (void)tide_tree_insert(&cluster->far_axes, &axis->node, number);
  if (++cluster->far_count > FAR_AXES && cluster->far_count > cluster->far_most)
    ask_what_is_closed(cluster);
}

void tide_cluster_ask_for_axes(struct tide_cluster *cluster) {
  struct tide_far_axis *axis = tide_exchange(&cluster->wanted, NULL);
  for (; axis; axis = axis->next_wanted) {
    tide_axis number = axis->node.key;
    tide_message_axis(&cluster->writer, cluster->tag, TIDE_MESSAGE_FOLLOW_AXIS, number, 0);
    tide_cluster_send(cluster, tide_axis_machine(number) - 1u);
  }
}

void tide_cluster_free_far_axis(struct tide_cluster *cluster, struct tide_far_axis *axis) {
  cluster->far_count--;
  cluster->far_most = most_far_axes(cluster);
  tide_tree_remove(&cluster->far_axes, &axis->node);
  tide_free(cluster->context->allocator, axis, 1, sizeof *axis);
}

/* ---- all of it ------------------------------------------------------------------------- */

/* True if no operation will signal the timeline, not even one that is held, and its followers were
 * told all of it. A change that has just been made may not be in line yet. */
static bool is_told(const struct tide_home *home) {
  struct tide_timeline *timeline = home->timeline;
  struct tide_lock *guard = tide_timeline_lock(timeline);
  uint64_t reached = timeline->reached.value;
  uint64_t failed = timeline->status ? timeline->fail_from : UINT64_MAX;
  bool has_signaller = tide_promise_remains(timeline);
  tide_lock_give(guard);
  if (has_signaller || !home->subject.followers) return !has_signaller;
  return home->told == reached && home->told_failed == failed;
}

/* True if all that others follow, or may follow, is over, and known to them. */
static bool is_settled(struct tide_cluster *cluster) {
  uint64_t given;
  if (tide_load_acquire(&cluster->changed)) return false;
  for (uint32_t i = 0; i < cluster->count; i++) {
    const struct tide_member *member = &cluster->members[i];
    if (i == cluster->rank || member->is_gone) continue;
    if (member->in_flight || member->first_untold) return false;
    if (!member->has_noted || member->asked < member->asked_all) return false;
  }
  for (struct tide_link *at = cluster->subjects.next; at != &cluster->subjects; at = at->next) {
    struct tide_subject *subject = TIDE_CONTAINER(at, struct tide_subject, link);
    if (subject->is_axis || !tide_home_of(subject)->timeline) continue;
    if (!is_told(tide_home_of(subject))) return false;
    if (!tide_list_empty(&tide_home_of(subject)->untold)) return false;
    if (!tide_list_empty(&tide_home_of(subject)->exports)) return false;
  }
  for (const struct tide_tree_node *at = cluster->axes.first; at; at = tide_tree_next(at)) {
    uint64_t told = TIDE_CONTAINER(at, const struct tide_followed_axis, node)->told;
    if (tide_tracker_given(cluster->context->tracker, at->key, &given) && given > told)
      return false;
  }
  return true;
}

static void say_to_all(struct tide_cluster *cluster, enum tide_message_kind kind) {
  tide_message_begin(&cluster->writer, cluster->tag, kind);
  for (uint32_t i = 0; i < cluster->count; i++)
    if (i != cluster->rank) tide_cluster_send(cluster, i);
}

/* Answers those that are leaving. */
static void note_leaving(struct tide_cluster *cluster) {
  for (uint32_t i = 0; i < cluster->count; i++) {
    struct tide_member *member = &cluster->members[i];
    if (!member->is_to_note) continue;
    member->is_to_note = false;
    tide_message_count(&cluster->writer, cluster->tag, TIDE_MESSAGE_NOTED, member->asks);
    tide_cluster_send(cluster, i);
  }
}

/* Has the followers of names that were never published told so. */
static void end_unmade(struct tide_cluster *cluster) {
  for (struct tide_link *at = cluster->subjects.next; at != &cluster->subjects; at = at->next) {
    struct tide_subject *subject = TIDE_CONTAINER(at, struct tide_subject, link);
    if (subject->is_axis || tide_home_of(subject)->timeline) continue;
    for (struct tide_follower *follower = subject->followers; follower; follower = follower->next)
      tide_cluster_put_in_line(cluster, follower);
  }
  for (uint32_t i = 0; i < cluster->count; i++) tell_member(cluster, &cluster->members[i]);
}

static void take_leave(struct tide_cluster *cluster) {
  if (cluster->phase != TIDE_CLUSTER_LEAVING) return;
  if (!cluster->has_said_leaving) say_to_all(cluster, TIDE_MESSAGE_LEAVING);
  cluster->has_said_leaving = true;
  if (!is_settled(cluster)) return;
  cluster->phase = TIDE_CLUSTER_SAID_BYE;
  say_to_all(cluster, TIDE_MESSAGE_BYE);
  end_unmade(cluster);
}

static void tell_locked(struct tide_cluster *cluster) {
  if (cluster->is_lost || cluster->phase == TIDE_CLUSTER_OVER) return;
  ask_for_mirrors(cluster);
  tide_cluster_ask_for_axes(cluster);
  note_leaving(cluster);
  struct tide_subject *subject = take_changed(cluster), *next;
  for (; subject; subject = next) {
    next = subject->changed;
    take_change(cluster, subject);
  }
  for (uint32_t i = 0; i < cluster->count; i++) tell_member(cluster, &cluster->members[i]);
  take_leave(cluster);
}

void tide_cluster_tell(struct tide_cluster *cluster) {
  tide_cluster_lock(cluster);
  tell_locked(cluster);
  tide_cluster_unlock(cluster);
  tide_cluster_end_if_over(cluster);
}

void tide_cluster_tell_soon(struct tide_cluster *cluster) {
  const struct tide_platform *platform = cluster->context->platform;
  uint64_t now = platform->now(platform->self);
  bool is_rare = now - tide_load_relaxed(&cluster->told_at) >= TOLD_BY_SIGNALLER;
  if (!is_rare || !tide_lock_try(&cluster->lock)) {
    cluster->transport.wake(cluster->transport.self);
    return;
  }
  tide_store_release(&cluster->told_at, now);
  tell_locked(cluster);
  tide_cluster_unlock(cluster);
  tide_cluster_end_if_over(cluster);
}
