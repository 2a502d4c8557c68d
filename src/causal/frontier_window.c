/* Windows: made of lists, made lists again, extended and raised (causal/frontier.h). */
#include "causal/frontier.h"

static void clear_slots(uint64_t *slots, size_t count) { memset(slots, 0, count * sizeof *slots); }

void tide_window_clear(struct tide_frontier *f, struct tide_reach reach) {
  tide_window_set(f, reach);
  clear_slots(tide_window_epochs_of(f), (size_t)reach.size);
}

/* Raises the slots of listed axes. `count`: the number of listed axes before. Returns the number
 * afterwards. */
static size_t raise_by_lists(struct tide_frontier *f, struct tide_entries from, size_t count) {
  tide_axis first = tide_window_first(f);
  for (size_t i = 0; i < from.count; i++) {
    uint64_t *at = tide_window_epochs_of(f) + (size_t)(from.axes[i] - first);
    count += *at == 0;
    *at = tide_larger(*at, from.epochs[i]);
  }
  return count;
}
void tide_window_make(struct tide_frontier *f, struct tide_reach reach,
                      struct tide_entries entries) {
  tide_window_clear(f, reach);
  f->count = (uint8_t)raise_by_lists(f, entries, 0);
}

/* The window lies over the lists, which are copied first. */
__attribute__((noinline)) static void replace_lists(struct tide_frontier *f,
                                                    struct tide_reach reach) {
  uint64_t words[2 * TIDE_FRONTIER_CAPACITY_MAX];
  struct tide_entries own = tide_entries_of(f);
  memcpy(words, own.axes, own.count * sizeof *words);
  memcpy(words + own.count, own.epochs, own.count * sizeof *words);
  tide_window_make(f, reach, (struct tide_entries){words, words + own.count, own.count});
}

void tide_window_open(struct tide_frontier *f) {
  if (f->window || f->count < TIDE_WINDOW_LEAST) return;
  struct tide_reach reach = tide_reach_of(f);
  if (tide_window_fits(reach.size, f->capacity)) replace_lists(f, reach);
}

void tide_window_close(struct tide_frontier *f) {
  struct tide_frontier_entry entries[TIDE_WINDOW_LEAST];
  size_t count = 0;
  struct tide_frontier_cursor at = tide_frontier_begin(f);
  while (tide_frontier_next(&at, &entries[count])) count++;
  f->window = f->count = 0;
  for (size_t i = 0; i < count; i++) tide_frontier_append(f, entries[i].axis, entries[i].epoch);
}

void tide_window_widen(struct tide_frontier *f, struct tide_reach reach) {
  size_t skip = (size_t)(tide_window_first(f) - reach.first), window = f->window;
  uint64_t *epochs = tide_window_epochs_of(f);
  if (reach.size == window) return;
  memmove(epochs + skip, epochs, window * sizeof *epochs);
  clear_slots(epochs, skip);
  clear_slots(epochs + skip + window, (size_t)reach.size - skip - window);
  tide_window_set(f, reach);
}

static size_t count_listed(const uint64_t *slots, size_t count) {
  size_t listed = 0;
  for (size_t i = 0; i < count; i++) listed += slots[i] != 0;
  return listed;
}

size_t tide_window_raise(struct tide_frontier *f, const struct tide_frontier *from, size_t count) {
  if (!from->window) return raise_by_lists(f, tide_entries_of(from), count);
  uint64_t *at =
      tide_window_epochs_of(f) + (size_t)(tide_window_first(from) - tide_window_first(f));
  size_t before = from->window == f->window ? count : count_listed(at, from->window);
  return count - before + tide_lanes()->max(at, at, tide_window_epochs(from), from->window);
}
