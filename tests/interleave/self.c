/* The explorer itself: on programs so small that one knows what must come out. */
#include "interleave.h"

#include "base/lock.h"
#include "harness.h"
#include "tidemark/base.h"

#include <stdio.h>
#include <string.h>

struct state {
  uint32_t x, y, word;
  uint32_t a, b;
  uint64_t plain;
};

static bool outcomes[4]; /* over all runs: [2a + b] */

static void nothing(void *self) { (void)self; }
static void note(void *self) {
  struct state *s = self;
  outcomes[2 * s->a + s->b] = true;
}

/* Each stores its own, then loads the other's. */
static void store_x_load_y(void *self) {
  struct state *s = self;
  tide_store_release(&s->x, 1u);
  s->a = tide_load_acquire(&s->y);
}
static void store_y_load_x(void *self) {
  struct state *s = self;
  tide_store_release(&s->y, 1u);
  s->b = tide_load_acquire(&s->x);
}

static void explore(struct interleave_case which, struct interleave_result *found) {
  for (int i = 0; i < 4; i++) outcomes[i] = false;
  which.size = sizeof(struct state);
  if (!which.setup) which.setup = nothing;
  interleave_run(&which, found);
}

TEST(every_order_is_seen) {
  static struct interleave_result found;
  explore((struct interleave_case){.threads = {store_x_load_y, store_y_load_x}, .check = note},
          &found);
  CHECK(!found.failed && found.runs == 3);
  CHECK(!outcomes[0] && outcomes[1] && outcomes[2] && outcomes[3]);
}

TEST(old_values_are_read) {
  static struct interleave_result found;
  explore((struct interleave_case){.threads = {store_x_load_y, store_y_load_x},
                                   .check = note,
                                   .stale = 2},
          &found);
  CHECK(!found.failed && outcomes[0] && outcomes[1] && outcomes[2] && outcomes[3]);
}

/* ---- what must be found ---- */

static void plain_write(void *self) { ((struct state *)self)->plain = 1; }
static void publish_relaxed(void *self) {
  struct state *s = self;
  s->plain = 1;
  tide_store_relaxed(&s->x, 1u);
}
static void publish(void *self) {
  struct state *s = self;
  s->plain = 1;
  tide_store_release(&s->x, 1u);
}
static void read_published(void *self) {
  struct state *s = self;
  if (tide_load_acquire(&s->x)) EXPECT(s->plain == 1);
}
static void sleep_on_word(void *self) {
  struct state *s = self;
  const struct tide_platform *platform = tide_platform_linux();
  while (!tide_load_acquire(&s->word)) platform->wait(NULL, &s->word, 0, TIDE_FOREVER);
}
static void set_and_wake(void *self) {
  struct state *s = self;
  tide_store_release(&s->word, 1u);
  tide_platform_linux()->wake(NULL, &s->word, 1);
}
static void wake_and_set(void *self) {
  struct state *s = self;
  tide_platform_linux()->wake(NULL, &s->word, 1);
  tide_store_release(&s->word, 1u);
}
static void take_memory(void *self) {
  struct state *s = self;
  const struct tide_allocator *allocator = tide_allocator_system();
  uint32_t *memory = allocator->alloc(NULL, 64, 16);
  s->plain = (uint64_t)(uintptr_t)memory;
  memory[0] = 0;
}
static void free_memory(void *self) {
  struct state *s = self;
  if (!tide_exchange(&s->x, 1u)) return;
  tide_allocator_system()->free(NULL, (void *)(uintptr_t)s->plain, 64);
}
static void use_memory(void *self) {
  struct state *s = self;
  tide_store_release((uint32_t *)(uintptr_t)s->plain, 1u);
  tide_exchange(&s->x, 1u);
}
static void use_memory_late(void *self) {
  struct state *s = self;
  tide_exchange(&s->x, 1u);
  tide_store_release((uint32_t *)(uintptr_t)s->plain, 1u);
}
static void free_and_tell(void *self) {
  struct state *s = self;
  tide_allocator_system()->free(NULL, (void *)(uintptr_t)s->plain, 64);
  tide_store_release(&s->x, 1u);
}
static void use_when_told(void *self) {
  struct state *s = self;
  if (tide_load_acquire(&s->x)) tide_store_release((uint32_t *)(uintptr_t)s->plain, 1u);
}
static void lend_frame(void *self) {
  struct state *s = self;
  uint32_t here = 0;
  tide_store_release(&s->plain, (uint64_t)(uintptr_t)&here);
  while (!tide_load_acquire(&s->word)) tide_platform_linux()->wait(NULL, &s->word, 0, TIDE_FOREVER);
}
static void use_frame_late(void *self) {
  struct state *s = self;
  uint64_t where = tide_load_acquire(&s->plain);
  set_and_wake(self);
  if (where) tide_store_release((uint32_t *)(uintptr_t)where, 1u);
}
static void spin(void *self) {
  struct state *s = self;
  while (!tide_load_acquire(&s->y)) tide_platform_linux()->yield(NULL);
}

static void must_find(const char *what, void (*setup)(void *), void (*one)(void *),
                      void (*other)(void *)) {
  static struct interleave_result found;
  explore((struct interleave_case){.setup = setup, .threads = {one, other}, .stale = 1}, &found);
  if (!what && found.failed) FAIL("%s", found.why);
  if (what && (!found.failed || !strstr(found.why, what)))
    FAIL("not found: %s, but: %s", what, found.failed ? found.why : "nothing");
}

