/* The end of a session: all members leave, or one is lost. */
#include "base/alloc.h"
#include "base/text.h"
#include "cluster/cluster_state.h"
#include "timeline/pending_value.h"

void tide_cluster_announce(struct tide_cluster *cluster) {
  const struct tide_platform *platform = cluster->context->platform;
  tide_fetch_add(&cluster->news, 1u);
  platform->wake(platform->self, &cluster->news, UINT32_MAX);
}

/* ---- a loss ----------------------------------------------------------------------------- */

static void fail_mirrors(struct tide_cluster *cluster, const struct tide_failure *why,
                         struct tide_fired *fired) {
  for (struct tide_tree_node *at = cluster->mirrors.first; at; at = tide_tree_next(at))
    tide_mirror_lose(TIDE_CONTAINER(at, struct tide_followed, node)->timeline, why, fired);
}

static void tell_loss(struct tide_cluster *cluster, uint32_t rank, const struct tide_failure *why) {
  tide_message_lost(&cluster->writer, cluster->tag, rank, why);
  for (uint32_t i = 0; i < cluster->count; i++)
    if (i != cluster->rank) tide_cluster_send(cluster, i); /* also the lost one, if it lives */
}

/* `told`: the failure for the others; `why`: the failure here. */
static void end(struct tide_cluster *cluster, uint32_t rank, const struct tide_failure *told,
                const struct tide_failure *why) {
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_cluster_lock(cluster);
  if (cluster->is_lost || cluster->phase == TIDE_CLUSTER_OVER) {
    tide_cluster_unlock(cluster);
    return;
  }
  cluster->is_lost = true;
  cluster->failure = *why;
  if (tide_cluster_traced(cluster) && why->status == TIDE_LOST)
    tide_cluster_trace_lost(cluster, rank, why);
  fail_mirrors(cluster, why, &fired);
  tell_loss(cluster, rank, told);
  tide_cluster_unlock(cluster);
  tide_tracker_sever(cluster->context->tracker, (uint16_t)(cluster->rank + 1), why->status);
  tide_fired_run_calls(&fired, cluster->context);
  tide_cluster_announce(cluster);
}

void tide_cluster_fail(struct tide_cluster *cluster, uint32_t rank,
                       const struct tide_failure *why) {
  end(cluster, rank, why, why);
}

static struct tide_failure loss_of(const struct tide_cluster *cluster, uint32_t rank,
                                   const char *reason) {
  struct tide_failure why = {.status = TIDE_LOST};
  struct tide_text text;
  tide_text_init(&text, why.text, sizeof why.text);
  tide_text_format(&text, "machine %u (%s): %s", rank, cluster->members[rank].name, reason);
  return why;
}

void tide_cluster_lose(struct tide_cluster *cluster, uint32_t rank, const char *reason) {
  struct tide_failure why = loss_of(cluster, rank, reason);
  end(cluster, rank, &why, &why);
}

bool tide_cluster_lost(struct tide_cluster *cluster, struct tide_failure *out_failure) {
  tide_cluster_lock(cluster);
  bool is_lost = cluster->is_lost;
  if (is_lost && out_failure) *out_failure = cluster->failure;
  tide_cluster_unlock(cluster);
  return is_lost;
}

struct tide_failure tide_cluster_leave_of(const struct tide_cluster *cluster, uint32_t rank) {
  struct tide_failure why = {.status = TIDE_CANCELLED};
  struct tide_text text;
  tide_text_init(&text, why.text, sizeof why.text);
  tide_text_format(&text, "machine %u (%s) has left the session", rank,
                   cluster->members[rank].name);
  return why;
}

static void cancel_mirrors_of(struct tide_cluster *cluster, uint32_t rank,
                              struct tide_fired *fired) {
  struct tide_failure why = tide_cluster_leave_of(cluster, rank);
  for (struct tide_tree_node *at = cluster->mirrors.first; at; at = tide_tree_next(at)) {
    const struct tide_followed *followed = TIDE_CONTAINER(at, struct tide_followed, node);
    if (followed->home == rank) tide_mirror_lose(followed->timeline, &why, fired);
  }
}

/* The member reports no progress any more, and all its operations have finished. */
static void close_axes_of(struct tide_cluster *cluster, uint32_t rank, struct tide_fired *fired) {
  uint64_t first = (uint64_t)(rank + 1) << 48;
  struct tide_tree_node *node;
  while ((node = tide_tree_at_least(&cluster->far_axes, first)) &&
         tide_axis_machine(node->key) == rank + 1)
    (void)tide_cluster_close_axis(cluster, node->key, fired); /* it is registered */
}

