/* service/values.h: how far a client's timelines are, in memory that it and those to whom it
 * granted one map read-only. The service alone writes.
 *
 * One slot of a region (tidemark/shared.h) a handle of the owner's table: its value, and the lowest
 * value that broke. Beside each slot lies what only points have: the runs of broken values that
 * were added last, so that whoever waited for one of them can tell why without asking; `runs`
 * counts them all, so that a reader knows when some have fallen out. Then, and only then, or when
 * it looks just while they are written, it has to ask the service.
 *
 * A timeline that is over, one way or another, has failed with TIDE_CANCELLED from its last value
 * on; its slot is closed when the next one is opened there. */
#ifndef TIDE_SERVICE_VALUES_H
#define TIDE_SERVICE_VALUES_H

#include "tidemark/shared.h"

#define TIDE_VALUES_RUNS 3u

struct tide_values_run {
  uint64_t first, last;
  uint64_t status;
};
struct tide_values_more {
  uint32_t seq;      /* odd: the runs are being written */
  uint32_t runs;     /* of broken values, since the beginning */
  uint64_t returned; /* places for promises that came free since the beginning */
  struct tide_values_run run[TIDE_VALUES_RUNS];
  uint64_t pad[5];
};
_Static_assert(sizeof(struct tide_values_more) == 128, "two lines a place");

/* One process's view. Nothing to release. */
struct tide_values {
  struct tide_shared shared;
  struct tide_values_more *more; /* one a slot */
  struct tide_shared quiet;      /* the writer's: its stores wake nobody */
};

/* 0: too many. */
size_t tide_values_bytes(uint32_t places);
/* Zeroed memory of that many bytes. */
enum tide_status tide_values_format(void *memory, uint32_t places);
/* TIDE_CORRUPT: it is not of that many places. */
enum tide_status tide_values_attach(struct tide_values *out_values, void *memory, uint32_t places,
                                    bool writable);

/* ---- the service: one thread at a time for each place ---- */

void tide_values_open(struct tide_values *values, uint32_t place, uint32_t generation,
                      uint64_t initial);
struct tide_values_news {
  uint64_t value, lowest, returned;
  uint64_t ended;  /* this one has ended, */
  uint32_t status; /* so */
  bool closed;
};
/* Stores only; tide_values_wake is for later. */
void tide_values_publish(struct tide_values *values, uint32_t place,
                         const struct tide_values_news *news);
/* Shows all values from here on as broken; nothing is published of them any more. Stores only. */
void tide_values_end(struct tide_values *values, uint32_t place, uint64_t from,
                     enum tide_status status);
void tide_values_wake(struct tide_values *values, uint32_t place);
/* The service ends: all who wait, for whichever place, are told. */
void tide_values_fail(struct tide_values *values, enum tide_status status);

/* ---- readers ---- */

/* TIDE_OK: good; TIDE_TIMEOUT: not yet; TIDE_CANCELLED: the timeline is over; TIDE_BUSY: only the
 * service can tell; the service's end; else the value's error. */
enum tide_status tide_values_look(const struct tide_values *values, uint32_t place,
                                  uint32_t generation, uint64_t value);
/* The same, and sleeps as long as it is TIDE_TIMEOUT, until the deadline. */
enum tide_status tide_values_wait(const struct tide_values *values, uint32_t place,
                                  uint32_t generation, uint64_t value, uint64_t deadline);
/* Nothing changes any more. */
bool tide_values_over(const struct tide_values *values, uint32_t place, uint32_t generation);
uint64_t tide_values_returned(const struct tide_values *values, uint32_t place);

#endif
