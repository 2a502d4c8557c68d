/* Reuses a block of memory across queues. `a` signals a value after its last use of the block, and
 * `b` waits for that value. So `b` knows that the block is free, and gets it without a wait or an
 * event. */
#include <stdio.h>
#include <stdlib.h>
#include <tidemark/tidemark.h>

static void must(enum tide_status status) {
  if (status != TIDE_OK) exit(fprintf(stderr, "%s\n", tide_status_text(status)) > 0);
}

/* Fills a new block on the queue, then frees it in queue order. */
static void use(struct tide_queue *queue, struct tide_pool *pool, struct tide_wait wait,
                struct tide_signal signal) {
  struct tide_operation turn = {.waits = &wait, .wait_count = wait.value > 0};
  must(tide_queue_submit(queue, &turn, NULL, NULL)); /* imports the awaited past */
  struct tide_buffer *buffer;
  must(tide_queue_alloc(queue, pool, 1 << 20, "block", &buffer));
  static const char *const how[] = {"known to be free", "seen to be free", "after a wait", "fresh"};
  printf("%-6s %s\n", tide_queue_label(queue), how[tide_buffer_reuse(buffer)]);
  struct tide_argument arguments[] = {{.data = tide_buffer_data(buffer), .size = 1 << 20},
                                      {.integer = (int64_t)signal.value}};
  struct tide_use touches = {.buffer = buffer, .access = TIDE_WRITE};
  struct tide_operation fill = {.body = &tide_kernel_find("fill")->class_};
  fill.arguments = arguments, fill.arguments_size = sizeof arguments;
  fill.buffers = &touches, fill.buffer_count = 1;
  fill.signals = &signal, fill.signal_count = 1;
  must(tide_queue_submit(queue, &fill, NULL, NULL));
  tide_queue_free(queue, buffer); /* at once: the reuse follows queue order */
}

int main(void) {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queues[2];
  struct tide_timeline *baton;
  struct tide_pool *pool;
  /* Paused: no operation has run when the memory is reused. */
  must(tide_context_create(TIDE_PARAMS(tide_context_params, .paused = true), &context));
  must(tide_cpu_open(context, NULL, &device));
  must(tide_queue_create(device, TIDE_PARAMS(tide_queue_params, .label = "a"), &queues[0]));
  must(tide_queue_create(device, TIDE_PARAMS(tide_queue_params, .label = "b"), &queues[1]));
  must(tide_timeline_create(context, NULL, &baton));
  must(tide_pool_create(context, TIDE_PARAMS(tide_pool_params, .chunk = 1 << 20), &pool));
  for (uint64_t i = 1; i <= 4; i++)
    use(queues[i % 2], pool, (struct tide_wait){baton, i - 1},
        (struct tide_signal){baton, i, false});
  tide_context_resume(context);
  must(tide_timeline_wait(baton, 4, TIDE_FOREVER));
  tide_context_destroy(context);
}
