/* The commands of clients, one function each. All names are the client's own, and untrusted: each
 * is looked up in the client's table. */
#include "base/alloc.h"
#include "service/served.h"
#include "service/work.h"

#include <unistd.h>

/* The context of one command. */
struct call {
  struct tide_served *client;
  const struct tide_wire_view *view;
  const struct tide_wire_command *command;
  struct tide_wire_message *answer;
  int *descriptor;
  bool *later;
};

/* ---- names ----------------------------------------------------------------------------- */

struct tide_entry *tide_entry_find(struct tide_served *client, struct tide_wire_name name,
                                   enum tide_entry_kind kind) {
  if (name.handle == 0 || name.handle >= client->limits.handles) return NULL;
  struct tide_entry *entry = &client->entries[name.handle];
  if (entry->kind == TIDE_ENTRY_FREE || entry->generation != name.generation) return NULL;
  return kind == TIDE_ENTRY_FREE || entry->kind == kind ? entry : NULL;
}

enum tide_status tide_entry_claim(struct tide_served *client, struct tide_wire_name name,
                                  struct tide_entry **out_entry) {
  if (name.handle == 0 || name.handle >= client->limits.handles) return TIDE_NOT_FOUND;
  struct tide_entry *entry = &client->entries[name.handle];
  if (entry->kind != TIDE_ENTRY_FREE || name.generation <= entry->generation) return TIDE_BUSY;
  /* The entry's previous object may still end values and show them in this slot. */
  if (tide_load_acquire(&client->published->places[name.handle].busy)) return TIDE_BUSY;
  *out_entry = entry;
  return TIDE_OK;
}

static bool has_points(const struct tide_entry *entry) {
  return entry && entry->kind >= TIDE_ENTRY_FUTURE && entry->kind <= TIDE_ENTRY_REFUSED;
}

static enum tide_status why_none(const struct tide_entry *entry) {
  bool refused = entry && entry->kind == TIDE_ENTRY_REFUSED;
  return refused ? (enum tide_status)entry->refused : TIDE_NOT_FOUND;
}

enum tide_status tide_entry_point(struct tide_served *client, struct tide_wire_point point,
                                  struct tide_point *out_point) {
  const struct tide_entry *entry = tide_entry_find(client, point.name, TIDE_ENTRY_FREE);
  if (!has_points(entry)) return TIDE_NOT_FOUND;
  *out_point = entry->base;
  out_point->value = point.value;
  if (entry->kind == TIDE_ENTRY_FOREIGN)
    *out_point = tide_tombstone_point(client->service, entry->object, *out_point);
  return TIDE_OK;
}

static enum tide_status object_point(const struct call *c, struct tide_point *out_point) {
  struct tide_wire_point point = {c->command->object, c->command->value};
  return tide_entry_point(c->client, point, out_point);
}

/* Finds all points of the command. */
static enum tide_status points_of(const struct call *c, struct tide_point *out_points) {
  for (size_t i = 0; i < c->view->point_count; i++) {
    enum tide_status status = tide_entry_point(c->client, c->view->points[i], &out_points[i]);
    if (status != TIDE_OK) return status;
  }
  return TIDE_OK;
}

void tide_entry_free(struct tide_served *client, struct tide_entry *entry) {
  tide_grants_drop(entry);
  enum tide_entry_kind kind = (enum tide_entry_kind)entry->kind;
  entry->kind = TIDE_ENTRY_FREE;
  switch (kind) {
    case TIDE_ENTRY_FUTURE:
      tide_future_destroy(entry->object);
      client->timelines--;
      break;
    case TIDE_ENTRY_COMPOUND:
      entry->base.value = 1; /* a compound has one value */
      (void)!tide_compound_destroy(client->client, entry->base);
      client->timelines--;
      break;
    case TIDE_ENTRY_FOREIGN: tide_tombstone_release(client, entry->object, entry->base); break;
    default: tide_work_free(client, entry, kind); break;
  }
  entry->object = NULL;
  entry->refused = 0;
}

/* ---- future timelines --------------------------------------------------------------------- */

