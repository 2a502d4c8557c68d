/* Devices that run ahead: random programs on fake hardware, judged by sets of what must be over.
 *
 *   [SEED=N] [VERBOSE=1] oracle-ahead
 *
 * A program has up to five queues, on a CPU device or on the hardware queues of two devices of one
 * group. Hardware queues 0 and 1 are of the first device, 2 of the second. A hardware queue starts
 * its submissions in order, overlaps them unless a barrier stands between, and ends them in any
 * order. A submission's signal comes when it and all before are over. Writes become visible to a
 * later submission through its barriers and waits alone.
 *
 * A timeline has one or several values, each signalled by one operation, or by the host. An
 * operation that waits for a later value of the host is held, and all behind it in its queue.
 *
 * The fake plays the backend: it records, refuses, submits, sleeps until the awaited end or a kick,
 * loses its device. The truth is kept apart, as masks of operations: which must be over before one
 * starts by its declared waits, its queue's order and its memory's former users. */
#include "harness.h"

#include "base/random.h"
#include "tidemark/tidemark.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPS = 60, QUEUES = 5, HARDWARE = 3, GPUS = 2, AHEAD = 4, BLOCKS = 3, BLOCK = 4096 };
enum { IDLE_STEPS = 20000, WAITS = 4, HOST_LINES = 2 };

static const int gpu_of[HARDWARE] = {0, 0, 1};

/* A timeline and its state. Values above `reached` fail from `fails_from` on. */
struct line {
  struct tide_timeline *handle;
  bool is_host, operations_only;
  uint64_t reached, fails_from;
  uint64_t wanted; /* of the host: the highest awaited value */
  int count;       /* signals of operations, by value */
  struct {
    uint64_t value;
    struct op *by;
  } signals[OPS];
};

/* A wait: `by` signals the lowest value that is high enough; NULL: the host. */
struct await {
  struct line *line;
  uint64_t value;
  struct op *by;
};

struct op {
  int queue, epoch; /* epoch: from 1; 0: held, or it left before it entered */
  struct line *line;
  uint64_t value; /* that it signals */
  uint64_t sequence;
  int await_count;
  struct await awaits[WAITS];
  uint64_t
      before; /* all that must be over before it starts, and, failed or not, published before */
  uint64_t unnamed;   /* what must be over only before it starts: its record is not imported */
  uint64_t memory;    /* former users of its buffer's memory */
  uint64_t finish;    /* all that is over once it is published */
  bool dead_wait;     /* a value had failed when it entered */
  bool failed_before; /* it had failed when it entered, or would wait for itself */
  bool unpromised;    /* a value was not promised when it entered */
  bool external;      /* its signal has no record */
  bool has_body, waits_inside, fails, refused, partial, was_held, cancelled;
  bool given, out, running, over, ran, published, left;
  enum tide_status status; /* as published */
  struct tide_work *work;
  struct tide_submission submission;
  int hardware;               /* -1: none */
  uint64_t visible[HARDWARE]; /* submissions whose writes it sees */
  uint64_t through[HARDWARE]; /* what a waiter for it sees */
};

struct queue {
  struct tide_queue *handle;
  tide_axis axis;
  int hardware; /* -1: the CPU */
  bool in_order;
  int count;
  struct op *ops[OPS];      /* as submitted */
  int entered;              /* the newest epoch */
  struct op *by_epoch[OPS]; /* by_epoch[i] has epoch i + 1 */
};

struct gpu {
  struct world *world;
  struct tide_device *device;
  bool kicked, asleep, lost, certified, in_order;
  int pace;            /* one step in so many */
  bool has_listener;   /* a thread of its own reports ends: only kicks wake the submitting one */
  bool heard;          /* and a kick came since it asked which end is awaited */
  struct op *hand[16]; /* given, in order */
  int hands;
};

struct hardware {
  struct op *ring[OPS]; /* ring[i] is submission i + 1; NULL: refused */
  int count;
  uint64_t visible[HARDWARE];
  uint64_t reported, listening;
  uint64_t released;
  int cut; /* lost: submissions from here on do not signal */
};

/* What happened in a program. */
enum feature {
  HAS_NATIVE,
  HAS_BARRIER,
  HAS_REACHED,
  HAS_AHEAD,
  HAS_VAIN,
  HAS_FAILED,
  HAS_GAP,
  HAS_LOST,
  HAS_RELEASED,
  HAS_REFUSED,
  HAS_PARTIAL,
  HAS_KEPT,
  HAS_SKIPPED,
  HAS_CANCELLED,
  HAS_LEFT,
  HAS_SHARED,
  HAS_BETWEEN,
  HAS_EXTERNAL,
  HAS_HELD,
  HAS_BEHIND,
  HAS_HOST_VALUE,
  HAS_HOST_FAILED,
  HAS_FULL_QUEUE,
  HAS_FULL_HARDWARE,
  FEATURE_COUNT
};
static const char *const feature_names[FEATURE_COUNT] = {
    [HAS_NATIVE] = "native",
    [HAS_BARRIER] = "barrier",
    [HAS_REACHED] = "reached",
    [HAS_AHEAD] = "ahead",
    [HAS_VAIN] = "vain",
    [HAS_FAILED] = "failed",
    [HAS_GAP] = "gap",
    [HAS_LOST] = "lost",
    [HAS_RELEASED] = "released",
    [HAS_REFUSED] = "refused",
    [HAS_PARTIAL] = "partial",
    [HAS_KEPT] = "kept",
    [HAS_SKIPPED] = "skipped",
    [HAS_CANCELLED] = "cancelled",
    [HAS_LEFT] = "left",
    [HAS_SHARED] = "shared",
    [HAS_BETWEEN] = "between",
    [HAS_EXTERNAL] = "external",
    [HAS_HELD] = "held",
    [HAS_BEHIND] = "behind",
    [HAS_HOST_VALUE] = "host value",
    [HAS_HOST_FAILED] = "host failed",
    [HAS_FULL_QUEUE] = "full queue",
    [HAS_FULL_HARDWARE] = "full hardware",
};

struct totals {
  uint64_t programs[FEATURE_COUNT]; /* in which it happened */
  uint64_t ran;
};

