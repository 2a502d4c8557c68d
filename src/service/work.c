/* Commands about channels and buffers. */
#include "service/work.h"
#include "base/alloc.h"

/* ---- ends ----------------------------------------------------------------------------- */

void tide_work_free(struct tide_served *client, struct tide_entry *entry,
                    enum tide_entry_kind kind) {
  if (kind == TIDE_ENTRY_BUFFER) {
    struct tide_store *store = entry->object;
    if (!entry->made) tide_store_discharge(client, store);
    else tide_store_close_name(store); /* only its maker could grant it */
    tide_store_drop(store);
  }
  if (kind == TIDE_ENTRY_CHANNEL) {
    tide_line_close(entry->object, tide_service_now() + TIDE_GRACE);
  }
}

void tide_work_abandon(struct tide_served *client) {
  if (!client->entries) return;
  for (uint32_t i = 0; i < client->limits.handles; i++) {
    struct tide_entry *entry = &client->entries[i];
    if (entry->kind == TIDE_ENTRY_CHANNEL || entry->kind == TIDE_ENTRY_BUFFER)
      tide_work_free(client, entry, (enum tide_entry_kind)entry->kind);
  }
  tide_stores_orphan(client);
  tide_lines_orphan(client);
}

/* ---- channels ----------------------------------------------------------------------------- */

enum tide_status tide_work_create_future(struct tide_served *client, struct tide_entry *channel,
                                         const struct tide_future_params *params,
                                         struct tide_future **out_future) {
  (void)client;
  return tide_queue_create_future(((struct tide_line *)channel->object)->queue, params, out_future);
}

static enum tide_status create_channel(struct tide_served *client,
                                       const struct tide_wire_view *view) {
  struct tide_entry *entry;
  enum tide_status status = tide_entry_claim(client, view->command->object, &entry);
  if (status == TIDE_OK) status = tide_line_create(client, entry, view);
  if (status == TIDE_OK) entry->generation = view->command->object.generation;
  return status;
}

static enum tide_status decrease_priority(struct tide_line *line, const struct tide_wire_view *view,
                                          struct tide_point dependency) {
  struct tide_point cancel;
  enum tide_status status = tide_queue_decrease_priority_until(
      line->queue, dependency, view->command->number, &cancel, NULL);
  if (status != TIDE_OK) return status;
  uint32_t at = view->command->value % TIDE_LINE_DECREASES;
  line->decreases[at].number = view->command->value;
  line->decreases[at].cancel = cancel;
  return TIDE_OK;
}

static enum tide_status cancel_decrease(struct tide_line *line, uint64_t number) {
  uint32_t at = number % TIDE_LINE_DECREASES;
  if (!number || line->decreases[at].number != number) return TIDE_NOT_FOUND;
  line->decreases[at].number = 0;
  return tide_queue_cancel_decrease(line->queue, line->decreases[at].cancel);
}

static enum tide_status call_channel(struct tide_served *client,
                                     const struct tide_wire_view *view) {
  const struct tide_wire_command *command = view->command;
  struct tide_entry *entry = tide_entry_find(client, command->object, TIDE_ENTRY_CHANNEL);
  struct tide_point point = {0};
  if (!entry) return TIDE_NOT_FOUND;
  struct tide_line *line = entry->object;
  if (command->op == TIDE_WIRE_SUBMIT) return tide_line_submit(client, line, view);
  if (command->op == TIDE_WIRE_CANCEL_DECREASE) return cancel_decrease(line, command->value);
  if (command->op == TIDE_WIRE_CANCEL_ALL)
    return tide_queue_cancel_priority_decreases(line->queue, NULL);
  if (view->point_count != 1) return TIDE_INVALID;
  enum tide_status status = tide_entry_point(client, view->points[0], &point);
  if (status != TIDE_OK) return status;
  if (command->op == TIDE_WIRE_DECREASE) return decrease_priority(line, view, point);
  uint32_t level = command->number > 15 ? 15 : command->number;
  return tide_queue_increase_priority_until(line->queue, point, (uint8_t)level, NULL);
}

/* ---- buffers ----------------------------------------------------------------------------------
 */

static enum tide_status answer_buffer(const struct tide_store *store, bool writable,
                                      struct tide_wire_message *answer, int *out_descriptor) {
  *out_descriptor = tide_mapping_another(&store->mapping, writable);
  answer->more = store->mapping.size;
  answer->trusted = writable;
  return *out_descriptor < 0 ? TIDE_FULL : TIDE_OK;
}

static enum tide_status create_buffer(struct tide_served *client, const struct tide_wire_view *view,
                                      struct tide_wire_message *answer, int *out_descriptor) {
  struct tide_entry *entry;
  struct tide_store *store;
  uint64_t size = view->command->value;
  enum tide_status status = tide_entry_claim(client, view->command->object, &entry);
  if (status != TIDE_OK) return status;
  status = tide_store_check_quota(client, size);
  if (status == TIDE_OK) status = tide_store_begin(client->service, size, &store);
  if (status != TIDE_OK) return status;
  status = tide_store_make(store);
  if (status == TIDE_OK) status = answer_buffer(store, true, answer, out_descriptor);
  if (status == TIDE_OK) status = tide_store_claim(client, entry, store, true, true);
  if (status != TIDE_OK) {
    tide_store_drop(store);
    return status;
  }
  entry->owner = client->number;
  entry->generation = view->command->object.generation;
  return TIDE_OK;
}

enum tide_status tide_work_redeem(struct tide_served *client, const struct tide_grant *grant,
                                  struct tide_entry *entry, struct tide_wire_message *answer,
                                  int *out_descriptor) {
  struct tide_store *store = grant->entry->object;
  enum tide_status status = tide_store_status(store);
  if (status != TIDE_OK) return status;
  status = tide_store_claim(client, entry, store, grant->writable, false);
  if (status != TIDE_OK) return status;
  tide_fetch_add(&store->references, 1u);
  entry->owner = grant->client->number;
  status = answer_buffer(store, grant->writable, answer, out_descriptor);
  if (status == TIDE_OK) return TIDE_OK;
  tide_work_free(client, entry, TIDE_ENTRY_BUFFER);
  entry->kind = TIDE_ENTRY_FREE;
  return status;
}

enum tide_status tide_work_call(struct tide_served *client, const struct tide_wire_view *view,
                                struct tide_wire_message *answer, int *out_descriptor) {
  switch (view->command->op) {
    case TIDE_WIRE_CHANNEL: return create_channel(client, view);
    case TIDE_WIRE_BUFFER: return create_buffer(client, view, answer, out_descriptor);
    case TIDE_WIRE_STATS: return tide_stats_call(client, view, answer);
    case TIDE_WIRE_SUBMIT:
    case TIDE_WIRE_INCREASE:
    case TIDE_WIRE_DECREASE:
    case TIDE_WIRE_CANCEL_DECREASE:
    case TIDE_WIRE_CANCEL_ALL: return call_channel(client, view);
    default: return TIDE_UNSUPPORTED;
  }
}
