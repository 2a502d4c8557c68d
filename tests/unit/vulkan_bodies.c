/* The built-in bodies on a Vulkan device leave the same bytes as on the host. */
#include "vulkan_rig.h"

#include "base/random.h"

#include <pthread.h>
#include <stdio.h>

#define BYTES ((size_t)1 << 22)
#define GUARD 64u /* bytes before the first slice, and behind the last */

/* The host's memory and the GPU's have the same slices at the same offsets. */
static struct {
  unsigned char *shared, *own;
  size_t used; /* bytes with slices and guards */
  struct tide_random random;
  struct tide_failure failure;
} slices;

/* The dispatches (d) and full barriers (b) that were recorded. */
static char recorded[64];
static PFN_vkCmdDispatch driver_dispatch;
static PFN_vkCmdPipelineBarrier driver_barrier;

static void note(char what) {
  size_t length = strlen(recorded);
  if (length + 1 < sizeof recorded) recorded[length] = what;
}

static void VKAPI_CALL noting_dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y,
                                       uint32_t z) {
  note('d');
  driver_dispatch(commands, x, y, z);
}

static void VKAPI_CALL noting_barrier(VkCommandBuffer commands, VkPipelineStageFlags from,
                                      VkPipelineStageFlags to, VkDependencyFlags flags,
                                      uint32_t count, const VkMemoryBarrier *memory,
                                      uint32_t buffer_count, const VkBufferMemoryBarrier *buffers,
                                      uint32_t image_count, const VkImageMemoryBarrier *images) {
  const VkAccessFlags all = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  if (from & to & VK_PIPELINE_STAGE_ALL_COMMANDS_BIT && count == 1 &&
      memory->srcAccessMask & VK_ACCESS_MEMORY_WRITE_BIT && (memory->dstAccessMask & all) == all)
    note('b');
  driver_barrier(commands, from, to, flags, count, memory, buffer_count, buffers, image_count,
                 images);
}

static PFN_vkVoidFunction note_calls(const char *name, PFN_vkVoidFunction found) {
  if (!strcmp(name, "vkCmdDispatch")) {
    driver_dispatch = (PFN_vkCmdDispatch)found;
    return (PFN_vkVoidFunction)noting_dispatch;
  }
  if (strcmp(name, "vkCmdPipelineBarrier") != 0) return found;
  driver_barrier = (PFN_vkCmdPipelineBarrier)found;
  return (PFN_vkVoidFunction)noting_barrier;
}

static void open_slices_with(rig_hook hook, uint64_t seed) {
  static unsigned char own[BYTES];
  open_rig_with(hook, false);
  const struct tide_memory_source *source = tide_vulkan_memory(rig.gpu);
  slices.shared = source->map(source->self, BYTES);
  CHECK(slices.shared);
  slices.own = own;
  slices.random.state = seed;
}
static void open_slices(uint64_t seed) { open_slices_with(NULL, seed); }

static void close_slices(void) {
  const struct tide_memory_source *source = tide_vulkan_memory(rig.gpu);
  source->unmap(source->self, slices.shared, BYTES);
  close_rig();
}

static size_t below(size_t limit) { return tide_random_below(&slices.random, limit); }

/* Returns a slice behind all others; often some of them share a word. */
static struct tide_argument slice(size_t size) {
  struct tide_argument made = {.data = slices.own + slices.used + below(9), .size = size};
  slices.used = (size_t)((unsigned char *)made.data - slices.own) + size;
  CHECK(slices.used + GUARD <= BYTES);
  return made;
}
static struct tide_argument integer(int64_t value) {
  return (struct tide_argument){.integer = value};
}

/* Starts a round: no slices. */
static void clear(void) { slices.used = GUARD + below(256); }

static void scatter(unsigned char *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)tide_random_next(&slices.random);
}

/* Runs the body on the GPU, with the slices of its memory. */
static enum tide_status run_body(const struct tide_body *body,
                                 const struct tide_argument *arguments) {
  struct tide_argument moved[TIDE_PARAMS_MAX];
  for (size_t i = 0; i < body->param_count; i++) {
    moved[i] = arguments[i];
    if (body->params[i].kind != TIDE_PARAM_INTEGER && arguments[i].data)
      moved[i].data = slices.shared + ((unsigned char *)arguments[i].data - slices.own);
  }
  return run(&body->class_, moved, (uint32_t)(body->param_count * sizeof moved[0]),
             &slices.failure);
}

