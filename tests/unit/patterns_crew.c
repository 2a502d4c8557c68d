/* benchmarks/patterns with fibers for consumers: all of them on one thread, each with 16 KiB of
 * stack and a hole below, going on when another has to wait. So a consumer's code keeps to what is
 * asked of it: nothing in thread-locals that it needs twice, a small stack, no waiting but in take.
 */
#include "../../benchmarks/patterns/polling.h"
#include "../../benchmarks/patterns/run.h"

#include "harness.h"

#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK 16384
#define MOST 256

struct crew {
  ucontext_t scheduler, fibers[MOST];
  bool ended[MOST];
  uint32_t now; /* who runs */
  void (*entry)(void *argument, uint32_t index);
  void *argument;
};

static struct crew crew;

/* A consumer that must wait lets the next one run; the producer is a thread, and polls. */
static const void *switch_and_take(struct exchange *x, struct message m) {
  struct slot *slot = exchange_slot(x, m);
  if (m.direction == UP) return polling_take(x, m);
  while (atomic_load_explicit(&slot->given, memory_order_acquire) < m.cycle + 1) {
    if (atomic_load(&x->over)) return NULL;
    swapcontext(&crew.fibers[crew.now], &crew.scheduler);
  }
  return exchange_place(x, m);
}

/* What exchange.h promises of patterns: a consumer's room never has to wait. */
static void *room_at_once(struct exchange *x, struct message m) {
  struct slot *slot = exchange_slot(x, m);
  if (m.direction == UP) CHECK(atomic_load(&slot->taken) == atomic_load(&slot->given));
  return polling_room(x, m);
}

static void begin(void) {
  crew.entry(crew.argument, crew.now);
  crew.ended[crew.now] = true;
}

/* A function of its own: getcontext returns as setjmp does. */
static void prepare(uint32_t i, unsigned char *stack) {
  getcontext(&crew.fibers[i]);
  crew.fibers[i].uc_stack.ss_sp = stack;
  crew.fibers[i].uc_stack.ss_size = STACK;
  crew.fibers[i].uc_link = &crew.scheduler;
  crew.ended[i] = false;
  makecontext(&crew.fibers[i], begin, 0);
}

static bool run_crew(struct exchange *x, void (*entry)(void *, uint32_t), void *argument) {
  uint32_t count = x->shape.consumers, left = count;
  size_t hole = (size_t)sysconf(_SC_PAGESIZE), each = STACK + hole;
  unsigned char *stacks =
      mmap(NULL, each * count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(stacks != MAP_FAILED && count <= MOST);
  crew.entry = entry;
  crew.argument = argument;
  for (uint32_t i = 0; i < count; i++) {
    mprotect(stacks + i * each, hole, PROT_NONE);
    prepare(i, stacks + i * each + hole);
  }
  while (left > 0)
    for (crew.now = 0; crew.now < count; crew.now++) {
      if (crew.ended[crew.now]) continue;
      swapcontext(&crew.scheduler, &crew.fibers[crew.now]);
      left -= crew.ended[crew.now];
    }
  munmap(stacks, each * count);
  return true;
}

static const struct way fibers = {
    .name = "fibers",
    .summary = "one thread for all consumers",
    .room = room_at_once,
    .give = polling_give,
    .take = switch_and_take,
    .taken = polling_taken,
    .crew = run_crew,
};

static void check_all(uint32_t consumers, size_t bytes, enum plant plant) {
  static const struct pace once = {.times = {1, 1, 1}};
  struct settings s = {.consumers = consumers,
                       .cycles = 4,
                       .bytes = bytes,
                       .limit = 50,
                       .seed = 3,
                       .model = PROBABILISTIC,
                       .access = RANDOM,
                       .n0 = 2,
                       .n1 = 3,
                       .xi = 0.7};
  if (test_slowdown() > 1) SKIP("sanitizers don't follow to other stacks");
  for (size_t i = 0; i <= pattern_count; i++) {
    const struct pattern *pattern = i < pattern_count ? patterns[i] : &pattern_generator;
    struct outcome out;
    run_pattern(pattern, &fibers, &s, &once, plant, &out);
    if (out.good != (plant == PLANT_NOTHING)) FAIL("%s: %s", pattern->name, out.said);
  }
}

TEST(four_fibers) { check_all(4, 4096, PLANT_NOTHING); }
TEST(large_messages) { check_all(5, 65536, PLANT_NOTHING); }
TEST(many_fibers) { check_all(256, 4096, PLANT_NOTHING); }
TEST(old_data_is_found_out) { check_all(4, 4096, PLANT_STALE); }

TEST_MAIN(CASE(four_fibers), CASE(large_messages), CASE_SECONDS(many_fibers, 300),
          CASE(old_data_is_found_out))
