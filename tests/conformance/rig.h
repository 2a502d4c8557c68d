/* What the conformance cases stand on: one device of any kind, and operations whose effect can be
 * seen.
 *
 * An operation's effect is one 64-bit cell that gets the operation's own number: a host body stores
 * it, a storage device reads it from a file in which word n is n. So the same cases run everywhere.
 */
#ifndef TESTS_CONFORMANCE_RIG_H
#define TESTS_CONFORMANCE_RIG_H

#include "harness.h"

#include "base/atomic.h"
#include "tidemark/cpu.h"
#include "tidemark/file.h"
#include "tidemark/sim.h"

struct rig;

struct rig_kind {
  const char *name;
  bool in_order;
  bool host;       /* runs host functions: cases may rely on when exactly a body starts and ends */
  uint32_t number; /* workers, or the depth */
  void (*open)(struct rig *rig); /* sets rig->device */
  bool alone;                    /* on a clock whose time is made up: there is one thread */
  bool ahead; /* the host may see a value after an operation that waits for it has started */
};

struct rig {
  const struct rig_kind *kind;
  struct tide_clock *clock; /* alone */
  struct tide_context *context;
  struct tide_device *device;
  struct gpu *gpu;             /* of a CUDA device; else NULL */
  struct vulkan_cells *vulkan; /* of a Vulkan device; else NULL */
  int words;                   /* word n of this file is n */
};

extern const struct rig_kind rig_kinds[];
extern const size_t rig_kind_count;

/* Does test_main. A case whose name begins with a kind's, as in ring_NAME, is given that kind. */
int rig_main(int argc, char **argv, struct test_case *cases, size_t count);

void rig_open(struct rig *rig, const struct rig_kind *kind);
/* All queues were destroyed. */
void rig_close(struct rig *rig);
/* Opens a file in memory again, so that the ring gives all its transfers to the kernel, as those of
 * a disk. Closes the first descriptor. */
int rig_synchronous(int file);
/* An absolute time, that many milliseconds (scaled for sanitizers) from now. */
uint64_t rig_later(unsigned milliseconds);
struct tide_queue *rig_queue(struct rig *rig, const char *label, uint32_t capacity);
struct tide_timeline *rig_timeline(struct rig *rig, const char *label);

#define RIG_WORDS 200000u /* in the file: the largest number is one less */

/* In order, one at a time: what a queue's operations must be on an in-order device. */
struct lane {
  uint32_t running;
  uint64_t last;
};

/* What must be true when an operation starts. */
struct cell_check {
  struct tide_timeline *timeline; /* NULL: none */
  uint64_t value;
  const uint64_t *cell; /* plain memory, written by whoever signalled that value; NULL: none */
  uint64_t number;      /* at least this is in it */
};

struct cell {
  struct rig *rig;
  uint64_t *cell; /* NULL: no effect */
  uint64_t number;
  struct lane *lane;   /* with host bodies on in-order devices; NULL: don't look */
  uint64_t lane_place; /* 1, 2, 3 … */
  enum tide_status answer;
  uint32_t *started; /* atomic counter; may be NULL */
  struct cell_check checks[2];
};

/* The class whose ops fit the device of cell->rig. */
const struct tide_body_class *cell_class(const struct cell *cell);

/* Submits, and waits for room when there is none. */
void cell_submit(struct tide_queue *queue, const struct cell *cell, const struct tide_wait *waits,
                 size_t wait_count, struct tide_timeline *timeline, uint64_t value);

#endif
