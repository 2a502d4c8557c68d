/* A session's points: promises, compounds, waits, tokens. */
#include "base/params.h"
#include "base/alloc.h"
#include "point/point_state.h"
#include "service/session.h"

#include <unistd.h>

/* ---- future timelines ------------------------------------------------------------------ */

static enum tide_status make_future(struct tide_session *session, struct tide_wire_name channel,
                                    const struct tide_future_params *params,
                                    struct tide_point *out_timeline) {
  struct tide_future_params own;
  struct tide_session_name *name;
  enum tide_status status = tide_params_copy(&own, sizeof own, params);
  if (status != TIDE_OK) return status;
  params = &own;
  uint32_t capacity = params->capacity ? params->capacity : 16;
  if (capacity > session->limits.promises && tide_session_ended(session) == TIDE_OK)
    return TIDE_FULL;
  status = tide_session_claim(session, true, &name);
  if (status != TIDE_OK) return status;
  struct tide_wire_record record = {.command = {.op = TIDE_WIRE_FUTURE,
                                                .object = tide_session_wire(session, name),
                                                .other = channel,
                                                .number = capacity,
                                                .value = params->initial}};
  tide_session_add_label(&record, params->label);
  status = tide_session_ask_make(session, &record, name, NULL, NULL);
  if (status != TIDE_OK) return status;
  name->kind = TIDE_NAME_FUTURE;
  name->capacity = capacity;
  name->initial = name->newest = params->initial;
  *out_timeline = tide_session_point(session, name, params->initial);
  return TIDE_OK;
}

enum tide_status tide_session_create_future(struct tide_session *session,
                                            const struct tide_future_params *params,
                                            struct tide_point *out_timeline) {
  tide_session_lock(session);
  enum tide_status status =
      make_future(session, (struct tide_wire_name){0, 0}, params, out_timeline);
  tide_session_unlock(session);
  return status;
}

enum tide_status tide_session_create_channel_future(struct tide_session *session,
                                                    struct tide_point channel,
                                                    const struct tide_future_params *params,
                                                    struct tide_point *out_timeline) {
  tide_session_lock(session);
  struct tide_session_name *name = tide_session_find(session, channel, TIDE_NAME_CHANNEL);
  enum tide_status status =
      name ? make_future(session, tide_session_wire(session, name), params, out_timeline)
           : tide_session_no_name(session);
  tide_session_unlock(session);
  return status;
}

/* TIDE_OK if the timeline has capacity for one more open promise; TIDE_FULL: not yet;
 * TIDE_EXHAUSTED: broken values use it up for good. */
static enum tide_status check_capacity(const struct tide_session *session,
                                       const struct tide_session_name *name) {
  const struct tide_values_view *own = name->view ? name->view : session->views;
  bool have_ended = tide_values_ended(&own->values, name->place, name->newest);
  uint64_t returned = tide_values_returned(&own->values, name->place);
  if (name->newest - name->initial - returned < name->capacity) return TIDE_OK;
  return have_ended ? TIDE_EXHAUSTED : TIDE_FULL;
}

enum tide_status tide_session_promise(struct tide_session *session, struct tide_point timeline,
                                      uint64_t deadline, struct tide_point *out_point) {
  struct tide_wire_record record = {.command = {.op = TIDE_WIRE_PROMISE, .deadline = deadline}};
  tide_session_lock(session);
  enum tide_status status = tide_session_await_room(session, &record.command);
  struct tide_session_name *name = tide_session_find(session, timeline, TIDE_NAME_FUTURE);
  if (status == TIDE_OK && !name) status = tide_session_no_name(session);
  if (status == TIDE_OK && name->newest == UINT64_MAX) status = TIDE_EXHAUSTED;
  if (status == TIDE_OK) status = check_capacity(session, name);
  if (status == TIDE_OK) {
    record.command.object = tide_session_wire(session, name);
    record.command.value = name->newest + 1;
    status = tide_session_push(session, &record);
  }
  if (status == TIDE_OK) *out_point = tide_session_point(session, name, ++name->newest);
  tide_session_unlock(session);
  return status;
}

/* True if this session has promised the value, perhaps of its own timeline under a redeemed name.
 * The promise may still be on its way to the service. */
static bool has_promised(const struct tide_session *session, const struct tide_session_name *name,
                         uint64_t value) {
  if (name->kind != TIDE_NAME_FOREIGN) return value <= name->newest;
  if (name->view->owner != session->number) return false;
  const struct tide_session_name *own = &session->names[name->place];
  return own->generation == name->place_generation && own->kind != TIDE_NAME_FREE &&
         own->kind != TIDE_NAME_FOREIGN && value <= own->newest;
}

