/* causal/tracker_axis.h: the tracker's own structs.
 *
 * One lock guards all state that changes together. Three things are read without the lock: the
 * table of axes, an axis' number and its finished epoch.
 *
 * How a reader stays right without the lock. The state of a closed axis is used again for another
 * axis, but never freed before the tracker is, and an axis number never comes back. So a reader
 * loads the number, the epoch, and the number again. Suppose that the reader loaded an epoch of the
 * state's next life. Then the second look sees that the number has gone, because the number is
 * removed before the epoch is reset (release), and the epoch was loaded with acquire. Finding
 * nothing proves nothing (entries move when one is removed, and the table may be an old one), so
 * then the reader takes the lock and looks again.
 *
 * How advance and wait meet without the lock. Advance raises the epoch by an exchange, then loads
 * `least`; a waiter stores `least`, then reads the epoch by an exchange that changes nothing.
 * Exchanges of one word have one order. If the waiter's exchange is the later one, the waiter sees
 * that its epoch has finished. If advance's is the later one, advance reads from the waiter's
 * exchange or a later one, and so acquires `least`.
 *
 * A waiter that finds `least` no larger than its own epoch needs neither. The waiter for that least
 * epoch has made its exchange when less had finished, so an advance that reaches either epoch sees
 * this `least`, or a later one. As long as the new waiter is queued, no later `least` is larger
 * than its epoch. */
#ifndef TIDE_CAUSAL_TRACKER_AXIS_H
#define TIDE_CAUSAL_TRACKER_AXIS_H

#include "base/atomic.h"
#include "base/lock.h"
#include "base/alloc.h"
#include "causal/closed.h"
#include "causal/tracker.h"

struct tide_tracker_axis {
  tide_axis axis;               /* atomic; 0 while no axis uses this state */
  uint64_t given;               /* atomic; the newest epoch that was given, finished or not */
  uint64_t least;               /* atomic; the smallest awaited epoch; UINT64_MAX: no waiter */
  struct tide_counter waits;    /* frontier waits; .value (atomic): the finished epoch */
  struct tide_counter finishes; /* raw waiters; .value is not used */
  uint32_t failure;             /* enum tide_status; guarded by the lock, like the heaps */
  uint32_t names;               /* atomic; tide_tracker_set_names */
  struct tide_teller *teller;   /* to be asked by the first waiter; NULL: nobody */
  struct tide_tracker_axis *next_free;
  const void *house; /* atomic, like the owner; tide_tracker_set_owner */
  void *owner;
};

/* Open addressing, at most half full. Slots are atomic pointers. */
struct tide_axis_table {
  struct tide_axis_table *older; /* a former table, which readers may still use */
  size_t size;                   /* a power of two */
  uint32_t shift;
  struct tide_tracker_axis *slots[];
};

struct tide_tracker {
  const struct tide_platform *platform;
  const struct tide_allocator *allocator;
  struct tide_context *context;  /* is notified of new waiters; NULL: none */
  struct tide_axis_table *table; /* atomic */
  size_t live;                   /* atomic; written under the lock */
  /* Not in the cache line of the words that readers load. The lock guards everything below and all
   * axes. */
  _Alignas(TIDE_CACHE_LINE) struct tide_lock lock;
  struct tide_tracker_axis *free;
  struct tide_closed closed;
  struct tide_frontier_wait *waits, **last_wait; /* all pending waits, in order of arrival */
  bool is_severed; /* atomic; the axes of other machines than `machine` are over: tide_tracker_sever
                    */
  uint16_t machine;
  struct tide_counter strangers; /* raw waiters for axes that are not registered yet; its value and
                                    the order are not used */
};

static inline size_t tide_axis_table_bytes(size_t size) {
  return sizeof(struct tide_axis_table) + size * sizeof(struct tide_tracker_axis *);
}
void tide_axis_table_init(struct tide_axis_table *table, size_t size);
/* Returns the home slot of an axis. Neighbouring ordinals spread over the whole table. size >=
 * 2. */
