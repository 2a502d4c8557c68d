/* point/point_state.h: what whoever queues commands tells the points, and what it may ask.
 *
 * point/ knows no queue. It declares what it must be told, and sched (or a test's fake) tells it:
 *
 *   a queue has a          struct tide_channel        tide_channel_open … _close
 *   an operation has a     struct tide_command        tide_channel_insert: it is queued, behind all
 *                                                     of its channel, waits for these points, and
 *                                                     will retire those promises
 *   it has been executed                              tide_command_done, with its status
 *   it may open its waits                             a tide_listener on the dependency node:
 * `settled`
 *
 * The order of things for one operation that waits for points and retires some:
 *
 *   1. submit: tide_points_expire_unwatched, then tide_point_resolve each point that it names and
 *      tide_promise_find each that it retires.
 *      tide_channel_insert. On an error nothing has changed and the submit is refused:
 *      TIDE_DEADLOCK: a wait would close a cycle; TIDE_NOT_FOUND; TIDE_VALUE; a broken promise's
 *      own error ("a broken one keeps its pending value").
 *   2. held or entered, as ever: the future timeline is a tide_timeline; the operation's record of
 *      that value may be made pending in it (timeline_state.h), so waits are classified as ever.
 *      A wait opens once the point's dependency node is settled. Then dependency node->status says
 *      whether it was good.
 *   3. publication, all under one hold of the lock: tracker, then tide_timeline_reach with the
 * record (on such a timeline it wakes nobody yet), then tide_command_done, which does. A value that
 *      was not reached by then is raised as external. When the operation failed,
 *      tide_timeline_break only takes the record off, and tide_command_done breaks the promise,
 *      which breaks alone.
 *   4. before the lock is given back: tide_points_look_again.
 *
 * Who is woken by any of it is appended to a tide_fired, as in timeline_state.h, to be run
 * without the lock.
 *
 * Storage: channels, commands, their needs and listeners lie with whoever uses them, and may go
 * when the command is done. Promises lie in their future timeline.
 *
 * All functions here: under the context's scheduler lock, unless it says otherwise. */
#ifndef TIDE_POINT_POINT_STATE_H
#define TIDE_POINT_POINT_STATE_H

#include "base/deferred.h"
#include "point/graph.h"

#define TIDE_TRUSTED_MAX 64

struct tide_domains {
  uint32_t count;
  uint32_t list[TIDE_TRUSTED_MAX];
};

#define TIDE_FUTURE_MOST (1u << 20) /* promises of one timeline at a time */

enum tide_slot_kind { TIDE_SLOT_FREE, TIDE_SLOT_FUTURE, TIDE_SLOT_COMPOUND };

struct tide_slot {
  void *object;
  uint32_t generation;
  uint32_t kind;
  uint32_t next; /* of the free ones */
};

/* What groups and looks are made of. */
struct tide_cell {
  union {
    struct tide_dependency_edge edge;
    struct {
      struct tide_listener listener;
      struct tide_watch *watch;
    } look;
    struct tide_cell *next_free;
  } as;
  struct tide_cell *next; /* of whoever has it */
};
struct tide_group {
  struct tide_dependency_node node;
  struct tide_group *next;
};

/* Tells somebody of each value that ends: for those who show it elsewhere (a service, in memory
 * that other processes read). Under the lock: stores only. Whom it wants to wake it appends to
 * `fired`. */
struct tide_observed {
  uint32_t slot, generation; /* the name of the timeline */
  uint64_t value, lowest;    /* how far it is, and its lowest broken value */
  uint64_t ended;            /* this one has ended, */
  enum tide_status status;   /* so */
  uint64_t returned;         /* promises whose room came free, from the beginning */
  uint64_t none_from; /* no value >= it will be promised, for `status`; 0: none has ended so */
  bool closed;        /* the name goes: nothing ends any more */
};
typedef void (*tide_observer)(void *user, const struct tide_observed *what,
                              struct tide_fired *fired);

