/* Collects the findings of check mode, and tells them by statements and iterations. */
#include "program/findings.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/text.h"

#define CLAUSES_MOST 8
#define FINDINGS_MOST 32768u /* more are dropped: they say little that is new */

/* ---- collecting ------------------------------------------------------------------- */

void tide_run_note_finding(void *self, const struct tide_diag *diag) {
  struct tide_run *run = self;
  struct tide_run_findings *findings = &run->findings;
  const struct tide_finding *finding = (const void *)diag;
  struct tide_noted noted = {.finding = *finding};
  bool known = finding->kind == TIDE_FINDING_CONFLICT || finding->kind == TIDE_FINDING_UNWRITTEN;
  known = known && tide_run_axis_queue(run, finding->later.axis, &noted.queues[0]) &&
          (finding->kind == TIDE_FINDING_UNWRITTEN ||
           tide_run_axis_queue(run, finding->earlier.axis, &noted.queues[1]));
  if (known) {
    tide_lock_take(&findings->lock, run->params.platform);
    bool full = findings->count == FINDINGS_MOST;
    known = full || tide_array_reserve_unset(run->allocator, &findings->list, &findings->capacity,
                                             findings->count + 1, sizeof *findings->list);
    if (known && !full) findings->list[findings->count++] = noted;
    tide_lock_give(&findings->lock);
  }
  if (!known && run->params.finding) run->params.finding(run->params.finding_user, diag);
}

void tide_run_free_findings(struct tide_run *run) {
  struct tide_run_findings *findings = &run->findings;
  tide_free(run->allocator, findings->list, findings->capacity, sizeof *findings->list);
}

/* ---- telling ------------------------------------------------------------------------ */

/* The findings about two statements: `first` stands first in the program's order. */
struct group {
  enum tide_finding_kind kind;
  uint32_t statements[2]; /* second, first; UNWRITTEN: the reader, twice */
  size_t example;         /* a finding, with the earliest second operation */
  uint64_t count;
  uint64_t counted[2]; /* the steps that were counted last */
  size_t sample_count;
  bool lacks_signal;
  struct tide_missing_wait *clauses;
  size_t clause_count;
};

struct telling {
  struct tide_run *run;
  struct tide_plan *plan;
  struct tide_noted *list;
  size_t count;
  struct tide_site *sites; /* by hash of queue and sequence */
  size_t site_capacity;
  struct tide_site **unsignalled; /* by queue */
  struct group *groups;
  size_t group_count, group_capacity;
  struct tide_wait_sample *samples;
  uint64_t *reached;
  int64_t *values;
};

/* Returns the site of an operation, or the free slot for it. */
static struct tide_site *site_of(const struct telling *t, uint32_t queue, uint64_t sequence) {
  uint64_t at = (sequence * 0x9e3779b97f4a7c15u + queue) * 0x9e3779b97f4a7c15u >> 32;
  for (;; at++) {
    struct tide_site *site = &t->sites[at & (t->site_capacity - 1)];
    if (!site->sequence || (site->queue == queue && site->sequence == sequence)) return site;
  }
}

static const struct tide_finding_operation *operation_of(const struct tide_noted *noted, int i) {
  return i ? &noted->finding.earlier : &noted->finding.later;
}

static void add_sites(struct telling *t) {
  for (size_t i = 0; i < t->count; i++)
    for (int k = 0; k < 2; k++) {
      uint64_t sequence = operation_of(&t->list[i], k)->sequence;
      if (!sequence) continue;
      struct tide_site *site = site_of(t, t->list[i].queues[k], sequence);
      site->queue = t->list[i].queues[k];
      site->sequence = sequence;
    }
}

