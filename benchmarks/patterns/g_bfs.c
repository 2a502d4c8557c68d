/* G_BFS: breadth-first search of a random graph whose vertices are split between the devices. A
 * cycle is a level: what the frontier on one side discovers on the other side is sent to its owner.
 * Random, probabilistic: nobody knows before how much that is, from nothing to several messages, so
 * each message says whether another follows. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#define PIECES 3   /* messages, at most */
#define UNSEEN 255 /* a level that no vertex has */
#define DEGREE 3   /* edges made a pair of vertices; each ends at two of them */
#define SOURCES 64 /* of so many vertices of the producer's one is where the search begins */

struct list {
  uint32_t *vertices, count;
};

/* Vertices: part c of the producer's are [c * each, (c + 1) * each), consumer c's lie behind all
 * of the producer's in the same way. */
struct bfs {
  uint32_t consumers, cycles, each, capacity; /* vertices of a part, and of a message */
  uint32_t *starts, *ends; /* edges of v: ends[starts[v] ... starts[v + 1] - 1] */
  uint8_t *levels, *sent;  /* a vertex's owner writes its level */
  struct side {
    struct list frontier, next; /* of this level, and the next one's */
    struct list local, remote;  /* what it led to: own vertices, the other side's */
  } * mine, *yours;             /* by parts */
};

static bool is_mine(const struct bfs *s, uint32_t v) { return v < s->consumers * s->each; }

/* ---- looking around: reads levels, writes lists, so it can be repeated ---- */

struct look {
  const struct bfs *s;
  struct side *side;
  uint32_t to; /* the producer's parts: the only consumer whose vertices count */
  bool mine;
};

static void look_around(void *argument) {
  struct look *l = argument;
  const struct bfs *s = l->s;
  struct side *side = l->side;
  side->local.count = side->remote.count = 0;
  for (uint32_t i = 0; i < side->frontier.count; i++) {
    uint32_t v = side->frontier.vertices[i];
    for (uint32_t e = s->starts[v]; e < s->starts[v + 1]; e++) {
      uint32_t other = s->ends[e];
      if (is_mine(s, other) != l->mine) side->remote.vertices[side->remote.count++] = other;
      else if (s->levels[other] == UNSEEN) side->local.vertices[side->local.count++] = other;
    }
  }
}

/* Those of a list that were not seen get the next level. */
static void settle(struct bfs *s, const uint32_t *vertices, uint32_t count, uint32_t level,
                   struct list *next) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t v = vertices[i];
    if (s->levels[v] != UNSEEN) continue;
    s->levels[v] = (uint8_t)level;
    next->vertices[next->count++] = v;
  }
}

static void next_level(struct side *side) {
  struct list old = side->frontier;
  side->frontier = side->next;
  side->next = old;
  side->next.count = 0;
}

/* ---- messages: their vertices' number, whether another follows, the vertices ---- */

static bool send(struct run *r, const struct bfs *s, struct message m, const struct list *list) {
  for (uint32_t done = 0;; m.number++) {
    uint32_t *out = room(r, m), count = list->count - done;
    if (!out) return false;
    if (count > s->capacity) count = s->capacity;
    out[0] = count;
    out[1] = done + count < list->count;
    memcpy(out + 2, list->vertices + done, count * sizeof *out);
    done += count;
    give(r, m, (count + 2) * sizeof *out);
    if (done == list->count) return true;
  }
}

/* A list that somebody else wrote counts what is in a message at most. */
static uint32_t count_in(const struct bfs *s, const uint32_t *in) {
  return in[0] < s->capacity ? in[0] : s->capacity;
}

/* ---- the producer ---- */

/* What part c discovers, and of that what consumer c does not know yet. */
static void produce_part(struct run *r, struct bfs *s, uint32_t c) {
  struct look l = {.s = s, .side = &s->mine[c], .mine = true};
  work(r, PRODUCE, look_around, &l);
  struct list *remote = &s->mine[c].remote;
  uint32_t found = remote->count;
  remote->count = 0;
  for (uint32_t i = 0; i < found; i++) {
    uint32_t v = remote->vertices[i];
    if (s->sent[v]) continue;
    s->sent[v] = 1;
    remote->vertices[remote->count++] = v;
  }
}

