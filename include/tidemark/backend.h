/* tidemark/backend.h: what a device must do, to bring an executor of your own.
 *
 * The model. The scheduler decides *what may start*; a backend decides when it has
 * hands free, takes work, does it, and hands it back. There is one call for both
 * directions, tide_device_exchange: "these are done; give me up to n that may
 * start". It never blocks and costs one lock.
 *
 *      for (;;) {
 *        n = tide_device_exchange(device, done, n_done, work, MOST);
 *        if (n == 0) sleep until `kick` was called;
 *        do the work, in any order, in parallel or not
 *      }
 *
 * `kick` is called, without a lock, when work became ready after an exchange had
 * come back with less than was asked for: one kick a dry exchange, `hands` of them
 * at most. Work that becomes ready *by* an exchange is not kicked for: `*out_more` tells
 * of it, and a backend with several hands then calls another one itself. So a backend
 * that wakes one thread a kick wakes as rarely as possible.
 *
 * Order. A queue hands out its operations one after the other. On an *in-order*
 * device the next operation of a queue may start only when the one before is
 * done (the scheduler sees to it, or a *sequential* backend). On others several operations of one
 * queue run at once and may be done in any order; the scheduler publishes them in order all the
 * same.
 *
 * A backend never sees an operation that failed before it started: the scheduler skips its body.
 *
 * Cancellation. An operation that is out when its queue is destroyed, or that tide_queue_cancel
 * names, fails with TIDE_CANCELLED towards its waiters at once if the backend has `cancel`. The
 * backend is told by a call of it, asks tide_work_is_cancelled of what it has, ends those early
 * where it can, and hands them back like any other work. Their memory stays theirs until then.
 *
 * Memory order: what a body wrote is visible to whatever starts later than the exchange that
 * reported it done. A backend that hands work to other hardware makes that so.
 *
 * Source: docs/architecture.md.
 */
#ifndef TIDEMARK_BACKEND_H
#define TIDEMARK_BACKEND_H

#include "tidemark/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One operation to do. Belongs to the backend from the exchange that gave it until the one that
 * hands it back. */
struct tide_work {
  const struct tide_body_class *body; /* NULL: nothing to run, just hand it back */
  uint64_t epoch;                     /* on its queue's axis */
  union {
    unsigned char few[16];
    void *many;
  } arguments;             /* see tide_work_arguments */
  enum tide_status status; /* the backend sets it before handing back; TIDE_OK as given */
  unsigned number : 30;    /* of what tide_queue_submit gave the lower bits */
  unsigned labelled : 1;   /* see tide_work_label */
  unsigned has_many : 1;   /* arguments */
};

/* What the body gets: TIDE_ARGUMENTS_MAX bytes at most, aligned for anything. It stays there until
 * the work is handed back. */
static inline void *tide_work_arguments(const struct tide_work *work) {
  return work->has_many ? work->arguments.many : (void *)(uintptr_t)work->arguments.few;
}
/* Its queue's. Any thread that has the work, like the next one. */
TIDE_API tide_axis tide_work_axis(const struct tide_work *work);
/* True if the result is no longer wanted: the queue was destroyed, or the operation cancelled, or
 * the device lost. Takes the scheduler's lock. */
TIDE_API bool tide_work_is_cancelled(const struct tide_work *work);
/* "" when none was given. It stays there until the work is handed back. */
TIDE_API const char *tide_work_label(const struct tide_work *work);

/* Says why a work has failed, before it is handed back: sets work->status to why->status (TIDE_OK:
 * to TIDE_FAILED), and keeps code and text for those who ask (tide_timeline_failure). The scheduler
 * adds the labels. Whichever thread has the work; a backend that sets the status alone says less.
 * Without memory the status alone is kept. */
TIDE_API void tide_work_fail(struct tide_work *work, const struct tide_failure *why);

struct tide_backend {
  const char *name;
  bool in_order; /* operations of one queue complete in order */
  /* What one exchange gave is done by one hand, one after the other in the order given, and handed
   * back in that order. Then several *non-blocking* operations may come at once, on an in-order
   * device also of one queue. Such a backend asks for as many as it would do before it looks again.
   * Where a sink wants times, one comes at a time. */
  bool sequential;
  uint32_t hands;          /* threads that may sleep for a kick at the same time; 0: 1 */
  enum tide_domain domain; /* of its queues' axes: TIDE_DOMAIN_QUEUE or TIDE_DOMAIN_STORAGE … */
  /* Can it do this class? Asked at submit: TIDE_UNSUPPORTED otherwise. NULL: whatever has a host
   * function. */
  bool (*takes)(void *self, const struct tide_body_class *body);
  /* There is work again. Any thread, no lock held; may be called after an exchange found it
   * already. NULL: no thread sleeps for work. */
  void (*kick)(void *self);
  void *self;
  /* Work that is out was cancelled: see tide_work_is_cancelled. Any thread, no lock held. NULL:
   * running work runs to its end. */
  void (*cancel)(void *self);
  /* Called by tide_device_open: starts the executor's threads, which exchange with `device`. An
   * error is open's answer; then `stop` is not called. NULL: nothing to start. */
  enum tide_status (*start)(void *self, struct tide_device *device);
  /* Called by tide_device_close after the last work was handed back and the last kick returned:
   * joins the executor's threads, and frees what `self` owns. NULL: nothing to stop. */
  void (*stop)(void *self);
};

/* Opens a device on a backend, which is copied; `self` outlives the device. The label is copied,
 * cut at 31 bytes; NULL: none. TIDE_NOMEM; the status of `start`. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_device_open(struct tide_context *context,
                                                           const struct tide_backend *backend,
                                                           const char *label,
                                                           struct tide_device **out_device);
/* The device's copy, and its context. They live as long as the device. */
TIDE_API const struct tide_backend *tide_device_backend(const struct tide_device *device);
/* See tide_device_backend. */
TIDE_API struct tide_context *tide_device_context(const struct tide_device *device);

/* Hands back `done_count` works and takes up to `most` that may start. Returns how many; *out_more
 * (may be NULL) says whether more could start right now. `done` and `out_work` may be one array. */
TIDE_API size_t tide_device_exchange(struct tide_device *device, struct tide_work *const *done,
                                     size_t done_count, struct tide_work **out_work, size_t most,
                                     bool *out_more);

/* The device is lost: everything unfinished fails with `status`, at once for those who wait on the
 * host (a queue's progress fails once the device is certified). What is out is not handed back any
 * more. Nothing counts as finished, and no memory is reused, before certify. */
TIDE_API void tide_device_lose(struct tide_device *device, enum tide_status status);
/* Loses the device with why->status, and keeps its code and text as the cause of all that fails. */
TIDE_API void tide_device_lose_for(struct tide_device *device, const struct tide_failure *why);
/* The backend's word that nothing of a lost device can touch memory any more. */
TIDE_API void tide_device_certify(struct tide_device *device);

#ifdef __cplusplus
}
#endif
#endif