struct world {
  struct tide_random random;
  struct tide_context *context;
  struct tide_sink sink;
  struct tide_device *cpu;
  struct tide_pool *pool;
  struct gpu gpus[GPUS];
  struct hardware hardware[HARDWARE];
  struct queue queues[QUEUES];
  int queue_count, count, total;
  struct op ops[OPS];
  struct line lines[OPS + HOST_LINES]; /* first those of the host */
  int line_count;
  const void *block[BLOCKS];
  uint64_t users[BLOCKS];
  int block_count;
  struct tide_work *on_cpu[QUEUES];
  int cpu_works;
  bool host_fails, lossy, cancels, has_host_values, has_small_frontiers;
  bool has[FEATURE_COUNT];
  bool wrong;
  char why[512];
  uint64_t notes;
  char log[1 << 15];
  size_t logged;
};

__attribute__((format(printf, 2, 3))) static void wrong(struct world *w, const char *format, ...) {
  va_list list;
  if (w->wrong) return;
  va_start(list, format);
  vsnprintf(w->why, sizeof w->why, format, list);
  va_end(list);
  w->wrong = true;
}
__attribute__((format(printf, 2, 3))) static void note(struct world *w, const char *format, ...) {
  va_list list;
  w->notes++;
  va_start(list, format);
  int length = vsnprintf(w->log + w->logged, sizeof w->log - w->logged, format, list);
  va_end(list);
  if (length > 0 && (size_t)length < sizeof w->log - w->logged) w->logged += (size_t)length;
}

static int draw(struct world *w, int limit) {
  return (int)tide_random_below(&w->random, (uint64_t)limit);
}
static uint64_t bit(const struct world *w, const struct op *op) { return 1ull << (op - w->ops); }

#define NAME "%d:%d"
#define NAMED(op) (op)->queue, (op)->epoch

/* ---- timelines ------------------------------------------------------------------------- */

/* Fails the line from just above the value that was reached or promised before this one. An
 * operation that has failed when it enters promises none. */
static void fail_signal(struct op *op) {
  struct line *line = op->line;
  uint64_t below = line->reached;
  for (int i = 0; i < line->count && line->signals[i].by != op; i++)
    if (!line->signals[i].by->dead_wait && line->signals[i].value > below)
      below = line->signals[i].value;
  if (below + 1 < line->fails_from) line->fails_from = below + 1;
}

static bool is_dead(const struct await *await) { return await->value >= await->line->fails_from; }

static const struct await *find_dead(const struct op *op) {
  for (int i = 0; i < op->await_count; i++)
    if (is_dead(&op->awaits[i])) return &op->awaits[i];
  return NULL;
}

static struct op *find_signaller(const struct line *line, uint64_t value) {
  for (int i = 0; i < line->count; i++)
    if (line->signals[i].value >= value) return line->signals[i].by;
  return NULL;
}

static struct line *add_line(struct world *w, bool is_host) {
  struct line *line = &w->lines[w->line_count++];
  *line = (struct line){.is_host = is_host, .fails_from = UINT64_MAX};
  line->operations_only = !is_host && draw(w, 2);
  CHECK_OK(tide_timeline_create(
      w->context, TIDE_PARAMS(tide_timeline_params, .operations_only = line->operations_only),
      &line->handle));
  return line;
}

/* ---- judging ----------------------------------------------------------------------- */

/* True if nothing of the operation can touch memory any more, and its place has come. */
static bool is_over(const struct op *op) { return op->published || op->over; }

/* Names the signaller of an awaited value. Valid until the next call. */
static const char *name_await(const struct await *await) {
  static char name[64];
  if (await->by) snprintf(name, sizeof name, NAME, NAMED(await->by));
  else snprintf(name, sizeof name, "the host's value %d", (int)await->value);
  return name;
}

static void check_host_values(struct world *w, const struct op *op, const char *does) {
  for (int i = 0; i < op->await_count; i++) {
    const struct await *await = &op->awaits[i];
    if (!await->by && await->line->reached < await->value)
      wrong(w, NAME " %s, %s is not reached", NAMED(op), does, name_await(await));
  }
}

static void check_start(struct world *w, const struct op *op) {
  check_host_values(w, op, "starts");
  for (int i = 0; i < w->count; i++) {
    const struct op *other = &w->ops[i];
    bool is_memory = op->memory >> i & 1;
    if (!((op->before | op->unnamed | op->memory) >> i & 1)) continue;
    if (!is_over(other))
      wrong(w, NAME " starts, " NAME " is not over%s", NAMED(op), NAMED(other),
            is_memory ? " with its memory" : "");
    if (op->hardware < 0 || !other->ran || other->hardware < 0) continue;
    if (w->gpus[gpu_of[other->hardware]].lost) continue;
    if (other->submission.number > op->visible[other->hardware])
      wrong(w, NAME " starts, what " NAME " wrote is not visible to it", NAMED(op), NAMED(other));
  }
}

/* True if an operation may fail: by itself, its device, or a value that it waits for. If it was
 * held, also since it may not signal what it was to. */
static bool may_fail(const struct world *w, const struct op *op) {
  int h = w->queues[op->queue].hardware;
  bool is_lost = h >= 0 && w->gpus[gpu_of[h]].lost;
  bool is_refused = op->was_held && op->value >= op->line->fails_from;
  return op->cancelled || op->dead_wait || find_dead(op) || is_lost || is_refused ||
         (op->fails && (op->refused || op->ran));
}

static void check_published(struct world *w, struct op *op) {
  const struct await *dead = find_dead(op);
  for (int i = 0; i < w->count; i++) {
    const struct op *other = &w->ops[i];
    bool must = op->before >> i & 1 || (op->status == TIDE_OK && op->unnamed >> i & 1);
    if (must && !other->published)
      wrong(w, NAME " is published before " NAME, NAMED(op), NAMED(other));
  }
  if (op->out && !op->over)
    wrong(w, NAME " is published, what is on the device is not over", NAMED(op));
  if (op->status == TIDE_OK && dead)
    wrong(w, NAME " is good, though %s failed", NAMED(op), name_await(dead));
  if (op->status == TIDE_OK) check_host_values(w, op, "is good");
  if (op->status == TIDE_OK && op->fails)
    wrong(w, NAME " is good, though its body failed", NAMED(op));
  if (op->status != TIDE_OK && !may_fail(w, op))
    wrong(w, NAME " failed for no reason: %s", NAMED(op), tide_status_name(op->status));
  if (op->status == TIDE_OK && op->has_body && !op->ran)
    wrong(w, NAME " is good, and has not run", NAMED(op));
  w->has[HAS_VAIN] |= op->status && op->ran && op->hardware >= 0 && !op->fails;
  w->has[HAS_PARTIAL] |= op->ran && op->hardware >= 0 && op->fails;
  w->has[HAS_SKIPPED] |= !op->out && w->queues[op->queue].hardware >= 0;
  w->has[HAS_FAILED] |= op->status != TIDE_OK;
}

