/* web/core/view.h: the interface between the page and the core.
 *
 * The page holds one program at a time. It writes bytes into a buffer (the *room*), calls a
 * function that reads them, and gets answers: texts as JSON, and the recording as arrays of
 * numbers, which it maps without copying.
 *
 *      begin ── option, setting … ── load ── run ── operation, explain, arrays …
 *
 * A run goes to its end at once, on the same scheduler, timelines and pools as any other. Its
 * events are *recorded*, and the page moves to and fro in the recording, so a step back is as exact
 * as a step forward. `begin` drops everything; every pointer is valid until then.
 *
 * Compiled for wasm32 by web/build, and for this machine by tests and benchmarks. */
#ifndef TIDE_WEB_VIEW_H
#define TIDE_WEB_VIEW_H

#include <stdint.h>

#define TIDE_VIEW_NONE UINT32_MAX
#define TIDE_VIEW_OPERATIONS 250000 /* limit of a program; the page reports more as an error */

#if defined(__wasm__)
#define TIDE_VIEW_EXPORT __attribute__((visibility("default")))
#else
#define TIDE_VIEW_EXPORT
#endif

enum tide_view_option {
  TIDE_VIEW_WORKERS,   /* workers of each device that has any; 0: as the program says */
  TIDE_VIEW_DEVICES,   /* devices of each kind, shared by the queues of further ones; 0: no limit */
  TIDE_VIEW_FRONTIER,  /* entries of a frontier, 1..255; 0: as the program needs */
  TIDE_VIEW_MODE,      /* enum tide_run_mode: 0 tracked, 1 events, 2 barrier */
  TIDE_VIEW_PAUSED,    /* 1: nothing starts until all is submitted, as in `tidemark explain` */
  TIDE_VIEW_STEP_COST, /* ns that the submitting thread takes for a step */
  TIDE_VIEW_WAIT_COST, /* ns that a device takes for each wait that it executes */
  TIDE_VIEW_LATENCY,   /* ns that a signal takes between devices */
  TIDE_VIEW_MEMORY,    /* bytes for buffers; 0: no limit */
  TIDE_VIEW_FAIL,      /* failing bodies, in a million */
  TIDE_VIEW_SEED,
  TIDE_VIEW_CAPACITY, /* operations of a queue without a capacity of its own */
  TIDE_VIEW_OPTION_COUNT
};

enum tide_view_array {
  TIDE_VIEW_ARRAY_OPERATIONS, /* struct tide_view_operation, in the order of submission */
  TIDE_VIEW_ARRAY_LOG,        /* struct tide_view_entry, in the order of time */
  TIDE_VIEW_ARRAY_WAITS,      /* struct tide_view_wait */
  TIDE_VIEW_ARRAY_VALUES,     /* struct tide_view_value: the operations' signals */
  TIDE_VIEW_ARRAY_USES,       /* struct tide_view_use: the operations' buffers */
  TIDE_VIEW_ARRAY_FRONTIERS,  /* doubles: count, tainted, then pairs of axis and epoch */
  TIDE_VIEW_ARRAY_NAMES,      /* bytes: the operations' names, without separators */
  TIDE_VIEW_ARRAY_COUNT
};

/* An operation. Axes are numbers here: queues in the order of the program, then collectives, then
 * the host. */
struct tide_view_operation {
  double submitted, start, end; /* ns; less than 0: never */
  uint32_t queue, sequence, epoch;
  uint32_t line, column;
  uint32_t name, name_size; /* index and size in NAMES */
  uint32_t first_wait, wait_count;
  uint32_t first_signal, signal_count;
  uint32_t first_use, use_count;
  uint32_t known; /* index in FRONTIERS; 0: none */
  uint32_t collective, instance;
  uint32_t held, status; /* enum tide_status */
  uint32_t after; /* index in FRONTIERS: the queue's frontier after it; NONE: `known` and this
                     operation */
};

/* An entry's kind besides the events' (tidemark/base.h): the effective priority of the queue
 * `object` changes to `value`. */
#define TIDE_VIEW_PRIORITY 32
struct tide_view_entry {
  double time, value;
  uint32_t kind; /* event kind | class << 8 | reason << 16 | first of a step << 24 */
  uint32_t operation;
  uint32_t object;   /* timeline, or buffer (ALLOC, FREE, GAP, KEPT); PRIORITY: queue */
  uint32_t frontier; /* index in FRONTIERS, 0: none; FREE: number of the free, from 1 */
};

struct tide_view_wait {
  double value, record; /* value < 0: a wait for recycled memory, without a timeline */
  uint32_t timeline;
  uint32_t cause; /* the operation that signals the record */
  uint32_t class_, reason;
};

struct tide_view_value {
  double value;
  uint32_t timeline, operation;
};

struct tide_view_use {
  uint32_t buffer, access; /* enum tide_access */
};

/* Returns a buffer of at least `size` bytes for the page to write, the same one as long as it is
 * large enough; NULL: out of memory. */
TIDE_VIEW_EXPORT char *tide_view_room(uint32_t size);
/* Frees everything and begins anew. */
TIDE_VIEW_EXPORT void tide_view_begin(void);
TIDE_VIEW_EXPORT void tide_view_option(uint32_t option, double value);
/* Sets a parameter of the program: the room begins with `length` bytes "NAME=VALUE". */
TIDE_VIEW_EXPORT uint32_t tide_view_setting(uint32_t length);
/* Loads the program in the first `length` bytes of the room. Returns an enum tide_status. The
 * answer lists the program's objects, or {"errors": [{"line", "column", "text"}]}. */
TIDE_VIEW_EXPORT uint32_t tide_view_load(uint32_t length);
/* Runs and records the program, once. Returns the status. The answer has the run's times and
 * counts, with {"error": {…}} if it did not end well; then the recording ends at the error. */
TIDE_VIEW_EXPORT uint32_t tide_view_run(void);
/* Answers with one operation, as `tidemark explain --json` prints it; empty if there is none. */
TIDE_VIEW_EXPORT uint32_t tide_view_operation(uint32_t operation);
/* Answers with all operations: exactly the text of `tidemark explain --json`, with the first
 * `length` bytes of the room as the program's name. */
TIDE_VIEW_EXPORT uint32_t tide_view_explain(uint32_t length);

/* Answers which queues may reuse the memory of free number `free` (from 1), just before entry `at`
 * of the log: {"known", "open": [operations that must have finished, -1 for one that cannot be
 * named], "queues": [queues that know all of them]}. known is false if a held operation named the
 * buffer, since the frontier is only decided later. TIDE_NOT_FOUND: no such free. */
TIDE_VIEW_EXPORT uint32_t tide_view_reuse(uint32_t free, uint32_t at);

/* Returns the newest answer, terminated by 0. */
TIDE_VIEW_EXPORT const char *tide_view_answer(void);
TIDE_VIEW_EXPORT uint32_t tide_view_answer_size(void);
/* Returns an array, or its number of elements. */
TIDE_VIEW_EXPORT const void *tide_view_array(uint32_t array);
TIDE_VIEW_EXPORT uint32_t tide_view_array_count(uint32_t array);

#endif
