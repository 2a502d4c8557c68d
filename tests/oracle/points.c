/* Promises, commands, compounds, waits and trust, at random, against the naive model, which
 * computes everything anew after each call.
 *
 *   oracle-points [--seed N] [--count N] [--verbose]      one run, or many */
#include "base/random.h"
#include "points_world.h"
#include "seek.h"

#include <stdio.h>

#define STEPS 160

static struct tide_random dice;
static bool verbose;
static unsigned step;

static struct tide_client *clients[CLIENTS];
static struct tide_channel channels[CHANNELS];
static struct tide_future *futures[FUTURES];
static struct command *commands[COMMANDS];
static uint64_t unique;

static unsigned below(unsigned limit) { return (unsigned)tide_random_below(&dice, limit); }
static bool chance(unsigned percent) { return below(100) < percent; }

#define SAY(...)                                                                                   \
  do {                                                                                             \
    if (verbose) printf("%3u  ", step), printf(__VA_ARGS__), printf("\n");                         \
  } while (0)

/* ---- making things ---- */

static void on_timed(struct tide_timepoint *timepoint, enum tide_status status) {
  struct timed *at = (struct timed *)(void *)timepoint;
  at->calls++;
  at->status = status;
}

static uint64_t some_deadline(void) {
  return tide_clock_now(points_room.clock) + MS + below(1500) * MS + ++unique;
}

static int add_point(enum kind kind, int client, struct tide_point name, uint64_t deadline) {
  int i = m.point_count++;
  m.points[i] = (struct mpoint){.kind = kind,
                                .name = name,
                                .client = client,
                                .future = -1,
                                .command = -1,
                                .root = -1,
                                .deadline = deadline,
                                .named = true};
  points_timed[i] = (struct timed){.timepoint = {.call = on_timed}};
  if (chance(50)) {
    EXPECT_STATUS(tide_point_when_complete(points_room.points, name, &points_timed[i].timepoint),
                  TIDE_OK, "a timepoint for", i);
    points_timed[i].used = true;
  }
  return i;
}

