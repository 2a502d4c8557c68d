/* Turns declarations into tables: flattens arrays and evaluates expressions. */
#include "base/array.h"
#include "base/alloc.h"
#include "program/plan.h"

#define COLLECTIVE_MEMBERS_MAX 4096

struct declarer {
  struct tide_plan *plan;
  struct tide_errors *errors;
  const struct tide_declaration *at;
  size_t *member_of; /* by queue: the last collective that has it as a member, + 1 */
  size_t member_of_capacity;
  uint64_t members; /* members of all collectives */
};

static const struct tide_symbol *symbol_of(const struct declarer *d, uint32_t symbol) {
  return &d->plan->program->symbols[symbol];
}

static bool evaluate_code(struct declarer *d, struct tide_code code, int64_t *out_value) {
  return tide_evaluate(d->plan->program, d->plan->values, code, d->errors, out_value);
}

/* Evaluates a number between two bounds; `fallback` when none is given. */
static bool evaluate_number(struct declarer *d, struct tide_code code, const char *what,
                            int64_t least, int64_t most, int64_t fallback, int64_t *out_value) {
  uint32_t line, column;
  *out_value = fallback;
  if (code.count == 0) return true;
  if (!evaluate_code(d, code, out_value)) return false;
  if (*out_value >= least && *out_value <= most) return true;
  tide_program_location(d->plan->program, code.place, &line, &column);
  return tide_error(d->errors, TIDE_VALUE, line, column, "%s is %lld to %lld, not %lld", what,
                    (long long)least, (long long)most, (long long)*out_value);
}

static const char *label_of(struct declarer *d, const struct tide_declared *name,
                            uint32_t element) {
  char label[TIDE_PROGRAM_NAME_MAX + 16];
  struct tide_text text;
  const struct tide_symbol *symbol = symbol_of(d, name->symbol);
  if (!name->array) return symbol->text;
  tide_text_init(&text, label, sizeof label);
  tide_text_format(&text, "%s[%u]", symbol->text, element);
  const char *copy = tide_arena_text(&d->plan->arena, label, text.length);
  if (!copy) tide_error_no_memory(d->errors);
  return copy;
}

/* Reserves the entries of a name in its table. */
static bool make_room(struct declarer *d, const struct tide_declared *name, size_t first,
                      void *array_pointer, size_t *capacity, size_t size) {
  int64_t count = 1;
  struct tide_span *span = &d->plan->spans[name->symbol];
  if (name->array && !evaluate_number(d, name->count, "the number of entries", 1,
                                      TIDE_PLAN_ENTRIES_MAX, 1, &count))
    return false;
  if (first + (size_t)count > TIDE_PLAN_ENTRIES_MAX) {
    return tide_error(d->errors, TIDE_FULL, name->name.line, name->name.column,
                      "too many entries: with '%s' it would be %zu, at most %u are possible",
                      symbol_of(d, name->symbol)->text, first + (size_t)count,
                      TIDE_PLAN_ENTRIES_MAX);
  }
  *span = (struct tide_span){(uint32_t)first, (uint32_t)count};
  return tide_array_reserve(d->plan->allocator, array_pointer, capacity, first + (size_t)count,
                            size) ||
         tide_error_no_memory(d->errors);
}

/* ---- param, let, require ----------------------------------------------------------- */

static bool declare_number(struct declarer *d) {
  return evaluate_code(d, d->at->value, &d->plan->values[d->at->names->symbol]);
}

static bool declare_text(struct declarer *d) {
  const char *text = tide_plan_intern(d->plan, &d->at->text, d->errors);
  d->plan->texts[d->at->names->symbol] = text;
  return text != NULL;
}

static bool declare_param(struct declarer *d, const struct tide_setting *settings, size_t count) {
  const struct tide_symbol *symbol = symbol_of(d, d->at->names->symbol);
  const char *value = NULL;
  for (size_t i = 0; i < count; i++) {
    if (strcmp(settings[i].name, symbol->text) == 0) value = settings[i].value;
  }
  if (value) return tide_plan_setting(d->plan, d->at, value, d->errors);
  return d->at->text.given ? declare_text(d) : declare_number(d);
}

static bool declare_require(struct declarer *d) {
  char message[160];
  int64_t value;
  if (!evaluate_code(d, d->at->value, &value)) return false;
  if (value) return true;
  tide_plan_expand(d->plan, &d->at->text, message, sizeof message);
  return tide_error(d->errors, TIDE_VALUE, d->at->line, d->at->column, "%s",
                    d->at->text.given ? message : "this requirement is not met");
}

/* ---- device, queue, collective --------------------------------------------------------- */

