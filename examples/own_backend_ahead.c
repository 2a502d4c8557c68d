/* A custom executor that runs ahead: it gets operations before they may start, and keeps their
 * waits itself. Two hardware queues, played by arrays; a real backend submits to its device. */
#include <stdio.h>
#include <stdlib.h>
#include <tidemark/tidemark.h>

static void must(enum tide_status status) {
  if (status != TIDE_OK) exit(fprintf(stderr, "%s\n", tide_status_text(status)) > 0);
}
static enum tide_status say(void *n) { return printf("  stage %d\n", *(int *)n) < 0; }
static const struct tide_body_class say_class = {.name = "say", .host = say};

static struct tide_submission ring[2][8]; /* number n is at n - 1 */
static int stages[2][8];
static uint64_t out[2], over[2]; /* by hardware queue */

/* Records and submits what the scheduler gives. A returned work is *out*. */
static void submit_all(struct tide_device *device) {
  struct tide_work *work = NULL;
  while (tide_device_exchange(device, &work, work != NULL, &work, 1, NULL)) {
    struct tide_submission given;
    tide_work_submission(work, &given);
    ring[given.hardware_queue][given.number - 1] = given;
    stages[given.hardware_queue][given.number - 1] = *(int *)tide_work_arguments(work);
    out[given.hardware_queue] = given.number;
  }
}

/* The hardware: runs the next command of a queue if its native waits are over. */
static bool run_next(unsigned queue) {
  const struct tide_submission *next = &ring[queue][over[queue]];
  if (over[queue] == out[queue]) return false;
  for (uint32_t i = 0; i < next->wait_count; i++)
    if (over[next->waits[i].hardware_queue] < next->waits[i].submission) return false;
  must(say(&stages[queue][over[queue]++]));
  return true;
}

int main(void) {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queues[2];
  struct tide_timeline *line;
  struct tide_backend backend = {.name = "array", .in_order = true};
  backend.ahead = 8, backend.hardware_queues = 2;
  must(tide_context_create(NULL, &context));
  must(tide_device_open(context, &backend, "array", &device));
  for (int i = 0; i < 2; i++) must(tide_queue_create(device, NULL, &queues[i]));
  must(tide_timeline_create(context, NULL, &line));
  for (uint64_t i = 1; i <= 6; i++) { /* each stage waits for the one before it */
    struct tide_operation stage = {TIDE_WAITS({line, i - 1}), TIDE_SIGNALS(TIDE_SIGNAL(line, i))};
    stage.body = &say_class, stage.arguments = &i, stage.arguments_size = sizeof i;
    must(tide_queue_submit(queues[i % 2], &stage, NULL, NULL));
  }
  submit_all(device), printf("%d are out, none has started\n", (int)(out[0] + out[1]));
  while (run_next(0) || run_next(1)) tide_device_over(device, 0, over[0]);
  tide_device_over(device, 1, over[1]), must(tide_timeline_wait(line, 6, TIDE_FOREVER));
  tide_context_destroy(context);
}
