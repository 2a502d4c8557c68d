/* Descriptions of timelines and compounds, for diagnostics. Nothing is counted in advance: each
 * call counts, up to a limit that bounds the time under the lock. */
#include "base/alloc.h"
#include "point/point_state.h"

#define STEPS_MOST 4096u /* promises or broken ranges that one call counts */

static uint64_t due_of(const struct tide_unmet *unmet) {
  return unmet->due.state == TIDE_NODE_QUEUED ? unmet->due.value : TIDE_FOREVER;
}

static void count_pending(const struct tide_timeline *timeline, struct tide_described *out) {
  uint32_t steps = 0;
  struct tide_tree_node *tree_node = timeline->pending_values.first;
  for (; tree_node && steps < STEPS_MOST; tree_node = tide_tree_next(tree_node), steps++) {
    const struct tide_promise *promise =
        TIDE_CONTAINER(tide_pending_value_of(tree_node), struct tide_promise, unmet.pending);
    if (promise->unmet.node.defined) {
      out->queued++;
      continue;
    }
    if (!out->owed++) out->oldest_due = due_of(&promise->unmet);
  }
  out->cut |= tree_node != NULL;
}

static void count_broken(const struct tide_timeline *timeline, struct tide_described *out) {
  uint32_t steps = 0;
  struct tide_tree_node *tree_node = timeline->broken_ranges.first;
  for (; tree_node && steps < STEPS_MOST; tree_node = tide_tree_next(tree_node), steps++)
    out->broken += tree_node->key - tide_pending_value_of(tree_node)->first + 1;
  out->cut |= tree_node != NULL;
}

void tide_future_describe(const struct tide_future *future, struct tide_described *out) {
  struct tide_lock *lock = tide_points_lock(future->points);
  const struct tide_timeline *timeline = future->timeline;
  *out = (struct tide_described){
      .value = timeline->reached.value, .newest = future->newest, .capacity = future->capacity};
  memcpy(out->label, timeline->label, sizeof out->label);
  count_pending(timeline, out);
  count_broken(timeline, out);
  tide_lock_give(lock);
}

enum tide_status tide_compound_describe(struct tide_points *points, struct tide_point name,
                                        struct tide_described *out) {
  struct tide_lock *lock = tide_points_lock(points);
  const struct tide_compound *compound = tide_slot_find(points, name, TIDE_SLOT_COMPOUND);
  *out = (struct tide_described){.newest = 1, .capacity = 1};
  if (compound) {
    const struct tide_dependency_node *node = &compound->unmet.node;
    bool open = !node->ended;
    out->stand_in = node->kind == TIDE_DEPENDENCY_STAND_IN;
    out->value = node->ended && !node->status;
    out->broken = node->ended && node->status;
    out->queued = open && (node->defined || node->scheduled);
    out->owed = open && !out->queued;
    out->parts = compound->parts;
    if (out->owed) out->oldest_due = due_of(&compound->unmet);
  }
  tide_lock_give(lock);
  return compound ? TIDE_OK : TIDE_NOT_FOUND;
}

/* ---- the signaller of a pending value ---- */

#define DEPTH_MOST 4 /* compounds of compounds */
#define PARTS_MOST 8 /* named parts of one wait */

struct explanation {
  struct tide_text *text;
  const struct tide_platform *platform;
  tide_command_name name;
  unsigned left;  /* parts that may still be named */
  unsigned steps; /* edges that may still be followed: under the lock */
};

static void explain_due(const struct explanation *to, const struct tide_unmet *unmet) {
  uint64_t due = due_of(unmet), now = to->platform->now(to->platform->self);
  uint64_t left = due > now ? (due - now) / 1000000 : 0;
  if (due == TIDE_FOREVER) return;
  tide_text_format(to->text, ", due in %lu.%03lu s", (unsigned long)(left / 1000),
                   (unsigned long)(left % 1000));
}

static void explain_owner(const struct explanation *to, const struct tide_unmet *unmet,
                          const char *what) {
  if (!unmet->client) tide_text_format(to->text, "%s by a client that is gone", what);
  else tide_text_format(to->text, "%s by '%s'", what, unmet->client->label);
}

