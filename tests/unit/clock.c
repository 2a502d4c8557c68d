/* A platform whose time is made up. */
#include "harness.h"
#include "tidemark/clock.h"

#include <setjmp.h>
#include <string.h>

enum { MANY = 1000 };

struct note {
  struct tide_timer_event event;
  struct tide_clock *clock;
  int number;
  uint64_t again; /* ns until it happens again; 0: never */
};

static int noted[4 * MANY];
static uint64_t times[4 * MANY];
static size_t noted_count;

static void fire(struct tide_timer_event *event) {
  struct note *note = (struct note *)event; /* its first member */
  times[noted_count] = tide_clock_now(note->clock);
  noted[noted_count++] = note->number;
  if (note->again) tide_clock_at(note->clock, event, event->time + note->again);
}

static struct tide_clock *new_clock(uint64_t seed, bool shuffle) {
  struct tide_clock *clock;
  struct tide_clock_params params = {
      .struct_size = sizeof params, .seed = seed, .shuffle = shuffle};
  noted_count = 0;
  CHECK_OK(tide_clock_create(tide_allocator_system(), &params, &clock));
  return clock;
}

static void expect(struct tide_clock *clock, struct note *note, int number, uint64_t time) {
  *note = (struct note){.event = {.fire = fire}, .clock = clock, .number = number};
  tide_clock_at(clock, &note->event, time);
}

TEST(things_happen_in_the_order_of_time) {
  static struct note notes[MANY];
  struct tide_clock *clock = new_clock(0, false);
  for (int i = 0; i < MANY; i++) expect(clock, &notes[i], i, (uint64_t)(i * 7919 % MANY) / 2);
  for (int i = 0; i < MANY; i++) CHECK(tide_clock_step(clock));
  CHECK(!tide_clock_step(clock));
  for (int i = 1; i < MANY; i++) {
    CHECK(times[i - 1] <= times[i]);
    /* Of one moment: as they were asked for. */
    CHECK(times[i - 1] < times[i] || noted[i - 1] < noted[i]);
  }
  tide_clock_destroy(clock);
}

TEST(a_seed_decides_what_is_simultaneous) {
  static struct note notes[MANY];
  static int first[2][MANY];
  for (int run = 0; run < 3; run++) {
    struct tide_clock *clock = new_clock(run < 2 ? 1 : 2, true);
    for (int i = 0; i < MANY; i++) expect(clock, &notes[i], i, 5);
    while (tide_clock_step(clock))
      ;
    CHECK_EQ_U64(noted_count, MANY);
    if (run == 0) memcpy(first[0], noted, sizeof first[0]);
    if (run == 1) CHECK(memcmp(first[0], noted, sizeof first[0]) == 0);
    if (run == 2) CHECK(memcmp(first[0], noted, sizeof first[0]) != 0);
    tide_clock_destroy(clock);
  }
}

TEST(what_is_forgotten_does_not_happen) {
  static struct note notes[MANY];
  struct tide_clock *clock = new_clock(0, false);
  for (int i = 0; i < MANY; i++) expect(clock, &notes[i], i, (uint64_t)(i * 31 % 97));
  for (int i = 0; i < 100; i++) CHECK(tide_clock_step(clock));
  for (int i = 0; i < MANY; i++)
    if (i % 3) tide_clock_forget(clock, &notes[i].event);
  for (int i = 0; i < MANY; i++) CHECK(!(i % 3) || !notes[i].event.expected);
  size_t before = noted_count;
  while (tide_clock_step(clock))
    ;
  for (size_t i = before; i < noted_count; i++) {
    CHECK(noted[i] % 3 == 0);
    CHECK(i == before || times[i - 1] <= times[i]);
  }
  for (int i = 0; i < MANY; i += 3) CHECK(!notes[i].event.expected);
  tide_clock_destroy(clock);
}

