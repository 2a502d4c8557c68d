/* tidemark/point.h: sync points that can be used before they exist.
 *
 * The model. A *point* is a position on a timeline that a client has promised to reach. It has a
 * name, three numbers, that may be handed around like any number. A promise obliges its maker
 * twice: to queue the point before a deadline, and to let it end.
 *
 *      promised ----> scheduled ----> retired            it was kept
 *          \              \
 *           `--------------`--------> broken             it was not; a status says why
 *
 * - *promised*: a client has announced the point. Others may wait for it, hand it on, combine it
 *   with others.
 * - *scheduled*: it will end in finite time. The command that retires it is queued, and all that
 *   this command waits for, and all before it in its channel, is scheduled too. The state follows
 *   from counts that are kept as commands come: neither a search nor a clock takes part. Points
 *   that wait for each other in a cycle never get there: a call that would close a cycle is
 *   refused, with TIDE_DEADLOCK, even one through an ANY that could still come true otherwise.
 * - *retired*: all before it has been executed, and went well.
 * - *broken*: it will never be retired. Its waiters are told the cause at once: TIDE_OWNER_DIED,
 *   its owner is gone; TIDE_CANCELLED, its timeline or it itself was given up; TIDE_TIMED_OUT, it
 *   was not queued before its deadline; TIDE_DEADLOCK, queueing it would have closed a cycle; or
 *   the status of a failed command: the one that was to retire it, or one before it in its channel
 *   (channel.h).
 *
 * States go one way only.
 *
 * A *future timeline* is a row of promises that are kept in order: 1, 2, 3 … When n is retired, all
 * before it that were not broken are retired with it. When n breaks, n alone breaks: the timeline
 * goes on. A broken one keeps its turn: queueing it after all returns its error, and retires
 * nothing.
 *
 *      value    1        2        3        4        5
 *               retired  broken   retired  promised promised
 *                        ^ stays so when 3 is retired
 *
 * Each promise has a deadline for being *queued*; a queued one may take any time. A missed deadline
 * counts against the client (`missed` of its statistics).
 *
 * A *compound point* is other points, combined by "all of" and "any of". It is promised first and
 * defined once, perhaps while waits for it are under way. ALL is retired when all parts are, and
 * broken as soon as one is. ANY is retired when one part is, and broken when all are. Each is one
 * wake, of however many parts.
 *
 * *Trust*. A point of another domain (another service's) takes part through a stand-in. Of an
 * untrusted domain's reports about it, only the end of the point counts.
 *
 * *Clients* own all this. A client that goes breaks what it owes, and nothing else.
 *
 * Waiting. Each point is a value of a timeline of timeline.h: tide_point_timeline tells which, and
 * every wait, set and timepoint of timeline.h works on it. Such a timeline's values end one by one:
 * waiting for a broken value returns its error, for a value without a promise TIDE_NOT_FOUND, and
 * only its promiser signals it. After its points are gone the timeline answers TIDE_CANCELLED from
 * the first broken value on: no more is remembered.
 *
 * A host keeps its promises here, with tide_future_fulfil. The commands of a device's queue
 * (insert, wait, queue, choose, cancel, priorities) are in channel.h.
 *
 * Memory. All that points need is allocated when the room, the client, the timeline or
 * the compound is made, with fixed capacities; promising, keeping, breaking and waiting
 * never allocate and answer TIDE_FULL.
 *
 * Threads: one lock for all points of a context, the scheduler's. Callbacks run without it.
 *
 * Source: "Trustable Future Sync Points", whose calls docs/points.md maps to these.
 */
#ifndef TIDEMARK_POINT_H
#define TIDEMARK_POINT_H

#include "tidemark/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A point's name. Never used again: after a timeline is gone its generation is. All zero: no point.
 */
struct tide_point {
  uint32_t domain;
  uint32_t timeline;   /* which, within the domain */
  uint32_t generation; /* of that timeline's place */
  uint32_t reserved;   /* 0 */
  uint64_t value;
};

enum tide_point_state {
  TIDE_POINT_PROMISED = 1,
  TIDE_POINT_SCHEDULED = 2,
  TIDE_POINT_RETIRED = 3,
  TIDE_POINT_BROKEN = 4
};

/* "promised", "scheduled" …; "unknown" for anything else. A constant. */
TIDE_API const char *tide_point_state_name(enum tide_point_state state);

/* ---- the room: all points of one domain ------------------------------------- */

struct tide_points;

struct tide_points_params {
  size_t struct_size;
  uint32_t domain;    /* this one's number; 0: 1 */
  uint32_t timelines; /* future timelines and compounds at a time, at most 2^20; 0: 256 */
  uint32_t parts;     /* parts of compounds, and what waits for "schedulable" look at; 0: 1024 */
  uint64_t deadline;  /* ns that a promise may take to be queued where nothing is said, an eighth
                         more  at most; 0: 1 s */
  uint64_t longest;   /* ns that anybody may ask for; 0: 10 s */
  bool manual;        /* no thread watches deadlines: tide_points_expire does, when it is called */
};

