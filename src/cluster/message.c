#include "cluster/message.h"
#include "base/text.h"

/* ---- writing ------------------------------------------------------------------------- */

static void put(struct tide_message_writer *writer, const void *bytes, size_t size) {
  if (size > TIDE_MESSAGE_MOST - writer->size) {
    writer->full = true;
    return;
  }
  memcpy(writer->bytes + writer->size, bytes, size);
  writer->size += size;
}

static void put_number(struct tide_message_writer *writer, uint64_t number, size_t size) {
  unsigned char bytes[8];
  for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)(number >> 8 * i);
  put(writer, bytes, size);
}

static void put_text(struct tide_message_writer *writer, const char *text) {
  size_t length = 0;
  while (text[length] && length < 255) length++;
  put_number(writer, length, 1);
  put(writer, text, length);
}

/* Any number may have been given to tide_timeline_fail. */
static void put_status(struct tide_message_writer *writer, enum tide_status status) {
  put_number(writer, (unsigned)status < TIDE_STATUS_COUNT ? status : TIDE_FAILED, 4);
}

static void put_failure(struct tide_message_writer *writer, const struct tide_failure *failure) {
  put_status(writer, failure->status);
  put_number(writer, (uint32_t)failure->code, 4);
  put_number(writer, failure->sequence, 8);
  put_text(writer, failure->operation);
  put_text(writer, failure->queue);
  put_text(writer, failure->device);
  put_text(writer, failure->text);
}

void tide_message_begin(struct tide_message_writer *writer, uint64_t tag,
                        enum tide_message_kind kind) {
  writer->size = 0;
  writer->full = false;
  put_number(writer, tag, 8);
  put_number(writer, kind, 1);
}

void tide_message_follow(struct tide_message_writer *writer, uint64_t tag, uint32_t number,
                         const char *name) {
  tide_message_begin(writer, tag, TIDE_MESSAGE_FOLLOW);
  put_number(writer, number, 4);
  put_text(writer, name);
}

void tide_message_axis(struct tide_message_writer *writer, uint64_t tag,
                       enum tide_message_kind kind, tide_axis axis, uint64_t epoch) {
  tide_message_begin(writer, tag, kind);
  put_number(writer, axis, 8);
  put_number(writer, epoch, 8);
}

void tide_message_count(struct tide_message_writer *writer, uint64_t tag,
                        enum tide_message_kind kind, uint32_t count) {
  tide_message_begin(writer, tag, kind);
  put_number(writer, count, 4);
}

void tide_message_lost(struct tide_message_writer *writer, uint64_t tag, uint32_t rank,
                       const struct tide_failure *why) {
  tide_message_begin(writer, tag, TIDE_MESSAGE_LOST);
  put_number(writer, rank, 4);
  put_failure(writer, why);
}

void tide_message_export(struct tide_message_writer *writer, uint64_t tag, uint32_t number,
                         const struct tide_message_export *export) {
  tide_message_begin(writer, tag, TIDE_MESSAGE_EXPORT);
  put_number(writer, number, 4);
  put_number(writer, export->value, 8);
  put_number(writer, export->span.chunk, 8);
  put_number(writer, export->span.offset, 8);
  put_number(writer, export->span.size, 8);
  put_number(writer, export->receipt, 4);
  put_number(writer, export->receipt_value, 8);
}

void tide_message_part(struct tide_message_writer *writer, uint64_t tag, uint32_t number,
                       uint64_t instance, uint64_t kind) {
  tide_message_begin(writer, tag, TIDE_MESSAGE_PART);
  put_number(writer, number, 4);
  put_number(writer, instance, 8);
  put_number(writer, kind, 8);
}

void tide_message_state(struct tide_message_writer *writer, uint64_t tag, uint32_t number,
                        uint64_t ended, const struct tide_mirror_state *state) {
  tide_message_begin(writer, tag, TIDE_MESSAGE_STATE);
  put_number(writer, number, 4);
  put_number(writer, state->reached, 8);
  put_number(writer, state->fail_from, 8);
  put_number(writer, state->after, 8);
  put_number(writer, ended, 8);
  put_status(writer, state->status);
  put_number(writer, state->cause != NULL, 1);
  if (state->cause) put_failure(writer, state->cause);
  put_number(writer, state->newest.value != 0, 1);
}

