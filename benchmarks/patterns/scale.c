#include "scale.h"

#include "tidemark/fiber.h"
#include "tidemark/wic.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define BYTES 4096
#define WORDS (BYTES / sizeof(uint64_t))
#define BATCH 16

struct warp {
  struct tide_request request;
  _Atomic(uint64_t *) room; /* where the producer writes; NULL: not asked for yet */
  _Atomic bool there;       /* of those that poll */
  uint64_t sum;
};

struct scene {
  const struct scale *scale;
  struct tide_context *context;
  struct tide_medium *medium;
  struct tide_timeline *line;
  struct warp *warps;
  uint64_t *plain; /* the messages, when warps poll */
  uint64_t loops;  /* of half a warp's work */
  int cores[2];
  _Atomic bool failed;
};

/* ---- work ---- */

static uint64_t turn(uint64_t state, uint64_t times) {
  for (uint64_t i = 0; i < times; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    __asm__ volatile("" : "+r"(state));
  }
  return state;
}

static uint64_t loops_for(uint32_t us) {
  struct timespec a, b;
  turn(1, 1000000);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
  turn(1, 4000000);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
  double ns = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
  return (uint64_t)(us * 1000 * 4e6 / (ns > 0 ? ns : 1));
}

static uint64_t value_of(uint32_t warp, size_t word) { return mix(warp, word); }

static uint64_t sum_of(const uint64_t *words) {
  uint64_t sum = 0;
  for (size_t i = 0; i < WORDS; i++) sum = sum * 31 + words[i];
  return sum;
}

/* ---- a warp ---- */

/* Its own pages, or those of the 16 that begin with it: warps start in order. */
static bool ask(struct scene *s, uint32_t first, uint32_t count) {
  struct tide_request requests[BATCH];
  enum tide_status status;
  for (uint32_t i = 0; i < count; i++)
    requests[i] =
        (struct tide_request){.bytes = BYTES, .tags = {{s->line, first + i + 1}}, .tag_count = 1};
  while ((status = tide_medium_request(s->medium, requests, count)) == TIDE_FULL)
    tide_fiber_yield();
  for (uint32_t i = 0; i < count && status == TIDE_OK; i++) {
    s->warps[first + i].request = requests[i];
    atomic_store_explicit(&s->warps[first + i].room, requests[i].room, memory_order_release);
  }
  return status == TIDE_OK;
}

static bool prepare(struct scene *s, uint32_t index) {
  uint32_t left = s->scale->warps - index;
  if (s->scale->polls) return true;
  if (!s->scale->batched) return ask(s, index, 1);
  return index % BATCH || ask(s, index, left < BATCH ? left : BATCH);
}

static void be_warp(void *argument, uint64_t index) {
  struct scene *s = argument;
  struct warp *me = &s->warps[index];
  const uint64_t *data = s->plain + index * WORDS;
  if (!prepare(s, (uint32_t)index)) {
    atomic_store(&s->failed, true);
    return;
  }
  turn(index, s->loops);
  if (s->scale->polls)
    while (!atomic_load_explicit(&me->there, memory_order_acquire)) tide_fiber_yield();
  else data = me->request.data;
  me->sum = sum_of(data);
  turn(me->sum, s->loops);
  if (!s->scale->polls && tide_request_finish(s->medium, &me->request, NULL) != TIDE_OK)
    atomic_store(&s->failed, true);
}

/* ---- the producer ---- */

static uint64_t *room_of(struct scene *s, uint32_t warp) {
  uint64_t *room = s->scale->polls ? s->plain + warp * WORDS : NULL;
  while (!room && !atomic_load_explicit(&s->failed, memory_order_relaxed)) {
    room = atomic_load_explicit(&s->warps[warp].room, memory_order_acquire);
    if (!room) sched_yield();
  }
  return room;
}

static void *produce(void *argument) {
  struct scene *s = argument;
  exchange_pin(s->cores[1]);
  for (uint32_t i = 0; i < s->scale->warps; i++) {
    uint64_t *room = room_of(s, i);
    if (!room) break;
    turn(i, 2 * s->loops);
    for (size_t w = 0; w < WORDS; w++) room[w] = value_of(i, w);
    if (s->scale->polls) atomic_store_explicit(&s->warps[i].there, true, memory_order_release);
    else if (tide_timeline_signal_external(s->line, i + 1) != TIDE_OK) break;
  }
  return NULL;
}

