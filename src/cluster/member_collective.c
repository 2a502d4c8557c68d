/* Collectives between members.
 *
 * A collective is made of operations and timelines like any other. Its members form a tree of radix
 * RADIX. A part is two operations of the member's queue: the first one has the part's
 * waits, and says that it has arrived; the second one runs the body once all have. Both phases
 * are gathered up the tree, and what the root has gathered goes down:
 *
 *        part n        arrives:  own >= n
 *        gather        waits for own and each child's `up`, signals `up`; at the root `down`
 *        forward       waits for the parent's `down`, signals `down`; leaves follow the parent's
 *        part n        waits for `down` of the arrivals, runs, signals `own` of the ends
 *        …             the ends are gathered and forwarded in the same way
 *
 * A leaf gathers its own arrival, so that its kind is told before; of its end `up` is `own`.
 *
 * So everything is queued ahead, and each member sends and gets a few states for an instance,
 * however many members there are. */
#include "base/alloc.h"
#include "base/deferred.h"
#include "base/params.h"
#include "base/text.h"
#include "cluster/cluster_state.h"
#include "sched/sched.h"
#include "timeline/pending_value.h"
#include "timeline/timeline_state.h"

#define RADIX 16u
#define DEPTH 64u
#define DEPTH_MOST 65536u
#define NAME_MOST 40u /* bytes of a collective's name: the names of its timelines are longer */

struct phase {
  struct tide_timeline *own;          /* this member's part of the phase */
  struct tide_timeline *up;           /* the parts of its subtree; at the root the same as `down` */
  struct tide_timeline *above;        /* the parent's `down`; NULL: this is the root */
  struct tide_timeline *down;         /* the parts of all members */
  struct tide_timeline *below[RADIX]; /* the children's `up` */
  struct tide_queue *gathers, *forwards;
};

/* The kind of a part, until it has been compared with those of the children. */
struct own_kind {
  struct tide_tree_node node; /* key: the instance */
  uint64_t kind;
  uint32_t left; /* children whose part is not known yet */
};

struct tide_cluster_collective {
  struct tide_link link; /* cluster->collectives */
  struct tide_cluster *cluster;
  struct tide_queue *queue;
  uint32_t position, count, radix; /* in the tree */
  uint32_t depth;
  uint32_t child_count;
  uint32_t parent; /* rank; unused at the root */
  uint32_t children[RADIX];
  struct tide_lock lock; /* held while an instance is submitted; before the session's */
  uint64_t instance;     /* the newest one */
  struct phase arrival, end;
  struct tide_tree kinds; /* struct own_kind, under the session's lock */
  char name[TIDE_MESSAGE_NAME];
};

/* ---- kinds -------------------------------------------------------------------------------- */

struct part {
  struct tide_tree_node node; /* followed->parts; key: the instance */
  struct tide_link link;      /* home->parts, before it is told */
  uint64_t kind;
  uint32_t parent; /* rank */
};

static struct tide_context *context_of(const struct tide_cluster_collective *collective) {
  return collective->cluster->context;
}

void tide_cluster_tell_parts(struct tide_cluster *cluster, struct tide_home *home,
                             const struct tide_follower *follower) {
  for (struct tide_link *link; (link = home->parts.next) != &home->parts;) {
    struct part *part = TIDE_CONTAINER(link, struct part, link);
    if (part->parent != follower->rank) return; /* another member may follow the name */
    tide_list_remove(link);
    tide_message_part(&cluster->writer, cluster->tag, follower->number, part->node.key, part->kind);
    cluster->members[follower->rank].in_flight++;
    tide_cluster_send(cluster, follower->rank);
    tide_free(cluster->context->allocator, part, 1, sizeof *part);
  }
}

void tide_cluster_free_untold_parts(struct tide_home *home) {
  struct tide_context *context = home->subject.cluster->context;
  for (struct tide_link *link; (link = tide_list_pop_front(&home->parts));)
    tide_free(context->allocator, TIDE_CONTAINER(link, struct part, link), 1, sizeof(struct part));
}

static void free_part(struct tide_followed *followed, struct part *part) {
  tide_tree_remove(&followed->parts, &part->node);
  tide_free(followed->timeline->context->allocator, part, 1, sizeof *part);
}