static void explain_promise(const struct explanation *to, const struct tide_promise *promise) {
  const struct tide_dependency_node *node = promise->edge.target;
  if (!promise->unmet.node.defined) {
    explain_owner(to, &promise->unmet, "promised");
    explain_due(to, &promise->unmet);
  } else if (node && node->kind == TIDE_DEPENDENCY_COMMAND) {
    tide_text_format(to->text, "queued as");
    to->name(to->text, TIDE_CONTAINER(node, struct tide_command, node));
  } else {
    explain_owner(to, &promise->unmet, "queued");
  }
}

static const struct tide_promise *promise_of(const struct tide_dependency_node *node) {
  return TIDE_CONTAINER(node, struct tide_promise, unmet.node);
}

static void explain_parts(struct explanation *to, const struct tide_dependency_node *node,
                          unsigned depth);

/* Explains a part of a compound that has not ended. */
static void explain_part(struct explanation *to, const struct tide_dependency_node *node,
                         unsigned depth) {
  if (node->kind == TIDE_DEPENDENCY_PROMISE) {
    const struct tide_promise *promise = promise_of(node);
    tide_text_format(to->text, "'%s' >= %lu (", promise->unmet.timeline->label,
                     (unsigned long)promise->unmet.pending.node.key);
    explain_promise(to, promise);
    tide_text_format(to->text, ")");
  } else if (node->kind == TIDE_DEPENDENCY_STAND_IN) {
    tide_text_format(to->text, "a point of another service");
  } else {
    explain_parts(to, node, depth + 1);
  }
}

static void explain_parts(struct explanation *to, const struct tide_dependency_node *node,
                          unsigned depth) {
  const char *before = "";
  if (!node->defined) {
    tide_text_format(to->text, "a compound that is not defined yet");
    return;
  }
  tide_text_format(to->text, node->kind == TIDE_DEPENDENCY_ANY ? "one of " : "all of ");
  for (const struct tide_dependency_edge *edge = node->edges; edge; edge = edge->next) {
    bool is_over = !edge->target || edge->target->ended;
    if (to->steps) to->steps--;
    if (is_over && to->steps) continue;
    if (depth >= DEPTH_MOST || !to->left || !to->steps) {
      tide_text_format(to->text, "%s…", before);
      return;
    }
    to->left--;
    tide_text_format(to->text, "%s", before);
    explain_part(to, edge->target, depth);
    before = ", ";
  }
}

void tide_point_explain(struct tide_text *text, const struct tide_timeline *timeline,
                        uint64_t value, tide_command_name name) {
  struct explanation to = {.text = text,
                           .platform = timeline->context->platform,
                           .name = name,
                           .left = PARTS_MOST,
                           .steps = STEPS_MOST};
  const struct tide_pending_value *pending = tide_pending_find_locked(timeline, value);
  if (!pending) return;
  tide_text_format(text, "; ");
  const struct tide_unmet *unmet = TIDE_CONTAINER(pending, struct tide_unmet, pending);
  if (unmet->node.kind == TIDE_DEPENDENCY_PROMISE) {
    explain_promise(&to, promise_of(&unmet->node));
  } else if (unmet->node.kind == TIDE_DEPENDENCY_STAND_IN) {
    explain_owner(&to, unmet, "a point of another service, reported");
  } else if (!unmet->node.defined) {
    explain_owner(&to, unmet, "to be defined");
    explain_due(&to, unmet);
  } else {
    explain_parts(&to, &unmet->node, 0);
  }
}

/* ---- ended values ---- */

uint32_t tide_slot_ends(const struct tide_points *points, uint32_t slot, struct tide_ended *out,
                        struct tide_broken_run *out_runs, uint32_t most) {
  const struct tide_slot *at = &points->slots[slot];
  const struct tide_future *future = at->kind == TIDE_SLOT_FUTURE ? at->object : NULL;
  const struct tide_compound *compound = future ? NULL : at->object;
  const struct tide_timeline *timeline = future ? future->timeline : compound->unmet.timeline;
  uint32_t count = 0;
  *out = (struct tide_ended){.reached = timeline->reached.value,
                             .closed = future ? (enum tide_status)future->closed : TIDE_OK};
  for (struct tide_tree_node *node = timeline->broken_ranges.first; node && count < most;
       node = tide_tree_next(node)) {
    const struct tide_pending_value *range = tide_pending_value_of(node);
    out_runs[count++] =
        (struct tide_broken_run){range->first, node->key, (enum tide_status)range->status};
  }
  return count;
}
