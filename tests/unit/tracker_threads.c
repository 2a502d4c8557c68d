/* The tracker with threads: advance against wait, cancel, close and readers without the lock. */
#include "harness.h"

#include "base/check.h"
#include "base/random.h"
#include "causal/tracker_axis.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static tide_axis queue(uint64_t ordinal) { return tide_axis_make(0, TIDE_DOMAIN_QUEUE, ordinal); }

static struct tide_tracker *make(unsigned axes) {
  struct tide_tracker_params params = {
      .struct_size = sizeof params, tide_allocator_system(), tide_platform_linux()};
  struct tide_tracker *tracker;
  CHECK_OK(tide_tracker_create(&params, &tracker));
  for (uint64_t i = 1; i <= axes; i++) CHECK_OK(tide_tracker_register(tracker, queue(i)));
  return tracker;
}

static void yield(void) { tide_platform_linux()->yield(NULL); }

/* Lets `count` threads begin together: starting one takes longer than many a race. Returns the
 * caller's number, from 0. */
static unsigned line_up(atomic_uint *arrived, unsigned count) {
  unsigned mine = atomic_fetch_add(arrived, 1);
  while (atomic_load(arrived) < count) yield();
  return mine;
}

#define AXES 4
#define WAITERS 3
#define NEEDS 3

/* Plain, so that ThreadSanitizer sees whether "finished" carries the writes before it along. */
static uint64_t written[AXES][4096];

struct shared {
  struct tide_tracker *tracker;
  uint64_t last; /* epochs of each axis */
  unsigned threads;
  atomic_uint started;
  atomic_uint waits, cancelled;
};

struct wait {
  struct tide_frontier_wait wait;
  struct tide_waiter nodes[NEEDS];
  uint64_t epochs[AXES];
  atomic_uint done;
};

static void on_done(struct tide_frontier_wait *w, enum tide_status status) {
  struct wait *wait = TIDE_CONTAINER(w, struct wait, wait);
  CHECK_OK(status);
  for (unsigned i = 0; i < AXES; i++) {
    if (wait->epochs[i]) CHECK_EQ_U64(written[i][wait->epochs[i]], wait->epochs[i]);
  }
  atomic_fetch_add(&wait->done, 1);
}

static void *advance_one(void *argument) {
  struct shared *shared = argument;
  static atomic_uint next_axis;
  unsigned axis = atomic_fetch_add(&next_axis, 1) % AXES, waits = 0;
  line_up(&shared->started, shared->threads);
  struct tide_tracker_axis *at = tide_tracker_find(shared->tracker, queue(axis + 1));
  for (uint64_t epoch = 1; epoch <= shared->last; epoch++) {
    written[axis][epoch] = epoch;
    struct tide_fired fired;
    tide_fired_init(&fired);
    tide_tracker_advance_collect(shared->tracker, at, epoch, &fired);
    tide_fired_run(&fired);
    /* As fast as the waiters, roughly; never wait for them for good. */
    for (unsigned spins = 0; spins < 50 && atomic_load(&shared->waits) == waits; spins++) yield();
    waits = atomic_load(&shared->waits);
  }
  return NULL;
}

/* Each wait runs exactly once, or is cancelled and never runs. */
static void *wait_and_cancel(void *argument) {
  struct shared *shared = argument;
  struct tide_random random = {line_up(&shared->started, shared->threads) + 1};
  TIDE_FRONTIER_STORAGE(needs, NEEDS);
  for (bool over = false; !over;) {
    struct wait wait = {.wait = {.nodes = wait.nodes, .done = on_done}};
    tide_frontier_init(&needs.frontier, NEEDS);
    over = true;
    for (unsigned i = 0; i < NEEDS; i++) {
      unsigned axis = (unsigned)tide_random_below(&random, AXES);
      uint64_t epoch =
          tide_tracker_epoch(shared->tracker, queue(axis + 1)) + tide_random_below(&random, 9);
      if (epoch < shared->last) over = false;
      if (epoch > shared->last) epoch = shared->last;
      tide_frontier_raise(&needs.frontier, queue(axis + 1), epoch, NULL);
    }
    for (unsigned i = 0; i < AXES; i++)
      wait.epochs[i] = tide_frontier_get(&needs.frontier, queue(i + 1));
    CHECK_OK(tide_tracker_wait(shared->tracker, &needs.frontier, &wait.wait, NEEDS));
    atomic_fetch_add(&shared->waits, 1);
    if (tide_random_below(&random, 2) && tide_tracker_cancel(&wait.wait)) {
      atomic_fetch_add(&shared->cancelled, 1);
      CHECK_EQ_U64(atomic_load(&wait.done), 0);
      continue; /* its memory is used again at once: whoever still held it would crash or race */
    }
    for (unsigned spins = 0; !atomic_load(&wait.done); spins++) {
      if (spins % 64 == 63) yield();
    }
    CHECK_EQ_U64(atomic_load(&wait.done), 1);
    CHECK(tide_frontier_satisfied(&(struct tide_frontier){.capacity = 1}, shared->tracker,
                                  &needs.frontier));
  }
  return NULL;
}

