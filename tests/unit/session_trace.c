/* What crosses between the members of a session, as events and as a trace shows it. Two members,
 * and the messages between them in order. */
#include "cluster/cluster_state.h"
#include "harness.h"
#include "tidemark/tidemark.h"
#include "tidemark/trace.h"

#include <stdio.h>
#include <string.h>

#define MESSAGES 64
#define NOTES 32

struct note {
  enum tide_event_kind kind;
  uint32_t detail;
  uint64_t value, cause_value, axis, epoch;
  enum tide_status status;
  char label[32], object[32], failure[160];
  bool has_frontier;
};

struct member {
  uint32_t rank;
  struct tide_lease lease;
  struct tide_context *context;
  struct tide_cluster *session;
  struct tide_timeline *line;
  bool is_awake;
};

struct message {
  uint32_t from, to;
  size_t size;
  unsigned char bytes[TIDE_MESSAGE_MOST];
};

static struct member members[2];
static struct message messages[MESSAGES];
static uint32_t message_count, note_count;
static struct note notes[NOTES];
static struct tide_trace *trace;

/* ---- two members -------------------------------------------------------------------------- */

static void take_note(void *self, const struct tide_event *event) {
  (void)self;
  bool is_crossing = event->kind == TIDE_EVENT_SEND || event->kind == TIDE_EVENT_RECEIVE ||
                     event->kind == TIDE_EVENT_LOST;
  tide_trace_sink(trace)->event(tide_trace_sink(trace)->self, event);
  if (!is_crossing && event->kind != TIDE_EVENT_SIGNAL) return;
  CHECK(note_count < NOTES && event->time);
  struct note *note = &notes[note_count++];
  *note = (struct note){.kind = event->kind,
                        .detail = event->detail,
                        .value = event->value,
                        .cause_value = event->cause_value,
                        .axis = event->axis,
                        .epoch = event->epoch,
                        .status = event->status,
                        .has_frontier = event->frontier};
  snprintf(note->label, sizeof note->label, "%s", event->label ? event->label : "");
  snprintf(note->object, sizeof note->object, "%s", event->object_label ? event->object_label : "");
  if (event->failure) snprintf(note->failure, sizeof note->failure, "%s", event->failure->text);
}
static const struct tide_sink sink = {.event = take_note, .wants_time = true};

static void send_message(void *self, uint32_t to, const void *bytes, size_t size) {
  const struct member *m = self;
  CHECK(message_count < MESSAGES);
  struct message *message = &messages[message_count++];
  message->from = m->rank;
  message->to = to;
  message->size = size;
  memcpy(message->bytes, bytes, size);
}
static void wake(void *self) { ((struct member *)self)->is_awake = true; }

static void open_member(uint32_t rank, const struct tide_sink *events) {
  static const char *const names[] = {"producer, pid 70", "consumer, pid 71"};
  struct member *m = &members[rank];
  *m = (struct member){.rank = rank};
  tide_lease_init(&m->lease, (uint16_t)(rank + 1));
  CHECK_OK(tide_context_create(TIDE_PARAMS(tide_context_params, .lease = &m->lease, .sink = events),
                               &m->context));
  struct tide_cluster_setup setup = {.context = m->context,
                                     .rank = rank,
                                     .count = 2,
                                     .tag = 1,
                                     .window = TIDE_CLUSTER_WINDOW,
                                     .transport = {.self = m, .send = send_message, .wake = wake},
                                     .names = names};
  CHECK_OK(tide_cluster_create(&setup, &m->session));
}

/* All is told and taken in. */
static void settle(void) {
  for (bool any = true; any;) {
    any = message_count > 0;
    for (uint32_t i = 0; i < message_count; i++) {
      static struct message message;
      message = messages[i];
      tide_cluster_receive(members[message.to].session, message.from, message.bytes, message.size);
      if (i + 1 == message_count) message_count = 0;
    }
    for (uint32_t i = 0; i < 2; i++) {
      any |= members[i].is_awake;
      if (members[i].is_awake) tide_cluster_tell(members[i].session);
      members[i].is_awake = false;
    }
  }
}

