/* A session's channels and buffers. */
#include "base/params.h"
#include "base/alloc.h"
#include "service/session.h"
#include "tidemark/channel.h"

#include <poll.h>

#define PATIENCE 1000000000ull /* ns that another thread may take to read */

/* ---- buffers ------------------------------------------------------------------------- */

enum tide_status tide_session_create_buffer(struct tide_session *session, uint64_t size,
                                            struct tide_point *out_buffer) {
  struct tide_session_name *name;
  struct tide_wire_message answer;
  int descriptor = -1;
  tide_session_lock(session);
  enum tide_status status = tide_session_claim(session, false, &name);
  if (status == TIDE_OK) {
    struct tide_wire_record record = {.command = {.op = TIDE_WIRE_BUFFER,
                                                  .object = tide_session_wire(session, name),
                                                  .value = size}};
    status = tide_session_ask_make(session, &record, name, &answer, &descriptor);
    if (status == TIDE_OK) {
      status = tide_mapping_open(&name->memory, descriptor, size, false);
      if (status == TIDE_OK) name->kind = TIDE_NAME_BUFFER;
      else tide_session_disown(session, name);
    }
  }
  if (status == TIDE_OK) *out_buffer = tide_session_point(session, name, 0);
  tide_session_unlock(session);
  return status;
}

/* Reads the messages in the socket, or parks until the reading thread has read them. */
static void catch_up(struct tide_session *session, struct tide_point buffer) {
  uint64_t until = tide_service_now() + PATIENCE;
  for (;;) {
    struct pollfd one = {.fd = session->socket, .events = POLLIN};
    const struct tide_session_name *name = tide_session_find(session, buffer, TIDE_NAME_BUFFER);
    if (!name || name->memory.memory || session->status) return;
    if (poll(&one, 1, 0) <= 0 || tide_service_now() >= until) return;
    (void)!tide_session_receive(session, until);
  }
}

void *tide_session_buffer_data(struct tide_session *session, struct tide_point buffer,
                               uint64_t *out_size) {
  tide_session_lock(session);
  catch_up(session, buffer);
  const struct tide_session_name *name = tide_session_find(session, buffer, TIDE_NAME_BUFFER);
  void *data = name ? name->memory.memory : NULL;
  if (out_size) *out_size = name ? name->memory.size : 0;
  tide_session_unlock(session);
  return data;
}

/* ---- channels ------------------------------------------------------------------------------ */

enum tide_status tide_session_create_channel(struct tide_session *session,
                                             const struct tide_session_channel_params *params,
                                             struct tide_point *out_channel) {
  struct tide_session_channel_params own;
  struct tide_session_name *name;
  enum tide_status status = tide_params_copy(&own, sizeof own, params);
  if (status != TIDE_OK) return status;
  params = &own;
  tide_session_lock(session);
  status = tide_session_claim(session, false, &name);
  if (status == TIDE_OK) {
    uint32_t operations = params->operations ? params->operations : 64;
    if (!params->operations && operations > session->limits.operations)
      operations = session->limits.operations;
    struct tide_wire_record record = {.command = {.op = TIDE_WIRE_CHANNEL,
                                                  .object = tide_session_wire(session, name),
                                                  .value = operations,
                                                  .number = params->priority}};
    tide_session_add_label(&record, params->label);
    name->shown = name->generation;
    name->capacity = operations;
    status = tide_session_ask_make(session, &record, name, NULL, NULL);
  }
  if (status == TIDE_OK) {
    name->kind = TIDE_NAME_CHANNEL;
    *out_channel = tide_session_point(session, name, 0);
  }
  tide_session_unlock(session);
  return status;
}

static uint64_t over_of(const struct tide_session *session, const struct tide_session_name *name) {
  return tide_shared_value(&session->views->values.shared, (uint32_t)(name - session->names));
}

/* `name`: a channel's, or NULL. */
static enum tide_status check_capacity(const struct tide_session *session,
                                       const struct tide_session_name *name) {
  if (!name) return tide_session_no_name(session);
  return name->newest - over_of(session, name) < name->capacity ? TIDE_OK : TIDE_FULL;
}

uint64_t tide_session_channel_over(struct tide_session *session, struct tide_point channel) {
  tide_session_lock(session);
  const struct tide_session_name *name = tide_session_find(session, channel, TIDE_NAME_CHANNEL);
  uint64_t over = name ? over_of(session, name) : 0;
  tide_session_unlock(session);
  return over;
}

/* Writes the arguments behind the points and arguments that are there already. */
static enum tide_status add_arguments(struct tide_session *session, struct tide_wire_argument *to,
                                      const struct tide_session_argument *from, size_t count) {
  for (size_t i = 0; i < count; i++) {
    to[i] = (struct tide_wire_argument){.offset = from[i].offset, .size = from[i].size};
    if (!from[i].buffer.domain) continue;
    const struct tide_session_name *name =
        tide_session_find(session, from[i].buffer, TIDE_NAME_BUFFER);
    if (!name) return tide_session_no_name(session);
    to[i].buffer = tide_session_wire(session, name);
  }
  return TIDE_OK;
}

