/* web/core/view.h: what the page asks of the core.
 *
 * The page holds one program at a time. It writes bytes into a room, says what they are, and reads
 * answers: texts as JSON, and the recording as arrays of numbers, which it maps without copying.
 *
 *      begin ── option, setting … ── load ── run ── operation, explain, arrays …
 *
 * A run goes to its end at once, by the same scheduler, timelines and pools as every other; what
 * happened is *recorded*, and the page goes to and fro in the recording. So a step back is as exact
 * as a step forward. Nothing is kept over `begin`; every pointer is good until then.
 *
 * Compiled for wasm32 by web/build, and for this machine by tests and benchmarks. */
#ifndef TIDE_WEB_VIEW_H
#define TIDE_WEB_VIEW_H

#include <stdint.h>

#define TIDE_VIEW_NONE UINT32_MAX
#define TIDE_VIEW_OPERATIONS 250000 /* a page that is asked for more says so */

#if defined(__wasm__)
#define TIDE_VIEW_EXPORT __attribute__((visibility("default")))
#else
#define TIDE_VIEW_EXPORT
#endif

enum tide_view_option {
  TIDE_VIEW_WORKERS,   /* of every device that has workers; 0: as the program says */
  TIDE_VIEW_DEVICES,   /* at most so many of a kind: more queues share one; 0: as it says */
  TIDE_VIEW_FRONTIER,  /* entries of a frontier, 1..255; 0: as the program needs */
  TIDE_VIEW_MODE,      /* enum tide_run_mode: 0 tracked, 1 events, 2 barrier */
  TIDE_VIEW_PAUSED,    /* 1: nothing starts until all is submitted, as in `tidemark explain` */
  TIDE_VIEW_STEP_COST, /* ns of the submitting thread for a step */
  TIDE_VIEW_WAIT_COST, /* ns of a device for each wait that it does */
  TIDE_VIEW_LATENCY,   /* ns of a signal between devices */
  TIDE_VIEW_MEMORY,    /* bytes for buffers; 0: no limit */
  TIDE_VIEW_FAIL,      /* bodies that fail, in a million */
  TIDE_VIEW_SEED,
  TIDE_VIEW_CAPACITY, /* operations of a queue that does not say */
  TIDE_VIEW_OPTION_COUNT
};

enum tide_view_array {
  TIDE_VIEW_ARRAY_OPERATIONS, /* struct tide_view_operation, in the order of submission */
  TIDE_VIEW_ARRAY_LOG,        /* struct tide_view_entry, in the order of time */
  TIDE_VIEW_ARRAY_WAITS,      /* struct tide_view_wait */
  TIDE_VIEW_ARRAY_VALUES,     /* struct tide_view_value: what operations signal */
  TIDE_VIEW_ARRAY_USES,       /* struct tide_view_use: buffers that they name */
  TIDE_VIEW_ARRAY_FRONTIERS,  /* doubles: count, tainted, then pairs of axis and epoch */
  TIDE_VIEW_ARRAY_NAMES,      /* bytes: what operations are called, one after the other */
  TIDE_VIEW_ARRAY_COUNT
};

/* Axes are numbers here: queues in the order of the program, then collectives, then the host. */
struct tide_view_operation {
  double submitted, start, end; /* ns; less than 0: that never happened */
  uint32_t queue, sequence, epoch;
  uint32_t line, column;
  uint32_t name, name_size; /* in NAMES */
  uint32_t first_wait, wait_count;
  uint32_t first_signal, signal_count;
  uint32_t first_use, use_count;
  uint32_t known; /* in FRONTIERS; 0: none */
  uint32_t collective, instance;
  uint32_t held, status; /* enum tide_status */
  uint32_t after; /* in FRONTIERS: what the queue's next operation may take for granted from here
                     on; NONE: what was known, and this one */
};

/* Numbers are events' kinds (tidemark/base.h); and this one, of ours: from here on a queue has
 * another priority for the arbiter, `value`; the object is the queue. */
#define TIDE_VIEW_PRIORITY 32
struct tide_view_entry {
  double time, value;
  uint32_t kind; /* … | class << 8 | reason << 16 | first of a step << 24 */
  uint32_t operation;
  uint32_t object;   /* timeline, or buffer (ALLOC, FREE, GAP); PRIORITY: queue */
  uint32_t frontier; /* 0: none; FREE: which free of the recording it is, from 1 */
};

struct tide_view_wait {
  double value, record; /* value: less than 0: for recycled memory, and of no timeline */
  uint32_t timeline;
  uint32_t cause; /* the operation that signals its record */
  uint32_t class_, reason;
};

struct tide_view_value {
  double value;
  uint32_t timeline, operation;
};

struct tide_view_use {
  uint32_t buffer, access; /* enum tide_access */
};

/* Room for `size` bytes that the page writes; NULL: there is none. The same room each time. */
TIDE_VIEW_EXPORT char *tide_view_room(uint32_t size);
/* Forgets everything. */
TIDE_VIEW_EXPORT void tide_view_begin(void);
TIDE_VIEW_EXPORT void tide_view_option(uint32_t option, double value);
/* The room begins with `length` bytes "NAME=VALUE": a parameter of the program. */
TIDE_VIEW_EXPORT uint32_t tide_view_setting(uint32_t length);
/* The room begins with a program of `length` bytes. Returns an enum tide_status; the answer lists
 * what there is, or {"errors": [{"line", "column", "text"}]}. */
TIDE_VIEW_EXPORT uint32_t tide_view_load(uint32_t length);
/* Runs and records it, once. The status; the answer tells how long it took and what was counted,
 * with {"error": {…}} if it did not come to its end. What was recorded until then is there. */
TIDE_VIEW_EXPORT uint32_t tide_view_run(void);
/* One operation, as `tidemark explain --json` tells it. The answer is empty if there is none. */
TIDE_VIEW_EXPORT uint32_t tide_view_operation(uint32_t operation);
/* All of them: the very text of `tidemark explain --json`, with the room's `length` bytes as the
 * program's name. */
TIDE_VIEW_EXPORT uint32_t tide_view_explain(uint32_t length);

/* Who may have the memory that free number `free` (from 1) gave back, before entry `at` of the log
 * happens: {"known", "open": [operations that must have finished, -1 for what cannot be named],
 * "queues": [those that know all of it]}. known is false where a held operation named the buffer,
 * for then that is settled later. TIDE_NOT_FOUND: there is no such free. */
TIDE_VIEW_EXPORT uint32_t tide_view_reuse(uint32_t free, uint32_t at);

/* The newest answer; terminated. */
TIDE_VIEW_EXPORT const char *tide_view_answer(void);
TIDE_VIEW_EXPORT uint32_t tide_view_answer_size(void);
/* One of the arrays, and how many elements it has. */
TIDE_VIEW_EXPORT const void *tide_view_array(uint32_t array);
TIDE_VIEW_EXPORT uint32_t tide_view_array_count(uint32_t array);

#endif
