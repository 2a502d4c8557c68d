/* The patterns' consumers for a GPU, over a driver that is none (tests/plugins/cuda.c): there the
 * text that a GPU runs runs on the host, a thread for a warp. */
#include "harness.h"

#include "../../benchmarks/patterns/gpu.h"
#include "plugins/gpu_host.h"
#include "base/atomic.h"
#include "fake_driver.h"

#include <stdio.h>
#include <string.h>

#include "wic/gpu_wait.h"

static struct fake_cuda *fake;

static struct gpu *open_fake(void) {
  char said[256] = "";
  fake = fake_driver_load();
  struct gpu *gpu = gpu_open(fake_driver_path, said, sizeof said, NULL);
  if (!gpu) FAIL("%s", said);
  return gpu;
}

static void close_fake(struct gpu *gpu) {
  gpu_close(gpu);
  fake_driver_check(fake);
}

static struct settings small(uint32_t consumers, size_t bytes) {
  return (struct settings){.consumers = consumers,
                           .cycles = 3,
                           .bytes = bytes,
                           .limit = 20 * test_slowdown(),
                           .seed = 7};
}

static const struct pace no_pace = {.times = {1, 1, 1}};

static const struct pattern *pattern_named(const char *name) {
  for (size_t i = 0; i < pattern_count; i++)
    if (strcmp(patterns[i]->name, name) == 0) return patterns[i];
  FAIL("there is no %s", name);
}

/* Bit for bit as alone; one block, and three of which the last is not full. */
TEST(each_pattern_is_right_in_each_way) {
  struct gpu *gpu = open_fake();
  uint32_t runs = 0;
  for (size_t p = 0; p < pattern_count; p++) {
    for (uint32_t w = 0; w < GPU_WAY_COUNT && patterns[p]->gpu; w++)
      for (uint32_t consumers = 1; consumers <= 17; consumers += 16) {
        struct settings s = small(consumers, 4096);
        struct outcome out;
        gpu_run(gpu, patterns[p], &gpu_ways[w], &s, &no_pace, PLANT_NOTHING, &out);
        if (!out.good) FAIL("%s, %s: %s", patterns[p]->name, gpu_ways[w].name, out.said);
        CHECK_EQ_U64(out.messages, consumers * 3 * patterns[p]->down);
        runs++;
      }
  }
  CHECK_EQ_U64(runs, 5 * GPU_WAY_COUNT * 2);
  close_fake(gpu);
}

/* So long that a block has room for three consumers' data. */
TEST(long_messages_fit) {
  struct gpu *gpu = open_fake();
  struct settings s = small(4, 65536);
  struct outcome out;
  gpu_run(gpu, pattern_named("C_SRS"), &gpu_ways[3], &s, &no_pace, PLANT_NOTHING, &out);
  if (!out.good) FAIL("%s", out.said);
  s.bytes = 1048576; /* and none */
  gpu_run(gpu, pattern_named("C_SRS"), &gpu_ways[3], &s, &no_pace, PLANT_NOTHING, &out);
  CHECK(!out.good && strstr(out.said, "do not fit"));
  gpu_run(gpu, pattern_named("C_FE"), &gpu_ways[3], &s, &no_pace, PLANT_NOTHING, &out);
  CHECK(!out.good && strstr(out.said, "no consumers for a GPU"));
  close_fake(gpu);
}

/* Work that is stretched is done several times, and comes to the same. */
TEST(stretched_work_comes_to_the_same) {
  struct gpu *gpu = open_fake();
  struct settings s = small(2, 4096);
  s.us[C1] = s.us[C2] = 300;
  for (size_t p = 0; p < pattern_count; p++) {
    struct outcome out;
    if (!patterns[p]->gpu) continue;
    gpu_run(gpu, patterns[p], &gpu_ways[3], &s, &no_pace, PLANT_NOTHING, &out);
    if (!out.good) FAIL("%s: %s", patterns[p]->name, out.said);
  }
  close_fake(gpu);
}

