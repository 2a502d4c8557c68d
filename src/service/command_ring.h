/* service/command_ring.h: one client's commands, in memory that it shares with the service.
 *
 * A ring of 64-byte cells, one writer (the client), one reader (the service). Both count cells;
 * each writes its own count and only reads the other's. The service believes nothing that it reads
 * here: how large the ring is it knows itself, the writer's count is taken once and must be within
 * the ring, and a record is copied before anything of it is looked at, but for its length, which is
 * taken once and bounded.
 *
 * The service says when it goes to sleep (`asleep`), so that a client rings its bell only then. A
 * client that finds no room says that it parks (`parked`), and the service wakes it when half of
 * the ring is free. */
#ifndef TIDE_SERVICE_RING_H
#define TIDE_SERVICE_RING_H

#include "base/atomic.h"
#include "service/wire.h"
#include "tidemark/base.h"

struct tide_ring_shared {
  uint64_t written; /* by the client: cells since the beginning */
  uint64_t pad[7];
  uint64_t read; /* by the service */
  uint32_t asleep;
  uint32_t parked;  /* 1: threads of the client sleep on `unparks`, or are about to */
  uint32_t unparks; /* so far */
  uint32_t pad2[11];
  unsigned char cells[];
};

struct tide_ring {
  struct tide_ring_shared *shared;
  uint32_t size;  /* cells; a power of two */
  uint64_t count; /* this side's own: written, or read */
};

/* Bytes of shared memory for so many cells. */
static inline size_t tide_ring_bytes(uint32_t cells) {
  return sizeof(struct tide_ring_shared) + (size_t)cells * TIDE_WIRE_CELL;
}

/* ---- the client ---- */

/* True if so many cells are free. They stay free until the client writes. */
bool tide_ring_has_capacity(const struct tide_ring *ring, uint32_t cells);
/* TIDE_FULL: not so many cells are free now. The record's `cells` is set. TIDE_INVALID: it is too
 * large. *out_ring: the service sleeps, ring its bell. */
enum tide_status tide_ring_write(struct tide_ring *ring, struct tide_wire_record *record,
                                 bool *out_asleep);

/* True if so many cells are not free, and the caller is to park. */
bool tide_ring_must_park(struct tide_ring *ring, uint32_t cells, uint32_t *out_unparks);
/* Blocks until the ring is unparked after tide_ring_must_park, or the deadline, or for no reason.
 * Other threads may write meanwhile. */
void tide_ring_park(const struct tide_ring *ring, uint32_t unparks,
                    const struct tide_platform *platform, uint64_t deadline);

/* ---- both ---- */

/* Wakes all threads that park. */
void tide_ring_unpark(struct tide_ring *ring, const struct tide_platform *platform);

/* ---- the service ---- */

/* The next record, copied. TIDE_TIMEOUT: there is none. TIDE_CORRUPT: the writer has broken the
 * framing; nothing in the ring can be believed any more. */
enum tide_status tide_ring_read(struct tide_ring *ring, struct tide_wire_record *out_record,
                                uint32_t *out_cells);
/* How far the writer says it has come: a number to be bounded, not believed. */
uint64_t tide_ring_written(const struct tide_ring *ring);
/* Behind some reads: wakes the threads that park, once half of the ring is free. */
void tide_ring_offer_room(struct tide_ring *ring, const struct tide_platform *platform);
/* The reader will sleep. False: there is something to be read after all. */
bool tide_ring_sleep(struct tide_ring *ring);

#endif
