/* Media under thousands of seeded schedules: loads against data, signalled by calls and by stores,
 * deadlines, failures by name, closing, destroying, and producers that die at any step. What is
 * read is a request's own data, whole, or zeros; nobody stalls for ever; each request ends with a
 * status that has a cause, and with the right one where the causes have an order.
 *
 *   simulation-wic [case] …
 */
#include "harness.h"
#include "wic_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONSUMERS = 3, PRODUCERS = 2, ROUNDS = 3, ASKED = CONSUMERS * ROUNDS * 2 };
enum { CLOSED = TIDE_BUSY, NAMED = TIDE_DENIED, BROKEN = TIDE_FAILED };

/* One request, as those who have to do with it know it. */
struct asked {
  struct tide_request request;
  struct tide_timeline *lines[2];
  uint32_t pages, number;
  char source[4 * PAGE];
  bool sourced, there, served; /* asked for; some producer has it */
  bool over;                   /* finished: nobody may name it any more */
  bool reached[2];             /* signalled for sure … */
  bool trying[2];              /* … or perhaps */
  bool failing, named;
  bool too_late;             /* a tag was signalled after the medium was closed */
  enum tide_status status;   /* at the end */
  enum tide_status broke;    /* its producer has failed a tag with this */
  bool broken;               /* … and that is over */
  struct tide_tag_page page; /* whose store signals the first tag; no word: a call does */
  bool stores;               /* it does, or did */
};

struct scene {
  struct world world;
  struct tide_context *context;
  struct tide_medium *medium;
  struct asked asked[ASKED];
  size_t count;
  uint32_t consumers_left, producers_left;
  bool closing, closed;
  char why[200];
};

static struct scene *scene;

#define WRONG(...) (scene->why[0] ? 0 : snprintf(scene->why, sizeof scene->why, __VA_ARGS__))

static uint32_t pattern(const struct asked *a, uint32_t page) {
  return 0x5a000000u | (a->number + 1) << 8 | page;
}

/* ---- producers ------------------------------------------------------------------------- */

/* One step: true while there is more. */
static bool write_half(struct asked *a, uint32_t step) {
  uint32_t page = step / 2, words[PAGE / 8];
  if (page >= a->pages) return false;
  for (size_t i = 0; i < PAGE / 8; i++) words[i] = pattern(a, page);
  char *to = a->sourced ? a->source : (char *)a->request.room;
  memcpy(to + page * PAGE + step % 2 * (PAGE / 2), words, PAGE / 2);
  return true;
}

static void signal(struct asked *a, uint32_t tag) {
  a->too_late |= scene->closed;
  a->trying[tag] = true;
  world_point();
  if (a->stores && tag == 0) {
    world_store(scene->medium, a->page.word);
    if (!tide_timeline_query(a->lines[0]))
      WRONG("the store of request %u was no signal", a->number);
  } else {
    CHECK_OK(tide_timeline_signal_external(a->lines[tag], 1));
  }
  a->reached[tag] = true;
}

static void fail_tags(struct asked *a, enum tide_status status) {
  a->broke = status;
  for (uint32_t i = 0; i < a->request.tag_count; i++) {
    world_point();
    if (!a->reached[i]) tide_timeline_fail(a->lines[i], status);
  }
  a->broken = true;
}

/* Everything in order; it dies before step `death`, and somebody sees that after a while. */
static void produce(struct asked *a, uint32_t death) {
  uint32_t step = 0;
  for (uint32_t half = 0; step < death && write_half(a, half); half++, step++) world_point();
  for (uint32_t tag = 0; tag < a->request.tag_count && step < death; tag++, step++) signal(a, tag);
  if (step >= death && death <= 2 * a->pages + a->request.tag_count - 1) {
    world_point();
    fail_tags(a, TIDE_OWNER_DIED);
  }
}

static struct asked *next_asked(void) {
  for (size_t i = 0; i < scene->count; i++) {
    struct asked *a = &scene->asked[i];
    if (!a->there || a->served || world_below(3) == 0) continue;
    a->served = true;
    return a;
  }
  return NULL;
}

