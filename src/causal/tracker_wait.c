/* Waiting for the tracker: for a whole frontier, or for one epoch.
 *
 * A frontier wait is queued at one axis at a time: at one that has not finished. When that axis has
 * finished, the wait moves to the next axis that has not. So most advances pass a wait by without
 * the lock. If n axes finish in random order, the wait is queued at about log(n) of them. The wait
 * begins at the axis with the most epochs left, and then alternates between both ends of its list:
 * axes that finish in order, either way, cost two moves. A failure, which is rare, searches all
 * waits for those that need its axis.
 *
 * All book-keeping is done under the lock; only decided waits are handed out to be fired. So once
 * cancel has found a wait undecided, no other thread holds a reference into it. */
#include "base/check.h"
#include "causal/context_state.h"
#include "causal/tracker_axis.h"

struct need {
  struct tide_tracker_axis *at; /* another axis may have it by now */
  tide_axis axis;
  uint64_t epoch;
};

/* The layout of a wait's array of struct tide_waiter, one waiter per need. The node is queued at
 * wait->at. `others` are the further needs that may not have finished either: wait->others of them,
 * from index wait->first on. */
struct pending {
  struct tide_node node;
  struct tide_frontier_wait *wait;
  struct need others[];
};
#define ROOM (__builtin_offsetof(struct pending, others) - sizeof(struct need))
_Static_assert(sizeof(struct pending) <= sizeof(struct tide_waiter) &&
                   sizeof(struct need) <= sizeof(struct tide_waiter),
               "a waiter holds the node, each further one a need");
_Static_assert(_Alignof(struct pending) <= _Alignof(struct tide_waiter), "and is aligned for it");
_Static_assert(TIDE_FRONTIER_CAPACITY_MAX <= UINT8_MAX, "others are counted in a byte");

/* Returns the array of as many needs as there are waiters: the last ones are `others`. */
static struct need *room_of(const struct tide_frontier_wait *wait) {
  return (struct need *)(void *)((char *)wait->nodes + ROOM);
}

/* The values of wait->state. NEVER: refused or cancelled, `done` will not run. */
enum { NEVER, PENDING, DECIDED };

static struct pending *pending_of(const struct tide_frontier_wait *wait) {
  return (struct pending *)(void *)wait->nodes;
}

static void fire(struct tide_node *node, enum tide_status status) {
  struct tide_frontier_wait *wait = TIDE_CONTAINER(node, struct pending, node)->wait;
  wait->done(wait, status);
}

static __attribute__((noinline)) void
leave_locked(struct tide_tracker_axis *at, struct tide_counter *heap, struct tide_node *node) {
  tide_counter_remove(heap, node);
  tide_tracker_axis_least_locked(at);
}

static __attribute__((noinline)) void ask_locked(struct tide_tracker_axis *at) {
  struct tide_teller *teller = at->teller;
  at->teller = NULL;
  teller->ask(teller);
}

/* Queues the node, which is no parked thread, in one of the heaps. False: its epoch has
 * finished. */
static inline bool join_locked(struct tide_tracker_axis *at, struct tide_counter *heap,
                               struct tide_node *node, uint64_t epoch) {
  bool announced = tide_load_relaxed(&at->least) <= epoch;
  tide_counter_add_plain(heap, node, epoch);
  if (announced) return true;
  if (__builtin_expect(at->teller != NULL, 0)) ask_locked(at);
  tide_store_release(&at->least, epoch);
  /* An exchange that changes nothing; adding 0 is the only such exchange without a loop on x86. */
  if (tide_fetch_add(&at->waits.value, 0) < epoch) return true;
  leave_locked(at, heap, node);
  return false;
}

/* ---- the list of pending waits ---- */

static void list_locked(struct tide_tracker *tracker, struct tide_frontier_wait *wait) {
  wait->next = NULL;
  wait->link = tracker->last_wait;
  *wait->link = wait;
  tracker->last_wait = &wait->next;
}