void tide_cluster_free_parts(struct tide_followed *followed) {
  while (followed->parts.first)
    free_part(followed, TIDE_CONTAINER(followed->parts.first, struct part, node));
}

static void free_kind(struct tide_cluster_collective *collective, struct own_kind *own) {
  tide_tree_remove(&collective->kinds, &own->node);
  tide_free(context_of(collective)->allocator, own, 1, sizeof *own);
}

/* Fails the instance if a child's part is of another kind. */
static void judge(struct tide_cluster_collective *collective, uint32_t child, uint64_t instance,
                  uint64_t kind, uint64_t childs_kind, struct tide_fired *fired) {
  struct tide_timeline *timeline = collective->arrival.up;
  struct tide_failure why = {.status = TIDE_MISMATCH};
  struct tide_text text;
  if (kind == childs_kind) return;
  tide_text_init(&text, why.text, sizeof why.text);
  tide_text_format(&text, "part %lu of collective '%s': kind %lu at machine %u (%s), %lu here",
                   (unsigned long)instance, collective->name, (unsigned long)childs_kind, child,
                   collective->cluster->members[child].name, (unsigned long)kind);
  struct tide_cause *cause = tide_cause_create(context_of(collective), &why);
  struct tide_lock *guard = tide_timeline_lock(timeline);
  tide_timeline_fail_locked(timeline, instance, TIDE_MISMATCH, cause, fired);
  tide_lock_give(guard);
  tide_cause_release(cause);
}

const char *tide_cluster_take_part(struct tide_cluster *cluster, uint32_t from,
                                   struct tide_fired *fired) {
  uint32_t number = cluster->message.number;
  uint64_t instance = cluster->message.instance, kind = cluster->message.kind_of_part;
  struct tide_tree_node *node = tide_tree_at_least(&cluster->mirrors, number);
  if (!number || number > cluster->mirror_count) return "a part of what I do not follow";
  if (!node || node->key != number) return NULL; /* it was on its way when I let it go */
  struct tide_followed *followed = TIDE_CONTAINER(node, struct tide_followed, node);
  struct tide_cluster_collective *collective = followed->collective;
  if (followed->home != from) return "a part of another machine";
  struct tide_tree_node *known = NULL;
  if (collective) known = tide_tree_at_least(&collective->kinds, instance);
  if (known && known->key == instance) {
    struct own_kind *own = TIDE_CONTAINER(known, struct own_kind, node);
    judge(collective, from, instance, own->kind, kind, fired);
    if (--own->left == 0) free_kind(collective, own);
    return NULL;
  }
  struct part *part = tide_alloc(cluster->context->allocator, 1, sizeof *part);
  if (!part) return "there is no memory for its part";
  part->kind = kind;
  if (tide_tree_insert(&followed->parts, &part->node, instance)) return NULL;
  tide_free(cluster->context->allocator, part, 1, sizeof *part);
  return "two parts of one instance";
}

/* Compares the kind with those of the children that have come. With the session's lock held. */
static void compare_kinds(struct tide_cluster_collective *collective, struct own_kind *own,
                          uint64_t instance, struct tide_fired *fired) {
  own->left = 0;
  for (uint32_t i = 0; i < collective->child_count; i++) {
    struct tide_followed *followed =
        tide_cluster_followed(collective->cluster, collective->arrival.below[i]);
    struct tide_tree_node *node = tide_tree_at_least(&followed->parts, instance);
    if (!node || node->key != instance) {
      own->left++;
      continue;
    }
    struct part *part = TIDE_CONTAINER(node, struct part, node);
    judge(collective, collective->children[i], instance, own->kind, part->kind, fired);
    free_part(followed, part);
  }
  if (own->left) (void)tide_tree_insert(&collective->kinds, &own->node, instance);
  else tide_free(context_of(collective)->allocator, own, 1, sizeof *own);
}

/* Tells the parent the kind, and compares it with the children's. Takes both objects. The gather,
 * which has the parent hear of the arrival, is submitted afterwards. */
