/* An external signaller. A component that is invisible to Tidemark (a driver, another library)
 * reports progress through an eventfd. A thread forwards the count as an external signal, which
 * satisfies waits like any other. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <tidemark/tidemark.h>

static void must(enum tide_status status) {
  if (status != TIDE_OK) exit(fprintf(stderr, "%s\n", tide_status_text(status)) > 0);
}

struct import {
  int event;
  struct tide_timeline *timeline;
};

static void *pass_on(void *argument) {
  struct import *import = argument;
  eventfd_t more;
  for (uint64_t count = 0; count < 3 && eventfd_read(import->event, &more) == 0;)
    must(tide_timeline_signal_external(import->timeline, count += more));
  return NULL;
}

static enum tide_status show(void *arguments) {
  return printf("frame %d arrived\n", *(int *)arguments) < 0 ? TIDE_IO : TIDE_OK;
}
static const struct tide_body_class show_class = {.name = "show", .host = show};

int main(void) {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queue;
  struct import import = {.event = eventfd(0, EFD_CLOEXEC)};
  pthread_t thread;
  must(tide_context_create(NULL, &context));
  must(tide_cpu_open(context, NULL, &device));
  must(tide_queue_create(device, NULL, &queue));
  must(tide_timeline_create(context, NULL, &import.timeline));
  for (int frame = 1; frame <= 3; frame++) { /* no operation signals these values: held */
    struct tide_wait wait = {import.timeline, (uint64_t)frame};
    struct tide_operation operation = {.waits = &wait, .wait_count = 1, .body = &show_class};
    operation.arguments = &frame, operation.arguments_size = sizeof frame;
    must(tide_queue_submit(queue, &operation, NULL, NULL));
  }
  if (pthread_create(&thread, NULL, pass_on, &import) != 0) return 1;
  for (int i = 0; i < 3; i++) eventfd_write(import.event, 1); /* stands for the driver */
  must(tide_queue_drain(queue, TIDE_FOREVER));
  pthread_join(thread, NULL);
  tide_context_destroy(context); /* also destroys its objects */
}
