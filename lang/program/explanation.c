/* Records a run: the frontiers of its queues, the classes of its waits, and the reuse of its
 * buffers. */
#include "program/explanation.h"

#include "base/array.h"
#include "base/alloc.h"
#include "program/arena.h"
#include "program/run_state.h"

/* ---- axes --------------------------------------------------------------------------- */

bool tide_explanation_queue(const struct tide_explanation *e, tide_axis axis, uint32_t *out_queue) {
  unsigned domain = (unsigned)tide_axis_domain(axis);
  uint64_t ordinal = tide_axis_ordinal(axis);
  if (domain >= TIDE_DOMAIN_COUNT || ordinal >= e->queue_of_capacity[domain]) return false;
  if (!e->queue_of[domain][ordinal]) return false;
  *out_queue = e->queue_of[domain][ordinal] - 1;
  return true;
}

/* Collectives have consecutive ordinals, in the order of the plan. */
bool tide_explanation_collective(const struct tide_explanation *e, tide_axis axis,
                                 uint32_t *out_collective) {
  uint64_t ordinal = tide_axis_ordinal(axis);
  if (tide_axis_domain(axis) != TIDE_DOMAIN_COLLECTIVE) return false;
  if (ordinal < 1 || ordinal > e->tables->collective_count) return false;
  *out_collective = (uint32_t)(ordinal - 1);
  return true;
}

static bool know_queue(struct tide_explanation *e, uint32_t queue, tide_axis axis) {
  unsigned domain = (unsigned)tide_axis_domain(axis);
  if (domain >= TIDE_DOMAIN_COUNT) return false;
  size_t ordinal = (size_t)tide_axis_ordinal(axis), before = e->queue_of_capacity[domain];
  if (!tide_array_reserve(e->allocator, &e->queue_of[domain], &e->queue_of_capacity[domain],
                          ordinal + 1, sizeof **e->queue_of))
    return false;
  if (e->queue_of_capacity[domain] > before)
    memset(e->queue_of[domain] + before, 0,
           (e->queue_of_capacity[domain] - before) * sizeof **e->queue_of);
  e->queue_of[domain][ordinal] = queue + 1;
  e->queues[queue].axis = axis;
  return true;
}

void tide_explanation_follow(struct tide_explanation *e, const struct tide_run *run) {
  e->host = run->host.axis;
  for (uint32_t i = 0; i < e->tables->queue_count; i++)
    if (!know_queue(e, i, tide_run_queue_axis(run, i))) e->failed = true;
}

/* ---- events ------------------------------------------------------------------------- */

struct tide_explained *tide_explanation_at(const struct tide_explanation *e, tide_axis axis,
                                           uint64_t sequence) {
  uint32_t queue;
  if (!axis || !tide_explanation_queue(e, axis, &queue)) return NULL;
  if (!sequence || sequence > e->queues[queue].count) return NULL;
  return &e->queues[queue].operations[sequence - 1];
}

static struct tide_frontier *copy_frontier(struct tide_explanation *e,
                                           const struct tide_frontier *from) {
  uint8_t capacity = from->count ? from->count : 1;
  struct tide_frontier *to = tide_alloc(e->allocator, 1, tide_frontier_size(capacity));
  if (!to) {
    e->failed = true;
    return NULL;
  }
  tide_frontier_init(to, capacity);
  tide_frontier_copy(to, from, NULL);
  return to;
}

static void free_frontier(struct tide_explanation *e, struct tide_frontier *frontier) {
  if (frontier) tide_free(e->allocator, frontier, 1, tide_frontier_size(frontier->capacity));
}

static void on_enter(struct tide_explanation *e, const struct tide_event *event) {
  struct tide_explained *explained = tide_explanation_at(e, event->axis, event->sequence);
  uint32_t queue;
  if (!explained || !tide_explanation_queue(e, event->axis, &queue)) return;
  if (!event->epoch || event->epoch > e->queues[queue].count || explained->epoch) return;
  explained->epoch = event->epoch;
  explained->known = event->frontier ? copy_frontier(e, event->frontier) : NULL;
  e->queues[queue].sequences[event->epoch - 1] = event->sequence;
}

