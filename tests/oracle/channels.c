/* Operations that wait for points and keep promises, at random, on a device in order and one out of
 * order; against the model of points, sets of what must have finished, and the formula of
 * priorities, all computed anew.
 *
 *   oracle-channels [--seed N] [--count N] [--verbose]      one run, or many */
#include "base/random.h"
#include "channels_world.h"
#include "seek.h"

#include <stdio.h>
#include <string.h>

#define STEPS 140

static struct tide_random dice;
static bool verbose;
static unsigned step;

static unsigned below(unsigned limit) { return (unsigned)tide_random_below(&dice, limit); }
static bool chance(unsigned percent) { return below(100) < percent; }

#define SAY(...)                                                                                   \
  do {                                                                                             \
    if (verbose) printf("%3u  ", step), printf(__VA_ARGS__), printf("\n");                         \
  } while (0)

static enum tide_status nothing(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}
const struct tide_body_class channels_body = {.name = "body", .host = nothing};
const struct tide_body_class channels_other = {.name = "other", .host = nothing};

/* ---- points ---- */

static int add_point(enum kind kind, int client, struct tide_point name, uint64_t deadline) {
  int i = m.point_count++;
  m.points[i] = (struct mpoint){.kind = kind,
                                .name = name,
                                .client = client,
                                .future = -1,
                                .command = -1,
                                .root = -1,
                                .deadline = deadline,
                                .named = kind != STAND_IN};
  points_timed[i].used = false;
  return i;
}

static int some_point(void) {
  for (int tries = 0; tries < 20 && m.point_count; tries++) {
    int newest = m.point_count < 30 ? m.point_count : 30;
    int i = m.point_count - 1 - (int)below((unsigned)newest);
    if (m.points[i].named && (!m.points[i].ended || chance(20))) return i;
  }
  return -1;
}

static int point_of(int future, uint64_t value) {
  for (int i = 0; i < m.point_count; i++)
    if (m.points[i].kind == PROMISE && m.points[i].future == future &&
        m.points[i].name.value == value)
      return i;
  return -1;
}

static uint64_t some_deadline(void) {
  return tide_clock_now(points_room.clock) + MS + below(1500) * MS + step;
}

/* The first ones are those of inserted points, one a queue. */
static void make_future(void) {
  int f = QUEUES + (int)below(FUTURES - QUEUES), q = (int)below(QUEUES), client;
  bool host = chance(25);
  if (w.futures[f] || m.futures[f].alive) return;
  if (host ? !w.clients[client = (int)below(CLIENTS)]
           : !w.queues[q].queue || w.queues[q].lost || !w.clients[client = w.queues[q].client])
    return;
  struct tide_future_params params = {.struct_size = sizeof params, .capacity = 64};
  EXPECT_STATUS(host ? tide_future_create(w.clients[client], &params, &w.futures[f])
                     : tide_queue_create_future(w.queues[q].queue, &params, &w.futures[f]),
                TIDE_OK, "future", f);
  for (int i = 0; i < m.point_count; i++)
    if (m.points[i].future == f) m.points[i].future = -2; /* of one that was there before */
  m.futures[f] = (struct mfuture){.client = client, .channel = host ? -1 : q, .alive = true};
  SAY("future %d of client %d on queue %d", f, client, host ? -1 : q);
}

static void promise(void) {
  int f = QUEUES + (int)below(FUTURES - QUEUES);
  struct tide_point name;
  if (!w.futures[f] || m.point_count > POINTS - 100) return;
  uint64_t deadline = some_deadline();
  EXPECT_STATUS(tide_future_promise(w.futures[f], deadline, &name), TIDE_OK, "promise of", f);
  m.futures[f].newest = name.value;
  int i = add_point(PROMISE, m.futures[f].client, name, deadline);
  m.points[i].future = f;
  SAY("point %d = future %d value %lu", i, f, (unsigned long)name.value);
}

