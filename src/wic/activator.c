/* The activator: maps the pages of available data and wakes the stalled consumers. */
#include "base/check.h"
#include "base/alloc.h"
#include "wic/stall.h"

static void copy_in(struct tide_message *message) {
  struct tide_medium *medium = message->medium;
  if (message->source)
    memcpy(medium->region.writer + tide_message_at(medium, message), message->source,
           message->bytes);
}

/* The caller holds the lock and a reference, and maps the pages. */
static void note_mapped(struct tide_message *message) {
  message->state = TIDE_MESSAGE_MAPPED;
  tide_message_note_end(message);
  message->medium->info.activated++;
}

/* Wakes the consumers, since the pages can be read now. The caller holds a reference. */
static void wake_stalled(struct tide_message *message) {
  struct tide_medium *medium = message->medium;
  if (medium->engine != TIDE_MEDIUM_FIBERS) return; /* the kernel woke the threads */
  struct tide_lock *lock = tide_medium_enter(medium);
  struct tide_stalls stalls = tide_stall_take(message);
  tide_lock_give(lock);
  tide_stall_end(message, stalls);
}

void tide_message_wake(struct tide_message *message) {
  struct tide_medium *medium = message->medium;
  if (!message->faulted)
    return; /* the pages have no owner any more, so no thread can fault on the message */
  if (medium->engine == TIDE_MEDIUM_FIBERS) wake_stalled(message);
  else
    tide_region_wake(&medium->region, tide_message_at(medium, message),
                     tide_message_size(medium, message));
}

static void map_one(struct tide_message *message) {
  struct tide_medium *medium = message->medium;
  copy_in(message);
  /* The state changes before the mapping: a fault read after that maps the pages again. */
  struct tide_lock *lock = tide_medium_enter(medium);
  note_mapped(message);
  tide_lock_give(lock);
  tide_region_map(&medium->region, tide_message_at(medium, message),
                  tide_message_size(medium, message));
  wake_stalled(message);
}

/* ---- ready messages --------------------------------------------------------------------- */

/* Returns the next message to map: first the faulted ones, then those mapped ahead. The caller
 * holds the lock. */
static struct tide_message *next_ready(struct tide_medium *medium) {
  struct tide_link *link = tide_list_pop_front(&medium->ready);
  if (link) return TIDE_CONTAINER(link, struct tide_message, link);
  link = tide_list_pop_front(&medium->ahead);
  if (!link) return NULL;
  struct tide_message *message = TIDE_CONTAINER(link, struct tide_message, link);
  message->mapping = true;
  message->holds++;
  return message;
}

static size_t take_ready(struct tide_medium *medium, struct tide_message **out) {
  size_t count = 0;
  struct tide_message *message;
  struct tide_lock *lock = tide_medium_enter(medium);
  while (count < TIDE_MEDIUM_BATCH && (message = next_ready(medium))) {
    size_t at = count++;
    for (; at > 0 && out[at - 1]->page > message->page; at--) out[at] = out[at - 1];
    out[at] = message;
  }
  tide_lock_give(lock);
  return count;
}

/* Maps neighbouring messages with one call, and so one wake. */
static void map_in_runs(struct tide_medium *medium, struct tide_message **messages, size_t count) {
  for (size_t i = 0, next; i < count; i = next) {
    size_t bytes = tide_message_size(medium, messages[i]);
    for (next = i + 1; next < count &&
                       messages[next - 1]->page + messages[next - 1]->pages == messages[next]->page;
         next++)
      bytes += tide_message_size(medium, messages[next]);
    tide_region_map(&medium->region, tide_message_at(medium, messages[i]), bytes);
  }
}

void tide_medium_activate(struct tide_medium *medium) {
  struct tide_message *messages[TIDE_MEDIUM_BATCH];
  size_t count;
  while ((count = take_ready(medium, messages))) {
    for (size_t i = 0; i < count; i++) copy_in(messages[i]);
    struct tide_lock *lock = tide_medium_enter(medium);
    for (size_t i = 0; i < count; i++) note_mapped(messages[i]);
    tide_lock_give(lock);
    map_in_runs(medium, messages, count);
    for (size_t i = 0; i < count; i++) tide_message_done_with(messages[i]);
  }
}

/* ---- tags and failures ------------------------------------------------------------------ */

