/* Opening a Vulkan device: what it says where it cannot. */
#define VK_NO_PROTOTYPES
#include "harness.h"

#include "tidemark/tidemark.h"
#include "tidemark/vulkan.h"

#include <stdlib.h>
#include <string.h>

static struct tide_context *context;
static struct tide_diag diag;

static enum tide_status open_with(struct tide_vulkan_params params) {
  struct tide_device *device = NULL;
  params.struct_size = sizeof params;
  diag.text[0] = 0;
  enum tide_status status = tide_vulkan_open(context, &params, &device, &diag);
  CHECK((status == TIDE_OK) == (device != NULL));
  return status;
}
#define OPEN(...) open_with((struct tide_vulkan_params){__VA_ARGS__})

/* True if the text has both parts. */
static bool says(const char *part, const char *more) {
  return strstr(diag.text, part) && strstr(diag.text, more);
}

static void open_context(void) { CHECK_OK(tide_context_create(NULL, &context)); }

static void need_driver(void) {
  if (test_slowdown() > 1) SKIP("a Vulkan driver under a sanitizer");
  open_context();
  if (OPEN(.ahead = 1) != TIDE_OK) SKIP("%s", diag.text);
}

TEST(wrong_parameters) {
  struct tide_device *device;
  struct tide_vulkan_params none = {.struct_size = 0};
  open_context();
  CHECK_STATUS(tide_vulkan_open(context, &none, &device, &diag), TIDE_INVALID);
  CHECK(says("struct_size", "tide_vulkan_params"));
  CHECK_STATUS(OPEN(.ahead = TIDE_VULKAN_AHEAD_MOST + 1), TIDE_INVALID);
  CHECK(says("at most 1024", "not 1025"));
  CHECK_STATUS(OPEN(.hardware_queues = TIDE_HARDWARE_QUEUES_MAX + 1), TIDE_INVALID);
  CHECK(says("1 to 8 VkQueues", "not 9"));
  VkInstance instance = (VkInstance)(uintptr_t)&diag;
  CHECK_STATUS(OPEN(.instance = instance), TIDE_INVALID);
  CHECK(says("1 to 8 VkQueues", "not 0"));
  CHECK_STATUS(OPEN(.instance = instance, .queue_count = 1), TIDE_INVALID);
  CHECK(says("physical_device", "queues"));
  VkQueue queue = (VkQueue)(uintptr_t)&context;
  const struct tide_vulkan_queue twice[] = {{queue, 0}, {queue, 0}};
  CHECK_STATUS(OPEN(.instance = instance, .physical_device = (VkPhysicalDevice)(uintptr_t)&diag,
                    .device = (VkDevice)(uintptr_t)&diag, .queues = twice, .queue_count = 2),
               TIDE_INVALID);
  CHECK(says("VkQueues 0 and 1", "the same"));
  tide_context_destroy(context);
}

TEST(no_driver) {
  CHECK(setenv("VK_DRIVER_FILES", "/dev/null", 1) == 0);
  CHECK(setenv("VK_ICD_FILENAMES", "/dev/null", 1) == 0);
  open_context();
  CHECK_STATUS(OPEN(.ahead = 1), TIDE_UNSUPPORTED);
  CHECK(says("there is no Vulkan", ""));
  tide_context_destroy(context);
}

TEST(no_such_device) {
  need_driver();
  CHECK_STATUS(OPEN(.name = "no such name"), TIDE_NOT_FOUND);
  CHECK(says("no Vulkan device's name contains", "no such name"));
  tide_context_destroy(context);
}

/* The context closes the device, and another one can be opened. */
TEST(a_device_has_handles) {
  need_driver();
  tide_context_destroy(context);
  open_context();
  struct tide_device *device;
  struct tide_vulkan_info info;
  CHECK_OK(tide_vulkan_open(context, NULL, &device, NULL));
  tide_vulkan_info(device, &info);
  CHECK(info.get_proc && info.instance && info.physical_device && info.device);
  CHECK(info.queue_count == 1 && info.queues[0].queue && info.name[0]);
  CHECK(info.get_proc(info.instance, "vkCreateBuffer") != NULL);
  tide_context_destroy(context);
}

static enum tide_status never(void *arguments) { return arguments ? TIDE_OK : TIDE_FAILED; }

/* Only bodies that record are taken. */
TEST(other_bodies_are_refused) {
  static const struct tide_body_class host = {.name = "host", .host = never};
  static const struct tide_vulkan_ops nothing = {{TIDE_OPS_VULKAN}, NULL};
  static const struct tide_body_class empty = {.name = "empty", .ops = &nothing.ops};
  struct tide_device *device;
  struct tide_queue *queue;
  need_driver();
  CHECK_OK(tide_vulkan_open(context, NULL, &device, NULL));
  CHECK_OK(tide_queue_create(device, NULL, &queue));
  CHECK_STATUS(tide_queue_submit(queue, &(struct tide_operation){.body = &host}, NULL, NULL),
               TIDE_UNSUPPORTED);
  CHECK_STATUS(tide_queue_submit(queue, &(struct tide_operation){.body = &empty}, NULL, NULL),
               TIDE_UNSUPPORTED);
  tide_context_destroy(context);
}

TEST_MAIN(CASE(wrong_parameters), CASE(no_driver), CASE(no_such_device), CASE(a_device_has_handles),
          CASE(other_bodies_are_refused))
