/* A client from its welcome to its end: outgoing messages, commands, rounds. */
#include "base/alloc.h"
#include "service/served.h"
#include "service/work.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct tide_allocator *allocator_of(const struct tide_served *client) {
  return client->service->context->allocator;
}

/* ---- outgoing ------------------------------------------------------------------------ */

static void listen_for_room(struct tide_served *client, bool flooded) {
  struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | (flooded ? EPOLLOUT : 0),
                              .data.ptr = client};
  if (client->flooded == flooded) return;
  client->flooded = flooded;
  epoll_ctl(client->service->epoll, EPOLL_CTL_MOD, client->socket, &event);
}

static void flush_outgoing(struct tide_served *client) {
  while (client->outgoing_count) {
    struct tide_outgoing *next = &client->outgoing[client->outgoing_first];
    if (next->buffer.handle && next->descriptor < 0) tide_allocate_open(client, next);
    enum tide_status status =
        tide_message_send(client->socket, &next->message, &next->descriptor, next->descriptor >= 0);
    if (status == TIDE_BUSY) break;
    if (next->buffer.handle && status == TIDE_OK) tide_allocate_sent(client, next);
    if (next->descriptor >= 0) {
      close(next->descriptor);
      client->outgoing_descriptors--;
    }
    client->outgoing_first = (client->outgoing_first + 1) % client->outgoing_capacity;
    client->outgoing_count--; /* after TIDE_LOST the hang-up's event follows */
  }
  if (!client->outgoing_count) client->outgoing_first = 0;
  listen_for_room(client, client->outgoing_count > 0);
}

static void send_one(struct tide_served *client, const struct tide_outgoing *one) {
  if (client->outgoing_count == client->outgoing_capacity) {
    client->dropped++;
    if (one->descriptor >= 0) close(one->descriptor);
    return;
  }
  uint32_t at = (client->outgoing_first + client->outgoing_count++) % client->outgoing_capacity;
  client->outgoing[at] = *one;
  client->outgoing_descriptors += one->descriptor >= 0;
  if (client->outgoing_count == 1) flush_outgoing(client);
}

void tide_served_send(struct tide_served *client, const struct tide_wire_message *message,
                      int descriptor) {
  struct tide_outgoing one = {.message = *message, .descriptor = descriptor};
  send_one(client, &one);
}

void tide_served_send_buffer(struct tide_served *client, const struct tide_wire_message *message,
                             struct tide_wire_name buffer, struct tide_wire_point host) {
  struct tide_outgoing one = {
      .message = *message, .descriptor = -1, .buffer = buffer, .host = host};
  send_one(client, &one);
}

/* ---- the bell ---------------------------------------------------------------------------- */

/* Returns the event for epoll: edge-triggered, so no read is needed. */
struct epoll_event tide_served_bell_event(const struct tide_served *client) {
  return (struct epoll_event){.events = EPOLLIN | EPOLLET,
                              .data.u64 = (uint64_t)(uintptr_t)client | TIDE_EVENT_BELL};
}

void tide_served_wake(struct tide_served *client) {
  if (client->is_welcome && !client->is_leaving && tide_list_empty(&client->active))
    tide_list_push_back(&client->service->woken, &client->active);
}

/* ---- the peer's process ------------------------------------------------------------------ */

enum tide_status tide_served_watch(struct tide_served *client) {
  struct tide_peer peer = {.uid = client->uid, .pid = client->pid, .accepted = client->accepted};
  struct epoll_event event = {.events = EPOLLIN,
                              .data.u64 = (uint64_t)(uintptr_t)client | TIDE_EVENT_PROCESS};
  enum tide_status status = tide_peer_watch(&peer, &client->process);
  if (status != TIDE_OK || client->process < 0) return status;
  bool added = epoll_ctl(client->service->epoll, EPOLL_CTL_ADD, client->process, &event) == 0;
  return added ? TIDE_OK : TIDE_NOMEM;
}

/* A child that this process forks holds a copy: closing this descriptor alone would leave it in
 * epoll. */
void tide_served_unwatch(struct tide_served *client) {
  if (client->process < 0) return;
  epoll_ctl(client->service->epoll, EPOLL_CTL_DEL, client->process, NULL);
  close(client->process);
  client->process = -1;
}

/* ---- its commands ------------------------------------------------------------------------ */

static void send_refusal(struct tide_served *client, const struct tide_wire_command *command,
                         enum tide_status status) {
  struct tide_wire_message refusal;
  client->refused++;
  if (!client->user->is_told)
    tide_service_notify(client->service, TIDE_SERVICE_REFUSED, client, status,
                        tide_wire_op_name(command->op));
  /* Answers that are still to come keep their entries. */
  if (client->outgoing_count + client->pending_count + 1 >= client->outgoing_capacity) {
    client->dropped++;
    return;
  }
  tide_wire_begin(&refusal, TIDE_WIRE_REFUSAL);
  refusal.sequence = client->sequence;
  refusal.value = client->refused;
  refusal.op = command->op;
  refusal.status = (uint32_t)status;
  tide_served_send(client, &refusal, -1);
}