static bool anything_left(void) {
  for (size_t i = 0; i < scene->count; i++)
    if (scene->asked[i].there && !scene->asked[i].served) return true;
  return scene->consumers_left > 0;
}

static void producer(void *own) {
  (void)own;
  while (anything_left()) {
    struct asked *a = next_asked();
    if (!a) {
      scene->world.platform.yield(&scene->world);
      continue;
    }
    uint32_t what = world_below(8);
    if (what == 0) fail_tags(a, (enum tide_status)BROKEN);
    else produce(a, what == 1 ? world_below(2 * a->pages + a->request.tag_count) : UINT32_MAX);
  }
  scene->producers_left--;
}

/* ---- consumers ---------------------------------------------------------------------------- */

static bool all_reached(const struct asked *a) {
  for (uint32_t i = 0; i < a->request.tag_count; i++)
    if (!a->reached[i]) return false;
  return true;
}
static bool may_be_reached(const struct asked *a) {
  for (uint32_t i = 0; i < a->request.tag_count; i++)
    if (!a->trying[i]) return false;
  return true;
}

/* What was so before the finish was asked for. */
struct before {
  bool reached, spoilt, looked, zeros, named;
};

static bool may_be_spoilt(const struct asked *a) {
  bool late = a->request.deadline && scene->world.now >= a->request.deadline;
  return a->failing || a->broke || scene->closing || late;
}

static void judge(const struct asked *a, const struct before *b, enum tide_status status) {
  const char *name = tide_status_name(status);
  bool cause = false;
  switch ((int)status) {
    case TIDE_OK: cause = may_be_reached(a); break;
    case TIDE_TIMEOUT:
      cause = a->request.deadline && scene->world.now >= a->request.deadline;
      break;
    case TIDE_OWNER_DIED:
    case BROKEN: cause = a->broke == status; break;
    case CLOSED: cause = scene->closing; break;
    case NAMED: cause = a->failing; break;
    case TIDE_CANCELLED: cause = !b->looked; break;
    default: break;
  }
  if (!cause) WRONG("request %u ended with %s, without a cause", a->number, name);
  if (status == TIDE_OK && b->zeros) WRONG("request %u is good, and zeros were read", a->number);
  if (status != TIDE_OK && b->looked && !b->zeros && !scene->world.poor)
    WRONG("request %u ended with %s, and its data was read", a->number, name);
  if (status == TIDE_OK && a->too_late)
    WRONG("request %u is good, and the medium was closed before its data came", a->number);
  if (b->named && (int)status != NAMED)
    WRONG("request %u was failed by name, and ended with %s", a->number, name);
  /* A signal's calls may be left to another signaller: who has not looked may be too early. */
  if (b->reached && !b->spoilt && status != TIDE_OK && (b->looked || status != TIDE_CANCELLED))
    WRONG("request %u had its data, and ended with %s", a->number, name);
}

/* Loads so many pages. */
static void look_at(struct asked *a, struct before *b, uint32_t most) {
  uint32_t words[PAGE / 4];
  for (uint32_t page = 0; page < most; page++) {
    world_load(scene->medium, (const char *)a->request.data + page * PAGE, words);
    b->looked = true;
    bool either = true, own = true;
    for (size_t i = 0; i < PAGE / 4; i++) {
      own &= words[i] == pattern(a, page);
      either &= words[i] == 0 || words[i] == pattern(a, page);
    }
    /* Where there was no memory for zeros, the producer may have written over them. */
    b->zeros |= !own;
    if (!either)
      WRONG("request %u: page %u holds %08x … %08x, not %08x", a->number, page, words[0],
            words[PAGE / 4 - 1], pattern(a, page));
    if (own && !may_be_reached(a) && !scene->world.poor)
      WRONG("request %u: page %u came too early", a->number, page);
  }
}

static void look_at_some(struct asked *a, struct before *b) {
  look_at(a, b, world_below(4) ? a->pages : world_below(a->pages + 1));
}

/* After its finish nobody but its producer knows it, and only where it may still write. */
static void finish(struct asked *a, struct before *b) {
  a->over = true;
  bool was_spoilt = may_be_spoilt(a);
  b->reached = all_reached(a);
  b->named = a->named;
  enum tide_status status = tide_request_finish(scene->medium, &a->request, NULL);
  if (a->sourced) memset(a->source, 0xee, sizeof a->source); /* it is ours again */
  a->status = status;
  b->spoilt = was_spoilt || may_be_spoilt(a);
  judge(a, b, status);
}

