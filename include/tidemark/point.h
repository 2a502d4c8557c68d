/* tidemark/point.h: sync points that can be used before they exist.
 *
 * The model. A *point* is a position on a timeline that a client has promised to reach. Its name is
 * three numbers, which may be passed around freely. A promise has two obligations: to queue the
 * point before a deadline, and to let it end.
 *
 *      promised ----> scheduled ----> retired            kept
 *          \              \
 *           `--------------`--------> broken             not kept; a status gives the cause
 *
 * - *promised*: a client has announced the point. Others may wait for it, pass it on, and combine
 *   it with other points.
 * - *scheduled*: the point will end in finite time. The command that retires it is queued.
 *   Everything that this command waits for, and everything before it in its channel, is scheduled
 *   too. The state follows from counts that are updated as commands arrive, without a search or a
 *   clock. Points that wait for each other in a cycle are never scheduled: a call that would close
 *   a cycle is refused with TIDE_DEADLOCK, even if the cycle runs through an ANY with another part
 *   that could still retire.
 * - *retired*: everything before the point was executed without a failure.
 * - *broken*: the point will never be retired. Its waiters get the cause at once. TIDE_OWNER_DIED:
 *   the owner is gone. TIDE_CANCELLED: the point or its timeline was given up. TIDE_TIMED_OUT: the
 *   point was not queued before its deadline. TIDE_DEADLOCK: queueing it would have closed a cycle.
 *   Otherwise the status of a failed command: the one that was to retire it, or one before it in
 *   its channel (channel.h).
 *
 * The state only ever moves to the right.
 *
 * A *future timeline* is a sequence of promises that are kept in order: 1, 2, 3 … When n is
 * retired, all unbroken values before it are retired with it. When n breaks, n alone breaks: the
 * timeline goes on. A broken value stays broken: queueing it afterwards returns its error, and
 * retires nothing.
 *
 *      value    1        2        3        4        5
 *               retired  broken   retired  promised promised
 *                        ^ still broken after 3 is retired
 *
 * Each promise has a deadline for being *queued*; once queued it may take any time. A missed
 * deadline counts against the client (`missed` in its statistics).
 *
 * A *compound point* combines other points by "all of" and "any of". It is promised first and
 * defined once, perhaps while waits for it are in progress. ALL is retired when all parts are, and
 * broken as soon as one is. ANY is retired when one part is, and broken when all are. A compound of
 * any number of parts costs its waiter one wake.
 *
 * *Trust*. A point of another domain (of another service) is represented by a stand-in. If that
 * domain is not trusted, only the report that the point has ended counts.
 *
 * *Clients* own promises, future timelines and compounds. When a client goes, its unkept promises
 * break, and nothing else.
 *
 * Waiting. Each point is a value of a timeline (timeline.h); tide_point_timeline returns that
 * timeline, and every wait, set and timepoint of timeline.h works on it. The values of such a
 * timeline end one by one. A wait for a broken value returns its error, and a wait for a value
 * without a promise returns TIDE_NOT_FOUND. Only the promiser signals the timeline. When the points
 * are gone, all values from the first broken one on return TIDE_CANCELLED: no more is remembered.
 *
 * A host keeps its promises with tide_future_fulfil. The commands of a device's queue (insert,
 * wait, queue, choose, cancel, priorities) are in channel.h.
 *
 * Memory. Everything that points need is allocated with the domain, the client, the timeline or the
 * compound, with fixed capacities. Promising, keeping, breaking and waiting never allocate; they
 * return TIDE_FULL. The exception: a timeline of the default capacity is created for one promise,
 * and the first promise beside another one allocates the rest.
 *
 * Threads: one lock, the scheduler's, guards all points of a context. Callbacks run without it.
 *
 * Source: "Trustable Future Sync Points"; docs/points.md maps its calls to these.
 */
#ifndef TIDEMARK_POINT_H
#define TIDEMARK_POINT_H

