/* G_KMN: k-means, Lloyd's iteration. The points are the host's; a cycle is an iteration. In each
 * the producer streams all points again, with the centres of that iteration before them; a consumer
 * finds the nearest centre of each of its points, and gives back its points' sums and counts; the
 * producer adds up those of all consumers, and the means are the next centres for all. A centre
 * without points stays. Streaming, alternating: a batch of points down, and their sums back.
 *
 * Coordinates are multiples of 2^-12 below 32, so a double holds the sum of 2^36 of them without
 * rounding. The order of adding does not change a bit of the centres. */
#include "gpu.h"

#include <stdlib.h>
#include <string.h>

#define AXES 8 /* numbers of a point */
#define CENTRES 8
#define SIZE (CENTRES * AXES) /* numbers of all centres */
#define NOISE 65536           /* numbers in the table of noise */
#define NOWHERE 255           /* where points are before the first iteration */

/* What a consumer gives back. */
struct sums {
  double sums[SIZE];
  uint32_t counts[CENTRES];
};

struct kmn {
  uint64_t seed;
  float *noise;
  uint32_t consumers, cycles, points; /* points of a consumer */
  float (*centres)[SIZE];             /* of each iteration, and what the last one leads to */
  struct part {
    float centres[SIZE]; /* as they came last */
    struct sums sums;
    uint8_t *members[2]; /* of each point its centre, in even and in odd iterations */
    uint64_t moved;      /* points that changed their centre, of all iterations */
  } * parts;
};

/* Clouds around 8 places, which overlap. `from` is where the noise of a consumer's points begins.
 */
static float coordinate(const float *noise, uint32_t from, uint32_t at) {
  uint32_t axis = at % AXES, cloud = at / AXES % CENTRES, place = (cloud * 37 + axis * 11) % 16;
  return (float)place + noise[(from + at) % NOISE];
}

static uint32_t noise_of(uint32_t c) { return (uint32_t)mix(c, 0); }

static void first_centres(uint64_t seed, float *centres) {
  for (uint32_t i = 0; i < SIZE; i++)
    centres[i] = (float)(mix(seed + 3, i) >> 48) * (16.0f / 65536);
}

/* The mean of its points. */
static void next_centres(const float *centres, const struct sums *all, float *out) {
  for (uint32_t i = 0; i < SIZE; i++) {
    uint32_t count = all->counts[i / AXES];
    out[i] = count ? (float)(all->sums[i] / count) : centres[i];
  }
}

/* ---- the producer ---- */

struct batch {
  const float *noise, *centres;
  float *out;
  uint32_t points, from;
};

static void sample(void *argument) {
  struct batch *b = argument;
  memcpy(b->out, b->centres, SIZE * sizeof *b->out);
  for (uint32_t i = 0; i < b->points * AXES; i++)
    b->out[SIZE + i] = coordinate(b->noise, b->from, i);
}

/* All consumers' sums of iteration k make the centres of the next one. */
static bool reduce(struct run *r, struct kmn *s, uint32_t k) {
  struct sums all = {.counts = {0}};
  for (uint32_t c = 0; c < s->consumers; c++) {
    const struct sums *in = take(r, up(c, k, 0));
    if (!in) return false;
    for (uint32_t i = 0; i < SIZE; i++) all.sums[i] += in->sums[i];
    for (uint32_t i = 0; i < CENTRES; i++) all.counts[i] += in->counts[i];
    if (!taken(r, up(c, k, 0))) return false;
  }
  next_centres(s->centres[k], &all, s->centres[k + 1]);
  return true;
}

static bool produce(struct run *r) {
  struct kmn *s = r->state;
  for (uint32_t k = 0; k < s->cycles; k++) {
    for (uint32_t c = 0; c < s->consumers; c++) {
      struct batch b = {s->noise, s->centres[k], room(r, down(c, k, 0)), s->points, noise_of(c)};
      if (!b.out) return false;
      work(r, PRODUCE, sample, &b);
      give(r, down(c, k, 0), (SIZE + s->points * AXES) * sizeof(float));
    }
    if (!reduce(r, s, k)) return false;
  }
  return true;
}

