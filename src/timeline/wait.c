/* Host waits: for one value, for any or all of several. */
#include "base/body_frame.h"
#include "base/check.h"
#include "base/alloc.h"
#include "base/parking.h"
#include "timeline/waiter.h"

#ifdef TIDE_INTERLEAVE
#define SPINS 0 /* the explorer makes progress by running other threads, not by time */
#else
#define SPINS 64 /* about a microsecond: a wait for an imminent signal does not sleep */
#endif
/* After VAIN_SPINS vain spins in a row, as on one processor, only one wait in TRY_AGAIN spins. */
#define VAIN_SPINS 256
#define TRY_AGAIN 16

/* Returns the state of a value without a lock: reached, failed, or neither yet. */
static inline enum tide_await look_unlocked(struct tide_timeline *timeline, uint64_t value) {
  if (__builtin_expect(timeline->is_backed, 0)) return tide_timeline_look(timeline, value);
  if (tide_load_acquire(&timeline->reached.value) >= value) return TIDE_AWAIT_REACHED;
  if (tide_timeline_has_failed(timeline, value)) return TIDE_AWAIT_FAILED;
  return TIDE_AWAIT_QUEUED;
}

/* ---- one -------------------------------------------------------------------- */

static enum tide_status sleep_for(struct tide_timeline *timeline, uint64_t value,
                                  uint64_t deadline) {
  struct tide_parked parked;
  tide_parked_init(&parked, timeline->context->platform);
  enum tide_await state = tide_timeline_await(timeline, value, &parked.node);
  if (state == TIDE_AWAIT_REACHED) return TIDE_OK;
  if (state == TIDE_AWAIT_FAILED) return tide_timeline_failed_with(timeline, value);
  if (!tide_parked_wait(&parked, deadline)) {
    if (tide_timeline_forget(timeline, &parked.node)) return TIDE_TIMEOUT;
    /* The node was taken off: the wake will come, and this thread must wake those below it. */
    tide_parked_wait(&parked, TIDE_FOREVER);
  }
  return (enum tide_status)parked.node.status;
}

/* Sleeps with a reference, since the timeline may be destroyed meanwhile. */
static enum tide_status sleep_safely(struct tide_timeline *timeline, uint64_t value,
                                     uint64_t deadline) {
  struct tide_context *context = timeline->context;
  const struct tide_wait_point point = {.timeline = timeline, .value = value};
  tide_timeline_hold(timeline);
  struct tide_body_frame *frame = tide_body_blocks(context->blocked, context->platform, &point, 1);
  enum tide_status status = sleep_for(timeline, value, deadline);
  tide_body_unblocks(context->blocked, context->platform, frame);
  if (status == TIDE_OK) tide_timeline_emit_seen(timeline, value);
  tide_timeline_let_go(timeline);
  return status;
}

static enum tide_await spin_for_value(struct tide_timeline *timeline, uint64_t value) {
  enum tide_await state = TIDE_AWAIT_QUEUED;
  if (!SPINS) return state;
  uint32_t vain = tide_load_relaxed(&timeline->vain_spins);
  for (int i = 0; i < SPINS && (vain < VAIN_SPINS || vain % TRY_AGAIN == 0); i++) {
    tide_pause();
    state = look_unlocked(timeline, value);
    if (state != TIDE_AWAIT_QUEUED) break;
  }
  tide_store_relaxed(&timeline->vain_spins, state == TIDE_AWAIT_QUEUED ? vain + 1 : 0);
  return state;
}

static __attribute__((noinline)) enum tide_status report_seen(struct tide_timeline *timeline,
                                                              uint64_t value) {
  tide_timeline_emit_seen(timeline, value);
  return TIDE_OK;
}

