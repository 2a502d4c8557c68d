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
static struct tide_context context;
static struct tide_sched *sched;

static void open_context(struct scarce *scarce) {
  *scarce = (struct scarce){.allocations_left = UINT32_MAX};
  scarce_threads = (struct scarce){.threads_left = UINT32_MAX, .linux = tide_platform_linux()};
  platform = *tide_platform_linux();
  platform.spawn = scarce_spawn;
  platform.cores = two_cores;
  allocator = (struct tide_allocator){scarce_alloc, scarce_free, scarce};
  struct tide_context_params params = {.platform = &platform, .allocator = &allocator};
  CHECK_OK(tide_context_init(&context, &params));
  CHECK_OK(tide_sched_create(&context, NULL, &sched));
}

static void close_context(struct scarce *scarce) {
  tide_sched_destroy(sched);
  tide_context_fini(&context);
  CHECK_EQ_U64((uint64_t)scarce->live, 0);
}

TEST(parameters_have_limits_and_defaults) {
  struct scarce scarce;
  struct tide_cpu *cpu;
  struct tide_file *file;
  open_context(&scarce);
  struct tide_cpu_params too_many = {.workers = 257};
  CHECK_STATUS(tide_cpu_create(&context, &too_many, &cpu), TIDE_INVALID);
  CHECK_OK(tide_cpu_create(&context, NULL, &cpu));
  CHECK_EQ_U64(tide_cpu_workers(cpu), 1); /* one fewer than cores */
  CHECK(tide_cpu_backend(cpu)->in_order && tide_cpu_backend(cpu)->domain == TIDE_DOMAIN_QUEUE);
  tide_cpu_destroy(cpu);
  tide_cpu_destroy(NULL);
  struct tide_file_params too_deep = {.depth = 4097};
  CHECK_STATUS(tide_file_create(&context, &too_deep, &file), TIDE_INVALID);
  struct tide_file_params deepest = {.depth = 4096};
  CHECK_OK(tide_file_create(&context, &deepest, &file));
  CHECK(!tide_file_backend(file)->in_order &&
        tide_file_backend(file)->domain == TIDE_DOMAIN_STORAGE);
  tide_file_destroy(file);
  tide_file_destroy(NULL);
  close_context(&scarce);
}

TEST(one_device_at_a_time) {
  struct scarce scarce;
  struct tide_cpu *cpu;
  struct tide_file *file;
  struct tide_device *device, *storage;
  open_context(&scarce);
  CHECK_OK(tide_cpu_create(&context, NULL, &cpu));
  CHECK_OK(tide_file_create(&context, NULL, &file));
  CHECK_OK(tide_device_create(sched, tide_cpu_backend(cpu), "cpu", &device));
  CHECK_OK(tide_device_create(sched, tide_file_backend(file), "file", &storage));
  for (int round = 0; round < 3; round++) {
    CHECK_STATUS(tide_cpu_attach(cpu, NULL), TIDE_INVALID);
    CHECK_OK(tide_cpu_attach(cpu, device));
    CHECK_STATUS(tide_cpu_attach(cpu, device), TIDE_INVALID);
    CHECK_STATUS(tide_file_attach(file, NULL), TIDE_INVALID);
    CHECK_OK(tide_file_attach(file, storage));
    CHECK_STATUS(tide_file_attach(file, storage), TIDE_INVALID);
    tide_cpu_detach(cpu), tide_cpu_detach(cpu);
    tide_file_detach(file), tide_file_detach(file);
  }
  CHECK_OK(tide_device_destroy(device));
  CHECK_OK(tide_device_destroy(storage));
  tide_cpu_destroy(cpu);
  tide_file_destroy(file);
  close_context(&scarce);
}

TEST(both_halves_at_once) {
  struct scarce scarce;
  struct tide_cpu *cpu;
  struct tide_file *file;
  struct tide_device *device, *storage;
  open_context(&scarce);
  CHECK_OK(tide_cpu_open(&context, sched, NULL, "cpu", &cpu, &device));
  CHECK_OK(tide_file_open(&context, sched, NULL, "file", &file, &storage));
  CHECK_EQ_STR(tide_device_label(device), "cpu");
  struct tide_queue *queue, *other;
  CHECK_OK(tide_queue_create(device, NULL, &queue));
  CHECK_OK(tide_queue_create(storage, NULL, &other));
  tide_queue_destroy(queue), tide_queue_destroy(other);
  tide_cpu_close(cpu), tide_cpu_close(NULL);
  tide_file_close(file), tide_file_close(NULL);
  int64_t before = scarce.live; /* the tracker remembers closed axes */
  scarce_threads.threads_left = 0;
  CHECK_STATUS(tide_cpu_open(&context, sched, NULL, "cpu", &cpu, &device), TIDE_NOMEM);
  CHECK_STATUS(tide_file_open(&context, sched, NULL, "file", &file, &storage), TIDE_NOMEM);
  scarce_threads.threads_left = UINT32_MAX;
  enum tide_status status = TIDE_NOMEM;
  for (uint32_t left = 0; status != TIDE_OK; left++) {
    scarce.allocations_left = left;
    status = tide_cpu_open(&context, sched, NULL, "cpu", &cpu, &device);
    scarce.allocations_left = UINT32_MAX;
    CHECK(left < 20 && (status == TIDE_OK || (status == TIDE_NOMEM && scarce.live == before)));
  }
  tide_cpu_close(cpu);
  CHECK(scarce.live == before);
  close_context(&scarce);
}

