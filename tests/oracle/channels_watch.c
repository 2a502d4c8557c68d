/* What the scheduler says of channels, against brute force. */
#include "channels_world.h"

#include <string.h>

struct channels w;

/* ---- who is meant ---- */

static int queue_at(uint64_t axis) {
  for (int q = 0; q < QUEUES; q++)
    if (w.queues[q].axis == axis && axis) return q;
  return -1;
}

static int op_at(uint64_t axis, uint64_t epoch) {
  for (int i = 0; i < w.op_count; i++)
    if (w.ops[i].epoch == epoch && epoch && w.queues[w.ops[i].queue].axis == axis) return i;
  return -1;
}

static int op_numbered(int queue, uint64_t sequence) {
  for (int i = 0; i < w.op_count; i++)
    if (w.ops[i].queue == queue && w.ops[i].sequence == sequence) return i;
  return -1;
}

/* ---- ends ---- */

void channels_retire(int future, uint64_t value) {
  for (int i = 0; i < m.point_count; i++) {
    struct mpoint *p = &m.points[i];
    if (p->kind != PROMISE || p->future != future || p->name.value > value || p->ended) continue;
    p->ended = p->settled = true;
    p->deadline = 0;
  }
}

static void end_outside(struct task *op) {
  if (op->outside >= 0) m.points[op->outside].ended = m.points[op->outside].settled = true;
}

void channels_command_over(struct task *op, enum tide_status status) {
  end_outside(op);
  for (int i = 0; i < op->retire_count; i++) {
    struct mpoint *p = &m.points[op->retires[i]];
    if (p->ended) continue;
    if (status == TIDE_OK) {
      channels_retire(p->future, p->name.value);
    } else {
      p->ended = p->settled = true;
      p->status = status;
    }
  }
  int c = op->command;
  if (c < 0 || m.commands[c].done) return;
  struct mcommand *command = &m.commands[c];
  command->done = true;
  int before = command->previous;
  while (before >= 0 && m.commands[before].done) before = m.commands[before].previous;
  for (int i = 0; i < m.command_count; i++)
    if (m.commands[i].previous == c) m.commands[i].previous = before;
  if (m.tails[command->channel] == c) m.tails[command->channel] = before;
}

/* ---- what must have finished ---- */

static void learn(struct set *knows, int by) { set_join(knows, &w.ops[by].upto); }

/* Once all its waits are classified: what it comes after, and whether what was elided follows. */
static void judge(struct task *op) {
  struct channel_queue *queue = &w.queues[op->queue];
  struct set knows = queue->base;
  int i = (int)(op - w.ops);
  if (op->judged) return;
  op->judged = true;
  if (w.backends[queue->device].in_order && queue->last >= 0) learn(&knows, queue->last);
  for (int k = 0; k < op->classified; k++) {
    int by = op->waits[k].by;
    if (op->waits[k].class_ == TIDE_WAIT_RESOLVED && by >= 0 && !set_has(&op->finished, by))
      points_violation("op %d: wait %d is resolved by op %d, which has not finished", i, k, by);
    if (op->waits[k].class_ == TIDE_WAIT_ISSUED && by >= 0) learn(&knows, by);
  }
  for (bool again = true; again;) {
    again = false;
    for (int k = 0; k < op->classified; k++) {
      int by = op->waits[k].by;
      if (op->waits[k].class_ != TIDE_WAIT_ELIDED || by < 0) continue;
      if (!set_has(&knows, by) && !set_has(&op->finished, by)) continue;
      if (set_first_beyond(&w.ops[by].upto, &knows, &op->finished) >= 0) again = true;
      learn(&knows, by);
    }
  }
  for (int k = 0; k < op->classified; k++)
    if (op->waits[k].class_ == TIDE_WAIT_ELIDED &&
        (op->waits[k].by < 0 ||
         (!set_has(&knows, op->waits[k].by) && !set_has(&op->finished, op->waits[k].by))))
      points_violation("op %d: wait %d is elided, and nothing implies op %d", i, k,
                       op->waits[k].by);
  for (int e = 0; e < op->entries; e++) {
    int by = op_at(op->frontier[e].axis, op->frontier[e].epoch);
    if (by < 0) points_violation("op %d knows an epoch that there is not", i);
    int lie = set_first_beyond(&w.ops[by].upto, &knows, &op->finished);
    if (lie >= 0) points_violation("op %d claims to come after op %d", i, lie);
  }
  queue->base = knows;
  op->knows = op->upto = knows;
  if (queue->last >= 0) set_join(&op->upto, &w.ops[queue->last].upto);
  set_add(&op->upto, i);
  queue->last = i;
}

