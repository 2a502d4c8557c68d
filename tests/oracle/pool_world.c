#include "pool_world.h"

#include "causal/tracker.h"
#include "harness.h"
#include "memory/state.h"
#include <stdlib.h>
#include <string.h>

static unsigned below(struct world *w, unsigned limit) {
  return (unsigned)tide_random_below(&w->random, limit);
}
static bool chance(struct world *w, unsigned in_100) { return below(w, 100) < in_100; }

static void violate(struct world *w, const char *what) {
  if (!w->violation && !w->setting.bodies_only && !w->setting.order_only) w->violation = what;
}

static void violate_order(struct world *w, const char *what) {
  if (!w->violation && !w->setting.bodies_only) w->violation = what;
}

/* ---- the allocator: what is left of a violated world goes with it ------------------- */

static void *piece_alloc(void *self, size_t size, size_t align) {
  struct world *w = self;
  CHECK(align <= sizeof(struct piece));
  struct piece *piece = aligned_alloc(64, sizeof *piece + ((size + 63) & ~(size_t)63));
  CHECK(piece != NULL);
  *piece = (struct piece){w->pieces, &w->pieces, size};
  if (w->pieces) w->pieces->link = &piece->next;
  w->pieces = piece;
  return piece + 1;
}

static void piece_free(void *self, void *memory, size_t size) {
  (void)self;
  struct piece *piece = (struct piece *)memory - 1;
  CHECK_EQ_U64(piece->size, size);
  *piece->link = piece->next;
  if (piece->next) piece->next->link = piece->link;
  free(piece);
}

/* ---- what is really so ------------------------------------------------------------ */

static struct line *line_of(struct world *w, tide_axis axis) {
  for (unsigned i = 0; i < w->line_count; i++) {
    if (w->lines[i].position.axis == axis) return &w->lines[i];
  }
  return NULL;
}

/* How far a queue has finished: everything up to there has ended. */
static uint64_t really_finished(struct world *w, const struct line *line) {
  uint64_t epoch = 0;
  if (line->host) return line->position.epoch;
  while (epoch < line->position.epoch && w->ops[line->ops[epoch]].state == OP_DONE) epoch++;
  return epoch;
}

static bool has_finished(struct world *w, tide_axis axis, uint64_t epoch) {
  struct line *line = line_of(w, axis);
  return line && really_finished(w, line) >= epoch;
}

static bool all_finished(struct world *w, const struct tide_frontier *f) {
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(f); tide_frontier_next(&at, &entry);) {
    if (!has_finished(w, entry.axis, entry.epoch)) return false;
  }
  return true;
}

static bool all_done(struct world *w, const uint8_t *set) {
  for (unsigned i = 0; i < w->op_count; i++) {
    if (set[i] && w->ops[i].state != OP_DONE) return false;
  }
  return true;
}

/* ---- the arena -------------------------------------------------------------------- */

static unsigned granule_of(struct world *w, const void *memory) {
  return (unsigned)((size_t)((const char *)memory - w->arena) / GRANULE);
}

static void *arena_map(void *self, size_t size) {
  struct world *w = self;
  unsigned count = (unsigned)((size + GRANULE - 1) / GRANULE);
  for (unsigned first = 0; first + count <= GRANULES; first++) {
    unsigned n = 0;
    while (n < count && !w->mapped[first + n]) n++;
    if (n < count) continue;
    for (n = 0; n < count; n++) w->mapped[first + n] = true;
    w->tally->mapped++;
    return w->arena + first * GRANULE;
  }
  w->source_failed = true;
  return NULL;
}

static void arena_unmap(void *self, void *memory, size_t size) {
  struct world *w = self;
  unsigned first = granule_of(w, memory), count = (unsigned)((size + GRANULE - 1) / GRANULE);
  for (unsigned i = first; i < first + count; i++) {
    if (!w->mapped[i]) violate(w, "unmapped twice");
    if (w->owner[i] && !w->owner[i]->over) violate(w, "memory of a live buffer given back");
    if (!all_done(w, w->users[i])) violate(w, "memory given back while an operation uses it");
    w->mapped[i] = false;
  }
}

