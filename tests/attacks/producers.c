/* Attacks 1 to 5 and 34: those who promise stop, die, or never come to it. */
#include "attack_rig.h"

#include "tidemark/channel.h"

/* ---- the one who promises, in a process of its own ---- */

static void ignore(void *user, enum tide_status status) { (void)user, (void)status; }

/* Gives a token; then, by what it is told: promises for so many ms and says which value; keeps;
 * queues a command that keeps; boosts; waits for very much of another's. */
static void producer(const struct rig *r, int in, int out) {
  struct peer p;
  struct tide_point point, other;
  struct tide_token token;
  peer_open(&p, r, 64);
  CHECK_OK(tide_session_grant(p.s, p.hosts, TIDE_RIGHT_WAIT, &token));
  rig_tell(out, &token, sizeof token);
  for (char order = 0; order != 'q';) {
    rig_hear(in, &order, 1);
    if (order == 'p' || order == 'l') {
      uint64_t deadline = order == 'p' ? tide_service_now() + 100 * MS : rig_in(9000);
      CHECK_OK(tide_session_promise(p.s, p.hosts, deadline, &point));
      peer_sync(&p);
      rig_tell(out, &point.value, sizeof point.value);
    }
    if (order == 'f') CHECK_OK(tide_session_fulfil(p.s, point));
    if (order == 'w') { /* of somebody else's timeline: waits, commands, boosts */
      struct tide_token theirs;
      rig_hear(in, &theirs, sizeof theirs);
      CHECK_OK(tide_session_redeem(p.s, &theirs, &other));
      other.value = 1;
      for (int i = 0; i < 60; i++) {
        struct tide_point mine = peer_promise(&p, p.line);
        CHECK_OK(tide_session_when_complete(p.s, other, ignore, NULL, NULL));
        peer_submit(&p, &other, &mine);
      }
      peer_sync(&p);
      rig_tell(out, "w", 1);
    }
  }
  tide_session_close(p.s);
}

struct owner {
  struct rig_child child;
  struct tide_token token;
};
static void owner_start(struct owner *o, const struct rig *r) {
  rig_spawn(&o->child, producer, r);
  rig_hear(o->child.from, &o->token, sizeof o->token);
}
static uint64_t owner_promise(const struct owner *o, const char *how) {
  uint64_t value;
  rig_tell(o->child.to, how, 1);
  rig_hear(o->child.from, &value, sizeof value);
  return value;
}

/* One that waits for the owner's point in all ways there are. */
struct waits {
  struct peer p;
  struct tide_point point, skipped, gone_on;
  int calls;
  enum tide_status heard;
};
static void hear_end(void *user, enum tide_status status) {
  struct waits *w = user;
  w->calls++;
  w->heard = status;
}
static void waits_begin(struct waits *w, const struct rig *r, const struct owner *o,
                        uint64_t value) {
  *w = (struct waits){0};
  peer_open(&w->p, r, 16);
  CHECK_OK(tide_session_redeem(w->p.s, &o->token, &w->point));
  w->point.value = value;
  w->skipped = peer_promise(&w->p, w->p.line);
  peer_submit(&w->p, &w->point, &w->skipped);
  w->gone_on = peer_promise(&w->p, w->p.line);
  struct tide_session_operation despite = {.flags = TIDE_DESPITE_BROKEN,
                                           .waits = &w->point,
                                           .wait_count = 1,
                                           .retires = &w->gone_on,
                                           .retire_count = 1};
  CHECK_OK(tide_session_submit(w->p.s, w->p.channel, &despite));
  CHECK_OK(tide_session_when_complete(w->p.s, w->point, hear_end, w, NULL));
  peer_sync(&w->p);
  CHECK_STATUS(tide_session_query(w->p.s, w->point), TIDE_TIMEOUT);
}
/* All were told why; who wanted to be skipped was, who wanted to go on did. */
static void waits_end(struct waits *w, enum tide_status why) {
  CHECK_STATUS(tide_session_wait(w->p.s, w->point, rig_in(9000)), why);
  CHECK(tide_session_wait(w->p.s, w->skipped, rig_in(9000)) != TIDE_OK);
  CHECK(tide_session_query(w->p.s, w->skipped) != TIDE_TIMEOUT);
  CHECK_OK(tide_session_wait(w->p.s, w->gone_on, rig_in(9000)));
  while (!w->calls) CHECK_OK(tide_session_dispatch(w->p.s, rig_in(9000)));
  CHECK_EQ_U64((uint64_t)w->calls, 1);
  CHECK_STATUS(w->heard, why);
  tide_session_close(w->p.s);
}

