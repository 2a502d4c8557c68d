/* A session: its timelines and their followers, and the loss of a member. */
#include "cluster/cluster_state.h"

#include "base/alloc.h"
#include "base/text.h"
#include "timeline/pending_value.h"

static void copy_text(char *to, size_t size, const char *from) {
  struct tide_text text;
  tide_text_init(&text, to, size);
  tide_text_format(&text, "%s", from);
}

static bool is_name(const char *name) {
  size_t length = 0;
  while (name && name[length] && length < TIDE_MESSAGE_NAME) length++;
  return length > 0 && length < TIDE_MESSAGE_NAME;
}

static bool is_same(const char *a, const char *b) { return strcmp(a, b) == 0; }

/* ---- making --------------------------------------------------------------------------- */

static size_t names_size(uint32_t count) { return (size_t)count * TIDE_CLUSTER_NAME; }

enum tide_status tide_cluster_create(const struct tide_cluster_params *params,
                                     struct tide_cluster **out_cluster) {
  struct tide_context *context = params->context;
  if (params->count > TIDE_MEMBERS_MOST || params->rank >= params->count) return TIDE_INVALID;
  if (context->lease->machine != params->rank + 1) return TIDE_INVALID;
  struct tide_cluster *cluster = tide_alloc(context->allocator, 1, sizeof *cluster);
  if (!cluster) return TIDE_NOMEM;
  cluster->names = tide_alloc(context->allocator, 1, names_size(params->count));
  if (!cluster->names) {
    tide_free(context->allocator, cluster, 1, sizeof *cluster);
    return TIDE_NOMEM;
  }
  cluster->context = context;
  cluster->rank = params->rank;
  cluster->count = params->count;
  cluster->tag = params->tag;
  cluster->transport = params->transport;
  for (uint32_t i = 0; i < params->count; i++)
    copy_text(cluster->names[i], TIDE_CLUSTER_NAME, params->names[i]);
  tide_lock_init(&cluster->lock);
  tide_list_init(&cluster->homes);
  tide_list_init(&cluster->mirrors);
  *out_cluster = cluster;
  return TIDE_OK;
}

static struct tide_home *find_home(struct tide_cluster *cluster, const char *name) {
  for (struct tide_link *at = cluster->homes.next; at != &cluster->homes; at = at->next) {
    struct tide_home *home = TIDE_CONTAINER(at, struct tide_home, link);
    if (is_same(home->name, name)) return home;
  }
  return NULL;
}

/* A followed timeline has changed. Without a lock. */
static void home_changed(struct tide_node *node, enum tide_status status) {
  struct tide_home *home = TIDE_CONTAINER(node, struct tide_home, follow.node);
  struct tide_cluster *cluster = home->cluster;
  (void)status;
  tide_timeline_follow_heard(&home->follow);
  tide_store_release(&home->dirty, 1u);
  cluster->transport.wake(cluster->transport.self);
  tide_timeline_follow_done(&home->follow);
}

struct tide_home *tide_cluster_need_home(struct tide_cluster *cluster, const char *name) {
  struct tide_home *home = find_home(cluster, name);
  if (home) return home;
  home = tide_alloc(cluster->context->allocator, 1, sizeof *home);
  if (!home) return NULL;
  home->cluster = cluster;
  home->follow.node.fire = home_changed;
  copy_text(home->name, sizeof home->name, name);
  tide_list_init(&home->followers);
  tide_list_push_back(&cluster->homes, &home->link);
  return home;
}

enum tide_status tide_cluster_home(struct tide_cluster *cluster, const char *name,
                                   struct tide_timeline *timeline) {
  if (!is_name(name)) return TIDE_INVALID;
  if (timeline->ops) return TIDE_DENIED;
  if (timeline->scope < TIDE_SCOPE_PROCESS) return TIDE_SCOPE;
  tide_cluster_lock(cluster);
  struct tide_home *home = tide_cluster_need_home(cluster, name);
  enum tide_status status = home ? TIDE_OK : TIDE_NOMEM;
  if (home && (home->timeline || !tide_timeline_set_follow(timeline, &home->follow)))
    status = TIDE_BUSY;
  if (status == TIDE_OK) {
    tide_timeline_hold(timeline);
    home->timeline = timeline;
    tide_store_release(&home->dirty, 1u);
  }
  tide_cluster_unlock(cluster);
  if (status == TIDE_OK) cluster->transport.wake(cluster->transport.self);
  return status;
}

static struct tide_followed *find_mirror(struct tide_cluster *cluster, uint32_t rank,
                                         const char *name) {
  for (struct tide_link *at = cluster->mirrors.next; at != &cluster->mirrors; at = at->next) {
    struct tide_followed *followed = TIDE_CONTAINER(at, struct tide_followed, link);
    if (followed->home == rank && is_same(followed->name, name)) return followed;
  }
  return NULL;
}

