/* A session of several contexts over a simulated transport: random programs whose operations
 * compute bytes from those that they wait for, wherever these ran. Messages are late and out of
 * order; bodies fail; a machine is lost, or all leave. */
#include "cluster/cluster_state.h"

#include "base/random.h"
#include "harness.h"
#include "tidemark/tidemark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MACHINES 4
#define QUEUES 2
#define OPS 60
#define WAITS 3
#define NET 4096
#define OUT 64

struct op {
  uint32_t machine, queue, wait_count, waits[WAITS]; /* of operations */
  uint64_t value;                                    /* of its queue's line */
  bool fails;                                        /* its body does */
  bool submitted, started, over;
  enum tide_status status; /* when it is over */
  uint64_t bytes;          /* 0: not written */
};

struct machine {
  struct world *world;
  uint32_t rank;
  struct tide_lease lease;
  struct tide_sink sink;
  struct tide_context *context;
  struct tide_backend backend;
  struct tide_device *device;
  struct tide_queue *queues[QUEUES];
  struct tide_timeline *lines[MACHINES][QUEUES];    /* its own, and mirrors */
  struct tide_timeline *progress[MACHINES][QUEUES]; /* of the queues; by_progress */
  struct tide_cluster *cluster;
  struct tide_work *out[OUT];
  uint32_t out_count, next; /* next: of the program, to be submitted */
  bool awake, is_dead, is_leaving;
};

struct packet {
  uint32_t from, to;
  size_t size;
  unsigned char *bytes;
};

struct world {
  uint64_t seed;
  struct tide_random random;
  uint32_t machine_count, op_count;
  struct machine machines[MACHINES];
  struct op ops[OPS];
  uint64_t tops[MACHINES][QUEUES];
  struct packet net[NET];
  uint32_t packets;
  uint64_t messages, ahead, elided;
  struct tide_clock *clock; /* a signalling thread tells itself what has been quiet for a while */
  uint32_t window;
  bool leaves;      /* all machines leave at the end */
  bool by_progress; /* some waits are for the progress of a queue instead of its line */
  int lost;         /* -1: none */
};

#define VIOLATION(w, ...)                                                                          \
  do {                                                                                             \
    printf("     seed %lu\n", (unsigned long)(w)->seed);                                           \
    FAIL(__VA_ARGS__);                                                                             \
  } while (0)

static uint32_t pick(struct world *w, uint32_t limit) {
  return (uint32_t)tide_random_below(&w->random, limit);
}

/* ---- the transport ----------------------------------------------------------------------- */

static void send_packet(void *self, uint32_t to, const void *bytes, size_t size) {
  struct machine *m = self;
  struct world *w = m->world;
  if (w->packets == NET) VIOLATION(w, "%u messages are on their way", NET);
  struct packet *packet = &w->net[w->packets++];
  *packet = (struct packet){m->rank, to, size, malloc(size)};
  memcpy(packet->bytes, bytes, size);
  w->messages++;
}

static void wake(void *self) { ((struct machine *)self)->awake = true; }

static void drop_packet(struct world *w, uint32_t at) {
  free(w->net[at].bytes);
  w->net[at] = w->net[--w->packets];
}

static void deliver(struct world *w) {
  if (!w->packets) return;
  uint32_t at = pick(w, w->packets);
  struct packet packet = w->net[at];
  struct machine *to = &w->machines[packet.to];
  if (to->is_dead || w->machines[packet.from].is_dead) {
    drop_packet(w, at);
    return;
  }
  unsigned char *copy = malloc(packet.size);
  memcpy(copy, packet.bytes, packet.size);
  drop_packet(w, at);
  tide_cluster_receive(to->cluster, packet.from, copy, packet.size);
  free(copy);
}

/* ---- machines ------------------------------------------------------------------------------ */

static void kick(void *self) { (void)self; }

static enum tide_status never(void *arguments) {
  (void)arguments;
  return TIDE_FAILED;
}
static const struct tide_body_class body = {.name = "body", .host = never};

/* Is an operation over, and an elided wait of another machine's line counted? */
static void hear(void *self, const struct tide_event *event) {
  struct machine *m = self;
  struct world *w = m->world;
  if (event->kind == TIDE_EVENT_WAIT_CLASS && (event->detail & 0xff) == TIDE_WAIT_ELIDED &&
      event->cause_axis && tide_axis_machine(event->cause_axis) != m->rank + 1)
    w->elided++;
  bool leaves = event->kind == TIDE_EVENT_FINISH && !event->epoch;
  if ((event->kind != TIDE_EVENT_PUBLISH && !leaves) || !event->label) return;
  struct op *op = &w->ops[atoi(event->label + 1)];
  op->over = true;
  op->status = event->status;
}

static void open_machine(struct world *w, uint32_t rank) {
  static const char *const names[MACHINES] = {"host a, pid 70", "host b, pid 71", "host c, pid 72",
                                              "host d, pid 73"};
  struct machine *m = &w->machines[rank];
  *m = (struct machine){.world = w, .rank = rank};
  tide_lease_init(&m->lease, (uint16_t)(rank + 1));
  m->sink = (struct tide_sink){.event = hear, .self = m};
  struct tide_context_params context = {.struct_size = sizeof context,
                                        .platform = tide_clock_platform(w->clock),
                                        .lease = &m->lease,
                                        .sink = &m->sink,
                                        .frontier_capacity = (uint8_t)(w->seed % 3 ? 16 : 2)};
  CHECK_OK(tide_context_create(&context, &m->context));
  m->backend = (struct tide_backend){.name = "sim", .in_order = true, .kick = kick, .self = m};
  CHECK_OK(tide_device_open(m->context, &m->backend, "sim", &m->device));
  struct tide_cluster_setup params = {.context = m->context,
                                      .rank = rank,
                                      .count = w->machine_count,
                                      .tag = 42,
                                      .window = w->window,
                                      .transport = {.self = m, .send = send_packet, .wake = wake},
                                      .names = names};
  CHECK_OK(tide_cluster_create(&params, &m->cluster));
  for (uint32_t q = 0; q < QUEUES; q++) {
    struct tide_timeline_params line = {.struct_size = sizeof line,
                                        .scope = TIDE_SCOPE_SYSTEM,
                                        .history = (uint32_t)(w->seed % 2 ? 16 : 1)};
    CHECK_OK(tide_queue_create(m->device, NULL, &m->queues[q]));
    CHECK_OK(tide_timeline_create(m->context, &line, &m->lines[rank][q]));
  }
}

