/* Clients' channels, and the commands queued on them. */
#include "base/alloc.h"
#include "service/work.h"

#define CLOSING_MOST 1024u        /* channels of gone clients that may still finish */
#define ORPHANS_MOST (1ull << 30) /* bytes of buffers that these may still use */
#define REAP_TIME 1000000ull      /* ns in which one reap may free lines */

/* ---- jobs ------------------------------------------------------------------------------ */

static struct tide_lock *lock_of(const struct tide_line *line) {
  return tide_points_lock(line->service->points);
}

static struct tide_job *take_job(struct tide_line *line) {
  struct tide_lock *lock = lock_of(line);
  struct tide_job *job = line->free;
  if (job) line->free = job->next;
  else if (line->used_jobs < line->capacity) job = &line->jobs[line->used_jobs++];
  tide_lock_give(lock);
  if (job) *job = (struct tide_job){.line = line};
  return job;
}

static void show_over(struct tide_line *line, bool closed) {
  struct tide_values_news news = {
      .value = line->over, .lowest = UINT64_MAX, .returned = line->over, .closed = closed};
  tide_values_publish(&line->published->values, line->place, &news);
}

/* Called under the scheduler's lock. */
static void job_over(struct tide_job *job) {
  struct tide_line *line = job->line;
  if (job->made) tide_store_fail(job->made, TIDE_CANCELLED); /* no effect if it was made */
  for (uint32_t i = 0; i < job->store_count; i++) tide_store_drop(job->stores[i]);
  job->next = line->free;
  line->free = job;
  tide_store_release(&line->over, line->over + 1); /* read elsewhere without the lock */
  show_over(line, false);
}

/* Finds the memory of late buffers: the body's are `stores` from `store` to `end`. TIDE_BUSY: a
 * buffer is not made yet, so the command did not wait for its `device` point. */
static enum tide_status find_late(struct tide_job *job, unsigned which, uint32_t store,
                                  uint32_t end) {
  const struct tide_body *body = which ? job->other : job->body;
  for (uint32_t i = 0; i < body->param_count && store < end; i++) {
    if (body->params[i].kind == TIDE_PARAM_INTEGER) continue;
    const struct tide_store *from = job->stores[store++];
    if (!(job->late[which] >> i & 1)) continue;
    enum tide_status status = tide_store_status(from);
    if (status != TIDE_OK) return status;
    struct tide_argument *to = &job->arguments[which][i];
    to->data = (unsigned char *)from->mapping.memory + to->integer;
  }
  return TIDE_OK;
}

/* The points of a failed command break with the returned status. */
static enum tide_status run_body(void *arguments) {
  struct tide_job *job = *(struct tide_job **)arguments;
  enum tide_status status = TIDE_OK;
  if (job->late[0]) status = find_late(job, 0, 0, job->body_stores);
  if (status == TIDE_OK) status = job->body->class_.host(job->arguments[0]);
  return tide_refusal_cause(status);
}
static enum tide_status run_other(void *arguments) {
  struct tide_job *job = *(struct tide_job **)arguments;
  enum tide_status status = TIDE_OK;
  if (job->late[1]) status = find_late(job, 1, job->body_stores, job->store_count);
  if (status == TIDE_OK) status = job->other->class_.host(job->arguments[1]);
  return tide_refusal_cause(status);
}
static enum tide_status run_make(void *arguments) {
  struct tide_job *job = *(struct tide_job **)arguments;
  return tide_store_make(job->made);
}
static void body_over(void *arguments) { job_over(*(struct tide_job **)arguments); }

static const struct tide_body_class class_body = {
    .name = "body", .host = run_body, .over = body_over};
static const struct tide_body_class class_other = {
    .name = "otherwise", .host = run_other, .over = body_over};
static const struct tide_body_class class_make = {
    .name = "allocate", .host = run_make, .over = body_over};

/* ---- submitting ---------------------------------------------------------------------------- */

static void hold_store(struct tide_job *job, struct tide_store *store) {
  tide_fetch_add(&store->references, 1u);
  job->stores[job->store_count++] = store;
}

/* Checks one buffer's range, and holds the buffer for the job. */
static enum tide_status add_range(struct tide_served *client, struct tide_job *job,
                                  const struct tide_wire_argument *from, bool written,
                                  struct tide_argument *to, bool *out_late) {
  struct tide_entry *entry = tide_entry_find(client, from->buffer, TIDE_ENTRY_BUFFER);
  if (!entry) return TIDE_NOT_FOUND;
  if (written && !entry->writable) return TIDE_DENIED;
  struct tide_store *store = entry->object;
  if (from->offset > store->mapping.size || from->size > store->mapping.size - from->offset)
    return TIDE_INVALID;
  enum tide_status status = tide_store_status(store);
  if (status != TIDE_OK && status != TIDE_BUSY) return status;
  hold_store(job, store);
  to->size = from->size;
  if (status == TIDE_OK) to->data = (unsigned char *)store->mapping.memory + from->offset;
  else to->integer = (int64_t)from->offset;
  *out_late = status != TIDE_OK;
  return TIDE_OK;
}

