/* Reuse of freed memory: repeats the pool's decisions for any moment of the recording.
 *
 * The pool decides by the death frontier, by the asking queue's frontier, and by the finished
 * operations. The two frontiers are recorded as they were; the log up to the moment gives the
 * third. */
#include "base/alloc.h"
#include "program/plan.h"
#include "view_state.h"

bool view_reuse_begin(void) {
  const struct tide_allocator *a = view.allocator;
  size_t queues = view.tables->queue_count, collectives = view.tables->collective_count;
  view.moment.newest = tide_alloc(a, queues, sizeof *view.moment.newest);
  view.moment.finished = tide_alloc(a, queues, sizeof *view.moment.finished);
  view.moment.parts = tide_alloc(a, collectives + 1, sizeof *view.moment.parts);
  return view.moment.newest && view.moment.finished && view.moment.parts;
}

void view_reuse_end(void) {
  const struct tide_allocator *a = view.allocator;
  struct view_death *deaths = view.deaths.items;
  for (size_t i = 0; i < view.deaths.count; i++)
    if (deaths[i].death)
      tide_free(a, deaths[i].death, 1, tide_death_size(deaths[i].death->frontier.capacity));
  tide_free(a, deaths, view.deaths.capacity, sizeof *deaths);
  if (!view.tables) return;
  size_t queues = view.tables->queue_count, collectives = view.tables->collective_count;
  tide_free(a, view.moment.newest, queues, sizeof *view.moment.newest);
  tide_free(a, view.moment.finished, queues, sizeof *view.moment.finished);
  tide_free(a, view.moment.parts, collectives + 1, sizeof *view.moment.parts);
}

/* ---- during the recording -------------------------------------------------------------- */

static struct tide_death *copy_of(const struct tide_frontier *frontier, tide_axis axis,
                                  uint64_t epoch) {
  uint8_t capacity = frontier->count ? frontier->count : 1;
  struct tide_death *death = tide_alloc(view.allocator, 1, tide_death_size(capacity));
  if (!death) {
    view.failed = true;
    return NULL;
  }
  tide_death_init(death, capacity);
  tide_frontier_copy(&death->frontier, frontier, NULL);
  death->axis = axis;
  death->epoch = epoch;
  return death;
}

uint32_t view_reuse_freed(const void *buffer) {
  tide_axis axis;
  uint64_t epoch;
  const struct tide_frontier *frontier = view_death(buffer, &axis, &epoch);
  struct view_death *row = view_add_row(&view.deaths, sizeof *row, 1);
  if (!row) return 0;
  if (frontier) row->death = copy_of(frontier, axis, epoch);
  return (uint32_t)view.deaths.count;
}

/* ---- at a moment ------------------------------------------------------------------------- */

static void move_to(size_t at) {
  const struct tide_view_operation *ops = view.rows[TIDE_VIEW_ARRAY_OPERATIONS].items;
  const struct tide_view_entry *log = view.rows[TIDE_VIEW_ARRAY_LOG].items;
  struct view_moment *moment = &view.moment;
  if (at > view.rows[TIDE_VIEW_ARRAY_LOG].count) at = view.rows[TIDE_VIEW_ARRAY_LOG].count;
  if (at < moment->at) {
    memset(moment->newest, 0, view.tables->queue_count * sizeof *moment->newest);
    memset(moment->finished, 0, view.tables->queue_count * sizeof *moment->finished);
    memset(moment->parts, 0, view.tables->collective_count * sizeof *moment->parts);
    moment->at = 0;
  }
  for (; moment->at < at; moment->at++) {
    const struct tide_view_entry *entry = &log[moment->at];
    if (entry->operation == TIDE_VIEW_NONE) continue;
    const struct tide_view_operation *op = &ops[entry->operation];
    if ((entry->kind & 255) == TIDE_EVENT_ENTER) moment->newest[op->queue] = entry->operation + 1;
    if ((entry->kind & 255) != TIDE_EVENT_PUBLISH) continue;
    moment->finished[op->queue] = op->epoch;
    if (op->collective != TIDE_VIEW_NONE) moment->parts[op->collective]++;
  }
}

/* Returns the newest finished epoch of an axis at the moment. */
static uint64_t finished_of(tide_axis axis) {
  uint32_t index;
  if (tide_explanation_queue(&view.explanation, axis, &index)) return view.moment.finished[index];
  if (!tide_explanation_collective(&view.explanation, axis, &index)) return 0;
  return view.moment.parts[index] / view.tables->collectives[index].queue_count;
}