TEST(no_memory_is_an_error_and_leaves_nothing) {
  struct scarce scarce;
  open_context(&scarce);
  int64_t before = scarce.live;
  for (int threads = 0; threads < 2; threads++) {
    enum tide_status status = TIDE_NOMEM;
    for (uint32_t left = 0; status != TIDE_OK; left++) {
      struct tide_file_params params = {.force_threads = threads};
      struct tide_file *file = NULL;
      scarce.allocations_left = left;
      status = tide_file_create(&context, &params, &file);
      scarce.allocations_left = UINT32_MAX;
      CHECK(left < 20 && (status == TIDE_OK || status == TIDE_NOMEM));
      tide_file_destroy(file);
      CHECK(scarce.live == before);
    }
  }
  enum tide_status status = TIDE_NOMEM;
  for (uint32_t left = 0; status != TIDE_OK; left++) {
    struct tide_cpu *cpu = NULL;
    scarce.allocations_left = left;
    status = tide_cpu_create(&context, NULL, &cpu);
    scarce.allocations_left = UINT32_MAX;
    CHECK(left < 20 && (status == TIDE_OK || status == TIDE_NOMEM));
    tide_cpu_destroy(cpu);
    CHECK(scarce.live == before);
  }
  close_context(&scarce);
}

TEST(no_threads_is_an_error_and_can_be_tried_again) {
  struct scarce scarce;
  struct tide_cpu *cpu;
  struct tide_file *file;
  struct tide_device *device, *storage;
  open_context(&scarce);
  struct tide_cpu_params params = {.workers = 3};
  CHECK_OK(tide_cpu_create(&context, &params, &cpu));
  CHECK_OK(tide_file_create(&context, NULL, &file));
  CHECK_OK(tide_device_create(sched, tide_cpu_backend(cpu), "cpu", &device));
  CHECK_OK(tide_device_create(sched, tide_file_backend(file), "file", &storage));
  for (uint32_t left = 0; left < 3; left++) {
    scarce_threads.threads_left = left;
    CHECK_STATUS(tide_cpu_attach(cpu, device), TIDE_NOMEM);
  }
  scarce_threads.threads_left = 0;
  CHECK_STATUS(tide_file_attach(file, storage), TIDE_NOMEM);
  scarce_threads.threads_left = UINT32_MAX;
  CHECK_OK(tide_cpu_attach(cpu, device));
  CHECK_OK(tide_file_attach(file, storage));
  tide_cpu_detach(cpu);
  tide_file_detach(file);
  CHECK_OK(tide_device_destroy(device));
  CHECK_OK(tide_device_destroy(storage));
  tide_cpu_destroy(cpu);
  tide_file_destroy(file);
  close_context(&scarce);
}

TEST(no_descriptors_is_an_error) {
  struct scarce scarce;
  struct tide_file *file;
  open_context(&scarce);
  int next = dup(0);
  CHECK(next >= 0 && close(next) == 0);
  for (int more = 0; more < 2; more++) { /* none for the event; then none for the ring */
    struct rlimit limit = {(rlim_t)(next + more), 1024};
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    enum tide_status status = tide_file_create(&context, NULL, &file);
    if (status == TIDE_OK) tide_file_destroy(file); /* threads, where rings are forbidden */
    else CHECK_STATUS(status, TIDE_FULL);
  }
  close_context(&scarce);
}

/* Nobody wakes while there is nothing to do: counted in voluntary switches, not in time. */
TEST(idle_devices_sleep) {
  struct scarce scarce;
  struct tide_cpu *cpu;
  struct tide_file *file;
  struct tide_device *device, *storage;
  open_context(&scarce);
  struct tide_cpu_params params = {.workers = 4};
  CHECK_OK(tide_cpu_create(&context, &params, &cpu));
  CHECK_OK(tide_file_create(&context, NULL, &file));
  CHECK_OK(tide_device_create(sched, tide_cpu_backend(cpu), "cpu", &device));
  CHECK_OK(tide_device_create(sched, tide_file_backend(file), "file", &storage));
  CHECK_OK(tide_cpu_attach(cpu, device));
  CHECK_OK(tide_file_attach(file, storage));
  struct timespec nap = {0, 50000000};
  struct rusage before, after;
  nanosleep(&nap, NULL);
  getrusage(RUSAGE_SELF, &before);
  nanosleep(&nap, NULL), nanosleep(&nap, NULL), nanosleep(&nap, NULL), nanosleep(&nap, NULL);
  getrusage(RUSAGE_SELF, &after);
  CHECK(after.ru_nvcsw - before.ru_nvcsw < 20); /* our four naps, and whatever the system does */
  tide_cpu_destroy(cpu);
  tide_file_destroy(file);
  CHECK_OK(tide_device_destroy(device));
  CHECK_OK(tide_device_destroy(storage));
  close_context(&scarce);
}

TEST_MAIN(CASE(parameters_have_limits_and_defaults), CASE(one_device_at_a_time),
          CASE(both_halves_at_once), CASE(no_memory_is_an_error_and_leaves_nothing),
          CASE(no_threads_is_an_error_and_can_be_tried_again), CASE(no_descriptors_is_an_error),
          CASE(idle_devices_sleep))
