#include "causal/shadow.h"
#include "base/alloc.h"

static size_t bucket_of(enum tide_shadow_kind kind, uint64_t key) {
  uint64_t z = (key + (uint64_t)kind) * 0x9e3779b97f4a7c15u;
  return (size_t)(z >> 54);
}

struct tide_shadow *tide_shadow_find(struct tide_shadow_table *table, enum tide_shadow_kind kind,
                                     uint64_t key) {
  struct tide_shadow *at = table->buckets[bucket_of(kind, key)];
  while (at && (at->key != key || at->kind != kind)) at = at->next;
  return at;
}

struct tide_shadow *tide_shadow_get(struct tide_shadow_table *table, enum tide_shadow_kind kind,
                                    uint64_t key) {
  struct tide_shadow *at = tide_shadow_find(table, kind, key);
  if (at) return at;
  at = tide_alloc(table->allocator, 1, sizeof *at);
  if (!at) {
    table->out_of_memory = true;
    return NULL;
  }
  size_t bucket = bucket_of(kind, key);
  at->kind = kind;
  at->key = key;
  at->next = table->buckets[bucket];
  table->buckets[bucket] = at;
  return at;
}

static void free_shadow(struct tide_shadow_table *table, struct tide_shadow *shadow) {
  for (size_t i = 0; shadow->records && i < shadow->count; i++)
    tide_shadow_clock_fini(table, &shadow->records[i].clock);
  tide_shadow_clock_fini(table, &shadow->clock);
  tide_free(table->allocator, shadow->records, shadow->capacity, sizeof *shadow->records);
  tide_free(table->allocator, shadow->accesses, shadow->capacity, sizeof *shadow->accesses);
  tide_free(table->allocator, shadow->ranges, shadow->range_capacity, sizeof *shadow->ranges);
  tide_free(table->allocator, shadow, 1, sizeof *shadow);
}

void tide_shadow_forget(struct tide_shadow_table *table, enum tide_shadow_kind kind, uint64_t key) {
  struct tide_shadow **link = &table->buckets[bucket_of(kind, key)];
  while (*link && ((*link)->key != key || (*link)->kind != kind)) link = &(*link)->next;
  struct tide_shadow *shadow = *link;
  if (!shadow) return;
  *link = shadow->next;
  free_shadow(table, shadow);
}

void tide_shadow_fini(struct tide_shadow_table *table) {
  for (size_t i = 0; i < sizeof table->buckets / sizeof *table->buckets; i++) {
    while (table->buckets[i]) {
      struct tide_shadow *shadow = table->buckets[i];
      table->buckets[i] = shadow->next;
      free_shadow(table, shadow);
    }
  }
  for (size_t i = 0; i < table->queue_count; i++) {
    tide_free(table->allocator, table->queues[i].hints, table->queues[i].hint_capacity,
              sizeof *table->queues[i].hints);
    tide_shadow_clock_fini(table, &table->queues[i].clock);
  }
  tide_free(table->allocator, table->queues, table->queue_capacity, sizeof *table->queues);
}

static bool widen_clock(struct tide_shadow_table *table, struct tide_shadow_clock *clock,
                        size_t count) {
  while (clock->capacity < count) {
    if (!tide_shadow_grow(table, (void **)&clock->epochs, clock->capacity, &clock->capacity,
                          sizeof *clock->epochs))
      return false;
  }
  while (clock->count < count) clock->epochs[clock->count++] = 0;
  return true;
}

void tide_shadow_merge(struct tide_shadow_table *table, struct tide_shadow_clock *to,
                       const struct tide_shadow_clock *from) {
  if (!widen_clock(table, to, from->count)) return;
  for (size_t i = 0; i < from->count; i++)
    if (from->epochs[i] > to->epochs[i]) to->epochs[i] = from->epochs[i];
}

void tide_shadow_copy(struct tide_shadow_table *table, struct tide_shadow_clock *to,
                      const struct tide_shadow_clock *from) {
  to->count = 0;
  tide_shadow_merge(table, to, from);
}

void tide_shadow_set(struct tide_shadow_table *table, struct tide_shadow_clock *clock, size_t queue,
                     uint64_t epoch) {
  if (widen_clock(table, clock, queue + 1)) clock->epochs[queue] = epoch;
}

void tide_shadow_clock_fini(struct tide_shadow_table *table, struct tide_shadow_clock *clock) {
  tide_free(table->allocator, clock->epochs, clock->capacity, sizeof *clock->epochs);
  *clock = (struct tide_shadow_clock){0};
}