static void name_line(uint32_t rank, uint32_t queue, char *name, size_t size) {
  snprintf(name, size, "line %u of machine %u", queue, rank);
}

static void follow_lines(struct world *w, struct machine *m) {
  char name[64];
  for (uint32_t rank = 0; rank < w->machine_count; rank++)
    for (uint32_t q = 0; q < QUEUES; q++) {
      name_line(rank, q, name, sizeof name);
      if (rank == m->rank) CHECK_OK(tide_cluster_publish(m->cluster, name, m->lines[rank][q]));
      else CHECK_OK(tide_cluster_follow(m->cluster, rank, name, &m->lines[rank][q]));
    }
}

/* The n-th operation of a queue signals its line = n, so its progress has the same values, unless
 * an operation fails. */
static void follow_queues(struct world *w, struct machine *m) {
  char name[64];
  for (uint32_t rank = 0; rank < w->machine_count; rank++)
    for (uint32_t q = 0; q < QUEUES; q++) {
      struct tide_timeline **progress = &m->progress[rank][q];
      snprintf(name, sizeof name, "queue %u of machine %u", q, rank);
      if (rank != m->rank) {
        CHECK_OK(tide_cluster_follow(m->cluster, rank, name, progress));
        continue;
      }
      *progress = tide_queue_progress(m->queues[q]);
      CHECK_OK(tide_cluster_publish(m->cluster, name, *progress));
    }
}

/* ---- the program ----------------------------------------------------------------------------- */

static void draw_op(struct world *w) {
  struct op *op = &w->ops[w->op_count];
  *op = (struct op){.machine = pick(w, w->machine_count), .queue = pick(w, QUEUES)};
  uint32_t waits = pick(w, WAITS + 1);
  for (uint32_t i = 0; i < waits && w->op_count; i++)
    op->waits[op->wait_count++] = w->op_count - 1 - pick(w, w->op_count < 12 ? w->op_count : 12);
  op->value = ++w->tops[op->machine][op->queue];
  op->fails = pick(w, 100) < w->seed % 4;
  w->op_count++;
}

static void submit_next(struct world *w, struct machine *m) {
  while (m->next < w->op_count && w->ops[m->next].machine != m->rank) m->next++;
  if (m->next == w->op_count) return;
  uint32_t index = m->next++;
  struct op *op = &w->ops[index];
  struct tide_wait waits[WAITS];
  struct tide_signal signal = {.timeline = m->lines[m->rank][op->queue], .value = op->value};
  char label[16];
  snprintf(label, sizeof label, "o%u", index);
  for (uint32_t i = 0; i < op->wait_count; i++) {
    const struct op *on = &w->ops[op->waits[i]];
    bool by_progress = w->by_progress && pick(w, 2);
    struct tide_timeline *(*of)[QUEUES] = by_progress ? m->progress : m->lines;
    waits[i] = (struct tide_wait){of[on->machine][on->queue], on->value};
    w->ahead += on->machine != m->rank && !on->started;
  }
  struct tide_operation operation = {.body = &body,
                                     .label = label,
                                     TIDE_ARGUMENTS(index),
                                     .waits = waits,
                                     .wait_count = op->wait_count,
                                     .signals = &signal,
                                     .signal_count = 1};
  struct tide_diag diag;
  enum tide_status status = tide_queue_submit(m->queues[op->queue], &operation, NULL, &diag);
  if (status != TIDE_OK) VIOLATION(w, "o%u is refused: %s", index, diag.text);
  op->submitted = true;
}

/* What it computes from what it waited for, and, in its queue, came behind. */
static uint64_t compute(const struct world *w, uint32_t index) {
  const struct op *op = &w->ops[index];
  uint64_t bytes = index + 1;
  for (uint32_t i = 0; i < op->wait_count; i++)
    bytes = (bytes ^ w->ops[op->waits[i]].bytes) * 0x9e3779b97f4a7c15u + 1;
  return bytes;
}

static void take_work(struct world *w, struct machine *m) {
  struct tide_work *work;
  if (m->out_count == OUT || !tide_device_exchange(m->device, NULL, 0, &work, 1, NULL)) return;
  uint32_t index = *(const uint32_t *)tide_work_arguments(work);
  struct op *op = &w->ops[index];
  op->started = true;
  for (uint32_t i = 0; i < op->wait_count; i++)
    if (!w->ops[op->waits[i]].bytes)
      VIOLATION(w, "o%u on %u starts before o%u on %u is written", index, m->rank, op->waits[i],
                w->ops[op->waits[i]].machine);
  m->out[m->out_count++] = work;
}

static void give_work(struct world *w, struct machine *m) {
  if (!m->out_count) return;
  uint32_t at = pick(w, m->out_count);
  struct tide_work *work = m->out[at];
  m->out[at] = m->out[--m->out_count];
  uint32_t index = *(const uint32_t *)tide_work_arguments(work);
  struct op *op = &w->ops[index];
  if (!op->fails) op->bytes = compute(w, index);
  work->status = op->fails ? TIDE_IO : TIDE_OK;
  tide_device_exchange(m->device, &work, 1, NULL, 0, NULL);
}

static void lose_machine(struct world *w) {
  struct machine *dead = &w->machines[w->lost];
  dead->is_dead = true;
  for (uint32_t i = 0; i < w->packets;)
    if (w->net[i].to == dead->rank || (w->net[i].from == dead->rank && pick(w, 2)))
      drop_packet(w, i);
    else i++;
}

/* One machine hears of the end of file; it tells the others. */
static void notice_loss(struct world *w) {
  uint32_t next = ((uint32_t)w->lost + 1) % w->machine_count;
  if (pick(w, 40) == 0)
    tide_cluster_gone(w->machines[next].cluster, (uint32_t)w->lost, "end of file");
}

/* A machine leaves once it has submitted all. */
static void leave(struct world *w, struct machine *m) {
  while (m->next < w->op_count && w->ops[m->next].machine != m->rank) m->next++;
  if (m->next < w->op_count || m->is_leaving || pick(w, 20)) return;
  m->is_leaving = true;
  tide_cluster_begin_leave(m->cluster); /* once: nothing but changes may go on from here */
}

