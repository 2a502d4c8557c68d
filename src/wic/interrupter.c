/* The interrupter: allocates runs of missing pages to requests, and frees them. */
#include "base/check.h"
#include "base/alloc.h"
#include "timeline/timeline_state.h"
#include "wic/medium.h"

/* ---- used pages ---------------------------------------------------------------------- */

static bool any_used(const uint64_t *used, uint32_t place, uint32_t count) {
  for (uint32_t i = place; i < place + count; i++)
    if (used[i / 64] >> i % 64 & 1) return true;
  return false;
}
static void mark_used(uint64_t *used, uint32_t place, uint32_t count, bool is) {
  for (uint32_t i = place; i < place + count; i++) {
    uint64_t bit = 1ull << i % 64;
    used[i / 64] = is ? used[i / 64] | bit : used[i / 64] & ~bit;
  }
}

void tide_medium_note_used(struct tide_medium *medium, uint32_t page, uint32_t count) {
  uint32_t side = page >= medium->half;
  mark_used(medium->used[side], page - side * medium->half, count, true);
}

enum recycling { NOTHING, RUN, SIDE };

/* Chooses the side on which a free run of places is allocated; *out_drop: the pages to drop
 * before. */
static uint32_t choose_side(const struct tide_medium *medium, uint32_t place, uint32_t count,
                            enum recycling *out_drop) {
  uint32_t side = medium->side, other = !side;
  *out_drop = NOTHING;
  if (!any_used(medium->used[side], place, count)) return side;
  if (!any_used(medium->used[other], place, count)) return other;
  *out_drop = SIDE;
  if (!medium->given[other]) return other;
  if (!medium->given[side]) return side;
  *out_drop = RUN; /* this side, so that the other one is finished, and taken back, sooner */
  return side;
}

static void drop_pages(struct tide_medium *medium, enum recycling what, uint32_t page,
                       uint32_t count) {
  if (what == NOTHING) return;
  if (what == SIDE) {
    page = page < medium->half ? 0 : medium->half;
    count = medium->half;
  }
  tide_region_drop(&medium->region, page * medium->region.page, count * medium->region.page);
}

/* ---- the rest list ---------------------------------------------------------------------- */

/* Frees a run that no message has. A run that is used on the current side goes to the rest list. If
 * it were allocated at once, its companion pages would be next. Soon the places in use would lie on
 * both sides, and no side would ever be free as a whole. */
static void free_run(struct tide_medium *medium, uint32_t place, uint32_t side) {
  struct tide_batch *batch = &medium->batches[place];
  if (side != medium->side || !any_used(medium->used[side], place, batch->pages)) {
    tide_pages_free(medium->runs, place, batch->pages);
    return;
  }
  batch->next = TIDE_PAGES_NONE;
  if (medium->rest_first == TIDE_PAGES_NONE) medium->rest_first = place;
  else medium->batches[medium->rest_last].next = place;
  medium->rest_last = place;
}

static void free_rested_run(struct tide_medium *medium) {
  uint32_t place = medium->rest_first;
  medium->rest_first = medium->batches[place].next;
  tide_pages_free(medium->runs, place, medium->batches[place].pages);
}

void tide_medium_wake_rested(struct tide_medium *medium) {
  while (medium->rest_first != TIDE_PAGES_NONE) free_rested_run(medium);
}

/* Allocates places. If `runs` cannot, runs of the rest list are freed: all of them if no page of
 * the other side is allocated, else one at a time. */
static uint32_t take_places(struct tide_medium *medium, uint32_t count) {
  uint32_t place = tide_pages_alloc(medium->runs, count);
  while (place == TIDE_PAGES_NONE && medium->rest_first != TIDE_PAGES_NONE) {
    if (medium->given[!medium->side]) free_rested_run(medium);
    else tide_medium_wake_rested(medium);
    place = tide_pages_alloc(medium->runs, count);
  }
  return place;
}

/* ---- allocation ------------------------------------------------------------------------- */

static enum tide_status check_request(const struct tide_request *request) {
  if (!request->bytes || !request->tag_count || request->tag_count > TIDE_REQUEST_TAGS)
    return TIDE_INVALID;
  for (uint32_t i = 0; i < request->tag_count; i++) {
    if (!request->tags[i].timeline) return TIDE_INVALID;
    if (tide_timeline_scope(request->tags[i].timeline) < TIDE_SCOPE_PROCESS) return TIDE_SCOPE;
  }
  return TIDE_OK;
}

