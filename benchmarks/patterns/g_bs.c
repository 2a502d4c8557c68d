/* G_BS: bitonic sort of sorted blocks. In each stage of the network the producer gathers pairs of
 * partner blocks and hands them out; a consumer merges its pair into a low and a high block and
 * gives them back, and the producer scatters them to their places. Scatter-gather, multiple: two
 * blocks each way a stage. A cycle is a stage; when the array is sorted, the next one begins. A run
 * of fewer cycles than the network has stages (15 with 16 consumers) stops in the middle of a sort.
 */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bs {
  uint32_t consumers, cycles, blocks, keys; /* a power of two of blocks; keys of a block */
  uint32_t *first, *array;
  struct sorter {
    uint32_t *low, *high, *copy; /* the last stage's two, and this one's first */
    uint64_t digest;             /* of all that it made, and where it was out of order */
  } * sorters;
};

/* ---- the network: comparison i of a stage ---- */

struct comparison {
  uint32_t low, high; /* blocks */
};

static uint32_t stages(uint32_t blocks) {
  uint32_t bits = 0;
  while (1u << bits < blocks) bits++;
  return bits * (bits + 1) / 2;
}

static struct comparison comparison(uint32_t stage, uint32_t i) {
  uint32_t size = 2;
  for (uint32_t count = 1; stage >= count; size *= 2) stage -= count++;
  uint32_t apart = size / 2 >> stage;
  uint32_t a = i / apart * 2 * apart + i % apart, b = a + apart;
  return a & size ? (struct comparison){b, a} : (struct comparison){a, b};
}

static uint32_t *block(const struct bs *s, uint32_t *array, uint32_t number) {
  return array + (size_t)number * s->keys;
}

static void merge(const uint32_t *a, const uint32_t *b, uint32_t *low, uint32_t *high,
                  uint32_t keys) {
  uint32_t i = 0, j = 0;
  for (uint32_t k = 0; k < 2 * keys; k++) {
    bool first = j == keys || (i < keys && a[i] <= b[j]);
    uint32_t key = first ? a[i] : b[j];
    i += first;
    j += !first;
    if (k < keys) low[k] = key;
    else high[k - keys] = key;
  }
}

/* Each array is another: the same keys, a little larger. */
static void load(const struct bs *s, uint32_t *array, uint32_t round) {
  for (size_t i = 0; i < (size_t)s->blocks * s->keys; i++) array[i] = s->first[i] + round;
}

/* ---- the producer ---- */

struct fetch {
  const uint32_t *in;
  uint32_t *out;
  size_t size;
};

static void gather(void *argument) {
  struct fetch *f = argument;
  memcpy(f->out, f->in, f->size);
}

static bool scatter(struct run *r, struct bs *s, uint32_t k) {
  size_t size = s->keys * sizeof *s->array;
  for (uint32_t c = 0; c < s->consumers; c++) {
    struct comparison at = comparison(k % stages(s->blocks), c);
    for (uint32_t i = 0; i < 2; i++) {
      const void *in = take(r, up(c, k, i));
      if (!in) return false;
      memcpy(block(s, s->array, i ? at.high : at.low), in, size);
      if (!taken(r, up(c, k, i))) return false;
    }
  }
  return true;
}

/* Pairs that no consumer has, when their number is no power of two: the producer's own. */
static void merge_rest(struct bs *s, uint32_t k, uint32_t *array, uint32_t from, uint32_t *spare) {
  size_t size = s->keys * sizeof *array;
  for (uint32_t i = from; i < s->blocks / 2; i++) {
    struct comparison at = comparison(k % stages(s->blocks), i);
    uint32_t *low = block(s, array, at.low), *high = block(s, array, at.high);
    merge(low, high, spare, spare + s->keys, s->keys);
    memcpy(low, spare, size);
    memcpy(high, spare + s->keys, size);
  }
}

