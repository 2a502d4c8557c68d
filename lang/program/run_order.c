#include "program/run_order.h"
#include "base/memory.h"
#include "base/text.h"

struct kept {
  struct kept *next;
  struct tide_step step;
  void *token;
  size_t size; /* of this block, which holds what the step points to, too */
};

struct line {
  struct kept *first, **last;
};

struct tide_turns {
  const struct tide_plan_tables *tables;
  const struct tide_allocator *allocator;
  struct tide_turns_client client;
  uint64_t *promised;  /* by timeline: the highest value that somebody will signal */
  struct line *lines;  /* by queue */
  uint64_t *instances; /* by collective: the last that has entered */
  size_t kept;
};

/* ---- keeping a step ------------------------------------------------------------ */

static void *put(char **at, const void *from, size_t size) {
  char *to = *at;
  if (size) memcpy(to, from, size);
  *at += size;
  return to;
}

static struct kept *copy(struct tide_turns *turns, const struct tide_step *step) {
  size_t arguments = step->body->param_count * sizeof *step->arguments;
  size_t waits = step->wait_count * sizeof *step->waits;
  size_t signals = step->signal_count * sizeof *step->signals;
  size_t tags = step->tag_count * sizeof *step->tags;
  size_t label = step->label ? strlen(step->label) + 1 : 0;
  size_t size = sizeof(struct kept) + arguments + waits + signals + tags + label;
  struct kept *kept = tide_alloc(turns->allocator, 1, size);
  if (!kept) return NULL;
  char *at = (char *)(kept + 1);
  kept->size = size;
  kept->step = *step;
  kept->step.arguments = put(&at, step->arguments, arguments);
  kept->step.waits = put(&at, step->waits, waits);
  kept->step.signals = put(&at, step->signals, signals);
  kept->step.tags = put(&at, step->tags, tags);
  kept->step.take_count = kept->step.piece_count = 0; /* nobody asks */
  if (label) kept->step.label = put(&at, step->label, label);
  return kept;
}

static void drop(struct tide_turns *turns, struct kept *kept) {
  tide_free(turns->allocator, kept, 1, kept->size);
}

static enum tide_status keep(struct tide_turns *turns, const struct tide_step *step) {
  struct kept *kept = copy(turns, step);
  if (!kept) return TIDE_NOMEM;
  if (turns->client.keep) kept->token = turns->client.keep(turns->client.self, &kept->step);
  if (turns->client.keep && !kept->token) {
    drop(turns, kept);
    return TIDE_NOMEM;
  }
  struct line *line = &turns->lines[step->queue];
  *line->last = kept;
  line->last = &kept->next;
  turns->kept++;
  return TIDE_OK;
}

/* ---- whose turn it is ------------------------------------------------------------ */

static bool promised(const struct tide_turns *turns, const struct tide_step *step) {
  for (size_t i = 0; i < step->wait_count; i++)
    if (step->waits[i].value > turns->promised[step->waits[i].timeline]) return false;
  for (size_t i = 0; i < step->tag_count; i++) /* what it takes comes first here */
    if (step->tags[i].value > turns->promised[step->tags[i].timeline]) return false;
  return true;
}

static void promise(struct tide_turns *turns, const struct tide_step *step) {
  for (size_t i = 0; i < step->signal_count; i++) {
    uint64_t *value = &turns->promised[step->signals[i].timeline];
    if (step->signals[i].value > *value) *value = step->signals[i].value;
  }
}

static bool firm(const struct tide_step *step) { return !(step->flags & TIDE_MAY_BE_PASSED); }

static bool blocked(const struct line *line) {
  for (const struct kept *kept = line->first; kept; kept = kept->next)
    if (firm(&kept->step) || kept->step.kind == TIDE_STEP_PART) return true;
  return false;
}

static enum tide_status enter(struct tide_turns *turns, const struct tide_step *step, void *token,
                              struct tide_diag *diag) {
  enum tide_status status = turns->client.enter(turns->client.self, step, token, diag);
  promise(turns, step);
  return status;
}

/* Takes a kept step out of its line and enters it. */
static enum tide_status release(struct tide_turns *turns, struct line *line, struct kept **at,
                                struct tide_diag *diag) {
  struct kept *kept = *at;
  *at = kept->next;
  if (line->last == &kept->next) line->last = at;
  turns->kept--;
  enum tide_status status = enter(turns, &kept->step, kept->token, diag);
  drop(turns, kept);
  return status;
}

/* The first in its line that may not be passed, if it is the next part of this collective. */
static struct kept **part_at_head(struct tide_turns *turns, uint32_t collective, size_t member) {
  struct line *line = &turns->lines[turns->tables->collectives[collective].queues[member]];
  for (struct kept **at = &line->first; *at; at = &(*at)->next) {
    const struct tide_step *step = &(*at)->step;
    if (step->kind != TIDE_STEP_PART && !firm(step)) continue;
    bool ours = step->kind == TIDE_STEP_PART && step->collective == collective &&
                step->instance == turns->instances[collective] + 1 && promised(turns, step);
    return ours ? at : NULL;
  }
  return NULL;
}