static bool declare_options(struct declarer *d, struct tide_plan_option **out_options,
                            size_t *out_count) {
  const struct tide_program *program = d->plan->program;
  size_t count = 0;
  *out_count = 0;
  for (const struct tide_option *o = d->at->options; o; o = o->next) count++;
  *out_options = tide_arena_get(&d->plan->arena, count + 1, sizeof **out_options);
  if (!*out_options) return tide_error_no_memory(d->errors);
  for (const struct tide_option *o = d->at->options; o; o = o->next) {
    struct tide_plan_option *option = &(*out_options)[*out_count];
    option->key = tide_arena_text(&d->plan->arena, program->text + o->key.at, o->key.length);
    option->line = o->key.line;
    option->column = o->key.column;
    if (!option->key) return tide_error_no_memory(d->errors);
    if (o->text.given) {
      option->text = tide_plan_intern(d->plan, &o->text, d->errors);
      if (!option->text) return false;
    } else if (!evaluate_code(d, o->value, &option->integer)) {
      return false;
    }
    ++*out_count;
  }
  return true;
}

static bool declare_devices(struct declarer *d) {
  struct tide_plan *plan = d->plan;
  const struct tide_name *kind = &d->at->device_kind;
  struct tide_plan_device device = {.line = d->at->line,
                                    .column = d->at->column,
                                    .kind_line = kind->line,
                                    .kind_column = kind->column};
  struct tide_plan_option *options;
  if (!declare_options(d, &options, &device.option_count)) return false;
  device.options = options;
  device.kind = tide_arena_text(&plan->arena, plan->program->text + kind->at, kind->length);
  if (!device.kind) return tide_error_no_memory(d->errors);
  for (const struct tide_declared *n = d->at->names; n; n = n->next) {
    if (!make_room(d, n, plan->tables.device_count, &plan->devices, &plan->device_capacity,
                   sizeof *plan->devices)) {
      return false;
    }
    for (uint32_t i = 0; i < plan->spans[n->symbol].count; i++) {
      device.label = label_of(d, n, i);
      if (!device.label) return false;
      plan->devices[plan->tables.device_count++] = device;
    }
  }
  return true;
}

static bool declare_queues(struct declarer *d) {
  struct tide_plan *plan = d->plan;
  const struct tide_reference *on = &d->at->device;
  struct tide_span devices = plan->spans[on->symbol];
  int64_t priority, capacity;
  uint32_t index;
  if (!evaluate_number(d, d->at->value, "a priority", 1, TIDE_PRIORITY_LEVELS - 1, 0, &priority) ||
      !evaluate_number(d, d->at->capacity, "a capacity", 1, TIDE_PLAN_CAPACITY_MAX, 0, &capacity)) {
    return false;
  }
  if (on->indexed) {
    if (!tide_plan_element(plan, on, d->errors, &index)) return false;
    devices = (struct tide_span){index, 1};
  }
  for (const struct tide_declared *n = d->at->names; n; n = n->next) {
    if (!make_room(d, n, plan->tables.queue_count, &plan->queues, &plan->queue_capacity,
                   sizeof *plan->queues)) {
      return false;
    }
    for (uint32_t i = 0; i < plan->spans[n->symbol].count; i++) {
      struct tide_plan_queue queue = {.label = label_of(d, n, i),
                                      .device = devices.first + i % devices.count,
                                      .takes = TIDE_PLAN_NONE,
                                      .priority = (uint8_t)priority,
                                      .capacity = (uint32_t)capacity,
                                      .line = n->name.line,
                                      .column = n->name.column};
      if (!queue.label) return false;
      plan->queues[plan->tables.queue_count++] = queue;
    }
  }
  return true;
}

static bool add_timeline(struct declarer *d, struct tide_plan_timeline timeline) {
  struct tide_plan *plan = d->plan;
  if (plan->tables.timeline_count >= TIDE_PLAN_ENTRIES_MAX)
    return tide_error(d->errors, TIDE_FULL, timeline.line, timeline.column, "too many timelines");
  if (!tide_array_reserve(plan->allocator, &plan->timelines, &plan->timeline_capacity,
                          plan->tables.timeline_count + 1, sizeof *plan->timelines)) {
    return tide_error_no_memory(d->errors);
  }
  plan->timelines[plan->tables.timeline_count++] = timeline;
  return true;
}

/* Counts the members of a collective. */
static bool count_members(struct declarer *d, size_t *out_count) {
  *out_count = 0;
  for (const struct tide_member *m = d->at->members; m; m = m->next) {
    uint32_t count = m->queue.indexed ? 1 : d->plan->spans[m->queue.symbol].count;
    if (*out_count + count > COLLECTIVE_MEMBERS_MAX ||
        (d->members += count) > TIDE_PLAN_ENTRIES_MAX) {
      return tide_error(d->errors, TIDE_FULL, m->queue.name.line, m->queue.name.column,
                        "a collective has at most %d members, and all together have %u",
                        COLLECTIVE_MEMBERS_MAX, TIDE_PLAN_ENTRIES_MAX);
    }
    *out_count += count;
  }
  return true;
}

