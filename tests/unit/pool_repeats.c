/* Queues that use a buffer again and again, without the pool's lock: what its past is next is what
 * it would be if each use had been told under it. */
#include "causal/context_state.h"
#include "pool_rig.h"

#include "base/random.h"
#include <pthread.h>
#include <stdio.h>

static const struct tide_pool_params named_chunk = {.struct_size = sizeof named_chunk,
                                                    .limit = 64 * KIB,
                                                    .chunk = 64 * KIB,
                                                    .uses_are_named = true};

/* What `uses` is to be: at most one entry a queue, and none that a later use knew. */
struct model {
  uint64_t uses[RIG_QUEUES];
  uint64_t learned[RIG_QUEUES]; /* the first epoch that knows all that the queue does */
};

static void use(struct rig *rig, struct model *m, unsigned queue, struct tide_buffer *b) {
  struct tide_position *position = at(rig, queue);
  position->epoch++;
  tide_frontier_raise(position->frontier, position->axis, position->epoch, NULL);
  if (m->learned[queue] == 0) m->learned[queue] = position->epoch;
  tide_buffer_use(b, &(struct tide_naming){position->axis, position->epoch, position->frontier,
                                           m->learned[queue], NULL});
  for (unsigned q = 0; q < RIG_QUEUES; q++) {
    if (q != queue && tide_frontier_get(position->frontier, axis_of(rig, q)) >= m->uses[q]) {
      m->uses[q] = 0;
    }
  }
  m->uses[queue] = position->epoch;
}

static void hear_of(struct rig *rig, struct model *m, unsigned queue, unsigned from) {
  learn(rig, queue, from);
  m->learned[queue] = 0;
}

static bool idle_by_model(struct rig *rig, const struct model *m) {
  for (unsigned q = 0; q < RIG_QUEUES; q++) {
    if (!tide_tracker_finished(rig->context->tracker, axis_of(rig, q), m->uses[q]) && m->uses[q]) {
      return false;
    }
  }
  return true;
}

static uint64_t random_life(struct rig *rig, struct tide_random *random, unsigned queues,
                            struct model *m, struct tide_buffer *b) {
  uint64_t steps = 1 + tide_random_below(random, 40), repeats = 0;
  memset(m->uses, 0, sizeof m->uses);
  for (uint64_t i = 0; i < steps; i++) {
    unsigned queue = (unsigned)tide_random_below(random, queues);
    if (tide_random_below(random, 4) == 0) {
      hear_of(rig, m, queue, (unsigned)tide_random_below(random, queues));
    }
    for (uint64_t again = tide_random_below(random, 4); again-- > 0; repeats++) {
      use(rig, m, queue, b);
    }
    use(rig, m, queue, b);
  }
  return repeats;
}

/* Queues are more than places, so that some share one. */
TEST(random_uses) {
  CHECK(RIG_QUEUES > TIDE_REPEATERS);
  uint64_t repeats = 0;
  for (uint64_t seed = 1; seed <= 200; seed++) {
    struct rig rig;
    struct model m = {{0}, {0}};
    struct tide_random random = {seed};
    rig_open(&rig, 8, &named_chunk);
    rig_name(&rig, RIG_QUEUES);
    struct tide_buffer *b = take_all(&rig, 0);
    for (int lives = 0; lives < 8; lives++) {
      char text[256] = "";
      repeats += random_life(&rig, &random, 2 + (unsigned)seed % (RIG_QUEUES - 1), &m, b);
      drop(&rig, (unsigned)tide_random_below(&random, RIG_QUEUES), b);
      for (unsigned q = 0; q < RIG_QUEUES; q++) {
        size_t length = strlen(text);
        if (!m.uses[q]) continue;
        snprintf(text + length, sizeof text - length, "%s%u@%llu", length ? " " : "", q,
                 (unsigned long long)m.uses[q]);
      }
      b = take_all(&rig, (unsigned)tide_random_below(&random, RIG_QUEUES));
      check_past(&rig, b, text);
    }
    drop(&rig, 0, b);
    rig_close(&rig);
  }
  CHECK(repeats > 10000);
}

