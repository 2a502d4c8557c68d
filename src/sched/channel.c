/* A queue as a channel: its promises, its inserted points, its commands. */
#include "base/alloc.h"
#include "base/text.h"
#include "sched/channel_state.h"

/* ---- making and unmaking ------------------------------------------------------- */

static enum tide_status make_inserted(struct tide_queue *queue, struct tide_client *client) {
  struct tide_queue_channel *channel = queue->channel;
  struct tide_future_params params = {
      .struct_size = sizeof params, .label = queue->label, .capacity = queue->capacity.ops};
  struct tide_future *future;
  if (params.capacity > TIDE_FUTURE_MOST) params.capacity = TIDE_FUTURE_MOST;
  enum tide_status status = tide_future_create_on(client, &channel->channel, &params, &future);
  if (status == TIDE_OK) channel->inserted = tide_slot_point(future->points, future->slot, 0);
  return status;
}

#define CHANGES_MOST 1024

enum tide_status tide_queue_open_channel(struct tide_queue *queue,
                                         const struct tide_queue_params *params) {
  const struct tide_allocator *a = queue->sched->context->allocator;
  struct tide_client *client = params->client;
  if (!client) return params->changes ? TIDE_INVALID : TIDE_OK;
  if (params->changes > CHANGES_MOST || client->points->context != queue->sched->context)
    return TIDE_INVALID;
  struct tide_queue_channel *channel = tide_alloc(a, 1, sizeof *channel);
  if (!channel) return TIDE_NOMEM;
  queue->channel = channel;
  channel->queue = queue;
  channel->change_count = params->changes ? params->changes : 16;
  tide_channel_open(&channel->channel, client->points);
  tide_list_init(&channel->cancelled);
  channel->ops = tide_alloc_unset(a, queue->capacity.ops, sizeof *channel->ops);
  channel->waits = tide_alloc_unset(a, queue->capacity.waits, sizeof *channel->waits);
  channel->changes = tide_alloc(a, channel->change_count, sizeof *channel->changes);
  if (!channel->ops || !channel->waits || !channel->changes) return TIDE_NOMEM;
  return make_inserted(queue, client);
}

void tide_queue_close_channel(struct tide_queue *queue, enum tide_status cause) {
  struct tide_queue_channel *channel = queue->channel;
  struct tide_fired *fired = &queue->sched->fired;
  tide_channel_close(&channel->channel, cause, fired);
  tide_future_give_up(channel->channel.points, channel->inserted, fired);
  tide_changes_end(queue);
  tide_points_look_again(channel->channel.points, fired);
}

void tide_queue_free_channel(struct tide_queue *queue) {
  const struct tide_allocator *a = queue->sched->context->allocator;
  struct tide_queue_channel *channel = queue->channel;
  if (!channel) return;
  tide_cause_release(queue->failure.first);
  tide_free(a, channel->ops, queue->capacity.ops, sizeof *channel->ops);
  tide_free(a, channel->waits, queue->capacity.waits, sizeof *channel->waits);
  tide_free(a, channel->changes, channel->change_count, sizeof *channel->changes);
  tide_free(a, channel, 1, sizeof *channel);
  queue->channel = NULL;
}

/* Returns NULL once the client is gone, possibly before the channel. */
struct tide_client *tide_channel_client(struct tide_queue *queue) {
  return tide_future_client(queue->channel->channel.points, queue->channel->inserted);
}

enum tide_status tide_queue_create_future(struct tide_queue *queue,
                                          const struct tide_future_params *params,
                                          struct tide_future **out_future) {
  if (!queue->channel) return TIDE_INVALID;
  struct tide_client *client = tide_channel_client(queue);
  if (!client)
    return queue->channel->channel.closed ? queue->channel->channel.closed : TIDE_CANCELLED;
  return tide_future_create_on(client, &queue->channel->channel, params, out_future);
}

/* ---- commands --------------------------------------------------------------------- */

enum tide_status tide_queue_is_no_channel(const struct tide_queue *queue, struct tide_diag *diag) {
  return tide_diag_set(diag, TIDE_INVALID, "queue '%s' is no channel: it was made without a client",
                       queue->label);
}

enum tide_status tide_queue_wait_point(struct tide_queue *queue, struct tide_point point,
                                       uint32_t flags, struct tide_diag *diag) {
  struct tide_operation_points points = {.waits = &point, .wait_count = 1};
  struct tide_operation wait = {.label = "wait", .flags = flags, .points = &points};
  return tide_queue_submit(queue, &wait, NULL, diag);
}

enum tide_status tide_queue_retire_point(struct tide_queue *queue, struct tide_point point,
                                         struct tide_diag *diag) {
  struct tide_operation_points points = {.retires = &point, .retire_count = 1};
  struct tide_operation retire = {.label = "retire", .points = &points};
  return tide_queue_submit(queue, &retire, NULL, diag);
}

/* Checks the capacity before it makes the promise: a promise without a queued command would be left
 * behind, broken. */
static enum tide_status insert_locked(struct tide_queue *queue, struct tide_point *out_point,
                                      struct tide_diag *diag) {
  struct tide_queue_channel *channel = queue->channel;
  struct tide_point point;
  struct tide_operation_points points = {.retires = &point, .retire_count = 1};
  struct tide_operation insert = {.label = "insert", .points = &points};
  enum tide_status status = tide_queue_has_capacity(queue, &insert, diag);
  if (status == TIDE_OK)
    status = tide_future_promise_named(channel->channel.points, channel->inserted, &point);
  if (status != TIDE_OK)
    return tide_diag_set(diag, status, "queue '%s' cannot insert a point: %s", queue->label,
                         tide_status_text(status));
  status = tide_op_submit_locked(queue, &insert, NULL, NULL, diag);
  if (status == TIDE_OK) *out_point = point;
  return status;
}

enum tide_status tide_queue_insert_point(struct tide_queue *queue, struct tide_point *out_point,
                                         struct tide_diag *diag) {
  if (!queue->channel) return tide_queue_is_no_channel(queue, diag);
  tide_sched_enter(queue->sched);
  enum tide_status status = insert_locked(queue, out_point, diag);
  tide_sched_leave(queue->sched);
  return status;
}
