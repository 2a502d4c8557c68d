/* Imported semaphores, as backings of timelines: each has a thread that listens while a value of
 * its timeline is awaited. */
#include "device/vulkan_device.h"

#include "base/alloc.h"
#include "base/text.h"
#include "timeline/timeline_state.h"

struct tide_vulkan_import {
  struct tide_link link;
  struct tide_vulkan *vulkan;
  VkSemaphore semaphore;
  struct tide_timeline *timeline;
  struct tide_thread *thread;
  uint32_t news; /* atomic, waited on: 1 once a waiter has queued; the thread clears it */
  uint32_t stop; /* atomic */
};

static struct tide_vulkan_import *import_of(struct tide_link *link) {
  return TIDE_CONTAINER(link, struct tide_vulkan_import, link);
}

static void take_lock(struct tide_vulkan *vulkan) {
  tide_lock_take(&vulkan->semaphores, vulkan->context->platform);
}

static void wake_thread(struct tide_vulkan_import *import) {
  const struct tide_platform *platform = import->vulkan->context->platform;
  if (tide_exchange(&import->news, 1u) == 0) platform->wake(platform->self, &import->news, 1);
}

static void note_awaited(void *backing) { wake_thread(backing); }

static const struct tide_value_ops semaphore_ops = {.awaited = note_awaited,
                                                    .denied = TIDE_DENIED,
                                                    .signaller = "its semaphore",
                                                    .fails_on_release = true};

/* Signals a value that the semaphore has. Operations that wait for it become ready afterwards, so
 * their submission finds `imported` changed. */
static void raise_import(struct tide_vulkan_import *import, uint64_t value) {
  struct tide_timeline *timeline = import->timeline;
  if (value <= tide_timeline_query(timeline)) return;
  tide_fetch_add(&import->vulkan->imported, 1u);
  tide_timeline_raise_external(timeline, value);
}

static void import_main(void *argument) {
  struct tide_vulkan_import *import = argument;
  struct tide_vulkan *vulkan = import->vulkan;
  const struct tide_platform *platform = vulkan->context->platform;
  uint32_t *news = &import->news;
  for (;;) {
    uint64_t awaited, value;
    (void)tide_exchange(news, 0u); /* acquires the flags of the thread that set it */
    if (tide_load_acquire(&import->stop)) return;
    if (tide_load_acquire(&vulkan->lost)) break;
    if (!tide_timeline_awaited(import->timeline, &awaited))
      platform->wait(platform->self, news, 0, TIDE_FOREVER);
    else if (tide_vulkan_wait_semaphore(vulkan, import->semaphore, awaited, news, 0, &value))
      raise_import(import, value);
  }
  tide_timeline_end(import->timeline, TIDE_LOST);
}

/* ---- life -------------------------------------------------------------------------------- */

/* Frees an import, as far as it was made. Its thread has ended. */
static void free_import(struct tide_vulkan_import *import) {
  if (import->timeline) {
    tide_timeline_end(import->timeline, TIDE_CANCELLED);
    tide_timeline_leave_backing(import->timeline);
    tide_timeline_release(import->timeline);
  }
  tide_free(import->vulkan->context->allocator, import, 1, sizeof *import);
}

/* Ends an import that is in no list any more. */
static void end_import(struct tide_vulkan_import *import) {
  const struct tide_platform *platform = import->vulkan->context->platform;
  tide_store_release(&import->stop, 1u);
  wake_thread(import);
  platform->join(platform->self, import->thread);
  free_import(import);
}

