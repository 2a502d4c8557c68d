/* Compound points, and stand-ins: a timeline of one value each. */
#include "base/check.h"
#include "base/memory.h"
#include "point/point.h"

/* ---- making and unmaking ----------------------------------------------------------- */

static size_t size_of(const struct tide_compound *compound) {
  bool stand_in = compound->debt.gate.kind == TIDE_GATE_STAND_IN;
  return stand_in ? sizeof(struct tide_stand_in) : sizeof(struct tide_compound);
}

static void drop_parts(struct tide_compound *compound) {
  struct tide_points *points = compound->points;
  tide_gate_drop_needs(&compound->debt.gate);
  while (compound->groups) {
    struct tide_group *group = compound->groups;
    compound->groups = group->next;
    tide_gate_drop_needs(&group->gate);
    group->next = points->free_group;
    points->free_group = group;
    points->free_groups++;
  }
  tide_cells_give(points, compound->cells);
  compound->cells = NULL;
  if (compound->client) compound->client->stats.parts -= compound->parts;
  compound->parts = 0;
}

static void free_name(struct tide_compound *compound, struct tide_fired *fired) {
  tide_points_tell(compound->points, compound->slot, compound->debt.timeline, 0, TIDE_OK, 0, fired);
  if (compound->slot) tide_slot_give(compound->points, compound->slot);
  compound->slot = 0;
}

static void free_compound(struct tide_compound *compound, struct tide_fired *fired) {
  struct tide_points *points = compound->points;
  free_name(compound, fired);
  if (compound->client) compound->client->stats.timelines--;
  else points->orphans--;
  tide_list_remove(&compound->link);
  tide_turn_forget_all_locked(compound->debt.timeline);
  tide_timeline_release(compound->debt.timeline);
  tide_free(points->context->allocator, compound, 1, size_of(compound));
}

/* It is one value of one timeline: whoever waits is told there. */
static void tell(struct tide_compound *compound, struct tide_fired *fired) {
  struct tide_debt *debt = &compound->debt;
  struct tide_turn *freed[2];
  compound->told = true;
  tide_debt_paid(compound->points, debt);
  if (debt->gate.status) {
    tide_turn_break_locked(debt->timeline, &debt->turn, (enum tide_status)debt->gate.status, fired,
                           freed);
  } else {
    tide_timeline_raise_locked(debt->timeline, 1, NULL, fired);
    while (tide_turn_pass_locked(debt->timeline, fired)) continue;
  }
  tide_points_tell(compound->points, compound->slot, debt->timeline, 1,
                   (enum tide_status)debt->gate.status, 0, fired);
  if (!debt->client) return;
  if (debt->gate.status) debt->client->stats.broken++;
  else debt->client->stats.kept++;
}

static void compound_changed(struct tide_gate *gate, struct tide_fired *fired) {
  struct tide_compound *compound = TIDE_CONTAINER(gate, struct tide_compound, debt.gate);
  if (gate->ended && !compound->told) tell(compound, fired);
  if (!gate->settled) return;
  drop_parts(compound);
  if (compound->gone) free_compound(compound, fired);
}

static enum tide_status begin(struct tide_client *client, struct tide_compound *compound,
                              uint64_t deadline, struct tide_point *out_point) {
  struct tide_points *points = client->points;
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_points_lock(points);
  enum tide_status status =
      tide_slot_take(points, client, TIDE_SLOT_COMPOUND, compound, &compound->slot);
  if (status == TIDE_OK) {
    tide_list_push_back(&client->compounds, &compound->link);
    client->stats.promised++;
    tide_debt_begin(points, &compound->debt, client, 1, deadline);
    *out_point = tide_slot_point(points, compound->slot, 1);
  }
  tide_points_unlock(points, &fired);
  return status;
}

/* domain: of a stand-in; 0: a compound. */
static enum tide_status create(struct tide_client *client, uint32_t domain, uint64_t deadline,
                               struct tide_point *out_point) {
  const struct tide_context *context = client->points->context;
  static const struct tide_timeline_params params = {.history = 1};
  size_t size = domain ? sizeof(struct tide_stand_in) : sizeof(struct tide_compound);
  struct tide_compound *compound = tide_alloc(context->allocator, 1, size);
  if (!compound) return TIDE_NOMEM;
  tide_gate_init(&compound->debt.gate, domain ? TIDE_GATE_STAND_IN : TIDE_GATE_ALL,
                 compound_changed);
  if (domain) TIDE_CONTAINER(compound, struct tide_stand_in, compound)->domain = domain;
  compound->points = client->points;
  compound->client = client;
  enum tide_status status = tide_timeline_create_turned(context, &params, &compound->debt.timeline);
  if (status == TIDE_OK) status = begin(client, compound, deadline, out_point);
  if (status == TIDE_OK) return TIDE_OK;
  tide_timeline_release(compound->debt.timeline);
  tide_free(context->allocator, compound, 1, size);
  return status;
}

