/* service/command_ring.h: one client's commands, in memory that it shares with the service.
 *
 * A ring of 64-byte cells, one writer (the client), one reader (the service). Both count cells;
 * each writes its own count and only reads the other's. The service believes nothing that it reads
 * here: how large the ring is it knows itself, the writer's count is taken once and must be within
 * the ring, and a record is copied before anything of it is looked at, but for its length, which is
 * taken once and bounded.
 *
 * The service says when it goes to sleep (`asleep`), so that a client rings its bell only then. */
#ifndef TIDE_SERVICE_RING_H
#define TIDE_SERVICE_RING_H

#include "base/atomic.h"
#include "service/wire.h"

struct tide_ring_shared {
  uint64_t written; /* by the client: cells since the beginning */
  uint64_t pad[7];
  uint64_t read; /* by the service */
  uint32_t asleep;
  uint32_t pad2[13];
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

/* ---- the service ---- */

/* The next record, copied. TIDE_TIMEOUT: there is none. TIDE_CORRUPT: the writer has broken the
 * framing; nothing in the ring can be believed any more. */
enum tide_status tide_ring_read(struct tide_ring *ring, struct tide_wire_record *out_record,
                                uint32_t *out_cells);
/* How far the writer says it has come: a number to be bounded, not believed. */
uint64_t tide_ring_written(const struct tide_ring *ring);
/* The reader will sleep. False: there is something to be read after all. */
bool tide_ring_sleep(struct tide_ring *ring);

#endif
