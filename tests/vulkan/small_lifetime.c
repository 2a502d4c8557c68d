/* Mistakes of the host: destroys or overwrites what a submission still uses. */
#include "small.h"

/* The batch that the mistaken host waits for instead. An option names the victim and this one. */
struct pair {
  int victim, other, last; /* last: the later of both, as submitted */
};

static bool choose_pair(const struct program *program, int option, struct pair *out_pair) {
  struct pair pair = {option / BATCHES_MOST, option % BATCHES_MOST, 0};
  if (pair.victim >= program->finish_first || pair.other >= program->finish_first) return false;
  if (program->batches[pair.victim].lane == program->batches[pair.other].lane) return false;
  if (past_of(program, pair.other) & BIT(pair.victim)) return false;
  pair.last = pair.victim > pair.other ? pair.victim : pair.other;
  *out_pair = pair;
  return true;
}

static void add_event(struct program *program, int after, struct item item) {
  if (program->event_count == 8) small_fail("too many events in the model");
  program->events[program->event_count] = item;
  program->events_after[program->event_count++] = after;
}

/* A victim that is submitted after the awaited batch is only safe in time: on a serial driver a
 * pause nearly always suffices. */
static void add_pause(struct program *program, const struct pair *pair) {
  if (pair->other < pair->victim)
    add_event(program, pair->last, (struct item){.action = ACT_SLEEP, .value = 30});
}

/* ---- early-destroy ------------------------------------------------------------------ */

static void draw_lifetimes(struct program *program, const struct device *device,
                           struct random_state *random) {
  make_lanes(program, device, random, random_chance(random, 50));
  int staging = add_buffer(program, 64, (uint32_t)random_next(random));
  program->buffers[staging].is_private = true;
  make_graph(program, device, random);
  make_finish(program, random);
}

/* The victim copies from the staging buffer, which is destroyed behind it. */
static bool use_staging(struct program *program, struct batch *victim) {
  if (victim->step_count == STEPS_MOST) return false;
  struct step step = {.kind = STEP_COPY, .out = victim->steps[0].out};
  uint32_t words = program->buffers[step.out].words;
  step.words = words < 64 ? words : 64;
  victim->steps[victim->step_count++] = step;
  return true;
}

static bool plant_early_destroy(struct program *program, int option, bool is_mistake,
                                uint64_t seed) {
  static const enum action actions[] = {ACT_DESTROY_BUFFER, ACT_DESTROY_SEMAPHORE, ACT_DESTROY_POOL,
                                        ACT_RESET_POOL, ACT_FREE_COMMANDS};
  static const char *const names[] = {"buffer", "semaphore", "pool", "pool-reset",
                                      "command-buffer"};
  struct pair pair;
  if (!choose_pair(program, option, &pair)) return false;
  unsigned variant = (unsigned)(seed % 5);
  struct batch *victim = &program->batches[pair.victim];
  if (variant == 0 && !use_staging(program, victim)) return false;

  struct item wait = {.action = ACT_WAIT, .target_count = 1};
  wait.how = (enum how)(seed / 5 % 4);
  if (wait.how == HOW_POLL) wait.how = HOW_TIMELINE;
  /* The signals of one batch are unordered: its timeline says nothing about its other semaphores.
   */
  if (variant == 1 && wait.how == HOW_TIMELINE) wait.how = HOW_FENCE;
  wait.targets[0] = is_mistake ? pair.other : pair.victim;
  add_event(program, pair.last, wait);
  if (is_mistake) add_pause(program, &pair);
  struct item destroy = {.action = actions[variant], .first = pair.victim};
  /* The semaphore is the last one, made below. Both twins have the same semaphores otherwise. */
  program->batches[pair.victim].is_host_awaited = program->batches[pair.other].is_host_awaited =
      true;
  assign_semaphores(program, seed);
  if (variant == 1) {
    if (victim->signal_count == SIGNALS_MOST) small_fail("too many signals in the model");
    destroy.semaphore = add_semaphore(program, seed / 20 % 2, 0, "progress");
    victim->signals[victim->signal_count++] = (struct signal){destroy.semaphore, 1};
  }
  add_event(program, pair.last, destroy);
  victim->is_alone = program->batches[pair.other].is_alone = true;
  expect(program, "variant %s", names[variant]);
  expect(program, "pair %d %d", pair.victim + 1, pair.other + 1);
  make_items(program, seed);
  return true;
}

void make_early_destroy(struct program *program, const struct device *device,
                        const struct small_options *options) {
  const struct planting planting = {draw_lifetimes, plant_early_destroy,
                                    BATCHES_MOST * BATCHES_MOST, 70, false};
  plant_mistake(program, &planting, device, options);
}

/* ---- host-write --------------------------------------------------------------------- */

static void draw_upload(struct program *program, const struct device *device,
                        struct random_state *random) {
  make_lanes(program, device, random, random_chance(random, 50));
  int upload = add_buffer(program, 64, (uint32_t)random_next(random));
  program->buffers[upload].is_constant = true;
  make_graph(program, device, random);
  make_finish(program, random);
}

/* The readers of the upload buffer that have been submitted, and the other batch. */
static int count_targets(const struct program *program, const struct pair *pair) {
  int count = 0;
  for (int i = 0; i <= pair->last; i++)
    count += i == pair->other || (buffers_of(&program->batches[i]) & BIT(0));
  return count;
}

/* The correct host awaits all readers before it writes; the mistaken one forgets the victim. */
static bool plant_host_write(struct program *program, int option, bool is_mistake, uint64_t seed) {
  struct pair pair;
  if (!choose_pair(program, option, &pair)) return false;
  if (!(buffers_of(&program->batches[pair.victim]) & BIT(0))) return false;
  struct item wait = {.action = ACT_WAIT};
  wait.how = (enum how)(seed % 4);
  if (wait.how == HOW_POLL) wait.how = HOW_FENCE;
  if (count_targets(program, &pair) > TARGETS_MOST) return false;
  for (int i = 0; i <= pair.last; i++) {
    if (i != pair.other && !(buffers_of(&program->batches[i]) & BIT(0))) continue;
    program->batches[i].is_host_awaited = true;
    if (is_mistake && i == pair.victim) continue;
    wait.targets[wait.target_count++] = i;
  }
  add_event(program, pair.last, wait);
  if (is_mistake) add_pause(program, &pair);
  add_event(program, pair.last,
            (struct item){.action = ACT_WRITE, .buffer = 0, .value = seed * 77 + 5});
  program->batches[pair.victim].is_alone = true;
  expect(program, "buffer buffer0");
  expect(program, "pair %d %d", pair.victim + 1, pair.other + 1);
  assign_semaphores(program, seed);
  make_items(program, seed);
  return true;
}

void make_host_write(struct program *program, const struct device *device,
                     const struct small_options *options) {
  const struct planting planting = {draw_upload, plant_host_write, BATCHES_MOST * BATCHES_MOST, 70,
                                    false};
  plant_mistake(program, &planting, device, options);
}
