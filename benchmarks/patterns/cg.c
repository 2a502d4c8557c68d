/* The iteration and its exchange: see cg.h.
 *
 *   p = r + beta p,  s = w + beta s,  x += alpha p,  r -= alpha s,      then with the new r
 *   w = A r,  gamma = (r, r),  delta = (w, r),       then for the next iteration
 *   beta = gamma / gamma before,  alpha = gamma / (delta - beta gamma / alpha before)
 *
 * In cycle 0 alpha and beta are 0, which makes w, gamma and delta of the first residual. A
 * consumer's x is a cycle late: that is its work that needs no message. */
#include "cg.h"

#include <stdlib.h>
#include <string.h>

#define SOLVED 1e-300 /* a residual whose square is below that is none */

/* One plane's rows, as compressed rows: columns below CG_NODES are the plane's own, then come those
 * of the plane before and of the plane behind, in the order of messages. */
struct plane {
  uint16_t *columns;
  double *values;
  uint32_t starts[CG_NODES + 1];
  /* Vectors: [node][side], of which those with [2] are kept for the old and the new. */
  double *x[2], *p[2], *s[2], *r[2], *w[2];
  double *beside;        /* the producer's planes: the other side's residual, before and behind */
  double *gamma, *delta; /* by side; whoever computes the plane writes them */
  double *told_gamma, *told_delta; /* a consumer's, as the producer was told */
  double *alpha;                   /* a consumer's: of the iteration before, by side */
};

struct cg {
  uint32_t consumers, cycles, planes, sides; /* right-hand sides */
  uint64_t seed;
  cg_rows *rows;
  uint16_t order[CG_NODES]; /* message place e is node order[e] */
  struct plane *all;        /* even ones are the producer's */
  double *scalars;          /* alpha[side], beta[side] of this iteration */
  double *gammas;           /* of the iteration before */
};

/* ---- kernels: they read the old and write the new, so they can be repeated ---- */

struct update {
  const struct cg *cg;
  struct plane *plane;
  uint32_t k; /* old is k & 1 */
  const double *scalars, *beside;
};

static void add_scaled(const struct cg *cg, const double *alpha, const double *old, const double *p,
                       double *out) {
  for (uint32_t i = 0; i < CG_NODES; i++)
    for (uint32_t j = 0; j < cg->sides; j++) {
      size_t at = (size_t)i * cg->sides + j;
      out[at] = old[at] + alpha[j] * p[at];
    }
}

static void update_residual(struct update *u) {
  struct plane *z = u->plane;
  uint32_t old = u->k & 1, new = ~u->k & 1, sides = u->cg->sides;
  const double *alpha = u->scalars, *beta = u->scalars + sides;
  for (uint32_t i = 0; i < CG_NODES; i++)
    for (uint32_t j = 0; j < sides; j++) {
      size_t at = (size_t)i * sides + j;
      z->p[new][at] = z->r[old][at] + beta[j] * z->p[old][at];
      z->s[new][at] = z->w[old][at] + beta[j] * z->s[old][at];
      z->r[new][at] = z->r[old][at] - alpha[j] * z->s[new][at];
    }
}

/* w = A r for the plane's rows, with the other side's values as they lie in a message. */
static void multiply(const struct cg *cg, const struct plane *z, const double *r,
                     const double *beside, double *out) {
  uint32_t sides = cg->sides;
  for (uint32_t i = 0; i < CG_NODES; i++) {
    double *sum = out + (size_t)i * sides;
    memset(sum, 0, sides * sizeof *sum);
    for (uint32_t e = z->starts[i]; e < z->starts[i + 1]; e++) {
      uint32_t column = z->columns[e];
      const double *in = column < CG_NODES ? r + (size_t)column * sides
                                           : beside + (size_t)(column - CG_NODES) * sides;
      double value = z->values[e];
      for (uint32_t j = 0; j < sides; j++) sum[j] += value * in[j];
    }
  }
}

