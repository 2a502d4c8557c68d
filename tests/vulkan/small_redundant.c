/* Waits of every class, for the audit, and how many of each there are by the definitions:
 *
 *   seen     the submitting thread has itself observed something that implies the signal
 *   known    an earlier wait of this queue implies the signal, with a mask that covers this one's;
 *            signals of the own queue only as far as another queue's signal brought them back
 *   own      an earlier submission of the same queue signals
 *   sibling  another wait of the same submission implies the signal, with a covering mask
 *   needed   none of these
 *
 * The first class that applies counts. A program whose counts depend on a finer reading of these
 * definitions (see struct reading) is drawn anew.
 */
#include "small.h"
#include <string.h>

enum wait_class { SEEN, KNOWN, OWN, SIBLING, NEEDED, CLASS_COUNT };

static const char *const class_names[] = {"seen", "known", "own", "sibling", "needed"};

enum { KNOWLEDGE_MOST = 256 };

/* What the definitions leave open. */
struct reading {
  bool own_waits_teach;    /* a wait for the own queue counts as an earlier wait */
  bool narrow_waits_teach; /* what a narrow wait brought reaches the waiters of later signals */
  bool hosts_teach;        /* what the submitting thread has seen reaches those waiters */
  bool seen_waits_teach;   /* a wait that the host had seen satisfied counts as an earlier wait */
};

struct knowledge {
  uint64_t batches;
  VkPipelineStageFlags mask;
};

struct auditor {
  const struct program *program;
  struct reading reading;
  struct knowledge known[QUEUES_MOST][KNOWLEDGE_MOST];
  int known_count[QUEUES_MOST];
  uint64_t submitted[QUEUES_MOST]; /* by queue */
  uint64_t pasts[BATCHES_MOST];
  uint64_t seen[LANES_MOST]; /* by thread */
  unsigned counts[CLASS_COUNT];
};

static bool covers(VkPipelineStageFlags mask, VkPipelineStageFlags other) {
  return mask == VK_PIPELINE_STAGE_ALL_COMMANDS_BIT || (other & ~mask) == 0;
}

/* The batch whose signal satisfies the wait; -1: the initial value does. */
static int signaller_of(const struct program *program, const struct wait *wait) {
  bool is_binary = program->semaphores[wait->semaphore].is_binary;
  if (!is_binary && wait->value <= program->semaphores[wait->semaphore].initial) return -1;
  for (int b = 0; b < program->batch_count; b++)
    for (int s = 0; s < program->batches[b].signal_count; s++) {
      const struct signal *signal = &program->batches[b].signals[s];
      if (signal->semaphore == wait->semaphore && (is_binary || signal->value >= wait->value))
        return b;
    }
  small_fail("the model waits for a value that no batch signals");
}

static bool is_known(const struct auditor *auditor, int queue, int signaller,
                     VkPipelineStageFlags mask) {
  for (int i = 0; i < auditor->known_count[queue]; i++) {
    const struct knowledge *known = &auditor->known[queue][i];
    if ((known->batches & BIT(signaller)) && covers(known->mask, mask)) return true;
  }
  return false;
}

static enum wait_class classify(const struct auditor *auditor, int index, int wait_index,
                                int thread) {
  const struct program *program = auditor->program;
  const struct batch *batch = &program->batches[index];
  const struct wait *wait = &batch->waits[wait_index];
  int queue = program->lanes[batch->lane].queue, signaller = signaller_of(program, wait);
  if (signaller < 0) return KNOWN;
  if (auditor->seen[thread] & BIT(signaller)) return SEEN;
  if (is_known(auditor, queue, signaller, wait->mask)) return KNOWN;
  if (auditor->submitted[queue] & BIT(signaller)) return OWN;
  for (int i = 0; i < batch->wait_count; i++) {
    int sibling = signaller_of(program, &batch->waits[i]);
    if (i != wait_index && sibling >= 0 && sibling != signaller &&
        (auditor->pasts[sibling] & BIT(signaller)) && covers(batch->waits[i].mask, wait->mask))
      return SIBLING;
  }
  return NEEDED;
}

static void learn(struct auditor *auditor, int queue, uint64_t batches, VkPipelineStageFlags mask) {
  if (auditor->known_count[queue] == KNOWLEDGE_MOST) small_fail("too much knowledge in the model");
  auditor->known[queue][auditor->known_count[queue]++] = (struct knowledge){batches, mask};
}