static void step(struct world *w, bool calm) {
  struct machine *m = &w->machines[pick(w, w->machine_count)];
  tide_clock_pass(w->clock, pick(w, 2000));
  if (!calm && w->op_count < OPS && pick(w, 3) == 0) draw_op(w);
  if (w->lost >= 0) notice_loss(w);
  if (!m->is_dead) {
    if (pick(w, 2)) submit_next(w, m);
    if (calm && w->leaves) leave(w, m);
    if (pick(w, 2)) take_work(w, m);
    if (pick(w, 3) == 0) give_work(w, m);
    if (m->awake && (calm || pick(w, 2))) {
      m->awake = false;
      tide_cluster_tell(m->cluster);
    }
  }
  if (pick(w, 2) || calm) deliver(w);
}

/* ---- how it ends ------------------------------------------------------------------------------
 */

/* Statuses are known from the program alone, unless a machine was lost. */
static void check_ends(struct world *w) {
  uint64_t fails_from[MACHINES][QUEUES];
  memset(fails_from, 0xff, sizeof fails_from);
  for (uint32_t i = 0; i < w->op_count; i++) {
    const struct op *op = &w->ops[i];
    bool fails = op->fails;
    for (uint32_t j = 0; j < op->wait_count; j++) {
      const struct op *on = &w->ops[op->waits[j]];
      fails |= on->value >= fails_from[on->machine][on->queue];
    }
    uint64_t *from = &fails_from[op->machine][op->queue];
    if (fails && op->value < *from) *from = op->value;
    if (w->machines[op->machine].is_dead) continue;
    if (!op->over) VIOLATION(w, "o%u on %u is not over", i, op->machine);
    if (w->lost < 0 && (op->status != TIDE_OK) != fails)
      VIOLATION(w, "o%u ends with %s", i, tide_status_name(op->status));
    if (op->status == TIDE_OK && op->bytes != compute(w, i))
      VIOLATION(w, "o%u has computed other bytes", i);
    if (w->lost < 0 && op->status == TIDE_LOST) VIOLATION(w, "o%u is lost, and no machine is", i);
  }
}

/* All operations have ended, and of a loss all have heard. */
static bool is_over(struct world *w) {
  for (uint32_t i = 0; i < w->machine_count; i++) {
    const struct machine *m = &w->machines[i];
    if (w->lost >= 0 && !m->is_dead && !tide_cluster_lost(m->cluster, NULL)) return false;
    if (w->leaves && m->cluster->phase != TIDE_CLUSTER_OVER) return false;
  }
  for (uint32_t i = 0; i < w->op_count; i++)
    if (!w->ops[i].over && !w->machines[w->ops[i].machine].is_dead) return false;
  return true;
}

static void check_losses(struct world *w) {
  char text[64];
  struct tide_failure why;
  for (uint32_t i = 0; i < w->machine_count; i++) {
    struct machine *m = &w->machines[i];
    if (m->is_dead) continue;
    bool lost = tide_cluster_lost(m->cluster, &why);
    if (w->leaves && m->cluster->phase != TIDE_CLUSTER_OVER) VIOLATION(w, "%u has not left", i);
    if (lost != (w->lost >= 0)) VIOLATION(w, "machine %u says: %s", i, lost ? why.text : "no loss");
    if (!lost) continue;
    snprintf(text, sizeof text, "machine %d (host %c, pid %d): end of file", w->lost, 'a' + w->lost,
             70 + w->lost);
    if (strcmp(why.text, text)) VIOLATION(w, "machine %u says: %s", i, why.text);
  }
}

static void close_machine(struct machine *m) {
  while (m->out_count) give_work(m->world, m);
  tide_cluster_destroy(m->cluster);
  for (uint32_t rank = 0; rank < m->world->machine_count; rank++)
    for (uint32_t q = 0; q < QUEUES; q++) {
      tide_timeline_release(m->lines[rank][q]);
      if (rank != m->rank) tide_timeline_release(m->progress[rank][q]);
    }
  for (uint32_t q = 0; q < QUEUES; q++) tide_queue_destroy(m->queues[q]);
  while (tide_device_settle(m->device, TIDE_NOW) != TIDE_OK) {
    take_work(m->world, m);
    give_work(m->world, m);
  }
  tide_device_close(m->device);
  tide_context_destroy(m->context);
}

static struct world world;

static void run(uint64_t seed) {
  struct world *w = &world;
  *w = (struct world){.seed = seed, .random = {seed}, .lost = -1};
  w->window = seed % 4 ? TIDE_CLUSTER_WINDOW : 2 + (uint32_t)(seed / 4 % 4);
  w->leaves = seed % 3 == 1;
  CHECK_OK(tide_clock_create(tide_allocator_system(), NULL, &w->clock));
  w->machine_count = 2 + (uint32_t)(seed / 3 % (MACHINES - 1));
  for (uint32_t i = 0; i < w->machine_count; i++) open_machine(w, i);
  for (uint32_t i = 0; i < w->machine_count; i++) follow_lines(w, &w->machines[i]);
  w->by_progress = seed % 4 == 0 && seed % 3 != 0; /* no operation fails */
  for (uint32_t i = 0; i < w->machine_count && w->by_progress; i++)
    follow_queues(w, &w->machines[i]);
  uint32_t dies_at = seed % 3 == 0 ? pick(w, 600) : UINT32_MAX;
  for (uint32_t i = 0; i < 600; i++) {
    step(w, false);
    if (i != dies_at) continue;
    w->lost = (int)pick(w, w->machine_count);
    lose_machine(w);
  }
  for (uint32_t i = 0; i < 40000 && !is_over(w); i++) step(w, true);
  check_ends(w);
  check_losses(w);
  for (uint32_t i = 0; i < w->machine_count; i++) close_machine(&w->machines[i]);
  while (w->packets) drop_packet(w, 0);
  tide_clock_destroy(w->clock);
}

