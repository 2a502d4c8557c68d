/* A session in words: the loss, the other members, what each follows of another. */
#include "base/text.h"
#include "cluster/cluster_state.h"

static void describe_member(const struct tide_cluster *cluster, uint32_t rank, uint64_t now,
                            struct tide_text *text) {
  const struct tide_member *member = &cluster->members[rank];
  tide_text_format(text, "machine %u (%s): ", rank, member->name);
  if (member->has_left) {
    tide_text_format(text, "has left\n");
    return;
  }
  if (member->heard_at)
    tide_text_format(text, "silent for %lu ms",
                     (unsigned long)((now - member->heard_at) / 1000000u));
  else tide_text_format(text, "nothing heard yet");
  if (member->has_noted || member->is_leaving) tide_text_format(text, ", is leaving");
  tide_text_format(text, "; %u state%s in flight", member->in_flight,
                   member->in_flight == 1 ? "" : "s");
  if (member->in_flight >= cluster->window)
    tide_text_format(text, ", no more until it acknowledges them");
  tide_text_format(text, "\n");
}

/* Timelines of a member that are followed here. */
static void describe_mirrors(const struct tide_cluster *cluster, uint32_t rank,
                             struct tide_text *text) {
  for (struct tide_tree_node *at = cluster->mirrors.first; at; at = tide_tree_next(at)) {
    const struct tide_followed *followed = TIDE_CONTAINER(at, struct tide_followed, node);
    uint64_t awaited;
    if (followed->home != rank) continue;
    tide_text_format(text, "  '%s' is followed here: at %lu", followed->name,
                     (unsigned long)tide_timeline_query(followed->timeline));
    if (tide_timeline_awaited(followed->timeline, &awaited))
      tide_text_format(text, ", and %lu is awaited", (unsigned long)awaited);
    if (!followed->has_come) tide_text_format(text, "; no state of it has come");
    tide_text_format(text, "\n");
  }
}

/* A timeline of this member that another one follows. */
static void describe_home(const struct tide_home *home, bool is_untold, struct tide_text *text) {
  if (!home->timeline) {
    tide_text_format(text, "  it follows '%s', which is not published\n", home->name);
    return;
  }
  tide_text_format(text, "  it follows '%s': at %lu%s\n", home->name,
                   (unsigned long)tide_timeline_query(home->timeline),
                   is_untold ? ", which it has not been told" : "");
}

static void describe_followers(const struct tide_cluster *cluster, uint32_t rank,
                               struct tide_text *text) {
  for (struct tide_link *at = cluster->subjects.next; at != &cluster->subjects; at = at->next) {
    struct tide_subject *subject = TIDE_CONTAINER(at, struct tide_subject, link);
    for (const struct tide_follower *follower = subject->followers; follower && !subject->is_axis;
         follower = follower->next)
      if (follower->rank == rank)
        describe_home(tide_home_of(subject),
                      follower->is_untold || tide_load_acquire(&subject->has_changed), text);
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
    if (cluster->members[i].has_left) continue;
    describe_mirrors(cluster, i, &text);
    describe_followers(cluster, i, &text);
  }
  tide_cluster_unlock(cluster);
  return text.length;
}