static bool produce_stage(struct run *r, struct bs *s, uint32_t k, uint32_t *spare) {
  if (k && !scatter(r, s, k - 1)) return false;
  if (k % stages(s->blocks) == 0) load(s, s->array, k / stages(s->blocks));
  for (uint32_t c = 0; c < s->consumers; c++) {
    struct comparison at = comparison(k % stages(s->blocks), c);
    for (uint32_t i = 0; i < 2; i++) {
      struct fetch f = {block(s, s->array, i ? at.high : at.low), room(r, down(c, k, i)),
                        s->keys * sizeof *s->array};
      if (!f.out) return false;
      work(r, PRODUCE, gather, &f);
      give(r, down(c, k, i), f.size);
    }
  }
  merge_rest(s, k, s->array, s->consumers, spare);
  return true;
}

static bool produce(struct run *r) {
  struct bs *s = r->state;
  uint32_t *spare = calloc(2 * (size_t)s->keys, sizeof *spare);
  bool going = spare;
  for (uint32_t k = 0; k < s->cycles && going; k++) going = produce_stage(r, s, k, spare);
  free(spare);
  return going && scatter(r, s, s->cycles - 1);
}

/* ---- a consumer ---- */

struct pass {
  const uint32_t *a, *b;
  uint32_t *low, *high;
  uint32_t keys;
  uint64_t digest;
};

/* A block that was made a stage ago: its hash, in which places out of order show, too. */
static void inspect(void *argument) {
  struct pass *p = argument;
  uint64_t hash = 0;
  for (uint32_t i = 0; i < p->keys; i++) {
    bool wrong = i && p->a[i] < p->a[i - 1];
    hash = (hash ^ p->a[i] ^ (uint64_t)wrong << 40) * UINT64_C(0x100000001B3);
  }
  p->digest = hash;
}

static void copy_in(void *argument) {
  struct pass *p = argument;
  memcpy(p->low, p->a, p->keys * sizeof *p->a);
}

static void merge_in(void *argument) {
  struct pass *p = argument;
  merge(p->a, p->b, p->low, p->high, p->keys);
}

static bool give_back(struct run *r, struct bs *s, uint32_t c, uint32_t k) {
  size_t size = s->keys * sizeof *s->array;
  for (uint32_t i = 0; i < 2; i++) {
    void *out = room(r, up(c, k, i));
    if (!out) return false;
    memcpy(out, i ? s->sorters[c].high : s->sorters[c].low, size);
    give(r, up(c, k, i), size);
  }
  return true;
}

static bool consume(struct run *r, uint32_t c) {
  struct bs *s = r->state;
  struct sorter *me = &s->sorters[c];
  for (uint32_t k = 0; k < s->cycles; k++) {
    for (uint32_t i = 0; i < 2; i++) {
      struct pass p = {.a = i ? me->high : me->low, .keys = s->keys};
      work(r, C1, inspect, &p);
      me->digest = me->digest * 31 + p.digest;
      const uint32_t *in = take(r, down(c, k, i));
      if (!in) return false;
      p = i ? (struct pass){me->copy, in, me->low, me->high, s->keys, 0}
            : (struct pass){in, NULL, me->copy, NULL, s->keys, 0};
      work(r, C2, i ? merge_in : copy_in, &p);
      if (!taken(r, down(c, k, i))) return false;
    }
    if (!give_back(r, s, c, k)) return false;
  }
  return true;
}

/* ---- alone: the same network, stage by stage; a whole sort must be sorted ---- */

static bool is_sorted(const struct bs *s, char *said, size_t size) {
  if (s->cycles % stages(s->blocks)) return true;
  for (size_t i = 1; i < (size_t)s->blocks * s->keys; i++)
    if (s->array[i - 1] > s->array[i]) {
      snprintf(said, size, "keys %zu and %zu are not in order", i - 1, i);
      return false;
    }
  return true;
}