/* Lists the members of a collective. A queue may be a member only once. */
static bool fill_members(struct declarer *d, uint32_t *queues) {
  size_t mark = d->plan->tables.collective_count + 1, count = 0;
  for (const struct tide_member *m = d->at->members; m; m = m->next) {
    struct tide_span span = d->plan->spans[m->queue.symbol];
    if (m->queue.indexed) {
      if (!tide_plan_element(d->plan, &m->queue, d->errors, &span.first)) return false;
      span.count = 1;
    }
    for (uint32_t q = span.first; q < span.first + span.count; q++) {
      if (d->member_of[q] == mark) {
        return tide_error(d->errors, TIDE_INVALID, m->queue.name.line, m->queue.name.column,
                          "queue '%s' is a member already", d->plan->queues[q].label);
      }
      d->member_of[q] = mark;
      queues[count++] = q;
    }
  }
  return true;
}

static bool declare_collective(struct declarer *d) {
  struct tide_plan *plan = d->plan;
  const struct tide_declared *n = d->at->names;
  size_t count;
  if (!count_members(d, &count)) return false;
  uint32_t *queues = tide_arena_get(&plan->arena, count, sizeof *queues);
  if (!queues || !tide_array_reserve(plan->allocator, &d->member_of, &d->member_of_capacity,
                                     plan->tables.queue_count, sizeof *d->member_of)) {
    return tide_error_no_memory(d->errors);
  }
  if (!fill_members(d, queues)) return false;
  if (!make_room(d, n, plan->tables.collective_count, &plan->collectives,
                 &plan->collective_capacity, sizeof *plan->collectives)) {
    return false;
  }
  struct tide_plan_collective collective = {.label = label_of(d, n, 0),
                                            .queues = queues,
                                            .queue_count = count,
                                            .timeline = (uint32_t)plan->tables.timeline_count,
                                            .line = d->at->line,
                                            .column = d->at->column};
  uint32_t index = (uint32_t)plan->tables.collective_count++;
  plan->collectives[index] = collective;
  return add_timeline(d, (struct tide_plan_timeline){.label = collective.label,
                                                     .collective = index,
                                                     .line = d->at->line,
                                                     .column = d->at->column});
}

/* ---- timeline, buffer, file --------------------------------------------------------------- */

static bool declare_timelines(struct declarer *d) {
  struct tide_plan *plan = d->plan;
  int64_t initial;
  if (!evaluate_number(d, d->at->value, "a timeline's first value", 0, INT64_MAX, 0, &initial))
    return false;
  for (const struct tide_declared *n = d->at->names; n; n = n->next) {
    if (!make_room(d, n, plan->tables.timeline_count, &plan->timelines, &plan->timeline_capacity,
                   sizeof *plan->timelines)) {
      return false;
    }
    for (uint32_t i = 0; i < plan->spans[n->symbol].count; i++) {
      struct tide_plan_timeline timeline = {.label = label_of(d, n, i),
                                            .initial = (uint64_t)initial,
                                            .last = (uint64_t)initial,
                                            .collective = TIDE_PLAN_NONE,
                                            .line = n->name.line,
                                            .column = n->name.column};
      if (!timeline.label || !add_timeline(d, timeline)) return false;
    }
  }
  return true;
}

static bool declare_buffers(struct declarer *d) {
  struct tide_plan *plan = d->plan;
  bool scratch = d->at->kind == TIDE_DECLARE_SCRATCH;
  int64_t size;
  if (!evaluate_number(d, d->at->value, "a buffer's size", 1, INT64_MAX, 0, &size)) return false;
  for (const struct tide_declared *n = d->at->names; n; n = n->next) {
    if (!make_room(d, n, plan->tables.buffer_count, &plan->buffers, &plan->buffer_capacity,
                   sizeof *plan->buffers)) {
      return false;
    }
    for (uint32_t i = 0; i < plan->spans[n->symbol].count; i++) {
      struct tide_plan_buffer buffer = {.label = label_of(d, n, i),
                                        .size = (uint64_t)size,
                                        .scratch = scratch,
                                        .line = n->name.line,
                                        .column = n->name.column};
      if (!buffer.label) return false;
      plan->buffers[plan->tables.buffer_count++] = buffer;
      if (scratch) continue;
      plan->tables.static_bytes += (uint64_t)size;
      if (plan->tables.static_bytes > INT64_MAX) {
        return tide_error(d->errors, TIDE_VALUE, n->name.line, n->name.column,
                          "with '%s' the buffers need more than 2^63 bytes", buffer.label);
      }
    }
  }
  return true;
}