struct tide_points {
  struct tide_context *context;
  struct tide_owned owned;
  struct tide_lock *lock; /* the context's scheduler's */
  const struct tide_platform *platform;
  struct tide_slot *slots;
  uint32_t domain, slot_count;
  struct tide_thread *thread;
  struct tide_watch *stale, **last_stale;
  tide_observer observer;
  void *observer_user;
  bool stopping, nudge;    /* nudge: the thread sleeps too long */
  uint32_t word;           /* it sleeps on it */
  uint64_t asleep_until;   /* the thread's */
  struct tide_counter due; /* unmet counts, by deadline */
  uint64_t deadline, longest;
  uint64_t
      grace; /* so much later is `deadline`, since a clock is read that is behind; 0: it is not */
  uint32_t free_slot;
  struct tide_cell *cells, *free_cell;
  struct tide_group *groups, *free_group;
  uint32_t part_count, free_cells, free_groups;
  uint32_t looks; /* cells that watches have */
  struct tide_link clients;
  uint64_t searches;
  uint32_t orphans; /* future timelines whose client is gone, and which still keep what is queued */
  struct tide_domains trusted;
};

struct tide_client {
  struct tide_points *points;
  struct tide_client_stats stats; /* but for what its future timelines count */
  struct tide_link link;
  struct tide_link futures, compounds, watches;
  uint32_t timelines_most, parts_most;
  bool narrow;
  struct tide_domains trusted;
  char label[TIDE_LABEL_SIZE];
};

/* What somebody owes before a deadline: a promise to be queued, a compound to be defined. */
struct tide_unmet {
  struct tide_pending_value pending;
  struct tide_node due;
  struct tide_timeline *timeline;
  struct tide_client *client; /* NULL: gone; nobody is charged */
  struct tide_dependency_node node;
};

/* What most promises touch lies in front. A dependency node that nobody has looked at is as it was
 * made, and costs nothing: most promises are made, waited for by hosts, and kept. */
struct tide_promise {
  struct tide_future *future;
  struct tide_promise *next; /* of the free ones */
  bool seen;                 /* somebody has its dependency node, or had it in this life */
  bool counted;              /* in the channel's `awaited` */
  bool skipped;              /* a later one is queued: it may be covered, but not queued */
  bool spare;                /* its broken range is another's: it is free once it was told */
  struct tide_unmet unmet;
  struct tide_dependency_edge edge; /* on the command that will retire it */
  struct tide_link in_command;
};

/* What every promise touches is in the first line and in front of the next. */
struct tide_future {
  _Alignas(TIDE_CACHE_LINE) struct tide_points *points;
  struct tide_client *client;
  struct tide_timeline *timeline;
  struct tide_promise *free;
  uint64_t newest; /* the last value promised */
  uint64_t newest_queued;
  uint64_t returned;            /* promises that came free, from the beginning */
  uint32_t open;                /* promised, and not told of its end */
  uint32_t closed;              /* why no further value is promised; TIDE_OK: they are */
  struct tide_channel *channel; /* NULL: the host's */
  uint64_t kept;
  uint32_t slot, generation;
  uint32_t skipped; /* promises before it that are not queued */
  bool gone;        /* when all that is open has ended, it goes */
  bool by_commands; /* its promises are kept by a channel's commands, not by the host */
  uint32_t capacity;
  struct tide_promise *promises;
  uint64_t initial;
  struct tide_link link, in_channel;
};

struct tide_compound {
  struct tide_unmet unmet;
  struct tide_client *client;
  struct tide_link link;
  struct tide_points *points;
  struct tide_cell *cells;
  struct tide_group *groups;
  uint32_t slot, parts; /* slot 0: its name is gone */
  bool gone;            /* when it has settled, it goes */
  bool told;
};

/* A point of another domain, as a compound without parts. */
struct tide_stand_in {
  struct tide_compound compound;
  uint32_t domain;
  bool reported; /* its service says that it is scheduled */
};

struct tide_channel {
  struct tide_points *points;
  struct tide_command *tail; /* the last one that is not done; NULL: none */
  struct tide_link futures;
  uint32_t awaited; /* promises that it owes and somebody depends on */
  uint32_t closed;  /* why; TIDE_OK: it is open */
  uint64_t mark;    /* cycle_detection.c's */
};

struct tide_command {
  struct tide_dependency_node node;
  struct tide_channel *channel;
  struct tide_dependency_edge before; /* the one before it in its channel */
  struct tide_link promises;          /* that it will retire */
  bool passable;                      /* nothing comes after it for being queued later */
};

