/* Dependencies of the operations of a simulated plan, and their earliest starts. */
#include "base/array.h"
#include "base/alloc.h"
#include "sim/sim_state.h"

/* ---- timelines ------------------------------------------------------------------- */

static uint64_t hash(uint64_t key) {
  key ^= key >> 29;
  key *= 0xbf58476d1ce4e5b9u;
  return key ^ key >> 32;
}

static struct tide_sim_line *find_line(const struct tide_simulation *s, uint64_t key) {
  if (!s->line_room) return NULL;
  size_t mask = s->line_room - 1, at = (size_t)hash(key) & mask;
  while (s->lines[at].key && s->lines[at].key != key) at = (at + 1) & mask;
  return s->lines[at].key ? &s->lines[at] : NULL;
}

static bool grow_lines(struct tide_simulation *s) {
  size_t capacity = s->line_room ? s->line_room * 2 : 64;
  struct tide_sim_line *lines = tide_alloc(s->allocator, capacity, sizeof *lines);
  if (!lines) return false;
  for (size_t i = 0; i < s->line_room; i++) {
    if (!s->lines[i].key) continue;
    size_t at = (size_t)hash(s->lines[i].key) & (capacity - 1);
    while (lines[at].key) at = (at + 1) & (capacity - 1);
    lines[at] = s->lines[i];
  }
  tide_free(s->allocator, s->lines, s->line_room, sizeof *s->lines);
  s->lines = lines;
  s->line_room = capacity;
  return true;
}

static struct tide_sim_line *line_of(struct tide_simulation *s, uint64_t key) {
  struct tide_sim_line *line = find_line(s, key);
  if (line) return line;
  if (2 * (s->line_count + 1) > s->line_room && !grow_lines(s)) return NULL;
  size_t mask = s->line_room - 1, at = (size_t)hash(key) & mask;
  while (s->lines[at].key) at = (at + 1) & mask;
  s->lines[at].key = key;
  s->line_count++;
  return &s->lines[at];
}

/* Adds a signal in the order of values. Values mostly arrive in order; an operation that was held
 * may signal a smaller one. */
static bool add_signal(struct tide_simulation *s, uint64_t key, uint64_t value, uint32_t op) {
  struct tide_sim_line *line = line_of(s, key);
  if (!line || !tide_array_reserve(s->allocator, &line->signals, &line->capacity, line->count + 1,
                                   sizeof *line->signals))
    return false;
  size_t at = line->count++;
  for (; at && line->signals[at - 1].value > value; at--) line->signals[at] = line->signals[at - 1];
  line->signals[at] = (struct tide_sim_signal){value, op};
  return true;
}

/* Returns the first signal at or above a value. A search mostly finds the same signal as the
 * previous one, or the next: a binary search would miss the caches at each step. */
static size_t first_signal(struct tide_sim_line *line, uint64_t value) {
  size_t low = 0, high = line->count;
  for (size_t at = line->found; at < line->found + 2 && at < line->count; at++)
    if (line->signals[at].value >= value && (!at || line->signals[at - 1].value < value))
      return line->found = at;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (line->signals[middle].value < value) low = middle + 1;
    else high = middle;
  }
  return line->found = low;
}

/* ---- submitting ---------------------------------------------------------------------- */

static uint64_t key_of(const struct tide_timeline *timeline) {
  return (uint64_t)(uintptr_t)timeline;
}

static bool add_wait(struct tide_simulation *s, uint64_t key, uint64_t value, bool axis) {
  if (!tide_array_reserve(s->allocator, &s->waits, &s->wait_room, s->wait_count + 1,
                          sizeof *s->waits))
    return false;
  s->waits[s->wait_count++] = (struct tide_sim_wait){key, value, axis};
  return true;
}

/* Adds waits for the last users of a recycled buffer. */
static bool add_gaps(struct tide_simulation *s, const struct tide_buffer *buffer) {
  bool good = true;
  for (size_t i = 0; i < s->gap_count && good; i++)
    if (s->gaps[i].buffer == buffer) good = add_wait(s, s->gaps[i].axis, s->gaps[i].epoch, true);
  return good;
}

static uint32_t progress_line(const struct tide_simulation *s, const struct tide_step *step) {
  return step->kind == TIDE_STEP_PART ? s->tables->collectives[step->collective].timeline
                                      : TIDE_PLAN_NONE;
}

/* Returns the key of a collective's progress, which no operation of the plan signals: a number that
 * is never an address. */
static uint64_t progress_key(uint32_t timeline) { return (uint64_t)timeline + 1; }