static const struct tide_body *find(const char *name) {
  const struct tide_body *body = tide_kernel_find(name);
  CHECK(body && body->class_.ops && body->class_.ops->kind == TIDE_OPS_VULKAN);
  return body;
}

static void fail_at(const struct tide_body *body, const struct tide_argument *a, size_t at) {
  char text[256];
  size_t length = 0;
  for (size_t i = 0; i < body->param_count; i++)
    length += (size_t)(body->params[i].kind == TIDE_PARAM_INTEGER
                           ? snprintf(text + length, sizeof text - length, " %lld",
                                      (long long)a[i].integer)
                           : snprintf(text + length, sizeof text - length, " %zu bytes at %zu,",
                                      (size_t)a[i].size,
                                      (size_t)((unsigned char *)a[i].data - slices.own)));
  FAIL("%s%s: byte %zu is %u, not %u", body->class_.name, text, at, slices.shared[at],
       slices.own[at]);
}

/* Runs the body on both. All bytes are compared, those of the guards and of other slices, too. */
static void compare(const char *name, const struct tide_argument *arguments) {
  const struct tide_body *body = find(name);
  struct tide_argument copy[TIDE_PARAMS_MAX];
  memcpy(copy, arguments, body->param_count * sizeof copy[0]);
  memcpy(slices.shared, slices.own, slices.used + GUARD);
  CHECK_OK(body->class_.host(copy));
  CHECK_OK(run_body(body, arguments));
  for (size_t i = 0; i < slices.used + GUARD; i++)
    if (slices.shared[i] != slices.own[i]) fail_at(body, arguments, i);
}
#define SAME(name, ...)                                                                            \
  do {                                                                                             \
    scatter(slices.own, slices.used + GUARD);                                                      \
    compare(name, (struct tide_argument[TIDE_PARAMS_MAX]){__VA_ARGS__});                           \
  } while (0)

/* Mostly about words and their edges; some for several workgroups. */
static size_t some_size(size_t most) { return below(4) ? below(40) : below(most); }

TEST(fill_is_the_same) {
  open_slices(1);
  for (int round = 0; round < 300; round++) {
    clear();
    SAME("fill", slice(some_size(5000)), integer((int64_t)tide_random_next(&slices.random)));
  }
  clear();
  SAME("fill", slice(BYTES - 4 * GUARD - 300), integer(-1)); /* more words than invocations */
  close_slices();
}

TEST(copy_is_the_same) {
  open_slices(2);
  for (int round = 0; round < 200; round++) {
    clear();
    size_t size = some_size(5000);
    struct tide_argument from = slice(size), to = slice(size);
    SAME("copy", from, to);
  }
  close_slices();
}

static void check_stencil(size_t width, size_t height) {
  clear();
  struct tide_argument from = slice(width * height * 4), to = slice(from.size);
  SAME("stencil", from, to, integer((int64_t)width));
}

TEST(stencil_is_the_same) {
  open_slices(3);
  for (int round = 0; round < 200; round++) check_stencil(1 + some_size(200), below(9));
  for (size_t width = 1; width < 5; width++) check_stencil(width, 1000);
  check_stencil(777, 600);
  close_slices();
}

static void check_reduce(size_t words) {
  clear();
  struct tide_argument from = slice(words * 8), out = slice(8);
  if (below(2)) out = slice(8);
  SAME("reduce", from, out);
}

TEST(reduce_is_the_same) {
  open_slices(4);
  for (int round = 0; round < 300; round++) check_reduce(some_size(5000));
  check_reduce(BYTES / 8 - 100);
  close_slices();
}

/* Each addition carries. */
TEST(reduce_carries) {
  open_slices(5);
  for (size_t words = 1; words < 2000; words = words * 2 + 1) {
    clear();
    struct tide_argument from = slice(words * 8), out = slice(8);
    scatter(slices.own, slices.used + GUARD);
    memset(from.data, 255, from.size);
    compare("reduce", (struct tide_argument[TIDE_PARAMS_MAX]){from, out});
  }
  close_slices();
}

/* Its result is cleared first. CPUs run the commands of one VkQueue in order even without. */
TEST(reduce_has_a_barrier) {
  open_slices_with(note_calls, 13);
  check_reduce(1000);
  CHECK_EQ_STR(recorded, "dbd");
  close_slices();
}

