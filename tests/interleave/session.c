/* Sessions: a change that comes while followers are being told of the one before is told, too. */
#include "cluster/cluster_state.h"
#include "interleave.h"

#include "harness.h"
#include "tidemark/tidemark.h"

#define MEMBERS 3

struct state {
  struct tide_lease lease;
  struct tide_context *context;
  struct tide_cluster *cluster;
  struct tide_timeline *line;
  tide_axis axis;
  uint32_t awake;         /* atomic: the transport is to tell */
  uint64_t told[MEMBERS]; /* the newest value or epoch; guarded by the session's lock */
};

static uint64_t number_at(const unsigned char *bytes) {
  uint64_t number = 0;
  for (int i = 0; i < 8; i++) number |= (uint64_t)bytes[i] << 8 * i;
  return number;
}

/* Behind the tag and the kind, a state has a number of 4 bytes, progress has its axis. */
static void note(void *self, uint32_t to, const void *bytes, size_t size) {
  struct state *s = self;
  const unsigned char *at = bytes;
  (void)size;
  if (at[8] == TIDE_MESSAGE_STATE) s->told[to] = number_at(at + 13);
  if (at[8] == TIDE_MESSAGE_PROGRESS) s->told[to] = number_at(at + 17);
}
static void ring(void *self) { tide_store_release(&((struct state *)self)->awake, 1u); }

static void setup(struct state *s) {
  static const char *const names[MEMBERS] = {"a", "b", "c"};
  tide_lease_init(&s->lease, 1);
  struct tide_context_params context = {.struct_size = sizeof context, .lease = &s->lease};
  EXPECT_OK(tide_context_create(&context, &s->context));
  struct tide_cluster_setup session = {.context = s->context,
                                       .count = MEMBERS,
                                       .tag = 1,
                                       .window = TIDE_CLUSTER_WINDOW,
                                       .transport = {.self = s, .send = note, .wake = ring},
                                       .names = names};
  EXPECT_OK(tide_cluster_create(&session, &s->cluster));
}

static void receive(struct state *s, uint32_t from, const struct tide_message_writer *writer) {
  tide_cluster_receive(s->cluster, from, writer->bytes, writer->size);
}

static void setup_line(void *self) {
  struct state *s = self;
  struct tide_message_writer writer;
  struct tide_timeline_params params = {.struct_size = sizeof params, .scope = TIDE_SCOPE_SYSTEM};
  setup(s);
  EXPECT_OK(tide_timeline_create(s->context, &params, &s->line));
  EXPECT_OK(tide_cluster_publish(s->cluster, "line", s->line));
  tide_message_follow(&writer, 1, 1, "line");
  receive(s, 1, &writer); /* the first state is still to be told */
}
/* It is long since a signalling thread has told. */
static void setup_quiet_line(void *self) {
  struct state *s = self;
  setup_line(self);
  tide_cluster_tell(s->cluster);
  s->awake = 0;
  s->cluster->told_at = 0 - UINT64_C(1000000000);
}

static void follow_axis(struct state *s, uint32_t from) {
  struct tide_message_writer writer;
  tide_message_axis(&writer, 1, TIDE_MESSAGE_FOLLOW_AXIS, s->axis, 0);
  receive(s, from, &writer);
}
/* A waiter is queued for the axis' first epoch. */
static void setup_axis(void *self) {
  struct state *s = self;
  setup(s);
  EXPECT_OK(tide_lease_take(&s->lease, TIDE_DOMAIN_HOST, &s->axis));
  EXPECT_OK(tide_tracker_register(s->context->tracker, s->axis));
  follow_axis(s, 1);
  tide_cluster_tell(s->cluster);
  s->awake = 0;
}

static void signal_line(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_timeline_signal(s->line, 1, NULL));
}
static void tell_once(void *self) {
  struct state *s = self;
  if (tide_exchange(&s->awake, 0u)) tide_cluster_tell(s->cluster);
}
static void tell_always(void *self) {
  struct state *s = self;
  tide_cluster_tell(s->cluster);
}
static void advance(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_tracker_advance(s->context->tracker, s->axis, 1));
}
static void take_another_follower(void *self) {
  struct state *s = self;
  follow_axis(s, 2);
  tell_once(self);
}

/* The transport looks until nobody has woken it. */
static void check_line(void *self) {
  struct state *s = self;
  while (tide_exchange(&s->awake, 0u)) tide_cluster_tell(s->cluster);
  EXPECT(s->told[1] == 1);
}
static void check_axis(void *self) {
  struct state *s = self;
  while (tide_exchange(&s->awake, 0u)) tide_cluster_tell(s->cluster);
  EXPECT(s->told[1] == 1 && s->told[2] == 1);
}

#define SESSION(name, begin, stale_most, at_end, ...)                                              \
  TEST(name) {                                                                                     \
    static const struct interleave_case one = {.size = sizeof(struct state),                       \
                                               .setup = begin,                                     \
                                               .threads = {__VA_ARGS__},                           \
                                               .check = at_end,                                    \
                                               .stale = stale_most};                               \
    interleave_explore(&one);                                                                      \
  }
SESSION(signal_tell, setup_line, 1, check_line, signal_line, tell_once)
SESSION(signal_directly, setup_quiet_line, 0, check_line, signal_line, tell_always)
SESSION(advance_follow, setup_axis, 1, check_axis, advance, take_another_follower)

TEST_MAIN(CASE(signal_tell), CASE(signal_directly), CASE(advance_follow))
