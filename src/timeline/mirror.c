/* Mirrors: join the states that a home tells with the state here. */
#include "timeline/mirror.h"
#include "base/alloc.h"
#include "base/text.h"
#include "causal/tracker.h"
#include "timeline/history.h"

#define HISTORY 8u /* reached records that a mirror keeps */

/* A pending record of the home. */
struct promise {
  struct tide_tree_node node; /* key = value; in mirror->promises */
  struct promise *next;       /* before it is taken in, and before it is freed */
  tide_axis axis;             /* 0: external */
  uint64_t epoch;
  struct tide_frontier frontier; /* of the context's capacity */
};

struct mirror {
  struct tide_timeline *timeline;
  struct tide_tree promises;
  uint32_t promise_count;
  uint64_t known;  /* all promises up to here have come */
  uint64_t failed; /* the home has failed from this value on; UINT64_MAX: it has not */
};

static struct promise *promise_of(struct tide_tree_node *node) {
  return (struct promise *)(void *)node;
}

static size_t promise_size(const struct tide_context *context) {
  return sizeof(struct promise) - sizeof(struct tide_frontier) +
         tide_frontier_size(context->frontier_capacity);
}

/* ---- look-up ------------------------------------------------------------------------ */

static bool find(void *backing, uint64_t value, struct tide_record_view *out_view) {
  const struct mirror *mirror = backing;
  const struct tide_timeline *timeline = mirror->timeline;
  if (timeline->reached.value >= value) return tide_history_find(timeline, value, out_view);
  struct tide_tree_node *node = tide_tree_at_least(&mirror->promises, value);
  if (!node || tide_timeline_has_failed(timeline, node->key)) return false;
  const struct promise *promise = promise_of(node);
  *out_view = (struct tide_record_view){.value = node->key,
                                        .axis = promise->axis,
                                        .epoch = promise->epoch,
                                        .frontier = promise->axis ? &promise->frontier : NULL};
  return true;
}

static void describe(struct tide_text *text, const struct tide_timeline *timeline, uint64_t value,
                     void (*name)(struct tide_text *text, const struct tide_command *command)) {
  struct tide_record_view view;
  (void)name;
  if (find(timeline->backing, value, &view))
    tide_text_format(text, "; another machine has promised %lu", (unsigned long)view.value);
  else tide_text_format(text, "; no machine has promised it");
}

/* ---- memory ------------------------------------------------------------------------- */

static void free_promises(const struct tide_context *context, struct promise *first) {
  for (struct promise *next; first; first = next) {
    next = first->next;
    tide_free(context->allocator, first, 1, promise_size(context));
  }
}

static void remove_promise(struct mirror *mirror, struct promise *promise,
                           struct promise **unused) {
  tide_tree_remove(&mirror->promises, &promise->node);
  mirror->promise_count--;
  promise->next = *unused;
  *unused = promise;
}

static void free_mirror(void *backing) {
  struct mirror *mirror = backing;
  const struct tide_context *context = mirror->timeline->context;
  struct promise *unused = NULL;
  while (mirror->promises.first)
    remove_promise(mirror, promise_of(mirror->promises.first), &unused);
  free_promises(context, unused);
  tide_free(context->allocator, mirror, 1, sizeof *mirror);
}

static const struct tide_value_ops mirror_ops = {.find = find,
                                                 .free = free_mirror,
                                                 .denied = TIDE_DENIED,
                                                 .signaller = "its home",
                                                 .describe = describe,
                                                 .fails_on_release = true,
                                                 .is_foreign = true};

