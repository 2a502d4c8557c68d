/* A custom executor that runs ahead: it gets operations before they may start, and keeps their
 * waits itself. Two hardware queues, played by arrays; a real device submits to its own. */
#include <stdio.h>
#include <stdlib.h>
#include <tidemark/tidemark.h>

static void must(enum tide_status status) {
  if (status != TIDE_OK) exit(fprintf(stderr, "%s\n", tide_status_text(status)) > 0);
}

struct command { /* a recorded operation */
  enum tide_status (*run)(void *arguments);
  int stage;
  struct tide_submission submission;
};
static struct command ring[2][64]; /* by hardware queue, by number - 1 */
static uint64_t out[2], over[2];

/* Records and submits all operations that are given. Returns their number. */
static int submit_all(struct tide_device *device) {
  struct tide_work *work[4];
  size_t count = 0;
  int total = 0;
  do { /* returning a work says that its native submit has succeeded */
    count = tide_device_exchange(device, work, count, work, 4, NULL);
    for (size_t i = 0; i < count; i++, total++) {
      struct tide_submission given;
      tide_work_submission(work[i], &given);
      struct command *command = &ring[given.hardware_queue][given.number - 1];
      *command = (struct command){work[i]->body->host, *(int *)tide_work_arguments(work[i]), given};
      out[given.hardware_queue] = given.number;
    }
  } while (count > 0);
  return total;
}

/* The hardware: runs the next command of a queue if its waits are over. A barrier needs no check
 * here, since these queues overlap nothing. */
static bool run_next(unsigned queue) {
  if (over[queue] == out[queue]) return false;
  struct command *command = &ring[queue][over[queue]];
  for (uint32_t i = 0; i < command->submission.wait_count; i++) {
    const struct tide_native_wait *wait = &command->submission.waits[i];
    if (over[wait->hardware_queue] < wait->submission) return false;
  }
  must(command->run(&command->stage));
  over[queue]++;
  return true;
}

static enum tide_status say(void *stage) {
  return printf("  stage %d\n", *(int *)stage) < 0 ? TIDE_IO : TIDE_OK;
}
static const struct tide_body_class say_class = {.name = "say", .host = say};

int main(void) {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queues[2];
  struct tide_timeline *line;
  struct tide_backend backend = {
      .name = "array", .in_order = true, .ahead = 8, .hardware_queues = 2};
  must(tide_context_create(NULL, &context));
  must(tide_device_open(context, &backend, "array", &device));
  must(tide_queue_create(device, NULL, &queues[0])),
      must(tide_queue_create(device, NULL, &queues[1]));
  must(tide_timeline_create(context, NULL, &line));
  for (int i = 1; i <= 6; i++) { /* each stage waits for the one before it, on the other queue */
    struct tide_operation operation = {.body = &say_class,
                                       TIDE_ARGUMENTS(i),
                                       TIDE_WAITS({line, (uint64_t)i - 1}),
                                       TIDE_SIGNALS(TIDE_SIGNAL(line, (uint64_t)i))};
    must(tide_queue_submit(queues[i % 2], &operation, NULL, NULL));
  }
  printf("%d are out, none has started\n", submit_all(device));
  while (run_next(0) || run_next(1)) {}
  for (uint32_t h = 0; h < 2; h++) tide_device_over(device, h, over[h]);
  must(tide_timeline_wait(line, 6, TIDE_FOREVER));
  tide_context_destroy(context);
}