static void judge_all(void) {
  for (int i = 0; i < w.op_count; i++)
    if (w.ops[i].epoch && !w.ops[i].judged &&
        w.ops[i].classified ==
            w.ops[i].point_count + (w.ops[i].progress_of >= 0) + (w.ops[i].host > 0))
      judge(&w.ops[i]);
}

static void check_finished(const struct task *op, const char *what) {
  int missing = set_first_beyond(&op->knows, &w.published, &op->finished);
  if (missing >= 0)
    points_violation("op %d %s before op %d has finished", (int)(op - w.ops), what, missing);
}

/* ---- events ---- */

static void entered(struct task *op, const struct tide_event *event) {
  op->phase = ENTERED;
  op->epoch = event->epoch;
  op->finished = w.published;
  op->entries = event->frontier->count;
  struct tide_frontier_entry entry;
  struct tide_frontier_cursor at = tide_frontier_begin(event->frontier);
  for (size_t i = 0; tide_frontier_next(&at, &entry); i++) {
    op->frontier[i].axis = entry.axis;
    op->frontier[i].epoch = entry.epoch;
  }
}

static void classified(struct task *op, const struct tide_event *event) {
  int k = op->classified++;
  op->waits[k].class_ = (int)(event->detail & 0xff);
  op->waits[k].by = event->cause_axis ? op_at(event->cause_axis, event->cause_epoch) : -1;
}

static void check_turn(struct task *op, const char *what) {
  int i = (int)(op - w.ops);
  for (int k = 0; k < op->point_count; k++) {
    const struct mpoint *p = &m.points[op->points[k]];
    if (!p->settled) points_violation("op %d %s before point %d", i, what, op->points[k]);
    if (p->status && !op->despite)
      points_violation("op %d %s though point %d broke", i, what, op->points[k]);
  }
  if (op->host > w.host_value) points_violation("op %d %s before the host", i, what);
  if (op->progress_of >= 0 && w.queues[op->progress_of].published < op->progress)
    points_violation("op %d %s before queue %d got there", i, what, op->progress_of);
  if (op->cancel >= 0 && m.points[op->cancel].ended && !m.points[op->cancel].status && op->body)
    points_violation("op %d %s though it was cancelled", i, what);
  check_finished(op, what);
}

/* ---- failure goes down a channel ---- */

static bool is_exempt(const struct task *op) { return op->despite || op->recovers; }

/* Taken out by its client, as far as what it failed with tells. */
static bool was_cancelled(const struct task *op, enum tide_status status) {
  bool by_point = op->cancel >= 0 && m.points[op->cancel].ended && !m.points[op->cancel].status;
  return status == TIDE_CANCELLED && (op->cancelled || by_point);
}

static bool may_have_failed(const struct task *op, enum tide_status status) {
  const struct channel_queue *queue = &w.queues[op->queue];
  if (queue->destroyed || (queue->down == status && !is_exempt(op))) return true;
  for (int k = 0; k < op->point_count && !op->despite; k++)
    if (m.points[op->points[k]].ended && m.points[op->points[k]].status == status) return true;
  return op->started;
}

/* One before it in its channel has failed, and is over, and no recovery is between. */
static int failed_before(const struct task *op) {
  int found = -1;
  uint64_t last = 0, from = 0;
  for (int i = 0; i < w.op_count; i++) {
    const struct task *other = &w.ops[i];
    if (other->queue != op->queue || !other->epoch || other->epoch >= op->epoch) continue;
    bool over = other->phase == OVER || other->phase == PUBLISHED;
    if (other->recovers && other->phase >= STARTED && other->epoch > from) from = other->epoch;
    if (!over || !other->status || was_cancelled(other, other->status)) continue;
    if (other->epoch > last) last = other->epoch, found = i;
  }
  return last >= from ? found : -1;
}