/* ---- a consumer ---- */

static uint32_t nearest(const float *point, const float *centres) {
  uint32_t best = 0;
  float least = 0;
  for (uint32_t i = 0; i < CENTRES; i++) {
    float distance = 0;
    for (uint32_t axis = 0; axis < AXES; axis++) {
      float d = point[axis] - centres[i * AXES + axis];
      distance += d * d;
    }
    if (i && !(distance < least)) continue;
    least = distance;
    best = i;
  }
  return best;
}

struct turn {
  struct part *part;
  const float *in;
  uint8_t *members;
  uint32_t points, moved;
};

/* Which points the iteration before has moved. */
static void count_moved(void *argument) {
  struct turn *t = argument;
  t->moved = 0;
  for (uint32_t i = 0; i < t->points; i++)
    t->moved += t->part->members[0][i] != t->part->members[1][i];
}

static void assign(void *argument) {
  struct turn *t = argument;
  struct part *part = t->part;
  part->sums = (struct sums){.counts = {0}};
  memcpy(part->centres, t->in, sizeof part->centres);
  for (uint32_t i = 0; i < t->points; i++) {
    const float *point = t->in + SIZE + (size_t)i * AXES;
    uint32_t centre = nearest(point, part->centres);
    t->members[i] = (uint8_t)centre;
    part->sums.counts[centre]++;
    for (uint32_t axis = 0; axis < AXES; axis++)
      part->sums.sums[centre * AXES + axis] += (double)point[axis];
  }
}

static bool consume(struct run *r, uint32_t c) {
  struct kmn *s = r->state;
  struct part *me = &s->parts[c];
  struct turn t = {.part = me, .points = s->points};
  for (uint32_t k = 0; k < s->cycles; k++) {
    work(r, C1, count_moved, &t);
    me->moved += t.moved;
    t.members = me->members[k & 1];
    if (!(t.in = take(r, down(c, k, 0)))) return false;
    work(r, C2, assign, &t);
    if (!taken(r, down(c, k, 0))) return false;
    struct sums *out = room(r, up(c, k, 0));
    if (!out) return false;
    *out = me->sums;
    give(r, up(c, k, 0), sizeof *out);
  }
  count_moved(&t);
  me->moved += t.moved;
  return true;
}

/* ---- alone: one loop over all points, which knows of no parts ---- */

struct alone {
  float centres[SIZE];
  uint8_t *members; /* of all points */
  uint64_t *moved;  /* of each consumer's */
};

static void iterate_alone(const struct kmn *s, struct alone *a) {
  struct sums all = {.counts = {0}};
  float point[AXES];
  for (uint32_t i = 0; i < s->consumers * s->points; i++) {
    uint32_t c = i / s->points, first = i % s->points * AXES;
    for (uint32_t axis = 0; axis < AXES; axis++)
      point[axis] = coordinate(s->noise, noise_of(c), first + axis);
    uint32_t centre = nearest(point, a->centres);
    a->moved[c] += a->members[i] != centre;
    a->members[i] = (uint8_t)centre;
    all.counts[centre]++;
    for (uint32_t axis = 0; axis < AXES; axis++)
      all.sums[centre * AXES + axis] += (double)point[axis];
  }
  next_centres(a->centres, &all, a->centres);
}

/* Each iteration's centres: as the producer made them, and as the last came to the consumers. */
static bool compare_centres(const struct kmn *s, struct alone *a, char *said, size_t size) {
  bool good = true;
  first_centres(s->seed, a->centres);
  for (uint32_t k = 0; k < s->cycles && good; k++) {
    for (uint32_t c = 0; k + 1 == s->cycles && c < s->consumers && good; c++)
      good = same(s->parts[c].centres, a->centres, sizeof a->centres, "a centre", c, said, size);
    iterate_alone(s, a);
    good = good &&
           same(s->centres[k + 1], a->centres, sizeof a->centres, "a mean for all", 0, said, size);
  }
  return good;
}

