/* Threads, pins, clocks: one run of a pattern. */
#include "moments.h"
#include "run.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STACK (256 * 1024)
#define SOME 8 /* consumers that are enough to learn a pace */

const char *const model_names[MODELS] = {"unidirectional", "alternating", "multiple",
                                         "probabilistic"};
const char *const access_names[ACCESSES] = {"streaming", "adjacent", "scatter-gather", "random"};

void *make(size_t count, size_t size, bool *failed) {
  void *array = calloc(count ? count : 1, size);
  if (!array) *failed = true;
  return array;
}

bool same(const void *got, const void *want, size_t size, const char *name, uint32_t consumer,
          char *said, size_t room) {
  const unsigned char *a = got, *b = want;
  if (memcmp(a, b, size) == 0) return true;
  size_t at = 0;
  while (a[at] == b[at]) at++;
  snprintf(said, room, "%s of consumer %u differs at byte %zu", name, (unsigned)consumer, at);
  return false;
}

/* ---- work ---- */

/* Of no consumer by name: a fiber has no memory of its own that work could find. */
static void note(struct run *r, uint64_t start, uint64_t cpu) {
  uint32_t at = atomic_fetch_add_explicit(&r->stretch_count, 1, memory_order_relaxed);
  if (at < r->most_stretches) r->stretches[at] = (struct stretch){start, exchange_now(), cpu};
}

void work(struct run *r, enum phase phase, void (*unit)(void *), void *argument) {
  bool timed = r->calibrating || r->settings.watched;
  uint64_t start = r->settings.watched ? exchange_now() : 0, from = timed ? exchange_cpu_time() : 0;
  for (uint32_t i = 0; i < r->pace.times[phase]; i++) {
    unit(argument);
    __asm__ volatile("" : : "r"(argument) : "memory");
  }
  if (!timed) return;
  uint64_t cpu = exchange_cpu_time() - from;
  atomic_fetch_add_explicit(&r->phase_ns[phase], cpu, memory_order_relaxed);
  if (r->settings.watched && phase != PRODUCE) note(r, start, cpu);
}

/* ---- those beside the consumers ---- */

static uint64_t stir(uint64_t times) {
  uint64_t state = times;
  for (uint64_t i = 0; i < times; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    __asm__ volatile("" : "+r"(state));
  }
  return state;
}

/* Steps of that in a microsecond. */
static double stirs_per_us(void) {
  static double known;
  if (known > 0) return known;
  stir(1000000);
  uint64_t from = exchange_cpu_time();
  stir(4000000);
  known = 4000000e3 / (double)(exchange_cpu_time() - from + 1);
  return known;
}

/* As much work as a consumer has for all its messages, in pieces. */
static void do_others(struct run *r, uint32_t index) {
  const struct settings *s = &r->settings;
  uint64_t times = (uint64_t)(stirs_per_us() * (s->us[C1] + s->us[C2]));
  for (uint32_t i = 0; i < r->pieces && !atomic_load(&r->exchange.over); i++) {
    stir(times);
    r->others[(size_t)index * r->pieces + i] = exchange_now();
  }
}

/* ---- threads ---- */

/* All start together; of `produced`, the consumers when the producer is done. */
struct gates {
  pthread_barrier_t start, produced;
};

struct player {
  struct run *run;
  uint32_t index; /* the producer side is [consumers], a crew [consumers + 1], or others from there
                     on */
  pthread_t thread;
};

/* The kernel's struct sched_attr, as it was first. */
struct scheduling {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

/* Since Linux 6.12 a thread may ask for a slice of its own; before, the number is forgotten. */
static bool set_slice(uint32_t us) {
  struct scheduling s = {.size = sizeof s, .runtime = us * UINT64_C(1000)}, got;
  return syscall(SYS_sched_setattr, 0, &s, 0) == 0 &&
         syscall(SYS_sched_getattr, 0, &got, sizeof got, 0) == 0 && got.runtime == s.runtime;
}

static void enter(struct run *r, uint32_t index) {
  struct span *span = &r->spans[index];
  bool through;
  span->start = exchange_now();
  if (index < r->settings.consumers) {
    through = r->pattern->consume(r, index);
  } else {
    through = r->pattern->produce(r);
    exchange_flush(&r->exchange);
  }
  span->end = exchange_now();
  if (through) return;
  atomic_fetch_add(&r->unfinished, 1);
  exchange_stop(&r->exchange); /* nobody shall wait for this one */
}

/* With one carrier its processor time is the crew's, but for the time in which it had none to run.
 */
static void enter_fiber(void *argument, uint32_t index) {
  struct run *r = argument;
  bool alone = r->settings.watched && r->exchange.shape.cores[0] >= 0;
  if (alone && !r->crew.start) r->crew.start = exchange_cpu_time();
  if (index < r->settings.consumers) enter(r, index);
  else do_others(r, index - r->settings.consumers);
  if (alone) r->crew.end = exchange_cpu_time() - atomic_load(&r->exchange.looked);
}

static void play_crew(struct run *r) {
  if (r->exchange.way->crew(&r->exchange, enter_fiber, r)) return;
  atomic_fetch_add(&r->unfinished, 1);
  exchange_stop(&r->exchange);
}

static void *play(void *argument) {
  struct player *me = argument;
  struct run *r = me->run;
  uint32_t consumers = r->settings.consumers;
  bool producer = me->index == consumers, late = r->settings.beforehand;
  exchange_pin(r->exchange.shape.cores[producer]);
  if (r->settings.slice && !producer && !set_slice(r->settings.slice))
    atomic_store(&r->no_slices, true);
  pthread_barrier_wait(&r->gates->start);
  if (late && !producer) pthread_barrier_wait(&r->gates->produced);
  if (me->index <= consumers) {
    uint64_t cpu = exchange_cpu_time();
    enter(r, me->index);
    r->spans[me->index].cpu = exchange_cpu_time() - cpu;
  } else if (r->exchange.way->crew) {
    play_crew(r);
  } else {
    do_others(r, me->index - consumers - 1);
  }
  if (late && producer) pthread_barrier_wait(&r->gates->produced);
  return NULL;
}

/* Two cores that this process may use; false: there is one. */
bool run_cores(int out_cores[2]) {
  cpu_set_t allowed;
  int found = 0;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
  for (int core = 0; core < CPU_SETSIZE && found < 2; core++)
    if (CPU_ISSET((unsigned)core, &allowed)) out_cores[found++] = core;
  return found == 2;
}

static struct timespec after(uint64_t ns) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  ns += (uint64_t)t.tv_nsec;
  t.tv_sec += (time_t)(ns / 1000000000u);
  t.tv_nsec = (long)(ns % 1000000000u);
  return t;
}