static enum tide_status make_mirror(struct tide_cluster *cluster, uint32_t rank, const char *name,
                                    struct tide_followed **out_followed) {
  struct tide_followed *followed = tide_alloc(cluster->context->allocator, 1, sizeof *followed);
  if (!followed) return TIDE_NOMEM;
  enum tide_status status = tide_mirror_create(cluster->context, name, &followed->timeline);
  if (status != TIDE_OK) {
    tide_free(cluster->context->allocator, followed, 1, sizeof *followed);
    return status;
  }
  followed->home = rank;
  followed->number = ++cluster->mirror_count;
  copy_text(followed->name, sizeof followed->name, name);
  tide_list_push_back(&cluster->mirrors, &followed->link);
  *out_followed = followed;
  return TIDE_OK;
}

enum tide_status tide_cluster_follow(struct tide_cluster *cluster, uint32_t home, const char *name,
                                     struct tide_timeline **out_timeline) {
  enum tide_status status = TIDE_OK;
  if (home >= cluster->count || home == cluster->rank || !is_name(name)) return TIDE_INVALID;
  tide_cluster_lock(cluster);
  struct tide_followed *followed = find_mirror(cluster, home, name);
  if (cluster->is_lost) status = TIDE_LOST;
  else if (!followed) status = make_mirror(cluster, home, name, &followed);
  if (status == TIDE_OK) {
    tide_timeline_retain(followed->timeline);
    *out_timeline = followed->timeline;
  }
  tide_cluster_unlock(cluster);
  if (status == TIDE_OK) cluster->transport.wake(cluster->transport.self); /* asks for the states */
  return status;
}

/* ---- the loss of a member --------------------------------------------------------------- */

static void fail_mirrors(struct tide_cluster *cluster, const struct tide_failure *why,
                         struct tide_fired *fired) {
  for (struct tide_link *at = cluster->mirrors.next; at != &cluster->mirrors; at = at->next)
    tide_mirror_lose(TIDE_CONTAINER(at, struct tide_followed, link)->timeline, why, fired);
}

static void tell_all(struct tide_cluster *cluster, uint32_t rank) {
  struct tide_message_writer *writer = &cluster->writer;
  tide_message_lost(writer, cluster->tag, rank, &cluster->failure);
  for (uint32_t i = 0; i < cluster->count; i++)
    if (i != cluster->rank && i != rank)
      cluster->transport.send(cluster->transport.self, i, writer->bytes, writer->size);
}

void tide_cluster_fail(struct tide_cluster *cluster, uint32_t rank,
                       const struct tide_failure *why) {
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_cluster_lock(cluster);
  if (cluster->is_lost) {
    tide_cluster_unlock(cluster);
    return;
  }
  cluster->is_lost = true;
  cluster->failure = *why;
  fail_mirrors(cluster, why, &fired);
  tell_all(cluster, rank);
  tide_cluster_unlock(cluster);
  tide_tracker_sever(cluster->context->tracker, (uint16_t)(cluster->rank + 1), why->status);
  tide_fired_run_calls(&fired, cluster->context);
}

void tide_cluster_lose(struct tide_cluster *cluster, uint32_t rank, const char *reason) {
  struct tide_failure why = {.status = TIDE_LOST};
  struct tide_text text;
  tide_text_init(&text, why.text, sizeof why.text);
  tide_text_format(&text, "machine %u (%s): %s", rank, cluster->names[rank], reason);
  tide_cluster_fail(cluster, rank, &why);
}

bool tide_cluster_lost(struct tide_cluster *cluster, struct tide_failure *out_failure) {
  tide_cluster_lock(cluster);
  bool is_lost = cluster->is_lost;
  if (is_lost && out_failure) *out_failure = cluster->failure;
  tide_cluster_unlock(cluster);
  return is_lost;
}

/* ---- the end ------------------------------------------------------------------------------ */

static void free_home(struct tide_cluster *cluster, struct tide_home *home) {
  if (home->timeline) {
    tide_timeline_end_follow(home->timeline, &home->follow);
    tide_timeline_let_go(home->timeline);
  }
  tide_cluster_free_followers(cluster, &home->followers);
  tide_free(cluster->context->allocator, home, 1, sizeof *home);
}

void tide_cluster_destroy(struct tide_cluster *cluster) {
  if (!cluster) return;
  const struct tide_allocator *allocator = cluster->context->allocator;
  struct tide_failure why = {.status = TIDE_CANCELLED, .text = "the session was destroyed"};
  tide_cluster_fail(cluster, cluster->rank, &why);
  tide_cluster_end_axes(cluster);
  while (!tide_list_empty(&cluster->homes)) {
    struct tide_home *home = TIDE_CONTAINER(cluster->homes.next, struct tide_home, link);
    tide_list_remove(&home->link);
    free_home(cluster, home);
  }
  while (!tide_list_empty(&cluster->mirrors)) {
    struct tide_followed *followed =
        TIDE_CONTAINER(cluster->mirrors.next, struct tide_followed, link);
    tide_list_remove(&followed->link);
    tide_timeline_release(followed->timeline);
    tide_free(allocator, followed, 1, sizeof *followed);
  }
  tide_free(allocator, cluster->names, 1, names_size(cluster->count));
  tide_free(allocator, cluster, 1, sizeof *cluster);
}
