/* An operation takes one way from submit to publish. Each random run is done three times: alone,
 * with a listener, and with exchanges that are asked for. All that can be seen from outside comes
 * to the same, step by step. */
#include "harness.h"

#include "base/random.h"
#include "sched/delegation.h"
#include "tidemark/tidemark.h"
#include "timeline/pending_value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR (3600 * UINT64_C(1000000000))

enum {
  QUEUES = 5,
  TIMELINES = 3,
  STEPS = 400,
  HANDS = 3,
  POINTS = 8,
  WAITS = 10,
  CHANNELS = 3, /* of the queues, the first ones; those of the device in order */
  NAMED = 12,   /* points that somebody may name */
  RECORD = 1 << 20
};

struct device {
  struct tide_backend backend;
  struct tide_device *device;
  struct tide_work *hands[HANDS];
  size_t count;
  uint32_t kicks;
  struct tide_delegation request;
  uint64_t asked;
};

enum way { ALONE, LISTENER, ASKS };

struct reader {
  struct tide_timepoint point;
  struct world *world;
  bool pending;
};

struct world {
  struct tide_random random;
  struct tide_context *context;
  struct tide_sink sink;
  uint64_t heard;
  struct device devices[2];
  struct tide_queue *queues[QUEUES];
  struct tide_timeline *timelines[TIMELINES];
  uint64_t values[TIMELINES];
  struct reader readers[POINTS];
  struct tide_points *room;
  struct tide_client *client;
  struct tide_future *futures[CHANNELS + 1]; /* the last is the host's */
  struct tide_point named[NAMED];
  enum way way;
  bool submits;
  bool paused, alike; /* alike: nobody ever has another priority */
  char *record;       /* all that was seen */
  size_t length;
};

static uint64_t below(struct world *world, uint64_t limit) {
  return tide_random_below(&world->random, limit);
}

static void see(struct world *world, const char *what, uint64_t a, uint64_t b) {
  CHECK(world->length + 80 < RECORD);
  world->length += (size_t)sprintf(world->record + world->length, "%s %llx %llx\n", what,
                                   (unsigned long long)a, (unsigned long long)b);
}

static void hear(void *self, const struct tide_event *event) {
  struct world *world = self;
  (void)event;
  world->heard++;
}

static void kick(void *self) {
  struct device *device = self;
  device->kicks++;
}

static enum tide_status nothing(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}
static const struct tide_body_class body = {.name = "nothing", .host = nothing};
static const struct tide_body_class brief = {
    .name = "brief", .host = nothing, .non_blocking = true};
static const struct tide_body_class elsewhere = {.name = "elsewhere"};
static const struct tide_body_class other = {
    .name = "other", .host = nothing, .non_blocking = true};

static void open_world(struct world *world, uint64_t seed, enum way way) {
  *world = (struct world){.random = {seed}, .record = malloc(RECORD), .way = way};
  CHECK(world->record);
  world->alike = below(world, 2);
  bool sequential = below(world, 2);
  world->sink = (struct tide_sink){.event = hear, .self = world};
  struct tide_context_params params = {.struct_size = sizeof params,
                                       .sink = way == LISTENER ? &world->sink : NULL,
                                       .frontier_capacity = (uint8_t)(2 + below(world, 6))};
  CHECK_OK(tide_context_create(&params, &world->context));
  for (int i = 0; i < 2; i++) {
    struct device *device = &world->devices[i];
    device->backend = (struct tide_backend){
        .name = "inline", .in_order = i == 0, .hands = 1, .kick = kick, .self = device};
    device->backend.sequential = i == 0 && sequential;
    CHECK_OK(tide_device_open(world->context, &device->backend, "inline", &device->device));
  }
  struct tide_points_params room = {
      .struct_size = sizeof room, .deadline = HOUR, .longest = HOUR, .manual = true};
  CHECK_OK(tide_points_create(world->context, &room, &world->room));
  CHECK_OK(tide_client_create(world->room, NULL, &world->client));
  for (int i = 0; i < QUEUES; i++) {
    struct tide_queue_params queue = {.struct_size = sizeof queue,
                                      .operations = 4 + (uint32_t)below(world, 30),
                                      .client = i < CHANNELS ? world->client : NULL,
                                      .priority =
                                          world->alike ? 0 : (uint8_t)(1 + below(world, 15))};
    CHECK_OK(tide_queue_create(world->devices[i == QUEUES - 1].device, &queue, &world->queues[i]));
    if (i < CHANNELS)
      CHECK_OK(tide_queue_create_future(world->queues[i], NULL, &world->futures[i]));
  }
  CHECK_OK(tide_future_create(world->client, NULL, &world->futures[CHANNELS]));
  for (int i = 0; i < TIMELINES; i++)
    CHECK_OK(tide_timeline_create(world->context, NULL, &world->timelines[i]));
}

