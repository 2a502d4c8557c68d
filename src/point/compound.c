/* Compound points and stand-ins: each is a timeline of one value. */
#include "base/check.h"
#include "base/alloc.h"
#include "point/point_state.h"

/* ---- making and unmaking ----------------------------------------------------------- */

static size_t size_of(const struct tide_compound *compound) {
  bool stand_in = compound->unmet.node.kind == TIDE_DEPENDENCY_STAND_IN;
  return stand_in ? sizeof(struct tide_stand_in) : sizeof(struct tide_compound);
}

static void drop_parts(struct tide_compound *compound) {
  struct tide_points *points = compound->points;
  tide_dependency_drop_edges(&compound->unmet.node);
  while (compound->groups) {
    struct tide_group *group = compound->groups;
    compound->groups = group->next;
    tide_dependency_drop_edges(&group->node);
    group->next = points->free_group;
    points->free_group = group;
    points->free_groups++;
  }
  tide_cells_give(points, compound->cells);
  compound->cells = NULL;
  if (compound->client) compound->client->stats.parts -= compound->parts;
  else points->orphan_parts -= compound->parts;
  compound->parts = 0;
}

static void free_name(struct tide_compound *compound, struct tide_fired *fired) {
  struct tide_observed what = {.slot = compound->slot, .newest = 1, .closed = true};
  tide_points_notify(compound->points, &what, compound->unmet.timeline, fired);
  if (compound->slot) tide_slot_give(compound->points, compound->slot);
  compound->slot = 0;
}

static void free_compound(struct tide_compound *compound, struct tide_fired *fired) {
  struct tide_points *points = compound->points;
  if (tide_slot_defer(points, compound->slot)) return;
  free_name(compound, fired);
  if (compound->client) {
    compound->client->stats.timelines--;
  } else {
    points->orphans--;
    points->orphan_compound_count--;
  }
  tide_list_remove(&compound->link);
  tide_pending_forget_all_locked(compound->unmet.timeline);
  tide_timeline_release(compound->unmet.timeline);
  tide_free(points->context->allocator, compound, 1, size_of(compound));
}

void tide_compound_free_unpinned(struct tide_compound *compound, struct tide_fired *fired) {
  free_compound(compound, fired);
}

static struct tide_observed end_of(const struct tide_compound *compound) {
  return (struct tide_observed){.slot = compound->slot,
                                .ended = 1,
                                .status = (enum tide_status)compound->unmet.node.status,
                                .newest = 1};
}

bool tide_slot_news(const struct tide_points *points, uint32_t slot, struct tide_observed *out) {
  const struct tide_slot *at = &points->slots[slot];
  const struct tide_compound *compound = at->kind == TIDE_SLOT_COMPOUND ? at->object : NULL;
  if (!compound || !compound->told) return false;
  *out = end_of(compound);
  out->generation = at->generation;
  out->value = compound->unmet.timeline->reached.value;
  out->lowest = compound->unmet.timeline->lowest_broken;
  return true;
}

/* Ends the compound's value on its timeline, which holds all the waiters. */
static void notify_waiters(struct tide_compound *compound, struct tide_fired *fired) {
  struct tide_unmet *unmet = &compound->unmet;
  struct tide_pending_value *freed[2];
  compound->told = true;
  tide_unmet_met(compound->points, unmet);
  if (unmet->node.status) {
    tide_pending_break_locked(unmet->timeline, &unmet->pending,
                              (enum tide_status)unmet->node.status, fired, freed);
  } else {
    tide_timeline_raise_locked(unmet->timeline, 1, NULL, fired);
    while (tide_pending_pass_locked(unmet->timeline, fired)) continue;
  }
  struct tide_observed what = end_of(compound);
  tide_points_notify(compound->points, &what, unmet->timeline, fired);
  if (!unmet->client) return;
  if (unmet->node.status) unmet->client->stats.broken++;
  else unmet->client->stats.kept++;
}

