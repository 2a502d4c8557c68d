/* C_H3D: a halo exchange in three dimensions, as Comb does it. Space is a checkerboard of cubes:
 * each consumer's cube has the producer's cube behind its 6 faces and its 8 corners, and itself
 * behind its 12 edges, and the other way round. A step makes each cell from all 27 around it.
 * Adjacent, multiple: the 6 faces, and the corners together, are 7 messages each way. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#define SIDE 8           /* cells of a cube */
#define OUTER (SIDE + 2) /* with a halo of one */
#define PIECES 7         /* -x +x -y +y -z +z, corners */

struct cube {
  uint32_t *cells[2]; /* [x][y][z][variable], at even and at odd steps */
};

struct h3d {
  uint32_t consumers, cycles, variables;
  uint64_t seed;
  struct cube *mine, *yours;
};

/* ---- pieces: cells of the halo, and the cells of the other cube that they are copies of ---- */

struct box {
  uint32_t from[3], count[3], stride[3];
};

static struct box piece(uint32_t number) {
  struct box b = {{1, 1, 1}, {SIDE, SIDE, SIDE}, {1, 1, 1}};
  for (uint32_t axis = 0; axis < 3; axis++) {
    if (number / 2 != axis && number != PIECES - 1) continue;
    b.from[axis] = number % 2 && number != PIECES - 1 ? OUTER - 1 : 0;
    b.count[axis] = number == PIECES - 1 ? 2 : 1;
    b.stride[axis] = OUTER - 1;
  }
  return b;
}

static size_t cell(uint32_t x, uint32_t y, uint32_t z) {
  return ((size_t)x * OUTER + y) * OUTER + z;
}

/* The halo's 0 is the last of the cube before, and so on: space repeats. */
static uint32_t wrap(uint32_t at) { return at == 0 ? SIDE : at == OUTER - 1 ? 1 : at; }

/* Packs from the cells that a halo's are copies of, or unpacks into the halo. Answers the size. */
static size_t copy(uint32_t *cells, uint32_t number, uint32_t variables, uint32_t *packed,
                   bool pack) {
  struct box b = piece(number);
  size_t size = variables * sizeof *cells, done = 0;
  for (uint32_t i = 0; i < b.count[0]; i++)
    for (uint32_t j = 0; j < b.count[1]; j++)
      for (uint32_t k = 0; k < b.count[2]; k++, done++) {
        uint32_t x = b.from[0] + i * b.stride[0], y = b.from[1] + j * b.stride[1],
                 z = b.from[2] + k * b.stride[2];
        if (pack)
          memcpy(packed + done * variables, cells + cell(wrap(x), wrap(y), wrap(z)) * variables,
                 size);
        else memcpy(cells + cell(x, y, z) * variables, packed + done * variables, size);
      }
  return done * size;
}

static void copy_edges(uint32_t *cells, uint32_t variables) {
  for (uint32_t axis = 0; axis < 3; axis++)
    for (uint32_t i = 0; i < 4 * SIDE; i++) {
      uint32_t at[3];
      at[axis] = i / 4 + 1;
      at[(axis + 1) % 3] = i & 1 ? OUTER - 1 : 0;
      at[(axis + 2) % 3] = i & 2 ? OUTER - 1 : 0;
      memcpy(cells + cell(at[0], at[1], at[2]) * variables,
             cells + cell(wrap(at[0]), wrap(at[1]), wrap(at[2])) * variables,
             variables * sizeof *cells);
    }
}

/* ---- a step ---- */

static void step_cell(const uint32_t *in, uint32_t *out, uint32_t variables, size_t at) {
  uint32_t *result = out + at * variables;
  const uint32_t *own = in + at * variables;
  for (uint32_t v = 0; v < variables; v++) result[v] = own[v] * 5;
  for (uint32_t dx = 0; dx < 3; dx++)
    for (uint32_t dy = 0; dy < 3; dy++)
      for (uint32_t dz = 0; dz < 3; dz++) {
        const uint32_t *other = own + cell(dx, dy, dz) * variables - cell(1, 1, 1) * variables;
        for (uint32_t v = 0; v < variables; v++) result[v] += other[v];
      }
}

static bool is_inner(uint32_t at) { return at > 1 && at < SIDE; }

/* Of planes x from `first` on, the inner cells, those at the border, or (both) all. */
struct step {
  const uint32_t *in;
  uint32_t *out;
  uint32_t variables, first, count;
  bool inner, border;
};

static void step_planes(void *argument) {
  struct step *s = argument;
  for (uint32_t x = s->first; x < s->first + s->count; x++)
    for (uint32_t y = 1; y <= SIDE; y++)
      for (uint32_t z = 1; z <= SIDE; z++) {
        bool inner = is_inner(x) && is_inner(y) && is_inner(z);
        if (inner ? s->inner : s->border) step_cell(s->in, s->out, s->variables, cell(x, y, z));
      }
}

