/* Running kernels: their progress as an axis, questions between CTAs, runs as operations, limits.
 */
#include "causal/context_state.h"
#include "tidemark/cpu.h"
#include "tidemark/file.h"
#include "tidemark/mods.h"
#include "tidemark/queue.h"
#include "harness.h"

#include <stdio.h>
#include <string.h>

#define SCHED "!cutlass.tile_scheduler<static_persistent>"

/* Two CTAs of one warp walk over `tiles` tiles in a window; each tile is marked in memory. */
static const char walk[] =
    "gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {\n"
    "  gpu.func @k(%out: !llvm.ptr, %tiles: i32) kernel {\n"
    "    %one = arith.constant 1 : i32\n"
    "    %mask = arith.constant 3 : i64\n"
    "    %sched = cutlass.tile_scheduler.static_persistent %tiles, %one, %one : i32, i32, i32 "
    "-> " SCHED "\n"
    "    cutlass.async.exec {warps = array<i32: 0, 1>} {\n"
    "      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} "
    ": " SCHED ", i64\n"
    "      %first = cutlass.tile_scheduler.get_current_work %sched : " SCHED
    " -> !cutlass.work_tile\n"
    "      %end = scf.while (%w = %first) : (!cutlass.work_tile) -> (!cutlass.work_tile) {\n"
    "        %valid = cutlass.tile_scheduler.work_get %w {field = \"valid\"} : !cutlass.work_tile "
    "-> "
    "i1\n"
    "        scf.condition(%valid) %w : !cutlass.work_tile\n"
    "      } do {\n"
    "      ^bb0(%w: !cutlass.work_tile):\n"
    "        %m = cutlass.tile_scheduler.work_get %w {field = \"m\"} : !cutlass.work_tile -> i32\n"
    "        %at = llvm.getelementptr %out[%m] : (!llvm.ptr, i32) -> !llvm.ptr, i32\n"
    "        llvm.store %one, %at : i32, !llvm.ptr\n"
    "        cutlass.tile_scheduler.mods_throttle {profile = 1 : i32}\n"
    "        %n = cutlass.tile_scheduler.advance_to_next_work %sched, %w : " SCHED
    ", !cutlass.work_tile -> !cutlass.work_tile\n"
    "        scf.yield %n : !cutlass.work_tile\n"
    "      }\n"
    "      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} "
    ": " SCHED ", i64 -> ()\n"
    "      cutlass.async.yield\n"
    "    }\n"
    "    gpu.return\n"
    "  }\n"
    "}\n";

#define TILES 12

struct scene {
  struct tide_context *context;
  int32_t out[TILES];
  struct tide_mods_argument arguments[2];
  struct tide_mods_run_params params;
  char message[512]; /* the first error */
};

static void hear(void *self, const struct tide_mods_diagnostic *diagnostic) {
  struct scene *scene = self;
  if (!scene->message[0])
    snprintf(scene->message, sizeof scene->message, "%u:%u %s", diagnostic->line,
             diagnostic->column, diagnostic->text);
}

static struct tide_mods_sink sink = {.diagnostic = hear};

static void open_scene(struct scene *scene) {
  memset(scene, 0, sizeof *scene);
  CHECK_OK(tide_context_create(NULL, &scene->context));
  sink.self = scene;
  scene->arguments[0] = (struct tide_mods_argument){.data = scene->out, .size = sizeof scene->out};
  scene->arguments[1] = (struct tide_mods_argument){.integer = TILES};
  scene->params = (struct tide_mods_run_params){.struct_size = sizeof(struct tide_mods_run_params),
                                                .text = walk,
                                                .length = sizeof walk - 1,
                                                .file = "walk.mlir",
                                                .arguments = scene->arguments,
                                                .argument_count = 2,
                                                .grid = {2, 1, 1},
                                                .seed = 5,
                                                .sink = &sink};
}

static void close_scene(struct scene *scene) { tide_context_destroy(scene->context); }