static enum tide_status call_future(const struct call *c) {
  struct tide_served *client = c->client;
  struct tide_entry *entry;
  enum tide_status status = tide_entry_claim(client, c->command->object, &entry);
  if (status != TIDE_OK) return status;
  char label[TIDE_WIRE_LABEL];
  tide_wire_label(c->view, label);
  struct tide_future_params params = {.struct_size = sizeof params,
                                      .label = label,
                                      .capacity = c->command->number,
                                      .initial = c->command->value};
  if (!params.capacity) params.capacity = 16;
  if (params.capacity > tide_promises_left(client) || client->timelines >= client->limits.timelines)
    return TIDE_FULL;
  struct tide_future *future;
  if (c->command->other.handle) {
    struct tide_entry *channel = tide_entry_find(client, c->command->other, TIDE_ENTRY_CHANNEL);
    if (!channel) return TIDE_NOT_FOUND;
    status = tide_work_create_future(client, channel, &params, &future);
  } else {
    status = tide_future_create(client->client, &params, &future);
  }
  if (status != TIDE_OK) return status;
  entry->kind = TIDE_ENTRY_FUTURE;
  entry->generation = c->command->object.generation;
  entry->object = future;
  entry->base = tide_slot_point(client->service->points, future->slot, params.initial);
  client->timelines++;
  tide_publish(client->published, c->command->object.handle, entry->generation, entry->base,
               entry->base.value, params.capacity);
  return TIDE_OK;
}

static enum tide_status call_promise(const struct call *c) {
  struct tide_entry *entry = tide_entry_find(c->client, c->command->object, TIDE_ENTRY_FUTURE);
  struct tide_point point;
  if (!entry) return TIDE_NOT_FOUND;
  return tide_future_promise_value(entry->object, c->command->value, c->command->deadline, &point);
}

static enum tide_status call_fulfil(const struct call *c) {
  struct tide_entry *entry = tide_entry_find(c->client, c->command->object, TIDE_ENTRY_FUTURE);
  if (!entry) return TIDE_NOT_FOUND;
  return tide_future_fulfil(entry->object, c->command->value, NULL);
}

/* TIDE_TIMEOUT and TIDE_BUSY mean "not yet" to the readers of a value: a point broken with one of
 * these would leave its waiters asleep for ever. */
static bool says_not_yet(uint32_t cause) { return cause == TIDE_TIMEOUT || cause == TIDE_BUSY; }

static enum tide_status call_break(const struct call *c) {
  struct tide_entry *entry = tide_entry_find(c->client, c->command->object, TIDE_ENTRY_FUTURE);
  uint32_t cause = c->command->number;
  if (!entry) return TIDE_NOT_FOUND;
  if (says_not_yet(cause)) return TIDE_INVALID;
  return tide_future_break(entry->object, c->command->value, (enum tide_status)cause);
}

static enum tide_status call_destroy(const struct call *c) {
  struct tide_entry *entry = tide_entry_find(c->client, c->command->object, TIDE_ENTRY_FREE);
  if (!entry) return TIDE_NOT_FOUND;
  tide_entry_free(c->client, entry);
  return TIDE_OK;
}

/* ---- compounds --------------------------------------------------------------------------------
 */

/* Names a compound: its point was just made as the base of the claimed entry. */
static void name_compound(const struct call *c, struct tide_entry *entry) {
  struct tide_served *client = c->client;
  entry->kind = TIDE_ENTRY_COMPOUND;
  entry->generation = c->command->object.generation;
  entry->base.value = 0;
  client->timelines++;
  tide_publish(client->published, c->command->object.handle, entry->generation, entry->base, 1, 0);
}

static enum tide_status call_compound(const struct call *c) {
  struct tide_served *client = c->client;
  struct tide_entry *entry;
  enum tide_status status = tide_entry_claim(client, c->command->object, &entry);
  if (status != TIDE_OK) return status;
  if (client->timelines >= client->limits.timelines) return TIDE_FULL;
  status = tide_compound_promise(client->client, c->command->deadline, &entry->base);
  if (status == TIDE_OK) name_compound(c, entry);
  return status;
}

/* Makes a point of another service, for which this client reports. */
static enum tide_status call_stand_in(const struct call *c) {
  struct tide_served *client = c->client;
  struct tide_entry *entry;
  enum tide_status status = tide_entry_claim(client, c->command->object, &entry);
  if (status != TIDE_OK) return status;
  if (!c->command->number || client->rule->speaks != c->command->number) return TIDE_DENIED;
  if (client->timelines >= client->limits.timelines) return TIDE_FULL;
  /* A client may not ask for an unlimited deadline: 0 is the default one. */
  uint64_t deadline = c->command->deadline == TIDE_FOREVER ? 0 : c->command->deadline;
  status = tide_stand_in_create(client->client, c->command->number, deadline, &entry->base);
  if (status == TIDE_OK) name_compound(c, entry);
  return status;
}

/* *out_point: the only point of a compound. TIDE_NOT_FOUND; the refusal of a refused compound. */
static enum tide_status find_compound(const struct call *c, struct tide_point *out_point) {
  const struct tide_entry *entry = tide_entry_find(c->client, c->command->object, TIDE_ENTRY_FREE);
  if (!entry || entry->kind != TIDE_ENTRY_COMPOUND) return why_none(entry);
  *out_point = entry->base;
  out_point->value = 1;
  return TIDE_OK;
}

