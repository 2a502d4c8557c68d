/* Asking a service about everybody. */
#include "base/memory.h"
#include "service/session.h"

static enum tide_status ask(struct tide_session *session, enum tide_stats_about about,
                            uint32_t number, uint64_t value, struct tide_wire_message *answer) {
  struct tide_wire_record record = {
      .command = {.op = TIDE_WIRE_STATS, .object = {about, 0}, .number = number, .value = value}};
  tide_session_lock(session);
  enum tide_status status = tide_session_ask(session, &record, TIDE_FOREVER, answer, NULL);
  tide_session_unlock(session);
  return status;
}

enum tide_status tide_session_client_stats(struct tide_session *session, uint32_t index,
                                           struct tide_session_client_stats *out_stats) {
  struct tide_wire_message answer;
  enum tide_status status = ask(session, TIDE_STATS_CLIENT, index, 0, &answer);
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
                                                  .spent = n[15]};
  memcpy(out_stats->label, answer.label, sizeof out_stats->label);
  out_stats->label[sizeof out_stats->label - 1] = 0;
  return TIDE_OK;
}

enum tide_status tide_session_channel_stats(struct tide_session *session, uint32_t client,
                                            uint32_t index,
                                            struct tide_session_channel_stats *out_stats) {
  struct tide_wire_message answer;
  enum tide_status status = ask(session, TIDE_STATS_CHANNEL, client, index, &answer);
  if (status != TIDE_OK) return status;
  *out_stats = (struct tide_session_channel_stats){.priority = (uint8_t)answer.numbers[0],
                                                   .submitted = answer.numbers[1],
                                                   .over = answer.numbers[2],
                                                   .capacity = (uint32_t)answer.numbers[3]};
  memcpy(out_stats->label, answer.label, sizeof out_stats->label);
  out_stats->label[sizeof out_stats->label - 1] = 0;
  return TIDE_OK;
}

enum tide_status tide_session_diagnose(struct tide_session *session, char *buffer, size_t size,
                                       size_t *out_length) {
  struct tide_wire_message answer;
  size_t at = 0;
  for (;;) {
    enum tide_status status = ask(session, TIDE_STATS_DIAGNOSIS, 0, at, &answer);
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
