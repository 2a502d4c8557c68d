/* point/graph.h: who depends on whom, and what follows.
 *
 * All that a point's fate hangs on is a *gate*: a promise, a command, a group of a compound, a
 * stand-in. A gate *needs* others; each need is an edge that lies with whoever has it, and hangs in
 * the list of the gate that it points to. A gate goes, each once and for good,
 *
 *   scheduled   it will end: all that it needs is scheduled (of ANY: one, that did not break)
 *   firm        it will, whichever parts of an ANY break: all that it needs is firm
 *   ended       it is known how: status
 *   settled     all below it has ended, too: service-side waits open. Only a broken ALL, or what is
 *               made of such, ends before it settles.
 *
 * Nothing here is found by searching. A gate counts what it still lacks; when something happens, it
 * happens to one gate, which tells those in its list, which count down, and who has nothing left is
 * put on a list of work. So it costs the edges that it passes, however deep, and gates on a circle
 * never come to nothing left. Ends are worked off before schedules, so that the result does
 * not depend on the order of either.
 *
 * search.c looks at the same edges from the other end, for the two questions that a count cannot
 * answer: "would this close a circle?" and "would it be scheduled if …?".
 *
 * All of it under the context's scheduler lock. */
#ifndef TIDE_POINT_GRAPH_H
#define TIDE_POINT_GRAPH_H

#include "base/list.h"
#include "timeline/pending_value.h"
#include "tidemark/point.h"

enum tide_gate_kind {
  TIDE_GATE_PROMISE,
  TIDE_GATE_COMMAND,
  TIDE_GATE_ALL,
  TIDE_GATE_ANY,
  TIDE_GATE_STAND_IN,
  TIDE_GATE_OUTSIDE /* of what nobody here knows whether it ends, until it has */
};

struct tide_gate;

struct tide_need {
  struct tide_link link; /* in target->awaited */
  struct tide_gate *owner;
  struct tide_gate *target; /* NULL: it has settled */
  struct tide_need *next;   /* of the owner's */
  bool heard_scheduled, heard_firm, heard_ended, heard_settled;
  uint32_t status; /* of the target's end */
};

/* Somebody who is told, under the lock, of each change of a gate: queued or defined, scheduled,
 * ended, settled. It looks at the gate itself, may take listeners off, and calls nothing else of
 * point/. After "settled" it is off the list. */
struct tide_listener {
  struct tide_link link;
  void (*hear)(struct tide_listener *listener, const struct tide_gate *gate,
               struct tide_fired *fired);
};

struct tide_gate {
  struct tide_link awaited;   /* needs of others */
  struct tide_link listeners; /* struct tide_listener */
  struct tide_need *needs;
  struct tide_gate *next_ended, *next_scheduled, *next_firm, *next_changed; /* lists of work */
  void (*changed)(struct tide_gate *gate, struct tide_fired *fired); /* last of all; it may go */
  uint32_t unscheduled, unfirm, unsettled;                           /* needs that are not */
  uint32_t undecided; /* needs; of ALL: not good; of ANY: not broken */
  uint32_t status;    /* of its end */
  uint32_t error;     /* of a group: the first part's that broke */
  uint8_t kind;
  bool defined; /* its needs are complete: a promise is queued, a compound defined */
  bool scheduled, firm, ended, settled;
  bool one_good, one_scheduled; /* of ANY */
  bool on_ended, on_changed;
  /* search.c's */
  bool holds, good, stepped, wanted;
  uint64_t mark;
  struct tide_gate *above; /* the way back, or what is still to be looked at */
  struct tide_need *cursor;
};

/* What is still to be told. On the stack of whoever changes something. */
struct tide_wave {
  struct tide_fired *fired;
  struct tide_gate *ended, **last_ended;
  struct tide_gate *scheduled, **last_scheduled;
  struct tide_gate *firm, **last_firm;
  struct tide_gate *changed, **last_changed;
};