static size_t live_axes(void *self, tide_axis *axes, uint64_t *epochs, size_t size) {
  struct world *w = self;
  size_t count = 0;
  for (unsigned i = 0; i < w->line_count; i++) {
    if (w->lines[i].closed) continue;
    if (count < size) {
      axes[count] = w->lines[i].position.axis;
      epochs[count] = w->lines[i].position.epoch;
    }
    count++;
  }
  return count;
}

/* ---- buffers ---------------------------------------------------------------------- */

static void begin_life(struct world *w, struct tide_buffer *buffer) {
  struct life *life = &w->lives[w->life_count++];
  memset(life, 0, sizeof *life);
  life->buffer = buffer;
  life->first = granule_of(w, tide_buffer_data(buffer));
  life->count = (unsigned)((tide_buffer_size(buffer) + GRANULE - 1) / GRANULE);
  for (unsigned i = life->first; i < life->first + life->count; i++) {
    if (!w->mapped[i]) violate(w, "memory that is not the source's");
    if (w->owner[i] && !w->owner[i]->over) violate(w, "memory of a live buffer handed out");
    w->owner[i] = life;
    for (unsigned k = 0; k < w->op_count; k++) life->before[k] |= w->users[i][k];
  }
  enum tide_reuse reuse = tide_buffer_reuse(buffer);
  w->tally->allocs++;
  w->tally->known += reuse == TIDE_REUSE_KNOWN;
  w->tally->finished += reuse == TIDE_REUSE_FINISHED;
  w->tally->gap += reuse == TIDE_REUSE_GAP;
  w->tally->fresh += reuse == TIDE_REUSE_FRESH;
  if (reuse == TIDE_REUSE_FINISHED && !all_done(w, life->before)) {
    violate(w, "said to have finished");
  }
  if (reuse == TIDE_REUSE_FRESH && !all_done(w, life->before)) violate(w, "said to be fresh");
}

/* The rule by which a queue decides whether it may touch the memory. */
static bool satisfies(struct world *w, const struct tide_frontier *known,
                      const struct tide_buffer *buffer) {
  tide_axis axis;
  uint64_t epoch;
  tide_buffer_past_signaller(buffer, &axis, &epoch);
  if (axis && (tide_frontier_get(known, axis) >= epoch ||
               tide_tracker_finished(w->context->tracker, axis, epoch))) {
    return true;
  }
  return tide_frontier_satisfied(known, w->context->tracker, tide_buffer_past(buffer));
}

/* ---- the order of reuse ---- */

/* What a request could be given, by a look at every block. */
struct offer {
  bool no_wait, fresh, growth; /* free blocks that need no wait; fresh ones; room below the limit */
  bool exchange;               /* room below the limit once idle chunks are given back */
  bool gap;
  size_t fewest; /* of gap: entries to wait for */
};

static bool is_over(struct world *w, const struct tide_frontier *known, tide_axis axis,
                    uint64_t epoch) {
  return tide_frontier_get(known, axis) >= epoch ||
         tide_tracker_finished(w->context->tracker, axis, epoch);
}

/* How many entries of a death frontier are missing: 1 for a signaller. SIZE_MAX: some of them
 * cannot be waited for. */
static size_t count_missing(struct world *w, const struct tide_death *death,
                            const struct tide_frontier *known) {
  const struct tide_frontier *f = &death->frontier;
  if (death->axis && is_over(w, known, death->axis, death->epoch)) return 0;
  size_t missing = 0;
  bool can_wait = true;
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(f); tide_frontier_next(&at, &entry);) {
    if (is_over(w, known, entry.axis, entry.epoch)) continue;
    missing++;
    can_wait &= tide_tracker_find(w->context->tracker, entry.axis) != NULL;
  }
  if (missing == 0 && !f->tainted) return 0;
  if (f->tainted) return SIZE_MAX;
  if (death->axis) return tide_tracker_find(w->context->tracker, death->axis) ? 1 : SIZE_MAX;
  return can_wait ? missing : SIZE_MAX;
}

