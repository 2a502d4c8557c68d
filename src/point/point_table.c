/* The points of a domain: names, parts, the lock, and trust. */
#include "base/params.h"
#include "base/check.h"
#include "base/alloc.h"
#include "point/point_state.h"

#define SECOND 1000000000ull
#define MOST (1u << 20)
#define GRACE 8           /* deadline / GRACE may be added to the default deadline */
#define BEHIND 100000000u /* ns: above the lag of now_about; 15 ms was measured */

void tide_points_unlock_and_look(struct tide_points *points, struct tide_fired *fired) {
  struct tide_context *context = points->context;
  const struct tide_platform *platform = context->platform;
  tide_points_look_again(points, fired);
  bool nudge = points->nudge;
  if (nudge) tide_store_release(&points->word, points->word + 1);
  points->nudge = false;
  tide_lock_give(context->sched_lock);
  if (nudge) platform->wake(platform->self, &points->word, 1);
  tide_fired_run_calls(fired, context);
}

/* ---- names --------------------------------------------------------------------- */

enum tide_status tide_slot_take(struct tide_points *points, struct tide_client *client,
                                enum tide_slot_kind kind, void *object, uint32_t *out_slot) {
  uint32_t slot = points->free_slot;
  if (!slot || client->stats.timelines >= client->timelines_most) return TIDE_FULL;
  points->free_slot = points->slots[slot].next;
  points->slots[slot].next = 0;
  points->slots[slot].kind = kind;
  points->slots[slot].object = object;
  client->stats.timelines++;
  *out_slot = slot;
  return TIDE_OK;
}

/* Frees a slot. A generation is used once, so a slot is retired after its last generation. */
void tide_slot_give(struct tide_points *points, uint32_t slot) {
  struct tide_slot *at = &points->slots[slot];
  at->kind = TIDE_SLOT_FREE;
  at->object = NULL;
  if (at->generation == UINT32_MAX) return;
  at->generation++;
  at->next = points->free_slot;
  points->free_slot = slot;
}

struct tide_point tide_slot_point(const struct tide_points *points, uint32_t slot, uint64_t value) {
  return (struct tide_point){.domain = points->domain,
                             .timeline = slot,
                             .generation = points->slots[slot].generation,
                             .value = value};
}

void *tide_slot_find(const struct tide_points *points, struct tide_point point,
                     enum tide_slot_kind kind) {
  const struct tide_slot *slot = tide_slot_of(points, &point);
  return slot && slot->kind == kind ? slot->object : NULL;
}

/* ---- names that stay for a while ---- */

bool tide_slot_defer(struct tide_points *points, uint32_t slot) {
  if (!points->pinned || !slot) return false;
  if (points->slots[slot].next) return true; /* it is on the list */
  points->slots[slot].next = points->unpinned;
  points->unpinned = slot;
  return true;
}

void tide_points_unpin(struct tide_points *points) {
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_points_lock(points);
  points->pinned = false;
  while (points->unpinned != TIDE_SLOT_NONE) {
    struct tide_slot *slot = &points->slots[points->unpinned];
    points->unpinned = slot->next;
    slot->next = 0;
    if (slot->kind == TIDE_SLOT_FUTURE) tide_future_free_unpinned(slot->object, &fired);
    else tide_compound_free_unpinned(slot->object, &fired);
  }
  tide_points_unlock(points, &fired);
}

/* ---- the observer ---- */

void tide_points_observe(struct tide_points *points, tide_observer observer, void *user) {
  struct tide_lock *lock = tide_points_lock(points);
  points->observer = observer;
  points->observer_user = user;
  tide_lock_give(lock);
}

void tide_points_notify(struct tide_points *points, const struct tide_observed *what,
                        const struct tide_timeline *timeline, struct tide_fired *fired) {
  if (!points->observer || !what->slot) return;
  struct tide_observed full = *what;
  full.generation = points->slots[what->slot].generation;
  full.value = timeline->reached.value;
  full.lowest = timeline->lowest_broken;
  points->observer(points->observer_user, &full, fired);
}

void tide_points_notify_none(struct tide_points *points, const struct tide_future *future,
                             uint64_t from, struct tide_fired *fired) {
  if (!points->observer) return;
  struct tide_observed what = {.slot = future->slot,
                               .generation = tide_future_generation(future),
                               .status = (enum tide_status)future->closed,
                               .none_from = from};
  points->observer(points->observer_user, &what, fired);
}

/* ---- parts ------------------------------------------------------------------------ */

uint32_t tide_parts_left(const struct tide_points *points, const struct tide_client *client) {
  uint32_t left = client->parts_most - client->stats.parts;
  return left < points->free_cells ? left : points->free_cells;
}

struct tide_cell *tide_cell_take(struct tide_points *points) {
  struct tide_cell *cell = points->free_cell;
  if (!cell) return NULL;
  points->free_cell = cell->as.next_free;
  points->free_cells--;
  return cell;
}