static void publish(struct world *w, struct op *op, enum tide_status status) {
  op->status = status;
  if (status == TIDE_OK && op->value < op->line->fails_from) op->line->reached = op->value;
  note(w, "%s " NAME " %s\n", op->epoch ? "publish" : "leave", NAMED(op), tide_status_name(status));
  if (op->epoch) check_published(w, op);
  else op->left = w->has[HAS_LEFT] = true;
  if (status != TIDE_OK) fail_signal(op);
  op->published = true;
}

static void enter(struct world *w, struct op *op, uint64_t epoch) {
  struct queue *queue = &w->queues[op->queue];
  if (epoch != (uint64_t)++queue->entered)
    wrong(w, "queue %d enters %d as %d", op->queue, (int)(op - w->ops), (int)epoch);
  op->epoch = (int)epoch;
  queue->by_epoch[epoch - 1] = op;
  const struct op *last = epoch > 1 ? queue->by_epoch[epoch - 2] : NULL;
  if (last && last > op) wrong(w, NAME " enters behind " NAME, NAMED(op), NAMED(last));
  if (last && queue->in_order) op->before |= last->finish;
  op->finish = bit(w, op) | op->before | op->memory | (last ? last->finish : 0);
  for (int i = 0; i < w->count; i++) /* the end of a gap is part of the end */
    if (op->memory >> i & 1) op->finish |= w->ops[i].finish;
  note(w, "enter " NAME " as submitted %d\n", NAMED(op), (int)(op - w->ops));
  w->has[HAS_BEHIND] |= op->was_held && queue->hardware >= 0 && !op->await_count;
}

/* Returns the operation with the smallest promised value that will do: one that had failed when it
 * entered promises none. */
static struct op *promised_by(const struct await *await) {
  if (!await->by || !await->by->dead_wait) return await->by;
  for (int i = 0; i < await->line->count; i++) {
    struct op *by = await->line->signals[i].by;
    if (await->line->signals[i].value >= await->value && by->epoch && !by->dead_wait) return by;
  }
  return NULL;
}

/* A wait of an operation that enters. A value that has failed imports nothing, nor does one below
 * the signalled value, which the host might reach. */
static void classify(struct world *w, struct op *op, const struct tide_event *event) {
  enum tide_wait_class class_ = (enum tide_wait_class)(event->detail & 255);
  const struct await *await = op->awaits;
  while (await->line->handle != event->object || await->value != event->value) await++;
  bool is_failed = class_ == TIDE_WAIT_FAILED;
  if (op->failed_before && is_failed) return; /* its waits may be dropped: it may be in a cycle */
  static const char *const names[] = {"failed", "resolved", "elided", "issued", "held"};
  note(w, "  the wait for %d of %d is %s\n", (int)await->value, (int)(await->line - w->lines),
       names[class_]);
  if (is_failed != is_dead(await))
    wrong(w, NAME ": the wait for %s is %s", NAMED(op), name_await(await),
          is_failed ? "failed, and its value is not" : "not failed, and its value is");
  op->dead_wait |= is_failed;
  op->unpromised |= class_ == TIDE_WAIT_HELD;
  struct op *by = promised_by(await);
  if (is_failed || class_ == TIDE_WAIT_HELD || !by) return;
  bool is_named = by->value == await->value || await->line->operations_only;
  if (by->external || (class_ == TIDE_WAIT_ISSUED && !is_named)) {
    op->unnamed |= bit(w, by);
    return;
  }
  op->before |= by->finish;
  op->finish |= by->finish;
}

static void on_event(void *self, const struct tide_event *event) {
  struct world *w = self;
  w->has[HAS_GAP] |= event->kind == TIDE_EVENT_GAP;
  bool is_leaving = event->kind == TIDE_EVENT_FINISH && !event->epoch;
  if (event->kind != TIDE_EVENT_PUBLISH && event->kind != TIDE_EVENT_HOLD && !is_leaving &&
      event->kind != TIDE_EVENT_ENTER && event->kind != TIDE_EVENT_WAIT_CLASS)
    return;
  struct op *op = &w->ops[atoi(event->label)];
  if (event->kind == TIDE_EVENT_HOLD) op->was_held = w->has[HAS_HELD] = true;
  else if (event->kind == TIDE_EVENT_ENTER) {
    op->failed_before = op->dead_wait = event->status != TIDE_OK;
    enter(w, op, event->epoch);
  } else if (event->kind == TIDE_EVENT_WAIT_CLASS) classify(w, op, event);
  else publish(w, op, event->status);
}

/* ---- submitting -------------------------------------------------------------------- */

static enum tide_status never_called(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}
static const struct tide_body_class body_class = {.name = "body", .host = never_called};
static const struct tide_body_class inside_class = {
    .name = "inside", .host = never_called, .waits_inside = true};

/* Gives the operation a buffer; its memory's former users are the truth. */
static struct tide_buffer *draw_buffer(struct world *w, struct op *op, struct queue *queue) {
  struct tide_buffer *buffer = NULL;
  if (draw(w, 5)) return NULL;
  if (tide_queue_alloc(queue->handle, w->pool, BLOCK, "block", &buffer) != TIDE_OK) return NULL;
  const void *data = tide_buffer_data(buffer);
  int at = 0;
  while (at < w->block_count && w->block[at] != data) at++;
  if (at == w->block_count) w->block[w->block_count++] = data;
  op->memory = w->users[at];
  w->users[at] |= bit(w, op);
  return buffer;
}

/* Waits for values of the host, reached or not, and of earlier operations. A value may lie between
 * two that are signalled. */
static void draw_awaits(struct world *w, struct op *op) {
  int wanted = draw(w, WAITS);
  for (int i = 0; i < wanted; i++) {
    struct await await = {.line = &w->lines[draw(w, HOST_LINES)]};
    if (w->has_host_values && draw(w, 16) == 0) {
      await.value = 1 + await.line->reached + (uint64_t)draw(w, 3) - (await.line->reached > 0);
      if (await.value > await.line->wanted) await.line->wanted = await.value;
    } else if (w->count) {
      struct op *other = &w->ops[draw(w, w->count)];
      await.line = other->line;
      await.value = other->value - (uint64_t)(draw(w, 2) && other->value > 1);
      await.by = find_signaller(await.line, await.value);
      w->has[HAS_BETWEEN] |= await.by->value != await.value;
      w->has[HAS_SHARED] |= await.line->count > 1;
      w->has[HAS_EXTERNAL] |= await.by->external;
    } else continue;
    bool again = false;
    for (int k = 0; k < op->await_count; k++)
      again |= op->awaits[k].line == await.line && op->awaits[k].value == await.value;
    if (!again) op->awaits[op->await_count++] = await;
  }
}

