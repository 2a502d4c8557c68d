/* Tag pages. A store to an armed page is stopped by the write fault; the monitor signals the tag
 * and opens the page. */
#include "base/check.h"
#include "base/alloc.h"
#include "wic/medium.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#define NONE UINT32_MAX

/* ---- cells: all under the lock -------------------------------------------------------- */

static size_t offset_of(const struct tide_tags *tags, uint32_t cell) {
  return cell * tags->guard.page;
}
static uint64_t *word_of(const struct tide_tags *tags, uint32_t cell) {
  return (uint64_t *)(void *)(tags->guard.memory + offset_of(tags, cell));
}

static uint32_t pop_free(struct tide_tags *tags) {
  uint32_t cell = tags->free_first;
  if (cell != NONE) tags->free_first = tags->cells[cell].next;
  return cell;
}
/* Removes a cell from anywhere in the free list. The linear search runs only for a stray store. */
static void take_free(struct tide_tags *tags, uint32_t cell) {
  uint32_t *at = &tags->free_first;
  while (*at != cell) at = &tags->cells[*at].next;
  *at = tags->cells[cell].next;
}
static void push_free(struct tide_tags *tags, uint32_t cell) {
  tags->cells[cell].state = TIDE_CELL_FREE;
  tags->cells[cell].next = tags->free_first;
  tags->free_first = cell;
}

/* Returns NONE if the word is no tag page of this medium. */
static uint32_t cell_of(const struct tide_tags *tags, const uint64_t *word) {
  uintptr_t at = (uintptr_t)word - (uintptr_t)tags->guard.memory;
  if (!tags->count || at % tags->guard.page || at / tags->guard.page >= tags->count) return NONE;
  return (uint32_t)(at / tags->guard.page);
}

/* True if a store came through. Call without the lock: the load itself may fault. */
static bool came_through(const uint64_t *word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE) != 0;
}

/* ---- arming ------------------------------------------------------------------------------- */

/* A page that is being armed. */
struct arming {
  uint32_t cell;
  bool taken, open; /* taken: the cell was free; open: the page must be closed */
};

static enum tide_status check_page(const struct tide_tags *tags, const struct tide_tag_page *page) {
  if (!page->tag.timeline) return TIDE_INVALID;
  if (tide_timeline_scope(page->tag.timeline) < TIDE_SCOPE_PROCESS) return TIDE_SCOPE;
  if (!page->word) return TIDE_OK;
  if (cell_of(tags, page->word) == NONE) return TIDE_INVALID;
  return came_through(page->word) ? TIDE_OK : TIDE_BUSY;
}

/* The caller holds the lock. */
static enum tide_status claim_cell(struct tide_tags *tags, const struct tide_tag_page *page,
                                   struct arming *out) {
  *out = (struct arming){.cell = NONE, .taken = !page->word};
  uint32_t cell = out->taken ? pop_free(tags) : cell_of(tags, page->word);
  if (cell == NONE) return TIDE_FULL;
  struct tide_tag_cell *own = &tags->cells[cell];
  if (!out->taken && own->state != TIDE_CELL_FIRED)
    return own->state == TIDE_CELL_FREE ? TIDE_INVALID : TIDE_BUSY;
  out->cell = cell;
  out->open = own->open;
  own->state = TIDE_CELL_ARMING;
  own->tag = page->tag;
  return TIDE_OK;
}

static void unclaim_cells(struct tide_tags *tags, const struct arming *armings, size_t count) {
  while (count-- > 0) {
    const struct arming *a = &armings[count];
    if (a->cell == NONE) continue;
    if (a->taken) push_free(tags, a->cell);
    else tags->cells[a->cell].state = TIDE_CELL_FIRED;
  }
}

/* Claims all pages or none. */
static enum tide_status claim_all(struct tide_medium *medium, const struct tide_tag_page *pages,
                                  size_t count, struct arming *out) {
  size_t claimed = 0;
  struct tide_lock *lock = tide_medium_enter(medium);
  enum tide_status status = (enum tide_status)medium->closed;
  while (status == TIDE_OK && claimed < count) {
    status = claim_cell(&medium->tags, &pages[claimed], &out[claimed]);
    claimed++;
  }
  if (status != TIDE_OK) unclaim_cells(&medium->tags, out, claimed);
  tide_lock_give(lock);
  return status;
}

