/* wic/stall.h: who faults in a medium for fibers gets a signal, and stalls itself. */
#ifndef TIDE_WIC_STALL_H
#define TIDE_WIC_STALL_H

#include "wic/medium.h"

/* What a load of this page does, in its signal's handler: returns when it is to be done again. */
void tide_stall_here(struct tide_medium *medium, size_t page, void *context);
/* From now on faults in its region are this medium's. TIDE_FULL: too many media. */
enum tide_status tide_stall_open(struct tide_medium *medium);
/* Nobody loads from it any more. */
void tide_stall_close(struct tide_medium *medium);

/* Those that are stalled on a message. */
struct tide_stalled;
struct tide_stalls {
  struct tide_stalled *fibers;
  bool threads; /* plain threads, too */
};
/* Under the lock: taken off. */
struct tide_stalls tide_stall_take(struct tide_message *message);
/* They go on. Without the lock, by one who holds the message. */
void tide_stall_end(struct tide_message *message, struct tide_stalls stalls);

#endif