static struct tide_explained_wait *add_wait(struct tide_explanation *e,
                                            struct tide_explained *explained, const char *label) {
  if (!tide_array_reserve_unset(e->allocator, &explained->waits, &explained->wait_room,
                                explained->wait_count + 1, sizeof *explained->waits)) {
    e->failed = true;
    return NULL;
  }
  struct tide_explained_wait *wait = &explained->waits[explained->wait_count++];
  struct tide_text text;
  *wait = (struct tide_explained_wait){.value = 0};
  tide_text_init(&text, wait->timeline, sizeof wait->timeline);
  tide_text_format(&text, "%s", label);
  return wait;
}

static void on_wait(struct tide_explanation *e, const struct tide_event *event) {
  struct tide_explained *explained = tide_explanation_at(e, event->axis, event->sequence);
  struct tide_explained_wait *wait = explained ? add_wait(e, explained, event->object_label) : NULL;
  if (!wait) return;
  wait->value = event->value;
  wait->class_ = event->detail & 255;
  wait->reason = event->detail >> 8 & 255;
  wait->axis = event->cause_axis;
  wait->epoch = event->cause_epoch;
  wait->record_value = event->cause_value;
}

static void add_memory_wait(struct tide_explanation *e, struct tide_explained *explained,
                            const struct tide_event *event, tide_axis axis, uint64_t epoch) {
  struct tide_explained_wait *wait = add_wait(e, explained, event->object_label);
  if (!wait) return;
  wait->is_memory = true;
  wait->class_ = TIDE_WAIT_ISSUED;
  wait->axis = axis;
  wait->epoch = epoch;
}

/* Adds a wait for each of the last users, or for the one operation that dominates all of them. */
static void on_gap(struct tide_explanation *e, const struct tide_event *event) {
  struct tide_explained *explained = tide_explanation_at(e, event->axis, event->sequence);
  if (!explained) return;
  e->memory_waits++;
  if (event->cause_axis) {
    add_memory_wait(e, explained, event, event->cause_axis, event->cause_epoch);
    return;
  }
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(event->frontier);
       tide_frontier_next(&at, &entry);)
    add_memory_wait(e, explained, event, entry.axis, entry.epoch);
}

/* True if the device keeps this wait. A gap may wait for several operations, of which the wait for
 * a signaller is the sum. */
static bool is_kept_wait(const struct tide_explained_wait *wait, const struct tide_event *event) {
  if (wait->class_ != TIDE_WAIT_ISSUED || strcmp(wait->timeline, event->object_label) != 0)
    return false;
  bool is_memory = event->detail & TIDE_KEPT_GAP;
  return wait->is_memory == is_memory && (is_memory || wait->value == event->value);
}

static void on_kept(struct tide_explanation *e, const struct tide_event *event) {
  struct tide_explained *explained = tide_explanation_at(e, event->axis, event->sequence);
  for (size_t i = 0; explained && i < explained->wait_count; i++) {
    struct tide_explained_wait *wait = &explained->waits[i];
    unsigned kept = event->detail & 255;
    if (is_kept_wait(wait, event) && wait->kept < kept) wait->kept = kept;
  }
}

static void on_alloc(struct tide_explanation *e, const struct tide_event *event) {
  if (!event->axis) return; /* by the host: a static buffer */
  if (!tide_array_reserve(e->allocator, &e->allocs, &e->alloc_capacity, e->alloc_count + 1,
                          sizeof *e->allocs)) {
    e->failed = true;
    return;
  }
  e->allocs[e->alloc_count++] = (struct tide_explained_alloc){
      event->detail & 255, event->frontier ? copy_frontier(e, event->frontier) : NULL};
}

