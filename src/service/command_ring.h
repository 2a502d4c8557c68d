/* service/command_ring.h: one client's commands, in memory that it shares with the service.
 *
 * A ring of 64-byte cells, one writer (the client), one reader (the service). Both count cells;
 * each writes its own count and only reads the other's. The service trusts nothing that it reads
 * here. It knows the ring's size itself. The writer's count is read once and must be within the
 * ring. A record is copied before it is checked, except its length, which is read once and bounded.
 *
 * The service sets `asleep` before it sleeps, so that a client rings its bell only then. A client
 * that finds the ring full sets `parked`, and the service wakes it when half of the ring is
 * free. */
#ifndef TIDE_SERVICE_COMMAND_RING_H
#define TIDE_SERVICE_COMMAND_RING_H

#include "base/atomic.h"
#include "service/wire.h"
#include "tidemark/base.h"

/* A point that a thread of the client sleeps for, where the service does not see it: in the values'
 * memory. For an admin to read; any content is harmless. */
struct tide_ring_sleeper {
  uint32_t handle; /* 0: none */
  uint32_t generation;
  uint64_t value;
};
#define TIDE_RING_SLEEPERS 4u

struct tide_ring_shared {
  uint64_t written; /* by the client: cells so far */
  uint64_t pad[7];
  uint64_t read; /* by the service: cells so far */
  uint32_t asleep;
  uint32_t parked;  /* 1: threads of the client sleep on `unparks`, or are about to */
  uint32_t unparks; /* the number of unparks so far */
  uint32_t pad2[11];
  struct tide_ring_sleeper sleepers[TIDE_RING_SLEEPERS]; /* by the client */
  unsigned char cells[];
};
_Static_assert(sizeof(struct tide_ring_shared) % TIDE_WIRE_CELL == 0, "cells fill lines");

struct tide_ring {
  struct tide_ring_shared *shared;
  uint32_t size;  /* cells; a power of two */
  uint64_t count; /* this side's own: cells written, or read */
};

/* Returns the bytes of shared memory for that many cells. */
static inline size_t tide_ring_bytes(uint32_t cells) {
  return sizeof(struct tide_ring_shared) + (size_t)cells * TIDE_WIRE_CELL;
}

/* ---- the client ---- */

/* True if that many cells are free. They stay free until the client writes. */
bool tide_ring_has_capacity(const struct tide_ring *ring, uint32_t cells);
/* Appends a record and sets its `cells`. TIDE_FULL: too few cells are free now; TIDE_INVALID: the
 * record is too large. *out_asleep: the service sleeps; ring its bell. */
enum tide_status tide_ring_write(struct tide_ring *ring, struct tide_wire_record *record,
                                 bool *out_asleep);

/* True if fewer cells are free, and the caller is to park. */
bool tide_ring_must_park(struct tide_ring *ring, uint32_t cells, uint32_t *out_unparks);
/* Blocks until the ring is unparked after tide_ring_must_park, or the deadline, or spuriously.
 * Other threads may write meanwhile. */
void tide_ring_park(const struct tide_ring *ring, uint32_t unparks,
                    const struct tide_platform *platform, uint64_t deadline);

/* Notes a sleeping thread. Returns NULL if others take all the room: it is not shown then. The
 * caller's threads are serialised. */
struct tide_ring_sleeper *tide_ring_begin_sleep(struct tide_ring *ring, struct tide_wire_name name,
                                                uint64_t value);
void tide_ring_end_sleep(struct tide_ring_sleeper *sleeper);

/* ---- both ---- */

/* Wakes all parked threads. */
void tide_ring_unpark(struct tide_ring *ring, const struct tide_platform *platform);

/* ---- the service ---- */

/* Copies the next record. TIDE_TIMEOUT: none; TIDE_CORRUPT: the writer has broken the framing, and
 * nothing in the ring can be trusted any more. */
enum tide_status tide_ring_read(struct tide_ring *ring, struct tide_wire_record *out_record,
                                uint32_t *out_cells);
/* Returns the writer's count: untrusted, to be bounded by the caller. */
uint64_t tide_ring_written(const struct tide_ring *ring);
/* Wakes the parked threads once half of the ring is free. To be called after some reads. */
void tide_ring_offer_room(struct tide_ring *ring, const struct tide_platform *platform);
/* Reads the index-th sleeper; untrusted. False: none. */
bool tide_ring_sleeper_at(const struct tide_ring *ring, uint32_t index,
                          struct tide_wire_point *out_point);
/* Announces that the reader will sleep. False: there is a record to read after all. */
bool tide_ring_sleep(struct tide_ring *ring);

#endif