TEST(races_are_found) {
  must_find("race at state+", NULL, plain_write, plain_write);
  must_find("race at state+", NULL, publish_relaxed, read_published);
  must_find(NULL, NULL, publish, read_published);
}
TEST(lost_wakes_are_found) {
  must_find("nobody can go on", NULL, wake_and_set, sleep_on_word);
  must_find(NULL, NULL, set_and_wake, sleep_on_word);
}
TEST(memory_that_is_gone_is_found) {
  must_find(NULL, take_memory, free_memory, use_memory);
  must_find("memory that is gone: block 1+0: freed", take_memory, free_memory, use_memory_late);
  must_find("memory that is gone: thread 2 touches block 1+0", take_memory, free_and_tell,
            use_when_told);
  must_find("memory that is gone: thread 1 leaves a frame", NULL, lend_frame, use_frame_late);
}
TEST(endless_runs_are_found) {
  must_find("yields for ever", NULL, spin, publish);
  must_find(NULL, NULL, spin, store_y_load_x);
}

/* ---- the reduction loses nothing ---- */

/* Small random programs: what can come out is the same whether all orders are run, or one of each
 * class. */
enum { LOAD, STORE, COUNT, SWAP, SECTION, SLEEP, WAKE, INSTRUCTIONS };
struct random_state {
  uint32_t words[2], log[3], guarded;
  struct tide_lock lock;
};
static struct { uint8_t what[4], where[4]; } program[3];
static unsigned program_length;
static uint64_t outcome_set[4096];
static unsigned outcome_count;

static void interpret(struct random_state *s, int thread) {
  const struct tide_platform *platform = tide_platform_linux();
  uint32_t *log = &s->log[thread];
  for (unsigned i = 0; i < program_length; i++) {
    uint32_t *word = &s->words[program[thread].where[i]], mine = (uint32_t)thread * 5 + i + 1;
    uint32_t seen = 0;
    switch (program[thread].what[i]) {
      case LOAD: seen = tide_load_acquire(word); break;
      case STORE: tide_store_release(word, mine); break;
      case COUNT: seen = tide_fetch_add(word, 16u); break;
      case SWAP: tide_compare_exchange(word, &seen, mine); break;
      case SECTION:
        tide_lock_take(&s->lock, platform);
        seen = tide_load_relaxed(word);
        tide_store_relaxed(word, seen + 32);
        tide_lock_give(&s->lock);
        break;
      case SLEEP:
        platform->wait(NULL, word, 0, 10 + i);
        seen = platform->now(NULL) >= 10 + i;
        break;
      default: platform->wake(NULL, word, 1); break;
    }
    *log = *log * 131 + seen + 1;
  }
}
static void random_one(void *self) { interpret(self, 0); }
static void random_two(void *self) { interpret(self, 1); }
static void random_three(void *self) { interpret(self, 2); }

static void keep_outcome(void *self) {
  struct random_state *s = self;
  uint64_t hash = 0;
  for (int i = 0; i < 3; i++) hash = (hash ^ s->log[i]) * 0x9e3779b97f4a7c15u;
  for (int i = 0; i < 2; i++) hash = (hash ^ s->words[i]) * 0x9e3779b97f4a7c15u;
  for (unsigned i = 0; i < outcome_count; i++)
    if (outcome_set[i] == hash) return;
  EXPECT(outcome_count < 4096);
  outcome_set[outcome_count++] = hash;
}

static unsigned outcomes_of(unsigned threads, unsigned preemptions, unsigned stale,
                            struct interleave_result *found, uint64_t *out_sum) {
  struct interleave_case which = {
      .size = sizeof(struct random_state),
      .setup = nothing,
      .threads = {random_one, random_two, threads > 2 ? random_three : NULL},
      .check = keep_outcome,
      .stale = stale,
      .preemptions = preemptions};
  outcome_count = 0;
  interleave_run(&which, found);
  if (found->failed) FAIL("%s", found->why);
  *out_sum = 0;
  for (unsigned i = 0; i < outcome_count; i++) *out_sum += outcome_set[i];
  return outcome_count;
}

TEST(reduction_loses_nothing) {
  static struct interleave_result reduced, full;
  uint64_t random = 88172645463325252u, runs[2] = {0, 0};
  for (unsigned round = 0; round < 200; round++) {
    unsigned threads = 2 + round % 2;
    program_length = threads == 2 ? 4 : 2;
    for (int t = 0; t < 3; t++)
      for (int i = 0; i < 4; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        program[t].what[i] = (uint8_t)((random >> 20) % INSTRUCTIONS);
        program[t].where[i] = (uint8_t)((random >> 40) % 2);
      }
    uint64_t sums[2];
    unsigned one = outcomes_of(threads, 0, round % 3, &reduced, &sums[0]);
    unsigned all = outcomes_of(threads, 1000, round % 3, &full, &sums[1]);
    if (one != all || sums[0] != sums[1])
      FAIL("program %u: %u outcomes instead of %u", round, one, all);
    runs[0] += reduced.runs + reduced.pruned;
    runs[1] += full.runs;
  }
  printf("     200 programs: %llu runs instead of %llu\n", (unsigned long long)runs[0],
         (unsigned long long)runs[1]);
}

TEST_MAIN(CASE(every_order_is_seen), CASE(old_values_are_read), CASE(races_are_found),
          CASE(lost_wakes_are_found), CASE(memory_that_is_gone_is_found),
          CASE(endless_runs_are_found), CASE_SECONDS(reduction_loses_nothing, 300))