void tide_cells_give(struct tide_points *points, struct tide_cell *cells) {
  while (cells) {
    struct tide_cell *cell = cells;
    cells = cell->next;
    cell->as.next_free = points->free_cell;
    points->free_cell = cell;
    points->free_cells++;
  }
}

/* ---- trust ---------------------------------------------------------------------------- */

bool tide_domains_have(const struct tide_domains *domains, uint32_t domain) {
  for (uint32_t i = 0; i < domains->count; i++)
    if (domains->list[i] == domain) return true;
  return false;
}

static enum tide_status add_domain(struct tide_domains *domains, uint32_t domain) {
  if (tide_domains_have(domains, domain)) return TIDE_OK;
  if (domains->count == TIDE_TRUSTED_MAX) return TIDE_FULL;
  domains->list[domains->count++] = domain;
  return TIDE_OK;
}

bool tide_client_trusts(const struct tide_client *client, uint32_t domain) {
  if (client->narrow && !tide_domains_have(&client->trusted, domain)) return false;
  return tide_domains_have(&client->points->trusted, domain);
}

enum tide_status tide_points_trust(struct tide_points *points, uint32_t domain) {
  struct tide_lock *lock = tide_points_lock(points);
  enum tide_status status = add_domain(&points->trusted, domain);
  tide_lock_give(lock);
  return status;
}

enum tide_status tide_client_trust(struct tide_client *client, uint32_t domain) {
  enum tide_status status = TIDE_DENIED;
  struct tide_lock *lock = tide_points_lock(client->points);
  if (tide_domains_have(&client->points->trusted, domain))
    status = add_domain(&client->trusted, domain);
  if (status == TIDE_OK) client->narrow = true;
  tide_lock_give(lock);
  return status;
}

/* ---- making and unmaking --------------------------------------------------------------- */

static void watch_deadlines(void *self) {
  struct tide_points *points = self;
  const struct tide_platform *platform = points->context->platform;
  for (;;) {
    struct tide_fired fired;
    tide_fired_init(&fired);
    tide_points_lock(points);
    bool stop = points->stopping;
    points->asleep_until = 0;
    tide_points_expire_locked(points, &fired);
    uint64_t next = points->asleep_until = tide_counter_least(&points->due);
    uint32_t word = points->word;
    tide_points_unlock(points, &fired);
    if (stop) return;
    platform->wait(platform->self, &points->word, word, next);
  }
}

static enum tide_status start_thread(struct tide_points *points) {
  const struct tide_platform *platform = points->context->platform;
  return platform->spawn(platform->self, "points", watch_deadlines, points, &points->thread);
}

static void free_room(struct tide_points *points) {
  const struct tide_allocator *allocator = points->context->allocator;
  tide_free(allocator, points->slots, (size_t)points->slot_count + 1, sizeof *points->slots);
  tide_free(allocator, points->cells, points->part_count, sizeof *points->cells);
  tide_free(allocator, points->groups, points->part_count, sizeof *points->groups);
  tide_free(allocator, points, 1, sizeof *points);
}

static bool make_room(struct tide_points *points) {
  const struct tide_allocator *allocator = points->context->allocator;
  uint32_t slots = points->slot_count, parts = points->part_count;
  points->slots = tide_alloc(allocator, (size_t)slots + 1, sizeof *points->slots);
  points->cells = tide_alloc(allocator, parts, sizeof *points->cells);
  points->groups = tide_alloc(allocator, parts, sizeof *points->groups);
  if (!points->slots || !points->cells || !points->groups) return false;
  for (uint32_t i = 1; i <= slots; i++) {
    points->slots[i].generation = 1;
    points->slots[i].next = i < slots ? i + 1 : 0;
  }
  points->free_slot = 1;
  for (uint32_t i = parts; i-- > 0;) {
    points->cells[i].as.next_free = points->free_cell;
    points->free_cell = &points->cells[i];
    points->groups[i].next = points->free_group;
    points->free_group = &points->groups[i];
  }
  points->free_cells = points->free_groups = parts;
  return true;
}

/* Detaches all that a client owns: its watches end, its owed promises break. */
static void orphan_all(struct tide_client *client, enum tide_status cause,
                       struct tide_fired *fired) {
  struct tide_link *link;
  while ((link = tide_list_pop_front(&client->watches)))
    tide_watch_cancel(TIDE_CONTAINER(link, struct tide_watch, link), fired);
  while (!tide_list_empty(&client->futures))
    tide_future_orphan(TIDE_CONTAINER(client->futures.next, struct tide_future, link), cause,
                       fired);
  while (!tide_list_empty(&client->compounds))
    tide_compound_orphan(TIDE_CONTAINER(client->compounds.next, struct tide_compound, link), cause,
                         fired);
}

