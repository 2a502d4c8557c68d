/* What a session takes in. A message is judged as a whole before anything of it is believed. */
#include "base/alloc.h"
#include "base/text.h"
#include "cluster/cluster_state.h"
#include "timeline/pending_value.h"

/* ---- followers --------------------------------------------------------------- */

/* Returns the pointer to the follower, by its member's number of the timeline (of an axis: 0); to
 * NULL: there is none. */
static struct tide_follower **find_follower(struct tide_subject *subject, uint32_t rank,
                                            uint32_t number) {
  struct tide_follower **at = &subject->followers;
  while (*at && ((*at)->rank != rank || (*at)->number != number)) at = &(*at)->next;
  return at;
}

/* False: there is no memory. */
static bool add_follower(struct tide_subject *subject, uint32_t rank, uint32_t number) {
  struct tide_cluster *cluster = subject->cluster;
  if (*find_follower(subject, rank, number)) return true;
  struct tide_follower *follower = tide_alloc(cluster->context->allocator, 1, sizeof *follower);
  if (!follower) return false;
  follower->subject = subject;
  follower->rank = (uint16_t)rank;
  follower->number = number;
  follower->next = subject->followers;
  subject->followers = follower;
  if (subject->is_ignored) tide_store_release(&subject->has_changed, 0u);
  subject->is_ignored = false;
  /* A timeline's first state keeps the place of its request: one that was asked for later may be
   * among the changed subjects already. */
  if (subject->is_axis) tide_subject_change(subject);
  else tide_cluster_put_in_line(cluster, follower);
  return true;
}

/* True if the member follows a timeline by this number. */
static bool has_number(const struct tide_cluster *cluster, uint32_t rank, uint32_t number) {
  for (struct tide_link *at = cluster->subjects.next; at != &cluster->subjects; at = at->next) {
    struct tide_subject *subject = TIDE_CONTAINER(at, struct tide_subject, link);
    if (!subject->is_axis && *find_follower(subject, rank, number)) return true;
  }
  return false;
}

/* Returns why the message cannot be taken in; NULL: it was. */
static const char *take_follow(struct tide_cluster *cluster, uint32_t from) {
  const struct tide_message *message = &cluster->message;
  if (!message->name[0]) return "it follows a timeline without a name";
  if (has_number(cluster, from, message->number)) return "it follows two timelines by one number";
  struct tide_home *home = tide_cluster_need_home(cluster, message->name);
  if (!home || !add_follower(&home->subject, from, message->number))
    return "there is no memory for what it follows";
  cluster->members[from].asked++;
  return NULL;
}

static void leave_line(struct tide_member *member, const struct tide_follower *follower) {
  struct tide_follower **at = &member->first_untold;
  while (*at != follower) at = &(*at)->next_untold;
  *at = follower->next_untold;
  if (!*at) member->last_untold = at;
}

struct tide_home *tide_cluster_home_followed(struct tide_cluster *cluster, uint32_t rank,
                                             uint32_t number) {
  for (struct tide_link *at = cluster->subjects.next; at != &cluster->subjects; at = at->next) {
    struct tide_subject *subject = TIDE_CONTAINER(at, struct tide_subject, link);
    if (!subject->is_axis && *find_follower(subject, rank, number)) return tide_home_of(subject);
  }
  return NULL;
}

static const char *take_unfollow(struct tide_cluster *cluster, uint32_t from) {
  uint32_t number = cluster->message.number;
  struct tide_home *home = tide_cluster_home_followed(cluster, from, number);
  if (!home) return "it follows no timeline of this number";
  struct tide_follower **place = find_follower(&home->subject, from, number);
  struct tide_follower *follower = *place;
  if (follower->is_untold) leave_line(&cluster->members[from], follower);
  *place = follower->next;
  tide_cluster_untell_exports(home, from);
  tide_free(cluster->context->allocator, follower, 1, sizeof *follower);
  return NULL;
}