/* ---- the run ---- */

static const char *open_scene(struct scene *s) {
  const struct scale *scale = s->scale;
  uint32_t pages = 2 * (scale->warps < 64 ? 64 : scale->warps);
  struct tide_medium_params params = {.struct_size = sizeof params,
                                      .engine = TIDE_MEDIUM_FIBERS,
                                      .linger = EXCHANGE_LINGER,
                                      .pages = pages,
                                      .requests = pages};
  s->warps = aligned_alloc(64, (scale->warps * sizeof *s->warps + 63) / 64 * 64);
  s->plain = calloc(scale->polls ? scale->warps : 1, BYTES);
  if (!s->warps || !s->plain) return "there is no memory for the warps";
  for (uint32_t i = 0; i < scale->warps; i++) {
    atomic_init(&s->warps[i].room, NULL);
    atomic_init(&s->warps[i].there, false);
    s->warps[i].sum = 0;
  }
  if (scale->polls) return NULL;
  enum tide_status status = tide_medium_create(s->context, &params, &s->medium);
  if (status == TIDE_DENIED) return "it may not use userfaultfd";
  if (status != TIDE_OK) return "there is no userfaultfd, or no memory for it";
  if (tide_timeline_create(s->context, NULL, &s->line) != TIDE_OK)
    return "there is no memory for a timeline";
  return NULL;
}

static void close_scene(struct scene *s) {
  tide_medium_destroy(s->medium);
  tide_timeline_destroy(s->line);
  free(s->warps);
  free(s->plain);
}

static const char *check(const struct scene *s) {
  if (atomic_load(&s->failed)) return "a warp got no pages, or no data";
  for (uint32_t i = 0; i < s->scale->warps; i++) {
    uint64_t sum = 0;
    for (size_t w = 0; w < WORDS; w++) sum = sum * 31 + value_of(i, w);
    if (s->warps[i].sum != sum) return "a warp has read what was not its own";
  }
  return NULL;
}

static const char *run_scene(struct scene *s, uint64_t *out_ns) {
  struct tide_crew *crew;
  pthread_t producer;
  uint32_t cpu = (uint32_t)s->cores[0], all = s->scale->warps;
  struct tide_crew_params params = {.struct_size = sizeof params,
                                    .carriers = 1,
                                    .cpus = &cpu,
                                    .linger = EXCHANGE_LINGER,
                                    .fibers = s->scale->outstanding ? s->scale->outstanding : all};
  if (params.fibers > all) params.fibers = all;
  if (tide_crew_create(s->context, &params, &crew) != TIDE_OK)
    return "there is no memory for so many fibers";
  uint64_t begin = exchange_now();
  const char *problem = NULL;
  if (pthread_create(&producer, NULL, produce, s) != 0) {
    problem = "the producer's thread cannot be started";
  } else {
    if (tide_crew_run(crew, be_warp, s, all) != TIDE_OK ||
        tide_crew_wait(crew, TIDE_FOREVER) != TIDE_OK)
      problem = "the fibers did not run";
    *out_ns = exchange_now() - begin;
    pthread_join(producer, NULL);
  }
  if (tide_crew_destroy(crew) != TIDE_OK && !problem) problem = "the fibers did not end";
  return problem;
}

void scale_run(const struct scale *scale, struct scale_outcome *out) {
  struct scene s = {.scale = scale};
  *out = (struct scale_outcome){.said = NULL};
  if (!run_cores(s.cores)) out->said = "two devices need two cores";
  else if (tide_context_create(NULL, &s.context) != TIDE_OK) out->said = "there is no memory";
  if (out->said) return;
  s.loops = loops_for(scale->us) / 2;
  out->said = open_scene(&s);
  if (!out->said) out->said = run_scene(&s, &out->ns);
  if (!out->said) out->said = check(&s);
  if (s.medium) {
    struct tide_medium_info info;
    tide_medium_info(s.medium, &info);
    out->faults = info.faults;
  }
  close_scene(&s);
  tide_context_destroy(s.context);
  out->good = !out->said;
}