/* One round; how many waits and cancels there were depends on the machine's scheduler. */
static void meet(struct shared *shared) {
  pthread_t advancers[AXES], waiters[WAITERS];
  memset(written, 0, sizeof written);
  for (unsigned i = 0; i < AXES; i++)
    CHECK(!pthread_create(&advancers[i], NULL, advance_one, shared));
  for (unsigned i = 0; i < WAITERS; i++)
    CHECK(!pthread_create(&waiters[i], NULL, wait_and_cancel, shared));
  for (unsigned i = 0; i < AXES; i++) pthread_join(advancers[i], NULL);
  for (unsigned i = 0; i < WAITERS; i++) pthread_join(waiters[i], NULL);
  for (unsigned i = 1; i <= AXES; i++)
    CHECK_EQ_U64(tide_tracker_epoch(shared->tracker, queue(i)), shared->last);
}

TEST(advance_against_wait_and_cancel) {
  unsigned waits = 0, cancelled = 0;
  do { /* until they have met often enough, however few cores there are */
    struct shared shared = {
        .tracker = make(AXES), .last = 1000 / test_slowdown(), .threads = AXES + WAITERS};
    meet(&shared);
    waits += atomic_load(&shared.waits);
    cancelled += atomic_load(&shared.cancelled);
    tide_tracker_destroy(shared.tracker);
  } while (waits <= 100 || cancelled <= 10);
}

/* ---- several threads advance one axis ---- */

static void *advance_shared(void *argument) {
  struct shared *shared = argument;
  uint64_t from = 1 + line_up(&shared->started, shared->threads);
  struct tide_tracker_axis *at = tide_tracker_find(shared->tracker, queue(1));
  for (uint64_t epoch = from; epoch <= shared->last; epoch += shared->threads) {
    if (from == 1) {
      CHECK_OK(tide_tracker_advance(shared->tracker, queue(1), epoch));
    } else {
      struct tide_fired fired;
      tide_fired_init(&fired);
      tide_tracker_advance_collect(shared->tracker, at, epoch, &fired);
      tide_fired_run(&fired);
    }
    CHECK(tide_tracker_axis_epoch(at) >= epoch); /* nobody has lowered it */
  }
  return NULL;
}

static atomic_uint fired_count;
static void count_fired(struct tide_node *node, enum tide_status status) {
  (void)node;
  CHECK_OK(status);
  atomic_fetch_add(&fired_count, 1);
}

TEST(threads_advance_one_axis) {
  struct shared shared = {.tracker = make(1), .last = 200000 / test_slowdown(), .threads = 4};
  struct tide_finish_wait *waits = calloc(shared.last, sizeof *waits);
  pthread_t threads[4];
  for (uint64_t i = 0; i < shared.last; i++) {
    waits[i].node.fire = count_fired;
    CHECK(tide_tracker_wait_finish(shared.tracker, queue(1), i + 1, &waits[i]));
  }
  for (int i = 0; i < 4; i++) CHECK(!pthread_create(&threads[i], NULL, advance_shared, &shared));
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  CHECK_EQ_U64(tide_tracker_epoch(shared.tracker, queue(1)), shared.last);
  CHECK_EQ_U64(atomic_load(&fired_count), shared.last);
  tide_tracker_destroy(shared.tracker);
  free(waits);
}

/* ---- one advance meets one wait, again and again ---- */

struct meeting {
  struct tide_tracker *tracker;
  struct tide_tracker_axis *at;
  uint64_t rounds;
  _Atomic uint64_t round, advanced;
};

/* A pause of some nanoseconds, so that the two meet at all angles. */
static void pause_for(uint64_t spins) {
  while (spins-- > 0) tide_pause();
}

