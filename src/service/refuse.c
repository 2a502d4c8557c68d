/* Refusals: the points of a refused command break.
 *
 * A client names new points without a round trip, so other threads, channels and processes may wait
 * for a point before the service has seen the command that promises it. A refusal breaks each
 * such point with its own status: no waiter is left behind.
 *
 *      COMPOUND, STAND_IN   the name stands for one of the service's own points, which is broken
 *                           from its beginning
 *      PROMISE              the timeline is closed: this value and all later ones are broken
 *      SUBMIT, ALLOCATE     the promises that the command was to keep break
 *
 * A definition (ALL, ANY, EXPRESSION) makes no point: the compound may be defined otherwise, and
 * has its deadline. */
#include "service/served.h"

enum tide_status tide_refusal_cause(enum tide_status status) {
  return status == TIDE_BUSY || status == TIDE_TIMEOUT ? TIDE_INVALID : status;
}

void tide_refuse_point(struct tide_served *client, const struct tide_wire_point *point,
                       enum tide_status cause) {
  struct tide_entry *entry = tide_entry_find(client, point->name, TIDE_ENTRY_FUTURE);
  if (entry) (void)!tide_future_break(entry->object, point->value, tide_refusal_cause(cause));
}

static void refuse_points(struct tide_served *client, const struct tide_wire_view *view,
                          size_t from, size_t count, enum tide_status cause) {
  for (size_t i = from; i < from + count && i < view->point_count; i++)
    tide_refuse_point(client, &view->points[i], cause);
}

enum tide_status tide_ended_points_create(struct tide_service *service) {
  static const struct tide_client_params params = {.struct_size = sizeof params, .label = "ended"};
  struct tide_point *retired = &service->results[TIDE_OK];
  enum tide_status status = tide_client_create(service->points, &params, &service->self);
  if (status == TIDE_OK) status = tide_compound_promise_open(service->self, retired);
  if (status == TIDE_OK) status = tide_compound_all(service->self, *retired, NULL, 0);
  for (unsigned cause = 1; status == TIDE_OK && cause < TIDE_ENDED_POINTS; cause++)
    status = tide_compound_create_broken(service->self, (enum tide_status)cause,
                                         &service->results[cause]);
  return status;
}

uint32_t tide_timelines_of_clients(const struct tide_service *service) {
  return service->points->slot_count - TIDE_ENDED_POINTS;
}

/* Makes the name that of a broken point. A name that another object has stays that object's. */
static void refuse_compound(struct tide_served *client, struct tide_wire_name name,
                            enum tide_status cause) {
  struct tide_entry *entry;
  if (tide_entry_claim(client, name, &entry) != TIDE_OK) return;
  entry->kind = TIDE_ENTRY_REFUSED;
  entry->generation = name.generation;
  entry->refused = (uint8_t)cause;
  entry->base = client->service->results[cause];
  tide_publish_refused(client->published, name.handle, name.generation, cause);
}

/* Closes the timeline: a status that refuses the next value refuses all later ones. Exceptions are
 * TIDE_VALUE, since the value is another promise's, and TIDE_FULL, since the client promises the
 * value again when there is room. */
static void refuse_promise(struct tide_served *client, const struct tide_wire_command *command,
                           enum tide_status cause) {
  struct tide_entry *entry = tide_entry_find(client, command->object, TIDE_ENTRY_FUTURE);
  if (!entry || cause == TIDE_VALUE || cause == TIDE_FULL) return;
  tide_future_close(entry->object, cause);
}

void tide_refuse(struct tide_served *client, const struct tide_wire_view *view,
                 enum tide_status status) {
  const struct tide_wire_command *command = view->command;
  enum tide_status cause = tide_refusal_cause(status);
  switch (command->op) {
    case TIDE_WIRE_COMPOUND:
    case TIDE_WIRE_STAND_IN: refuse_compound(client, command->object, cause); break;
    case TIDE_WIRE_PROMISE: refuse_promise(client, command, cause); break;
    case TIDE_WIRE_SUBMIT:
      refuse_points(client, view, command->wait_count, command->retire_count, cause);
      break;
    case TIDE_WIRE_ALLOCATE: refuse_points(client, view, 0, command->wait_count, cause); break;
    default: break;
  }
}