static void unlist_locked(struct tide_tracker *tracker, struct tide_frontier_wait *wait) {
  *wait->link = wait->next;
  if (wait->next) wait->next->link = wait->link;
  else tracker->last_wait = wait->link;
}

/* ---- queuing at one axis ---- */

/* Queues the wait at one axis. False: the epoch has finished, or the axis has closed (its state
 * belongs to another axis, or to none). */
static inline bool queue_at_locked(struct tide_frontier_wait *wait, const struct need *need) {
  struct tide_tracker_axis *at = need->at;
  if (tide_load_relaxed(&at->axis) != need->axis) return false;
  if (tide_tracker_axis_finished(at) >= need->epoch) return false;
  wait->at = at;
  return join_locked(at, &at->waits, &pending_of(wait)->node, need->epoch);
}

/* Queues the wait at the next need that has not finished, and drops those that have. wait->front
 * selects the end to start from. False: all have finished. */
static inline bool queue_locked(struct tide_frontier_wait *wait) {
  const struct need *first = pending_of(wait)->others + wait->first;
  size_t count = wait->others, taken = 0;
  bool front = wait->front, queued = false;
  const struct need *need = front ? first + count - 1 : first;
  for (ptrdiff_t step = front ? -1 : 1; taken < count && !queued; taken++, need += step)
    queued = queue_at_locked(wait, need);
  wait->first = (uint8_t)(wait->first + (front ? 0 : taken));
  wait->others = (uint8_t)(count - taken);
  return queued;
}

/* Takes off a pending wait. The wait is queued at wait->at: closing an axis takes off all its
 * waits. */
static void withdraw_locked(struct tide_tracker *tracker, struct tide_frontier_wait *wait,
                            uint8_t state) {
  tide_counter_remove(&wait->at->waits, &pending_of(wait)->node);
  tide_tracker_axis_least_locked(wait->at);
  unlist_locked(tracker, wait);
  wait->state = state;
}

/* Moves a wait, after its node was taken off, to the next axis, or hands it out if there is
 * none. */
static inline void move_on_locked(struct tide_tracker *tracker, struct tide_node *node,
                                  struct tide_fired *out) {
  struct tide_frontier_wait *wait = TIDE_CONTAINER(node, struct pending, node)->wait;
  wait->front = !wait->front;
  if (queue_locked(wait)) return;
  unlist_locked(tracker, wait);
  wait->state = DECIDED;
  tide_fired_move(out, node);
}

static __attribute__((noinline)) void open_several_locked(struct tide_tracker *tracker,
                                                          struct tide_tracker_axis *at,
                                                          uint64_t epoch, struct tide_fired *out) {
  struct tide_fired opened;
  tide_fired_init(&opened);
  tide_counter_pop(&at->waits, epoch, &opened, TIDE_OK);
  for (struct tide_node *node; (node = tide_fired_pop(&opened));)
    move_on_locked(tracker, node, out);
}

void tide_tracker_open_waits_locked(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                                    uint64_t epoch, struct tide_fired *out) {
  struct tide_node *node = tide_counter_pop_only(&at->waits, epoch);
  if (node) move_on_locked(tracker, node, out);
  else if (tide_counter_least(&at->waits) <= epoch) open_several_locked(tracker, at, epoch, out);
}

/* ---- failure ---- */

/* Returns the epoch that the wait needs of the axis, apart from the need it is queued for; 0:
 * none. */
static uint64_t other_epoch(const struct tide_frontier_wait *wait, tide_axis axis) {
  const struct need *need = pending_of(wait)->others + wait->first, *end = need + wait->others;
  while (need < end && need->axis != axis) need++;
  return need < end ? need->epoch : 0;
}

void tide_tracker_fail_waits_locked(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                                    enum tide_status status, struct tide_fired *out) {
  uint64_t finished = tide_tracker_axis_finished(at);
  for (struct tide_frontier_wait *wait = tracker->waits, *next; wait; wait = next) {
    next = wait->next;
    if (wait->at != at && other_epoch(wait, at->axis) <= finished) continue;
    withdraw_locked(tracker, wait, DECIDED);
    wait->status = status;
    tide_fired_push(out, &pending_of(wait)->node, status);
  }
}