enum tide_status tide_compound_promise(struct tide_client *client, uint64_t deadline,
                                       struct tide_point *out_point) {
  return create(client, 0, tide_points_deadline(client->points, deadline), out_point);
}

enum tide_status tide_compound_promise_open(struct tide_client *client,
                                            struct tide_point *out_point) {
  return create(client, 0, TIDE_FOREVER, out_point);
}

void tide_compound_break(struct tide_compound *compound, enum tide_status cause,
                         struct tide_fired *fired) {
  struct tide_wave wave;
  tide_wave_begin(&wave, fired);
  if (compound->debt.gate.defined) tide_gate_fail(&wave, &compound->debt.gate, cause);
  else tide_gate_end(&wave, &compound->debt.gate, cause);
  tide_wave_finish(&wave);
}

enum tide_status tide_compound_create_broken(struct tide_client *client, enum tide_status cause,
                                             struct tide_point *out_point) {
  struct tide_points *points = client->points;
  struct tide_fired fired;
  enum tide_status status = create(client, 0, TIDE_FOREVER, out_point);
  if (status != TIDE_OK) return status;
  tide_fired_init(&fired);
  tide_points_lock(points);
  tide_compound_break(tide_slot_find(points, *out_point, TIDE_SLOT_COMPOUND), cause, &fired);
  tide_points_unlock(points, &fired);
  return TIDE_OK;
}

void tide_compound_orphan(struct tide_compound *compound, enum tide_status cause,
                          struct tide_fired *fired) {
  bool owed = !compound->debt.gate.defined && !compound->debt.gate.ended;
  if (owed) tide_compound_break(compound, cause, fired);
  tide_list_remove(&compound->link);
  compound->client = compound->debt.client = NULL;
  compound->points->orphans++;
  compound->gone = true;
  if (compound->debt.gate.settled) free_compound(compound, fired);
}

/* The caller's own. */
static enum tide_status find(struct tide_client *client, struct tide_point point,
                             struct tide_compound **out_compound) {
  struct tide_compound *compound = tide_slot_find(client->points, point, TIDE_SLOT_COMPOUND);
  if (!compound) {
    bool future = tide_slot_find(client->points, point, TIDE_SLOT_FUTURE) != NULL;
    return future ? TIDE_INVALID : TIDE_NOT_FOUND;
  }
  *out_compound = compound;
  if (point.value != 1) return TIDE_NOT_FOUND;
  return compound->client == client ? TIDE_OK : TIDE_DENIED;
}

static void destroy(struct tide_compound *compound, struct tide_fired *fired) {
  tide_compound_break(compound, TIDE_CANCELLED, fired);
  free_name(compound, fired);
  compound->gone = true;
  if (compound->debt.gate.settled) free_compound(compound, fired);
}

enum tide_status tide_compound_destroy(struct tide_client *client, struct tide_point point) {
  struct tide_points *points = client->points;
  struct tide_compound *compound;
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_points_lock(points);
  enum tide_status status = find(client, point, &compound);
  if (status == TIDE_OK) destroy(compound, &fired);
  tide_points_unlock(points, &fired);
  return status;
}

void tide_compound_give_up(struct tide_points *points, struct tide_point name,
                           struct tide_fired *fired) {
  struct tide_compound *compound = tide_slot_find(points, name, TIDE_SLOT_COMPOUND);
  if (compound) destroy(compound, fired);
}

/* ---- defining ------------------------------------------------------------------------- */

struct building {
  struct tide_client *client;
  struct tide_compound *compound;
  const struct tide_point *parts;
  size_t count;
};

static struct tide_cell *add_cell(struct tide_compound *compound) {
  struct tide_cell *cell = tide_cell_take(compound->points);
  cell->next = compound->cells;
  compound->cells = cell;
  compound->parts++;
  return cell;
}

static enum tide_status add_point(struct tide_compound *compound, struct tide_gate *gate,
                                  struct tide_point point) {
  struct tide_resolved part;
  enum tide_status status = tide_point_resolve(compound->points, point, &part);
  if (status != TIDE_OK) return status;
  tide_gate_add_need(gate, &add_cell(compound)->as.need, part.gate, part.status);
  return TIDE_OK;
}

