/* What the room says, compared with the model, after each call. */
#include "points_world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct rig points_room;
struct timed points_timed[POINTS];
struct told *points_waits[WATCHES];
jmp_buf points_out;
char points_why[200];

void points_violation(const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(points_why, sizeof points_why, format, list);
  va_end(list);
  longjmp(points_out, 1);
}

/* ---- the model's side of what the room does by itself ---- */

void points_model_expire(void) {
  uint64_t now = tide_clock_now(points_room.clock);
  for (;;) {
    int first = -1;
    for (int i = 0; i < m.point_count; i++) {
      const struct mpoint *p = &m.points[i];
      if (p->deadline && p->deadline <= now &&
          (first < 0 || p->deadline < m.points[first].deadline))
        first = i;
    }
    if (first < 0) return;
    m.points[first].deadline = 0;
    model_break(first, TIDE_TIMED_OUT);
  }
}

void points_model_names(void) {
  for (int f = 0; f < FUTURES; f++) {
    bool open = false;
    if (!m.futures[f].gone || !m.futures[f].alive) continue;
    for (int i = 0; i < m.point_count; i++)
      open = open || (m.points[i].kind == PROMISE && m.points[i].future == f && !m.points[i].ended);
    if (open) continue;
    m.futures[f].alive = false;
    for (int i = 0; i < m.point_count; i++)
      if (m.points[i].kind == PROMISE && m.points[i].future == f) m.points[i].named = false;
  }
  for (int i = 0; i < m.point_count; i++)
    if (m.points[i].client < 0 && m.points[i].kind != PROMISE && m.points[i].settled)
      m.points[i].named = false;
}

void points_after(void) {
  model_update();
  model_watches();
  points_model_names();
}

/* ---- checks ---- */

static void check_status(int i, enum tide_status status) {
  struct mpoint *p = &m.points[i];
  if (!p->concluded || p->status == TIDE_OK) {
    EXPECT_STATUS(status, p->status, "the status of point", i);
    return;
  }
  if (status == TIDE_OK) points_violation("point %d is retired, but a part broke", i);
  if (!model_blames(p->root, status))
    points_violation("point %d: no part broke with %s", i, tide_status_name(status));
}

static void adopt_statuses(void) {
  for (int i = 0; i < m.point_count; i++) {
    struct mpoint *p = &m.points[i];
    enum tide_point_state state;
    enum tide_status status;
    if (!p->concluded || !p->named || !p->status) continue;
    if (tide_point_state(points_room.points, p->name, &state, &status) == TIDE_OK && status)
      p->status = status;
  }
}

static void check_point(int i) {
  struct mpoint *p = &m.points[i];
  enum tide_point_state state, want = p->ended ? p->status ? TIDE_POINT_BROKEN : TIDE_POINT_RETIRED
                                      : p->scheduled ? TIDE_POINT_SCHEDULED
                                                     : TIDE_POINT_PROMISED;
  enum tide_status status, found = tide_point_state(points_room.points, p->name, &state, &status);
  EXPECT_STATUS(found, p->named ? TIDE_OK : TIDE_NOT_FOUND, "asking for point", i);
  if (!p->named) return;
  if (state != want)
    points_violation("point %d is %s, not %s", i, tide_point_state_name(state),
                     tide_point_state_name(want));
  check_status(i, status);
  EXPECT_STATUS(tide_point_wait(points_room.points, p->name, TIDE_NOW),
                p->ended ? status : TIDE_TIMEOUT, "waiting for point", i);
  struct tide_resolved resolved;
  tide_points_lock(points_room.points);
  found = tide_point_resolve(points_room.points, p->name, &resolved);
  bool settled = found == TIDE_OK && (!resolved.node || resolved.node->settled);
  tide_lock_give(points_room.context->sched_lock);
  if (settled != p->settled) points_violation("point %d opens service-side waits: %d", i, settled);
}

static void check_calls(void) {
  for (int i = 0; i < m.point_count; i++) {
    if (!points_timed[i].used) continue;
    if (points_timed[i].calls != m.points[i].ended)
      points_violation("point %d: %u calls of its timepoint, ended: %d", i, points_timed[i].calls,
                       m.points[i].ended);
    if (points_timed[i].calls) check_status(i, points_timed[i].status);
  }
  for (int i = 0; i < WATCHES; i++) {
    struct mwatch *w = &m.watches[i];
    if (!w->waiting) continue;
    if (points_waits[i]->calls != w->fires)
      points_violation("wait %d for \"schedulable\" of point %d: %u calls, not %d", i, w->point,
                       points_waits[i]->calls, w->fires);
    if (!w->fires) continue;
    bool ended = m.points[w->point].ended && w->status;
    if (ended) check_status(w->point, points_waits[i]->status);
    else EXPECT_STATUS(points_waits[i]->status, w->status, "a wait for point", w->point);
    w->waiting = false;
    free(points_waits[i]);
  }
}

void points_check(void) {
  tide_points_expire(points_room.points, NULL);
  points_model_expire();
  points_after();
  adopt_statuses();
  for (int i = 0; i < m.point_count; i++) check_point(i);
  check_calls();
}