#include "tidemark/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A point's name. Never reused: a timeline slot that is reused has a new generation. All zero: no
 * point. */
struct tide_point {
  uint32_t domain;
  uint32_t timeline;   /* slot of the timeline within the domain */
  uint32_t generation; /* generation of that slot */
  uint32_t reserved;   /* 0 */
  uint64_t value;
};

enum tide_point_state {
  TIDE_POINT_PROMISED = 1,
  TIDE_POINT_SCHEDULED = 2,
  TIDE_POINT_RETIRED = 3,
  TIDE_POINT_BROKEN = 4
};

/* Returns "promised", "scheduled" …; "unknown" for an unknown state. A constant. */
TIDE_API const char *tide_point_state_name(enum tide_point_state state);

/* ---- domains ----------------------------------------------------------------- */

struct tide_points;

struct tide_points_params {
  size_t struct_size;
  uint32_t domain;    /* this domain's number; 0: 1 */
  uint32_t timelines; /* maximum number of live future timelines and compounds, at most 2^20; 0:
                         256 */
  uint32_t parts;     /* parts of compounds, and nodes that waits for "schedulable" watch; 0:
                         1024 */
  uint64_t deadline;  /* ns until a promise must be queued if its maker gives no deadline, enforced
                         at most an eighth later; 0: 1 s */
  uint64_t longest;   /* the longest deadline, in ns, that a promise may have; 0: 10 s */
  bool manual;        /* no thread watches deadlines; tide_points_expire must be called */
};

/* Creates a domain. A thread watches the deadlines and sleeps until the next one, unless `manual`:
 * simulated platforms have no threads. NULL params select the defaults. TIDE_NOMEM; TIDE_INVALID:
 * struct_size is missing, a capacity is too large, or deadline > longest; or the platform's error
 * when it cannot spawn. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_points_create(struct tide_context *context, const struct tide_points_params *params,
                   struct tide_points **out_points);
/* Destroys the domain. All its clients must be gone. NULL is fine. */
TIDE_API void tide_points_destroy(struct tide_points *points);
/* Breaks the overdue promises (TIDE_TIMED_OUT); returns their number. *out_next
 * (may be NULL) is the next deadline; TIDE_FOREVER: none. */
TIDE_API uint32_t tide_points_expire(struct tide_points *points, uint64_t *out_next);
/* Adds a domain to the service's policy: its reports about its points are believed. TIDE_FULL: 64
 * domains are trusted already. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_points_trust(struct tide_points *points,
                                                            uint32_t domain);

/* ---- clients: owners of promises ----------------------------------------------- */

struct tide_client;

struct tide_client_params {
  size_t struct_size;
  const char *label;  /* copied, cut at 31 bytes */
  uint32_t timelines; /* quotas within the domain's capacities; 0: no other limit */
  uint32_t parts;
};

struct tide_client_stats {
  uint64_t promised;
  uint64_t kept;             /* retired, directly or with a later value */
  uint64_t broken;           /* by any cause; includes `missed` */
  uint64_t missed;           /* not queued, or not defined, before the deadline */
  uint32_t timelines, parts; /* currently in use */
};

/* Creates a client. NULL params select the defaults. TIDE_NOMEM; TIDE_INVALID: struct_size is
 * missing. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_client_create(struct tide_points *points, const struct tide_client_params *params,
                   struct tide_client **out_client);
/* Destroys the client, its future timelines and its compounds. Its outstanding promises break with
 * `cause` (TIDE_OK: TIDE_OWNER_DIED); points that are queued or defined already are still kept. Its
 * waits for "schedulable" are called with TIDE_CANCELLED. NULL is fine. */
TIDE_API void tide_client_destroy(struct tide_client *client, enum tide_status cause);
/* Copies the counts since the client was created. */
TIDE_API void tide_client_stats(struct tide_client *client, struct tide_client_stats *out_stats);
/* Trusts `domain` for the client's own waits. The first call limits the client's trust to that
 * domain; each further call adds one. TIDE_DENIED: the service itself does not trust the domain;
 * TIDE_FULL: 64 domains are trusted already. On an error nothing has changed. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_client_trust(struct tide_client *client,
                                                            uint32_t domain);

/* ---- future timelines ------------------------------------------------------------- */

