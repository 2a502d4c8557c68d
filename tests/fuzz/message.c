/* Messages between members of a session. Of any bytes all reads are within bounds, and a session
 * that takes them in is well or lost. */
#include "causal/context_state.h"
#include "cluster/message.h"
#include "cluster/transport.h"
#include "tidemark/tidemark.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tide_lease lease;
static struct tide_context *context;
static struct tide_cluster *cluster;

static void send_nothing(void *self, uint32_t to, const void *bytes, size_t size) {
  (void)self;
  TIDE_ASSERT(to > 0 && to < 3 && bytes && size <= TIDE_MESSAGE_MOST);
}
static void wake_nobody(void *self) { (void)self; }

static void open_session(void) {
  static const char *const names[] = {"a", "b", "c"};
  struct tide_timeline *line, *mirror;
  tide_lease_init(&lease, 1);
  struct tide_context_params params = {.struct_size = sizeof params, .lease = &lease};
  TIDE_ASSERT(tide_context_create(&params, &context) == TIDE_OK);
  struct tide_cluster_setup session = {.context = context,
                                       .count = 3,
                                       .tag = 1,
                                       .window = 4,
                                       .transport = {.send = send_nothing, .wake = wake_nobody},
                                       .names = names};
  TIDE_ASSERT(tide_cluster_create(&session, &cluster) == TIDE_OK);
  struct tide_timeline_params system = {.struct_size = sizeof system, .scope = TIDE_SCOPE_SYSTEM};
  TIDE_ASSERT(tide_timeline_create(context, &system, &line) == TIDE_OK);
  TIDE_ASSERT(tide_cluster_publish(cluster, "line", line) == TIDE_OK);
  TIDE_ASSERT(tide_cluster_follow(cluster, 1, "far", &mirror) == TIDE_OK);
  tide_timeline_release(mirror);
}

static void close_session(void) {
  tide_cluster_destroy(cluster);
  tide_context_destroy(context);
  cluster = NULL;
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  unsigned char bytes[TIDE_MESSAGE_MOST + 64] = {1}; /* the session's tag, then what came */
  size_t count = size < sizeof bytes - 8 ? size : sizeof bytes - 8;
  if (!cluster) open_session();
  check_read(data, size);
  if (count) memcpy(bytes + 8, data, count);
  check_read(bytes, count + 8);
  tide_cluster_receive(cluster, 1, bytes, count + 8);
  tide_cluster_tell(cluster);
  if (tide_cluster_lost(cluster, NULL)) close_session();
  return 0;
}