static struct tide_gate *add_group(struct tide_compound *compound, struct tide_gate *above,
                                   enum tide_gate_kind kind) {
  struct tide_points *points = compound->points;
  struct tide_group *group = points->free_group;
  points->free_group = group->next;
  points->free_groups--;
  group->next = compound->groups;
  compound->groups = group;
  tide_gate_init(&group->gate, kind, NULL);
  tide_gate_add_need(above, &add_cell(compound)->as.need, &group->gate, TIDE_OK);
  return &group->gate;
}

/* `1&2|3`: an ANY of ALLs, and again in each pair of parentheses. It was checked. */
static enum tide_status build(const struct building *b, const char *text, size_t length) {
  struct tide_gate *any[TIDE_EXPRESSION_DEPTH + 1], *all[TIDE_EXPRESSION_DEPTH + 1];
  struct tide_expression x = {.text = text, .length = length, .count = b->count, .operand = true};
  enum tide_expression_kind kind;
  size_t index, depth = 0;
  any[0] = &b->compound->debt.gate;
  any[0]->kind = TIDE_GATE_ANY;
  all[0] = add_group(b->compound, any[0], TIDE_GATE_ALL);
  for (;;) {
    enum tide_status status = tide_expression_step(&x, &kind, &index, NULL);
    if (status == TIDE_OK && kind == TIDE_EXPRESSION_INDEX)
      status = add_point(b->compound, all[depth], b->parts[index]);
    if (status != TIDE_OK || kind == TIDE_EXPRESSION_END) return status;
    if (kind == TIDE_EXPRESSION_CLOSE) depth--;
    if (kind == TIDE_EXPRESSION_OPEN) {
      any[depth + 1] = add_group(b->compound, all[depth], TIDE_GATE_ANY);
      depth++;
    }
    if (kind == TIDE_EXPRESSION_OPEN || kind == TIDE_EXPRESSION_OR)
      all[depth] = add_group(b->compound, any[depth], TIDE_GATE_ALL);
  }
}

/* How many cells an expression takes: one an index, one a group. */
static enum tide_status measure(const char *text, size_t length, size_t count, size_t *out_cells,
                                struct tide_diag *diag) {
  struct tide_expression x = {.text = text, .length = length, .count = count, .operand = true};
  enum tide_expression_kind kind;
  size_t index, cells = 1;
  for (;;) {
    enum tide_status status = tide_expression_step(&x, &kind, &index, diag);
    if (status != TIDE_OK) return status;
    if (kind == TIDE_EXPRESSION_END) break;
    if (kind == TIDE_EXPRESSION_INDEX || kind == TIDE_EXPRESSION_OR) cells++;
    if (kind == TIDE_EXPRESSION_OPEN) cells += 2;
  }
  *out_cells = cells;
  return TIDE_OK;
}

/* Would it wait for itself? Only if somebody waits for it, perhaps itself. */
static bool closes_circle(struct tide_compound *compound) {
  struct tide_gate *gate = &compound->debt.gate;
  bool awaited = !tide_list_empty(&gate->awaited);
  for (struct tide_cell *cell = compound->cells; cell; cell = cell->next)
    awaited = awaited || cell->as.need.target == gate;
  if (!awaited) return false;
  struct tide_look look = {.mark = ++compound->points->searches, .circle = true};
  return !tide_look_holds(&look, gate);
}

static void give_up(struct tide_compound *compound) {
  drop_parts(compound);
  compound->debt.gate.defined = false;
  compound->debt.gate.kind = TIDE_GATE_ALL;
}

static void conclude(struct tide_compound *compound, struct tide_fired *fired) {
  struct tide_wave wave;
  struct tide_group *group;
  tide_debt_paid(compound->points, &compound->debt);
  tide_wave_begin(&wave, fired);
  /* Inner groups were made later than those around them: they are first in the list. */
  for (group = compound->groups; group; group = group->next) {
    tide_gate_define(&wave, &group->gate);
    tide_needs_counted(&group->gate);
  }
  tide_gate_define(&wave, &compound->debt.gate);
  tide_needs_counted(&compound->debt.gate);
  tide_wave_finish(&wave);
}

static enum tide_status check_definable(const struct tide_compound *compound) {
  const struct tide_gate *gate = &compound->debt.gate;
  if (gate->kind == TIDE_GATE_STAND_IN || gate->defined) return TIDE_INVALID;
  return gate->ended ? (enum tide_status)gate->status : TIDE_OK;
}

static void define_all(struct tide_compound *compound, bool defined) {
  compound->debt.gate.defined = defined;
  for (struct tide_group *group = compound->groups; group; group = group->next)
    group->gate.defined = defined;
}

