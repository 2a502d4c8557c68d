/* A session of several contexts over a simulated transport: random programs whose operations
 * compute bytes from those that they wait for, wherever these ran, and read each other's buffers.
 * Messages are late and out of order; bodies fail; a machine is lost, or all leave. */
#include "cluster/cluster_state.h"

#include "base/random.h"
#include "harness.h"
#include "tidemark/tidemark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MACHINES 8
#define QUEUES 2
#define OPS 60
#define WAITS 3
#define NET 4096
#define BUFFER 64   /* bytes of one */
#define MEMORY 1024 /* bytes of a machine's pool */
#define OUT 64

struct op {
  uint32_t machine, queue, wait_count, waits[WAITS]; /* of operations */
  uint64_t value;                                    /* of its queue's line */
  bool fails;                                        /* its body does */
  bool submitted, started, over;
  enum tide_status status; /* when it is over */
  uint64_t bytes;          /* 0: not written */
  uint32_t reads;          /* number + 1 of the operation whose buffer it reads; 0: none */
  uint32_t reader;         /* number of the operation that reads its buffer; 0: none */
  unsigned char *memory;   /* its buffer; NULL: none */
  bool is_exported;
  uint32_t first_part, instance; /* of a collective of all machines; instance 0: none */
  uint32_t awaits;               /* an instance of it; 0: none */
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
  struct tide_pool *pool;
  struct tide_timeline *lines[MACHINES][QUEUES];    /* its own, and mirrors */
  struct tide_timeline *progress[MACHINES][QUEUES]; /* of the queues; by_progress */
  struct tide_cluster *cluster;
  struct tide_cluster_collective *all;
  struct tide_work *out[OUT];
  uint32_t out_count, next; /* next: of the program, to be submitted */
  bool awake, is_dead, is_leaving;
  bool is_full; /* what it sends does not go */
};

struct packet {
  uint32_t from, to;
  uint64_t number;
  size_t size;
  unsigned char *bytes;
};

struct world {
  uint64_t seed;
  struct tide_random random;
  uint32_t machine_count, op_count, instances;
  struct machine machines[MACHINES];
  struct op ops[OPS];
  uint64_t tops[MACHINES][QUEUES];
  struct packet net[NET];
  uint32_t packets;
  uint64_t messages, ahead, elided, read, reused;
  struct tide_clock *clock; /* a signalling thread tells itself what has been quiet for a while */
  uint32_t window;
  uint64_t silence;
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
  *packet = (struct packet){m->rank, to, w->messages++, size, malloc(size)};
  memcpy(packet->bytes, bytes, size);
}

static bool has_unsent(void *self, uint32_t to) {
  (void)to;
  return ((struct machine *)self)->is_full;
}

static void wake(void *self) { ((struct machine *)self)->awake = true; }

static void drop_packet(struct world *w, uint32_t at) {
  free(w->net[at].bytes);
  w->net[at] = w->net[--w->packets];
}

static bool keeps_place(const struct packet *packet) {
  if (packet->size <= 8) return false;
  switch (packet->bytes[8]) {
    case TIDE_MESSAGE_EXPORT:
    case TIDE_MESSAGE_PART:
    case TIDE_MESSAGE_UNFOLLOW: return true;
    default: return false;
  }
}

/* The packet itself, or an earlier one of its pair, since some keep their places. */
static uint32_t in_order(const struct world *w, uint32_t wanted) {
  const struct packet *packet = &w->net[wanted];
  uint32_t first = wanted, kept = UINT32_MAX;
  for (uint32_t i = 0; i < w->packets; i++) {
    const struct packet *at = &w->net[i];
    if (at->from != packet->from || at->to != packet->to || at->number > packet->number) continue;
    if (at->number < w->net[first].number) first = i;
    if (keeps_place(at)) kept = i;
  }
  return kept == UINT32_MAX ? wanted : first;
}