/* ---- what sched tells ---- */

void tide_channel_open(struct tide_channel *channel, struct tide_points *points);
/* Breaks what it still owes with `cause`, and closes its future timelines (tide_future_close). It
 * stays until its commands are done. */
void tide_channel_close(struct tide_channel *channel, enum tide_status cause,
                        struct tide_fired *fired);
/* As tide_future_create, for promises that this channel's commands keep. Takes the lock. */
enum tide_status tide_future_create_on(struct tide_client *client, struct tide_channel *channel,
                                       const struct tide_future_params *params,
                                       struct tide_future **out_future);

struct tide_resolved {
  struct tide_dependency_node *node; /* NULL: it has ended, */
  enum tide_status status;           /* so */
};
/* TIDE_NOT_FOUND: no such point, or nobody has promised it. */
enum tide_status tide_point_resolve(struct tide_points *points, struct tide_point point,
                                    struct tide_resolved *out_resolved);
/* The timeline that a point is a value of; NULL: no such point. */
struct tide_timeline *tide_point_find_timeline(const struct tide_points *points,
                                               struct tide_point point);
/* Promises of a timeline by its name, for whoever may outlive it: as tide_future_promise, with the
 * room's deadline, and as tide_future_destroy. TIDE_CANCELLED: it is gone. */
enum tide_status tide_future_promise_named(struct tide_points *points, struct tide_point name,
                                           struct tide_point *out_point);
/* What it has promised and kept, to that of others. */
static inline void tide_future_count(const struct tide_future *future,
                                     struct tide_client_stats *stats) {
  stats->promised += future->newest - future->initial;
  stats->kept += future->kept;
}
/* Whose it is; NULL: its client, or itself, is gone. Takes the lock. */
struct tide_client *tide_future_client(struct tide_points *points, struct tide_point name);
/* As tide_future_promise, of this value: TIDE_VALUE if another one comes next, unless the timeline
 * is closed. Takes the lock. */
enum tide_status tide_future_promise_value(struct tide_future *future, uint64_t value,
                                           uint64_t deadline, struct tide_point *out_point);
/* Ends the promises: each value that has not been promised is broken with `cause`. The first cause
 * stays. Takes the lock. */
void tide_future_close(struct tide_future *future, enum tide_status cause);
/* True: the value is promised, has ended, or is above the last one of a closed timeline. */
static inline bool tide_future_knows(const struct tide_future *future, uint64_t value) {
  return value <= future->newest || future->closed;
}
void tide_future_give_up(struct tide_points *points, struct tide_point name,
                         struct tide_fired *fired);
/* As tide_compound_destroy, whoever's it is; nothing when it is gone. */
void tide_compound_give_up(struct tide_points *points, struct tide_point name,
                           struct tide_fired *fired);
/* A compound without a deadline, which nobody waits for. Takes the lock. */
enum tide_status tide_compound_promise_open(struct tide_client *client,
                                            struct tide_point *out_point);
/* A compound that is broken from its beginning. Takes the lock. */
enum tide_status tide_compound_create_broken(struct tide_client *client, enum tide_status cause,
                                             struct tide_point *out_point);
/* The promise that a command may retire: owed by this channel. What is overdue breaks first, and
 * what was found before may go; `fired` NULL: the caller has seen to it
 * (tide_points_expire_unwatched). TIDE_NOT_FOUND;
 * TIDE_VALUE: it is retired, queued, or below one that is queued; TIDE_INVALID: another channel's,
 * or no future timeline's; the error of a broken one. */
enum tide_status tide_promise_find(struct tide_channel *channel, struct tide_point point,
                                   struct tide_promise **out_promise, struct tide_fired *fired);
struct tide_command_plan {
  const struct tide_resolved *waits;
  struct tide_dependency_edge *const *edges; /* one a wait; the command's until it is done */
  size_t wait_count;
  struct tide_promise *const *promises; /* in ascending order within each future timeline */
  size_t promise_count;
  bool passable; /* later commands of the channel don't wait for it */
};
/* The command is queued, last in its channel. TIDE_DEADLOCK: nothing has changed. */
enum tide_status tide_channel_insert(struct tide_channel *channel, struct tide_command *command,
                                     const struct tide_command_plan *plan,
                                     struct tide_fired *fired);