static void check_down(struct task *op, enum tide_status status) {
  int i = (int)(op - w.ops);
  struct channel_queue *queue = &w.queues[op->queue];
  bool cancelled = was_cancelled(op, status);
  if (op->recovers && !cancelled) queue->down = TIDE_OK, queue->unsure = false;
  if (queue->down && !queue->unsure && !is_exempt(op) && !status)
    points_violation("op %d went well behind one that failed with %s", i,
                     tide_status_name(queue->down));
  if (cancelled && (op->recovers || !queue->down) && may_have_failed(op, status))
    queue->unsure = true;
  if (status && !cancelled && !queue->unsure && !queue->down) queue->down = status;
}

static bool is_cause(const struct task *op, enum tide_status status) {
  const struct channel_queue *queue = &w.queues[op->queue];
  if (status == TIDE_CANCELLED && (op->cancelled || queue->destroyed)) return true;
  if (status == TIDE_CANCELLED && op->cancel >= 0 && m.points[op->cancel].ended) return true;
  if (status == TIDE_LOST && queue->lost) return true;
  if (op->started) return true; /* its own */
  if (!is_exempt(op) && (queue->unsure || queue->down == status)) return true;
  for (int k = 0; k < op->point_count && !op->despite; k++) {
    struct mpoint *p = &m.points[op->points[k]];
    if (p->ended && (p->status == status || (p->concluded && p->status))) return true;
  }
  return status == TIDE_UNORDERED && op->retire_count; /* what it passes comes first */
}

static void published(struct task *op, enum tide_status status) {
  int i = (int)(op - w.ops);
  struct channel_queue *queue = &w.queues[op->queue];
  if (op->epoch != ++queue->published) points_violation("op %d is published out of turn", i);
  check_finished(op, "is published");
  if (!status && op->body && !op->started) {
    bool nothing = op->choose >= 0; /* what it chose may be nothing */
    if (!nothing) points_violation("op %d never ran, and has not failed", i);
  }
  if (status && !is_cause(op, status))
    points_violation("op %d failed with %s, and why?", i, tide_status_name(status));
  check_down(op, status);
  op->phase = PUBLISHED;
  op->status = status;
  set_add(&w.published, i);
  channels_command_over(op, status);
}

void channels_event(void *self, const struct tide_event *event) {
  int q = queue_at(event->axis), i = q < 0 ? -1 : op_numbered(q, event->sequence);
  (void)self;
  if (i < 0) return;
  struct task *op = &w.ops[i];
  switch (event->kind) {
    case TIDE_EVENT_HOLD: op->phase = HELD; break;
    case TIDE_EVENT_ENTER:
      judge_all();
      entered(op, event);
      break;
    case TIDE_EVENT_WAIT_CLASS: classified(op, event); break;
    case TIDE_EVENT_START:
      judge_all();
      model_update();
      op->phase = STARTED;
      op->started = true;
      end_outside(op);
      check_turn(op, "starts");
      if (!is_exempt(op) && failed_before(op) >= 0)
        points_violation("op %d starts behind op %d, which failed", i, failed_before(op));
      break;
    case TIDE_EVENT_FINISH:
      judge_all();
      model_update();
      if (!event->epoch) {
        op->phase = LEFT;
        op->status = event->status;
        if (!is_cause(op, event->status))
          points_violation("op %d left with %s, and why?", i, tide_status_name(event->status));
        channels_command_over(op, event->status);
        break;
      }
      op->phase = OVER;
      op->status = event->status;
      op->begun = op->change && !event->status; /* though one before it may fail later */
      if (!op->started && !event->status) check_turn(op, "is over");
      end_outside(op);
      break;
    case TIDE_EVENT_PUBLISH:
      judge_all();
      model_update();
      published(op, event->status);
      break;
    default: break;
  }
}

/* ---- nobody who could go on is asleep ---- */

static bool can_touch(const struct channel_queue *queue) {
  return !queue->lost || queue->device == 0 || w.certified;
}