static enum tide_status add_arguments(struct tide_served *client, struct tide_job *job,
                                      const struct tide_body *body,
                                      const struct tide_wire_argument *from, size_t count,
                                      struct tide_argument *to, uint8_t *late) {
  if (!body || count > body->param_count) return TIDE_INVALID;
  for (size_t i = 0; i < body->param_count; i++) {
    const struct tide_param *param = &body->params[i];
    bool number = param->kind == TIDE_PARAM_INTEGER;
    if (i >= count) {
      if (!param->optional) return TIDE_INVALID;
      if (number) to[i].integer = param->fallback;
      continue;
    }
    if (number != (from[i].buffer.handle == 0)) return TIDE_INVALID;
    if (number) {
      to[i].integer = (int64_t)from[i].offset;
      continue;
    }
    bool is_late;
    enum tide_status status =
        add_range(client, job, &from[i], param->kind != TIDE_PARAM_IN, &to[i], &is_late);
    if (status != TIDE_OK) return status;
    *late |= (uint8_t)(is_late << i);
  }
  return TIDE_OK;
}

static enum tide_status fill_job(struct tide_served *client, struct tide_job *job,
                                 const struct tide_wire_view *view) {
  const struct tide_wire_command *command = view->command;
  job->body = tide_service_body(client->service, command->body);
  job->other = tide_service_body(client->service, command->other_body);
  enum tide_status status =
      add_arguments(client, job, job->body, view->arguments, command->argument_count,
                    job->arguments[0], &job->late[0]);
  if (status != TIDE_OK) return status;
  job->body_stores = job->store_count;
  return add_arguments(client, job, job->other, view->arguments + command->argument_count,
                       command->other_count, job->arguments[1], &job->late[1]);
}

/* A command's points. */
struct named {
  struct tide_point points[TIDE_WIRE_POINTS];
  size_t wait_count; /* the first ones; the retired points begin at the command's wait_count */
  bool cancels, chooses;
  bool otherwise; /* the choice is made: the point was never promised */
};

/* True if the point is not promised, or was not when its timeline went. */
static bool is_unpromised(const struct tide_line *line, struct tide_point point) {
  struct tide_lock *lock = lock_of(line);
  bool gone = tide_point_find_timeline(line->service->points, point) == NULL;
  tide_lock_give(lock);
  return gone;
}

/* True if the chosen point is a redeemed one without a promise: the point has not retired. */
static bool is_nothing(const struct tide_served *client, const struct tide_wire_point *choice,
                       struct tide_point point) {
  enum tide_point_state state;
  if (client->entries[choice->name.handle].kind != TIDE_ENTRY_FOREIGN) return false;
  return tide_point_state(client->service->points, point, &state, NULL) == TIDE_NOT_FOUND;
}

/* Checks that a trusted client waits only for scheduled points, since others rely on its
 * channels. */
static enum tide_status check_trust(const struct tide_served *client,
                                    const struct tide_wire_point *wait, struct tide_point point) {
  const struct tide_entry *entry = &client->entries[wait->name.handle];
  enum tide_point_state state;
  if (!client->rule->trusted) return TIDE_OK;
  if (entry->kind != TIDE_ENTRY_FOREIGN || entry->writable)
    return TIDE_OK; /* the point's owner is trusted */
  enum tide_status status = tide_point_state(client->service->points, point, &state, NULL);
  if (status != TIDE_OK) return status;
  return state == TIDE_POINT_PROMISED ? TIDE_DENIED : TIDE_OK;
}

/* Checks the waits. A command that runs despite broken points loses its waits for points that are
 * not promised. */
static enum tide_status check_waits(const struct tide_served *client, const struct tide_line *line,
                                    const struct tide_wire_view *view, struct named *named) {
  bool despite = view->command->flags & TIDE_WIRE_DESPITE_BROKEN;
  named->wait_count = 0;
  for (size_t i = 0; i < view->command->wait_count; i++) {
    if (despite && is_unpromised(line, named->points[i])) continue;
    enum tide_status status = check_trust(client, &view->points[i], named->points[i]);
    if (status != TIDE_OK) return status;
    named->points[named->wait_count++] = named->points[i];
  }
  return TIDE_OK;
}

