/* A collective of more members than a frontier has room for: its record is one entry all the same,
 * and nothing is lost. */
#include "harness.h"
#include "tidemark/tidemark.h"

enum { MEMBERS = 300, OTHERS = 3, CAPACITY = 8 };

struct many {
  struct tide_clock *clock;
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queues[MEMBERS], *other[OTHERS];
  struct tide_timeline *told[OTHERS];
  struct tide_collective *all;
};

static void many_open(struct many *m) {
  struct tide_sim_params params = {.struct_size = sizeof params, .hands = 7, .cost = 100};
  CHECK_OK(tide_clock_create(tide_allocator_system(), NULL, &m->clock));
  struct tide_context_params context_params = {.struct_size = sizeof context_params,
                                               .platform = tide_clock_platform(m->clock),
                                               .frontier_capacity = CAPACITY};
  CHECK_OK(tide_context_create(&context_params, &m->context));
  CHECK_OK(tide_sim_open(m->context, m->clock, &params, &m->device));
  struct tide_queue_params small = {.struct_size = sizeof small, .operations = 8};
  /* Not in the order of their axes. */
  for (int i = MEMBERS - 1; i >= 0; i--)
    CHECK_OK(tide_queue_create(m->device, &small, &m->queues[i ^ 1]));
  for (int i = 0; i < OTHERS; i++) {
    CHECK_OK(tide_queue_create(m->device, &small, &m->other[i]));
    CHECK_OK(tide_timeline_create(m->context, NULL, &m->told[i]));
  }
  CHECK_OK(tide_collective_create(m->queues, MEMBERS, "all", &m->all));
}

static void many_close(struct many *m) {
  for (int i = 0; i < MEMBERS; i++) tide_queue_destroy(m->queues[i]);
  for (int i = 0; i < OTHERS; i++) {
    tide_queue_destroy(m->other[i]);
    tide_timeline_destroy(m->told[i]);
  }
  tide_collective_destroy(m->all);
  tide_device_close(m->device);
  tide_context_destroy(m->context);
  tide_clock_destroy(m->clock);
}

TEST(the_record_lists_the_collective_and_what_comes_from_outside) {
  struct many m;
  TIDE_FRONTIER_STORAGE(storage, CAPACITY);
  struct tide_frontier *record = (struct tide_frontier *)&storage;
  many_open(&m);
  for (int i = 0; i < OTHERS; i++) {
    struct tide_signal signal = {m.told[i], 1, false};
    struct tide_operation tell = {.signals = &signal, .signal_count = 1};
    CHECK_OK(tide_queue_submit(m.other[i], &tell, NULL, NULL));
  }
  for (uint64_t n = 1; n <= 3; n++) {
    for (int i = 0; i < MEMBERS; i++) {
      struct tide_wait wait = {m.told[i % OTHERS], 1};
      struct tide_operation part = {.waits = &wait, .wait_count = n == 1};
      CHECK_OK(tide_collective_submit(m.all, (size_t)i, 0, &part, NULL, NULL));
    }
    CHECK_OK(tide_timeline_wait(tide_collective_progress(m.all), n, TIDE_FOREVER));
    tide_frontier_init(record, CAPACITY);
    CHECK_OK(tide_timeline_frontier_at(tide_collective_progress(m.all), n, record, NULL));
    CHECK(!record->tainted);
    CHECK_EQ_U64(record->count, 1 + OTHERS);
    CHECK_EQ_U64(tide_frontier_get(record, tide_axis_make(0, TIDE_DOMAIN_COLLECTIVE, 1)), n);
  }
  many_close(&m);
}

TEST_MAIN(CASE(the_record_lists_the_collective_and_what_comes_from_outside))
