/* Timelines through the shared library, as a user calls them, against the least that
 * such a call could do. */
#include "bench.h"
#include "rival/rival.h"
#include "shared_library.h"

#include "tidemark/tidemark.h"

#include <stdlib.h>

/* The shared libraries' own functions, so that what is measured includes the call into one. */
struct api {
  enum tide_status (*context_create)(const struct tide_context_params *, struct tide_context **);
  void (*context_destroy)(struct tide_context *);
  enum tide_status (*create)(struct tide_context *, const struct tide_timeline_params *,
                             struct tide_timeline **);
  struct tide_tracker *(*tracker)(const struct tide_context *);
  void (*destroy)(struct tide_timeline *);
  enum tide_status (*signal)(struct tide_timeline *, uint64_t, struct tide_position *);
  uint64_t (*query)(const struct tide_timeline *);
  enum tide_status (*wait)(struct tide_timeline *, uint64_t, uint64_t);
  enum tide_status (*any_init)(struct tide_wait_any_set *, struct tide_wait_point *, size_t);
  void (*any_fini)(struct tide_wait_any_set *);
  enum tide_status (*axis_register)(struct tide_tracker *, tide_axis);
  void (*raise)(struct tide_frontier *, tide_axis, uint64_t, const struct tide_eviction *);
  void (*frontier_init)(struct tide_frontier *, uint8_t);
  uint64_t (*rival_load)(const uint64_t *);
  bool (*rival_swap)(struct rival *, uint64_t);
  bool (*rival_swap_and_copy)(struct rival *, uint64_t, tide_axis, const struct tide_frontier *);
};

#define HISTORY 16
#define ENTRIES 8

struct world {
  struct api api;
  void *library, *rivals;
  struct tide_context *context;
  struct tide_timeline *timeline, *other;
  struct tide_position position;
  TIDE_FRONTIER_STORAGE(known, 16);
  uint64_t value;
  struct rival rival;
  const uint64_t *word; /* the rival's */
  /* Far-off any-waits, each for one of two timelines. */
  struct tide_timeline *third;
  struct tide_wait_any_set *sets;
  struct tide_wait_point (*points)[2];
  size_t set_count;
};

static void load(struct world *world) {
  void *ours = world->library = library_open("libtidemark.so");
  void *theirs = world->rivals = library_open("libbench-rival.so");
  struct api *api = &world->api;
  *(void **)&api->context_create = library_find(ours, "tide_context_create");
  *(void **)&api->context_destroy = library_find(ours, "tide_context_destroy");
  *(void **)&api->tracker = library_find(ours, "tide_context_tracker");
  *(void **)&api->create = library_find(ours, "tide_timeline_create");
  *(void **)&api->destroy = library_find(ours, "tide_timeline_destroy");
  *(void **)&api->signal = library_find(ours, "tide_timeline_signal");
  *(void **)&api->query = library_find(ours, "tide_timeline_query");
  *(void **)&api->wait = library_find(ours, "tide_timeline_wait");
  *(void **)&api->any_init = library_find(ours, "tide_wait_any_init");
  *(void **)&api->any_fini = library_find(ours, "tide_wait_any_fini");
  *(void **)&api->axis_register = library_find(ours, "tide_tracker_register");
  *(void **)&api->raise = library_find(ours, "tide_frontier_insert_or_raise");
  *(void **)&api->frontier_init = library_find(ours, "tide_frontier_init");
  *(void **)&api->rival_load = library_find(theirs, "rival_load");
  *(void **)&api->rival_swap = library_find(theirs, "rival_swap");
  *(void **)&api->rival_swap_and_copy = library_find(theirs, "rival_swap_and_copy");
  world->word = &world->rival.cell;
}

static void *make(void) {
  struct world *world = calloc(1, sizeof *world);
  if (!world) bench_wrong("memory");
  load(world);
  BENCH_CHECK(world->api.context_create(NULL, &world->context) == TIDE_OK);
  struct tide_timeline_params params = {
      .struct_size = sizeof params, .label = "bench", .history = HISTORY};
  BENCH_CHECK(world->api.create(world->context, &params, &world->timeline) == TIDE_OK);
  BENCH_CHECK(world->api.create(world->context, &params, &world->other) == TIDE_OK);
  BENCH_CHECK(world->api.create(world->context, &params, &world->third) == TIDE_OK);
  world->position.axis = tide_axis_make(0, TIDE_DOMAIN_HOST, 1);
  world->position.frontier = &world->known.frontier;
  world->api.frontier_init(&world->known.frontier, 16);
  BENCH_CHECK(world->api.axis_register(world->api.tracker(world->context), world->position.axis) ==
              TIDE_OK);
  for (uint64_t i = 2; i <= ENTRIES; i++)
    world->api.raise(&world->known.frontier, tide_axis_make(0, TIDE_DOMAIN_QUEUE, i), i * 7, NULL);
  return world;
}

static void drop(void *state) {
  struct world *world = state;
  for (size_t i = 0; i < world->set_count; i++) world->api.any_fini(&world->sets[i]);
  world->api.destroy(world->timeline);
  world->api.destroy(world->other);
  world->api.destroy(world->third);
  world->api.context_destroy(world->context);
  free(world->points);
  free(world->sets);
  dlclose(world->library);
  dlclose(world->rivals);
  free(world);
}

