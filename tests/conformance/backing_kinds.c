/* The kinds of backings: see backing_kinds.h. */
#include "backing_kinds.h"

#include "unit/fake_vulkan.h"

#include "point/point_state.h"
#include "timeline/mirror.h"
#include "timeline/pending_value.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/eventfd.h>

static const char *const names[LINE_MOST + 1] = {"",   "v1", "v2", "v3", "v4",
                                                 "v5", "v6", "v7", "v8"};

/* ---- the host ring: an operation promises, a host signals other values --------------------- */

static void ring_open(struct line *line) {
  line->giver = fake_queue(&line->f, "giver");
  line->timeline = fake_timeline(&line->f, "line", false);
}
static void ring_promise(struct line *line, uint64_t value) {
  CHECK_OK(SUBMIT(line->giver, .label = names[value], SIGNALS({line->timeline, value})));
}
static void ring_bring(struct line *line, uint64_t value) {
  if (value <= line->promised) fake_run(&line->f, names[value]);
  else CHECK_OK(tide_timeline_signal_external(line->timeline, value));
}
static void ring_fail(struct line *line, uint64_t value) {
  fake_take(&line->f, names[value]);
  fake_give(&line->f, names[value], TIDE_IO);
}
static void giver_end(struct line *line) {
  fake_run_out(&line->f);
  tide_queue_destroy(line->giver);
}

/* ---- the progress of a queue ------------------------------------------------------------- */

static void progress_open(struct line *line) {
  line->giver = fake_queue(&line->f, "line");
  line->timeline = tide_queue_progress(line->giver);
  tide_timeline_retain(line->timeline);
}
static void progress_promise(struct line *line, uint64_t value) {
  CHECK_OK(SUBMIT(line->giver, .label = names[value]));
}
static void progress_bring(struct line *line, uint64_t value) {
  line_promise(line, value);
  fake_run(&line->f, names[value]);
}
/* What is promised is reached, also by an operation that fails. */
static void progress_fail(struct line *line, uint64_t value) {
  CHECK(value > line->promised);
  tide_queue_destroy(line->giver);
  line->giver = NULL;
}

/* ---- a future ---------------------------------------------------------------------------- */

static void future_open(struct line *line) {
  struct tide_points_params points = {.struct_size = sizeof points, .manual = true};
  CHECK_OK(tide_points_create(line->f.context, &points, &line->points));
  CHECK_OK(tide_client_create(line->points, NULL, &line->client));
  CHECK_OK(tide_future_create(line->client,
                              TIDE_PARAMS(tide_future_params, .label = "line", .capacity = 16),
                              &line->future));
  line->timeline = line->future->timeline;
  tide_timeline_retain(line->timeline);
}
static void future_promise(struct line *line, uint64_t value) {
  struct tide_point point;
  CHECK_OK(tide_future_promise(line->future, TIDE_FOREVER, &point));
  CHECK_EQ_U64(point.value, value);
}
static void future_bring(struct line *line, uint64_t value) {
  line_promise(line, value);
  CHECK_OK(tide_future_fulfil(line->future, value, NULL));
}
static void future_fail(struct line *line, uint64_t value) {
  CHECK_OK(tide_future_break(line->future, value, TIDE_IO));
}
static void future_end(struct line *line) {
  tide_client_destroy(line->client, TIDE_OK);
  tide_points_destroy(line->points);
}

/* ---- a mirror: what its home tells ------------------------------------------------------- */

#define HOME 2 /* the machine number of the home; this context's is 0 */

struct told {
  struct tide_mirror_record record;
  TIDE_FRONTIER_STORAGE(frontier, 2);
};

/* The home's operation n, of one queue, signals n. */
static tide_axis home_queue(void) { return tide_axis_make(HOME, TIDE_DOMAIN_QUEUE, 1); }
static struct tide_mirror_record tell_record(struct told *told, uint64_t value) {
  tide_axis axis = home_queue();
  tide_frontier_init(&told->frontier.frontier, 2);
  tide_frontier_insert_or_raise(&told->frontier.frontier, axis, value, NULL);
  return (struct tide_mirror_record){value, axis, value, &told->frontier.frontier};
}

