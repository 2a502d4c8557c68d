/* Choosing among the ready submissions: by the seed, or by a recorded order. */
#include "layer/explore.h"
#include "layer/protocol.h"
#include "layer/recorded_order.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HASH_BEGIN 0xcbf29ce484222325u

static struct {
  pthread_mutex_t lock; /* guards the whole struct: devices share one order */
  bool is_open;
  char path[4160]; /* the path of PID.order; empty: none */
  char *text;      /* picks that are not in the file yet */
  size_t length, capacity;
  struct tide_vulkan_order recorded;
  size_t at; /* index of the next pick in `recorded` */
  bool has_diverged;
  uint64_t hash;
} order = {.lock = PTHREAD_MUTEX_INITIALIZER, .hash = HASH_BEGIN};

/* Reads the picks of a file, up to the length that a tool would have written. */
static void read_recorded(const char *path) {
  struct tide_diag diag = {.status = TIDE_OK};
  FILE *from = fopen(path, "re");
  char *text = malloc(TIDE_VULKAN_FILE_MOST + 1);
  size_t length = from && text ? fread(text, 1, TIDE_VULKAN_FILE_MOST + 1, from) : 0;
  if (!from || !text) layer_limit("the order to replay could not be opened: %s", path);
  else if (tide_vulkan_order_parse(&order.recorded, text, length, &diag) != TIDE_OK)
    layer_limit("the order to replay is none, in line %u: %s", diag.line, diag.text);
  if (from) fclose(from);
  free(text);
}

static void put_line(const char *format, ...) TIDE_PRINTF(1, 2);
static void put_line(const char *format, ...) {
  char text[64];
  va_list list;
  va_start(list, format);
  size_t length = (size_t)vsnprintf(text, sizeof text, format, list);
  va_end(list);
  if (order.length + length > order.capacity) {
    size_t capacity = order.capacity ? order.capacity * 2 : 4096;
    char *wider = realloc(order.text, capacity);
    if (!wider) return;
    order.text = wider;
    order.capacity = capacity;
  }
  memcpy(order.text + order.length, text, length);
  order.length += length;
}

static void open_order(void) {
  const struct layer_options *options = layer_options();
  order.is_open = true;
  if (options->replay[0] && !order.recorded.picks) read_recorded(options->replay);
  if (!options->directory[0]) return;
  snprintf(order.path, sizeof order.path, "%s/%ld.order", options->directory, (long)getpid());
  unlink(order.path); /* a file of a former process with the same number */
  put_line(TIDE_VULKAN_ORDER_HEAD "\n");
}

static size_t find_recorded(struct layer_submission *const *ready, size_t count) {
  uint64_t wanted = order.recorded.picks[order.at++].first;
  for (size_t i = 0; i < count; i++)
    if (ready[i]->number == wanted) return i;
  if (!order.has_diverged)
    layer_finding(
        "diverged",
        "pick %zu of the recorded order, submission %llu, could not go: other options, or "
        "another program?",
        order.at, (unsigned long long)wanted);
  order.has_diverged = true;
  return 0;
}

static void record_pick(struct layer_submission *const *ready, size_t count, size_t chosen) {
  uint64_t number = ready[chosen]->number;
  order.hash = (order.hash ^ number) * 0x100000001b3u;
  if (!order.path[0]) return;
  put_line("pick %llu of %llu", (unsigned long long)number, (unsigned long long)number);
  for (size_t i = 0; i < count; i++)
    if (i != chosen) put_line(" %llu", (unsigned long long)ready[i]->number);
  put_line("\n");
}

/* Writes the picks. The file is opened anew each time: a program that closes all descriptors, as
 * daemons do, may have a file of its own under the old number. */
void layer_order_flush(void) {
  pthread_mutex_lock(&order.lock);
  FILE *to = order.length ? fopen(order.path, "ae") : NULL;
  if (to) {
    fwrite(order.text, 1, order.length, to);
    fclose(to);
  }
  order.length = 0;
  pthread_mutex_unlock(&order.lock);
}

void layer_order_forget(void) {
  pthread_mutex_init(&order.lock, NULL);
  order.is_open = order.has_diverged = false;
  order.path[0] = 0;
  order.length = order.at = 0;
  order.hash = HASH_BEGIN;
}

size_t layer_order_choose(struct layer_explorer *explorer, struct layer_submission *const *ready,
                          size_t count, enum layer_pick_reason reason) {
  size_t chosen = 0;
  pthread_mutex_lock(&order.lock);
  if (!order.is_open) open_order();
  uint64_t recorded = order.recorded.pick_count;
  if (layer_options()->prefix < recorded) recorded = layer_options()->prefix;
  if (order.at < recorded) chosen = find_recorded(ready, count);
  else if (reason != LAYER_PICK_FLUSH && layer_options()->seed && !order.recorded.pick_count)
    chosen = (size_t)tide_random_below(&explorer->random, count);
  record_pick(ready, count, chosen);
  pthread_mutex_unlock(&order.lock);
  return chosen;
}

uint64_t layer_explore_schedule(void) {
  pthread_mutex_lock(&order.lock);
  uint64_t hash = order.hash;
  pthread_mutex_unlock(&order.lock);
  return hash;
}