/* It has finished, after all before it, or was cancelled and leaves. TIDE_OK: its promises are
 * retired; else they break with it. The command and its needs may go then. */
void tide_command_done(struct tide_command *command, enum tide_status status,
                       struct tide_fired *fired);
/* The operation has entered: the records of what it retires are pending in their timelines. */
void tide_command_entered(struct tide_command *command, struct tide_fired *fired);
/* It is sure to fail, though it is not over: its promises break at once. */
void tide_command_fail(struct tide_command *command, enum tide_status status,
                       struct tide_fired *fired);
/* Tells of a dependency node's changes, until it is unlistened or the dependency node has settled.
 */
void tide_dependency_listen(struct tide_dependency_node *node, struct tide_listener *listener);
void tide_dependency_unlisten(struct tide_listener *listener);

/* ---- stand-ins: what a transport tells of other domains ---- */

/* A point of this room that stands for one of `domain`. Its deadline is for ending or, from a
 * trusted domain, for being reported scheduled; TIDE_FOREVER is allowed. Takes the lock. */
enum tide_status tide_stand_in_create(struct tide_client *client, uint32_t domain,
                                      uint64_t deadline, struct tide_point *out_point);
/* What its service says. Anything but an end from a domain that is not trusted changes nothing. */
void tide_stand_in_report(struct tide_points *points, struct tide_point point,
                          enum tide_point_state state, enum tide_status status,
                          struct tide_fired *fired);
/* Breaks all stand-ins of a domain that have not ended: its service is gone. */
void tide_points_lose_domain(struct tide_points *points, uint32_t domain, enum tide_status cause,
                             struct tide_fired *fired);

/* ---- describe.c: for people who look; take the lock ---- */

struct tide_described {
  char label[TIDE_LABEL_SIZE];
  bool stand_in;
  bool cut;               /* there was more than could be counted in a bounded time */
  uint64_t value, newest; /* reached; the last one promised */
  uint64_t owed, queued;  /* promised and not queued or defined; queued, and not over */
  uint64_t broken;
  uint64_t oldest_due; /* the deadline of the oldest that is owed; 0: none is */
  uint32_t capacity, parts;
};
void tide_future_describe(const struct tide_future *future, struct tide_described *out);
/* Of a compound or a stand-in. TIDE_NOT_FOUND. */
enum tide_status tide_compound_describe(struct tide_points *points, struct tide_point name,
                                        struct tide_described *out);

/* ---- among the files of point/ ---- */

static inline struct tide_lock *tide_points_lock(const struct tide_points *points) {
  tide_lock_take(points->lock, points->platform);
  return points->lock;
}
/* Looks again at who waits for "schedulable", gives the lock back, and runs who fired. */
void tide_points_unlock_and_look(struct tide_points *points, struct tide_fired *fired);
static inline void tide_points_unlock(struct tide_points *points, struct tide_fired *fired) {
  if (points->stale || points->nudge) {
    tide_points_unlock_and_look(points, fired);
    return;
  }
  tide_lock_give(points->lock);
  if (fired->first) tide_fired_run_calls(fired, points->context);
}
/* The same without giving back: for sched, once it has told all. */
void tide_points_judge_stale(struct tide_points *points, struct tide_fired *fired);
static inline void tide_points_look_again(struct tide_points *points, struct tide_fired *fired) {
  if (points->stale) tide_points_judge_stale(points, fired);
}

/* One observer; before there are any points. NULL: none. */
void tide_points_observe(struct tide_points *points, tide_observer observer, void *user);
/* Tells the observer that no value of the future timeline from this one on will be promised. */
void tide_points_notify_none(struct tide_points *points, const struct tide_future *future,
                             uint64_t from, struct tide_fired *fired);
/* A value of the timeline at `slot` has ended, so; 0: none has, the name goes. */
void tide_points_notify(struct tide_points *points, uint32_t slot,
                        const struct tide_timeline *timeline, uint64_t ended,
                        enum tide_status status, uint64_t returned, struct tide_fired *fired);
enum tide_status tide_slot_take(struct tide_points *points, struct tide_client *client,
                                enum tide_slot_kind kind, void *object, uint32_t *out_slot);