static bool take_back(struct run *r, struct bfs *s, uint32_t c, uint32_t k) {
  bool more = true;
  for (uint32_t i = 0; more; i++) {
    const uint32_t *in = take(r, up(c, k, i));
    if (!in) return false;
    more = in[1] && i + 1 < PIECES;
    settle(s, in + 2, count_in(s, in), k + 1, &s->mine[c].next);
    if (!taken(r, up(c, k, i))) return false;
  }
  return true;
}

static bool produce(struct run *r) {
  struct bfs *s = r->state;
  for (uint32_t k = 0; k < s->cycles; k++) {
    for (uint32_t c = 0; c < s->consumers; c++) {
      produce_part(r, s, c);
      if (!send(r, s, down(c, k, 0), &s->mine[c].remote)) return false;
    }
    for (uint32_t c = 0; c < s->consumers; c++) {
      /* Edges between parts lead from one part to the next: so a part's own frontier has those. */
      struct list *local = &s->mine[c].local;
      for (uint32_t i = 0; i < local->count; i++)
        settle(s, &local->vertices[i], 1, k + 1, &s->mine[local->vertices[i] / s->each].next);
      if (!take_back(r, s, c, k)) return false;
    }
    for (uint32_t c = 0; c < s->consumers; c++) next_level(&s->mine[c]);
  }
  return true;
}

/* ---- a consumer ---- */

struct filter {
  const struct bfs *s;
  const uint32_t *in;
  struct list *out;
  uint32_t first; /* of the consumer's vertices */
};

static void filter_unseen(void *argument) {
  struct filter *f = argument;
  uint32_t count = count_in(f->s, f->in);
  f->out->count = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t v = f->in[2 + i];
    if (v - f->first >= f->s->each || f->s->levels[v] != UNSEEN) continue;
    f->out->vertices[f->out->count++] = v;
  }
}

static bool consume(struct run *r, uint32_t c) {
  struct bfs *s = r->state;
  struct side *me = &s->yours[c];
  for (uint32_t k = 0; k < s->cycles; k++) {
    struct look l = {.s = s, .side = me};
    bool more = true;
    work(r, C1, look_around, &l);
    settle(s, me->local.vertices, me->local.count, k + 1, &me->next);
    for (uint32_t i = 0; more; i++) {
      struct filter f = {s, take(r, down(c, k, i)), &me->local, (s->consumers + c) * s->each};
      if (!f.in) return false;
      work(r, C2, filter_unseen, &f);
      more = f.in[1] && i + 1 < PIECES;
      if (!taken(r, down(c, k, i))) return false;
      settle(s, me->local.vertices, me->local.count, k + 1, &me->next);
    }
    if (!send(r, s, up(c, k, 0), &me->remote)) return false;
    next_level(me);
  }
  return true;
}

/* ---- alone: one queue ---- */

static bool check(const struct settings *settings, void *state, char *said, size_t size) {
  struct bfs *s = state;
  uint32_t all = 2 * s->consumers * s->each, head = 0, tail = 0;
  bool good = true, failed = false;
  uint8_t *levels = make(all, 1, &failed);
  uint32_t *queue = make(all, sizeof *queue, &failed);
  if (!failed) memset(levels, UNSEEN, all);
  for (uint32_t v = 0; v < s->consumers * s->each && !failed; v += SOURCES) {
    levels[v] = 0;
    queue[tail++] = v;
  }
  while (head < tail) {
    uint32_t v = queue[head++];
    if (levels[v] == s->cycles) break;
    for (uint32_t e = s->starts[v]; e < s->starts[v + 1]; e++) {
      if (levels[s->ends[e]] != UNSEEN) continue;
      levels[s->ends[e]] = (uint8_t)(levels[v] + 1);
      queue[tail++] = s->ends[e];
    }
  }
  for (uint32_t part = 0; part < 2 * settings->consumers && good && !failed; part++)
    good = same(s->levels + (size_t)part * s->each, levels + (size_t)part * s->each, s->each,
                part < s->consumers ? "a level beside that" : "a level", part % s->consumers, said,
                size);
  free(levels);
  free(queue);
  return good && !failed;
}

/* ---- the graph ---- */

/* Edge i of consumer c's vertex v: to one of its own, to one of the producer's part c; and of the
 * producer's vertex v of part c: to one of the same part or the next. */
