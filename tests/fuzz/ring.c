/* The ring: a good writer's records come out as they went in, in order; and whatever a bad one
 * writes into the shared memory, the reader stays within it.
 *
 * The input is a row of steps, two bytes each: write a record of some cells, read one, go to sleep,
 * or (from then on nothing need be true but that all ends) change a byte of the shared memory. */
#include "base/check.h"
#include "base/alloc.h"
#include "service/command_ring.h"

#include <stdlib.h>

#define SIZE 128u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
  struct tide_ring writer, reader;
  uint64_t written, read;
  uint64_t cells[SIZE]; /* of those that are in the ring, by number */
  bool spoilt;
};

static void write_one(struct world *w, unsigned text) {
  struct tide_wire_record record = {.command = {.op = TIDE_WIRE_PROMISE, .value = w->written + 1}};
  record.command.text_size = text * 15;
  memset(record.bytes + sizeof record.command, (int)(w->written & 255), text * 15);
  bool asleep;
  uint32_t cells = tide_wire_cells(&record.command);
  enum tide_status status = tide_ring_write(&w->writer, &record, &asleep);
  if (w->spoilt) return;
  TIDE_ASSERT(status == TIDE_OK || status == TIDE_FULL);
  if (status == TIDE_FULL) return;
  w->cells[w->written % SIZE] = cells;
  w->written++;
}

static void read_one(struct world *w) {
  struct tide_wire_record record;
  struct tide_wire_view view;
  uint32_t cells;
  enum tide_status status = tide_ring_read(&w->reader, &record, &cells);
  TIDE_ASSERT(status == TIDE_OK || status == TIDE_TIMEOUT || status == TIDE_CORRUPT);
  if (status == TIDE_OK) {
    TIDE_ASSERT(cells >= 1 && cells <= TIDE_WIRE_CELLS);
    enum tide_status opened = tide_wire_open(&record, cells, &view);
    TIDE_ASSERT(w->spoilt || opened == TIDE_OK);
  }
  if (w->spoilt) return;
  TIDE_ASSERT((status == TIDE_OK) == (w->read < w->written));
  if (status != TIDE_OK) return;
  TIDE_ASSERT(record.command.value == w->read + 1 && cells == w->cells[w->read % SIZE]);
  for (uint32_t i = 0; i < record.command.text_size; i++)
    TIDE_ASSERT(record.bytes[sizeof record.command + i] == (w->read & 255));
  w->read++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct tide_ring_shared *shared = aligned_alloc(64, tide_ring_bytes(SIZE));
  memset(shared, 0, tide_ring_bytes(SIZE));
  struct world w = {.writer = {shared, SIZE, 0}, .reader = {shared, SIZE, 0}};
  for (size_t i = 0; i + 1 < size; i += 2) {
    switch (data[i] & 3) {
      case 0: write_one(&w, data[i + 1]); break;
      case 1: read_one(&w); break;
      case 2: {
        bool slept = tide_ring_sleep(&w.reader);
        TIDE_ASSERT(w.spoilt || slept == (w.read == w.written));
        break;
      }
      default: {
        size_t at = ((size_t)data[i] >> 2) * 131 + (size_t)data[i + 1] * 8;
        ((unsigned char *)shared)[at % tide_ring_bytes(SIZE)] = (unsigned char)(data[i + 1] * 37);
        w.spoilt = true;
      }
    }
  }
  free(shared);
  return 0;
}
