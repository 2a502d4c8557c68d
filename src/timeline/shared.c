/* Timelines in shared memory: the shape of a region, and its readers. */
#include "base/params.h"
#include "timeline/shared_layout.h"
#include "base/atomic.h"

/* ---- shape --------------------------------------------------------------------------------- */

static bool is_possible(const struct tide_shared_shape *shape) {
  if (shape->count == 0 || shape->count > TIDE_SHARED_COUNT_MAX) return false;
  if (shape->records == 0) return shape->capacity == 0;
  return shape->records >= 2 && shape->records <= TIDE_SHARED_RECORDS_MAX && shape->capacity > 0;
}

static size_t record_size(const struct tide_shared_shape *shape) {
  size_t entries = (size_t)shape->capacity * 16;
  return (sizeof(struct tide_shared_record_head) + entries + 63) / 64 * 64;
}

static size_t slot_size(const struct tide_shared_shape *shape) {
  return sizeof(struct tide_shared_slot) + shape->records * record_size(shape);
}

size_t tide_shared_size(const struct tide_shared_shape *shape) {
  if (!shape || !is_possible(shape)) return 0;
  size_t one = slot_size(shape);
  if (one > (SIZE_MAX - sizeof(struct tide_shared_head)) / shape->count) return 0;
  return sizeof(struct tide_shared_head) + one * shape->count;
}

static bool is_aligned(const void *memory) { return memory && (uintptr_t)memory % 64 == 0; }

enum tide_status tide_shared_format(void *memory, size_t size,
                                    const struct tide_shared_shape *shape) {
  size_t needed = tide_shared_size(shape);
  if (needed == 0 || !is_aligned(memory)) return TIDE_INVALID;
  if (size < needed) return TIDE_FULL;
  struct tide_shared_head *head = memory;
  tide_store_relaxed(&head->version, TIDE_SHARED_VERSION);
  tide_store_relaxed(&head->count, shape->count);
  tide_store_relaxed(&head->records, shape->records);
  tide_store_relaxed(&head->capacity, (uint32_t)shape->capacity);
  tide_store_release(&head->magic, (uint64_t)TIDE_SHARED_MAGIC);
  return TIDE_OK;
}

/* Reads and checks the shape. Each word is read once, so that the checked words are the used
 * ones. */
static enum tide_status read_shape(const void *memory, size_t size,
                                   struct tide_shared_shape *out_shape) {
  const struct tide_shared_head *head = memory;
  if (size < sizeof *head) return TIDE_CORRUPT;
  if (tide_load_acquire(&head->magic) != TIDE_SHARED_MAGIC) return TIDE_CORRUPT;
  if (tide_load_relaxed(&head->version) != TIDE_SHARED_VERSION) return TIDE_CORRUPT;
  uint32_t capacity = tide_load_relaxed(&head->capacity);
  if (capacity > TIDE_FRONTIER_CAPACITY_MAX) return TIDE_CORRUPT;
  out_shape->count = tide_load_relaxed(&head->count);
  out_shape->records = tide_load_relaxed(&head->records);
  out_shape->capacity = (uint8_t)capacity;
  size_t needed = tide_shared_size(out_shape);
  return needed == 0 || needed > size ? TIDE_CORRUPT : TIDE_OK;
}

enum tide_status tide_shared_attach(struct tide_shared *out_shared, void *memory, size_t size,
                                    const struct tide_shared_params *params) {
  struct tide_shared_params own;
  enum tide_status status = tide_params_copy(&own, sizeof own, params);
  if (status != TIDE_OK) return status;
  params = &own;
  if (!params->platform || !is_aligned(memory)) return TIDE_INVALID;
  struct tide_shared shared = {.memory = memory,
                               .platform = params->platform,
                               .lease = params->lease,
                               .writable = params->writable};
  status = read_shape(memory, size, &shared.shape);
  if (status != TIDE_OK) return status;
  shared.record_size = record_size(&shared.shape);
  shared.slot_size = slot_size(&shared.shape);
  *out_shared = shared;
  return TIDE_OK;
}

/* ---- looking ------------------------------------------------------------------------------- */

uint64_t tide_shared_value(const struct tide_shared *shared, uint32_t slot) {
  const struct tide_shared_slot *at = tide_shared_slot_of(shared, slot);
  return at ? tide_load_acquire(&at->value) : 0;
}

/* Returns the state of a value at or above the lowest broken value. */
static enum tide_status judge_broken(const struct tide_shared_slot *slot, uint64_t value,
                                     uint64_t broken, uint64_t reached) {
  uint64_t fail_from = tide_load_acquire(&slot->fail_from);
  uint32_t status = tide_load_acquire(&slot->status);
  if (value >= fail_from && status != TIDE_OK)
    return tide_shared_fails(status) ? (enum tide_status)status : TIDE_CORRUPT;
  if (broken != UINT64_MAX) return TIDE_NOT_FOUND;
  return value <= reached ? TIDE_OK : TIDE_TIMEOUT; /* UINT64_MAX, and no value broke */
}

/* Returns the state of a generation that is not open yet: it may still come, unless its writer has
 * died. */
static enum tide_status still_to_come(const struct tide_shared_slot *slot) {
  uint32_t buried = tide_load_acquire(&slot->buried);
  return tide_shared_fails(buried) ? (enum tide_status)buried : TIDE_TIMEOUT;
}

