/* Messages without an application: each of the WIC paper's four communication models with each of
 * its four access patterns. What is sent is read out of the producer's field in the manner of the
 * access pattern, and is another in each cycle; who gets it folds it into a hash, and sends back
 * what depends on it. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct generator {
  struct settings settings;
  uint32_t words;    /* of a message */
  uint32_t *field;   /* each consumer's part is `words` long */
  uint64_t *hashes;  /* of what consumer i received; behind them: of what it gave back */
  uint32_t *indices; /* of a message, in the order of the access pattern */
  struct owned {
    uint32_t *own; /* C1 stirs it */
    uint32_t *out; /* what C1 makes of it */
  } * all;
};

/* How many of n a cycle has: all, but in the probabilistic model each with probability xi. The
 * first of cycle 0 is always there. Both sides know. */
static uint32_t count_of(const struct settings *s, enum direction way, uint32_t consumer,
                         uint32_t cycle) {
  uint32_t count = 0, n = 1;
  if (s->model == UNIDIRECTIONAL && way == UP) return 0;
  if (s->model == MULTIPLE || s->model == PROBABILISTIC) n = way == DOWN ? s->n0 : s->n1;
  if (s->model != PROBABILISTIC) return n;
  if (way == UP && count_of(s, DOWN, consumer, cycle) == 0) return 0;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t random = mix(s->seed + 17 + way, ((uint64_t)cycle * 65536 + consumer) * 64 + i) >> 11;
    count += (double)random / (double)(UINT64_C(1) << 53) < s->xi;
  }
  return way == DOWN && consumer == 0 && cycle < 2 && !count ? 1 : count;
}

/* Where word w of a message lies in the field, which has `total` words. */
static uint32_t index_of(const struct generator *g, struct message m, uint32_t w) {
  uint32_t total = g->words * g->settings.consumers, base = m.consumer * g->words;
  switch (g->settings.access) {
    case STREAMING: return (base + (m.cycle + m.number) * 64 + w) % total;
    case ADJACENT: /* the ends of the parts beside its own */
      return w < g->words / 2 ? (base + total - g->words / 2 + w) % total
                              : (base + g->words / 2 + w) % total;
    case SCATTER_GATHER: /* one of each part in turn */
      return (w % g->settings.consumers * g->words +
              (w / g->settings.consumers + m.consumer) % g->words) %
             total;
    default:
      return (uint32_t)(mix(g->settings.seed + 5,
                            (uint64_t)base * 3 + m.cycle * 977 + m.number + w * 31) %
                        total);
  }
}

static uint32_t value_of(const struct generator *g, struct message m, uint32_t index) {
  return g->field[index] * 2654435761u + m.cycle * 40503u + m.number * 9973u;
}

static uint64_t fold(uint64_t hash, const uint32_t *words, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) hash = (hash ^ words[i]) * UINT64_C(0x100000001B3);
  return hash;
}

/* ---- the producer ---- */

struct gather {
  const struct generator *g;
  struct message m;
  uint32_t *out;
};

static void gather(void *argument) {
  struct gather *a = argument;
  const struct generator *g = a->g;
  for (uint32_t w = 0; w < g->words; w++) g->indices[w] = index_of(g, a->m, w);
  for (uint32_t w = 0; w < g->words; w++) a->out[w] = value_of(g, a->m, g->indices[w]);
}

static bool take_back(struct run *r, struct generator *g, uint32_t c, uint32_t k) {
  uint32_t count = count_of(&g->settings, UP, c, k);
  for (uint32_t i = 0; i < count; i++) {
    uint64_t *hash = &g->hashes[g->settings.consumers + c];
    const uint32_t *in = take(r, up(c, k, i));
    if (!in) return false;
    *hash = fold(*hash, in, g->words);
    if (!taken(r, up(c, k, i))) return false;
  }
  return true;
}

static bool produce(struct run *r) {
  struct generator *g = r->state;
  const struct settings *s = &g->settings;
  for (uint32_t k = 0; k <= s->cycles; k++)
    for (uint32_t c = 0; c < s->consumers; c++) {
      if (k && !take_back(r, g, c, k - 1)) return false;
      uint32_t count = k < s->cycles ? count_of(s, DOWN, c, k) : 0;
      for (uint32_t i = 0; i < count; i++) {
        struct gather a = {g, down(c, k, i), room(r, down(c, k, i))};
        if (!a.out) return false;
        work(r, PRODUCE, gather, &a);
        give(r, a.m, g->words * sizeof *a.out);
      }
    }
  return true;
}

/* ---- a consumer ---- */

struct stir {
  const uint32_t *in;
  uint32_t *out;
  uint32_t words;
  uint64_t hash, result;
};

static void stir_own(void *argument) {
  struct stir *a = argument;
  for (uint32_t i = 0; i < a->words; i++) a->out[i] = (a->in[i] ^ a->in[i] >> 15) * 0x2C1B3C6Du;
}

static void fold_in(void *argument) {
  struct stir *a = argument;
  a->result = fold(a->hash, a->in, a->words);
}