enum tide_status tide_mirror_create(struct tide_context *context, const char *label,
                                    struct tide_timeline **out_timeline) {
  struct tide_timeline_params params = {
      .struct_size = sizeof params, .label = label, .history = HISTORY};
  struct mirror *mirror = tide_alloc(context->allocator, 1, sizeof *mirror);
  if (!mirror) return TIDE_NOMEM;
  enum tide_status status = tide_timeline_create(context, &params, out_timeline);
  if (status != TIDE_OK) {
    tide_free(context->allocator, mirror, 1, sizeof *mirror);
    return status;
  }
  struct tide_timeline *timeline = *out_timeline;
  mirror->timeline = timeline;
  mirror->failed = UINT64_MAX;
  timeline->scope = TIDE_SCOPE_SYSTEM;
  timeline->guard = context->sched_lock; /* a diagnosis looks at promises under it */
  tide_timeline_open_on(timeline, &mirror_ops, mirror);
  return TIDE_OK;
}

/* Copies the promises of a state, up to the first one that finds no memory. */
static struct promise *copy_promises(const struct tide_context *context,
                                     const struct tide_mirror_state *state) {
  struct promise *first = NULL, **last = &first;
  for (size_t i = 0; i < state->pending_count && i < TIDE_MIRROR_PENDING; i++) {
    const struct tide_mirror_record *record = &state->pending[i];
    struct promise *promise = tide_alloc(context->allocator, 1, promise_size(context));
    if (!promise) break;
    promise->node.key = record->value;
    promise->axis = record->axis;
    promise->epoch = record->epoch;
    tide_frontier_init(&promise->frontier, context->frontier_capacity);
    if (record->axis) {
      struct tide_eviction eviction = {context->tracker, record->axis};
      tide_frontier_copy(&promise->frontier, record->frontier, &eviction);
    }
    *last = promise;
    last = &promise->next;
  }
  return first;
}

/* ---- unsound states ------------------------------------------------------------------- */

static bool is_record_sound(const struct tide_mirror_record *record) {
  if (!record->axis) return true;
  return record->epoch && tide_frontier_validate(record->frontier, NULL) == TIDE_OK &&
         tide_frontier_get(record->frontier, record->axis) == record->epoch;
}

static enum tide_status refuse(const struct tide_timeline *timeline, struct tide_diag *diag,
                               const char *what, uint64_t value) {
  return tide_diag_set(diag, TIDE_CORRUPT, "timeline '%s': the home tells %s: %lu", timeline->label,
                       what, (unsigned long)value);
}

static enum tide_status check_state(const struct tide_timeline *timeline,
                                    const struct tide_mirror_state *state, struct tide_diag *diag) {
  const struct tide_mirror_record *newest = &state->newest;
  uint64_t below = state->reached > state->after ? state->reached : state->after;
  if (state->fail_from <= state->reached)
    return refuse(timeline, diag, "a reached value that has failed", state->reached);
  if (state->fail_from != UINT64_MAX && state->status == TIDE_OK)
    return refuse(timeline, diag, "a failure without a status", state->fail_from);
  if (newest->value > state->reached)
    return refuse(timeline, diag, "a reached record above the reached value", newest->value);
  if (newest->value && (!newest->axis || !is_record_sound(newest)))
    return refuse(timeline, diag, "a reached record without its signaller", newest->value);
  for (size_t i = 0; i < state->pending_count; i++) {
    const struct tide_mirror_record *record = &state->pending[i];
    if (record->value <= below)
      return refuse(timeline, diag, "pending values that do not go up", record->value);
    if (!is_record_sound(record))
      return refuse(timeline, diag, "a pending record without its signaller", record->value);
    below = record->value;
  }
  return TIDE_OK;
}

/* ---- the tracker ---------------------------------------------------------------------- */

static bool is_of_this_machine(const struct tide_context *context, tide_axis axis) {
  return tide_axis_machine(axis) == context->lease->machine;
}

/* Makes the axes known, so that they can be awaited. One that finds no memory stays unknown, and is
 * awaited until it is registered. */
