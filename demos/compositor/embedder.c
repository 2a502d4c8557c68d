/* A page with something nested in it. For each frame it promises the browser one point: "both are
 * drawn". The browser takes both layers when that has come, or neither (use case 4); both draw at
 * the same time, and nobody waits for the other to begin. */
#include "renderer.h"

#include <stdlib.h>

struct embedder {
  struct renderer *r;
  struct tide_point nested; /* its timeline `drawn` */
  bool there, lost;
  uint64_t promised; /* its frames */
  uint64_t oldest;   /* frames from this one on still have their point */
  struct {
    struct tide_point point;
    uint64_t sequence; /* of the command that defines it */
  } frames[];          /* all */
};

/* The nested one has died just now, and its timeline with it: the frame is the page's alone. */
static void on_refusal(void *user, uint64_t sequence) {
  struct embedder *e = user;
  struct party *me = e->r->me;
  for (uint64_t frame = e->oldest; frame <= e->r->promised; frame++) {
    if (e->frames[frame].sequence != sequence) continue;
    struct tide_point own = at(e->r->drawn, frame);
    must(me, tide_session_all(me->session, e->frames[frame].point, &own, 1), "a compound of one");
  }
}

struct embedder *open_embedder(struct renderer *r) {
  size_t count = (size_t)r->me->scene->frames + 1;
  struct embedder *e = calloc(1, sizeof *e + count * sizeof e->frames[0]);
  if (!e) give_up(r->me, "no memory");
  e->r = r;
  e->oldest = 1;
  r->me->refused = on_refusal;
  r->me->user = e;
  return e;
}

void close_embedder(struct embedder *embedder) { free(embedder); }

void hear_nested(struct embedder *e, const struct message *message) {
  struct party *me = e->r->me;
  if (message->kind == HELLO && !e->there) {
    /* Its owner may have died meanwhile. */
    enum tide_status status = tide_session_redeem(me->session, &message->tokens[0], &e->nested);
    e->there = status == TIDE_OK;
    if (!e->there) e->lost = true;
  } else if (message->kind == PROMISED && message->value > e->promised) {
    e->promised = message->value;
  }
}

/* Frames that were promised with it break with it; later ones are the page's alone. */
void lose_nested(struct embedder *e) { e->lost = true; }

/* The points of frames that the browser is through with. */
static void forget_old(struct embedder *e) {
  struct party *me = e->r->me;
  while (e->r->returned.domain && e->oldest < e->r->allowed &&
         tide_session_query(me->session, at(e->r->returned, e->oldest)) != TIDE_TIMEOUT) {
    must(me, tide_session_destroy(me->session, e->frames[e->oldest].point), "a point");
    e->oldest++;
  }
}

void offer_both(struct embedder *e, uint64_t frame) {
  struct party *me = e->r->me;
  struct message message = {.kind = SWAP, .value = frame};
  while (!e->lost && (!e->there || e->promised < frame)) listen_once(e->r);
  message.nested = !e->lost;
  forget_old(e);
  struct tide_point parts[2] = {at(e->r->drawn, frame), at(e->nested, frame)};
  struct tide_point *both = &e->frames[frame].point;
  must(me, tide_session_promise_compound(me->session, now() + PROMISE, both), "a compound");
  must(me, tide_session_all(me->session, *both, parts, e->lost ? 1 : 2), "a compound of two");
  e->frames[frame].sequence = tide_session_sequence(me->session);
  must(me, tide_session_grant(me->session, *both, TIDE_RIGHT_WAIT, &message.tokens[0]), "a token");
  me->report->wakes += me->flowing; /* a token is asked for */
  if (!send_message(e->r->links[0], &message)) give_up(me, "the browser is gone");
}