static void keep_or_break(void) {
  int i = some_point();
  if (i < 0 || m.points[i].kind != PROMISE || m.points[i].future < 0) return;
  struct mpoint *p = &m.points[i];
  int f = p->future;
  if (!w.futures[f] || p->ended || p->command >= 0) return;
  if (m.futures[f].channel < 0 && chance(70)) {
    SAY("fulfil point %d", i);
    channels_retire(f, p->name.value); /* before the call, in which others may hear of it */
    EXPECT_STATUS(tide_future_fulfil(w.futures[f], p->name.value, NULL), TIDE_OK, "fulfil", i);
  } else if (chance(50)) {
    SAY("break point %d", i);
    p->deadline = 0;
    model_break(i, TIDE_FAILED);
    EXPECT_STATUS(tide_future_break(w.futures[f], p->name.value, TIDE_FAILED), TIDE_OK, "break", i);
  }
}

static int add_node(enum op kind, int point, int parent) {
  int i = m.node_count++;
  m.nodes[i] = (struct mnode){.op = kind, .point = point, .child = -1, .sibling = -1};
  if (parent < 0) return i;
  m.nodes[i].sibling = m.nodes[parent].child;
  m.nodes[parent].child = i;
  return i;
}

static void make_compound(void) {
  int client = (int)below(CLIENTS);
  struct tide_point name;
  if (m.point_count > POINTS - 100 || !w.clients[client]) return;
  uint64_t deadline = some_deadline();
  EXPECT_STATUS(tide_compound_promise(w.clients[client], deadline, &name), TIDE_OK, "compound of",
                client);
  int i = add_point(COMPOUND, client, name, deadline);
  SAY("point %d = compound of client %d", i, client);
}

static void define(void) {
  int compound = some_point(), parts[4], count = 0;
  struct tide_point names[4];
  if (compound < 0 || m.points[compound].kind != COMPOUND || m.node_count > NODES - 50) return;
  struct mpoint *p = &m.points[compound];
  if (p->root >= 0 || p->ended || p->client < 0) return;
  for (unsigned n = 1 + below(4); n > 0; n--)
    if ((parts[count] = some_point()) >= 0 && (parts[count] != compound || chance(10)))
      names[count] = m.points[parts[count]].name, count++;
  if (!count) return;
  unsigned how = count > 2 ? below(3) : below(2);
  int nodes = m.node_count, root = add_node(how ? ANY : ALL, -1, -1), all = root;
  if (how == 2) all = add_node(ALL, -1, root); /* 0&1|2 */
  for (int i = 0; i < count; i++) {
    if (how == 2 && i == 3) break;
    add_node(LEAF, parts[i], how == 2 && i == 2 ? add_node(ALL, -1, root) : all);
  }
  p->root = root;
  enum tide_status want = model_possible(-1, compound) ? TIDE_OK : TIDE_DEADLOCK;
  if (want == TIDE_OK) model_update();
  SAY("define %d as %u of %d %d %d: %s", compound, how, parts[0], count > 1 ? parts[1] : -1,
      count > 2 ? parts[2] : -1, tide_status_name(want));
  struct tide_client *client = w.clients[p->client];
  EXPECT_STATUS(how == 0   ? tide_compound_all(client, p->name, names, (size_t)count)
                : how == 1 ? tide_compound_any(client, p->name, names, (size_t)count)
                           : tide_compound_expression(client, p->name, "0&1|2", 5, names,
                                                      (size_t)count, NULL),
                want, "defining", compound);
  if (want == TIDE_OK) {
    p->deadline = 0;
    return;
  }
  p->root = -1;
  m.node_count = nodes;
}

/* ---- operations ---- */

static int some_queue(void) {
  int q = (int)below(QUEUES);
  return w.queues[q].queue && !w.queues[q].lost ? q : -1;
}

static struct task *new_op(int q) {
  struct task *op = &w.ops[w.op_count];
  memset(op, 0, sizeof *op);
  op->queue = q;
  op->command = op->outside = op->progress_of = op->cancel = op->choose = op->target = -1;
  op->sequence = w.queues[q].sequence + 1;
  return op;
}

