/* Random programs in every way that the runner knows: what comes out is the same, and what is
 * counted is what a brute-force transitive reduction says. */
#include "harness.h"

#include "base/random.h"
#include "tidemark/cpu.h"
#include "tidemark/file.h"
#include "tidemark/kernel.h"
#include "tidemark/sim.h"
#include "tidemark/wic.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  QUEUES = 4,
  TIMELINES = 5,
  OPERATIONS = 60,
  WAITS = 3,
  TEXT = 32768,
  TAKEN = 2,
  BIG = 40000
};
enum {
  SLOTS = 8 * 3 * (OPERATIONS + 1)
}; /* bytes: of operations, and of what pages and takes hash to */

/* ---- a device kind ------------------------------------------------------------------ */

static enum tide_status open_cpu(void *self, const struct tide_device_request *request,
                                 struct tide_device **out_device, struct tide_diag *diag) {
  struct tide_cpu_params params = {.struct_size = sizeof params,
                                   .label = request->device->label,
                                   .workers = 2 + request->device->takers};
  (void)self, (void)diag;
  return tide_cpu_open(request->context, &params, out_device);
}

static const struct tide_device_kind kinds[] = {
    {"cpu", "threads", true, open_cpu, NULL, NULL, NULL, NULL}};

/* ---- random programs ------------------------------------------------------------------- */

struct generated {
  char text[TEXT];
  size_t length;
  int count;
  int queue[OPERATIONS];
  int needs[OPERATIONS][WAITS]; /* operations that it waits for; -1: none */
};

