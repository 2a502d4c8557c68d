/* Silence. A member that is stopped, or cut off, ends no connection. So neighbours in the ring of
 * ranks send each other a beat when nothing else has gone for a while, and a neighbour that has
 * been silent for too long is lost. Every member has two that watch it. A neighbour that has left
 * is lost no more, but it waits for the others, watches them, and so gets beats. */
#include "base/text.h"
#include "cluster/cluster_state.h"

#define BEATS_IN_A_SILENCE 8u
#define LONGEST_PERIOD 250000000u /* ns */

uint64_t tide_cluster_beat_period(const struct tide_cluster *cluster) {
  uint64_t period = cluster->silence / BEATS_IN_A_SILENCE;
  return period < LONGEST_PERIOD ? period : LONGEST_PERIOD;
}

/* True if the rank is another member, whose end of the transport has not ended. */
static bool is_there(const struct tide_cluster *cluster, uint32_t rank) {
  return rank != cluster->rank && !cluster->members[rank].is_gone;
}

/* Sends a beat unless something has gone since the last one. */
static void beat(struct tide_cluster *cluster, uint32_t rank, uint64_t now) {
  struct tide_member *member = &cluster->members[rank];
  if (now - member->sent_at < tide_cluster_beat_period(cluster)) return;
  tide_message_begin(&cluster->writer, cluster->tag, TIDE_MESSAGE_BEAT);
  tide_cluster_send(cluster, rank);
}

/* Returns how long the member has been silent while this one looked. */
static uint64_t silence_of(const struct tide_cluster *cluster, uint32_t rank, uint64_t now) {
  uint64_t heard_at = cluster->members[rank].heard_at;
  uint64_t since = heard_at > cluster->watched_from ? heard_at : cluster->watched_from;
  return now - since;
}

/* Returns a neighbour that is lost; the own rank: none is. */
static uint32_t watch(struct tide_cluster *cluster, uint64_t now, uint64_t *out_silence) {
  uint32_t neighbours[2] = {(cluster->rank + 1) % cluster->count,
                            (cluster->rank + cluster->count - 1) % cluster->count};
  for (uint32_t i = 0; i < 2; i++) {
    if (!is_there(cluster, neighbours[i])) continue;
    beat(cluster, neighbours[i], now);
    if (cluster->members[neighbours[i]].has_left) continue;
    *out_silence = silence_of(cluster, neighbours[i], now);
    if (*out_silence > cluster->silence) return neighbours[i];
  }
  return cluster->rank;
}

void tide_cluster_beat(struct tide_cluster *cluster) {
  const struct tide_platform *platform = cluster->context->platform;
  uint64_t now = platform->now(platform->self), silence = 0;
  uint32_t lost = cluster->rank;
  if (!cluster->silence) return;
  tide_cluster_lock(cluster);
  /* This process was stopped itself, or the computer slept: messages of that time may not be here
   * yet. */
  if (now - cluster->watched_at > cluster->silence / 2) cluster->watched_from = now;
  cluster->watched_at = now;
  if (!cluster->is_lost && cluster->phase != TIDE_CLUSTER_OVER)
    lost = watch(cluster, now, &silence);
  tide_cluster_unlock(cluster);
  if (lost == cluster->rank) return;
  char reason[64];
  struct tide_text text;
  tide_text_init(&text, reason, sizeof reason);
  tide_text_format(&text, "silent for %lu ms", (unsigned long)(silence / 1000000u));
  tide_cluster_lose(cluster, lost, reason);
}