static struct tide_points *points_of(struct tide_owned *owned) {
  return TIDE_CONTAINER(owned, struct tide_points, owned);
}
/* Breaks all promises that are not queued. */
static void end_owned(struct tide_owned *owned) {
  struct tide_points *points = points_of(owned);
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_points_lock(points);
  for (struct tide_link *at = points->clients.next; at != &points->clients; at = at->next)
    orphan_all(TIDE_CONTAINER(at, struct tide_client, link), TIDE_CANCELLED, &fired);
  tide_points_unlock(points, &fired);
}
static void destroy_owned(struct tide_owned *owned) {
  struct tide_points *points = points_of(owned);
  while (!tide_list_empty(&points->clients))
    tide_client_destroy(TIDE_CONTAINER(points->clients.next, struct tide_client, link),
                        TIDE_CANCELLED);
  tide_points_destroy(points);
}
static const struct tide_owned_ops owned_ops = {.end = end_owned, .destroy = destroy_owned};

enum tide_status tide_points_create(struct tide_context *context,
                                    const struct tide_points_params *params,
                                    struct tide_points **out_points) {
  struct tide_points_params own;
  enum tide_status known = tide_params_copy(&own, sizeof own, params);
  if (known != TIDE_OK) return known;
  params = &own;
  uint64_t longest = params->longest ? params->longest : 10 * SECOND;
  uint64_t deadline = params->deadline ? params->deadline : SECOND < longest ? SECOND : longest;
  if (params->timelines > MOST || params->parts > MOST || deadline > longest) return TIDE_INVALID;
  struct tide_points *points = tide_alloc(context->allocator, 1, sizeof *points);
  if (!points) return TIDE_NOMEM;
  points->context = context;
  points->lock = context->sched_lock;
  points->platform = context->platform;
  points->domain = params->domain ? params->domain : 1;
  points->deadline = deadline;
  points->longest = longest;
  /* The grace must exceed the lag of the clock, so that no promise breaks too early. No deadline
   * may exceed the longest one. */
  if (context->platform->now_about && deadline / GRACE >= BEHIND && longest < UINT64_MAX / 4 &&
      deadline <= longest - deadline / GRACE)
    points->grace = deadline / GRACE;
  points->slot_count = params->timelines ? params->timelines : 256;
  points->part_count = params->parts ? params->parts : 1024;
  points->last_stale = &points->stale;
  points->unpinned = TIDE_SLOT_NONE;
  tide_list_init(&points->clients);
  tide_list_init(&points->orphan_compounds);
  enum tide_status status = make_room(points) ? TIDE_OK : TIDE_NOMEM;
  if (status == TIDE_OK && !params->manual) status = start_thread(points);
  if (status != TIDE_OK) {
    free_room(points);
    return status;
  }
  tide_context_own(context, TIDE_OWNED_POINTS, &points->owned, &owned_ops);
  *out_points = points;
  return TIDE_OK;
}

void tide_points_destroy(struct tide_points *points) {
  if (!points) return;
  const struct tide_platform *platform = points->context->platform;
  struct tide_fired none;
  tide_fired_init(&none);
  tide_points_lock(points);
  TIDE_ASSERT(tide_list_empty(&points->clients) && !points->orphans);
  points->stopping = true;
  points->nudge = points->thread != NULL;
  tide_points_unlock(points, &none);
  if (points->thread) platform->join(platform->self, points->thread);
  tide_context_disown(points->context, &points->owned);
  free_room(points);
}

/* ---- clients ------------------------------------------------------------------------------- */

enum tide_status tide_client_create(struct tide_points *points,
                                    const struct tide_client_params *params,
                                    struct tide_client **out_client) {
  struct tide_client_params own;
  enum tide_status known = tide_params_copy(&own, sizeof own, params);
  if (known != TIDE_OK) return known;
  params = &own;
  struct tide_client *client = tide_alloc(points->context->allocator, 1, sizeof *client);
  if (!client) return TIDE_NOMEM;
  tide_label_name(client->label, params->label, "client", tide_context_number(points->context));
  client->points = points;
  client->timelines_most = params->timelines ? params->timelines : UINT32_MAX;
  client->parts_most = params->parts ? params->parts : UINT32_MAX;
  tide_list_init(&client->futures);
  tide_list_init(&client->compounds);
  tide_list_init(&client->watches);
  struct tide_lock *lock = tide_points_lock(points);
  tide_list_push_back(&points->clients, &client->link);
  tide_lock_give(lock);
  *out_client = client;
  return TIDE_OK;
}

void tide_client_destroy(struct tide_client *client, enum tide_status cause) {
  if (!client) return;
  struct tide_points *points = client->points;
  struct tide_fired fired;
  tide_fired_init(&fired);
  if (cause == TIDE_OK) cause = TIDE_OWNER_DIED;
  tide_points_lock(points);
  orphan_all(client, cause, &fired);
  tide_list_remove(&client->link);
  /* Waits of other clients may look at broken points, but none refers to this client any more. */
  tide_points_unlock(points, &fired);
  tide_free(points->context->allocator, client, 1, sizeof *client);
}

void tide_client_stats(struct tide_client *client, struct tide_client_stats *out_stats) {
  struct tide_lock *lock = tide_points_lock(client->points);
  *out_stats = client->stats;
  for (struct tide_link *at = client->futures.next; at != &client->futures; at = at->next)
    tide_future_count(TIDE_CONTAINER(at, struct tide_future, link), out_stats);
  tide_lock_give(lock);
}