static int enter_command(struct task *op) {
  int c = m.command_count++, q = op->queue;
  struct mcommand *command = &m.commands[c];
  *command = (struct mcommand){.channel = q, .previous = m.tails[q], .passable = op->passable};
  for (int i = 0; i < op->point_count; i++) command->waits[command->wait_count++] = op->points[i];
  if (op->progress_of >= 0 || op->host) {
    op->outside = add_point(STAND_IN, -1, (struct tide_point){0}, 0);
    command->waits[command->wait_count++] = op->outside;
  }
  for (int i = 0; i < op->retire_count; i++) m.points[op->retires[i]].command = c;
  if (!op->passable) m.tails[q] = c;
  return c;
}

static void take_out(struct task *op, int tail) {
  if (op->command < 0) return;
  m.command_count--;
  m.tails[op->queue] = tail;
  if (op->outside >= 0) m.point_count--;
  for (int i = 0; i < op->retire_count; i++) m.points[op->retires[i]].command = -1;
}

static void taken(struct task *op) {
  w.queues[op->queue].sequence++;
  for (int i = 0; i < op->retire_count; i++) {
    struct mpoint *p = &m.points[op->retires[i]];
    m.futures[p->future].queued = p->name.value;
    p->deadline = 0;
  }
}

static void draw_retired(struct task *op) {
  for (int tries = 0; tries < 10; tries++) {
    int i = some_point();
    if (i < 0) return;
    const struct mpoint *p = &m.points[i];
    if (p->kind != PROMISE || p->future < 0 || m.futures[p->future].channel != op->queue) continue;
    if (op->retire_count && m.points[op->retires[0]].future == p->future) continue;
    if (p->name.value <= m.futures[p->future].queued || p->command >= 0 || p->ended) continue;
    op->retires[op->retire_count++] = i;
    return;
  }
}

static void draw(struct task *op) {
  op->body = chance(80);
  op->despite = chance(20);
  op->passable = chance(15);
  op->recovers = chance(25);
  for (unsigned n = below(4); n > 0; n--) {
    int p = some_point();
    if (p >= 0) op->points[op->point_count++] = p;
  }
  for (unsigned n = below(3); n > 0; n--) draw_retired(op);
  int other = (int)below(QUEUES);
  if (chance(20) && op->point_count < 3 && w.queues[other].queue &&
      w.queues[other].queue->position.epoch) {
    op->progress_of = other;
    op->progress = 1 + below((unsigned)w.queues[other].queue->position.epoch);
  } else if (chance(7) && op->point_count < 3) {
    op->host = w.host_value + below(3);
  }
  if (chance(10)) op->cancel = some_point();
  if (chance(10)) op->choose = some_point();
}

static enum tide_status hand_over(const struct task *op) {
  struct tide_point waits[OP_WAITS], retires[2], cancel, choose;
  struct tide_wait plain;
  for (int i = 0; i < op->point_count; i++) waits[i] = m.points[op->points[i]].name;
  for (int i = 0; i < op->retire_count; i++) retires[i] = m.points[op->retires[i]].name;
  if (op->cancel >= 0) cancel = m.points[op->cancel].name;
  if (op->choose >= 0) choose = m.points[op->choose].name;
  plain = op->host
              ? (struct tide_wait){w.host, op->host}
              : (struct tide_wait){op->progress_of >= 0 ? w.queues[op->progress_of].progress : NULL,
                                   op->progress};
  struct tide_operation_points points = {.waits = waits,
                                         .wait_count = (size_t)op->point_count,
                                         .retires = retires,
                                         .retire_count = (size_t)op->retire_count,
                                         .cancel = op->cancel >= 0 ? &cancel : NULL,
                                         .choose = op->choose >= 0 ? &choose : NULL,
                                         .otherwise =
                                             (op->sequence & 1) != 0 ? &channels_other : NULL};
  struct tide_operation operation = {.flags = (op->despite ? TIDE_DESPITE_BROKEN : 0u) |
                                              (op->passable ? TIDE_MAY_BE_PASSED : 0u) |
                                              (op->recovers ? TIDE_RECOVER : 0u),
                                     .body = op->body ? &channels_body : NULL,
                                     .waits = &plain,
                                     .wait_count = op->host || op->progress_of >= 0,
                                     .points = op->command >= 0 ? &points : NULL};
  return tide_queue_submit(w.queues[op->queue].queue, &operation, NULL, NULL);
}