static enum tide_status call_report(const struct call *c) {
  struct tide_points *points = c->client->service->points;
  struct tide_point point;
  struct tide_fired fired;
  enum tide_status status = find_compound(c, &point);
  if (status != TIDE_OK) return status;
  if (c->command->number > TIDE_POINT_BROKEN || c->command->value >= TIDE_STATUS_COUNT ||
      says_not_yet((uint32_t)c->command->value))
    return TIDE_INVALID;
  tide_fired_init(&fired);
  tide_points_lock(points);
  tide_stand_in_report(points, point, (enum tide_point_state)c->command->number,
                       (enum tide_status)c->command->value, &fired);
  tide_points_unlock(points, &fired);
  return TIDE_OK;
}

static enum tide_status call_define(const struct call *c) {
  struct tide_point compound, parts[TIDE_WIRE_POINTS];
  struct tide_client *client = c->client->client;
  size_t count = c->view->point_count;
  enum tide_status status = find_compound(c, &compound);
  if (status == TIDE_OK) status = points_of(c, parts);
  if (status != TIDE_OK) return status;
  if (c->command->op == TIDE_WIRE_ALL) return tide_compound_all(client, compound, parts, count);
  if (c->command->op == TIDE_WIRE_ANY) return tide_compound_any(client, compound, parts, count);
  return tide_compound_expression(client, compound, c->view->text, c->command->text_size, parts,
                                  count, NULL);
}

/* ---- asking and waiting -------------------------------------------------------------------------
 */

static enum tide_status call_state(const struct call *c) {
  struct tide_point point;
  enum tide_point_state state;
  enum tide_status why, status = object_point(c, &point);
  if (status != TIDE_OK) return status;
  status = tide_point_state(c->client->service->points, point, &state, &why);
  if (status != TIDE_OK) return status;
  c->answer->state = (uint32_t)state;
  c->answer->value = (uint64_t)why;
  return TIDE_OK;
}

static enum tide_status call_complete(const struct call *c) {
  struct tide_pending *pending;
  struct tide_point point;
  enum tide_status status = object_point(c, &point);
  if (status != TIDE_OK) return status;
  if (!c->command->answer) return TIDE_INVALID;
  status = tide_pending_begin(c->client, c->command->answer, &pending);
  if (status != TIDE_OK) return status;
  pending->awaited = (struct tide_wire_point){c->command->object, c->command->value};
  pending->complete.call = tide_pending_complete;
  *c->later = true;
  status = tide_point_when_complete(c->client->service->points, point, &pending->complete);
  if (status == TIDE_OK) return TIDE_OK;
  *c->later = false;
  tide_pending_drop(pending);
  return status;
}

static enum tide_status call_schedulable(const struct call *c) {
  struct tide_pending *pending;
  struct tide_point point, assumed[TIDE_WIRE_POINTS];
  enum tide_status status = object_point(c, &point);
  if (status == TIDE_OK) status = points_of(c, assumed);
  if (status != TIDE_OK) return status;
  if (!c->command->answer) return TIDE_INVALID;
  status = tide_pending_begin(c->client, c->command->answer, &pending);
  if (status != TIDE_OK) return status;
  pending->awaited = (struct tide_wire_point){c->command->object, c->command->value};
  pending->schedulable = true;
  pending->scheduled.call = tide_pending_scheduled;
  pending->scheduled.client = c->client->client;
  *c->later = true;
  status = tide_point_when_schedulable(&pending->scheduled, point, assumed, c->view->point_count);
  if (status == TIDE_OK) return TIDE_OK;
  *c->later = false;
  tide_pending_drop(pending);
  return status;
}

/* Answers a forgotten wait. A wait that cannot be cancelled sends its own answer. */
static enum tide_status call_forget(const struct call *c) {
  if (!tide_pending_forget(c->client, c->command->number)) return TIDE_OK;
  struct tide_wire_message answer;
  tide_wire_begin(&answer, TIDE_WIRE_ANSWER);
  answer.answer = c->command->number;
  answer.status = TIDE_CANCELLED;
  tide_served_send(c->client, &answer, -1);
  return TIDE_OK;
}

static enum tide_status call_trust(const struct call *c) {
  return tide_client_trust(c->client->client, c->command->number);
}

static enum tide_status call_sync(const struct call *c) {
  (void)c;
  return TIDE_OK;
}

/* ---- handing over
 * -------------------------------------------------------------------------------- */