static enum tide_status write_points(struct tide_session *session, struct tide_wire_record *record,
                                     const struct tide_session_operation *o, size_t *out_used) {
  enum tide_status status =
      tide_session_add_points(session, record, out_used, o->waits, o->wait_count);
  if (status == TIDE_OK)
    status = tide_session_add_points(session, record, out_used, o->retires, o->retire_count);
  if (status == TIDE_OK && o->cancel)
    status = tide_session_add_points(session, record, out_used, o->cancel, 1);
  if (status == TIDE_OK && o->choose)
    status = tide_session_add_points(session, record, out_used, o->choose, 1);
  return status;
}

static enum tide_status write_command(struct tide_wire_command *command,
                                      const struct tide_session_operation *o) {
  if (o->wait_count > TIDE_POINTS_MAX || o->retire_count > TIDE_POINTS_MAX ||
      o->argument_count > TIDE_WIRE_ARGUMENTS || o->otherwise_count > TIDE_WIRE_ARGUMENTS ||
      o->body >= TIDE_SESSION_BODIES_MAX || o->otherwise >= TIDE_SESSION_BODIES_MAX)
    return TIDE_INVALID;
  command->wait_count = (uint16_t)o->wait_count;
  command->retire_count = (uint16_t)o->retire_count;
  command->argument_count = (uint8_t)o->argument_count;
  command->other_count = (uint8_t)o->otherwise_count;
  command->body = (uint8_t)o->body;
  command->other_body = (uint8_t)o->otherwise;
  if (o->flags & TIDE_MAY_BE_PASSED) command->flags |= TIDE_WIRE_MAY_BE_PASSED;
  if (o->flags & TIDE_DESPITE_BROKEN) command->flags |= TIDE_WIRE_DESPITE_BROKEN;
  if (o->flags & TIDE_RECOVER) command->flags |= TIDE_WIRE_RECOVER;
  if (o->cancel) command->flags |= TIDE_WIRE_HAS_CANCEL;
  if (o->choose) command->flags |= TIDE_WIRE_HAS_CHOOSE;
  return TIDE_OK;
}

static enum tide_status write_names(struct tide_session *session, struct tide_wire_record *record,
                                    const struct tide_session_operation *o) {
  size_t used = 0;
  enum tide_status status = write_points(session, record, o, &used);
  if (status != TIDE_OK) return status;
  struct tide_wire_argument *arguments =
      (struct tide_wire_argument *)(void *)(record->bytes + sizeof record->command +
                                            used * sizeof(struct tide_wire_point));
  status = add_arguments(session, arguments, o->arguments, o->argument_count);
  if (status != TIDE_OK) return status;
  return add_arguments(session, arguments + o->argument_count, o->otherwise_arguments,
                       o->otherwise_count);
}

enum tide_status tide_session_submit(struct tide_session *session, struct tide_point channel,
                                     const struct tide_session_operation *operation) {
  struct tide_wire_record record = {.command = {.op = TIDE_WIRE_SUBMIT}};
  tide_session_lock(session);
  enum tide_status status = write_command(&record.command, operation);
  if (status == TIDE_OK) status = tide_session_await_room(session, &record.command);
  struct tide_session_name *name = tide_session_find(session, channel, TIDE_NAME_CHANNEL);
  if (status == TIDE_OK) status = check_capacity(session, name);
  if (status == TIDE_OK) status = write_names(session, &record, operation);
  if (status == TIDE_OK) {
    record.command.object = tide_session_wire(session, name);
    status = tide_session_push(session, &record);
  }
  if (status == TIDE_OK) name->newest++;
  tide_session_unlock(session);
  return status;
}

enum tide_status tide_session_recover(struct tide_session *session, struct tide_point channel) {
  struct tide_session_operation recovery = {.flags = TIDE_RECOVER};
  return tide_session_submit(session, channel, &recovery);
}

enum tide_status tide_session_upload(struct tide_session *session, struct tide_point channel,
                                     const struct tide_session_argument *from,
                                     const struct tide_session_argument *to,
                                     const struct tide_point *source,
                                     const struct tide_point *device,
                                     const struct tide_point *host) {
  struct tide_session_argument both[2] = {*from, *to};
  struct tide_session_operation copy = {.body = TIDE_SESSION_COPY,
                                        .arguments = both,
                                        .argument_count = 2,
                                        .retires = source,
                                        .retire_count = source != NULL};
  struct tide_session_operation flush = {.body = TIDE_SESSION_FLUSH,
                                         .arguments = to,
                                         .argument_count = 1,
                                         .retires = device,
                                         .retire_count = device != NULL};
  enum tide_status status = tide_session_submit(session, channel, &copy);
  if (status == TIDE_OK) status = tide_session_submit(session, channel, &flush);
  flush.retires = host;
  flush.retire_count = host != NULL;
  if (status == TIDE_OK) status = tide_session_submit(session, channel, &flush);
  return status;
}

