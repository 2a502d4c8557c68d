/* Dynamic priorities (use cases 1 and 2 of docs/points.md). A page that runs far ahead decreases
 * its own priority until its frame is consumed. The browser increases the priority of the page that
 * it will need soon. A queue that the browser waits for inherits the browser's priority without a
 * call. */
#include <stdio.h>
#include <stdlib.h>
#include <tidemark/tidemark.h>

static void must(enum tide_status status) {
  if (status != TIDE_OK) exit(fprintf(stderr, "%s\n", tide_status_text(status)) > 0);
}

static struct tide_queue *channel(struct tide_device *device, struct tide_client *client,
                                  uint8_t priority) {
  struct tide_queue_params params = {
      .struct_size = sizeof params, .client = client, .priority = priority};
  struct tide_queue *queue;
  must(tide_queue_create(device, &params, &queue));
  return queue;
}

int main(void) {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_points *points;
  struct tide_client *client;
  struct tide_future *frames, *consumed;
  struct tide_point frame, taken;
  must(tide_context_create(NULL, &context));
  must(tide_cpu_open(context, NULL, &device));
  must(tide_points_create(context, NULL, &points));
  must(tide_client_create(points, NULL, &client));
  struct tide_queue *browser = channel(device, client, 12), *page = channel(device, client, 8);
  must(tide_queue_create_future(page, NULL, &frames));
  must(tide_queue_create_future(browser, NULL, &consumed));
  must(tide_future_promise(frames, 0, &frame));
  must(tide_future_promise(consumed, 0, &taken));
  must(tide_queue_decrease_priority_until(page, taken, 5, NULL, NULL));
  must(tide_queue_drain(page, TIDE_FOREVER));
  printf("ahead of the browser: %u\n", tide_queue_priority(page));
  must(tide_queue_increase_priority_until(browser, frame, 15, NULL));
  must(tide_queue_drain(browser, TIDE_FOREVER));
  printf("the browser will need it: %u, no more than its own\n", tide_queue_priority(page));
  must(tide_queue_retire_point(page, frame, NULL));
  must(tide_point_wait(points, frame, TIDE_FOREVER));
  printf("its frame is there: %u\n", tide_queue_priority(page));
  must(tide_queue_retire_point(browser, taken, NULL));
  must(tide_point_wait(points, taken, TIDE_FOREVER));
  printf("and consumed: %u\n", tide_queue_priority(page));
  tide_context_destroy(context); /* also destroys its objects */
}
