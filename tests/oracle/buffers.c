/* Buffers: whose memory it was before, and whether they have all finished. */
#include "oracle.h"

#include <string.h>

/* ---- what a past implies --------------------------------------------------------------- */

static void closure_of(struct world *world, const struct tide_frontier *frontier, struct vec *out) {
  struct vec listed;
  frontier_vec(world, frontier, &listed);
  *out = (struct vec){{0}};
  for (uint32_t i = 0; i < world->axis_count; i++)
    if (listed.at[i]) vec_max(out, finish_of(world, (int)i, listed.at[i]));
}

void watch_alloc(struct world *world, const struct tide_event *event) {
  world->alloc.handle = event->object;
  world->alloc.reuse = (enum tide_reuse)event->detail;
  world->alloc.tainted = event->frontier->tainted;
  world->alloc.has_signaller = event->cause_axis != 0;
  closure_of(world, event->frontier, &world->alloc.past);
  frontier_vec(world, event->frontier, &world->alloc.listed);
  world->alloc.signaller = (struct vec){{0}};
  if (!event->cause_axis) return;
  int axis = axis_find(world, event->cause_axis);
  ENSURE(world, axis >= 0, "a past names an axis that nobody has");
  world->alloc.signaller = *finish_of(world, axis, event->cause_epoch);
  if (!world->alloc.tainted) return;
  world->alloc.listed = (struct vec){{0}};
  world->alloc.listed.at[axis] = (uint32_t)event->cause_epoch;
}

static bool overlap(const struct buffer *a, const struct buffer *b) {
  return a->data < b->data + b->size && b->data < a->data + a->size;
}

static bool user_finished(struct world *world, const struct op *user) {
  if (user->state == OP_LEFT || user->state == OP_REFUSED) return true;
  return user->epoch && finished(world, user->queue->axis, user->epoch);
}

/* One operation that used memory which is handed out again. */
static void check_user(struct world *world, const struct buffer *buffer, const struct op *user,
                       const struct vec *requester) {
  static const char *const names[] = {"known", "finished", "gap", "fresh"};
  const char *how = names[buffer->reuse & 3];
  if (user_finished(world, user)) return;
  ENSURE(world, user->state != OP_HELD && user->state != OP_NEW,
         "memory is handed out (%s) that held operation %s names", how, user->label);
  ENSURE(world, buffer->reuse != TIDE_REUSE_FINISHED,
         "memory is reused as finished, but %s has not", user->label);
  int axis = user->queue->axis;
  if (world->alloc.has_signaller)
    ENSURE(world, vec_has(&world->alloc.signaller, axis, user->epoch),
           "memory is reused (%s), but the signaller of its past does not imply %s", how,
           user->label);
  if (!world->alloc.tainted)
    ENSURE(world, vec_has(&world->alloc.past, axis, user->epoch),
           "memory is reused (%s), but its past does not imply %s", how, user->label);
  if (buffer->reuse == TIDE_REUSE_KNOWN)
    ENSURE(world, requester && vec_has(requester, axis, user->epoch),
           "memory is reused as known by one who does not know %s", user->label);
  ENSURE(world, world->alloc.has_signaller || !world->alloc.tainted,
         "memory is reused whose past nobody can tell (%s)", user->label);
}

static void check_alloc(struct program *program, struct buffer *buffer, struct queue *queue) {
  struct world *world = program->world;
  struct vec requester, *knows = NULL;
  if (queue) {
    finished_now(world, &requester);
    vec_max(&requester, &queue->start);
    if (queue->device->in_order) vec_max(&requester, &queue->end);
    knows = &requester;
  }
  for (uint32_t i = 0; i < program->buffer_count; i++) {
    const struct buffer *other = program->buffers[i];
    if (!overlap(buffer, other)) continue;
    ENSURE(world, other->freed, "memory is handed out that is in use");
    ENSURE(world, buffer->reuse != TIDE_REUSE_FRESH, "used memory is called fresh");
    for (uint32_t u = 0; u < other->user_count; u++)
      check_user(world, buffer, other->users[u], knows);
  }
}

