/* The tracker: the epochs that the host has seen finish. tracker_axis.h explains why the accesses
 * without the lock are correct. */
#include "base/params.h"
#include "base/check.h"
#include "base/alloc.h"
#include "causal/tracker_axis.h"

#define FIRST_TABLE_SIZE 16

static void *alloc_lines(const struct tide_allocator *allocator, size_t size) {
  void *memory = allocator->alloc(allocator->self, size, TIDE_CACHE_LINE);
  if (memory) memset(memory, 0, size);
  return memory;
}

static void free_lines(const struct tide_allocator *allocator, void *memory, size_t size) {
  if (memory) allocator->free(allocator->self, memory, size);
}

static struct tide_axis_table *make_table(const struct tide_allocator *allocator, size_t size) {
  struct tide_axis_table *table = alloc_lines(allocator, tide_axis_table_bytes(size));
  if (table) tide_axis_table_init(table, size);
  return table;
}

static void free_table(const struct tide_allocator *allocator, struct tide_axis_table *table) {
  if (table) free_lines(allocator, table, tide_axis_table_bytes(table->size));
}

enum tide_status tide_tracker_create(const struct tide_tracker_params *params,
                                     struct tide_tracker **out_tracker) {
  struct tide_tracker_params own;
  enum tide_status known = tide_params_copy(&own, sizeof own, params);
  if (known != TIDE_OK) return known;
  params = &own;
  struct tide_tracker *tracker = alloc_lines(params->allocator, sizeof *tracker);
  if (!tracker) return TIDE_NOMEM;
  tracker->platform = params->platform;
  tracker->allocator = params->allocator;
  tide_lock_init(&tracker->lock);
  tracker->last_wait = &tracker->waits;
  tracker->table = make_table(params->allocator, FIRST_TABLE_SIZE);
  if (!tracker->table) {
    free_lines(params->allocator, tracker, sizeof *tracker);
    return TIDE_NOMEM;
  }
  *out_tracker = tracker;
  return TIDE_OK;
}

void tide_tracker_destroy(struct tide_tracker *tracker) {
  if (!tracker) return;
  TIDE_ASSERT(tide_counter_empty(&tracker->strangers));
  const struct tide_allocator *allocator = tracker->allocator;
  for (size_t i = 0; i < tracker->table->size; i++) {
    struct tide_tracker_axis *at = tracker->table->slots[i];
    if (!at) continue;
    TIDE_ASSERT(tide_counter_empty(&at->waits) && tide_counter_empty(&at->finishes));
    at->next_free = tracker->free;
    tracker->free = at;
  }
  for (struct tide_tracker_axis *at = tracker->free, *next; at; at = next) {
    next = at->next_free;
    free_lines(allocator, at, sizeof *at);
  }
  for (struct tide_axis_table *table = tracker->table, *older; table; table = older) {
    older = table->older;
    free_table(allocator, table);
  }
  for (struct tide_interval *interval; (interval = tide_closed_remove_any(&tracker->closed));)
    tide_free(allocator, interval, 1, sizeof *interval);
  free_lines(allocator, tracker, sizeof *tracker);
}

/* ---- registering ---- */

/* The memory that registering needs and has allocated; the unused part is freed at the end. */
struct spare {
  struct tide_tracker_axis *state;
  struct tide_axis_table *table;
  struct tide_interval *interval;
  size_t table_size; /* wanted; 0: the tracker's own is large enough */
  bool want_state, want_interval;
};

/* True if registering lacks memory, which is then noted in `spare`. Closing never allocates: there
 * is always a spare interval per live axis. */
static bool missing_locked(const struct tide_tracker *tracker, struct spare *spare) {
  size_t live = tracker->live + 1;
  spare->want_state = !tracker->free && !spare->state;
  spare->want_interval = tracker->closed.spares < live && !spare->interval;
  spare->table_size = 0;
  if (live * 2 > tracker->table->size) {
    size_t size = tracker->table->size * 2;
    if (!spare->table || spare->table->size < size) spare->table_size = size;
  }
  return spare->want_state || spare->want_interval || spare->table_size;
}

static void free_spare(const struct tide_allocator *allocator, struct spare *spare) {
  free_lines(allocator, spare->state, sizeof *spare->state);
  free_table(allocator, spare->table);
  tide_free(allocator, spare->interval, 1, sizeof *spare->interval);
}