struct tide_future;

struct tide_future_params {
  size_t struct_size;
  const char *label;
  uint32_t capacity; /* outstanding promises, and remembered ranges of broken values; 0: 16, of
                        which all but one are allocated when needed */
  uint64_t initial;  /* the first promise is for the next value */
};

/* Creates a timeline for promises that the host keeps itself. (tide_queue_create_future creates one
 * for promises that a queue's operations keep.) NULL params select the defaults. TIDE_NOMEM;
 * TIDE_FULL: the domain's capacity, or the client's quota; TIDE_INVALID: struct_size is missing, or
 * a capacity above 2^20. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_future_create(struct tide_client *client, const struct tide_future_params *params,
                   struct tide_future **out_future);
/* Breaks the promises that are not queued with TIDE_CANCELLED, and releases the handle. Queued
 * points are still kept. The names are gone with the last of them: queries then return
 * TIDE_NOT_FOUND. NULL is fine. */
TIDE_API void tide_future_destroy(struct tide_future *future);
/* Promises the next value, to be queued before `deadline` (absolute; 0: the domain's default;
 * clamped to the domain's longest). TIDE_NOMEM, with the default capacity only: see above;
 * TIDE_FULL: the capacity is used up by outstanding promises;
 * TIDE_EXHAUSTED: the capacity is used up by broken values (create another timeline), or the values
 * ran out. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_future_promise(struct tide_future *future, uint64_t deadline, struct tide_point *out_point);
/* Keeps the promise of `value` now, by the host: queues and retires it, and retires all unbroken
 * values before it. With a position the signal is tracked, as by tide_timeline_signal. On an error
 * nothing has changed. TIDE_VALUE: the value is retired already; TIDE_NOT_FOUND: the value is not
 * promised, or the position's axis is unknown; TIDE_INVALID: a channel's timeline, where commands
 * keep the promises; or the value's own error when it is broken (perhaps by a deadline that has
 * just passed). */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_future_fulfil(struct tide_future *future, uint64_t value, struct tide_position *position);
/* Breaks a promise with `cause`. TIDE_VALUE: the value is retired, or queued; TIDE_NOT_FOUND;
 * TIDE_INVALID: `cause` is TIDE_OK; or the value's own error when it is broken already. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_future_break(struct tide_future *future,
                                                            uint64_t value, enum tide_status cause);

/* ---- queries and waits ---------------------------------------------------------------- */

/* Returns the state of a point. *out_status (may be NULL) is the cause of a broken one, else
 * TIDE_OK. TIDE_NOT_FOUND: the domain has no such point, or the point is not promised and its
 * timeline's channel is open. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_point_state(struct tide_points *points,
                                                           struct tide_point point,
                                                           enum tide_point_state *out_state,
                                                           enum tide_status *out_status);
/* Returns the timeline and the value of a point, for the waits of timeline.h. The caller gets a
 * reference to the timeline, and releases it. TIDE_NOT_FOUND. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_point_timeline(struct tide_points *points,
                                                              struct tide_point point,
                                                              struct tide_timeline **out_timeline,
                                                              uint64_t *out_value);
/* Blocks until the point ends or the deadline passes. Returns TIDE_OK for a retired point, the
 * point's error for a broken one; TIDE_TIMEOUT: the deadline of this call; TIDE_NOT_FOUND. In a
 * `manual` domain it also watches the deadlines of promises while it waits. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_point_wait(struct tide_points *points, struct tide_point point, uint64_t deadline);
/* Adds a timepoint. Its `call`, which must be set, runs once the point ends, with TIDE_OK or the
 * point's error. tide_timepoint_cancel cancels it. After an error no call comes. TIDE_NOT_FOUND;
 * TIDE_INVALID: no call. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_point_when_complete(struct tide_points *points, struct tide_point point,
                         struct tide_timepoint *timepoint);

#define TIDE_ASSUMED_MAX 8

/* A wait for "schedulable". The caller provides the storage, until `call` has run or
 * tide_schedulable_cancel has returned true. All fields but the first three are zeroed. */
