/* point/point_state.h: the interface between point/ and the code that queues commands.
 *
 * point/ knows no queue. It declares the events that it needs, and sched (or a test's fake) reports
 * them:
 *
 *   a queue has a              struct tide_channel     tide_channel_open … _close
 *   an operation has a         struct tide_command     tide_channel_insert: queues it last in its
 *                                                      channel, with the points that it waits for
 *                                                      and the promises that it will retire
 *   the operation is over                              tide_command_done, with its status
 *   its waits may open                                 a tide_listener on each dependency node:
 *                                                      `settled`
 *
 * The sequence for one operation that waits for points and retires some:
 *
 *   1. Submit: tide_points_expire_unwatched, then tide_point_resolve for each point that it names
 *      and tide_promise_find for each that it retires, then tide_channel_insert. On an error
 *      nothing has changed and the submit is refused: TIDE_DEADLOCK: a wait would close a cycle;
 *      TIDE_NOT_FOUND; TIDE_VALUE; or a broken promise's own error.
 *   2. Held or entered: the future timeline is a tide_timeline, and the operation's record of the
 *      value may be pending in it (timeline_state.h), so waits are classified as on any timeline.
 *      A wait opens once the point's dependency node is settled; the node's status is the result.
 *   3. Publication, all under one hold of the lock: the tracker, then tide_timeline_reach with the
 *      record (which wakes no waiter of such a timeline), then tide_command_done, which does. It
 *      raises a value that was not reached by then as external. If the operation failed,
 *      tide_timeline_break only removes the record, and tide_command_done breaks the promise alone.
 *   4. Before the lock is released: tide_points_look_again.
 *
 * Each of these appends the waiters that it wakes to a tide_fired, as in timeline_state.h, to be
 * run without the lock.
 *
 * Storage: the caller owns channels, commands, their edges and listeners, and may free them when
 * the command is done. Promises are stored in their future timeline.
 *
 * Every function here requires the context's scheduler lock, unless its comment says otherwise. */
#ifndef TIDE_POINT_POINT_STATE_H
#define TIDE_POINT_POINT_STATE_H

#include "base/deferred.h"
#include "base/text.h"
#include "point/graph.h"

#define TIDE_TRUSTED_MAX 64

struct tide_domains {
  uint32_t count;
  uint32_t list[TIDE_TRUSTED_MAX];
};

#define TIDE_FUTURE_MOST (1u << 20) /* pending promises of one timeline */

#define TIDE_SLOT_NONE UINT32_MAX
enum tide_slot_kind { TIDE_SLOT_FREE, TIDE_SLOT_FUTURE, TIDE_SLOT_COMPOUND };

struct tide_slot {
  void *object;
  uint32_t generation;
  uint32_t kind;
  uint32_t next; /* the next free slot; in use: 0, or the next one to free, see tide_points_pin */
};

/* Storage for the edges of groups and the listeners of watches. */
struct tide_cell {
  union {
    struct tide_dependency_edge edge;
    struct {
      struct tide_listener listener;
      struct tide_watch *watch;
    } look;
    struct tide_cell *next_free;
  } as;
  struct tide_cell *next; /* the owner's next cell */
};
struct tide_group {
  struct tide_dependency_node node;
  struct tide_group *next;
};

/* Reports each value that is promised or ends, for a copy of the timeline elsewhere (a service
 * publishes it in shared memory). Called under the lock: may only store. Appends the waiters that
 * it wakes to `fired`. */
struct tide_observed {
  uint32_t slot, generation; /* name the timeline */
  uint64_t value, lowest;    /* the value reached, and the lowest broken one */
  uint64_t ended;            /* the value that has ended, */
  enum tide_status status;   /* with this result */
  uint64_t returned;         /* promises released since the timeline was made */
  uint64_t newest;           /* the last value promised */
  uint32_t open;             /* promises that have not ended yet */
  bool counts;               /* nothing has ended: only these counts have changed */
  uint64_t none_from; /* no value >= this will be promised, because of `status`; 0: not reported */
  bool closed;        /* the name is gone: no value ends after this */
};
typedef void (*tide_observer)(void *user, const struct tide_observed *what,
                              struct tide_fired *fired);

