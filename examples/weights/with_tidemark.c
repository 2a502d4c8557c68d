/* Converts weights in four queues, one a stage. An operation says which values it waits for and
 * which memory it touches. With CHECK in the environment, check mode names missing waits. */
#include "weights.h"

#include <stdlib.h>
#include <tidemark/tidemark.h>

struct job {
  const struct weights *weights;
  uint64_t block;
  struct slot *slot;
  weights_step *step;
};

static enum tide_status run_step(void *arguments) {
  const struct job *job = arguments;
  int failure = job->step(job->weights, job->block, job->slot);
  if (failure == 0) return TIDE_OK;
  return tide_body_report(TIDE_FAILED, failure, "block %llu: %s", (unsigned long long)job->block,
                          strerror(failure));
}
static const struct tide_body_class step_body = {.name = "step", .host = run_step};

static void print_finding(void *user, const struct tide_diag *diag) {
  fprintf(user, "weights: %s\n", diag->text);
}

static void must(enum tide_status status) {
  if (status == TIDE_OK) return;
  fprintf(stderr, "weights: %s\n", tide_status_text(status));
  exit(1);
}

int main(int argc, char **argv) {
  struct weights weights;
  struct tide_context *context;
  struct tide_device *cpu;
  struct tide_pool *pool;
  struct tide_queue *queues[STAGES];
  struct tide_timeline *done[STAGES]; /* blocks */
  int failure = weights_open(&weights, argc, argv);
  if (failure) return fprintf(stderr, "weights: %s\n", strerror(failure)), 1;
  must(tide_context_create(TIDE_PARAMS(tide_context_params, .check = getenv("CHECK") != NULL,
                                       .finding = print_finding, .finding_user = stderr),
                           &context));
  must(tide_cpu_open(context, NULL, &cpu));
  must(tide_pool_create(context,
                        TIDE_PARAMS(tide_pool_params, .chunk = sizeof(struct slot),
                                    .limit = SLOTS * sizeof(struct slot)),
                        &pool));
  for (int i = 0; i < STAGES; i++) {
    must(tide_queue_create(cpu, TIDE_PARAMS(tide_queue_params, .label = stage_names[i]),
                           &queues[i]));
    must(tide_timeline_create(context, TIDE_PARAMS(tide_timeline_params, .label = stage_names[i]),
                              &done[i]));
  }
  /* The pool orders a load behind the last use of its slot. */
  for (uint64_t n = 1; n <= weights.blocks && tide_timeline_status(done[STORE]) == TIDE_OK; n++) {
    struct tide_buffer *slot;
    must(tide_queue_alloc(queues[LOAD], pool, sizeof(struct slot), "slot", &slot));
    struct job job = {&weights, n - 1, tide_buffer_data(slot), NULL};
    size_t in = sizeof job.slot->in, out = sizeof job.slot->out;
    struct tide_operation stages[STAGES] = {
        [LOAD] = {TIDE_USES({slot, TIDE_WRITE, 0, in})},
        [CHECK] = {TIDE_WAITS({done[LOAD], n}), TIDE_USES({slot, TIDE_READ, 0, in})},
        [CONVERT] = {TIDE_WAITS({done[LOAD], n}),
                     TIDE_USES({slot, TIDE_READ, 0, in}, {slot, TIDE_WRITE, in, out})},
        [STORE] = {TIDE_WAITS({done[CHECK], n}, {done[CONVERT], n}),
                   TIDE_USES({slot, TIDE_READ, in, out})},
    };
    for (int i = 0; i < STAGES; i++) {
      struct tide_signal signal = TIDE_SIGNAL(done[i], n);
      job.step = stage_steps[i];
      stages[i].body = &step_body, stages[i].label = stage_names[i];
      stages[i].arguments = &job, stages[i].arguments_size = sizeof job;
      stages[i].signals = &signal, stages[i].signal_count = 1;
      must(tide_queue_submit_wait(queues[i], &stages[i], TIDE_FOREVER, NULL, NULL));
    }
    tide_queue_free(queues[STORE], slot); /* at once: in the queue's order */
  }
  enum tide_status status = tide_timeline_wait(done[STORE], weights.blocks, TIDE_FOREVER);
  struct tide_failure cause;
  if (tide_timeline_failure(done[STORE], weights.blocks, &cause))
    fprintf(stderr, "weights: queue %s, %s\n", cause.queue, cause.text);
  else printf("%llu weights\n", (unsigned long long)weights.count);
  tide_context_destroy(context);
  return status != TIDE_OK;
}