bool tide_shadow_grow(struct tide_shadow_table *table, void **array, size_t count, size_t *capacity,
                      size_t size) {
  if (count < *capacity) return true;
  size_t wanted = *capacity ? *capacity * 2 : 8;
  void *grown = tide_alloc(table->allocator, wanted, size);
  if (!grown) {
    table->out_of_memory = true;
    return false;
  }
  if (count) memcpy(grown, *array, count * size);
  tide_free(table->allocator, *array, *capacity, size);
  *array = grown;
  *capacity = wanted;
  return true;
}

struct tide_shadow_record *tide_shadow_add_record(struct tide_shadow_table *table,
                                                  struct tide_shadow *timeline, uint64_t value,
                                                  bool below,
                                                  const struct tide_shadow_clock *clock) {
  struct tide_shadow_record *last =
      timeline->count ? &timeline->records[timeline->count - 1] : NULL;
  if (last && last->value == value) {
    tide_shadow_merge(table, &last->clock, clock);
    return last;
  }
  if (!tide_shadow_grow(table, (void **)&timeline->records, timeline->count, &timeline->capacity,
                        sizeof *timeline->records))
    return NULL;
  size_t at = timeline->count++;
  while (at > 0 && timeline->records[at - 1].value > value) {
    timeline->records[at] = timeline->records[at - 1];
    at--;
  }
  struct tide_shadow_record *record = &timeline->records[at];
  *record = (struct tide_shadow_record){.value = value, .below = below};
  tide_shadow_copy(table, &record->clock, clock);
  return record;
}

/* Returns the number of records below a value. */
static size_t count_below(const struct tide_shadow *timeline, uint64_t value) {
  size_t low = 0, high = timeline->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (timeline->records[middle].value < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

struct tide_shadow_record *tide_shadow_find_record(const struct tide_shadow *timeline,
                                                   uint64_t value) {
  if (value <= timeline->forgotten) return NULL;
  size_t at = count_below(timeline, value);
  return at < timeline->count ? &timeline->records[at] : NULL;
}

struct tide_shadow_record *tide_shadow_find_below(const struct tide_shadow *timeline,
                                                  uint64_t value) {
  size_t at = count_below(timeline, value);
  return at ? &timeline->records[at - 1] : NULL;
}

void tide_shadow_add_range(struct tide_shadow_table *table, struct tide_shadow *buffer,
                           uint64_t begin, uint64_t end) {
  if (!tide_shadow_grow(table, (void **)&buffer->ranges, buffer->range_count,
                        &buffer->range_capacity, sizeof *buffer->ranges))
    return;
  struct tide_shadow_range *ranges = buffer->ranges;
  size_t first = 0, after;
  while (first < buffer->range_count && ranges[first].end < begin) first++;
  for (after = first; after < buffer->range_count && ranges[after].begin <= end; after++) {
    if (ranges[after].begin < begin) begin = ranges[after].begin;
    if (ranges[after].end > end) end = ranges[after].end;
  }
  memmove(&ranges[first + 1], &ranges[after], (buffer->range_count - after) * sizeof *ranges);
  ranges[first] = (struct tide_shadow_range){begin, end};
  buffer->range_count += first + 1 - after;
}

bool tide_shadow_find_gap(const struct tide_shadow *buffer, uint64_t begin, uint64_t end,
                          struct tide_shadow_range *out_gap) {
  for (size_t i = 0; i < buffer->range_count && begin < end; i++) {
    const struct tide_shadow_range *written = &buffer->ranges[i];
    if (written->end <= begin) continue;
    if (written->begin > begin) {
      if (written->begin < end) end = written->begin;
      break;
    }
    begin = written->end;
  }
  *out_gap = (struct tide_shadow_range){begin, end};
  return begin < end;
}

void tide_shadow_drop_records(struct tide_shadow_table *table, struct tide_shadow *timeline,
                              size_t kept) {
  if (timeline->count <= kept) return;
  size_t dropped = timeline->count - kept;
  timeline->forgotten = timeline->records[dropped - 1].value;
  for (size_t i = 0; i < dropped; i++) tide_shadow_clock_fini(table, &timeline->records[i].clock);
  memmove(timeline->records, timeline->records + dropped, kept * sizeof *timeline->records);
  timeline->count = kept;
}
