#include "wic_world.h"
#include "harness.h"

#include "wic/stall.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_MOST 200000u
#define STACK 65536u

struct world *the_world;
static bool acts; /* an actor has the thread */
static char stacks[ACTORS][STACK] __attribute__((aligned(64)));

/* ---- who goes on ------------------------------------------------------------------- */

static struct actor *self(void) { return &the_world->actors[the_world->current]; }

/* Control goes back to the world, and comes again. */
TIDE_FIBER_BARE static void leave(bool ends) {
  struct actor *own = self();
  tide_fiber_watch_leave(&own->watch, &the_world->watch, ends);
  tide_fiber_swap(&own->place, &the_world->back, NULL);
  tide_fiber_watch_arrive(&own->watch);
}
static void hand_over(void) { leave(false); }

void world_point(void) {
  if (acts) hand_over();
}

uint32_t world_below(uint32_t limit) {
  return (uint32_t)tide_random_below(&the_world->random, limit);
}

static bool can_go_on(const struct world *w, const struct actor *a) {
  if (!a->there || a->over) return false;
  if (!a->blocked) return true;
  if (a->until <= w->now) return true;
  if (a->monitor) return w->bell || w->fault_count || w->store_count;
  return false;
}

static size_t draw(struct world *w) {
  size_t list[ACTORS], count = 0;
  for (size_t i = 0; i < w->actor_count; i++)
    if (can_go_on(w, &w->actors[i])) list[count++] = i;
  return count ? list[tide_random_below(&w->random, count)] : ACTORS;
}

/* Nobody can go on now: time passes, if somebody waits for that. */
static bool pass_time(struct world *w) {
  uint64_t next = TIDE_FOREVER;
  for (size_t i = 0; i < w->actor_count; i++) {
    const struct actor *a = &w->actors[i];
    if (a->there && !a->over && a->blocked && a->until < next) next = a->until;
  }
  if (next == TIDE_FOREVER) return false;
  w->now = next;
  return true;
}

static bool all_over(const struct world *w) {
  for (size_t i = 0; i < w->actor_count; i++)
    if (!w->actors[i].over) return false;
  return true;
}

bool world_run(struct world *w) {
  while (!all_over(w)) {
    size_t next = draw(w);
    if (next == ACTORS && pass_time(w)) continue;
    if (next == ACTORS || ++w->steps > STEPS_MOST) return false;
    w->now++;
    w->current = next;
    w->actors[next].blocked = false;
    w->actors[next].until = TIDE_FOREVER;
    acts = true;
    tide_fiber_watch_leave(&w->watch, &w->actors[next].watch, false);
    tide_fiber_swap(&w->back, &w->actors[next].place, NULL);
    tide_fiber_watch_arrive(&w->watch);
    acts = false;
  }
  return true;
}

TIDE_FIBER_BARE static void act(void *passed) {
  struct actor *own = self();
  (void)passed;
  tide_fiber_watch_arrive(&own->watch);
  own->run(own->self);
  own->over = true;
  leave(true);
}

size_t world_add(struct world *w, void (*run)(void *self), void *own) {
  CHECK(w->actor_count < ACTORS);
  struct actor *a = &w->actors[w->actor_count];
  *a = (struct actor){.run = run, .self = own, .there = true};
  a->page = a->tag = SIZE_MAX;
  a->until = TIDE_FOREVER;
  tide_fiber_domain_init(&a->place, stacks[w->actor_count], STACK, act);
  tide_fiber_watch_stack(&a->watch, stacks[w->actor_count], STACK);
  return w->actor_count++;
}

/* ---- the platform --------------------------------------------------------------------- */

static uint64_t now(void *own) { return ((struct world *)own)->now; }

static void block(void) {
  self()->blocked = true;
  hand_over();
}

static void wait(void *own, const uint32_t *word, uint32_t expected, uint64_t deadline) {
  (void)own;
  if (!acts || __atomic_load_n(word, __ATOMIC_ACQUIRE) != expected) return;
  self()->word = word;
  self()->until = deadline;
  block();
  self()->word = NULL;
}

static void wake(void *own, const uint32_t *word, uint32_t count) {
  struct world *w = own;
  for (size_t i = 0; i < w->actor_count && count; i++)
    if (w->actors[i].blocked && w->actors[i].word == word) {
      w->actors[i].blocked = false;
      count--;
    }
}

static void yield(void *own) {
  (void)own;
  if (!acts) return;
  hand_over();
}
static uint64_t random_number(void *own) {
  return tide_random_next(&((struct world *)own)->random);
}
static uint64_t thread_id(void *own) { return ((struct world *)own)->current + 1; }
static uint32_t cores(void *own) { return (void)own, 2; }