/* Adds a piece that an operation takes, in the order of the pieces. */
static bool add_tag(struct tide_simulation *s, const struct tide_step *step,
                    const struct tide_step_value *tag) {
  bool progress = s->tables->timelines[tag->timeline].collective != TIDE_PLAN_NONE;
  if (!tide_array_reserve(s->allocator, &s->tags, &s->tag_capacity, s->tag_count + 1,
                          sizeof *s->tags))
    return false;
  s->tags[s->tag_count++] = (struct tide_sim_tag){
      progress ? progress_key(tag->timeline) : key_of(tide_run_timeline(s->run, tag->timeline)),
      tag->timeline, tag->value};
  s->ops[s->op_count - 1].after = step->after;
  return true;
}

static bool note_values(struct tide_simulation *s, const struct tide_step *step,
                        const struct tide_operation *operation, uint32_t number) {
  bool good = true, plain = s->params.mode == TIDE_RUN_TRACKED;
  for (size_t i = 0; i < operation->wait_count && good; i++) {
    uint32_t timeline = plain ? step->waits[i].timeline : 0;
    bool progress = plain && s->tables->timelines[timeline].collective != TIDE_PLAN_NONE;
    good = add_wait(s, progress ? progress_key(timeline) : key_of(operation->waits[i].timeline),
                    operation->waits[i].value, false);
  }
  for (size_t i = 0; plain && !step->took && i < step->piece_count && good; i++)
    good = add_tag(s, step, &step->tags[step->pieces[i].tag]);
  for (size_t i = 0; i < operation->buffer_count && good; i++)
    good = add_gaps(s, operation->buffers[i].buffer);
  for (size_t i = 0; i < operation->signal_count && good; i++)
    good =
        add_signal(s, key_of(operation->signals[i].timeline), operation->signals[i].value, number);
  if (good && step->member == 0 && progress_line(s, step) != TIDE_PLAN_NONE)
    good = add_signal(s, progress_key(progress_line(s, step)), step->instance, number);
  return good;
}

void tide_sim_note(struct tide_simulation *s, const struct tide_step *step,
                   const struct tide_operation *operation) {
  uint32_t number = (uint32_t)s->op_count;
  struct tide_sim_queue *queue = &s->queues[step->queue];
  if (!tide_array_reserve(s->allocator, &s->ops, &s->op_room, s->op_count + 1, sizeof *s->ops) ||
      !tide_array_reserve(s->allocator, &queue->operations, &queue->capacity, queue->count + 1,
                          sizeof *queue->operations)) {
    s->no_memory = true;
    return;
  }
  struct tide_sim_op *op = &s->ops[s->op_count++];
  *op = (struct tide_sim_op){.step = step->number,
                             .submitted = tide_clock_now(s->clock),
                             .queue = step->queue,
                             .by = TIDE_SIM_NONE,
                             .before_it = TIDE_SIM_NONE,
                             .waits = (uint32_t)s->wait_count,
                             .tags = (uint32_t)s->tag_count,
                             .last_part = number,
                             .collective = step->collective,
                             .part_of = step->kind == TIDE_STEP_PART ? number - step->member
                                                                     : TIDE_SIM_NONE};
  queue->operations[queue->count++] = number;
  if (!note_values(s, step, operation, number)) s->no_memory = true;
  op->wait_count = (uint32_t)s->wait_count - op->waits;
  op->tag_count = (uint32_t)s->tag_count - op->tags;
}

/* ---- events of the library -------------------------------------------------------------- */

bool tide_sim_know_axes(struct tide_simulation *s) {
  for (uint32_t i = 0; i < s->tables->queue_count; i++) {
    tide_axis axis = s->queues[i].axis;
    unsigned domain = (unsigned)tide_axis_domain(axis);
    if (domain >= TIDE_DOMAIN_COUNT) return false;
    size_t ordinal = (size_t)tide_axis_ordinal(axis), before = s->axis_capacity[domain];
    if (!tide_array_reserve(s->allocator, &s->axis_queues[domain], &s->axis_capacity[domain],
                            ordinal + 1, sizeof **s->axis_queues))
      return false;
    for (size_t j = before; j < s->axis_capacity[domain]; j++)
      s->axis_queues[domain][j] = TIDE_SIM_NONE;
    s->axis_queues[domain][ordinal] = i;
  }
  return true;
}

static struct tide_sim_queue *queue_of(const struct tide_simulation *s, tide_axis axis) {
  unsigned domain = (unsigned)tide_axis_domain(axis);
  uint64_t ordinal = tide_axis_ordinal(axis);
  if (domain >= TIDE_DOMAIN_COUNT || ordinal >= s->axis_capacity[domain]) return NULL;
  uint32_t queue = s->axis_queues[domain][ordinal];
  return queue == TIDE_SIM_NONE ? NULL : &s->queues[queue];
}