static void check_blur(size_t width, size_t height, size_t radius, size_t channels) {
  clear();
  struct tide_argument from = slice(width * height * channels), to = slice(from.size);
  SAME("blur", from, to, integer((int64_t)width), integer((int64_t)radius),
       integer((int64_t)channels));
}

TEST(blur_is_the_same) {
  open_slices(6);
  for (size_t channels = 1; channels <= 4; channels++)
    for (int round = 0; round < 80; round++)
      check_blur(1 + below(40), below(30), below(4) ? below(4) : below(14), channels);
  for (size_t width = 1; width < 9; width++) check_blur(width, 300, 2, 1 + below(4));
  check_blur(640, 480, 3, 1);
  check_blur(301, 200, 5, 3);
  close_slices();
}

TEST(blur_is_the_same_at_all_radii) {
  open_slices(7);
  for (size_t radius = 1; radius <= 1024; radius += 1 + radius / 4)
    check_blur(1 + below(9), 1 + below(9), radius, 1 + below(4));
  check_blur(3, 2, 1024, 1);
  check_blur(700, 3, 300, 2);
  check_blur(9, 40, 1024, 4); /* more loops than llvmpipe would let one invocation run */
  check_blur(2, 700, 300, 1);
  check_blur(300, 1, 1024, 1); /* few rows, many columns */
  check_blur(200, 1, 300, 4);
  clear();
  struct tide_argument from = slice(8 * 8), to = slice(8 * 8);
  memset(slices.own, 255, slices.used + GUARD);
  compare("blur",
          (struct tide_argument[TIDE_PARAMS_MAX]){from, to, integer(8), integer(1024), integer(1)});
  close_slices();
}

/* Numbers whose products and sums are all rounded, and none of them denormal. */
static void check_gemm(size_t n) {
  clear();
  struct tide_argument a = slice(n * n * 4), b = slice(n * n * 4), c = slice(n * n * 4);
  scatter(slices.own, slices.used + GUARD);
  const struct tide_argument *all[] = {&a, &b, &c};
  for (size_t i = 0; i < 3; i++)
    for (size_t k = 0; k < n * n; k++) {
      float value = ((float)below(1u << 24) - (float)(1u << 23)) / 1e6f;
      memcpy((unsigned char *)all[i]->data + k * 4, &value, 4);
    }
  compare("gemm", (struct tide_argument[TIDE_PARAMS_MAX]){a, b, c, integer((int64_t)n)});
}

TEST(gemm_is_the_same) {
  open_slices(8);
  for (size_t n = 0; n < 70; n += 1 + n / 8)
    for (int round = 0; round < 3; round++) check_gemm(n);
  check_gemm(256);
  check_gemm(257);
  check_gemm(300);
  close_slices();
}

/* ---- wrong arguments ------------------------------------------------------------- */

#define REFUSED(name, ...) refuse(name, (struct tide_argument[TIDE_PARAMS_MAX]){__VA_ARGS__})
static void refuse(const char *name, const struct tide_argument *arguments) {
  const struct tide_body *body = find(name);
  struct tide_argument copy[TIDE_PARAMS_MAX];
  memcpy(copy, arguments, body->param_count * sizeof copy[0]);
  CHECK_STATUS(body->class_.host(copy), TIDE_INVALID);
  CHECK_STATUS(run_body(body, arguments), TIDE_INVALID);
}

TEST(wrong_arguments_are_refused) {
  open_slices(9);
  clear();
  struct tide_argument from = slice(64), to = slice(64), small = slice(63), none = slice(0);
  none.data = NULL;
  struct tide_argument nowhere = {.data = NULL, .size = 64};
  REFUSED("fill", nowhere, integer(0));
  REFUSED("copy", from, small);
  REFUSED("copy", nowhere, to);
  REFUSED("reduce", from, to);
  REFUSED("reduce", small, (struct tide_argument){.data = to.data, .size = 8});
  REFUSED("stencil", from, to, integer(3));
  REFUSED("stencil", from, to, integer(0));
  REFUSED("stencil", from, from, integer(4));
  REFUSED("stencil", none, to, integer(4));
  REFUSED("blur", from, to, integer(8), integer(-1), integer(1));
  REFUSED("blur", from, to, integer(8), integer(1025), integer(1));
  REFUSED("blur", from, to, integer(8), integer(1), integer(0));
  REFUSED("blur", from, to, integer(8), integer(1), integer(5));
  REFUSED("blur", from, to, integer(7), integer(1), integer(1));
  REFUSED("blur", from, small, integer(1), integer(1), integer(1));
  REFUSED("blur", from, from, integer(8), integer(1), integer(1));
  REFUSED("gemm", from, to, small, integer(4));
  REFUSED("gemm", from, to, from, integer(4));
  REFUSED("gemm", from, to, to, integer(4));
  REFUSED("gemm", none, none, none, integer(-1));
  close_slices();
}

