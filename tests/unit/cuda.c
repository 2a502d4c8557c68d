/* The GPU device over a driver that is none (tests/plugins/cuda.c): what it answers, what it
 * leaves, what it does when the driver fails. The cases of a real GPU are in tests/conformance. */
#include "harness.h"

#include "base/atomic.h"
#include "fake_driver.h"
#include "tidemark/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tide_context *context;
static struct fake_cuda *fake;
static struct tide_platform platform;
static uint32_t spawns_left;

static enum tide_status scarce_spawn(void *self, const char *name, void (*entry)(void *),
                                     void *argument, struct tide_thread **out_thread) {
  if (!spawns_left) return TIDE_NOMEM;
  spawns_left--;
  return tide_platform_linux()->spawn(self, name, entry, argument, out_thread);
}

static void setup(void) {
  fake = fake_driver_load();
  spawns_left = 1000000;
  platform = *tide_platform_linux();
  platform.spawn = scarce_spawn;
  struct tide_context_params params = {.struct_size = sizeof params, .platform = &platform};
  CHECK_OK(tide_context_create(&params, &context));
}

static void teardown(void) {
  tide_context_destroy(context);
  fake_driver_check(fake);
}

static uint64_t later(unsigned ms) {
  return platform.now(platform.self) + (uint64_t)ms * 1000000u * test_slowdown();
}

static struct tide_cuda_params usual(void) {
  return (struct tide_cuda_params){
      .struct_size = sizeof(struct tide_cuda_params), .driver = fake_driver_path, .depth = 4};
}

/* ---- opening --------------------------------------------------------------------------- */

TEST(no_driver_is_said) {
  struct tide_device *device = NULL;
  struct tide_diag diag = {0};
  setup();
  struct tide_cuda_params none = {.struct_size = sizeof none, .driver = "/nowhere/libcuda.so.1"};
  CHECK_STATUS(tide_cuda_open(context, &none, &device, &diag), TIDE_UNSUPPORTED);
  CHECK(strstr(diag.text, "there is no GPU driver") && strstr(diag.text, "/nowhere/"));
  /* A library, but no driver. */
  struct tide_cuda_params other = {.struct_size = sizeof other, .driver = "libm.so.6"};
  CHECK_STATUS(tide_cuda_open(context, &other, &device, &diag), TIDE_UNSUPPORTED);
  CHECK(strstr(diag.text, "it has no cuInit"));
  CHECK(device == NULL);
  teardown();
}

TEST(what_a_driver_lacks_is_said) {
  struct tide_device *device = NULL;
  struct tide_diag diag = {0};
  setup();
  struct tide_cuda_params params = usual();
  fake->devices = 0;
  CHECK_STATUS(tide_cuda_open(context, &params, &device, &diag), TIDE_UNSUPPORTED);
  CHECK(strstr(diag.text, "no GPU"));
  fake->devices = 2;
  params.ordinal = 2;
  CHECK_STATUS(tide_cuda_open(context, &params, &device, &diag), TIDE_NOT_FOUND);
  CHECK_EQ_STR(diag.text, "there is no GPU 2: there are 2");
  params.ordinal = 1;
  fake->version = 11040;
  CHECK_STATUS(tide_cuda_open(context, &params, &device, &diag), TIDE_UNSUPPORTED);
  CHECK(strstr(diag.text, "version 11040, and 12000"));
  fake->version = 12000;
  fake->abilities = 6;
  CHECK_STATUS(tide_cuda_open(context, &params, &device, &diag), TIDE_UNSUPPORTED);
  CHECK(strstr(diag.text, "addresses"));
  params.depth = TIDE_CUDA_DEPTH_MOST + 1;
  CHECK_STATUS(tide_cuda_open(context, &params, &device, &diag), TIDE_INVALID);
  params.depth = TIDE_CUDA_DEPTH_MOST;
  fake->abilities = 1;
  CHECK_OK(tide_cuda_open(context, &params, &device, &diag));
  struct tide_cuda_info info;
  tide_cuda_info(device, &info);
  CHECK_EQ_STR(info.name, "a GPU that is none");
  CHECK(info.major == 9 && info.minor == 0 && info.driver == 12000 && info.shared_bytes == 232448);
  CHECK(!info.clusters && !info.wait_value && info.multiprocessors == 64);
  struct tide_cuda_stream *stream;
  CHECK_OK(tide_cuda_stream_create(device, &stream));
  CHECK_STATUS(tide_cuda_wait_value(stream, 4096, 1), TIDE_UNSUPPORTED);
  CHECK_STATUS(tide_cuda_write_value(stream, 4096, 1), TIDE_UNSUPPORTED);
  CHECK_STATUS(tide_cuda_launch(stream, &(struct tide_cuda_launch){.cluster = {2}}),
               TIDE_UNSUPPORTED);
  tide_cuda_stream_destroy(stream);
  tide_device_close(device);
  teardown();
}