void world_open(struct world *w, uint64_t seed) {
  memset(w, 0, sizeof *w);
  w->random.state = seed;
  w->platform = *tide_platform_linux();
  w->platform.now = now;
  w->platform.wait = wait;
  w->platform.wake = wake;
  w->platform.yield = yield;
  w->platform.random = random_number;
  w->platform.thread_id = thread_id;
  w->platform.cores = cores;
  w->platform.self = w;
  w->now = 1;
  w->poor = tide_random_below(&w->random, 4) == 0;
  tide_fiber_watch_thread(&w->watch);
  the_world = w;
}

void world_close(struct world *w) {
  for (size_t i = 0; i < w->actor_count; i++) tide_fiber_watch_end(&w->actors[i].watch);
}

/* ---- the kernel ------------------------------------------------------------------------- */

size_t tide_region_page(void) { return PAGE; }

enum tide_status tide_region_open(struct tide_region *region, const char *label, size_t bytes,
                                  bool signals) {
  (void)label;
  CHECK(bytes <= PAGES * PAGE);
  *region = (struct tide_region){.bytes = bytes, .page = PAGE, .memory = -1, .faults = -1};
  region->signals = signals;
  region->writer = calloc(1, bytes);
  region->reader = malloc(bytes); /* addresses: what is loaded comes from the writers' view */
  return region->writer && region->reader ? TIDE_OK : TIDE_NOMEM;
}

struct tide_lock *tide_medium_enter(struct tide_medium *medium) {
  world_point();
  tide_lock_take(&medium->lock, medium->platform);
  return &medium->lock;
}

void tide_region_close(struct tide_region *region) {
  free(region->writer);
  free(region->reader);
}

/* Whoever is stalled there goes on; a fault that nobody has read is none any more. */
static void wake_page(size_t page) {
  struct world *w = the_world;
  size_t kept = 0;
  for (size_t i = 0; i < w->fault_count; i++)
    if (w->faults[i].page != page) w->faults[kept++] = w->faults[i];
  w->fault_count = kept;
  for (size_t i = 0; i < w->actor_count; i++)
    if (w->actors[i].page == page) w->actors[i].blocked = false;
}

void tide_region_wake(struct tide_region *region, size_t offset, size_t bytes) {
  (void)region;
  world_point();
  for (size_t at = offset; at < offset + bytes; at += PAGE) wake_page(at / PAGE);
}

/* Not all at once: a loader may come between two pages. */
void tide_region_map(struct tide_region *region, size_t offset, size_t bytes) {
  for (size_t at = offset; at < offset + bytes; at += PAGE) {
    world_point();
    if (the_world->pages[at / PAGE] == MISSING) the_world->pages[at / PAGE] = MAPPED;
  }
  tide_region_wake(region, offset, bytes);
}

void tide_region_drop(struct tide_region *region, size_t offset, size_t bytes) {
  (void)region;
  world_point();
  for (size_t at = offset; at < offset + bytes; at += PAGE)
    if (the_world->pages[at / PAGE] == MAPPED) the_world->pages[at / PAGE] = MISSING;
}

enum tide_status tide_region_blank(struct tide_region *region, size_t offset, size_t bytes) {
  world_point();
  if (the_world->poor && world_below(2)) return TIDE_NOMEM;
  for (size_t at = offset; at < offset + bytes; at += PAGE) the_world->pages[at / PAGE] = BLANK;
  tide_region_wake(region, offset, bytes);
  return TIDE_OK;
}

enum tide_status tide_region_restore(struct tide_region *region, size_t offset, size_t bytes) {
  (void)region;
  world_point();
  for (size_t at = offset; at < offset + bytes; at += PAGE) the_world->pages[at / PAGE] = MISSING;
  return TIDE_OK;
}

size_t tide_region_faults(struct tide_region *region, size_t out_offsets[TIDE_UFFD_BATCH]) {
  struct world *w = the_world;
  (void)region;
  world_point();
  size_t count = w->fault_count < TIDE_UFFD_BATCH ? w->fault_count : TIDE_UFFD_BATCH;
  for (size_t i = 0; i < count; i++) out_offsets[i] = w->faults[i].page * PAGE;
  memmove(w->faults, w->faults + count, (w->fault_count - count) * sizeof w->faults[0]);
  w->fault_count -= count;
  return count;
}

static void stall(size_t page) {
  struct world *w = the_world;
  CHECK(w->fault_count < FAULTS);
  w->faults[w->fault_count].page = page;
  w->faults[w->fault_count++].actor = w->current;
  w->stalls++;
  self()->page = page;
  block();
  self()->page = SIZE_MAX;
}