static void compound_changed(struct tide_dependency_node *node, struct tide_fired *fired) {
  struct tide_compound *compound = TIDE_CONTAINER(node, struct tide_compound, unmet.node);
  if (node->ended && !compound->told) notify_waiters(compound, fired);
  if (!node->settled) return;
  drop_parts(compound);
  if (compound->gone) free_compound(compound, fired);
}

static enum tide_status begin_compound(struct tide_client *client, struct tide_compound *compound,
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
    tide_unmet_begin(points, &compound->unmet, client, 1, deadline);
    *out_point = tide_slot_point(points, compound->slot, 1);
  }
  tide_points_unlock(points, &fired);
  return status;
}

/* Creates a compound (domain 0), or a stand-in for a point of `domain`. */
static enum tide_status create_compound(struct tide_client *client, uint32_t domain,
                                        uint64_t deadline, struct tide_point *out_point) {
  struct tide_context *context = client->points->context;
  static const struct tide_timeline_params params = {.struct_size = sizeof params, .history = 1};
  size_t size = domain ? sizeof(struct tide_stand_in) : sizeof(struct tide_compound);
  struct tide_compound *compound = tide_alloc(context->allocator, 1, size);
  if (!compound) return TIDE_NOMEM;
  tide_dependency_init(&compound->unmet.node,
                       domain ? TIDE_DEPENDENCY_STAND_IN : TIDE_DEPENDENCY_ALL, compound_changed);
  if (domain) TIDE_CONTAINER(compound, struct tide_stand_in, compound)->domain = domain;
  compound->points = client->points;
  compound->client = client;
  enum tide_status status =
      tide_timeline_create_single(context, &params, &tide_point_backing, &compound->unmet.timeline);
  if (status == TIDE_OK) status = begin_compound(client, compound, deadline, out_point);
  if (status == TIDE_OK) return TIDE_OK;
  tide_timeline_release(compound->unmet.timeline);
  tide_free(context->allocator, compound, 1, size);
  return status;
}

enum tide_status tide_compound_promise(struct tide_client *client, uint64_t deadline,
                                       struct tide_point *out_point) {
  return create_compound(client, 0, tide_points_deadline(client->points, deadline), out_point);
}

enum tide_status tide_compound_promise_open(struct tide_client *client,
                                            struct tide_point *out_point) {
  return create_compound(client, 0, TIDE_FOREVER, out_point);
}

void tide_compound_break(struct tide_compound *compound, enum tide_status cause,
                         struct tide_fired *fired) {
  struct tide_propagation propagation;
  tide_propagation_begin(&propagation, fired);
  if (compound->unmet.node.defined)
    tide_dependency_fail(&propagation, &compound->unmet.node, cause);
  else tide_dependency_end(&propagation, &compound->unmet.node, cause);
  tide_propagation_finish(&propagation);
}

enum tide_status tide_compound_create_broken(struct tide_client *client, enum tide_status cause,
                                             struct tide_point *out_point) {
  struct tide_points *points = client->points;
  struct tide_fired fired;
  enum tide_status status = create_compound(client, 0, TIDE_FOREVER, out_point);
  if (status != TIDE_OK) return status;
  tide_fired_init(&fired);
  tide_points_lock(points);
  tide_compound_break(tide_slot_find(points, *out_point, TIDE_SLOT_COMPOUND), cause, &fired);
  tide_points_unlock(points, &fired);
  return TIDE_OK;
}

void tide_compound_orphan(struct tide_compound *compound, enum tide_status cause,
                          struct tide_fired *fired) {
  bool owed = !compound->unmet.node.defined && !compound->unmet.node.ended;
  if (owed) tide_compound_break(compound, cause, fired);
  tide_list_remove(&compound->link);
  compound->client = compound->unmet.client = NULL;
  compound->points->orphans++;
  compound->points->orphan_compound_count++;
  compound->points->orphan_parts += compound->parts;
  tide_list_push_back(&compound->points->orphan_compounds, &compound->link);
  compound->gone = true;
  if (compound->unmet.node.settled) free_compound(compound, fired);
}