static const struct tide_frontier nothing = {.capacity = 1};

/* Is the whole chunk free, and has each operation that used it finished? */
static bool is_idle(struct world *w, const struct tide_chunk *chunk) {
  for (const struct tide_block *block = chunk->first; block; block = block->after) {
    if (block->state == TIDE_BLOCK_LIVE || block->state == TIDE_BLOCK_WAITING) return false;
    if (block->state == TIDE_BLOCK_FREE && count_missing(w, block->death, &nothing)) return false;
  }
  return true;
}

static struct offer look_at_all(struct world *w, size_t size, const struct line *line) {
  struct offer offer = {.fewest = SIZE_MAX};
  size_t whole = (size + GRANULE - 1) / GRANULE * GRANULE;
  struct tide_pool_stats stats;
  tide_pool_stats(w->pool, &stats);
  offer.growth = stats.source_bytes + whole <= w->limit;
  uint64_t busy = stats.source_bytes;
  for (struct tide_link *at = w->pool->chunks.next; at != &w->pool->chunks; at = at->next) {
    struct tide_chunk *chunk = TIDE_CONTAINER(at, struct tide_chunk, link);
    if (is_idle(w, chunk)) busy -= chunk->size;
    for (struct tide_block *block = chunk->first; block; block = block->after) {
      if (block->size < whole) continue;
      if (block->state == TIDE_BLOCK_FRESH) offer.fresh = true;
      if (block->state != TIDE_BLOCK_FREE) continue;
      size_t missing = count_missing(w, block->death, line ? line->position.frontier : &nothing);
      if (missing == 0) offer.no_wait = true;
      else if (missing < offer.fewest) offer.fewest = missing;
    }
  }
  offer.gap = offer.fewest != SIZE_MAX;
  offer.exchange = busy + whole <= w->limit;
  return offer;
}

/* `before` was on offer, and this is what came of it: a status, or a kind of reuse. */
static void check_order(struct world *w, const struct offer *before, const struct line *line,
                        const struct tide_pool_stats *then, const struct tide_buffer *buffer) {
  struct tide_pool_stats now;
  tide_pool_stats(w->pool, &now);
  bool growth = before->growth && !w->source_failed, grown = now.source_bytes > then->source_bytes;
  if (now.source_bytes > w->limit) violate_order(w, "more than the limit is taken");
  bool exchange = before->exchange && !w->source_failed;
  w->tally->grown += grown;
  w->tally->exchanged += exchange && !before->no_wait && !before->fresh && !growth && !before->gap;
  w->tally->refused += !buffer;
  if (!buffer) {
    if (before->no_wait || before->fresh || growth || before->gap) violate_order(w, "no memory");
    if (exchange) violate_order(w, "no memory, though idle chunks are kept");
    return;
  }
  if (grown && (before->no_wait || before->fresh)) {
    violate_order(w, "memory is taken from the source though some is there");
  }
  if (w->setting.waits_first && line && grown && before->gap) {
    violate_order(w, "memory is taken from the source though a wait would do");
  }
  if (tide_buffer_reuse(buffer) != TIDE_REUSE_GAP) return;
  w->tally->gaps_at_the_limit++;
  if (before->no_wait) violate_order(w, "a wait is made though a block needs none");
  if (now.gap_waits - then->gap_waits > before->fewest) violate_order(w, "not the fewest waits");
  if (w->setting.waits_first && line) return;
  if (before->fresh || growth) violate_order(w, "a wait is made though there is memory");
  if (!line && exchange) violate_order(w, "a host is made to wait though idle chunks are kept");
}