static bool check(const struct settings *settings, void *state, char *said, size_t size) {
  struct kmn *s = state;
  bool failed = false;
  struct alone a = {.members = make((size_t)s->consumers * s->points, 1, &failed),
                    .moved = make(s->consumers, sizeof *a.moved, &failed)};
  if (!failed) memset(a.members, NOWHERE, (size_t)s->consumers * s->points);
  bool good = !failed && compare_centres(s, &a, said, size);
  for (uint32_t c = 0; c < settings->consumers && good; c++) {
    const struct part *p = &s->parts[c];
    good = same(p->members[~s->cycles & 1], a.members + (size_t)c * s->points, s->points,
                "the membership", c, said, size) &&
           same(&p->moved, &a.moved[c], sizeof p->moved, "how many moved", c, said, size);
  }
  free(a.members);
  free(a.moved);
  return good;
}

static void destroy(void *state) {
  struct kmn *s = state;
  for (uint32_t c = 0; s->parts && c < s->consumers; c++)
    for (int odd = 0; odd < 2; odd++) free(s->parts[c].members[odd]);
  free(s->parts);
  free(s->centres);
  free(s->noise);
  free(s);
}

static void *create(const struct settings *settings) {
  bool failed = false;
  struct kmn *s = make(1, sizeof *s, &failed);
  if (failed) return NULL;
  s->seed = settings->seed;
  s->consumers = settings->consumers;
  s->cycles = settings->cycles;
  s->points = (uint32_t)(settings->bytes / sizeof(float) - SIZE) / AXES;
  s->noise = make(NOISE, sizeof *s->noise, &failed);
  s->centres = make(s->cycles + 1, sizeof *s->centres, &failed);
  s->parts = make(s->consumers, sizeof *s->parts, &failed);
  for (uint32_t i = 0; i < 2 * s->consumers && !failed; i++) {
    uint8_t *members = s->parts[i / 2].members[i % 2] = make(s->points, 1, &failed);
    if (members) memset(members, NOWHERE, s->points);
  }
  if (failed) return destroy(s), NULL;
  first_centres(s->seed, s->centres[0]);
  for (uint32_t i = 0; i < NOISE; i++)
    s->noise[i] = (float)(mix(settings->seed, i) >> 48) * (16.0f / 65536);
  return s;
}

/* ---- on a GPU ---- */

_Static_assert(sizeof(struct sums) == sizeof(struct gpu_sums), "one memory, two texts");

static size_t gpu_size(const struct settings *settings) {
  return sizeof(struct gpu_kmn) + 2 * (settings->bytes / sizeof(float) / AXES);
}

static void gpu_load(const void *state, uint32_t c, void *block) {
  const struct kmn *s = state;
  struct gpu_kmn *g = block;
  (void)c;
  g->points = s->points;
  memset(g->members, NOWHERE, 2 * (size_t)s->points);
}

/* What the last iteration has moved is counted here. */
static void gpu_store(void *state, uint32_t c, const void *block) {
  struct kmn *s = state;
  struct part *me = &s->parts[c];
  struct turn t = {.part = me, .points = s->points};
  const struct gpu_kmn *g = block;
  memcpy(me->centres, g->centres, sizeof me->centres);
  for (uint32_t odd = 0; odd < 2; odd++)
    memcpy(me->members[odd], g->members + odd * s->points, s->points);
  count_moved(&t);
  me->moved = g->moved + t.moved;
}

static const struct gpu_part gpu = {GPU_KMN, gpu_size, gpu_load, gpu_store};

const struct pattern pattern_g_kmn = {
    .name = "G_KMN",
    .summary = "k-means, Lloyd's iteration over all points",
    .model = ALTERNATING,
    .access = STREAMING,
    .down = 1,
    .up = 1,
    .cycles = 8,
    .create = create,
    .destroy = destroy,
    .produce = produce,
    .consume = consume,
    .check = check,
    .gpu = &gpu,
};