static bool fill_spare(const struct tide_allocator *allocator, struct spare *spare) {
  if (spare->want_state) {
    spare->state = alloc_lines(allocator, sizeof *spare->state);
    if (!spare->state) return false;
  }
  if (spare->table_size) {
    free_table(allocator, spare->table);
    spare->table = make_table(allocator, spare->table_size);
    if (!spare->table) return false;
  }
  if (spare->want_interval) {
    spare->interval = tide_alloc(allocator, 1, sizeof *spare->interval);
    if (!spare->interval) return false;
  }
  return true;
}

static void grow_table_locked(struct tide_tracker *tracker, struct spare *spare) {
  struct tide_axis_table *old = tracker->table, *table = spare->table;
  spare->table = NULL;
  for (size_t i = 0; i < old->size; i++) {
    if (old->slots[i]) tide_axis_table_insert(table, old->slots[i]);
  }
  table->older = old;
  tide_store_release(&tracker->table, table);
}

static void install_locked(struct tide_tracker *tracker, struct spare *spare, tide_axis axis) {
  if ((tracker->live + 1) * 2 > tracker->table->size) grow_table_locked(tracker, spare);
  if (tracker->closed.spares < tracker->live + 1) {
    tide_closed_add_spare(&tracker->closed, spare->interval);
    spare->interval = NULL;
  }
  struct tide_tracker_axis *at = tracker->free ? tracker->free : spare->state;
  if (at == tracker->free) tracker->free = at->next_free;
  else spare->state = NULL;
  at->failure = TIDE_OK;
  at->teller = NULL;
  tide_store_release(&at->names, 0u);
  tide_store_release(&at->house, NULL);
  tide_store_release(&at->given, 0);
  tide_store_release(&at->least, UINT64_MAX);
  bool is_over = tracker->is_severed && tide_axis_machine(axis) != tracker->machine;
  tide_store_release(&at->waits.value, is_over ? UINT64_MAX : 0);
  tide_store_release(&at->axis, axis);
  tide_tracker_adopt_strangers_locked(tracker, at); /* before an advance can find the axis */
  tide_axis_table_insert(tracker->table, at);
  tide_store_release(&tracker->live, tracker->live + 1);
}

enum tide_status tide_tracker_register(struct tide_tracker *tracker, tide_axis axis) {
  if (axis == 0) return TIDE_INVALID;
  struct spare spare = {0};
  enum tide_status status = TIDE_OK;
  for (bool done = false; !done;) {
    tide_tracker_lock(tracker);
    if (tide_tracker_find_locked(tracker, axis) || tide_closed_contains(&tracker->closed, axis)) {
      status = TIDE_BUSY;
      done = true;
    } else if (!missing_locked(tracker, &spare)) {
      install_locked(tracker, &spare, axis);
      done = true;
    }
    tide_tracker_unlock(tracker);
    if (!done && !fill_spare(tracker->allocator, &spare)) {
      status = TIDE_NOMEM;
      done = true;
    }
  }
  free_spare(tracker->allocator, &spare);
  return status;
}

/* ---- looking ---- */

struct tide_tracker_axis *tide_tracker_find(struct tide_tracker *tracker, tide_axis axis) {
  if (axis == 0) return NULL;
  struct tide_tracker_axis *at = tide_axis_table_find(tide_load_acquire(&tracker->table), axis);
  if (at) return at;
  tide_tracker_lock(tracker);
  at = tide_tracker_find_locked(tracker, axis);
  tide_tracker_unlock(tracker);
  return at;
}

void tide_tracker_set_names(struct tide_tracker_axis *at) { tide_store_release(&at->names, 1u); }

struct tide_tracker_axis *tide_tracker_namer(struct tide_tracker *tracker, tide_axis axis) {
  if (axis == 0) return NULL;
  struct tide_tracker_axis *at = tide_axis_table_find(tide_load_acquire(&tracker->table), axis);
  /* If the axis was closed meanwhile and another axis uses the state, `names` is that axis'. */
  bool names = at && tide_load_acquire(&at->names);
  return names && tide_load_acquire(&at->axis) == axis ? at : NULL;
}

void tide_tracker_set_owner(struct tide_tracker_axis *at, const void *house, void *owner) {
  tide_store_release(&at->owner, owner);
  tide_store_release(&at->house, house);
}

void *tide_tracker_owner(struct tide_tracker *tracker, tide_axis axis, const void *house) {
  struct tide_tracker_axis *at = tide_tracker_find(tracker, axis);
  bool here = at && tide_load_acquire(&at->house) == house && tide_load_acquire(&at->axis) == axis;
  return here ? tide_load_acquire(&at->owner) : NULL;
}

uint64_t tide_tracker_axis_epoch(const struct tide_tracker_axis *at) {
  return tide_load_acquire(&at->waits.value);
}