static void do_alloc(struct world *w) {
  struct line *line = chance(w, 10) ? NULL : &w->lines[below(w, w->line_count)];
  if (w->life_count == LIVES || (line && line->closed)) return;
  size_t size = chance(w, 70) ? 1 + below(w, 1024) : 1 + below(w, 6 * 1024);
  struct tide_buffer *buffer;
  struct offer offer = look_at_all(w, size, line);
  struct tide_pool_stats stats;
  tide_pool_stats(w->pool, &stats);
  w->source_failed = false;
  enum tide_status status =
      tide_pool_alloc(w->pool, size, line ? &line->position : NULL, "world", &buffer);
  if (status != TIDE_FULL) check_order(w, &offer, line, &stats, buffer);
  if (status == TIDE_NOMEM || status == TIDE_FULL) return;
  CHECK_OK(status);
  CHECK_EQ_U64(tide_buffer_size(buffer), size);
  begin_life(w, buffer);
  if (tide_buffer_reuse(buffer) == TIDE_REUSE_KNOWN && !line) violate(w, "known to a host");
  else if (tide_buffer_reuse(buffer) == TIDE_REUSE_KNOWN &&
           !satisfies(w, line->position.frontier, buffer)) {
    violate(w, "said to be known");
  }
}

static void end_if_unpinned(struct life *life) {
  if (life->freed && !life->pins) life->over = true;
}

/* Does whoever stands here know every use of it? */
static bool covers(struct world *w, const struct line *line, const struct life *life) {
  if (life->pins) return false;
  for (unsigned i = 0; i < w->op_count; i++) {
    if (!life->users[i]) continue;
    const struct op *op = &w->ops[i];
    tide_axis axis = w->lines[op->queue].position.axis;
    if (axis == line->position.axis && op->epoch <= line->position.epoch) continue;
    if (tide_frontier_get(line->position.frontier, axis) < op->epoch) return false;
  }
  return true;
}

/* Of those who touch it without naming it only the position tells: it must know them all. */
static bool covers_strangers(struct world *w, const struct line *line, const struct life *life) {
  for (unsigned i = 0; i < w->op_count; i++) {
    const struct op *op = &w->ops[i];
    const struct tide_position *by = &w->lines[op->queue].position;
    if (!life->users[i] || !w->lines[op->queue].stranger) continue;
    if (op->state == OP_HELD) return false;
    if (!line && op->state != OP_DONE) return false;
    if (!line || (by->axis == line->position.axis && line->in_order)) continue;
    if (tide_frontier_get(line->position.frontier, by->axis) < op->epoch) return false;
  }
  return true;
}

static void do_free(struct world *w) {
  if (!w->life_count) return;
  struct life *life = &w->lives[below(w, w->life_count)];
  struct line *line = chance(w, 10) ? NULL : &w->lines[below(w, w->line_count)];
  if (life->freed || (line && line->closed)) return;
  if (w->setting.covers && (!line || !covers(w, line, life))) return;
  if (!covers_strangers(w, line, life)) return;
  life->freed = true;
  w->tally->deferred += life->pins != 0;
  end_if_unpinned(life);
  tide_pool_free(life->buffer, line ? &line->position : NULL);
}

/* ---- operations ------------------------------------------------------------------- */

static void need(struct op *op, tide_axis axis, uint64_t epoch) {
  CHECK(op->wait_count < WAITS);
  op->waits[op->wait_count++] = (struct needed){axis, epoch};
}

/* The waits that a buffer's past asks for; the queue knows it from here on. */
static void close_gap(struct world *w, struct op *op, struct tide_frontier *known,
                      const struct tide_eviction *eviction) {
  const struct tide_buffer *buffer = op->life->buffer;
  if (satisfies(w, known, buffer)) {
    w->tally->elided_past += tide_buffer_past(buffer)->count != 0;
    return;
  }
  tide_axis axis;
  uint64_t epoch;
  const struct tide_frontier *past = tide_buffer_past(buffer);
  tide_buffer_past_signaller(buffer, &axis, &epoch);
  if (axis) need(op, axis, epoch);
  else if (past->tainted) violate(w, "a past that nobody can satisfy");
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(past);
       !axis && tide_frontier_next(&at, &entry);) {
    need(op, entry.axis, entry.epoch);
  }
  w->tally->gap_waits++;
  tide_frontier_merge(known, past, eviction);
}