static void prepare(struct asked *a, uint32_t number) {
  uint32_t tags = 1 + world_below(2);
  memset(a, 0, sizeof *a);
  a->number = number;
  a->pages = 1 + world_below(3);
  a->sourced = world_below(4) == 0;
  a->request.bytes = a->pages * PAGE - world_below(2) * 0;
  a->request.tag_count = tags;
  if (a->sourced) a->request.source = a->source;
  if (world_below(4) == 0) a->request.deadline = scene->world.now + 1 + world_below(400);
  for (uint32_t i = 0; i < tags; i++) {
    CHECK_OK(tide_timeline_create(scene->context, NULL, &a->lines[i]));
    a->request.tags[i] = (struct tide_tag){a->lines[i], 1};
  }
}

static void drop_lines(struct asked *a) {
  for (uint32_t i = 0; i < a->request.tag_count; i++) tide_timeline_release(a->lines[i]);
}

/* ---- tag pages ---- */

/* Nobody stores there any more. */
static bool is_stored(const struct asked *a) { return a->reached[0] || a->broken; }

static void disarm(struct asked *a) {
  enum tide_status status, want = a->reached[0] ? TIDE_OK : TIDE_CANCELLED;
  while ((status = tide_medium_disarm(scene->medium, &a->page)) == TIDE_BUSY)
    scene->world.platform.yield(&scene->world);
  if (status != want)
    WRONG("the tag page of request %u ended with %s", a->number, tide_status_name(status));
}

static void end_page(struct asked *a) {
  while (!is_stored(a)) scene->world.platform.yield(&scene->world);
  disarm(a);
}

/* With the page that `holder` has, or another. Before anybody else knows of the request. */
static void arm(struct asked *a, struct asked **holder) {
  struct tide_tag_page page = {.tag = a->request.tags[0]};
  enum tide_status status;
  if (*holder && world_below(3) == 0) {
    end_page(*holder);
    *holder = NULL;
  }
  if (*holder) page.word = (*holder)->page.word;
  while ((status = tide_medium_arm(scene->medium, &page, 1)) == TIDE_BUSY) {
    if (scene->closed) break; /* that is what it was closed with */
    if (*holder && (*holder)->broken && !(*holder)->reached[0]) {
      disarm(*holder);
      *holder = NULL;
      page.word = NULL;
    }
    scene->world.platform.yield(&scene->world);
  }
  a->stores = status == TIDE_OK;
  if (!a->stores) {
    if (!((int)status == CLOSED && scene->closing))
      WRONG("a tag page was refused with %s", tide_status_name(status));
    return;
  }
  a->page = page;
  *holder = a;
}

/* One or two requests of one call. */
static bool ask(size_t first, size_t count, struct asked **holder) {
  struct tide_request requests[2];
  enum tide_status status;
  for (size_t i = 0; i < count; i++) {
    prepare(&scene->asked[first + i], (uint32_t)(first + i));
    requests[i] = scene->asked[first + i].request;
  }
  while ((status = tide_medium_request(scene->medium, requests, count)) == TIDE_FULL) {
    scene->world.platform.yield(&scene->world);
  }
  if (status != TIDE_OK && !((int)status == CLOSED && scene->closing))
    WRONG("a request was refused with %s", tide_status_name(status));
  for (size_t i = 0; i < count; i++) {
    struct asked *a = &scene->asked[first + i];
    a->request = requests[i];
    if (status == TIDE_OK && i == 0 && world_below(2)) arm(a, holder);
    a->there = status == TIDE_OK;
  }
  return status == TIDE_OK;
}

static void consumer(void *own) {
  struct asked *holder = NULL;
  for (int round = 0; round < ROUNDS; round++) {
    size_t count = 1 + world_below(2), first = scene->count;
    (void)own;
    scene->count += count;
    if (!ask(first, count, &holder)) continue;
    struct before before[2] = {{0}};
    for (size_t i = 0; i < count; i++)
      if (world_below(5)) look_at_some(&scene->asked[first + i], &before[i]);
    for (size_t i = 0; i < count; i++) finish(&scene->asked[first + i], &before[i]);
  }
  if (holder) end_page(holder);
  scene->consumers_left--;
}