/* Reads the finished epoch of an axis. False: the axis is unknown. */
static bool look_up(struct tide_tracker *tracker, tide_axis axis, uint64_t *out_epoch) {
  if (axis == 0) return false;
  struct tide_tracker_axis *at = tide_axis_table_find(tide_load_acquire(&tracker->table), axis);
  if (at) {
    *out_epoch = tide_tracker_axis_epoch(at);
    if (tide_load_acquire(&at->axis) == axis) return true;
  }
  tide_tracker_lock(tracker);
  at = tide_tracker_find_locked(tracker, axis);
  bool known = at || tide_tracker_is_over_locked(tracker, axis);
  *out_epoch = at ? tide_tracker_axis_epoch(at) : UINT64_MAX;
  tide_tracker_unlock(tracker);
  return known;
}

bool tide_tracker_finished(struct tide_tracker *tracker, tide_axis axis, uint64_t epoch) {
  uint64_t finished;
  return look_up(tracker, axis, &finished) && epoch <= finished;
}

uint64_t tide_tracker_epoch(struct tide_tracker *tracker, tide_axis axis) {
  uint64_t finished;
  return look_up(tracker, axis, &finished) ? finished : 0;
}

bool tide_tracker_is_severed(struct tide_tracker *tracker) {
  return tide_load_acquire(&tracker->is_severed);
}

bool tide_tracker_given(struct tide_tracker *tracker, tide_axis axis, uint64_t *out_given) {
  uint64_t finished;
  if (!look_up(tracker, axis, &finished)) return false;
  const struct tide_tracker_axis *at = tide_tracker_find(tracker, axis);
  uint64_t given = at ? tide_load_acquire(&at->given) : 0;
  *out_given = given > finished ? given : finished;
  return true;
}

size_t tide_tracker_live(struct tide_tracker *tracker) { return tide_load_acquire(&tracker->live); }

bool tide_tracker_axis_is(const struct tide_tracker_axis *at, tide_axis axis) {
  return tide_load_acquire(&at->axis) == axis;
}

size_t tide_tracker_snapshot(struct tide_tracker *tracker, tide_axis *axes, uint64_t *epochs,
                             size_t size) {
  tide_tracker_lock(tracker);
  size_t copied = 0, live = tracker->live;
  for (size_t i = 0; i < tracker->table->size && copied < size; i++) {
    struct tide_tracker_axis *at = tracker->table->slots[i];
    if (!at) continue;
    axes[copied] = at->axis;
    uint64_t given = tide_load_acquire(&at->given), finished = tide_tracker_axis_epoch(at);
    epochs[copied++] = given > finished ? given : finished;
  }
  tide_tracker_unlock(tracker);
  return live;
}

/* ---- progress ---- */

static void open_locked(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                        struct tide_fired *out) {
  uint64_t epoch = tide_tracker_axis_finished(at);
  if (tide_counter_least(&at->finishes) <= epoch)
    tide_counter_pop(&at->finishes, epoch, out, TIDE_OK);
  tide_tracker_open_waits_locked(tracker, at, epoch, out);
  tide_tracker_axis_least_locked(at);
}

/* Out of line, so that an advance without waiters saves no registers. */
__attribute__((noinline)) void tide_tracker_open_collect(struct tide_tracker *tracker,
                                                         struct tide_tracker_axis *at,
                                                         struct tide_fired *out) {
  tide_tracker_lock(tracker);
  open_locked(tracker, at, out);
  tide_tracker_unlock(tracker);
}

void tide_tracker_advance_collect(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                                  uint64_t epoch, struct tide_fired *out) {
  tide_tracker_axis_advance(tracker, at, epoch, out);
}

static void fail_locked(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                        enum tide_status status, struct tide_fired *out) {
  if (at->failure != TIDE_OK) return;
  open_locked(tracker, at, out); /* finished epochs have not failed */
  at->failure = status;
  tide_tracker_fail_waits_locked(tracker, at, status, out);
  tide_tracker_axis_least_locked(at);
}

static void certify_locked(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                           struct tide_fired *out) {
  tide_tracker_axis_raise(at, UINT64_MAX);
  open_locked(tracker, at, out);
}

/* Frees the spare intervals that the live axes, and one more, do not need. */
static void trim_spares_locked(struct tide_tracker *tracker) {
  while (tracker->closed.spares > tracker->live + 1) {
    struct tide_interval *unused = tide_closed_remove_any(&tracker->closed);
    tide_free(tracker->allocator, unused, 1, sizeof *unused);
  }
}

/* Closes an axis. The axis number is removed before the state's next user resets the epoch: see
 * tracker_axis.h. */