/* A consumer looks at both blocks of a stage in the next one, the first time at nothing. */
static void inspect_alone(const struct bs *s, uint32_t k, uint32_t *array, uint64_t *digests) {
  for (uint32_t c = 0; c < s->consumers; c++) {
    struct comparison at = comparison(k % stages(s->blocks), c);
    for (uint32_t i = 0; i < 2; i++) {
      struct pass p = {.a = block(s, array, i ? at.high : at.low), .keys = s->keys};
      inspect(&p);
      digests[c] = digests[c] * 31 + p.digest;
    }
  }
}

static bool check(const struct settings *settings, void *state, char *said, size_t size) {
  struct bs *s = state;
  bool failed = false, good = false;
  uint32_t *array = make((size_t)s->blocks * s->keys, sizeof *array, &failed);
  uint32_t *spare = make(2 * (size_t)s->keys, sizeof *spare, &failed);
  uint64_t *digests = make(s->consumers, sizeof *digests, &failed);
  if (!failed) {
    for (uint32_t k = 0; k < s->cycles; k++) {
      struct pass blank = {.a = array, .keys = s->keys};
      if (k == 0) inspect(&blank); /* zeroes still */
      for (uint32_t c = 0; k == 0 && c < s->consumers; c++) digests[c] = blank.digest * 32;
      if (k % stages(s->blocks) == 0) load(s, array, k / stages(s->blocks));
      merge_rest(s, k, array, 0, spare);
      if (k + 1 < s->cycles) inspect_alone(s, k, array, digests);
    }
    good = same(s->array, array, (size_t)s->blocks * s->keys * sizeof *array, "the array", 0, said,
                size) &&
           is_sorted(s, said, size);
    for (uint32_t c = 0; c < settings->consumers && good; c++)
      good = same(&s->sorters[c].digest, &digests[c], sizeof *digests, "the digest", c, said, size);
  }
  free(array);
  free(spare);
  free(digests);
  return good;
}

static void destroy(void *state) {
  struct bs *s = state;
  for (uint32_t c = 0; s->sorters && c < s->consumers; c++) {
    free(s->sorters[c].low);
    free(s->sorters[c].high);
    free(s->sorters[c].copy);
  }
  free(s->sorters);
  free(s->first);
  free(s->array);
  free(s);
}

/* Each block is sorted already, over the whole range of keys. */
static void fill(struct bs *s, uint64_t seed) {
  uint32_t stride = (1u << 31) / s->keys;
  for (uint32_t b = 0; b < s->blocks; b++)
    for (uint32_t i = 0; i < s->keys; i++)
      block(s, s->first, b)[i] =
          i * stride + (uint32_t)(mix(seed, (uint64_t)b * s->keys + i) % stride);
}

static void *create(const struct settings *settings) {
  bool failed = false;
  struct bs *s = make(1, sizeof *s, &failed);
  if (failed) return NULL;
  s->consumers = settings->consumers;
  s->cycles = settings->cycles;
  s->keys = (uint32_t)(settings->bytes / sizeof *s->array);
  for (s->blocks = 2; s->blocks < 2 * s->consumers;) s->blocks *= 2;
  s->first = make((size_t)s->blocks * s->keys, sizeof *s->array, &failed);
  s->array = make((size_t)s->blocks * s->keys, sizeof *s->array, &failed);
  s->sorters = make(s->consumers, sizeof *s->sorters, &failed);
  for (uint32_t c = 0; c < s->consumers && !failed; c++) {
    s->sorters[c].low = make(s->keys, sizeof *s->array, &failed);
    s->sorters[c].high = make(s->keys, sizeof *s->array, &failed);
    s->sorters[c].copy = make(s->keys, sizeof *s->array, &failed);
  }
  if (failed) return destroy(s), NULL;
  fill(s, settings->seed);
  return s;
}

const struct pattern pattern_g_bs = {
    .name = "G_BS",
    .summary = "bitonic sort of blocks",
    .model = MULTIPLE,
    .access = SCATTER_GATHER,
    .down = 2,
    .up = 2,
    .cycles = 6,
    .create = create,
    .destroy = destroy,
    .produce = produce,
    .consume = consume,
    .check = check,
};