TEST(each_tile_is_an_epoch_of_a_kernel_axis) {
  struct scene s;
  struct tide_mods_run *run;
  struct tide_timeline *timeline;
  struct tide_mods_run_stats stats;
  struct tide_record_info info;
  open_scene(&s);
  CHECK_OK(
      tide_timeline_create(s.context, TIDE_PARAMS(tide_timeline_params, .history = 64), &timeline));
  s.params.progress = timeline;
  CHECK_OK(tide_mods_run_create(s.context, &s.params, &run));
  tide_axis axis = tide_mods_run_axis(run);
  CHECK_EQ_U64(tide_axis_domain(axis), TIDE_DOMAIN_KERNEL);
  /* Step by step: the value only goes up, and the tracker is never behind it. */
  uint64_t last = 0, seen = 0;
  enum tide_status status;
  while ((status = tide_mods_run_step(run, 20)) == TIDE_TIMEOUT) {
    uint64_t value = tide_timeline_query(timeline);
    CHECK(value >= last && tide_tracker_epoch(s.context->tracker, axis) == value);
    seen += value != last;
    last = value;
  }
  CHECK_OK(status);
  CHECK(seen > 3);
  CHECK_EQ_U64(tide_timeline_query(timeline), TILES);
  CHECK_OK(tide_timeline_frontier_at(timeline, 7, NULL, &info));
  CHECK(info.axis == axis && info.epoch == 7);
  CHECK(tide_tracker_finished(s.context->tracker, axis, TILES));
  tide_mods_run_statistics(run, &stats);
  CHECK(stats.tiles == TILES && stats.windows == 2 && stats.ctas == 2 && stats.threads == 64);
  for (int i = 0; i < TILES; i++) CHECK(s.out[i] == 1);
  tide_mods_run_destroy(run);
  tide_timeline_destroy(timeline);
  close_scene(&s);
}

TEST(what_a_run_waited_for_its_records_teach) {
  struct scene s;
  struct tide_mods_run *run;
  struct tide_timeline *before, *timeline;
  tide_axis host;
  TIDE_FRONTIER_STORAGE(own, 4);
  TIDE_FRONTIER_STORAGE(known, 4);
  open_scene(&s);
  tide_frontier_init(&own.frontier, 4);
  tide_frontier_init(&known.frontier, 4);
  CHECK_OK(tide_timeline_create(s.context, NULL, &before));
  CHECK_OK(
      tide_timeline_create(s.context, TIDE_PARAMS(tide_timeline_params, .history = 1), &timeline));
  CHECK_OK(tide_lease_take(s.context->lease, TIDE_DOMAIN_HOST, &host));
  CHECK_OK(tide_tracker_register(s.context->tracker, host));
  s.params.progress = timeline;
  CHECK_OK(tide_mods_run_create(s.context, &s.params, &run));
  CHECK(tide_mods_run_import(run, before, 1) == TIDE_TIMEOUT);
  struct tide_position position = {.axis = host, .frontier = &own.frontier};
  CHECK_OK(tide_timeline_signal(before, 1, &position));
  CHECK_OK(tide_mods_run_import(run, before, 1));
  CHECK_OK(tide_mods_run_step(run, UINT64_MAX));
  CHECK(tide_mods_run_import(run, before, 1) == TIDE_VALUE);
  CHECK_OK(tide_timeline_frontier_at(timeline, TILES, &known.frontier, NULL));
  CHECK(tide_frontier_get(&known.frontier, host) == 1);
  CHECK(tide_frontier_get(&known.frontier, tide_mods_run_axis(run)) == TILES);
  tide_mods_run_destroy(run);
  tide_timeline_destroy(before);
  tide_timeline_destroy(timeline);
  close_scene(&s);
}

TEST(a_question_is_answered_at_a_throttle) {
  struct scene s;
  struct tide_mods_run *run;
  uint64_t progress = 99;
  open_scene(&s);
  CHECK_OK(tide_mods_run_create(s.context, &s.params, &run));
  /* Outside of a window: refused. */
  CHECK_STATUS(tide_mods_run_query(run, 0, 1), TIDE_DENIED);
  CHECK_STATUS(tide_mods_run_query(run, 0, 2), TIDE_NOT_FOUND);
  CHECK_STATUS(tide_mods_run_reply(run, 1, &progress), TIDE_NOT_FOUND);
  struct tide_mods_run_stats stats;
  enum tide_status status;
  do {
    CHECK_STATUS(tide_mods_run_step(run, 1), TIDE_TIMEOUT);
    status = tide_mods_run_query(run, 0, 1);
  } while (status == TIDE_DENIED);
  CHECK_OK(status);
  CHECK_STATUS(tide_mods_run_query(run, 0, 1), TIDE_BUSY);
  CHECK_STATUS(tide_mods_run_reply(run, 1, &progress), TIDE_TIMEOUT);
  while (tide_mods_run_reply(run, 1, &progress) == TIDE_TIMEOUT)
    CHECK_STATUS(tide_mods_run_step(run, 1), TIDE_TIMEOUT);
  CHECK_OK(tide_mods_run_reply(run, 1, &progress));
  tide_mods_run_statistics(run, &stats);
  CHECK(progress <= stats.tiles);
  CHECK_OK(tide_mods_run_step(run, UINT64_MAX));
  CHECK_STATUS(tide_mods_run_query(run, 0, 1), TIDE_DENIED);
  tide_mods_run_destroy(run);
  close_scene(&s);
}

