/* A program's devices, queues, timelines, hosts and pool, drawn from its seed. */
#include "causal/context_state.h"
#include "oracle.h"

#include <stdio.h>
#include <stdlib.h>

uint64_t pick(struct program *program, uint64_t limit) {
  return limit ? tide_random_below(&program->random, limit) : 0;
}

bool chance(struct program *program, uint32_t of_thousand) {
  return tide_random_below(&program->random, 1000) < of_thousand;
}

static void kick(void *self) {
  struct device *device = self;
  device->awake = true;
  device->kicks++;
}

static void make_device(struct program *program) {
  struct device *device = &program->devices[program->device_count++];
  device->program = program;
  device->in_order = chance(program, program->config.in_order_chance);
  device->sequential = chance(program, 333);
  snprintf(device->label, sizeof device->label, "d%u", program->device_count - 1);
  enum tide_domain domain =
      device->in_order || chance(program, 500) ? TIDE_DOMAIN_QUEUE : TIDE_DOMAIN_STORAGE;
  device->backend = (struct tide_backend){.name = device->label,
                                          .in_order = device->in_order,
                                          .sequential = device->sequential,
                                          .domain = domain,
                                          .kick = kick,
                                          .self = device};
  if (tide_device_open(program->world->context, &device->backend, device->label, &device->handle) !=
      TIDE_OK)
    abort();
  device->awake = true;
}

struct line *line_make(struct program *program, enum line_kind kind) {
  struct line *line = keep(sizeof *line);
  ENSURE(program->world, program->line_count < MAX_TIMELINES, "oracle: too many timelines");
  line->program = program;
  line->kind = kind;
  line->fail_from = UINT64_MAX;
  line->scope = TIDE_SCOPE_PROCESS;
  if (has_records(line)) {
    line->reached = keep_raw(MAX_RECORDS * sizeof *line->reached);
    line->pending = keep_raw(MAX_RECORDS * sizeof *line->pending);
  } else {
    line->operations_only = true;
  }
  program->lines[program->line_count++] = line;
  return line;
}

struct queue *queue_make(struct program *program) {
  struct world *world = program->world;
  const struct config *config = &program->config;
  struct device *device = &program->devices[pick(program, program->device_count)];
  if (program->queue_count == MAX_QUEUES || program->line_count == MAX_TIMELINES || device->lost)
    return NULL;
  struct queue *queue = keep(sizeof *queue);
  queue->program = program;
  queue->device = device;
  queue->index = (int)program->queue_count;
  queue->operations = config->capacity_ops ? config->capacity_ops : 128;
  queue->waits = 4 * queue->operations;
  queue->signals = 2 * queue->operations;
  queue->buffers = 4 * queue->operations;
  if (config->tiny) {
    queue->waits = FEW_WAITS + (uint32_t)pick(program, config->tiny);
    queue->signals = MAX_SIGNALS + (uint32_t)pick(program, config->tiny);
    queue->buffers = MAX_USES + (uint32_t)pick(program, config->tiny);
  }
  for (queue->mask = 1; queue->mask < queue->operations + 1;) queue->mask *= 2;
  queue->mask--;
  snprintf(queue->label, sizeof queue->label, "q%d", queue->index);
  struct tide_queue_params params = {.struct_size = sizeof params,
                                     .label = queue->label,
                                     .operations = queue->operations,
                                     .waits = queue->waits,
                                     .signals = queue->signals,
                                     .buffers = queue->buffers,
                                     .priority = (uint8_t)(1 + pick(program, 15))};
  enum tide_status status = tide_queue_create(device->handle, &params, &queue->handle);
  if (status == TIDE_NOMEM && config->scarce) return NULL;
  if (status != TIDE_OK) abort();
  queue->axis = axis_add(program, tide_queue_axis(queue->handle));
  world->axes[queue->axis].queue = queue;
  world->axes[queue->axis].ops = keep(MAX_EPOCHS * sizeof(struct op *));
  queue->progress = line_make(program, LINE_PROGRESS);
  queue->progress->queue = queue;
  queue->progress->handle = tide_queue_progress(queue->handle);
  snprintf(queue->progress->label, sizeof queue->progress->label, "P%d", queue->index);
  program->queues[program->queue_count++] = queue;
  return queue;
}

struct queue *queue_any(struct program *program) {
  for (int tries = 0; tries < 4; tries++) {
    struct queue *queue = program->queues[pick(program, program->queue_count)];
    if (!queue->destroyed && !queue->device->lost) return queue;
  }
  return NULL;
}

static void make_line(struct program *program) {
  const struct config *config = &program->config;
  struct line *line = line_make(program, LINE_NORMAL);
  snprintf(line->label, sizeof line->label, "T%u", program->line_count - 1);
  line->owner = chance(program, config->host_owned) ? -1 : (int)pick(program, program->queue_count);
  line->multi = chance(program, config->multi);
  if (line->owner >= 0 && chance(program, config->operations_only)) line->operations_only = true;
  if (line->owner >= 0 && chance(program, config->narrow))
    line->scope = chance(program, 400)   ? TIDE_SCOPE_QUEUE
                  : chance(program, 700) ? TIDE_SCOPE_DEVICE
                                         : TIDE_SCOPE_GROUP;
  line->initial = line->value = chance(program, 300) ? pick(program, 4) : 0;
  uint32_t history = config->history ? config->history : 1 + (uint32_t)pick(program, 16);
  for (line->history = 1; line->history < history;) line->history *= 2;
  struct tide_timeline_params params = {.struct_size = sizeof params,
                                        .label = line->label,
                                        .scope = line->scope,
                                        .initial = line->initial,
                                        .history = history,
                                        .operations_only = line->operations_only};
  if (tide_timeline_create(program->world->context, &params, &line->handle) != TIDE_OK) abort();
}

