/* Memory that the host shares with a Vulkan device. */
#include "vulkan_rig.h"

/* A driver that imports no memory of the host. */
static PFN_vkVoidFunction hide_imports(const char *name, PFN_vkVoidFunction found) {
  return strcmp(name, "vkGetMemoryHostPointerPropertiesEXT") ? found : NULL;
}

/* ---- copies --------------------------------------------------------------------------- */

struct copy {
  void *to;
  const void *from;
  size_t size;
};
static enum tide_status record_copy(const void *arguments, struct tide_device *gpu,
                                    VkCommandBuffer commands) {
  const struct copy *c = arguments;
  return tide_vulkan_copy(gpu, commands, c->to, c->from, c->size);
}
static const struct tide_vulkan_ops copy_ops = {{TIDE_OPS_VULKAN}, record_copy};
static const struct tide_body_class copy_class = {.name = "copy", .ops = &copy_ops.ops};

static enum tide_status copy(void *to, const void *from, size_t size,
                             struct tide_failure *out_failure) {
  struct copy c = {to, from, size};
  return run(&copy_class, &c, sizeof c, out_failure);
}

static void check_copy(unsigned char *to, const unsigned char *from, size_t size) {
  struct tide_failure failure;
  CHECK_OK(copy(to, from, size, &failure));
  CHECK(!memcmp(to, from, size));
}

TEST(shared_memory_is_the_same) {
  open_rig();
  CHECK_OK(tide_vulkan_share(rig.gpu, rig.memory, SIZE, NULL));
  for (size_t i = 0; i < SIZE; i++) rig.memory[i] = (unsigned char)(i * 7 + i / 256);
  check_copy(rig.memory + SIZE / 2, rig.memory, SIZE / 2);
  rig.memory[5] = 77; /* the host's newer writes are seen */
  check_copy(rig.memory + SIZE / 2 + 3, rig.memory + 1, 1001);
  CHECK(rig.memory[SIZE / 2 + 7] == 77);
  check_copy(rig.memory + 1, rig.memory, 1); /* neighbours */
  check_copy(rig.memory, rig.memory + SIZE - 1, 0);
  close_rig();
}

TEST(wrong_copies_fail) {
  struct tide_failure failure;
  char elsewhere[8] = {0};
  open_rig();
  CHECK_OK(tide_vulkan_share(rig.gpu, rig.memory, SIZE, NULL));
  CHECK_STATUS(copy(rig.memory, elsewhere, 8, &failure), TIDE_NOT_FOUND);
  CHECK(strstr(failure.text, "copy: 8 bytes at 0x") && strstr(failure.text, "not shared"));
  CHECK_STATUS(copy(elsewhere, rig.memory, 8, &failure), TIDE_NOT_FOUND);
  CHECK_STATUS(copy(rig.memory, rig.memory + SIZE - 8, 9, &failure), TIDE_NOT_FOUND);
  CHECK_STATUS(copy(rig.memory + 7, rig.memory, 8, &failure), TIDE_INVALID);
  CHECK(strstr(failure.text, "overlap"));
  CHECK_STATUS(copy(rig.memory, rig.memory, SIZE_MAX, &failure), TIDE_INVALID);
  check_copy(rig.memory + 8, rig.memory, 8); /* the device goes on */
  close_rig();
}

/* Two VkDevices take turns on the same memory: the host carries each wait from one to the other. */
TEST(two_devices_share_memory) {
  struct tide_device *gpus[2];
  struct tide_queue *queues[2];
  const uint64_t rounds = 50;
  open_rig();
  gpus[0] = rig.gpu, queues[0] = rig.queue;
  CHECK_OK(tide_vulkan_open(rig.context, NULL, &gpus[1], NULL));
  CHECK_OK(tide_queue_create(gpus[1], NULL, &queues[1]));
  for (int i = 0; i < 2; i++) CHECK_OK(tide_vulkan_share(gpus[i], rig.memory, SIZE, NULL));
  memset(rig.memory, 3, 64);
  for (uint64_t i = 0; i < rounds; i++) {
    struct copy c = {rig.memory + 64 * (i + 1), rig.memory + 64 * i, 64};
    struct tide_operation operation = {.body = &copy_class,
                                       TIDE_ARGUMENTS(c),
                                       TIDE_WAITS({rig.done, i}),
                                       TIDE_SIGNALS(TIDE_SIGNAL(rig.done, i + 1))};
    CHECK_OK(tide_queue_submit(queues[i % 2], &operation, NULL, NULL));
  }
  CHECK_OK(tide_timeline_wait(rig.done, rounds, TIDE_FOREVER));
  CHECK(!memcmp(rig.memory, rig.memory + 64 * rounds, 64));
  tide_queue_destroy(queues[1]);
  tide_device_close(gpus[1]);
  close_rig();
}