/* Returns a line whose newest signaller the operation comes after for sure, else a new one. */
static struct line *draw_line(struct world *w, const struct op *op, const struct op *last) {
  const struct await *first = op->await_count && draw(w, 2) ? op->awaits : NULL;
  bool is_imported = first && first->by && !w->has_small_frontiers &&
                     (first->value == first->by->value || first->line->operations_only);
  const struct op *other = is_imported                               ? first->by
                           : !first && w->queues[op->queue].in_order ? last
                                                                     : NULL;
  if (draw(w, 3) == 0 || !other || !other->epoch || other->external) return add_line(w, false);
  struct line *line = other->line;
  if (line->signals[line->count - 1].by != other || line->fails_from != UINT64_MAX)
    return add_line(w, false);
  return line;
}

static void set_signal(struct world *w, struct op *op, struct line *line) {
  op->line = line;
  op->value = 1 + (uint64_t)draw(w, 2);
  if (line->count) op->value += line->signals[line->count - 1].value;
  line->signals[line->count].value = op->value;
  line->signals[line->count++].by = op;
}

static enum tide_status try_submit(struct world *w, struct op *op, struct tide_buffer *buffer) {
  struct tide_wait waits[WAITS];
  char label[16];
  for (int i = 0; i < op->await_count; i++)
    waits[i] = (struct tide_wait){op->awaits[i].line->handle, op->awaits[i].value};
  struct tide_signal signal = {op->line->handle, op->value, op->external};
  struct tide_use use = {.buffer = buffer, .access = TIDE_WRITE};
  snprintf(label, sizeof label, "%d", (int)(op - w->ops));
  struct tide_operation operation = {.label = label,
                                     .waits = waits,
                                     .wait_count = (uint32_t)op->await_count,
                                     .signals = &signal,
                                     .signal_count = 1,
                                     .buffers = &use,
                                     .buffer_count = buffer != NULL};
  if (op->has_body) operation.body = op->waits_inside ? &inside_class : &body_class;
  return tide_queue_submit(w->queues[op->queue].handle, &operation, &op->sequence, NULL);
}

static void submit(struct world *w) {
  int q = draw(w, w->queue_count);
  struct queue *queue = &w->queues[q];
  if (queue->hardware >= 0 && w->gpus[gpu_of[queue->hardware]].lost) return;
  struct op *op = &w->ops[w->count];
  *op = (struct op){.queue = q, .hardware = -1};
  draw_awaits(w, op);
  op->has_body = draw(w, 12) > 0;
  op->waits_inside = op->has_body && draw(w, 12) == 0;
  op->fails = op->has_body && draw(w, 16) == 0;
  op->partial = draw(w, 2);
  op->external = draw(w, 20) == 0;
  struct op *last = queue->count ? queue->ops[queue->count - 1] : NULL;
  set_signal(w, op, op->external ? add_line(w, false) : draw_line(w, op, last));
  struct tide_buffer *buffer = draw_buffer(w, op, queue);
  note(w, "submit %d to queue %d%s%s signals %d of %d waits", w->count, q,
       op->has_body ? "" : " empty", op->waits_inside ? " inside" : "", (int)op->value,
       (int)(op->line - w->lines));
  for (int i = 0; i < op->await_count; i++)
    note(w, " %d of %d", (int)op->awaits[i].value, (int)(op->awaits[i].line - w->lines));
  note(w, op->memory ? " memory %llx\n" : "\n", (unsigned long long)op->memory);
  w->count++;
  queue->ops[queue->count++] = op;
  enum tide_status status = try_submit(w, op, buffer);
  if (status) wrong(w, "submit says %s", tide_status_name(status));
  if (buffer) tide_queue_free(queue->handle, buffer);
}

/* The host raises one of its timelines. */
static void step_host(struct world *w) {
  struct line *line = &w->lines[draw(w, HOST_LINES)];
  if (line->fails_from != UINT64_MAX || line->reached >= line->wanted || draw(w, 4)) return;
  uint64_t value = line->reached + 1 + (uint64_t)draw(w, 2);
  note(w, "host signals %d of %d\n", (int)value, (int)(line - w->lines));
  line->reached = value;
  w->has[HAS_HOST_VALUE] = true;
  CHECK_OK(tide_timeline_signal_external(line->handle, value));
}

/* ---- the CPU device ------------------------------------------------------------------- */

static struct op *op_of(struct world *w, struct tide_work *work) {
  struct op *op = &w->ops[atoi(tide_work_label(work))];
  if (w->queues[op->queue].axis != tide_work_axis(work) || op->epoch != (int)work->epoch)
    wrong(w, "a work of no operation");
  return op;
}

static void step_cpu(struct world *w) {
  struct tide_work *work = NULL;
  if (w->cpu_works && draw(w, 2)) {
    int at = draw(w, w->cpu_works);
    work = w->on_cpu[at];
    w->on_cpu[at] = w->on_cpu[--w->cpu_works];
    struct op *op = op_of(w, work);
    op->ran = op->over = true;
    op->running = false;
    work->status = op->fails ? TIDE_FAILED : TIDE_OK;
    note(w, "end " NAME "\n", NAMED(op));
    (void)tide_device_exchange(w->cpu, &work, 1, NULL, 0, NULL);
  } else if (w->cpu_works < QUEUES && tide_device_exchange(w->cpu, NULL, 0, &work, 1, NULL)) {
    struct op *op = op_of(w, work);
    note(w, "start " NAME "\n", NAMED(op));
    check_start(w, op);
    if (find_dead(op))
      wrong(w, NAME " runs, though %s failed", NAMED(op), name_await(find_dead(op)));
    op->running = true;
    w->on_cpu[w->cpu_works++] = work;
  }
}

/* ---- the hardware ----------------------------------------------------------------------- */

/* True if the native timeline has reached the submission. */
static bool is_signalled(const struct world *w, int h, uint64_t number) {
  const struct hardware *hardware = &w->hardware[h];
  if (number <= hardware->released) return true;
  if (hardware->cut >= 0 && number > (uint64_t)hardware->cut) return false;
  if (number > (uint64_t)hardware->count) return false;
  for (uint64_t i = 0; i < number; i++)
    if (hardware->ring[i] && !hardware->ring[i]->over) return false;
  return true;
}

