/* tidemark/backend.h: the interface between the scheduler and an executor of your own.
 *
 * The model. The scheduler decides *which operations may start*. A backend decides when it has a
 * free hand; it then takes work, executes it, and returns it. One call serves both directions,
 * tide_device_exchange: "these are done; give me up to n that may start". It never blocks and costs
 * one lock.
 *
 *      for (;;) {
 *        n = tide_device_exchange(device, done, n_done, work, MOST);
 *        if (n == 0) sleep until `kick` was called;
 *        do the work, in any order, in parallel or not
 *      }
 *
 * `kick` is called, without a lock, when work becomes ready after an exchange that returned less
 * than was requested: once per such exchange, and at most `hands` times. Work that becomes ready
 * *by* an exchange causes no kick: `*out_more` reports it, and a backend with several hands then
 * wakes another one itself. So a backend that wakes one thread per kick wakes as few threads as
 * possible.
 *
 * Order. A queue hands out its operations one after the other. On an *in-order* device the next
 * operation of a queue may start only when the previous one is done; the scheduler enforces this,
 * or a *sequential* backend does. On other devices several operations of one queue run at once, and
 * may be done in any order. The scheduler publishes them in order all the same.
 *
 * A backend never sees an operation that failed before it started: the scheduler skips its body.
 *
 * Cancellation. Take an operation that the backend has taken, when its queue is destroyed or
 * tide_queue_cancel names it. If the backend has `cancel`, the operation's waiters get
 * TIDE_CANCELLED at once. `cancel` is called; the backend then checks its work with
 * tide_work_is_cancelled, ends cancelled work early where it can, and returns it like any other
 * work. The memory of such work stays in use until then.
 *
 * Running ahead. A backend with `ahead` gets operations *before they may start*, and the device
 * keeps the waits that remain. The device has *hardware queues*; each queue uses one of them for
 * life. A hardware queue starts its submissions in the order of their numbers, may overlap them,
 * and a wait of one holds back all behind it. A work goes through these states:
 *
 *     given     an exchange has returned it; the backend records it
 *     out       the backend has returned it with TIDE_OK: its native submit has succeeded
 *     refused   ... with another status: nothing of it is on the device; the operation fails
 *     over      tide_device_over: its submission, and all before on the hardware queue, have ended
 *
 * tide_work_submission describes a given work: its number on its hardware queue, from 1, and its
 * waits. These order execution and memory: all that the awaited submissions wrote, or had to see,
 * is visible to this one and to all later ones of its hardware queue. So a wait that is over
 * already must be submitted all the same. A barrier is a wait, too: for all earlier submissions of
 * the hardware queue, and before all later ones. Only submissions that are out are waited for, so
 * nothing depends on a work that is given and may still be refused. The numbers of refused works
 * are never used.
 *
 * At most `ahead` submissions of all queues of a hardware queue together are given or out and not
 * over; of one queue, and not published. Their numbers may span more, as those of refused works lie
 * between. Hardware queues with room take turns; within one, priorities decide.
 *
 * One thread at a time records and submits for a device, and returns the works in the order of the
 * exchanges. Arguments that the execution needs are copied: with its return a work's memory is the
 * scheduler's again, and with tide_device_certify that of all works of a lost device. A body that
 * has failed with some of its commands on the device already: tide_work_fail, then return it with
 * status TIDE_OK as out. A work without a body is an empty submission, with its waits.
 *
 * tide_device_awaited returns the submission that some waiter needs the end of, and without
 * one the newest that is out. So a host that only polls may see a value late. The backend sleeps
 * until its end, or until `kick`; so no thread wakes for each operation. A kick means: exchange
 * again, and ask again for each hardware queue. Such kicks are not bounded by `hands`. Another
 * thread than the submitting one may listen, and report ends before the works are returned. A
 * report may run callbacks of the application, which may be slow. A kick comes before them, so that
 * another thread can listen meanwhile.
 *
 * An operation that is out runs: tide_queue_cancel returns TIDE_BUSY. Once out, it does not fail by
 * itself: it succeeds, or its device is lost. An operation may have run in vain: when its end
 * is published, a failure that it depends on may have come meanwhile.
 *
 * A lost device's submissions may still be waited for by other devices of its group. After
 * tide_device_certify, the scheduler calls `release` for each submission once all that it depended
 * on is published; the backend then ends these waits from the host. A device stays open as long as
 * submissions of others wait for its own. A wait that ends so makes visible all that was reported
 * as over before the call, as a signal of the host does.
 *
 * A body class with `waits_inside`, and a collective's part, is given only when it may start. Works
 * that it waits for belong on other hardware queues, since all that is behind it there ends after
 * it. Parts of several collectives that meet inside need queues of one base priority, which does
 * not change meanwhile, on devices that all run ahead. Priorities that waiters lend do not move
 * parts. A part that fails, is cancelled, or is lost with its device is never given, so the others
 * wait for it in vain: their bodies must end by themselves, or their devices be lost. `sequential`
 * excludes `ahead`; `cancel` is not called for works that are given or out.
 *
 * Memory order: a body's writes are visible to all work that starts after the exchange that
 * reported the body done. A backend that passes work to other hardware must ensure this.
 *
 * Source: docs/architecture.md.
 */
