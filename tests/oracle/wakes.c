/* Somebody on the host who wants to be called: nobody is forgotten, and whoever is called about a
 * value finds its record, and finished what it tells of. */
#include "causal/context_state.h"
#include "oracle.h"

struct waker {
  struct tide_timepoint point;
  struct program *program;
  struct line *line;
  uint64_t value;
  bool called, gone;
  enum tide_status status;
};

/* What is destroyed may not be asked any more. */
static bool is_gone(const struct line *line) {
  if (line->queue) return line->queue->destroyed;
  if (line->collective) return !line->collective->handle;
  return line->dead;
}

/* The tracker comes first, then value and record together. */
static void check_record(struct waker *waker) {
  struct world *world = waker->program->world;
  TIDE_FRONTIER_STORAGE(frontier, 64);
  struct tide_record_info info = {.axis = 0};
  const struct line *line = waker->line;
  if (is_gone(line)) return;
  ENSURE(world, tide_timeline_query(line->handle) >= waker->value,
         "a call comes before %s is at %lu", line->label, (unsigned long)waker->value);
  tide_frontier_init(&frontier.frontier, 64);
  enum tide_status status =
      tide_timeline_frontier_at(line->handle, waker->value, &frontier.frontier, &info);
  ENSURE(world, status == (waker->value <= line->initial ? TIDE_NOT_FOUND : TIDE_OK),
         "%s is at %lu, but its record says %s", line->label, (unsigned long)waker->value,
         tide_status_name(status));
  if (status != TIDE_OK || !info.axis) return;
  ENSURE(world, tide_tracker_finished(world->context->tracker, info.axis, info.epoch),
         "%s is at %lu, but its signaller has not finished", line->label,
         (unsigned long)waker->value);
}

static void called(struct tide_timepoint *point, enum tide_status status) {
  struct waker *waker = (struct waker *)(void *)point;
  struct world *world = waker->program->world;
  LOG(world, "call about %s >= %lu: %s", waker->line->label, (unsigned long)waker->value,
      tide_status_name(status));
  ENSURE(world, !waker->called && !waker->gone, "a second call about %s >= %lu", waker->line->label,
         (unsigned long)waker->value);
  waker->called = true;
  waker->status = status;
  if (status == TIDE_OK) check_record(waker);
  else if (waker->line->kind == LINE_NORMAL && !waker->line->dead)
    ENSURE(world, line_failed(waker->line, waker->value), "%s >= %lu has not failed",
           waker->line->label, (unsigned long)waker->value);
}

void wake_random(struct program *program) {
  struct world *world = program->world;
  if (program->waker_count == MAX_WAKERS || !program->line_count) return;
  struct line *line = program->lines[pick(program, program->line_count)];
  if (is_gone(line)) return;
  struct waker *waker = keep(sizeof *waker);
  waker->program = program;
  waker->line = line;
  waker->value = tide_timeline_query(line->handle) + pick(program, 6);
  waker->point = (struct tide_timepoint){
      .call = called,
      .timeline = line->handle,
      .value = waker->value,
  };
  LOG(world, "ask for a call about %s >= %lu", line->label, (unsigned long)waker->value);
  enum tide_status status = tide_timepoint_add(&waker->point), expected = TIDE_OK;
  if (line->kind == LINE_NORMAL && line->scope < TIDE_SCOPE_PROCESS) expected = TIDE_SCOPE;
  ENSURE(world, status == expected, "a timepoint at %s says %s", line->label,
         tide_status_name(status));
  if (status == TIDE_OK) program->wakers[program->waker_count++] = waker;
}

void check_wakes(struct program *program) {
  struct world *world = program->world;
  for (uint32_t i = 0; i < program->waker_count; i++) {
    const struct waker *waker = program->wakers[i];
    const struct line *line = waker->line;
    if (waker->called || waker->gone) continue;
    bool normal = line->kind == LINE_NORMAL;
    ENSURE(world, !normal || !line->dead, "%s is gone, and who waits for %lu was not told",
           line->label, (unsigned long)waker->value);
    if (is_gone(line)) continue;
    uint64_t value = tide_timeline_query(line->handle);
    ENSURE(world, value < waker->value, "%s is at %lu, and who waits for %lu was not told",
           line->label, (unsigned long)value, (unsigned long)waker->value);
    ENSURE(world, !normal || !line_failed(line, waker->value),
           "%s has failed, and who waits for %lu was not told", line->label,
           (unsigned long)waker->value);
  }
}

/* Half of those who are left do not want it any more; the others hear of the end. */
void wakes_cancel(struct program *program) {
  for (uint32_t i = 0; i < program->waker_count; i++) {
    struct waker *waker = program->wakers[i];
    if (!chance(program, 500)) continue;
    bool before = waker->called;
    waker->gone = tide_timepoint_cancel(&waker->point);
    ENSURE(program->world, waker->gone != before, "cancelling a call %s",
           before ? "that has come says that it won't" : "that has not come says that it has");
  }
}

void wakes_end(struct program *program) {
  for (uint32_t i = 0; i < program->waker_count; i++) {
    const struct waker *waker = program->wakers[i];
    ENSURE(program->world, waker->called || waker->gone, "%s has ended without a call about %lu",
           waker->line->label, (unsigned long)waker->value);
  }
}