struct tide_points {
  struct tide_context *context;
  struct tide_owned owned;
  struct tide_lock *lock; /* the context's scheduler lock */
  const struct tide_platform *platform;
  struct tide_slot *slots;
  uint32_t domain, slot_count;
  struct tide_thread *thread;
  struct tide_watch *stale, **last_stale;
  tide_observer observer;
  void *observer_user;
  bool stopping, nudge;    /* nudge: the thread's sleep is too long */
  uint32_t word;           /* futex that the thread sleeps on */
  uint64_t asleep_until;   /* when the thread's sleep ends */
  struct tide_counter due; /* unmet deadlines */
  uint64_t deadline, longest;
  bool pinned;       /* names stay until tide_points_unpin */
  uint32_t unpinned; /* the first slot to free then; TIDE_SLOT_NONE: none */
  uint64_t grace;    /* added to `deadline` if read from a clock that lags; 0: it does not */
  uint32_t free_slot;
  struct tide_cell *cells, *free_cell;
  struct tide_group *groups, *free_group;
  uint32_t part_count, free_cells, free_groups;
  uint32_t looks; /* cells in use by watches */
  struct tide_link clients;
  uint64_t searches;
  uint32_t orphans; /* future timelines and compounds without a client that have not ended */
  uint32_t orphan_compound_count, orphan_parts; /* these compounds, and their parts */
  struct tide_link orphan_compounds;            /* the oldest orphan first */
  struct tide_domains trusted;
};

struct tide_client {
  struct tide_points *points;
  struct tide_client_stats stats; /* without the counts kept in its future timelines */
  struct tide_link link;
  struct tide_link futures, compounds, watches;
  uint32_t timelines_most, parts_most;
  bool narrow;
  struct tide_domains trusted;
  char label[TIDE_LABEL_SIZE];
};

/* An obligation with a deadline: a promise must be queued, or a compound defined, before it. */
struct tide_unmet {
  struct tide_pending_value pending;
  struct tide_node due;
  struct tide_timeline *timeline;
  struct tide_client *client; /* the debtor, for its statistics; NULL: it is gone */
  struct tide_dependency_node node;
};

/* The fields that most promises touch come first. The dependency node stays untouched until it is
 * resolved: most promises are made, waited for by hosts, and kept. */
struct tide_promise {
  struct tide_future *future;
  struct tide_promise *next; /* the next free promise */
  bool seen;                 /* true: the dependency node is in use, or not initialized */
  bool counted;              /* included in the channel's `awaited` */
  bool skipped;              /* a later one is queued: it may be covered, but not queued */
  bool spare;                /* joined to another broken range: free it after the notification */
  struct tide_unmet unmet;
  struct tide_dependency_edge edge; /* the command that will retire it */
  struct tide_link in_command;
};

/* The fields that every promise touches are in the first cache line and in the first promise. */
struct tide_future {
  struct tide_points *points;
  struct tide_client *client;
  struct tide_timeline *timeline;
  struct tide_promise *free;
  uint64_t newest; /* the last value promised */
  uint64_t newest_queued;
  uint64_t returned;            /* promises released since creation */
  uint32_t open;                /* promises with an end that is not notified yet */
  uint32_t capacity : 22;       /* promises */
  uint32_t closed : 8;          /* the reason why no more values are promised; TIDE_OK: open */
  uint32_t gone : 1;            /* free it when `open` reaches 0 */
  uint32_t by_commands : 1;     /* a channel's commands keep its promises, not the host */
  struct tide_channel *channel; /* NULL: the host keeps the promises, or the channel is closed */
  uint64_t kept;
  uint32_t slot;    /* index in points->slots */
  uint32_t skipped; /* pending promises below newest_queued that are not queued */
  struct tide_link link, in_channel;
  struct tide_promise *more; /* the promises but the first; NULL: not allocated yet, or none */
  struct tide_promise first;
};
_Static_assert(sizeof(void *) != 8 || sizeof(struct tide_future) <= 512, "small things are small");
_Static_assert(TIDE_FUTURE_MOST < 1u << 22 && TIDE_STATUS_COUNT < 1u << 8, "they fit their fields");

static inline uint32_t tide_future_generation(const struct tide_future *future) {
  return future->points->slots[future->slot].generation;
}

struct tide_compound {
  struct tide_unmet unmet;
  struct tide_client *client;
  struct tide_link link;
  struct tide_points *points;
  struct tide_cell *cells;
  struct tide_group *groups;
  uint32_t slot, parts; /* slot 0: its name is gone */
  bool gone;            /* free it when it has settled */
  bool told;
};

/* A point of another domain, stored as a compound without parts. */
struct tide_stand_in {
  struct tide_compound compound;
  uint32_t domain;
};

