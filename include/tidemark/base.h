/* tidemark/base.h: the foundation of every other part.
 *
 * Nothing in Tidemark keeps global state. All that it asks of the world outside
 * comes through two small structs that the caller hands in: an allocator and a
 * platform (a clock, a way to sleep until a word changes, threads, randomness).
 * The same code runs on Linux, in a seeded simulation and as WebAssembly,
 * because only these functions differ.
 *
 * Errors are plain numbers (`enum tide_status`), so that they can cross
 * processes and wires. The story behind one (which timeline, which value, which
 * line of a text) goes to the caller's `struct tide_diag`, where one is taken.
 *
 * Rules for every function, unless it says otherwise:
 *
 * - Any thread may call it. Only functions that take a deadline, and those that say so, block; the
 *   others hold a lock for a bounded, short time at most.
 * - Times are nanoseconds of platform->now, deadlines absolute. Sizes are bytes.
 * - A context owns the objects that are made with it. The `_destroy` of the same name as the
 *   `_create`, or `_close` for `_open`, ends an object early, at most once; the rest ends with the
 *   context. `_destroy`, `_release` and `_close` take NULL. Other objects that an object was made
 *   with outlive it.
 * - Labels are copied, and cut where they are too long. Parameter structs are read during the call
 *   only; NULL params, where nothing in them is required, are the defaults.
 * - `out_` parameters are filled when TIDE_OK comes back. A `_create` answers TIDE_NOMEM when the
 *   allocator has nothing; then nothing is left behind.
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

/* 0 is success; everything else says why not. The numbers never change. */
enum tide_status {
  TIDE_OK = 0,
  TIDE_TIMEOUT = 1,      /* the deadline passed first */
  TIDE_INVALID = 2,      /* an argument breaks a stated rule */
  TIDE_NOMEM = 3,        /* the allocator or a pool has nothing left */
  TIDE_FULL = 4,         /* a fixed capacity is exhausted; room will come */
  TIDE_DEADLOCK = 5,     /* the call would wait for itself */
  TIDE_UNORDERED = 6,    /* signallers of one timeline are not ordered */
  TIDE_VALUE = 7,        /* a timeline value would not go up */
  TIDE_SCOPE = 8,        /* a timeline or a pool is used beyond its scope */
  TIDE_NOT_FOUND = 9,    /* unknown name, axis or record */
  TIDE_EXHAUSTED = 10,   /* a lease or counter ran out; it never wraps */
  TIDE_CANCELLED = 11,   /* cancelled, or its object was destroyed */
  TIDE_FAILED = 12,      /* a body failed */
  TIDE_LOST = 13,        /* a device or peer is gone */
  TIDE_UNSUPPORTED = 14, /* this device or system cannot do it */
  TIDE_IO = 15,          /* a read or write failed */
  TIDE_CORRUPT = 16,     /* input bytes break their format */
  TIDE_DENIED = 17,      /* no permission */
  TIDE_MISMATCH = 18,    /* members of a collective disagree; a check found a difference */
  TIDE_BUSY = 19,        /* in use; try after it is not */
  TIDE_RACE = 20,        /* check mode found an ordering error */
  TIDE_OWNER_DIED = 21,  /* whoever promised it is gone */
  TIDE_TIMED_OUT = 22,   /* a promise was not queued before its deadline */
  TIDE_STATUS_COUNT
};

/* A constant name such as "TIDE_TIMEOUT"; never NULL. */
TIDE_API const char *tide_status_name(enum tide_status status);
/* A constant sentence for people; never NULL. */
TIDE_API const char *tide_status_text(enum tide_status status);

/* The detail of one error. The caller owns it; a function that takes one fills
 * it when it fails and leaves it alone when it succeeds. NULL is always fine. */
struct tide_diag {
  enum tide_status status;
  uint32_t line;   /* 1-based; 0 = the error has no place in a text */
  uint32_t column; /* 1-based */
  char text[256];  /* terminated, one line */
};

