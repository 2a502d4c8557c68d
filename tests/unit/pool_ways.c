/* A listener changes nothing of what a pool does: one random program with and without it, and all
 * that can be seen is the same. */
#include "causal/context_state.h"
#include "pool_rig.h"

#include "base/random.h"

#define LIVE 12
#define STEPS 3000
#define SEEDS 24
#define HANDLES 64

struct side {
  struct rig rig;
  struct tide_buffer *live[LIVE];
  uint64_t lived[HANDLES]; /* the newest life of each handle */
  const struct tide_buffer *handles[HANDLES];
  char *base;
};

struct pair {
  struct tide_random random;
  struct side sides[2]; /* without a listener, with one */
  uint64_t heard, met[TIDE_REUSE_FRESH + 1];
  bool three_sizes, taints;
};

static void hear(void *self, const struct tide_event *event) {
  (void)event;
  ++*(uint64_t *)self;
}

static unsigned below(struct pair *p, unsigned limit) {
  return (unsigned)tide_random_below(&p->random, limit);
}

static struct tide_position *maybe_host(struct side *s, unsigned queue) {
  return queue < RIG_QUEUES ? at(&s->rig, queue) : NULL;
}

static void check_alike(const struct side *a, const struct side *b, unsigned slot) {
  const struct tide_buffer *x = a->live[slot], *y = b->live[slot];
  const struct tide_frontier *past = tide_buffer_past(x), *other = tide_buffer_past(y);
  CHECK_EQ_U64(tide_buffer_reuse(x), tide_buffer_reuse(y));
  CHECK((char *)tide_buffer_data(x) - a->base == (char *)tide_buffer_data(y) - b->base);
  CHECK_EQ_STR(tide_buffer_label(x), tide_buffer_label(y));
  CHECK(past->count == other->count && past->tainted == other->tainted);
  for (unsigned q = 0; q < RIG_QUEUES; q++) {
    CHECK_EQ_U64(tide_frontier_get(past, a->rig.queues[q].position.axis),
                 tide_frontier_get(other, b->rig.queues[q].position.axis));
  }
  tide_axis axis, other_axis;
  uint64_t epoch, other_epoch;
  tide_buffer_past_signaller(x, &axis, &epoch);
  tide_buffer_past_signaller(y, &other_axis, &other_epoch);
  CHECK_EQ_U64(epoch, other_epoch);
  for (unsigned q = 0; q < RIG_QUEUES; q++) {
    CHECK((a->rig.queues[q].position.axis == axis) ==
          (b->rig.queues[q].position.axis == other_axis));
  }
}

/* No two lives of a handle have the same number. */
static void check_serial(struct side *s, const struct tide_buffer *buffer) {
  unsigned i = 0;
  while (i < HANDLES && s->handles[i] && s->handles[i] != buffer) i++;
  CHECK(i < HANDLES);
  CHECK(tide_buffer_serial(buffer) > s->lived[i]);
  s->handles[i] = buffer;
  s->lived[i] = tide_buffer_serial(buffer);
}

static void alloc_both(struct pair *p, unsigned slot) {
  unsigned queue = below(p, RIG_QUEUES + 1);
  size_t size = p->three_sizes ? (4 * KIB) << below(p, 3) : 16 * KIB;
  const char *label = below(p, 4) ? NULL : "tile";
  enum tide_status status[2];
  for (unsigned i = 0; i < 2; i++) {
    struct side *s = &p->sides[i];
    status[i] = tide_pool_alloc(s->rig.pool, size, maybe_host(s, queue), label, &s->live[slot]);
  }
  CHECK_STATUS(status[0], status[1]);
  if (status[0] != TIDE_OK) return;
  struct tide_buffer *buffer = p->sides[0].live[slot];
  if (label) CHECK_EQ_STR(tide_buffer_label(buffer), label);
  else CHECK(strncmp(tide_buffer_label(buffer), "buffer ", 7) == 0);
  p->met[tide_buffer_reuse(buffer)]++;
  check_alike(&p->sides[0], &p->sides[1], slot);
  for (unsigned i = 0; i < 2; i++) check_serial(&p->sides[i], p->sides[i].live[slot]);
}

