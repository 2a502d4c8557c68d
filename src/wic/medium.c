/* Creation and destruction of a medium. */
#include "base/params.h"
#include "wic/medium.h"
#include "base/check.h"
#include "base/alloc.h"
#include "wic/stall.h"

const char *tide_medium_engine_name(enum tide_medium_engine engine) {
  static const char *const names[] = {"direct", "monitor", "fibers"};
  return (unsigned)engine <= TIDE_MEDIUM_FIBERS ? names[engine] : "unknown";
}

static size_t words_of(const struct tide_medium *medium) { return (medium->half + 63) / 64; }

static void free_medium(struct tide_medium *medium) {
  const struct tide_allocator *allocator = medium->allocator;
  tide_region_close(&medium->region);
  tide_tags_unmake(medium);
  tide_pages_destroy(medium->runs);
  for (int side = 0; side < 2; side++)
    tide_free(allocator, medium->used[side], words_of(medium), sizeof(uint64_t));
  tide_free(allocator, medium->batches, medium->half, sizeof *medium->batches);
  tide_free(allocator, medium->owner, 2 * (size_t)medium->half, sizeof *medium->owner);
  tide_free(allocator, medium->messages, medium->message_count, sizeof *medium->messages);
  pthread_mutex_destroy(&medium->giving);
  tide_free(allocator, medium, 1, sizeof *medium);
}

static enum tide_status make_tables(struct tide_context *context, struct tide_medium *medium,
                                    bool paper_tree) {
  const struct tide_allocator *allocator = medium->allocator;
  size_t pages = 2 * (size_t)medium->half;
  for (int side = 0; side < 2; side++) {
    medium->used[side] = tide_alloc(allocator, words_of(medium), sizeof(uint64_t));
    if (!medium->used[side]) return TIDE_NOMEM;
  }
  medium->batches = tide_alloc(allocator, medium->half, sizeof *medium->batches);
  medium->owner = tide_alloc(allocator, pages, sizeof *medium->owner);
  medium->messages = tide_alloc(allocator, medium->message_count, sizeof *medium->messages);
  if (!medium->batches || !medium->owner || !medium->messages) return TIDE_NOMEM;
  for (size_t i = 0; i < pages; i++) medium->owner[i] = TIDE_NO_MESSAGE;
  for (uint32_t i = 0; i < medium->message_count; i++) {
    medium->messages[i].medium = medium;
    tide_list_push_back(&medium->free, &medium->messages[i].link);
  }
  return tide_pages_create(context, paper_tree ? TIDE_PAGES_TREE : TIDE_PAGES_FAST, medium->half,
                           &medium->runs);
}

static struct tide_medium *medium_of(struct tide_owned *owned) {
  return TIDE_CONTAINER(owned, struct tide_medium, owned);
}
static void end_owned(struct tide_owned *owned) {
  tide_medium_close(medium_of(owned), TIDE_CANCELLED);
}
static void destroy_owned(struct tide_owned *owned) { tide_medium_destroy(medium_of(owned)); }
static const struct tide_owned_ops owned_ops = {.end = end_owned, .destroy = destroy_owned};

enum tide_status tide_medium_create(struct tide_context *context,
                                    const struct tide_medium_params *params,
                                    struct tide_medium **out_medium) {
  struct tide_medium_params own;
  enum tide_status known = tide_params_copy(&own, sizeof own, params);
  if (known != TIDE_OK) return known;
  params = &own;
  uint32_t pages = params->pages ? params->pages : 16384;
  uint32_t requests = params->requests ? params->requests : 1024;
  if (pages > TIDE_MEDIUM_PAGES || requests > TIDE_MEDIUM_PAGES ||
      params->tag_pages > TIDE_MEDIUM_TAG_PAGES || (unsigned)params->engine > TIDE_MEDIUM_FIBERS)
    return TIDE_INVALID;
  struct tide_medium *medium = tide_alloc(context->allocator, 1, sizeof *medium);
  if (!medium) return TIDE_NOMEM;
  medium->context = context;
  medium->platform = context->platform;
  medium->allocator = context->allocator;
  medium->engine = params->engine;
  medium->stray = params->stray;
  medium->user = params->user;
  medium->pinned = params->pinned;
  medium->cpu = params->cpu;
  medium->linger = params->linger;
  medium->half = (pages + 1) / 2;
  medium->message_count = requests;
  medium->rest_first = TIDE_PAGES_NONE;
  medium->bell = -1;
  medium->region.memory = medium->region.faults = medium->tags.guard.faults = -1;
  medium->due.not_least = 0;
  pthread_mutex_init(&medium->giving, NULL);
  tide_list_init(&medium->free);
  tide_list_init(&medium->ready);
  tide_list_init(&medium->ahead);
  tide_label_name(medium->label, params->label, "medium", tide_context_number(context));
  enum tide_status status = make_tables(context, medium, params->paper_tree);
  if (status == TIDE_OK)
    status = tide_region_open(&medium->region, "tidemark-medium",
                              2 * (size_t)medium->half * tide_region_page(),
                              medium->engine == TIDE_MEDIUM_FIBERS);
  if (status == TIDE_OK) status = tide_tags_make(medium, params->tag_pages);
  if (status == TIDE_OK) status = tide_monitor_start(medium);
  if (status == TIDE_OK && medium->engine == TIDE_MEDIUM_FIBERS) {
    status = tide_stall_open(medium);
    if (status != TIDE_OK) tide_monitor_stop(medium);
  }
  if (status != TIDE_OK) {
    free_medium(medium);
    return status;
  }
  tide_context_own(context, TIDE_OWNED_MEDIUM, &medium->owned, &owned_ops);
  *out_medium = medium;
  return TIDE_OK;
}

void tide_medium_close(struct tide_medium *medium, enum tide_status status) {
  if (status == TIDE_OK) status = TIDE_CANCELLED;
  struct tide_lock *lock = tide_medium_enter(medium);
  if (!medium->closed) medium->closed = (uint32_t)status;
  tide_lock_give(lock);
  for (uint32_t i = 0; i < medium->message_count; i++) {
    lock = tide_medium_enter(medium);
    uint64_t generation = medium->messages[i].generation;
    tide_lock_give(lock);
    (void)tide_message_fail(&medium->messages[i], generation, status);
  }
}

void tide_medium_destroy(struct tide_medium *medium) {
  if (!medium) return;
  tide_context_disown(medium->context, &medium->owned);
  tide_medium_close(medium, TIDE_CANCELLED);
  for (uint32_t i = 0; i < medium->message_count; i++) tide_message_forget(&medium->messages[i]);
  tide_monitor_stop(medium);
  if (medium->engine == TIDE_MEDIUM_FIBERS) tide_stall_close(medium);
  free_medium(medium);
}

void tide_medium_info(struct tide_medium *medium, struct tide_medium_info *out_info) {
  struct tide_lock *lock = tide_medium_enter(medium);
  *out_info = medium->info;
  tide_medium_wake_rested(medium);
  out_info->free_pages = tide_pages_free_count(medium->runs);
  out_info->largest_run = tide_pages_largest(medium->runs);
  tide_lock_give(lock);
  out_info->engine = medium->engine;
  out_info->pages = 2 * medium->half;
  out_info->page_bytes = (uint32_t)medium->region.page;
  out_info->user_only = medium->region.user_only || medium->region.signals;
}