static int hardware_of(const struct world *w, const struct tide_native_wait *wait) {
  for (int h = 0, index = 0; h < HARDWARE; h++) {
    index = h && gpu_of[h] == gpu_of[h - 1] ? index + 1 : 0;
    if (w->gpus[gpu_of[h]].device == wait->device && index == (int)wait->hardware_queue) return h;
  }
  FAIL("a wait for no hardware queue");
}

static bool may_start(const struct world *w, int h, int at) {
  const struct hardware *hardware = &w->hardware[h];
  const struct op *op = hardware->ring[at];
  for (int i = 0; i < at; i++) {
    const struct op *other = hardware->ring[i];
    if (other && (!(other->running || other->over) || (op->submission.barrier && !other->over)))
      return false;
  }
  for (uint32_t i = 0; i < op->submission.wait_count; i++) {
    const struct tide_native_wait *wait = &op->submission.waits[i];
    if (!is_signalled(w, hardware_of(w, wait), wait->submission)) return false;
  }
  return true;
}

/* Starts or ends one submission of a hardware queue. */
static void step_hardware(struct world *w, int h) {
  struct hardware *hardware = &w->hardware[h];
  struct op *found = NULL;
  int seen = 0;
  if (w->gpus[gpu_of[h]].certified) return;
  for (int i = 0; i < hardware->count; i++) {
    struct op *op = hardware->ring[i];
    if (!op || op->over) continue;
    bool can = op->running || may_start(w, h, i);
    if (can && draw(w, ++seen) == 0) found = op;
    if (!op->running) break;
  }
  if (!found) return;
  if (!found->running) {
    note(w, "start " NAME "\n", NAMED(found));
    check_start(w, found);
    found->running = true;
    return;
  }
  note(w, "end " NAME "\n", NAMED(found));
  found->running = false;
  found->over = found->ran = true;
}

/* ---- the backend -------------------------------------------------------------------------- */

/* Returns how many submissions of the hardware queue are given or out, and not reported over. */
static int count_busy(const struct world *w, int h) {
  int busy = 0;
  for (int i = 0; i < w->count; i++) {
    const struct op *op = &w->ops[i];
    busy += op->given && op->hardware == h && op->submission.number > w->hardware[h].reported;
  }
  return busy;
}

static void check_windows(struct world *w, const struct op *op) {
  const struct queue *queue = &w->queues[op->queue];
  int out = 0, busy = count_busy(w, op->hardware);
  for (int i = 0; i < queue->count; i++) {
    const struct op *other = queue->ops[i];
    out += other->given && !other->published;
    if (other < op && other->given && !other->out && !other->published)
      wrong(w, NAME " is given, " NAME " before it is not out", NAMED(op), NAMED(other));
    if (other < op && other->epoch && !other->given && !other->published)
      wrong(w, NAME " is given, " NAME " before it is not", NAMED(op), NAMED(other));
  }
  if (out > AHEAD) wrong(w, "queue %d has %d operations out", op->queue, out);
  if (busy > AHEAD) wrong(w, "hardware queue %d has %d operations out", op->hardware, busy);
  w->has[HAS_FULL_QUEUE] |= out == AHEAD;
  w->has[HAS_FULL_HARDWARE] |= busy == AHEAD && out < AHEAD;
}

static void check_given(struct world *w, struct op *op) {
  const struct await *dead = find_dead(op);
  if (dead) wrong(w, NAME " is given, though %s had failed", NAMED(op), name_await(dead));
  if (op->dead_wait) wrong(w, NAME " is given, though a value had failed", NAMED(op));
  if (op->unpromised) wrong(w, NAME " is given, a value is not promised", NAMED(op));
  check_host_values(w, op, "is given");
  for (int i = 0; i < op->await_count; i++) {
    const struct op *other = op->awaits[i].by;
    if (!other || other->published) continue;
    if (!other->out) wrong(w, NAME " is given, " NAME " is not out", NAMED(op), NAMED(other));
    w->has[HAS_AHEAD] = true;
  }
  for (int i = 0; i < w->count && op->waits_inside; i++)
    if ((op->before | op->unnamed | op->memory) >> i & 1 && !w->ops[i].published)
      wrong(w, NAME " waits inside, and is given before " NAME " is over", NAMED(op),
            NAMED(&w->ops[i]));
  w->has[HAS_KEPT] |= op->waits_inside;
}

static void take(struct world *w, struct gpu *gpu, struct tide_work *work) {
  struct op *op = op_of(w, work);
  op->work = work;
  op->given = true;
  tide_work_submission(work, &op->submission);
  int first = 0;
  while (gpu_of[first] != (int)(gpu - w->gpus)) first++;
  op->hardware = first + (int)op->submission.hardware_queue;
  if (op->hardware != w->queues[op->queue].hardware)
    wrong(w, NAME " is given to another hardware queue", NAMED(op));
  note(w, "give " NAME " number %d%s waits %u\n", NAMED(op), (int)op->submission.number,
       op->submission.barrier ? " barrier" : "", op->submission.wait_count);
  check_given(w, op);
  check_windows(w, op);
  gpu->hand[gpu->hands++] = op;
}

static void see(uint64_t *visible, const uint64_t *more) {
  for (int i = 0; i < HARDWARE; i++)
    if (more[i] > visible[i]) visible[i] = more[i];
}

/* True if a body that waits inside is not over at or before the submission: its native signal may
 * need operations that are not out yet. */
static bool is_behind_inside(const struct world *w, int h, uint64_t number) {
  for (int i = 0; i < w->count; i++) {
    const struct op *op = &w->ops[i];
    if (op->waits_inside && op->given && op->hardware == h && op->submission.number <= number &&
        op->submission.number > w->hardware[h].reported)
      return true;
  }
  return false;
}

static void put_on_ring(struct world *w, struct op *op) {
  struct hardware *hardware = &w->hardware[op->hardware];
  if (op->submission.number != (uint64_t)hardware->count + 1)
    wrong(w, NAME " has number %d after %d", NAMED(op), (int)op->submission.number,
          hardware->count);
  hardware->ring[hardware->count++] = op;
  if (op->submission.barrier) hardware->visible[op->hardware] = op->submission.number - 1;
  for (uint32_t i = 0; i < op->submission.wait_count; i++) {
    const struct tide_native_wait *wait = &op->submission.waits[i];
    int h = hardware_of(w, wait);
    struct op *awaited = NULL;
    if (wait->submission <= (uint64_t)w->hardware[h].count)
      awaited = w->hardware[h].ring[wait->submission - 1];
    if (!awaited) wrong(w, NAME " waits for a submission that was not made", NAMED(op));
    else see(hardware->visible, awaited->through);
    if (is_behind_inside(w, h, wait->submission))
      wrong(w, NAME " waits natively behind a body that waits inside", NAMED(op));
    if (h == op->hardware && !(awaited && awaited->over))
      wrong(w, NAME " waits for its own hardware queue", NAMED(op));
    w->has[wait->submission <= w->hardware[h].reported ? HAS_REACHED : HAS_NATIVE] = true;
  }
  w->has[HAS_BARRIER] |= op->submission.barrier;
  memcpy(op->visible, hardware->visible, sizeof op->visible);
  memcpy(op->through, hardware->visible, sizeof op->through);
  op->through[op->hardware] = op->submission.number;
}