/* The caller holds the lock. */
static void set_failed(struct tide_message *message, enum tide_status status) {
  struct tide_medium *medium = message->medium;
  tide_counter_remove(&medium->due, &message->due);
  message->state = TIDE_MESSAGE_FAILED;
  message->status = (uint32_t)status;
  tide_message_note_end(message);
  medium->info.failed++;
}

/* Shows zeros to stalled and to later loads. The caller holds a reference. */
static void show_zeros(struct tide_message *message) {
  struct tide_medium *medium = message->medium;
  size_t at = tide_message_at(medium, message), size = tide_message_size(medium, message);
  struct tide_lock *lock = tide_medium_enter(medium);
  bool few = medium->blanks < TIDE_MEDIUM_BLANKS;
  medium->blanks += few;
  tide_lock_give(lock);
  bool blank = few && tide_region_blank(&medium->region, at, size) == TIDE_OK;
  if (!blank) { /* no capacity for another mapping: zero the pages themselves */
    memset(medium->region.writer + at, 0, size);
    tide_region_map(&medium->region, at, size);
  }
  lock = tide_medium_enter(medium);
  medium->blanks -= few && !blank;
  message->blank = blank;
  if (!blank) message->state = TIDE_MESSAGE_MAPPED; /* `status` keeps the failure */
  tide_lock_give(lock);
  wake_stalled(message);
}

bool tide_message_fail(struct tide_message *message, uint64_t generation, enum tide_status status) {
  struct tide_lock *lock = tide_medium_enter(message->medium);
  bool waiting = message->state == TIDE_MESSAGE_WAITING && message->generation == generation;
  if (waiting) {
    set_failed(message, status);
    message->holds++;
  }
  tide_lock_give(lock);
  if (!waiting) return false;
  show_zeros(message);
  tide_message_done_with(message);
  return true;
}

void tide_medium_expire(struct tide_medium *medium) {
  struct tide_fired overdue;
  struct tide_node *node;
  struct tide_link failed, *link;
  tide_fired_init(&overdue);
  tide_list_init(&failed);
  uint64_t now = medium->platform->now(medium->platform->self);
  struct tide_lock *lock = tide_medium_enter(medium);
  if (tide_counter_least(&medium->due) <= now)
    tide_counter_pop(&medium->due, now, &overdue, TIDE_TIMEOUT);
  while ((node = tide_fired_pop(&overdue))) {
    struct tide_message *message = TIDE_CONTAINER(node, struct tide_message, due);
    set_failed(message, TIDE_TIMEOUT); /* only waiting messages have a deadline */
    message->holds++;
    medium->info.timed_out++;
    tide_list_push_back(&failed, &message->link);
  }
  tide_lock_give(lock);
  while ((link = tide_list_pop_front(&failed))) {
    struct tide_message *message = TIDE_CONTAINER(link, struct tide_message, link);
    show_zeros(message);
    tide_message_done_with(message);
  }
}

enum next { NOTHING, MAP, CALL, ZEROS };

/* Counts down the awaited tags. The caller holds the lock. */
static enum next count_tag(struct tide_message *message, enum tide_status status) {
  struct tide_medium *medium = message->medium;
  message->untold--;
  if (message->state != TIDE_MESSAGE_WAITING) return NOTHING;
  if (status != TIDE_OK) {
    set_failed(message, status);
    return ZEROS;
  }
  if (message->untold) return NOTHING;
  tide_counter_remove(&medium->due, &message->due);
  message->state = TIDE_MESSAGE_AVAILABLE;
  if (medium->engine != TIDE_MEDIUM_MONITOR) return MAP;
  if (!message->faulted) { /* a copy is made only after a fault */
    if (!message->source) tide_list_push_back(&medium->ahead, &message->link);
    return NOTHING;
  }
  message->holds++;
  tide_list_push_back(&medium->ready, &message->link);
  return CALL;
}

void tide_message_tag_called(struct tide_timepoint *tag, enum tide_status status) {
  struct tide_message *message = TIDE_CONTAINER(tag, struct tide_message_tag, called)->message;
  struct tide_medium *medium = message->medium;
  struct tide_lock *lock = tide_medium_enter(medium);
  enum next next = count_tag(message, status);
  bool ring = next == CALL && tide_monitor_call(medium);
  tide_lock_give(lock);
  if (ring) tide_monitor_ring(medium);
  if (next == MAP) map_one(message);
  if (next == ZEROS) show_zeros(message);
  tide_message_done_with(message);
}