static void announce_kind(struct tide_cluster_collective *collective, struct own_kind *own,
                          struct part *part) {
  struct tide_cluster *cluster = collective->cluster;
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_cluster_lock(cluster);
  struct tide_home *home = tide_cluster_home(cluster, collective->arrival.up);
  part->node.key = collective->instance;
  part->kind = own->kind;
  part->parent = collective->parent;
  if (collective->position) tide_list_push_back(&home->parts, &part->link);
  else tide_free(cluster->context->allocator, part, 1, sizeof *part);
  compare_kinds(collective, own, collective->instance, &fired);
  tide_cluster_unlock(cluster);
  tide_fired_run_calls(&fired, cluster->context);
}

/* ---- making --------------------------------------------------------------------------------- */

static void name_timeline(const struct tide_cluster_collective *collective, const char *what,
                          char name[TIDE_MESSAGE_NAME]) {
  struct tide_text text;
  tide_text_init(&text, name, TIDE_MESSAGE_NAME);
  tide_text_format(&text, "%s/%s", collective->name, what);
}

/* `what`: the rest of the name under which it is published; NULL: it is not. */
static enum tide_status make_timeline(struct tide_cluster_collective *collective, const char *what,
                                      struct tide_timeline **out_timeline) {
  char name[TIDE_MESSAGE_NAME];
  name_timeline(collective, what ? what : "own", name);
  struct tide_timeline_params params = {.struct_size = sizeof params,
                                        .label = name,
                                        .scope = what ? TIDE_SCOPE_SYSTEM : TIDE_SCOPE_PROCESS,
                                        .operations_only = true};
  enum tide_status status = tide_timeline_create(context_of(collective), &params, out_timeline);
  if (status != TIDE_OK || !what) return status;
  return tide_cluster_publish(collective->cluster, name, *out_timeline);
}

static enum tide_status follow(struct tide_cluster_collective *collective, uint32_t rank,
                               const char *what, struct tide_timeline **out_timeline) {
  char name[TIDE_MESSAGE_NAME];
  name_timeline(collective, what, name);
  return tide_cluster_follow(collective->cluster, rank, name, out_timeline);
}

static enum tide_status make_queue(struct tide_cluster_collective *collective,
                                   struct tide_queue **out_queue) {
  struct tide_queue_params params = {.struct_size = sizeof params,
                                     .label = collective->name,
                                     .operations = collective->depth + 1,
                                     .waits =
                                         (collective->depth + 1) * (collective->child_count + 1)};
  return tide_queue_create(collective->queue->device, &params, out_queue);
}

/* `up` and `down`: the names of the phase. */
static enum tide_status make_phase(struct tide_cluster_collective *collective, struct phase *phase,
                                   const char *up, const char *down) {
  bool is_root = collective->position == 0, is_leaf = collective->child_count == 0;
  bool gathers = !is_leaf || phase == &collective->arrival;
  enum tide_status status = make_timeline(collective, is_root ? down : up, &phase->up);
  if (status == TIDE_OK && gathers) status = make_timeline(collective, NULL, &phase->own);
  if (status == TIDE_OK && gathers) status = make_queue(collective, &phase->gathers);
  if (status == TIDE_OK && !is_root)
    status = follow(collective, collective->parent, down, &phase->above);
  if (status == TIDE_OK && !is_root && !is_leaf)
    status = make_timeline(collective, down, &phase->down);
  if (status == TIDE_OK && !is_root && !is_leaf) status = make_queue(collective, &phase->forwards);
  for (uint32_t i = 0; i < collective->child_count && status == TIDE_OK; i++)
    status = follow(collective, collective->children[i], up, &phase->below[i]);
  return status;
}

/* The timelines that a part signals and waits for. */
static struct tide_timeline *own_of(const struct phase *phase) {
  return phase->own ? phase->own : phase->up;
}
static struct tide_timeline *all_of(const struct phase *phase) {
  if (phase->down) return phase->down;
  return phase->above ? phase->above : phase->up;
}

static void release_phase(struct phase *phase) {
  tide_timeline_release(phase->own);
  tide_timeline_release(phase->up);
  tide_timeline_release(phase->above);
  tide_timeline_release(phase->down);
  for (uint32_t i = 0; i < RADIX; i++) tide_timeline_release(phase->below[i]);
}

