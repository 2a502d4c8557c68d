/* tidemark/base.h: the foundation of every other part.
 *
 * Tidemark keeps no global state. Two small structs, passed in by the caller, provide all that the
 * library needs from the system: an allocator, and a platform (a clock, a futex, threads,
 * randomness). Linux, a seeded simulation and WebAssembly differ in these functions only.
 *
 * Errors are plain numbers (`enum tide_status`) and can cross processes and wires. A function that
 * takes a `struct tide_diag` also describes its error there: which timeline, which value, which
 * line of a text.
 *
 * Rules for every function, unless its comment says otherwise:
 *
 * - Any thread may call it. A function blocks only if it takes a deadline or its comment says so.
 *   The others hold a lock for a bounded, short time at most.
 * - Times are nanoseconds of platform->now. Deadlines are absolute. Sizes are bytes.
 * - A comment lists the possible errors as "TIDE_X: cause", without the cause where the name says
 *   it.
 * - A context owns the objects that are made with it. The `_destroy` that belongs to a `_create`,
 *   and the `_close` that belongs to an `_open`, end an object early, at most once. Destroying the
 *   context ends all remaining objects. `_destroy`, `_release` and `_close` take NULL. An object
 *   that another one was made with must outlive that one.
 * - Labels are copied, and cut where they are too long. Parameter structs are read during the call
 *   only. NULL params select the defaults, unless a field is required.
 * - `out_` parameters are filled when the function returns TIDE_OK. A `_create` returns TIDE_NOMEM
 *   when the allocator has no memory, and then leaves nothing behind.
 *
 * Source: docs/architecture.md.
 */
#ifndef TIDEMARK_BASE_H
#define TIDEMARK_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TIDE_API __attribute__((visibility("default")))
#define TIDE_MUST_CHECK __attribute__((warn_unused_result))
#define TIDE_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* Success is 0; every other value is an error. The numbers never change. */
enum tide_status {
  TIDE_OK = 0,
  TIDE_TIMEOUT = 1,      /* the deadline passed first */
  TIDE_INVALID = 2,      /* an argument breaks a stated rule */
  TIDE_NOMEM = 3,        /* the allocator or a pool has nothing left */
  TIDE_FULL = 4,         /* a fixed capacity is exhausted; entries will become free */
  TIDE_DEADLOCK = 5,     /* the call would wait for itself */
  TIDE_UNORDERED = 6,    /* signallers of one timeline are not ordered */
  TIDE_VALUE = 7,        /* a timeline value would not increase */
  TIDE_SCOPE = 8,        /* a timeline or a pool is used beyond its scope */
  TIDE_NOT_FOUND = 9,    /* unknown name, axis or record */
  TIDE_EXHAUSTED = 10,   /* a lease or counter ran out; it never wraps */
  TIDE_CANCELLED = 11,   /* cancelled, or its object was destroyed */
  TIDE_FAILED = 12,      /* a body failed */
  TIDE_LOST = 13,        /* a device or peer is gone */
  TIDE_UNSUPPORTED = 14, /* this device or system does not support the operation */
  TIDE_IO = 15,          /* a read or write failed */
  TIDE_CORRUPT = 16,     /* input bytes break their format */
  TIDE_DENIED = 17,      /* no permission */
  TIDE_MISMATCH = 18,    /* members of a collective disagree; a check found a difference */
  TIDE_BUSY = 19,        /* the object is in use; try again later */
  TIDE_RACE = 20,        /* check mode found an ordering error */
  TIDE_OWNER_DIED = 21,  /* the owner of a promise is gone */
  TIDE_TIMED_OUT = 22,   /* a promise was not queued before its deadline */
  TIDE_STATUS_COUNT
};

/* Returns a constant name such as "TIDE_TIMEOUT"; never NULL. */
TIDE_API const char *tide_status_name(enum tide_status status);
/* Returns a constant sentence that describes the status; never NULL. */
TIDE_API const char *tide_status_text(enum tide_status status);

/* The detail of one error. The caller owns the struct. A function that takes one fills it on
 * failure and leaves it alone on success. Every function accepts NULL. */
struct tide_diag {
  enum tide_status status;
  uint32_t line;   /* 1-based; 0: the error has no location in a text */
  uint32_t column; /* 1-based */
  char text[256];  /* terminated, one line */
};

/* The first cause of a failure. Everything that fails because of it reports the same cause: the
 * operation itself, the operations that depend on it, and the timelines that they were to signal.
 */
struct tide_failure {
  enum tide_status status;
  int32_t code;       /* the system's error: an errno, or a driver's number; 0: none */
  uint64_t sequence;  /* the operation's number in its queue; 0: no operation failed */
  char operation[32]; /* labels, or names instead (context.h); "": no operation failed */
  char queue[32];
  char device[32];
  char text[160]; /* a single line: the error, its location, and the expected state */
};