/* ---- sharing -------------------------------------------------------------------------- */

static enum tide_status find(size_t offset, size_t size, struct tide_vulkan_range *out_range) {
  return tide_vulkan_find(rig.gpu, rig.memory + offset, size, out_range);
}

TEST(blocks_are_found) {
  struct tide_vulkan_range first, second;
  open_rig();
  size_t page = rig.info.share_alignment;
  CHECK_STATUS(find(0, 1, &first), TIDE_NOT_FOUND);
  CHECK_OK(tide_vulkan_share(rig.gpu, rig.memory + 4 * page, page, NULL));
  CHECK_OK(tide_vulkan_share(rig.gpu, rig.memory, page, NULL));
  CHECK_OK(tide_vulkan_share(rig.gpu, rig.memory + page, 2 * page, NULL));
  CHECK_OK(find(0, page, &first));
  CHECK_OK(find(page + 3, 2 * page - 3, &second));
  CHECK(first.buffer != second.buffer && first.offset == 0 && second.offset == 3);
  CHECK_STATUS(find(0, page + 1, &first), TIDE_NOT_FOUND); /* two blocks */
  CHECK_STATUS(find(3 * page, 1, &first), TIDE_NOT_FOUND);
  CHECK_OK(find(5 * page - 1, 1, &first));
  CHECK_STATUS(find(5 * page - 1, 2, &first), TIDE_NOT_FOUND);
  CHECK_STATUS(find(page, SIZE_MAX, &first), TIDE_NOT_FOUND);
  tide_vulkan_unshare(rig.gpu, rig.memory);
  tide_vulkan_unshare(rig.gpu, NULL);
  CHECK_STATUS(find(0, 1, &first), TIDE_NOT_FOUND);
  CHECK_OK(find(page, 1, &first));
  close_rig();
}

TEST(wrong_sharing) {
  struct tide_diag diag;
  open_rig();
  size_t page = rig.info.share_alignment;
  CHECK(page > 1);
  CHECK_STATUS(tide_vulkan_share(rig.gpu, rig.memory + 1, page, &diag), TIDE_INVALID);
  CHECK(strstr(diag.text, "a multiple of"));
  CHECK_STATUS(tide_vulkan_share(rig.gpu, rig.memory, page + 1, &diag), TIDE_INVALID);
  CHECK_STATUS(tide_vulkan_share(rig.gpu, rig.memory, 0, &diag), TIDE_INVALID);
  CHECK_STATUS(tide_vulkan_share(rig.gpu, NULL, page, &diag), TIDE_INVALID);
  CHECK(strstr(diag.text, "there is no memory"));
  unsigned char *last = (unsigned char *)(uintptr_t)(0 - page);
  CHECK_STATUS(tide_vulkan_share(rig.gpu, last, page, &diag), TIDE_INVALID);
  CHECK_STATUS(tide_vulkan_share(rig.gpu, last, 2 * page, &diag), TIDE_INVALID);
  CHECK_OK(tide_vulkan_share(rig.gpu, rig.memory + page, page, &diag));
  CHECK_STATUS(tide_vulkan_share(rig.gpu, rig.memory, 2 * page, &diag), TIDE_INVALID);
  CHECK(strstr(diag.text, "shared already"));
  CHECK_STATUS(tide_vulkan_share(rig.gpu, rig.memory + page, page, &diag), TIDE_INVALID);
  CHECK_OK(tide_vulkan_share(rig.gpu, rig.memory, page, &diag));
  close_rig();
}