static void fill_site(struct telling *t, const struct tide_step *step, struct tide_site *site) {
  site->found = true;
  site->waits = step->wait_count > 0;
  site->passable = step->flags & TIDE_MAY_BE_PASSED;
  site->step = step->number;
  site->statement = t->plan->cursor.statement;
  site->line = step->line;
  site->column = step->column;
  site->name_count = tide_plan_names(t->plan, step, site->names, TIDE_SITE_NAMES);
  for (size_t i = 0; i < site->name_count; i++)
    site->values[i] = t->plan->values[site->names[i].symbol];
  struct tide_text text;
  tide_text_init(&text, site->label, sizeof site->label);
  tide_text_format(&text, "%s", step->label ? step->label : step->body->class_.name);
  site->signal.timeline = TIDE_PLAN_NONE;
  site->next = t->unsignalled[step->queue];
  t->unsignalled[step->queue] = site;
}

/* Finds a signal of the step that the text can name. */
static bool signal_of(const struct telling *t, const struct tide_step *step,
                      struct tide_step_value *out_signal) {
  const struct tide_plan_tables *tables = t->run->tables;
  for (size_t i = 0; i < step->signal_count; i++) {
    *out_signal = step->signals[i];
    if (out_signal->timeline != tables->queues[step->queue].takes) return true;
  }
  if (step->kind != TIDE_STEP_PART) return false;
  *out_signal =
      (struct tide_step_value){tables->collectives[step->collective].timeline, step->instance};
  return out_signal->timeline != TIDE_PLAN_NONE;
}

/* Gives the step's signal to the sites before it in its queue. One that may be passed may also come
 * later, and needs a signal of its own. */
static void give_signal(struct telling *t, const struct tide_step *step) {
  struct tide_step_value signal;
  if (!signal_of(t, step, &signal)) return;
  for (struct tide_site **link = &t->unsignalled[step->queue]; *link;) {
    struct tide_site *site = *link;
    if (site->passable && site->step != step->number) {
      link = &site->next;
      continue;
    }
    site->signal = signal;
    site->signal_step = step->number;
    *link = site->next;
  }
}

static bool is_operation(const struct tide_step *step) {
  return step->kind == TIDE_STEP_OPERATION || step->kind == TIDE_STEP_PART;
}

static bool next_step(struct telling *t, struct tide_step *out_step) {
  return tide_plan_next(t->plan, out_step, NULL) == TIDE_OK && out_step->kind != TIDE_STEP_END;
}

/* The first walk: fills in the sites. */
static bool find_sites(struct telling *t) {
  size_t queues = t->run->tables->queue_count;
  uint64_t *submitted = tide_alloc(t->run->allocator, queues, sizeof *submitted);
  struct tide_step step;
  tide_plan_rewind(t->plan);
  while (submitted && next_step(t, &step)) {
    if (!is_operation(&step)) continue;
    struct tide_site *site = site_of(t, step.queue, ++submitted[step.queue]);
    if (site->sequence) fill_site(t, &step, site);
    give_signal(t, &step);
  }
  tide_free(t->run->allocator, submitted, queues, sizeof *submitted);
  return submitted != NULL;
}

/* ---- groups ------------------------------------------------------------------------- */

/* Returns the two sites of a finding in the order of the program, the second one first. */
static void sites_of(const struct telling *t, size_t index, const struct tide_site *out_sites[2],
                     bool out_writes[2]) {
  const struct tide_noted *noted = &t->list[index];
  for (int k = 0; k < 2; k++) {
    const struct tide_finding_operation *operation = operation_of(noted, k);
    out_sites[k] =
        operation->sequence ? site_of(t, noted->queues[k], operation->sequence) : out_sites[0];
    out_writes[k] = operation->writes;
  }
  if (out_sites[0]->step >= out_sites[1]->step) return;
  const struct tide_site *site = out_sites[0];
  bool writes = out_writes[0];
  out_sites[0] = out_sites[1];
  out_writes[0] = out_writes[1];
  out_sites[1] = site;
  out_writes[1] = writes;
}