static void tell_state(struct line *line, uint64_t reached, uint64_t fail_from) {
  static struct told told[LINE_MOST + 1];
  struct tide_mirror_record pending[LINE_MOST];
  struct tide_failure cause = {.status = TIDE_IO, .text = "the home's"};
  struct tide_mirror_state state = {.reached = reached,
                                    .fail_from = fail_from,
                                    .status = fail_from == UINT64_MAX ? TIDE_OK : TIDE_IO,
                                    .cause = fail_from == UINT64_MAX ? NULL : &cause,
                                    .pending = pending};
  struct tide_fired fired;
  if (reached) state.newest = tell_record(&told[0], reached);
  for (uint64_t value = reached + 1; value <= line->promised && value < fail_from; value++)
    pending[state.pending_count++] = tell_record(&told[value], value);
  tide_fired_init(&fired);
  CHECK_OK(tide_mirror_take(line->timeline, &state, &fired, NULL));
  tide_fired_run_calls(&fired, line->f.context);
}

static void mirror_open(struct line *line) {
  CHECK_OK(tide_mirror_create(line->f.context, "line", &line->timeline));
}
static void mirror_promise(struct line *line, uint64_t value) {
  CHECK_EQ_U64(value, line->promised);
  tell_state(line, line->reached, UINT64_MAX);
}
static void mirror_bring(struct line *line, uint64_t value) { tell_state(line, value, UINT64_MAX); }
/* The operation has failed, and is over. */
static void mirror_fail(struct line *line, uint64_t value) {
  tell_state(line, line->reached, value);
  CHECK_OK(tide_tracker_advance(line->f.context->tracker, home_queue(), value));
}

/* ---- descriptors, which signal a host ring ------------------------------------------------ */

static void descriptor_open(struct line *line) {
  line->timeline = fake_timeline(&line->f, "line", false);
}
static void descriptor_bring(struct line *line, uint64_t value) {
  int event = eventfd(1, EFD_CLOEXEC);
  CHECK_OK(tide_descriptor_signal(line->f.context, event, line->timeline, value, NULL));
  CHECK_OK(tide_timeline_wait(line->timeline, value, TIDE_FOREVER));
  close(event);
}
static void descriptor_fail(struct line *line, uint64_t value) {
  int ends[2];
  CHECK(pipe2(ends, O_CLOEXEC) == 0);
  CHECK_OK(tide_descriptor_signal(line->f.context, ends[0], line->timeline, value, NULL));
  close(ends[1]);
  CHECK_STATUS(tide_timeline_wait(line->timeline, value, TIDE_FOREVER), TIDE_IO);
  close(ends[0]);
}

/* ---- a timeline semaphore, of a driver without a GPU, or of the one that is installed -------- */

static void import_semaphore(struct line *line, VkSemaphore semaphore) {
  struct tide_diag diag = {.text = ""};
  enum tide_status status =
      tide_vulkan_import(line->gpu, semaphore, "line", &line->timeline, &diag);
  if (status != TIDE_OK) FAIL("%s", diag.text);
  tide_timeline_retain(line->timeline);
}
static void semaphore_open(struct line *line) {
  struct tide_vulkan_params params = fake_vulkan_params();
  CHECK_OK(tide_vulkan_open(line->f.context, &params, &line->gpu, NULL));
  line->semaphore = (void *)(uintptr_t)fake_semaphore_make(0);
  import_semaphore(line, (VkSemaphore)line->semaphore);
}
/* The semaphore has the value. A thread brings it if a waiter needs it, else the case's. */
static void take_value(struct line *line, uint64_t value) {
  uint64_t least;
  if (tide_timeline_awaited(line->timeline, &least) && least <= value)
    while (tide_timeline_query(line->timeline) < value) sched_yield();
  else CHECK_EQ_U64(tide_vulkan_poll(line->gpu, line->timeline), value);
}
static void semaphore_bring(struct line *line, uint64_t value) {
  fake_signal((VkSemaphore)line->semaphore, value);
  take_value(line, value);
}
static void semaphore_fail(struct line *line, uint64_t value) {
  (void)value;
  tide_device_close(line->gpu);
  line->gpu = NULL;
}
static void semaphore_end(struct line *line) { tide_device_close(line->gpu); }

