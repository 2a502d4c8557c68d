/* Making and unmaking the devices: parameters, and what happens when there is no memory, thread or
 * descriptor left. Nothing stays behind. */
#include "rig.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* ---- an allocator and a platform that fail when told to ---- */

struct scarce {
  uint32_t allocations_left; /* then none; UINT32_MAX: no limit */
  uint32_t threads_left;
  int64_t live; /* bytes */
  const struct tide_platform *linux;
};

static void *scarce_alloc(void *self, size_t size, size_t align) {
  struct scarce *scarce = self;
  if (scarce->allocations_left == 0) return NULL;
  if (scarce->allocations_left != UINT32_MAX) scarce->allocations_left--;
  const struct tide_allocator *system = tide_allocator_system();
  void *memory = system->alloc(system->self, size, align);
  if (memory) scarce->live += (int64_t)size;
  return memory;
}

static void scarce_free(void *self, void *memory, size_t size) {
  struct scarce *scarce = self;
  const struct tide_allocator *system = tide_allocator_system();
  if (memory) scarce->live -= (int64_t)size;
  system->free(system->self, memory, size);
}

static struct scarce scarce_threads; /* the platform's functions get the platform's own self */

static enum tide_status scarce_spawn(void *self, const char *name, void (*entry)(void *),
                                     void *argument, struct tide_thread **out_thread) {
  if (scarce_threads.threads_left == 0) return TIDE_NOMEM;
  scarce_threads.threads_left--;
  return scarce_threads.linux->spawn(self, name, entry, argument, out_thread);
}

static uint32_t two_cores(void *self) {
  (void)self;
  return 2;
}

static struct tide_platform platform;
static struct tide_allocator allocator;
static struct tide_context *context;

static void open_context(struct scarce *scarce) {
  *scarce = (struct scarce){.allocations_left = UINT32_MAX};
  scarce_threads = (struct scarce){.threads_left = UINT32_MAX, .linux = tide_platform_linux()};
  platform = *tide_platform_linux();
  platform.spawn = scarce_spawn;
  platform.cores = two_cores;
  allocator = (struct tide_allocator){scarce_alloc, scarce_free, scarce};
  struct tide_context_params params = {
      .struct_size = sizeof params, .platform = &platform, .allocator = &allocator};
  CHECK_OK(tide_context_create(&params, &context));
}

static void close_context(struct scarce *scarce) {
  tide_context_destroy(context);
  CHECK_EQ_U64((uint64_t)scarce->live, 0);
}

TEST(parameters_have_limits_and_defaults) {
  struct scarce scarce;
  struct tide_device *cpu, *file;
  open_context(&scarce);
  struct tide_cpu_params too_many = {.struct_size = sizeof too_many, .workers = 257};
  CHECK_STATUS(tide_cpu_open(context, &too_many, &cpu), TIDE_INVALID);
  CHECK_OK(tide_cpu_open(context, NULL, &cpu));
  CHECK_EQ_U64(tide_cpu_workers(cpu), 1); /* one fewer than cores */
  CHECK_EQ_STR(tide_file_kind(cpu), "");
  CHECK(tide_device_backend(cpu)->in_order);
  CHECK(tide_device_backend(cpu)->domain == TIDE_DOMAIN_QUEUE);
  struct tide_file_params too_deep = {.struct_size = sizeof too_deep, .depth = 4097};
  CHECK_STATUS(tide_file_open(context, &too_deep, &file), TIDE_INVALID);
  struct tide_file_params deepest = {.struct_size = sizeof deepest, .depth = 4096};
  CHECK_OK(tide_file_open(context, &deepest, &file));
  CHECK_EQ_U64(tide_cpu_workers(file), 0);
  CHECK(!tide_device_backend(file)->in_order);
  CHECK(tide_device_backend(file)->domain == TIDE_DOMAIN_STORAGE);
  tide_device_close(NULL);
  tide_device_close(cpu);
  tide_device_close(file);
  close_context(&scarce);
}

/* Fields that an older or a newer caller has, or lacks. */
TEST(parameters_have_a_size) {
  struct newer {
    struct tide_cpu_params known;
    uint64_t unknown;
  } newer = {.known = {.struct_size = sizeof newer, .workers = 2}};
  struct scarce scarce;
  struct tide_device *cpu;
  open_context(&scarce);
  CHECK_STATUS(tide_cpu_open(context, &(struct tide_cpu_params){.workers = 2}, &cpu), TIDE_INVALID);
  CHECK_STATUS(tide_cpu_open(context, &(struct tide_cpu_params){.struct_size = 7}, &cpu),
               TIDE_INVALID);
  struct tide_cpu_params older = {
      .struct_size = offsetof(struct tide_cpu_params, workers), .label = "old", .workers = 400};
  CHECK_OK(tide_cpu_open(context, &older, &cpu));
  CHECK_EQ_U64(tide_cpu_workers(cpu), 1);
  CHECK_EQ_STR(tide_device_label(cpu), "old");
  tide_device_close(cpu);
  CHECK_OK(tide_cpu_open(context, &newer.known, &cpu));
  CHECK_EQ_U64(tide_cpu_workers(cpu), 2);
  tide_device_close(cpu);
  newer.unknown = 1;
  CHECK_STATUS(tide_cpu_open(context, &newer.known, &cpu), TIDE_UNSUPPORTED);
  close_context(&scarce);
}