#ifndef TIDEMARK_BACKEND_H
#define TIDEMARK_BACKEND_H

#include "tidemark/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An operation to execute. Belongs to the backend from the exchange that returns it until the
 * exchange that takes it back. */
struct tide_work {
  const struct tide_body_class *body; /* NULL: nothing to run, only return it */
  uint64_t epoch;                     /* the epoch on the queue's axis */
  union {
    unsigned char few[16];
    void *many;
  } arguments;             /* see tide_work_arguments */
  enum tide_status status; /* TIDE_OK at first; the backend may set it before it returns the work */
  unsigned number : 30;    /* the lower bits of the sequence number from tide_queue_submit */
  unsigned labelled : 1;   /* see tide_work_label */
  unsigned has_many : 1;   /* arguments.many is used */
};

/* Returns the arguments for the body: TIDE_ARGUMENTS_MAX bytes at most, aligned for any type. Valid
 * until the work is returned. */
static inline void *tide_work_arguments(const struct tide_work *work) {
  return work->has_many ? work->arguments.many : (void *)(uintptr_t)work->arguments.few;
}
/* Returns the axis of the work's queue. Any thread that has the work may call it, and the next
 * function. */
TIDE_API tide_axis tide_work_axis(const struct tide_work *work);
/* True if the result is no longer wanted: the queue was destroyed, the operation was cancelled, or
 * the device is lost. Takes the scheduler's lock. */
TIDE_API bool tide_work_is_cancelled(const struct tide_work *work);
/* Returns the operation's label; "": none. Valid until the work is returned. */
TIDE_API const char *tide_work_label(const struct tide_work *work);

/* Reports the failure of a work, before it is returned. Sets work->status to why->status (TIDE_OK:
 * to TIDE_FAILED), and keeps code and text for tide_timeline_failure. The scheduler adds the
 * labels. Any thread that has the work may call it. A backend that sets only the status provides no
 * code and text. Without memory only the status is kept. */
TIDE_API void tide_work_fail(struct tide_work *work, const struct tide_failure *why);

/* A wait that the device keeps. */
struct tide_native_wait {
  struct tide_device *device; /* a device of the same group */
  uint32_t hardware_queue;    /* index in that device */
  uint64_t submission;
};
#define TIDE_HARDWARE_QUEUES_MAX 8 /* the sum over the devices of one group */

struct tide_submission {
  uint32_t hardware_queue; /* index in the work's device */
  uint64_t number;         /* on the hardware queue, from 1 */
  bool barrier;            /* waits for all earlier submissions of the hardware queue */
  uint32_t wait_count;
  struct tide_native_wait waits[TIDE_HARDWARE_QUEUES_MAX]; /* at most one per hardware queue; also
                                                              the own one, if over */
};
/* Describes a given work of a device that runs ahead. Only the thread that has the work calls it.
 */
TIDE_API void tide_work_submission(const struct tide_work *work,
                                   struct tide_submission *out_submission);