static inline void tide_wave_begin(struct tide_wave *wave, struct tide_fired *fired) {
  wave->fired = fired;
  wave->ended = wave->scheduled = wave->firm = wave->changed = NULL;
  wave->last_ended = &wave->ended;
  wave->last_scheduled = &wave->scheduled;
  wave->last_firm = &wave->firm;
  wave->last_changed = &wave->changed;
}
/* Tells everybody, then calls `changed` of all that changed. */
void tide_wave_tell(struct tide_wave *wave);
static inline void tide_wave_finish(struct tide_wave *wave) {
  if (wave->ended || wave->scheduled || wave->firm || wave->changed) tide_wave_tell(wave);
}

void tide_gate_init(struct tide_gate *gate, enum tide_gate_kind kind,
                    void (*changed)(struct tide_gate *gate, struct tide_fired *fired));
/* The gate will need the target. Nobody is told yet: search.c may look first. A NULL target has
 * settled, with `status`. */
void tide_gate_add_need(struct tide_gate *gate, struct tide_need *need, struct tide_gate *target,
                        enum tide_status status);
/* It has all its needs: they are counted, and hang in their targets' lists from now on. */
void tide_gate_define(struct tide_wave *wave, struct tide_gate *gate);
/* It ends, and all of it. A status that is not TIDE_OK: broken. */
void tide_gate_end(struct tide_wave *wave, struct tide_gate *gate, enum tide_status status);
/* Most gates end well, are in no wave, and nothing follows: those who need them are commands that
 * are known to end, and only count. Then this is all but `changed`, which the caller calls. False:
 * nothing was done. */
bool tide_gate_end_alone(struct tide_gate *gate, struct tide_fired *fired);
/* It broke, though its parts may not have ended: it settles when they have. */
void tide_gate_fail(struct tide_wave *wave, struct tide_gate *gate, enum tide_status status);
/* It is known to end. */
void tide_gate_schedule(struct tide_wave *wave, struct tide_gate *gate);
/* Something else changed that listeners may want to know. */
void tide_gate_touch(struct tide_wave *wave, struct tide_gate *gate);
/* A need is now another's: of what its target comes after. */
void tide_gate_move_need(struct tide_wave *wave, struct tide_need *need, struct tide_gate *target);
/* Tells those who listen, and nobody else, of something that they look for themselves. */
void tide_gate_tell_some(struct tide_gate *gate, struct tide_fired *fired);
static inline void tide_gate_tell(struct tide_gate *gate, struct tide_fired *fired) {
  if (!tide_list_empty(&gate->listeners)) tide_gate_tell_some(gate, fired);
}
/* It needs nothing any more. */
void tide_gate_drop_needs(struct tide_gate *gate);

/* ---- search.c ---- */

struct tide_channel;
struct tide_client;

struct tide_look {
  uint64_t mark; /* of this search: never used before */
  /* "Would it close a circle?": what the channel still owes comes after the root. NULL: nobody's.
   */
  const struct tide_channel *channel;
  bool circle;
  /* "Would it be scheduled if …?" */
  const struct tide_client *narrow; /* who trusts less than the service; NULL: nobody */
  bool (*assumed)(void *self, const struct tide_gate *promise);
  uint64_t steps, most; /* gives up after so many; most 0: never */
  bool gave_up;
  void *self;
};

/* Does it follow from what is taken for granted? */
bool tide_look_holds(struct tide_look *look, struct tide_gate *root);
/* What a gate needs has changed, other than by being scheduled or ending: who depends on it hears
 * of it. */
void tide_gate_touch_above(struct tide_wave *wave, struct tide_gate *gate, uint64_t mark);
/* After the answer was no: gates of which one must change before it can be yes, each once. False
 * when `each` was. */
bool tide_look_why_not(struct tide_look *look, struct tide_gate *root, uint64_t mark,
                       bool (*each)(void *self, struct tide_gate *leaf), void *self);

#endif
