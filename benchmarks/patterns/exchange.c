/* What all ways share: places, numbers, moments, and what a test does wrong on purpose. */
#include "exchange.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t exchange_now(void) { return read_clock(CLOCK_MONOTONIC); }
uint64_t exchange_cpu_time(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

/* ---- where things are ---- */

static size_t half(const struct shape *s) { return (size_t)s->consumers * (s->down + s->up); }

/* Downs first, so that what one device reads lies together. */
static size_t in_half(const struct shape *s, struct message m) {
  if (m.direction == DOWN) return (size_t)m.consumer * s->down + m.number;
  return (size_t)s->consumers * s->down + (size_t)m.consumer * s->up + m.number;
}

size_t exchange_index(const struct exchange *x, struct message m) {
  return (m.cycle & 1) * half(&x->shape) + in_half(&x->shape, m);
}

struct moment *exchange_moment(struct exchange *x, struct message m) {
  return &x->moments[m.cycle * half(&x->shape) + in_half(&x->shape, m)];
}

/* ---- a run's life ---- */

static size_t memory_size(const struct exchange *x) { return 2 * half(&x->shape) * x->place; }

void exchange_pin(int core) {
  cpu_set_t cores;
  if (core < 0) return;
  CPU_ZERO(&cores);
  CPU_SET((unsigned)core, &cores);
  pthread_setaffinity_np(pthread_self(), sizeof cores, &cores);
}

/* Touched before the clock runs: a first touch is a page fault like any other. */
void *exchange_map(const struct exchange *x, size_t *out_size) {
  *out_size = memory_size(x);
  void *memory = mmap(NULL, *out_size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

static bool allocate(struct exchange *x) {
  const struct shape *s = &x->shape;
  x->slots = aligned_alloc(64, 2 * half(s) * sizeof *x->slots);
  x->waiting = aligned_alloc(64, (s->consumers + 1) * sizeof *x->waiting);
  x->moments = calloc(s->cycles * half(s), sizeof *x->moments);
  x->scratch = x->plant != PLANT_NOTHING ? malloc(x->place) : NULL;
  if (!x->slots || !x->waiting || !x->moments || (x->plant != PLANT_NOTHING && !x->scratch))
    return false;
  memset(x->slots, 0, 2 * half(s) * sizeof *x->slots);
  memset(x->waiting, 0, (s->consumers + 1) * sizeof *x->waiting);
  return true;
}

const char *exchange_open(struct exchange *x, const struct way *way, const struct shape *shape,
                          enum plant plant) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), size;
  *x = (struct exchange){.way = way, .shape = *shape, .plant = plant};
  x->place = (shape->bytes + page - 1) / page * page;
  const char *problem = NULL;
  if (!allocate(x)) problem = "there is no memory for the messages";
  else if (way->open) problem = way->open(x);
  if (!problem && !x->memory && !(x->memory = exchange_map(x, &size)))
    problem = "there is no memory for the messages";
  if (problem) exchange_close(x);
  return problem;
}

void exchange_close(struct exchange *x) {
  if (x->way->close) x->way->close(x);
  if (x->memory) munmap(x->memory, memory_size(x));
  free(x->slots);
  free(x->waiting);
  free(x->moments);
  free(x->scratch);
  x->memory = x->scratch = NULL;
  x->slots = NULL;
  x->waiting = NULL;
  x->moments = NULL;
}

/* ---- messages ---- */

static bool is_planted(const struct exchange *x, struct message m, uint32_t cycle) {
  return x->plant != PLANT_NOTHING && m.direction == DOWN && m.cycle == cycle && m.consumer == 0 &&
         m.number == 0;
}

/* Each of the four calls counts the time in it for whoever calls. */
static uint64_t enter(const struct exchange *x) { return x->shape.watched ? exchange_now() : 0; }

static void leave(struct exchange *x, struct message m, enum direction reader, uint64_t from) {
  if (!x->shape.watched) return;
  struct message mine = m;
  mine.direction =
      m.direction == reader ? DOWN : UP; /* whose is it: a consumer's, the producer's */
  exchange_reader(x, mine)->inside += exchange_now() - from;
}

static void *make_room(struct exchange *x, struct message m) {
  void *room = x->way->room(x, m);
  if (!room || x->plant != PLANT_EARLY || !is_planted(x, m, 1)) return room;
  /* The reader gets what was there before anything was; what is written now goes nowhere. */
  memset(room, 0, x->shape.bytes);
  x->way->give(x, m, x->shape.bytes);
  return x->scratch;
}

void *exchange_room(struct exchange *x, struct message m) {
  uint64_t from = enter(x);
  void *room = make_room(x, m);
  leave(x, m, UP, from);
  return room;
}

static void give(struct exchange *x, struct message m, size_t length) {
  exchange_moment(x, m)->given = exchange_now();
  if (x->plant == PLANT_STALE && is_planted(x, m, 0))
    memcpy(x->scratch, exchange_place(x, m), x->shape.bytes);
  if (is_planted(x, m, 1)) {
    if (x->plant == PLANT_EARLY) return;
    memcpy(exchange_place(x, m), x->scratch, x->shape.bytes);
  }
  x->way->give(x, m, length);
}

void exchange_give(struct exchange *x, struct message m, size_t length) {
  uint64_t from = enter(x);
  give(x, m, length);
  leave(x, m, UP, from);
}

const void *exchange_take(struct exchange *x, struct message m) {
  struct moment *moment = exchange_moment(x, m);
  uint64_t from = enter(x);
  if (m.direction == UP) exchange_flush(x);
  moment->asked = exchange_now();
  const void *data = x->way->take(x, m);
  if (data && x->way->faults && x->shape.watched) (void)*(volatile const unsigned char *)data;
  if (!x->way->faults || x->shape.watched) moment->got = exchange_now();
  leave(x, m, DOWN, from);
  return data;
}

bool exchange_taken(struct exchange *x, struct message m) {
  uint64_t from = enter(x);
  bool good = x->way->taken(x, m);
  leave(x, m, DOWN, from);
  return good;
}

void exchange_flush(struct exchange *x) {
  if (x->way->flush) x->way->flush(x);
}

void exchange_stop(struct exchange *x) {
  atomic_store(&x->over, true);
  if (x->way->stop) x->way->stop(x);
}