/* ---- streams and kernels ------------------------------------------------------------------ */

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                          ".visible .entry add(.param .align 8 .b8 p[16]) { ret; }\n"
                          ".visible .entry trap() { trap; ret; }\n";

struct add {
  uint64_t words;
  uint32_t count, number;
};

/* The k-th call from now on fails with this number. */
static void fail_call(uint32_t k, uint32_t number) {
  tide_store_ordered(&fake->calls, 0u);
  tide_store_ordered(&fake->fail_with, number);
  tide_store_ordered(&fake->fail_at, k);
}

TEST(kernels_run_in_order_on_a_stream) {
  struct tide_device *device;
  struct tide_cuda_stream *stream;
  struct tide_cuda_module *module = NULL;
  struct tide_cuda_kernel *add, *none = NULL;
  struct tide_diag diag = {0};
  uint64_t words;
  void *host;
  setup();
  struct tide_cuda_params params = usual();
  CHECK_OK(tide_cuda_open(context, &params, &device, NULL));
  CHECK_STATUS(tide_cuda_load(device, "nothing", &module, &diag), TIDE_CORRUPT);
  CHECK_EQ_STR(diag.text,
               "the GPU driver does not load this: it answers 218: ptxas fatal: no .version");
  CHECK_OK(tide_cuda_load(device, ptx, &module, NULL));
  CHECK_STATUS(tide_cuda_find(module, "ad", &none, &diag), TIDE_NOT_FOUND);
  CHECK_EQ_STR(diag.text, "there is no kernel 'ad'");
  fail_call(2, 1); /* the first one makes the context current */
  CHECK_STATUS(tide_cuda_find(module, "add", &add, &diag), TIDE_INVALID);
  CHECK_EQ_STR(diag.text, "finding a kernel: the GPU driver answers 1 (INVALID_VALUE)");
  fail_call(0, 0);
  CHECK_OK(tide_cuda_find(module, "add", &add, &diag));
  CHECK_OK(tide_cuda_alloc(device, 400, &words));
  CHECK_OK(tide_cuda_alloc_host(device, 400, &host));
  CHECK_OK(tide_cuda_stream_create(device, &stream));
  CHECK_OK(tide_cuda_fill(stream, words, 0, 400));
  struct add arguments = {words, 100, 7};
  struct tide_cuda_launch launch = {
      .kernel = add, .grid = {4}, .block = {32}, .arguments = &arguments, .size = sizeof arguments};
  CHECK_OK(tide_cuda_launch(stream, &launch));
  launch.cluster[0] = 2;
  CHECK_OK(tide_cuda_launch(stream, &launch));
  launch.cluster[0] = 3;
  CHECK_STATUS(tide_cuda_launch(stream, &launch), TIDE_INVALID);
  CHECK_OK(tide_cuda_copy(stream, (uint64_t)(uintptr_t)host, words, 400));
  CHECK_OK(tide_cuda_copy(stream, 0, 0, 0));
  CHECK_OK(tide_cuda_stream_wait(stream, later(20000)));
  for (int i = 0; i < 100; i++) CHECK_EQ_U64(((uint32_t *)host)[i], 14);
  CHECK_EQ_U64(fake->clustered, 1);
  tide_cuda_stream_destroy(stream);
  tide_cuda_stream_destroy(NULL);
  tide_cuda_free(device, words);
  tide_cuda_free(device, 0);
  tide_cuda_free_host(device, host);
  tide_cuda_unload(module);
  tide_cuda_unload(NULL);
  teardown();
}