/* Bodies of nothing need no memory. */
TEST(nothing_is_nothing) {
  open_slices(10);
  clear();
  struct tide_argument none = {.data = NULL};
  SAME("fill", none, integer(1));
  SAME("copy", none, none);
  SAME("stencil", none, none, integer(5));
  SAME("blur", none, none, integer(5), integer(1), integer(1));
  SAME("gemm", none, none, none, integer(0));
  close_slices();
}

/* What the host's bodies take and a GPU does not; nothing is written. */
TEST(slices_that_overlap) {
  open_slices(11);
  clear();
  struct tide_argument from = slice(64), to = {.data = (char *)from.data + 1, .size = 64};
  struct tide_argument inside = {.data = (char *)from.data + 9, .size = 8};
  slices.used += 1;
  scatter(slices.own, slices.used + GUARD);
  memcpy(slices.shared, slices.own, slices.used + GUARD);
  CHECK_STATUS(run_body(find("copy"), (struct tide_argument[]){from, to}), TIDE_UNSUPPORTED);
  CHECK(strstr(slices.failure.text, "copy: a GPU needs slices that do not overlap"));
  CHECK_STATUS(run_body(find("reduce"), (struct tide_argument[]){from, inside}), TIDE_UNSUPPORTED);
  CHECK(strstr(slices.failure.text, "reduce: a GPU needs slices that do not overlap"));
  CHECK(memcmp(slices.shared, slices.own, slices.used + GUARD) == 0);
  close_slices();
}

/* Sizes that the shaders do not count. */
/* ---- neighbours ---------------------------------------------------------------------- */

static void submit_fill(struct tide_queue *queue, struct tide_argument to, int64_t value,
                        struct tide_timeline *line, uint64_t end) {
  const struct tide_body *fill = find("fill");
  struct tide_argument arguments[TIDE_PARAMS_MAX] = {to, integer(value)};
  struct tide_operation operation = {.body = &fill->class_,
                                     .arguments = arguments,
                                     .arguments_size =
                                         (uint32_t)(fill->param_count * sizeof arguments[0]),
                                     TIDE_SIGNALS(TIDE_SIGNAL(line, end))};
  CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
}

/* Operations of two queues, which the GPU may run at once, fill slices that share words. */
TEST(operations_keep_each_others_bytes) {
  enum { EACH = 100, ROUNDS = 20 };
  struct tide_queue *queues[2];
  struct tide_timeline *lines[2];
  open_slices(14);
  for (int i = 0; i < 2; i++) {
    CHECK_OK(tide_queue_create(rig.gpu, NULL, &queues[i]));
    CHECK_OK(tide_timeline_create(rig.context, NULL, &lines[i]));
  }
  for (uint64_t round = 0; round < ROUNDS; round++) {
    clear();
    size_t first = slices.used;
    for (uint64_t i = 0; i < 2 * EACH; i++) {
      size_t size = 1 + below(7);
      struct tide_argument to = {.data = slices.shared + slices.used, .size = size};
      memset(slices.own + slices.used, (int)(i + round), size);
      submit_fill(queues[i % 2], to, (int64_t)(i + round), lines[i % 2], round * EACH + i / 2 + 1);
      slices.used += size;
    }
    for (int i = 0; i < 2; i++)
      CHECK_OK(tide_timeline_wait(lines[i], (round + 1) * EACH, TIDE_FOREVER));
    CHECK(memcmp(slices.shared + first, slices.own + first, slices.used - first) == 0);
  }
  for (int i = 0; i < 2; i++) {
    tide_timeline_destroy(lines[i]);
    tide_queue_destroy(queues[i]);
  }
  close_slices();
}

/* A thread of the host that writes bytes and reads them again, in words that a slice shares. */
static struct neighbour {
  volatile unsigned char *bytes[2];
  uint32_t stop; /* atomic */
  uint64_t lost;
} neighbour;

