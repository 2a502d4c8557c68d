/* service/values.h: how far a client's timelines are, in memory that it and those to whom it
 * granted one map read-only. The service alone writes.
 *
 * One place a handle of the owner's table. "v is good" is two loads: value >= v and v < lowest. The
 * runs of broken values that were added last are there, too, so that whoever waited for one of
 * them can tell why without asking; `runs` counts them all, so that a reader knows when some have
 * fallen out. Then, and only then, it has to ask the service.
 *
 * A place is used again with a higher generation; a reader that looks for another one than it finds
 * is told so. `word` is what waiters sleep on; it is odd while the service writes. */
#ifndef TIDE_SERVICE_VALUES_H
#define TIDE_SERVICE_VALUES_H

#include "base/atomic.h"
#include "tidemark/base.h"

#define TIDE_VALUES_RUNS 3u

struct tide_values_run {
  uint64_t first, last;
  uint64_t status;
};

struct tide_values_place {
  uint32_t generation; /* 0: nothing here */
  uint32_t word;
  uint64_t value;
  uint64_t lowest;   /* the lowest broken value; UINT64_MAX: none */
  uint64_t returned; /* places for promises that came free since the beginning */
  uint32_t closed;   /* nothing changes any more */
  uint32_t runs;     /* of broken values, since the beginning */
  struct tide_values_run run[TIDE_VALUES_RUNS];
  uint64_t pad[2];
};
_Static_assert(sizeof(struct tide_values_place) == 128, "two lines a place");

struct tide_values {
  uint32_t status; /* TIDE_OK, or why nothing here will ever change again: the service has ended */
  uint32_t pad[31];
  struct tide_values_place places[];
};

static inline size_t tide_values_bytes(uint32_t places) {
  return sizeof(struct tide_values) + (size_t)places * sizeof(struct tide_values_place);
}

/* ---- the service: one thread at a time for each place ---- */

void tide_values_open(struct tide_values_place *place, uint32_t generation, uint64_t initial);
struct tide_values_news {
  uint64_t value, lowest, returned;
  uint64_t ended;  /* this one has ended, */
  uint32_t status; /* so */
  bool closed;
};
/* Stores only; tide_values_wake is for later. */
void tide_values_publish(struct tide_values_place *place, const struct tide_values_news *news);
void tide_values_wake(struct tide_values_place *place);
/* The service ends: all who wait, for whichever place, are told. */
void tide_values_fail(struct tide_values *values, uint32_t places, enum tide_status status);

/* ---- readers ---- */

/* TIDE_OK: good; TIDE_TIMEOUT: not yet; TIDE_NOT_FOUND: it is not this timeline's place any more;
 * TIDE_BUSY: only the service can tell; the service's end; else the value's error. */
enum tide_status tide_values_look(const struct tide_values *values, uint32_t place,
                                  uint32_t generation, uint64_t value);
/* The same, and sleeps as long as it is TIDE_TIMEOUT, until the deadline. */
enum tide_status tide_values_wait(const struct tide_values *values, uint32_t place,
                                  uint32_t generation, uint64_t value, uint64_t deadline);

#endif