static void append(struct generated *g, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void append(struct generated *g, const char *format, ...) {
  va_list list;
  va_start(list, format);
  g->length += (size_t)vsnprintf(g->text + g->length, TEXT - g->length, format, list);
  va_end(list);
  CHECK(g->length < TEXT - 1);
}

/* Two queues write a buffer, neither a whole number of pages, and a third one takes it. Who writes
 * again waits until it was taken. */
static void append_take(struct generated *g, struct tide_random *random, int i, int *turns) {
  int b = (int)tide_random_below(random, TAKEN), n = ++turns[b];
  int taker = (int)tide_random_below(random, QUEUES);
  int left = (taker + 1 + (int)tide_random_below(random, QUEUES - 1)) % QUEUES;
  int right = (taker + 1 + (int)tide_random_below(random, QUEUES - 1)) % QUEUES;
  int cut = 8 * (1 + (int)tide_random_below(random, BIG / 8 - 1));
  append(g, "q[%d]: iota big[%d][0, %d], %d  wait took[%d] >= %d  signal from[%d] = %d\n", left, b,
         cut, i, b, n - 1, b, n);
  append(g, "q[%d]: iota big[%d][%d, %d], %d  wait took[%d] >= %d  signal upto[%d] = %d\n", right,
         b, cut, BIG - cut, 7 * i, b, n - 1, b, n);
  append(g, "q[%d]: hash big[%d], slots[%d, 8]  take big[%d]  signal took[%d] = %d\n", taker, b,
         8 * (2 * (OPERATIONS + 1) + i), b, b, n);
}

/* Operation i hashes the slots of those that it waits for into its own: whoever starts too early
 * hashes zeros. Every timeline is signalled by one queue, in the order of its operations. */
static void generate_with(struct generated *g, uint64_t seed, bool later, bool takes) {
  struct tide_random random = {seed};
  int signaller[TIMELINES][OPERATIONS + 1], value[TIMELINES] = {0}, turns[TAKEN] = {0};
  memset(g, 0, sizeof *g);
  g->count = 10 + (int)tide_random_below(&random, OPERATIONS - 10);
  append(g, "device c cpu\nqueue q[%d] on c\ntimeline t[%d]\nbuffer slots %d\n", QUEUES, TIMELINES,
         SLOTS);
  append(g, "scratch page[2] 4K\n");
  if (takes)
    append(g, "buffer big[%d] %d\ntimeline from[%d], upto[%d], took[%d]\n", TAKEN, BIG, TAKEN,
           TAKEN, TAKEN);
  for (int i = 0; i < g->count; i++) {
    int queue = g->queue[i] = (int)tide_random_below(&random, QUEUES);
    int waits = (int)tide_random_below(&random, WAITS + 1), wanted[WAITS], wanted_values[WAITS];
    int kept = 0;
    for (int w = 0; w < WAITS; w++) g->needs[i][w] = -1;
    for (int w = 0; w < waits; w++) {
      int timeline = (int)tide_random_below(&random, TIMELINES);
      /* Now and then a value that is not promised yet. */
      int most = value[timeline] + (later && tide_random_below(&random, 12) == 0);
      if (most == 0) continue;
      wanted[kept] = timeline;
      wanted_values[kept] = 1 + (int)tide_random_below(&random, (uint64_t)most);
      if (later && wanted_values[kept] > value[timeline]) {
        wanted_values[kept] = most;
      } else {
        g->needs[i][kept] = signaller[timeline][wanted_values[kept]];
      }
      kept++;
    }
    int from = kept && g->needs[i][0] >= 0 ? g->needs[i][0] : OPERATIONS;
    append(g, "q[%d]: hash slots[%d, 8], slots[%d, 8], %d", queue, 8 * from, 8 * i, i);
    for (int w = 0; w < kept; w++)
      append(g, "%s t[%d] >= %d", w ? "," : "  wait", wanted[w], wanted_values[w]);
    int timeline = (int)tide_random_below(&random, TIMELINES);
    if (timeline % QUEUES == queue && tide_random_below(&random, 4)) {
      bool twice = false; /* waiting for what one signals is another mistake */
      for (int w = 0; w < kept; w++)
        twice |= wanted[w] == timeline && wanted_values[w] > value[timeline];
      if (!twice) {
        signaller[timeline][++value[timeline]] = i;
        append(g, "  signal t[%d] = %d", timeline, value[timeline]);
      }
    }
    append(g, "\n");
    if (i % 7 == 3) {
      append(g,
             "q[%d]: alloc page[0]\nq[%d]: iota page[0], %d\nq[%d]: hash page[0], slots[%d, 8]\n",
             queue, queue, i, queue, 8 * (OPERATIONS + 1 + i));
      append(g, "q[%d]: free page[0]\n", queue);
    }
    if (takes && tide_random_below(&random, 3) == 0) append_take(g, &random, i, turns);
  }
}

static void generate(struct generated *g, uint64_t seed, bool later) {
  generate_with(g, seed, later, false);
}

/* ---- plans and runs ------------------------------------------------------------------------ */

struct loaded {
  const struct generated *generated;
  struct tide_program *program;
  struct tide_plan *plan;
};

/* False: the plan was refused, as a cyclic one must be. */
static bool load(struct loaded *loaded, const struct generated *g) {
  loaded->generated = g;
  struct tide_diag diag = {.status = TIDE_OK};
  struct tide_report report = {&diag, 1, 0};
  struct tide_program_params params = {.struct_size = sizeof params,
                                       .allocator = tide_allocator_system(),
                                       .text = g->text,
                                       .length = g->length};
  struct tide_body_set set;
  set.bodies = tide_kernel_bodies(&set.count);
  struct tide_plan_params plan = {.struct_size = sizeof plan, .bodies = &set, .body_set_count = 1};
  if (tide_program_parse(&params, &report, &loaded->program) != TIDE_OK) FAIL("%s", diag.text);
  enum tide_status status = tide_plan_create(loaded->program, &plan, &report, &loaded->plan);
  if (status == TIDE_OK) return true;
  if (status != TIDE_DEADLOCK && status != TIDE_NOT_FOUND) FAIL("%s:\n%s", diag.text, g->text);
  tide_program_destroy(loaded->program);
  return false;
}

static void unload(struct loaded *loaded) {
  tide_plan_destroy(loaded->plan);
  tide_program_destroy(loaded->program);
}

struct way {
  enum tide_run_mode mode;
  bool paused, submit_only, check;
  const struct tide_sink *sink;
};

static void no_finding(void *user, const struct tide_diag *diag) {
  FAIL("%s\n%s", diag->text, ((const struct generated *)user)->text);
}

static struct tide_run *run(const struct loaded *loaded, const struct way *way,
                            struct tide_run_result *result) {
  struct tide_diag diag = {.status = TIDE_OK};
  struct tide_run_params params = {.struct_size = sizeof params,
                                   .plan = loaded->plan,
                                   .kinds = kinds,
                                   .kind_count = 1,
                                   .takes = tide_medium_takes(),
                                   .mode = way->mode,
                                   .paused = way->paused,
                                   .submit_only = way->submit_only,
                                   .check = way->check,
                                   .sink = way->sink,
                                   .finding = no_finding,
                                   .finding_user = (void *)(uintptr_t)loaded->generated};
  struct tide_run *made;
  if (tide_run_create(&params, &diag, &made) != TIDE_OK) FAIL("%s", diag.text);
  if (tide_run_execute(made, result, &diag) != TIDE_OK) FAIL("%s", diag.text);
  return made;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static bool reaches[OPERATIONS][OPERATIONS];

/* Edges that no longer path replaces. */
static uint64_t brute_force(const struct generated *g) {
  int last[QUEUES];
  uint64_t needed = 0;
  memset(reaches, 0, sizeof reaches);
  for (int q = 0; q < QUEUES; q++) last[q] = -1;
  for (int i = 0; i < g->count; i++) {
    int preds[WAITS + 1], count = 0;
    if (last[g->queue[i]] >= 0) preds[count++] = last[g->queue[i]];
    for (int w = 0; w < WAITS; w++)
      if (g->needs[i][w] >= 0) preds[count++] = g->needs[i][w];
    for (int a = 0; a < count; a++) {
      bool replaced = g->queue[preds[a]] == g->queue[i];
      for (int b = 0; b < count && !replaced; b++) {
        if (preds[b] == preds[a]) replaced = b < a;
        else replaced = reaches[preds[a]][preds[b]];
      }
      needed += !replaced;
    }
    for (int a = 0; a < count; a++) {
      reaches[preds[a]][i] = true;
      for (int x = 0; x < g->count; x++) reaches[x][i] |= reaches[x][preds[a]];
    }
    last[g->queue[i]] = i;
  }
  return needed;
}

TEST(fewest_is_the_transitive_reduction) {
  struct generated *g = calloc(1, sizeof *g);
  struct loaded loaded;
  for (uint64_t seed = 1; seed <= 300; seed++) {
    struct tide_plan_counts counts;
    generate(g, seed, false);
    CHECK(load(&loaded, g));
    CHECK_OK(tide_plan_count(loaded.plan, kinds, 1, tide_allocator_system(), &counts, NULL));
    CHECK(counts.known);
    CHECK_EQ_U64(counts.fewest_cross, brute_force(g));
    CHECK_EQ_U64(counts.fewest, counts.fewest_cross); /* all queues work in order */
    unload(&loaded);
  }
  free(g);
}

/* Without recycled memory, whose waits bring order, too, what is issued is the fewest possible. */
TEST(paused_issues_the_fewest) {
  struct generated *g = calloc(1, sizeof *g);
  struct loaded loaded;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    struct tide_plan_counts counts;
    struct tide_run_result result;
    struct tide_wait_counter counter;
    struct way way = {.mode = TIDE_RUN_TRACKED, .paused = true, .submit_only = true};
    generate(g, seed, false);
    CHECK(load(&loaded, g));
    CHECK_OK(tide_plan_count(loaded.plan, kinds, 1, tide_allocator_system(), &counts, NULL));
    tide_wait_counter_init(&counter, NULL);
    way.sink = &counter.sink;
    tide_run_destroy(run(&loaded, &way, &result));
    CHECK_EQ_U64(result.sched.waits, counts.waits);
    CHECK_EQ_U64(counter.issued_cross, result.sched.waits_issued);
    if (result.sched.gap_waits == 0) CHECK_EQ_U64(result.sched.waits_issued, counts.fewest);
    else CHECK(result.sched.waits_issued <= counts.fewest);
    unload(&loaded);
  }
  free(g);
}

static void every_way(bool later, bool takes, uint64_t seeds) {
  static const struct way ways[] = {{.mode = TIDE_RUN_TRACKED},
                                    {.mode = TIDE_RUN_TRACKED, .check = true},
                                    {.mode = TIDE_RUN_TRACKED, .paused = true},
                                    {.mode = TIDE_RUN_EVENTS},
                                    {.mode = TIDE_RUN_BARRIER}};
  struct generated *g = calloc(1, sizeof *g);
  struct loaded loaded;
  uint64_t accepted = 0;
  for (uint64_t seed = 1; seed <= seeds; seed++) {
    struct tide_run_result result;
    struct way sequential = {.mode = TIDE_RUN_SEQUENTIAL};
    generate_with(g, seed, later, takes);
    if (!load(&loaded, g)) continue;
    accepted++;
    struct tide_run *reference = run(&loaded, &sequential, &result);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
      if (later && ways[i].mode == TIDE_RUN_BARRIER)
        continue; /* cannot wait for what comes later */
      struct tide_run *other = run(&loaded, &ways[i], &result);
      if (memcmp(tide_run_buffer(reference, 0), tide_run_buffer(other, 0), SLOTS))
        FAIL("seed %llu, way %zu differs:\n%s", (unsigned long long)seed, i, g->text);
      tide_run_destroy(other);
    }
    tide_run_destroy(reference);
    unload(&loaded);
  }
  CHECK(accepted > seeds / 20);
  free(g);
}