TEST(random_programs_over_a_simulated_transport) {
  uint64_t messages = 0, ahead = 0, elided = 0;
  const char *given = getenv("SEED");
  uint64_t first = given ? strtoull(given, NULL, 0) : 1;
  uint64_t last = given ? first : 1500 / test_slowdown();
  for (uint64_t seed = first; seed <= last; seed++) {
    run(seed);
    messages += world.messages;
    ahead += world.ahead;
    elided += world.elided;
  }
  /* Operations were queued, and waits elided, before the producers had started. */
  CHECK(given || (ahead > 0 && elided > 0 && messages > 0));
}

/* ---- what breaks a rule ------------------------------------------------------------------- */

struct told {
  struct tide_message_writer writer;
  struct tide_mirror_state state;
  uint64_t after; /* of the next state */
  TIDE_FRONTIER_STORAGE(frontier, 8);
};

/* A state of machine 1's first line, with one promise. */
static void write_promise(struct told *told, uint64_t tag, uint32_t number, tide_axis signaller,
                          uint64_t epoch, tide_axis other, uint64_t other_epoch) {
  struct tide_frontier *frontier = &told->frontier.frontier;
  tide_frontier_init(frontier, 8);
  tide_frontier_insert_or_raise(frontier, signaller, epoch, NULL);
  if (other) tide_frontier_insert_or_raise(frontier, other, other_epoch, NULL);
  struct tide_mirror_record record = {3, signaller, epoch, frontier};
  told->state = (struct tide_mirror_state){.fail_from = UINT64_MAX, .after = told->after};
  tide_message_state(&told->writer, tag, number, &told->state);
  CHECK(tide_message_add_record(&told->writer, &record));
}

static void give(struct told *told, size_t size) {
  tide_cluster_receive(world.machines[0].cluster, 1, told->writer.bytes, size);
}

/* Machine 0 of two; opened anew for each message. */
static void open_two(void) {
  world = (struct world){
      .seed = 1, .random = {1}, .lost = -1, .machine_count = 2, .window = TIDE_CLUSTER_WINDOW};
  CHECK_OK(tide_clock_create(tide_allocator_system(), NULL, &world.clock));
  tide_clock_pass(world.clock, 1000);
  for (uint32_t i = 0; i < 2; i++) open_machine(&world, i);
  for (uint32_t i = 0; i < 2; i++) follow_lines(&world, &world.machines[i]);
}
static void close_two(void) {
  for (uint32_t i = 0; i < 2; i++) close_machine(&world.machines[i]);
  while (world.packets) drop_packet(&world, 0);
  tide_clock_destroy(world.clock);
}

static void is_lost_for(const char *why) {
  struct tide_failure failure;
  char text[200];
  CHECK(tide_cluster_lost(world.machines[0].cluster, &failure));
  snprintf(text, sizeof text, "machine 1 (host b, pid 71): %s", why);
  CHECK_EQ_STR(failure.text, text);
  CHECK_STATUS(tide_timeline_wait(world.machines[0].lines[1][0], 3, TIDE_NOW), TIDE_LOST);
  close_two();
}

TEST(a_message_that_breaks_a_rule_is_a_loss) {
  static struct told told;
  tide_axis theirs = tide_axis_make(2, TIDE_DOMAIN_QUEUE, 1);
  struct tide_record_view view;
  open_two();
  write_promise(&told, 42, 1, theirs, 1, 0, 0);
  struct tide_timeline *mirror = world.machines[0].lines[1][0];
  told.writer.bytes[0]++; /* another session */
  give(&told, told.writer.size);
  CHECK(!mirror->ops->find(mirror->backing, 1, &view));
  told.writer.bytes[0]--;
  give(&told, told.writer.size);
  CHECK(mirror->ops->find(mirror->backing, 1, &view) && view.value == 3);
  CHECK(!tide_cluster_lost(world.machines[0].cluster, NULL));
  give(&told, told.writer.size - 1);
  is_lost_for("byte 67 of a message of 86: a frontier is cut short");

  open_two();
  write_promise(&told, 42, 1, tide_queue_axis(world.machines[0].queues[0]), 1, 0, 0);
  give(&told, told.writer.size);
  is_lost_for("a record of another machine's operation");
  open_two();
  write_promise(&told, 42, 1, theirs, 1, tide_axis_make(3, TIDE_DOMAIN_QUEUE, 1), 1);
  give(&told, told.writer.size);
  is_lost_for("a record lists an axis of no member");
  open_two();
  write_promise(&told, 42, 1, theirs, 1, tide_queue_axis(world.machines[0].queues[0]), 1);
  give(&told, told.writer.size);
  is_lost_for("a record lists an epoch that I have not given out");
  open_two();
  write_promise(&told, 42, 9, theirs, 1, 0, 0);
  give(&told, told.writer.size);
  is_lost_for("a state that I do not follow");
  open_two();
  tide_message_count(&told.writer, 42, TIDE_MESSAGE_ACK, 1);
  give(&told, told.writer.size);
  is_lost_for("it acknowledges more than it was told");
  open_two();
  tide_message_axis(&told.writer, 42, TIDE_MESSAGE_PROGRESS,
                    tide_queue_axis(world.machines[0].queues[0]), 7);
  give(&told, told.writer.size);
  is_lost_for("progress of another machine's axis");
  open_two();
  tide_message_axis(&told.writer, 42, TIDE_MESSAGE_FOLLOW_AXIS, theirs, 0);
  give(&told, told.writer.size);
  is_lost_for("it follows an axis that is not mine");
}

/* What lies in between may be on its way; the lowest known record would not be the right one. */
TEST(a_promise_behind_a_gap_is_not_kept) {
  static struct told told;
  struct tide_record_view view;
  open_two();
  struct tide_timeline *mirror = world.machines[0].lines[1][0];
  told.after = 2;
  write_promise(&told, 42, 1, tide_axis_make(2, TIDE_DOMAIN_QUEUE, 1), 1, 0, 0);
  give(&told, told.writer.size);
  CHECK(!mirror->ops->find(mirror->backing, 1, &view));
  told.after = 0;
  write_promise(&told, 42, 1, tide_axis_make(2, TIDE_DOMAIN_QUEUE, 1), 1, 0, 0);
  give(&told, told.writer.size);
  CHECK(mirror->ops->find(mirror->backing, 1, &view) && view.value == 3);
  CHECK(!tide_cluster_lost(world.machines[0].cluster, NULL));
  close_two();
}