static bool is_name(const char *name) {
  size_t length = 0;
  while (name && name[length] && length <= NAME_MOST) length++;
  return length > 0 && length <= NAME_MOST;
}

/* Finds this member's place in the tree. False: a rank is wrong, or twice, or this one is not
 * there. */
static bool find_place(struct tide_cluster_collective *collective, const uint32_t *ranks,
                       uint32_t count) {
  const struct tide_cluster *cluster = collective->cluster;
  collective->count = ranks ? count : cluster->count;
  collective->position = UINT32_MAX;
  for (uint32_t i = 0; i < collective->count; i++) {
    uint32_t rank = ranks ? ranks[i] : i;
    if (rank >= cluster->count) return false;
    for (uint32_t j = 0; j < i && ranks; j++)
      if (ranks[j] == rank) return false;
    if (rank == cluster->rank) collective->position = i;
  }
  if (collective->position == UINT32_MAX) return false;
  uint32_t parent = collective->position ? (collective->position - 1) / collective->radix : 0;
  collective->parent = ranks ? ranks[parent] : parent;
  for (uint32_t i = 0; i < collective->radix; i++) {
    uint32_t child = collective->position * collective->radix + i + 1;
    if (child >= collective->count) break;
    collective->children[collective->child_count++] = ranks ? ranks[child] : child;
  }
  return true;
}

/* From now on the children's parts are compared as they come. */
static void add_collective(struct tide_cluster_collective *collective) {
  struct tide_cluster *cluster = collective->cluster;
  tide_cluster_lock(cluster);
  tide_list_push_back(&cluster->collectives, &collective->link);
  for (uint32_t i = 0; i < collective->child_count; i++)
    if (collective->arrival.below[i])
      tide_cluster_followed(cluster, collective->arrival.below[i])->collective = collective;
  tide_cluster_unlock(cluster);
}

enum tide_status tide_cluster_collective_create(struct tide_cluster *cluster,
                                                const struct tide_cluster_collective_params *params,
                                                struct tide_cluster_collective **out_collective) {
  struct tide_cluster_collective_params own;
  enum tide_status status = tide_params_copy(&own, sizeof own, params);
  if (status != TIDE_OK) return status;
  if (!params || !own.queue || !is_name(own.name)) return TIDE_INVALID;
  if (own.radix > RADIX || own.depth > DEPTH_MOST) return TIDE_INVALID;
  if (own.queue->sched->context != cluster->context) return TIDE_INVALID;
  const struct tide_allocator *allocator = cluster->context->allocator;
  struct tide_cluster_collective *collective = tide_alloc(allocator, 1, sizeof *collective);
  if (!collective) return TIDE_NOMEM;
  struct tide_text text;
  tide_text_init(&text, collective->name, sizeof collective->name);
  tide_text_format(&text, "%s", own.name);
  tide_lock_init(&collective->lock);
  collective->cluster = cluster;
  collective->queue = own.queue;
  collective->depth = own.depth ? own.depth : DEPTH;
  collective->radix = own.radix ? own.radix : RADIX;
  if (!find_place(collective, own.ranks, own.rank_count)) {
    tide_free(allocator, collective, 1, sizeof *collective);
    return TIDE_INVALID;
  }
  status = make_phase(collective, &collective->arrival, "arrived", "all arrived");
  if (status == TIDE_OK) status = make_phase(collective, &collective->end, "ended", "all ended");
  add_collective(collective);
  if (status == TIDE_OK) *out_collective = collective;
  else tide_cluster_collective_destroy(collective);
  return status;
}

static void remove_collective(struct tide_cluster_collective *collective) {
  struct tide_cluster *cluster = collective->cluster;
  tide_list_remove(&collective->link);
  for (uint32_t i = 0; i < collective->child_count; i++) {
    const struct tide_timeline *below = collective->arrival.below[i];
    if (below) tide_cluster_followed(cluster, below)->collective = NULL;
  }
  while (collective->kinds.first)
    free_kind(collective, TIDE_CONTAINER(collective->kinds.first, struct own_kind, node));
}

