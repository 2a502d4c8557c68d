#include "moments.h"

#include <math.h>
#include <stdlib.h>

/* ---- messages to consumers, all of them ---- */

struct each {
  struct run *run;
  uint32_t consumer, cycle, number;
  const struct moment *moment;
};

/* The next that was given; begin with a consumer of UINT32_MAX. Consumers go fastest. */
static bool next(struct each *e) {
  const struct shape *s = &e->run->exchange.shape;
  for (;;) {
    if (e->consumer == UINT32_MAX) e->consumer = e->cycle = e->number = 0;
    else if (++e->consumer == s->consumers) {
      e->consumer = 0;
      if (++e->number == s->down) e->number = 0, e->cycle++;
    }
    if (e->cycle == s->cycles) return false;
    e->moment = exchange_moment(&e->run->exchange, down(e->consumer, e->cycle, e->number));
    if (e->moment->given && e->moment->asked) return true;
  }
}

static bool waits(const struct moment *m) { return m->given > m->asked; }

/* ---- how far apart they are ---- */

static void measure_apart(struct run *r, struct outcome *out) {
  double sum = 0, squares = 0, count = 0;
  double each = (double)out->alive_ns / (double)(out->downs ? out->downs : 1);
  for (struct each e = {.run = r, .consumer = UINT32_MAX}; next(&e); count++) {
    double apart = ((double)e.moment->given - (double)e.moment->asked) / each;
    sum += apart;
    squares += apart * apart;
  }
  out->apart = count ? sum / count : 0;
  double variance = count ? squares / count - out->apart * out->apart : 0;
  out->deviation = variance > 0 ? sqrt(variance) : 0;
}

/* Those that wait in the load are not seen otherwise. */
static void count_waits(struct run *r, struct outcome *out) {
  for (struct each e = {.run = r, .consumer = UINT32_MAX}; next(&e);) {
    if (!waits(e.moment) || !e.moment->got) continue;
    out->waits++;
    out->waited_ns += e.moment->got - e.moment->asked;
  }
}

/* ---- what was hidden ---- */

/* At this time so many more wait, so many more could run. */
struct change {
  uint64_t at;
  int waiting, runnable;
};

static int compare_changes(const void *a, const void *b) {
  const struct change *x = a, *y = b;
  return (x->at > y->at) - (x->at < y->at);
}

/* Stretches of time, in order, and how long all before each are. */
struct times {
  struct change *changes;
  struct stretch *both; /* cpu: the sum of those before */
  size_t change_count, both_count;
  uint64_t awaited;
};

static void add(struct times *t, uint64_t at, int waiting, int runnable) {
  t->changes[t->change_count++] = (struct change){at, waiting, runnable};
}

static void sweep(struct times *t) {
  int waiting = 0, runnable = 0;
  uint64_t sum = 0;
  qsort(t->changes, t->change_count, sizeof *t->changes, compare_changes);
  for (size_t i = 0; i + 1 < t->change_count; i++) {
    uint64_t from = t->changes[i].at, to = t->changes[i + 1].at;
    waiting += t->changes[i].waiting;
    runnable += t->changes[i].runnable;
    if (waiting > 0) t->awaited += to - from;
    if (waiting <= 0 || runnable <= 0 || from == to) continue;
    t->both[t->both_count++] = (struct stretch){from, to, sum};
    sum += to - from;
  }
}

/* How much of the stretches lies before that time. */
static uint64_t both_before(const struct times *t, uint64_t at) {
  size_t low = 0, high = t->both_count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (t->both[middle].start < at) low = middle + 1;
    else high = middle;
  }
  if (low == 0) return 0;
  const struct stretch *last = &t->both[low - 1];
  return last->cpu + (at < last->end ? at : last->end) - last->start;
}

/* Work is spread evenly over the time in which it was done. */
static uint64_t measure_hidden(const struct run *r, const struct times *t) {
  double hidden = 0;
  uint32_t count = atomic_load(&r->stretch_count);
  for (uint32_t i = 0; i < count && i < r->most_stretches; i++) {
    const struct stretch *s = &r->stretches[i];
    uint64_t within = both_before(t, s->end) - both_before(t, s->start);
    if (s->end > s->start) hidden += (double)s->cpu * (double)within / (double)(s->end - s->start);
  }
  return (uint64_t)hidden;
}

