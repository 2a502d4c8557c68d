/* The bodies that clients may use: the service's own, and those that its owner plugs in. */
#include "base/alloc.h"
#include "base/text.h"
#include "service/work.h"

_Static_assert(TIDE_WIRE_ARGUMENTS == TIDE_SESSION_ARGUMENTS_MAX, "as many as the header says");

static enum tide_status body_nothing(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}

static enum tide_status body_copy(void *arguments) {
  const struct tide_argument *a = arguments, *from = &a[0], *to = &a[1];
  if (from->size != to->size) return TIDE_INVALID;
  if (to->size) memmove(to->data, from->data, to->size);
  return TIDE_OK;
}

#define RANGE(name, kind, optional)                                                                \
  { name, kind, optional, 0 }

static const struct tide_param copy_params[] = {RANGE("from", TIDE_PARAM_IN, false),
                                                RANGE("to", TIDE_PARAM_OUT, false)};
static const struct tide_param flush_params[TIDE_WIRE_ARGUMENTS] = {
    RANGE("range 1", TIDE_PARAM_IN, false), RANGE("range 2", TIDE_PARAM_IN, true),
    RANGE("range 3", TIDE_PARAM_IN, true),  RANGE("range 4", TIDE_PARAM_IN, true),
    RANGE("range 5", TIDE_PARAM_IN, true),  RANGE("range 6", TIDE_PARAM_IN, true),
    RANGE("range 7", TIDE_PARAM_IN, true),  RANGE("range 8", TIDE_PARAM_IN, true)};

/* Memory is coherent on this device: a flush needs only its operation's end, which orders it. */
static const struct tide_body own[TIDE_SESSION_BODIES] = {
    [TIDE_SESSION_NOTHING] = {{.name = "nothing", .host = body_nothing}, NULL, 0, "nothing"},
    [TIDE_SESSION_COPY] = {{.name = "copy", .host = body_copy}, copy_params, 2, "to = from"},
    [TIDE_SESSION_FLUSH] = {{.name = "flush", .host = body_nothing},
                            flush_params,
                            TIDE_WIRE_ARGUMENTS,
                            "what was written before is visible to all"},
};

const struct tide_body *tide_service_body(const struct tide_service *service, uint32_t number) {
  if (number < TIDE_SESSION_BODIES) return &own[number];
  const struct tide_body_set *plugged = service->params.bodies;
  number -= TIDE_SESSION_BODIES;
  return plugged && number < plugged->count ? &plugged->bodies[number] : NULL;
}

/* True if a client can give such an argument: a client has no file or text to give. */
static bool is_for_clients(enum tide_param_kind kind) {
  return kind != TIDE_PARAM_FILE && kind != TIDE_PARAM_TEXT;
}

static enum tide_status check_body(const struct tide_body *body, struct tide_diag *diag) {
  if (!body->class_.name || !body->class_.host)
    return tide_diag_set(diag, TIDE_INVALID, "a body of the service has no name or no function");
  if (body->param_count > TIDE_WIRE_ARGUMENTS)
    return tide_diag_set(diag, TIDE_INVALID, "body '%s': at most %u parameters expected, %lu came",
                         body->class_.name, TIDE_WIRE_ARGUMENTS, (unsigned long)body->param_count);
  for (size_t i = 0; i < body->param_count; i++) {
    const struct tide_param *param = &body->params[i];
    if (!is_for_clients(param->kind))
      return tide_diag_set(diag, TIDE_INVALID, "body '%s': '%s' is neither a buffer nor an integer",
                           body->class_.name, param->name);
    if (i > 0 && param[-1].optional && !param->optional)
      return tide_diag_set(diag, TIDE_INVALID, "body '%s': '%s' follows an optional parameter",
                           body->class_.name, param->name);
  }
  return TIDE_OK;
}

enum tide_status tide_service_check_bodies(const struct tide_body_set *bodies,
                                           struct tide_diag *diag) {
  size_t count = bodies ? bodies->count : 0;
  if (count > TIDE_SESSION_BODIES_MAX - TIDE_SESSION_BODIES)
    return tide_diag_set(diag, TIDE_INVALID, "at most %u bodies expected, %lu came",
                         TIDE_SESSION_BODIES_MAX - TIDE_SESSION_BODIES, (unsigned long)count);
  for (size_t i = 0; i < count; i++) {
    enum tide_status status = check_body(&bodies->bodies[i], diag);
    if (status != TIDE_OK) return status;
  }
  return TIDE_OK;
}