/* Past the limit, or when one has given up, all are told to, until they have. False: the limit. */
static bool join(struct run *r, struct player *players, uint32_t count) {
  const struct settings *s = &r->settings;
  uint64_t ms = s->cut ? s->cut : s->limit * UINT64_C(1000);
  uint64_t limit = exchange_now() + ms * 1000000;
  bool in_time = true;
  for (uint32_t i = 0; i < count;) {
    struct timespec soon = after(10000000);
    if (pthread_timedjoin_np(players[i].thread, NULL, &soon) == 0) {
      i++;
      continue;
    }
    if (exchange_now() > limit) in_time = false;
    if (!in_time || atomic_load(&r->exchange.over)) exchange_stop(&r->exchange);
  }
  return in_time;
}

static uint32_t player_count(const struct run *r) {
  return r->exchange.way->crew ? 2 : r->settings.consumers + 1 + r->settings.others;
}

static uint32_t start(struct run *r, struct player *players) {
  uint32_t first = r->exchange.way->crew ? r->settings.consumers : 0, started = 0;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK);
  for (uint32_t i = first; i < first + player_count(r); i++) {
    struct player *p = &players[started];
    *p = (struct player){.run = r, .index = i};
    if (pthread_create(&p->thread, &attributes, play, p) != 0) break;
    started++;
  }
  pthread_attr_destroy(&attributes);
  return started;
}

/* All of them, or a text that says why not. */
static const char *run_threads(struct run *r) {
  uint32_t count = player_count(r);
  struct gates gates;
  struct player *players = calloc(count, sizeof *players);
  if (!players || pthread_barrier_init(&gates.start, NULL, count) != 0 ||
      pthread_barrier_init(&gates.produced, NULL, count) != 0) {
    free(players);
    return "there is no memory for the threads";
  }
  r->gates = &gates;
  uint32_t started = start(r, players);
  if (started < count) {
    /* They wait at a gate that will not open. */
    fprintf(stderr, "tidemark patterns: %u of %u threads could be started\n", (unsigned)started,
            (unsigned)count);
    exit(1);
  }
  bool in_time = join(r, players, count);
  pthread_barrier_destroy(&gates.start);
  pthread_barrier_destroy(&gates.produced);
  free(players);
  if (!in_time) return r->settings.cut ? "it was cut" : "it hung";
  if (atomic_load(&r->no_slices))
    return "this kernel has no slices of one's own: leave out --slice";
  if (!atomic_load(&r->unfinished)) return NULL;
  return r->exchange.problem ? r->exchange.problem : "a consumer or the producer gave up";
}

/* ---- one run ---- */

static void summarise(struct run *r, struct outcome *out) {
  uint64_t first = UINT64_MAX, last = 0;
  for (uint32_t i = 0; i <= r->settings.consumers; i++) {
    const struct span *span = &r->spans[i];
    if (i == r->settings.consumers && r->settings.beforehand) break;
    if (span->start < first) first = span->start;
    if (span->end > last) last = span->end;
    if (i == r->settings.consumers) break;
    const struct waiting *waiting = &r->exchange.waiting[i];
    out->waits += waiting->waits;
    out->checks += waiting->checks;
    out->waited_ns += waiting->ns;
    out->cpu_ns += span->cpu;
    out->alive_ns += span->end - span->start;
  }
  out->ns = last - first;
  out->producer_waited_ns = r->exchange.waiting[r->settings.consumers].ns;
  const struct shape *s = &r->exchange.shape;
  size_t half = (size_t)s->consumers * (s->down + s->up), downs = (size_t)s->consumers * s->down;
  for (size_t i = 0; i < s->cycles * half; i++) {
    bool given = r->exchange.moments[i].given != 0;
    out->messages += given;
    out->downs += given && i % half < downs;
  }
  if (r->exchange.way->faulted) out->faults = r->exchange.way->faulted(&r->exchange);
}