/* ---- steps ---- */

/* For what is over, promised or not, and known or not. */
static size_t add_waits(struct world *world, struct tide_wait *out_waits) {
  size_t count = 1 + below(world, below(world, 4) ? 3 : WAITS);
  for (size_t i = 0; i < count; i++) {
    size_t line = below(world, TIMELINES);
    if (below(world, 4) == 0) {
      out_waits[i] = (struct tide_wait){world->timelines[line], world->values[line]};
      continue;
    }
    struct tide_queue *queue = world->queues[below(world, QUEUES)];
    uint64_t epoch;
    tide_queue_position(queue, NULL, &epoch);
    out_waits[i].timeline = tide_queue_progress(queue);
    out_waits[i].value = tide_timeline_query(out_waits[i].timeline) + below(world, 4);
    if (out_waits[i].value > epoch && below(world, 8)) out_waits[i].value = epoch;
  }
  return count;
}

static void submit(struct world *world) {
  struct tide_queue *queue = world->queues[below(world, QUEUES)];
  struct tide_wait several[WAITS];
  struct tide_wait wait = {world->timelines[below(world, TIMELINES)], 0};
  struct tide_signal signal = {world->timelines[below(world, TIMELINES)], 0, false};
  struct tide_operation operation = {.label = below(world, 4) ? NULL : "labelled",
                                     .body = below(world, 4) ? &brief : &body,
                                     .flags = below(world, 8) ? 0 : TIDE_MAY_BE_PASSED};
  char arguments[8] = "seven";
  if (below(world, 8) == 0) {
    operation.label = "argued";
    operation.arguments = arguments;
    operation.arguments_size = sizeof arguments;
  }
  if (below(world, 60) == 0) operation.body = &elsewhere;
  else if (below(world, 16) == 0) operation.body = NULL;
  uint64_t kind = below(world, 20), sequence = 0;
  for (int i = 0; i < TIMELINES; i++) {
    if (wait.timeline == world->timelines[i]) wait.value = world->values[i] + (kind == 0);
    if (signal.timeline == world->timelines[i]) signal.value = world->values[i] + 1 + (kind == 3);
  }
  if (kind == 13) {
    wait.timeline = tide_queue_progress(world->queues[below(world, QUEUES)]);
    wait.value = tide_timeline_query(wait.timeline) + below(world, 4);
  }
  operation.waits = &wait;
  operation.signals = &signal;
  operation.wait_count =
      (kind < 3 || kind == 13) && wait.value > 0 && wait.timeline != signal.timeline;
  operation.signal_count = kind < 5;
  if (kind > 13) {
    operation.waits = several;
    operation.wait_count = add_waits(world, several);
  }
  enum tide_status status = tide_queue_submit(queue, &operation, &sequence, NULL);
  see(world, "submit", status, sequence);
  for (int i = 0; status == TIDE_OK && operation.signal_count && i < TIMELINES; i++)
    if (signal.timeline == world->timelines[i]) world->values[i] = signal.value;
}

/* A point of any future timeline, perhaps one that nobody has promised. */
static struct tide_point *name_point(struct world *world) {
  return &world->named[below(world, NAMED)];
}

/* The host's promise, which it keeps, or not, at once or later. */
static void promise(struct world *world) {
  struct tide_point *point = name_point(world);
  struct tide_future *future = world->futures[CHANNELS];
  enum tide_status status = TIDE_OK;
  if (below(world, 2)) status = tide_future_promise(future, 0, point);
  else if (below(world, 4)) status = tide_future_fulfil(future, point->value, NULL);
  else status = tide_future_break(future, point->value, TIDE_IO);
  see(world, "promise", status, point->value);
}