/* The first cause of a failure. All that fails by it has the same one: an operation, those that
 * depend on it, and the timelines that they were to signal. */
struct tide_failure {
  enum tide_status status;
  int32_t code;       /* what the system answered: an errno, or a driver's number; 0: nothing */
  uint64_t sequence;  /* the operation's number in its queue; 0: no operation failed */
  char operation[32]; /* labels; "" where none was given */
  char queue[32];
  char device[32];
  char text[160]; /* a sentence: what failed, where, and what was expected; one line */
};

/* Says why the body that this thread runs fails, for tide_timeline_failure. Returns `status`, so
 * that a body may end with `return tide_body_report(TIDE_IO, errno, "…", …)`. The last call of a
 * body counts, if the body fails. `code`: an errno, or a driver's number; 0: none. The format takes
 * %s %c %d %u %x with l and z; the sentence is cut at 159 bytes. No effect where no body runs.
 * Never allocates, never blocks. */
TIDE_API enum tide_status tide_body_report(enum tide_status status, int32_t code,
                                           const char *format, ...) TIDE_PRINTF(3, 4);

/* An absolute monotonic time in nanoseconds, as platform->now gives it. */
#define TIDE_FOREVER UINT64_MAX /* a deadline that never comes */
#define TIDE_NOW 0ull           /* a deadline that has passed: never blocks */

/* Memory. `alloc` returns NULL when there is none; `align` is a power of two.
 * `free` gets the size that was asked for. Both may be called from any thread. */
struct tide_allocator {
  void *(*alloc)(void *self, size_t size, size_t align);
  void (*free)(void *self, void *memory, size_t size);
  void *self;
};

struct tide_thread; /* made by platform->spawn */

/* A word, and what it was when somebody decided to sleep. */
struct tide_word {
  const uint32_t *word;
  uint32_t expected;
};

/* All that Tidemark asks of outside. Every function may be called from any
 * thread. `random` need not be secret. */
struct tide_platform {
  /* Monotonic nanoseconds. */
  uint64_t (*now)(void *self);
  /* Sleeps while *word == expected, until woken or the deadline; may return
   * early for no reason. A deadline of TIDE_NOW returns at once. */
  void (*wait)(void *self, const uint32_t *word, uint32_t expected, uint64_t deadline);
  /* Wakes up to `count` threads that sleep on word; the word may be gone. */
  void (*wake)(void *self, const uint32_t *word, uint32_t count);
  /* Lets another thread of this core run. */
  void (*yield)(void *self);
  uint64_t (*random)(void *self);
  /* A number that tells threads apart; never 0. */
  uint64_t (*thread_id)(void *self);
  /* Threads this machine runs at once; at least 1. */
  uint32_t (*cores)(void *self);
  enum tide_status (*spawn)(void *self, const char *name, void (*entry)(void *), void *argument,
                            struct tide_thread **out_thread);
  void (*join)(void *self, struct tide_thread *thread);
  /* A descriptor that polls readable between raise and clear. */
  enum tide_status (*notify_open)(void *self, int *out_descriptor);
  void (*notify_raise)(void *self, int descriptor);
  void (*notify_clear)(void *self, int descriptor);
  void (*notify_close)(void *self, int descriptor);
  /* The same as wait and wake, for words in memory that other processes map too, perhaps to read
   * only. Sleeps while each of `count` words (1..128) is as expected, until one of them is woken;
   * may return early for no reason, but then not at once again and again. Both NULL where no memory
   * is shared. */
  void (*wait_shared)(void *self, const struct tide_word *words, uint32_t count, uint64_t deadline);
  void (*wake_shared)(void *self, const uint32_t *word, uint32_t count);
  /* As now, never ahead of it and mostly less than 10 ms behind, where that is cheaper: for
   * deadlines that are far off. NULL: it is not. */
  uint64_t (*now_about)(void *self);
  void *self;
};