/* Sometimes the freeing queue cannot list all that it knows. */
static void free_both(struct pair *p, unsigned slot) {
  unsigned queue = below(p, 8) ? below(p, RIG_QUEUES) : RIG_QUEUES;
  bool taint = p->taints && queue < RIG_QUEUES && below(p, 40) == 0;
  for (unsigned i = 0; i < 2; i++) {
    struct side *s = &p->sides[i];
    if (taint) at(&s->rig, queue)->frontier->tainted = 1;
    tide_pool_free(s->live[slot], maybe_host(s, queue));
    if (taint) at(&s->rig, queue)->frontier->tainted = 0;
    s->live[slot] = NULL;
  }
}

/* An operation; now and then on a queue whose completion is not in order, so that its frontier does
 * not list it. */
static void submit_both(struct pair *p) {
  unsigned queue = below(p, RIG_QUEUES), slot = below(p, LIVE);
  bool silent = below(p, 10) == 0;
  for (unsigned i = 0; i < 2; i++) {
    struct side *s = &p->sides[i];
    if (!silent) submit(&s->rig, queue, s->live[slot]);
    else if (s->live[slot])
      use_at(s->live[slot], axis_of(&s->rig, queue), ++at(&s->rig, queue)->epoch);
  }
}

static void step(struct pair *p) {
  unsigned what = below(p, 20), slot = below(p, LIVE), queue = below(p, RIG_QUEUES);
  unsigned from = below(p, RIG_QUEUES);
  if (what < 10) {
    if (p->sides[0].live[slot]) free_both(p, slot);
    else alloc_both(p, slot);
  } else if (what < 16) {
    submit_both(p);
  } else if (what < 19) {
    for (unsigned i = 0; i < 2; i++) learn(&p->sides[i].rig, queue, from);
  } else {
    for (unsigned i = 0; i < 2; i++) finish(&p->sides[i].rig, queue);
  }
}

static void check_stats(struct pair *p) {
  struct tide_pool_stats a = stats_of(&p->sides[0].rig), b = stats_of(&p->sides[1].rig);
  CHECK(memcmp(&a, &b, sizeof a) == 0);
}

static void go_both_ways(struct pair *p, const struct tide_pool_params *params, uint64_t seed) {
  struct tide_sink sink = {.event = hear, .self = &p->heard};
  p->random = (struct tide_random){seed};
  for (unsigned i = 0; i < 2; i++) {
    struct side *s = &p->sides[i];
    memset(s, 0, sizeof *s);
    rig_open(&s->rig, seed % 5 ? 8 : 4, params); /* fewer than there are queues */
    rig_name(&s->rig, seed % 2 ? 4 : RIG_QUEUES);
    s->live[0] = take(&s->rig, 0, 4 * KIB);
    s->base = tide_buffer_data(s->live[0]);
  }
  p->sides[1].rig.context->sink = &sink;
  for (unsigned n = 0; n < STEPS; n++) {
    step(p);
    check_stats(p);
  }
  p->sides[1].rig.context->sink = NULL;
  for (unsigned i = 0; i < 2; i++) {
    for (unsigned slot = 0; slot < LIVE; slot++) drop(&p->sides[i].rig, 0, p->sides[i].live[slot]);
    rig_close(&p->sides[i].rig);
  }
}

static void both_ways(struct tide_pool_params params) {
  static struct pair pair;
  memset(&pair, 0, sizeof pair);
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    /* With room for two of one size there is rarely more than one block to choose from. */
    pair.three_sizes = seed % 3 == 0;
    pair.taints = seed % 4 == 0;
    params.chunk = params.limit = (seed % 3 == 1 ? 32 : 64) * KIB;
    params.policy = seed % 7 < 4 ? TIDE_POOL_WAIT_FIRST : TIDE_POOL_GROW_FIRST;
    go_both_ways(&pair, &params, seed);
  }
  CHECK(pair.heard > 4000);
  for (unsigned i = 0; i <= TIDE_REUSE_FRESH; i++) CHECK(pair.met[i] > 0);
  CHECK(pair.met[TIDE_REUSE_GAP] > 200 && pair.met[TIDE_REUSE_KNOWN] > 200);
}

TEST(uses_unnamed) {
  both_ways((struct tide_pool_params){.struct_size = sizeof(struct tide_pool_params)});
}
TEST(uses_named) {
  both_ways((struct tide_pool_params){.struct_size = sizeof(struct tide_pool_params),
                                      .uses_are_named = true});
}
TEST(frees_cover_uses) {
  both_ways((struct tide_pool_params){.struct_size = sizeof(struct tide_pool_params),
                                      .frees_cover_uses = true});
}

TEST_MAIN(CASE(uses_unnamed), CASE(uses_named), CASE(frees_cover_uses))