static void execute_command(struct tide_served *client, const struct tide_wire_record *record,
                            uint32_t cells) {
  struct tide_wire_view view = {.command = &record->command};
  struct tide_wire_message answer;
  int descriptor = -1;
  bool later = false;
  client->sequence++;
  tide_wire_begin(&answer, TIDE_WIRE_ANSWER);
  enum tide_status status = tide_wire_open(record, cells, &view);
  bool opened = status == TIDE_OK;
  bool given = record->command.op == TIDE_WIRE_REDEEM || record->command.op == TIDE_WIRE_BUFFER;
  if (status == TIDE_OK && given && client->outgoing_descriptors >= TIDE_DESCRIPTORS_UNREAD)
    status = TIDE_FULL; /* until the client has read some */
  if (status == TIDE_OK && tide_drain_refuses(client->service, record->command.op))
    status = TIDE_LOST;
  if (status == TIDE_OK) status = tide_call(client, &view, &answer, &descriptor, &later);
  if (later) return;
  if (status != TIDE_OK) {
    tide_pace_charge(client, &view, status);
    if (opened) tide_refuse(client, &view, status);
  }
  if (!record->command.answer) {
    if (descriptor >= 0) close(descriptor);
    if (status != TIDE_OK) send_refusal(client, &record->command, status);
    return;
  }
  answer.answer = record->command.answer;
  answer.status = (uint32_t)status;
  answer.sequence = client->sequence;
  tide_served_send(client, &answer, descriptor);
}

/* Executes one command. False: the ring is empty (*out_idle), or the client has ended. */
static bool execute_next(struct tide_served *client, bool *out_idle) {
  struct tide_wire_record record;
  uint32_t cells;
  enum tide_status status = tide_ring_read(&client->ring, &record, &cells);
  *out_idle = status == TIDE_TIMEOUT;
  if (status == TIDE_TIMEOUT) return false;
  if (status == TIDE_OK) execute_command(client, &record, cells);
  if (status == TIDE_OK && client->wrong_tokens <= TIDE_WRONG_TOKENS) return true;
  tide_served_end(client, status == TIDE_OK ? TIDE_DENIED : status);
  return false;
}

void tide_served_begin_round(struct tide_service *service) {
  service->seen_wall = tide_service_now();
  service->seen_own = tide_service_own_time();
}

/* Returns the time that the command cost, without the time of other threads on this processor.
 * Reading the thread's own time is a system call, so short commands are not corrected. */
static uint64_t cost_of(struct tide_service *service, uint64_t begin, uint64_t end) {
  uint64_t cost = end - begin;
  if (cost < TIDE_ROUND_LONG) return cost;
  uint64_t own = tide_service_own_time();
  uint64_t wall = end - service->seen_wall, mine = own - service->seen_own;
  uint64_t lost = wall > mine ? wall - mine : 0;
  service->seen_wall = end;
  service->seen_own = own;
  return cost > lost ? cost - lost : 0;
}

/* Returns the time that the client may use in this round. A long command may use more than the
 * client's share: the client then waits until later shares have made up for the excess. Of the
 * shares of idle rounds at most the largest is kept; so a client with few commands is served at
 * once. */
static int64_t credit_of(const struct tide_served *client) {
  const struct tide_service *service = client->service;
  int64_t most = (int64_t)(service->share > TIDE_ROUND_TIME ? service->share : TIDE_ROUND_TIME);
  uint64_t since = service->given - client->given;
  if (since > INT64_MAX / 2) return most;
  int64_t credit = client->credit + (int64_t)since;
  return credit < most ? credit : most;
}

static void execute_share(struct tide_served *client) {
  uint64_t now = tide_service_now();
  bool idle;
  client->credit = credit_of(client);
  client->given = client->service->given;
  client->rounds += client->credit > 0;
  for (unsigned i = 0; i < TIDE_ROUND_COMMANDS && client->credit > 0 && !client->paced_until; i++) {
    uint64_t begin = now;
    client->service->served++;
    if (tide_leave_is_drained(client)) {
      tide_leave_end_in_time(client);
      return;
    }
    if (!execute_next(client, &idle)) {
      if (!idle) return;
      if (client->is_leaving) client->leave_at = client->ring.count;
      if (client->is_leaving || !tide_ring_sleep(&client->ring)) continue;
      tide_list_remove(&client->active);
      return;
    }
    now = tide_service_now();
    uint64_t cost = cost_of(client->service, begin, now);
    client->spent += cost;
    client->credit -= (int64_t)cost;
  }
}

void tide_served_round(struct tide_served *client) {
  uint64_t before = client->ring.count;
  execute_share(client);
  if (!client->is_ended && client->ring.count != before)
    tide_ring_offer_room(&client->ring, client->service->context->platform);
}