static void *write_bytes(void *argument) {
  (void)argument;
  for (unsigned char value = 1; !tide_load_acquire(&neighbour.stop); value++)
    for (int i = 0; i < 2; i++) {
      *neighbour.bytes[i] = value;
      for (int k = 0; k < 20; k++) tide_pause();
      neighbour.lost += *neighbour.bytes[i] != value;
    }
  return NULL;
}

/* The bytes before and behind the argument `out` are another's while the body runs. */
static void run_beside(const char *name, const struct tide_argument *arguments, size_t out) {
  pthread_t thread;
  unsigned char *data = slices.shared + ((unsigned char *)arguments[out].data - slices.own);
  neighbour = (struct neighbour){.bytes = {data - 1, data + arguments[out].size}};
  CHECK(pthread_create(&thread, NULL, write_bytes, NULL) == 0);
  for (int i = 0; i < 1500; i++) CHECK_OK(run_body(find(name), arguments));
  tide_store_release(&neighbour.stop, 1u);
  CHECK(pthread_join(thread, NULL) == 0);
  if (neighbour.lost) FAIL("%s: %llu bytes are lost", name, (unsigned long long)neighbour.lost);
}

/* Where the GPU's atomics are the processor's: there they show that the shaders use them. */
TEST(the_host_keeps_its_bytes) {
  VkPhysicalDeviceProperties properties;
  open_slices(13);
  PFN_vkGetPhysicalDeviceProperties get = (PFN_vkGetPhysicalDeviceProperties)rig.info.get_proc(
      rig.info.instance, "vkGetPhysicalDeviceProperties");
  get(rig.info.physical_device, &properties);
  if (properties.deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU)
    SKIP("%s may not write to a word at the same time as the host", rig.info.name);
  struct tide_argument out = {.data = slices.own + 1026, .size = 3};
  struct tide_argument sum = {.data = slices.own + 1026, .size = 8};
  struct tide_argument words = {.data = slices.own + 2050, .size = 800};
  struct tide_argument one = {.data = slices.own + 1026, .size = 4};
  struct tide_argument a = {.data = slices.own + 3050, .size = 4};
  struct tide_argument b = {.data = slices.own + 4050, .size = 4};
  run_beside("fill", (struct tide_argument[TIDE_PARAMS_MAX]){out, integer(5)}, 0);
  run_beside("reduce", (struct tide_argument[TIDE_PARAMS_MAX]){words, sum}, 1);
  run_beside("gemm", (struct tide_argument[TIDE_PARAMS_MAX]){a, b, one, integer(1)}, 2);
  close_slices();
}

TEST(slices_that_are_too_large) {
  open_slices(12);
  const size_t large = (size_t)1 << 32;
  struct tide_argument all = {.data = slices.own, .size = large};
  struct tide_argument other = {.data = slices.own + large, .size = large};
  struct tide_argument third = {.data = slices.own + 2 * large, .size = large};
  struct tide_argument sum = {.data = slices.own + 2 * large, .size = 8};
  const struct {
    const char *name, *says;
    struct tide_argument arguments[TIDE_PARAMS_MAX];
  } cases[] = {
      {"fill", "at most 4294967295 bytes, not 4294967296", {all, integer(0)}},
      {"reduce", "at most 4294967295", {all, sum}},
      {"stencil", "at most 4294967295", {all, other, integer(1)}},
      {"blur", "at most 536870911", {all, other, integer(1), integer(1), integer(1)}},
      {"gemm", "at most 4294967295", {all, other, third, integer(32768)}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    CHECK_STATUS(run_body(find(cases[i].name), cases[i].arguments), TIDE_UNSUPPORTED);
    CHECK(strstr(slices.failure.text, cases[i].says));
  }
  close_slices();
}

TEST_MAIN(CASE(fill_is_the_same), CASE(copy_is_the_same), CASE(stencil_is_the_same),
          CASE(reduce_is_the_same), CASE(reduce_carries), CASE(reduce_has_a_barrier),
          CASE(blur_is_the_same), CASE(blur_is_the_same_at_all_radii), CASE(gemm_is_the_same),
          CASE(wrong_arguments_are_refused), CASE(nothing_is_nothing), CASE(slices_that_overlap),
          CASE(operations_keep_each_others_bytes), CASE(the_host_keeps_its_bytes),
          CASE(slices_that_are_too_large))
