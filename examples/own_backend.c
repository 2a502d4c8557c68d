/* A custom executor: this program's main thread. The scheduler decides which operations may start;
 * `pump` takes them, runs them and returns them. `kick` reports that work is ready again. */
#include <stdio.h>
#include <stdlib.h>
#include <tidemark/tidemark.h>

static void must(enum tide_status status) {
  if (status != TIDE_OK) exit(fprintf(stderr, "%s\n", tide_status_text(status)) > 0);
}

static void kick(void *self) { ++*(int *)self; } /* a real kick wakes the executor's thread */

/* Runs operations until none may start. */
static int pump(struct tide_device *device) {
  struct tide_work *work[4];
  size_t count = 0;
  int total = 0;
  do {
    /* Returns the finished work, and takes up to four more. */
    count = tide_device_exchange(device, work, count, work, 4, NULL);
    for (size_t i = 0; i < count; i++, total++)
      work[i]->status = work[i]->body->host(tide_work_arguments(work[i]));
  } while (count > 0);
  return total;
}

static enum tide_status say(void *arguments) {
  return printf("  %s\n", *(const char **)arguments) < 0 ? TIDE_IO : TIDE_OK;
}
static const struct tide_body_class say_class = {.name = "say", .host = say};

int main(void) {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queue;
  struct tide_timeline *gate;
  int kicks = 0;
  struct tide_backend backend = {.name = "main thread", .kick = kick, .self = &kicks};
  backend.in_order = true, backend.domain = TIDE_DOMAIN_QUEUE;
  must(tide_context_create(NULL, &context));
  must(tide_device_open(context, &backend, "main", &device));
  must(tide_queue_create(device, NULL, &queue));
  must(tide_timeline_create(context, NULL, &gate));
  static const char *const words[] = {"hello", "from", "behind the gate"};
  for (int i = 0; i < 3; i++) {
    struct tide_wait wait = {gate, 1};
    struct tide_operation operation = {.waits = &wait, .wait_count = i == 2, .body = &say_class};
    operation.arguments = &words[i], operation.arguments_size = sizeof words[i];
    must(tide_queue_submit(queue, &operation, NULL, NULL));
  }
  printf("%d ran\n", pump(device));
  must(tide_timeline_signal_external(gate, 1)); /* the host opens the gate */
  printf("%d ran; work was announced %d times\n", pump(device), kicks);
  tide_context_destroy(context); /* also destroys its objects */
}