/* Closes the pages, neighbours in one call. */
static void close_pages(struct tide_tags *tags, const struct arming *armings, size_t count) {
  for (size_t i = 0, next; i < count; i = next) {
    next = i + 1;
    if (!armings[i].open) continue;
    while (next < count && armings[next].open && armings[next].cell == armings[next - 1].cell + 1)
      next++;
    for (size_t k = i; k < next; k++)
      __atomic_store_n(word_of(tags, armings[k].cell), 0, __ATOMIC_RELAXED);
    tide_guard_close(&tags->guard, offset_of(tags, armings[i].cell), (next - i) * tags->guard.page);
  }
}

static void set_armed(struct tide_medium *medium, const struct arming *armings, size_t count) {
  struct tide_tags *tags = &medium->tags;
  struct tide_lock *lock = tide_medium_enter(medium);
  for (size_t i = 0; i < count; i++) {
    struct tide_tag_cell *own = &tags->cells[armings[i].cell];
    own->state = TIDE_CELL_ARMED;
    own->status = TIDE_CANCELLED;
    own->open = false;
    own->doubted = tags->serving ? tags->round : 0;
  }
  tide_lock_give(lock);
}

enum tide_status tide_medium_arm(struct tide_medium *medium, struct tide_tag_page *pages,
                                 size_t count) {
  struct tide_tags *tags = &medium->tags;
  struct arming armings[TIDE_MEDIUM_BATCH];
  if (!tags->count) return TIDE_UNSUPPORTED;
  if (!count || count > TIDE_MEDIUM_BATCH) return TIDE_INVALID;
  for (size_t i = 0; i < count; i++) {
    enum tide_status status = check_page(tags, &pages[i]);
    if (status != TIDE_OK) return status;
  }
  enum tide_status status = claim_all(medium, pages, count, armings);
  if (status != TIDE_OK) return status;
  for (size_t i = 0; i < count; i++) tide_timeline_retain(pages[i].tag.timeline);
  close_pages(tags, armings, count);
  set_armed(medium, armings, count);
  for (size_t i = 0; i < count; i++) pages[i].word = word_of(tags, armings[i].cell);
  return TIDE_OK;
}

/* ---- disarming ----------------------------------------------------------------------------- */

enum tide_status tide_medium_disarm(struct tide_medium *medium, struct tide_tag_page *page) {
  struct tide_tags *tags = &medium->tags;
  uint32_t cell = page->word ? cell_of(tags, page->word) : NONE;
  if (cell == NONE) return TIDE_INVALID;
  bool through = came_through(page->word);
  struct tide_timeline *held = NULL;
  struct tide_lock *lock = tide_medium_enter(medium);
  struct tide_tag_cell *own = &tags->cells[cell];
  enum tide_status status = (enum tide_status)own->status;
  bool armed = own->state == TIDE_CELL_ARMED, fired = own->state == TIDE_CELL_FIRED && through;
  if (armed) held = own->tag.timeline;
  else if (own->state == TIDE_CELL_FREE) status = TIDE_INVALID;
  else if (!fired) status = TIDE_BUSY;
  if (armed || fired) push_free(tags, cell);
  tide_lock_give(lock);
  if (held) tide_timeline_release(held);
  if (armed || fired) page->word = NULL;
  return status;
}

/* ---- the monitor's part ------------------------------------------------------------------- */

enum answer { NOTHING, AGAIN, FIRE, STRAY };

/* Classifies a stopped store. The caller holds the lock. */
static enum answer judge_store(struct tide_tags *tags, uint32_t cell, struct tide_tag *out_tag) {
  struct tide_tag_cell *own = &tags->cells[cell];
  bool sure = tags->round > own->doubted;
  switch (own->state) {
    case TIDE_CELL_ARMED:
      if (!sure) return AGAIN;
      own->state = TIDE_CELL_FIRING;
      *out_tag = own->tag;
      return FIRE;
    case TIDE_CELL_FREE:
      if (own->open || !sure) return AGAIN;
      take_free(tags, cell); /* keeps the page from being armed meanwhile */
      own->state = TIDE_CELL_FIRING;
      return STRAY;
    default: return AGAIN; /* the page is being closed or opened, or is open */
  }
}