/* Data of the cycle before, or data that is given before it is written, is found by the check. */
TEST(wrong_data_is_found) {
  struct gpu *gpu = open_fake();
  static const enum plant plants[] = {PLANT_STALE, PLANT_EARLY};
  for (size_t p = 0; p < pattern_count; p++)
    for (uint32_t w = 0; w < GPU_WAY_COUNT && patterns[p]->gpu; w++)
      for (int i = 0; i < 2; i++) {
        struct settings s = small(3, 4096);
        struct outcome out;
        gpu_run(gpu, patterns[p], &gpu_ways[w], &s, &no_pace, plants[i], &out);
        if (out.good) FAIL("%s, %s: plant %d is not found", patterns[p]->name, gpu_ways[w].name, i);
        CHECK(strstr(out.said, "differs at byte"));
      }
  close_fake(gpu);
}

static bool gives_up(struct run *r) {
  (void)r;
  return false;
}

/* Gives nothing, until all is over. */
static bool never_gives(struct run *r) {
  while (!atomic_load(&r->exchange.over)) usleep(1000);
  return false;
}

/* Whoever waits is told; nobody hangs, in any way. */
TEST(a_producer_that_gives_up_ends_all) {
  struct gpu *gpu = open_fake();
  for (uint32_t w = 0; w < GPU_WAY_COUNT; w++) {
    struct pattern pattern = *pattern_named("G_STN");
    struct settings s = small(5, 4096);
    struct outcome out;
    pattern.produce = gives_up;
    gpu_run(gpu, &pattern, &gpu_ways[w], &s, &no_pace, PLANT_NOTHING, &out);
    CHECK(!out.good);
    CHECK_EQ_STR(out.said, "a consumer or the producer gave up");
  }
  close_fake(gpu);
}

/* The device's own deadline: the kernel ends by itself, and says who had no data. A stream that
 * waits has none: the host's ends it, and that it did is said. */
TEST(a_producer_that_never_gives_meets_the_deadline) {
  struct gpu *gpu = open_fake();
  for (uint32_t w = 0; w < GPU_WAY_COUNT; w++) {
    struct pattern pattern = *pattern_named("G_KMN");
    struct settings s = small(2, 4096);
    struct outcome out;
    pattern.produce = never_gives;
    s.limit = 1;
    gpu_run(gpu, &pattern, &gpu_ways[w], &s, &no_pace, PLANT_NOTHING, &out);
    CHECK(!out.good);
  }
  close_fake(gpu);
}

/* Whatever call of the driver fails: no hang, nothing left, and it is said. */
TEST(any_call_may_fail) {
  struct settings s = small(2, 4096);
  for (uint32_t w = 0; w < GPU_WAY_COUNT; w++) {
    struct gpu *gpu = open_fake();
    for (uint32_t k = 1;; k++) {
      struct outcome out;
      uint32_t before = tide_load_acquire(&fake->live);
      tide_store_ordered(&fake->calls, 0u);
      tide_store_ordered(&fake->fail_with, 2u);
      tide_store_ordered(&fake->fail_at, k);
      gpu_run(gpu, pattern_named("G_GEM"), &gpu_ways[w], &s, &no_pace, PLANT_NOTHING, &out);
      tide_store_ordered(&fake->fail_at, 0u);
      if (!out.good) CHECK(out.said[0] != 0);
      if (tide_load_acquire(&fake->live) != before)
        FAIL("%s, call %u: something is left", gpu_ways[w].name, k);
      if (tide_load_acquire(&fake->calls) < k) break;
    }
    close_fake(gpu);
  }
}

TEST(waiting_warps_and_working_ones) {
  struct gpu *gpu = open_fake();
  char said[128] = "";
  for (uint32_t w = 0; w < GPU_WAY_COUNT; w++)
    for (uint32_t waiters = 0; waiters <= 2; waiters++) {
      struct gpu_slowing out;
      if (!gpu_interfere(gpu, &gpu_ways[w], 1, waiters, 100, &out, said, sizeof said))
        FAIL("%s: %s", gpu_ways[w].name, said);
      CHECK(out.clocks > 0);
      CHECK((out.looks > 0) == (waiters > 0 && strcmp(gpu_ways[w].name, "split") != 0));
    }
  close_fake(gpu);
}

/* ---- the waits themselves, one thread for all warps ---- */

/* The first thread has given up at tag 2: a warp that still stands at tag 1 has that, and comes to
 * the barrier of tag 2; nobody comes to another. */
