/* sched/device_state.h: a device, from the scheduler's side: its ready queues and its backend. */
#ifndef TIDE_SCHED_DEVICE_STATE_H
#define TIDE_SCHED_DEVICE_STATE_H

#include "base/list.h"
#include "sched/ready.h"
#include "tidemark/backend.h"
#include "timeline/timeline_state.h"

#define TIDE_CALLS_AWAITED 0x80000000u /* a thread is parked until `calls` is 0 */

struct tide_device {
  struct tide_sched *sched;
  const struct tide_backend *backend; /* `own` */
  struct tide_backend own;
  struct tide_link in_sched;
  struct tide_link queues;
  struct tide_ahead_device *ahead; /* NULL: the host keeps all waits */
  uint32_t dry;        /* exchanges that returned less than requested, without a kick since */
  bool exchanging;     /* an exchange is running and takes new ready work: no kick */
  bool kick_due;       /* listed in sched->kicks */
  uint32_t cancel_due; /* atomic: the backend's `cancel` is due */
  struct tide_device *next_kick;
  uint32_t calls; /* atomic, waited on: kicks in progress without the lock, | TIDE_CALLS_AWAITED */
  enum tide_status lost;
  struct tide_cause *cause; /* cause of the loss; NULL: none, or no memory */
  bool certified;
  uint32_t users; /* atomic, waited on: queues not yet freed, and submissions of other devices that
                     wait for this one's */
  struct tide_ready ready; /* not of a device that runs ahead: see tide_hardware_queue */
  char label[TIDE_LABEL_SIZE];
};

#endif