static struct {
  struct tide_vulkan_info info;
  PFN_vkCreateSemaphore CreateSemaphore;
  PFN_vkDestroySemaphore DestroySemaphore;
  PFN_vkSignalSemaphore SignalSemaphore;
} vulkan;

static PFN_vkVoidFunction find_call(const char *name) {
  PFN_vkVoidFunction call = vulkan.info.get_proc(vulkan.info.instance, name);
  CHECK(call);
  return call;
}
static void vulkan_open(struct line *line) {
  const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                          .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  const VkSemaphoreCreateInfo create = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                        .pNext = &type};
  struct tide_diag diag = {.text = ""};
  VkSemaphore semaphore;
  if (test_slowdown() > 1) SKIP("a Vulkan driver under a sanitizer");
  enum tide_status status = tide_vulkan_open(line->f.context, NULL, &line->gpu, &diag);
  if (status == TIDE_UNSUPPORTED) SKIP("%s", diag.text);
  CHECK_OK(status);
  test_begin_again(); /* the driver keeps threads and descriptors */
  tide_vulkan_info(line->gpu, &vulkan.info);
  vulkan.CreateSemaphore = (PFN_vkCreateSemaphore)find_call("vkCreateSemaphore");
  vulkan.DestroySemaphore = (PFN_vkDestroySemaphore)find_call("vkDestroySemaphore");
  vulkan.SignalSemaphore = (PFN_vkSignalSemaphore)find_call("vkSignalSemaphore");
  CHECK(vulkan.CreateSemaphore(vulkan.info.device, &create, NULL, &semaphore) == VK_SUCCESS);
  line->semaphore = (void *)(uintptr_t)semaphore;
  import_semaphore(line, semaphore);
}
static void vulkan_bring(struct line *line, uint64_t value) {
  const VkSemaphoreSignalInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
                                      .semaphore = (VkSemaphore)(uintptr_t)line->semaphore,
                                      .value = value};
  CHECK(vulkan.SignalSemaphore(vulkan.info.device, &info) == VK_SUCCESS);
  take_value(line, value);
}
/* The import ends before its semaphore does. */
static void vulkan_fail(struct line *line, uint64_t value) {
  (void)value;
  tide_vulkan_release(line->gpu, line->timeline);
  vulkan.DestroySemaphore(vulkan.info.device, (VkSemaphore)(uintptr_t)line->semaphore, NULL);
  line->semaphore = NULL;
}
static void vulkan_end(struct line *line) {
  if (line->semaphore) vulkan_fail(line, 0);
  tide_device_close(line->gpu);
}

/* ---- the table --------------------------------------------------------------------------- */