static struct tide_followed_axis *need_axis(struct tide_cluster *cluster, tide_axis axis) {
  struct tide_tree_node *node = tide_tree_at_least(&cluster->axes, axis);
  if (node && node->key == axis) return TIDE_CONTAINER(node, struct tide_followed_axis, node);
  struct tide_followed_axis *followed =
      tide_alloc(cluster->context->allocator, 1, sizeof *followed);
  if (!followed) return NULL;
  tide_subject_init(&followed->subject, cluster, true);
  (void)tide_tree_insert(&cluster->axes, &followed->node, axis);
  return followed;
}

static void tell_closed(struct tide_cluster *cluster, uint32_t to, tide_axis axis) {
  tide_message_axis(&cluster->writer, cluster->tag, TIDE_MESSAGE_PROGRESS, axis, UINT64_MAX);
  cluster->members[to].in_flight++;
  tide_cluster_send(cluster, to);
}

static const char *take_follow_axis(struct tide_cluster *cluster, uint32_t from) {
  tide_axis axis = cluster->message.axis;
  uint64_t given;
  if (tide_axis_machine(axis) != cluster->rank + 1) return "it follows an axis that is not mine";
  if (!tide_tracker_given(cluster->context->tracker, axis, &given))
    return "it follows an axis that I have not given out";
  if (cluster->message.epoch == TIDE_AXIS_IF_CLOSED) {
    if (given == UINT64_MAX) tell_closed(cluster, from, axis);
    return NULL;
  }
  struct tide_followed_axis *followed = need_axis(cluster, axis);
  if (!followed || !add_follower(&followed->subject, from, 0))
    return "there is no memory for what it follows";
  return NULL;
}

/* ---- states ----------------------------------------------------------------------------- */

/* Only the home promises, and no machine knows more of another than that has given out. */
static const char *judge_record(const struct tide_cluster *cluster, uint32_t from,
                                const struct tide_mirror_record *record) {
  struct tide_frontier_entry entry;
  uint64_t given;
  if (!record->axis) return NULL;
  if (tide_axis_machine(record->axis) != from + 1) return "a record of another machine's operation";
  for (struct tide_frontier_cursor at = tide_frontier_begin(record->frontier);
       tide_frontier_next(&at, &entry);) {
    uint32_t machine = tide_axis_machine(entry.axis);
    if (machine == 0 || machine > cluster->count) return "a record lists an axis of no member";
    if (machine != cluster->rank + 1) continue;
    if (!tide_tracker_given(cluster->context->tracker, entry.axis, &given) || entry.epoch > given)
      return "a record lists an epoch that I have not given out";
  }
  return NULL;
}

static const char *judge_state(const struct tide_cluster *cluster, uint32_t from,
                               const struct tide_mirror_state *state) {
  const char *wrong = state->newest.value ? judge_record(cluster, from, &state->newest) : NULL;
  for (size_t i = 0; i < state->pending_count && !wrong; i++)
    wrong = judge_record(cluster, from, &state->pending[i]);
  return wrong;
}

static void note_axes(struct tide_cluster *cluster, const struct tide_mirror_record *record,
                      struct tide_fired *fired) {
  struct tide_frontier_entry entry;
  if (!record->axis) return;
  for (struct tide_frontier_cursor at = tide_frontier_begin(record->frontier);
       tide_frontier_next(&at, &entry);)
    tide_cluster_note_axis(cluster, entry.axis, fired);
}

/* Lets go of a mirror without users, and tells its home. False: it has users. */
static bool forget_unused(struct tide_cluster *cluster, struct tide_followed *followed) {
  const struct tide_timeline *timeline = followed->timeline;
  if (tide_load_acquire(&timeline->owners) != 1) return false; /* the session is one */
  if (tide_load_acquire(&timeline->references) != 1) return false;
  if (!tide_list_empty(&followed->receipts)) return false;
  tide_message_count(&cluster->writer, cluster->tag, TIDE_MESSAGE_UNFOLLOW,
                     (uint32_t)followed->node.key);
  tide_cluster_send(cluster, followed->home);
  tide_cluster_free_followed(cluster, followed);
  return true;
}