TEST(names) {
  struct tide_timeline *line, *narrow, *mirror;
  struct tide_timeline_params params = {.struct_size = sizeof params, .scope = TIDE_SCOPE_PROCESS};
  open_two();
  struct machine *m = &world.machines[0];
  CHECK_OK(tide_timeline_create(m->context, &params, &narrow));
  params.scope = TIDE_SCOPE_SYSTEM;
  CHECK_OK(tide_timeline_create(m->context, &params, &line));
  CHECK_STATUS(tide_cluster_publish(m->cluster, "narrow", narrow), TIDE_SCOPE);
  CHECK_STATUS(tide_cluster_publish(m->cluster, "", line), TIDE_INVALID);
  CHECK_STATUS(tide_cluster_publish(m->cluster, "far", m->lines[1][0]), TIDE_DENIED);
  CHECK_STATUS(tide_cluster_publish(m->cluster, "line 0 of machine 0", line), TIDE_BUSY);
  CHECK_STATUS(tide_cluster_publish(m->cluster, "again", m->lines[0][0]), TIDE_BUSY);
  CHECK_STATUS(tide_cluster_follow(m->cluster, 0, "mine", &mirror), TIDE_INVALID);
  CHECK_STATUS(tide_cluster_follow(m->cluster, 2, "theirs", &mirror), TIDE_INVALID);
  CHECK_OK(tide_cluster_follow(m->cluster, 1, "line 0 of machine 1", &mirror));
  CHECK(mirror == m->lines[1][0]);
  tide_timeline_release(mirror);
  CHECK_STATUS(tide_timeline_signal_external(mirror, 1), TIDE_DENIED);
  tide_timeline_release(line);
  tide_timeline_release(narrow);
  close_two();
}

/* ---- what it costs a member that others follow ---------------------------------------------- */

/* Both machines tell and hear all there is. */
static void settle(void) {
  for (bool any = true; any;) {
    any = world.packets > 0;
    deliver(&world);
    for (uint32_t i = 0; i < 2; i++) {
      if (!world.machines[i].awake) continue;
      any = true;
      world.machines[i].awake = false;
      tide_cluster_tell(world.machines[i].cluster);
    }
  }
}

TEST(a_follower_that_stops_costs_a_window) {
  enum { MANY = 200, ROUNDS = 20 };
  struct tide_timeline *lines[MANY], *mirrors[MANY];
  struct tide_timeline_params params = {.struct_size = sizeof params, .scope = TIDE_SCOPE_SYSTEM};
  open_two();
  struct machine *m = &world.machines[0], *stopped = &world.machines[1];
  for (uint32_t i = 0; i < MANY; i++) {
    char name[16];
    snprintf(name, sizeof name, "%u", i);
    CHECK_OK(tide_timeline_create(m->context, &params, &lines[i]));
    CHECK_OK(tide_cluster_publish(m->cluster, name, lines[i]));
    CHECK_OK(tide_cluster_follow(stopped->cluster, 0, name, &mirrors[i]));
  }
  settle();
  size_t on_the_way = 0;
  for (uint32_t round = 1; round <= ROUNDS; round++) {
    for (uint32_t i = 0; i < MANY; i++) {
      CHECK_OK(tide_timeline_signal_external(lines[i], round));
      tide_cluster_tell(m->cluster);
      on_the_way = world.packets > on_the_way ? world.packets : on_the_way;
    }
  }
  CHECK(on_the_way > TIDE_CLUSTER_WINDOW / 2 && on_the_way <= TIDE_CLUSTER_WINDOW);
  settle();
  for (uint32_t i = 0; i < MANY; i++) CHECK_EQ_U64(tide_timeline_query(mirrors[i]), ROUNDS);
  for (uint32_t i = 0; i < MANY; i++) {
    tide_timeline_release(lines[i]);
    tide_timeline_release(mirrors[i]);
  }
  close_two();
}

TEST(a_diagnosis_names_who_is_silent) {
  char text[600];
  open_two();
  settle();
  struct machine *m = &world.machines[0];
  struct tide_wait wait = {.timeline = m->lines[1][0], .value = 3};
  struct tide_operation operation = {.waits = &wait, .wait_count = 1};
  CHECK_OK(tide_queue_submit(m->queues[0], &operation, NULL, NULL));
  tide_clock_pass(world.clock, 5000000);
  size_t length = tide_cluster_diagnose(m->cluster, text, sizeof text);
  CHECK_EQ_U64(length, strlen(text));
  CHECK_EQ_STR(text,
               "machine 1 (host b, pid 71): last heard of 5 ms ago; follows 2 timelines, 2 "
               "states not acknowledged\n  'line 0 of machine 1' is at 0, and 3 is awaited\n");
  tide_cluster_gone(m->cluster, 1, "end of file");
  CHECK(tide_cluster_diagnose(m->cluster, text, 20) > 20);
  CHECK_EQ_STR(text, "lost: machine 1 (ho"); /* as much as fits */
  close_two();
}

/* Leaves both; machine 0's operations end meanwhile. */
static void leave_both(void) {
  for (uint32_t i = 0; i < 2; i++) tide_cluster_begin_leave(world.machines[i].cluster);
  settle();
}
static void finish_and_settle(struct machine *m) {
  give_work(&world, m);
  settle();
}
static void expect_over(void) {
  for (uint32_t i = 0; i < 2; i++) CHECK(world.machines[i].cluster->phase == TIDE_CLUSTER_OVER);
  close_two();
}

/* An operation of machine 0's queue 0, which signals `line` = value; its body ends with
 * finish_and_settle. */
static void begin_op(struct machine *m, struct tide_timeline *line, uint64_t value, bool fails) {
  uint32_t index = world.op_count++;
  struct tide_signal signal = {.timeline = line, .value = value};
  world.ops[index] = (struct op){.machine = m->rank, .fails = fails};
  struct tide_operation operation = {
      .body = &body, TIDE_ARGUMENTS(index), .signals = &signal, .signal_count = 1};
  CHECK_OK(tide_queue_submit(m->queues[0], &operation, NULL, NULL));
  take_work(&world, m);
}