/* Reports why the running body of this thread fails, for tide_timeline_failure. Returns `status`,
 * so a body may end with `return tide_body_report(TIDE_IO, errno, "…", …)`. If a failing body calls
 * it several times, the last call counts. `code` is an errno or a driver's number; 0: none. The
 * format takes %s %c %d %u %x with l and z. The text is cut at 159 bytes. Has no effect outside a
 * body. Never allocates, never blocks. */
TIDE_API enum tide_status tide_body_report(enum tide_status status, int32_t code,
                                           const char *format, ...) TIDE_PRINTF(3, 4);

/* Absolute monotonic times in nanoseconds, as platform->now returns them. */
#define TIDE_FOREVER UINT64_MAX /* a deadline that never passes */
#define TIDE_NOW 0ull           /* a deadline that has passed: the call never blocks */

/* Memory. `alloc` returns NULL when no memory is left; `align` is a power of two. `free` receives
 * the size that was requested. Any thread may call both. */
struct tide_allocator {
  void *(*alloc)(void *self, size_t size, size_t align);
  void (*free)(void *self, void *memory, size_t size);
  void *self;
};

struct tide_thread; /* made by platform->spawn */

/* A word, and the value that its waiter expects. */
struct tide_word {
  const uint32_t *word;
  uint32_t expected;
};

/* The services that Tidemark needs from the system. Any thread may call any function. */
struct tide_platform {
  /* Returns the monotonic time in nanoseconds. */
  uint64_t (*now)(void *self);
  /* Sleeps while *word == expected, until woken or until the deadline. May return early without a
   * reason. A deadline of TIDE_NOW returns at once. */
  void (*wait)(void *self, const uint32_t *word, uint32_t expected, uint64_t deadline);
  /* Wakes up to `count` threads that sleep on `word`. The word's memory may be gone by then. */
  void (*wake)(void *self, const uint32_t *word, uint32_t count);
  /* Lets another thread of this core run. */
  void (*yield)(void *self);
  uint64_t (*random)(void *self);
  /* Returns a number that identifies the calling thread; never 0. */
  uint64_t (*thread_id)(void *self);
  /* Returns the number of threads that this machine runs at once; at least 1. */
  uint32_t (*cores)(void *self);
  enum tide_status (*spawn)(void *self, const char *name, void (*entry)(void *), void *argument,
                            struct tide_thread **out_thread);
  void (*join)(void *self, struct tide_thread *thread);
  /* Opens a descriptor that polls readable between raise and clear. */
  enum tide_status (*notify_open)(void *self, int *out_descriptor);
  void (*notify_raise)(void *self, int descriptor);
  void (*notify_clear)(void *self, int descriptor);
  void (*notify_close)(void *self, int descriptor);
  /* Like wait and wake, for words in memory that other processes also map, perhaps read-only.
   * Sleeps while each of `count` words (1..128) has its expected value, until one of them is woken.
   * May return early without a reason, but not repeatedly without sleeping. Both are NULL where no
   * memory is shared. */
  void (*wait_shared)(void *self, const struct tide_word *words, uint32_t count, uint64_t deadline);
  void (*wake_shared)(void *self, const uint32_t *word, uint32_t count);
  /* A cheaper `now` for deadlines that are far away: never ahead of `now`, and mostly less than 10
   * ms behind. NULL: no cheaper clock exists. */
  uint64_t (*now_about)(void *self);
  void *self;
};

/* Returns the Linux platform: futex, CLOCK_MONOTONIC, pthreads, eventfd. Constant; never freed. Not
 * in freestanding builds. */
TIDE_API const struct tide_platform *tide_platform_linux(void);
/* Returns the allocator over malloc and free. Not in freestanding builds. */
TIDE_API const struct tide_allocator *tide_allocator_system(void);

/* Events, for traces and checks. The part that causes an event calls the sink at that moment,
 * perhaps under an internal lock. A sink copies the data that it needs, never calls back into
 * Tidemark, and never blocks. */
