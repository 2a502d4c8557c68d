/* A session: its members, and its timelines by name. */
#include "cluster/cluster_state.h"

#include "base/alloc.h"
#include "base/text.h"
#include "timeline/timeline_state.h"

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

enum tide_status tide_cluster_create(const struct tide_cluster_setup *setup,
                                     struct tide_cluster **out_cluster) {
  struct tide_context *context = setup->context;
  if (setup->count > TIDE_MEMBERS_MOST || setup->rank >= setup->count) return TIDE_INVALID;
  if (context->lease->machine != setup->rank + 1 || setup->window < 2) return TIDE_INVALID;
  struct tide_cluster *cluster = tide_alloc(context->allocator, 1, sizeof *cluster);
  if (!cluster) return TIDE_NOMEM;
  cluster->members = tide_alloc(context->allocator, setup->count, sizeof *cluster->members);
  if (!cluster->members) {
    tide_free(context->allocator, cluster, 1, sizeof *cluster);
    return TIDE_NOMEM;
  }
  cluster->context = context;
  cluster->rank = setup->rank;
  cluster->count = setup->count;
  cluster->tag = setup->tag;
  cluster->window = setup->window;
  cluster->silence = setup->silence;
  cluster->transport = setup->transport;
  for (uint32_t i = 0; i < setup->count; i++) {
    copy_text(cluster->members[i].name, TIDE_CLUSTER_NAME, setup->names[i]);
    cluster->members[i].last_untold = &cluster->members[i].first_untold;
  }
  tide_lock_init(&cluster->lock);
  tide_list_init(&cluster->subjects);
  tide_list_init(&cluster->collectives);
  tide_cluster_own(cluster);
  *out_cluster = cluster;
  return TIDE_OK;
}

/* ---- what members follow ----------------------------------------------------------------- */

void tide_subject_init(struct tide_subject *subject, struct tide_cluster *cluster, bool is_axis) {
  subject->cluster = cluster;
  subject->is_axis = is_axis;
  tide_list_push_back(&cluster->subjects, &subject->link);
}

bool tide_subject_note(struct tide_subject *subject) {
  struct tide_cluster *cluster = subject->cluster;
  if (tide_exchange(&subject->has_changed, 1u)) return false;
  subject->changed = tide_load_relaxed(&cluster->changed);
  while (!tide_compare_exchange(&cluster->changed, &subject->changed, subject)) continue;
  return true;
}

void tide_subject_change(struct tide_subject *subject) {
  struct tide_cluster *cluster = subject->cluster;
  if (tide_subject_note(subject)) cluster->transport.wake(cluster->transport.self);
}

void tide_cluster_free_followers(struct tide_cluster *cluster, struct tide_subject *subject) {
  for (struct tide_follower *follower; (follower = subject->followers);) {
    subject->followers = follower->next;
    tide_free(cluster->context->allocator, follower, 1, sizeof *follower);
  }
}

/* ---- timelines of this member -------------------------------------------------------------- */

static struct tide_home *find_home(struct tide_cluster *cluster, const char *name) {
  for (struct tide_link *at = cluster->subjects.next; at != &cluster->subjects; at = at->next) {
    struct tide_subject *subject = TIDE_CONTAINER(at, struct tide_subject, link);
    if (!subject->is_axis && is_same(tide_home_of(subject)->name, name))
      return tide_home_of(subject);
  }
  return NULL;
}

/* A published timeline has changed. Without a lock. */
static void home_changed(struct tide_node *node, enum tide_status status) {
  struct tide_home *home = TIDE_CONTAINER(node, struct tide_home, follow.node);
  (void)status;
  tide_timeline_follow_heard(&home->follow);
  if (tide_subject_note(&home->subject)) tide_cluster_tell_soon(home->subject.cluster);
  tide_timeline_follow_done(&home->follow);
}

struct tide_home *tide_cluster_need_home(struct tide_cluster *cluster, const char *name) {
  struct tide_home *home = find_home(cluster, name);
  if (home) return home;
  home = tide_alloc(cluster->context->allocator, 1, sizeof *home);
  if (!home) return NULL;
  tide_subject_init(&home->subject, cluster, false);
  home->follow.node.fire = home_changed;
  tide_list_init(&home->untold);
  tide_list_init(&home->exports);
  tide_list_init(&home->parts);
  copy_text(home->name, sizeof home->name, name);
  return home;
}

