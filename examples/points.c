/* Points that are used before they exist: a browser returns a buffer before it is free (use case 3
 * of docs/points.md), two embedders swap together (4), and one promise is not kept. */
#include <stdio.h>
#include <stdlib.h>
#include <tidemark/tidemark.h>

static void must(enum tide_status status) {
  if (status != TIDE_OK) exit(fprintf(stderr, "%s\n", tide_status_text(status)) > 0);
}

struct news {
  struct tide_timepoint timepoint; /* first member: the timepoint's address is the struct's */
  const char *what;
};

static void told(struct tide_timepoint *timepoint, enum tide_status status) {
  const struct news *news = (const struct news *)(const void *)timepoint;
  printf("%s: %s\n", news->what, tide_status_text(status));
}

int main(void) {
  struct tide_context *context;
  struct tide_points *points;
  struct tide_client *browser, *page;
  struct tide_future *released, *ready;
  struct tide_point free_again, swaps[2], both, late;
  must(tide_context_create(NULL, &context));
  must(tide_points_create(context, NULL, &points));
  must(tide_client_create(points, NULL, &browser));
  must(tide_client_create(points, NULL, &page));
  must(tide_future_create(browser, NULL, &released));
  must(tide_future_create(page, NULL, &ready));

  /* The page gets its buffer now, with the promise that it will be free. */
  must(tide_future_promise(released, 0, &free_again));
  struct news reuse = {{.call = told}, "the buffer is free"};
  must(tide_point_when_complete(points, free_again, &reuse.timepoint));

  /* A swap of two: a timepoint waits for the compound before its parts are defined. */
  must(tide_compound_promise(browser, 0, &both));
  struct news swap = {{.call = told}, "both swap"};
  must(tide_point_when_complete(points, both, &swap.timepoint));
  for (int i = 0; i < 2; i++) must(tide_future_promise(ready, 0, &swaps[i]));
  must(tide_compound_expression(browser, both, "0 & 1", 5, swaps, 2, NULL));
  must(tide_future_fulfil(ready, 1, NULL));
  must(tide_future_fulfil(ready, 2, NULL));
  must(tide_future_fulfil(released, 1, NULL));

  /* A promise that is not kept: the waiter gets its error after the deadline of 10 ms. */
  must(tide_future_promise(ready, tide_after_ms(context, 10), &late));
  printf("the next one: %s\n", tide_status_text(tide_point_wait(points, late, TIDE_FOREVER)));
  tide_context_destroy(context); /* also destroys its objects */
}
