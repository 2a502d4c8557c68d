/* Reports the operations that a dry run could not finish: waits for values without a signaller, and
 * cycles. */
#include "base/alloc.h"
#include "program/dry_run.h"

#define SHOWN_MAX 5 /* steps of a cycle shown in its message */

struct entry { /* sorted by major, then minor */
  uint64_t major, minor;
  uint32_t op;
};

struct reporter {
  struct tide_dry_run *r;
  struct entry *ops; /* by step number */
  size_t op_count;
  struct entry *signals; /* by timeline and value */
  size_t signal_count;
};

/* ---- sorting: a heap, in place ------------------------------------------------------ */

static bool is_less(const struct entry *a, const struct entry *b) {
  return a->major < b->major || (a->major == b->major && a->minor < b->minor);
}

static void sift_down(struct entry *entries, size_t at, size_t count) {
  struct entry moving = entries[at];
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && is_less(&entries[child], &entries[child + 1])) child++;
    if (!is_less(&moving, &entries[child])) break;
    entries[at] = entries[child];
  }
  entries[at] = moving;
}

static void sort_entries(struct entry *entries, size_t count) {
  for (size_t i = count / 2; i-- > 0;) sift_down(entries, i, count);
  for (size_t last = count; last-- > 1;) {
    struct entry swap = entries[0];
    entries[0] = entries[last];
    entries[last] = swap;
    sift_down(entries, 0, last);
  }
}

/* ---- held operations ----------------------------------------------------------------- */

static bool collect_held(struct reporter *p) {
  struct tide_dry_run *r = p->r;
  for (uint32_t op = 1; op < r->held_count; op++) {
    if (r->held[op].number == UINT64_MAX) continue;
    p->op_count++;
    for (uint32_t s = r->held[op].signals; s; s = r->values[s].next) p->signal_count++;
  }
  p->ops = tide_alloc(r->allocator, p->op_count, sizeof *p->ops);
  p->signals = tide_alloc(r->allocator, p->signal_count, sizeof *p->signals);
  if (!p->ops || !p->signals) return tide_error_no_memory(r->errors);
  size_t ops = 0, signals = 0;
  for (uint32_t op = 1; op < r->held_count; op++) {
    if (r->held[op].number == UINT64_MAX) continue;
    p->ops[ops++] = (struct entry){0, r->held[op].number, op};
    for (uint32_t s = r->held[op].signals; s; s = r->values[s].next)
      p->signals[signals++] = (struct entry){r->values[s].timeline, r->values[s].value, op};
  }
  sort_entries(p->ops, p->op_count);
  sort_entries(p->signals, p->signal_count);
  return true;
}

static void free_entries(struct reporter *p) {
  tide_free(p->r->allocator, p->ops, p->op_count, sizeof *p->ops);
  tide_free(p->r->allocator, p->signals, p->signal_count, sizeof *p->signals);
}

/* Returns the held operation that signals the smallest value >= value; 0: none. */
static uint32_t find_signaller(const struct reporter *p, uint32_t timeline, uint64_t value) {
  struct entry wanted = {timeline, value, 0};
  size_t low = 0, high = p->signal_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (is_less(&p->signals[middle], &wanted)) low = middle + 1;
    else high = middle;
  }
  return low < p->signal_count && p->signals[low].major == timeline ? p->signals[low].op : 0;
}

/* ---- waits that cannot be satisfied --------------------------------------------------- */

/* The positions of the errors so far. A wait in a loop is one mistake, however often it is made. */
struct positions {
  struct {
    uint32_t line, column;
  } list[TIDE_ERRORS_MAX];
  size_t count;
};

static bool is_known(const struct positions *positions, uint32_t line, uint32_t column) {
  for (size_t i = 0; i < positions->count; i++)
    if (positions->list[i].line == line && positions->list[i].column == column) return true;
  return false;
}

/* True the first time for each position and each timeline: all waits for a missing signal are one
 * mistake, too. */
static bool is_first(struct reporter *p, struct positions *positions, uint32_t line,
                     uint32_t column, uint32_t timeline) {
  struct tide_dry_run_timeline *t = &p->r->timelines[timeline];
  if (t->reported || is_known(positions, line, column) || positions->count == TIDE_ERRORS_MAX)
    return false;
  t->reported = true;
  positions->list[positions->count].line = line;
  positions->list[positions->count++].column = column;
  return true;
}

static bool is_never_reached(const struct reporter *p, uint32_t timeline, uint64_t value) {
  return value > p->r->plan->timelines[timeline].last;
}