static void advance_once_a_round(struct meeting *m, struct tide_random *random, uint64_t round) {
  struct tide_fired fired;
  tide_fired_init(&fired);
  pause_for(tide_random_below(random, 12));
  tide_tracker_advance_collect(m->tracker, m->at, round, &fired);
  tide_fired_run(&fired);
  atomic_store(&m->advanced, round);
}

static void *advance_each_round(void *argument) {
  struct meeting *m = argument;
  struct tide_random random = {1};
  for (uint64_t round = 1; round <= m->rounds; round++) {
    for (unsigned spins = 0; atomic_load(&m->round) < round; spins++) {
      if (spins % 1024 == 1023) yield();
    }
    advance_once_a_round(m, &random, round);
  }
  return NULL;
}

/* Nothing comes after the one advance, so a waiter that it misses is missed for good. */
TEST(no_wake_up_is_lost) {
  struct meeting m = {.tracker = make(1), .rounds = 50000 / test_slowdown()};
  struct tide_random random = {2};
  pthread_t advancer;
  m.at = tide_tracker_find(m.tracker, queue(1));
  CHECK(!pthread_create(&advancer, NULL, advance_each_round, &m));
  for (uint64_t round = 1; round <= m.rounds; round++) {
    struct tide_finish_wait wait = {.node.fire = count_fired};
    unsigned before = atomic_load(&fired_count);
    atomic_store(&m.round, round);
    pause_for(tide_random_below(&random, 12));
    bool queued = tide_tracker_wait_finish(m.tracker, queue(1), round, &wait);
    for (unsigned spins = 0; atomic_load(&m.advanced) < round; spins++) {
      if (spins % 1024 == 1023) yield();
    }
    CHECK_EQ_U64(atomic_load(&fired_count) - before, queued);
  }
  pthread_join(advancer, NULL);
  tide_tracker_destroy(m.tracker);
}

/* An advance has raised the epoch, but has not yet got the lock to take the waiter off, when the
 * axis fails: the waiter's epoch has finished, and that is what it is told. */
static void *advance_to_five(void *argument) {
  struct meeting *m = argument;
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_tracker_advance_collect(m->tracker, m->at, 5, &fired);
  tide_fired_run(&fired);
  return NULL;
}

static _Atomic unsigned told;
static void tell(struct tide_frontier_wait *wait, enum tide_status status) {
  (void)wait;
  atomic_store(&told, 100 + status);
}

TEST(a_failure_does_not_overtake_an_advance) {
  for (int round = 0; round < 20; round++) {
    struct meeting m = {.tracker = make(1)};
    m.at = tide_tracker_find(m.tracker, queue(1));
    TIDE_FRONTIER_STORAGE(needs, 1);
    struct tide_waiter node;
    struct tide_frontier_wait wait = {.nodes = &node, .done = tell};
    tide_frontier_init(&needs.frontier, 1);
    tide_frontier_raise(&needs.frontier, queue(1), 5, NULL);
    CHECK_OK(tide_tracker_wait(m.tracker, &needs.frontier, &wait, 1));
    pthread_t advancer;
    tide_tracker_lock(m.tracker);
    CHECK(!pthread_create(&advancer, NULL, advance_to_five, &m));
    while (tide_tracker_axis_epoch(m.at) < 5) yield();
    tide_tracker_unlock(m.tracker);
    CHECK_OK(tide_tracker_fail(m.tracker, queue(1), TIDE_LOST));
    pthread_join(advancer, NULL);
    CHECK_STATUS(atomic_load(&told) - 100, TIDE_OK);
    CHECK_OK(tide_tracker_close(m.tracker, queue(1)));
    tide_tracker_destroy(m.tracker);
  }
}

/* ---- readers while axes come and go ---- */

struct churn {
  struct tide_tracker *tracker;
  _Atomic uint64_t newest; /* registered, at epoch = its ordinal at least */
  _Atomic uint64_t closed; /* all ordinals up to here have closed */
  atomic_bool stop;
  atomic_uint started;
  atomic_uint reads;
};

/* An axis is never seen to be unknown once registered, never below where it was, and finished for
 * ever once closed: no reader may see the next life of its state. */