/* ---- signal --------------------------------------------------------------------- */

static void signal_external(void *state, uint64_t count) {
  struct world *world = state;
  for (uint64_t i = 0; i < count; i++)
    BENCH_CHECK(world->api.signal(world->timeline, ++world->value, NULL) == TIDE_OK);
}

static void signal_tracked(void *state, uint64_t count) {
  struct world *world = state;
  for (uint64_t i = 0; i < count; i++)
    BENCH_CHECK(world->api.signal(world->timeline, ++world->value, &world->position) == TIDE_OK);
}

static void swap_only(void *state, uint64_t count) {
  struct world *world = state;
  uint64_t value = world->rival.cell;
  for (uint64_t i = 0; i < count; i++) BENCH_CHECK(world->api.rival_swap(&world->rival, ++value));
}

static void swap_and_copy(void *state, uint64_t count) {
  struct world *world = state;
  uint64_t value = world->rival.cell;
  for (uint64_t i = 0; i < count; i++)
    BENCH_CHECK(world->api.rival_swap_and_copy(&world->rival, ++value, world->position.axis,
                                               &world->known.frontier));
}

/* ---- query and wait ----------------------------------------------------------------- */

static void query(void *state, uint64_t count) {
  struct world *world = state;
  for (uint64_t i = 0; i < count; i++) bench_keep(world->api.query(world->timeline));
}

static void load_many(void *state, uint64_t count) {
  struct world *world = state;
  for (uint64_t i = 0; i < count; i++) bench_keep(world->api.rival_load(world->word));
}

static void *make_reached(void) {
  struct world *world = make();
  signal_external(world, 5);
  return world;
}

static void wait_satisfied(void *state, uint64_t count) {
  struct world *world = state;
  for (uint64_t i = 0; i < count; i++)
    BENCH_CHECK(world->api.wait(world->timeline, 3, TIDE_FOREVER) == TIDE_OK);
}

static void wait_unsatisfied(void *state, uint64_t count) {
  struct world *world = state;
  for (uint64_t i = 0; i < count; i++)
    BENCH_CHECK(world->api.wait(world->timeline, 30, TIDE_NOW) == TIDE_TIMEOUT);
}

/* ---- far-off waiters --------------------------------------------------------------------- */

static void *make_far(size_t count) {
  struct world *world = make();
  world->points = calloc(count, sizeof *world->points);
  world->sets = calloc(count, sizeof *world->sets);
  if (!world->points || !world->sets) bench_wrong("memory");
  for (size_t i = 0; i < count; i++) {
    world->points[i][0].timeline = world->timeline;
    world->points[i][1].timeline = world->third;
    world->points[i][0].value = world->points[i][1].value = UINT64_MAX / 2 + i;
    BENCH_CHECK(world->api.any_init(&world->sets[i], world->points[i], 2) == TIDE_OK);
    world->set_count++;
  }
  return world;
}

static void *make_far_10(void) { return make_far(10); }
static void *make_far_1000(void) { return make_far(1000); }
static void *make_far_10000(void) { return make_far(10000); }
static void *make_far_100000(void) { return make_far(bench_smoke() ? 1000 : 100000); }

static void signal_other(void *state, uint64_t count) {
  struct world *world = state;
  for (uint64_t i = 0; i < count; i++)
    BENCH_CHECK(world->api.signal(world->other, ++world->rival.cell, NULL) == TIDE_OK);
}

#define FAR(n)                                                                                     \
  {.name = "signal_" #n "_far_any_waits",                                                          \
   .rival = "nobody waits",                                                                        \
   .setup = make_far_##n,                                                                          \
   .teardown = drop,                                                                               \
   .ours = signal_external,                                                                        \
   .theirs = signal_other,                                                                         \
   .curve = "signal, far any-waits",                                                               \
   .at = n,                                                                                        \
   .along = "waits"},

/* clang-format off */
const struct bench_figure bench_timeline[] = {
    {.name = "signal_external",
     .rival = "one CAS",
     .setup = make,
     .teardown = drop,
     .ours = signal_external,
     .theirs = swap_only},
    {.name = "signal_tracked_8",
     .rival = "one CAS + copy of 8 entries",
     .setup = make,
     .teardown = drop,
     .ours = signal_tracked,
     .theirs = swap_and_copy},
    {.name = "query",
     .rival = "out-of-line load",
     .setup = make_reached,
     .teardown = drop,
     .ours = query,
     .theirs = load_many},
    {.name = "wait_satisfied",
     .rival = "out-of-line load",
     .setup = make_reached,
     .teardown = drop,
     .ours = wait_satisfied,
     .theirs = load_many},
    {.name = "wait_unsatisfied_now",
     .rival = "out-of-line load",
     .setup = make_reached,
     .teardown = drop,
     .ours = wait_unsatisfied,
     .theirs = load_many},
    FAR(10) FAR(1000) FAR(10000) FAR(100000)
    {0}};
