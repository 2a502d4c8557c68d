/* Buffers that a channel's command makes (ALLOCATE).
 *
 * The client names the buffer, and may at once queue commands that use it: these look up its memory
 * when they run. Two points are kept: the command retires `device` when the memory exists. `host`,
 * which belongs to no channel, is fulfilled when the client has been sent the descriptor. A failure
 * breaks both points, frees the name, and returns the buffer's share of the quotas. */
#include "base/alloc.h"
#include "service/work.h"

static struct tide_future *future_of(struct tide_served *client, struct tide_wire_name name) {
  struct tide_entry *entry = tide_entry_find(client, name, TIDE_ENTRY_FUTURE);
  return entry ? entry->object : NULL;
}

/* ---- from the command to its execution ---- */

static enum tide_status check_command(struct tide_served *client,
                                      const struct tide_wire_view *view) {
  const struct tide_wire_command *command = view->command;
  if (command->wait_count < 1 || command->wait_count > 2 ||
      view->point_count != command->wait_count || !command->answer)
    return TIDE_INVALID;
  if (command->wait_count == 1) return TIDE_OK;
  const struct tide_future *host = future_of(client, view->points[1].name);
  if (!host) return TIDE_NOT_FOUND;
  return host->channel ? TIDE_INVALID : TIDE_OK;
}

/* Names the buffer and charges it to the client. */
static enum tide_status name_buffer(struct tide_served *client,
                                    const struct tide_wire_command *command,
                                    struct tide_entry **out_entry) {
  struct tide_entry *entry;
  struct tide_store *store;
  enum tide_status status = tide_entry_claim(client, command->other, &entry);
  if (status == TIDE_OK) status = tide_store_check_quota(client, command->value);
  if (status == TIDE_OK) status = tide_store_begin(client->service, command->value, &store);
  if (status == TIDE_OK) status = tide_store_claim(client, entry, store, true, true);
  if (status != TIDE_OK) return status;
  entry->owner = client->number;
  entry->generation = command->other.generation;
  *out_entry = entry;
  return TIDE_OK;
}

/* Reserves the wait for the answer. */
static enum tide_status reserve_answer(struct tide_served *client,
                                       const struct tide_wire_view *view,
                                       struct tide_point *out_device,
                                       struct tide_pending **out_pending) {
  enum tide_status status = tide_entry_point(client, view->points[0], out_device);
  if (status == TIDE_OK) status = tide_pending_begin(client, view->command->answer, out_pending);
  if (status != TIDE_OK) return status;
  struct tide_pending *pending = *out_pending;
  pending->makes = view->command->other;
  if (view->command->wait_count == 2) pending->host = view->points[1];
  pending->complete.call = tide_pending_complete;
  return TIDE_OK;
}

static enum tide_status queue_allocation(struct tide_served *client, struct tide_line *line,
                                         struct tide_entry *buffer, struct tide_point device,
                                         struct tide_pending *pending) {
  enum tide_status status = tide_line_allocate(line, buffer->object, device);
  if (status == TIDE_OK)
    status = tide_point_when_complete(client->service->points, device, &pending->complete);
  if (status != TIDE_OK) tide_pending_drop(pending);
  return status;
}

enum tide_status tide_allocate(struct tide_served *client, const struct tide_wire_view *view,
                               bool *later) {
  struct tide_entry *channel = tide_entry_find(client, view->command->object, TIDE_ENTRY_CHANNEL);
  struct tide_entry *buffer = NULL;
  struct tide_pending *pending;
  struct tide_point device;
  enum tide_status status = channel ? check_command(client, view) : TIDE_NOT_FOUND;
  if (status == TIDE_OK) status = name_buffer(client, view->command, &buffer);
  if (status == TIDE_OK) status = reserve_answer(client, view, &device, &pending);
  if (status == TIDE_OK)
    status = queue_allocation(client, channel->object, buffer, device, pending);
  else if (channel) tide_line_skip(channel->object, tide_refusal_cause(status));
  *later = status == TIDE_OK;
  if (status == TIDE_OK) return TIDE_OK;
  if (buffer) tide_entry_free(client, buffer);
  return status; /* refuse.c breaks both points */
}

/* ---- from its execution to the client ---- */

void tide_allocate_over(struct tide_served *client, const struct tide_pending *pending,
                        enum tide_status status) {
  struct tide_wire_message answer;
  struct tide_entry *entry = tide_entry_find(client, pending->makes, TIDE_ENTRY_BUFFER);
  tide_wire_begin(&answer, TIDE_WIRE_ANSWER);
  answer.answer = pending->answer;
  if (status == TIDE_OK && !entry) status = TIDE_CANCELLED; /* the name was destroyed before */
  answer.status = (uint32_t)status;
  if (status == TIDE_OK) {
    tide_served_send_buffer(client, &answer, pending->makes, pending->host);
    return;
  }
  if (entry) tide_entry_free(client, entry);
  tide_served_send(client, &answer, -1);
  tide_refuse_point(client, &pending->host, status);
}

void tide_allocate_open(struct tide_served *client, struct tide_outgoing *next) {
  struct tide_entry *entry = tide_entry_find(client, next->buffer, TIDE_ENTRY_BUFFER);
  enum tide_status status = TIDE_CANCELLED;
  if (entry) {
    const struct tide_store *store = entry->object;
    next->descriptor = tide_mapping_another(&store->mapping, true);
    next->message.more = store->mapping.size;
    next->message.trusted = true;
    status = next->descriptor < 0 ? TIDE_FULL : TIDE_OK;
  }
  if (status == TIDE_OK) {
    client->outgoing_descriptors++;
    return;
  }
  if (entry) tide_entry_free(client, entry);
  next->message.status = (uint32_t)status;
  next->buffer.handle = 0;
  tide_refuse_point(client, &next->host, status);
}

void tide_allocate_sent(struct tide_served *client, const struct tide_outgoing *sent) {
  struct tide_future *host = future_of(client, sent->host.name);
  if (host) (void)!tide_future_fulfil(host, sent->host.value, NULL);
}