void tide_cluster_gone(struct tide_cluster *cluster, uint32_t rank, const char *reason) {
  struct tide_member *member = &cluster->members[rank];
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_cluster_lock(cluster);
  bool has_left = member->has_left;
  if (has_left) {
    member->is_gone = true;
    member->in_flight = 0;
    close_axes_of(cluster, rank, &fired);
    cancel_mirrors_of(cluster, rank, &fired);
  }
  tide_cluster_unlock(cluster);
  tide_fired_run_calls(&fired, cluster->context);
  if (!has_left) tide_cluster_lose(cluster, rank, reason);
  else cluster->transport.wake(cluster->transport.self); /* this member may wait to leave */
}

/* ---- leaving ------------------------------------------------------------------------------ */

/* True if something that was sent to a member, such as BYE, has not gone yet. */
static bool has_unsent(const struct tide_cluster *cluster, uint32_t rank) {
  const struct tide_transport *transport = &cluster->transport;
  return transport->has_unsent && transport->has_unsent(transport->self, rank);
}

static bool have_left(const struct tide_cluster *cluster) {
  for (uint32_t i = 0; i < cluster->count; i++)
    if (i != cluster->rank && (!cluster->members[i].has_left || has_unsent(cluster, i)))
      return false;
  return true;
}

void tide_cluster_end_if_over(struct tide_cluster *cluster) {
  tide_cluster_lock(cluster);
  bool is_over = !cluster->is_lost && cluster->phase == TIDE_CLUSTER_SAID_BYE && have_left(cluster);
  if (is_over) cluster->phase = TIDE_CLUSTER_OVER;
  tide_cluster_unlock(cluster);
  if (!is_over) return;
  tide_tracker_sever(cluster->context->tracker, (uint16_t)(cluster->rank + 1), TIDE_CANCELLED);
  tide_cluster_announce(cluster);
}

/* Returns the number of buffers that a member has not read. */
static uint32_t count_unread(const struct tide_cluster *cluster, uint32_t rank) {
  uint32_t count = 0;
  for (struct tide_tree_node *at = cluster->mirrors.first; at; at = tide_tree_next(at)) {
    const struct tide_followed *followed = TIDE_CONTAINER(at, struct tide_followed, node);
    if (followed->home != rank) continue;
    for (const struct tide_link *link = followed->receipts.next; link != &followed->receipts;
         link = link->next)
      count++;
  }
  return count;
}

/* The deadline has passed: a member that holds up the others is lost. */
static void lose_slow(struct tide_cluster *cluster) {
  uint32_t rank = cluster->rank;
  char reason[96];
  struct tide_text text;
  tide_text_init(&text, reason, sizeof reason);
  tide_cluster_lock(cluster);
  for (uint32_t i = 0; i < cluster->count && rank == cluster->rank; i++)
    if (i != rank && !cluster->members[i].is_gone &&
        (cluster->members[i].in_flight || !cluster->members[i].has_left || has_unsent(cluster, i)))
      rank = i;
  uint32_t in_flight = cluster->members[rank].in_flight, unread = count_unread(cluster, rank);
  if (rank == cluster->rank)
    tide_text_format(&text, "operations that others follow had not ended when it was to leave");
  else if (in_flight)
    tide_text_format(&text, "it had not taken in %u states when others left", in_flight);
  else if (unread) tide_text_format(&text, "it had not read %u buffers when others left", unread);
  else if (cluster->members[rank].has_left)
    tide_text_format(&text, "it had not taken in that others left");
  else tide_text_format(&text, "it had not left when others did");
  tide_cluster_unlock(cluster);
  tide_cluster_lose(cluster, rank, reason);
}

/* From now on the changes of timelines without followers count, too: leaving waits for their
 * signals. Followers are told again, since receipts without an operation are over now. */
static void heed_all(struct tide_cluster *cluster) {
  for (struct tide_link *at = cluster->subjects.next; at != &cluster->subjects; at = at->next) {
    struct tide_subject *subject = TIDE_CONTAINER(at, struct tide_subject, link);
    if (subject->is_ignored) (void)tide_exchange(&subject->has_changed, 0u);
    subject->is_ignored = false;
    if (!subject->is_axis && subject->followers) (void)tide_subject_note(subject);
  }
}

void tide_cluster_begin_leave(struct tide_cluster *cluster) {
  tide_cluster_lock(cluster);
  if (cluster->phase == TIDE_CLUSTER_OPEN) {
    cluster->phase = TIDE_CLUSTER_LEAVING;
    heed_all(cluster);
  }
  tide_cluster_unlock(cluster);
  cluster->transport.wake(cluster->transport.self);
}

