/* Timelines in an event loop. A notifier is a descriptor that polls readable while a timepoint is
 * due; dispatch then runs the timepoint's call on the loop's own thread. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <tidemark/tidemark.h>

static void must(enum tide_status status) {
  if (status != TIDE_OK) exit(fprintf(stderr, "%s\n", tide_status_text(status)) > 0);
}

struct frame {
  struct tide_timepoint timepoint; /* first member: the timepoint's address is the struct's */
  struct tide_notifier *notifier;
};

static void frame_done(struct tide_timepoint *timepoint, enum tide_status status) {
  struct frame *frame = (struct frame *)(void *)timepoint;
  printf("frame %llu: %s\n", (unsigned long long)timepoint->value, tide_status_name(status));
  if (timepoint->value == 3) return;
  timepoint->value++; /* the caller owns it again: request the next value */
  timepoint->notifier = frame->notifier;
  must(tide_timepoint_add(timepoint));
}

int main(void) {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queue;
  struct tide_timeline *frames;
  struct tide_notifier *notifier;
  must(tide_context_create(NULL, &context));
  must(tide_cpu_open(context, NULL, &device));
  must(tide_queue_create(device, NULL, &queue));
  must(tide_timeline_create(context, NULL, &frames));
  must(tide_notifier_create(context, &notifier));
  for (uint64_t frame = 1; frame <= 3; frame++) {
    struct tide_argument microseconds = {.integer = 5000};
    struct tide_signal signal = {.timeline = frames, .value = frame};
    struct tide_operation draw = {.body = &tide_kernel_find("spin")->class_};
    draw.arguments = &microseconds, draw.arguments_size = sizeof microseconds;
    draw.signals = &signal, draw.signal_count = 1;
    must(tide_queue_submit(queue, &draw, NULL, NULL));
  }
  struct frame frame = {{.timeline = frames, .value = 1, .call = frame_done, .notifier = notifier},
                        notifier};
  must(tide_timepoint_add(&frame.timepoint));
  int loop = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN};
  if (epoll_ctl(loop, EPOLL_CTL_ADD, tide_notifier_descriptor(notifier), &event) != 0) return 1;
  for (size_t done = 0; done < 3;)
    if (epoll_wait(loop, &event, 1, -1) > 0) done += tide_notifier_dispatch(notifier, 16);
  tide_context_destroy(context); /* also destroys its objects */
}
