/* Messages between members of a session. Of any bytes all reads are within bounds, and a refused
 * message says why. A session that takes them in is well, or lost by a sentence that names the
 * sender; a message that loses it teaches nothing.
 *
 * An input is a sequence of messages: a byte, of which RANK_2 and RAW are read, two bytes of
 * length, and the bytes. */
#include "causal/context_state.h"
#include "cluster/message.h"
#include "cluster/transport.h"
#include "tidemark/tidemark.h"

#include <string.h>

#define RANK_2 1u /* the sender; else rank 1 */
#define RAW 2u    /* the session's tag comes with the bytes, too */
#define FAR 2u    /* members that this one follows */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tide_lease lease;
static struct tide_context *context;
static struct tide_cluster *cluster;
static struct tide_timeline *mirrors[FAR];

static void send_nothing(void *self, uint32_t to, const void *bytes, size_t size) {
  (void)self;
  TIDE_ASSERT(to > 0 && to < 3 && bytes && size <= TIDE_MESSAGE_MOST);
}
static void wake_nobody(void *self) { (void)self; }

/* Each member has shared one chunk. */
#define CHUNK 4096u
static void *map_nothing(void *self, size_t size) {
  (void)self;
  (void)size;
  return NULL;
}
static void unmap_nothing(void *self, void *memory, size_t size) {
  (void)self;
  (void)memory;
  (void)size;
}
static const struct tide_memory_source memory = {map_nothing, unmap_nothing, NULL};
static bool has_chunk(void *self, uint32_t from, const struct tide_span *span) {
  (void)self;
  TIDE_ASSERT(from > 0 && from < 3);
  return span->chunk == 1 && span->offset <= CHUNK && span->size <= CHUNK - span->offset;
}
static enum tide_status read_chunk(void *self, uint32_t from, const struct tide_span *span,
                                   void *data) {
  TIDE_ASSERT(has_chunk(self, from, span));
  memset(data, 0, span->size);
  return TIDE_OK;
}

static void open_session(void) {
  static const char *const names[] = {"a", "b", "c"};
  struct tide_timeline *line;
  tide_axis own;
  tide_lease_init(&lease, 1);
  struct tide_context_params params = {.struct_size = sizeof params, .lease = &lease};
  TIDE_ASSERT(tide_context_create(&params, &context) == TIDE_OK);
  struct tide_cluster_setup session = {.context = context,
                                       .count = 3,
                                       .tag = 1,
                                       .window = 4,
                                       .transport = {.send = send_nothing,
                                                     .wake = wake_nobody,
                                                     .memory = &memory,
                                                     .has = has_chunk,
                                                     .read = read_chunk},
                                       .names = names};
  TIDE_ASSERT(tide_cluster_create(&session, &cluster) == TIDE_OK);
  struct tide_timeline_params system = {.struct_size = sizeof system, .scope = TIDE_SCOPE_SYSTEM};
  TIDE_ASSERT(tide_timeline_create(context, &system, &line) == TIDE_OK);
  TIDE_ASSERT(tide_cluster_publish(cluster, "line", line) == TIDE_OK);
  for (uint32_t i = 0; i < FAR; i++)
    TIDE_ASSERT(tide_cluster_follow(cluster, i + 1, "far", &mirrors[i]) == TIDE_OK);
  TIDE_ASSERT(tide_lease_take(&lease, TIDE_DOMAIN_QUEUE, &own) == TIDE_OK);
  TIDE_ASSERT(tide_tracker_register(context->tracker, own) == TIDE_OK);
}

static void close_session(void) {
  tide_cluster_destroy(cluster);
  tide_context_destroy(context);
}

static void check_record(const struct tide_mirror_record *record) {
  if (!record->axis) return;
  TIDE_ASSERT(tide_frontier_validate(record->frontier, NULL) == TIDE_OK);
}