bool tide_points_end_orphan(struct tide_points *points) {
  struct tide_propagation propagation;
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_points_lock(points);
  bool some = !tide_list_empty(&points->orphan_compounds);
  if (some) {
    struct tide_compound *oldest =
        TIDE_CONTAINER(points->orphan_compounds.next, struct tide_compound, link);
    tide_propagation_begin(&propagation, &fired);
    tide_dependency_end(&propagation, &oldest->unmet.node, TIDE_OWNER_DIED);
    tide_propagation_finish(&propagation);
  }
  tide_points_unlock(points, &fired);
  return some;
}

/* Finds a compound of this client. */
static enum tide_status find_compound(struct tide_client *client, struct tide_point point,
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

static void destroy_compound(struct tide_compound *compound, struct tide_fired *fired) {
  if (compound->slot && compound->points->slots[compound->slot].next) return; /* it goes anyway */
  tide_compound_break(compound, TIDE_CANCELLED, fired);
  free_name(compound, fired);
  compound->gone = true;
  if (compound->unmet.node.settled) free_compound(compound, fired);
}

enum tide_status tide_compound_destroy(struct tide_client *client, struct tide_point point) {
  struct tide_points *points = client->points;
  struct tide_compound *compound;
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_points_lock(points);
  enum tide_status status = find_compound(client, point, &compound);
  if (status == TIDE_OK) destroy_compound(compound, &fired);
  tide_points_unlock(points, &fired);
  return status;
}

void tide_compound_give_up(struct tide_points *points, struct tide_point name,
                           struct tide_fired *fired) {
  struct tide_compound *compound = tide_slot_find(points, name, TIDE_SLOT_COMPOUND);
  if (compound) destroy_compound(compound, fired);
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

static enum tide_status add_point(struct tide_compound *compound, struct tide_dependency_node *node,
                                  struct tide_point point) {
  struct tide_resolved part;
  enum tide_status status = tide_point_resolve(compound->points, point, &part);
  if (status != TIDE_OK) return status;
  tide_dependency_add_edge(node, &add_cell(compound)->as.edge, part.node, part.status);
  return TIDE_OK;
}

static struct tide_dependency_node *add_group(struct tide_compound *compound,
                                              struct tide_dependency_node *above,
                                              enum tide_dependency_kind kind) {
  struct tide_points *points = compound->points;
  struct tide_group *group = points->free_group;
  points->free_group = group->next;
  points->free_groups--;
  group->next = compound->groups;
  compound->groups = group;
  tide_dependency_init(&group->node, kind, NULL);
  tide_dependency_add_edge(above, &add_cell(compound)->as.edge, &group->node, TIDE_OK);
  return &group->node;
}

/* Builds the groups of a checked expression. `1&2|3` is an ANY of ALLs, and so is each pair of
 * parentheses. */
static enum tide_status build_expression(const struct building *b, const char *text,
                                         size_t length) {
  struct tide_dependency_node *any[TIDE_EXPRESSION_DEPTH + 1], *all[TIDE_EXPRESSION_DEPTH + 1];
  struct tide_expression x = {.text = text, .length = length, .count = b->count, .operand = true};
  enum tide_expression_kind kind;
  size_t index, depth = 0;
  any[0] = &b->compound->unmet.node;
  any[0]->kind = TIDE_DEPENDENCY_ANY;
  all[0] = add_group(b->compound, any[0], TIDE_DEPENDENCY_ALL);
  for (;;) {
    enum tide_status status = tide_expression_step(&x, &kind, &index, NULL);
    if (status == TIDE_OK && kind == TIDE_EXPRESSION_INDEX)
      status = add_point(b->compound, all[depth], b->parts[index]);
    if (status != TIDE_OK || kind == TIDE_EXPRESSION_END) return status;
    if (kind == TIDE_EXPRESSION_CLOSE) depth--;
    if (kind == TIDE_EXPRESSION_OPEN) {
      any[depth + 1] = add_group(b->compound, all[depth], TIDE_DEPENDENCY_ANY);
      depth++;
    }
    if (kind == TIDE_EXPRESSION_OPEN || kind == TIDE_EXPRESSION_OR)
      all[depth] = add_group(b->compound, any[depth], TIDE_DEPENDENCY_ALL);
  }
}

/* Counts the cells that an expression needs: one for each index and each group. */
static enum tide_status count_cells(const char *text, size_t length, size_t count,
                                    size_t *out_cells, struct tide_diag *diag) {
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

/* True if the compound would depend on itself. That takes a node that depends on it, perhaps
 * itself. */
static bool closes_cycle(struct tide_compound *compound) {
  struct tide_dependency_node *node = &compound->unmet.node;
  bool awaited = !tide_list_empty(&node->awaited);
  for (struct tide_cell *cell = compound->cells; cell; cell = cell->next)
    awaited = awaited || cell->as.edge.target == node;
  if (!awaited) return false;
  struct tide_look look = {.mark = ++compound->points->searches, .cycle = true};
  return !tide_look_holds(&look, node);
}

static void give_up(struct tide_compound *compound) {
  drop_parts(compound);
  compound->unmet.node.defined = false;
  compound->unmet.node.kind = TIDE_DEPENDENCY_ALL;
}

static void define_nodes(struct tide_compound *compound, struct tide_fired *fired) {
  struct tide_propagation propagation;
  struct tide_group *group;
  tide_unmet_met(compound->points, &compound->unmet);
  tide_propagation_begin(&propagation, fired);
  /* Inner groups are defined first: they were created later, and the list is last in first out. */
  for (group = compound->groups; group; group = group->next) {
    tide_dependency_define(&propagation, &group->node);
    tide_needs_counted(&group->node);
  }
  tide_dependency_define(&propagation, &compound->unmet.node);
  tide_needs_counted(&compound->unmet.node);
  tide_propagation_finish(&propagation);
}

static enum tide_status check_definable(const struct tide_compound *compound) {
  const struct tide_dependency_node *node = &compound->unmet.node;
  if (node->kind == TIDE_DEPENDENCY_STAND_IN || node->defined) return TIDE_INVALID;
  return node->ended ? (enum tide_status)node->status : TIDE_OK;
}

static void define_all(struct tide_compound *compound, bool defined) {
  compound->unmet.node.defined = defined;
  for (struct tide_group *group = compound->groups; group; group = group->next)
    group->node.defined = defined;
}

/* Defines the compound by the expression `text`; NULL: as all or any of the parts. */
static enum tide_status define_locked(const struct building *b, enum tide_dependency_kind kind,
                                      const char *text, size_t length, size_t cells,
                                      struct tide_fired *fired) {
  struct tide_compound *compound = b->compound;
  enum tide_status status = check_definable(compound);
  if (status != TIDE_OK) return status;
  uint32_t left = tide_parts_left(b->client->points, b->client);
  if (cells > left || cells > b->client->points->free_groups) return TIDE_FULL;
  compound->unmet.node.kind = (uint8_t)kind;
  if (text) status = build_expression(b, text, length);
  for (size_t i = 0; !text && status == TIDE_OK && i < b->count; i++)
    status = add_point(compound, &compound->unmet.node, b->parts[i]);
  b->client->stats.parts += compound->parts;
  if (status == TIDE_OK) {
    define_all(compound, true);
    if (closes_cycle(compound)) status = TIDE_DEADLOCK;
    define_all(compound, false);
  }
  if (status == TIDE_OK) define_nodes(compound, fired);
  else give_up(compound);
  return status;
}

static enum tide_status define_compound(struct tide_client *client, struct tide_point point,
                                        enum tide_dependency_kind kind, const char *text,
                                        size_t length, size_t cells, const struct tide_point *parts,
                                        size_t count) {
  struct tide_points *points = client->points;
  struct building b = {.client = client, .parts = parts, .count = count};
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_points_lock(points);
  tide_points_expire_locked(points, &fired);
  enum tide_status status = find_compound(client, point, &b.compound);
  if (status == TIDE_OK) status = define_locked(&b, kind, text, length, cells, &fired);
  tide_points_unlock(points, &fired);
  return status;
}

enum tide_status tide_compound_all(struct tide_client *client, struct tide_point compound,
                                   const struct tide_point *parts, size_t count) {
  return define_compound(client, compound, TIDE_DEPENDENCY_ALL, NULL, 0, count, parts, count);
}

enum tide_status tide_compound_any(struct tide_client *client, struct tide_point compound,
                                   const struct tide_point *parts, size_t count) {
  if (count == 0) return TIDE_INVALID;
  return define_compound(client, compound, TIDE_DEPENDENCY_ANY, NULL, 0, count, parts, count);
}

enum tide_status tide_compound_expression(struct tide_client *client, struct tide_point compound,
                                          const char *text, size_t length,
                                          const struct tide_point *parts, size_t count,
                                          struct tide_diag *diag) {
  size_t cells;
  enum tide_status status = count_cells(text, length, count, &cells, diag);
  if (status != TIDE_OK) return status;
  return define_compound(client, compound, TIDE_DEPENDENCY_ANY, text, length, cells, parts, count);
}

/* ---- stand-ins --------------------------------------------------------------------------- */

enum tide_status tide_stand_in_create(struct tide_client *client, uint32_t domain,
                                      uint64_t deadline, struct tide_point *out_point) {
  if (deadline != TIDE_FOREVER) deadline = tide_points_deadline(client->points, deadline);
  if (!domain || domain == client->points->domain) return TIDE_INVALID;
  return create_compound(client, domain, deadline, out_point);
}

void tide_stand_in_report(struct tide_points *points, struct tide_point point,
                          enum tide_point_state state, enum tide_status status,
                          struct tide_fired *fired) {
  struct tide_compound *compound = tide_slot_find(points, point, TIDE_SLOT_COMPOUND);
  if (!compound || compound->unmet.node.kind != TIDE_DEPENDENCY_STAND_IN) return;
  uint32_t domain = TIDE_CONTAINER(compound, struct tide_stand_in, compound)->domain;
  struct tide_propagation propagation;
  tide_propagation_begin(&propagation, fired);
  bool believed = tide_domains_have(&points->trusted, domain);
  if (state == TIDE_POINT_SCHEDULED && believed) {
    tide_unmet_met(points, &compound->unmet);
    tide_dependency_schedule(&propagation, &compound->unmet.node);
  }
  if (state == TIDE_POINT_RETIRED)
    tide_dependency_end(&propagation, &compound->unmet.node, TIDE_OK);
  if (state == TIDE_POINT_BROKEN)
    tide_dependency_end(&propagation, &compound->unmet.node, status ? status : TIDE_FAILED);
  tide_propagation_finish(&propagation);
}

void tide_points_lose_domain(struct tide_points *points, uint32_t domain, enum tide_status cause,
                             struct tide_fired *fired) {
  for (uint32_t i = 1; i <= points->slot_count; i++) {
    struct tide_slot *slot = &points->slots[i];
    if (slot->kind != TIDE_SLOT_COMPOUND) continue;
    struct tide_compound *compound = slot->object;
    if (compound->unmet.node.kind != TIDE_DEPENDENCY_STAND_IN || compound->unmet.node.ended)
      continue;
    if (TIDE_CONTAINER(compound, struct tide_stand_in, compound)->domain == domain)
      tide_compound_break(compound, cause, fired);
  }
}