static void register_axes(struct tide_context *context, const struct tide_mirror_record *record) {
  struct tide_frontier_entry entry;
  if (!record->axis) return;
  for (struct tide_frontier_cursor at = tide_frontier_begin(record->frontier);
       tide_frontier_next(&at, &entry);) {
    if (is_of_this_machine(context, entry.axis)) continue;
    if (tide_tracker_find(context->tracker, entry.axis)) continue;
    if (tide_tracker_register(context->tracker, entry.axis) == TIDE_NOMEM) return;
  }
}

/* Tells the tracker that the signaller of a reached record has finished, and all that it lists. */
static void teach(struct mirror *mirror, const struct tide_mirror_record *record,
                  struct tide_fired *fired) {
  struct tide_context *context = mirror->timeline->context;
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(record->frontier);
       tide_frontier_next(&at, &entry);) {
    struct tide_tracker_axis *axis = is_of_this_machine(context, entry.axis)
                                         ? NULL
                                         : tide_tracker_find(context->tracker, entry.axis);
    if (axis) tide_tracker_advance_collect(context->tracker, axis, entry.epoch, fired);
  }
}

/* ---- the join -------------------------------------------------------------------------- */

/* Pushes a reached record, which `out_top` then describes. */
static void push(struct tide_timeline *timeline, const struct tide_mirror_record *record,
                 struct tide_mirror_record *out_top) {
  tide_history_push(timeline, record->value, record->axis, record->epoch, record->frontier);
  *out_top = *record;
}

/* Pushes the promises up to a value. */
static void push_kept(struct mirror *mirror, uint64_t value, struct promise **unused,
                      struct tide_mirror_record *out_top, struct tide_fired *fired) {
  struct tide_tree_node *first;
  while ((first = mirror->promises.first) && first->key <= value) {
    struct promise *promise = promise_of(first);
    const struct tide_mirror_record record = {first->key, promise->axis, promise->epoch,
                                              &promise->frontier};
    if (promise->axis) {
      teach(mirror, &record, fired);
      push(mirror->timeline, &record, out_top);
    }
    remove_promise(mirror, promise, unused);
  }
}

/* Raises the value. Records that never came leave gaps, for which a later record stands. */
static void raise(struct mirror *mirror, const struct tide_mirror_state *state,
                  struct promise **unused, struct tide_fired *fired) {
  struct tide_timeline *timeline = mirror->timeline;
  const struct tide_mirror_record *newest = &state->newest;
  struct tide_mirror_record top = {0};
  if (newest->value > timeline->reached.value) {
    push_kept(mirror, newest->value - 1, unused, &top, fired);
    push(timeline, newest, &top);
    if (mirror->promises.first && mirror->promises.first->key == newest->value)
      remove_promise(mirror, promise_of(mirror->promises.first), unused);
  }
  push_kept(mirror, state->reached, unused, &top, fired);
  if (top.value < state->reached) {
    top = (struct tide_mirror_record){.value = state->reached};
    if (!timeline->newest_external) tide_history_push_external(timeline, state->reached);
  }
  timeline->dropped = state->reached - 1;
  if (tide_timeline_traced(timeline))
    tide_timeline_emit(timeline, TIDE_EVENT_SIGNAL, top.value, top.axis, top.epoch, top.frontier,
                       TIDE_OK);
  tide_store_release(&timeline->reached.value, state->reached);
  tide_counter_pop(&timeline->reached, state->reached, fired, TIDE_OK);
  tide_counter_pop(&timeline->promised, state->reached, fired, TIDE_OK);
}

/* Keeps the promises that are news, the lowest ones if there are too many. None behind a gap: the
 * smallest known record above a value would not be the one that signals it. */
