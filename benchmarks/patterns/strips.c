/* The strips' exchange: see strips.h.
 *
 * In cycle k a consumer is given its neighbours' border rows at step k, makes step k + 1 of its own
 * (the inner rows before it takes, the border rows after) and gives back its border rows of that.
 * The producer needs these for step k + 2: the devices are never more than a step apart. */
#include "strips.h"

#include <stdlib.h>
#include <string.h>

#define MINE 2  /* rows of a producer's strip */
#define YOURS 4 /* rows of a consumer's */

struct strip {
  float *rows[2];   /* at even and at odd steps */
  float *beside[2]; /* the producer's copies of the rows above and below */
};

struct strips {
  strips_kernel *kernel;
  bool split;
  uint32_t consumers, cycles, width;
  uint64_t seed;
  struct strip *mine, *yours;
};

/* Some rows of a strip, a step further. */
struct step {
  strips_kernel *kernel;
  const float *in, *above, *below; /* above and below may be NULL: the field ends there */
  float *out;
  uint32_t width, rows, chosen; /* a bit for each row that is to be made */
};

static void make_rows(void *argument) {
  struct step *s = argument;
  for (uint32_t y = 0; y < s->rows; y++) {
    const float *row = s->in + (size_t)y * s->width;
    const float *above = y ? row - s->width : s->above;
    const float *below = y + 1 < s->rows ? row + s->width : s->below;
    if (s->chosen & 1u << y)
      s->kernel(above ? above : row, row, below ? below : row, s->out + (size_t)y * s->width,
                s->width);
  }
}

/* ---- the producer ---- */

struct advance {
  struct step steps[2];
  uint32_t count;
};

static void advance(void *argument) {
  struct advance *a = argument;
  for (uint32_t i = 0; i < a->count; i++) make_rows(&a->steps[i]);
}

/* To step k. Step 0 is there; so in cycle 0 a step is made that nobody needs, for its time. */
static struct step step_of_mine(const struct strips *s, uint32_t strip, uint32_t k) {
  const struct strip *mine = &s->mine[strip];
  return (struct step){.kernel = s->kernel,
                       .in = mine->rows[k ? ~k & 1 : 0],
                       .out = mine->rows[k ? k & 1 : 1],
                       .above = strip ? mine->beside[0] : NULL,
                       .below = strip < s->consumers ? mine->beside[1] : NULL,
                       .width = s->width,
                       .rows = MINE,
                       .chosen = (1u << MINE) - 1};
}

/* What consumer c gave in cycle k is beside two strips of mine. */
static bool take_back(struct run *r, struct strips *s, uint32_t c, uint32_t k) {
  size_t row = s->width * sizeof(float);
  for (uint32_t i = 0; i < (s->split ? 2u : 1u); i++) {
    const float *rows = take(r, up(c, k, i));
    if (!rows) return false;
    if (!s->split || i == 0) memcpy(s->mine[c].beside[1], rows, row);
    if (!s->split || i == 1)
      memcpy(s->mine[c + 1].beside[0], s->split ? rows : rows + s->width, row);
    if (!taken(r, up(c, k, i))) return false;
  }
  return true;
}

static bool give_borders(struct run *r, struct strips *s, uint32_t c, uint32_t k) {
  size_t row = s->width * sizeof(float);
  const float *upper = s->mine[c].rows[k & 1] + (size_t)(MINE - 1) * s->width;
  const float *lower = s->mine[c + 1].rows[k & 1];
  for (uint32_t i = 0; i < (s->split ? 2u : 1u); i++) {
    float *out = room(r, down(c, k, i));
    if (!out) return false;
    memcpy(out, i ? lower : upper, row);
    if (!s->split) memcpy(out + s->width, lower, row);
    give(r, down(c, k, i), s->split ? row : 2 * row);
  }
  return true;
}

