/* device/workers.h: threads that serve one device.
 *
 * The backend is `sequential`: each worker takes one operation at a time, so that none holds back
 * operations that another could run, or as many non-blocking ones as run within some microseconds.
 * A worker without work joins the list of parked workers, spins for a while, then sleeps.
 * tide_workers_call wakes one of them. If none is parked, the call is stored, and the next worker
 * looks for work again instead of parking. So no call is lost, and none wakes two threads.
 *
 * A worker of a pool that fills the cores helps: when the end of a long operation makes works of
 * another device ready, that device may leave one to this thread, which runs it before it takes its
 * next operation (see lend.h). It takes no second one meanwhile. */
#ifndef TIDE_DEVICE_WORKERS_H
#define TIDE_DEVICE_WORKERS_H

#include "base/body_frame.h"
#include "base/lock.h"
#include "device/combine.h"

typedef enum tide_status (*tide_worker_run)(const struct tide_body_class *body, void *arguments);

/* Takes a work in place of running it. True if the work is done and the worker must return it;
 * false if another thread will. */
typedef bool (*tide_worker_take)(void *self, struct tide_work *work);

/* A work that another device leaves to a worker. */
struct tide_helper {
  void (*help)(void *self, struct tide_helper *helper); /* also runs the works that follow */
  void *self;
  struct tide_work *work; /* NULL: none */
};

struct tide_worker {
  struct tide_workers *pool;
  struct tide_thread *thread;
  struct tide_worker *next_parked;    /* guarded by the pool's lock */
  uint32_t state;                     /* atomic, waited on: enum park_state */
  size_t count;                       /* private: works to return at the next exchange */
  size_t gathered;                    /* private: works of the last exchange */
  uint64_t gather;                    /* private: delay of the next exchange, ns */
  uint64_t spin;                      /* private: duration of the next spin, ns */
  uint32_t alone, try_after;          /* private: exchanges with one work; how many until a probe */
  size_t at_once;                     /* private: limit of the next exchange */
  bool asks;                          /* private: the next exchange is posted for a combiner */
  struct tide_combiner_client client; /* private, with the works at hand */
  struct tide_body_frame frame;       /* private: of the running body */
  struct tide_helper helper;          /* private: offered between two operations */
} __attribute__((aligned(64)));

struct tide_workers {
  struct tide_context *context;
  struct tide_device *device;
  tide_worker_run run;
  tide_worker_take take; /* used instead of `run` if not NULL; set between init and start */
  void *take_self;
  uint64_t spin_most; /* ns */
  size_t at_once;     /* limit of one exchange */
  bool asks;          /* flat combining is used: see device/combine.h */
  bool helps;         /* the workers fill the cores */
  uint32_t count;     /* started threads */
  struct tide_lock lock;
  struct tide_worker *parked; /* atomic: parked workers, last in first out */
  bool called;                /* a call came while no worker was parked */
  bool stop;
  struct tide_worker *workers;
  uint32_t capacity;
};

/* Prepares `count` threads, which tide_workers_start starts. TIDE_NOMEM. */
enum tide_status tide_workers_init(struct tide_workers *pool, struct tide_context *context,
                                   uint32_t count, size_t at_once, uint64_t spin_most,
                                   tide_worker_run run);
/* Starts the threads, for `device`. On failure none is left running; returns spawn's error. */
enum tide_status tide_workers_start(struct tide_workers *pool, struct tide_device *device,
                                    const char *name);
/* Wakes one parked worker, or makes the next one to park look again. From any thread, also before
 * the start. */
void tide_workers_call(struct tide_workers *pool);
/* Returns the calling thread's helper, which has no work, if that thread is a worker that helps,
 * and has just returned an operation. Else NULL. */
struct tide_helper *tide_workers_helper(void);
/* True if another worker of the helper's pool is parked. */
bool tide_workers_are_idle(const struct tide_helper *helper);
/* Stops and joins the threads. */
void tide_workers_stop(struct tide_workers *pool);
void tide_workers_fini(struct tide_workers *pool);

#endif
