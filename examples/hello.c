/* Hello: two queues, ordered by one timeline. */
#include <stdio.h>
#include <tidemark/tidemark.h>

static enum tide_status say(void *arguments) {
  puts(*(const char **)arguments); /* the operation's copy of the pointer */
  return TIDE_OK;
}
static const struct tide_body_class says = {.name = "say", .host = say};

int main(void) {
  const char *hello = "hello,", *world = "world";
  struct tide_context *context;
  struct tide_device *cpu;
  struct tide_queue *left, *right;
  struct tide_timeline *said;

  if (tide_context_create(NULL, &context) != TIDE_OK) return 1;
  enum tide_status status = tide_cpu_open(context, NULL, &cpu);
  if (status == TIDE_OK) status = tide_queue_create(cpu, NULL, &left);
  if (status == TIDE_OK) status = tide_queue_create(cpu, NULL, &right);
  if (status == TIDE_OK) status = tide_timeline_create(context, NULL, &said);
  if (status == TIDE_OK) {
    struct tide_operation second = {.body = &says,
                                    TIDE_ARGUMENTS(world),
                                    TIDE_WAITS({said, 1}),
                                    TIDE_SIGNALS(TIDE_SIGNAL(said, 2))};
    struct tide_operation first = {
        .body = &says, TIDE_ARGUMENTS(hello), TIDE_SIGNALS(TIDE_SIGNAL(said, 1))};
    status = tide_queue_submit(right, &second, NULL, NULL); /* held until `first` is submitted */
    if (status == TIDE_OK) status = tide_queue_submit(left, &first, NULL, NULL);
  }
  if (status == TIDE_OK) status = tide_timeline_wait(said, 2, tide_after_ms(context, 1000));
  if (status != TIDE_OK) fprintf(stderr, "%s\n", tide_status_text(status));
  tide_context_destroy(context); /* also destroys its objects */
  return status != TIDE_OK;
}
