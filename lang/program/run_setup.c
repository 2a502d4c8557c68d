/* Makes the objects that a plan declares, and destroys them. */
#include "base/alloc.h"
#include "base/text.h"
#include "program/baseline.h"

#define CAPACITY_MOST 1024        /* default limit for the operations of a queue */
#define CAPACITY_LIMIT (1u << 26) /* limit for any table of a queue: the scheduler's own */

/* ---- devices --------------------------------------------------------------------- */

const struct tide_plan_option *tide_plan_option_find(const struct tide_plan_device *device,
                                                     const char *key) {
  for (size_t i = 0; i < device->option_count; i++)
    if (strcmp(device->options[i].key, key) == 0) return &device->options[i];
  return NULL;
}

static enum tide_status unknown_kind(const struct tide_run *run,
                                     const struct tide_plan_device *device,
                                     struct tide_diag *diag) {
  char names[128];
  struct tide_text text;
  tide_text_init(&text, names, sizeof names);
  for (size_t i = 0; i < run->params.kind_count; i++)
    tide_text_format(&text, "%s%s", i ? ", " : "", run->params.kinds[i].name);
  return tide_diag_at(diag, TIDE_NOT_FOUND, device->kind_line, device->kind_column,
                      "there is no device kind '%s'; expected one of: %s", device->kind, names);
}

static enum tide_status use_memory(struct tide_run *run, size_t index, struct tide_diag *diag) {
  const struct tide_plan_device *device = &run->tables->devices[index];
  struct tide_run_device *made = &run->devices[index];
  if (!made->kind->memory) return TIDE_OK;
  if (run->memory)
    return tide_diag_at(diag, TIDE_UNSUPPORTED, device->line, device->column,
                        "device '%s' (%s): another device's memory holds the buffers already",
                        device->label, device->kind);
  run->memory = made->kind->memory(made->kind->self, made->device);
  return TIDE_OK;
}

static enum tide_status make_device(struct tide_run *run, size_t index, struct tide_diag *diag) {
  const struct tide_plan_device *device = &run->tables->devices[index];
  struct tide_run_device *made = &run->devices[index];
  const struct tide_device_kind *kind = NULL;
  for (size_t i = 0; i < run->params.kind_count && !kind; i++)
    if (strcmp(run->params.kinds[i].name, device->kind) == 0) kind = &run->params.kinds[i];
  if (!kind) return unknown_kind(run, device, diag);
  struct tide_device_request request = {run->context, device, run->params.keep_on_host};
  struct tide_diag own = {.status = TIDE_OK};
  enum tide_status status = kind->open(kind->self, &request, &made->device, &own);
  if (status == TIDE_OK) {
    made->kind = kind;
    return use_memory(run, index, diag);
  }
  if (own.status == TIDE_OK) tide_diag_set(&own, status, "%s", tide_status_text(status));
  return tide_diag_at(diag, status, own.line ? own.line : device->line,
                      own.line ? own.column : device->column, "device '%s' (%s): %s", device->label,
                      device->kind, own.text);
}

/* ---- queues ------------------------------------------------------------------------ */

static uint32_t clamp_count(uint64_t count, uint64_t least) {
  if (count < least) count = least;
  return count > CAPACITY_LIMIT ? CAPACITY_LIMIT : (uint32_t)count;
}

static void queue_capacity(const struct tide_run *run, size_t index,
                           struct tide_queue_params *params) {
  const struct tide_plan_queue *queue = &run->tables->queues[index];
  uint64_t operations = queue->operations ? queue->operations : 1;
  uint32_t most = run->params.capacity ? run->params.capacity : CAPACITY_MOST;
  uint32_t waits = queue->most_waits, signals = queue->most_signals;
  if (!run->params.paused && queue->capacity && queue->capacity < operations)
    operations = queue->capacity;
  else if (!run->params.paused && !queue->capacity && operations > most) operations = most;
  if (run->baseline) tide_baseline_needs(run, (uint32_t)index, &waits, &signals);
  uint64_t all_waits = operations * waits, all_signals = operations * signals;
  if (!run->baseline && all_waits > run->tables->waits) all_waits = run->tables->waits;
  if (!run->baseline && all_signals > run->tables->signals) all_signals = run->tables->signals;
  params->operations = clamp_count(operations, 1);
  params->waits = clamp_count(all_waits, waits ? waits : 1);
  params->signals = clamp_count(all_signals, signals ? signals : 1);
  uint64_t uses = queue->uses, least = uses < TIDE_PARAMS_MAX ? uses : TIDE_PARAMS_MAX;
  if (!run->params.paused && uses > 4 * operations) uses = 4 * operations;
  params->buffers = clamp_count(uses, least ? least : 1);
}

