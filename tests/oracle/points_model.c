#include "points_model.h"

#include <string.h>

struct model m;

void model_reset(void) {
  memset(&m, 0, sizeof m);
  for (int i = 0; i < CHANNELS; i++) m.tails[i] = -1;
}

#define EACH_CHILD(i, node) for (int i = m.nodes[node].child; i >= 0; i = m.nodes[i].sibling)

int model_value(int node) {
  const struct mnode *n = &m.nodes[node];
  int goods = 0, broken = 0, all = 0;
  if (n->op == LEAF) {
    const struct mpoint *p = &m.points[n->point];
    return !p->ended ? 0 : p->status ? 2 : 1;
  }
  EACH_CHILD(i, node) {
    int value = model_value(i);
    goods += value == 1, broken += value == 2, all++;
  }
  if (n->op == ALL) return broken ? 2 : goods == all;
  return goods ? 1 : broken == all ? 2 : 0;
}

bool model_blames(int node, enum tide_status status) {
  if (m.nodes[node].op == LEAF) {
    const struct mpoint *p = &m.points[m.nodes[node].point];
    return p->status == status || (p->status && !p->named);
  }
  EACH_CHILD(i, node) if (model_blames(i, status)) return true;
  return false;
}

static bool node_settled(int node) {
  const struct mnode *n = &m.nodes[node];
  if (n->op == LEAF) return m.points[n->point].settled;
  if (model_value(node) == 1) return true;
  EACH_CHILD(i, node) if (!node_settled(i)) return false;
  return true;
}

static void update_ends(void) {
  for (bool again = true; again;) {
    again = false;
    for (int i = 0; i < m.point_count; i++) {
      struct mpoint *p = &m.points[i];
      if (p->kind != COMPOUND || p->root < 0) continue;
      int value = model_value(p->root);
      if (!p->ended && value) {
        p->ended = again = true;
        p->concluded = true;
        p->status = value == 2 ? TIDE_FAILED : TIDE_OK; /* whose, is seen later */
      }
      if (!p->ended || p->settled) continue;
      bool settled = true;
      EACH_CHILD(c, p->root) settled = settled && node_settled(c);
      if (!p->status && m.nodes[p->root].op == ANY) settled = true;
      if (settled) p->settled = again = true;
    }
  }
}

static bool is_broken(int node) { return model_value(node) == 2; }

/* `of` says it of a node below; the rule of groups. */
static bool group_holds(int node, bool (*of)(int node)) {
  bool all = true, any = false;
  EACH_CHILD(i, node) {
    bool one = of(i);
    all = all && one;
    any = any || (one && !is_broken(i));
  }
  return all || (m.nodes[node].op == ANY && any);
}

static bool node_is_scheduled(int node) { return m.nodes[node].scheduled; }

static bool node_schedules(int node) {
  const struct mnode *n = &m.nodes[node];
  if (n->op == LEAF) return m.points[n->point].scheduled;
  int value = model_value(node);
  if (value && node_settled(node)) return true;
  return group_holds(node, node_is_scheduled);
}

static bool point_schedules(const struct mpoint *p) {
  if (p->settled) return true;
  if (p->kind == STAND_IN) return p->believed;
  if (p->kind == COMPOUND) return p->root >= 0 && m.nodes[p->root].scheduled;
  return p->command >= 0 && m.commands[p->command].scheduled;
}

static bool command_schedules(const struct mcommand *c) {
  if (c->done) return true;
  if (c->previous >= 0 && !m.commands[c->previous].scheduled) return false;
  for (int i = 0; i < c->wait_count; i++)
    if (!m.points[c->waits[i]].scheduled) return false;
  return true;
}

/* What is undefined yet has no nodes; those of a refused definition are given back. */
static void update_schedules(void) {
  for (bool again = true; again;) {
    again = false;
    for (int i = 0; i < m.node_count; i++)
      if (!m.nodes[i].scheduled && node_schedules(i)) m.nodes[i].scheduled = again = true;
    for (int i = 0; i < m.point_count; i++)
      if (!m.points[i].scheduled && point_schedules(&m.points[i]))
        m.points[i].scheduled = again = true;
    for (int i = 0; i < m.command_count; i++)
      if (!m.commands[i].scheduled && command_schedules(&m.commands[i]))
        m.commands[i].scheduled = again = true;
  }
}