/* ---- waiting ---- */

/* Finds an axis that is not in its home slot. False: the axis is unknown. NULL in *out_at: it has
 * closed. */
static __attribute__((noinline)) bool find_slowly(struct tide_tracker *tracker, tide_axis axis,
                                                  struct tide_tracker_axis **out_at) {
  *out_at = tide_tracker_find_locked(tracker, axis);
  return *out_at || tide_tracker_is_over_locked(tracker, axis);
}

/* Notes the needs that have not finished. The need with the most epochs left, if any, goes to
 * *out_furthest. The others fill the array from its end downward, the first noted last. The array
 * is short of one element until the furthest need is removed: that element overlaps the node.
 * TIDE_NOT_FOUND: an axis is unknown. *out_failure: the failure of the first axis that cannot
 * finish. */
static enum tide_status note_locked(struct tide_tracker *tracker,
                                    const struct tide_frontier *frontier,
                                    struct tide_frontier_wait *wait, struct need *out_furthest,
                                    enum tide_status *out_failure) {
  struct tide_axis_table *table = tide_load_relaxed(&tracker->table);
  struct tide_frontier_entry entry;
  struct need *end = room_of(wait) + frontier->count, *need = end, *furthest = NULL;
  uint64_t most = 0;
  uint32_t failure = TIDE_OK, shift = table->shift;
  for (struct tide_frontier_cursor place = tide_frontier_begin(frontier);
       tide_frontier_next(&place, &entry);) {
    tide_axis axis = entry.axis;
    uint64_t epoch = entry.epoch;
    struct tide_tracker_axis *at = tide_load_relaxed(&table->slots[tide_axis_home(shift, axis)]);
    if (__builtin_expect(!at || tide_load_relaxed(&at->axis) != axis, 0)) {
      if (!find_slowly(tracker, axis, &at)) return TIDE_NOT_FOUND;
      if (!at) continue;
    }
    uint64_t finished = tide_tracker_axis_finished(at);
    if (finished >= epoch) continue;
    *--need = (struct need){at, axis, epoch};
    if (!failure) failure = at->failure;
    uint64_t left = epoch - finished;
    if (left >= most) furthest = need, most = left;
  }
  *out_failure = (enum tide_status)failure;
  if (furthest) *out_furthest = *furthest;
  for (; furthest > need; furthest--) *furthest = furthest[-1];
  if (need < end) need++;
  wait->first = (uint8_t)(need - pending_of(wait)->others);
  wait->others = (uint8_t)(end - need);
  return TIDE_OK;
}

/* Queues a wait. False: all needs have finished meanwhile. */
static bool begin_locked(struct tide_tracker *tracker, struct tide_frontier_wait *wait,
                         struct need furthest) {
  struct pending *pending = pending_of(wait);
  pending->node.fire = fire;
  pending->node.kind = TIDE_NODE_PLAIN;
  pending->node.state = TIDE_NODE_IDLE;
  pending->wait = wait;
  if (!queue_at_locked(wait, &furthest) && !queue_locked(wait)) return false;
  list_locked(tracker, wait);
  return true;
}

enum tide_status tide_tracker_wait(struct tide_tracker *tracker,
                                   const struct tide_frontier *frontier,
                                   struct tide_frontier_wait *wait, size_t node_count) {
  wait->tracker = tracker;
  wait->first = wait->front = 0;
  wait->state = NEVER;
  wait->status = TIDE_OK;
  if (frontier->tainted) return TIDE_INVALID;
  if (frontier->count > node_count) return TIDE_FULL;
  struct need furthest = {NULL, 0, 0};
  enum tide_status failure = TIDE_OK, status = TIDE_OK;
  tide_tracker_lock(tracker);
  if (frontier->count > 0) status = note_locked(tracker, frontier, wait, &furthest, &failure);
  if (status == TIDE_OK) {
    bool pending = failure == TIDE_OK && furthest.at && begin_locked(tracker, wait, furthest);
    wait->state = pending ? PENDING : DECIDED;
    wait->status = failure;
  }
  bool decided = wait->state == DECIDED, queued = wait->state == PENDING;
  tide_tracker_unlock(tracker);
  if (decided) wait->done(wait, failure);
  if (queued && tracker->context) tide_context_announce_waiter(tracker->context);
  return status;
}