static inline size_t tide_axis_home(uint32_t shift, tide_axis axis) {
  return (size_t)((axis * 0x9e3779b97f4a7c15u) >> shift);
}
static inline size_t tide_axis_table_home(const struct tide_axis_table *table, tide_axis axis) {
  return tide_axis_home(table->shift, axis);
}
struct tide_tracker_axis *tide_axis_table_find_from(struct tide_axis_table *table, size_t slot,
                                                    tide_axis axis);
/* Returns the state of an axis. Without the lock, NULL proves nothing. */
static inline struct tide_tracker_axis *tide_axis_table_find(struct tide_axis_table *table,
                                                             tide_axis axis) {
  size_t home = tide_axis_table_home(table, axis);
  struct tide_tracker_axis *at = tide_load_acquire(&table->slots[home]);
  if (at && tide_load_acquire(&at->axis) == axis) return at;
  return tide_axis_table_find_from(table, home, axis);
}
void tide_axis_table_insert(struct tide_axis_table *table, struct tide_tracker_axis *at);
void tide_axis_table_remove(struct tide_axis_table *table, struct tide_tracker_axis *at);

static inline void tide_tracker_lock(struct tide_tracker *tracker) {
  tide_lock_take(&tracker->lock, tracker->platform);
}
static inline void tide_tracker_unlock(struct tide_tracker *tracker) {
  tide_lock_give(&tracker->lock);
}

static inline struct tide_tracker_axis *tide_tracker_find_locked(struct tide_tracker *tracker,
                                                                 tide_axis axis) {
  return tide_axis_table_find(tide_load_relaxed(&tracker->table), axis);
}

/* True if all epochs of an axis that is not registered count as finished: it is closed, or nothing
 * will register it any more. */
static inline bool tide_tracker_is_over_locked(const struct tide_tracker *tracker, tide_axis axis) {
  return tracker->is_severed || tide_closed_contains(&tracker->closed, axis);
}

/* tide_tracker_axis_epoch, without a call. */
static inline uint64_t tide_tracker_axis_finished(const struct tide_tracker_axis *at) {
  return tide_load_acquire(&at->waits.value);
}

/* Recomputes `least`; required after each change of a heap. */
static inline void tide_tracker_axis_least_locked(struct tide_tracker_axis *at) {
  uint64_t a = tide_counter_least(&at->waits), b = tide_counter_least(&at->finishes);
  tide_store_release(&at->least, a < b ? a : b);
}

/* Raises the finished epoch. True if this call raised it. */
static inline bool tide_tracker_axis_raise(struct tide_tracker_axis *at, uint64_t epoch) {
  uint64_t old = tide_load_relaxed(&at->waits.value);
  do {
    if (old >= epoch) return false;
  } while (!tide_compare_exchange(&at->waits.value, &old, epoch));
  return true;
}

/* Notes that an epoch was given: an operation has it from now on. One store; only the thread that
 * gives the axis' epochs calls this. */
static inline void tide_tracker_give(struct tide_tracker_axis *at, uint64_t epoch) {
  tide_store_release(&at->given, epoch);
}

/* Hands out the waits for epochs that have finished. */
void tide_tracker_open_collect(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                               struct tide_fired *out);

/* Does tide_tracker_advance_collect, in line as long as there is no waiter. */
static inline void tide_tracker_axis_advance(struct tide_tracker *tracker,
                                             struct tide_tracker_axis *at, uint64_t epoch,
                                             struct tide_fired *out) {
  if (tide_tracker_axis_raise(at, epoch) && tide_load_acquire(&at->least) <= epoch)
    tide_tracker_open_collect(tracker, at, out);
}

/* Queues the raw waiters that have waited for this axis to be registered. */
void tide_tracker_adopt_strangers_locked(struct tide_tracker *tracker,
                                         struct tide_tracker_axis *at);
/* Hands out the raw waiters for axes that are over without ever having been registered. */
void tide_tracker_open_strangers_locked(struct tide_tracker *tracker, struct tide_fired *out);
/* Takes off the frontier waits that are queued here for epochs <= epoch, and hands out those that
 * need nothing else. */
void tide_tracker_open_waits_locked(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                                    uint64_t epoch, struct tide_fired *out);
/* Takes off all frontier waits that need more of the axis than has finished, wherever they are
 * queued, and hands them out. */
void tide_tracker_fail_waits_locked(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                                    enum tide_status status, struct tide_fired *out);

#endif