enum tide_event_kind {
  TIDE_EVENT_SUBMIT = 1, /* a queue accepted the operation */
  TIDE_EVENT_HOLD,  /* the operation is held: no submitted operation signals one of its waits */
  TIDE_EVENT_ENTER, /* the operation entered the FIFO; axis/epoch are set from here on */
  TIDE_EVENT_WAIT_CLASS, /* a wait of the operation was classified; see detail */
  TIDE_EVENT_START,      /* the body starts */
  TIDE_EVENT_FINISH,     /* the body ended, or was skipped */
  TIDE_EVENT_PUBLISH,    /* the epoch is finished and the operation's signals are visible */
  TIDE_EVENT_SIGNAL,     /* a timeline reached a value */
  TIDE_EVENT_FAIL,       /* a timeline failed from a value upward */
  TIDE_EVENT_HOST_WAIT,  /* a host thread saw a timeline at or past a value */
  TIDE_EVENT_ALLOC,      /* a buffer was handed out */
  TIDE_EVENT_FREE,       /* a buffer was freed */
  TIDE_EVENT_BREAK,      /* a single value of a timeline broke */
  TIDE_EVENT_STALL,  /* the body faults on data that has not arrived: it waits for value `value` of
                        timeline `object`, for the buffer `label` */
  TIDE_EVENT_RESUME, /* the data arrived, or its timeline failed: status */
  TIDE_EVENT_GAP,    /* a gap wait: the last users of a buffer's memory must finish before the
                        operation starts; `object` is the buffer */
  TIDE_EVENT_KEPT, /* on a device that runs ahead: by which means an issued wait, or a gap wait, of
                      the operation is kept; detail: enum tide_primitive, | TIDE_KEPT_GAP. Before
                      OUT, or before the operation's failure */
  TIDE_EVENT_OUT,  /* instead of START: the operation was submitted to a device that runs ahead, and
                      starts when the device's waits allow it; `detail` is the hardware queue,
                      `value`  the number of the submission there */
  TIDE_EVENT_SEND, /* a session sends a timeline's state to another member: the reached value, and
                      promises up to `cause_value` (0: none); `label` is the member */
  TIDE_EVENT_RECEIVE, /* a record of a followed timeline has come from another member, `label`: see
                         detail. Before the SIGNAL or the FAIL that comes of it */
  TIDE_EVENT_LOST     /* a session has lost a member, `label`: failure */
};

/* Of RECEIVE: the record's state at its home. */
enum tide_received { TIDE_RECEIVED_PROMISE, TIDE_RECEIVED_VALUE, TIDE_RECEIVED_FAILURE };

/* The means by which a wait is kept. */
enum tide_primitive {
  TIDE_PRIMITIVE_HOST,        /* the host has given the operation out after the wait */
  TIDE_PRIMITIVE_IMPLIED,     /* none: another wait of the hardware queue brings it */
  TIDE_PRIMITIVE_BARRIER,     /* all earlier submissions of the same hardware queue are over */
  TIDE_PRIMITIVE_NATIVE_WAIT, /* a submission to another hardware queue is over */
  TIDE_PRIMITIVE_REACHED      /* such a wait that is over: it orders memory alone */
};
#define TIDE_KEPT_GAP 256u /* bit of KEPT's `detail`: a gap wait; `object` is the buffer */

struct tide_frontier;

struct tide_event {
  enum tide_event_kind kind;
  uint32_t detail;    /* WAIT_CLASS: low byte enum tide_wait_class, next byte enum
                         tide_wait_reason; ALLOC: enum tide_reuse; RECEIVE: low byte enum
                         tide_received; SEND, RECEIVE, LOST: above it the member's rank */
  uint64_t time;      /* ns; 0 when the sink wants no times */
  uint64_t thread;    /* the emitting thread; a submitting thread may report the work of a worker */
  uint64_t axis;      /* the operation's queue, or the signaller; 0 = none */
  uint64_t epoch;     /* the operation's epoch on that axis */
  uint64_t sequence;  /* the operation's number within its queue, from SUBMIT on */
  uint64_t value;     /* timeline value, or bytes for ALLOC and FREE */
  const void *object; /* the timeline, queue or buffer; for identity only */
  const void *operation; /* identity of the operation while it lives */
  const char *label;     /* the label, or the name, of the operation or object; may be NULL */
  const char *object_label;
  uint64_t cause_axis; /* WAIT_CLASS: the record's signaller; ALLOC, GAP: the signaller of the
                          buffer's past; KEPT: the awaited operation; 0 = none */
  uint64_t cause_epoch;
  uint64_t cause_value; /* WAIT_CLASS: the record's own value; KEPT: the submission's number; SEND:
                           the newest promise */
  const struct tide_frontier *frontier; /* valid during the call; ENTER: the known past; SIGNAL,
                                           RECEIVE: the record's; ALLOC, GAP: the buffer's past */
  enum tide_status status;
  const struct tide_failure *failure; /* FINISH of a failed operation: the first cause, valid during
                                         the call; NULL: no memory was left to keep it, or the
                                         operation was cancelled (also by its own body) and has no
                                         earlier cause. RECEIVE: the home's first cause, or NULL;
                                         LOST: the loss */
};

/* A receiver of events. Any thread may call it, with locks held: it takes notes, and calls no
 * function of this library. */
struct tide_sink {
  void (*event)(void *self, const struct tide_event *event);
  bool wants_time; /* fill event.time (one clock read per event) */
  void *self;
  /* Deliver only the FINISH events of failed operations. Successful operations then take no longer
   * than without a sink. */
  bool failures_only;
};

#ifdef __cplusplus
}
#endif
#endif
