/* Non-blocking operations go out together: what the arbiter promises holds all the same. */
#include "fake_device.h"

#include <string.h>

static const struct tide_body_class quick = {
    .name = "quick", .host = fake_never, .non_blocking = true};

static struct tide_queue *lane(struct tide_device *device, uint8_t level, uint32_t count) {
  struct tide_queue *queue;
  struct tide_queue_params params = {
      .struct_size = sizeof params, .label = "lane", .priority = level, .operations = 1024};
  CHECK_OK(tide_queue_create(device, &params, &queue));
  struct tide_operation operation = {.body = &quick, .label = "x"};
  for (uint32_t i = 0; i < count; i++) CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
  return queue;
}

static void open_sequential(struct fake *f, struct tide_backend *backend,
                            struct tide_device **device) {
  fake_open(f, true, 16);
  *backend = f->backend;
  backend->sequential = true;
  CHECK_OK(tide_device_open(f->context, backend, "sequential", device));
}
static void run_out(struct tide_device *device) {
  struct tide_work *out[16], *done[16];
  size_t count = 0;
  do {
    memcpy(done, out, count * sizeof *out);
    count = tide_device_exchange(device, done, count, out, 16, NULL);
  } while (count);
}

/* src/sched/arbiter.c: picked after at most 128 + R further picks. */
TEST(the_last_is_picked_within_the_bound) {
  enum { R = 100 };
  struct fake f;
  struct tide_backend backend;
  struct tide_device *device;
  struct tide_queue *lanes[R + 1];
  open_sequential(&f, &backend, &device);
  for (int i = 0; i < R; i++) lanes[i] = lane(device, 0, 40);
  lanes[R] = lane(device, 0, 1);
  struct tide_work *out[16], *done[16];
  size_t count = 0;
  uint32_t picks = 0;
  bool found = false;
  while (!found) {
    memcpy(done, out, count * sizeof *out);
    count = tide_device_exchange(device, done, count, out, 16, NULL);
    CHECK(count);
    for (size_t i = 0; i < count && !found; i++) {
      if (tide_work_axis(out[i]) == tide_queue_axis(lanes[R])) found = true;
      else picks++;
    }
  }
  memcpy(done, out, count * sizeof *out);
  tide_device_exchange(device, done, count, NULL, 0, NULL);
  run_out(device);
  for (int i = 0; i <= R; i++) tide_queue_destroy(lanes[i]);
  CHECK_OK(tide_device_settle(device, TIDE_NOW));
  tide_device_close(device);
  fake_close(&f);
  CHECK(picks <= 128 + R);
}

/* Of two queues the higher goes first: how many of the lower's run before the higher is empty? */
TEST(the_lower_waits_for_the_higher) {
  struct fake f;
  struct tide_backend backend;
  struct tide_device *device;
  open_sequential(&f, &backend, &device);
  struct tide_queue *low = lane(device, 1, 200), *high = lane(device, 15, 100);
  struct tide_work *out[16], *done[16];
  size_t count = 0;
  uint32_t lows = 0, highs = 0;
  while (highs < 100) {
    memcpy(done, out, count * sizeof *out);
    count = tide_device_exchange(device, done, count, out, 16, NULL);
    CHECK(count);
    for (size_t i = 0; i < count && highs < 100; i++) {
      if (tide_work_axis(out[i]) == tide_queue_axis(high)) highs++;
      else lows++;
    }
  }
  memcpy(done, out, count * sizeof *out);
  tide_device_exchange(device, done, count, NULL, 0, NULL);
  run_out(device);
  tide_queue_destroy(low);
  tide_queue_destroy(high);
  CHECK_OK(tide_device_settle(device, TIDE_NOW));
  tide_device_close(device);
  fake_close(&f);
  CHECK(lows <= 16);
}

static void hear(void *self, const struct tide_event *event) { (void)self, (void)event; }
static void kick(void *self) { (void)self; }

/* Which operations go out together does not depend on whether somebody listens. */
static size_t second_batch(bool listen, uint64_t *out_epochs) {
  enum { LANES = 8 };
  struct tide_sink sink = {.event = hear};
  struct tide_context_params params = {.struct_size = sizeof params, .sink = listen ? &sink : NULL};
  struct tide_backend backend = {
      .name = "fake", .in_order = true, .sequential = true, .kick = kick};
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *lanes[LANES];
  struct tide_work *out[16], *done[16];
  struct tide_operation operation = {.body = &quick};
  CHECK_OK(tide_context_create(&params, &context));
  CHECK_OK(tide_device_open(context, &backend, "d", &device));
  for (int i = 0; i < LANES; i++) {
    CHECK_OK(tide_queue_create(device, NULL, &lanes[i]));
    CHECK_OK(tide_queue_submit(lanes[i], &operation, NULL, NULL));
  }
  size_t count = tide_device_exchange(device, NULL, 0, out, 16, NULL);
  CHECK_EQ_U64(count, LANES);
  for (int k = 0; k < 6; k++)
    for (int i = 0; i < LANES; i++) CHECK_OK(tide_queue_submit(lanes[i], &operation, NULL, NULL));
  memcpy(done, out, count * sizeof *out);
  count = tide_device_exchange(device, done, count, out, 16, NULL);
  size_t batch = count;
  for (size_t i = 0; i < count; i++) out_epochs[i] = out[i]->epoch | tide_work_axis(out[i]) << 8;
  while (count) {
    memcpy(done, out, count * sizeof *out);
    count = tide_device_exchange(device, done, count, out, 16, NULL);
  }
  for (int i = 0; i < LANES; i++) tide_queue_destroy(lanes[i]);
  CHECK_OK(tide_device_settle(device, TIDE_NOW));
  tide_device_close(device);
  tide_context_destroy(context);
  return batch;
}

TEST(the_same_goes_out) {
  uint64_t alone[16], heard[16];
  size_t a = second_batch(false, alone), b = second_batch(true, heard);
  CHECK_EQ_U64(a, b);
  CHECK(!memcmp(alone, heard, a * sizeof *alone));
}

TEST_MAIN(CASE(the_last_is_picked_within_the_bound), CASE(the_lower_waits_for_the_higher),
          CASE(the_same_goes_out))