static void on_event(void *self, const struct tide_event *event) {
  struct tide_explanation *e = self;
  struct tide_explained *explained;
  switch (event->kind) {
    case TIDE_EVENT_ENTER: on_enter(e, event); break;
    case TIDE_EVENT_WAIT_CLASS: on_wait(e, event); break;
    case TIDE_EVENT_GAP: on_gap(e, event); break;
    case TIDE_EVENT_ALLOC: on_alloc(e, event); break;
    case TIDE_EVENT_KEPT: on_kept(e, event); break;
    case TIDE_EVENT_OUT:
      explained = tide_explanation_at(e, event->axis, event->sequence);
      if (explained) explained->is_out = e->runs_ahead = true;
      break;
    case TIDE_EVENT_HOLD:
      explained = tide_explanation_at(e, event->axis, event->sequence);
      if (explained) explained->held = true;
      break;
    default: break;
  }
  if (e->next) e->next->event(e->next->self, event);
}

/* ---- making ------------------------------------------------------------------------ */

static bool make_queues(struct tide_explanation *e) {
  e->queues = tide_alloc(e->allocator, e->tables->queue_count, sizeof *e->queues);
  if (!e->queues) return false;
  for (size_t i = 0; i < e->tables->queue_count; i++) {
    struct tide_explained_queue *queue = &e->queues[i];
    queue->count = (size_t)e->tables->queues[i].operations;
    queue->operations = tide_alloc(e->allocator, queue->count, sizeof *queue->operations);
    queue->sequences = tide_alloc(e->allocator, queue->count, sizeof *queue->sequences);
    if (!queue->operations || !queue->sequences) return false;
  }
  return true;
}

/* Notes the position of each operation, so that explanations of others can name it. */
static bool note_places(struct tide_explanation *e) {
  size_t count = e->tables->queue_count;
  uint64_t *submitted = tide_alloc(e->allocator, count, sizeof *submitted);
  struct tide_step step;
  if (!submitted) return false;
  tide_plan_rewind(e->plan);
  while (tide_plan_next(e->plan, &step, NULL) == TIDE_OK && step.kind != TIDE_STEP_END) {
    if (!tide_step_submits(&step)) continue;
    struct tide_explained *explained = &e->queues[step.queue].operations[submitted[step.queue]++];
    explained->step = step.number;
    explained->line = step.line;
    explained->column = step.column;
  }
  tide_free(e->allocator, submitted, count, sizeof *submitted);
  return true;
}

enum tide_status tide_explanation_init(struct tide_explanation *e,
                                       const struct tide_allocator *allocator,
                                       struct tide_plan *plan, const struct tide_sink *next) {
  *e = (struct tide_explanation){.allocator = allocator, .plan = plan, .next = next};
  e->tables = tide_plan_tables(plan);
  e->sink =
      (struct tide_sink){.event = on_event, .wants_time = next && next->wants_time, .self = e};
  if (make_queues(e) && note_places(e)) return TIDE_OK;
  tide_explanation_fini(e);
  return TIDE_NOMEM;
}

void tide_explanation_fini(struct tide_explanation *e) {
  const struct tide_allocator *a = e->allocator;
  if (!a) return;
  for (size_t i = 0; e->queues && i < e->tables->queue_count; i++) {
    struct tide_explained_queue *queue = &e->queues[i];
    for (size_t j = 0; queue->operations && j < queue->count; j++) {
      struct tide_explained *explained = &queue->operations[j];
      free_frontier(e, explained->known);
      tide_free(a, explained->waits, explained->wait_room, sizeof *explained->waits);
    }
    tide_free(a, queue->operations, queue->count, sizeof *queue->operations);
    tide_free(a, queue->sequences, queue->count, sizeof *queue->sequences);
  }
  for (size_t i = 0; i < e->alloc_count; i++) free_frontier(e, e->allocs[i].past);
  tide_free(a, e->allocs, e->alloc_capacity, sizeof *e->allocs);
  tide_free(a, e->queues, e->tables->queue_count, sizeof *e->queues);
  for (size_t i = 0; i < TIDE_DOMAIN_COUNT; i++)
    tide_free(a, e->queue_of[i], e->queue_of_capacity[i], sizeof **e->queue_of);
  *e = (struct tide_explanation){.allocator = NULL};
}