const struct line_kind line_kinds[] = {
    {.name = "ring",
     .open = ring_open,
     .promise = ring_promise,
     .bring = ring_bring,
     .fail = ring_fail,
     .end = giver_end,
     .scope = TIDE_SCOPE_PROCESS,
     .unpromised = TIDE_TIMEOUT,
     .failed = TIDE_IO,
     .fails_promises = true,
     .fails_by_hosts = true,
     .is_released = true,
     .is_tracked = true,
     .awaited = "; 'v2' of queue 'giver' will signal 2"},
    {.name = "progress",
     .open = progress_open,
     .promise = progress_promise,
     .bring = progress_bring,
     .fail = progress_fail,
     .end = giver_end,
     .scope = TIDE_SCOPE_PROCESS,
     .unpromised = TIDE_TIMEOUT,
     .failed = TIDE_CANCELLED,
     .host_signal = TIDE_SCOPE,
     .operation_signal = TIDE_SCOPE,
     .is_tracked = true},
    {.name = "future",
     .open = future_open,
     .promise = future_promise,
     .bring = future_bring,
     .fail = future_fail,
     .end = future_end,
     .scope = TIDE_SCOPE_PROCESS,
     .unpromised = TIDE_NOT_FOUND,
     .failed = TIDE_IO,
     .fails_alone = true,
     .fails_promises = true,
     .host_signal = TIDE_SCOPE,
     .operation_signal = TIDE_UNSUPPORTED,
     .operation_wait = TIDE_UNSUPPORTED},
    {.name = "mirror",
     .open = mirror_open,
     .promise = mirror_promise,
     .bring = mirror_bring,
     .fail = mirror_fail,
     .scope = TIDE_SCOPE_SYSTEM,
     .unpromised = TIDE_TIMEOUT,
     .failed = TIDE_IO,
     .fails_promises = true,
     .is_released = true,
     .host_signal = TIDE_DENIED,
     .operation_signal = TIDE_DENIED,
     .is_tracked = true,
     .awaited = "; another machine has promised 2"},
    {.name = "descriptor",
     .open = descriptor_open,
     .bring = descriptor_bring,
     .fail = descriptor_fail,
     .scope = TIDE_SCOPE_PROCESS,
     .unpromised = TIDE_TIMEOUT,
     .failed = TIDE_IO,
     .fails_by_hosts = true,
     .is_released = true},
    {.name = "semaphore",
     .open = semaphore_open,
     .bring = semaphore_bring,
     .fail = semaphore_fail,
     .end = semaphore_end,
     .scope = TIDE_SCOPE_PROCESS,
     .unpromised = TIDE_TIMEOUT,
     .failed = TIDE_CANCELLED,
     .is_released = true,
     .host_signal = TIDE_DENIED,
     .operation_signal = TIDE_DENIED},
    {.name = "vulkan",
     .open = vulkan_open,
     .bring = vulkan_bring,
     .fail = vulkan_fail,
     .end = vulkan_end,
     .scope = TIDE_SCOPE_PROCESS,
     .unpromised = TIDE_TIMEOUT,
     .failed = TIDE_CANCELLED,
     .is_released = true,
     .host_signal = TIDE_DENIED,
     .operation_signal = TIDE_DENIED},
};
const size_t line_kind_count = sizeof line_kinds / sizeof line_kinds[0];

/* ---- for the cases ------------------------------------------------------------------------- */

/* As fake_open, without a sink. */
static void open_quietly(struct fake *f) {
  memset(f, 0, sizeof *f);
  CHECK_OK(tide_context_create(NULL, &f->context));
  f->backend =
      (struct tide_backend){.name = "fake", .in_order = true, .kick = fake_kick, .self = &f->kicks};
  f->other_backend = f->backend;
  f->other_backend.in_order = false;
  f->other_backend.domain = TIDE_DOMAIN_STORAGE;
  CHECK_OK(tide_device_open(f->context, &f->backend, "fake", &f->device));
  CHECK_OK(tide_device_open(f->context, &f->other_backend, "other", &f->other));
}

void line_open(struct line *line) {
  *line = (struct line){.kind = test_given()};
  open_quietly(&line->f);
  line->kind->open(line);
}

void line_close(struct line *line) {
  if (line->kind->end) line->kind->end(line);
  tide_timeline_release(line->timeline);
  fake_close(&line->f);
}

void line_release(struct line *line) {
  tide_timeline_release(line->timeline);
  if (line->semaphore) {
    if (line->kind->end == vulkan_end) vulkan_fail(line, 0);
    else tide_vulkan_release(line->gpu, line->timeline);
  }
  line->timeline = NULL;
}

void line_promise(struct line *line, uint64_t value) {
  while (line->promised < value) line->kind->promise(line, ++line->promised);
}

void line_allow(struct line *line, uint64_t value) {
  if (line->kind->unpromised == TIDE_NOT_FOUND) line_promise(line, value);
}

void line_bring(struct line *line, uint64_t value) {
  line->kind->bring(line, value);
  line->reached = value;
}