static enum tide_status make_queue(struct tide_run *run, size_t index, struct tide_diag *diag) {
  const struct tide_plan_queue *queue = &run->tables->queues[index];
  struct tide_run_queue *made = &run->queues[index];
  struct tide_queue_params params = {
      .struct_size = sizeof params, .label = queue->label, .priority = queue->priority};
  queue_capacity(run, index, &params);
  uint32_t places = 1;
  while (places < params.operations) places *= 2;
  made->places = tide_alloc(run->allocator, places, sizeof *made->places);
  enum tide_status status = made->places ? TIDE_OK : TIDE_NOMEM;
  if (status == TIDE_OK) {
    made->place_mask = places - 1;
    status = tide_queue_create(run->devices[queue->device].device, &params, &made->queue);
  }
  if (status != TIDE_OK && tide_run_lost_device(run, diag) != TIDE_OK) return status;
  if (status != TIDE_OK)
    return tide_diag_at(diag, status, queue->line, queue->column,
                        "queue '%s' of %u operations cannot be made: %s", queue->label,
                        params.operations, tide_status_text(status));
  made->axis = tide_queue_axis(made->queue);
  return tide_run_open_taker(run, (uint32_t)index, diag);
}

static enum tide_status make_collective(struct tide_run *run, size_t index,
                                        struct tide_diag *diag) {
  const struct tide_plan_collective *collective = &run->tables->collectives[index];
  size_t count = collective->queue_count;
  struct tide_queue **members = tide_alloc(run->allocator, count, sizeof *members);
  enum tide_status status = members ? TIDE_OK : TIDE_NOMEM;
  for (size_t i = 0; members && i < count; i++)
    members[i] = run->queues[collective->queues[i]].queue;
  if (status == TIDE_OK)
    status = tide_collective_create(members, count, collective->label, &run->collectives[index]);
  tide_free(run->allocator, members, count, sizeof *members);
  if (status != TIDE_OK)
    return tide_diag_at(diag, status, collective->line, collective->column,
                        "collective '%s' cannot be made: %s", collective->label,
                        tide_status_text(status));
  if (collective->timeline != TIDE_PLAN_NONE)
    run->timelines[collective->timeline] = tide_collective_progress(run->collectives[index]);
  return TIDE_OK;
}

/* ---- timelines and buffers ------------------------------------------------------------ */

static enum tide_status make_timeline(struct tide_run *run, size_t index, struct tide_diag *diag) {
  const struct tide_plan_timeline *timeline = &run->tables->timelines[index];
  if (timeline->collective != TIDE_PLAN_NONE) return TIDE_OK; /* made by its collective */
  struct tide_timeline_params params = {
      .struct_size = sizeof params,
      .label = timeline->label,
      .scope = run->baseline ? TIDE_SCOPE_PROCESS : timeline->scope,
      .initial = timeline->initial,
      .operations_only = timeline->operations_only && !run->baseline,
  };
  enum tide_status status = tide_timeline_create(run->context, &params, &run->timelines[index]);
  if (status == TIDE_OK) return TIDE_OK;
  return tide_diag_at(diag, status, timeline->line, timeline->column,
                      "timeline '%s' cannot be made: %s", timeline->label,
                      tide_status_text(status));
}

static enum tide_status make_host(struct tide_run *run, struct tide_diag *diag) {
  uint8_t capacity = run->frontier_capacity;
  run->host.frontier = tide_alloc(run->allocator, 1, tide_frontier_size(capacity));
  enum tide_status status = run->host.frontier ? TIDE_OK : TIDE_NOMEM;
  tide_axis axis = 0;
  if (status == TIDE_OK) {
    tide_frontier_init(run->host.frontier, capacity);
    status = tide_lease_take(tide_context_lease(run->context), TIDE_DOMAIN_HOST, &axis);
  }
  if (status == TIDE_OK) status = tide_tracker_register(tide_context_tracker(run->context), axis);
  if (status == TIDE_OK) run->host.axis = axis;
  return status == TIDE_OK ? TIDE_OK : tide_diag_set(diag, status, "out of memory");
}