/* A repeated use counts before anybody gathers it. */
TEST(idle_asks_repeats) {
  struct rig rig;
  struct model m = {{0}, {0}};
  rig_open(&rig, 8, &one_chunk);
  struct tide_buffer *b = take_all(&rig, 0);
  tide_buffer_retain(b); /* as an operation does */
  for (unsigned queue = 0; queue < RIG_QUEUES; queue++) {
    for (int i = 0; i < 3; i++) use(&rig, &m, queue, b);
    (void)tide_tracker_advance(rig.context->tracker, axis_of(&rig, queue), 2);
    CHECK(!tide_buffer_idle(b) && !idle_by_model(&rig, &m));
    finish(&rig, queue);
    CHECK(tide_buffer_idle(b) && idle_by_model(&rig, &m));
  }
  tide_buffer_release(b);
  drop(&rig, 0, b);
  rig_close(&rig);
}

/* A free that waits for a held operation sees what was told meanwhile. */
TEST(held_uses_are_gathered) {
  struct rig rig;
  struct model m = {{0}, {0}};
  rig_open(&rig, 8, &named_chunk);
  rig_name(&rig, RIG_QUEUES);
  struct tide_buffer *b = take_all(&rig, 0);
  for (int i = 0; i < 3; i++) use(&rig, &m, 0, b);
  tide_buffer_retain(b), tide_buffer_pin(b);
  drop(&rig, 1, b);
  use(&rig, &m, 0, b);
  tide_buffer_unpin(b), tide_buffer_release(b);
  b = take_all(&rig, 2);
  check_past(&rig, b, "0@4");
  drop(&rig, 2, b);
  rig_close(&rig);
}

/* Whoever frees knows all that is listed, but not what was told without the lock. */
TEST(known_but_for_a_repeat) {
  for (int named = 0; named < 2; named++) {
    struct rig rig;
    struct model m = {{0}, {0}};
    rig_open(&rig, 8, named ? &named_chunk : &one_chunk);
    rig_name(&rig, 3);
    struct tide_buffer *b = take_all(&rig, 0);
    use(&rig, &m, 0, b), use(&rig, &m, 0, b);
    learn(&rig, 2, 0), submit(&rig, 2, NULL);
    use(&rig, &m, 0, b);
    drop(&rig, 2, b);
    b = take_all(&rig, 1);
    check_past(&rig, b, named ? "0@3" : "0@3 2@1");
    check_signaller(&rig, b, named ? 0 : -1, named ? 3 : 0);
    drop(&rig, 1, b);
    rig_close(&rig);
  }
}

/* ---- threads ---- */

#define THREADS 6 /* a queue each, two of which share a place with another */
#define USES 20000

struct user {
  struct rig *rig;
  struct tide_buffer *buffer;
  unsigned queue;
};

static void *use_often(void *self) {
  struct user *user = self;
  struct tide_position *position = at(user->rig, user->queue);
  for (int i = 0; i < USES; i++) {
    bool learns = i % 1000 == 500; /* of nobody, but the pool cannot know */
    position->epoch++;
    tide_frontier_raise(position->frontier, position->axis, position->epoch, NULL);
    tide_buffer_use(user->buffer,
                    &(struct tide_naming){position->axis, position->epoch, position->frontier,
                                          learns ? position->epoch : position->epoch - 1, NULL});
  }
  return NULL;
}

TEST(threads) {
  struct rig rig;
  struct user users[THREADS];
  pthread_t threads[THREADS];
  rig_open(&rig, 8, &named_chunk);
  rig_name(&rig, RIG_QUEUES);
  struct tide_buffer *b = take_all(&rig, 0);
  for (unsigned i = 0; i < THREADS; i++) {
    users[i] = (struct user){&rig, b, i};
    CHECK(pthread_create(&threads[i], NULL, use_often, &users[i]) == 0);
  }
  for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  drop(&rig, 0, b);
  b = take_all(&rig, 1);
  check_past(&rig, b, "0@20000 1@20000 2@20000 3@20000 4@20000 5@20000");
  drop(&rig, 1, b);
  rig_close(&rig);
}

TEST_MAIN(CASE(random_uses), CASE(idle_asks_repeats), CASE(held_uses_are_gathered),
          CASE(known_but_for_a_repeat), CASE(threads))