static struct group *group_of(struct telling *t, enum tide_finding_kind kind,
                              const struct tide_site *const sites[2]) {
  for (size_t i = t->group_count; i-- > 0;) {
    struct group *group = &t->groups[i];
    if (group->kind == kind && group->statements[0] == sites[0]->statement &&
        group->statements[1] == sites[1]->statement)
      return group;
  }
  if (!tide_array_reserve(t->run->allocator, &t->groups, &t->group_capacity, t->group_count + 1,
                          sizeof *t->groups))
    return NULL;
  struct group *group = &t->groups[t->group_count++];
  *group = (struct group){.kind = kind,
                          .statements = {sites[0]->statement, sites[1]->statement},
                          .counted = {UINT64_MAX, UINT64_MAX}};
  return group;
}

static bool make_groups(struct telling *t) {
  for (size_t i = 0; i < t->count; i++) {
    const struct tide_site *sites[2], *first[2];
    bool writes[2];
    sites_of(t, i, sites, writes);
    struct group *group = group_of(t, t->list[i].finding.kind, sites);
    if (!group) return false;
    t->list[i].group = (size_t)(group - t->groups);
    bool again = group->counted[0] == sites[0]->step && group->counted[1] == sites[1]->step;
    if (!again) group->count++;
    group->counted[0] = sites[0]->step;
    group->counted[1] = sites[1]->step;
    sites_of(t, group->example, first, writes);
    if (group->count == 1 || sites[0]->step < first[0]->step) group->example = i;
    if (sites[1]->signal.timeline == TIDE_PLAN_NONE || sites[1]->signal_step >= sites[0]->step)
      group->lacks_signal = true;
  }
  return true;
}

/* ---- missing waits --------------------------------------------------------------------- */

static size_t collect_samples(struct telling *t, size_t group) {
  size_t count = 0;
  for (size_t i = 0; i < t->count; i++) {
    const struct tide_site *sites[2];
    bool writes[2];
    if (t->list[i].group != group) continue;
    sites_of(t, i, sites, writes);
    t->samples[count++] = (struct tide_wait_sample){sites[0], sites[1]->signal};
  }
  return count;
}

/* Guesses one clause for all samples; else one for each timeline. */
static void guess_clauses(struct telling *t, struct group *group, size_t count) {
  size_t done = 0;
  bool one = tide_missing_wait_guess(t->plan, t->samples, count, t->values, group->clauses);
  if (one) group->clause_count = 1;
  while (!one && done < count) {
    uint32_t timeline = t->samples[done].needed.timeline;
    size_t end = done;
    for (size_t i = done; i < count; i++) {
      struct tide_wait_sample sample = t->samples[i];
      if (sample.needed.timeline != timeline) continue;
      t->samples[i] = t->samples[end];
      t->samples[end++] = sample;
    }
    if (group->clause_count == CLAUSES_MOST ||
        !tide_missing_wait_guess(t->plan, t->samples + done, end - done, t->values,
                                 &group->clauses[group->clause_count])) {
      group->clause_count = 0;
      return;
    }
    group->clause_count++;
    done = end;
  }
}

static bool guess_waits(struct telling *t) {
  for (size_t i = 0; i < t->group_count; i++) {
    struct group *group = &t->groups[i];
    if (group->kind != TIDE_FINDING_CONFLICT || group->lacks_signal) continue;
    group->clauses = tide_alloc(t->run->allocator, CLAUSES_MOST, sizeof *group->clauses);
    if (!group->clauses) return false;
    guess_clauses(t, group, collect_samples(t, i));
  }
  return true;
}

static void raise_reached(struct telling *t, const struct tide_step *step) {
  for (size_t i = 0; i < step->signal_count; i++)
    t->reached[step->signals[i].timeline] = step->signals[i].value;
  if (step->kind != TIDE_STEP_PART) return;
  const struct tide_plan_collective *collective = &t->run->tables->collectives[step->collective];
  if (step->member + 1 == collective->queue_count && collective->timeline != TIDE_PLAN_NONE)
    t->reached[collective->timeline] = step->instance;
}

