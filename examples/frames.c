/* 100 frames are queued ahead and run; their client is woken once. Then one point cancels the
 * frames that have not started (use case 7 of docs/points.md). */
#include <stdio.h>
#include <stdlib.h>
#include <tidemark/tidemark.h>

static void must(enum tide_status status) {
  if (status != TIDE_OK) exit(fprintf(stderr, "%s\n", tide_status_text(status)) > 0);
}

static int shown;
static enum tide_status count(void *arguments) {
  (void)arguments;
  shown++; /* a queue runs one operation at a time */
  return TIDE_OK;
}
static const struct tide_body_class show = {.name = "show", .host = count};

int main(void) {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_points *points;
  struct tide_client *player;
  struct tide_queue *screen;
  struct tide_future *user;
  struct tide_point stop, more, last[2];
  must(tide_context_create(NULL, &context));
  must(tide_cpu_open(context, NULL, &device));
  must(tide_points_create(context, NULL, &points));
  must(tide_client_create(points, NULL, &player));
  must(tide_queue_create(device, TIDE_PARAMS(tide_queue_params, .client = player), &screen));
  must(tide_future_create(player, NULL, &user));
  must(tide_future_promise(user, 0, &stop));
  must(tide_future_promise(user, 0, &more));
  for (int frame = 0; frame < 100; frame++) {
    struct tide_operation_points needs = {
        .waits = &more, .wait_count = frame == 40, .cancel = &stop};
    struct tide_operation operation = {.body = &show, .points = &needs};
    must(tide_queue_submit(screen, &operation, NULL, NULL));
    if (frame == 39 || frame == 99) must(tide_queue_insert_point(screen, &last[frame / 99], NULL));
  }
  must(tide_point_wait(points, last[0], TIDE_FOREVER));
  printf("%d frames shown, the client woke once\n", shown);
  must(tide_future_fulfil(user, stop.value, NULL));
  must(tide_queue_drain(screen, TIDE_FOREVER));
  printf("%d frames shown, the others were taken back\n", shown);
  tide_context_destroy(context); /* also destroys its objects */
}
