/* Vulkan drivers that a device cannot use: each gives an error with a sentence, and leaves nothing.
 */
#include "harness.h"

#include "vulkan_recorder.h"

#include "tidemark/tidemark.h"

#include <stdio.h>
#include <string.h>

static struct tide_diag diag;

/* Opens a device, and closes it again. */
static enum tide_status try_open(const struct recorder_params *how, const char *name) {
  struct tide_vulkan_params params;
  struct tide_context *context;
  struct tide_device *device = NULL;
  diag.text[0] = 0;
  recorder_open(how, &params);
  if (name) params.name = name;
  CHECK_OK(tide_context_create(NULL, &context));
  enum tide_status status = tide_vulkan_open(context, &params, &device, &diag);
  CHECK((status == TIDE_OK) == (device != NULL));
  tide_context_destroy(context);
  const char *fault = recorder_close();
  if (fault) FAIL("%s", fault);
  return status;
}

static void check(enum tide_status status, enum tide_status wanted, const char *sentence) {
  if (status != wanted || strcmp(diag.text, sentence))
    FAIL("%s: \"%s\", not \"%s\"", tide_status_name(status), diag.text, sentence);
}

#define NAME RECORDER_NAME

struct refusal {
  struct recorder_machine machine;
  uint32_t vk_queues;
  const char *name;
  enum tide_status status;
  const char *sentence;
};

static const struct refusal refusals[] = {
    {{.version = VK_API_VERSION_1_1},
     1,
     NULL,
     TIDE_UNSUPPORTED,
     "no Vulkan device named of calls has timeline semaphores"},
    {{.has_no_timelines = true},
     1,
     NULL,
     TIDE_UNSUPPORTED,
     "no Vulkan device named of calls has timeline semaphores"},
    {{.has_no_devices = true}, 1, NULL, TIDE_UNSUPPORTED, "no Vulkan driver has a device"},
    {{.flags = {VK_QUEUE_GRAPHICS_BIT, VK_QUEUE_TRANSFER_BIT}, .queues = {8, 8}},
     1,
     NULL,
     TIDE_NOT_FOUND,
     NAME " has at most 0 VkQueues for compute, not 1"},
    {{.flags = {VK_QUEUE_COMPUTE_BIT, VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT},
      .queues = {3, 2}},
     4,
     NULL,
     TIDE_NOT_FOUND,
     NAME " has at most 3 VkQueues for compute, not 4"},
    {{.version = 0},
     1,
     "of calles",
     TIDE_NOT_FOUND,
     "no Vulkan device's name contains 'of calles'"},
};

static void try_refusals(enum recorder_way way) {
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
    const struct refusal *refusal = &refusals[i];
    struct recorder_params how = {
        .queue_count = refusal->vk_queues, .ahead = 1, .way = way, .machine = refusal->machine};
    check(try_open(&how, refusal->name), refusal->status, refusal->sentence);
  }
}

/* Every error that vkCreateDevice may give. */
static void try_errors(enum recorder_way way) {
  static const struct {
    VkResult result;
    enum tide_status status;
    const char *name;
  } errors[] = {{VK_ERROR_OUT_OF_HOST_MEMORY, TIDE_NOMEM, "OUT_OF_HOST_MEMORY"},
                {VK_ERROR_OUT_OF_DEVICE_MEMORY, TIDE_NOMEM, "OUT_OF_DEVICE_MEMORY"},
                {VK_ERROR_INITIALIZATION_FAILED, TIDE_UNSUPPORTED, "INITIALIZATION_FAILED"},
                {VK_ERROR_EXTENSION_NOT_PRESENT, TIDE_UNSUPPORTED, "EXTENSION_NOT_PRESENT"},
                {VK_ERROR_FEATURE_NOT_PRESENT, TIDE_UNSUPPORTED, "FEATURE_NOT_PRESENT"},
                {VK_ERROR_TOO_MANY_OBJECTS, TIDE_NOMEM, "TOO_MANY_OBJECTS"},
                {VK_ERROR_DEVICE_LOST, TIDE_LOST, "DEVICE_LOST"},
                {VK_ERROR_UNKNOWN, TIDE_FAILED, "UNKNOWN"}};
  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
    char sentence[128];
    struct recorder_params how = {
        .queue_count = 1, .ahead = 1, .way = way, .machine.refuses_device = errors[i].result};
    snprintf(sentence, sizeof sentence,
             "creating a VkDevice: the Vulkan driver answers VK_ERROR_%s", errors[i].name);
    check(try_open(&how, NULL), errors[i].status, sentence);
  }
}

TEST(machines) {
  try_refusals(RECORDER_BY_NAME);
  try_errors(RECORDER_BY_NAME);
  struct recorder_params old = {.queue_count = 1,
                                .ahead = 1,
                                .way = RECORDER_BY_NAME,
                                .machine.loader_version = VK_API_VERSION_1_1};
  check(try_open(&old, NULL), TIDE_UNSUPPORTED, "the Vulkan loader has version 1.1, not 1.2");
}

TEST(machines_through_the_loader) {
  const char *reason = recorder_find_loader();
  if (reason) SKIP("%s", reason);
  try_refusals(RECORDER_BY_LOADER);
  try_errors(RECORDER_BY_LOADER);
}

TEST(adopted_without_timelines) {
  struct recorder_params none = {.queue_count = 2, .ahead = 1, .machine.has_no_timelines = true};
  check(try_open(&none, NULL), TIDE_UNSUPPORTED,
        NAME " has no timeline semaphores, or the VkInstance's apiVersion is below 1.1");
  struct recorder_params disabled = {
      .queue_count = 2, .ahead = 1, .machine.enables_no_timelines = true};
  check(try_open(&disabled, NULL), TIDE_FAILED,
        "creating a timeline semaphore: the Vulkan driver answers VK_ERROR_UNKNOWN");
  struct recorder_params of_1_1 = {
      .queue_count = 2, .ahead = 1, .machine.version = VK_API_VERSION_1_1};
  check(try_open(&of_1_1, NULL), TIDE_OK, "");
}

/* A function is missing: the first one that is looked up, the second one … */
static void hide_each_function(enum recorder_way way) {
  for (uint64_t n = 1;; n++) {
    struct recorder_params how = {.queue_count = 1, .ahead = 1, .way = way, .hide = n};
    enum tide_status status = try_open(&how, NULL);
    const char *hidden = recorder_hidden();
    if (!hidden) break;
    bool is_needed = !strstr(hidden, "EXT") && !strstr(hidden, "KHR");
    if (status != (is_needed ? TIDE_UNSUPPORTED : TIDE_OK))
      FAIL("without %s: %s", hidden, tide_status_name(status));
    if (is_needed && !strstr(diag.text, hidden)) FAIL("without %s: \"%s\"", hidden, diag.text);
  }
  CHECK_OK(try_open(&(struct recorder_params){.queue_count = 1, .ahead = 1, .way = way}, NULL));
}

TEST(missing_functions) {
  hide_each_function(RECORDER_ADOPTED);
  hide_each_function(RECORDER_BY_NAME);
}

TEST_MAIN(CASE(machines), CASE(machines_through_the_loader), CASE(adopted_without_timelines),
          CASE(missing_functions))