/* The second walk: refutes guesses. */
static void try_waits(struct telling *t) {
  const struct tide_plan_tables *tables = t->run->tables;
  struct tide_step step;
  for (size_t i = 0; i < tables->timeline_count; i++) t->reached[i] = tables->timelines[i].initial;
  tide_plan_rewind(t->plan);
  while (next_step(t, &step)) {
    for (size_t i = 0; i < t->group_count && is_operation(&step); i++) {
      struct group *group = &t->groups[i];
      if (group->statements[0] != t->plan->cursor.statement) continue;
      for (size_t k = 0; k < group->clause_count; k++)
        tide_missing_wait_try(t->plan, t->reached, &group->clauses[k]);
    }
    raise_reached(t, &step);
  }
}

/* ---- texts ----------------------------------------------------------------------------- */

/* Appends "(i = 3, j = 0)". */
static void write_iteration(const struct telling *t, const struct tide_site *site,
                            struct tide_text *text) {
  bool any = false;
  for (size_t i = site->name_count; i-- > 0;) {
    if (!site->names[i].counts) continue;
    tide_text_format(text, "%s%s = %lld", any ? ", " : " (",
                     t->plan->program->symbols[site->names[i].symbol].text,
                     (long long)site->values[i]);
    any = true;
  }
  if (any) tide_text_format(text, ")");
}

static void write_count(const struct group *group, struct tide_text *text) {
  if (group->count > 1)
    tide_text_format(text, " (%lu times in this run)", (unsigned long)group->count);
}

static void write_conflict(const struct telling *t, const struct group *group,
                           const struct tide_site *const sites[2], const bool writes[2],
                           struct tide_text *text) {
  const struct tide_plan_queue *queues = t->run->tables->queues;
  tide_text_format(text, "operation '%s'", sites[0]->label);
  write_iteration(t, sites[0], text);
  tide_text_format(text, " of queue '%s' %s buffer '%s', which operation '%s' of %u:%u",
                   queues[sites[0]->queue].label, writes[0] ? "writes" : "reads",
                   t->list[group->example].finding.buffer, sites[1]->label, sites[1]->line,
                   sites[1]->column);
  write_iteration(t, sites[1], text);
  tide_text_format(text, " of queue '%s' %s, and nothing orders them",
                   queues[sites[1]->queue].label, writes[1] ? "writes" : "reads");
  write_count(group, text);
}

static void write_unwritten(const struct telling *t, const struct group *group,
                            const struct tide_site *site, struct tide_text *text) {
  const struct tide_finding *finding = &t->list[group->example].finding;
  tide_text_format(text, "operation '%s'", site->label);
  write_iteration(t, site, text);
  tide_text_format(text, " of queue '%s' reads buffer '%s', of which nothing has written ",
                   t->run->tables->queues[site->queue].label, finding->buffer);
  tide_text_format(text, "the %lu bytes from %lu on", (unsigned long)finding->size,
                   (unsigned long)finding->offset);
  write_count(group, text);
}

static void write_advice(const struct telling *t, const struct group *group,
                         const struct tide_site *const sites[2], struct tide_text *text) {
  if (group->lacks_signal) {
    tide_text_format(text,
                     "no signal follows operation '%s' in queue '%s' before that: add a signal "
                     "to line %u, and a wait for it to line %u",
                     sites[1]->label, t->run->tables->queues[sites[1]->queue].label, sites[1]->line,
                     sites[0]->line);
    return;
  }
  size_t length = text->length;
  bool all = group->clause_count > 0;
  tide_text_format(text, "add to %sline %u: %s", sites[0]->waits ? "the wait of " : "",
                   sites[0]->line, sites[0]->waits ? "" : "wait ");
  for (size_t i = 0; i < group->clause_count && all; i++) {
    if (i) tide_text_format(text, ", ");
    all = tide_missing_wait_print(t->plan, &group->clauses[i], text);
  }
  if (all && !tide_text_cut(text)) return;
  text->length = length;
  tide_text_format(text, "add a wait to line %u, here for %s >= %lu", sites[0]->line,
                   t->run->tables->timelines[sites[1]->signal.timeline].label,
                   (unsigned long)sites[1]->signal.value);
}