static const char *take_state(struct tide_cluster *cluster, uint32_t from, struct tide_fired *fired,
                              struct tide_diag *diag) {
  const struct tide_mirror_state *state = &cluster->message.state;
  const char *wrong = judge_state(cluster, from, state);
  if (wrong) return wrong;
  uint32_t number = cluster->message.number;
  struct tide_tree_node *node = tide_tree_at_least(&cluster->mirrors, number);
  if (!number || number > cluster->mirror_count) return "a state that I do not follow";
  if (!node || node->key != number) return NULL; /* it was on its way when I let it go */
  struct tide_followed *followed = TIDE_CONTAINER(node, struct tide_followed, node);
  if (followed->home != from) return "a state of another machine's timeline";
  if (forget_unused(cluster, followed)) return NULL;
  if (tide_cluster_traced(cluster)) tide_cluster_trace_received(cluster, followed, state);
  /* Before the value can be seen: a thread that awaits a receipt then finds the memory. */
  if (cluster->message.ended > followed->ended) followed->ended = cluster->message.ended;
  tide_cluster_end_receipts(followed, false);
  if (tide_mirror_take(followed->timeline, state, fired, diag) != TIDE_OK) return diag->text;
  followed->has_come = true;
  if (cluster->members[from].has_left) {
    struct tide_failure why = tide_cluster_leave_of(cluster, from);
    tide_mirror_lose(followed->timeline, &why, fired);
  }
  if (state->newest.value) note_axes(cluster, &state->newest, fired);
  for (size_t i = 0; i < state->pending_count; i++) note_axes(cluster, &state->pending[i], fired);
  return NULL;
}

/* Returns the axis of another machine, registered; NULL: it is closed, or there is no memory. */
static struct tide_tracker_axis *find_far_axis(struct tide_cluster *cluster, tide_axis number) {
  struct tide_tracker *tracker = cluster->context->tracker;
  struct tide_tracker_axis *axis = tide_tracker_find(tracker, number);
  if (axis || tide_tracker_register(tracker, number) != TIDE_OK) return axis;
  return tide_tracker_find(tracker, number);
}

bool tide_cluster_close_axis(struct tide_cluster *cluster, tide_axis number,
                             struct tide_fired *fired) {
  struct tide_tracker_axis *axis = find_far_axis(cluster, number);
  if (!axis && tide_tracker_epoch(cluster->context->tracker, number) != UINT64_MAX) return false;
  struct tide_tree_node *noted = tide_tree_at_least(&cluster->far_axes, number);
  if (axis) tide_tracker_close_collect(cluster->context->tracker, axis, fired);
  if (!noted || noted->key != number) return true;
  tide_cluster_ask_for_axes(cluster); /* this one may be wanted */
  tide_cluster_free_far_axis(cluster, TIDE_CONTAINER(noted, struct tide_far_axis, node));
  return true;
}

static const char *take_progress(struct tide_cluster *cluster, uint32_t from,
                                 struct tide_fired *fired) {
  const struct tide_message *message = &cluster->message;
  if (tide_axis_machine(message->axis) != from + 1) return "progress of another machine's axis";
  if (message->epoch == UINT64_MAX) {
    bool is_closed = tide_cluster_close_axis(cluster, message->axis, fired);
    return is_closed ? NULL : "there is no memory for its axis";
  }
  struct tide_tracker_axis *axis = find_far_axis(cluster, message->axis);
  if (axis) tide_tracker_advance_collect(cluster->context->tracker, axis, message->epoch, fired);
  return NULL;
}

/* ---- the window, and the end -------------------------------------------------------------- */

static void acknowledge(struct tide_cluster *cluster, uint32_t to) {
  struct tide_member *member = &cluster->members[to];
  if (!member->taken || (member->taken < cluster->window / 2 && !member->is_leaving)) return;
  tide_message_count(&cluster->writer, cluster->tag, TIDE_MESSAGE_ACK, member->taken);
  member->taken = 0;
  tide_cluster_send(cluster, to);
}

static const char *take_ack(struct tide_cluster *cluster, uint32_t from) {
  struct tide_member *member = &cluster->members[from];
  uint32_t count = cluster->message.number;
  if (count > member->in_flight) return "it acknowledges more than it was told";
  member->in_flight -= count;
  return NULL;
}

