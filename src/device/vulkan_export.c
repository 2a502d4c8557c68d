/* Exports: semaphores that the host signals once a timeline has reached a value, or has failed. */
#include "device/vulkan_device.h"

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/check.h"
#include "base/text.h"
#include "tidemark/timeline.h"

/* A semaphore with exports. The fields are guarded by the device's `semaphores`. */
struct outlet {
  struct tide_link link;
  struct tide_link exports; /* not signalled yet, in the order of their numbers */
  VkSemaphore semaphore;
  uint64_t newest;    /* the largest number so far */
  uint32_t users;     /* calls of tide_vulkan_export that use it */
  bool has_signaller; /* a thread signals for the due exports */
};

struct export {
  struct tide_timepoint timepoint;
  struct tide_link link;
  struct tide_vulkan *vulkan;
  struct outlet *outlet;
  uint64_t number;
  bool is_added; /* tide_timepoint_add has returned */
  bool is_due;   /* the timepoint's call has run, or was cancelled */
};

static struct export *export_of(struct tide_link *link) {
  return TIDE_CONTAINER(link, struct export, link);
}
static struct outlet *outlet_of(struct tide_link *link) {
  return TIDE_CONTAINER(link, struct outlet, link);
}

static void take_lock(struct tide_vulkan *vulkan) {
  tide_lock_take(&vulkan->semaphores, vulkan->context->platform);
}

/* ---- signalling -------------------------------------------------------------------------- */

/* Moves the exports that are due, and behind none that is not, to a list. */
static void take_due(struct outlet *outlet, struct tide_link *out_list) {
  tide_list_init(out_list);
  while (!tide_list_empty(&outlet->exports)) {
    struct export *first = export_of(outlet->exports.next);
    if (!first->is_due || !first->is_added) return;
    tide_list_remove(&first->link);
    tide_list_push_back(out_list, &first->link);
  }
}

/* Without memory a driver is asked again: an application may wait for the signal. Any other error
 * loses the device. */
static void signal_semaphore(struct tide_vulkan *vulkan, VkSemaphore semaphore, uint64_t number) {
  const struct tide_platform *platform = vulkan->context->platform;
  const VkSemaphoreSignalInfo info = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = semaphore, .value = number};
  VkResult result;
  do {
    result = vulkan->driver.SignalSemaphore(vulkan->driver.device, &info);
    if (result == VK_SUCCESS) return;
    platform->yield(platform->self);
  } while ((result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY) &&
           !tide_load_acquire(&vulkan->lost));
  if (!tide_load_acquire(&vulkan->lost)) tide_vulkan_note_loss(vulkan, result);
}

/* Frees exports, and counts them off. The last touch: then the device may be gone. */
static void free_exports(struct tide_context *context, uint32_t *left, struct tide_link *list) {
  const struct tide_platform *platform = context->platform;
  uint32_t count = 0;
  for (struct tide_link *link; (link = tide_list_pop_front(list)); count++)
    tide_free(context->allocator, export_of(link), 1, sizeof(struct export));
  if (count && tide_fetch_sub(left, count) == count) platform->wake(platform->self, left, 1);
}

/* Signals for the exports that are due. The lock is held, and given back. A thread that finds
 * another one signalling leaves its export to that, and touches the device no more. */
static void signal_due(struct tide_vulkan *vulkan, struct outlet *outlet) {
  struct tide_context *context = vulkan->context;
  struct tide_link due, over;
  tide_list_init(&over);
  bool is_mine = !outlet->has_signaller;
  for (; is_mine; take_lock(vulkan)) {
    take_due(outlet, &due);
    outlet->has_signaller = !tide_list_empty(&due);
    if (!outlet->has_signaller) break;
    uint64_t number = export_of(due.prev)->number; /* and with it all lower ones */
    tide_lock_give(&vulkan->semaphores);
    signal_semaphore(vulkan, outlet->semaphore, number);
    for (struct tide_link *link; (link = tide_list_pop_front(&due));)
      tide_list_push_back(&over, link);
  }
  bool is_last = is_mine && tide_list_empty(&outlet->exports) && !outlet->users;
  if (is_last) tide_list_remove(&outlet->link);
  tide_lock_give(&vulkan->semaphores);
  if (is_last) tide_free(context->allocator, outlet, 1, sizeof *outlet);
  free_exports(context, &vulkan->exports, &over);
}

static void on_value(struct tide_timepoint *timepoint, enum tide_status status) {
  struct export *export = TIDE_CONTAINER(timepoint, struct export, timepoint);
  struct tide_vulkan *vulkan = export->vulkan;
  (void)status;
  take_lock(vulkan);
  export->is_due = true;
  signal_due(vulkan, export->outlet);
}

/* ---- exporting --------------------------------------------------------------------------- */

/* Finds the semaphore's outlet, or takes *spare for it. The lock is held. */
static struct outlet *find_outlet(struct tide_vulkan *vulkan, VkSemaphore semaphore,
                                  struct outlet **spare) {
  struct tide_link *all = &vulkan->outlets;
  for (struct tide_link *at = all->next; at != all; at = at->next)
    if (outlet_of(at)->semaphore == semaphore) return outlet_of(at);
  struct outlet *outlet = *spare;
  *spare = NULL;
  outlet->semaphore = semaphore;
  tide_list_init(&outlet->exports);
  tide_list_push_back(all, &outlet->link);
  return outlet;
}

/* Adds the export to its outlet, unless its number is not the largest. The outlet is in use, so
 * its `newest` never falls. */