/* ---- trouble ------------------------------------------------------------------------------- */

static void namer(void *own) {
  (void)own;
  for (int i = 0; i < 6; i++) {
    for (uint32_t k = world_below(30); k; k--) world_point();
    if (!scene->count) continue;
    struct asked *a = &scene->asked[world_below((uint32_t)scene->count)];
    if (!a->there || a->over) continue;
    a->failing = true;
    if (tide_request_fail(scene->medium, &a->request, (enum tide_status)NAMED) == TIDE_OK)
      a->named = true;
  }
}

static void closer(void *own) {
  (void)own;
  for (uint32_t k = world_below(600); k; k--) world_point();
  scene->closing = true;
  tide_medium_close(scene->medium, (enum tide_status)CLOSED);
  scene->closed = true;
}

/* When the consumers are through; producers may still be signalling. */
static void destroyer(void *own) {
  bool closes = own != NULL;
  while ((scene->consumers_left || (closes && !scene->closed)))
    scene->world.platform.yield(&scene->world);
  /* Nobody may write any more; what is left of a producer's work is its signals. */
  for (size_t i = 0; i < scene->count; i++)
    while (scene->asked[i].there && !scene->asked[i].sourced && !scene->asked[i].trying[0] &&
           !scene->asked[i].broke)
      scene->world.platform.yield(&scene->world);
  tide_medium_destroy(scene->medium);
}

/* ---- schedules ------------------------------------------------------------------------------- */

struct tally {
  uint64_t stalls, steps;
};

static void say_who_waits(const struct world *w) {
  for (size_t i = 0; i < w->actor_count; i++)
    if (w->actors[i].page != SIZE_MAX)
      WRONG("a load of page %zu stalls for ever", w->actors[i].page);
  for (size_t i = 0; i < w->actor_count; i++)
    if (w->actors[i].tag != SIZE_MAX)
      WRONG("a store to tag page %zu stalls for ever", w->actors[i].tag);
  for (size_t i = 0; i < w->actor_count; i++)
    if (!w->actors[i].over && !w->actors[i].monitor) WRONG("actor %zu waits for ever", i);
}

static bool try_seed(uint64_t seed, struct tally *tally) {
  struct tide_medium_params params = {.struct_size = sizeof params,
                                      .label = "sim",
                                      .pages = PAGES / 4,
                                      .requests = 8,
                                      .tag_pages = CONSUMERS};
  scene = calloc(1, sizeof *scene);
  CHECK(scene);
  struct world *w = &scene->world;
  world_open(w, seed);
  params.engine = (enum tide_medium_engine)(seed % 3);
  params.paper_tree = world_below(2);
  struct tide_context_params context_params = {.struct_size = sizeof context_params,
                                               .platform = &w->platform};
  CHECK_OK(tide_context_create(&context_params, &scene->context));
  CHECK_OK(tide_medium_create(scene->context, &params, &scene->medium));
  scene->consumers_left = CONSUMERS;
  scene->producers_left = PRODUCERS;
  for (int i = 0; i < CONSUMERS; i++) world_add(w, consumer, NULL);
  for (int i = 0; i < PRODUCERS; i++) world_add(w, producer, NULL);
  if (world_below(2)) world_add(w, namer, NULL);
  bool closes = world_below(4) == 0;
  if (closes) world_add(w, closer, NULL);
  world_add(w, destroyer, closes ? scene : NULL);
  bool good = world_run(w);
  if (!good) say_who_waits(w);
  tally->stalls += w->stalls;
  tally->steps += w->steps;
  world_close(w);
  good = !scene->why[0];
  for (size_t i = 0; i < scene->count; i++) drop_lines(&scene->asked[i]);
  if (good) tide_context_destroy(scene->context);
  return good;
}

static void forget_scene(void) {
  free(scene);
  scene = NULL;
}