TEST(every_way_gives_the_same) { every_way(false, false, 40 / (test_slowdown() > 3 ? 4 : 1)); }
TEST(waits_for_what_comes_later) { every_way(true, false, 120 / (test_slowdown() > 3 ? 4 : 1)); }

static bool may_fault(void) {
  struct tide_context *context;
  struct tide_medium *medium;
  CHECK_OK(tide_context_create(NULL, &context));
  enum tide_status status = tide_medium_create(context, NULL, &medium);
  if (status == TIDE_OK) tide_medium_destroy(medium);
  tide_context_destroy(context);
  return status == TIDE_OK;
}

TEST(what_is_taken_is_what_was_written) {
  if (!may_fault()) SKIP("userfaultfd cannot be had here");
  every_way(false, true, 40 / (test_slowdown() > 3 ? 4 : 1));
  every_way(true, true, 120 / (test_slowdown() > 3 ? 2 : 1)); /* few of these are programs */
}

/* ---- no memory ------------------------------------------------------------------------------ */

struct poor {
  struct tide_allocator allocator;
  uint64_t left, live;
};

static void *poor_alloc(void *self, size_t size, size_t align) {
  struct poor *poor = self;
  const struct tide_allocator *system = tide_allocator_system();
  if (__atomic_load_n(&poor->left, __ATOMIC_RELAXED) == 0) return NULL;
  __atomic_fetch_sub(&poor->left, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&poor->live, 1, __ATOMIC_RELAXED);
  return system->alloc(system->self, size, align);
}