static int some_named(void) {
  for (int tries = 0; tries < 20 && m.point_count; tries++) {
    int newest = m.point_count < 40 ? m.point_count : 40;
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

static int some_future(bool host) {
  for (int tries = 0; tries < 30; tries++) {
    int f = (int)below(FUTURES);
    if (futures[f] && (m.futures[f].channel < 0) == host) return f;
  }
  return -1;
}

static void make_future(void) {
  int f = (int)below(FUTURES), client = (int)below(CLIENTS);
  if (futures[f] || m.futures[f].alive) return;
  int channel = chance(30) ? -1 : (int)below(CHANNELS);
  struct tide_future_params params = {.struct_size = sizeof params, .capacity = 64};
  EXPECT_STATUS(tide_future_create_on(clients[client], channel < 0 ? NULL : &channels[channel],
                                      &params, &futures[f]),
                TIDE_OK, "making future timeline", f);
  for (int i = 0; i < m.point_count; i++)
    if (m.points[i].future == f) m.points[i].future = -2; /* of one that was there before */
  m.futures[f] = (struct mfuture){.client = client, .channel = channel, .alive = true};
  SAY("future %d of client %d on channel %d", f, client, channel);
}

static void make_promise(void) {
  int f = some_future(chance(30));
  struct tide_point name;
  if (f < 0 || m.point_count == POINTS) return;
  uint64_t deadline = some_deadline();
  enum tide_status status = tide_future_promise(futures[f], deadline, &name);
  if (status == TIDE_FULL || status == TIDE_EXHAUSTED) return;
  EXPECT_STATUS(status, m.futures[f].closed, "a promise of future", f);
  if (status != TIDE_OK) return;
  if (name.value != ++m.futures[f].newest)
    points_violation("promised %lu", (unsigned long)name.value);
  int i = add_point(PROMISE, m.futures[f].client, name, deadline);
  m.points[i].future = f;
  SAY("point %d = future %d value %lu", i, f, (unsigned long)name.value);
}

/* ---- hosts ---- */

/* What keeping or breaking this one should answer. */
static enum tide_status owed_status(int f, uint64_t value) {
  int i = point_of(f, value);
  if (i < 0) return TIDE_NOT_FOUND;
  const struct mpoint *p = &m.points[i];
  if (p->ended) return p->status ? p->status : TIDE_VALUE;
  return p->command >= 0 ? TIDE_VALUE : TIDE_OK;
}

static uint64_t some_value(int f) {
  uint64_t newest = m.futures[f].newest, back = below(4);
  return newest + 1 > back ? newest + 1 - back : 1;
}

static void retire(int f, uint64_t value) {
  for (int i = 0; i < m.point_count; i++) {
    struct mpoint *p = &m.points[i];
    if (p->kind != PROMISE || p->future != f || p->name.value > value || p->ended) continue;
    p->ended = p->settled = true;
    p->deadline = 0;
  }
}

static void fulfil(void) {
  int f = some_future(true);
  if (f < 0) return;
  uint64_t value = some_value(f);
  SAY("fulfil future %d value %lu", f, (unsigned long)value);
  points_model_expire();
  enum tide_status want = m.futures[f].closed ? TIDE_INVALID : owed_status(f, value);
  EXPECT_STATUS(tide_future_fulfil(futures[f], value, NULL), want, "fulfilling of future", f);
  if (want != TIDE_OK) return;
  retire(f, value);
}

static void give_up(void) {
  int f = some_future(chance(50));
  if (f < 0) return;
  uint64_t value = some_value(f);
  enum tide_status cause = (enum tide_status)(TIDE_FAILED + below(3));
  SAY("break future %d value %lu", f, (unsigned long)value);
  points_model_expire();
  enum tide_status want = owed_status(f, value);
  EXPECT_STATUS(tide_future_break(futures[f], value, cause), want, "breaking of future", f);
  if (want != TIDE_OK) return;
  int i = point_of(f, value);
  m.points[i].deadline = 0;
  model_break(i, cause);
}

/* ---- commands ---- */

struct plan {
  struct tide_point waits[4], retires[2];
  int wait_points[4], retire_points[2];
  size_t wait_count, retire_count;
};

static void add_retired(struct plan *plan, int channel) {
  for (int tries = 0; tries < 10; tries++) {
    int i = some_named();
    if (i < 0) return;
    const struct mpoint *p = &m.points[i];
    if (p->kind != PROMISE || p->future < 0 || m.futures[p->future].channel != channel) continue;
    if (plan->retire_count && m.points[plan->retire_points[0]].future == p->future) continue;
    if (p->name.value <= m.futures[p->future].queued || p->command >= 0 || p->ended) continue;
    plan->retire_points[plan->retire_count] = i;
    plan->retires[plan->retire_count++] = p->name;
    return;
  }
}

static void draw_plan(struct plan *plan, int channel) {
  *plan = (struct plan){.wait_count = 0};
  for (unsigned i = below(4); i > 0; i--) {
    int p = some_named();
    if (p < 0) continue;
    plan->wait_points[plan->wait_count] = p;
    plan->waits[plan->wait_count++] = m.points[p].name;
  }
  for (unsigned i = below(3); i > 0; i--) add_retired(plan, channel);
}

/* It is entered into the model; whoever refuses it takes it out again. */
static int enter(int channel, const struct plan *plan, bool passable, int *out_tail) {
  int c = m.command_count++;
  *out_tail = m.tails[channel];
  m.commands[c] = (struct mcommand){.channel = channel,
                                    .previous = m.tails[channel],
                                    .wait_count = (int)plan->wait_count,
                                    .passable = passable};
  for (size_t i = 0; i < plan->wait_count; i++) m.commands[c].waits[i] = plan->wait_points[i];
  for (size_t i = 0; i < plan->retire_count; i++) m.points[plan->retire_points[i]].command = c;
  if (!passable) m.tails[channel] = c;
  return c;
}

static void take_out(int channel, const struct plan *plan, int tail) {
  m.command_count--;
  m.tails[channel] = tail;
  for (size_t i = 0; i < plan->retire_count; i++) m.points[plan->retire_points[i]].command = -1;
}

static void queue(void) {
  int channel = (int)below(CHANNELS), tail = -1;
  bool passable = chance(15);
  struct plan plan;
  if (m.command_count == COMMANDS) return;
  draw_plan(&plan, channel);
  if (plan.retire_count) points_model_expire(); /* whoever retires something looks at the clock */
  enum tide_status want = TIDE_OK;
  for (size_t i = 0; i < plan.retire_count && want == TIDE_OK; i++)
    want = m.points[plan.retire_points[i]].status;
  int c = -1;
  if (want == TIDE_OK) {
    c = enter(channel, &plan, passable, &tail);
    if (!model_possible(c, -1)) want = TIDE_DEADLOCK;
  }
  SAY("command %d on channel %d: %zu waits (%d %d %d), retires %zu (%d %d)%s -> %s", c, channel,
      plan.wait_count, plan.wait_points[0], plan.wait_points[1], plan.wait_points[2],
      plan.retire_count, plan.retire_points[0], plan.retire_points[1], passable ? " passable" : "",
      tide_status_name(want));
  struct command *command = calloc(1, sizeof *command);
  EXPECT_STATUS(queue_command(&points_room, &channels[channel], command, plan.waits,
                              plan.wait_count, plan.retires, plan.retire_count, passable),
                want, "queueing on channel", channel);
  if (want == TIDE_OK) {
    commands[c] = command;
    for (size_t i = 0; i < plan.retire_count; i++) {
      struct mpoint *p = &m.points[plan.retire_points[i]];
      m.futures[p->future].queued = p->name.value;
      p->deadline = 0;
    }
    return;
  }
  free(command);
  if (c >= 0) take_out(channel, &plan, tail);
}

static void end_command(int c, enum tide_status status) {
  struct mcommand *command = &m.commands[c];
  SAY("command %d done: %s", c, tide_status_name(status));
  command_done(&points_room, commands[c], status);
  free(commands[c]);
  commands[c] = NULL;
  command->done = true;
  for (int i = 0; i < m.point_count; i++) {
    struct mpoint *p = &m.points[i];
    if (p->command != c || p->ended) continue;
    if (status == TIDE_OK) {
      retire(p->future, p->name.value);
    } else {
      p->ended = p->settled = true;
      p->status = status;
    }
  }
  int before = command->previous;
  while (before >= 0 && m.commands[before].done) before = m.commands[before].previous;
  for (int i = 0; i < m.command_count; i++)
    if (m.commands[i].previous == c) m.commands[i].previous = before;
  if (m.tails[command->channel] == c) m.tails[command->channel] = before;
}

/* Its waits have opened, and all before it is done. */
static bool can_run(int c) {
  const struct mcommand *command = &m.commands[c];
  if (command->done || (command->previous >= 0 && !m.commands[command->previous].done))
    return false;
  for (int i = 0; i < command->wait_count; i++)
    if (!m.points[command->waits[i]].settled) return false;
  return true;
}

static void execute(void) {
  bool cancel = chance(15);
  for (int tries = 0; tries < 20 && m.command_count; tries++) {
    int c = (int)below((unsigned)m.command_count);
    if (m.commands[c].done || (!cancel && !can_run(c))) continue;
    end_command(c, cancel ? TIDE_CANCELLED : chance(80) ? TIDE_OK : TIDE_FAILED);
    return;
  }
}

/* ---- compounds ---- */

static void make_compound(void) {
  int client = (int)below(CLIENTS);
  struct tide_point name;
  if (m.point_count == POINTS) return;
  uint64_t deadline = some_deadline();
  EXPECT_STATUS(tide_compound_promise(clients[client], deadline, &name), TIDE_OK, "compound of",
                client);
  int i = add_point(COMPOUND, client, name, deadline);
  SAY("point %d = compound of client %d", i, client);
}

static int add_node(enum op op, int point) {
  m.nodes[m.node_count] = (struct mnode){.op = op, .point = point, .child = -1, .sibling = -1};
  return m.node_count++;
}

static int add_child(int parent, int child) {
  m.nodes[child].sibling = m.nodes[parent].child;
  m.nodes[parent].child = child;
  return child;
}

/* Text and tree at once: an ANY of ALLs, and so on in each pair of parentheses. */
static void draw_expression(char **at, int any, const int *parts, size_t count, unsigned depth) {
  unsigned terms = 1 + below(3);
  for (unsigned t = 0; t < terms; t++) {
    int all = add_child(any, add_node(ALL, -1));
    unsigned factors = 1 + below(3);
    if (t) *(*at)++ = '|';
    for (unsigned f = 0; f < factors; f++) {
      if (f) *at += sprintf(*at, chance(20) ? " & " : "&");
      if (depth && chance(25)) {
        *(*at)++ = '(';
        draw_expression(at, add_child(all, add_node(ANY, -1)), parts, count, depth - 1);
        *(*at)++ = ')';
      } else {
        size_t index = below((unsigned)count);
        *at += sprintf(*at, "%zu", index);
        add_child(all, add_node(LEAF, parts[index]));
      }
    }
  }
}

/* A point whose name has gone with its deadline, at the beginning of this very call. */
static bool names_nobody(int first_node) {
  for (int i = first_node; i < m.node_count; i++)
    if (m.nodes[i].op == LEAF && !m.points[m.nodes[i].point].named) return true;
  return false;
}

static void define(void) {
  int compound = some_named(), parts[4];
  struct tide_point names[4];
  char text[2000], *at = text;
  size_t count = 0;
  if (compound < 0 || m.points[compound].kind != COMPOUND || m.node_count > NODES - 400) return;
  struct mpoint *p = &m.points[compound];
  for (size_t i = 0, most = below(5); i < most; i++) {
    int part = some_named();
    if (part < 0) continue;
    parts[count] = part;
    names[count++] = m.points[part].name;
  }
  points_model_expire();
  points_model_names();
  unsigned how = count ? below(3) : 0;
  int nodes = m.node_count, root = add_node(how == 0 ? ALL : ANY, -1);
  for (size_t i = 0; how < 2 && i < count; i++) add_child(root, add_node(LEAF, parts[i]));
  if (how == 2) draw_expression(&at, root, parts, count, 3);
  bool fresh = p->root < 0 && !p->ended && p->client >= 0;
  enum tide_status want = TIDE_OK;
  if (!p->named) want = TIDE_NOT_FOUND;
  else if (p->client < 0) want = TIDE_DENIED;
  else if (p->root >= 0) want = TIDE_INVALID;
  else if (p->ended) want = p->status;
  if (fresh) {
    p->root = root;
    if (names_nobody(nodes)) want = TIDE_NOT_FOUND;
    else if (!model_possible(-1, compound)) want = TIDE_DEADLOCK;
  }
  struct tide_client *client = clients[p->client < 0 ? 0 : p->client];
  enum tide_status got = how == 0 ? tide_compound_all(client, p->name, names, count)
                         : how == 1
                             ? tide_compound_any(client, p->name, names, count)
                             : tide_compound_expression(client, p->name, text, (size_t)(at - text),
                                                        names, count, NULL);
  SAY("define %d: %s of %zu (%d %d %d %d) %.*s -> %s", compound,
      how == 0   ? "all"
      : how == 1 ? "any"
                 : "expression",
      count, parts[0], parts[1], parts[2], parts[3], how == 2 ? (int)(at - text) : 0, text,
      tide_status_name(want));
  EXPECT_STATUS(got, want, "defining", compound);
  if (want == TIDE_OK) {
    p->deadline = 0;
    return;
  }
  if (fresh) p->root = -1;
  m.node_count = nodes;
}

static void destroy_compound(void) {
  int i = some_named();
  if (i < 0 || m.points[i].kind == PROMISE || m.points[i].client < 0 || !chance(30)) return;
  SAY("destroy compound %d", i);
  EXPECT_STATUS(tide_compound_destroy(clients[m.points[i].client], m.points[i].name), TIDE_OK,
                "destroying", i);
  m.points[i].named = false;
  m.points[i].deadline = 0;
  model_break(i, TIDE_CANCELLED);
}

/* ---- other domains: 7 and 8 are trusted, 9 is not ---- */

static void make_stand_in(void) {
  int client = (int)below(CLIENTS);
  struct tide_point name;
  if (m.point_count == POINTS) return;
  uint32_t domain = 7 + below(3);
  uint64_t deadline = chance(50) ? TIDE_FOREVER : some_deadline();
  EXPECT_STATUS(tide_stand_in_create(clients[client], domain, deadline, &name), TIDE_OK,
                "stand-in of", client);
  int i = add_point(STAND_IN, client, name, deadline == TIDE_FOREVER ? 0 : deadline);
  m.points[i].domain = domain;
  SAY("point %d = stand-in for domain %u", i, domain);
}

static void hear_from_domain(void) {
  int i = some_named();
  if (i < 0 || m.points[i].kind != STAND_IN) return;
  struct mpoint *p = &m.points[i];
  enum tide_point_state state = (enum tide_point_state)(1 + below(4));
  SAY("domain %u says that %d is %s", p->domain, i, tide_point_state_name(state));
  report(&points_room, p->name, state, TIDE_LOST);
  if (p->ended) return;
  if (state == TIDE_POINT_SCHEDULED && m.trusted >> p->domain & 1) {
    p->believed = true;
    p->deadline = 0;
  }
  if (state < TIDE_POINT_RETIRED) return;
  p->deadline = 0;
  p->ended = p->settled = true;
  p->status = state == TIDE_POINT_BROKEN ? TIDE_LOST : TIDE_OK;
}

static void narrow(void) {
  int client = (int)below(CLIENTS);
  uint32_t domain = 7 + below(3);
  if (!chance(10)) return;
  EXPECT_STATUS(tide_client_trust(clients[client], domain),
                m.trusted >> domain & 1 ? TIDE_OK : TIDE_DENIED, "narrowing client", client);
  if (!(m.trusted >> domain & 1)) return;
  SAY("client %d trusts %u", client, domain);
  for (int i = 0; i < WATCHES; i++) /* what it waits for already is not asked again: none is */
    if (m.watches[i].waiting && m.watches[i].client == client) {
      EXPECT_STATUS(tide_schedulable_cancel(&points_waits[i]->wait) ? TIDE_OK : TIDE_BUSY, TIDE_OK,
                    "cancelling", i);
      free(points_waits[i]);
      m.watches[i].waiting = false;
    }
  m.narrow[client] = true;
  m.narrow_domains[client] |= 1u << domain;
}

/* ---- waits for "schedulable" ---- */

static void await(void) {
  int i = (int)below(WATCHES), point = -1, client = (int)below(CLIENTS);
  bool deep = chance(60); /* mostly one that is not schedulable yet, and stands on others */
  for (int tries = 0; tries < 20; tries++)
    if (point < 0 || m.points[point].scheduled || (deep && m.points[point].root < 0))
      point = some_named();
  struct tide_point assumed[2];
  if (m.watches[i].waiting || point < 0) return;
  struct mwatch watch = {.waiting = true, .client = client, .point = point};
  for (int n = chance(75) ? 1 + (int)below(2) : 0; n > 0; n--) {
    int p = -1;
    for (int tries = 0; tries < 30 && p < 0; tries++) {
      p = some_named();
      if (p >= 0 && (m.points[p].ended || m.points[p].kind != PROMISE || m.points[p].future < 0 ||
                     m.points[p].scheduled || m.futures[m.points[p].future].client != client))
        p = -1;
    }
    if (p < 0) continue;
    watch.assumed[watch.assumed_count] = p;
    assumed[watch.assumed_count++] = m.points[p].name;
  }
  SAY("wait %d of client %d for %d, assuming %d (%d %d)", i, client, point, watch.assumed_count,
      watch.assumed[0], watch.assumed[1]);
  points_waits[i] = malloc(sizeof *points_waits[i]);
  points_model_expire();
  points_model_names();
  enum tide_status want = m.points[point].named ? TIDE_OK : TIDE_NOT_FOUND;
  for (int n = 0; n < watch.assumed_count; n++)
    if (!m.points[watch.assumed[n]].named) want = TIDE_NOT_FOUND;
  EXPECT_STATUS(when_schedulable(points_waits[i], clients[client], m.points[point].name, assumed,
                                 (size_t)watch.assumed_count),
                want, "waiting for", point);
  if (want == TIDE_OK) m.watches[i] = watch;
  else free(points_waits[i]);
}

static void cancel_wait(void) {
  int i = (int)below(WATCHES);
  if (!m.watches[i].waiting || !chance(30)) return;
  SAY("cancel wait %d", i);
  if (!tide_schedulable_cancel(&points_waits[i]->wait))
    points_violation("wait %d cannot be cancelled", i);
  m.watches[i].waiting = false;
  free(points_waits[i]);
}

/* ---- ends ---- */

static void model_break_owed(int f, enum tide_status cause) {
  for (uint64_t value = 1; value <= m.futures[f].newest; value++) {
    int i = point_of(f, value);
    if (m.points[i].ended || m.points[i].command >= 0) continue;
    m.points[i].deadline = 0;
    model_break(i, cause);
  }
}

static void destroy_future(void) {
  int f = (int)below(FUTURES);
  if (!futures[f] || !chance(20)) return;
  SAY("destroy future %d", f);
  tide_future_destroy(futures[f]);
  futures[f] = NULL;
  m.futures[f].gone = true;
  model_break_owed(f, TIDE_CANCELLED);
}

static int order_of(const struct tide_link *link, const struct tide_link *head) {
  int n = 0;
  for (; link != head; link = link->prev) n++;
  return n;
}

/* In the order in which they were made, as the room goes through them. */
static void destroy_client(int client, enum tide_status cause) {
  int futures_of[FUTURES] = {0}, count = 0;
  SAY("client %d goes", client);
  for (int n = 1; n <= FUTURES; n++)
    for (int f = 0; f < FUTURES; f++)
      if (futures[f] && m.futures[f].client == client &&
          order_of(&futures[f]->link, &clients[client]->futures) == n)
        futures_of[count++] = f;
  tide_client_destroy(clients[client], cause);
  if (cause == TIDE_OK) cause = TIDE_OWNER_DIED;
  for (int i = 0; i < WATCHES; i++) {
    struct mwatch *w = &m.watches[i];
    if (!w->waiting || w->client != client) continue;
    if (points_waits[i]->calls != 1 || points_waits[i]->status != TIDE_CANCELLED)
      points_violation("wait %d is not called when its client goes", i);
    w->waiting = false;
    free(points_waits[i]);
  }
  for (int i = 0; i < count; i++) {
    m.futures[futures_of[i]].gone = true;
    m.futures[futures_of[i]].client = -1;
    futures[futures_of[i]] = NULL;
    model_break_owed(futures_of[i], cause);
  }
  for (int f = 0; f < FUTURES; f++)
    if (m.futures[f].client == client) m.futures[f].client = -1;
  for (int i = 0; i < m.point_count; i++) {
    struct mpoint *p = &m.points[i];
    if (p->client != client) continue;
    p->client = -1;
    if (p->kind == PROMISE) continue;
    if (p->root < 0) p->deadline = 0;
    if (p->root < 0) model_break(i, cause);
  }
}

static void lose_client(void) {
  int client = (int)below(CLIENTS);
  if (!chance(10)) return;
  destroy_client(client, TIDE_OK);
  CHECK_OK(tide_client_create(points_room.points, NULL, &clients[client]));
  m.narrow[client] = false;
  m.narrow_domains[client] = 0;
}

static void pass_time(void) {
  uint64_t ns = below(250) * MS;
  SAY("%lu ms pass", (unsigned long)(ns / MS));
  tide_clock_pass(points_room.clock, ns);
}

static void make_step(void) {
  static void (*const steps[])(void) = {
      make_future,
      make_future,
      make_promise,
      make_promise,
      make_promise,
      make_promise,
      make_promise,
      fulfil,
      give_up,
      queue,
      queue,
      queue,
      queue,
      execute,
      execute,
      execute,
      make_compound,
      make_compound,
      define,
      define,
      define,
      destroy_compound,
      make_stand_in,
      hear_from_domain,
      hear_from_domain,
      narrow,
      await,
      await,
      await,
      cancel_wait,
      destroy_future,
      lose_client,
  };
  if (chance(10)) pass_time(); /* and nobody looks before the next call */
  steps[below(sizeof steps / sizeof *steps)]();
  points_after();
  points_check();
}

static void begin(void) {
  struct tide_points_params params = {
      .struct_size = sizeof params, .manual = true, .parts = 1u << 14};
  rig_open_with(&points_room, &params, NULL);
  tide_client_destroy(points_room.client, TIDE_OK);
  for (int i = 0; i < CLIENTS; i++)
    CHECK_OK(tide_client_create(points_room.points, NULL, &clients[i]));
  for (int i = 0; i < CHANNELS; i++) tide_channel_open(&channels[i], points_room.points);
  CHECK_OK(tide_points_trust(points_room.points, 7));
  CHECK_OK(tide_points_trust(points_room.points, 8));
  m.trusted = 1u << 7 | 1u << 8;
}

static void finish(void) {
  for (int c = 0; c < m.command_count; c++) {
    if (m.commands[c].done) continue;
    end_command(c, TIDE_CANCELLED);
    points_after();
    points_check();
  }
  for (int i = 0; i < CLIENTS; i++) {
    destroy_client(i, TIDE_CANCELLED);
    points_after();
    points_check();
  }
  for (int i = 0; i < m.point_count; i++)
    if (!m.points[i].ended) points_violation("point %d has no end", i);
  if (points_room.points->free_cells != points_room.points->part_count ||
      points_room.points->free_groups != points_room.points->part_count)
    points_violation("parts are lost");
  tide_points_destroy(points_room.points);
  tide_context_destroy(points_room.context);
  tide_clock_destroy(points_room.clock);
}

/* Says whether something was wrong; what was made by then is left behind. */
static bool run_seed(uint64_t seed) {
  dice.state = seed * 0xd1342543de82ef95u + 12345; /* not the step of the dice themselves */
  model_reset();
  memset(futures, 0, sizeof futures);
  memset(commands, 0, sizeof commands);
  unique = 0;
  if (setjmp(points_out)) return true;
  begin();
  for (step = 0; step < STEPS; step++) make_step();
  finish();
  return false;
}

int main(int argc, char **argv) {
  static const struct seek seek = {run_seed, &step, &verbose};
  return seek_main(&seek, argc, argv);
}