static void fire_cell(struct tide_medium *medium, uint32_t cell, struct tide_tag tag) {
  struct tide_tags *tags = &medium->tags;
  struct tide_tag_cell *own = &tags->cells[cell];
  size_t offset = offset_of(tags, cell);
#ifdef __SANITIZE_THREAD__
  __tsan_acquire(tags->guard.memory + offset + sizeof(uint64_t)); /* see wic.h */
#endif
  enum tide_status status = tide_timeline_signal_external(tag.timeline, tag.value);
  tide_guard_open(&tags->guard, offset, tags->guard.page);
  struct tide_lock *lock = tide_medium_enter(medium);
  own->state = TIDE_CELL_FIRED;
  own->status = (uint32_t)status;
  own->open = true;
  medium->info.stores++;
  tide_lock_give(lock);
  tide_timeline_release(tag.timeline);
}

static void open_stray(struct tide_medium *medium, uint32_t cell) {
  struct tide_tags *tags = &medium->tags;
  tide_medium_say_stray(medium, "a store to tag page", cell, word_of(tags, cell),
                        "which is not armed");
  tide_guard_open(&tags->guard, offset_of(tags, cell), tags->guard.page);
  struct tide_lock *lock = tide_medium_enter(medium);
  medium->info.strays++;
  tags->cells[cell].open = true;
  push_free(tags, cell);
  tide_lock_give(lock);
}

static void serve_cell(struct tide_medium *medium, uint32_t cell) {
  struct tide_tags *tags = &medium->tags;
  struct tide_tag tag = {0};
  struct tide_lock *lock = tide_medium_enter(medium);
  enum answer answer = judge_store(tags, cell, &tag);
  tide_lock_give(lock);
  if (answer == FIRE) fire_cell(medium, cell, tag);
  if (answer == AGAIN) tide_guard_wake(&tags->guard, offset_of(tags, cell), tags->guard.page);
  if (answer == STRAY) open_stray(medium, cell);
}

static void set_serving(struct tide_medium *medium, bool serving) {
  struct tide_lock *lock = tide_medium_enter(medium);
  medium->tags.serving = serving;
  medium->tags.round += serving;
  tide_lock_give(lock);
}

void tide_tags_serve(struct tide_medium *medium) {
  struct tide_tags *tags = &medium->tags;
  size_t offsets[TIDE_UFFD_BATCH], count;
  if (!tags->count) return;
  set_serving(medium, true);
  do { /* until all faults of this round are read */
    count = tide_guard_faults(&tags->guard, offsets);
    for (size_t i = 0; i < count; i++)
      serve_cell(medium, (uint32_t)(offsets[i] / tags->guard.page));
  } while (count == TIDE_UFFD_BATCH);
  set_serving(medium, false);
}

/* ---- creation and destruction ----------------------------------------------------------- */

enum tide_status tide_tags_make(struct tide_medium *medium, uint32_t count) {
  struct tide_tags *tags = &medium->tags;
  if (!count) return TIDE_OK;
  tags->cells = tide_alloc(medium->allocator, count, sizeof *tags->cells);
  if (!tags->cells) return TIDE_NOMEM;
  tags->count = count;
  tags->free_first = NONE;
  while (count-- > 0) push_free(tags, count);
  return tide_guard_make(&tags->guard, tags->count * tide_region_page());
}

void tide_tags_unmake(struct tide_medium *medium) {
  struct tide_tags *tags = &medium->tags;
  for (uint32_t i = 0; i < tags->count; i++)
    if (tags->cells[i].state == TIDE_CELL_ARMED) tide_timeline_release(tags->cells[i].tag.timeline);
  tide_guard_unmake(&tags->guard);
  tide_free(medium->allocator, tags->cells, tags->count, sizeof *tags->cells);
}
