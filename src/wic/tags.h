/* wic/tags.h: tag pages, on which a store is a signal.
 *
 *   FREE --arm--> ARMING --closed--> ARMED --fault--> FIRING --signalled, opened--> FIRED
 *    ^                                 |                                              |
 *    +-------------disarm--------------+-----disarm, once the store came through------+
 *
 * FIRED also goes to ARMING again. A closed page holds 0, so any other value there shows that the
 * store has come through.
 *
 * The medium's lock guards all of it; no system call is made under the lock. */
#ifndef TIDE_WIC_TAGS_H
#define TIDE_WIC_TAGS_H

#include "tidemark/wic.h"
#include "wic/guard.h"

enum tide_cell_state {
  TIDE_CELL_FREE,
  TIDE_CELL_ARMING,
  TIDE_CELL_ARMED,
  TIDE_CELL_FIRING,
  TIDE_CELL_FIRED
};

/* The state of one tag page. */
struct tide_tag_cell {
  struct tide_tag tag; /* holds a reference to its timeline while armed */
  uint64_t doubted;    /* faults of this round may be older than the arming */
  uint32_t state, status;
  uint32_t next; /* the next free cell */
  bool open;     /* stores go through */
};

struct tide_tags {
  struct tide_guard guard;
  struct tide_tag_cell *cells;
  uint32_t count, free_first;
  /* The number of times that the monitor has served the tags. After a signal handler, a stopped
   * store faults again. So of two faults read together, the second may be an old one, of a store
   * that has come through since. A fault that may be older than the arming is not acted on: its
   * thread is woken to retry the store. */
  uint64_t round;
  bool serving;
};

struct tide_medium;

/* Makes the tag pages; none when `count` is 0. */
enum tide_status tide_tags_make(struct tide_medium *medium, uint32_t count);
/* Frees the tag pages. The monitor has ended. */
void tide_tags_unmake(struct tide_medium *medium);
/* Handles the stopped stores as signals. Called by the monitor, without locks. */
void tide_tags_serve(struct tide_medium *medium);

#endif
