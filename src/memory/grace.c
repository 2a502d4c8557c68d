/* Grace periods. */
#include "memory/grace.h"

void tide_grace_init(struct tide_grace *grace) {
  *grace = (struct tide_grace){0};
  tide_list_init(&grace->waiting);
  tide_list_init(&grace->covered);
}

/* True if all of the snapshot has finished. Removes finished entries, so none is checked again. */
static bool is_over(struct tide_grace *grace, struct tide_tracker *tracker) {
  while (grace->left) {
    size_t last = grace->left - 1;
    uint64_t epoch = grace->epochs[last];
    if (epoch && !tide_tracker_finished(tracker, grace->axes[last], epoch)) return false;
    grace->left--;
  }
  return true;
}

static void begin_snapshot(struct tide_grace *grace) {
  if (!grace->snapshot || tide_list_empty(&grace->waiting)) return;
  size_t live = grace->snapshot(grace->self, grace->axes, grace->epochs, grace->capacity);
  grace->wanted = live;
  if (live > grace->capacity) return;
  struct tide_link *link;
  while ((link = tide_list_pop_front(&grace->waiting))) tide_list_push_back(&grace->covered, link);
  grace->left = live;
  grace->active = true;
}

bool tide_grace_step(struct tide_grace *grace, struct tide_tracker *tracker) {
  if (!grace->active) begin_snapshot(grace);
  if (!grace->active || !is_over(grace, tracker)) return false;
  grace->active = false;
  return true;
}