static void import_record(struct world *w, struct op *op, struct tide_frontier *known,
                          const struct tide_eviction *eviction) {
  struct op *from = &w->ops[op->record_of];
  tide_axis axis = w->lines[from->queue].position.axis;
  if (tide_frontier_get(known, axis) < from->epoch &&
      !tide_tracker_finished(w->context->tracker, axis, from->epoch)) {
    need(op, axis, from->epoch);
  }
  tide_frontier_merge(known, &from->record.frontier, eviction);
}

static void enter(struct world *w, struct op *op) {
  struct line *line = &w->lines[op->queue];
  struct tide_tracker *tracker = w->context->tracker;
  struct tide_eviction eviction = {tracker, line->position.axis};
  struct tide_frontier *f = line->position.frontier;
  bool was = f->tainted && tide_tracker_epoch(tracker, line->position.axis) < line->taint_epoch;
  bool was_held = op->state == OP_HELD;
  f->tainted = 0;
  if (op->record_of >= 0) import_record(w, op, f, &eviction);
  if (op->life) close_gap(w, op, f, &eviction);
  tide_frontier_init(&op->known.frontier, w->setting.capacity);
  tide_frontier_copy(&op->known.frontier, f, NULL);
  uint64_t epoch = ++line->position.epoch;
  line->ops[epoch - 1] = (unsigned)(op - w->ops);
  op->epoch = epoch;
  op->state = OP_ENTERED;
  tide_frontier_init(&op->record.frontier, w->setting.capacity);
  tide_frontier_copy(&op->record.frontier, f, NULL);
  tide_frontier_raise(&op->record.frontier, line->position.axis, epoch, &eviction);
  if (op->record.frontier.tainted) line->taint_epoch = epoch;
  if (line->in_order) tide_frontier_copy(f, &op->record.frontier, NULL);
  f->tainted = op->record.frontier.tainted = op->record.frontier.tainted || was;
  w->tally->tainted += f->tainted;
  if (!op->life) return;
  struct tide_naming use = {line->position.axis, epoch, &op->record.frontier, epoch, NULL};
  if (!line->stranger) tide_buffer_use(op->life->buffer, &use);
  if (was_held) {
    op->life->pins--;
    end_if_unpinned(op->life);
    tide_buffer_unpin(op->life->buffer);
  }
}

static void do_submit(struct world *w) {
  unsigned queue = 1 + below(w, w->line_count - 1);
  struct line *line = &w->lines[queue];
  if (line->closed || w->op_count == OPS) return;
  unsigned index = w->op_count++;
  struct op *op = &w->ops[index];
  memset(op, 0, sizeof *op);
  op->queue = queue;
  op->record_of = -1;
  if (index && chance(w, 50)) {
    unsigned from = below(w, index);
    if (w->ops[from].state != OP_HELD) op->record_of = (int)from;
  }
  struct life *life = w->life_count && chance(w, 80) ? &w->lives[below(w, w->life_count)] : NULL;
  if (life && !life->freed) {
    op->life = life;
    life->users[index] = 1;
    for (unsigned i = life->first; i < life->first + life->count; i++) w->users[i][index] = 1;
    tide_buffer_retain(life->buffer);
  }
  if (!line->held_count && !chance(w, w->setting.hold)) {
    op->state = OP_ENTERED;
    enter(w, op);
    return;
  }
  op->state = OP_HELD;
  line->held[line->held_count++] = index;
  if (op->life) {
    op->life->pins++;
    tide_buffer_pin(op->life->buffer);
  }
}

static void do_enter_held(struct world *w, struct line *line) {
  if (!line->held_count) return;
  unsigned index = line->held[0];
  memmove(line->held, line->held + 1, --line->held_count * sizeof *line->held);
  enter(w, &w->ops[index]);
}

