#include "program/run_order.h"
#include "base/alloc.h"
#include "base/text.h"

struct kept {
  struct kept *next;
  struct tide_step step;
  void *token;
  size_t size; /* bytes of this block, which includes the arrays of the step */
};

struct line {
  struct kept *first, **last;
};

struct tide_run_order {
  const struct tide_plan_tables *tables;
  const struct tide_allocator *allocator;
  struct tide_run_order_client client;
  uint64_t *promised;  /* by timeline: the highest value that an entered step signals */
  struct line *lines;  /* by queue */
  uint64_t *instances; /* by collective: the last that has entered */
  size_t kept;
};

/* ---- keeping a step ------------------------------------------------------------ */

static void *put_bytes(char **at, const void *from, size_t size) {
  char *to = *at;
  if (size) memcpy(to, from, size);
  *at += size;
  return to;
}

static struct kept *copy_step(struct tide_run_order *order, const struct tide_step *step) {
  size_t arguments = step->body->param_count * sizeof *step->arguments;
  size_t waits = step->wait_count * sizeof *step->waits;
  size_t signals = step->signal_count * sizeof *step->signals;
  size_t tags = step->tag_count * sizeof *step->tags;
  size_t label = step->label ? strlen(step->label) + 1 : 0;
  size_t size = sizeof(struct kept) + arguments + waits + signals + tags + label;
  struct kept *kept = tide_alloc(order->allocator, 1, size);
  if (!kept) return NULL;
  char *at = (char *)(kept + 1);
  kept->size = size;
  kept->step = *step;
  kept->step.arguments = put_bytes(&at, step->arguments, arguments);
  kept->step.waits = put_bytes(&at, step->waits, waits);
  kept->step.signals = put_bytes(&at, step->signals, signals);
  kept->step.tags = put_bytes(&at, step->tags, tags);
  kept->step.take_count = kept->step.piece_count = 0; /* not copied: no client reads them */
  if (label) kept->step.label = put_bytes(&at, step->label, label);
  return kept;
}

static void drop_step(struct tide_run_order *order, struct kept *kept) {
  tide_free(order->allocator, kept, 1, kept->size);
}

static enum tide_status keep_step(struct tide_run_order *order, const struct tide_step *step) {
  struct kept *kept = copy_step(order, step);
  if (!kept) return TIDE_NOMEM;
  if (order->client.keep) kept->token = order->client.keep(order->client.self, &kept->step);
  if (order->client.keep && !kept->token) {
    drop_step(order, kept);
    return TIDE_NOMEM;
  }
  struct line *line = &order->lines[step->queue];
  *line->last = kept;
  line->last = &kept->next;
  order->kept++;
  return TIDE_OK;
}

/* ---- order ----------------------------------------------------------------------- */

static bool has_satisfied_waits(const struct tide_run_order *order, const struct tide_step *step) {
  for (size_t i = 0; i < step->wait_count; i++)
    if (step->waits[i].value > order->promised[step->waits[i].timeline]) return false;
  for (size_t i = 0; i < step->tag_count; i++) /* taken data is complete before the step, too */
    if (step->tags[i].value > order->promised[step->tags[i].timeline]) return false;
  return true;
}

static void record_signals(struct tide_run_order *order, const struct tide_step *step) {
  for (size_t i = 0; i < step->signal_count; i++) {
    uint64_t *value = &order->promised[step->signals[i].timeline];
    if (step->signals[i].value > *value) *value = step->signals[i].value;
  }
}

static bool is_firm(const struct tide_step *step) { return !(step->flags & TIDE_MAY_BE_PASSED); }

static bool is_blocked(const struct line *line) {
  for (const struct kept *kept = line->first; kept; kept = kept->next)
    if (is_firm(&kept->step) || kept->step.kind == TIDE_STEP_PART) return true;
  return false;
}

static enum tide_status enter_step(struct tide_run_order *order, const struct tide_step *step,
                                   void *token, struct tide_diag *diag) {
  enum tide_status status = order->client.enter(order->client.self, step, token, diag);
  record_signals(order, step);
  return status;
}

/* Removes a kept step from its line and enters it. */
static enum tide_status release_step(struct tide_run_order *order, struct line *line,
                                     struct kept **at, struct tide_diag *diag) {
  struct kept *kept = *at;
  *at = kept->next;
  if (line->last == &kept->next) line->last = at;
  order->kept--;
  enum tide_status status = enter_step(order, &kept->step, kept->token, diag);
  drop_step(order, kept);
  return status;
}

/* Returns the first step in a member's line that may not be passed, if it is the next part of this
 * collective and its waits are satisfied; else NULL. */
static struct kept **part_at_head(struct tide_run_order *order, uint32_t collective,
                                  size_t member) {
  struct line *line = &order->lines[order->tables->collectives[collective].queues[member]];
  for (struct kept **at = &line->first; *at; at = &(*at)->next) {
    const struct tide_step *step = &(*at)->step;
    if (step->kind != TIDE_STEP_PART && !is_firm(step)) continue;
    bool ours = step->kind == TIDE_STEP_PART && step->collective == collective &&
                step->instance == order->instances[collective] + 1 &&
                has_satisfied_waits(order, step);
    return ours ? at : NULL;
  }
  return NULL;
}

