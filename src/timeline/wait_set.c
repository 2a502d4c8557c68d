/* A persistent set of waits: members stay registered between waits, so the cost of a wait depends
 * on the ready members alone. */
#include "base/body_frame.h"
#include "base/check.h"
#include "base/alloc.h"
#include "timeline/timeline_state.h"

enum member_state { MEMBER_FREE, MEMBER_WAITING, MEMBER_READY };

struct member {
  struct tide_node node; /* `next` also links the free and the ready list */
  struct tide_wait_set *set;
  struct tide_timeline *timeline;
  uint64_t cookie;
  uint32_t generation;
  uint32_t state;
};

/* `lock` guards the lists and the members' states. A timeline's guard may be taken
 * under it, never the other way round: nodes fire when no guard is held. */
struct tide_wait_set {
  struct tide_context *context;
  struct tide_owned owned;
  struct tide_lock lock;
  struct tide_node *free;
  struct tide_fired ready;
  uint32_t word;     /* counts arrivals, and the end; the waiting thread sleeps on it */
  uint32_t sleeping; /* 1 while a thread may sleep */
  bool ended;        /* the context is being destroyed */
  uint32_t capacity;
  struct member *members;
};

static struct member *member_of(struct tide_node *node) {
  return TIDE_CONTAINER(node, struct member, node);
}

static void lock_set(struct tide_wait_set *set) {
  tide_lock_take(&set->lock, set->context->platform);
}

static void end_owned(struct tide_owned *owned) {
  struct tide_wait_set *set = TIDE_CONTAINER(owned, struct tide_wait_set, owned);
  const struct tide_platform *platform = set->context->platform;
  lock_set(set);
  set->ended = true;
  tide_store_release(&set->word, set->word + 1);
  tide_lock_give(&set->lock);
  platform->wake(platform->self, &set->word, UINT32_MAX);
}
static void destroy_owned(struct tide_owned *owned) {
  tide_wait_set_destroy(TIDE_CONTAINER(owned, struct tide_wait_set, owned));
}
static const struct tide_owned_ops owned_ops = {.end = end_owned, .destroy = destroy_owned};

enum tide_status tide_wait_set_create(struct tide_context *context, uint32_t capacity,
                                      struct tide_wait_set **out_set) {
  if (capacity == 0) return TIDE_INVALID;
  struct tide_wait_set *set = tide_alloc(context->allocator, 1, sizeof *set);
  if (!set) return TIDE_NOMEM;
  set->members = tide_alloc(context->allocator, capacity, sizeof *set->members);
  if (!set->members) {
    tide_free(context->allocator, set, 1, sizeof *set);
    return TIDE_NOMEM;
  }
  set->context = context;
  set->capacity = capacity;
  tide_fired_init(&set->ready);
  for (uint32_t i = capacity; i-- > 0;) {
    set->members[i].set = set;
    set->members[i].node.next = set->free;
    set->free = &set->members[i].node;
  }
  tide_context_own(context, TIDE_OWNED_WAIT_SET, &set->owned, &owned_ops);
  *out_set = set;
  return TIDE_OK;
}

static void push_ready(struct member *member, enum tide_status status) {
  struct tide_wait_set *set = member->set;
  const struct tide_platform *platform = set->context->platform;
  lock_set(set);
  member->state = MEMBER_READY;
  member->node.status = (uint16_t)status;
  tide_fired_move(&set->ready, &member->node);
  tide_store_release(&set->word, set->word + 1);
  bool wake = set->sleeping;
  uint32_t *word = &set->word;
  tide_lock_give(&set->lock);
  if (wake) platform->wake(platform->self, word, 1);
}

static void fire_member(struct tide_node *node, enum tide_status status) {
  push_ready(member_of(node), status);
}

enum tide_status tide_wait_set_add(struct tide_wait_set *set, struct tide_timeline *timeline,
                                   uint64_t value, uint64_t cookie, uint64_t *out_member) {
  if (timeline->scope < TIDE_SCOPE_PROCESS) return TIDE_SCOPE;
  lock_set(set);
  if (!set->free) {
    tide_lock_give(&set->lock);
    return TIDE_FULL;
  }
  struct member *member = member_of(set->free);
  set->free = member->node.next;
  tide_timeline_hold(timeline);
  member->state = MEMBER_WAITING;
  member->timeline = timeline;
  member->cookie = cookie;
  member->generation++;
  member->node = (struct tide_node){.value = value, .fire = fire_member};
  if (out_member)
    *out_member = (uint64_t)member->generation << 32 | (uint64_t)(member - set->members);
  enum tide_await state = tide_timeline_await(timeline, value, &member->node);
  tide_lock_give(&set->lock);
  if (state != TIDE_AWAIT_QUEUED)
    push_ready(member,
               state == TIDE_AWAIT_FAILED ? tide_timeline_failed_with(timeline, value) : TIDE_OK);
  return TIDE_OK;
}