static void check_read(const void *data, size_t size) {
  static struct tide_message message;
  struct tide_diag diag = {.text = ""};
  enum tide_status status = tide_message_read(data, size, &message, &diag);
  TIDE_ASSERT(status == TIDE_OK || (status == TIDE_CORRUPT && diag.text[0]));
  if (status != TIDE_OK || message.kind != TIDE_MESSAGE_STATE) return;
  TIDE_ASSERT(message.state.pending_count <= TIDE_MIRROR_PENDING);
  if (message.state.newest.value) check_record(&message.state.newest);
  for (size_t i = 0; i < message.state.pending_count; i++) check_record(&message.pending[i]);
}

/* What a message may teach. */
struct knowledge {
  uint64_t values[FAR];
  uint64_t promised[FAR];
  size_t axes;
};

static struct knowledge know(void) {
  struct knowledge known = {.axes = tide_tracker_live(context->tracker)};
  for (uint32_t i = 0; i < FAR; i++) {
    struct tide_record_view view = {0};
    uint64_t value = known.values[i] = tide_timeline_query(mirrors[i]);
    bool is_promised =
        value < UINT64_MAX && mirrors[i]->ops->find(mirrors[i]->backing, value + 1, &view);
    known.promised[i] = is_promised ? view.value : 0;
  }
  return known;
}

static bool starts_with(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}

/* The message has ended the session. Another member's LOST has words of its own. */
static void check_loss(const struct knowledge *before, uint32_t from, unsigned char kind) {
  struct tide_failure why;
  TIDE_ASSERT(tide_cluster_lost(cluster, &why) && why.status == TIDE_LOST);
  if (kind != TIDE_MESSAGE_LOST)
    TIDE_ASSERT(starts_with(why.text, from == 1 ? "machine 1 (b): " : "machine 2 (c): "));
  for (uint32_t i = 0; i < FAR; i++)
    TIDE_ASSERT(before->values[i] == tide_timeline_query(mirrors[i]));
  TIDE_ASSERT(before->axes == tide_tracker_live(context->tracker));
}

/* A value never falls, and the lowest promise lies above it. */
static void check_learned(const struct knowledge *before) {
  struct knowledge after = know();
  for (uint32_t i = 0; i < FAR; i++) {
    TIDE_ASSERT(after.values[i] >= before->values[i]);
    TIDE_ASSERT(!after.promised[i] || after.promised[i] > after.values[i]);
  }
}

/* Reads the buffers that were exported, within their bounds. */
static void read_buffers(void) {
  unsigned char bytes[16];
  for (uint32_t i = 0; i < FAR; i++)
    for (uint64_t value = 1; value < 4; value++)
      for (uint64_t offset = 0; offset < 2 * CHUNK; offset += CHUNK / 2) {
        enum tide_status status =
            tide_cluster_read(cluster, mirrors[i], value, offset, bytes, sizeof bytes);
        TIDE_ASSERT(status == TIDE_OK || status == TIDE_INVALID || status == TIDE_NOT_FOUND);
      }
}

static void hear(unsigned char how, const uint8_t *data, size_t size) {
  unsigned char bytes[TIDE_MESSAGE_MOST + 64] = {1}; /* the session's tag, then what came */
  size_t head = how & RAW ? 0 : 8, count = size < sizeof bytes - 8 ? size : sizeof bytes - 8;
  uint32_t from = how & RANK_2 ? 2 : 1;
  if (count) memcpy(bytes + head, data, count);
  struct knowledge before = know();
  check_read(bytes, head + count);
  tide_cluster_receive(cluster, from, bytes, head + count);
  if (tide_cluster_lost(cluster, NULL)) {
    check_loss(&before, from, head + count > 8 ? bytes[8] : 0);
    return;
  }
  check_learned(&before);
  read_buffers();
  tide_cluster_tell(cluster);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  open_session();
  for (size_t at = 0; at + 3 <= size && !tide_cluster_lost(cluster, NULL);) {
    size_t length = (size_t)data[at + 1] | (size_t)data[at + 2] << 8;
    if (length > size - at - 3) length = size - at - 3;
    hear(data[at], data + at + 3, length);
    at += 3 + length;
  }
  char text[600];
  TIDE_ASSERT(tide_cluster_diagnose(cluster, text, sizeof text) > 0);
  close_session();
  return 0;
}
