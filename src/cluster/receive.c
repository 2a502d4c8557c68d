/* What a session takes in. A message is judged as a whole before anything of it is believed. */
#include "base/alloc.h"
#include "base/text.h"
#include "cluster/cluster_state.h"
#include "timeline/pending_value.h"

/* ---- what others follow --------------------------------------------------------------- */

void tide_cluster_free_followers(struct tide_cluster *cluster, struct tide_link *followers) {
  while (!tide_list_empty(followers)) {
    struct tide_link *link = followers->next;
    tide_list_remove(link);
    tide_free(cluster->context->allocator, TIDE_CONTAINER(link, struct tide_follower, link), 1,
              sizeof(struct tide_follower));
  }
}

/* False: there is no memory. */
static bool add_follower(struct tide_cluster *cluster, struct tide_link *followers, uint32_t rank,
                         uint32_t number) {
  for (struct tide_link *at = followers->next; at != followers; at = at->next)
    if (TIDE_CONTAINER(at, struct tide_follower, link)->rank == rank) return true;
  struct tide_follower *follower = tide_alloc(cluster->context->allocator, 1, sizeof *follower);
  if (!follower) return false;
  follower->rank = rank;
  follower->number = number;
  tide_list_push_back(followers, &follower->link);
  return true;
}

/* Returns why the message cannot be taken in; NULL: it was. */
static const char *take_follow(struct tide_cluster *cluster, uint32_t from) {
  const struct tide_message *message = &cluster->message;
  if (!message->name[0]) return "it follows a timeline without a name";
  struct tide_home *home = tide_cluster_need_home(cluster, message->name);
  if (!home || !add_follower(cluster, &home->followers, from, message->number))
    return "there is no memory for what it follows";
  tide_store_release(&home->dirty, 1u);
  return NULL;
}

static struct tide_followed_axis *need_axis(struct tide_cluster *cluster, tide_axis axis) {
  struct tide_tree_node *node = tide_tree_at_least(&cluster->axes, axis);
  if (node && node->key == axis) return TIDE_CONTAINER(node, struct tide_followed_axis, node);
  struct tide_followed_axis *followed =
      tide_alloc(cluster->context->allocator, 1, sizeof *followed);
  if (!followed) return NULL;
  followed->cluster = cluster;
  tide_list_init(&followed->followers);
  (void)tide_tree_insert(&cluster->axes, &followed->node, axis);
  return followed;
}

static const char *take_follow_axis(struct tide_cluster *cluster, uint32_t from) {
  tide_axis axis = cluster->message.axis;
  uint64_t given;
  if (tide_axis_machine(axis) != cluster->rank + 1) return "it follows an axis that is not mine";
  if (!tide_tracker_given(cluster->context->tracker, axis, &given))
    return "it follows an axis that I have not given out";
  struct tide_followed_axis *followed = need_axis(cluster, axis);
  if (!followed || !add_follower(cluster, &followed->followers, from, 0))
    return "there is no memory for what it follows";
  tide_store_release(&followed->dirty, 1u);
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

static void follow_axes(struct tide_cluster *cluster, const struct tide_mirror_record *record) {
  struct tide_frontier_entry entry;
  if (!record->axis) return;
  for (struct tide_frontier_cursor at = tide_frontier_begin(record->frontier);
       tide_frontier_next(&at, &entry);)
    tide_cluster_follow_axis(cluster, entry.axis);
}

static const char *take_state(struct tide_cluster *cluster, uint32_t from, struct tide_fired *fired,
                              struct tide_diag *diag) {
  const struct tide_mirror_state *state = &cluster->message.state;
  const char *wrong = judge_state(cluster, from, state);
  if (wrong) return wrong;
  struct tide_followed *followed = NULL;
  for (struct tide_link *at = cluster->mirrors.next; at != &cluster->mirrors && !followed;
       at = at->next) {
    struct tide_followed *mirror = TIDE_CONTAINER(at, struct tide_followed, link);
    if (mirror->number == cluster->message.number && mirror->home == from) followed = mirror;
  }
  if (!followed) return "a state that I do not follow";
  if (tide_mirror_take(followed->timeline, state, fired, diag) != TIDE_OK) return diag->text;
  if (state->newest.value) follow_axes(cluster, &state->newest);
  for (size_t i = 0; i < state->pending_count; i++) follow_axes(cluster, &state->pending[i]);
  return NULL;
}

static const char *take_progress(struct tide_cluster *cluster, uint32_t from,
                                 struct tide_fired *fired) {
  struct tide_tracker *tracker = cluster->context->tracker;
  const struct tide_message *message = &cluster->message;
  if (tide_axis_machine(message->axis) != from + 1) return "progress of another machine's axis";
  struct tide_tracker_axis *axis = tide_tracker_find(tracker, message->axis);
  if (!axis && tide_tracker_register(tracker, message->axis) == TIDE_OK)
    axis = tide_tracker_find(tracker, message->axis);
  if (axis) tide_tracker_advance_collect(tracker, axis, message->epoch, fired);
  return NULL;
}

/* ---- all of them -------------------------------------------------------------------------- */

/* Takes in the decoded message, unless the session is lost. */
static const char *take(struct tide_cluster *cluster, uint32_t from, struct tide_fired *fired,
                        struct tide_diag *diag) {
  switch (cluster->message.kind) {
    case TIDE_MESSAGE_FOLLOW: return take_follow(cluster, from);
    case TIDE_MESSAGE_FOLLOW_AXIS: return take_follow_axis(cluster, from);
    case TIDE_MESSAGE_STATE: return take_state(cluster, from, fired, diag);
    case TIDE_MESSAGE_PROGRESS: return take_progress(cluster, from, fired);
    case TIDE_MESSAGE_LOST: break;
  }
  return NULL;
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
  if (message->tag != cluster->tag) return; /* of another session */
  if (message->kind == TIDE_MESSAGE_LOST && message->rank < cluster->count) {
    tide_cluster_fail(cluster, message->rank, &message->failure);
    return;
  }
  tide_fired_init(&fired);
  tide_cluster_lock(cluster);
  if (!cluster->is_lost) wrong = take(cluster, from, &fired, &diag);
  tide_cluster_unlock(cluster);
  tide_fired_run_calls(&fired, cluster->context);
  if (wrong) tide_cluster_lose(cluster, from, wrong);
  else cluster->transport.wake(cluster->transport.self);
}
