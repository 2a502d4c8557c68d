/* Waiting until a point is schedulable.
 *
 * Usually one listener on the point's dependency node is enough. A client that assumes points, or
 * trusts fewer domains than the service, may need another result: then a search looks at the edges
 * below the node, and listeners are placed where it is held up (one in each ALL, all in an ANY).
 * The search is repeated when one of those nodes changes, and not before. */
#include "base/check.h"
#include "point/point_state.h"

_Static_assert(sizeof(struct tide_watch) <= sizeof((struct tide_schedulable *)0)->private_words,
               "a wait must hold its watch");

static struct tide_watch *watch_of(struct tide_schedulable *wait) {
  return (struct tide_watch *)(void *)wait->private_words;
}

static struct tide_schedulable *wait_of(struct tide_watch *watch) {
  return TIDE_CONTAINER(watch, struct tide_schedulable, private_words);
}

static void run_callback(struct tide_deferred_call *deferred) {
  struct tide_watch *watch = TIDE_CONTAINER(deferred, struct tide_watch, call);
  struct tide_schedulable *wait = wait_of(watch);
  wait->call(wait, (enum tide_status)watch->status);
}

/* Runs without a lock. Queues the call among the context's callbacks. */
static void defer_callback(struct tide_node *tree_node, enum tide_status status) {
  struct tide_watch *watch = TIDE_CONTAINER(tree_node, struct tide_watch, tree_node);
  (void)status;
  watch->call.run = run_callback;
  tide_deferred_add(watch->points->context->deferred, &watch->call);
}

/* ---- listeners ------------------------------------------------------------------------ */

static void make_stale(struct tide_watch *watch) {
  struct tide_points *points = watch->points;
  if (watch->is_stale) return;
  watch->is_stale = true;
  watch->next_stale = NULL;
  *points->last_stale = watch;
  points->last_stale = &watch->next_stale;
}

static void hear_root(struct tide_listener *listener, const struct tide_dependency_node *node,
                      struct tide_fired *fired) {
  struct tide_watch *watch = TIDE_CONTAINER(listener, struct tide_watch, root);
  (void)fired;
  if (node->ended) {
    watch->status = node->status;
    watch->node = NULL; /* the node may be freed */
    tide_dependency_unlisten(listener);
  }
  make_stale(watch);
}

static void hear_look(struct tide_listener *listener, const struct tide_dependency_node *node,
                      struct tide_fired *fired) {
  struct tide_cell *cell = TIDE_CONTAINER(listener, struct tide_cell, as.look.listener);
  (void)node;
  (void)fired;
  tide_dependency_unlisten(listener);
  make_stale(cell->as.look.watch);
}

static void drop_looks(struct tide_watch *watch) {
  for (struct tide_cell *cell = watch->looks; cell; cell = cell->next)
    tide_dependency_unlisten(&cell->as.look.listener);
  tide_cells_give(watch->points, watch->looks);
  wait_of(watch)->client->stats.parts -= watch->look_count;
  watch->points->looks -= watch->look_count;
  watch->looks = NULL;
  watch->look_count = 0;
}

static bool add_look(void *self, struct tide_dependency_node *node) {
  struct tide_watch *watch = self;
  struct tide_client *client = wait_of(watch)->client;
  if (!tide_parts_left(watch->points, client)) return false;
  struct tide_cell *cell = tide_cell_take(watch->points);
  cell->as.look.listener.notify = hear_look;
  cell->as.look.watch = watch;
  cell->next = watch->looks;
  watch->looks = cell;
  watch->look_count++;
  watch->points->looks++;
  client->stats.parts++;
  tide_dependency_listen(node, &cell->as.look.listener);
  return true;
}

/* ---- judging --------------------------------------------------------------------------- */

static bool is_assumed(void *self, const struct tide_dependency_node *node) {
  const struct tide_watch *watch = self;
  const struct tide_promise *promise = TIDE_CONTAINER(node, struct tide_promise, unmet.node);
  const struct tide_future *future = promise->future;
  uint64_t value = promise->unmet.pending.node.key;
  for (uint32_t i = 0; i < watch->assumed_count; i++) {
    const struct tide_point *point = &watch->assumed[i];
    if (!future->slot || point->timeline != future->slot ||
        point->generation != watch->points->slots[future->slot].generation)
      continue;
    if (value == point->value) return true;
    if (value < point->value) return true;
  }
  return false;
}

static void finish_watch(struct tide_watch *watch, enum tide_status status,
                         struct tide_fired *fired) {
  drop_looks(watch);
  tide_dependency_unlisten(&watch->root);
  tide_list_remove(&watch->link);
  watch->waiting = false;
  watch->status = (uint32_t)status;
  watch->tree_node.fire = defer_callback;
  tide_fired_push(fired, &watch->tree_node, status);
}