TEST(a_stream_waits_for_a_value) {
  struct tide_device *device;
  struct tide_cuda_stream *stream;
  uint32_t *words;
  void *host;
  setup();
  struct tide_cuda_params params = usual();
  CHECK_OK(tide_cuda_open(context, &params, &device, NULL));
  CHECK_OK(tide_cuda_alloc_host(device, 64, &host));
  words = memset(host, 0, 64);
  CHECK_OK(tide_cuda_stream_create(device, &stream));
  CHECK_OK(tide_cuda_wait_value(stream, (uint64_t)(uintptr_t)&words[0], 3));
  CHECK_OK(tide_cuda_write_value(stream, (uint64_t)(uintptr_t)&words[8], 5));
  CHECK_STATUS(tide_cuda_stream_wait(stream, later(20)), TIDE_TIMEOUT);
  CHECK_EQ_U64(tide_load_acquire(&words[8]), 0);
  tide_store_release(&words[0], 3u);
  CHECK_OK(tide_cuda_stream_wait(stream, later(20000)));
  CHECK_EQ_U64(tide_load_acquire(&words[8]), 5);
  tide_cuda_stream_destroy(stream);
  tide_cuda_free_host(device, host);
  teardown();
}

/* ---- the device: operations --------------------------------------------------------------------
 */

static enum tide_status fill_enqueue(const void *arguments, struct tide_cuda_stream *stream) {
  const struct add *a = arguments;
  return tide_cuda_fill(stream, a->words, (uint8_t)a->number, a->count);
}
static const struct tide_cuda_ops fill_ops = {{TIDE_OPS_CUDA}, fill_enqueue};
static const struct tide_body_class fill_class = {.name = "fill", .ops = &fill_ops.ops};

static enum tide_status trap_enqueue(const void *arguments, struct tide_cuda_stream *stream) {
  struct tide_cuda_launch launch = {.kernel = *(struct tide_cuda_kernel *const *)arguments};
  return tide_cuda_launch(stream, &launch);
}
static const struct tide_cuda_ops trap_ops = {{TIDE_OPS_CUDA}, trap_enqueue};
static const struct tide_body_class trap_class = {.name = "trap", .ops = &trap_ops.ops};

static struct tide_timeline *timeline_of(void) {
  struct tide_timeline_params params = {.struct_size = sizeof params, .label = "done"};
  struct tide_timeline *timeline;
  CHECK_OK(tide_timeline_create(context, &params, &timeline));
  return timeline;
}

static void submit(struct tide_queue *queue, const struct tide_body_class *body, const void *data,
                   size_t size, struct tide_timeline *timeline, uint64_t value) {
  struct tide_signal signal = {.timeline = timeline, .value = value};
  struct tide_operation operation = {.signals = &signal,
                                     .signal_count = 1,
                                     .body = body,
                                     .arguments = data,
                                     .arguments_size = size};
  CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
}

/* All of a device's life; the first thing that the driver refuses is the answer. */
static enum tide_status live_once(const struct tide_cuda_params *params) {
  struct tide_device *device;
  struct tide_queue *queue;
  void *host = NULL;
  enum tide_status status = tide_cuda_open(context, params, &device, NULL);
  if (status != TIDE_OK) return status;
  struct tide_timeline *done = timeline_of();
  status = tide_cuda_alloc_host(device, 256, &host);
  if (status == TIDE_OK) {
    struct tide_queue_params queue_params = {.struct_size = sizeof queue_params, .operations = 8};
    CHECK_OK(tide_queue_create(device, &queue_params, &queue));
    memset(host, 0, 256);
    for (uint32_t i = 1; i <= 3; i++) {
      struct add add = {(uint64_t)(uintptr_t)host, 64 * i, i};
      submit(queue, &fill_class, &add, sizeof add, done, i);
    }
    struct tide_failure why;
    for (uint64_t i = 1; i <= 3 && status == TIDE_OK; i++) {
      status = tide_timeline_wait(done, i, later(20000));
      if (status != TIDE_OK && (!tide_timeline_failure(done, i, &why) || !why.code))
        FAIL("%s without the driver's number: %s", tide_status_name(status), why.text);
    }
    if (status == TIDE_OK) CHECK_EQ_U64(((uint8_t *)host)[127], 3);
    tide_queue_destroy(queue);
    CHECK_OK(tide_device_settle(device, later(20000)));
  }
  tide_timeline_destroy(done);
  tide_cuda_free_host(device, host);
  tide_device_close(device);
  return status;
}

