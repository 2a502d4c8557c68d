/* Events of a session: records that cross between its members, and a loss. */
#include "cluster/cluster_state.h"

static void emit(const struct tide_cluster *cluster, struct tide_event *event, uint32_t rank) {
  const struct tide_platform *platform = cluster->context->platform;
  const struct tide_sink *sink = cluster->context->sink;
  event->detail |= rank << 8;
  event->label = cluster->members[rank].name;
  event->thread = platform->thread_id(platform->self);
  event->time = sink->wants_time ? platform->now(platform->self) : 0;
  sink->event(sink->self, event);
}

void tide_cluster_trace_sent(const struct tide_cluster *cluster,
                             const struct tide_follower *follower) {
  const struct tide_home *home = tide_home_of(follower->subject);
  struct tide_event event = {.kind = TIDE_EVENT_SEND,
                             .value = home->told,
                             .cause_value = follower->told > home->told ? follower->told : 0,
                             .object = home->timeline,
                             .object_label = home->name};
  emit(cluster, &event, follower->rank);
}

static void emit_record(const struct tide_cluster *cluster, const struct tide_followed *followed,
                        enum tide_received kind, const struct tide_mirror_record *record) {
  struct tide_event event = {.kind = TIDE_EVENT_RECEIVE,
                             .detail = (uint32_t)kind,
                             .axis = record->axis,
                             .epoch = record->axis ? record->epoch : 0,
                             .frontier = record->axis ? record->frontier : NULL,
                             .value = record->value,
                             .object = followed->timeline,
                             .object_label = followed->name};
  emit(cluster, &event, followed->home);
}

void tide_cluster_trace_received(const struct tide_cluster *cluster,
                                 const struct tide_followed *followed,
                                 const struct tide_mirror_state *state) {
  const struct tide_mirror_record *newest = &state->newest;
  uint64_t reached = tide_timeline_query(followed->timeline);
  if (newest->value > reached) emit_record(cluster, followed, TIDE_RECEIVED_VALUE, newest);
  if (state->reached > reached && state->reached > newest->value) {
    const struct tide_mirror_record last = {.value = state->reached}; /* its own has not come */
    emit_record(cluster, followed, TIDE_RECEIVED_VALUE, &last);
  }
  for (size_t i = 0; i < state->pending_count; i++)
    emit_record(cluster, followed, TIDE_RECEIVED_PROMISE, &state->pending[i]);
  if (state->fail_from == UINT64_MAX ||
      tide_timeline_has_failed(followed->timeline, state->fail_from))
    return;
  struct tide_event event = {.kind = TIDE_EVENT_RECEIVE,
                             .detail = TIDE_RECEIVED_FAILURE,
                             .value = state->fail_from,
                             .object = followed->timeline,
                             .object_label = followed->name,
                             .status = state->status,
                             .failure = state->cause};
  emit(cluster, &event, followed->home);
}

void tide_cluster_trace_lost(const struct tide_cluster *cluster, uint32_t rank,
                             const struct tide_failure *why) {
  struct tide_event event = {.kind = TIDE_EVENT_LOST, .status = why->status, .failure = why};
  emit(cluster, &event, rank);
}
