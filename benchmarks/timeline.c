/* Timelines through the shared library, as a user calls them, against the least that
 * such a call could do. */
#include "bench.h"
#include "rival/fx.h"
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
  enum tide_status (*any_wait)(struct tide_wait_any_set *, uint64_t, size_t *);
  enum tide_status (*add)(struct tide_timepoint *);
  enum tide_status (*axis_register)(struct tide_tracker *, tide_axis);
  void (*raise)(struct tide_frontier *, tide_axis, uint64_t, const struct tide_eviction *);
  void (*frontier_init)(struct tide_frontier *, uint8_t);
  void (*fx_init)(struct fx *);
  bool (*fx_signal)(struct fx *, uint64_t);
  bool (*fx_add)(struct fx *, struct fx_node *, uint64_t);
  bool (*fx_remove)(struct fx *, struct fx_node *);
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

static void load_api(struct api *api, void *ours, void *theirs) {
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
  *(void **)&api->any_wait = library_find(ours, "tide_wait_any_wait");
  *(void **)&api->add = library_find(ours, "tide_timepoint_add");
  *(void **)&api->axis_register = library_find(ours, "tide_tracker_register");
  *(void **)&api->raise = library_find(ours, "tide_frontier_insert_or_raise");
  *(void **)&api->frontier_init = library_find(ours, "tide_frontier_init");
  *(void **)&api->fx_init = library_find(theirs, "fx_init");
  *(void **)&api->fx_signal = library_find(theirs, "fx_signal");
  *(void **)&api->fx_add = library_find(theirs, "fx_add");
  *(void **)&api->fx_remove = library_find(theirs, "fx_remove");
  *(void **)&api->rival_load = library_find(theirs, "rival_load");
  *(void **)&api->rival_swap = library_find(theirs, "rival_swap");
  *(void **)&api->rival_swap_and_copy = library_find(theirs, "rival_swap_and_copy");
}

