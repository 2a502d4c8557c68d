/* G_KMN: k-means. The producer streams points in; a consumer finds the nearest of its centres for
 * each and moves the centres after each batch; at the end all consumers' centres are reduced to one
 * set. Streaming, unidirectional: a batch of points a consumer and cycle. */
#include "gpu.h"

#include <stdlib.h>
#include <string.h>

#define AXES 8 /* numbers of a point */
#define CENTRES 8
#define NOISE 65536 /* numbers in the table of noise */

/* What one consumer knows. `sums` and `counts` are of the batch before the centres move by them. */
struct means {
  float centres[CENTRES * AXES], sums[CENTRES * AXES];
  uint32_t counts[CENTRES];
  uint64_t seen[CENTRES]; /* points of all batches */
};

struct kmn {
  uint64_t seed;
  float *noise;
  uint32_t consumers, cycles, points; /* points of a batch */
  struct means *all;
  uint8_t **members; /* of each point of the last batch: its centre */
  float reduced[CENTRES * AXES];
};

/* Clouds around 8 places, that drift from batch to batch. `from` is where the batch's noise begins.
 */
static float coordinate(const float *noise, uint32_t from, uint32_t k, uint32_t at) {
  uint32_t axis = at % AXES, cloud = at / AXES % CENTRES, place = (cloud * 37 + axis * 11) % 16;
  return (float)place + 0.125f * (float)k + noise[(from + at) % NOISE];
}

static uint32_t noise_of(uint32_t c, uint32_t k) { return (uint32_t)mix(c, k); }

static void first_centres(uint64_t seed, uint32_t c, struct means *m) {
  *m = (struct means){.seen = {0}};
  for (uint32_t i = 0; i < CENTRES * AXES; i++)
    m->centres[i] = (float)(mix(seed + 3, c * CENTRES * AXES + i) >> 48) * (16.0f / 65536);
}

/* ---- the producer ---- */

struct batch {
  const float *noise;
  float *out;
  uint32_t points, from, k;
};

static void sample(void *argument) {
  struct batch *b = argument;
  for (uint32_t i = 0; i < b->points * AXES; i++)
    b->out[i] = coordinate(b->noise, b->from, b->k, i);
}