static __attribute__((noinline)) enum tide_status wait_long(struct tide_timeline *timeline,
                                                            uint64_t value, uint64_t deadline) {
  struct tide_context *context = timeline->context;
  tide_waiting_begin(context);
  enum tide_await state = spin_for_value(timeline, value);
  enum tide_status status = TIDE_OK;
  if (state == TIDE_AWAIT_FAILED) status = tide_timeline_failed_with(timeline, value);
  else if (state == TIDE_AWAIT_QUEUED) status = sleep_safely(timeline, value, deadline);
  else status = report_seen(timeline, value);
  tide_waiting_end(context);
  return status;
}

/* Waits for a value of a backing. */
static __attribute__((noinline)) enum tide_status wait_backed(struct tide_timeline *timeline,
                                                              uint64_t value, uint64_t deadline) {
  enum tide_await state = tide_timeline_look(timeline, value);
  if (state == TIDE_AWAIT_REACHED) return report_seen(timeline, value);
  if (state == TIDE_AWAIT_FAILED) return tide_timeline_failed_with(timeline, value);
  if (timeline->scope < TIDE_SCOPE_PROCESS) return TIDE_SCOPE;
  if (deadline != TIDE_NOW) return wait_long(timeline, value, deadline);
  /* Without the guard, a value that is not promised looks like one that is. */
  enum tide_status failed =
      timeline->ops->look ? tide_timeline_failed_with(timeline, value) : TIDE_OK;
  return failed ? failed : TIDE_TIMEOUT;
}

/* Slow paths are out of line, so that a wait that needs no sleep saves no registers. */
enum tide_status tide_timeline_wait(struct tide_timeline *timeline, uint64_t value,
                                    uint64_t deadline) {
  if (__builtin_expect(timeline->is_backed, 0)) return wait_backed(timeline, value, deadline);
  if (__builtin_expect(tide_load_acquire(&timeline->reached.value) >= value, 1))
    return __builtin_expect(tide_timeline_traced(timeline), 0) ? report_seen(timeline, value)
                                                               : TIDE_OK;
  if (tide_timeline_has_failed(timeline, value))
    return (enum tide_status)tide_load_acquire(&timeline->status);
  if (timeline->scope < TIDE_SCOPE_PROCESS) return TIDE_SCOPE;
  if (deadline == TIDE_NOW) return TIDE_TIMEOUT;
  return wait_long(timeline, value, deadline);
}

/* ---- several ------------------------------------------------------------------ */

/* The states of a set's word. */
enum { SET_OPEN = 0, SET_LATCHED = 1, SET_SLEPT_ON = 2 /* open, and a thread may sleep */ };
/* A bit of `outstanding`: the thread that ends the set may sleep until the last point has fired. */
#define SET_ENDS (1u << 31)

/* Latches the set if this point decides it. One point does: the last that had to be reached, or the
 * first that fails before. True: a thread may sleep until the set is latched. */
static bool latch_set(struct tide_wait_any_set *set, size_t winner, enum tide_status status) {
  bool decides = status == TIDE_OK ? tide_fetch_sub(&set->remaining, 1u) == 1
                                   : (int32_t)tide_exchange(&set->remaining, 0u) > 0;
  if (!decides) return false;
  set->status = (uint32_t)status;
  set->winner = winner;
  return tide_exchange(&set->word, SET_LATCHED) == SET_SLEPT_ON;
}

/* The last access of a firing point is to `outstanding`: once no point is, the set may be gone. The
 * wakes that follow use only addresses, and none is made if no thread sleeps. */
static void fire_point(struct tide_node *node, enum tide_status status) {
  struct tide_point_waiter *waiter = TIDE_CONTAINER(node, struct tide_point_waiter, node);
  struct tide_wait_point *point = tide_point_of(waiter);
  struct tide_wait_any_set *set = waiter->set;
  const struct tide_platform *platform = point->timeline->context->platform;
  uint32_t *word = &set->word, *outstanding = &set->outstanding;
  bool wake = latch_set(set, (size_t)(point - set->points), status);
  bool ends = tide_fetch_sub(outstanding, 1u) == (SET_ENDS | 1);
  if (__builtin_expect(wake, 0)) platform->wake(platform->self, word, UINT32_MAX);
  if (__builtin_expect(ends, 0)) platform->wake(platform->self, outstanding, UINT32_MAX);
}