static void load(struct world *world) {
  world->library = library_open("libtidemark.so");
  world->rivals = library_open("libbench-rival.so");
  load_api(&world->api, world->library, world->rivals);
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

/* ---- a waiter's whole life: it registers, one signal comes, it ends ---- */

/* The least: a set is a word, and each fx's node says which. */
struct least_set {
  uint32_t word;
  struct fx_node *winner;
};
struct least_point {
  struct fx_node node;
  struct least_set *set;
};

struct lives {
  struct api api;
  void *library, *rivals;
  struct tide_context *context;
  size_t count;
  uint64_t value;
  struct tide_timeline **timelines;
  struct tide_wait_point *points;
  struct tide_timepoint *calls;
  struct fx *fx;
  struct least_point *least;
};

static uint64_t called;
static void on_call(struct tide_timepoint *call, enum tide_status status) {
  (void)call;
  called += status == TIDE_OK;
}
static void on_least_call(struct fx_node *node) {
  (void)node;
  called++;
}
static void latch_least(struct fx_node *node) {
  struct least_set *set = ((struct least_point *)(void *)node)->set;
  if (__atomic_exchange_n(&set->word, 1, __ATOMIC_ACQ_REL) == 0) set->winner = node;
}

static void *lines_of(size_t count, size_t size) {
  void *memory = aligned_alloc(64, (count * size + 63) / 64 * 64);
  if (!memory) bench_wrong("memory");
  return memory;
}

static void begin_lives(struct lives *w, size_t count) {
  w->count = bench_smoke() && count > 100 ? 100 : count;
  w->library = library_open("libtidemark.so");
  w->rivals = library_open("libbench-rival.so");
  load_api(&w->api, w->library, w->rivals);
  w->value = 0;
  w->timelines = lines_of(w->count, sizeof *w->timelines);
  w->points = lines_of(w->count, sizeof *w->points);
  w->calls = lines_of(w->count, sizeof *w->calls);
  w->fx = lines_of(w->count, sizeof *w->fx);
  w->least = lines_of(w->count, sizeof *w->least);
  BENCH_CHECK(w->api.context_create(NULL, &w->context) == TIDE_OK);
  for (size_t i = 0; i < w->count; i++) {
    BENCH_CHECK(w->api.create(w->context, NULL, &w->timelines[i]) == TIDE_OK);
    w->api.fx_init(&w->fx[i]);
    w->calls[i] = (struct tide_timepoint){.timeline = w->timelines[i], .call = on_call};
    w->points[i] = (struct tide_wait_point){.timeline = w->timelines[i]};
    w->least[i] = (struct least_point){.set = NULL};
  }
}

static void end_lives(struct lives *w) {
  for (size_t i = 0; i < w->count; i++) w->api.destroy(w->timelines[i]);
  w->api.context_destroy(w->context);
  free(w->timelines);
  free(w->points);
  free(w->calls);
  free(w->fx);
  free(w->least);
  dlclose(w->library);
  dlclose(w->rivals);
}

/* A call for the next value of each timeline, and the signal that makes it. */
static void call_each(struct lives *w, unsigned side) {
  uint64_t value = ++w->value;
  for (size_t i = 0; i < w->count; i++) {
    if (side == 0) {
      w->calls[i].value = value;
      BENCH_CHECK(w->api.add(&w->calls[i]) == TIDE_OK);
      BENCH_CHECK(w->api.signal(w->timelines[i], value, NULL) == TIDE_OK);
    } else {
      w->least[i].node.fire = on_least_call;
      BENCH_CHECK(w->api.fx_add(&w->fx[i], &w->least[i].node, value));
      BENCH_CHECK(w->api.fx_signal(&w->fx[i], value));
    }
  }
}

/* A set that waits for any of the timelines, of which the middle one is signalled. */
static void wait_for_any(struct lives *w, unsigned side) {
  uint64_t value = ++w->value;
  size_t signalled = w->count / 2, index = SIZE_MAX;
  if (side == 0) {
    struct tide_wait_any_set set;
    for (size_t i = 0; i < w->count; i++) w->points[i].value = value;
    BENCH_CHECK(w->api.any_init(&set, w->points, w->count) == TIDE_OK);
    BENCH_CHECK(w->api.signal(w->timelines[signalled], value, NULL) == TIDE_OK);
    BENCH_CHECK(w->api.any_wait(&set, TIDE_FOREVER, &index) == TIDE_OK && index == signalled);
    w->api.any_fini(&set);
    return;
  }
  struct least_set set = {0};
  for (size_t i = 0; i < w->count; i++) {
    w->least[i].node.fire = latch_least;
    w->least[i].set = &set;
    BENCH_CHECK(w->api.fx_add(&w->fx[i], &w->least[i].node, value));
  }
  BENCH_CHECK(w->api.fx_signal(&w->fx[signalled], value));
  BENCH_CHECK(__atomic_load_n(&set.word, __ATOMIC_ACQUIRE) &&
              set.winner == &w->least[signalled].node);
  for (size_t i = 0; i < w->count; i++) w->api.fx_remove(&w->fx[i], &w->least[i].node);
}

struct life {
  size_t count;
  void (*round)(struct lives *w, unsigned side);
  double others; /* a library that is not here, where a compare-and-swap took 2.5 ns */
};

/* ns of a round, but the first, in which much is new to the caches; and of the first. */
static const char *live(const void *what, unsigned side, double *out) {
  const struct life *life = what;
  struct lives lives;
  if (side == 2) {
    out[0] = BENCH_SCALED(life->others);
    out[1] = NAN;
    return NULL;
  }
  begin_lives(&lives, life->count);
  size_t each = life->round == call_each ? lives.count : 1;
  uint64_t times = bench_smoke() ? 2 : life->count > 100 ? 10 : 100000 / life->count;
  called = 0;
  uint64_t start = bench_now();
  life->round(&lives, side);
  uint64_t second = bench_now();
  for (uint64_t i = 0; i < times; i++) life->round(&lives, side);
  out[0] = (double)(bench_now() - second) / (double)(times * each);
  out[1] = each > 1 ? (double)(second - start) / (double)each : NAN; /* one is lost in noise */
  if (life->round == call_each) BENCH_CHECK(called == (times + 1) * lives.count);
  end_lives(&lives);
  return NULL;
}

#define LIFE(figure, n, doing, ns, theirs)                                                         \
  {.name = figure,                                                                                 \
   .contest = &(const struct bench_contest){                                                       \
       .sides = {"ours", "minimal", theirs ", scaled by the CAS"},                                 \
       .values = {{"each", "ns", BENCH_LESS}, {"the first time", "ns", BENCH_LESS}},               \
       .measure = live,                                                                            \
       .what = &(const struct life){n, doing, ns}}},

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
    LIFE("call_of_1", 1, call_each, 12.7, "IREE")
    LIFE("calls_of_10000", 10000, call_each, 36, "IREE")
    LIFE("any_of_1", 1, wait_for_any, 67, "SwiftShader")
    LIFE("any_of_4", 4, wait_for_any, 163, "SwiftShader")
    {0}};