static uint32_t pages_of(const struct tide_medium *medium, const struct tide_request *request) {
  size_t page = medium->region.page, most = (size_t)medium->half * page;
  if (request->bytes > most) return medium->half + 1;
  return (uint32_t)((request->bytes + page - 1) / page);
}

static void fill_message(struct tide_message *message, const struct tide_request *request,
                         uint32_t page, uint32_t pages, uint32_t run) {
  struct tide_medium *medium = message->medium;
  uint32_t index = (uint32_t)(message - medium->messages);
  message->source = request->source;
  message->bytes = request->bytes;
  message->generation++;
  message->page = page;
  message->pages = pages;
  message->run = run;
  message->tag_count = message->untold = request->tag_count;
  message->holds = 1 + request->tag_count;
  message->state = TIDE_MESSAGE_WAITING;
  message->status = TIDE_OK;
  message->faulted = message->blank = message->finished = message->mapping = false;
  message->stalled_at = message->resumed_at = 0;
  for (uint32_t i = 0; i < pages; i++) medium->owner[page + i] = index;
  for (uint32_t i = 0; i < request->tag_count; i++) {
    message->tags[i] = (struct tide_message_tag){.called = {.timeline = request->tags[i].timeline,
                                                            .value = request->tags[i].value,
                                                            .call = tide_message_tag_called},
                                                 .message = message};
    tide_timeline_hold(request->tags[i].timeline);
  }
  message->due = (struct tide_node){0};
}

static void fill_request(struct tide_request *request, const struct tide_message *message) {
  const struct tide_medium *medium = message->medium;
  request->data = medium->region.reader + tide_message_at(medium, message);
  request->room = medium->region.writer + tide_message_at(medium, message);
  request->private_words[0] = (uint64_t)(message - medium->messages);
  request->private_words[1] = message->generation;
}

/* Gives the requests their messages and pages. From here on `requests` name the messages. The
 * caller holds both locks. */
static void assign_messages(struct tide_medium *medium, struct tide_request *requests, size_t count,
                            uint32_t place, uint32_t total, uint32_t side) {
  uint32_t page = place + side * medium->half;
  medium->side = side;
  medium->given[side] += total;
  medium->batches[place] = (struct tide_batch){total, total, TIDE_PAGES_NONE};
  for (size_t i = 0; i < count; i++) {
    struct tide_message *message =
        TIDE_CONTAINER(tide_list_pop_front(&medium->free), struct tide_message, link);
    uint32_t pages = pages_of(medium, &requests[i]);
    fill_message(message, &requests[i], page, pages, place);
    fill_request(&requests[i], message);
    page += pages;
  }
  medium->info.requested += count;
  medium->info.requests += (uint32_t)count;
}

static struct tide_message *message_of(struct tide_medium *medium,
                                       const struct tide_request *request) {
  return &medium->messages[request->private_words[0]];
}

/* Allocates the pages of one call. Used pages are dropped before any thread learns of them. The
 * caller holds `giving`. */
static enum tide_status allocate_pages(struct tide_medium *medium, struct tide_request *requests,
                                       size_t count, uint32_t total) {
  enum recycling what = NOTHING;
  uint32_t side = 0, place = TIDE_PAGES_NONE;
  struct tide_lock *lock = tide_medium_enter(medium);
  enum tide_status status = (enum tide_status)medium->closed;
  if (status == TIDE_OK && medium->info.requests + count > medium->message_count)
    status = TIDE_FULL;
  if (status == TIDE_OK) {
    place = take_places(medium, total);
    if (place == TIDE_PAGES_NONE) status = TIDE_FULL;
  }
  if (status == TIDE_OK) {
    side = choose_side(medium, place, total, &what);
    if (what == RUN) mark_used(medium->used[side], place, total, false);
    if (what == SIDE) memset(medium->used[side], 0, (medium->half + 63) / 64 * sizeof(uint64_t));
    medium->info.single += what == RUN;
    medium->info.recycled += what == SIDE;
  }
  tide_lock_give(lock);
  if (status != TIDE_OK) return status;
  drop_pages(medium, what, place + side * medium->half, total);
  lock = tide_medium_enter(medium);
  status = (enum tide_status)medium->closed; /* a close in between has not seen these requests */
  if (status != TIDE_OK) {
    tide_pages_free(medium->runs, place, total);
  } else {
    assign_messages(medium, requests, count, place, total, side);
  }
  tide_lock_give(lock);
  return status;
}

/* True if all tags are reached, though their callbacks may be pending: the data is in time. */
static bool is_reached(const struct tide_request *request) {
  for (uint32_t i = 0; i < request->tag_count; i++)
    if (tide_timeline_query(request->tags[i].timeline) < request->tags[i].value) return false;
  return true;
}

