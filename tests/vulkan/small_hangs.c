/* Programs that wait for ever: a cycle, a value that no queue signals, a wait before its signal on
 * one queue. The graph around them is correct, so that a report has to tell them apart. */
#include "small.h"

struct hang {
  struct program *program;
  struct random_state random;
  uint64_t seed;
};

static void open_hang(struct hang *hang, struct program *program, const struct device *device,
                      const struct small_options *options) {
  *program = (struct program){.thread_count = 1, .has_exact_values = options->has_exact_values};
  *hang = (struct hang){.program = program, .seed = options->seed};
  random_seed(&hang->random, options->kind, options->seed, 0);
  make_lanes(program, device, &hang->random, random_chance(&hang->random, 50));
  make_graph(program, device, &hang->random);
  program->hangs = !options->is_correct;
}

/* Adds a batch that fills a buffer of its own, so that no edge links it to the graph. */
static int add_lone_batch(struct hang *hang, int lane) {
  struct program *program = hang->program;
  int buffer = add_buffer(program, 16, 0);
  program->buffers[buffer].is_output = true;
  struct batch *batch = add_batch(program, lane);
  batch->steps[batch->step_count++] = (struct step){
      .kind = STEP_FILL, .out = buffer, .words = 16, .value = (uint32_t)random_next(&hang->random)};
  batch->is_alone = true;
  return program->batch_count - 1;
}

static void close_graph(struct hang *hang) {
  make_finish(hang->program, &hang->random);
  assign_semaphores(hang->program, hang->seed);
}

static void add_wait(struct program *program, int batch, int semaphore, uint64_t value) {
  struct batch *to = &program->batches[batch];
  if (to->wait_count == WAITS_MOST) small_fail("too many waits in the model");
  to->waits[to->wait_count++] = (struct wait){semaphore, value, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT};
}

static void add_signal(struct program *program, int batch, int semaphore, uint64_t value) {
  struct batch *from = &program->batches[batch];
  if (from->signal_count == SIGNALS_MOST) small_fail("too many signals in the model");
  from->signals[from->signal_count++] = (struct signal){semaphore, value};
}

static void close_hang(struct hang *hang) {
  make_items(hang->program, hang->seed);
  struct outcome outcome = simulate(hang->program, 0, false, NULL);
  if (outcome.is_stuck != hang->program->hangs)
    small_fail("seed %llu: the model %s", (unsigned long long)hang->seed,
               outcome.is_stuck ? "hangs" : "does not hang");
  if (!hang->program->hangs) check_is_correct(hang->program, true);
}

/* ---- cycle -------------------------------------------------------------------------- */

void make_cycle(struct program *program, const struct device *device,
                const struct small_options *options) {
  struct hang hang;
  int batches[LANES_MOST], semaphores[LANES_MOST];
  uint64_t values[LANES_MOST];
  open_hang(&hang, program, device, options);
  int length = 2 + (int)random_below(&hang.random, (unsigned)program->lane_count - 1);
  for (int i = 0; i < length; i++) batches[i] = add_lone_batch(&hang, i);
  close_graph(&hang);
  for (int i = 0; i < length; i++) {
    uint64_t initial = random_below(&hang.random, 4);
    semaphores[i] = add_semaphore(program, false, initial, "token%d", i);
    values[i] = initial + 1 + random_below(&hang.random, 3);
    add_signal(program, batches[i], semaphores[i], values[i]);
    expect(program, "semaphore token%d", i);
    expect(program, "batch %d", batches[i] + 1);
  }
  for (int i = options->is_correct; i < length; i++) {
    int previous = (i + length - 1) % length;
    add_wait(program, batches[i], semaphores[previous], values[previous]);
  }
  expect(program, "length %d", length);
  close_hang(&hang);
}

/* ---- never-signalled ---------------------------------------------------------------- */

static void add_host_call(struct program *program, int after, enum action action, int semaphore,
                          uint64_t value) {
  program->events[program->event_count] =
      (struct item){.action = action, .semaphore = semaphore, .value = value};
  program->events_after[program->event_count++] = after;
}

void make_never_signalled(struct program *program, const struct device *device,
                          const struct small_options *options) {
  enum { TYPO, NO_SUBMIT, NO_HOST_SIGNAL, HOST_TYPO };
  static const char *const names[] = {"typo", "no-submit", "no-host-signal", "host-typo"};
  struct hang hang;
  open_hang(&hang, program, device, options);
  unsigned variant = (unsigned)(options->seed % 4);
  bool is_wrong = !options->is_correct;
  int lane = (int)random_below(&hang.random, (unsigned)program->lane_count), signaller = -1;
  if (variant != NO_HOST_SIGNAL && !(variant == NO_SUBMIT && is_wrong))
    signaller = add_lone_batch(&hang, (lane + 1) % program->lane_count);
  int waiter = add_lone_batch(&hang, lane);
  close_graph(&hang);
  uint64_t initial = random_below(&hang.random, 5);
  uint64_t value = initial + 1 + random_below(&hang.random, 4);
  uint64_t wrong = value + 1 + random_below(&hang.random, 9);
  int semaphore = add_semaphore(program, false, initial, "progress");
  if (signaller >= 0) add_signal(program, signaller, semaphore, value);
  uint64_t awaited = is_wrong && (variant == TYPO || variant == HOST_TYPO) ? wrong : value;
  if (variant == HOST_TYPO) add_host_call(program, waiter, ACT_AWAIT, semaphore, awaited);
  else add_wait(program, waiter, semaphore, awaited);
  if (variant == NO_HOST_SIGNAL && !is_wrong)
    add_host_call(program, waiter, ACT_SIGNAL, semaphore, value);
  expect(program, "variant %s", names[variant]);
  expect(program, "semaphore progress");
  expect(program, "value %d", (int)awaited);
  if (variant != HOST_TYPO) expect(program, "batch %d", waiter + 1);
  close_hang(&hang);
}

/* ---- same-queue --------------------------------------------------------------------- */

void make_same_queue(struct program *program, const struct device *device,
                     const struct small_options *options) {
  struct hang hang;
  open_hang(&hang, program, device, options);
  int lane = (int)random_below(&hang.random, (unsigned)program->lane_count);
  int other = (lane + 1) % program->lane_count;
  /* Every second seed goes through another queue, which waits and signals in between. */
  bool has_detour = options->seed % 2;
  int first = add_lone_batch(&hang, lane);
  int middle = has_detour ? add_lone_batch(&hang, other) : -1;
  int last = add_lone_batch(&hang, lane);
  int signaller = options->is_correct ? first : last, waiter = options->is_correct ? last : first;
  close_graph(&hang);
  int late = add_semaphore(program, false, 0, "late");
  uint64_t value = 1 + random_below(&hang.random, 5);
  add_signal(program, signaller, late, value);
  expect(program, "semaphore late");
  expect(program, "variant %s", has_detour ? "detour" : "direct");
  if (has_detour) {
    int detour = add_semaphore(program, false, 0, "detour");
    add_wait(program, middle, late, value);
    add_signal(program, middle, detour, 7);
    add_wait(program, waiter, detour, 7);
    expect(program, "semaphore detour");
  } else {
    add_wait(program, waiter, late, value);
  }
  expect(program, "batch %d", waiter + 1);
  close_hang(&hang);
}
