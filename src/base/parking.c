#include "base/parking.h"
#include "base/atomic.h"

enum { ASLEEP, TOLD, TOLD_FIRST }; /* first: the others are still a ring */

#ifdef TIDE_INTERLEAVE
#define FEW 2 /* a ring of three is as many threads as there are to spare */
#else
#define FEW 4 /* so many are woken by whoever fires them */
#endif

void tide_sleeper_init(struct tide_sleeper *sleeper, const struct tide_platform *platform) {
  *sleeper = (struct tide_sleeper){.node.fire = tide_sleeper_fire, .platform = platform};
  sleeper->after = sleeper->before = sleeper;
}

void tide_sleeper_join(struct tide_sleeper *head, struct tide_sleeper *other) {
  struct tide_sleeper *last = head->before, *end = other->before;
  last->after = other;
  other->before = last;
  end->after = head;
  head->before = end;
  other->follows = true;
}

struct tide_sleeper *tide_sleeper_leave(struct tide_sleeper *sleeper) {
  struct tide_sleeper *next = sleeper->after;
  if (next == sleeper) return NULL;
  next->before = sleeper->before;
  sleeper->before->after = next;
  if (!sleeper->follows) next->follows = false;
  return next;
}

/* Once the word is set the sleeper may be gone: its address is all that the wake still uses. */
static void tell(struct tide_sleeper *sleeper, uint32_t what) {
  const struct tide_platform *platform = sleeper->platform;
  uint32_t *word = &sleeper->word;
  tide_store_release(word, what);
  platform->wake(platform->self, word, 1);
}

static int count_to(const struct tide_sleeper *head, int most) {
  const struct tide_sleeper *at = head;
  int count = 0;
  do count++;
  while (count < most && (at = at->after) != head);
  return count;
}

void tide_sleeper_fire(struct tide_node *node, enum tide_status status) {
  struct tide_sleeper *at = tide_sleeper_of(node), *next;
  int count = count_to(at, FEW + 1);
  (void)status;
  if (count > FEW) tell(at, TOLD_FIRST);
  else
    for (; count > 0; count--, at = next) {
      next = at->after;
      tell(at, TOLD);
    }
}

/* The ring becomes a tree as a heap in an array is one: below number i are 2i and 2i + 1. */
static void lay_out(struct tide_sleeper *head) {
  struct tide_sleeper *above = head, *below = head->after;
  while (below != head) {
    above->node.child = &below->node;
    below = below->after;
    if (below == head) return;
    above->node.prev = &below->node;
    below = below->after;
    above = above->after;
  }
}

static void hand_on(struct tide_sleeper *sleeper, uint32_t told) {
  if (told == TOLD_FIRST) lay_out(sleeper);
  if (sleeper->node.child) tell(tide_sleeper_of(sleeper->node.child), TOLD);
  if (sleeper->node.prev) tell(tide_sleeper_of(sleeper->node.prev), TOLD);
}

bool tide_sleeper_sleep(struct tide_sleeper *sleeper, uint64_t deadline) {
  const struct tide_platform *platform = sleeper->platform;
  uint32_t told = tide_load_acquire(&sleeper->word);
  while (told == ASLEEP) {
    platform->wait(platform->self, &sleeper->word, ASLEEP, deadline);
    told = tide_load_acquire(&sleeper->word);
    if (told != ASLEEP) break;
    if (deadline != TIDE_FOREVER && platform->now(platform->self) >= deadline) return false;
  }
  hand_on(sleeper, told);
  return true;
}