static bool passes_one(const struct task *op) {
  for (int i = 0; i < w.op_count - 1; i++)
    if (w.ops[i].queue == op->queue && w.ops[i].phase == HELD && w.ops[i].passable &&
        w.ops[i].retire_count)
      return true;
  return false;
}

static void submit(void) {
  int q = some_queue();
  if (q < 0 || w.op_count == OPS || m.command_count == COMMANDS || m.point_count == POINTS) return;
  struct task *op = new_op(q);
  int tail = m.tails[q], i = w.op_count;
  draw(op);
  bool bare = !op->point_count && !op->retire_count && op->progress_of < 0 && !op->host &&
              op->cancel < 0 && op->choose < 0;
  if (!bare) op->command = enter_command(op);
  enum tide_status want = bare || model_possible(op->command, -1) ? TIDE_OK : TIDE_DEADLOCK;
  w.op_count++;
  SAY("op %d on queue %d: waits %d %d %d, retires %d %d, progress %d@%lu, host %lu, cancel %d, "
      "choose %d%s%s%s%s",
      i, q, op->point_count > 0 ? op->points[0] : -1, op->point_count > 1 ? op->points[1] : -1,
      op->point_count > 2 ? op->points[2] : -1, op->retire_count > 0 ? op->retires[0] : -1,
      op->retire_count > 1 ? op->retires[1] : -1, op->progress_of, (unsigned long)op->progress,
      (unsigned long)op->host, op->cancel, op->choose, op->body ? "" : ", empty",
      op->despite ? ", despite" : "", op->passable ? ", passable" : "",
      op->recovers ? ", recovers" : "");
  enum tide_status got = hand_over(op);
  if (got == TIDE_UNORDERED && passes_one(op)) want = got;
  EXPECT_STATUS(got, want, "submitting op", i);
  if (got == TIDE_OK) {
    taken(op);
    return;
  }
  take_out(op, tail);
  w.op_count--;
}

static void insert(void) {
  int q = some_queue();
  if (q < 0 || w.op_count == OPS || m.command_count == COMMANDS || m.point_count == POINTS) return;
  struct task *op = new_op(q);
  int f = w.queues[q].inserted, tail = m.tails[q];
  struct tide_point name = {0};
  int i = add_point(PROMISE, m.futures[f].client, name, 0);
  m.points[i].future = f;
  m.points[i].name.value = m.futures[f].newest + 1;
  op->retires[op->retire_count++] = i;
  op->command = enter_command(op);
  w.op_count++;
  enum tide_status got = tide_queue_insert_point(w.queues[q].queue, &name, NULL);
  SAY("op %d on queue %d inserts point %d: %s", w.op_count - 1, q, i, tide_status_name(got));
  if (m.futures[f].gone ? got != TIDE_CANCELLED : got != TIDE_OK)
    points_violation("inserting: %s", tide_status_name(got));
  if (got == TIDE_OK) {
    m.points[i].name = name;
    m.futures[f].newest = name.value;
    taken(op);
    return;
  }
  take_out(op, tail);
  w.op_count--;
  m.point_count--;
}