/* What it sends back: its own words, as C1 left them, and the hash of all it has received. */
static bool give_back(struct run *r, struct generator *g, uint32_t c, uint32_t k) {
  uint32_t count = count_of(&g->settings, UP, c, k);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t *out = room(r, up(c, k, i));
    if (!out) return false;
    for (uint32_t w = 0; w < g->words; w++) out[w] = g->all[c].own[w] ^ (uint32_t)g->hashes[c];
    give(r, up(c, k, i), g->words * sizeof *out);
  }
  return true;
}

static bool consume(struct run *r, uint32_t c) {
  struct generator *g = r->state;
  struct owned *me = &g->all[c];
  for (uint32_t k = 0; k < g->settings.cycles; k++) {
    uint32_t count = count_of(&g->settings, DOWN, c, k);
    for (uint32_t i = 0; i < count; i++) {
      struct stir own = {.in = me->own, .out = me->out, .words = g->words};
      work(r, C1, stir_own, &own);
      me->out = me->own;
      me->own = own.out;
      struct stir in = {.in = take(r, down(c, k, i)), .words = g->words, .hash = g->hashes[c]};
      if (!in.in) return false;
      work(r, C2, fold_in, &in);
      g->hashes[c] = in.result;
      if (!taken(r, down(c, k, i))) return false;
    }
    if (!give_back(r, g, c, k)) return false;
  }
  return true;
}

/* ---- alone ---- */

/* `own` begins as a consumer's own words did. */
static void receive(const struct generator *g, uint32_t c, uint32_t *own, uint64_t hashes[2]) {
  const struct settings *s = &g->settings;
  for (uint32_t w = 0; w < g->words; w++) own[w] = (uint32_t)mix(s->seed + 9, c * 65537u + w);
  for (uint32_t k = 0; k < s->cycles; k++) {
    uint32_t count = count_of(s, DOWN, c, k), back = count_of(s, UP, c, k);
    for (uint32_t i = 0; i < count; i++)
      for (uint32_t w = 0; w < g->words; w++) {
        uint32_t word = value_of(g, down(c, k, i), index_of(g, down(c, k, i), w));
        hashes[0] = fold(hashes[0], &word, 1);
        own[w] = (own[w] ^ own[w] >> 15) * 0x2C1B3C6Du;
      }
    for (uint32_t i = 0; i < back; i++)
      for (uint32_t w = 0; w < g->words; w++) {
        uint32_t word = own[w] ^ (uint32_t)hashes[0];
        hashes[1] = fold(hashes[1], &word, 1);
      }
  }
}

static bool check(const struct settings *settings, void *state, char *said, size_t size) {
  struct generator *g = state;
  bool good = true, failed = false;
  uint32_t *own = make(g->words, sizeof *own, &failed);
  for (uint32_t c = 0; c < settings->consumers && good && !failed; c++) {
    uint64_t hashes[2] = {0, 0};
    receive(g, c, own, hashes);
    good =
        same(&g->hashes[c], &hashes[0], sizeof *hashes, "the hash of what came", c, said, size) &&
        same(&g->hashes[settings->consumers + c], &hashes[1], sizeof *hashes,
             "the hash of what came back", c, said, size);
  }
  free(own);
  return good && !failed;
}

static void destroy(void *state) {
  struct generator *g = state;
  for (uint32_t c = 0; g->all && c < g->settings.consumers; c++) {
    free(g->all[c].own);
    free(g->all[c].out);
  }
  free(g->all);
  free(g->field);
  free(g->hashes);
  free(g->indices);
  free(g);
}

static void *create(const struct settings *settings) {
  bool failed = false;
  struct generator *g = make(1, sizeof *g, &failed);
  if (failed) return NULL;
  size_t consumers = settings->consumers;
  g->settings = *settings;
  g->words = (uint32_t)(settings->bytes / sizeof *g->field);
  g->field = make(consumers * g->words, sizeof *g->field, &failed);
  g->hashes = make(2 * consumers, sizeof *g->hashes, &failed);
  g->indices = make(g->words, sizeof *g->indices, &failed);
  g->all = make(consumers, sizeof *g->all, &failed);
  for (size_t c = 0; c < consumers && !failed; c++) {
    g->all[c].own = make(g->words, sizeof(uint32_t), &failed);
    g->all[c].out = make(g->words, sizeof(uint32_t), &failed);
    for (uint32_t w = 0; w < g->words && !failed; w++)
      g->all[c].own[w] = (uint32_t)mix(settings->seed + 9, c * 65537u + w);
  }
  if (failed) return destroy(g), NULL;
  for (size_t i = 0; i < consumers * g->words; i++) g->field[i] = (uint32_t)mix(settings->seed, i);
  return g;
}

static void shape(const struct settings *s, uint32_t *out_down, uint32_t *out_up) {
  bool many = s->model == MULTIPLE || s->model == PROBABILISTIC;
  *out_down = many ? s->n0 : 1;
  *out_up = s->model == UNIDIRECTIONAL ? 0 : many ? s->n1 : 1;
}

const struct pattern pattern_generator = {
    .name = "generator",
    .summary = "four models times four access patterns, without an application",
    .cycles = 8,
    .shape = shape,
    .create = create,
    .destroy = destroy,
    .produce = produce,
    .consume = consume,
    .check = check,
};