/* The window stands in a loop: what was finished in the first one is no progress in the second. */
TEST(each_window_has_its_own_progress) {
  static const char around[] = "      %zero = arith.constant 0 : i32\n"
                               "      %two = arith.constant 2 : i32\n"
                               "      scf.for %turn = %zero to %two step %one : i32 {\n";
  struct scene s;
  struct tide_mods_run *run;
  struct tide_mods_run_stats stats;
  char text[sizeof walk + sizeof around + 16];
  uint64_t progress = 99;
  const char *start = strstr(walk, "      cutlass.tile_scheduler.mods_report_mainloop_start");
  const char *end = strstr(walk, "      cutlass.async.yield");
  open_scene(&s);
  s.params.length =
      (size_t)snprintf(text, sizeof text, "%.*s%s%.*s      }\n%s", (int)(start - walk), walk,
                       around, (int)(end - start), start, end);
  s.params.text = text;
  CHECK_OK(tide_mods_run_create(s.context, &s.params, &run));
  do {
    CHECK_STATUS(tide_mods_run_step(run, 1), TIDE_TIMEOUT);
    tide_mods_run_statistics(run, &stats);
  } while (stats.windows < 4);
  CHECK_EQ_U64(stats.windows, 4);
  CHECK_OK(tide_mods_run_query(run, 0, 1));
  while (tide_mods_run_reply(run, 1, &progress) == TIDE_TIMEOUT)
    CHECK_STATUS(tide_mods_run_step(run, 1), TIDE_TIMEOUT);
  CHECK_OK(tide_mods_run_reply(run, 1, &progress));
  CHECK(progress < TILES / 2);
  CHECK_OK(tide_mods_run_step(run, UINT64_MAX));
  tide_mods_run_statistics(run, &stats);
  CHECK_EQ_U64(stats.windows, 4);
  CHECK_EQ_U64(stats.tiles, 2 * TILES);
  tide_mods_run_destroy(run);
  close_scene(&s);
}

/* A queue waits for the sixth tile of a kernel that is an operation of another queue. */
TEST(a_kernel_is_an_operation_that_others_follow) {
  struct scene s;
  struct tide_mods_run *run;
  struct tide_timeline *timeline, *done;
  open_scene(&s);
  struct tide_device *device;
  struct tide_queue *kernels, *followers;
  CHECK_OK(tide_cpu_open(s.context, NULL, &device));
  CHECK_OK(tide_queue_create(device, NULL, &kernels));
  CHECK_OK(tide_queue_create(device, NULL, &followers));
  CHECK_OK(tide_timeline_create(s.context, NULL, &timeline));
  CHECK_OK(tide_timeline_create(s.context, NULL, &done));
  s.params.progress = timeline;
  CHECK_OK(tide_mods_run_create(s.context, &s.params, &run));
  struct tide_wait wait = {timeline, 6};
  struct tide_signal follow = {.timeline = done, .value = 1};
  CHECK_OK(tide_queue_submit(followers,
                             &(struct tide_operation){.label = "follows",
                                                      .waits = &wait,
                                                      .wait_count = 1,
                                                      .signals = &follow,
                                                      .signal_count = 1},
                             NULL, NULL));
  CHECK_STATUS(tide_timeline_wait(done, 1, TIDE_NOW), TIDE_TIMEOUT);
  CHECK_OK(tide_queue_submit(kernels,
                             &(struct tide_operation){.label = "kernel",
                                                      .body = tide_mods_body(),
                                                      .arguments = &run,
                                                      .arguments_size = sizeof run},
                             NULL, NULL));
  CHECK_OK(tide_timeline_wait(done, 1, TIDE_FOREVER));
  CHECK_OK(tide_timeline_wait(timeline, TILES, TIDE_FOREVER));
  tide_queue_destroy(kernels);
  tide_queue_destroy(followers);
  tide_device_close(device);
  tide_mods_run_destroy(run);
  tide_timeline_destroy(timeline);
  tide_timeline_destroy(done);
  close_scene(&s);
}

TEST(who_waits_for_a_run_that_fails_learns_why) {
  struct scene s;
  struct tide_mods_run *run;
  struct tide_timeline *timeline;
  open_scene(&s);
  CHECK_OK(tide_timeline_create(s.context, NULL, &timeline));
  s.params.progress = timeline;
  s.arguments[0].size = 4 * 5; /* the sixth tile has no place */
  CHECK_OK(tide_mods_run_create(s.context, &s.params, &run));
  CHECK_STATUS(tide_mods_run_step(run, UINT64_MAX), TIDE_FAILED);
  CHECK_STATUS(tide_mods_run_step(run, UINT64_MAX), TIDE_FAILED);
  CHECK(strstr(s.message, "accesses 4 bytes at byte 2"));
  CHECK(strncmp(s.message, "16:", 3) == 0);
  CHECK_STATUS(tide_timeline_wait(timeline, TILES, TIDE_FOREVER), TIDE_FAILED);
  tide_mods_run_destroy(run);
  tide_timeline_destroy(timeline);
  close_scene(&s);
}