static void tell_group(const struct telling *t, const struct group *group) {
  const struct tide_site *sites[2];
  bool writes[2];
  struct tide_finding finding = t->list[group->example].finding;
  struct tide_text text;
  sites_of(t, group->example, sites, writes);
  finding.count = group->count;
  finding.diag.line = sites[0]->line;
  finding.diag.column = sites[0]->column;
  tide_text_init(&text, finding.diag.text, sizeof finding.diag.text);
  if (group->kind == TIDE_FINDING_CONFLICT) write_conflict(t, group, sites, writes, &text);
  else write_unwritten(t, group, sites[0], &text);
  tide_text_init(&text, finding.advice, sizeof finding.advice);
  if (group->kind == TIDE_FINDING_CONFLICT) write_advice(t, group, sites, &text);
  if (t->run->params.finding) t->run->params.finding(t->run->params.finding_user, &finding.diag);
}

/* Tells the groups in the order of their second operations. */
static void tell_groups(struct telling *t) {
  for (size_t told = 0; told < t->group_count; told++) {
    size_t next = told;
    const struct tide_site *best[2], *sites[2];
    bool writes[2];
    for (size_t i = told; i < t->group_count; i++) {
      sites_of(t, t->groups[next].example, best, writes);
      sites_of(t, t->groups[i].example, sites, writes);
      if (sites[0]->step < best[0]->step) next = i;
    }
    struct group group = t->groups[next];
    t->groups[next] = t->groups[told];
    t->groups[told] = group;
    tell_group(t, &group);
  }
}

static bool make_tables(struct telling *t) {
  const struct tide_allocator *a = t->run->allocator;
  const struct tide_plan_tables *tables = t->run->tables;
  t->site_capacity = 16;
  while (t->site_capacity < 4 * t->count) t->site_capacity *= 2;
  t->sites = tide_alloc(a, t->site_capacity, sizeof *t->sites);
  t->unsignalled = tide_alloc(a, tables->queue_count, sizeof(void *));
  t->samples = tide_alloc(a, t->count, sizeof *t->samples);
  t->reached = tide_alloc(a, tables->timeline_count + 1, sizeof *t->reached);
  t->values = tide_alloc(a, t->plan->program->symbol_count, sizeof *t->values);
  return t->sites && t->unsignalled && t->samples && t->reached && t->values;
}

static void free_tables(struct telling *t) {
  const struct tide_allocator *a = t->run->allocator;
  const struct tide_plan_tables *tables = t->run->tables;
  for (size_t i = 0; i < t->group_count; i++)
    tide_free(a, t->groups[i].clauses, CLAUSES_MOST, sizeof *t->groups[i].clauses);
  tide_free(a, t->groups, t->group_capacity, sizeof *t->groups);
  tide_free(a, t->sites, t->site_capacity, sizeof *t->sites);
  tide_free(a, t->unsignalled, tables->queue_count, sizeof(void *));
  tide_free(a, t->samples, t->count, sizeof *t->samples);
  tide_free(a, t->reached, tables->timeline_count + 1, sizeof *t->reached);
  tide_free(a, t->values, t->plan->program->symbol_count, sizeof *t->values);
}

void tide_run_tell_findings(struct tide_run *run) {
  struct telling t = {.run = run, .plan = run->params.plan};
  tide_lock_take(&run->findings.lock, run->params.platform);
  t.list = run->findings.list;
  t.count = run->findings.count;
  tide_lock_give(&run->findings.lock);
  if (!t.count) return;
  bool good = make_tables(&t);
  if (good) add_sites(&t);
  good = good && find_sites(&t) && make_groups(&t) && guess_waits(&t);
  if (good) {
    try_waits(&t);
    tell_groups(&t);
  } else if (run->params.finding) { /* no memory: as check mode said it */
    for (size_t i = 0; i < t.count; i++)
      run->params.finding(run->params.finding_user, &t.list[i].finding.diag);
  }
  free_tables(&t);
}