TEST(media_under_seeded_schedules) {
  struct tally tally = {0};
  uint64_t seeds = test_slowdown() > 3 ? 300 : 20000;
  for (uint64_t seed = 1; seed <= seeds; seed++) {
    if (!try_seed(seed, &tally)) FAIL("seed %llu: %s", (unsigned long long)seed, scene->why);
    forget_scene();
  }
  CHECK(tally.stalls > seeds);
}

/* ---- a death at every step ------------------------------------------------------------------- */

/* One exchange: two consumers, each with a request of its own, and one producer for both, which
 * dies before one step of all. */
static uint32_t death, begun;

static void looker(void *own) {
  struct asked *a = own;
  struct before before = {0};
  look_at(a, &before, a->pages);
  finish(a, &before);
  if (a->stores) end_page(a);
  scene->consumers_left--;
}

static uint32_t steps_of(const struct asked *a) { return 2 * a->pages + a->request.tag_count; }

static void doomed(void *own) {
  (void)own;
  for (size_t i = 0; i < scene->count; i++) {
    uint32_t left = death > begun ? death - begun : 0;
    produce(&scene->asked[i], left < steps_of(&scene->asked[i]) ? left : UINT32_MAX);
    begun += steps_of(&scene->asked[i]);
  }
  scene->producers_left--;
}

/* True while the producer dies before its end. */
static bool die_at(uint64_t seed, uint32_t step) {
  struct tide_medium_params params = {
      .struct_size = sizeof params, .pages = PAGES / 4, .requests = 8, .tag_pages = CONSUMERS};
  scene = calloc(1, sizeof *scene);
  CHECK(scene);
  struct world *w = &scene->world;
  world_open(w, seed);
  w->poor = false;
  death = step;
  begun = 0;
  params.engine = (enum tide_medium_engine)(seed % 3);
  struct tide_context_params context_params = {.struct_size = sizeof context_params,
                                               .platform = &w->platform};
  CHECK_OK(tide_context_create(&context_params, &scene->context));
  CHECK_OK(tide_medium_create(scene->context, &params, &scene->medium));
  scene->consumers_left = scene->count = 2;
  uint32_t all = 0;
  for (uint32_t i = 0; i < 2; i++) {
    struct asked *a = &scene->asked[i];
    prepare(a, i);
    a->request.deadline = 0;
    CHECK_OK(tide_medium_request(scene->medium, &a->request, 1));
    if (world_below(2)) {
      a->page.tag = a->request.tags[0];
      CHECK_OK(tide_medium_arm(scene->medium, &a->page, 1));
      a->stores = true;
    }
    a->there = true;
    all += steps_of(a);
    world_add(w, looker, a);
  }
  world_add(w, doomed, NULL);
  world_add(w, destroyer, NULL);
  if (!world_run(w)) say_who_waits(w);
  for (uint32_t i = 0, before = 0; i < 2; before += steps_of(&scene->asked[i++])) {
    bool served = step >= before + steps_of(&scene->asked[i]);
    enum tide_status want = served ? TIDE_OK : TIDE_OWNER_DIED;
    if (scene->asked[i].status != want)
      WRONG("request %u ended with %s", i, tide_status_name(scene->asked[i].status));
  }
  if (scene->why[0]) FAIL("seed %llu, step %u: %s", (unsigned long long)seed, step, scene->why);
  world_close(w);
  for (size_t i = 0; i < scene->count; i++) drop_lines(&scene->asked[i]);
  tide_context_destroy(scene->context);
  forget_scene();
  return step < all;
}

TEST(a_producer_dies_at_every_step) {
  for (uint64_t seed = 1; seed <= (test_slowdown() > 3 ? 10 : 300); seed++)
    for (uint32_t step = 0; die_at(seed, step); step++) continue;
}

TEST(a_seed_is_a_schedule) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    struct tally a = {0}, b = {0};
    CHECK(try_seed(seed, &a));
    forget_scene();
    CHECK(try_seed(seed, &b));
    forget_scene();
    CHECK_EQ_U64(a.steps, b.steps);
    CHECK_EQ_U64(a.stalls, b.stalls);
  }
}

TEST_MAIN(CASE(media_under_seeded_schedules), CASE(a_producer_dies_at_every_step),
          CASE(a_seed_is_a_schedule))
