/* A world: its memory, its clock, its history, and how it ends. */
#include "oracle.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define POISON(memory, size) __asan_poison_memory_region((memory), (size))
#define UNPOISON(memory, size) __asan_unpoison_memory_region((memory), (size))
#else
#define POISON(memory, size) ((void)(memory), (void)(size))
#define UNPOISON(memory, size) ((void)(memory), (void)(size))
#endif

/* ---- memory: one arena for the library's objects, one for the truth's ---------------- */

/* Addresses are never used twice in one world, so that a seed gives the same order of addresses in
 * every run, and what was freed stays poisoned. */
struct arena {
  unsigned char *base;
  unsigned char *region; /* SLACK bytes longer than the arena, which lies somewhere in it */
  size_t used, size, live;
};
static struct arena library_memory, truth_memory;

#define SLACK ((size_t)8 << 30)
#define PAGE ((size_t)4096)

/* The bytes of new and of freed memory. Memory of a kind lies at an address of its own. */
static struct {
  uint64_t number; /* 0: the usual kind */
  unsigned char fresh, freed;
} kind = {0, 0xa5, 0xdd};

void memory_vary(uint64_t number) {
  static const unsigned char fills[] = {0, 0xff, 0x5a, 1};
  kind.number = number;
  kind.fresh = number ? fills[number % sizeof fills] : 0xa5;
  kind.freed = number ? fills[number / sizeof fills % sizeof fills] : 0xdd;
}

static void arena_map(struct arena *arena, size_t size) {
  arena->region = mmap(NULL, size + SLACK, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (arena->region == MAP_FAILED) abort();
  arena->base = arena->region;
  arena->size = size;
  arena->used = size;
}

/* Moves the empty arena to the address of the kind, and gives its old pages back. */
static void arena_move(struct arena *arena) {
  struct tide_random random = {kind.number};
  size_t pages = kind.number ? (size_t)tide_random_below(&random, SLACK / PAGE) : 0;
  unsigned char *base = arena->region + pages * PAGE;
  if (base == arena->base) return;
  UNPOISON(arena->base, arena->used);
  if (madvise(arena->base, arena->used, MADV_DONTNEED) != 0) abort();
  arena->base = base;
}

static void arena_reset(struct arena *arena, size_t size) {
  if (!arena->base) arena_map(arena, size);
  arena_move(arena);
  POISON(arena->base, arena->used);
  arena->used = 0;
  arena->live = 0;
}

static void *arena_take(struct arena *arena, size_t size, size_t align) {
  size_t at = (arena->used + align - 1) & ~(align - 1);
  if (size > arena->size - at) return NULL;
  arena->used = at + size + 16;
  arena->live++;
  UNPOISON(arena->base + at, size);
  return arena->base + at;
}

static uint32_t allowed = UINT32_MAX;

void memory_allow(uint32_t count) { allowed = count; }

static void *allocate(void *self, size_t size, size_t align) {
  if (!allowed) return NULL;
  if (allowed != UINT32_MAX) allowed--;
  void *memory = arena_take(self, size, align < 16 ? 16 : align);
  if (memory) memset(memory, kind.fresh, size);
  return memory;
}

static void release(void *self, void *memory, size_t size) {
  struct arena *arena = self;
  memset(memory, kind.freed, size);
  POISON(memory, size);
  arena->live--;
}

void *keep_raw(size_t size) {
  void *memory = arena_take(&truth_memory, size, 16);
  if (!memory) abort();
  if (kind.number) memset(memory, kind.fresh, size);
  return memory;
}

void *keep(size_t size) {
  void *memory = keep_raw(size);
  memset(memory, 0, size);
  return memory;
}

void memory_reset(void) {
  allowed = UINT32_MAX;
  arena_reset(&library_memory, (size_t)256 << 20);
  arena_reset(&truth_memory, (size_t)256 << 20);
}

size_t memory_live(void) { return library_memory.live; }

static const struct tide_allocator allocator = {allocate, release, &library_memory};

/* ---- the platform: one thread, and nobody to wait for ---------------------------------- */

static uint64_t clock_now(void *self) {
  uint64_t *time = self;
  return ++*time;
}
static struct world *current;
static void platform_wait(void *self, const uint32_t *word, uint32_t expected, uint64_t deadline) {
  (void)self;
  (void)word;
  (void)expected;
  (void)deadline;
  if (!current->meanwhile || !current->meanwhile(current))
    violation(current, "the library blocks where nobody can wake it");
}
static void platform_wake(void *self, const uint32_t *word, uint32_t count) {
  (void)self;
  (void)word;
  (void)count;
}
static void platform_wait_shared(void *self, const struct tide_word *words, uint32_t count,
                                 uint64_t deadline) {
  (void)count;
  platform_wait(self, words->word, words->expected, deadline);
}
static void platform_yield(void *self) {
  (void)self;
  violation(current, "a lock is taken twice");
}
static uint64_t platform_random(void *self) { return clock_now(self) * 0x9e3779b97f4a7c15u; }
static uint64_t platform_thread(void *self) {
  (void)self;
  return 1;
}
static uint32_t platform_cores(void *self) {
  (void)self;
  return 1;
}

static uint64_t time_now;
static const struct tide_platform platform = {.now = clock_now,
                                              .wait = platform_wait,
                                              .wake = platform_wake,
                                              .yield = platform_yield,
                                              .random = platform_random,
                                              .thread_id = platform_thread,
                                              .cores = platform_cores,
                                              .wait_shared = platform_wait_shared,
                                              .wake_shared = platform_wake,
                                              .self = &time_now};

/* ---- ending ------------------------------------------------------------------------------ */

_Noreturn void violation(struct world *world, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(world->why, sizeof world->why, format, list);
  va_end(list);
  LOG(world, "VIOLATION: %s", world->why);
  longjmp(world->out, 1);
}

void note_line(struct world *world, const char *format, ...) {
  char *line = world->lines[world->line_next++ % LOG_LINES];
  va_list list;
  va_start(list, format);
  vsnprintf(line, sizeof world->lines[0], format, list);
  va_end(list);
}

void print_history(const struct world *world, uint32_t most) {
  uint32_t have = world->line_next < LOG_LINES ? world->line_next : LOG_LINES;
  uint32_t count = have < most ? have : most;
  for (uint32_t i = world->line_next - count; i != world->line_next; i++)
    printf("    %s\n", world->lines[i % LOG_LINES]);
}

void world_open(struct world *world, uint64_t seed, uint8_t frontier_capacity, bool check) {
  time_now = 1;
  current = world;
  world->seed = seed;
  if (world->verbose) world->lines = keep_raw(LOG_LINES * sizeof world->lines[0]);
  world->sink = (struct tide_sink){.event = watch, .self = world};
  struct tide_context_params params = {.struct_size = sizeof params,
                                       .platform = &platform,
                                       .allocator = &allocator,
                                       .sink = &world->sink,
                                       .frontier_capacity = frontier_capacity,
                                       .check = check,
                                       .finding = heard_finding,
                                       .finding_user = world};
  world->checking = check;
  if (tide_context_create(&params, &world->context) != TIDE_OK) abort();
}

void world_close(struct world *world) {
  tide_context_destroy(world->context);
  ENSURE(world, memory_live() == 0, "%zu pieces of memory were not given back", memory_live());
}
