/* Reads of a whole file through the ring: past the page cache (O_DIRECT) against through it, in
 * requests of three sizes, with nothing of the file in the cache and with all of it. */
#include "bench.h"

#include "tidemark/tidemark.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MIB = 1 << 20, BLOCK = 4096 };

struct world {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queue;
  int buffered, direct;
  size_t size, request;
  bool warm;
  unsigned char *data;
};

/* Beside the program, in the build folder; it has no name for longer than it takes to open it
 * twice. */
static bool open_both(struct world *world) {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 32);
  if (length < 0) bench_wrong("/proc/self/exe");
  path[length] = 0;
  strcpy(strrchr(path, '/') + 1, "bench-XXXXXX");
  world->buffered = mkostemp(path, O_CLOEXEC);
  if (world->buffered < 0) bench_wrong("a file in the build folder");
  world->direct = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
  unlink(path);
  return world->direct >= 0;
}

static void fill(struct world *world) {
  for (size_t at = 0; at < world->size; at += BLOCK) memset(world->data + at, (int)(at >> 12), 64);
  for (size_t at = 0; at < world->size; at += MIB)
    BENCH_CHECK(pwrite(world->buffered, world->data + at, MIB, (off_t)at) == MIB);
  BENCH_CHECK(fsync(world->buffered) == 0);
}

static void drop(void *state) {
  struct world *world = state;
  tide_queue_destroy(world->queue);
  tide_device_close(world->device);
  tide_context_destroy(world->context);
  close(world->buffered), close(world->direct);
  free(world->data);
  free(world);
}

static void *make(size_t request, bool warm) {
  struct world *world = calloc(1, sizeof *world);
  if (!world) bench_wrong("memory");
  world->size = (size_t)(bench_smoke() ? 8 : 256) * MIB;
  world->request = request;
  world->warm = warm;
  if (!open_both(world)) {
    close(world->buffered);
    free(world);
    return bench_skip("the build folder's file system has no O_DIRECT");
  }
  world->data = aligned_alloc(BLOCK, world->size);
  if (!world->data) bench_wrong("memory");
  memset(world->data, 0, world->size);
  fill(world);
  BENCH_CHECK(tide_context_create(NULL, &world->context) == TIDE_OK);
  BENCH_CHECK(tide_file_open(world->context, TIDE_PARAMS(tide_file_params, .label = "disk"),
                             &world->device) == TIDE_OK);
  struct tide_queue_params params = {.struct_size = sizeof params, .operations = 4096};
  BENCH_CHECK(tide_queue_create(world->device, &params, &world->queue) == TIDE_OK);
  if (strcmp(tide_file_kind(world->device), "io_uring") == 0) return world;
  drop(world);
  return bench_skip("there is no io_uring here");
}

/* Through the cache, so that all of it is there; or throws it out. */
static void prepare(struct world *world) {
  if (!world->warm) {
    BENCH_CHECK(posix_fadvise(world->buffered, 0, 0, POSIX_FADV_DONTNEED) == 0);
    return;
  }
  for (size_t at = 0; at < world->size; at += MIB)
    BENCH_CHECK(pread(world->buffered, world->data + at, MIB, (off_t)at) == MIB);
}

static void read_all(struct world *world, int descriptor) {
  const struct tide_body_class *body = &tide_kernel_find("read")->class_;
  for (size_t at = 0; at < world->size; at += world->request) {
    struct tide_argument arguments[3] = {{.descriptor = descriptor},
                                         {.integer = (int64_t)at},
                                         {.data = world->data + at, .size = world->request}};
    struct tide_operation operation = {
        .body = body, .arguments = arguments, .arguments_size = sizeof arguments};
    BENCH_CHECK(tide_queue_submit(world->queue, &operation, NULL, NULL) == TIDE_OK);
  }
  BENCH_CHECK(tide_queue_drain(world->queue, TIDE_FOREVER) == TIDE_OK);
}

/* MiB a second. */
static double speed(struct world *world, int descriptor) {
  prepare(world);
  for (size_t at = 0; at < world->size; at += BLOCK) world->data[at] = (unsigned char)~(at >> 12);
  uint64_t start = bench_now();
  read_all(world, descriptor);
  uint64_t took = bench_now() - start;
  for (size_t at = 0; at < world->size; at += BLOCK)
    BENCH_CHECK(world->data[at] == (unsigned char)(at >> 12));
  return (double)world->size / MIB * 1e9 / (double)took;
}
static double direct_speed(void *state) { return speed(state, ((struct world *)state)->direct); }
static double buffered_speed(void *state) {
  return speed(state, ((struct world *)state)->buffered);
}

static double cpu_now(void) { /* ms, of all threads, the kernel's workers for us among them */
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}
/* ms of processor time for 256 MiB. */
static double cost(struct world *world, int descriptor) {
  prepare(world);
  double start = cpu_now();
  read_all(world, descriptor);
  return (cpu_now() - start) * (256.0 * MIB / (double)world->size);
}
static double direct_cost(void *state) { return cost(state, ((struct world *)state)->direct); }
static double buffered_cost(void *state) { return cost(state, ((struct world *)state)->buffered); }

#define MAKE(name, request, warm)                                                                  \
  static void *make_##name(void) { return make(request, warm); }
MAKE(64k_cold, 65536, false)
MAKE(1m_cold, MIB, false)
MAKE(4m_cold, 4 * MIB, false)
MAKE(64k_warm, 65536, true)
MAKE(1m_warm, MIB, true)
MAKE(4m_warm, 4 * MIB, true)

#define READS(kind)                                                                                \
  {                                                                                                \
    .name = "direct_" #kind, .unit = "MiB/s", .rival = "buffered", .setup = make_##kind,           \
    .teardown = drop, .measure_ours = direct_speed, .measure_theirs = buffered_speed,              \
    .better = BENCH_MORE, .rounds = 7                                                              \
  }
#define COSTS(kind)                                                                                \
  {                                                                                                \
    .name = "direct_cpu_" #kind, .unit = "ms", .rival = "buffered", .setup = make_##kind,          \
    .teardown = drop, .measure_ours = direct_cost, .measure_theirs = buffered_cost, .rounds = 7    \
  }

const struct bench_figure bench_file[] = {READS(64k_cold), READS(1m_cold), READS(4m_cold),
                                          READS(64k_warm), READS(1m_warm), READS(4m_warm),
                                          COSTS(1m_cold),  COSTS(1m_warm), {0}};
