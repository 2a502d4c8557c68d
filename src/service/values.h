/* service/values.h: the values of a client's timelines, in shared memory. The client, and those to
 * which it granted a timeline, map the memory read-only. The service alone writes.
 *
 * Each handle of the owner's table has one slot of a region (tidemark/shared.h): its value, and the
 * lowest value that broke. Beside each slot lie the newest runs of broken values, which only points
 * have. With these a waiter finds the error of a broken value without a command; `runs` counts all
 * runs, so that a reader knows when some were overwritten. Only then, or if it reads while the runs
 * are being written, must the reader ask the service.
 *
 * The values of a timeline that is over have failed with TIDE_CANCELLED from its last value on; its
 * slot is closed when the next timeline is opened there. */
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
  uint32_t runs;     /* runs of broken values so far */
  uint64_t returned; /* promises so far that gave their capacity back */
  uint64_t newest;   /* the last value promised */
  uint64_t open;     /* promises that have not ended */
  struct tide_values_run run[TIDE_VALUES_RUNS];
  uint64_t pad[3];
};
_Static_assert(sizeof(struct tide_values_more) == 128, "two lines a place");

/* A process's view. Holds nothing to release. */
struct tide_values {
  struct tide_shared shared;
  struct tide_values_more *more; /* by slot */
  struct tide_shared quiet;      /* the writer's: its stores wake no thread */
};

/* Returns the size of the memory for that many slots; 0: too many. */
size_t tide_values_bytes(uint32_t places);
/* Formats zeroed memory of tide_values_bytes. */
enum tide_status tide_values_format(void *memory, uint32_t places);
/* TIDE_CORRUPT: the memory was not formatted for that many slots. */
enum tide_status tide_values_attach(struct tide_values *out_values, void *memory, uint32_t places,
                                    bool writable);

/* ---- the service: one thread at a time for each slot ---- */

void tide_values_open(struct tide_values *values, uint32_t place, uint32_t generation,
                      uint64_t initial, uint64_t newest);
struct tide_values_news {
  uint64_t value, lowest, returned, newest, open;
  uint64_t ended;  /* the value that has ended */
  uint32_t status; /* the error of `ended`; 0: none */
  bool closed;
};
/* Stores the counts of promises alone. */
void tide_values_count(struct tide_values *values, uint32_t place,
                       const struct tide_values_news *news);
/* Only stores; the readers are woken by tide_values_wake, later. */
void tide_values_publish(struct tide_values *values, uint32_t place,
                         const struct tide_values_news *news);
/* Shows all values from `from` on as broken; none of them may be published later. Only stores. */
void tide_values_end(struct tide_values *values, uint32_t place, uint64_t from,
                     enum tide_status status);
void tide_values_wake(struct tide_values *values, uint32_t place);
/* Fails all slots and wakes all waiters: the service ends. */
void tide_values_fail(struct tide_values *values, enum tide_status status);

/* ---- readers ---- */

/* TIDE_OK: good; TIDE_TIMEOUT: not yet; TIDE_NOT_FOUND: not promised, unless the reader knows that
 * the promise is on its way (`promised`); TIDE_BUSY: only the service knows, also of a timeline
 * that is over; the service's status once it has ended; else the value's error. */
enum tide_status tide_values_look(const struct tide_values *values, uint32_t place,
                                  uint32_t generation, uint64_t value, bool promised);
/* Blocks while tide_values_look returns TIDE_TIMEOUT, until the deadline. */
enum tide_status tide_values_wait(const struct tide_values *values, uint32_t place,
                                  uint32_t generation, uint64_t value, bool promised,
                                  uint64_t deadline);
/* True if the slot shows nothing new any more. */
bool tide_values_over(const struct tide_values *values, uint32_t place, uint32_t generation);
uint64_t tide_values_returned(const struct tide_values *values, uint32_t place);
/* True if all values up to `newest`, the last one promised, have ended. */
bool tide_values_ended(const struct tide_values *values, uint32_t place, uint64_t newest);

#endif