enum tide_status tide_cluster_leave(struct tide_cluster *cluster, uint64_t deadline) {
  const struct tide_platform *platform = cluster->context->platform;
  tide_cluster_begin_leave(cluster);
  for (bool is_late = false;;) {
    uint32_t news = tide_load_acquire(&cluster->news);
    tide_cluster_lock(cluster);
    bool is_lost = cluster->is_lost, is_over = cluster->phase == TIDE_CLUSTER_OVER;
    tide_cluster_unlock(cluster);
    if (is_over) return TIDE_OK;
    if (is_lost) return is_late ? TIDE_TIMEOUT : TIDE_LOST;
    is_late = platform->now(platform->self) >= deadline;
    if (is_late) lose_slow(cluster);
    else platform->wait(platform->self, &cluster->news, news, deadline);
  }
}

/* ---- the end ------------------------------------------------------------------------------ */

static void free_home(struct tide_cluster *cluster, struct tide_home *home) {
  if (home->timeline) {
    tide_timeline_end_follow(home->timeline, &home->follow);
    tide_timeline_let_go(home->timeline);
  }
  tide_cluster_free_exports(home);
  tide_cluster_free_untold_parts(home);
  tide_list_remove(&home->subject.link);
  tide_cluster_free_followers(cluster, &home->subject);
  tide_free(cluster->context->allocator, home, 1, sizeof *home);
}

static void end_axis(struct tide_cluster *cluster, struct tide_followed_axis *axis) {
  struct tide_context *context = cluster->context;
  bool never = !tide_load_acquire(&axis->is_waiting) ||
               tide_tracker_cancel_finish(context->tracker, &axis->wait);
  while (!never && tide_load_acquire(&axis->is_waiting))
    context->platform->yield(context->platform->self);
  while (tide_load_acquire(&cluster->calls)) context->platform->yield(context->platform->self);
  tide_cluster_free_axis(cluster, axis);
}

/* A session that is destroyed without leaving is a loss for the others. */
static void cancel(struct tide_cluster *cluster) {
  struct tide_failure why = {.status = TIDE_CANCELLED, .text = "the session was destroyed"};
  struct tide_failure told = loss_of(cluster, cluster->rank, "it has destroyed the session");
  end(cluster, cluster->rank, &told, &why);
  if (cluster->transport.end) cluster->transport.end(cluster->transport.self);
  cluster->transport.end = NULL; /* a context ends its session before it destroys it */
}

static void free_all(struct tide_cluster *cluster) {
  const struct tide_allocator *allocator = cluster->context->allocator;
  struct tide_tree_node *node;
  tide_cluster_free_collectives(cluster);
  while ((node = cluster->axes.first))
    end_axis(cluster, TIDE_CONTAINER(node, struct tide_followed_axis, node));
  while (!tide_list_empty(&cluster->subjects))
    free_home(cluster,
              tide_home_of(TIDE_CONTAINER(cluster->subjects.next, struct tide_subject, link)));
  while ((node = cluster->far_axes.first)) {
    tide_tracker_set_teller(cluster->context->tracker, node->key, NULL);
    tide_cluster_free_far_axis(cluster, TIDE_CONTAINER(node, struct tide_far_axis, node));
  }
  while ((node = cluster->mirrors.first))
    tide_cluster_free_followed(cluster, TIDE_CONTAINER(node, struct tide_followed, node));
  if (cluster->transport.free) cluster->transport.free(cluster->transport.self);
  tide_free(allocator, cluster->members, cluster->count, sizeof *cluster->members);
  tide_free(allocator, cluster, 1, sizeof *cluster);
}

void tide_cluster_destroy(struct tide_cluster *cluster) {
  if (!cluster) return;
  tide_context_disown(cluster->context, &cluster->owned);
  cancel(cluster);
  free_all(cluster);
}

/* ---- its context ---------------------------------------------------------------------------- */

static void end_owned(struct tide_owned *owned) {
  cancel(TIDE_CONTAINER(owned, struct tide_cluster, owned));
}
static void destroy_owned(struct tide_owned *owned) {
  tide_cluster_destroy(TIDE_CONTAINER(owned, struct tide_cluster, owned));
}
static const struct tide_owned_ops owned_ops = {.end = end_owned, .destroy = destroy_owned};

void tide_cluster_own(struct tide_cluster *cluster) {
  tide_context_own(cluster->context, TIDE_OWNED_CLUSTER, &cluster->owned, &owned_ops);
}