static void give_back(struct tide_wait_set *set, struct member *member) {
  member->state = MEMBER_FREE;
  member->node.next = set->free;
  set->free = &member->node;
}

bool tide_wait_set_remove(struct tide_wait_set *set, uint64_t id) {
  uint32_t index = (uint32_t)id;
  if (index >= set->capacity) return false;
  struct member *member = &set->members[index];
  struct tide_timeline *timeline = NULL;
  lock_set(set);
  if (member->state == MEMBER_WAITING && member->generation == (uint32_t)(id >> 32) &&
      tide_timeline_forget(member->timeline, &member->node)) {
    timeline = member->timeline;
    give_back(set, member);
  }
  tide_lock_give(&set->lock);
  if (timeline) tide_timeline_let_go(timeline);
  return timeline != NULL;
}

static size_t take_ready(struct tide_wait_set *set, struct tide_wait_ready *ready, size_t size,
                         struct tide_timeline **release) {
  size_t count = 0;
  while (set->ready.first && count < size) {
    struct member *member = member_of(tide_fired_pop(&set->ready));
    ready[count] = (struct tide_wait_ready){member->cookie, member->node.value,
                                            (enum tide_status)member->node.status};
    release[count++] = member->timeline;
    give_back(set, member);
  }
  return count;
}

#define BATCH 16

/* Takes up to `size` ready members. TIDE_TIMEOUT: none is ready, and the thread may sleep until the
 * word differs from *out_word; TIDE_CANCELLED: nor will one be. */
static enum tide_status take_all_ready(struct tide_wait_set *set, struct tide_wait_ready *ready,
                                       size_t size, size_t *out_count, uint32_t *out_word) {
  struct tide_timeline *release[BATCH];
  size_t count = 0, taken;
  bool ended;
  do {
    size_t most = size - count < BATCH ? size - count : BATCH;
    lock_set(set);
    taken = take_ready(set, ready + count, most, release);
    *out_word = set->word;
    ended = set->ended;
    set->sleeping = count + taken == 0;
    tide_lock_give(&set->lock);
    for (size_t i = 0; i < taken; i++) tide_timeline_let_go(release[i]);
    count += taken;
  } while (taken == BATCH && count < size);
  *out_count = count;
  if (count) return TIDE_OK;
  return ended ? TIDE_CANCELLED : TIDE_TIMEOUT;
}

static enum tide_status await_ready(struct tide_wait_set *set, struct tide_wait_ready *ready,
                                    size_t size, uint64_t deadline, size_t *out_count,
                                    uint32_t word) {
  const struct tide_platform *platform = set->context->platform;
  for (;;) {
    struct tide_body_frame *frame = tide_body_blocks(set->context->blocked, platform, NULL, 0);
    platform->wait(platform->self, &set->word, word, deadline);
    tide_body_unblocks(set->context->blocked, platform, frame);
    if (tide_load_acquire(&set->word) == word && deadline != TIDE_FOREVER &&
        platform->now(platform->self) >= deadline)
      return TIDE_TIMEOUT;
    enum tide_status status = take_all_ready(set, ready, size, out_count, &word);
    if (status != TIDE_TIMEOUT) return status;
  }
}

enum tide_status tide_wait_set_wait(struct tide_wait_set *set, struct tide_wait_ready *ready,
                                    size_t size, uint64_t deadline, size_t *out_count) {
  uint32_t word;
  if (size == 0) return TIDE_INVALID;
  enum tide_status status = take_all_ready(set, ready, size, out_count, &word);
  if (status != TIDE_TIMEOUT || deadline == TIDE_NOW) return status;
  struct tide_context *context = set->context;
  tide_waiting_begin(context);
  status = await_ready(set, ready, size, deadline, out_count, word);
  tide_waiting_end(context);
  return status;
}

void tide_wait_set_destroy(struct tide_wait_set *set) {
  if (!set) return;
  const struct tide_platform *platform = set->context->platform;
  for (uint32_t i = 0; i < set->capacity; i++) {
    struct member *member = &set->members[i];
    lock_set(set);
    uint32_t state = member->state;
    tide_lock_give(&set->lock);
    if (state == MEMBER_FREE) continue;
    if (state == MEMBER_WAITING && !tide_timeline_forget(member->timeline, &member->node)) {
      /* The node was taken off and is about to be pushed: that push is the last access to the
       * set. */
      for (;;) {
        lock_set(set);
        bool arrived = member->state == MEMBER_READY;
        tide_lock_give(&set->lock);
        if (arrived) break;
        platform->yield(platform->self);
      }
    }
    tide_timeline_let_go(member->timeline);
  }
  tide_context_disown(set->context, &set->owned);
  tide_free(set->context->allocator, set->members, set->capacity, sizeof *set->members);
  tide_free(set->context->allocator, set, 1, sizeof *set);
}