static const char *take_leaving(struct tide_cluster *cluster, uint32_t from) {
  cluster->members[from].is_leaving = true;
  cluster->members[from].is_to_note = true;
  return NULL;
}

static const char *take_noted(struct tide_cluster *cluster, uint32_t from) {
  struct tide_member *member = &cluster->members[from];
  if (!cluster->has_said_leaving) return "it notes that I am leaving, and I am not";
  member->has_noted = true;
  member->asked_all = cluster->message.number;
  return NULL;
}

static const char *take_bye(struct tide_cluster *cluster, uint32_t from, struct tide_fired *fired) {
  struct tide_failure why = tide_cluster_leave_of(cluster, from);
  cluster->members[from].has_left = true;
  for (struct tide_tree_node *at = cluster->mirrors.first; at; at = tide_tree_next(at)) {
    struct tide_followed *followed = TIDE_CONTAINER(at, struct tide_followed, node);
    if (followed->home != from) continue;
    /* A timeline that was asked for last has its first state still on its way. */
    if (followed->has_come) tide_mirror_lose(followed->timeline, &why, fired);
    tide_cluster_end_receipts(followed, true);
  }
  return NULL;
}

/* ---- all of them -------------------------------------------------------------------------- */

/* Takes in the decoded message. */
static const char *take(struct tide_cluster *cluster, uint32_t from, struct tide_fired *fired,
                        struct tide_diag *diag) {
  switch (cluster->message.kind) {
    case TIDE_MESSAGE_FOLLOW: return take_follow(cluster, from);
    case TIDE_MESSAGE_UNFOLLOW: return take_unfollow(cluster, from);
    case TIDE_MESSAGE_FOLLOW_AXIS: return take_follow_axis(cluster, from);
    case TIDE_MESSAGE_STATE:
      cluster->members[from].taken++;
      return take_state(cluster, from, fired, diag);
    case TIDE_MESSAGE_EXPORT:
      cluster->members[from].taken++;
      return tide_cluster_take_export(cluster, from);
    case TIDE_MESSAGE_PART:
      cluster->members[from].taken++;
      return tide_cluster_take_part(cluster, from, fired);
    case TIDE_MESSAGE_PROGRESS:
      cluster->members[from].taken++;
      return take_progress(cluster, from, fired);
    case TIDE_MESSAGE_ACK: return take_ack(cluster, from);
    case TIDE_MESSAGE_LEAVING: return take_leaving(cluster, from);
    case TIDE_MESSAGE_NOTED: return take_noted(cluster, from);
    case TIDE_MESSAGE_BYE: return take_bye(cluster, from, fired);
    case TIDE_MESSAGE_BEAT: return NULL;
    case TIDE_MESSAGE_LOST: break;
  }
  return "it says that a machine is lost that is no member";
}

void tide_cluster_receive(struct tide_cluster *cluster, uint32_t from, const void *bytes,
                          size_t size) {
  struct tide_message *message = &cluster->message;
  struct tide_diag diag = {.status = TIDE_OK};
  struct tide_fired fired;
  const char *wrong = NULL;
  if (tide_message_read(bytes, size, message, &diag) != TIDE_OK) {
    tide_cluster_lose(cluster, from, diag.text);
    return;
  }
  if (message->tag != cluster->tag) {
    tide_cluster_lose(cluster, from, "a message of another session");
    return;
  }
  if (message->kind == TIDE_MESSAGE_LOST && message->rank < cluster->count) {
    message->failure.status = TIDE_LOST;
    tide_cluster_fail(cluster, message->rank, &message->failure);
    return;
  }
  tide_fired_init(&fired);
  uint64_t now = cluster->context->platform->now(cluster->context->platform->self);
  tide_cluster_lock(cluster);
  cluster->members[from].heard_at = now;
  if (!cluster->is_lost && cluster->phase != TIDE_CLUSTER_OVER) {
    wrong = take(cluster, from, &fired, &diag);
    if (!wrong) acknowledge(cluster, from);
  }
  tide_cluster_unlock(cluster);
  tide_fired_run_calls(&fired, cluster->context);
  if (wrong) tide_cluster_lose(cluster, from, wrong);
  else cluster->transport.wake(cluster->transport.self);
}
