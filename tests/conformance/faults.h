/* Faults on demand between the file device and the system. The programs of this folder are linked
 * so that its calls (see meson.build) come through faults.c first, which hands them on, spoilt as
 * planned. Whatever is spoilt, the kernel has done what the answer says. */
#ifndef TESTS_CONFORMANCE_FAULTS_H
#define TESTS_CONFORMANCE_FAULTS_H

#include <stdint.h>

enum fault {
  FAULT_REFUSE,    /* of submits: nothing is done, and error `what` is the answer */
  FAULT_INTERRUPT, /* of submits: all is submitted, nothing waited for, error `what` */
  FAULT_RESULT,    /* of transfers: it ends with error `what` (it may have happened all the same) */
  FAULT_SHORT,     /* of transfers: at most `what` bytes at a time */
  FAULT_OVERFLOW,  /* of submits: what completes finds the completion queue full */
  FAULT_HANG,      /* of transfers: the kernel has it, and does not end it before faults_release */
  FAULT_COUNT
};

/* The next `times` times. Any thread. */
void faults_plan(enum fault fault, uint32_t times, uint32_t what);
/* How many of them are still to come. */
uint32_t faults_left(enum fault fault);
/* Ends those that hang: through the ring they move one byte. */
void faults_release(void);
/* Transfers that the ring has given to the kernel, so far. Any thread. */
uint32_t faults_ring_transfers(void);
/* Closes what hanging took, once all of it is over. */
void faults_end(void);

#endif