/* ---- all of it --------------------------------------------------------------------------- */

enum tide_status tide_run_open_files(struct tide_run *run, struct tide_diag *diag) {
  for (size_t i = 0; i < run->tables->file_count; i++) run->files[i].descriptor = -1;
  for (size_t i = 0; i < run->tables->file_count; i++) {
    const struct tide_plan_file *file = &run->tables->files[i];
    const struct tide_file_source *files = run->params.files;
    if (files && run->params.submit_only) continue;
    if (!files)
      return tide_diag_at(diag, TIDE_UNSUPPORTED, file->line, file->column,
                          "file '%s': there are no files here", file->label);
    struct tide_diag own = {.status = TIDE_OK};
    enum tide_status status = files->open(files->self, file, &run->files[i], &own);
    if (status == TIDE_OK) continue;
    if (own.status == TIDE_OK) tide_diag_set(&own, status, "%s", tide_status_text(status));
    return tide_diag_at(diag, status, file->line, file->column, "%s", own.text);
  }
  return TIDE_OK;
}

static enum tide_status make_context(struct tide_run *run, struct tide_diag *diag) {
  const struct tide_plan_tables *tables = run->tables;
  size_t axes = tables->queue_count + tables->collective_count + 2;
  if (axes < 16) axes = 16;
  if (run->params.frontier) axes = run->params.frontier;
  struct tide_context_params params = {
      .struct_size = sizeof params,
      .platform = run->params.platform,
      .allocator = run->params.allocator,
      .sink = tide_run_sink(run),
      .frontier_capacity = (uint8_t)(axes > 255 ? 255 : axes),
      .paused = run->params.paused,
      .check = run->params.check,
      .finding = tide_run_note_finding,
      .finding_user = run,
  };
  run->frontier_capacity = params.frontier_capacity;
  enum tide_status status = tide_context_create(&params, &run->context);
  if (status == TIDE_OK) return TIDE_OK;
  return tide_diag_set(diag, status, "the context cannot be made: %s", tide_status_text(status));
}

static size_t most_of(const struct tide_run *run, bool waits) {
  size_t most = 1;
  for (size_t i = 0; i < run->tables->queue_count; i++) {
    uint32_t need = waits ? run->tables->queues[i].most_waits : run->tables->queues[i].most_signals;
    uint32_t event_waits = 0, event_signals = 0;
    if (run->baseline) tide_baseline_needs(run, (uint32_t)i, &event_waits, &event_signals);
    if (waits ? event_waits > need : event_signals > need)
      need = waits ? event_waits : event_signals;
    if (need > most) most = need;
  }
  return most;
}

static enum tide_status make_tables(struct tide_run *run, struct tide_diag *diag) {
  const struct tide_plan_tables *tables = run->tables;
  const struct tide_allocator *a = run->allocator;
  run->wait_room = most_of(run, true);
  run->signal_room = most_of(run, false);
  run->devices = tide_alloc(a, tables->device_count, sizeof *run->devices);
  run->queues = tide_alloc(a, tables->queue_count, sizeof *run->queues);
  run->timelines = tide_alloc(a, tables->timeline_count, sizeof *run->timelines);
  run->collectives = tide_alloc(a, tables->collective_count, sizeof *run->collectives);
  run->waits = tide_alloc(a, run->wait_room, sizeof *run->waits);
  run->signals = tide_alloc(a, run->signal_room, sizeof *run->signals);
  run->points = tide_alloc(a, tables->queue_count + 1, sizeof *run->points);
  if (run->devices && run->queues && run->timelines && run->collectives && run->waits &&
      run->signals && run->points)
    return TIDE_OK;
  return tide_diag_set(diag, TIDE_NOMEM, "out of memory");
}

