/* A timeline's place in shared memory, handed out by a session: read without it. */
#include "service_rig.h"

#include <pthread.h>

static enum tide_status look(const struct tide_shared_point *p, uint64_t value) {
  return tide_shared_look(p->shared, p->slot, p->generation, value);
}

TEST(a_timeline_of_ones_own) {
  struct rig r;
  struct tide_point timeline, p[4];
  struct tide_shared_point place;
  rig_open(&r, NULL);
  struct tide_session *s = rig_connect(&r, "own");
  CHECK_OK(tide_session_create_future(s, NULL, &timeline));
  timeline.value = 3;
  CHECK_OK(tide_session_view(s, timeline, &place));
  CHECK_EQ_U64(place.value, 3);
  CHECK_EQ_U64(tide_shared_value(place.shared, place.slot), 0);
  CHECK_STATUS(look(&place, 1), TIDE_TIMEOUT);
  for (int i = 0; i < 4; i++) CHECK_OK(tide_session_promise(s, timeline, 0, &p[i]));
  CHECK_OK(tide_session_fulfil(s, p[0]));
  CHECK_OK(tide_session_wait(s, p[0], rig_in(5000)));
  CHECK_EQ_U64(tide_shared_value(place.shared, place.slot), 1);
  CHECK_OK(look(&place, 1));
  CHECK_STATUS(look(&place, 2), TIDE_TIMEOUT);
  /* One broke: which of them is for query to tell. */
  CHECK_OK(tide_session_break(s, p[1], TIDE_FAILED));
  CHECK_OK(tide_session_fulfil(s, p[2]));
  CHECK_OK(tide_session_wait(s, p[2], rig_in(5000)));
  CHECK_EQ_U64(tide_shared_value(place.shared, place.slot), 3);
  CHECK_STATUS(look(&place, 2), TIDE_NOT_FOUND);
  CHECK_STATUS(look(&place, 3), TIDE_NOT_FOUND);
  CHECK_STATUS(tide_session_query(s, p[1]), TIDE_FAILED);
  CHECK_OK(tide_session_query(s, p[2]));
  tide_session_close(s);
  rig_close(&r);
}

TEST(what_has_no_place) {
  struct rig r;
  struct tide_point channel, compound, destroyed;
  struct tide_shared_point place;
  rig_open(&r, NULL);
  struct tide_session *s = rig_connect(&r, "none");
  CHECK_OK(tide_session_create_channel(s, NULL, &channel));
  CHECK_STATUS(tide_session_view(s, channel, &place), TIDE_NOT_FOUND);
  CHECK_STATUS(tide_session_view(s, (struct tide_point){0}, &place), TIDE_NOT_FOUND);
  CHECK_OK(tide_session_create_future(s, NULL, &destroyed));
  CHECK_OK(tide_session_destroy(s, destroyed));
  CHECK_STATUS(tide_session_view(s, destroyed, &place), TIDE_NOT_FOUND);
  /* A compound that the service has not come to shows what was there before; not while the service
   * is stopped. */
  CHECK_OK(tide_session_sync(s, rig_in(5000)));
  CHECK(kill(r.server, SIGSTOP) == 0);
  CHECK_OK(tide_session_promise_compound(s, TIDE_FOREVER, &compound));
  CHECK_STATUS(tide_session_view(s, compound, &place), TIDE_BUSY);
  CHECK(kill(r.server, SIGCONT) == 0);
  CHECK_OK(tide_session_sync(s, rig_in(5000)));
  CHECK_OK(tide_session_view(s, compound, &place));
  CHECK_STATUS(look(&place, 1), TIDE_TIMEOUT);
  CHECK_OK(tide_session_all(s, compound, NULL, 0));
  CHECK_OK(tide_session_wait(s, compound, rig_in(5000)));
  CHECK_OK(look(&place, 1));
  tide_session_close(s);
  rig_close(&r);
}

/* Somebody else's: the reader's name goes, then the timeline, then its place has another one, then
 * its owner is gone. */