TEST(a_run_that_is_given_up_fails_its_waiters) {
  struct scene s;
  struct tide_mods_run *run;
  struct tide_timeline *timeline;
  open_scene(&s);
  CHECK_OK(tide_timeline_create(s.context, NULL, &timeline));
  s.params.progress = timeline;
  CHECK_OK(tide_mods_run_create(s.context, &s.params, &run));
  CHECK_STATUS(tide_mods_run_step(run, 10), TIDE_TIMEOUT);
  tide_mods_run_destroy(run);
  CHECK_STATUS(tide_timeline_wait(timeline, TILES, TIDE_FOREVER), TIDE_CANCELLED);
  tide_timeline_destroy(timeline);
  close_scene(&s);
}

TEST(one_seed_is_one_schedule) {
  struct scene s;
  struct tide_mods_run *run;
  struct tide_mods_run_stats first, again;
  open_scene(&s);
  for (s.params.seed = 0; s.params.seed < 20; s.params.seed++) {
    CHECK_OK(tide_mods_run_create(s.context, &s.params, &run));
    CHECK_OK(tide_mods_run_step(run, UINT64_MAX));
    tide_mods_run_statistics(run, &first);
    tide_mods_run_destroy(run);
    CHECK_OK(tide_mods_run_create(s.context, &s.params, &run));
    CHECK_OK(tide_mods_run_step(run, UINT64_MAX));
    tide_mods_run_statistics(run, &again);
    tide_mods_run_destroy(run);
    CHECK(first.time == again.time && first.instructions == again.instructions);
  }
  close_scene(&s);
}

TEST(a_thousand_ctas) {
  struct scene s;
  struct tide_mods_run *run;
  struct tide_mods_run_stats stats;
  open_scene(&s);
  s.params.grid[0] = 1024;
  CHECK_OK(tide_mods_run_create(s.context, &s.params, &run));
  CHECK_OK(tide_mods_run_step(run, UINT64_MAX));
  tide_mods_run_statistics(run, &stats);
  CHECK(stats.ctas == 1024 && stats.windows == 1024 && stats.tiles == TILES);
  tide_mods_run_destroy(run);
  close_scene(&s);
}

TEST(what_cannot_be_launched) {
  struct scene s;
  struct tide_mods_run *run;
  open_scene(&s);
  struct tide_mods_run_params good = s.params;
#define REFUSED(status, change)                                                                    \
  s.params = good;                                                                                 \
  s.message[0] = 0;                                                                                \
  change;                                                                                          \
  CHECK_STATUS(tide_mods_run_create(s.context, &s.params, &run), status);                          \
  CHECK(!run && s.message[0])
  REFUSED(TIDE_INVALID, s.params.grid[0] = 3);
  REFUSED(TIDE_INVALID, s.params.grid[0] = 65538);
  REFUSED(TIDE_INVALID, s.params.block[0] = 1025);
  REFUSED(TIDE_INVALID, s.params.cluster[0] = 1; s.params.cluster[1] = 2);
  REFUSED(TIDE_NOT_FOUND, s.params.kernel = "other");
  REFUSED(TIDE_MISMATCH, s.params.argument_count = 1);
  REFUSED(TIDE_EXHAUSTED, s.params.memory_max = 1000);
  REFUSED(TIDE_CORRUPT, s.params.text = "gpu.module @m {"; s.params.length = 15);
  s.params = good;
  s.params.steps_max = 100;
  s.message[0] = 0;
  CHECK_OK(tide_mods_run_create(s.context, &s.params, &run));
  CHECK_STATUS(tide_mods_run_step(run, UINT64_MAX), TIDE_EXHAUSTED);
  CHECK(strstr(s.message, "it may never be"));
  tide_mods_run_destroy(run);
  close_scene(&s);
}

TEST_MAIN(CASE(each_tile_is_an_epoch_of_a_kernel_axis),
          CASE(what_a_run_waited_for_its_records_teach), CASE(a_question_is_answered_at_a_throttle),
          CASE(each_window_has_its_own_progress), CASE(a_kernel_is_an_operation_that_others_follow),
          CASE(who_waits_for_a_run_that_fails_learns_why),
          CASE(a_run_that_is_given_up_fails_its_waiters), CASE(one_seed_is_one_schedule),
          CASE(a_thousand_ctas), CASE(what_cannot_be_launched))