static bool produce(struct run *r) {
  struct kmn *s = r->state;
  for (uint32_t k = 0; k < s->cycles; k++)
    for (uint32_t c = 0; c < s->consumers; c++) {
      struct batch b = {s->noise, room(r, down(c, k, 0)), s->points, noise_of(c, k), k};
      if (!b.out) return false;
      work(r, PRODUCE, sample, &b);
      give(r, down(c, k, 0), s->points * AXES * sizeof(float));
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

/* A centre moves halfway to the mean of its points; with none it stays. */
static float moved(float centre, float sum, uint32_t count) {
  return count ? 0.5f * (centre + sum / (float)count) : centre;
}

struct turn {
  const struct means *in;
  struct means *out;
  const float *points;
  uint8_t *members;
  uint32_t count;
};

static void move_centres(void *argument) {
  struct turn *t = argument;
  for (uint32_t i = 0; i < CENTRES * AXES; i++)
    t->out->centres[i] = moved(t->in->centres[i], t->in->sums[i], t->in->counts[i / AXES]);
}

static void assign(void *argument) {
  struct turn *t = argument;
  struct means *out = t->out;
  memset(out->sums, 0, sizeof out->sums);
  memset(out->counts, 0, sizeof out->counts);
  for (uint32_t i = 0; i < t->count; i++) {
    const float *point = t->points + (size_t)i * AXES;
    uint32_t centre = nearest(point, out->centres);
    t->members[i] = (uint8_t)centre;
    out->counts[centre]++;
    for (uint32_t axis = 0; axis < AXES; axis++) out->sums[centre * AXES + axis] += point[axis];
  }
}

static bool consume(struct run *r, uint32_t c) {
  struct kmn *s = r->state;
  struct means before;
  for (uint32_t k = 0; k < s->cycles; k++) {
    struct means *now = &s->all[c];
    before = *now;
    struct turn t = {&before, now, NULL, s->members[c], s->points};
    work(r, C1, move_centres, &t);
    if (!(t.points = take(r, down(c, k, 0)))) return false;
    work(r, C2, assign, &t);
    if (!taken(r, down(c, k, 0))) return false;
    for (uint32_t i = 0; i < CENTRES; i++) now->seen[i] += now->counts[i];
  }
  return true;
}

/* ---- alone ---- */

/* One set out of all, each centre with the weight of its points. */
static void reduce(const struct means *all, uint32_t count, float *out) {
  for (uint32_t i = 0; i < CENTRES * AXES; i++) {
    double sum = 0, weight = 0;
    for (uint32_t c = 0; c < count; c++) {
      sum += (double)all[c].centres[i] * (double)all[c].seen[i / AXES];
      weight += (double)all[c].seen[i / AXES];
    }
    out[i] = weight > 0 ? (float)(sum / weight) : 0;
  }
}

static void run_alone(const struct kmn *s, uint32_t c, struct means *m, uint8_t *members) {
  float point[AXES];
  first_centres(s->seed, c, m);
  for (uint32_t k = 0; k < s->cycles; k++) {
    for (uint32_t i = 0; i < CENTRES * AXES; i++)
      m->centres[i] = moved(m->centres[i], m->sums[i], m->counts[i / AXES]);
    memset(m->sums, 0, sizeof m->sums);
    memset(m->counts, 0, sizeof m->counts);
    for (uint32_t i = 0; i < s->points; i++) {
      for (uint32_t axis = 0; axis < AXES; axis++)
        point[axis] = coordinate(s->noise, noise_of(c, k), k, i * AXES + axis);
      uint32_t centre = members[i] = (uint8_t)nearest(point, m->centres);
      for (uint32_t axis = 0; axis < AXES; axis++) m->sums[centre * AXES + axis] += point[axis];
      m->counts[centre]++;
      m->seen[centre]++;
    }
  }
}

static bool check(const struct settings *settings, void *state, char *said, size_t size) {
  struct kmn *s = state;
  bool good = true, failed = false;
  struct means *all = make(s->consumers, sizeof *all, &failed);
  uint8_t *members = make(s->points, 1, &failed);
  float reduced[CENTRES * AXES];
  for (uint32_t c = 0; c < settings->consumers && good && !failed; c++) {
    run_alone(s, c, &all[c], members);
    good = same(&s->all[c], &all[c], sizeof *all, "the centres", c, said, size) &&
           same(s->members[c], members, s->points, "the membership", c, said, size);
  }
  if (good && !failed) {
    reduce(s->all, s->consumers, s->reduced);
    reduce(all, s->consumers, reduced);
    good = same(s->reduced, reduced, sizeof reduced, "the reduction", 0, said, size);
  }
  free(all);
  free(members);
  return good && !failed;
}

static void destroy(void *state) {
  struct kmn *s = state;
  for (uint32_t c = 0; s->members && c < s->consumers; c++) free(s->members[c]);
  free(s->members);
  free(s->noise);
  free(s->all);
  free(s);
}

static void *create(const struct settings *settings) {
  bool failed = false;
  struct kmn *s = make(1, sizeof *s, &failed);
  if (failed) return NULL;
  s->seed = settings->seed;
  s->consumers = settings->consumers;
  s->cycles = settings->cycles;
  s->points = (uint32_t)(settings->bytes / sizeof(float) / AXES);
  s->noise = make(NOISE, sizeof *s->noise, &failed);
  s->all = make(s->consumers, sizeof *s->all, &failed);
  s->members = make(s->consumers, sizeof *s->members, &failed);
  for (uint32_t c = 0; c < s->consumers && !failed; c++) {
    s->members[c] = make(s->points, 1, &failed);
    first_centres(s->seed, c, &s->all[c]);
  }
  if (failed) return destroy(s), NULL;
  for (uint32_t i = 0; i < NOISE; i++)
    s->noise[i] = (float)(mix(settings->seed, i) >> 48) * (4.0f / 65536);
  return s;
}

/* ---- on a GPU ---- */

_Static_assert(sizeof(struct means) == sizeof(struct gpu_means), "one memory, two texts");

static size_t gpu_size(const struct settings *settings) {
  return sizeof(struct gpu_kmn) + settings->bytes / sizeof(float) / AXES;
}

static void gpu_load(const void *state, uint32_t c, void *block) {
  const struct kmn *s = state;
  struct gpu_kmn *g = block;
  memcpy(&g->now, &s->all[c], sizeof g->now);
  g->points = s->points;
}

static void gpu_store(void *state, uint32_t c, const void *block) {
  struct kmn *s = state;
  const struct gpu_kmn *g = block;
  memcpy(&s->all[c], &g->now, sizeof g->now);
  memcpy(s->members[c], g->members, s->points);
}

static const struct gpu_part gpu = {GPU_KMN, gpu_size, gpu_load, gpu_store};

const struct pattern pattern_g_kmn = {
    .name = "G_KMN",
    .summary = "k-means over a stream of points",
    .model = UNIDIRECTIONAL,
    .access = STREAMING,
    .down = 1,
    .cycles = 8,
    .create = create,
    .destroy = destroy,
    .produce = produce,
    .consume = consume,
    .check = check,
    .gpu = &gpu,
};