void world_load(const struct tide_medium *medium, const void *address, uint32_t out[PAGE / 4]) {
  size_t offset = (size_t)((const char *)address - medium->region.reader), page = offset / PAGE;
  for (;;) {
    world_point();
    enum page_state state = the_world->pages[page];
    if (state == MAPPED) memcpy(out, medium->region.writer + page * PAGE, PAGE);
    if (state == BLANK) memset(out, 0, PAGE);
    if (state != MISSING) return;
    if (medium->region.signals)
      tide_stall_here((struct tide_medium *)(uintptr_t)medium, page, NULL);
    else stall(page);
  }
}

/* ---- tag pages ---------------------------------------------------------------------------- */

enum tide_status tide_guard_make(struct tide_guard *guard, size_t bytes) {
  CHECK(bytes <= TAG_PAGES * PAGE);
  *guard = (struct tide_guard){.bytes = bytes, .page = PAGE, .faults = -1};
  guard->memory = calloc(1, bytes);
  return guard->memory ? TIDE_OK : TIDE_NOMEM;
}

void tide_guard_unmake(struct tide_guard *guard) { free(guard->memory); }

/* As wake_page. */
static void wake_tag(size_t page) {
  struct world *w = the_world;
  size_t kept = 0;
  for (size_t i = 0; i < w->store_count; i++)
    if (w->stores[i] != page) w->stores[kept++] = w->stores[i];
  w->store_count = kept;
  for (size_t i = 0; i < w->actor_count; i++)
    if (w->actors[i].tag == page) w->actors[i].blocked = false;
}

void tide_guard_wake(struct tide_guard *guard, size_t offset, size_t bytes) {
  (void)guard;
  world_point();
  for (size_t at = offset; at < offset + bytes; at += PAGE) wake_tag(at / PAGE);
}

void tide_guard_close(struct tide_guard *guard, size_t offset, size_t bytes) {
  (void)guard;
  for (size_t at = offset; at < offset + bytes; at += PAGE) {
    world_point();
    the_world->open[at / PAGE] = false;
  }
}

void tide_guard_open(struct tide_guard *guard, size_t offset, size_t bytes) {
  world_point();
  for (size_t at = offset; at < offset + bytes; at += PAGE) the_world->open[at / PAGE] = true;
  tide_guard_wake(guard, offset, bytes);
}

size_t tide_guard_faults(struct tide_guard *guard, size_t out_offsets[TIDE_UFFD_BATCH]) {
  struct world *w = the_world;
  (void)guard;
  world_point();
  size_t count = w->store_count < TIDE_UFFD_BATCH ? w->store_count : TIDE_UFFD_BATCH;
  for (size_t i = 0; i < count; i++) out_offsets[i] = w->stores[i] * PAGE;
  memmove(w->stores, w->stores + count, (w->store_count - count) * sizeof w->stores[0]);
  w->store_count -= count;
  return count;
}

/* Now and then a signal sends it back, and it comes again. */
static void stop_store(size_t page) {
  struct world *w = the_world;
  for (uint32_t times = 1 + !world_below(3); times > 0; times--) {
    CHECK(w->store_count < FAULTS);
    w->stores[w->store_count++] = page;
  }
  self()->tag = page;
  block();
  self()->tag = SIZE_MAX;
}

void world_store(const struct tide_medium *medium, uint64_t *word) {
  size_t page = (size_t)((char *)word - medium->tags.guard.memory) / PAGE;
  for (world_point(); !the_world->open[page]; world_point()) stop_store(page);
  *word = 1;
}

/* ---- the monitor's thread ---------------------------------------------------------------- */

void tide_giving_take(struct tide_medium *medium) {
  (void)medium;
  while (the_world->giving) yield(the_world);
  the_world->giving = true;
}
void tide_giving_give(struct tide_medium *medium) {
  (void)medium;
  the_world->giving = false;
  world_point();
}

static void watch(void *argument) {
  struct tide_medium *medium = argument;
  uint64_t until;
  while (tide_monitor_plan(medium, &until)) {
    world_point();
    if (!the_world->bell && !the_world->store_count &&
        !(the_world->fault_count && !medium->region.signals)) {
      self()->until = until;
      block();
    }
    the_world->bell = false;
    tide_monitor_work(medium);
  }
}

enum tide_status tide_monitor_start(struct tide_medium *medium) {
  the_world->monitor = world_add(the_world, watch, medium);
  the_world->actors[the_world->monitor].monitor = true;
  return TIDE_OK;
}

void tide_monitor_stop(struct tide_medium *medium) {
  struct tide_lock *lock = tide_medium_enter(medium);
  medium->stopping = true;
  tide_lock_give(lock);
  tide_monitor_ring(medium);
  while (!the_world->actors[the_world->monitor].over) yield(the_world);
}

void tide_monitor_ring(struct tide_medium *medium) {
  (void)medium;
  the_world->bell = true;
  world_point();
}
