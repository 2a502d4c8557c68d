/* wic/stall.h: page faults in a medium for fibers. The faulting thread gets SIGBUS and stalls
 * itself in the handler. */
#ifndef TIDE_WIC_STALL_H
#define TIDE_WIC_STALL_H

#include "wic/medium.h"

/* Handles a fault on this page in the signal handler; returns when the load must be retried. */
void tide_stall_here(struct tide_medium *medium, size_t page, void *context);
/* Routes the faults in the medium's region to it from now on. TIDE_FULL: too many media. */
enum tide_status tide_stall_open(struct tide_medium *medium);
/* Ends the routing. No thread may load from the region any more. */
void tide_stall_close(struct tide_medium *medium);

/* The fibers and threads that are stalled on a message. */
struct tide_stalled;
struct tide_stalls {
  struct tide_stalled *fibers;
  bool threads; /* true if plain threads are stalled, too */
};
/* Takes the stalled fibers and threads off the message. The caller holds the lock. */
struct tide_stalls tide_stall_take(struct tide_message *message);
/* Wakes them. The caller holds a reference to the message, and not the lock. */
void tide_stall_end(struct tide_message *message, struct tide_stalls stalls);

#endif