/* After the service's end a value has the end that it had before, or shares the service's. */
static enum tide_status end_with_service(const struct tide_session *session,
                                         enum tide_status status) {
  bool is_open = status == TIDE_TIMEOUT || status == TIDE_BUSY || status == TIDE_NOT_FOUND;
  enum tide_status ended = tide_session_ended(session);
  return is_open && ended != TIDE_OK ? ended : status;
}

static enum tide_status read_status(const struct tide_session *session,
                                    const struct tide_session_name *name, uint64_t value) {
  if (!name) return tide_session_no_name(session);
  enum tide_status status =
      tide_values_look(&name->view->values, name->place, name->place_generation, value,
                       has_promised(session, name, value));
  return end_with_service(session, status);
}

static enum tide_status end_promise(struct tide_session *session, struct tide_point point,
                                    enum tide_wire_op op, enum tide_status cause) {
  tide_session_lock(session);
  struct tide_session_name *name = tide_session_find(session, point, TIDE_NAME_FUTURE);
  enum tide_status status = tide_session_ended(session);
  if (status == TIDE_OK && (!name || point.value > name->newest)) status = TIDE_NOT_FOUND;
  if (status == TIDE_OK) {
    enum tide_status stands = read_status(session, name, point.value);
    if (stands == TIDE_OK) status = TIDE_VALUE;
    else if (stands != TIDE_TIMEOUT && stands != TIDE_BUSY) status = stands;
  }
  if (status == TIDE_OK) {
    struct tide_wire_record record = {.command = {.op = (uint16_t)op,
                                                  .object = tide_session_wire(session, name),
                                                  .value = point.value,
                                                  .number = (uint32_t)cause}};
    status = tide_session_push(session, &record);
  }
  tide_session_unlock(session);
  return status;
}

enum tide_status tide_session_fulfil(struct tide_session *session, struct tide_point point) {
  return end_promise(session, point, TIDE_WIRE_FULFIL, TIDE_OK);
}

enum tide_status tide_session_break(struct tide_session *session, struct tide_point point,
                                    enum tide_status cause) {
  bool not_yet =
      cause == TIDE_TIMEOUT || cause == TIDE_BUSY; /* a point so broken would look pending */
  if (cause == TIDE_OK || not_yet || (unsigned)cause >= TIDE_STATUS_COUNT) return TIDE_INVALID;
  return end_promise(session, point, TIDE_WIRE_BREAK, cause);
}

/* ---- compounds ----------------------------------------------------------------------------- */

static enum tide_status promise_single(struct tide_session *session, enum tide_wire_op op,
                                       uint32_t number, uint64_t deadline,
                                       struct tide_point *out_point) {
  struct tide_session_name *name;
  tide_session_lock(session);
  enum tide_status status = tide_session_claim(session, true, &name);
  if (status == TIDE_OK) {
    struct tide_wire_record record = {.command = {.op = (uint16_t)op,
                                                  .object = tide_session_wire(session, name),
                                                  .number = number,
                                                  .deadline = deadline}};
    status = tide_session_push(session, &record);
    if (status == TIDE_OK) {
      name->kind = TIDE_NAME_COMPOUND;
      name->newest = 1;
      *out_point = tide_session_point(session, name, 1);
    } else {
      tide_session_give_up(session, name);
    }
  }
  tide_session_unlock(session);
  return status;
}

enum tide_status tide_session_promise_compound(struct tide_session *session, uint64_t deadline,
                                               struct tide_point *out_point) {
  return promise_single(session, TIDE_WIRE_COMPOUND, 0, deadline, out_point);
}

/* ---- other domains ---- */

enum tide_status tide_session_stand_in(struct tide_session *session, uint32_t domain,
                                       uint64_t deadline, struct tide_point *out_point) {
  return promise_single(session, TIDE_WIRE_STAND_IN, domain, deadline, out_point);
}

enum tide_status tide_session_report(struct tide_session *session, struct tide_point stand_in,
                                     enum tide_point_state state, enum tide_status status) {
  tide_session_lock(session);
  enum tide_status result = tide_session_no_name(session);
  struct tide_session_name *name = tide_session_find(session, stand_in, TIDE_NAME_COMPOUND);
  if (name) {
    struct tide_wire_record record = {.command = {.op = TIDE_WIRE_REPORT,
                                                  .object = tide_session_wire(session, name),
                                                  .number = (uint32_t)state,
                                                  .value = (uint64_t)status}};
    result = tide_session_push(session, &record);
  }
  tide_session_unlock(session);
  return result;
}