static void forget_gaps(struct tide_simulation *s, const void *buffer) {
  size_t kept = 0;
  for (size_t i = 0; i < s->gap_count; i++)
    if (s->gaps[i].buffer != buffer) s->gaps[kept++] = s->gaps[i];
  s->gap_count = kept;
}

static void on_alloc(struct tide_simulation *s, const struct tide_event *event) {
  const struct tide_frontier *past = event->frontier;
  if (s->gap_count) forget_gaps(s, event->object);
  if ((event->detail & 255) != TIDE_REUSE_GAP || !past) return;
  if (!tide_array_reserve(s->allocator, &s->gaps, &s->gap_capacity, s->gap_count + past->count,
                          sizeof *s->gaps)) {
    s->no_memory = true;
    return;
  }
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(past); tide_frontier_next(&at, &entry);)
    s->gaps[s->gap_count++] = (struct tide_sim_gap){event->object, entry.axis, entry.epoch};
}

static void on_wait(struct tide_simulation *s, const struct tide_event *event) {
  struct tide_sim_queue *queue = queue_of(s, event->axis);
  if ((event->detail & 255) != TIDE_WAIT_ISSUED || !queue) return;
  if (event->sequence && event->sequence <= queue->count)
    s->ops[queue->operations[event->sequence - 1]].issued++;
}

void tide_sim_event(void *self, const struct tide_event *event) {
  struct tide_simulation *s = self;
  if (event->kind == TIDE_EVENT_WAIT_CLASS) on_wait(s, event);
  if (event->kind == TIDE_EVENT_ALLOC) on_alloc(s, event);
  if (s->params.sink) s->params.sink->event(s->params.sink->self, event);
}

/* ---- earliest start ----------------------------------------------------------------------- */

static uint32_t device_of(const struct tide_simulation *s, const struct tide_sim_op *op) {
  return s->tables->queues[op->queue].device;
}

static void after_for(struct tide_simulation *s, struct tide_sim_op *op, uint32_t cause,
                      uint64_t latency) {
  const struct tide_sim_op *other = &s->ops[cause];
  if (!other->over || other == op) return;
  if (other->end + latency > op->could) {
    op->could = other->end + latency;
    op->by = cause;
  }
  if (other->chain + latency > op->chain_start) op->chain_start = other->chain + latency;
}

static void after_operation(struct tide_simulation *s, struct tide_sim_op *op, uint32_t cause) {
  after_for(s, op, cause, tide_sim_latency(s, device_of(s, &s->ops[cause]), device_of(s, op)));
}

/* Waits for a collective's progress: its last part has ended, and the signal of its farthest member
 * has arrived. */
static void after_all(struct tide_simulation *s, struct tide_sim_op *op, uint32_t first) {
  after_for(s, op, s->ops[first].last_part,
            tide_sim_farthest(s, s->ops[first].collective, device_of(s, op)));
}

static void after_wait(struct tide_simulation *s, struct tide_sim_op *op,
                       const struct tide_sim_wait *wait) {
  if (wait->axis) {
    const struct tide_sim_queue *queue = queue_of(s, wait->key);
    if (queue && wait->value && wait->value <= queue->entered_count &&
        queue->entered[wait->value - 1] != TIDE_SIM_NONE)
      after_operation(s, op, queue->entered[wait->value - 1]);
    return;
  }
  struct tide_sim_line *line = find_line(s, wait->key);
  if (!line) return;
  size_t at = first_signal(line, wait->value);
  if (at == line->count) return;
  uint32_t cause = line->signals[at].operation;
  if (wait->key <= s->tables->timeline_count) after_all(s, op, cause);
  else after_operation(s, op, cause);
}

bool tide_sim_arrival(struct tide_simulation *s, const struct tide_sim_op *op, uint64_t key,
                      uint64_t value, uint32_t *out_by, uint64_t *out_time, uint64_t *out_chain) {
  struct tide_sim_op when = {.queue = op->queue, .by = TIDE_SIM_NONE};
  struct tide_sim_wait wait = {key, value, false};
  after_wait(s, &when, &wait);
  *out_by = when.by;
  *out_time = when.could;
  *out_chain = when.chain_start;
  return when.by != TIDE_SIM_NONE;
}

/* Waits for the previous operation of the queue: for its end in order, for its start out of
 * order. */