static void recover(void) {
  int q = some_queue();
  if (q < 0 || w.op_count == OPS) return;
  struct task *op = new_op(q);
  op->recovers = true;
  w.op_count++;
  SAY("op %d on queue %d recovers", w.op_count - 1, q);
  EXPECT_STATUS(tide_queue_recover(w.queues[q].queue, NULL), TIDE_OK, "recovering queue", q);
  taken(op);
}

/* ---- changes of priorities ---- */

static void change(void) {
  int q = some_queue(), p = some_point(), kind = 1 + (int)below(3);
  if (q < 0 || p < 0 || w.op_count == OPS || m.command_count == COMMANDS) return;
  bool kept = m.points[p].kind == PROMISE && m.points[p].future >= 0 && !m.points[p].ended &&
              m.futures[m.points[p].future].channel >= 0;
  if (kind == 1 && !kept) return;
  struct task *op = new_op(q);
  struct tide_queue *queue = w.queues[q].queue;
  struct tide_point stop = {0}, target = m.points[p].name;
  int tail = m.tails[q];
  bool stoppable = w.clients[w.queues[q].client] && w.queues[q].client >= 0 && chance(50) &&
                   m.point_count < POINTS;
  op->change = kind;
  op->target = kind == 3 ? -1 : p;
  op->amount = 1 + below(9);
  op->level = (uint8_t)below(16);
  op->command = enter_command(op);
  w.op_count++;
  SAY("op %d on queue %d: change %d until point %d by %u or to %u", w.op_count - 1, q, kind, p,
      op->amount, op->level);
  uint8_t asked = op->level;
  if (op->level > w.queues[q].priority) op->level = w.queues[q].priority;
  enum tide_status got = kind == 1 ? tide_queue_increase_priority_until(queue, target, asked, NULL)
                         : kind == 2
                             ? tide_queue_decrease_priority_until(queue, target, op->amount,
                                                                  stoppable ? &stop : NULL, NULL)
                             : tide_queue_cancel_priority_decreases(queue, NULL);
  if (got == TIDE_OK) {
    taken(op);
    w.stops[w.op_count - 1] = stop;
    return;
  }
  if (got != TIDE_FULL) points_violation("a change: %s", tide_status_name(got));
  take_out(op, tail);
  w.op_count--;
}

static void stop_decrease(void) {
  for (int i = 0; i < w.op_count; i++) {
    struct task *op = &w.ops[i];
    if (op->change != 2 || op->stopped || !w.stops[i].value || !chance(30)) continue;
    if (!w.queues[op->queue].queue || w.queues[op->queue].lost) continue;
    enum tide_status got = tide_queue_cancel_decrease(w.queues[op->queue].queue, w.stops[i]);
    SAY("stop the decrease of op %d: %s", i, tide_status_name(got));
    if (got == TIDE_OK) op->stopped = true;
    else if (got != TIDE_NOT_FOUND) points_violation("stopping: %s", tide_status_name(got));
    return;
  }
}

/* ---- devices and hosts ---- */

static void note_choice(const struct tide_work *work) {
  for (int i = 0; i < w.op_count; i++) {
    struct task *op = &w.ops[i];
    if (w.queues[op->queue].axis != tide_work_axis(work) || op->epoch != work->epoch) continue;
    op->ran_other = work->body == &channels_other;
    op->ran = true;
  }
}

static void exchange(int d, unsigned give, size_t most) {
  struct tide_work *done[OUT];
  size_t count = 0;
  if (d == 1 && w.lost) return;
  for (; give && w.out_count[d]; give--) {
    size_t k = below((unsigned)w.out_count[d]);
    struct tide_work *work = w.out[d][k];
    w.out[d][k] = w.out[d][--w.out_count[d]];
    work->status = chance(85) ? TIDE_OK : TIDE_IO;
    SAY("device %d: epoch %lu of %lx is over: %s", d, (unsigned long)work->epoch,
        (unsigned long)tide_work_axis(work), tide_status_name(work->status));
    done[count++] = work;
  }
  if (most > OUT - w.out_count[d]) most = OUT - w.out_count[d];
  size_t got =
      tide_device_exchange(w.devices[d], done, count, w.out[d] + w.out_count[d], most, NULL);
  for (size_t k = 0; k < got; k++) note_choice(w.out[d][w.out_count[d] + k]);
  w.out_count[d] += got;
}