struct tide_channel {
  struct tide_points *points;
  struct tide_command *tail; /* the last command not done; NULL: none */
  struct tide_link futures;
  uint32_t awaited; /* owed promises that another node depends on */
  uint32_t closed;  /* the cause; TIDE_OK: open */
  uint64_t mark;    /* scratch of cycle_detection.c */
};

struct tide_command {
  struct tide_dependency_node node;
  struct tide_channel *channel;
  struct tide_dependency_edge before; /* edge to the command before it in its channel */
  struct tide_link promises;          /* promises that it will retire */
  bool passable;                      /* later commands of the channel do not depend on it */
};

/* ---- calls from sched ---- */

void tide_channel_open(struct tide_channel *channel, struct tide_points *points);
/* Breaks the promises that the channel owes with `cause`, and closes its future timelines
 * (tide_future_close). The channel must stay until its commands are done. */
void tide_channel_close(struct tide_channel *channel, enum tide_status cause,
                        struct tide_fired *fired);
/* Does tide_future_create for promises that this channel's commands keep. Takes the lock. */
enum tide_status tide_future_create_on(struct tide_client *client, struct tide_channel *channel,
                                       const struct tide_future_params *params,
                                       struct tide_future **out_future);

struct tide_resolved {
  struct tide_dependency_node *node; /* NULL: the point has ended, */
  enum tide_status status;           /* with this result */
};
/* Finds a point's dependency node or result. TIDE_NOT_FOUND: no such point, or its value is not
 * promised. */
enum tide_status tide_point_resolve(struct tide_points *points, struct tide_point point,
                                    struct tide_resolved *out_resolved);
/* Returns the timeline of a point; NULL: no such point. */
struct tide_timeline *tide_point_find_timeline(const struct tide_points *points,
                                               struct tide_point point);
/* Does tide_future_promise, with the domain's default deadline, on a timeline given by its name,
 * which may be gone: TIDE_CANCELLED. */
enum tide_status tide_future_promise_named(struct tide_points *points, struct tide_point name,
                                           struct tide_point *out_point);
/* Adds the timeline's counts of promised and kept values to `stats`. */
static inline void tide_future_count(const struct tide_future *future,
                                     struct tide_client_stats *stats) {
  stats->promised += future->newest - future->timeline->initial;
  stats->kept += future->kept;
}
/* Returns the capacity. Takes the lock. */
uint32_t tide_future_capacity(const struct tide_future *future);
/* Returns the client of a future timeline; NULL: one of the two is gone. Takes the lock. */
struct tide_client *tide_future_client(struct tide_points *points, struct tide_point name);
/* Does tide_future_promise for this value. TIDE_VALUE: another value is next, and the timeline is
 * not closed. Takes the lock. */
enum tide_status tide_future_promise_value(struct tide_future *future, uint64_t value,
                                           uint64_t deadline, struct tide_point *out_point);
/* Closes the timeline: each value that has not been promised breaks with `cause`. Only the first
 * call has an effect. Takes the lock. */
void tide_future_close(struct tide_future *future, enum tide_status cause);
/* True if the value is promised, has ended, or is above the last one of a closed timeline. */
static inline bool tide_future_knows(const struct tide_future *future, uint64_t value) {
  return value <= future->newest || future->closed;
}
void tide_future_give_up(struct tide_points *points, struct tide_point name,
                         struct tide_fired *fired);
/* Does tide_compound_destroy for a compound of any client. Does nothing if it is gone. */
void tide_compound_give_up(struct tide_points *points, struct tide_point name,
                           struct tide_fired *fired);
/* Breaks the compound that lost its client first, with TIDE_OWNER_DIED and without waiting for its
 * parts: the room is needed. False: there is none. Takes the lock. */
bool tide_points_end_orphan(struct tide_points *points);
/* Promises a compound without a deadline, for internal use. Takes the lock. */
enum tide_status tide_compound_promise_open(struct tide_client *client,
                                            struct tide_point *out_point);
/* Creates a compound that is broken from the start. Takes the lock. */
enum tide_status tide_compound_create_broken(struct tide_client *client, enum tide_status cause,
                                             struct tide_point *out_point);
/* Finds a promise that a command of this channel may retire. Breaks overdue promises first, which
 * may free promises found before; if `fired` is NULL, the caller has done so
 * (tide_points_expire_unwatched). TIDE_NOT_FOUND; TIDE_VALUE: the promise is retired, queued, or
 * below a queued one; TIDE_INVALID: the timeline is another channel's; or a broken promise's own
 * error. */