/* Queues and devices that the user left go with their context. */
TEST(the_context_closes_its_devices) {
  struct scarce scarce;
  struct tide_device *cpu, *file;
  struct tide_queue *queue, *other;
  open_context(&scarce);
  CHECK_OK(tide_cpu_open(context, NULL, &cpu));
  CHECK_OK(tide_file_open(context, NULL, &file));
  CHECK_EQ_STR(tide_device_label(cpu), "cpu");
  CHECK_OK(tide_queue_create(cpu, NULL, &queue));
  CHECK_OK(tide_queue_create(file, NULL, &other));
  CHECK_OK(tide_queue_create(cpu, NULL, &other));
  tide_queue_destroy(other);
  close_context(&scarce);
}

TEST(no_memory_is_an_error_and_leaves_nothing) {
  struct scarce scarce;
  struct tide_device *device;
  open_context(&scarce);
  int64_t before = scarce.live;
  for (int kind = 0; kind < 3; kind++) {
    enum tide_status status = TIDE_NOMEM;
    for (uint32_t left = 0; status != TIDE_OK; left++) {
      struct tide_file_params params = {.struct_size = sizeof params, .force_threads = kind == 1};
      scarce.allocations_left = left;
      status = kind == 2 ? tide_cpu_open(context, NULL, &device)
                         : tide_file_open(context, &params, &device);
      scarce.allocations_left = UINT32_MAX;
      CHECK(left < 20 && (status == TIDE_OK || status == TIDE_NOMEM));
      if (status == TIDE_OK) tide_device_close(device);
      CHECK(scarce.live == before);
    }
  }
  close_context(&scarce);
}

TEST(no_threads_is_an_error_and_leaves_nothing) {
  struct scarce scarce;
  struct tide_device *device;
  open_context(&scarce);
  int64_t before = scarce.live;
  struct tide_cpu_params params = {.struct_size = sizeof params, .workers = 3};
  for (uint32_t left = 0; left < 3; left++) {
    scarce_threads.threads_left = left;
    CHECK_STATUS(tide_cpu_open(context, &params, &device), TIDE_NOMEM);
    CHECK(scarce.live == before);
  }
  scarce_threads.threads_left = 0;
  CHECK_STATUS(tide_file_open(context, NULL, &device), TIDE_NOMEM);
  CHECK(scarce.live == before);
  scarce_threads.threads_left = UINT32_MAX;
  CHECK_OK(tide_cpu_open(context, &params, &device));
  tide_device_close(device);
  close_context(&scarce);
}

TEST(no_descriptors_is_an_error) {
  struct scarce scarce;
  struct tide_device *file;
  open_context(&scarce);
  int next = dup(0);
  CHECK(next >= 0 && close(next) == 0);
  for (int more = 0; more < 2; more++) { /* none for the event; then none for the ring */
    struct rlimit limit = {(rlim_t)(next + more), 1024};
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    enum tide_status status = tide_file_open(context, NULL, &file);
    if (status == TIDE_OK) tide_device_close(file); /* threads, where rings are forbidden */
    else CHECK_STATUS(status, TIDE_FULL);
  }
  close_context(&scarce);
}

/* Nobody wakes while there is nothing to do: counted in voluntary switches, not in time. */
TEST(idle_devices_sleep) {
  struct scarce scarce;
  struct tide_device *device, *storage;
  open_context(&scarce);
  struct tide_cpu_params params = {.struct_size = sizeof params, .workers = 4};
  CHECK_OK(tide_cpu_open(context, &params, &device));
  CHECK_OK(tide_file_open(context, NULL, &storage));
  struct timespec nap = {0, 50000000};
  struct rusage before, after;
  nanosleep(&nap, NULL);
  getrusage(RUSAGE_SELF, &before);
  nanosleep(&nap, NULL), nanosleep(&nap, NULL), nanosleep(&nap, NULL), nanosleep(&nap, NULL);
  getrusage(RUSAGE_SELF, &after);
  CHECK(after.ru_nvcsw - before.ru_nvcsw < 20); /* our four naps, and whatever the system does */
  tide_device_close(device);
  tide_device_close(storage);
  close_context(&scarce);
}

TEST_MAIN(CASE(parameters_have_limits_and_defaults), CASE(parameters_have_a_size),
          CASE(the_context_closes_its_devices), CASE(no_memory_is_an_error_and_leaves_nothing),
          CASE(no_threads_is_an_error_and_leaves_nothing), CASE(no_descriptors_is_an_error),
          CASE(idle_devices_sleep))
