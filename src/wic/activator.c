/* The activator: data that is there appears, and whoever waited for it goes on. */
#include "base/check.h"
#include "base/alloc.h"
#include "wic/stall.h"

static void copy_in(struct tide_message *message) {
  struct tide_medium *medium = message->medium;
  if (message->source)
    memcpy(medium->region.writer + tide_message_at(medium, message), message->source,
           message->bytes);
}

/* Under the lock; a caller who holds the message has mapped it. */
static void note_mapped(struct tide_message *message) {
  message->state = TIDE_MESSAGE_MAPPED;
  tide_message_note_end(message);
  message->medium->info.activated++;
}

/* By one who holds the message: its pages can be read now. */
static void let_stalled_go(struct tide_message *message) {
  struct tide_medium *medium = message->medium;
  if (medium->engine != TIDE_MEDIUM_FIBERS) return; /* the kernel has */
  struct tide_lock *lock = tide_medium_enter(medium);
  struct tide_stalls stalls = tide_stall_take(message);
  tide_lock_give(lock);
  tide_stall_end(message, stalls);
}

void tide_message_wake(struct tide_message *message) {
  struct tide_medium *medium = message->medium;
  if (!message->faulted) return; /* it cannot be any more: nobody owns the pages */
  if (medium->engine == TIDE_MEDIUM_FIBERS) let_stalled_go(message);
  else
    tide_region_wake(&medium->region, tide_message_at(medium, message),
                     tide_message_size(medium, message));
}

static void map_one(struct tide_message *message) {
  struct tide_medium *medium = message->medium;
  copy_in(message);
  /* Before it is: whoever finds its pages missing after that maps them again. */
  struct tide_lock *lock = tide_medium_enter(medium);
  note_mapped(message);
  tide_lock_give(lock);
  tide_region_map(&medium->region, tide_message_at(medium, message),
                  tide_message_size(medium, message));
  let_stalled_go(message);
}

/* ---- what is ready, by the monitor ---- */

/* Under the lock: who has faulted first, then what somebody will load from soon. */
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

/* Neighbours are one call, and so one wake. */
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

/* ---- what a tag says ------------------------------------------------------------------------ */

/* Under the lock. */
static void set_failed(struct tide_message *message, enum tide_status status) {
  struct tide_medium *medium = message->medium;
  tide_counter_remove(&medium->due, &message->due);
  message->state = TIDE_MESSAGE_FAILED;
  message->status = (uint32_t)status;
  tide_message_note_end(message);
  medium->info.failed++;
}

/* Zeros, for those who are stalled, and those who look later. By one who holds it. */
static void show_zeros(struct tide_message *message) {
  struct tide_medium *medium = message->medium;
  size_t at = tide_message_at(medium, message), size = tide_message_size(medium, message);
  struct tide_lock *lock = tide_medium_enter(medium);
  bool few = medium->blanks < TIDE_MEDIUM_BLANKS;
  medium->blanks += few;
  tide_lock_give(lock);
  bool blank = few && tide_region_blank(&medium->region, at, size) == TIDE_OK;
  if (!blank) { /* no room for another mapping: then the pages themselves */
    memset(medium->region.writer + at, 0, size);
    tide_region_map(&medium->region, at, size);
  }
  lock = tide_medium_enter(medium);
  medium->blanks -= few && !blank;
  message->blank = blank;
  if (!blank) message->state = TIDE_MESSAGE_MAPPED; /* its status says that it failed */
  tide_lock_give(lock);
  let_stalled_go(message);
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
    set_failed(message, TIDE_TIMEOUT); /* it was waiting, or it would not have been there */
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

/* Under the lock: one tag less is awaited. */
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
  if (!message->faulted) { /* what would have to be copied waits until somebody wants it */
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