/* Reads from a client that has said hello: any further message is an error. */
static enum tide_status hear_more(struct tide_served *client) {
  struct tide_wire_message more;
  enum tide_status status = tide_message_receive(client->socket, &more, NULL, 0);
  if (status == TIDE_BUSY) return TIDE_OK;
  return status == TIDE_LOST ? TIDE_LOST : TIDE_CORRUPT;
}

void tide_served_hear(struct tide_served *client, bool hung_up, bool readable, bool writable) {
  enum tide_status status = TIDE_OK;
  if (readable && client->hello_before && tide_hello_hear(client) && client->is_ended) return;
  if (client->is_leaving) return;
  if (readable && !client->hello_before) status = hear_more(client);
  if (status != TIDE_OK && status != TIDE_LOST) tide_served_end(client, status);
  else if (status == TIDE_OK && !hung_up) {
    if (writable && client->is_welcome) flush_outgoing(client);
  } else if (client->is_welcome) tide_leave_begin(client);
  else tide_served_end(client, TIDE_OK);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void free_tables(struct tide_served *client) {
  const struct tide_allocator *allocator = allocator_of(client);
  for (; client->outgoing_count; client->outgoing_count--) {
    int fd = client->outgoing[client->outgoing_first].descriptor;
    if (fd >= 0) close(fd);
    client->outgoing_first = (client->outgoing_first + 1) % client->outgoing_capacity;
  }
  tide_free(allocator, client->entries, client->limits.handles, sizeof *client->entries);
  tide_free(allocator, client->pendings, client->limits.waits, sizeof *client->pendings);
  tide_free(allocator, client->outgoing, client->outgoing_capacity, sizeof *client->outgoing);
}

static void say_goodbye(struct tide_served *client, enum tide_status cause) {
  struct tide_wire_message goodbye;
  tide_wire_begin(&goodbye, TIDE_WIRE_GOODBYE);
  goodbye.status = (uint32_t)cause;
  (void)!tide_message_send(client->socket, &goodbye, NULL, 0);
}

/* A client without room for a message sees the hang-up. */
void tide_served_hang_up(struct tide_served *client, enum tide_status cause) {
  say_goodbye(client, cause);
  (void)shutdown(client->socket, SHUT_RDWR);
}

/* Removes the connection from the counts of its uid and of the service. */
static void leave_user(struct tide_served *client) {
  struct tide_service *service = client->service;
  struct tide_user *user = client->user;
  if (client->hello_before) service->hello_count--, user->hellos--;
  else if (client->is_leaving) tide_leave_end(client);
  else service->client_count--, user->clients--;
  tide_user_release(service, user);
}

/* Drops what others hold of the client's objects by tokens, and what it holds of theirs. */
static void let_go(struct tide_served *client) {
  for (uint32_t i = 0; client->entries && i < client->limits.handles; i++) {
    struct tide_entry *entry = &client->entries[i];
    tide_grants_drop(entry);
    if (entry->kind == TIDE_ENTRY_FOREIGN) tide_entry_free(client, entry);
  }
}

/* Open promises break before any other object goes; queued commands still run. */
void tide_served_end(struct tide_served *client, enum tide_status cause) {
  struct tide_service *service = client->service;
  tide_service_notify(service, client->is_welcome ? TIDE_SERVICE_GONE : TIDE_SERVICE_TURNED_AWAY,
                      client, cause, NULL);
  if (cause != TIDE_OK) say_goodbye(client, cause);
  tide_list_remove(&client->link);
  tide_list_remove(&client->active);
  leave_user(client);
  let_go(client);
  if (service->diagnosis_for == client->number) tide_diagnosis_drop(service);
  if (client->pendings) tide_pending_forget_all(client);
  tide_client_destroy(client->client, TIDE_OWNER_DIED);
  tide_work_abandon(client);
  if (client->published) tide_mapping_keep(&client->published->mapping);
  tide_published_release(client->published);
  free_tables(client);
  /* The peer holds the bell, too: closing this descriptor alone would leave it in epoll. */
  if (client->bell >= 0) {
    epoll_ctl(service->epoll, EPOLL_CTL_DEL, client->bell, NULL);
    close(client->bell);
  }
  tide_served_unwatch(client);
  close(client->socket);
  if (client->ring.shared) tide_ring_unpark(&client->ring, service->context->platform);
  tide_mapping_close(&client->ring_memory);
  client->is_ended = true;
  tide_list_push_back(&service->ended, &client->link);
}

void tide_served_free_ended(struct tide_service *service) {
  struct tide_link *link;
  while ((link = tide_list_pop_front(&service->ended))) {
    struct tide_served *client = TIDE_CONTAINER(link, struct tide_served, link);
    tide_free(allocator_of(client), client, 1, sizeof *client);
    tide_trim_note(service);
  }
}
