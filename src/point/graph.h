/* point/graph.h: the dependency graph of points, and the propagation of changes through it.
 *
 * A *dependency node* is anything that can decide whether a point ends: a promise, a command, a
 * group of a compound, a stand-in. A node depends on other nodes. Each dependency is an *edge*,
 * stored in its owner and linked into the `awaited` list of its target. A node enters each of these
 * states once, and never leaves it:
 *
 *   scheduled   the node will end: all its targets are scheduled (ANY: one unbroken target)
 *   firm        the node will end whichever parts of an ANY break: all targets are firm
 *   ended       the node's result is known: `status`
 *   settled     all nodes below have ended, too: service-side waits open. Only a broken ALL, or a
 *               node that depends on one, ends before it settles.
 *
 * Propagation never searches. Each node counts its unmet edges. A change of a node notifies the
 * edges in its `awaited` list, and their owners count down. An owner that reaches 0 is
 * appended to a work list. So the cost is the number of edges passed, at any depth, and the counts
 * of nodes on a cycle never reach 0. Ends are processed before schedules, so that the result does
 * not depend on the order of either.
 *
 * search.c follows the edges downwards, from owner to target, for the two questions that a count
 * cannot answer: "would this close a cycle?" and "would it be scheduled if …?".
 *
 * Guarded by the context's scheduler lock. */
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
  TIDE_DEPENDENCY_OUTSIDE /* ordinary waits of a command: their end is unknown until it comes */
};

struct tide_dependency_node;

struct tide_dependency_edge {
  struct tide_link link; /* entry in target->awaited */
  struct tide_dependency_node *owner;
  struct tide_dependency_node *target; /* NULL: the target has settled */
  struct tide_dependency_edge *next;   /* the owner's next edge */
  bool notified_scheduled, notified_firm, notified_ended, notified_settled;
  uint32_t status; /* the target's result, once it has ended */
};

/* Is notified, under the lock, of each change of a dependency node: queued or defined, scheduled,
 * ended, settled. The callback reads the node itself, may remove listeners, and calls nothing else
 * of point/. A listener of a settled node is off the list. */
struct tide_listener {
  struct tide_link link;
  void (*notify)(struct tide_listener *listener, const struct tide_dependency_node *node,
                 struct tide_fired *fired);
};

struct tide_dependency_node {
  struct tide_link awaited;   /* edges of other nodes to this one */
  struct tide_link listeners; /* struct tide_listener */
  struct tide_dependency_edge *edges;
  struct tide_dependency_node *next_ended, *next_scheduled, *next_firm,
      *next_changed; /* links of the work lists */
  void (*changed)(struct tide_dependency_node *node,
                  struct tide_fired *fired); /* called last; may free the node */
  uint32_t unscheduled, unfirm, unsettled;   /* edges with a target that is not */
  uint32_t undecided;                        /* counts edges; ALL: not good; ANY: not broken */
  uint32_t status;                           /* the node's result, once it has ended */
  uint32_t error;                            /* groups: the status of the first broken part */
  uint8_t kind;
  bool defined; /* all its edges are known: a promise is queued, a compound defined */
  bool scheduled, firm, ended, settled;
  bool one_good, one_scheduled; /* ANY only */
  bool on_ended, on_changed;
  /* scratch of search.c */
  bool holds, good, stepped, wanted;
  uint64_t mark;
  struct tide_dependency_node *above; /* parent, or next node to visit */
  struct tide_dependency_edge *cursor;
};

/* A propagation under way: the nodes still to be processed. On the stack of the function that
 * changes a node. */
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
/* Processes the work lists, notifies listeners, and calls `changed` of each node that changed. */
void tide_propagation_run(struct tide_propagation *propagation);
static inline void tide_propagation_finish(struct tide_propagation *propagation) {
  if (propagation->ended || propagation->scheduled || propagation->firm || propagation->changed)
    tide_propagation_run(propagation);
}

void tide_dependency_init(struct tide_dependency_node *node, enum tide_dependency_kind kind,
                          void (*changed)(struct tide_dependency_node *node,
                                          struct tide_fired *fired));
/* Adds an edge from the node to the target. Notifies nothing yet, so that search.c may look first.
 * A NULL target has settled, with `status`. */
void tide_dependency_add_edge(struct tide_dependency_node *node, struct tide_dependency_edge *edge,
                              struct tide_dependency_node *target, enum tide_status status);
/* Marks the node's edges as complete: counts them, and links them into their targets' lists. */
void tide_dependency_define(struct tide_propagation *propagation,
                            struct tide_dependency_node *node);
/* Ends and settles the node. Any status but TIDE_OK: broken. */
void tide_dependency_end(struct tide_propagation *propagation, struct tide_dependency_node *node,
                         enum tide_status status);
/* Ends and settles the node with TIDE_OK if that causes no propagation; the caller then calls
 * `changed`. False: nothing was done. This is the common case: the node is in no propagation, and
 * its dependants are commands that are scheduled and firm already, so they only count down. */
bool tide_dependency_end_alone(struct tide_dependency_node *node, struct tide_fired *fired);
/* Breaks the node, though its parts may not have ended: it settles when they have. */
void tide_dependency_fail(struct tide_propagation *propagation, struct tide_dependency_node *node,
                          enum tide_status status);
/* Marks the node as scheduled. */
void tide_dependency_schedule(struct tide_propagation *propagation,
                              struct tide_dependency_node *node);
/* Appends the node to the changed ones: its listeners are notified, and `changed` is called, at the
 * end of the propagation. */
void tide_dependency_touch(struct tide_propagation *propagation, struct tide_dependency_node *node);
/* Moves an edge from its target to the target's predecessor. */
void tide_dependency_move_edge(struct tide_propagation *propagation,
                               struct tide_dependency_edge *edge,
                               struct tide_dependency_node *target);
/* Notifies the node's listeners, and no dependants, of a change that listeners read elsewhere. */
void tide_dependency_notify_all(struct tide_dependency_node *node, struct tide_fired *fired);
static inline void tide_dependency_notify(struct tide_dependency_node *node,
                                          struct tide_fired *fired) {
  if (!tide_list_empty(&node->listeners)) tide_dependency_notify_all(node, fired);
}
/* Removes all edges of the node. */
void tide_dependency_drop_edges(struct tide_dependency_node *node);

/* ---- search.c ---- */

struct tide_channel;
struct tide_client;

struct tide_look {
  uint64_t mark; /* unique to this search */
  /* "Would it close a cycle?": the promises that this channel owes come after the root. NULL: no
   * channel's do. */
  const struct tide_channel *channel;
  bool cycle;
  /* "Would it be scheduled if …?" */
  const struct tide_client *narrow; /* client with fewer trusted domains; NULL: none */
  bool (*assumed)(void *self, const struct tide_dependency_node *promise);
  uint64_t steps, most; /* limit of the steps, then it gives up; most 0: none */
  bool gave_up;
  void *self;
};

/* True if the root follows from the search's assumptions. */
bool tide_look_holds(struct tide_look *look, struct tide_dependency_node *root);
/* Notifies all nodes that depend on this one, directly or not, that its edges have changed other
 * than by a target's state. */
void tide_dependency_touch_above(struct tide_propagation *propagation,
                                 struct tide_dependency_node *node, uint64_t mark);
/* Calls `each` once for each dependency node that holds up the root, after tide_look_holds returned
 * false: one of these nodes must change before it can return true. False: `each` returned false. */
bool tide_look_why_not(struct tide_look *look, struct tide_dependency_node *root, uint64_t mark,
                       bool (*each)(void *self, struct tide_dependency_node *leaf), void *self);

#endif