bool tide_message_add_record(struct tide_message_writer *writer,
                             const struct tide_mirror_record *record) {
  size_t before = writer->size, size = 0;
  put_number(writer, record->value, 8);
  put_number(writer, record->axis, 8);
  put_number(writer, record->epoch, 8);
  if (record->axis && !writer->full) {
    unsigned char *at = writer->bytes + writer->size;
    enum tide_status status =
        tide_frontier_encode(record->frontier, at, TIDE_MESSAGE_MOST - writer->size, &size);
    if (status == TIDE_OK) writer->size += size;
    else writer->full = true;
  }
  if (writer->full) writer->size = before;
  return !writer->full;
}

/* ---- reading --------------------------------------------------------------------------- */

struct reader {
  const unsigned char *bytes;
  size_t size, at;
  const char *wrong; /* the fault at `at`; NULL: none */
};

static void fail(struct reader *reader, const char *wrong) {
  if (!reader->wrong) reader->wrong = wrong;
}

static uint64_t get_number(struct reader *reader, size_t size) {
  uint64_t number = 0;
  if (reader->wrong || size > reader->size - reader->at) {
    fail(reader, "the message is cut short");
    return 0;
  }
  for (size_t i = 0; i < size; i++) number |= (uint64_t)reader->bytes[reader->at + i] << 8 * i;
  reader->at += size;
  return number;
}

static void get_text(struct reader *reader, char *text, size_t size) {
  size_t length = (size_t)get_number(reader, 1);
  text[0] = 0;
  if (reader->wrong) return;
  if (length >= size) return fail(reader, "a text is too long");
  if (length > reader->size - reader->at) return fail(reader, "the message is cut short");
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = reader->bytes[reader->at + i];
    text[i] = byte < 32 || byte == 127 ? '?' : (char)byte; /* one line */
  }
  text[length] = 0;
  reader->at += length;
}

static enum tide_status get_status(struct reader *reader) {
  uint64_t status = get_number(reader, 4);
  if (status >= TIDE_STATUS_COUNT) fail(reader, "an unknown status");
  return (enum tide_status)status;
}

static void get_failure(struct reader *reader, struct tide_failure *out) {
  out->status = get_status(reader);
  out->code = (int32_t)(uint32_t)get_number(reader, 4);
  out->sequence = get_number(reader, 8);
  get_text(reader, out->operation, sizeof out->operation);
  get_text(reader, out->queue, sizeof out->queue);
  get_text(reader, out->device, sizeof out->device);
  get_text(reader, out->text, sizeof out->text);
  if (out->status == TIDE_OK) fail(reader, "a failure without a status");
}

/* Decodes a frontier into the message's memory, of which *used words are taken. */
static const struct tide_frontier *get_frontier(struct reader *reader, struct tide_message *out,
                                                size_t *used) {
  size_t left = reader->size - reader->at;
  if (reader->wrong || left < tide_frontier_wire_size(0)) {
    fail(reader, "the message is cut short");
    return NULL;
  }
  const unsigned char *at = reader->bytes + reader->at;
  size_t count = (size_t)at[2] | (size_t)at[3] << 8, size = tide_frontier_wire_size(count);
  size_t words = tide_frontier_size(count ? count : 1) / sizeof(uint64_t);
  if (count > TIDE_FRONTIER_CAPACITY_MAX || size > left ||
      words > sizeof out->frontiers / sizeof(uint64_t) - *used) {
    fail(reader, "a frontier is cut short");
    return NULL;
  }
  struct tide_frontier *frontier = (struct tide_frontier *)(void *)(out->frontiers + *used);
  tide_frontier_init(frontier, (uint8_t)count);
  if (tide_frontier_decode(at, size, frontier, NULL) != TIDE_OK) fail(reader, "a bad frontier");
  *used += words;
  reader->at += size;
  return frontier;
}