static void deliver(struct world *w) {
  if (!w->packets) return;
  uint32_t at = in_order(w, pick(w, w->packets));
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

/* All machines are in this process: a span's chunk is the address. */
static void *map_memory(void *self, size_t size) {
  (void)self;
  return aligned_alloc(64, size); /* both pools ask for multiples of 64 */
}
static void unmap_memory(void *self, void *memory, size_t size) {
  (void)self;
  (void)size;
  free(memory);
}
static const struct tide_memory_source memory = {map_memory, unmap_memory, NULL};

static bool find_memory(void *self, const void *data, size_t size, struct tide_span *out_span) {
  (void)self;
  *out_span = (struct tide_span){(uint64_t)(uintptr_t)data, 0, size};
  return true;
}
static void share_memory(void *self, uint32_t to, const struct tide_span *span) {
  (void)self;
  (void)to;
  (void)span;
}
static bool has_memory(void *self, uint32_t from, const struct tide_span *span) {
  (void)self;
  (void)from;
  return span->chunk != 0;
}
static enum tide_status read_memory(void *self, uint32_t from, const struct tide_span *span,
                                    void *data) {
  (void)self;
  (void)from;
  memcpy(data, (const char *)(uintptr_t)span->chunk + span->offset, span->size); // NOLINT
  return TIDE_OK;
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
  char *end;
  unsigned long index = strtoul(event->label + 1, &end, 10);
  if (event->label[0] != 'o' || *end) return; /* an operation of a collective's own */
  struct op *op = &w->ops[index];
  op->over = true;
  op->status = event->status;
}

static void open_machine(struct world *w, uint32_t rank) {
  static const char *const names[MACHINES] = {"host a, pid 70", "host b, pid 71", "host c, pid 72",
                                              "host d, pid 73", "host e, pid 74", "host f, pid 75",
                                              "host g, pid 76", "host h, pid 77"};
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
                                      .silence = w->silence,
                                      .transport = {.self = m,
                                                    .send = send_packet,
                                                    .wake = wake,
                                                    .has_unsent = has_unsent,
                                                    .memory = &memory,
                                                    .find = find_memory,
                                                    .share = share_memory,
                                                    .has = has_memory,
                                                    .read = read_memory},
                                      .names = names};
  CHECK_OK(tide_cluster_create(&params, &m->cluster));
  struct tide_pool_params pool = {.struct_size = sizeof pool,
                                  .source = tide_cluster_memory(m->cluster),
                                  .limit = MEMORY,
                                  .chunk = MEMORY};
  CHECK_OK(tide_pool_create(m->context, &pool, &m->pool));
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

static void open_collective(struct world *w, struct machine *m) {
  struct tide_cluster_collective_params params = {.struct_size = sizeof params,
                                                  .name = "all",
                                                  .queue = m->queues[0],
                                                  .depth = 2 * OPS,
                                                  .radix = 1 + (uint32_t)(w->seed % 3)};
  CHECK_OK(tide_cluster_collective_create(m->cluster, &params, &m->all));
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
  if (w->instances && pick(w, 6) == 0) op->awaits = 1 + pick(w, w->instances);
  op->value = ++w->tops[op->machine][op->queue];
  op->fails = pick(w, 100) < w->seed % 4;
  w->op_count++;
}

/* One part for each machine, in its first queue. No part waits for another one. */
static void draw_parts(struct world *w) {
  uint32_t first = w->op_count, instance = w->instances + 1;
  if (first + w->machine_count > OPS) return;
  for (uint32_t i = 0; i < w->machine_count; i++) {
    struct op *op = &w->ops[w->op_count];
    draw_op(w);
    w->tops[op->machine][op->queue]--;
    op->machine = i;
    op->queue = 0;
    op->value = ++w->tops[i][0];
    op->instance = instance;
    op->first_part = first;
    for (uint32_t j = 0; j < op->wait_count;)
      if (op->waits[j] >= first) op->waits[j] = op->waits[--op->wait_count];
      else j++;
  }
  w->instances = instance;
}

/* Makes the newest operation write a buffer, which another machine's next operation reads. */
static void draw_reader(struct world *w) {
  uint32_t writer = w->op_count - 1;
  if (w->op_count == OPS || pick(w, 3)) return;
  draw_op(w);
  struct op *reader = &w->ops[writer + 1];
  if (reader->machine == w->ops[writer].machine) return;
  if (reader->wait_count == WAITS) reader->wait_count--;
  reader->waits[reader->wait_count++] = writer;
  reader->reads = writer + 1;
  w->ops[writer].reader = writer + 1;
}

/* Allocates and exports the buffer of an operation. NULL: the pool has none now. */
static struct tide_buffer *export_buffer(struct world *w, struct machine *m, struct op *op) {
  const struct op *reader = &w->ops[op->reader];
  struct tide_buffer *buffer;
  if (!op->reader || tide_queue_alloc(m->queues[op->queue], m->pool, BUFFER, NULL, &buffer))
    return NULL;
  w->reused += tide_buffer_reuse(buffer) != TIDE_REUSE_FRESH;
  enum tide_status status =
      tide_cluster_export(m->cluster, buffer, m->lines[m->rank][op->queue], op->value,
                          m->lines[reader->machine][reader->queue], reader->value);
  if (status != TIDE_OK && w->lost < 0)
    VIOLATION(w, "an export answers %s", tide_status_name(status));
  op->memory = tide_buffer_data(buffer);
  op->is_exported = status == TIDE_OK;
  return buffer;
}

static void submit_next(struct world *w, struct machine *m) {
  while (m->next < w->op_count && w->ops[m->next].machine != m->rank) m->next++;
  if (m->next == w->op_count) return;
  uint32_t index = m->next++;
  struct op *op = &w->ops[index];
  struct tide_wait waits[WAITS + 1];
  struct tide_signal signal = {.timeline = m->lines[m->rank][op->queue], .value = op->value};
  char label[16];
  snprintf(label, sizeof label, "o%u", index);
  for (uint32_t i = 0; i < op->wait_count; i++) {
    const struct op *on = &w->ops[op->waits[i]];
    bool is_read = op->reads == op->waits[i] + 1; /* its line publishes the buffer */
    bool by_progress = w->by_progress && pick(w, 2) && !is_read;
    struct tide_timeline *(*of)[QUEUES] = by_progress ? m->progress : m->lines;
    waits[i] = (struct tide_wait){of[on->machine][on->queue], on->value};
    w->ahead += on->machine != m->rank && !on->started;
  }
  uint32_t wait_count = op->wait_count;
  if (op->awaits)
    waits[wait_count++] = (struct tide_wait){tide_cluster_collective_progress(m->all), op->awaits};
  struct tide_buffer *buffer = export_buffer(w, m, op);
  struct tide_use use = {.buffer = buffer, .access = TIDE_WRITE};
  struct tide_operation operation = {.body = &body,
                                     .label = label,
                                     .buffers = &use,
                                     .buffer_count = buffer != NULL,
                                     TIDE_ARGUMENTS(index),
                                     .waits = waits,
                                     .wait_count = wait_count,
                                     .signals = &signal,
                                     .signal_count = 1};
  struct tide_diag diag;
  enum tide_status status = op->instance
                                ? tide_cluster_collective_submit(m->all, 7, &operation, NULL, &diag)
                                : tide_queue_submit(m->queues[op->queue], &operation, NULL, &diag);
  if (status != TIDE_OK) VIOLATION(w, "o%u is refused: %s", index, diag.text);
  op->submitted = true;
  if (buffer) tide_queue_free(m->queues[op->queue], buffer);
}

/* Reads the buffer of another machine's operation, which nothing may have overwritten. */
static enum tide_status read_buffer(struct world *w, struct machine *m, const struct op *op) {
  unsigned char bytes[BUFFER];
  if (!op->reads || !w->ops[op->reads - 1].is_exported || m->is_dead) return TIDE_OK;
  const struct op *writer = &w->ops[op->reads - 1];
  enum tide_status status = tide_cluster_read(m->cluster, m->lines[writer->machine][writer->queue],
                                              writer->value, 0, bytes, BUFFER);
  if (status != TIDE_OK && (status != TIDE_LOST || w->lost < 0))
    VIOLATION(w, "o%u cannot read: %s", (uint32_t)(op - w->ops), tide_status_name(status));
  for (uint32_t i = 0; i < BUFFER && status == TIDE_OK; i++)
    if (bytes[i] != (unsigned char)op->reads)
      VIOLATION(w, "o%u reads bytes of o%u, not of o%u", (uint32_t)(op - w->ops), bytes[i] - 1,
                op->reads - 1);
  w->read += status == TIDE_OK;
  return status;
}

/* What it computes from what it waited for, and, in its queue, came behind. */
static uint64_t compute(const struct world *w, uint32_t index) {
  const struct op *op = &w->ops[index];
  uint64_t bytes = index + 1;
  for (uint32_t i = 0; i < op->wait_count; i++)
    bytes = (bytes ^ w->ops[op->waits[i]].bytes) * 0x9e3779b97f4a7c15u + 1;
  return bytes;
}

/* All parts have arrived: nothing before them is unfinished. */
static void check_arrivals(const struct world *w, uint32_t index) {
  const struct op *part = &w->ops[index];
  for (uint32_t j = part->first_part; j < part->first_part + w->machine_count; j++) {
    for (uint32_t i = 0; i < w->ops[j].wait_count; i++)
      if (!w->ops[w->ops[j].waits[i]].bytes)
        VIOLATION(w, "o%u starts before what o%u waits for", index, j);
    for (uint32_t i = 0; i < part->first_part; i++)
      if (w->ops[i].machine == w->ops[j].machine && w->ops[i].queue == 0 && !w->ops[i].over)
        VIOLATION(w, "o%u starts before o%u, which comes before o%u", index, i, j);
  }
}

/* All parts of an instance have ended well. */
static void check_ended(const struct world *w, uint32_t index, uint32_t instance) {
  for (uint32_t i = 0; i < w->op_count; i++)
    if (w->ops[i].instance && w->ops[i].instance <= instance && !w->ops[i].bytes)
      VIOLATION(w, "o%u starts before o%u, a part of instance %u", index, i, instance);
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
  if (op->instance) check_arrivals(w, index);
  if (op->awaits && !op->instance) check_ended(w, index, op->awaits);
  (void)read_buffer(w, m, op);
  m->out[m->out_count++] = work;
}

static void give_work(struct world *w, struct machine *m) {
  if (!m->out_count) return;
  uint32_t at = pick(w, m->out_count);
  struct tide_work *work = m->out[at];
  m->out[at] = m->out[--m->out_count];
  uint32_t index = *(const uint32_t *)tide_work_arguments(work);
  struct op *op = &w->ops[index];
  enum tide_status status = op->fails ? TIDE_IO : TIDE_OK;
  if (op->memory) memset(op->memory, (int)(index + 1), BUFFER);
  if (read_buffer(w, m, op) != TIDE_OK) status = TIDE_LOST; /* its machine does not know it yet */
  if (status == TIDE_OK) op->bytes = compute(w, index);
  work->status = status;
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
  if (!calm && w->op_count < OPS && pick(w, 3) == 0) {
    if (!w->by_progress && pick(w, 10) == 0) { /* else a part takes two epochs */
      draw_parts(w);
    } else {
      draw_op(w);
      draw_reader(w);
    }
  }
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

struct ends {
  uint64_t fails_from[MACHINES][QUEUES];
  uint32_t no_arrival, no_end; /* the first instances whose parts do not arrive, or end */
};

static bool wait_fails(const struct world *w, const struct ends *ends, const struct op *op) {
  for (uint32_t j = 0; j < op->wait_count; j++) {
    const struct op *on = &w->ops[op->waits[j]];
    if (on->value >= ends->fails_from[on->machine][on->queue]) return true;
  }
  return op->awaits >= ends->no_end;
}

static bool op_fails(const struct world *w, struct ends *ends, const struct op *op) {
  if (!op->instance) return op->fails || wait_fails(w, ends, op);
  for (uint32_t i = 0; i < w->machine_count && op->instance < ends->no_arrival; i++)
    if (wait_fails(w, ends, &w->ops[op->first_part + i])) ends->no_arrival = op->instance;
  bool fails = op->fails || op->instance >= ends->no_arrival;
  if (fails && op->instance < ends->no_end) ends->no_end = op->instance;
  return fails;
}

/* Statuses are known from the program alone, unless a machine was lost. */
static void check_ends(struct world *w) {
  struct ends ends;
  memset(&ends, 0xff, sizeof ends);
  for (uint32_t i = 0; i < w->op_count; i++) {
    const struct op *op = &w->ops[i];
    bool fails = op_fails(w, &ends, op);
    uint64_t *from = &ends.fails_from[op->machine][op->queue];
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
  tide_cluster_collective_destroy(m->all);
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
  for (uint32_t i = 0; i < w->machine_count; i++) open_collective(w, &w->machines[i]);
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
  uint64_t messages = 0, ahead = 0, elided = 0, read = 0, reused = 0;
  const char *given = getenv("SEED"), *many = getenv("COUNT");
  uint64_t first = given ? strtoull(given, NULL, 0) : 1;
  uint64_t count = many ? strtoull(many, NULL, 0) : given ? 1 : 1500 / test_slowdown();
  for (uint64_t seed = first; seed < first + count; seed++) {
    run(seed);
    messages += world.messages;
    ahead += world.ahead;
    elided += world.elided;
    read += world.read;
    reused += world.reused;
  }
  /* Operations were queued, and waits elided, before the producers had started. */
  CHECK(given || (ahead > 0 && elided > 0 && messages > 0));
  CHECK(given || (read > 0 && reused > 0));
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
  tide_message_state(&told->writer, tag, number, 0, &told->state);
  CHECK(tide_message_add_record(&told->writer, &record));
}

static void give(struct told *told, size_t size) {
  tide_cluster_receive(world.machines[0].cluster, 1, told->writer.bytes, size);
}

static void open_machines(uint32_t count) {
  world = (struct world){
      .seed = 1, .random = {1}, .lost = -1, .machine_count = count, .window = TIDE_CLUSTER_WINDOW};
  CHECK_OK(tide_clock_create(tide_allocator_system(), NULL, &world.clock));
  tide_clock_pass(world.clock, 1000);
  for (uint32_t i = 0; i < count; i++) open_machine(&world, i);
  for (uint32_t i = 0; i < count; i++) follow_lines(&world, &world.machines[i]);
}
/* Machine 0 of two; opened anew for each message. */
static void open_two(void) { open_machines(2); }
static void close_two(void) {
  for (uint32_t i = 0; i < world.machine_count; i++) close_machine(&world.machines[i]);
  while (world.packets) drop_packet(&world, 0);
  tide_clock_destroy(world.clock);
}

/* The sender is named, and this is its sentence. */
static void is_lost_by(uint32_t rank, const char *why) {
  const struct machine *m = &world.machines[0];
  struct tide_failure failure;
  char text[200];
  CHECK(tide_cluster_lost(m->cluster, &failure));
  snprintf(text, sizeof text, "machine %u (host %c, pid %u): %s", rank, 'a' + rank, 70 + rank, why);
  CHECK_EQ_STR(failure.text, text);
  for (uint32_t other = 1; other < world.machine_count; other++)
    CHECK_STATUS(tide_timeline_wait(m->lines[other][0], 3, TIDE_NOW), TIDE_LOST);
  close_two();
}
static void is_lost_for(const char *why) { is_lost_by(1, why); }

TEST(a_message_that_breaks_a_rule_is_a_loss) {
  static struct told told;
  tide_axis theirs = tide_axis_make(2, TIDE_DOMAIN_QUEUE, 1);
  struct tide_record_view view;
  open_two();
  write_promise(&told, 42, 1, theirs, 1, 0, 0);
  struct tide_timeline *mirror = world.machines[0].lines[1][0];
  give(&told, told.writer.size);
  CHECK(mirror->ops->find(mirror->backing, 1, &view) && view.value == 3);
  CHECK(!tide_cluster_lost(world.machines[0].cluster, NULL));
  give(&told, told.writer.size - 1);
  is_lost_for("byte 75 of a message of 94: a frontier is cut short");

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

/* ---- what a member may not say ---- */

/* Machine 0 refuses the message, and learns nothing: no value, no promise, no axis. */
static void refuse_from(uint32_t rank, const struct tide_message_writer *writer, const char *why) {
  const struct machine *m = &world.machines[0];
  struct tide_record_view view;
  size_t axes = tide_tracker_live(m->context->tracker);
  tide_cluster_receive(m->cluster, rank, writer->bytes, writer->size);
  CHECK_EQ_U64(tide_tracker_live(m->context->tracker), axes);
  for (uint32_t other = 1; other < world.machine_count; other++) {
    struct tide_timeline *mirror = m->lines[other][0];
    CHECK_EQ_U64(tide_timeline_query(mirror), 0);
    CHECK(!mirror->ops->find(mirror->backing, 1, &view));
  }
  is_lost_by(rank, why);
}

/* From machine 1, in a session of its own. */
static void refuse(const struct tide_message_writer *writer, const char *why) {
  open_two();
  refuse_from(1, writer, why);
}

TEST(a_message_of_another_session_is_a_loss) {
  static struct told told;
  write_promise(&told, 43, 1, tide_axis_make(2, TIDE_DOMAIN_QUEUE, 1), 1, 0, 0);
  refuse(&told.writer, "a message of another session");
}

TEST(a_member_asks_for_what_it_may_ask) {
  struct tide_message_writer writer;
  struct tide_failure failure = {.status = TIDE_IO, .text = "gone"};
  tide_message_follow(&writer, 42, 1, "");
  refuse(&writer, "it follows a timeline without a name");
  tide_message_count(&writer, 42, TIDE_MESSAGE_UNFOLLOW, 1);
  refuse(&writer, "it follows no timeline of this number");
  tide_message_axis(&writer, 42, TIDE_MESSAGE_FOLLOW_AXIS, tide_axis_make(1, TIDE_DOMAIN_QUEUE, 99),
                    0);
  refuse(&writer, "it follows an axis that I have not given out");
  tide_message_count(&writer, 42, TIDE_MESSAGE_NOTED, 0);
  refuse(&writer, "it notes that I am leaving, and I am not");
  tide_message_lost(&writer, 42, 2, &failure);
  refuse(&writer, "it says that a machine is lost that is no member");
  /* Two names, and one name, by the same number. */
  for (int i = 0; i < 2; i++) {
    open_two();
    tide_message_follow(&writer, 42, 1, "line 0 of machine 0");
    tide_cluster_receive(world.machines[0].cluster, 1, writer.bytes, writer.size);
    CHECK(!tide_cluster_lost(world.machines[0].cluster, NULL));
    tide_message_follow(&writer, 42, 1, i ? "line 0 of machine 0" : "another");
    refuse_from(1, &writer, "it follows two timelines by one number");
  }
}

/* Of three machines, 1 tells of a timeline of 2, and of an operation of 2. */
TEST(a_home_speaks_for_itself_alone) {
  static struct told told;
  tide_axis second = tide_axis_make(2, TIDE_DOMAIN_QUEUE, 1),
            third = tide_axis_make(3, TIDE_DOMAIN_QUEUE, 1);
  open_machines(3);
  write_promise(&told, 42, 3, second, 1, 0, 0);
  refuse_from(1, &told.writer, "a state of another machine's timeline");
  open_machines(3);
  write_promise(&told, 42, 1, third, 1, 0, 0);
  refuse_from(1, &told.writer, "a record of another machine's operation");
  open_machines(3);
  write_promise(&told, 42, 1, second, 1, 0, 0);
  refuse_from(2, &told.writer, "a record of another machine's operation");
}

/* Epoch 1 is given out, and may come back; epoch 2 is not. */
TEST(an_epoch_that_was_not_given_is_no_past) {
  static struct told told;
  tide_axis theirs = tide_axis_make(2, TIDE_DOMAIN_QUEUE, 1);
  for (uint64_t epoch = 1; epoch <= 2; epoch++) {
    open_two();
    struct machine *m = &world.machines[0];
    struct tide_operation operation = {.signals = NULL};
    CHECK_OK(tide_queue_submit(m->queues[0], &operation, NULL, NULL));
    write_promise(&told, 42, 1, theirs, 1, tide_queue_axis(m->queues[0]), epoch);
    if (epoch == 2) {
      refuse_from(1, &told.writer, "a record lists an epoch that I have not given out");
      continue;
    }
    give(&told, told.writer.size);
    CHECK(!tide_cluster_lost(m->cluster, NULL));
    close_two();
  }
}

/* All beginnings of a message are refused with a sentence, but those of a state that end with one
 * of its records. */
static void cut_short(const struct tide_message_writer *writer) {
  static struct tide_message message;
  for (size_t size = 0; size < writer->size; size++) {
    struct tide_diag diag = {.text = ""};
    enum tide_status status = tide_message_read(writer->bytes, size, &message, &diag);
    if (status == TIDE_OK && message.kind == TIDE_MESSAGE_STATE) continue;
    CHECK_STATUS(status, TIDE_CORRUPT);
    CHECK(strstr(diag.text, "cut short"));
  }
}

TEST(a_message_that_is_cut_short_is_refused) {
  static struct told told;
  struct tide_message_writer writer;
  struct tide_failure failure = {.status = TIDE_IO, .text = "gone", .queue = "a"};
  write_promise(&told, 42, 1, tide_axis_make(2, TIDE_DOMAIN_QUEUE, 1), 1, 0, 0);
  cut_short(&told.writer);
  tide_message_follow(&writer, 42, 1, "name");
  cut_short(&writer);
  tide_message_axis(&writer, 42, TIDE_MESSAGE_PROGRESS, 1, 1);
  cut_short(&writer);
  tide_message_axis(&writer, 42, TIDE_MESSAGE_FOLLOW_AXIS, 1, 1);
  cut_short(&writer);
  tide_message_lost(&writer, 42, 1, &failure);
  cut_short(&writer);
  for (int kind = TIDE_MESSAGE_UNFOLLOW; kind <= TIDE_MESSAGE_NOTED; kind++) {
    if (kind != TIDE_MESSAGE_UNFOLLOW && kind != TIDE_MESSAGE_ACK && kind != TIDE_MESSAGE_NOTED)
      continue;
    tide_message_count(&writer, 42, (enum tide_message_kind)kind, 1);
    cut_short(&writer);
  }
  tide_message_begin(&writer, 42, TIDE_MESSAGE_BYE);
  cut_short(&writer);
  writer.bytes[writer.size++] = 0;
  refuse(&writer, "byte 9 of a message of 10: bytes are left over");
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

TEST(names) {
  struct tide_timeline *line, *narrow, *mirror;
  struct tide_timeline_params params = {.struct_size = sizeof params, .scope = TIDE_SCOPE_PROCESS};
  open_two();
  struct machine *m = &world.machines[0];
  CHECK_OK(tide_timeline_create(m->context, &params, &narrow));
  params.scope = TIDE_SCOPE_SYSTEM;
  CHECK_OK(tide_timeline_create(m->context, &params, &line));
  CHECK_STATUS(tide_cluster_publish(m->cluster, "narrow", narrow), TIDE_SCOPE);
  CHECK_OK(tide_cluster_follow(world.machines[1].cluster, 0, "narrow", &mirror));
  CHECK_OK(tide_timeline_signal_external(narrow, 1));
  settle();
  CHECK_EQ_U64(tide_timeline_query(mirror), 0); /* it is asked for, and no state comes */
  CHECK(!tide_cluster_lost(world.machines[0].cluster, NULL));
  tide_timeline_release(mirror);
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
  struct tide_timeline *unmade, *mirror;
  open_two();
  struct machine *m = &world.machines[0], *other = &world.machines[1];
  CHECK_OK(tide_cluster_follow(m->cluster, 1, "unmade", &unmade));
  CHECK_OK(tide_cluster_follow(other->cluster, 0, "another", &mirror));
  settle();
  struct tide_wait wait = {.timeline = m->lines[1][0], .value = 3};
  struct tide_operation operation = {.waits = &wait, .wait_count = 1};
  CHECK_OK(tide_queue_submit(m->queues[0], &operation, NULL, NULL));
  CHECK_OK(tide_timeline_signal_external(m->lines[0][1], 8));
  tide_clock_pass(world.clock, 5000000);
  size_t length = tide_cluster_diagnose(m->cluster, text, sizeof text);
  CHECK_EQ_U64(length, strlen(text));
  CHECK_EQ_STR(text, "machine 1 (host b, pid 71): silent for 5 ms; 2 states in flight\n"
                     "  'line 0 of machine 1' is followed here: at 0, and 3 is awaited\n"
                     "  'line 1 of machine 1' is followed here: at 0\n"
                     "  'unmade' is followed here: at 0; no state of it has come\n"
                     "  it follows 'line 0 of machine 0': at 0\n"
                     "  it follows 'line 1 of machine 0': at 8, which it has not been told\n"
                     "  it follows 'another', which is not published\n");
  tide_cluster_gone(m->cluster, 1, "end of file");
  CHECK(tide_cluster_diagnose(m->cluster, text, 20) > 20);
  CHECK_EQ_STR(text, "lost: machine 1 (ho"); /* as much as fits */
  tide_timeline_release(unmade);
  tide_timeline_release(mirror);
  close_two();
}

/* The follower takes nothing in, until its window is full. */
TEST(a_diagnosis_says_what_is_not_told) {
  char text[600];
  open_two();
  struct machine *m = &world.machines[0];
  settle();
  for (uint64_t i = 1; m->cluster->members[1].in_flight < TIDE_CLUSTER_WINDOW; i++) {
    CHECK_OK(tide_timeline_signal_external(m->lines[0][0], i));
    tide_cluster_tell(m->cluster);
  }
  CHECK_OK(tide_timeline_signal_external(m->lines[0][1], 5));
  tide_cluster_tell(m->cluster);
  tide_cluster_diagnose(m->cluster, text, sizeof text);
  CHECK(strstr(text, "; 64 states in flight, no more until it acknowledges them\n"));
  CHECK(strstr(text, "  it follows 'line 1 of machine 0': at 5, which it has not been told\n"));
  settle();
  tide_cluster_diagnose(m->cluster, text, sizeof text);
  CHECK(!strstr(text, "has not been told") && !strstr(text, "no more until"));
  for (uint32_t i = 0; i < 2; i++) tide_cluster_begin_leave(world.machines[i].cluster);
  settle();
  tide_cluster_diagnose(m->cluster, text, sizeof text);
  CHECK_EQ_STR(text, "machine 1 (host b, pid 71): has left\n");
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
  while (world.packets) deliver(&world); /* the other one has acknowledged all, and not asked yet */
  tide_cluster_tell(m->cluster);
  CHECK(m->cluster->phase == TIDE_CLUSTER_LEAVING); /* it could die after its BYE */
  settle();
  CHECK(m->cluster->phase == TIDE_CLUSTER_SAID_BYE);
  CHECK_EQ_U64(tide_timeline_query(mirror), 1);
  tide_cluster_begin_leave(other->cluster);
  settle();
  tide_timeline_release(line);
  tide_timeline_release(mirror);
  expect_over();
}

/* A member that has left tells what it has reached until all leave, also to those that ask late. */
TEST(a_member_that_has_left_is_followed) {
  struct tide_timeline *late, *unmade, *before;
  struct tide_failure why;
  open_two();
  struct machine *m = &world.machines[0], *other = &world.machines[1];
  CHECK_OK(tide_cluster_follow(other->cluster, 0, "never", &before));
  CHECK_OK(tide_timeline_signal_external(m->lines[0][0], 3));
  settle();
  tide_timeline_release(other->lines[0][0]);
  CHECK_OK(tide_timeline_signal_external(m->lines[0][0], 4)); /* the other one lets it go */
  settle();
  tide_cluster_begin_leave(m->cluster);
  settle();
  CHECK(m->cluster->phase == TIDE_CLUSTER_SAID_BYE);
  CHECK_STATUS(tide_timeline_wait(before, 1, TIDE_NOW), TIDE_CANCELLED);
  CHECK_OK(tide_cluster_follow(other->cluster, 0, "line 0 of machine 0", &late));
  CHECK_OK(tide_cluster_follow(other->cluster, 0, "unmade", &unmade));
  other->lines[0][0] = late;
  settle();
  CHECK_EQ_U64(tide_timeline_query(late), 4);
  CHECK_STATUS(tide_timeline_wait(late, 5, TIDE_NOW), TIDE_CANCELLED);
  CHECK_STATUS(tide_timeline_wait(unmade, 1, TIDE_NOW), TIDE_CANCELLED);
  CHECK(tide_timeline_failure(unmade, 1, &why));
  CHECK_EQ_STR(why.text, "machine 0 (host a, pid 70) has left the session");
  tide_timeline_release(before);
  tide_timeline_release(unmade);
  tide_cluster_begin_leave(other->cluster);
  settle();
  expect_over();
}

/* Its end of the transport would drop what has not gone, a BYE as well. */
TEST(a_member_stays_until_all_has_gone) {
  open_two();
  struct machine *m = &world.machines[0];
  settle();
  m->is_full = true;
  leave_both();
  settle();
  CHECK(world.machines[1].cluster->phase == TIDE_CLUSTER_OVER);
  CHECK(m->cluster->phase == TIDE_CLUSTER_SAID_BYE);
  m->is_full = false;
  tide_cluster_tell(m->cluster);
  expect_over();
}

/* Its question comes after the other one has noted all. */
TEST(a_question_that_crosses_a_bye_is_answered) {
  struct tide_timeline *late;
  struct tide_timeline_params params = {.struct_size = sizeof params, .scope = TIDE_SCOPE_SYSTEM};
  struct tide_timeline *line;
  open_two();
  struct machine *m = &world.machines[0], *other = &world.machines[1];
  CHECK_OK(tide_timeline_create(m->context, &params, &line));
  CHECK_OK(tide_cluster_publish(m->cluster, "late", line));
  CHECK_OK(tide_timeline_signal_external(line, 1));
  settle();
  tide_cluster_begin_leave(m->cluster);
  tide_cluster_tell(m->cluster);
  while (world.packets) deliver(&world);
  tide_cluster_tell(other->cluster); /* it notes the leaving */
  CHECK_OK(tide_cluster_follow(other->cluster, 0, "late", &late));
  while (world.packets) deliver(&world);
  tide_cluster_tell(m->cluster);
  while (world.packets) deliver(&world);
  CHECK(other->cluster->members[0].has_left);
  CHECK_STATUS(tide_timeline_wait(late, 1, TIDE_NOW), TIDE_TIMEOUT);
  settle();
  CHECK_OK(tide_timeline_wait(late, 1, TIDE_NOW));
  CHECK_STATUS(tide_timeline_wait(late, 2, TIDE_NOW), TIDE_CANCELLED);
  tide_timeline_release(late);
  tide_timeline_release(line);
  tide_cluster_begin_leave(other->cluster);
  settle();
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

/* A signal that precedes the request of a promise is told behind it, if the promise was asked for
 * first: a waiter for the signal finds the promise. */
TEST(first_states_are_told_in_the_order_of_their_requests) {
  static const char *const names[] = {"promised", "ready"};
  struct tide_timeline *lines[2];
  struct tide_message_writer writer;
  open_two();
  struct machine *m = &world.machines[0];
  for (uint32_t i = 0; i < 2; i++) {
    CHECK_OK(tide_timeline_create(
        m->context, TIDE_PARAMS(tide_timeline_params, .scope = TIDE_SCOPE_SYSTEM), &lines[i]));
  }
  CHECK_OK(tide_cluster_publish(m->cluster, names[0], lines[0]));
  begin_op(m, lines[0], 1, false);
  settle();
  CHECK_OK(tide_cluster_publish(m->cluster, names[1], lines[1])); /* a change, not looked at yet */
  CHECK_OK(tide_timeline_signal_external(lines[1], 1));
  CHECK(m->awake && !world.packets);
  for (uint32_t i = 0; i < 2; i++) {
    tide_message_follow(&writer, 42, 3 + i, names[i]);
    tide_cluster_receive(m->cluster, 1, writer.bytes, writer.size);
  }
  tide_cluster_tell(m->cluster);
  for (uint32_t i = 0; i < 2; i++) {
    static struct tide_message message;
    CHECK(i < world.packets);
    CHECK_OK(tide_message_read(world.net[i].bytes, world.net[i].size, &message, NULL));
    CHECK_EQ_U64(message.kind, TIDE_MESSAGE_STATE);
    CHECK_EQ_U64(message.number, 3 + i);
  }
  while (world.packets) drop_packet(&world, 0);
  for (uint32_t i = 0; i < 2; i++) tide_timeline_release(lines[i]);
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

/* ---- silence --------------------------------------------------------------------------------- */

#define SILENCE 1000000000u /* ns */

static void open_watched(void) {
  open_two();
  for (uint32_t i = 0; i < 2; i++) world.machines[i].cluster->silence = SILENCE;
  settle();
}

/* A period passes, and some machines are there. */
static void beat(bool first, bool second) {
  tide_clock_pass(world.clock, tide_cluster_beat_period(world.machines[0].cluster));
  if (first) tide_cluster_beat(world.machines[0].cluster);
  if (second) tide_cluster_beat(world.machines[1].cluster);
  settle();
}

TEST(a_silent_neighbour_is_lost) {
  struct tide_failure why;
  open_watched();
  struct tide_cluster *cluster = world.machines[0].cluster;
  for (int i = 0; i < 40; i++) beat(true, true);
  CHECK(!tide_cluster_lost(cluster, NULL));
  for (int i = 0; i < 8; i++) beat(true, false); /* nothing since the beat before */
  CHECK(!tide_cluster_lost(cluster, NULL));
  beat(true, false);
  CHECK(tide_cluster_lost(cluster, &why));
  CHECK_EQ_STR(why.text, "machine 1 (host b, pid 71): silent for 1125 ms");
  close_two();
}

/* What the others sent meanwhile may not have been taken in. */
TEST(a_machine_that_slept_itself_judges_nobody) {
  open_watched();
  for (int i = 0; i < 3; i++) beat(true, true);
  for (int i = 0; i < 100; i++) beat(false, false);
  for (int i = 0; i < 7; i++) beat(true, false);
  CHECK(!tide_cluster_lost(world.machines[0].cluster, NULL));
  close_two();
}

TEST(a_member_that_has_left_may_be_silent) {
  open_watched();
  leave_both();
  for (int i = 0; i < 20; i++) beat(true, false);
  expect_over();
}

/* It waits for the other one, which works on and has nothing to tell. */
TEST(a_member_that_has_left_gets_beats) {
  open_watched();
  tide_cluster_begin_leave(world.machines[0].cluster);
  settle();
  CHECK(world.machines[0].cluster->phase == TIDE_CLUSTER_SAID_BYE);
  for (int i = 0; i < 40; i++) beat(true, true);
  CHECK(!tide_cluster_lost(world.machines[0].cluster, NULL));
  tide_cluster_begin_leave(world.machines[1].cluster);
  settle();
  expect_over();
}

/* ---- collectives ---------------------------------------------------------------------------- */

static void submit_part(uint32_t rank, uint64_t kind, uint64_t expected) {
  uint64_t instance;
  CHECK_OK(tide_cluster_collective_submit(
      world.machines[rank].all, kind, &(struct tide_operation){.label = "part"}, &instance, NULL));
  CHECK_EQ_U64(instance, expected);
}

static struct tide_timeline *all_ended(uint32_t rank) {
  return tide_cluster_collective_progress(world.machines[rank].all);
}

static void open_two_with_all(void) {
  open_two();
  for (uint32_t i = 0; i < 2; i++) open_collective(&world, &world.machines[i]);
  settle();
}

TEST(a_collective_ends_when_all_parts_have) {
  open_two_with_all();
  submit_part(1, 7, 1);
  submit_part(1, 8, 2);
  settle();
  CHECK_EQ_U64(tide_timeline_query(all_ended(1)), 0);
  submit_part(0, 7, 1);
  settle();
  for (uint32_t i = 0; i < 2; i++) CHECK_EQ_U64(tide_timeline_query(all_ended(i)), 1);
  submit_part(0, 8, 2);
  settle();
  for (uint32_t i = 0; i < 2; i++) CHECK_EQ_U64(tide_timeline_query(all_ended(i)), 2);
  close_two();
}

/* `first`: the member that submits its part before the other one. `pause`: in ns, before each part:
 * a signalling thread tells itself what has been quiet for a while. */
static void submit_unlike(uint32_t first, uint64_t pause) {
  struct tide_failure why;
  open_two_with_all();
  for (uint32_t i = 0; i < 4; i++) {
    uint32_t from = i % 2 ? 1 - first : first;
    tide_clock_pass(world.clock, pause);
    submit_part(from, i < 2 ? 7 : 8 + from, 1 + i / 2);
    settle();
  }
  for (uint32_t i = 0; i < 2; i++) {
    CHECK_OK(tide_timeline_wait(all_ended(i), 1, TIDE_NOW));
    CHECK_STATUS(tide_timeline_wait(all_ended(i), 2, TIDE_NOW), TIDE_MISMATCH);
    CHECK(tide_timeline_failure(all_ended(i), 2, &why));
    CHECK_EQ_STR(why.text,
                 "part 2 of collective 'all': kind 9 at machine 1 (host b, pid 71), 8 here");
  }
  CHECK(!tide_cluster_lost(world.machines[0].cluster, NULL));
  close_two();
}

TEST(parts_of_two_kinds_fail) {
  submit_unlike(0, 0);
  submit_unlike(1, 0);
  submit_unlike(0, 1000000);
  submit_unlike(1, 1000000);
}

TEST(a_part_that_does_not_arrive_fails_all) {
  open_two_with_all();
  struct machine *m = &world.machines[0];
  struct tide_wait wait = {m->lines[0][1], 1};
  tide_timeline_fail(m->lines[0][1], TIDE_IO);
  CHECK_OK(tide_cluster_collective_submit(
      m->all, 7, &(struct tide_operation){.waits = &wait, .wait_count = 1}, NULL, NULL));
  submit_part(1, 7, 1);
  submit_part(1, 7, 2);
  settle();
  for (uint32_t i = 0; i < 2; i++)
    CHECK_STATUS(tide_timeline_wait(all_ended(i), 1, TIDE_NOW), TIDE_IO);
  close_two();
}

static void submit_next_part(struct tide_timepoint *timepoint, enum tide_status status) {
  (void)timepoint;
  CHECK_OK(status);
  submit_part(0, 7, 2);
}

/* The last part that arrives runs while it is submitted, and with it the call. */
TEST(a_call_submits_the_next_part) {
  struct tide_timeline *ran;
  open_two_with_all();
  struct machine *m = &world.machines[0];
  CHECK_OK(tide_timeline_create(m->context, NULL, &ran));
  struct tide_timepoint next = {.timeline = ran, .value = 1, .call = submit_next_part};
  CHECK_OK(tide_timepoint_add(&next));
  submit_part(1, 7, 1);
  submit_part(1, 7, 2);
  settle();
  struct tide_signal signal = {.timeline = ran, .value = 1};
  struct tide_operation part = {.label = "part", .signals = &signal, .signal_count = 1};
  CHECK_OK(tide_cluster_collective_submit(m->all, 7, &part, NULL, NULL));
  settle();
  for (uint32_t i = 0; i < 2; i++) CHECK_EQ_U64(tide_timeline_query(all_ended(i)), 2);
  close_two();
}

/* Its second operation would close a cycle; the first one waits for ever. */
TEST(a_part_that_is_refused_fails_all) {
  struct tide_timeline *there, *back;
  struct tide_diag diag;
  open_two_with_all();
  struct machine *m = &world.machines[1];
  CHECK_OK(tide_timeline_create(m->context, NULL, &there));
  CHECK_OK(tide_timeline_create(m->context, NULL, &back));
  struct tide_wait waits[2] = {{there, 1}, {back, 1}};
  struct tide_signal signals[2] = {{.timeline = back, .value = 1}, {.timeline = there, .value = 1}};
  struct tide_operation other = {
      .waits = &waits[0], .wait_count = 1, .signals = &signals[0], .signal_count = 1};
  struct tide_operation part = {
      .waits = &waits[1], .wait_count = 1, .signals = &signals[1], .signal_count = 1};
  CHECK_OK(tide_queue_submit(m->queues[1], &other, NULL, NULL));
  CHECK_STATUS(tide_cluster_collective_submit(m->all, 7, &part, NULL, &diag), TIDE_DEADLOCK);
  submit_part(0, 7, 1);
  settle();
  for (uint32_t i = 0; i < 2; i++)
    CHECK_STATUS(tide_timeline_wait(all_ended(i), 1, TIDE_NOW), TIDE_DEADLOCK);
  close_two();
}

TEST(a_collective_has_a_depth_and_a_name) {
  uint32_t ranks[3] = {1, 0, 1};
  struct tide_cluster_collective *other;
  open_two_with_all();
  struct machine *m = &world.machines[0];
  struct tide_cluster_collective_params params = {
      .struct_size = sizeof params, .name = "all", .queue = m->queues[1], .depth = 2};
  CHECK_STATUS(tide_cluster_collective_create(m->cluster, &params, &other), TIDE_BUSY);
  params.name = "a name of more than forty bytes, which is one too many";
  CHECK_STATUS(tide_cluster_collective_create(m->cluster, &params, &other), TIDE_INVALID);
  params.name = "other";
  params.ranks = ranks;
  params.rank_count = 3; /* one comes twice */
  CHECK_STATUS(tide_cluster_collective_create(m->cluster, &params, &other), TIDE_INVALID);
  params.rank_count = 1; /* not this one */
  CHECK_STATUS(tide_cluster_collective_create(m->cluster, &params, &other), TIDE_INVALID);
  params.rank_count = 2;
  params.depth = UINT32_MAX;
  CHECK_STATUS(tide_cluster_collective_create(m->cluster, &params, &other), TIDE_INVALID);
  params.depth = 2;
  CHECK_OK(tide_cluster_collective_create(m->cluster, &params, &other));
  const struct tide_operation part = {.label = "part"};
  struct tide_diag diag;
  for (int i = 0; i < 2; i++)
    CHECK_OK(tide_cluster_collective_submit(other, 1, &part, NULL, &diag));
  CHECK_STATUS(tide_cluster_collective_submit(other, 1, &part, NULL, &diag), TIDE_FULL);
  CHECK_EQ_STR(diag.text, "collective 'other': 2 instances are not over");
  tide_cluster_collective_destroy(other);
  close_two();
}

/* ---- buffers ------------------------------------------------------------------------------- */

/* Machine 0's buffer, which machine 1 reads. */
struct shared {
  struct machine *writer, *reader;
  struct tide_timeline *written, *mirror, *receipt, *read;
  struct tide_pool *pool; /* has memory for one buffer */
  struct tide_buffer *buffer;
};

static void open_shared(struct shared *s) {
  open_two();
  s->writer = &world.machines[0];
  s->reader = &world.machines[1];
  s->written = s->writer->lines[0][0];
  s->mirror = s->reader->lines[0][0];
  s->read = s->reader->lines[1][0];
  s->receipt = s->writer->lines[1][0];
  settle();
  struct tide_pool_params params = {.struct_size = sizeof params,
                                    .source = tide_cluster_memory(s->writer->cluster),
                                    .limit = BUFFER,
                                    .chunk = BUFFER};
  CHECK_OK(tide_pool_create(s->writer->context, &params, &s->pool));
  CHECK_OK(tide_pool_alloc(s->pool, BUFFER, NULL, "frame", &s->buffer));
}

/* Publishes the buffer as value 1, and frees it. */
static void share_buffer(struct shared *s) {
  memset(tide_buffer_data(s->buffer), 7, BUFFER);
  CHECK_OK(tide_cluster_export(s->writer->cluster, s->buffer, s->written, 1, s->receipt, 1));
  CHECK_OK(tide_timeline_signal(s->written, 1, NULL));
  tide_pool_free(s->buffer, NULL);
  settle();
}

static enum tide_status read_shared(struct shared *s, uint64_t value, uint64_t offset,
                                    size_t size) {
  unsigned char bytes[2 * BUFFER] = {0};
  enum tide_status status =
      tide_cluster_read(s->reader->cluster, s->mirror, value, offset, bytes, size);
  for (size_t i = 0; i < size && status == TIDE_OK; i++) CHECK_EQ_U64(bytes[i], 7);
  return status;
}

/* The pool has no other memory. */
static bool is_reused(const struct shared *s) {
  struct tide_buffer *buffer;
  if (tide_pool_alloc(s->pool, BUFFER, NULL, NULL, &buffer) != TIDE_OK) return false;
  tide_pool_free(buffer, NULL);
  return true;
}

/* An operation of the reader that signals the receipt, and whose body runs. */
static struct tide_work *start_reading(struct shared *s) {
  struct tide_wait wait = {s->mirror, 1};
  struct tide_signal signal = {.timeline = s->read, .value = 1};
  struct tide_operation operation = {
      .body = &body, .waits = &wait, .wait_count = 1, .signals = &signal, .signal_count = 1};
  struct tide_work *work;
  CHECK_OK(tide_queue_submit(s->reader->queues[0], &operation, NULL, NULL));
  CHECK(tide_device_exchange(s->reader->device, NULL, 0, &work, 1, NULL) == 1);
  return work;
}
static void end_reading(struct shared *s, struct tide_work *work, enum tide_status status) {
  work->status = status;
  tide_device_exchange(s->reader->device, &work, 1, NULL, 0, NULL);
  settle();
}

TEST(a_buffer_is_reused_once_it_has_been_read) {
  struct shared s;
  open_shared(&s);
  CHECK(tide_buffer_idle(s.buffer));
  share_buffer(&s);
  struct tide_work *work = start_reading(&s);
  settle();
  CHECK(!is_reused(&s));
  CHECK_OK(read_shared(&s, 1, 0, BUFFER));
  end_reading(&s, work, TIDE_OK);
  CHECK_EQ_U64(tide_timeline_query(s.receipt), 1);
  CHECK(is_reused(&s));
  CHECK_STATUS(read_shared(&s, 1, 0, 1), TIDE_INVALID); /* the receipt is over */
  close_two();
}

TEST(a_read_names_what_is_there) {
  struct shared s;
  open_shared(&s);
  settle();
  CHECK_STATUS(read_shared(&s, 1, 0, 1), TIDE_INVALID); /* not reached */
  share_buffer(&s);
  CHECK_OK(read_shared(&s, 1, BUFFER - 1, 1));
  CHECK_OK(read_shared(&s, 1, BUFFER, 0));
  CHECK_STATUS(read_shared(&s, 1, BUFFER, 1), TIDE_INVALID);
  CHECK_STATUS(read_shared(&s, 1, UINT64_MAX, 2), TIDE_INVALID);
  CHECK_STATUS(read_shared(&s, 1, 1, BUFFER), TIDE_INVALID);
  CHECK_OK(tide_timeline_signal(s.written, 2, NULL));
  settle();
  CHECK_STATUS(read_shared(&s, 2, 0, 1), TIDE_NOT_FOUND);
  CHECK_STATUS(tide_cluster_read(s.reader->cluster, s.read, 1, 0, &s, 0), TIDE_INVALID);
  close_two();
}

TEST(an_export_names_what_is_there) {
  struct shared s;
  unsigned char *own;
  open_shared(&s);
  struct tide_cluster *cluster = s.writer->cluster;
  CHECK_STATUS(tide_cluster_export(cluster, s.buffer, s.receipt, 1, s.receipt, 1), TIDE_INVALID);
  CHECK_STATUS(tide_cluster_export(cluster, s.buffer, s.written, 1, s.written, 1), TIDE_INVALID);
  CHECK_STATUS(tide_cluster_export(cluster, s.buffer, s.written, 0, s.receipt, 1), TIDE_INVALID);
  CHECK_STATUS(tide_cluster_export(cluster, NULL, s.written, 1, s.receipt, 1), TIDE_INVALID);
  CHECK_OK(tide_cluster_export(cluster, s.buffer, s.written, 2, s.receipt, 1));
  CHECK_STATUS(tide_cluster_export(cluster, s.buffer, s.written, 2, s.receipt, 2), TIDE_BUSY);
  CHECK_OK(tide_timeline_signal(s.written, 3, NULL));
  CHECK_STATUS(tide_cluster_export(cluster, s.buffer, s.written, 3, s.receipt, 2), TIDE_BUSY);
  CHECK_OK(tide_cluster_export(cluster, s.buffer, s.written, 4, s.receipt, 2));
  own = tide_buffer_data(s.buffer);
  memset(own, 7, BUFFER);
  settle();
  CHECK_OK(read_shared(&s, 2, 0, BUFFER));
  CHECK_STATUS(read_shared(&s, 4, 0, BUFFER), TIDE_INVALID);
  close_two();
}

/* A receipt that has failed is over when the operation is that was to signal it. */
TEST(a_failed_receipt_waits_for_its_operation) {
  struct shared s;
  open_shared(&s);
  share_buffer(&s);
  struct tide_work *work = start_reading(&s);
  tide_timeline_fail(s.read, TIDE_FAILED);
  settle();
  CHECK_STATUS(tide_timeline_wait(s.receipt, 1, TIDE_NOW), TIDE_FAILED);
  tide_subject_change(&tide_cluster_need_home(s.reader->cluster, "line 0 of machine 1")->subject);
  settle(); /* a later state says it again */
  CHECK(!is_reused(&s));
  CHECK_OK(read_shared(&s, 1, 0, BUFFER));
  end_reading(&s, work, TIDE_OK);
  CHECK(is_reused(&s));
  close_two();
}

/* Both signal the receipts' timeline; the second one, which reads another buffer, is cancelled. */
TEST(a_cancelled_reader_ends_its_receipt_alone) {
  struct shared s;
  uint64_t second;
  open_shared(&s);
  share_buffer(&s);
  struct tide_work *work = start_reading(&s);
  struct tide_wait wait = {s.mirror, 5}; /* no operation promises it: the reader is held */
  struct tide_signal signal = {.timeline = s.read, .value = 2};
  struct tide_operation operation = {
      .waits = &wait, .wait_count = 1, .signals = &signal, .signal_count = 1};
  CHECK_OK(tide_queue_submit(s.reader->queues[0], &operation, &second, NULL));
  CHECK_OK(tide_queue_cancel(s.reader->queues[0], second));
  settle();
  CHECK(!is_reused(&s));
  end_reading(&s, work, TIDE_OK);
  CHECK(is_reused(&s));
  close_two();
}

TEST(a_reader_that_fails_has_read) {
  struct shared s;
  open_shared(&s);
  share_buffer(&s);
  end_reading(&s, start_reading(&s), TIDE_IO);
  CHECK_STATUS(tide_timeline_wait(s.receipt, 1, TIDE_NOW), TIDE_IO);
  CHECK(is_reused(&s));
  close_two();
}

/* The reader's operation never runs, since the writer's value fails. */
TEST(a_reader_that_is_skipped_has_read) {
  struct shared s;
  open_shared(&s);
  CHECK_OK(tide_cluster_export(s.writer->cluster, s.buffer, s.written, 1, s.receipt, 1));
  tide_pool_free(s.buffer, NULL);
  settle();
  CHECK(!is_reused(&s));
  struct tide_wait wait = {s.mirror, 1};
  struct tide_signal signal = {.timeline = s.read, .value = 1};
  struct tide_operation operation = {
      .waits = &wait, .wait_count = 1, .signals = &signal, .signal_count = 1};
  CHECK_OK(tide_queue_submit(s.reader->queues[0], &operation, NULL, NULL));
  tide_timeline_fail(s.written, TIDE_IO);
  settle();
  CHECK_STATUS(tide_timeline_wait(s.receipt, 1, TIDE_NOW), TIDE_IO);
  CHECK(is_reused(&s));
  close_two();
}

/* The receipt has failed, and the buffer is another one's; the same value may be signalled again.
 */
TEST(a_reader_that_tries_again_reads_nothing) {
  struct shared s;
  open_shared(&s);
  share_buffer(&s);
  end_reading(&s, start_reading(&s), TIDE_IO);
  CHECK(is_reused(&s));
  struct tide_work *work = start_reading(&s);
  CHECK_STATUS(read_shared(&s, 1, 0, BUFFER), TIDE_INVALID);
  end_reading(&s, work, TIDE_OK);
  close_two();
}

TEST(a_receipt_that_its_host_fails_is_over) {
  struct shared s;
  open_shared(&s);
  share_buffer(&s);
  CHECK(!is_reused(&s));
  tide_timeline_fail(s.read, TIDE_IO);
  settle();
  CHECK(is_reused(&s));
  CHECK_STATUS(read_shared(&s, 1, 0, BUFFER), TIDE_INVALID);
  close_two();
}

/* A reader has failed before, and no one is left to signal the others. */
TEST(a_receipt_that_is_released_is_over) {
  struct shared s;
  open_shared(&s);
  begin_op(s.reader, s.read, 1, true);
  CHECK_OK(tide_cluster_export(s.writer->cluster, s.buffer, s.written, 1, s.receipt, 2));
  CHECK_OK(tide_timeline_signal(s.written, 1, NULL));
  tide_pool_free(s.buffer, NULL);
  finish_and_settle(s.reader);
  CHECK(!is_reused(&s));
  tide_timeline_release(s.read);
  s.reader->lines[1][0] = NULL;
  settle();
  CHECK(is_reused(&s));
  close_two();
}

TEST(a_receipt_may_be_the_last_value) {
  struct shared s;
  open_shared(&s);
  CHECK_OK(tide_cluster_export(s.writer->cluster, s.buffer, s.written, 1, s.receipt, UINT64_MAX));
  CHECK(!tide_buffer_idle(s.buffer));
  CHECK_OK(tide_timeline_signal(s.written, 1, NULL));
  tide_pool_free(s.buffer, NULL);
  settle();
  CHECK(!is_reused(&s));
  CHECK_OK(tide_timeline_signal(s.read, UINT64_MAX, NULL));
  settle();
  CHECK(is_reused(&s));
  close_two();
}

/* Each would wait for the other one's receipt. */
TEST(two_that_have_not_read_leave) {
  struct shared s;
  struct tide_buffer *back;
  open_shared(&s);
  share_buffer(&s);
  struct machine *m = s.reader;
  CHECK_OK(tide_pool_alloc(m->pool, BUFFER, NULL, "back", &back));
  CHECK_OK(tide_cluster_export(m->cluster, back, m->lines[1][1], 1, m->lines[0][1], 1));
  CHECK_OK(tide_timeline_signal(m->lines[1][1], 1, NULL));
  tide_pool_free(back, NULL);
  settle();
  leave_both();
  expect_over();
}

/* The reader has not heard of the loss, and still reads. */
TEST(a_loss_keeps_the_memory_of_open_receipts) {
  struct shared s;
  struct tide_pool_stats stats;
  open_shared(&s);
  share_buffer(&s);
  struct tide_work *work = start_reading(&s);
  tide_cluster_gone(s.writer->cluster, 1, "end of file");
  CHECK(!is_reused(&s));
  tide_pool_stats(s.pool, &stats);
  CHECK_EQ_U64(stats.deferred_buffers, 1);
  CHECK_OK(read_shared(&s, 1, 0, BUFFER));
  settle();
  CHECK_STATUS(read_shared(&s, 1, 0, BUFFER), TIDE_LOST); /* it has heard now */
  end_reading(&s, work, TIDE_OK);
  CHECK(!is_reused(&s));
  CHECK_STATUS(tide_cluster_export(s.writer->cluster, s.buffer, s.written, 2, s.receipt, 2),
               TIDE_INVALID);
  close_two();
}

TEST(leaving_waits_for_the_readers) {
  struct shared s;
  open_shared(&s);
  share_buffer(&s);
  struct tide_work *work = start_reading(&s);
  leave_both();
  settle();
  CHECK(s.writer->cluster->phase == TIDE_CLUSTER_LEAVING);
  CHECK_OK(read_shared(&s, 1, 0, BUFFER));
  end_reading(&s, work, TIDE_OK);
  CHECK(is_reused(&s));
  expect_over();
}

/* A member that leaves without reading has no operation that could. */
TEST(a_reader_that_has_left_has_read) {
  struct shared s;
  open_shared(&s);
  share_buffer(&s);
  CHECK(!is_reused(&s));
  leave_both();
  CHECK(is_reused(&s));
  CHECK_STATUS(read_shared(&s, 1, 0, BUFFER), TIDE_CANCELLED);
  expect_over();
}

/* The reader dies right after its BYE: the state that would say so never comes. */
TEST(a_bye_ends_the_receipts) {
  static struct tide_message_writer bye;
  struct shared s;
  open_shared(&s);
  share_buffer(&s);
  CHECK(!is_reused(&s));
  tide_message_begin(&bye, 42, TIDE_MESSAGE_BYE);
  tide_cluster_receive(s.writer->cluster, 1, bye.bytes, bye.size);
  CHECK(is_reused(&s));
  close_two();
}

/* A mirror that is let go, and followed again, is told of its buffers again. */
TEST(a_buffer_is_told_anew) {
  struct shared s;
  open_shared(&s);
  CHECK_OK(tide_cluster_export(s.writer->cluster, s.buffer, s.written, 5, s.receipt, 1));
  CHECK_OK(tide_timeline_signal(s.written, 1, NULL));
  memset(tide_buffer_data(s.buffer), 7, BUFFER);
  settle();
  tide_timeline_release(s.mirror);
  CHECK_OK(tide_timeline_signal(s.written, 2, NULL));
  settle();
  CHECK_OK(tide_cluster_follow(s.reader->cluster, 0, "line 0 of machine 0", &s.mirror));
  s.reader->lines[0][0] = s.mirror;
  CHECK_OK(tide_timeline_signal(s.written, 5, NULL));
  settle();
  CHECK_OK(read_shared(&s, 5, 0, BUFFER));
  close_two();
}

TEST_MAIN(CASE(random_programs_over_a_simulated_transport), CASE(a_silent_neighbour_is_lost),
          CASE(a_machine_that_slept_itself_judges_nobody),
          CASE(a_member_that_has_left_may_be_silent), CASE(a_member_that_has_left_gets_beats),
          CASE(a_collective_ends_when_all_parts_have), CASE(parts_of_two_kinds_fail),
          CASE(a_part_that_does_not_arrive_fails_all), CASE(a_call_submits_the_next_part),
          CASE(a_part_that_is_refused_fails_all), CASE(a_collective_has_a_depth_and_a_name),
          CASE(a_buffer_is_reused_once_it_has_been_read), CASE(a_read_names_what_is_there),
          CASE(an_export_names_what_is_there), CASE(a_failed_receipt_waits_for_its_operation),
          CASE(a_cancelled_reader_ends_its_receipt_alone), CASE(a_reader_that_fails_has_read),
          CASE(a_reader_that_is_skipped_has_read), CASE(a_reader_that_tries_again_reads_nothing),
          CASE(a_receipt_that_its_host_fails_is_over), CASE(a_receipt_that_is_released_is_over),
          CASE(a_receipt_may_be_the_last_value), CASE(two_that_have_not_read_leave),
          CASE(a_loss_keeps_the_memory_of_open_receipts), CASE(leaving_waits_for_the_readers),
          CASE(a_reader_that_has_left_has_read), CASE(a_bye_ends_the_receipts),
          CASE(a_buffer_is_told_anew), CASE(a_message_that_breaks_a_rule_is_a_loss),
          CASE(a_promise_behind_a_gap_is_not_kept), CASE(a_message_of_another_session_is_a_loss),
          CASE(a_member_asks_for_what_it_may_ask), CASE(a_home_speaks_for_itself_alone),
          CASE(an_epoch_that_was_not_given_is_no_past),
          CASE(a_message_that_is_cut_short_is_refused), CASE(names),
          CASE(leaving_waits_for_a_held_operation), CASE(leaving_waits_for_what_was_asked_for),
          CASE(a_member_that_has_left_is_followed), CASE(a_question_that_crosses_a_bye_is_answered),
          CASE(a_member_stays_until_all_has_gone),
          CASE(leaving_waits_for_a_timeline_that_nobody_follows),
          CASE(leaving_waits_for_what_comes_behind_a_failure),
          CASE(a_member_that_dies_after_its_bye_is_no_loss),
          CASE(a_failure_with_odd_words_is_no_loss), CASE(a_collective_may_come_back),
          CASE(a_diagnosis_names_who_is_silent), CASE(a_diagnosis_says_what_is_not_told),
          CASE(a_follower_that_stops_costs_a_window),
          CASE(first_states_are_told_in_the_order_of_their_requests),
          CASE(a_closed_axis_is_told_and_forgotten), CASE(axes_of_gone_queues_are_forgotten),
          CASE(what_is_released_is_followed_no_more), CASE(the_progress_of_a_queue_is_followed),
          CASE(leaving_waits_for_a_followed_queue), CASE(a_cancelled_operation_is_no_progress),
          CASE(a_followed_queue_that_ends_fails_the_rest))