/* Waits for points, retires one, is cancelled by one, chooses by one: each mostly not. */
static void submit_command(struct world *world) {
  size_t at = below(world, CHANNELS), named = below(world, NAMED);
  struct tide_point own, waits[2], cancel, choose;
  struct tide_operation_points points = {.waits = waits, .retires = &own};
  struct tide_operation operation = {.label = "command",
                                     .body = below(world, 4) ? &brief : &body,
                                     .flags = below(world, 8) ? 0 : TIDE_MAY_BE_PASSED,
                                     .points = &points};
  if (below(world, 6) == 0) operation.flags |= TIDE_DESPITE_BROKEN;
  points.wait_count = below(world, 3);
  for (size_t i = 0; i < points.wait_count; i++) waits[i] = *name_point(world);
  cancel = *name_point(world);
  choose = *name_point(world);
  if (below(world, 8) == 0) points.cancel = &cancel;
  if (below(world, 4) == 0) points.choose = &choose, points.otherwise = &other;
  if (below(world, 4) && tide_future_promise(world->futures[at], 0, &own) == TIDE_OK) {
    points.retire_count = 1;
    world->named[named] = own;
  }
  uint64_t sequence = 0;
  enum tide_status status = tide_queue_submit(world->queues[at], &operation, &sequence, NULL);
  see(world, "command", status, sequence);
  if (status != TIDE_OK && points.retire_count)
    see(world, "kept", tide_future_break(world->futures[at], own.value, TIDE_CANCELLED), own.value);
  if (below(world, 8) == 0 && !world->alike)
    see(world, "raise",
        tide_queue_increase_priority_until(world->queues[at], *name_point(world), 15, NULL), at);
}

/* Some, in any order; of a sequential device all, in the order in which they were given. */
static size_t end_some(struct world *world, struct device *device, struct tide_work **out_done) {
  bool all = device->backend.sequential;
  size_t count = device->count && !all ? below(world, device->count + 1) : device->count;
  for (size_t i = 0; i < count; i++) {
    size_t at = all ? 0 : below(world, device->count);
    out_done[i] = device->hands[at];
    device->count--;
    if (all) memmove(device->hands, device->hands + 1, device->count * sizeof *device->hands);
    else device->hands[at] = device->hands[device->count];
    if (below(world, 12) == 0) out_done[i]->status = TIDE_IO;
  }
  return count;
}

/* The same as tide_device_exchange, by a submit that comes to nothing. */
static size_t ask(struct world *world, struct device *device, struct tide_work **done, size_t count,
                  struct tide_work **out_taken, size_t most, bool *out_more) {
  static const struct tide_body_class never = {.name = "never"};
  struct tide_operation refused = {.body = &never, .arguments_size = TIDE_ARGUMENTS_MAX + 1};
  struct tide_delegation *request = &device->request;
  request->device = device->device;
  request->most = (uint32_t)most;
  request->count = (uint32_t)count;
  for (size_t i = 0; i < count; i++) request->works[i] = done[i];
  CHECK(tide_delegation_post(world->context->sched, request));
  world->submits = true;
  CHECK(tide_queue_submit(world->queues[0], &refused, NULL, NULL) == TIDE_INVALID);
  world->submits = false;
  CHECK_EQ_U64(request->answered, ++device->asked);
  CHECK(!tide_delegation_take_back(world->context->sched, request));
  struct tide_fired calls = request->calls;
  tide_fired_run_calls(&calls, world->context);
  for (size_t i = 0; i < request->task_count; i++) {
    const struct tide_task *task = &request->tasks[i];
    const struct tide_work *work = out_taken[i] = request->works[i];
    CHECK(task->body == work->body);
    CHECK(task->arguments ? task->arguments == tide_work_arguments(work)
                          : !memcmp(task->few, tide_work_arguments(work), sizeof task->few));
  }
  *out_more = request->more;
  return request->task_count;
}

static bool all_well(struct tide_work *const *done, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (done[i]->status != TIDE_OK) return false;
  return true;
}