static enum tide_status call_grant(const struct call *c) {
  struct tide_entry *entry = tide_entry_find(c->client, c->command->object, TIDE_ENTRY_FREE);
  struct tide_token token;
  bool writable = c->command->number & TIDE_RIGHT_WRITE;
  if (!entry || entry->kind == TIDE_ENTRY_REFUSED) return why_none(entry);
  bool own_buffer = entry->kind == TIDE_ENTRY_BUFFER && entry->owner == c->client->number;
  if (entry->kind != TIDE_ENTRY_FUTURE && entry->kind != TIDE_ENTRY_COMPOUND && !own_buffer)
    return TIDE_DENIED;
  enum tide_status status = tide_grant_create(c->client, entry, writable, &token);
  if (status == TIDE_OK) memcpy(c->answer->token, token.bytes, sizeof c->answer->token);
  return status;
}

static enum tide_status redeem_timeline(const struct call *c, const struct tide_grant *grant,
                                        struct tide_entry *entry) {
  struct tide_published *published = grant->client->published;
  struct tide_tombstone *tombstone;
  enum tide_status status = tide_tombstone_hold(c->client, grant->entry, &tombstone);
  if (status != TIDE_OK) return status;
  *c->descriptor = tide_mapping_another(&published->mapping, false);
  if (*c->descriptor < 0) {
    tide_tombstone_release(c->client, tombstone, grant->entry->base);
    return TIDE_FULL;
  }
  entry->object = tombstone;
  entry->kind = TIDE_ENTRY_FOREIGN;
  entry->generation = c->command->object.generation;
  entry->base = grant->entry->base;
  entry->owner = published->owner;
  entry->writable = grant->client->rule->trusted;
  c->answer->owner = published->owner;
  c->answer->name =
      (struct tide_wire_name){.handle = (uint32_t)(grant->entry - grant->client->entries),
                              .generation = grant->entry->generation};
  c->answer->value = published->count;
  return TIDE_OK;
}

static enum tide_status call_redeem(const struct call *c) {
  struct tide_token token;
  struct tide_entry *entry;
  if (c->command->text_size != sizeof token.bytes) return TIDE_CORRUPT;
  enum tide_status status = tide_entry_claim(c->client, c->command->object, &entry);
  if (status != TIDE_OK) return status;
  memcpy(token.bytes, c->view->text, sizeof token.bytes);
  struct tide_grant *grant = tide_grant_find(c->client->service, &token);
  if (!grant) {
    c->client->wrong_tokens++;
    return TIDE_NOT_FOUND;
  }
  c->answer->state = grant->entry->kind;
  if (grant->entry->kind != TIDE_ENTRY_BUFFER) return redeem_timeline(c, grant, entry);
  status = tide_work_redeem(c->client, grant, entry, c->answer, c->descriptor);
  if (status == TIDE_OK) entry->generation = c->command->object.generation;
  return status;
}

static enum tide_status call_allocate(const struct call *c) {
  return tide_allocate(c->client, c->view, c->later);
}

/* ---- all of them
 * ------------------------------------------------------------------------------------ */

typedef enum tide_status (*call_function)(const struct call *c);
static const call_function calls[TIDE_WIRE_OPS] = {
    [TIDE_WIRE_FUTURE] = call_future,     [TIDE_WIRE_PROMISE] = call_promise,
    [TIDE_WIRE_FULFIL] = call_fulfil,     [TIDE_WIRE_BREAK] = call_break,
    [TIDE_WIRE_DESTROY] = call_destroy,   [TIDE_WIRE_COMPOUND] = call_compound,
    [TIDE_WIRE_ALL] = call_define,        [TIDE_WIRE_ANY] = call_define,
    [TIDE_WIRE_EXPRESSION] = call_define, [TIDE_WIRE_STATE] = call_state,
    [TIDE_WIRE_COMPLETE] = call_complete, [TIDE_WIRE_SCHEDULABLE] = call_schedulable,
    [TIDE_WIRE_FORGET] = call_forget,     [TIDE_WIRE_GRANT] = call_grant,
    [TIDE_WIRE_REDEEM] = call_redeem,     [TIDE_WIRE_TRUST] = call_trust,
    [TIDE_WIRE_STAND_IN] = call_stand_in, [TIDE_WIRE_REPORT] = call_report,
    [TIDE_WIRE_SYNC] = call_sync,         [TIDE_WIRE_ALLOCATE] = call_allocate,
};

enum tide_status tide_call(struct tide_served *client, const struct tide_wire_view *view,
                           struct tide_wire_message *answer, int *out_descriptor, bool *out_later) {
  struct call c = {.client = client,
                   .view = view,
                   .command = view->command,
                   .answer = answer,
                   .descriptor = out_descriptor,
                   .later = out_later};
  call_function function = calls[view->command->op];
  enum tide_status status =
      function ? function(&c) : tide_work_call(client, view, answer, out_descriptor);
  tide_tombstones_settle(client->service);
  return status;
}