bool tide_tracker_cancel(struct tide_frontier_wait *wait) {
  struct tide_tracker *tracker = wait->tracker;
  tide_tracker_lock(tracker);
  bool never = wait->state != DECIDED;
  if (wait->state == PENDING) withdraw_locked(tracker, wait, NEVER);
  tide_tracker_unlock(tracker);
  return never;
}

bool tide_tracker_wait_finish(struct tide_tracker *tracker, tide_axis axis, uint64_t epoch,
                              struct tide_finish_wait *wait) {
  if (tide_tracker_finished(tracker, axis, epoch)) return false;
  bool queued = false;
  wait->axis = axis;
  tide_tracker_lock(tracker);
  struct tide_tracker_axis *at = tide_tracker_find_locked(tracker, axis);
  if (at) {
    queued = join_locked(at, &at->finishes, &wait->node, epoch);
  } else if (!tide_tracker_is_over_locked(tracker, axis)) {
    tide_counter_add(&tracker->strangers, &wait->node, epoch);
    queued = true;
  }
  tide_tracker_unlock(tracker);
  return queued;
}

/* Sorts the raw waiters for axes that are not registered: those for `at` (NULL: for no axis) are
 * queued there, those for an axis that is over go to `out`. */
static void sort_strangers_locked(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                                  struct tide_fired *out) {
  struct tide_fired all;
  tide_fired_init(&all);
  tide_counter_pop(&tracker->strangers, UINT64_MAX, &all, TIDE_OK);
  for (struct tide_node *node; (node = tide_fired_pop(&all));) {
    tide_axis axis = TIDE_CONTAINER(node, struct tide_finish_wait, node)->axis;
    if (at && axis == at->axis) tide_counter_add(&at->finishes, node, node->value);
    else if (out && tide_tracker_is_over_locked(tracker, axis)) tide_fired_move(out, node);
    else tide_counter_add(&tracker->strangers, node, node->value);
  }
}

/* A new axis has finished nothing, or is severed and has no waiter: each waiter is queued. */
void tide_tracker_adopt_strangers_locked(struct tide_tracker *tracker,
                                         struct tide_tracker_axis *at) {
  if (tide_counter_empty(&tracker->strangers)) return;
  sort_strangers_locked(tracker, at, NULL);
  tide_tracker_axis_least_locked(at);
}

bool tide_tracker_set_teller(struct tide_tracker *tracker, tide_axis axis,
                             struct tide_teller *teller) {
  tide_tracker_lock(tracker);
  struct tide_tracker_axis *at = tide_tracker_find_locked(tracker, axis);
  if (at) at->teller = teller;
  if (at && teller && tide_load_relaxed(&at->least) != UINT64_MAX) ask_locked(at);
  tide_tracker_unlock(tracker);
  return at != NULL;
}

void tide_tracker_open_strangers_locked(struct tide_tracker *tracker, struct tide_fired *out) {
  sort_strangers_locked(tracker, NULL, out);
}

bool tide_tracker_cancel_finish(struct tide_tracker *tracker, struct tide_finish_wait *wait) {
  tide_tracker_lock(tracker);
  bool never = wait->node.state != TIDE_NODE_FIRED;
  if (wait->node.state == TIDE_NODE_QUEUED) {
    /* Closing takes all nodes off, so an axis that is not found has never been known. */
    struct tide_tracker_axis *at = tide_tracker_find_locked(tracker, wait->axis);
    tide_counter_remove(at ? &at->finishes : &tracker->strangers, &wait->node);
    if (at) tide_tracker_axis_least_locked(at);
  }
  tide_tracker_unlock(tracker);
  return never;
}
