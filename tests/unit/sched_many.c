/* The scheduler when there is much of something, or little room for it. */
#include "fake_device.h"

#include <stdlib.h>

static uint32_t calls;
static void count_call(struct tide_timepoint *point, enum tide_status status) {
  (void)point;
  CHECK_OK(status);
  calls++;
}

/* One signal lets very many go, and each of these lets two more go at once: what is to be looked at
 * is sorted when it is put on the list, and not again at each of them, which would take minutes. */
TEST(what_is_let_go_is_sorted_once) {
  enum { LANES = 40000 };
  struct lane {
    struct tide_queue *queue;
    struct tide_timeline *end;
    struct tide_timepoint points[2];
  } *lanes = calloc(LANES, sizeof *lanes);
  struct fake f;
  fake_open(&f, false, 4);
  struct tide_timeline *gate = fake_timeline(&f, "gate", true);
  struct tide_queue *opener = fake_queue(&f, "opener");
  CHECK_OK(SUBMIT(opener, .label = "open", SIGNALS({gate, 1})));
  for (struct lane *lane = lanes; lane < lanes + LANES; lane++) {
    struct tide_queue_params params = {.operations = 1, .waits = 1, .signals = 1, .buffers = 1};
    CHECK_OK(tide_queue_create(f.device, &params, &lane->queue));
    lane->end = fake_timeline(&f, "end", true);
    struct tide_operation end = {WAITS({gate, 1}), SIGNALS({lane->end, 1})};
    CHECK_OK(tide_queue_submit(lane->queue, &end, NULL, NULL));
    for (size_t i = 0; i < 2; i++) {
      lane->points[i] =
          (struct tide_timepoint){.timeline = lane->end, .value = 1, .call = count_call};
      CHECK_OK(tide_timepoint_add(&lane->points[i]));
    }
  }
  fake_run(&f, "open");
  CHECK_EQ_U64(calls, 2 * LANES);
  for (struct lane *lane = lanes; lane < lanes + LANES; lane++) {
    tide_queue_destroy(lane->queue);
    tide_timeline_release(lane->end);
  }
  tide_queue_destroy(opener);
  tide_timeline_release(gate);
  fake_close(&f);
  free(lanes);
}

TEST_MAIN(CASE(what_is_let_go_is_sorted_once))
