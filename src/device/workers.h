/* device/workers.h: threads that serve one device.
 *
 * The backend is `sequential`: each gets one operation at a time, so that none
 * holds back what another could run, or several non-blocking ones, as many as take some
 * microseconds. A worker that finds nothing *rests*: it
 * joins the list of those at rest, spins for a while, then sleeps. `workers_call` wakes one of
 * them. When nobody rests, the call is remembered, and whoever is about to rest next looks once
 * more instead; so no call is lost, and none wakes more than one thread. */
#ifndef TIDE_DEVICE_WORKERS_H
#define TIDE_DEVICE_WORKERS_H

#include "base/body_frame.h"
#include "base/lock.h"
#include "device/ask.h"

typedef enum tide_status (*tide_worker_run)(const struct tide_body_class *body, void *arguments);

/* Of a pool whose work may go elsewhere. True: the work is done and to be handed back; false: it
 * will be handed back by another thread. */
typedef bool (*tide_worker_take)(void *self, struct tide_work *work);

struct tide_worker {
  struct tide_workers *pool;
  struct tide_thread *thread;
  struct tide_worker *next_resting; /* guarded by the pool's lock */
  uint32_t state;                   /* atomic, waited on: enum rest_state */
  size_t count;                     /* its own: operations at hand */
  size_t gathered;                  /* its own: how many operations came last */
  uint64_t gather;                  /* its own: ns to let operations come together */
  uint64_t spin;                    /* its own: how long it spins next time, ns */
  uint32_t alone, try_after;    /* its own: exchanges that brought one, and how many to try again */
  size_t at_once;               /* its own: how many operations it takes next, at most */
  bool asks;                    /* its own: for the next exchange */
  struct tide_asker asker;      /* … and what it has at hand */
  struct tide_body_frame frame; /* its own: of the body that it runs */
} __attribute__((aligned(64)));

struct tide_workers {
  const struct tide_context *context;
  struct tide_device *device;
  tide_worker_run run;
  tide_worker_take take; /* in the place of run, if not NULL; set between init and start */
  void *take_self;
  uint64_t spin_most; /* ns */
  size_t at_once;     /* operations that a thread takes, at most */
  bool asks;          /* for non-blocking operations: see device/ask.h */
  uint32_t count;     /* threads that were started */
  struct tide_lock lock;
  struct tide_worker *resting; /* the last to come is the first to go */
  bool called;                 /* somebody called and nobody rested */
  bool stop;
  struct tide_worker *workers;
  uint32_t capacity;
};

/* `count` threads, which start with tide_workers_start. TIDE_NOMEM. */
enum tide_status tide_workers_init(struct tide_workers *pool, const struct tide_context *context,
                                   uint32_t count, size_t at_once, uint64_t spin_most,
                                   tide_worker_run run);
enum tide_status tide_workers_start(struct tide_workers *pool, struct tide_device *device,
                                    const char *name);
/* There is work: lets one more worker look. Any thread, also before the start. */
void tide_workers_call(struct tide_workers *pool);
/* Joins the threads. */
void tide_workers_stop(struct tide_workers *pool);
void tide_workers_fini(struct tide_workers *pool);

#endif