/* ---- the producer: packs a piece, and makes a slab of its next step ---- */

struct production {
  struct step step;
  uint32_t *cells, *out;
  uint32_t number;
  size_t length;
};

static void pack_and_step(void *argument) {
  struct production *p = argument;
  p->length = copy(p->cells, p->number, p->step.variables, p->out, true);
  step_planes(&p->step);
}

/* The consumer's faces and corners at step k + 1 are the halo of mine at k + 1. */
static bool take_back(struct run *r, struct h3d *s, uint32_t c, uint32_t k) {
  uint32_t *cells = s->mine[c].cells[~k & 1];
  for (uint32_t i = 0; i < PIECES; i++) {
    const void *in = take(r, up(c, k, i));
    if (!in) return false;
    copy(cells, i, s->variables, (uint32_t *)in, false);
    if (!taken(r, up(c, k, i))) return false;
  }
  copy_edges(cells, s->variables);
  return true;
}

static bool produce(struct run *r) {
  struct h3d *s = r->state;
  for (uint32_t k = 0; k <= s->cycles; k++)
    for (uint32_t c = 0; c < s->consumers; c++) {
      if (k && !take_back(r, s, c, k - 1)) return false;
      for (uint32_t i = 0; i < PIECES && k < s->cycles; i++) {
        uint32_t *cells = s->mine[c].cells[k & 1], *out = room(r, down(c, k, i));
        if (!out) return false;
        /* 8 planes for 7 messages: the last makes two. */
        struct production p = {{cells, s->mine[c].cells[~k & 1], s->variables, i + 1,
                                i == PIECES - 1 ? SIDE - i : 1, true, true},
                               cells,
                               out,
                               i,
                               0};
        work(r, PRODUCE, pack_and_step, &p);
        give(r, down(c, k, i), p.length);
      }
    }
  return true;
}

/* ---- a consumer: inner cells before it takes a piece; the border when all pieces are there ----
 */

struct arrival {
  struct step step;
  uint32_t *cells;
  const void *in;
  uint32_t number;
};

static void unpack(void *argument) {
  struct arrival *a = argument;
  copy(a->cells, a->number, a->step.variables, (uint32_t *)a->in, false);
  if (a->number == PIECES - 1) step_planes(&a->step);
}

static bool give_back(struct run *r, struct h3d *s, uint32_t c, uint32_t k) {
  for (uint32_t i = 0; i < PIECES; i++) {
    uint32_t *out = room(r, up(c, k, i));
    if (!out) return false;
    give(r, up(c, k, i), copy(s->yours[c].cells[~k & 1], i, s->variables, out, true));
  }
  return true;
}

static bool consume(struct run *r, uint32_t c) {
  struct h3d *s = r->state;
  for (uint32_t k = 0; k < s->cycles; k++) {
    uint32_t *cells = s->yours[c].cells[k & 1], *next = s->yours[c].cells[~k & 1];
    copy_edges(cells, s->variables);
    for (uint32_t i = 0; i < PIECES; i++) {
      struct step inner = {cells, next, s->variables, i + 1, 1, true, false};
      work(r, C1, step_planes, &inner);
      struct arrival a = {
          {cells, next, s->variables, 1, SIDE, false, true}, cells, take(r, down(c, k, i)), i};
      if (!a.in) return false;
      work(r, C2, unpack, &a);
      if (!taken(r, down(c, k, i))) return false;
    }
    if (!give_back(r, s, c, k)) return false;
  }
  return true;
}

/* ---- alone: both cubes of a pair; each cell asks for its 27 ---- */

static uint32_t first_value(const struct h3d *s, uint32_t cube, size_t at) {
  return (uint32_t)mix(s->seed + cube, at);
}

/* The cell before or behind a cube's end is one of the other cube, at the other end. */
static const uint32_t *around(uint32_t *const cubes[2], int which, const int at[3],
                              uint32_t variables) {
  uint32_t place[3];
  int odd = which;
  for (int i = 0; i < 3; i++) {
    odd += at[i] < 1 || at[i] > SIDE;
    place[i] = (uint32_t)((at[i] + SIDE - 1) % SIDE + 1);
  }
  return cubes[odd & 1] + cell(place[0], place[1], place[2]) * variables;
}