/* Whatever it waits for at its place is over. */
static bool may_go(const struct task *op, bool failed) {
  if (op->recovers && w.queues[op->queue].published + 1 != op->epoch) return false;
  for (int k = 0; k < op->classified; k++) {
    int by = op->waits[k].by,
        point = k < op->point_count ? op->points[op->point_count - 1 - k] : -1;
    if (op->waits[k].class_ != TIDE_WAIT_ISSUED) continue;
    if (failed && by < 0) continue;
    bool over =
        point >= 0 ? m.points[point].settled : w.queues[op->progress_of].published >= op->progress;
    if (!over || (by >= 0 && !set_has(&w.published, by))) return false;
  }
  return true;
}

/* Its signals were refused when it entered, for it passes one that comes first. */
static bool is_refused(const struct task *op) {
  return tide_queue_op(w.reals[op->queue], op->epoch)->refused;
}

static bool may_enter(const struct task *op) {
  bool all = op->host <= w.host_value;
  const struct channel_queue *queue = &w.queues[op->queue];
  bool alone = queue->published == queue->queue->position.epoch;
  if (alone && queue->down && !queue->unsure && !is_exempt(op) && !op->passable) return true;
  for (int k = 0; k < op->point_count; k++) {
    const struct mpoint *p = &m.points[op->points[k]];
    if (p->settled && p->status && !op->despite) return true;
    bool entered = false;
    for (int i = 0; i < w.op_count && p->kind == PROMISE && !p->ended; i++)
      for (int r = 0; r < w.ops[i].retire_count; r++)
        entered = entered || (w.ops[i].retires[r] == op->points[k] && w.ops[i].epoch &&
                              !is_refused(&w.ops[i]));
    all = all && (p->settled || entered);
  }
  return all;
}

static void check_awake(int q) {
  const struct channel_queue *queue = &w.queues[q];
  if (!queue->queue) return;
  for (int i = 0; i < w.op_count; i++) {
    const struct task *op = &w.ops[i];
    if (op->queue != q || op->phase != HELD) continue;
    if (op->cancel >= 0 && m.points[op->cancel].ended && !m.points[op->cancel].status)
      points_violation("op %d is held, though it was cancelled", i);
    if (may_enter(op)) points_violation("op %d is held, and could enter", i);
    if (!op->passable) break;
  }
  struct tide_queue *at = queue->queue;
  if (at->next_start > at->position.epoch || !can_touch(queue)) return;
  if (w.backends[queue->device].in_order && queue->published + 1 != at->next_start) return;
  const struct tide_op *real = tide_queue_op(at, at->next_start);
  int i = op_at(queue->axis, at->next_start);
  if (i >= 0 && real->state == TIDE_OP_ENTERED && !tide_op_is_ready(real) &&
      may_go(&w.ops[i], real->status != TIDE_OK))
    points_violation("op %d is asleep", i);
}

/* ---- priorities ---- */

static void add_keepers(int node, bool *lends) {
  const struct mnode *n = &m.nodes[node];
  if (n->op == LEAF) {
    const struct mpoint *p = &m.points[n->point];
    if (p->settled) return;
    if (p->kind == COMPOUND && p->root >= 0) add_keepers(p->root, lends);
    if (p->kind == PROMISE && p->future >= 0 && m.futures[p->future].channel >= 0)
      lends[m.futures[p->future].channel] = true;
    return;
  }
  if (model_value(node) == 1) return; /* it is over, and what is left of it concerns nobody */
  for (int c = n->child; c >= 0; c = m.nodes[c].sibling) add_keepers(c, lends);
}

static void add_keeper(int point, bool *lends) {
  int saved = m.node_count;
  m.nodes[saved] = (struct mnode){.op = LEAF, .point = point, .child = -1, .sibling = -1};
  add_keepers(saved, lends);
}

/* The operation at which the queue stands, and that waits. */
static const struct task *stands_at(int q) {
  struct tide_queue *at = w.queues[q].queue;
  if (at->next_start <= at->position.epoch) {
    const struct tide_op *real = tide_queue_op(at, at->next_start);
    int i = op_at(w.queues[q].axis, at->next_start);
    return i >= 0 && real->state == TIDE_OP_ENTERED && real->armed && real->unmet ? &w.ops[i]
                                                                                  : NULL;
  }
  if (w.backends[w.queues[q].device].in_order && w.queues[q].published < at->position.epoch)
    return NULL;
  for (int i = 0; i < w.op_count; i++)
    if (w.ops[i].queue == q && w.ops[i].phase == HELD) return &w.ops[i];
  return NULL;
}

