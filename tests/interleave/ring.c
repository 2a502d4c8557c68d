/* A client's ring of commands: threads that find no room park, and the service reads and wakes.
 * Each thread is a process, but for the threads of one client, which share its lock. */
#include "interleave.h"

#include "base/lock.h"
#include "harness.h"
#include "service/command_ring.h"
#include "tidemark/tidemark.h"

#define CELLS 4u

struct state {
  struct tide_ring client, service;
  struct tide_lock lock; /* of the client's threads */
  uint32_t failed;       /* under the lock */
  _Alignas(64) unsigned char memory[sizeof(struct tide_ring_shared) + CELLS * TIDE_WIRE_CELL];
};

static const struct tide_platform *platform(void) { return tide_platform_linux(); }

static void begin(struct state *s) {
  EXPECT(tide_ring_bytes(CELLS) == sizeof s->memory);
  s->client = s->service = (struct tide_ring){(void *)s->memory, CELLS, 0};
  tide_lock_init(&s->lock);
}

/* `extra`: bytes of text behind the first cell's. */
static void write_record(struct state *s, uint32_t number, uint32_t extra) {
  struct tide_wire_record record = {.command = {.number = number, .text_size = extra}};
  bool is_asleep;
  EXPECT_OK(tide_ring_write(&s->client, &record, &is_asleep));
}

static void setup_full(void *self) {
  begin(self);
  for (uint32_t i = 0; i < CELLS; i++) write_record(self, i, 0);
}

/* As tide_session_await_room, with no deadline: true, unless the session has failed. */
static bool await_room(struct state *s, uint32_t cells) {
  uint32_t unparks;
  for (;;) {
    if (s->failed) return false;
    if (tide_ring_has_capacity(&s->client, cells)) return true;
    if (!tide_ring_must_park(&s->client, cells, &unparks)) continue;
    tide_lock_give(&s->lock);
    tide_ring_park(&s->client, unparks, platform(), TIDE_FOREVER);
    tide_lock_take(&s->lock, platform());
  }
}

static void write_one(void *self) {
  struct state *s = self;
  tide_lock_take(&s->lock, platform());
  EXPECT(await_room(s, 1));
  write_record(s, 9, 0);
  tide_lock_give(&s->lock);
}

/* It needs more than the half that is free when it is woken first. */
static void write_large(void *self) {
  struct state *s = self;
  tide_lock_take(&s->lock, platform());
  EXPECT(await_room(s, CELLS - 1));
  write_record(s, 9, (CELLS - 2) * TIDE_WIRE_CELL);
  tide_lock_give(&s->lock);
}

static void read_in_rounds(struct state *s, uint32_t count, uint32_t round) {
  struct tide_wire_record record;
  uint32_t cells;
  for (uint32_t i = 0; i < count; i++) {
    EXPECT_OK(tide_ring_read(&s->service, &record, &cells));
    EXPECT(record.command.number == i);
    if ((i + 1) % round == 0) tide_ring_offer_room(&s->service, platform());
  }
}
static void read_one_by_one(void *self) { read_in_rounds(self, CELLS, 1); }
static void read_at_once(void *self) { read_in_rounds(self, CELLS, CELLS); }

INTERLEAVE_CASE(room_after_one_round, 2, setup_full, NULL, read_at_once, write_one)
INTERLEAVE_CASE(room_after_some_rounds, 1, setup_full, NULL, read_one_by_one, write_one)
INTERLEAVE_CASE(room_for_a_large_one, 1, setup_full, NULL, read_one_by_one, write_large)
INTERLEAVE_CASE(room_for_two_threads, 0, setup_full, NULL, read_at_once, write_one, write_one)

/* ---- the session's end ------------------------------------------------------------------- */

static void fail(void *self) {
  struct state *s = self;
  tide_lock_take(&s->lock, platform());
  s->failed = 1;
  tide_ring_unpark(&s->client, platform());
  tide_lock_give(&s->lock);
}
static void await_the_end(void *self) {
  struct state *s = self;
  tide_lock_take(&s->lock, platform());
  EXPECT(!await_room(s, 1));
  tide_lock_give(&s->lock);
}
INTERLEAVE_CASE(the_end_wakes, 2, setup_full, NULL, fail, await_the_end)

/* ---- a deadline ---------------------------------------------------------------------------- */

static void park_for_a_while(void *self) {
  struct state *s = self;
  uint32_t unparks;
  if (tide_ring_must_park(&s->client, 1, &unparks))
    tide_ring_park(&s->client, unparks, platform(), 1000);
}
static void read_silently(void *self) { read_in_rounds(self, 1, CELLS); }
INTERLEAVE_CASE(a_deadline, 1, setup_full, NULL, read_silently, park_for_a_while)

TEST_MAIN(CASE(room_after_one_round), CASE(room_after_some_rounds), CASE(room_for_a_large_one),
          CASE(room_for_two_threads), CASE(the_end_wakes), CASE(a_deadline))