static enum tide_status add_export(struct export *export, struct tide_diag *diag) {
  struct tide_vulkan *vulkan = export->vulkan;
  struct outlet *outlet = export->outlet;
  uint64_t value;
  VkResult result =
      vulkan->driver.GetSemaphoreCounterValue(vulkan->driver.device, outlet->semaphore, &value);
  if (result == VK_ERROR_DEVICE_LOST) tide_vulkan_note_loss(vulkan, result);
  enum tide_status status = tide_vulkan_explain(diag, result, "reading a semaphore");
  if (status != TIDE_OK) return status;
  take_lock(vulkan);
  if (value > outlet->newest) outlet->newest = value;
  uint64_t newest = outlet->newest;
  bool goes_up = export->number > newest;
  if (goes_up) {
    outlet->newest = export->number;
    tide_list_push_back(&outlet->exports, &export->link);
    tide_fetch_add(&vulkan->exports, 1u);
  }
  tide_lock_give(&vulkan->semaphores);
  if (goes_up) return TIDE_OK;
  return tide_diag_set(diag, TIDE_VALUE, "the semaphore has or will have %lu, so no export has %lu",
                       (unsigned long)newest, (unsigned long)export->number);
}

/* True if the timepoint's call will not come. An export that is not added yet is left alone. */
static void cut_short(struct export *export) {
  if (export->is_added && !export->is_due && tide_timepoint_cancel(&export->timepoint))
    export->is_due = true;
}

/* Adds the timepoint. The device may have been lost since. */
static void begin_export(struct export *export) {
  struct tide_vulkan *vulkan = export->vulkan;
  enum tide_status status = tide_timepoint_add(&export->timepoint);
  TIDE_ASSERT(status == TIDE_OK);
  take_lock(vulkan);
  export->is_added = true;
  if (tide_load_acquire(&vulkan->lost)) cut_short(export);
  tide_lock_give(&vulkan->semaphores);
}

static enum tide_status check_export(struct tide_vulkan *vulkan,
                                     const struct tide_timeline *timeline, VkSemaphore semaphore,
                                     uint64_t number, struct tide_diag *diag) {
  if (!timeline || !semaphore)
    return tide_diag_set(diag, TIDE_INVALID, "an export needs a timeline and a semaphore");
  if (tide_timeline_scope(timeline) < TIDE_SCOPE_PROCESS)
    return tide_diag_set(diag, TIDE_SCOPE, "the scope of timeline '%s' is %s, not process",
                         tide_timeline_label(timeline),
                         tide_scope_name(tide_timeline_scope(timeline)));
  if (number == UINT64_MAX)
    return tide_diag_set(diag, TIDE_VALUE,
                         "UINT64_MAX is the value of a lost VkDevice's semaphores");
  if (tide_load_acquire(&vulkan->lost))
    return tide_diag_set(diag, TIDE_LOST, "the VkDevice is lost");
  return TIDE_OK;
}

enum tide_status tide_vulkan_export(struct tide_device *device, struct tide_timeline *timeline,
                                    uint64_t value, VkSemaphore semaphore, uint64_t semaphore_value,
                                    struct tide_diag *diag) {
  struct tide_vulkan *vulkan = tide_vulkan_of(device);
  const struct tide_allocator *a = vulkan->context->allocator;
  enum tide_status status = check_export(vulkan, timeline, semaphore, semaphore_value, diag);
  if (status != TIDE_OK) return status;
  struct export *export = tide_alloc(a, 1, sizeof *export);
  struct outlet *spare = tide_alloc(a, 1, sizeof *spare);
  if (!export || !spare) {
    tide_free(a, export, 1, sizeof *export);
    tide_free(a, spare, 1, sizeof *spare);
    return tide_diag_set(diag, TIDE_NOMEM, "no memory for an export");
  }
  *export = (struct export){.timepoint = {.timeline = timeline, .value = value, .call = on_value},
                            .vulkan = vulkan,
                            .number = semaphore_value};
  take_lock(vulkan);
  struct outlet *outlet = export->outlet = find_outlet(vulkan, semaphore, &spare);
  outlet->users++;
  tide_lock_give(&vulkan->semaphores);
  tide_free(a, spare, 1, sizeof *spare);
  status = add_export(export, diag);
  if (status == TIDE_OK) begin_export(export);
  else tide_free(a, export, 1, sizeof *export);
  take_lock(vulkan);
  outlet->users--;
  signal_due(vulkan, outlet);
  return status;
}

/* ---- the end ----------------------------------------------------------------------------- */

/* Returns an outlet with exports that can be cut short, which are due now; NULL: none is left. The
 * lock is held. */
static struct outlet *cut_outlet(struct tide_vulkan *vulkan) {
  struct tide_link *all = &vulkan->outlets;
  for (struct tide_link *at = all->next; at != all; at = at->next) {
    struct outlet *outlet = outlet_of(at);
    for (struct tide_link *e = outlet->exports.next; e != &outlet->exports; e = e->next)
      cut_short(export_of(e));
    bool is_ready = !tide_list_empty(&outlet->exports) && export_of(outlet->exports.next)->is_due &&
                    export_of(outlet->exports.next)->is_added;
    if (is_ready && !outlet->has_signaller) return outlet;
  }
  return NULL;
}

void tide_vulkan_exports_lose(struct tide_vulkan *vulkan) {
  struct outlet *outlet;
  for (take_lock(vulkan); (outlet = cut_outlet(vulkan)); take_lock(vulkan))
    signal_due(vulkan, outlet);
  tide_lock_give(&vulkan->semaphores);
}

void tide_vulkan_exports_end(struct tide_vulkan *vulkan) {
  const struct tide_platform *platform = vulkan->context->platform;
  uint32_t left;
  tide_vulkan_exports_lose(vulkan);
  while ((left = tide_load_acquire(&vulkan->exports)))
    platform->wait(platform->self, &vulkan->exports, left, TIDE_FOREVER);
}