TEST(a_slow_warp_has_what_came_before_the_end) {
  struct gpu_shared shared = {.gave_up = 2};
  struct host_block block = {.lock = PTHREAD_MUTEX_INITIALIZER};
  uint32_t over = 0;
  struct gpu_warp w = {
      .shared = &shared, .index = 1, .consumers = 1, .way = GPU_FIRST, .over = &over};
  host_block = &block;
  CHECK(gpu_wait_first(&w, 1, NULL, NULL));
  CHECK(!gpu_wait_first(&w, 2, NULL, NULL));
}

struct two_tags {
  uint32_t words[2], data[8], copies[2][8];
};

static void name_two(const void *what, const struct gpu_warp *w, uint32_t index, uint32_t n,
                     struct gpu_tag *out_tag) {
  const struct two_tags *t = what;
  (void)w;
  *out_tag =
      (struct gpu_tag){&t->words[index], n, 32, t->data, (void *)(uintptr_t)t->copies[index]};
}

/* Nothing is copied before it is asked for and there; each phase once. After the deadline who waits
 * is told that it failed, and who leaves ends the monitor. */
TEST(the_monitor_completes_what_is_asked_for) {
  struct gpu_shared shared = {.asked = {0}};
  struct host_block block = {.lock = PTHREAD_MUTEX_INITIALIZER};
  static struct two_tags tags = {.words = {1, 1}, .data = {11, 12}};
  uint32_t over = 1; /* all is late, so that a monitor's round that finds nothing ends */
  struct gpu_warp w = {.shared = &shared, .consumers = 2, .over = &over, .deadline = UINT64_MAX};
  host_block = &block;
  gpu_begin(&w, 32);
  CHECK(!gpu_barrier_try(&shared.barrier[0], 0, 0));
  shared.asked[0] = 1;
  shared.asked[1] = GPU_GONE;
  /* One round by hand: what gpu_monitor does for a lane. */
  struct gpu_tag tag;
  name_two(&tags, &w, 0, 1, &tag);
  CHECK(gpu_tag_is_set(&tag));
  gpu_complete(&w, 0, &tag, false);
  CHECK(gpu_barrier_try(&shared.barrier[0], 0, 0) && !gpu_barrier_try(&shared.barrier[0], 1, 0));
  CHECK(tags.copies[0][0] == 11 && tags.copies[0][1] == 12 && tags.copies[1][0] == 0);
  CHECK(!shared.failed[0]);
  name_two(&tags, &w, 0, 2, &tag);
  CHECK(!gpu_tag_is_set(&tag));
  gpu_complete(&w, 0, &tag, true);
  CHECK(gpu_barrier_try(&shared.barrier[0], 1, 0) && shared.failed[0]);
  shared.asked[0] = GPU_GONE;
  gpu_monitor(&w, name_two, &tags);
}

TEST(a_gpu_that_is_there) {
  char said[256];
  bool none;
  struct gpu *gpu = gpu_open(NULL, said, sizeof said, &none);
  if (!gpu && none) SKIP("%s", said);
  if (!gpu) FAIL("%s", said);
  gpu_close(gpu);
  test_begin_again(); /* the driver stays loaded, and keeps descriptors and threads */
  gpu = gpu_open(NULL, said, sizeof said, NULL);
  for (size_t p = 0; p < pattern_count; p++)
    for (uint32_t w = 0; w < GPU_WAY_COUNT && patterns[p]->gpu; w++)
      for (uint32_t consumers = 4; consumers <= 64; consumers *= 4) {
        struct settings s = small(consumers, 4096);
        struct outcome out;
        gpu_run(gpu, patterns[p], &gpu_ways[w], &s, &no_pace, PLANT_NOTHING, &out);
        if (!out.good) FAIL("%s, %s: %s", patterns[p]->name, gpu_ways[w].name, out.said);
      }
  gpu_close(gpu);
}

TEST_MAIN(CASE(each_pattern_is_right_in_each_way), CASE(long_messages_fit),
          CASE(stretched_work_comes_to_the_same), CASE(wrong_data_is_found),
          CASE(a_producer_that_gives_up_ends_all),
          CASE_SECONDS(a_producer_that_never_gives_meets_the_deadline, 120),
          CASE(any_call_may_fail), CASE(waiting_warps_and_working_ones),
          CASE(a_slow_warp_has_what_came_before_the_end),
          CASE(the_monitor_completes_what_is_asked_for), CASE(a_gpu_that_is_there))