enum tide_status tide_promise_find(struct tide_channel *channel, struct tide_point point,
                                   struct tide_promise **out_promise, struct tide_fired *fired);
struct tide_command_plan {
  const struct tide_resolved *waits;
  struct tide_dependency_edge *const
      *edges; /* parallel to `waits`; owned by the command until it is done */
  size_t wait_count;
  struct tide_promise *const *promises; /* ascending within each future timeline */
  size_t promise_count;
  bool passable; /* see struct tide_command */
};
/* Queues the command, last in its channel. TIDE_DEADLOCK: nothing has changed. */
enum tide_status tide_channel_insert(struct tide_channel *channel, struct tide_command *command,
                                     const struct tide_command_plan *plan,
                                     struct tide_fired *fired);
/* Ends a command, after all before it, or cancels it early. TIDE_OK: retires its promises; any
 * other status: breaks them with it. The caller may then free the command and its edges. */
void tide_command_done(struct tide_command *command, enum tide_status status,
                       struct tide_fired *fired);
/* Reports that the operation has entered: its records are pending in their timelines. */
void tide_command_entered(struct tide_command *command, struct tide_fired *fired);
/* Breaks the command's promises at once: the operation is not over, but it is certain to fail. */
void tide_command_fail(struct tide_command *command, enum tide_status status,
                       struct tide_fired *fired);
/* Adds a listener to the dependency node, until tide_dependency_unlisten or until the node has
 * settled. */
void tide_dependency_listen(struct tide_dependency_node *node, struct tide_listener *listener);
void tide_dependency_unlisten(struct tide_listener *listener);

/* ---- stand-ins: a transport reports on points of other domains ---- */

/* Creates a point of this domain that stands for one of `domain`. The deadline is for its end or,
 * if `domain` is trusted, for the report that it is scheduled; TIDE_FOREVER is allowed. Takes the
 * lock. */
enum tide_status tide_stand_in_create(struct tide_client *client, uint32_t domain,
                                      uint64_t deadline, struct tide_point *out_point);
/* Applies a report of the point's service. From an untrusted domain only an end counts. */
void tide_stand_in_report(struct tide_points *points, struct tide_point point,
                          enum tide_point_state state, enum tide_status status,
                          struct tide_fired *fired);
/* Breaks all stand-ins of a domain that have not ended: its service is gone. */
void tide_points_lose_domain(struct tide_points *points, uint32_t domain, enum tide_status cause,
                             struct tide_fired *fired);

/* ---- describe.c ---- */

/* How the values of a timeline ended. */
struct tide_ended {
  uint64_t reached;        /* all values up to it have retired, but for broken ones */
  enum tide_status closed; /* why all values above the last promised one are broken; TIDE_OK: none
                              of them was promised */
};
struct tide_broken_run {
  uint64_t first, last;
  enum tide_status status;
};
/* Copies the ends of the timeline in this slot, for an observer that hears that its name is gone.
 * Returns the number of broken runs, at most `most`: a timeline has no more of them than promises.
 * Under the lock. */
uint32_t tide_slot_ends(const struct tide_points *points, uint32_t slot, struct tide_ended *out,
                        struct tide_broken_run *out_runs, uint32_t most);

/* Appends the name of a command, " 'draw' of queue 'compose'" say. */
typedef void (*tide_command_name)(struct tide_text *text, const struct tide_command *command);
/* The backing of the timelines of futures and compounds. */
extern const struct tide_value_ops tide_point_backing;
/* Appends "; ", the client or command that is to bring this value of a point's timeline, and the
 * deadline; of a compound its open parts, to a bounded depth and number. Appends nothing if the
 * value is not pending. Under the lock. */
void tide_point_explain(struct tide_text *text, const struct tide_timeline *timeline,
                        uint64_t value, tide_command_name name);

/* The following are diagnostics, and take the lock. */

struct tide_described {
  char label[TIDE_LABEL_SIZE];
  bool stand_in;
  bool cut;               /* the counts stop at a limit */
  uint64_t value, newest; /* the value reached; the last one promised */
  uint64_t owed, queued;  /* promised and not queued or defined; queued and not over */
  uint64_t broken;
  uint64_t oldest_due; /* the earliest owed promise's deadline; 0: none is owed */
  uint32_t capacity, parts;
};
void tide_future_describe(const struct tide_future *future, struct tide_described *out);
/* Describes a compound or a stand-in. TIDE_NOT_FOUND. */
enum tide_status tide_compound_describe(struct tide_points *points, struct tide_point name,
                                        struct tide_described *out);