/* Starts the deadlines, once the tags' timepoints have been added. */
static void watch_deadlines(struct tide_medium *medium, struct tide_request *requests,
                            size_t count) {
  bool late[TIDE_MEDIUM_BATCH], any = false;
  for (size_t i = 0; i < count; i++) {
    late[i] = requests[i].deadline && !is_reached(&requests[i]);
    any |= late[i];
  }
  if (!any) return;
  struct tide_lock *lock = tide_medium_enter(medium);
  for (size_t i = 0; i < count; i++) {
    struct tide_message *message = message_of(medium, &requests[i]);
    if (late[i] && message->state == TIDE_MESSAGE_WAITING)
      tide_counter_add(&medium->due, &message->due, requests[i].deadline);
  }
  bool ring = tide_monitor_call(medium);
  tide_lock_give(lock);
  if (ring) tide_monitor_ring(medium);
}

enum tide_status tide_medium_request(struct tide_medium *medium, struct tide_request *requests,
                                     size_t count) {
  enum tide_status status = TIDE_OK;
  uint64_t total = 0;
  if (!count || count > TIDE_MEDIUM_BATCH) return TIDE_INVALID;
  for (size_t i = 0; i < count && status == TIDE_OK; i++) {
    status = check_request(&requests[i]);
    total += pages_of(medium, &requests[i]);
  }
  if (status != TIDE_OK) return status;
  if (total > medium->half) return TIDE_FULL;
  tide_giving_take(medium);
  status = allocate_pages(medium, requests, count, (uint32_t)total);
  tide_giving_give(medium);
  if (status != TIDE_OK) return status;
  for (size_t i = 0; i < count; i++)
    for (uint32_t t = 0; t < requests[i].tag_count; t++) {
      enum tide_status added =
          tide_timepoint_add(&message_of(medium, &requests[i])->tags[t].called);
      TIDE_ASSERT(added == TIDE_OK);
    }
  watch_deadlines(medium, requests, count);
  return TIDE_OK;
}

/* ---- freeing ---------------------------------------------------------------------------- */

/* Makes later loads from the message's pages stray. The caller holds the lock. */
static void disown_pages(struct tide_message *message) {
  uint32_t *owner = &message->medium->owner[message->page];
  for (uint32_t i = 0; i < message->pages; i++) owner[i] = TIDE_NO_MESSAGE;
}

/* Frees a message without references. */
static void free_message(struct tide_message *message) {
  struct tide_medium *medium = message->medium;
  uint32_t side = message->page >= medium->half;
  bool lost =
      message->blank && tide_region_restore(&medium->region, tide_message_at(medium, message),
                                            tide_message_size(medium, message)) != TIDE_OK;
  for (uint32_t i = 0; i < message->tag_count; i++)
    tide_timeline_let_go(message->tags[i].called.timeline);
  struct tide_lock *lock = tide_medium_enter(medium);
  disown_pages(message);
  if (message->state == TIDE_MESSAGE_MAPPED)
    tide_medium_note_used(medium, message->page, message->pages);
  medium->blanks -= message->blank && !lost;
  struct tide_batch *batch = &medium->batches[message->run];
  if (!lost) { /* else these pages, and their run, are lost */
    medium->given[side] -= message->pages;
    batch->left -= message->pages;
    if (!batch->left) free_run(medium, message->run, side);
  }
  message->state = TIDE_MESSAGE_FREE;
  medium->info.requests--;
  tide_list_push_back(&medium->free, &message->link);
  tide_lock_give(lock);
}

/* Drops a reference. True: the last one. The caller holds the lock. */
static bool drop_reference(struct tide_message *message) { return --message->holds == 0; }

void tide_message_done_with(struct tide_message *message) {
  struct tide_lock *lock = tide_medium_enter(message->medium);
  bool last = drop_reference(message);
  tide_lock_give(lock);
  if (last) free_message(message);
}

/* Cancels the tags' pending callbacks. The producer of a copied source does not write to the pages,
 * so they may be freed before its tags are reached. */
static void forget_tags(struct tide_message *message) {
  struct tide_medium *medium = message->medium;
  for (uint32_t i = 0; i < message->tag_count; i++) {
    if (!tide_timepoint_cancel(&message->tags[i].called)) continue;
    struct tide_lock *lock = tide_medium_enter(medium);
    message->untold--;
    bool last = drop_reference(message);
    TIDE_ASSERT(!last); /* the caller has a reference */
    tide_lock_give(lock);
  }
}

