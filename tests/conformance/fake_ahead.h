/* A device that runs ahead: hardware queues, played by threads.
 *
 * A submitting thread exchanges, records and submits. A hardware thread starts the submissions of
 * each hardware queue in order, as their barriers and native waits allow, overlaps them, and ends
 * them in a random order. The submitting thread sleeps until the awaited end, or until a kick.
 * Devices of one group wait for each other's submissions. */
#ifndef TESTS_CONFORMANCE_FAKE_AHEAD_H
#define TESTS_CONFORMANCE_FAKE_AHEAD_H

#include "tidemark/backend.h"

#include <pthread.h>

/* What the devices of one group share. */
struct fake_group {
  pthread_mutex_t lock;
  pthread_cond_t changed; /* a submission, an end, a release */
};
#define FAKE_GROUP                                                                                 \
  { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER }

struct fake_ahead_params {
  uint32_t ahead, hardware_queues; /* 0: 8; 0: 2 */
  bool out_of_order, keep_on_host;
  uint64_t seed;
  struct fake_group *group; /* NULL: one of its own */
  /* Returns the status of recording; not TIDE_OK: the body fails. NULL: it never does. */
  enum tide_status (*record)(const struct tide_work *work);
};

struct fake_ahead;

/* Opens a device, which owns the fake. */
struct fake_ahead *fake_ahead_open(struct tide_context *context,
                                   const struct fake_ahead_params *params,
                                   struct tide_device **out_device);
/* Held hardware starts nothing. */
void fake_ahead_hold(struct fake_ahead *fake, bool held);
/* Blocks until the submitting thread sleeps, with all submitted that could be. */
void fake_ahead_rest(struct fake_ahead *fake);
/* Returns how often the submitting thread has woken. */
uint64_t fake_ahead_wakes(struct fake_ahead *fake);
/* Loses the device: submissions that are out never end. `fake_ahead_certify` follows. */
void fake_ahead_lose(struct fake_ahead *fake);
void fake_ahead_certify(struct fake_ahead *fake);

#endif
