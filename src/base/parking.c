#include "base/parking.h"
#include "base/atomic.h"

enum { ASLEEP, TOLD, TOLD_FIRST }; /* FIRST: the other threads still form a ring */

#ifdef TIDE_INTERLEAVE
#define FEW 2 /* the explorer can spare the threads for a ring of three */
#else
#define FEW 4 /* the largest ring that the firing thread wakes alone */
#endif

void tide_parked_init(struct tide_parked *parked, const struct tide_platform *platform) {
  *parked = (struct tide_parked){.node.fire = tide_parked_fire, .platform = platform};
  parked->after = parked->before = parked;
}

void tide_parked_join(struct tide_parked *head, struct tide_parked *other) {
  struct tide_parked *last = head->before, *end = other->before;
  last->after = other;
  other->before = last;
  end->after = head;
  head->before = end;
  other->follows = true;
}

struct tide_parked *tide_parked_leave(struct tide_parked *parked) {
  struct tide_parked *next = parked->after;
  if (next == parked) return NULL;
  next->before = parked->before;
  parked->before->after = next;
  if (!parked->follows) next->follows = false;
  return next;
}

/* Wakes a parked thread. The thread may be gone once the word is set: the wake uses only the
 * address. */
static void wake_parked(struct tide_parked *parked, uint32_t what) {
  const struct tide_platform *platform = parked->platform;
  uint32_t *word = &parked->word;
  tide_store_release(word, what);
  platform->wake(platform->self, word, 1);
}

static int count_to(const struct tide_parked *head, int most) {
  const struct tide_parked *at = head;
  int count = 0;
  do count++;
  while (count < most && (at = at->after) != head);
  return count;
}

void tide_parked_fire(struct tide_node *node, enum tide_status status) {
  struct tide_parked *at = tide_parked_of(node), *next;
  int count = count_to(at, FEW + 1);
  (void)status;
  if (count > FEW) wake_parked(at, TOLD_FIRST);
  else
    for (; count > 0; count--, at = next) {
      next = at->after;
      wake_parked(at, TOLD);
    }
}

/* Turns the ring into a tree, laid out as a heap in an array: the children of node i are 2i and 2i
 * + 1. */
static void lay_out(struct tide_parked *head) {
  struct tide_parked *above = head, *below = head->after;
  while (below != head) {
    above->node.child = &below->node;
    below = below->after;
    if (below == head) return;
    above->node.prev = &below->node;
    below = below->after;
    above = above->after;
  }
}

static void hand_on(struct tide_parked *parked, uint32_t told) {
  if (told == TOLD_FIRST) lay_out(parked);
  if (parked->node.child) wake_parked(tide_parked_of(parked->node.child), TOLD);
  if (parked->node.prev) wake_parked(tide_parked_of(parked->node.prev), TOLD);
}

bool tide_parked_wait(struct tide_parked *parked, uint64_t deadline) {
  const struct tide_platform *platform = parked->platform;
  uint32_t told = tide_load_acquire(&parked->word);
  while (told == ASLEEP) {
    platform->wait(platform->self, &parked->word, ASLEEP, deadline);
    told = tide_load_acquire(&parked->word);
    if (told != ASLEEP) break;
    if (deadline != TIDE_FOREVER && platform->now(platform->self) >= deadline) return false;
  }
  hand_on(parked, told);
  return true;
}