/* Whatever call fails: a documented answer, and nothing is left. */
TEST(any_call_may_fail) {
  static const uint32_t answers[] = {2, 719, 999};
  setup();
  struct tide_cuda_params params = usual();
  params.depth = 2;
  for (size_t a = 0; a < 3; a++) {
    uint32_t reached = UINT32_MAX;
    for (uint32_t k = 1; k <= reached; k++) {
      tide_store_ordered(&fake->calls, 0u);
      tide_store_ordered(&fake->fail_with, answers[a]);
      tide_store_ordered(&fake->fail_at, k);
      enum tide_status status = live_once(&params);
      tide_store_ordered(&fake->fail_at, 0u);
      if (status != TIDE_OK && status != TIDE_NOMEM && status != TIDE_LOST && status != TIDE_FAILED)
        FAIL("call %u answers %u: %s", k, answers[a], tide_status_name(status));
      if (tide_load_acquire(&fake->live))
        FAIL("call %u answers %u: %u are left", k, answers[a], fake->live);
      if (tide_load_acquire(&fake->calls) < k) reached = 0; /* it was never made */
    }
    if (tide_load_acquire(&fake->calls) <= 30) FAIL("only %u calls", fake->calls);
  }
  teardown();
}

TEST(no_memory_and_no_thread_leave_nothing) {
  struct tide_device *device;
  setup();
  struct tide_cuda_params params = usual();
  spawns_left = 0;
  CHECK_STATUS(tide_cuda_open(context, &params, &device, NULL), TIDE_NOMEM);
  CHECK_EQ_U64(fake->live, 0);
  spawns_left = 1;
  CHECK_OK(tide_cuda_open(context, &params, &device, NULL));
  tide_device_close(device);
  teardown();
}

/* A kernel fails: everything unfinished does, and the context is beyond use. */
TEST(a_kernel_that_fails_loses_the_device) {
  struct tide_device *device;
  struct tide_queue *queue, *other;
  struct tide_cuda_module *module;
  struct tide_cuda_kernel *trap;
  setup();
  struct tide_cuda_params params = usual();
  CHECK_OK(tide_cuda_open(context, &params, &device, NULL));
  CHECK_OK(tide_cuda_load(device, ptx, &module, NULL));
  CHECK_OK(tide_cuda_find(module, "trap", &trap, NULL));
  struct tide_timeline *done = timeline_of(), *never = timeline_of();
  CHECK_OK(tide_queue_create(device, NULL, &queue));
  CHECK_OK(tide_queue_create(device, NULL, &other));
  tide_store_ordered(&fake->held, 1u);
  submit(queue, &trap_class, &trap, sizeof trap, done, 1);
  static uint8_t bytes[64];
  struct add add = {(uint64_t)(uintptr_t)bytes, 64, 1};
  submit(other, &fill_class, &add, sizeof add, never, 1);
  submit(other, &fill_class, &add, sizeof add, never, 2);
  tide_store_ordered(&fake->held, 0u);
  CHECK_STATUS(tide_timeline_wait(done, 1, later(20000)), TIDE_LOST);
  struct tide_failure why;
  CHECK(tide_timeline_failure(done, 1, &why) && why.code > 0);
  CHECK(strstr(why.text, "device 'gpu' was lost: the GPU driver answers") != NULL);
  enum tide_status status = tide_timeline_wait(never, 2, later(20000));
  CHECK(status == TIDE_LOST || status == TIDE_OK); /* it may have been quicker */
  tide_queue_destroy(queue);
  tide_queue_destroy(other);
  tide_timeline_destroy(done);
  tide_timeline_destroy(never);
  CHECK_OK(tide_device_settle(device, later(20000)));
  tide_cuda_unload(module);
  tide_device_close(device);
  teardown();
}

/* An operation that takes too long: those who wait hear of it at the limit, but its memory counts
 * as used until the driver says that it is over. */