void model_update(void) {
  update_ends();
  update_schedules();
}

void model_break(int point, enum tide_status status) {
  struct mpoint *p = &m.points[point];
  if (p->ended) return;
  p->ended = true;
  p->status = status;
  if (p->kind != COMPOUND || p->root < 0) p->settled = true;
  model_update();
}

bool model_named(int point) { return m.points[point].named; }

/* ---- the two questions, each as the least that follows from what is taken for granted ---- */

static bool node_holds[NODES], point_holds[POINTS], command_holds[COMMANDS];
static const struct mwatch *asking; /* NULL: about cycles */

static bool node_is_held(int node) { return node_holds[node]; }

/* A cycle is one even where an ANY was scheduled by a part that may break. */
static bool believes_latch(void) { return asking && !m.narrow[asking->client]; }

static bool node_follows(int node) {
  const struct mnode *n = &m.nodes[node];
  if (n->op == LEAF) return point_holds[n->point];
  if (model_value(node) && node_settled(node)) return true;
  if (n->scheduled && believes_latch()) return true;
  if (asking) return group_holds(node, node_is_held);
  EACH_CHILD(i, node) if (!node_holds[i]) return false;
  return true; /* a cycle through an ANY is one, too */
}

static bool is_assumed(const struct mpoint *p) {
  for (int i = 0; i < asking->assumed_count; i++) {
    const struct mpoint *by = &m.points[asking->assumed[i]];
    if (p->kind == PROMISE && p->future == by->future && p->name.value <= by->name.value)
      return true;
  }
  return false;
}

static bool point_follows(const struct mpoint *p) {
  if (p->settled || (p->scheduled && believes_latch())) return true;
  if (asking && is_assumed(p)) return true;
  if (p->kind == STAND_IN)
    return !asking ||
           (p->believed && (believes_latch() || m.narrow_domains[asking->client] >> p->domain & 1));
  if (p->kind == COMPOUND) return p->root >= 0 ? node_holds[p->root] : !asking;
  if (p->command >= 0) return command_holds[p->command];
  if (asking) return false;
  int channel = m.futures[p->future].channel;
  return channel < 0 || m.tails[channel] < 0 || command_holds[m.tails[channel]];
}

static bool command_follows(const struct mcommand *c) {
  if (c->done || (c->scheduled && believes_latch())) return true;
  if (c->previous >= 0 && !command_holds[c->previous]) return false;
  for (int i = 0; i < c->wait_count; i++)
    if (!point_holds[c->waits[i]]) return false;
  return true;
}

static void follow(const struct mwatch *watch) {
  asking = watch;
  memset(node_holds, 0, sizeof node_holds);
  memset(point_holds, 0, sizeof point_holds);
  memset(command_holds, 0, sizeof command_holds);
  for (bool again = true; again;) {
    again = false;
    for (int i = 0; i < m.node_count; i++)
      if (!node_holds[i] && node_follows(i)) node_holds[i] = again = true;
    for (int i = 0; i < m.point_count; i++)
      if (!point_holds[i] && point_follows(&m.points[i])) point_holds[i] = again = true;
    for (int i = 0; i < m.command_count; i++)
      if (!command_holds[i] && command_follows(&m.commands[i])) command_holds[i] = again = true;
  }
}

bool model_possible(int command, int compound) {
  follow(NULL);
  return command >= 0 ? command_holds[command] : point_holds[compound];
}

void model_watches(void) {
  for (int i = 0; i < WATCHES; i++) {
    struct mwatch *w = &m.watches[i];
    if (!w->waiting || w->fires) continue;
    const struct mpoint *p = &m.points[w->point];
    if (!p->ended) follow(w);
    if (!p->ended && !point_holds[w->point]) continue;
    w->fires = true;
    w->status = p->ended ? p->status : TIDE_OK;
  }
}
