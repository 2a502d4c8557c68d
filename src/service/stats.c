/* Statistics for an admin: the clients, their objects, and a diagnosis of the waits. */
#include "base/alloc.h"
#include "service/work.h"

#include <unistd.h>

#define DIAGNOSIS_MOST (1u << 16)

static struct tide_served *nth_client(struct tide_service *service, uint32_t index) {
  for (struct tide_link *link = service->clients.next; link != &service->clients;
       link = link->next) {
    struct tide_served *client = TIDE_CONTAINER(link, struct tide_served, link);
    if (client->client && index-- == 0) return client;
  }
  return NULL;
}

static struct tide_served *client_of(struct tide_service *service, uint64_t number) {
  for (struct tide_link *link = service->clients.next; link != &service->clients;
       link = link->next) {
    struct tide_served *client = TIDE_CONTAINER(link, struct tide_served, link);
    if (client->client && client->number == number) return client;
  }
  return NULL;
}

static void describe_client(const struct tide_served *client, struct tide_wire_message *answer) {
  struct tide_client_stats points;
  tide_client_stats(client->client, &points);
  uint64_t numbers[] = {
      client->uid,   client->pid,      client->rule->trusted, points.promised,
      points.kept,   points.broken,    points.missed,         client->timelines,
      points.parts,  client->channels, client->grants,        client->pending_count,
      client->bytes, client->sequence, client->refused,       client->spent};
  _Static_assert(sizeof numbers == sizeof answer->numbers, "all of them");
  memcpy(answer->numbers, numbers, sizeof numbers);
  memcpy(answer->label, client->label, sizeof answer->label);
  answer->owner = client->number;
  answer->value = client->rounds;
  answer->more = client->paced;
}

static enum tide_status describe_channel(struct tide_served *client, uint64_t index,
                                         struct tide_wire_message *answer) {
  for (struct tide_link *link = client->lines.next; link != &client->lines; link = link->next) {
    struct tide_line *line = TIDE_CONTAINER(link, struct tide_line, link);
    if (index-- != 0) continue;
    const char *label = tide_queue_label(line->queue);
    size_t length = strlen(label);
    if (length >= sizeof answer->label) length = sizeof answer->label - 1;
    memcpy(answer->label, label, length);
    answer->numbers[0] = tide_queue_priority(line->queue);
    answer->numbers[1] = line->submitted;
    answer->numbers[2] = tide_load_acquire(&line->over);
    answer->numbers[3] = line->capacity;
    answer->numbers[4] = line->priority;
    answer->numbers[5] = (uint64_t)tide_queue_failure(line->queue);
    return TIDE_OK;
  }
  return TIDE_NOT_FOUND;
}

/* Describes the first timeline at or behind this entry of the table; `more`: the entry to continue
 * at. */
static enum tide_status describe_timeline(struct tide_served *client, uint64_t from,
                                          struct tide_wire_message *answer) {
  struct tide_described d;
  for (uint64_t i = from; i < client->limits.handles; i++) {
    const struct tide_entry *entry = &client->entries[i];
    struct tide_point name = entry->base;
    name.value = 1;
    if (entry->kind == TIDE_ENTRY_FUTURE) tide_future_describe(entry->object, &d);
    else if (entry->kind != TIDE_ENTRY_COMPOUND ||
             tide_compound_describe(client->service->points, name, &d) != TIDE_OK)
      continue;
    uint64_t numbers[] = {entry->kind == TIDE_ENTRY_FUTURE ? TIDE_SESSION_FUTURE
                          : d.stand_in                     ? TIDE_SESSION_STAND_IN
                                                           : TIDE_SESSION_COMPOUND,
                          d.value,
                          d.newest,
                          d.owed,
                          d.queued,
                          d.broken,
                          d.oldest_due,
                          d.capacity,
                          d.parts,
                          d.cut};
    _Static_assert(sizeof numbers <= sizeof answer->numbers, "all of them");
    memcpy(answer->numbers, numbers, sizeof numbers);
    memcpy(answer->label, d.label, sizeof answer->label);
    answer->name = (struct tide_wire_name){(uint32_t)i, entry->generation};
    answer->more = i + 1;
    return TIDE_OK;
  }
  return TIDE_NOT_FOUND;
}

/* Returns a piece of the diagnosis. The text is made anew for each piece and may change between
 * two: people read it. */
static enum tide_status copy_diagnosis(struct tide_service *service, uint64_t offset,
                                       struct tide_wire_message *answer) {
  const struct tide_allocator *allocator = service->context->allocator;
  char *text = tide_alloc(allocator, 1, DIAGNOSIS_MOST);
  if (!text) return TIDE_NOMEM;
  size_t length = tide_context_diagnose(service->context, text, DIAGNOSIS_MOST);
  if (length >= DIAGNOSIS_MOST) length = DIAGNOSIS_MOST - 1;
  size_t piece = offset < length ? length - (size_t)offset : 0;
  if (piece > sizeof answer->numbers) piece = sizeof answer->numbers;
  if (piece) memcpy(answer->numbers, text + offset, piece);
  answer->value = piece;
  answer->more = length;
  tide_free(allocator, text, 1, DIAGNOSIS_MOST);
  return TIDE_OK;
}

enum tide_status tide_stats_call(struct tide_served *client, const struct tide_wire_view *view,
                                 struct tide_wire_message *answer) {
  const struct tide_wire_command *command = view->command;
  if (client->uid != geteuid() && !client->rule->admin) return TIDE_DENIED;
  if (command->flags) return TIDE_INVALID;
  if (command->object.handle == TIDE_STATS_DIAGNOSIS)
    return copy_diagnosis(client->service, command->value, answer);
  struct tide_served *about = command->deadline ? client_of(client->service, command->deadline)
                                                : nth_client(client->service, command->number);
  if (!about) return TIDE_NOT_FOUND;
  if (command->object.handle == TIDE_STATS_CHANNEL)
    return describe_channel(about, command->value, answer);
  if (command->object.handle == TIDE_STATS_TIMELINE)
    return describe_timeline(about, command->value, answer);
  if (command->object.handle != TIDE_STATS_CLIENT) return TIDE_INVALID;
  describe_client(about, answer);
  return TIDE_OK;
}