TEST(leaving_waits_for_a_timeline_that_nobody_follows) {
  struct tide_timeline *line;
  struct tide_timeline_params params = {.struct_size = sizeof params, .scope = TIDE_SCOPE_SYSTEM};
  open_two();
  struct machine *m = &world.machines[0];
  CHECK_OK(tide_timeline_create(m->context, &params, &line));
  CHECK_OK(tide_cluster_publish(m->cluster, "alone", line));
  settle();
  begin_op(m, line, 1, false);
  settle();
  leave_both();
  CHECK(m->cluster->phase == TIDE_CLUSTER_LEAVING);
  finish_and_settle(m);
  tide_timeline_release(line);
  expect_over();
}

/* The second value cannot be reached any more, but its operation runs. */
TEST(leaving_waits_for_what_comes_behind_a_failure) {
  open_two();
  struct machine *m = &world.machines[0];
  settle();
  begin_op(m, m->lines[0][0], 1, true);
  finish_and_settle(m);
  begin_op(m, m->lines[0][0], 2, false);
  settle();
  leave_both();
  CHECK(m->cluster->phase == TIDE_CLUSTER_LEAVING);
  finish_and_settle(m);
  expect_over();
}

/* What was asked for before the others had heard that it leaves is answered. */
TEST(leaving_waits_for_what_was_asked_for) {
  struct tide_timeline *line, *mirror;
  struct tide_timeline_params params = {.struct_size = sizeof params, .scope = TIDE_SCOPE_SYSTEM};
  open_two();
  struct machine *m = &world.machines[0], *other = &world.machines[1];
  CHECK_OK(tide_timeline_create(m->context, &params, &line));
  CHECK_OK(tide_cluster_publish(m->cluster, "late", line));
  CHECK_OK(tide_timeline_signal_external(line, 1));
  settle();
  CHECK_OK(tide_cluster_follow(other->cluster, 0, "late", &mirror));
  tide_cluster_begin_leave(m->cluster);
  tide_cluster_tell(m->cluster);
  settle();
  CHECK(m->cluster->phase == TIDE_CLUSTER_SAID_BYE);
  CHECK_EQ_U64(tide_timeline_query(mirror), 1);
  tide_cluster_begin_leave(other->cluster);
  settle();
  tide_timeline_release(line);
  tide_timeline_release(mirror);
  expect_over();
}

/* Its value is promised by nobody yet, and its own signal neither. */
TEST(leaving_waits_for_a_held_operation) {
  open_two();
  struct machine *m = &world.machines[0], *other = &world.machines[1];
  settle();
  struct tide_wait wait = {.timeline = m->lines[1][0], .value = 1};
  struct tide_signal signal = {.timeline = m->lines[0][0], .value = 1};
  struct tide_operation held = {
      .waits = &wait, .wait_count = 1, .signals = &signal, .signal_count = 1};
  CHECK_OK(tide_queue_submit(m->queues[0], &held, NULL, NULL));
  tide_cluster_begin_leave(m->cluster);
  settle();
  CHECK(m->cluster->phase == TIDE_CLUSTER_LEAVING);
  CHECK_OK(tide_timeline_signal_external(other->lines[1][0], 1));
  settle();
  CHECK(m->cluster->phase == TIDE_CLUSTER_SAID_BYE);
  CHECK_EQ_U64(tide_timeline_query(other->lines[0][0]), 1);
  tide_cluster_begin_leave(other->cluster);
  settle();
  expect_over();
}

/* Machine 1 follows the progress of machine 0's queue 0, which has one operation. */
static struct tide_timeline *follow_queue(struct machine *m, struct machine *other) {
  struct tide_timeline *mirror;
  open_two();
  settle();
  begin_op(m, m->lines[0][0], 1, false);
  CHECK_OK(tide_cluster_publish(m->cluster, "queue", tide_queue_progress(m->queues[0])));
  CHECK_STATUS(tide_cluster_publish(m->cluster, "twice", tide_queue_progress(m->queues[0])),
               TIDE_BUSY);
  CHECK_OK(tide_cluster_follow(other->cluster, 0, "queue", &mirror));
  settle();
  return mirror;
}

/* A promise comes ahead with its frontier: behind a wait for it, one for the operation's signal is
 * implied. */
TEST(the_progress_of_a_queue_is_followed) {
  struct machine *m = &world.machines[0], *other = &world.machines[1];
  struct tide_timeline *mirror = follow_queue(m, other);
  struct tide_record_info info;
  struct tide_context_stats stats;
  struct tide_wait on_queue = {mirror, 1}, on_line = {other->lines[0][0], 1};
  struct tide_operation first = {.waits = &on_queue, .wait_count = 1};
  struct tide_operation second = {.waits = &on_line, .wait_count = 1};
  struct tide_wait on_next = {mirror, 2};
  struct tide_operation third = {.waits = &on_next, .wait_count = 1};
  CHECK_OK(tide_queue_submit(other->queues[0], &first, NULL, NULL));
  CHECK_OK(tide_queue_submit(other->queues[0], &second, NULL, NULL));
  tide_context_stats(other->context, &stats);
  CHECK_EQ_U64(stats.waits_issued, 1);
  CHECK_EQ_U64(stats.waits_elided, 1);
  CHECK_EQ_U64(world.elided, 1);
  begin_op(m, m->lines[0][0], 2, false);
  settle();
  CHECK_OK(tide_queue_submit(other->queues[0], &third, NULL, NULL));
  tide_context_stats(other->context, &stats);
  CHECK_EQ_U64(stats.held, 0); /* it is promised already */
  CHECK_STATUS(tide_timeline_wait(mirror, 1, TIDE_NOW), TIDE_TIMEOUT);
  finish_and_settle(m);
  CHECK_OK(tide_timeline_wait(mirror, 1, TIDE_NOW));
  take_work(&world, m);
  finish_and_settle(m);
  CHECK_OK(tide_timeline_frontier_at(mirror, 1, NULL, &info));
  CHECK(info.axis == tide_queue_axis(m->queues[0]) && info.epoch == 1);
  CHECK_OK(tide_timeline_wait(tide_queue_progress(other->queues[0]), 3, TIDE_NOW));
  tide_timeline_release(mirror);
  leave_both();
  expect_over();
}