static bool may_start(struct world *w, struct op *op) {
  struct line *line = &w->lines[op->queue];
  if (op->state != OP_ENTERED) return false;
  if (op->epoch > 1) {
    enum op_state before = w->ops[line->ops[op->epoch - 2]].state;
    if (line->in_order ? before != OP_DONE : before == OP_ENTERED) return false;
  }
  for (unsigned i = 0; i < op->wait_count; i++) {
    if (!has_finished(w, op->waits[i].axis, op->waits[i].epoch)) return false;
  }
  return true;
}

static void do_step(struct world *w, struct op *op) {
  if (op->state == OP_RUNNING) {
    op->state = OP_DONE;
    if (op->life) tide_buffer_release(op->life->buffer);
  } else if (may_start(w, op)) {
    if (!all_finished(w, &op->known.frontier)) violate(w, "the guarantee is broken");
    if (!w->violation && op->life && !all_done(w, op->life->before)) {
      w->violation = "memory is touched while an earlier user has not finished";
    }
    op->state = OP_RUNNING;
  }
}

/* ---- everything else -------------------------------------------------------------- */

static void do_publish(struct world *w, struct line *line) {
  line->published = really_finished(w, line);
  if (!line->closed) {
    (void)tide_tracker_advance(w->context->tracker, line->position.axis, line->published);
  }
}

/* The host waits for a record, or signals one of its own. */
static void do_host(struct world *w) {
  struct line *host = &w->lines[0];
  struct tide_eviction eviction = {w->context->tracker, host->position.axis};
  if (chance(w, 30)) {
    host->position.epoch++;
    tide_frontier_raise(host->position.frontier, host->position.axis, host->position.epoch,
                        &eviction);
  } else if (w->op_count) {
    struct op *op = &w->ops[below(w, w->op_count)];
    if (op->state != OP_DONE) return;
    if (!has_finished(w, w->lines[op->queue].position.axis, op->epoch)) return;
    tide_frontier_merge(host->position.frontier, &op->record.frontier, &eviction);
  }
}

static void add_line(struct world *w, bool host) {
  unsigned index = w->line_count++;
  struct line *line = &w->lines[index];
  tide_axis axis;
  CHECK_OK(tide_lease_take(w->context->lease, host ? TIDE_DOMAIN_HOST : TIDE_DOMAIN_QUEUE, &axis));
  CHECK_OK(tide_tracker_register(w->context->tracker, axis));
  line->stranger = !host && chance(w, w->setting.strangers);
  if (!host && !line->stranger)
    tide_tracker_set_names(tide_tracker_find(w->context->tracker, axis));
  line->host = host;
  line->in_order = host || !chance(w, w->setting.out_of_order);
  tide_frontier_init(&line->frontier.frontier, w->setting.capacity);
  line->position = (struct tide_position){.axis = axis, .frontier = &line->frontier.frontier};
}

/* A queue that has nothing left goes, and another comes. */
static void do_close(struct world *w) {
  struct line *line = &w->lines[1 + below(w, w->line_count - 1)];
  if (line->closed || line->held_count || w->line_count == AXES) return;
  if (really_finished(w, line) < line->position.epoch) return;
  CHECK_OK(tide_tracker_close(w->context->tracker, line->position.axis));
  line->closed = true;
  add_line(w, false);
}

static void check_asked(struct world *w) {
  if (!w->life_count) return;
  struct life *life = &w->lives[below(w, w->life_count)];
  if (life->freed) return;
  if (tide_buffer_ready(life->buffer) && !all_done(w, life->before)) violate(w, "not ready");
  /* It says nothing of those who touch the buffer without naming it. */
  if (w->setting.strangers) return;
  if (tide_buffer_idle(life->buffer) && !all_done(w, life->users)) violate(w, "not idle");
}

static void act(struct world *w) {
  unsigned what = below(w, 100);
  if (what < 22) do_submit(w);
  else if (what < 34) do_alloc(w);
  else if (what < 44) do_free(w);
  else if (what < 49) do_enter_held(w, &w->lines[below(w, w->line_count)]);
  else if (what < 54) do_publish(w, &w->lines[below(w, w->line_count)]);
  else if (what < 57) do_host(w);
  else if (what < 59) check_asked(w);
  else if (what == 59) (void)tide_pool_trim(w->pool);
  else if (what == 60 && w->setting.close) do_close(w);
  else if (w->op_count) do_step(w, &w->ops[below(w, w->op_count)]);
}