static void run_some(void) {
  int d = (int)below(DEVICES);
  unsigned give = below(3);
  size_t most = below(4);
  exchange(d, give, most);
}

static void signal_host(void) {
  w.host_value++;
  SAY("host signals %lu", (unsigned long)w.host_value);
  CHECK_OK(tide_timeline_signal_external(w.host, w.host_value));
}

static void cancel(void) {
  if (!w.op_count) return;
  int i = (int)below((unsigned)w.op_count);
  struct task *op = &w.ops[i];
  if (op->phase >= STARTED || !w.queues[op->queue].queue || !chance(40)) return;
  SAY("cancel op %d", i);
  op->cancelled = true;
  EXPECT_STATUS(tide_queue_cancel(w.queues[op->queue].queue, op->sequence), TIDE_OK, "cancelling",
                i);
}

/* ---- ends ---- */

static void break_owed(int f, enum tide_status cause) {
  for (uint64_t value = 1; value <= m.futures[f].newest; value++) {
    int i = point_of(f, value);
    if (i < 0 || m.points[i].ended || m.points[i].command >= 0) continue;
    m.points[i].deadline = 0;
    model_break(i, cause);
  }
}

static void close_channel(int q, enum tide_status cause) {
  for (int f = 0; f < FUTURES; f++) {
    if (m.futures[f].channel != q || !m.futures[f].alive) continue;
    break_owed(f, cause);
    m.futures[f].channel = -1;
    m.futures[f].closed = cause;
    w.futures[f] = NULL; /* it goes with its client */
  }
  m.futures[w.queues[q].inserted].gone = true;
}

static void destroy_queue(int q) {
  struct channel_queue *queue = &w.queues[q];
  SAY("queue %d goes", q);
  queue->destroyed = true;
  if (!queue->lost) close_channel(q, TIDE_CANCELLED);
  struct tide_queue *real = queue->queue;
  queue->queue = NULL;
  tide_queue_destroy(real);
}

static void lose_queue(void) {
  int q = some_queue();
  if (q >= 0 && chance(7)) destroy_queue(q);
}

static void destroy_client(int client) {
  SAY("client %d goes", client);
  struct tide_client *real = w.clients[client];
  w.clients[client] = NULL;
  for (int f = 0; f < FUTURES; f++) {
    if (m.futures[f].client != client || !m.futures[f].alive) continue;
    break_owed(f, TIDE_OWNER_DIED);
    m.futures[f].gone = true;
    m.futures[f].client = -1;
    w.futures[f] = NULL;
  }
  for (int i = 0; i < m.point_count; i++) {
    struct mpoint *p = &m.points[i];
    if (p->client != client) continue;
    p->client = -1;
    if (p->kind != COMPOUND || p->root >= 0) continue;
    p->deadline = 0;
    model_break(i, TIDE_OWNER_DIED);
  }
  tide_client_destroy(real, TIDE_OK);
}

static void lose_client(void) {
  int client = (int)below(CLIENTS);
  if (w.clients[client] && chance(7)) destroy_client(client);
}

/* What is queued there breaks at once, queue by queue. */
static void model_lose_queue(int q) {
  if (!w.queues[q].destroyed) close_channel(q, TIDE_LOST);
  w.queues[q].lost = true;
  for (int i = 0; i < w.op_count; i++) {
    struct task *op = &w.ops[i];
    if (op->queue != q || !op->epoch || op->phase >= PUBLISHED) continue;
    enum tide_status status = tide_queue_op(w.reals[q], op->epoch)->status;
    for (int r = 0; r < op->retire_count; r++) {
      struct mpoint *p = &m.points[op->retires[r]];
      if (p->ended) continue;
      p->ended = p->settled = true;
      p->status = status ? status : TIDE_LOST;
    }
    model_update();
  }
}

