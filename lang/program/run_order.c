#include "program/run_order.h"
#include "base/alloc.h"
#include "base/text.h"

/* A kept step is passed by later steps of its queue until the queue's barrier: its first kept step
 * that is firm, or a part. A step up to there waits in the heap of the first timeline whose value
 * it lacks; then it is ready. A step behind the barrier is in no heap. */
struct kept {
  struct kept *next, **link; /* in its line; *link points here */
  struct kept *left, *right; /* in a heap */
  uint64_t key, position;    /* of a heap: the awaited value; or round and line of `ready` */
  size_t met;                /* waits and tags, in this order, that are satisfied */
  struct tide_step step;
  void *token;
  size_t size; /* bytes of this block, which includes the arrays of the step */
};

struct line {
  struct kept *first, **last, *barrier;
};

struct tide_run_order {
  const struct tide_plan_tables *tables;
  const struct tide_allocator *allocator;
  struct tide_run_order_client client;
  uint64_t *promised;    /* by timeline: the highest value that an entered step signals */
  struct kept **waiters; /* by timeline: a heap of steps that wait for a value above `promised` */
  struct line *lines;    /* by queue */
  size_t *arrived;       /* by collective: parts of the next instance that are ready */
  uint64_t kept;         /* steps kept so far */
  /* Ready steps enter in rounds: queue by queue, in a queue by position, then the collectives. A
   * step that becomes ready behind the newest entry, which `key` and `position` tell, enters in the
   * next round. */
  struct kept *ready;
  uint64_t key, position;
};

/* ---- heaps: skew heaps, the least key and position first -------------------------- */

static bool comes_before(const struct kept *a, const struct kept *b) {
  return a->key != b->key ? a->key < b->key : a->position < b->position;
}

static struct kept *meld_heaps(struct kept *a, struct kept *b) {
  struct kept *root = NULL, **at = &root;
  while (a && b) {
    struct kept *least = comes_before(b, a) ? b : a, *other = least == a ? b : a;
    *at = least;
    at = &least->left;
    a = least->right;
    b = other;
    least->right = least->left;
  }
  *at = a ? a : b;
  return root;
}

static void push_kept(struct kept **heap, struct kept *kept, uint64_t key) {
  kept->key = key;
  kept->left = kept->right = NULL;
  *heap = meld_heaps(*heap, kept);
}

static struct kept *pop_kept(struct kept **heap) {
  struct kept *least = *heap;
  *heap = meld_heaps(least->left, least->right);
  return least;
}

/* ---- keeping a step ------------------------------------------------------------ */

static void *put_bytes(char **at, const void *from, size_t size) {
  char *to = *at;
  if (size) memcpy(to, from, size);
  *at += size;
  return to;
}

static struct kept *copy_step(struct tide_run_order *order, const struct tide_step *step) {
  size_t arguments = step->body->param_count * sizeof *step->arguments;
  size_t waits = step->wait_count * sizeof *step->waits;
  size_t signals = step->signal_count * sizeof *step->signals;
  size_t tags = step->tag_count * sizeof *step->tags;
  size_t label = step->label ? strlen(step->label) + 1 : 0;
  size_t size = sizeof(struct kept) + arguments + waits + signals + tags + label;
  struct kept *kept = tide_alloc(order->allocator, 1, size);
  if (!kept) return NULL;
  char *at = (char *)(kept + 1);
  kept->size = size;
  kept->step = *step;
  kept->step.arguments = put_bytes(&at, step->arguments, arguments);
  kept->step.waits = put_bytes(&at, step->waits, waits);
  kept->step.signals = put_bytes(&at, step->signals, signals);
  kept->step.tags = put_bytes(&at, step->tags, tags);
  kept->step.take_count = kept->step.piece_count = 0; /* not copied: no client reads them */
  if (label) kept->step.label = put_bytes(&at, step->label, label);
  return kept;
}

static void drop_step(struct tide_run_order *order, struct kept *kept) {
  tide_free(order->allocator, kept, 1, kept->size);
}

/* ---- waiting --------------------------------------------------------------------- */

/* Returns the first value that a step lacks, from number *at of its waits and tags on; NULL: none.
 * Taken data is complete before the step, too. */
