/* Memory runs out in the middle of things. What is made fails, and leaves nothing behind; what is
 * submitted, signalled and freed does not ask for any. */
#include "oracle.h"

static void check_failed(struct world *world, enum tide_status status, size_t before,
                         const char *what) {
  ENSURE(world, status == TIDE_NOMEM, "making %s without memory says %s", what,
         tide_status_name(status));
  ENSURE(world, memory_live() == before, "making %s without memory leaves %zu pieces behind", what,
         memory_live() - before);
}

static void try_queue(struct program *program) {
  struct device *device = &program->devices[pick(program, program->device_count)];
  struct tide_queue *queue;
  struct tide_queue_params params = {.struct_size = sizeof params, .operations = 2};
  size_t before = memory_live();
  if (device->lost) return;
  enum tide_status status = tide_queue_create(device->handle, &params, &queue);
  if (status == TIDE_OK) tide_queue_destroy(queue);
  else check_failed(program->world, status, before, "a queue");
}

static void try_timeline(struct program *program) {
  struct tide_timeline *timeline;
  size_t before = memory_live();
  enum tide_status status = tide_timeline_create(program->world->context, NULL, &timeline);
  if (status == TIDE_OK) tide_timeline_destroy(timeline);
  else check_failed(program->world, status, before, "a timeline");
  ENSURE(program->world, memory_live() == before, "a timeline leaves something behind");
}

static void try_pool(struct program *program) {
  struct tide_pool *pool;
  struct tide_buffer *buffer;
  size_t before = memory_live();
  enum tide_status status = tide_pool_create(program->world->context, NULL, &pool);
  if (status != TIDE_OK) {
    check_failed(program->world, status, before, "a pool");
    return;
  }
  if (tide_pool_alloc(pool, 100, NULL, "b", &buffer) == TIDE_OK) tide_pool_free(buffer, NULL);
  status = tide_pool_destroy(pool);
  ENSURE(program->world, status == TIDE_OK, "an idle pool cannot be destroyed");
  ENSURE(program->world, memory_live() == before, "a pool leaves something behind");
}

static void try_collective(struct program *program) {
  struct tide_collective *collective;
  struct queue *queue = queue_any(program);
  size_t before = memory_live();
  if (!queue) return;
  enum tide_status status = tide_collective_create(&queue->handle, 1, NULL, &collective);
  if (status == TIDE_OK) tide_collective_destroy(collective);
  else check_failed(program->world, status, before, "a collective");
}

void scarce_random(struct program *program) {
  program->world->trying = true;
  memory_allow((uint32_t)pick(program, 8));
  switch (pick(program, 4)) {
    case 0: try_queue(program); break;
    case 1: try_timeline(program); break;
    case 2: try_pool(program); break;
    default: try_collective(program); break;
  }
  memory_allow(UINT32_MAX);
  program->world->trying = false;
}