static void dots(const struct cg *cg, struct plane *z, const double *r, const double *w) {
  uint32_t sides = cg->sides;
  memset(z->gamma, 0, sides * sizeof *z->gamma);
  memset(z->delta, 0, sides * sizeof *z->delta);
  for (uint32_t i = 0; i < CG_NODES; i++)
    for (uint32_t j = 0; j < sides; j++) {
      size_t at = (size_t)i * sides + j;
      z->gamma[j] += r[at] * r[at];
      z->delta[j] += w[at] * r[at];
    }
}

/* The next iteration's scalars, from all planes' dots in order. */
static void next_scalars(const struct cg *cg, const struct plane *all, double *scalars,
                         double *gammas, bool first) {
  for (uint32_t j = 0; j < cg->sides; j++) {
    double gamma = 0, delta = 0, *alpha = &scalars[j], *beta = &scalars[cg->sides + j];
    for (uint32_t z = 0; z < cg->planes; z++) {
      bool told = z % 2; /* a consumer's */
      gamma += (told ? all[z].told_gamma : all[z].gamma)[j];
      delta += (told ? all[z].told_delta : all[z].delta)[j];
    }
    *beta = first ? 0 : gamma / gammas[j];
    *alpha = first ? gamma / delta : gamma / (delta - *beta * gamma / *alpha);
    if (!(gamma > SOLVED)) *alpha = *beta = 0; /* solved */
    gammas[j] = gamma > SOLVED ? gamma : 1;
  }
}

/* ---- the producer ---- */

struct gathering {
  struct update updates[2];
  uint32_t count;
  const struct plane *before, *behind; /* whose residuals are gathered */
  double *out;
};

static void update_and_gather(void *argument) {
  struct gathering *g = argument;
  const struct cg *cg = g->updates[0].cg;
  uint32_t new = ~g->updates[0].k & 1, sides = cg->sides;
  for (uint32_t i = 0; i < g->count; i++) {
    struct plane *z = g->updates[i].plane;
    update_residual(&g->updates[i]);
    add_scaled(cg, g->updates[i].scalars, z->x[!new], z->p[new], z->x[new]);
  }
  memcpy(g->out, g->updates[0].scalars, 2 * sides * sizeof *g->out);
  double *out = g->out + 2 * (size_t)sides;
  for (uint32_t e = 0; e < 2 * CG_NODES; e++, out += sides) {
    const struct plane *z = e < CG_NODES ? g->before : g->behind;
    memcpy(out, z->r[new] + (size_t)cg->order[e % CG_NODES] * sides, sides * sizeof *out);
  }
}

struct product {
  const struct cg *cg;
  struct plane *plane;
  uint32_t k;
};

static void multiply_mine(void *argument) {
  struct product *p = argument;
  struct plane *z = p->plane;
  multiply(p->cg, z, z->r[~p->k & 1], z->beside, z->w[~p->k & 1]);
  dots(p->cg, z, z->r[~p->k & 1], z->w[~p->k & 1]);
}

static bool take_back(struct run *r, struct cg *cg, uint32_t c, uint32_t k) {
  uint32_t sides = cg->sides;
  size_t size = CG_NODES * (size_t)sides;
  struct plane *yours = &cg->all[2 * c + 1];
  const double *in = take(r, up(c, k, 0));
  if (!in) return false;
  memcpy(yours->told_gamma, in, sides * sizeof *in);
  memcpy(yours->told_delta, in + sides, sides * sizeof *in);
  memcpy(cg->all[2 * c].beside + size, in + 2 * (size_t)sides, size * sizeof *in);
  memcpy(cg->all[2 * c + 2].beside, in + 2 * (size_t)sides, size * sizeof *in);
  return taken(r, up(c, k, 0));
}

static bool give_all(struct run *r, struct cg *cg, uint32_t k) {
  for (uint32_t c = 0; c < cg->consumers; c++) {
    struct plane *upper = &cg->all[2 * c], *lower = &cg->all[2 * c + 2];
    struct gathering g = {.before = upper, .behind = lower, .out = room(r, down(c, k, 0))};
    if (!g.out) return false;
    if (c == 0) g.updates[g.count++] = (struct update){cg, upper, k, cg->scalars, NULL};
    g.updates[g.count++] = (struct update){cg, lower, k, cg->scalars, NULL};
    work(r, PRODUCE, update_and_gather, &g);
    give(r, down(c, k, 0), (2 + 2 * CG_NODES) * cg->sides * sizeof(double));
  }
  return true;
}