enum tide_status tide_shared_judge(const struct tide_shared_slot *slot, uint32_t generation,
                                   uint64_t value, uint64_t *out_reached) {
  /* The first load: the later ones see no words of an earlier generation. */
  if (tide_load_acquire(&slot->generation) >> 1 < generation) return still_to_come(slot);
  uint64_t reached = tide_load_acquire(&slot->value);
  uint64_t broken = tide_load_acquire(&slot->broken);
  enum tide_status status = value <= reached ? TIDE_OK : TIDE_TIMEOUT;
  if (value >= broken) status = judge_broken(slot, value, broken, reached);
  /* The last load: if the slot was opened anew before one of the other loads, the generation
   * differs. */
  if (tide_load_acquire(&slot->generation) != ((uint64_t)generation << 1 | 1))
    return TIDE_CANCELLED;
  *out_reached = reached;
  return status;
}

enum tide_status tide_shared_look(const struct tide_shared *shared, uint32_t slot,
                                  uint32_t generation, uint64_t value) {
  const struct tide_shared_slot *at = tide_shared_slot_of(shared, slot);
  uint64_t reached;
  return at ? tide_shared_judge(at, generation, value, &reached) : TIDE_INVALID;
}

/* ---- waiting ------------------------------------------------------------------------------- */

#define AT_ONCE 128
#define ROUND 1000000u /* ns: the longest sleep on only the first of too many words */

static bool has_passed(const struct tide_platform *platform, uint64_t deadline) {
  if (deadline == TIDE_NOW) return true;
  return deadline != TIDE_FOREVER && platform->now(platform->self) >= deadline;
}

/* The word is read before the slot: a change of the slot after that also changes the word. */
enum tide_status tide_shared_wait(const struct tide_shared *shared, uint32_t slot,
                                  uint32_t generation, uint64_t value, uint64_t deadline) {
  const struct tide_shared_slot *at = tide_shared_slot_of(shared, slot);
  const struct tide_platform *platform = shared->platform;
  uint64_t reached;
  if (!at) return TIDE_INVALID;
  for (;;) {
    struct tide_word word = {&at->word, tide_load_acquire(&at->word)};
    enum tide_status status = tide_shared_judge(at, generation, value, &reached);
    if (status != TIDE_TIMEOUT || has_passed(platform, deadline)) return status;
    if (!platform->wait_shared) return TIDE_UNSUPPORTED;
    platform->wait_shared(platform->self, &word, 1, deadline);
  }
}

uint32_t tide_shared_word(const struct tide_shared *shared, uint32_t slot) {
  const struct tide_shared_slot *at = tide_shared_slot_of(shared, slot);
  return at ? tide_load_acquire(&at->word) : 0;
}

enum tide_status tide_shared_sleep(const struct tide_shared *shared, uint32_t slot, uint32_t seen,
                                   uint64_t deadline) {
  const struct tide_shared_slot *at = tide_shared_slot_of(shared, slot);
  const struct tide_platform *platform = shared->platform;
  if (!at) return TIDE_INVALID;
  if (has_passed(platform, deadline)) return TIDE_TIMEOUT;
  if (!platform->wait_shared) return TIDE_UNSUPPORTED;
  struct tide_word word = {&at->word, seen};
  platform->wait_shared(platform->self, &word, 1, deadline);
  return TIDE_OK;
}

/* Judges all points until one has ended. For the first AT_ONCE points, the word is read before the
 * slot. */
static enum tide_status look_at_all(const struct tide_shared_point *points, size_t count,
                                    struct tide_word words[AT_ONCE], size_t *out_index) {
  for (size_t i = 0; i < count; i++) {
    const struct tide_shared_slot *slot = tide_shared_slot_of(points[i].shared, points[i].slot);
    enum tide_status status = TIDE_INVALID;
    uint64_t reached;
    if (slot) {
      if (i < AT_ONCE) words[i] = (struct tide_word){&slot->word, tide_load_acquire(&slot->word)};
      status = tide_shared_judge(slot, points[i].generation, points[i].value, &reached);
    }
    if (status == TIDE_TIMEOUT) continue;
    if (out_index) *out_index = i;
    return status;
  }
  return TIDE_TIMEOUT;
}

static uint64_t end_of_round(const struct tide_platform *platform, uint64_t deadline) {
  uint64_t end = platform->now(platform->self) + ROUND;
  return end < deadline ? end : deadline;
}

enum tide_status tide_shared_wait_any(const struct tide_shared_point *points, size_t count,
                                      uint64_t deadline, size_t *out_index) {
  struct tide_word words[AT_ONCE];
  if (count == 0) return TIDE_INVALID;
  const struct tide_platform *platform = points[0].shared->platform;
  for (;;) {
    enum tide_status status = look_at_all(points, count, words, out_index);
    if (status != TIDE_TIMEOUT || has_passed(platform, deadline)) return status;
    if (!platform->wait_shared) return TIDE_UNSUPPORTED;
    bool all = count <= AT_ONCE;
    platform->wait_shared(platform->self, words, all ? (uint32_t)count : AT_ONCE,
                          all ? deadline : end_of_round(platform, deadline));
  }
}