static void report_never(struct reporter *p, uint32_t line, uint32_t column, uint32_t timeline,
                         uint64_t value) {
  const struct tide_plan_timeline *t = &p->r->plan->timelines[timeline];
  const char *kind = t->collective == TIDE_PLAN_NONE ? "timeline" : "collective";
  if (t->last == t->initial) {
    tide_error(p->r->errors, TIDE_NOT_FOUND, line, column,
               "%s '%s' never reaches %llu: nobody signals it", kind, t->label,
               (unsigned long long)value);
  } else {
    tide_error(p->r->errors, TIDE_NOT_FOUND, line, column,
               "%s '%s' never reaches %llu: the highest signalled value is %llu", kind, t->label,
               (unsigned long long)value, (unsigned long long)t->last);
  }
}

/* Reports a queue without room, unless its operations are held for another reason. */
static void report_full(struct reporter *p, const struct tide_stuck *stuck) {
  struct tide_dry_run *r = p->r;
  if (r->queues[stuck->queue].done == stuck->done) return;
  tide_error(r->errors, TIDE_DEADLOCK, stuck->line, stuck->column,
             "queue '%s' is full, and all that is in it waits for what comes later in the program: "
             "give it a larger capacity",
             r->plan->queues[stuck->queue].label);
}

/* Reports a wait of the host, unless it only follows from other errors. */
static void report_stuck(struct reporter *p, struct positions *positions,
                         const struct tide_stuck *stuck) {
  struct tide_dry_run *r = p->r;
  if (stuck->queue != TIDE_PLAN_NONE) {
    report_full(p, stuck);
    return;
  }
  uint32_t timeline = stuck->wait.timeline;
  unsigned long long value = stuck->wait.value;
  const char *label = r->plan->timelines[timeline].label;
  bool never = is_never_reached(p, timeline, value);
  if (!never && value > r->timelines[timeline].reached) return; /* a held operation signals it */
  if (!is_first(p, positions, stuck->line, stuck->column, timeline)) return;
  if (never) {
    report_never(p, stuck->line, stuck->column, timeline, value);
  } else if (stuck->by_line) {
    tide_error(r->errors, TIDE_DEADLOCK, stuck->line, stuck->column,
               "the host waits here for '%s' >= %llu, but line %u, which signals it, waits for "
               "what is submitted only after this line",
               label, value, stuck->by_line);
  } else {
    tide_error(r->errors, TIDE_DEADLOCK, stuck->line, stuck->column,
               "the host waits here for '%s' >= %llu, which is signalled only by what is "
               "submitted after this line",
               label, value);
  }
}

/* Reports the first wait of an operation above its timeline's last value. False: it has none. */
static bool report_held(struct reporter *p, struct positions *positions,
                        const struct tide_held *held) {
  for (uint32_t w = held->waits; w; w = p->r->values[w].next) {
    const struct tide_held_value *wait = &p->r->values[w];
    if (!is_never_reached(p, wait->timeline, wait->value)) continue;
    if (is_first(p, positions, held->line, held->column, wait->timeline))
      report_never(p, held->line, held->column, wait->timeline, wait->value);
    return true;
  }
  return false;
}

/* Reports waits of operations and of the host, in the order of the program. True if an operation
 * waits for a value that is never signalled. */
static bool report_waits(struct reporter *p) {
  const struct tide_dry_run *r = p->r;
  struct positions positions = {.count = 0};
  size_t stuck = 0;
  bool never = false;
  for (size_t i = 0; i < p->op_count; i++) {
    const struct tide_held *held = &r->held[p->ops[i].op];
    while (stuck < r->stuck_count && r->stuck[stuck].number < held->number)
      report_stuck(p, &positions, &r->stuck[stuck++]);
    never |= report_held(p, &positions, held);
  }
  while (stuck < r->stuck_count) report_stuck(p, &positions, &r->stuck[stuck++]);
  return never;
}

/* ---- cycles ------------------------------------------------------------------------------ */

enum edge_kind { EDGE_NONE, EDGE_WAIT, EDGE_QUEUE, EDGE_COLLECTIVE };

struct edge {
  enum edge_kind kind;
  uint32_t to;
  const struct tide_held_value *wait;
};

/* Returns the first operation in the queue of a member that has not arrived; 0: none. */
static uint32_t missing_member(const struct tide_dry_run *r, uint32_t collective) {
  const struct tide_plan_collective *plan = &r->plan->collectives[collective];
  for (size_t i = 0; i < plan->queue_count; i++) {
    uint32_t first = r->queues[plan->queues[i]].first;
    if (first && !(r->held[first].arrived && r->held[first].collective == collective)) return first;
  }
  return 0;
}

