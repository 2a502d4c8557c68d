/* What the tests of points share: a room with a clock whose time is made up, and a scheduler that
 * does nothing but tell (point/point_state.h): commands are told queued and done when a test says
 * so. */
#ifndef TESTS_POINT_RIG_H
#define TESTS_POINT_RIG_H

#include "harness.h"
#include "point/point_state.h"
#include "tidemark/clock.h"

#include <stdlib.h>
#include <string.h>

#define MS 1000000ull

struct rig {
  struct tide_clock *clock;
  struct tide_context *context;
  struct tide_points *points;
  struct tide_client *client;
};

__attribute__((unused)) static void rig_open_with(struct rig *r,
                                                  const struct tide_points_params *params,
                                                  const struct tide_allocator *allocator) {
  struct tide_clock_params clock = {.struct_size = sizeof clock, .start = 1000 * MS};
  memset(r, 0, sizeof *r);
  CHECK_OK(tide_clock_create(tide_allocator_system(), &clock, &r->clock));
  struct tide_context_params context_params = {.struct_size = sizeof context_params,
                                               .platform = tide_clock_platform(r->clock),
                                               .allocator = allocator};
  CHECK_OK(tide_context_create(&context_params, &r->context));
  CHECK_OK(tide_points_create(r->context, params, &r->points));
  CHECK_OK(tide_client_create(r->points, NULL, &r->client));
}

__attribute__((unused)) static void rig_open(struct rig *r) {
  struct tide_points_params params = {.struct_size = sizeof params, .manual = true};
  rig_open_with(r, &params, NULL);
}

__attribute__((unused)) static void rig_close(struct rig *r) {
  tide_client_destroy(r->client, TIDE_OK);
  tide_points_destroy(r->points);
  tide_context_destroy(r->context);
  tide_clock_destroy(r->clock);
}

#define CHECK_STATE(r, point, want) check_state(__LINE__, (r)->points, (point), (want), TIDE_OK)
#define CHECK_BROKEN(r, point, why)                                                                \
  check_state(__LINE__, (r)->points, (point), TIDE_POINT_BROKEN, (why))

__attribute__((unused)) static void check_state(int line, struct tide_points *points,
                                                struct tide_point point, enum tide_point_state want,
                                                enum tide_status why) {
  enum tide_point_state state;
  enum tide_status status, found = tide_point_state(points, point, &state, &status);
  if (found != TIDE_OK) test_fail(__FILE__, line, "no such point: %s", tide_status_name(found));
  if (state != want)
    test_fail(__FILE__, line, "it is %s, not %s", tide_point_state_name(state),
              tide_point_state_name(want));
  test_status(__FILE__, line, "its status", status, why);
}

/* ---- the scheduler that only tells ---- */

#define COMMAND_WAITS 8

struct command {
  struct tide_command command;
  struct tide_dependency_edge needs[COMMAND_WAITS];
};

/* `waits` and `retires` may be NULL. */
__attribute__((unused)) static enum tide_status
queue_command(struct rig *r, struct tide_channel *channel, struct command *command,
              const struct tide_point *waits, size_t wait_count, const struct tide_point *retires,
              size_t retire_count, bool passable) {
  struct tide_resolved resolved[COMMAND_WAITS];
  struct tide_promise *promises[COMMAND_WAITS];
  struct tide_dependency_edge *needs[COMMAND_WAITS];
  struct tide_fired fired;
  enum tide_status status = TIDE_OK;
  tide_fired_init(&fired);
  tide_points_lock(r->points);
  for (size_t i = 0; i < COMMAND_WAITS; i++) needs[i] = &command->needs[i];
  for (size_t i = 0; status == TIDE_OK && i < wait_count; i++)
    status = tide_point_resolve(r->points, waits[i], &resolved[i]);
  for (size_t i = 0; status == TIDE_OK && i < retire_count; i++)
    status = tide_promise_find(channel, retires[i], &promises[i], &fired);
  struct tide_command_plan plan = {.waits = resolved,
                                   .edges = needs,
                                   .wait_count = wait_count,
                                   .promises = promises,
                                   .promise_count = retire_count,
                                   .passable = passable};
  if (status == TIDE_OK) status = tide_channel_insert(channel, &command->command, &plan, &fired);
  tide_points_unlock(r->points, &fired);
  return status;
}

/* One point at most to retire: NULL: none. */
__attribute__((unused)) static enum tide_status
queue_one(struct rig *r, struct tide_channel *channel, struct command *command,
          const struct tide_point *retires, const struct tide_point *waits, size_t wait_count) {
  return queue_command(r, channel, command, waits, wait_count, retires, retires ? 1 : 0, false);
}

#define QUEUE(r, channel, command, retires, ...)                                                   \
  queue_one((r), (channel), (command), (retires), (const struct tide_point[]){__VA_ARGS__},        \
            sizeof((const struct tide_point[]){__VA_ARGS__}) / sizeof(struct tide_point))
#define QUEUE_FREE(r, channel, command, retires)                                                   \
  queue_one((r), (channel), (command), (retires), NULL, 0)

__attribute__((unused)) static void command_done(struct rig *r, struct command *command,
                                                 enum tide_status status) {
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_points_lock(r->points);
  tide_command_done(&command->command, status, &fired);
  tide_points_unlock(r->points, &fired);
}

__attribute__((unused)) static void channel_close(struct rig *r, struct tide_channel *channel,
                                                  enum tide_status cause) {
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_points_lock(r->points);
  tide_channel_close(channel, cause, &fired);
  tide_points_unlock(r->points, &fired);
}

__attribute__((unused)) static void report(struct rig *r, struct tide_point point,
                                           enum tide_point_state state, enum tide_status status) {
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_points_lock(r->points);
  tide_stand_in_report(r->points, point, state, status, &fired);
  tide_points_unlock(r->points, &fired);
}

/* ---- who waits ---- */

struct told {
  struct tide_schedulable wait;
  unsigned calls;
  enum tide_status status;
};

__attribute__((unused)) static void on_told(struct tide_schedulable *wait,
                                            enum tide_status status) {
  struct told *told = wait->user;
  told->calls++;
  told->status = status;
}

__attribute__((unused)) static enum tide_status
when_schedulable(struct told *told, struct tide_client *client, struct tide_point point,
                 const struct tide_point *assumed, size_t count) {
  *told = (struct told){.wait = {.call = on_told, .user = told, .client = client}};
  return tide_point_when_schedulable(&told->wait, point, assumed, count);
}

#endif
