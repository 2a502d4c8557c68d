/* device/workers.h: threads that serve one device.
 *
 * The backend is `sequential`: each gets one operation at a time, so that none
 * holds back what another could run, or several brief ones. A worker that finds nothing *rests*: it
 * joins the list of those at rest, spins for a while, then sleeps. `workers_call` wakes one of
 * them. When nobody rests, the call is remembered, and whoever is about to rest next looks once
 * more instead; so no call is lost, and none wakes more than one thread. */
#ifndef TIDE_DEVICE_WORKERS_H
#define TIDE_DEVICE_WORKERS_H

#include "base/lock.h"
#include "tidemark/backend.h"

struct tide_worker {
  struct tide_workers *pool;
  struct tide_thread *thread;
  struct tide_worker *next_resting; /* guarded by the pool's lock */
  uint32_t state;                   /* atomic, waited on: enum rest_state */
  size_t gathered;                  /* its own: how many operations came last */
  uint64_t gather;                  /* its own: ns to let operations come together */
  uint64_t spin;                    /* its own: how long it spins next time, ns */
} __attribute__((aligned(64)));

struct tide_workers {
  const struct tide_context *context;
  struct tide_device *device;
  enum tide_status (*run)(struct tide_work *work);
  uint64_t spin_most; /* ns */
  size_t at_once;     /* operations that a thread takes, at most */
  uint32_t count;     /* threads that were started */
  struct tide_lock lock;
  struct tide_worker *resting; /* the last to come is the first to go */
  bool called;                 /* somebody called and nobody rested */
  bool stop;
  struct tide_worker *workers;
  uint32_t capacity;
};

#define TIDE_AT_ONCE_MAX 16 /* brief operations take less than waking another thread */

/* `count` threads, which start with tide_workers_start. TIDE_NOMEM. */
enum tide_status tide_workers_init(struct tide_workers *pool, const struct tide_context *context,
                                   uint32_t count, size_t at_once, uint64_t spin_most,
                                   enum tide_status (*run)(struct tide_work *work));
enum tide_status tide_workers_start(struct tide_workers *pool, struct tide_device *device,
                                    const char *name);
/* There is work: lets one more worker look. Any thread, also before the start. */
void tide_workers_call(struct tide_workers *pool);
/* Joins the threads. */
void tide_workers_stop(struct tide_workers *pool);
void tide_workers_fini(struct tide_workers *pool);

#endif