static void after_previous(struct tide_simulation *s, struct tide_sim_op *op) {
  uint32_t last = s->queues[op->queue].last;
  if (last == TIDE_SIM_NONE) return;
  const struct tide_sim_op *other = &s->ops[last];
  bool in_order = s->devices[device_of(s, op)].in_order;
  uint64_t time = in_order ? other->end : other->start;
  uint64_t chain = in_order ? other->chain : other->chain_start;
  if (time > op->could) {
    op->could = time;
    op->by = last;
    op->by_memory = false;
  }
  if (chain > op->chain_start) op->chain_start = chain;
}

static void settle_alone(struct tide_simulation *s, struct tide_sim_op *op) {
  op->could = op->chain_start = op->submitted;
  for (uint32_t i = 0; i < op->wait_count; i++) {
    const struct tide_sim_wait *wait = &s->waits[op->waits + i];
    uint64_t before = op->could;
    after_wait(s, op, wait);
    if (op->could > before) op->by_memory = wait->axis;
  }
  after_previous(s, op);
}

/* Settles the parts of an instance: all start when the last one has arrived and its signal has
 * reached every member. */
static void settle_parts(struct tide_simulation *s, uint32_t first, uint32_t count) {
  uint64_t could = 0, chain = 0, latency = 0;
  uint32_t by = TIDE_SIM_NONE;
  bool by_memory = false;
  for (uint32_t i = first; i < first + count; i++) {
    struct tide_sim_op *op = &s->ops[i];
    settle_alone(s, op);
    if (op->could >= could) {
      could = op->could;
      by = op->by;
      by_memory = op->by_memory;
    }
    if (op->chain_start > chain) chain = op->chain_start;
    uint64_t far = tide_sim_farthest(s, op->collective, device_of(s, op));
    if (far > latency) latency = far;
  }
  for (uint32_t i = first; i < first + count; i++) {
    struct tide_sim_op *op = &s->ops[i];
    op->could = could + latency;
    op->chain_start = chain + latency;
    op->by = by;
    op->by_memory = by_memory;
    op->settled = true;
  }
}

void tide_sim_settle(struct tide_simulation *s, uint32_t operation) {
  struct tide_sim_op *op = &s->ops[operation];
  if (op->settled) return;
  op->settled = true;
  if (op->part_of == TIDE_SIM_NONE) {
    settle_alone(s, op);
    return;
  }
  uint32_t end = op->part_of;
  while (end < s->op_count && s->ops[end].part_of == op->part_of) end++;
  settle_parts(s, op->part_of, end - op->part_of);
}

/* Prefetches the queue's coming operations: they have left the caches since their submission. */
static void fetch_behind(const struct tide_simulation *s, const struct tide_sim_queue *queue,
                         uint64_t epoch) {
  if (epoch + 4 > queue->count) return;
  tide_fetch_lines(&s->ops[queue->operations[epoch + 3]], 3);
  const struct tide_sim_op *next = &s->ops[queue->operations[epoch + 1]];
  if (next->wait_count) tide_fetch_lines(&s->waits[next->waits], 1);
}

void tide_sim_taken(struct tide_simulation *s, uint32_t operation, uint64_t epoch) {
  struct tide_sim_queue *queue = &s->queues[s->ops[operation].queue];
  queue->last = operation;
  fetch_behind(s, queue, epoch);
  if (!tide_array_reserve(s->allocator, &queue->entered, &queue->entered_capacity, (size_t)epoch,
                          sizeof *queue->entered)) {
    s->no_memory = true;
    return;
  }
  while (queue->entered_count < epoch) queue->entered[queue->entered_count++] = TIDE_SIM_NONE;
  queue->entered[epoch - 1] = operation;
}

void tide_sim_past_free(struct tide_simulation *s) {
  const struct tide_allocator *a = s->allocator;
  for (size_t i = 0; s->lines && i < s->line_room; i++)
    tide_free(a, s->lines[i].signals, s->lines[i].capacity, sizeof *s->lines[i].signals);
  tide_free(a, s->lines, s->line_room, sizeof *s->lines);
  for (size_t i = 0; s->queues && i < s->tables->queue_count; i++) {
    tide_free(a, s->queues[i].operations, s->queues[i].capacity, sizeof *s->queues[i].operations);
    tide_free(a, s->queues[i].entered, s->queues[i].entered_capacity, sizeof *s->queues[i].entered);
  }
  tide_free(a, s->queues, s->tables->queue_count, sizeof *s->queues);
  tide_free(a, s->ops, s->op_room, sizeof *s->ops);
  tide_free(a, s->waits, s->wait_room, sizeof *s->waits);
  tide_free(a, s->gaps, s->gap_capacity, sizeof *s->gaps);
  for (size_t i = 0; i < TIDE_DOMAIN_COUNT; i++)
    tide_free(a, s->axis_queues[i], s->axis_capacity[i], sizeof **s->axis_queues);
}