static enum tide_status define_compound(struct tide_session *session, struct tide_point compound,
                                        enum tide_wire_op op, const char *text, size_t length,
                                        const struct tide_point *parts, size_t count) {
  struct tide_wire_record record = {.command = {.op = (uint16_t)op}};
  size_t used = 0;
  tide_session_lock(session);
  struct tide_session_name *name = tide_session_find(session, compound, TIDE_NAME_COMPOUND);
  enum tide_status status = name ? TIDE_OK : tide_session_no_name(session);
  if (status == TIDE_OK) status = tide_session_add_points(session, &record, &used, parts, count);
  if (status == TIDE_OK) {
    record.command.object = tide_session_wire(session, name);
    record.command.wait_count = (uint16_t)count;
    record.command.text_size = (uint32_t)length;
    unsigned char *at =
        record.bytes + sizeof record.command + used * sizeof(struct tide_wire_point);
    if (length) memcpy(at, text, length);
    status = tide_session_push(session, &record);
  }
  tide_session_unlock(session);
  return status;
}

enum tide_status tide_session_all(struct tide_session *session, struct tide_point compound,
                                  const struct tide_point *parts, size_t count) {
  return define_compound(session, compound, TIDE_WIRE_ALL, NULL, 0, parts, count);
}

enum tide_status tide_session_any(struct tide_session *session, struct tide_point compound,
                                  const struct tide_point *parts, size_t count) {
  if (count == 0) return TIDE_INVALID;
  return define_compound(session, compound, TIDE_WIRE_ANY, NULL, 0, parts, count);
}

enum tide_status tide_session_expression(struct tide_session *session, struct tide_point compound,
                                         const char *text, size_t length,
                                         const struct tide_point *parts, size_t count,
                                         struct tide_diag *diag) {
  enum tide_status status = tide_expression_check(text, length, count, diag);
  if (status != TIDE_OK) return status;
  if (length > 2048) return TIDE_INVALID;
  return define_compound(session, compound, TIDE_WIRE_EXPRESSION, text, length, parts, count);
}

/* ---- asking -----------------------------------------------------------------------------------
 */

enum tide_status tide_session_state(struct tide_session *session, struct tide_point point,
                                    enum tide_point_state *out_state,
                                    enum tide_status *out_status) {
  struct tide_wire_message answer;
  tide_session_lock(session);
  struct tide_session_name *name = tide_session_find(session, point, TIDE_NAME_FREE);
  enum tide_status why = read_status(session, name, point.value), status = TIDE_OK;
  if (!name || (why == TIDE_LOST && tide_session_ended(session) != TIDE_OK)) {
    status = why; /* after the service's end only what ended before has a state */
  } else if (why != TIDE_TIMEOUT && why != TIDE_BUSY && why != TIDE_NOT_FOUND) {
    *out_state = why ? TIDE_POINT_BROKEN : TIDE_POINT_RETIRED;
  } else {
    struct tide_wire_record record = {.command = {.op = TIDE_WIRE_STATE,
                                                  .object = tide_session_wire(session, name),
                                                  .value = point.value}};
    status = tide_session_ask_soon(session, &record, &answer);
    if (status == TIDE_OK) {
      *out_state = (enum tide_point_state)answer.state;
      why = (enum tide_status)answer.value;
    }
  }
  tide_session_unlock(session);
  if (status == TIDE_OK && out_status) *out_status = why;
  return status;
}

/* Asks the service: shared memory keeps the causes of the newest broken values only. */
static enum tide_status ask_for_end(struct tide_session *session,
                                    const struct tide_session_name *name, uint64_t value,
                                    uint64_t deadline) {
  struct tide_wire_record record = {.command = {.op = TIDE_WIRE_COMPLETE,
                                                .object = tide_session_wire(session, name),
                                                .value = value}};
  return tide_session_ask(session, &record, deadline, NULL, NULL);
}

enum tide_status tide_session_query(struct tide_session *session, struct tide_point point) {
  tide_session_lock(session);
  const struct tide_session_name *name = tide_session_find(session, point, TIDE_NAME_FREE);
  enum tide_status status = read_status(session, name, point.value);
  tide_session_unlock(session);
  if (status != TIDE_BUSY) return status;
  enum tide_point_state state;
  enum tide_status why, asked = tide_session_state(session, point, &state, &why);
  if (asked != TIDE_OK) return asked;
  if (state == TIDE_POINT_BROKEN) return why;
  return state == TIDE_POINT_RETIRED ? TIDE_OK : TIDE_TIMEOUT;
}