/* Member 0 publishes "loaded", which member 1 follows; `rank` is the one with the sink. */
static void open_both(uint32_t rank) {
  note_count = message_count = 0;
  CHECK_OK(tide_trace_create(TIDE_PARAMS(tide_trace_params, .platform = tide_platform_linux(),
                                         .allocator = tide_allocator_system()),
                             &trace));
  for (uint32_t i = 0; i < 2; i++) open_member(i, i == rank ? &sink : NULL);
  CHECK_OK(tide_timeline_create(members[0].context,
                                TIDE_PARAMS(tide_timeline_params, .scope = TIDE_SCOPE_SYSTEM),
                                &members[0].line));
  CHECK_OK(tide_cluster_publish(members[0].session, "loaded", members[0].line));
  CHECK_OK(tide_cluster_follow(members[1].session, 0, "loaded", &members[1].line));
  settle();
  note_count = 0;
}
static void close_both(void) {
  for (uint32_t i = 0; i < 2; i++) tide_context_destroy(members[i].context);
  tide_trace_destroy(trace);
}

/* ---- operations of member 0 ------------------------------------------------------------------ */

static void kick(void *self) { (void)self; }
static struct tide_backend backend = {.name = "hand", .in_order = true, .kick = kick};
static enum tide_status never(void *arguments) {
  (void)arguments;
  return TIDE_FAILED;
}
static const struct tide_body_class body = {.name = "body", .host = never};
static struct tide_device *device;
static struct tide_queue *queue;

static void open_queue(void) {
  CHECK_OK(tide_device_open(members[0].context, &backend, "hand", &device));
  CHECK_OK(tide_queue_create(device, NULL, &queue));
}
static struct tide_work *begin(uint64_t value) {
  struct tide_work *work;
  struct tide_signal signal = {.timeline = members[0].line, .value = value};
  struct tide_operation operation = {.body = &body, .signals = &signal, .signal_count = 1};
  CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
  CHECK(tide_device_exchange(device, NULL, 0, &work, 1, NULL) == 1);
  settle();
  return work;
}
static void end(struct tide_work *work, enum tide_status status) {
  work->status = status;
  tide_device_exchange(device, &work, 1, NULL, 0, NULL);
  settle();
}

/* ---- events ------------------------------------------------------------------------------
 */

static const struct note *next(uint32_t *at, enum tide_event_kind kind) {
  while (*at < note_count && notes[*at].kind != kind) (*at)++;
  if (*at == note_count) FAIL("no event of kind %d is left", (int)kind);
  return &notes[(*at)++];
}

static void check_record(const struct note *note, enum tide_received received, uint64_t value,
                         uint64_t epoch) {
  tide_axis axis = tide_queue_axis(queue);
  CHECK_EQ_U64(note->detail, (uint64_t)received); /* of rank 0 */
  CHECK_EQ_U64(note->value, value);
  CHECK_EQ_U64(note->axis, epoch ? axis : 0);
  CHECK_EQ_U64(note->epoch, epoch);
  CHECK(note->has_frontier == (epoch != 0));
  CHECK_EQ_STR(note->label, "producer, pid 70");
  CHECK_EQ_STR(note->object, "loaded");
}

TEST(records_that_come_are_traced_once) {
  uint32_t at = 0;
  open_both(1);
  open_queue();
  struct tide_work *work = begin(1);
  check_record(next(&at, TIDE_EVENT_RECEIVE), TIDE_RECEIVED_PROMISE, 1, 1);
  CHECK_EQ_U64(note_count, 1);
  end(work, TIDE_OK);
  check_record(next(&at, TIDE_EVENT_RECEIVE), TIDE_RECEIVED_VALUE, 1, 1);
  CHECK_EQ_U64(next(&at, TIDE_EVENT_SIGNAL)->value, 1); /* behind its record */
  CHECK_EQ_U64(note_count, 3);
  CHECK_OK(tide_timeline_signal_external(members[0].line, 2));
  settle();
  check_record(next(&at, TIDE_EVENT_RECEIVE), TIDE_RECEIVED_VALUE, 2, 0);
  at = note_count;
  work = begin(3);
  end(work, TIDE_IO);
  check_record(next(&at, TIDE_EVENT_RECEIVE), TIDE_RECEIVED_PROMISE, 3, 2);
  const struct note *failed = next(&at, TIDE_EVENT_RECEIVE);
  check_record(failed, TIDE_RECEIVED_FAILURE, 3, 0);
  CHECK(failed->status == TIDE_IO && failed->failure[0]);
  /* A state that tells it again tells no news. */
  uint32_t count = note_count;
  tide_subject_change(&tide_cluster_need_home(members[0].session, "loaded")->subject);
  settle();
  CHECK_EQ_U64(note_count, count);
  close_both();
}

