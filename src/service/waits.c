/* Answers that come later. The thread that ends a wait puts it on a list; the serving thread sends
 * the answer. */
#include "base/alloc.h"
#include "service/served.h"
#include "service/work.h"

static void free_pending(struct tide_service *service, struct tide_pending *pending) {
  tide_free(service->context->allocator, pending, 1, sizeof *pending);
}

/* Returns the slot of the number. The number itself gives the slot, so no search is needed. */
static struct tide_pending **place_of(struct tide_served *client, uint32_t answer) {
  return &client->pendings[answer % client->limits.waits];
}

enum tide_status tide_pending_begin(struct tide_served *client, uint32_t answer,
                                    struct tide_pending **out_pending) {
  struct tide_pending **place = place_of(client, answer);
  if (*place) return TIDE_BUSY;
  struct tide_pending *pending =
      tide_alloc(client->service->context->allocator, 1, sizeof *pending);
  if (!pending) return TIDE_NOMEM;
  pending->service = client->service;
  pending->client = client;
  pending->answer = answer;
  *place = pending;
  client->pending_count++;
  *out_pending = pending;
  return TIDE_OK;
}

static void detach_pending(struct tide_pending *pending) {
  struct tide_served *client = pending->client;
  if (!client) return;
  *place_of(client, pending->answer) = NULL;
  client->pending_count--;
  pending->client = NULL;
}

void tide_pending_drop(struct tide_pending *pending) {
  struct tide_service *service = pending->client->service;
  detach_pending(pending);
  free_pending(service, pending);
}

static void finish_pending(struct tide_pending *pending, enum tide_status status) {
  struct tide_service *service = pending->service;
  pending->status = (uint32_t)status;
  pending->next = NULL;
  tide_lock_take(&service->finished_lock, service->context->platform);
  *service->last_finished = pending;
  service->last_finished = &pending->next;
  tide_lock_give(&service->finished_lock);
  tide_service_kick(service);
}

void tide_pending_complete(struct tide_timepoint *timepoint, enum tide_status status) {
  finish_pending(TIDE_CONTAINER(timepoint, struct tide_pending, complete), status);
}

void tide_pending_scheduled(struct tide_schedulable *wait, enum tide_status status) {
  finish_pending(TIDE_CONTAINER(wait, struct tide_pending, scheduled), status);
}

/* True if the wait is cancelled. False: its call has run, or will, and puts it on the list. */
static bool cancel_pending(struct tide_pending *pending) {
  return pending->schedulable ? tide_schedulable_cancel(&pending->scheduled)
                              : tide_timepoint_cancel(&pending->complete);
}

bool tide_pending_forget(struct tide_served *client, uint32_t answer) {
  struct tide_pending *pending = *place_of(client, answer);
  if (!pending || pending->answer != answer || !cancel_pending(pending)) return false;
  tide_pending_drop(pending);
  return true;
}

void tide_pending_forget_all(struct tide_served *client) {
  for (uint32_t i = 0; client->pending_count && i < client->limits.waits; i++) {
    struct tide_pending *pending = client->pendings[i];
    if (!pending) continue;
    bool mine = cancel_pending(pending);
    detach_pending(pending);
    if (mine) free_pending(client->service, pending);
  }
}

void tide_pending_deliver(struct tide_service *service) {
  tide_lock_take(&service->finished_lock, service->context->platform);
  struct tide_pending *pending = service->finished;
  service->finished = NULL;
  service->last_finished = &service->finished;
  tide_lock_give(&service->finished_lock);
  while (pending) {
    struct tide_pending *next = pending->next;
    struct tide_served *client = pending->client;
    if (client && pending->makes.handle) {
      detach_pending(pending);
      tide_allocate_over(client, pending, (enum tide_status)pending->status);
    } else if (client) {
      struct tide_wire_message answer;
      tide_wire_begin(&answer, TIDE_WIRE_ANSWER);
      answer.answer = pending->answer;
      answer.status = pending->status;
      detach_pending(pending);
      tide_served_send(client, &answer, -1);
    }
    free_pending(service, pending);
    pending = next;
  }
}