enum tide_status tide_session_view(struct tide_session *session, struct tide_point point,
                                   struct tide_shared_point *out) {
  tide_session_lock(session);
  const struct tide_session_name *name = tide_session_find(session, point, TIDE_NAME_FREE);
  enum tide_status status = tide_session_ended(session);
  if (status == TIDE_OK && !name) status = tide_session_no_name(session);
  if (status == TIDE_OK) {
    const struct tide_shared *shared = &name->view->values.shared;
    /* Value 0 is good as soon as the slot is this timeline's. Before, it shows another's value. */
    status = tide_shared_look(shared, name->place, name->place_generation, 0);
    if (status == TIDE_TIMEOUT) status = TIDE_BUSY;
    if (status == TIDE_OK) {
      name->view->lent = true;
      *out = (struct tide_shared_point){shared, name->place, name->place_generation, point.value};
    }
  }
  tide_session_unlock(session);
  return status;
}

static enum tide_status block_on_value(struct tide_session *session, struct tide_session_name *name,
                                       uint64_t value, uint64_t deadline) {
  struct tide_values_view *view = name->view;
  const struct tide_values *values = &view->values;
  uint32_t place = name->place, generation = name->place_generation;
  bool promised = has_promised(session, name, value);
  enum tide_status status;
  struct tide_ring_sleeper *sleeper =
      tide_ring_begin_sleep(&session->ring, tide_session_wire(session, name), value);
  view->uses++; /* keeps it mapped when the name is destroyed */
  for (;;) {
    tide_session_unlock(session);
    status = tide_values_wait(values, place, generation, value, promised,
                              tide_session_next_look(deadline));
    tide_session_lock(session);
    if (status != TIDE_TIMEOUT) break;
    if (tide_session_is_lost(session)) {
      status = tide_values_look(values, place, generation, value, promised);
      break;
    }
    if (tide_service_now() >= deadline) break;
  }
  tide_ring_end_sleep(sleeper);
  view->uses--; /* an unused view is unmapped at the session's end */
  return end_with_service(session, status);
}

enum tide_status tide_session_wait(struct tide_session *session, struct tide_point point,
                                   uint64_t deadline) {
  if (deadline == TIDE_NOW) return tide_session_query(session, point);
  tide_session_lock(session);
  struct tide_session_name *name = tide_session_find(session, point, TIDE_NAME_FREE);
  enum tide_status status = read_status(session, name, point.value);
  if (name && status == TIDE_TIMEOUT) status = block_on_value(session, name, point.value, deadline);
  if (name && status == TIDE_BUSY) status = ask_for_end(session, name, point.value, deadline);
  tide_session_unlock(session);
  return status;
}

/* ---- calls when something ends ------------------------------------------------------------------
 */

enum tide_status tide_session_when_complete(struct tide_session *session, struct tide_point point,
                                            tide_session_call call, void *user,
                                            uint32_t *out_wait) {
  if (!call) return TIDE_INVALID;
  tide_session_lock(session);
  enum tide_status status = tide_session_no_name(session);
  struct tide_session_name *name = tide_session_find(session, point, TIDE_NAME_FREE);
  if (name) {
    struct tide_wire_record record = {.command = {.op = TIDE_WIRE_COMPLETE,
                                                  .object = tide_session_wire(session, name),
                                                  .value = point.value}};
    status = tide_session_ask_later(session, &record, call, user, out_wait);
  }
  tide_session_unlock(session);
  return status;
}

enum tide_status tide_session_when_schedulable(struct tide_session *session,
                                               struct tide_point point,
                                               const struct tide_point *assumed,
                                               size_t assumed_count, tide_session_call call,
                                               void *user, uint32_t *out_wait) {
  size_t used = 0;
  if (!call || assumed_count > TIDE_ASSUMED_MAX) return TIDE_INVALID;
  tide_session_lock(session);
  enum tide_status status = tide_session_no_name(session);
  struct tide_session_name *name = tide_session_find(session, point, TIDE_NAME_FREE);
  if (name) {
    struct tide_wire_record record = {.command = {.op = TIDE_WIRE_SCHEDULABLE,
                                                  .object = tide_session_wire(session, name),
                                                  .value = point.value,
                                                  .wait_count = (uint16_t)assumed_count}};
    status = tide_session_add_points(session, &record, &used, assumed, assumed_count);
    if (status == TIDE_OK) status = tide_session_ask_later(session, &record, call, user, out_wait);
  }
  tide_session_unlock(session);
  return status;
}