static void fail(struct outcome *out, const char *why) {
  out->good = false;
  snprintf(out->said, sizeof out->said, "%s", why);
}

static void run_opened(struct run *r, bool check, struct outcome *out) {
  const char *problem = run_threads(r);
  summarise(r, out);
  out->good = !problem;
  out->cut = problem && r->settings.cut && strcmp(problem, "it was cut") == 0;
  if (r->settings.watched && (!problem || out->cut)) moments_summarise(r, out);
  if (problem) fail(out, problem);
  else if (check && !r->settings.unchecked)
    out->good = r->pattern->check(&r->settings, r->state, out->said, sizeof out->said);
}

/* What a watched run writes down. */
static bool make_notes(struct run *r, const struct shape *shape) {
  const struct settings *s = &r->settings;
  bool failed = false;
  r->pieces = s->cycles * shape->down;
  r->others = make((size_t)s->others * r->pieces, sizeof *r->others, &failed);
  r->most_stretches = s->watched ? s->consumers * (2 * s->cycles * shape->down + 4) : 0;
  r->stretches = make(r->most_stretches, sizeof *r->stretches, &failed);
  if (s->others) (void)stirs_per_us();
  return !failed;
}

static void run_once(struct run *r, const struct way *way, enum plant plant, bool check,
                     struct outcome *out) {
  const struct settings *s = &r->settings;
  struct shape shape = {.consumers = s->consumers,
                        .cycles = s->cycles,
                        .down = r->pattern->down,
                        .up = r->pattern->up,
                        .others = s->others,
                        .watched = s->watched,
                        .bytes = s->bytes,
                        .cores = {-1, -1}};
  *out = (struct outcome){.good = false};
  if (r->pattern->shape) r->pattern->shape(s, &shape.down, &shape.up);
  r->spans = calloc(s->consumers + 1, sizeof *r->spans);
  r->state = r->pattern->create(s);
  if (s->pinned && !run_cores(shape.cores)) {
    fail(out, "two devices need two cores, and there is one: try --shared");
  } else if (!r->state || !r->spans || !make_notes(r, &shape)) {
    fail(out, "there is no memory for the pattern's data");
  } else {
    const char *problem = exchange_open(&r->exchange, way, &shape, plant);
    if (problem) fail(out, problem);
    else {
      run_opened(r, check, out);
      exchange_close(&r->exchange);
    }
  }
  if (r->state) r->pattern->destroy(r->state);
  free(r->spans);
  free(r->others);
  free(r->stretches);
}

static struct settings settle(const struct pattern *pattern, const struct settings *s) {
  struct settings settled = *s;
  if (!settled.cycles) settled.cycles = pattern->cycles;
  return settled;
}

void run_pattern(const struct pattern *pattern, const struct way *way, const struct settings *s,
                 const struct pace *pace, enum plant plant, struct outcome *out) {
  struct run r = {.pattern = pattern, .settings = settle(pattern, s), .pace = *pace};
  run_once(&r, way, plant, true, out);
}

/* One round: what the phases took with this pace, and the pace that would be better. A phase may be
 * several units for a message, or one for several. */
static bool learn(const struct pattern *pattern, const struct settings *s, struct pace *pace,
                  struct outcome *out) {
  struct run r = {.pattern = pattern, .settings = *s, .pace = *pace, .calibrating = true};
  run_once(&r, &way_futex, PLANT_NOTHING, false, out);
  if (!out->good || !out->downs) return out->good;
  for (int i = 0; i < PHASES; i++) {
    double ns = (double)atomic_load(&r.phase_ns[i]),
           once = ns / (double)out->downs / pace->times[i] / 1000;
    if (once <= 0) continue;
    double times = s->us[i] / once + 0.5;
    pace->times[i] = times < 1 ? 1 : times > 1e6 ? 1000000 : (uint32_t)times;
    pace->us[i] = once * pace->times[i];
  }
  return true;
}

bool run_calibrate(const struct pattern *pattern, const struct settings *s, struct pace *out_pace,
                   struct outcome *out) {
  struct settings small = settle(pattern, s);
  *out_pace = (struct pace){.times = {1, 1, 1}};
  *out = (struct outcome){.good = true};
  if (!s->us[PRODUCE] && !s->us[C1] && !s->us[C2]) return true;
  if (small.consumers > SOME) small.consumers = SOME;
  if (small.cycles > 3) small.cycles = 3;
  small.watched = small.beforehand = false;
  small.cut = small.others = 0;
  /* With one unit a phase, caches are colder than they will be: so a second time. */
  return learn(pattern, &small, out_pace, out) && learn(pattern, &small, out_pace, out);
}