static enum tide_status submit_job(struct tide_line *line, struct tide_job *job,
                                   const struct tide_wire_view *view, const struct named *named) {
  const struct tide_wire_command *command = view->command;
  const struct tide_point *retires = named->points + command->wait_count;
  const struct tide_point *next = retires + command->retire_count;
  struct tide_operation_points points = {.waits = named->points,
                                         .wait_count = named->wait_count,
                                         .retires = retires,
                                         .retire_count = command->retire_count};
  if (named->cancels) points.cancel = next;
  if (named->chooses) {
    points.choose = next + !!(command->flags & TIDE_WIRE_HAS_CANCEL);
    points.otherwise = &class_other;
    points.otherwise_arguments = &job;
    points.otherwise_arguments_size = sizeof job;
  }
  struct tide_operation operation = {.label = job->body->class_.name,
                                     .body = named->otherwise ? &class_other : &class_body,
                                     .arguments = &job,
                                     .arguments_size = sizeof job,
                                     .points = &points};
  if (command->flags & TIDE_WIRE_MAY_BE_PASSED) operation.flags |= TIDE_MAY_BE_PASSED;
  if (command->flags & TIDE_WIRE_DESPITE_BROKEN) operation.flags |= TIDE_DESPITE_BROKEN;
  if (command->flags & TIDE_WIRE_RECOVER) operation.flags |= TIDE_RECOVER;
  return tide_queue_submit(line->queue, &operation, NULL, NULL);
}

static enum tide_status resolve_points(struct tide_served *client, const struct tide_line *line,
                                       const struct tide_wire_view *view, struct named *out) {
  const struct tide_wire_command *command = view->command;
  if (command->wait_count > TIDE_POINTS_MAX || command->retire_count > TIDE_POINTS_MAX)
    return TIDE_INVALID;
  for (size_t i = 0; i < view->point_count; i++) {
    enum tide_status status = tide_entry_point(client, view->points[i], &out->points[i]);
    if (status != TIDE_OK) return status;
  }
  size_t next = (size_t)command->wait_count + command->retire_count;
  out->cancels = command->flags & TIDE_WIRE_HAS_CANCEL && !is_unpromised(line, out->points[next]);
  if (command->flags & TIDE_WIRE_HAS_CANCEL) next++;
  bool has_choice = command->flags & TIDE_WIRE_HAS_CHOOSE;
  out->otherwise = has_choice && is_nothing(client, &view->points[next], out->points[next]);
  out->chooses = has_choice && !out->otherwise;
  return check_waits(client, line, view, out);
}

/* Ends a command that was not queued (`job` NULL: no free job). The client has queued commands
 * behind it, so its channel fails as if the command had failed. */
static enum tide_status give_back(struct tide_line *line, struct tide_job *job,
                                  enum tide_status status) {
  struct tide_lock *lock = lock_of(line);
  if (job) {
    job_over(job);
  } else {
    tide_store_release(&line->over, line->over + 1);
    show_over(line, false);
  }
  tide_lock_give(lock);
  tide_queue_refuse(line->queue, status);
  return status;
}

void tide_line_skip(struct tide_line *line, enum tide_status cause) {
  line->submitted++;
  (void)give_back(line, NULL, cause);
}

enum tide_status tide_line_allocate(struct tide_line *line, struct tide_store *store,
                                    struct tide_point device) {
  struct tide_job *job = take_job(line);
  struct tide_operation_points named = {.retires = &device, .retire_count = 1};
  struct tide_operation operation = {.label = class_make.name,
                                     .body = &class_make,
                                     .arguments = &job,
                                     .arguments_size = sizeof job,
                                     .points = &named};
  line->submitted++;
  if (!job) return give_back(line, NULL, TIDE_FULL);
  hold_store(job, store);
  job->made = store;
  enum tide_status status = tide_queue_submit(line->queue, &operation, NULL, NULL);
  return status == TIDE_OK ? TIDE_OK : give_back(line, job, status);
}

enum tide_status tide_line_submit(struct tide_served *client, struct tide_line *line,
                                  const struct tide_wire_view *view) {
  struct named named;
  struct tide_job *job = take_job(line);
  line->submitted++;
  enum tide_status status = job ? resolve_points(client, line, view, &named) : TIDE_FULL;
  if (status == TIDE_OK) status = fill_job(client, job, view);
  if (status == TIDE_OK) status = submit_job(line, job, view, &named);
  if (status == TIDE_OK) return TIDE_OK;
  return give_back(line, job, status);
}

/* ---- lines ------------------------------------------------------------------------------------
 */

