/* Waits for the first of three timelines in one call, without polling or a thread for each. */
#include <stdio.h>
#include <stdlib.h>
#include <tidemark/tidemark.h>

#define LANES 3

static void must(enum tide_status status) {
  if (status != TIDE_OK) exit(fprintf(stderr, "%s\n", tide_status_text(status)) > 0);
}

int main(void) {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queues[LANES];
  struct tide_timeline *done[LANES], *gate;
  struct tide_cpu_params workers = {.struct_size = sizeof workers, .workers = LANES};
  must(tide_context_create(NULL, &context));
  must(tide_cpu_open(context, &workers, &device));
  must(tide_timeline_create(context, NULL, &gate));
  for (int i = 0; i < LANES; i++) { /* all but lane 1 wait for the gate */
    must(tide_queue_create(device, NULL, &queues[i]));
    must(tide_timeline_create(context, NULL, &done[i]));
    struct tide_argument microseconds = {.integer = 20000};
    struct tide_wait wait = {gate, 1};
    struct tide_signal signal = {.timeline = done[i], .value = 1};
    struct tide_operation operation = {.waits = &wait,
                                       .wait_count = i != 1,
                                       .signals = &signal,
                                       .signal_count = 1,
                                       .body = &tide_kernel_find("spin")->class_,
                                       .arguments = &microseconds,
                                       .arguments_size = sizeof microseconds};
    must(tide_queue_submit(queues[i], &operation, NULL, NULL));
  }
  struct tide_wait_point points[LANES] = {{0}};
  for (int i = 0; i < LANES; i++) points[i].timeline = done[i], points[i].value = 1;
  size_t first;
  must(tide_wait_any(points, LANES, TIDE_FOREVER, &first));
  printf("lane %zu was first\n", first);
  must(tide_timeline_signal_external(gate, 1));
  must(tide_wait_all(points, LANES, TIDE_FOREVER));
  printf("all %d are done\n", LANES);
  points[0].value = 2;
  enum tide_status status = tide_wait_any(points, 1, tide_after_ms(context, 1), &first);
  printf("a second value of lane 0: %s\n", tide_status_text(status));
  tide_context_destroy(context); /* also destroys its objects */
}