enum tide_status tide_run_setup(struct tide_run *run, struct tide_diag *diag) {
  const struct tide_plan_tables *tables = run->tables;
  enum tide_status status = TIDE_OK;
  if (run->params.mode != TIDE_RUN_TRACKED) status = tide_baseline_create(run, diag);
  if (status == TIDE_OK) status = make_tables(run, diag);
  if (status == TIDE_OK) status = make_context(run, diag);
  for (size_t i = 0; status == TIDE_OK && i < tables->device_count; i++)
    status = make_device(run, i, diag);
  for (size_t i = 0; status == TIDE_OK && i < tables->queue_count; i++)
    status = make_queue(run, i, diag);
  for (size_t i = 0; status == TIDE_OK && i < tables->collective_count; i++)
    status = make_collective(run, i, diag);
  for (size_t i = 0; status == TIDE_OK && i < tables->timeline_count; i++)
    status = make_timeline(run, i, diag);
  if (status == TIDE_OK) status = tide_run_make_pool(run, diag);
  for (size_t i = 0; status == TIDE_OK && i < tables->buffer_count; i++)
    status = tide_run_make_buffer(run, i, diag);
  if (status == TIDE_OK) status = make_host(run, diag);
  if (status == TIDE_OK && run->baseline) status = tide_baseline_make_events(run, diag);
  return status;
}

/* ---- the end -------------------------------------------------------------------------------- */

enum tide_status tide_run_stop_queues(struct tide_run *run, uint64_t deadline) {
  const struct tide_plan_tables *tables = run->tables;
  enum tide_status status = TIDE_OK;
  for (size_t i = 0; run->queues && i < tables->queue_count; i++) {
    tide_queue_destroy(run->queues[i].queue);
    run->queues[i].queue = NULL;
  }
  for (size_t i = 0; run->collectives && i < tables->collective_count; i++) {
    tide_collective_destroy(run->collectives[i]);
    run->collectives[i] = NULL;
  }
  for (size_t i = 0; run->devices && i < tables->device_count; i++) {
    if (!run->devices[i].kind) continue;
    enum tide_status own = tide_device_settle(run->devices[i].device, deadline);
    if (status == TIDE_OK) status = own;
  }
  return status;
}

static void free_buffers(struct tide_run *run) {
  for (size_t i = 0; run->pool && i < run->tables->buffer_count; i++)
    tide_pool_free(run->buffers[i].buffer, NULL);
  enum tide_status status = run->pool ? tide_pool_destroy(run->pool) : TIDE_OK;
  TIDE_ASSERT(status == TIDE_OK);
}

void tide_run_teardown(struct tide_run *run) {
  const struct tide_plan_tables *tables = run->tables;
  const struct tide_allocator *a = run->allocator;
  (void)!tide_run_stop_queues(run, TIDE_FOREVER);
  tide_run_close_takers(run);
  free_buffers(run);
  tide_baseline_destroy(run);
  for (size_t i = 0; run->timelines && i < tables->timeline_count; i++)
    if (tables->timelines[i].collective == TIDE_PLAN_NONE) tide_timeline_destroy(run->timelines[i]);
  for (size_t i = 0; run->devices && i < tables->device_count; i++)
    tide_device_close(run->devices[i].device);
  if (run->host.axis) (void)tide_tracker_close(tide_context_tracker(run->context), run->host.axis);
  if (run->host.frontier)
    tide_free(a, run->host.frontier, 1, tide_frontier_size(run->frontier_capacity));
  tide_context_destroy(run->context);
  for (size_t i = 0; run->queues && i < tables->queue_count; i++)
    tide_free(a, run->queues[i].places, (size_t)run->queues[i].place_mask + 1,
              sizeof *run->queues[i].places);
  tide_free(a, run->devices, tables->device_count, sizeof *run->devices);
  tide_free(a, run->queues, tables->queue_count, sizeof *run->queues);
  tide_free(a, run->timelines, tables->timeline_count, sizeof *run->timelines);
  tide_free(a, run->collectives, tables->collective_count, sizeof *run->collectives);
  tide_free(a, run->waits, run->wait_room, sizeof *run->waits);
  tide_free(a, run->signals, run->signal_room, sizeof *run->signals);
  tide_free(a, run->points, tables->queue_count + 1, sizeof *run->points);
}