bool strips_produce(struct run *r) {
  struct strips *s = r->state;
  for (uint32_t k = 0; k < s->cycles; k++)
    for (uint32_t c = 0; c < s->consumers; c++) {
      /* Border rows of step k are those of strips c and c + 1; strip c is there from c - 1. */
      struct advance a = {.count = 0};
      if (k > 1 && c == 0 && !take_back(r, s, 0, k - 2)) return false;
      if (k > 1 && c + 1 < s->consumers && !take_back(r, s, c + 1, k - 2)) return false;
      if (c == 0) a.steps[a.count++] = step_of_mine(s, 0, k);
      a.steps[a.count++] = step_of_mine(s, c + 1, k);
      work(r, PRODUCE, advance, &a);
      if (!give_borders(r, s, c, k)) return false;
    }
  for (uint32_t k = s->cycles - 2; k < s->cycles; k++)
    for (uint32_t c = 0; c < s->consumers; c++)
      if (!take_back(r, s, c, k)) return false;
  return true;
}

/* ---- a consumer ---- */

/* Both borders in one message. */
static bool exchange_both(struct run *r, struct strips *s, uint32_t c, uint32_t k,
                          struct step *step) {
  size_t row = s->width * sizeof(float);
  step->chosen = 2 | 4;
  work(r, C1, make_rows, step);
  step->above = take(r, down(c, k, 0));
  if (!step->above) return false;
  step->below = step->above + s->width;
  step->chosen = 1 | 8;
  work(r, C2, make_rows, step);
  if (!taken(r, down(c, k, 0))) return false;
  float *out = room(r, up(c, k, 0));
  if (!out) return false;
  memcpy(out, step->out, row);
  memcpy(out + s->width, step->out + (size_t)(YOURS - 1) * s->width, row);
  give(r, up(c, k, 0), 2 * row);
  return true;
}

/* One border a message: first the upper half of the strip, then the lower one. */
static bool exchange_one(struct run *r, struct strips *s, uint32_t c, uint32_t k, uint32_t i,
                         struct step *step) {
  size_t row = s->width * sizeof(float);
  step->chosen = i ? 4 : 2;
  work(r, C1, make_rows, step);
  const float *beside = take(r, down(c, k, i));
  if (!beside) return false;
  step->above = step->below = beside;
  step->chosen = i ? 8 : 1;
  work(r, C2, make_rows, step);
  if (!taken(r, down(c, k, i))) return false;
  float *out = room(r, up(c, k, i));
  if (!out) return false;
  memcpy(out, step->out + (i ? (size_t)(YOURS - 1) * s->width : 0), row);
  give(r, up(c, k, i), row);
  return true;
}

bool strips_consume(struct run *r, uint32_t c) {
  struct strips *s = r->state;
  for (uint32_t k = 0; k < s->cycles; k++) {
    struct step step = {.kernel = s->kernel,
                        .in = s->yours[c].rows[k & 1],
                        .out = s->yours[c].rows[~k & 1],
                        .width = s->width,
                        .rows = YOURS};
    if (!s->split && !exchange_both(r, s, c, k, &step)) return false;
    for (uint32_t i = 0; s->split && i < 2; i++)
      if (!exchange_one(r, s, c, k, i, &step)) return false;
  }
  return true;
}

/* ---- alone: the whole field as one array ---- */

static float first_value(const struct strips *s, size_t row, uint32_t x) {
  return (float)(mix(s->seed, row * s->width + x) >> 40) / (float)(1 << 24);
}

static bool compare(const struct strips *s, const float *field, char *said, size_t size) {
  for (uint32_t c = 0; c < s->consumers; c++) {
    size_t row = (size_t)c * (MINE + YOURS) + MINE;
    if (!same(s->yours[c].rows[s->cycles & 1], field + row * s->width,
              YOURS * s->width * sizeof *field, "the strip", c, said, size))
      return false;
  }
  return true;
}