enum tide_status tide_session_trust(struct tide_session *session, uint32_t domain) {
  struct tide_wire_record record = {.command = {.op = TIDE_WIRE_TRUST, .number = domain}};
  tide_session_lock(session);
  enum tide_status status = tide_session_ask_soon(session, &record, NULL);
  tide_session_unlock(session);
  return status;
}

/* ---- handing over
 * ---------------------------------------------------------------------------------- */

enum tide_status tide_session_grant(struct tide_session *session, struct tide_point object,
                                    enum tide_rights rights, struct tide_token *out_token) {
  struct tide_wire_message answer;
  tide_session_lock(session);
  enum tide_status status = tide_session_no_name(session);
  struct tide_session_name *name = tide_session_find(session, object, TIDE_NAME_FREE);
  if (!name) name = tide_session_find(session, object, TIDE_NAME_BUFFER);
  if (name) {
    struct tide_wire_record record = {.command = {.op = TIDE_WIRE_GRANT,
                                                  .object = tide_session_wire(session, name),
                                                  .number = (uint32_t)rights}};
    status = tide_session_ask_soon(session, &record, &answer);
  }
  if (status == TIDE_OK) memcpy(out_token->bytes, answer.token, sizeof out_token->bytes);
  tide_session_unlock(session);
  return status;
}

/* Maps an owner's values, once for all its timelines that have a name here. */
static enum tide_status map_view(struct tide_session *session,
                                 const struct tide_wire_message *answer, int descriptor,
                                 struct tide_values_view **out_view) {
  struct tide_values_view *view = session->views;
  uint32_t count = (uint32_t)answer->value;
  bool sane = answer->name.handle < count && answer->value <= 1u << 16;
  while (sane && view && view->owner != answer->owner) view = view->next;
  if (!sane) {
    if (descriptor >= 0) close(descriptor);
    return TIDE_CORRUPT;
  }
  if (view) {
    if (descriptor >= 0) close(descriptor);
    if (answer->name.handle >= view->count) return TIDE_CORRUPT;
    view->uses++;
    *out_view = view;
    return TIDE_OK;
  }
  view = tide_alloc(tide_allocator_system(), 1, sizeof *view);
  if (!view) {
    if (descriptor >= 0) close(descriptor);
    return TIDE_NOMEM;
  }
  enum tide_status status =
      tide_mapping_open(&view->mapping, descriptor, tide_values_bytes(count), true);
  if (status == TIDE_OK) {
    status = tide_values_attach(&view->values, view->mapping.memory, count, false);
    if (status != TIDE_OK) tide_mapping_close(&view->mapping);
  }
  if (status != TIDE_OK) {
    tide_free(tide_allocator_system(), view, 1, sizeof *view);
    return status;
  }
  view->owner = answer->owner;
  view->count = count;
  view->uses = 1;
  view->next = session->views->next; /* the session's own stays the first */
  session->views->next = view;
  *out_view = view;
  return TIDE_OK;
}

/* Maps the redeemed buffer or timeline. */
static enum tide_status take_redeemed(struct tide_session *session,
                                      const struct tide_wire_message *answer, int descriptor,
                                      struct tide_session_name *name) {
  if (answer->more) { /* a buffer: the number of bytes */
    enum tide_status status =
        tide_mapping_open(&name->memory, descriptor, answer->more, !answer->trusted);
    if (status == TIDE_OK) name->kind = TIDE_NAME_BUFFER;
    return status;
  }
  enum tide_status status = map_view(session, answer, descriptor, &name->view);
  if (status != TIDE_OK) return status;
  name->kind = TIDE_NAME_FOREIGN;
  name->place = answer->name.handle;
  name->place_generation = answer->name.generation;
  return TIDE_OK;
}

enum tide_status tide_session_redeem(struct tide_session *session, const struct tide_token *token,
                                     struct tide_point *out_object) {
  struct tide_session_name *name;
  struct tide_wire_message answer;
  int descriptor = -1;
  tide_session_lock(session);
  enum tide_status status = tide_session_claim(session, false, &name);
  if (status == TIDE_OK) {
    struct tide_wire_record record = {.command = {.op = TIDE_WIRE_REDEEM,
                                                  .object = tide_session_wire(session, name),
                                                  .text_size = sizeof token->bytes}};
    memcpy(record.bytes + sizeof record.command, token->bytes, sizeof token->bytes);
    status = tide_session_ask_make(session, &record, name, &answer, &descriptor);
    if (status == TIDE_OK) {
      status = take_redeemed(session, &answer, descriptor, name);
      if (status != TIDE_OK) tide_session_disown(session, name);
    }
  }
  if (status == TIDE_OK) *out_object = tide_session_point(session, name, 0);
  tide_session_unlock(session);
  return status;
}
