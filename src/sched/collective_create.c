/* Creates and frees collectives. */
#include "base/alloc.h"
#include "sched/collective_state.h"

/* Sorts by insertion: members are mostly created in axis order, so one pass is enough. */
static void sort_members(struct tide_collective *collective) {
  struct tide_member *sorted = collective->by_axis;
  for (size_t i = 0; i < collective->count; i++) {
    struct tide_member member = {collective->members[i]->position.axis, i};
    size_t at = i;
    for (; at && sorted[at - 1].axis > member.axis; at--) sorted[at] = sorted[at - 1];
    sorted[at] = member;
  }
}

static void free_storage(struct tide_collective *collective, const struct tide_allocator *a) {
  size_t ring = (size_t)collective->mask + 1;
  for (size_t i = 0; collective->ring && i < ring; i++)
    tide_cause_release(collective->ring[i].cause);
  tide_timeline_release(collective->progress);
  tide_free(a, collective->members, collective->count, sizeof *collective->members);
  tide_free(a, collective->memberships, collective->count, sizeof *collective->memberships);
  tide_free(a, collective->by_axis, collective->count, sizeof *collective->by_axis);
  tide_free(a, collective->next, collective->count, sizeof *collective->next);
  tide_free(a, collective->ring, ring, sizeof *collective->ring);
  tide_free(a, collective->parts, ring * collective->count, sizeof *collective->parts);
  tide_free(a, collective->records, ring, collective->record_size);
  tide_free(a, collective, 1, sizeof *collective);
}

struct tide_collective *tide_collective_next_gone(const struct tide_collective *collective) {
  return collective->next_gone;
}

void tide_collective_release_members(struct tide_collective *collective) {
  collective->released = true;
  for (size_t i = 0; i < collective->count; i++) {
    collective->members[i]->members--;
    tide_list_remove(&collective->memberships[i].in_queue);
    tide_sched_look(collective->members[i]);
  }
}

/* Frees the collective. Members keep their queues, and so the scheduler, until they are released.
 * If a member was lost, they were released before: then the thread that destroys the collective
 * must keep the scheduler. */
void tide_collective_free(struct tide_collective *collective) {
  struct tide_sched *sched = collective->sched;
  const struct tide_allocator *a = sched->context->allocator;
  if (!collective->released) {
    tide_sched_enter(sched);
    tide_collective_release_members(collective);
    tide_sched_leave(sched);
  }
  free_storage(collective, a);
}

static enum tide_status make_ring(struct tide_collective *collective) {
  struct tide_context *context = collective->sched->context;
  const struct tide_allocator *a = context->allocator;
  size_t ring = (size_t)collective->mask + 1, count = collective->count;
  collective->record_size = tide_frontier_size(context->frontier_capacity);
  collective->members = tide_alloc(a, count, sizeof *collective->members);
  collective->memberships = tide_alloc(a, count, sizeof *collective->memberships);
  collective->by_axis = tide_alloc(a, count, sizeof *collective->by_axis);
  collective->next = tide_alloc(a, count, sizeof *collective->next);
  collective->ring = tide_alloc(a, ring, sizeof *collective->ring);
  collective->parts = tide_alloc(a, ring * count, sizeof *collective->parts);
  collective->records = tide_alloc(a, ring, collective->record_size);
  if (!collective->members || !collective->memberships || !collective->by_axis ||
      !collective->next || !collective->ring || !collective->parts || !collective->records)
    return TIDE_NOMEM;
  for (size_t i = 0; i < ring; i++) {
    struct tide_instance *instance = &collective->ring[i];
    instance->collective = collective;
    instance->parts = collective->parts + i * count;
    instance->record =
        (struct tide_frontier *)(void *)(collective->records + i * collective->record_size);
    tide_frontier_init(instance->record, context->frontier_capacity);
  }
  for (size_t i = 0; i < count; i++) collective->next[i] = 1;
  return TIDE_OK;
}

/* Returns the ring's size, a power of two: all instances that can be under way fit. A member has at
 * most its queue's capacity of unfinished parts, and the newest instance that it did finish may
 * still run elsewhere. Further slots keep finished records, at least the newest. */
static uint32_t instances_for(struct tide_queue *const *members, size_t count) {
  uint32_t most = 0, ring = 256;
  for (size_t i = 0; i < count; i++)
    if (members[i]->capacity.ops > most) most = members[i]->capacity.ops;
  while (ring < most + 2) ring *= 2;
  return ring;
}

static bool are_distinct(struct tide_queue *const *members, size_t count) {
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < i; j++)
      if (members[i] == members[j] || members[i]->sched != members[j]->sched) return false;
  return true;
}

/* Registers the members. Fails if one of them is lost already. */
static enum tide_status register_members(struct tide_collective *collective,
                                         struct tide_queue *const *members) {
  struct tide_sched *sched = collective->sched;
  enum tide_status status = TIDE_OK;
  tide_sched_enter(sched);
  for (size_t i = 0; i < collective->count && status == TIDE_OK; i++)
    status = members[i]->closing ? TIDE_CANCELLED : members[i]->device->lost;
  for (size_t i = 0; i < collective->count && status == TIDE_OK; i++) {
    collective->members[i] = members[i];
    collective->memberships[i].collective = collective;
    tide_list_push_back(&members[i]->memberships, &collective->memberships[i].in_queue);
    members[i]->members++;
  }
  if (status == TIDE_OK) sort_members(collective);
  if (status == TIDE_OK) tide_list_push_back(&sched->collectives, &collective->in_sched);
  tide_sched_leave(sched);
  return status;
}

enum tide_status tide_collective_create(struct tide_queue *const *members, size_t count,
                                        const char *label,
                                        struct tide_collective **out_collective) {
  if (count == 0 || count > 4096 || !are_distinct(members, count)) return TIDE_INVALID;
  struct tide_sched *sched = members[0]->sched;
  struct tide_context *context = sched->context;
  struct tide_collective *collective = tide_alloc(context->allocator, 1, sizeof *collective);
  if (!collective) return TIDE_NOMEM;
  collective->sched = sched;
  collective->count = count;
  collective->mask = instances_for(members, count) - 1;
  enum tide_status status = make_ring(collective);
  if (status == TIDE_OK) {
    status = tide_timeline_create_progress(context, label, &tide_collective_backing, collective,
                                           &collective->progress);
  }
  if (status == TIDE_OK)
    status = tide_lease_take(context->lease, TIDE_DOMAIN_COLLECTIVE, &collective->position.axis);
  if (status == TIDE_OK)
    status = tide_tracker_register(context->tracker, collective->position.axis);
  if (status == TIDE_OK) {
    collective->tracked = tide_tracker_find(context->tracker, collective->position.axis);
    tide_tracker_set_names(collective->tracked);
    tide_tracker_set_owner(collective->tracked, &sched->collectives, collective);
    status = register_members(collective, members);
    if (status != TIDE_OK) (void)tide_tracker_close(context->tracker, collective->position.axis);
  }
  if (status != TIDE_OK) {
    free_storage(collective, context->allocator);
    return status;
  }
  *out_collective = collective;
  return TIDE_OK;
}