static void *read_while_they_come_and_go(void *argument) {
  struct churn *churn = argument;
  struct tide_random random = {line_up(&churn->started, 3)};
  for (uint64_t last = 0; !atomic_load(&churn->stop);) {
    uint64_t closed = atomic_load(&churn->closed), newest = atomic_load(&churn->newest);
    CHECK(newest >= last);
    last = newest;
    if (newest == 0) continue;
    atomic_fetch_add(&churn->reads, 1);
    uint64_t back = tide_random_below(&random, 12);
    uint64_t ordinal = newest > back ? newest - back : 1;
    uint64_t epoch = tide_tracker_epoch(churn->tracker, queue(ordinal));
    CHECK(epoch >= ordinal);
    if (ordinal <= closed) CHECK_EQ_U64(epoch, UINT64_MAX);
    CHECK(epoch == UINT64_MAX || epoch < ordinal + 3);
    CHECK(tide_tracker_finished(churn->tracker, queue(ordinal), ordinal));
    CHECK(!tide_tracker_finished(churn->tracker, queue(newest + 1000000), 1));
  }
  return NULL;
}

TEST(readers_while_axes_come_and_go) {
  struct churn churn = {.tracker = make(0)};
  pthread_t readers[2];
  uint64_t rounds = 100000 / test_slowdown();
  for (int i = 0; i < 2; i++)
    CHECK(!pthread_create(&readers[i], NULL, read_while_they_come_and_go, &churn));
  uint64_t closed = 0;
  line_up(&churn.started, 3);
  for (uint64_t i = 1; i <= rounds || atomic_load(&churn.reads) < 1000; i++) {
    if (i % 64 == 0) yield(); /* on few cores the readers would hardly get the lock */
    CHECK_OK(tide_tracker_register(churn.tracker, queue(i)));
    CHECK_OK(tide_tracker_advance(churn.tracker, queue(i), i));
    atomic_store(&churn.newest, i);
    uint64_t live = i % 1024 < 700 ? 4 : 40; /* swells and shrinks */
    while (i - closed > live) {
      closed++;
      CHECK_OK(tide_tracker_advance(churn.tracker, queue(closed), closed + 2));
      CHECK_OK(tide_tracker_close(churn.tracker, queue(closed)));
      atomic_store(&churn.closed, closed);
    }
  }
  atomic_store(&churn.stop, true);
  for (int i = 0; i < 2; i++) pthread_join(readers[i], NULL);
  tide_tracker_destroy(churn.tracker);
}

/* ---- several threads register and close ---- */

static void *register_and_close(void *argument) {
  struct shared *shared = argument;
  uint64_t thread = line_up(&shared->started, shared->threads);
  for (uint64_t i = 1; i <= shared->last; i++) {
    tide_axis axis = tide_axis_make((uint16_t)thread, TIDE_DOMAIN_HOST, i);
    CHECK_OK(tide_tracker_register(shared->tracker, axis));
    CHECK_STATUS(tide_tracker_register(shared->tracker, axis), TIDE_BUSY);
    CHECK_OK(tide_tracker_advance(shared->tracker, axis, i));
    CHECK_EQ_U64(tide_tracker_epoch(shared->tracker, axis), i);
    if (i % 8 == 0) continue; /* stays */
    CHECK_OK(tide_tracker_close(shared->tracker, axis));
    CHECK_EQ_U64(tide_tracker_epoch(shared->tracker, axis), UINT64_MAX);
  }
  return NULL;
}

TEST(threads_register_and_close) {
  struct shared shared = {.tracker = make(0), .last = 40000 / test_slowdown(), .threads = 4};
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    CHECK(!pthread_create(&threads[i], NULL, register_and_close, &shared));
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  CHECK_EQ_U64(tide_tracker_live(shared.tracker), 4 * (shared.last / 8));
  for (uint64_t thread = 0; thread < 4; thread++) {
    for (uint64_t i = 1; i <= shared.last; i++) {
      tide_axis axis = tide_axis_make((uint16_t)thread, TIDE_DOMAIN_HOST, i);
      CHECK_EQ_U64(tide_tracker_epoch(shared.tracker, axis), i % 8 ? UINT64_MAX : i);
    }
  }
  tide_tracker_destroy(shared.tracker);
}

TEST_MAIN(CASE(advance_against_wait_and_cancel), CASE(threads_advance_one_axis),
          CASE(no_wake_up_is_lost), CASE(a_failure_does_not_overtake_an_advance),
          CASE(readers_while_axes_come_and_go), CASE(threads_register_and_close))