static void audit_batch(struct auditor *auditor, int index, int thread) {
  const struct program *program = auditor->program;
  const struct batch *batch = &program->batches[index];
  int queue = program->lanes[batch->lane].queue;
  enum wait_class classes[WAITS_MOST];
  for (int i = 0; i < batch->wait_count; i++)
    auditor->counts[classes[i] = classify(auditor, index, i, thread)]++;
  for (int i = 0; i < batch->wait_count; i++) {
    int signaller = signaller_of(program, &batch->waits[i]);
    if (signaller < 0) continue;
    bool is_own = auditor->submitted[queue] & BIT(signaller);
    if (is_own && !auditor->reading.own_waits_teach) continue;
    if (classes[i] == SEEN && !auditor->reading.seen_waits_teach) continue;
    learn(auditor, queue, auditor->pasts[signaller], batch->waits[i].mask);
  }
  uint64_t past = auditor->submitted[queue] | BIT(index);
  if (auditor->reading.hosts_teach) past |= auditor->seen[thread];
  for (int i = 0; i < auditor->known_count[queue]; i++)
    if (auditor->reading.narrow_waits_teach ||
        auditor->known[queue][i].mask == VK_PIPELINE_STAGE_ALL_COMMANDS_BIT)
      past |= auditor->known[queue][i].batches;
  auditor->pasts[index] = past;
  auditor->submitted[queue] |= BIT(index);
}

/* Returns the batches of the submit that a batch is part of: they have one fence. */
static uint64_t submitted_with(const struct program *program, int batch) {
  for (int i = 0; i < program->item_count; i++) {
    const struct item *item = &program->items[i];
    bool is_its =
        item->action == ACT_SUBMIT && item->first <= batch && batch < item->first + item->count;
    if (is_its) return (BIT(item->count) - 1) << item->first;
  }
  return BIT(batch);
}

static void audit_host_wait(struct auditor *auditor, const struct item *item) {
  const struct program *program = auditor->program;
  for (int t = 0; t < item->target_count; t++) {
    int target = item->targets[t], queue = program->lanes[program->batches[target].lane].queue;
    uint64_t complete = auditor->pasts[target];
    uint64_t with_fence = item->how == HOW_FENCE ? submitted_with(program, target) : 0;
    for (int b = 0; b < program->batch_count; b++) {
      bool is_on_queue = auditor->submitted[queue] & BIT(b);
      bool is_submitted = false;
      for (int q = 0; q < QUEUES_MOST; q++) is_submitted |= (auditor->submitted[q] & BIT(b)) != 0;
      if ((item->how == HOW_QUEUE_IDLE && is_on_queue) ||
          (item->how == HOW_DEVICE_IDLE && is_submitted) || (with_fence & BIT(b)))
        complete |= auditor->pasts[b];
    }
    auditor->seen[item->thread] |= complete;
  }
}

static void audit(const struct program *program, struct reading reading, unsigned *out_counts) {
  static struct auditor auditor; /* too large for a stack; the program draws on one thread */
  memset(&auditor, 0, sizeof auditor);
  auditor.program = program;
  auditor.reading = reading;
  for (int i = 0; i < program->item_count; i++) {
    const struct item *item = &program->items[i];
    if (item->action == ACT_WAIT) audit_host_wait(&auditor, item);
    for (int b = 0; item->action == ACT_SUBMIT && b < item->count; b++)
      audit_batch(&auditor, item->first + b, item->thread);
  }
  memcpy(out_counts, auditor.counts, sizeof auditor.counts);
}

/* True when all readings agree and the program has waits of several classes. */
static bool is_unambiguous(const struct program *program, unsigned *out_counts) {
  unsigned other[CLASS_COUNT];
  audit(program, (struct reading){false, false, true, true}, out_counts);
  for (unsigned i = 0; i < 16; i++) {
    audit(program, (struct reading){i & 1, i & 2, i & 4, i & 8}, other);
    if (memcmp(other, out_counts, sizeof other)) return false;
  }
  unsigned total = 0, used = 0;
  for (int c = 0; c < CLASS_COUNT; c++) {
    total += out_counts[c];
    used += out_counts[c] > 0;
  }
  return total >= 6 && used >= 3;
}

/* ---- drawing ------------------------------------------------------------------------ */

static void draw_waits(struct program *program, struct random_state *random, int index,
                       int newest_own[QUEUES_MOST]) {
  unsigned count = random_below(random, 4);
  int queue = program->lanes[program->batches[index].lane].queue;
  for (unsigned i = 0; i < count && index > 0; i++) {
    unsigned back = 1 + random_below(random, random_chance(random, 60) ? 5 : 60);
    int from = index - (int)back;
    if (from < 0) continue;
    if (program->lanes[program->batches[from].lane].queue == queue) {
      /* Repeated waits for the own queue are read in two ways. */
      if (from <= newest_own[queue]) continue;
      newest_own[queue] = from;
    }
    struct edge *edge = add_edge(program, from, index);
    edge->mask = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    if (random_chance(random, 15)) edge->mask = VK_PIPELINE_STAGE_TRANSFER_BIT;
  }
}

