/* point/graph.h: who depends on whom, and what follows.
 *
 * All that a point's fate hangs on is a *dependency node*: a promise, a command, a group of a
 * compound, a stand-in. A dependency node *needs* others; each need is an edge that lies with
 * whoever has it, and hangs in the list of the dependency node that it points to. A dependency node
 * goes, each once and for good,
 *
 *   scheduled   it will end: all that it needs is scheduled (of ANY: one, that did not break)
 *   firm        it will, whichever parts of an ANY break: all that it needs is firm
 *   ended       it is known how: status
 *   settled     all below it has ended, too: service-side waits open. Only a broken ALL, or what is
 *               made of such, ends before it settles.
 *
 * Nothing here is found by searching. A dependency node counts what it still lacks; when something
 * happens, it happens to one dependency node, which tells those in its list, which count down, and
 * who has nothing left is put on a list of work. So it costs the edges that it passes, however
 * deep, and dependency nodes on a cycle never come to nothing left. Ends are worked off before
 * schedules, so that the result does not depend on the order of either.
 *
 * search.c looks at the same edges from the other end, for the two questions that a count cannot
 * answer: "would this close a cycle?" and "would it be scheduled if …?".
 *
 * All of it under the context's scheduler lock. */
#ifndef TIDE_POINT_GRAPH_H
#define TIDE_POINT_GRAPH_H

#include "base/list.h"
#include "timeline/pending_value.h"
#include "tidemark/point.h"

enum tide_dependency_kind {
  TIDE_DEPENDENCY_PROMISE,
  TIDE_DEPENDENCY_COMMAND,
  TIDE_DEPENDENCY_ALL,
  TIDE_DEPENDENCY_ANY,
  TIDE_DEPENDENCY_STAND_IN,
  TIDE_DEPENDENCY_OUTSIDE /* of what nobody here knows whether it ends, until it has */
};

struct tide_dependency_node;

struct tide_dependency_edge {
  struct tide_link link; /* in target->awaited */
  struct tide_dependency_node *owner;
  struct tide_dependency_node *target; /* NULL: it has settled */
  struct tide_dependency_edge *next;   /* of the owner's */
  bool notified_scheduled, notified_firm, notified_ended, notified_settled;
  uint32_t status; /* of the target's end */
};

/* Somebody who is told, under the lock, of each change of a dependency node: queued or defined,
 * scheduled, ended, settled. It looks at the dependency node itself, may take listeners off, and
 * calls nothing else of point/. After "settled" it is off the list. */
struct tide_listener {
  struct tide_link link;
  void (*notify)(struct tide_listener *listener, const struct tide_dependency_node *node,
                 struct tide_fired *fired);
};

struct tide_dependency_node {
  struct tide_link awaited;   /* needs of others */
  struct tide_link listeners; /* struct tide_listener */
  struct tide_dependency_edge *edges;
  struct tide_dependency_node *next_ended, *next_scheduled, *next_firm,
      *next_changed; /* lists of work */
  void (*changed)(struct tide_dependency_node *node,
                  struct tide_fired *fired); /* last of all; it may go */
  uint32_t unscheduled, unfirm, unsettled;   /* needs that are not */
  uint32_t undecided;                        /* needs; of ALL: not good; of ANY: not broken */
  uint32_t status;                           /* of its end */
  uint32_t error;                            /* of a group: the first part's that broke */
  uint8_t kind;
  bool defined; /* its needs are complete: a promise is queued, a compound defined */
  bool scheduled, firm, ended, settled;
  bool one_good, one_scheduled; /* of ANY */
  bool on_ended, on_changed;
  /* search.c's */
  bool holds, good, stepped, wanted;
  uint64_t mark;
  struct tide_dependency_node *above; /* the way back, or what is still to be looked at */
  struct tide_dependency_edge *cursor;
};

/* What is still to be told. On the stack of whoever changes something. */
struct tide_propagation {
  struct tide_fired *fired;
  struct tide_dependency_node *ended, **last_ended;
  struct tide_dependency_node *scheduled, **last_scheduled;
  struct tide_dependency_node *firm, **last_firm;
  struct tide_dependency_node *changed, **last_changed;
};

