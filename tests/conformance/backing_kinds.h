/* What the conformance cases of backings stand on: one timeline, opened on a backing of any kind,
 * whose values come when the test says so. */
#ifndef TESTS_CONFORMANCE_BACKING_KINDS_H
#define TESTS_CONFORMANCE_BACKING_KINDS_H

#include "unit/fake_device.h"

#define LINE_MOST 8u /* the highest value that a case uses */

struct line;

/* A row of the table in timeline/value_ops.h, and how the values come about. */
struct line_kind {
  const char *name;
  void (*open)(struct line *line);
  /* Promises all values up to this one; NULL: nothing tells of them before. */
  void (*promise)(struct line *line, uint64_t value);
  /* Returns when the value is reached, and no later one. */
  void (*bring)(struct line *line, uint64_t value);
  /* Fails a value, the lowest that is not reached. */
  void (*fail)(struct line *line, uint64_t value);
  void (*end)(struct line *line); /* what `open` has made, but for line->timeline; NULL: nothing */

  enum tide_scope scope;
  enum tide_status unpromised; /* of a wait that does not block */
  enum tide_status failed;     /* of a failed value */
  bool fails_alone;
  bool fails_promises; /* a value fails though it was promised */
  bool fails_by_hosts;
  bool is_released; /* with the last owner go the values that are not reached */
  enum tide_status host_signal, operation_signal, operation_wait;
  bool is_tracked;     /* the records have a signaller */
  const char *awaited; /* what a diagnosis says of a promised value; NULL: its number alone */
};

extern const struct line_kind line_kinds[];
extern const size_t line_kind_count;

struct line {
  const struct line_kind *kind;
  struct fake f;                  /* without a sink: a thread may signal */
  struct tide_timeline *timeline; /* the case is an owner, until line_release */
  struct tide_queue *giver;       /* signals the line, or is it */
  uint64_t promised, reached;
  struct tide_points *points;
  struct tide_client *client;
  struct tide_future *future;
  struct tide_device *gpu;
  void *semaphore;
};

/* Opens the kind that the case was given. */
void line_open(struct line *line);
void line_close(struct line *line);
/* Releases the case's owner, and what else the user of this kind releases. */
void line_release(struct line *line);
/* Promises the values up to this one, if a wait for it would fail at once. */
void line_allow(struct line *line, uint64_t value);
void line_promise(struct line *line, uint64_t value);
void line_bring(struct line *line, uint64_t value);

#endif
