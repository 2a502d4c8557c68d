/* timeline/shared_layout.h: the memory layout of a region of shared timelines.
 *
 * All words are accessed through base/atomic.h only, since another process may write them at any
 * moment. The writer stores them in this order:
 *
 *    signal   record (seq odd, words, seq even)  value  word
 *    publish  broken  value              word
 *    fail     status  fail_from  broken  word
 *    close    generation                 word
 *    open     (closed)  everything else  generation
 *
 * each by a release store. A reader loads them by acquire in the opposite order, so it sees all
 * words that were stored before the first one that it saw. A writer that dies between two stores
 * has published less, but nothing wrong; the reaper's fail or reap publishes the rest. */
#ifndef TIDE_TIMELINE_SHARED_LAYOUT_H
#define TIDE_TIMELINE_SHARED_LAYOUT_H

#include "tidemark/shared.h"

#define TIDE_SHARED_MAGIC 0x3165646974656469u /* stored in the machine's byte order */
#define TIDE_SHARED_VERSION 1u
#define TIDE_SHARED_COUNT_MAX (1u << 20)
#define TIDE_SHARED_RECORDS_MAX 1024u

struct tide_shared_head {
  uint64_t magic; /* written last */
  uint32_t version, count, records, capacity;
  uint64_t reserved[5];
};

struct tide_shared_slot {
  uint64_t value;
  uint64_t broken;     /* a value >= it may be broken or failed, or its state is not known here */
  uint64_t generation; /* twice the number, plus 1 while the slot is open */
  uint64_t fail_from;
  uint32_t status; /* the status of failed values */
  uint32_t word;   /* waiters sleep on it; every change increments it */
  uint64_t initial;
  uint64_t next;   /* the number of the next record; the writer's */
  uint32_t buried; /* the status of generations that will not come any more */
  uint32_t reserved;
};

/* The head of a record; the entries follow, each an axis and an epoch. */
struct tide_shared_record_head {
  uint64_t seq; /* odd: being written, or empty; 0: never written */
  uint64_t value;
  uint64_t after; /* the previous value: this signal reached (after, value] */
  uint64_t axis, epoch;
  uint64_t lease;
  uint64_t shape; /* the frontier's count, and its taint << 8 */
  uint64_t reserved;
};

_Static_assert(sizeof(struct tide_shared_head) == 64, "the layout is the same in all processes");
_Static_assert(sizeof(struct tide_shared_slot) == 64, "the layout is the same in all processes");
_Static_assert(sizeof(struct tide_shared_record_head) == 64,
               "the layout is the same in all processes");

/* Returns a slot, which its records follow; NULL: no such slot. */
static inline struct tide_shared_slot *tide_shared_slot_of(const struct tide_shared *shared,
                                                           uint32_t slot) {
  if (slot >= shared->shape.count) return NULL;
  return (struct tide_shared_slot *)(void *)(shared->memory + sizeof(struct tide_shared_head) +
                                             slot * shared->slot_size);
}

/* Returns the status of tide_shared_look. *out_reached: the reached value, set if this generation
 * is open. */
enum tide_status tide_shared_judge(const struct tide_shared_slot *slot, uint32_t generation,
                                   uint64_t value, uint64_t *out_reached);
/* True if a status may mark a failure: a reader cannot confuse it with another result. */
static inline bool tide_shared_fails(uint32_t status) {
  return status != TIDE_OK && status != TIDE_TIMEOUT && status != TIDE_NOT_FOUND &&
         status != TIDE_CORRUPT && status < TIDE_STATUS_COUNT;
}
/* Makes all records unreadable. The slot is closed. */
void tide_shared_forget_records(const struct tide_shared *shared, struct tide_shared_slot *slot);
/* Writes the record of the next value; it counts once the value is stored. The frontier is valid
 * and lists the signaller. */
void tide_shared_write_record(const struct tide_shared *shared, struct tide_shared_slot *slot,
                              uint64_t value, const struct tide_frontier *frontier, tide_axis axis,
                              uint64_t epoch);
/* True if the frontier may be a record's: valid, of known domains, and it lists the signaller. */
bool tide_shared_lists(const struct tide_frontier *frontier, tide_axis axis, uint64_t epoch);

#endif