static bool track_axis(struct tide_tracker *tracker, tide_axis axis) {
  enum tide_status status = tide_tracker_register(tracker, axis);
  if (status == TIDE_OK) status = tide_tracker_advance(tracker, axis, finished_of(axis));
  return status == TIDE_OK || status == TIDE_BUSY;
}

/* Removes the finished entries from the death frontier, as the pool does whenever it looks at a
 * block. */
static bool settle_death(struct tide_death *death) {
  struct tide_clock *clock = NULL;
  struct tide_namers namers = {.tracker = NULL};
  bool fine = tide_clock_create(view.allocator, NULL, &clock) == TIDE_OK;
  struct tide_tracker_params params = {
      .struct_size = sizeof params, view.allocator, fine ? tide_clock_platform(clock) : NULL};
  fine = fine && tide_tracker_create(&params, &namers.tracker) == TIDE_OK;
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(&death->frontier);
       fine && tide_frontier_next(&at, &entry);)
    fine = track_axis(namers.tracker, entry.axis);
  if (fine && death->axis) fine = track_axis(namers.tracker, death->axis);
  if (fine) tide_death_settle(death, &namers);
  tide_tracker_destroy(namers.tracker);
  tide_clock_destroy(clock);
  return fine;
}

/* True if the queue's next operation knows the whole death frontier. */
static bool queue_knows(uint32_t queue, const struct tide_death *death) {
  const struct tide_view_operation *op = view.rows[TIDE_VIEW_ARRAY_OPERATIONS].items;
  if (!view.moment.newest[queue]) return tide_death_empty(death);
  op += view.moment.newest[queue] - 1;
  if (view.after[view.moment.newest[queue] - 1])
    return tide_death_known(death, view.after[view.moment.newest[queue] - 1]);
  const struct tide_explained *told = &view.explanation.queues[queue].operations[op->sequence - 1];
  size_t size = tide_frontier_size(told->known->count + 1u);
  struct tide_frontier *known = tide_alloc(view.allocator, 1, size);
  if (!known) return false;
  tide_frontier_init(known, (uint8_t)(told->known->count < 255 ? told->known->count + 1 : 255));
  tide_frontier_copy(known, told->known, NULL);
  tide_axis own = view.explanation.queues[queue].axis;
  struct tide_eviction eviction = {.keep = own};
  if (view.in_order[queue]) tide_frontier_raise(known, own, told->epoch, &eviction);
  bool knows = tide_death_known(death, known);
  tide_free(view.allocator, known, 1, size);
  return knows;
}

static void tell_open(tide_axis axis, uint64_t epoch) {
  uint32_t number = view_operation_at(axis, epoch);
  tide_json_integer(&view.json, NULL, number == TIDE_VIEW_NONE ? -1 : (int64_t)number);
}

static void tell_reuse(const struct tide_death *death) {
  const struct tide_frontier *frontier = &death->frontier;
  tide_json_open(&view.json, "open", '[');
  if (frontier->tainted && death->axis) tell_open(death->axis, death->epoch);
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(frontier);
       !frontier->tainted && tide_frontier_next(&at, &entry);)
    tell_open(entry.axis, entry.epoch);
  if (frontier->tainted && !death->axis) tide_json_integer(&view.json, NULL, -1);
  tide_json_close(&view.json, ']');
  tide_json_open(&view.json, "queues", '[');
  for (uint32_t q = 0; q < view.tables->queue_count; q++)
    if (queue_knows(q, death)) tide_json_number(&view.json, NULL, q);
  tide_json_close(&view.json, ']');
}

uint32_t tide_view_reuse(uint32_t free, uint32_t at) {
  view_answer_begin();
  if (!view.simulation || !free || free > view.deaths.count) return TIDE_NOT_FOUND;
  const struct tide_death *made = ((struct view_death *)view.deaths.items)[free - 1].death;
  struct tide_death *death = made ? copy_of(&made->frontier, made->axis, made->epoch) : NULL;
  if (made && !death) return TIDE_NOMEM;
  move_to(at);
  bool fine = !death || settle_death(death);
  if (fine) {
    tide_json_open(&view.json, NULL, '{');
    tide_json_bool(&view.json, "known", death != NULL);
    if (death) tell_reuse(death);
    tide_json_close(&view.json, '}');
  }
  if (death) tide_free(view.allocator, death, 1, tide_death_size(death->frontier.capacity));
  return fine ? TIDE_OK : TIDE_NOMEM;
}