static void never_queued(struct scene *s) {
  struct owner o;
  struct waits w;
  owner_start(&o, &s->r);
  waits_begin(&w, &s->r, &o, owner_promise(&o, "p"));
  waits_end(&w, TIDE_TIMED_OUT);
  rig_tell(o.child.to, "q", 1);
  rig_end(&o.child);
}
TEST(a01_promise_never_queued) { survive(NULL, 3, never_queued); }

static void killed(struct scene *s) {
  struct owner o;
  struct waits w[2];
  owner_start(&o, &s->r);
  uint64_t value = owner_promise(&o, "l");
  for (int i = 0; i < 2; i++) waits_begin(&w[i], &s->r, &o, value);
  rig_kill(&o.child);
  for (int i = 0; i < 2; i++) waits_end(&w[i], TIDE_OWNER_DIED);
}
TEST(a02_producer_killed_mid_promise) { survive(NULL, 4, killed); }

static void stopped(struct scene *s) {
  struct owner o;
  struct waits w;
  owner_start(&o, &s->r);
  uint64_t value = owner_promise(&o, "p");
  CHECK(kill(o.child.pid, SIGSTOP) == 0);
  waits_begin(&w, &s->r, &o, value);
  waits_end(&w, TIDE_TIMED_OUT);
  rig_kill(&o.child);
}
TEST(a03_producer_stopped) { survive(NULL, 3, stopped); }

/* Its waits go with it, its commands do not hold up the one that it waited for. */
static void waiter_killed(struct scene *s) {
  struct owner o;
  struct peer p;
  struct tide_token token;
  char done;
  peer_open(&p, &s->r, 16);
  struct tide_point point = peer_promise(&p, p.hosts);
  CHECK_OK(tide_session_grant(p.s, p.hosts, TIDE_RIGHT_WAIT, &token));
  peer_sync(&p);
  owner_start(&o, &s->r);
  rig_tell(o.child.to, "w", 1);
  rig_tell(o.child.to, &token, sizeof token);
  rig_hear(o.child.from, &done, 1);
  rig_kill(&o.child);
  victim_goes_on(&s->v);
  CHECK_STATUS(tide_session_query(p.s, point), TIDE_TIMEOUT);
  CHECK_OK(tide_session_fulfil(p.s, point));
  CHECK_OK(tide_session_wait(p.s, point, rig_in(9000)));
  tide_session_close(p.s);
}
TEST(a04_waiter_killed) { survive(NULL, 4, waiter_killed); }

/* Between promise and grant nobody can know it; between grant and redeem, the token is void. */
static void killed_before_grant(struct scene *s) {
  struct owner o;
  struct tide_point point;
  struct tide_session *waiter = rig_connect(&s->r, "waiter");
  owner_start(&o, &s->r);
  owner_promise(&o, "l");
  rig_kill(&o.child);
  victim_goes_on(&s->v);
  CHECK_STATUS(tide_session_redeem(waiter, &o.token, &point), TIDE_NOT_FOUND);
  tide_session_close(waiter);
}
TEST(a05_killed_between_promise_and_grant) { survive(NULL, 4, killed_before_grant); }

/* ---- the service goes, and comes again ---- */

TEST(a34_service_restarts) {
  for (int round = 0; round < 3; round++) {
    struct rig r, again;
    struct peer p;
    struct waits w = {0};
    rig_open(&r, NULL);
    peer_open(&p, &r, 64);
    struct tide_point point = peer_promise(&p, p.hosts);
    CHECK_OK(tide_session_when_complete(p.s, point, hear_end, &w, NULL));
    peer_sync(&p);
    CHECK(kill(r.server, SIGKILL) == 0 && waitpid(r.server, NULL, 0) == r.server);
    CHECK_STATUS(tide_session_wait(p.s, point, rig_in(9000)), TIDE_LOST);
    while (!w.calls) (void)!tide_session_dispatch(p.s, rig_in(9000));
    CHECK_STATUS(w.heard, TIDE_LOST);
    /* Another one at the same place: the old session stays lost, a new one works. */
    again = r;
    fflush(NULL);
    again.server = fork();
    CHECK(again.server >= 0);
    if (again.server == 0) rig_serve(&again, NULL);
    struct victim v;
    victim_prepare(&v, &again, "again");
    victim_round(&v);
    CHECK_STATUS(tide_session_fulfil(p.s, point), TIDE_LOST);
    CHECK_STATUS(tide_session_status(p.s), TIDE_LOST);
    tide_session_close(v.s);
    tide_session_close(p.s);
    rig_close(&again);
  }
}

TEST_MAIN(CASE(a01_promise_never_queued), CASE(a02_producer_killed_mid_promise),
          CASE(a03_producer_stopped), CASE(a04_waiter_killed),
          CASE(a05_killed_between_promise_and_grant), CASE(a34_service_restarts))