#define AHEAD 8 /* the prefetch distance in points: 10 000 timelines do not fit in a near cache */

static inline void prefetch_timeline(struct tide_timeline *timeline) {
  __builtin_prefetch(timeline, 1);
  __builtin_prefetch(&timeline->scope, 1);
}

/* Returns a timeline's bucket: the index of some point of the set. */
static size_t place_of(const struct tide_wait_any_set *set, const struct tide_timeline *timeline) {
  uint32_t mixed = (uint32_t)(((uint64_t)(uintptr_t)timeline * 0x9e3779b97f4a7c15u) >> 32);
  return (size_t)((uint64_t)mixed * set->count >> 32);
}

static inline void prepare_point(struct tide_wait_any_set *set, struct tide_wait_point *point) {
  struct tide_point_waiter *waiter = tide_waiter_of(point);
  tide_waiter_init(waiter, fire_point);
  waiter->first = 0;
  waiter->set = set;
}

/* Keeps one point per timeline: the one with the lowest value if any point will do, the highest if
 * all must be reached; of equal values the first. The points' waiters are also the hash table of
 * the points, so this takes no memory and n steps. Waiter p's `first` is 1 + the first point of
 * bucket p, its `next` 1 + the point after point p. Returns the number of points kept. */
static uint32_t keep_one_each(struct tide_wait_any_set *set, bool all) {
  struct tide_wait_point *points = set->points;
  uint32_t kept = 0;
  for (size_t i = 0; i < set->count; i++) {
    if (i + AHEAD < set->count)
      __builtin_prefetch(
          &tide_waiter_of(&points[place_of(set, points[i + AHEAD].timeline)])->first);
    struct tide_point_waiter *waiter = tide_waiter_of(&points[i]);
    const struct tide_timeline *timeline = points[i].timeline;
    if (timeline->is_backed && timeline->ops->look) { /* each value may end in its own way */
      kept++;
      continue;
    }
    uint32_t *link = &tide_waiter_of(&points[place_of(set, points[i].timeline)])->first;
    while (*link && points[*link - 1].timeline != points[i].timeline)
      link = &tide_waiter_of(&points[*link - 1])->next;
    struct tide_wait_point *other = *link ? &points[*link - 1] : NULL;
    bool better = !other || (all ? points[i].value > other->value : points[i].value < other->value);
    if (other) (better ? tide_waiter_of(other) : waiter)->set = NULL;
    else kept++;
    if (!better) continue;
    waiter->next = other ? tide_waiter_of(other)->next : 0;
    *link = (uint32_t)i + 1;
  }
  return kept;
}

static __attribute__((noinline)) void not_queued(struct tide_wait_any_set *set, size_t i,
                                                 enum tide_await state) {
  struct tide_wait_point *point = &set->points[i];
  tide_fetch_sub(&set->outstanding, 1u);
  latch_set(set, i,
            state == TIDE_AWAIT_FAILED ? tide_timeline_failed_with(point->timeline, point->value)
                                       : TIDE_OK);
}

static inline void register_point(struct tide_wait_any_set *set, size_t i) {
  enum tide_await state = tide_point_register(&set->points[i]);
  if (__builtin_expect(state != TIDE_AWAIT_QUEUED, 0)) not_queued(set, i, state);
}

static inline bool unregister_point(struct tide_wait_point *point) {
  struct tide_timeline *timeline = point->timeline;
  bool last, gone = tide_point_forget(point, &last);
  if (__builtin_expect(last, 0)) tide_timeline_free(timeline);
  return gone;
}

/* Registers points until the result is known. All points are outstanding beforehand, so that no
 * firing point is the last. */