/* A timeline of its own for each queue, which all of its operations signal. */
static void make_own_lines(struct program *program) {
  for (uint32_t i = 0; i < program->queue_count; i++) {
    struct line *line = line_make(program, LINE_NORMAL);
    snprintf(line->label, sizeof line->label, "O%u", i);
    line->owner = (int)i;
    line->operations_only = chance(program, program->config.operations_only);
    uint32_t history = 1 + (uint32_t)pick(program, 16);
    for (line->history = 1; line->history < history;) line->history *= 2;
    struct tide_timeline_params params = {.struct_size = sizeof params,
                                          .label = line->label,
                                          .history = history,
                                          .operations_only = line->operations_only};
    if (tide_timeline_create(program->world->context, &params, &line->handle) != TIDE_OK) abort();
    program->own_lines[i] = line;
  }
}

static void make_host(struct program *program) {
  struct world *world = program->world;
  struct host *host = &program->hosts[program->host_count++];
  tide_axis id;
  if (tide_lease_take(world->context->lease, TIDE_DOMAIN_HOST, &id) != TIDE_OK) abort();
  if (tide_tracker_register(world->context->tracker, id) != TIDE_OK) abort();
  host->axis = axis_add(program, id);
  world->axes[host->axis].records = keep(MAX_EPOCHS * sizeof(struct vec));
  tide_frontier_init(&host->frontier.frontier, world->context->frontier_capacity);
  host->position = (struct tide_position){.axis = id, .frontier = &host->frontier.frontier};
}

bool collective_make(struct program *program, struct queue *const *members, uint32_t count) {
  struct world *world = program->world;
  struct tide_queue *handles[MAX_MEMBERS];
  if (program->collective_count == MAX_COLLECTIVES || program->line_count == MAX_TIMELINES ||
      world->axis_count == MAX_AXES)
    return false;
  struct collective *collective = keep(sizeof *collective);
  collective->count = count;
  for (uint32_t i = 0; i < count; i++) {
    collective->members[i] = members[i];
    collective->members[i]->member = true;
    handles[i] = members[i]->handle;
    collective->next[i] = 1;
  }
  enum tide_status status = tide_collective_create(handles, count, "c", &collective->handle);
  if (status == TIDE_NOMEM && program->config.scarce) return false;
  if (status != TIDE_OK) abort();
  collective->progress = line_make(program, LINE_COLLECTIVE);
  collective->progress->collective = collective;
  collective->progress->handle = tide_collective_progress(collective->handle);
  snprintf(collective->progress->label, sizeof collective->progress->label, "C%u",
           program->collective_count);
  /* A collective's axis is the next of its domain. */
  uint64_t ordinal = world->context->lease->next[TIDE_DOMAIN_COLLECTIVE] - 1;
  collective->axis = axis_add(program, tide_axis_make(0, TIDE_DOMAIN_COLLECTIVE, ordinal));
  world->axes[collective->axis].collective = collective;
  program->collectives[program->collective_count++] = collective;
  LOG(world, "%s of %u", collective->progress->label, count);
  return true;
}

static void make_collective(struct program *program) {
  struct queue *members[MAX_MEMBERS];
  uint32_t count = 2 + (uint32_t)pick(program, MAX_MEMBERS - 1);
  if (count > program->queue_count) count = program->queue_count;
  uint32_t first = (uint32_t)pick(program, program->queue_count);
  for (uint32_t i = 0; i < count; i++)
    members[i] = program->queues[(first + i) % program->queue_count];
  (void)collective_make(program, members, count);
}

void program_make(struct program *program, struct world *world, const struct config *config,
                  uint64_t seed) {
  program->world = world;
  program->config = *config;
  program->seed = seed;
  program->random.state = seed;
  for (uint32_t i = 0; i < config->devices; i++) make_device(program);
  for (uint32_t i = 0; i < config->queues; i++) (void)queue_make(program);
  if (config->racefree) make_own_lines(program);
  else
    for (uint32_t i = 0; i < config->timelines; i++) make_line(program);
  for (uint32_t i = 0; i < config->hosts; i++) make_host(program);
  for (uint32_t i = 0; i < config->collectives; i++) make_collective(program);
  if (config->homes) home_make(program);
  if (!config->buffers) return;
  struct tide_pool_params params = {.struct_size = sizeof params,
                                    .label = "p",
                                    .limit = config->limit,
                                    .policy = config->wait_first ? TIDE_POOL_WAIT_FIRST
                                                                 : TIDE_POOL_GROW_FIRST,
                                    .chunk = 2048,
                                    .align = 16,
                                    .buffers = config->tiny,
                                    .uses_are_named = chance(program, 500)};
  if (tide_pool_create(world->context, &params, &program->pool) != TIDE_OK) abort();
}