static void judge_watch(struct tide_watch *watch, struct tide_fired *fired) {
  const struct tide_client *client = wait_of(watch)->client;
  struct tide_points *points = watch->points;
  struct tide_dependency_node *node = watch->node;
  if (!node || node->ended) {
    finish_watch(watch, (enum tide_status)(node ? node->status : watch->status), fired);
    return;
  }
  if (node->scheduled && !client->narrow) {
    finish_watch(watch, TIDE_OK, fired);
    return;
  }
  if (!watch->assumed_count && !client->narrow) return; /* the node's own state decides */
  struct tide_look look = {.mark = ++points->searches,
                           .narrow = client->narrow ? client : NULL,
                           .assumed = watch->assumed_count ? is_assumed : NULL,
                           .self = watch};
  if (tide_look_holds(&look, node)) {
    finish_watch(watch, TIDE_OK, fired);
    return;
  }
  if (!tide_look_why_not(&look, node, ++points->searches, add_look, watch))
    finish_watch(watch, TIDE_FULL, fired);
}

void tide_points_judge_stale(struct tide_points *points, struct tide_fired *fired) {
  struct tide_watch *watch;
  while ((watch = points->stale)) {
    points->stale = watch->next_stale;
    if (!points->stale) points->last_stale = &points->stale;
    watch->is_stale = false;
    drop_looks(watch);
    judge_watch(watch, fired);
  }
}

static void forget_stale(struct tide_watch *watch) {
  struct tide_points *points = watch->points;
  struct tide_watch **at = &points->stale;
  if (!watch->is_stale) return;
  while (*at != watch) at = &(*at)->next_stale;
  *at = watch->next_stale;
  if (points->last_stale == &watch->next_stale) points->last_stale = at;
  watch->is_stale = false;
}

void tide_watch_cancel(struct tide_watch *watch, struct tide_fired *fired) {
  forget_stale(watch);
  finish_watch(watch, TIDE_CANCELLED, fired);
}

/* ---- calls ------------------------------------------------------------------------------- */

static enum tide_status check_assumed(const struct tide_client *client,
                                      const struct tide_point *point) {
  const struct tide_future *future = tide_slot_find(client->points, *point, TIDE_SLOT_FUTURE);
  const struct tide_compound *compound = tide_slot_find(client->points, *point, TIDE_SLOT_COMPOUND);
  if (compound) return compound->client == client ? TIDE_INVALID : TIDE_DENIED;
  if (!future) return TIDE_NOT_FOUND;
  if (future->client != client) return TIDE_DENIED;
  return tide_future_knows(future, point->value) ? TIDE_OK : TIDE_NOT_FOUND;
}

static enum tide_status begin_watch(struct tide_watch *watch, struct tide_point point,
                                    struct tide_fired *fired) {
  struct tide_client *client = wait_of(watch)->client;
  struct tide_resolved found;
  enum tide_status status = tide_point_resolve(watch->points, point, &found);
  for (uint32_t i = 0; status == TIDE_OK && i < watch->assumed_count; i++)
    status = check_assumed(client, &watch->assumed[i]);
  if (status != TIDE_OK) return status;
  watch->node = found.node;
  watch->status = (uint32_t)found.status;
  watch->waiting = true;
  watch->root.notify = hear_root;
  tide_list_push_back(&client->watches, &watch->link);
  if (found.node && !found.node->ended) tide_dependency_listen(found.node, &watch->root);
  judge_watch(watch, fired);
  return TIDE_OK;
}

enum tide_status tide_point_when_schedulable(struct tide_schedulable *wait, struct tide_point point,
                                             const struct tide_point *assumed,
                                             size_t assumed_count) {
  if (!wait->call || !wait->client || assumed_count > TIDE_ASSUMED_MAX) return TIDE_INVALID;
  struct tide_watch *watch = watch_of(wait);
  struct tide_points *points = wait->client->points;
  struct tide_fired fired;
  tide_fired_init(&fired);
  *watch = (struct tide_watch){.points = points, .assumed_count = (uint32_t)assumed_count};
  for (size_t i = 0; i < assumed_count; i++) watch->assumed[i] = assumed[i];
  tide_list_init(&watch->link);
  tide_list_init(&watch->root.link);
  tide_points_lock(points);
  tide_points_expire_locked(points, &fired);
  enum tide_status status = begin_watch(watch, point, &fired);
  tide_points_unlock(points, &fired);
  return status;
}

bool tide_schedulable_cancel(struct tide_schedulable *wait) {
  struct tide_watch *watch = watch_of(wait);
  struct tide_points *points = watch->points;
  if (!points) return false; /* never begun */
  struct tide_lock *lock = tide_points_lock(points);
  bool mine = watch->waiting;
  if (mine) {
    forget_stale(watch);
    drop_looks(watch);
    tide_dependency_unlisten(&watch->root);
    tide_list_remove(&watch->link);
    watch->waiting = false;
  }
  tide_lock_give(lock);
  return mine;
}
