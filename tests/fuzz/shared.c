/* A region of shared timelines that somebody hostile writes: attach, look, wait and record.
 *
 * The first byte chooses: the bytes are the whole region, or lie over a good one from its first
 * slot on. More bytes come in whenever a reader sleeps, and go anywhere: what it has looked at
 * changes. The region ends where its memory ends, so a read beyond it is seen. */
#include "base/check.h"
#include "base/alloc.h"
#include "timeline/shared_layout.h"

#include <stdlib.h>

enum { LEASE = 5, SLOTS = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
  unsigned char *region;
  size_t region_size;
  const uint8_t *data;
  size_t left;
  uint64_t now;
};

static uint64_t world_now(void *self) { return ((struct world *)self)->now; }

/* Three bytes: where, and what. Time goes on, so that every wait ends. */
static void world_wait(void *self, const struct tide_word *words, uint32_t count,
                       uint64_t deadline) {
  struct world *world = self;
  TIDE_ASSERT(count >= 1 && count <= 128);
  for (uint32_t i = 0; i < count; i++) {
    const unsigned char *word = (const unsigned char *)words[i].word;
    TIDE_ASSERT(word >= world->region && word + 4 <= world->region + world->region_size);
  }
  world->now += 10;
  if (world->left < 3) {
    world->now = deadline;
    return;
  }
  size_t at = (world->data[0] | (size_t)world->data[1] << 8) % world->region_size;
  world->region[at] = world->data[2];
  world->data += 3;
  world->left -= 3;
}

static bool is_answer(enum tide_status status) { return (unsigned)status < TIDE_STATUS_COUNT; }

static void check_record(const struct tide_shared *view, uint32_t slot, uint32_t generation,
                         uint64_t value, uint8_t capacity) {
  TIDE_FRONTIER_STORAGE(got, 255);
  struct tide_record_info info = {0};
  tide_frontier_init(&got.frontier, capacity);
  enum tide_status status = tide_shared_record(view, slot, generation, value, &got.frontier, &info);
  TIDE_ASSERT(is_answer(status));
  TIDE_ASSERT(tide_frontier_validate(&got.frontier, NULL) == TIDE_OK);
  if (status != TIDE_OK || info.external) {
    TIDE_ASSERT(got.frontier.count == 0 && got.frontier.tainted);
    return;
  }
  TIDE_ASSERT(info.value >= value && info.value <= tide_shared_value(view, slot));
  TIDE_ASSERT(info.axis != 0 && info.epoch != 0);
  TIDE_ASSERT(tide_frontier_get(&got.frontier, info.axis) >= info.epoch);
}

static void read_all(const struct tide_shared *view, struct world *world) {
  static const uint64_t values[] = {0, 1, 2, 3, 5, UINT64_MAX};
  struct tide_shared_point points[SLOTS + 1];
  for (uint32_t slot = 0; slot <= SLOTS; slot++) {
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
      enum tide_status looked = tide_shared_look(view, slot, 1, values[i]);
      TIDE_ASSERT(is_answer(looked));
      check_record(view, slot, 1, values[i], (uint8_t)(1 + 100 * (i % 3)));
      enum tide_status waited =
          tide_shared_wait(view, slot, 1, values[i], world->now + (i % 2 ? 30 : 0));
      TIDE_ASSERT(is_answer(waited) && (looked == TIDE_TIMEOUT || looked == waited));
    }
    points[slot] = (struct tide_shared_point){view, slot, 1, 4};
  }
  size_t index = 0;
  TIDE_ASSERT(is_answer(tide_shared_wait_any(points, SLOTS, world->now + 50, &index)));
  TIDE_ASSERT(index < SLOTS);
}

/* The reaper believes as little. */
static void bury(struct tide_shared *view) {
  TIDE_ASSERT(tide_shared_reap(view, TIDE_OWNER_DIED) == TIDE_OK);
  for (uint32_t slot = 0; slot < view->shape.count && slot < SLOTS; slot++)
    TIDE_ASSERT(tide_shared_look(view, slot, 1, UINT64_MAX) != TIDE_TIMEOUT);
}

static void make_good(struct world *world, const struct tide_platform *platform) {
  static const struct tide_shared_shape shape = {SLOTS, 3, 4};
  struct tide_shared_params params = {.struct_size = sizeof params, platform, true, LEASE};
  struct tide_shared owner;
  TIDE_FRONTIER_STORAGE(known, 4);
  TIDE_ASSERT(tide_shared_format(world->region, world->region_size, &shape) == TIDE_OK);
  TIDE_ASSERT(tide_shared_attach(&owner, world->region, world->region_size, &params) == TIDE_OK);
  for (uint32_t slot = 0; slot < SLOTS; slot++) {
    TIDE_ASSERT(tide_shared_open(&owner, slot, 1, 0) == TIDE_OK);
    for (uint64_t value = 1; value <= slot + 1; value++) {
      tide_axis axis = tide_axis_make(1, TIDE_DOMAIN_HOST, value);
      tide_frontier_init(&known.frontier, 4);
      tide_frontier_insert_or_raise(&known.frontier, axis, value, NULL);
      tide_frontier_insert_or_raise(&known.frontier, axis + 1, 9, NULL);
      TIDE_ASSERT(tide_shared_signal(&owner, slot, value, &known.frontier, axis, value) == TIDE_OK);
    }
  }
}

/* {where, byte}: over the good region, or all of it. */
static void lay_over(struct world *world, bool whole) {
  if (whole) {
    size_t most = world->left < world->region_size ? world->left : world->region_size;
    memcpy(world->region, world->data, most);
    world->data += most;
    world->left -= most;
    return;
  }
  size_t changes = world->left / 6; /* the rest comes while readers sleep */
  for (size_t i = 0; i < changes; i++, world->data += 3, world->left -= 3) {
    size_t at = world->data[0] | (size_t)world->data[1] << 8;
    world->region[64 + at % (world->region_size - 64)] = world->data[2];
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const struct tide_shared_shape shape = {SLOTS, 3, 4};
  if (size < 2) return 0;
  struct world world = {
      .region_size = tide_shared_size(&shape), .data = data + 1, .left = size - 1};
  world.region = aligned_alloc(64, world.region_size);
  memset(world.region, 0, world.region_size);
  struct tide_platform platform = {.now = world_now, .wait_shared = world_wait, .self = &world};
  bool whole = data[0] & 1;
  if (!whole) make_good(&world, &platform);
  lay_over(&world, whole);
  struct tide_shared_params params = {.struct_size = sizeof params, &platform, false, LEASE};
  struct tide_shared view;
  if (tide_shared_attach(&view, world.region, world.region_size, &params) == TIDE_OK) {
    read_all(&view, &world);
    view.writable = true;
    bury(&view);
  } else {
    TIDE_ASSERT(whole);
  }
  free(world.region);
  return 0;
}