void tide_slot_give(struct tide_points *points, uint32_t slot);
struct tide_point tide_slot_point(const struct tide_points *points, uint32_t slot, uint64_t value);
/* NULL: no such thing any more. */
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

/* An unmet count begins: its pending value, its deadline. The caller counts it as promised. */
static inline void tide_unmet_begin(struct tide_points *points, struct tide_unmet *unmet,
                                    struct tide_client *client, uint64_t value, uint64_t deadline) {
  unmet->client = client;
  unmet->due.state = TIDE_NODE_IDLE;
  tide_pending_add_locked(unmet->timeline, &unmet->pending, value);
  if (deadline == TIDE_FOREVER) return;
  tide_counter_add(&points->due, &unmet->due, deadline);
  if (deadline < points->asleep_until && points->thread) points->nudge = true;
}
/* It is queued or defined: the deadline does not matter any more. */
static inline void tide_unmet_met(struct tide_points *points, struct tide_unmet *unmet) {
  tide_counter_remove(&points->due, &unmet->due);
}
/* An absolute deadline as the room allows it. */
uint64_t tide_points_deadline_of(const struct tide_points *points, uint64_t asked);
static inline uint64_t tide_points_deadline(const struct tide_points *points, uint64_t asked) {
  if (asked || !points->grace) return tide_points_deadline_of(points, asked);
  return points->platform->now_about(points->platform->self) + points->grace + points->deadline;
}
/* Breaks what is overdue; returns how many. */
uint32_t tide_points_expire_locked(struct tide_points *points, struct tide_fired *fired);
/* Before something is queued: what a thread watches is overdue once that thread has said so, and to
 * ask the clock costs as much as three locks. */
static inline void tide_points_expire_unwatched(struct tide_points *points,
                                                struct tide_fired *fired) {
  if (!points->thread) tide_points_expire_locked(points, fired);
}

void tide_promise_break(struct tide_promise *promise, enum tide_status cause,
                        struct tide_fired *fired);
void tide_compound_break(struct tide_compound *compound, enum tide_status cause,
                         struct tide_fired *fired);
/* Their client goes: what is queued or defined is kept, and then they go by themselves. */
void tide_future_orphan(struct tide_future *future, enum tide_status cause,
                        struct tide_fired *fired);
void tide_compound_orphan(struct tide_compound *compound, enum tide_status cause,
                          struct tide_fired *fired);
/* A value of its timeline was reached: all pending values up to it are over. */
void tide_future_pass(struct tide_propagation *propagation, struct tide_future *future);
/* As tide_promise_break, with others. */
void tide_promise_fail(struct tide_propagation *propagation, struct tide_promise *promise,
                       enum tide_status cause);
/* A command will retire it. */
void tide_promise_queue(struct tide_propagation *propagation, struct tide_promise *promise,
                        struct tide_command *command);
/* Somebody depends on these now. */
void tide_needs_counted(const struct tide_dependency_node *node);

/* ---- schedulable.c ---- */

/* A struct tide_schedulable from inside. */
struct tide_watch {
  struct tide_node tree_node; /* while its call is on its way */
  struct tide_deferred_call call;
  struct tide_link link;             /* of its client's */
  struct tide_listener root;         /* on the dependency node that it waits for */
  struct tide_dependency_node *node; /* NULL: it has ended */
  struct tide_points *points;
  struct tide_cell *looks; /* listeners on dependency nodes that hold it up */
  struct tide_watch *next_stale;
  uint32_t status;
  uint32_t look_count, assumed_count;
  bool waiting, is_stale;
  struct tide_point assumed[TIDE_ASSUMED_MAX];
};
/* Its client goes. */
void tide_watch_cancel(struct tide_watch *watch, struct tide_fired *fired);

/* ---- cycle_detection.c ---- */

/* The command has its waits, and nobody knows of it yet. */
bool tide_command_closes_cycle(struct tide_channel *channel, struct tide_command *command,
                               const struct tide_command_plan *plan);

/* ---- expression.c ---- */

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
  bool operand; /* one is expected next */
};
/* One step; *out_index with TIDE_EXPRESSION_INDEX. TIDE_CORRUPT with the column. */
enum tide_status tide_expression_step(struct tide_expression *expression,
                                      enum tide_expression_kind *out_kind, size_t *out_index,
                                      struct tide_diag *diag);

#endif