void buffers_forget(struct op *op) {
  for (uint32_t i = 0; i < op->use_count; i++) {
    struct buffer *buffer = op->uses[i];
    uint32_t kept = 0;
    for (uint32_t u = 0; u < buffer->user_count; u++)
      if (buffer->users[u] != op) buffer->users[kept++] = buffer->users[u];
    buffer->user_count = kept;
  }
  op->use_count = 0;
}

void buffers_pasts(struct op *op, struct vec *into) {
  for (uint32_t i = 0; i < op->use_count; i++) vec_max(into, &op->uses[i]->past);
}

/* At a start: all who had this memory before have finished. */
void buffers_check_start(struct op *op) {
  struct program *program = op->program;
  struct world *world = program->world;
  for (uint32_t n = 0; n < op->use_count; n++) {
    const struct buffer *buffer = op->uses[n];
    for (uint32_t i = 0; i < program->buffer_count && program->buffers[i] != buffer; i++) {
      const struct buffer *other = program->buffers[i];
      if (!overlap(buffer, other)) continue;
      for (uint32_t u = 0; u < other->user_count; u++)
        ENSURE(world, user_finished(world, other->users[u]),
               "%s starts in memory that %s (state %u) still uses", op->label,
               other->users[u]->label, other->users[u]->state);
    }
  }
}

/* ---- allocating and freeing ----------------------------------------------------------------- */

struct buffer *buffer_alloc(struct program *program, struct queue *queue, size_t size) {
  struct world *world = program->world;
  struct tide_buffer *handle = NULL;
  enum tide_status status;
  if (program->buffer_count == MAX_BUFFERS) return NULL;
  world->alloc.handle = NULL;
  if (queue) status = tide_queue_alloc(queue->handle, program->pool, size, "b", &handle);
  else status = tide_pool_alloc(program->pool, size, NULL, "b", &handle);
  if (status == TIDE_NOMEM || status == TIDE_FULL) return NULL;
  ENSURE(world, status == TIDE_OK && handle, "alloc says %s", tide_status_name(status));
  ENSURE(world, world->alloc.handle == handle, "an alloc was not told of");
  struct buffer *buffer = keep(sizeof *buffer);
  buffer->handle = handle;
  buffer->data = tide_buffer_data(handle);
  buffer->size = size;
  buffer->reuse = tide_buffer_reuse(handle);
  buffer->past = world->alloc.past;
  buffer->listed = world->alloc.listed;
  /* Its entries are waited for where they tell all, else its signaller. */
  if (world->alloc.tainted) vec_max(&buffer->past, &world->alloc.signaller);
  LOG(world, "alloc b%u %zu bytes at %p by %s, reuse %d", program->buffer_count, size,
      (void *)buffer->data, queue ? queue->label : "the host", (int)buffer->reuse);
  check_alloc(program, buffer, queue);
  program->buffers[program->buffer_count++] = buffer;
  if (program->config.racefree) buffer->twin = keep(size);
  return buffer;
}

void buffer_free(struct program *program, struct buffer *buffer, struct queue *queue) {
  if (program->world->verbose) {
    uint32_t index = 0;
    while (program->buffers[index] != buffer) index++;
    LOG(program->world, "free b%u by %s", index, queue ? queue->label : "the host");
  }
  buffer->freed = true;
  buffer->freed_by = queue;
  if (queue) tide_queue_free(queue->handle, buffer->handle);
  else tide_pool_free(buffer->handle, NULL);
}

static bool all_finished(struct world *world, const struct buffer *buffer) {
  for (uint32_t u = 0; u < buffer->user_count; u++)
    if (!user_finished(world, buffer->users[u])) return false;
  return true;
}