TEST(states_that_are_sent_are_traced) {
  uint32_t at = 0;
  open_both(0);
  open_queue();
  struct tide_work *work = begin(1);
  const struct note *sent = next(&at, TIDE_EVENT_SEND);
  CHECK(sent->value == 0 && sent->cause_value == 1 && sent->detail == 1u << 8);
  CHECK_EQ_STR(sent->label, "consumer, pid 71");
  CHECK_EQ_STR(sent->object, "loaded");
  end(work, TIDE_OK);
  sent = next(&at, TIDE_EVENT_SEND);
  CHECK(sent->value == 1 && sent->cause_value == 0);
  close_both();
}

TEST(a_loss_is_traced_once) {
  uint32_t at = 0;
  open_both(1);
  tide_cluster_gone(members[1].session, 0, "its process has ended");
  tide_cluster_gone(members[1].session, 0, "once more");
  const struct note *lost = next(&at, TIDE_EVENT_LOST);
  CHECK(lost->status == TIDE_LOST && lost->detail == 0);
  CHECK_EQ_STR(lost->failure, "machine 0 (producer, pid 70): its process has ended");
  CHECK_EQ_U64(note_count, at);
  close_both();
  open_both(1);
  tide_cluster_destroy(members[1].session); /* a session that is destroyed has lost no member */
  CHECK_EQ_U64(note_count, 0);
  close_both();
}

/* ---- the file ----------------------------------------------------------------------------------
 */

static char written[1 << 16];
static size_t written_size;

static enum tide_status keep_text(void *self, const char *text, size_t size) {
  (void)self;
  CHECK(written_size + size < sizeof written);
  memcpy(written + written_size, text, size);
  written_size += size;
  return TIDE_OK;
}

static void expect_written(const char *text) {
  if (!strstr(written, text)) FAIL("no %s in %s", text, written);
}

TEST(a_trace_has_a_track_for_each_member) {
  open_both(1);
  open_queue();
  struct tide_work *work = begin(5);
  end(work, TIDE_OK);
  struct tide_timeline *back;
  CHECK_OK(tide_timeline_create(
      members[1].context, TIDE_PARAMS(tide_timeline_params, .scope = TIDE_SCOPE_SYSTEM), &back));
  CHECK_OK(tide_cluster_publish(members[1].session, "summed", back));
  struct tide_timeline *mirror;
  CHECK_OK(tide_cluster_follow(members[0].session, 1, "summed", &mirror));
  settle();
  CHECK_OK(tide_timeline_signal_external(back, 4));
  settle();
  tide_cluster_gone(members[1].session, 0, "its process has ended");
  CHECK_OK(tide_trace_write(trace, &(struct tide_trace_writer){.write = keep_text}));
  expect_written("\"thread_name\",\"args\":{\"name\":\"machine 0 (producer, pid 70)\"}");
  expect_written("\"cat\":\"session\",\"name\":\"loaded: 5 promised\"");
  expect_written("\"cat\":\"session\",\"name\":\"loaded: 5 reached\"");
  expect_written("\"args\":{\"status\":\"TIDE_OK\",\"signaller\":\"queue:1.1\",\"epoch\":1}");
  expect_written("\"cat\":\"session\",\"name\":\"summed: 4 sent\"");
  expect_written("\"cat\":\"session\",\"name\":\"lost\"");
  expect_written("\"failure\":\"machine 0 (producer, pid 70): its process has ended\"");
  close_both();
}

TEST_MAIN(CASE(records_that_come_are_traced_once), CASE(states_that_are_sent_are_traced),
          CASE(a_loss_is_traced_once), CASE(a_trace_has_a_track_for_each_member))
