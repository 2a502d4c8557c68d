/* wic/tags.h: tag pages: a store is a signal.
 *
 *      FREE --arm--> ARMING --closed--> ARMED --a store is stopped--> FIRING --signalled, opened-->
 * FIRED ^                                 | |
 *       +--disarm-------------------------+---------------disarm, once the store has come
 * through----+
 *
 * (FIRED goes to ARMING again, too.) A page that is closed holds 0, so who reads something else
 * there knows that the store has come through.
 *
 * The medium's lock is over all of it; no system call under that. */
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

/* A page. */
struct tide_tag_cell {
  struct tide_tag tag; /* its timeline is held while it is armed */
  uint64_t doubted;    /* the round whose faults may be older than the arming */
  uint32_t state, status;
  uint32_t next; /* free */
  bool open;     /* stores go through */
};

struct tide_tags {
  struct tide_guard guard;
  struct tide_tag_cell *cells;
  uint32_t count, free_first;
  /* The monitor's turns here. A store that is stopped and gets a signal is stopped again when its
   * handler is through: so of two faults that were taken together the second may be an old one, of
   * a store that has come through since. One that is older than the arming is not believed, but
   * told to try again. */
  uint64_t round;
  bool serving;
};

struct tide_medium;

/* None when `count` is 0. */
enum tide_status tide_tags_make(struct tide_medium *medium, uint32_t count);
/* The monitor has ended. */
void tide_tags_unmake(struct tide_medium *medium);
/* By the monitor: stores that were stopped are signals. Holds nothing. */
void tide_tags_serve(struct tide_medium *medium);

#endif