TEST(an_operation_has_a_limit) {
  struct tide_device *device;
  struct tide_queue *queue;
  static uint8_t bytes[64];
  setup();
  struct tide_cuda_params params = usual();
  params.limit = 20000000;
  CHECK_OK(tide_cuda_open(context, &params, &device, NULL));
  struct tide_timeline *done = timeline_of();
  CHECK_OK(tide_queue_create(device, NULL, &queue));
  tide_store_ordered(&fake->held, 1u);
  struct add add = {(uint64_t)(uintptr_t)bytes, 64, 9};
  submit(queue, &fill_class, &add, sizeof add, done, 1);
  CHECK_STATUS(tide_timeline_wait(done, 1, later(20000)), TIDE_TIMEOUT);
  tide_queue_destroy(queue);
  CHECK_STATUS(tide_device_settle(device, later(20)), TIDE_TIMEOUT);
  CHECK_EQ_U64(bytes[0], 0);
  tide_store_ordered(&fake->held, 0u);
  CHECK_OK(tide_device_settle(device, later(20000)));
  CHECK_EQ_U64(bytes[63], 9);
  tide_timeline_destroy(done);
  tide_device_close(device);
  teardown();
}

/* A queue of a GPU whose streams start nothing. */
struct busy {
  struct tide_device *device;
  struct tide_queue *queue;
  struct tide_timeline *done;
};

static struct busy open_busy(void) {
  struct busy b;
  setup();
  struct tide_cuda_params params = usual();
  CHECK_OK(tide_cuda_open(context, &params, &b.device, NULL));
  b.done = timeline_of();
  CHECK_OK(tide_queue_create(b.device, NULL, &b.queue));
  tide_store_ordered(&fake->held, 1u);
  return b;
}

static void close_busy(struct busy *b) {
  tide_timeline_destroy(b->done);
  tide_device_close(b->device);
  teardown();
}

/* Destroyed with work under way: it blocks until that is over, and what has not started is not. */
TEST(a_queue_is_destroyed_while_the_stream_is_busy) {
  static uint8_t bytes[64];
  struct busy b = open_busy();
  for (uint32_t i = 1; i <= 3; i++) {
    struct add add = {(uint64_t)(uintptr_t)bytes, 64, i};
    submit(b.queue, &fill_class, &add, sizeof add, b.done, i);
  }
  while (tide_load_acquire(&fake->calls) == 0) platform.yield(platform.self);
  tide_queue_destroy(b.queue);
  tide_store_ordered(&fake->held, 0u);
  enum tide_status last = tide_timeline_wait(b.done, 3, later(20000));
  CHECK_STATUS(last, TIDE_CANCELLED);
  close_busy(&b);
  CHECK(bytes[0] <= 1);
}

/* Nobody wakes while there is nothing to do, nor while a stream is busy: at most to ask after it.
 */
TEST(nobody_polls) {
  static uint8_t bytes[64];
  struct busy b = open_busy();
  struct add add = {(uint64_t)(uintptr_t)bytes, 64, 1};
  submit(b.queue, &fill_class, &add, sizeof add, b.done, 1);
  while (tide_load_acquire(&fake->calls) == 0) usleep(1000);
  usleep(50000);
  uint32_t before = tide_load_acquire(&fake->calls);
  uint64_t begin = platform.now(platform.self);
  usleep(300000);
  uint32_t calls = tide_load_acquire(&fake->calls) - before;
  /* Push, query and pop each 100 ms of the time that has passed, however long the sleep was. */
  uint64_t passed = platform.now(platform.self) - begin;
  CHECK(calls <= 3 * (passed / 100000000 + 2));
  tide_store_ordered(&fake->held, 0u);
  CHECK_OK(tide_timeline_wait(b.done, 1, later(20000)));
  tide_queue_destroy(b.queue);
  close_busy(&b);
}

TEST_MAIN(CASE(no_driver_is_said), CASE(what_a_driver_lacks_is_said),
          CASE(kernels_run_in_order_on_a_stream), CASE(a_stream_waits_for_a_value),
          CASE(any_call_may_fail), CASE(no_memory_and_no_thread_leave_nothing),
          CASE(a_kernel_that_fails_loses_the_device), CASE(an_operation_has_a_limit),
          CASE(a_queue_is_destroyed_while_the_stream_is_busy), CASE(nobody_polls))