/* ---- internal to point/ ---- */

static inline struct tide_lock *tide_points_lock(const struct tide_points *points) {
  tide_lock_take(points->lock, points->platform);
  return points->lock;
}
/* Judges stale watches, wakes the deadline thread if needed, releases the lock, and runs the fired
 * nodes. */
void tide_points_unlock_and_look(struct tide_points *points, struct tide_fired *fired);
static inline void tide_points_unlock(struct tide_points *points, struct tide_fired *fired) {
  if (points->stale || points->nudge) {
    tide_points_unlock_and_look(points, fired);
    return;
  }
  tide_lock_give(points->lock);
  if (fired->first) tide_fired_run_calls(fired, points->context);
}
/* Judges the stale watches. Does not release the lock: sched calls it after its last report. */
void tide_points_judge_stale(struct tide_points *points, struct tide_fired *fired);
static inline void tide_points_look_again(struct tide_points *points, struct tide_fired *fired) {
  if (points->stale) tide_points_judge_stale(points, fired);
}

/* Sets the one observer, before any point exists; NULL: none. */
void tide_points_observe(struct tide_points *points, tide_observer observer, void *user);
/* Notifies the observer that no value of the future timeline >= `from` will be promised. */
void tide_points_notify_none(struct tide_points *points, const struct tide_future *future,
                             uint64_t from, struct tide_fired *fired);
/* Finds the end of the compound in this slot, as the observer hears it: it may have ended before it
 * was published. False: it has not ended, or is a future timeline. Under the lock. */
bool tide_slot_news(const struct tide_points *points, uint32_t slot, struct tide_observed *out);
/* Notifies the observer, if there is one and the slot is not 0. Sets the fields that the timeline
 * tells. */
void tide_points_notify(struct tide_points *points, const struct tide_observed *what,
                        const struct tide_timeline *timeline, struct tide_fired *fired);
/* From here on no timeline's name goes, so that several look-ups of one point agree, until the
 * caller's tide_points_unpin, which takes the lock. Under the lock. One thread does this. */
static inline void tide_points_pin(struct tide_points *points) { points->pinned = true; }
void tide_points_unpin(struct tide_points *points);
/* True if the object in the slot has to wait for tide_points_unpin. */
bool tide_slot_defer(struct tide_points *points, uint32_t slot);
/* Free an object that has ended and that nothing names, now that names may go. */
void tide_future_free_unpinned(struct tide_future *future, struct tide_fired *fired);
void tide_compound_free_unpinned(struct tide_compound *compound, struct tide_fired *fired);
enum tide_status tide_slot_take(struct tide_points *points, struct tide_client *client,
                                enum tide_slot_kind kind, void *object, uint32_t *out_slot);
void tide_slot_give(struct tide_points *points, uint32_t slot);
struct tide_point tide_slot_point(const struct tide_points *points, uint32_t slot, uint64_t value);
/* Returns the slot that the point names; NULL: it is gone. */
static inline const struct tide_slot *tide_slot_of(const struct tide_points *points,
                                                   const struct tide_point *point) {
  if (point->domain != points->domain || point->reserved || !point->timeline ||
      point->timeline > points->slot_count)
    return NULL;
  const struct tide_slot *slot = &points->slots[point->timeline];
  return slot->generation == point->generation ? slot : NULL;
}
void *tide_slot_find(const struct tide_points *points, struct tide_point point,
                     enum tide_slot_kind kind);
struct tide_cell *tide_cell_take(struct tide_points *points);
void tide_cells_give(struct tide_points *points, struct tide_cell *cells);

uint32_t tide_parts_left(const struct tide_points *points, const struct tide_client *client);

bool tide_domains_have(const struct tide_domains *domains, uint32_t domain);
bool tide_client_trusts(const struct tide_client *client, uint32_t domain);