/* NULL params are the defaults. A thread that sleeps until the next deadline watches them, unless
 * `manual`: simulated platforms have no threads. TIDE_NOMEM; TIDE_INVALID: a capacity too large, or
 * deadline > longest; or what the platform says when it cannot spawn. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_points_create(struct tide_context *context, const struct tide_points_params *params,
                   struct tide_points **out_points);
/* All its clients must be gone. NULL is fine. */
TIDE_API void tide_points_destroy(struct tide_points *points);
/* Breaks the promises whose deadline has passed (TIDE_TIMED_OUT); returns how many. *out_next (may
 * be NULL) is the next deadline, TIDE_FOREVER when there is none. */
TIDE_API uint32_t tide_points_expire(struct tide_points *points, uint64_t *out_next);
/* Sets the service's policy: reports of this domain about its points are believed. TIDE_FULL: 64
 * domains are trusted already. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_points_trust(struct tide_points *points,
                                                            uint32_t domain);

/* ---- clients: who owes ---------------------------------------------------------- */

struct tide_client;

struct tide_client_params {
  size_t struct_size;
  const char *label;  /* copied, cut at 31 bytes */
  uint32_t timelines; /* quotas, of what the room has; 0: no limit but the room's */
  uint32_t parts;
};

struct tide_client_stats {
  uint64_t promised;
  uint64_t kept;             /* retired, by itself or covered by a later one */
  uint64_t broken;           /* for whatever cause; `missed` is part of it */
  uint64_t missed;           /* not queued, or not defined, before the deadline */
  uint32_t timelines, parts; /* in use now */
};

/* NULL params are the defaults. TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_client_create(struct tide_points *points, const struct tide_client_params *params,
                   struct tide_client **out_client);
/* It goes: its future timelines and compounds are destroyed, and what it owes breaks with `cause`
 * (TIDE_OK: TIDE_OWNER_DIED); what is queued or defined already is kept. Its waits for
 * "schedulable" are called with TIDE_CANCELLED. NULL is fine. */
TIDE_API void tide_client_destroy(struct tide_client *client, enum tide_status cause);
/* Counted from the beginning. */
TIDE_API void tide_client_stats(struct tide_client *client, struct tide_client_stats *out_stats);
/* This client trusts what it named so, and no other domain: the first call narrows what the service
 * trusts, the next ones repeat. For its own waits alone. TIDE_DENIED: the service itself does not
 * trust it; nothing has changed. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_client_trust(struct tide_client *client,
                                                            uint32_t domain);

/* ---- future timelines ------------------------------------------------------------- */

struct tide_future;

struct tide_future_params {
  size_t struct_size;
  const char *label;
  uint32_t capacity; /* promises at a time, and runs of broken ones that are remembered; 0: 16 */
  uint64_t initial;  /* the first promise is for the value above it */
};

/* Makes a timeline for promises that the host keeps itself. (tide_queue_create_future makes one for
 * promises that a queue's operations keep.) NULL params are the defaults. TIDE_NOMEM; TIDE_FULL: no
 * room, or the client's quota; TIDE_INVALID: a capacity above 2^20. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_future_create(struct tide_client *client, const struct tide_future_params *params,
                   struct tide_future **out_future);
/* Breaks all that is promised and not queued, with TIDE_CANCELLED, and gives the handle back. What
 * is queued is still kept; with its last point the names go: asking for them is TIDE_NOT_FOUND.
 * NULL is fine. */
TIDE_API void tide_future_destroy(struct tide_future *future);
/* Promises the next value, to be queued before `deadline` (absolute; 0: the room's; more than the
 * room allows is cut). TIDE_FULL: as many are promised as there is room for; TIDE_EXHAUSTED: it has
 * broken its word so often that the capacity is used up by it (make another one), or the values ran
 * out. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_future_promise(struct tide_future *future, uint64_t deadline, struct tide_point *out_point);
/* The host keeps the promise of `value` now: it is queued and retired in one, and all unbroken ones
 * before it with it. With a position the signal is tracked, as by tide_timeline_signal. On an error
 * nothing has changed: TIDE_VALUE: it is retired already; TIDE_NOT_FOUND: nobody has promised it,
 * or the position's axis is unknown; TIDE_INVALID: a channel's timeline, which keeps its promises
 * by commands; its own error when it is broken (its deadline may have passed just now). */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_future_fulfil(struct tide_future *future, uint64_t value, struct tide_position *position);
/* Gives a promise up. TIDE_VALUE: it is retired, or queued; TIDE_NOT_FOUND; TIDE_INVALID: `cause`
 * is TIDE_OK; its error when it is broken already. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_future_break(struct tide_future *future,
                                                            uint64_t value, enum tide_status cause);

/* ---- asking and waiting ------------------------------------------------------------- */