/* One after the other they break, and what was scheduled in between stays so: of an ANY, by a part
 * that broke only then. */
static void adopt_scheduled(void) {
  for (int i = 0; i < m.point_count; i++) {
    struct mpoint *p = &m.points[i];
    enum tide_point_state state;
    if (p->kind != COMPOUND || p->root < 0 || p->ended || !p->named) continue;
    if (tide_point_state(points_room.points, p->name, &state, NULL) != TIDE_OK) continue;
    if (state == TIDE_POINT_SCHEDULED) m.nodes[p->root].scheduled = true;
  }
}

/* What runs there may go on until it is certified. */
static void lose_device(void) {
  if (w.lost || !chance(15)) return;
  SAY("device 1 is lost");
  w.lost = true;
  for (int q = 0; q < QUEUES; q++)
    if (w.queues[q].device == 1) model_lose_queue(q);
  tide_device_lose(w.devices[1], TIDE_LOST);
  adopt_scheduled();
}

static void certify(void) {
  if (!w.lost || w.certified) return;
  SAY("device 1 is certified");
  w.certified = true;
  w.out_count[1] = 0;
  tide_device_certify(w.devices[1]);
}

static void pass_time(uint64_t ns) {
  SAY("%lu ms pass", (unsigned long)(ns / MS));
  tide_clock_pass(points_room.clock, ns);
  points_model_expire();
}

/* ---- a program ---- */

static bool is_good(int point) { return m.points[point].ended && !m.points[point].status; }

/* It is made when the operation's turn has come; which is known where the point did not change
 * within that step. */
static void check_choices(bool before) {
  for (int i = 0; i < w.op_count; i++) {
    struct task *op = &w.ops[i];
    if (op->choose < 0 || op->choice_seen) continue;
    if (before) {
      op->choice = is_good(op->choose);
      continue;
    }
    const struct tide_queue *queue = w.queues[op->queue].queue;
    bool ready = op->phase == ENTERED && queue && tide_op_is_ready(tide_queue_op(queue, op->epoch));
    if (!ready && op->phase < STARTED) continue;
    op->choice_seen = true;
    op->choice_sure = op->choice == is_good(op->choose);
  }
  for (int i = 0; i < w.op_count && !before; i++) {
    struct task *op = &w.ops[i];
    if (op->choose < 0 || !op->choice_sure || !op->ran) continue;
    if (op->ran_other == op->choice) points_violation("op %d chose wrongly", i);
  }
}

static void some_time(void) { pass_time(below(250) * MS); }

static void make_step(void) {
  static void (*const steps[])(void) = {
      make_future, make_future,   promise,       promise,    promise,       promise,
      promise,     submit,        submit,        submit,     submit,        submit,
      submit,      submit,        submit,        insert,     run_some,      run_some,
      run_some,    run_some,      run_some,      run_some,   run_some,      make_compound,
      define,      define,        change,        change,     stop_decrease, signal_host,
      cancel,      keep_or_break, keep_or_break, lose_queue, lose_client,   lose_device,
      certify,     some_time,     recover,
  };
  check_choices(true);
  steps[below(sizeof steps / sizeof *steps)]();
  points_after();
  channels_check();
  check_choices(false);
}

static void open_queue(int q) {
  struct channel_queue *queue = &w.queues[q];
  queue->client = (int)below(CLIENTS);
  queue->device = (int)below(DEVICES);
  queue->priority = (uint8_t)(1 + below(15));
  queue->last = -1;
  queue->inserted = q;
  struct tide_queue_params params = {.struct_size = sizeof params,
                                     .client = w.clients[queue->client],
                                     .priority = queue->priority,
                                     .operations = OPS};
  CHECK_OK(tide_queue_create(w.devices[queue->device], &params, &queue->queue));
  w.reals[q] = queue->queue;
  queue->axis = tide_queue_axis(queue->queue);
  queue->progress = tide_queue_progress(queue->queue);
  tide_timeline_retain(queue->progress);
  m.futures[q] = (struct mfuture){.client = queue->client, .channel = q, .alive = true};
}