/* An operation that nothing follows but its queue's progress, and one that is held. */
TEST(leaving_waits_for_a_followed_queue) {
  struct machine *m = &world.machines[0], *other = &world.machines[1];
  struct tide_timeline *mirror = follow_queue(m, other);
  struct tide_wait wait = {.timeline = m->lines[1][0], .value = 1};
  struct tide_operation held = {.waits = &wait, .wait_count = 1};
  CHECK_OK(tide_queue_submit(m->queues[0], &held, NULL, NULL));
  tide_cluster_begin_leave(m->cluster);
  settle();
  finish_and_settle(m);
  CHECK(m->cluster->phase == TIDE_CLUSTER_LEAVING);
  CHECK_OK(tide_timeline_signal_external(other->lines[1][0], 1));
  settle();
  CHECK(m->cluster->phase == TIDE_CLUSTER_SAID_BYE);
  CHECK_EQ_U64(tide_timeline_query(mirror), 2);
  tide_cluster_begin_leave(other->cluster);
  settle();
  tide_timeline_release(mirror);
  expect_over();
}

/* A held operation that is cancelled brings no progress, and holds up no leaving. */
TEST(a_cancelled_operation_is_no_progress) {
  uint64_t sequence;
  struct machine *m = &world.machines[0], *other = &world.machines[1];
  struct tide_timeline *mirror = follow_queue(m, other), *never;
  CHECK_OK(tide_timeline_create(m->context, NULL, &never));
  struct tide_wait wait = {.timeline = never, .value = 1};
  struct tide_operation held = {.waits = &wait, .wait_count = 1};
  CHECK_OK(tide_queue_submit(m->queues[0], &held, &sequence, NULL));
  finish_and_settle(m);
  leave_both();
  CHECK(m->cluster->phase == TIDE_CLUSTER_LEAVING);
  CHECK_OK(tide_queue_cancel(m->queues[0], sequence));
  settle();
  CHECK_EQ_U64(tide_timeline_query(mirror), 1);
  CHECK_STATUS(tide_timeline_wait(mirror, 2, TIDE_NOW), TIDE_CANCELLED);
  tide_timeline_release(mirror);
  tide_timeline_destroy(never);
  expect_over();
}

TEST(a_followed_queue_that_ends_fails_the_rest) {
  struct tide_queue *queue;
  struct tide_timeline *mirror;
  open_two();
  struct machine *m = &world.machines[0], *other = &world.machines[1];
  CHECK_OK(tide_queue_create(m->device, NULL, &queue));
  CHECK_OK(tide_queue_submit(queue, &(struct tide_operation){.label = NULL}, NULL, NULL));
  CHECK_OK(tide_cluster_publish(m->cluster, "queue", tide_queue_progress(queue)));
  CHECK_OK(tide_cluster_follow(other->cluster, 0, "queue", &mirror));
  settle();
  CHECK_OK(tide_timeline_wait(mirror, 1, TIDE_NOW));
  CHECK_STATUS(tide_timeline_wait(mirror, 2, TIDE_NOW), TIDE_TIMEOUT);
  tide_queue_destroy(queue);
  settle();
  CHECK_STATUS(tide_timeline_wait(mirror, 2, TIDE_NOW), TIDE_CANCELLED);
  CHECK_OK(tide_timeline_wait(mirror, 1, TIDE_NOW));
  tide_timeline_release(mirror);
  leave_both();
  expect_over();
}

/* A member that has said BYE owes nothing; what it cannot acknowledge any more holds up nobody. */
TEST(a_member_that_dies_after_its_bye_is_no_loss) {
  open_two();
  struct machine *m = &world.machines[1];
  settle();
  tide_cluster_begin_leave(world.machines[0].cluster);
  settle();
  CHECK(world.machines[0].cluster->phase == TIDE_CLUSTER_SAID_BYE);
  world.machines[0].is_dead = true;
  CHECK_OK(tide_timeline_signal_external(m->lines[1][0], 1));
  tide_cluster_tell(m->cluster);
  tide_cluster_gone(m->cluster, 0, "end of file");
  tide_cluster_begin_leave(m->cluster);
  settle();
  CHECK(m->cluster->phase == TIDE_CLUSTER_OVER && !tide_cluster_lost(m->cluster, NULL));
  close_two();
}

TEST(a_failure_with_odd_words_is_no_loss) {
  struct tide_failure why;
  struct tide_message_writer writer;
  open_two();
  struct machine *m = &world.machines[0], *other = &world.machines[1];
  settle();
  tide_timeline_fail(m->lines[0][0], (enum tide_status)999);
  settle();
  CHECK(!tide_cluster_lost(other->cluster, NULL));
  CHECK(tide_timeline_failure(other->lines[0][0], 1, &why));
  struct tide_failure odd = {.status = TIDE_IO, .text = "a\tb\nc"};
  struct tide_diag diag = {.text = ""};
  static struct tide_message message;
  tide_message_lost(&writer, 42, 1, &odd);
  CHECK_OK(tide_message_read(writer.bytes, writer.size, &message, &diag));
  CHECK_EQ_STR(message.failure.text, "a?b?c");
  close_two();
}

/* The axis of an unfinished collective is known to the machine that gave it. */
TEST(a_collective_may_come_back) {
  open_two();
  struct machine *m = &world.machines[0], *other = &world.machines[1];
  struct tide_collective *both;
  CHECK_OK(tide_collective_create(m->queues, QUEUES, NULL, &both));
  CHECK_STATUS(tide_cluster_publish(m->cluster, "both", tide_collective_progress(both)),
               TIDE_DENIED);
  settle();
  uint32_t index = world.op_count++;
  struct tide_operation part = {.body = &body, TIDE_ARGUMENTS(index)};
  for (uint32_t q = 0; q < QUEUES; q++)
    CHECK_OK(tide_collective_submit(both, q, 0, &part, NULL, NULL));
  struct tide_wait done = {.timeline = tide_collective_progress(both), .value = 1};
  struct tide_signal told = {.timeline = m->lines[0][1], .value = 1};
  struct tide_operation after = {
      .waits = &done, .wait_count = 1, .signals = &told, .signal_count = 1};
  CHECK_OK(tide_queue_submit(m->queues[1], &after, NULL, NULL));
  settle();
  struct tide_wait heard = {.timeline = other->lines[0][1], .value = 1};
  struct tide_signal back = {.timeline = other->lines[1][0], .value = 1};
  struct tide_operation answer = {
      .waits = &heard, .wait_count = 1, .signals = &back, .signal_count = 1};
  CHECK_OK(tide_queue_submit(other->queues[0], &answer, NULL, NULL));
  settle();
  CHECK(!tide_cluster_lost(m->cluster, NULL) && !tide_cluster_lost(other->cluster, NULL));
  for (uint32_t q = 0; q < QUEUES; q++) {
    take_work(&world, m);
    finish_and_settle(m);
  }
  CHECK_EQ_U64(tide_timeline_query(m->lines[1][0]), 1);
  tide_collective_destroy(both);
  close_two();
}