static const struct tide_step_value *find_unmet(const struct tide_run_order *order,
                                                const struct tide_step *step, size_t *at) {
  for (; *at < step->wait_count + step->tag_count; ++*at) {
    const struct tide_step_value *value =
        *at < step->wait_count ? &step->waits[*at] : &step->tags[*at - step->wait_count];
    if (value->value > order->promised[value->timeline]) return value;
  }
  return NULL;
}

/* The last part of an instance stands for all of them. */
static void make_ready(struct tide_run_order *order, struct kept *kept) {
  const struct tide_step *step = &kept->step;
  uint64_t line = step->queue;
  if (step->kind == TIDE_STEP_PART) {
    if (++order->arrived[step->collective] <
        order->tables->collectives[step->collective].queue_count)
      return;
    line = order->tables->queue_count + step->collective;
  }
  uint64_t key = (order->key & ~(uint64_t)UINT32_MAX) | line;
  if (key < order->key || (key == order->key && kept->position <= order->position))
    key += UINT64_C(1) << 32; /* the next round */
  push_kept(&order->ready, kept, key);
}

static void await_next(struct tide_run_order *order, struct kept *kept) {
  const struct tide_step_value *unmet = find_unmet(order, &kept->step, &kept->met);
  if (unmet) push_kept(&order->waiters[unmet->timeline], kept, unmet->value);
  else make_ready(order, kept);
}

static void raise_promise(struct tide_run_order *order, uint32_t timeline, uint64_t value) {
  struct kept **waiters = &order->waiters[timeline];
  if (value <= order->promised[timeline]) return;
  order->promised[timeline] = value;
  while (*waiters && (*waiters)->key <= value) await_next(order, pop_kept(waiters));
}

static void record_signals(struct tide_run_order *order, const struct tide_step *step) {
  for (size_t i = 0; i < step->signal_count; i++)
    raise_promise(order, step->signals[i].timeline, step->signals[i].value);
}

/* Lets the steps of a line wait, from `kept` to the next barrier. */
static void open_line(struct tide_run_order *order, struct line *line, struct kept *kept) {
  line->barrier = NULL;
  for (; kept && !line->barrier; kept = kept->next) {
    if (kept->step.kind == TIDE_STEP_PART || !(kept->step.flags & TIDE_MAY_BE_PASSED))
      line->barrier = kept;
    await_next(order, kept);
  }
}

static enum tide_status keep_step(struct tide_run_order *order, const struct tide_step *step) {
  struct kept *kept = copy_step(order, step);
  if (!kept) return TIDE_NOMEM;
  if (order->client.keep) kept->token = order->client.keep(order->client.self, &kept->step);
  if (order->client.keep && !kept->token) {
    drop_step(order, kept);
    return TIDE_NOMEM;
  }
  struct line *line = &order->lines[step->queue];
  kept->position = step->kind == TIDE_STEP_PART ? 0 : ++order->kept;
  kept->link = line->last;
  *line->last = kept;
  line->last = &kept->next;
  if (!line->barrier) open_line(order, line, kept);
  return TIDE_OK;
}

/* ---- entering -------------------------------------------------------------------- */

static enum tide_status enter_step(struct tide_run_order *order, const struct tide_step *step,
                                   void *token, struct tide_diag *diag) {
  enum tide_status status = order->client.enter(order->client.self, step, token, diag);
  record_signals(order, step);
  return status;
}

/* Removes a ready step from its line and enters it. */
static enum tide_status release_step(struct tide_run_order *order, struct kept *kept,
                                     struct tide_diag *diag) {
  struct line *line = &order->lines[kept->step.queue];
  *kept->link = kept->next;
  if (kept->next) kept->next->link = kept->link;
  else line->last = kept->link;
  if (line->barrier == kept) open_line(order, line, kept->next);
  enum tide_status status = enter_step(order, &kept->step, kept->token, diag);
  drop_step(order, kept);
  return status;
}

/* Releases an instance by one of its parts. Each part is its queue's barrier. */
static enum tide_status release_instance(struct tide_run_order *order, const struct kept *part,
                                         struct tide_diag *diag) {
  uint32_t collective = part->step.collective;
  uint64_t instance = part->step.instance; /* `part` is about to be freed */
  const struct tide_plan_collective *table = &order->tables->collectives[collective];
  enum tide_status status = TIDE_OK;
  order->arrived[collective] = 0;
  for (size_t i = 0; i < table->queue_count && status == TIDE_OK; i++)
    status = release_step(order, order->lines[table->queues[i]].barrier, diag);
  if (table->timeline != TIDE_PLAN_NONE) raise_promise(order, table->timeline, instance);
  return status;
}