/* Linux: futex, CLOCK_MONOTONIC, pthreads, eventfd. Constant; never freed.
 * Not in freestanding builds. */
TIDE_API const struct tide_platform *tide_platform_linux(void);
/* malloc and free behind the interface. Not in freestanding builds. */
TIDE_API const struct tide_allocator *tide_allocator_system(void);

/* What happened, for traces and checks. Emitted by the part that did it, with
 * the sink called at the place of the event, perhaps under an internal lock:
 * a sink copies what it needs, never calls back into Tidemark, never blocks. */
enum tide_event_kind {
  TIDE_EVENT_SUBMIT = 1, /* an operation was accepted by its queue */
  TIDE_EVENT_HOLD,       /* it is held: nobody has promised one of its waits */
  TIDE_EVENT_ENTER,      /* it entered the FIFO; axis/epoch are set from here on */
  TIDE_EVENT_WAIT_CLASS, /* one of its waits was classified; see detail */
  TIDE_EVENT_START,      /* its body starts */
  TIDE_EVENT_FINISH,     /* its body ended, or was skipped */
  TIDE_EVENT_PUBLISH,    /* its epoch is finished and its signals are visible */
  TIDE_EVENT_SIGNAL,     /* a timeline reached a value */
  TIDE_EVENT_FAIL,       /* a timeline failed from a value upward */
  TIDE_EVENT_HOST_WAIT,  /* a host thread saw a timeline at or past a value */
  TIDE_EVENT_ALLOC,      /* a buffer was handed out */
  TIDE_EVENT_FREE,       /* a buffer was freed */
  TIDE_EVENT_BREAK,      /* one value of a timeline broke, and no other */
  TIDE_EVENT_STALL,      /* its body loads what is not there: it waits for object's value, which
                            would be buffer `label`'s */
  TIDE_EVENT_RESUME,     /* it was there, or failed: status */
  TIDE_EVENT_GAP         /* a gap wait: the last users of a buffer's memory must finish before the
                            operation starts; the object is the buffer */
};

struct tide_frontier;

struct tide_event {
  enum tide_event_kind kind;
  uint32_t detail;       /* WAIT_CLASS: low byte enum tide_wait_class, next byte enum
                            tide_wait_reason; ALLOC: enum tide_reuse */
  uint64_t time;         /* ns; 0 when the sink did not ask for times */
  uint64_t thread;       /* that tells; what a worker has done may be told by one that submits */
  uint64_t axis;         /* the operation's queue, or the signaller; 0 = none */
  uint64_t epoch;        /* the operation's place on it */
  uint64_t sequence;     /* the operation's number within its queue, from submit on */
  uint64_t value;        /* timeline value, or bytes for ALLOC and FREE */
  const void *object;    /* the timeline, queue or buffer; for identity only */
  const void *operation; /* identity of the operation while it lives */
  const char *label;     /* the operation's, or the object's; may be NULL */
  const char *object_label;
  uint64_t cause_axis; /* WAIT_CLASS: the record's signaller; ALLOC, GAP: the signaller of the
                          buffer's past; 0 = none */
  uint64_t cause_epoch;
  uint64_t cause_value;                 /* WAIT_CLASS: the record's own value */
  const struct tide_frontier *frontier; /* valid during the call; ENTER: the known past; SIGNAL: the
                                           record's; ALLOC, GAP: the buffer's past */
  enum tide_status status;
  const struct tide_failure *failure; /* FINISH of what failed: the first cause, valid during the
                                         call; NULL: there was no memory to keep it */
};

/* Called with locks held, from any thread: it takes notes, and calls nothing of this library. */
struct tide_sink {
  void (*event)(void *self, const struct tide_event *event);
  bool wants_time; /* fill event.time (one clock read an event) */
  void *self;
  /* Of all events it gets FINISH of operations that failed. Whatever goes well then takes no longer
   * than without a sink. */
  bool failures_only;
};

#ifdef __cplusplus
}
#endif
#endif