/* Adds an obligation: its pending value and its deadline. The caller counts it as promised. */
static inline void tide_unmet_begin(struct tide_points *points, struct tide_unmet *unmet,
                                    struct tide_client *client, uint64_t value, uint64_t deadline) {
  unmet->client = client;
  unmet->due.state = TIDE_NODE_IDLE;
  tide_pending_add_locked(unmet->timeline, &unmet->pending, value);
  if (deadline == TIDE_FOREVER) return;
  tide_counter_add(&points->due, &unmet->due, deadline);
  if (deadline < points->asleep_until && points->thread) points->nudge = true;
}
/* Removes the deadline: the promise is queued, or the compound defined. */
static inline void tide_unmet_met(struct tide_points *points, struct tide_unmet *unmet) {
  tide_counter_remove(&points->due, &unmet->due);
}
/* Returns the absolute deadline, limited to the domain's longest; asked 0: the default. */
uint64_t tide_points_deadline_of(const struct tide_points *points, uint64_t asked);
static inline uint64_t tide_points_deadline(const struct tide_points *points, uint64_t asked) {
  if (asked || !points->grace) return tide_points_deadline_of(points, asked);
  return points->platform->now_about(points->platform->self) + points->grace + points->deadline;
}
/* Breaks overdue promises and compounds; returns their number. */
uint32_t tide_points_expire_locked(struct tide_points *points, struct tide_fired *fired);
/* Breaks overdue promises and compounds if no thread does; call it before queueing. With a thread,
 * a promise is overdue when the thread breaks it: reading the clock here costs as much as three
 * locks. */
static inline void tide_points_expire_unwatched(struct tide_points *points,
                                                struct tide_fired *fired) {
  if (!points->thread) tide_points_expire_locked(points, fired);
}

void tide_promise_break(struct tide_promise *promise, enum tide_status cause,
                        struct tide_fired *fired);
void tide_compound_break(struct tide_compound *compound, enum tide_status cause,
                         struct tide_fired *fired);
/* Detaches the object from its client. Breaks owed promises, or the undefined compound; queued and
 * defined ones are kept. The object frees itself after their end. */
void tide_future_orphan(struct tide_future *future, enum tide_status cause,
                        struct tide_fired *fired);
void tide_compound_orphan(struct tide_compound *compound, enum tide_status cause,
                          struct tide_fired *fired);
/* Ends all pending values up to the timeline's reached value. */
void tide_future_pass(struct tide_propagation *propagation, struct tide_future *future);
/* Does tide_promise_break as part of a propagation. */
void tide_promise_fail(struct tide_propagation *propagation, struct tide_promise *promise,
                       enum tide_status cause);
/* Marks the promise as queued: the command will retire it. */
void tide_promise_queue(struct tide_propagation *propagation, struct tide_promise *promise,
                        struct tide_command *command);
/* Counts the promises that the node depends on in their channels' `awaited`. */
void tide_needs_counted(const struct tide_dependency_node *node);

/* ---- schedulable.c ---- */

/* The private part of a struct tide_schedulable. */
struct tide_watch {
  struct tide_node tree_node; /* while its call is in a tide_fired */
  struct tide_deferred_call call;
  struct tide_link link;             /* entry in the client's `watches` */
  struct tide_listener root;         /* on the dependency node of the awaited point */
  struct tide_dependency_node *node; /* NULL: it has ended, with `status` */
  struct tide_points *points;
  struct tide_cell *looks; /* listeners on dependency nodes that hold up the point */
  struct tide_watch *next_stale;
  uint32_t status;
  uint32_t look_count, assumed_count;
  bool waiting, is_stale;
  struct tide_point assumed[TIDE_ASSUMED_MAX];
};
/* Ends the watch with TIDE_CANCELLED: its client goes. */
void tide_watch_cancel(struct tide_watch *watch, struct tide_fired *fired);

/* ---- cycle_detection.c ---- */

/* True if the command's waits would close a cycle. The command has its edges, but is not in the
 * channel yet. */
bool tide_command_closes_cycle(struct tide_channel *channel, struct tide_command *command,
                               const struct tide_command_plan *plan);

/* ---- point_expression.c ---- */

enum tide_expression_kind {
  TIDE_EXPRESSION_INDEX,
  TIDE_EXPRESSION_AND,
  TIDE_EXPRESSION_OR,
  TIDE_EXPRESSION_OPEN,
  TIDE_EXPRESSION_CLOSE,
  TIDE_EXPRESSION_END
};
struct tide_expression {
  const char *text;
  size_t length, count, at;
  uint32_t depth;
  bool operand; /* an operand is expected next */
};
/* Reads the next token; *out_index is set for TIDE_EXPRESSION_INDEX. TIDE_CORRUPT, with the
 * column. */
enum tide_status tide_expression_step(struct tide_expression *expression,
                                      enum tide_expression_kind *out_kind, size_t *out_index,
                                      struct tide_diag *diag);

#endif