static void poor_free(void *self, void *memory, size_t size) {
  struct poor *poor = self;
  const struct tide_allocator *system = tide_allocator_system();
  if (memory) __atomic_fetch_sub(&poor->live, 1, __ATOMIC_RELAXED);
  system->free(system->self, memory, size);
}

/* Every allocation is refused once: a clear error each time, and nothing is lost. */
TEST(every_allocation_fails_once) {
  static const char text[] = "device c cpu\nqueue q, r on c\ntimeline t, u\nbuffer x 8\n"
                             "scratch s 4K\ncollective both over q, r\n"
                             "r: hash x, x  wait t >= 1\n"
                             "q: alloc s\nq: iota s\nq: hash s, x  signal t = 1\nq: free s\n"
                             "both: nop\nhost: wait t >= 1\nhost: signal u = 1\n"
                             "q: nop  wait u >= 1, both >= 1\n";
  struct generated *g = calloc(1, sizeof *g);
  struct loaded loaded;
  append(g, "%s", text);
  for (int mode = TIDE_RUN_TRACKED; mode <= TIDE_RUN_SEQUENTIAL; mode++) {
    enum tide_status status = TIDE_NOMEM;
    if (mode == TIDE_RUN_BARRIER) continue; /* cannot say what this program says */
    CHECK(load(&loaded, g));
    for (uint64_t n = 0; status != TIDE_OK; n++) {
      struct poor poor = {.left = n};
      struct tide_diag diag = {.status = TIDE_OK};
      struct tide_run_result result;
      struct tide_run *made = NULL;
      poor.allocator = (struct tide_allocator){poor_alloc, poor_free, &poor};
      struct tide_run_params params = {.struct_size = sizeof params,
                                       .allocator = &poor.allocator,
                                       .plan = loaded.plan,
                                       .kinds = kinds,
                                       .kind_count = 1,
                                       .mode = (enum tide_run_mode)mode};
      status = tide_run_create(&params, &diag, &made);
      if (status == TIDE_OK) status = tide_run_execute(made, &result, &diag);
      if (status != TIDE_OK && status != TIDE_NOMEM)
        FAIL("mode %d, allocation %llu: %s: %s", mode, (unsigned long long)n,
             tide_status_name(status), diag.text);
      if (status != TIDE_OK) CHECK(diag.text[0]);
      tide_run_destroy(made);
      CHECK_EQ_U64(poor.live, 0);
      CHECK(n < 2000);
    }
    unload(&loaded);
  }
  free(g);
}