/* Makes the timeline with the semaphore's value, and the thread. */
static enum tide_status fill_import(struct tide_vulkan_import *import, const char *label,
                                    struct tide_diag *diag) {
  struct tide_vulkan *vulkan = import->vulkan;
  const struct tide_platform *platform = vulkan->context->platform;
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  struct tide_timeline_params params = {.struct_size = sizeof params, .label = label};
  VkResult result =
      driver->GetSemaphoreCounterValue(driver->device, import->semaphore, &params.initial);
  if (result == VK_ERROR_DEVICE_LOST) tide_vulkan_note_loss(vulkan, result);
  enum tide_status status = tide_vulkan_explain(diag, result, "reading a semaphore");
  if (status != TIDE_OK) return status;
  if (params.initial == UINT64_MAX)
    return tide_diag_set(diag, TIDE_VALUE,
                         "the semaphore has UINT64_MAX, as that of a lost VkDevice");
  status = tide_timeline_create(vulkan->context, &params, &import->timeline);
  if (status != TIDE_OK) return tide_diag_set(diag, status, "no memory for a timeline");
  tide_fetch_add(&vulkan->imported, 1u); /* for what was written before the first value */
  tide_timeline_open_on(import->timeline, &semaphore_ops, import);
  status = platform->spawn(platform->self, "tide-vulkan-in", import_main, import, &import->thread);
  return status == TIDE_OK ? TIDE_OK : tide_diag_set(diag, status, "no thread for an import");
}

enum tide_status tide_vulkan_import(struct tide_device *device, VkSemaphore semaphore,
                                    const char *label, struct tide_timeline **out_timeline,
                                    struct tide_diag *diag) {
  struct tide_vulkan *vulkan = tide_vulkan_of(device);
  if (!semaphore) return tide_diag_set(diag, TIDE_INVALID, "there is no semaphore to import");
  struct tide_vulkan_import *import = tide_alloc(vulkan->context->allocator, 1, sizeof *import);
  if (!import) return tide_diag_set(diag, TIDE_NOMEM, "no memory for an import");
  import->vulkan = vulkan;
  import->semaphore = semaphore;
  enum tide_status status = fill_import(import, label, diag);
  if (status != TIDE_OK) {
    free_import(import);
    return status;
  }
  take_lock(vulkan);
  tide_list_push_back(&vulkan->imports, &import->link);
  bool is_lost = tide_load_acquire(&vulkan->lost);
  if (is_lost) tide_list_remove(&import->link);
  tide_lock_give(&vulkan->semaphores);
  if (is_lost) {
    end_import(import);
    return tide_diag_set(diag, TIDE_LOST, "the VkDevice is lost");
  }
  *out_timeline = import->timeline;
  return TIDE_OK;
}

/* Finds the import of a timeline. `remove`: takes it off the list. NULL: there is none. */
static struct tide_vulkan_import *find_import(struct tide_vulkan *vulkan,
                                              const struct tide_timeline *timeline, bool remove) {
  struct tide_vulkan_import *found = NULL;
  take_lock(vulkan);
  for (struct tide_link *at = vulkan->imports.next; at != &vulkan->imports; at = at->next)
    if (import_of(at)->timeline == timeline) found = import_of(at);
  if (found && remove) tide_list_remove(&found->link);
  tide_lock_give(&vulkan->semaphores);
  return found;
}

uint64_t tide_vulkan_poll(struct tide_device *device, struct tide_timeline *timeline) {
  struct tide_vulkan *vulkan = tide_vulkan_of(device);
  struct tide_vulkan_import *import = find_import(vulkan, timeline, false);
  uint64_t value;
  TIDE_ASSERT(import);
  if (tide_vulkan_read_semaphore(vulkan, import->semaphore, 0, &value)) raise_import(import, value);
  return tide_timeline_query(timeline);
}

void tide_vulkan_release(struct tide_device *device, struct tide_timeline *timeline) {
  if (!timeline) return;
  struct tide_vulkan_import *import = find_import(tide_vulkan_of(device), timeline, true);
  TIDE_ASSERT(import);
  end_import(import);
}

void tide_vulkan_imports_lose(struct tide_vulkan *vulkan) {
  take_lock(vulkan);
  for (struct tide_link *at = vulkan->imports.next; at != &vulkan->imports; at = at->next)
    wake_thread(import_of(at));
  tide_lock_give(&vulkan->semaphores);
}

void tide_vulkan_imports_end(struct tide_vulkan *vulkan) {
  struct tide_link *link;
  do {
    take_lock(vulkan);
    link = tide_list_pop_front(&vulkan->imports);
    tide_lock_give(&vulkan->semaphores);
    if (link) end_import(import_of(link));
  } while (link);
}
