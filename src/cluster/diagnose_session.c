/* What a member knows of the others, in words. */
#include "base/text.h"
#include "cluster/cluster_state.h"

static uint32_t count_followed_by(struct tide_cluster *cluster, uint32_t rank) {
  uint32_t count = 0;
  for (struct tide_link *at = cluster->subjects.next; at != &cluster->subjects; at = at->next) {
    const struct tide_subject *subject = TIDE_CONTAINER(at, struct tide_subject, link);
    for (const struct tide_follower *follower = subject->followers; follower && !subject->is_axis;
         follower = follower->next)
      count += follower->rank == rank;
  }
  return count;
}

static void describe_member(struct tide_cluster *cluster, uint32_t rank, uint64_t now,
                            struct tide_text *text) {
  const struct tide_member *member = &cluster->members[rank];
  tide_text_format(text, "machine %u (%s): ", rank, member->name);
  if (member->has_left) {
    tide_text_format(text, "has left\n");
    return;
  }
  uint32_t followed = count_followed_by(cluster, rank);
  if (member->heard_at)
    tide_text_format(text, "last heard of %lu ms ago",
                     (unsigned long)((now - member->heard_at) / 1000000u));
  else tide_text_format(text, "nothing heard yet");
  if (member->has_noted || member->is_leaving) tide_text_format(text, ", is leaving");
  tide_text_format(text, "; follows %u timeline%s", followed, followed == 1 ? "" : "s");
  if (member->in_flight)
    tide_text_format(text, ", %u state%s not acknowledged", member->in_flight,
                     member->in_flight == 1 ? "" : "s");
  tide_text_format(text, "\n");
}

/* Timelines of a member that something waits for here. */
static void describe_awaited(struct tide_cluster *cluster, uint32_t rank, struct tide_text *text) {
  for (struct tide_tree_node *at = cluster->mirrors.first; at; at = tide_tree_next(at)) {
    const struct tide_followed *followed = TIDE_CONTAINER(at, struct tide_followed, node);
    uint64_t awaited;
    if (followed->home != rank || !tide_timeline_awaited(followed->timeline, &awaited)) continue;
    tide_text_format(text, "  '%s' is at %lu, and %lu is awaited\n", followed->name,
                     (unsigned long)tide_timeline_query(followed->timeline),
                     (unsigned long)awaited);
  }
}

size_t tide_cluster_diagnose(struct tide_cluster *cluster, char *buffer, size_t size) {
  const struct tide_platform *platform = cluster->context->platform;
  struct tide_text text;
  tide_text_init(&text, buffer, size);
  tide_cluster_lock(cluster);
  uint64_t now = platform->now(platform->self); /* no message has come later */
  if (cluster->is_lost) tide_text_format(&text, "lost: %s\n", cluster->failure.text);
  for (uint32_t i = 0; i < cluster->count; i++) {
    if (i == cluster->rank) continue;
    describe_member(cluster, i, now, &text);
    describe_awaited(cluster, i, &text);
  }
  tide_cluster_unlock(cluster);
  return text.length;
}