/* text NULL: all or any of the parts. */
static enum tide_status define_locked(const struct building *b, enum tide_gate_kind kind,
                                      const char *text, size_t length, size_t cells,
                                      struct tide_fired *fired) {
  struct tide_compound *compound = b->compound;
  enum tide_status status = check_definable(compound);
  if (status != TIDE_OK) return status;
  uint32_t left = tide_parts_left(b->client->points, b->client);
  if (cells > left || cells > b->client->points->free_groups) return TIDE_FULL;
  compound->debt.gate.kind = (uint8_t)kind;
  if (text) status = build(b, text, length);
  for (size_t i = 0; !text && status == TIDE_OK && i < b->count; i++)
    status = add_point(compound, &compound->debt.gate, b->parts[i]);
  b->client->stats.parts += compound->parts;
  if (status == TIDE_OK) {
    define_all(compound, true);
    if (closes_circle(compound)) status = TIDE_DEADLOCK;
    define_all(compound, false);
  }
  if (status == TIDE_OK) conclude(compound, fired);
  else give_up(compound);
  return status;
}

static enum tide_status define(struct tide_client *client, struct tide_point point,
                               enum tide_gate_kind kind, const char *text, size_t length,
                               size_t cells, const struct tide_point *parts, size_t count) {
  struct tide_points *points = client->points;
  struct building b = {.client = client, .parts = parts, .count = count};
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_points_lock(points);
  tide_points_expire_locked(points, &fired);
  enum tide_status status = find(client, point, &b.compound);
  if (status == TIDE_OK) status = define_locked(&b, kind, text, length, cells, &fired);
  tide_points_unlock(points, &fired);
  return status;
}

enum tide_status tide_compound_all(struct tide_client *client, struct tide_point compound,
                                   const struct tide_point *parts, size_t count) {
  return define(client, compound, TIDE_GATE_ALL, NULL, 0, count, parts, count);
}

enum tide_status tide_compound_any(struct tide_client *client, struct tide_point compound,
                                   const struct tide_point *parts, size_t count) {
  if (count == 0) return TIDE_INVALID;
  return define(client, compound, TIDE_GATE_ANY, NULL, 0, count, parts, count);
}

enum tide_status tide_compound_expression(struct tide_client *client, struct tide_point compound,
                                          const char *text, size_t length,
                                          const struct tide_point *parts, size_t count,
                                          struct tide_diag *diag) {
  size_t cells;
  enum tide_status status = measure(text, length, count, &cells, diag);
  if (status != TIDE_OK) return status;
  return define(client, compound, TIDE_GATE_ANY, text, length, cells, parts, count);
}

/* ---- stand-ins --------------------------------------------------------------------------- */

enum tide_status tide_stand_in_create(struct tide_client *client, uint32_t domain,
                                      uint64_t deadline, struct tide_point *out_point) {
  if (deadline != TIDE_FOREVER) deadline = tide_points_deadline(client->points, deadline);
  if (!domain || domain == client->points->domain) return TIDE_INVALID;
  return create(client, domain, deadline, out_point);
}

void tide_stand_in_report(struct tide_points *points, struct tide_point point,
                          enum tide_point_state state, enum tide_status status,
                          struct tide_fired *fired) {
  struct tide_compound *compound = tide_slot_find(points, point, TIDE_SLOT_COMPOUND);
  if (!compound || compound->debt.gate.kind != TIDE_GATE_STAND_IN) return;
  uint32_t domain = TIDE_CONTAINER(compound, struct tide_stand_in, compound)->domain;
  struct tide_wave wave;
  tide_wave_begin(&wave, fired);
  bool believed = tide_domains_have(&points->trusted, domain);
  if (state == TIDE_POINT_SCHEDULED && believed) {
    tide_debt_paid(points, &compound->debt);
    tide_gate_schedule(&wave, &compound->debt.gate);
  }
  if (state == TIDE_POINT_RETIRED) tide_gate_end(&wave, &compound->debt.gate, TIDE_OK);
  if (state == TIDE_POINT_BROKEN)
    tide_gate_end(&wave, &compound->debt.gate, status ? status : TIDE_FAILED);
  tide_wave_finish(&wave);
}

void tide_points_lose_domain(struct tide_points *points, uint32_t domain, enum tide_status cause,
                             struct tide_fired *fired) {
  for (uint32_t i = 1; i <= points->slot_count; i++) {
    struct tide_slot *slot = &points->slots[i];
    if (slot->kind != TIDE_SLOT_COMPOUND) continue;
    struct tide_compound *compound = slot->object;
    if (compound->debt.gate.kind != TIDE_GATE_STAND_IN || compound->debt.gate.ended) continue;
    if (TIDE_CONTAINER(compound, struct tide_stand_in, compound)->domain == domain)
      tide_compound_break(compound, cause, fired);
  }
}