TEST(no_imports) {
  struct tide_diag diag;
  open_rig_with(hide_imports, false);
  CHECK(!rig.info.share_alignment);
  CHECK_STATUS(tide_vulkan_share(rig.gpu, rig.memory, SIZE, &diag), TIDE_UNSUPPORTED);
  CHECK(strstr(diag.text, "VK_EXT_external_memory_host"));
  close_rig();
}

/* ---- pools ---------------------------------------------------------------------------- */

/* A pool of shared memory: what the host writes the GPU copies, across chunks, again and again. */
static void check_pool(void) {
  struct tide_pool_params params = {
      .struct_size = sizeof params, .source = tide_vulkan_memory(rig.gpu), .chunk = 1 << 16};
  struct tide_pool *pool;
  CHECK_OK(tide_pool_create(rig.context, &params, &pool));
  for (unsigned round = 0; round < 30; round++) {
    struct tide_buffer *from, *to;
    size_t size = 1 + round * 12345;
    CHECK_OK(tide_queue_alloc(rig.queue, pool, size, "from", &from));
    CHECK_OK(tide_queue_alloc(rig.queue, pool, size, "to", &to));
    memset(tide_buffer_data(from), (int)round + 1, size);
    check_copy(tide_buffer_data(to), tide_buffer_data(from), size);
    tide_queue_free(rig.queue, from);
    tide_queue_free(rig.queue, to);
  }
  CHECK_OK(tide_pool_destroy(pool));
}

TEST(pool_of_imported_memory) {
  open_rig();
  check_pool();
  close_rig();
}
TEST(pool_of_the_drivers_memory) {
  open_rig_with(hide_imports, false);
  CHECK(!rig.info.share_alignment);
  check_pool();
  close_rig();
}

static void submit_copy(struct tide_queue *queue, struct tide_buffer *buffer, const void *from) {
  struct copy c = {tide_buffer_data(buffer), from, tide_buffer_size(buffer)};
  struct tide_operation operation = {
      .body = &copy_class, TIDE_ARGUMENTS(c), TIDE_USES({buffer, TIDE_WRITE, 0, 0})};
  CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
}

/* Memory that one queue has freed is another's before its last use has even started. */
static void check_gap(bool keep_on_host) {
  open_rig_with(NULL, keep_on_host);
  CHECK_OK(tide_vulkan_share(rig.gpu, rig.memory, SIZE, NULL));
  memset(rig.memory, 1, 4096);
  memset(rig.memory + 4096, 2, 4096);
  struct tide_pool_params params = {.struct_size = sizeof params,
                                    .source = tide_vulkan_memory(rig.gpu),
                                    .chunk = 4096,
                                    .limit = 4096};
  struct tide_pool *pool;
  struct tide_queue *second;
  struct tide_buffer *before, *after;
  struct tide_context_stats stats;
  CHECK_OK(tide_pool_create(rig.context, &params, &pool));
  CHECK_OK(tide_queue_create(rig.gpu, NULL, &second));
  tide_context_pause(rig.context);
  CHECK_OK(tide_queue_alloc(rig.queue, pool, 4096, "before", &before));
  submit_copy(rig.queue, before, rig.memory);
  tide_queue_free(rig.queue, before);
  CHECK_OK(tide_queue_alloc(second, pool, 4096, "after", &after));
  submit_copy(second, after, rig.memory + 4096);
  tide_context_resume(rig.context);
  CHECK_OK(tide_queue_drain(second, TIDE_FOREVER));
  tide_context_stats(rig.context, &stats);
  CHECK_EQ_U64(stats.waits_by_device, keep_on_host ? 0 : 1);
  CHECK(!memcmp(tide_buffer_data(after), rig.memory + 4096, 4096));
  tide_queue_free(second, after);
  CHECK_OK(tide_pool_destroy(pool));
  tide_queue_destroy(second);
  close_rig();
}
TEST(gaps_are_closed_by_the_device) { check_gap(false); }
TEST(gaps_are_closed_by_the_host) { check_gap(true); }

TEST_MAIN(CASE(shared_memory_is_the_same), CASE(wrong_copies_fail), CASE(two_devices_share_memory),
          CASE(blocks_are_found), CASE(wrong_sharing), CASE(no_imports),
          CASE(pool_of_imported_memory), CASE(pool_of_the_drivers_memory),
          CASE(gaps_are_closed_by_the_device), CASE(gaps_are_closed_by_the_host))