static void register_points(struct tide_wait_any_set *set, uint32_t kept) {
  uint32_t left = kept;
  set->outstanding = kept;
  for (size_t i = 0; left && tide_load_acquire(&set->word) == SET_OPEN; i++) {
    if (i + AHEAD < set->count) prefetch_timeline(set->points[i + AHEAD].timeline);
    if (!tide_waiter_of(&set->points[i])->set) continue;
    register_point(set, i);
    set->registered = i + 1;
    left--;
  }
  if (left) tide_fetch_sub(&set->outstanding, left);
}

/* Checks each scope and prepares each waiter. *out_distinct: the timelines' addresses only rise or
 * only fall, as they do if all were made in one go. Then no timeline comes twice. */
static enum tide_status look_through(struct tide_wait_any_set *set, bool *out_distinct) {
  struct tide_wait_point *points = set->points;
  size_t rises = 0, falls = 0;
  uintptr_t before = (uintptr_t)points[0].timeline;
  for (size_t i = 0; i < set->count; i++) {
    uintptr_t timeline = (uintptr_t)points[i].timeline;
    if (i + AHEAD < set->count) __builtin_prefetch(&points[i + AHEAD].timeline->scope);
    if (points[i].timeline->scope < TIDE_SCOPE_PROCESS) return TIDE_SCOPE;
    prepare_point(set, &points[i]);
    rises += timeline > before;
    falls += timeline < before;
    before = timeline;
  }
  *out_distinct = rises == set->count - 1 || falls == set->count - 1;
  return TIDE_OK;
}

static enum tide_status init_set(struct tide_wait_any_set *set, struct tide_wait_point *points,
                                 size_t count, bool all) {
  bool distinct = false;
  *set = (struct tide_wait_any_set){.points = points, .count = count};
  if (count == 0 || count > UINT32_MAX / 2) return TIDE_INVALID;
  enum tide_status status = look_through(set, &distinct);
  if (status != TIDE_OK) return status;
  uint32_t kept = distinct ? (uint32_t)count : keep_one_each(set, all);
  set->remaining = all ? kept : 1;
  register_points(set, kept);
  return TIDE_OK;
}

enum tide_status tide_wait_any_init(struct tide_wait_any_set *set, struct tide_wait_point *points,
                                    size_t count) {
  return init_set(set, points, count, false);
}

/* Blocks until the set is latched. False if the deadline has passed before. */
static bool await_latch(struct tide_wait_any_set *set, struct tide_context *context,
                        uint64_t deadline) {
  const struct tide_platform *platform = context->platform;
  for (;;) {
    uint32_t word = tide_load_acquire(&set->word);
    if (word == SET_LATCHED) return true;
    if (word == SET_OPEN && !tide_compare_exchange(&set->word, &word, SET_SLEPT_ON)) continue;
    struct tide_body_frame *frame =
        tide_body_blocks(context->blocked, platform, set->points, set->count);
    platform->wait(platform->self, &set->word, SET_SLEPT_ON, deadline);
    tide_body_unblocks(context->blocked, platform, frame);
    if (tide_load_acquire(&set->word) == SET_LATCHED) return true;
    if (deadline != TIDE_FOREVER && platform->now(platform->self) >= deadline) return false;
  }
}

static inline bool is_latched(const struct tide_wait_any_set *set) {
  return tide_load_acquire(&set->word) == SET_LATCHED;
}

enum tide_status tide_wait_any_wait(struct tide_wait_any_set *set, uint64_t deadline,
                                    size_t *out_index) {
  if (!is_latched(set)) {
    if (deadline == TIDE_NOW) return TIDE_TIMEOUT;
    /* Not latched, so the set holds all its timelines. */
    struct tide_context *context = set->points[0].timeline->context;
    tide_waiting_begin(context);
    bool in_time = await_latch(set, context, deadline);
    tide_waiting_end(context);
    if (!in_time) return TIDE_TIMEOUT;
  }
  if (out_index) *out_index = set->winner;
  return (enum tide_status)set->status;
}