static void get_record(struct reader *reader, struct tide_message *out, size_t *used,
                       struct tide_mirror_record *record) {
  record->value = get_number(reader, 8);
  record->axis = get_number(reader, 8);
  record->epoch = get_number(reader, 8);
  record->frontier = record->axis ? get_frontier(reader, out, used) : NULL;
  if (!record->value) fail(reader, "a record of no value");
}

static void get_state(struct reader *reader, struct tide_message *out) {
  struct tide_mirror_state *state = &out->state;
  size_t used = 0;
  *state = (struct tide_mirror_state){.pending = out->pending};
  out->number = (uint32_t)get_number(reader, 4);
  state->reached = get_number(reader, 8);
  state->fail_from = get_number(reader, 8);
  state->after = get_number(reader, 8);
  out->ended = get_number(reader, 8);
  state->status = get_status(reader);
  out->has_cause = get_number(reader, 1) != 0;
  if (out->has_cause) get_failure(reader, &out->failure);
  if (out->has_cause) state->cause = &out->failure;
  if (get_number(reader, 1)) get_record(reader, out, &used, &state->newest);
  while (!reader->wrong && reader->at < reader->size) {
    if (state->pending_count == TIDE_MIRROR_PENDING) return fail(reader, "too many records");
    get_record(reader, out, &used, &out->pending[state->pending_count++]);
  }
}

static void get_export(struct reader *reader, struct tide_message *out) {
  struct tide_message_export *export = &out->export;
  out->number = (uint32_t)get_number(reader, 4);
  export->value = get_number(reader, 8);
  export->span.chunk = get_number(reader, 8);
  export->span.offset = get_number(reader, 8);
  export->span.size = get_number(reader, 8);
  export->receipt = (uint32_t)get_number(reader, 4);
  export->receipt_value = get_number(reader, 8);
  if (!export->value || !export->receipt_value) fail(reader, "an export of no value");
}

enum tide_status tide_message_read(const void *bytes, size_t size, struct tide_message *out,
                                   struct tide_diag *diag) {
  struct reader r = {.bytes = bytes, .size = size}, *reader = &r;
  if (size > TIDE_MESSAGE_MOST) fail(reader, "the message is too long");
  out->tag = get_number(reader, 8);
  out->kind = (enum tide_message_kind)get_number(reader, 1);
  switch (out->kind) {
    case TIDE_MESSAGE_FOLLOW:
      out->number = (uint32_t)get_number(reader, 4);
      get_text(reader, out->name, sizeof out->name);
      break;
    case TIDE_MESSAGE_FOLLOW_AXIS:
    case TIDE_MESSAGE_PROGRESS:
      out->axis = get_number(reader, 8);
      out->epoch = get_number(reader, 8);
      break;
    case TIDE_MESSAGE_STATE: get_state(reader, out); break;
    case TIDE_MESSAGE_EXPORT: get_export(reader, out); break;
    case TIDE_MESSAGE_PART:
      out->number = (uint32_t)get_number(reader, 4);
      out->instance = get_number(reader, 8);
      out->kind_of_part = get_number(reader, 8);
      break;
    case TIDE_MESSAGE_LOST:
      out->rank = (uint32_t)get_number(reader, 4);
      get_failure(reader, &out->failure);
      break;
    case TIDE_MESSAGE_UNFOLLOW:
    case TIDE_MESSAGE_ACK:
    case TIDE_MESSAGE_NOTED: out->number = (uint32_t)get_number(reader, 4); break;
    case TIDE_MESSAGE_LEAVING:
    case TIDE_MESSAGE_BEAT:
    case TIDE_MESSAGE_BYE: break;
    default: fail(reader, "an unknown kind of message");
  }
  if (!reader->wrong && reader->at != size) fail(reader, "bytes are left over");
  if (!reader->wrong) return TIDE_OK;
  return tide_diag_set(diag, TIDE_CORRUPT, "byte %zu of a message of %zu: %s", reader->at, size,
                       reader->wrong);
}