static void edge(const struct bfs *s, uint64_t seed, uint32_t c, uint32_t v, uint32_t i,
                 uint32_t out[2]) {
  uint32_t behind = s->consumers * s->each,
           random = (uint32_t)mix(seed, ((uint64_t)c * s->each + v) * DEGREE + i);
  uint32_t part = i == 2 && random >> 31 ? (c + 1) % s->consumers : c;
  out[0] = (i == 2 ? 0 : behind) + c * s->each + v;
  out[1] = (i == 0 ? behind : 0) + part * s->each + (random & 0x7FFFFFFF) % s->each;
}

/* Counts, sums, places: edges sorted by the vertex at which they begin. */
static void make_graph(struct bfs *s, uint64_t seed) {
  uint32_t all = 2 * s->consumers * s->each, ends[2];
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t at = 0; at < s->consumers * s->each * DEGREE; at++) {
      edge(s, seed, at / DEGREE / s->each, at / DEGREE % s->each, at % DEGREE, ends);
      for (int j = 0; j < 2; j++)
        if (pass) s->ends[s->starts[ends[j]]++] = ends[!j];
        else s->starts[ends[j] + 1]++;
    }
    if (pass) memmove(s->starts + 1, s->starts, all * sizeof *s->starts);
    else
      for (uint32_t v = 0; v < all; v++) s->starts[v + 1] += s->starts[v];
    s->starts[0] = 0;
  }
}

static bool make_side(struct bfs *s, struct side *side, uint32_t first) {
  bool failed = false;
  uint32_t edges = s->starts[first + s->each] - s->starts[first];
  side->frontier.vertices = make(s->each, sizeof(uint32_t), &failed);
  side->next.vertices = make(s->each, sizeof(uint32_t), &failed);
  side->local.vertices = make(edges > s->capacity ? edges : s->capacity, sizeof(uint32_t), &failed);
  side->remote.vertices = make(edges, sizeof(uint32_t), &failed);
  return !failed;
}

static void free_sides(struct side *sides, uint32_t count) {
  for (uint32_t i = 0; sides && i < count; i++) {
    free(sides[i].frontier.vertices);
    free(sides[i].next.vertices);
    free(sides[i].local.vertices);
    free(sides[i].remote.vertices);
  }
  free(sides);
}

static void destroy(void *state) {
  struct bfs *s = state;
  free_sides(s->mine, s->consumers);
  free_sides(s->yours, s->consumers);
  free(s->starts);
  free(s->ends);
  free(s->levels);
  free(s->sent);
  free(s);
}

static void *create(const struct settings *settings) {
  bool failed = false;
  struct bfs *s = make(1, sizeof *s, &failed);
  if (failed) return NULL;
  uint32_t words = (uint32_t)(settings->bytes / sizeof(uint32_t));
  s->consumers = settings->consumers;
  s->cycles = settings->cycles < UNSEEN ? settings->cycles : UNSEEN - 1;
  s->each = 2 * words < 8192 ? 2 * words : 8192;
  s->capacity = words - 2 < s->each / 2 ? words - 2 : s->each / 2;
  size_t all = 2 * (size_t)s->consumers * s->each;
  s->starts = make(all + 1, sizeof *s->starts, &failed);
  s->ends = make(all * DEGREE, sizeof *s->ends, &failed);
  s->levels = make(all, 1, &failed);
  s->sent = make(all, 1, &failed);
  s->mine = make(s->consumers, sizeof *s->mine, &failed);
  s->yours = make(s->consumers, sizeof *s->yours, &failed);
  if (!failed) make_graph(s, settings->seed);
  for (uint32_t c = 0; c < s->consumers && !failed; c++)
    failed = !make_side(s, &s->mine[c], c * s->each) ||
             !make_side(s, &s->yours[c], (s->consumers + c) * s->each);
  if (failed) return destroy(s), NULL;
  memset(s->levels, UNSEEN, all);
  for (uint32_t v = 0; v < s->consumers * s->each; v += SOURCES)
    settle(s, &v, 1, 0, &s->mine[v / s->each].frontier);
  return s;
}

const struct pattern pattern_g_bfs = {
    .name = "G_BFS",
    .summary = "breadth-first search, a level a cycle",
    .model = PROBABILISTIC,
    .access = RANDOM,
    .down = PIECES,
    .up = PIECES,
    .cycles = 8,
    .create = create,
    .destroy = destroy,
    .produce = produce,
    .consume = consume,
    .check = check,
};