static bool declare_file(struct declarer *d) {
  struct tide_plan *plan = d->plan;
  const struct tide_declared *n = d->at->names;
  struct tide_plan_file file = {
      .mode = d->at->mode, .line = n->name.line, .column = n->name.column};
  if (plan->tables.file_count >= TIDE_PLAN_FILES_MAX) {
    return tide_error(d->errors, TIDE_FULL, file.line, file.column, "at most %u files are possible",
                      TIDE_PLAN_FILES_MAX);
  }
  if (!make_room(d, n, plan->tables.file_count, &plan->files, &plan->file_capacity,
                 sizeof *plan->files)) {
    return false;
  }
  file.label = label_of(d, n, 0);
  if (!file.label) return false;
  if (file.mode != TIDE_FILE_TEMPORARY) {
    file.path = tide_plan_intern(plan, &d->at->text, d->errors);
    if (!file.path) return false;
    if (!file.path[0]) {
      return tide_error(d->errors, TIDE_VALUE, d->at->text.line, d->at->text.column,
                        "the path of file '%s' is empty", file.label);
    }
  }
  for (size_t i = 0; i < plan->tables.file_count && file.mode == TIDE_FILE_WRITE; i++) {
    if (plan->files[i].mode != TIDE_FILE_WRITE || strcmp(plan->files[i].path, file.path) != 0)
      continue;
    return tide_error(d->errors, TIDE_INVALID, d->at->text.line, d->at->text.column,
                      "files '%s' and '%s' both write \"%s\"", plan->files[i].label, file.label,
                      file.path);
  }
  plan->files[plan->tables.file_count++] = file;
  return true;
}

/* ---- takes -------------------------------------------------------------------------------- */

/* Gives a timeline to each queue of a name that takes. The timeline has no name in the text. */
static bool declare_takes_of(struct declarer *d, struct tide_span span) {
  struct tide_plan *plan = d->plan;
  for (uint32_t i = span.first; i < span.first + span.count; i++) {
    struct tide_plan_queue *queue = &plan->queues[i];
    char name[TIDE_PROGRAM_NAME_MAX + 32];
    struct tide_text text;
    tide_text_init(&text, name, sizeof name);
    tide_text_format(&text, "%s.taken", queue->label);
    const char *label = tide_arena_text(&plan->arena, name, strlen(name));
    if (!label) return tide_error_no_memory(d->errors);
    queue->takes = (uint32_t)plan->tables.timeline_count;
    plan->devices[queue->device].takers++;
    if (!add_timeline(d, (struct tide_plan_timeline){.label = label,
                                                     .collective = TIDE_PLAN_NONE,
                                                     .line = queue->line,
                                                     .column = queue->column}))
      return false;
  }
  return true;
}

static bool declare_takes(struct declarer *d) {
  const struct tide_program *program = d->plan->program;
  for (size_t i = 0; i < program->symbol_count; i++)
    if (program->symbols[i].takes && !declare_takes_of(d, d->plan->spans[i])) return false;
  return true;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static bool process_declaration(struct declarer *d, const struct tide_setting *settings,
                                size_t count) {
  switch (d->at->kind) {
    case TIDE_DECLARE_PARAM: return declare_param(d, settings, count);
    case TIDE_DECLARE_LET: return declare_number(d);
    case TIDE_DECLARE_REQUIRE: return declare_require(d);
    case TIDE_DECLARE_DEVICE: return declare_devices(d);
    case TIDE_DECLARE_QUEUE: return declare_queues(d);
    case TIDE_DECLARE_TIMELINE: return declare_timelines(d);
    case TIDE_DECLARE_BUFFER:
    case TIDE_DECLARE_SCRATCH: return declare_buffers(d);
    case TIDE_DECLARE_FILE: return declare_file(d);
    case TIDE_DECLARE_COLLECTIVE: return declare_collective(d);
  }
  return true;
}

/* Processes all declarations. Stops at the first error: later ones would use numbers that are not
 * known. */
bool tide_plan_declare(struct tide_plan *plan, const struct tide_setting *settings,
                       size_t setting_count, struct tide_errors *errors) {
  struct declarer d = {.plan = plan, .errors = errors};
  if (!tide_plan_settings_known(plan, settings, setting_count, errors)) return false;
  bool good = true;
  for (d.at = plan->program->declarations; d.at && good; d.at = d.at->next)
    good = process_declaration(&d, settings, setting_count);
  if (good) good = declare_takes(&d);
  tide_free(plan->allocator, d.member_of, d.member_of_capacity, sizeof *d.member_of);
  plan->tables.devices = plan->devices;
  plan->tables.queues = plan->queues;
  plan->tables.timelines = plan->timelines;
  plan->tables.buffers = plan->buffers;
  plan->tables.files = plan->files;
  plan->tables.collectives = plan->collectives;
  return good;
}