static void step_alone(uint32_t *const old[2], int which, uint32_t *out, uint32_t variables) {
  for (int i = 0; i < SIDE * SIDE * SIDE; i++) {
    int x = i / SIDE / SIDE + 1, y = i / SIDE % SIDE + 1, z = i % SIDE + 1;
    size_t at = cell((uint32_t)x, (uint32_t)y, (uint32_t)z) * variables;
    for (uint32_t v = 0; v < variables; v++) out[at + v] = old[which][at + v] * 5;
    for (int d = 0; d < 27; d++) {
      int other[3] = {x + d / 9 - 1, y + d / 3 % 3 - 1, z + d % 3 - 1};
      const uint32_t *in = around(old, which, other, variables);
      for (uint32_t v = 0; v < variables; v++) out[at + v] += in[v];
    }
  }
}

static bool check_pair(struct h3d *s, uint32_t c, uint32_t *cubes[4], char *said, size_t size) {
  size_t words = (size_t)OUTER * OUTER * OUTER * s->variables;
  for (uint32_t i = 0; i < 2; i++)
    for (size_t at = 0; at < words; at++) cubes[i][at] = first_value(s, 2 * c + i, at);
  for (uint32_t k = 0; k < s->cycles; k++)
    for (int i = 0; i < 2; i++)
      step_alone(&cubes[k & 1 ? 2 : 0], i, cubes[(k & 1 ? 0 : 2) + i], s->variables);
  const uint32_t *want = cubes[(s->cycles & 1 ? 2 : 0) + 1],
                 *got = s->yours[c].cells[s->cycles & 1];
  for (uint32_t x = 1; x <= SIDE; x++)
    for (uint32_t y = 1; y <= SIDE; y++) {
      size_t row = cell(x, y, 1) * s->variables;
      if (!same(got + row, want + row, SIDE * s->variables * sizeof *got, "a row of the cube", c,
                said, size))
        return false;
    }
  return true;
}

static bool check(const struct settings *settings, void *state, char *said, size_t size) {
  struct h3d *s = state;
  uint32_t *cubes[4];
  bool good = true, failed = false;
  for (int i = 0; i < 4; i++)
    cubes[i] = make((size_t)OUTER * OUTER * OUTER * s->variables, sizeof(uint32_t), &failed);
  for (uint32_t c = 0; c < settings->consumers && good && !failed; c++)
    good = check_pair(s, c, cubes, said, size);
  for (int i = 0; i < 4; i++) free(cubes[i]);
  return good && !failed;
}

/* ---- life ---- */

static void destroy(void *state) {
  struct h3d *s = state;
  for (uint32_t c = 0; s->mine && s->yours && c < s->consumers; c++)
    for (int i = 0; i < 2; i++) {
      free(s->mine[c].cells[i]);
      free(s->yours[c].cells[i]);
    }
  free(s->mine);
  free(s->yours);
  free(s);
}

/* Both cubes at step 0, and the halo of mine, which nobody sends for that. */
static void fill(struct h3d *s, uint32_t c, size_t words, uint32_t *packed) {
  for (size_t at = 0; at < words; at++) {
    s->mine[c].cells[0][at] = first_value(s, 2 * c, at);
    s->yours[c].cells[0][at] = first_value(s, 2 * c + 1, at);
  }
  for (uint32_t i = 0; i < PIECES; i++) {
    copy(s->yours[c].cells[0], i, s->variables, packed, true);
    copy(s->mine[c].cells[0], i, s->variables, packed, false);
  }
  copy_edges(s->mine[c].cells[0], s->variables);
}

static void *create(const struct settings *settings) {
  bool failed = false;
  struct h3d *s = make(1, sizeof *s, &failed);
  if (failed) return NULL;
  s->consumers = settings->consumers;
  s->cycles = settings->cycles;
  s->variables = (uint32_t)(settings->bytes / sizeof(uint32_t) / (SIDE * SIDE));
  s->seed = settings->seed;
  size_t words = (size_t)OUTER * OUTER * OUTER * s->variables;
  s->mine = make(s->consumers, sizeof *s->mine, &failed);
  s->yours = make(s->consumers, sizeof *s->yours, &failed);
  uint32_t *packed = make(1, settings->bytes, &failed);
  for (uint32_t c = 0; c < s->consumers && !failed; c++) {
    for (int i = 0; i < 2; i++) {
      s->mine[c].cells[i] = make(words, sizeof(uint32_t), &failed);
      s->yours[c].cells[i] = make(words, sizeof(uint32_t), &failed);
    }
    if (!failed) fill(s, c, words, packed);
  }
  free(packed);
  if (failed) return destroy(s), NULL;
  return s;
}

const struct pattern pattern_c_h3d = {
    .name = "C_H3D",
    .summary = "halo of a cube: faces, edges, corners",
    .model = MULTIPLE,
    .access = ADJACENT,
    .down = PIECES,
    .up = PIECES,
    .cycles = 4,
    .create = create,
    .destroy = destroy,
    .produce = produce,
    .consume = consume,
    .check = check,
};