/* Enters the kept steps that entered steps have unblocked, until no more are. */
static enum tide_status release_ready(struct tide_run_order *order, struct tide_diag *diag) {
  enum tide_status status = TIDE_OK;
  while (order->ready && status == TIDE_OK) {
    struct kept *kept = pop_kept(&order->ready);
    order->key = kept->key;
    order->position = kept->position;
    status = kept->step.kind == TIDE_STEP_PART ? release_instance(order, kept, diag)
                                               : release_step(order, kept, diag);
  }
  order->key = order->position = 0;
  return status;
}

enum tide_status tide_run_order_step(struct tide_run_order *order, const struct tide_step *step,
                                     struct tide_diag *diag) {
  enum tide_status status = TIDE_OK;
  size_t met = 0;
  if (step->kind == TIDE_STEP_HOST_SIGNAL || step->kind == TIDE_STEP_HOST_EXTERNAL)
    record_signals(order, step);
  else if (step->kind == TIDE_STEP_PART) status = keep_step(order, step);
  else if (step->kind != TIDE_STEP_OPERATION) return TIDE_OK;
  else if (!order->lines[step->queue].barrier && !find_unmet(order, step, &met))
    status = enter_step(order, step, NULL, diag);
  else status = keep_step(order, step);
  if (status == TIDE_NOMEM) return tide_diag_set(diag, status, "out of memory");
  return status == TIDE_OK ? release_ready(order, diag) : status;
}

enum tide_status tide_run_order_finish(const struct tide_run_order *order, struct tide_diag *diag) {
  for (size_t i = 0; i < order->tables->queue_count; i++) {
    const struct kept *kept = order->lines[i].first;
    if (kept)
      return tide_diag_at(diag, TIDE_DEADLOCK, kept->step.line, kept->step.column,
                          "this operation waits for ever");
  }
  return TIDE_OK;
}

/* ---- making ------------------------------------------------------------------------- */

enum tide_status tide_run_order_create(const struct tide_plan_tables *tables,
                                       const struct tide_allocator *allocator,
                                       const struct tide_run_order_client *client,
                                       struct tide_run_order **out_order) {
  struct tide_run_order *order = tide_alloc(allocator, 1, sizeof *order);
  if (!order) return TIDE_NOMEM;
  order->tables = tables;
  order->allocator = allocator;
  order->client = *client;
  order->promised = tide_alloc(allocator, tables->timeline_count, sizeof *order->promised);
  order->waiters = tide_alloc(allocator, tables->timeline_count, sizeof *order->waiters);
  order->lines = tide_alloc(allocator, tables->queue_count, sizeof *order->lines);
  order->arrived = tide_alloc(allocator, tables->collective_count, sizeof *order->arrived);
  if (!order->promised || !order->waiters || !order->lines || !order->arrived) {
    tide_run_order_destroy(order);
    return TIDE_NOMEM;
  }
  for (size_t i = 0; i < tables->queue_count; i++) order->lines[i].last = &order->lines[i].first;
  for (size_t i = 0; i < tables->timeline_count; i++)
    order->promised[i] = tables->timelines[i].initial;
  *out_order = order;
  return TIDE_OK;
}

void tide_run_order_destroy(struct tide_run_order *order) {
  if (!order) return;
  for (size_t i = 0; order->lines && i < order->tables->queue_count; i++) {
    while (order->lines[i].first) {
      struct kept *kept = order->lines[i].first;
      order->lines[i].first = kept->next;
      if (order->client.forget) order->client.forget(order->client.self, &kept->step, kept->token);
      drop_step(order, kept);
    }
  }
  tide_free(order->allocator, order->promised, order->tables->timeline_count,
            sizeof *order->promised);
  tide_free(order->allocator, order->waiters, order->tables->timeline_count,
            sizeof *order->waiters);
  tide_free(order->allocator, order->lines, order->tables->queue_count, sizeof *order->lines);
  tide_free(order->allocator, order->arrived, order->tables->collective_count,
            sizeof *order->arrived);
  tide_free(order->allocator, order, 1, sizeof *order);
}