static inline void tide_propagation_begin(struct tide_propagation *propagation,
                                          struct tide_fired *fired) {
  propagation->fired = fired;
  propagation->ended = propagation->scheduled = propagation->firm = propagation->changed = NULL;
  propagation->last_ended = &propagation->ended;
  propagation->last_scheduled = &propagation->scheduled;
  propagation->last_firm = &propagation->firm;
  propagation->last_changed = &propagation->changed;
}
/* Tells everybody, then calls `changed` of all that changed. */
void tide_propagation_run(struct tide_propagation *propagation);
static inline void tide_propagation_finish(struct tide_propagation *propagation) {
  if (propagation->ended || propagation->scheduled || propagation->firm || propagation->changed)
    tide_propagation_run(propagation);
}

void tide_dependency_init(struct tide_dependency_node *node, enum tide_dependency_kind kind,
                          void (*changed)(struct tide_dependency_node *node,
                                          struct tide_fired *fired));
/* The dependency node will need the target. Nobody is told yet: search.c may look first. A NULL
 * target has settled, with `status`. */
void tide_dependency_add_edge(struct tide_dependency_node *node, struct tide_dependency_edge *edge,
                              struct tide_dependency_node *target, enum tide_status status);
/* It has all its needs: they are counted, and hang in their targets' lists from now on. */
void tide_dependency_define(struct tide_propagation *propagation,
                            struct tide_dependency_node *node);
/* It ends, and all of it. A status that is not TIDE_OK: broken. */
void tide_dependency_end(struct tide_propagation *propagation, struct tide_dependency_node *node,
                         enum tide_status status);
/* Most dependency nodes end well, are in no propagation, and nothing follows: those who need them
 * are commands that are known to end, and only count. Then this is all but `changed`, which the
 * caller calls. False: nothing was done. */
bool tide_dependency_end_alone(struct tide_dependency_node *node, struct tide_fired *fired);
/* It broke, though its parts may not have ended: it settles when they have. */
void tide_dependency_fail(struct tide_propagation *propagation, struct tide_dependency_node *node,
                          enum tide_status status);
/* It is known to end. */
void tide_dependency_schedule(struct tide_propagation *propagation,
                              struct tide_dependency_node *node);
/* Something else changed that listeners may want to know. */
void tide_dependency_touch(struct tide_propagation *propagation, struct tide_dependency_node *node);
/* A need is now another's: of what its target comes after. */
void tide_dependency_move_edge(struct tide_propagation *propagation,
                               struct tide_dependency_edge *edge,
                               struct tide_dependency_node *target);
/* Tells those who listen, and nobody else, of something that they look for themselves. */
void tide_dependency_notify_all(struct tide_dependency_node *node, struct tide_fired *fired);
static inline void tide_dependency_notify(struct tide_dependency_node *node,
                                          struct tide_fired *fired) {
  if (!tide_list_empty(&node->listeners)) tide_dependency_notify_all(node, fired);
}
/* It needs nothing any more. */
void tide_dependency_drop_edges(struct tide_dependency_node *node);

/* ---- search.c ---- */

struct tide_channel;
struct tide_client;

struct tide_look {
  uint64_t mark; /* of this search: never used before */
  /* "Would it close a cycle?": what the channel still owes comes after the root. NULL: nobody's.
   */
  const struct tide_channel *channel;
  bool cycle;
  /* "Would it be scheduled if …?" */
  const struct tide_client *narrow; /* who trusts less than the service; NULL: nobody */
  bool (*assumed)(void *self, const struct tide_dependency_node *promise);
  uint64_t steps, most; /* gives up after so many; most 0: never */
  bool gave_up;
  void *self;
};

/* Does it follow from what is taken for granted? */
bool tide_look_holds(struct tide_look *look, struct tide_dependency_node *root);
/* What a dependency node needs has changed, other than by being scheduled or ending: who depends on
 * it hears of it. */
void tide_dependency_touch_above(struct tide_propagation *propagation,
                                 struct tide_dependency_node *node, uint64_t mark);
/* After the answer was no: dependency nodes of which one must change before it can be yes, each
 * once. False when `each` was. */
bool tide_look_why_not(struct tide_look *look, struct tide_dependency_node *root, uint64_t mark,
                       bool (*each)(void *self, struct tide_dependency_node *leaf), void *self);

#endif