static void measure_overlap(struct run *r, struct outcome *out) {
  size_t most = 2 * (size_t)(out->downs + r->settings.consumers) + 2;
  struct times t = {.changes = calloc(most, sizeof *t.changes),
                    .both = calloc(most, sizeof *t.both)};
  uint64_t first = UINT64_MAX;
  for (uint32_t c = 0; c < r->settings.consumers; c++)
    if (r->spans[c].start < first) first = r->spans[c].start;
  for (uint32_t c = 0; t.changes && t.both && c < r->settings.consumers; c++) {
    add(&t, first, 0, 1);
    add(&t, r->spans[c].end, 0, -1);
  }
  for (struct each e = {.run = r, .consumer = UINT32_MAX}; t.changes && t.both && next(&e);) {
    if (!waits(e.moment)) continue;
    add(&t, e.moment->asked, 1, -1);
    add(&t, e.moment->given, -1, 1);
  }
  if (t.changes && t.both) {
    sweep(&t);
    out->awaited_ns = t.awaited;
    out->both_ns = both_before(&t, UINT64_MAX);
    out->hidden_ns = r->exchange.shape.cores[0] >= 0 ? measure_hidden(r, &t) : 0;
  }
  free(t.changes);
  free(t.both);
}

/* ---- curves ---- */

/* Of the messages with this cycle and number: from when to when somebody waits. */
static bool waiting_of(struct run *r, uint32_t cycle, uint32_t number, struct stretch *out) {
  *out = (struct stretch){UINT64_MAX, 0, 0};
  for (uint32_t c = 0; c < r->settings.consumers; c++) {
    const struct moment *m = exchange_moment(&r->exchange, down(c, cycle, number));
    if (!m->given || !m->asked || !waits(m)) continue;
    if (m->asked < out->start) out->start = m->asked;
    if (m->given > out->end) out->end = m->given;
  }
  return out->start < out->end;
}

static uint64_t along(const struct stretch *s, int i) {
  return s->start + (s->end - s->start) * (uint64_t)i / (CURVE - 1);
}

static void draw_early(struct run *r, struct outcome *out) {
  const struct shape *s = &r->exchange.shape;
  uint32_t count = 0;
  struct stretch wait;
  for (int i = 0; i < CURVE; i++) out->early[i] = 0;
  for (uint32_t k = 0; k < s->cycles * s->down; k++) {
    if (!waiting_of(r, k / s->down, k % s->down, &wait)) continue;
    count++;
    for (int i = 0; i < CURVE; i++) {
      uint32_t early = 0;
      for (uint32_t c = 0; c < s->consumers; c++)
        early += exchange_moment(&r->exchange, down(c, k / s->down, k % s->down))->asked >
                 along(&wait, i);
      out->early[i] += (double)early / s->consumers;
    }
  }
  for (int i = 0; i < CURVE; i++) out->early[i] = count ? out->early[i] / count : NAN;
}

static void draw_others(struct run *r, struct outcome *out) {
  size_t all = (size_t)r->settings.others * r->pieces;
  struct stretch wait = {UINT64_MAX, 0, 0};
  for (struct each e = {.run = r, .consumer = UINT32_MAX}; next(&e);) {
    if (!waits(e.moment)) continue;
    if (e.moment->asked < wait.start) wait.start = e.moment->asked;
    if (e.moment->given > wait.end) wait.end = e.moment->given;
  }
  for (int i = 0; i < CURVE; i++) {
    size_t left = 0;
    for (size_t p = 0; p < all; p++) left += r->others[p] > along(&wait, i);
    out->others_left[i] = all && wait.start < wait.end ? (double)left / (double)all : NAN;
  }
}

void moments_summarise(struct run *r, struct outcome *out) {
  const struct span *producer = &r->spans[r->settings.consumers];
  for (uint32_t c = 0; c < r->settings.consumers; c++)
    out->inside_ns += r->exchange.waiting[c].inside;
  out->producer_inside_ns = r->exchange.waiting[r->settings.consumers].inside;
  out->producer_alive_ns = producer->end - producer->start;
  out->producer_cpu_ns = producer->cpu;
  out->consumer_cpu_ns = r->exchange.way->crew ? r->crew.end - r->crew.start : out->cpu_ns;
  for (int i = 0; i < PHASES; i++) out->work_ns[i] = atomic_load(&r->phase_ns[i]);
  if (r->exchange.way->faults) count_waits(r, out);
  measure_apart(r, out);
  measure_overlap(r, out);
  draw_early(r, out);
  draw_others(r, out);
}