static void draw_observation(struct program *program, struct random_state *random) {
  if (program->event_count == 8) return;
  int after = (int)random_below(random, (unsigned)program->batch_count);
  struct item item = {.action = ACT_WAIT, .target_count = 1};
  item.thread = (int)random_below(random, (unsigned)program->thread_count);
  item.how = (enum how)random_below(random, HOW_DEVICE_IDLE + 1);
  item.targets[0] = (int)random_below(random, (unsigned)after + 1);
  /* A poll sees the newest value: it awaits nothing but that of the last signal. */
  for (int b = item.targets[0] + 1; b <= after && item.how == HOW_POLL; b++)
    if (program->batches[b].lane == program->batches[item.targets[0]].lane) item.how = HOW_TIMELINE;
  program->events[program->event_count] = item;
  program->events_after[program->event_count++] = after;
}

/* Waits for the initial value of a timeline, which is always known. */
static void add_initial_waits(struct program *program, struct random_state *random) {
  for (int i = 0; i < 2; i++) {
    int semaphore = (int)random_below(random, (unsigned)program->semaphore_count);
    uint64_t initial = program->semaphores[semaphore].initial;
    struct batch *batch = &program->batches[random_below(random, (unsigned)program->finish_first)];
    bool is_repeated = initial == 0 || batch->wait_count == WAITS_MOST;
    for (int w = 0; w < batch->wait_count; w++)
      is_repeated |= batch->waits[w].semaphore == semaphore;
    if (is_repeated) continue;
    batch->waits[batch->wait_count++] =
        (struct wait){semaphore, initial, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT};
  }
}

/* The bytes depend on the seed only, not on the waits: they are the same on any number of queues.
 */
static void draw_slots(struct program *program, const struct device *device,
                       const struct small_options *options) {
  struct random_state random;
  random_seed(&random, "slots", options->seed, 0);
  make_lanes(program, device, &random, random_chance(&random, 50));
  int batches = 8 + (int)random_below(&random, 14);
  int slots = add_buffer(program, 4 * (uint32_t)batches, (uint32_t)random_next(&random));
  program->buffers[slots].is_output = true;
  for (int i = 0; i < batches; i++) {
    int lane = (int)random_below(&random, (unsigned)program->lane_count);
    struct batch *batch = add_batch(program, lane);
    /* Every batch has words of its own, so that no wait is needed for them. */
    batch->steps[batch->step_count++] = (struct step){.kind = STEP_FILL,
                                                      .out = slots,
                                                      .out_at = 4 * (uint32_t)i,
                                                      .words = 4,
                                                      .value = (uint32_t)random_next(&random)};
  }
}

static void draw_redundant(struct program *program, const struct device *device,
                           const struct small_options *options, struct random_state *random) {
  *program = (struct program){.thread_count = 1, .has_exact_values = true};
  draw_slots(program, device, options);
  draw_styles(program, device, random);
  if (program->style == STYLE_BINARY) program->style = STYLE_MIXED;
  program->has_full_masks = true;
  program->uses_mix = false;
  int newest_own[QUEUES_MOST];
  for (int q = 0; q < QUEUES_MOST; q++) newest_own[q] = -1;
  for (int i = 0; i < program->batch_count; i++) draw_waits(program, random, i, newest_own);
  unsigned observations = random_below(random, 4);
  while (observations-- > 0) draw_observation(program, random);
  make_finish(program, random);
  assign_semaphores(program, options->seed);
  add_initial_waits(program, random);
  make_items(program, options->seed);
}

void make_redundant(struct program *program, const struct device *device,
                    const struct small_options *options) {
  unsigned counts[CLASS_COUNT];
  struct random_state random;
  for (uint64_t attempt = 0; attempt < 20000; attempt++) {
    random_seed(&random, options->kind, options->seed, attempt);
    draw_redundant(program, device, options, &random);
    if (!is_unambiguous(program, counts)) continue;
    check_is_correct(program, false);
    for (int c = 0; c < CLASS_COUNT; c++) expect(program, "%s %u", class_names[c], counts[c]);
    return;
  }
  small_fail("seed %llu: no program with unambiguous waits", (unsigned long long)options->seed);
}
