/* Statistics for an admin: the clients, their objects, and a diagnosis of the waits. */
#include "base/alloc.h"
#include "base/text.h"
#include "sched/diagnosis.h"
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

/* ---- for whom clients wait ---- */

#define WAITS_MOST 8 /* lines for one client */

/* Describes a wait for a point, as the client names it. Returns 1; 0: it has ended, or there is no
 * such point. */
static unsigned describe_wait(struct tide_text *text, struct tide_served *client,
                              struct tide_wire_point awaited, const char *how) {
  struct tide_points *points = client->service->points;
  struct tide_point point;
  if (tide_entry_point(client, awaited, &point) != TIDE_OK) return 0;
  struct tide_lock *lock = tide_points_lock(points);
  const struct tide_timeline *timeline = tide_point_find_timeline(points, point);
  bool is_open = timeline && tide_load_acquire(&timeline->reached.value) < point.value;
  if (is_open) {
    tide_text_format(text, "client '%s' %s", client->label, how);
    tide_diagnose_value(text, timeline, point.value);
    tide_text_format(text, "\n");
  }
  tide_lock_give(lock);
  return is_open;
}

/* Describes what threads of the client sleep for, as they say, and what it is to be called for. */
static void describe_waits(struct tide_text *text, struct tide_served *client) {
  struct tide_wire_point awaited;
  unsigned lines = 0;
  for (uint32_t i = 0; i < TIDE_RING_SLEEPERS; i++)
    if (tide_ring_sleeper_at(&client->ring, i, &awaited))
      lines += describe_wait(text, client, awaited, "sleeps until");
  for (uint32_t i = 0; i < client->limits.waits && lines < WAITS_MOST; i++)
    if (client->pendings[i] && client->pendings[i]->awaited.name.handle)
      lines += describe_wait(text, client, client->pendings[i]->awaited, "is to be called at");
}

static size_t describe_all(struct tide_service *service, char *data, size_t size) {
  size_t length = tide_diagnose_most(service->context, data, size, size);
  struct tide_text text;
  if (length >= size) return length;
  tide_text_init(&text, data + length, size - length);
  for (struct tide_link *link = service->clients.next; link != &service->clients;
       link = link->next) {
    struct tide_served *client = TIDE_CONTAINER(link, struct tide_served, link);
    if (client->client) describe_waits(&text, client);
  }
  return length + text.length;
}

void tide_diagnosis_drop(struct tide_service *service) {
  if (service->diagnosis)
    tide_free(service->context->allocator, service->diagnosis, 1, DIAGNOSIS_MOST);
  service->diagnosis = NULL;
}

/* Returns a piece of the diagnosis. The text is made with the first piece; the last one, or another
 * client's first one, or the client's end drops it. */
static enum tide_status copy_diagnosis(struct tide_served *client, uint64_t offset,
                                       struct tide_wire_message *answer) {
  struct tide_service *service = client->service;
  if (offset == 0 || !service->diagnosis || service->diagnosis_for != client->number) {
    tide_diagnosis_drop(service);
    service->diagnosis = tide_alloc(service->context->allocator, 1, DIAGNOSIS_MOST);
    if (!service->diagnosis) return TIDE_NOMEM;
    size_t length = describe_all(service, service->diagnosis, DIAGNOSIS_MOST);
    service->diagnosis_length = length < DIAGNOSIS_MOST ? length : DIAGNOSIS_MOST - 1;
    service->diagnosis_for = client->number;
  }
  size_t length = service->diagnosis_length;
  size_t piece = offset < length ? length - (size_t)offset : 0;
  if (piece > sizeof answer->numbers) piece = sizeof answer->numbers;
  if (piece) memcpy(answer->numbers, service->diagnosis + offset, piece);
  answer->value = piece;
  answer->more = length;
  if (offset + piece >= length) tide_diagnosis_drop(service);
  return TIDE_OK;
}

enum tide_status tide_stats_call(struct tide_served *client, const struct tide_wire_view *view,
                                 struct tide_wire_message *answer) {
  const struct tide_wire_command *command = view->command;
  if (client->uid != geteuid() && !client->rule->admin) return TIDE_DENIED;
  if (command->flags) return TIDE_INVALID;
  if (command->object.handle == TIDE_STATS_DIAGNOSIS)
    return copy_diagnosis(client, command->value, answer);
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