/* Records and submits, or refuses, the oldest given work. */
static void record(struct world *w, struct gpu *gpu) {
  struct op *op = gpu->hand[0];
  memmove(gpu->hand, gpu->hand + 1, (size_t)--gpu->hands * sizeof gpu->hand[0]);
  op->refused = op->fails && !op->partial;
  if (op->refused) {
    w->hardware[op->hardware].ring[w->hardware[op->hardware].count++] = NULL;
    w->has[HAS_REFUSED] = true;
    op->work->status = TIDE_FAILED;
    op->given = false;
    op->hardware = -1;
  } else {
    put_on_ring(w, op);
    op->out = true;
    if (op->fails) {
      tide_work_fail(op->work, &(struct tide_failure){.status = TIDE_FAILED});
      op->work->status = TIDE_OK;
    }
  }
  note(w, "%s " NAME "\n", op->refused ? "refuse" : "out", NAMED(op));
  (void)tide_device_exchange(gpu->device, &op->work, 1, NULL, 0, NULL);
}

static uint64_t signalled_up_to(const struct world *w, int h) {
  uint64_t number = w->hardware[h].reported;
  while (number < (uint64_t)w->hardware[h].count && is_signalled(w, h, number + 1)) number++;
  return number;
}

/* True if an end that the sleeping backend listens for has come. */
static bool has_news(const struct world *w, const struct gpu *gpu) {
  for (int h = 0; h < HARDWARE; h++)
    if (gpu_of[h] == (int)(gpu - w->gpus) && w->hardware[h].listening &&
        signalled_up_to(w, h) >= w->hardware[h].listening)
      return true;
  return false;
}

/* Reports some of the ends that have come. */
static void report_ends(struct world *w, struct gpu *gpu) {
  for (int h = 0, index = 0; h < HARDWARE; h++) {
    if (gpu_of[h] != (int)(gpu - w->gpus)) continue;
    uint64_t reported = w->hardware[h].reported, number = signalled_up_to(w, h);
    if (number > reported && draw(w, 2)) number -= (uint64_t)draw(w, (int)(number - reported) + 1);
    if (number > reported) {
      note(w, "report %d up to %d\n", h, (int)number);
      w->hardware[h].reported = number;
      tide_device_over(gpu->device, (uint32_t)index, number);
    }
    index++;
  }
}

/* True if the device could keep all that the operation waits for. */
static bool could_be_kept(const struct world *w, const struct op *op) {
  const struct queue *queue = &w->queues[op->queue];
  if (op->refused || op->waits_inside || op->memory || may_fail(w, op)) return false;
  if (op->epoch > 1) {
    const struct op *last = queue->by_epoch[op->epoch - 2];
    if (!last->out && !last->published) return false;
  }
  for (int i = 0; i < op->await_count; i++) {
    const struct op *by = op->awaits[i].by;
    bool is_unnamed = by && op->unnamed >> (by - w->ops) & 1;
    if (!by || by->published) continue;
    if (!by->out || by->fails || may_fail(w, by) || is_unnamed) return false;
    if (is_behind_inside(w, by->hardware, by->submission.number)) return false;
  }
  return true;
}

static bool fits_window(const struct queue *queue) {
  int out = 0;
  for (int i = 0; i < queue->count; i++) out += queue->ops[i]->given && !queue->ops[i]->published;
  return out < AHEAD;
}

static bool could_be_given(const struct world *w, const struct op *op) {
  const struct queue *queue = &w->queues[op->queue];
  return could_be_kept(w, op) && fits_window(queue) && count_busy(w, queue->hardware) < AHEAD;
}

/* True if a queue of the hardware queue has an operation to give once there is room. */
static bool has_more_to_give(const struct world *w, int h) {
  for (int q = 0; q < w->queue_count; q++) {
    const struct queue *queue = &w->queues[q];
    for (int e = 0; queue->hardware == h && e < queue->entered; e++) {
      const struct op *op = queue->by_epoch[e];
      if (op->given || op->published) continue;
      if (could_be_kept(w, op)) return true;
      break;
    }
  }
  return false;
}

/* The backend sleeps, or is about to, without a kick. It has taken all that it could. */
static void check_taken(struct world *w, const struct gpu *gpu) {
  for (int q = 0; q < w->queue_count; q++) {
    const struct queue *queue = &w->queues[q];
    if (queue->hardware < 0 || &w->gpus[gpu_of[queue->hardware]] != gpu) continue;
    for (int e = 0; e < queue->entered; e++) {
      const struct op *op = queue->by_epoch[e];
      if (op->given || op->published) continue;
      if (could_be_given(w, op)) wrong(w, NAME " could be given, and is not", NAMED(op));
      break;
    }
  }
}

/* It listens for some end. A device whose hardware queue is full is not to run dry. */
static void check_listening(struct world *w, int h, uint64_t awaited) {
  const struct hardware *hardware = &w->hardware[h];
  uint64_t newest = 0;
  for (int i = 0; i < hardware->count; i++)
    if (hardware->ring[i]) newest = (uint64_t)i + 1;
  if (newest <= hardware->reported) return;
  if (!awaited) wrong(w, "hardware queue %d listens for no end", h);
  else if (awaited > newest || awaited <= hardware->reported || !hardware->ring[awaited - 1])
    wrong(w, "hardware queue %d listens for %d, %d is out", h, (int)awaited, (int)newest);
  else if (awaited == newest && !w->gpus[gpu_of[h]].hands && count_busy(w, h) == AHEAD &&
           has_more_to_give(w, h))
    wrong(w, "hardware queue %d is full, and listens for its last end", h);
}

static void listen(struct world *w, struct gpu *gpu) {
  for (int h = 0, index = 0; h < HARDWARE; h++) {
    if (gpu_of[h] != (int)(gpu - w->gpus)) continue;
    w->hardware[h].listening = tide_device_awaited(gpu->device, (uint32_t)index++);
    check_listening(w, h, w->hardware[h].listening);
  }
}