/* Unregisters the points that have not been taken off. Returns their number. */
static uint32_t forget_points(struct tide_wait_any_set *set) {
  uint32_t forgotten = 0;
  for (size_t i = 0; i < set->registered; i++) {
    if (i + AHEAD < set->registered) prefetch_timeline(set->points[i + AHEAD].timeline);
    struct tide_point_waiter *waiter = tide_waiter_of(&set->points[i]);
    if (!waiter->set || !unregister_point(&set->points[i])) continue;
    forgotten++;
    waiter->set = NULL;
  }
  return forgotten;
}

/* Waits for the last access of the points that were taken off and are about to fire. */
static void await_firing(struct tide_wait_any_set *set, const struct tide_platform *platform) {
  uint32_t left = tide_fetch_or(&set->outstanding, SET_ENDS) | SET_ENDS;
  while (left != SET_ENDS) {
    platform->wait(platform->self, &set->outstanding, left, TIDE_FOREVER);
    left = tide_load_acquire(&set->outstanding);
  }
}

void tide_wait_any_fini(struct tide_wait_any_set *set) {
  if (!set->registered) return;
  /* The last registered point holds its timeline. An earlier one may not count, and its timeline
   * may be gone. */
  const struct tide_timeline *held = set->points[set->registered - 1].timeline;
  const struct tide_platform *platform = held->context->platform;
  uint32_t left = tide_load_acquire(&set->outstanding); /* 0: all points have fired */
  uint32_t forgotten = left ? forget_points(set) : 0;
  if (forgotten) left = tide_fetch_sub(&set->outstanding, forgotten) - forgotten;
  if (left) await_firing(set, platform);
  for (size_t i = 0; i < set->registered; i++)
    if (tide_waiter_of(&set->points[i])->set) tide_point_let_go(&set->points[i]);
  set->registered = 0;
}

/* Emits the values that this thread has seen reached: of one point, or of all. */
static void emit_reached(struct tide_wait_any_set *set, bool all, size_t index) {
  if (!all) tide_timeline_emit_seen(set->points[index].timeline, set->points[index].value);
  for (size_t i = 0; all && i < set->count; i++)
    if (tide_waiter_of(&set->points[i])->set)
      tide_timeline_emit_seen(set->points[i].timeline, set->points[i].value);
}

static enum tide_status wait_several(struct tide_wait_point *points, size_t count, bool all,
                                     uint64_t deadline, size_t *out_index) {
  struct tide_wait_any_set set;
  enum tide_status status = init_set(&set, points, count, all);
  if (status != TIDE_OK) return status;
  bool latched = is_latched(&set), blocks = !latched && deadline != TIDE_NOW;
  /* Not latched, so the set holds all its timelines. */
  struct tide_context *context = blocks ? points[0].timeline->context : NULL;
  if (blocks) tide_waiting_begin(context);
  if (blocks) latched = await_latch(&set, context, deadline);
  if (latched && set.status == TIDE_OK) emit_reached(&set, all, set.winner);
  tide_wait_any_fini(&set);
  /* The set may have been latched after the deadline. */
  if (out_index) *out_index = is_latched(&set) ? set.winner : 0;
  status = is_latched(&set) ? (enum tide_status)set.status : TIDE_TIMEOUT;
  if (blocks) tide_waiting_end(context);
  return status;
}

enum tide_status tide_wait_any(struct tide_wait_point *points, size_t count, uint64_t deadline,
                               size_t *out_index) {
  return wait_several(points, count, false, deadline, out_index);
}

enum tide_status tide_wait_all(struct tide_wait_point *points, size_t count, uint64_t deadline) {
  if (count == 0) return TIDE_OK;
  return wait_several(points, count, true, deadline, NULL);
}