static void exchange(struct world *world, size_t most) {
  struct device *device = &world->devices[below(world, 4) == 0];
  struct tide_work *done[HANDS], *taken[HANDS];
  size_t count = end_some(world, device, done), room;
  room = HANDS - device->count;
  if (most > room) most = room;
  bool more;
  size_t got = world->way == ASKS && all_well(done, count)
                   ? ask(world, device, done, count, taken, most, &more)
                   : tide_device_exchange(device->device, done, count, taken, most, &more);
  see(world, "exchange", got, more);
  for (size_t i = 0; i < got; i++) {
    see(world, tide_work_label(taken[i]), tide_work_axis(taken[i]), taken[i]->epoch);
    see(world, taken[i]->body->name, taken[i]->status, 0);
    if (!strcmp(tide_work_label(taken[i]), "argued"))
      CHECK(!strcmp(tide_work_arguments(taken[i]), "seven"));
    device->hands[device->count++] = taken[i];
  }
}

static void reached(struct tide_timepoint *point, enum tide_status status) {
  struct reader *reader = (struct reader *)(void *)point;
  reader->pending = false;
  CHECK(!reader->world->submits); /* who submits makes nobody else's calls */
  see(reader->world, "reached", (uint64_t)(reader - reader->world->readers), status);
}

static void await(struct world *world) {
  size_t at = below(world, POINTS);
  struct tide_timeline *progress = tide_queue_progress(world->queues[below(world, QUEUES)]);
  uint64_t value = tide_timeline_query(progress) + 1 + below(world, 4);
  struct reader *reader = &world->readers[at];
  if (reader->pending) {
    see(world, "cancel", at, tide_timepoint_cancel(&reader->point));
    reader->pending = false;
    return;
  }
  reader->pending = true;
  reader->world = world;
  reader->point = (struct tide_timepoint){.timeline = progress, .value = value, .call = reached};
  CHECK_OK(tide_timepoint_add(&reader->point));
}

static void step(struct world *world) {
  uint64_t kind = below(world, 100);
  struct tide_queue *queue = world->queues[below(world, QUEUES)];
  if (kind < 30) submit(world);
  else if (kind < 46) submit_command(world);
  else if (kind < 48) promise(world);
  else if (kind < 90)
    exchange(world, below(world, world->alike ? 2 : 8) ? 1 : below(world, HANDS + 1));
  else if (kind < 94) await(world);
  else if (kind < 96) see(world, "cancel", tide_queue_cancel(queue, below(world, 60)), 0);
  else if (kind < 98 && world->alike) return;
  else if (kind < 98) tide_queue_set_priority(queue, (uint8_t)below(world, TIDE_PRIORITY_LEVELS));
  else if (world->paused) tide_context_resume(world->context), world->paused = false;
  else if (kind == 98) tide_context_pause(world->context), world->paused = true;
  else if (below(world, 20) == 0)
    tide_device_lose(world->devices[below(world, 2)].device, TIDE_LOST);
}

/* ---- what is seen ---- */

static void look(struct world *world) {
  TIDE_FRONTIER_STORAGE(frontier, TIDE_FRONTIER_CAPACITY_MAX);
  struct tide_context_stats stats;
  char text[512];
  tide_context_stats(world->context, &stats);
  for (size_t i = 0; i < sizeof stats / sizeof(uint64_t); i++) {
    uint64_t word;
    memcpy(&word, (char *)&stats + i * sizeof word, sizeof word);
    see(world, "stats", i, word);
  }
  for (int i = 0; i < QUEUES; i++) {
    uint64_t epoch;
    tide_frontier_init(&frontier.frontier, TIDE_FRONTIER_CAPACITY_MAX);
    tide_queue_position(world->queues[i], &frontier.frontier, &epoch);
    tide_frontier_print(&frontier.frontier, text, sizeof text);
    see(world, text, epoch, tide_timeline_query(tide_queue_progress(world->queues[i])));
    see(world, "tracked", tide_queue_axis(world->queues[i]),
        tide_tracker_epoch(world->context->tracker, tide_queue_axis(world->queues[i])));
  }
  for (int i = 0; i < TIMELINES; i++) {
    uint64_t value = tide_timeline_query(world->timelines[i]);
    struct tide_record_info info = {0};
    tide_frontier_init(&frontier.frontier, TIDE_FRONTIER_CAPACITY_MAX);
    enum tide_status status =
        tide_timeline_frontier_at(world->timelines[i], value, &frontier.frontier, &info);
    tide_frontier_print(&frontier.frontier, text, sizeof text);
    see(world, text, value, status);
    see(world, "record", info.axis, info.epoch);
  }
  for (int i = 0; i < NAMED; i++) {
    enum tide_point_state state = 0;
    enum tide_status ended = TIDE_OK, found;
    found = tide_point_state(world->room, world->named[i], &state, &ended);
    see(world, "point", (uint64_t)found << 8 | state, ended);
  }
  for (int i = 0; i < 2; i++) see(world, "kicks", world->devices[i].kicks, (uint64_t)i);
}