/* A sleeping backend that was not kicked listens for the earliest end that a waiter needs. */
static void check_heard(struct world *w, struct gpu *gpu) {
  for (int h = 0, index = 0; h < HARDWARE; h++) {
    if (gpu_of[h] != (int)(gpu - w->gpus)) continue;
    uint64_t before = w->hardware[h].listening;
    uint64_t now = tide_device_awaited(gpu->device, (uint32_t)index++);
    if (now && (!before || now < before) && !(gpu->has_listener ? gpu->heard : gpu->kicked))
      wrong(w, "hardware queue %d listens for %d, %d is awaited", h, (int)before, (int)now);
    w->hardware[h].listening = now;
  }
}

/* The listening thread asks again after a kick, and after an end that it has reported. */
static void step_listener(struct world *w, struct gpu *gpu) {
  if (!gpu->heard && !has_news(w, gpu)) return;
  gpu->heard = false;
  report_ends(w, gpu);
  listen(w, gpu);
}

static void step_gpu(struct world *w, struct gpu *gpu) {
  struct tide_work *works[3];
  if (gpu->lost || draw(w, gpu->pace)) return;
  if (gpu->hands && draw(w, 3)) {
    record(w, gpu);
    gpu->kicked = true; /* it goes on with an exchange */
    return;
  }
  if (gpu->asleep && !gpu->kicked) check_taken(w, gpu);
  if (gpu->has_listener ? !gpu->heard && !has_news(w, gpu) : gpu->asleep && !gpu->kicked)
    check_heard(w, gpu);
  if (gpu->has_listener && draw(w, 2)) {
    step_listener(w, gpu);
    return;
  }
  if (gpu->asleep && !gpu->kicked && (gpu->has_listener || !has_news(w, gpu))) return;
  gpu->asleep = gpu->kicked = false;
  if (draw(w, 3) || !gpu->hands) report_ends(w, gpu);
  size_t most = (size_t)(1 + draw(w, 3));
  size_t count = gpu->hands < 8 ? tide_device_exchange(gpu->device, NULL, 0, works, most, NULL) : 0;
  for (size_t i = 0; i < count; i++) take(w, gpu, works[i]);
  if (count) gpu->kicked = true;
  else if (!gpu->hands) {
    if (!gpu->kicked) check_taken(w, gpu);
    if (!gpu->has_listener) listen(w, gpu);
    gpu->asleep = true;
  } else gpu->kicked = true;
}

static void kick(void *self) {
  struct gpu *gpu = self;
  gpu->kicked = gpu->heard = true;
}
static bool takes(void *self, const struct tide_body_class *body) {
  return (void)self, (void)body, true;
}

static void release(void *self, uint32_t hardware_queue, uint64_t number) {
  struct gpu *gpu = self;
  struct world *w = gpu->world;
  int h = (gpu == &w->gpus[0] ? 0 : 2) + (int)hardware_queue;
  note(w, "release %d up to %d\n", h, (int)number);
  if (!gpu->certified) wrong(w, "hardware queue %d is released before its device is certified", h);
  for (uint64_t i = 0; i < number && i < (uint64_t)w->hardware[h].count; i++) {
    const struct op *op = w->hardware[h].ring[i];
    if (op && !op->published && i >= w->hardware[h].reported)
      wrong(w, "hardware queue %d is released up to %d, " NAME " is not published", h, (int)number,
            NAMED(op));
  }
  w->hardware[h].released = number;
  w->has[HAS_RELEASED] = true;
}

/* ---- what goes wrong ---------------------------------------------------------------------- */

static void fail_line(struct world *w) {
  struct line *line = &w->lines[draw(w, w->line_count)];
  if (tide_timeline_query(line->handle) != line->reached)
    wrong(w, "line %d has %d, not %d", (int)(line - w->lines),
          (int)tide_timeline_query(line->handle), (int)line->reached);
  if (line->fails_from != UINT64_MAX || (line->is_host && draw(w, 4))) return;
  if (line->count && line->reached == line->signals[line->count - 1].value) return;
  note(w, "host fails %d above %d\n", (int)(line - w->lines), (int)line->reached);
  line->fails_from = line->reached + 1;
  w->has[HAS_HOST_FAILED] = true;
  tide_timeline_fail(line->handle, TIDE_FAILED);
}

static void cancel(struct world *w) {
  struct op *op = &w->ops[draw(w, w->count)];
  bool was_out = op->out && !op->published;
  bool was_cancelled = op->cancelled;
  op->cancelled = true; /* a held one leaves at once */
  enum tide_status status = tide_queue_cancel(w->queues[op->queue].handle, op->sequence);
  op->cancelled = was_cancelled || status == TIDE_OK;
  w->has[HAS_CANCELLED] |= status == TIDE_OK;
  if (was_out && !op->over && status != TIDE_BUSY)
    wrong(w, NAME " is out, and cancelling it says %s", NAMED(op), tide_status_name(status));
  if (status == TIDE_OK) note(w, "cancel " NAME "\n", NAMED(op));
}

/* All values that a lost device's operations were to signal have failed. */
static void lose(struct world *w, int g) {
  struct gpu *gpu = &w->gpus[g];
  note(w, "lose device %d\n", g);
  for (int h = 0; h < HARDWARE; h++)
    if (gpu_of[h] == g) w->hardware[h].cut = (int)signalled_up_to(w, h);
  for (int i = 0; i < w->count; i++) {
    struct op *op = &w->ops[i];
    int h = w->queues[op->queue].hardware;
    if (h >= 0 && gpu_of[h] == g && !op->published) fail_signal(op);
  }
  gpu->lost = true;
  gpu->hands = 0;
  w->has[HAS_LOST] = true;
  tide_device_lose(gpu->device, TIDE_LOST);
}

static void step_faults(struct world *w) {
  if (w->host_fails && draw(w, 12) == 0) fail_line(w);
  if (w->cancels && w->count && draw(w, 12) == 0) cancel(w);
  if (!w->lossy) return;
  for (int g = 0; g < GPUS; g++) {
    struct gpu *gpu = &w->gpus[g];
    if (!gpu->lost && draw(w, 60) == 0 && w->count > 3 && !w->gpus[!g].lost) {
      lose(w, g);
    } else if (gpu->lost && !gpu->certified && draw(w, 24) == 0) {
      note(w, "certify device %d\n", g);
      gpu->certified = true;
      for (int i = 0; i < w->count; i++)
        if (w->ops[i].hardware >= 0 && gpu_of[w->ops[i].hardware] == g) w->ops[i].over = true;
      tide_device_certify(gpu->device);
    }
  }
}