static void keep_promises(struct mirror *mirror, uint64_t after, struct promise *first,
                          struct promise **unused, struct tide_fired *fired) {
  struct tide_timeline *timeline = mirror->timeline;
  bool has_gap = after > timeline->reached.value && after > mirror->known;
  uint64_t newest = 0;
  for (struct promise *promise = first, *next; promise; promise = next) {
    next = promise->next;
    uint64_t value = promise->node.key;
    bool is_news =
        !has_gap && value > timeline->reached.value && !tide_timeline_has_failed(timeline, value);
    if (!has_gap && value > mirror->known) mirror->known = value;
    if (is_news && tide_tree_insert(&mirror->promises, &promise->node, value)) {
      mirror->promise_count++;
      newest = value;
      if (mirror->promise_count > TIDE_MIRROR_PENDING) {
        remove_promise(mirror, promise_of(mirror->promises.last), unused);
        mirror->known = mirror->promises.last->key;
      }
    } else {
      promise->next = *unused;
      *unused = promise;
    }
  }
  const struct tide_tree_node *last = mirror->promises.last;
  if (last && newest > last->key) newest = last->key;
  tide_counter_pop(&timeline->promised, newest, fired, TIDE_OK);
}

static void drop_failed(struct mirror *mirror, struct promise **unused) {
  struct tide_tree_node *last;
  while ((last = mirror->promises.last) && tide_timeline_has_failed(mirror->timeline, last->key))
    remove_promise(mirror, promise_of(last), unused);
}

static void fail(struct tide_timeline *timeline, uint64_t from, enum tide_status status,
                 const struct tide_failure *why, struct tide_fired *fired) {
  struct tide_cause *cause =
      why && !timeline->cause ? tide_cause_create(timeline->context, why) : NULL;
  tide_timeline_fail_locked(timeline, from, status, cause, fired);
  tide_cause_release(cause);
}

static void join(struct mirror *mirror, const struct tide_mirror_state *state,
                 struct promise *promises, struct promise **unused, struct tide_fired *fired) {
  struct tide_timeline *timeline = mirror->timeline;
  if (state->newest.value) teach(mirror, &state->newest, fired); /* before the value is reached */
  if (state->reached > timeline->reached.value) raise(mirror, state, unused, fired);
  if (state->fail_from < mirror->failed) {
    mirror->failed = state->fail_from;
    fail(timeline, state->fail_from, state->status, state->cause, fired);
  }
  keep_promises(mirror, state->after, promises, unused, fired);
  drop_failed(mirror, unused);
  tide_timeline_refresh(timeline);
}

enum tide_status tide_mirror_take(struct tide_timeline *timeline,
                                  const struct tide_mirror_state *state, struct tide_fired *fired,
                                  struct tide_diag *diag) {
  TIDE_ASSERT(timeline->ops == &mirror_ops);
  struct mirror *mirror = timeline->backing;
  struct tide_context *context = timeline->context;
  enum tide_status status = check_state(timeline, state, diag);
  if (status != TIDE_OK) return status;
  if (state->newest.value) register_axes(context, &state->newest);
  for (size_t i = 0; i < state->pending_count; i++) register_axes(context, &state->pending[i]);
  struct promise *promises = copy_promises(context, state), *unused = NULL;
  struct tide_lock *guard = tide_timeline_lock(timeline);
  bool has_ended = timeline->fail_from < mirror->failed; /* here: no state counts any more */
  if (!has_ended && state->reached >= mirror->failed)
    status = refuse(timeline, diag, "a value that it has failed before", state->reached);
  else if (!has_ended && state->fail_from <= timeline->reached.value)
    status = refuse(timeline, diag, "a failure of a value that it has reached", state->fail_from);
  if (status == TIDE_OK && !has_ended) join(mirror, state, promises, &unused, fired);
  else unused = promises;
  tide_lock_give(guard);
  free_promises(context, unused);
  return status;
}

void tide_mirror_lose(struct tide_timeline *timeline, const struct tide_failure *why,
                      struct tide_fired *fired) {
  TIDE_ASSERT(timeline->ops == &mirror_ops);
  struct mirror *mirror = timeline->backing;
  struct promise *unused = NULL;
  struct tide_lock *guard = tide_timeline_lock(timeline);
  fail(timeline, 0, why->status, why, fired);
  drop_failed(mirror, &unused);
  tide_lock_give(guard);
  free_promises(timeline->context, unused);
}