/* A timeline's points must each be kept by a command of their own. */
enum tide_status tide_session_flush(struct tide_session *session, struct tide_point channel,
                                    const struct tide_session_argument *ranges, size_t count,
                                    const struct tide_point *device,
                                    const struct tide_point *host) {
  const struct tide_point *first = device ? device : host;
  struct tide_session_operation flush = {.body = TIDE_SESSION_FLUSH,
                                         .arguments = ranges,
                                         .argument_count = count,
                                         .retires = first,
                                         .retire_count = first != NULL};
  enum tide_status status = count ? TIDE_OK : TIDE_INVALID;
  if (status == TIDE_OK) status = tide_session_submit(session, channel, &flush);
  flush.retires = host;
  if (status == TIDE_OK && device && host) status = tide_session_submit(session, channel, &flush);
  return status;
}

static enum tide_status push_allocation(struct tide_session *session,
                                        struct tide_session_name *channel,
                                        struct tide_session_name *buffer, uint64_t size,
                                        const struct tide_point *points, size_t count) {
  struct tide_wire_record record = {.command = {.op = TIDE_WIRE_ALLOCATE,
                                                .object = tide_session_wire(session, channel),
                                                .other = tide_session_wire(session, buffer),
                                                .value = size,
                                                .wait_count = (uint16_t)count}};
  size_t used = 0;
  enum tide_status status = tide_session_add_points(session, &record, &used, points, count);
  /* The name is a buffer's before the answer can come. */
  buffer->kind = TIDE_NAME_BUFFER;
  if (status == TIDE_OK) status = tide_session_ask_buffer(session, &record, buffer, size);
  if (status == TIDE_OK) channel->newest++;
  return status;
}

enum tide_status tide_session_allocate(struct tide_session *session, struct tide_point channel,
                                       uint64_t size, const struct tide_point *device,
                                       const struct tide_point *host,
                                       struct tide_point *out_buffer) {
  struct tide_session_name *name;
  struct tide_point points[2];
  size_t count = 0;
  if (!device || !size) return TIDE_INVALID;
  points[count++] = *device;
  if (host) points[count++] = *host;
  tide_session_lock(session);
  const struct tide_wire_command command = {.op = TIDE_WIRE_ALLOCATE,
                                            .wait_count = (uint16_t)count};
  enum tide_status status = tide_session_await_room(session, &command);
  struct tide_session_name *line = tide_session_find(session, channel, TIDE_NAME_CHANNEL);
  if (status == TIDE_OK) status = check_capacity(session, line);
  if (status == TIDE_OK) status = tide_session_claim(session, false, &name);
  if (status == TIDE_OK) {
    status = push_allocation(session, line, name, size, points, count);
    if (status == TIDE_OK) *out_buffer = tide_session_point(session, name, 0);
    else tide_session_give_up(session, name);
  }
  tide_session_unlock(session);
  return status;
}

/* ---- priorities ---------------------------------------------------------------------------------
 */

static enum tide_status push_priority_change(struct tide_session *session,
                                             struct tide_point channel, enum tide_wire_op op,
                                             const struct tide_point *point, uint32_t amount,
                                             uint64_t *number) {
  struct tide_wire_record record = {.command = {.op = (uint16_t)op, .number = amount}};
  size_t used = 0;
  record.command.wait_count = point != NULL;
  tide_session_lock(session);
  enum tide_status status = tide_session_await_room(session, &record.command);
  struct tide_session_name *name = tide_session_find(session, channel, TIDE_NAME_CHANNEL);
  if (status == TIDE_OK && !name) status = tide_session_no_name(session);
  if (status == TIDE_OK && point)
    status = tide_session_add_points(session, &record, &used, point, 1);
  if (status == TIDE_OK) {
    record.command.object = tide_session_wire(session, name);
    if (op == TIDE_WIRE_DECREASE) *number = ++name->decreases;
    record.command.value = number ? *number : 0;
    status = tide_session_push(session, &record);
  }
  tide_session_unlock(session);
  return status;
}

enum tide_status tide_session_increase_priority_until(struct tide_session *session,
                                                      struct tide_point channel,
                                                      struct tide_point target, uint8_t level) {
  return push_priority_change(session, channel, TIDE_WIRE_INCREASE, &target, level, NULL);
}

enum tide_status tide_session_decrease_priority_until(struct tide_session *session,
                                                      struct tide_point channel,
                                                      struct tide_point dependency, uint32_t amount,
                                                      struct tide_point *out_cancel) {
  uint64_t number = 0;
  enum tide_status status =
      push_priority_change(session, channel, TIDE_WIRE_DECREASE, &dependency, amount, &number);
  if (status == TIDE_OK && out_cancel) {
    *out_cancel = channel;
    out_cancel->value = number;
  }
  return status;
}

enum tide_status tide_session_cancel_decrease(struct tide_session *session,
                                              struct tide_point cancel) {
  return push_priority_change(session, cancel, TIDE_WIRE_CANCEL_DECREASE, NULL, 0, &cancel.value);
}

enum tide_status tide_session_cancel_priority_decreases(struct tide_session *session,
                                                        struct tide_point channel) {
  return push_priority_change(session, channel, TIDE_WIRE_CANCEL_ALL, NULL, 0, NULL);
}