static void close_locked(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                         struct tide_fired *out) {
  certify_locked(tracker, at, out);
  tide_closed_add(&tracker->closed, at->axis);
  tide_axis_table_remove(tracker->table, at);
  tide_store_release(&at->axis, 0);
  at->next_free = tracker->free;
  tracker->free = at;
  tide_store_release(&tracker->live, tracker->live - 1);
  trim_spares_locked(tracker);
}

void tide_tracker_fail_collect(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                               enum tide_status status, struct tide_fired *out) {
  TIDE_ASSERT(status != TIDE_OK);
  tide_tracker_lock(tracker);
  fail_locked(tracker, at, status, out);
  tide_tracker_unlock(tracker);
}

void tide_tracker_certify_collect(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                                  struct tide_fired *out) {
  tide_tracker_lock(tracker);
  TIDE_ASSERT(at->failure != TIDE_OK);
  certify_locked(tracker, at, out);
  tide_tracker_unlock(tracker);
}

void tide_tracker_close_collect(struct tide_tracker *tracker, struct tide_tracker_axis *at,
                                struct tide_fired *out) {
  tide_tracker_lock(tracker);
  close_locked(tracker, at, out);
  tide_tracker_unlock(tracker);
}

void tide_tracker_sever(struct tide_tracker *tracker, uint16_t machine, enum tide_status status) {
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_tracker_lock(tracker);
  tide_store_release(&tracker->is_severed, true);
  tracker->machine = machine;
  for (size_t i = 0; i < tracker->table->size; i++) {
    struct tide_tracker_axis *at = tracker->table->slots[i];
    if (!at || tide_axis_machine(at->axis) == machine) continue;
    fail_locked(tracker, at, status, &fired);
    certify_locked(tracker, at, &fired);
  }
  tide_tracker_open_strangers_locked(tracker, &fired);
  tide_tracker_unlock(tracker);
  tide_fired_run(&fired);
}

/* ---- progress, by number ---- */

/* Begins a call by axis number. The lock is held from the look-up on, so that a close on another
 * thread cannot give the state to another axis in between. Nothing can happen to a closed axis any
 * more: TIDE_OK. */
static enum tide_status lock_and_find(struct tide_tracker *tracker, tide_axis axis,
                                      struct tide_fired *fired, struct tide_tracker_axis **out_at) {
  tide_fired_init(fired);
  tide_tracker_lock(tracker);
  *out_at = tide_tracker_find_locked(tracker, axis);
  if (*out_at || tide_closed_contains(&tracker->closed, axis)) return TIDE_OK;
  return TIDE_NOT_FOUND;
}

static enum tide_status unlock_and_fire(struct tide_tracker *tracker, enum tide_status status,
                                        struct tide_fired *fired) {
  tide_tracker_unlock(tracker);
  tide_fired_run(fired);
  return status;
}

enum tide_status tide_tracker_advance(struct tide_tracker *tracker, tide_axis axis,
                                      uint64_t epoch) {
  struct tide_fired fired;
  struct tide_tracker_axis *at;
  enum tide_status status = lock_and_find(tracker, axis, &fired, &at);
  /* `least` changes under the lock only. */
  if (at && tide_tracker_axis_raise(at, epoch) && tide_load_acquire(&at->least) <= epoch) {
    open_locked(tracker, at, &fired);
  }
  return unlock_and_fire(tracker, status, &fired);
}

enum tide_status tide_tracker_fail(struct tide_tracker *tracker, tide_axis axis,
                                   enum tide_status failure) {
  if (failure == TIDE_OK) return TIDE_INVALID;
  struct tide_fired fired;
  struct tide_tracker_axis *at;
  enum tide_status status = lock_and_find(tracker, axis, &fired, &at);
  if (at) fail_locked(tracker, at, failure, &fired);
  return unlock_and_fire(tracker, status, &fired);
}

enum tide_status tide_tracker_certify(struct tide_tracker *tracker, tide_axis axis) {
  struct tide_fired fired;
  struct tide_tracker_axis *at;
  enum tide_status status = lock_and_find(tracker, axis, &fired, &at);
  if (at && at->failure == TIDE_OK) status = TIDE_INVALID;
  else if (at) certify_locked(tracker, at, &fired);
  return unlock_and_fire(tracker, status, &fired);
}

enum tide_status tide_tracker_close(struct tide_tracker *tracker, tide_axis axis) {
  struct tide_fired fired;
  struct tide_tracker_axis *at;
  enum tide_status status = lock_and_find(tracker, axis, &fired, &at);
  if (at) close_locked(tracker, at, &fired);
  return unlock_and_fire(tracker, status, &fired);
}
