/* Two queues and two timelines: one queue produces numbers, the other adds them up. The program
 * places no event or fence; each operation names its waits and its signals. */
#include <stdio.h>
#include <stdlib.h>
#include <tidemark/tidemark.h>

struct step {
  int *number, *total, turn;
};

static void must(enum tide_status status) {
  if (status != TIDE_OK) exit(fprintf(stderr, "%s\n", tide_status_text(status)) > 0);
}

static enum tide_status square(void *arguments) {
  struct step *step = arguments;
  *step->number = step->turn * step->turn;
  return TIDE_OK;
}
static enum tide_status sum(void *arguments) {
  struct step *step = arguments;
  *step->total += *step->number;
  return TIDE_OK;
}
static const struct tide_body_class bodies[] = {{.name = "square", .host = square},
                                                {.name = "sum", .host = sum}};

int main(void) {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queues[2];
  struct tide_timeline *timelines[2];
  must(tide_context_create(NULL, &context));
  must(tide_cpu_open(context, NULL, &device));
  for (int i = 0; i < 2; i++) must(tide_queue_create(device, NULL, &queues[i]));
  for (int i = 0; i < 2; i++) must(tide_timeline_create(context, NULL, &timelines[i]));
  int number = 0, total = 0;
  for (uint64_t turn = 1; turn <= 10; turn++) /* all at once; each waits for the one before */
    for (int i = 0; i < 2; i++) {
      struct step step = {&number, &total, (int)turn};
      struct tide_wait wait = {timelines[!i], i ? turn : turn - 1};
      struct tide_signal signal = {.timeline = timelines[i], .value = turn};
      struct tide_operation operation = {.body = &bodies[i]};
      operation.waits = &wait, operation.wait_count = wait.value > 0;
      operation.signals = &signal, operation.signal_count = 1;
      operation.arguments = &step, operation.arguments_size = sizeof step;
      must(tide_queue_submit(queues[i], &operation, NULL, NULL));
    }
  must(tide_timeline_wait(timelines[1], 10, TIDE_FOREVER));
  printf("the squares of 1 to 10 add up to %d\n", total);
  tide_context_destroy(context); /* also destroys its objects */
}