/* Lets everything come to its end; then nothing may be left. */
static void wind_up(struct world *w) {
  for (unsigned i = 0; i < w->life_count; i++) {
    if (w->lives[i].freed) continue;
    w->lives[i].freed = true;
    end_if_unpinned(&w->lives[i]);
    tide_pool_free(w->lives[i].buffer, &w->lines[0].position);
  }
  for (unsigned i = 1; i < w->line_count; i++) {
    while (w->lines[i].held_count) do_enter_held(w, &w->lines[i]);
  }
  for (unsigned round = 0; round < 2 * OPS; round++) {
    for (unsigned i = 0; i < w->op_count; i++) do_step(w, &w->ops[i]);
  }
  for (unsigned i = 0; i < w->op_count && !w->violation; i++) {
    if (w->ops[i].state != OP_DONE) violate(w, "an operation never starts");
  }
  for (unsigned i = 0; i < w->line_count; i++) do_publish(w, &w->lines[i]);
  if (!w->setting.grace) {
    for (unsigned i = 0; i < w->line_count; i++) {
      if (!w->lines[i].closed) {
        CHECK_OK(tide_tracker_close(w->context->tracker, w->lines[i].position.axis));
      }
    }
  }
}

static void add_stats(struct world *w) {
  struct tide_pool_stats stats;
  tide_pool_stats(w->pool, &stats);
  w->tally->joins += stats.joins;
  w->tally->splits += stats.splits;
  w->tally->runs++;
  if (stats.live_bytes || stats.live_buffers) violate(w, "something is still alive");
  if (stats.allocs != stats.frees) violate(w, "frees are not counted");
}

const char *pool_world_run(const struct setting *setting, uint64_t seed, struct tally *tally) {
  static struct world world;
  struct world *w = &world;
  memset(w, 0, sizeof *w);
  w->setting = *setting;
  w->random.state = seed;
  w->tally = tally;
  struct tide_allocator allocator = {piece_alloc, piece_free, w};
  struct tide_context_params params = {.struct_size = sizeof params,
                                       .allocator = &allocator,
                                       .frontier_capacity = setting->capacity};
  CHECK_OK(tide_context_create(&params, &w->context));
  struct tide_memory_source source = {arena_map, arena_unmap, w};
  w->limit = ARENA - below(w, 4) * (ARENA / 8);
  struct tide_pool_params pool = {.struct_size = sizeof pool,
                                  .source = &source,
                                  .limit = w->limit,
                                  .policy = setting->waits_first ? TIDE_POOL_WAIT_FIRST
                                                                 : TIDE_POOL_GROW_FIRST,
                                  .chunk = chance(w, 50) ? ARENA : ARENA / 4,
                                  .frees_cover_uses = setting->covers,
                                  .uses_are_named = setting->strangers || chance(w, 50)};
  CHECK_OK(tide_pool_create(w->context, &pool, &w->pool));
  /* The lines give their epochs themselves, so the tracker cannot be asked. */
  tide_pool_set_grace(w->pool, setting->grace ? live_axes : NULL, w);
  add_line(w, true);
  for (unsigned i = 0; i < setting->queues; i++) add_line(w, false);
  for (unsigned i = 0; i < setting->steps && !w->violation; i++) act(w);
  if (!w->violation) wind_up(w);
  if (!w->violation) {
    add_stats(w);
    if (tide_pool_destroy(w->pool) != TIDE_OK) violate(w, "the pool cannot be destroyed");
  }
  if (!w->violation) tide_context_destroy(w->context);
  if (w->pieces) violate(w, "memory is left over");
  while (w->pieces) piece_free(w, w->pieces + 1, w->pieces->size);
  return w->violation;
}