struct tide_schedulable {
  /* status: TIDE_OK: the point is schedulable for this client, or retired; the point's error when
   * it broke; TIDE_FULL: the domain's `parts` are used up; TIDE_CANCELLED: the client was
   * destroyed. Runs like a timepoint's call: without a lock, one at a time, never nested. */
  void (*call)(struct tide_schedulable *wait, enum tide_status status);
  void *user;
  struct tide_client *client; /* the client: its trust applies, and its promises may be assumed */
  uint64_t private_words[48];
};

/* Calls back once the point is schedulable. For this call alone, each point of `assumed`, and
 * all before it on its timeline, count as points that the caller will retire. They must be the
 * client's own; their deadlines stay in force, and the client is charged when they are missed.
 * After an error no call comes. TIDE_DENIED: an assumed point is not the client's;
 * TIDE_NOT_FOUND; TIDE_INVALID: more than TIDE_ASSUMED_MAX, a point that is not on a future
 * timeline, or no call. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_point_when_schedulable(struct tide_schedulable *wait, struct tide_point point,
                            const struct tide_point *assumed, size_t assumed_count);
/* True: the call will not run. False: the call has run, is running, or will run. */
TIDE_API bool tide_schedulable_cancel(struct tide_schedulable *wait);

/* ---- compound points -------------------------------------------------------------------- */

/* Promises a point that will be defined before `deadline` (as for tide_future_promise). TIDE_FULL:
 * the domain's capacity, or the client's quota; TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_compound_promise(struct tide_client *client, uint64_t deadline, struct tide_point *out_point);
/* Defines the compound as all of the parts. Without parts it is retired. On an error it stays
 * undefined, and may be defined again:
 * - TIDE_NOT_FOUND: the compound, or a part, is not promised
 * - TIDE_DENIED: the compound is not this client's
 * - TIDE_INVALID: the point is no compound, or is defined already
 * - the compound's error, when it is broken already
 * - TIDE_DEADLOCK: the compound would wait for itself
 * - TIDE_FULL: the domain's `parts`, or the client's quota */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_compound_all(struct tide_client *client,
                                                            struct tide_point compound,
                                                            const struct tide_point *parts,
                                                            size_t count);
/* Defines the compound as any of the parts. Errors as from tide_compound_all; no parts:
 * TIDE_INVALID. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_compound_any(struct tide_client *client,
                                                            struct tide_point compound,
                                                            const struct tide_point *parts,
                                                            size_t count);
/* Defines the compound by an expression. Errors as from tide_compound_all; TIDE_CORRUPT as from
 * tide_expression_check. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_compound_expression(struct tide_client *client, struct tide_point compound, const char *text,
                         size_t length, const struct tide_point *parts, size_t count,
                         struct tide_diag *diag);
/* Removes the compound's name; breaks it with TIDE_CANCELLED if it has not ended. TIDE_NOT_FOUND,
 * TIDE_DENIED; TIDE_INVALID: no compound. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_compound_destroy(struct tide_client *client,
                                                                struct tide_point compound);

#define TIDE_EXPRESSION_LENGTH 4096 /* bytes */
#define TIDE_EXPRESSION_DEPTH 64    /* nested parentheses */

/* Checks an expression like "(0&1&2)|(3&4&5)": indices below `count`, & before |, parentheses,
 * spaces; nothing else. Reads `length` bytes, without a terminator. TIDE_CORRUPT, with line 1 and
 * the column: malformed, an index out of range, too deep, too long, empty. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_expression_check(const char *text, size_t length, size_t count, struct tide_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
