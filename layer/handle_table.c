/* Tables from Vulkan's handles to the layer's objects. */
#include "layer/layer.h"

#include <stdlib.h>

static size_t bucket_of(const struct layer_table *table, uint64_t handle) {
  uint64_t hash = handle * 0x9e3779b97f4a7c15u;
  return (size_t)(hash >> 32) & (table->bucket_count - 1);
}

static struct layer_entry **link_of(const struct layer_table *table, uint64_t handle) {
  struct layer_entry **link = &table->buckets[bucket_of(table, handle)];
  while (*link && (*link)->handle != handle) link = &(*link)->next;
  return link;
}

/* Keeps as many buckets as entries: chains stay short. A table that cannot grow only gets slower.
 */
static bool grow_buckets(struct layer_table *table) {
  if (table->count < table->bucket_count) return true;
  struct layer_table wider = {.bucket_count = table->bucket_count ? table->bucket_count * 2 : 64,
                              .count = table->count};
  wider.buckets = calloc(wider.bucket_count, sizeof(struct layer_entry *));
  if (!wider.buckets) return table->bucket_count > 0;
  for (size_t i = 0; i < table->bucket_count; i++) {
    while (table->buckets[i]) {
      struct layer_entry *entry = table->buckets[i], **link = link_of(&wider, entry->handle);
      table->buckets[i] = entry->next;
      entry->next = NULL;
      *link = entry;
    }
  }
  free(table->buckets);
  *table = wider;
  return true;
}

void *layer_table_find(const struct layer_table *table, uint64_t handle) {
  struct layer_entry *entry = table->count ? *link_of(table, handle) : NULL;
  return entry ? entry->object : NULL;
}

bool layer_table_put(struct layer_table *table, uint64_t handle, void *object) {
  if (!grow_buckets(table)) return false;
  struct layer_entry **link = link_of(table, handle);
  if (!*link) {
    *link = calloc(1, sizeof **link);
    if (!*link) return false;
    (*link)->handle = handle;
    table->count++;
  }
  (*link)->object = object;
  return true;
}

void *layer_table_take(struct layer_table *table, uint64_t handle) {
  struct layer_entry **link = table->count ? link_of(table, handle) : NULL;
  struct layer_entry *entry = link ? *link : NULL;
  if (!entry) return NULL;
  void *object = entry->object;
  *link = entry->next;
  free(entry);
  table->count--;
  return object;
}

void layer_table_fini(struct layer_table *table, void (*destroy)(void *object)) {
  for (size_t i = 0; i < table->bucket_count; i++) {
    while (table->buckets[i]) {
      struct layer_entry *entry = table->buckets[i];
      table->buckets[i] = entry->next;
      if (destroy) destroy(entry->object);
      free(entry);
    }
  }
  free(table->buckets);
  *table = (struct layer_table){0};
}