/* *out_status (may be NULL): why it is broken, else TIDE_OK. TIDE_NOT_FOUND: no such point here, or
 * nobody has promised it, and its timeline's channel is open. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_point_state(struct tide_points *points,
                                                           struct tide_point point,
                                                           enum tide_point_state *out_state,
                                                           enum tide_status *out_status);
/* The timeline that the point is a value of, with a reference for the caller, and which value: for
 * the waits of timeline.h. TIDE_NOT_FOUND. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_point_timeline(struct tide_points *points,
                                                              struct tide_point point,
                                                              struct tide_timeline **out_timeline,
                                                              uint64_t *out_value);
/* Blocks until the point ends or the deadline passes. TIDE_OK: retired; its error when it is
 * broken; TIDE_TIMEOUT: the deadline of this call; TIDE_NOT_FOUND. In a `manual` room it looks at
 * the deadlines of promises itself while it waits. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_point_wait(struct tide_points *points, struct tide_point point, uint64_t deadline);
/* Adds a timepoint whose call is set: it is called once the point ends, with TIDE_OK or its error.
 * Cancel it with tide_timepoint_cancel. TIDE_NOT_FOUND; TIDE_INVALID: no call. No call comes after
 * an error. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_point_when_complete(struct tide_points *points, struct tide_point point,
                         struct tide_timepoint *timepoint);

#define TIDE_ASSUMED_MAX 8

/* A wait for "schedulable". The caller's storage until `call` has run, or cancel has said that it
 * will not. Zeroed, but for the first three. */
struct tide_schedulable {
  /* status: TIDE_OK: the point is schedulable, for this client, or retired; its error when it
   * broke; TIDE_FULL: the room ran out of what such waits look at; TIDE_CANCELLED: the client went.
   * Runs as a timepoint's call does: without a lock, one at a time, never nested. */
  void (*call)(struct tide_schedulable *wait, enum tide_status status);
  void *user;
  struct tide_client *client; /* whose trust counts, and who may assume */
  uint64_t private_words[48];
};

/* Calls back once the point is schedulable. For this call alone it is taken for granted that each
 * point of `assumed`, and all before it of its timeline, will be retired by the caller: those must
 * be the client's own, whose deadlines go on, and who is charged when they are missed. TIDE_DENIED:
 * one of them is not; TIDE_NOT_FOUND; TIDE_INVALID: more than TIDE_ASSUMED_MAX, one of no future
 * timeline, or no call. Then no call comes. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_point_when_schedulable(struct tide_schedulable *wait, struct tide_point point,
                            const struct tide_point *assumed, size_t assumed_count);
/* True: the call will not run. False: it has run, is running, or will run. */
TIDE_API bool tide_schedulable_cancel(struct tide_schedulable *wait);

/* ---- compound points -------------------------------------------------------------------- */

/* Promises a point that will be defined before `deadline` (as above). TIDE_FULL: no room, or the
 * client's quota; TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_compound_promise(struct tide_client *client, uint64_t deadline, struct tide_point *out_point);
/* Defines it: all of the parts. None at all: it is retired. On an error it stays undefined, and may
 * be defined again:
 * - TIDE_NOT_FOUND: it, or a part, is no point that anybody has promised; TIDE_DENIED: it is not
 *   this client's; TIDE_INVALID: it is no compound, or defined already
 * - its error, when it is broken already
 * - TIDE_DEADLOCK: it would wait for itself
 * - TIDE_FULL: no room for so many parts, or the client's quota */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_compound_all(struct tide_client *client,
                                                            struct tide_point compound,
                                                            const struct tide_point *parts,
                                                            size_t count);
/* Defines it: any of the parts. As above; none at all is TIDE_INVALID. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_compound_any(struct tide_client *client,
                                                            struct tide_point compound,
                                                            const struct tide_point *parts,
                                                            size_t count);
/* Defines it by an expression, see tide_expression_check. As above; TIDE_CORRUPT as from
 * tide_expression_check. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_compound_expression(struct tide_client *client, struct tide_point compound, const char *text,
                         size_t length, const struct tide_point *parts, size_t count,
                         struct tide_diag *diag);
/* Gives it up: it breaks with TIDE_CANCELLED if it has not ended, and its name goes.
 * TIDE_NOT_FOUND, TIDE_DENIED, TIDE_INVALID: no compound. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_compound_destroy(struct tide_client *client,
                                                                struct tide_point compound);

#define TIDE_EXPRESSION_LENGTH 4096 /* bytes */
#define TIDE_EXPRESSION_DEPTH 64    /* parentheses in parentheses */

/* "(0&1&2)|(3&4&5)": indices below `count`, & before |, parentheses, spaces; nothing else. `length`
 * bytes are read, no terminator needed. TIDE_CORRUPT, with line 1 and the column: malformed, an
 * index out of range, too deep, too long, empty. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_expression_check(const char *text, size_t length, size_t count, struct tide_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