TEST(it_outlives_names_and_owners) {
  struct rig r;
  struct tide_point timeline, next, p, q, theirs;
  struct tide_shared_point place;
  struct tide_token token;
  rig_open(&r, "default handles 2");
  struct tide_session *owner = rig_connect(&r, "owner"), *s = rig_connect(&r, "reader");
  CHECK_OK(tide_session_create_future(owner, NULL, &timeline));
  CHECK_OK(tide_session_promise(owner, timeline, TIDE_FOREVER, &p));
  CHECK_OK(tide_session_promise(owner, timeline, TIDE_FOREVER, &q));
  CHECK_OK(tide_session_grant(owner, timeline, TIDE_RIGHT_WAIT, &token));
  CHECK_OK(tide_session_redeem(s, &token, &theirs));
  CHECK_OK(tide_session_view(s, theirs, &place));
  CHECK_STATUS(look(&place, 1), TIDE_TIMEOUT);
  CHECK_OK(tide_session_destroy(s, theirs));
  CHECK_OK(tide_session_fulfil(owner, p));
  CHECK_OK(tide_session_wait(owner, p, rig_in(5000)));
  CHECK_OK(look(&place, 1));
  CHECK_EQ_U64(tide_shared_value(place.shared, place.slot), 1);
  CHECK_OK(tide_session_destroy(owner, timeline));
  CHECK_OK(tide_session_sync(owner, rig_in(5000)));
  CHECK(look(&place, 2) != TIDE_OK && look(&place, 2) != TIDE_TIMEOUT);
  struct tide_future_params params = {.struct_size = sizeof params, .initial = 70};
  while (tide_session_create_future(owner, &params, &next) != TIDE_OK) usleep(1000);
  CHECK_EQ_U64(tide_shared_value(place.shared, place.slot), 70); /* another's, */
  CHECK_STATUS(look(&place, 1), TIDE_CANCELLED);                 /* and this tells */
  tide_session_close(owner);
  CHECK_STATUS(look(&place, 1), TIDE_CANCELLED);
  CHECK(tide_shared_value(place.shared, place.slot) >= 70);
  tide_session_close(s);
  rig_close(&r);
}

TEST(a_service_that_ends_and_one_that_is_killed) {
  for (int killed = 0; killed < 2; killed++) {
    struct rig r;
    struct tide_point timeline, p;
    struct tide_shared_point place;
    rig_open(&r, NULL);
    struct tide_session *s = rig_connect(&r, "orphan");
    CHECK_OK(tide_session_create_future(s, NULL, &timeline));
    CHECK_OK(tide_session_promise(s, timeline, TIDE_FOREVER, &p));
    CHECK_OK(tide_session_sync(s, rig_in(5000)));
    CHECK_OK(tide_session_view(s, p, &place));
    if (killed) {
      CHECK(kill(r.server, SIGKILL) == 0);
      CHECK(waitpid(r.server, NULL, 0) == r.server);
      rig_sweep(&r);
    } else {
      rig_close(&r);
    }
    CHECK_STATUS(look(&place, 1), killed ? TIDE_TIMEOUT : TIDE_LOST);
    CHECK_EQ_U64(tide_shared_value(place.shared, place.slot), 0);
    /* Its own promise may have been broken for it, first. */
    enum tide_status ends = tide_session_wait(s, p, rig_in(5000));
    CHECK(ends == TIDE_LOST || (!killed && ends == TIDE_OWNER_DIED));
    CHECK_STATUS(look(&place, 1), killed ? TIDE_TIMEOUT : TIDE_LOST);
    tide_session_close(s);
  }
}

/* Read by one thread while the session is used by another. */
static void *follow(void *user) {
  const struct tide_shared_point *place = user;
  for (uint64_t seen = 0; seen < 200;) {
    uint64_t now = tide_shared_value(place->shared, place->slot);
    CHECK(now >= seen);
    CHECK_OK(look(place, now));
    seen = now;
  }
  return NULL;
}
TEST(another_thread_reads) {
  struct rig r;
  struct tide_point timeline, p;
  struct tide_shared_point place;
  pthread_t thread;
  rig_open(&r, NULL);
  struct tide_session *s = rig_connect(&r, "threads");
  CHECK_OK(tide_session_create_future(s, NULL, &timeline));
  CHECK_OK(tide_session_view(s, timeline, &place));
  CHECK(pthread_create(&thread, NULL, follow, &place) == 0);
  for (int i = 0; i < 200; i++) {
    CHECK_OK(tide_session_promise(s, timeline, 0, &p));
    CHECK_OK(tide_session_fulfil(s, p));
    CHECK_OK(tide_session_wait(s, p, rig_in(5000)));
  }
  pthread_join(thread, NULL);
  tide_session_close(s);
  rig_close(&r);
}

TEST_MAIN(CASE(a_timeline_of_ones_own), CASE(what_has_no_place), CASE(it_outlives_names_and_owners),
          CASE(a_service_that_ends_and_one_that_is_killed), CASE(another_thread_reads))