bool cg_produce(struct run *r) {
  struct cg *cg = r->state;
  for (uint32_t k = 0; k < cg->cycles; k++) {
    if (!give_all(r, cg, k)) return false;
    for (uint32_t c = 0; c < cg->consumers; c++)
      if (!take_back(r, cg, c, k)) return false;
    for (uint32_t z = 0; z < cg->planes; z += 2) {
      struct product p = {cg, &cg->all[z], k};
      work(r, PRODUCE, multiply_mine, &p);
    }
    next_scalars(cg, cg->all, cg->scalars, cg->gammas, k == 0);
  }
  return true;
}

/* ---- a consumer ---- */

static void add_late(void *argument) {
  struct update *u = argument;
  struct plane *z = u->plane;
  add_scaled(u->cg, z->alpha, z->x[u->k & 1], z->p[u->k & 1], z->x[~u->k & 1]);
}

static void solve(void *argument) {
  struct update *u = argument;
  struct plane *z = u->plane;
  uint32_t new = ~u->k & 1;
  update_residual(u);
  multiply(u->cg, z, z->r[new], u->beside, z->w[new]);
  dots(u->cg, z, z->r[new], z->w[new]);
}

static bool give_back(struct run *r, struct cg *cg, uint32_t c, uint32_t k) {
  const struct plane *me = &cg->all[2 * c + 1];
  uint32_t sides = cg->sides;
  double *out = room(r, up(c, k, 0));
  if (!out) return false;
  memcpy(out, me->gamma, sides * sizeof *out);
  memcpy(out + sides, me->delta, sides * sizeof *out);
  out += 2 * (size_t)sides;
  for (uint32_t e = 0; e < CG_NODES; e++, out += sides)
    memcpy(out, me->r[~k & 1] + (size_t)cg->order[e] * sides, sides * sizeof *out);
  give(r, up(c, k, 0), (2 + CG_NODES) * sides * sizeof *out);
  return true;
}

bool cg_consume(struct run *r, uint32_t c) {
  struct cg *cg = r->state;
  struct plane *me = &cg->all[2 * c + 1];
  struct update u = {.cg = cg, .plane = me};
  for (u.k = 0; u.k < cg->cycles; u.k++) {
    work(r, C1, add_late, &u);
    u.scalars = take(r, down(c, u.k, 0));
    if (!u.scalars) return false;
    u.beside = u.scalars + 2 * (size_t)cg->sides;
    work(r, C2, solve, &u);
    memcpy(me->alpha, u.scalars, cg->sides * sizeof *me->alpha);
    if (!taken(r, down(c, u.k, 0)) || !give_back(r, cg, c, u.k)) return false;
  }
  add_late(&u);
  return true;
}

/* ---- alone: all planes, from the matrix as it was made ---- */

static double first_residual(const struct cg *cg, uint32_t z, uint32_t node, uint32_t side) {
  uint64_t random = mix(cg->seed + 11, ((uint64_t)z * CG_NODES + node) * 1024 + side);
  return (double)(random >> 12) / (double)(UINT64_C(1) << 52) - 0.5;
}

/* Vectors of all planes for one right-hand side. */
struct alone {
  double (*rows)[27];
  double *x, *p, *s, *r, *w;
  double alpha, beta, gamma;
};

static void multiply_alone(const struct alone *a, uint32_t nodes) {
  for (uint32_t at = 0; at < nodes; at++) {
    double sum = 0;
    for (int e = 0; e < 27; e++) {
      if (a->rows[at][e] == 0) continue;
      int other = (int)at + (e / 9 - 1) * CG_NODES + (e / 3 % 3 - 1) * CG_X + e % 3 - 1;
      sum += a->rows[at][e] * a->r[other];
    }
    a->w[at] = sum;
  }
}