static void close_world(struct world *world) {
  if (world->paused) tide_context_resume(world->context);
  for (int i = 0; i < QUEUES; i++) tide_queue_destroy(world->queues[i]);
  for (int i = 0; i < 2; i++) {
    struct device *device = &world->devices[i];
    while (device->count) {
      size_t count = device->count;
      device->count = tide_device_exchange(device->device, device->hands, count, NULL, 0, NULL);
    }
  }
  for (int i = 0; i < 2; i++) tide_device_certify(world->devices[i].device);
  for (int i = 0; i < 2; i++) {
    CHECK_OK(tide_device_settle(world->devices[i].device, TIDE_FOREVER));
    tide_device_close(world->devices[i].device);
  }
  for (int i = 0; i < TIMELINES; i++) tide_timeline_destroy(world->timelines[i]);
  tide_client_destroy(world->client, TIDE_OK);
  tide_points_destroy(world->room);
  tide_context_destroy(world->context);
  see(world, "end", 0, 0);
}

static void compare(uint64_t seed, const struct world *alone, const struct world *other,
                    const char *how) {
  size_t at = 0, line = 0;
  while (alone->record[at] && alone->record[at] == other->record[at])
    line = alone->record[at++] == '\n' ? at : line;
  if (alone->record[at] != other->record[at])
    FAIL("seed %d: alone '%.60s', %s '%.60s'", (int)seed, alone->record + line, how,
         other->record + line);
}

/* Returns how many exchanges were done by whoever was asked. */
static uint64_t run_three_ways(uint64_t seed) {
  struct world worlds[3];
  uint64_t asked = 0;
  for (int i = 0; i < 3; i++) {
    open_world(&worlds[i], seed, (enum way)i);
    for (int k = 0; k < STEPS; k++) {
      step(&worlds[i]);
      if (k % 16 == 0) look(&worlds[i]);
    }
    look(&worlds[i]);
    close_world(&worlds[i]);
  }
  CHECK(!worlds[ALONE].heard && worlds[LISTENER].heard);
  compare(seed, &worlds[ALONE], &worlds[LISTENER], "with a listener");
  compare(seed, &worlds[ALONE], &worlds[ASKS], "when asked");
  for (int i = 0; i < 2; i++) asked += worlds[ASKS].devices[i].asked;
  for (int i = 0; i < 3; i++) free(worlds[i].record);
  return asked;
}

TEST(comes_to_the_same) {
  uint64_t asked = 0;
  for (uint64_t seed = 1; seed <= 400 / test_slowdown(); seed++) asked += run_three_ways(seed);
  CHECK(asked > 0);
}

/* A queue whose operation is running comes to be looked at again in the same exchange: of some ten
 * thousand runs one sorted it by what is behind that operation. */
TEST(one_that_runs_is_not_sorted_by_the_next) {
  static const uint64_t seeds[] = {6901, 21113, 27978, 41396, 42588, 43670, 47488};
  for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) run_three_ways(seeds[i]);
}

static void submit_waiting(struct tide_queue *queue, struct tide_timeline *timeline,
                           uint64_t value) {
  struct tide_wait wait = {timeline, value};
  struct tide_operation operation = {.body = &body, .waits = &wait, .wait_count = timeline != NULL};
  CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
}

/* Frontiers of two entries. What the middle one's third record says of three axes does not fit, so
 * it is tainted, and lists the same two axes as one of those that wait for it. */