static void begin(void) {
  struct tide_points_params params = {
      .struct_size = sizeof params, .manual = true, .parts = 1u << 14};
  struct tide_clock_params clock = {.struct_size = sizeof clock, .start = 1000 * MS};
  w.sink = (struct tide_sink){.event = channels_event};
  CHECK_OK(tide_clock_create(tide_allocator_system(), &clock, &points_room.clock));
  struct tide_context_params context_params = {.struct_size = sizeof context_params,
                                               .platform = tide_clock_platform(points_room.clock),
                                               .sink = &w.sink,
                                               .frontier_capacity = 64};
  CHECK_OK(tide_context_create(&context_params, &points_room.context));
  CHECK_OK(tide_points_create(points_room.context, &params, &points_room.points));
  for (int i = 0; i < CLIENTS; i++)
    CHECK_OK(tide_client_create(points_room.points, NULL, &w.clients[i]));
  for (int d = 0; d < DEVICES; d++) {
    w.backends[d] = (struct tide_backend){.name = "made up", .in_order = d == 0, .hands = OUT};
    CHECK_OK(tide_device_open(points_room.context, &w.backends[d], "device", &w.devices[d]));
  }
  for (int q = 0; q < QUEUES; q++) open_queue(q);
  CHECK_OK(tide_timeline_create(points_room.context, NULL, &w.host));
}

static void run_out(void) {
  for (int round = 0; round < 2 * OPS; round++) {
    for (int d = 0; d < DEVICES; d++) exchange(d, OUT, OUT);
    points_after();
  }
  channels_check();
}

static void finish(void) {
  pass_time(20000 * MS);
  channels_check(); /* what is overdue breaks before the host lets others go */
  w.host_value += 10;
  CHECK_OK(tide_timeline_signal_external(w.host, w.host_value));
  channels_check();
  certify();
  run_out();
  for (int i = 0; i < w.op_count; i++)
    if (w.ops[i].phase < PUBLISHED) points_violation("op %d has no end", i);
  for (int i = 0; i < m.point_count; i++)
    if (!m.points[i].ended) points_violation("point %d has no end", i);
  bool queues_first = chance(50);
  for (int c = 0; c < CLIENTS && !queues_first; c++)
    if (w.clients[c]) destroy_client(c);
  for (int q = 0; q < QUEUES; q++) {
    if (w.queues[q].queue) destroy_queue(q);
    tide_timeline_release(w.queues[q].progress);
  }
  for (int c = 0; c < CLIENTS && queues_first; c++)
    if (w.clients[c]) destroy_client(c);
  for (int d = 0; d < DEVICES; d++) {
    CHECK_OK(tide_device_settle(w.devices[d], TIDE_NOW));
    tide_device_close(w.devices[d]);
  }
  if (points_room.points->free_cells != points_room.points->part_count)
    points_violation("parts are lost");
  tide_timeline_release(w.host);
  tide_points_destroy(points_room.points);
  tide_context_destroy(points_room.context);
  tide_clock_destroy(points_room.clock);
}

/* Says whether something was wrong; what was made by then is left behind. */
static bool run_seed(uint64_t seed) {
  dice.state = seed * 0xd1342543de82ef95u + 4711; /* not the step of the dice themselves */
  model_reset();
  memset(&w, 0, sizeof w);
  for (int f = 0; f < FUTURES; f++) m.futures[f].channel = m.futures[f].client = -1;
  step = 0;
  if (setjmp(points_out)) return true;
  begin();
  for (step = 1; step <= STEPS; step++) make_step();
  finish();
  return false;
}

int main(int argc, char **argv) {
  static const struct seek seek = {run_seed, &step, &verbose};
  return seek_main(&seek, argc, argv);
}