/* Frees all but the queues. */
static void free_collective(struct tide_cluster_collective *collective) {
  release_phase(&collective->arrival);
  release_phase(&collective->end);
  tide_free(context_of(collective)->allocator, collective, 1, sizeof *collective);
}

void tide_cluster_collective_destroy(struct tide_cluster_collective *collective) {
  if (!collective) return;
  tide_cluster_lock(collective->cluster);
  remove_collective(collective);
  tide_cluster_unlock(collective->cluster);
  tide_queue_destroy(collective->arrival.gathers);
  tide_queue_destroy(collective->arrival.forwards);
  tide_queue_destroy(collective->end.gathers);
  tide_queue_destroy(collective->end.forwards);
  free_collective(collective);
}

void tide_cluster_free_collectives(struct tide_cluster *cluster) {
  while (!tide_list_empty(&cluster->collectives)) {
    struct tide_cluster_collective *collective =
        TIDE_CONTAINER(cluster->collectives.next, struct tide_cluster_collective, link);
    remove_collective(collective);
    free_collective(collective);
  }
}

struct tide_timeline *tide_cluster_collective_progress(struct tide_cluster_collective *collective) {
  return all_of(&collective->end);
}

/* ---- submitting ------------------------------------------------------------------------------ */

/* Submits an operation of the tree. A failure, as of a lost device, fails what it signals. */
static void submit_inner(struct tide_queue *queue, const struct tide_operation *operation) {
  struct tide_diag diag;
  enum tide_status status = tide_queue_submit(queue, operation, NULL, &diag);
  struct tide_failure why = {.status = status};
  uint64_t value = operation->signals->value;
  if (status != TIDE_OK)
    tide_timeline_fail_external(operation->signals->timeline, value, value - 1, &why);
}

static void submit_phase(struct tide_cluster_collective *collective, struct phase *phase) {
  uint64_t instance = collective->instance;
  struct tide_wait waits[RADIX + 1] = {{own_of(phase), instance}};
  for (uint32_t i = 0; i < collective->child_count; i++)
    waits[i + 1] = (struct tide_wait){phase->below[i], instance};
  struct tide_signal up = {.timeline = phase->up, .value = instance};
  struct tide_operation gather = {.label = "gather",
                                  .waits = waits,
                                  .wait_count = collective->child_count + 1,
                                  .signals = &up,
                                  .signal_count = 1};
  if (phase->gathers) submit_inner(phase->gathers, &gather);
  struct tide_wait above = {phase->above, instance};
  struct tide_signal down = {.timeline = phase->down, .value = instance};
  struct tide_operation forward = {
      .label = "forward", .waits = &above, .wait_count = 1, .signals = &down, .signal_count = 1};
  if (phase->forwards) submit_inner(phase->forwards, &forward);
}

static void name_arrival(const char *part, char label[TIDE_LABEL_SIZE]) {
  struct tide_text text;
  tide_text_init(&text, label, TIDE_LABEL_SIZE);
  tide_text_format(&text, "%s arrives", part ? part : "part");
}

/* Submits the two operations of a part. `signals` has room for one more. *out_count: how many were
 * accepted. */
static enum tide_status submit_part(struct tide_cluster_collective *collective,
                                    const struct tide_operation *part, struct tide_signal *signals,
                                    uint64_t instance, size_t *out_count, struct tide_diag *diag) {
  struct tide_wait all = {all_of(&collective->arrival), instance};
  struct tide_signal arrived = {.timeline = own_of(&collective->arrival), .value = instance};
  char label[TIDE_LABEL_SIZE];
  name_arrival(part->label, label);
  struct tide_operation both[2] = {{.label = label,
                                    .waits = part->waits,
                                    .wait_count = part->wait_count,
                                    .signals = &arrived,
                                    .signal_count = 1},
                                   *part};
  for (uint32_t i = 0; i < part->signal_count; i++) signals[i] = part->signals[i];
  signals[part->signal_count] =
      (struct tide_signal){.timeline = own_of(&collective->end), .value = instance};
  both[1].flags &= ~(uint32_t)TIDE_MAY_BE_PASSED;
  both[1].waits = &all;
  both[1].wait_count = 1;
  both[1].signals = signals;
  both[1].signal_count = part->signal_count + 1;
  *out_count = 0;
  return tide_queue_submit_all(collective->queue, both, 2, out_count, diag);
}