static enum tide_status try_collective(struct tide_turns *turns, uint32_t collective, bool *out_any,
                                       struct tide_diag *diag) {
  const struct tide_plan_collective *table = &turns->tables->collectives[collective];
  enum tide_status status = TIDE_OK;
  for (size_t i = 0; i < table->queue_count; i++)
    if (!part_at_head(turns, collective, i)) return TIDE_OK;
  for (size_t i = 0; i < table->queue_count && status == TIDE_OK; i++)
    status =
        release(turns, &turns->lines[table->queues[i]], part_at_head(turns, collective, i), diag);
  uint64_t instance = ++turns->instances[collective];
  if (table->timeline != TIDE_PLAN_NONE) turns->promised[table->timeline] = instance;
  *out_any = true;
  return status;
}

static enum tide_status try_line(struct tide_turns *turns, struct line *line, bool *out_any,
                                 struct tide_diag *diag) {
  struct kept **at = &line->first;
  while (*at) {
    const struct tide_step *step = &(*at)->step;
    if (step->kind == TIDE_STEP_PART) return TIDE_OK;
    if (promised(turns, step)) {
      enum tide_status status = release(turns, line, at, diag);
      if (status != TIDE_OK) return status;
      *out_any = true;
      continue;
    }
    if (firm(step)) return TIDE_OK;
    at = &(*at)->next;
  }
  return TIDE_OK;
}

/* What has entered may have let others go, and so on. */
static enum tide_status settle(struct tide_turns *turns, struct tide_diag *diag) {
  enum tide_status status = TIDE_OK;
  bool any = turns->kept > 0;
  while (any && status == TIDE_OK) {
    any = false;
    for (size_t i = 0; i < turns->tables->queue_count && status == TIDE_OK; i++)
      status = try_line(turns, &turns->lines[i], &any, diag);
    for (size_t i = 0; i < turns->tables->collective_count && status == TIDE_OK; i++)
      status = try_collective(turns, (uint32_t)i, &any, diag);
  }
  return status;
}

enum tide_status tide_turns_step(struct tide_turns *turns, const struct tide_step *step,
                                 struct tide_diag *diag) {
  enum tide_status status = TIDE_OK;
  if (step->kind == TIDE_STEP_HOST_SIGNAL || step->kind == TIDE_STEP_HOST_EXTERNAL)
    promise(turns, step);
  else if (step->kind == TIDE_STEP_PART) status = keep(turns, step);
  else if (step->kind != TIDE_STEP_OPERATION) return TIDE_OK;
  else if (promised(turns, step) && !blocked(&turns->lines[step->queue]))
    status = enter(turns, step, NULL, diag);
  else status = keep(turns, step);
  if (status == TIDE_NOMEM) return tide_diag_set(diag, status, "out of memory");
  return status == TIDE_OK ? settle(turns, diag) : status;
}

enum tide_status tide_turns_finish(const struct tide_turns *turns, struct tide_diag *diag) {
  for (size_t i = 0; i < turns->tables->queue_count; i++) {
    const struct kept *kept = turns->lines[i].first;
    if (kept)
      return tide_diag_at(diag, TIDE_DEADLOCK, kept->step.line, kept->step.column,
                          "this operation waits for ever");
  }
  return TIDE_OK;
}

/* ---- making ------------------------------------------------------------------------- */

enum tide_status tide_turns_create(const struct tide_plan_tables *tables,
                                   const struct tide_allocator *allocator,
                                   const struct tide_turns_client *client,
                                   struct tide_turns **out_turns) {
  struct tide_turns *turns = tide_alloc(allocator, 1, sizeof *turns);
  if (!turns) return TIDE_NOMEM;
  turns->tables = tables;
  turns->allocator = allocator;
  turns->client = *client;
  turns->promised = tide_alloc(allocator, tables->timeline_count, sizeof *turns->promised);
  turns->lines = tide_alloc(allocator, tables->queue_count, sizeof *turns->lines);
  turns->instances = tide_alloc(allocator, tables->collective_count, sizeof *turns->instances);
  if (!turns->promised || !turns->lines || !turns->instances) {
    tide_turns_destroy(turns);
    return TIDE_NOMEM;
  }
  for (size_t i = 0; i < tables->queue_count; i++) turns->lines[i].last = &turns->lines[i].first;
  for (size_t i = 0; i < tables->timeline_count; i++)
    turns->promised[i] = tables->timelines[i].initial;
  *out_turns = turns;
  return TIDE_OK;
}

void tide_turns_destroy(struct tide_turns *turns) {
  if (!turns) return;
  for (size_t i = 0; turns->lines && i < turns->tables->queue_count; i++) {
    while (turns->lines[i].first) {
      struct kept *kept = turns->lines[i].first;
      turns->lines[i].first = kept->next;
      if (turns->client.forget) turns->client.forget(turns->client.self, &kept->step, kept->token);
      drop(turns, kept);
    }
  }
  tide_free(turns->allocator, turns->promised, turns->tables->timeline_count,
            sizeof *turns->promised);
  tide_free(turns->allocator, turns->lines, turns->tables->queue_count, sizeof *turns->lines);
  tide_free(turns->allocator, turns->instances, turns->tables->collective_count,
            sizeof *turns->instances);
  tide_free(turns->allocator, turns, 1, sizeof *turns);
}