static void find_lends(int q, bool *lends) {
  const struct task *op = stands_at(q);
  if (!op) return;
  bool held = op->phase == HELD;
  const struct tide_op *real = held ? NULL : tide_queue_op(w.queues[q].queue, op->epoch);
  for (int k = 0; k < op->point_count; k++) {
    int at = op->point_count - 1 - k; /* classified the other way round */
    if (!held && op->waits[at].class_ != TIDE_WAIT_ISSUED) continue;
    if (!held && real->status && op->waits[at].by < 0) continue;
    add_keeper(op->points[k], lends);
  }
  if (op->progress_of >= 0 && w.queues[op->progress_of].published < op->progress &&
      (held || op->waits[op->point_count].class_ == TIDE_WAIT_ISSUED))
    lends[op->progress_of] = true;
  lends[q] = false;
}

static int level_alone(int q) {
  const struct channel_queue *queue = &w.queues[q];
  uint64_t lower = 0;
  int increases = 0;
  bool covered = false;
  for (int i = 0; i < w.op_count; i++) {
    const struct task *op = &w.ops[i];
    if (op->change == 3 && op->queue == q && op->phase < OVER) covered = true;
    if (!op->begun || w.queues[op->queue].destroyed || w.queues[op->queue].lost) continue;
    const struct mpoint *p = op->target >= 0 ? &m.points[op->target] : NULL;
    bool stopped = op->stopped || (w.stops[i].value && !w.clients[queue->client]);
    if (op->change == 2 && op->queue == q && !p->ended && !stopped) lower += op->amount;
    if (op->change == 1 && !p->ended && m.futures[p->future].channel == q && op->level > increases)
      increases = op->level;
  }
  int level = covered || lower < queue->priority ? queue->priority - (covered ? 0 : (int)lower) : 0;
  return increases > level ? increases : level;
}

/* Around a cycle, which only what points do not see can make, any level between the least and the
 * greatest will do. */
static void check_priorities(void) {
  bool lends[QUEUES][QUEUES] = {{false}};
  int alone[QUEUES], least[QUEUES], most[QUEUES];
  if (!points_room.context->sched->prioritised) return;
  for (int q = 0; q < QUEUES; q++) {
    if (!w.queues[q].queue) continue;
    find_lends(q, lends[q]);
    least[q] = alone[q] = level_alone(q);
    most[q] = 15;
  }
  for (int round = 0; round < 2 * QUEUES + 30; round++)
    for (int q = 0; q < QUEUES; q++) {
      int low = alone[q], high = alone[q];
      for (int from = 0; from < QUEUES && w.queues[q].queue; from++) {
        if (!w.queues[from].queue || !lends[from][q]) continue;
        if (least[from] > low) low = least[from];
        if (most[from] > high) high = most[from];
      }
      least[q] = low, most[q] = high;
    }
  for (int q = 0; q < QUEUES; q++) {
    if (!w.queues[q].queue) continue;
    int level = w.queues[q].queue->effective;
    if (level < least[q] || level > most[q])
      points_violation("queue %d has priority %d, not %d", q, level, least[q]);
  }
}

/* Its turn has come, though it may not have been picked. */
static void end_ready(void) {
  for (int i = 0; i < w.op_count; i++) {
    struct tide_queue *queue = w.queues[w.ops[i].queue].queue;
    if (w.ops[i].phase == ENTERED && queue &&
        tide_op_is_ready(tide_queue_op(queue, w.ops[i].epoch)))
      end_outside(&w.ops[i]);
  }
}

void channels_check(void) {
  tide_points_expire(points_room.points, NULL);
  judge_all();
  end_ready();
  points_check();
  for (int i = 0; i < w.op_count; i++)
    if (w.ops[i].epoch && !w.ops[i].judged)
      points_violation("op %d was not classified: %d", i, w.ops[i].classified);
  for (int q = 0; q < QUEUES; q++) check_awake(q);
  check_priorities();
}