/* True if the source is being copied, or will be. A copy that the monitor has not begun is
 * cancelled. The caller holds the lock. */
static bool is_copied(struct tide_message *message) {
  if (!message->source || message->state != TIDE_MESSAGE_AVAILABLE) return false;
  if (message->medium->engine != TIDE_MEDIUM_MONITOR) return true;
  if (!message->faulted) return false;
  if (tide_list_empty(&message->link)) return message->holds > 1;
  tide_list_remove(&message->link);
  bool last = drop_reference(message);
  TIDE_ASSERT(!last); /* the caller has a reference */
  return false;
}

/* Waits until the source is no longer read, and is the consumer's again. */
static void await_copied(struct tide_message *message) {
  struct tide_medium *medium = message->medium;
  for (bool wait = true; wait;) {
    struct tide_lock *lock = tide_medium_enter(medium);
    wait = is_copied(message);
    tide_lock_give(lock);
    if (wait) medium->platform->yield(medium->platform->self);
  }
}

static void import_tags(const struct tide_message *message, struct tide_position *position) {
  for (uint32_t i = 0; position && i < message->tag_count; i++) {
    const struct tide_timepoint *tag = &message->tags[i].called;
    /* An initial or external value carries no history. */
    (void)!tide_timeline_import(tag->timeline, tag->value, position);
  }
}

/* Ends the consumer's part in a message. TIDE_INVALID: it has ended already. `request` (may be
 * NULL) gets the times of its wait. */
static enum tide_status finish_message(struct tide_message *message, uint64_t generation,
                                       struct tide_request *request,
                                       struct tide_position *position) {
  struct tide_medium *medium = message->medium;
  struct tide_lock *lock = tide_medium_enter(medium);
  if (message->generation != generation || message->finished ||
      message->state == TIDE_MESSAGE_FREE) {
    tide_lock_give(lock);
    return TIDE_INVALID;
  }
  message->finished = true;
  if (request) {
    request->stalled = message->stalled_at;
    request->resumed = message->resumed_at;
  }
  bool missing = message->state == TIDE_MESSAGE_WAITING || message->state == TIDE_MESSAGE_AVAILABLE;
  if (message->state == TIDE_MESSAGE_WAITING) {
    message->state = TIDE_MESSAGE_FAILED;
    message->status = TIDE_CANCELLED;
    tide_counter_remove(&medium->due, &message->due);
  }
  if (missing) disown_pages(message);
  if (message->state == TIDE_MESSAGE_AVAILABLE && !message->faulted &&
      !tide_list_empty(&message->link))
    tide_list_remove(&message->link); /* no thread loads from the pages any more */
  bool early = message->untold && message->source;
  enum tide_status status = (enum tide_status)message->status;
  tide_lock_give(lock);
  if (missing) tide_message_wake(message);
  if (early) forget_tags(message);
  if (message->source) await_copied(message);
  if (status == TIDE_OK) import_tags(message, position);
  tide_message_done_with(message);
  return status;
}

enum tide_status tide_request_finish(struct tide_medium *medium, struct tide_request *request,
                                     struct tide_position *position) {
  if (request->private_words[0] >= medium->message_count) return TIDE_INVALID;
  return finish_message(message_of(medium, request), request->private_words[1], request, position);
}

enum tide_status tide_request_fail(struct tide_medium *medium, struct tide_request *request,
                                   enum tide_status status) {
  if (status == TIDE_OK || (unsigned)status >= TIDE_STATUS_COUNT ||
      request->private_words[0] >= medium->message_count)
    return TIDE_INVALID;
  struct tide_message *message = message_of(medium, request);
  return tide_message_fail(message, request->private_words[1], status) ? TIDE_OK : TIDE_VALUE;
}

static bool is_free(const struct tide_message *message) {
  struct tide_lock *lock = tide_medium_enter(message->medium);
  bool is = message->state == TIDE_MESSAGE_FREE;
  tide_lock_give(lock);
  return is;
}

void tide_message_forget(struct tide_message *message) {
  struct tide_medium *medium = message->medium;
  struct tide_lock *lock = tide_medium_enter(medium);
  uint64_t generation = message->generation;
  bool held = message->holds > 0; /* else the message is free, or being freed */
  message->holds += held;
  tide_lock_give(lock);
  if (held) {
    (void)finish_message(message, generation, NULL, NULL);
    forget_tags(message);
    tide_message_done_with(message);
  }
  /* Waits for tag callbacks that are running. */
  while (!is_free(message)) medium->platform->yield(medium->platform->self);
}