bool strips_check(const struct settings *settings, void *state, char *said, size_t size) {
  const struct strips *s = state;
  size_t rows = (size_t)s->consumers * (MINE + YOURS) + MINE;
  bool failed = false;
  float *old = make(rows * s->width, sizeof *old, &failed);
  float *new = make(rows * s->width, sizeof *new, &failed);
  (void)settings;
  for (size_t i = 0; i < rows * s->width && !failed; i++)
    old[i] = first_value(s, i / s->width, (uint32_t)(i % s->width));
  for (uint32_t k = 0; k < s->cycles && !failed; k++) {
    for (size_t y = 0; y < rows; y++) {
      const float *row = old + y * s->width;
      s->kernel(y ? row - s->width : row, row, y + 1 < rows ? row + s->width : row,
                new + y * s->width, s->width);
    }
    float *other = old;
    old = new;
    new = other;
  }
  bool good = !failed && compare(s, old, said, size);
  free(old);
  free(new);
  return good;
}

/* ---- life ---- */

static void destroy_strips(struct strip *all, uint32_t count) {
  for (uint32_t i = 0; all && i < count; i++)
    for (int j = 0; j < 2; j++) {
      free(all[i].rows[j]);
      free(all[i].beside[j]);
    }
  free(all);
}

void strips_destroy(void *state) {
  struct strips *s = state;
  destroy_strips(s->mine, s->consumers + 1);
  destroy_strips(s->yours, s->consumers);
  free(s);
}

static void fill(const struct strips *s, float *rows, size_t first, uint32_t count) {
  for (uint32_t y = 0; y < count; y++)
    for (uint32_t x = 0; x < s->width; x++)
      rows[(size_t)y * s->width + x] = first_value(s, first + y, x);
}

/* Row 0 of strip i of mine is row i * 6 of the field. */
static void fill_all(struct strips *s) {
  for (uint32_t i = 0; i <= s->consumers; i++) {
    size_t first = (size_t)i * (MINE + YOURS);
    fill(s, s->mine[i].rows[0], first, MINE);
    if (i) fill(s, s->mine[i].beside[0], first - 1, 1);
    if (i == s->consumers) break;
    fill(s, s->mine[i].beside[1], first + MINE, 1);
    fill(s, s->yours[i].rows[0], first + MINE, YOURS);
  }
}

void *strips_create(const struct settings *settings, strips_kernel *kernel, bool split) {
  bool failed = false;
  struct strips *s = make(1, sizeof *s, &failed);
  if (failed) return NULL;
  *s = (struct strips){.kernel = kernel,
                       .split = split,
                       .consumers = settings->consumers,
                       .cycles = settings->cycles,
                       .width = (uint32_t)(settings->bytes / sizeof(float) / (split ? 1 : 2)),
                       .seed = settings->seed};
  s->mine = make(s->consumers + 1, sizeof *s->mine, &failed);
  s->yours = make(s->consumers, sizeof *s->yours, &failed);
  for (uint32_t i = 0; i <= s->consumers && !failed; i++)
    for (int j = 0; j < 2; j++) {
      s->mine[i].rows[j] = make((size_t)MINE * s->width, sizeof(float), &failed);
      s->mine[i].beside[j] = make(s->width, sizeof(float), &failed);
      if (i < s->consumers)
        s->yours[i].rows[j] = make((size_t)YOURS * s->width, sizeof(float), &failed);
    }
  if (failed) return strips_destroy(s), NULL;
  fill_all(s);
  return s;
}

/* ---- on a GPU ---- */

_Static_assert(YOURS == GPU_STRIP, "one memory, two texts");

size_t strips_gpu_size(const struct settings *settings) {
  return sizeof(struct gpu_strip) + 2 * YOURS * settings->bytes;
}

void strips_gpu_load(const void *state, uint32_t c, void *block) {
  const struct strips *s = state;
  struct gpu_strip *g = block;
  g->width = s->width;
  memcpy(g->rows, s->yours[c].rows[0], YOURS * s->width * sizeof(float));
}

void strips_gpu_store(void *state, uint32_t c, const void *block) {
  struct strips *s = state;
  const struct gpu_strip *g = block;
  size_t count = (size_t)YOURS * s->width;
  for (uint32_t odd = 0; odd < 2; odd++)
    memcpy(s->yours[c].rows[odd], g->rows + odd * count, count * sizeof(float));
}