struct tide_backend {
  const char *name;
  bool in_order; /* operations of one queue complete in order */
  /* A single hand executes all work of one exchange, in the order given, and returns it in that
   * order. One exchange may then return several *non-blocking* operations, on an in-order device
   * also of one queue. Such a backend requests as many as it would execute before its next
   * exchange. When a sink wants times, the backend gets one at a time. */
  bool sequential;
  uint32_t hands;          /* threads that may sleep for a kick at the same time; 0: 1 */
  enum tide_domain domain; /* the axes' domain: TIDE_DOMAIN_QUEUE, TIDE_DOMAIN_STORAGE … */
  /* True if the device supports this class. Called at submit, which otherwise returns
   * TIDE_UNSUPPORTED. NULL: all classes with a host function. */
  bool (*takes)(void *self, const struct tide_body_class *body);
  /* Signals that work is ready again. Any thread, no lock held; an exchange may have found the work
   * already. NULL: no thread sleeps for work. */
  void (*kick)(void *self);
  void *self;
  /* Signals that taken work was cancelled: see tide_work_is_cancelled. Any thread, no lock held.
   * NULL: running work runs to its end. */
  void (*cancel)(void *self);
  /* Called by tide_device_open. Starts the executor's threads, which exchange with `device`.
   * tide_device_open returns an error of it, and then never calls `stop`. NULL: nothing to
   * start. */
  enum tide_status (*start)(void *self, struct tide_device *device);
  /* Called by tide_device_close after the last work was returned and the last kick has ended. Joins
   * the executor's threads, and frees everything that `self` owns. NULL: nothing to stop. */
  void (*stop)(void *self);

  /* ---- running ahead ---- */
  /* Operations that may be given or out at once, of a queue and of all queues of a hardware queue
   * together; 0: the device keeps no waits. Bounds the memory, and the number of operations that
   * start before one of a higher priority. */
  uint32_t ahead;
  bool keep_on_host; /* works are given only when all that they wait for is over, to compare */
  uint32_t hardware_queues; /* 0: 1 */
  /* Devices with the same address here wait for each other's submissions. NULL: only for their own.
   */
  const void *group;
  /* Ends all waits for submissions of this lost device up to `number`. Any thread, no lock held;
   * calls may overlap, and a lower number changes nothing. NULL: no other device waits for them. */
  void (*release)(void *self, uint32_t hardware_queue, uint64_t number);
};

/* Opens a device on a backend, which is copied; `self` outlives the device. The label is copied,
 * cut at 31 bytes; NULL: none. TIDE_NOMEM; TIDE_INVALID: `ahead` and `sequential`; TIDE_FULL: the
 * group has more than TIDE_HARDWARE_QUEUES_MAX hardware queues; or the status of `start`. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_device_open(struct tide_context *context,
                                                           const struct tide_backend *backend,
                                                           const char *label,
                                                           struct tide_device **out_device);
/* Returns the device's copy of the backend. Lives as long as the device. */
TIDE_API const struct tide_backend *tide_device_backend(const struct tide_device *device);
/* Returns the context of the device, which outlives it. */
TIDE_API struct tide_context *tide_device_context(const struct tide_device *device);

/* Returns `done_count` works to the scheduler and takes up to `most` that may start. Returns the
 * number taken. *out_more (may be NULL) is true if more could start right now. `done` and
 * `out_work` may be one array. */
TIDE_API size_t tide_device_exchange(struct tide_device *device, struct tide_work *const *done,
                                     size_t done_count, struct tide_work **out_work, size_t most,
                                     bool *out_more);

/* Reports that the submissions of a hardware queue up to `number` have ended, and that their writes
 * are visible to the host. Any thread. A number that was not given is ignored. */
TIDE_API void tide_device_over(struct tide_device *device, uint32_t hardware_queue,
                               uint64_t number);
/* Returns the number of the submission that must end next; 0: none is out. A change of the result
 * to a lower number, or from 0, causes a kick. */
TIDE_API uint64_t tide_device_awaited(struct tide_device *device, uint32_t hardware_queue);

/* Loses the device: all unfinished operations fail with `status`. Waits on the host end at once;
 * waits for a queue's progress end once the device is certified. Taken work must not be returned
 * any more. Until tide_device_certify nothing counts as finished, and no memory is reused. */
TIDE_API void tide_device_lose(struct tide_device *device, enum tide_status status);
/* Loses the device with why->status, and keeps code and text as the cause of the resulting
 * failures. */
TIDE_API void tide_device_lose_for(struct tide_device *device, const struct tide_failure *why);
/* Certifies that no work of a lost device can touch memory any more. */
TIDE_API void tide_device_certify(struct tide_device *device);

#ifdef __cplusplus
}
#endif
#endif