static uint64_t ends_heard;
static void hear_end(struct tide_node *node, enum tide_status status) {
  (void)node;
  ends_heard += status == TIDE_OK;
}

/* The progress of an axis is told to those who wait for it. */
TEST(a_closed_axis_is_told_and_forgotten) {
  open_two();
  struct machine *m = &world.machines[0], *other = &world.machines[1];
  struct tide_queue *queue;
  struct tide_signal signal = {.timeline = m->lines[0][0], .value = 1};
  CHECK_OK(tide_queue_create(m->device, NULL, &queue));
  tide_axis axis = tide_queue_axis(queue);
  settle();
  struct tide_operation operation = {.signals = &signal, .signal_count = 1};
  CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
  settle();
  CHECK_EQ_U64(tide_timeline_query(other->lines[0][0]), 1);
  CHECK_EQ_U64(tide_tracker_epoch(other->context->tracker, axis), 1);
  CHECK(other->cluster->far_axes.first && !m->cluster->axes.first); /* nobody waits for it */
  struct tide_finish_wait wait = {.node.fire = hear_end};
  ends_heard = 0;
  CHECK(tide_tracker_wait_finish(other->context->tracker, axis, 2, &wait));
  settle();
  CHECK(m->cluster->axes.first && !ends_heard);
  size_t live = tide_tracker_live(other->context->tracker);
  tide_queue_destroy(queue);
  settle();
  CHECK_EQ_U64(tide_tracker_epoch(other->context->tracker, axis), UINT64_MAX);
  CHECK_EQ_U64(tide_tracker_live(other->context->tracker), live - 1);
  CHECK_EQ_U64(ends_heard, 1);
  CHECK(!other->cluster->far_axes.first && !m->cluster->axes.first);
  /* A record that lists it asks for nothing. */
  uint64_t before = world.messages;
  tide_subject_change(&tide_cluster_need_home(m->cluster, "line 0 of machine 0")->subject);
  settle();
  CHECK_EQ_U64(world.messages - before, 1);
  close_two();
}

/* A mirror that nobody owns but the session is let go when its home tells of it next; one with a
 * waiter stays. Followed again, it is another one. */
TEST(what_is_released_is_followed_no_more) {
  struct tide_timeline *mirror;
  open_two();
  struct machine *m = &world.machines[0], *other = &world.machines[1];
  settle();
  CHECK_OK(tide_cluster_follow(other->cluster, 0, "line 0 of machine 0", &mirror));
  CHECK(mirror == other->lines[0][0]);
  tide_timeline_release(mirror);
  struct tide_wait wait = {.timeline = mirror, .value = 2};
  struct tide_operation operation = {.waits = &wait, .wait_count = 1};
  CHECK_OK(tide_queue_submit(other->queues[0], &operation, NULL, NULL));
  tide_timeline_release(mirror); /* the last owner of this test */
  CHECK_OK(tide_timeline_signal_external(m->lines[0][0], 1));
  settle();
  CHECK_EQ_U64(tide_timeline_query(mirror), 1); /* it has a waiter */
  CHECK_OK(tide_timeline_signal_external(m->lines[0][0], 2));
  settle();
  CHECK_OK(tide_timeline_signal_external(m->lines[0][0], 3));
  settle();
  CHECK(!tide_cluster_need_home(m->cluster, "line 0 of machine 0")->subject.followers);
  uint64_t before = world.messages;
  CHECK_OK(tide_timeline_signal_external(m->lines[0][0], 4));
  settle();
  CHECK_EQ_U64(world.messages, before);
  CHECK_OK(tide_cluster_follow(other->cluster, 0, "line 0 of machine 0", &other->lines[0][0]));
  settle();
  CHECK_EQ_U64(tide_timeline_query(other->lines[0][0]), 4);
  CHECK(!tide_cluster_lost(m->cluster, NULL) && !tide_cluster_lost(other->cluster, NULL));
  close_two();
}

/* Queues come and go; what the other machine knows of them stays bounded. */
TEST(axes_of_gone_queues_are_forgotten) {
  open_two();
  struct machine *m = &world.machines[0], *other = &world.machines[1];
  settle();
  size_t most = 0;
  for (uint64_t i = 1; i <= 2000; i++) {
    struct tide_queue *queue;
    struct tide_signal signal = {.timeline = m->lines[0][0], .value = i};
    struct tide_operation operation = {.signals = &signal, .signal_count = 1};
    CHECK_OK(tide_queue_create(m->device, NULL, &queue));
    CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
    settle();
    tide_queue_destroy(queue);
    settle();
    size_t live = tide_tracker_live(other->context->tracker);
    most = live > most ? live : most;
  }
  CHECK(most < 400);
  close_two();
}

TEST_MAIN(CASE(random_programs_over_a_simulated_transport),
          CASE(a_message_that_breaks_a_rule_is_a_loss), CASE(a_promise_behind_a_gap_is_not_kept),
          CASE(names), CASE(leaving_waits_for_a_held_operation),
          CASE(leaving_waits_for_what_was_asked_for),
          CASE(leaving_waits_for_a_timeline_that_nobody_follows),
          CASE(leaving_waits_for_what_comes_behind_a_failure),
          CASE(a_member_that_dies_after_its_bye_is_no_loss),
          CASE(a_failure_with_odd_words_is_no_loss), CASE(a_collective_may_come_back),
          CASE(a_diagnosis_names_who_is_silent), CASE(a_follower_that_stops_costs_a_window),
          CASE(a_closed_axis_is_told_and_forgotten), CASE(axes_of_gone_queues_are_forgotten),
          CASE(what_is_released_is_followed_no_more), CASE(the_progress_of_a_queue_is_followed),
          CASE(leaving_waits_for_a_followed_queue), CASE(a_cancelled_operation_is_no_progress),
          CASE(a_followed_queue_that_ends_fails_the_rest))