/* ---- simulated --------------------------------------------------------------------------- */

static uint64_t simulated(const struct loaded *loaded, struct tide_simulation_params *params) {
  struct tide_diag diag = {.status = TIDE_OK};
  struct tide_simulation *simulation;
  params->plan = loaded->plan;
  if (tide_simulate(params, &diag, &simulation) != TIDE_OK)
    FAIL("%s:\n%s", diag.text, loaded->generated->text);
  const struct tide_simulation_result *r = tide_simulation_result(simulation);
  const struct tide_sim_path *path = &r->path;
  uint64_t makespan = r->makespan, busy = tide_simulation_device(simulation, 0).busy;
  CHECK_EQ_U64(r->operations, tide_plan_tables(loaded->plan)->operations);
  CHECK_EQ_U64(path->bodies + path->waits + path->latency + path->hands + path->others, makespan);
  CHECK(r->longest_chain <= makespan);
  CHECK_EQ_U64(busy, r->busy);
  CHECK(busy <= makespan * params->workers);
  /* Never idle while something could run: Graham's bound. */
  if (!params->latencies[TIDE_WAY_QUEUE] && !params->wake && !params->memory)
    CHECK(makespan <= busy / params->workers + r->longest_chain + 1);
  tide_simulation_destroy(simulation);
  return makespan;
}

/* A program of barriers cannot wait for what comes later. */
static void simulate_ways(const struct loaded *loaded, struct tide_random *random, bool later) {
  enum tide_run_mode last = later ? TIDE_RUN_EVENTS : TIDE_RUN_BARRIER;
  struct tide_simulation_params params = {
      .struct_size = sizeof params,
      .seed = tide_random_below(random, 100),
      .cost = 1 + tide_random_below(random, 5000),
      .cost_per_kib = tide_random_below(random, 5000),
      .spread = (enum tide_sim_spread)tide_random_below(random, 3),
      .workers = 1 + (uint32_t)tide_random_below(random, QUEUES),
      .wait_cost = tide_random_below(random, 2) * 300,
      .wake = tide_random_below(random, 2) * 700,
  };
  params.latencies[TIDE_WAY_QUEUE] = tide_random_below(random, 2) * 1000;
  for (int mode = TIDE_RUN_TRACKED; mode <= (int)last; mode++) {
    params.mode = (enum tide_run_mode)mode;
    uint64_t first = simulated(loaded, &params);
    CHECK_EQ_U64(simulated(loaded, &params), first);
  }
}

TEST(simulations_add_up) {
  static struct generated g;
  struct tide_random random = {77};
  for (uint64_t seed = 1; seed <= 200 / (test_slowdown() > 3 ? 4 : 1); seed++) {
    struct loaded loaded;
    generate_with(&g, seed, seed % 2, seed % 3 == 0);
    if (!load(&loaded, &g)) continue;
    simulate_ways(&loaded, &random, seed % 2);
    unload(&loaded);
  }
}

TEST_MAIN(CASE(simulations_add_up), CASE(fewest_is_the_transitive_reduction),
          CASE(paused_issues_the_fewest), CASE(every_way_gives_the_same),
          CASE(waits_for_what_comes_later), CASE(what_is_taken_is_what_was_written),
          CASE(every_allocation_fails_once))