static void iterate_alone(struct alone *a, uint32_t planes, bool first) {
  uint32_t nodes = planes * CG_NODES;
  double gamma = 0, delta = 0;
  for (uint32_t i = 0; i < nodes; i++) {
    a->p[i] = a->r[i] + a->beta * a->p[i];
    a->s[i] = a->w[i] + a->beta * a->s[i];
    a->x[i] = a->x[i] + a->alpha * a->p[i];
    a->r[i] = a->r[i] - a->alpha * a->s[i];
  }
  multiply_alone(a, nodes);
  for (uint32_t z = 0; z < planes; z++) {
    double part = 0, other = 0;
    for (uint32_t i = z * CG_NODES; i < (z + 1) * CG_NODES; i++) {
      part += a->r[i] * a->r[i];
      other += a->w[i] * a->r[i];
    }
    gamma += part;
    delta += other;
  }
  a->beta = first ? 0 : gamma / a->gamma;
  a->alpha = first ? gamma / delta : gamma / (delta - a->beta * gamma / a->alpha);
  if (!(gamma > SOLVED)) a->alpha = a->beta = 0;
  a->gamma = gamma > SOLVED ? gamma : 1;
}

/* x and r of all planes, for this right-hand side. A consumer's x is a cycle late, then caught up.
 */
static bool compare(const struct cg *cg, const struct alone *a, uint32_t side, char *said,
                    size_t size) {
  uint32_t last = cg->cycles & 1;
  for (uint32_t at = 0; at < cg->planes * CG_NODES; at++) {
    uint32_t z = at / CG_NODES;
    size_t own = (size_t)(at % CG_NODES) * cg->sides + side;
    const struct plane *plane = &cg->all[z];
    if (!same(&plane->x[z & 1 ? !last : last][own], &a->x[at], sizeof(double), "the solution",
              z / 2, said, size) ||
        !same(&plane->r[last][own], &a->r[at], sizeof(double), "the residual", z / 2, said, size))
      return false;
  }
  return true;
}

static bool check_side(const struct cg *cg, struct alone *a, uint32_t side, char *said,
                       size_t size) {
  size_t nodes = (size_t)cg->planes * CG_NODES;
  a->alpha = a->beta = a->gamma = 0;
  for (size_t at = 0; at < nodes; at++) {
    a->x[at] = a->p[at] = a->s[at] = a->w[at] = 0;
    a->r[at] = first_residual(cg, (uint32_t)(at / CG_NODES), at % CG_NODES, side);
  }
  for (uint32_t k = 0; k < cg->cycles; k++) iterate_alone(a, cg->planes, k == 0);
  return compare(cg, a, side, said, size);
}

bool cg_check(const struct settings *settings, void *state, char *said, size_t size) {
  const struct cg *cg = state;
  size_t nodes = (size_t)cg->planes * CG_NODES;
  bool good = true, failed = false;
  struct alone a = {.rows = make(nodes, sizeof *a.rows, &failed)};
  double **const vectors[] = {&a.x, &a.p, &a.s, &a.r, &a.w};
  (void)settings;
  for (int i = 0; i < 5; i++) *vectors[i] = make(nodes, sizeof(double), &failed);
  for (uint32_t z = 0; z < cg->planes && !failed; z++)
    cg->rows(cg->seed, z, cg->planes, a.rows + (size_t)z * CG_NODES);
  for (uint32_t side = 0; side < cg->sides && good && !failed; side++)
    good = check_side(cg, &a, side, said, size);
  for (int i = 0; i < 5; i++) free(*vectors[i]);
  free(a.rows);
  return good && !failed;
}

/* ---- life ---- */