TEST(taint_is_learned) {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *first, *middle, *last;
  struct tide_context_params params = {.struct_size = sizeof params, .frontier_capacity = 2};
  struct tide_backend backend = {.name = "idle", .in_order = true, .hands = 1};
  CHECK_OK(tide_context_create(&params, &context));
  CHECK_OK(tide_device_open(context, &backend, "idle", &device));
  CHECK_OK(tide_queue_create(device, NULL, &first));
  CHECK_OK(tide_queue_create(device, NULL, &middle));
  CHECK_OK(tide_queue_create(device, NULL, &last));
  const struct {
    struct tide_queue *queue, *waits_for;
    uint64_t epoch;
  } steps[] = {{middle, NULL, 0}, {first, middle, 1}, {last, middle, 1}, {middle, first, 1},
               {middle, last, 1}, {first, middle, 3}, {last, middle, 3}};
  TIDE_FRONTIER_STORAGE(known, 2);
  tide_frontier_init(&known.frontier, 2);
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    struct tide_queue *other = steps[i].waits_for;
    submit_waiting(steps[i].queue, other ? tide_queue_progress(other) : NULL, steps[i].epoch);
    tide_queue_position(steps[i].queue, &known.frontier, NULL);
    CHECK(known.frontier.tainted == (i >= 4));
  }
  tide_queue_destroy(first);
  tide_queue_destroy(middle);
  tide_queue_destroy(last);
  tide_device_close(device);
  tide_context_destroy(context);
}

/* All that can start starts, and is over. */
static void run_all(struct tide_device *device) {
  struct tide_work *works[4], *over[4];
  size_t count = tide_device_exchange(device, NULL, 0, works, 4, NULL);
  while (count) {
    memcpy(over, works, sizeof over);
    for (size_t i = 0; i < count; i++) over[i]->status = TIDE_OK;
    count = tide_device_exchange(device, over, count, works, 4, NULL);
  }
}

/* What one wait was, the next one in its storage is not: the first was for a value without a
 * record, and the second, which comes next, has to be waited for. */
TEST(a_wait_that_was_another_before) {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *one, *two;
  struct tide_timeline *host, *of_one, *of_two;
  struct tide_work *works[4];
  struct tide_backend backend = {.name = "by hand", .in_order = true, .hands = 1};
  CHECK_OK(tide_context_create(NULL, &context));
  CHECK_OK(tide_device_open(context, &backend, "by hand", &device));
  CHECK_OK(tide_queue_create(device, NULL, &one));
  CHECK_OK(tide_queue_create(device, NULL, &two));
  CHECK_OK(tide_timeline_create(context, NULL, &host));
  CHECK_OK(tide_timeline_signal(host, 1, NULL));
  of_one = tide_queue_progress(one);
  of_two = tide_queue_progress(two);
  submit_waiting(two, NULL, 0);
  submit_waiting(one, of_two, 1);
  submit_waiting(two, of_one, 1); /* they know each other */
  run_all(device);
  submit_waiting(one, host, 1);
  run_all(device);
  CHECK_EQ_U64(tide_timeline_query(of_one), 2);
  submit_waiting(two, NULL, 0);
  submit_waiting(one, of_two, 3);
  CHECK_EQ_U64(tide_device_exchange(device, NULL, 0, works, 4, NULL), 1);
  works[0]->status = TIDE_OK;
  CHECK_EQ_U64(tide_timeline_query(of_one), 2);
  CHECK_EQ_U64(tide_device_exchange(device, works, 1, works, 4, NULL), 1);
  works[0]->status = TIDE_OK;
  CHECK_EQ_U64(tide_device_exchange(device, works, 1, works, 4, NULL), 0);
  CHECK_EQ_U64(tide_timeline_query(of_one), 3);
  tide_timeline_destroy(host);
  tide_queue_destroy(one);
  tide_queue_destroy(two);
  tide_device_close(device);
  tide_context_destroy(context);
}

TEST_MAIN(CASE(comes_to_the_same), CASE(one_that_runs_is_not_sorted_by_the_next),
          CASE(taint_is_learned), CASE(a_wait_that_was_another_before))