TEST(time_passes_with_what_happens_meanwhile) {
  struct note note;
  struct tide_clock *clock = new_clock(0, false);
  expect(clock, &note, 1, 10);
  note.again = 10;
  tide_clock_pass(clock, 35);
  CHECK_EQ_U64(noted_count, 3);
  CHECK_EQ_U64(tide_clock_now(clock), 35);
  tide_clock_pass(clock, 5); /* what is due at the very end has happened */
  CHECK_EQ_U64(noted_count, 4);
  note.again = 0;
  tide_clock_pass(clock, UINT64_MAX);
  CHECK_EQ_U64(noted_count, 5);
  CHECK_EQ_U64(tide_clock_now(clock), UINT64_MAX);
  tide_clock_destroy(clock);
}

/* ---- waiting ----------------------------------------------------------------------- */

struct change {
  struct tide_timer_event event;
  uint32_t *word;
};

static void change(struct tide_timer_event *event) { ++*((struct change *)event)->word; }

TEST(a_wait_ends_when_the_word_changes_or_at_the_deadline) {
  struct tide_clock *clock = new_clock(0, false);
  const struct tide_platform *platform = tide_clock_platform(clock);
  uint32_t word = 0;
  struct change changes[2] = {{{.fire = change}, &word}, {{.fire = change}, &word}};
  tide_clock_at(clock, &changes[0].event, 100);
  tide_clock_at(clock, &changes[1].event, 200);
  platform->wait(platform->self, &word, 0, 50);
  CHECK_EQ_U64(tide_clock_now(clock), 50);
  platform->wait(platform->self, &word, 0, TIDE_NOW); /* returns at once */
  CHECK_EQ_U64(tide_clock_now(clock), 50);
  platform->wait(platform->self, &word, 0, TIDE_FOREVER);
  CHECK_EQ_U64(tide_clock_now(clock), 100);
  CHECK_EQ_U64(word, 1);
  platform->wait(platform->self, &word, 0, TIDE_FOREVER); /* has changed already */
  CHECK_EQ_U64(tide_clock_now(clock), 100);
  platform->wait(platform->self, &word, 1, 200); /* happens at the deadline */
  CHECK_EQ_U64(word, 2);
  platform->wait(platform->self, &word, 2, 1000); /* nothing is expected any more */
  CHECK_EQ_U64(tide_clock_now(clock), 1000);
  struct tide_thread *thread;
  CHECK_STATUS(platform->spawn(platform->self, "x", NULL, NULL, &thread), TIDE_UNSUPPORTED);
  tide_clock_destroy(clock);
}

static jmp_buf out;
static void is_stuck(void *user) {
  *(bool *)user = true;
  longjmp(out, 1);
}

TEST(a_wait_that_nothing_can_end_is_told) {
  static bool stuck;
  static struct tide_clock *clock;
  static uint32_t word;
  struct tide_clock_params params = {
      .struct_size = sizeof params, .stuck = is_stuck, .user = &stuck};
  CHECK_OK(tide_clock_create(tide_allocator_system(), &params, &clock));
  const struct tide_platform *platform = tide_clock_platform(clock);
  if (setjmp(out) == 0) {
    platform->wait(platform->self, &word, 0, TIDE_FOREVER);
    FAIL("it returned");
  }
  CHECK(stuck);
  tide_clock_destroy(clock);
}

TEST(random_numbers_come_from_the_seed) {
  uint64_t seen[2][8];
  for (int run = 0; run < 2; run++) {
    struct tide_clock *clock = new_clock(9, false);
    const struct tide_platform *platform = tide_clock_platform(clock);
    for (int i = 0; i < 4; i++) seen[run][i] = platform->random(platform->self);
    for (int i = 4; i < 8; i++) {
      seen[run][i] = tide_clock_random(clock, 10);
      CHECK(seen[run][i] < 10);
    }
    tide_clock_destroy(clock);
  }
  CHECK(memcmp(seen[0], seen[1], sizeof seen[0]) == 0);
  CHECK(seen[0][0] != seen[0][1]);
  tide_clock_destroy(NULL);
}

TEST_MAIN(CASE(things_happen_in_the_order_of_time), CASE(a_seed_decides_what_is_simultaneous),
          CASE(what_is_forgotten_does_not_happen), CASE(time_passes_with_what_happens_meanwhile),
          CASE(a_wait_ends_when_the_word_changes_or_at_the_deadline),
          CASE(a_wait_that_nothing_can_end_is_told), CASE(random_numbers_come_from_the_seed))