enum tide_status tide_line_create(struct tide_served *client, struct tide_entry *entry,
                                  const struct tide_wire_view *view) {
  struct tide_service *service = client->service;
  const struct tide_allocator *allocator = service->context->allocator;
  const struct tide_wire_command *command = view->command;
  char label[TIDE_WIRE_LABEL];
  if (client->channels >= client->limits.channels) return TIDE_FULL;
  tide_wire_label(view, label);
  uint32_t capacity = command->value ? (uint32_t)command->value : 64;
  if (command->value > client->limits.operations) return TIDE_FULL;
  if (capacity > client->limits.operations) capacity = client->limits.operations;
  uint32_t priority = command->number ? command->number : 8;
  if (priority > client->limits.priority) priority = client->limits.priority;
  struct tide_line *line = tide_alloc(allocator, 1, sizeof *line);
  struct tide_job *jobs = tide_alloc(allocator, capacity, sizeof *jobs);
  struct tide_queue_params params = {.struct_size = sizeof params,
                                     .label = label,
                                     .operations = capacity + TIDE_POLICY_CHANGES,
                                     .priority = (uint8_t)priority,
                                     .client = client->client,
                                     .changes = TIDE_POLICY_CHANGES};
  enum tide_status status = line && jobs ? TIDE_OK : TIDE_NOMEM;
  if (status == TIDE_OK) status = tide_queue_create(service->device, &params, &line->queue);
  if (status != TIDE_OK) {
    tide_free(allocator, line, 1, sizeof *line);
    tide_free(allocator, jobs, capacity, sizeof *jobs);
    return status;
  }
  line->service = service;
  line->jobs = jobs;
  line->capacity = capacity;
  line->priority = (uint8_t)priority;
  line->published = client->published;
  line->place = command->object.handle;
  tide_fetch_add(&line->published->references, 1u);
  tide_store_release(&line->published->places[line->place].busy, 1u);
  tide_values_open(&line->published->values, line->place, command->object.generation, 0,
                   UINT64_MAX); /* a channel promises nothing: it shows what is over */
  tide_list_push_back(&client->lines, &line->link);
  line->client = client;
  client->channels++;
  entry->kind = TIDE_ENTRY_CHANNEL;
  entry->object = line;
  return TIDE_OK;
}

void tide_line_close(struct tide_line *line, uint64_t close_by) {
  tide_list_remove(&line->link);
  tide_list_push_back(&line->service->closing, &line->link);
  line->close_by = close_by;
  line->service->closing_count++;
}

static void free_line(struct tide_line *line) {
  const struct tide_allocator *allocator = line->service->context->allocator;
  struct tide_publication *at = &line->published->places[line->place];
  tide_list_remove(&line->link);
  line->service->closing_count--;
  if (line->client) line->client->channels--;
  tide_queue_destroy(line->queue);
  tide_store_release(&at->busy, 0u);
  struct tide_lock *lock = lock_of(line);
  show_over(line, true);
  tide_lock_give(lock);
  tide_published_release(line->published);
  tide_free(allocator, line->jobs, line->capacity, sizeof *line->jobs);
  tide_trim_note(line->service);
  tide_free(allocator, line, 1, sizeof *line);
}

void tide_lines_orphan(const struct tide_served *client) {
  struct tide_link *head = &client->service->closing;
  for (struct tide_link *link = head->next; link != head; link = link->next) {
    struct tide_line *line = TIDE_CONTAINER(link, struct tide_line, link);
    if (line->client == client) line->client = NULL;
  }
}

static bool is_over(const struct tide_line *line) {
  struct tide_lock *lock = lock_of(line);
  bool done = line->over == line->submitted;
  tide_lock_give(lock);
  return done;
}

/* True if the queued commands of gone clients together hold too much: channels, memory, or the
 * slots of timelines that new clients need. */
static bool is_crowded(const struct tide_service *service) {
  struct tide_points *points = service->points;
  struct tide_lock *lock = tide_points_lock(points);
  uint32_t futures = points->orphans - points->orphan_compound_count;
  bool many = futures > tide_timelines_of_clients(service) / 4;
  tide_lock_give(lock);
  return many || service->closing_count > CLOSING_MOST || service->orphan_bytes > ORPHANS_MOST;
}

bool tide_lines_reap(struct tide_service *service) {
  uint64_t end = tide_service_now() + REAP_TIME;
  struct tide_link *link = service->closing.next;
  while (link != &service->closing) {
    struct tide_line *line = TIDE_CONTAINER(link, struct tide_line, link);
    link = link->next;
    /* The list is in order of age: the oldest channels are cancelled first. */
    bool crowded = is_crowded(service);
    if (line->queue && (crowded || line->close_by <= tide_service_now())) {
      tide_queue_destroy(line->queue);
      line->queue = NULL;
    }
    if (is_over(line) && tide_service_now() < end) free_line(line);
  }
  tide_stores_reap(service);
  return !tide_list_empty(&service->closing);
}

void tide_lines_end(struct tide_service *service) {
  struct tide_link *link = service->closing.next;
  for (; link != &service->closing; link = link->next)
    TIDE_CONTAINER(link, struct tide_line, link)->close_by = 0;
  const struct tide_platform *platform = service->context->platform;
  while (tide_lines_reap(service)) platform->yield(platform->self);
}
