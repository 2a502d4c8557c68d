/* Classification of waits: which of them does another one already imply? Judged by the orders that
 * *must* hold: a wait counts as implied only where the specification leaves no other order.
 * Knowledge has three sources: earlier waits of the queue, as far as their stage masks reach; the
 * other waits of the submission; all that the submitting thread has seen finish.
 *
 * A queue starts its submissions in order and does not finish them in order. So its own signals
 * count only as far as they came back through another queue (the wait for that queue imports them).
 * A wait on the queue's own signal is a class of its own: it can be dropped only if a barrier
 * replaces it. Where no barrier can stand, in front of a present or a sparse bind, it is needed. */
#include "layer/layer.h"

#include <stdlib.h>

/* ---- stages ---------------------------------------------------------------------- */

#define GRAPHICS                                                                                   \
  (VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT | VK_PIPELINE_STAGE_2_VERTEX_INPUT_BIT |                  \
   VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT | VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT |          \
   VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT | VK_PIPELINE_STAGE_2_TESSELLATION_CONTROL_SHADER_BIT |   \
   VK_PIPELINE_STAGE_2_TESSELLATION_EVALUATION_SHADER_BIT |                                        \
   VK_PIPELINE_STAGE_2_GEOMETRY_SHADER_BIT | VK_PIPELINE_STAGE_2_PRE_RASTERIZATION_SHADERS_BIT |   \
   VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT | VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT |        \
   VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT | VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT)
#define TRANSFER                                                                                   \
  (VK_PIPELINE_STAGE_2_COPY_BIT | VK_PIPELINE_STAGE_2_RESOLVE_BIT | VK_PIPELINE_STAGE_2_BLIT_BIT | \
   VK_PIPELINE_STAGE_2_CLEAR_BIT)

static const struct {
  VkPipelineStageFlags2 one, stands_for;
} wide_stages[] = {
    {VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, ~(VkPipelineStageFlags2)0},
    {VK_PIPELINE_STAGE_2_ALL_GRAPHICS_BIT, GRAPHICS},
    {VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, TRANSFER},
    {VK_PIPELINE_STAGE_2_PRE_RASTERIZATION_SHADERS_BIT,
     VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT | VK_PIPELINE_STAGE_2_TESSELLATION_CONTROL_SHADER_BIT |
         VK_PIPELINE_STAGE_2_TESSELLATION_EVALUATION_SHADER_BIT |
         VK_PIPELINE_STAGE_2_GEOMETRY_SHADER_BIT},
    {VK_PIPELINE_STAGE_2_VERTEX_INPUT_BIT,
     VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT | VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT},
};

#define TOP VK_PIPELINE_STAGE_2_TOP_OF_PIPE_BIT
#define BOTTOM VK_PIPELINE_STAGE_2_BOTTOM_OF_PIPE_BIT

static VkPipelineStageFlags2 widen_stages(VkPipelineStageFlags2 stages) {
  for (size_t i = 0; i < sizeof wide_stages / sizeof wide_stages[0]; i++)
    if (stages & wide_stages[i].one) stages |= wide_stages[i].stands_for;
  return stages & ~(TOP | BOTTOM);
}

/* Returns the first scope of a signal: the bottom of the pipe stands for all before it, the top for
 * nothing. */
static VkPipelineStageFlags2 first_scope(VkPipelineStageFlags2 stages) {
  return stages & BOTTOM ? widen_stages(VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT)
                         : widen_stages(stages);
}

/* Returns the second scope of a wait: the top of the pipe stands for all after it, the bottom for
 * nothing. */
static VkPipelineStageFlags2 second_scope(VkPipelineStageFlags2 stages) {
  return stages & TOP ? widen_stages(VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT) : widen_stages(stages);
}

bool layer_stages_meet(VkPipelineStageFlags2 to, VkPipelineStageFlags2 from) {
  return (second_scope(to) & first_scope(from)) != 0;
}

bool layer_stages_cover(VkPipelineStageFlags2 wide, VkPipelineStageFlags2 narrow) {
  return (second_scope(narrow) & ~second_scope(wide)) == 0;
}