/* The first operation of a part is out, and the second one was refused. */
static void fail_instance(struct tide_cluster_collective *collective, enum tide_status status) {
  struct tide_timeline *own[2] = {own_of(&collective->arrival), own_of(&collective->end)};
  struct tide_failure why = {.status = status};
  struct tide_text text;
  uint64_t instance = collective->instance;
  tide_text_init(&text, why.text, sizeof why.text);
  tide_text_format(&text, "part %lu of collective '%s' was refused at machine %u: %s",
                   (unsigned long)instance, collective->name, collective->cluster->rank,
                   tide_status_text(status));
  for (int i = 0; i < 2; i++) tide_timeline_fail_external(own[i], instance, instance - 1, &why);
}

/* A failed instance is over at once; its operations are, soon. */
static enum tide_status check_depth(struct tide_cluster_collective *collective,
                                    struct tide_diag *diag) {
  struct tide_timeline *all = all_of(&collective->end);
  uint64_t next = collective->instance + 1;
  if (next - tide_timeline_query(all) <= collective->depth) return TIDE_OK;
  if (tide_timeline_failure(all, next, NULL)) return TIDE_OK;
  return tide_diag_set(diag, TIDE_FULL, "collective '%s': %u instances are not over",
                       collective->name, collective->depth);
}

struct prepared {
  struct tide_signal *signals;
  struct own_kind *kind;
  struct part *part;
};

static void free_prepared(const struct tide_allocator *allocator, const struct prepared *prepared,
                          size_t signals) {
  if (prepared->signals)
    tide_free(allocator, prepared->signals, signals, sizeof *prepared->signals);
  if (prepared->kind) tide_free(allocator, prepared->kind, 1, sizeof *prepared->kind);
  if (prepared->part) tide_free(allocator, prepared->part, 1, sizeof *prepared->part);
}

static enum tide_status submit_locked(struct tide_cluster_collective *collective,
                                      struct prepared *prepared, const struct tide_operation *part,
                                      struct tide_diag *diag) {
  size_t accepted = 0;
  enum tide_status status = check_depth(collective, diag);
  if (status == TIDE_OK)
    status =
        submit_part(collective, part, prepared->signals, collective->instance + 1, &accepted, diag);
  if (!accepted) return status;
  collective->instance++;
  if (status != TIDE_OK) fail_instance(collective, status);
  /* Parts that fail are not compared, since those of others may never come. */
  if (!tide_timeline_failure(all_of(&collective->end), collective->instance, NULL)) {
    announce_kind(collective, prepared->kind, prepared->part);
    prepared->kind = NULL;
    prepared->part = NULL;
  }
  submit_phase(collective, &collective->arrival);
  submit_phase(collective, &collective->end);
  return status;
}

enum tide_status tide_cluster_collective_submit(struct tide_cluster_collective *collective,
                                                uint64_t kind, const struct tide_operation *part,
                                                uint64_t *out_instance, struct tide_diag *diag) {
  const struct tide_allocator *allocator = context_of(collective)->allocator;
  size_t signals = (size_t)part->signal_count + 1;
  struct prepared prepared = {.signals = tide_alloc(allocator, signals, sizeof *prepared.signals),
                              .kind = tide_alloc(allocator, 1, sizeof *prepared.kind),
                              .part = tide_alloc(allocator, 1, sizeof *prepared.part)};
  enum tide_status status = TIDE_NOMEM;
  if (prepared.signals && prepared.kind && prepared.part) {
    struct tide_deferred *calls = context_of(collective)->deferred;
    prepared.kind->kind = kind;
    tide_lock_take(&collective->lock, context_of(collective)->platform);
    bool holds = tide_deferred_hold(calls); /* a call may submit the next part */
    status = submit_locked(collective, &prepared, part, diag);
    if (status == TIDE_OK && out_instance) *out_instance = collective->instance;
    tide_lock_give(&collective->lock);
    if (holds) tide_deferred_drain(calls);
  }
  free_prepared(allocator, &prepared, signals);
  return status;
}
