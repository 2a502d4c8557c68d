/* Requests for the statistics of a service and all its clients. */
#include "base/alloc.h"
#include "service/session.h"

static enum tide_status request_stats(struct tide_session *session, enum tide_stats_about about,
                                      uint32_t index, uint64_t client, uint64_t value,
                                      struct tide_wire_message *answer) {
  struct tide_wire_record record = {.command = {.op = TIDE_WIRE_STATS,
                                                .object = {about, 0},
                                                .number = index,
                                                .deadline = client,
                                                .value = value}};
  tide_session_lock(session);
  enum tide_status status = tide_session_ask_soon(session, &record, answer);
  tide_session_unlock(session);
  return status;
}

static void take_label(char label[TIDE_WIRE_LABEL], const struct tide_wire_message *answer) {
  memcpy(label, answer->label, TIDE_WIRE_LABEL);
  label[TIDE_WIRE_LABEL - 1] = 0;
}

enum tide_status tide_session_client_stats(struct tide_session *session, uint32_t index,
                                           struct tide_session_client_stats *out_stats) {
  struct tide_wire_message answer;
  enum tide_status status = request_stats(session, TIDE_STATS_CLIENT, index, 0, 0, &answer);
  if (status != TIDE_OK) return status;
  const uint64_t *n = answer.numbers;
  *out_stats = (struct tide_session_client_stats){.client = answer.owner,
                                                  .uid = (uint32_t)n[0],
                                                  .pid = (uint32_t)n[1],
                                                  .trusted = n[2] != 0,
                                                  .promised = n[3],
                                                  .kept = n[4],
                                                  .broken = n[5],
                                                  .missed = n[6],
                                                  .timelines = (uint32_t)n[7],
                                                  .parts = (uint32_t)n[8],
                                                  .channels = (uint32_t)n[9],
                                                  .grants = (uint32_t)n[10],
                                                  .waits = (uint32_t)n[11],
                                                  .bytes = n[12],
                                                  .commands = n[13],
                                                  .refused = n[14],
                                                  .spent = n[15],
                                                  .rounds = answer.value,
                                                  .paced = answer.more};
  take_label(out_stats->label, &answer);
  return TIDE_OK;
}

enum tide_status tide_session_channel_stats(struct tide_session *session, uint64_t client,
                                            uint32_t index,
                                            struct tide_session_channel_stats *out_stats) {
  struct tide_wire_message answer;
  enum tide_status status =
      client ? request_stats(session, TIDE_STATS_CHANNEL, 0, client, index, &answer)
             : tide_session_no_name(session);
  if (status != TIDE_OK) return status;
  *out_stats = (struct tide_session_channel_stats){.priority = (uint8_t)answer.numbers[0],
                                                   .submitted = answer.numbers[1],
                                                   .over = answer.numbers[2],
                                                   .capacity = (uint32_t)answer.numbers[3],
                                                   .base = (uint8_t)answer.numbers[4],
                                                   .failure = (enum tide_status)answer.numbers[5]};
  take_label(out_stats->label, &answer);
  return TIDE_OK;
}

enum tide_status tide_session_timeline_stats(struct tide_session *session, uint64_t client,
                                             uint32_t *place,
                                             struct tide_session_timeline_stats *out_stats) {
  struct tide_wire_message answer;
  enum tide_status status =
      client ? request_stats(session, TIDE_STATS_TIMELINE, 0, client, *place, &answer)
             : tide_session_no_name(session);
  if (status != TIDE_OK) return status;
  const uint64_t *n = answer.numbers;
  *out_stats = (struct tide_session_timeline_stats){.kind = (enum tide_session_timeline_kind)n[0],
                                                    .timeline = answer.name.handle,
                                                    .generation = answer.name.generation,
                                                    .value = n[1],
                                                    .newest = n[2],
                                                    .owed = n[3],
                                                    .queued = n[4],
                                                    .broken = n[5],
                                                    .oldest_deadline = n[6],
                                                    .capacity = (uint32_t)n[7],
                                                    .parts = (uint32_t)n[8],
                                                    .cut = n[9] != 0};
  take_label(out_stats->label, &answer);
  *place = (uint32_t)answer.more;
  return TIDE_OK;
}

enum tide_status tide_session_diagnose(struct tide_session *session, char *buffer, size_t size,
                                       size_t *out_length) {
  struct tide_wire_message answer;
  size_t at = 0;
  for (;;) {
    enum tide_status status = request_stats(session, TIDE_STATS_DIAGNOSIS, 0, 0, at, &answer);
    if (status != TIDE_OK) return status;
    size_t piece = answer.value > sizeof answer.numbers ? 0 : (size_t)answer.value;
    if (at + piece >= size) piece = size ? size - 1 - at : 0;
    if (piece) memcpy(buffer + at, answer.numbers, piece);
    at += piece;
    if (piece < sizeof answer.numbers) break;
  }
  if (size) buffer[at] = 0;
  *out_length = at;
  return TIDE_OK;
}