bool layer_stages_are_all(VkPipelineStageFlags2 from) {
  return first_scope(from) == first_scope(VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
}

/* ---- one wait -------------------------------------------------------------------- */

const char *layer_class_name(enum layer_wait_class class_) {
  static const char *const names[] = {"seen", "known", "own", "sibling", "needed"};
  return names[class_];
}

/* Returns the record of the signal that ends a wait, if only one can: a signal of a higher value
 * might be overtaken by one of a value between that is submitted later. */
static const struct tide_shadow_record *signal_of(const struct layer_wait *wait) {
  const struct tide_shadow_record *record;
  if (wait->semaphore->external) return NULL;
  record = tide_shadow_find_record(wait->semaphore->records, wait->value);
  return record && record->value == wait->value ? record : NULL;
}

static bool is_in(const struct tide_shadow_clock *clock, const struct tide_shadow_record *signal) {
  return tide_shadow_epoch(clock, signal->queue) >= signal->epoch;
}

/* True if the queue's imports cover the wait's stages, several imports taken together. */
static bool is_known(const struct layer_queue *queue, const struct layer_wait *wait,
                     const struct tide_shadow_record *signal) {
  VkPipelineStageFlags2 covered = 0;
  for (size_t i = 0; i < queue->import_count; i++)
    if (is_in(&queue->imports[i].clock, signal)) covered |= queue->imports[i].stages;
  return covered && layer_stages_cover(covered, wait->stages);
}

static bool has_sibling(const struct layer_submission *submission, const struct layer_wait *wait,
                        const struct tide_shadow_record *signal) {
  for (uint32_t i = 0; i < submission->wait_count; i++) {
    const struct layer_wait *other = &submission->waits[i];
    const struct tide_shadow_record *record = other == wait ? NULL : signal_of(other);
    if (!record || !is_in(&record->clock, signal)) continue;
    /* Equal waits imply each other: the first of them stays. */
    bool is_mutual = signal->epoch && record->epoch && is_in(&signal->clock, record);
    if (is_mutual && other > wait) continue;
    if (layer_stages_cover(other->stages, wait->stages)) return true;
  }
  return false;
}

static enum layer_wait_class class_of(const struct layer_queue *queue,
                                      const struct layer_submission *submission,
                                      struct layer_wait *wait) {
  struct layer_device *device = queue->device;
  const struct layer_semaphore *semaphore = wait->semaphore;
  const struct tide_shadow_record *signal = signal_of(wait);
  const struct tide_shadow *thread;
  if (semaphore->timeline && wait->value <= semaphore->initial) return LAYER_WAIT_KNOWN;
  if (!signal || device->clocks.out_of_memory) return LAYER_WAIT_NEEDED;
  thread = tide_shadow_find(&device->clocks, TIDE_SHADOW_THREAD, layer_thread());
  if (!signal->epoch) /* a host's signal, or a sparse bind's */
    return signal->queue == layer_thread() ? LAYER_WAIT_SEEN : LAYER_WAIT_NEEDED;
  wait->signaller = device->queues[signal->queue];
  wait->signaller_epoch = signal->epoch;
  if (thread && is_in(&thread->clock, signal)) return LAYER_WAIT_SEEN;
  if (is_known(queue, wait, signal)) return LAYER_WAIT_KNOWN;
  if (wait->signaller == queue)
    return submission->kind == LAYER_SUBMIT ? LAYER_WAIT_OWN : LAYER_WAIT_NEEDED;
  if (has_sibling(submission, wait, signal)) return LAYER_WAIT_SIBLING;
  return LAYER_WAIT_NEEDED;
}

/* Imports a wait: all that the queue starts later, at these stages, comes after the signal. */
static void import_wait(struct layer_queue *queue, const struct layer_wait *wait) {
  const struct tide_shadow_record *signal = signal_of(wait);
  size_t at = 0;
  if (!signal) return;
  while (at < queue->import_count && queue->imports[at].stages != wait->stages) at++;
  if (at == TIDE_LAYER_IMPORTS) return;
  if (at == queue->import_count) {
    queue->imports[at].stages = wait->stages;
    queue->import_count++;
  }
  tide_shadow_merge(&queue->device->clocks, &queue->imports[at].clock, &signal->clock);
}

/* ---- edges and groups ------------------------------------------------------------ */

static bool is_edge(const struct layer_wait *wait) {
  return wait->signaller && wait->semaphore->timeline &&
         (wait->class_ == LAYER_WAIT_NEEDED ||
          (wait->class_ == LAYER_WAIT_OWN && layer_options()->in_queue));
}

static void describe_edge(const struct layer_submission *submission, const struct layer_wait *wait,
                          char *text, size_t size) {
  struct layer_text after, before, name;
  const struct layer_submission *first =
      layer_submission_at(wait->signaller, wait->signaller_epoch);
  snprintf(text, size, "%s waits for %s >= %llu, signalled by %s",
           layer_name_submission(submission, &after), layer_name_semaphore(wait->semaphore, &name),
           (unsigned long long)wait->value,
           first ? layer_name_submission(first, &before)
                 : layer_name_queue(wait->signaller, &before));
}

static void keep_edge(struct layer_device *device, const struct layer_submission *submission,
                      const struct layer_wait *wait) {
  uint64_t number = device->counts.edges - 1;
  if (number >= TIDE_LAYER_EDGES) return;
  if (!device->edges) device->edges = calloc(TIDE_LAYER_EDGES, sizeof device->edges[0]);
  if (device->edges)
    describe_edge(submission, wait, device->edges[number], sizeof device->edges[0]);
}

static void drop_edge(struct layer_submission *submission, const struct layer_wait *edge) {
  char text[sizeof(struct layer_text) * 3];
  describe_edge(submission, edge, text, sizeof text);
  layer_limit("edge %llu of the program was left out: %s",
              (unsigned long long)layer_options()->drop_edge, text);
  for (uint32_t i = 0; i < submission->wait_count; i++) {
    struct layer_wait *wait = &submission->waits[i];
    if (wait->signaller == edge->signaller && wait->semaphore->timeline) wait->dropped = true;
  }
}

/* An edge: all waits of a submission for one queue, at least one of which is needed. */
static void number_edges(struct layer_device *device, struct layer_submission *submission) {
  uint64_t counted = 0; /* bits of queues */
  for (uint32_t i = 0; i < submission->wait_count; i++) {
    struct layer_wait *wait = &submission->waits[i];
    if (!is_edge(wait) || (counted >> wait->signaller->index & 1)) continue;
    counted |= (uint64_t)1 << wait->signaller->index;
    device->counts.edges++;
    keep_edge(device, submission, wait);
    if (device->explorer && device->counts.edges == layer_options()->drop_edge)
      drop_edge(submission, wait);
  }
}

static void count_wait(struct layer_device *device, const struct layer_submission *submission,
                       const struct layer_wait *wait) {
  struct layer_text name;
  size_t at = 0;
  device->counts.classes[wait->class_]++;
  if (!device->groups) device->groups = calloc(TIDE_LAYER_GROUPS, sizeof device->groups[0]);
  if (!device->groups) return;
  for (; at < device->group_count; at++) {
    const struct layer_wait_group *group = &device->groups[at];
    if (group->class_ == wait->class_ && group->queue == submission->queue &&
        group->signaller == wait->signaller)
      break;
  }
  if (at == TIDE_LAYER_GROUPS) return;
  struct layer_wait_group *group = &device->groups[at];
  if (at == device->group_count) {
    device->group_count++;
    *group = (struct layer_wait_group){
        .class_ = wait->class_, .queue = submission->queue, .signaller = wait->signaller};
    snprintf(group->example, sizeof group->example, "submission %llu for %s >= %llu",
             (unsigned long long)submission->number, layer_name_semaphore(wait->semaphore, &name),
             (unsigned long long)wait->value);
  }
  group->count++;
}

void layer_classify(struct layer_queue *queue, struct layer_submission *submission) {
  struct layer_device *device = queue->device;
  for (uint32_t i = 0; i < submission->wait_count; i++) {
    struct layer_wait *wait = &submission->waits[i];
    wait->class_ = class_of(queue, submission, wait);
    if (device->explorer && wait->semaphore->timeline &&
        (layer_options()->dropped_classes >> wait->class_ & 1))
      wait->dropped = true;
    count_wait(device, submission, wait);
  }
  number_edges(device, submission);
  for (uint32_t i = 0; i < submission->wait_count; i++) {
    import_wait(queue, &submission->waits[i]);
    device->counts.dropped += submission->waits[i].dropped;
  }
}

void layer_audit_verdict(const struct layer_counts *counts, FILE *to) {
  const uint64_t *of = counts->classes;
  uint64_t all = 0, spare = of[LAYER_WAIT_SEEN] + of[LAYER_WAIT_KNOWN] + of[LAYER_WAIT_SIBLING];
  for (int i = 0; i < LAYER_WAIT_CLASSES; i++) all += of[i];
  if (!all) {
    fputs("verdict no submission waits for a semaphore\n", to);
    return;
  }
  if (of[LAYER_WAIT_NEEDED] == all) {
    fprintf(to, "verdict every wait is needed (%llu)\n", (unsigned long long)all);
    return;
  }
  fprintf(to,
          "verdict of %llu wait%s, %llu could go, %llu could be barriers instead, %llu %s needed\n",
          (unsigned long long)all, all == 1 ? "" : "s", (unsigned long long)spare,
          (unsigned long long)of[LAYER_WAIT_OWN], (unsigned long long)of[LAYER_WAIT_NEEDED],
          of[LAYER_WAIT_NEEDED] == 1 ? "is" : "are");
}

void layer_audit_print(const struct layer_device *device, FILE *to) {
  for (size_t i = 0; i < device->group_count; i++) {
    const struct layer_wait_group *group = &device->groups[i];
    struct layer_text queue, signaller;
    fprintf(to, "wait %s %llu %s waits for %s, first %s\n", layer_class_name(group->class_),
            (unsigned long long)group->count, layer_name_queue(group->queue, &queue),
            group->signaller ? layer_name_queue(group->signaller, &signaller)
                             : "a thread, the window system, or what is submitted later",
            group->example);
  }
  for (unsigned i = 0; device->edges && i < device->counts.edges && i < TIDE_LAYER_EDGES; i++)
    fprintf(to, "edge %u %s\n", i + 1, device->edges[i]);
}