struct tide_home *tide_cluster_home(struct tide_cluster *cluster, struct tide_timeline *timeline) {
  struct tide_home *home = NULL;
  struct tide_lock *guard = tide_timeline_lock(timeline);
  if (timeline->is_followed && timeline->follow->node.fire == home_changed)
    home = TIDE_CONTAINER(timeline->follow, struct tide_home, follow);
  tide_lock_give(guard);
  return home && home->subject.cluster == cluster ? home : NULL;
}

/* Returns why a timeline cannot be published; TIDE_OK if it can. */
static enum tide_status refuse_publish(const struct tide_timeline *timeline) {
  if (timeline->ops) return timeline->ops->is_followable ? TIDE_OK : TIDE_DENIED;
  return timeline->scope == TIDE_SCOPE_SYSTEM ? TIDE_OK : TIDE_SCOPE;
}

enum tide_status tide_cluster_publish(struct tide_cluster *cluster, const char *name,
                                      struct tide_timeline *timeline) {
  if (!is_name(name)) return TIDE_INVALID;
  enum tide_status status = refuse_publish(timeline);
  if (status != TIDE_OK) return status;
  tide_cluster_lock(cluster);
  struct tide_home *home = tide_cluster_need_home(cluster, name);
  status = home ? TIDE_OK : TIDE_NOMEM;
  if (home && (home->timeline || !tide_timeline_set_follow(timeline, &home->follow)))
    status = TIDE_BUSY;
  if (status == TIDE_OK) {
    tide_timeline_hold(timeline);
    home->timeline = timeline;
  }
  tide_cluster_unlock(cluster);
  if (status == TIDE_OK) tide_subject_change(&home->subject);
  return status;
}

/* ---- timelines of others ------------------------------------------------------------------- */

static uint64_t key_of(const struct tide_timeline *timeline) {
  return (uint64_t)(uintptr_t)timeline;
}

struct tide_followed *tide_cluster_followed(const struct tide_cluster *cluster,
                                            const struct tide_timeline *timeline) {
  struct tide_tree_node *node = tide_tree_at_least(&cluster->mirrors_by_timeline, key_of(timeline));
  if (!node || node->key != key_of(timeline)) return NULL;
  return TIDE_CONTAINER(node, struct tide_followed, named);
}

void tide_cluster_free_followed(struct tide_cluster *cluster, struct tide_followed *followed) {
  tide_cluster_free_receipts(followed);
  tide_cluster_free_imports(followed);
  tide_cluster_free_parts(followed);
  tide_tree_remove(&cluster->mirrors, &followed->node);
  tide_tree_remove(&cluster->mirrors_by_timeline, &followed->named);
  tide_timeline_release(followed->timeline);
  tide_free(cluster->context->allocator, followed, 1, sizeof *followed);
}

static struct tide_followed *find_mirror(const struct tide_cluster *cluster, uint32_t rank,
                                         const char *name) {
  for (struct tide_tree_node *at = cluster->mirrors.first; at; at = tide_tree_next(at)) {
    struct tide_followed *followed = TIDE_CONTAINER(at, struct tide_followed, node);
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
  tide_list_init(&followed->receipts);
  copy_text(followed->name, sizeof followed->name, name);
  (void)tide_tree_insert(&cluster->mirrors, &followed->node, ++cluster->mirror_count);
  (void)tide_tree_insert(&cluster->mirrors_by_timeline, &followed->named,
                         key_of(followed->timeline));
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
  else if (cluster->phase != TIDE_CLUSTER_OPEN || cluster->members[home].is_gone)
    status = TIDE_CANCELLED;
  else if (!followed) status = make_mirror(cluster, home, name, &followed);
  if (status == TIDE_OK) {
    tide_timeline_retain(followed->timeline);
    *out_timeline = followed->timeline;
  }
  tide_cluster_unlock(cluster);
  if (status == TIDE_OK) cluster->transport.wake(cluster->transport.self); /* asks for the states */
  return status;
}
