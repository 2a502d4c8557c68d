/* An upload promises two points, "the source was read" and "the texture is there" (use case 6 of
 * docs/points.md). The drawing operation chooses its body when it starts (5). */
#include <stdio.h>
#include <stdlib.h>
#include <tidemark/tidemark.h>

static void must(enum tide_status status) {
  if (status != TIDE_OK) exit(fprintf(stderr, "%s\n", tide_status_text(status)) > 0);
}

static enum tide_status say(void *arguments) { return puts(*(const char **)arguments), TIDE_OK; }
static const struct tide_body_class says = {.name = "say", .host = say};

static void submit(struct tide_queue *queue, const char *text,
                   const struct tide_operation_points *points) {
  struct tide_operation operation = {
      .body = &says, .arguments = &text, .arguments_size = sizeof text, .points = points};
  must(tide_queue_submit(queue, &operation, NULL, NULL));
}

int main(void) {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_points *points;
  struct tide_client *client;
  struct tide_queue *upload, *draw;
  struct tide_future *reads, *textures;
  struct tide_point drawn, read, texture;
  must(tide_context_create(NULL, &context));
  must(tide_cpu_open(context, NULL, &device));
  must(tide_points_create(context, NULL, &points));
  must(tide_client_create(points, NULL, &client));
  must(tide_queue_create(device, TIDE_PARAMS(tide_queue_params, .client = client), &upload));
  must(tide_queue_create(device, TIDE_PARAMS(tide_queue_params, .client = client), &draw));
  must(tide_queue_create_future(upload, NULL, &reads));
  must(tide_queue_create_future(upload, NULL, &textures));
  must(tide_future_promise(reads, 0, &read));
  must(tide_future_promise(textures, 0, &texture));
  const char *other = "draw a placeholder";
  struct tide_operation_points choice = {.choose = &texture,
                                         .otherwise = &says,
                                         .otherwise_arguments = &other,
                                         .otherwise_arguments_size = sizeof other};
  submit(draw, "draw the texture", &choice); /* long before the texture is there */
  must(tide_queue_insert_point(draw, &drawn, NULL));
  must(tide_queue_wait_point(upload, drawn, 0, NULL));
  submit(upload, "copy", &(struct tide_operation_points){.retires = &read, .retire_count = 1});
  submit(upload, "swizzle",
         &(struct tide_operation_points){.retires = &texture, .retire_count = 1});
  must(tide_point_wait(points, read, TIDE_FOREVER));
  must(tide_queue_wait_point(draw, texture, 0, NULL));
  submit(draw, "draw the texture", &choice);
  must(tide_queue_drain(draw, TIDE_FOREVER));
  tide_context_destroy(context); /* also destroys its objects */
}