static enum tide_status try_collective(struct tide_run_order *order, uint32_t collective,
                                       bool *out_any, struct tide_diag *diag) {
  const struct tide_plan_collective *table = &order->tables->collectives[collective];
  enum tide_status status = TIDE_OK;
  for (size_t i = 0; i < table->queue_count; i++)
    if (!part_at_head(order, collective, i)) return TIDE_OK;
  for (size_t i = 0; i < table->queue_count && status == TIDE_OK; i++)
    status = release_step(order, &order->lines[table->queues[i]],
                          part_at_head(order, collective, i), diag);
  uint64_t instance = ++order->instances[collective];
  if (table->timeline != TIDE_PLAN_NONE) order->promised[table->timeline] = instance;
  *out_any = true;
  return status;
}

static enum tide_status try_line(struct tide_run_order *order, struct line *line, bool *out_any,
                                 struct tide_diag *diag) {
  struct kept **at = &line->first;
  while (*at) {
    const struct tide_step *step = &(*at)->step;
    if (step->kind == TIDE_STEP_PART) return TIDE_OK;
    if (has_satisfied_waits(order, step)) {
      enum tide_status status = release_step(order, line, at, diag);
      if (status != TIDE_OK) return status;
      *out_any = true;
      continue;
    }
    if (is_firm(step)) return TIDE_OK;
    at = &(*at)->next;
  }
  return TIDE_OK;
}

/* Enters the kept steps that entered steps have unblocked, until no more are. */
static enum tide_status release_unblocked(struct tide_run_order *order, struct tide_diag *diag) {
  enum tide_status status = TIDE_OK;
  bool any = order->kept > 0;
  while (any && status == TIDE_OK) {
    any = false;
    for (size_t i = 0; i < order->tables->queue_count && status == TIDE_OK; i++)
      status = try_line(order, &order->lines[i], &any, diag);
    for (size_t i = 0; i < order->tables->collective_count && status == TIDE_OK; i++)
      status = try_collective(order, (uint32_t)i, &any, diag);
  }
  return status;
}

enum tide_status tide_run_order_step(struct tide_run_order *order, const struct tide_step *step,
                                     struct tide_diag *diag) {
  enum tide_status status = TIDE_OK;
  if (step->kind == TIDE_STEP_HOST_SIGNAL || step->kind == TIDE_STEP_HOST_EXTERNAL)
    record_signals(order, step);
  else if (step->kind == TIDE_STEP_PART) status = keep_step(order, step);
  else if (step->kind != TIDE_STEP_OPERATION) return TIDE_OK;
  else if (has_satisfied_waits(order, step) && !is_blocked(&order->lines[step->queue]))
    status = enter_step(order, step, NULL, diag);
  else status = keep_step(order, step);
  if (status == TIDE_NOMEM) return tide_diag_set(diag, status, "out of memory");
  return status == TIDE_OK ? release_unblocked(order, diag) : status;
}

enum tide_status tide_run_order_finish(const struct tide_run_order *order, struct tide_diag *diag) {
  for (size_t i = 0; i < order->tables->queue_count; i++) {
    const struct kept *kept = order->lines[i].first;
    if (kept)
      return tide_diag_at(diag, TIDE_DEADLOCK, kept->step.line, kept->step.column,
                          "this operation waits for ever");
  }
  return TIDE_OK;
}

/* ---- making ------------------------------------------------------------------------- */

enum tide_status tide_run_order_create(const struct tide_plan_tables *tables,
                                       const struct tide_allocator *allocator,
                                       const struct tide_run_order_client *client,
                                       struct tide_run_order **out_order) {
  struct tide_run_order *order = tide_alloc(allocator, 1, sizeof *order);
  if (!order) return TIDE_NOMEM;
  order->tables = tables;
  order->allocator = allocator;
  order->client = *client;
  order->promised = tide_alloc(allocator, tables->timeline_count, sizeof *order->promised);
  order->lines = tide_alloc(allocator, tables->queue_count, sizeof *order->lines);
  order->instances = tide_alloc(allocator, tables->collective_count, sizeof *order->instances);
  if (!order->promised || !order->lines || !order->instances) {
    tide_run_order_destroy(order);
    return TIDE_NOMEM;
  }
  for (size_t i = 0; i < tables->queue_count; i++) order->lines[i].last = &order->lines[i].first;
  for (size_t i = 0; i < tables->timeline_count; i++)
    order->promised[i] = tables->timelines[i].initial;
  *out_order = order;
  return TIDE_OK;
}

void tide_run_order_destroy(struct tide_run_order *order) {
  if (!order) return;
  for (size_t i = 0; order->lines && i < order->tables->queue_count; i++) {
    while (order->lines[i].first) {
      struct kept *kept = order->lines[i].first;
      order->lines[i].first = kept->next;
      if (order->client.forget) order->client.forget(order->client.self, &kept->step, kept->token);
      drop_step(order, kept);
    }
  }
  tide_free(order->allocator, order->promised, order->tables->timeline_count,
            sizeof *order->promised);
  tide_free(order->allocator, order->lines, order->tables->queue_count, sizeof *order->lines);
  tide_free(order->allocator, order->instances, order->tables->collective_count,
            sizeof *order->instances);
  tide_free(order->allocator, order, 1, sizeof *order);
}