/* ---- a program ------------------------------------------------------------------------------ */

static void open_world(struct world *w, uint64_t seed) {
  memset(w, 0, sizeof *w);
  w->random.state = seed;
  w->sink = (struct tide_sink){.event = on_event, .self = w};
  w->has_small_frontiers = draw(w, 4) == 0;
  CHECK_OK(tide_context_create(TIDE_PARAMS(tide_context_params, .sink = &w->sink,
                                           .frontier_capacity = w->has_small_frontiers ? 2 : 0),
                               &w->context));
  struct tide_backend cpu = {.name = "cpu", .in_order = true, .takes = takes};
  CHECK_OK(tide_device_open(w->context, &cpu, "cpu", &w->cpu));
  for (int g = 0; g < GPUS; g++) {
    struct gpu *gpu = &w->gpus[g];
    struct tide_backend backend = {.name = "gpu",
                                   .in_order = draw(w, 2),
                                   .takes = takes,
                                   .kick = kick,
                                   .self = gpu,
                                   .ahead = AHEAD,
                                   .group = w,
                                   .hardware_queues = g == 0 ? 2 : 1,
                                   .release = release};
    gpu->world = w;
    gpu->in_order = backend.in_order;
    gpu->kicked = true;
    gpu->pace = draw(w, 3) ? 1 : 16;
    gpu->has_listener = !draw(w, 4);
    CHECK_OK(tide_device_open(w->context, &backend, g ? "gpu1" : "gpu0", &gpu->device));
  }
  for (int h = 0; h < HARDWARE; h++) w->hardware[h].cut = -1;
  w->queue_count = 2 + draw(w, QUEUES - 1);
  for (int q = 0; q < w->queue_count; q++) {
    struct queue *queue = &w->queues[q];
    static const int choices[] = {-1, 0, 0, 1, 2, 2};
    queue->hardware = choices[draw(w, 6)];
    struct gpu *gpu = queue->hardware < 0 ? NULL : &w->gpus[gpu_of[queue->hardware]];
    queue->in_order = !gpu || gpu->in_order;
    struct tide_queue_params params = {.struct_size = sizeof params, .operations = OPS};
    if (gpu) params.hardware_queue = 1 + (uint32_t)(queue->hardware == 1);
    CHECK_OK(tide_queue_create(gpu ? gpu->device : w->cpu, &params, &queue->handle));
    queue->axis = tide_queue_axis(queue->handle);
  }
  CHECK_OK(tide_pool_create(w->context,
                            TIDE_PARAMS(tide_pool_params, .limit = BLOCKS * BLOCK, .chunk = BLOCK,
                                        .uses_are_named = draw(w, 2)),
                            &w->pool));
  for (int i = 0; i < HOST_LINES; i++) (void)add_line(w, true);
  w->has_host_values = draw(w, 3) == 0;
  w->host_fails = draw(w, 5) < 2;
  w->cancels = draw(w, 5) < 2;
  w->lossy = draw(w, 10) < 3;
  w->total = 2 + draw(w, OPS - 2);
}

static bool is_finished(const struct world *w) {
  for (int i = 0; i < w->count; i++)
    if (!w->ops[i].published) return false;
  return true;
}

/* Every sleeping thread is let go on. Called at the end, where the truth is no longer checked. */
static void close_world(struct world *w) {
  for (int g = 0; g < GPUS; g++) {
    struct gpu *gpu = &w->gpus[g];
    if (!gpu->lost) tide_device_lose(gpu->device, TIDE_LOST);
    gpu->lost = gpu->certified = true;
    tide_device_certify(gpu->device);
  }
  while (w->cpu_works)
    (void)tide_device_exchange(w->cpu, &w->on_cpu[--w->cpu_works], 1, NULL, 0, NULL);
  tide_context_destroy(w->context);
}

static bool run(struct world *w, uint64_t seed, struct totals *totals) {
  open_world(w, seed);
  for (int idle = 0; !w->wrong && idle < IDLE_STEPS;) {
    uint64_t notes = w->notes;
    switch (draw(w, 9)) {
      case 0:
      case 1:
        if (w->count < w->total) submit(w);
        break;
      case 2: step_cpu(w); break;
      case 3:
      case 4: step_gpu(w, &w->gpus[draw(w, GPUS)]); break;
      case 5:
      case 6: step_hardware(w, draw(w, HARDWARE)); break;
      case 7: step_host(w); break;
      default: step_faults(w); break;
    }
    idle = w->notes == notes ? idle + 1 : 0;
    bool all_lost = true; /* no queue takes operations any more */
    for (int q = 0; q < w->queue_count; q++)
      all_lost &= w->queues[q].hardware >= 0 && w->gpus[gpu_of[w->queues[q].hardware]].lost;
    if ((w->count == w->total || all_lost) && is_finished(w)) break;
  }
  for (int i = 0; i < w->count && !w->wrong; i++)
    if (!w->ops[i].published)
      wrong(w, "nothing goes on: " NAME " is not published", NAMED(&w->ops[i]));
  if (w->wrong) return false; /* and the library is in no state to be closed */
  w->wrong = true;            /* no more checks */
  for (int i = 0; i < w->count; i++) totals->ran += w->ops[i].ran;
  for (int i = 0; i < FEATURE_COUNT; i++) totals->programs[i] += w->has[i];
  close_world(w);
  return true;
}

static struct world world;

static void try_seed(uint64_t seed, struct totals *totals) {
  if (run(&world, seed, totals)) return;
  if (getenv("VERBOSE")) fputs(world.log, stderr);
  FAIL("seed %llu: %s", (unsigned long long)seed, world.why);
}

TEST(programs_ahead) {
  struct totals totals = {0};
  const char *seed = getenv("SEED");
  uint64_t seeds = test_slowdown() > 3 ? 1000 : 10000;
  if (seed) {
    try_seed(strtoull(seed, NULL, 10), &totals);
    return;
  }
  for (uint64_t i = 1; i <= seeds; i++) try_seed(i, &totals);
  for (int i = 0; i < FEATURE_COUNT; i++) {
    if (getenv("VERBOSE"))
      printf("%s: %llu programs\n", feature_names[i], (unsigned long long)totals.programs[i]);
    if (totals.programs[i] < seeds / 200)
      FAIL("only %llu programs have '%s': no test of that", (unsigned long long)totals.programs[i],
           feature_names[i]);
  }
}

TEST_MAIN(CASE_SECONDS(programs_ahead, 600))