static void ask(struct program *program, struct buffer *buffer) {
  struct world *world = program->world;
  if (tide_buffer_ready(buffer->handle)) {
    for (uint32_t i = 0; program->buffers[i] != buffer; i++)
      if (overlap(program->buffers[i], buffer))
        ENSURE(world, all_finished(world, program->buffers[i]), "a buffer is ready too early");
  }
  if (tide_buffer_idle(buffer->handle)) {
    ENSURE(world, all_finished(world, buffer), "a buffer is idle too early");
    host_saw_ends(program, buffer->users, buffer->user_count);
  }
}

void buffer_random(struct program *program) {
  struct world *world = program->world;
  if (program->buffer_count == 0 || chance(program, 450)) {
    struct queue *queue = chance(program, 30) ? NULL : queue_any(program);
    (void)buffer_alloc(program, queue, 16 + pick(program, 20) * 24);
    return;
  }
  struct buffer *buffer = program->buffers[pick(program, program->buffer_count)];
  if (buffer->freed) return;
  if (chance(program, 100)) ask(program, buffer);
  if (chance(program, program->config.host_free)) {
    if (all_finished(world, buffer)) buffer_free(program, buffer, NULL);
    return;
  }
  struct queue *queue = queue_any(program);
  if (!queue) return;
  if (!chance(program, program->config.free_elsewhere) && buffer->user_count)
    queue = buffer->users[buffer->user_count - 1]->queue;
  if (!queue->destroyed) buffer_free(program, buffer, queue);
}

/* ---- bodies: what they read and write ---------------------------------------------------------
 */

static uint64_t mix(uint64_t hash, uint64_t with) {
  hash = (hash ^ with) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 31;
}

static uint64_t fold(const struct op *op, bool twin) {
  uint64_t hash = op->id + 1;
  for (uint32_t i = 0; i < op->use_count; i++) {
    const unsigned char *bytes = twin ? op->uses[i]->twin : op->uses[i]->data;
    if (!(op->access[i] & TIDE_READ)) continue;
    for (size_t b = 0; b < op->uses[i]->size; b++) hash = mix(hash, bytes[b]);
  }
  return hash;
}

static void fill(const struct op *op, bool twin, uint64_t with) {
  for (uint32_t i = 0; i < op->use_count; i++) {
    unsigned char *bytes = twin ? op->uses[i]->twin : op->uses[i]->data;
    if (!(op->access[i] & TIDE_WRITE)) continue;
    for (size_t b = 0; b < op->uses[i]->size; b++) bytes[b] = (unsigned char)(mix(with, b) >> 24);
  }
}

/* In the order of submission, with memory of its own for each buffer. */
void twin_run(struct op *op) {
  op->twin = fold(op, true);
  fill(op, true, op->twin);
}

static uint64_t inputs(const struct op *op) {
  uint64_t hash = 1;
  for (uint32_t i = 0; i < op->use_count; i++)
    for (size_t b = 0; op->access[i] == TIDE_READ && b < op->uses[i]->size; b++)
      hash = mix(hash, op->uses[i]->data[b]);
  return hash;
}

/* A body reads when it starts and when it ends, and leaves rubbish meanwhile in what it writes. */
void body_begin(struct op *op) {
  op->fold = fold(op, false);
  op->inputs = inputs(op);
  fill(op, false, ~op->fold);
}

void body_end(struct op *op) {
  struct world *world = op->program->world;
  if (op->program->config.racefree && !op->program->config.racy) {
    ENSURE(world, op->fold == op->twin, "%s computed %016lx, the sequential run %016lx", op->label,
           (unsigned long)op->fold, (unsigned long)op->twin);
    ENSURE(world, op->inputs == inputs(op), "somebody wrote into what %s read while it ran",
           op->label);
    for (uint32_t i = 0; i < op->use_count; i++)
      if (op->access[i] & TIDE_WRITE)
        for (size_t b = 0; b < op->uses[i]->size; b++)
          ENSURE(world, op->uses[i]->data[b] == (unsigned char)(mix(~op->fold, b) >> 24),
                 "somebody wrote into a buffer of %s while it ran", op->label);
  }
  fill(op, false, op->fold);
}