static bool compress(const struct cg *cg, uint32_t number, struct plane *z, double (*rows)[27]) {
  uint16_t places[CG_NODES];
  bool failed = false;
  uint32_t count = 0;
  for (uint16_t e = 0; e < CG_NODES; e++) places[cg->order[e]] = e;
  z->columns = make(CG_NODES * 27, sizeof *z->columns, &failed);
  z->values = make(CG_NODES * 27, sizeof *z->values, &failed);
  cg->rows(cg->seed, number, cg->planes, rows);
  for (uint32_t i = 0; i < CG_NODES && !failed; i++) {
    z->starts[i] = count;
    for (uint32_t e = 0; e < 27; e++) {
      uint32_t other = i + e / 3 % 3 * CG_X + e % 3 - CG_X - 1;
      if (rows[i][e] == 0) continue;
      z->values[count] = rows[i][e];
      uint32_t column = e / 9 == 1 ? other : places[other] + (e < 9 ? 1u : 2u) * CG_NODES;
      z->columns[count++] = (uint16_t)column;
    }
    z->starts[i + 1] = count;
  }
  return !failed;
}

static bool make_plane(const struct cg *cg, uint32_t number, double (*rows)[27]) {
  struct plane *z = &cg->all[number];
  size_t sides = cg->sides, values = CG_NODES * sides;
  bool failed = !compress(cg, number, z, rows);
  for (int i = 0; i < 2; i++) {
    z->x[i] = make(values, sizeof(double), &failed);
    z->p[i] = make(values, sizeof(double), &failed);
    z->s[i] = make(values, sizeof(double), &failed);
    z->r[i] = make(values, sizeof(double), &failed);
    z->w[i] = make(values, sizeof(double), &failed);
  }
  z->beside = make(2 * values, sizeof(double), &failed);
  z->gamma = make(sides, sizeof(double), &failed);
  z->delta = make(sides, sizeof(double), &failed);
  z->told_gamma = make(sides, sizeof(double), &failed);
  z->told_delta = make(sides, sizeof(double), &failed);
  z->alpha = make(sides, sizeof(double), &failed);
  for (size_t at = 0; at < values && !failed; at++)
    z->r[0][at] = first_residual(cg, number, (uint32_t)(at / sides), at % sides);
  return !failed;
}

void cg_destroy(void *state) {
  struct cg *cg = state;
  for (uint32_t i = 0; cg->all && i < cg->planes; i++) {
    struct plane *z = &cg->all[i];
    void *const parts[] = {z->x[0],  z->x[1],  z->p[0],   z->p[1],    z->s[0],       z->s[1],
                           z->r[0],  z->r[1],  z->w[0],   z->w[1],    z->beside,     z->gamma,
                           z->delta, z->alpha, z->values, z->columns, z->told_gamma, z->told_delta};
    for (size_t j = 0; j < sizeof parts / sizeof *parts; j++) free(parts[j]);
  }
  free(cg->all);
  free(cg->scalars);
  free(cg->gammas);
  free(cg);
}

/* A random order of a plane's nodes. */
static void shuffle(struct cg *cg) {
  for (uint32_t i = 0; i < CG_NODES; i++) cg->order[i] = (uint16_t)i;
  for (uint32_t i = CG_NODES - 1; i > 0; i--) {
    uint32_t other = (uint32_t)(mix(cg->seed + 7, i) % (i + 1));
    uint16_t node = cg->order[i];
    cg->order[i] = cg->order[other];
    cg->order[other] = node;
  }
}

void *cg_create(const struct settings *settings, cg_rows *rows) {
  bool failed = false;
  struct cg *cg = make(1, sizeof *cg, &failed);
  double(*scratch)[27] = make(CG_NODES, sizeof *scratch, &failed);
  if (cg) {
    cg->consumers = settings->consumers;
    cg->cycles = settings->cycles;
    cg->planes = 2 * cg->consumers + 1;
    cg->sides = (uint32_t)(settings->bytes / 4096); /* (2 + 2 * 255) * 8 bytes each: exactly full */
    cg->seed = settings->seed;
    cg->rows = rows;
    shuffle(cg);
    cg->all = make(cg->planes, sizeof *cg->all, &failed);
    cg->scalars = make(2 * (size_t)cg->sides, sizeof(double), &failed);
    cg->gammas = make(cg->sides, sizeof(double), &failed);
    for (uint32_t z = 0; z < cg->planes && !failed; z++) failed = !make_plane(cg, z, scratch);
  }
  free(scratch);
  if (failed && cg) cg_destroy(cg);
  return failed ? NULL : cg;
}