/* Returns the reason why an operation cannot proceed, and its blocker. */
static struct edge find_blocker(const struct reporter *p, uint32_t op) {
  const struct tide_dry_run *r = p->r;
  const struct tide_held *held = &r->held[op];
  uint32_t first = r->queues[held->queue].first;
  if (!held->apart && first != op) return (struct edge){EDGE_QUEUE, first, NULL};
  for (uint32_t w = held->waits; w; w = r->values[w].next) {
    const struct tide_held_value *wait = &r->values[w];
    if (wait->value <= r->timelines[wait->timeline].reached) continue;
    uint32_t collective = r->plan->timelines[wait->timeline].collective;
    uint32_t to = collective == TIDE_PLAN_NONE ? find_signaller(p, wait->timeline, wait->value)
                                               : missing_member(r, collective);
    return (struct edge){to ? EDGE_WAIT : EDGE_NONE, to, wait};
  }
  if (held->collective == TIDE_PLAN_NONE) return (struct edge){EDGE_NONE, 0, NULL};
  uint32_t to = missing_member(r, held->collective);
  return (struct edge){to ? EDGE_COLLECTIVE : EDGE_NONE, to, NULL};
}

static void describe_edge(const struct reporter *p, struct tide_text *text, uint32_t op,
                          const struct edge *edge) {
  const struct tide_dry_run *r = p->r;
  uint32_t line = r->held[op].line, to = r->held[edge->to].line;
  switch (edge->kind) {
    case EDGE_WAIT:
      tide_text_format(text, "line %u waits for '%s' >= %llu of line %u", line,
                       r->plan->timelines[edge->wait->timeline].label,
                       (unsigned long long)edge->wait->value, to);
      break;
    case EDGE_QUEUE:
      tide_text_format(text, "line %u stands behind line %u in queue '%s'", line, to,
                       r->plan->queues[r->held[op].queue].label);
      break;
    case EDGE_COLLECTIVE:
      tide_text_format(text, "line %u cannot start without line %u", line, to);
      break;
    case EDGE_NONE: break;
  }
}

/* Reports an operation that blocks itself. */
static void report_own(struct tide_dry_run *r, uint32_t op, const struct tide_held_value *wait) {
  const struct tide_held *held = &r->held[op];
  const struct tide_plan_timeline *t = &r->plan->timelines[wait->timeline];
  if (t->collective == TIDE_PLAN_NONE) {
    tide_error(r->errors, TIDE_DEADLOCK, held->line, held->column,
               "this operation waits for '%s' >= %llu, which only it signals itself", t->label,
               (unsigned long long)wait->value);
  } else {
    tide_error(r->errors, TIDE_DEADLOCK, held->line, held->column,
               "this operation waits for '%s' >= %llu, of which a part stands behind it in queue "
               "'%s'",
               t->label, (unsigned long long)wait->value, r->plan->queues[held->queue].label);
  }
}

/* Reports a cycle. `start` is its first operation in the program. */
static void report_cycle(struct reporter *p, uint32_t start) {
  char message[256];
  struct tide_text text;
  struct tide_dry_run *r = p->r;
  struct edge edge = find_blocker(p, start);
  size_t shown = 0;
  tide_text_init(&text, message, sizeof message);
  if (edge.to == start && edge.kind == EDGE_WAIT) {
    report_own(r, start, edge.wait);
    return;
  }
  for (uint32_t op = start;; op = edge.to) {
    edge = find_blocker(p, op);
    if (shown == SHOWN_MAX) {
      tide_text_format(&text, ", and so on back to line %u", r->held[start].line);
      break;
    }
    if (shown++) tide_text_format(&text, ", ");
    describe_edge(p, &text, op, &edge);
    if (edge.to == start) break;
  }
  tide_error(r->errors, TIDE_DEADLOCK, r->held[start].line, r->held[start].column,
             "the program is cyclic: %s", message);
}

/* Follows the blockers of the first held operation until one comes twice. */
static void find_cycle(struct reporter *p) {
  struct tide_dry_run *r = p->r;
  uint32_t op = p->ops[0].op, first;
  while (op && !r->held[op].visited) {
    r->held[op].visited = 1;
    op = find_blocker(p, op).to;
  }
  if (!op) return;
  first = op;
  for (uint32_t at = find_blocker(p, op).to; at != op; at = find_blocker(p, at).to) {
    if (r->held[at].number < r->held[first].number) first = at;
  }
  report_cycle(p, first);
}

bool tide_dry_run_finish(struct tide_dry_run *dry_run) {
  struct reporter p = {.r = dry_run};
  if (dry_run->errors->count == 0 && collect_held(&p)) {
    bool never = report_waits(&p);
    if (!never && p.op_count) find_cycle(&p);
  }
  free_entries(&p);
  return dry_run->errors->count == 0;
}
